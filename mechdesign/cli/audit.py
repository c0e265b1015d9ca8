"""``mechdesign audit``."""

from __future__ import annotations

import typer

from .options import (
    NOT_MET,
    AsJson,
    KernelSource,
    Require,
    print_json,
)


def audit(
    source: KernelSource,
    require: Require = None,
    as_json: AsJson = False,
) -> None:
    """Say what a kernel leaks under every notion, and whether it meets what is asked.

    A saved design brings its own prior, notions and requirements; --privacy and --require ask for
    others.
    """
    from .._audit import audit as run_audit
    from ..views.plain import audit_json
    from ..views.text import print_audit

    asked = source.read_kernel(any_prior=True)
    required = asked.read_required(require)
    report = run_audit(asked.mechanism, asked.prior, list(asked.notions) or None, required)
    if as_json:
        print_json(audit_json(report))
    else:
        print_audit(report)
    if report.verdict is not None and str(report.verdict) != "yes":
        raise typer.Exit(NOT_MET)
