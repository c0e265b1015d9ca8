"""A subset selection as plain values, and back, with everything that it claims computed again."""

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
from ._subset_selection import MOST_GROUPS, MOST_SYMBOLS
from .parts import IN_ORDER, Part
from .program import Prices
from .report_types import Layout, ReportType
from .selection import PublicSelection, SubsetSelection

# How far bounds from the same prices may be apart, relatively.
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
    found = {"types": types, **_claims(item)}
    if isinstance(item, PublicSelection):
        return found | {"groups": item.layout.group.tolist()}
    if item.prices is None:
        return found | {"symbols": len(item.inputs)}
    prices = item.prices._asdict().items()
    return found | {"prices": {name: part.tolist() for name, part in prices}}


def from_numbers(
    content: dict[str, Any],
    symbols: Prior | Iterable[Any] | None,
    notions: Iterable[PrivacyNotion],
    stated: Iterable[str] = (),
) -> SubsetSelection:
    """The inverse of :func:`to_numbers`.

    Raises :class:`CertificateError` for levels that are not kept and for claims that the numbers do
    not bear out, ``ValueError`` and the like for numbers that are those of no kernel.
    """
    groups, size, prices = content.get("groups"), content.get("symbols"), None
    if isinstance(symbols, Prior):
        layout = Layout.of(symbols)
        given = (np.array(content["prices"][name], dtype=float) for name in Prices._fields)
        prices, g = Prices(*given), len(layout.sizes)
        shapes = [part.shape for part in prices if np.isfinite(part).all()]
        if shapes != [(g,), (g, g), (g,)]:
            raise ValueError("prices of another form")
    elif groups is None:
        layout = Layout(np.zeros(size if is_whole(size, 2, MOST_SYMBOLS) else 0, dtype=np.uint8))
    else:
        count = len(set(groups))
        if not all(is_whole(i, 0, count - 1) for i in groups):
            raise ValueError("groups that are not numbered from 0 on")
        layout = Layout(np.array(groups))
    n, g = len(layout.group), len(layout.sizes)
    if n > MOST_SYMBOLS or not 1 + (size is None) <= g <= MOST_GROUPS:
        raise ValueError(f"{n} symbols in {g} groups")
    if not isinstance(symbols, Prior):
        symbols = range(n) if symbols is None else check_labels(symbols, n, "symbols", InputError)
    types = [
        ReportType(
            tuple(map(read_integer, one["chances"])),
            {
                i: _part_in(part, n)
                for i, (part, n) in enumerate(zip(one["parts"], layout.sizes, strict=True))
                if part is not None
            },
        )
        for one in content["types"]
    ]
    if groups is not None:
        made: SubsetSelection = PublicSelection(symbols, notions, layout, types, stated)
    else:
        made = SubsetSelection(symbols, notions, layout, types, prices)
    own = _claims(made)
    if prices is not None:  # they are searched in floats
        bound = read_fraction(content["bound_exact"])
        if abs(bound - made.certificate.bound_exact) <= _AGREEMENT * bound:
            own["bound_exact"] = write_fraction(bound)
    for name, value in own.items():
        if content[name] != value:
            raise CertificateError(f"{name}: other than its numbers bear out")
    return made


def _claims(item: SubsetSelection) -> dict[str, Any]:
    found: dict[str, Any] = {"fingerprint": item.fingerprint}
    if isinstance(item, PublicSelection):
        return found
    certificate = item.certificate
    levels = [check.achieved for check in certificate.checks]
    return found | {
        "achieved": [["inf" if v == math.inf else v for v in row] for row in levels],
        "risk_exact": write_fraction(certificate.risk_exact),
        "bound_exact": write_fraction(certificate.bound_exact),
    }


def _part_out(part: Part | None) -> dict[str, Any] | None:
    if part is None:
        return None
    profiles = [
        {"count": part.count, "high": write_integer(high), "middle": write_integer(middle)}
        for high, middle in part.weights
    ]
    found = {"base": part.base, "dimension": part.dimension, "profiles": profiles}
    rows = [
        {"elements": list(each), "mass": write_integer(mass)}
        for each, mass in zip(*part.placements, strict=False)
    ]
    return found | ({"placements": rows} if rows else {})


def _part_in(content: dict[str, Any], size: int) -> Part:
    base, dimension, profiles = (content[name] for name in ("base", "dimension", "profiles"))
    (count,) = {profile["count"] for profile in profiles}
    weights = tuple(tuple(read_integer(p[name]) for name in ("high", "middle")) for p in profiles)
    placements = IN_ORDER
    if "placements" in content:
        rows = content["placements"]
        elements = tuple(tuple(row["elements"]) for row in rows)
        placements = elements, tuple(read_integer(row["mass"]) for row in rows)
    return Part(size, base, dimension, count, weights, placements)
