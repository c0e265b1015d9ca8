"""Notions that compare the likelihoods of two symbols, whatever the prior.

Which symbols are neighbours and how far apart they are is kept as data (names, pairs of labels,
matrices), so that a notion that carries it can be compared, fingerprinted and saved.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import LevelError, UnknownNameError, is_iterable, quote
from ..exact import fraction
from ..labels import Label, tidy
from ..numeric import float_array
from ..prior import Prior
from .constraint import Array, Bound, Hypotheses
from .notion import LikelihoodBound

#: An unordered or ordered pair of positions.
Pair = tuple[int, int]

RELATIONS = ("adjacent", "hamming", "all")
METRICS = ("absolute", "hamming", "euclidean", "discrete")


@dataclass(frozen=True)
class LDP(LikelihoodBound):
    """ε-local differential privacy: P(y|x) ≤ e^ε P(y|x') for every y and every pair of symbols.

    It does not depend on the prior, so symbols of zero mass count as well. Source: [Duchi2013];
    [GrosseID] Definition 4.
    """

    epsilon: float
    references: ClassVar[tuple[str, ...]] = ("Duchi2013", "Kairouz2016", "GrosseID")
    uses_prior: ClassVar = False
    promise = (
        "No report changes the odds between any two values by more than "
        "{factor}, whatever an adversary believed beforehand and whatever the "
        "prior is."
    )

    def bounds(self, prior: Prior) -> list[Bound]:
        """(δ_x, δ_x') for every ordered pair."""
        points = Hypotheses.points(prior)
        return [Bound(points, points, self.epsilon)]

    def leakage(self, kernel: Array, prior: Prior) -> Array:
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


#: Factors on the level by ordered pairs of labels.
PairFactors = tuple[tuple[Label, Label, float], ...]


class PairLevels(LikelihoodBound, register=False):
    """A level for pairs of symbols: P(y|x) ≤ e^{ε r(x,x')} P(y|x') for every y.

    A subclass gives :meth:`factors` of all pairs, which are measured, and where fewer imply all
    others :meth:`pairs`, which are compiled and checked. It does not depend on the prior.
    """

    epsilon: float
    uses_prior: ClassVar = False

    @property
    def covers_zero_mass(self) -> bool:
        """Symbols of zero mass have their levels as well."""
        return True

    def pairs(self, prior: Prior) -> list[tuple[int, int, Any]]:
        """Positions x and x' and r of ordered pairs, such that asking these is asking all."""
        factors = self.factors(prior)
        asked = np.isfinite(factors) & ~np.eye(len(factors), dtype=bool)
        return [(i, j, float(factors[i, j])) for i, j in np.argwhere(asked).tolist()]

    @abstractmethod
    def factors(self, prior: Prior) -> Array:
        """Every r, ``(N, N)``; ``inf`` where nothing is asked of a pair."""

    def bounds(self, prior: Prior) -> list[Bound]:
        """(δ_x, δ_x') at ε r(x,x') for the pairs that imply all others."""
        pairs = self.pairs(prior)
        over, under, scales = zip(*pairs, strict=True) if pairs else ([0], [0], [1])
        return [
            Bound(
                Hypotheses.points(prior, over),
                Hypotheses.points(prior, under),
                self.epsilon if pairs else math.inf,
                pairing="matched",
                scales=None if set(scales) == {1} else tuple(scales),
            )
        ]

    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """Max (log P(y|x) − log P(y|x'))/r(x,x') over all pairs, an ``(M,)`` array in nats."""
        factors, worst = self.factors(prior), np.zeros(kernel.shape[1])
        is_symmetric = np.array_equal(factors, factors.T)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(kernel)
            for x in range(1, len(kernel)):
                rate = logs[x] - logs[:x]
                ways = (np.abs(rate, out=rate),) if is_symmetric else (rate, -rate)
                for each, r in zip(ways, (factors[x, :x], factors[:x, x]), strict=False):
                    each /= r[:, None]
                    # 0/0 and ∞/∞ are NaN, which counts for nothing: neither tells the two apart,
                    # or nothing is asked of them.
                    worst = np.fmax(worst, np.fmax.reduce(each, axis=0))
        return worst


def both_ways(pairs: Iterable[tuple[int, int, Any]]) -> list[tuple[int, int, Any]]:
    """Each pair, and the same the other way round; without any, a symbol and itself."""
    found = [pair for a, b, r in pairs for pair in ((a, b, r), (b, a, r))]
    return found or [(0, 0, 1)]


@dataclass(frozen=True)
class DP(PairLevels):
    """ε-differential privacy: P(y|x) ≤ e^ε P(y|x') for every y and all neighbours x, x'.

    Parameters
    ----------
    epsilon : float
        Level in nats.
    neighbours : {"adjacent", "hamming", "all"}, or pairs of labels
        ``"adjacent"``: numbers that follow one another (counts, histograms of one value);
        ``"hamming"``: tuples that differ in one entry (databases of individuals); ``"all"``: every
        pair. Pairs are taken both ways. Symbols without neighbours are not protected; a relation
        in which no two symbols are neighbours is refused.

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
    promise = (
        "No report changes the odds between two neighbouring inputs by more than "
        "{factor}, whatever an adversary knew beforehand. Inputs that are no "
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

    def pairs(self, prior: Prior) -> list[tuple[int, int, Any]]:
        """Neighbours, both ways."""
        found = neighbour_pairs(self.neighbours, numbered_labels(prior))
        return both_ways((a, b, 1) for a, b in found)

    def bounds(self, prior: Prior) -> list[Bound]:
        """(δ_x, δ_x') for neighbours, both ways."""
        every = self.neighbours == "all"
        return LDP(self.epsilon).bounds(prior) if every else super().bounds(prior)

    def factors(self, prior: Prior) -> Array:
        """One for neighbours."""
        found = np.full((len(prior), len(prior)), math.inf)
        for i, j in neighbour_pairs(self.neighbours, numbered_labels(prior)):
            found[i, j] = found[j, i] = 1.0
        return found


@dataclass(frozen=True)
class MetricPrivacy(PairLevels):
    """ε-metric privacy (d-privacy): P(y|x) ≤ e^{ε d(x,x')} P(y|x') for every y, x and x'.

    Parameters
    ----------
    epsilon : float
        Level in nats per unit of distance.
    distances : {"absolute", "hamming", "euclidean", "discrete"}, or an N×N matrix
        Names apply to labels that are numbers (``"absolute"``) or tuples; bins of numbers stand at
        their midpoints (:attr:`mechdesign.Bins.midpoints`). A matrix is in the order of the prior's
        labels; ``inf`` asks nothing of a pair. :meth:`graph` takes edges instead.

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
    promise = (
        "No report changes the odds between two inputs at distance 1 by more than "
        "{factor}, at distance d by more than the d-th power of that, whatever "
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

    def pairs(self, prior: Prior) -> list[tuple[int, int, Any]]:
        """Those that imply all others, at their distance, both ways."""
        return both_ways(deciding_pairs(self.distances, self._points(prior)))

    def factors(self, prior: Prior) -> Array:
        """All distances."""
        return distance_matrix(self.distances, self._points(prior))

    def _points(self, prior: Prior) -> tuple[Label, ...]:
        """What is at a distance: numbers of bins, where no distances between labels were given."""
        return numbered_labels(prior) if isinstance(self.distances, str) else prior.labels


# Neighbours


def checked_relation(relation: Any) -> Any:
    """A neighbour relation as data: a name, or a tuple of pairs of labels.

    Raises :class:`LevelError` for what is neither.
    """
    if isinstance(relation, str):
        if relation not in RELATIONS:
            raise UnknownNameError("neighbour relation", relation, RELATIONS)
        return relation
    if callable(relation) or not is_iterable(relation):
        raise LevelError(
            "neighbours",
            expected=f"a name among {', '.join(RELATIONS)}, or pairs of labels",
            got=quote(relation),
            remedy="list the pairs; DP.between(epsilon, function, labels) tabulates a function",
        )
    remedy = "write (a, b) for each pair; the relation is taken both ways"
    expected = "two different labels"
    return tuple(labelled(pair, "pair of neighbours", expected, remedy)[:2] for pair in relation)


def labelled(
    row: Any, subject: str, expected: str, remedy: str, counts: Sequence[int] = (0,)
) -> tuple[Any, ...]:
    """Two different labels and some numbers, or a :class:`LevelError`."""
    try:
        a, b, *numbers = row
        a, b = tidy(a), tidy(b)
        hash((a, b))
        good = not isinstance(row, str) and a != b and len(numbers) in counts
    except (TypeError, ValueError, OverflowError):
        good = False
    if not good:
        raise LevelError(subject, expected=expected, got=quote(row), remedy=remedy)
    return a, b, *numbers


def places_of(labels: Sequence[Label], wanted: Iterable[Label], subject: str) -> list[int]:
    """Positions of labels; :class:`LevelError` for one that the prior does not have."""
    known = {label: i for i, label in enumerate(labels)}
    found = []
    for label in wanted:
        if label not in known:
            raise unknown(subject, label, "name symbols of the prior")
        found.append(known[label])
    return found


def unknown(subject: str, label: Any, remedy: str) -> LevelError:
    """What is said of a label that the prior does not have."""
    return LevelError(
        subject,
        expected="labels of the prior",
        got=quote(label),
        remedy=f"{remedy} (text and numbers differ)",
    )


def neighbour_pairs(relation: Any, labels: Sequence[Label]) -> list[Pair]:
    """Unordered pairs of positions that a relation calls neighbours, in order, without repeats."""
    if relation == "adjacent":
        order = sorted(range(len(labels)), key=_numbers(labels, "adjacent").__getitem__)
        found: Iterable[Pair] = pairwise(order)
    elif relation == "hamming":
        found = _one_entry_apart(labels)
    elif relation == "all":
        found = ((i, j) for i in range(len(labels)) for j in range(i))
    else:
        sides = zip(*relation, strict=True) if relation else ((), ())
        found = zip(*(places_of(labels, side, "neighbours") for side in sides), strict=True)
    return sorted({(min(p), max(p)) for p in found})


def numbered_labels(prior: Prior) -> tuple[Label, ...]:
    """The labels of a prior with midpoints of bins in their place, in tuples too."""
    known = () if prior.schema is None else prior.schema.bins
    if not any(bins is not None for bins in known):
        return prior.labels
    tables: list[dict[Label, float]] = [{} if bins is None else bins.number_of for bins in known]
    if len(tables) == 1:
        return tuple(tables[0].get(label, label) for label in prior.labels)
    return tuple(
        tuple(table.get(part, part) for table, part in zip(tables, label, strict=True))
        for label in prior.labels
        if isinstance(label, tuple)
    )


def _one_entry_apart(labels: Sequence[Label]) -> Iterable[Pair]:
    """Databases that differ in exactly one entry, found by leaving each entry out in turn."""
    groups: dict[Any, list[int]] = defaultdict(list)
    for i, label in enumerate(databases(labels)):
        for place in range(len(label)):
            groups[(place, label[:place], label[place + 1 :])].append(i)
    for members in groups.values():
        for k, i in enumerate(members):
            for j in members[:k]:
                yield i, j


def databases(labels: Sequence[Label]) -> list[tuple[Any, ...]]:
    """Labels as databases: tuples of one length. A text is one value: its letters are no entries.

    Raises :class:`LevelError` for labels that are not.
    """
    found = [label for label in labels if isinstance(label, tuple)]
    sizes = set(map(len, found))
    if len(found) < len(labels) or len(sizes) != 1 or 0 in sizes:
        raise LevelError(
            "databases",
            expected="labels that are tuples of one length, one entry per individual",
            got=f"labels such as {quote(labels[0])} and {quote(labels[-1])}",
            remedy='label the symbols with tuples, such as ("0", "1"), or list the pairs of '
            "neighbours",
        )
    return found


def _numbers(labels: Sequence[Label], name: str) -> list[Fraction]:
    found: list[Fraction] = []
    label: Label = None
    try:
        for label in labels:
            if isinstance(label, (str, bool)):
                raise TypeError
            found.append(fraction(label))
            if name == "euclidean" and found[-1].denominator == 1 and float(found[-1]) != found[-1]:
                raise OverflowError  # its distances to others would be rounded
        return found
    except (TypeError, ValueError, OverflowError):
        raise LevelError(
            f"relation {quote(name)}",
            expected="labels that are finite numbers"
            + " which doubles hold" * (name == "euclidean"),
            got=f"labels such as {quote(label)}",
            remedy="label the symbols with numbers, or give the pairs or distances yourself",
        ) from None


# Distances


def checked_distances(distances: Any) -> Any:
    """A metric as data: a name, ``("graph", edges)`` or ``("matrix", rows)``.

    Raises :class:`LevelError` for negative, asymmetric or missing distances.
    """
    if isinstance(distances, str):
        if distances not in METRICS:
            raise UnknownNameError("metric", distances, METRICS)
        return distances
    if isinstance(distances, tuple) and len(distances) == 2 and distances[0] == "graph":
        if not isinstance(distances[1], Iterable):
            _edge(distances[1])
        return ("graph", tuple(_edge(edge) for edge in distances[1]))
    if isinstance(distances, tuple) and len(distances) == 2 and distances[0] == "matrix":
        distances = distances[1]
    if callable(distances):
        raise LevelError(
            "distances",
            expected=f"a name among {', '.join(METRICS)}, a matrix, or MetricPrivacy.graph(...)",
            got="a function",
            remedy="MetricPrivacy.between(epsilon, function, labels) tabulates it",
        )
    return ("matrix", _matrix(distances))


def _edge(edge: Any) -> tuple[Label, Label, Any]:
    told = (
        "edge of a graph",
        "two labels and a positive length",
        "write (a, b, 1.0); leave out edges of infinite length, merge equal symbols",
    )
    a, b, length = labelled(edge, *told, counts=(1,))
    good = isinstance(length, (int, float, Fraction)) and not isinstance(length, bool)
    if not good or not 0 < length < math.inf:
        raise LevelError(told[0], expected=told[1], got=quote(edge), remedy=told[2])
    return a, b, length


def _matrix(values: Any) -> tuple[tuple[float, ...], ...]:
    held = float_array(values)
    matrix = np.zeros(0) if held is None else held
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise LevelError(
            "distances",
            expected="an N×N matrix of numbers",
            got=f"shape {matrix.shape}",
            remedy="give one row and one column per symbol, in the order of the prior",
        )
    wrong = np.isnan(matrix) | (matrix < 0) | (matrix != matrix.T)
    wrong |= np.eye(len(matrix), dtype=bool) & (matrix != 0)
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise LevelError(
            "distances",
            expected="a symmetric matrix of non-negative numbers with zeros on the diagonal",
            got=f"{matrix[i, j]} and {matrix[j, i]} between symbols {i} and {j}",
            remedy="correct the entry; inf asks nothing of a pair",
        )
    return tuple(tuple(row) for row in matrix.tolist())


def distance_matrix(distances: Any, labels: Sequence[Label]) -> Array:
    """All distances, ``(N, N)``; ``inf`` where nothing is asked of a pair."""
    n = len(labels)
    if distances == "absolute":
        x = np.array([float(v) for v in _numbers(labels, "absolute")])
        return np.abs(x[:, None] - x[None, :])
    if distances == "discrete":
        return 1.0 - np.eye(n)
    if distances == "hamming":
        codes: dict[Any, int] = {}
        rows = [[codes.setdefault(v, len(codes)) for v in label] for label in databases(labels)]
        table = np.array(rows)
        return np.stack([(table != row).sum(axis=1) for row in table]).astype(float)
    if distances == "euclidean":
        points = np.array(
            [[float(v) for v in _numbers(label, "euclidean")] for label in databases(labels)]
        )
        return np.stack([np.sqrt(((points - row) ** 2).sum(axis=1)) for row in points])
    kind, content = distances
    if kind == "matrix":
        if len(content) != n:
            raise LevelError(
                "distances",
                expected=f"a {n}×{n} matrix, one row per symbol of the prior",
                got=f"{len(content)} rows",
                remedy="give one row and one column per symbol, in the order of the prior",
            )
        return np.array(content)
    return _shortest_paths(content, labels)


def _shortest_paths(edges: Any, labels: Sequence[Label]) -> Array:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import shortest_path

    shortest: dict[Pair, float] = {}
    for i, j, length in _edges(edges, labels):
        pair = min(i, j), max(i, j)
        shortest[pair] = min(float(length), shortest.get(pair, math.inf))
    rows, columns = zip(*shortest, strict=True) if shortest else ((), ())
    graph = coo_array((list(shortest.values()), (rows, columns)), shape=(len(labels),) * 2)
    return np.asarray(shortest_path(graph.tocsr(), directed=False))


def _edges(edges: Any, labels: Sequence[Label]) -> list[tuple[int, int, Any]]:
    found = [places_of(labels, edge[:2], "edges of a graph") for edge in edges]
    return [(i, j, edge[2]) for (i, j), edge in zip(found, edges, strict=True)]


def deciding_pairs(distances: Any, labels: Sequence[Label]) -> list[tuple[int, int, Any]]:
    """Unordered pairs with their distances, such that asking these is asking all of them.

    A pair (x, x') is left out when some z lies exactly between, d(x,z) + d(z,x') ≤ d(x,x') with
    both parts positive: then e^{ε d(x,z)} e^{ε d(z,x')} ≤ e^{ε d(x,x')}, and as both parts are
    shorter, nothing is left out in a circle. Sums of floats are compared exactly. On a line these
    are the consecutive symbols, on a graph the edges.
    """
    if distances == "absolute":
        numbers = _numbers(labels, "absolute")
        order = sorted(range(len(labels)), key=numbers.__getitem__)
        return [(a, b, numbers[b] - numbers[a]) for a, b in pairwise(order)]
    if distances[0] == "graph":
        return _edges(distances[1], labels)
    matrix = distance_matrix(distances, labels)
    twins: list[tuple[int, int, Any]] = []
    kept: list[int] = []
    for i in range(len(matrix)):
        first = int(np.flatnonzero(matrix[i] == 0)[0])
        # Symbols at distance zero of one another: all tied to the first of them.
        if first < i and matrix[first, first] == 0:
            twins.append((first, i, 0.0))
        else:
            kept.append(i)
    if twins:
        # Ties need not be transitive in a matrix that is no metric: then every pair is asked.
        reduced = matrix[np.ix_(kept, kept)]
        whole = all(np.array_equal(matrix[a], matrix[b]) for a, b, _ in twins)
        if not whole:
            n = len(matrix)
            every = [(i, j, matrix[i, j]) for i in range(n) for j in range(i)]
            return [(i, j, float(d)) for i, j, d in every if d < math.inf]
    else:
        reduced = matrix
    rows, columns = _needed(reduced)
    return twins + [
        (kept[i], kept[j], float(reduced[i, j]))
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
    ]


#: Entries of matrices that are compared at a time.
_TOGETHER = 20_000


def _needed(matrix: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs at finite distances that have no third symbol exactly between them."""
    rows, columns = np.nonzero(np.triu(matrix < math.inf, 1))
    # In random order, so that most pairs are done with early where few are needed.
    order = np.random.default_rng(0).permutation(len(matrix))
    while len(order):
        some, order = np.split(order, [max(1, _TOGETHER // max(1, len(rows)))])
        # Chosen symbols first: rows of the matrix for all pairs at once would fill the memory.
        left, right = matrix[:, some][rows], matrix[some].T[columns]
        total, whole = left + right, matrix[rows, columns]
        near, z = np.nonzero((total <= whole[:, None]) & (left > 0) & (right > 0))
        left, right, total, whole = left[near, z], right[near, z], total[near, z], whole[near]
        # The rounding error of a sum of two floats is itself a float (Knuth).
        part = total - left
        error = (left - (total - part)) + (right - part)
        kept = np.ones(len(rows), dtype=bool)
        kept[near[(total < whole) | ((total == whole) & (error <= 0))]] = False
        rows, columns = rows[kept], columns[kept]
    return rows, columns
