"""What reports of privatised columns stand for in a regression: unbiased columns, noise and events.

Reports of different columns are drawn independently, so that moments are made of those of each
column and likelihoods are products: the kernel of all reports together is never formed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, UnknownNameError, quote
from ..labels import Label, listing
from ..mechanism import Mechanism
from ..release._identifiability import hidden_answers, least_variance
from ..release.codes import ABSENT, Codebook
from ..release.reports import Sample
from ..utility.questions import Question
from .surveys import Drawn, design_covariance

Vector = NDArray[np.float64]

#: Fewest effective events that a regression takes, but for rounding.
FEWEST_EVENTS = 5 - 1e-9
# Weights of symbols are unbiased to this.
_TOLD = 1e-6
# Relative eigenvalues of moments below this are zero.
_DEFINITE = 1e-9
_REMEDY = "collect more (md.plan says how many), or merge symbols in a feature"


@dataclass(frozen=True)
class Terms:
    """What a privatised column is in a regression.

    Attributes
    ----------
    values : ``(N, F)`` columns of the design for each symbol
    names : of these
    compared : the symbol that others are compared with, ``None`` where the column is a number
    other : name of what is compared with, nothing where the column is a number
    """

    values: Vector
    names: list[str]
    compared: Label
    other: str = ""


def terms_of(question: Question, reference: Label, column: str) -> Terms:
    """Terms of the answers of a question; raises :class:`UnknownNameError` for a reference that is
    none of them.
    """
    v, answers = question.weights, question.labels
    if np.isin(v, (0, 1)).all() and (v.sum(axis=1) == 1).all():
        place = 0 if reference is None else Codebook(answers, "symbols").place(reference)
        if place == ABSENT:
            raise UnknownNameError("reference", reference, map(str, answers))
        names = [f"{column}={label}" for label in answers]
        other = names.pop(place)
        return Terms(np.delete(v, place, axis=1), names, answers[place], other)
    if reference is not None:
        raise InputError(
            "reference",
            expected="it left out where the privatised column is a number",
            got=quote(reference),
            remedy="leave it out, or pass family='logistic' for a privatised response",
        )
    single = answers == ("mean",)
    return Terms(v, [column if single else f"{column}: {label}" for label in answers], None)


@dataclass(frozen=True)
class Secret:
    """A privatised column.

    Attributes
    ----------
    kernel, terms : what made the reports, and what is asked
    places : ``(R,)`` positions of the reports
    reference, likely : ``(N,)`` where weights are best, and the shares of largest likelihood
    """

    kernel: Mechanism
    terms: Terms
    places: NDArray[np.int64]
    reference: Vector
    likely: Vector

    def weights(self, values: Vector) -> Vector:
        """``(M, D)`` whose mean over the mechanism is values ``(N, D)`` of each symbol."""
        asked = Question(tuple(range(values.shape[1])), values)
        return least_variance(self.kernel.kernel, asked, self.reference)

    @property
    def chances(self) -> Vector:
        """``(R, N)`` probabilities of the report of each symbol."""
        return np.asarray(self.kernel.kernel.T[self.places])

    @property
    def symbols(self) -> Vector:
        """``(R, N)`` what is unbiased for whether the secret is each symbol."""
        return self.weights(np.eye(len(self.likely)))[self.places]

    def expected(self, values: Vector) -> Vector:
        """``(M, D)`` means of values ``(N, D)`` of the symbol given the report alone."""
        joint = self.likely[:, None] * self.kernel.kernel
        return np.asarray((joint / np.maximum(joint.sum(axis=0), 1e-300)).T @ values)

    def noise(self, of: Vector, heavy: Vector) -> Vector:
        """``(M, D, D)`` covariance that the mechanism gives a function ``(M, D)`` of the report,
        given the secret, as each report tells of it: unbiased for sums over rows that count
        ``heavy`` ``(R,)``, whatever else of a person depends on the secret.

        Symbols of which there seem to be fewer than none are left out. Where reports do not tell
        all of them, the most likely shares stand in.
        """
        kernel, size = self.kernel.kernel, of.shape[1]
        known = kernel @ _squared(of) - _squared(kernel @ of)
        every = np.eye(len(kernel))
        told = self.weights(every)
        if np.abs(kernel @ told - every).max() > _TOLD:
            return self.expected(known).reshape(-1, size, size)
        mass = np.bincount(self.places, heavy, len(of)) @ told
        told = np.where(mass > 0, told, 0) * (mass.sum() / mass[mass > 0].sum())
        return np.asarray(told @ known).reshape(-1, size, size)

    def squares(self) -> Vector:
        """``(M, F, F)`` whose mean is the products of the columns of the design.

        Raises :class:`DataError` for reports that do not tell them.
        """
        values = _squared(self.terms.values)
        if hidden_answers(self.kernel, Question(tuple(range(values.shape[1])), values)):
            raise DataError(
                "mechanism",
                expected="one whose reports tell the squares of the feature, too",
                got="one where they do not, however many there are",
                remedy="take the symbols themselves, or design for its squares and products beside "
                "it, md.utility.Estimation([…]) (--of)",
            )
        size = self.terms.values.shape[1]
        return self.weights(values).reshape(-1, size, size)


def _squared(of: Vector) -> Vector:
    """Products of each row with itself, side by side."""
    return np.asarray((of[:, :, None] * of[:, None]).reshape(len(of), -1))


@dataclass(frozen=True)
class Setting:
    """What all regressions begin with.

    Attributes
    ----------
    public : ``(R, C)`` public columns, of which the first is constant, made orthogonal
    back : ``(C, C)`` from their coefficients to those of the columns themselves
    terms : ``(C,)`` names of these
    """

    sample: Sample
    drawn: Drawn
    public: Vector
    back: Vector
    terms: list[str]

    @property
    def mass(self) -> Vector:
        """What each row weighs."""
        return self.drawn.weights * self.sample.repeats

    @property
    def spread(self) -> float:
        """Σ w² / (Σ w)² over people, one over the effective number of reports [Kish1965]."""
        return float(self.mass @ self.drawn.weights / self.mass.sum() ** 2)

    def meat(self, scores: Vector) -> Vector:
        """Covariance of Σ w · score, for the design of the sample."""
        return design_covariance(self.drawn.weights[:, None] * scores, self.drawn)

    def sandwich(self, scores: Vector, bread: Vector) -> Vector:
        """Covariance of the root of Σ w · score, ``bread`` being the inverse of its slope."""
        n, size = int(self.sample.repeats.sum()), scores.shape[1]
        return np.asarray((n - 1) / max(n - size, 1) * bread @ self.meat(scores) @ bread.T)

    def fewest(self, secret: Secret, beside: Sequence[tuple[str, Vector]]) -> float:
        """About how many people the rarest group of symbols has; :class:`DataError` where reports
        show it by too few effective events.

        A share p that is estimated with a variance s² is told as well as by p²(1 − p)/s² events
        among people who tell their secrets: the number of events itself for an identity kernel.

        Parameters
        ----------
        beside : of each value of the response its name, and ``(R,)`` whether a row has it, or what
            is unbiased for that
        """
        terms, mass = secret.terms, self.mass / self.mass.sum()
        if not terms.other:
            return np.inf
        groups = np.column_stack([1 - terms.values.sum(axis=1), terms.values])
        a = secret.weights(groups)
        noise = np.diagonal(secret.noise(a, mass), axis1=1, axis2=2)
        found: list[tuple[float, str]] = []
        people = np.inf
        for text, column in beside:
            once, twice = (np.bincount(secret.places, mass * column**k, len(a)) for k in (1, 2))
            varies = np.maximum(twice @ a**2 - (once @ a) ** 2, twice @ noise) * self.spread
            share = np.clip(once @ a, 0, 1)
            events = share**2 * (1 - share) / np.maximum(varies, 1e-300)
            people = min(people, share.min() / self.spread)
            found += zip(
                events, (label + text for label in (terms.other, *terms.names)), strict=True
            )
        few = sorted(each for each in found if each[0] < FEWEST_EVENTS)
        if few:
            raise DataError(
                "regression",
                expected=f"{FEWEST_EVENTS:.0f} effective events of each symbol"
                + " with each response" * (len(beside) > 1),
                got=f"{few[0][0]:.1f} of {listing([name for _, name in few])}",
                remedy=_REMEDY,
            )
        return people


def corrected_moments(
    setting: Setting, secrets: Sequence[Secret], reported: Secret | None, response: Vector
) -> tuple[Vector, Vector, Vector]:
    """Least squares by unbiased moments: coefficients of the constant, of the secrets' columns and
    of public ones, their covariance, and that of the noise which the mechanisms add.

    Σ w (m − M β) = 0 with unbiased m and M for each report; ``reported`` is the response where its
    numbers ``response`` ``(R,)`` are unbiased ones. For the noise of one column others are taken as
    expected: what reports add together is left out.
    """
    mass, heavy = setting.mass, setting.mass * setting.drawn.weights
    parts, start = [], 1
    for secret in secrets:
        a = secret.weights(secret.terms.values)
        parts.append((secret, slice(start, start := start + a.shape[1]), a, secret.squares()))
    told = [a[secret.places] for secret, _, a, _ in parts]
    design = np.hstack([setting.public[:, :1], *told, setting.public[:, 1:]])
    moments = (mass[:, None] * design).T @ design
    expected = design.copy()
    for secret, block, a, square in parts:
        moments[block, block] = np.tensordot(np.bincount(secret.places, mass, len(a)), square, 1)
        expected[:, block] = secret.expected(secret.terms.values)[secret.places]
    bread = _inverse(setting, parts, design, moments)
    beta = bread @ ((mass * response) @ design)
    scores = design * (response - design @ beta)[:, None]
    noise = np.zeros_like(moments)
    if reported is not None:
        values = reported.terms.values
        response = reported.expected(values)[reported.places, 0]
        varies = reported.noise(reported.weights(values), heavy)[:, 0, 0]
        noise += ((heavy * varies[reported.places])[:, None] * expected).T @ expected
    left = response - expected @ beta
    for secret, block, a, square in parts:
        own, size = beta[block], a.shape[1]
        twice = square @ own
        # Products of the column with itself are those of its squares.
        scores[:, block] += (a * (a @ own)[:, None] - twice)[secret.places]
        # A report adds a e − B γ to its own scores and −c aᵀγ to others, with e what is left of the
        # response without its column.
        varies = secret.noise(np.hstack([a, twice]), heavy)
        aa, ab, bb = varies[:, :size, :size], varies[:, :size, size:], varies[:, size:, size:]
        rest, others = left + expected[:, block] @ own, expected.copy()
        others[:, block] = 0
        pulled, turned = aa @ own, own @ ab
        noise += ((heavy * (pulled @ own)[secret.places])[:, None] * others).T @ others
        cross = turned[secret.places] - rest[:, None] * pulled[secret.places]
        cross = (heavy[:, None] * others).T @ cross
        noise[:, block] += cross
        noise[block] += cross.T
        sums = (np.bincount(secret.places, heavy * rest**k, len(a)) for k in (2, 1, 0))
        for total, part in zip(sums, (aa, -ab - np.swapaxes(ab, 1, 2), bb), strict=True):
            noise[block, block] += np.tensordot(total, part, 1)
    return beta, setting.sandwich(scores, bread), bread @ noise @ bread.T


def _inverse(setting: Setting, parts: Sequence[Any], design: Vector, moments: Vector) -> Vector:
    """The inverse of the moments; refuses terms whose variance beside the others the reports hardly
    show to be positive.

    Its square over the variance of its estimate is about the number of effective events.
    """
    mass, end = setting.mass, 1 + len(moments) - len(setting.terms)
    size = np.sqrt(np.maximum(np.diagonal(moments), 1e-300))
    few = np.ones(end - 1, dtype=bool)
    if np.linalg.eigvalsh(moments / np.outer(size, size))[0] > _DEFINITE:
        bread: Any = np.linalg.inv(moments)
        least = 1 / np.diagonal(bread)[1:end]
        across = bread[:, 1:end] * least
        of_row = (design @ across) ** 2
        for secret, block, a, square in parts:
            own = across[block]
            alone = np.einsum("mij,if,jf->mf", square, own, own) - (a @ own) ** 2
            of_row += alone[secret.places]
        varies = (mass * setting.drawn.weights) @ (of_row - least / mass.sum()) ** 2
        few = least**2 < FEWEST_EVENTS * varies
    if few.any():
        names = [name for secret, *_ in parts for name in secret.terms.names]
        raise DataError(
            "linear regression",
            expected="reports that show how the privatised column varies beside the others",
            got=f"too few to tell of {listing(np.array(names)[few].tolist())}",
            remedy=f"{_REMEDY}, or leave out covariates",
        )
    return bread
