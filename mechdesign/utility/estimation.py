"""How well frequencies can be estimated from reports, as a utility to design for.

With q = Kᵀπ and J = K diag(1/q) Kᵀ, n reports of people with distribution π allow unbiased
estimates of questions F π with mean squared error (tr(A J⁻¹) − πᵀAπ)/n, A = FᵀWF, and none does
better at π (Cramér and Rao). The risk is n times that: the number of reports that an error of one
takes. It is not a sum over columns, as sub-convex utilities are, but a convex function of J.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import PriorError, UtilityError, ZeroMassWarning, is_iterable, listed, quote
from ..exact import is_positive_semidefinite, nearest_float
from ..labels import Label, check_labels, counted, listing
from ..mechanism import Mechanism
from ..numeric import float_array
from ..prior import Prior, sampled_prior
from ..schema import Schema
from .base import Utility
from .questions import LARGEST, SMALLEST, Question, check_sizes, feature_question
from .survey import Survey, Vector, Weights
from .truths import Truths, Worst

#: What may be asked: a feature, several of them, or rows of numbers, one for each symbol.
Asked = Mapping[Any, Any] | Callable[[Any], Any] | Sequence[Any] | NDArray[np.float64] | str | None

#: The truth of which nothing is known: the worst of all distributions counts.
ANY = "any"
# Eigenvalues of a weight matrix below this share of the largest are rounding; of how many answers
# their signs are found exactly.
_ROUNDING, _MOST_EXACT = 1e-12, 32


class Estimation(Utility):
    """Minus the mean squared error of the best unbiased estimate, times the number of reports.

    Parameters
    ----------
    of : feature, list of features, or (F, N) array, optional
        What is estimated; the frequency of every symbol when left out. A feature is a mapping or
        function of symbols, as :func:`mechdesign.estimate` takes it: numbers ask for the mean,
        other values for the share of each; so does the name of a column that the prior's symbols
        are made of. A row of an array is a question Σ f_x π_x, with one
        number for each symbol of the prior, in its order.
    weights : F numbers or (F, F) array, optional
        What errors weigh: Σ w_i (error of answer i)², or W for errors whose products count too;
        non-negative, positive semi-definite. One each when left out. Matrices hold to working
        precision.
    truth : Prior, mapping from symbol to mass or count, N numbers, or Estimate, optional
        The distribution at which errors count; the prior when left out. Every symbol of the design
        must have some mass; of counts (whole numbers that are no masses) zeros stand for half a
        count each, as a sample does not rule out what it did not meet. An estimate from a pilot's
        reports stands for its ``shrunk`` distribution; privacy holds under the prior all the same.
        The worst counts of a list of distributions, and with ``"any"`` that of all over the symbols
        of positive prior mass.
    names : F labels, optional
        Names of the answers.

    Raises
    ------
    UtilityError
        For numbers that are none, weights that are not positive semi-definite, and truths without
        mass. What the symbols decide is said when a design is made.

    Notes
    -----
    ``value`` is −∞ for a kernel from which some answer cannot be told, however many reports come.
    Symbols without prior mass are left out of it. In a design they have the row of the likeliest
    symbol of which the same is asked, so that answers hold if they occur after all; where there is
    none, as for frequencies, the design is refused.

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior.uniform(3)
    >>> flip = md.randomised_response(prior, 1)
    >>> round(md.utility.Estimation().risk(flip, prior), 6)
    5.026755
    """

    gap_unit: ClassVar[str] = "the value"
    references: ClassVar[tuple[str, ...]] = ("Pukelsheim2006", "YeBarg2018")

    def __init__(
        self, of: Asked = None, weights: Any = None, truth: Any = None, *, names: Any = None
    ) -> None:
        self.of = _checked_question(of)
        self.weights = None if weights is None else _checked_weights(weights)
        self.truth = None if truth is None else _checked_truth(truth)
        self.names = None if names is None else _checked_names(names)

    @property
    def asks_frequencies(self) -> bool:
        """Whether every frequency is asked, at the prior, and errors count alike."""
        return all(part is None for part in (self.of, self.weights, self.truth, self.names))

    def value(self, mechanism: Mechanism, prior: Prior) -> float:
        """Minus the risk."""
        return 0.0 - self.risk(mechanism, prior)

    def risk(self, mechanism: Mechanism, prior: Prior) -> float:
        """Mean squared error of the best unbiased estimate times the number of reports.

        The float nearest to it; infinite where some answer cannot be told.
        """
        mechanism.check_prior(prior)
        weights, truths = mechanism.weights[prior.support], self.truths(prior)
        ends = (self.survey(prior) if truths is None else truths).risk(weights)
        return math.inf if ends is None else nearest_float((ends[0] + ends[1]) / 2)

    def worst_truth(self, mechanism: Mechanism, prior: Prior) -> Prior:
        """The distribution at which the risk of a kernel is largest, of those that count."""
        mechanism.check_prior(prior)
        truths = self.truths(prior)
        found = None if truths is None else truths.worst(mechanism.weights[prior.support])
        if truths is not None and found is None:  # infinite at all of them
            found = Worst((truths.listed or (truths.reference,))[0].truth, 0, (Fraction(0),) * 2)
        kept = self.survey(prior).truth if found is None else found.truth
        masses = [Fraction(0)] * len(prior)
        for x, mass in zip(prior.support.tolist(), kept, strict=True):
            masses[x] = mass
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZeroMassWarning)
            return Prior(masses, prior.labels)

    def question(self, symbols: Sequence[Label], schema: Schema | None = None) -> Question:
        """Names of the answers and the coefficients ``(N, F)`` of each symbol in each."""
        found = self._question(symbols, schema)
        if self.names is None:
            return found
        if len(self.names) != len(found.labels):
            raise UtilityError(
                "names of answers",
                expected=f"{len(found.labels)}, one for each",
                got=str(len(self.names)),
                remedy="name every answer once, or leave the names out",
            )
        return Question(self.names, found.weights)

    def _question(self, symbols: Sequence[Label], schema: Schema | None) -> Question:
        n, of = len(symbols), self.of
        if of is None:
            return Question(tuple(symbols), np.eye(n))
        if isinstance(of, tuple):
            parts = [feature_question(one, symbols, schema) for one in of]
            labels: list[Label] = []
            for number, part in enumerate(parts, 1):
                own = [f"mean {number}"] if part.labels == ("mean",) else part.labels
                labels += own
            if len(set(labels)) < len(labels):
                # Values that several features have are told apart by the feature.
                labels = [
                    (one if isinstance(one, str) else number, label)
                    for number, (one, part) in enumerate(zip(of, parts, strict=True), 1)
                    for label in part.labels
                ]
            return Question(tuple(labels), np.hstack([part.weights for part in parts]))
        if not isinstance(of, np.ndarray):
            return feature_question(of, symbols, schema)
        if of.shape[1] != n:
            raise UtilityError(
                "questions of an estimation",
                expected=f"rows of {n} numbers, one for each symbol of the prior",
                got=f"rows of {of.shape[1]}",
                remedy="give every question a coefficient for each symbol, zero where it has none",
            )
        return Question(tuple(range(1, len(of) + 1)), of.T)

    def masses(self, prior: Prior) -> tuple[Fraction, ...]:
        """The truth on the symbols of a prior, in its order; the prior where the worst of several
        counts. Raises :class:`UtilityError`.
        """
        return self._masses(self.truth if isinstance(self.truth, Prior) else prior, prior)

    def _masses(self, truth: Prior, prior: Prior) -> tuple[Fraction, ...]:
        truth = self._matched(truth, prior)
        for x, (mass, weight) in enumerate(zip(truth.weights, prior.weights, strict=True)):
            if bool(mass) is not bool(weight):
                raise UtilityError(
                    "truth of an estimation",
                    expected="mass for exactly the symbols that have some in the prior",
                    got=f"{quote(prior.labels[x])} with mass in the "
                    + ("truth" if mass else "prior")
                    + " alone",
                    remedy="give it a little mass, such as half a count, or leave it out of both",
                )
        return tuple(truth.mass(x) for x in range(len(prior)))

    @staticmethod
    def _matched(truth: Prior, prior: Prior) -> Prior:
        if set(truth.labels) == set(prior.labels):
            return truth.reordered(prior.labels)
        if truth.labels != tuple(range(len(prior))):
            raise UtilityError(
                "truth of an estimation",
                expected=f"a distribution over the symbols {listing(prior.labels)} of the prior",
                got=f"symbols {listing(truth.labels)}",
                remedy="label it as the prior of the design",
            )
        return truth

    def survey(self, prior: Prior) -> Survey:
        """What is asked, in exact numbers, on the symbols of positive mass.

        At the prior where the worst of several truths counts, see :meth:`truths`.
        Raises :class:`UtilityError` for questions and truths that do not fit the prior.
        """
        return self._survey(prior, self.masses(prior))

    def counterparts(self, prior: Prior) -> dict[int, int | None]:
        """For each symbol without mass the likeliest one of which the same is asked.

        With its row in a kernel, reports answer whether or not the symbol occurs after all;
        ``None`` where there is no such symbol.
        """
        asked = self.question(prior.labels, prior.schema).weights
        self._exact_weights(asked.shape[1])  # raises where they do not fit
        if self.weights is not None:
            diagonal = self.weights.ndim == 1
            asked = asked[:, self.weights > 0] if diagonal else asked @ self.weights
        some = prior.support
        likely = some[np.argsort(-prior.probabilities[some], kind="stable")]
        found: dict[int, int | None] = {}
        for x in np.setdiff1d(np.arange(len(prior)), some).tolist():
            same = np.flatnonzero((asked[likely] == asked[x]).all(axis=1))
            found[x] = int(likely[same[0]]) if same.size else None
        return found

    def truths(self, prior: Prior) -> Truths | None:
        """The distributions of which the worst counts; ``None`` where one is named.

        Raises :class:`UtilityError` for questions and truths that do not fit the prior.
        """
        if self.truth is None or isinstance(self.truth, Prior):
            return None
        some = () if isinstance(self.truth, str) else self.truth
        listed = tuple(self._survey(prior, self._masses(one, prior)) for one in some)
        return Truths(listed, self.survey(prior))

    def _survey(self, prior: Prior, masses: tuple[Fraction, ...]) -> Survey:
        question = self.question(prior.labels, prior.schema).weights
        kept = prior.support
        check_sizes(question)
        return Survey.of(
            [[Fraction(v) for v in row] for row in question[kept].T.tolist()],
            self._exact_weights(question.shape[1]),
            tuple(masses[x] for x in kept.tolist()),
        )

    def _exact_weights(self, answers: int) -> Weights:
        """W, as a vector where it is diagonal, and a little larger where rounding left it with a
        negative eigenvalue.
        """
        if self.weights is None:
            return np.ones(answers)
        if self.weights.shape[-1] != answers:
            raise UtilityError(
                "weights of an estimation",
                expected=f"{answers}, one for each answer",
                got=str(self.weights.shape[-1]),
                remedy="leave them out, or give one to each answer",
            )
        if self.weights.ndim == 1:
            return self.weights
        exact = [list(map(Fraction, row)) for row in self.weights.tolist()]
        places = range(answers)
        even = [[(exact[i][j] + exact[j][i]) / 2 for j in places] for i in places]
        if answers <= _MOST_EXACT and is_positive_semidefinite(even):
            return even
        values, vectors = np.linalg.eigh(self.weights)
        some = values > _ROUNDING * max(float(values[-1]), 0.0)
        roots = np.sqrt(values[some]) * vectors[:, some]
        rows = [list(map(Fraction, row)) for row in roots.tolist()]
        return [[sum(map(operator.mul, a, b), Fraction(0)) for b in rows] for a in rows]

    def __repr__(self) -> str:
        parts = []
        if isinstance(self.of, (np.ndarray, tuple)):
            parts.append(f"of={counted(len(self.of), 'question')}")
        elif isinstance(self.of, str):
            parts.append(f"of={quote(self.of)}")
        elif self.of is not None:
            parts.append("of=a feature")
        if self.weights is not None:
            parts.append("weights=" + "×".join(map(str, self.weights.shape)))
        if self.truth is not None:
            parts.append(f"truth={self.truth!r}")
        return f"Estimation({', '.join(parts)})"


# What is handed in


def _checked_question(of: Any) -> Any:
    """A feature, a tuple of features, or an ``(F, N)`` array."""
    if of is None or _is_feature(of):
        return of
    if not isinstance(of, np.ndarray) and is_iterable(of) and not isinstance(of, (str, bytes)):
        parts = listed(
            of,
            "questions of an estimation",
            "a list of features or of rows of numbers",
            UtilityError,
            "pass for example [{'a': 1, 'b': 0}]",
        )
        if parts and all(map(_is_feature, parts)):
            return tuple(parts)
        of = parts
    found = float_array(of)
    if found is None:
        raise UtilityError(
            "questions of an estimation",
            expected="a feature (mapping or function of a symbol, or name of a column), a list of "
            "features, or rows of numbers",
            got=quote(of),
            remedy="pass for example {'a': 1, 'b': 0}, or [[1, 0, 0], [0, 1, -1]]",
        )
    matrix = np.atleast_2d(found)
    if matrix.ndim != 2 or 0 in matrix.shape or not np.isfinite(matrix).all():
        raise UtilityError(
            "questions of an estimation",
            expected="finite numbers, one row for each question",
            got=f"an array of shape {matrix.shape}"
            + ("" if np.isfinite(matrix).all() else " with others"),
            remedy="give every question one finite coefficient for each symbol",
        )
    matrix.setflags(write=False)
    return matrix


def _is_feature(one: Any) -> bool:
    return callable(one) or isinstance(one, (Mapping, str))


def _checked_weights(weights: Any) -> Vector:
    held = float_array(weights)
    found = np.zeros(0) if held is None else held
    square = found.ndim == 2 and found.shape[0] == found.shape[1]
    good = found.size > 0 and (found.ndim == 1 or square) and bool(np.isfinite(found).all())
    if good and square:
        size = float(np.abs(found).max())
        good = bool(np.allclose(found, found.T, rtol=0, atol=_ROUNDING * size))
        good = good and float(np.linalg.eigvalsh(found)[0]) >= -_ROUNDING * size
    elif good:
        good = bool((found >= 0).all())
    sizes = np.abs(found[found != 0])
    good = good and sizes.size > 0
    if good and not (sizes.min() >= SMALLEST and sizes.max() <= LARGEST):
        raise UtilityError(
            "weights of an estimation",
            expected=f"weights of zero, or of size {SMALLEST:g} to {LARGEST:g}",
            got=f"{sizes.min():.3g} to {sizes.max():.3g}",
            remedy="multiply them by a constant, as only their ratios matter",
        )
    if not good:
        raise UtilityError(
            "weights of an estimation",
            expected="a non-negative number for each answer, not all zero, or a positive "
            "semi-definite matrix",
            got=quote(weights),
            remedy="leave them out, or pass for example [1, 1, 2]",
        )
    found.setflags(write=False)
    return found


def _checked_truth(truth: Any) -> Prior | tuple[Prior, ...] | str:
    truth = getattr(truth, "shrunk", truth)  # of an estimate
    if isinstance(truth, Prior):
        return truth
    if isinstance(truth, str):
        if truth.strip().lower() == ANY:
            return ANY
        raise UtilityError(
            "truth of an estimation",
            expected=f"a distribution, a list of them, or {quote(ANY)} for every distribution",
            got=quote(truth),
            remedy="pass for example {'a': 3, 'b': 5}",
        )
    several = not isinstance(truth, Mapping) and is_iterable(truth)
    some = listed(truth, "truth of an estimation", "masses", UtilityError, "") if several else []
    if any(isinstance(one, (Prior, Mapping)) or is_iterable(one) for one in some):
        return tuple(one if isinstance(one, Prior) else _sampled_truth(one) for one in some)
    return _sampled_truth(truth)


def _sampled_truth(masses: Any) -> Prior:
    """Masses or counts of a sample; messages name the truth in place of a prior."""
    try:
        return sampled_prior(masses)
    except PriorError as error:
        raise PriorError(f"truth of an estimation: {str(error).removeprefix('prior: ')}") from error


def _checked_names(names: Any) -> tuple[Label, ...]:
    found = listed(names, "names of answers", "a list of labels", UtilityError, "name each answer")
    return check_labels(found, len(found), "names of answers", UtilityError)
