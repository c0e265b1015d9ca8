"""The smallest level at which so many reports keep every interval of a frequency narrow enough."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import GapWarning, InfeasibleError, LevelError, UntoldError
from ..labels import counted
from ..mechanism import Mechanism
from ..numeric import finite_number
from ..prior import Prior
from ..privacy.free_level import Family, as_families
from ..progress import counter
from ..roots import LevelSearch, Probe
from ..solve._design import Design, find_design
from ..utility.estimation import Estimation
from ..utility.questions import Question
from .assurance import Vector, normal_quantile
from .planning import ASSURANCE, Plan, Promise, plan, told_by, variances_of
from .references import CONFIDENCE
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
    asked : reports, error, confidence and assurance
    level : a level in nats at which every interval of ``design`` is within ± ``error``
    below : a level at which every kernel has a share whose standard error is too large for a normal
        interval of that width, as the bound of designs proves; 0 where that is so at level zero,
        and ``None`` where level zero suffices or nothing is proved. Intervals of estimates are
        wider than normal ones, by little where reports are many, so that levels between ``below``
        and ``level`` may be too small as well.
    design : the certified design at ``level``
    plan : the intervals that it has with so many reports
    error_below : at ``below`` every kernel has a share whose normal interval has at least this
        half-width, its standard error times the normal quantile
    steps : how many levels were designed for
    """

    family: str
    asked: Promise
    level: float
    below: float | None
    design: Design
    plan: Plan
    error_below: float | None
    steps: int

    def __repr__(self) -> str:
        asked = self.asked
        rate = f"{100 * asked.confidence:g} %"
        lines = [
            f"Smallest level of {self.family} at which {asked.reports} reports keep every {rate} "
            f"interval within ± {asked.error:.12g} in {100 * asked.assurance:g} % of surveys",
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
                f"below {self.below!r}: every kernel has a share whose standard error makes "
                f"± {self.error_below:.6g} or more of a normal interval, proved"
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
    assurance: float = ASSURANCE,
    subject_to: Any = (),
    precision: float = 1e-3,
    time_limit: float | None = None,
    progress: bool = False,
) -> SmallestForReports:
    """The smallest level of a notion at which ``reports`` keep every interval within ± ``error``.

    The inverse of :func:`plan` at the prior: at ``level`` a certified kernel does that, and at
    ``below`` the standard errors of every kernel are too large for normal intervals of that width.
    Kernels are those whose largest standard error is the smallest, found to a thousandth. Intervals
    are computed in floats, as in :func:`plan`.

    Parameters
    ----------
    notion : class, text or function
        A notion with one level left free, as for :func:`smallest`.
    prior, subject_to, time_limit : as for :func:`design`
    reports, error, confidence, assurance : as for :func:`plan`, both of the first two
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
    asked = Promise(float(error), reports, confidence, assurance)
    families = as_families(notion)
    if len(families) != 1:
        raise LevelError(
            "smallest level",
            expected="one notion with a free level",
            got=counted(len(families), "notion"),
            remedy="ask for one after another",
        )
    share = finite_number(precision, "precision", _FINEST, _COARSEST)
    known = prior.restricted()
    asked.check_error(Question(known.labels, np.eye(len(known))))
    everything = plan(
        Mechanism(np.eye(len(known)), known.labels),
        reports=reports,
        prior=known,
        confidence=confidence,
        assurance=assurance,
    )
    if (least := everything.errors.max()) > error:
        raise InfeasibleError(
            f"{reports} reports do not keep every interval within ± {error:.12g} at any level of "
            f"{families[0].name}: an open survey of as many people has one of ± {least:.4g}; "
            "ask for a larger error or more reports",
            (families[0].name,),
        )
    with counter(None, "levels", show=progress) as advance:

        def probe(level: float) -> _Probe:
            advance(1)
            return _designed(families[0], known, level, asked, subject_to, time_limit)

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
    made = plan(high.design, reports=reports, confidence=confidence, assurance=assurance)
    below = None
    if low is not None:
        below = normal_quantile(1 - confidence) * math.sqrt(low.bound / reports)
    return SmallestForReports(
        families[0].name,
        asked,
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
    asked: Promise,
    subject_to: Any,
    time_limit: float | None,
) -> _Probe:
    """What is known at a level, as far as it takes to compare it with what is asked."""
    assert asked.error is not None
    assert asked.reports is not None
    error, reports = asked.error, asked.reports
    target = reports * (error / normal_quantile(1 - asked.confidence)) ** 2 * (1 + _ROUNDING)
    notions, question = family.at(level), Question(prior.labels, np.eye(len(prior)))

    def designed(weights: Vector) -> Design:
        goal = Estimation(None, weights=weights, truth=prior)
        return find_design(prior, goal, notions, time_limit=time_limit, subject_to=subject_to)

    def variances(found: Design) -> Vector:
        return variances_of(found, question, prior, asked)

    def reached(found: Design) -> bool:
        told, intervals, _ = told_by(found, question, prior, asked)
        return bool(told.all() and intervals.keep(error, reports))

    try:
        with warnings.catch_warnings():
            # A bound holds whatever the gap is.
            warnings.simplefilter("ignore", GapWarning)
            least = narrowest(len(prior), designed, variances, target, reached)
    except UntoldError as failure:
        proved = failure.is_proved
        return _Probe(level=level, misses=proved, bound=math.inf if proved else 0.0)
    except InfeasibleError as failure:
        return _Probe(level=level, misses=True, bound=math.inf, failure=failure)
    # Kernels are the best only as far as it takes to decide, so that a secant would mislead.
    return _Probe(
        level=level,
        reaches=reached(least.design),
        misses=least.bound > target,
        bound=float(least.bound),
        design=least.design,
    )
