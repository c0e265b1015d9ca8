"""What the best guess about the secret costs, before and after a report: an adaptive adversary.

An adversary who knows prior and kernel sees an outcome and answers with the guess whose expected
cost is least. A designer who limits how far that cost falls plays the game of [Shokri2012]: its
linear program is the one that ``md.smallest`` bounds from both sides for :class:`InferenceCost`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ..errors import LevelError, quote
from ..exact import float_at_most, log_bounds
from ..mechanism import Mechanism
from ..numeric import finite_matrix, finite_number
from ..prior import Prior
from .constraint import Array, Hypotheses
from .notion import AverageNotion
from .sums import ColumnExtremes, SumConstraint


@dataclass(frozen=True)
class InferenceCost(AverageNotion):
    """ε-inference cost: no attack makes the expected cost of a guess fall by more than e^ε.

    With costs c(x,w) of the guess w when the secret is x: Σ_y min_w Σ_x p_x c(x,w) P(y|x) ≥ e^−ε ·
    min_w Σ_x p_x c(x,w). Where costs are distances, the left side is the expected error of the best
    inference attack, which [Shokri2012] calls location privacy.

    Parameters
    ----------
    epsilon : float
        Level in nats; 0 asks for kernels that help no guess.
    costs : (N, W) array of non-negative numbers
        In the order of the prior's labels, a column for each guess.

    Notes
    -----
    It is an average over outcomes under one prior: a rare report may disclose the secret, and
    adversaries with another prior are not covered ([Oya2017]). Ask for :class:`MetricPrivacy` or
    another notion beside it where that matters. :class:`MaximalCostLeakage` bounds it for all costs
    and priors.

    Examples
    --------
    >>> import mechdesign as md
    >>> line = md.Prior([.4, .3, .2, .1])
    >>> costs = abs(np.subtract.outer(np.arange(4), np.arange(4)))
    >>> notion = InferenceCost.at_least(0.6, costs, line)
    >>> found = md.design(line, md.utility.Distance(costs), notion)
    >>> round(inference_cost(found.mechanism, line, costs), 6)
    0.6
    """

    epsilon: float
    costs: Any
    needs: ClassVar = ("costs",)
    references: ClassVar = ("Shokri2012", "Oya2017")
    below_ratio: ClassVar = True

    def __post_init__(self) -> None:
        super().__post_init__()
        matrix = _checked_costs(self.costs)
        object.__setattr__(self, "costs", tuple(tuple(row) for row in matrix.tolist()))

    @classmethod
    def at_least(cls, cost: float, costs: ArrayLike, prior: Prior) -> Self:
        """The notion under which the best attack has an expected cost of at least ``cost``.

        Raises :class:`LevelError` for more than the best guess costs without a report.
        """
        before = _before(_checked_costs(costs), prior)
        asked = finite_number(cost, "cost of the best guess", 0.0, error=LevelError)
        if not 0 < Fraction(asked) <= before:
            raise LevelError(
                "cost of the best guess",
                expected=f"a positive number up to {float(before):.6g}, the cost without a report",
                got=quote(cost),
                remedy="ask for less; no mechanism makes adversaries know less than before",
            )
        level = float_at_most(log_bounds(before / Fraction(asked))[0])
        return cls(max(0.0, level), costs)

    promise = (
        "On average over reports, the expected cost of the best guess of an adversary who "
        "knows the prior is divided by at most {factor}. A single report may "
        "tell more, and so may all of them to an adversary with another prior."
    )

    def sums(self, prior: Prior) -> list[SumConstraint]:
        """One sum of least costs."""
        exact = _weighted(np.array(self.costs), prior)
        totals = [sum(column, Fraction(0)) for column in exact]
        before = min(totals)
        if not before:
            raise LevelError(
                "costs of guesses",
                expected="no guess that costs nothing under the prior",
                got="one",
                remedy="leave the guess out, or check the costs",
            )
        names = [f"guess {w}" for w in range(len(exact))]
        guesses = Hypotheses.mixtures(exact, names)
        scales = tuple(total / before for total in totals)
        return [ColumnExtremes(guesses, self.epsilon, -1, scales, "least costs")]

    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """By how much the cost of the best guess falls at each outcome, in nats; 0 if it rises."""
        weighted = np.array(self.costs) * prior.probabilities[:, None]
        before, after = weighted.sum(axis=0).min(), (weighted.T @ kernel).min(axis=0)
        shares = prior.probabilities @ kernel
        with np.errstate(divide="ignore", invalid="ignore"):
            fall = np.log(before * shares / after)
        return np.where(shares > 0, np.maximum(fall, 0.0), 0.0)

    def measure(self, mechanism: Mechanism, prior: Prior) -> tuple[float, ...]:
        """The logarithm of the least cost before over that after a report."""
        before = float((np.array(self.costs) * prior.probabilities[:, None]).sum(axis=0).min())
        after = inference_cost(mechanism, prior, self.costs)
        return (max(0.0, math.log(before / after)) if after > 0 else math.inf,)


def inference_cost(mechanism: Any, prior: Prior, costs: ArrayLike) -> float:
    """Expected cost of the best inference attack: Σ_y min_w Σ_x p_x c(x,w) P(y|x).

    The adversary knows prior and kernel, sees an outcome and chooses the guess w of least expected
    cost; of distances it is the expected error in their unit ([Shokri2012]).

    Parameters
    ----------
    mechanism : Mechanism, Design or (N, M) array
    prior : Prior
    costs : (N, W) array of non-negative numbers
        In the order of the prior's labels, a column for each guess.

    Raises
    ------
    LevelError
        For costs that are negative, not finite or of another number of symbols.
    KernelError
        For a kernel over other symbols.

    Examples
    --------
    >>> flip = Mechanism([[.75, .25], [.25, .75]])
    >>> inference_cost(flip, Prior([.5, .5]), [[0, 1], [1, 0]])
    0.25
    """
    found = getattr(mechanism, "mechanism", mechanism)
    if not isinstance(found, Mechanism):
        found = Mechanism(found, prior.labels)
    weighted = _fitting(_checked_costs(costs), prior)
    joint = weighted.T @ found.joint(prior)
    return math.fsum(joint.min(axis=0).tolist())


def _checked_costs(costs: Any) -> Array:
    subject, remedy = "costs of guesses", "give a row for each symbol and a column for each guess"
    matrix = finite_matrix(costs, subject, error=LevelError, remedy=remedy)
    if (matrix < 0).any():
        x, w = np.argwhere(matrix < 0)[0].tolist()
        raise LevelError(
            subject,
            expected="non-negative numbers",
            got=f"{matrix[x, w]} in row {x}, column {w}",
            remedy="add a constant to all of them",
        )
    return matrix


def _fitting(costs: Array, prior: Prior) -> Array:
    if len(costs) != len(prior):
        raise LevelError(
            "costs of guesses",
            expected=f"{len(prior)} rows, one for each symbol of the prior",
            got=str(len(costs)),
            remedy="give them in the order of the prior's labels",
        )
    return costs


def _weighted(costs: Array, prior: Prior) -> list[list[Fraction]]:
    """p_x c(x,w) for every guess, exact."""
    masses = [prior.mass(x) for x in range(len(prior))]
    return [
        [mass * Fraction(cost) for mass, cost in zip(masses, column, strict=True)]
        for column in _fitting(costs, prior).T.tolist()
    ]


def _before(costs: Array, prior: Prior) -> Fraction:
    return min(sum(column, Fraction(0)) for column in _weighted(costs, prior))
