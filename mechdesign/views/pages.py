"""Pages in one HTML file: a comparison, and a design or a kernel for its reviewer."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from .._audit import AuditReport, audit
from ..certificate.certificate import gap_text
from ..errors import MechdesignError, PriorError, quote, visible_lines
from ..exact import Verdict
from ..extras import brought_by
from ..files import check_writable, write_text
from ..inference.planning import NOT_SHOWN, REPORTS, Plan, errors_to_show
from ..labels import counted, parse_labels, told_of_sets
from ..mechanism import Mechanism
from ..plotting._plot_binding import plot_binding
from ..plotting._plot_estimate import plot_estimate
from ..plotting._plot_kernel import plot_kernel
from ..plotting._plot_leakage import plot_leakage
from ..plotting._plot_lifts import plot_lifts
from ..plotting.style import figure_of, load_pyplot, save_figure
from ..prior import Prior
from ..privacy.differential import LDP
from ..privacy.notion import LikelihoodBound, PrivacyNotion, as_notions, is_ours
from ..privacy.pointwise import ALIP, LIP, PMC, PML
from ..release._identifiability import identifiability
from ..requirement.base import as_requirements
from ..solve._design import Design, agreement_lines
from ..solve.sensitivity import Binding, binding, has_prices
from ..theory.conversions import implications
from ..theory.disclosure import compatible_symbols
from ..theory.rules import RULES
from ..theory.tight import tight_conversion
from . import tables
from .html import Html, html_table, number, upward

if TYPE_CHECKING:
    from .._compare.comparison import Comparison

# Kernels up to this size are shown in numbers too.
_TABLE = 12
# Smallest implied levels are computed for priors up to this size, and shown where they are that
# near to what a mechanism has.
_FEW, _NEAR = 10, 1e-6
_HEADER = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_NAMES = re.compile(r'(id="|href="#|url\(#)')


def write_report(
    item: Any,
    path: str | Path,
    *,
    prior: Any = None,
    privacy: Any = None,
    requirements: Any = None,
    reports: int = REPORTS,
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
    prior, privacy, requirements : as in :func:`mechdesign.audit`; a design brings its own
    reports : number of reports that standard errors are shown for
    title : heading of the page
    overwrite : replace a file that exists

    Raises
    ------
    StorageError
        When the file exists or cannot be written.
    PriorError, KernelError, LevelError, RequirementError
        As :func:`mechdesign.audit` does.
    MechdesignError
        When matplotlib or jinja2 are not installed.
    """
    check_writable(path, overwrite=overwrite)
    check_pages()
    text = report_page(item, prior, privacy, title, requirements, reports)
    write_text(text, path, overwrite=overwrite)


def report_page(
    designed: Any,
    prior: Any = None,
    privacy: Any = None,
    title: str | None = None,
    requirements: Any = None,
    reports: int = REPORTS,
) -> str:
    """The text of the page that :func:`write_report` writes."""
    design = designed if isinstance(designed, Design) else None
    if design is not None:
        prior = design.prior if prior is None else prior
        privacy = design.notions if privacy is None else privacy
        requirements = design.requirements if requirements is None else requirements
        asked = as_notions(privacy), as_requirements(requirements)
        if prior != design.prior or asked != (design.notions, design.requirements):
            design = None  # the certificate speaks of another prior or of other things asked
    if prior is None:
        raise PriorError(
            "prior of a report",
            expected="a prior for the kernel's inputs",
            got="none",
            remedy="pass prior=[0.5, 0.3, 0.2], or a design, which brings its own",
        )
    kernel = designed.mechanism if isinstance(designed, Design) else designed
    report = audit(kernel, prior, privacy, requirements)
    mechanism, known = report.mechanism, report.prior
    notions = tuple(check.notion for check in report.checks)
    held = tuple(c.notion for c in report.checks if c.verdict is Verdict.YES)
    prices = binding(design) if design is not None and has_prices(design) else None
    few = max(mechanism.shape) <= _TABLE
    planned = errors_to_show(designed if design is not None else mechanism, known, reports)
    implied, cited = implied_of(held, known) if held else (None, [])
    return render(
        "review.html.j2",
        title=title or _title(design, report),
        design=design,
        report=report,
        notions=notions,
        held=held,
        beliefs=html_table(tables.belief_table(mechanism, known, tables.MOST_ROWS)),
        sets=told_of_sets(mechanism.inputs, mechanism.outputs),
        kernel=html_table(tables.kernel_table(mechanism, known)) if few else "",
        leakage=html_table(tables.leakage_table(report)),
        checks=html_table(tables.check_table(report.checks, report.kept))
        if report.checks or report.kept
        else "",
        certificate="" if design is None else html_table(tables.certificate_table(design)),
        versions=html_table(tables.version_table()),
        disclosed=disclosure_lines(mechanism, known),
        estimable=estimable_lines(mechanism if design is None else design),
        planned=planned,
        not_planned=NOT_SHOWN,
        expected=""
        if planned is None
        else html_table(tables.error_table(planned, tables.MOST_ROWS)),
        has_counts=len(set(known.weights)) > 1,
        implied="" if implied is None else html_table(implied),
        has_smallest=implied is not None and any(row["smallest"] for row in implied.records()),
        cited=cited,
        agreement=[] if design is None else agreement_lines(design),
        prices=prices,
        priced=html_table(tables.price_table(prices))
        if prices is not None and prices.limits
        else "",
        figures=_figures(report, prices, planned),
        commands=_commands(design, known, notions),
    )


