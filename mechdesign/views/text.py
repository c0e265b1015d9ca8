"""Results on a terminal: designs, audits, comparisons, estimates, what papers prove."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import table as rich
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from .._audit import AuditReport
from ..certificate.certificate import gap_text
from ..errors import quote, visible_lines
from ..exact import decimals_up, rounded_up
from ..labels import counted, listing, one_line, shorten, told_of_sets
from ..solve._design import Design, agreement_lines
from ..solve.sensitivity import requirement_prices
from ..subsets import PublicSelection
from . import tables
from .tables import Cell, Table

if TYPE_CHECKING:
    from .._compare.comparison import Comparison
    from .._try_out import Trial
    from ..inference.many import ManyEstimates
    from ..inference.results import Estimate, GroupEstimates, Intervals
    from ..mechanism import Mechanism
    from ..prior import Prior
    from ..release._pram import Pram
    from ..release.persons import PersonAccount
    from ..subsets import LevelCheck, SubsetSelection
    from ..theory import (
        Erratum,
        Implication,
        Implications,
        Outcome,
        Statement,
        Theorem,
        TightConversion,
    )

# More rows than this, and more columns of outputs, are counted and not shown.
_MOST_ROWS, _MOST_COLUMNS = 30, 8
# Shares that fit on one screen with what stands around them.
_MOST_SHARES = 15


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


class Report:
    """Lines and tables on standard output, wide enough for a kernel when it is not a terminal."""

    def __init__(self) -> None:
        found = SafeConsole(highlight=False, soft_wrap=False, markup=False)
        if not found.is_terminal:
            found = SafeConsole(highlight=False, markup=False, width=110)
        self._console = found

    def line(self, text: str, style: str = "", after: str = "") -> None:
        """A line, as long as it is; ``after`` follows in the terminal's own colour."""
        shown = Text(text, style=style)
        self._console.print(shown.append(Text(after)), soft_wrap=True)

    def head(self, text: str) -> None:
        """A line that is wrapped and stands out."""
        self._console.print(Text(text, style="bold"))

    def table(self, table: Table, *, titled: bool = True, ruled: bool = False) -> None:
        """A table, with its title, and lines between its rows where they are long."""
        self._console.print(rich_table(table, titled=titled, ruled=ruled))


def rich_table(table: Table, *, titled: bool = True, ruled: bool = False) -> rich.Table:
    """A table for a terminal, with its notes below."""
    shown = rich.Table(
        title=table.title if titled else None,
        title_justify="left",
        show_header=table.has_heads,
        show_lines=ruled,
    )
    for column in table.columns:
        shown.add_column(
            cell_text(column.head),
            justify="right" if column.is_number else "left",
            # Without heads the last column holds long texts, of which all must be seen.
            overflow="ellipsis" if table.has_heads else "fold",
        )
    for row in table.rows:
        shown.add_row(*map(cell_text, row))
    if table.foot:
        shown.add_section()
    for row in table.foot:
        shown.add_row(*map(cell_text, row))
    shown.caption = "\n".join(table.notes) or None
    return shown


def cell_text(cell: Cell) -> Text:
    """What a terminal shows of a cell: six decimals where no number of digits is asked for."""
    if cell.value is None and cell.kind != "label":
        return Text(cell.after)
    if cell.kind == "label":
        if cell.narrow:
            return Text(cell.narrow)
        width = cell.digits
        return Text(one_line(cell.value) if width is None else shorten(cell.value, width))
    if cell.kind == "verdict":
        return Text(str(cell.value), style=_style(cell.value)).append(Text(cell.after))
    if cell.kind == "text":
        return Text(f"{cell.value}{cell.after}")
    if math.isinf(cell.value):
        return Text("infinite" + cell.after)
    if cell.kind == "level":
        digits = cell.digits
        up = decimals_up(cell.value) if digits is None else rounded_up(cell.value, digits)
        return Text(up + cell.after)
    form = ".6f" if cell.digits is None else f".{cell.digits}g"
    return Text(f"{cell.value:{form}}{cell.after}")


def _kernel_table(mechanism: Mechanism, prior: Prior) -> Table:
    return tables.kernel_table(mechanism, prior, rows=_MOST_ROWS, columns=_MOST_COLUMNS)


def _print_kernel(out: Report, mechanism: Mechanism, prior: Prior) -> None:
    """A kernel or its largest entries, and what outputs are that stand for sets of symbols."""
    if len(mechanism.outputs) <= _MOST_COLUMNS:
        out.table(_kernel_table(mechanism, prior))
    else:
        out.table(tables.largest_table(mechanism, prior, _MOST_ROWS))
        out.line(f"All {len(mechanism.outputs)} outputs: --csv kernel.csv of design and check.")
    sets = told_of_sets(mechanism.inputs, mechanism.outputs)
    if sets:
        out.line(sets)


def _style(verdict: object) -> str:
    return {"yes": "green", "no": "red", "NO": "bold red"}.get(str(verdict), "yellow")


