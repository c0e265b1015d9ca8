"""How regressions on reports are solved: corrected moments, and the likelihood over symbols.

The privatised variable is a symbol; where several columns are privatised, a tuple of their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, PrecisionWarning, UnknownNameError, quote, warn
from ..inference.surveys import Drawn, design_covariance
from ..labels import Label, listing
from ..mechanism import mechanism_of
from ..utility.estimation import Asked
from ..utility.questions import Question
from ._identifiability import (
    ask,
    ask_as_designed,
    designed_question,
    hidden_answers,
    least_variance,
    report_weights,
)
from .codes import ABSENT, Codebook
from .latent import Latent, maximise_latent, refuse_free
from .samples import Sample

Vector = NDArray[np.float64]

INTERCEPT = "(intercept)"
# Relative singular values of the public covariates below this are a dependence.
_DEPENDENT = 1e-9


@dataclass(frozen=True)
class Setting:
    """What all regressions begin with; ``symbols`` are those that shares are regressed for.

    ``public`` begins with a column of ones; ``plain`` is a sample without weights and the like.
    """

    sample: Sample
    drawn: Drawn
    column: str
    public: Vector
    terms: list[str]
    reports: int
    plain: bool
    symbols: tuple[Label, ...]

    @property
    def mass(self) -> Vector:
        """What each row weighs."""
        return self.drawn.weights * self.sample.repeats

    def of(self, symbols: tuple[Label, ...]) -> Setting:
        """The same for other names of symbols."""
        return replace(self, symbols=symbols)

    def sandwich(self, scores: Vector, bread: Vector) -> Vector:
        """Covariance of the root of Σ w · score, for the design of the sample."""
        from scipy.sparse import csr_array

        weighted = csr_array(self.drawn.weights[:, None] * scores)
        meat = design_covariance(weighted, self.sample.repeats, self.drawn)
        factor = (self.reports - 1) / max(self.reports - scores.shape[1], 1)
        inverse = np.linalg.inv(bread)
        return np.asarray(factor * inverse @ meat @ inverse.T)


Solved = tuple[list[str], Vector, Vector, str, float | None, Label]


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


def asked_terms(
    designed: Any, feature: Asked, reference: Label, column: str
) -> tuple[Question, tuple[list[str], Label]]:
    """Columns of the regression for each symbol, their names, and what they are compared with: what
    a design for questions asks, where no feature is named.

    Raises :class:`DataError` for symbols that the reports do not tell apart.
    """
    question = ask_as_designed(designed, feature)
    return terms_of(question, reference, column)


def terms_of(
    question: Question, reference: Label, column: str
) -> tuple[Question, tuple[list[str], Label]]:
    """The same of a question; raises :class:`UnknownNameError` for a reference that is none."""
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


@dataclass(frozen=True)
class Covariate:
    """What the reports of a privatised covariate stand for.

    Attributes
    ----------
    names : of its ``F`` columns of the design
    compared : the symbol that others are compared with, ``None`` where it is a number
    reports : ``(R,)`` positions
    weights : ``(M, F)`` whose mean over the mechanism is the columns of the design
    squares : ``(M, F, F)`` whose mean is the products of these
    indicators : whether the columns are groups of symbols
    """

    names: list[str]
    compared: Label
    reports: NDArray[np.int64]
    weights: Vector
    squares: Vector
    indicators: bool

    @property
    def values(self) -> Vector:
        """``(R, F)`` unbiased columns of the design."""
        return np.asarray(self.weights[self.reports])


def covariate_of(
    designed: Any,
    question: Question,
    named: tuple[list[str], Label],
    reports: NDArray[np.int64],
    reference: Vector,
) -> Covariate:
    """What reports of a covariate stand for, most exactly at a reference distribution.

    Raises :class:`DataError` for reports that do not tell the squares of the columns.
    """
    mechanism, v = mechanism_of(designed), question.weights
    size = v.shape[1]
    products = Question(
        tuple((i, j) for i in range(size) for j in range(size)),
        (v[:, :, None] * v[:, None, :]).reshape(len(v), -1),
    )
    if hidden_answers(mechanism, products):
        raise DataError(
            "mechanism",
            expected="one whose reports tell the squares of the feature, too",
            got="one where they do not, however many there are",
            remedy="take the symbols themselves, or design with md.utility.Estimation()"
            if designed_question(designed) is None
            else "design for its squares and products beside it, md.utility.Estimation([…]) (--of)",
        )
    weights = report_weights(mechanism, question, reference)
    squares = least_variance(mechanism.kernel, products, reference).reshape(-1, size, size)
    return Covariate(*named, reports, weights, squares, bool(np.isin(v, (0, 1)).all()))


def linear(
    setting: Setting, covariates: Sequence[Covariate], compared: Label, response: Vector
) -> Solved:
    """Moments corrected by the kernels: Σ w (m − M β) = 0 with unbiased m and M for each report.

    Reports of different columns are independent given the secrets, so that products of what they
    stand for are unbiased for products of these; ``response``, ``(R,)``, may be reported itself.
    """
    parts = [each.values for each in covariates]
    z, c, mass = np.hstack(parts), setting.public, setting.mass
    names = [name for each in covariates for name in each.names]
    ends = np.cumsum([0, *(part.shape[1] for part in parts)])
    places = [slice(start, end) for start, end in pairwise(ends)]
    corner = (mass[:, None] * z).T @ z
    for each, place in zip(covariates, places, strict=True):
        of_report = np.bincount(each.reports, mass, len(each.weights))
        corner[place, place] = np.tensordot(of_report, each.squares, 1)
    cross = (mass[:, None] * z).T @ c
    plain = (mass[:, None] * c).T @ c
    moments = np.block([[plain, cross.T], [cross, corner]])
    crossed = response[:, None] * z
    right = np.concatenate([(mass * response) @ c, mass @ crossed])
    _check_definite(moments, plain, names)
    if all(each.indicators for each in covariates):
        _warn_of_rare(setting, z, names)
    beta = np.linalg.solve(moments, right)
    first, rest = beta[: c.shape[1]], beta[c.shape[1] :]
    # The products of public columns are known, so that only those with the secret carry noise.
    known, told = c @ first, z @ rest
    predicted = np.empty_like(z)
    for each, place in zip(covariates, places, strict=True):
        own = z[:, place]
        others = told - own @ rest[place]
        squares = np.einsum("ijk,k->ij", each.squares, rest[place])
        predicted[:, place] = squares[each.reports] + own * others[:, None]
    scores = np.hstack(
        [c * (response - known - told)[:, None], crossed - z * known[:, None] - predicted]
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


def _warn_of_rare(setting: Setting, z: Vector, names: list[str]) -> None:
    """Warn of symbols that the reports hardly show to occur."""
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


def linear_response(
    setting: Setting, designed: Any, feature: Asked, reference: Label, best: Vector
) -> Solved:
    """Least squares for the unbiased numbers that reports stand for."""
    if reference is not None:
        raise InputError(
            "reference",
            expected="it left out for a privatised number",
            got=quote(reference),
            remedy="leave it out, or pass family='logistic'",
        )
    question = number_asked(designed, feature)
    if question is None:
        raise InputError(
            "privatised response of a linear regression",
            expected="a number for each symbol",
            got="none" if feature is None else "other values",
            remedy="pass feature={'no': 0, 'yes': 1}, or family='logistic'",
        )
    z = report_weights(mechanism_of(designed), question, best)[setting.sample.reports, 0]
    c, mass = setting.public, setting.mass
    moments = (mass[:, None] * c).T @ c
    beta = np.linalg.solve(moments, (mass * z) @ c)
    covariance = setting.sandwich(c * (z - c @ beta)[:, None], moments)
    return setting.terms, beta, covariance, "sandwich", None, None


def number_asked(designed: Any, feature: Asked) -> Question | None:
    """The number of each symbol that is a response: a feature, what a design for one answer asks,
    or the symbols themselves; ``None`` where there is none.
    """
    inputs, own = mechanism_of(designed).inputs, designed_question(designed)
    if feature is None and own is not None and len(own.labels) == 1:
        return ask_as_designed(designed)
    if feature is None and all(map(_is_number, inputs)):
        feature = {label: label for label in inputs}
    found = None if feature is None else ask(designed, feature)
    return found if found is not None and found.labels == ("mean",) else None


def _is_number(label: Label) -> bool:
    return isinstance(label, (int, float)) and not isinstance(label, bool)


def ask_symbols(designed: Any) -> None:
    """Raise :class:`DataError` unless the reports tell every symbol, of which groups by a feature
    are made in a likelihood.
    """
    remedy = "pass family='linear', which takes what the design asks"
    ask(designed, remedy=None if designed_question(designed) is None else remedy)


def logistic(
    setting: Setting,
    designed: Any,
    feature: Asked,
    reference: Label,
    response: str | None,
    likely: Vector,
) -> Solved:
    """Maximum likelihood over the symbols that may have made each report."""
    sample, mechanism = setting.sample, mechanism_of(designed)
    ask_symbols(designed)
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
        _, (_, compared) = terms_of(ask(mechanism), reference, setting.column)
        first = inputs.index(compared)
        told = None
    else:
        question, (names, compared) = asked_terms(designed, feature, reference, setting.column)
        outcome = binary(sample, response, setting.mass)
        told = Told(question.weights, names, compared, outcome, float(setting.mass @ outcome))
    return likeliest(setting, [mechanism.kernel.T[sample.reports]], told, first, likely)


@dataclass(frozen=True)
class Told:
    """What a logistic regression explains, and by what.

    Attributes
    ----------
    values : ``(N, F)`` columns of the design for each symbol
    names : of these
    compared : the symbol that others are compared with, ``None`` where there is none
    outcome : ``(R,)`` of 0 and 1; ``None`` where it is reported itself
    total : how much mass the ones have, about
    """

    values: Vector
    names: list[str]
    compared: Label
    outcome: Vector | None
    total: float


def likeliest(
    setting: Setting, likelihoods: Sequence[Vector], told: Told | None, first: int, likely: Vector
) -> Solved:
    """Maximum likelihood over the symbols that may have made each report.

    Parameters
    ----------
    likelihoods : ``(R, N)`` of the reports of each row for each symbol; where the outcome is
        reported too, two of them, for either outcome
    told : ``None`` where the symbol is the response
    first : the symbol that shares are compared with
    likely : ``(N,)`` shares that the search begins with
    """
    inputs = list(setting.symbols)
    order = [first, *(i for i in range(len(inputs)) if i != first)]
    c, centre, scale = _standardised(setting.public, setting.mass)
    of_response = [] if told is None else [INTERCEPT, *told.names, *setting.terms[1:]]
    while True:
        values = np.zeros((len(order), 0)) if told is None else told.values[order]
        observed = Latent(
            np.hstack([each[:, order] for each in likelihoods]),
            c,
            np.vstack([values] * len(likelihoods)),
            None if told is None else told.outcome,
            setting.mass * (setting.reports / setting.mass.sum()),
            len(likelihoods) == 2,
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
        if told is not None:
            mean = told.total / float(setting.mass.sum())
            start[0] = np.log(mean / (1 - mean))
        found = maximise_latent(observed, start)
        absent = {1 + (i - observed.size) // c.shape[1] for i in found.free if i >= observed.size}
        kept = [i for place, i in enumerate(order) if place not in absent]
        if told is None or not absent or _rank(told.values[kept]) <= len(told.names):
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
    compared = inputs[first]
    if told is not None:
        part = slice(0, observed.size)
        labels, compared = of_response, told.compared
    else:
        part = slice(0, len(values))
        labels = setting.terms if len(others) == 1 else of_secret
    return labels, values[part], covariance[part, part], errors_by, found.value, compared


def _rank(values: Vector) -> int:
    return int(np.linalg.matrix_rank(np.column_stack([np.ones(len(values)), values])))


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
    parts = [back] * (observed.secrets - 1)
    if observed.size:
        places = [0, *range(1 + values, width + values)]
        of_response = np.eye(observed.size)
        of_response[np.ix_(places, places)] = back
        parts = [of_response, *parts]
    return np.asarray(block_diag(*parts))


def binary(sample: Sample, response: str, mass: Vector) -> Vector:
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
