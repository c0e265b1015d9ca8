"""Reports per second: ``python -m benchmarks.sampling run``, ``users`` and ``table``.

Ours beside NumPy, OpenDP and multi-freq-ldpy (where they are installed), interleaved in one process
with one thread. The kernel is randomised response on n symbols, the one mechanism that all have.
The peers decide in floating point (NumPy, multi-freq-ldpy) or draw one report per call (OpenDP).

``users`` measures what somebody with a table sees: values in, labels and a receipt out, words of
the operating system. Time by the clock goes with the time that the process computed, which others
on the machine change less.
"""

from __future__ import annotations

import datetime
import importlib
import json
import math
import os
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import mechdesign as md

from .readme import read_rows, write_page
from .runner import machine

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
RESULTS = HERE / "sampling.jsonl"
USERS = HERE / "sampling_users.jsonl"
PAGE = HERE / "sampling.md"
LEVEL = 2.0
SIZES = (4, 100, 1000)

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)

Draw = Callable[[np.ndarray], np.ndarray]


def ours_seeded(found: Any) -> Draw:
    """Exact, words from PCG64."""
    return md.Sampler(found, rng=1).draw_codes


def ours_system(found: Any) -> Draw:
    """Exact, words from the operating system."""
    return md.Sampler(found).draw_codes


def numpy_search(found: Any) -> Draw:
    """Inverse distribution functions of all rows in one sorted vector of floats."""
    kernel, rng = found.mechanism.kernel, np.random.default_rng(1)
    n, m = kernel.shape
    steps = (np.cumsum(kernel, axis=1) + np.arange(n)[:, None]).ravel()

    def draw(codes: np.ndarray) -> np.ndarray:
        return np.searchsorted(steps, codes + rng.random(len(codes)), side="right") - m * codes

    return draw


def numpy_choice(found: Any) -> Draw:
    """``Generator.choice`` once for each symbol."""
    kernel, rng = found.mechanism.kernel, np.random.default_rng(1)

    def draw(codes: np.ndarray) -> np.ndarray:
        out = np.empty_like(codes)
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(len(kernel) + 1))
        for x, row in enumerate(kernel):
            places = order[ends[x] : ends[x + 1]]
            out[places] = rng.choice(len(row), len(places), p=row)
        return out

    return draw


def opendp(found: Any) -> Draw:
    """``make_randomized_response``, one call per report."""
    dp: Any = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")
    n = len(found.prior)
    probability = float(found.mechanism.kernel[0, 0])
    measurement = dp.m.make_randomized_response(list(range(n)), probability)

    def draw(codes: np.ndarray) -> np.ndarray:
        return np.array([measurement(x) for x in codes.tolist()])

    return draw


def multi_freq(found: Any) -> Draw:
    """``GRR_Client`` in a compiled loop."""
    client = importlib.import_module("multi_freq_ldpy.pure_frequency_oracles.GRR").GRR_Client
    numba: Any = importlib.import_module("numba")
    n = len(found.prior)

    @numba.njit
    def draw(codes: np.ndarray) -> np.ndarray:
        out = np.empty_like(codes)
        for i in range(len(codes)):
            out[i] = client(codes[i], n, LEVEL)
        return out

    return draw


#: How each is made, and at most how many reports of a run it gets: the slow ones fewer.
DRIVERS: dict[str, tuple[Callable[[Any], Draw], int]] = {
    "ours, seeded": (ours_seeded, 10_000_000),
    "ours, OS entropy": (ours_system, 10_000_000),
    "NumPy searchsorted": (numpy_search, 2_000_000),
    "NumPy choice": (numpy_choice, 2_000_000),
    "multi-freq-ldpy": (multi_freq, 200_000),
    "OpenDP": (opendp, 2_000),
}


