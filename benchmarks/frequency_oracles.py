"""Protocols of the field that report one of N symbols, and estimate the shares of all of them.

Written from their papers: k-ary randomised response [Kairouz2016], optimised unary encoding and
optimised local hashing (Wang, Blocki, Li and Jha, USENIX Security 2017), subset selection
[YeBarg2018], Hadamard response (Acharya, Sun and Zhang, AISTATS 2019). They draw in floating point.

A report makes the symbols of some set S likelier than all others, each by the factor e^ε. Its level
under notions that know the prior p follows from p(S), and so from the sets that can occur.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

# Random numbers of one array.
_CHUNK = 4_000_000
#: Levels of protocols beyond this are cut: what they add is below a millionth.
MOST = 16.0


class Protocol(ABC):
    """A way to report symbols 0 … N−1 at a level, and to read the reports."""

    name: str
    #: Whether reading takes time in proportion to reports times symbols.
    reads_pairs = False

    def __init__(self, size: int, level: float) -> None:
        self.size, self.level, self.ratio = size, level, math.exp(level)

    @property
    @abstractmethod
    def bytes(self) -> float:
        """Bytes of a report."""

    @abstractmethod
    def draw(self, symbols: np.ndarray, rng: np.random.Generator) -> Any:
        """Reports of symbols."""

    @abstractmethod
    def read(self, reports: Any) -> np.ndarray:
        """Estimated shares, ``(N,)``."""


class Published(Protocol):
    """One whose error and levels under all notions have formulas."""

    @abstractmethod
    def risk(self, truth: np.ndarray) -> float:
        """Mean squared error of all shares times the number of reports, for people with a
        distribution.
        """

    @abstractmethod
    def masses(self, prior: np.ndarray) -> tuple[float, float]:
        """Least and largest mass of the symbols that one report makes likelier."""

    def split(self, reports: Any, surveys: int) -> list[Any]:
        """The reports of surveys of one size, one after the other."""
        return np.split(reports, surveys)


class SupportProtocol(Published):
    """One whose estimate counts how many reports support a symbol."""

    @property
    @abstractmethod
    def chances(self) -> tuple[float, float]:
        """That a report supports the true symbol, and any other one."""

    @abstractmethod
    def supported(self, reports: Any) -> np.ndarray:
        """How many reports support each symbol, ``(N,)``."""

    def read(self, reports: Any) -> np.ndarray:
        p, q = self.chances
        count = len(reports[0]) if isinstance(reports, tuple) else len(reports)
        return (self.supported(reports) / count - q) / (p - q)

    def risk(self, truth: np.ndarray) -> float:
        p, q = self.chances
        rate = truth * p + (1 - truth) * q
        return float((rate * (1 - rate)).sum()) / (p - q) ** 2


class RandomisedResponse(SupportProtocol):
    """The true symbol with weight e^ε against 1 for each other."""

    name = "k-ary randomised response"

    @property
    def bytes(self) -> float:
        return ((self.size - 1).bit_length() + 7) // 8

    @property
    def chances(self) -> tuple[float, float]:
        total = self.ratio + self.size - 1
        return self.ratio / total, 1 / total

    def draw(self, symbols: np.ndarray, rng: np.random.Generator) -> Any:
        other = rng.integers(0, self.size - 1, len(symbols))
        other += other >= symbols
        return np.where(rng.random(len(symbols)) < self.chances[0], symbols, other)

    def supported(self, reports: Any) -> np.ndarray:
        return np.bincount(reports, minlength=self.size)

    def masses(self, prior: np.ndarray) -> tuple[float, float]:
        return float(prior.min()), float(prior.max())


class SubsetSelection(SupportProtocol):
    """A set of d symbols, e^ε times as likely where the true one is in it."""

    name = "subset selection"

    def __init__(self, size: int, level: float, chosen: int | None = None) -> None:
        super().__init__(size, level)
        self.chosen = chosen or self._best()

    def _best(self) -> int:
        uniform = np.full(self.size, 1 / self.size)
        sizes = range(1, self.size)
        risks = [SubsetSelection(self.size, self.level, d).risk(uniform) for d in sizes]
        return sizes[int(np.argmin(risks))]

    @property
    def bytes(self) -> float:
        return math.ceil(math.log2(math.comb(self.size, self.chosen)) / 8)

    @property
    def chances(self) -> tuple[float, float]:
        d, n = self.chosen, self.size
        p = d * self.ratio / (d * self.ratio + n - d)
        return p, (p * (d - 1) + (1 - p) * d) / (n - 1)

    def draw(self, symbols: np.ndarray, rng: np.random.Generator) -> Any:
        d, n = self.chosen, self.size
        found = np.zeros((len(symbols), n), dtype=bool)
        step = max(1, _CHUNK // n)
        for start in range(0, len(symbols), step):
            own = symbols[start : start + step]
            rows = np.arange(len(own))
            order = rng.random((len(own), n))
            # The true symbol first of all, or last of all.
            order[rows, own] = np.where(rng.random(len(own)) < self.chances[0], -1.0, 2.0)
            if d < n:
                first = np.argpartition(order, d - 1, axis=1)[:, :d]
                np.put_along_axis(found[start : start + step], first, True, axis=1)
        return found

    def supported(self, reports: Any) -> np.ndarray:
        return reports.sum(axis=0)

    def masses(self, prior: np.ndarray) -> tuple[float, float]:
        ordered = np.sort(prior)
        return float(ordered[: self.chosen].sum()), float(ordered[-self.chosen :].sum())


class LeastVariance(SubsetSelection):
    """Subset selection read with the weights of least variance at a truth, by listing all sets.

    What the kernel alone costs, without the loss by an estimate that does not know the truth.
    """

    name = "subset selection, least variance"
    #: More symbols have too many subsets.
    largest = 12

    def __init__(self, size: int, level: float, chosen: int, truth: np.ndarray) -> None:
        super().__init__(size, level, chosen)
        self.truth = truth

    @cached_property
    def _read(self) -> tuple[np.ndarray, np.ndarray]:
        """J⁻¹ at the truth, and what each set reads as, ``(M, N)``."""
        kernel = np.where(_subsets(self.size, self.chosen), self.ratio, 1.0).T
        kernel /= kernel.sum(axis=1, keepdims=True)
        scaled = kernel / (self.truth @ kernel)
        inverse = np.linalg.inv(scaled @ kernel.T)
        return inverse, (inverse @ scaled).T

    def read(self, reports: Any) -> np.ndarray:
        powers = 1 << np.arange(self.size)
        order = _subsets(self.size, self.chosen) @ powers
        sorting = np.argsort(order)
        places = sorting[np.searchsorted(order[sorting], reports @ powers)]
        return self._read[1][places].mean(axis=0)

    def risk(self, truth: np.ndarray) -> float:
        if not np.array_equal(truth, self.truth):
            raise ValueError("weights of least variance are those of one truth")
        return float(np.trace(self._read[0]) - truth @ truth)


@lru_cache(maxsize=64)
def _subsets(size: int, chosen: int) -> np.ndarray:
    """All sets of so many symbols, as rows of booleans."""
    sets = list(itertools.combinations(range(size), chosen))
    found = np.zeros((len(sets), size), dtype=bool)
    np.put_along_axis(found, np.array(sets), True, axis=1)
    return found


class UnaryEncoding(SupportProtocol):
    """A bit for each symbol: 1/2 at the true one, 1/(e^ε + 1) at others."""

    name, reads_pairs = "optimised unary encoding", True

    @property
    def bytes(self) -> float:
        return math.ceil(self.size / 8)

    @property
    def chances(self) -> tuple[float, float]:
        return 0.5, 1 / (self.ratio + 1)

    def draw(self, symbols: np.ndarray, rng: np.random.Generator) -> Any:
        packed = np.empty((len(symbols), math.ceil(self.size / 8)), dtype=np.uint8)
        step = max(1, _CHUNK // self.size)
        for start in range(0, len(symbols), step):
            own = symbols[start : start + step]
            bits = rng.random((len(own), self.size), dtype=np.float32) < self.chances[1]
            bits[np.arange(len(own)), own] = rng.random(len(own)) < self.chances[0]
            packed[start : start + step] = np.packbits(bits, axis=1)
        return packed

    def supported(self, reports: Any) -> np.ndarray:
        counts = np.zeros(self.size, dtype=np.int64)
        step = max(1, _CHUNK // self.size)
        for start in range(0, len(reports), step):
            bits = np.unpackbits(reports[start : start + step], axis=1, count=self.size)
            counts += bits.sum(axis=0, dtype=np.int64)
        return counts

    def masses(self, prior: np.ndarray) -> tuple[float, float]:
        # Every set occurs; that of all symbols, and that of none, say nothing.
        return float(prior.min()), 1 - float(prior.min())


class LocalHashing(SupportProtocol):
    """A hash into about e^ε + 1 cells under a seed of 32 bits, then randomised response."""

    name, reads_pairs = "optimised local hashing", True

    @property
    def cells(self) -> int:
        return max(2, round(self.ratio) + 1)

    @property
    def bytes(self) -> float:
        return 4 + ((self.cells - 1).bit_length() + 7) // 8

    @property
    def chances(self) -> tuple[float, float]:
        return self.ratio / (self.ratio + self.cells - 1), 1 / self.cells

    def hashed(self, seeds: np.ndarray, symbols: np.ndarray) -> np.ndarray:
        """A finaliser that mixes 64 bits (that of MurmurHash3), modulo the cells."""
        mixed = seeds.astype(np.uint64) << np.uint64(32) | symbols.astype(np.uint64)
        for multiplier in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
            mixed ^= mixed >> np.uint64(33)
            mixed *= np.uint64(multiplier)
        mixed ^= mixed >> np.uint64(33)
        return (mixed % np.uint64(self.cells)).astype(np.int64)

    def draw(self, symbols: np.ndarray, rng: np.random.Generator) -> Any:
        seeds = rng.integers(0, 1 << 32, len(symbols), dtype=np.uint64)
        cells = self.hashed(seeds, symbols)
        other = rng.integers(0, self.cells - 1, len(symbols))
        other += other >= cells
        return seeds, np.where(rng.random(len(symbols)) < self.chances[0], cells, other)

    def supported(self, reports: Any) -> np.ndarray:
        everything = np.arange(self.size, dtype=np.uint64)
        counts = np.zeros(self.size, dtype=np.int64)
        step = max(1, _CHUNK // self.size)
        seeds, cells = reports
        for start in range(0, len(seeds), step):
            own = self.hashed(seeds[start : start + step, None], everything)
            counts += (own == cells[start : start + step, None]).sum(axis=0)
        return counts

    def masses(self, prior: np.ndarray) -> tuple[float, float]:
        # Of a hash that is as good as random every set may be the cell that is reported.
        return float(prior.min()), 1 - float(prior.min())

    def split(self, reports: Any, surveys: int) -> list[Any]:
        seeds, cells = reports
        return list(zip(np.split(seeds, surveys), np.split(cells, surveys), strict=True))


class HadamardResponse(Published):
    """Blocks of a Hadamard matrix: half of one block is likelier, and all other blocks are not.

    Symbol x has block x // (b − 1) and in it the row x % (b − 1) + 1 of the matrix of order b.
    """

    name = "Hadamard response"

    def __init__(self, size: int, level: float) -> None:
        super().__init__(size, level)
        most = min(self.ratio, 2 * size)
        self.blocks = 1 << max(0, math.ceil(math.log2(most)) - 1)
        self.order = 1 << max(1, math.ceil(math.log2(size / self.blocks + 1)))
        self.outputs = self.blocks * self.order
        self.half = self.order // 2

    @property
    def bytes(self) -> float:
        return ((self.outputs - 1).bit_length() + 7) // 8

    @property
    def total(self) -> float:
        """Sum of the weights of all outputs."""
        return self.outputs - self.half + self.half * self.ratio

    def placed(self, symbols: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return symbols // (self.order - 1), symbols % (self.order - 1) + 1

    def draw(self, symbols: np.ndarray, rng: np.random.Generator) -> Any:
        block, row = self.placed(symbols)
        n = len(symbols)
        kept = rng.random(n) < self.half * self.ratio / self.total
        found = np.empty(n, dtype=np.int64)
        left = np.arange(n)
        while left.size:
            # Uniform on the likelier half of the block, or on everything else.
            tried = rng.integers(0, self.outputs, left.size)
            near = rng.integers(0, self.order, left.size) + block[left] * self.order
            tried = np.where(kept[left], near, tried)
            same = tried // self.order == block[left]
            odd = np.bitwise_count((tried % self.order) & row[left]) % 2
            good = (same & (odd == 0)) == kept[left]
            found[left[good]] = tried[good]
            left = left[~good]
        return found

    def read(self, reports: Any) -> np.ndarray:
        counts = np.bincount(reports, minlength=self.outputs) / len(reports)
        table = counts.reshape(self.blocks, self.order).copy()
        step = 1
        while step < self.order:
            parts = table.reshape(self.blocks, -1, 2, step)
            low, high = parts[:, :, 0].copy(), parts[:, :, 1].copy()
            parts[:, :, 0], parts[:, :, 1] = low + high, low - high
            step *= 2
        # Σ over the likelier half minus Σ over the other half of the block.
        return self.total / (self.half * (self.ratio - 1)) * table[self.placed(self._all)]

    @property
    def _all(self) -> np.ndarray:
        return np.arange(self.size)

    def risk(self, truth: np.ndarray) -> float:
        block, _ = self.placed(self._all)
        inside = np.bincount(block, truth)[block]
        # How often the block of a symbol is reported; then its score is ± scale.
        often = (inside * self.half * (self.ratio + 1) + (1 - inside) * self.order) / self.total
        scale = self.total / (self.half * (self.ratio - 1))
        return float((scale**2 * often - truth**2).sum())

    def masses(self, prior: np.ndarray) -> tuple[float, float]:
        block, row = self.placed(self._all)
        found = []
        for y in range(self.outputs):
            odd = np.bitwise_count((y % self.order) & row) % 2
            is_likelier = (block == y // self.order) & (odd == 0)
            if is_likelier.any() and not is_likelier.all():
                found.append(float(prior[is_likelier].sum()))
        return min(found), max(found)


PROTOCOLS: tuple[type[Published], ...] = (
    RandomisedResponse,
    SubsetSelection,
    LeastVariance,
    UnaryEncoding,
    LocalHashing,
    HadamardResponse,
)


def satisfies(protocol: Published, prior: np.ndarray, notion: str, level: float) -> bool:
    """Whether a protocol keeps a level of LDP, PML, PMC or LIP under a prior."""
    ratio, limit = protocol.ratio, math.exp(level) * (1 + 1e-12)
    if notion == "LDP":
        return ratio <= limit
    least, most = protocol.masses(prior)
    above = ratio / (1 + least * (ratio - 1))
    below = 1 + most * (ratio - 1)
    return {
        "PML": above <= limit,
        "PMC": below <= limit,
        "LIP": above <= limit and below <= limit,
    }[notion]


def at_level(
    kind: type[Published], prior: np.ndarray, notion: str, level: float
) -> tuple[float, Published]:
    """Least risk of a kind of protocol at the prior among those that keep a level, and that one.

    Everything that may be chosen is: the protocol's own level of LDP, and the size of subsets.
    """
    n = len(prior)
    makes: list[Callable[[float], Published]]
    if kind is LeastVariance:
        makes = [partial(LeastVariance, n, chosen=d, truth=prior) for d in range(1, n)]
    elif kind is SubsetSelection:
        makes = [partial(SubsetSelection, n, chosen=d) for d in range(1, n)]
    else:
        makes = [partial(kind, n)]
    found: list[tuple[float, Published]] = []
    for make in makes:
        # The shape of a protocol may change with its level, so that what is kept has gaps.
        grid = [level] if notion == "LDP" else np.linspace(0, MOST, 161)[1:].tolist()
        kept = [satisfies(make(own), prior, notion, level) for own in grid]
        best = [own for own, good in zip(grid, kept, strict=True) if good]
        for (own, good), (after, still) in zip(
            zip(grid, kept, strict=True), zip(grid[1:], kept[1:], strict=True), strict=False
        ):
            if good and not still:
                best.append(
                    _edge(lambda x, m=make: satisfies(m(x), prior, notion, level), own, after)
                )
        if notion != "LDP" and not kept[0]:
            best.append(
                _edge(lambda x, m=make: satisfies(m(x), prior, notion, level), 1e-6, grid[0])
            )
        found += [(made.risk(prior), made) for made in map(make, best)]
    return min(found, key=lambda pair: pair[0])


def _edge(keeps: Any, low: float, high: float) -> float:
    """The largest number that still keeps a level, between one that does and one that does not."""
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low
