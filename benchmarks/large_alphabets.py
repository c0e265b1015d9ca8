"""Frequencies of very many symbols: error, bytes and seconds of ours beside protocols of the field.

``python -m benchmarks run --group large-alphabets`` or ``python -m benchmarks.large_alphabets run``
measures, ``table`` writes ``large_alphabets.md``. All protocols have the same level; ours for PML
and LIP are beside them because a protocol that knows no prior has to meet those by its LDP level.

The peers are written from their papers: k-ary randomised response [Kairouz2016], optimised unary
encoding and optimised local hashing (Wang, Blocki, Li and Jha, USENIX Security 2017), Hadamard
response (Acharya, Sun and Zhang, AISTATS 2019). They draw in floating point. What is expected:
local hashing and unary encoding have the least error too, but take time n·N to read, with 5 and N/8
bytes a report; Hadamard response is as fast to read as ours, and needs half as many reports again
or twice as many; ours has the least error, 3 or 4 bytes and one transform. Under PML and LIP ours
needs a sixth and a quarter of the reports of any protocol under LDP.
"""

from __future__ import annotations

import datetime
import json
import math
import statistics
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import mechdesign as md

from .runner import machine

HERE = Path(__file__).parent
RESULTS, TABLE = HERE / "large_alphabets.jsonl", HERE / "large_alphabets.md"
SIZES, LEVELS = (1_000, 10_000, 100_000, 1_000_000), (1.0, 3.0)
REPORTS = 200_000
# Products of reports and symbols that a protocol may take which reads every pair.
_PAIRS = 10**9

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


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


class Ours(Protocol):
    """``md.subset_selection``."""

    notion: Any = md.LDP

    def __init__(self, size: int, level: float) -> None:
        super().__init__(size, level)
        self.found = md.subset_selection(size, self.notion(level))

    @property
    def bytes(self) -> float:
        return self.found.bytes_per_report

    def draw(self, symbols: np.ndarray, rng: np.random.Generator) -> Any:
        return md.Sampler(self.found, rng=rng).draw_codes(symbols)

    def read(self, reports: Any) -> np.ndarray:
        return np.asarray(md.estimate(reports, self.found).values)


class OursLDP(Ours):
    name, notion = "subset selection", md.LDP


class OursPML(Ours):
    name, notion = "subset selection, PML", md.PML


class OursLIP(Ours):
    name, notion = "subset selection, LIP", md.LIP


class RandomisedResponse(Protocol):
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

    def read(self, reports: Any) -> np.ndarray:
        p, q = self.chances
        return (np.bincount(reports, minlength=self.size) / len(reports) - q) / (p - q)


class UnaryEncoding(Protocol):
    """A bit for each symbol: 1/2 at the true one, 1/(e^ε + 1) at others."""

    name, reads_pairs = "optimised unary encoding", True

    @property
    def bytes(self) -> float:
        return math.ceil(self.size / 8)

    def draw(self, symbols: np.ndarray, rng: np.random.Generator) -> Any:
        packed = []
        for symbol in symbols:
            bits = rng.random(self.size, dtype=np.float32) < 1 / (self.ratio + 1)
            bits[symbol] = rng.random() < 0.5
            packed.append(np.packbits(bits))
        return packed

    def read(self, reports: Any) -> np.ndarray:
        counts = np.zeros(self.size, dtype=np.int64)
        for report in reports:
            counts += np.unpackbits(report, count=self.size)
        q = 1 / (self.ratio + 1)
        return (counts / len(reports) - q) / (0.5 - q)


class LocalHashing(Protocol):
    """A hash into about e^ε + 1 cells under a seed of 32 bits, then randomised response."""

    name, reads_pairs = "optimised local hashing", True

    @property
    def cells(self) -> int:
        return max(2, round(self.ratio) + 1)

    @property
    def bytes(self) -> float:
        return 4 + ((self.cells - 1).bit_length() + 7) // 8

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
        keep = rng.random(len(symbols)) < self.ratio / (self.ratio + self.cells - 1)
        return seeds, np.where(keep, cells, other)

    def read(self, reports: Any) -> np.ndarray:
        everything = np.arange(self.size, dtype=np.uint64)
        counts = np.zeros(self.size, dtype=np.int64)
        for seed, cell in zip(*reports, strict=True):
            counts += self.hashed(np.full(self.size, seed), everything) == cell
        p, q = self.ratio / (self.ratio + self.cells - 1), 1 / self.cells
        return (counts / len(reports[0]) - q) / (p - q)


