"""Results as text and HTML: tables with captions and headers, lists, sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

import mechdesign as md

from ..views import tables
from ..views.html import escape, html_table, number
from ..views.tables import Table
from .results import Alternative, Curve, Result

#: More outputs than this are numbered and shown with fewer digits.
MANY = 8
#: What the risk of estimates is, in short.
RISK = "squared error × reports"
_HIDDEN = "unseen"  # class of what only a screen reader reads


def kernel_table(result: Result) -> str:
    """P(output | input) with the prior beside it and the distribution of the outputs below.

    Among many outputs those that never occur are left out and named below the table.
    """
    table = tables.kernel_table(result.design.mechanism, result.report.prior, most=MANY)
    many = sum(column.head.kind == "label" for column in table.columns) > MANY
    return html_table(
        table,
        classes="kernel many" if many else "kernel",
        caption=_HIDDEN,
        shaded=True,
        numbered=many,
        digits=3 if many else 4,
    )


def leakage_table(result: Result) -> str:
    """Achieved levels with the outcome and the pair of hypotheses that decide each."""
    return _plain(tables.leakage_table(result.report))


def certificate_table(result: Result) -> str:
    """Value, bound, gap, the exact verdicts, and where they come from."""
    return _plain(tables.certificate_table(result.design))


def lifts_table(result: Result) -> str:
    """The log of P(x|y)/P(x) of each input and each outcome that occurs, in nats."""
    mechanism, prior = result.design.mechanism, result.report.prior
    used = np.flatnonzero(mechanism.output_distribution(prior) > 0)
    density = mechanism.information_density(prior)[:, used]
    heads = (tables.column(f"output.{j}", str(mechanism.outputs[j])) for j in used)
    rows = [
        (tables.text(label), *(_nats(value) for value in row.tolist()))
        for label, row in zip(mechanism.inputs, density, strict=True)
    ]
    title = "Log of posterior over prior, in nats"
    return _plain(Table(title, (tables.column("input"), *heads), tuple(rows)))


def _nats(value: float) -> tables.Cell:
    if math.isinf(value):
        return tables.text("ruled out")
    return tables.number(round(value, 4) + 0.0, 4)


def frontier_table(curves: Sequence[Curve]) -> str:
    """The best utility of each notion by level."""
    levels = sorted({point.level for curve in curves for point in curve.points})
    values = [{point.level: point.value for point in curve.points} for curve in curves]
    rows = [
        (tables.number(level), *(tables.number(known.get(level)) for known in values))
        for level in levels
    ]
    heads = (tables.column(curve.notion.name, curve.label) for curve in curves)
    title = "Best utility that each notion allows, by level"
    asks = next((curve.asks for curve in curves if curve.asks), "")
    if asks:
        title = f"Least {RISK} for {asks} that each notion allows, by level"
    return _plain(Table(title, (tables.column("level", "level in nats"), *heads), tuple(rows)))


def _plain(table: Table) -> str:
    return html_table(table, classes="plain", caption=_HIDDEN)


def implied_list(entries: Iterable[md.theory.Implication]) -> str:
    """What follows with a finite level, in words, each with the results it rests on."""
    list_items = []
    for entry in entries:
        if math.inf in entry.levels:
            continue
        ids = dict.fromkeys(step.id for step in entry.derivation) or ("asked",)
        sources = "".join(f' <span class="source">{escape(i)}</span>' for i in ids)
        list_items.append(f"<li>{_name(entry)}{sources}<br>{escape(implied_sentence(entry))}</li>")
    return f'<ul class="implied">{"".join(list_items)}</ul>'


def unknown_list(entries: Iterable[md.theory.Implication]) -> str:
    """What does not follow with a finite level, and why."""
    list_items = [
        f"<li>{_name(entry)} {escape(implied_sentence(entry))}</li>"
        for entry in entries
        if math.inf in entry.levels
    ]
    return (
        f'<ul class="implied open">{"".join(list_items)}</ul>'
        if list_items
        else "<p>Nothing is left.</p>"
    )


def _name(entry: md.theory.Implication) -> str:
    return f"<strong>{escape(f'{entry.name}({tables.shown_levels(entry.levels, 5)})')}</strong>"


def implied_sentence(entry: md.theory.Implication) -> str:
    """What an implied guarantee promises, or why there is none."""
    if math.inf in entry.levels:
        is_half = any(level < math.inf for level in entry.levels)
        start = "Only one of the two levels is finite" if is_half else "Nothing finite follows"
        return f"{start}: {entry.reason}."
    if not any(entry.levels):
        return "The mechanism is uninformative: its output does not depend on the secret."
    assert entry.notion is not None  # what is implied with a level is a registered notion
    return entry.notion.description


def statement_list(statements: Mapping[str, str]) -> str:
    """The published results that the implications rest on, each with what it says."""
    list_items = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in statements.items()
    )
    return f'<dl class="results-named">{list_items}</dl>'


def alternative_list(alternatives: Sequence[Alternative], result: Result) -> str:
    """What the alternatives allow at their levels, against the value of the design."""
    list_items = []
    value, is_risk = result.settings.shown(result.design.value), result.settings.shows_risk
    for found in alternatives:
        name = f"<strong>{escape(found.notion.notion)}</strong>"
        if found.problem:
            list_items.append(f"<li>{name}: {escape(found.problem)}</li>")
            continue
        difference = found.value - value
        against = "as much as the design"
        differs = abs(difference) > 1e-9 * max(1.0, abs(value))
        if is_risk:
            against = "as many reports as the design"
            if differs and value > 0:
                against = f"{number(found.value / value, 3)} times the reports of the design"
            list_items.append(f"<li>{name}: {number(found.value)}, {against}.</li>")
            continue
        if differs:
            sign = "more" if difference > 0 else "less"
            against = f"{number(abs(difference), 4)} {sign} than the design"
        list_items.append(f"<li>{name} allows {number(found.value)}, {against}.</li>")
    if not list_items:
        return ""
    about = ""
    if is_risk:
        text = f"{RISK[0].upper()}{RISK[1:]}, for {result.settings.question}:"
        about = f'<p class="alternatives-of">{escape(text)}</p>'
    return f'{about}<ul class="alternatives">{"".join(list_items)}</ul>'


def tiles(result: Result) -> str:
    """The numbers to look at first."""
    report, certificate = result.report, result.design.certificate
    gap = number(certificate.gap, 2) if certificate.gap_is_known else "unknown"
    state = "optimal" if certificate.is_optimal else "refining"
    checks = ", ".join(f"{check.notion}: {check.verdict}" for check in certificate.checks)
    before, after = report.prior_vulnerability, report.posterior_vulnerability
    settings, meaning = result.settings, result.settings.meaning
    value, bound = (settings.shown(v) for v in (certificate.value, certificate.bound))
    cells: tuple[tuple[str, str, str], ...] = (
        ("Value", number(value), meaning),
        ("Upper bound", number(bound), f"gap {gap}: {state}"),
    )
    if settings.shows_risk:
        error = settings.error
        people = result.design.reports_for(error)
        about = f"for a root mean squared error of {number(error)} of {settings.question}"
        cells = (
            ("Reports needed", f"{people:,}", about),
            ("Risk", number(value), meaning),
            ("No kernel below", number(bound), f"gap {gap}: {state}"),
        )
    cells = (
        *cells,
        ("Exact check", "private", checks),
        (
            "Guessing right",
            f"{100 * before:.3g}% → {100 * after:.3g}%",
            "without and with the output",
        ),
    )
    list_items = "".join(
        f"<div><dt>{escape(name)}</dt><dd><b>{escape(shown)}</b><span>{escape(about)}</span></dd></div>"
        for name, shown, about in cells
    )
    return f'<dl class="tiles">{list_items}</dl>'


def summary(result: Result) -> str:
    """A design in one sentence."""
    design = result.design
    notions = " and ".join(str(notion) for notion in design.notions)
    proof = (
        "proved optimal"
        if design.certificate.is_optimal
        else f"at {'least' if result.settings.shows_risk else 'most'} "
        f"{number(result.settings.shown(design.bound))} is possible"
    )
    value = result.settings.shown(design.value)
    return f"{notions}: {number(value)} {result.settings.meaning}, {proof}."
