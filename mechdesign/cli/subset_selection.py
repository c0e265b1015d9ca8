"""``mechdesign subset-selection``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..progress import waiting
from .options import AsJson, Force, Privacy, note, print_json, read_notions


def subset_selection(
    symbols: Annotated[
        str,
        typer.Argument(help="How many symbols, or a text file with one label in each line."),
    ],
    privacy: Privacy = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Save it as JSON.")] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Design for the frequencies of very many symbols of equal mass, without a matrix.

    For apply, estimate and plan like any design.
    """
    from ..arguments import read_many_symbols
    from ..files import check_writable
    from ..storage import save, to_json
    from ..subsets import subset_selection as run
    from ..views.text import print_subset_selection

    if output is not None:
        check_writable(output, overwrite=force)
    with waiting("designing", show=sys.stderr.isatty()):
        found = run(read_many_symbols(symbols), read_notions(privacy))
    if output is not None:
        save(found, output, overwrite=force)
    if as_json:
        print_json(to_json(found))
    else:
        print_subset_selection(found)
    if output is not None:
        note(f"saved {output}")
