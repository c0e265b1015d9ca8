"""``mechdesign audit``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from ..errors import InputError
from ..progress import waiting
from .exit_codes import NOT_MET
from .options import (
    AsJson,
    KernelSource,
    Require,
    print_json,
)

if TYPE_CHECKING:
    from ..subsets import SubsetSelection


def audit(
    source: KernelSource,
    require: Require = None,
    as_json: AsJson = False,
) -> None:
    """Say what a kernel leaks under every notion, and whether it meets what is asked.

    A saved design brings its own prior, notions and requirements; --privacy and --require ask for
    others. Levels are exact and rounded up, with --json to the next double; leakages of single
    outputs and mutual information are computed in doubles, of which --json shows all digits.

    Exit codes: 0 all that is asked is proved, or nothing is asked, whatever the levels are; 1
    something is not met or undecided; 2 the input cannot be used.
    """
    from .._audit import audit as run_audit
    from ..mechanism import warn_of_disclosure
    from ..views.plain import audit_json
    from ..views.text import print_audit

    selection = source.read_subset_selection()
    if selection is not None:
        _audit_subsets(selection, source, require, as_json=as_json)
        return
    asked = source.read_kernel(any_prior=True)
    required = asked.read_required(require)
    with waiting("auditing", show=sys.stderr.isatty()):
        report = run_audit(asked.mechanism, asked.prior, list(asked.notions) or None, required)
    warn_of_disclosure(report.mechanism, report.prior)
    if as_json:
        print_json(audit_json(report))
    else:
        print_audit(report)
    if report.verdict is not None and str(report.verdict) != "yes":
        raise typer.Exit(NOT_MET)


def _audit_subsets(
    selection: SubsetSelection, source: KernelSource, require: list[str] | None, *, as_json: bool
) -> None:
    """The levels of a subset selection, under the masses that it was made for."""
    from ..views.plain import subset_checks_json
    from ..views.text import print_subset_checks

    if require or any(v is not None for v in (source.table, source.column, source.prior)):
        raise InputError(
            "audit of a subset selection",
            expected="no prior and no --require: its file says which masses it was made for",
            got="one of them",
            remedy="leave them out",
        )
    asked = source.notions or [check.notion for check in selection.certificate.checks]
    checks = [selection.check(notion) for notion in asked]
    if as_json:
        print_json(subset_checks_json(selection, checks))
    else:
        print_subset_checks(selection, checks)
    if not all(str(check.verdict) == "yes" for check in checks):
        raise typer.Exit(NOT_MET)
