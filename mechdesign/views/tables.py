"""Tables of results: rows made once, which a terminal, a page and JSON show each in its way.

A :class:`Table` holds values, not their looks. A :class:`Cell` says what its value is (a level in
nats, a probability, a label); how many digits that gets is for the medium to say:
:func:`mechdesign.views.text.rich_table` for a terminal, :func:`mechdesign.views.html.html_table`
for a page, :meth:`Table.records` for JSON.
"""

from __future__ import annotations

import math
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import __version__
from .._audit import MEASURED
from ..certificate.certificate import gap_out_of, gap_text
from ..data import EXAMPLES
from ..errors import MechdesignError
from ..exact import rounded_up
from ..labels import Label, counted, listing, short_names, shorten
from ..mechanism import Mechanism, best_guesses
from ..prior import Prior
from ..privacy.notion import parse_notion
from ..published import kernel_fingerprint, shown_fingerprint
from ..release.risk import share_unchanged
from ..utility.estimation import Estimation
from ..utility.worst_case import WorstCase

if TYPE_CHECKING:
    from .._audit import AuditReport
    from .._compare.comparison import Comparison
    from .._try_out import Trial
    from ..inference.many import ManyEstimates
    from ..inference.planning import Plan
    from ..inference.results import Intervals
    from ..privacy.notion import Check
    from ..release._pram import Stratum
    from ..release.persons import PersonAccount
    from ..requirement.base import RequirementCheck
    from ..solve._design import Design
    from ..solve.sensitivity import Binding
    from ..subsets import LevelCheck
    from ..theory import Erratum, Implication, Outcome, Statement, Theorem, TightConversion

#: What a cell can hold. A level is a bound, which a medium may round up but never down by choice; a
#: chance is a probability, shown as 0 or 1 only where it is that.
Kind = Literal["text", "label", "number", "level", "chance", "verdict"]

