"""What reports of privatised columns stand for in a regression: unbiased columns, noise and events.

Reports of different columns are drawn independently, so that moments are made of those of each
column and likelihoods are products: the kernel of all reports together is never formed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, UnknownNameError, quote
from ..labels import Label, listing
from ..mechanism import Mechanism
from ..release._identifiability import hidden_answers, least_variance
from ..release.codes import ABSENT, Codebook
from ..release.samples import Sample
from ..utility.questions import Question
from .surveys import Drawn, design_covariance

Vector = NDArray[np.float64]

INTERCEPT = "(intercept)"
# Fewest effective events that a regression takes, but for rounding.
_FEWEST = 5 - 1e-9
# Relative singular values of public covariates, and eigenvalues of moments, that are a dependence.
_DEPENDENT = 1e-9


def columns_of(question: Question, reference: Label, name: str) -> tuple[Vector, list[str], Label]:
    """Columns ``(N, F)`` of the design for the answers of a question, their names after that of
    what they are compared with, and this symbol; nothing, and ``None``, where they are numbers.

    Raises :class:`UnknownNameError` for a reference that is none of the answers.
    """
    v, answers = question.weights, question.labels
    if np.isin(v, (0, 1)).all() and (v.sum(axis=1) == 1).all():
        place = 0 if reference is None else Codebook(answers, "symbols").place(reference)
        if place == ABSENT:
            raise UnknownNameError("reference", reference, map(str, answers))
        names = [f"{name}={label}" for label in answers]
        return np.delete(v, place, axis=1), [names.pop(place), *names], answers[place]
    if reference is not None:
        raise InputError(
            "reference",
            expected="it left out where the privatised column is a number",
            got=quote(reference),
            remedy="leave it out, or pass family='logistic' for a privatised response",
        )
    single = answers == ("mean",)
    return v, ["", *(name if single else f"{name}: {label}" for label in answers)], None


@dataclass(frozen=True)
class Secret:
    """A privatised column.

    Attributes
    ----------
    kernel : what made the reports
    places : ``(R,)`` positions of the reports
    reference, likely : ``(N,)`` where weights are best, and the shares of largest likelihood
    values, names, compared : as :func:`columns_of`
    """

    kernel: Mechanism
    places: NDArray[np.int64]
    reference: Vector
    likely: Vector
    values: Vector
    names: list[str]
    compared: Label

    @property
    def scale(self) -> Vector:
        """``(F,)`` largest sizes in the columns."""
        return np.maximum(np.abs(self.values).max(axis=0), 1e-300)

    @property
    def design(self) -> Vector:
        """``(N, F)`` the columns in standard units."""
        return np.asarray(self.values / self.scale)

    @property
    def groups(self) -> Vector:
        """``(N, 1 + F)`` whether a symbol is what others are compared with, and the columns."""
        return np.column_stack([1 - self.values.sum(axis=1), self.values])

    @property
    def chances(self) -> Vector:
        """``(R, N)`` probabilities of the report of each symbol."""
        return np.asarray(self.kernel.kernel.T[self.places])

    @cached_property
    def told(self) -> Vector:
        """``(M, N)`` that weigh values of the symbols so that their mean over the mechanism is that
        of the secret, for all values that reports tell.
        """
        every = np.eye(len(self.likely))
        return least_variance(
            self.kernel.kernel, Question(self.kernel.inputs, every), self.reference
        )

    @cached_property
    def posterior(self) -> Vector:
        """``(M, N)`` probabilities of the symbols given the report alone."""
        joint = self.likely * self.kernel.kernel.T
        return np.asarray(joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300))

    @cached_property
    def rows(self) -> list[NDArray[np.int64]]:
        """Which rows have each report."""
        counts = np.bincount(self.places, minlength=self.kernel.shape[1])
        return np.split(np.argsort(self.places, kind="stable"), np.cumsum(counts)[:-1])

    def noise(self, of: Vector, times: Vector, which: Any, heavy: Vector) -> Vector:
        """``(D, D)`` covariance that the mechanism gives the sum of ``times[:, which] · of``, given
        the secrets, over rows that count ``heavy``: of functions ``(M, D)`` of the report, and what
        multiplies them in each row, ``(R, T)``.

        It is unbiased, whatever else of a person depends on the secret. Symbols of which there seem
        to be fewer than none are left out. Where reports do not tell all of them, the most likely
        shares stand in.
        """
        kernel, told = self.kernel.kernel, self.told
        if hidden_answers(self.kernel, Question(self.kernel.inputs, np.eye(len(kernel)))):
            told = self.posterior
        mass = np.bincount(self.places, heavy, len(of)) @ told
        told = np.where(mass > 0, told, 0) * (mass.sum() / mass[mass > 0].sum())
        sums = np.stack([(heavy[rows, None] * times[rows]).T @ times[rows] for rows in self.rows])
        varies = np.tensordot(kernel, _squares(of), 1) - _squares(kernel @ of)
        by_symbol = np.tensordot(told.T, sums, 1)[:, which][:, :, which]
        return np.asarray((by_symbol * varies).sum(axis=0))

    @property
    def beyond(self) -> Vector:
        """``(M, F, F)`` what products of the columns of the design are in the mean beyond those of
        their unbiased columns.

        Raises :class:`DataError` for reports that do not tell them.
        """
        values = _squares(self.design)
        asked = values.reshape(len(values), -1)
        if hidden_answers(self.kernel, Question(tuple(range(asked.shape[1])), asked)):
            raise DataError(
                "mechanism",
                expected="one whose reports tell the squares of the feature, too",
                got="one where they do not, however many there are",
                remedy="take the symbols themselves, or design for its squares and products beside "
                "it, md.utility.Estimation([…]) (--of)",
            )
        return np.tensordot(self.told, values, 1) - _squares(self.told @ self.design)


def _squares(of: Vector) -> Vector:
    """``(…, D, D)`` products of each row with itself."""
    return np.asarray(of[:, :, None] * of[:, None])


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
    def heavy(self) -> Vector:
        """What each row weighs in a variance."""
        return self.drawn.weights * self.mass

    def meat(self, scores: Vector) -> Vector:
        """Covariance of Σ w · score, for the design of the sample."""
        return design_covariance(
            self.drawn.weights[:, None] * scores, self.sample.repeats, self.drawn
        )

    def sandwich(self, scores: Vector, bread: Vector, size: int) -> Vector:
        """Covariance of the root of Σ w · score for so many coefficients, ``bread`` being the
        inverse of its slope.
        """
        n = int(self.sample.repeats.sum())
        return np.asarray((n - 1) / max(n - size, 1) * bread @ self.meat(scores) @ bread.T)

    def fewest_events(self, secret: Secret, beside: Sequence[tuple[str, Vector]]) -> float:
        """Effective events of the group of symbols that has the fewest; :class:`DataError` for too
        few.

        A share p that is estimated with a variance s² is told as well as by p²(1 − p)/s² events
        among people who tell their secrets: the number of events itself for an identity kernel.

        Parameters
        ----------
        beside : of each value of the response its name, and ``(R,)`` whether a row has it, or what
            is unbiased for that
        """
        a, total, found = secret.told @ secret.groups, self.mass.sum(), {}
        # Without the correction for few people: those of five are five.
        whole = self.drawn.freedom / self.drawn.units.sum()
        for text, column in beside if secret.names[0] else ():
            told = column[:, None] * a[secret.places]
            share = self.mass @ told / total
            seen = whole * self.meat(told - share)
            noise = secret.noise(a, column[:, None], [0] * a.shape[1], self.heavy)
            varies = np.maximum(seen, noise).diagonal() / total**2
            share = share.clip(0, 1)
            events = share**2 * (1 - share) / np.maximum(varies, 1e-300)
            found |= {name + text: each for name, each in zip(secret.names, events, strict=True)}
        refuse_few(
            [name for name, events in found.items() if events < _FEWEST],
            f"{_FEWEST:.0f} effective events of each symbol"
            + " with each response" * (len(beside) > 1),
            f"{min(found.values(), default=0):.1f} of",
        )
        return min(found.values(), default=np.inf)


def refuse_few(names: Sequence[str], expected: str, got: str) -> None:
    """Raise :class:`DataError` where there are names of what reports hardly show."""
    if names:
        raise DataError(
            "regression",
            expected=expected,
            got=f"{got} {listing(names)}",
            remedy="collect more (md.plan says how many), merge symbols in a feature, or leave out "
            "covariates",
        )


def setting_of(sample: Sample, drawn: Drawn, covariates: Iterable[str]) -> Setting:
    """Public covariates after a constant column, made orthogonal.

    Raises :class:`DataError` for covariates that are constant or depend on each other.
    """
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
        np.array(terms)[follows].tolist(),
        "covariates that vary, none of which follows from the others",
        "others that give",
    )
    # The mean square of each column is one.
    back = np.linalg.inv(upper) / size[:, None] * np.sqrt(mass.sum())
    return Setting(sample, drawn, found @ back, back, terms)


def corrected_moments(
    setting: Setting, secrets: Sequence[Secret], response: Vector | Secret
) -> tuple[Vector, Vector, Vector]:
    """Least squares by unbiased moments: coefficients of public columns and then of the secrets',
    their covariance, and that of the noise which the mechanisms add.

    Σ w (m − M β) = 0 with unbiased m and M for each report. For the noise of one column others are
    taken as expected: what reports add together is left out.

    Raises :class:`DataError` for terms whose variance beside the others the reports hardly show to
    be positive: its square over the variance of its estimate is about the number of effective
    events.
    """
    mass, start = setting.mass, setting.public.shape[1]
    columns, likely, parts = [setting.public], [setting.public], []
    for secret in secrets if isinstance(response, np.ndarray) else [*secrets, response]:
        block = slice(start, start := start + secret.values.shape[1])
        values = secret.values if secret is response else secret.design
        a = secret.told @ values
        # No square of the response is needed.
        beyond = _squares(0 * a) if secret is response else secret.beyond
        parts.append((secret, block, a, beyond))
        columns.append(a[secret.places])
        likely.append((secret.posterior @ values)[secret.places])
    if isinstance(response, np.ndarray):
        columns.append(response[:, None])
        likely.append(response[:, None])
    every, likely = np.hstack(columns), np.hstack(likely)
    moments = (mass[:, None] * every).T @ every
    for secret, block, _, beyond in parts:
        sums = np.bincount(secret.places, mass, len(beyond))
        moments[block, block] += np.tensordot(sums, beyond, 1)
    inner, size = moments[:-1, :-1], len(moments) - 1
    unit = np.sqrt(np.maximum(np.diagonal(inner), 1e-300))
    few = np.arange(size) >= setting.public.shape[1]
    if np.linalg.eigvalsh(inner / np.outer(unit, unit))[0] > _DEPENDENT:
        bread = np.linalg.inv(inner)
        least = 1 / np.diagonal(bread)
        across = np.pad(bread * least, ((0, 1), (0, 0)))
        of_row = (every @ across) ** 2
        for secret, block, _, beyond in parts:
            own = across[block]
            of_row += np.einsum("mij,if,jf->mf", beyond, own, own)[secret.places]
        few &= least**2 < _FEWEST * (setting.heavy @ (of_row - least / mass.sum()) ** 2)
    names = [*setting.terms, *(name for secret in secrets for name in secret.names[1:])]
    refuse_few(
        np.array(names)[few].tolist(),
        "reports that show how the privatised column varies beside the others",
        "too few to tell of",
    )
    turn = np.append(bread @ moments[:-1, -1], -1)
    scores, noise = -every * (every @ turn)[:, None], 0 * moments
    left = -likely @ turn
    for secret, block, a, beyond in parts:
        own = turn[block]
        pulled = (a @ own)[:, None]
        scores[:, block] -= (beyond @ own)[secret.places]
        # A report adds a e − B γ to its own scores and −c aᵀγ to others, with e what is left of the
        # response without its column.
        of = np.zeros((len(a), 2, size + 1))
        of[:, 0] = -pulled
        of[:, 0, block], of[:, 1, block] = a, -(beyond @ own) - a * pulled
        times = np.pad(likely, ((0, 0), (0, 1)), constant_values=1)
        times[:, block] = (left + likely[:, block] @ own)[:, None]
        which = np.r_[: size + 1, [size + 1] * (size + 1)]
        added = secret.noise(of.reshape(len(a), -1), times, which, setting.heavy)
        noise += added.reshape(2, size + 1, 2, size + 1).sum(axis=(0, 2))
    covariance = setting.sandwich(scores[:, :-1], bread, size)
    return turn[:-1], covariance, bread @ noise[:-1, :-1] @ bread.T
