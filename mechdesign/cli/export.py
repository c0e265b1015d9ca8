"""``mechdesign export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Force, Kernel, note


def export(
    kernel: Kernel,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    to: Annotated[
        str, typer.Option(help="javascript: one ES module for browsers and Node, with a memory.")
    ],
    column: Annotated[
        str,
        typer.Option(
            help="Name of what is asked; it belongs to receipts, and to the reports of a key."
        ),
    ] = "report",
    force: Force = False,
) -> None:
    """Write a file by which a device draws reports of a kernel itself, without the prior."""
    from ..devices._export import export as run_export
    from ..kernel_files import load_kernel
    from .options import check_distinct

    check_distinct({"--output": output}, {"DESIGN": kernel})
    run_export(load_kernel(kernel), output, to=to, column=column, overwrite=force)
    note(f"saved {output}")
