"""``mechdesign export``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..progress import waiting
from .options import Force, Kernel, refuse
from .output import note


def export(
    kernel: Kernel,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file, or folder, to write.")],
    to: Annotated[
        str,
        typer.Option(
            help="javascript: one ES module for browsers and Node, with a memory, also of a plan; "
            "sql: statements that make a table of reports; form: a page on which the public "
            "answers, as a folder for a host of its own."
        ),
    ],
    form: Annotated[
        str | None,
        typer.Option(
            metavar="QUESTION|FILE",
            help="Of a form: the question, or a .toml or .json file with wording, choices and "
            "languages.",
        ),
    ] = None,
    collector: Annotated[
        str | None,
        typer.Option(help="Of a form: address of the collector, as https://answers.example."),
    ] = None,
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

    is_form = to == "form"
    for name, value in {"--form": form, "--collector": collector}.items():
        if is_form != (value is not None):
            refuse(
                name,
                "it beside --to form" if is_form else "--to form with it",
                "none" if is_form else f"--to {to}",
                "add it" if is_form else "leave it out",
            )
    if form is not None and collector is not None:
        from ..forms._write_form import write_form

        told = write_form(load_release(kernel), output, form, collector=collector, overwrite=force)
        note(f"saved {output}; start the collector with {told}")
        return
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
