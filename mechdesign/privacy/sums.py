"""Constraints on a sum over outcomes, where notions of the likelihood family limit each outcome.

A constraint asks Σ_y φ(K[:,y]) ≤ limit for a convex, positively homogeneous φ. Kernels that keep it
mix, and merging outcomes never raises the sum, as φ(a + b) ≤ φ(a) + φ(b).

=================  ============================================  ===============================
constraint         φ(k)                                          level in nats
=================  ============================================  ===============================
ColumnExtremes     max_w ⟨q_w, k⟩, over symbols max_x k_x        log Σ_y max_x K[x,y]
… of sign −1       −min_w ⟨q_w, k⟩, over symbols −min_x k_x      −log Σ_y min_x K[x,y]
HockeyStick        max(μᵀk − e^ε νᵀk, 0), limit δ                least ε that keeps the limit δ
InformationLimit   Σ_ac (m_acᵀk) log((m_acᵀk/p_ac)/(m_cᵀk/p_c))  I(A; Y | C)
=================  ============================================  ===============================

Each brings what design and proof need and nobody else has to know: its epigraph for solvers, the
linear minorants of φ that dual variables stand for, and its exact value on a kernel. φ is the
largest of its minorants, φ(k) ≥ ⟨w, k⟩, so that for τ ≥ 0 and minorants w_y every feasible kernel
satisfies Σ_y ⟨τ w_y, k_y⟩ ≤ τ · limit, whatever the solver's dual variables were.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from ..exact import (
    Verdict,
    ball_ends,
    common_integers,
    compare_with_exp,
    dot,
    exp_upper,
    float_at_least,
    level_bounds,
)
from ..mechanism import Mechanism
from ..prior import Prior
from .constraint import (
    Array,
    Evaluation,
    Hypotheses,
    compares_nothing,
    decided,
    gravest,
    inner_factor,
)

#: Dual variables of one constraint on a sum. The first array holds non-negative multipliers, which
#: bounds may set to zero where they are noise; into the others only the constraint itself looks.
SumDuals = tuple[Array, ...]

#: Likelihood ratios above this are designed for as if they were this, at a loss of its inverse.
LARGEST_FACTOR = 1e7
_PRECISION = 128
_MAX_PRECISION = 4096
_UNIT = 2.0**-52
# Solved for with this relative room, so that rounding leaves the constraint satisfied.
_ROOM = 1e-12
# Masses below which dual variables, accurate to 1e-10 or so, say little per unit of mass.
_TINY_MASS = 1e-6
_LEAST_LIKELIHOOD = 1e-200
# A δ of which this share or less is left is used up.
_USED_UP = 1e-6


@dataclass(frozen=True)
class SumLimits:
    """Between what a level lies where likelihoods lie between limits.

    Attributes
    ----------
    lower, upper : of the level in nats
    output : position of the outcome that adds most to what is compared
    over, under : what the level compares
    """

    lower: float
    upper: float
    output: int
    over: str
    under: str


@dataclass(frozen=True, eq=False)
class ConicRows:
    """Rows whose values lie in a product of cones of one kind.

    Attributes
    ----------
    kind : ``"exponential"``, three rows (x, y, z) each with y e^(x/y) ≤ z; ``"second-order"``,
        ``dimension`` rows each with v_0 ≥ ‖(v_1, …)‖; ``"power"``, three rows each with
        x^α y^(1−α) ≥ |z|
    matrix : sparse, over the kernel entries (output by output) and the variables of the epigraph
    dimension : rows of each cone
    alpha : exponent of power cones
    """

    kind: Literal["exponential", "second-order", "power"]
    matrix: Any
    dimension: int = 3
    alpha: float = 0.5


@dataclass(frozen=True, eq=False)
class Epigraph:
    """Variables and rows that stand for Σ_y φ(k_y) ≤ limit.

    Attributes
    ----------
    size : number of variables v of its own
    rows, right : sparse rows over (K, v), the kernel output by output, with rows @ (K, v) ≤ right
    cones : further rows that lie in cones
    is_signed : whether v ≥ 0
    """

    size: int
    rows: Any
    right: Array
    cones: tuple[ConicRows, ...] = ()
    is_signed: bool = True


@dataclass(frozen=True, eq=False)
class Minorants:
    """Σ_y ⟨w_y, k_y⟩ ≤ limit for every kernel that satisfies the constraint.

    Attributes
    ----------
    limit : right-hand side, up to 16 units in its last place
    columns : ``(n, M)``, w_y for each output y
    size : ``(n, M)``, sum of the absolute terms in ``columns``, for allowances on rounding
    """

    limit: float
    columns: Array
    size: Array


@dataclass(frozen=True)
class SumPrice:
    """By how much the optimum rises with the limit of a sum; see :func:`mechdesign.binding`."""

    over: str
    under: str
    slack: float
    price: float
    per_nat: float


class SumConstraint(ABC):
    """A limit on Σ_y φ(K[:,y]), at a level ``epsilon`` in nats, for symbols of one prior.

    A new one gives the five methods below; design, audit, certificates, files and comparisons need
    nothing else. Attributes named in :attr:`cones` say which solvers can be used.
    """

    #: How many matrices its dual variables are; ``None`` for any number.
    dual_matrices: ClassVar[int | None] = None

    epsilon: float
    #: Kinds of cones in the epigraph beside linear rows.
    cones: frozenset[str] = frozenset()

    @abstractmethod
    def evaluate(self, mechanism: Mechanism) -> Evaluation:
        """Decide the constraint on the exact numbers of a kernel."""

    @abstractmethod
    def epigraph(self, symbols: int, outputs: int) -> Epigraph:
        """Rows and cones for a solver, with room for the rounding of its answer."""

    @abstractmethod
    def duals(self, rows: Array, cones: Sequence[Array], kernel: Array) -> SumDuals:
        """What :meth:`minorants` takes, from dual variables of the rows and cones of the epigraph.

        Those of the rows are non-negative; those of cones are of the shape (cones, dimension).
        ``kernel`` is the solver's, for the places where dual variables are noise.
        """

    @abstractmethod
    def minorants(self, duals: SumDuals) -> Minorants:
        """True minorants from dual variables of any quality; better ones prove more."""

    @abstractmethod
    def prices(self, duals: SumDuals, mechanism: Mechanism) -> list[SumPrice]:
        """By how much the optimum rises with the limit, from dual variables of an optimum."""

    @property
    def compared(self) -> tuple[Hypotheses, Hypotheses] | None:
        """Hypotheses whose likelihoods the level rises with, and those that it falls with; ``None``
        where it depends on likelihoods in other ways.
        """
        return None

    def limits(self, over: tuple[Array, Array], under: tuple[Array, Array]) -> list[SumLimits]:
        """Limits on the level, of each pair where pairs are compared, from lower and upper limits
        ``(H, M)`` on the likelihoods of :attr:`compared`.
        """
        raise NotImplementedError(f"{type(self).__name__} compares no likelihoods one by one")

    @property
    def largest(self) -> float:
        """The largest level that a kernel can have, in nats."""
        return math.inf

    @property
    def is_idle(self) -> bool:
        """Whether it compares nothing, or allows whatever it compares."""
        return False

    @property
    def is_vacuous(self) -> bool:
        """Whether the level is infinite."""
        return self.epsilon == math.inf

    @property
    def is_implied(self) -> bool:
        """Whether every kernel keeps it, so that a design need not ask for it."""
        return self.is_vacuous


def _is_at_least(level: float, count: int) -> bool:
    """Whether ``count`` ≤ e^level, exactly."""
    if level == math.inf:
        return True
    return compare_with_exp(Fraction(count), level) is Verdict.YES


def first_duals(duals: SumDuals) -> Array:
    """The first array of dual variables, finite and non-negative."""
    return np.where(np.isfinite(duals[0]), np.maximum(duals[0], 0.0), 0.0)


def repeated(matrix: Any, outputs: int) -> Any:
    """A sparse matrix over one column of the kernel, repeated for every output."""
    from scipy import sparse

    return sparse.block_diag([matrix] * outputs).tocsr()


@dataclass(frozen=True)
class ColumnExtremes(SumConstraint):
    """Σ_y max_w ⟨q_w, k_y⟩ ≤ e^ε, or with ``sign`` −1 Σ_y min_w ⟨q_w, k_y⟩ ≥ e^−ε.

    Over symbols it is maximal leakage, or maximal cost leakage; with ``scales`` the q_w are the
    distributions times these numbers, the least of which is one, so that a constant kernel has the
    sum one.
    """

    dual_matrices: ClassVar = 1

    over: Hypotheses
    epsilon: float
    sign: int = 1
    scales: tuple[Fraction, ...] | None = None
    name: str = "column maxima"

    @cached_property
    def _exact_scales(self) -> tuple[tuple[int, ...], int]:
        """The scales in integers over a common one."""
        whole, one = common_integers(self.scales or [Fraction(1)] * len(self.over))
        return tuple(whole), one

    @property
    def _rows(self) -> Any:
        """The q_w, a sparse ``(W, N)`` matrix."""
        from scipy import sparse

        scales = [float(scale) for scale in self.scales or [1] * len(self.over)]
        return (sparse.diags_array(scales) @ self.over.matrix).tocsr()

    @property
    def _most(self) -> float:
        """No sum of column maxima exceeds the number of rows."""
        return len(self.over) if self.sign > 0 else math.inf

    @property
    def is_idle(self) -> bool:
        """Whether there is one symbol, or one row is the extreme one for every symbol."""
        if self.over.indices is not None:
            return compares_nothing(self.over, self.over, is_matched=False)
        rows = zip(self.over.rows_of_integers(), self._exact_scales[0], strict=True)
        scaled = [[self.sign * mass * scale for mass in row] for row, scale in rows]
        return list(map(max, zip(*scaled, strict=True))) in scaled

    @property
    def is_implied(self) -> bool:
        """Whether e^ε is at least the number of rows, the sum where all is told."""
        return self.is_vacuous or (self.sign > 0 and _is_at_least(self.epsilon, len(self.over)))

    @property
    def largest(self) -> float:
        """That of a kernel that reports each symbol as it is."""
        return math.log(self._most)

    @property
    def compared(self) -> tuple[Hypotheses, Hypotheses] | None:
        """The symbols, twice."""
        return (self.over, self.over) if self.scales is None else None

    @property
    def _names(self) -> tuple[str, str]:
        total = f"the sum of {self.name}"
        return (total, "one") if self.sign > 0 else ("one", total)

    def evaluate(self, mechanism: Mechanism) -> Evaluation:
        """Compare an exact sum of extremes with e^ε or e^−ε."""
        whole, one = self._exact_scales
        rows = self.over.likelihoods(mechanism)
        if self.scales is not None:
            rows = rows.astype(object) * np.array(whole, dtype=object)[:, None]
        top, low = rows.max(axis=0), rows.min(axis=0)
        total = int((top if self.sign > 0 else low).astype(object).sum())
        ratio: Fraction | None = Fraction(total, one * self.over.total * mechanism.denominator)
        if self.sign < 0:
            ratio = 1 / ratio if ratio else None
        verdict, level = decided(ratio, mechanism.slack, self.epsilon)
        return Evaluation(verdict, level, int(np.argmax(top - low)), *self._names)

    def limits(self, over: tuple[Array, Array], under: tuple[Array, Array]) -> list[SumLimits]:
        """From the sums of the extremes of lower and of upper limits."""
        if self.sign > 0:
            least, most = (part.max(axis=0) for part in over)
            y = int((least - over[1].min(axis=0)).argmax())
            first, last = (math.log(max(1.0, math.fsum(part))) for part in (least, most))
        else:
            least, most = (part.min(axis=0) for part in under)
            y = int((under[0].max(axis=0) - most).argmax())
            first, last = (_cost(math.fsum(part)) for part in (most, least))
        return [SumLimits(first, last, y, *self._names)]

    def epigraph(self, symbols: int, outputs: int) -> Epigraph:
        """⟨q_w, k⟩ ≤ t_y, Σ t ≤ e^ε, or the reverse; more than the most only costs digits."""
        from scipy import sparse

        count, sign = len(self.over), self.sign
        own = sparse.kron(sparse.eye_array(outputs), np.ones((count, 1)))
        rows = sparse.hstack([sign * repeated(self._rows, outputs), -sign * own])
        no_kernel = sparse.csr_array((1, symbols * outputs))
        total = sparse.hstack([no_kernel, sign * np.ones((1, outputs))])
        limit = sign * min(inner_factor(self.epsilon), self._most) ** sign
        right = np.append(np.zeros(count * outputs), limit)
        return Epigraph(outputs, sparse.vstack([rows, total]), right)

    def duals(self, rows: Array, cones: Sequence[Array], kernel: Array) -> SumDuals:
        """Those of each row at each output."""
        return (rows[:-1].reshape(-1, len(self.over)).T,)

    def _price(self, duals: SumDuals) -> float:
        totals = first_duals(duals).sum(axis=0)
        return float(totals.max() if self.sign > 0 else totals.min())

    def minorants(self, duals: SumDuals) -> Minorants:
        """⟨Σ w q, k⟩ ≤ τ max ⟨q, k⟩ for w ≥ 0 with Σ w ≤ τ, and the reverse for the least."""
        first = first_duals(duals)
        tau = self._price(duals) * (1 + self.sign * _UNIT * len(first))
        factor = exp_upper(self.epsilon)
        limit = min(factor, self._most) if self.sign > 0 else -math.nextafter(1 / factor, 0.0)
        columns = self._rows.T @ first
        # Rows are rounded twice, by a distribution and by its scale.
        return Minorants(tau * limit, self.sign * columns, 2 * columns)

    def prices(self, duals: SumDuals, mechanism: Mechanism) -> list[SumPrice]:
        """One price, of the limit e^ε or e^−ε."""
        price = self._price(duals)
        return [_limit_price(self, mechanism, price, price * math.exp(self.sign * self.epsilon))]


def most_maxima(prior: Prior, most: int) -> SumConstraint:
    """Σ_y max_x K[x,y] ≤ most, which every kernel with at most so many outputs satisfies."""
    level = math.nextafter(math.nextafter(math.log(most), math.inf), math.inf)
    return ColumnExtremes(Hypotheses.points(prior), level)


def _cost(common: float) -> float:
    return max(0.0, -math.log(common)) if common > 0 else math.inf


def _limit_price(
    constraint: SumConstraint, mechanism: Mechanism, price: float, per_nat: float
) -> SumPrice:
    found = constraint.evaluate(mechanism)
    slack = max(constraint.epsilon - found.level, 0.0)
    return SumPrice(found.over, found.under, slack, price, per_nat)


@dataclass(frozen=True)
class HockeyStick(SumConstraint):
    """Σ_y max((μᵀK)_y − e^ε (νᵀK)_y, 0) ≤ δ for every matched pair (μ, ν)."""

    dual_matrices: ClassVar = 1

    over: Hypotheses
    under: Hypotheses
    epsilon: float
    delta: float

    @property
    def is_idle(self) -> bool:
        """Whether δ allows everything, or hypotheses are compared with themselves alone."""
        return self.delta >= 1 or compares_nothing(self.over, self.under, is_matched=True)

    def evaluate(self, mechanism: Mechanism) -> Evaluation:
        """The least factor that keeps δ is an exact rational; compare it with e^ε."""
        slack, scale, delta = mechanism.slack, mechanism.denominator, Fraction(self.delta)
        over, under = self.over.likelihoods(mechanism), self.under.likelihoods(mechanism)
        found = []
        for pair in range(len(self.over)):
            a = [Fraction(int(v), scale * self.over.total) for v in over[pair]]
            b = [Fraction(int(v), scale * self.under.total) for v in under[pair]]
            # Masses known up to a factor: asked for a little less and a little more than δ.
            verdict, level = decided(least_factor(a, b, delta / slack), slack, self.epsilon)
            if slack != 1 and verdict is Verdict.NO:
                loose = decided(least_factor(a, b, delta * slack), slack, self.epsilon)[0]
                verdict = Verdict.NO if loose is Verdict.NO else Verdict.UNDECIDED
            y = max(range(len(a)), key=lambda i: a[i] - b[i])
            names = self.over.names[pair], self.under.names[pair]
            found.append(Evaluation(verdict, level, y, *names))
        return gravest(found)

    @property
    def compared(self) -> tuple[Hypotheses, Hypotheses]:
        """Both sides of the pairs."""
        return self.over, self.under

    def limits(self, over: tuple[Array, Array], under: tuple[Array, Array]) -> list[SumLimits]:
        """Of each pair: likelihoods of the one side low and of the other high, and the reverse."""
        found = []
        for k, names in enumerate(zip(self.over.names, self.under.names, strict=True)):
            ends = [least_level(over[i][k], under[1 - i][k], self.delta) for i in range(2)]
            y = int((over[0][k] - under[1][k]).argmax())
            found.append(SumLimits(ends[0], ends[1], y, *names))
        return found

    def epigraph(self, symbols: int, outputs: int) -> Epigraph:
        """μᵀk − e^ε νᵀk ≤ s_y, Σ s ≤ δ, for each pair."""
        from scipy import sparse

        factor = min(inner_factor(self.epsilon), LARGEST_FACTOR)
        pairs = (self.over.matrix - factor * self.under.matrix).tocsr()
        count = pairs.shape[0]
        own = sparse.eye_array(count * outputs)
        rows = sparse.hstack([repeated(pairs, outputs), -own])
        no_kernel = sparse.csr_array((count, symbols * outputs))
        sums = sparse.kron(np.ones((1, outputs)), sparse.eye_array(count))
        right = np.zeros(count * outputs), np.full(count, self.delta * (1 - _ROOM))
        total = sparse.hstack([no_kernel, sums])
        return Epigraph(count * outputs, sparse.vstack([rows, total]), np.concatenate(right))

    def duals(self, rows: Array, cones: Sequence[Array], kernel: Array) -> SumDuals:
        """Those of each pair at each output."""
        count = len(self.over)
        return (rows[:-count].reshape(-1, count).T,)

    def minorants(self, duals: SumDuals) -> Minorants:
        """⟨s (μ − e^ε ν), k⟩ ≤ τ max((μ − e^ε ν)ᵀk, 0) for 0 ≤ s ≤ τ."""
        first = first_duals(duals)
        factor = exp_upper(self.epsilon)
        if math.isinf(factor):
            first = np.zeros_like(first)
            factor = 1.0
        first = first * min(1.0, inner_factor(self.epsilon) / factor, LARGEST_FACTOR / factor)
        over = self.over.matrix.T @ first
        under = factor * (self.under.matrix.T @ first)
        return Minorants(math.fsum(first.max(axis=1)) * self.delta, over - under, over + under)

    def prices(self, duals: SumDuals, mechanism: Mechanism) -> list[SumPrice]:
        """The price of δ for each pair that has one."""
        shares = first_duals(duals)
        over: Array = self.over.matrix @ mechanism.kernel
        under: Array = self.under.matrix @ mechanism.kernel
        factor = exp_upper(self.epsilon)
        found = []
        for i in np.flatnonzero(shares.any(axis=1)).tolist():
            # Where all of δ is used on what ν rules out, no level is too small: δ is what binds.
            used = float(np.maximum(over[i] - factor * under[i], 0.0).sum())
            used_up = used >= self.delta * (1 - _USED_UP)
            slack = 0.0 if used_up else self.epsilon - least_level(over[i], under[i], self.delta)
            found.append(
                SumPrice(
                    self.over.names[i],
                    self.under.names[i],
                    max(slack, 0.0),
                    float(shares[i].max()),
                    factor * float(shares[i] @ under[i]),
                )
            )
        return found


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


def least_level(a: Array, b: Array, delta: float) -> float:
    """The least ε ≥ 0 with Σ max(a − e^ε b, 0) ≤ δ, in floating point."""
    live = a > b
    a, b = a[live], b[live]

    def excess(factor: float) -> float:
        return float(np.maximum(a - factor * b, 0.0).sum())

    if excess(1.0) <= delta:
        return 0.0
    if a[b == 0].sum() > delta:
        return math.inf
    # Newton from the left on a convex decreasing piecewise linear function ends in finitely many
    # steps at its root.
    factor = 1.0
    for _ in range(len(a) + 2):
        over = a - factor * b > 0
        slope, value = float(b[over].sum()), excess(factor) - delta
        if value <= 0 or slope == 0:
            break
        factor += value / slope
    return math.log(factor)


@dataclass(frozen=True)
class InformationLimit(SumConstraint):
    """I(A; Y | C) ≤ ε for a pair of features of the secret, under one prior.

    Attributes
    ----------
    joint : ``joint[r][x]`` = P(X = x, A = a, C = c), one row per pair (a, c), exact
    groups : for each row, the number of its c
    """

    dual_matrices: ClassVar = 2

    joint: tuple[tuple[Fraction, ...], ...]
    groups: tuple[int, ...]
    epsilon: float
    name: str = "the secret"
    cones = frozenset({"exponential"})

    @property
    def is_implied(self) -> bool:
        """Whether ε is at least the log of how many values the feature has, given the other."""
        return _is_at_least(self.epsilon, int(np.bincount(self.groups).max()))

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

    @cached_property
    def _tables(self) -> tuple[Array, Array, Array, Array, Array]:
        """P(x|a,c), P(x|c), P(a,c), P(a,c)/P(c) and the number of c, for each row."""
        joint = np.array(self.joint, dtype=float)
        groups = np.array(self.groups)
        weights = joint.sum(axis=1)
        totals = np.bincount(groups, weights)
        common = np.stack([joint[groups == c].sum(axis=0) for c in range(len(totals))])
        whole = common[groups] / totals[groups][:, None]
        return joint / weights[:, None], whole, weights, weights / totals[groups], groups

    def shares(self, kernel: Array) -> Array:
        """Share of each outcome in I(A; Y | C), ``(M,)`` in nats, in floating point."""
        given, whole, weights, _, _ = self._tables
        own, common = given @ kernel, whole @ kernel
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(own > 0, own * (np.log(own) - np.log(common)), 0.0)
        return np.asarray(weights @ each)

    def evaluate(self, mechanism: Mechanism) -> Evaluation:
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
            if self.is_vacuous or high <= level_bounds(self.epsilon)[0]:
                verdict = Verdict.YES
            elif low > level_bounds(self.epsilon)[1]:
                verdict = Verdict.NO
            if verdict is not Verdict.UNDECIDED or margin or precision >= _MAX_PRECISION:
                break
            precision *= 4
        level = 0.0 if self._is_independent(table) else float_at_least(high)
        if level == 0 and not margin:
            verdict = Verdict.YES
        return Evaluation(verdict, level, y, f"what is told about {self.name}", "nothing")

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

    def epigraph(self, symbols: int, outputs: int) -> Epigraph:
        """l_a log(l_a/l_c) ≤ e_ay, Σ p e ≤ ε, with l_a = P(y|a,c) and l_c = P(y|c).

        Rows of a cone (x, y, z) with y e^(x/y) ≤ z: x = −e, y = l_a, z = l_c.
        """
        from scipy import sparse

        given, whole, weights, _, _ = self._tables
        count = len(weights)
        own = np.vstack([-np.eye(count), np.zeros((2 * count, count))])
        stacked = sparse.hstack(
            [
                repeated(np.vstack([0 * given, given, whole]), outputs),
                sparse.kron(sparse.eye_array(outputs), own),
            ]
        )
        order = np.arange(3 * count * outputs).reshape(outputs, 3, count).transpose(0, 2, 1)
        no_kernel = sparse.csr_array((1, symbols * outputs))
        total = sparse.hstack([no_kernel, np.tile(weights, outputs)[None, :]])
        cone = ConicRows("exponential", stacked.tocsr()[order.ravel()])
        limit = np.array([self.epsilon * (1 - _ROOM)])
        return Epigraph(count * outputs, total, limit, (cone,), is_signed=False)

    def duals(self, rows: Array, cones: Sequence[Array], kernel: Array) -> SumDuals:
        """τ, and log r of the minorants τ p_a log r_a, ``(rows, M)``."""
        given, whole, weights, shares, groups = self._tables
        tau, z = float(rows[0]), cones[0].reshape(-1, len(weights), 3)
        logs = np.zeros((len(weights), len(z)))
        if tau > 0:
            together = np.zeros_like(z[:, :, 2])
            for c in set(self.groups):
                together[:, groups == c] = z[:, groups == c, 2].sum(axis=1, keepdims=True)
            logs = ((-z[:, :, 1] / weights - together / (weights / shares)) / tau).T
        # On rows of tiny mass those are noise over that mass: there, what the kernel's ratios say.
        near = np.log(np.maximum(given @ kernel, _LEAST_LIKELIHOOD)) - np.log(
            np.maximum(whole @ kernel, _LEAST_LIKELIHOOD)
        )
        return rows[:1].reshape(1, 1), np.where((weights < _TINY_MASS)[:, None], near, logs)

    def minorants(self, duals: SumDuals) -> Minorants:
        """Σ p_a log(r_a) l_a ≤ Σ p_a l_a log(l_a/l_c) for every k just when Σ (p_a/p_c) r_a ≤ 1."""
        tau = float(first_duals(duals).ravel()[0])
        given, _, weights, shares, groups = self._tables
        logs = np.clip(np.where(np.isfinite(duals[1]), duals[1], 0.0), -600.0, 600.0)
        for c in set(self.groups):
            part = logs[groups == c]
            top = part.max(axis=0)
            total = np.log((shares[groups == c][:, None] * np.exp(part - top)).sum(axis=0)) + top
            logs[groups == c] = part - total - 1e-14
        scaled = tau * weights[:, None]
        return Minorants(
            tau * self.epsilon,
            given.T @ (scaled * logs),
            given.T @ (scaled * np.abs(logs)),
        )

    def prices(self, duals: SumDuals, mechanism: Mechanism) -> list[SumPrice]:
        """One price, of the limit ε."""
        price = float(first_duals(duals).ravel()[0])
        return [_limit_price(self, mechanism, price, price)]


def _margin(mechanism: Mechanism) -> Fraction:
    """How far the information may be off when rows sum to one only up to d: generous."""
    d = mechanism.row_error
    if not d:
        return Fraction(0)
    n, m = mechanism.shape
    return d * Fraction(8 * (2 + math.log(n * m) + max(0.0, -math.log(float(d)))))
