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
import statistics
import time
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import mechdesign as md

from .frequency_oracles import (
    HadamardResponse,
    LocalHashing,
    Protocol,
    RandomisedResponse,
    UnaryEncoding,
)
from .readme import read_rows, write_page
from .runner import machine

HERE = Path(__file__).parent
RESULTS, TABLE = HERE / "large_alphabets.jsonl", HERE / "large_alphabets.md"
SIZES, LEVELS = (1_000, 10_000, 100_000, 1_000_000), (1.0, 3.0)
REPORTS = 200_000
# Products of reports and symbols that a protocol may take which reads every pair.
_PAIRS = 10**9

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


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


class InGroups(Ours):
    """The same for a prior of three masses, that of symbols by how frequent they are: ``order`` has
    the most frequent one first.
    """

    def __init__(self, size: int, level: float, order: np.ndarray | None = None) -> None:
        Protocol.__init__(self, size, level)
        truth = 1 / np.arange(1.0, size + 1)
        ends = [0, max(size // 1000, 1), max(size // 20, 2), size]
        order = np.arange(size) if order is None else order
        counts = np.zeros(size, dtype=int)
        for start, end in pairwise(ends):
            mean = truth[start:end].mean() / truth[ends[2] :].mean()
            counts[order[start:end]] = round(1000 * mean)
        prior = md.Prior.from_counts(counts.tolist())
        self.found = md.subset_selection(prior, self.notion(level))


class InGroupsLDP(InGroups):
    name, notion = "subset selection, LDP, three groups", md.LDP


class InGroupsPML(InGroups):
    name, notion = "subset selection, PML, three groups", md.PML


class InGroupsLIP(InGroups):
    name, notion = "subset selection, LIP, three groups", md.LIP


PROTOCOLS: tuple[type[Protocol], ...] = (
    OursLDP,
    RandomisedResponse,
    UnaryEncoding,
    LocalHashing,
    HadamardResponse,
    OursPML,
    OursLIP,
    InGroupsLDP,
    InGroupsPML,
    InGroupsLIP,
)


def least(size: int, level: float) -> float:
    """The least risk under LDP, all symbols equally frequent ([YeBarg2018])."""
    return -md.subset_selection(size, md.LDP(level)).bound


def measure(
    kind: type[Protocol], size: int, level: float, reports: int, seed: int
) -> dict[str, Any]:
    """One survey of people whose symbols have shares in proportion to 1/x."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(size)
    told = (order,) if issubclass(kind, InGroups) else ()
    protocol = kind(size, level, *told)
    n = min(reports, max(50, _PAIRS // size)) if protocol.reads_pairs else reports
    truth = 1 / np.arange(1.0, size + 1)
    truth /= truth.sum()
    symbols = order[rng.choice(size, size=n, p=truth)]
    shares = np.bincount(symbols, minlength=size) / n
    start = time.process_time()  # others may be at work
    drawn = protocol.draw(symbols, rng)
    middle = time.process_time()
    values = protocol.read(drawn)
    end = time.process_time()
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
    only: Annotated[str, typer.Option(help="Protocols whose name contains this.")] = "",
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
                        if only not in kind.name:
                            continue
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
        "many. With three groups the prior says which symbols are the most frequent 0.1 %, the "
        f"next 5 % and the others, and the mean mass in each. Medians, measured {period} on a "
        f"machine with {machines}. Shares in proportion to "
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
    write_page(output, markdown(read_rows(results)))


if __name__ == "__main__":
    app()
