"""``mechdesign audit``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ..arguments import align_prior, read_prior
from ..errors import InputError
from .options import NOT_MET, AsJson, Column, Missing, PriorText, Privacy, Weights, print_json


def audit(
    kernel: Annotated[
        str, typer.Argument(help="A saved design, or a kernel as CSV with labels or as JSON rows.")
    ],
    table: Annotated[
        str | None, typer.Option("--data", help="CSV file or shipped table for the prior.")
    ] = None,
    column: Column = None,
    weights: Weights = None,
    missing: Missing = "error",
    prior: PriorText = None,
    privacy: Privacy = None,
    normalise: Annotated[
        bool, typer.Option("--normalise", help="Accept rows that do not sum to one, and divide.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say what a kernel leaks under every notion, and whether it meets asked levels.

    A saved design brings its own prior and notions; --privacy asks for others.
    """
    from .. import reporting
    from ..auditing import audit as run_audit
    from ..privacy.notion import parse_notion
    from ..solve.designing import Design
    from ..storage import load_kernel

    notions: Sequence[Any] = [parse_notion(spec) for spec in privacy or []]
    given = None
    if any(option is not None for option in (table, column, prior)):
        given = read_prior(table, column, weights, missing, prior)
    item = load_kernel(kernel, normalise=normalise)
    mechanism = item.mechanism if isinstance(item, Design) else item
    if isinstance(item, Design):
        given = given or item.prior
        notions = notions or item.notions
    if given is None:
        raise InputError(
            "prior",
            expected="a prior for the kernel's inputs",
            got="none",
            remedy="add --prior 0.5,0.3,0.2 or --data TABLE --column COLUMN",
        )
    given = align_prior(given, mechanism.inputs, named=prior is None or "=" in prior)
    report = run_audit(mechanism, given, list(notions) or None)
    if as_json:
        print_json(reporting.audit_json(report))
    else:
        reporting.print_audit(report)
    if report.verdict is not None and str(report.verdict) != "yes":
        raise typer.Exit(NOT_MET)
