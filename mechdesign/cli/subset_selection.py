"""``mechdesign subset-selection``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InputError
from ..progress import waiting
from .options import (
    AsJson,
    Force,
    PriorText,
    Privacy,
    Public,
    check_distinct,
    note,
    print_json,
    read_notions,
)


def subset_selection(
    symbols: Annotated[
        str | None,
        typer.Argument(help="How many symbols, or a text file with one label in each line."),
    ] = None,
    privacy: Privacy = None,
    prior: PriorText = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Save it as JSON.")] = None,
    public: Public = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Design for the frequencies of very many symbols, without a matrix.

    Of equal mass, or with --prior of a few different masses. For apply, estimate and plan like any
    design.
    """
    from ..arguments import read_many_symbols, read_prior
    from ..files import check_writable
    from ..storage import save, to_json
    from ..subsets import subset_selection as run
    from ..views.text import print_subset_selection

    if (symbols is None) == (prior is None):
        raise InputError(
            "symbols",
            expected="how many symbols, a file of labels, or --prior with their masses",
            got="nothing" if symbols is None else "both",
            remedy="write 1_000_000, words.txt, or --prior masses.json",
        )
    check_distinct({"--output": output, "--public": public}, {"SYMBOLS": symbols})
    named = [path for path in (output, public) if path is not None]
    for path in named:
        check_writable(path, overwrite=force)
    asked: Any = read_many_symbols(symbols) if symbols is not None else None
    if prior is not None:
        asked = read_prior(prior)
    with waiting("designing", show=sys.stderr.isatty()):
        found = run(asked, read_notions(privacy))
    if output is not None:
        save(found, output, overwrite=force)
    if public is not None:
        save(found, public, overwrite=force, public=True)
    if as_json:
        print_json(to_json(found))
    else:
        print_subset_selection(found)
    for path in named:
        note(f"saved {path}")
