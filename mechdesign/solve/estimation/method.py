"""Optimal experiments: the mixture of extreme columns whose reports estimate best.

A kernel is an experiment, its columns are what can be observed. As k kᵀ/(πᵀk) is convex and
homogeneous in the column k, extreme columns of the privacy cone suffice ([YeBarg2018] for LDP).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import UntoldError
from ...privacy.constraint import Rounding
from ..column_generation.exact_columns import columns_of_rays, extreme_rays, listed_columns
from ..column_generation.master import mixed_kernel
from ..column_generation.vertices import near_sides, too_large
from ..method import Candidate, Duals, Method, handles_estimation
from ..program import EstimationProgram
from .master import UNTOLD, Weighted, optimal_masses

Vector = NDArray[np.float64]

# Columns of less mass than this share of the least that matters are left out of the kernel.
_NEGLIGIBLE = 1e-9
# What leaving them out may cost of the value.
_COST = 1e-9


class OptimalExperiment(Method):
    """Risks of estimates, any cone of few symbols."""

    name = "optimal-experiment"
    handles = handles_estimation()
    reason = (
        "extreme columns are mixed for the least error of estimates, as in the optimal design of "
        "an experiment"
    )
    source = "Pukelsheim2006"

    def condition(self, program: EstimationProgram) -> str | None:
        """Applies up to a stated number of symbols."""
        return too_large(program, program.sides)

    def solve(self, program: EstimationProgram) -> Candidate:
        """One interior point over all extreme columns."""
        n = len(program.prior)
        if program.survey.asks_nothing:
            zero = Duals(np.zeros(n), inverse=np.zeros((n, n)))
            return Candidate(program.constant_kernel, zero, "closed form")
        columns = Columns.listed(program)
        survey, prior = program.survey, program.prior.probabilities
        found = optimal_masses(
            columns.deviations, columns.shares, prior, survey.masses, survey.losses
        )
        details = {"columns": str(len(columns.shares)), "steps": str(found.steps)}
        return Candidate(
            kernel_of(program, columns, found),
            Duals(found.prices, inverse=found.inverse),
            "interior point over all columns",
            details,
        )


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns r = 1 + d of mass one under the prior.

    Attributes
    ----------
    deviations : ``(m, n)``, d
    shares : ``(m,)``, πᵀr, to full relative accuracy where d is nearly minus one
    """

    deviations: Vector
    shares: Vector

    @classmethod
    def listed(cls, program: EstimationProgram) -> Columns:
        """Every extreme column, inside the bounds."""
        prior, n = program.prior, len(program.prior)
        sides = near_sides(program.cone)
        found = None if sides is None else listed_columns(prior, sides)
        if found is None:
            rays = extreme_rays(program.cone.inequalities(Rounding.INSIDE), n)
            found = columns_of_rays(prior, rays)
        exact = list(dict.fromkeys(found))
        if not exact:
            raise UntoldError(UNTOLD)
        lifts = np.array([[float(1 + d) for d in column] for column in exact])
        return cls(np.array(exact, dtype=float), lifts @ program.survey.masses)

    def __getitem__(self, places: NDArray[np.bool_]) -> Columns:
        return Columns(self.deviations[places], self.shares[places])


def kernel_of(program: EstimationProgram, columns: Columns, found: Weighted) -> Vector:
    """The kernel of the columns that matter, ``(n, M)``; of all where leaving some out costs."""
    kernel = None
    for least in (_NEGLIGIBLE, 0.0):
        used = found.masses > least * float(found.masses.max())
        deviations = columns[used].deviations
        shares = balanced(deviations, found.masses[used])
        kernel = mixed_kernel(deviations, shares)
        if -program.value(np.maximum(kernel, 0.0)) <= found.risk * (1 + _COST):
            break
    assert kernel is not None
    return kernel


def balanced(deviations: Vector, masses: Vector) -> Vector:
    """Masses corrected so that Σ q = 1 and Σ q d = 0 hold to the last digits."""
    rows = np.vstack([np.ones(len(masses)), deviations.T])
    rows /= np.abs(rows).max(axis=1, initial=1e-300)[:, None]
    target = np.zeros(len(rows))
    target[0] = 1.0
    for _ in range(3):
        missing = target - rows @ masses
        step, *_ = np.linalg.lstsq(rows * masses, missing, rcond=None)
        masses = masses * np.maximum(1 + step, 0.0)
    return np.asarray(masses)
