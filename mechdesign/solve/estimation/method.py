"""Optimal experiments: the mixture of extreme columns whose reports estimate best.

A kernel is an experiment, its columns are what can be observed. As k kᵀ/(πᵀk) is convex and
homogeneous in the column k, extreme columns of the privacy cone suffice ([YeBarg2018] for LDP).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import clock
from ...certificate.columns.exact_columns import Deviations, columns_of_cone, near_sides
from ...certificate.estimation import MOST_LISTED, are_listed
from ...certificate.quadratic.pricing import QuadraticPricing
from ...certificate.repair import repair_kernel
from ...errors import RequirementError, SolverError, UntoldError
from ...exact import DENOMINATOR_BITS, common_integers, nearest_float
from ...labels import listing
from ...linear.threads import one_thread
from ...privacy.constraint import Rounding
from ...program.duals import Candidate, Duals
from ...program.program import SEARCHING, EstimationProgram
from ..column_generation.master import mixed_kernel
from ..method import ESTIMATION, Method
from .fewer import fewer_columns, is_partial
from .generation import Columns, generate
from .master import UNTOLD, UNTOLD_BY_ALL, optimal_masses

Vector = NDArray[np.float64]

#: Symbols above which a step of the interior point method takes minutes, and gigabytes.
MOST_SYMBOLS = 200
# Columns of less mass than a share of the largest are left out: the first share that costs nothing.
_NEGLIGIBLE = (1e-2, 1e-3, 1e-4, 1e-6, 1e-9)
# What leaving them out may cost of the value.
_COST = 1e-9
# The share of a kernel that is mixed in where J would be singular.
_LITTLE = 1e-10
# Row sums that are off by more are of columns too few to mix.
_UNBALANCED = 1e-13
# Symbols up to which a relaxation whose value alone matters has cuts, and how near to its optimum
# one of more is solved, as a share.
_MOST_CUT, _NEAR = 50, 1e-3
# Entries of a kernel above which its risk is compared in floats: exactly it takes a second.
_LARGEST_EXACT = 50_000


class OptimalExperiment(Method):
    """Risks of estimates under bounds on likelihood ratios."""

    name = "optimal-experiment"
    features = ESTIMATION | {"apart"}
    reason = (
        "extreme columns are mixed for the least error of estimates, as in the optimal design of "
        "an experiment"
    )
    source = "Pukelsheim2006"

    def condition(self, program: EstimationProgram) -> str | None:
        """Applies to any cone of a stated number of symbols."""
        n = len(program.prior)
        if program.apart and not are_listed(program, program.sides):
            return (
                f"{n} symbols are too many to list the columns that keep some of them apart (ask "
                "it of fewer symbols, or merge some)"
            )
        if n <= MOST_SYMBOLS:
            return None
        return (
            f"{n} symbols are above the {MOST_SYMBOLS} up to which their columns are mixed "
            "(put numbers into bins, or group rare symbols under one name; every frequency under "
            "LDP is designed for with any number of symbols)"
        )

    def solve(self, program: EstimationProgram) -> Candidate:
        """One interior point over all extreme columns, or several over more and more of them."""
        with one_thread():
            return self._solve(program)

    def _solve(self, program: EstimationProgram) -> Candidate:
        n, survey = len(program.prior), program.survey
        if survey.asks_nothing:
            zero = Duals(np.zeros(n), inverse=np.zeros((n, n)))
            return Candidate(program.constant_kernel, zero, "closed form")
        if not program.apart and (n > MOST_LISTED or not are_listed(program, program.sides)):
            return self._generated(program)
        columns = listed(program)
        try:
            found = optimal_masses(
                columns.deviations,
                columns.shares,
                program.prior.probabilities,
                survey.masses,
                survey.losses,
            )
        except UntoldError:
            check_told(program)
            raise
        details = {"columns": str(len(columns.shares)), "steps": str(found.steps)}
        return Candidate(
            kernel_of(program, columns, found.masses, found.risk),
            Duals(found.prices, inverse=found.inverse),
            "interior point over all columns",
            details,
        )

    def _generated(self, program: EstimationProgram) -> Candidate:
        found = generate(program, clock.now() + SEARCHING * program.time_limit)
        best = found.bounding
        details = {"columns": str(len(found.masses)), "rounds": str(found.rounds)}
        return Candidate(
            kernel_of(program, found.columns, found.masses, found.risk),
            Duals(best.prices, inverse=best.inverse),
            "interior point over some columns",
            details,
        )


def relaxed_risk(program: EstimationProgram) -> float | None:
    """A bound on the risk of every kernel from below, up to rounding, in far less time than a
    design takes and mostly within a few per cent of it; ``None`` where there is none.

    Of many symbols without cuts, which take most of the time of a relaxation then.
    """
    pricing = QuadraticPricing(program.cone, program.survey.truth)
    losses = program.survey.losses
    with one_thread():
        if len(program.prior) > _MOST_CUT:
            found = pricing.relaxed(losses, near=_NEAR, rounds=0)
        else:
            found = pricing.relaxed(losses)
    return None if found is None else found.value


def check_told(program: EstimationProgram) -> None:
    """Raise a proved :class:`UntoldError` where no kernel within the bounds answers: none of all
    extreme columns tells some symbols apart.
    """
    if program.survey.telling(_integers(_listed_exactly(program))) is None:
        raise UntoldError(UNTOLD_BY_ALL, is_proved=True) from None


def listed(program: EstimationProgram) -> Columns:
    """Every extreme column once, inside the bounds."""
    exact = _listed_exactly(program)
    if program.apart:
        _check_mixture(program, exact)
    if not exact:
        raise UntoldError(UNTOLD_BY_ALL, is_proved=True)
    # A few numbers stand for many symbols of a column.
    known = {id(d): d for column in exact for d in column}
    floats = {place: (float(d), float(1 + d)) for place, d in known.items()}
    table = np.array([[floats[id(d)] for d in column] for column in exact])
    table = np.array(list({row.tobytes(): row for row in table}.values()))  # each column once
    return Columns(table[:, :, 0], table[:, :, 1] @ program.survey.masses)


def _listed_exactly(program: EstimationProgram) -> list[Deviations]:
    cone = program.cone
    found = columns_of_cone(cone, near_sides(cone), Rounding.INSIDE)
    return [column for column in found if program.keeps_apart(column)]


def _check_mixture(program: EstimationProgram, columns: list[Deviations]) -> None:
    """Raise :class:`RequirementError` where no mixture of columns is a kernel."""
    from scipy.optimize import linprog

    rows = np.array(columns, dtype=float).reshape(-1, len(program.prior)).T
    if len(columns):
        rows = np.vstack([rows, np.ones(len(columns))])
        goal = np.append(np.zeros(len(rows) - 1), 1.0)
        if linprog(np.zeros(len(columns)), A_eq=rows, b_eq=goal, method="highs").status != 2:
            return
    names = [f"{program.prior.labels[x]} and {program.prior.labels[z]}" for x, z in program.apart]
    raise RequirementError(
        "symbols that share no output",
        expected="bounds under which each symbol has outputs that rule the other out, such as PML "
        "at a level that is large enough",
        got=f"{listing(sorted(names))}, which no kernel within the bounds keeps apart",
        remedy="raise the level, take a notion that bounds the lift from above alone, or keep "
        "fewer symbols apart",
    )


def _integers(columns: list[Deviations]) -> NDArray[Any]:
    """Multiples of columns, ``(n, M)``, in integers: which rows are combinations is the same."""
    found = [common_integers(tuple(1 + d for d in column))[0] for column in columns]
    return np.array(found, dtype=object).T


def kernel_of(program: EstimationProgram, columns: Columns, masses: Vector, risk: float) -> Vector:
    """The kernel of the columns that matter, ``(n, M)``: as few as cost next to nothing."""
    fewer = fewer_columns(program, columns, masses)
    best = _mixed(program, *fewer, risk)
    if best[0] <= _COST:
        return best[1]
    if fewer[0] is not columns:
        best = min(best, _mixed(program, columns, masses, risk), key=lambda pair: pair[0])
    if (
        best[0] > _COST
        and is_partial(program)
        and (inside := _inside(program, columns)) is not None
    ):
        # A small share of a kernel under which J is regular keeps the last digits from deciding.
        both = (1 - _LITTLE) * masses + _LITTLE * inside
        best = min(best, _mixed(program, columns, both, risk), key=lambda pair: pair[0])
    if best[0] == math.inf and _value(program, best[1]) == -math.inf:
        raise UntoldError(UNTOLD)
    return best[1]


def _inside(program: EstimationProgram, columns: Columns) -> Vector | None:
    """Masses that are best for all frequencies."""
    n, survey = len(program.prior), program.survey
    centred = np.eye(n) - np.outer(np.ones(n), survey.masses)
    every = centred.T @ centred
    try:
        return optimal_masses(
            columns.deviations,
            columns.shares,
            program.prior.probabilities,
            survey.masses,
            every,
        ).masses
    except SolverError:
        return None


def _mixed(
    program: EstimationProgram, columns: Columns, masses: Vector, risk: float
) -> tuple[float, Vector]:
    """What a kernel of the columns that matter costs of the value, and that kernel.

    Columns of next to no mass would be merged by a repair, which may cost more.
    """
    # What the columns of mass one leave to the most likely symbol follows.
    told = np.delete(np.arange(len(program.prior)), int(np.argmax(program.prior.probabilities)))
    found = []
    even = columns.even_masses(masses)
    for least in (*_NEGLIGIBLE, _LITTLE / 1e4):
        used = even > least * float(even.max())
        some = columns[used]
        even_sums = balanced(some.deviations[:, told], masses[used])
        kernel = mixed_kernel(some.deviations, even_sums)
        off = float(np.abs(kernel.sum(axis=1) - 1).max())
        cost = math.inf
        if off < _UNBALANCED:
            many = kernel.size > _LARGEST_EXACT and not is_partial(program)
            reached = _near(program, some, even_sums) if many else -_value(program, kernel)
            cost = reached / risk - 1
        if cost <= _COST:
            return cost, kernel
        found.append((cost, kernel))
    return min(found, key=lambda pair: pair[0])


def _near(program: EstimationProgram, columns: Columns, masses: Vector) -> float:
    """The risk of a mixture in floats, by deviations, of which small levels lose no digits."""
    truth = program.survey.masses
    kept = np.delete(np.arange(len(truth)), int(np.argmax(truth)))
    spread = (columns.deviations - (columns.deviations @ truth)[:, None])[:, kept]
    size = np.sqrt((spread**2).mean(axis=0))
    scaled = spread / np.where(size > 0, size, 1.0)
    asked = program.survey.losses[np.ix_(kept, kept)] / np.outer(size, size)
    matrix = (scaled.T * (masses / columns.shares)) @ scaled
    try:
        return float(np.trace(np.linalg.solve(matrix, asked)))
    except np.linalg.LinAlgError:
        return math.inf


def _value(program: EstimationProgram, kernel: Vector) -> float:
    """The value of a kernel; that of its weights where J may be singular, as what the reports then
    answer can hang on the last digits.
    """
    if not is_partial(program):
        return program.value(kernel)
    value = -math.inf
    for keep_rare in (False, True):
        weights, _ = repair_kernel(kernel, program.cone, keep_rare=keep_rare)
        ends = program.enclose(weights, DENOMINATOR_BITS)
        value = max(value, -math.inf if ends is None else nearest_float(ends.low))
    return value


def balanced(deviations: Vector, masses: Vector) -> Vector:
    """Masses corrected so that Σ q = 1 and Σ q d = 0 hold to the last digits."""
    rows = np.vstack([np.ones(len(masses)), deviations.T])
    rows /= (np.abs(rows) * masses).max(axis=1, initial=1e-300)[:, None]
    target = np.zeros(len(rows))
    target[0] = 1 / masses.max(initial=1e-300)
    for _ in range(3):
        missing = target - rows @ masses
        step, *_ = np.linalg.lstsq(rows * masses, missing, rcond=None)
        masses = masses * np.maximum(1 + step, 0.0)
    return np.asarray(masses)
