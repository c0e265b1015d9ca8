"""Readable reports on a terminal: designs, audits, lists of tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from .._audit import AuditReport
from ..certificate.certificate import gap_in_words, gap_out_of
from ..data import EXAMPLES
from ..errors import visible_lines
from ..labels import shorten
from ..mechanism import Mechanism
from ..prior import Prior
from ..solve._design import Design, agreement_lines
from ..storage import SCHEMA, label_to_json, mechanism_to_json

if TYPE_CHECKING:
    from .._compare.comparison import Comparison

MOST_ROWS = 30
MOST_COLUMNS = 10


class SafeConsole(Console):
    """A console that shows what a terminal would act on as escape codes, whatever is printed.

    Only its own colours reach the terminal: a label with a colour code or a mark of writing
    direction in it is text like any other.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """The segments of what is printed, their texts visible."""
        for segment in super().render(renderable, options):
            if not segment.control and not segment.text.isprintable():
                segment = Segment(visible_lines(segment.text), segment.style)
            yield segment


def console() -> Console:
    """A console on standard output, wide enough for a kernel when it is not a terminal."""
    found = SafeConsole(highlight=False, soft_wrap=False, markup=False)
    return found if found.is_terminal else SafeConsole(highlight=False, markup=False, width=110)


def print_design(found: Design, report: AuditReport) -> None:
    """Prior, kernel, value and proof, then what the kernel leaks under every notion."""
    out = console()
    asked = ", ".join(str(notion) for notion in found.notions)
    out.print(Text(f"{asked}, utility {found.utility!r}: {found.status}", style="bold"))
    out.print(_kernel_table(found.mechanism, found.prior))
    out.print(_certificate_table(found))
    for line in agreement_lines(found):
        out.print(Text(line), soft_wrap=True)
    out.print(_leakage_table(report))


def print_audit(report: AuditReport) -> None:
    """Leakage under every notion and per outcome, then the verdicts."""
    out = console()
    n, m = report.mechanism.shape
    out.print(Text(f"Audit of a kernel with {n} inputs and {m} outputs", style="bold"))
    out.print(_kernel_table(report.mechanism, report.prior))
    out.print(_leakage_table(report))
    out.print(_outcome_table(report))
    for check in report.checks:
        style = {"yes": "green", "no": "red"}.get(str(check.verdict), "yellow")
        out.print(Text(f"{check.notion}: {check.verdict}", style=f"bold {style}"), end="")
        out.print(Text(f"  ({check.evidence})"), soft_wrap=True)


def print_comparison(found: Comparison) -> None:
    """Value by level, one column per notion, for each utility; then the verdict."""
    from .._compare.comparison import MATCHED_BY, cell

    out = console()
    for prior, utility in found.panels:
        header, lines = found.pivot(prior, utility)
        title = f"Best {utility} of {prior} by {MATCHED_BY[found.match]}"
        table = Table(title=title, title_justify="left")
        for name in header:
            table.add_column(name, justify="right")
        for line in lines:
            table.add_row(*(cell(value) for value in line))
        out.print(table)
    out.print(Text("Verdict", style="bold"))
    for sentence in found.verdict:
        out.print(Text(sentence), soft_wrap=True)
    out.print(Text(f"Every kernel checked exactly; largest gap {gap_in_words(found.worst_gap)}."))


def print_examples() -> None:
    """The shipped tables."""
    table = Table("table", "columns", "people", "source", title="Shipped tables")
    for example in EXAMPLES.values():
        table.add_row(example.name, ", ".join(example.columns), str(example.people), example.source)
    console().print(table)


def audit_json(report: AuditReport) -> dict[str, Any]:
    """The report as plain values for ``--json``."""
    return {
        "format": "mechdesign-audit",
        "schema": SCHEMA,
        "prior": {
            "labels": [label_to_json(label) for label in report.prior.labels],
            "probabilities": report.prior.probabilities.tolist(),
        },
        "mechanism": mechanism_to_json(report.mechanism),
        "leakage": report.summary(),
        "worst": {
            name: [
                {
                    "level": worst.level,
                    "output": label_to_json(worst.output),
                    "over": worst.over,
                    "under": worst.under,
                }
                for worst in leakage.worst
            ]
            for name, leakage in report.leakages.items()
        },
        "outcomes": [{**row, "output": label_to_json(row["output"])} for row in report.table()],
        "verdict": None if report.verdict is None else str(report.verdict),
        "checks": [
            {
                "notion": check.notion.spec,
                "verdict": str(check.verdict),
                "achieved": list(check.achieved),
                "evidence": check.evidence,
            }
            for check in report.checks
        ],
    }


