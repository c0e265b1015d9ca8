"""Impossible, because: the proof that no kernel does what is asked, and what clashes.

A program is asked with a zero objective and slack in its rows and limits, at the least total slack.
Where that is positive the dual variables bound the zero objective below zero, by the same weak
duality as any optimum (Farkas): no kernel can satisfy what is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
from ..utility.linear import Matrix
from .bounds import upper_bound
from .cuts import least_slack_of_cuts
from .feasible import repair_required, slack_duals
from .few_outputs import search_outputs

Part = PrivacyNotion | Requirement

# Slack below this proves nothing.
_NOISE = 1e-15
# Smallest levels are narrowed to this share of themselves, in fewer steps where kernels are large.
_NARROW, _STEPS, _FEW_STEPS, _LARGE = 1e-8, 60, 10, 4000
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
    levels = _levels(problem, [part for part in clash if isinstance(part, PrivacyNotion)])
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


def _levels(problem: Problem, notions: Sequence[PrivacyNotion]) -> dict[str, float]:
    """For each notion with one level the smallest at which everything else is possible."""
    found = {}
    until = clock.now() + _LEVEL_SECONDS
    for notion in notions:
        if len(notion.level_fields) == 1:
            level = _smallest_level(problem, notion, until)
            if level is not None:
                found[str(notion)] = level
    return found


def _smallest_level(problem: Problem, notion: PrivacyNotion, until: float) -> float | None:
    """The smallest level of a notion at which the rest is possible, ``inf`` for none.

    Proved impossible just below, and possible at it by a kernel that passed every exact check.
    ``None`` where that is not decided before the clock shows ``until``: a tolerance of equations
    may also leave room for kernels at large levels that weights over 2**53 cannot hold.
    """
    asked_for: list[Part] = [*problem.notions, *problem.requirements]
    others = [part for part in asked_for if part is not notion]
    field = notion.level_fields[0]

    def at(level: float) -> Problem | None:
        try:
            changed: Part = replace(notion, **{field: level})  # type: ignore[type-var]
            return _restated(problem, [*others, changed])
        except InputError:
            return None

    low, high = notion.levels[0], max(2 * notion.levels[0], 0.5)
    while True:
        asked = at(min(high, float(LARGEST_LEVEL)))
        if asked is None:
            return None
        proof = prove_infeasible(asked, until)
        if clock.now() > until:
            return None
        if proof is None:
            break
        if high >= LARGEST_LEVEL:
            return math.inf
        low, high = high, 2 * high
    high = min(high, float(LARGEST_LEVEL))
    assert isinstance(problem.program, LinearProgram)
    large = math.prod(problem.program.shape) > _LARGE
    for _ in range(_FEW_STEPS if large else _STEPS):
        if high - low <= _NARROW * high:
            break
        middle = (low + high) / 2
        asked = at(middle)
        if asked is None:
            return None
        proof = prove_infeasible(asked, until)
        if clock.now() > until:
            return None
        if proof is None:
            high = middle
        else:
            low = middle
    step = max(high - low, _NARROW * high)
    for _ in range(_TRIES):
        asked = at(high)
        if clock.now() > until:
            return None
        if asked is not None and _is_possible(asked, until - clock.now()):
            return high if large or high - low <= _NEAR * high else None
        high, step = high + step, _FARTHER * step
    return None


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
