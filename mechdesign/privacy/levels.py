"""Notions whose level differs from symbol to symbol, from pair to pair or from way to way.

Each has one level ε in nats and a table of factors on it, so that ``epsilon=1`` reads the table in
nats and the whole table can be moved at once. Factors are kept as data by label, so that such a
notion can be compared, fingerprinted and saved, and does not depend on the order of symbols.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..errors import LevelError, is_iterable, listed, quote
from ..labels import Label, tidy
from ..mechanism import Mechanism, mechanism_of
from ..numeric import float_array
from ..prior import Prior
from .constraint import Array, Bound, Hypotheses
from .differential import PairFactors, PairLevels, labelled, places_of, unknown
from .notion import LikelihoodBound
from .pointwise import log_lift

#: Factors by label.
Factors = tuple[tuple[Label, float], ...]


# Levels by symbol, against the prior


class _OfSymbols(LikelihoodBound, register=False):
    """A table of factors on the level by symbol, an infinite one for a symbol left alone."""

    levels_of: Factors
    needs: ClassVar = ("levels_of",)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "levels_of", checked_factors(self.levels_of))

    def check_labels(self, prior: Prior) -> None:
        """Raise :class:`LevelError` for a factor of what is no symbol of the prior."""
        known = set(prior.labels)
        for label, _ in self.levels_of:
            if label not in known:
                raise unknown("levels by symbol", label, "leave out what is no symbol")

    def _factors_of(self, prior: Prior, places: Iterable[int]) -> list[float]:
        """The factors of symbols at some positions; a :class:`LevelError` where one is missing."""
        known, labels = dict(self.levels_of), [prior.labels[x] for x in places]
        for label in labels:
            if label not in known:
                raise LevelError(
                    "levels by symbol",
                    expected="one for every symbol",
                    got=f"none for {quote(label)}",
                    remedy="name it by the label that it has in the prior; inf asks nothing",
                )
        return [known[label] for label in labels]

    def _groups(self, prior: Prior, places: list[int]) -> list[tuple[float, list[int]]]:
        """Positions by finite factor, the smallest first."""
        found = defaultdict(list)
        for x, scale in zip(places, self._factors_of(prior, places), strict=True):
            if scale < math.inf:
                found[scale].append(x)
        return sorted(found.items())


@dataclass(frozen=True)
class _BySymbol(_OfSymbols, register=False):
    """A level for each symbol against the prior: ε times its factor."""

    epsilon: float
    levels_of: Any
    #: Whether the symbol may gain against the prior at most so much, and lose.
    _above: ClassVar[bool] = True
    _below: ClassVar[bool] = False

    def bounds(self, prior: Prior) -> list[Bound]:
        """Symbols of each factor with the prior, at ε times it."""
        whole, found = Hypotheses.prior(prior), []
        for scale, places in self._groups(prior, prior.support.tolist()):
            points = Hypotheses.points(prior, places)
            sides = ((self._above, points, whole), (self._below, whole, points))
            found += [Bound(a, b, self.epsilon, scales=(scale,)) for asked, a, b in sides if asked]
        return found or [_nothing(prior)]

    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """The largest log lift of a symbol over its factor, either way where asked, ``(M,)``."""
        scales = np.array(self._factors_of(prior, prior.support.tolist()))
        finite = np.isfinite(scales)
        density = log_lift(kernel, prior)[finite] / scales[finite, None]
        asked = [density] * self._above + [-density] * self._below
        return np.max([each.max(axis=0, initial=0.0) for each in asked], axis=0)


@dataclass(frozen=True)
class SymbolPML(_BySymbol):
    """Pointwise maximal leakage with a level for each symbol: i(x;y) ≤ ε r_x for every outcome y.

    Parameters
    ----------
    epsilon : float
        Level in nats that the factors multiply; with 1 they are the levels.
    levels_of : mapping of labels to factors r_x, or a list for the labels 0 … N−1
        Positive numbers; ``inf`` asks nothing about a symbol. Every symbol of positive mass is
        named.

    Notes
    -----
    With equal factors it is :class:`PML` ([Saeidian2023PML]). An adversary who wants to learn
    whether the secret is x gains at most a factor e^(ε r_x); a gain that concerns several symbols
    at most the largest of theirs.

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior([.7, .2, .1], ["none", "flu", "hiv"])
    >>> wanted = md.SymbolPML(1, {"none": 2, "flu": 1, "hiv": .1})
    >>> found = md.design(prior, md.utility.Hamming(), wanted)
    >>> str(found.certificate.checks[0].verdict), round(found.value, 6)
    ('yes', 0.772778)
    """

    references: ClassVar = ("Saeidian2023PML",)
    promise = (
        "No report makes a value with factor 1 more likely than before by more than "
        "{factor}, a value with factor r by more than the r-th power of that, "
        "and values with an infinite factor are not protected. A value may become much less "
        "likely, or be ruled out."
    )


@dataclass(frozen=True)
class SymbolPMC(_BySymbol):
    """Pointwise maximal cost with a level for each symbol: −i(x;y) ≤ ε r_x for every outcome y.

    Parameters are those of :class:`SymbolPML`; with equal factors it is :class:`PMC`
    ([SaeidianPMC]).
    """

    references: ClassVar = ("SaeidianPMC",)
    _above: ClassVar = False
    _below: ClassVar = True
    promise = (
        "No report makes a value with factor 1 less likely than before by more than "
        "{factor}, a value with factor r by more than the r-th power of that. "
        "So none of these is ruled out; values with an infinite factor are not protected."
    )


@dataclass(frozen=True)
class SymbolLIP(_BySymbol):
    """Local information privacy with a level for each symbol: |i(x;y)| ≤ ε r_x.

    Parameters are those of :class:`SymbolPML`; with equal factors it is :class:`LIP`
    ([Jiang2020]). For other levels upwards than downwards ask for a :class:`SymbolPML` and a
    :class:`SymbolPMC` in one list.
    """

    references: ClassVar = ("Jiang2020",)
    _below: ClassVar = True
    promise = (
        "After every report a value with factor 1 is more or less likely than before by at "
        "most {factor}, a value with factor r by at most the r-th power of "
        "that. Values with an infinite factor are not protected."
    )


# Levels of local differential privacy by symbol and by pair


@dataclass(frozen=True)
class InputDiscriminativeLDP(_OfSymbols, PairLevels):
    """Local differential privacy with a level for each symbol: pairs have the smaller one.

    P(y|x) ≤ e^{ε min(r_x, r_x')} P(y|x') for every y and every two symbols.

    Parameters
    ----------
    epsilon : float
        Level in nats that the factors multiply; with 1 they are the levels.
    levels_of : mapping of labels to factors r_x, or a list for the labels 0 … N−1
        Positive numbers; two symbols with infinite factors may be told apart. Every symbol is
        named.

    Notes
    -----
    With equal factors it is :class:`LDP`. Source: [Gu2020] (there MinID-LDP). It does not depend on
    the prior: symbols of zero mass are designed for like all others.

    Examples
    --------
    >>> import mechdesign as md
    >>> found = md.design(
    ...     md.Prior.uniform(3), md.utility.Hamming(), md.InputDiscriminativeLDP(1, [.5, 2, 2])
    ... )
    >>> round(found.value, 6)
    0.496612
    """

    epsilon: float
    levels_of: Any
    references: ClassVar = ("Gu2020",)
    promise = (
        "No report changes the odds between two values of which one has factor 1, and the "
        "other no smaller one, by more than {factor}; with r the smaller of two "
        "factors by more than the r-th power of that, whatever an adversary believed "
        "beforehand."
    )

    def bounds(self, prior: Prior) -> list[Bound]:
        """Symbols of each factor with those of no smaller one, both ways, at ε times it."""
        found, rest = [], set(range(len(prior)))
        for scale, places in self._groups(prior, sorted(rest)):
            few, many = (Hypotheses.points(prior, part) for part in (places, sorted(rest)))
            found.append(Bound(few, many, self.epsilon, scales=(scale,)))
            if len(places) < len(rest):
                found.append(Bound(many, few, self.epsilon, scales=(scale,)))
            rest -= set(places)
        return found or [_nothing(prior)]

    def factors(self, prior: Prior) -> Array:
        """The smaller factor of two symbols."""
        scales = np.array(self._factors_of(prior, range(len(prior))))
        return np.minimum(scales[:, None], scales)


@dataclass(frozen=True)
class ContextAwareLDP(PairLevels):
    """A level for each ordered pair of symbols: P(y|x) ≤ e^{ε r(x,x')} P(y|x') for every y.

    Parameters
    ----------
    epsilon : float
        Level in nats that the factors multiply; with 1 they are the levels.
    levels_of : ``(x, x', r)`` or ``(x, x')`` for some ordered pairs of labels
        Positive factors r, 1 where left out; ``inf``, and a pair that is not named, asks nothing.
        The bound holds one way: name ``(x', x)`` as well for both. :meth:`matrix` takes all
        factors at once.

    Notes
    -----
    Source: [Acharya2020]. With a symmetric metric it is :class:`MetricPrivacy`, with factors 1
    :class:`DP` one way. It does not depend on the prior: symbols of zero mass are designed for like
    all others. Bounds chain: what is asked of (x, z) and (z, x') holds for (x, x') at the sum.

    Examples
    --------
    Those who are ill may look healthy, and nobody else is protected:

    >>> import mechdesign as md
    >>> prior = md.Prior([.5, .5], ["ill", "well"])
    >>> one_way = md.ContextAwareLDP(1, [("ill", "well")])
    >>> md.design(prior, md.utility.Hamming(), one_way).mechanism.kernel.round(4).tolist()
    [[1.0, 0.0], [0.3679, 0.6321]]
    """

    epsilon: float
    levels_of: Any
    needs: ClassVar = ("levels_of",)
    references: ClassVar = ("Acharya2020",)
    promise = (
        "For every pair of values that is named, no report speaks for the first against the "
        "second by more than {factor} where its factor is 1, by more than the "
        "r-th power of that where it is r, whatever an adversary believed beforehand. It may "
        "speak for the second against the first as far as that pair is named too."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "levels_of", _checked_pairs(self.levels_of))

    @classmethod
    def matrix(cls, epsilon: float, rows: Any, labels: Iterable[Label] | None = None) -> Self:
        """A square matrix of factors r(x,x'), in the order of the labels (0 … N−1 if left out).

        The diagonal is not read. Raises :class:`LevelError` for another shape.
        """
        held = float_array(rows)
        table = np.zeros(0) if held is None else held
        size = len(table)
        names = list(range(size) if labels is None else labels)
        if table.shape != (size, size) or not size or len(names) != size:
            raise LevelError(
                "matrix of factors",
                expected="N rows of N numbers for N labels",
                got=f"shape {table.shape} for {len(names)} labels",
                remedy="give one row and one column per symbol; inf asks nothing of a pair",
            )
        pairs = [(i, j) for i in range(size) for j in range(size) if i != j]
        return cls(epsilon, [(names[i], names[j], float(table[i, j])) for i, j in pairs])

    @classmethod
    def blocks(cls, epsilon: float, blocks: Iterable[Iterable[Label]]) -> Self:
        """Two symbols of one block are hidden among each other, and blocks are not ([Acharya2020]).

        Raises :class:`LevelError` where a block is no list of labels.
        """
        told = "blocks of symbols", "lists of labels", LevelError, 'write [["a", "b"], ["c", "d"]]'
        parts = [listed(block, *told) for block in listed(blocks, *told)]
        return cls(epsilon, [(a, b) for part in parts for a in part for b in part if a != b])

    def pairs(self, prior: Prior) -> list[tuple[int, int, Any]]:
        """Those named."""
        finite = [row for row in self.levels_of if row[2] < math.inf]
        sides = (
            places_of(prior.labels, [row[k] for row in finite], "pairs with levels") for k in (0, 1)
        )
        return list(zip(*sides, (r for _, _, r in finite), strict=True))

    def factors(self, prior: Prior) -> Array:
        """Those named, which stand once."""
        found = np.full((len(prior), len(prior)), math.inf)
        for i, j, r in self.pairs(prior):
            found[i, j] = r
        return found


@dataclass(frozen=True)
class UtilityOptimisedLDP(LikelihoodBound):
    """Utility-optimised local differential privacy: only some symbols are sensitive.

    P(y|s) ≤ e^ε P(y|x) for every outcome y, every sensitive symbol s and every symbol x: whatever
    is reported, the secret may not have been sensitive, and a sensitive one could have been any
    other. An outcome that only one symbol gives is allowed where that symbol is not sensitive.

    Parameters
    ----------
    epsilon : float
        Level in nats.
    sensitive : labels of the sensitive symbols

    Notes
    -----
    [MurakamiKawamoto2019] ask for outcomes of two kinds: protected ones, for which all symbols are
    within e^ε of one another, and invertible ones, which one symbol gives, not sensitive. Their
    kernels satisfy this notion (the high-low form of [Acharya2020]), and each kernel that satisfies
    it is one of theirs after outcomes were merged, which :meth:`split` undoes. So the best value is
    the same.

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior([.25, .25, .5], ["hiv", "flu", "none"])
    >>> notion = md.UtilityOptimisedLDP(1, ["hiv"])
    >>> found = md.design(prior, md.utility.Hamming(), notion)
    >>> notion.split(found).outputs
    ('hiv', 'flu', 'none', ('is', 'flu'), ('is', 'none'))
    """

    epsilon: float
    sensitive: Any
    needs: ClassVar = ("sensitive",)
    references: ClassVar = ("MurakamiKawamoto2019", "Acharya2020")
    uses_prior: ClassVar = False
    promise = (
        "No report speaks for a sensitive value against any other value by more than "
        "{factor}, whatever an adversary believed beforehand. That a value is "
        "one of those that are not sensitive may be told for certain."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        told = "sensitive symbols", "a list of at least one label", LevelError
        remedy = 'name them, such as ["hiv"]'
        labels = () if isinstance(self.sensitive, Mapping) else self.sensitive
        found = tuple(dict.fromkeys(map(_label, listed(labels, *told, remedy))))
        if not found:
            raise LevelError(told[0], expected=told[1], got=quote(self.sensitive), remedy=remedy)
        object.__setattr__(self, "sensitive", found)

    covers_zero_mass = True

    def _positions(self, labels: Sequence[Label]) -> list[int]:
        return sorted(places_of(labels, self.sensitive, "sensitive symbols"))

    def bounds(self, prior: Prior) -> list[Bound]:
        """(δ_s, δ_x) for every sensitive s and every x."""
        chosen = Hypotheses.points(prior, self._positions(prior.labels))
        return [Bound(chosen, Hypotheses.points(prior), self.epsilon)]

    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """Log max_s P(y|s) − log min_x P(y|x), an ``(M,)`` array in nats."""
        top = kernel[self._positions(prior.labels)].max(axis=0)
        with np.errstate(divide="ignore"):
            low = np.log(np.where(top > 0, kernel.min(axis=0), 1.0))
            return np.log(np.where(top > 0, top, 1.0)) - low

    def split(self, mechanism: Any) -> Mechanism:
        """A kernel with protected and invertible outcomes that this one is a merging of, exact.

        Parameters
        ----------
        mechanism : a Mechanism or design that has the notion

        Returns
        -------
        Mechanism
            The same outcomes, within e^ε of one another for all symbols, and an outcome
            ``("is", x)`` for each symbol x that is not sensitive and is told for certain sometimes.
            Merging these with the outcomes they were taken from gives the kernel back.

        Notes
        -----
        Where a symbol that is not sensitive is likelier to give an outcome than every sensitive
        one, what it has in excess is told openly.
        """
        kernel = mechanism_of(mechanism)
        chosen = self._positions(kernel.inputs)
        weights = kernel.weights.astype(object)
        excess = np.maximum(weights - weights[chosen].max(axis=0), 0)
        excess[chosen] = 0
        told = excess.sum(axis=1)
        columns, outputs = [weights - excess], list(kernel.outputs)
        for x in np.flatnonzero(told).tolist():
            column = np.zeros((len(weights), 1), dtype=object)
            column[x] = told[x]
            columns.append(column)
            outputs.append(("is", kernel.inputs[x]))
        return Mechanism.over(
            np.concatenate(columns, axis=1), kernel.denominator, kernel.inputs, outputs, check=False
        )


# Tables of factors


def _label(value: Any) -> Label:
    """A label as priors have it; :class:`LevelError` for what cannot be one."""
    try:
        found = tidy(value)
        hash(found)
    except (TypeError, ValueError, OverflowError):
        raise unknown("levels", value, "name symbols of the prior") from None
    return found


def _factor(value: Any, subject: str) -> float:
    number = value
    good = isinstance(number, (int, float, np.number)) and not isinstance(number, (bool, np.bool_))
    if not good or not float(number) > 0:
        raise LevelError(
            subject,
            expected="a positive factor on the level, inf to ask nothing",
            got=quote(value),
            remedy="give for example 0.5; symbols that must not be told apart at all are one "
            "symbol: merge them",
        )
    return float(number)


def checked_factors(table: Any) -> Factors:
    """Factors by label, of a mapping, of pairs, or of a list for the labels 0 … N−1.

    Raises :class:`LevelError` for anything else.
    """
    told = (
        "levels by symbol",
        "a mapping of labels to positive numbers, or a list for the labels 0 … N−1",
        LevelError,
        'write {"flu": 2, "hiv": 0.1}',
    )
    rows = listed(table.items() if isinstance(table, Mapping) else table, *told)
    if not any(isinstance(row, (tuple, list)) for row in rows):
        rows = list(enumerate(rows))
    if not rows or not all(isinstance(row, (tuple, list)) and len(row) == 2 for row in rows):
        raise LevelError(told[0], expected=told[1], got=quote(table), remedy=told[3])
    found: dict[Label, float] = {}
    for label, value in rows:
        name = _label(label)
        number = _factor(value, f"level of {quote(name)}")
        if found.setdefault(name, number) != number:
            raise LevelError(
                "levels by symbol",
                expected="one level for each label",
                got=f"two for {quote(name)}",
                remedy="name each symbol once",
            )
    return tuple(found.items())


def _checked_pairs(table: Any) -> PairFactors:
    """Ordered pairs of labels with their factors."""
    told = (
        "levels by pair",
        "(x, x', factor) or (x, x') for each ordered pair of different labels",
        'write [("ill", "well", 0.5)]; ContextAwareLDP.matrix takes a matrix',
    )
    if isinstance(table, (str, bytes, Mapping, np.ndarray)) or not is_iterable(table):
        raise LevelError(told[0], expected=told[1], got=quote(table), remedy=told[2])
    found: dict[tuple[Label, Label], float] = {}
    for row in table:
        a, b, *numbers = labelled(row, *told, counts=(0, 1))
        number = _factor(numbers[0], f"level of {quote((a, b))}") if numbers else 1.0
        found[a, b] = min(number, found.get((a, b), math.inf))
    return tuple((a, b, number) for (a, b), number in found.items())


def _nothing(prior: Prior) -> Bound:
    """A bound that asks nothing, and measures zero."""
    one = Hypotheses.points(prior, [0])
    return Bound(one, one, math.inf)
