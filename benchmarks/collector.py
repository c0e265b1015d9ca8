"""How many reports a second a collector takes: ``python -m benchmarks.collector run``.

Starts ``mechdesign serve`` on a fresh database and sends reports over HTTP from the same machine:
one report a request on many connections, as devices do, and lists, as gateways do. Every report is
acknowledged when it is on disk; at the end the counts must be those sent. Rows are appended to
``collector.jsonl``, with the machine's name. Also measures the store alone, and how fast engines
reduce raw reports to counts: what ``mechdesign/collector/PLANNING.md`` plans from.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

import mechdesign as md

from .runner import machine

HERE = Path(__file__).parent
RESULTS = HERE / "collector.jsonl"

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


class Served:
    """A collector in a process of its own; ended as by Ctrl-C when the block is left."""

    code: int
    said: str

    def __init__(self, *arguments: str) -> None:
        words = [sys.executable, "-m", "mechdesign", "serve", "--port", "0", *arguments]
        clean = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean
        )

    def __enter__(self) -> Served:
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError(self.process.communicate(timeout=300)[1])
        return self

    @property
    def port(self) -> int:
        """The port it listens at."""
        return int(self.url.rstrip("/").rpartition(":")[2])

    def kill(self) -> None:
        """End it by force, without a chance to finish anything."""
        self.process.kill()
        self.process.communicate(timeout=300)

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.said = self.process.communicate(timeout=300)[1]
            except subprocess.TimeoutExpired:
                self.process.kill()
                raise
        self.code = self.process.returncode


def reports(kernel: str, labels: Sequence[Any], count: int, seed: int) -> list[dict[str, Any]]:
    """Reports of a kernel with nonces, the same for the same seed."""
    rng = random.Random(seed)
    return [
        {"kernel": kernel, "report": rng.choice(labels), "nonce": rng.randbytes(16).hex()}
        for _ in range(count)
    ]


def request(content: Any) -> bytes:
    """A POST of JSON to ``/reports``, as bytes."""
    body = json.dumps(content, separators=(",", ":")).encode()
    head = "POST /reports HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Status and body of the next answer on a connection."""
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    length = next(
        int(line.partition(b":")[2])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length:")
    )
    return status, await reader.readexactly(length)


async def send(
    port: int,
    bodies: Sequence[bytes],
    connections: int,
    found: list[tuple[int, bytes] | None] | None = None,
) -> tuple[list[tuple[int, bytes] | None], list[float]]:
    """Send requests over so many connections, each waiting for an answer before its next one.

    Returns the answer to each, ``None`` where the connection was lost before it came, and the
    seconds that each took. Answers are in ``found``, where that is given, as soon as they come.
    """
    found = [None] * len(bodies) if found is None else found
    seconds = [0.0] * len(bodies)
    waiting = iter(range(len(bodies)))

    async def talk() -> None:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return
        try:
            for i in waiting:
                start = time.perf_counter()
                writer.write(bodies[i])
                found[i] = await answer(reader)
                seconds[i] = time.perf_counter() - start
        except (OSError, asyncio.IncompleteReadError):
            return  # the collector was killed
        finally:
            writer.close()

    await asyncio.gather(*(talk() for _ in range(connections)))
    return found, seconds


@contextmanager
def survey() -> Iterator[tuple[Path, Any]]:
    """A folder with a design for a survey question of six answers, and the design."""
    found = md.design(md.Prior.uniform(6), md.utility.Hamming(), md.LDP(1))
    with tempfile.TemporaryDirectory(prefix="mechdesign-collector-") as folder:
        md.save(found, f"{folder}/m.json")
        yield Path(folder), found