def comparison_page(found: Comparison, title: str = "Comparison of privacy notions") -> str:
    """One self-contained HTML page: verdict, picture, table of certificates.

    Raises :class:`MechdesignError` when matplotlib or jinja2 are not installed.
    """
    from .._compare.comparison import MATCHED_BY
    from ..plotting._plot_frontiers import plot_frontiers

    figures = Figures()
    label = f"Frontiers of {', '.join(found.notions)}; the numbers are in the tables below"
    more = []
    picture = figures.inline(plot_frontiers(found), label)
    if found.match == "loss":
        about = "Mutual information of the designs"
        axes = plot_frontiers(found, quantity="mutual_information")
        more.append((about, figures.inline(axes, about)))
    return render(
        "comparison.html.j2",
        title=title,
        found=found,
        matched_by=MATCHED_BY[found.match],
        picture=picture,
        more=more,
        priors=[
            (name, html_table(tables.prior_table(prior, tables.MOST_ROWS)))
            for name, prior in found.priors.items()
        ],
        panels=[html_table(tables.point_table(found, *panel)) for panel in found.panels],
    )


# What a report says of a design or a kernel


def _title(design: Design | None, report: AuditReport) -> str:
    n, m = report.mechanism.shape
    asked = ", ".join(str(check.notion) for check in report.checks)
    what = "Mechanism" if design is not None else "Kernel"
    return f"{what} with {counted(n, 'input')} and {counted(m, 'output')}" + (
        f": {asked}" if asked else ""
    )


def disclosure_lines(mechanism: Mechanism, prior: Prior) -> list[str]:
    """What reports tell for certain, in sentences."""
    left = compatible_symbols(mechanism, prior)
    size = len(prior.support)
    if size == 1:
        return ["The secret has one possible value, so there is nothing left to tell."]
    certain = [label for label, symbols in left.items() if len(symbols) == 1]
    partial = {label: s for label, s in left.items() if 1 < len(s) < size}
    lines = []
    if certain:
        shown = _listed(
            f"{quote(label)} (only {quote(left[label][0])} is possible)" for label in certain
        )
        lines.append(f"{len(certain)} of {len(left)} reports reveal the secret: {shown}.")
    else:
        lines.append("No report reveals the secret: at least two values stay possible.")
    if partial:
        shown = _listed(
            f"{quote(label)} leaves {len(s)} of {size} values" for label, s in partial.items()
        )
        lines.append(f"Some reports rule values out: {shown}.")
    if not certain and not partial:
        lines.append(
            "No report rules out any value, so nothing about the secret that was uncertain is ever "
            "told for certain."
        )
    elif partial or certain:
        lines.append(
            "A yes-or-no question about the secret is told for certain when a report leaves only "
            "values with one answer to it."
        )
    return lines


