"""``mechdesign audit``."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ..progress import waiting
from .exit_codes import NOT_MET
from .options import (
    AsJson,
    Force,
    KernelSource,
    Require,
    TableFile,
    expect_table,
    refuse,
    refuse_typed,
    save_table,
)
from .output import print_json
from .samples import SampleOptions

if TYPE_CHECKING:
    from ..subsets import SubsetSelection


@dataclass(frozen=True, kw_only=True)
class AuditSource(KernelSource):
    """The same, or nothing where a mechanism is called."""

    kernel: Annotated[
        Any,
        typer.Argument(
            help="A saved design, or a kernel as CSV with labels or as JSON rows; with --reported "
            "a table of any kind with inputs and reports."
        ),
    ] = None


def audit(
    context: typer.Context,
    source: AuditSource,
    samples: SampleOptions,
    require: Require = None,
    output: TableFile = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Say what a kernel leaks, and whether it keeps what is asked.

    A saved design brings its own prior, notions and requirements; --privacy and --require ask for
    others. Levels are exact and rounded up, with --json to the next double; leakages of single
    outputs and mutual information are computed in doubles, of which --json shows all digits.

    With --reported, KERNEL is a table of inputs (--column) and reports, and with --mechanism a
    function is called: claims are judged from samples alone, with confidence limits that hold all
    at once: violated, consistent, or cannot tell. Name all outcomes with --outputs, as without them
    no claim can be consistent.

    Exit codes: 0 all that is asked is proved or consistent, or nothing is asked, whatever the
    levels are; 1 something is not met or undecided; 2 the input cannot be used.
    """
    expect_table(output, force=force)
    shown = _Shown(output, as_json, force)
    if samples.are_given:
        others = ("require", "normalise", "table", "weights", "bins", "bins_from", "max_symbols")
        refuse_typed(context, others, "where samples are judged")
        is_met = samples.judge(source, as_json=as_json, output=output, force=force)
    else:
        names = [field.name for field in fields(samples)]
        refuse_typed(context, names, "without --reported or --mechanism, as it is about samples")
        if not source.kernel:
            refuse("audit", "a KERNEL, or --mechanism", "neither", "name a file or a function")
        selection = source.read_subset_selection()
        if selection is not None:
            is_met = _audit_subsets(selection, source, require, shown)
        else:
            is_met = _audit_kernel(source, require, shown)
    if not is_met:
        raise typer.Exit(NOT_MET)


class _Shown(NamedTuple):
    """How levels are shown: as text or JSON, and in a file."""

    output: Path | None
    as_json: bool
    force: bool


def _audit_kernel(source: KernelSource, require: list[str] | None, shown: _Shown) -> bool:
    from .._audit import audit as run_audit
    from ..mechanism import warn_of_disclosure
    from ..views.plain import audit_json
    from ..views.tables import leakage_table
    from ..views.text import print_audit

    asked = source.read_kernel(any_prior=True)
    required = asked.read_required(require)
    with waiting("auditing", show=sys.stderr.isatty()):
        report = run_audit(asked.mechanism, asked.prior, list(asked.notions) or None, required)
    warn_of_disclosure(report.mechanism, report.prior)
    if shown.output is not None:
        save_table(leakage_table(report), shown.output, force=shown.force)
    if shown.as_json:
        print_json(audit_json(report))
    else:
        print_audit(report)
    return report.verdict is None or str(report.verdict) == "yes"


def _audit_subsets(
    selection: SubsetSelection, source: KernelSource, require: list[str] | None, shown: _Shown
) -> bool:
    """The levels of a subset selection, under the masses that it was made for."""
    from ..views.plain import subset_checks_json
    from ..views.tables import subset_checks_table
    from ..views.text import print_subset_checks

    if require or any(v is not None for v in (source.table, source.column, source.prior)):
        refuse(
            "audit of a subset selection",
            "no prior and no --require: its file says which masses it was made for",
            "one of them",
            "leave them out",
        )
    asked = source.notions or [check.notion for check in selection.certificate.checks]
    checks = [selection.check(notion) for notion in asked]
    if shown.output is not None:
        save_table(subset_checks_table(checks), shown.output, force=shown.force)
    if shown.as_json:
        print_json(subset_checks_json(selection, checks))
    else:
        print_subset_checks(selection, checks)
    return all(str(check.verdict) == "yes" for check in checks)
