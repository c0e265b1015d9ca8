"""Impossible, because: the proof that no kernel does what is asked, and what clashes.

A program is asked with a zero objective and slack in its rows and limits, at the least total slack.
Where that is positive the dual variables bound the zero objective below zero, by the same weak
duality as any optimum (Farkas): no kernel can satisfy what is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from .. import clock
from ..errors import CertificateError, InfeasibleError, InputError, SolverError, quote
from ..exact import LARGEST_LEVEL, nearest_float
from ..labels import Label, told_shape
from ..linear.compiled import compile_program
from ..linear.cvxpy_form import inner_kernel
from ..linear.solvers import solved
from ..prior import Prior
from ..privacy.differential import LDP
from ..privacy.notion import PrivacyNotion
from ..program.duals import Duals
from ..program.problem import Problem, state_problem
from ..program.program import LinearProgram
from ..requirement.base import Requirement
from ..roots import narrowed
from ..utility.linear import Matrix
from .bounds import upper_bound
from .certificate import fitting_duals
from .cuts import least_slack_of_cuts
from .feasible import repair_required, slack_duals
from .few_outputs import search_outputs

Part = PrivacyNotion | Requirement

# Slack below this proves nothing.
_NOISE = 1e-15
# Smallest levels are narrowed to this share of themselves.
_NARROW = 1e-8
# How far apart levels are that show a slope, as a share of themselves, of tiny ones of the other.
_STEP, _SMALL = 1e-10, 1e-3
# Levels that are known up to this share are told.
_NEAR = 5e-7
# How often a level that is just above is tried, farther off by this factor each time.
_TRIES, _FARTHER = 16, 3
# Parts that are tried one by one for being superfluous.
_MOST_PARTS = 60
# Seconds for what clashes and for levels that would do, once it is proved that something does.
_CLASH_SECONDS, _LEVEL_SECONDS = 30.0, 30.0


@dataclass(frozen=True, eq=False)
class Infeasibility:
    """The proof that no kernel satisfies what is asked.

    Attributes
    ----------
    problem : what is asked, with a utility that is zero
    duals : dual variables; with them no kernel has a utility above ``bound``
    bound : below zero, where every kernel has the utility zero
    """

    problem: Problem
    duals: Duals
    bound: Fraction

    @property
    def clash(self) -> tuple[str, ...]:
        """Descriptions of the notions and requirements that cannot hold together."""
        notions = [n for n in self.problem.notions if min(n.levels) < math.inf]
        return tuple(map(str, (*notions, *self.problem.requirements)))

    @property
    def reason(self) -> str:
        """What is proved, as text."""
        zeros = _without_output(self.problem)
        if zeros is None:
            exact = all(part.is_exact for part in self.problem.requirements)
            floats = "" if exact else ", by gradients in floats"
            return f"a utility of zero is at most {nearest_float(self.bound):.3g}{floats}"
        return f"zeros, and those that follow from them, leave {quote(zeros)} no output"

    def __repr__(self) -> str:
        n, m = len(self.problem.prior), len(self.problem.outputs)
        lines = [f"No kernel of {told_shape((n, m))} satisfies all of"]
        lines += [f"  {part}" for part in self.clash]
        return "\n".join([*lines, f"proof  {self.reason}"])


def stated_proof(
    prior: Prior,
    notions: Sequence[PrivacyNotion],
    requirements: Sequence[Requirement],
    outputs: Sequence[Label],
    duals: Callable[[Problem], Duals],
) -> Infeasibility | None:
    """The proof that dual variables from anywhere give for what is asked; ``None`` for none.

    Parameters
    ----------
    duals : from the problem as it is stated to the numbers, which are trusted in nothing
    """
    utility = Matrix(np.zeros((len(prior), len(outputs))), outputs)
    problem = state_problem(prior, utility, notions, list(outputs), None, requirements)
    assert isinstance(problem.program, LinearProgram)
    if problem.program.unexpressed:
        return None
    return _proved(problem, duals(problem))


def _proved(problem: Problem, duals: Duals) -> Infeasibility | None:
    assert isinstance(problem.program, LinearProgram)
    if _without_output(problem) is not None:
        # The row of that symbol, priced at one, is a bound of minus one.
        return Infeasibility(problem, duals, Fraction(-1))
    bound, _ = upper_bound(problem.program, duals)
    return Infeasibility(problem, duals, bound) if bound < 0 else None


def check_possible(problem: Problem) -> None:
    """Raise :class:`InfeasibleError` where zeros leave a symbol no output, or a limit alone is out
    of reach: no solver is needed for either, nor need it survive them.
    """
    if _without_output(problem) is not None or _beyond(problem) is not None:
        check_feasible(problem)


def _without_output(problem: Problem) -> Label | None:
    """A symbol that zeros leave no output; ``None`` where there is none."""
    program = problem.program
    zeros = program.forbidden if isinstance(program, LinearProgram) else None
    if zeros is None or not zeros.all(axis=1).any():
        return None
    return program.prior.labels[int(np.argmax(zeros.all(axis=1)))]


def _beyond(problem: Problem) -> Duals | None:
    """Dual variables of a limit that rows of sum one do not reach, whatever else is asked; ``None``
    where floats know of none.
    """
    program = problem.program
    if not isinstance(program, LinearProgram) or not program.limits:
        return None
    rows, low, high, _ = program.limit_rows
    n, m = program.shape
    rows.sort_indices()
    count = rows.shape[0]
    owner = np.repeat(np.arange(count), np.diff(rows.indptr)) * n + rows.indices // m
    known, starts, held = np.unique(owner, return_index=True, return_counts=True)
    if not len(known):
        return None
    ends = []
    for pick in (np.maximum, np.minimum):
        best = pick.reduceat(rows.data, starts)
        best = np.where(held == m, best, pick(best, 0.0))  # outputs without an entry count nothing
        ends.append(np.bincount(known // n, best, count))
    over, under = low > ends[0], ends[1] > high
    if not (over | under).any():
        return None
    worst = int(np.argmax(over | under))
    largest = float(np.abs([*rows[[worst]].data, ends[0][worst]]).max(initial=0.0))
    sides = np.zeros(count)
    # A power of two near the size of the coefficients: beyond them only the sign counts.
    sides[worst] = math.ldexp(1.0, -math.frexp(largest)[1] if largest else 0)
    sides[worst] *= -1 if over[worst] else 1
    return Duals(limits=sides)


def check_feasible(problem: Problem) -> None:
    """Raise :class:`InfeasibleError` where it can be proved that no kernel does what is asked."""
    program = problem.program
    if not isinstance(program, LinearProgram) or not problem.requirements:
        return
    proof = prove_infeasible(problem)
    if proof is None:
        return
    clash, smaller, is_decided = _clash(problem)
    levels = _levels(problem, [part for part in clash if isinstance(part, PrivacyNotion)], proof)
    proof = smaller or proof
    names = tuple(str(part) for part in clash)
    parts = [f"no kernel satisfies {' and '.join(names)}" + " together" * (len(names) > 1)]
    if not is_decided:
        parts.append("not all of these may be needed: whether fewer clash was not decided in time")
    for notion in (part for part in clash if isinstance(part, PrivacyNotion)):
        level = levels.get(str(notion))
        if level is None:
            parts.append(f"which level would do in place of {notion} was not decided")
        elif level < math.inf:
            parts.append(f"in place of {notion} a level of {level:.9g} is the smallest that does")
        else:
            parts.append(f"in place of {notion} no finite level does")
    raise InfeasibleError(
        "; ".join(parts) + f" (proved: {proof.reason})",
        names,
        proof,
        levels,
    )


def prove_infeasible(problem: Problem, until: float = math.inf) -> Infeasibility | None:
    """The proof that no kernel does what is asked; ``None`` where none is found, as when the clock
    shows ``until`` before there is one.
    """
    seconds = until - clock.now()
    if seconds <= 0:
        return None
    problem = _zero(problem)
    program = problem.program
    assert isinstance(program, LinearProgram)
    if program.unexpressed:
        return None
    duals: Duals | None = Duals()
    alone = _beyond(problem)
    if alone is not None and (proof := _proved(problem, alone)) is not None:
        return proof
    if _without_output(problem) is None:
        least_slack = partial(slack_duals, seconds=seconds)
        bare = program.convex == ()
        duals = least_slack(program) if bare else least_slack_of_cuts(program, least_slack)
    if duals is None and program.most_outputs is not None:
        found, duals, _ = search_outputs(program)
        duals = duals if found is None else None
    return None if duals is None else _proved(problem, duals)


def _zero(problem: Problem) -> Problem:
    """The problem with a utility of zero."""
    program = problem.program
    assert isinstance(program, LinearProgram)
    n, m = len(problem.prior), len(problem.outputs)
    zero = Matrix(np.zeros((n, m)), problem.outputs)
    return replace(problem, utility=zero, program=program.without_objective)


def _restated(problem: Problem, parts: Sequence[Part]) -> Problem:
    """The problem with some of what is asked alone."""
    notions = [part for part in parts if isinstance(part, PrivacyNotion)]
    requirements = [part for part in parts if isinstance(part, Requirement)]
    utility = Matrix(np.zeros((len(problem.prior), len(problem.outputs))), problem.outputs)
    return state_problem(
        problem.prior, utility, notions or LDP(math.inf), problem.outputs, None, requirements
    )


def _clash(problem: Problem) -> tuple[list[Part], Infeasibility | None, bool]:
    """Parts that cannot hold together, none of which can be left out as far as can be proved; the
    proof for these, where any was left out; and whether there was time to try each.
    """
    until = clock.now() + _CLASH_SECONDS
    kept: list[Part] = [*problem.notions, *problem.requirements]
    proof: Infeasibility | None = None

    def is_impossible(parts: list[Part]) -> bool:
        nonlocal proof
        found = prove_infeasible(_restated(problem, parts), until)
        proof = found or proof
        return found is not None

    if len(kept) > _MOST_PARTS:
        kept = _halved(kept, is_impossible)
    for part in list(kept):
        fewer = [other for other in kept if other is not part]
        if is_impossible(fewer):
            kept = fewer
    return kept, proof, clock.now() <= until


def _halved(parts: list[Part], is_impossible: Callable[[list[Part]], bool]) -> list[Part]:
    """Fewer parts that still clash: chunks are left out as long as that is possible."""
    size = len(parts) // 2
    while size > 1:
        for start in range(0, len(parts), size):
            fewer = parts[:start] + parts[start + size :]
            if len(fewer) < len(parts) and is_impossible(fewer):
                parts = fewer
                break
        else:
            size //= 2
    return parts


def _levels(
    problem: Problem, notions: Sequence[PrivacyNotion], proof: Infeasibility
) -> dict[str, float]:
    """For each notion with one level the smallest at which everything else is possible, where that
    is decided; ``proof`` says that it is not at the level that was asked.
    """
    found = {}
    until = clock.now() + _LEVEL_SECONDS
    for notion in notions:
        if len(notion.level_fields) == 1:
            # A level that the notion does not take, or that is not decided in time.
            with suppress(InputError, SolverError):
                found[str(notion)] = _Levels(problem, notion, until).smallest(proof)
    return found


class _Levels:
    """Levels of a notion at which what is asked is provably impossible, or may be done.

    What is proved at one level says how fast a proof is lost as the level grows, as the same dual
    variables bound what kernels have at every other one (Newton's method, [Dinkelbach1967]).
    """

    def __init__(self, problem: Problem, notion: PrivacyNotion, until: float) -> None:
        self._problem, self._notion, self._until = problem, notion, until

    def smallest(self, proof: Infeasibility) -> float:
        """The smallest level at which the rest is possible, ``inf`` for none.

        Proved impossible just below, and possible at it by a kernel that passed every exact check.
        Raises :class:`SolverError` where that is not decided in time: a tolerance of equations may
        also leave room for kernels at large levels that weights over 2**53 cannot hold.
        """
        if self._bound(proof, float(LARGEST_LEVEL)) < 0:
            return math.inf
        level = float(self._notion.levels[0])
        above = level + _STEP * max(level, _SMALL)
        slope = (self._bound(proof, above) - proof.bound) / (Fraction(above) - Fraction(level))
        start = level, nearest_float(proof.bound), nearest_float(slope)
        low, high = narrowed(self._missing, *start, float(LARGEST_LEVEL), _NARROW)
        if high is None:
            return math.inf
        step = max(high - low, _NARROW * high)
        for _ in range(_TRIES):
            if high - low > _NEAR * high:
                break
            if _is_possible(self._at(high), self._left()):
                return high
            high, step = high + step, _FARTHER * step
        raise SolverError(f"no level was found that would do in place of {self._notion}")

    def _at(self, level: float) -> Problem:
        notion = self._notion
        changed: Part = replace(notion, **{notion.level_fields[0]: level})  # type: ignore[type-var]
        asked: list[Part] = [*self._problem.notions, *self._problem.requirements]
        return _restated(self._problem, [changed if part is notion else part for part in asked])

    def _left(self) -> float:
        """Seconds that are left; raises :class:`SolverError` where there are none."""
        seconds = self._until - clock.now()
        if seconds < 0:
            raise SolverError("no time is left to find out which level would do")
        return seconds

    def _missing(self, level: float) -> float | None:
        """What proves that a level does not do, below zero; ``None`` where it may."""
        proof = prove_infeasible(self._at(level), self._until)
        self._left()
        return None if proof is None else nearest_float(proof.bound)

    def _bound(self, proof: Infeasibility, level: float) -> Fraction:
        """What the dual variables of one level prove at another."""
        program = self._at(level).program
        assert isinstance(program, LinearProgram)
        duals = fitting_duals(program, proof.duals, program.shape[1])
        return Fraction(0) if duals is None else upper_bound(program, duals)[0]


def _is_possible(problem: Problem, seconds: float) -> bool:
    """Whether a kernel was found that satisfies everything exactly, within ``seconds``."""
    program: Any = problem.program
    try:
        if program.most_outputs is not None:
            found = search_outputs(program)[0]
            if found is None:
                return False
            repair_required(program, found.kernel)
            return True
        if program.convex:
            kernel = inner_kernel(program)
        else:
            compiled = compile_program(program)
            kernel = compiled.kernel(solved(compiled, seconds)[0])
        repair_required(program, kernel)
    except (SolverError, CertificateError):
        return False
    return True
