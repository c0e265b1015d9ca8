"""``regress``: a regression in which one variable was privatised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, UnknownNameError, quote, warn
from ..labels import Label, listing
from ..mechanism import Mechanism, mechanism_of
from ..utility.estimation import Asked
from ..utility.questions import Question
from ._estimate import fit_of, judge_fit
from ._identifiability import ask, hidden_answers, least_variance, report_weights
from .codes import ABSENT, Codebook, check_choice
from .estimates import Intervals
from .latent import Latent, maximise_latent, refuse_free
from .likelihood import maximise
from .receipts import Receipt, trace
from .references import CONFIDENCE, check_confidence, reference_of
from .samples import Sample, read_sample
from .survey import Drawn, Survey, check_single, design_covariance, drawn_by, student_limits

Vector = NDArray[np.float64]

INTERCEPT = "(intercept)"
# Relative singular values of the public covariates below this are a dependence.
_DEPENDENT = 1e-9


@dataclass(frozen=True, repr=False)
class Regression(Intervals):
    """Coefficients of a regression with one privatised variable.

    Attributes
    ----------
    labels : terms: the intercept, ``column=symbol`` against the reference, names of numbers
    reports : number of people
    family : "linear" or "logistic"
    response, column : names of the response and of the privatised column, which may be the same
    reference : the symbol that others are compared with, ``None`` where the column is a number
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
        return (
            f"{self.family} regression of {self.response} on {self.reports} reports; {what} "
            f"{self.column} privatised; {100 * self.confidence:g} % intervals ({self.errors_by})"
        )

    def closing(self) -> list[str]:
        """What could not be told of where the reports came from."""
        return [self.note] if self.note else []


