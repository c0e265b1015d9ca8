"""What reports of privatised columns stand for in a regression: unbiased columns, noise and events.

Reports of different columns are drawn independently, so that moments are made of those of each
column and likelihoods are products: the kernel of all reports together is never formed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, UnknownNameError, quote
from ..kernel import MatrixKernel
from ..labels import Label, listing
from ..release.codes import ABSENT, Codebook
from ..release.reports import Sample
from ..utility.questions import Question
from .surveys import Drawn, design_covariance

Vector = NDArray[np.float64]
Places = NDArray[np.int64]

INTERCEPT = "(intercept)"
# Fewest effective events that a regression takes, but for rounding.
_FEWEST = 5 - 1e-9
# Relative singular values of public covariates, and eigenvalues of moments, that are a dependence.
_DEPENDENT = 1e-9


@dataclass(frozen=True)
class Secret:
    """A privatised column.

    Attributes
    ----------
    kernel : what made the reports
    told : ``(M, N)`` that weigh values of the symbols so that their mean over the mechanism is that
        of the secret, for all values that reports tell
    expected : ``(M, N)`` probabilities of the symbols given the report alone
    likely : ``(N,)`` shares of largest likelihood
    places : ``(R,)`` positions of the reports
    values, scale : ``(N, F)`` columns of the design for each symbol, in units ``(F,)``
    names : of the columns, after that of what they are compared with, or nothing
    compared : this symbol, ``None`` where the columns are numbers
    """

    kernel: MatrixKernel
    told: Vector
    expected: Vector
    likely: Vector
    places: Places
    values: Vector
    scale: Vector
    names: list[str]
    compared: Label

    @property
    def groups(self) -> Vector:
        """``(N, 1 + F)`` whether a symbol is what others are compared with, and the columns."""
        return np.column_stack([1 - self.values.sum(axis=1), self.values])

    @property
    def cells(self) -> list[tuple[str, Vector]]:
        """Names of groups, and ``(R,)`` what is unbiased for whether a secret is in them."""
        told = (self.told @ self.groups)[self.places]
        return [*zip(self.names, told.T, strict=True)] if self.names[0] else []


def secret_of(
    name: str,
    question: Question,
    reference: Label,
    kernel: MatrixKernel,
    places: Places,
    likely: Vector,
    best: Vector,
) -> Secret:
    """A privatised column by the answers of a question; weights have the least variance at a
    distribution ``best``.

    Raises :class:`UnknownNameError` for a reference that is none of the answers.
    """
    v, answers, compared = question.weights, question.labels, None
    names = ["", *(name if label == "mean" else f"{name}: {label}" for label in answers)]
    if np.isin(v, (0, 1)).all() and (v.sum(axis=1) == 1).all():
        place = 0 if reference is None else Codebook(answers, "symbols").place(reference)
        if place == ABSENT:
            raise UnknownNameError("reference", reference, map(str, answers))
        names = [f"{name}={label}" for label in answers]
        names.insert(0, names.pop(place))
        v, compared = np.delete(v, place, axis=1), answers[place]
    elif reference is not None:
        raise InputError(
            "reference",
            expected="it left out where the privatised column is a number",
            got=quote(reference),
            remedy="leave it out, or pass family='logistic' for a privatised response",
        )
    scale = np.maximum(np.abs(v).max(axis=0), 1e-300)
    told = kernel.scores(Question(kernel.inputs, np.eye(len(v))), best)
    expected = likely * kernel.matrix.T / np.maximum(likely @ kernel.matrix, 1e-300)[:, None]
    shares = told, expected, likely, places
    return Secret(kernel, *shares, v / scale, scale, names, compared)


@dataclass(frozen=True)
class Setting:
    """What all regressions begin with.

    Attributes
    ----------
    mass, heavy : ``(R,)`` what a row weighs in a sum, so that all weigh as many as they are, and in
        a variance
    public : ``(R, C)`` public columns, of which the first is constant, made orthogonal
    secrets : privatised ones
    back : ``(P, P)`` from coefficients of all of them to those of the columns themselves
    terms : ``(P,)`` names of these
    """

    drawn: Drawn
    mass: Vector
    heavy: Vector
    public: Vector
    secrets: Sequence[Secret]
    back: Vector
    terms: list[str]

    def meat(self, scores: Vector) -> Vector:
        """Covariance of Σ w · score, for the design of the sample."""
        return design_covariance(self.drawn.weights[:, None] * scores, self.drawn)

    def sandwich(self, scores: Vector, bread: NDArray[np.floating], size: int) -> Vector:
        """Covariance of the root of Σ w · score for so many coefficients, ``bread`` being the
        inverse of its slope.
        """
        n = self.mass.sum()
        return np.asarray((n - 1) / max(n - size, 1) * bread @ self.meat(scores) @ bread.T)

    def fewest_events(self, response: Secret | None = None) -> float:
        """Effective events of the group of symbols, with each value of a response where there is
        one, that has the fewest; :class:`DataError` for too few.

        A share p that is estimated with a variance s² is told as well as by p²(1 − p)/s² events
        among people who tell their secrets: the number of events itself for an identity kernel.
        """
        cells = [cell for secret in self.secrets for cell in secret.cells]
        if response is not None:
            levels = response.cells
            cells = [(f"{a} with {b}", x * y) for a, x in cells for b, y in levels] + levels
        if not cells:
            return np.inf
        told, total = np.stack([part for _, part in cells], axis=1), self.mass.sum()
        share = self.mass @ told / total
        # Without the correction for few people: those of five are five.
        units = self.drawn.units
        whole = (units - 1).sum() / units.sum()
        seen = whole * self.meat(told - share).diagonal()
        varies = np.maximum(seen, self.heavy @ (told**2 - told)) / total**2
        share = share.clip(0, 1)
        events = share**2 * (1 - share) / np.maximum(varies, 1e-300)
        refuse_few(
            [name for name, _ in cells],
            events < _FEWEST,
            f"{_FEWEST:.0f} effective events of each symbol, with each value of the response of a "
            "logistic one",
            f"{events.min():.1f} of",
        )
        return float(events.min())


def refuse_few(names: Any, few: Any, expected: str, got: str) -> None:
    """Raise :class:`DataError` where there are some that reports hardly show."""
    if np.any(few):
        raise DataError(
            "regression",
            expected=expected,
            got=f"{got} {listing(np.array(names)[few].tolist())}",
            remedy="collect more (md.plan says how many), merge symbols in a feature, or leave out "
            "covariates",
        )


def setting_of(
    sample: Sample, drawn: Drawn, covariates: Iterable[str], secrets: Sequence[Secret]
) -> Setting:
    """Public covariates after a constant column, made orthogonal, and privatised ones.

    Raises :class:`DataError` for covariates that are constant or depend on each other.
    """
    from scipy.linalg import block_diag

    people = sample.repeats.sum()
    drawn = replace(drawn, weights=drawn.weights * (people / (drawn.weights @ sample.repeats)))
    mass = drawn.weights * sample.repeats
    columns, terms = [np.ones((len(mass), 1))], [INTERCEPT]
    for name in covariates:
        if sample.is_numeric(name):
            columns.append(sample.numbers(name, "covariate")[:, None])
            terms.append(name)
            continue
        labels, codes = sample.categories(name, "covariate")
        # A single value is a constant, which is refused.
        first = int(len(labels) > 1)
        columns.append(codes[:, None] == np.arange(first, len(labels)))
        terms += [f"{name}={label}" for label in labels[first:]]
    found = np.hstack(columns)
    root = np.sqrt(mass)[:, None] * found
    size = np.maximum(np.linalg.norm(root, axis=0), 1e-300)
    upper = np.linalg.qr(np.pad(root / size, ((0, len(size)), (0, 0))), mode="r")
    follows = np.abs(np.diagonal(upper)) < _DEPENDENT
    refuse_few(
        terms,
        follows,
        "covariates that vary, none of which follows from the others",
        "others that give",
    )
    # The mean square of each column is one.
    back = np.linalg.inv(upper) / size[:, None] * np.sqrt(people)
    terms += [name for secret in secrets for name in secret.names[1:]]
    units = [np.diag(1 / secret.scale) for secret in secrets]
    about = mass, mass * drawn.weights, found @ back
    return Setting(drawn, *about, secrets, block_diag(back, *units), terms)


def corrected_moments(setting: Setting, response: Vector | Secret) -> tuple[Vector, Vector, Vector]:
    """Least squares by unbiased moments: coefficients of public columns and then of the secrets',
    their covariance, and that of the noise which the mechanisms add.

    Σ w (m − M β) = 0 with unbiased m and M for each report. Noise adds up over columns, each with
    those before it as reported and those after it as expected.

    Raises :class:`DataError` for terms whose variance beside the others the reports hardly show to
    be positive: its square over the variance of its estimate is about the number of effective
    events.
    """
    mass, heavy, secrets = setting.mass[:, None], setting.heavy[:, None], setting.secrets
    end, size = setting.public.shape[1], len(setting.terms)
    base = np.pad(setting.public, ((0, 0), (0, size + 1 - end)))
    if isinstance(response, Secret):
        secrets = [*secrets, response]
    else:
        base[:, -1] = response
    few, parts = np.arange(size) >= end, list[Any]()
    for secret in secrets:
        start, end = end, end + secret.values.shape[1]
        own = np.pad(secret.values, ((0, 0), (start, size + 1 - end)))
        table, places = secret.told @ own, secret.places
        parts.append((secret, own, table, table[places], (secret.expected @ own)[places]))
    every, rest = (sum((part[k] for part in parts), base) for k in (3, 4))
    moments = (mass * every).T @ every
    for secret, own, table, *_ in parts:
        counts = np.bincount(secret.places, setting.mass, len(table))
        moments += (own.T * (counts @ secret.told)) @ own - (table.T * counts) @ table
    if np.linalg.eigvalsh(moments[:-1, :-1])[0] > _DEPENDENT * mass.sum():
        bread = np.linalg.inv(moments[:-1, :-1])
        least = 1 / bread.diagonal()
        across = np.pad(bread * least, ((0, 1), (0, 0)))
        of_row = (every @ across) ** 2
        for secret, own, table, *_ in parts:
            more = secret.told @ (own @ across) ** 2 - (table @ across) ** 2
            of_row += more[secret.places]
        varies = (heavy * (of_row - least / mass.sum()) ** 2).sum(axis=0)
        few &= least**2 < _FEWEST * varies
    refuse_few(
        setting.terms,
        few,
        "reports that show how the privatised column varies beside the others",
        "too few to tell of",
    )
    turn = np.append(bread @ moments[:-1, -1], -1)
    left, noise = -(every @ turn)[:, None], 0 * moments
    scores = every * left
    for secret, own, _, a, b in parts:
        places, ahead, pulled = secret.places, own @ turn, (a @ turn)[:, None]
        twice = (secret.told @ (own * ahead[:, None]))[places]
        scores += a * pulled - twice
        # Without the column, and with what its reports add.
        rest = rest - b
        alone = -(rest @ turn)[:, None]
        seen = rest * (alone - pulled) + a * alone - twice
        # What they spread less what they would for known secrets.
        known = heavy * secret.told[places] * (alone - ahead) ** 2
        both = rest.T @ known @ own
        noise += (heavy * seen).T @ seen - both - both.T
        noise -= (rest.T * known.sum(axis=1)) @ rest + (own.T * known.sum(axis=0)) @ own
        rest = rest + a
    covariance = setting.sandwich(scores[:, :-1], bread, size)
    return turn[:-1], covariance, bread @ noise[:-1, :-1] @ bread.T
