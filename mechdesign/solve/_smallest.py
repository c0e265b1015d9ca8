"""``smallest``: the smallest level at which a utility is reached, with proof from both sides."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
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
from ..exact import float_at_least
from ..numeric import finite_number
from ..prior import Prior
from ..privacy.free_level import as_family
from ..program.problem import Problem, designable, state_problem
from ..program.program import LinearProgram
from ..roots import LevelSearch, Probe
from ..utility.base import Utility
from ..utility.estimation import Estimation
from ._design import Design
from ._sweep import Walk
from .choice import check_solver
from .method import Method

# Precisions that can be asked for.
_FINEST, _COARSEST = 1e-12, 0.5


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


@dataclass(frozen=True, eq=False, kw_only=True)
class _Probe(Probe):
    """A design with its value and bound, or that there is none.

    Nothing is known where the design failed, as it can at a level that hardly leaves any kernel.
    """

    value: Fraction | None = None
    bound: Fraction | None = None
    design: Design | None = None
    proof: Infeasibility | None = None
    failure: SolverError | CertificateError | None = None


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
    if solver == "all":
        raise LevelError(
            "smallest level",
            expected="one method",
            got="solver='all'",
            remedy="ask for one after another",
        )
    family = as_family(notion)
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
        notions = family.at(level)
        return designable(state_problem(prior, utility, notions, outputs, time_limit, subject_to))

    levels = _Levels(family.name, state, target, Walk(solver))
    search = LevelSearch(levels.probe, progress=progress)
    low, high = search.narrowed(share)
    if not high.reaches:
        raise levels.never(high)
    if low is None and len(search.probes) > 1:
        raise levels.undecided()
    assert high.design is not None
    bound = None if low is None or low.bound is None else float_at_least(low.bound)
    return SmallestLevel(
        family.name,
        float(target),
        high.level,
        None if low is None else low.level,
        high.design,
        bound,
        None if low is None else low.proof,
        len(search.probes),
    )


@dataclass
class _Levels:
    """Designs of a family's levels, each compared with those before it."""

    family: str
    state: Callable[[float], Problem]
    target: Fraction
    walk: Walk
    probes: list[_Probe] = field(default_factory=list)

    def probe(self, level: float) -> _Probe:
        """What is known at a level."""
        problem = self.state(level)
        program, proof = problem.program, None
        if isinstance(program, LinearProgram) and program.is_restricted:
            proof = prove_infeasible(problem)
        if proof is not None:
            found = _Probe(level=level, misses=True, proof=proof)
        else:
            found = self._designed(problem, level)
        for other in self.probes:
            self._compare(*sorted((other, found), key=lambda probe: probe.level))
        self.probes.append(found)
        return found

    def _designed(self, problem: Problem, level: float) -> _Probe:
        try:
            design = self.walk.step(problem)
        except (SolverError, CertificateError) as failure:
            return _Probe(level=level, failure=failure)
        enclosed = problem.enclose(design.mechanism)
        value = None if enclosed is None else enclosed.low
        bound = Fraction(design.bound) if math.isfinite(design.bound) else None
        return _Probe(
            level=level,
            reaches=value is not None and value >= self.target,
            misses=bound is not None and bound < self.target,
            excess=None if value is None else float(value - self.target),
            value=value,
            bound=bound,
            design=design,
        )

    def _compare(self, first: _Probe, second: _Probe) -> None:
        """Refuse a family that provably gives less at a larger level."""
        if first.level == second.level or first.value is None:
            return
        falls = second.bound is not None and second.bound < first.value
        if falls or second.proof is not None:
            got = "nothing" if second.bound is None else f"at most {float(second.bound):.9g}"
            raise LevelError(
                f"notion {self.family}",
                expected="values that do not fall as the level grows",
                got=f"{float(first.value):.9g} at level {first.level:.9g} and {got} at "
                f"{second.level:.9g}",
                remedy="pass a notion that asks less at larger levels",
            )

    def undecided(self) -> InfeasibleError:
        """That no level provably misses the value."""
        return InfeasibleError(
            f"no level of {self.family} was found at which {float(self.target):.12g} is "
            "provably out of reach; ask for a value that is farther from that of an uninformative "
            "kernel, or for another solver",
            (self.family,),
        )

    def never(self, most: _Probe) -> InfeasibleError | SolverError | CertificateError:
        """That no level reaches the value, from what is known at the largest."""
        if most.failure is not None:
            return most.failure
        asked = f"{float(self.target):.12g} at least"
        if most.proof is not None:
            return self._impossible(asked, most)
        if most.misses:
            assert most.bound is not None
            why = f"no kernel is above {float_at_least(most.bound):.12g}"
        elif math.isinf(most.level) or most.value is None:
            why = "no kernel that reaches it was found, nor a proof that there is none"
        else:
            short = float(self.target - most.value)
            why = f"the best kernel found lacks {short:.3g}"
        at = "with no bound on privacy" if math.isinf(most.level) else f"at level {most.level:g}"
        return InfeasibleError(
            f"{asked} is not reached at any level of {self.family}: {at} {why}; ask for a "
            "smaller value",
            (self.family,),
        )

    def _impossible(self, asked: str, most: _Probe) -> InfeasibleError:
        """What clashes at the largest level, whatever value is asked for."""
        why = InfeasibleError(f"no kernel satisfies the rest of what is asked ({most.proof})")
        try:
            check_feasible(self.state(most.level))
        except InfeasibleError as found:
            why = found
        return InfeasibleError(
            f"{asked} is not reached at any level of {self.family}, nor is any other value: {why}",
            why.clash,
            why.proof or most.proof,
            why.levels,
        )
