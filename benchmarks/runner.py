"""Runs cases and drivers interleaved, each in a fresh process with a time limit and one thread."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .cases import GROUPS, Case

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
_GRACE = 30.0


def run_one(case: Case, driver: str, limit: float) -> dict[str, Any]:
    """One measurement in a fresh process; a smaller case warms imports up first."""
    command = [sys.executable, "-m", "benchmarks.worker", json.dumps(case.__dict__), driver]
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    row: dict[str, Any] = {"case": case.name, "group": case.group, "driver": driver}
    try:
        done = subprocess.run(
            [*command, str(limit)],
            capture_output=True,
            text=True,
            timeout=limit + _GRACE,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {**row, "seconds": None, "note": f"over {limit:g} s"}
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return {**row, "seconds": None, "note": last[0][:200]}
    return {**row, **json.loads(done.stdout.strip().splitlines()[-1])}


def run(
    groups: Iterable[str],
    drivers: Iterable[str],
    repeat: int,
    limit: float,
    output: Path,
    select: str,
    tick: Callable[[str], None],
    rows: list[dict[str, Any]],
) -> None:
    """Every case with every driver, ``repeat`` times, interleaved.

    Rows are appended to ``rows`` and to the file as they come, so a run cut short keeps them.
    """
    cases = [c for g in groups for c in GROUPS[g]() if select in c.name]
    stamp = {"date": datetime.date.today().isoformat(), "machine": machine()}
    slow: set[tuple[str, str]] = set()
    with output.open("a", encoding="utf-8") as file:
        for number in range(repeat):
            for case in cases:
                for driver in drivers:
                    tick(f"{case.name}: {driver}")
                    if (case.name, driver) in slow:
                        continue
                    row = {**run_one(case, driver, limit), "repetition": number, **stamp}
                    if row["seconds"] is None:
                        slow.add((case.name, driver))
                    rows.append(row)
                    file.write(json.dumps(row) + "\n")
                    file.flush()


def machine() -> str:
    """The machine in words: cores, memory, system, Python."""
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return (
        f"{os.cpu_count()} cores, {pages / 2**30:.0f} GiB, {platform.system()}, "
        f"Python {platform.python_version()}"
    )
