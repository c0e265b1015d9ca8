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
from ..release._identifiability import designed_question, hidden_answers, least_variance
from ..release.codes import ABSENT, Codebook
from ..release.samples import Sample
from ..release.survey import Drawn, design_covariance
from ..utility.questions import Question

Vector = NDArray[np.float64]

#: Fewest effective events of a symbol, or of a symbol with a response, that a regression takes.
FEWEST_EVENTS = 5


@dataclass(frozen=True)
class Terms:
    """What a privatised column is in a regression.

    Attributes
    ----------
    values : ``(N, F)`` columns of the design for each symbol
    names : of these
    compared : the symbol that others are compared with, ``None`` where the column is a number
    groups : ``(N, G)`` symbols by value, none where the column is a number
    labels : ``(G,)`` names of the groups
    """

    values: Vector
    names: list[str]
    compared: Label
    groups: Vector
    labels: list[str]


def terms_of(question: Question, reference: Label, column: str) -> Terms:
    """Terms of the answers of a question; raises :class:`UnknownNameError` for a reference that is
    none of them.
    """
    v = question.weights
    if not np.isin(v, (0, 1)).all() or (v.sum(axis=1) != 1).any():
        if reference is not None:
            raise InputError(
                "reference",
                expected="it left out where the privatised column is a number",
                got=quote(reference),
                remedy="leave it out, or pass family='logistic' for a privatised response",
            )
        single = question.labels == ("mean",)
        names = [column] if single else [f"{column}: {label}" for label in question.labels]
        return Terms(v, names, None, v[:, :0], [])
    place = 0 if reference is None else Codebook(question.labels, "symbols").place(reference)
    if place == ABSENT:
        raise UnknownNameError("reference", reference, map(str, question.labels))
    if len(question.labels) < 2:
        raise DataError(
            "mechanism of a regression",
            expected="at least two symbols",
            got="one",
            remedy="leave the column out",
        )
    labels = [f"{column}={label}" for label in question.labels]
    names = labels[:place] + labels[place + 1 :]
    return Terms(np.delete(v, place, axis=1), names, question.labels[place], v, labels)


@dataclass(frozen=True)
class Secret:
    """A privatised column.

    Attributes
    ----------
    design, kernel, terms : what made the reports, its matrix, and what is asked
    places : ``(R,)`` positions of the reports
    reference, likely : ``(N,)`` where weights are best, and the shares of largest likelihood
    """

    design: Any
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
    def posterior(self) -> Vector:
        """``(M, N)`` probability of each symbol given the report alone."""
        joint = self.likely[:, None] * self.kernel.kernel
        return np.asarray((joint / np.maximum(joint.sum(axis=0), 1e-300)).T)

    def noise(self, of: Vector) -> Vector:
        """``(M, D, D)`` covariance that the mechanism gives a function ``(M, D)`` of the report,
        whatever the secret is, as its report tells of it.
        """
        kernel, size = self.kernel.kernel, of.shape[1]
        mean = kernel @ of
        second = kernel @ (of[:, :, None] * of[:, None]).reshape(len(of), -1)
        known = second - (mean[:, :, None] * mean[:, None]).reshape(len(mean), -1)
        return np.asarray((self.posterior @ known).reshape(-1, size, size))

    def squares(self) -> Vector:
        """``(M, F, F)`` whose mean is the products of the columns of the design.

        Raises :class:`DataError` for reports that do not tell them.
        """
        v = self.terms.values
        products = (v[:, :, None] * v[:, None]).reshape(len(v), -1)
        if hidden_answers(self.kernel, Question(tuple(range(products.shape[1])), products)):
            raise DataError(
                "mechanism",
                expected="one whose reports tell the squares of the feature, too",
                got="one where they do not, however many there are",
                remedy="take the symbols themselves, or design with md.utility.Estimation()"
                if designed_question(self.design) is None
                else "design for its squares and products beside it, md.utility.Estimation([…]) "
                "(--of)",
            )
        return self.weights(products).reshape(-1, v.shape[1], v.shape[1])


