"""``mechdesign compose``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..progress import waiting
from .options import AsJson
from .output import print_json, say


def compose(
    kernels: Annotated[
        list[str], typer.Argument(metavar="DESIGN...", help="Saved designs, plans or kernels.")
    ],
    times: Annotated[int, typer.Option(help="How often all of them are reported.")] = 1,
    people: Annotated[
        str,
        typer.Option(help="same (one person makes all reports) or different (each makes one)."),
    ] = "same",
    as_json: AsJson = False,
) -> None:
    """Say what several reports leak of each person who made them."""
    from ..kernel_files import load_release
    from ..theory._composition import compose as run_compose
    from ..views.plain import composition_json

    with waiting("composing", show=sys.stderr.isatty()):
        found = run_compose(
            *(load_release(kernel) for kernel in kernels), times=times, people=people
        )
    if as_json:
        print_json(composition_json(found))
    else:
        say(str(found))