#: Tables of symbols, answers or inputs on a page have so many rows, and count the others.
MOST_ROWS = 50
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
    narrow : for a label, a shorter one for a terminal
    after : text that follows the value
    """

    value: Any
    kind: Kind = "text"
    digits: int | None = None
    short: str = ""
    narrow: str = ""
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
    notes : what belongs below, such as how much is not shown
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    foot: tuple[tuple[Cell, ...], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def has_heads(self) -> bool:
        """Whether anything stands above the columns."""
        return any(column.head.value != "" for column in self.columns)

    def records(self) -> list[dict[str, Any]]:
        """One dictionary of plain values per row, without the foot."""
        keys = [column.key for column in self.columns]
        return [dict(zip(keys, (cell.value for cell in row), strict=True)) for row in self.rows]


def picked(found: Any, names: str) -> dict[str, Any]:
    """Attributes of an object by name, for JSON."""
    return {name: getattr(found, name) for name in names.split()}


def text(value: object) -> Cell:
    """A cell of text."""
    return Cell(str(value))


def number(value: float | None, digits: int | None = None) -> Cell:
    """A cell of a number, empty for ``None``."""
    return Cell(None if value is None else float(value), "number", digits)


def _chance(value: float) -> Cell:
    return Cell(float(value), "chance")


def column(key: str, head: str | None = None, *, is_number: bool = False) -> Column:
    """A column with a head of text, its key where no other is given."""
    return Column(key, text(key if head is None else head), is_number)


# A kernel and what it leaks


def kernel_table(
    mechanism: Mechanism,
    prior: Prior,
    *,
    most: int | None = None,
    rows: int | None = None,
    columns: int | None = None,
) -> Table:
    """P(output | input) with the prior beside it and the distribution of the outputs below.

    Parameters
    ----------
    mechanism : Mechanism
    prior : Prior over its inputs
    most : int, optional
        Among more outputs than this, those that never occur are left out and named in a note.
    rows, columns : int, optional
        Inputs and outputs beyond these numbers are left out and counted in a note.
    """
    q = mechanism.output_distribution(prior)
    shown = list(range(len(q)))
    notes = []
    if most is not None and len(q) > most:
        shown = [j for j in shown if q[j] > 0]
        idle = [label for j, label in enumerate(mechanism.outputs) if q[j] == 0]
        notes += [f"Never reported: {listing(idle, 8)}."] if idle else []
    hidden = [len(_after(mechanism.inputs, rows)), len(_after(shown, columns))]
    if any(hidden):
        kinds = zip(hidden, ("inputs", "outputs"), strict=True)
        more = ", ".join(f"{count} more {_named(kind, count)}" for count, kind in kinds if count)
        notes.append(f"{more} not shown")
    shown = shown[:columns]
    outputs = _labels(mechanism.outputs, width=12, page=24)
    heads = (Column(f"output.{j}", outputs[j], True, bool(q[j] == 0)) for j in shown)
    probabilities = prior.probabilities.tolist()
    return _table(
        "P(output | input)",
        ["input", column("prior", is_number=True), *heads],
        (
            [name, _chance(probabilities[i]), *(_chance(mechanism.kernel[i, j]) for j in shown)]
            for i, name in enumerate(_labels(mechanism.inputs)[:rows])
        ),
        foot=(_row("output", "", *(_chance(q[j]) for j in shown)),),
        notes=tuple(notes),
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
        rows.append([notion, level, names[worst.output], worst.about])
    guesses = f"{report.prior_vulnerability:.4f} → {report.posterior_vulnerability:.4f}"
    averages = [
        (name, Cell(level, "number" if name in MEASURED else "level"))
        for name, level in report.averages.items()
    ]
    return _table(
        "Leakage in nats",
        [
            "notion",
            column("level", is_number=True),
            column("output", "worst outcome"),
            column("about", "largest ratio of likelihoods"),
        ],
        rows,
        foot=(
            *(_row(name, level, "(average)", "") for name, level in averages),
            _row("guessing the secret", guesses, "(before → after)", ""),
        ),
        notes=tuple(report.omissions),
    )


def outcome_table(report: AuditReport, most: int | None = None) -> Table:
    """The leakage of each outcome under each notion, in nats; the rows of ``report.table()``.

    Outcomes after the first ``most`` are counted in a note.
    """
    rows = report.table()
    keys = [key for key in rows[0] if key != "output"]
    heads = [column(key, key.replace("epsilon_", ""), is_number=True) for key in keys]
    return _table(
        "Leakage of each outcome in nats",
        ["output", *heads],
        (
            [
                name,
                *(_chance(row[k]) if k == "probability" else Cell(row[k], "level") for k in keys),
            ]
            for name, row in zip(_labels(report.mechanism.outputs)[:most], rows, strict=False)
        ),
        notes=_more(rows, most, "outcomes"),
    )


def belief_table(mechanism: Mechanism, prior: Prior, most: int | None = None) -> Table:
    """What a report can make of the belief in each symbol of positive mass.

    Its prior probability, the smallest and the largest posterior after an outcome that can occur,
    and, decided exactly, whether an outcome can rule it out or leave only it. Symbols after the
    first ``most`` are counted in a note.
    """
    from ..theory.disclosure import compatible_symbols

    posterior = mechanism.posterior(prior)
    outputs = _labels(mechanism.outputs)
    symbols = _labels(prior.labels, page=60)
    left = compatible_symbols(mechanism, prior)
    used = [j for j, label in enumerate(mechanism.outputs) if label in left]
    probabilities = prior.probabilities.tolist()
    rows = []
    for x in prior.support[:most].tolist():
        label, row = prior.labels[x], posterior[x, used]
        low, high = int(np.argmin(row)), int(np.argmax(row))
        states = []
        if (label,) in left.values():
            states.append("can be certain")
        if any(label not in possible for possible in left.values()):
            states.append("or ruled out" if states else "can be ruled out")
        rows.append(
            [
                symbols[x],
                number(probabilities[x], 4),
                number(row[low], 4),
                outputs[used[low]],
                number(row[high], 4),
                outputs[used[high]],
                " ".join(states),
            ]
        )
    return _table(
        "Beliefs before and after a report",
        [
            "value",
            column("before", is_number=True),
            column("least", is_number=True),
            column("least_after", "after"),
            column("most", is_number=True),
            column("most_after", "after"),
            column("certainty", ""),
        ],
        rows,
        notes=_more(prior.support.tolist(), most, "values"),
    )


def largest_table(mechanism: Mechanism, prior: Prior, rows: int, most: int = 3) -> Table:
    """For each input the reports that it gives most often, with their probabilities."""
    outputs = [cell.narrow for cell in _labels(mechanism.outputs, width=12)]
    shown = []
    for i, name in enumerate(_labels(mechanism.inputs)[:rows]):
        places = np.argsort(-mechanism.kernel[i], kind="stable")[:most]
        said = ", ".join(f"{outputs[j]} {mechanism.kernel[i, j]:.4g}" for j in places)
        shown.append([name, _chance(prior.probabilities[i]), said])
    return _table(
        "P(output | input), the largest of each input",
        ["input", column("prior", is_number=True), "most likely outputs"],
        shown,
        notes=_more(mechanism.inputs, rows, "inputs"),
    )


# A design and its proof


def answers_table(found: Design, report: AuditReport) -> Table:
    """What is asked first: is it private, what do reports tell, what do they give away, and how
    near to the best is it.
    """
    c, goal = found.certificate, found.utility
    said = "yes" if all(str(check.verdict) == "yes" for check in c.checks) else "no"
    notions = f": {', '.join(map(str, found.notions))}, checked exactly"
    rows: list[tuple[str, object]] = [("private", Cell(said, "verdict", after=notions))]
    if isinstance(goal, Estimation) and goal.asks_frequencies and goal.weights is None:
        error = math.sqrt(found.risk / len(found.mechanism.inputs) / 1000)
        rows.append(
            ("estimates", f"a share ± {100 * error:.2g} % with 1,000 reports (standard error)")
        )
    before, after = (
        f"{100 * chance:.3g} %"
        for chance in (report.prior_vulnerability, report.posterior_vulnerability)
    )
    rows.append(("best guess", f"right in {before} of cases without a report, {after} with one"))
    near = "yes" if found.status == "optimal" else f"but for {gap_out_of(c.gap, goal.gap_unit)}"
    rows.append(("the best", f"{near}: proved of all kernels that keep what is asked"))
    return _pairs("In short", rows)


def certificate_table(found: Design) -> Table:
    """Value, bound, gap, the exact verdicts, and where they come from."""
    c, unit = found.certificate, found.utility.gap_unit
    source = f"  (by weak duality, from {c.bound_source})"
    gain = "" if c.gain_gap is None else f", {c.gain_gap:.2g} of what can be gained"
    lost = gap_out_of(c.repair_loss, unit.replace("utility range", "range"))
    rows: list[tuple[str, object]] = [
        ("value", number(c.value, 12)),
        ("upper bound", Cell(c.bound, "level", 12, after=source)),
    ]
    if isinstance(found.utility, Estimation):
        rows.append(("risk", Cell(found.risk, "number", 12, after="  (squared error × reports)")))
    if isinstance(found.utility, WorstCase):
        rows.append(("values", found.utility.served_text(found.mechanism, found.prior)))
    if c.rests_on_floats:
        rows.append(("rests on", "the function that was given, evaluated in floats"))
    rows.append(("gap", f"{gap_out_of(c.gap, unit)}{gain}"))
    for check in c.checks:
        levels = ", ".join(rounded_up(level, 12) for level in check.achieved)
        said = f": exact check, achieved {levels} nats"
        rows.append((str(check.notion), Cell(check.verdict, "verdict", after=said)))
    for kept in c.kept:
        said = f": exact check, {kept.shown}"
        rows.append((str(kept.requirement), Cell(kept.verdict, "verdict", after=said)))
    rows.append(("method", f"{found.method} ({c.solver})"))
    rows.append(("repair", f"{c.repair}; utility lost {lost}"))
    if found.scope:
        rows.append(("scope", found.scope))
    kernel, whole = kernel_fingerprint(found.mechanism), c.fingerprint
    for name, digest, what in (
        ("kernel", kernel, "as receipts, apply and the ledger name it"),
        ("design", whole, "of prior, kernel and all that was asked"),
    ):
        rows.append((name, f"fingerprint {shown_fingerprint(digest)}  ({what})"))
    return _pairs("Certificate", rows)


def price_table(prices: Binding, most: int = 20) -> Table:
    """What the limits of requirements cost: the optimum's rise per unit that each is relaxed.

    Limits after the first ``most`` are counted in a note.
    """
    return _table(
        "What the requirements cost",
        [
            column("about", "limit"),
            "end",
            column("slack", is_number=True),
            column("price", "price per unit", is_number=True),
        ],
        (
            [limit.about, limit.end, number(limit.slack, 3), number(limit.price, 6)]
            for limit in prices.limits[:most]
        ),
        notes=_more(prices.limits, most, "limits"),
    )


def check_table(checks: Iterable[Check], kept: Iterable[RequirementCheck] = ()) -> Table:
    """The exact verdict on each notion asked, with the outcome and hypotheses that decide it, and
    on each requirement, with its excess.
    """
    rows = [(c.notion, Cell(c.verdict, "verdict", after=f": {c.evidence}")) for c in checks]
    more = [(c.requirement, Cell(c.verdict, "verdict", after=f": {c.shown}")) for c in kept]
    return _pairs("Exact checks", [*rows, *more])


def version_table() -> Table:
    """Versions of mechdesign, Python, and the libraries that the numbers rest on."""
    rows = [("mechdesign", __version__), ("Python", platform.python_version())]
    for name in _LIBRARIES:
        try:
            rows.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            rows.append((name, "not installed"))
    return _pairs("Versions", rows)


# What was released


def release_table(name: str, releases: Iterable[Mapping[str, Any]]) -> Table:
    """The releases of a ledger about some people: when, which column, what it guarantees, where the
    reports went, and the kernel.
    """
    return _table(
        f"About {name}",
        [column("time", "when (UTC)"), "column", "guarantee", "reports", "kernel"],
        (
            [
                _when(release["time"]),
                release["column"],
                ", ".join(map(_guarantee, release.get("notions", ()))) or "none",
                release["output"] + ("" if release["finished"] else " (not finished)"),
                shown_fingerprint(release["kernel"]),
            ]
            for release in releases
        ),
    )


def account_table(account: PersonAccount) -> Table:
    """The draws of one person: when, of which column, by which kernel, and what it bounds."""
    rounds = any("round" in draw for draw in account.entries)
    return _table(
        "Draws",
        [
            column("time", "when (UTC)"),
            "column",
            "kernel",
            column("level", "LDP level", is_number=True),
            column("times", "draws", is_number=True),
            *(["round"] if rounds else []),
        ],
        (
            [
                _when(draw["time"]),
                draw["column"],
                shown_fingerprint(draw["kernel"]),
                Cell(math.inf if draw["level"] == "inf" else draw["level"], "level"),
                draw.get("times", 1),
                *([draw.get("round", "")] if rounds else []),
            ]
            for draw in account.entries
        ),
    )


def _when(time: str) -> str:
    """A time of the ledger to the minute."""
    return time[:16].replace("T", " ")


def _guarantee(spec: str) -> str:
    """A notion as it is written elsewhere; as the ledger has it where that says less."""
    try:
        notion = parse_notion(spec)
    except MechdesignError:
        return spec
    return spec if notion.needs else str(notion)


# Comparisons and estimates


def frontier_table(found: Comparison, prior: str, utility: str) -> Table:
    """The best value of each notion at each target, for one prior and utility."""
    from .._compare.comparison import MATCHED_BY, asks_reports

    header, lines = found.pivot(prior, utility)
    best = f"Best {utility}"
    if asks_reports(found.utilities[utility]):
        best = f"Least {found.quantity(utility)}, {utility},"
    return _table(
        f"{best} of {prior} by {MATCHED_BY[found.match]}",
        [column(name, is_number=True) for name in header],
        ([number(value, 6) for value in line] for line in lines),
    )


def point_table(found: Comparison, prior: str, utility: str) -> Table:
    """Every design of one prior and utility, with its bound and the levels that it has."""
    from .._compare.comparison import MATCHED_BY, asks_reports

    estimates = asks_reports(found.utilities[utility])
    numbers = {
        "target": MATCHED_BY[found.match],
        "value": "risk" if estimates else "value",
        "bound": "at least" if estimates else "bound",
        "gap": "gap",
        "achieved_pml": "achieved PML",
        "achieved_ldp": "achieved LDP",
        "implied_ldp": "implied LDP",
    }
    heads = [column(key, head, is_number=True) for key, head in numbers.items()]
    return _table(
        f"{utility}, {prior}",
        ["notion", column("privacy", "asked"), *heads, "method"],
        (
            [
                point.notion,
                ", ".join(asked),
                number(point.target, 6),
                number(point.value if point.risk is None else point.risk, 8),
                number(point.least_risk, 8) if estimates else Cell(point.bound, "level", 8),
                gap_text(point.gap),
                *(
                    Cell(level, "level", 6)
                    for level in (point.achieved_pml, point.achieved_ldp, point.implied_ldp)
                ),
                point.method,
            ]
            for point, asked in zip(found.points, found.asked(), strict=True)
            if (point.prior, point.utility) == (prior, utility)
        ),
    )


def prior_table(prior: Prior, most: int | None = None) -> Table:
    """The symbols of a prior and their masses; those after the first ``most`` are counted."""
    masses = (number(mass, 6) for mass in prior.probabilities.tolist())
    rows = zip(_labels(prior.labels)[:most], masses, strict=False)
    heads = ("symbol", column("mass", is_number=True))
    return _table("Prior", heads, rows, notes=_more(prior.labels, most, "symbols"))


def intervals_table(made: Intervals) -> Table:
    """Each number with its standard error and interval."""
    return _estimates(made.rows())


def rows_table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Plain dictionaries with the same keys, one in a row."""
    heads = [
        column(key, is_number=isinstance(value, float)) for key, value in (rows or [{}])[0].items()
    ]
    return _table(title, heads, [[_of_value(value) for value in row.values()] for row in rows])


