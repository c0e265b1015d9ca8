"""Estimation designs with at most so many outputs.

The best design without the limit bounds the risk. What it uses is brought down to the number by
merging outputs that tell nearly the same, or, under bounds on ratios, to rotations of sets of
symbols. As so few need not be extreme ones, all entries are moved at the end, from there and from
starts at random. Nothing says that no other kernel is better: the gap to the bound says what that
could bring at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ... import clock
from ...certificate.columns.exact_columns import near_sides
from ...certificate.columns.families import StaircaseFamily, make_family
from ...certificate.repair import repair_kernel
from ...errors import SolverError, UntoldError
from ...exact import DENOMINATOR_BITS
from ...linear.threads import one_thread
from ...privacy.constraint import Rounding
from ...program.duals import Candidate
from ...program.program import EstimationProgram
from ...program.worst import WorstTruthProgram
from ..method import ESTIMATION, Method
from .descent import descend, risk_of
from .fewer import is_partial, mixed_masses
from .generation import Columns
from .method import OptimalExperiment, kernel_of
from .told_alone import told_alone
from .worst_truth import LeastFavourable, mixed_at_worst

Vector = NDArray[np.float64]

# Sets of symbols that are drawn, sizes of them that are tried, and how many are mixed.
_DRAWN, _SIZES, _DESIGNS = 1000, 3, 3
# The share of the time limit for the design without a limit of outputs.
_RELAXING = 0.4
# Outputs for each pair that is merged at once.
_AT_ONCE = 50
# The gap at which mixtures are compared.
_ROUGH = 1e-5
# A smaller gain than this share of the risk is none; mixtures of extreme columns are preferred.
_GAIN = 1e-7
_SAME = Fraction(1 - _GAIN)
# Entries of a kernel that are moved at once, rows of bounds for each column, the share of the time
# limit, and how far starts are from constant kernels and from the bounds.
_MOVED, _MOST_ROWS, _MOVING = 900, 1000, 0.2
# Starts at random at least, of kernels with few entries as many as have so many entries
# together, and from how many of them the best must come back for no more to be made.
_RANDOM, _FOR_ENTRIES, _AGAIN = 24, 4000, 40
_SPREAD, _INSIDE = (0.1, 0.3, 1.0), 0.1
# Entries below this share of their column are next to zero.
_NOTHING = 1e-8
# Weights of the barrier at first: a small one ends near its start, a large one forgets it.
_WEIGHTS = (1e-6, 1e-4, 1e-2)
# What is added to columns that are drawn, so that every symbol has some output.
_SOME = 1e-6
_SEED = 16


class FewOutputs(Method):
    """Risks of estimates, or the worst of several, with at most so many outputs."""

    name = "few-outputs-experiment"
    features = ESTIMATION | {"worst estimation", "few outputs"}
    is_exact = False
    reason = (
        "the best design with any number of outputs bounds the risk, and is brought down to the "
        "outputs asked for by merging columns and moving entries"
    )
    source = "Pukelsheim2006"

    def condition(self, program: EstimationProgram) -> str | None:
        """Applies where there is a limit, and the design without it is known."""
        if program.most_outputs is None:
            return "any number of outputs may occur"
        return _relaxed(program)[0].refusal(_relaxed(program)[1])

    def solve(self, program: EstimationProgram) -> Candidate:
        """The design without the limit, and the best of it with as many outputs as may be."""
        assert program.most_outputs is not None
        method, relaxed = _relaxed(program)
        candidate = method.solve(relaxed)
        kernel = candidate.kernel[:, candidate.kernel.any(axis=0)]
        details = {**candidate.details, "without limit": str(kernel.shape[1])}
        if kernel.shape[1] > program.most_outputs:
            # Columns are chosen at the least favourable truth, their masses for the worst.
            one = relaxed
            if isinstance(relaxed, WorstTruthProgram):
                one = relaxed.at_mixture(candidate.duals.mixture)
            with one_thread():
                found = [
                    (risk, place, each)
                    for place, each in enumerate(_kernels(program, relaxed, one, kernel))
                    if (risk := _least(program, each)) is not None
                ]
            if not found:
                raise SolverError(
                    f"no kernel of at most {program.most_outputs} outputs was found that answers "
                    "what is asked; allow more outputs, or ask for round numbers"
                )
            kernel = min(found, key=lambda each: (each[0] * (1 if each[1] else _SAME), each[1]))[2]
        return replace(candidate, kernel=kernel, details=details)


def _kernels(
    program: EstimationProgram,
    relaxed: EstimationProgram,
    one: EstimationProgram,
    kernel: Vector,
) -> Iterator[Vector]:
    """Kernels of at most so many outputs: mixtures of extreme columns, and moved ones."""
    most = program.most_outputs
    assert most is not None
    search = _Search(one, kernel, most)
    choices = search.choices()
    if choices:
        best = search.mixed(choices[0].columns, None) or choices[0]
        try:
            mixed = kernel_of(one, best.columns, best.masses, best.risk)
        except UntoldError:
            pass  # what so few columns answer hangs on the last digits; other kernels may answer
        else:
            if isinstance(relaxed, WorstTruthProgram):
                mixed = mixed_at_worst(relaxed, best.columns.deviations, mixed)
            yield mixed
    bounds = _bounds(one, most)
    if bounds is None:
        return
    deadline = clock.now() + _MOVING * program.time_limit

    def in_time() -> bool:
        return clock.now() <= deadline

    if is_partial(one) or most < len(one.prior):
        alone = told_alone(one, bounds, most, in_time)
        if alone is not None:
            yield alone
    if most >= len(one.prior):
        moved = _moved(one, bounds, [each.kernel for each in choices], kernel, most, in_time)
        if moved is not None:
            yield _tidied(program, moved)


def _least(program: EstimationProgram, kernel: Vector) -> Fraction | None:
    """The risk of the weights that a kernel is kept as; ``None`` where it is infinite."""
    weights, _ = repair_kernel(kernel, program.cone, keep_rare=True)
    ends = program.enclose(weights, DENOMINATOR_BITS)
    return None if ends is None else -ends.low


def _tidied(program: EstimationProgram, kernel: Vector) -> Vector:
    """A kernel whose entries next to zero, where an interior point method left them, are zero;
    where that costs nothing.
    """
    found = np.where(kernel <= _NOTHING * kernel.mean(axis=0), 0.0, kernel)
    found = found / found.sum(axis=1, keepdims=True)
    before, after = _least(program, kernel), _least(program, found)
    is_as_good = after is not None and (before is None or after * _SAME <= before)
    return found if is_as_good else kernel


def _bounds(program: EstimationProgram, most: int) -> Vector | None:
    """Rows a with a·k ≥ 0 for columns; ``None`` where they or the entries are too many to move."""
    n = len(program.prior)
    if n * most > _MOVED or program.cone.count > _MOST_ROWS:
        return None
    exact = program.cone.inequalities(Rounding.INSIDE)
    rows = [[float(Fraction(v, max(map(abs, row)))) for v in row] for row in exact]
    bounds = np.vstack([np.array(rows).reshape(-1, n), np.eye(n)])
    return None if bounds.sum(axis=1).min() <= 0 else bounds  # else no kernel lies inside


def _moved(
    program: EstimationProgram,
    bounds: Vector,
    starts: list[Vector],
    many: Vector,
    most: int,
    in_time: Callable[[], bool],
) -> Vector | None:
    """The best kernel that is found by moving all entries; ``None`` where no start has full rank.

    After the given starts come random ones, half of them of columns of ``many``, which has more.
    """
    n = len(program.prior)
    truth, loss = program.survey.masses, program.survey.losses
    shares = program.prior.probabilities @ many
    pool, chances = many / shares, shares / shares.sum()
    rng, best, least, again = np.random.default_rng(_SEED), None, math.inf, 0
    for number in range(-len(starts), max(_RANDOM, _FOR_ENTRIES // (n * most))):
        if number < 0:
            start = _padded(starts[number], most)
        elif number % 2:
            start = rng.dirichlet(np.full(most, _SPREAD[number // 2 % len(_SPREAD)]), size=n)
        else:
            start = pool[:, rng.choice(len(chances), most, p=chances)] + _SOME
            start = start / start.sum(axis=1, keepdims=True)
        start = _inside(start, bounds, program.prior.probabilities)
        if np.linalg.matrix_rank(start) == n:
            first = _WEIGHTS[number % 3 if number >= 0 else 0]
            found = descend(start, bounds, truth, loss, in_time, first)
            risk = risk_of(found, truth, loss)
            if risk <= least * (1 - _GAIN):
                again = 0
            if risk < least * (1 + _GAIN):
                again += 1
            if risk < least:
                best, least = found, risk
        if not in_time() or (number >= _RANDOM and again >= _AGAIN):
            break
    return best


def _padded(kernel: Vector, most: int) -> Vector:
    """A kernel with the likeliest outputs split into two until there are so many, at random."""
    rng = np.random.default_rng(_SEED)
    kernel = kernel[:, kernel.any(axis=0)]
    while kernel.shape[1] < most:
        place = int(kernel.sum(axis=0).argmax())
        part = kernel[:, place] * rng.uniform(0.3, 0.7, size=len(kernel))
        kernel = np.column_stack([kernel, part])
        kernel[:, place] -= part
    return kernel


def _inside(kernel: Vector, bounds: Vector, prior: Vector) -> Vector:
    """A kernel on the way from a constant one to a given one, inside of all bounds."""
    shares = prior @ kernel
    shares = (1 - _INSIDE) * shares + _INSIDE / len(shares)
    away = kernel - shares
    room, change = np.outer(bounds.sum(axis=1), shares), bounds @ away
    steps = room[change < 0] / -change[change < 0]
    return np.asarray(shares + (1 - _INSIDE) * min(1.0, float(steps.min(initial=1.0))) * away)


def _relaxed(program: EstimationProgram) -> tuple[Method, EstimationProgram]:
    method = LeastFavourable() if isinstance(program, WorstTruthProgram) else OptimalExperiment()
    return method, replace(program, most_outputs=None, time_limit=_RELAXING * program.time_limit)


@dataclass(frozen=True, eq=False)
class _Choice:
    columns: Columns
    masses: Vector
    risk: float

    @property
    def kernel(self) -> Vector:
        """The mixture, ``(n, M)``."""
        return np.asarray((1 + self.columns.deviations).T * self.masses)


class _Search:
    """Columns of a program, at most so many, whose best mixture has a small risk."""

    def __init__(self, program: EstimationProgram, kernel: Vector, most: int) -> None:
        self.program, self.most = program, most
        prior, self.truth = program.prior.probabilities, program.survey.masses
        shares = prior @ kernel
        self.start = Columns.of(kernel / shares, self.truth)
        self.masses = shares

    def choices(self) -> list[_Choice]:
        """Those that are found, of least risk first; none where none answers."""
        found = [*self._rotations(), self._merged()]
        return sorted((c for c in found if c is not None), key=lambda one: one.risk)

    def mixed(self, columns: Columns, gap: float | None = _ROUGH) -> _Choice | None:
        """The best mixture of columns; ``None`` where it is no kernel that answers."""
        if not self._balances(columns):
            return None
        found = mixed_masses(self.program, columns, gap)
        if found is None:
            return None
        return _Choice(columns, found.masses, found.risk)

    @staticmethod
    def _balances(columns: Columns) -> bool:
        """Whether some mixture of columns is a kernel with all of them in use or not."""
        from scipy.optimize import linprog

        size = np.maximum(np.abs(columns.deviations).max(axis=0), 1e-300)
        rows = np.vstack([np.ones(len(columns.shares)), (columns.deviations / size).T])
        target = np.zeros(len(rows))
        target[0] = 1.0
        return bool(linprog(np.zeros(rows.shape[1]), A_eq=rows, b_eq=target).status == 0)

    def _merged(self) -> _Choice | None:
        """The start with pairs of outputs merged that tell nearly the same, of many several at
        once.
        """
        kept = np.delete(np.arange(len(self.truth)), int(np.argmax(self.truth)))
        loss = self.program.survey.losses[np.ix_(kept, kept)]
        lifts, masses, count = 1 + self.start.deviations, self.masses.copy(), self.most
        while len(masses) > count:
            shares = lifts @ self.truth
            spread: Vector = (lifts / shares[:, None] - 1)[:, kept]
            weights = masses * shares
            matrix = (spread.T * weights) @ spread
            inverse: Vector = np.asarray(
                np.linalg.pinv(matrix, rcond=1e-12, hermitian=True), dtype=float
            )
            factor = 1 / (1 / weights[:, None] + 1 / weights[None, :])
            answers: Vector = inverse @ loss @ inverse
            left = np.maximum(1 - factor * _between(inverse, spread), 1e-12)
            paid = _between(answers, spread)
            cost = factor * np.maximum(paid, 0.0) / left
            np.fill_diagonal(cost, np.inf)
            pairs = min(max(1, len(masses) // _AT_ONCE), len(masses) - count)
            gone = []
            for i, j in _disjoint(cost, pairs):
                total = masses[i] + masses[j]
                lifts[i] = (masses[i] * lifts[i] + masses[j] * lifts[j]) / total
                masses[i] = total
                gone.append(j)
            lifts, masses = np.delete(lifts, gone, axis=0), np.delete(masses, gone)
        return self.mixed(Columns.of(lifts.T, self.truth))

    def _rotations(self) -> list[_Choice | None]:
        """Under bounds on ratios, columns that are up on all rotations of sets of the size that
        subset selection takes, in which pairs of symbols meet as evenly as random sets are found
        to let them: of these symbols, or of more that are left out. Sets of one symbol are those
        of randomised response.
        """
        sides, n, loss = near_sides(self.program.cone), len(self.truth), self.program.survey.losses
        family = None if sides is None else make_family(self.program.prior, sides, np.abs)
        if not isinstance(family, StaircaseFamily) or self.most < n:
            return []
        excess, rng, found = family.excess, np.random.default_rng(_SEED), []
        for points, count in {(n, self.most // n), (self.most, 1)}:
            sizes = np.arange(1, max(points, 2))
            spread = (sizes * excess + points) ** 2 / (sizes * np.maximum(points - sizes, 1e-9))
            for size in {1, *sizes[np.argsort(spread)[:_SIZES]].tolist()}:
                sets = _rotated(points, size, count, rng)[:n]
                kernel = 1 + excess * sets
                risk = risk_of(kernel / kernel.sum(axis=1, keepdims=True), self.truth, loss)
                found.append((risk, points, size, sets))
        columns = []
        for _, _, _, sets in sorted(found, key=lambda each: each[:3])[:_DESIGNS]:
            shares = (self.program.prior.probabilities @ sets)[:, None]
            deviations = excess * (sets.T - shares) / (1 + excess * shares)
            columns.append(self.mixed(Columns(deviations, 1 + deviations @ self.truth)))
        return columns


def _rotated(points: int, size: int, count: int, rng: np.random.Generator) -> Vector:
    """All rotations of so many sets ``(points, count · points)`` whose Fourier transforms together
    are the flattest of those drawn: in a difference set they are flat.
    """
    drawn = rng.random((_DRAWN, count, points)).argsort(axis=2) < size
    power = (np.abs(np.fft.rfft(drawn)) ** 2).sum(axis=1)[:, 1:]
    best = drawn[(1 / np.maximum(power, 1e-9)).sum(axis=1).argmin()]
    turns = (np.arange(points)[:, None] - np.arange(points)) % points
    return np.hstack([base[turns] for base in best.astype(float)])


def _disjoint(cost: Vector, most: int) -> list[tuple[int, int]]:
    """At most so many pairs of least cost, none of which share a place: the first is the best."""
    nearest = cost.argmin(axis=1).tolist()
    order = np.argsort(cost[np.arange(len(cost)), nearest], kind="stable").tolist()
    free, found = np.ones(len(cost), dtype=bool), list[tuple[int, int]]()
    for i in order:
        if len(found) < most and free[i] and free[nearest[i]]:
            free[i] = free[nearest[i]] = False
            found.append((i, nearest[i]))
    return found


def _between(form: Vector, points: Vector) -> Vector:
    """The quadratic form of the difference of every two points."""
    inner = points @ form @ points.T
    own = np.diagonal(inner)
    return np.asarray(own[:, None] + own[None, :] - 2 * inner)
