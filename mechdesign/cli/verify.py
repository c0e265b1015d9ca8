"""``mechdesign verify``, as its help shows it; ``proving`` does it."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import AsJson
from .proving import prove


def verify(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Files that 'mechdesign' saved.")
    ],
    as_json: AsJson = False,
) -> None:
    """Prove what saved files claim, by a checker of its own.

    It runs in an isolated interpreter with the standard library alone. Where it refutes a level,
    the library's own audit adds a witness: the output and the two hypotheses at which the kernel
    leaks most, the level that it has and the one claimed. Exit codes: 0 all is proved, 1 something
    is refuted, 2 a file cannot be read, 3 nothing is refuted, but something is not proved here
    ('mechdesign check' computes it).
    """
    names = (f"./{name}" if name.startswith("-") else name for name in files)
    raise typer.Exit(prove([*names, *["--json"] * as_json]))
