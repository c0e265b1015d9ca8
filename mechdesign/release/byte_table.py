"""Exact draws a byte at a time: one byte of entropy settles most reports, a second nearly all.

For words of the operating system, which belong to no row: bits that no report asks for are never
drawn. Words that a seed or an identity decides are read whole, by
:class:`~mechdesign.release.sampler.AliasTable`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .words import Words

# Rows that are drawn at once: what is made of them stays in the cache.
CHUNK = 1 << 16
# A word has 56 bits here, a whole number of bytes: one, one more, and the rest at once.
_BITS, _BYTE, _REST = 56, 8, 40
# No outcome has the last number, which says that further bits decide.
_OPEN = 255
# Entries of the tables of second bytes, which stay in the cache too.
_MOST = 1 << 22


class ByteTable:
    """The outcomes of symbols by the bytes of a word, in a tree of digits [KnuthYao1976].

    Weights are integers over 2⁵⁶ here, seven digits of a byte each. The first byte of a word
    chooses one of the 256 cells of its symbol. With ``w = d · 2⁴⁸ + r``, ``r < 2⁴⁸``, the outcome
    of weight ``w`` has ``d`` cells to itself, and the ``U = 256 − Σ d`` cells that are left are
    open. As the weights of a symbol sum to 2⁵⁶, the remainders ``r`` sum to ``U · 2⁴⁸``: the open
    cells hold exactly what is missing. A second byte cuts the open cells into ``U · 256`` smaller
    ones in the same way, ``r = e · 2⁴⁰ + s``: ``V = U · 256 − Σ e`` stay open, ``Σ s = V · 2⁴⁰``.
    The number of a word that reaches one of these, ``v · 2⁴⁰`` and 40 further bits, is uniform
    below ``V · 2⁴⁰`` and is compared with the running sums of ``s``.

    So of all 2⁵⁶ words exactly ``d · 2⁴⁸ + e · 2⁴⁰ + s = w`` have the outcome: the chances are the
    certified ones, whatever is drawn of a word, and when. At most ``M − 1`` of the 256 cells are
    open, and at most as many of the ``U · 256``, as each of the ``M`` remainders is less than one
    cell.

    Nothing is drawn ahead or kept: a chunk of rows asks the words for as many bytes as it has rows,
    then for those of the open ones. An error or an interrupt between loses what was drawn, and
    neither a fork nor a thread can find it.

    Parameters
    ----------
    weights : ``(N, M)``, at most 255 outcomes, each row sums to ``2^bits``
    bits : at most 56

    Attributes
    ----------
    first : ``(N · 256,)`` outcome for symbol and first byte, 255 for open cells
    second : outcome for open cell and second byte, those of the first symbol first; 255 for open
    """

    def __init__(self, weights: NDArray[np.int64], bits: int) -> None:
        scaled = weights << (_BITS - bits)
        cells, rest = _digits(scaled, _BITS - _BYTE)
        self._leaves = cells.sum(axis=1)
        self._open = 256 - self._leaves
        self.first = _laid_out(cells, self._open)
        smaller, rest = _digits(rest, _REST)
        self._smaller_leaves = smaller.sum(axis=1)
        self.second = _laid_out(smaller, 256 * self._open - self._smaller_leaves)
        self._sums = rest.cumsum(axis=1)
        # Which of all open cells is the first one of a symbol; which one a cell is.
        self._starts = np.cumsum(self._open) - self._open
        self._numbers = np.cumsum(self.first == _OPEN) - 1
        # Positions of cells in as few bytes as hold them.
        self._place = np.min_scalar_type(len(self.first) - 1)

    @staticmethod
    def entries(weights: NDArray[np.int64], bits: int) -> int | None:
        """How many entries its tables have; ``None`` where there are too many for it to be fast,
        or too many outcomes.
        """
        if weights.shape[1] > _OPEN:
            return None
        # As the scaled weights have it, without making them.
        whole = weights >> (bits - _BYTE) if bits >= _BYTE else weights << (_BYTE - bits)
        found = 256 * (len(weights) + int((256 - whole.sum(axis=1)).sum()))
        return found if found <= _MOST else None

    def draw(self, codes: NDArray[Any], words: Words) -> tuple[int, NDArray[np.uint8]]:
        """The position of the first word, and one outcome for each of at most so many symbols."""
        position, byte = words.claim(len(codes), words.next_leading, _BYTE)
        place = codes.astype(self._place)
        place <<= self._place.type(_BYTE)
        place |= byte
        drawn = self.first.take(place)
        unsettled = np.flatnonzero(drawn == _OPEN)
        if len(unsettled):
            drawn[unsettled] = self._settled(codes, place, unsettled, words, position)
        return position, drawn

    def _settled(
        self,
        codes: NDArray[Any],
        place: NDArray[Any],
        rows: NDArray[np.intp],
        words: Words,
        position: int,
    ) -> NDArray[np.uint8]:
        """The outcomes of rows whose first byte chose an open cell."""
        inner = self._numbers.take(place.take(rows)) << _BYTE
        inner |= words.following(position + rows, _BYTE, _BYTE)
        drawn = self.second.take(inner)
        few = np.flatnonzero(drawn == _OPEN)
        if len(few):
            rows = rows.take(few)
            symbol = codes.take(rows)
            cell = inner.take(few) - (self._starts[symbol] << _BYTE) - self._smaller_leaves[symbol]
            number = cell << _REST
            number |= words.following(position + rows, 2 * _BYTE, _REST).astype(np.int64)
            drawn[few] = (self._sums[symbol] <= number[:, None]).sum(axis=1)
        return drawn


def _digits(weights: NDArray[np.int64], bits: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Whole multiples of ``2^bits`` in weights, and remainders."""
    return weights >> bits, weights & ((1 << bits) - 1)


def _laid_out(cells: NDArray[np.int64], rest: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The cells of all symbols one after another: those of each outcome, then the open ones."""
    outcomes = np.append(np.arange(cells.shape[1], dtype=np.uint8), np.uint8(_OPEN))
    counts = np.column_stack([cells, rest])
    return np.repeat(np.tile(outcomes, len(cells)), counts.ravel())
