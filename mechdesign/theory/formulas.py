"""Formulas of the conversions, in rationals, rounded to the safe side.

With l = e^-ε_l, h = e^ε_u and pmin the smallest positive mass::

    ε_l*(ε_u) = log[pmin / (1 − h (1−pmin))]     for ε_u < log 1/(1−pmin)
    ε_u*(ε_l) = log[(1 − l (1−pmin)) / pmin]

Levels are rationals, ``None`` for an infinite one. Exponentials and logarithms are enclosed by
rationals and taken on the safe side, so a converted level truly holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ..errors import LevelError, MechdesignError
from ..exact import LARGEST_LEVEL, exp_bounds, log_bounds
from ..prior import Prior

Level = Fraction | None
Levels = tuple[Level, ...]


def check_prior(prior: Any) -> None:
    """Raise a :class:`LevelError` for anything else than a prior."""
    if not isinstance(prior, Prior):
        raise LevelError(
            "prior of a conversion",
            expected="a Prior",
            got=type(prior).__name__,
            remedy="wrap it: md.Prior(probabilities)",
        )


class Refused(MechdesignError):  # noqa: N818
    """A rule does not apply; the message says why. Never leaves this room."""


@dataclass(frozen=True)
class Setting:
    """What the rules need to know of a prior; anything else is a :class:`LevelError`."""

    prior: Prior

    def __post_init__(self) -> None:
        check_prior(self.prior)

    @cached_property
    def pmin(self) -> Fraction:
        """Smallest positive mass, exact."""
        return Fraction(min(w for w in self.prior.weights if w), self.prior.total)

    @cached_property
    def size(self) -> int:
        """Number of symbols of positive mass."""
        return len(self.prior.support)

    @cached_property
    def entropy(self) -> Fraction:
        """An upper bound on the Shannon entropy."""
        masses = (self.prior.mass(int(x)) for x in self.prior.support)
        return sum((p * log_bounds(1 / p)[1] for p in masses), Fraction(0))

    def need_full_support(self) -> None:
        """Refuse LDP, which compares all symbols, where the prior does not see some of them."""
        if not self.prior.has_full_support:
            raise Refused(
                f"{len(self.prior) - self.size} symbols have zero mass, which LDP compares and "
                "the prior does not see"
            )


def lower_star(setting: Setting, u: Level) -> Level:
    """ε_l*(ε_u), rounded up; raises :class:`Refused` outside the high-privacy regime."""
    p = setting.pmin
    if p == 1:
        return Fraction(0)
    limit = log_bounds(1 / (1 - p))[0]
    rest = Fraction(0) if u is None or u >= limit else 1 - exp_above(u) * (1 - p)
    if rest <= 0:
        shown = "infinite" if u is None else f"{float(u):.6g}"
        raise Refused(
            f"ε_u = {shown} is not below log 1/(1−pmin) = {float(limit):.6g} (pmin = "
            f"{float(p):.6g}), so an outcome may rule a symbol out"
        )
    return log_above(p / rest)


def upper_star(setting: Setting, low: Level) -> Level:
    """ε_u*(ε_l), rounded up; −log pmin for an infinite level."""
    p = setting.pmin
    least = Fraction(0) if low is None else 1 / exp_above(low)
    return log_above((1 - least * (1 - p)) / p)


def ldp_lower(setting: Setting, level: Level) -> Level:
    """ε₁ = log(pmin + e^ε (1−pmin)), rounded up."""
    return (
        None if level is None else log_above(setting.pmin + exp_above(level) * (1 - setting.pmin))
    )


def ldp_upper(setting: Setting, level: Level) -> Level:
    """ε₂ = −log(pmin + e^-ε (1−pmin)), rounded up."""
    least = Fraction(0) if level is None else 1 / exp_above(level)
    return log_above(1 / (setting.pmin + least * (1 - setting.pmin)))


def information_bound(low: Level, high: Level) -> Level:
    """C(l, h) = [(h−1) l log l + (1−l) h log h]/(h−l), rounded up; ε·tanh(ε/2) when symmetric."""
    if low == 0 or high == 0:
        return Fraction(0)
    if high is None or low is None or max(low, high) > LARGEST_LEVEL:
        return high
    l_hi, l_lo = (1 / v for v in exp_bounds(low))
    h_lo, h_hi = exp_bounds(high)
    top = (1 - l_lo) * h_hi * high - (h_lo - 1) * l_lo * low
    return min(high, top / (h_lo - l_hi))


def ldp_information(level: Level) -> Level:
    """sεE/Z − log Z with E = e^ε, s = (εE−E+1)/(E−1)², Z = 1+s(E−1), rounded up."""
    if level is None or level == 0 or level > LARGEST_LEVEL:
        return level
    low, high = exp_bounds(level)
    s_lo = (level * low - high + 1) / (high - 1) ** 2
    s_hi = (level * high - low + 1) / (low - 1) ** 2
    z_lo = 1 + s_lo * (low - 1)
    return min(level, s_hi * high * level / z_lo - log_bounds(z_lo)[0])


def exp_above(level: Fraction) -> Fraction:
    """A rational at or above e^level; raises :class:`Refused` for levels beyond the largest."""
    if level > LARGEST_LEVEL:
        raise Refused(f"levels above {LARGEST_LEVEL} nats are not turned into numbers")
    return exp_bounds(level)[1]


def log_above(ratio: Fraction) -> Fraction:
    """A rational at or above log(ratio), and at least 0."""
    return max(Fraction(0), log_bounds(ratio)[1])


def total(a: Level, b: Level) -> Level:
    """The sum of two levels."""
    return None if a is None or b is None else a + b


def largest(a: Level, b: Level) -> Level:
    """The larger of two levels."""
    return None if a is None or b is None else max(a, b)