@dataclass(frozen=True)
class Setting:
    """What all regressions begin with; ``plain`` is a sample without weights and the like.

    ``public`` ``(R, C)`` begins with a column of ones, ``terms`` are its names.
    """

    sample: Sample
    drawn: Drawn
    public: Vector
    terms: list[str]
    reports: int
    plain: bool

    @property
    def mass(self) -> Vector:
        """What each row weighs."""
        return self.drawn.weights * self.sample.repeats

    @property
    def spread(self) -> float:
        """Σ w² / (Σ w)² over people, one over the effective number of reports [Kish1965]."""
        mass = self.mass
        return float(mass @ self.drawn.weights) / float(mass.sum()) ** 2

    def meat(self, scores: Vector) -> Vector:
        """Covariance of Σ w · score, for the design of the sample."""
        weighted = self.drawn.weights[:, None] * scores
        return design_covariance(weighted, self.sample.repeats, self.drawn)

    def sandwich(self, scores: Vector, bread: Vector, noise: Vector) -> Vector:
        """Covariance of the root of Σ w · score, at least that of the noise of the mechanism."""
        factor = (self.reports - 1) / max(self.reports - scores.shape[1], 1)
        inverse = np.linalg.inv(bread)
        return larger(factor * inverse @ self.meat(scores) @ inverse.T, noise)

    def refuse_rare(self, secret: Secret, beside: Vector, told: Sequence[str]) -> None:
        """Raise :class:`DataError` for groups of symbols with too few effective events.

        A share p that is estimated with a variance s² is told as well as by p²(1 − p)/s² events
        among people who tell their secrets: the number of events itself for an identity kernel.

        Parameters
        ----------
        beside : ``(R, T)`` whether the response is each of its values, or what is unbiased for it
        told : names of these, with which the events are counted
        """
        groups, weight = secret.terms.groups, self.mass / self.mass.sum()
        if not groups.shape[1]:
            return
        a = secret.weights(groups)
        noise = np.diagonal(secret.noise(a), axis1=1, axis2=2)[secret.places]
        found = []
        for column, text in zip(beside.T, told, strict=True):
            z = a[secret.places] * column[:, None]
            mean = weight @ z
            varies = np.maximum(weight @ z**2 - mean**2, weight @ (noise * column[:, None] ** 2))
            share = np.clip(mean, 0, 1)
            events = share**2 * (1 - share) / np.maximum(varies * self.spread, 1e-300)
            found += [(float(n), name + text) for n, name in zip(events, secret.terms.labels, strict=True)]
        few = [name for n, name in found if n < FEWEST_EVENTS * (1 - 1e-9)]
        if few:
            raise DataError(
                "regression",
                expected=f"at least {FEWEST_EVENTS} effective events of each symbol"
                + " with each response" * (len(told) > 1),
                got=f"{max(min(found)[0], 0):.2g} of {min(found)[1]}"
                + (f", and too few of {listing([n for n in few if n != min(found)[1]])}" if len(few) > 1 else ""),
                remedy="collect more (md.plan says how many), or merge symbols in a feature",
            )


def larger(found: Vector, least: Vector) -> Vector:
    """The least covariance that is nowhere below two others, in directions that they share."""
    size = np.sqrt(np.maximum(np.diagonal(found + least), 1e-300))
    values, vectors = np.linalg.eigh((found + least) / np.outer(size, size))
    kept = values > 1e-12 * values[-1]
    root = np.sqrt(values[kept])
    back = (vectors[:, kept] / root).T / size
    parts, turned = np.linalg.eigh(back @ least @ back.T)
    if (parts <= 0.5 + 1e-9).all():
        return found
    forth = size[:, None] * (vectors[:, kept] * root) @ turned
    return np.asarray(forth * np.maximum(parts, 1 - parts) @ forth.T)


