"""A bound on the risk of every kernel whatever the masses are, where ratios alone are bounded.

Let r = 1 + ξ be the lifts of a column, so that pᵀξ = 0, and s the least of them. Extreme columns
under a ratio c have two values, (r_x − s)(c s − r_x) = 0, so that for multipliers d > 0, with s
left free ([Shor1987]),

    ξᵀGξ ≤ (κ − 1)(Σ d + 2 dᵀξ),   G = diag(d) − κ d dᵀ/Σ d,   κ = (1 + c)²/(4 c).

Columns have ξ zero on average. The risk is tr(W C⁻¹) where C is the mean of ξξᵀ on pᵀξ = 0 and
W = Π + |p|² Π11ᵀΠ with Π the projection along p, and by the inequality of Cauchy and Schwarz

    risk ≥ (tr (W^½GW^½)^½)² / ((κ − 1) Σ d)    for all d with G ⪰ 0 on pᵀξ = 0.

With d equal in runs of symbols this needs what is orthogonal to ones and masses of runs only in
number, so that it takes as long for a million symbols as for a hundred.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .parts import Floats, Integers

# Runs of symbols with a multiplier each.
_RUNS = 32
# Weights of the barrier that keeps G definite, in turn; its value outside.
_BARRIERS, _OUTSIDE = 10.0 ** -np.arange(1.0, 8.0), 1e6
# Starts: how much of the masses is mixed into equal multipliers, or where they are cut off.
_MIXED = np.append(0.0, np.logspace(-3, 0, 13))
# Rounding of eigenvalues relative to the largest one, of the bound, and of masses of a run.
_ROUNDING, _ALLOWANCE, _EVEN = 1e-12, 1e-9, 1e-9


class Multipliers(NamedTuple):
    """What proves a bound: runs of symbols by falling masses, and the multiplier of each."""

    sizes: Integers
    weights: Floats


def near_groups(values: Floats, most: int) -> Integers:
    """Sizes of at most so many runs of near values in falling order, split one by one where the
    squares inside of runs fall most.
    """
    sums = np.append(0.0, np.cumsum(values))

    def split(start: int, end: int) -> tuple[float, int, int, int]:
        cuts = np.arange(start + 1, end)
        if values[start] == values[end - 1]:
            return 0.0, 0, start, end
        left, right = sums[cuts] - sums[start], sums[end] - sums[cuts]
        fall = left**2 / (cuts - start) + right**2 / (end - cuts)
        best = int(fall.argmax())
        return fall[best] - (left[0] + right[0]) ** 2 / (end - start), int(cuts[best]), start, end

    runs = [split(0, len(values))]
    while len(runs) < most and (widest := max(runs))[1]:
        runs.remove(widest)
        _, cut, start, end = widest
        runs += [split(start, cut), split(cut, end)]
    return np.array([end - start for *_, start, end in sorted(runs, key=lambda run: run[2])])


class Relaxation:
    """The bound as a function of multipliers of runs.

    Parameters
    ----------
    masses : of all symbols
    sizes : of the runs, by falling masses
    excess : c − 1, rounded up
    """

    def __init__(self, masses: Floats, sizes: Integers, excess: float) -> None:
        masses = np.sort(masses)[::-1]
        self.sizes, self.runs = np.array(sizes, dtype=float), len(sizes)
        self.excess = excess**2 / (4 * (1 + excess))
        self.barrier = 0.0
        starts = np.append(0, np.cumsum(sizes)[:-1])
        self.means = np.add.reduceat(masses, starts) / self.sizes
        away = (masses - np.repeat(self.means, sizes)) ** 2
        spreads = np.sqrt(np.add.reduceat(away, starts))
        uneven = np.flatnonzero(spreads > _EVEN * self.means * np.sqrt(self.sizes))
        #: Which run a coordinate is of: ones of each, then what masses differ by.
        self.run = np.append(np.arange(self.runs), uneven)
        self.others = self.sizes - np.bincount(self.run, minlength=self.runs)
        self.ones = np.append(np.sqrt(self.sizes), 0 * uneven)
        p = np.append(self.means * np.sqrt(self.sizes), spreads[uneven])
        *_, rows = np.linalg.svd(p[None])
        basis = rows[1:].T
        across = basis.T @ self.ones
        loss, vectors = np.linalg.eigh(np.eye(len(p) - 1) + p @ p * np.outer(across, across))
        # W^½ from coordinates to those on pᵀξ = 0.
        self.root = (vectors * np.sqrt(loss)) @ vectors.T @ basis.T

    def _spectrum(self, weights: Floats) -> tuple[Floats, Floats, float, Floats]:
        """Eigenvalues and vectors of W^½GW^½ on the coordinates, Σ d, and d by coordinates."""
        total, each = float(self.sizes @ weights), weights[self.run]
        image = each * self.ones
        inner = np.diag(each) - (1 + self.excess) * np.outer(image, image) / total
        square = self.root @ inner @ self.root.T
        values, vectors = np.linalg.eigh((square + square.T) / 2)
        return values, vectors, total, image

    def bound(self, weights: Floats) -> float:
        """The bound at multipliers, less what rounding may have added; zero where it is none."""
        values, _, total, _ = self._spectrum(weights)
        sure = values - _ROUNDING * float(np.abs(values).max(initial=0.0))
        if not (weights > 0).all() or not (sure > 0).all():
            return 0.0
        root = self.others @ np.sqrt(weights) + np.sqrt(sure).sum()
        return float(root**2 / (self.excess * total) * (1 - _ALLOWANCE))

    def _merit(self, logs: Floats) -> tuple[float, Floats]:
        """Minus the logarithm of the bound with the barrier, and its gradient."""
        weights = np.exp(logs - logs.max())
        values, vectors, total, image = self._spectrum(weights)
        if values.min(initial=math.inf) <= _ROUNDING * values.max(initial=0.0):
            return _OUTSIDE, 0 * logs
        root, size = self.others @ np.sqrt(weights) + np.sqrt(values).sum(), len(values)
        merit = 2 * math.log(root) - math.log(total)
        merit += self.barrier * (np.log(values).sum() - size * math.log(total))
        onto = self.root.T @ vectors
        slope = (onto * (1 / (root * np.sqrt(values)) + self.barrier / values)) @ onto.T
        moved = slope @ image
        rates = np.diag(slope) - 2 * (1 + self.excess) * moved * self.ones / total
        found = np.bincount(self.run, rates, self.runs) + self.others / (root * np.sqrt(weights))
        found += (1 + self.excess) * (image @ moved) / total**2 * self.sizes
        found -= (1 + self.barrier * size) / total * self.sizes
        return -merit, -found * weights

    def best(self) -> Floats:
        """Multipliers whose bound is next to the largest one."""
        from scipy.optimize import minimize

        even = 1 / self.sizes.sum()
        starts = [even * (1 - t) + t * self.means for t in _MIXED]
        starts += [np.minimum(self.means, t * self.means[0]) for t in _MIXED[1:]]
        self.barrier = _BARRIERS[0]
        logs = min((np.log(start) for start in starts), key=lambda logs: self._merit(logs)[0])
        for self.barrier in _BARRIERS:
            logs = minimize(self._merit, logs, jac=True, method="L-BFGS-B").x
        return np.asarray(np.exp(logs - logs.max()))


def multipliers(masses: Floats, excess: float) -> Multipliers:
    """Those of the best bound for masses."""
    sizes = near_groups(np.sqrt(np.sort(masses)[::-1]), _RUNS)
    return Multipliers(sizes, Relaxation(masses, sizes, excess).best())
