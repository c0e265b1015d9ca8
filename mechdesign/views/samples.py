"""An audit from samples: as a table, on a terminal, as plain values, and as one page.

The page is for who did not make the mechanism: what was tried, what that shows, and what it cannot
show, without terms that only its makers know.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from ..errors import DataError, quote
from ..evidence.findings import (
    LevelLimits,
    SampleAudit,
    SampleFinding,
    SampleVerdict,
    shown,
    shown_p,
)
from ..files import check_writable, write_text
from ..labels import one_line
from ..plotting._plot_limits import plot_limits
from ..privacy.notion import AverageNotion, factor
from ..storage import prior_to_json
from ..stored_values import label_to_json
from .html import html_table
from .pages import Figures, check_pages, render
from .tables import MOST_ROWS, Column, Table, column, number, picked, text
from .text import Report


def limits_table(found: SampleAudit) -> Table:
    """What was claimed, the limits of each level, and the verdict on each notion."""
    rows = []
    for finding in found.findings:
        for level in finding.levels:
            name = str(finding.notion)
            name += f", {level.field}" if len(finding.levels) > 1 else ""
            rows.append(
                (
                    text(name),
                    number(level.claimed, 6),
                    number(level.lower, 4),
                    number(level.upper, 4),
                    number(level.estimate, 4),
                    text(shown_p(finding.p_value)),
                    text(finding.verdict),
                )
            )
    heads = (
        column("notion"),
        column("claimed", is_number=True),
        column("lower", "at least", is_number=True),
        column("upper", "at most", is_number=True),
        column("estimate", "of frequencies", is_number=True),
        column("p_value", "p-value", is_number=True),
        column("verdict"),
    )
    return Table(f"Levels in nats, confidence {found.confidence:g}", heads, tuple(rows))


def inputs_table(found: SampleAudit) -> Table:
    """How many reports there are about each input, and how many different ones."""
    totals = found.counts.sum(axis=1)
    kinds = (found.counts > 0).sum(axis=1)
    labels = found.prior.labels
    rows = tuple(
        (
            text(one_line(labels[x])),
            number(found.prior.probabilities[x], 4),
            text(f"{int(totals[x]):,}"),
            text(f"{int(kinds[x]):,}"),
        )
        for x in range(min(len(labels), MOST_ROWS))
    )
    what = "reports" if found.grouped is None else "groups"
    heads = (
        column("input"),
        column("prior", is_number=True),
        column("reports", is_number=True),
        Column("kinds", text(f"different {what}"), True),
    )
    left = len(labels) - len(rows)
    notes = (f"and {left:,} more inputs",) if left else ()
    return Table("Reports that the limits rest on", heads, rows, notes=notes)


def print_sample_audit(found: SampleAudit) -> None:
    """Limits and verdicts on a terminal."""
    out = Report()
    out.head(f"Audit of {found.samples:,} reports")
    out.table(limits_table(found))
    for finding in found.findings:
        out.line(
            f"{finding.notion}: {finding.verdict}",
            f"bold {_STYLES[finding.verdict]}",
            after=f"  ({finding.reason})",
        )
    for line in found.basis:
        out.line(line)


_STYLES = {
    SampleVerdict.VIOLATED: "red",
    SampleVerdict.CONSISTENT: "green",
    SampleVerdict.CANNOT_TELL: "yellow",
}


def sample_audit_json(found: SampleAudit) -> dict[str, Any]:
    """Limits, verdicts and what they rest on, as plain values."""
    return {
        "format": "mechdesign-sample-audit",
        "verdict": str(found.verdict),
        **picked(found, "confidence samples calls"),
        "prior": prior_to_json(found.prior),
        **picked(found, "prior_is_given outputs_are_stated grouped learned_from"),
        "levels": [{**row, "output": label_to_json(row["output"])} for row in found.rows()],
        "reasons": {str(finding.notion): finding.reason for finding in found.findings},
    }


def write_sample_report(
    found: SampleAudit,
    path: str | Path,
    *,
    title: str = "What the reports of a mechanism show",
    overwrite: bool = False,
) -> None:
    """Write a page about an audit from samples, all in one HTML file.

    It is for the party that did not make the mechanism: what was tried, what it shows, and what it
    cannot show. The same audit gives the same page.

    Parameters
    ----------
    found : SampleAudit, from :func:`mechdesign.audit_samples`
    path : file to write
    title : heading of the page
    overwrite : replace a file that exists

    Raises
    ------
    StorageError
        When the file exists or cannot be written.
    DataError
        When ``found`` is no such audit, or ``title`` no text.
    MechdesignError
        When matplotlib or jinja2 are not installed.
    """
    if not isinstance(found, SampleAudit):
        raise DataError(
            "audit of a page",
            expected="what md.audit_samples returns",
            got=quote(found),
            remedy="call it first",
        )
    if not isinstance(title, str):
        raise DataError("title", expected="a text", got=quote(title), remedy="leave it out")
    check_writable(path, overwrite=overwrite)
    check_pages()
    write_text(sample_page(found, title), path, overwrite=overwrite)


def sample_page(found: SampleAudit, title: str) -> str:
    """The text of the page that :func:`write_sample_report` writes."""
    return render(
        "samples.html.j2",
        title=title,
        found=found,
        answers=[(finding, _answer(finding)) for finding in found.findings],
        limits=html_table(limits_table(found)),
        picture=Figures().inline(plot_limits(found), _seen_in_picture(found)),
        inputs=html_table(inputs_table(found)),
        cannot=cannot_show(found),
        outcomes=shown_outputs(found),
    )


def _seen_in_picture(found: SampleAudit) -> str:
    """What the picture of limits shows, for who cannot see it."""
    shown_levels = [
        f"{finding.notion} {level.field}: between {shown(level.lower)} and {shown(level.upper)}, "
        f"{shown(level.claimed)} claimed, {finding.verdict}"
        for finding in found.findings
        for level in finding.levels
    ]
    return "Confidence limits on each level in nats. " + "; ".join(shown_levels)


def _answer(finding: SampleFinding) -> list[str]:
    """What was found about one claim, in sentences."""
    lines = [f"The claim: {finding.notion.description}"]
    if finding.verdict is SampleVerdict.VIOLATED:
        worst = max(finding.levels, key=lambda level: level.lower - level.claimed)
        is_sum = isinstance(finding.notion, AverageNotion)
        lines.append(
            f"The mechanism breaks it. Over all reports together its level is at least "
            f"{shown(worst.lower)} nats where {shown(worst.claimed)} are claimed."
            if is_sum
            else f"The mechanism breaks it. The report {quote(worst.output)} is more likely under "
            f"{worst.over} than under {worst.under} by at least "
            f"{factor(round(worst.scale * worst.lower, 4))}; "
            f"{factor(worst.scale * worst.claimed)} was promised."
        )
        lines.append(
            "Were the claim true, reports would speak against it as clearly as these with a "
            f"probability of at most {shown_p(finding.p_value)}, over everything that was tried."
        )
    elif finding.verdict is SampleVerdict.CONSISTENT:
        highest = max(finding.levels, key=lambda level: level.upper)
        in_nats = isinstance(finding.notion, AverageNotion) or any(
            level.has_scales for level in finding.levels
        )
        lines.append(
            "Within the confidence of all limits, the reports show that it is kept: "
            + (
                f"its level is at most {shown(highest.upper)} nats."
                if in_nats
                else "no report is more likely under one of the two that are compared than under "
                f"the other by more than {factor(highest.upper)}."
            )
        )
    else:
        lines.append(f"The reports do not settle it: {finding.reason}.")
        lines += [_range(level) for level in finding.levels]
    return lines


def _range(level: LevelLimits) -> str:
    most = "nothing above is excluded"
    if level.upper < math.inf:
        most = f"more than {shown(level.upper)} is excluded"
    counted = ""
    if level.upper_of_counted < level.upper:
        counted = f"; among what was counted, more than {shown(level.upper_of_counted)} is"
    return (
        f"Its level is at least {shown(level.lower)} nats where {shown(level.claimed)} are "
        f"claimed; {most}{counted}."
    )


def cannot_show(found: SampleAudit) -> list[str]:
    """What no such audit shows, and what this one in particular does not, in sentences."""
    asked = found.counts.sum(axis=1)
    fewest = float(asked[asked > 0].min())
    alpha = 1 - found.confidence
    rare = math.log(1 / alpha) / fewest
    lines = [
        f"Faults that need luck. With {int(fewest):,} reports about an input, what happens less "
        f"often than once in {max(1, math.floor(1 / rare)):,} may not have happened at all. A "
        "sampler that fails once in a billion draws looks sound here; only its source, or a proof "
        "of its kernel, tells.",
        "Inputs that were not tried. The limits are about the inputs in the table above and no "
        "others.",
        "Reports that depend on one another. Each report was taken to be drawn by itself, given "
        "its input. A mechanism that remembers, or that shares randomness between people, can tell "
        "more by several reports than by each.",
        "Other ways to tell. How long an answer takes, whether one comes at all, what a log keeps: "
        "what is not in a report was not audited.",
        "Another version of the program, or another setting of it.",
        f"Certainty. With probability at most {alpha:.3g} some limit on this page is wrong.",
    ]
    if not found.prior_is_given and any(f.notion.uses_prior for f in found.findings):
        lines.append(
            "What somebody who expects other inputs learns. The prior is the frequencies of the "
            "inputs that were observed."
        )
    if found.grouped is not None:
        lines.append(
            "What a report tells beyond its group. Reports were put into groups "
            f"({found.grouped}); that groups keep a claim says nothing of the reports in them."
        )
    elif not found.outputs_are_stated:
        lines.append(
            "Outcomes that never occurred. Nobody stated which there are, and one that was not "
            "seen may tell anything."
        )
    else:
        lines.append(
            f"Whether there are more outcomes than the {len(found.outputs)} that were stated."
        )
    return lines


def shown_outputs(found: SampleAudit, most: int = 12) -> str:
    """The outcomes by name, the first of them where they are many."""
    names = [one_line(label) for label in found.outputs[:most]]
    more = f" and {len(found.outputs) - most:,} more" if len(found.outputs) > most else ""
    return ", ".join(names) + more