def regress(
    table: Any,
    mechanism: Any,
    column: str,
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
    mechanism : Mechanism or Design
        What made the reports in ``column``, independently of all other columns.
    column : name of the privatised column
    response : name of the response; ``column`` itself where that is the response
        A number for a linear regression, one of two values for a logistic one; a privatised
        response of more than two symbols gets coefficients for each against the reference.
    covariates : names of public columns
        Numbers, or values of which the first in order is the reference.
    family : {"linear", "logistic"}
    feature : function or mapping of inputs, optional
        Numbers make one coefficient of the privatised column, and are needed for a privatised
        response of a linear regression whose symbols are no numbers; other values are groups.
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
    found = mechanism_of(mechanism, "mechanism of a regression")
    names = columns_beside(column, response, covariates)
    if family == "logistic" or response != column:
        ask(found, feature)  # before reports are read: what none of them could tell
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
    setting = _Setting(sample, drawn, found, column, public, terms, n, not survey.asked)
    if family == "linear":
        best = reference_of(mechanism, found, truth)
        if private:
            solved = _linear_response(setting, feature, reference, best)
        else:
            question, named = _asked(found, feature, reference, column)
            solved = _linear(setting, question, named, sample.numbers(response, "response"), best)
    else:
        solved = _logistic(setting, feature, reference, None if private else response, likely[0])
    labels, values, covariance, errors_by, value, compared = solved
    errors = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    freedom = float(np.inf)
    if errors_by == "sandwich":
        lost = len(values) - 1 if drawn.clusters is None else 0
        freedom = float(max(drawn.freedom - lost, 1))
    return Regression(
        tuple(labels),
        values,
        errors,
        *student_limits(values, errors, confidence, freedom),
        covariance,
        n,
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


@dataclass(frozen=True)
class _Setting:
    """What all regressions begin with.

    ``public`` begins with a column of ones; ``plain`` is a sample without weights and the like.
    """

    sample: Sample
    drawn: Drawn
    mechanism: Mechanism
    column: str
    public: Vector
    terms: list[str]
    reports: int
    plain: bool

    @property
    def mass(self) -> Vector:
        return self.drawn.weights * self.sample.repeats

    def sandwich(self, scores: Vector, bread: Vector) -> Vector:
        """Covariance of the root of Σ w · score, for the design of the sample."""
        from scipy.sparse import csr_array

        weighted = csr_array(self.drawn.weights[:, None] * scores)
        meat = design_covariance(weighted, self.sample.repeats, self.drawn)
        factor = (self.reports - 1) / max(self.reports - scores.shape[1], 1)
        inverse = np.linalg.inv(bread)
        return np.asarray(factor * inverse @ meat @ inverse.T)


_Solved = tuple[list[str], Vector, Vector, str, float | None, Label]


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


def public_design(sample: Sample, covariates: list[str], mass: Vector) -> tuple[Vector, list[str]]:
    """Columns of public covariates ``(R, C)`` after one of ones, and their names.

    ``mass`` is what each row weighs.

    Raises :class:`DataError` for covariates that are constant or depend on each other.
    """
    columns, terms = [np.ones(len(sample.repeats))], [INTERCEPT]
    for name in covariates:
        if sample.is_numeric(name):
            columns.append(sample.numbers(name, "covariate"))
            terms.append(name)
            continue
        labels, codes = sample.categories(name, "covariate")
        for place, label in enumerate(labels[1:], start=1):
            columns.append((codes == place).astype(float))
            terms.append(f"{name}={label}")
        if len(labels) == 1:
            columns.append(np.ones(len(codes)))
            terms.append(name)
    found = np.column_stack(columns)
    size = np.sqrt(mass @ found**2)
    scaled = found / np.where(size > 0, size, 1)
    if len(found) < found.shape[1]:
        raise DataError(
            "covariates",
            expected=f"more than {len(found)} different rows for {found.shape[1]} terms",
            got=str(len(found)),
            remedy="leave some out, or collect more",
        )
    if found.shape[1] > 1:
        upper = np.linalg.qr(scaled * np.sqrt(mass)[:, None], mode="r")
        diagonal = np.abs(np.diagonal(upper))
        dependent = [terms[i] for i in range(1, len(terms)) if diagonal[i] <= _DEPENDENT]
        if dependent:
            raise DataError(
                "covariates",
                expected="columns that vary, none of which follows from the others",
                got=f"{listing(dependent)}, which does",
                remedy="leave it out",
            )
    return found, terms


def _asked(
    mechanism: Mechanism, feature: Asked, reference: Label, column: str
) -> tuple[Question, tuple[list[str], Label]]:
    """Columns of the design for each symbol, their names, and what they are compared with.

    Raises :class:`DataError` for symbols that the reports do not tell apart.
    """
    question = ask(mechanism, feature)
    v = question.weights
    grouped = bool(np.isin(v, (0, 1)).all() and (v.sum(axis=1) == 1).all())
    if not grouped:
        if reference is not None:
            raise InputError(
                "reference",
                expected="it left out where the privatised column is a number",
                got=quote(reference),
                remedy="leave it out",
            )
        single = question.labels == ("mean",)
        names = [column] if single else [f"{column}: {label}" for label in question.labels]
        return question, (names, None)
    book = Codebook(question.labels, "symbols")
    place = 0 if reference is None else book.place(reference)
    if place == ABSENT:
        raise UnknownNameError("reference", reference, map(str, question.labels))
    chosen = question.labels[place]
    kept = [i for i, label in enumerate(question.labels) if label != chosen]
    if not kept:
        raise DataError(
            "mechanism of a regression",
            expected="at least two symbols",
            got="one",
            remedy="leave the column out",
        )
    labels = tuple(question.labels[i] for i in kept)
    names = [f"{column}={label}" for label in labels]
    return Question(labels, v[:, kept]), (names, chosen)


def _linear(
    setting: _Setting,
    question: Question,
    named: tuple[list[str], Label],
    response: Vector,
    reference: Vector,
) -> _Solved:
    """Moments corrected by the kernel: Σ w (m − M β) = 0 with unbiased m and M for each report."""
    names, compared = named
    kernel, v = setting.mechanism.kernel, question.weights
    size = v.shape[1]
    a = report_weights(setting.mechanism, question, reference)
    products = Question(
        tuple((i, j) for i in range(size) for j in range(size)),
        (v[:, :, None] * v[:, None, :]).reshape(len(v), -1),
    )
    if hidden_answers(setting.mechanism, products):
        raise DataError(
            "mechanism",
            expected="one whose reports tell the squares of the feature, too",
            got="one where they do not, however many there are",
            remedy="take the symbols themselves, or design with md.utility.Estimation()",
        )
    b = least_variance(kernel, products, reference).reshape(-1, size, size)
    y, c, mass = setting.sample.reports, setting.public, setting.mass
    z = a[y]
    of_report = np.bincount(y, mass, len(a))
    corner = np.tensordot(of_report, b, 1)
    cross = (mass[:, None] * z).T @ c
    plain = (mass[:, None] * c).T @ c
    moments = np.block([[plain, cross.T], [cross, corner]])
    right = np.concatenate([(mass * response) @ c, (mass * response) @ z])
    _check_definite(moments, plain, names)
    _warn_of_rare(setting, z, question, names)
    beta = np.linalg.solve(moments, right)
    first, rest = beta[: c.shape[1]], beta[c.shape[1] :]
    # The products of public columns are known, so that only those with the secret carry noise.
    left = response - c @ first
    scores = np.hstack(
        [
            c * (left - z @ rest)[:, None],
            z * left[:, None] - np.einsum("ijk,k->ij", b, rest)[y],
        ]
    )
    covariance = setting.sandwich(scores, moments)
    order = [0, *range(c.shape[1], len(beta)), *range(1, c.shape[1])]
    labels = [INTERCEPT, *names, *setting.terms[1:]]
    return labels, beta[order], covariance[np.ix_(order, order)], "sandwich", None, compared


def _check_definite(moments: Vector, plain: Vector, names: list[str]) -> None:
    """Refuse moments that no secrets have: corrected ones may be so where reports are few."""
    size = len(plain)
    rest = moments[size:, size:] - moments[size:, :size] @ np.linalg.solve(
        plain, moments[:size, size:]
    )
    values, vectors = np.linalg.eigh((rest + rest.T) / 2)
    if values[0] <= 1e-9 * max(float(np.abs(values).max()), 1e-300):
        direction = np.abs(vectors[:, 0])
        told = [name for name, d in zip(names, direction, strict=True) if d > 0.3 * direction.max()]
        raise DataError(
            "linear regression",
            expected="reports that show how the privatised column varies beside the others",
            got=f"too few to tell of {listing(told)}",
            remedy="collect more (md.plan says how many), merge symbols in a feature, or leave out "
            "covariates",
        )


def _warn_of_rare(setting: _Setting, z: Vector, question: Question, names: list[str]) -> None:
    """Warn of symbols that the reports hardly show to occur."""
    if not np.isin(question.weights, (0, 1)).all():
        return
    share = setting.mass / setting.mass.sum()
    mean = share @ z
    error = np.sqrt(share @ (z - mean) ** 2 / setting.reports)
    rare = [name for name, m, e in zip(names, mean, error, strict=True) if m < 3 * e]
    if rare:
        warn(
            f"the reports hardly show that {listing(rare)} occur{'s' * (len(rare) == 1)}, so that "
            "intervals may miss; collect more, or merge symbols in a feature",
            PrecisionWarning,
        )


def _linear_response(setting: _Setting, feature: Asked, reference: Label, best: Vector) -> _Solved:
    """Least squares for the unbiased numbers that reports stand for."""
    inputs = setting.mechanism.inputs
    if reference is not None:
        raise InputError(
            "reference",
            expected="it left out for a privatised number",
            got=quote(reference),
            remedy="leave it out, or pass family='logistic'",
        )
    if feature is None and all(_is_number(label) for label in inputs):
        feature = {label: label for label in inputs}
    question = None if feature is None else ask(setting.mechanism, feature)
    if question is None or question.labels != ("mean",):
        raise InputError(
            "privatised response of a linear regression",
            expected="a number for each symbol",
            got="none" if feature is None else "other values",
            remedy="pass feature={'no': 0, 'yes': 1}, or family='logistic'",
        )
    z = report_weights(setting.mechanism, question, best)[setting.sample.reports, 0]
    c, mass = setting.public, setting.mass
    moments = (mass[:, None] * c).T @ c
    beta = np.linalg.solve(moments, (mass * z) @ c)
    covariance = setting.sandwich(c * (z - c @ beta)[:, None], moments)
    return setting.terms, beta, covariance, "sandwich", None, None


def _is_number(label: Label) -> bool:
    return isinstance(label, (int, float)) and not isinstance(label, bool)


def _logistic(
    setting: _Setting, feature: Asked, reference: Label, response: str | None, likely: Vector
) -> _Solved:
    """Maximum likelihood over the symbols that may have made each report."""
    mechanism, sample = setting.mechanism, setting.sample
    ask(mechanism)  # groups by a feature are made of symbols here, each of which must be told
    question, (names, compared) = _asked(mechanism, feature, reference, setting.column)
    inputs = list(mechanism.inputs)
    # What the shares are compared with must occur.
    first = int(np.argmax(likely))
    if response is None:
        if feature is not None:
            raise InputError(
                "feature",
                expected="it left out for a privatised response of a logistic regression",
                got="one",
                remedy="leave it out; shares of symbols are regressed",
            )
        first = inputs.index(compared)
    order = [first, *(i for i in range(len(inputs)) if i != first)]
    c, centre, scale = _standardised(setting.public, setting.mass)
    outcome = None if response is None else _binary(sample, response, setting.mass)
    of_response = [] if response is None else [INTERCEPT, *names, *setting.terms[1:]]
    while True:
        observed = Latent(
            mechanism.kernel[order].T[sample.reports],
            c,
            question.weights[order],
            outcome,
            setting.mass * (setting.reports / setting.mass.sum()),
        )
        others = [f"{setting.column}={inputs[i]}" for i in order[1:]]
        of_secret = [
            other if term == INTERCEPT else f"{other}: {term}"
            for other in others
            for term in setting.terms
        ]
        shares = np.maximum(likely[order], 0.5 / setting.reports)
        start = np.zeros(observed.parameters)
        start[observed.size :: c.shape[1]] = np.log(shares[1:] / shares[0])
        if outcome is not None:
            mean = float(observed.mass @ outcome / setting.reports)
            start[0] = np.log(mean / (1 - mean))
        found = maximise_latent(observed, start)
        absent = {1 + (i - observed.size) // c.shape[1] for i in found.free if i >= observed.size}
        kept = [i for place, i in enumerate(order) if place not in absent]
        rank = np.linalg.matrix_rank(np.column_stack([np.ones(len(kept)), question.weights[kept]]))
        if response is None or not absent or rank <= len(names):
            refuse_free(found, [*of_response, *of_secret])
            break
        gone = listing([inputs[order[place]] for place in sorted(absent)])
        warn(
            f"the reports do not show that {gone} occur{'s' * (len(absent) == 1)}; the regression "
            "is about people with other symbols",
            PrecisionWarning,
        )
        order = kept
    transform = _transform(observed, centre, scale)
    if setting.plain:
        covariance = np.asarray(np.linalg.inv(found.information), dtype=float)
        errors_by = "observed information"
    else:
        # The likelihood counted every person once on average.
        bread = found.information * (setting.mass.sum() / setting.reports)
        covariance, errors_by = setting.sandwich(found.scores, bread), "sandwich"
    values = transform @ found.coefficients
    covariance = np.asarray(transform @ covariance @ transform.T, dtype=float)
    if response is not None:
        part = slice(0, observed.size)
        labels = of_response
    else:
        part = slice(0, len(values))
        labels = setting.terms if len(others) == 1 else of_secret
    return labels, values[part], covariance[part, part], errors_by, found.value, compared


def _standardised(public: Vector, mass: Vector) -> tuple[Vector, Vector, Vector]:
    """Public columns with mean zero and spread one, but for the first; means and spreads."""
    share = mass / mass.sum()
    centre = share @ public
    scale = np.sqrt(share @ (public - centre) ** 2)
    centre[0], scale[0] = 0.0, 1.0
    scale[scale == 0] = 1.0
    return (public - centre) / scale, centre, scale


def _transform(observed: Latent, centre: Vector, scale: Vector) -> Vector:
    """From coefficients of standardised columns to those of the columns themselves."""
    from scipy.linalg import block_diag

    width, values = len(scale), observed.values.shape[1]
    back = np.diag(1 / scale)
    back[0, 1:] = -centre[1:] / scale[1:]
    parts = [back] * (observed.likelihoods.shape[1] - 1)
    if observed.response is not None:
        places = [0, *range(1 + values, width + values)]
        of_response = np.eye(observed.size)
        of_response[np.ix_(places, places)] = back
        parts = [of_response, *parts]
    return np.asarray(block_diag(*parts))


def _binary(sample: Sample, response: str, mass: Vector) -> Vector:
    """The response as 0 and 1, the larger of its two values being 1; both with some mass."""
    labels, codes = sample.categories(response, "response")
    if len(labels) != 2 or not np.bincount(codes, mass).all():
        raise DataError(
            f"response in column {quote(response)}",
            expected="two different values",
            got=f"{len(labels)}" + " with zero weight for one" * (len(labels) == 2),
            remedy="pass family='linear', or a response such as 0 and 1",
        )
    return codes.astype(float)
