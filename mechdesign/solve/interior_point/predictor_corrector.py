"""What interior point methods share: Mehrotra's predictor-corrector iteration, and when it ends.

Each iteration solves one factorised Newton system twice [Mehrotra1992]: for the affine direction,
towards complementarity products of zero, whose step lengths give the centring parameter σ; and for
the corrected one, towards σμ less the second-order term of the first. Primal and dual variables
take steps of different lengths, both just short of the boundary [Wright1997].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...progress import approaching

Array = NDArray[np.float64]

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


@dataclass(frozen=True)
class Stopping:
    """When iterations end.

    Attributes
    ----------
    tolerance : error at which they have converged
    patience : iterations without progress after which they give up …
    enough : … where the least error is at most this
    progress : share of the least error that an error must be below to be progress
    iterations : at most
    is_heard : whether those who wait are told of the errors
    """

    tolerance: float
    patience: int
    enough: float = math.inf
    progress: float = 1.0
    iterations: int = 200
    is_heard: bool = True


class Iterate:
    """A point that moves towards an optimum, by what a method eliminates.

    Attributes
    ----------
    stalled : iterations without progress so far
    """

    stalled = 0

    def error(self) -> float:
        """Complementarity and residuals, in units of the utility range."""
        raise NotImplementedError

    def step(self) -> float:
        """Move once; the shorter of both step lengths, zero to end. Raises ``LinAlgError``."""
        raise NotImplementedError


def follow(iterate: Iterate, stopping: Stopping) -> tuple[int, bool]:
    """Step until the error is at most the tolerance; steps taken, and whether it came so far."""
    least, taken = math.inf, 0
    while True:
        error = iterate.error()
        if stopping.is_heard:
            approaching(error, stopping.tolerance)
        converged = error <= stopping.tolerance
        if error < stopping.progress * least:
            least, iterate.stalled = error, 0
        else:
            iterate.stalled += 1
        gives_up = iterate.stalled >= stopping.patience and least <= stopping.enough
        if converged or gives_up or taken == stopping.iterations:
            return taken, converged
        try:
            moved = iterate.step()
        except np.linalg.LinAlgError:
            return taken, False
        taken += 1
        if not moved >= SHORTEST:
            return taken, iterate.error() <= stopping.tolerance


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
