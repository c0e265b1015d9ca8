"""A subset selection as plain values, and back, with everything that it claims computed again."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import CertificateError, InputError
from ..exact import read_fraction, read_integer, write_fraction, write_integer
from ..labels import check_labels
from ..prior import Prior
from ..privacy.notion import PrivacyNotion
from ._subset_selection import MOST_GROUPS, MOST_SYMBOLS
from .family import AffineFamily
from .grouped import GroupedSelection, PublicSelection
from .permuted import PermutedFamily
from .profile import Family, Profile
from .report_types import Layout, Part, ReportType
from .selection import SubsetSelection, SymmetryCertificate
from .types_program import Prices

# Points of a space that estimates make an array of.
_MOST_POINTS = 1 << 30
# How far bounds from the same prices may be apart, relatively.
_AGREEMENT = 1e-8


def to_numbers(item: SubsetSelection) -> dict[str, Any]:
    """All but labels and notions."""
    family, certificate = item.family, item.certificate
    return {
        "symbols": family.size,
        "base": family.base,
        "dimension": family.dimension,
        "projective": family.projective,
        **_placements_out(family),
        "profiles": _profiles_out(item.profiles),
        "achieved": _achieved_out(certificate),
        "risk_exact": write_fraction(certificate.risk_exact),
        "bound_exact": write_fraction(certificate.bound_exact),
        "fingerprint": item.fingerprint,
    }


def from_numbers(
    content: dict[str, Any], labels: Iterable[Any] | None, notions: Iterable[PrivacyNotion]
) -> SubsetSelection:
    """The inverse of :func:`to_numbers`.

    Raises :class:`CertificateError` for levels that are not kept and for claims that the numbers do
    not bear out, ``ValueError`` and the like for numbers that are those of no kernel.
    """
    size = content["symbols"]
    if not 2 <= size <= MOST_SYMBOLS:
        raise ValueError(f"{size} symbols")
    family = _family_in(content)
    profiles = _profiles_in(content, family)
    made = SubsetSelection(size if labels is None else labels, notions, family, profiles)
    certificate = made.certificate
    achieved = [[float(level) for level in row] for row in content["achieved"]]
    for claim, said, found in (
        ("levels", achieved, _levels(certificate)),
        ("a risk", read_fraction(content["risk_exact"]), certificate.risk_exact),
        ("a bound", read_fraction(content["bound_exact"]), certificate.bound_exact),
        ("a fingerprint", content["fingerprint"], made.fingerprint),
    ):
        if said != found:
            raise CertificateError(f"{claim} that its numbers do not bear out")
    return made


def public_to_numbers(item: PublicSelection) -> dict[str, Any]:
    """All of the public form of a selection of groups but labels and notions."""
    return {
        "groups": item.layout.group.tolist(),
        "types": _types_out(item.types),
        "fingerprint": item.fingerprint,
    }


def public_from_numbers(
    content: dict[str, Any],
    labels: Iterable[Any] | None,
    notions: Iterable[PrivacyNotion],
    stated: Iterable[str],
) -> PublicSelection:
    """The inverse of :func:`public_to_numbers`; raises as :func:`from_numbers`."""
    given = content["groups"]
    if not isinstance(given, list) or not all(type(i) is int for i in given):
        raise TypeError("groups that are no list of numbers")
    count = len(set(given))
    if not 2 <= len(given) <= MOST_SYMBOLS or not 2 <= count <= MOST_GROUPS:
        raise ValueError(f"{len(given)} symbols in {count} groups")
    if set(given) != set(range(count)):
        raise ValueError("groups that are not numbered from 0 on")
    layout = Layout.of_groups(np.array(given, dtype=np.int64), [Fraction(1)] * count)
    inputs = check_labels(labels, len(given), "symbols", InputError)
    made = PublicSelection(inputs, notions, _types_in(content["types"], layout), layout, stated)
    if content["fingerprint"] != made.fingerprint:
        raise CertificateError("a fingerprint that its numbers do not bear out")
    return made


def groups_to_numbers(item: GroupedSelection) -> dict[str, Any]:
    """All of a selection of groups but prior and notions."""
    certificate, prices = item.certificate, item.prices
    return {
        "types": _types_out(item.types),
        "prices": {
            "inside": prices.inside.tolist(),
            "across": prices.across.tolist(),
            "row": prices.row.tolist(),
        },
        "achieved": _achieved_out(certificate),
        "risk_exact": write_fraction(certificate.risk_exact),
        "bound_exact": write_fraction(certificate.bound_exact),
        "fingerprint": item.fingerprint,
    }


def groups_from_numbers(
    content: dict[str, Any], prior: Prior, notions: Iterable[PrivacyNotion]
) -> GroupedSelection:
    """The inverse of :func:`groups_to_numbers`; raises as :func:`from_numbers`."""
    groups = len(set(prior.weights))
    if not 2 <= len(prior) <= MOST_SYMBOLS or not 2 <= groups <= MOST_GROUPS:
        raise ValueError(f"{len(prior)} symbols in {groups} groups")
    layout = Layout.of(prior)
    types = _types_in(content["types"], layout)
    saved = content["prices"]
    prices = Prices(*(np.array(saved[name], dtype=float) for name in ("inside", "across", "row")))
    shapes = [(groups,), (groups, groups), (groups,)]
    numbers = [prices.inside, prices.across, prices.row]
    if [one.shape for one in numbers] != shapes or not all(np.isfinite(n).all() for n in numbers):
        raise ValueError("prices of another form")
    made = GroupedSelection(prior, notions, types, prices, layout)
    certificate = made.certificate
    bound = read_fraction(content["bound_exact"])
    for claim, good in (
        (
            "levels",
            # Bounds that took all classes of directions together were larger.
            _are_above(content["achieved"], _levels(certificate)),
        ),
        ("a risk", read_fraction(content["risk_exact"]) == certificate.risk_exact),
        ("a bound", abs(bound - certificate.bound_exact) <= _AGREEMENT * certificate.bound_exact),
        ("a fingerprint", content["fingerprint"] == made.fingerprint),
    ):
        if not good:
            raise CertificateError(f"{claim} that its numbers do not bear out")
    return made


def _levels(certificate: SymmetryCertificate) -> list[list[float]]:
    return [list(check.achieved) for check in certificate.checks]


def _are_above(said: list[list[Any]], found: list[list[float]]) -> bool:
    rows = list(zip(said, found, strict=True))
    return all(float(a) >= b for one, own in rows for a, b in zip(one, own, strict=True))


def _achieved_out(certificate: SymmetryCertificate) -> list[list[Any]]:
    return [["inf" if v == math.inf else v for v in row] for row in _levels(certificate)]


def _types_out(types: Iterable[ReportType]) -> list[dict[str, Any]]:
    return [
        {
            "chances": [write_integer(weight) for weight in one.chances],
            "parts": [None if part is None else _part_out(part) for part in one.parts],
        }
        for one in types
    ]


def _types_in(content: Iterable[dict[str, Any]], layout: Layout) -> list[ReportType]:
    return [
        ReportType(
            tuple(read_integer(weight) for weight in one["chances"]),
            tuple(
                None if part is None else _part_in(part, size)
                for part, size in zip(one["parts"], layout.sizes, strict=True)
            ),
        )
        for one in content
    ]


def _part_out(part: Part) -> dict[str, Any]:
    family = part.family
    return {
        "base": family.base,
        "dimension": family.dimension,
        "profiles": _profiles_out(part.profiles),
        **_placements_out(family),
    }


def _part_in(content: dict[str, Any], size: int) -> Part:
    whole = {**content, "symbols": size, "projective": False}
    family = _family_in(whole)
    return Part(family, tuple(_profiles_in(content, family)))


def _profiles_out(profiles: Iterable[Profile]) -> list[dict[str, Any]]:
    return [
        {"count": p.count, "high": write_integer(p.high), "middle": write_integer(p.middle)}
        for p in profiles
    ]


def _profiles_in(content: dict[str, Any], family: Family) -> list[Profile]:
    return [
        Profile(
            family.base, part["count"], read_integer(part["high"]), read_integer(part["middle"])
        )
        for part in content["profiles"]
    ]


def _placements_out(family: Family) -> dict[str, Any]:
    if not isinstance(family, PermutedFamily):
        return {}
    parts = zip(family.placements, family.masses, strict=True)
    return {"placements": [{"elements": list(p), "mass": write_integer(m)} for p, m in parts]}


def _family_in(content: dict[str, Any]) -> Family:
    size, base, dimension = content["symbols"], content["base"], content["dimension"]
    if "placements" not in content:
        family = AffineFamily(size, base, dimension, content["projective"])
        if family.points > _MOST_POINTS and not family.is_read_by_lines:
            raise ValueError("a space that estimates could not hold")
        return family
    if base != size or dimension != 1 or content["projective"] is not False:
        raise ValueError("permutations of another number of residues")
    (profile,) = content["profiles"]
    placements = tuple(tuple(part["elements"]) for part in content["placements"])
    masses = tuple(read_integer(part["mass"]) for part in content["placements"])
    return PermutedFamily(size, profile["count"], placements, masses)
