"""Maximum likelihood on the simplex, with a certificate of how near the maximum is.

Reports with frequencies f under the kernel K have the log-likelihood L(p) = Σ_y f_y log (pᵀK)_y per
report, which is concave in p. With the gradient g_x = Σ_y f_y K[x,y] / (pᵀK)_y, no distribution
has a likelihood above L(p) + log max_x g_x [Cover1984]: whatever found p, that number, the gap,
says how good it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..labels import counted

Vector = NDArray[np.float64]

#: A gap below this per report counts as converged.
GAP = 1e-9
_ITERATIONS, _EM_STEPS = 100, 20_000
# Numbers in one batch of Newton's method.
_MOST_NUMBERS = 4_000_000
_TINY = 1e-150
# Shares below this are rounding, where none costs no likelihood.
_DUST = 1e-9
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
    convergence : how near that is to the maximum
    fit : p-value of the hypothesis that the kernel made the reports, rather too large
    """

    likely: Vector
    convergence: Convergence
    fit: float

    @classmethod
    def of(cls, kernel: Vector, counts: NDArray[Any]) -> Fitted:
        """From how often each report came, ``(M,)``."""
        n = int(counts.sum())
        (likely,), (gap,), steps = maximise(kernel, counts[None] / n)
        fit = fit_of(kernel, counts / n, likely, n, float(gap))
        return cls(likely, Convergence(steps, float(gap)), fit)


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
    d = np.zeros((len(frequencies), len(kernel))) if tilts is None else tilts
    size = max(1, _MOST_NUMBERS // (len(kernel) * max(kernel.shape)))
    parts = [
        _newton(kernel, frequencies[i : i + size], d[i : i + size], tilts is None)
        for i in range(0, len(frequencies), size)
    ]
    p, gap, steps = zip(*parts, strict=True)
    return np.concatenate(p), np.concatenate(gap), max(steps)


def gradient(kernel: Vector, frequencies: Vector, p: Vector) -> Vector:
    """g_x = Σ_y f_y K[x,y] / (pᵀK)_y, an array like ``p``."""
    q = np.maximum(p @ kernel, _TINY)
    return np.asarray((frequencies / q) @ kernel.T)


def gaps(kernel: Vector, frequencies: Vector, p: Vector, shift: Vector | float = 0.0) -> Vector:
    """Log max_x g_x for each row: how far its likelihood per report can be from the maximum."""
    slack = gradient(kernel, frequencies, p) + shift
    return np.log(np.maximum(slack.max(axis=-1), 1.0))


def _newton(kernel: Vector, f: Vector, d: Vector, is_free: bool) -> tuple[Vector, Vector, int]:
    """Minimise Σ p_x − L(p) over p ≥ 0 with d·p = 0, whose minimum sums to one: p ∘ s = σ, σ → 0,
    with s = 1 − g − μ d.

    Rows that have come to their maximum are left as they are.
    """
    n, squares, steps = len(kernel), _squares(kernel), 0
    p, mu, best_gap = np.full((len(f), n), 1 / n), np.zeros((len(f), 1)), np.full(len(f), np.inf)
    s, best = np.maximum(1 - gradient(kernel, f, p), 0.1), p.copy()
    enough = GAP / 10 if is_free else _TILTED
    active, whole = np.arange(len(f)), p
    while True:
        tilt = d[active]
        gap = gaps(kernel, f[active], whole, mu[active] * tilt)
        gap = np.maximum(gap, np.abs((tilt * whole).sum(axis=1)))
        better = gap < best_gap[active]
        best[active[better]], best_gap[active[better]] = whole[better], gap[better]
        active = active[best_gap[active] > enough]
        if steps == _ITERATIONS or not active.size:
            break
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
        with np.errstate(divide="ignore", invalid="ignore"):
            # As far as both stay positive, stopped a little short of the edge.
            room = [
                np.where(step < 0, -x / step, np.inf) for x, step in ((at, move), (dual, other))
            ]
        length = np.minimum(1, 0.99 * np.min(room, axis=(0, 2)))[:, None]
        p[active], s[active] = at + length * move, dual + length * other
        mu[active] += length * turn
        whole = p[active] / p[active].sum(axis=1, keepdims=True)
    if is_free:
        # Dust is set to zero where that costs nothing.
        clean = np.where(best < _DUST, 0.0, best)
        clean /= clean.sum(axis=1, keepdims=True)
        clean_gap = gaps(kernel, f, clean)
        good = clean_gap <= np.maximum(best_gap, GAP / 2)
        best[good], best_gap[good] = clean[good], clean_gap[good]
    return best, best_gap, steps


def _squares(kernel: Vector) -> Callable[[Vector], Vector]:
    """Σ_y w_y K[x,y] K[x',y] for each row of weights ``(B, M)``, as ``(B, N, N)``."""
    n, m = kernel.shape
    if n * n * m > _MOST_NUMBERS:
        return lambda weights: np.stack([(k := kernel * np.sqrt(row)) @ k.T for row in weights])
    pairs = (kernel[:, None] * kernel).reshape(n * n, m).T
    return lambda weights: np.reshape(weights @ pairs, (-1, n, n))


def maximise_table(left: Vector, right: Vector, table: Vector) -> tuple[Vector, Convergence]:
    """The ``(N1, N2)`` joint distribution of largest likelihood for an ``(M1, M2)`` table of
    reports of two columns, drawn independently of each other.

    EM, p ← p g, with squared extrapolation, which never forms the kernel of both columns.
    """

    def chances(p: Vector) -> Vector:
        return np.maximum(left.T @ p @ right, _TINY)

    def slope(p: Vector) -> Vector:
        return np.asarray(left @ (table / chances(p)) @ right.T)

    def value(p: Vector) -> float:
        return float((table * np.log(chances(p / p.sum()))).sum())

    p, steps = np.full((len(left), len(right)), 1 / (len(left) * len(right))), 0
    while (g := slope(p)).max() > 1 + GAP / 2 and steps < _EM_STEPS:
        steps += 1
        first = p * g
        second = first * slope(first)
        moved, turn = first - p, second - 2 * first + p
        length = max(float(np.linalg.norm(moved) / np.linalg.norm(turn)), 1.0)
        p = p + 2 * length * moved + length**2 * turn
        if (p <= 0).any() or value(p) < value(second):
            p = second
        p = p / p.sum()
    return p, Convergence(steps, math.log(max(g.max(), 1.0)))


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
    distance, freedom = n * distance, int(kernel.any(axis=0).sum()) - 1
    if freedom == 0 or distance <= freedom:
        return 1.0
    return math.exp(freedom * (1 + math.log(distance / freedom)) - distance)
