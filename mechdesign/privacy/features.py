"""Features of the secret, and notions about one or for an adversary who knows one.

A feature U of the secret X is a function of it, or any random variable given by P(U|X), with
U − X − Y. It is written as a mapping from each symbol to its value, or to a mapping of values to
masses P(u|x); the channel P(U|X), a :class:`~mechdesign.Mechanism`, says the same. Notions hold it
as a table of tuples, which :func:`checked_feature` makes of either; :func:`channel_of` gives the
channel. Where the prior names the columns that its symbols are made of, the name of one, or a list
of names, is a feature too.

What an outcome tells about U, in place of X, is measured by the same ratios:

==============  ==========================================  =========================
notion          asks for every outcome y                    pairs of hypotheses
==============  ==========================================  =========================
FeaturePML      max_u log P(u|y)/P(u) ≤ ε                   (P(X|u), prior)
FeaturePMC      max_u log P(u)/P(u|y) ≤ ε                   (prior, P(X|u))
ConditionalPML  max_{z,x} log P(x|y,z)/P(x|z) ≤ ε           (δ_x, P(X|z))
ConditionalPMC  max_{z,x} log P(x|z)/P(x|y,z) ≤ ε           (P(X|z), δ_x)
==============  ==========================================  =========================
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from ..errors import InputError, KernelError, LevelError, is_iterable, quote
from ..exact import fraction
from ..labels import Label, distinct, listing, tidy, values_at
from ..mechanism import Mechanism
from ..prior import Prior
from ..schema import attribute_names, attribute_values
from .constraint import Array, Bound, Hypotheses
from .notion import LikelihoodBound

#: ((label, ((value, mass), ...)), ...)
Feature = tuple[tuple[Label, tuple[tuple[Label, Any], ...]], ...]
#: The same, or names of columns that the prior will know.
Named = Feature | str | tuple[str, ...]


def named_feature(feature: Any, subject: str = "feature") -> Named:
    """A feature as notions hold it: a name, a tuple of names, or a table.

    Raises :class:`LevelError` as :func:`checked_feature`.
    """
    if isinstance(feature, str):
        return feature
    return attribute_names(feature) or checked_feature(feature, subject)


def feature_text(feature: Named) -> str:
    """The names of columns with a comma before them; nothing for a table."""
    names = attribute_names(feature)
    return "" if names is None else ", " + "+".join(names)


def checked_feature(
    feature: Any, subject: str = "feature", error: type[InputError] = LevelError
) -> Feature:
    """A feature as a table, from a mapping, a channel or a table.

    Raises ``error`` for masses that are no distribution, or for what is no feature.
    """
    channel = getattr(feature, "mechanism", feature)
    if isinstance(channel, Mechanism):
        one = channel.denominator
        feature = {
            x: {u: Fraction(int(w), one) for u, w in zip(channel.outputs, row, strict=True) if w}
            for x, row in zip(channel.inputs, channel.weights, strict=True)
        }
    if isinstance(feature, Mapping):
        rows: Iterable[Any] = feature.items()
    elif isinstance(feature, tuple) and all(isinstance(p, tuple) and len(p) == 2 for p in feature):
        rows = ((label, dict(row)) for label, row in feature)
    else:
        raise error(
            subject,
            expected="a mapping from each symbol to its value, or to a mapping of values to masses",
            got=quote(feature),
            remedy="write {'symbol': 'value', ...}; from_function tabulates a function of labels",
        )
    table = {}
    for label, content in rows:
        try:
            masses = content if isinstance(content, Mapping) else {content: 1}
        except TypeError:
            raise error(
                subject,
                expected="values such as text or numbers",
                got=f"{quote(content)} for {quote(label)}",
                remedy="give each symbol one hashable value, or a mapping of values to masses",
            ) from None
        row = tuple((tidy(value), _mass(mass)) for value, mass in masses.items())
        good = row and all(mass is not None for _, mass in row)
        if not good or sum(fraction(mass) for _, mass in row) <= 0:
            raise error(
                subject,
                expected="for each symbol a value, or non-negative masses with a positive sum",
                got=f"{quote(dict(masses))} for {quote(label)}",
                remedy="give P(value | symbol)",
            )
        table[tidy(label)] = row
    return tuple(table.items())


def _mass(value: Any) -> Any:
    """A mass as it is kept, exact; ``None`` for what is none."""
    try:
        mass = fraction(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if mass < 0:
        return None
    return mass if isinstance(value, Fraction) else tidy(value)


def _chances(row: tuple[tuple[Label, Any], ...]) -> dict[Label, Fraction]:
    """P(u|x) for the values of one row, exact."""
    total = sum((fraction(mass) for _, mass in row), Fraction(0))
    return {value: fraction(mass) / total for value, mass in row}


def _rows(feature: Named, prior: Prior, subject: str) -> Iterable[tuple[int, Any]]:
    """Position and row of each symbol of positive mass; :class:`LevelError` for one without."""
    names = attribute_names(feature)
    if names is None:
        table = dict(feature)  # type: ignore[arg-type]
    else:
        values = attribute_values(names, prior.schema, prior.labels, LevelError)
        table = {x: ((u, 1),) for x, u in zip(prior.labels, values, strict=True)}
    for x, label in enumerate(prior.labels):
        if not prior.weights[x]:
            continue
        if label not in table:
            raise LevelError(
                subject,
                expected=f"a value for every symbol of positive mass, {quote(label)} too",
                got=f"values for {[*table][:6]}",
                remedy="use the labels of the prior (text and numbers differ)",
            )
        yield x, table[label]


def joint_masses(
    feature: Named, prior: Prior, subject: str = "feature"
) -> dict[Label, list[Fraction]]:
    """P(X = x, U = u) for each value u of positive probability, exact, in the prior's order."""
    joint: dict[Label, list[Fraction]] = {}
    for x, row in _rows(feature, prior, subject):
        for value, chance in _chances(row).items():
            if chance:
                joint.setdefault(value, [Fraction(0)] * len(prior))
                joint[value][x] += prior.mass(x) * chance
    return joint


