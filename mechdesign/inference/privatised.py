"""What reports of privatised columns stand for in a regression: unbiased columns, noise and events.

Reports of different columns are drawn independently, so that moments are made of those of each
column and likelihoods are products: the kernel of all reports together is never formed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, UnknownNameError, quote
from ..kernel import MatrixKernel
from ..labels import Label, listing
from ..release.codes import ABSENT, Codebook
from ..release.reports import Places, Sample
from ..utility.questions import Question, middle_of
from .surveys import Drawn, design_covariance

Vector = NDArray[np.float64]

# Fewest effective events that a regression takes, but for rounding.
_FEWEST = 5 - 1e-9
# Relative singular values of public covariates, and eigenvalues of moments, that are a dependence.
_DEPENDENT = 1e-9


@dataclass(frozen=True)
class Secret:
    """A privatised column.

    Attributes
    ----------
    symbols : N of them
    chances : ``(R, N)`` of the report of each row given each symbol
    told : ``(R, N)`` that weigh values of the symbols so that their mean over the mechanism is that
        of the secret, for all values that reports tell
    likely : ``(N,)`` shares of largest likelihood
    values : ``(N, F)`` columns of the design for each symbol, numbers from ``origin`` ``(F,)`` on
        in units ``scale``
    names : of the columns, after that of what they are compared with, or nothing
    compared : this symbol, ``None`` where the columns are numbers
    """

    symbols: Sequence[Label]
    chances: Vector
    told: Vector
    likely: Vector
    values: Vector
    origin: Vector
    scale: Vector
    names: list[str]
    compared: Label

    @classmethod
    def of(
        cls,
        name: str,
        question: Question,
        reference: Label,
        kernel: MatrixKernel,
        places: Places,
        likely: Vector,
        best: Vector,
    ) -> Secret:
        """That of reports by the answers of a question; weights have the least variance at a
        distribution ``best``.

        Raises :class:`UnknownNameError` for a reference that is none of the answers.
        """
        v, origin, answers, compared = question.centred, question.origin, question.labels, None
        names = ["", *(name if label == "mean" else f"{name}: {label}" for label in answers)]
        shares = question.weights
        if np.isin(shares, (0, 1)).all() and (shares.sum(axis=1) == 1).all():
            place = 0 if reference is None else Codebook(answers, "symbols").place(reference)
            if place == ABSENT:
                raise UnknownNameError("reference", reference, map(str, answers))
            names = [f"{name}={label}" for label in answers]
            names.insert(0, names.pop(place))
            v, compared = np.delete(shares, place, axis=1), answers[place]
            origin = np.zeros(v.shape[1])
        elif reference is not None:
            raise InputError(
                "reference",
                expected="it left out where the privatised column is a number",
                got=quote(reference),
                remedy="leave it out, or pass family='logistic' for a privatised response",
            )
        scale = np.maximum(np.abs(v).max(axis=0), 1e-300)
        told = kernel.scores(Question(kernel.inputs, np.eye(len(v))), best)[places]
        chances = kernel.likelihood(places)
        return cls(kernel.inputs, chances, told, likely, v / scale, origin, scale, names, compared)

    @property
    def groups(self) -> Vector:
        """``(N, 1 + F)`` whether a symbol is what others are compared with, and the columns."""
        return np.column_stack([1 - self.values.sum(axis=1), self.values])

    @property
    def cells(self) -> dict[str, Vector]:
        """Names of groups, and ``(R,)`` what is unbiased for whether a secret is in them."""
        told = (self.told @ self.groups).T
        return dict(zip(self.names, told, strict=True)) if self.names[0] else {}


def open_response(sample: Sample, response: str) -> dict[str, Vector]:
    """Values of a response that everybody tells, as :attr:`Secret.cells`; :class:`DataError` for
    more than two.
    """
    labels, codes = sample.categories(response, "response")
    if len(labels) != 2:
        raise DataError(
            f"response in column {quote(response)}",
            expected="two different values",
            got=str(len(labels)),
            remedy="pass family='linear' for numbers, or a response such as 0 and 1",
        )
    return {f"{response}={label}": np.equal(codes, i) * 1.0 for i, label in enumerate(labels)}


@dataclass(frozen=True)
class Setting:
    """What all regressions begin with.

    Attributes
    ----------
    drawn : how people were drawn, with weights that add up to their number
    mass, heavy : ``(R,)`` what a row weighs in a sum, and in a variance
    public : ``(R, C)`` public columns, of which the first is constant, made orthogonal
    secrets : privatised ones
    terms : ``(P,)`` names of all of them
    labels : names of coefficients as they are shown, those of secrets after the intercept
    back : ``(P, P)`` to these from those of the columns above
    """

    drawn: Drawn
    mass: Vector
    heavy: Vector
    public: Vector
    secrets: Sequence[Secret]
    terms: list[str]
    labels: list[str]
    back: Vector

    @classmethod
    def of(
        cls, sample: Sample, drawn: Drawn, covariates: Iterable[str], secrets: Sequence[Secret]
    ) -> Setting:
        """Public covariates after a constant column, and privatised ones.

        Raises :class:`DataError` for covariates that are constant or depend on each other.
        """
        from scipy.linalg import block_diag

        people, weights = sample.size, drawn.weights
        weights = weights * (people / (weights @ sample.repeats))
        mass = weights * sample.repeats
        columns, terms = [np.ones((len(mass), 1))], ["(intercept)"]
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
        starts = middle_of(found)
        starts[0] = 0
        found = found - starts
        root = np.sqrt(mass)[:, None] * found
        size = np.maximum(np.linalg.norm(root, axis=0), 1e-300)
        upper = np.linalg.qr(np.pad(root / size, ((0, len(size)), (0, 0))), mode="r")
        refuse_few(
            terms,
            np.abs(np.diagonal(upper)) < _DEPENDENT,
            "covariates that vary, none of which follows from the others",
            "others that give",
        )
        # The mean square of each column is one.
        back = np.linalg.inv(upper) / size[:, None] * np.sqrt(people)
        public, width = found @ back, len(terms)
        terms += [name for secret in secrets for name in secret.names[1:]]
        order = np.r_[:1, width : len(terms), 1:width]
        back = block_diag(back, *(np.diag(1 / secret.scale) for secret in secrets))
        # The intercept is where numbers are zero.
        back[0] -= np.concatenate([starts, *(secret.origin for secret in secrets)]) @ back
        back = back[order]
        about = public, secrets, terms, [terms[i] for i in order], back
        return cls(replace(drawn, weights=weights), mass, mass * weights, *about)

    def meat(self, scores: Vector) -> Vector:
        """Covariance of Σ w · score, for the design of the sample."""
        return design_covariance(self.drawn.weights[:, None] * scores, self.drawn)

    def fewest_events(self, response: Mapping[str, Vector]) -> float:
        """Effective events of the group of symbols, with each of the values of a response, if any,
        that has the fewest; :class:`DataError` for too few.

        A share p that is estimated with a variance s² is told as well as by p²(1 − p)/s² events
        among people who tell their secrets: the number of events itself for an identity kernel.
        """
        cells = {name: told for secret in self.secrets for name, told in secret.cells.items()}
        if response:
            pairs = product(cells.items(), response.items())
            cells = {f"{a} with {b}": x * y for (a, x), (b, y) in pairs} | {**response}
        if not cells:
            return np.inf
        told, total, units = np.stack([*cells.values()], 1), self.mass.sum(), self.drawn.units
        share = self.mass @ told / total
        # Without the correction for few people: those of five are five.
        seen = (units - 1).sum() / units.sum() * self.meat(told - share).diagonal()
        varies = np.maximum(seen, self.heavy @ (told**2 - told)) / total**2
        share = share.clip(0, 1)
        events = share**2 * (1 - share) / np.maximum(varies, 1e-300)
        refuse_few(
            [*cells],
            events < _FEWEST,
            f"{_FEWEST:.0f} effective events of each symbol, with each value of a response of two",
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


def corrected_moments(
    setting: Setting, response: Vector | Secret
) -> tuple[Vector, Vector, Vector, Vector]:
    """Least squares by unbiased moments: coefficients of public columns and then of the secrets',
    scores of rows ``(R, P)``, the inverse of their slope, and the covariance of the coefficients
    that is left of the noise which the mechanisms add.

    Σ w (m − M β) = 0 with unbiased m and M for each report. Noise adds up over columns, each with
    those before it as reported and those after it as expected.

    Raises :class:`DataError` for terms whose variance beside the others the reports hardly show to
    be positive: its square over the variance of its estimate is about the number of effective
    events.
    """
    mass, heavy, secrets = setting.mass, setting.heavy[:, None], setting.secrets
    end, size = setting.public.shape[1], len(setting.terms)
    few, parts = np.arange(size) >= end, list[Any]()
    every = np.pad(setting.public, ((0, 0), (0, size + 1 - end)))
    if isinstance(response, Secret):
        secrets = [*secrets, response]
    else:
        every[:, -1] = response
    rest, more = every, np.zeros((size + 1, size + 1))
    for secret in secrets:
        start, end = end, end + secret.values.shape[1]
        own = np.pad(secret.values, ((0, 0), (start, size + 1 - end)))
        told, posterior = secret.told, secret.likely * secret.chances
        reported, expected = told @ own, posterior @ own / posterior.sum(axis=1)[:, None]
        every, rest = every + reported, rest + expected
        more += (own.T * (mass @ told)) @ own - (reported.T * mass) @ reported
        parts.append((told, own, reported, expected))
    moments: Any = (every.T * mass) @ every + more
    if np.linalg.eigvalsh(moments[:-1, :-1])[0] > _DEPENDENT * mass.sum():
        bread: Any = np.linalg.inv(moments[:-1, :-1])
        least = 1 / bread.diagonal()
        across = np.pad(bread * least, ((0, 1), (0, 0)))
        squares = (every @ across) ** 2
        for told, own, reported, _ in parts:
            squares += told @ (own @ across) ** 2 - (reported @ across) ** 2
        few &= least**2 < _FEWEST * (heavy * (squares - least / mass.sum()) ** 2).sum(axis=0)
    refuse_few(
        setting.terms,
        few,
        "reports that show how the privatised column varies beside the others",
        "too few to tell of",
    )
    turn: Any = np.append(bread @ moments[:-1, -1], -1)
    noise = 0 * moments
    scores = -every * (every @ turn)[:, None]
    for told, own, reported, expected in parts:
        # Without the column, and with what its reports add.
        rest = rest - expected
        ahead, alone, pulled = own @ turn, -(rest @ turn)[:, None], (reported @ turn)[:, None]
        twice = told @ (own * ahead[:, None])
        scores += reported * pulled - twice
        seen = rest * (alone - pulled) + reported * alone - twice
        # What they spread less what they would for known secrets.
        known = heavy * told * (alone - ahead) ** 2
        both = rest.T @ known @ own
        noise += (heavy * seen).T @ seen - both - both.T
        noise -= (rest.T * known.sum(axis=1)) @ rest + (own.T * known.sum(axis=0)) @ own
        rest = rest + reported
    return turn[:-1], scores[:, :-1], bread, bread @ noise[:-1, :-1] @ bread.T