def corrected_moments(
    setting: Setting, secrets: Sequence[Secret], reported: Secret | None, response: Vector
) -> tuple[Vector, Vector]:
    """Least squares by unbiased moments: coefficients of public columns, then of the secrets', and
    their covariance.

    Σ w (m − M β) = 0 with unbiased m and M for each report; ``reported`` is the response where its
    numbers ``response`` ``(R,)`` are unbiased ones.
    """
    mass, width = setting.mass, setting.public.shape[1]
    weights = [secret.weights(secret.terms.values) for secret in secrets]
    squares = [secret.squares() for secret in secrets]
    ends = np.cumsum([width, *(a.shape[1] for a in weights)])
    blocks = [slice(*pair) for pair in zip(ends, ends[1:], strict=False)]
    parts = [a[secret.places] for a, secret in zip(weights, secrets, strict=True)]
    design = np.hstack([setting.public, *parts])
    moments = (mass[:, None] * design).T @ design
    for secret, block, square in zip(secrets, blocks, squares, strict=True):
        of_report = np.bincount(secret.places, mass, len(square))
        moments[block, block] = np.tensordot(of_report, square, 1)
    names = [name for secret in secrets for name in secret.terms.names]
    _check_spread(setting, secrets, design, moments, squares, blocks, names)
    beta = np.linalg.solve(moments, (mass * response) @ design)
    scores = design * (response - design @ beta)[:, None]
    expected, noise = design.copy(), np.zeros_like(moments)
    for secret, block in zip(secrets, blocks, strict=True):
        expected[:, block] = (secret.posterior @ secret.terms.values)[secret.places]
    told = response
    heavy = setting.mass * setting.drawn.weights
    if reported is not None:
        told = (reported.posterior @ reported.terms.values)[reported.places, 0]
        drawn = reported.noise(reported.weights(reported.terms.values))[:, 0, 0]
        noise += ((heavy * drawn[reported.places])[:, None] * expected).T @ expected
    for secret, block, a, square in zip(secrets, blocks, weights, squares, strict=True):
        own, size = beta[block], a.shape[1]
        twice = square @ own
        # Products of the column with itself are those of its squares.
        scores[:, block] += (a * (a @ own)[:, None] - twice)[secret.places]
        noise += _noise(secret, block, np.hstack([a, twice]), own, expected, told - expected @ beta, heavy)
    bread = np.linalg.inv(moments)
    return beta, setting.sandwich(scores, moments, bread @ noise @ bread.T)


def _noise(
    secret: Secret, block: slice, of: Vector, own: Vector, design: Vector, rest: Vector, heavy: Vector
) -> Vector:
    """Covariance of the scores that the mechanism of one column gives, others being as expected.

    With e what is left of the response without the column, a report adds a e − B γ to the scores
    of its own terms, and −c aᵀγ to others, where ``of`` is ``(a, B γ)``.
    """
    size, places = len(own), secret.places
    varies = secret.noise(of)
    left = rest + design[:, block] @ own
    others = design.copy()
    others[:, block] = 0
    aa, ab, bb = varies[:, :size, :size], varies[:, :size, size:], varies[:, size:, size:]
    pulled, turned = aa @ own, np.swapaxes(ab, 1, 2) @ own
    found = ((heavy * (pulled @ own)[places])[:, None] * others).T @ others
    cross = (heavy[:, None] * others).T @ (turned[places] - left[:, None] * pulled[places])
    found[:, block] += cross
    found[block] += cross.T
    sums = [np.bincount(places, heavy * left**k, len(of)) for k in (2, 1, 0)]
    both = ab + np.swapaxes(ab, 1, 2)
    found[block, block] += sum(
        sign * np.tensordot(total, part, 1)
        for sign, total, part in zip((1, -1, 1), sums, (aa, both, bb), strict=True)
    )
    return found


def _check_spread(
    setting: Setting,
    secrets: Sequence[Secret],
    design: Vector,
    moments: Vector,
    squares: Sequence[Vector],
    blocks: Sequence[slice],
    names: Sequence[str],
) -> None:
    """Refuse terms whose variance beside the others the reports hardly show to be positive.

    Its square over the variance of its estimate is about the number of effective events.
    """
    if not names:
        return
    width = setting.public.shape[1]
    cross = moments[width:, :width]
    rest = moments[width:, width:] - cross @ np.linalg.solve(moments[:width, :width], cross.T)
    values, vectors = np.linalg.eigh((rest + rest.T) / 2)
    few = np.abs(vectors[:, 0]) > 0.3 * np.abs(vectors[:, 0]).max()
    if values[0] > 1e-9 * max(float(np.abs(values).max()), 1e-300):
        inverse = np.linalg.inv(moments)[:, width:]
        least = 1 / np.diagonal(inverse[width:])
        across = inverse * least
        of_row = (design @ across) ** 2
        for secret, block, square in zip(secrets, blocks, squares, strict=True):
            alone = np.einsum("mij,if,jf->mf", square, across[block], across[block])
            of_row += alone[secret.places] - (design[:, block] @ across[block]) ** 2
        heavy = setting.mass * setting.drawn.weights
        varies = heavy @ (of_row - least / setting.mass.sum()) ** 2
        few = least**2 < FEWEST_EVENTS * (1 - 1e-9) * varies
    if few.any():
        raise DataError(
            "linear regression",
            expected="reports that show how the privatised column varies beside the others",
            got=f"too few to tell of {listing([name for name, f in zip(names, few, strict=True) if f])}",
            remedy="collect more (md.plan says how many), merge symbols in a feature, or leave out "
            "covariates",
        )
