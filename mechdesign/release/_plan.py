"""``plan``: how many reports an error needs, or what error a number of reports gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, PriorError, quote
from ..labels import Label, shorten
from ..mechanism import Mechanism, mechanism_of
from ..prior import Prior
from ..subsets import SubsetSelection
from ..utility.questions import Question
from ._estimate import reference_of, refuse_other_than
from ._identifiability import ask, report_weights
from .codes import check_confidence
from .counts import FEWEST

# Errors and numbers of reports beyond these are slips, and would leave the floats.
_LEAST = 1e-12


@dataclass(frozen=True)
class Plan:
    """Reports and errors that belong together.

    Attributes
    ----------
    labels : what is estimated
    reports : how many reports, so that every half-width is at most the error asked, and at least
        the 10 that an estimate takes
    errors : ``(F,)`` half-widths of the intervals with so many reports
    without_privacy : how many people an open survey would need for the same largest error
    confidence : of each interval
    assumed : the distribution that the numbers are for; ``None`` for the worst one of each label
    """

    labels: tuple[Label, ...]
    reports: int
    errors: NDArray[np.float64]
    without_privacy: int
    confidence: float
    assumed: Prior | None

    @property
    def cost(self) -> float:
        """How many times as many people privacy takes."""
        return self.reports / self.without_privacy

    def rows(self) -> list[dict[str, Any]]:
        """One plain dictionary for each label."""
        return [
            {"label": label, "error": float(error)}
            for label, error in zip(self.labels, self.errors, strict=True)
        ]

    def __repr__(self) -> str:
        where = "at the assumed distribution" if self.assumed else "at the worst distribution"
        lines = [
            f"{self.reports} reports, {100 * self.confidence:g} % intervals {where}; "
            f"an open survey needs {self.without_privacy} (privacy costs {self.cost:.3g} times)"
        ]
        lines += [
            f"{shorten(label, 28):<28}  ± {error:.5f}"
            for label, error in zip(self.labels, self.errors, strict=True)
        ]
        return "\n".join(lines)


def plan(
    mechanism: Any,
    *,
    error: float | None = None,
    reports: int | None = None,
    prior: Prior | None = None,
    worst: bool = False,
    confidence: float = 0.95,
    feature: Mapping[Any, Any] | Callable[[Any], Any] | None = None,
    by: str = "symbols",
) -> Plan:
    """How many reports keep every interval within ± ``error``, or what ``reports`` give.

    Parameters
    ----------
    mechanism : Mechanism, Design or SubsetSelection
        Of a subset selection only the largest error of any share is told.
    error, reports : exactly one of the two
        Half-width of the intervals by inversion (population, delta method), or a number of reports.
    prior : Prior, optional
        The distribution to assume; a design's own when left out.
    worst : bool
        Plan for the least favourable distribution of each label instead; so does a bare mechanism
        without a prior.
    confidence, feature, by : as in :func:`estimate`

    Raises
    ------
    InputError
        For an error or a number of reports without meaning, or neither or both of them.
    DataError
        For a question that the reports cannot answer.

    Examples
    --------
    >>> import mechdesign as md
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> md.plan(flip, error=.02).reports
    9604
    """
    check_confidence(confidence)
    if (error is None) == (reports is None):
        raise InputError(
            "plan",
            expected="either an error or a number of reports",
            got="neither" if error is None else "both",
            remedy="pass error=0.01 or reports=10_000",
        )
    _check_numbers(error, reports)
    if not isinstance(worst, (bool, np.bool_)):
        raise InputError(
            "worst", expected="True or False", got=quote(worst), remedy="pass worst=True"
        )
    assumed = None if worst else (prior or getattr(mechanism, "prior", None))
    if isinstance(mechanism, SubsetSelection):
        refuse_other_than(feature=(feature, None), by=(by, "symbols"))
        labels, private, plain = _largest_of_many(mechanism, assumed)
    else:
        found = mechanism_of(mechanism)
        question = ask(found, feature, by)
        if assumed is not None:
            found.check_prior(assumed)
        weights = report_weights(found, question, reference_of(mechanism, found))
        labels, (private, plain) = (
            question.labels,
            _variances(found, question, weights, assumed),
        )
    from scipy.stats import norm

    z2 = float(norm.isf((1 - confidence) / 2)) ** 2
    if reports is None:
        assert error is not None
        needed = z2 * float(private.max()) / error**2
        reports = max(FEWEST, math.ceil(needed * (1 - 1e-12)))
    widths = np.sqrt(z2 * private / reports)
    largest = float(widths.max())
    open_survey = math.ceil(z2 * float(plain.max()) / largest**2 * (1 - 1e-12)) if largest else 1
    return Plan(labels, int(reports), widths, max(1, open_survey), confidence, assumed)


def _check_numbers(error: Any, reports: Any) -> None:
    """Refuse errors and numbers of reports that are none, or that nobody could need."""
    known = isinstance(error, (int, float, np.number)) and not isinstance(error, bool)
    if error is not None and not (known and _LEAST <= error <= 1 / _LEAST):
        raise InputError(
            "error of a plan",
            expected=f"a positive number from {_LEAST:g} to {1 / _LEAST:g}",
            got=f"{quote(error, 40)}",
            remedy="pass the half-width that intervals should have, such as 0.01",
        )
    whole = isinstance(reports, (int, np.integer)) and not isinstance(reports, bool)
    if reports is not None and not (whole and 1 <= reports <= 1 / _LEAST**2):
        raise InputError(
            "reports of a plan",
            expected=f"a positive integer up to {1 / _LEAST**2:g}",
            got=f"{quote(reports, 40)}",
            remedy="pass how many reports there will be, such as 10_000",
        )


def _largest_of_many(
    mechanism: SubsetSelection, assumed: Prior | None
) -> tuple[tuple[Label, ...], NDArray[np.float64], NDArray[np.float64]]:
    """The largest variance of one report's contribution to a share, with and without privacy."""
    labels = ("the share of largest error",)
    if assumed is None:
        return labels, np.array([mechanism.worst_variance]), np.array([0.25])
    if assumed.labels != mechanism.inputs:
        raise PriorError(
            "prior of a plan",
            expected=f"one over the {len(mechanism.inputs)} symbols, in their order",
            got=f"{len(assumed)} others",
            remedy="give it the labels of the subset selection",
        )
    p = np.asarray(assumed.probabilities)
    plain = p * (1 - p)
    return labels, mechanism.variances(p).max(keepdims=True), plain.max(keepdims=True)