def _of_value(value: Any) -> Cell:
    return number(value) if isinstance(value, float) else Cell(value, "label")


def trial_table(found: Trial, most: int) -> Table:
    """The largest shares, true and estimated, with a picture of each interval."""
    made = found.rows()
    scale = max(max(row["upper"], row["true"], row["estimate"]) for row in made)
    rows = sorted(made, key=lambda row: -row["true"])[:most]
    shown = _table(
        "Shares",
        [
            "label",
            "true",
            "estimate",
            "lower",
            "upper",
            f"0 to {scale:.3g}: ◇ true, ● estimate, ◆ both",
        ],
        (
            [
                Cell(row["label"], "label"),
                *(number(row[name], 3) for name in ("true", "estimate", "lower", "upper")),
                text(_drawn(row, scale)),
            ]
            for row in rows
        ),
    )
    left = len(made) - len(rows)
    return replace(shown, notes=(f"{counted(left, 'smaller share')} not shown",) if left else ())


def _drawn(row: Mapping[str, Any], scale: float, width: int = 40) -> str:
    """The interval of a share as a line, with the estimate and what is true on it."""

    def place(share: float) -> int:
        return round(min(max(share / scale, 0), 1) * (width - 1))

    drawn = [" "] * width
    low, high = place(row["lower"]), place(row["upper"])
    drawn[low : high + 1] = "─" * (high + 1 - low)
    drawn[place(row["estimate"])] = "●"
    drawn[place(row["true"])] = "◆" if place(row["true"]) == place(row["estimate"]) else "◇"
    return "".join(drawn).rstrip()


