"""Results as HTML that a screen reader can read: tables with captions and headers, lists, text."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

import numpy as np

from .._audit import AuditReport
from ..errors import visible_lines
from ..labels import listing, shorten
from ..solve._design import Design
from ..theory.conversions import Implication
from ..theory.rules import STATEMENTS
from . import words
from .answering import Answer
from .frontiers import Curve, Rival

# Cells are shaded towards this colour, but never so far that dark text is hard to read on them.
_SHADE = (0, 114, 178)
_DARKEST = 0.62
#: More columns than this are numbered and shown with fewer digits.
MANY = 8


def escape(text: object) -> str:
    """Text for HTML, with what cannot be seen as escape codes."""
    return html.escape(visible_lines(str(text)))


def kernel_table(answer: Answer) -> str:
    """P(output | input) with the prior beside it and the outcomes' probabilities below.

    Among many outputs those that never occur are left out and named below the table.
    """
    mechanism, prior = answer.found.mechanism, answer.report.prior
    q = mechanism.output_distribution(prior)
    idle = np.flatnonzero(q == 0) if len(q) > MANY else np.array([], dtype=int)
    shown = [j for j in range(len(q)) if j not in set(idle.tolist())]
    many = len(shown) > MANY
    digits = 3 if many else 4
    head = "".join(
        _head(mechanism.outputs[j], k + 1 if many else 0, q[j] == 0) for k, j in enumerate(shown)
    )
    rows = []
    for i, label in enumerate(mechanism.inputs):
        cells = "".join(_cell(mechanism.kernel[i, j], digits) for j in shown)
        rows.append(
            f'<tr><th scope="row" title="{escape(label)}"><span>{escape(label)}</span></th>'
            f'<td class="mass">{_short(prior.probabilities[i], digits)}</td>{cells}</tr>'
        )
    foot = "".join(f"<td>{_short(q[j], digits)}</td>" for j in shown)
    rest = ""
    if idle.size:
        names = listing([mechanism.outputs[j] for j in idle], 8)
        rest = f'<p class="hint">Never reported: {escape(names)}.</p>'
    return (
        f'<table class="kernel{" many" if many else ""}"><caption class="unseen">Probability of '
        "each output (columns) given each input (rows)</caption>"
        f'<thead><tr><th scope="col">input</th><th scope="col" class="mass">prior</th>{head}</tr>'
        f"</thead><tbody>{''.join(rows)}</tbody>"
        f'<tfoot><tr><th scope="row">output</th><td></td>{foot}</tr></tfoot></table>{rest}'
    )


def _head(label: object, number: int, idle: bool) -> str:
    """A column's name, under a number where there are many."""
    above = f"<small>{number}</small> " if number else ""
    return (
        f'<th scope="col" class="{"idle" if idle else ""}" title="{escape(label)}">{above}'
        f"<span>{escape(label)}</span></th>"
    )


def _cell(value: float, digits: int) -> str:
    part = _DARKEST * value
    red, green, blue = (round(255 + (c - 255) * part) for c in _SHADE)
    return (
        f'<td style="background:rgb({red},{green},{blue})" title="{value:.12g}">'
        f"{_short(value, digits)}</td>"
    )


def _short(value: float, digits: int) -> str:
    """A probability: plain 0 and 1, and never 0.000 or 1.000 for what is neither."""
    if value in (0, 1):
        return f"{value:.0f}"
    least = 10.0**-digits
    if value < least / 2:
        return f"&lt;{least:.{digits}f}"
    if value > 1 - least / 2:
        return f"&gt;{1 - least:.{digits}f}"
    return f"{value:.{digits}f}"


def lifts_table(answer: Answer) -> str:
    """The log of P(x|y)/P(x) of each input and each outcome that occurs, in nats."""
    mechanism, prior = answer.found.mechanism, answer.report.prior
    used = np.flatnonzero(mechanism.output_distribution(prior) > 0)
    density = mechanism.information_density(prior)
    head = [str(mechanism.outputs[j]) for j in used]
    rows = [
        [str(label), *(_nats(density[i, j]) for j in used)]
        for i, label in enumerate(mechanism.inputs)
    ]
    return _table("Log of posterior over prior, in nats", ["input", *head], rows)


def _nats(value: float) -> str:
    return "ruled out" if math.isinf(value) else words.number(round(float(value), 4) + 0.0, 4)


def frontier_table(curves: Sequence[Curve]) -> str:
    """The best utility of each notion by level."""
    levels = sorted({point.level for curve in curves for point in curve.points})
    found = [{point.level: point.value for point in curve.points} for curve in curves]
    rows = [
        [f"{level:g}", *(words.number(f[level]) if level in f else "" for f in found)]
        for level in levels
    ]
    head = ["level in nats", *(curve.label for curve in curves)]
    return _table("Best utility that each notion allows, by level", head, rows)


