"""A subset selection as plain values, and back.

Whoever reads one compares it with what would be written of it: here stands what makes a kernel, and
the bound, which may have been found elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import CertificateError, InputError
from ..exact import is_whole, read_fraction, read_integer, write_fraction, write_integer
from ..labels import check_labels
from ..prior import Prior
from ..privacy.notion import PrivacyNotion
from .choice import MOST_GROUPS, MOST_SYMBOLS
from .parts import IN_ORDER, Part, divisors
from .program import Prices
from .relaxation import Multipliers
from .report_types import Layout, ReportType
from .selection import PublicSelection, SubsetSelection

# How far bounds from the same prices may be apart, relatively, which are searched in floats.
_AGREEMENT = Fraction(1, 10**8)


def to_numbers(item: SubsetSelection) -> dict[str, Any]:
    """All of a selection but labels or prior, and notions."""
    types = [
        {
            "chances": list(map(write_integer, one.chances)),
            "parts": [_part_out(one.parts.get(i)) for i in range(len(one.chances))],
        }
        for one in item.types
    ]
    found: dict[str, Any] = {"types": types, "fingerprint": item.fingerprint}
    if isinstance(item, PublicSelection):
        return found | {"groups": item.layout.group.tolist()}
    if item.prices is None:
        found["symbols"] = len(item.inputs)
    else:
        found["prices"] = {name: x.tolist() for name, x in item.prices._asdict().items()}
        if isinstance(item.prices, Multipliers):
            found["groups"] = item.layout.group.tolist()
    certificate = item.certificate
    levels = [check.achieved for check in certificate.checks]
    return found | {
        "achieved": [["inf" if v == math.inf else v for v in row] for row in levels],
        "risk_exact": write_fraction(certificate.risk_exact),
        "bound_exact": write_fraction(certificate.least_exact),
    }


def from_numbers(
    content: dict[str, Any],
    symbols: Any,
    notions: Iterable[PrivacyNotion],
    stated: Iterable[str] = (),
) -> SubsetSelection:
    """The inverse of :func:`to_numbers`, for a prior, labels, or ``None`` without them.

    Raises :class:`CertificateError` for levels that are not kept and a bound that the numbers do
    not bear out, ``ValueError`` and the like for numbers that are those of no kernel.
    """
    size, prices, away = content.get("symbols", 0), None, Fraction(0)
    groups = content.get("groups", [0] * (size if is_whole(size, 2, MOST_SYMBOLS) else 0))
    if not all(is_whole(i, 0, MOST_GROUPS - 1) for i in groups):
        raise ValueError("groups that are no numbers")
    if isinstance(symbols, Prior):
        away, prices = _AGREEMENT, _prices_in(content["prices"], "groups" in content)
        if "groups" in content and len(groups) != len(symbols):
            raise ValueError("groups of other symbols")
        layout = Layout.of(symbols, np.array(groups) if "groups" in content else None)
    else:
        layout = Layout(np.array(groups))
    n, g = len(layout.group), len(layout.sizes)
    if not all(layout.sizes) or n > MOST_SYMBOLS or g > MOST_GROUPS or (g > 1) == bool(size):
        raise ValueError(f"{n} symbols in {g} groups")
    if symbols is None:
        symbols = range(n)
    elif prices is None:
        symbols = check_labels(symbols, n, "symbols", InputError)
    types = list[ReportType]()
    for one in content["types"]:
        pairs = enumerate(zip(one["parts"], layout.sizes, strict=True))
        parts = {i: _part_in(part, n) for i, (part, n) in pairs if part is not None}
        types.append(ReportType(tuple(map(read_integer, one["chances"])), parts))
    if "groups" in content and prices is None:
        return PublicSelection(symbols, notions, layout, types, stated)
    made = SubsetSelection(symbols, notions, layout, types, prices)
    bound = made.certificate.least_exact
    if abs(read_fraction(content["bound_exact"]) - bound) > away * bound:
        raise CertificateError("a bound that its numbers do not bear out")
    return made


def _prices_in(content: dict[str, Any], is_near: bool) -> Prices | Multipliers:
    """What proves the bound, of near masses or of equal ones."""
    kind: Any = Multipliers if is_near else Prices
    found = kind(*(np.array(content[name], dtype=float) for name in kind._fields))
    if not np.isfinite(np.hstack([x.ravel() for x in found])).all():
        raise ValueError("prices that are no numbers")
    if isinstance(found, Multipliers):
        found = Multipliers(np.array(content["sizes"], dtype=np.int64), found.weights)
        if found.sizes.min() < 1 or found.sizes.shape != found.weights.shape:
            raise ValueError("runs without symbols")
    return found


def _part_out(part: Part | None) -> dict[str, Any] | None:
    if part is None:
        return None
    profiles = [
        {"count": part.count, "high": write_integer(high), "middle": write_integer(middle)}
        for high, middle in part.weights
    ]
    found = {"base": part.base, "dimension": part.dimension, "profiles": profiles}
    if divisors(part.base):
        pairs = zip(*part.placements, strict=True)
        rows = [{"elements": list(each), "mass": write_integer(mass)} for each, mass in pairs]
        found["placements"] = rows
    return found


def _part_in(content: dict[str, Any], size: int) -> Part:
    base, dimension, profiles = (content[name] for name in ("base", "dimension", "profiles"))
    weights = [(read_integer(row["high"]), read_integer(row["middle"])) for row in profiles]
    placements: Any = IN_ORDER
    if rows := content.get("placements"):
        masses = tuple(read_integer(row["mass"]) for row in rows)
        placements = tuple(tuple(row["elements"]) for row in rows), masses
    return Part(size, base, dimension, profiles[0]["count"], tuple(weights), placements)