def many_estimates_table(made: ManyEstimates, top: int | None = None) -> Table:
    """The same of all symbols of a subset selection, or of the largest ones, with intervals that
    hold for all at once.
    """
    return _estimates(made.rows() if top is None else made.top(top))


def _estimates(rows: Iterable[dict[str, Any]]) -> Table:
    names = ("estimate", "error", "lower", "upper")
    return _table(
        "Estimates",
        ["label", *names],
        ([Cell(row["label"], "label"), *(number(row[n]) for n in names)] for row in rows),
    )


def subset_checks_table(checks: Iterable[LevelCheck]) -> Table:
    """Each notion with its verdict and the levels that hold."""
    rows = []
    for check in checks:
        levels = ", ".join("infinite" if v == math.inf else f"{v:.12g}" for v in check.achieved)
        rows.append([Cell(str(check.notion)), Cell(str(check.verdict), "verdict"), Cell(levels)])
    return _table("Levels", ["notion", "verdict", "level in nats"], rows)


def error_table(planned: Plan, most: int | None = None) -> Table:
    """Standard errors of so many reports, before any is collected, beside those of an open survey.

    Answers after the first ``most`` are counted in a note.
    """
    assert planned.values is not None
    values, open_errors = planned.values, planned.open_errors
    rows = [
        [
            name,
            number(float(value), 4),
            number(float(error), 3) if math.isfinite(error) else text("not told"),
            number(float(plain), 3),
        ]
        for name, value, error, plain in zip(
            _labels(planned.labels)[:most],
            values,
            planned.standard_errors,
            open_errors,
            strict=False,
        )
    ]
    return _table(
        f"Standard errors of {counted(planned.reports, 'report')}",
        [
            "answer",
            column("value", "assumed", is_number=True),
            column("error", "standard error", is_number=True),
            column("open_error", "of an open survey", is_number=True),
        ],
        rows,
        notes=_more(planned.labels, most, "answers"),
    )


