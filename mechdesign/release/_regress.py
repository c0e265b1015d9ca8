"""``regress``: a regression in which one variable was privatised, or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, quote
from ..labels import Label, counted
from ..mechanism import mechanism_of
from ..solve.columns_plan import KernelPlan
from ..utility.estimation import Asked
from ._estimate import judge_fit
from ._identifiability import ask_as_designed
from .codes import check_choice
from .estimates import Intervals
from .likelihood import fit_of, maximise
from .receipts import Receipt, trace
from .references import CONFIDENCE, check_confidence, reference_of
from .regressions import (
    Setting,
    Solved,
    ask_symbols,
    asked_terms,
    covariate_of,
    linear,
    linear_response,
    logistic,
    public_design,
)
from .samples import Sample, read_sample
from .several_regressions import privatised_columns, solve_several
from .survey import Survey, check_single, drawn_by, student_limits

Vector = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Regression(Intervals):
    """Coefficients of a regression with one privatised variable.

    Attributes
    ----------
    labels : terms: the intercept, ``column=symbol`` against the reference, names of numbers
    reports : number of people
    family : "linear" or "logistic"
    response, column : names of the response and of the privatised column, which may be the same, or
        of several
    reference : the symbol that others are compared with, ``None`` where the column is a number; of
        several privatised covariates a tuple
    confidence : as asked
    freedom : degrees of freedom of the intervals
    errors_by : "sandwich" or "observed information"
    log_likelihood : of a logistic regression, else ``None``
    fit, receipt, note : as in :class:`mechdesign.Estimate`
    """

    reports: int
    family: str
    response: str
    column: str
    reference: Label
    confidence: float
    freedom: float
    errors_by: str
    log_likelihood: float | None
    fit: float
    receipt: Receipt | None = None
    note: str = ""

    @property
    def pvalues(self) -> Vector:
        """``(F,)`` p-values of each coefficient being zero."""
        from scipy.stats import t

        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(self.values == 0, 0.0, np.abs(self.values) / self.errors)
        return np.asarray(2 * t.sf(ratio, self.freedom))

    def describe(self) -> str:
        """What was regressed on what, and how errors were found, in one line."""
        what = "response" if self.response == self.column else "covariate"
        if ", " in self.column:
            what = "columns"
        return (
            f"{self.family} regression of {self.response} on {counted(self.reports, 'report')}; "
            f"{what} {self.column} privatised; "
            f"{100 * self.confidence:g} % intervals ({self.errors_by})"
        )

    def closing(self) -> list[str]:
        """What could not be told of where the reports came from."""
        return [self.note] if self.note else []


def regress(
    table: Any,
    mechanism: Any,
    column: Any = None,
    *,
    response: str,
    covariates: Sequence[str] = (),
    family: str = "linear",
    feature: Asked = None,
    reference: Label = None,
    weights: str | None = None,
    strata: str | None = None,
    clusters: str | None = None,
    confidence: float = CONFIDENCE,
    missing: str = "error",
    receipt: Any = None,
    misfit: str = "error",
    truth: Any = None,
) -> Regression:
    """A regression in which one variable is known by reports of a mechanism only.

    Reports in place of secrets draw coefficients towards zero, and those of other covariates
    anywhere. The kernel is known, so that this can be undone:

    Linear, secret as covariate with values V_x: for weights with K a = V and K B = V Vᵀ the moments
    Σ a_y r, Σ a_y cᵀ and Σ B_y have the means of Σ V r, Σ V cᵀ and Σ V Vᵀ, whatever the
    distribution of secrets and errors [Carroll2006]. Standard errors are those of the sandwich.

    Linear, secret as response: a_y in its place.

    Logistic: maximum likelihood over the symbols that may have made each report, which depend on
    the public covariates by a logistic regression of their own; errors by the observed information
    [Louis1982], and by the sandwich for samples with weights, strata or clusters.

    Parameters
    ----------
    table : any table that :func:`privatize` takes
    mechanism : Mechanism, Design, plan for several columns, or mapping from columns to mechanisms
        What made the reports in ``column``, independently of all other columns.
    column : name of the privatised column, or of several; all of a plan or mapping when left out
        Several have their terms side by side; ``feature`` and ``reference`` are mappings from them
        then, and ``receipt`` and ``truth`` are left out.
    response : name of the response; ``column`` itself, or one of several, where that is privatised
        A number for a linear regression, one of two values for a logistic one; a privatised
        response of more than two symbols gets coefficients for each against the reference.
    covariates : names of public columns
        Numbers, or values of which the first in order is the reference.
    family : {"linear", "logistic"}
    feature : function or mapping of inputs, optional
        Numbers make one coefficient of the privatised column, and are needed for a privatised
        response of a linear regression whose symbols are no numbers; other values are groups.
        Without it a design for questions (``of``) has these as its terms, and one for a single
        answer has that as a response; a logistic regression takes reports that tell every symbol.
    reference : symbol (or value of the feature) that others are compared with, the first of them
        when left out
    weights, strata, clusters : name of a column of the table, optional
        As in :func:`estimate`.
    confidence, missing, receipt, misfit, truth : as in :func:`estimate`

    Raises
    ------
    DataError
        For a mechanism whose reports do not tell the symbols apart, values that are no numbers,
        covariates that depend on each other, and coefficients that the reports leave open.
    InputError, UnknownNameError
        For options without a meaning.

    Examples
    --------
    >>> import mechdesign as md, pandas as pd
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> reports = ["no"] * 60 + ["yes"] * 40
    >>> table = pd.DataFrame({"smokes": reports, "cost": [1.] * 45 + [2.] * 15 + [2.] * 40})
    >>> md.regress(table, flip, "smokes", response="cost").values.round(6)
    array([1.035714, 1.714286])
    """
    check_choice("family of regression", family, ("linear", "logistic"))
    check_confidence(confidence)
    check_choice("what to do about a misfit", misfit, ("error", "warn"))
    if isinstance(mechanism, (KernelPlan, Mapping)):
        for what, value in (("receipt", receipt), ("truth", truth)):
            if value is not None:
                raise InputError(
                    what,
                    expected="it left out where several columns are privatised",
                    got=type(value).__name__,
                    remedy="pass the table with its receipts",
                )
        columns = privatised_columns(mechanism, column, response)
        columns_beside(columns.covariates[0], response, [*columns.covariates[1:], *covariates])
        survey = Survey(weights, strata, clusters)
        solved, setting, fit, receipts, note = solve_several(
            table,
            columns,
            response=response,
            covariates=covariates,
            family=family,
            feature=feature,
            reference=reference,
            survey=survey,
            strata=strata,
            missing=missing,
            misfit=misfit,
        )
        every = ", ".join(columns.kernels)
        first = receipts[next(iter(receipts))] if len(receipts) == 1 else None
        return _made(solved, setting, family, response, every, confidence, fit, first, note)
    found = mechanism_of(mechanism, "mechanism of a regression")
    names = columns_beside(column, response, covariates)
    # Before reports are read: what none of them could tell.
    if response != column:
        ask_as_designed(mechanism, feature)
    if family == "logistic":
        ask_symbols(mechanism)
    survey = Survey(weights, strata, clusters)
    sample = read_sample(table, found, column, [*names, *survey.columns], missing)
    counts = sample.tally(found)
    n = int(counts.sum())
    carried = None if isinstance(table, Sample) else column
    known, note = trace(table, carried, found, receipt, n)
    f = counts / n
    likely, gap, _ = maximise(found.kernel, f[None, :])
    fit = fit_of(found.kernel, f, likely[0], n, float(gap[0]))
    judge_fit(fit, misfit)
    drawn = drawn_by(survey, sample)
    check_single(drawn, strata)
    public, terms = public_design(sample, list(covariates), drawn.weights * sample.repeats)
    private = response == column
    setting = Setting(sample, drawn, column, public, terms, n, not survey.asked, found.inputs)
    if family == "linear":
        best = reference_of(mechanism, found, truth)
        if private:
            solved = linear_response(setting, mechanism, feature, reference, best)
        else:
            question, named = asked_terms(mechanism, feature, reference, column)
            numbers = sample.numbers(response, "response")
            covariate = covariate_of(mechanism, question, named, sample.reports, best)
            solved = linear(setting, [covariate], covariate.compared, numbers)
    else:
        other = None if private else response
        solved = logistic(setting, mechanism, feature, reference, other, likely[0])
    return _made(solved, setting, family, response, column, confidence, fit, known, note)


def _made(
    solved: Solved,
    setting: Setting,
    family: str,
    response: str,
    column: str,
    confidence: float,
    fit: float,
    known: Receipt | None,
    note: str,
) -> Regression:
    """Coefficients with their errors and intervals."""
    labels, values, covariance, errors_by, value, compared = solved
    errors = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    freedom = float(np.inf)
    if errors_by == "sandwich":
        lost = len(values) - 1 if setting.drawn.clusters is None else 0
        freedom = float(max(setting.drawn.freedom - lost, 1))
    return Regression(
        tuple(labels),
        values,
        errors,
        *student_limits(values, errors, confidence, freedom),
        covariance,
        setting.reports,
        family,
        response,
        column,
        compared,
        confidence,
        freedom,
        errors_by,
        value,
        fit,
        known,
        note,
    )


def columns_beside(column: Any, response: Any, covariates: Any) -> list[str]:
    """Names of the columns beside the reports, once each; raises :class:`InputError` for others."""
    if not isinstance(column, str) or not isinstance(response, str):
        raise InputError(
            "regression",
            expected="names of the privatised column and of the response",
            got=f"{quote(column)} and {quote(response)}",
            remedy="pass column= and response=, the same name for a privatised response",
        )
    listed = isinstance(covariates, Sequence) and not isinstance(covariates, (str, bytes))
    if not listed or not all(isinstance(name, str) for name in covariates):
        raise InputError(
            "covariates",
            expected="a list of names of columns",
            got=quote(covariates),
            remedy="pass for example ['age', 'sex']",
        )
    twice = [name for name in covariates if name in (column, response)]
    if twice or len(set(covariates)) < len(covariates):
        raise InputError(
            "covariates",
            expected="public columns beside the response and the privatised one, once each",
            got=f"{quote(twice[0])} among them" if twice else "one of them twice",
            remedy="leave it out; the privatised column is a covariate by itself",
        )
    if response == column and not covariates:
        raise InputError(
            "covariates",
            expected="at least one for a privatised response",
            got="none",
            remedy="name them, or estimate the shares with md.estimate",
        )
    return [name for name in dict.fromkeys([response, *covariates]) if name != column]
