"""Draws of a subset selection: a type, then directions, a level, a residue and shifts.

The type has the integer weights of the symbol's group, and the level of its residue those of the
profile; directions and the shifts of other groups are uniform, and placements have masses in
integers. Everything is an integer between entropy and report, each from a word of 64 bits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact import DENOMINATOR, DENOMINATOR_BITS
from ..subsets import SubsetSelection
from ..subsets.parts import Directions, Part
from .words import Words, integer_below

_WORD_BITS = 64
# Further bytes for rows whose words were rejected: one stream for each row, from where it was left.
Spare = Callable[[int], Iterator[bytes]]
# Rows that are drawn at once.
_CHUNK = 1 << 15


class SubsetTable:
    """Draws reports of a subset selection with exactly its probabilities.

    Parameters
    ----------
    mechanism : the kernel
    bits : of a word that decide on what is uniform, fewer only to test rejections
    """

    def __init__(self, mechanism: SubsetSelection, bits: int = _WORD_BITS) -> None:
        self._kernel, self.bits, types = mechanism, bits, mechanism.types
        self._types = Thresholds(list(zip(*(one.chances for one in types), strict=True)))
        # The words after those that decide on type, level and residue: the type of one group needs
        # none, and a single placement of it none either.
        self._alone = len(mechanism.layout.masses) == 1
        self._words = 3 + max(2 * len(one.slots) + len(one.parts) for one in types)
        if self._alone:
            (directions,) = types[0].slots
            self._words = 3 + (directions.number > directions.each)

    def draw(self, codes: NDArray[Any], words: Words) -> NDArray[np.int64]:
        """One report for each position of a symbol."""
        out = np.empty(len(codes), dtype=np.int64)
        for start in range(0, len(codes), _CHUNK):
            part = codes[start : start + _CHUNK].astype(np.int64)
            position, word = words.claim(len(part), words.next_several, self._words)
            spare = cache(lambda row, first=position: words.more_bits(first + row))
            kinds = np.zeros(len(part), dtype=np.int64)
            if self._alone:
                # The direction has the first word and the last one.
                word = np.hstack([word[:, :3], word[:, :1], word[:, -1:]])
            else:
                kinds = self._types.reached(self._kernel.layout.group[part], word[:, 0])
            for t in np.unique(kinds).tolist():
                rows = np.flatnonzero(kinds == t)
                drawn = self._of_type(t, part[rows], word[rows], _of_rows(spare, rows))
                out[start + rows] = self._kernel.offsets[t] + drawn
        return out

    def _of_type(
        self, t: int, symbols: NDArray[np.int64], word: NDArray[np.uint64], spare: Spare
    ) -> NDArray[np.int64]:
        one, layout = self._kernel.types[t], self._kernel.layout
        used, numbers, drawn = 3, list[NDArray[np.int64]](), dict[int, NDArray[np.int64]]()
        for directions in one.slots:
            number = directions_of(directions, word[:, used : used + 2], spare, self.bits)
            numbers.append(number)
            groups = [i for i, own in one.directions.items() if own == directions]
            drawn |= dict.fromkeys(groups, directions.at(number))
            used += 2
        for i, part in one.parts.items():
            own = np.flatnonzero(layout.group[symbols] == i)
            shifts = np.zeros(len(symbols), dtype=np.int64)
            if len(own) < len(symbols):
                shifts = below(np.full(len(symbols), part.base), word[:, used], spare, self.bits)
            mine = drawn[i][:, own]
            residues = self._residues(part, mine[1], word[own], _of_rows(spare, own))
            places = np.searchsorted(layout.rows[i], symbols[own])
            shifts[own] = part.shifts_at(mine, places, residues)
            numbers.append(shifts)
            used += 1
        return np.asarray(np.ravel_multi_index([*numbers, 0 * symbols], one.radices))

    def _residues(
        self, part: Part, classes: NDArray[Any], word: NDArray[np.uint64], spare: Spare
    ) -> NDArray[np.int64]:
        """A level by its weight, and one of its residues; any where none is told from others."""
        sizes = np.array([part.count, 1, part.base - part.count - 1])
        levels = Thresholds([(*w, DENOMINATOR - sum(w)) for w in part.weights])
        found = levels.reached(np.minimum(classes, part.dimension - 1), word[:, 1])
        inside = below(sizes[found], word[:, 2], spare, self.bits)
        even = below(np.full(len(word), part.base), word[:, 2], spare, self.bits)
        own = (np.cumsum(sizes) - sizes)[found] + inside
        return np.asarray(np.where(classes < part.dimension, own, even))


class Thresholds:
    """Ends of weights over 2⁵³ among words of 64 bits, a row for each choice of weights."""

    def __init__(self, weights: Sequence[Sequence[int]]) -> None:
        ends = np.cumsum(np.array(weights, dtype=object), axis=1)[:, :-1]
        # No word reaches an end that is 2⁶⁴.
        self._full = (ends >> DENOMINATOR_BITS).astype(bool)
        shift = _WORD_BITS - DENOMINATOR_BITS
        self._ends = np.where(self._full, 0, ends << shift).astype(np.uint64)

    def reached(self, rows: NDArray[np.integer], words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Which weight of its row each word decides on."""
        passed = (words[:, None] >= self._ends[rows]) & ~self._full[rows]
        return np.asarray(passed.sum(axis=1))


def directions_of(
    directions: Directions, words: NDArray[np.uint64], spare: Spare, bits: int = _WORD_BITS
) -> NDArray[np.int64]:
    """Directions: uniform at a placement, which comes by its mass, of two words each."""
    found = below(np.full(len(words), directions.each), words[:, 0], spare, bits)
    if len(directions.masses) == 1:
        return found
    *inner, total = accumulate(directions.masses)
    inner = [end << _WORD_BITS for end in inner]
    # Words in which an end lies, that a uniform integer below all masses decides on.
    cut = np.array([end // total for end in inner], dtype=np.uint64)
    placements = np.searchsorted(cut, words[:, 1])
    for row in np.flatnonzero(np.isin(words[:, 1], cut)).tolist():
        place = int(words[row, 1]) * total + integer_below(total, spare(row))
        placements[row] = bisect_right(inner, place)
    return np.asarray(placements * directions.each + found)


def below(
    limits: NDArray[np.int64], words: NDArray[np.uint64], spare: Spare, bits: int = _WORD_BITS
) -> NDArray[np.int64]:
    """A uniform integer below each limit: a word modulo it, unless its last cycle is cut."""
    words = words >> np.uint64(_WORD_BITS - bits)
    limit = limits.astype(np.uint64)
    # 2^bits modulo the limit, where no word holds 2^64.
    most = np.uint64((1 << bits) - 1)
    extra = (most % limit + np.uint64(1)) % limit
    found = (words % limit).astype(np.int64)
    for row in np.flatnonzero(words > most - extra).tolist():
        found[row] = integer_below(int(limits[row]), spare(row))
    return found


def _of_rows(spare: Spare, rows: NDArray[np.integer]) -> Spare:
    """The same streams for some of the rows."""
    return lambda row: spare(int(rows[row]))
