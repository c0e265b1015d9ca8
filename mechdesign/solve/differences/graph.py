"""Bounds on pairs of symbols as arcs of a graph: k_u ≤ w k_v for the columns k of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...privacy.rows import Multipliers
from ..program import LinearProgram

Array = NDArray[np.float64]
Places = NDArray[np.intp]

#: Arcs of a length up to this multiple of the shortest at one of their ends come in from the start.
_NEAR = 1.5
#: With no more arcs than this for each symbol all come in from the start.
_FEW = 6
#: Factors are cut off here: entries that differ by more mean nothing in 53 bits.
LARGEST_FACTOR = 1e13


@dataclass(frozen=True, eq=False)
class Arcs:
    """k_u ≤ w k_v for each arc; where u is −1 only 0 ≤ k_v.

    Attributes
    ----------
    symbols : number of symbols n
    over, under : ``(A,)`` positions u and v
    factors : ``(A,)`` w ≥ 1
    """

    symbols: int
    over: Places
    under: Places
    factors: Array

    def __len__(self) -> int:
        return len(self.over)

    def on(self, chosen: Any) -> Arcs:
        """Some of the arcs."""
        return Arcs(self.symbols, self.over[chosen], self.under[chosen], self.factors[chosen])

    @cached_property
    def matrix(self) -> Any:
        """Rows w k_v − k_u, sparse ``(A, n)``."""
        from scipy.sparse import csr_array

        count, paired = len(self), self.over >= 0
        values, places = np.empty((count, 2)), np.empty((count, 2), dtype=np.int32)
        values[:, 0], values[:, 1] = self.factors, -1.0
        places[:, 0], places[:, 1] = self.under, self.over
        kept = np.stack([np.ones(count, dtype=bool), paired], axis=1)
        ends = np.concatenate([[0], np.cumsum(1 + paired)]).astype(np.int32)
        return csr_array((values[kept], places[kept], ends), shape=(count, self.symbols))

    @cached_property
    def transposed(self) -> Any:
        """The columns of the rows."""
        return self.matrix.T.tocsr()

    @cached_property
    def squares(self) -> Any:
        """Their squares, ``(n, A)``."""
        found = self.transposed.copy()
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
        return Arcs(self.symbols, self.over, self.under, less).matrix

    def largest(self, columns: Array) -> Array:
        """What slacks are measured against, w k_v, ``(A, m)``."""
        found: Array = columns[self.under] * self.factors[:, None]
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
        n, paired = arcs.symbols, arcs.over >= 0
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


def graph_of(program: LinearProgram) -> Graph | str:
    """The arcs of a program's cone, or why it has none that a method can work with."""
    n = program.shape[0]
    over, under, factors, parts, places = [], [], [], [], []
    for number, part in enumerate(program.cone.parts):
        found = part.differences()
        if found is None:
            return "a bound compares something other than two symbols"
        u, v, w = found
        asked = np.flatnonzero((u != v) & np.isfinite(w))
        over.append(u[asked])
        under.append(v[asked])
        factors.append(w[asked])
        parts.append(np.full(len(asked), number))
        places.append(asked)
    if not over or not sum(map(len, over)):
        return "there are no bounds"
    u, v, w = np.concatenate(over), np.concatenate(under), np.concatenate(factors)
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
    back = np.isin(u * n + v, v * n + u)
    lone[u[back]] = lone[v[back]] = False
    alone = np.flatnonzero(lone)
    none = np.full(len(alone), -1)
    arcs = Arcs(
        n,
        np.concatenate([u, none]),
        np.concatenate([v, alone]),
        np.concatenate([np.minimum(w, LARGEST_FACTOR), np.ones(len(alone))]),
    )
    shares = np.concatenate([np.minimum(1.0, LARGEST_FACTOR / w), np.ones(len(alone))])
    return Graph(arcs, np.concatenate([which, none]), np.concatenate([where, none]), shares)
