"""``mechdesign export``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..progress import waiting
from .options import Force, Kernel
from .output import note


def export(
    kernel: Kernel,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    to: Annotated[
        str,
        typer.Option(
            help="javascript: one ES module for browsers and Node, with a memory, also of a plan; "
            "sql: statements that make a table of reports."
        ),
    ],
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="Name of what is asked, for receipts and keys, and with --to sql the column that "
            "holds the secret; that of the design when left out. Repeat it for tuples."
        ),
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option(help="Of SQL: postgresql. Engines without secure randomness are refused."),
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="Of SQL: the table with the secrets, as in survey.people.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Of SQL: another column to copy beside the reports. Repeat it."),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(
            help="Of SQL: the new table of reports; when left out TABLE_reports, of a plan "
            "TABLE_COLUMN_reports."
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Write a file by which a device or a database draws reports.

    It holds the kernel and no prior.
    """
    from ..devices._export import export as run_export
    from ..kernel_files import load_release
    from .options import check_distinct

    check_distinct({"--output": output}, {"DESIGN": kernel})
    with waiting("writing", show=sys.stderr.isatty()):
        run_export(
            load_release(kernel),
            output,
            to=to,
            column=column or None,
            dialect=dialect,
            table=table,
            keep=keep or None,
            into=into,
            overwrite=force,
        )
    note(f"saved {output}")
