"""``mechdesign estimate``: what reports say, of one column or two, of one round or two."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..arguments import read_feature, read_sizes, read_truth
from ..bin_arguments import read_ends
from ..errors import UnknownNameError, quote
from ..labels import counted
from ..progress import waiting
from ..release.codes import show_values as quote_values
from .options import (
    AsJson,
    By,
    Confidence,
    Feature,
    Force,
    Kernel,
    Misfit,
    ReceiptFile,
    ShowValues,
    TableFile,
    TextForm,
    expect_picture,
    expect_table,
    refuse,
    save_table,
    typed,
)
from .output import note, print_json, say

if TYPE_CHECKING:
    from ..inference.number_answers import Histogram, NumberEstimate
    from ..inference.results import Estimate
    from ..inference.surveys import Survey
    from ..views.tables import Table


@dataclass(frozen=True)
class SurveyOptions:
    """How the sample was drawn."""

    weights: Annotated[
        str | None, typer.Option(help="Column of weights: for how many people each one stands.")
    ] = None
    strata: Annotated[
        str | None, typer.Option(help="Column of strata that the sample was drawn in.")
    ] = None
    clusters: Annotated[
        str | None, typer.Option(help="Column of clusters that were drawn, within the strata.")
    ] = None
    by_group: Annotated[
        str | None,
        typer.Option(help="Column of groups: an estimate for each, and how they differ."),
    ] = None
    population: Annotated[
        Any,
        typer.Option(
            help="Size of a finite population, such as 12000, or of each stratum: a=9000,b=3000 or "
            "a JSON file. Clusters are counted where there are any."
        ),
        read_sizes,
    ] = None
    weighting: Annotated[
        str,
        typer.Option(
            help="hajek (by the sum of weights) or horvitz-thompson (by the size of the "
            "population)."
        ),
    ] = "hajek"

    def read(self) -> Survey:
        """What is asked, with the population as numbers."""
        from ..inference.surveys import Survey

        return Survey(**{each.name: getattr(self, each.name) for each in fields(self)})


@dataclass(frozen=True)
class LimitOptions:
    """Which limits numbers have."""

    side: Annotated[
        str,
        typer.Option(
            help="both, lower or upper: limits of one side have all of the error rate on it."
        ),
    ] = "both"
    together: Annotated[
        bool,
        typer.Option(
            "--together",
            help="All intervals of an estimate, of a group or of a difference hold at once "
            "(Bonferroni).",
        ),
    ] = False

    def of(self, made: Any) -> Any:
        """An estimate with these limits."""
        if (self.side, self.together) == ("both", False):
            return made
        return made.with_limits(side=self.side, together=self.together)


def estimate(
    context: typer.Context,
    kernel: Kernel,
    reports: Annotated[
        str, typer.Argument(help="File of any kind with the reports, or counts (.json).")
    ],
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            help="Column that holds the reports. Repeat it for the reports of several columns; "
            "where it is left out, the columns that the design or plan knows, or 'report'.",
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(help="inversion (unbiased) or likelihood (stays in the simplex).")
    ] = "inversion",
    by: By = "symbols",
    feature: Feature = None,
    intervals: Annotated[
        str,
        typer.Option(
            help="binomial (holds at rare answers too); delta or bootstrap for comparison with "
            "other software."
        ),
    ] = "binomial",
    confidence: Confidence = 0.95,
    target: Annotated[
        str,
        typer.Option(help="population (where people came from) or sample (those who reported)."),
    ] = "population",
    missing: Annotated[
        str, typer.Option(help="Missing reports: error, drop or category.")
    ] = "error",
    second: Annotated[
        str | None,
        typer.Option(
            "--with", metavar="DESIGN", help="Design of a second column, for joint frequencies."
        ),
    ] = None,
    second_column: Annotated[
        str | None, typer.Option("--with-column", help="Column of its reports.")
    ] = None,
    second_feature: Annotated[
        str | None, typer.Option("--with-feature", help="As --feature, for the second column.")
    ] = None,
    second_round: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="DESIGN REPORTS",
            help="Design and file of a second round of the same survey, to add up with the first.",
        ),
    ] = None,
    second_round_column: Annotated[
        str | None, typer.Option(help="Column of its reports; that of the first when left out.")
    ] = None,
    people: Annotated[
        str,
        typer.Option(
            help="With --second-round: different (nobody reports twice) or same (all report in "
            "both columns of one file)."
        ),
    ] = "different",
    change: Annotated[
        bool,
        typer.Option(
            "--change",
            help="With --second-round and --person, whoever took part in both: how shares changed.",
        ),
    ] = False,
    person: Annotated[
        str | None, typer.Option(help="With --change: column that says whom each report is of.")
    ] = None,
    second_person: Annotated[
        str | None, typer.Option(help="With --change: that of the second round, if another.")
    ] = None,
    second_receipt: Annotated[
        Path | None, typer.Option(help="With --change: file with the receipt of the second round.")
    ] = None,
    given: Annotated[
        str | None,
        typer.Option(
            help="One of the two columns, of a plan too: frequencies of the other given each value."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    receipt: ReceiptFile = None,
    misfit: Misfit = "error",
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Of a subset selection, or many columns, the largest shares only; their intervals "
            "hold for all shares at once.",
        ),
    ] = None,
    truth: Annotated[
        Any,
        typer.Option(
            help="Distribution at which the inversion is most exact, written as --prior; that of "
            "the design when left out."
        ),
        read_truth,
    ] = None,
    mean: Annotated[
        bool,
        typer.Option("--mean", help="Of a column of numbers or dates in bins: their mean."),
    ] = False,
    quantile: Annotated[
        list[float] | None,
        typer.Option(help="Of such a column: such as 0.5, the median. Repeat it."),
    ] = None,
    histogram: Annotated[
        bool,
        typer.Option("--histogram", help="Of such a column: shares and densities."),
    ] = False,
    ends: Annotated[
        Any,
        typer.Option(
            help="With them, the least and largest number or date there can be, such as 0..120."
        ),
        read_ends,
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Save a picture of the estimates (.png, .svg or .pdf)."),
    ] = None,
    output: TableFile = None,
    show_values: ShowValues = False,
    as_json: AsJson = False,
    force: Force = False,
    *,
    survey: SurveyOptions,
    limits: LimitOptions,
    form: TextForm,
) -> None:
    """Estimate shares of the secret from reports, with error bars.

    With a second design and column: joint frequencies of both, or of one given the other. With
    a second round: both rounds of a survey added up, and what each person gave away; or, with
    --change, how shares changed, with errors that know of people who reported in both.
    """
    if show_values:
        context.with_resource(quote_values())
    names = list(columns or [])
    if given is not None and second is None and second_column is None and second_round is None:
        second, second_column = _other_of_plan(kernel, names)
    if change and (second_round is None or person is None):
        got = "no --person" if second_round is not None else "no second round"
        refuse("--change", "--second-round and --person beside it", got, "name both")
    if second is not None or second_column is not None:
        kind = "two columns"
    elif second_round is None:
        kind = "one column"
    else:
        kind = "a change" if change else "two rounds"
    for name, kinds in _MEANT.items():
        for option in typed(context, [name]) if kind not in kinds else ():
            needs = " or ".join(_NEEDS[kind] for kind in kinds)
            refuse(option, f"estimates of {needs}", kind, "leave it out")
    if by not in ("symbols", "blocks"):
        refuse("--by", "symbols or blocks", quote(by, 40), "name a column of groups by --by-group")
    drawn = survey.read()
    of_bins = bool(mean or quantile or histogram)
    if drawn.by_group is not None and (plot is not None or of_bins):
        option = "--plot" if plot is not None else "--mean, --quantile and --histogram"
        remedy = f"leave out --by-group, or leave out {option}"
        refuse(option, "one estimate", "groups", remedy)
    if ends is not None and not (mean or quantile):
        expected = "--mean or --quantile beside it"
        refuse("--ends", expected, "it alone", "add --mean, or leave it out")
    if plot is not None:
        expect_picture(plot, force=force)
    expect_table(output, force=force)
    options: dict[str, Any] = {"by": by, "confidence": confidence, "misfit": misfit}
    options |= {"missing": missing, "truth": truth}
    once = {"method": method, "intervals": intervals, "target": target, "rng": seed}
    shown = _Shown(plot, output, as_json=as_json, force=force, top=top)
    if kind == "one column":
        answers = partial(_numbers, mean=mean, quantiles=quantile, ends=ends, histogram=histogram)
        _of_columns(
            kernel,
            form,
            reports,
            names,
            drawn,
            feature,
            options | once | {"receipt": receipt},
            answers if of_bins else None,
            limits,
            shown,
        )
        return
    if len(names) != 1:
        got = str(len(names)) if names else "none"
        refuse("--column", "the column that holds the reports", got, "name one column")
    (column,) = names
    if kind == "two columns":
        del options["truth"]
        sides = ((kernel, column, feature), (second, second_column, second_feature))
        options |= {**once, "receipts": [receipt] * 2}
        _joint(form.reports(reports), sides, given, limits, shown, options)
        return
    assert second_round is not None
    then, there = second_round
    designs = [_one_of(kernel, column), _one_of(then, second_round_column or column)]
    columns = [column, second_round_column or column]
    files: Any = [form.reports(reports), form.reports(there)]
    if change:
        persons = [person, second_person or person]
        options |= {"person": persons, "receipts": [receipt, second_receipt]}
    elif people == "same":
        if files[0] != files[1] or columns[0] == columns[1]:
            refuse(
                "--people same",
                "one file with a column of reports for each round",
                " and ".join(
                    f"{file.path}, column {quote(name)}"
                    for file, name in zip(files, columns, strict=True)
                ),
                "name that file in both places, and --second-round-column",
            )
        files = files[0]
    _rounds(files, designs, columns, feature, limits, shown, options, None if change else people)


# What each kind of estimate takes, and the options that only some of them know.
_NEEDS = {
    "one column": "one column in one round",
    "two columns": "two columns (--with and --with-column)",
    "two rounds": "two rounds (--second-round)",
    "a change": "a change (--change)",
}
_SURVEY = ("weights", "strata", "clusters", "by_group", "population", "weighting")
_MEANT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys((*_SURVEY, "mean", "quantile", "histogram", "ends", "top"), ("one column",)),
    **dict.fromkeys(("second_feature", "given"), ("two columns",)),
    **dict.fromkeys(("method", "intervals", "target", "seed"), ("one column", "two columns")),
    **dict.fromkeys(("person", "second_person", "second_receipt"), ("a change",)),
    "people": ("two rounds",),
    "second_round_column": ("two rounds", "a change"),
    "receipt": ("one column", "two columns", "a change"),
    "plot": ("one column", "two rounds"),
    "truth": ("one column", "two rounds", "a change"),
}


@dataclass(frozen=True)
class _Shown:
    """How an estimate is shown: as a table or JSON, and in files."""

    plot: Path | None
    output: Path | None
    as_json: bool
    force: bool
    top: int | None = None

    def show(
        self,
        made: Any,
        table: Table,
        shown: Mapping[str, Any],
        printed: Callable[[], None],
        remark: str = "",
    ) -> None:
        """Write the files, and print JSON, or what people read and what is to be said of it."""
        if self.plot is not None:
            from ..plotting._plot_estimate import plot_estimate
            from ..plotting.style import save_figure

            save_figure(plot_estimate(made).figure, self.plot, overwrite=self.force)
            note(f"saved {self.plot}")
        save_table(table, self.output, force=self.force)
        if self.as_json:
            print_json(shown)
            return
        printed()
        if remark:
            note(remark)


def _one_of(path: str | None, column: str) -> Any:
    """A saved kernel, or of a plan that of a column."""
    from ..kernel_files import is_plan_file, load_kernel, load_release

    if path is not None and is_plan_file(path):
        plan: Any = load_release(path)
        return plan[column]
    return load_kernel(str(path))


def _other_of_plan(kernel: str, names: list[str]) -> tuple[str | None, str | None]:
    """The plan and the second of its two columns, where a plan was named; the first stays."""
    from ..kernel_files import is_plan_file, load_release
    from ..solve.columns_plan import KernelPlan

    if not is_plan_file(kernel):
        return None, None
    plan = load_release(kernel)
    assert isinstance(plan, KernelPlan)
    found = names or list(plan.names)
    if len(found) != 2:
        expected = "two columns of the plan beside it"
        refuse("--given", expected, str(len(found)), "name them, each with --column")
    names[:], other = found[:1], found[1]
    return kernel, other


def _of_columns(
    kernel: str,
    form: TextForm,
    reports: str,
    names: list[str],
    drawn: Survey,
    feature: str | None,
    options: dict[str, Any],
    answers: Callable[[Estimate], list[NumberEstimate | Histogram]] | None,
    limits: LimitOptions,
    shown: _Shown,
) -> None:
    """Estimates from reports in one column, or in several of a plan or of a kernel on tuples."""
    from ..inference._estimate import estimate as run_estimate
    from ..inference.many import large_columns
    from ..kernel_files import check_order, load_release
    from ..mechanism import ImplicitKernel, mechanism_of
    from ..published import kernel_fingerprint
    from ..release.report_counts import ReportCounts
    from ..release.reports import report_columns
    from ..solve.columns_plan import KernelPlan
    from ..views import plain, tables, text

    check_order(kernel, reports)
    designed: Any = load_release(kernel)
    is_counts = reports.lower().endswith(".json")
    source: Any = ReportCounts.load(reports) if is_counts else form.reports(reports)
    names = names or (["report"] if is_counts else report_columns(designed, source))
    if isinstance(designed, KernelPlan) and len(names) == 1:
        designed = designed[names[0]]
    is_selection = isinstance(designed, ImplicitKernel)
    is_many = is_selection or large_columns(designed, names) is not None
    if is_many:
        asked = {"--plot": shown.plot, "--feature": feature, "--mean and its like": answers}
        for option, value in asked.items():
            if value is not None:
                got = "a subset selection" if is_selection else f"{len(names)} columns at once"
                expected, remedy = "the estimates of fewer shares", "leave it out; --json has all"
                refuse(option, expected, got, remedy)
    else:
        if shown.top is not None:
            expected = "a saved subset selection, or a plan for more combinations"
            refuse("--top", expected, "a kernel with a matrix", "leave it out")
        one = designed.product(names) if isinstance(designed, KernelPlan) else designed
        options["feature"] = read_feature(feature, mechanism_of(one))
    column: Any = names if len(names) > 1 else names[0]
    with waiting("estimating", show=sys.stderr.isatty()):
        made: Any = limits.of(run_estimate(source, designed, column, **options, **vars(drawn)))
    if is_many:
        kernels = (
            designed.fingerprint
            if is_selection
            else {name: kernel_fingerprint(mechanism_of(designed[name])) for name in names}
        )
        told = plain.many_estimates_json(made, kernels, shown.top)
        table = tables.many_estimates_table(made, shown.top)
        printed = partial(text.print_many_estimates, made, shown.top or 10)
        shown.show(made, table, told, printed, made.note)
        return
    fingerprint = kernel_fingerprint(mechanism_of(one))
    if drawn.by_group is not None:
        told = plain.groups_json(made, fingerprint)
        printed = partial(text.print_groups, made)
        shown.show(made, tables.rows_table("Estimates", made.rows()), told, printed, made.note)
        return
    told = (plain.survey_json if drawn.asked else plain.estimate_json)(made, fingerprint)
    found = [] if answers is None else answers(made)
    _show_one(made, told, shown, found)


def _show_one(
    made: Any,
    told: dict[str, Any],
    shown: _Shown,
    answers: Sequence[NumberEstimate | Histogram] = (),
) -> None:
    """One estimate, and what is asked about the numbers in its bins."""
    from ..inference.number_answers import Histogram
    from ..views.tables import intervals_table
    from ..views.text import print_estimate

    numbers = [one.to_json() for one in answers if not isinstance(one, Histogram)]
    bars = [one.rows() for one in answers if isinstance(one, Histogram)]
    told |= {"numbers": numbers} if numbers else {}
    told |= {"histogram": bars[0]} if bars else {}

    def printed() -> None:
        print_estimate(made)
        for one in answers:
            say(repr(one))

    shown.show(made, intervals_table(made), told, printed, made.note)


def _numbers(
    made: Estimate, mean: bool, quantiles: list[float] | None, ends: Any, histogram: bool
) -> list[NumberEstimate | Histogram]:
    """What is asked about the numbers in bins."""
    return [
        *([made.mean(ends=ends)] if mean else []),
        *(made.quantile(q, ends=ends) for q in quantiles or []),
        *([made.histogram()] if histogram else []),
    ]


def _rounds(
    files: Any,
    designs: list[Any],
    columns: list[str],
    feature: str | None,
    limits: LimitOptions,
    shown: _Shown,
    options: dict[str, Any],
    people: str | None,
) -> None:
    """Two rounds of a survey added up, or, where nothing is said of people, what changed."""
    from ..inference._estimate_rounds import estimate_change, estimate_rounds
    from ..mechanism import mechanism_of
    from ..published import kernel_fingerprint
    from ..views.plain import change_json, rounds_json
    from ..views.tables import intervals_table
    from ..views.text import print_intervals

    mechanisms = [mechanism_of(designed) for designed in designs]
    kernels = [kernel_fingerprint(mechanism) for mechanism in mechanisms]
    options["feature"] = read_feature(feature, mechanisms[0])
    with waiting("estimating", show=sys.stderr.isatty()):
        made: Any = (
            estimate_change(files[0], files[1], designs, columns, **options)
            if people is None
            else estimate_rounds(files, designs, columns, people=people, **options)
        )
        made = limits.of(made)
    if people is not None:
        _show_one(made, rounds_json(made, kernels), shown)
        return
    printed = partial(print_intervals, made)
    shown.show(made, intervals_table(made), change_json(made, kernels), printed, made.note)


def _joint(
    reports: Any,
    sides: tuple[tuple[str | None, str | None, str | None], ...],
    given: str | None,
    limits: LimitOptions,
    shown: _Shown,
    options: dict[str, Any],
) -> None:
    """Joint or conditional frequencies of two columns, each with design, column and feature."""
    from ..inference._estimate_joint import estimate_joint
    from ..mechanism import mechanism_of
    from ..published import kernel_fingerprint
    from ..views.plain import joint_json
    from ..views.tables import rows_table

    paths, names, asked = zip(*sides, strict=True)
    if None in paths or None in names:
        remedy = "name the second design and the column of its reports"
        refuse("joint estimate", "both --with and --with-column", "only one of them", remedy)
    columns = [str(name) for name in names]
    if given is not None and given not in columns:
        raise UnknownNameError("column that is given", given, columns)
    designs = [_one_of(path, name) for path, name in zip(paths, columns, strict=True)]
    mechanisms = [mechanism_of(designed) for designed in designs]
    features = [read_feature(*pair) for pair in zip(asked, mechanisms, strict=True)]
    if columns[0] == columns[1]:
        remedy = "name the column of the second design"
        refuse("--with-column", "another column than --column", quote(columns[0]), remedy)
    with waiting("estimating", show=sys.stderr.isatty()):
        made = limits.of(estimate_joint(reports, designs, columns, features=features, **options))
    table = made if given is None else made.conditional(given)
    kernels = [kernel_fingerprint(mechanism) for mechanism in mechanisms]
    about = f"{columns[0]} (rows) and {columns[1]} (columns)"
    if given is not None:
        about = f"{next(c for c in columns if c != given)} given {given} (rows)"

    def printed() -> None:
        say(f"{about}, from {counted(made.reports, 'report')}")
        say(repr(table))

    told = joint_json(made, table, given, kernels)
    remark = made.note if table is not made else ""
    shown.show(made, rows_table("Cells", table.records()), told, printed, remark)
