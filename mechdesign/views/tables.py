"""Tables of results: rows made once, which a terminal, a page and JSON show each in its way.

A :class:`Table` holds values, not their looks. A :class:`Cell` says what its value is (a level in
nats, a probability, a label); how many digits that gets is for the medium to say:
:func:`mechdesign.views.text.rich_table` for a terminal, :func:`mechdesign.views.html.html_table`
for a page, :meth:`Table.records` for JSON.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import __version__
from ..data import EXAMPLES
from ..labels import Label, listing, short_names, shorten
from ..mechanism import Mechanism
from ..prior import Prior
from ..solve.certificate import gap_in_words, gap_out_of

if TYPE_CHECKING:
    from .._audit import AuditReport
    from .._compare.frontiers import Comparison
    from ..privacy.notion import Check
    from ..release.estimating import Estimate
    from ..solve.designing import Design
    from ..theory import Erratum, Implication, Outcome, Theorem, TightConversion

#: What a cell can hold. A level is a bound, which a medium may round up but never down by choice; a
#: chance is a probability, shown as 0 or 1 only where it is that.
Kind = Literal["text", "label", "number", "level", "chance", "verdict"]

# Libraries whose version matters to who wants the same numbers again.
_LIBRARIES = ("numpy", "scipy", "highspy", "clarabel", "python-flint", "matplotlib", "jinja2")


@dataclass(frozen=True)
class Cell:
    """One value of a table.

    Attributes
    ----------
    value : the value itself: a float, a label, a text; ``None`` for an empty cell
    kind : what it is
    digits : significant digits of a number, or how many characters a terminal shows of a label;
        the medium decides where it is ``None``
    short : for a label, a text of one line that no other label in the table has
    after : text that follows the value
    """

    value: Any
    kind: Kind = "text"
    digits: int | None = None
    short: str = ""
    after: str = ""


@dataclass(frozen=True)
class Column:
    """The head of a column.

    Attributes
    ----------
    key : name of its values in :meth:`Table.records`
    head : what stands above it; a label where the column is that of a symbol
    is_number : whether its cells are set to the right
    is_idle : whether it is that of an outcome that never occurs
    """

    key: str
    head: Cell
    is_number: bool = False
    is_idle: bool = False


@dataclass(frozen=True)
class Table:
    """A title, columns, rows and notes. The first cell of a row says what the row is about.

    Attributes
    ----------
    title : what the table shows
    columns : heads of the columns
    rows : one tuple of cells per row, one cell per column
    foot : rows that sum up, below a line
    notes : sentences that belong below
    things : what rows, and columns of labels, stand for, in a table of which a medium may show a
        part; nothing for a table that is shown whole
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    foot: tuple[tuple[Cell, ...], ...] = ()
    notes: tuple[str, ...] = ()
    things: tuple[str, ...] = ()

    @property
    def has_heads(self) -> bool:
        """Whether anything stands above the columns."""
        return any(column.head.value != "" for column in self.columns)

    def records(self) -> list[dict[str, Any]]:
        """One dictionary of plain values per row, without the foot."""
        keys = [column.key for column in self.columns]
        return [dict(zip(keys, (cell.value for cell in row), strict=True)) for row in self.rows]

    def select(self, *keys: str) -> Table:
        """The table with some of its columns, in the order given."""
        known = [column.key for column in self.columns]
        places = [known.index(key) for key in keys]
        return Table(
            self.title,
            tuple(self.columns[i] for i in places),
            tuple(tuple(row[i] for i in places) for row in self.rows),
            tuple(tuple(row[i] for i in places) for row in self.foot),
            self.notes,
            self.things,
        )

    def hidden(self, rows: int, columns: int) -> str:
        """A note on what is not shown, in a medium for so many rows and columns of labels."""
        across = sum(column.head.kind == "label" for column in self.columns)
        left = (max(0, len(self.rows) - rows), max(0, across - columns))
        if not self.things or not any(left):
            return ""
        more = [f"{n} more {name}" for n, name in zip(left, self.things, strict=False)]
        return ", ".join(more) + " not shown"


def text(value: object, after: str = "") -> Cell:
    """A cell of text."""
    return Cell(str(value), after=after)


def number(value: float | None, digits: int | None = None, after: str = "") -> Cell:
    """A cell of a number, empty for ``None``."""
    return Cell(value, "number", digits, after=after)


def column(key: str, head: str | None = None, *, is_number: bool = False) -> Column:
    """A column with a head of text, its key where no other is given."""
    return Column(key, text(key if head is None else head), is_number)


# A kernel and what it leaks


