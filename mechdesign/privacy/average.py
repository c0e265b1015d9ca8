"""Average and approximate notions: they limit a sum over outcomes, so a rare one may disclose all.

They are convex and keep under post-processing, but they are no bounds on likelihood ratios. There
is no (ε, δ)-PML here on purpose: neither definition by analogy with differential privacy keeps
under post-processing and bounds a probability of failure at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any, ClassVar, Self

import numpy as np

from ..errors import LevelError, quote
from ..labels import Label, tidy
from ..mechanism import Mechanism
from ..prior import Prior
from .constraint import Array, Hypotheses
from .notion import AverageNotion, DeltaNotion
from .prior_sets import checked_priors, masses_over
from .sums import (
    ColumnExtremes,
    HockeyStick,
    InformationLimit,
    SumConstraint,
)

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class MaximalLeakage(AverageNotion):
    """ε-maximal leakage: log Σ_y max_x P(y|x) ≤ ε, x over the symbols of positive mass.

    On average over outcomes, no adversary's chance of guessing any function of the secret grows by
    more than a factor e^ε. Source: [Issa2020].

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior([.5, .3, .2])
    >>> found = md.design(prior, md.utility.Hamming(), md.MaximalLeakage(math.log(1.5)))
    >>> round(found.value, 9)                                    # .5 + (1.5 − 1) · .3
    0.65
    """

    epsilon: float
    references: ClassVar = ("Issa2020",)
    adds_up: ClassVar = True
    below_ratio: ClassVar = True
    below_size: ClassVar = True

    covers_zero_mass = False

    promise = (
        "On average over reports, the chance of guessing any function of the secret is "
        "multiplied by at most {factor}, whatever the prior is on the same "
        "values. A single report may tell more."
    )

    def sums(self, prior: Prior) -> list[SumConstraint]:
        """One sum of column maxima."""
        return [ColumnExtremes(Hypotheses.points(prior, prior.support), self.epsilon)]

    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """Share of each outcome: its column maximum over the sum of them, times the level."""
        top = kernel[prior.support].max(axis=0)
        return top / top.sum() * max(0.0, math.log(math.fsum(top)))

    def measure(self, mechanism: Mechanism, prior: Prior) -> tuple[float, ...]:
        """Log Σ_y max_x K[x,y]."""
        top = mechanism.kernel[prior.support].max(axis=0)
        return (max(0.0, math.log(math.fsum(top))),)


@dataclass(frozen=True)
class MaximalCostLeakage(AverageNotion):
    """ε-maximal cost leakage: −log Σ_y min_x P(y|x) ≤ ε, x over the symbols of positive mass.

    On average over outcomes, no adversary's least expected cost falls by more than a factor e^ε.
    Source: [Issa2020].
    """

    epsilon: float
    references: ClassVar = ("Issa2020",)
    adds_up: ClassVar = True
    below_ratio: ClassVar = True

    covers_zero_mass = False

    promise = (
        "On average over reports, the least that an adversary must expect of any non-negative "
        "cost is divided by at most {factor}. A single report may tell more."
    )

    def sums(self, prior: Prior) -> list[SumConstraint]:
        """One sum of column minima."""
        points = Hypotheses.points(prior, prior.support)
        return [ColumnExtremes(points, self.epsilon, -1, name="column minima")]

    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """What each outcome lacks: its mean entry less its least one."""
        rows = kernel[prior.support]
        return rows.mean(axis=0) - rows.min(axis=0)

    def measure(self, mechanism: Mechanism, prior: Prior) -> tuple[float, ...]:
        """−Log Σ_y min_x K[x,y]."""
        common = math.fsum(mechanism.kernel[prior.support].min(axis=0))
        return (max(0.0, -math.log(common)) if common > 0 else math.inf,)


class _InformationNotion(AverageNotion, register=False):
    """What the notions by mutual information share."""

    below_ratio: ClassVar = True
    below_size: ClassVar = True

    @property
    def covers_zero_mass(self) -> bool:
        """No: only symbols of positive mass count."""
        return False

    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """Share of each outcome in the largest of the informations, ``(M,)`` in nats."""
        shares = [c.shares(kernel) for c in self.sums(prior) if isinstance(c, InformationLimit)]
        return np.maximum(max(shares, key=lambda s: float(s.sum())), 0.0)

    def measure(self, mechanism: Mechanism, prior: Prior) -> tuple[float, ...]:
        """The largest of the informations."""
        return (float(math.fsum(self.leakage(mechanism.kernel, prior))),)


@dataclass(frozen=True)
class MIPrivacy(_InformationNotion):
    """ε-mutual-information privacy: I(X;Y) ≤ ε nats ([WangYingZhang2016])."""

    epsilon: float
    references: ClassVar = ("WangYingZhang2016",)
    adds_up: ClassVar = True
    promise = (
        "On average a report tells at most {0.epsilon:g} nats "
        "({bits:.3g} bits) about the secret. A single report may tell "
        "much more."
    )

    def sums(self, prior: Prior) -> list[SumConstraint]:
        """One row per symbol, one group."""
        n = len(prior)
        rows = tuple(
            tuple(prior.mass(x) if i == x else Fraction(0) for i in range(n))
            for x in prior.support.tolist()
        )
        return [InformationLimit(rows, (0,) * len(rows), self.epsilon)]

    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """Share of each outcome in I(X;Y), ``(M,)`` in nats."""
        p, rows = prior.probabilities[prior.support, None], kernel[prior.support]
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = p * rows * (np.log(rows) - np.log((p * rows).sum(axis=0)))
        return np.maximum(np.where(rows > 0, terms, 0.0).sum(axis=0), 0.0)


@dataclass(frozen=True)
class MIPufferfish(_InformationNotion):
    """ε-mutual-information Pufferfish privacy: I(g(X); Y | w(X)) ≤ ε for all (g, w) and priors.

    Parameters
    ----------
    epsilon : float
        Level in nats.
    features : list of ``{label: (a, c)}``
        For each pair of a private and a public function the values of both;
        :meth:`of_functions` tabulates functions.
    priors : list of Prior, optional
        The set Θ; the prior of the design alone when left out.

    Notes
    -----
    Source: [NuradhaGoldfeld2023] Definition 3. Without public functions take a constant one: an
    empty set of them would ask nothing.

    Examples
    --------
    >>> import mechdesign as md
    >>> rows = [(a, b) for a in "fm" for b in (0, 1)]
    >>> prior = md.Prior([.4, .1, .3, .2], rows)
    >>> sex = md.MIPufferfish.of_functions(.01, rows, [(lambda row: row[0], None)])
    >>> found = md.design(prior, md.utility.Hamming(), sex)
    >>> str(found.certificate.checks[0].verdict), found.status
    ('yes', 'optimal')
    """

    epsilon: float
    features: Any
    priors: Any = None
    needs: ClassVar = ("features",)
    references: ClassVar = ("NuradhaGoldfeld2023", "CuffYu2016")
    promise = (
        "On average a report tells at most {0.epsilon:g} nats about each private feature, "
        "given the public one, under each of the priors. A single report may tell much more."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "features", _checked_features(self.features))
        object.__setattr__(self, "priors", checked_priors(self.priors))

    @classmethod
    def of_functions(
        cls,
        epsilon: float,
        labels: Iterable[Label],
        functions: Iterable[tuple[Function, Function | None]],
        priors: Iterable[Prior] | None = None,
    ) -> Self:
        """Pairs (g, w) of functions of a label, tabulated; ``None`` for w is the constant one."""
        known = list(labels)
        tables = [
            {label: (g(label), None if w is None else w(label)) for label in known}
            for g, w in functions
        ]
        return cls(epsilon, tables, None if priors is None else list(priors))

    @property
    def covers_zero_mass(self) -> bool:
        """Other priors than that of the design give mass to other symbols."""
        return self.priors is not None

    def sums(self, prior: Prior) -> list[SumConstraint]:
        """One for every pair of functions and every prior."""
        found: list[SumConstraint] = []
        for masses in masses_over(self.priors, prior):
            for number, table in enumerate(self.features):
                values = dict(table)
                rows: dict[Any, list[Fraction]] = {}
                for x, label in enumerate(prior.labels):
                    if masses[x]:
                        if label not in values:
                            raise LevelError(
                                "features of MIPufferfish",
                                expected="values for every symbol of positive mass, "
                                f"{quote(label)} too",
                                got=f"values for {[*values][:6]}",
                                remedy="use the labels of the prior",
                            )
                        rows.setdefault(values[label], [Fraction(0)] * len(prior))[x] += masses[x]
                publics = list(dict.fromkeys(c for _, c in rows))
                found.append(
                    InformationLimit(
                        tuple(map(tuple, rows.values())),
                        tuple(publics.index(c) for _, c in rows),
                        self.epsilon,
                        f"private function {number}",
                    )
                )
        return found


def _checked_features(features: Any) -> Any:
    tables = []
    try:
        for table in features:
            entries = table.items() if hasattr(table, "items") else table
            rows = []
            for label, (a, c) in entries:
                rows.append((tidy(label), (tidy(a), tidy(c))))
            hash(tuple(rows))
            tables.append(tuple(rows))
    except (TypeError, ValueError, OverflowError):
        tables = []
    if not tables or not all(tables):
        raise LevelError(
            "features of MIPufferfish",
            expected="a list of mappings from label to a private and a public value",
            got=quote(features),
            remedy="use MIPufferfish.of_functions(epsilon, labels, [(g, w), ...])",
        )
    return tuple(tables)


@dataclass(frozen=True)
class ApproximateLDP(DeltaNotion):
    """(ε, δ)-local differential privacy: P(Y∈A|x) ≤ e^ε P(Y∈A|x') + δ for all x, x' and sets A.

    The level of a kernel is the least ε at its δ. Symbols of zero mass count as well. Source:
    [Dwork2006Our].

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior.uniform(2)
    >>> found = md.design(prior, md.utility.Hamming(), md.ApproximateLDP(0, .3))
    >>> round(found.value, 9)                                              # (1 + δ)/2
    0.65
    """

    epsilon: float
    delta: float
    needs: ClassVar = ("delta",)
    written: ClassVar = (float,)
    references: ClassVar = ("Dwork2006Our",)
    below_ratio: ClassVar = True
    uses_prior: ClassVar = False

    covers_zero_mass = False

    promise = (
        "For every set of reports and any two values, the chance under the one is at most that "
        "under the other times {factor}, plus {0.delta:g}. What lies within "
        "the added chance may disclose the secret."
    )

    def sums(self, prior: Prior) -> list[SumConstraint]:
        """Every ordered pair of symbols."""
        n = len(prior)
        pairs = [(x, z) for x in range(n) for z in range(n) if x != z] or [(0, 0)]
        over = Hypotheses.points(prior, [x for x, _ in pairs])
        under = Hypotheses.points(prior, [z for _, z in pairs])
        return [HockeyStick(over, under, self.epsilon, self.delta)]

    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """Largest P(y|x) − e^ε P(y|x') of each outcome, at the asked ε (at 0 when infinite)."""
        factor = math.exp(self.epsilon) if self.epsilon < 700 else 1.0
        return np.maximum(kernel.max(axis=0) - factor * kernel.min(axis=0), 0.0)

    def _given(self, kernel: Array, prior: Prior) -> Iterable[tuple[Array, Array]]:
        """Every two rows."""
        return permutations(kernel, 2)
