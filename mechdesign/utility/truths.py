"""Several truths of which the worst counts: a list of distributions, or every distribution.

The risk of a kernel, tr(A J⁻¹) − πᵀAπ, is concave in the truth π: it is the least of
Σ_y (πᵀk_y) b_yᵀA b_y − πᵀAπ over the unbiased estimates b. So every distribution has a worst one,
found by Newton's method, and the tangent at any truth bounds the risk at all of them, in rationals.
Where a truth has no mass for some symbols the risk is the limit from truths that have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact import ball_ends, common_integers
from .survey import DIGITS, PRECISIONS, Ends, Survey, Vector, balls, column_matrices, too_close

_STEPS = 80
# Relative gap between tangent and risk at which the search for the worst truth ends.
_FINE = 1e-14
_PATIENCE = 6
# Denominator of the truths at which tangents are taken.
_BITS = 60
# Directions in which columns differ by less than this share of the largest are not told.
_RANK = 1e-11


@dataclass(frozen=True)
class Worst:
    """Where the risk of a kernel is largest.

    Attributes
    ----------
    truth : a distribution at which it is, or nearly so
    place : which of the list it is; ``None`` among all distributions
    ends : the largest risk between two rationals; the lower one is reached at the truth
    """

    truth: tuple[Fraction, ...]
    place: int | None
    ends: Ends


@dataclass(frozen=True)
class Truths:
    """The distributions of which the worst counts, on the symbols of positive prior mass.

    Attributes
    ----------
    listed : what is asked at each of a list; none where every distribution is meant
    reference : what is asked at the prior
    """

    listed: tuple[Survey, ...]
    reference: Survey

    @property
    def every(self) -> bool:
        """Whether every distribution is meant."""
        return not self.listed

    @property
    def count(self) -> int:
        """What a least favourable mixture is over: the list, or the symbols."""
        return len(self.listed) or len(self.reference.truth)

    @property
    def open_risk(self) -> Fraction:
        """At most the worst risk of every kernel, private or not."""
        return max(one.open_risk for one in self.listed or (self.reference,))

    def risk(self, weights: NDArray[Any]) -> Ends | None:
        """The worst risk of a kernel of integer weights, rows of equal sums; ``None`` where it is
        infinite.
        """
        found = self.worst(weights)
        return None if found is None else found.ends

    def worst(self, weights: NDArray[Any]) -> Worst | None:
        """Where the risk of a kernel is largest; ``None`` where it is infinite at all of them."""
        if self.listed:
            ends = [one.risk(weights) for one in self.listed]
            known = [pair for pair in ends if pair is not None]
            if len(known) < len(ends):
                return None
            place = max(range(len(known)), key=lambda i: sum(known[i]))
            both = max(low for low, _ in known), max(high for _, high in known)
            return Worst(self.listed[place].truth, place, both)
        if self.reference.asks_nothing:
            return Worst(self.reference.truth, None, (Fraction(0), Fraction(0)))
        rows = weights.astype(object)
        rows = rows[:, rows.any(axis=0)]
        basis = self.reference.telling(rows)
        if basis is None:
            return None
        # Lifts against equal masses: against a rare symbol they would leave the floats.
        even = (Fraction(1, len(rows)),) * len(rows)
        deviations, masses = _columns(rows, even)
        moved = self.reference.moved(even)
        risks = ColumnRisks.of(deviations, moved.masses, moved.losses)
        truth = rational_masses(worst_masses(risks, masses))
        return Worst(truth, None, self._tangent(rows, basis, truth))

    def _tangent(self, rows: NDArray[Any], basis: list[int], truth: Sequence[Fraction]) -> Ends:
        """The risk at a truth, and what its tangent there is at the worst symbol."""
        from flint import arb, ctx

        whole, one = common_integers(truth)
        shares = np.array(whole, dtype=object) @ rows
        row_sum, n, count = int(sum(rows[0])), len(rows), len(basis)
        kept, loss = [rows[x].tolist() for x in basis], self.reference.loss
        for precision in PRECISIONS:
            with ctx.workprec(precision):
                # Everything of a column k is divided by its mass under the truth but for a factor.
                plain, scaled = column_matrices(kept, shares)
                matrix = scaled * plain.transpose() * (arb(one) / row_sum)
                inner = balls(count, count, (loss[x][z] for x in basis for z in basis))
                try:
                    weights = matrix.solve(scaled * arb(one))
                except ZeroDivisionError:
                    continue
                table = zip(weights.tolist(), (inner * weights).tolist(), strict=True)
                squares = [_inner(first, second) for first, second in table]
                sizes = [sum(column, arb(0)) for column in zip(*squares, strict=True)]
                costs = [sum(_inner(map(int, row), sizes), arb(0)) / row_sum for row in rows]
                exact = balls(n, 1, truth)
                image = (balls(n, n, (v for row in loss for v in row)) * exact).entries()
                bent = sum(_inner(exact.entries(), image), arb(0))
                low = sum(_inner(exact.entries(), costs), arb(0)) - bent
                high = low
                for cost, one_image in zip(costs, image, strict=True):
                    high = high.max(cost - 2 * one_image + bent)
                ends = ball_ends(low), ball_ends(high)
                if (
                    ends[0] is not None
                    and ends[1] is not None
                    and low.rel_accuracy_bits() >= DIGITS
                ):
                    return ends[0][0], ends[1][1]
        raise too_close()


def _inner(first: Iterable[Any], second: Iterable[Any]) -> list[Any]:
    return [a * b for a, b in zip(first, second, strict=True)]


def rational_masses(masses: Vector) -> tuple[Fraction, ...]:
    """Positive rationals of sum one in proportion to masses, of which some is positive."""
    positive = np.maximum(masses, 0.0)
    positive = positive / positive.max()
    whole = [max(round(v * 2.0**_BITS), 1) for v in (positive / positive.sum()).tolist()]
    total = sum(whole)
    return tuple(Fraction(v, total) for v in whole)


def _columns(rows: NDArray[Any], prior: Sequence[Fraction]) -> tuple[Vector, Vector]:
    """Deviations ``(M, n)`` of the lifts of a kernel of integers from one, and masses ``(M,)``."""
    weights, total = common_integers(prior)
    shares = np.array(weights, dtype=object) @ rows
    whole = int(sum(rows[0])) * total
    deviations = [
        [float(Fraction(int(k) * total - int(q), int(q))) for k in column]
        for column, q in zip(rows.T, shares, strict=True)
    ]
    return np.array(deviations), np.array([float(Fraction(int(q), whole)) for q in shares])


@dataclass(frozen=True, eq=False)
class ColumnRisks:
    """The risk of columns as a function of their masses and of the truth, in floats.

    With r = 1 + d, pᵀr = 1, and coordinates c = (1, d of all symbols but the likeliest), scaled,
    J is Σ q r rᵀ/(πᵀr) in other coordinates: M = Σ q c cᵀ/(πᵀr). Nothing cancels, however small
    the level.

    Attributes
    ----------
    points : ``(m, k)``, c
    lifts : ``(m, n)``, r
    root : ``(k, f)``, RRᵀ is the loss in the coordinates of M
    loss : ``(n, n)``, A with Ap = 0
    factor : ``(n, f)``, RRᵀ is the loss
    told, scale, basis : what coordinates are made with
    hidden : the share of what is asked that no column tells
    """

    points: Vector
    lifts: Vector
    root: Vector
    loss: Vector
    factor: Vector
    told: NDArray[np.intp]
    scale: Vector
    basis: Vector
    hidden: float

    @classmethod
    def of(cls, deviations: Vector, prior: Vector, loss: Vector) -> ColumnRisks:
        """From deviations ``(m, n)``, the prior p and a loss with Ap = 0."""
        told = np.delete(np.arange(len(prior)), int(np.argmax(prior)))
        scale = np.sqrt((deviations[:, told] ** 2).mean(axis=0))
        scale = np.where(scale > 0, scale, 1.0)
        points = np.column_stack([np.ones(len(deviations)), deviations[:, told] / scale])
        asked = loss[np.ix_(told, told)]
        size = np.sqrt(np.diagonal(asked))
        size = np.where(size > 0, size, 1.0)
        weights, directions = np.linalg.eigh(asked / np.outer(size, size))
        some = weights > _RANK * float(weights[-1])
        part = directions[:, some] * np.sqrt(weights[some]) * size[:, None]
        root = np.vstack([np.zeros((1, part.shape[1])), part / scale[:, None]])
        factor = np.zeros((len(prior), part.shape[1]))
        factor[told] = part
        factor -= (
            np.eye(len(prior))[int(np.argmax(prior))][:, None] * (prior @ factor) / prior.max()
        )
        values, vectors = np.linalg.eigh(points.T @ points / len(points))
        basis = vectors[:, values > _RANK * float(values[-1])]
        lost = float(np.abs(root - basis @ (basis.T @ root)).max(initial=0.0))
        largest = float(np.abs(root).max(initial=0.0))
        return cls(
            points @ basis,
            1 + deviations,
            basis.T @ root,
            loss,
            factor,
            told,
            scale,
            basis,
            lost / largest if largest > 0 else 0.0,
        )

    def coordinates(self, deviations: Vector, mass: Vector | None = None) -> Vector:
        """Coordinates c of columns, times their mass pᵀr where that is not one."""
        first = np.ones(len(deviations)) if mass is None else mass
        return np.asarray(
            np.column_stack([first, deviations[:, self.told] / self.scale]) @ self.basis
        )

    def at(self, masses: Vector, truth: Vector) -> RiskPoint:
        """The risk and its derivatives; raises ``LinAlgError`` where it is infinite."""
        shares = self.lifts @ truth
        matrix = (self.points.T * (masses / shares)) @ self.points
        size = np.sqrt(np.diagonal(matrix))
        lower = np.linalg.cholesky(matrix / np.outer(size, size)) * size[:, None]
        half = np.linalg.solve(lower, self.root)
        image = np.linalg.solve(lower, self.points.T)
        value = float((half**2).sum() - truth @ self.loss @ truth)
        return RiskPoint(self, masses, truth, shares, value, image, half.T @ image)


@dataclass(frozen=True, eq=False)
class RiskPoint:
    """The risk at one place, with derivatives in masses q and truth π."""

    risks: ColumnRisks
    masses: Vector
    truth: Vector
    shares: Vector
    value: float
    _whitened: Vector
    _weighed: Vector

    @property
    def squares(self) -> Vector:
        """cᵀM⁻¹RRᵀM⁻¹c of each column."""
        return np.asarray((self._weighed**2).sum(axis=0))

    @property
    def by_masses(self) -> Vector:
        """∂/∂q."""
        return -self.squares / self.shares

    @property
    def by_truth(self) -> Vector:
        """∂/∂π."""
        paid = self.masses * self.squares / self.shares**2
        return np.asarray(paid @ self.risks.lifts - 2 * (self.risks.loss @ self.truth))

    @property
    def _pairs(self) -> Vector:
        return (self._weighed.T @ self._weighed) * (self._whitened.T @ self._whitened)

    def second(self) -> tuple[Vector, Vector, Vector]:
        """∂²/∂q², ∂²/∂q∂π and ∂²/∂π²."""
        s, lifts, squares, pairs = self.shares, self.risks.lifts, self.squares, self._pairs
        moved = (self.masses / s**2)[:, None] * lifts
        across = pairs @ moved
        paid = self.masses * squares / s**3
        return (
            2 * pairs / np.outer(s, s),
            (squares / s**2)[:, None] * lifts - (2 / s)[:, None] * across,
            2 * moved.T @ across - 2 * (lifts.T * paid) @ lifts - 2 * self.risks.loss,
        )


def worst_masses(risks: ColumnRisks, masses: Vector) -> Vector:
    """The truth of the largest risk of given columns: a primal-dual interior point method.

    Its conditions are ∇ − η1 + v = 0, Σπ = 1, πv = 0.
    """
    n = risks.lifts.shape[1]
    truth = np.full(n, 1 / n)
    point = risks.at(masses, truth)
    unit = abs(point.value) or 1.0
    slope = point.by_truth / unit
    slack = float(slope.max()) + 0.05 - slope
    level = float(slope.max()) + 0.05
    best, found, since = np.inf, truth, 0
    for _ in range(_STEPS):
        normal = truth / truth.sum()
        gap = float(slope.max() - slope @ normal)
        if gap < best:
            since = 0 if gap < 0.5 * best else since + 1
            best, found = gap, normal
        else:
            since += 1
        if gap <= _FINE * abs(point.value) / unit or since >= _PATIENCE:
            break
        _, _, second = point.second()
        matrix = np.zeros((n + 1, n + 1))
        matrix[:n, :n] = second / unit - np.diag(slack / truth)
        matrix[:n, n] = matrix[n, :n] = -1.0
        centre = 0.1 * float(truth @ slack) / n
        right = np.append(level - slope - centre / truth, truth.sum() - 1)
        size = np.append(np.sqrt(truth / slack), 1.0)
        try:
            step = np.linalg.solve(matrix * np.outer(size, size), size * right) * size
        except np.linalg.LinAlgError:
            break
        move = step[:n]
        change = (centre - slack * move) / truth - slack
        length = min(1.0, 0.99 * min(_reach(truth, move), _reach(slack, change)))
        if not np.isfinite(length):
            break
        truth, slack = truth + length * move, slack + length * change
        level += length * float(step[n])
        try:
            point = risks.at(masses, truth)
        except np.linalg.LinAlgError:
            break
        slope = point.by_truth / unit
    return found


def _reach(values: Vector, step: Vector) -> float:
    """The largest step that keeps all values at or above zero."""
    falling = step < 0
    return float(np.min(-values[falling] / step[falling], initial=1e300))
