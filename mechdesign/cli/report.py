"""``mechdesign report``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..errors import StorageError
from ..progress import waiting
from .options import (
    Force,
    KernelSource,
    Reports,
    Require,
    draw_nowhere,
    note,
)


def report(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The page to write; its name ends in .html.")
    ],
    source: KernelSource,
    require: Require = None,
    reports: Reports = 1000,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    force: Force = False,
) -> None:
    """Write a page about a design or a kernel for its reviewer, all in one HTML file.

    A saved design brings its own prior, notions and requirements, and its proof; a kernel of any
    tool needs a prior, and is audited against what is asked.
    """
    from ..views.pages import check_pages, write_report

    if output.suffix.lower() not in (".html", ".htm"):
        raise StorageError(
            f"output {output}: expected a name that ends in .html, got "
            f"{output.suffix or 'none'}; choose such a name."
        )
    check_pages()
    draw_nowhere()
    asked = source.read_kernel()
    with waiting("writing the page", show=sys.stderr.isatty()):
        write_report(
            asked.designed,
            output,
            prior=asked.prior,
            privacy=list(asked.notions) or None,
            requirements=asked.read_required(require),
            reports=reports,
            title=title,
            overwrite=force,
        )
    note(f"saved {output}")
