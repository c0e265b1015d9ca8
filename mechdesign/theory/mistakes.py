"""Statements of the papers that are false, misprinted, loose or incomplete, with counterexamples.

Each erratum names the place, the printed and the corrected statement, and computes at least one
instance on which the printed claim fails and the corrected one holds.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..errors import InputError, UnknownNameError
from .theorems import TOLERANCE, Claim

_FILES = ("mistakes_density", "mistakes_disclosure", "mistakes_pufferfish")
_CLEARLY = 1e-6

KINDS = ("false", "misprint", "loose", "incomplete")

_ERRATA: dict[str, Erratum] = {}


@dataclass(frozen=True)
class Counterexample:
    """One instance: what the printed statement claims there, and what the corrected one does."""

    printed: Claim
    corrected: Claim

    @property
    def refutes(self) -> bool:
        """Whether the printed claim clearly fails."""
        return self.printed.excess() > _CLEARLY

    @property
    def mends(self) -> bool:
        """Whether the corrected claim holds."""
        return self.corrected.excess() <= TOLERANCE

    def __str__(self) -> str:
        return f"{self.printed.about}: {_read(self.printed)}; corrected: {_read(self.corrected)}"


def _read(claim: Claim) -> str:
    verdict = "holds" if claim.excess() <= TOLERANCE else "fails"
    if claim.scale == 0.0:
        return verdict
    return f"{claim.found:.6g} {claim.relation} {claim.claimed:.6g} {verdict}"


@dataclass(frozen=True)
class Erratum:
    """One wrong, loose or incomplete statement.

    Attributes
    ----------
    id : such as ``"E3"``
    source : key into ``references.bib``
    place : where it is printed
    kind : ``"false"``, ``"misprint"``, ``"loose"`` (true, but more is true) or ``"incomplete"``
        (a case or a condition is missing)
    printed, corrected : the statements in our words
    """

    id: str
    source: str
    place: str
    kind: str
    printed: str
    corrected: str
    instances: Callable[[], Iterable[tuple[Claim, Claim]]] = field(repr=False)

    def counterexamples(self) -> tuple[Counterexample, ...]:
        """Compute the instances."""
        return tuple(Counterexample(printed, corrected) for printed, corrected in self.instances())

    @property
    def stands(self) -> bool:
        """Whether every instance refutes the printed statement and bears out the corrected one."""
        found = self.counterexamples()
        return bool(found) and all(example.refutes and example.mends for example in found)


def erratum(
    id: str, *, source: str, place: str, kind: str, printed: str, corrected: str
) -> Callable[
    [Callable[[], Iterable[tuple[Claim, Claim]]]], Callable[[], Iterable[tuple[Claim, Claim]]]
]:
    """Register the decorated generator of (printed, corrected) claims as an erratum."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise UnknownNameError("kind of erratum", kind, KINDS)

    def register(
        instances: Callable[[], Iterable[tuple[Claim, Claim]]],
    ) -> Callable[[], Iterable[tuple[Claim, Claim]]]:
        known = _ERRATA.get(id)
        if known is not None and known.instances.__module__ != instances.__module__:
            raise InputError(
                "identifier of an erratum",
                expected="one that is not taken",
                got=f"{id}, registered in {known.instances.__module__}",
                remedy="choose the next number",
            )
        _ERRATA[id] = Erratum(id, source, place, kind, printed, corrected, instances)
        return instances

    return register


def errata() -> tuple[Erratum, ...]:
    """Every known mistake in the four papers, in order.

    Examples
    --------
    >>> first = errata()[0]
    >>> first.place, first.kind
    ('Proposition 3 and Corollary 4', 'misprint')
    >>> print(first.counterexamples()[0])
    diagonal entry at p = (.5, .5), ε = 1: -0.359141 >= 0 fails; corrected: 1 >= 0.693147 holds
    """
    for name in _FILES:
        importlib.import_module(f".{name}", __package__)
    return tuple(_ERRATA[key] for key in sorted(_ERRATA, key=_order))


def find_erratum(name: str) -> Erratum:
    """The erratum with an identifier; raises :class:`UnknownNameError` with the nearest one."""
    found = {entry.id.lower(): entry for entry in errata()}
    wanted = name.strip().lower() if isinstance(name, str) else None
    if wanted is None or wanted not in found:
        raise UnknownNameError("erratum", name, (entry.id for entry in found.values()))
    return found[wanted]


def _order(name: str) -> tuple[int, str]:
    digits = "".join(c for c in name if c.isdigit())
    return int(digits or 0), name
