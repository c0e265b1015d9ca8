"""Permutations of symbols and outputs that leave objective and bounds alone, and what they save.

The average of a kernel over such a group is as good and as private as the kernel, so that one
output of each orbit decides. Generators are found by colours: symbols and outputs get the same one
while nothing tells them apart; fixing symbols one after the other keeps all apart, and what maps
one series of fixed symbols to another is checked entry by entry [McKay2014].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .graph import Arcs, Array, Places, Rows

Colours = NDArray[np.uint64]
#: Symbols of one group of positions (π of symbols, τ of outputs).
Generator = tuple[Places, Places]

# Symbols that are fixed at most, and maps that are tried.
_FIXED, _TRIES = 8, 400
# Entries that differ by less, relative to the largest, are taken for equal.
_SAME = 1e-11


def generators(c: Array, arcs: Arcs) -> list[Generator]:
    """Generators of the group that leaves an objective ``(n, m)`` and all arcs alone."""
    return _Search(c, arcs).run()


class _Search:
    def __init__(self, c: Array, arcs: Arcs) -> None:
        n = len(c)
        self.c = c / (float(np.abs(c).max()) or 1.0)
        self.levels = np.zeros((n, n))
        paired = arcs.between
        logs = np.log(arcs.factors[paired])
        self.levels[arcs.over[paired], arcs.under[paired]] = logs / float(logs.max())
        # What tells symbols apart beside each other: their masses in mixtures, and arcs to these.
        self.marks = _marks(arcs)
        self.kinds = np.zeros(n, dtype=np.intp)
        if self.marks.size:
            kinds = np.unique(np.round(self.marks, 10), axis=0, return_inverse=True)[1]
            self.kinds = kinds.ravel()
        codes = np.random.default_rng(0)
        # Odd numbers by which colours are multiplied, one for each value.
        self.weights, self.gains = (
            codes.integers(1, 2**63, size=count, dtype=np.uint64)[places] | np.uint64(1)
            for places, count in (_classes(self.levels), _classes(self.c))
        )

    def run(self) -> list[Generator]:
        """Fix symbols until all are told apart; then look for maps of each to others like it."""
        fixed: list[int] = []
        while True:
            colours = self.refined(fixed)[0]
            _, places, counts = np.unique(colours, return_inverse=True, return_counts=True)
            if counts.max() == 1:
                break
            if len(fixed) == _FIXED:
                return []
            smallest = np.flatnonzero(counts > 1)[counts[counts > 1].argmin()]
            fixed.append(int(np.flatnonzero(places == smallest)[0]))
        found: list[Generator] = []
        tries = 0
        for depth in range(len(fixed) - 1, -1, -1):
            colours = self.refined(fixed[:depth])[0]
            alike = np.flatnonzero(colours == colours[fixed[depth]])
            for other in alike.tolist():
                orbits = orbits_of([g[0] for g in found], len(self.c))
                if orbits[other] == orbits[fixed[depth]]:
                    continue
                tries += 1
                if tries > _TRIES:
                    return found
                generator = self.extended(fixed, [*fixed[:depth], other])
                if generator is not None:
                    found.append(generator)
        return found

    def extended(self, fixed: list[int], images: list[int]) -> Generator | None:
        """A permutation that maps fixed symbols to the images given, and the others after them."""
        for depth in range(len(images), len(fixed)):
            mine, theirs = self.refined(fixed[:depth])[0], self.refined(images)[0]
            like = np.flatnonzero(theirs == mine[fixed[depth]])
            if not len(like):
                return None
            images = [*images, int(like[0])]
        pairs = zip(self.refined(fixed), self.refined(images), strict=True)
        symbols, outputs = (_matched(a, b) for a, b in pairs)
        if symbols is None or outputs is None:
            return None
        return (symbols, outputs) if self.leaves_alone(symbols, outputs) else None

    def leaves_alone(self, symbols: Places, outputs: Places) -> bool:
        """Whether bounds and objective are the same after permutations of symbols and outputs."""
        changes = (
            self.levels[np.ix_(symbols, symbols)] - self.levels,
            self.marks[symbols] - self.marks,
            self.c[np.ix_(symbols, outputs)] - self.c,
        )
        return max(float(np.abs(change).max(initial=0.0)) for change in changes) <= _SAME

    def refined(self, fixed: list[int]) -> tuple[Colours, Colours]:
        """Colours of symbols and outputs, with some symbols told apart from all others."""
        n, m = self.c.shape
        symbols, outputs = self.kinds.astype(np.uint64), np.ones(m, dtype=np.uint64)
        symbols[fixed] = np.arange(n, n + len(fixed), dtype=np.uint64)
        count = -1
        while count != (count := len(np.unique(symbols)) + len(np.unique(outputs))):
            first, second = _mixed(symbols), _mixed(outputs)
            around = _mixed(self.weights * first[None, :]).sum(axis=1, dtype=np.uint64)
            back = _mixed(self.weights * first[:, None]).sum(axis=0, dtype=np.uint64)
            across = _mixed(self.gains * second[None, :]).sum(axis=1, dtype=np.uint64)
            down = _mixed(self.gains * first[:, None]).sum(axis=0, dtype=np.uint64)
            symbols = _mixed(first + around + _mixed(back) + np.uint64(3) * across)
            outputs = _mixed(second + down)
        return symbols, outputs


def _marks(arcs: Arcs) -> Array:
    """Of each symbol: its masses in all mixtures, and the levels of its arcs from and to them."""
    n, count = arcs.symbols, len(arcs.mixtures)
    levels = np.zeros((2, n, count))
    logs = np.log(arcs.factors) / math.log(float(arcs.factors.max()))
    for way, (symbol, mixture) in enumerate(((arcs.over, arcs.under), (arcs.under, arcs.over))):
        own = (symbol >= 0) & (symbol < n) & (mixture >= n)
        levels[way, symbol[own], mixture[own] - n] = logs[own]
    return np.concatenate([arcs.mixtures.T, *levels], axis=1)


def _classes(values: Array) -> tuple[NDArray[np.intp], int]:
    """The number of the value at each entry, up to rounding, and how many values there are."""
    found, places = np.unique(np.round(values, 10), return_inverse=True)
    return places.reshape(values.shape), len(found)


def _mixed(values: Colours) -> Colours:
    """Numbers that look random, one for each number [Steele2014]."""
    found = values + np.uint64(0x9E3779B97F4A7C15)
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return found ^ (found >> np.uint64(31))


def _matched(first: Colours, second: Colours) -> Places | None:
    """Where each colour of the first stands in the second; ``None`` where these differ."""
    a, b = np.argsort(first, kind="stable"), np.argsort(second, kind="stable")
    if not np.array_equal(first[a], second[b]):
        return None
    found = np.empty(len(a), dtype=np.intp)
    found[a] = b
    return found


def orbits_of(permutations: list[Places], n: int) -> Places:
    """Number of the orbit of each of n things."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    start = np.tile(np.arange(n), len(permutations))
    end = np.concatenate([np.zeros(0, dtype=np.intp), *permutations])
    graph = csr_array((np.ones(len(end)), (start, end)), shape=(n, n))
    found: Places = connected_components(graph, directed=False)[1]
    return found