def _variances(
    mechanism: Mechanism,
    question: Question,
    weights: NDArray[np.float64],
    assumed: Prior | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Variance of one report's contribution, with and without privacy, for each label."""
    second = mechanism.kernel @ weights**2
    v = question.weights
    if assumed is not None:
        p = np.asarray(assumed.probabilities)
        mean = p @ v
        # Rounding may leave a variance of nothing slightly below zero.
        return np.maximum(p @ second - mean**2, 0), np.maximum(p @ v**2 - mean**2, 0)
    private = np.array([_largest(second[:, k], v[:, k]) for k in range(v.shape[1])])
    plain = (v.max(axis=0) - v.min(axis=0)) ** 2 / 4
    return private, plain


def _largest(second: NDArray[np.float64], v: NDArray[np.float64]) -> float:
    """Largest value over p of Σ p_x s_x − (Σ p_x v_x)².

    At a given mean the first part is largest on at most two symbols, so pairs suffice.
    """
    best = max(float((second - v**2).max()), 0.0)
    for i in range(len(v)):
        step = v - v[i]
        slope = second - second[i] - 2 * v[i] * step
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(step != 0, slope / (2 * step**2), np.where(slope > 0, 1.0, 0.0))
        share = np.clip(share, 0, 1)
        value = second[i] + share * (second - second[i]) - (v[i] + share * step) ** 2
        best = max(best, float(value.max()))
    return best
