"""``mechdesign explain``: what the code at the end of an error or a warning stands for."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ..errors import KINDS, explained
from .options import AsJson, print_json, say


def explain(
    codes: Annotated[
        list[str] | None, typer.Argument(metavar="CODE...", help="Codes such as MD103.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what the codes of errors and warnings mean, and what to do; all without a code."""
    kinds = [explained(code) for code in codes] if codes else KINDS
    if as_json:
        print_json([asdict(kind) for kind in kinds])
    elif codes:
        for kind in kinds:
            say(f"{kind.code} {kind.name}\n  {kind.meaning}\n  What to do: {kind.remedy}")
    else:
        for kind in kinds:
            say(f"{kind.code}  {kind.name}")
