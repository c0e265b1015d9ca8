"""Notions that compare the likelihoods of two symbols, whatever the prior."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..labels import Label
from ..prior import Prior
from .constraint import Bound, Hypotheses
from .notion import LikelihoodBound, factor
from .relations import (
    checked_distances,
    checked_relation,
    deciding_pairs,
    distance_matrix,
    neighbour_pairs,
)


@dataclass(frozen=True)
class LDP(LikelihoodBound):
    """ε-local differential privacy: P(y|x) ≤ e^ε P(y|x') for every y and every pair of symbols.

    It does not depend on the prior, so symbols of zero mass count as well. Source: [Duchi2013];
    [GrosseID] Definition 4.
    """

    epsilon: float
    references: ClassVar[tuple[str, ...]] = ("Duchi2013", "Kairouz2016", "GrosseID")

    @property
    def in_words(self) -> str:
        """What it promises about an adversary."""
        return (
            "No report changes the odds between any two values by more than "
            f"{factor(self.epsilon)}, whatever an adversary believed beforehand and whatever the "
            "prior is."
        )

    def bounds(self, prior: Prior) -> list[Bound]:
        """(δ_x, δ_x') for every ordered pair."""
        points = Hypotheses.points(prior)
        return [Bound(points, points, self.epsilon)]

    def leakage(self, kernel: NDArray[np.float64], prior: Prior) -> NDArray[np.float64]:
        """Log max_x P(y|x) − log min_x P(y|x), an ``(M,)`` array in nats."""
        top, low = kernel.max(axis=0), kernel.min(axis=0)
        with np.errstate(divide="ignore"):
            return np.log(np.where(top > 0, top, 1.0)) - np.log(np.where(top > 0, low, 1.0))


@dataclass(frozen=True)
class FreeLunch(LDP):
    """ε-free-lunch privacy: P(y|x) ≤ e^ε P(y|x') for every two databases, however different.

    With the database as the secret it asks what :class:`LDP` asks ([KiferMachanavajjhala2011]).
    """

    references: ClassVar = ("KiferMachanavajjhala2011",)
    by_default: ClassVar[bool] = False


@dataclass(frozen=True)
class DP(LikelihoodBound):
    """ε-differential privacy: P(y|x) ≤ e^ε P(y|x') for every y and all neighbours x, x'.

    Parameters
    ----------
    epsilon : float
        Level in nats.
    neighbours : {"adjacent", "hamming", "all"}, or pairs of labels
        ``"adjacent"``: numbers that follow one another (counts, histograms of one value);
        ``"hamming"``: tuples that differ in one entry (databases of individuals); ``"all"``: every
        pair. Pairs are taken both ways. Symbols without neighbours are not protected.

    Notes
    -----
    It does not depend on the prior: symbols of zero mass are designed for like all others.
    :mod:`mechdesign.privacy.databases` reduces databases to their counts.

    Sources: [Dwork2006]; [GhoshRoughgardenSundararajan2012] for count queries.

    Examples
    --------
    >>> import mechdesign as md
    >>> counts = md.Prior.uniform(range(11))
    >>> found = md.design(counts, md.utility.Distance("absolute"), md.DP(1, "adjacent"))
    >>> round(-found.value, 9)
    0.728544476
    """

    epsilon: float
    neighbours: Any
    needs: ClassVar = ("neighbours",)
    written: ClassVar = (str,)
    references: ClassVar = ("Dwork2006", "GhoshRoughgardenSundararajan2012")

    @property
    def in_words(self) -> str:
        """What it promises about an adversary."""
        return (
            "No report changes the odds between two neighbouring inputs by more than "
            f"{factor(self.epsilon)}, whatever an adversary knew beforehand. Inputs that are no "
            "neighbours are only protected as far as a chain of neighbours links them, at the sum "
            "of the levels."
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "neighbours", checked_relation(self.neighbours))

    @classmethod
    def between(
        cls, epsilon: float, relation: Callable[[Any, Any], bool], labels: Iterable[Label]
    ) -> Self:
        """Neighbours by a function of two labels, tabulated over the given labels."""
        known = list(labels)
        return cls(
            epsilon,
            [(a, b) for i, a in enumerate(known) for b in known[:i] if relation(a, b)],
        )

    @property
    def covers_zero_mass(self) -> bool:
        """Neighbours of zero mass tie others together, except where all are neighbours."""
        return self.neighbours != "all"

    def bounds(self, prior: Prior) -> list[Bound]:
        """(δ_x, δ_x') for neighbours, both ways."""
        if self.neighbours == "all":
            return LDP(self.epsilon).bounds(prior)
        pairs = neighbour_pairs(self.neighbours, prior.labels)
        return [matched_points(prior, pairs, self.epsilon)]

    def leakage(self, kernel: NDArray[np.float64], prior: Prior) -> NDArray[np.float64]:
        """Max |log P(y|x) − log P(y|x')| over neighbours, an ``(M,)`` array in nats."""
        near = np.zeros((len(prior), len(prior)))
        for i, j in neighbour_pairs(self.neighbours, prior.labels):
            near[i, j] = near[j, i] = 1.0
        return _steepest(kernel, np.where(near > 0, near, np.inf))


@dataclass(frozen=True)
class MetricPrivacy(LikelihoodBound):
    """ε-metric privacy (d-privacy): P(y|x) ≤ e^{ε d(x,x')} P(y|x') for every y, x and x'.

    Parameters
    ----------
    epsilon : float
        Level in nats per unit of distance.
    distances : {"absolute", "hamming", "euclidean", "discrete"}, or an N×N matrix
        Names apply to labels that are numbers (``"absolute"``) or tuples. A matrix is in the order
        of the prior's labels; ``inf`` asks nothing of a pair. :meth:`graph` takes edges instead.

    Notes
    -----
    Only pairs with no third symbol exactly between them are compiled and checked; they imply the
    others (see ``deciding_pairs``), so a line needs its consecutive symbols and a graph its edges.
    The measurement goes over all pairs. Source: [Chatzikokolakis2013].

    Examples
    --------
    >>> import mechdesign as md
    >>> line = md.Prior.uniform(range(50))
    >>> found = md.design(line, md.utility.Distance("absolute"), md.MetricPrivacy(1, "absolute"))
    >>> str(found.certificate.checks[0].verdict), found.status
    ('yes', 'optimal')
    """

    epsilon: float
    distances: Any
    needs: ClassVar = ("distances",)
    written: ClassVar = (str,)
    references: ClassVar = ("Chatzikokolakis2013",)

    @property
    def in_words(self) -> str:
        """What it promises about an adversary."""
        return (
            "No report changes the odds between two inputs at distance 1 by more than "
            f"{factor(self.epsilon)}, at distance d by more than the d-th power of that, whatever "
            "an adversary believed beforehand. Near inputs are hidden among each other, far ones "
            "less so."
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "distances", checked_distances(self.distances))

    @classmethod
    def graph(cls, epsilon: float, edges: Iterable[tuple[Label, Label, float]]) -> Self:
        """Lengths of shortest paths along edges ``(label, label, length)``."""
        return cls(epsilon, ("graph", edges))

    @classmethod
    def between(
        cls, epsilon: float, distance: Callable[[Any, Any], float], labels: Iterable[Label]
    ) -> Self:
        """A distance by a function of two labels, tabulated in the order of the given labels."""
        known = list(labels)
        return cls(epsilon, [[distance(a, b) if a != b else 0.0 for b in known] for a in known])

    @property
    def covers_zero_mass(self) -> bool:
        """Symbols of zero mass have their distances as well."""
        return True

    def bounds(self, prior: Prior) -> list[Bound]:
        """(δ_x, δ_x') at ε·d(x,x') for the pairs that imply all others, both ways."""
        pairs = deciding_pairs(self.distances, prior.labels)
        lengths = [d for _, _, d in pairs]
        return [matched_points(prior, [(i, j) for i, j, _ in pairs], self.epsilon, lengths)]

    def leakage(self, kernel: NDArray[np.float64], prior: Prior) -> NDArray[np.float64]:
        """Max |log P(y|x) − log P(y|x')| / d(x,x') over all pairs, an ``(M,)`` array in nats."""
        return _steepest(kernel, distance_matrix(self.distances, prior.labels))


def matched_points(
    prior: Prior,
    pairs: list[tuple[int, int]],
    epsilon: float,
    lengths: list[Any] | None = None,
) -> Bound:
    """A matched bound over point masses, each pair both ways; a vacuous one when there is none."""
    over = [i for pair in pairs for i in pair]
    under = [i for a, b in pairs for i in (b, a)]
    scales = None if lengths is None else tuple(d for d in lengths for _ in range(2))
    if not pairs:
        over, under, scales = [0], [0], None
    return Bound(
        Hypotheses.points(prior, over),
        Hypotheses.points(prior, under),
        epsilon,
        pairing="matched",
        scales=scales,
    )


def _steepest(kernel: NDArray[np.float64], distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest |log k_x − log k_x'| per unit of distance over all pairs, ``(M,)``."""
    worst = np.zeros(kernel.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(kernel)
        for x in range(1, len(kernel)):
            apart = np.abs(logs[x] - logs[:x])
            apart[np.isnan(apart)] = 0.0  # both zero
            d = distances[x, :x, None]
            rate = np.where(apart == 0, 0.0, np.where(d == math.inf, 0.0, apart / d))
            worst = np.maximum(worst, rate.max(axis=0))
    return worst
