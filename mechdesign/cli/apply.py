"""``mechdesign apply``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from .options import AsJson, ExcelSafe, Force, Kernel, ShowValues, note, print_json, say


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
    row: Annotated[
        str | None,
        typer.Option(
            help="Column with a different identity in each row; with the same key it gets the same "
            "report again."
        ),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            help="Column that says whom a row is about; repeats are warned of, or with a key and "
            "without --row share one report."
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            help="File with the secret key that goes with --row or --person; made (mode 0600) if "
            "missing. Keep it as secret as the data."
        ),
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
    excel_safe: ExcelSafe = False,
    show_values: ShowValues = False,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Privatise one column of a file with a saved design, exactly and at any size."""
    from ..arguments import read_symbol
    from ..errors import InputError
    from ..files import check_writable
    from ..release._identifiability import identifiability
    from ..release._privatize_file import privatize_file
    from ..release.ledger import default_ledger
    from ..release.table_files import receipt_path
    from ..solve._design import Design
    from ..storage import load_kernel

    designed = load_kernel(kernel)
    identified = identifiability(designed)
    if identified.advice and not identified.tells_nothing:
        note(identified.advice)
    check_writable(output, overwrite=force)
    if Path(table).exists() and output.exists() and output.samefile(table):
        raise InputError(
            "--output",
            expected="another file than the input",
            got=str(output),
            remedy="keep the original until the reports are checked",
        )
    book = ledger or default_ledger()
    taken = (output, receipt_path(output), book, Path(f"{book}.key"))
    if key is not None and os.path.realpath(key) in {os.path.realpath(path) for path in taken}:
        raise InputError(
            "--key",
            expected="another file than those of the output and the ledger",
            got=str(key),
            remedy="keep the key where nobody else reads",
        )
    if ledger is not None and os.path.realpath(ledger) == os.path.realpath(kernel):
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
        designed,
        missing=missing,
        unseen=unseen,
        replacement=read_symbol(
            replacement, designed.mechanism if isinstance(designed, Design) else designed
        ),
        row=row,
        person=person,
        key=key,
        rng=seed,
        overwrite=force,
        progress=sys.stderr.isatty(),
        excel_safe=excel_safe,
        ledger=ledger,
        about=about,
        show_values=show_values,
    )
    if as_json:
        print_json(receipt.to_json())
    else:
        kept = ", ".join(receipt.notions) or "no notion was checked"
        say(f"{receipt.rows} reports of {column!r}: {kept}, kernel {receipt.kernel[:16]}…")
        say(f"random words: {receipt.source}")
        if receipt.key is not None:
            say(f"key: fingerprint {receipt.key}")
    note(f"saved {output}, recorded in {book}")
