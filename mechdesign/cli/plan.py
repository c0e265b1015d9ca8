"""``mechdesign plan``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..progress import waiting
from .options import AsJson, By, Confidence, Feature, Kernel, print_json, say


def plan(
    kernel: Kernel,
    error: Annotated[
        float | None, typer.Option(help="Half-width that every interval should have.")
    ] = None,
    reports: Annotated[
        int | None, typer.Option(help="Number of reports that there will be.")
    ] = None,
    worst: Annotated[
        bool, typer.Option("--worst", help="Plan for the least favourable distribution.")
    ] = False,
    by: By = "symbols",
    feature: Feature = None,
    confidence: Confidence = 0.95,
    best: Annotated[
        bool,
        typer.Option(
            "--best",
            help="Also plan with the kernel whose widest interval is the narrowest under the same "
            "notions, and say how many reports every kernel takes at least.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say how many reports an error takes, or what error a number of reports gives."""
    from ..arguments import read_feature
    from ..kernel_files import load_kernel
    from ..mechanism import kernel_of
    from ..release._plan import plan as run_plan
    from ..views.plain import plan_json

    designed = load_kernel(kernel)
    with waiting("planning", show=sys.stderr.isatty()):
        found = run_plan(
            designed,
            error=error,
            reports=reports,
            worst=worst,
            confidence=confidence,
            by=by,
            feature=read_feature(feature, kernel_of(designed)),
            best=best,
        )
    if as_json:
        print_json(plan_json(found))
    else:
        say(repr(found))
