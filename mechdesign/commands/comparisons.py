"""``mechdesign compare``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..arguments import read_levels, read_outputs, read_prior, read_utility
from .options import (
    AsJson,
    Column,
    Force,
    Missing,
    Outputs,
    PriorText,
    Table,
    Weights,
    note,
    print_json,
)


def compare(
    table: Table = None,
    column: Column = None,
    weights: Weights = None,
    missing: Missing = "error",
    prior: PriorText = None,
    notion: Annotated[
        list[str] | None, typer.Option("--notion", help="Notion, such as pml. Repeat it.")
    ] = None,
    levels: Annotated[
        str, typer.Option(help="Levels in nats: 0.1,0.5,1 or first:last:count.")
    ] = "0.1:2:20",
    utility: Annotated[
        str, typer.Option("--utility", "-u", help="As for 'mechdesign design'.")
    ] = "hamming",
    outputs: Outputs = None,
    plot: Annotated[
        Path | None, typer.Option(help="Save the plot (png, pdf or svg; needs matplotlib).")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes to run in; -1 for one per core.")] = 1,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Compare how much utility several notions allow, level by level."""
    from .. import reporting
    from ..comparing import compare as run_compare
    from ..files import check_writable
    from ..plotting.style import check_picture
    from ..privacy.notion import find_notion
    from ..storage import SCHEMA

    known = read_prior(table, column, weights, missing, prior)
    goal = read_utility(utility, known)
    families = [find_notion(name) for name in notion or ["pml", "lip", "ldp"]]
    if plot is not None:
        check_writable(plot, overwrite=force)
        check_picture(plot)
    found = run_compare(
        known,
        goal,
        families,
        read_levels(levels),
        read_outputs(outputs),
        jobs=jobs,
        progress=sys.stderr.isatty(),
    )
    if plot is not None:
        reporting.save_plot(found, plot)
    if as_json:
        prior_rows = dict(zip(map(str, known.labels), known.probabilities.tolist(), strict=True))
        print_json({"schema": SCHEMA, "prior": prior_rows, "points": found.rows()})
    else:
        reporting.print_comparison(found)
    if plot is not None:
        note(f"saved {plot}")
