"""``mechdesign report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import StorageError
from .options import (
    Column,
    Force,
    KernelFile,
    MaxSymbols,
    Missing,
    Normalise,
    PriorTable,
    PriorText,
    Privacy,
    Weights,
    draw_nowhere,
    note,
    read_asked,
)


def report(
    kernel: KernelFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The page to write; its name ends in .html.")
    ],
    table: PriorTable = None,
    column: Column = None,
    weights: Weights = None,
    missing: Missing = "error",
    max_symbols: MaxSymbols = None,
    prior: PriorText = None,
    privacy: Privacy = None,
    normalise: Normalise = False,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    force: Force = False,
) -> None:
    """Write a page about a design or a kernel for its reviewer, all in one HTML file.

    A saved design brings its own prior and notions, and its proof; a kernel of any tool needs a
    prior, and is audited against the notions asked.
    """
    from ..views.pages import check_pages, write_report

    if output.suffix.lower() not in (".html", ".htm"):
        raise StorageError(
            f"output {output}: expected a name that ends in .html, got "
            f"{output.suffix or 'none'}; choose such a name."
        )
    check_pages()
    draw_nowhere()
    asked = read_asked(
        kernel,
        table,
        column,
        weights,
        missing,
        prior,
        privacy,
        normalise=normalise,
        max_symbols=max_symbols,
    )
    write_report(
        asked.item,
        output,
        prior=asked.prior,
        privacy=list(asked.notions) or None,
        title=title,
        overwrite=force,
    )
    note(f"saved {output}")
