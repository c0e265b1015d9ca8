"""The master program of an estimation design: which masses of given columns estimate best.

Columns k = q r are written by their mass q under the prior and the deviations d of their lifts r
from one. With s = πᵀr and u = d − (πᵀd) 1 the information matrix under the truth π is
J = 11ᵀ + C, C = Σ q u uᵀ/s. For a loss matrix A that is centred, Aπ = 0, the risk tr(A J⁻¹) is
tr(A C⁻¹) in the coordinates of all symbols but one, where nothing cancels however small the level::

    minimise  tr(A C(q)⁻¹)   subject to  Σ q = 1,  Σ q d = 0,  q ≥ 0

It is the A-optimal design of an experiment ([Pukelsheim2006]) under linear constraints. The primal-
dual interior point method uses that second derivatives have few dimensions: they are those of C.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import clock
from ...errors import SolverError, UntoldError
from ..interior_point.predictor_corrector import (
    Iterate,
    Stopping,
    centring_parameter,
    follow,
    reach,
)

Vector = NDArray[np.float64]
_Step = Callable[[Vector, Vector, Vector, Vector], tuple[Vector, Vector, Vector]]
_Solve = Callable[[Vector, Vector], tuple[Vector, Vector]]

_STEPS = 120
#: Relative complementarity at which the method ends, the one after which it does not try for long,
#: and the one that it must reach: what is left is told by the bound of the design.
_FINE, _ENOUGH, _MOST = 1e-11, 1e-7, 1e-5
# Directions in which columns differ by less than this share of the largest are not told.
_RANK = 1e-11
#: The share of what is asked that may lie in such directions.
HIDDEN = 1e-7
# How near to the boundary a step may go, and the least centring.
_NEAR, _LEAST_CENTRE = 0.995, 1e-8
# Sums of masses that are this near to what they must be make a kernel.
_KERNEL = 1e-10
# Steps without progress after which the method ends.
_PATIENCE = 8
# Steps without progress from which on they are cautious.
_STALLED = 4
_COLUMNS_PER_PAIR = 1.5


@dataclass(frozen=True, eq=False)
class Weighted:
    """An optimum of the master program.

    Attributes
    ----------
    masses : ``(m,)`` q
    risk : tr(A C⁻¹), up to the gap
    level : α, the most that uᵀYAYᵀu/s − λᵀd reaches on these columns: the risk, at the optimum
    upper : tr(A C⁻¹) of these masses, as they are
    inverse : ``(n, n)`` Y with Y A = C⁻¹A on the coordinates, zero elsewhere
    prices : ``(n,)`` λ: uᵀYAYᵀu/s ≤ risk + λᵀd for every column, at the optimum
    gap : relative complementarity that is left
    steps : of the interior point method
    """

    masses: Vector
    risk: float
    level: float
    upper: float
    inverse: Vector
    prices: Vector
    gap: float
    steps: int


def optimal_masses(
    deviations: Vector,
    shares: Vector,
    prior: Vector,
    truth: Vector,
    loss: Vector,
    tolerance: float = _FINE,
    deadline: float = math.inf,
) -> Weighted:
    """The masses of least risk on given columns.

    Parameters
    ----------
    deviations : ``(m, n)``, d
    shares : ``(m,)``, s
    prior, truth : ``(n,)``, positive
    loss : ``(n, n)``, A with Aπ = 0, positive semi-definite
    tolerance : gap at which the method may end; the multipliers are then well inside of what the
        columns ask of them, which is of use where columns are still missing
    deadline : when the clock shows it the method ends at the first masses that make a kernel

    Raises
    ------
    SolverError
        When no mixture of the columns answers what is asked, or the method breaks down.
    """
    # A column of a rare symbol has a tiny mass and large lifts under the prior: columns of mass one
    # under equal masses differ less.
    size = 1 + deviations.mean(axis=1)
    even = (deviations - deviations.mean(axis=1, keepdims=True)) / size[:, None]
    frame = _Frame.of(even, shares / size, prior, truth, loss)
    method = _InteriorPoint(frame.points, frame.rows, frame.root, deadline)
    return frame.unfold(method.solve(tolerance), method.unit, size)


@dataclass(frozen=True, eq=False)
class _Frame:
    """Coordinates in which the columns are spread alike in every direction.

    Attributes
    ----------
    points : ``(m, d)`` the columns: C is the sum of q times their squares
    rows : ``(m, n)`` what their masses must sum to: one, and deviations that are zero
    root : ``(d, f)`` R with RRᵀ the loss
    kept, told : symbols whose coordinates are those of points and of rows, all but the most likely
    basis : ``(n - 1, d)`` B: points = u B / √s
    scale : ``(n - 1,)`` what deviations are divided by in the rows
    of_root : ``(f, n - 1)`` the pseudo-inverse of the root of the loss on the kept symbols
    """

    points: Vector
    rows: Vector
    root: Vector
    kept: NDArray[np.intp]
    told: NDArray[np.intp]
    basis: Vector
    scale: Vector
    of_root: Vector

    @classmethod
    def of(
        cls, deviations: Vector, shares: Vector, prior: Vector, truth: Vector, loss: Vector
    ) -> _Frame:
        every = np.arange(len(truth))
        kept, told = (np.delete(every, int(np.argmax(p))) for p in (truth, prior))
        spread = deviations - (deviations @ truth)[:, None]
        points, asked = spread[:, kept] / np.sqrt(shares)[:, None], loss[np.ix_(kept, kept)]
        safe = _sizes(points)
        values, vectors = np.linalg.eigh((points / safe).T @ (points / safe) / len(points))
        some = values > _RANK * max(float(values[-1]), 0.0)
        if not some.any():
            raise UntoldError(UNTOLD)
        values, vectors = values[some], vectors[:, some]
        basis = (vectors / np.sqrt(values)) / safe[:, None]
        size = np.sqrt(np.diagonal(asked))
        size = np.where(size > 0, size, 1.0)
        weights, directions = np.linalg.eigh(asked / np.outer(size, size))
        some = weights > _RANK * float(weights[-1])
        root = directions[:, some] * np.sqrt(weights[some]) * size[:, None]
        scaled = root / safe[:, None]
        hidden = scaled - vectors @ (vectors.T @ scaled)
        if (np.abs(hidden) > HIDDEN * np.abs(scaled).max()).any():
            raise UntoldError(UNTOLD)
        scale = _sizes(deviations[:, told])
        rows = np.column_stack([np.ones(len(points)), deviations[:, told] / scale])
        # A loss RRᵀ of the symbols is BᵀR(BᵀR)ᵀ in the coordinates of the columns.
        return cls(
            points @ basis, rows, basis.T @ root, kept, told, basis, scale, np.linalg.pinv(root)
        )

    def unfold(self, found: _Point, unit: float, size: Vector) -> Weighted:
        """The optimum in the coordinates of the symbols, for columns so many times as large."""
        n = len(self.kept) + 1
        inverse, prices = np.zeros((n, n)), np.zeros(n)
        solution = np.sqrt(unit) * found.solution
        inverse[np.ix_(self.kept, self.kept)] = self.basis @ solution @ self.of_root
        prices[self.told] = unit * found.multipliers[1:] / self.scale
        level = unit * float(found.multipliers[0])
        prices += (level - float(prices.sum())) / n
        matrix = (self.points.T * found.masses) @ self.points
        try:
            upper = float(np.vdot(self.root, np.linalg.solve(matrix, self.root)))
        except np.linalg.LinAlgError:  # told without some directions, which have no mass
            upper = unit * found.value
        masses = found.masses / size
        return Weighted(
            masses, unit * found.value, level, upper, inverse, prices, found.gap, found.steps
        )


def _sizes(table: Vector) -> Vector:
    found = np.sqrt((table**2).mean(axis=0))
    return np.where(found > 0, found, 1.0)


_REMEDY = "raise the level, ease what is required of every output, or ask about groups of symbols"
#: Said where no mixture of the columns can answer, as far as floats tell.
UNTOLD = (
    "expected a kernel within the bounds whose reports answer what is asked, got some symbols that "
    f"double precision cannot tell apart; {_REMEDY}"
)
#: Said where that is proved.
UNTOLD_BY_ALL = (
    "expected a kernel within the bounds whose reports answer what is asked, got none: under these "
    f"bounds some symbols are told apart by no kernel; {_REMEDY}"
)


@dataclass(frozen=True, eq=False)
class _Point:
    masses: Vector
    solution: Vector
    value: float
    multipliers: Vector
    gap: float
    steps: int


class _InteriorPoint(Iterate):
    """Primal-dual interior point method for min tr(RᵀC⁻¹R), C = Σ q g gᵀ, Eᵀq = (1, 0), q ≥ 0.

    Its dual is max 2 tr(RᵀZ) − α subject to |Zᵀg|² ≤ Eν for every column, ν = (α, β). Z is
    a variable of its own, as C⁻¹R is no smooth function where the best masses leave C singular. The
    conditions are::

        z = Eν − |Zᵀg|²,   Eᵀq = (1, 0),   C Z = R,   q z = 0
    """

    def __init__(
        self, points: Vector, rows: Vector, root: Vector, deadline: float = math.inf
    ) -> None:
        self.points, self.rows, self.deadline = points, rows, deadline
        self.masses = np.full(len(points), 1 / len(points))
        self.matrix = (points.T * self.masses) @ points
        try:
            lower = np.linalg.cholesky(self.matrix)
        except np.linalg.LinAlgError:
            raise UntoldError(UNTOLD) from None
        # In units of the risk at the start.
        self.unit = float((np.linalg.solve(lower, root) ** 2).sum())
        self.root = root / np.sqrt(self.unit)
        self.solution = np.linalg.solve(self.matrix, self.root)
        values = ((points @ self.solution) ** 2).sum(axis=1)
        self.multipliers = 1.05 * float(values.max()) * np.eye(1, rows.shape[1])[0]
        self.z = rows @ self.multipliers - values
        self.steps, self.is_late = 0, False
        self.best: _Point | None = None

    def solve(self, tolerance: float) -> _Point:
        """Predictor and corrector steps until the gap is closed or stays as it is, or there is no
        more time.
        """
        enough = max(_ENOUGH, tolerance)
        stopping = Stopping(tolerance, _PATIENCE, enough, 0.5, _STEPS, is_heard=False)
        follow(self, stopping)
        assert self.best is not None
        if self.best.gap > max(_MOST, tolerance) and not self.is_late:
            raise SolverError(
                "the interior point method of the estimation design stopped at a gap of "
                f"{self.best.gap:.2g}"
            )
        return self.best

    def error(self) -> float:
        """Relative complementarity and residuals; keeps the best point."""
        w, z, solution = self.masses, self.z, self.solution
        self.steps += 1
        self.images = self.points @ solution
        self.dual = self.rows @ self.multipliers - (self.images**2).sum(axis=1) - z
        self.primal = -self.rows.T @ w
        self.primal[0] += 1.0
        self.missing = self.root - self.matrix @ solution
        value = 2 * float(np.vdot(self.root, solution)) - self.multipliers[0]
        self.gap = float(w @ z)
        left = max(
            self.gap,
            float(w @ np.abs(self.dual)),
            float(np.abs(self.primal).max()),
            float(np.abs(self.missing).max()) / float(np.abs(self.root).max()),
        ) / min(abs(value), 1.0)
        is_kernel = float(np.abs(self.primal).max()) <= _KERNEL
        self.is_late = is_kernel and clock.now() > self.deadline
        if self.best is None or self.is_late or left < self.best.gap:
            self.best = _Point(w, solution, value, self.multipliers, left, self.steps)
        return 0.0 if self.is_late else left

    def step(self) -> float:
        """Move all by one length."""
        w, z, points = self.masses, self.z, self.points
        newton = self._newton(w, z, self.matrix, self.solution)
        dw, _, ds = newton(self.dual, self.primal, self.missing, -w * z)
        dz = (-w * z - z * dw) / w
        length = min(1.0, reach((w, dw), (z, dz)))
        after = float((w + length * dw) @ (z + length * dz))
        mean = self.gap / len(w)
        if self.stalled >= _STALLED:
            # Corrections of second order may go round in circles; centred steps without do not.
            bent, crossed, target = self.dual, self.missing, 0.5 * mean - w * z
        else:
            centre = max(centring_parameter(after, self.gap), _LEAST_CENTRE) * mean
            target = centre - w * z - dw * dz
            bent = self.dual - ((points @ ds) ** 2).sum(axis=1)
            crossed = self.missing - (points.T * dw) @ (points @ ds)
        dw, dy, ds = newton(bent, self.primal, crossed, target)
        dz = (target - z * dw) / w
        if not (np.isfinite(dw).all() and np.isfinite(dz).all()):
            return 0.0
        length = min(1.0, _NEAR * reach((w, dw), (z, dz)))
        self.masses, self.z = w + length * dw, z + length * dz
        self.multipliers = self.multipliers + length * dy
        self.solution = self.solution + length * ds
        self.matrix = (points.T * self.masses) @ points
        return length

    def _newton(self, w: Vector, z: Vector, matrix: Any, solution: Vector) -> _Step:
        """Steps of w, ν and Z for residuals of the four conditions.

        In coordinates where C is the identity and ZZᵀ diagonal, what the step of w does to |Zᵀg|²
        by way of Z is QQᵀΔw, with one column of Q for each pair of coordinates.
        """
        points, rows = self.points, self.rows
        lower: Any = np.linalg.cholesky(matrix)
        shares, vectors = np.linalg.eigh((half := lower.T @ solution) @ half.T)
        shares = np.maximum(shares, 0.0)
        turned = vectors.T @ _forward(lower, points.T)
        root = np.sqrt(w / z)
        few = len(points) <= most_by_columns(len(shares))
        solve = (_by_columns if few else _by_pairs)(turned, shares, rows.T * root, root)
        images = points @ solution

        def newton(
            dual: Vector, primal: Vector, missing: Vector, target: Vector
        ) -> tuple[Vector, Vector, Vector]:
            alone = _backward(lower, _forward(lower, missing))
            dual = dual - 2 * (images * (points @ alone)).sum(axis=1)
            scaled, found = solve(root * (target / w - dual), primal)
            dw = root * scaled
            moved = (points.T * dw) @ images
            return dw, found, alone - _backward(lower, _forward(lower, moved))

        return newton


def most_by_columns(coordinates: int) -> int:
    """Columns up to which a system of a row for each takes fewer steps than one of a row for each
    pair of coordinates: m³/3 against P²m + P³/3.
    """
    return int(_COLUMNS_PER_PAIR * (coordinates * (coordinates + 1) // 2))


def _by_pairs(turned: Vector, shares: Vector, rows: Vector, root: Vector) -> _Solve:
    """Solutions x, ν of x + QᵀQx + Eᵀν = b, Ex = c: a system of one row for each pair."""
    left, right = np.triu_indices(len(shares))
    sizes = shares[left] + shares[right]
    some = sizes > 1e-15 * float(sizes.max())
    left, right, sizes = left[some], right[some], sizes[some]
    factors = np.sqrt(np.where(left == right, 1.0, 2.0) * sizes)
    table = np.vstack([turned[left] * turned[right] * (factors[:, None] * root), rows])
    k = len(left)
    inner = table @ table.T
    inner[np.arange(k), np.arange(k)] += 1.0
    factor = _cholesky(inner)

    def solve(scaled: Vector, primal: Vector) -> tuple[Vector, Vector]:
        wanted = table @ scaled
        wanted[k:] -= primal
        found = _backward(factor, _forward(factor, wanted))
        return scaled - table.T @ found, found[k:]

    return solve


def _by_columns(turned: Vector, shares: Vector, rows: Vector, root: Vector) -> _Solve:
    """The same by one row for each column, where these are fewer."""
    scaled_columns = turned * root
    inner = 2 * (turned.T @ (shares[:, None] * scaled_columns)) * root[:, None]
    inner *= turned.T @ turned
    inner[np.arange(len(root)), np.arange(len(root))] += 1.0
    factor = _cholesky(inner)
    half = _forward(factor, rows.T)
    outer = _cholesky(half.T @ half)

    def solve(scaled: Vector, primal: Vector) -> tuple[Vector, Vector]:
        short = half.T @ _forward(factor, scaled) - primal
        found = _backward(outer, _forward(outer, short))
        return _backward(factor, _forward(factor, scaled - rows.T @ found)), found

    return solve


def _cholesky(matrix: Vector) -> Vector:
    size = np.sqrt(np.diagonal(matrix))
    scaled = matrix / np.outer(size, size)
    for room in (0.0, 1e-15, 1e-13, 1e-11):
        try:
            return np.linalg.cholesky(scaled + room * np.eye(len(matrix))) * size[:, None]
        except np.linalg.LinAlgError:
            continue
    raise SolverError("the interior point method of the estimation design broke down")


def _forward(lower: Vector, right: Vector) -> Vector:
    return _triangular(lower, right, 0)


def _backward(lower: Vector, right: Vector) -> Vector:
    return _triangular(lower, right, 1)


def _triangular(lower: Vector, right: Vector, transposed: int) -> Vector:
    """By LAPACK itself: the wrapper of SciPy takes longer than small systems do."""
    from scipy.linalg.lapack import dtrtrs

    found, failed = dtrtrs(lower, right, lower=1, trans=transposed)
    if failed or not np.isfinite(found).all():
        raise np.linalg.LinAlgError("a triangular system has no solution in floats")
    return np.asarray(found)