def kernel_table(mechanism: Mechanism, prior: Prior, *, most: int | None = None) -> Table:
    """P(output | input) with the prior beside it and the distribution of the outputs below.

    Parameters
    ----------
    mechanism : Mechanism
    prior : Prior over its inputs
    most : int, optional
        Among more outputs than this, those that never occur are left out and named in a note.
    """
    q = mechanism.output_distribution(prior)
    shown = list(range(len(q)))
    notes: tuple[str, ...] = ()
    if most is not None and len(q) > most:
        shown = [j for j in shown if q[j] > 0]
        idle = [label for j, label in enumerate(mechanism.outputs) if q[j] == 0]
        notes = (f"Never reported: {listing(idle, 8)}.",) if idle else ()
    outputs = _labels(mechanism.outputs, width=12, page=24)
    heads = (Column(f"output.{j}", outputs[j], True, bool(q[j] == 0)) for j in shown)
    return Table(
        "P(output | input)",
        (column("input"), column("prior", is_number=True), *heads),
        tuple(
            (
                name,
                Cell(float(prior.probabilities[i]), "chance"),
                *(Cell(float(mechanism.kernel[i, j]), "chance") for j in shown),
            )
            for i, name in enumerate(_labels(mechanism.inputs))
        ),
        foot=((text("output"), text(""), *(Cell(float(q[j]), "chance") for j in shown)),),
        notes=notes,
        things=("inputs", "outputs"),
    )


def leakage_table(report: AuditReport) -> Table:
    """The levels that a kernel has, each with the outcome and the hypotheses that decide it.

    Below them the leakages that average over outcomes, and the chance of guessing the secret.
    """
    names = dict(zip(report.mechanism.outputs, _labels(report.mechanism.outputs), strict=True))
    rows = []
    for name, leakage, field, worst in report.entries():
        level, short = Cell(worst.level, "level"), type(leakage.notion).__name__
        if len(leakage.levels) > 1:
            name, short = f"{name} {field}", f"{short} {field.replace('epsilon', 'ε')}"
        notion = Cell(name, "label", short=short)
        rows.append((notion, level, names[worst.output], text(worst.about)))
    before, after = report.prior_vulnerability, report.posterior_vulnerability
    return Table(
        "Leakage in nats",
        (
            column("notion"),
            column("level", is_number=True),
            column("output", "worst outcome"),
            column("about", "largest ratio of likelihoods"),
        ),
        tuple(rows),
        foot=(
            *(
                (text(name), number(level), text("(average)"), text(""))
                for name, level in report.averages.items()
            ),
            (
                text("guessing the secret"),
                text(f"{before:.4f} → {after:.4f}"),
                text("(before → after)"),
                text(""),
            ),
        ),
    )


def outcome_table(report: AuditReport) -> Table:
    """The leakage of each outcome under each notion, in nats; the rows of ``report.table()``."""
    rows = report.table()
    keys = [key for key in rows[0] if key != "output"]
    return Table(
        "Leakage of each outcome in nats",
        (
            column("output"),
            *(column(key, key.replace("epsilon_", ""), is_number=True) for key in keys),
        ),
        tuple(
            (name, *(Cell(row[key], "chance" if key == "probability" else "level") for key in keys))
            for name, row in zip(_labels(report.mechanism.outputs), rows, strict=True)
        ),
        things=("outcomes",),
    )


def belief_table(mechanism: Mechanism, prior: Prior) -> Table:
    """What a report can make of the belief in each symbol of positive mass.

    Its prior probability, the smallest and the largest posterior after an outcome that can occur,
    and, decided exactly, whether an outcome can rule it out or leave only it.
    """
    from ..theory.disclosure import compatible_symbols

    posterior = mechanism.posterior(prior)
    outputs = _labels(mechanism.outputs)
    symbols = _labels(prior.labels, page=60)
    left = compatible_symbols(mechanism, prior)
    used = [j for j, label in enumerate(mechanism.outputs) if label in left]
    rows = []
    for x in prior.support.tolist():
        label, row = prior.labels[x], posterior[x, used]
        low, high = used[int(np.argmin(row))], used[int(np.argmax(row))]
        states = []
        if (label,) in left.values():
            states.append("can be certain")
        if any(label not in possible for possible in left.values()):
            states.append("or ruled out" if states else "can be ruled out")
        rows.append(
            (
                symbols[x],
                Cell(float(prior.probabilities[x]), "number", 4),
                Cell(float(row.min()), "number", 4),
                outputs[low],
                Cell(float(row.max()), "number", 4),
                outputs[high],
                text(" ".join(states)),
            )
        )
    return Table(
        "Beliefs before and after a report",
        (
            column("value"),
            column("before", is_number=True),
            column("least", is_number=True),
            column("least_after", "after"),
            column("most", is_number=True),
            column("most_after", "after"),
            column("certainty", ""),
        ),
        tuple(rows),
        things=("values",),
    )


