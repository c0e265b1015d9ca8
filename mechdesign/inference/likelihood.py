"""Maximum likelihood on the simplex, with a certificate of how near the maximum is.

Reports with frequencies f under the kernel K have the log-likelihood L(p) = Σ_y f_y log (pᵀK)_y per
report, which is concave in p. With the gradient g_x = Σ_y f_y K[x,y] / (pᵀK)_y, no distribution
has a likelihood above L(p) + log max_x g_x [Cover1984]: whatever found p, that number, the gap,
says how good it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..labels import counted

Vector = NDArray[np.float64]

#: A gap below this per report counts as converged.
GAP = 1e-9
_ITERATIONS = 100
_EM_ITERATIONS = 20_000
# Numbers in one batch of Newton's method.
_MOST_NUMBERS = 4_000_000
# Symbols, or combinations of them, up to which it is Newton's method.
_MOST_NEWTON = 600
_TINY = 1e-150
# Added to the diagonal of a Newton system of two equal rows, relative to it.
_RIDGE = 1e-13
# The gap of distributions that only moments are taken of.
_TILTED = 1e-8
# Relative rounding of a sum of frequencies and logarithms, generously.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Convergence:
    """How the maximisation ended.

    Attributes
    ----------
    iterations : steps taken
    gap : proven distance of the log-likelihood per report from its maximum, in nats
    """

    iterations: int
    gap: float

    @property
    def converged(self) -> bool:
        """Whether the gap is at most 1e-9 nats per report."""
        return self.gap <= GAP

    def __str__(self) -> str:
        state = "converged" if self.converged else "NOT converged"
        return (
            f"{state} in {counted(self.iterations, 'step')}, within {self.gap:.1e} nats per report"
        )


@dataclass(frozen=True, eq=False)
class Fitted:
    """The distribution that reports of a kernel are likeliest at.

    Attributes
    ----------
    likely : ``(N,)``
    gap, steps : how near that is to the maximum, and how many steps it took
    fit : p-value of the hypothesis that the kernel made the reports, rather too large
    """

    likely: Vector
    gap: float
    steps: int
    fit: float

    @classmethod
    def of(cls, kernel: Vector, counts: NDArray[Any]) -> Fitted:
        """From how often each report came, ``(M,)``."""
        n = int(counts.sum())
        (likely,), (gap,), steps = maximise(kernel, counts[None] / n)
        return cls(likely, float(gap), steps, fit_of(kernel, counts / n, likely, n, float(gap)))


def maximise(
    kernel: Vector, frequencies: Vector, tilts: Vector | None = None
) -> tuple[Vector, Vector, int]:
    """Distributions ``(B, N)`` of largest likelihood for ``(B, M)`` frequencies of reports.

    A primal-dual Newton method on all rows at once. Returns also the gap of each row and the
    number of steps. Every report must be possible.

    With ``tilts`` d, ``(B, N)``, each of whose rows has both signs or a zero, the likelihood of a
    row is the largest among distributions p with d·p = 0, which holds to rounding; the gap is then
    log max_x (g_x − μ d_x) for the multiplier μ that was found.
    """
    used = kernel.any(axis=0)
    kernel, frequencies = kernel[:, used], frequencies[:, used]
    n, m = kernel.shape
    d = np.zeros((len(frequencies), n)) if tilts is None else tilts
    enough = GAP / 10 if tilts is None else _TILTED
    size = max(1, _MOST_NUMBERS // (n * max(n, m)))
    places = range(0, len(frequencies), size)
    parts = [_newton(kernel, frequencies[i : i + size], d[i : i + size], enough) for i in places]
    p, gap = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    steps = max(part[2] for part in parts)
    if tilts is not None:
        return p, gap, steps
    # Dust is set to zero where that costs nothing.
    cleaned = np.where(p < 1e-9, 0.0, p)
    cleaned /= cleaned.sum(axis=1, keepdims=True)
    cleaned_gap = gaps(kernel, frequencies, cleaned)
    good = cleaned_gap <= np.maximum(gap, GAP / 2)
    p, gap = np.where(good[:, None], cleaned, p), np.where(good, cleaned_gap, gap)
    for row in np.flatnonzero(gap > GAP):
        start = np.maximum(p[row], 1e-12)
        p[row], gap[row], more = expectation_maximisation([kernel], frequencies[row], start)
        steps = max(steps, more)
    return p, gap, steps


def gradient(kernel: Vector, frequencies: Vector, p: Vector) -> Vector:
    """g_x = Σ_y f_y K[x,y] / (pᵀK)_y, an array like ``p``."""
    q = np.maximum(p @ kernel, _TINY)
    return np.asarray((frequencies / q) @ kernel.T)


def gaps(kernel: Vector, frequencies: Vector, p: Vector) -> Vector:
    """Log max_x g_x for each row: how far its likelihood per report can be from the maximum."""
    return np.log(np.maximum(gradient(kernel, frequencies, p).max(axis=-1), 1.0))


def _newton(kernel: Vector, f: Vector, d: Vector, enough: float) -> tuple[Vector, Vector, int]:
    """Minimise Σ p_x − L(p) over p ≥ 0 with d·p = 0, whose minimum sums to one: p ∘ s = σ, σ → 0,
    with s = 1 − g − μ d.

    Rows that have come to their maximum are left as they are.
    """
    n, squares = len(kernel), _squares(kernel)
    p, mu = np.full((len(f), n), 1 / n), np.zeros((len(f), 1))
    s = np.maximum(1 - gradient(kernel, f, p), 0.1)

    def gap_of(whole: Vector, rows: NDArray[np.intp]) -> Vector:
        slack = gradient(kernel, f[rows], whole) + mu[rows] * d[rows]
        gap = np.log(np.maximum(slack.max(axis=1), 1.0))
        return np.maximum(gap, np.abs((d[rows] * whole).sum(axis=1)))

    best, best_gap = p.copy(), gap_of(p, np.arange(len(f)))
    active, steps = np.flatnonzero(best_gap > enough), 0
    while steps < _ITERATIONS and active.size:
        steps += 1
        at, dual, tilt = p[active], s[active], d[active]
        q = np.maximum(at @ kernel, _TINY)
        odds = f[active] / q
        # In units of √p the system is the identity where the likelihood is flat.
        root = np.sqrt(at)
        system = squares(odds / q)
        system *= root[:, :, None]
        system *= root[:, None]
        diagonal = np.einsum("bii->bi", system)
        diagonal += dual + _RIDGE * (1 + diagonal)
        centre = 0.1 * (at * dual).mean(axis=1, keepdims=True) / at
        rest = centre - 1 + odds @ kernel.T + mu[active] * tilt
        sides = root[:, :, None] * np.stack([rest, tilt], axis=2)
        move, turned = np.moveaxis(np.linalg.solve(system, sides) * root[:, :, None], 2, 0)
        off, along = (tilt * (at + move)).sum(axis=1), (tilt * turned).sum(axis=1)
        turn = (-off / np.maximum(along, _TINY))[:, None]
        move = move + turn * turned
        other = centre - dual - dual / at * move
        length = np.minimum(_to_edge(at, move), _to_edge(dual, other))[:, None]
        p[active], s[active] = at + length * move, dual + length * other
        mu[active] += length * turn
        whole = p[active] / p[active].sum(axis=1, keepdims=True)
        gap = gap_of(whole, active)
        better = gap < best_gap[active]
        best[active[better]], best_gap[active[better]] = whole[better], gap[better]
        active = active[best_gap[active] > enough]
    return best, best_gap, steps


def _squares(kernel: Vector) -> Callable[[Vector], Vector]:
    """Σ_y w_y K[x,y] K[x',y] for each row of weights ``(B, M)``, as ``(B, N, N)``."""
    n, m = kernel.shape
    if n * n * m > _MOST_NUMBERS:
        return lambda weights: np.stack([(k := kernel * np.sqrt(row)) @ k.T for row in weights])
    pairs = (kernel[:, None] * kernel).reshape(n * n, m).T
    return lambda weights: np.reshape(weights @ pairs, (-1, n, n))


def _to_edge(x: Vector, move: Vector) -> Vector:
    """Largest step up to one that keeps ``x`` positive, stopped a little short of the edge."""
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(move < 0, -x / move, np.inf)
    return np.minimum(1.0, 0.99 * room.min(axis=1))


def maximise_table(kernels: Sequence[Vector], table: Vector) -> tuple[Vector, Convergence]:
    """The joint distribution of largest likelihood for a table of frequencies of reports, an axis
    for each column, that were drawn independently of each other.

    Newton's method on all combinations where they are few, else EM, which never forms the kernel
    of all columns together.
    """
    shape = tuple(len(kernel) for kernel in kernels)
    if math.prod(shape) <= _MOST_NEWTON:
        whole = np.ones((1, 1))
        for kernel in kernels:
            whole = np.asarray(np.kron(whole, kernel), dtype=float)
        found, gap, steps = maximise(whole, table.reshape(1, -1))
        return found[0].reshape(shape), Convergence(steps, float(gap[0]))
    uniform = np.full(shape, 1 / math.prod(shape))
    p, least, steps = expectation_maximisation(kernels, table, uniform)
    return p, Convergence(steps, least)


def expectation_maximisation(
    kernels: Sequence[Vector], table: Vector, p: Vector
) -> tuple[Vector, float, int]:
    """Multiply p by g, with squared extrapolation, until the gap is small."""

    def expected(p: Vector, matrices: Sequence[Vector]) -> Vector:
        for matrix in matrices:  # the first axis becomes the last one
            p = np.tensordot(p, matrix, (0, 0))
        return p

    def slope(p: Vector) -> Vector:
        q = np.maximum(expected(p, kernels), _TINY)
        return expected(table / q, [kernel.T for kernel in kernels])

    def value(p: Vector) -> float:
        return float((table[seen] * np.log(expected(p, kernels)[seen])).sum())

    seen, p = table > 0, p / p.sum()
    g, steps = slope(p), 0
    while g.max() > 1 + GAP / 2 and steps < _EM_ITERATIONS:
        steps += 1
        first = p * g
        second = first * slope(first)
        moved, turn = first - p, second - 2 * first + p
        length = max(float(np.linalg.norm(moved)) / max(float(np.linalg.norm(turn)), _TINY), 1)
        jump, second = p + 2 * length * moved + length**2 * turn, second / second.sum()
        jump = jump / jump.sum()
        p = jump if (jump > 0).all() and value(jump) >= value(second) else second
        g = slope(p)
    return p, float(np.log(max(g.max(), 1))), steps


def fit_of(kernel: Vector, f: Vector, p: Vector, n: int, gap: float = 0.0) -> float:
    """A p-value for the hypothesis that the kernel made reports with frequencies ``f``.

    With t = n·KL(f‖pᵀK) at the distribution of largest likelihood it is e^-t (et/(M−1))^(M−1),
    which bounds the probability of such a distance from the true distribution for every number
    of reports [Agrawal2020], so that few reports of many outcomes raise no false alarm. Neither do
    very many: the gap of ``p`` to the largest likelihood, and rounding, are taken off the distance.
    """
    seen = f > 0
    distance = float((f[seen] * np.log(f[seen] / (p @ kernel)[seen])).sum())
    distance -= gap + _ROUNDING * (1 + float(seen.sum()))
    return chance_of_distance(n * distance, int(kernel.any(axis=0).sum()))


def chance_of_distance(distance: float, outcomes: int) -> float:
    """A bound e^-t (et/(k−1))^(k−1) on the probability that reports of k outcomes are so many times
    their number away from their chances, n·KL = t [Agrawal2020].
    """
    freedom = outcomes - 1
    if freedom == 0 or distance <= freedom:
        return 1.0
    return math.exp(freedom * (1 + math.log(distance / freedom)) - distance)
