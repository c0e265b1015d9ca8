"""``smallest``: the smallest level at which a utility is reached, with proof from both sides."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..certificate.infeasible import Infeasibility, check_feasible, prove_infeasible
from ..errors import (
    CertificateError,
    InfeasibleError,
    InputError,
    LevelError,
    SolverError,
)
from ..exact import LARGEST_LEVEL, float_at_least
from ..numeric import finite_number
from ..prior import Prior
from ..privacy.free_level import Family, as_families
from ..progress import counter
from ..utility.base import Utility
from ..utility.estimation import Estimation
from ._design import Design
from ._sweep import Walk
from .choice import check_solver
from .method import Method
from .problem import Problem, designable, state_problem
from .program import LinearProgram

# Levels are told apart down to this, whatever their size.
_CLOSEST = 1e-12
# Precisions that can be asked for.
_FINEST, _COARSEST = 1e-12, 0.5
_MOST_STEPS = 200
# Steps of the secant after which one halves the interval where it has shrunk by less than that.
_PATIENCE = 3


@dataclass(frozen=True, eq=False)
class SmallestLevel:
    """The smallest level at which a utility is reached, between two numbers.

    Attributes
    ----------
    family : the notion as a function of the level, as it is written
    at_least : the value that was asked for
    level : a level in nats at which the value of ``design`` is at least that, exactly
    below : a level at which no kernel reaches it; ``None`` where it is reached at level zero
    design : the certified design at ``level``
    bound_below : proven upper bound on the value at ``below``, less than ``at_least``; ``None``
        where no kernel satisfies there what is asked, or where there is no such level
    infeasible_below : the proof of that
    steps : how many levels were designed for
    """

    family: str
    at_least: float
    level: float
    below: float | None
    design: Design
    bound_below: float | None
    infeasible_below: Infeasibility | None
    steps: int

    def __repr__(self) -> str:
        lines = [
            f"Smallest level of {self.family} with {self.design.utility!r} at least "
            f"{self.at_least:.12g}",
            f"level {self.level!r}: value {self.design.value:.12g}, by a certified design "
            f"({self.design.method})",
        ]
        if self.below is None:
            lines.append("no smaller one: it is reached at level zero")
        elif self.infeasible_below is not None:
            lines.append(
                f"below {self.below!r}: no kernel does the rest of what is asked (proved: "
                f"{self.infeasible_below.reason})"
            )
        else:
            lines.append(f"below {self.below!r}: no kernel is above {self.bound_below!r}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class _Probe:
    """What is known at a level: a design with its value and bound, or that there is none.

    Nothing is known where the design failed, as it can at a level that hardly leaves any kernel.
    """

    level: float
    value: Fraction | None = None
    bound: Fraction | None = None
    design: Design | None = None
    proof: Infeasibility | None = None
    failure: SolverError | CertificateError | None = None

    def reaches(self, target: Fraction) -> bool:
        return self.value is not None and self.value >= target

    def misses(self, target: Fraction) -> bool:
        return self.proof is not None or (self.bound is not None and self.bound < target)


def smallest(
    notion: Any,
    prior: Prior,
    utility: Utility | None,
    *,
    at_least: float,
    subject_to: Any = (),
    outputs: Any = None,
    precision: float = 1e-6,
    solver: str | Method = "auto",
    time_limit: float | None = None,
    progress: bool = False,
) -> SmallestLevel:
    """The smallest level of a notion at which a utility reaches a value, with proof.

    The inverse of :func:`design`: at ``level`` a certified kernel has a value of at least
    ``at_least``, exactly; at ``below`` no kernel has, as the bound of a design proves. The values
    must not fall as the level grows, as they do not for any notion of the package.

    Parameters
    ----------
    notion : class, text or function
        A notion with one level left free: ``md.PML``, ``"alip:2e,e"``, ``"pml:e+ldp:2e"``, or a
        function from a level in nats to a notion or a list of notions.
    prior, utility, outputs, subject_to, solver, time_limit : as for :func:`design`
    at_least : number
        The value to reach; of ``md.utility.Estimation`` minus the risk.
    precision : float
        How far ``below`` may be under ``level``, as a share of it. Where no design decides between
        the two, they are farther apart.
    progress : bool
        Show the number of designs on standard error.

    Raises
    ------
    InfeasibleError
        When no level reaches the value, or none that is finite.
    LevelError
        For what is no notion with a free level, and for one whose values fall as the level grows.
    InputError
        What :func:`design` raises, and for a value or a precision that is no such number.

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior([.5, .3, .2])
    >>> found = md.smallest(md.LDP, prior, md.utility.Hamming(), at_least=0.7)
    >>> round(found.level, 4), found.design.value >= 0.7, found.bound_below < 0.7
    (1.5404, True, True)
    """
    check_solver(solver)
    families = as_families(notion)
    if len(families) != 1 or solver == "all":
        raise LevelError(
            "smallest level",
            expected="one notion with a free level, and one method",
            got=f"{len(families)} notions" if solver != "all" else "solver='all'",
            remedy="ask for one after another",
        )
    target = Fraction(finite_number(at_least, "at_least"))
    if isinstance(utility, Estimation) and target > 0:
        raise InputError(
            "at_least",
            expected="minus the risk to be reached, as the values of estimates are",
            got=f"{float(target):.12g}",
            remedy=f"pass at_least={-float(target):.12g} for a risk of {float(target):.12g}",
        )
    share = finite_number(precision, "precision", _FINEST, _COARSEST)

    def state(level: float) -> Problem:
        notions = families[0].at(level)
        return designable(state_problem(prior, utility, notions, outputs, time_limit, subject_to))

    with counter(None, "levels", show=progress) as advance:
        search = _Search(families[0], state, target, Walk(solver), advance)
        low, high = search.narrowed(share)
    assert high.design is not None
    bound = None if low is None or low.bound is None else float_at_least(low.bound)
    return SmallestLevel(
        families[0].name,
        float(target),
        high.level,
        None if low is None else low.level,
        high.design,
        bound,
        None if low is None else low.proof,
        len(search.probes),
    )


class _Search:
    """Levels that reach a value and levels that do not, narrowed."""

    def __init__(
        self,
        family: Family,
        state: Callable[[float], Problem],
        target: Fraction,
        walk: Walk,
        advance: Callable[[int], None],
    ) -> None:
        self._family, self._state, self._target = family, state, target
        self._walk, self._advance = walk, advance
        self.probes: list[_Probe] = []

    def narrowed(self, precision: float) -> tuple[_Probe | None, _Probe]:
        """A level that misses the value, none where level zero reaches it, and one that does."""
        low = self._first()
        if low.reaches(self._target):
            return None, low
        high = self._last(max(low.level, 0.5))
        if not low.misses(self._target):
            low = self._lower(high)
        return self._between(low, high, precision)

    def _first(self) -> _Probe:
        """Level zero, or the smallest that the notion takes, as far as that is tried."""
        level = 0.0
        while True:
            try:
                return self._probe(level)
            except LevelError:
                if level > 1:
                    raise
            level = max(16 * level, 1e-9)

    def _last(self, start: float) -> _Probe:
        """A finite level that reaches the value."""
        try:
            most = self._probe(math.inf)
        except LevelError:  # the notion takes finite levels alone
            most = None
        if most is not None and not most.reaches(self._target):
            raise self._never(most)
        level = start
        while True:
            found = self._probe(level)
            if found.reaches(self._target):
                return found
            if level >= LARGEST_LEVEL:
                raise self._never(found)
            level = min(2 * level, float(LARGEST_LEVEL))

    def _never(self, most: _Probe) -> InfeasibleError | SolverError | CertificateError:
        if most.failure is not None:
            return most.failure
        asked = f"{float(self._target):.12g} at least"
        if most.proof is not None:
            return self._impossible(asked, most)
        if most.misses(self._target):
            assert most.bound is not None
            why = f"no kernel is above {float_at_least(most.bound):.12g}"
        elif math.isinf(most.level) or most.value is None:
            why = "no kernel that reaches it was found, nor a proof that there is none"
        else:
            short = float(self._target - most.value)
            why = f"the best kernel found lacks {short:.3g}"
        at = "with no bound on privacy" if math.isinf(most.level) else f"at level {most.level:g}"
        return InfeasibleError(
            f"{asked} is not reached at any level of {self._family.name}: {at} {why}; ask for a "
            "smaller value",
            (self._family.name,),
        )

    def _impossible(self, asked: str, most: _Probe) -> InfeasibleError:
        """What clashes at the largest level, whatever value is asked for."""
        why = InfeasibleError(f"no kernel satisfies the rest of what is asked ({most.proof})")
        try:
            check_feasible(self._state(most.level))
        except InfeasibleError as found:
            why = found
        return InfeasibleError(
            f"{asked} is not reached at any level of {self._family.name}, nor is any other value: "
            f"{why}",
            why.clash,
            why.proof or most.proof,
            why.levels,
        )

    def _lower(self, high: _Probe) -> _Probe:
        """A level that provably misses the value, where the first one was not decided."""
        level = high.level
        for _ in range(60):
            level /= 2
            found = self._probe(level)
            if found.misses(self._target):
                return found
        raise InfeasibleError(
            f"no level of {self._family.name} was found at which {float(self._target):.12g} is "
            "provably out of reach; ask for a value that is farther from that of an uninformative "
            "kernel, or for another solver",
            (self._family.name,),
        )

    def _between(self, low: _Probe, high: _Probe, precision: float) -> tuple[_Probe, _Probe]:
        undecided: list[float] = []
        weights, last = [1.0, 1.0], 0
        slow, width = 0, high.level - low.level
        for _ in range(_MOST_STEPS):
            room = max(precision * high.level, _CLOSEST)
            if high.level - low.level <= room:
                break
            between = [v for v in undecided if low.level < v < high.level]
            if between:
                gaps = (min(between) - low.level, high.level - max(between))
                if max(gaps) <= room:
                    break
                level = low.level + gaps[0] / 2 if gaps[0] > gaps[1] else high.level - gaps[1] / 2
            else:
                level = self._estimate(low, high, weights, room, halve=slow >= _PATIENCE)
            if not low.level < level < high.level:
                break
            found = self._probe(level)
            # An end that stays a second time loses half of its weight (Illinois).
            if found.reaches(self._target):
                high, weights = found, [weights[0] / 2 if last > 0 else 1.0, 1.0]
                last = 1
            elif found.misses(self._target):
                low, weights = found, [1.0, weights[1] / 2 if last < 0 else 1.0]
                last = -1
            else:
                undecided.append(level)
            now = high.level - low.level
            slow, width = (0, now) if now <= width / 2 else (slow + 1, width)
        return low, high

    def _estimate(
        self, low: _Probe, high: _Probe, weights: list[float], room: float, *, halve: bool
    ) -> float:
        """The next level: by the secant of values whose ends that stay lose weight, or the middle.

        At least half of the room from either end, so that the ends close in from both sides.
        """
        middle = (low.level + high.level) / 2
        if halve or low.value is None or high.value is None:
            return middle
        missing = weights[0] * float(self._target - low.value)
        spare = weights[1] * float(high.value - self._target)
        if not (missing > 0 and spare >= 0 and math.isfinite(missing + spare)):
            return middle
        level = low.level + (high.level - low.level) * missing / (missing + spare)
        near = min(room, high.level - low.level) / 2
        return min(max(level, low.level + near), high.level - near)

    def _probe(self, level: float) -> _Probe:
        problem = self._state(level)
        self._advance(1)
        program, proof = problem.program, None
        if isinstance(program, LinearProgram) and program.is_restricted:
            proof = prove_infeasible(problem)
        found = _Probe(level, proof=proof) if proof is not None else self._designed(problem, level)
        for other in self.probes:
            self._compare(*sorted((other, found), key=lambda probe: probe.level))
        self.probes.append(found)
        return found

    def _designed(self, problem: Problem, level: float) -> _Probe:
        try:
            design = self._walk.step(problem)
        except (SolverError, CertificateError) as failure:
            return _Probe(level, failure=failure)
        enclosed = problem.enclose(design.mechanism)
        value = None if enclosed is None else enclosed.low
        bound = Fraction(design.bound) if math.isfinite(design.bound) else None
        return _Probe(level, value, bound, design)

    def _compare(self, first: _Probe, second: _Probe) -> None:
        """Refuse a family that provably gives less at a larger level."""
        if first.level == second.level or first.value is None:
            return
        falls = second.bound is not None and second.bound < first.value
        if falls or second.proof is not None:
            got = "nothing" if second.bound is None else f"at most {float(second.bound):.9g}"
            raise LevelError(
                f"notion {self._family.name}",
                expected="values that do not fall as the level grows",
                got=f"{float(first.value):.9g} at level {first.level:.9g} and {got} at "
                f"{second.level:.9g}",
                remedy="pass a notion that asks less at larger levels",
            )
