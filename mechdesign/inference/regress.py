"""``regress``: a regression in which one variable was privatised, or several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, UnknownNameError, quote, warn
from ..labels import Label, listing
from ..mechanism import mechanism_of
from ..release._estimate import judge_fit
from ..release._identifiability import ask, ask_as_designed, designed_question
from ..release.codes import check_choice
from ..release.counts import check_tally
from ..release.estimates import Intervals
from ..release.likelihood import fit_of, maximise
from ..release.receipts import Receipt, trace
from ..release.references import CONFIDENCE, check_confidence, reference_of
from ..release.samples import CountedRows, Sample, read_columns
from ..release.survey import Survey, check_single, drawn_by, student_limits
from ..solve.columns_plan import KernelPlan
from ..utility.estimation import Asked
from ..utility.questions import Question
from .latent import Latent, maximise_latent, refuse_free
from .privatised import Secret, Setting, Terms, corrected_moments, larger, terms_of

Vector = NDArray[np.float64]

INTERCEPT = "(intercept)"
# Relative singular values of the public covariates below this are a dependence.
_DEPENDENT = 1e-9
# Combinations of values of which a logistic regression has coefficients of their own.
_MOST_TUPLES = 1000
# Odds of a false alarm about the model of a logistic regression.
_ALARM = 1e-3


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
        from scipy.special import stdtr

        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(self.values == 0, 0.0, np.abs(self.values) / self.errors)
        return np.asarray(2 * stdtr(self.freedom, -ratio))

    def describe(self) -> str:
        """What was regressed on what, and how errors were found, in one line."""
        what = "response" if self.response == self.column else "covariate"
        if ", " in self.column:
            what = "columns"
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
    distribution of secrets and errors [Carroll2006]. Standard errors are those of the sandwich, and
    no less than the noise that the kernels are known to add.

    Linear, secret as response: a_y in its place.

    Logistic: maximum likelihood over the symbols that may have made each report, which depend on
    the public covariates by a logistic regression of their own; errors by the observed information
    [Louis1982], which has the noise of the kernels in it, and by the sandwich for samples with
    weights, strata or clusters. Its intervals hold where these logistic regressions hold in the
    population. Where they do not, reports and secrets lead to different coefficients: the
    likelihood of reports is largest at another curve than that of secrets is, and intervals hold
    the slope of the secrets the more rarely the more people are asked (with a symbol of 5 % and
    a slope that bends, in 60 % of surveys at 5,000 reports of one nat, in 2 % at two nats). That is
    the model, not the method: where the model holds they hold it at their confidence.
    ``PrecisionWarning`` says where reports contradict the model; a linear regression needs none.

    Below five effective events of a symbol (of a symbol with either response, for a logistic
    regression) intervals fail, and the regression is refused. A share p estimated with variance s²
    has p²(1 − p)/s² of them: the number of people where nothing is private.

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
    check_choice("family of regression", family, ("linear", "logistic"))
    check_confidence(confidence)
    check_choice("what to do about a misfit", misfit, ("error", "warn"))
    several = isinstance(mechanism, (KernelPlan, Mapping))
    if several:
        for what, value in (("receipt", receipt), ("truth", truth)):
            if value is not None:
                raise InputError(
                    what,
                    expected="it left out where several columns are privatised",
                    got=type(value).__name__,
                    remedy="pass the table with its receipts",
                )
        designs = _privatised(mechanism, column, response)
        features = _by_column("feature", feature, designs)
        references = _by_column("reference", reference, designs)
    else:
        mechanism_of(mechanism, "mechanism of a regression")
        designs = {column: mechanism}
        features, references = {column: feature}, {column: reference}
    names = columns_beside(list(designs), response, covariates)
    kernels = {name: mechanism_of(design) for name, design in designs.items()}
    # Before reports are read: what none of them could tell.
    terms = {
        name: _asked(name, design, response, family, features.get(name), references.get(name))
        for name, design in designs.items()
    }
    survey = Survey(weights, strata, clusters)
    sample, places = read_columns(table, kernels, [*names, *survey.columns], missing)
    n = int(sample.repeats.sum())
    secrets, fits, receipts, notes = {}, [], [], []
    for name, kernel in kernels.items():
        where = f"reports in column {name!r}" if several else "reports"
        counts = np.bincount(places[name], sample.repeats, kernel.shape[1]).astype(np.int64)
        check_tally(counts, kernel)
        likely, gap, _ = maximise(kernel.kernel, counts[None] / n)
        fits.append(fit_of(kernel.kernel, counts / n, likely[0], n, float(gap[0])))
        judge_fit(fits[-1], misfit, where)
        counted = isinstance(table, CountedRows)
        given = table.receipts.get(name) if counted and receipt is None else receipt
        found, note = trace(table, None if counted else name, designs[name], given, n, where)
        receipts.append(found)
        notes.append(note)
        best = reference_of(designs[name], kernel, truth)
        secrets[name] = Secret(designs[name], kernel, terms[name], places[name], best, likely[0])
    drawn = drawn_by(survey, sample)
    check_single(drawn, strata)
    public, named = _public_design(sample, covariates, drawn.weights * sample.repeats)
    setting = Setting(sample, drawn, public, named, n, not survey.asked)
    reported = secrets.pop(response, None)
    beside = list(secrets.values())
    if family == "linear":
        told = (
            sample.numbers(response, "response")
            if reported is None
            else reported.weights(reported.terms.values)[reported.places, 0]
        )
        for secret in beside:
            setting.refuse_rare(secret, np.ones((len(told), 1)), [""])
        values, covariance = corrected_moments(setting, beside, reported, told)
        labels = _labels(setting, beside)
        order = _order(setting, len(labels))
        values, covariance = values[order], covariance[np.ix_(order, order)]
        errors_by, likelihood = "sandwich", None
    else:
        labels, values, covariance, errors_by, likelihood = _logistic(
            setting, beside, reported, response
        )
    compared = tuple(secret.terms.compared for secret in beside)
    errors = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    freedom = math.inf
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
        ", ".join(designs),
        compared if several else terms[column].compared,
        confidence,
        freedom,
        errors_by,
        likelihood,
        min(fits),
        receipts[0] if len(receipts) == 1 else None,
        "; ".join(dict.fromkeys(filter(None, notes))),
    )


# What is asked


def _privatised(mechanism: Any, column: Any, response: Any) -> dict[str, Any]:
    """The designs of the privatised columns, the response last."""
    designs = mechanism
    if isinstance(mechanism, KernelPlan):
        designs = {name: mechanism[name] for name in mechanism.names}
    names = [column] if isinstance(column, str) else list(designs if column is None else column)
    if unknown := [name for name in names if name not in designs]:
        raise UnknownNameError("privatised column", unknown[0], map(str, designs))
    if isinstance(response, str) and response in designs and response not in names:
        names.append(response)
    if len(set(names)) < len(names) or not names:
        raise InputError(
            "privatised columns of a regression",
            expected="different columns, at least one",
            got=listing(names) if names else "none",
            remedy="name each once",
        )
    return {name: designs[name] for name in sorted(names, key=lambda name: name == response)}


def _by_column(what: str, given: Any, designs: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked of single columns, by their names."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(
            what,
            expected="a mapping from privatised columns, as there are several",
            got=quote(given),
            remedy=f"pass for example {what}={{{next(iter(designs))!r}: …}}",
        )
    if unknown := [name for name in given if name not in designs]:
        raise UnknownNameError(f"column of a {what}", unknown[0], designs)
    return dict(given)


def columns_beside(columns: Sequence[Any], response: Any, covariates: Any) -> list[str]:
    """Names of the columns beside those of reports, once each; raises :class:`InputError` for
    others.
    """
    if not all(isinstance(name, str) for name in (*columns, response)):
        raise InputError(
            "regression",
            expected="names of the privatised column and of the response",
            got=f"{listing(list(columns))} and {quote(response)}",
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
    twice = [name for name in covariates if name in (*columns, response)]
    if twice or len(set(covariates)) < len(covariates):
        raise InputError(
            "covariates",
            expected="public columns beside the response and the privatised one, once each",
            got=f"{quote(twice[0])} among them" if twice else "one of them twice",
            remedy="leave it out; the privatised column is a covariate by itself",
        )
    if list(columns) == [response] and not covariates:
        raise InputError(
            "covariates",
            expected="at least one for a privatised response",
            got="none",
            remedy="name them, or estimate the shares with md.estimate",
        )
    return [name for name in (response, *covariates) if name not in columns]


def _asked(
    name: str, design: Any, response: str, family: str, feature: Asked, reference: Label
) -> Terms:
    """The terms of a privatised column: what a design for questions asks, where no feature is
    named.

    Raises :class:`DataError` for symbols that the reports do not tell apart.
    """
    if family == "logistic":
        remedy = "pass family='linear', which takes what the design asks"
        symbols = ask(design, remedy=None if designed_question(design) is None else remedy)
    if name != response:
        return terms_of(ask_as_designed(design, feature), reference, name)
    if family == "logistic":
        if feature is not None:
            raise InputError(
                "feature",
                expected="it left out for a privatised response of a logistic regression",
                got="one",
                remedy="leave it out; shares of symbols are regressed",
            )
        return terms_of(symbols, reference, name)
    question = _number(design, feature)
    if question is None:
        raise InputError(
            "privatised response of a linear regression",
            expected="a number for each symbol",
            got="none" if feature is None else "other values",
            remedy="pass feature={'no': 0, 'yes': 1}, by column where several are privatised, or "
            "family='logistic'",
        )
    return terms_of(question, reference, name)


def _number(design: Any, feature: Asked) -> Question | None:
    """The number of each symbol that is a response: a feature, what a design for one answer asks,
    or the symbols themselves; ``None`` where there is none.
    """
    inputs, own = mechanism_of(design).inputs, designed_question(design)
    if feature is None and own is not None and len(own.labels) == 1:
        return ask_as_designed(design)
    if feature is None:
        numbers = [isinstance(x, (int, float)) and not isinstance(x, bool) for x in inputs]
        feature = dict(zip(inputs, inputs, strict=True)) if all(numbers) else None
    found = None if feature is None else ask(design, feature)
    return found if found is not None and found.labels == ("mean",) else None


def _public_design(
    sample: Sample, covariates: Sequence[str], mass: Vector
) -> tuple[Vector, list[str]]:
    """Columns of public covariates ``(R, C)`` after one of ones, and their names.

    Raises :class:`DataError` for covariates that are constant or depend on each other.
    """
    columns, terms = [np.ones(len(mass))], [INTERCEPT]
    for name in covariates:
        if sample.is_numeric(name):
            columns.append(sample.numbers(name, "covariate"))
            terms.append(name)
            continue
        labels, codes = sample.categories(name, "covariate")
        columns += [(codes == place).astype(float) for place in range(1, len(labels))]
        terms += [f"{name}={label}" for label in labels[1:]]
        if len(labels) == 1:
            columns.append(np.ones(len(codes)))
            terms.append(name)
    found = np.column_stack(columns)
    if len(found) < found.shape[1]:
        raise DataError(
            "covariates",
            expected=f"more than {len(found)} different rows for {found.shape[1]} terms",
            got=str(len(found)),
            remedy="leave some out, or collect more",
        )
    size = np.sqrt(mass @ found**2)
    scaled = found / np.where(size > 0, size, 1) * np.sqrt(mass)[:, None]
    diagonal = np.abs(np.diagonal(np.linalg.qr(scaled, mode="r")))
    if dependent := [terms[i] for i in range(1, len(terms)) if diagonal[i] <= _DEPENDENT]:
        raise DataError(
            "covariates",
            expected="columns that vary, none of which follows from the others",
            got=f"{listing(dependent)}, which does",
            remedy="leave it out",
        )
    return found, terms


def _labels(setting: Setting, secrets: Sequence[Secret]) -> list[str]:
    names = [name for secret in secrets for name in secret.terms.names]
    return [INTERCEPT, *names, *setting.terms[1:]]


def _order(setting: Setting, size: int) -> list[int]:
    """Positions of the intercept, of the secrets' terms and of other public ones."""
    width = setting.public.shape[1]
    return [0, *range(width, size), *range(1, width)]


