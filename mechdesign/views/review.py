"""A design, or anybody's kernel, as a page for its reviewer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._audit import AuditReport, audit
from ..errors import PriorError
from ..exact import Verdict
from ..files import check_writable, write_text
from ..labels import parse_labels, short_names
from ..mechanism import Mechanism
from ..plotting._plot_binding import plot_binding
from ..plotting._plot_kernel import plot_kernel
from ..plotting._plot_leakage import plot_leakage
from ..plotting._plot_lifts import plot_lifts
from ..prior import Prior
from ..privacy.notion import PrivacyNotion, as_notions
from ..solve.designing import Design, agreement_lines
from ..solve.shadow_prices import Binding, binding, has_prices
from .facts import beliefs, disclosure_lines, implied_rows, told_lines, versions
from .rendering import Figures, check_pages, number, render, upward

# Kernels up to this size are shown in numbers too.
_TABLE = 12


def write_report(
    item: Any,
    path: str | Path,
    *,
    prior: Any = None,
    privacy: Any = None,
    title: str | None = None,
    overwrite: bool = False,
) -> None:
    """Write a self-contained HTML page about a design, or about anybody's kernel.

    It says what was designed, what that guarantees in words, shows the kernel and what reports do
    to beliefs, the certificate, the implied guarantees with their theorems, what would be
    disclosed, how it was solved, and the versions. The same input gives the same page.

    Parameters
    ----------
    item : Design, Mechanism or (N, M) array
        A kernel without a design needs a prior.
    path : file to write
    prior, privacy : as in :func:`mechdesign.audit`; a design brings its own
    title : heading of the page
    overwrite : replace a file that exists

    Raises
    ------
    StorageError
        When the file exists or cannot be written.
    PriorError, KernelError, LevelError
        As :func:`mechdesign.audit` does.
    MechdesignError
        When matplotlib or jinja2 are not installed.
    """
    check_writable(path, overwrite=overwrite)
    check_pages()
    write_text(report_page(item, prior, privacy, title), path, overwrite=overwrite)


def report_page(item: Any, prior: Any = None, privacy: Any = None, title: str | None = None) -> str:
    """The text of the page that :func:`write_report` writes."""
    design = item if isinstance(item, Design) else None
    if design is not None:
        prior = design.prior if prior is None else prior
        privacy = design.notions if privacy is None else privacy
        if prior != design.prior or as_notions(privacy) != design.notions:
            design = None  # the certificate speaks of another prior or other notions
    if prior is None:
        raise PriorError(
            "prior of a report",
            expected="a prior for the kernel's inputs",
            got="none",
            remedy="pass prior=[0.5, 0.3, 0.2], or a design, which brings its own",
        )
    kernel = item.mechanism if isinstance(item, Design) else item
    report = audit(kernel, prior, privacy)
    mechanism, known = report.mechanism, report.prior
    notions = tuple(check.notion for check in report.checks)
    held = tuple(c.notion for c in report.checks if c.verdict is Verdict.YES)
    implied, cited = implied_rows(held, known) if held else ([], [])
    figures = Figures()
    return render(
        "review.html.j2",
        title=title or _title(design, report),
        design=design,
        report=report,
        notions=notions,
        held=held,
        kernel=_kernel_rows(mechanism, known),
        beliefs=beliefs(mechanism, known),
        disclosed=disclosure_lines(mechanism, known),
        told=told_lines(mechanism),
        has_counts=len(set(known.weights)) > 1,
        leakages=_leakage_rows(report),
        implied=implied,
        cited=cited,
        agreement=[] if design is None else agreement_lines(design),
        prices=_prices(design),
        figures=_figures(figures, design, report, notions),
        versions=versions(),
        commands=_commands(design, known, notions),
    )


def _title(design: Design | None, report: AuditReport) -> str:
    n, m = report.mechanism.shape
    asked = ", ".join(str(check.notion) for check in report.checks)
    what = "Mechanism" if design is not None else "Kernel"
    return f"{what} with {n} inputs and {m} outputs" + (f": {asked}" if asked else "")


def _kernel_rows(mechanism: Mechanism, prior: Prior) -> dict[str, Any] | None:
    if max(mechanism.shape) > _TABLE:
        return None
    q = mechanism.output_distribution(prior)
    return {
        "outputs": short_names(mechanism.outputs, 24),
        "rows": [
            (name, prior.probabilities[i], mechanism.kernel[i].tolist())
            for i, name in enumerate(short_names(mechanism.inputs, 40))
        ],
        "last": q.tolist(),
    }


def _leakage_rows(report: AuditReport) -> list[tuple[str, str, str, str]]:
    rows = []
    outputs = report.mechanism.outputs
    shown = dict(zip(outputs, short_names(outputs, 40), strict=True))
    for _, leakage, field, worst in report.entries():
        name = type(leakage.notion).__name__
        label = name if len(leakage.levels) == 1 else f"{name} {field}"
        rows.append((label, upward(worst.level), shown[worst.output], worst.about))
    rows += [(name, number(level), "(average)", "") for name, level in report.averages.items()]
    return rows


def _prices(design: Design | None) -> Binding | None:
    """What binds, where that is known."""
    return None if design is None or not has_prices(design) else binding(design)


def _figures(
    figures: Figures,
    design: Design | None,
    report: AuditReport,
    notions: tuple[PrivacyNotion, ...],
) -> dict[str, str]:
    mechanism, prior = report.mechanism, report.prior
    asked = list(notions) or None
    found = {
        "kernel": figures.inline(
            plot_kernel(mechanism, prior), "Heat map of the kernel, inputs down, reports across"
        ),
        "lifts": figures.inline(
            plot_lifts(mechanism, prior, asked),
            "What each report does to the belief in each value, with the bounds",
        ),
        "leakage": figures.inline(plot_leakage(report), "Leakage of each report under each notion"),
    }
    prices = _prices(design)
    if prices is not None and prices.constraints:
        found["binding"] = figures.inline(
            plot_binding(prices), "The constraints that bind, by their price"
        )
    return found


def _commands(design: Design | None, prior: Prior, notions: tuple[PrivacyNotion, ...]) -> list[str]:
    """How to check the file again, and to design it again where a command line can say so."""
    lines = ["mechdesign audit design.json      # proves privacy, value and bound again"]
    simple = all(len(n.needs) == len(n.written) for n in notions)
    known = design is not None and design.utility.spec in ("hamming",)
    masses = ",".join(
        f"{label}={float(p)!r}" for label, p in zip(prior.labels, prior.probabilities, strict=True)
    )
    texts = [str(label) for label in prior.labels]
    readable = parse_labels(texts) == list(prior.labels) and not any(
        c in text for text in texts for c in ",='\"\\ "
    )
    if known and simple and len(prior) <= _TABLE and readable and all(texts):
        asked = " ".join(f"--privacy {n.spec}" for n in notions)
        lines.append(f"mechdesign design --prior '{masses}' {asked} --output design.json")
    return lines
