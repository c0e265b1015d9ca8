"""On a line: the geometric mechanism with its reports mapped to the best outputs.

The mechanism of [GhoshRoughgardenSundararajan2012], for steps of any length.

With α_i = 1/w_i for the factor w_i of consecutive symbols, E_xj the product of those between x and
j and g = E⁻¹1, the columns E_xj g_j are the geometric mechanism for steps of any length. It is
optimal, with each report mapped to its best output, where losses grow with the distance on the
line whatever the prior, which the multipliers found here prove or do not.

With prices λ such that the value of report j is μ_j, the sum over x of E_xj g_j λ_x, an output y
has multipliers if what r = λ − c_y leaves can be passed along the line until nothing is lacking: a
rest a at x counts a/w at the next symbol, and a lack −a counts w times as much there. What comes
from both ends meets where least is lacking, so that no lack, which may be rounding, is carried far.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .graph import Arcs, Array, Places


@dataclass(frozen=True, eq=False)
class Remapped:
    """A kernel with its proof.

    Attributes
    ----------
    columns : ``(n, m)`` the kernel
    prices : ``(n,)`` λ
    arcs, outputs, values : multipliers
    gap : Σ λ less the value; the bound holds up to rounding
    """

    columns: Array
    prices: Array
    arcs: Places
    outputs: Places
    values: Array
    gap: float


def remapped(c: Array, arcs: Arcs) -> Remapped | None:
    """The candidate for an objective ``(n, m)``; ``None`` where the arcs are no single line with
    the same factors both ways.
    """
    steps = _steps(arcs)
    if steps is None:
        return None
    # Lacks may grow beyond all floats; the gap then does, too.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _remapped(c, arcs, *steps)


def _remapped(c: Array, arcs: Arcs, order: Places, forward: Places, backward: Places) -> Remapped:
    n = len(order)
    alpha = 1 / arcs.factors[forward]
    c = c[order]
    inner = 1 / (1 + alpha)
    weights = np.concatenate([inner, [1.0]]) + np.concatenate([[1.0], inner]) - 1
    gains = _passed(c, alpha) + _passed(c[::-1], alpha[::-1])[::-1] - c
    best = gains.argmax(axis=1)
    # E⁻¹ has three diagonals.
    h = gains[np.arange(n), best]
    drop = alpha / (1 - alpha**2)
    prices = h.copy()
    prices[:-1] += drop * (alpha * h[:-1] - h[1:])
    prices[1:] += drop * (alpha * h[1:] - h[:-1])
    left = prices[:, None] - c
    right = left[::-1].copy()
    _carry(left, alpha)
    _carry(right, alpha[::-1])
    right = right[::-1]
    # What is left at x with the rests from both sides; its own was counted twice.
    whole = left + right - (prices[:, None] - c)
    meet = whole.argmax(axis=0)
    lacks = np.maximum(0.0, -whole[meet, np.arange(c.shape[1])])
    extra = np.zeros(n)
    np.maximum.at(extra, meet, lacks)
    prices = prices + extra
    kernel = _kernel(alpha, weights, best, c.shape[1])
    value = float((c * kernel).sum())
    place = np.arange(n - 1)[:, None]
    parts = []
    for rests, along, against, used in (
        (left[:-1], backward, forward, place < meet),
        (right[1:], forward, backward, place >= meet),
    ):
        for own, chosen in ((rests > 0, along), (rests < 0, against)):
            i, y = np.nonzero(own & used)
            z = np.abs(rests[i, y])
            parts.append((chosen[i], y, z * alpha[i] if chosen is along else z))
    places, outputs, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    back = np.argsort(order)
    gap = float(prices.sum()) - value
    return Remapped(kernel[back], prices[back], places, outputs, values, gap)


def _steps(arcs: Arcs) -> tuple[Places, Places, Places] | None:
    """The order along a line, and for each step the numbers of its arcs: k_i ≤ w k_i+1 and back."""
    order = _line_order(arcs)
    n = arcs.symbols
    if order is None or len(arcs) != 2 * (n - 1) or (arcs.over < 0).any():
        return None
    between = zip(arcs.over.tolist(), arcs.under.tolist(), strict=True)
    number = {ends: i for i, ends in enumerate(between)}
    ends = list(zip(order[:-1].tolist(), order[1:].tolist(), strict=True))
    if not all((a, b) in number and (b, a) in number for a, b in ends):
        return None
    forward = np.array([number[a, b] for a, b in ends], dtype=np.intp)
    backward = np.array([number[b, a] for a, b in ends], dtype=np.intp)
    same = np.array_equal(arcs.factors[forward], arcs.factors[backward])
    return (order, forward, backward) if same else None


def _line_order(arcs: Arcs) -> Places | None:
    """An order in which arcs join consecutive symbols alone; ``None`` where there is none."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if len(arcs.mixtures):
        return None
    paired = arcs.over >= 0
    n, u, v = arcs.symbols, arcs.over[paired], arcs.under[paired]
    pairs = np.unique(np.minimum(u, v) * n + np.maximum(u, v))
    ends = np.concatenate([pairs // n, pairs % n])
    if np.bincount(ends, minlength=1).max() > 2:
        return None
    graph = csr_array((np.ones(len(pairs)), (pairs // n, pairs % n)), shape=(n, n))
    if n - connected_components(graph, directed=False)[0] != len(pairs):
        return None  # there is a cycle
    beside: list[list[int]] = [[] for _ in range(n)]
    for a, b in zip((pairs // n).tolist(), (pairs % n).tolist(), strict=True):
        beside[a].append(b)
        beside[b].append(a)
    order: list[int] = []
    reached = [False] * n
    for start in range(n):
        at: int | None = start if len(beside[start]) < 2 and not reached[start] else None
        while at is not None:
            reached[at] = True
            order.append(at)
            at = next((b for b in beside[at] if not reached[b]), None)
    return np.array(order)


def _passed(c: Array, alpha: Array) -> Array:
    """Sums of all rows before, each times the product of the steps to it."""
    found = c.copy()
    for i in range(1, len(c)):
        found[i] += alpha[i - 1] * found[i - 1]
    return found


def _carry(rests: Array, alpha: Array) -> None:
    """Pass rests and lacks along, in place."""
    for i in range(1, len(rests)):
        before = rests[i - 1]
        rests[i] += np.where(before > 0, alpha[i - 1] * before, before / alpha[i - 1])


def _kernel(alpha: Array, weights: Array, best: Places, outputs: int) -> Array:
    """Columns of the geometric mechanism, added up by the outputs that they are mapped to."""
    n = len(weights)
    logs = np.concatenate([[0.0], np.cumsum(np.log(alpha))])
    geometric = np.exp(-np.abs(logs[:, None] - logs)) * weights
    kernel = np.zeros((n, outputs))
    for j, y in enumerate(best.tolist()):
        kernel[:, y] += geometric[:, j]
    return kernel
