"""Draws of a subset selection: a direction, a level and a residue, each from a word of 64 bits.

Everything is an integer between entropy and report. The level has the weights over 2⁵³ that were
certified; direction and residue are uniform, by rejection, and placements have masses in integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact import DENOMINATOR_BITS
from ..subsets import PermutedFamily, SubsetSelection
from .words import Words, integer_below

_WORD_BITS = 64
# Rows that are drawn at once.
_CHUNK = 1 << 16


class SubsetTable:
    """Draws reports of a subset selection with exactly its probabilities.

    Parameters
    ----------
    mechanism : the kernel
    bits : of a word that decide on direction and residue, fewer only to test rejections
    """

    def __init__(self, mechanism: SubsetSelection, bits: int = _WORD_BITS) -> None:
        self.family, self.bits = mechanism.family, bits
        profiles = mechanism.profiles
        placed = isinstance(self.family, PermutedFamily) and len(self.family.placements) > 1
        self._has_placements = placed
        shift = _WORD_BITS - DENOMINATOR_BITS
        high = [p.high << shift for p in profiles]
        middle = [(p.high + p.middle) << shift for p in profiles]
        # A weight of 2⁵³ is every word; no word reaches the last one.
        most = (1 << _WORD_BITS) - 1
        self._ends = np.array(
            [[min(h, most), min(m, most)] for h, m in zip(high, middle, strict=True)],
            dtype=np.uint64,
        )
        self._full = np.array([[h > most, m > most] for h, m in zip(high, middle, strict=True)])
        q = self.family.base
        self._first = np.array([[0, p.count, p.count + 1] for p in profiles], dtype=np.int64)
        self._sizes = np.array([[p.count, 1, q - p.count - 1] for p in profiles], dtype=np.int64)

    def draw(self, codes: NDArray[Any], words: Words) -> NDArray[np.int64]:
        """One report for each position of a symbol; three or four words each."""
        out = np.empty(len(codes), dtype=np.int64)
        for start in range(0, len(codes), _CHUNK):
            part = codes[start : start + _CHUNK].astype(np.int64)
            position, word = words.claim_several(len(part), 3 + self._has_placements)
            spare = _Spare(words, position)
            directions = self._directions(word, spare)
            _, classes = self.family.vectors(directions)
            below = (word[:, 1][:, None] < self._ends[classes]) | self._full[classes]
            levels = 2 - below.sum(axis=1)
            inside = self._below(self._sizes[classes, levels], word[:, 2], spare)
            residues = self._first[classes, levels] + inside
            out[start : start + _CHUNK] = self.family.reports_at(directions, part, residues)
        return out

    def _directions(self, word: NDArray[np.uint64], spare: _Spare) -> NDArray[np.int64]:
        """Directions: uniform, or a placement by its mass and a uniform unit."""
        family = self.family
        if not isinstance(family, PermutedFamily):
            return self._below(np.full(len(word), family.directions), word[:, 0], spare)
        units = self._below(np.full(len(word), family.units), word[:, 0], spare)
        if not self._has_placements:
            return units
        total = family.total_mass
        placements = family.placements_at(
            word[:, 3], lambda row: integer_below(total, spare.stream(row))
        )
        return placements * family.units + units

    def _below(
        self, limits: NDArray[np.int64], words: NDArray[np.uint64], spare: _Spare
    ) -> NDArray[np.int64]:
        """A uniform integer below each limit: a word modulo it, unless its last cycle is cut."""
        words = words >> np.uint64(_WORD_BITS - self.bits)
        limit = limits.astype(np.uint64)
        # 2^bits modulo the limit, where no word holds 2^64.
        most = np.uint64((1 << self.bits) - 1)
        extra = (most % limit + np.uint64(1)) % limit
        found = (words % limit).astype(np.int64)
        for row in np.flatnonzero(words > most - extra).tolist():
            found[row] = integer_below(int(limits[row]), spare.stream(row))
        return found


class _Spare:
    """Further bytes for rows whose words were rejected: one stream for each row."""

    def __init__(self, words: Words, position: int) -> None:
        self._words, self._position = words, position
        self._streams: dict[int, Iterator[bytes]] = {}

    def stream(self, row: int) -> Iterator[bytes]:
        """The stream of a row, from where it was left."""
        if row not in self._streams:
            self._streams[row] = self._words.more_bits(self._position + row)
        return self._streams[row]
