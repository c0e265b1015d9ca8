"""What the commands share: options, exit codes and ways to print."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import visible, visible_lines

OK, NOT_MET, BAD_INPUT, FAILED = 0, 1, 2, 3

Privacy = Annotated[
    list[str] | None,
    typer.Option(
        "--privacy",
        "-p",
        metavar="NOTION:LEVEL",
        help="Privacy notion and level in nats, such as pml:0.5, ldp:1 or alip:1.0,0.5 "
        "(lower, upper); also dp:1,adjacent, metricprivacy:1,absolute, approximateldp:1,1e-5 and "
        "entrypml:0.1,100,0.3 (entries, least chance). Repeat it: all must hold.",
    ),
]
Table = Annotated[
    str | None,
    typer.Argument(help="CSV file with a header, or a shipped table (see 'mechdesign data')."),
]
Outputs = Annotated[str | None, typer.Option(help="Output labels, separated by commas.")]
Column = Annotated[str | None, typer.Option(help="Column of TABLE that holds the secret.")]
Weights = Annotated[
    str | None, typer.Option(help="Column of counts, for tables with one line per group.")
]
Missing = Annotated[str, typer.Option(help="What to do with missing values: error or drop.")]
MaxSymbols = Annotated[
    int | None,
    typer.Option(
        "--max-symbols",
        help="Most different values of the column. Without it, columns that look like measured "
        "numbers or identifiers are refused: over 1000 values, or over 100 in few rows each.",
    ),
]
PriorText = Annotated[
    str | None,
    typer.Option(
        "--prior",
        help="Prior in place of a table: 0.5,0.3,0.2 or a=0.5,b=0.3,c=0.2 or a JSON file.",
    ),
]
Kernel = Annotated[str, typer.Argument(metavar="DESIGN", help="A saved design, or a kernel.")]
By = Annotated[
    str, typer.Option(help="symbols, or blocks: the groups that the reports can tell apart.")
]
Confidence = Annotated[float, typer.Option(help="Confidence of each interval.")]
Feature = Annotated[
    str | None,
    typer.Option(help="JSON file of input and value: numbers ask for the mean, text for shares."),
]
ShowValues = Annotated[
    bool,
    typer.Option("--show-values", help="Let messages quote values of the data, which are secret."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
ExcelSafe = Annotated[
    bool,
    typer.Option(
        "--excel-safe",
        help="Write an apostrophe before cells of CSV that a spreadsheet would run as a formula. "
        "It changes those labels.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace output files that exist.")]


def print_json(value: Any) -> None:
    """Write a value as JSON to standard output."""
    typer.echo(json.dumps(plain(value), indent=1, allow_nan=False))


def say(text: str) -> None:
    """Write lines to standard output, with what a terminal would act on as escape codes."""
    typer.echo(visible_lines(text))


def note(message: str) -> None:
    """Say something to a person in one line, on standard error."""
    print(visible(message), file=sys.stderr)


def expect_picture(path: Path, *, force: bool) -> None:
    """Raise before any work when a picture could not be written to a file."""
    from ..files import check_writable
    from ..plotting.style import check_picture

    check_picture(path)
    check_writable(path, overwrite=force)
    draw_nowhere()


def draw_nowhere() -> None:
    """Pictures go to files only, so no screen is looked for."""
    from ..plotting.style import load_pyplot

    load_pyplot().switch_backend("Agg")


def plain(value: Any) -> Any:
    """JSON has no infinity: write it as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value