def _kernel_table(mechanism: Mechanism, prior: Prior) -> Table:
    n, m = mechanism.shape
    rows, columns = range(min(n, MOST_ROWS)), range(min(m, MOST_COLUMNS))
    table = Table(title="P(output | input)", title_justify="left")
    table.add_column("input")
    table.add_column("prior", justify="right")
    for j in columns:
        table.add_column(shorten(mechanism.outputs[j], 12), justify="right")
    for i in rows:
        cells = [f"{mechanism.kernel[i, j]:.6f}" for j in columns]
        table.add_row(shorten(mechanism.inputs[i]), f"{prior.probabilities[i]:.6f}", *cells)
    q = mechanism.output_distribution(prior)
    table.add_section()
    table.add_row("output", "", *(f"{q[j]:.6f}" for j in columns))
    hidden = (n - len(rows), m - len(columns))
    if any(hidden):
        table.caption = f"{hidden[0]} more inputs, {hidden[1]} more outputs not shown"
    return table


def _certificate_table(found: Design) -> Table:
    c = found.certificate
    table = Table(title="Certificate", title_justify="left", show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    table.add_row("value", f"{c.value:.12g}")
    table.add_row("upper bound", f"{c.bound:.12g}  (by weak duality, from {c.bound_source})")
    if c.rests_on_floats:
        table.add_row("rests on", "the function that was given, evaluated in floats")
    gain = "" if c.gain_gap is None else f", {c.gain_gap:.2g} of what can be gained"
    table.add_row("gap", f"{gap_out_of(c.gap, found.utility.gap_unit)}{gain}")
    for check in c.checks:
        levels = ", ".join(f"{level:.12g}" for level in check.achieved)
        table.add_row(f"{check.notion}", f"{check.verdict}: exact check, achieved {levels} nats")
    table.add_row("method", f"{found.method} ({c.solver})")
    unit = found.utility.gap_unit.replace("utility range", "range")
    table.add_row("repair", f"{c.repair}; utility lost {gap_out_of(c.repair_loss, unit)}")
    if found.scope:
        table.add_row("scope", found.scope)
    table.add_row("fingerprint", c.fingerprint)
    return table


def _leakage_table(report: AuditReport) -> Table:
    table = Table(title="Leakage in nats", title_justify="left")
    table.add_column("notion")
    table.add_column("level", justify="right")
    table.add_column("worst outcome")
    table.add_column("largest ratio of likelihoods")
    for name, leakage, field, worst in report.entries():
        label = name if len(leakage.levels) == 1 else f"{name} {field}"
        table.add_row(label, _number(worst.level), shorten(worst.output), worst.about)
    table.add_section()
    for name, level in report.averages.items():
        table.add_row(name, _number(level), "(average)")
    table.add_row(
        "guessing the secret",
        f"{report.prior_vulnerability:.4f} → {report.posterior_vulnerability:.4f}",
        "(before → after)",
    )
    return table


def _outcome_table(report: AuditReport) -> Table:
    rows = report.table()
    table = Table(title="Leakage of each outcome in nats", title_justify="left")
    for key in rows[0]:
        table.add_column(
            key.replace("epsilon_", ""), justify="left" if key == "output" else "right"
        )
    for row in rows[:MOST_ROWS]:
        table.add_row(
            *(
                _number(v) if isinstance(v, float) and k != "output" else shorten(v)
                for k, v in row.items()
            )
        )
    if len(rows) > MOST_ROWS:
        table.caption = f"{len(rows) - MOST_ROWS} more outcomes not shown"
    return table


def _number(value: float) -> str:
    return "infinite" if math.isinf(value) else f"{value:.6f}"
