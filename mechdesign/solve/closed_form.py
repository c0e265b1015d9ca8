"""Closed forms: exact up to rounding, O(NM), tried first.

For linear utilities each returns the kernel and the dual variables that prove it optimal. For
sub-convex ones there is one idea: where the posteriors that are allowed fill a simplex around the
prior, there is one way to write the prior as a mixture of its vertices, and by convexity no other
mixture has a larger mean of any convex function.

Notation: p prior, u gains, q = pᵀK, l = e^-ε_l, h = e^ε_u, and ū_y = Σ_x p_x u_xy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..certificate.shape import (
    AT_LOWER_SIDE,
    AT_UPPER_SIDE,
    REVEAL_ALL,
    REVEAL_NOTHING,
    kernel_of_sides,
    simplex_of_sides,
)
from ..privacy.constraint import Rounding
from ..privacy.rows import PairRow
from ..program.duals import Candidate, Duals
from ..program.program import LinearProgram, Program, SublinearProgram, TwoSided
from .method import LINEAR, SUBLINEAR, Method

Array = NDArray[np.float64]
Places = NDArray[np.intp]

# Conditions of a closed form that hold up to this share of what they compare are taken to hold.
_ROUNDING = 1e-13


class Unconstrained(Method):
    """No bound asks anything: every symbol goes to its best output."""

    name = "unconstrained"
    features = LINEAR
    reason = "no bound asks anything, so each symbol is sent to its best output"

    def condition(self, program: LinearProgram) -> str | None:
        """Applies with one symbol, or without any finite level."""
        if len(program.cone) and program.shape[0] > 1:
            return "there are privacy bounds to satisfy"
        return None

    def solve(self, program: LinearProgram) -> Candidate:
        """K[x, argmax_y u_xy] = 1; price of x: p_x max_y u_xy."""
        kernel = np.zeros(program.shape)
        kernel[np.arange(program.shape[0]), program.gains.argmax(axis=1)] = 1.0
        duals = Duals(program.objective.max(axis=1), program.cone.no_duals(program.shape[1]))
        return Candidate(kernel, duals, "closed form")


def _is_constant(program: LinearProgram) -> bool:
    return program.sides is not None and program.sides.is_constant


class Constant(Method):
    """A level of zero that ties every symbol to the others: nothing may be revealed."""

    name = "constant"
    features = LINEAR
    reason = (
        "a level that is zero to working precision leaves only kernels with equal rows; the best "
        "single output wins"
    )

    def condition(self, program: LinearProgram) -> str | None:
        """Applies when some bound of level 0 has all point masses on a side."""
        return None if _is_constant(program) else "every level is above zero"

    def solve(self, program: LinearProgram) -> Candidate:
        """All mass on argmax_y ū_y.

        Price of x: p_x times the best ū, which the bound turns into the optimum because a column
        can only be a multiple of 1.
        """
        best = program.constant_value
        prices = program.prior.probabilities * best
        return Candidate(program.constant_kernel, Duals(prices), "closed form")


class _SimplexOfGains(Method):
    """Bounds on the lift under which posteriors fill a simplex, for linear utilities."""

    case: ClassVar[str]
    otherwise: ClassVar[str]

    def condition(self, program: LinearProgram) -> str | None:
        """Applies to two-sided cones, one side of which implies all others."""
        sides = program.sides
        assert sides is not None
        return None if simplex_of_sides(sides, program.prior) == self.case else self.otherwise


class HighPrivacyPML(_SimplexOfGains):
    """PML with e^ε (1 − pmin) ≤ 1: posteriors fill a simplex."""

    name = "pml-high-privacy"
    features = frozenset({"linear", "upper lift", "lift", "lift and ratio"})
    reason = (
        "e^ε(1 − pmin) ≤ 1: the posteriors that PML allows fill a simplex, so each symbol has one "
        "extreme posterior and goes to the output where that posterior has the largest value"
    )
    source = "GrosseID Corollary 4, SaeidianPMC Corollary 5"

    case = AT_UPPER_SIDE
    otherwise = (
        "there is no upper bound on the lift, e^ε (1 − pmin) is above 1, or another bound is "
        "stricter than what PML implies"
    )

    def solve(self, program: LinearProgram) -> Candidate:
        """K = h·1qᵀ − (h−1)·1{y = y*(x)} with y*(x) = argmax_y h ū_y − (h−1) u_xy.

        The extreme posterior of symbol j is h·p − (h−1)·δ_j: the outcome under which j is *least*
        likely. Prices: λ_j = p_j (h ḡ − g_j)/(h − 1), with g_j the value of that posterior.
        """
        sides = program.sides
        assert sides is not None
        h = sides.upper
        return _simplex(program, h, h - 1, "closed form (simplex of posteriors)")


class AnyPMC(_SimplexOfGains):
    """PMC at any level: posteriors fill a simplex."""

    name = "pmc"
    features = frozenset({"linear", "lower lift", "lift", "lift and ratio"})
    reason = (
        "a lower bound on the lift alone: the allowed posteriors fill a simplex, so each symbol "
        "has one extreme posterior and goes to the output where it has the largest value"
    )

    case = AT_LOWER_SIDE
    otherwise = (
        "there is no lower bound on the lift, its level is zero, or an upper bound or an LDP level "
        "is stricter than what PMC implies"
    )

    def solve(self, program: LinearProgram) -> Candidate:
        """K = l·1qᵀ + (1−l)·1{y = y*(x)} with y*(x) = argmax_y l ū_y + (1−l) u_xy.

        The extreme posterior of symbol j is l·p + (1−l)·δ_j. Prices: λ_j = p_j (g_j − l ḡ)/(1−l).
        """
        sides = program.sides
        assert sides is not None
        return _simplex(
            program, sides.lower, sides.lower - 1, "closed form (simplex of posteriors)"
        )


def _simplex(program: LinearProgram, base: float, step: float, solver: str) -> Candidate:
    """Vertices base·p − step·δ_j: PML with (h, h−1), PMC with (l, l−1)."""
    p, u = program.prior.probabilities, program.gains
    values = base * program.objective.sum(axis=0)[None, :] - step * u
    best = values.argmax(axis=1)
    sent = np.zeros(program.shape)
    sent[np.arange(len(p)), best] = 1.0
    q = p @ sent
    kernel = base * q[None, :] - step * sent
    g = values.max(axis=1)
    prices = p * ((base * (p @ g) - g) / step)
    return Candidate(np.maximum(kernel, 0.0), Duals(prices), solver)


class SymmetricHamming(Method):
    """Uniform prior and a utility that only tells right from wrong."""

    name = "symmetric"
    features = LINEAR - {"general"}
    reason = (
        "uniform prior, and every wrong output has the same gain: by symmetry one column shape "
        "serves all, with the largest diagonal that the bounds allow (randomised response)"
    )
    source = "Kairouz2016 for LDP"

    def condition(self, program: LinearProgram) -> str | None:
        """Applies to two-sided cones, a uniform prior and gains a·I + b with a > 0."""
        n, m = program.shape
        if not program.prior.is_uniform:
            return "the prior is not uniform"
        if n != m or n < 2:
            return "there are not as many outputs as symbols"
        if len(np.unique(program.columns([0]))) > 2:
            return "gains tell more than right from wrong"
        off = program.gains[~np.eye(n, dtype=bool)]
        diagonal = np.diag(program.gains)
        if np.ptp(off) > 0 or np.ptp(diagonal) > 0 or diagonal[0] <= off[0]:
            return "gains tell more than right from wrong"
        return None

    def solve(self, program: LinearProgram) -> Candidate:
        """Diagonal a = min(1, h/n, 1 − (n−1) l/n, r/(r+n−1)), the rest equal."""
        sides = program.sides
        assert sides is not None
        n = program.shape[0]
        diagonal = min(1.0, sides.upper / n, 1 - (n - 1) * sides.lower / n)
        if sides.ratio < math.inf:
            diagonal = min(diagonal, 1 / (1 + (n - 1) / sides.ratio))
        rest = (1 - diagonal) / (n - 1)
        kernel = np.full((n, n), rest)
        np.fill_diagonal(kernel, diagonal)
        value = float((program.objective * kernel).sum())
        return Candidate(kernel, Duals(np.full(n, value / n)), "closed form (symmetry)")


class Binary(Method):
    """Two symbols: a column is a point of an interval, an optimum uses its two ends."""

    name = "binary"
    features = LINEAR
    reason = "two symbols: columns form a cone with two edges, and each edge takes its best output"
    source = "GrosseID Example 1"

    def condition(self, program: LinearProgram) -> str | None:
        """Applies to every list of bounds on two symbols."""
        n = program.shape[0]
        return None if n == 2 else f"there are {n} symbols, not two"

    def solve(self, program: LinearProgram) -> Candidate:
        """Edges (1, t) and (s, 1) of the cone, 0 ≤ s, t ≤ 1; masses solve the row sums.

        Multipliers: on each edge one pair of hypotheses is tight; the residual of an output is a
        non-negative combination of the two tight inequalities.
        """
        edges = _find_edges(program, Rounding.INSIDE)
        s, t = edges[1].other, edges[0].other
        det = 1 - s * t
        if det <= 0:
            duals = Duals(program.prior.probabilities * program.constant_value)
            return Candidate(program.constant_kernel, duals, "closed form")
        rays = np.array([[1.0, t], [s, 1.0]])
        masses = np.array([(1 - s) / det, (1 - t) / det])
        values = rays @ program.objective
        best = values.argmax(axis=1)
        kernel = np.zeros(program.shape)
        for ray, mass, y in zip(rays, masses, best, strict=True):
            kernel[:, y] += mass * ray
        g = values.max(axis=1)
        prices = np.array([(g[0] - t * g[1]) / det, (g[1] - s * g[0]) / det])
        return Candidate(kernel, _price_edges(program, edges, prices), "closed form (two edges)")


@dataclass
class _Edge:
    """One edge of a cone in the plane: 1 on its own axis, ``other`` on the other one.

    ``tight`` is the pair of hypotheses of number ``part`` that is met with equality on it.
    """

    axis: int
    normal: Array
    other: float = 0.0
    part: int = -1
    tight: PairRow | None = None

    def tighten(self, part: int, pair: PairRow) -> None:
        """Take in one pair if it cuts the edge back."""
        inequality = pair.floats()
        mine, others = float(inequality[self.axis]), float(inequality[1 - self.axis])
        if mine <= 0 or others >= 0:
            return
        least = min(1.0, mine / -others)
        if least > self.other:
            self.other, self.part, self.tight, self.normal = least, part, pair, inequality


def _find_edges(program: Program, rounding: Rounding) -> tuple[_Edge, _Edge]:
    """Both edges of the cone for two symbols."""
    edges = _Edge(0, np.array([0.0, -1.0])), _Edge(1, np.array([-1.0, 0.0]))
    for number, part in enumerate(program.cone.parts):
        for pair in part.pairs(rounding):
            for edge in edges:
                edge.tighten(number, pair)
    return edges


def _two_edges(program: Program, rounding: Rounding) -> Array:
    """The kernel on the two edges, ``(2, 2)``; one constant output where they coincide."""
    edges = _find_edges(program, rounding)
    s, t = edges[1].other, edges[0].other
    det = 1 - s * t
    if det <= 0:
        return np.ones((2, 1))
    first, second = (1 - s) / det, (1 - t) / det
    return np.array([[first, s * second], [t * first, second]])


def _price_edges(program: LinearProgram, edges: tuple[_Edge, _Edge], prices: Array) -> Duals:
    """The residual of every output as a non-negative combination of the two tight inequalities."""
    duals = Duals(prices, program.cone.no_duals(program.shape[1]))
    assert duals.multipliers is not None
    residual = program.objective - prices[:, None]
    # Scaled to entries of at most one, so that large factors stay finite.
    sizes = [float(np.abs(edge.normal).max()) for edge in edges]
    basis = np.array([edge.normal / size for edge, size in zip(edges, sizes, strict=True)]).T
    if abs(basis[0, 0] * basis[1, 1] - basis[0, 1] * basis[1, 0]) < 1e-300:
        return duals
    weights = np.maximum(np.linalg.solve(basis, residual), 0.0)
    for edge, size, scaled in zip(edges, sizes, weights, strict=True):
        if edge.tight is not None:
            part = program.cone.parts[edge.part]
            part.add(duals.multipliers[edge.part], edge.tight, scaled / size)
    return duals


# Accuracy: each output is the right one for at most one symbol


class Recognition(Method):
    """Accuracy under any prior, where a relaxation that treats outputs one by one is attained.

    Gains b_x + a_x·1{y = y(x)} with a ≥ 0, no output right for two symbols: accuracy, weighted
    accuracy, accuracy over a list of outputs. With c_x = p_x a_x what is at stake is
    Σ_x c_x K[x, y(x)], and only the symbols of largest stake are ever told apart.
    """

    name = "recognition"
    features = frozenset({"linear", "upper lift", "lift", "ratio"})
    reason = (
        "each output is right for one symbol at most: the symbols of largest stake are told apart "
        "as far as the bounds allow, and all others are treated alike"
    )
    source = "Kairouz2016 for LDP with a uniform prior"

    def condition(self, program: LinearProgram) -> str | None:
        """Applies to LDP, and to bounds on the lift while the other symbols have enough mass."""
        sides = program.sides
        assert sides is not None
        if sides.is_constant:
            return "a level of zero leaves nothing to tell apart"
        task = _Task.of(program)
        if task is None:
            return "some output gains something for two symbols, or a symbol gains at two outputs"
        if sides.has_lift_sides and _under_lift(task, program.prior.probabilities, sides) is None:
            return "the symbols that are not told apart have too little mass to hide the others"
        return None

    def solve(self, program: LinearProgram) -> Candidate:
        """LDP: randomised response on the k symbols of largest stake, k by the largest value

        r (c_1 + … + c_k)/(r − 1 + k); any other symbol sends each of the k outputs equally often.
        Bounds on the lift: see :func:`_under_lift`.
        """
        task, sides, p = _Task.of(program), program.sides, program.prior.probabilities
        assert task is not None
        assert sides is not None
        if sides.has_lift_sides:
            plan = _under_lift(task, p, sides)
            assert plan is not None
        else:
            plan = _under_ratio(task, sides.ratio)
        kernel = np.zeros(program.shape)
        kernel[:, task.right[plan.used]] = plan.rows
        base = p * program.gains.min(axis=1)
        return Candidate(kernel, Duals(plan.prices + base), "closed form (recognition)")


@dataclass(frozen=True, eq=False)
class _Task:
    """What is at stake for each symbol, and which output is right for it (-1 for none)."""

    stakes: Array
    right: Places

    @classmethod
    def of(cls, program: LinearProgram) -> _Task | None:
        """The stakes of a program, or ``None`` when gains are of another kind."""
        least, count = program.extremes[0], 0
        for _, block in program.blocks():
            count += int(np.count_nonzero(block > least[:, None]))
            if count > min(program.shape):
                return None
        if not count:
            return None
        gains = program.gains
        above = gains > least[:, None]
        rows, columns = np.nonzero(above)
        if len(set(rows.tolist())) < len(rows) or len(set(columns.tolist())) < len(rows):
            return None
        n = len(gains)
        stakes, right = np.zeros(n), np.full(n, -1)
        stakes[rows] = program.prior.probabilities[rows] * (gains[rows, columns] - least[rows])
        right[rows] = columns
        return cls(stakes, right)


@dataclass(frozen=True, eq=False)
class _Plan:
    """Symbols whose outputs are used, the ``(n, k)`` kernel on those outputs, and prices."""

    used: Places
    rows: Array
    prices: Array


def _under_ratio(task: _Task, ratio: float) -> _Plan:
    """Columns with max k ≤ r·min k.

    The prices are λ_x = max(0, (c_x − Λ/r)/(1 − 1/r)), with Λ their sum: every column then pays
    at most nothing, whether its symbol is told apart or not.
    """
    c = task.stakes
    order = np.argsort(-c, kind="stable")
    counts = np.arange(1, len(c) + 1)
    # Only outputs that are right for some symbol exist.
    values = (np.cumsum(c[order]) / (1 + (counts - 1) / ratio))[: np.count_nonzero(c)]
    k = int(values.argmax()) + 1
    used = order[:k]
    right = 1 / (1 + (k - 1) / ratio)
    rows = np.full((len(c), k), 1 / k)
    rows[used] = right / ratio
    rows[used, np.arange(k)] = right
    prices = np.maximum((c - values[k - 1] / ratio) / (1 - 1 / ratio), 0.0)
    return _Plan(used, rows, prices)


def _under_lift(task: _Task, p: Array, sides: TwoSided) -> _Plan | None:
    """Columns with l·q ≤ k_x ≤ h·q, q = pᵀk; ``None`` where the relaxation is not attained.

    An output of mass q is right with probability at most s·q, s_x = min(h, (1 − l(1−p_x))/p_x),
    and at most 1 − l(1 − q). The relaxation that asks nothing else fills q from the largest
    c_x s_x: outputs are full at q = (1−l)/(s−l), at most one is filled in part. Where c_x s_x
    falls below the largest l c_x, that symbol's output takes what is left instead.

    With τ the slope where filling stops, δ_x = (c_x s_x − τ)/(p_x (s_x − l)) for the full outputs
    and 0 for the others, the prices λ_x = p_x (τ − l Σ p δ + δ_x) prove the relaxation's value to
    be a bound. It is attained when the symbols without a full output can bear what outputs need.
    """
    low, high, c = sides.lower, sides.upper, task.stakes
    n, largest = len(c), int(c.argmax())
    alone = (1 - low * (1 - p)) / p
    most = np.minimum(high, alone)
    slope, room = c * most, (1 - low) / (most - low)
    order = np.argsort(-slope, kind="stable")
    order = order[: np.count_nonzero(slope > low * c[largest])]
    filled = np.cumsum(room[order])
    k = int(np.searchsorted(filled, 1.0, side="right"))
    full = order[:k]
    q = room[full]
    rest = max(1.0 - math.fsum(q), 0.0)
    last, tau = None, low * c[largest]
    if k < len(order):
        last, tau = int(order[k]), slope[order[k]]
    elif k == n:
        tau = slope[order[-1]]
    elif largest not in full:
        return None
    delta = np.zeros(n)
    delta[full] = (slope[full] - tau) / (p[full] * (most[full] - low))
    prices = p * (tau - low * math.fsum(p * delta) + delta)

    others = np.ones(n, dtype=bool)
    others[full] = False
    hidden, told = math.fsum(p[others]), math.fsum(p[full])
    # What full outputs need, per unit of their mass, from all symbols without a full output.
    share = 1 - p[full] * high - low * (told - p[full])
    need = q * np.where(alone[full] <= high, low * hidden, share)
    if last is None:
        more = np.where(full == largest, rest, 0.0)
        q, need = q + more, need + more * (1 - low * told)
    rows = np.empty((n, k))
    rows[full] = low * q
    rows[full, np.arange(k)] = 1 - low * (1 - q)
    if k == n:
        return _Plan(full, rows, prices)
    if last is None:
        rows[others] = need / hidden
        return _Plan(full, rows, prices) if _inside(rows[others][0], q, sides) else None

    # The last output is right for a symbol that is told apart in part; the remaining ones are
    # alike, so that two rows share what the full outputs need.
    others[last] = False
    column = np.full((n, 1), low * rest)
    column[last] = right = most[last] * rest
    mass = math.fsum(p[others])
    if mass == 0:
        rows[last] = need / p[last]
        inside = bool(alone[last] <= high) and _inside(rows[last], q, sides)
    else:
        if alone[last] > high:
            column[others] = rest * (1 - low * told - p[last] * high) / mass
        sums = np.array([1 - right, 1 - column[others][0, 0]])
        two = _shared(need, q, np.array([p[last], mass]), sums, sides)
        if two is None:
            return None
        rows[last], rows[others] = two
        inside = _inside(column[others][0], np.array([rest]), sides)
    return _Plan(np.append(full, last), np.hstack([rows, column]), prices) if inside else None


def _shared(need: Array, q: Array, masses: Array, sums: Array, sides: TwoSided) -> Array | None:
    """Two rows K with Σ masses·K = need and given sums, inside l·q ≤ K ≤ h·q, ``(2, k)``.

    The row of less mass goes a common share of the way from its lower to its upper ends, and the
    other row follows: the other way round, a small mass would blow up what rounding leaves.
    """
    light = int(masses.argmin())
    small, large = masses[light], masses[1 - light]
    lower = np.maximum(sides.lower * q, (need - sides.upper * large * q) / small)
    upper = np.minimum(sides.upper * q, (need - sides.lower * large * q) / small)
    span = math.fsum(upper) - math.fsum(lower)
    part = (sums[light] - math.fsum(lower)) / span if span > 0 else 0.0
    if (lower > upper + _ROUNDING * q).any() or not -_ROUNDING <= part <= 1 + _ROUNDING:
        return None
    rows = np.empty((2, len(q)))
    rows[light] = lower + min(max(part, 0.0), 1.0) * (upper - lower)
    rows[1 - light] = (need - small * rows[light]) / large
    return rows if _inside(rows[1 - light], q, sides) else None


def _inside(entries: Array, q: Array, sides: TwoSided) -> bool:
    """Whether entries of columns of mass q keep the bounds on the lift, up to rounding."""
    slack = _ROUNDING * q
    inside = (entries >= sides.lower * q - slack) & (entries <= sides.upper * q + slack)
    return bool(inside.all())


# Sub-convex utilities: posteriors that fill a simplex

EVERY = "optimal for every sub-convex utility at once"
ALMOST = (
    "optimal for every sub-convex utility but for its rounding, which is too coarse for the rarest "
    "outcomes; design() has the gap for one utility"
)


def simplex_case(program: SublinearProgram, rounding: Rounding) -> str | None:
    """Name of the method whose simplex the allowed posteriors fill; ``None`` where they do not."""
    if program.sums or program.unexpressed:
        return None
    if len(program.prior) == 2 and len(program.cone):
        return TwoEdges.name
    sides = program.cone.two_sided(rounding)
    if len(program.prior) == 1:
        return RevealAll.name
    return None if sides is None else simplex_of_sides(sides, program.prior)


def simplex_kernel(program: SublinearProgram, rounding: Rounding) -> Array | None:
    """The kernel on the vertices of the posteriors; ``None`` where these fill no simplex."""
    case, n = simplex_case(program, rounding), len(program.prior)
    if case is None:
        return None
    if case == TwoEdges.name:
        return _two_edges(program, rounding)
    sides = program.cone.two_sided(rounding)
    return np.eye(n) if sides is None else kernel_of_sides(sides, program.prior)


class _Simplex(Method):
    """A case in which the posteriors fill a simplex."""

    features = SUBLINEAR
    scope = EVERY
    otherwise: ClassVar[str]

    def condition(self, program: SublinearProgram) -> str | None:
        """Applies when its case is the one at hand."""
        return None if simplex_case(program, Rounding.INSIDE) == self.name else self.otherwise

    def solve(self, program: SublinearProgram) -> Candidate:
        """The vertices, each with the mass that makes their mean the prior."""
        kernel = simplex_kernel(program, Rounding.INSIDE)
        assert kernel is not None
        return Candidate(kernel, Duals(), "closed form (simplex of posteriors)")


class RevealAll(_Simplex):
    """No bound asks anything of any kernel."""

    name = REVEAL_ALL
    reason = "the bounds ask nothing that a kernel could break, so every symbol is revealed"
    otherwise = "there are privacy bounds to satisfy"


class Nothing(_Simplex):
    """A level of zero: one output."""

    name = REVEAL_NOTHING
    reason = "a level that is zero to working precision leaves only kernels with equal rows"
    otherwise = "every level is above zero"


class TwoEdges(_Simplex):
    """Two symbols: a cone in the plane has two edges."""

    name = "two-edges"
    reason = "two symbols: the allowed posteriors are an interval, and its ends win"
    source = "GrosseID Example 1"
    otherwise = "there are not two symbols"


class ExtremalPML(_Simplex):
    """Lifts at most e^ε with e^ε (1 − pmin) ≤ 1: symbol j is least likely at outcome j."""

    name = AT_UPPER_SIDE
    reason = (
        "e^ε(1 − pmin) ≤ 1: the posteriors fill a simplex; K[i,j] = e^ε p_j off the diagonal and "
        "1 − e^ε (1 − p_i) on it"
    )
    source = "GrosseID Corollary 4, SaeidianPMC Corollary 5"
    otherwise = "e^ε(1 − pmin) is above 1, or another bound is stricter than what PML implies"


class ExtremalPMC(_Simplex):
    """Lifts at least l: symbol j is more likely at outcome j."""

    name = AT_LOWER_SIDE
    reason = (
        "a lower bound on the lift alone: the posteriors fill a simplex; K[i,j] = l p_j, and "
        "1 − l more on the diagonal"
    )
    otherwise = "there is no lower bound on the lift, or another bound is stricter than it implies"


SIMPLICES: tuple[Method, ...] = (RevealAll(), Nothing(), TwoEdges(), ExtremalPML(), ExtremalPMC())


CLOSED_FORMS: tuple[Method, ...] = (
    Unconstrained(),
    Constant(),
    Binary(),
    AnyPMC(),
    HighPrivacyPML(),
    SymmetricHamming(),
    Recognition(),
)
