"""``mechdesign apply``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .options import AsJson, Force, Kernel, ShowValues, note, print_json


def apply(
    kernel: Kernel,
    table: Annotated[str, typer.Argument(help="CSV or Parquet file, one row per person.")],
    column: Annotated[str, typer.Option(help="Column that holds the secret.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File for the reports, of the same kind.")
    ],
    missing: Annotated[
        str, typer.Option(help="Missing values: error, keep (stay missing), or replace.")
    ] = "error",
    unseen: Annotated[
        str, typer.Option(help="Values that are no inputs: error, null, or replace.")
    ] = "error",
    replacement: Annotated[
        str | None, typer.Option(help="Input that stands in for what is replaced.")
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(help="Column that says whom a row is about; repeats are warned of."),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="Ledger of releases, in place of your own (MECHDESIGN_LEDGER, or in your data "
            "folder)."
        ),
    ] = None,
    about: Annotated[
        str | None,
        typer.Option(help="Name of the people in the ledger; the input file when left out."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed, for research only: whoever knows it can undo reports.")
    ] = None,
    show_values: ShowValues = False,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Privatise one column of a file with a saved design, exactly and at any size."""
    from ..arguments import read_symbol
    from ..errors import InputError
    from ..files import check_writable
    from ..ledger import default_ledger
    from ..release.identify import identifiability
    from ..releasing import privatize_file
    from ..solve.designing import Design
    from ..storage import load_kernel

    item = load_kernel(kernel)
    told = identifiability(item)
    if told.advice and not told.tells_nothing:
        note(told.advice)
    check_writable(output, overwrite=force)
    if Path(table).exists() and output.exists() and output.samefile(table):
        raise InputError(
            "--output",
            expected="another file than the input",
            got=str(output),
            remedy="keep the original until the reports are checked",
        )
    if ledger is not None and ledger.resolve() == Path(kernel).resolve():
        raise InputError(
            "--ledger",
            expected="a file of its own",
            got=f"{ledger}, which is the design",
            remedy="choose another name for the ledger",
        )
    receipt = privatize_file(
        table,
        output,
        column,
        item,
        missing=missing,
        unseen=unseen,
        replacement=read_symbol(replacement, item.mechanism if isinstance(item, Design) else item),
        person=person,
        rng=seed,
        overwrite=force,
        progress=sys.stderr.isatty(),
        ledger=ledger,
        about=about,
        show_values=show_values,
    )
    if as_json:
        print_json(receipt.to_json())
    else:
        kept = ", ".join(receipt.notions) or "no notion was checked"
        typer.echo(f"{receipt.rows} reports of {column!r}: {kept}, kernel {receipt.kernel[:16]}…")
        typer.echo(f"random words: {receipt.source}")
    note(f"saved {output}, recorded in {ledger or default_ledger()}")