class HadamardResponse(Protocol):
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

    def placed(self, symbols: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return symbols // (self.order - 1), symbols % (self.order - 1) + 1

    def draw(self, symbols: np.ndarray, rng: np.random.Generator) -> Any:
        block, row = self.placed(symbols)
        n = len(symbols)
        inside = self.half * self.ratio
        kept = rng.random(n) < inside / (inside + self.outputs - self.half)
        found = np.empty(n, dtype=np.int64)
        left = np.arange(n)
        while left.size:
            # Uniform on the likelier half of the block, or on everything else.
            tried = rng.integers(0, self.outputs, left.size)
            near = rng.integers(0, self.order, left.size) + block[left] * self.order
            tried = np.where(kept[left], near, tried)
            same = tried // self.order == block[left]
            odd = np.bitwise_count((tried % self.order) & row[left]) % 2
            is_likelier = same & (odd == 0)
            good = is_likelier == kept[left]
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
        block, row = self.placed(np.arange(self.size))
        # Σ over the likelier half minus Σ over the other half of the block.
        scale = (self.outputs - self.half + self.half * self.ratio) / (self.half * (self.ratio - 1))
        return scale * table[block, row]


PROTOCOLS: tuple[type[Protocol], ...] = (
    OursLDP,
    RandomisedResponse,
    UnaryEncoding,
    LocalHashing,
    HadamardResponse,
    OursPML,
    OursLIP,
)


def least(size: int, level: float) -> float:
    """The least risk under LDP, all symbols equally frequent ([YeBarg2018])."""
    return md.subset_selection(size, md.LDP(level)).bound


def measure(
    kind: type[Protocol], size: int, level: float, reports: int, seed: int
) -> dict[str, Any]:
    """One survey of people whose symbols have shares in proportion to 1/x."""
    protocol, rng = kind(size, level), np.random.default_rng(seed)
    n = min(reports, max(50, _PAIRS // size)) if protocol.reads_pairs else reports
    truth = 1 / np.arange(1.0, size + 1)
    truth /= truth.sum()
    symbols = rng.permutation(size)[rng.choice(size, size=n, p=truth)]
    shares = np.bincount(symbols, minlength=size) / n
    start = time.perf_counter()
    drawn = protocol.draw(symbols, rng)
    middle = time.perf_counter()
    values = protocol.read(drawn)
    end = time.perf_counter()
    return {
        "symbols": size,
        "level": level,
        "protocol": protocol.name,
        "reports": n,
        # Against the shares of those who were asked: what privacy adds.
        "risk": n * float(((values - shares) ** 2).sum()),
        "bytes": protocol.bytes,
        "draw": (middle - start) / n,
        "read": end - middle,
    }


@app.command()
def run(
    repeat: Annotated[int, typer.Option(help="Surveys for each protocol.")] = 3,
    size: Annotated[list[int] | None, typer.Option(help="Symbols; repeat it.")] = None,
    reports: Annotated[int, typer.Option(help="Most reports of a survey.")] = REPORTS,
    output: Annotated[Path, typer.Option(help="Rows are appended here.")] = RESULTS,
) -> None:
    """Measure every protocol at every size and level, interleaved."""
    stamp = {"date": datetime.date.today().isoformat(), "machine": machine()}
    rows = []
    with output.open("a", encoding="utf-8") as file:
        for seed in range(repeat):
            for n in size or SIZES:
                for level in LEVELS:
                    bound = least(n, level)
                    for kind in PROTOCOLS:
                        row = {**measure(kind, n, level, reports, seed), "bound": bound, **stamp}
                        rows.append(row)
                        file.write(json.dumps(row) + "\n")
                        file.flush()
                        typer.echo(f"{n} {level:g} {row['protocol']}: {row['risk'] / bound:.4g}")
    typer.echo(markdown(rows))


def markdown(rows: list[dict[str, Any]]) -> str:
    """Medians as Markdown: error against the least under LDP, bytes, seconds."""
    dates = sorted({row["date"] for row in rows})
    period = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    machines = " and ".join(sorted({row["machine"] for row in rows}))
    lines = [
        "Mean squared error of all shares together, times reports, over the least that any "
        "protocol under LDP at the level has for equally frequent symbols (so reports needed, "
        "relative to that); bytes per report; microseconds to draw a report; seconds to read so "
        f"many. Medians, measured {period} on a machine with {machines}. Shares in proportion to "
        "1/x, in random order.",
        "",
        "| symbols | ε | protocol | error | bytes | draw | read | reports |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for key in dict.fromkeys((row["symbols"], row["level"], row["protocol"]) for row in rows):
        own = [r for r in rows if (r["symbols"], r["level"], r["protocol"]) == key]
        median = {
            name: statistics.median(r[name] for r in own)
            for name in ("risk", "bytes", "draw", "read", "reports", "bound")
        }
        lines.append(
            f"| {key[0]:,} | {key[1]:g} | {key[2]} | {median['risk'] / median['bound']:.3f} "
            f"| {median['bytes']:,.0f} | {1e6 * median['draw']:.2g} | {median['read']:.2g} "
            f"| {median['reports']:,.0f} |"
        )
    return "\n".join(lines)


@app.command()
def table(
    results: Annotated[Path, typer.Option(help="Rows to read.")] = RESULTS,
    output: Annotated[Path, typer.Option(help="File for the table.")] = TABLE,
) -> None:
    """Write the table from the rows."""
    rows = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    output.write_text(markdown(rows) + "\n", encoding="utf-8")
    typer.echo(f"wrote {output}")


if __name__ == "__main__":
    app()
