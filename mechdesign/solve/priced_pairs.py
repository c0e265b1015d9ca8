"""Pairs of hypotheses of one bound at one kernel: how much slack they leave, and their prices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..labels import Label
from ..mechanism import Mechanism
from ..privacy.hypotheses import Bound
from ..privacy.notion import PrivacyNotion
from ..privacy.prior_sets import PriorSet
from .problem import Problem

Array = NDArray[np.float64]

#: Constraints with less slack than this, in nats, are tight.
TIGHT = 1e-6


@dataclass(frozen=True, slots=True)
class PricedConstraint:
    """One privacy constraint that holds the utility back.

    Attributes
    ----------
    notion, level : the notion that asks it, and the name of its level
    output : label of the outcome; ``None`` for a constraint on a sum over all outcomes
    over, under : names of the hypotheses μ and ν whose likelihoods are compared
    slack : ε minus the log ratio of the likelihoods, in nats; 0 where the constraint is met exactly
    price : by how much the optimum rises per unit added to the right-hand side, see :func:`binding`
    price_per_nat : by how much it rises per nat added to the level of this constraint alone
    """

    notion: PrivacyNotion
    level: str
    output: Label | None
    over: str
    under: str
    slack: float
    price: float
    price_per_nat: float

    @property
    def about(self) -> str:
        """The pair of hypotheses in words."""
        return f"{self.over} against {self.under}"

    @property
    def asked_by(self) -> str:
        """The notion, with the name of the level where it has several."""
        return name_level(self.notion, self.level)


def name_level(notion: PrivacyNotion, field: str) -> str:
    """A level of a notion in words."""
    return str(notion) if len(notion.level_fields) == 1 else f"{notion} {field}"


class PricedPairs:
    """One bound on one kernel: slacks of its pairs, and constraints from weights."""

    def __init__(
        self,
        mechanism: Mechanism,
        problem: Problem,
        notion: PrivacyNotion,
        bound: Bound,
    ) -> None:
        kernel = mechanism.kernel[problem.kept]
        self.outputs = mechanism.outputs
        self.notion, self.bound = notion, bound
        self.level = notion.level_fields[bound.parameter]
        self.over: Array = bound.over.matrix @ kernel
        if isinstance(bound.under, PriorSet):
            columns = mechanism.weights[problem.kept].astype(object).T
            unit = bound.under.total << mechanism.bits
            least = [bound.under.least([int(w) for w in column]) / unit for column in columns]
            self.under: Array = np.array([least])
        else:
            self.under = bound.under.matrix @ kernel
        scales = bound.scales
        self.scales = None if scales is None else np.array([float(s) for s in scales])

    def levels(self) -> Array:
        """The level of each matched pair, or the one level."""
        if self.scales is None:
            return np.array([self.bound.epsilon])
        return self.bound.epsilon * self.scales

    def tight(self, used: NDArray[np.intp]) -> int:
        """Number of pairs and outcomes within :data:`TIGHT` of their bound."""
        with np.errstate(divide="ignore"):
            over, under = np.log(self.over[:, used]), np.log(self.under[:, used])
        if self.bound.pairing == "matched":
            live = np.isfinite(over)
            reach = under + self.levels()[:, None] - TIGHT
            return int((np.where(live, over, -math.inf) >= np.where(live, reach, 0.0)).sum())
        level = self.bound.epsilon
        return sum(
            int((o.size - np.searchsorted(np.sort(o), u + level - TIGHT)).sum())
            for o, u in zip(over.T, np.where(np.isfinite(under), under, math.inf).T, strict=True)
        )

    def priced(self, y: int, a: Array, b: Array) -> Iterator[PricedConstraint]:
        """The pairs that weights at one outcome put a price on."""
        bound = self.bound
        if bound.pairing == "matched":
            pairs = [(i, i, float(a[i])) for i in np.flatnonzero(a).tolist()]
        elif len(self.under) == 1:
            pairs = [(i, 0, float(a[i])) for i in np.flatnonzero(a).tolist()]
        else:
            total = float(b.sum())
            pairs = _matched_up(a, b * (float(a.sum()) / total)) if total > 0 else []
        for i, j, price in pairs:
            over, under = float(self.over[i, y]), float(self.under[j, y])
            scale = 1.0 if self.scales is None else float(self.scales[i])
            if over > 0 and under > 0:
                slack = bound.epsilon * scale - math.log(over / under)
            else:
                slack = math.inf if under > 0 else 0.0
            yield PricedConstraint(
                self.notion,
                self.level,
                self.outputs[y],
                bound.over.names[i],
                bound.under.names[j],
                max(slack, 0.0),
                price,
                price * over * scale,
            )


def _matched_up(a: Array, b: Array) -> list[tuple[int, int, float]]:
    """A coupling of two weight vectors of equal sum with few pairs, the largest with the largest.

    >>> _matched_up(np.array([3., 1.]), np.array([2., 2.]))
    [(0, 0, 2.0), (0, 1, 1.0), (1, 1, 1.0)]
    """
    left, right = np.argsort(-a, kind="stable").tolist(), np.argsort(-b, kind="stable").tolist()
    have, need = [float(a[i]) for i in left], [float(b[j]) for j in right]
    found = []
    i = j = 0
    while i < len(left) and j < len(right) and have[i] > 0 and need[j] > 0:
        part = min(have[i], need[j])
        found.append((left[i], right[j], part))
        have[i] -= part
        need[j] -= part
        if have[i] <= need[j]:
            i += 1
        else:
            j += 1
    return found
