"""What tables cost: ``python -m benchmarks.releases run`` and ``table``.

Processor seconds of one thread and peak memory of reading, counting, drawing with a key and keeping
accounts of persons. Each case runs in a process of its own, which makes its table before.
"""

from __future__ import annotations

import datetime
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .readme import read_rows, write_page
from .runner import THREADS, machine

HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "releases.jsonl", HERE / "releases.md"
LABELS = [f"class {i}" for i in range(10)]
KEY = bytes(range(32))

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)

Case = Callable[[int, Path], Any]


def people(count: int, seed: int = 0) -> Any:
    """A table of identities, a secret and ages."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    codes = pa.DictionaryArray.from_arrays(rng.integers(0, len(LABELS), count), LABELS)
    ages = pa.array(rng.integers(18, 90, count))
    ids = pa.array(np.random.default_rng(1).permutation(count) + 10**7)
    return pa.table({"id": ids, "x": codes.cast(pa.string()), "age": ages})


def file_of(count: int, folder: Path, ending: str, seed: int = 0) -> Path:
    """The same in a file."""
    from pyarrow import csv, parquet

    path = folder / f"people{seed}{ending}"
    table = people(count, seed)
    csv.write_csv(table, path) if ending == ".csv" else parquet.write_table(table, path)
    return path


def designed() -> Any:
    """Randomised response on the labels."""
    import mechdesign as md

    return md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(1))


def applied(ending: str, releases: int = 1, **options: Any) -> Callable[[int, Path], Any]:
    """A file made a file, the last of several releases of the same people."""

    def prepare(count: int, folder: Path) -> Any:
        import mechdesign as md

        found = designed()
        chosen = {"ledger": folder / "ledger.jsonl", "about": "people", **options}

        def release(number: int) -> None:
            source = file_of(count, folder, ending, number)
            target = folder / f"reports{number}{ending}"
            md.privatize_file(source, target, "x", found, **chosen)

        for number in range(releases - 1):
            release(number)
        source = file_of(count, folder, ending, releases)
        target = folder / f"last{ending}"
        return lambda: md.privatize_file(source, target, "x", found, **chosen)

    return prepare


def in_memory(**options: Any) -> Callable[[int, Path], Any]:
    """A table made a table."""

    def prepare(count: int, _: Path) -> Any:
        import mechdesign as md

        table, found = people(count), designed()
        md.privatize(table[:1000], "x", found, **options)
        return lambda: md.privatize(table, "x", found, **options)

    return prepare


def design_of_file(count: int, folder: Path) -> Any:
    """The command that designs for a column of a file."""
    path = file_of(count, folder, ".csv")
    command = ["design", str(path), "--column", "x", "-p", "ldp:1", "-o", str(folder / "d.json")]
    return lambda: subprocess.run([sys.executable, "-m", "mechdesign", *command], check=True)


def counted(form: str) -> Callable[[int, Path], Any]:
    """The prior of a column in memory."""

    def prepare(count: int, _: Path) -> Any:
        import mechdesign as md

        table: Any = people(count)
        if form == "pandas":
            table = table.to_pandas()
        md.Prior.from_data(table[:1000], "x")
        return lambda: md.Prior.from_data(table, "x")

    return prepare


def hashed(count: int, _: Path) -> Any:
    """What a keyed hash of each row takes by itself, by which machines and loads are compared."""
    start = blake2b(key=KEY, digest_size=8)
    start.update(bytes(range(100)))
    rows = [b"s%d" % number for number in range(count)]

    def work() -> list[bytes]:
        copies = ((start.copy(), row) for row in rows)
        return [one.update(row) or one.digest() for one, row in copies]

    return work


#: How many rows, and what is measured of them.
CASES: dict[str, tuple[int, Any]] = {
    "a keyed hash of each row by itself": (2_000_000, hashed),
    "design of a CSV file (command)": (2_000_000, design_of_file),
    "prior of an Arrow column": (1_000_000, counted("Arrow")),
    "prior of a pandas column": (1_000_000, counted("pandas")),
    "drawing with a key, a row each": (2_000_000, in_memory(row="id", key=KEY)),
    "drawing with a key, a person each": (2_000_000, in_memory(person="id", key=KEY)),
    "CSV to CSV": (2_000_000, applied(".csv")),
    "CSV to CSV with a key": (2_000_000, applied(".csv", row="id", key=KEY)),
    "Parquet to Parquet": (2_000_000, applied(".parquet")),
    "Parquet to Parquet with a key": (2_000_000, applied(".parquet", row="id", key=KEY)),
    "persons on the ledger, first release": (1_000_000, applied(".csv", person="id", key=KEY)),
    "persons on the ledger, sixth release": (200_000, applied(".csv", 6, person="id", key=KEY)),
}


@contextmanager
def _threads() -> Iterator[None]:
    os.environ.update(dict.fromkeys(THREADS, "1"))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    yield


@app.command(hidden=True)
def one(name: str, count: int) -> None:
    """One case, in this process: a line of JSON."""
    import warnings

    warnings.simplefilter("ignore")
    with _threads(), tempfile.TemporaryDirectory() as folder:
        os.environ["MECHDESIGN_LEDGER"] = str(Path(folder, "own.jsonl"))
        work = CASES[name][1](count, Path(folder))
        before = _resident()
        _forget_peak()
        start = time.process_time(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        work()
        seconds = time.process_time() - start[0]
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds += children.ru_utime + children.ru_stime if "command" in name else 0
        peak = max(_resident("VmHWM"), children.ru_maxrss / 1024 if "command" in name else 0)
    typer.echo(json.dumps({"seconds": seconds, "megabytes": peak, "before": before}))


def _resident(which: str = "VmRSS") -> float:
    """Memory of this process, in megabytes."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.split(f"{which}:")[1].split()[0]) / 1024


