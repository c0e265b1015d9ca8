"""Maximum likelihood on the simplex, with a certificate of how near the maximum is.

Reports with frequencies f under the kernel K have the log-likelihood L(p) = Σ_y f_y log (pᵀK)_y per
report, which is concave in p. With the gradient g_x = Σ_y f_y K[x,y] / (pᵀK)_y, no distribution
has a likelihood above L(p) + log max_x g_x [Cover1984]: whatever found p, that number, the gap,
says how good it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..labels import counted

#: A gap below this per report counts as converged.
GAP = 1e-9
_ITERATIONS = 100
_EM_ITERATIONS = 20_000
_MOST_NUMBERS = 4_000_000
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


def maximise(
    kernel: NDArray[np.float64],
    frequencies: NDArray[np.float64],
    tilts: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
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
    size = max(1, _MOST_NUMBERS // (n * max(n, m)))
    parts = [
        _newton(
            kernel,
            frequencies[start : start + size],
            None if tilts is None else tilts[start : start + size],
        )
        for start in range(0, len(frequencies), size)
    ]
    return (
        np.concatenate([p for p, _, _ in parts]),
        np.concatenate([gap for _, gap, _ in parts]),
        max(steps for _, _, steps in parts),
    )


def gradient(
    kernel: NDArray[np.float64], frequencies: NDArray[np.float64], p: NDArray[np.float64]
) -> NDArray[np.float64]:
    """g_x = Σ_y f_y K[x,y] / (pᵀK)_y, an array like ``p``."""
    q = np.maximum(p @ kernel, _TINY)
    return (frequencies / q) @ kernel.T


def gaps(
    kernel: NDArray[np.float64], frequencies: NDArray[np.float64], p: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log max_x g_x for each row: how far its likelihood per report can be from the maximum."""
    return np.log(np.maximum(gradient(kernel, frequencies, p).max(axis=-1), 1.0))


