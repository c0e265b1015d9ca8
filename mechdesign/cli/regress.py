"""``mechdesign regress``."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from ..arguments import read_feature, read_truth
from ..errors import quote
from ..labels import counted, listing
from ..progress import waiting
from ..release.codes import ABSENT, Codebook
from ..release.codes import show_values as quote_values
from .options import (
    AsJson,
    Confidence,
    Force,
    Kernel,
    Misfit,
    ReceiptFile,
    ShowValues,
    TableFile,
    TextForm,
    expect_table,
    refuse,
    save_rows,
)
from .output import note, print_json


def regress(
    context: typer.Context,
    kernel: Kernel,
    reports: Annotated[str, typer.Argument(help="File of any kind with the reports.")],
    *,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            help="Column that holds the reports; that of the design when left out. Of a plan "
            "repeat it; all of its columns where it is left out.",
        ),
    ] = None,
    response: Annotated[
        str, typer.Option(help="Column of the response; that of the reports if it is privatised.")
    ],
    covariates: Annotated[
        list[str] | None,
        typer.Option("--covariate", help="Public column to regress on beside it. Repeat it."),
    ] = None,
    family: Annotated[str, typer.Option(help="linear or logistic.")] = "linear",
    feature: Annotated[
        list[str] | None,
        typer.Option(
            help="JSON file of input and value: numbers make one coefficient, text groups; what a "
            "design for questions asks when left out. Of a column of a plan write COLUMN=FILE, and "
            "repeat it."
        ),
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            help="Symbol that others are compared with; the first. Of a column of a plan write "
            "COLUMN=SYMBOL, and repeat it."
        ),
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
        Any,
        typer.Option(help="Distribution at which a linear regression is most exact, as --prior."),
        read_truth,
    ] = None,
    show_values: ShowValues = False,
    output: TableFile = None,
    as_json: AsJson = False,
    force: Force = False,
    form: TextForm,
) -> None:
    """Regress with privatised columns as if they were open.

    A privatised column is a covariate, or the response where --response names it.
    """
    if show_values:
        context.with_resource(quote_values())
    from ..inference._regress import regress as run_regress
    from ..kernel_files import check_order, is_plan_file, load_kernel, load_release
    from ..mechanism import kernel_of
    from ..published import kernel_fingerprint
    from ..release.drawing import columns_of
    from ..views.plain import regression_json
    from ..views.text import print_intervals

    check_order(kernel, reports)
    expect_table(output, force=force)
    several = is_plan_file(kernel)
    plan: Any = load_release(kernel) if several else None
    whole = None if several else load_kernel(kernel)
    known = [*(plan.names if several else columns or columns_of(whole))]
    if not several and len(known) != 1:
        refuse(
            "--column",
            "it once, for one privatised column",
            counted(len(known), "time") if known else "none",
            "name one; the file of a plan takes several",
        )
    designs = {name: plan[name] if several else whole for name in known}
    kernels = {name: kernel_of(design) for name, design in designs.items()}
    texts = _by_column("--feature", feature, kernels, several=several)
    numbers: Any = {name: read_feature(text, kernels[name]) for name, text in texts.items()}
    texts = _by_column("--reference", reference, kernels, several=several)
    chosen: Any = {name: _symbol(text, kernels[name]) for name, text in texts.items()}
    design = {"weights": weights, "strata": strata, "clusters": clusters}
    used = {*(columns or known), response}
    prints: Any = {name: kernel_fingerprint(kernels[name]) for name in kernels if name in used}
    made_by: Any = designs
    if not several:
        asked = (made_by, numbers, chosen, prints)
        made_by, numbers, chosen, prints = (each.get(known[0]) for each in asked)
    with waiting("regressing", show=sys.stderr.isatty()):
        made = run_regress(
            form.reports(reports),
            made_by,
            columns if several else known[0],
            response=response,
            covariates=covariates or [],
            family=family,
            feature=numbers,
            reference=chosen,
            confidence=confidence,
            missing=missing,
            receipt=receipt,
            misfit=misfit,
            truth=truth,
            **design,
        )
    save_rows("Coefficients", made.rows(), output, force=force)
    if as_json:
        print_json(regression_json(made, prints))
        return
    print_intervals(made)
    if made.note:
        note(made.note)


def _symbol(text: str, mechanism: Any) -> Any:
    """The input that a text names; the text itself where it is none."""
    book = Codebook(mechanism.inputs, "inputs of the mechanism", texts=True)
    place = book.place(text)
    return text if place == ABSENT else book.labels[place]


def _by_column(
    option: str, given: list[str] | None, kernels: dict[str, Any], *, several: bool
) -> dict[str, str]:
    """Texts by column: of the form COLUMN=TEXT where there are several, else one at most."""
    found: dict[str, str] = {}
    for text in given or []:
        starts = {name: f"{name}=" if several else "" for name in kernels}
        name = next((name for name, start in starts.items() if text.startswith(start)), None)
        if name is None or name in found:
            refuse(
                option,
                f"COLUMN=… once for a column of the plan, {listing([*kernels])}"
                if several
                else "it once, for one privatised column",
                quote(text),
                f"write for example {option} {next(iter(kernels))}=… for a plan",
            )
        found[name] = text[len(starts[name]) :]
    return found
