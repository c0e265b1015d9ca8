"""Kernels of a given number of outputs, moved until no small change tells more.

With few outputs the best columns need not be extreme ones, and the risk is not convex in the
kernel: its columns are moved by an interior point method from many starts. A step takes the
curvature of the risk where that, with the barrier, is that of a minimum, else that of a convex
function above the risk that touches it: as k kᵀ/(πᵀk) is convex in k, J lies above its tangent.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

# The last weight of the barrier for each bound, relative to the risk, and from one to the next.
_LAST, _NEXT = 1e-12, 0.15
# Steps for one weight; the decrease below which a weight is done, as a share of what it weighs.
_STEPS, _DONE = 40, 1e-2
# The share of the way to the nearest bound that a step may go, and the shortest step.
_NEARLY, _SHORTEST = 0.95, 1e-9
# The share of the decrease promised that a step must bring.
_ENOUGH = 1e-4


def descend(
    kernel: Vector,
    bounds: Vector,
    truth: Vector,
    loss: Vector,
    in_time: Callable[[], bool],
    first: float,
) -> Vector:
    """A kernel of as many outputs that no small change within bounds makes better, ``(n, M)``.

    Parameters
    ----------
    kernel : ``(n, M)`` inside of all bounds, with an information matrix of full rank
    bounds : ``(R, n)`` rows a with a·k ≥ 0 for every column k
    truth, loss : ``(n,)``, ``(n, n)``
    in_time : whether there is time for another step
    first : weight of the barrier for each bound at first, as a share of the risk
    """
    # Columns of sums zero over outputs, orthonormal.
    outputs = kernel.shape[1]
    free = np.linalg.qr(np.hstack([np.ones((outputs, 1)), np.eye(outputs)[:, 1:]]))[0][:, 1:]
    weight = first * risk_of(kernel, truth, loss)
    while weight > _LAST * abs(risk_of(kernel, truth, loss)):
        for _ in range(_STEPS):
            if not in_time():
                return kernel
            kernel, promised = _step(kernel, bounds, truth, loss, free, weight)
            if promised <= _DONE * weight:
                break
        weight *= _NEXT
    return kernel


def _step(
    kernel: Vector, bounds: Vector, truth: Vector, loss: Vector, free: Vector, weight: float
) -> tuple[Vector, float]:
    """A kernel with less risk and barrier, and the decrease that was promised."""
    n, outputs = kernel.shape
    room = bounds @ kernel  # (R, M)
    gradient, above, below = _derivatives(kernel, truth, loss)
    gradient = gradient - weight * (bounds.T @ (1 / room))
    for y in range(outputs):
        above[:, y, :, y] += (bounds.T * (weight / room[:, y] ** 2)) @ bounds
    slope = (gradient @ free).ravel()
    size = n * free.shape[1]
    direction = None
    for share in (1.0, 0.5, 0.0):
        curvature = above - share * below if share else above
        reduced = free.T @ (curvature @ free).reshape(n, outputs, -1)
        reduced = reduced.reshape(size, size)
        try:
            factor = np.linalg.cholesky(reduced)
        except np.linalg.LinAlgError:
            continue
        half = np.linalg.solve(factor, slope)
        direction = -np.linalg.solve(factor.T, half)
        break
    if direction is None:
        return kernel, 0.0
    move = direction.reshape(n, -1) @ free.T
    promised = float(-slope @ direction)
    approach = bounds @ move
    falling = approach < 0
    ends = room[falling] / -approach[falling]
    length = min(1.0, _NEARLY * float(ends.min(initial=np.inf)))
    before = risk_of(kernel, truth, loss) - weight * float(np.log(room).sum())
    while length > _SHORTEST:
        moved = kernel + length * move
        now = bounds @ moved
        if now.min() > 0:
            after = risk_of(moved, truth, loss) - weight * float(np.log(now).sum())
            if after <= before - _ENOUGH * length * promised:
                return moved, promised
        length /= 2
    return kernel, 0.0


def risk_of(kernel: Vector, truth: Vector, loss: Vector) -> float:
    """tr(A J⁻¹), J = Σ_y k_y k_yᵀ/(πᵀk_y); infinite where J is singular."""
    information = kernel / (truth @ kernel) @ kernel.T
    try:
        return float(np.trace(np.linalg.solve(information, loss)))
    except np.linalg.LinAlgError:
        return np.inf


def _derivatives(kernel: Vector, truth: Vector, loss: Vector) -> tuple[Vector, Vector, Vector]:
    """The gradient, ``(n, M)``, and two parts of the curvature, ``(n, M, n, M)``, of which the
    second is taken from the first; both are positive semi-definite.
    """
    n, outputs = kernel.shape
    shares = truth @ kernel
    lifts = kernel / shares
    inverse = np.linalg.inv(lifts @ kernel.T)
    inverse = (inverse + inverse.T) / 2
    paid = inverse @ loss @ inverse  # G = J⁻¹AJ⁻¹
    gained, told = paid @ lifts, inverse @ lifts
    own = lifts.T @ gained
    gradient = -2 * gained + np.outer(truth, np.diagonal(own))
    # J changes by Σ e_y r_yᵀ + r_y e_yᵀ where k_y changes by δ_y, e = δ − r (πᵀδ)/2.
    both = np.multiply.outer(gained, told).transpose(0, 3, 2, 1)
    form = np.multiply.outer(paid, lifts.T @ told).transpose(0, 2, 1, 3)
    form = form + np.multiply.outer(inverse, own).transpose(0, 2, 1, 3)
    form = 2 * (form + both + both.transpose(2, 3, 0, 1))
    form -= np.einsum("xayb,yb->xab", form, lifts / 2)[:, :, None, :] * truth[:, None]
    form -= np.einsum("xayb,xa->ayb", form, lifts / 2) * truth[:, None, None, None]
    spread = np.eye(n) - lifts.T[:, :, None] * truth  # δ − r (πᵀδ), for each output
    bent = spread.transpose(0, 2, 1) @ paid @ spread * (2 / shares)[:, None, None]
    below = np.zeros((n, outputs, n, outputs))
    for y in range(outputs):
        below[:, y, :, y] = bent[y]
    return gradient, form, below