def _joint_floats(feature: Named, prior: Prior, subject: str) -> Array:
    """P(X = x, U = u), a ``(U, N)`` array for the values of positive probability."""
    joint: dict[Label, Array] = {}
    for x, row in _rows(feature, prior, subject):
        total = float(sum(mass for _, mass in row))
        for value, mass in row:
            part = joint.setdefault(value, np.zeros(len(prior)))
            part[x] += prior.probabilities[x] * float(mass) / total
    return np.array([part for part in joint.values() if part.any()])


def channel_of(feature: Any, symbols: tuple[Label, ...]) -> Mechanism:
    """The channel P(U|X) of a feature over these symbols.

    Raises :class:`KernelError` for a feature of other symbols, or for what is no feature.
    """
    found = getattr(feature, "mechanism", feature)
    if isinstance(found, Mapping):
        table = {x: _chances(row) for x, row in checked_feature(found, error=KernelError)}
        inputs = symbols if set(symbols) == set(table) else tuple(table)
        values = list(dict.fromkeys(u for row in table.values() for u in row))
        chances = [[float(table[x].get(u, 0)) for u in values] for x in inputs]
        found = Mechanism(chances, inputs, values, normalise=True)
    if not isinstance(found, Mechanism):
        raise KernelError(
            "feature",
            expected="a Mechanism, or a mapping from each symbol to its value",
            got=type(feature).__name__,
            remedy="build it by theory.feature(prior, …)",
        )
    if found.inputs != symbols:
        raise KernelError(
            "feature",
            expected=f"a channel with the inputs {listing(symbols)}",
            got=f"inputs {listing(found.inputs)}",
            remedy="build it on the same symbols in the same order: theory.feature(prior, …)",
        )
    return found


def feature(
    symbols: Prior | Mechanism | Iterable[Any],
    what: Callable[[Any], Any] | Mapping[Any, Any] | Iterable[Any],
) -> Mechanism:
    """A deterministic feature of the secret, as the channel P(U|X).

    Parameters
    ----------
    symbols : a prior, a mechanism (its inputs), or the labels of the symbols
    what : function or mapping from symbol to value, name of a column, or collection of symbols
        A name is that of a column that symbols of a prior or mechanism are made of. A collection
        is a question: the value is True for the symbols in it, False otherwise.

    Raises
    ------
    KernelError
        When a mapping misses a symbol, or a collection names what is no symbol.

    Examples
    --------
    >>> ages = Prior([.5, .3, .2], labels=["young", "middle", "old"])
    >>> feature(ages, ["old"]).outputs
    (True, False)
    >>> feature(ages, {"young": 0, "middle": 0, "old": 1}).kernel
    array([[1., 0.],
           [1., 0.],
           [0., 1.]])

    A randomised feature is any mechanism with the symbols as inputs.
    """
    labels = _symbols(symbols)
    names = None
    if isinstance(what, str) and isinstance(symbols, (Prior, Mechanism)):
        found = attribute_values((what,), symbols.schema, labels, KernelError)
        what = dict(zip(labels, found, strict=True))
    if not callable(what) and not isinstance(what, Mapping):
        if not is_iterable(what) or isinstance(what, (str, bytes)):
            raise _unusable("a function, a mapping or a collection of symbols", quote(what))
        chosen = [tidy(label) for label in what]
        strange = [label for label in chosen if label not in labels]
        if strange:
            raise _unusable(f"a collection of symbols among {listing(labels)}", quote(strange[0]))
        what, names = {label: label in chosen for label in labels}, [True, False]
    values = values_at(what, labels, KernelError)
    names = distinct(values, KernelError) if names is None else names
    if any(value != value for value in values):
        raise _unusable("a value for every symbol", "NaN, which equals nothing")
    table = np.zeros((len(labels), len(names)), dtype=np.int64)
    table[np.arange(len(labels)), [names.index(v) for v in values]] = 1
    return Mechanism.from_weights(table, 0, labels, names)


