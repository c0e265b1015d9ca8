"""``regress``: a regression in which one variable was privatised, or several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, UnknownNameError, listed, quote
from ..kernel import MatrixKernel
from ..labels import Label, counted
from ..mechanism import kernel_of
from ..release._identifiability import ask, ask_as_designed, designed_question
from ..release.codes import check_choice
from ..release.receipts import Receipt
from ..release.reports import sample_of, traced
from ..schema import Schema
from ..utility.estimation import Asked
from ..utility.questions import Question, middle_of
from .estimator import Options
from .latent import most_likely
from .many import Columns, columns_of
from .privatised import Secret, Setting, corrected_moments, open_response
from .references import CONFIDENCE, reference_of
from .results import Intervals
from .surveys import Survey, at_least, check_single, drawn_by, student_limits

Vector = NDArray[np.float64]


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
        what = "columns" if ", " in self.column else what
        return (
            f"{self.family} regression of {self.response} on "
            f"{counted(self.reports, 'report')}; {what} "
            f"{self.column} privatised; {100 * self.confidence:g} % intervals ({self.errors_by})"
        )


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
    >>> table = pd.DataFrame({"smokes": reports, "cost": [1.] * 45 + [2.] * 15 + [3.] * 40})
    >>> md.regress(table, flip, "smokes", response="cost").values.round(6)
    array([0.75, 4.  ])
    """
    from scipy.special import stdtr

    check_choice("family of regression", family, ("linear", "logistic"))
    options, is_linear = Options(confidence=confidence, misfit=misfit), family == "linear"
    known = columns_of(mechanism, None)
    several = bool(known)
    if not several:
        kernel_of(mechanism, "mechanism of a regression")
        (column,) = Schema((column,)).names
        known, feature, reference = ({column: each} for each in (mechanism, feature, reference))
    designs = columns_of(known, column)
    for what, given in (("feature", feature), ("reference", reference)):
        if given is not None and not (isinstance(given, Mapping) and {*given} <= {*known}):
            raise UnknownNameError(f"privatised column of {what}=", given, map(str, known))
    features, references = list[Any]([feature or {}, reference or {}])
    public = _public_columns(covariates, response, designs)
    if response in known:
        # The response stands behind the others.
        designs[response] = designs.pop(response, None) or known[response]
    survey = Survey(weights, strata, clusters)
    others = [*public, *({response} - {*designs}), *survey.columns]
    kernels = {name: kernel_of(design) for name, design in designs.items()}
    sample = sample_of(table, kernels, others, missing)
    read = Columns(designs, (), sample, options)
    receipts, note = traced(table, kernels, receipt, sample.size)
    secrets = list[Any]()
    for i, (name, design) in enumerate(designs.items()):
        kernel, likely = read.kernels[i], read.fitted[i].likely
        question = _question(design, features.get(name), is_linear, name == response)
        about = kernel, sample.places[name], likely, reference_of(design, kernel, truth)
        secrets.append(Secret.of(name, question, references.get(name), *about))
    drawn = drawn_by(survey, sample)
    check_single(drawn, strata)
    reported = secrets.pop() if response in designs else None
    compared = tuple(one.compared for one in secrets or [reported])
    setting = Setting.of(sample, drawn, public, secrets)
    back: Any = setting.back
    labels, likelihood = setting.labels, None
    cells: Any = {}
    known_response: Any = reported
    if is_linear and not reported:
        known_response = sample.numbers(response, "response")
    # Least squares of a response of two values ask for as many events as its odds do.
    if reported:
        cells = {} if is_linear else reported.cells
    elif not is_linear or len(np.unique(known_response)) < 3:
        cells = open_response(sample, response)
    events = setting.fewest_events(cells)
    origin: Any = 0.0
    if is_linear:
        if reported:
            back, (origin,) = back * reported.scale, reported.origin
        else:
            origin = middle_of(known_response)
            known_response = known_response - origin
        values, scores, covariance, noise = list[Any](corrected_moments(setting, known_response))
    else:
        chances = reported.chances @ reported.groups if reported else np.stack([*cells.values()], 1)
        values, scores, covariance, noise, likelihood = most_likely(setting, chances)
        back, (_, *others) = np.kron(np.eye(len(cells) - 1), back), cells
        if len(others) > 1:
            ends = ["", *(f": {label}" for label in labels[1:])]
            labels = [name + end for name in others for end in ends]
    base = freedom = math.inf
    by_sandwich, size = is_linear or bool(survey.asked), len(values)
    if by_sandwich:
        n, lost = sample.size, (drawn.clusters is None) * (size - 1)
        covariance = covariance @ setting.meat(scores) @ covariance.T * (n - 1) / max(n - size, 1)
        base = max(float(drawn.sampling("population").freedom) - lost, 1.0)
        freedom = max(min(base, events - 1), 1.0)
    values = back @ values
    values[0] += origin
    covariance = back @ at_least(covariance[:size, :size], noise) @ back.T
    errors = np.sqrt(np.maximum(covariance.diagonal(), 0))
    # Sandwiches of few events are too small by as much as those of few people or clusters.
    wide = errors * math.sqrt((1 + 1 / freedom) / (1 + 1 / base))
    return Regression(
        tuple(labels),
        values,
        errors,
        *student_limits(values, wide, options.confidence, freedom),
        covariance,
        sample.size,
        family,
        response,
        ", ".join(designs),
        compared if several else compared[0],
        options.confidence,
        freedom,
        2 * stdtr(freedom, -np.abs(values) / np.maximum(wide, 1e-200)),
        "sandwich" if by_sandwich else "observed information",
        likelihood,
        min(one.fit for one in read.fitted),
        receipts[0] if len(designs) == 1 else None,
        note,
    )


