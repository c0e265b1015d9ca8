"""Draws of a subset selection of groups: a type, then directions, a level, a residue and shifts.

The type has the integer weights of the symbol's group, and the level of its residue those of the
profile; directions and the shifts of other groups are uniform. Everything is an integer between
entropy and report.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact import DENOMINATOR, DENOMINATOR_BITS
from ..subsets import GroupedKernel, ReportType
from .subset_reports import DIRECTION_WORDS, LevelTable, SpareBits, below, directions_of
from .words import Words

_WORD_BITS = 64
# Rows that are drawn at once.
_CHUNK = 1 << 15


class GroupedTable:
    """Draws reports of a subset selection of groups with exactly its probabilities.

    Parameters
    ----------
    mechanism : the kernel
    bits : of a word that decide on what is uniform, fewer only to test rejections
    """

    def __init__(self, mechanism: GroupedKernel, bits: int = _WORD_BITS) -> None:
        self._kernel, self.bits = mechanism, bits
        # No word reaches the last end, which is 2⁶⁴.
        ends = np.cumsum(
            [[int(w) for w in one.chances] for one in mechanism.types], axis=0, dtype=object
        )
        assert (ends[-1] == DENOMINATOR).all()
        shift = _WORD_BITS - DENOMINATOR_BITS
        self._full = (ends[:-1] == DENOMINATOR).astype(bool)
        scaled = np.where(self._full, 0, ends[:-1]) * (1 << shift)
        self._ends = scaled.astype(np.uint64).reshape(len(ends) - 1, -1)
        self._levels = [
            [None if part is None else LevelTable(part.profiles) for part in one.parts]
            for one in mechanism.types
        ]
        self._words = 3 + max(
            DIRECTION_WORDS * len(one.slots) + len(one.split) for one in mechanism.types
        )

    def draw(self, codes: NDArray[Any], words: Words) -> NDArray[np.int64]:
        """One report for each position of a symbol."""
        out = np.empty(len(codes), dtype=np.int64)
        for start in range(0, len(codes), _CHUNK):
            part = codes[start : start + _CHUNK].astype(np.int64)
            position, word = words.claim_several(len(part), self._words)
            group = self._kernel.layout.group[part]
            reached = (word[:, :1] >= self._ends.T[group]) & ~self._full.T[group]
            kinds = reached.sum(axis=1)
            for t in np.unique(kinds).tolist():
                rows = np.flatnonzero(kinds == t)
                drawn = self._of_type(t, part[rows], word[rows], SpareBits(words, position, rows))
                out[start + rows] = self._kernel.offsets[t] + drawn
        return out

    def _of_type(
        self, t: int, symbols: NDArray[np.int64], word: NDArray[np.uint64], spare: SpareBits
    ) -> NDArray[np.int64]:
        one: ReportType = self._kernel.types[t]
        layout, n = self._kernel.layout, len(symbols)
        if not one.split:
            return np.zeros(n, dtype=np.int64)
        used, directions = 3, dict[int, NDArray[np.int64]]()
        digits = []
        for family, groups in one.slots:
            drawn = directions_of(family, word[:, used : used + DIRECTION_WORDS], spare, self.bits)
            digits.append(drawn)
            directions |= dict.fromkeys(groups, drawn)
            used += DIRECTION_WORDS
        for i in one.split:
            part = one.part(i)
            base = part.family.base
            shifts = below(np.full(n, base), word[:, used], spare, self.bits)
            own = np.flatnonzero(layout.group[symbols] == i)
            levels = self._levels[t][i]
            assert levels is not None
            _, classes = part.family.vectors(directions[i][own])
            residues = levels.residues(classes, word[own][:, 1:3], spare.of(own), self.bits)
            places = layout.place[symbols[own]]
            reports = part.family.reports_at(directions[i][own], places, residues)
            shifts[own] = reports % base
            digits.append(shifts)
            used += 1
        return one.joined(digits)