def _symbols(symbols: Any) -> tuple[Label, ...]:
    if isinstance(symbols, Prior):
        return symbols.labels
    if isinstance(symbols, Mechanism):
        return symbols.inputs
    if isinstance(symbols, (str, bytes)) or not is_iterable(symbols):
        raise _unusable("a prior, a mechanism or a list of symbols", quote(symbols))
    return tuple(tidy(s) for s in symbols)


def _unusable(expected: str, got: str) -> KernelError:
    return KernelError(
        "feature",
        expected=expected,
        got=got,
        remedy="say which value the feature has for every symbol",
    )


class _Told(LikelihoodBound, register=False):
    """What the notions of a feature, and those given side information, share."""

    epsilon: float
    #: What stands before the colon in messages; the field is the first of ``needs``.
    _subject: ClassVar[str] = "feature"
    #: Whether a value becomes likelier by at most so much, or less likely.
    _above: ClassVar[bool] = True
    written: ClassVar = (str,)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, self.needs[0], named_feature(self._table, self._subject))

    @property
    def _table(self) -> Any:
        return getattr(self, self.needs[0])

    @property
    def title(self) -> str:
        """Name, level, and the feature where it has a name."""
        return super().title[:-1] + feature_text(self._table) + ")"

    def __str__(self) -> str:
        return self.title

    @classmethod
    def from_function(
        cls, epsilon: float, function: Callable[[Any], Any], labels: Iterable[Label]
    ) -> Self:
        """The feature ``function(label)``, tabulated over the given labels."""
        table = {label: function(label) for label in labels}
        return cls(epsilon, table)  # type: ignore[call-arg]

    @abstractmethod
    def _sides(self, prior: Prior) -> list[tuple[Hypotheses, Hypotheses]]:
        """What an adversary learns, against what they knew."""

    @abstractmethod
    def _densities(self, kernel: Array, prior: Prior) -> Iterable[Array]:
        """Logarithms of what an adversary learns over what they knew, from joint distributions."""

    def bounds(self, prior: Prior) -> list[Bound]:
        """What is learnt against what was known, or the reverse."""
        sides = self._sides(prior)
        pairs = sides if self._above else [(known, learnt) for learnt, known in sides]
        return [Bound(over, under, self.epsilon) for over, under in pairs]

    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """The largest logarithm of the ratio, an ``(M,)`` array in nats."""
        sign = 1 if self._above else -1
        found = [(sign * density).max(axis=0) for density in self._densities(kernel, prior)]
        return np.maximum(np.max(found, axis=0), 0.0)


class _OfFeature(_Told, register=False):
    """Hypotheses P(X|u) and the prior."""

    needs: ClassVar = ("feature",)

    def _sides(self, prior: Prior) -> list[tuple[Hypotheses, Hypotheses]]:
        joint = joint_masses(self._table, prior)
        given = Hypotheses.mixtures(joint.values(), [f"the feature at {quote(u)}" for u in joint])
        return [(given, Hypotheses.prior(prior))]

    def _densities(self, kernel: Array, prior: Prior) -> Iterable[Array]:
        """Log P(u|y)/P(u), ``(U, M)``."""
        joint = _joint_floats(self._table, prior, self._subject)
        both, alone = joint @ kernel, joint.sum(axis=1, keepdims=True)
        q = both.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            yield np.where(q > 0, np.log(both) - np.log(q) - np.log(alone), 0.0)


