"""Optimal experiments for the worst of several truths: a saddle point.

The risk is convex in the masses of columns and concave in the truth, or linear in the shares of a
list of truths. A primal-dual interior point method takes both at once, on the columns in use;
pricing at the least favourable truth brings others, as for one truth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ... import clock
from ...certificate.columns.exact_columns import too_large
from ...certificate.quadratic.mean import MeanPricing, too_many
from ...certificate.quadratic.pricing import QuadraticPricing
from ...certificate.repair import repair_kernel
from ...errors import SolverError, UntoldError
from ...linear.threads import one_thread
from ...program.duals import Candidate, Duals
from ...program.program import SEARCHING, EstimationProgram
from ...program.worst import WorstTruthProgram
from ...utility.truths import ColumnRisks, RiskPoint
from ..column_generation.master import mixed_kernel
from ..interior_point.predictor_corrector import (
    Iterate,
    Stopping,
    centring_parameter,
    follow,
    reach,
)
from ..method import ANY_CONE, Method
from .master import HIDDEN, UNTOLD, optimal_masses
from .method import OptimalExperiment, balanced, check_told, listed

Vector = NDArray[np.float64]
_Step = Callable[[Vector, Vector], tuple[Vector, ...]]

_STEPS = 150
_FINE, _ENOUGH = 1e-11, 1e-6
_NEAR, _PATIENCE = 0.99, 15
# Residuals of so many gaps are off the central path; the least centring of a step along it.
_OFF, _LEAST_CENTRE = 10.0, 1e-2
# The gap at which masses are far enough inside.
_ROUGH = 1e-9
# Reduced values up to this share of the risk are none.
_PRICED = 1e-11
_ROUNDS = 60
# Columns with so much less than the price they pay are in use from the start, and how many others
# are for each symbol.
_CLOSE, _OTHERS, _NEW = 1e-6, 6, 4
# Columns of less mass than this share of the largest are left out where that costs no more.
_NEGLIGIBLE, _COST = 1e-8, 1e-9
_SEED = 5
# The share of the time limit of the design for one truth that a search begins with.
_USUAL = 0.4


class LeastFavourable(Method):
    """The worst of several risks, any cone."""

    name = "least-favourable"
    features = ANY_CONE | {"worst estimation"}
    reason = (
        "the kernel of the least worst risk and the least favourable truth are found together, as "
        "a saddle point"
    )
    source = "Pukelsheim2006"

    def condition(self, program: EstimationProgram) -> str | None:
        """A list of truths needs few symbols; every distribution what one truth needs."""
        assert isinstance(program, WorstTruthProgram)
        if not program.truths.every:
            return too_large(program, program.sides) and too_many(program.cone)
        return OptimalExperiment().refusal(_ordinary(program))

    def solve(self, program: EstimationProgram) -> Candidate:
        """Saddle points on more and more columns, until no other column pays."""
        with one_thread():
            return self._solve(program)

    def _solve(self, program: EstimationProgram) -> Candidate:
        assert isinstance(program, WorstTruthProgram)
        if program.survey.asks_nothing:
            return _constant(program)
        # The rest of the time is for the proof.
        deadline = clock.now() + SEARCHING * program.time_limit
        try:
            return self._found(program, deadline)
        except UntoldError:
            if too_large(program, program.sides) is None:
                check_told(program)
            raise

    def _found(self, program: WorstTruthProgram, deadline: float) -> Candidate:
        n = len(program.prior)
        table = _Table.of(program, deadline)
        used = table.first(program)
        masses: Vector | None = None
        for _ in range(_ROUNDS):
            deviations = table.deviations[used]
            saddle = _Saddle(program, deviations)
            found = saddle.solve(masses)
            fresh = table.priced(saddle, found, used)
            if not len(fresh) or clock.now() > deadline:
                break
            used = np.append(used, fresh)
            masses = np.append(found.masses, np.full(len(fresh), found.masses.mean() / n))
        details = {"columns": str(len(used))}
        mixture, prices, inverse = found.mixture, saddle.prices(found), saddle.inverses(found)
        return Candidate(
            _kernel(program, saddle.deviations, found),
            Duals(prices, mixture=mixture, inverse=inverse),
            "interior point over some columns",
            details,
        )


def _even(deviations: Vector) -> Vector:
    """Deviations of columns that are scaled to mass one under equal masses."""
    mean = deviations.mean(axis=1, keepdims=True)
    return np.asarray((deviations - mean) / (1 + mean))


def mixed_at_worst(program: WorstTruthProgram, deviations: Vector, kernel: Vector) -> Vector:
    """A kernel with the masses of its columns that are best for the worst truth, where they are
    found.
    """
    try:
        saddle = _Saddle(program, deviations)
        found = saddle.solve(None)
    except SolverError:
        return kernel
    better = _kernel(program, saddle.deviations, found)
    return max(kernel, better, key=program.value)


def _constant(program: WorstTruthProgram) -> Candidate:
    n, count = len(program.prior), program.truths.count
    parts = 1 if program.truths.every else count
    zero = Duals(np.zeros(n), mixture=np.full(count, 1 / count), inverse=np.zeros((parts * n, n)))
    return Candidate(program.constant_kernel, zero, "closed form")


def _ordinary(program: WorstTruthProgram) -> EstimationProgram:
    """The program at one truth that is likely to be unfavourable."""
    n = len(program.prior)
    if program.truths.every:
        return program.at(np.full(n, 1 / n))
    return program.at(np.mean([one.masses for one in program.truths.listed], axis=0))


class _Table:
    """Columns that may be used: all extreme ones, or those that pricing has found."""

    def __init__(self, deviations: Vector, cone_pricing: bool, deadline: float) -> None:
        self.deviations, self._searches, self._deadline = deviations, cone_pricing, deadline

    @classmethod
    def of(cls, program: WorstTruthProgram, deadline: float) -> _Table:
        if too_large(program, program.sides) is None:
            return cls(listed(program).deviations, False, deadline)
        usual = replace(_ordinary(program), time_limit=_USUAL * program.time_limit)
        candidate = OptimalExperiment().solve(usual)
        kernel = candidate.kernel[:, candidate.kernel.any(axis=0)]
        prior = program.prior.probabilities
        started = (kernel / (prior @ kernel) - 1).T
        others = QuadraticPricing(program.cone).first(_OTHERS * len(prior))
        return cls(np.vstack([started, others.T - 1]), True, deadline)

    def first(self, program: WorstTruthProgram) -> NDArray[np.intp]:
        """Positions of columns that answer what is asked, and a few more."""
        m, n = self.deviations.shape
        if self._searches or m <= _OTHERS * n:
            return np.arange(m)
        ordinary = _ordinary(program).survey
        shares = (1 + self.deviations) @ ordinary.masses
        prior = program.prior.probabilities
        found = optimal_masses(self.deviations, shares, prior, ordinary.masses, ordinary.losses)
        best = np.argsort(-found.masses, kind="stable")[: n * (n + 3) // 2]
        others = np.random.default_rng(_SEED).permutation(m)[: _OTHERS * n]
        return np.unique(np.concatenate([best, others]))

    def priced(self, saddle: _Saddle, found: _Point, used: NDArray[np.intp]) -> NDArray[np.intp]:
        """Positions of columns that pay more than their price, the best first."""
        n = self.deviations.shape[1]
        known = len(self.deviations)
        if self._searches:
            self._search(saddle, found)
        paid = saddle.reduced(found, self.deviations)
        paid[used] = -np.inf
        best = np.argsort(-paid, kind="stable")[: _NEW * n]
        fresh = best[paid[best] > _PRICED * found.value]
        assert len(self.deviations) >= known
        return fresh

    def _search(self, saddle: _Saddle, found: _Point) -> None:
        program = saddle.program
        squares, prices = saddle.quadratics(found)
        if program.truths.every:
            pricing = QuadraticPricing(program.cone, program.at(found.mixture).survey.truth)
            start = (1 + saddle.deviations[found.masses > 1e-6 * found.masses.max()]).T
            columns, _ = pricing.search(squares[0], prices, start, deadline=self._deadline)
        else:
            truths = tuple(one.truth for one in program.truths.listed)
            columns = MeanPricing(program.cone, truths).search(
                squares, prices, _PRICED * found.value
            )
        self.deviations = np.vstack([self.deviations, columns.T - 1])


@dataclass(frozen=True, eq=False)
class _Point:
    """A saddle point; ``rough`` are masses further inside, each of some size."""

    masses: Vector
    mixture: Vector
    multipliers: Vector
    value: float
    gap: float
    rough: Vector


class _Saddle(Iterate):
    """min over masses q, max over shares w of Φ(q, w), Eᵀq = (1, 0), Σw = 1, q, w ≥ 0.

    Φ is the risk at the truth w, or Σ w_i times the risk at each of a list. The conditions are
    ∂Φ/∂q + Ey = z, ∂Φ/∂w + v = η1, qz = 0, wv = 0.
    """

    def __init__(self, program: WorstTruthProgram, deviations: Vector) -> None:
        # Columns have mass one under equal masses: those of a rare symbol have a tiny mass and
        # large lifts under the prior.
        self.program, self.deviations = program, _even(deviations)
        n, self.every = len(program.prior), program.truths.every
        self.even = np.full(n, 1 / n)
        survey = program.survey.moved((Fraction(1, n),) * n)
        self.risks = ColumnRisks.of(self.deviations, self.even, survey.losses)
        if self.risks.hidden > HIDDEN:
            raise UntoldError(UNTOLD)
        self.listed = [one.masses for one in program.truths.listed]
        self.told = np.arange(1, n)
        scale = np.sqrt((self.deviations[:, self.told] ** 2).mean(axis=0))
        self.scale = np.where(scale > 0, scale, 1.0)
        self.rows = self._rows(self.deviations)

    def _rows(self, deviations: Vector) -> Vector:
        return np.column_stack([np.ones(len(deviations)), deviations[:, self.told] / self.scale])

    def _points(self, masses: Vector, mixture: Vector) -> list[RiskPoint]:
        try:
            return [self.risks.at(masses, truth) for truth in self._truths(mixture)]
        except np.linalg.LinAlgError:
            raise UntoldError(UNTOLD) from None

    def _truths(self, mixture: Vector) -> Sequence[Vector]:
        return [mixture] if self.every else self.listed

    def _shares(self, mixture: Vector) -> Vector:
        return np.ones(1) if self.every else mixture

    def _slopes(self, points: list[RiskPoint], mixture: Vector) -> tuple[float, Vector, Vector]:
        """Φ, ∂Φ/∂q and ∂Φ/∂w."""
        shares = self._shares(mixture)
        values = np.array([point.value for point in points])
        by_masses = sum(w * point.by_masses for w, point in zip(shares, points, strict=True))
        by_mixture = points[0].by_truth if self.every else values
        return float(shares @ values), np.asarray(by_masses), by_mixture

    def _second(self, points: list[RiskPoint], mixture: Vector) -> tuple[Vector, Vector, Vector]:
        if self.every:
            return points[0].second()
        k, m = len(points), len(points[0].masses)
        square = np.zeros((m, m))
        for w, point in zip(mixture.tolist(), points, strict=True):
            square += w * point.second()[0]
        return square, np.column_stack([point.by_masses for point in points]), np.zeros((k, k))

    def solve(self, start: Vector | None) -> _Point:
        """Predictor and corrector steps until the gap is closed or stays as it is."""
        (m, n), count = self.rows.shape, self.program.truths.count
        q = np.full(m, 1 / m) if start is None else 0.9 * start + 0.1 / m
        w = np.full(count, 1 / count)
        self.points = self._points(q, w)
        value, by_q, by_w = self._slopes(self.points, w)
        self.unit = abs(value)
        y, eta = np.zeros(n), float(by_w.max()) / self.unit + 0.1
        y[0] = 1.05 * float(-by_q.min()) / self.unit
        self.place = q, self.rows @ y + by_q / self.unit, w, eta - by_w / self.unit
        self.y, self.eta = y, eta
        self.best: _Point | None = None
        follow(self, Stopping(_FINE, _PATIENCE, _ENOUGH, 0.5, _STEPS, is_heard=False))
        assert self.best is not None
        if self.best.gap > _ENOUGH:
            raise SolverError(
                "the interior point method for the worst truth stopped at a gap of "
                f"{self.best.gap:.2g}"
            )
        return self.best

    def error(self) -> float:
        """Relative complementarity and residuals; keeps the best point."""
        (q, z, w, v), unit, y = self.place, self.unit, self.y
        value, by_q, by_w = self._slopes(self.points, w)
        dual, rising = by_q / unit + self.rows @ y - z, by_w / unit - self.eta + v
        primal = -self.rows.T @ q
        primal[0] += 1.0
        short = 1 - float(w.sum())
        self.residuals = dual, primal, rising, short
        self.gap = float(q @ z + w @ v)
        self.left = max(
            self.gap,
            float(q @ np.abs(dual)),
            float(np.max(-by_q / unit - self.rows @ y)),
            float(w @ np.abs(rising)),
            float(np.abs(primal).max()),
            abs(short),
        ) / min(abs(value) / unit, 1.0)
        if self.best is None or self.left < self.best.gap:
            rough = q if self.best is None or self.left > _ROUGH else self.best.rough
            self.best = _Point(q, w / w.sum(), unit * y, value, self.left, rough)
        return self.left

    def step(self) -> float:
        """Move all by one length."""
        q, z, w, v = self.place
        second = tuple(part / self.unit for part in self._second(self.points, w))
        if not all(np.isfinite(part).all() for part in (*second, z / q, v / w)):
            return 0.0
        step = self._newton(self.place, second, self.residuals)
        centre = self.gap / (len(q) + len(w))
        if self.left > _OFF * self.gap:
            # Where the best masses leave J singular, columns that are hardly used have to
            # come back to the central path before the next step along it.
            moves = step(centre - q * z, centre - w * v)
        else:
            dq, _, dw, _, dz, dv = step(-q * z, -w * v)
            length = min(1.0, reach((q, dq), (z, dz), (w, dw), (v, dv)))
            after = float((q + length * dq) @ (z + length * dz))
            after += float((w + length * dw) @ (v + length * dv))
            centre *= max(centring_parameter(after, self.gap), _LEAST_CENTRE)
            moves = step(centre - q * z - dq * dz, centre - w * v - dw * dv)
        if not all(np.isfinite(part).all() for part in moves):
            return 0.0
        dq, dy, dw, de, dz, dv = moves
        length = min(1.0, _NEAR * reach((q, dq), (z, dz), (w, dw), (v, dv)))
        self.place = q + length * dq, z + length * dz, w + length * dw, v + length * dv
        self.y, self.eta = self.y + length * dy, self.eta + length * float(de[0])
        self.points = self._points(self.place[0], self.place[2])
        return length

    def _newton(
        self,
        place: tuple[Vector, Vector, Vector, Vector],
        second: tuple[Vector, ...],
        residuals: tuple[Vector, Vector, Vector, float],
    ) -> _Step:
        """Steps of q, y, w, η, z and v that change the products qz and wv."""
        from scipy.linalg import lu_factor, lu_solve

        q, z, w, v = place
        square, across, bent = second
        dual, primal, rising, short = residuals
        (m, n), count = self.rows.shape, len(w)
        whole = np.zeros((m + n + count + 1,) * 2)
        at_y, at_w = slice(m, m + n), slice(m + n, m + n + count)
        whole[:m, :m] = square + np.diag(z / q)
        whole[:m, at_y], whole[at_y, :m] = self.rows, self.rows.T
        whole[:m, at_w], whole[at_w, :m] = across, across.T
        whole[at_w, at_w] = bent - np.diag(v / w)
        whole[at_w, -1] = whole[-1, at_w] = -1.0
        size = np.concatenate([np.sqrt(q / z), np.ones(n), np.sqrt(w / v), [1.0]])
        factor = lu_factor(whole * np.outer(size, size))

        def step(paid: Vector, asked: Vector) -> tuple[Vector, ...]:
            right = np.concatenate([-dual + paid / q, primal, -rising - asked / w, [-short]])
            found = size * lu_solve(factor, size * right)
            dq, dw = found[:m], found[at_w]
            return dq, found[at_y], dw, found[-1:], (paid - z * dq) / q, (asked - v * dw) / w

        return step

    # What the saddle point says

    def _gram(self, point: RiskPoint) -> Vector:
        """The quadratic form M⁻¹AM⁻¹ in coordinates of columns, ``(k, f)`` times its transpose."""
        matrix = (self.risks.points.T * (point.masses / point.shares)) @ self.risks.points
        size = np.sqrt(np.diagonal(matrix))
        scaled = np.linalg.solve(matrix / np.outer(size, size), self.risks.root / size[:, None])
        return np.asarray(scaled / size[:, None])

    def reduced(self, found: _Point, deviations: Vector) -> Vector:
        """What columns pay beyond their prices, by their mass under equal masses."""
        points, deviations = self._points(found.masses, found.mixture), _even(deviations)
        image, lifts = self.risks.coordinates(deviations), 1 + deviations
        paid = -self._rows(deviations) @ found.multipliers
        for w, point in zip(self._shares(found.mixture), points, strict=True):
            paid += w * ((image @ self._gram(point)) ** 2).sum(axis=1) / (lifts @ point.truth)
        return paid

    def _answers(self, point: RiskPoint) -> Vector:
        """J⁻¹R, ``(n, f)``, for a root R of the loss."""
        # Coordinates are linear in r: those of a symbol are those of its deviation from the mean.
        n = len(self.even)
        each = np.eye(n) - 1 / n
        return np.asarray(self.risks.coordinates(each, self.even) @ self._gram(point))

    def quadratics(self, found: _Point) -> tuple[list[Vector], Vector]:
        """w_i G_i and λ for which a column r pays Σ w_i rᵀG_ir/(π_iᵀr) − λᵀr."""
        points = self._points(found.masses, found.mixture)
        squares = []
        for w, point in zip(self._shares(found.mixture), points, strict=True):
            half = self._answers(point)
            squares.append(float(w) * (half @ half.T))
        return squares, self._prices(found)

    def _prices(self, found: _Point) -> Vector:
        prices = np.zeros(len(self.even))
        prices[self.told] = found.multipliers[1:] / self.scale
        return np.asarray(prices + (found.multipliers[0] - prices.sum()) * self.even)

    def prices(self, found: _Point) -> Vector:
        """λ of the bound, in which losses are centred at the truth: Aπ = 0."""
        prices = self._prices(found)
        points = self._points(found.masses, found.mixture)
        for w, point in zip(self._shares(found.mixture), points, strict=True):
            # With h = J⁻¹Aπ the quadratic of r loses 2hᵀr and gains πᵀAπ times πᵀr.
            mean = point.truth @ self.risks.factor
            prices += w * (float(mean @ mean) * point.truth - 2 * self._answers(point) @ mean)
        return prices

    def inverses(self, found: _Point) -> Vector:
        """Y of the bound at each truth, one below the other: Y times the centred root is J⁻¹R."""
        return np.vstack(
            [
                self._answers(point)
                @ np.linalg.pinv(self.risks.factor - point.truth @ self.risks.factor)
                for point in self._points(found.masses, found.mixture)
            ]
        )


def _kernel(program: WorstTruthProgram, deviations: Vector, found: _Point) -> Vector:
    """The kernel of the columns that matter, or of more where its rounding would cost.

    Where the best columns leave J singular, what they answer may hang on the last digits.
    """
    kernel = np.zeros((0, 0))
    for masses, least in (
        (found.masses, _NEGLIGIBLE),
        (found.masses, 0.0),
        (found.rough, 0.0),
    ):
        used = masses > least * masses.max()
        kernel = mixed_kernel(deviations[used], balanced(deviations[used], masses[used]))
        for keep_rare in (False, True):
            weights, _ = repair_kernel(kernel, program.cone, keep_rare=keep_rare)
            ends = program.truths.risk(weights)
            if ends is not None and ends[1] <= Fraction(found.value * (1 + _COST)):
                return kernel
    return kernel
