"""``mechdesign apply``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import AsJson, ExcelSafe, Force, Kernel
from .output import note, print_json, say
from .release_options import ReleaseOptions, say_receipt


def apply(
    kernel: Kernel,
    table: Annotated[
        str,
        typer.Argument(
            help="File with one row per person: separated text (also .gz, .zst), Parquet, Feather, "
            "Arrow or .xlsx; a folder of such files; a pattern of names in quotes; - for standard "
            "input."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="File for the reports, whose name says its kind (.csv, .parquet, .feather, "
            ".arrow); for several files a folder. Stopped, the same command goes on.",
        ),
    ],
    release: ReleaseOptions,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="Column that holds the secret. Repeat it for several, in the order of the design; "
            "those that the design or plan knows when left out."
        ),
    ] = None,
    into: Annotated[
        list[str] | None,
        typer.Option(help="Name of a column of reports of several columns. Repeat it for each."),
    ] = None,
    missing: Annotated[
        str, typer.Option(help="Missing values: error, keep (stay missing), or replace.")
    ] = "error",
    unseen: Annotated[
        str, typer.Option(help="Values that are no inputs: error, null, or replace.")
    ] = "error",
    replacement: Annotated[
        str | None,
        typer.Option(
            help="Input that stands in for what is replaced; of several columns a JSON list."
        ),
    ] = None,
    strata: Annotated[
        str | None,
        typer.Option(help="Public column whose value is part of the input, of pram's kernels."),
    ] = None,
    receipt: Annotated[
        Path | None,
        typer.Option(help="New file for the receipt, whatever keeps the reports."),
    ] = None,
    excel_safe: ExcelSafe = False,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Privatise columns of a file with a saved design or plan.

    Reports are drawn exactly, from files of any size.
    """
    from ..arguments import read_symbol, read_symbols
    from ..kernel_files import check_order, load_release
    from ..mechanism import ImplicitKernel, kernel_of
    from ..release._identifiability import identifiability
    from ..solve.columns_plan import KernelPlan

    check_order(kernel, table)
    designed: Any = load_release(kernel)
    is_plan = isinstance(designed, KernelPlan)
    if not is_plan and not isinstance(designed, ImplicitKernel):
        identified = identifiability(designed)
        if identified.advice and not identified.tells_nothing and strata is None:
            note(identified.advice)
    release.check(table, output, force=force, read=[Path(kernel)], written=[receipt])
    made = release.write(
        table,
        output,
        column or None,
        designed,
        force=force,
        missing=missing,
        unseen=unseen,
        replacement=read_symbols(replacement, list(designed.kernels.values()))
        if is_plan
        else read_symbol(replacement, kernel_of(designed)),
        into=into,
        excel_safe=excel_safe,
        strata=strata,
        receipt=receipt,
    )
    if as_json:
        print_json(made.to_json())
    else:
        say_receipt(made)
        kernels = list(designed.kernels.values()) if is_plan else [kernel_of(designed)]
        _say_sets(kernels)
    note(f"saved {output}, recorded in {release.book}")


def _say_sets(kernels: Iterable[Any]) -> None:
    """What reports are that stand for sets of symbols, once."""
    from ..labels import told_of_sets
    from ..mechanism import Mechanism

    matrices = (kernel for kernel in kernels if isinstance(kernel, Mechanism))
    sentences = (told_of_sets(kernel.inputs, kernel.outputs) for kernel in matrices)
    sentence = next(filter(None, sentences), "")
    if sentence:
        say(sentence)
