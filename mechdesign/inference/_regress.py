"""``regress``: a regression in which one variable was privatised, or several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, UnknownNameError, quote, warn
from ..kernel import MatrixKernel, outer
from ..labels import Label, counted, listing
from ..mechanism import mechanism_of
from ..release._identifiability import ask, ask_as_designed, designed_question
from ..release.codes import check_choice
from ..release.receipts import Receipt, trace
from ..release.reports import Sample, sample_of
from ..solve.columns_plan import KernelPlan
from ..utility.estimation import Asked
from ..utility.questions import Question
from .estimator import Options
from .latent import maximise_latent
from .many import Columns
from .privatised import Secret, Setting, corrected_moments, refuse_few, secret_of, setting_of
from .references import CONFIDENCE, reference_of
from .results import Intervals, joined_notes
from .surveys import Survey, at_least, check_single, drawn_by, student_limits

Vector = NDArray[np.float64]

# Combinations of values of which a logistic regression has coefficients of their own.
_MOST_TUPLES = 1000
# People of a symbol that is not shown to occur, and information of what has no finite estimate.
_ABSENT = _FLAT = 1e-3


@dataclass(frozen=True, repr=False)
class Regression(Intervals):
    """Coefficients of a regression with one privatised variable, or several.

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
    freedom : degrees of freedom of the intervals; with a sandwich at most the fewest effective
        events of a symbol, less one
    pvalues : ``(F,)`` of each coefficient being zero
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
    pvalues: Vector
    errors_by: str
    log_likelihood: float | None
    fit: float
    receipt: Receipt | None = None
    note: str = ""

    def describe(self) -> str:
        """What was regressed on what, and how errors were found, in one line."""
        what = "response" if self.response == self.column else "covariate"
        if ", " in self.column:
            what = "columns"
        return (
            f"{self.family} regression of {self.response} on "
            f"{counted(self.reports, 'report')}; {what} "
            f"{self.column} privatised; {100 * self.confidence:g} % intervals ({self.errors_by})"
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
    """A regression in which one variable, or several, are known by reports of mechanisms only.

    Reports in place of secrets draw coefficients towards zero, and those of other covariates
    anywhere. The kernel is known, so that this can be undone:

    Linear, secret as covariate with values V_x: for weights with K a = V and K B = V Vᵀ the moments
    Σ a_y r, Σ a_y cᵀ and Σ B_y have the means of Σ V r, Σ V cᵀ and Σ V Vᵀ, whatever the
    distribution of secrets and errors [Carroll2006]. Standard errors are those of the sandwich,
    times (n − 1)/(n − k) for k coefficients and G/(G − 1) for G clusters, and no less than the
    noise that the kernels are known to add.

    Linear, secret as response: a_y in its place.

    Logistic: maximum likelihood over the symbols that may have made each report, which depend on
    the public covariates by a logistic regression of their own; errors by the observed information
    [Louis1982], which has the noise of the kernels in it, and by the sandwich for samples with
    weights, strata or clusters. Its intervals hold the slopes of the secrets at their confidence
    where these logistic regressions hold in the population (.95 to .97 of 200 surveys, with a
    symbol of 5 %). Where they do not, that is the model and not the method: reports are nearest to
    another curve of the model than secrets are, however many there are, and intervals miss the
    slope of the secrets the more often the narrower they are (with a symbol of 5 % and a slope that
    bends strongly, held in 60 % of surveys of 5,000 at one nat and in 2 % at two). Reports hardly
    show it: add covariates, such as squares, with which the model holds. Linear regressions need no
    such model.

    Below five effective events of a symbol (of a symbol with each response, for a logistic
    regression) intervals fail, and the regression is refused. A share p estimated with variance s²
    has p²(1 − p)/s² of them: the number of people where nothing is private, or of clusters, where
    all people of each are alike. Intervals by the sandwich are Student's with at most one degree of
    freedom less than the fewest of these events, k, of which errors of many people or clusters are
    too small by √((k − 1)/k): intervals and p-values make up for that.

    Parameters
    ----------
    table : any table that :func:`privatize` takes
    mechanism : Mechanism, Design, plan for several columns, or mapping from columns to mechanisms
        What made the reports in ``column``, independently of all other columns.
    column : name of the privatised column, or of several; all of a plan or mapping when left out
        Several have their terms side by side; ``feature`` and ``reference`` are mappings from them
        then, ``receipt`` is a file with those of all, and ``truth`` is left out.
    response : name of the response; ``column`` itself, or one of several, where that is privatised
        A number for a linear regression, one of two values for a logistic one; a privatised
        response of more than two symbols, alone or beside privatised covariates, gets coefficients
        for each against the reference.
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
        covariates that depend on each other, fewer than five effective events, and coefficients
        that the reports leave open.
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
    from scipy.special import stdtr

    check_choice("family of regression", family, ("linear", "logistic"))
    options = Options(confidence=confidence, misfit=misfit)
    if isinstance(mechanism, KernelPlan):
        mechanism = dict(zip(mechanism.names, mechanism.designs, strict=True))
    several, names = isinstance(mechanism, Mapping), [column]
    if several and not isinstance(column, str):
        names = list(mechanism) if column is None else column
    _check_columns(names, response, covariates)
    if not several:
        mechanism_of(mechanism, "mechanism of a regression")
        mechanism, feature, reference = ({column: x} for x in (mechanism, feature, reference))
    for what, given in (("column", names), ("feature", feature), ("reference", reference)):
        for name in given if isinstance(given, (list, tuple, Mapping)) else [given]:
            if given is not None and not (isinstance(name, str) and name in mechanism):
                raise UnknownNameError(f"privatised column of {what}=", name, map(str, mechanism))
    features: Any = feature or {}
    references: Any = reference or {}
    names = [name for name in names if name != response] + [response] * (response in mechanism)
    designs = {name: mechanism[name] for name in names}
    questions = [
        _question(design, features.get(name), family, name == response)
        for name, design in designs.items()
    ]
    survey = Survey(weights, strata, clusters)
    others = [*covariates, *({response} - {*names}), *survey.columns]
    kernels = {name: mechanism_of(design) for name, design in designs.items()}
    sample = sample_of(table, kernels, others, missing)
    read = Columns(designs, questions, sample, options)
    secrets, told = [], []
    for i, (name, design) in enumerate(designs.items()):
        where = f"reports in column {quote(name)}"
        told.append(trace(table, name, design, receipt, sample.size, where))
        best = reference_of(design, read.kernels[i], truth)
        about = read.kernels[i], sample.places[name], read.fitted[i].likely, best
        secrets.append(secret_of(name, questions[i], references.get(name), *about))
    receipts, notes = zip(*told, strict=True)
    drawn = drawn_by(survey, sample)
    check_single(drawn, strata)
    reported: Any = secrets.pop() if response in names else None
    compared = tuple(secret.compared for secret in secrets or [reported])
    setting = setting_of(sample, drawn, covariates, secrets)
    width, size = setting.public.shape[1], len(setting.terms)
    # Those of secrets stand after the intercept.
    order = np.r_[:1, width:size, 1:width]
    labels = [setting.terms[i] for i in order]
    back: Any = setting.back[order]
    logistic, value = family == "logistic", None
    by_sandwich = not logistic or bool(survey.asked)
    if logistic:
        reported = reported or _open_response(sample, response)
    events = setting.fewest_events(reported if logistic else None)
    if logistic:
        values, covariance, noise, value = _logistic(setting, reported, by_sandwich)
        back = np.kron(np.eye(len(reported.names) - 1), back)
        if len(reported.names) > 2:
            ends = ["", *(f": {label}" for label in labels[1:])]
            labels = [name + end for name in reported.names[1:] for end in ends]
    else:
        response_of_row = reported or sample.numbers(response, "response")
        values, covariance, noise = corrected_moments(setting, response_of_row)
        back = back * (reported.scale if reported else 1)
    values = back @ values
    covariance = back @ at_least(covariance, noise) @ back.T
    errors = np.sqrt(np.maximum(covariance.diagonal(), 0))
    base = freedom = math.inf
    if by_sandwich:
        lost = (drawn.clusters is None) * (len(values) - 1)
        base = max(float(drawn.sampling("population").freedom) - lost, 1.0)
        freedom = float(max(min(base, events - 1), 1))
    # Sandwiches of few events are too small by as much as those of few people or clusters.
    wide = errors * math.sqrt((1 + 1 / freedom) / (1 + 1 / base))
    return Regression(
        tuple(labels),
        values,
        errors,
        *student_limits(values, wide, confidence, freedom),
        covariance,
        sample.size,
        family,
        response,
        ", ".join(names),
        compared if several else compared[0],
        confidence,
        freedom,
        2 * stdtr(freedom, -np.abs(values) / np.maximum(wide, 1e-200)),
        "sandwich" if by_sandwich else "observed information",
        value,
        min(one.fit for one in read.fitted),
        receipts[0] if len(names) == 1 else None,
        joined_notes(list(dict.fromkeys(notes))),
    )


# What is asked


def _check_columns(columns: Any, response: Any, covariates: Any) -> None:
    """Raise :class:`InputError` for names that are no different columns."""
    lists = (columns, [response], covariates)
    named = all(isinstance(each, (list, tuple)) for each in lists) and all(
        isinstance(name, str) for each in lists for name in each
    )
    every = [*columns, *({response} - set(columns)), *covariates] if named else []
    if len(set(every)) < max(len(every), 2) or not columns:
        raise InputError(
            "columns of a regression",
            expected="different names: of the privatised column, of the response, and a list of "
            "public covariates, at least one for a privatised response",
            got=f"{quote(columns)}, {quote(response)} and {quote(covariates)}",
            remedy="pass column= and response=, the same for a privatised response, and for "
            "example covariates=['age', 'sex']; a privatised column is a covariate by itself",
        )


def _question(design: Any, feature: Any, family: str, is_response: bool) -> Question:
    """What a privatised column is in a regression: what its design asks, where no feature is named.

    Raises :class:`DataError` for symbols, or squares, that the reports do not tell.
    """
    kernel, single = MatrixKernel.of(design), feature is None
    if family == "logistic":
        remedy = "pass family='linear', which takes what the design asks"
        every = ask(design, remedy=None if designed_question(design) is None else remedy)
        if is_response and single:
            return every
    elif is_response and single and all(isinstance(x, (int, float)) for x in kernel.inputs):
        feature = {x: x for x in kernel.inputs}
    question = ask_as_designed(design, feature)
    v = question.weights
    if is_response and (family == "logistic" or v.shape[1] > 1):
        raise InputError(
            f"privatised response of a {family} regression",
            expected="a number for each symbol" if family == "linear" else "feature= left out",
            got=quote(feature),
            remedy="pass family='linear' with feature={'no': 0, 'yes': 1}, by column where several "
            "are privatised, or family='logistic' for shares of symbols",
        )
    squares = (v[:, :, None] * v[:, None]).reshape(len(v), -1)
    asked = Question(tuple(range(squares.shape[1])), squares)
    if not is_response and kernel.untold(asked):
        raise DataError(
            "mechanism",
            expected="one whose reports tell the squares of the feature, too",
            got="one where they do not, however many there are",
            remedy="take the symbols themselves, or design for its squares and products beside it, "
            "md.utility.Estimation([…]) (--of)",
        )
    return question


# Logistic regressions


def _open_response(sample: Sample, response: str) -> Secret:
    """A response of two values that everybody tells."""
    labels, codes = sample.categories(response, "response")
    if len(labels) != 2:
        raise DataError(
            f"response in column {quote(response)}",
            expected="two different values",
            got=str(len(labels)),
            remedy="pass family='linear', or a response such as 0 and 1",
        )
    every, half = np.eye(2), np.full(2, 0.5)
    kernel, asked = MatrixKernel(tuple(labels), every), Question(tuple(labels), every)
    return secret_of(response, asked, None, kernel, codes, half, half)


def _logistic(
    setting: Setting, reported: Secret, by_sandwich: bool
) -> tuple[Vector, Vector, Vector, float]:
    """Maximum likelihood over the symbols that may have made each report, and values of the
    response: coefficients, covariance and noise as in :func:`corrected_moments`, and the
    log-likelihood.
    """
    secrets, levels = setting.secrets, len(reported.names) - 1
    tuples = math.prod(len(secret.likely) for secret in secrets) * levels
    if tuples > _MOST_TUPLES:
        raise DataError(
            "logistic regression on privatised columns",
            expected=f"at most {_MOST_TUPLES:,} combinations of their symbols",
            got=f"{tuples:,}",
            remedy="merge values before they are privatised, leave out columns, or pass "
            "family='linear'",
        )
    once = np.ones(len(setting.public))
    # What shares are compared with must occur.
    order = np.argsort(outer(np.ones(1), *(secret.likely for secret in secrets)))[::-1]
    seen = [secret.kernel.likelihood(secret.places).T for secret in secrets]
    chances = np.stack([math.prod(each, start=once) for each in product(*seen)], axis=1)
    values = np.array([[*chain(*each)] for each in product(*(s.values for s in secrets))])
    response = reported.kernel.likelihood(reported.places) @ reported.groups
    observed = (
        chances[:, order, None] * response[:, None],
        setting.public,
        setting.mass,
        values[order],
    )
    size, width = len(setting.terms) * levels, setting.public.shape[1]
    at, of_rows, scores, known, information, people = maximise_latent(
        size + (len(order) - 1) * width, *observed
    )
    # Nothing is estimated of symbols that do not occur.
    absent = people < _ABSENT
    kept = np.r_[np.ones(size, bool), np.repeat(~absent[1:], width)]
    known, information = (each[kept][:, kept] for each in (known, information))
    sizes, ways = np.linalg.eigh(information)
    free = np.abs(ways[:, sizes < _FLAT]).max(axis=1, initial=0) > 0.3
    names = [*setting.terms * levels, *["a share of symbols"] * (len(at) - size)]
    refuse_few(
        np.array(names)[kept],
        free,
        "reports that bound every coefficient",
        "a likelihood that rises, or stays, however far they go (a symbol or value with one "
        "response only, or one that does not occur), of",
    )
    if absent.any():
        symbols = [*product(*(secret.kernel.inputs for secret in secrets))]
        gone = [listing(symbols[i]) for i in order[absent]]
        warn(
            f"the reports do not show that {', '.join(gone)} occur{'s' * (len(gone) == 1)}; the "
            "regression is about people with other symbols",
            PrecisionWarning,
        )
    covariance: Any = np.linalg.inv(information)
    noise = (covariance - np.linalg.inv(known)) * setting.heavy.sum() / setting.mass.sum()
    if by_sandwich:
        covariance = setting.sandwich(scores[:, kept], covariance, size)
    covariance, noise = covariance[:size, :size], noise[:size, :size]
    return at[:size], covariance, noise, float(setting.mass @ of_rows)