def measure(found: Any, name: str, most: int) -> float:
    """Reports per second of one driver, after a warm-up."""
    make, limit = DRIVERS[name]
    draw, count = make(found), min(limit, most)
    n = len(found.prior)
    codes = np.random.default_rng(0).integers(0, n, count)
    draw(codes[: max(count // 100, 10)])
    start = time.perf_counter()
    drawn = draw(codes)
    seconds = time.perf_counter() - start
    # A driver that draws from another kernel is no peer.
    same, expected = float(np.mean(drawn == codes)), float(found.mechanism.kernel[0, 0])
    assert abs(same - expected) < 6 * math.sqrt(expected * (1 - expected) / count)
    return count / seconds


@app.command()
def run(
    repeat: Annotated[int, typer.Option(help="Repetitions.")] = 5,
    most: Annotated[int, typer.Option(help="Most reports per run.")] = 10_000_000,
    size: Annotated[list[int] | None, typer.Option(help="Symbols; repeat it.")] = None,
    output: Annotated[Path, typer.Option(help="Rows are appended here.")] = RESULTS,
) -> None:
    """Measure every driver that is installed, interleaved."""
    stamp = {"date": datetime.date.today().isoformat(), "machine": machine()}
    absent: set[str] = set()
    with output.open("a", encoding="utf-8") as file:
        for _ in range(repeat):
            for n in size or SIZES:
                found = md.design(md.Prior.uniform(n), md.utility.Hamming(), md.LDP(LEVEL))
                for name in DRIVERS:
                    if name in absent:
                        continue
                    try:
                        rate = measure(found, name, most)
                    except ImportError:
                        absent.add(name)
                        typer.echo(f"{name} is not installed", err=True)
                        continue
                    row = {"symbols": n, "driver": name, "rate": rate, **stamp}
                    file.write(json.dumps(row) + "\n")
                    typer.echo(f"{n} symbols, {name}: {rate / 1e6:.3g} million/s", err=True)


def _coded(codes: np.ndarray, labels: list[str]) -> Any:
    import pyarrow as pa

    narrow = pa.array(codes.astype(np.int16))
    return pa.table({"x": pa.DictionaryArray.from_arrays(narrow, pa.array(labels))})


def _text(codes: np.ndarray, labels: list[str]) -> Any:
    import pyarrow as pa

    return pa.table({"x": _coded(codes, labels)["x"].cast(pa.string())})


def _polars(codes: np.ndarray, labels: list[str], kind: str) -> Any:
    import polars as pl

    wanted = {"Enum": pl.Enum(labels), "Categorical": pl.Categorical, "String": pl.String}[kind]
    frame: Any = pl.from_arrow(_text(codes, labels))
    return frame.with_columns(pl.col("x").cast(wanted))


#: Tables of one column that a user may hold, from positions and labels.
TABLES: dict[str, Callable[[np.ndarray, list[str]], Any]] = {
    "Arrow dictionary": _coded,
    "pandas categorical": lambda codes, labels: _coded(codes, labels).to_pandas(),
    "polars Enum": lambda codes, labels: _polars(codes, labels, "Enum"),
    "polars Categorical": lambda codes, labels: _polars(codes, labels, "Categorical"),
    "Arrow text": _text,
    "pandas text": lambda codes, labels: _text(codes, labels).to_pandas(),
    "polars String": lambda codes, labels: _polars(codes, labels, "String"),
}
PARQUET, BASE = "Parquet to Parquet, text", "NumPy searchsorted on codes"


def measure_users(symbols: int, count: int) -> dict[str, tuple[float, float]]:
    """Reports per second of each kind of table: by the clock, and of computing time."""
    import pyarrow.parquet as pq

    labels = [f"class {i}" for i in range(symbols)]
    found = md.design(md.Prior.uniform(labels), md.utility.Hamming(), md.LDP(LEVEL))
    codes = np.random.default_rng(0).integers(0, symbols, count)
    rates: dict[str, tuple[float, float]] = {}

    def timed(name: str, call: Callable[[], Any]) -> Any:
        start, computed = time.perf_counter(), time.process_time()
        made = call()
        rates[name] = (
            count / (time.perf_counter() - start),
            count / (time.process_time() - computed),
        )
        return made

    search = numpy_search(found)
    timed(BASE, lambda: search(codes))
    for name, make in TABLES.items():
        table = make(codes, labels)
        md.privatize(table[:1000], "x", found)
        made = timed(name, lambda table=table: md.privatize(table, "x", found))
        assert len(made) == count
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.parquet"), Path(folder, "out.parquet")
        pq.write_table(_text(codes, labels), source)
        once = lambda: md.privatize_file(source, target, "x", found, ledger=False)  # noqa: E731
        assert timed(PARQUET, once).rows == count
    return rates


@app.command()
def users(
    repeat: Annotated[int, typer.Option(help="Repetitions.")] = 3,
    count: Annotated[int, typer.Option(help="Rows.")] = 10_000_000,
    size: Annotated[list[int] | None, typer.Option(help="Symbols; repeat it.")] = None,
    output: Annotated[Path, typer.Option(help="Rows are appended here.")] = USERS,
) -> None:
    """Measure tables as users hold them, beside NumPy on their codes."""
    stamp = {"date": datetime.date.today().isoformat(), "machine": machine()}
    with output.open("a", encoding="utf-8") as file:
        for _ in range(repeat):
            for n in size or (4, 100):
                load = os.getloadavg()[0]
                for name, (clock, computing) in measure_users(n, count).items():
                    rates = {"rate": clock, "computing": computing, "load": round(load, 1)}
                    row = {"symbols": n, "table": name, **rates, **stamp}
                    file.write(json.dumps(row) + "\n")
                    typer.echo(
                        f"{n} symbols, {name}: {clock / 1e6:.3g} million/s, "
                        f"{computing / 1e6:.3g} of computing time",
                        err=True,
                    )


def users_markdown(rows: list[dict[str, Any]]) -> str:
    """Medians in millions of reports per second of tables, as Markdown."""
    sizes = sorted({row["symbols"] for row in rows})
    dates = sorted({row["date"] for row in rows})
    loads = [row["load"] for row in rows]
    lines = [
        "What a user sees, labels in and out with a receipt, words of the operating system: "
        "million reports per second by the clock, and in brackets per second of computing time "
        "of both cores; measured "
        + " to ".join(dict.fromkeys((dates[0], dates[-1])))
        + (
            f" while other programs ran (load {min(loads):.1f} to {max(loads):.1f})."
            if max(loads) > 2
            else " on an otherwise idle machine. Machines of one kind differ by a factor of two "
            "from day to day: compare with NumPy's rate in the last row."
        ),
        "",
        "| table | " + " | ".join(f"{n} symbols" for n in sizes) + " |",
        "| --- | " + " | ".join("---" for _ in sizes) + " |",
    ]
    for name in [*TABLES, PARQUET, BASE]:
        cells = []
        for n in sizes:
            mine = [row for row in rows if (row["symbols"], row["table"]) == (n, name)]
            clock, computing = (
                statistics.median(row[part] for row in mine) / 1e6 if mine else math.nan
                for part in ("rate", "computing")
            )
            cells.append(f"{clock:.3g} ({computing:.3g})" if mine else "")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def markdown(rows: list[dict[str, Any]]) -> str:
    """Medians in millions of reports per second, as Markdown."""
    names = [name for name in DRIVERS if any(row["driver"] == name for row in rows)]
    dates = sorted({row["date"] for row in rows})
    period = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    machines = " and ".join(sorted({row["machine"] for row in rows}))
    lines = [
        f"Million reports per second, one thread, medians; measured {period} on a machine with "
        f"{machines}. Randomised response at {LEVEL:g} nats, all interleaved in one process.",
        "",
        "| symbols | " + " | ".join(names) + " |",
        "| --- | " + " | ".join("---" for _ in names) + " |",
    ]
    for n in sorted({row["symbols"] for row in rows}):
        cells = []
        for name in names:
            rates = [r["rate"] for r in rows if (r["symbols"], r["driver"]) == (n, name)]
            cells.append(f"{statistics.median(rates) / 1e6:.3g}" if rates else "")
        lines.append(f"| {n} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def told(rows: list[dict[str, Any]], of_users: list[dict[str, Any]]) -> str:
    """The paragraph of the README: what the sampler makes, and what a user sees."""

    def rate(found: list[dict[str, Any]], **which: Any) -> str:
        mine = [row["rate"] for row in found if which.items() <= row.items()]
        median = statistics.median(mine) / 1e6
        return f"{median:.0f}" if median >= 10 else f"{median:.2g}"

    def seen(name: str) -> str:
        return rate(of_users, table=name, symbols=4)

    return (
        "How fast, in million reports per second with the entropy of the system, for 4 symbols on "
        f"two cores: the sampler alone {rate(rows, driver='ours, OS entropy', symbols=4)} (one "
        f"thread); a table in and out, receipt included, {seen('Arrow dictionary')} (Arrow "
        f"dictionary), {seen('pandas categorical')} (pandas categories), {seen('Arrow text')} "
        f"(Arrow text), {seen('pandas text')} (pandas text), {seen(PARQUET)} (Parquet to Parquet); "
        f"NumPy's `searchsorted` on bare codes {seen(BASE)}. [All rates](benchmarks/sampling.md)."
    )


@app.command()
def table(
    results: Annotated[Path, typer.Option(help="Rows to read.")] = RESULTS,
    of_users: Annotated[Path, typer.Option(help="Rows of tables to read.")] = USERS,
    output: Annotated[Path, typer.Option(help="Page to write.")] = PAGE,
    readme: Annotated[Path, typer.Option(help="File whose paragraph is replaced.")] = README,
) -> None:
    """Write the page of tables from the rows, and the paragraph of the README."""
    rows, seen = read_rows(results), read_rows(of_users)
    write_page(output, f"{markdown(rows)}\n\n{users_markdown(seen)}")
    text = readme.read_text(encoding="utf-8")
    made = re.sub(r"^How fast, .*$", lambda _: told(rows, seen), text, flags=re.MULTILINE)
    readme.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    app()
