"""Alias tables in integers: one 64-bit word becomes one outcome, with exactly the right chance.

The row of a symbol is cut into ``2^k`` buckets of equal size ``2^(53-k)``. The first ``k`` bits of
a word choose a bucket, the other bits decide between the bucket's own outcome and one other
[Walker1977]. Everything is an integer over 2⁵³, so the outcome ``y`` of symbol ``x`` comes out for
exactly ``weights[x, y]`` of the 2⁵³ leading parts of a word; :meth:`AliasTable.weights` adds
them up again.

Kernels over another denominator get one outcome more, "undecided": the part of each weight that
is no multiple of 2⁻⁵³. A word that falls there, at most ``M`` of 2⁵³, is followed by an exact draw
in integers of any size, by rejection.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact import DENOMINATOR_BITS
from ..mechanism import Mechanism
from .entropy import Words

_CHUNK = 1 << 14
_WORD_BITS = 64


class AliasTable:
    """Thresholds and aliases of every row of a kernel.

    Parameters
    ----------
    mechanism : the kernel; rows are divided by their exact sums
    bits : leading bits of a word that decide, fewer only to test the undecided part
    """

    def __init__(self, mechanism: Mechanism, bits: int = DENOMINATOR_BITS) -> None:
        self.bits = bits
        self.outcomes = mechanism.shape[1]
        whole, rest = _split(mechanism, bits)
        self._rest = rest
        self._totals = None if rest is None else [sum(map(int, row)) for row in rest]
        columns = whole.shape[1]
        self.shift = max(1, (columns - 1).bit_length())
        buckets = np.zeros((len(whole), 1 << self.shift), dtype=np.int64)
        buckets[:, :columns] = whole
        thresholds, aliases = _alias(buckets, 1 << (bits - self.shift))
        self._kind = np.min_scalar_type((1 << self.shift) - 1)
        self.aliases = aliases.astype(self._kind)
        self.thresholds = thresholds
        # Compared with the low bits of a word: exact, as the bits below the 53rd cannot matter.
        scaled = thresholds.astype(np.uint64) << np.uint64(_WORD_BITS - bits)
        self._flat, self._flat_aliases = scaled.ravel(), self.aliases.ravel()

    def weights(self) -> NDArray[Any]:
        """How many of the ``2^bits`` leading parts of a word give each outcome, ``(N, M)``.

        A last column counts the undecided parts where there are any.
        """
        capacity = 1 << (self.bits - self.shift)
        rows = len(self.thresholds)
        found = self.thresholds.copy()
        np.add.at(found, (np.arange(rows)[:, None], self.aliases), capacity - self.thresholds)
        used = self.outcomes + (self._rest is not None)
        assert not found[:, used:].any()
        return found[:, :used]

    def draw(self, codes: NDArray[Any], words: Words) -> NDArray[Any]:
        """One outcome code for each symbol code in ``0 … N-1``; one word each."""
        out = np.empty(len(codes), dtype=self._kind)
        top = np.uint64(_WORD_BITS - self.shift)
        mask = np.uint64((1 << (_WORD_BITS - self.shift)) - 1)
        for start in range(0, len(codes), _CHUNK):
            part = codes[start : start + _CHUNK]
            position, word = words.claim(len(part))
            bucket = (word >> top).astype(np.intp)
            place = part.astype(np.intp) << self.shift
            place |= bucket
            keep = (word & mask) < self._flat.take(place)
            drawn = np.where(keep, bucket, self._flat_aliases.take(place))
            if self._rest is not None:
                for i in np.flatnonzero(drawn == self.outcomes):
                    drawn[i] = self._settle(int(part[i]), words, position + int(i))
            out[start : start + _CHUNK] = drawn
        return out

    def _settle(self, code: int, words: Words, position: int) -> int:
        """An outcome by the parts of the weights that are no multiples of the leading part."""
        assert self._rest is not None
        assert self._totals is not None
        left = words.below(self._totals[code], position)
        for outcome, weight in enumerate(self._rest[code]):
            left -= int(weight)
            if left < 0:
                return outcome
        raise AssertionError("weights do not add up to their total")


def _split(mechanism: Mechanism, bits: int) -> tuple[NDArray[np.int64], NDArray[Any] | None]:
    """Multiples of ``2^-bits`` in each weight, and what remains, per row on a common scale."""
    spare = bits - mechanism.bits
    if mechanism.is_exact and spare >= 0:
        return mechanism.weights.astype(np.int64) << spare, None
    weights = mechanism.weights.astype(object)
    totals = weights.sum(axis=1)[:, None]
    whole = (weights << bits) // totals
    rest = (weights << bits) - whole * totals
    undecided = (1 << bits) - whole.sum(axis=1)
    if not undecided.any():
        return whole.astype(np.int64), None
    return np.column_stack([whole, undecided]).astype(np.int64), rest


def _alias(
    weights: NDArray[np.int64], capacity: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Thresholds and aliases for rows of weights that sum to ``columns · capacity``.

    Buckets are closed one at a time, all rows at once: a light one is filled up from the current
    heavy one; a heavy one that has become light is filled up from the next heavy one.
    """
    rows, columns = weights.shape
    each = np.arange(rows)
    order = np.argsort(weights > capacity, axis=1, kind="stable")
    lights = (weights <= capacity).sum(axis=1)
    thresholds = weights.copy()
    aliases = np.tile(np.arange(columns), (rows, 1))
    light, heavy = np.zeros(rows, dtype=np.int64), lights.copy()
    active = heavy < columns
    current = order[each, np.minimum(heavy, columns - 1)]
    left = weights[each, current]
    while active.any():
        # A heavy bucket with more than it can hold fills the next light one.
        fill = active & (left > capacity)
        at = each[fill]
        bucket = order[at, light[fill]]
        aliases[at, bucket] = current[fill]
        left[fill] -= capacity - weights[at, bucket]
        light[fill] += 1
        # One that has no more than it can hold is closed; the next heavy one fills it up.
        close = active & (left <= capacity)
        at = each[close]
        done = current[close]
        thresholds[at, done] = left[close]
        heavy[close] += 1
        active &= heavy < columns
        on = close & active
        following = order[each[on], heavy[on]]
        aliases[each[on], current[on]] = following
        left[on] += weights[each[on], following] - capacity
        current[on] = following
    return thresholds, aliases
