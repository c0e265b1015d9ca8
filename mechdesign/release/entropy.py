"""Where random words come from: the operating system, a secret key, or a seed for research.

A word is 64 random bits. Here row ``i`` of a column uses word ``i``, so what is drawn does not
depend on how a table is cut into batches; words that belong to the identity of a row, whatever its
place, are in ``identities``.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, quote

_BLOCK = 1 << 13
_WORD = 8


class Words(ABC):
    """A stream of 64-bit words; :attr:`for_production` says whether nobody else can know them.

    Threads may share one: no two of them get the same words.
    """

    #: Named in receipts.
    source: str
    for_production: bool

    def __init__(self) -> None:
        self.position = 0
        self._lock = threading.Lock()

    def take(self, count: int) -> NDArray[np.uint64]:
        """The next ``count`` words."""
        return self.claim(count)[1]

    def claim(self, count: int) -> tuple[int, NDArray[np.uint64]]:
        """The position of the next word, and the next ``count`` words, which are then spent."""
        with self._lock:
            start = self.position
            words = self._take(count)
            self.position += count
        return start, words

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    @abstractmethod
    def _take(self, count: int) -> NDArray[np.uint64]: ...

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

    def _take(self, count: int) -> NDArray[np.uint64]:
        return np.frombuffer(os.urandom(_WORD * count), dtype=np.uint64)

    def more_bits(self, position: int) -> Iterator[bytes]:
        """Further bytes from the operating system."""
        while True:
            yield os.urandom(_WORD)


class KeyedWords(Words):
    """SHAKE-256 in counter mode under a secret key that the operating system draws once.

    One stream, to be read once: a second one under the same key, also a copy, repeats its words.
    Tables draw with the identities of their rows instead, as rows have no lasting order.
    """

    source = "operating system (one secret key, SHAKE-256)"
    for_production = True

    def __init__(self, key: bytes | None = None, start: int = 0) -> None:
        super().__init__()
        self.key = secrets.token_bytes(32) if key is None else key
        self.position = start

    def _take(self, count: int) -> NDArray[np.uint64]:
        if count == 0:
            return np.empty(0, dtype=np.uint64)
        first, last = self.position // _BLOCK, (self.position + count - 1) // _BLOCK
        blocks = [self._block(number) for number in range(first, last + 1)]
        skip = self.position - first * _BLOCK
        return np.concatenate(blocks)[skip : skip + count]

    def _block(self, number: int) -> NDArray[np.uint64]:
        text = self.key + b"words" + number.to_bytes(8, "little")
        digest = hashlib.shake_256(text).digest(_WORD * _BLOCK)
        return np.frombuffer(digest, dtype="<u8").astype(np.uint64, copy=False)

    def more_bits(self, position: int) -> Iterator[bytes]:
        """Further bytes under the same key."""
        return _expand(self.key + b"more" + position.to_bytes(8, "little"))

    def at(self, start: int) -> KeyedWords:
        """The same words, from a position on."""
        return KeyedWords(self.key, start)


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

    def _take(self, count: int) -> NDArray[np.uint64]:
        return self._bits.random_raw(count)

    def more_bits(self, position: int) -> Iterator[bytes]:
        """Further bytes from seed and position."""
        return _expand(f"{self.seed} {position} {self.name}".encode())

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

    def _take(self, count: int) -> NDArray[np.uint64]:
        top = np.iinfo(np.uint64).max
        return self._rng.integers(0, top, count, dtype=np.uint64, endpoint=True)

    def more_bits(self, position: int) -> Iterator[bytes]:
        """Further bytes from the generator."""
        while True:
            yield self._rng.bytes(_WORD)


def _expand(text: bytes) -> Iterator[bytes]:
    count = 0
    while True:
        yield hashlib.shake_256(text + count.to_bytes(8, "little")).digest(64)
        count += 1


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
