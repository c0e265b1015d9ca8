"""What a constructed adversary is: the feature it goes after and how near it comes to the bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import KernelError, UtilityError
from ..mechanism import Mechanism
from .inputs import whole
from .observation import Observation, as_observation

#: Features with more values than this are not built unless asked for.
MOST_VALUES = 10_000
# Features with more values than this are not built at all.
_MOST_ASKED = 1_000_000


@dataclass(frozen=True, eq=False)
class Attack:
    """A feature of the secret built so that one outcome leaks as much as possible about it.

    Attributes
    ----------
    feature : channel P(U|X) of the feature the adversary goes after
    attained : what the outcome leaks to this adversary, in nats
    supremum : what it leaks to the worst adversary of the kind
    error : ``supremum - attained``, from the closed form of the construction; 0 where the
        construction attains the supremum, ``inf`` where no finite feature does
    """

    feature: Mechanism
    attained: float
    supremum: float
    error: float

    def __repr__(self) -> str:
        return (
            f"Attack({self.feature.shape[1]} values, attained {self.attained:.6g} of "
            f"{self.supremum:.6g} nats)"
        )


def shortfall(supremum: float, attained: float) -> float:
    """How far an attack stays below its supremum; rounding does not make it negative."""
    return math.inf if supremum == math.inf > attained else max(0.0, supremum - attained)


def check_values(value: Any, subject: str) -> int:
    """How many values a constructed feature has: 1 up to a million, or a :class:`UtilityError`."""
    return whole(value, subject, 1, _MOST_ASKED, error=UtilityError)


def check_payoff(matrix: ArrayLike, seen: Observation | int, subject: str) -> NDArray[np.float64]:
    """An ``(N, W)`` array of finite non-negative numbers, or a :class:`UtilityError`."""
    size = seen if isinstance(seen, int) else len(as_observation(seen).prior)
    try:
        found = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros(0)
    if found.ndim != 2 or found.shape[0] != size or found.shape[1] == 0:
        raise UtilityError(
            subject,
            expected=f"an array with {size} rows (symbols) and one column per guess",
            got=f"shape {found.shape}",
            remedy="give one row per symbol",
        )
    if not (np.isfinite(found).all() and (found >= 0).all()):
        bad = found[~(np.isfinite(found) & (found >= 0))][0]
        raise UtilityError(
            subject,
            expected="finite non-negative numbers",
            got=str(bad),
            remedy="the theory covers non-negative payoffs only; shift them",
        )
    return found


def log_ratio(top: float, low: float, subject: str) -> float:
    """Log of a ratio of two expected payoffs; raises where both are zero."""
    if top == 0 and low == 0:
        raise UtilityError(
            subject,
            expected="an adversary whose expected payoff is positive before or after the outcome",
            got="zero for both",
            remedy="give it a positive payoff for some symbol of positive mass",
        )
    if low == 0:
        return math.inf
    return -math.inf if top == 0 else math.log(top) - math.log(low)


def too_many(values: float) -> KernelError:
    """The error for a construction that needs more values than can be built."""
    return KernelError(
        "worst-case feature",
        expected=f"at most {MOST_VALUES} values",
        got=f"a construction with {values:.3g}",
        remedy="name a number of values; the attack then states its error",
    )