def _forget_peak() -> None:
    """Let the peak begin at what is held now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


@app.command()
def run(
    repeat: Annotated[int, typer.Option(help="Repetitions.")] = 3,
    select: Annotated[str, typer.Option(help="Part of the names of cases.")] = "",
    share: Annotated[float, typer.Option(help="Share of the rows.")] = 1.0,
    output: Annotated[Path, typer.Option(help="Rows are appended here.")] = RESULTS,
) -> None:
    """Measure all cases, interleaved."""
    stamp = {"date": datetime.date.today().isoformat(), "machine": machine()}
    with output.open("a", encoding="utf-8") as file:
        for _ in range(repeat):
            for name, (count, _) in CASES.items():
                if select not in name:
                    continue
                rows = int(share * count)
                command = [sys.executable, "-m", "benchmarks.releases", "one", name, str(rows)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                found = {**json.loads(done.stdout.splitlines()[-1]), "load": os.getloadavg()[0]}
                file.write(json.dumps({"case": name, "rows": rows, **found, **stamp}) + "\n")
                told = f"{found['seconds']:.3g} s, {found['seconds'] / rows * 1e6:.3g} us a row"
                typer.echo(
                    f"{name}: {told}, {found['before']:.0f} to {found['megabytes']:.0f} MB",
                    err=True,
                )


def markdown(rows: list[dict[str, Any]]) -> str:
    """Medians of seconds and memory, as Markdown."""
    dates = sorted({row["date"] for row in rows})
    lines = [
        "Processor seconds and memory of a process with one thread, medians; measured "
        f"{' to '.join(dict.fromkeys((dates[0], dates[-1])))} on a machine with "
        f"{' and '.join(sorted({row['machine'] for row in rows}))}, at loads of "
        f"{min(row['load'] for row in rows):.0f} to {max(row['load'] for row in rows):.0f}. "
        "Tables have columns of identities, of ten classes and of ages; megabytes are those that "
        "are added to the table in memory and to the libraries.",
        "",
        "| case | rows | seconds | microseconds a row | megabytes |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in CASES:
        mine = [row for row in rows if row["case"] == name]
        if mine:
            count = mine[0]["rows"]
            seconds = statistics.median(row["seconds"] for row in mine)
            added = statistics.median(row["megabytes"] - row["before"] for row in mine)
            each = f"{seconds:.3g} | {seconds / count * 1e6:.3g} | {added:.0f}"
            lines.append(f"| {name} | {count:,} | {each} |")
    return "\n".join(lines)


@app.command()
def table(
    results: Annotated[Path, typer.Option(help="Rows to read.")] = RESULTS,
    output: Annotated[Path, typer.Option(help="Page to write.")] = PAGE,
) -> None:
    """Write the page of the table from the rows."""
    write_page(output, markdown(read_rows(results)))


if __name__ == "__main__":
    app()
