"""``mechdesign plan``."""

from __future__ import annotations

from typing import Annotated

import typer

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
    as_json: AsJson = False,
) -> None:
    """Say how many reports an error takes, or what error a number of reports gives."""
    from ..arguments import read_feature
    from ..mechanism import mechanism_of
    from ..release._plan import plan as run_plan
    from ..storage import load_kernel

    item = load_kernel(kernel)
    found = run_plan(
        item,
        error=error,
        reports=reports,
        worst=worst,
        confidence=confidence,
        by=by,
        feature=read_feature(feature, mechanism_of(item)),
    )
    if as_json:
        rows = [
            {
                **row,
                "label": list(row["label"]) if isinstance(row["label"], tuple) else row["label"],
            }
            for row in found.rows()
        ]
        print_json(
            {
                "reports": found.reports,
                "without_privacy": found.without_privacy,
                "cost": found.cost,
                "confidence": found.confidence,
                "rows": rows,
            }
        )
    else:
        say(repr(found))
