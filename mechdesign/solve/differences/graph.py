"""Bounds on pairs of symbols as arcs of a graph: k_u ≤ w k_v for the columns k of a kernel.

Some of the nodes may be mixtures of symbols, such as the prior, with k_v = pᵀk: bounds on the lift.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...privacy.rows import Multipliers
from ...program.program import LinearProgram

Array = NDArray[np.float64]
Places = NDArray[np.intp]

#: Arcs of a length up to this multiple of the shortest at one of their ends come in from the start.
_NEAR = 1.5
#: With no more arcs than this for each symbol all come in from the start.
_FEW = 6
#: Mixtures that are nodes beside the symbols at most: each makes the blocks of all outputs fuller.
MOST_MIXTURES = 8
#: Factors are cut off here: entries that differ by more mean nothing in 53 bits.
LARGEST_FACTOR = 1e13


@dataclass(frozen=True, eq=False)
class Arcs:
    """k_u ≤ w k_v for each arc; where u is −1 only 0 ≤ k_v.

    Attributes
    ----------
    symbols : number of symbols n
    over, under : ``(A,)`` positions u and v, those of mixtures from n on
    factors : ``(A,)`` w ≥ 1
    mixtures : ``(e, n)`` the masses of each mixture
    """

    symbols: int
    over: Places
    under: Places
    factors: Array
    mixtures: Array

    def __len__(self) -> int:
        return len(self.over)

    def on(self, chosen: Any) -> Arcs:
        """Some of the arcs."""
        parts = self.over[chosen], self.under[chosen], self.factors[chosen]
        return Arcs(self.symbols, *parts, self.mixtures)

    @property
    def nodes(self) -> int:
        """Symbols and mixtures."""
        return self.symbols + len(self.mixtures)

    @cached_property
    def between(self) -> NDArray[np.bool_]:
        """Which arcs join two symbols."""
        found: NDArray[np.bool_] = (self.over >= 0) & (
            np.maximum(self.over, self.under) < self.symbols
        )
        return found

    def at_nodes(self, columns: Array) -> Array:
        """What columns ``(n, m)`` are at symbols and mixtures, ``(n + e, m)``."""
        if not len(self.mixtures):
            return columns
        return np.concatenate([columns, self.mixtures @ columns])

    @cached_property
    def matrix(self) -> Any:
        """Rows w k_v − k_u, sparse ``(A, n)``."""
        from scipy import sparse

        if not len(self.mixtures):
            return self.of_nodes
        of_symbols = sparse.vstack([sparse.eye_array(self.symbols), self.mixtures])
        return self.of_nodes @ of_symbols.tocsr()

    @cached_property
    def of_nodes(self) -> Any:
        """The rows over symbols and mixtures, sparse ``(A, n + e)``."""
        from scipy.sparse import csr_array

        count, paired = len(self), self.over >= 0
        values, places = np.empty((count, 2)), np.empty((count, 2), dtype=np.int32)
        values[:, 0], values[:, 1] = self.factors, -1.0
        places[:, 0], places[:, 1] = self.under, self.over
        kept = np.stack([np.ones(count, dtype=bool), paired], axis=1)
        ends = np.concatenate([[0], np.cumsum(1 + paired)]).astype(np.int32)
        return csr_array((values[kept], places[kept], ends), shape=(count, self.nodes))

    @cached_property
    def transposed(self) -> Any:
        """The columns of the rows."""
        return self.matrix.T.tocsr()

    @cached_property
    def squares(self) -> Any:
        """Squares of the rows over symbols and mixtures, ``(n + e, A)``."""
        found = self.of_nodes.T.tocsr()
        found.data **= 2
        return found

    @cached_property
    def room(self) -> Array:
        """Slack of a constant column as a share of w k_v, ``(A, 1)``."""
        found: Array = (1 - 1 / self.factors)[:, None]
        return found

    def shrunk(self, share: float) -> Any:
        """Rows that are negative where the slack is below a share of a constant column's."""
        less = self.factors - share * (self.factors - 1)
        return Arcs(self.symbols, self.over, self.under, less, self.mixtures).matrix

    def largest(self, columns: Array) -> Array:
        """What slacks are measured against, w k_v, ``(A, m)``."""
        found: Array = self.at_nodes(columns)[self.under] * self.factors[:, None]
        return found


@dataclass(frozen=True, eq=False)
class Rows:
    """How symbols are added up in the row sums: one sum for each orbit of symbols.

    Attributes
    ----------
    orbits : ``(n,)`` number of the orbit of each symbol
    """

    orbits: Places

    @cached_property
    def sizes(self) -> Array:
        """Symbols in each orbit."""
        return np.bincount(self.orbits).astype(float)

    @property
    def size(self) -> int:
        """Number of orbits."""
        return len(self.sizes)

    @property
    def is_whole(self) -> bool:
        """Whether every symbol is an orbit of its own, in order."""
        return bool(np.array_equal(self.orbits, np.arange(len(self.orbits))))

    @cached_property
    def _matrix(self) -> Any:
        from scipy import sparse

        n = len(self.orbits)
        return sparse.csr_array((np.ones(n), (self.orbits, np.arange(n))), shape=(self.size, n))

    def add_up(self, columns: Array) -> Array:
        """Sums over each orbit, of ``(n, ...)`` numbers."""
        found: Array = columns if self.is_whole else self._matrix @ columns
        return found


