"""``python -m benchmarks run``, ``table``, ``list``, ``estimation`` and the two ablations."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from . import ablation as techniques
from . import large_alphabets
from .ablation_interior_point import app as ablation_interior_point
from .cases import GROUPS
from .drivers import DRIVERS
from .estimation import app as estimation
from .readme import read_rows, write_page
from .runner import run as run_all

HERE = Path(__file__).parent
RESULTS = HERE / "results.jsonl"
PAGE = HERE / "results.md"

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)
app.add_typer(ablation_interior_point, name="ablation-interior-point")
app.add_typer(estimation, name="estimation")


@app.command("list")
def list_groups() -> None:
    """The groups of cases, and what is expected to win in each."""
    for name, make in GROUPS.items():
        print(f"{name}: {len(list(make()))} cases. {' '.join((make.__doc__ or '').split())}")
    print(f"large-alphabets: {' '.join((large_alphabets.__doc__ or '').split())}")


@app.command()
def run(
    group: Annotated[list[str], typer.Option(help="Group of cases; repeat it.")],
    driver: Annotated[list[str] | None, typer.Option(help="Driver; repeat it.")] = None,
    select: Annotated[str, typer.Option(help="Only cases whose name contains this.")] = "",
    repeat: Annotated[int, typer.Option(help="Repetitions.")] = 3,
    limit: Annotated[float, typer.Option(help="Seconds per measurement.")] = 120.0,
    output: Annotated[Path, typer.Option(help="Rows are appended here.")] = RESULTS,
) -> None:
    """Run cases and drivers side by side and print medians and ratios.

    The group large-alphabets has protocols in the place of drivers and a table of its own.
    """
    if "large-alphabets" in group:
        large_alphabets.run(repeat, None, large_alphabets.REPORTS, large_alphabets.RESULTS)
        group = [name for name in group if name != "large-alphabets"]
        if not group:
            return
    drivers = driver or ["ours", "clarabel"]
    for names, known in ((group, GROUPS), (drivers, DRIVERS)):
        for name in names:
            if name not in known:
                raise typer.BadParameter(f"{name!r}; choose among {', '.join(known)}")
    total = repeat * len(drivers) * sum(select in c.name for g in group for c in GROUPS[g]())
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("running", total=total)

        def tick(text: str) -> None:
            progress.update(task, description=text, advance=1)

        rows: list[dict[str, Any]] = []
        try:
            run_all(group, drivers, repeat, limit, output, select, tick, rows)
        except KeyboardInterrupt:
            typer.echo(f"cut short; finished rows are in {output}", err=True)
    print_rows(rows)


@app.command()
def ablation(
    select: Annotated[str, typer.Option(help="Only cases whose name contains this.")] = "",
    output: Annotated[Path, typer.Option(help="Rows are written here.")] = techniques.RESULTS,
) -> None:
    """Switch each technique of column generation off in turn, and print what it buys."""
    techniques.print_rows(techniques.write(techniques.rows(select), output))


def summarise(rows: list[dict[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """Median seconds per case and driver, with the last note, gap and memory."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        entry = found.setdefault(row["case"], {}).setdefault(
            row["driver"],
            {"times": [], "note": "", "gap": None, "finished": True, "megabytes": 0.0},
        )
        if row["seconds"] is not None:
            entry["times"].append(row["seconds"])
            if row.get("gap") is not None:
                entry["gap"] = max(entry["gap"] or 0.0, row["gap"])
        entry["finished"] &= row["seconds"] is not None and row.get("finished", True)
        entry["note"] = row.get("note", "")
        entry["megabytes"] = max(entry["megabytes"], row.get("megabytes") or 0.0)
    for drivers in found.values():
        for entry in drivers.values():
            entry["median"] = statistics.median(entry["times"]) if entry["times"] else None
    return found


def _time(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return ""
    if entry["median"] is None:
        return entry["note"]
    mark = "" if entry["finished"] else "*"
    return f"{entry['median']:.3g} s{mark}"


def _ratio(entry: dict[str, Any] | None, ours: dict[str, Any] | None) -> str:
    if not entry or not ours or not entry["median"] or not ours["median"]:
        return ""
    more = "" if entry["finished"] else "> "
    ratio = entry["median"] / ours["median"]
    return f"{more}{ratio:.0f}×" if ratio >= 10 else f"{more}{ratio:.2g}×"


def print_rows(rows: list[dict[str, Any]]) -> None:
    """Medians and ratios as a table."""
    summary = summarise(rows)
    drivers = list(dict.fromkeys(row["driver"] for row in rows))
    table = Table("case", "certified gap", *drivers, *[f"{d}/ours" for d in drivers if d != "ours"])
    for case, found in summary.items():
        ours = found.get("ours")
        gap = "" if not ours or ours["gap"] is None else f"{ours['gap']:.1e}"
        table.add_row(
            case,
            gap,
            *(_time(found.get(d)) for d in drivers),
            *(_ratio(found.get(d), ours) for d in drivers if d != "ours"),
        )
    Console(width=200).print(table)


@app.command()
def table(
    results: Annotated[Path, typer.Option(help="Rows to read.")] = RESULTS,
    output: Annotated[Path, typer.Option(help="Page to write.")] = PAGE,
) -> None:
    """Write the page of tables from the rows, with the date and the machine in words."""
    write_page(output, markdown(read_rows(results)))


def markdown(rows: list[dict[str, Any]]) -> str:
    """The table as Markdown: ratios to our median, in one run."""
    summary = summarise(rows)
    others = [d for d in DRIVERS if d != "ours" and any(row["driver"] == d for row in rows)]
    dates = sorted({row["date"] for row in rows})
    period = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    machines = " and ".join(sorted({row["machine"] for row in rows}))
    lines = [
        f"Measured {period} on a machine with {machines}; "
        "one thread each, medians, ours with repair, exact check and bound. Figures for the others "
        "are multiples of our time in the same run; “>” means stopped at the limit, an empty cell "
        "not run.",
        "",
        "| case | ours | certified gap | memory | " + " | ".join(others) + " |",
        "| --- | --- | --- | --- | " + " | ".join("---" for _ in others) + " |",
    ]
    for case, found in summary.items():
        ours = found.get("ours")
        if not ours:
            continue
        gap = "none" if ours["gap"] is None else f"{ours['gap']:.0e}"
        gap += "" if ours["gap"] is not None and ours["gap"] <= 1e-6 else " (not certified)"
        cells = [_ratio(found.get(d), ours) or _short(found.get(d)) for d in others]
        memory = f"{ours['megabytes']:.0f} MB" if ours["megabytes"] else ""
        lines.append(f"| {case} | {_time(ours)} | {gap} | {memory} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _short(entry: dict[str, Any] | None) -> str:
    return "" if entry is None else entry["note"]


if __name__ == "__main__":
    app()
