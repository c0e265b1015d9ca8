"""``mechdesign plan``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import quote
from ..progress import waiting
from .options import (
    AsJson,
    Assurance,
    By,
    Confidence,
    Error,
    Feature,
    Force,
    TableFile,
    expect_table,
    refuse,
    save_rows,
)
from .output import print_json, say

if TYPE_CHECKING:
    from ..inference.planning import Plan


def plan(
    kernel: Annotated[
        str,
        typer.Argument(
            metavar="DESIGN", help="A saved design, a kernel, or a plan for several columns."
        ),
    ],
    error: Error = None,
    reports: Annotated[
        int | None, typer.Option(help="Number of reports that there will be.")
    ] = None,
    worst: Annotated[
        bool, typer.Option("--worst", help="Plan for the least favourable distribution.")
    ] = False,
    by: By = "symbols",
    feature: Feature = None,
    confidence: Confidence = 0.95,
    assurance: Assurance = 0.9,
    best: Annotated[
        bool,
        typer.Option(
            "--best",
            help="Also plan with the kernel whose widest interval is the narrowest under the same "
            "notions, and say how many reports every kernel takes at least.",
        ),
    ] = False,
    output: TableFile = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Say how many reports an error takes, or what error they give.

    Of a plan for several columns that is said for each column; a public form holds no
    distribution, so that its numbers are for the least favourable one.
    """
    from ..arguments import read_feature
    from ..inference.planning import plan as run_plan
    from ..kernel_files import load_release
    from ..mechanism import kernel_of
    from ..solve.columns_plan import KernelPlan
    from ..views.plain import plan_json

    asked: dict[str, Any] = {
        "error": error,
        "reports": reports,
        "worst": worst,
        "confidence": confidence,
        "assurance": assurance,
        "by": by,
        "best": best,
    }
    expect_table(output, force=force)
    designed = load_release(kernel)
    if isinstance(designed, KernelPlan):
        if feature is not None:
            refuse(
                "--feature",
                "a design for one column with it",
                f"a plan for {', '.join(map(quote, designed.names))}",
                "leave it out, or plan with the design of that column",
            )
        with waiting("planning", show=sys.stderr.isatty()):
            parts = zip(designed.names, designed.designs, strict=True)
            found = {name: run_plan(each, **asked) for name, each in parts}
        rows = [
            {"column": name, **row, "reports": each.reports}
            for name, each in found.items()
            for row in each.rows()
        ]
        save_rows("Widths of intervals", rows, output, force=force)
        _tell_columns(found, needed=error is not None, as_json=as_json)
        return
    with waiting("planning", show=sys.stderr.isatty()):
        made = run_plan(designed, feature=read_feature(feature, kernel_of(designed)), **asked)
    rows = [{**row, "reports": made.reports} for row in made.rows()]
    save_rows("Widths of intervals", rows, output, force=force)
    if as_json:
        print_json(plan_json(made))
    else:
        say(repr(made))


def _tell_columns(found: dict[str, Plan], *, needed: bool, as_json: bool) -> None:
    """What each column of a plan takes; of several the most, as each person reports all."""
    from ..views.plain import plan_json

    most = max(each.reports for each in found.values())
    if as_json:
        columns = [{"column": name, **plan_json(each)} for name, each in found.items()]
        print_json({"reports": most, "columns": columns})
        return
    for name, each in found.items():
        say(f"{quote(name)}: {each!r}")
    if needed:
        say(f"all columns: {most} reports, as everybody reports every column")
