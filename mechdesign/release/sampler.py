"""Exact draws from a certified kernel: random words in, outcomes out, integers between.

An alias table makes each random word one outcome, with exactly the chance that the integer weights
of the kernel say. Reports of a kernel without a matrix are drawn by ``subset_reports``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError, is_iterable, quote
from ..exact import DENOMINATOR_BITS
from ..labels import Label, told_shape
from ..mechanism import ImplicitKernel, Mechanism, kernel_of
from ..subsets import SubsetSelection
from .byte_table import CHUNK, ByteTable
from .codes import Policy
from .codings import Names, coding_of
from .subset_reports import SubsetTable
from .words import Words, words_from

_WORD_BITS = 64
# Words that are drawn at once: what they are compared with stays in the cache.
_CHUNK = 1 << 14
# For tables of at most 2^shift buckets a row, how many leading bits of a word are drawn first: some
# are left to compare.
_LEADS = ((3, 8), (8, 16))
_LEAD = 32
# A table of bytes has so many entries for each row that was drawn; one of few is made at once.
_ENTRIES_PER_ROW, _FEW_ENTRIES = 4, 1 << 16


class Sampler:
    """Draws reports with exactly the probabilities of a kernel.

    The kernel's integer weights and random words decide; there is no floating-point number between
    entropy and outcome. Without ``rng`` the words come from the operating system.

    Parameters
    ----------
    mechanism : Mechanism or Design
    rng : int or numpy.random.Generator, optional
        For repeatable research only: whoever knows the seed can undo the reports. What is written
        with a seed says so.

    Raises
    ------
    KernelError
        For something that is no mechanism.
    InputError
        For an ``rng`` that is no seed and no generator.

    Examples
    --------
    >>> import mechdesign as md
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> md.Sampler(flip, rng=1).draw(["no", "yes", "yes", "no"])
    ['yes', 'yes', 'no', 'no']
    >>> md.Sampler(flip).for_production
    True
    """

    def __init__(self, mechanism: Any, rng: Any = None) -> None:
        self.mechanism = kernel_of(mechanism)
        self.words: Words = words_from(rng)
        self.table = draw_table(self.mechanism)

    @cached_property
    def _coding(self) -> Names:
        found = coding_of(self.mechanism, ["symbols"], Policy())
        assert isinstance(found, Names)
        return found

    @property
    def for_production(self) -> bool:
        """Whether the words come from the operating system; false with a seed."""
        return self.words.for_production

    def draw(self, symbols: Iterable[Any]) -> list[Label]:
        """One output label for each input label.

        Raises :class:`DataError` for symbols that are no inputs of the mechanism.
        """
        if isinstance(symbols, (str, bytes)) or not is_iterable(symbols):
            raise DataError(
                "symbols",
                expected="a sequence of inputs of the mechanism",
                got=f"a single {type(symbols).__name__}",
                remedy="pass a list, even for one person",
            )
        values = list(symbols)
        codes = self._coding.places_among(values)
        if (codes < 0).any():
            unseen = list(
                dict.fromkeys(
                    v if _is_hashable(v) else quote(v)
                    for v, code in zip(values, codes, strict=True)
                    if code < 0
                )
            )
            raise self._coding.book.refuse("symbols", unseen, "correct them, or design for them")
        outputs = self.mechanism.outputs
        return [outputs[i] for i in self.table.draw(codes, self.words)]

    def draw_codes(self, codes: ArrayLike) -> NDArray[Any]:
        """One output position for each input position ``0 … N-1``, as an array of integers.

        This is the fast path. Raises :class:`DataError` for positions that do not exist.

        >>> import mechdesign as md
        >>> md.Sampler(md.Mechanism([[0, 1], [1, 0]])).draw_codes([0, 0, 1])
        array([1, 1, 0], dtype=uint8)
        """
        found = np.asarray(codes)
        if found.ndim != 1 or not (np.issubdtype(found.dtype, np.integer) or found.size == 0):
            raise DataError(
                "codes",
                expected="a vector of integers",
                got=f"shape {found.shape}, dtype {found.dtype}",
                remedy="pass positions of inputs, or labels to draw()",
            )
        size = self.mechanism.shape[0]
        if found.size and not (found.min() >= 0 and found.max() < size):
            raise DataError(
                "codes",
                expected=f"integers from 0 to {size - 1}",
                got=f"{found.min()} to {found.max()}",
                remedy="pass positions of inputs, or labels to draw()",
            )
        return self.table.draw(found, self.words)

    def __repr__(self) -> str:
        n, m = self.mechanism.shape
        return f"Sampler({told_shape((n, m))}, words from {self.words.source})"


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


# From words to outcomes


def draw_table(
    mechanism: Mechanism | ImplicitKernel,
) -> AliasTable | SubsetTable:
    """What makes outcomes of words for a kernel."""
    if isinstance(mechanism, Mechanism):
        return AliasTable(mechanism)
    assert isinstance(mechanism, SubsetSelection)
    return SubsetTable(mechanism)


class AliasTable:
    """Thresholds and aliases of every row of a kernel: one word becomes one outcome.

    The row of a symbol is cut into ``2^k`` buckets of equal size ``2^(53-k)``. The first ``k`` bits
    of a word choose a bucket, the other bits decide between the bucket's own outcome and one other
    [Walker1977]. Everything is an integer over 2⁵³, so the outcome ``y`` of symbol ``x`` comes out
    for exactly ``weights[x, y]`` of the 2⁵³ leading parts of a word.

    Kernels over another denominator get one outcome more, "undecided": the part of each weight that
    is no multiple of 2⁻⁵³. A word that falls there, at most ``M`` of 2⁵³, is followed by an exact
    draw in integers of any size, by rejection.

    Where words come in parts (:attr:`Words.in_parts`), the leading 8, 16 or 32 bits are drawn and
    compared first. Where they are those of the threshold itself, and only there, the others decide,
    and are drawn. The outcome is the same function of the whole word. Over many rows of a kernel
    that is not too large a :class:`ByteTable` takes its place, which needs less of a word.

    Parameters
    ----------
    mechanism : the kernel; rows are divided by their exact sums
    bits : leading bits of a word that decide, fewer only to test the undecided part

    Attributes
    ----------
    thresholds, aliases : ``(N, 2^shift)`` of each bucket: how many of its ``2^(bits - shift)``
        parts give its own outcome, and the outcome that all others give
    rest : ``(N, M)`` weights of the outcomes of an undecided word, ``None`` where there is none
    """

    def __init__(self, mechanism: Mechanism, bits: int = DENOMINATOR_BITS) -> None:
        self.bits = bits
        self.outcomes = mechanism.shape[1]
        whole, self.rest = _split(mechanism, bits)
        columns = whole.shape[1]
        self.shift = max(1, (columns - 1).bit_length())
        buckets = np.zeros((len(whole), 1 << self.shift), dtype=np.int64)
        buckets[:, :columns] = whole
        self.thresholds, aliases = _alias(buckets, 1 << (bits - self.shift))
        self.aliases = aliases.astype(np.min_scalar_type((1 << self.shift) - 1))
        # Compared with the low bits of a word: exact, as the bits below the 53rd cannot matter.
        scaled = self.thresholds.astype(np.uint64) << np.uint64(_WORD_BITS - bits)
        self._flat, self._flat_aliases = scaled.ravel(), self.aliases.ravel()
        self._lead = next((bits for most, bits in _LEADS if self.shift <= most), _LEAD)
        kind = np.dtype(f"u{self._lead // 8}")
        self._leading = (self._flat >> np.uint64(_WORD_BITS - self._lead)).astype(kind)
        self._whole, self._rows = whole, 0

    @cached_property
    def _entries(self) -> int | None:
        return ByteTable.entries(self._whole, self.bits)

    @cached_property
    def _by_bytes(self) -> ByteTable:
        return ByteTable(self._whole, self.bits)

    def _draws_bytes(self, rows: int) -> bool:
        """Whether bytes are looked up from now on, with so many more rows to draw."""
        if self._entries is None:
            return False
        self._rows += rows
        return self._entries <= max(_FEW_ENTRIES, _ENTRIES_PER_ROW * self._rows)

    def prepare(self, rows: int, words: Words) -> None:
        """Make the tables that so many rows are drawn from, so that no two threads make them."""
        if words.in_parts and self._draws_bytes(rows):
            self._by_bytes  # noqa: B018 - made here, once

    def draw(self, codes: NDArray[Any], words: Words) -> NDArray[Any]:
        """One outcome code for each symbol code in ``0 … N-1``; one word each."""
        out = np.empty(len(codes), dtype=self.aliases.dtype)
        draw, chunk = self._draw_whole, _CHUNK
        if words.in_parts:
            draw = self._draw_in_parts
            if self._draws_bytes(len(codes)):
                draw, chunk = self._by_bytes.draw, CHUNK
        for start in range(0, len(codes), chunk):
            part = codes[start : start + chunk]
            position, drawn = draw(part, words)
            if self.rest is not None:
                for i in np.flatnonzero(drawn == self.outcomes):
                    drawn[i] = _outcome_of_rest(self.rest[part[i]], words, position + int(i))
            out[start : start + chunk] = drawn
        return out

    def _draw_whole(self, codes: NDArray[Any], words: Words) -> tuple[int, NDArray[Any]]:
        """The position of the first word, and the outcomes of whole words."""
        position, word = words.claim(len(codes))
        return position, self._outcomes(codes, word)

    def _draw_in_parts(self, codes: NDArray[Any], words: Words) -> tuple[int, NDArray[Any]]:
        """The same from leading bits of words, and from whole words where these do not decide."""
        bits = self._lead
        position, word = words.claim(len(codes), words.next_leading, bits)
        bucket, place, low = self._place(codes, word, bits)
        threshold = self._leading.take(place)
        own = bucket.astype(self.aliases.dtype)
        drawn = np.where(low < threshold, own, self._flat_aliases.take(place))
        unclear = np.flatnonzero(low == threshold)
        if len(unclear):
            whole = word[unclear].astype(np.uint64) << np.uint64(_WORD_BITS - bits)
            whole |= words.following(position + unclear, bits, _WORD_BITS - bits)
            drawn[unclear] = self._outcomes(codes[unclear], whole)
        return position, drawn

    def _outcomes(self, codes: NDArray[Any], word: NDArray[np.uint64]) -> NDArray[Any]:
        """The outcome of each word for each symbol."""
        bucket, place, low = self._place(codes, word, _WORD_BITS)
        return np.where(low < self._flat.take(place), bucket, self._flat_aliases.take(place))

    def _place(
        self, codes: NDArray[Any], word: NDArray[Any], bits: int
    ) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[Any]]:
        """The bucket that words of so many bits choose, its place in the table, and other bits."""
        kind, below = word.dtype.type, bits - self.shift
        bucket = word >> kind(below)
        place = codes.astype(np.intp) << self.shift
        place |= bucket.astype(np.intp)
        return bucket, place, word & kind((1 << below) - 1)


def _outcome_of_rest(weights: NDArray[Any], words: Words, position: int) -> int:
    """The outcome of an undecided word, with chances proportional to integer weights."""
    totals = list(accumulate(map(int, weights)))
    return bisect_right(totals, words.below(totals[-1], position))


def _split(mechanism: Mechanism, bits: int) -> tuple[NDArray[np.int64], NDArray[Any] | None]:
    """Multiples of ``2^-bits`` in each weight, and what remains, per row on a common scale."""
    times, finer = divmod(1 << bits, mechanism.denominator)
    if mechanism.is_exact and not finer:
        return mechanism.weights.astype(np.int64) * times, None
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
