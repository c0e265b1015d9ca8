"""A subset selection as plain values, and back, with everything that it claims computed again."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import CertificateError, InputError
from ..exact import DENOMINATOR, read_fraction, read_integer, write_fraction, write_integer
from ..labels import check_labels
from ..prior import Prior
from ..privacy.notion import PrivacyNotion
from ._subset_selection import MOST_GROUPS, MOST_SYMBOLS
from .family import AffineFamily
from .permuted import PermutedFamily
from .program import Prices
from .report_types import Layout, Part, Profile, ReportType
from .selection import GroupedSelection, PublicSelection, SubsetSelection

# Points of a space that estimates make an array of.
_MOST_POINTS = 1 << 30
# How far bounds from the same prices may be apart, relatively.
_AGREEMENT = 1e-8
_PRICES = ("inside", "across", "row")


def to_numbers(item: SubsetSelection) -> dict[str, Any]:
    """All of a selection but labels or prior, and notions."""
    found: dict[str, Any] = {"fingerprint": item.fingerprint}
    if isinstance(item, PublicSelection):
        return {"groups": item.layout.group.tolist(), "types": _types_out(item), **found}
    certificate = item.certificate
    found |= {
        "achieved": [["inf" if v == math.inf else v for v in row] for row in _levels(item)],
        "risk_exact": write_fraction(certificate.risk_exact),
        "bound_exact": write_fraction(certificate.bound_exact),
    }
    if not isinstance(item, GroupedSelection):
        part = item.types[0].split[0]
        alone = {"symbols": part.family.size, "projective": part.family.projective}
        return {**alone, **_part_out(part), **found}
    prices = {name: getattr(item.prices, name).tolist() for name in _PRICES}
    return {"types": _types_out(item), "prices": prices, **found}


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
    if isinstance(symbols, Prior):
        layout, prices = Layout.of(symbols), _prices_in(content["prices"])
        types = _types_in(content, _checked(layout))
        made: SubsetSelection = GroupedSelection(symbols, notions, layout, types, prices)
        if prices.row.shape != (len(layout.masses),):
            raise ValueError("prices of another form")
    elif "groups" in content:
        layout = _public_layout(content["groups"])
        types, labels = _types_in(content, layout), _labels(symbols, len(layout.group))
        made = PublicSelection(labels, notions, layout, types, stated)
    else:
        size = content["symbols"]
        if not 2 <= size <= MOST_SYMBOLS:
            raise ValueError(f"{size} symbols")
        types = [ReportType((DENOMINATOR,), (_part_in(content, size, content["projective"]),))]
        made = SubsetSelection(_labels(symbols, size), notions, Layout.alike(size), types)
    claims = [("a fingerprint", content["fingerprint"] == made.fingerprint)]
    if "groups" not in content:
        certificate, bound = made.certificate, read_fraction(content["bound_exact"])
        if write_fraction(bound) != content["bound_exact"]:
            raise ValueError("a bound in another form")
        away = abs(bound - certificate.bound_exact)
        claims += [
            ("levels", _bear_out(content["achieved"], made)),
            ("a risk", read_fraction(content["risk_exact"]) == certificate.risk_exact),
            # Prices are searched in floats.
            ("a bound", away <= isinstance(symbols, Prior) * _AGREEMENT * certificate.bound_exact),
        ]
    for claim, good in claims:
        if not good:
            raise CertificateError(f"{claim} that its numbers do not bear out")
    return made


def _labels(labels: Any, size: int) -> Any:
    return range(size) if labels is None else check_labels(labels, size, "symbols", InputError)


def _checked(layout: Layout) -> Layout:
    symbols, groups = len(layout.group), len(layout.masses)
    if not 2 <= symbols <= MOST_SYMBOLS or not 2 <= groups <= MOST_GROUPS:
        raise ValueError(f"{symbols} symbols in {groups} groups")
    return layout


def _public_layout(given: Any) -> Layout:
    if not isinstance(given, list) or not all(type(i) is int for i in given):
        raise TypeError("groups that are no list of numbers")
    count = len(set(given))
    if set(given) != set(range(count)) or count > MOST_GROUPS:
        raise ValueError("groups that are not numbered from 0 on")
    return _checked(Layout.of_groups(np.array(given), [Fraction(1)] * count))


def _prices_in(content: dict[str, Any]) -> Prices:
    prices = Prices(*(np.array(content[name], dtype=float) for name in _PRICES))
    g = len(prices.row)
    fits = (prices.inside.shape, prices.across.shape) == ((g,), (g, g))
    if not fits or not all(np.isfinite(getattr(prices, name)).all() for name in _PRICES):
        raise ValueError("prices of another form")
    return prices


def _levels(item: SubsetSelection) -> list[list[float]]:
    return [list(check.achieved) for check in item.certificate.checks]


def _bear_out(said: list[list[Any]], item: SubsetSelection) -> bool:
    """Whether levels are those of a selection; of groups some were bounded less tightly."""
    rows = zip(said, _levels(item), strict=True)
    pairs = [(float(a), b) for one, own in rows for a, b in zip(one, own, strict=True)]
    return all(a == b or (isinstance(item, GroupedSelection) and a > b) for a, b in pairs)


def _types_out(item: SubsetSelection) -> list[dict[str, Any]]:
    return [
        {
            "chances": [write_integer(weight) for weight in one.chances],
            "parts": [None if part is None else _part_out(part) for part in one.parts],
        }
        for one in item.types
    ]


def _types_in(content: dict[str, Any], layout: Layout) -> list[ReportType]:
    return [
        ReportType(
            tuple(map(read_integer, one["chances"])),
            tuple(
                None if part is None else _part_in(part, size)
                for part, size in zip(one["parts"], layout.sizes, strict=True)
            ),
        )
        for one in content["types"]
    ]


def _part_out(part: Part) -> dict[str, Any]:
    family, placed = part.family, dict[str, Any]()
    if isinstance(family, PermutedFamily):
        parts = zip(family.placements, family.masses, strict=True)
        placed["placements"] = [{"elements": list(p), "mass": write_integer(m)} for p, m in parts]
    return {
        "base": family.base,
        "dimension": family.dimension,
        "profiles": [
            {"count": p.count, "high": write_integer(p.high), "middle": write_integer(p.middle)}
            for p in part.profiles
        ],
        **placed,
    }


def _part_in(content: dict[str, Any], size: int, projective: Any = False) -> Part:
    base, dimension = content["base"], content["dimension"]
    profiles = tuple(
        Profile(base, part["count"], read_integer(part["high"]), read_integer(part["middle"]))
        for part in content["profiles"]
    )
    if "placements" not in content:
        family = AffineFamily(size, base, dimension, projective)
        if family.points > _MOST_POINTS:
            raise ValueError("a space that estimates could not hold")
        return Part(family, profiles)
    if base != size or dimension != 1 or projective is not False:
        raise ValueError("permutations of another number of residues")
    placements = tuple(tuple(part["elements"]) for part in content["placements"])
    masses = tuple(read_integer(part["mass"]) for part in content["placements"])
    return Part(PermutedFamily(size, profiles[0].count, placements, masses), profiles)
