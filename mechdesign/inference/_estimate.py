"""``estimate``: frequencies of the secret, with error bars, from reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from ..errors import InputError, quote
from ..kernel import is_small
from ..mechanism import kernel_of
from ..release._identifiability import ask_as_designed
from ..release.codes import check_choice
from ..release.reports import asked_of, is_table, report_columns, sample_of, traced
from ..subsets import SubsetSelection
from ..utility.estimation import Asked
from .estimator import Options, warn_of_errors
from .many import Columns, ManyEstimates, columns_of, estimate_selection, large_columns
from .references import CONFIDENCE, asked_for, refuse_other_than
from .results import Estimate, GroupEstimates
from .surveys import Survey


@overload
def estimate(
    reports: Any,
    mechanism: SubsetSelection,
    column: str | Sequence[str] | None = None,
    **options: Any,
) -> ManyEstimates: ...


@overload
def estimate(
    reports: Any,
    mechanism: Any,
    column: str | Sequence[str] | None = None,
    *,
    by_group: str,
    **options: Any,
) -> GroupEstimates: ...


@overload
def estimate(
    reports: Any, mechanism: Any, column: str | Sequence[str] | None = None, **options: Any
) -> Estimate: ...


def estimate(  # type: ignore[misc]  # the options stand once, here
    reports: Any,
    mechanism: Any,
    column: Any = None,
    *,
    method: str = "inversion",
    feature: Asked = None,
    by: str = "symbols",
    intervals: str = "binomial",
    confidence: float = CONFIDENCE,
    target: str = "population",
    missing: str = "error",
    resamples: int = 1000,
    rng: Any = None,
    receipt: Any = None,
    misfit: str = "error",
    truth: Any = None,
    weights: str | None = None,
    strata: str | None = None,
    clusters: str | None = None,
    by_group: str | None = None,
    population: Any = None,
    weighting: str = "hajek",
) -> Estimate | ManyEstimates | GroupEstimates:
    """The distribution of the secret, estimated from reports of a mechanism.

    Parameters
    ----------
    reports : table with ``column``, column of reports, or mapping from output to count
        Any table that :func:`privatize` takes, or the path of one; in a file without the columns of
        the design the reports are in "report". A receipt that it carries must name this mechanism.
    mechanism : Mechanism, Design, SubsetSelection, plan or mapping from columns to what made them
        A design's prior only tunes the variance of the inversion; it never biases it. With one for
        :class:`mechdesign.utility.Estimation` the weights are those that it is optimal for.
        Shares of all symbols of a subset selection have no covariances
        (:class:`mechdesign.inference.many.ManyEstimates`); past some hundred symbols nothing else
        is estimated of one. So are those of many columns of a plan, whose combinations of values
        and reports are over 400,000, with all options of a survey but ``by_group``.
    method : {"inversion", "likelihood"}
        Weights on reports that are unbiased for every distribution [Warner1965], or the
        distribution of largest likelihood [Cover1984], which stays in the simplex and says how far
        from the maximum it is.
    feature : function or mapping of inputs, list of them, or (F, N) array, optional
        Numbers ask for the mean; other values for the frequency of each. Rows of an array are
        weighted sums of frequencies. When left out, the questions that a design was made for
        (``of``), whole or in its public form, else every frequency; of several columns of a plan
        the products of what their designs ask.
    by : {"symbols", "blocks"}
        Blocks are the finest groups that a mechanism with equal rows can still tell apart.
    intervals : {"binomial", "delta", "bootstrap"}
        The one interval that holds at rare answers and few reports
        (:mod:`mechdesign.inference.intervals`). The others are for comparison with what other
        software prints: normal limits, or limits from reports simulated at the estimate. Both
        collapse where few informative reports fall; where these stand for fewer than 30 tosses of
        a coin on either side they are not given, and the first is.
    confidence : float between 0 and 1
        For each interval alone.
    target : {"population", "sample"}
        What is asked: the distribution that people were drawn from, or the frequencies among
        exactly those who reported. The second is known better.
    missing : {"error", "drop", "category"}
        Null reports. They are an answer of their own where the mechanism has the input ``None``,
        which ``Prior.from_data(column, missing="category")`` gives it.
    resamples, rng : number of simulated samples and seed or generator of the bootstrap
    receipt : Receipt or path of a file with one, optional
        What :func:`privatize` wrote (``receipt=``), where the table carries none any more. Without
        any, :attr:`Estimate.note` says that it could not be told who made the reports.
    misfit : {"error", "warn"}
        Reports that this mechanism makes with a probability below one in a million, whatever the
        secrets are: refused, or estimated from with a warning. Raw data is mostly found that way;
        reports of a mechanism with more noise fit and are not.
    truth : Prior, mapping from symbol to mass or count, or N numbers, optional
        The distribution at which the variance of the inversion is least, such as a pilot's; the
        truth or prior of the design when left out, uniform for a mechanism.
    weights, strata, clusters, by_group : name of a column of the table, optional
        For how many people each one stands (zero or more); how the sample was drawn: strata, and
        clusters within them, drawn alike; and groups, each of which is estimated on its own. Errors
        are then those of the design [Saerndal1992], with Student's t for the clusters (or people)
        less the strata, or fewer where few of them weigh most [Satterthwaite1946].
    population : size, or mapping from stratum to size, optional
        Of a finite population, the sample included, in clusters where there are any. What asking
        fewer than all adds to the error shrinks with it; what the mechanism adds does not. Without
        weights everyone stands for the same share of the stratum.
    weighting : {"hajek", "horvitz-thompson"}
        Shares of the sum of weights, or totals over the population, which must be known.

    Returns
    -------
    Estimate, ManyEstimates or GroupEstimates
        One :class:`mechdesign.Estimate` for each group with ``by_group``.

    Raises
    ------
    DataError
        For reports that the mechanism cannot produce or did not make, fewer than 10 of them, and
        for a question that its reports cannot answer, with the blocks that they can.
    InputError, UnknownNameError
        For options without a meaning.

    Warns
    -----
    PrecisionWarning
        When an interval says nothing.
    MisfitWarning
        With ``misfit="warn"``, when such reports are next to impossible from this mechanism.

    Examples
    --------
    >>> import mechdesign as md
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> round(md.estimate({"no": 6000, "yes": 4000}, flip)["no"], 6)
    0.7
    """
    options = Options(method, intervals, confidence, target, misfit, by, resamples, rng)
    if not isinstance(column, (str, int, list, tuple, type(None))):
        raise InputError(
            "column",
            expected="the name of the column of reports, or a list of them",
            got=quote(column),
            remedy="leave it out for reports without a table",
        )
    survey = Survey(weights, strata, clusters, by_group, population, weighting)
    only: dict[str, Any] = {"method": (method, "inversion"), "feature": (feature, None)}
    only.update(by=(by, "symbols"), intervals=(intervals, "binomial"), truth=(truth, None))
    is_plain = not survey.asked and not asked_for(only)
    if isinstance(mechanism, SubsetSelection) and (is_plain or not is_small(mechanism)):
        only.update({name: (getattr(survey, name), None) for name in survey.asked})
        refuse_other_than(f"a subset selection of {len(mechanism.inputs)} symbols", **only)
        check_choice("policy for missing reports", missing, ("error", "drop"))
        if column is None and is_table(reports):
            column = next(iter(report_columns(mechanism, reports)), None)
        return estimate_selection(reports, mechanism, column, options, missing, receipt)
    designs, names = columns_of(mechanism, column), large_columns(mechanism, column)
    is_asked, known = feature is not None or by != "symbols", None
    if names is not None:
        remedy = f"estimate fewer of them at a time, such as column={names[:1]!r}"
        refuse_other_than("so many columns at once", remedy, by_group=(by_group, None), **only)
    elif survey.asked:
        what = "a survey with weights, strata, clusters, groups or a population"
        plain = {name: only[name] for name in ("method", "intervals")}
        refuse_other_than(what, "leave it out", **plain)
    if len(designs) > 1:
        questions = [ask_as_designed(one, hidden=is_asked) for one in designs.values()]
        kernels = {name: kernel_of(designed) for name, designed in designs.items()}
        sample = sample_of(reports, kernels, survey.columns, missing)
        note = traced(reports, kernels, receipt, sample.size)[1]
    else:
        (column, mechanism), *_ = designs.items() or [(column, mechanism)]
        call = reports, mechanism, column, receipt, missing, survey.columns
        sample, known, note = asked_of(*call)
        designs = dict.fromkeys(sample.places, mechanism)
        questions = [ask_as_designed(mechanism, feature, by)]
    columns = Columns(designs, questions, sample, options)
    if names is not None:
        return columns.many(survey, note)
    made = columns.answered(survey, feature, by, truth, note, receipt=known)
    if len(designs) > 1:
        options.judge(made.estimates[0].fit)
    for each in made.estimates:
        warn_of_errors(each)
    return made if by_group is not None else made.estimates[0]
