"""``regress``: a regression in which one variable was privatised, or several."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    DataError,
    InputError,
    PrecisionWarning,
    UnknownNameError,
    is_iterable,
    quote,
    warn,
)
from ..labels import Label, counted, listing
from ..mechanism import Mechanism, mechanism_of
from ..release._identifiability import ask, ask_as_designed, designed_question
from ..release.codes import check_choice
from ..release.receipts import Receipt, trace
from ..release.reports import Sample, sample_of
from ..solve.columns_plan import KernelPlan
from ..utility.estimation import Asked
from ..utility.questions import Question
from ._estimate import judge_fit
from .latent import Latent, maximise_latent, refuse_free
from .likelihood import fit_of, maximise
from .privatised import Secret, Setting, Terms, corrected_moments, terms_of
from .references import CONFIDENCE, check_confidence, reference_of
from .results import Intervals
from .surveys import Survey, check_single, drawn_by, student_limits

Vector = NDArray[np.float64]

INTERCEPT = "(intercept)"
# Relative singular values of the public covariates below this are a dependence.
_DEPENDENT = 1e-9
# Combinations of values of which a logistic regression has coefficients of their own.
_MOST_TUPLES = 1000


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
    freedom : degrees of freedom of the intervals; of a linear regression at most the number of
        people of the rarest symbol, less one
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
    distribution of secrets and errors [Carroll2006]. Standard errors are those of the sandwich, and
    no less than the noise that the kernels are known to add.

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

    Below five effective events of a symbol (of a symbol with either response, for a logistic
    regression) intervals fail, and the regression is refused. A share p estimated with variance s²
    has p²(1 − p)/s² of them: the number of people where nothing is private. Intervals of
    a linear regression are Student's with at most one degree of freedom less than the people of the
    rarest symbol.

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
    if not several:
        mechanism_of(mechanism, "mechanism of a regression")
    elif receipt is not None or truth is not None:
        raise InputError(
            "receipt and truth",
            expected="them left out where several columns are privatised",
            got="one of them",
            remedy="pass the table with its receipts",
        )
    designs = _designs(mechanism, column, response) if several else {}
    others = _columns_beside(list(designs) if several else [column], response, covariates)
    if not several:
        designs, feature, reference = ({column: x} for x in (mechanism, feature, reference))
    given = ({} if each is None else each for each in (feature, reference))
    terms = _asked(designs, response, family, *given)
    kernels = {name: mechanism_of(design) for name, design in designs.items()}
    survey = Survey(weights, strata, clusters)
    sample = sample_of(table, kernels, [*others, *survey.columns], missing)
    n, places = sample.size, sample.places
    secrets, fits, receipts, notes = {}, [], [], []
    for name, kernel in kernels.items():
        where = f"reports in column {name!r}" if several else "reports"
        counts = np.bincount(places[name], sample.repeats, kernel.shape[1])
        likely, gap, _ = maximise(kernel.kernel, counts[None] / n)
        fits.append(fit_of(kernel.kernel, counts / n, likely[0], n, float(gap[0])))
        judge_fit(fits[-1], misfit, where)
        found = trace(table, name, designs[name], receipt, n, where)
        receipts.append(found[0])
        notes.append(found[1])
        best = reference_of(designs[name], kernel, truth)
        secrets[name] = Secret(kernel, terms[name], places[name], best, likely[0])
    drawn = drawn_by(survey, sample)
    check_single(drawn, strata)
    setting = Setting(sample, drawn, *_public_design(sample, covariates, drawn.weights))
    reported = secrets.pop(response, None)
    beside = list(secrets.values())
    names = [name for secret in beside for name in secret.terms.names]
    names = [INTERCEPT, *names, *setting.terms[1:]]
    value, errors_by, people = None, "sandwich", math.inf
    if family == "linear":
        if reported is None:
            told = sample.numbers(response, "response")
        else:
            told = reported.weights(reported.terms.values)[reported.places, 0]
        once = [("", np.ones(len(told)))]
        people = min((setting.fewest(secret, once) for secret in beside), default=math.inf)
        values, covariance, noise = corrected_moments(setting, beside, reported, told)
    else:
        if not survey.asked:
            errors_by = "observed information"
        reported = reported or _open_response(sample, response)
        values, covariance, noise, value = _logistic(
            setting, ", ".join(secrets), beside, reported, names, errors_by == "sandwich"
        )
    width, size = len(setting.terms), len(values)
    public = [[0, *range(size - width + 1, size)]]
    if not beside:
        public = [[*range(at, at + width)] for at in range(0, size, width)]
        if size > width:
            names = _of_symbols(terms[response].names, setting)
    transform = np.eye(size)
    for place in public:
        transform[np.ix_(place, place)] = setting.back
    values = transform @ values
    covariance, noise = (transform @ each @ transform.T for each in (covariance, noise))
    observed, least = (np.sqrt(np.maximum(np.diagonal(v), 0)) for v in (covariance, noise))
    errors = np.maximum(observed, least)
    grown = errors / np.where(observed > 0, observed, 1)
    covariance = covariance * np.outer(grown, grown)
    np.fill_diagonal(covariance, errors**2)
    freedom = math.inf
    if errors_by == "sandwich":
        lost = size - 1 if drawn.clusters is None else 0
        freedom = float(max(min(drawn.sampling("population").freedom - lost, people - 1), 1))
    compared = tuple(secret.terms.compared for secret in beside)
    return Regression(
        tuple(names),
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
        value,
        min(fits),
        receipts[0] if len(receipts) == 1 else None,
        "; ".join(dict.fromkeys(filter(None, notes))),
    )


# What is asked


def _designs(mechanism: Any, column: Any, response: Any) -> dict[str, Any]:
    """The designs of the privatised columns of a plan or mapping, the response last."""
    designs = mechanism
    if isinstance(mechanism, KernelPlan):
        designs = {name: mechanism[name] for name in mechanism.names}
    names = list(designs) if column is None else [column]
    if is_iterable(column) and not isinstance(column, str):
        names = list(column)
    _check_known("privatised column", names, designs)
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


def _check_known(what: str, names: Iterable[Any], known: Iterable[Any]) -> None:
    if unknown := [name for name in names if name not in [*known]]:
        raise UnknownNameError(what, unknown[0], map(str, known))


def _columns_beside(columns: list[Any], response: Any, covariates: Any) -> list[str]:
    """Names of the columns beside those of reports, once each; raises :class:`InputError` for
    others.
    """
    named = isinstance(covariates, Sequence) and not isinstance(covariates, (str, bytes))
    if not named or not all(isinstance(name, str) for name in (*columns, response, *covariates)):
        raise InputError(
            "regression",
            expected="names of the privatised column, of the response, and a list of names",
            got=f"{listing(columns)}, {quote(response)} and {quote(covariates)}",
            remedy="pass column= and response=, the same for a privatised response, and for "
            "example covariates=['age', 'sex']",
        )
    every = list(dict.fromkeys([*columns, response]))
    twice = [name for i, name in enumerate(covariates) if name in (*every, *covariates[:i])]
    if twice or (len(every) == 1 and not covariates):
        raise InputError(
            "covariates",
            expected="public columns beside the others, once each, and at least one for a "
            "privatised response",
            got=f"{quote(twice[0])} among them twice" if twice else "none",
            remedy="name public columns; a privatised one is a covariate by itself, and shares are "
            "estimated with md.estimate",
        )
    return [*every[len(columns) :], *covariates]


def _asked(
    designs: Mapping[str, Any], response: str, family: str, features: Any, references: Any
) -> dict[str, Terms]:
    """The terms of each privatised column: what a design for questions asks, where no feature is
    named.

    Raises :class:`DataError` for symbols that the reports do not tell apart.
    """
    for what, given in (("feature", features), ("reference", references)):
        if not isinstance(given, Mapping):
            raise InputError(
                what,
                expected="a mapping from privatised columns, as there are several",
                got=quote(given),
                remedy=f"pass for example {what}={{{next(iter(designs))!r}: …}}",
            )
        _check_known(f"column of a {what}", given, designs)
    found = {}
    for name, design in designs.items():
        feature, own = features.get(name), designed_question(design)
        question: Any = None
        if family == "logistic":
            remedy = "pass family='linear', which takes what the design asks"
            question = ask(design, remedy=None if own is None else remedy)
        if name != response:
            question = ask_as_designed(design, feature)
        elif family == "linear":
            inputs = mechanism_of(design).inputs
            if feature is None and all(isinstance(x, (int, float)) for x in inputs):
                feature = {x: x for x in inputs}
            if feature is not None or (own is not None and len(own.labels) == 1):
                question = ask_as_designed(design, feature)
            if question is None or len(question.labels) > 1:
                raise InputError(
                    "privatised response of a linear regression",
                    expected="a number for each symbol",
                    got="other values, or none",
                    remedy="pass feature={'no': 0, 'yes': 1}, by column where several are "
                    "privatised, or family='logistic'",
                )
        elif feature is not None:
            raise InputError(
                "feature",
                expected="it left out for a privatised response of a logistic regression",
                got="one",
                remedy="leave it out; shares of symbols are regressed",
            )
        found[name] = terms_of(question, references.get(name), name)
    return found


def _public_design(
    sample: Sample, covariates: Sequence[str], weights: Vector
) -> tuple[Vector, Vector, list[str]]:
    """Columns of public covariates after a constant one, made orthogonal, from their coefficients
    to those of the columns, and names of these.

    Raises :class:`DataError` for covariates that are constant or depend on each other.
    """
    columns, terms = [np.ones(len(weights))], [INTERCEPT]
    for name in covariates:
        if sample.is_numeric(name):
            columns.append(sample.numbers(name, "covariate"))
            terms.append(name)
            continue
        labels, codes = sample.categories(name, "covariate")
        # A single value is a constant, which is refused.
        for place in range(len(labels) > 1, len(labels)):
            columns.append(np.asarray(codes == place, dtype=float))
            terms.append(f"{name}={labels[place]}")
    found = np.column_stack(columns)
    root = np.sqrt(weights * sample.repeats)[:, None] * found
    size = np.maximum(np.linalg.norm(root, axis=0), 1e-300)
    root = np.vstack([root / size, np.zeros((len(size), len(size)))])
    upper = np.linalg.qr(root, mode="r")
    apart = np.abs(np.diagonal(upper)) > _DEPENDENT
    if not apart.all():
        raise DataError(
            "covariates",
            expected="columns that vary, none of which follows from the others",
            got=f"{listing(np.array(terms)[~apart].tolist())}, which does",
            remedy="leave it out, or collect more",
        )
    # The mean square of each column is one.
    back = np.linalg.inv(upper) / size[:, None] * np.sqrt((weights * sample.repeats).sum())
    return found @ back, back, terms


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
    kernel, half = Mechanism(np.eye(2), labels, labels), np.full(2, 0.5)
    terms = terms_of(Question(tuple(labels), np.eye(2)), None, response)
    return Secret(kernel, terms, codes, half, half)


def _of_symbols(names: Sequence[str], setting: Setting) -> list[str]:
    """Names of the coefficients of shares of symbols."""
    return [
        f"{name}: {term}" if k else name for name in names for k, term in enumerate(setting.terms)
    ]


def _products(parts: Sequence[Vector]) -> Vector:
    """``(R, N)`` products over combinations of the columns of each part, ``(R, N_i)``."""
    found: Vector = np.ones((len(parts[0]), 1))
    for part in parts:
        found = (found[:, :, None] * part[:, None]).reshape(len(found), -1)
    return found


def _logistic(
    setting: Setting,
    name: str,
    secrets: Sequence[Secret],
    reported: Secret,
    names: list[str],
    sandwich: bool,
) -> tuple[Vector, Vector, Any, float]:
    """Maximum likelihood over the symbols that may have made each report; of several columns their
    tuples, and with a response beside them either of its values.
    """
    columns, inputs = secrets or [reported], list(reported.kernel.inputs)
    first = inputs.index(reported.terms.compared)
    shape = [len(secret.likely) for secret in columns]
    if math.prod(shape) > _MOST_TUPLES or (secrets and len(inputs) != 2):
        raise DataError(
            "logistic regression on several privatised columns",
            expected=f"a response of two values, and at most {_MOST_TUPLES:,} combinations of "
            "others",
            got=f"{len(inputs)} and {math.prod(shape):,}",
            remedy="merge values before they are privatised, leave out columns, or pass "
            "family='linear'",
        )
    mass, n, once = setting.mass, setting.sample.repeats.sum(), np.ones(len(setting.public))
    setting.fewest(reported, [("", once)])
    likelihoods = _products([s.chances for s in columns])
    likely, values = _products([s.likely[None] for s in columns])[0], np.zeros((shape[0], 0))
    symbols = list(product(*(s.kernel.inputs for s in columns)))
    # What shares are compared with must occur.
    order = [int(np.argmax(likely)) if secrets else first]
    order += [i for i in range(len(likely)) if i != order[0]]
    if secrets:
        ends = [first, 1 - first]
        chances, told = reported.chances[:, ends], reported.symbols[:, ends]
        likelihoods = likelihoods[:, None] * chances[:, :, None]
        beside = [f" with {end}" for end in (reported.terms.other, *reported.terms.names)]
        for secret in secrets:
            setting.fewest(secret, list(zip(beside, told.T, strict=True)))
        where = np.unravel_index(np.arange(len(likely)), shape)
        values = np.hstack([s.terms.values[at] for s, at in zip(secrets, where, strict=True)])
        share = np.clip(mass @ told[:, 1] / mass.sum(), 1 / n, 1 - 1 / n)
    while True:
        seen = likelihoods[..., order].reshape(len(mass), -1)
        observed = Latent(seen, setting.public, values[order], mass * (n / mass.sum()))
        size, width = observed.size, len(setting.terms)
        start = np.zeros(observed.parameters)
        shares = np.maximum(likely[order], 0.5 / n)
        start[size::width] = np.log(shares[1:] / shares[0]) / setting.back[0, 0]
        if secrets:
            start[0] = np.log(share / (1 - share)) / setting.back[0, 0]
        found = maximise_latent(observed, start)
        absent = {1 + (i - size) // width for i in found.free if i >= size}
        kept = [i for place, i in enumerate(order) if place not in absent]
        span = np.column_stack([np.ones(len(kept)), values[kept]])
        if not secrets or not absent or np.linalg.matrix_rank(span) < span.shape[1]:
            of_secret = (
                [f"{name}={listing(symbols[i])}" for i in order[1:]]
                if secrets
                else reported.terms.names
            )
            refuse_free(found, [*names[:size], *_of_symbols(of_secret, setting)])
            break
        gone = [listing(symbols[order[place]]) for place in sorted(absent)]
        warn(
            f"the reports do not show that {', '.join(gone)} occur{'s' * (len(absent) == 1)}; the "
            "regression is about people with other symbols",
            PrecisionWarning,
        )
        order = kept
    covariance: Any = np.linalg.inv(found.information)
    noise = (covariance - np.linalg.inv(found.known)) * (n * setting.spread)
    if sandwich:
        # The likelihood counted every person once on average.
        covariance = setting.sandwich(found.scores, covariance * (n / mass.sum()))
    part = slice(size or None)
    return found.coefficients[part], covariance[part, part], noise[part, part], found.value
