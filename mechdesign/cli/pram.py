"""``mechdesign pram``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..progress import waiting
from .options import (
    AsJson,
    ExcelSafe,
    Force,
    MaxSymbols,
    Privacy,
    Require,
    Weights,
    check_distinct,
    read_notions,
    read_required,
    refuse,
)
from .output import note, print_json, say
from .release_options import ReleaseOptions, say_receipt


def pram(
    table: Annotated[
        str,
        typer.Argument(
            help="File of any kind, as for 'mechdesign apply', one row per record, or a shipped "
            "table."
        ),
    ],
    column: Annotated[str, typer.Option(help="The categorical variable.")],
    release: ReleaseOptions,
    privacy: Privacy = None,
    strata: Annotated[
        str | None,
        typer.Option(help="Public column; each of its values gets a matrix of its own."),
    ] = None,
    pooled: Annotated[
        bool, typer.Option("--pooled", help="One matrix for all strata; risks are theirs.")
    ] = False,
    invariant: Annotated[
        bool, typer.Option("--invariant", help="Keep the expected marginals.")
    ] = False,
    zero: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="A is never published as B. Repeat it."),
    ] = None,
    pattern: Annotated[
        Path | None,
        typer.Option(help="CSV matrix with the categories as names; what is 0 stays 0."),
    ] = None,
    diagonal: Annotated[
        str | None,
        typer.Option(help="Least probability of no change: 0.6, or a=0.6,b=0.5."),
    ] = None,
    require: Require = None,
    prior: Annotated[
        str | None,
        typer.Option(
            metavar="MASSES",
            help="Prior in place of the frequencies in the table: a=0.5,b=0.3,c=0.2 or a JSON "
            "file.",
        ),
    ] = None,
    weights: Weights = None,
    missing: Annotated[
        str, typer.Option(help="Missing values: error, or keep (they stay missing).")
    ] = "error",
    max_symbols: MaxSymbols = None,
    matrix: Annotated[
        Path | None,
        typer.Option(help="Save the matrix as CSV, as sdcMicro reads it; by stratum if any."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the table with published values."),
    ] = None,
    risk: Annotated[
        Path | None,
        typer.Option(
            help="With --output, save the risk of each published record as CSV. True values can be "
            "told from it: keep it as secret as the data."
        ),
    ] = None,
    excel_safe: ExcelSafe = False,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Find the best matrix to randomise a variable with; publish it."""
    from ..arguments import read_prior
    from ..data import example_path
    from ..errors import UnknownNameError
    from ..files import check_writable
    from ..prior import Prior
    from ..release._pram import categories
    from ..release._pram import pram as run_pram
    from ..utility import Hamming
    from ..views.plain import pram_json
    from ..views.text import print_pram

    if missing not in ("error", "keep"):
        raise UnknownNameError("policy for missing values", missing, ["error", "keep"])
    notions = read_notions(privacy)
    check_distinct(
        {"--matrix": matrix, "--output": output, "--risk": risk},
        {"the table": table, "--pattern": pattern},
    )
    if matrix is not None:
        check_writable(matrix, overwrite=force)
    if output is not None:
        if weights is not None or example_path(table) is not None:
            refuse(
                "--output",
                "a file with one row per record",
                "a table whose lines stand for groups",
                "leave it out to find the matrix, or repeat the lines",
            )
        release.check(table, output, force=force, read=[pattern], written=[matrix, risk])
    if risk is not None:
        if output is None:
            refuse(
                "--risk",
                "--output with it, as it is about published values",
                "none",
                "leave it out, or add -o",
            )
        check_writable(risk, overwrite=force)
    dialect: dict[str, Any] = {"sep": release.sep, "encoding": release.encoding}
    limits: dict[str, Any] = {"missing": missing, "max_symbols": max_symbols, **dialect}
    asked = [*(require or []), *(f"zero:{pair}" for pair in zero or [])]
    asked += ["invariant"] * invariant
    asked += [] if pattern is None else [f"pattern:{_cell(pattern)}"]
    asked += [] if diagonal is None else [f"diagonal:{diagonal}"]
    required = []
    if asked:
        known = Prior.uniform(categories(table, column, **limits))
        required = read_required(asked, known, [Hamming()])
    with waiting("designing", show=sys.stderr.isatty()):
        found = run_pram(
            table,
            column,
            notions,
            strata=strata,
            pooled=pooled,
            subject_to=required,
            prior=None if prior is None else read_prior(prior),
            weights=weights,
            **limits,
        )
    if matrix is not None:
        found.save_matrix(matrix, overwrite=force, excel_safe=excel_safe)
    receipt = None
    if output is not None:
        receipt = release.write(
            table,
            output,
            column,
            found.released,
            force=force,
            missing=missing,
            excel_safe=excel_safe,
            strata=found.strata_column,
        )
    records = None if output is None else found.record_risk(table, output, **dialect)
    if risk is not None and records is not None:
        records.to_csv(risk, overwrite=force)
    if as_json:
        body = pram_json(found)
        if receipt is not None and records is not None:
            body["receipt"] = receipt.to_json()
            body["published"] = {"correct": records.correct, "largest": records.largest}
        print_json(body)
    else:
        print_pram(found)
        if receipt is not None and records is not None:
            say(f"as published: {records.correct} guessed right, largest {records.largest:.4g}")
            say_receipt(receipt)
    if matrix is not None:
        note(f"saved {matrix}")
    if output is not None:
        note(f"saved {output}, recorded in {release.book}")
    if risk is not None:
        note(f"saved {risk}, which is as secret as the data")


def _cell(path: Path) -> str:
    """The name of a file as one part of the text of a requirement."""
    name = str(path).replace('"', '""')
    return f'"{name}"'
