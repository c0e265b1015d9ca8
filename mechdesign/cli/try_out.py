"""``mechdesign try``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..progress import waiting
from .options import (
    AsJson,
    Force,
    PriorSource,
    Privacy,
    TableFile,
    expect_table,
    read_notions,
    save_rows,
)
from .output import print_json


def try_out(
    source: PriorSource,
    privacy: Privacy = None,
    people: Annotated[
        int | None,
        typer.Option(help="How many people report; as many as the table counts if left out."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="For the same reports again.")] = None,
    output: TableFile = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Show what a survey of a column would tell, and write nothing.

    A design for its frequencies under LDP(1), or what --privacy says; one report of each person;
    the shares estimated from them beside the true ones; how many reports an error takes.
    """
    from .._try_out import try_out as run
    from ..views.plain import trial_json
    from ..views.text import print_trial

    expect_table(output, force=force)
    notions = read_notions(privacy) if privacy else None
    known = source.read_prior()
    with waiting("designing and asking", show=sys.stderr.isatty()):
        found = run(known, privacy=notions, people=people, rng=seed)
    source.hint_at_bins(known)
    save_rows("Shares", found.rows(), output, force=force)
    if as_json:
        print_json(trial_json(found))
    else:
        print_trial(found)
