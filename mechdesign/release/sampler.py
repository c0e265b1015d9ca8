"""Exact draws from a certified kernel: random words in, outcomes out, integers between.

A word is 64 random bits from the operating system, or from a seed for research. Row ``i`` of
a column uses word ``i``, so what is drawn does not depend on how a table is cut into batches; words
that belong to the identity of a row, whatever its place, are in ``identities``. An alias table
makes each word one outcome, with exactly the chance that the integer weights of the kernel say.
"""

from __future__ import annotations

import hashlib
import os
import threading
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError, InputError, is_iterable, quote
from ..exact import DENOMINATOR_BITS
from ..labels import Label
from ..mechanism import Mechanism, mechanism_of
from .codes import ABSENT, Codebook

_WORD_BITS, _WORD_BYTES = 64, 8
# Words that are drawn at once.
_CHUNK = 1 << 14


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
        self.mechanism = mechanism_of(mechanism)
        self.words: Words = words_from(rng)
        self.table = AliasTable(self.mechanism)
        self._book = Codebook(self.mechanism.inputs, "inputs of the mechanism")

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
        codes = self._book.places(values)
        if (codes == ABSENT).any():
            unseen = list(
                dict.fromkeys(
                    v if _is_hashable(v) else quote(v)
                    for v, code in zip(values, codes, strict=True)
                    if code == ABSENT
                )
            )
            raise self._book.refuse("symbols", unseen, "correct them, or design for them")
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
        return f"Sampler({n} inputs × {m} outputs, words from {self.words.source})"


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


# Random words


class Words(ABC):
    """A stream of 64-bit words; :attr:`for_production` says whether nobody else can know them.

    Threads may share one: no two of them get the same words.
    """

    #: Named in receipts.
    source: str
    for_production: bool

    def __init__(self) -> None:
        self.position = 0
        self.lock = threading.Lock()

    def take(self, number: int) -> NDArray[np.uint64]:
        """The next words, as many as that."""
        return self.claim(number)[1]

    def claim(self, number: int) -> tuple[int, NDArray[np.uint64]]:
        """The position of the next word, and so many words from there, each handed out once."""
        with self.lock:
            start = self.position
            words = self.next_words(number)
            self.position += number
        return start, words

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != "lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.lock = threading.Lock()

    @abstractmethod
    def next_words(self, number: int) -> NDArray[np.uint64]:
        """So many words from the next position on; asked for by :meth:`claim`, under its lock."""

    @abstractmethod
    def more_bits(self, position: int) -> Iterator[bytes]:
        """Further random bytes for the row at a position, as many as are asked for."""

    def below(self, limit: int, position: int) -> int:
        """A uniform integer below ``limit`` for the row at a position, by rejection."""
        bits = (limit - 1).bit_length()
        size = max(1, (bits + 7) // 8)
        stream = self.more_bits(position)
        while True:
            found = bytearray()
            while len(found) < size:
                found += next(stream)
            value = int.from_bytes(found[:size], "little") >> (8 * size - bits)
            if value < limit:
                return value


class SystemWords(Words):
    """The operating system's entropy: what production uses."""

    source = "operating system"
    for_production = True

    def next_words(self, number: int) -> NDArray[np.uint64]:
        """Words that nobody has seen."""
        return np.frombuffer(os.urandom(_WORD_BYTES * number), dtype=np.uint64)

    def more_bits(self, position: int) -> Iterator[bytes]:
        """Further bytes from the operating system."""
        while True:
            yield os.urandom(_WORD_BYTES)


class SeededWords(Words):
    """NumPy's PCG64 from an integer seed: repeatable research, never production.

    Whoever knows the seed can undo the reports.
    """

    source = "seed (research only, not for production)"
    for_production = False

    def __init__(self, seed: int, name: str = "", start: int = 0) -> None:
        super().__init__()
        self.seed, self.name = int(seed), name
        self.position = start
        # Two columns under one seed are drawn independently.
        own = hashlib.sha256(name.encode()).digest()[:16]
        spawn_key = np.frombuffer(own, dtype="<u4").tolist() if name else ()
        self._bits = np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=spawn_key))
        self._bits.advance(start)

    def next_words(self, number: int) -> NDArray[np.uint64]:
        """Words of the bit generator."""
        return self._bits.random_raw(number)

    def more_bits(self, position: int) -> Iterator[bytes]:
        """Further bytes from seed and position."""
        text = f"{self.seed} {position} {self.name}".encode()
        for number in count():
            yield hashlib.shake_256(text + number.to_bytes(8, "little")).digest(64)

    def at(self, start: int) -> SeededWords:
        """The same words, from a position on."""
        return SeededWords(self.seed, self.name, start)


class GeneratorWords(Words):
    """A NumPy generator of the caller: research, never production."""

    source = SeededWords.source
    for_production = False

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        self._rng = rng

    def next_words(self, number: int) -> NDArray[np.uint64]:
        """Words of the generator, from wherever it stands."""
        top = np.iinfo(np.uint64).max
        return self._rng.integers(0, top, number, dtype=np.uint64, endpoint=True)

    def more_bits(self, position: int) -> Iterator[bytes]:
        """Further bytes from the generator."""
        while True:
            yield self._rng.bytes(_WORD_BYTES)


def words_from(rng: Any, name: str = "") -> Words:
    """The words that an ``rng=`` argument asks for; ``None`` is the operating system.

    ``name`` is the column that they are for: under one seed, each has words of its own.

    Raises :class:`InputError` for anything but ``None``, a non-negative integer, a NumPy generator,
    or words.
    """
    if rng is None:
        return SystemWords()
    if isinstance(rng, Words):
        return rng
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return SeededWords(int(rng), name)
    if isinstance(rng, np.random.Generator):
        return GeneratorWords(rng)
    raise InputError(
        "rng",
        expected="None for the operating system's entropy, or a seed or NumPy generator for "
        "research",
        got=quote(rng),
        remedy="leave it out in production",
    )


# Alias tables


class AliasTable:
    """Thresholds and aliases of every row of a kernel: one word becomes one outcome.

    The row of a symbol is cut into ``2^k`` buckets of equal size ``2^(53-k)``. The first ``k`` bits
    of a word choose a bucket, the other bits decide between the bucket's own outcome and one other
    [Walker1977]. Everything is an integer over 2⁵³, so the outcome ``y`` of symbol ``x`` comes out
    for exactly ``weights[x, y]`` of the 2⁵³ leading parts of a word.

    Kernels over another denominator get one outcome more, "undecided": the part of each weight that
    is no multiple of 2⁻⁵³. A word that falls there, at most ``M`` of 2⁵³, is followed by an exact
    draw in integers of any size, by rejection.

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

    def draw(self, codes: NDArray[Any], words: Words) -> NDArray[Any]:
        """One outcome code for each symbol code in ``0 … N-1``; one word each."""
        out = np.empty(len(codes), dtype=self.aliases.dtype)
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
            if self.rest is not None:
                for i in np.flatnonzero(drawn == self.outcomes):
                    drawn[i] = _outcome_of_rest(self.rest[part[i]], words, position + int(i))
            out[start : start + _CHUNK] = drawn
        return out


def _outcome_of_rest(weights: NDArray[Any], words: Words, position: int) -> int:
    """The outcome of an undecided word, with chances proportional to integer weights."""
    totals = list(accumulate(map(int, weights)))
    return bisect_right(totals, words.below(totals[-1], position))


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