# Designs, audits, comparisons, estimates


def print_design(found: Design, report: AuditReport, reports: int | None = None) -> None:
    """What is asked first, how well so many reports tell the frequencies where a number is given,
    value and proof, what requirements cost, what the kernel leaks, and the kernel.
    """
    out = Report()
    asked = ", ".join(str(notion) for notion in found.notions)
    out.head(f"{asked}, utility {found.utility!r}: {found.status}")
    out.table(tables.answers_table(found, report))
    if reports is not None:
        _print_errors(out, found, reports)
    out.table(tables.certificate_table(found))
    for line in agreement_lines(found):
        out.line(line)
    prices = requirement_prices(found)
    if prices is not None and prices.limits:
        out.table(tables.price_table(prices))
    out.table(tables.leakage_table(report))
    _print_kernel(out, found.mechanism, found.prior)


def _print_errors(out: Report, found: Design, reports: int) -> None:
    # With what it plans by, this takes as long to load as all the rest.
    from ..inference.planning import NOT_SHOWN, errors_to_show

    planned = errors_to_show(found, found.prior, reports)
    if planned is None:
        out.line(NOT_SHOWN)
    else:
        out.table(tables.error_table(planned, _MOST_ROWS))


def exclusion_lines(report: AuditReport, most: int = 5) -> list[str]:
    """Which outputs rule out which symbols, a sentence each; those after the first are counted."""
    found = report.ruled_out
    lines = [
        f"Output {quote(output)} never comes from {listing(inputs)}: whoever sees it knows that it "
        "was none of these, and LDP is unbounded."
        for output, inputs in list(found.items())[:most]
    ]
    more = len(found) - len(lines)
    return [*lines, f"{more} more such outputs not shown."] if more else lines


def print_audit(report: AuditReport) -> None:
    """Leakage under every notion and per outcome, then the verdicts."""
    out = Report()
    n, m = report.mechanism.shape
    out.head(f"Audit of a kernel with {counted(n, 'input')} and {counted(m, 'output')}")
    _print_kernel(out, report.mechanism, report.prior)
    out.table(tables.leakage_table(report))
    out.table(tables.outcome_table(report, _MOST_ROWS))
    for line in exclusion_lines(report):
        out.line(line)
    for check in report.checks:
        style = f"bold {_style(check.verdict)}"
        out.line(f"{check.notion}: {check.verdict}", style, after=f"  ({check.evidence})")
    for kept in report.kept:
        style = f"bold {_style(kept.verdict)}"
        out.line(f"{kept.requirement}: {kept.verdict}", style, after=f"  ({kept.shown})")


def print_comparison(found: Comparison) -> None:
    """Value by level, one column per notion, for each prior and utility; then the verdict."""
    out = Report()
    for prior, utility in found.panels:
        out.table(tables.frontier_table(found, prior, utility))
    out.head("Verdict")
    for sentence in found.verdict:
        out.line(sentence)
    out.line(f"Every kernel checked exactly; largest gap {gap_text(found.worst_gap)}.")


def print_many_estimates(made: ManyEstimates, top: int) -> None:
    """How frequencies were estimated, and the largest with their errors and intervals."""
    out = Report()
    out.line(made.describe(together=True))
    out.table(tables.many_estimates_table(made, top), titled=False)


def print_estimate(made: Estimate) -> None:
    """How frequencies were estimated, and each with its error and interval; what is to be said of
    them.
    """
    out = Report()
    out.line(made.describe())
    out.table(tables.intervals_table(made), titled=False)
    for remark in made.remarks():
        out.line(remark)


def print_trial(found: Trial) -> None:
    """What one report gives away, how many an error takes, and shares true and estimated."""
    out = Report()
    privacy, reports = found.sentences()
    out.line(privacy)
    out.line(reports)
    out.line(f"One survey of {counted(found.people, 'person', 'people')}:")
    out.table(tables.trial_table(found, _MOST_SHARES), titled=False)


def print_groups(made: GroupEstimates) -> None:
    """Estimates of each group, and what each differs by from the first."""
    out = Report()
    for group, each in zip(made.groups, made.estimates, strict=True):
        out.head(f"{one_line(made.column)} {one_line(group)}")
        out.line(each.describe())
        out.table(tables.intervals_table(each), titled=False)
    for difference in made.differences():
        print_intervals(difference, out)


def print_intervals(made: Intervals, out: Report | None = None) -> None:
    """What numbers are, and each with its error and interval."""
    out = out or Report()
    out.head(made.describe())
    out.table(tables.intervals_table(made), titled=False)


def print_subset_checks(selection: SubsetSelection, checks: Sequence[LevelCheck]) -> None:
    """Verdicts and levels of a subset selection."""
    out = Report()
    out.line(repr(selection).splitlines()[-1])
    out.table(tables.subset_checks_table(checks), titled=False)


