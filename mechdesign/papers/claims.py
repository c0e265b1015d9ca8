"""What a paper claims, in a form that can be checked: results, errata, and the register of both.

A result is a generator of claims, registered under an identifier. A claim compares two numbers that
were computed in different ways on one random instance::

    from mechdesign.papers.claims import at_least, at_most, equal, theorem

    @theorem("PML-Thm-3.5", source="SaeidianDisclosure", tight=True,
             conditions="finite alphabets, H∞(U) > ε",
             statement="What ε-PML leaves of the uncertainty about U is at least H∞(U) − ε.")
    def _remaining_uncertainty(rng):
        ...                                    # draw a prior, a kernel, a feature from rng
        yield at_least(remaining, entropy - leakage, "random kernel")
        yield at_least(remaining_there, entropy - leakage_there, "kernel that attains it")

``tight`` promises that on every instance some claim is met with equality; moving every claimed
number by 1% in the wrong direction must then break one of them, and a test sees to that.

An erratum is a generator of pairs: what the printed statement claims on an instance, and what the
corrected one does. The printed claim fails there; of a statement that is only loose it holds, with
room to spare. The files of the papers register what they hold when they are imported;
``catalogue`` imports them all.
"""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.random import Generator

from ..errors import InputError, UnknownNameError

# Claims are met up to this much, relative to the larger of 1 and the claimed number.
TOLERANCE = 1e-9
# A printed claim fails clearly by more than this much.
_CLEARLY = 1e-6
# One instance of the longest check makes some hundreds.
_MOST_CLAIMS = 100_000

KINDS = ("false", "gap", "misprint", "loose")

#: What every erratum is to be read with.
READ_AS = (
    "The papers were read as text reconstructed from their PDFs: what looks like a misprint may "
    "have arisen there."
)

THEOREMS: dict[str, Theorem] = {}
ERRATA: dict[str, Erratum] = {}


@dataclass(frozen=True)
class Claim:
    """``found`` is at most, at least or equal to ``claimed``; build it with the functions below.

    Attributes
    ----------
    found : what was measured on the instance
    claimed : what the result says
    relation : which way round
    about : the instance in a few words
    scale : what a perturbation of 1% is 1% of; the size of ``claimed`` when left out
    """

    found: float
    claimed: float
    relation: Literal["<=", ">=", "=="]
    about: str = ""
    scale: float | None = None

    def moved(self, share: float) -> tuple[float, ...]:
        """The claimed number made stronger by a share of its size (both ways for an equality)."""
        if share == 0 or not math.isfinite(self.claimed):
            return (self.claimed,)
        step = share * (abs(self.claimed) if self.scale is None else self.scale)
        if self.relation == "==":
            return (self.claimed - step, self.claimed + step)
        return (self.claimed - step if self.relation == "<=" else self.claimed + step,)

    def excess(self, share: float = 0.0) -> float:
        """By how much the claim fails, relative to its size; at most 0 when it holds."""
        return max(self._excess(claimed) for claimed in self.moved(share))

    def _excess(self, claimed: float) -> float:
        if math.isnan(self.found) or math.isnan(claimed):
            return math.inf
        if self.found == claimed:
            return 0.0
        apart = self.found - claimed
        if self.relation == ">=":
            apart = -apart
        elif self.relation == "==":
            apart = abs(apart)
        if math.isinf(apart):
            return apart
        return apart / max(1.0, abs(claimed))


class _Stopped(BaseException):
    """A check has taken its time; nothing on the way catches it."""