def load(count: int, a_request: int, connections: int, database: str | None) -> dict[str, Any]:
    """Send reports, and measure; raises where one was lost."""
    with survey() as (folder, found):
        place = database or str(folder / "collected.sqlite")
        with Served(str(folder / "m.json"), "--database", place, "--rate", "1e9") as served:
            kernel = md.ReportCounts(found).kernel
            drawn = reports(
                kernel, found.mechanism.outputs, count, random.SystemRandom().getrandbits(64)
            )
            bodies = [
                request(drawn[i] if a_request == 1 else drawn[i : i + a_request])
                for i in range(0, count, a_request)
            ]
            before, start = processor_seconds(served.process.pid), time.perf_counter()
            answers, seconds = asyncio.run(send(served.port, bodies, connections))
            took = time.perf_counter() - start
            used = processor_seconds(served.process.pid) - before
        if any(one is None or one[0] != 200 for one in answers):
            raise RuntimeError("a report was not acknowledged")
        counted = sum(json.loads(one[1])["counted"] for one in answers if one)
        if counted != count:
            raise RuntimeError(f"{counted} of {count} reports were counted")
    seconds.sort()
    return {
        "rate": count / took,
        "processor_us_a_report": 1e6 * used / count,
        "median_ms": 1e3 * seconds[len(seconds) // 2],
        "p99_ms": 1e3 * seconds[int(0.99 * (len(seconds) - 1))],
    }


def processor_seconds(process: int) -> float:
    """Seconds that a process has had a processor, on Linux: what else runs does not change them."""
    parts = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def stamp() -> dict[str, Any]:
    """Date and machine, and how many processes wanted a core of it in the last minute."""
    busy = round(os.getloadavg()[0], 1)
    return {"date": datetime.date.today().isoformat(), "machine": machine(), "load": busy}


@app.command()
def run(
    count: Annotated[int, typer.Option(help="Reports of each measurement.")] = 20_000,
    repeat: Annotated[int, typer.Option(help="Repetitions.")] = 3,
    database: Annotated[str | None, typer.Option(help="A database that is empty.")] = None,
    output: Annotated[Path, typer.Option(help="Rows are appended here.")] = RESULTS,
) -> None:
    """Measure the collector over HTTP, sender and collector on this machine."""
    kind = "PostgreSQL" if database else "SQLite"
    for _ in range(repeat):
        for a_request, connections in ((1, 64), (1, 512), (100, 8), (1000, 4)):
            found = load(count * (1 if a_request == 1 else 5), a_request, connections, database)
            row = {"what": "http", "database": kind, "reports_a_request": a_request}
            _keep(output, [{**row, "connections": connections, **found}])


def _keep(output: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Append rows, and say them."""
    with output.open("a", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps({**row, **stamp()}) + "\n")
            typer.echo(json.dumps(row), err=True)


@app.command()
def store(
    count: Annotated[int, typer.Option(help="Reports at the end.")] = 1_000_000,
    batch: Annotated[int, typer.Option(help="Reports of one transaction.")] = 2000,
    output: Annotated[Path, typer.Option(help="Rows are appended here.")] = RESULTS,
) -> None:
    """Measure the store without HTTP as it fills, and what a report takes on disk."""
    from mechdesign.collector.incoming import Row
    from mechdesign.collector.kernels import Collected
    from mechdesign.collector.store import Store

    rng, rows = random.Random(1), []
    with survey() as (folder, found):
        path = folder / "collected.sqlite"
        kept = Store(path)
        (number,) = kept.register([Collected.of(found)])
        for tenth in range(10):
            drawn = [Row(rng.randbytes(16), number, rng.randrange(6)) for _ in range(count // 10)]
            start = time.perf_counter()
            for i in range(0, len(drawn), batch):
                kept.add(drawn[i : i + batch])
            rate = len(drawn) / (time.perf_counter() - start)
            rows.append({"what": "store", "reports": (tenth + 1) * len(drawn), "rate": rate})
        kept.close()
        rows.append({"what": "store", "bytes_a_report": path.stat().st_size / count})
    _keep(output, [rows[0], *rows[-2:]])


@app.command()
def reduce(
    count: Annotated[int, typer.Option(help="Raw reports.")] = 10_000_000,
    output: Annotated[Path, typer.Option(help="Rows are appended here.")] = RESULTS,
) -> None:
    """Measure how fast DuckDB reduces raw reports in Parquet to counts, and counts add up."""
    import duckdb
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(1)
    with survey() as (folder, found):
        path = folder / "reports.parquet"
        nonces = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(16), count, [None, pa.py_buffer(rng.bytes(16 * count))]
        )
        codes = rng.integers(0, 6, count)
        parquet.write_table(pa.table({"report": codes, "nonce": nonces}), path)
        engine = duckdb.connect()
        source = engine.read_parquet(str(path))
        start = time.perf_counter()
        counts = md.count_reports(source, found, "report")
        grouping = count / (time.perf_counter() - start)
        assert counts.counts == {str(i): n for i, n in enumerate(np.bincount(codes).tolist())}
        start = time.perf_counter()
        distinct = engine.sql(
            "SELECT report, count(*) FROM (SELECT DISTINCT nonce, report FROM source) GROUP BY 1"
        ).fetchall()
        once = count / (time.perf_counter() - start)
        assert md.ReportCounts(found, dict(distinct)) == counts
        start = time.perf_counter()
        total = sum([counts] * 1000, md.ReportCounts(found))
        adding = 1000 / (time.perf_counter() - start)
        assert len(total) == 1000 * count
        start = time.perf_counter()
        md.estimate(total, found, misfit="warn")
        rows = [
            {"what": "reduce", "engine": "DuckDB", "rate": grouping},
            {"what": "reduce, each nonce once", "engine": "DuckDB", "rate": once},
            {"what": "parquet", "bytes_a_report": path.stat().st_size / count},
            {"what": "merge", "tables_a_second": adding},
            {"what": "estimate", "reports": len(total), "seconds": time.perf_counter() - start},
        ]
    _keep(output, rows)


@app.callback()
def _root() -> None:
    """Rates of a collector."""


if __name__ == "__main__":
    app()
