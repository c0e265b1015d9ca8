"""The cone that the columns of a private kernel lie in, in exact numbers, and what it implies.

A column k = K[:, y] of a kernel that satisfies notions of the likelihood family satisfies
μᵀk ≤ e^ε νᵀk for every pair and level they name. Here hypotheses are sparse rows of rationals and
e^ε is replaced by a rational at or above it, so that what holds on this cone holds on the true one.
The largest μᵀk/νᵀk over it comes in closed form (:class:`ClosedForm`), by knapsacks in rationals
(:class:`Knapsack`) or by linear programs that are not believed (:class:`ConeProgram`);
:func:`complete` makes a whole mechanism of the column that attains it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..certificate.shape import Sides, inner_factor, outer_factor, recognised
from ..errors import LevelError
from ..exact import Verdict, level_bounds, log_bounds
from ..linear.highs import Model
from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy.constraint import Distribution, Group
from ..privacy.notion import LikelihoodBound, PrivacyNotion

Column = list[Fraction]
Multipliers = list[tuple[NDArray[np.float64], NDArray[np.float64]]]

# Pairs of one group up to which they are listed for chains.
_MOST_LISTED = 10_000
_STEPS_PER_ROW = 20
_STEPS_OF_IPM = 200
# Bits that the smallest positive entry of a completed kernel has, at least.
_BITS = 160


@dataclass(frozen=True)
class ExactCone:
    """What notions ask of a column, for one prior.

    Attributes
    ----------
    notions : the notions asked, all of the likelihood family
    prior : the whole prior
    symbols : positions in the prior of the symbols that matter; hypotheses count among these
    demands : groups of pairs with exact levels
    """

    notions: tuple[LikelihoodBound, ...]
    prior: Prior
    symbols: tuple[int, ...]
    demands: tuple[Group, ...]

    @property
    def size(self) -> int:
        """Number of symbols that matter."""
        return len(self.symbols)

    def chained(self, mu: Distribution, nu: Distribution) -> Fraction | None:
        """The least sum of levels along a chain of named pairs from μ to ν; ``None`` without one.

        A bound on the level of (μ, ν), in exact numbers however large the levels are.
        """
        if mu.key not in self._chains:
            steps: dict[object, list[tuple[object, Fraction]]] = {}
            for (start, end), level in self.listed.items():
                steps.setdefault(start, []).append((end, level))
            least: dict[object, Fraction] = {}
            queue: list[tuple[Fraction, int, object]] = [(Fraction(0), 0, mu.key)]
            count = 0
            while queue:
                length, _, place = heappop(queue)
                if place in least:
                    continue
                least[place] = length
                for end, level in steps.get(place, ()):
                    count += 1
                    heappush(queue, (length + level, count, end))
            self._chains[mu.key] = least
        return self._chains[mu.key].get(nu.key)

    @cached_property
    def _chains(self) -> dict[object, dict[object, Fraction]]:
        return {}

    @cached_property
    def listed(self) -> dict[tuple[object, object], Fraction]:
        """The level of each pair that is named outright; only for groups of moderate size."""
        found: dict[tuple[object, object], Fraction] = {}
        for group in self.demands:
            if len(group.over) * len(group.under) > _MOST_LISTED:
                continue
            level = level_bounds(group.level)[1]
            for mu in group.over:
                for nu in group.under:
                    pair = (mu.key, nu.key)
                    found[pair] = min(found.get(pair, level), level)
        return found

    @cached_property
    def sides(self) -> Sides | None:
        """The two-sided cone that the demands amount to, ``None`` when they are of another kind."""
        part, whole = self._recognised
        return part if whole else None

    @cached_property
    def part(self) -> Sides | None:
        """The two-sided cone that some of the demands amount to: the cone lies inside it."""
        return self._recognised[0]

    @cached_property
    def _recognised(self) -> tuple[Sides | None, bool]:
        masses = tuple(self.prior.mass(x) for x in self.symbols)
        return recognised(self.demands, masses) if all(masses) else (None, False)


def make_cone(
    notions: Iterable[PrivacyNotion], prior: Prior, questions: Iterable[Group] = ()
) -> tuple[ExactCone, list[Group]]:
    """The cone of notions of the likelihood family, and questions about it.

    Symbols of zero mass that no hypothesis names are left out, and hypotheses renumbered. Raises
    :class:`LevelError` for notions outside the family.
    """
    checked: list[LikelihoodBound] = []
    for notion in notions:
        if not isinstance(notion, LikelihoodBound):
            raise LevelError(
                "source of a tight conversion",
                expected="notions that bound likelihood ratios",
                got=str(notion),
                remedy="leave out tight=True (--tight), which follows published results instead",
            )
        checked.append(notion)
    demands = [
        group
        for notion in checked
        for part in notion.constraints(prior).cone
        for group in part.groups()
    ]
    asked = list(questions)
    used = {int(x) for x in prior.support}
    for group in (*demands, *asked):
        used.update(x for h in (*group.over, *group.under) for x in h.support)
    symbols = tuple(sorted(used))
    if len(symbols) < len(prior):
        place = {x: i for i, x in enumerate(symbols)}
        demands = [_renumbered(g, place) for g in demands]
        asked = [_renumbered(g, place) for g in asked]
    return ExactCone(tuple(checked), prior, symbols, tuple(demands)), asked


def _renumbered(group: Group, place: dict[int, int]) -> Group:
    def moved(h: Distribution) -> Distribution:
        return Distribution(tuple(place[x] for x in h.support), h.masses, h.name)

    over, under = tuple(map(moved, group.over)), tuple(map(moved, group.under))
    return Group(over, under, group.level, group.scale, group.parameter)


# Closed forms and knapsacks


@dataclass(frozen=True)
class ClosedForm:
    """Suprema of likelihood ratios over a two-sided cone.

    For columns with l·q ≤ k ≤ h·q and max k ≤ r·min k (q = pᵀk), with p_x the mass of a symbol::

        k_x/q  is at most  M_x = min{h, (1 − l(1−p_x))/p_x, 1/(p_x + (1−p_x)/r)}
        k_x/q  is at least m_x = max{l, (1 − h(1−p_x))/p_x, 1/(p_x + (1−p_x) r), 0}
        k_x/k_x'  is at most  min{r, min{h, (1 − l(1−p_x))/p_x} / max{l, (1 − h(1−p_x'))/p_x'}}

    and each is attained. For the first two, give all other symbols one common value. For the third,
    k_x = M and k_x' = m at their own limits leave a common value between m and M for the rest: were
    it above M, then p_x'm + (1−p_x')M < 1 and m could not be at the limit that h sets; were it
    below m, then p_x M + (1−p_x)m > 1 and M could not be at the limit that l sets. If r cuts in,
    the column is moved towards the constant one until it does. The first two give the conversions
    of [GrosseID] Propositions 1 and 2 and of [SaeidianPMC] Propositions 1 and 3; the third is
    derived here.
    """

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
                found.append(level_bounds(self.sides.upper)[1])
            if spread is not None:
                found.append(_log(_spread_top(self.sides.masses[x], spread)))
            return min(found)
        if x is None and other is not None:
            return self._below(other, high, spread)
        assert x is not None
        assert other is not None
        top = _log(_heaviest(self.sides.masses[x], low))
        if self.sides.upper is not None:
            top = min(top, level_bounds(self.sides.upper)[1])
        bottom = self._below(other, high, None)
        candidates = [] if bottom is None else [top + bottom]
        if self.sides.ratio is not None:
            candidates.append(level_bounds(self.sides.ratio)[1])
        return min(candidates, default=None)

    def _below(self, x: int, high: Fraction | None, spread: Fraction | None) -> Fraction | None:
        """An upper bound on sup −log k_x."""
        p = self.sides.masses[x]
        found = [] if self.sides.lower is None else [level_bounds(self.sides.lower)[1]]
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


# Linear programs


@dataclass(frozen=True)
class _Answer:
    """Multipliers and column of one program; ``column`` is None when there is no optimum."""

    multipliers: Multipliers
    column: NDArray[np.float64] | None


@dataclass
class ConeProgram:
    """The programs of one cone, on HiGHS; one model for each ν.

    ::

        maximise μᵀk   subject to   νᵀk = 1,   k in the cone,   k ≥ 0

    The solver is not believed. Its multipliers, whatever they are, combine the demands of the cone
    into μ_x ≤ c_x with cᵀk ≥ μᵀk on the cone; in rationals the smallest r with c ≤ rν is then a
    bound. Where rounding leaves c_x > rν_x by a trace e_x, a second program bounds the sum of all
    entries by R νᵀk, and r + max e · R is the bound.
    """

    cone: ExactCone
    name = "linear program"
    _models: dict[object, Any] = field(default_factory=dict)
    _gauges: dict[object, Fraction | None] = field(default_factory=dict)

    def level(self, mu: Distribution, nu: Distribution) -> Fraction | None:
        """A proved upper bound on sup log μᵀk/νᵀk; ``None`` when infinite (or not proved)."""
        if mu.key == nu.key:
            return Fraction(0)
        target = self._dense(mu)
        answer = self._solve(target, nu)
        if answer.column is None:
            return None
        ratio = self._prove(target, nu, answer.multipliers)
        return None if ratio is None else max(Fraction(0), log_bounds(ratio)[1])

    def column(self, mu: Distribution, nu: Distribution) -> Column:
        """A column in the cone, up to the solver's rounding, that attains the supremum."""
        answer = self._solve(self._dense(mu), nu)
        if answer.column is None:
            return self._ray(mu, nu)
        return [Fraction(float(v)) for v in np.maximum(answer.column, 0.0)]

    def _ray(self, mu: Distribution, nu: Distribution) -> Column:
        """A column with νᵀk = 0 < μᵀk, from levels a little smaller so that rounding is harmless.

        The constant column stands in when there is none.
        """
        answer = self._run(self._dense(mu), np.ones(self.cone.size), nu.support, 1 - 1e-6)
        if answer.column is None or not (answer.column * self._floats(mu)).sum() > 0:
            return [Fraction(1)] * self.cone.size
        column = np.where(answer.column > 1e-12, answer.column, 0.0)
        column[list(nu.support)] = 0.0
        return [Fraction(float(v)) for v in column]

    def _dense(self, hypothesis: Distribution) -> Column:
        row = [Fraction(0)] * self.cone.size
        for x, m in zip(hypothesis.support, hypothesis.masses, strict=True):
            row[x] = m
        return row

    def _floats(self, hypothesis: Distribution) -> NDArray[np.float64]:
        return np.array([float(v) for v in self._dense(hypothesis)])

    def _solve(self, target: Column, nu: Distribution) -> _Answer:
        return self._run([*target], self._floats(nu), (), 1.0)

    def _run(
        self, target: Column, norm: NDArray[np.float64], zeros: tuple[int, ...], share: float
    ) -> _Answer:
        """Maximise target·k with norm·k = 1 and k zero where asked, levels scaled by ``share``."""
        key = (norm.tobytes(), zeros, share)
        if key not in self._models:
            self._models[key] = self._model(norm, zeros, share)
        model, columns = self._models[key]
        cost = np.zeros(columns)
        cost[: len(target)] = [float(v) for v in target]
        model.set_cost(cost)
        for solver in ("simplex", "ipm"):
            found = model.run(solver)
            if found.point is not None and found.duals is not None:
                return _Answer(self._split(found.duals[1:], share), found.point[: self.cone.size])
            if found.is_unbounded:
                break
        # Numbers too extreme for the solver: no answer, so no bound.
        return _Answer([], None)

    def _model(
        self, norm: NDArray[np.float64], zeros: tuple[int, ...], share: float
    ) -> tuple[Model, int]:
        from scipy import sparse

        n = self.cone.size
        auxiliaries = sum(not _single(g) for g in self.cone.demands)
        blocks = [sparse.csr_array(np.concatenate([norm, np.zeros(auxiliaries)])[None, :])]
        place = n
        for group in self.cone.demands:
            half = math.exp(-min(float(group.level) * share, 1200.0) / 2)
            over, under = self._rows(group.over, auxiliaries), self._rows(group.under, auxiliaries)
            if _single(group):
                blocks.append(over * half - under / half if half > 1e-150 else -under)
                continue
            top = sparse.csr_array(_unit(len(group.over), n + auxiliaries, place, -1.0))
            low = sparse.csr_array(_unit(len(group.under), n + auxiliaries, place, half))
            blocks += [over * half + top, low - under]
            place += 1
        matrix = sparse.vstack(blocks).tocsc()
        most = np.full(matrix.shape[1], np.inf)
        most[list(zeros)] = 0.0
        lower = np.full(matrix.shape[0], -np.inf)
        upper = np.zeros(matrix.shape[0])
        lower[0] = upper[0] = 1.0
        # Numbers too extreme for floats can make a solver go round in circles.
        limit = _STEPS_PER_ROW * sum(matrix.shape) + 1000
        model = Model(simplex_iteration_limit=limit, ipm_iteration_limit=_STEPS_OF_IPM)
        model.load(np.zeros(matrix.shape[1]), matrix, lower, upper, most=most)
        return model, matrix.shape[1]

    def _rows(self, hypotheses: tuple[Distribution, ...], auxiliaries: int) -> Any:
        from scipy import sparse

        rows = [i for i, h in enumerate(hypotheses) for _ in h.support]
        columns = [x for h in hypotheses for x in h.support]
        values = [float(m) for h in hypotheses for m in h.masses]
        shape = (len(hypotheses), self.cone.size + auxiliaries)
        return sparse.csr_array((values, (rows, columns)), shape=shape)

    def _split(self, duals: NDArray[np.float64], share: float) -> Multipliers:
        """Multipliers of the μ and of the ν of each group, only their proportions matter for ν."""
        duals = np.where(np.isfinite(duals), np.maximum(duals, 0.0), 0.0)
        found: Multipliers = []
        start = 0
        for group in self.cone.demands:
            half = math.exp(-min(float(group.level) * share, 1200.0) / 2)
            if _single(group):
                found.append((duals[start : start + 1] * half, np.ones(1)))
                start += 1
                continue
            a, b = len(group.over), len(group.under)
            found.append((duals[start : start + a] * half, duals[start + a : start + a + b]))
            start += a + b
        return found

    def _prove(self, target: Column, nu: Distribution, multipliers: Multipliers) -> Fraction | None:
        """A rational r with target·k ≤ r νᵀk on the cone, ``None`` when the numbers give none."""
        combined = self._combine(target, multipliers)
        ratio, excess = _cover(combined, nu)
        if excess == 0:
            return ratio
        gauge = self._gauge(nu)
        return None if gauge is None else ratio + excess * gauge

    def _combine(self, target: Column, multipliers: Multipliers) -> Column:
        """A row c with target·k ≤ c·k on the cone: the demands added with their multipliers."""
        combined = [*target]
        for group, (over, under) in zip(self.cone.demands, multipliers, strict=True):
            before, total = [*combined], Fraction(0)
            for mu, weight in zip(group.over, over, strict=True):
                if weight:
                    share = Fraction(float(weight))
                    total += share
                    for x, m in zip(mu.support, mu.masses, strict=True):
                        combined[x] -= share * m
            above = outer_factor(group.level)
            if not total or above is None:
                combined = before
                continue
            parts = [Fraction(float(v)) for v in under]
            whole = sum(parts, Fraction(0))
            if not whole:
                parts, whole = [Fraction(1)] * len(parts), Fraction(len(parts))
            scale = total * above / whole
            for nu, part in zip(group.under, parts, strict=True):
                if part:
                    for x, m in zip(nu.support, nu.masses, strict=True):
                        combined[x] += scale * part * m
        return combined

    def _gauge(self, nu: Distribution) -> Fraction | None:
        """A number R with Σ_x k_x ≤ R νᵀk on the cone, ``None`` when there is none."""
        if nu.key not in self._gauges:
            self._gauges[nu.key] = self._find_gauge(nu)
        return self._gauges[nu.key]

    def _find_gauge(self, nu: Distribution) -> Fraction | None:
        if len(nu.support) == self.cone.size:
            return 1 / min(nu.masses)
        ones = [Fraction(1)] * self.cone.size
        answer = self._solve(ones, nu)
        if answer.column is None:
            return None
        # With c ≤ rν + e: Σk ≤ c·k ≤ r νᵀk + e Σk.
        ratio, excess = _cover(self._combine(ones, answer.multipliers), nu)
        return ratio / (1 - excess) if excess < 1 else None


