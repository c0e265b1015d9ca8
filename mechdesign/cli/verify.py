"""``mechdesign verify``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..progress import waiting
from .options import AsJson

# A file, not a module: a process of its own runs it, which has nothing of this package.
_CHECKER = Path(__file__).parents[1] / "certificate" / "verify.py"


def verify(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Files that 'mechdesign' saved.")
    ],
    as_json: AsJson = False,
) -> None:
    """Prove what saved files claim, by a checker that shares nothing with what wrote them.

    It runs in an isolated interpreter with the standard library alone. Exit codes: 0 all is
    proved, 1 something is refuted, 2 a file cannot be read, 3 nothing is refuted, but something is
    not proved here.
    """
    names = [str(Path(name).absolute()) if name.startswith("-") else name for name in files]
    options = ["--json"] if as_json else []
    command = [sys.executable, "-I", "-S", str(_CHECKER), *options, *names]
    with waiting("proving", show=sys.stderr.isatty()):
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    typer.echo(done.stdout, nl=False)
    if done.stderr:
        typer.echo(done.stderr, nl=False, err=True)
    raise typer.Exit(done.returncode)
