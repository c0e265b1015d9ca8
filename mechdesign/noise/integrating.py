"""Integrals over a bounded law with a density, however narrow what is integrated is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import PriorError

# Largest error of an integral, relative to it, and of one interval of it.
_ACCURACY = 1e-10
_AGREEMENT = 1e-14
#: Nodes of an interval, and intervals that a piece starts with.
NODES, PANELS = 12, 4
_HALVINGS = 60
# Intervals that may wait for another halving: a density that needs more is refused.
_MOST_PANELS = 20_000
# Next to a kink, pieces grow by this factor from one to the next.
_GRADING = 4.0
_SMALLEST = 1e-300


@dataclass(frozen=True)
class Piece:
    """A piece [a, b] of the domain of a density, in offsets from an origin, as the unit interval.

    Distances from the ends of the domain are kept apart from the offsets, so that a piece next to
    an end may be smaller than the digits of the end allow.

    Attributes
    ----------
    low, high : ends of the domain, as offsets from the origin
    density, ends : the density at offset s is density(origin + s) (s − low)^α (high − s)^β
    origin : a point of the domain
    a, b : ends of the piece, as offsets
    """

    low: float
    high: float
    density: Callable[[Any], Any]
    ends: tuple[float, float]
    origin: float
    a: float
    b: float

    def __call__(self, u: Any) -> tuple[Any, Any]:
        """The offset at a place of the unit interval, and the logarithm of density times dx/du.

        A factor (x − low)^α with α < 0 goes into the substitution x = low + (b − low) u^{1/(α+1)}.
        """
        a, b = self.a, self.b
        (rise, fall), width = self.ends, b - a
        log_scale = math.log(width)
        if a == self.low:
            if rise < 0:
                u, log_scale = u ** (1 / (rise + 1)), (rise + 1) * log_scale - math.log1p(rise)
            above = width * u
            offset = a + above
            below = self.high - offset
            rise = 0.0 if rise < 0 else rise
        elif b == self.high:
            if fall < 0:
                u, log_scale = u ** (1 / (fall + 1)), (fall + 1) * log_scale - math.log1p(fall)
            below = width * (u if fall < 0 else 1 - u)
            offset = b - below
            above = offset - self.low
            fall = 0.0 if fall < 0 else fall
        else:
            offset = a + width * u
            above = offset - self.low
            below = self.high - offset
        with np.errstate(divide="ignore"):
            log_weight = log_scale + np.log(self.density(self.origin + offset))
            log_weight = log_weight + rise * np.log(above) if rise else log_weight
            log_weight = log_weight + fall * np.log(below) if fall else log_weight
        return offset, log_weight


def pieces(
    low: float,
    high: float,
    density: Callable[[Any], Any],
    ends: tuple[float, float],
    origin: float,
    kinks: Iterable[float],
    width: float,
) -> list[Piece]:
    """Pieces of the domain [low, high], the smaller the nearer to a kink.

    ``width`` is how far from the kinks what is integrated changes.
    """
    below, above = low - origin, high - origin
    cuts = {below, above, below + (above - below) / 2}
    steps = []
    step = max(width, _SMALLEST)
    while step < above - below:
        steps.append(step)
        step *= _GRADING
    for kink in kinks:
        at = min(max(kink - origin, below), above)
        cuts.update({at, *(at + s for s in steps), *(at - s for s in steps)})
    inside = sorted(c for c in cuts if below <= c <= above)
    return [Piece(below, above, density, ends, origin, a, b) for a, b in pairwise(inside)]


def integral(parts: list[Callable[[Any], Any]]) -> tuple[float, float]:
    """The sum of integrals over [0, 1], and an estimate of its error.

    Raises :class:`PriorError` where ten digits are out of reach.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total, error = _adaptive(parts)
    if not error <= _ACCURACY * abs(total):
        raise no_integral(f"an error of {error:.3g} beside {total:.6g}")
    return total, error


def no_integral(found: str) -> PriorError:
    """The error of a density that cannot be integrated."""
    return PriorError(
        "law of a secret",
        expected="a density that can be integrated to ten digits",
        got=found,
        remedy="use Law.sample of values drawn from it, or Law.finite on a grid",
    )


def _adaptive(pieces: list[Callable[[Any], Any]]) -> tuple[float, float]:
    """The sum of integrals over [0, 1], and an estimate of its error.

    Gauss-Legendre on intervals that are halved, all at once, until the halves agree with the whole
    or there are too many of them.
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    nodes, weights = (nodes + 1) / 2, weights / 2
    done, errors = [], []
    waiting = []
    panels = PANELS if len(pieces) <= PANELS else 1
    for piece in pieces:
        starts, width = np.arange(panels) / panels, 1 / panels
        values = width * (piece(starts[:, None] + width * nodes) @ weights)
        waiting.append((piece, starts, width, values))
    settled = 0.0
    for _ in range(_HALVINGS):
        refined = []
        for piece, starts, width, values in waiting:
            half = width / 2
            halves = np.stack([starts, starts + half])
            finer = half * (piece(halves[:, :, None] + half * nodes) @ weights)
            refined.append((piece, halves, half, finer, np.abs(finer.sum(axis=0) - values)))
        # What is large enough to matter is known better with each halving.
        size = settled + math.fsum(float(np.abs(finer).sum()) for _, _, _, finer, _ in refined)
        waiting = []
        for piece, halves, half, finer, off in refined:
            open_ = ~(off <= _AGREEMENT * size)
            done.extend(finer[:, ~open_].ravel().tolist())
            settled += float(np.abs(finer[:, ~open_]).sum())
            errors.extend(off[~open_].tolist())
            if open_.any():
                waiting.append((piece, halves[:, open_].ravel(), half, finer[:, open_].ravel()))
        if not waiting or sum(len(starts) for _, starts, _, _ in waiting) > _MOST_PANELS:
            break
    for _, _, _, values in waiting:
        done.extend(values.tolist())
        errors.extend(np.abs(values).tolist())
    return math.fsum(done), math.fsum(errors)
