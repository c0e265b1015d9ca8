"""``mechdesign plan-columns``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError, quote
from ..progress import waiting
from .designed_prior import DesignSource
from .options import (
    AsJson,
    Force,
    check_distinct,
    note,
    print_json,
    read_notion,
    say,
)


def plan_columns(
    source: DesignSource,
    total: Annotated[
        str,
        typer.Option(
            metavar="NOTION:LEVEL",
            help="What all reports of a person have together, such as ldp:2 or pml:1.",
        ),
    ],
    of_weights: Annotated[
        str | None,
        typer.Option(help="What the errors of each column weigh, in their order, as 1,2."),
    ] = None,
    joint: Annotated[
        bool | None,
        typer.Option(
            "--joint/--no-joint",
            help="Compare with one design for all columns at once; for up to 16 combinations when "
            "left out.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds that each design may take; 60, and of columns of more than 50 symbols 5."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save the plan as JSON.")
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Split a level over several columns of a table for the fewest reports, and check it exactly.

    Name the columns by repeating --column. Apply the plan by 'mechdesign apply plan.json TABLE'.
    """
    from ..arguments import read_levels
    from ..files import check_writable
    from ..solve._plan_columns import plan_columns as run_plan
    from ..storage import save
    from ..views.plain import columns_plan_json

    check_distinct({"--output": output}, {"the table": source.table})
    if output is not None:
        check_writable(output, overwrite=force)
    asked = read_notion(total)
    names = source.column or []
    if source.prior is not None or len(names) < 2:
        raise InputError(
            "columns of a plan",
            expected="TABLE and --column at least twice",
            got="--prior" if source.prior is not None else f"{len(names)} of them",
            remedy="add for example --column class --column sex",
        )
    weights = [1.0] * len(names)
    if of_weights is not None:
        weights = read_levels(of_weights)
        if len(weights) != len(names):
            raise InputError(
                "--of-weights",
                expected=f"{len(names)} numbers, one for each column",
                got=quote(of_weights),
                remedy="write for example 1,2",
            )
    known = source.read_prior()
    source.hint_at_bins(known)
    with waiting("designing", show=sys.stderr.isatty()):
        asked_of = dict(zip(names, weights, strict=True))
        found = run_plan(known, asked_of, asked, joint=joint, time_limit=time_limit)
    if output is not None:
        save(found, output, overwrite=force)
    if as_json:
        print_json(columns_plan_json(found))
    else:
        say(repr(found))
    if output is not None:
        note(f"saved {output}")
