"""Places of a map: squares, lines and two levels, ours beside general solvers and qif.

``python -m benchmarks.places run`` measures, ``table`` writes ``places.md``. What is compared is
processor time, as our method works on two cores and the others on one. On squares with a uniform
prior the optimum may not be unique; values and bounds are compared.
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from .cases import GROUPS, Case
from .readme import read_rows, write_page
from .runner import machine, run_one

HERE = Path(__file__).parent
RESULTS, TABLE = HERE / "places.jsonl", HERE / "places.md"
OTHERS = ("clarabel", "highs-ipm", "qif")

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


def drivers_of(case: Case) -> tuple[str, ...]:
    """What a case is measured with."""
    if case.notion == "TwoLevels":
        return ("two-levels",)
    return ("ours", *(OTHERS[:2] if case.notion.startswith("PML+") else OTHERS))


@app.command()
def run(
    select: Annotated[str, typer.Option(help="Only cases whose name contains this.")] = "",
    driver: Annotated[list[str] | None, typer.Option(help="Driver; repeat it.")] = None,
    limit: Annotated[float, typer.Option(help="Seconds per measurement of the others.")] = 120.0,
    ours: Annotated[float, typer.Option(help="Seconds per measurement of ours.")] = 1800.0,
    output: Annotated[Path, typer.Option(help="Rows are appended here.")] = RESULTS,
) -> None:
    """Measure every case with every driver that knows it."""
    stamp = {"date": datetime.date.today().isoformat(), "machine": machine()}
    with output.open("a", encoding="utf-8") as file:
        for case in GROUPS["places"]():
            if select not in case.name:
                continue
            for name in drivers_of(case):
                if driver and name not in driver:
                    continue
                own = name in ("ours", "two-levels")
                row = {**run_one(case, name, ours if own else limit), **stamp}
                file.write(json.dumps(row) + "\n")
                file.flush()
                typer.echo(f"{row['case']}: {name}: {_time(row)}, {row.get('note', '')}")


def _time(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    if row["seconds"] is None:
        return str(row["note"])
    mark = "" if row.get("finished", True) else "> "
    return f"{mark}{row['processor']:.3g} s"


def _cell(row: dict[str, Any] | None) -> str:
    """Time of another driver, and what there is to say of its kernel."""
    note = "" if row is None or row["seconds"] is None else row["note"]
    return _time(row) + (f", {note}" if note.startswith("achieved") else "")


def markdown(rows: list[dict[str, Any]]) -> str:
    """The last row of each case and driver as Markdown."""
    last = {(row["case"], row["driver"]): row for row in rows}
    dates = sorted({row["date"] for row in last.values()})
    period = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    machines = " and ".join(sorted({row["machine"] for row in rows}))
    lines = [
        f"Seconds of processor time, measured {period} on a machine with {machines}, on which ours "
        "ran alone. Ours works on two cores, with repair, exact check over all pairs and bound; "
        "“>” means stopped at the limit, up to 300 seconds that passed, of which other work took "
        "its part.",
        "",
        "| case | ours | seconds that passed | certified gap | memory | "
        + " | ".join(OTHERS)
        + " |",
        "| --- | --- | --- | --- | --- | " + " | ".join("---" for _ in OTHERS) + " |",
    ]
    for case in dict.fromkeys(row["case"] for row in rows):
        mine = last.get((case, "ours"))
        if mine is None or mine["seconds"] is None:
            continue
        others = " | ".join(_cell(last.get((case, name))) for name in OTHERS)
        lines.append(
            f"| {case} | {_time(mine)} | {mine['seconds']:.3g} | {mine['gap']:.0e} "
            f"| {mine['megabytes']:.0f} MB | {others} |"
        )
    levels = [row for row in last.values() if row["driver"] == "two-levels" and row["seconds"]]
    if levels:
        lines += [
            "",
            "| too many places for an optimum | processor | memory | level over all pairs "
            "| expected loss |",
            "| --- | --- | --- | --- | --- |",
        ]
    for row in levels:
        level = row["note"].removeprefix("achieved level ")
        lines.append(
            f"| {row['case']} | {_time(row)} | {row['megabytes']:.0f} MB | {level} "
            f"| {-row['value']:.1f} m |"
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