# A design and its proof


def certificate_table(found: Design) -> Table:
    """Value, bound, gap, the exact verdicts, and where they come from."""
    c, unit = found.certificate, found.utility.gap_unit
    gain = "" if c.gain_gap is None else f", {c.gain_gap:.2g} of what can be gained"
    rows = [
        ("value", number(c.value, 12)),
        (
            "upper bound",
            Cell(c.bound, "level", 12, after=f"  (by weak duality, from {c.bound_source})"),
        ),
        ("gap", text(f"{gap_out_of(c.gap, unit)}{gain}")),
    ]
    if c.rests_on_floats:
        rows.insert(2, ("rests on", text("the function that was given, evaluated in floats")))
    for check in c.checks:
        levels = ", ".join(f"{level:.12g}" for level in check.achieved)
        said = f": exact check, achieved {levels} nats"
        rows.append((str(check.notion), Cell(check.verdict, "verdict", after=said)))
    lost = gap_out_of(c.repair_loss, unit.replace("utility range", "range"))
    rows += [
        ("method", text(f"{found.method} ({c.solver})")),
        ("repair", text(f"{c.repair}; utility lost {lost}")),
    ]
    if found.scope:
        rows.append(("scope", text(found.scope)))
    rows.append(("fingerprint", text(c.fingerprint)))
    return _pairs("Certificate", rows)


def check_table(checks: Iterable[Check]) -> Table:
    """The exact verdict on each notion asked, with the outcome and hypotheses that decide it."""
    return _pairs(
        "Exact checks",
        [(str(c.notion), Cell(c.verdict, "verdict", after=f": {c.evidence}")) for c in checks],
    )


def version_table() -> Table:
    """Versions of mechdesign, Python, and the libraries that the numbers rest on."""
    rows = [("mechdesign", __version__), ("Python", platform.python_version())]
    for name in _LIBRARIES:
        try:
            rows.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            rows.append((name, "not installed"))
    return _pairs("Versions", [(name, text(version)) for name, version in rows])


# A comparison


def frontier_table(found: Comparison, prior: str, utility: str) -> Table:
    """The best value of each notion at each target, for one prior and utility."""
    from .._compare.paths import MATCHED_BY

    header, lines = found.pivot(prior, utility)
    return Table(
        f"Best {utility} of {prior} by {MATCHED_BY[found.match]}",
        tuple(column(name, is_number=True) for name in header),
        tuple(tuple(number(value, 6) for value in line) for line in lines),
    )


def point_table(found: Comparison, prior: str, utility: str) -> Table:
    """Every design of one prior and utility, with its bound and the levels that it has."""
    from .._compare.paths import MATCHED_BY

    return Table(
        f"{utility}, {prior}",
        (
            column("notion"),
            column("target", MATCHED_BY[found.match], is_number=True),
            column("privacy", "asked"),
            column("value", is_number=True),
            column("bound", is_number=True),
            column("gap", is_number=True),
            column("achieved_pml", "achieved PML", is_number=True),
            column("achieved_ldp", "achieved LDP", is_number=True),
            column("implied_ldp", "implied LDP", is_number=True),
            column("method"),
        ),
        tuple(
            (
                text(point.notion),
                number(point.target, 6),
                text(", ".join(map(str, point.design.notions))),
                number(point.value, 8),
                Cell(point.bound, "level", 8),
                text(gap_in_words(point.gap)),
                Cell(point.achieved_pml, "level", 6),
                Cell(point.achieved_ldp, "level", 6),
                Cell(point.implied_ldp, "level", 6),
                text(point.method),
            )
            for point in found.points
            if (point.prior, point.utility) == (prior, utility)
        ),
    )


def prior_table(prior: Prior) -> Table:
    """The symbols of a prior and their masses."""
    return Table(
        "Prior",
        (column("symbol"), column("mass", is_number=True)),
        tuple(
            (name, Cell(float(mass), "number", 6))
            for name, mass in zip(_labels(prior.labels), prior.probabilities, strict=True)
        ),
        things=("symbols",),
    )


# Estimates, shipped tables