def _cover(combined: Column, nu: Distribution) -> tuple[Fraction, Fraction]:
    """The smallest r that covers c on the symbols of ν, and the largest entry of c elsewhere."""
    inside = dict(zip(nu.support, nu.masses, strict=True))
    ratio = max(max(combined[x] / m for x, m in inside.items()), Fraction(0))
    excess = max((c for x, c in enumerate(combined) if x not in inside), default=Fraction(0))
    return ratio, max(excess, Fraction(0))


def _single(group: Group) -> bool:
    return len(group.over) == 1 and len(group.under) == 1


def _unit(rows: int, columns: int, column: int, value: float) -> Any:
    from scipy import sparse

    return sparse.csr_array(
        (np.full(rows, value), (np.arange(rows), np.full(rows, column))), shape=(rows, columns)
    )


# From one column to a whole mechanism


def complete(column: Column, cone: ExactCone) -> Mechanism | None:
    """A mechanism that satisfies the notions of the cone exactly and has nearly this column.

    Its outputs are ``"witness"`` and ``"else"``. A column that a solver left a trace outside the
    cone is moved inside by adding a constant; ``None`` when no constant is enough.
    """
    scale = max(column)
    if scale <= 0:
        return None
    column = [v / scale for v in column]
    missing = _missing(column, cone)
    if missing is None:
        return None
    column = [(v + missing) / (1 + missing) for v in column]
    size = _room(column, cone)
    least = min(v for v in column if v > 0) * size
    bits = _BITS + max(0, least.denominator.bit_length() - least.numerator.bit_length())
    weights = [int(v * size * (1 << bits)) for v in column]
    return _mechanism(weights, bits, cone)


