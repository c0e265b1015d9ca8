"""``mechdesign audit``."""

from __future__ import annotations

import typer

from .options import (
    NOT_MET,
    AsJson,
    KernelSource,
    print_json,
)


def audit(
    source: KernelSource,
    as_json: AsJson = False,
) -> None:
    """Say what a kernel leaks under every notion, and whether it meets asked levels.

    A saved design brings its own prior and notions; --privacy asks for others.
    """
    from .._audit import audit as run_audit
    from ..views.plain import audit_json
    from ..views.text import print_audit

    asked = source.read_kernel(any_prior=True)
    report = run_audit(asked.mechanism, asked.prior, list(asked.notions) or None)
    if as_json:
        print_json(audit_json(report))
    else:
        print_audit(report)
    if report.verdict is not None and str(report.verdict) != "yes":
        raise typer.Exit(NOT_MET)