@dataclass(frozen=True, eq=False)
class Graph:
    """The arcs that a cone amounts to, each with the row of the part that asks most.

    Attributes
    ----------
    arcs : the tightest between each two symbols
    parts : ``(A,)`` number of the part of the cone; −1 for non-negative entries
    places : ``(A,)`` number of the pair in that part
    shares : ``(A,)`` the factor of the arc as a share of what was asked, below one where it was cut
    """

    arcs: Arcs
    parts: Places
    places: Places
    shares: Array

    def multipliers(
        self, program: LinearProgram, arcs: Places, outputs: Places, values: Array
    ) -> tuple[Multipliers, ...]:
        """Dual variables of each part from those of some arcs at some outputs."""
        found = []
        # What is taken from k_v stays as it is; the little that is given to k_u falls.
        values = values * self.shares[arcs]
        for number, part in enumerate(program.cone.parts):
            own = self.parts[arcs] == number
            places = self.places[arcs[own]]
            found.append(part.from_differences(places, outputs[own], values[own], program.shape[1]))
        return tuple(found)

    @cached_property
    def first(self) -> NDArray[np.bool_]:
        """Arcs that come in from the start: short ones, such that all symbols stay connected."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import minimum_spanning_tree

        arcs = self.arcs
        n, paired = arcs.symbols, arcs.between
        if len(arcs) <= _FEW * n:
            return np.ones(len(arcs), dtype=bool)
        # A length of zero would be no arc.
        lengths = np.log(arcs.factors) + 1e-300
        u, v = arcs.over[paired], arcs.under[paired]
        shortest = np.full(n, np.inf)
        np.minimum.at(shortest, u, lengths[paired])
        np.minimum.at(shortest, v, lengths[paired])
        chosen = ~paired
        near = np.minimum(shortest[u], shortest[v])
        chosen[paired] = lengths[paired] <= _NEAR * near * (1 + 1e-9)
        tree = minimum_spanning_tree(csr_array((lengths[paired], (u, v)), shape=(n, n))).tocoo()
        kept = np.zeros((n, n), dtype=bool)
        kept[tree.coords] = True
        chosen[paired] |= kept[u, v] | kept[v, u]
        return chosen


class _Mixtures:
    """Mixtures of symbols that bounds compare, each once."""

    def __init__(self, symbols: int) -> None:
        self.symbols = symbols
        self.rows: dict[bytes, Array] = {}

    def nodes(self, rows: Array) -> Places:
        """The nodes of the symbols and of some mixtures after them."""
        nodes = np.arange(self.symbols + len(rows))
        for number, row in enumerate(rows, start=self.symbols):
            self.rows.setdefault(row.tobytes(), row)
            nodes[number] = self.symbols + list(self.rows).index(row.tobytes())
        return nodes


def graph_of(program: LinearProgram) -> Graph | str:
    """The arcs of a program's cone, or why it has none that a method can work with."""
    n = program.shape[0]
    over, under, factors, parts, places = [], [], [], [], []
    mixtures = _Mixtures(n)
    is_apart = False
    for number, part in enumerate(program.cone.parts):
        found = part.differences(MOST_MIXTURES)
        if found is None:
            return f"a bound compares more than {MOST_MIXTURES} mixtures of symbols or all of a set"
        u, v, w, rows = found
        nodes = mixtures.nodes(rows)
        u, v = nodes[u], nodes[v]
        asked = np.flatnonzero((u != v) & np.isfinite(w))
        # Rows of an auxiliary variable say the same with far fewer entries.
        is_apart |= not part.auxiliaries and bool((np.maximum(u, v)[asked] < n).any())
        over.append(u[asked])
        under.append(v[asked])
        factors.append(w[asked])
        parts.append(np.full(len(asked), number))
        places.append(asked)
    if not over or not sum(map(len, over)):
        return "there are no bounds"
    if len(mixtures.rows) > MOST_MIXTURES:
        return f"the bounds compare more than {MOST_MIXTURES} mixtures of symbols"
    u, v, w = np.concatenate(over), np.concatenate(under), np.concatenate(factors)
    if mixtures.rows and not is_apart:
        return "beside bounds on mixtures none compares two symbols with a factor of their own"
    which, where = np.concatenate(parts), np.concatenate(places)
    if w.min() <= 1:
        return "a level of zero ties symbols together"
    # The tightest of several between the same symbols, in the same direction.
    order = np.lexsort((w, v, u))
    kept = np.ones(len(order), dtype=bool)
    kept[1:] = (np.diff(u[order]) != 0) | (np.diff(v[order]) != 0)
    order = order[kept]
    u, v, w, which, where = u[order], v[order], w[order], which[order], where[order]
    # Bounds both ways keep both entries from being negative, as their product is above one.
    lone = np.ones(n, dtype=bool)
    size = n + len(mixtures.rows)
    back = np.isin(u * size + v, v * size + u) & (np.maximum(u, v) < n)
    lone[u[back]] = lone[v[back]] = False
    alone = np.flatnonzero(lone)
    none = np.full(len(alone), -1)
    arcs = Arcs(
        n,
        np.concatenate([u, none]),
        np.concatenate([v, alone]),
        np.concatenate([np.minimum(w, LARGEST_FACTOR), np.ones(len(alone))]),
        np.array(list(mixtures.rows.values())).reshape(-1, n),
    )
    shares = np.concatenate([np.minimum(1.0, LARGEST_FACTOR / w), np.ones(len(alone))])
    return Graph(arcs, np.concatenate([which, none]), np.concatenate([where, none]), shares)