def _missing(column: Column, cone: ExactCone) -> Fraction | None:
    """The constant c for which column + c lies a little inside the cone."""
    added = Fraction(0)
    for group in cone.demands:
        inner = inner_factor(group.level)
        over = max(mu.dot(column) for mu in group.over)
        excess = over - inner * min(nu.dot(column) for nu in group.under)
        if excess > 0:
            if inner == 1:
                return None
            added = max(added, excess / (inner - 1))
    return added


def _mechanism(weights: list[int], bits: int, cone: ExactCone) -> Mechanism | None:
    one = 1 << bits
    # Symbols that no hypothesis names get the row of the first one that matters.
    place = dict(zip(cone.symbols, weights, strict=True))
    column = [place.get(x, weights[0]) for x in range(len(cone.prior))]
    rows = np.array([[w, one - w] for w in column], dtype=object)
    found = Mechanism.from_weights(rows, bits, cone.prior.labels, ("witness", "else"))
    checks = (notion.check(found, cone.prior).verdict for notion in cone.notions)
    return found if all(verdict is Verdict.YES for verdict in checks) else None


def _room(column: Column, cone: ExactCone) -> Fraction:
    """A size c such that 1 − c·k lies well inside the cone, at most a half."""
    size = Fraction(1, 2)
    for group in cone.demands:
        inner = inner_factor(group.level)
        spare = inner - 1
        most = max(nu.dot(column) for nu in group.under)
        loss = inner * most - min(mu.dot(column) for mu in group.over)
        if loss > 0 and spare > 0:
            size = min(size, spare / loss / 2)
    return size