# Post-randomisation


def risk_table(part: Stratum) -> Table:
    """What is believed of the true value of the records of a stratum, before and after."""
    reports = {row.category: row.worst_report for row in part.risks}
    rows = [
        [
            name,
            number(row.records, 6),
            number(row.before, 4),
            number(row.unchanged, 4),
            number(row.expected, 4),
            number(row.largest if row.records else None, 4),
            "" if reports[row.category] is None else Cell(reports[row.category], "label", 24),
        ]
        for name, row in zip(_labels(part.prior.labels), part.risks, strict=True)
    ]
    return _table(
        "Probability that a record's true value is known",
        [
            "category",
            column("records", is_number=True),
            column("before", is_number=True),
            column("unchanged", is_number=True),
            column("expected", "after, mean", is_number=True),
            column("largest", "after, largest", is_number=True),
            column("report", "when published as"),
        ],
        rows,
    )


def customary_table(part: Stratum) -> Table:
    """The designed matrix beside the customary ones at the same level."""
    found = part.design
    rows: list[list[object]] = [
        [
            "optimal",
            "",
            number(found.value, 6),
            number(share_unchanged(found.mechanism, found.prior), 4),
            number(best_guesses(found.mechanism, found.prior)[1], 4),
            "",
        ]
    ]
    for other in part.customary:
        known = other.mechanism is not None
        shares = (number(v if known else None, 4) for v in (other.unchanged, other.correct))
        value = number(other.value if known else None, 6)
        rows.append([other.name, other.setting, value, *shares, "; ".join(other.unmet)])
    return _table(
        "Customary matrices at the same level",
        [
            "matrix",
            column("setting", "parameters"),
            column("value", is_number=True),
            column("unchanged", is_number=True),
            column("correct", "guessed right", is_number=True),
            column("unmet", "does not meet"),
        ],
        rows,
    )


