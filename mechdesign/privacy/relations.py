"""Relations between symbols: which are neighbours, how far apart they are, which pairs decide.

Relations are kept as data (names, pairs of labels, matrices), so that a notion that carries one can
be compared, fingerprinted and saved.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LevelError, UnknownNameError, is_iterable, quote
from ..exact import fraction
from ..labels import Label, tidy

#: An unordered or ordered pair of positions.
Pair = tuple[int, int]

RELATIONS = ("adjacent", "hamming", "all")
METRICS = ("absolute", "hamming", "euclidean", "discrete")


# Neighbours


def checked_relation(relation: Any) -> Any:
    """A neighbour relation as data: a name, or a tuple of pairs of labels.

    Raises :class:`LevelError` for what is neither.
    """
    if isinstance(relation, str):
        if not isinstance(relation, str) or relation not in RELATIONS:
            raise UnknownNameError("neighbour relation", relation, RELATIONS)
        return relation
    if callable(relation) or not is_iterable(relation):
        raise LevelError(
            "neighbours",
            expected=f"a name among {', '.join(RELATIONS)}, or pairs of labels",
            got=quote(relation),
            remedy="list the pairs; DP.between(epsilon, function, labels) tabulates a function",
        )
    return tuple(_pair(pair) for pair in relation)


def _pair(pair: Any) -> tuple[Label, Label]:
    try:
        a, b = pair
        a, b = tidy(a), tidy(b)
        hash((a, b))
    except (TypeError, ValueError, OverflowError):
        a = b = None
    if isinstance(pair, str) or a == b:
        raise LevelError(
            "pair of neighbours",
            expected="two different labels",
            got=quote(pair),
            remedy="write (a, b) for each pair; the relation is taken both ways",
        )
    return a, b


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
        place = {label: i for i, label in enumerate(labels)}
        found = ((_find(a, place), _find(b, place)) for a, b in relation)
    return sorted({(min(p), max(p)) for p in found})


def _find(label: Label, place: Mapping[Label, int]) -> int:
    if label not in place:
        raise LevelError(
            "neighbours",
            expected="pairs of symbols of the prior",
            got=quote(label),
            remedy="use the labels of the prior (text and numbers differ)",
        )
    return place[label]


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
    """Labels as databases: tuples (or texts) of one length.

    Raises :class:`LevelError` for labels that are not.
    """
    found = [tuple(label) if isinstance(label, (tuple, str)) else None for label in labels]
    sizes = {len(label) for label in found if label is not None}
    if None in found or len(sizes) != 1 or 0 in sizes:
        raise LevelError(
            "databases",
            expected="labels that are tuples of one length, one entry per individual",
            got=f"labels such as {quote(labels[0])} and {quote(labels[-1])}",
            remedy="label the symbols with tuples, or list the pairs of neighbours",
        )
    return [label for label in found if label is not None]


def _numbers(labels: Sequence[Label], name: str) -> list[Fraction]:
    try:
        if any(isinstance(label, (str, bool)) for label in labels):
            raise TypeError
        return [fraction(label) for label in labels]
    except (TypeError, ValueError, OverflowError):
        raise LevelError(
            f"relation {quote(name)}",
            expected="labels that are finite numbers",
            got=f"labels such as {quote(labels[0])}",
            remedy="label the symbols with numbers, or give the pairs or distances yourself",
        ) from None


# Distances


def checked_distances(distances: Any) -> Any:
    """A metric as data: a name, ``("graph", edges)`` or ``("matrix", rows)``.

    Raises :class:`LevelError` for negative, asymmetric or missing distances.
    """
    if isinstance(distances, str):
        if not isinstance(distances, str) or distances not in METRICS:
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
    try:
        a, b, length = edge
    except (TypeError, ValueError, OverflowError):
        a, b, length = None, None, None
    good = isinstance(length, (int, float, Fraction)) and not isinstance(length, bool)
    if not good or not 0 < length < math.inf:
        raise LevelError(
            "edge of a graph",
            expected="two labels and a positive length",
            got=quote(edge),
            remedy="write (a, b, 1.0); leave out edges of infinite length, merge equal symbols",
        )
    return (*_pair((a, b)), length)


def _matrix(values: Any) -> tuple[tuple[float, ...], ...]:
    try:
        matrix = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        matrix = np.zeros(0)
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


def distance_matrix(distances: Any, labels: Sequence[Label]) -> NDArray[np.float64]:
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


def _shortest_paths(edges: Any, labels: Sequence[Label]) -> NDArray[np.float64]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import shortest_path

    place = {label: i for i, label in enumerate(labels)}
    shortest: dict[Pair, float] = {}
    for a, b, length in edges:
        i, j = sorted((_find(a, place), _find(b, place)))
        shortest[i, j] = min(float(length), shortest.get((i, j), math.inf))
    rows = [i for i, _ in shortest]
    columns = [j for _, j in shortest]
    graph = coo_array((list(shortest.values()), (rows, columns)), shape=(len(labels),) * 2)
    return np.asarray(shortest_path(graph.tocsr(), directed=False))


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
        place = {label: i for i, label in enumerate(labels)}
        return [(_find(a, place), _find(b, place), length) for a, b, length in distances[1]]
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
    needed = ~_between(reduced) & (reduced < math.inf)
    rows, columns = np.nonzero(np.triu(needed, 1))
    return twins + [
        (kept[i], kept[j], float(reduced[i, j]))
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
    ]


def _between(matrix: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which pairs have some third symbol exactly between them."""
    found = np.zeros(matrix.shape, dtype=bool)
    with np.errstate(invalid="ignore"):
        for z in range(len(matrix)):
            left, right = matrix[:, z][:, None], matrix[z][None, :]
            total = left + right
            # The rounding error of a sum of two floats is itself a float (Knuth).
            part = total - left
            error = (left - (total - part)) + (right - part)
            within = (total < matrix) | ((total == matrix) & (error <= 0))
            found |= within & (left > 0) & (right > 0)
    return found
