"""``mechdesign regress``."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from ..arguments import read_feature, read_truth
from ..release.codes import ABSENT, Codebook
from ..release.codes import show_values as quote_values
from .options import (
    AsJson,
    Confidence,
    Feature,
    Kernel,
    Misfit,
    ReceiptFile,
    ShowValues,
    note,
    print_json,
    receipts_beside,
)


def regress(
    context: typer.Context,
    kernel: Kernel,
    reports: Annotated[str, typer.Argument(help="CSV or Parquet file with the reports.")],
    column: Annotated[str, typer.Option(help="Column that holds the reports.")],
    response: Annotated[
        str, typer.Option(help="Column of the response; that of the reports if it is privatised.")
    ],
    covariates: Annotated[
        list[str] | None,
        typer.Option("--covariate", help="Public column to regress on beside it. Repeat it."),
    ] = None,
    family: Annotated[str, typer.Option(help="linear or logistic.")] = "linear",
    feature: Feature = None,
    reference: Annotated[
        str | None, typer.Option(help="Symbol that others are compared with; the first.")
    ] = None,
    weights: Annotated[
        str | None, typer.Option(help="Column of weights: for how many people each one stands.")
    ] = None,
    strata: Annotated[
        str | None, typer.Option(help="Column of strata that the sample was drawn in.")
    ] = None,
    clusters: Annotated[
        str | None, typer.Option(help="Column of clusters that were drawn, within the strata.")
    ] = None,
    confidence: Confidence = 0.95,
    missing: Annotated[
        str, typer.Option(help="Missing reports: error, drop or category.")
    ] = "error",
    receipt: ReceiptFile = None,
    misfit: Misfit = "error",
    truth: Annotated[
        str | None,
        typer.Option(help="Distribution at which a linear regression is most exact, as --prior."),
    ] = None,
    show_values: ShowValues = False,
    as_json: AsJson = False,
) -> None:
    """Regress with one privatised column: coefficients and errors as without the mechanism.

    The privatised column is a covariate, or the response where --response names it.
    """
    if show_values:
        context.with_resource(quote_values())
    from ..kernel_files import load_kernel
    from ..mechanism import kernel_of
    from ..published import kernel_fingerprint
    from ..release._regress import columns_beside
    from ..release._regress import regress as run_regress
    from ..release.table_files import sample_file
    from ..views.plain import regression_json
    from ..views.text import print_intervals

    designed = load_kernel(kernel)
    mechanism = kernel_of(designed)
    beside = columns_beside(column, response, covariates or [])
    design = {"weights": weights, "strata": strata, "clusters": clusters}
    others = [*beside, *(name for name in design.values() if name is not None)]
    sample = sample_file(
        reports, column, designed, others, missing=missing, progress=sys.stderr.isatty()
    )
    chosen: Any = reference
    if reference is not None:
        book = Codebook(mechanism.inputs, "inputs of the mechanism", texts=True)
        place = book.place(reference)
        chosen = reference if place == ABSENT else book.labels[place]
    made = run_regress(
        sample,
        designed,
        column,
        response=response,
        covariates=covariates or [],
        family=family,
        feature=read_feature(feature, mechanism),
        reference=chosen,
        confidence=confidence,
        missing=missing,
        receipt=receipts_beside(reports, [column], receipt)[0],
        misfit=misfit,
        truth=None if truth is None else read_truth(truth),
        **design,
    )
    if as_json:
        print_json(regression_json(made, kernel_fingerprint(mechanism)))
        return
    print_intervals(made)
    if made.note:
        note(made.note)
