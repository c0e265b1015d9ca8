"""``mechdesign smallest``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..arguments import read_outputs
from .options import (
    AsJson,
    Force,
    Outputs,
    PriorSource,
    Require,
    check_distinct,
    name_notions,
    note,
    print_json,
    read_goal,
    read_required,
    read_solver,
    say,
)


def smallest(
    source: PriorSource,
    at_least: Annotated[float, typer.Option(help="The value that the utility must reach.")],
    notion: Annotated[
        str,
        typer.Option(
            "--notion",
            "-n",
            help="Notion whose level is looked for, such as pml; with several levels in terms of "
            "one, e: alip:2e,e, or dp:e,adjacent, or pml:e+ldp:2e (both); or one of your own, "
            "package.module:Name:e.",
        ),
    ] = "pml",
    utility: Annotated[
        str | None, typer.Option("--utility", "-u", help="As for 'mechdesign design'.")
    ] = None,
    outputs: Outputs = None,
    require: Require = None,
    precision: Annotated[
        float, typer.Option(help="How close the two levels shall be, as a share of them.")
    ] = 1e-6,
    solver: Annotated[str, typer.Option(help="auto, a method, or a cvxpy solver.")] = "auto",
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds for each search (mutual information and the like)."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save the design at the level as JSON.")
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Find the smallest level at which a utility is reached, with proof from both sides."""
    from ..files import check_writable
    from ..solve._smallest import smallest as run_smallest
    from ..storage import save
    from ..utility.linear import default_utility
    from ..views.plain import smallest_json

    check_distinct({"--output": output}, {"the table": source.table, "--utility": utility})
    known = source.read_prior()
    goal = default_utility(known) if utility is None else read_goal(utility, known)
    labels = read_outputs(outputs)
    if output is not None:
        check_writable(output, overwrite=force)
    found = run_smallest(
        name_notions(notion),
        known,
        goal,
        at_least=at_least,
        subject_to=read_required(require, known, [goal], labels),
        outputs=labels,
        precision=precision,
        solver=read_solver(solver),
        time_limit=time_limit,
        progress=sys.stderr.isatty(),
    )
    if output is not None:
        save(found.design, output, overwrite=force)
    if as_json:
        print_json(smallest_json(found))
    else:
        say(repr(found))
    if output is not None:
        note(f"saved {output}")
