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
    certificate = item.certificate
    levels = [check.achieved for check in certificate.checks]
    return found | {
        "achieved": [["inf" if v == math.inf else v for v in row] for row in levels],
        "risk_exact": write_fraction(certificate.risk_exact),
        "bound_exact": write_fraction(certificate.bound_exact),
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
    if isinstance(symbols, Prior):
        layout, away = Layout.of(symbols), _AGREEMENT
        told = {name: np.array(content["prices"][name], dtype=float) for name in Prices._fields}
        prices = Prices(**told)
        if not np.isfinite(np.hstack([x.ravel() for x in prices])).all():
            raise ValueError("prices that are no numbers")
    else:
        alike = [0] * (size if is_whole(size, 2, MOST_SYMBOLS) else 0)
        layout = Layout(np.array(content.get("groups", alike)))
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
    if "groups" in content:
        return PublicSelection(symbols, notions, layout, types, stated)
    made = SubsetSelection(symbols, notions, layout, types, prices)
    bound = made.certificate.bound_exact
    if abs(read_fraction(content["bound_exact"]) - bound) > away * bound:
        raise CertificateError("a bound that its numbers do not bear out")
    return made


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