def estimable_lines(mechanism: Mechanism | Design) -> list[str]:
    """What can be estimated from reports, however many there are, in sentences."""
    found = identifiability(mechanism)
    size = len(found.symbols)
    if size == 1:
        return ["The secret has one possible value, so there is nothing to estimate."]
    if found.is_complete:
        return [f"Reports tell the {size} values apart: the share of each can be estimated."]
    return [f"{found.advice[0].upper()}{found.advice[1:]}."]


def _listed(parts: Iterable[str], most: int = 6) -> str:
    shown = list(parts)
    more = f", and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more


def implied_of(
    notions: Sequence[PrivacyNotion], prior: Prior
) -> tuple[tables.Table, list[tuple[str, str, str]]]:
    """Implied guarantees, and the results they rest on: identifier, statement, source."""
    found = implications(list(notions), prior).found
    used = {step.id: step.source for entry in found for step in entry.derivation}
    cited = [
        (name, RULES[name].statement, source or "derived in this project")
        for name, source in used.items()
    ]
    return tables.implied_table(found, 6, _smallest(notions, prior)), cited


def _smallest(notions: Sequence[PrivacyNotion], prior: Prior) -> dict[str, str]:
    """The least levels of the usual notions that hold for every kernel with these, if soon found.

    Each is proved to hold, and a mechanism attains it within :data:`_NEAR`.
    """
    if len(prior) > _FEW or not all(isinstance(notion, LikelihoodBound) for notion in notions):
        return {}
    found = {}
    for target in (PML, PMC, LIP, ALIP, LDP):
        try:
            tight = tight_conversion(list(notions), target, prior)
        except MechdesignError:
            continue  # the published level stands
        if tight.gap <= _NEAR:
            found[target.__name__] = tables.shown_levels(tight.target.levels, 6)
    return found


def _figures(report: AuditReport, prices: Binding | None, planned: Plan | None) -> dict[str, Html]:
    figures = Figures()
    mechanism, prior = report.mechanism, report.prior
    asked = [check.notion for check in report.checks] or None
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
    if planned is not None:
        found["expected"] = figures.inline(
            plot_estimate(planned), "Intervals that estimates will have, before any is made"
        )
    if prices is not None:
        found["binding"] = figures.inline(
            plot_binding(prices), "The constraints that bind, by their price"
        )
    return found


def _commands(design: Design | None, prior: Prior, notions: tuple[PrivacyNotion, ...]) -> list[str]:
    """How to check the file again, and to design it again where a command line can say so."""
    lines = ["mechdesign check design.json      # proves privacy, value and bound again"]
    simple = all(len(n.needs) == len(n.written) and is_ours(type(n)) for n in notions)
    known = design is not None and design.utility.spec in ("hamming",)
    known = known and design is not None and not design.requirements
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


# Templates and figures


def render(template: str, **values: Any) -> str:
    """A page from a template of this folder; raises :class:`MechdesignError` without jinja2.

    The same values give the same text: no dates, no random names.
    """
    jinja2 = _load_jinja()
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("mechdesign.views"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_seen,
    )
    environment.filters["number"] = number
    environment.filters["upward"] = upward
    environment.filters["gap"] = gap_text
    return str(environment.get_template(template).render(version=__version__, **values))


def _seen(value: Any) -> Any:
    """Text with what cannot be seen as escape codes, so that no label reorders a page.

    Pictures and other markup of our own stay as they are; lines stay lines.
    """
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return visible_lines(value)
    return value


def check_pages() -> None:
    """Raise :class:`MechdesignError` before any work when a library that pages need is missing."""
    _load_jinja()
    load_pyplot()


def _load_jinja() -> Any:
    with brought_by("web"):
        import jinja2
    return jinja2


class Figures:
    """Figures of one page as inline SVG, each with names of its own."""

    def __init__(self) -> None:
        self._count = 0

    def inline(self, axes: Any, label: str) -> Html:
        """The figure that axes belong to, closed afterwards; ``label`` says what it shows."""
        figure = figure_of(axes)
        buffer = io.BytesIO()
        save_figure(figure, buffer)
        load_pyplot().close(figure)
        self._count += 1
        text = _HEADER.sub("", buffer.getvalue().decode())
        text = _NAMES.sub(rf"\g<1>f{self._count}-", text)
        shown = f'<svg role="img" aria-label="{html.escape(label)}"'
        return Html(text.replace("<svg", shown, 1))
