"""``mechdesign smallest``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .designed_prior import DesignSource
from .options import (
    AsJson,
    Assurance,
    Confidence,
    Error,
    Force,
    Outputs,
    Require,
    check_distinct,
    name_notions,
    read_goal,
    read_required,
    read_solver,
    refuse,
)
from .output import note, print_json, say


def smallest(
    source: DesignSource,
    at_least: Annotated[
        float | None, typer.Option(help="The value that the utility must reach.")
    ] = None,
    reports: Annotated[
        int | None,
        typer.Option(
            help="In place of --at-least: so many reports must keep every frequency within the "
            "--error, as in 'mechdesign plan'."
        ),
    ] = None,
    error: Error = None,
    confidence: Confidence = 0.95,
    assurance: Assurance = 0.9,
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
        float | None,
        typer.Option(
            help="How close the two levels shall be, as a share of them; 1e-6, and with --reports "
            "1e-3."
        ),
    ] = None,
    solver: Annotated[
        Any, typer.Option(help="auto, a method, or a cvxpy solver."), read_solver
    ] = "auto",
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
    """Find the smallest level at which a utility is reached, with proof.

    That no smaller one does is proved, too. Or the smallest level at which so many reports keep
    every frequency within an error:
    'mechdesign smallest people.csv --column class -n ldp --reports 10000 --error 1%'.
    """
    from ..files import check_writable
    from ..inference.planning import smallest_for_reports
    from ..solve._smallest import smallest as run_smallest
    from ..storage import save
    from ..utility.linear import default_utility
    from ..views.plain import smallest_json

    check_distinct({"--output": output}, {"the table": source.table, "--utility": utility})
    given = {"--at-least": at_least, "--reports": reports, "--error": error}
    named = [name for name, value in given.items() if value is not None]
    if named not in (["--at-least"], ["--reports", "--error"]):
        refuse(
            "smallest level",
            "either --at-least, or --reports and --error",
            " and ".join(named) or "none of them",
            "write for example --at-least 0.6, or --reports 10000 --error 1%",
        )
    if at_least is None:
        _check_only_for_values(utility, outputs, solver)
    known, goals = source.read_prior(), []
    if at_least is not None:
        goals = [default_utility(known) if utility is None else read_goal(utility, known)]
    if output is not None:
        check_writable(output, overwrite=force)
    options: dict[str, Any] = {
        "subject_to": read_required(require, known, goals, outputs),
        "time_limit": time_limit,
        "progress": sys.stderr.isatty(),
    }
    if precision is not None:
        options["precision"] = precision
    source.hint_at_bins(known)
    found: Any
    if error is not None:
        options |= {"reports": reports, "error": error}
        options |= {"confidence": confidence, "assurance": assurance}
        found = smallest_for_reports(name_notions(notion), known, **options)
    else:
        options |= {"at_least": at_least, "outputs": outputs, "solver": solver}
        found = run_smallest(name_notions(notion), known, *goals, **options)
    if output is not None:
        save(found.design, output, overwrite=force)
    if as_json:
        print_json(smallest_json(found))
    else:
        say(repr(found))
    if output is not None:
        note(f"saved {output}")


def _check_only_for_values(utility: str | None, outputs: Any, solver: Any) -> None:
    """Refuse what only a value of a utility is looked for with."""
    for option, is_given in {
        "--utility": utility not in (None, "estimation"),
        "--outputs": outputs is not None,
        "--solver": solver != "auto",
    }.items():
        if is_given:
            refuse(
                option,
                "--at-least with it",
                "--reports and --error, for which kernels are designed for estimates",
                "leave it out",
            )