# What is asked


def _public_columns(covariates: Any, response: Any, designs: Mapping[str, Any]) -> list[Any]:
    """Names of public covariates; :class:`InputError` where they are no different columns."""
    public = listed(covariates, "covariates", "a list of names of public columns", InputError)
    names = Schema((response, *public)).names
    if len({*names, *designs}) < max(len(names) + len(designs) - (response in designs), 2):
        raise InputError(
            "columns of a regression",
            expected="different names: of the privatised column, of the response, and of public "
            "covariates, at least one for a privatised response",
            got=f"{quote([*designs])}, {quote(response)} and {quote(covariates)}",
            remedy="pass column= and response=, the same for a privatised response, and for "
            "example covariates=['age', 'sex']; a privatised column is a covariate by itself",
        )
    return public


def _question(design: Any, feature: Any, is_linear: bool, is_response: bool) -> Question:
    """What a privatised column is in a regression: what its design asks, where no feature is named.

    Raises :class:`DataError` for symbols, or squares, that the reports do not tell.
    """
    kernel, alone = MatrixKernel.of(design), is_response and feature is None
    if not is_linear:
        remedy = "pass family='linear', which takes what the design asks"
        every = ask(design, remedy=None if designed_question(design) is None else remedy)
        if alone:
            return every
    elif alone and all(isinstance(x, (int, float)) for x in kernel.inputs):
        feature = {x: x for x in kernel.inputs}
    question = ask_as_designed(design, feature)
    v = question.weights
    if is_response and (v.shape[1] > 1 or not is_linear):
        raise InputError(
            "privatised response of a regression",
            expected="a number for each symbol, or feature= left out where it is logistic",
            got=quote(feature),
            remedy="pass family='linear' with feature={'no': 0, 'yes': 1}, by column where several "
            "are privatised, or family='logistic' for shares of symbols",
        )
    squares = np.einsum("xf,xg->xfg", v, v).reshape(len(v), -1)
    if not is_response and kernel.untold(Question((None,) * squares.shape[1], squares)):
        raise DataError(
            "mechanism",
            expected="one whose reports tell the squares of the feature, too",
            got="one where they do not, however many there are",
            remedy="take the symbols themselves, or design for its squares and products beside it, "
            "md.utility.Estimation([…]) (--of)",
        )
    return question
