"""``mechdesign research convert``: what a guarantee implies."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..progress import waiting
from .options import AsJson, PriorOption, name_notion, read_notion
from .output import print_json


def convert(
    notions: Annotated[
        list[str],
        typer.Argument(
            metavar="NOTION:LEVEL...",
            help="What holds, such as pml:0.1. Several hold at once.",
        ),
    ],
    source: PriorOption,
    to: Annotated[
        list[str] | None,
        typer.Option("--to", help="Wanted notion, such as ldp. Repeat it; all when left out."),
    ] = None,
    tight: Annotated[
        bool,
        typer.Option("--tight", help="The smallest level that always holds, with a witness."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say what a guarantee implies under a prior, and by which results.

    Levels are rounded up, so what is printed holds. With --tight it is also the smallest level that
    does, proved, and a mechanism that attains it is part of the --json output.
    """
    from .. import theory
    from ..privacy.notion import NOTIONS, LikelihoodBound, find_notion
    from ..views.plain import implications_json, tight_json
    from ..views.text import print_implications, print_tight

    given = [read_notion(text) for text in notions]
    wanted = [name_notion(name) for name in to or []]
    known = source.read_prior()
    if tight:
        targets = [find_notion(name) for name in wanted] or [
            cls for cls in NOTIONS.values() if issubclass(cls, LikelihoodBound) and not cls.needs
        ]
        with waiting("looking for the least levels", show=sys.stderr.isatty()):
            conversions = [theory.tight_conversion(given, cls, known) for cls in targets]
        if as_json:
            print_json(tight_json(conversions))
        else:
            print_tight(conversions)
        return
    found = theory.implications(given, known)
    entries = [found[name] for name in wanted] or list(found.found)
    if as_json:
        print_json(implications_json(found, entries))
    else:
        print_implications(found, entries)