def leakage_table(report: AuditReport) -> str:
    """Achieved levels with the outcome and the pair of hypotheses that decide each."""
    rows = []
    for _, leakage, field, worst in report.entries():
        name, many = type(leakage.notion).__name__, len(leakage.levels) > 1
        title = f"{name} {field.replace('epsilon', 'ε')}" if many else name
        place, about = shorten(worst.output, 40), shorten(worst.about, 90)
        rows.append([title, words.level(worst.level), place, about])
    averages = report.averages.items()
    rows += [[name, words.number(value), "on average", ""] for name, value in averages]
    head = ["measure", "nats", "worst outcome", "largest ratio of likelihoods"]
    return _table("What this mechanism leaks", head, rows)


def certificate_table(found: Design) -> str:
    """Value, bound, gap, the exact verdicts, and where they come from."""
    c = found.certificate
    rows = [
        ["value", words.number(c.value, 12)],
        ["upper bound", f"{words.number(c.bound, 12)}, by weak duality from {c.bound_source}"],
        ["gap", words.gap(c.gap, found.utility.gap_unit)],
    ]
    for check in c.checks:
        achieved = ", ".join(words.number(v, 12) for v in check.achieved)
        rows.append([str(check.notion), f"{check.verdict}: exact check, achieved {achieved} nats"])
    rows += [
        ["method", f"{found.method} ({c.solver})"],
        ["repair", f"{c.repair}; utility lost {words.gap(c.repair_loss)}"],
    ]
    if found.scope:
        rows.append(["scope", found.scope])
    rows.append(["fingerprint", c.fingerprint])
    return _table("Certificate", [], rows)


def implied_list(entries: Iterable[Implication]) -> str:
    """What follows with a finite level, in words, each with the results it rests on."""
    items = []
    for entry in entries:
        if math.inf in entry.levels:
            continue
        ids = dict.fromkeys(step.id for step in entry.derivation) or ("asked",)
        sources = "".join(f' <span class="source">{escape(i)}</span>' for i in ids)
        text = escape(words.implied_sentence(entry))
        items.append(f"<li><strong>{escape(_implied(entry))}</strong>{sources}<br>{text}</li>")
    return f'<ul class="implied">{"".join(items)}</ul>'


def unknown_list(entries: Iterable[Implication]) -> str:
    """What does not follow with a finite level, and why."""
    items = [
        f"<li><strong>{escape(_implied(entry))}</strong> "
        f"{escape(words.implied_sentence(entry))}</li>"
        for entry in entries
        if math.inf in entry.levels
    ]
    return f'<ul class="implied open">{"".join(items)}</ul>' if items else "<p>Nothing is left.</p>"


def results_list(entries: Iterable[Implication]) -> str:
    """The results that the guarantees rest on, each with what it says."""
    ids = dict.fromkeys(step.id for entry in entries for step in entry.derivation)
    items = "".join(f"<dt>{escape(i)}</dt><dd>{escape(STATEMENTS[i])}</dd>" for i in ids)
    return f'<dl class="results-named">{items}</dl>'


def _implied(entry: Implication) -> str:
    return f"{entry.name}({', '.join(words.level(v) for v in entry.levels)})"


def rivals_list(rivals: Sequence[Rival], own: float) -> str:
    """What the notions to compare with allow at their levels, against the design's value."""
    items = []
    for rival in rivals:
        name = f"<strong>{escape(rival.demand.notion)}</strong>"
        if rival.problem:
            items.append(f"<li>{name}: {escape(rival.problem)}</li>")
            continue
        difference = rival.value - own
        against = "as much as the design"
        if abs(difference) > 1e-9 * max(1.0, abs(own)):
            sign = "more" if difference > 0 else "less"
            against = f"{words.number(abs(difference), 4)} {sign} than the design"
        items.append(f"<li>{name} allows {words.number(rival.value)}, {against}.</li>")
    return f'<ul class="rivals">{"".join(items)}</ul>' if items else ""


def tiles(answer: Answer) -> str:
    """The numbers to look at first."""
    found, report = answer.found, answer.report
    c = found.certificate
    before, after = report.prior_vulnerability, report.posterior_vulnerability
    gap = f"gap {words.gap(c.gap)}: "
    cells = [
        ("Value", words.number(c.value), words.MEANING[answer.settings.utility]),
        ("Upper bound", words.number(c.bound), gap + ("optimal" if c.is_optimal else "refining")),
        (
            "Exact check",
            "private",
            ", ".join(f"{check.notion}: {check.verdict}" for check in c.checks),
        ),
        (
            "Guessing right",
            f"{words.percent(before)} → {words.percent(after)}",
            "without and with the report",
        ),
    ]
    return (
        '<dl class="tiles">'
        + "".join(
            f"<div><dt>{escape(name)}</dt><dd><b>{escape(value)}</b>"
            f"<span>{escape(about)}</span></dd></div>"
            for name, value, about in cells
        )
        + "</dl>"
    )


def _table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    thead = f"<thead><tr>{top}</tr></thead>" if head else ""
    return (
        f'<table class="plain"><caption class="unseen">{escape(caption)}</caption>{thead}'
        f"<tbody>{body}</tbody></table>"
    )
