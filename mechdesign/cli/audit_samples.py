"""``mechdesign audit-samples``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InputError, quote
from ..progress import waiting
from .exit_codes import NOT_MET
from .options import (
    AsJson,
    Force,
    Outputs,
    PriorText,
    Privacy,
    TextForm,
    note,
    print_json,
    read_notions,
)


def audit_samples(
    form: TextForm,
    table: Annotated[
        str | None, typer.Argument(help="File of any kind with a row for each report.")
    ] = None,
    column: Annotated[str | None, typer.Option(help="Column of TABLE with the inputs.")] = None,
    reported: Annotated[str | None, typer.Option(help="Column of TABLE with the reports.")] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            metavar="package.module:function",
            help="A mechanism to call in place of a table: a function from an input to a report.",
        ),
    ] = None,
    inputs: Annotated[
        str | None,
        typer.Option(help="With --mechanism: its inputs, separated by commas; else of --prior."),
    ] = None,
    privacy: Privacy = None,
    confidence: Annotated[
        float, typer.Option(help="With which all limits of all notions hold together.")
    ] = 0.95,
    prior: PriorText = None,
    outputs: Outputs = None,
    partition: Annotated[
        str | None,
        typer.Option(
            help="Groups of reports that are numbers: edges of intervals such as -1,0,1, or tree, "
            "learned from half of the reports (a quarter of the calls).",
        ),
    ] = None,
    calls: Annotated[int, typer.Option(help="Most calls of --mechanism.")] = 100_000,
    batch: Annotated[
        bool,
        typer.Option(
            "--batch", help="--mechanism takes an input and a number, and returns as many reports."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the split into halves.")] = 0,
    report: Annotated[
        Path | None,
        typer.Option(help="Write a page for those who did not make the mechanism (.html)."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Say from inputs and reports alone whether a mechanism keeps what is claimed of it.

    Levels get confidence limits that hold all at once, claims a verdict: violated, consistent, or
    cannot tell. The exit code is 0 only where every claim is consistent; name all outcomes with
    --outputs, as without them no claim can be.
    """
    from ..arguments import read_outputs
    from ..arguments import read_prior as prior_of
    from ..evidence._audit_samples import audit_samples as run_audit
    from ..evidence.findings import SampleVerdict
    from ..views.samples import print_sample_audit, sample_audit_json, write_sample_report

    if report is not None:
        _expect_page(report, force=force)
    notions = read_notions(privacy)
    known = None if prior is None else prior_of(prior)
    given, reports = _source(table, form, column, reported, mechanism, inputs, known)
    with waiting("judging samples", show=sys.stderr.isatty()):
        found = run_audit(
            given,
            reports,
            notions,
            confidence,
            prior=known,
            outputs=read_outputs(outputs),
            partition=None if partition is None else _read_partition(partition),
            calls=calls,
            batch=batch,
            seed=seed,
        )
    if report is not None:
        more = {} if title is None else {"title": title}
        write_sample_report(found, report, overwrite=force, **more)
    if as_json:
        print_json(sample_audit_json(found))
    else:
        print_sample_audit(found)
    if report is not None:
        note(f"saved {report}")
    if found.verdict is not SampleVerdict.CONSISTENT:
        raise typer.Exit(NOT_MET)


def _expect_page(report: Path, *, force: bool) -> None:
    """Raise before any work where a page could not be written."""
    from ..files import check_writable
    from ..views.pages import check_pages

    if report.suffix.lower() not in (".html", ".htm"):
        raise InputError(
            "--report",
            expected="a name that ends in .html",
            got=quote(report.suffix or "none"),
            remedy="choose such a name",
        )
    check_writable(report, overwrite=force)
    check_pages()


def _source(
    table: str | None,
    form: TextForm,
    column: str | None,
    reported: str | None,
    mechanism: str | None,
    inputs: str | None,
    prior: Any,
) -> tuple[Any, Any]:
    """Inputs and reports of a table, or the inputs of a mechanism and the mechanism."""
    from ..arguments import read_outputs
    from ..extensions import find_function
    from ..tables.counting import read_labels

    if (table is None) == (mechanism is None):
        raise InputError(
            "reports",
            expected="either a TABLE of inputs and reports, or --mechanism",
            got="neither" if table is None else "both",
            remedy="name a file with --column and --reported, or a function to call",
        )
    if table is not None:
        if column is None or reported is None or inputs is not None:
            raise InputError(
                f"table {table}",
                expected="--column with the inputs and --reported with the reports, no --inputs",
                got="--inputs" if inputs is not None else "not both of them",
                remedy="name the two columns",
            )
        given, reports = read_labels(table, [column, reported], form.dialect)
        return given, reports
    if column is not None or reported is not None:
        raise InputError(
            "--mechanism",
            expected="no --column and no --reported, as there is no table",
            got="one of them",
            remedy="leave them out",
        )
    symbols = read_outputs(inputs) or (None if prior is None else list(prior.labels))
    if symbols is None:
        raise InputError(
            "--mechanism",
            expected="--inputs or --prior with the symbols to call it with",
            got="neither",
            remedy="add for example --inputs no,yes",
        )
    assert mechanism is not None
    return symbols, find_function(mechanism, "mechanism")


def _read_partition(partition: str) -> Any:
    """Edges of intervals, or the name of what is learned."""
    from ..evidence.partition import TREE

    if partition.strip().lower() == TREE:
        return TREE
    try:
        return [float(part) for part in partition.split(",")]
    except ValueError:
        raise InputError(
            "--partition",
            expected="edges of intervals separated by commas, or tree",
            got=quote(partition),
            remedy="write for example --partition=-1,0,1",
        ) from None
