"""``mechdesign estimate-change``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..arguments import read_feature, read_truth
from ..progress import waiting
from ..release.codes import show_values as quote_values
from .estimate import LimitOptions
from .options import (
    AsJson,
    By,
    Confidence,
    Feature,
    Kernel,
    Misfit,
    ShowValues,
    TextForm,
    note,
    print_json,
)


def estimate_change(
    context: typer.Context,
    kernel: Kernel,
    first: Annotated[
        str, typer.Argument(metavar="FIRST", help="File of any kind of the first round.")
    ],
    second: Annotated[
        str, typer.Argument(metavar="SECOND", help="File of any kind of the second round.")
    ],
    column: Annotated[str, typer.Option(help="Column that holds the reports.")],
    person: Annotated[str, typer.Option(help="Column that says whom each report is of.")],
    second_kernel: Annotated[
        str | None,
        typer.Option(metavar="DESIGN", help="Design of the second round, where it is another."),
    ] = None,
    second_column: Annotated[
        str | None, typer.Option(help="Column of its reports, where it is another.")
    ] = None,
    second_person: Annotated[
        str | None, typer.Option(help="Column of its persons, where it is another.")
    ] = None,
    feature: Feature = None,
    by: By = "symbols",
    confidence: Confidence = 0.95,
    missing: Annotated[str, typer.Option(help="Missing reports: error or drop.")] = "error",
    first_receipt: Annotated[
        Path | None, typer.Option(help="File with the receipt of the first round.")
    ] = None,
    second_receipt: Annotated[
        Path | None, typer.Option(help="File with the receipt of the second round.")
    ] = None,
    misfit: Misfit = "error",
    truth: Annotated[
        str | None,
        typer.Option(help="Distribution at which the estimates are most exact, as --prior."),
    ] = None,
    show_values: ShowValues = False,
    as_json: AsJson = False,
    *,
    limits: LimitOptions,
    form: TextForm,
) -> None:
    """Estimate how the distribution of the secret changed between two rounds of reports.

    Reports of the same people depend on each other, which errors of the change take into account.
    """
    if show_values:
        context.with_resource(quote_values())
    from ..inference._estimate_rounds import estimate_change as run_change
    from ..kernel_files import is_plan_file, load_release
    from ..mechanism import mechanism_of
    from ..published import kernel_fingerprint
    from ..views.plain import change_json
    from ..views.text import print_intervals

    columns = [column, second_column or column]
    persons = [person, second_person or person]
    designs = []
    for path, name in zip((kernel, second_kernel or kernel), columns, strict=True):
        loaded = load_release(path)
        designs.append(loaded[name] if is_plan_file(path) else loaded)  # type: ignore[index]
    kernels = [mechanism_of(designed) for designed in designs]
    with waiting("estimating", show=sys.stderr.isatty()):
        made = run_change(
            form.reports(first),
            form.reports(second),
            designs,
            columns,
            person=persons,
            feature=read_feature(feature, kernels[0]),
            by=by,
            confidence=confidence,
            missing=missing,
            receipts=[first_receipt, second_receipt],
            misfit=misfit,
            truth=None if truth is None else read_truth(truth),
        )
    made = limits.of(made)
    if as_json:
        print_json(change_json(made, [kernel_fingerprint(kernel) for kernel in kernels]))
        return
    print_intervals(made)
    if made.note:
        note(made.note)