@contextmanager
def _stopped_after(seconds: float) -> Iterator[None]:
    """Raise in what runs inside once it has taken so much processor time.

    Signals reach the main thread only, and not every platform has them: elsewhere nothing is
    stopped.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise _Stopped

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


Claims = Iterator[Claim]
# What a printed statement claims on an instance, and what the corrected one does.
Pairs = Iterator[tuple[Claim, Claim]]


def at_most(found: float, claimed: float, about: str = "", scale: float | None = None) -> Claim:
    """``found <= claimed``."""
    return Claim(float(found), float(claimed), "<=", about, scale)


def at_least(found: float, claimed: float, about: str = "", scale: float | None = None) -> Claim:
    """``found >= claimed``."""
    return Claim(float(found), float(claimed), ">=", about, scale)


def equal(found: float, claimed: float, about: str = "", scale: float | None = None) -> Claim:
    """``found == claimed``, up to rounding."""
    return Claim(float(found), float(claimed), "==", about, scale)


def holds(fact: bool, about: str = "") -> Claim:
    """A yes or no that has no number to perturb."""
    return Claim(float(bool(fact)), 1.0, "==", about, 0.0)


@dataclass(frozen=True)
class Outcome:
    """What checking a result showed.

    Attributes
    ----------
    ok : whether every claim held, up to rounding
    claims : how many were looked at
    worst : the claim that came closest to failing, or failed
    excess : by how much it fails, relative to its size; at most 0 when it holds
    """

    ok: bool
    claims: int
    worst: Claim
    excess: float


@dataclass(frozen=True)
class Theorem:
    """One result: what it says, where it is from, when it holds, and a check.

    Attributes
    ----------
    id : such as ``"PMC-Thm-4.1"``; ID, PMC, PML and PP stand for the four papers, D for results
        derived in this project
    statement : in our words
    source : key into ``references.bib``; empty for results derived in this project
    conditions : what the instance must satisfy
    tight : whether every instance of the check contains one that meets a claim with equality
    also : identifiers under which the same result is stated elsewhere
    slack : why a claim that is 2% too strong is not noticed, where that is so
    """

    id: str
    statement: str
    source: str
    conditions: str
    tight: bool
    also: tuple[str, ...]
    claims: Callable[[Generator], Iterable[Claim]] = field(repr=False)
    slack: str = ""

    def check(
        self,
        rng: Generator | int = 0,
        *,
        instances: int = 1,
        share: float = 0.0,
        seconds: float = 120.0,
    ) -> Outcome:
        """Test the claims on random instances.

        Parameters
        ----------
        rng : generator, or a seed for one
        instances : how many to draw
        share : make every claim stronger by this share of its size, to see that the check can fail
        seconds : processor time that one instance may take; a check that takes more, or that makes
            more than 100,000 claims of one instance, fails
        """
        generator = np.random.default_rng(rng)
        found = [c for _ in range(instances) for c in self._instance(generator, seconds)]
        if not found:
            raise InputError(
                f"check of {self.id}",
                expected="at least one claim",
                got="none",
                remedy="ask for at least one instance",
            )
        worst = max(found, key=lambda claim: claim.excess(share))
        excess = worst.excess(share)
        return Outcome(excess <= TOLERANCE, len(found), worst, excess)

    def _instance(self, generator: Generator, seconds: float) -> list[Claim]:
        """The claims of one instance, and one that fails where they do not come to an end."""
        found: list[Claim] = []
        try:
            with _stopped_after(seconds):
                for claim in self.claims(generator):
                    if len(found) >= _MOST_CLAIMS:
                        found.append(holds(False, f"stopped after {_MOST_CLAIMS:,} claims"))
                        break
                    found.append(claim)
        except _Stopped:
            found.append(holds(False, f"stopped after {seconds:g} s of processor time"))
        return found


def theorem(
    id: str,
    *,
    statement: str,
    source: str = "",
    conditions: str = "finite alphabets",
    tight: bool = False,
    also: Iterable[str] = (),
    slack: str = "",
) -> Callable[[Callable[[Generator], Iterable[Claim]]], Callable[[Generator], Iterable[Claim]]]:
    """Register the decorated generator of claims as the check of a result."""

    def register(
        claims: Callable[[Generator], Iterable[Claim]],
    ) -> Callable[[Generator], Iterable[Claim]]:
        add(Theorem(id, statement, source, conditions, tight, tuple(also), claims, slack))
        return claims

    return register


def add(result: Theorem) -> None:
    """Put a result into the register; raises :class:`InputError` when its identifier is taken."""
    known = THEOREMS.get(result.id)
    if known is not None and known.claims.__module__ != result.claims.__module__:
        raise InputError(
            "identifier of a result",
            expected="one that is not taken",
            got=f"{result.id}, registered in {known.claims.__module__}",
            remedy="number it as its paper does",
        )
    THEOREMS[result.id] = result


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
    def leaves_room(self) -> bool:
        """Whether the printed claim holds, and clearly is not met with equality."""
        return self.printed.excess() < -_CLEARLY

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
    """One statement that is wrong as printed, or of which more is true.

    Attributes
    ----------
    id : such as ``"E3"``
    source : key into ``references.bib``
    place : where it is printed
    kind : how severe it is: ``"false"`` (under every reading), ``"gap"`` (a case, a condition or a
        step of a proof is missing; some reading saves what is said), ``"misprint"`` (the text
        around it says what is meant) or ``"loose"`` (no mistake: true, but more is true)
    quotation : the words or the formula in question, as read
    printed : what is judged, in our words, and nothing that the paper does not say
    reading : what saves the statement, or why nothing does
    corrected : what holds instead
    proof : why that holds, and why the instances refute what is judged
    """

    id: str
    source: str
    place: str
    kind: str
    printed: str
    corrected: str
    instances: Callable[[], Iterable[tuple[Claim, Claim]]] = field(repr=False)
    quotation: str = ""
    reading: str = ""
    proof: str = ""

    def counterexamples(self) -> tuple[Counterexample, ...]:
        """Compute the instances."""
        return tuple(Counterexample(printed, corrected) for printed, corrected in self.instances())

    @property
    def stands(self) -> bool:
        """Whether every instance bears out the corrected statement, and judges the printed one.

        It refutes it, or, where that is loose, shows that it holds with room to spare.
        """
        found = self.counterexamples()
        loose = self.kind == "loose"
        return bool(found) and all(
            example.mends and (example.leaves_room if loose else example.refutes)
            for example in found
        )


def erratum(
    id: str,
    *,
    source: str,
    place: str,
    kind: str,
    printed: str,
    corrected: str,
    quotation: str,
    reading: str,
    proof: str,
) -> Callable[
    [Callable[[], Iterable[tuple[Claim, Claim]]]], Callable[[], Iterable[tuple[Claim, Claim]]]
]:
    """Register the decorated generator of (printed, corrected) claims as an erratum."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise UnknownNameError("kind of erratum", kind, KINDS)

    def register(
        instances: Callable[[], Iterable[tuple[Claim, Claim]]],
    ) -> Callable[[], Iterable[tuple[Claim, Claim]]]:
        known = ERRATA.get(id)
        if known is not None and known.instances.__module__ != instances.__module__:
            raise InputError(
                "identifier of an erratum",
                expected="one that is not taken",
                got=f"{id}, registered in {known.instances.__module__}",
                remedy="choose the next number",
            )
        ERRATA[id] = Erratum(
            id, source, place, kind, printed, corrected, instances, quotation, reading, proof
        )
        return instances

    return register