def example_table() -> Table:
    """The tables that are shipped."""
    return _table(
        "Shipped tables",
        ["table", "columns", "people", "source"],
        ([t.name, ", ".join(t.columns), t.people, t.source] for t in EXAMPLES.values()),
    )


# Results of the papers


def theorem_table(results: Iterable[Theorem]) -> Table:
    """Identifier, statement, whether it is tight, and source of each result."""
    return _table(
        "Results",
        ["id", "statement", "tight", "source"],
        ([r.id, r.statement, "yes" * r.tight, r.source or "derived here"] for r in results),
    )


def claim_table(outcomes: Iterable[tuple[Theorem, Outcome]]) -> Table:
    """Which results held where they were checked, and the claim of each that came closest."""
    rows = []
    for result, outcome in outcomes:
        claim = outcome.worst
        said = f"{claim.about}: {claim.found:.6g} {claim.relation} {claim.claimed:.6g}"
        verdict = Cell("yes" if outcome.ok else "NO", "verdict")
        rows.append([result.id, verdict, outcome.claims, said])
    heads = ["id", "holds", "claims", column("closest", "closest claim")]
    return _table("Checked results", heads, rows)


def erratum_table(entries: Iterable[Erratum]) -> Table:
    """Place, kind, printed and corrected statement of each erratum."""
    return _table(
        "Errata",
        ["id", "where", "kind", "printed", "corrected"],
        ([e.id, f"{e.source}, {e.place}", e.kind, e.printed, e.corrected] for e in entries),
    )