def _newton(
    kernel: NDArray[np.float64], f: NDArray[np.float64], d: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Minimise Σ p_x − L(p) over p ≥ 0 with d·p = 0, whose minimum sums to one: p ∘ s = σ, σ → 0,
    with s = 1 − g − μ d.

    Rows that have come to their maximum are left as they are.
    """
    n = len(kernel)
    p = np.full((len(f), n), 1 / n)
    mu = np.zeros((len(f), 1))
    s = np.maximum(1 - gradient(kernel, f, p), 0.1)
    best, best_gap = p.copy(), np.full(len(f), np.inf)
    if d is None:
        best_gap = gaps(kernel, f, p)
    steps = 0
    enough = GAP / 10 if d is None else _TILTED
    active = np.flatnonzero(best_gap > enough)
    while steps < _ITERATIONS and active.size:
        steps += 1
        at, dual, some = p[active], s[active], f[active]
        q = np.maximum(at @ kernel, _TINY)
        slope = 1 - (some / q) @ kernel.T
        sigma = 0.1 * (at * dual).mean(axis=1, keepdims=True)
        # In units of √p the system is the identity where the likelihood is flat.
        root = np.sqrt(at)
        scaled = root[:, :, None] * (kernel * (np.sqrt(some) / q)[:, None, :])
        system = np.matmul(scaled, scaled.transpose(0, 2, 1))
        diagonal = np.einsum("bii->bi", system)
        diagonal += dual + _RIDGE * (1 + diagonal)
        tilt = None if d is None else d[active]
        rest = sigma / at - slope
        if tilt is None:
            move = np.linalg.solve(system, (root * rest)[:, :, None])[:, :, 0] * root
        else:
            rest = rest + mu[active] * tilt
            sides = root[:, :, None] * np.stack([rest, tilt], axis=2)
            found = np.linalg.solve(system, sides) * root[:, :, None]
            along = [(tilt * found[:, :, k]).sum(axis=1) for k in (0, 1)]
            turn = -((tilt * at).sum(axis=1) + along[0]) / np.maximum(along[1], _TINY)
            move = found[:, :, 0] + turn[:, None] * found[:, :, 1]
        other = sigma / at - dual - dual / at * move
        length = np.minimum(_to_edge(at, move), _to_edge(dual, other))[:, None]
        p[active], s[active] = at + length * move, dual + length * other
        whole = p[active] / p[active].sum(axis=1, keepdims=True)
        if tilt is None:
            gap = gaps(kernel, some, whole)
        else:
            mu[active] += length * turn[:, None]
            slack = gradient(kernel, some, whole) + mu[active] * tilt
            gap = np.log(np.maximum(slack.max(axis=1), 1.0))
            gap = np.maximum(gap, np.abs((tilt * whole).sum(axis=1)))
        better = gap < best_gap[active]
        best[active[better]], best_gap[active[better]] = whole[better], gap[better]
        active = active[best_gap[active] > enough]
    if d is not None:
        return best, best_gap, steps
    return _finished(kernel, f, best, best_gap, steps)


def _to_edge(x: NDArray[np.float64], move: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest step up to one that keeps ``x`` positive, stopped a little short of the edge."""
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(move < 0, -x / move, np.inf)
    return np.minimum(1.0, 0.99 * room.min(axis=1))


def _finished(
    kernel: NDArray[np.float64],
    f: NDArray[np.float64],
    p: NDArray[np.float64],
    gap: NDArray[np.float64],
    step: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Dust set to zero where that costs nothing; rows that Newton left open finished by EM."""
    cleaned = np.where(p < 1e-9, 0.0, p)
    cleaned /= cleaned.sum(axis=1, keepdims=True)
    new_gap = gaps(kernel, f, cleaned)
    good = new_gap <= np.maximum(gap, GAP / 2)
    p, gap = np.where(good[:, None], cleaned, p), np.where(good, new_gap, gap)
    for row in np.flatnonzero(gap > GAP):
        p[row], gap[row], more = expectation_maximisation(kernel, f[row], p[row])
        step = max(step, more)
    return p, gap, step


def expectation_maximisation(
    kernel: NDArray[np.float64], f: NDArray[np.float64], p: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float, int]:
    """Multiply p by g until the gap is small; each step raises the likelihood."""
    p = np.maximum(p, 1e-12)
    p /= p.sum()
    for step in range(_EM_ITERATIONS):
        g = gradient(kernel, f, p)
        if g.max() <= 1 + GAP / 2:
            return p, float(gaps(kernel, f, p)), step
        p = p * g / (p * g).sum()
    return p, float(gaps(kernel, f, p)), _EM_ITERATIONS


def maximise_pair(
    left: NDArray[np.float64], right: NDArray[np.float64], table: NDArray[np.float64]
) -> tuple[NDArray[np.float64], Convergence]:
    """The ``(N1, N2)`` joint distribution of largest likelihood for an ``(M1, M2)`` table.

    The two columns are reported independently. Newton on all pairs where they are few, else EM
    with squared extrapolation, which never forms the product kernel.
    """
    n = len(left), len(right)
    if n[0] * n[1] <= 600:
        p, gap, steps = maximise(np.asarray(np.kron(left, right), float), table.reshape(1, -1))
        return p[0].reshape(n), Convergence(steps, float(gap[0]))

    def ratio(p: NDArray[np.float64]) -> NDArray[np.float64]:
        q = np.maximum(left.T @ p @ right, _TINY)
        return left @ (table / q) @ right.T

    p = np.full(n, 1 / (n[0] * n[1]))
    steps, top = 0, float(ratio(p).max())
    while steps < _EM_ITERATIONS and top > 1 + GAP / 2:
        steps += 1
        first = p * ratio(p)
        second = first * ratio(first)
        r, v = first - p, second - 2 * first + p
        length = float(np.linalg.norm(r)) / max(float(np.linalg.norm(v)), _TINY)
        length = max(length, 1.0)
        p = _better(left, right, table, p + 2 * length * r + length**2 * v, second)
        top = float(ratio(p).max())
    return p, Convergence(steps, float(np.log(max(top, 1.0))))


def _better(
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    table: NDArray[np.float64],
    jump: NDArray[np.float64],
    safe: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The extrapolated point where it is a distribution with a higher likelihood."""
    if (jump <= 0).any():
        return safe / safe.sum()
    positive = table > 0
    value = [
        float((table[positive] * np.log((left.T @ (x / x.sum()) @ right)[positive])).sum())
        for x in (jump, safe)
    ]
    chosen = jump if value[0] >= value[1] else safe
    return chosen / chosen.sum()


def fit_of(
    kernel: NDArray[np.float64],
    f: NDArray[np.float64],
    p: NDArray[np.float64],
    n: int,
    gap: float = 0.0,
) -> float:
    """A p-value for the hypothesis that the kernel made reports with frequencies ``f``.

    With t = n·KL(f‖pᵀK) at the distribution of largest likelihood it is e^-t (et/(M−1))^(M−1),
    which bounds the probability of such a distance from the true distribution for every number
    of reports [Agrawal2020], so that few reports of many outcomes raise no false alarm. Neither do
    very many: the gap of ``p`` to the largest likelihood, and rounding, are taken off the distance.
    """
    positive = f > 0
    q = p @ kernel
    distance = float((f[positive] * np.log(f[positive] / q[positive])).sum())
    t = max(n * (distance - gap - _ROUNDING * (1 + float(positive.sum()))), 0.0)
    freedom = int(kernel.any(axis=0).sum()) - 1
    if freedom == 0 or t <= freedom:
        return 1.0
    return float(np.exp(freedom * (1 + np.log(t / freedom)) - t))
