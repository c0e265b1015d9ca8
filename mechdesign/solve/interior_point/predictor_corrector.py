"""What interior point methods share: Mehrotra's predictor-corrector iteration, and when it ends.

Each iteration solves one factorised Newton system twice [Mehrotra1992]: for the affine direction,
towards complementarity products of zero, whose step lengths give the centring parameter σ; and for
the corrected one, towards σμ less the second-order term of the first. Primal and dual variables
take steps of different lengths, both just short of the boundary [Wright1997].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...progress import approaching

Array = NDArray[np.float64]

_ITERATIONS = 200
#: Steps shorter than this lead nowhere.
SHORTEST = 1e-7


@dataclass(frozen=True)
class Options:
    """Heuristics of a method; ``python -m benchmarks ablation-interior-point`` measures them.

    Attributes
    ----------
    tolerance : complementarity and residuals at which to stop, in units of the utility range
    patience : iterations without a smaller error after which the method gives up
    step_share : share of the way to the boundary that a step takes
    regularisation : relative addition to the diagonals of the Newton systems
    """

    tolerance: float
    patience: int = 25
    step_share: float = 0.9995
    regularisation: float = 1e-13


class Iterate(Protocol):
    """A point that moves towards an optimum."""

    def error(self) -> float:
        """Complementarity and residuals, in units of the utility range."""

    def step(self) -> float:
        """Move once; the shorter of both step lengths. Raises ``LinAlgError``."""


def follow(iterate: Iterate, options: Options) -> tuple[int, bool]:
    """Step until the error is at most the tolerance; steps taken, and whether it came so far."""
    least, since = math.inf, 0
    for taken in range(_ITERATIONS):
        error = iterate.error()
        approaching(error, options.tolerance)
        if error <= options.tolerance:
            return taken, True
        least, since = (error, 0) if error < least else (least, since + 1)
        if since == options.patience:
            return taken, False
        try:
            moved = iterate.step()
        except np.linalg.LinAlgError:
            return taken, False
        if not moved >= SHORTEST:
            return taken + 1, iterate.error() <= options.tolerance
    return _ITERATIONS, iterate.error() <= options.tolerance


def centring_parameter(affine: float, gap: float) -> float:
    """σ from the gap that the affine direction would leave [Mehrotra1992]."""
    return max(affine / gap, 0.0) ** 3


def longest_step(change: float) -> float:
    """The step that leads to the boundary, by the least change relative to a variable."""
    return -1 / change if change < 0 else math.inf


def reach(*pairs: tuple[Array, Array]) -> float:
    """The longest step that keeps all values at or above zero, of values with their steps."""
    ends = [-values[step < 0] / step[step < 0] for values, step in pairs]
    return float(np.min(np.concatenate(ends), initial=math.inf))


def cholesky(system: Array, regularisation: float) -> Array:
    """Lower factor of a matrix whose diagonal is regularised, relative to itself.

    With many outputs of equal value the matrix is singular to working precision near the end; the
    next iterations make up for what is added [Wright1999]. Raises ``LinAlgError`` where even 10⁴
    times as much does not make it positive definite.
    """
    from scipy.linalg.lapack import dpotrf

    diagonal = system.diagonal().copy()
    for added in (regularisation, 1e2 * regularisation, 1e4 * regularisation):
        system.flat[:: len(system) + 1] = diagonal * (1 + added)
        factor, failed = dpotrf(system, lower=1, clean=0)
        if not failed:
            found: Array = factor
            return found
    raise np.linalg.LinAlgError("the Newton system is not positive definite")
