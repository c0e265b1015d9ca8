"""Budgets: limits on a sum over outcomes, where notions of the likelihood family limit each.

A budget asks Σ_y φ(K[:,y]) ≤ limit for a convex, positively homogeneous φ. Kernels that keep it
mix, and merging outcomes never raises the sum, as φ(a + b) ≤ φ(a) + φ(b).

===========  ============================================  =========================================
budget       φ(k)                                          level in nats
===========  ============================================  =========================================
Peak         max_x k_x                                     log Σ_y max_x K[x,y]
Trough       −min_x k_x                                    −log Σ_y min_x K[x,y]
Excess       max(μᵀk − e^ε νᵀk, 0), limit δ                least ε that keeps the limit δ
Information  Σ_ac (m_acᵀk) log((m_acᵀk/p_ac)/(m_cᵀk/p_c))  I(A; Y | C)
===========  ============================================  =========================================
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..exact import Verdict, ball_ends, compare_with_exp, dot, float_at_least, log_upper
from ..mechanism import Mechanism
from .hypotheses import Hypotheses

_PRECISION = 128
_MAX_PRECISION = 4096


@dataclass(frozen=True)
class Spent:
    """Exact outcome of one budget on one kernel.

    Attributes
    ----------
    verdict : whether the budget is kept
    level : measured level in nats, rounded up; ``inf`` when nothing finite keeps the budget
    output : position of the outcome that takes the largest share
    over, under : what the level compares
    """

    verdict: Verdict
    level: float
    output: int
    over: str
    under: str


class Budget(ABC):
    """A limit on Σ_y φ(K[:,y]) at a level in nats."""

    epsilon: float

    @abstractmethod
    def spent(self, mechanism: Mechanism) -> Spent:
        """Decide the budget on the exact numbers of a kernel."""

    @property
    def is_vacuous(self) -> bool:
        """Whether the level is infinite."""
        return self.epsilon == math.inf

    def _decide(self, ratio: Fraction | None, slack: Fraction) -> tuple[Verdict, float]:
        """Verdict on ratio ≤ e^ε, with the ratio known up to a factor, and the level."""
        if ratio is None:
            return (Verdict.YES if self.is_vacuous else Verdict.NO), math.inf
        level = max(0.0, log_upper(ratio * slack)) if ratio > 0 else 0.0
        if self.is_vacuous:
            return Verdict.YES, level
        verdict = compare_with_exp(ratio * slack, Fraction(self.epsilon))
        if verdict is not Verdict.YES and slack != 1:
            lowest = compare_with_exp(ratio / slack, Fraction(self.epsilon))
            verdict = Verdict.NO if lowest is Verdict.NO else Verdict.UNDECIDED
        return verdict, level


def _slack(mechanism: Mechanism) -> Fraction:
    """Factor up to which ratios are known when rows do not sum to exactly one."""
    return (1 + mechanism.row_error) / (1 - mechanism.row_error)


@dataclass(frozen=True)
class Peak(Budget):
    """Σ_y max_x K[x,y] ≤ e^ε over some symbols: maximal leakage."""

    points: Hypotheses
    epsilon: float

    def spent(self, mechanism: Mechanism) -> Spent:
        """Compare an exact sum of maxima with e^ε."""
        rows = self.points.likelihoods(mechanism)
        top = rows.max(axis=0)
        ratio = Fraction(int(top.astype(object).sum()), 1 << mechanism.bits)
        verdict, level = self._decide(ratio, _slack(mechanism))
        y = int(np.argmax(top - rows.min(axis=0)))
        return Spent(verdict, level, y, "the sum of column maxima", "one")


@dataclass(frozen=True)
class Trough(Budget):
    """Σ_y min_x K[x,y] ≥ e^−ε over some symbols: maximal cost leakage."""

    points: Hypotheses
    epsilon: float

    def spent(self, mechanism: Mechanism) -> Spent:
        """Compare an exact sum of minima with e^−ε."""
        rows = self.points.likelihoods(mechanism)
        low = rows.min(axis=0)
        total = int(low.astype(object).sum())
        ratio = Fraction(1 << mechanism.bits, total) if total else None
        verdict, level = self._decide(ratio, _slack(mechanism))
        y = int(np.argmax(rows.max(axis=0) - low))
        return Spent(verdict, level, y, "one", "the sum of column minima")


@dataclass(frozen=True)
class Excess(Budget):
    """Σ_y max((μᵀK)_y − e^ε (νᵀK)_y, 0) ≤ δ for every matched pair (μ, ν)."""

    over: Hypotheses
    under: Hypotheses
    epsilon: float
    delta: float

    def spent(self, mechanism: Mechanism) -> Spent:
        """The least factor that keeps δ is an exact rational; compare it with e^ε."""
        slack = _slack(mechanism)
        # Masses known up to a factor: asked for a little less and a little more than δ.
        least: Spent | None = None
        verdicts = {Verdict.YES}
        scale = 1 << mechanism.bits
        over, under = self.over.likelihoods(mechanism), self.under.likelihoods(mechanism)
        for pair in range(len(self.over)):
            a = [Fraction(int(v), scale * self.over.total) for v in over[pair]]
            b = [Fraction(int(v), scale * self.under.total) for v in under[pair]]
            factor = least_factor(a, b, Fraction(self.delta) / slack)
            verdict, level = self._decide(factor, slack)
            if slack != 1 and verdict is Verdict.NO:
                loose = least_factor(a, b, Fraction(self.delta) * slack)
                if self._decide(loose, slack)[0] is not Verdict.NO:
                    verdict = Verdict.UNDECIDED
            verdicts.add(verdict)
            if least is None or level > least.level:
                y = max(range(len(a)), key=lambda i: a[i] - b[i])
                names = self.over.names[pair], self.under.names[pair]
                least = Spent(verdict, level, y, *names)
        if least is None:
            return Spent(Verdict.YES, 0.0, 0, "", "")
        order = (Verdict.NO, Verdict.UNDECIDED, Verdict.YES)
        overall = next(v for v in order if v in verdicts)
        return Spent(overall, least.level, least.output, least.over, least.under)


def least_factor(a: list[Fraction], b: list[Fraction], delta: Fraction) -> Fraction | None:
    """The least F ≥ 1 with Σ max(a_y − F b_y, 0) ≤ δ, exact; ``None`` when there is none."""
    order = sorted(
        (y for y in range(len(a)) if a[y] > b[y]),
        key=lambda y: (b[y] > 0, -a[y] / b[y] if b[y] else Fraction(0)),
    )
    above, below = Fraction(0), Fraction(0)
    for place, y in enumerate(order):
        above += a[y]
        below += b[y]
        # With F down to the next ratio, exactly these outcomes exceed.
        following = order[place + 1] if place + 1 < len(order) else None
        lower = Fraction(1) if following is None else _ratio(a[following], b[following])
        if lower is None:
            continue
        if above - lower * below > delta:
            return None if below == 0 else max((above - delta) / below, Fraction(1))
    return Fraction(1)


def _ratio(a: Fraction, b: Fraction) -> Fraction | None:
    return a / b if b else None


@dataclass(frozen=True)
class Information(Budget):
    """I(A; Y | C) ≤ ε for a pair of features of the secret, under one prior.

    Attributes
    ----------
    joint : ``joint[r][x]`` = P(X = x, A = a, C = c), one row per pair (a, c), exact
    groups : for each row, the number of its c
    """

    joint: tuple[tuple[Fraction, ...], ...]
    groups: tuple[int, ...]
    epsilon: float
    name: str = "the secret"

    @cached_property
    def masses(self) -> list[Fraction]:
        """P(a, c) of each row."""
        return [sum(row, Fraction(0)) for row in self.joint]

    @cached_property
    def group_masses(self) -> list[Fraction]:
        """P(c) of each group."""
        totals = [Fraction(0)] * (max(self.groups) + 1)
        for group, mass in zip(self.groups, self.masses, strict=True):
            totals[group] += mass
        return totals

    def spent(self, mechanism: Mechanism) -> Spent:
        """Enclose the sum of logarithms in ball arithmetic, ever tighter until it decides."""
        from flint import arb, ctx, fmpq

        table = self._likelihoods(mechanism)
        margin = _margin(mechanism)
        together = [[Fraction(0)] * mechanism.shape[1] for _ in self.group_masses]
        for row, group in zip(table, self.groups, strict=True):
            together[group] = [u + v for u, v in zip(together[group], row, strict=True)]
        terms = [
            (y, value, value * self.group_masses[group] / (mass * together[group][y]))
            for row, mass, group in zip(table, self.masses, self.groups, strict=True)
            for y, value in enumerate(row)
            if value
        ]
        precision = _PRECISION
        while True:
            with ctx.workprec(precision):
                shares = [arb(0)] * mechanism.shape[1]
                for y, value, ratio in terms:
                    log = arb(fmpq(ratio.numerator, ratio.denominator)).log()
                    shares[y] += arb(fmpq(value.numerator, value.denominator)) * log
                total = sum(shares, arb(0))
                ends = ball_ends(total)
                assert ends is not None  # logarithms of positive rationals are finite
                low, high = ends
                y = max(range(len(shares)), key=lambda i: float(shares[i].mid()))
            low, high = max(low, Fraction(0)) - margin, max(high, Fraction(0)) + margin
            verdict = Verdict.UNDECIDED
            if self.is_vacuous or high <= Fraction(self.epsilon):
                verdict = Verdict.YES
            elif low > Fraction(self.epsilon):
                verdict = Verdict.NO
            if verdict is not Verdict.UNDECIDED or margin or precision >= _MAX_PRECISION:
                break
            precision *= 4
        level = 0.0 if self._is_independent(table) else float_at_least(high)
        if level == 0 and not margin:
            verdict = Verdict.YES
        return Spent(verdict, level, y, f"what is told about {self.name}", "nothing")

    def _is_independent(self, table: list[list[Fraction]]) -> bool:
        """Whether the information is exactly zero."""
        first: dict[int, tuple[list[Fraction], Fraction]] = {}
        for row, mass, group in zip(table, self.masses, self.groups, strict=True):
            other, weight = first.setdefault(group, (row, mass))
            if any(v * weight != u * mass for v, u in zip(row, other, strict=True)):
                return False
        return True

    def _likelihoods(self, mechanism: Mechanism) -> list[list[Fraction]]:
        """P(a, c, y), exact, with rows of the kernel divided by their sums."""
        sums = [int(s) for s in mechanism.weights.astype(object).sum(axis=1)]
        scaled = [[mass / s for mass, s in zip(row, sums, strict=True)] for row in self.joint]
        common = math.lcm(*(v.denominator for row in scaled for v in row))
        return [
            [
                Fraction(value, common)
                for value in dot([int(v * common) for v in row], mechanism.weights)
            ]
            for row in scaled
        ]


def _margin(mechanism: Mechanism) -> Fraction:
    """How far the information may be off when rows sum to one only up to d: generous."""
    d = mechanism.row_error
    if not d:
        return Fraction(0)
    n, m = mechanism.shape
    return d * Fraction(8 * (2 + math.log(n * m) + max(0.0, -math.log(float(d)))))


def information_of(budget: Information, kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of each outcome in I(A; Y | C), ``(M,)`` in nats, in floating point."""
    joint = np.array(budget.joint, dtype=float)
    table = joint @ kernel
    shares = np.zeros(kernel.shape[1])
    groups = np.array(budget.groups)
    for c in range(len(budget.group_masses)):
        part = table[groups == c]
        mass = joint[groups == c].sum(axis=1, keepdims=True)
        whole = part.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.log(part / mass) - np.log(whole / mass.sum())
            shares += np.where(part > 0, part * log, 0.0).sum(axis=0)
    return shares
