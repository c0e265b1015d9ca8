"""Pufferfish privacy: secrets, pairs of them that must look alike, and the priors that may hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np

from ..errors import LevelError, is_iterable, quote
from ..exact import fraction
from ..labels import Label, tidy
from ..prior import Prior
from .constraint import Array, Bound, Hypotheses
from .differential import places_of
from .features import checked_feature
from .notion import DeltaNotion, LikelihoodBound
from .prior_sets import checked_priors, masses_over
from .sums import HockeyStick, SumConstraint

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Pufferfish(LikelihoodBound):
    """(ε, 0)-Pufferfish privacy: P(y|s, θ) ≤ e^ε P(y|s', θ) for pairs (s, s') and priors θ.

    Parameters
    ----------
    epsilon : float
        Level in nats.
    secrets : mapping from name to a collection of labels, or to a mapping of labels to chances
        Each secret is an event: the database is one of these symbols; or, with chances, something
        that holds with probability P(s|x) when the database is x.
    pairs : list of pairs of names, optional
        Which secrets must not be told apart, both ways; every two of them when left out.
    priors : list of Prior, optional
        The set Θ; the prior of the design alone when left out. A secret without mass under θ is
        left out for that θ. Guarantees for a finite Θ hold for each θ in it (not for mixtures of
        them, which may correlate the secret with which θ holds).

    Notes
    -----
    The pairs of hypotheses are (P_θ(X|s), P_θ(X|s')). :meth:`specialised` builds the framework of
    functions with public information of [NuradhaGoldfeld2023] Definition 2, and with no public
    functions attribute privacy ([Zhang2020]). Source: [KiferMachanavajjhala2014].

    Examples
    --------
    >>> import mechdesign as md
    >>> flu = md.Prior([.1, .15, .5, .15, .1])              # how many of a household of four
    >>> half = md.Pufferfish(.5, {"few": [0, 1], "many": [3, 4]})
    >>> found = md.design(flu, md.utility.Distance("absolute"), half)
    >>> str(found.certificate.checks[0].verdict)
    'yes'
    """

    epsilon: float
    secrets: Any
    pairs: Any = None
    priors: Any = None
    needs: ClassVar = ("secrets",)
    references: ClassVar = ("KiferMachanavajjhala2014", "NuradhaGoldfeld2023", "Zhang2020")
    promise = (
        "No report changes the odds between two secrets of a pair by more than "
        "{factor}, for an adversary who believes any of the priors named. What "
        "is no secret of a pair is not protected."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        secrets = _checked_secrets(self.secrets)
        names = [name for name, _ in secrets]
        object.__setattr__(self, "secrets", secrets)
        object.__setattr__(self, "pairs", _checked_pairs(self.pairs, names))
        object.__setattr__(self, "priors", checked_priors(self.priors))

    @classmethod
    def specialised(
        cls,
        epsilon: float,
        labels: Iterable[Label],
        functions: Iterable[tuple[Function, Function | None]],
        priors: Iterable[Prior] | None = None,
    ) -> Self:
        """Secrets {g(X) = a, w(X) = c}, pairs that share w and c and differ in a.

        Parameters
        ----------
        labels : the symbols to tabulate over
        functions : pairs (g, w) of functions of a label: g is private, w public
            ``None`` for w is the constant function; attribute privacy is a list of
            ``(attribute, None)``.
        """
        known = list(labels)
        secrets: dict[str, list[Label]] = {}
        pairs: list[tuple[str, str]] = []
        for number, (private, public) in enumerate(functions):
            groups: dict[Any, dict[str, list[Label]]] = {}
            for label in known:
                c = None if public is None else public(label)
                name = f"g{number}={private(label)!r}"
                name += "" if public is None else f", w{number}={c!r}"
                groups.setdefault(c, {}).setdefault(name, []).append(label)
            for group in groups.values():
                secrets.update(group)
                pairs.extend(combinations(group, 2))
        return cls(epsilon, secrets, pairs, None if priors is None else list(priors))

    @classmethod
    def of_feature(
        cls, epsilon: float, feature: Any, priors: Iterable[Prior] | None = None
    ) -> Self:
        """Secrets {U = u} for the values of a feature U, every two of them a pair.

        ``feature`` is what :class:`FeaturePML` takes, such as ``databases.entry_of(n)``.
        """
        secrets: dict[str, dict[Label, Any]] = {}
        for label, row in checked_feature(feature):
            total = sum((fraction(mass) for _, mass in row), Fraction(0))
            for value, mass in row:
                secrets.setdefault(repr(value), {})[label] = fraction(mass) / total
        return cls(epsilon, secrets, None, None if priors is None else list(priors))

    @property
    def covers_zero_mass(self) -> bool:
        """Other priors than that of the design give mass to other symbols."""
        return self.priors is not None

    def check_labels(self, prior: Prior) -> None:
        """Raise :class:`LevelError` for a secret that names no symbol of the prior."""
        for name, content in self.secrets:
            places_of(prior.labels, dict(content), f"secret {quote(name)}")

    #: The former name of :meth:`check_labels`.
    check_secrets = check_labels

    def hypotheses(self, prior: Prior) -> Iterator[tuple[str, str, list[Fraction], list[Fraction]]]:
        """Names and masses of each pair P_θ(X, s), P_θ(X, s') of positive probability."""
        chances = {name: dict(content) for name, content in self.secrets}
        priors = masses_over(self.priors, prior)
        for number, masses in enumerate(priors):
            tail = "" if len(priors) == 1 else f" under prior {number}"
            for a, b in self.pairs:
                rows = [
                    [
                        m * fraction(chances[s].get(label, 0))
                        for label, m in zip(prior.labels, masses, strict=True)
                    ]
                    for s in (a, b)
                ]
                if any(rows[0]) and any(rows[1]):
                    yield f"{a}{tail}", f"{b}{tail}", rows[0], rows[1]

    def bounds(self, prior: Prior) -> list[Bound]:
        """(P_θ(X|s), P_θ(X|s')) for every pair and every θ, both ways."""
        over: list[Sequence[Any]] = []
        under: list[Sequence[Any]] = []
        names: list[str] = []
        others: list[str] = []
        for first, second, mine, theirs in self.hypotheses(prior):
            over += [mine, theirs]
            under += [theirs, mine]
            names += [first, second]
            others += [second, first]
        if not over:
            whole = Hypotheses.prior(prior)
            return [Bound(whole, whole, self.epsilon)]
        return [
            Bound(
                Hypotheses.mixtures(over, names),
                Hypotheses.mixtures(under, others),
                self.epsilon,
                pairing="matched",
            )
        ]

    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """Max |log P(y|s,θ) − log P(y|s',θ)| over pairs and priors, an ``(M,)`` array in nats."""
        tables = [prior.probabilities]
        if self.priors is not None:
            tables = [
                np.array([float(dict(masses).get(label, 0)) for label in prior.labels])
                for masses in self.priors
            ]
        inside = {
            name: np.array([float(dict(content).get(label, 0)) for label in prior.labels])
            for name, content in self.secrets
        }
        worst = np.zeros(kernel.shape[1])
        with np.errstate(divide="ignore", invalid="ignore"):
            for p in tables:
                given = {
                    name: (p * mask) @ kernel / (p * mask).sum()
                    for name, mask in inside.items()
                    if (p * mask).sum() > 0
                }
                for a, b in self.pairs:
                    if a in given and b in given:
                        apart = np.abs(np.log(given[a]) - np.log(given[b]))
                        worst = np.maximum(worst, np.where(np.isnan(apart), 0.0, apart))
        return worst


@dataclass(frozen=True)
class ApproximatePufferfish(DeltaNotion):
    """(ε, δ)-Pufferfish privacy: P(Y∈A|s,θ) ≤ e^ε P(Y∈A|s',θ) + δ for pairs (s, s'), priors θ.

    Parameters are those of :class:`Pufferfish`, with δ after the level. The level of a kernel is
    the least ε at its δ. Source: [NuradhaGoldfeld2023] Definition 1.
    """

    epsilon: float
    delta: float
    secrets: Any
    pairs: Any = None
    priors: Any = None
    below_ratio: ClassVar = True
    needs: ClassVar = ("delta", "secrets")
    references: ClassVar = ("NuradhaGoldfeld2023",)
    promise = (
        "For every set of reports and both secrets of a pair, the chance under the one is at "
        "most that under the other times {factor}, plus {0.delta:g}, under "
        "any of the priors named. What lies within the added chance may disclose the secret."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("secrets", "pairs", "priors"):
            object.__setattr__(self, name, getattr(self.framework, name))

    @property
    def framework(self) -> Pufferfish:
        """The same secrets, pairs and priors at δ = 0."""
        return Pufferfish(self.epsilon, self.secrets, self.pairs, self.priors)

    @property
    def covers_zero_mass(self) -> bool:
        """Other priors than that of the design give mass to other symbols."""
        return self.priors is not None

    def sums(self, prior: Prior) -> list[SumConstraint]:
        """Every pair of secrets and every prior, both ways."""
        (bound,) = self.framework.bounds(prior)
        return [HockeyStick(bound.over, bound.under, self.epsilon, self.delta)]

    def check_labels(self, prior: Prior) -> None:
        """As for :class:`Pufferfish`."""
        self.framework.check_labels(prior)

    def _given(self, kernel: Array, prior: Prior) -> Iterator[tuple[Array, Array]]:
        """P(y|s,θ) and P(y|s',θ) for every pair and prior, both ways."""
        for _, _, mine, theirs in self.framework.hypotheses(prior):
            rows = [np.array(part, dtype=float) for part in (mine, theirs)]
            first, second = (row @ kernel / row.sum() for row in rows)
            yield first, second
            yield second, first


def _checked_secrets(secrets: Any) -> tuple[tuple[str, tuple[tuple[Label, Any], ...]], ...]:
    pairs = secrets.items() if isinstance(secrets, Mapping) else secrets
    found = []
    try:
        for name, content in pairs:
            if isinstance(content, (str, bytes)):
                raise TypeError
            if isinstance(content, Mapping):
                chances = [(tidy(label), chance) for label, chance in content.items()]
            elif not isinstance(secrets, Mapping):
                chances = [(tidy(label), chance) for label, chance in content]
            else:
                chances = [(tidy(label), 1) for label in content]
            if not chances or not all(0 <= fraction(chance) <= 1 for _, chance in chances):
                raise TypeError
            if len(dict(chances)) < len(chances):
                raise TypeError
            found.append((str(name), tuple(chances)))
    except (TypeError, ValueError, OverflowError):
        found = []
    if not found or len({name for name, _ in found}) != len(found):
        raise LevelError(
            "secrets",
            expected="a mapping from the name of each secret to a list of its symbols, or to a "
            "mapping of symbols to chances from 0 to 1",
            got=quote(secrets),
            remedy="write {'few': [0, 1], 'many': [3, 4]}",
        )
    return tuple(found)


def _checked_pairs(pairs: Any, names: list[str]) -> tuple[tuple[str, str], ...]:
    if pairs is None:
        return tuple(combinations(names, 2))
    if not is_iterable(pairs):
        raise LevelError(
            "pairs of secrets",
            expected="a list of pairs of names",
            got=quote(pairs),
            remedy="write [('few', 'many')], or leave it out for every two secrets",
        )
    found = []
    for pair in pairs:
        try:
            a, b = (str(name) for name in pair)
        except (TypeError, ValueError, OverflowError):
            a = b = ""
        if a == b or a not in names or b not in names:
            raise LevelError(
                "pair of secrets",
                expected="two different names among " + ", ".join(names[:8]),
                got=quote(pair),
                remedy="name each secret in secrets=",
            )
        found.append((a, b))
    return tuple(found)
