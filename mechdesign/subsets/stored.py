"""A subset selection as plain values, and back, with everything that it claims computed again."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..errors import CertificateError
from ..exact import read_fraction, read_integer, write_fraction, write_integer
from ..privacy.notion import PrivacyNotion
from ._subset_selection import MOST_SYMBOLS, SubsetSelection
from .family import AffineFamily
from .permuted import PermutedFamily
from .profile import Family, Profile

# Points of a space that estimates make an array of.
_MOST_POINTS = 1 << 30


def to_numbers(item: SubsetSelection) -> dict[str, Any]:
    """All but labels and notions."""
    family, certificate = item.family, item.certificate
    return {
        "symbols": family.size,
        "base": family.base,
        "dimension": family.dimension,
        "projective": family.projective,
        **_placements_out(family),
        "profiles": [
            {"count": p.count, "high": write_integer(p.high), "middle": write_integer(p.middle)}
            for p in item.profiles
        ],
        "achieved": [
            ["inf" if level == math.inf else level for level in check.achieved]
            for check in certificate.checks
        ],
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
    profiles = [
        Profile(
            family.base, part["count"], read_integer(part["high"]), read_integer(part["middle"])
        )
        for part in content["profiles"]
    ]
    made = SubsetSelection(size if labels is None else labels, notions, family, profiles)
    certificate = made.certificate
    achieved = [[float(level) for level in row] for row in content["achieved"]]
    for claim, said, found in (
        ("levels", achieved, [list(check.achieved) for check in certificate.checks]),
        ("a risk", read_fraction(content["risk_exact"]), certificate.risk_exact),
        ("a bound", read_fraction(content["bound_exact"]), certificate.bound_exact),
        ("a fingerprint", content["fingerprint"], made.fingerprint),
    ):
        if said != found:
            raise CertificateError(f"{claim} that its numbers do not bear out")
    return made


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