def estimate_table(made: Estimate) -> Table:
    """Each estimated frequency with its standard error and interval."""
    names = ("estimate", "error", "lower", "upper")
    return Table(
        "Estimates",
        (column("label"), *(column(name) for name in names)),
        tuple(
            (Cell(row["label"], "label"), *(number(row[name]) for name in names))
            for row in made.rows()
        ),
    )


def example_table() -> Table:
    """The tables that are shipped."""
    return Table(
        "Shipped tables",
        tuple(column(name) for name in ("table", "columns", "people", "source")),
        tuple(
            (text(t.name), text(", ".join(t.columns)), text(t.people), text(t.source))
            for t in EXAMPLES.values()
        ),
    )


# Results of the papers


def theorem_table(results: Iterable[Theorem]) -> Table:
    """Identifier, other names, statement, conditions, whether it is tight, and source."""
    return Table(
        "Results",
        tuple(column(key) for key in ("id", "also", "statement", "conditions", "tight", "source")),
        tuple(
            (
                text(result.id),
                text(", ".join(result.also)),
                text(result.statement),
                text(result.conditions),
                text("yes" if result.tight else ""),
                text(result.source or "derived here"),
            )
            for result in results
        ),
    )


def claim_table(outcomes: Iterable[tuple[Theorem, Outcome]]) -> Table:
    """Which results held where they were checked, and the claim of each that came closest."""
    rows = []
    for result, outcome in outcomes:
        claim = outcome.worst
        said = f"{claim.about}: {claim.found:.6g} {claim.relation} {claim.claimed:.6g}"
        verdict = Cell("yes" if outcome.ok else "NO", "verdict")
        rows.append((text(result.id), verdict, text(outcome.claims), text(said)))
    heads = (column("id"), column("holds"), column("claims"), column("closest", "closest claim"))
    return Table("Checked results", heads, tuple(rows))


def erratum_table(entries: Iterable[Erratum]) -> Table:
    """Place, kind, printed and corrected statement of each erratum."""
    return Table(
        "Errata",
        tuple(column(name) for name in ("id", "where", "kind", "printed", "corrected")),
        tuple(
            (
                text(entry.id),
                text(f"{entry.source}, {entry.place}"),
                text(entry.kind),
                text(entry.printed),
                text(entry.corrected),
            )
            for entry in entries
        ),
    )


def implied_table(
    entries: Iterable[Implication], digits: int, smallest: dict[str, str] | None = None
) -> Table:
    """Each implied level with the results it rests on, or why there is none.

    ``smallest`` are the least levels that hold, by the name of the notion, where they are known.
    """
    rows = []
    for entry in entries:
        steps = [str(step) for step in entry.derivation]
        steps += [entry.reason] if entry.reason else []
        least = (smallest or {}).get(entry.name, "")
        level = text(shown_levels(entry.levels, digits))
        rows.append((text(entry.name), level, text(least), text("\n".join(steps or ["given"]))))
    heads = (
        column("guarantee"),
        column("level", "level in nats"),
        column("smallest"),
        column("by"),
    )
    found = Table("Implied guarantees", heads, tuple(rows))
    return found if smallest is not None else found.select("guarantee", "level", "by")


def tight_table(conversions: Sequence[TightConversion]) -> Table:
    """Each smallest level with what decides it and what a witness attains."""
    rows = []
    for found in conversions:
        for entry in found.levels:
            attained = "no witness" if entry.witness is None else f"{entry.attained:.12g}"
            pair = f"{shorten(entry.over, 30)} against {shorten(entry.under, 30)}"
            cells = (shown_levels([entry.level], 12), attained, pair, entry.method)
            rows.append((text(type(found.target).__name__), *map(text, cells)))
    heads = (
        column("guarantee"),
        column("level", "level in nats"),
        column("attained"),
        column("decided_by", "decided by"),
        column("method"),
    )
    return Table("Smallest levels that always hold", heads, tuple(rows))


def shown_levels(levels: Iterable[float], digits: int) -> str:
    """Levels in words, rounded up so that they still hold."""
    from ..theory.conversions import rounded_up

    return ", ".join("infinite" if math.isinf(v) else rounded_up(v, digits) for v in levels)


def _labels(labels: Sequence[Label], width: int = 18, page: int = 40) -> list[Cell]:
    """Cells of labels, cut to a width on a terminal, told apart within a width in a page."""
    names = short_names(labels, page)
    return [
        Cell(label, "label", width, short=name) for label, name in zip(labels, names, strict=True)
    ]


def _pairs(title: str, rows: Iterable[tuple[str, Cell]]) -> Table:
    """A table of names and values, without heads."""
    heads = (column("name", ""), column("value", ""))
    return Table(title, heads, tuple((text(name), cell) for name, cell in rows))
