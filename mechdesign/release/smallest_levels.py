"""The smallest level at which so many reports keep every interval of a frequency narrow enough."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GapWarning, InfeasibleError, LevelError, UntoldError
from ..labels import counted
from ..numeric import finite_number
from ..prior import Prior
from ..privacy.free_level import Family, as_families
from ..progress import counter
from ..solve._design import Design, find_design
from ..solve.level_search import LevelSearch, Probe
from ..utility.estimation import Estimation
from ..utility.questions import Question
from ._plan import Plan, check_numbers, largest_variance, open_error, plan, told_variances
from .references import CONFIDENCE, check_confidence
from .widest import narrowest

# Precisions that can be asked for; that of kernels themselves is a thousandth.
_FINEST, _COARSEST = 1e-6, 0.5
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class SmallestForReports:
    """The smallest level at which a number of reports keeps an error, between two numbers.

    Attributes
    ----------
    family : the notion as a function of the level, as it is written
    reports, error, confidence : what was asked
    level : a level in nats at which every interval of ``design`` is within ± ``error``
    below : a level at which no kernel does that, as the bound of designs proves; 0 where none does
        at level zero, and ``None`` where level zero suffices or nothing is proved
    design : the certified design at ``level``
    plan : the intervals that it has with so many reports
    error_below : at ``below`` every kernel has an interval with at least this half-width
    steps : how many levels were designed for
    """

    family: str
    reports: int
    error: float
    confidence: float
    level: float
    below: float | None
    design: Design
    plan: Plan
    error_below: float | None
    steps: int

    def __repr__(self) -> str:
        rate = f"{100 * self.confidence:g} %"
        lines = [
            f"Smallest level of {self.family} at which {self.reports} reports keep every {rate} "
            f"interval within ± {self.error:.12g}",
            f"level {self.level!r}: ± {float(self.plan.errors.max()):.6g} at most, by a certified "
            f"design ({self.design.method})",
        ]
        if self.below is None:
            lines.append(
                "no smaller one was proved to be too small"
                if self.level
                else "no smaller one: it is reached at level zero"
            )
        elif self.error_below is None or math.isinf(self.error_below):
            lines.append(
                f"below {self.below!r}: no kernel lets every share be estimated and does the rest, "
                "proved"
            )
        else:
            lines.append(
                f"below {self.below!r}: every kernel has an interval of ± {self.error_below:.6g} "
                "or more, proved"
            )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Probe(Probe):
    """A bound on the largest variance of every kernel, and a kernel that was found.

    There is none where what is asked clashes, as ``failure`` says, or where nothing is told.
    """

    bound: float
    design: Design | None = None
    failure: InfeasibleError | None = None


def smallest_for_reports(
    notion: Any,
    prior: Prior,
    *,
    reports: int,
    error: float,
    confidence: float = CONFIDENCE,
    subject_to: Any = (),
    precision: float = 1e-3,
    time_limit: float | None = None,
    progress: bool = False,
) -> SmallestForReports:
    """The smallest level of a notion at which ``reports`` keep every interval within ± ``error``.

    The inverse of :func:`plan` at the prior: at ``level`` a certified kernel does that, and at
    ``below`` none does. Kernels are those whose widest interval is the narrowest, found to a
    thousandth. Variances of kernels are computed in floats, as in :func:`plan`.

    Parameters
    ----------
    notion : class, text or function
        A notion with one level left free, as for :func:`smallest`.
    prior, subject_to, time_limit : as for :func:`design`
    reports, error, confidence : as for :func:`plan`, both of the first two
    precision : float
        How far ``below`` may be under ``level``, as a share of it. Where no bound decides between
        the two, they are farther apart.
    progress : bool
        Show the number of levels on standard error.

    Raises
    ------
    InfeasibleError
        When no level does, as an open survey of so many people does not, or requirements forbid.
    LevelError
        For what is no notion with a free level.
    InputError
        For numbers without meaning, and what :func:`design` raises.
    """
    check_confidence(confidence)
    check_numbers(error, reports)
    families = as_families(notion)
    if len(families) != 1:
        raise LevelError(
            "smallest level",
            expected="one notion with a free level",
            got=counted(len(families), "notion"),
            remedy="ask for one after another",
        )
    share = finite_number(precision, "precision", _FINEST, _COARSEST)
    target = largest_variance(reports, error, confidence)
    known = prior.restricted()
    if (least := open_error(known, reports, confidence)) > error * (1 + _ROUNDING):
        raise InfeasibleError(
            f"{reports} reports do not keep every interval within ± {error:.12g} at any level of "
            f"{families[0].name}: an open survey of as many people has one of ± {least:.4g}; "
            "ask for a larger error or more reports",
            (families[0].name,),
        )
    with counter(None, "levels", show=progress) as advance:

        def probe(level: float) -> _Probe:
            advance(1)
            return _designed(families[0], known, level, target, subject_to, time_limit)

        search = LevelSearch(probe)
        low, high = search.narrowed(share)
    if not high.reaches:
        name = families[0].name
        raise high.failure or InfeasibleError(
            f"no level of {name} was found at which so many reports keep every interval that "
            "narrow; ask for a larger error or more reports",
            (name,),
        )
    assert high.design is not None
    made = plan(high.design, reports=reports, confidence=confidence)
    below = None
    if low is not None:
        below = error * math.sqrt(low.bound / target)
    return SmallestForReports(
        families[0].name,
        int(reports),
        float(error),
        float(confidence),
        high.level,
        None if low is None else low.level,
        high.design,
        made,
        below,
        len(search.probes),
    )


def _designed(
    family: Family,
    prior: Prior,
    level: float,
    target: float,
    subject_to: Any,
    time_limit: float | None,
) -> _Probe:
    """What is known at a level, as far as it takes to compare it with the target."""
    count, notions = len(prior), family.at(level)
    question = Question(prior.labels, np.eye(count))

    def designed(weights: NDArray[np.float64]) -> Design:
        goal = Estimation(None, weights=weights, truth=prior)
        return find_design(prior, goal, notions, time_limit=time_limit, subject_to=subject_to)

    def variances(found: Design) -> NDArray[np.float64]:
        return told_variances(found, question, prior)[0]

    try:
        with warnings.catch_warnings():
            # A bound holds whatever the gap is.
            warnings.simplefilter("ignore", GapWarning)
            least = narrowest(count, designed, variances, target)
    except UntoldError as failure:
        proved = failure.is_proved
        return _Probe(level=level, misses=proved, bound=math.inf if proved else 0.0)
    except InfeasibleError as failure:
        return _Probe(level=level, misses=True, bound=math.inf, failure=failure)
    # Kernels are the best only as far as it takes to decide, so that a secant would mislead.
    return _Probe(
        level=level,
        reaches=float(least.variances.max()) <= target,
        misses=least.bound > target,
        bound=float(least.bound),
        design=least.design,
    )
