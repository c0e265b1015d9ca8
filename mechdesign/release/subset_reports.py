"""Draws of a subset selection: a direction, a level and a residue, each from a word of 64 bits.

Everything is an integer between entropy and report. The level has the weights over 2⁵³ that were
certified; direction and residue are uniform, by rejection, and placements have masses in integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact import DENOMINATOR_BITS
from ..subsets import PermutedFamily, SubsetSelection
from ..subsets.profile import Family, Profile
from .words import Words, integer_below

_WORD_BITS = 64
# Rows that are drawn at once.
_CHUNK = 1 << 16


#: Words that decide on a direction.
DIRECTION_WORDS = 2


class SubsetTable:
    """Draws reports of a subset selection with exactly its probabilities.

    Parameters
    ----------
    mechanism : the kernel
    bits : of a word that decide on direction and residue, fewer only to test rejections
    """

    def __init__(self, mechanism: SubsetSelection, bits: int = _WORD_BITS) -> None:
        self.family, self.bits = mechanism.family, bits
        self._levels = LevelTable(mechanism.profiles)
        self._has_placements = _has_placements(self.family)

    def draw(self, codes: NDArray[Any], words: Words) -> NDArray[np.int64]:
        """One report for each position of a symbol; three or four words each."""
        out = np.empty(len(codes), dtype=np.int64)
        for start in range(0, len(codes), _CHUNK):
            part = codes[start : start + _CHUNK].astype(np.int64)
            position, word = words.claim_several(len(part), 3 + self._has_placements)
            spare = SpareBits(words, position)
            directions = directions_of(self.family, word[:, [0, -1]], spare, self.bits)
            _, classes = self.family.vectors(directions)
            residues = self._levels.residues(classes, word[:, 1:3], spare, self.bits)
            out[start : start + _CHUNK] = self.family.reports_at(directions, part, residues)
        return out


class LevelTable:
    """Draws residues: a level by its weight, and one of its residues, of a word each."""

    def __init__(self, profiles: Sequence[Profile]) -> None:
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
        self._first = np.array([[0, p.count, p.count + 1] for p in profiles], dtype=np.int64)
        self._sizes = np.array(
            [[p.count, 1, p.base - p.count - 1] for p in profiles], dtype=np.int64
        )

    def residues(
        self,
        classes: NDArray[np.int64],
        words: NDArray[np.uint64],
        spare: SpareBits,
        bits: int = _WORD_BITS,
    ) -> NDArray[np.int64]:
        """One residue for each class of directions, of two words each."""
        under = (words[:, 0][:, None] < self._ends[classes]) | self._full[classes]
        levels = 2 - under.sum(axis=1)
        inside = below(self._sizes[classes, levels], words[:, 1], spare, bits)
        return self._first[classes, levels] + inside


def directions_of(
    family: Family, words: NDArray[np.uint64], spare: SpareBits, bits: int = _WORD_BITS
) -> NDArray[np.int64]:
    """Directions: uniform, or a uniform unit and a placement by its mass, of two words each."""
    if not isinstance(family, PermutedFamily):
        return below(np.full(len(words), family.directions), words[:, 0], spare, bits)
    units = below(np.full(len(words), family.units), words[:, 0], spare, bits)
    if not _has_placements(family):
        return units
    total = family.total_mass
    placements = family.placements_at(
        words[:, 1], lambda row: integer_below(total, spare.stream(row))
    )
    return placements * family.units + units


def _has_placements(family: Family) -> bool:
    return isinstance(family, PermutedFamily) and len(family.placements) > 1


def below(
    limits: NDArray[np.int64], words: NDArray[np.uint64], spare: SpareBits, bits: int = _WORD_BITS
) -> NDArray[np.int64]:
    """A uniform integer below each limit: a word modulo it, unless its last cycle is cut."""
    words = words >> np.uint64(_WORD_BITS - bits)
    limit = limits.astype(np.uint64)
    # 2^bits modulo the limit, where no word holds 2^64.
    most = np.uint64((1 << bits) - 1)
    extra = (most % limit + np.uint64(1)) % limit
    found = (words % limit).astype(np.int64)
    for row in np.flatnonzero(words > most - extra).tolist():
        found[row] = integer_below(int(limits[row]), spare.stream(row))
    return found


class SpareBits:
    """Further bytes for rows whose words were rejected: one stream for each row.

    Parameters
    ----------
    words : where they come from
    position : of the first row of a part
    rows : of the part that are asked for, all of them if left out
    """

    def __init__(
        self, words: Words, position: int, rows: NDArray[np.integer] | None = None
    ) -> None:
        self._words, self._position, self._rows = words, position, rows
        self._streams: dict[int, Iterator[bytes]] = {}

    def stream(self, row: int) -> Iterator[bytes]:
        """The stream of a row, from where it was left."""
        at = row if self._rows is None else int(self._rows[row])
        if at not in self._streams:
            self._streams[at] = self._words.more_bits(self._position + at)
        return self._streams[at]

    def of(self, rows: NDArray[np.integer]) -> SpareBits:
        """The same streams for some of the rows."""
        found = SpareBits(
            self._words, self._position, rows if self._rows is None else self._rows[rows]
        )
        found._streams = self._streams
        return found