@dataclass(frozen=True, eq=False)
class Symmetry:
    """What a group leaves of a problem.

    Attributes
    ----------
    rows : orbits of symbols
    outputs : ``(r,)`` one output of each orbit
    counts : ``(r,)`` outputs in its orbit
    members : ``(m,)`` number of the orbit of each output
    images : ``(m, n)`` a permutation of symbols with which the chosen output becomes this one
    pairs : ``(n, m)`` number of the orbit of each symbol with each output
    """

    rows: Rows
    outputs: Places
    counts: Array
    members: Places
    images: Places
    pairs: Places

    def columns(self, chosen: Array) -> Array:
        """The kernel ``(n, m)`` of columns ``(n, r)`` of the chosen outputs."""
        own = self.pairs[:, self.outputs].ravel()
        sums = np.bincount(own, chosen.ravel())
        found: Array = (sums / np.maximum(np.bincount(own), 1))[self.pairs]
        return found

    def spread(
        self, arcs: Arcs, places: Places, outputs: Places, values: Array
    ) -> tuple[Places, Places, Array]:
        """Multipliers of arcs at chosen outputs, at all outputs."""
        size = arcs.nodes
        number = np.full((size + 1, size), -1)
        number[arcs.over, arcs.under] = np.arange(len(arcs))
        order = np.argsort(outputs, kind="stable")
        ends = np.searchsorted(outputs[order], np.arange(len(self.outputs) + 1))
        found: list[tuple[Any, ...]] = []
        mixtures = np.arange(arcs.symbols, size)
        for y, member in enumerate(self.members.tolist()):
            own = order[ends[member] : ends[member + 1]]
            to = np.concatenate([self.images[y], mixtures, [-1]])
            u, v = to[arcs.over[places[own]]], to[arcs.under[places[own]]]
            found.append((number[u, v], np.full(len(own), y), values[own]))
        spread, where, what = (np.concatenate(part) for part in zip(*found, strict=True))
        return spread, where, what


def symmetry_of(c: Array, found: list[Generator]) -> Symmetry:
    """Orbits of the group that some generators make; of the trivial one where there are none."""
    n, m = c.shape
    symbols = orbits_of([g[0] for g in found], n)
    members = orbits_of([g[1] for g in found], m)
    pairs = orbits_of([(g[0][:, None] * m + g[1][None, :]).ravel() for g in found], n * m)
    outputs = np.unique(members, return_index=True)[1]
    images = np.tile(np.arange(n), (m, 1))
    reached = np.zeros(m, dtype=bool)
    reached[outputs] = True
    open_ones = outputs.tolist()
    while open_ones:
        y = open_ones.pop()
        for permutation, of_outputs in found:
            to = int(of_outputs[y])
            if not reached[to]:
                reached[to] = True
                images[to] = permutation[images[y]]
                open_ones.append(to)
    counts = np.bincount(members).astype(float)
    return Symmetry(Rows(symbols), outputs, counts, members, images, pairs.reshape(n, m))
