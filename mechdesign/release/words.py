"""Random words: 64 bits for each row, from entropy, a seed or a generator.

Row ``i`` of a column uses the words at position ``i``, so what is drawn does not depend on how a
table is cut into batches; words that belong to the identity of a row, whatever its place, are in
``identities``.

A word of the operating system belongs to no place, so it may be drawn in parts: its leading bits
first, and the others only where the leading ones leave the outcome open.
"""

from __future__ import annotations

import hashlib
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, quote

_WORD_BYTES = 8
_WORD_BITS = 64


class Words(ABC):
    """A stream of 64-bit words; :attr:`for_production` says whether nobody else can know them.

    Threads may share one: no two of them get the same words.
    """

    #: Named in receipts.
    source: str
    for_production: bool
    #: Whether a word may be drawn in parts, see :meth:`next_leading`.
    in_parts = False

    def __init__(self) -> None:
        self.position = 0
        self.lock = threading.Lock()

    def take(self, number: int) -> NDArray[np.uint64]:
        """The next words, as many as that."""
        return self.claim(number)[1]

    def claim(self, number: int, form: Any = None, *asked: int) -> tuple[int, NDArray[Any]]:
        """The position of the next word, and so many words from there, each handed out once.

        In another ``form``, what :meth:`next_several` or :meth:`next_leading` gives for them.
        """
        with self.lock:
            start = self.position
            words = (form or self.next_words)(number, *asked)
            self.position += number
        return start, words

    def next_leading(self, number: int, bits: int) -> NDArray[Any]:
        """Leading bits, 8, 16 or 32, of so many words, where these come :attr:`in_parts`.

        The other bits are uniform and independent of these; :meth:`following` draws them.
        """
        raise NotImplementedError(f"words of the {self.source} are not drawn in parts")

    def following(self, positions: NDArray[np.int64], drawn: int, bits: int) -> NDArray[Any]:
        """So many bits of the words at these positions, of which the first ``drawn`` are known.

        Integers without a sign; bits of a word are asked for in their order, each of them once.
        """
        raise NotImplementedError(f"words of the {self.source} are not drawn in parts")

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != "lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.lock = threading.Lock()

    @abstractmethod
    def next_words(self, number: int) -> NDArray[np.uint64]:
        """So many words from the next position on; asked for by :meth:`claim`, under its lock."""

    def next_several(self, number: int, each: int) -> NDArray[np.uint64]:
        """Several words for each of the next positions, ``(number, each)``, none of them in
        :meth:`more_bits`.
        """
        return self.next_words(number * each).reshape(number, each)

    @abstractmethod
    def more_bits(self, position: int) -> Iterator[bytes]:
        """Further random bytes for the row at a position, as many as are asked for."""

    def below(self, limit: int, position: int) -> int:
        """A uniform integer below ``limit`` for the row at a position, by rejection."""
        return integer_below(limit, self.more_bits(position))


def integer_below(limit: int, stream: Iterator[bytes]) -> int:
    """A uniform integer below ``limit`` from random bytes, by rejection."""
    bits = (limit - 1).bit_length()
    size = max(1, (bits + 7) // 8)
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
    in_parts = True

    def next_words(self, number: int) -> NDArray[np.uint64]:
        """Words that nobody has seen."""
        return np.frombuffer(os.urandom(_WORD_BYTES * number), dtype=np.uint64)

    def next_leading(self, number: int, bits: int) -> NDArray[Any]:
        """Bits that nobody has seen."""
        return np.frombuffer(os.urandom(bits // 8 * number), dtype=f"u{bits // 8}")

    def following(self, positions: NDArray[np.int64], drawn: int, bits: int) -> NDArray[Any]:
        """Bits that nobody has seen."""
        if bits == 8:
            return self.next_leading(len(positions), bits)
        return self.next_words(len(positions)) >> np.uint64(_WORD_BITS - bits)

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
        self._spawn_key = tuple(spawn_key)
        self._bits = self._generator()
        self._bits.advance(start)

    def _generator(self, *more: int) -> np.random.PCG64:
        spawn_key = (*self._spawn_key, *more)
        return np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=spawn_key))

    def next_words(self, number: int) -> NDArray[np.uint64]:
        """Words of the bit generator."""
        return self._bits.random_raw(number)

    def next_several(self, number: int, each: int) -> NDArray[np.uint64]:
        """Words of a bit generator of their own, from the position on."""
        own = self._generator(each)
        own.advance(self.position * each)
        return own.random_raw(number * each).reshape(number, each)

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