def print_subset_selection(selection: SubsetSelection) -> None:
    """Levels, risk and bound of a subset selection, its symbols and reports."""
    out, (head, *lines) = Report(), repr(selection).splitlines()
    out.head(head)
    for line in lines:
        out.line(line)
    if not isinstance(selection, PublicSelection):
        error = math.sqrt(selection.risk / 1e6)
        out.line(f"error  {error:.4g} of a million reports, the root of the squared error of all")


def print_pram(found: Pram) -> None:
    """Each kernel with what is known of the records, and the customary matrices beside it."""
    out = Report()
    for line in repr(found).splitlines():
        out.line(line)
    for part in found.strata:
        if part.name is not None:
            out.head(f"Stratum {one_line(part.name)}")
        if part in found.kernels:
            out.table(_kernel_table(part.mechanism, part.design.prior))
        out.table(tables.risk_table(part))
        if part in found.kernels:
            out.table(tables.customary_table(part))
    out.line(
        f"{found.unchanged:.2%} of {found.records:g} records unchanged; guessed right: "
        f"{found.correct_before:.1f} before, {found.correct_after:.1f} after; largest posterior "
        f"{found.largest:.4g}"
    )


def print_releases(releases: Iterable[Mapping[str, Any]]) -> None:
    """The releases of a ledger, a table for each name of people in the order of their first."""
    of_people: dict[str, list[Mapping[str, Any]]] = {}
    for release in releases:
        of_people.setdefault(release["name"], []).append(release)
    out = Report()
    for name, part in of_people.items():
        out.table(tables.release_table(one_line(name), part))
    if not of_people:
        out.line("nothing was released")


def print_account(account: PersonAccount) -> None:
    """What one person has given away, together and draw by draw."""
    out = Report()
    out.line(str(account))
    if account.entries:
        out.table(tables.account_table(account))


def print_examples() -> None:
    """The shipped tables."""
    Report().table(tables.example_table())


# Results, errata and conversions


def print_theorems(results: Sequence[Theorem]) -> None:
    """Identifier, statement and source of each result."""
    out = Report()
    out.table(tables.theorem_table(results), titled=False)
    check = "mechdesign research theorems check --all"
    out.line(f"{counted(len(results), 'result')}; check them with: {check}")


def print_theorem(result: Theorem) -> None:
    """All there is to say about one result."""
    out = Report()
    out.head(result.id)
    for name, text in (
        ("also", ", ".join(result.also)),
        ("statement", result.statement),
        ("conditions", result.conditions),
        ("tight", "yes: each check holds an instance that attains it" if result.tight else "no"),
        ("slack", result.slack),
        ("source", result.source or "derived in this project"),
    ):
        if text:
            out.line(f"{name:<11} {text}")


def print_outcomes(outcomes: Sequence[tuple[Theorem, Outcome]]) -> None:
    """Which results held, and the claim of each that came closest to failing."""
    out = Report()
    out.table(tables.claim_table(outcomes), titled=False)
    failed = [result.id for result, outcome in outcomes if not outcome.ok]
    said = f"{len(failed)} failed: {', '.join(failed)}" if failed else "all hold"
    out.line(f"{counted(len(outcomes), 'result')} checked, {said}")


def print_errata(entries: Iterable[Erratum]) -> None:
    """Place, kind, printed and corrected statement of each erratum."""
    from ..papers.claims import READ_AS

    out = Report()
    out.table(tables.erratum_table(entries), titled=False, ruled=True)
    out.line(READ_AS)


def print_coverage(entries: Sequence[Statement]) -> None:
    """What checks each numbered statement of the papers, and how many are checked how far."""
    out = Report()
    out.table(tables.coverage_table(entries), titled=False, ruled=True)
    if len(entries) > 1:
        out.table(tables.coverage_totals(entries))
        out.line(counted(len(entries), "numbered statement"))


def print_erratum(entry: Erratum) -> None:
    """One erratum with its counterexamples, computed now."""
    from ..papers.claims import READ_AS

    out = Report()
    out.head(f"{entry.id}  {entry.source}, {entry.place} ({entry.kind})")
    for name, text in (
        ("quotation", f"“{entry.quotation}”"),
        ("judged", entry.printed),
        ("reading", entry.reading),
        ("corrected", entry.corrected),
        ("proof", entry.proof),
    ):
        out.line(f"{name:<11} {text}")
    for example in entry.counterexamples():
        out.line(f"computed    {example}")
    out.line(f"text        {READ_AS}")


def print_implications(found: Implications, entries: Sequence[Implication]) -> None:
    """Each implied level with the results it rests on, or why there is none."""
    out = Report()
    out.head(", ".join(map(str, found.given)) + " implies")
    out.table(tables.implied_table(entries, 12), titled=False)


def print_tight(conversions: Sequence[TightConversion]) -> None:
    """Each smallest level with what decides it and whether a witness attains it."""
    out = Report()
    given = ", ".join(map(str, conversions[0].source))
    out.head(f"{given} implies, at the smallest levels that always hold")
    out.table(tables.tight_table(conversions), titled=False)