class _GivenSide(_Told, register=False):
    """Hypotheses δ_x and P(X|z), for every z and every x that z allows."""

    needs: ClassVar = ("side",)
    _subject: ClassVar = "side information"

    def _sides(self, prior: Prior) -> list[tuple[Hypotheses, Hypotheses]]:
        return [
            (
                Hypotheses.points(prior, [x for x, mass in enumerate(row) if mass]),
                Hypotheses.mixtures([row], [f"the prior given {quote(z)}"]),
            )
            for z, row in joint_masses(self._table, prior, self._subject).items()
        ]

    def _densities(self, kernel: Array, prior: Prior) -> Iterable[Array]:
        """Log P(x|y,z)/P(x|z) for each z, over the symbols that z allows."""
        for weight in _joint_floats(self._table, prior, self._subject):
            live = weight > 0
            rows = kernel[live]
            q = weight[live] @ rows / weight.sum()
            with np.errstate(divide="ignore", invalid="ignore"):
                yield np.where(q > 0, np.log(rows) - np.log(q), 0.0)


@dataclass(frozen=True)
class FeaturePML(_OfFeature):
    """ε-PML of a feature U of the secret: P(u|y) ≤ e^ε P(u) for every value u and outcome y.

    An entry of a database, or a sensitive column S of which the released data X only tells
    something (S − X − Y). It is at most the PML of the secret itself.

    Parameters
    ----------
    epsilon : float
        Level in nats.
    feature : name of a column, mapping from label to value, or to a mapping of values to masses
        The name of a column that the prior's symbols are made of, or a list of names; or P(u|x),
        or the channel P(U|X), a Mechanism. Masses may be ``Fraction``; each row is divided by its
        exact sum.

    Source: [Saeidian2023PML]; [SaeidianDisclosure] Section 4 for entries.

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior([.4, .1, .3, .2], [("f", 0), ("f", 1), ("m", 0), ("m", 1)])
    >>> sex = md.FeaturePML.from_function(.2, lambda row: row[0], prior.labels)
    >>> found = md.design(prior, md.utility.Hamming(), sex)
    >>> found.value > md.design(prior, md.utility.Hamming(), md.PML(.2)).value
    True

    Where the prior names its columns, so may the notion:

    >>> named = prior.with_schema(["sex", "age"])
    >>> hidden = md.design(named, md.utility.Hamming(of="age"), md.FeaturePML(.2, "sex"))
    >>> hidden.mechanism.outputs, hidden.status
    ((0, 1), 'optimal')
    """

    epsilon: float
    feature: Any
    references: ClassVar = ("Saeidian2023PML", "SaeidianDisclosure")
    promise = (
        "Whatever an adversary wants to know of the feature, no report multiplies what they "
        "can expect by more than {factor}; no value of the feature becomes more "
        "likely by more than that factor. Nothing is promised of the secret beyond the feature."
    )


@dataclass(frozen=True)
class FeaturePMC(_OfFeature):
    """ε-PMC of a feature U of the secret: P(u) ≤ e^ε P(u|y) for every value u and outcome y.

    Parameters are those of :class:`FeaturePML`. Source: [SaeidianPMC].
    """

    epsilon: float
    feature: Any
    _above: ClassVar = False
    references: ClassVar = ("SaeidianPMC",)
    promise = (
        "Whatever non-negative cost an adversary has of missing the feature, no report divides "
        "what they must expect by more than {factor}; no value of the feature "
        "becomes less likely by more than that factor. Nothing is promised of the secret "
        "beyond the feature."
    )


@dataclass(frozen=True)
class ConditionalPML(_GivenSide):
    """ε-PML given side information Z: P(x|y,z) ≤ e^ε P(x|z) for every x, y and z (Z − X − Y).

    Parameters
    ----------
    epsilon : float
        Level in nats.
    side : name of a column, mapping from label to value, or to a mapping of values to masses P(z|x)
        What the adversary knows of the secret beforehand.

    Source: [Saeidian2023PML].
    """

    epsilon: float
    side: Any
    references: ClassVar = ("Saeidian2023PML",)
    promise = (
        "An adversary who knows the side information already multiplies what they can expect "
        "by at most {factor} through any report, whatever they are after."
    )


@dataclass(frozen=True)
class ConditionalPMC(_GivenSide):
    """ε-PMC given side information Z: P(x|z) ≤ e^ε P(x|y,z) for every x, y and z (Z − X − Y).

    Parameters are those of :class:`ConditionalPML`. Source: [SaeidianPMC].
    """

    epsilon: float
    side: Any
    _above: ClassVar = False
    references: ClassVar = ("SaeidianPMC",)
    promise = (
        "An adversary who knows the side information already divides any non-negative cost by "
        "at most {factor} through any report."
    )
