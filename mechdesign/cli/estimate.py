"""``mechdesign estimate``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from ..arguments import read_feature, read_sizes, read_truth
from ..bin_arguments import read_ends
from ..errors import InputError, UnknownNameError, quote
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
    TextForm,
    expect_picture,
    note,
    print_json,
    say,
)

if TYPE_CHECKING:
    from ..inference.many import ManyEstimates
    from ..inference.number_answers import Histogram, NumberEstimate
    from ..inference.results import Estimate, GroupEstimates
    from ..inference.surveys import Survey
    from ..release.reports import ReportFile


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
        str | None,
        typer.Option(
            help="Size of a finite population, such as 12000, or of each stratum: a=9000,b=3000 or "
            "a JSON file. Clusters are counted where there are any."
        ),
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

        found = {each.name: getattr(self, each.name) for each in fields(self)}
        if self.population is not None:
            found["population"] = read_sizes(self.population)
        return Survey(**found)


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
        str | None,
        typer.Option(
            help="With --second-round: different (nobody reports twice) or same (all report in "
            "both columns of one file)."
        ),
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
        str | None,
        typer.Option(
            help="Distribution at which the inversion is most exact, written as --prior; that of "
            "the design when left out."
        ),
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
        str | None,
        typer.Option(
            help="With them, the least and largest number or date there can be, such as 0..120."
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Save a picture of the estimates (.png, .svg or .pdf)."),
    ] = None,
    show_values: ShowValues = False,
    as_json: AsJson = False,
    force: Force = False,
    *,
    survey: SurveyOptions,
    limits: LimitOptions,
    form: TextForm,
) -> None:
    """Estimate the distribution of the secret from reports, with error bars.

    With a second design and column: joint frequencies of both, or of one given the other. With
    a second round: both rounds of a survey added up, and what each person gave away.
    """
    if show_values:
        context.with_resource(quote_values())
    names = list(columns or [])
    if given is not None and second is None and second_column is None and second_round is None:
        second, second_column = _other_of_plan(kernel, names)
    joint = second is not None or second_column is not None
    drawn = survey.read()
    several = joint or second_round is not None
    of_bins, two = bool(mean or quantile or histogram), "two columns" if joint else "two rounds"
    one = "the estimates of one column"
    for name in drawn.asked[:several]:
        option = "--" + name.replace("_", "-")
        _refuse(option, f"{one} of one survey", two, "estimate one at a time")
    if by not in ("symbols", "blocks"):
        _refuse("--by", "symbols or blocks", quote(by, 40), "name a column of groups by --by-group")
    if plot is not None and drawn.by_group is not None:
        remedy = "leave out --by-group, or leave out --plot"
        _refuse("--plot", "one estimate", "groups", remedy)
    for option, value in {"--truth": truth, "--plot": plot}.items():
        if value is not None and joint:
            _refuse(option, one, two, f"leave out --with, or leave out {option}")
    if ends is not None and not (mean or quantile):
        expected = "--mean or --quantile beside it"
        _refuse("--ends", expected, f"{quote(ends)} alone", "add --mean, or leave it out")
    if of_bins and (several or drawn.by_group is not None):
        _refuse(
            "--mean, --quantile and --histogram",
            "the reports of one column, one round and one group",
            "several",
            "leave them out; in Python each estimate has .mean() and its like",
        )
    beside = {"--with-feature": second_feature, "--given": given}
    rounds = {"--second-round-column": second_round_column, "--people": people}
    for option, value in {**beside, **rounds}.items():
        is_used = joint if option in beside else second_round is not None and not joint
        if value is not None and not is_used:
            _refuse(
                option,
                f"{'--with and --with-column' if option in beside else '--second-round'} beside it",
                f"{quote(value)} alone",
                "name the second design and its reports",
            )
    read_limits = None if ends is None else read_ends(ends)
    if plot is not None:
        expect_picture(plot, force=force)
    options: dict[str, Any] = {
        "method": method,
        "by": by,
        "intervals": intervals,
        "confidence": confidence,
        "target": target,
        "rng": seed,
        "misfit": misfit,
    }
    if not several:
        numbers = partial(
            _numbers, mean=mean, quantiles=quantile, ends=read_limits, histogram=histogram
        )
        options.update(missing=missing, receipt=receipt)
        _of_columns(
            kernel,
            reports,
            form,
            names,
            drawn,
            feature,
            truth,
            options,
            numbers if of_bins else None,
            limits,
            plot=plot,
            top=top,
            as_json=as_json,
            force=force,
        )
        return
    if len(names) != 1:
        got = str(len(names)) if names else "none"
        _refuse("--column", "the column that holds the reports", got, "name one column")
    (column,) = names
    if joint:
        first, other = (
            _Side(kernel, column, feature),
            _Side(second, second_column, second_feature),
        )
        options.update(missing=missing, receipts=[receipt] * 2)
        _joint(form.reports(reports), first, other, given, limits, as_json, **options)
        return
    assert second_round is not None
    unusual = {
        "--method": method != "inversion",
        "--intervals": intervals != "binomial",
        "--target": target != "population",
        "--receipt": receipt is not None,
    }
    for name in compress(unusual, unusual.values()):
        remedy = (
            "leave it out; rounds are added up by inversion, about all who might be asked, and "
            "receipts are read beside each file"
        )
        _refuse(name, "nothing beside --second-round", "a choice", remedy)
    then, there = second_round
    pilot = _Round(kernel, form.reports(reports), column)
    later = _Round(then, form.reports(there), second_round_column or column)
    kept = {name: options[name] for name in ("by", "confidence", "misfit")}
    made, told = _rounds(
        pilot, later, people or "different", feature, truth, limits, missing=missing, **kept
    )
    _show(made, told, plot, as_json=as_json, force=force)


def _refuse(option: str, expected: str, got: str, remedy: str) -> NoReturn:
    raise InputError(option, expected=expected, got=got, remedy=remedy)


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
        _refuse("--given", expected, str(len(found)), "name them, each with --column")
    names[:], other = found[:1], found[1]
    return kernel, other


def _of_columns(
    kernel: str,
    reports: str,
    form: TextForm,
    names: list[str],
    drawn: Survey,
    feature: str | None,
    truth: str | None,
    options: dict[str, Any],
    numbers: Callable[[Estimate], list[NumberEstimate | Histogram]] | None,
    limits: LimitOptions,
    *,
    plot: Path | None,
    top: int | None,
    as_json: bool,
    force: bool,
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
    from ..views.plain import estimate_json, groups_json, survey_json

    check_order(kernel, reports)
    designed: Any = load_release(kernel)
    is_counts = reports.lower().endswith(".json")
    source: Any = ReportCounts.load(reports) if is_counts else form.reports(reports)
    names = names or (["report"] if is_counts else report_columns(designed, source))
    if isinstance(designed, KernelPlan) and len(names) == 1:
        designed = designed[names[0]]
    column: Any = names if len(names) > 1 else names[0]
    is_selection = isinstance(designed, ImplicitKernel)
    if is_selection or large_columns(designed, names) is not None:
        asked = {"--plot": plot, "--feature": feature, "--mean, --quantile, --histogram": numbers}
        for option, value in asked.items():
            if value is not None:
                got = "a subset selection" if is_selection else f"{len(names)} columns at once"
                expected, remedy = "the estimates of fewer shares", "leave it out; --json has all"
                _refuse(option, expected, got, remedy)
        with waiting("estimating", show=sys.stderr.isatty()):
            many: Any = run_estimate(
                source, designed, column, truth=truth, **options, **vars(drawn)
            )
        kernels = (
            designed.fingerprint
            if is_selection
            else {name: kernel_fingerprint(mechanism_of(designed[name])) for name in names}
        )
        _show_many(limits.of(many), kernels, top, as_json)
        return
    if top is not None:
        expected = "a saved subset selection, or a plan for more combinations"
        _refuse("--top", expected, "a kernel with a matrix", "leave it out")
    one = designed.product(names) if isinstance(designed, KernelPlan) else designed
    mechanism = mechanism_of(one)
    options["feature"] = read_feature(feature, mechanism)
    options["truth"] = None if truth is None else read_truth(truth)
    with waiting("estimating", show=sys.stderr.isatty()):
        made: Any = limits.of(run_estimate(source, designed, column, **options, **vars(drawn)))
    fingerprint = kernel_fingerprint(mechanism)
    if drawn.by_group is not None:
        _show_groups(made, groups_json(made, fingerprint), as_json)
        return
    shown = survey_json(made, fingerprint) if drawn.asked else estimate_json(made, fingerprint)
    answers = [] if numbers is None else numbers(made)
    _show(made, shown, plot, as_json=as_json, force=force, numbers=answers)


def _show_many(
    many: ManyEstimates, kernel: str | dict[str, str], top: int | None, as_json: bool
) -> None:
    """Shares of many symbols, as JSON or the largest as a table."""
    from ..views.plain import many_estimates_json
    from ..views.text import print_many_estimates

    if as_json:
        print_json(many_estimates_json(many, kernel, top))
        return
    print_many_estimates(many, top or 10)
    if many.note:
        note(many.note)


def _show_groups(made: GroupEstimates, shown: dict[str, Any], as_json: bool) -> None:
    """Estimates of each group, and how they differ."""
    from ..views.text import print_groups

    if as_json:
        print_json(shown)
        return
    print_groups(made)
    if made.note:
        note(made.note)


def _numbers(
    made: Estimate, mean: bool, quantiles: list[float] | None, ends: Any, histogram: bool
) -> list[NumberEstimate | Histogram]:
    """What is asked about the numbers in bins."""
    return [
        *([made.mean(ends=ends)] if mean else []),
        *(made.quantile(q, ends=ends) for q in quantiles or []),
        *([made.histogram()] if histogram else []),
    ]


def _show(
    made: Estimate,
    shown: dict[str, Any],
    plot: Path | None,
    *,
    as_json: bool,
    force: bool,
    numbers: Sequence[NumberEstimate | Histogram] = (),
) -> None:
    """The picture, and the numbers as a table or as JSON."""
    from ..inference.number_answers import Histogram

    told = [number.to_json() for number in numbers if not isinstance(number, Histogram)]
    bars = [number.rows() for number in numbers if isinstance(number, Histogram)]
    shown = {
        **shown,
        **({"numbers": told} if told else {}),
        **({"histogram": bars[0]} if bars else {}),
    }
    from ..views.text import print_estimate

    if plot is not None:
        from ..plotting._plot_estimate import plot_estimate
        from ..plotting.style import save_figure

        save_figure(plot_estimate(made).figure, plot, overwrite=force)
        note(f"saved {plot}")
    if as_json:
        print_json(shown)
        return
    print_estimate(made)
    for number in numbers:
        say(repr(number))
    if made.note:
        note(made.note)


@dataclass(frozen=True)
class _Round:
    """Design, file and column of one round, as they were named."""

    kernel: str
    reports: ReportFile
    column: str


def _rounds(
    first: _Round,
    then: _Round,
    people: str,
    feature: str | None,
    truth: str | None,
    limits: LimitOptions,
    **options: Any,
) -> tuple[Estimate, dict[str, Any]]:
    """Two rounds of a survey added up, and the result as plain values."""
    from ..inference._estimate_rounds import estimate_rounds
    from ..kernel_files import load_kernel
    from ..mechanism import mechanism_of
    from ..published import kernel_fingerprint
    from ..views.plain import rounds_json

    both = (first, then)
    designs = [load_kernel(one.kernel) for one in both]
    options["feature"] = read_feature(feature, mechanism_of(designs[0]))
    options["truth"] = None if truth is None else read_truth(truth)
    if people == "same":
        if first.reports != then.reports or first.column == then.column:
            _refuse(
                "--people same",
                "one file with a column of reports for each round",
                " and ".join(f"{one.reports.path}, column {quote(one.column)}" for one in both),
                "name that file in both places, and --second-round-column",
            )
        columns = [first.column, then.column]
        files: Any = first.reports
    else:
        columns, files = [one.column for one in both], [one.reports for one in both]
    with waiting("estimating", show=sys.stderr.isatty()):
        made = limits.of(estimate_rounds(files, designs, columns, people=people, **options))
    kernels = [kernel_fingerprint(mechanism_of(designed)) for designed in designs]
    return made, rounds_json(made, kernels)


@dataclass(frozen=True)
class _Side:
    """Design, column and feature of one of two secrets, as they were named."""

    kernel: str | None
    column: str | None
    feature: str | None


def _joint(
    reports: ReportFile,
    first: _Side,
    second: _Side,
    given: str | None,
    limits: LimitOptions,
    as_json: bool,
    **options: Any,
) -> None:
    """Joint or conditional frequencies of two columns."""
    from ..inference._estimate_joint import estimate_joint
    from ..kernel_files import is_plan_file, load_kernel, load_release
    from ..mechanism import mechanism_of
    from ..published import kernel_fingerprint
    from ..views.plain import joint_json

    sides = (first, second)
    if second.kernel is None or second.column is None:
        remedy = "name the second design and the column of its reports"
        _refuse("joint estimate", "both --with and --with-column", "only one of them", remedy)
    columns = [str(side.column) for side in sides]
    if given is not None and given not in columns:
        raise UnknownNameError("column that is given", given, columns)
    designs: list[Any] = []
    for path, name in zip([str(side.kernel) for side in sides], columns, strict=True):
        plan: Any = load_release(path) if is_plan_file(path) else None
        designs.append(load_kernel(path) if plan is None else plan[name])
    mechanisms = [mechanism_of(designed) for designed in designs]
    features = [read_feature(s.feature, m) for s, m in zip(sides, mechanisms, strict=True)]
    if columns[0] == columns[1]:
        remedy = "name the column of the second design"
        _refuse("--with-column", "another column than --column", quote(columns[0]), remedy)
    with waiting("estimating", show=sys.stderr.isatty()):
        made = limits.of(estimate_joint(reports, designs, columns, features=features, **options))
    table = made if given is None else made.conditional(given)
    if as_json:
        kernels = [kernel_fingerprint(mechanism) for mechanism in mechanisms]
        print_json(joint_json(made, table, given, kernels))
        return
    about = f"{columns[0]} (rows) and {columns[1]} (columns)"
    if given is not None:
        about = f"{next(c for c in columns if c != given)} given {given} (rows)"
    say(f"{about}, from {counted(made.reports, 'report')}")
    say(repr(table))
    if made.note and table is not made:
        note(made.note)
