"""``mechdesign regress``."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from ..arguments import read_feature, read_truth
from ..errors import InputError, quote
from ..labels import counted, listing
from ..progress import waiting
from ..release.codes import ABSENT, Codebook
from ..release.codes import show_values as quote_values
from .options import (
    AsJson,
    Confidence,
    Kernel,
    Misfit,
    ReceiptFile,
    ShowValues,
    note,
    print_json,
)


def regress(
    context: typer.Context,
    kernel: Kernel,
    reports: Annotated[str, typer.Argument(help="CSV or Parquet file with the reports.")],
    *,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            help="Column that holds the reports. Of a plan repeat it; all of its columns where it "
            "is left out.",
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
        str | None,
        typer.Option(help="Distribution at which a linear regression is most exact, as --prior."),
    ] = None,
    show_values: ShowValues = False,
    as_json: AsJson = False,
) -> None:
    """Regress with privatised columns: coefficients and errors as without the mechanism.

    A privatised column is a covariate, or the response where --response names it.
    """
    if show_values:
        context.with_resource(quote_values())
    from ..inference._regress import regress as run_regress
    from ..kernel_files import check_order, is_plan_file, load_kernel, load_release
    from ..mechanism import kernel_of
    from ..published import kernel_fingerprint
    from ..release.reports import rows_of_file
    from ..views.plain import regression_json
    from ..views.text import print_intervals

    design = {"weights": weights, "strata": strata, "clusters": clusters}
    options: dict[str, Any] = {
        "response": response,
        "covariates": covariates or [],
        "family": family,
        "confidence": confidence,
        "missing": missing,
        "misfit": misfit,
        **design,
    }
    check_order(kernel, reports)
    others = [*(covariates or []), *(name for name in design.values() if name is not None)]
    if is_plan_file(kernel):
        plan: Any = load_release(kernel)
        names = _one_each("--column", columns or list(plan.names))
        if receipt is not None or truth is not None:
            raise InputError(
                "--receipt and --truth",
                expected="them left out for a plan, whose reports carry their receipts",
                got="one of them",
                remedy="leave it out",
            )
        read = [*names, *([] if response in names else [response]), *others]
        features = _by_column("--feature", feature, plan)
        chosen = _by_column("--reference", reference, plan)
        numbers = {
            name: read_feature(path, kernel_of(plan[name])) for name, path in features.items()
        }
        left_out = {name: _symbol(text, kernel_of(plan[name])) for name, text in chosen.items()}
        with waiting("regressing", show=sys.stderr.isatty()):
            made = run_regress(
                rows_of_file(reports, read, progress=sys.stderr.isatty()),
                plan,
                names,
                feature=numbers,
                reference=left_out,
                **options,
            )
        fingerprint: Any = {name: kernel_fingerprint(kernel_of(plan[name])) for name in names}
    else:
        column = _single("--column", columns)
        designed = load_kernel(kernel)
        mechanism = kernel_of(designed)
        symbol = _single("--reference", reference, needed=False)
        with waiting("regressing", show=sys.stderr.isatty()):
            made = run_regress(
                rows_of_file(
                    reports, [str(column), response, *others], progress=sys.stderr.isatty()
                ),
                designed,
                column,
                feature=read_feature(_single("--feature", feature, needed=False), mechanism),
                reference=None if symbol is None else _symbol(symbol, mechanism),
                receipt=receipt,
                truth=None if truth is None else read_truth(truth),
                **options,
            )
        fingerprint = kernel_fingerprint(mechanism)
    if as_json:
        print_json(regression_json(made, fingerprint))
        return
    print_intervals(made)
    if made.note:
        note(made.note)


def _symbol(text: str, mechanism: Any) -> Any:
    """The input that a text names; the text itself where it is none."""
    book = Codebook(mechanism.inputs, "inputs of the mechanism", texts=True)
    place = book.place(text)
    return text if place == ABSENT else book.labels[place]


def _one_each(option: str, names: list[str]) -> list[str]:
    if len(set(names)) < len(names):
        raise InputError(
            option, expected="each column once", got="one of them twice", remedy="leave one out"
        )
    return names


def _single(option: str, given: list[str] | None, *, needed: bool = True) -> str | None:
    """What an option says that may be repeated for a plan only."""
    if len(given or []) > 1 or (needed and not given):
        raise InputError(
            option,
            expected="it once, for one privatised column",
            got=counted(len(given), "time") if given else "none",
            remedy="name one; the file of a plan takes several",
        )
    return given[0] if given else None


def _by_column(option: str, given: list[str] | None, plan: Any) -> dict[str, str]:
    """Texts of the form COLUMN=TEXT by columns of a plan."""
    found: dict[str, str] = {}
    for text in given or []:
        name = next((n for n in plan.names if text.startswith(f"{n}=")), None)
        if name is None or name in found:
            raise InputError(
                option,
                expected="COLUMN=… once for a column of the plan, " + listing(plan.names),
                got=quote(text),
                remedy=f"write for example {option} {plan.names[0]}=…",
            )
        found[name] = text[len(name) + 1 :]
    return found
