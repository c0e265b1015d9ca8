"""Tight levels in closed form: two-sided cones, asked about symbols and the prior.

For columns with l·q ≤ k ≤ h·q and max k ≤ r·min k (q = pᵀk), with p_x the mass of a symbol::

    k_x/q  is at most  M_x = min{h, (1 − l(1−p_x))/p_x, 1/(p_x + (1−p_x)/r)}
    k_x/q  is at least m_x = max{l, (1 − h(1−p_x))/p_x, 1/(p_x + (1−p_x) r), 0}
    k_x/k_x'  is at most  min{r, min{h, (1 − l(1−p_x))/p_x} / max{l, (1 − h(1−p_x'))/p_x'}}

and each is attained. For the first two, give all other symbols one common value. For the third,
k_x = M and k_x' = m at their own limits leave a common value between m and M for the rest: were it
above M, then p_x'm + (1−p_x')M < 1 and m could not be at the limit that h sets; were it below m,
then p_x M + (1−p_x)m > 1 and M could not be at the limit that l sets. If r cuts in, the column is
moved towards the constant one until it does. The first two give the conversions of [GrosseID]
Propositions 1 and 2 and of [SaeidianPMC] Propositions 1 and 3; the third is derived here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from ..certificate.shape import Sides
from ..exact import log_bounds
from ..privacy.constraint import Distribution

Column = list[Fraction]


@dataclass(frozen=True)
class ClosedForm:
    """Suprema of likelihood ratios over a two-sided cone."""

    sides: Sides
    name = "closed form"

    def knows(self, hypothesis: Distribution) -> bool:
        """Whether a hypothesis is a symbol or the prior."""
        return hypothesis.point is not None or hypothesis.masses == self.sides.masses

    def shortlist(self, hypotheses: tuple[Distribution, ...]) -> tuple[Distribution, ...]:
        """The hypotheses that can be extreme: the two rarest symbols, and the prior."""
        points = [h for h in hypotheses if h.point is not None and len(self.sides.masses) > 1]
        rest = [h for h in hypotheses if h not in points] if len(points) < len(hypotheses) else []
        rare: dict[int, Distribution] = {}
        for h in sorted(points, key=lambda h: self.sides.masses[h.support[0]]):
            rare.setdefault(h.support[0], h)
            if len(rare) == 2:
                break
        return (*rare.values(), *rest)

    def level(self, mu: Distribution, nu: Distribution) -> Fraction | None:
        """An upper bound on sup log μᵀk/νᵀk, tight up to 192 bits; ``None`` when infinite."""
        if mu.key == nu.key or len(self.sides.masses) == 1:
            return Fraction(0)
        x, other = self._symbol(mu), self._symbol(nu)
        low, high, spread = self.sides.factors()
        if x is not None and other is None:
            found = [_log(_heaviest(self.sides.masses[x], low))]
            if self.sides.upper is not None:
                found.append(self.sides.upper)
            if spread is not None:
                found.append(_log(_spread_top(self.sides.masses[x], spread)))
            return min(found)
        if x is None and other is not None:
            return self._below(other, high, spread)
        assert x is not None
        assert other is not None
        top = _log(_heaviest(self.sides.masses[x], low))
        if self.sides.upper is not None:
            top = min(top, self.sides.upper)
        bottom = self._below(other, high, None)
        candidates = [] if bottom is None else [top + bottom]
        if self.sides.ratio is not None:
            candidates.append(self.sides.ratio)
        return min(candidates, default=None)

    def _below(self, x: int, high: Fraction | None, spread: Fraction | None) -> Fraction | None:
        """An upper bound on sup −log k_x."""
        p = self.sides.masses[x]
        found = [] if self.sides.lower is None else [self.sides.lower]
        if high is not None and _lightest(p, high) > 0:
            found.append(_log(1 / _lightest(p, high)))
        if spread is not None:
            found.append(_log(p + (1 - p) * spread))
        return min(found, default=None)

    def column(self, mu: Distribution, nu: Distribution) -> Column:
        """A column just inside the cone at which the supremum is attained, up to the slack."""
        low, high, spread = self.sides.factors(inner=True)
        masses = self.sides.masses
        n = len(masses)
        x, other = self._symbol(mu), self._symbol(nu)
        if mu.key == nu.key or n == 1:
            return [Fraction(1)] * n
        if x is not None and other is None:
            tops = [_heaviest(masses[x], low)]
            tops += [] if high is None else [high]
            tops += [] if spread is None else [_spread_top(masses[x], spread)]
            return self._one_against_all(x, min(tops))
        if x is None and other is not None:
            bottoms = [low, Fraction(0)]
            bottoms += [] if high is None else [_lightest(masses[other], high)]
            if spread is not None:
                bottoms.append(1 / (masses[other] + (1 - masses[other]) * spread))
            return self._one_against_all(other, max(bottoms))
        assert x is not None
        assert other is not None
        top = _heaviest(masses[x], low) if high is None else min(high, _heaviest(masses[x], low))
        bottom = max(low, Fraction(0) if high is None else _lightest(masses[other], high))
        rest = 1 - masses[x] - masses[other]
        common = (1 - masses[x] * top - masses[other] * bottom) / rest if rest else Fraction(1)
        column = [common] * n
        column[x], column[other] = top, bottom
        if spread is not None and top > spread * bottom:
            share = (spread - 1) / ((top - 1) - spread * (bottom - 1))
            column = [1 + share * (v - 1) for v in column]
        return column

    def _one_against_all(self, x: int, value: Fraction) -> Column:
        p = self.sides.masses[x]
        column = [(1 - p * value) / (1 - p)] * len(self.sides.masses)
        column[x] = value
        return column

    def _symbol(self, hypothesis: Distribution) -> int | None:
        return None if hypothesis.masses == self.sides.masses else hypothesis.point


def _heaviest(p: Fraction, low: Fraction) -> Fraction:
    """The largest lift of a symbol when all others have lift ``low``."""
    return (1 - low * (1 - p)) / p


def _lightest(p: Fraction, high: Fraction) -> Fraction:
    """The smallest lift of a symbol when all others have lift ``high``; may be negative."""
    return (1 - high * (1 - p)) / p


def _spread_top(p: Fraction, spread: Fraction) -> Fraction:
    """The largest lift of a symbol that is ``spread`` times as likely as every other."""
    return 1 / (p + (1 - p) / spread)


def _log(ratio: Fraction) -> Fraction:
    return max(Fraction(0), log_bounds(ratio)[1])


@dataclass(frozen=True)
class Knapsack:
    """Suprema of any likelihood ratio over a cone that bounds the lift, or the ratio of entries.

    By Dinkelbach's iteration in rationals: t is the supremum when no column of the cone makes
    (μ − tν)ᵀk positive. That maximum is a continuous knapsack for bounds on the lift (fill the
    symbols with the most (μ − tν)_x/p_x first), and a choice of sign for bounds on the ratio.
    """

    sides: Sides
    name = "knapsack"

    @property
    def applies(self) -> bool:
        """Whether the cone bounds the lift only, or the ratio only."""
        lift = self.sides.lower is not None or self.sides.upper is not None
        return not (lift and self.sides.ratio is not None)

    def level(self, mu: Distribution, nu: Distribution) -> Fraction | None:
        """An upper bound on sup log μᵀk/νᵀk, tight up to 192 bits; ``None`` when infinite."""
        ratio, _ = self._supremum(mu, nu, inner=False)
        return None if ratio is None else _log(ratio)

    def column(self, mu: Distribution, nu: Distribution) -> Column:
        """A column just inside the cone at which the supremum is attained, up to the slack."""
        return self._supremum(mu, nu, inner=True)[1]

    def _supremum(
        self, mu: Distribution, nu: Distribution, *, inner: bool
    ) -> tuple[Fraction | None, Column]:
        low, high, spread = self.sides.factors(inner=inner)
        best: Callable[[Column], Column]
        if spread is not None:
            wide = spread

            def best(w: Column) -> Column:
                return [wide if v > 0 else Fraction(1) for v in w]
        else:

            def best(w: Column) -> Column:
                return self._fill(w, low, high)

        column = [Fraction(1)] * len(self.sides.masses)
        ratio = Fraction(1)
        while True:
            w = [Fraction(0)] * len(column)
            for x, m in zip(mu.support, mu.masses, strict=True):
                w[x] += m
            for x, m in zip(nu.support, nu.masses, strict=True):
                w[x] -= ratio * m
            better = best(w)
            if sum((a * b for a, b in zip(w, better, strict=True)), Fraction(0)) <= 0:
                return ratio, column
            column = better
            likelihood = nu.dot(column)
            if likelihood == 0:
                return None, column
            ratio = mu.dot(column) / likelihood

    def _fill(self, w: Column, low: Fraction, high: Fraction | None) -> Column:
        masses = self.sides.masses
        column = [low] * len(w)
        left = 1 - low
        for x in sorted(range(len(w)), key=lambda x: w[x] / masses[x], reverse=True):
            room = left if high is None else min(left, (high - low) * masses[x])
            column[x] += room / masses[x]
            left -= room
            if left == 0:
                break
        return column