# Logistic regressions


def _products(parts: Sequence[Vector]) -> Vector:
    """``(R, N)`` products over combinations of the columns of each part, ``(R, N_i)``."""
    found: Vector = np.ones((len(parts[0]), 1))
    for part in parts:
        found = (found[:, :, None] * part[:, None]).reshape(len(found), -1)
    return found


def _logistic(
    setting: Setting, secrets: Sequence[Secret], reported: Secret | None, response: str
) -> tuple[list[str], Vector, Vector, str, float]:
    """Maximum likelihood over the symbols that may have made each report; of several columns their
    tuples, and with a privatised response beside them either of its values.
    """
    mass, plain = setting.mass, setting.public
    ends: list[int] = []
    outcome = None
    if reported is not None:
        inputs = reported.kernel.inputs
        first = inputs.index(reported.terms.compared)
        ends = [first, 1 - first]
        if secrets and len(inputs) != 2:
            raise DataError(
                f"privatised response {quote(response)}",
                expected="two symbols, with other privatised columns beside it",
                got=str(len(inputs)),
                remedy="merge them before they are privatised, or regress it on public covariates",
            )
        setting.refuse_rare(reported, np.ones((len(mass), 1)), [""])
    else:
        labels, codes = setting.sample.categories(response, "response")
        if len(labels) != 2 or not np.bincount(codes, mass).all():
            raise DataError(
                f"response in column {quote(response)}",
                expected="two different values",
                got=f"{len(labels)}" + " with zero weight for one" * (len(labels) == 2),
                remedy="pass family='linear', or a response such as 0 and 1",
            )
        outcome = codes.astype(float)[:, None]
    columns = list(secrets) or [reported]
    shape = [len(secret.kernel.inputs) for secret in columns]
    if math.prod(shape) > _MOST_TUPLES:
        raise DataError(
            "logistic regression on several privatised columns",
            expected=f"at most {_MOST_TUPLES:,} combinations of their values",
            got=f"{math.prod(shape):,}",
            remedy="leave out columns, merge values before they are privatised, or pass "
            "family='linear'",
        )
    every = [secret.weights(np.eye(n))[secret.places] for secret, n in zip(columns, shape, strict=True)]
    likelihoods = _products([secret.kernel.kernel.T[secret.places] for secret in columns])
    unbiased = _products(every)
    likely = _products([secret.likely[None] for secret in columns])[0]
    where = np.unravel_index(np.arange(len(likely)), shape)
    symbols = [
        row if len(row) > 1 else row[0] for row in product(*(s.kernel.inputs for s in columns))
    ]
    values = np.zeros((len(likely), 0))
    mean = 0.5
    if secrets:
        first = int(np.argmax(likely))
        values = np.hstack([s.terms.values[at] for s, at in zip(columns, where, strict=True)])
        told = outcome
        if reported is not None:
            told = reported.weights(np.eye(2))[reported.places][:, [ends[1]]]
            chances = reported.kernel.kernel.T[reported.places]
            likelihoods = np.hstack([likelihoods * chances[:, [end]] for end in ends])
            unbiased = np.hstack([unbiased * (1 - told), unbiased * told])
            outcome = np.repeat([[0.0, 1.0]], len(values), axis=1)
        mean = float(np.clip(mass @ told[:, 0] / mass.sum(), 1 / setting.reports, 1 - 1 / setting.reports))
        for secret in columns:
            both = np.hstack([1 - told, told])
            setting.refuse_rare(secret, both, [f" with {quote(response)} {end}" for end in ("low", "high")])
    share = mass / mass.sum()
    centre, scale = share @ plain, np.sqrt(share @ (plain - share @ plain) ** 2)
    centre[0], scale[0] = 0.0, 1.0
    scale[scale == 0] = 1.0
    public = (plain - centre) / scale
    back = np.diag(1 / scale)
    back[0, 1:] = -centre[1:] / scale[1:]
    width = len(back)
    name = ", ".join(secret.terms.labels[0].split("=")[0] for secret in columns)
    order = [first, *(i for i in range(len(symbols)) if i != first)]
    while True:
        both = [i + k * len(symbols) for k in range(1 + (outcome is not None and len(outcome) == 1)) for i in order]
        observed = Latent(
            likelihoods[:, both],
            public,
            values[order],
            outcome if outcome is None or len(outcome) > 1 else np.repeat([[0.0, 1.0]], len(order), axis=1),
            mass * (setting.reports / mass.sum()),
        )
        others = [f"{name}={symbols[i]}" for i in order[1:]]
        of_secret = [o if t == INTERCEPT else f"{o}: {t}" for o in others for t in setting.terms]
        of_response = [*setting.terms, *_labels(setting, secrets)[1 : 1 + values.shape[1]]] if secrets else []
        shares = np.maximum(likely[order], 0.5 / setting.reports)
        start = np.zeros(observed.parameters)
        start[observed.size :: width] = np.log(shares[1:] / shares[0])
        if observed.size:
            start[0] = np.log(mean / (1 - mean))
        found = maximise_latent(observed, start)
        absent = {1 + (i - observed.size) // width for i in found.free if i >= observed.size}
        kept = [i for place, i in enumerate(order) if place not in absent]
        span = np.column_stack([np.ones(len(kept)), values[kept]])
        if not secrets or not absent or np.linalg.matrix_rank(span) < span.shape[1]:
            refuse_free(found, [*of_response, *of_secret])
            break
        gone = listing([symbols[order[place]] for place in sorted(absent)])
        warn(
            f"the reports do not show that {gone} occur{'s' * (len(absent) == 1)}; the regression "
            "is about people with other symbols",
            PrecisionWarning,
        )
        order = kept
    inverse = np.linalg.inv(found.information)
    if setting.plain:
        covariance, errors_by = inverse, "observed information"
    else:
        # The likelihood counted every person once on average.
        bread = found.information * (mass.sum() / setting.reports)
        noise = (inverse - np.linalg.inv(found.known)) * (setting.reports * setting.spread)
        covariance, errors_by = setting.sandwich(found.scores, bread, noise), "sandwich"
    transform = np.eye(observed.parameters)
    for at in [*range(observed.size, len(transform), width), *([0] if secrets else [])]:
        transform[at : at + width, at : at + width] = back
    part: Any = _order(setting, observed.size) if secrets else slice(None)
    labels = _labels(setting, secrets) if secrets else setting.terms if len(others) == 1 else of_secret
    covariance = (transform @ covariance @ transform.T)[part][:, part]
    return labels, (transform @ found.coefficients)[part], covariance, errors_by, found.value