def coverage_table(entries: Iterable[Statement]) -> Table:
    """Each numbered statement: what implements it, what checks it, and how far."""
    return _table(
        "Numbered statements",
        ["id", "where", "about", "implemented by", "checked by", "how far"],
        (
            [
                e.id,
                e.place,
                e.says,
                ", ".join(e.implemented),
                ", ".join((*e.checked, *e.errata)),
                e.status + "".join(f": {why}" for why in (e.partly, e.cannot) if why),
            ]
            for e in entries
        ),
    )


def coverage_totals(entries: Iterable[Statement]) -> Table:
    """How many numbered statements of each paper are checked, and how far."""
    counts = Counter((e.source, e.status) for e in entries)
    heads = ["as printed", "partly", "not checkable"]
    papers = sorted({source for source, _ in counts})
    rows = [[paper, *(counts[paper, head] for head in heads)] for paper in papers]
    whole = [sum(int(row[k]) for row in rows) for k in range(1, 4)]
    return _table("Totals", ["paper", *heads], [*rows, ["all", *whole]])


def implied_table(
    entries: Iterable[Implication], digits: int, smallest: dict[str, str] | None = None
) -> Table:
    """Each implied level with the results it rests on, or why there is none.

    ``smallest`` are the least levels that hold, by the name of the notion, where they are known; no
    column is theirs without it.
    """
    rows = []
    for entry in entries:
        steps = [*map(str, entry.derivation), *([entry.reason] if entry.reason else [])]
        least = [] if smallest is None else [smallest.get(entry.name, "")]
        level = shown_levels(entry.levels, digits)
        rows.append([entry.name, level, *least, "\n".join(steps or ["given"])])
    least = [] if smallest is None else ["smallest"]
    heads = ["guarantee", column("level", "level in nats"), *least, "by"]
    return _table("Implied guarantees", heads, rows)


def tight_table(conversions: Sequence[TightConversion]) -> Table:
    """Each smallest level with what decides it and what a witness attains."""
    rows = []
    for found in conversions:
        name = type(found.target).__name__
        for entry in found.levels:
            attained = "no witness" if entry.witness is None else f"{entry.attained:.12g}"
            pair = f"{shorten(entry.over, 30)} against {shorten(entry.under, 30)}"
            rows.append([name, shown_levels([entry.level], 12), attained, pair, entry.method])
    heads = ["guarantee", column("level", "level in nats"), "attained", "decided by", "method"]
    return _table("Smallest levels that always hold", heads, rows)


def shown_levels(levels: Iterable[float], digits: int) -> str:
    """Levels in words, rounded up so that they still hold."""
    return ", ".join("infinite" if math.isinf(v) else rounded_up(v, digits) for v in levels)


def _table(
    title: str, heads: Iterable[object], rows: Iterable[Iterable[object]], **more: Any
) -> Table:
    """A table with heads and cells of text where they are neither columns nor cells."""
    return Table(
        title,
        tuple(head if isinstance(head, Column) else column(str(head)) for head in heads),
        tuple(_row(*row) for row in rows),
        **more,
    )


def _row(*values: object) -> tuple[Cell, ...]:
    return tuple(value if isinstance(value, Cell) else text(value) for value in values)


def _after(things: Sequence[Any], most: int | None) -> Sequence[Any]:
    """What is left of a sequence after its first ``most``, nothing where there is no limit."""
    return things[len(things) if most is None else most :]


def _more(things: Sequence[Any], most: int | None, name: str) -> tuple[str, ...]:
    """A note on how many are not shown, if any."""
    hidden = len(_after(things, most))
    return (f"{hidden} more {_named(name, hidden)} not shown",) if hidden else ()


def _named(names: str, count: int) -> str:
    """A plural, or the singular where there is one."""
    return names.removesuffix("s") if count == 1 else names


def _labels(labels: Sequence[Label], width: int = 18, page: int = 40) -> list[Cell]:
    """Cells of labels, told apart within a width on a terminal and within one in a page."""
    names = zip(labels, short_names(labels, page), short_names(labels, width), strict=True)
    return [Cell(label, "label", short=short, narrow=narrow) for label, short, narrow in names]


def _pairs(title: str, rows: Iterable[Iterable[object]]) -> Table:
    """A table of names and values, without heads."""
    return _table(title, [column("name", ""), column("value", "")], rows)
