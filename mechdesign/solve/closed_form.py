"""Closed forms for linear utilities: exact up to rounding, O(NM), tried first.

Each returns the kernel and the dual prices (or multipliers) that prove it optimal.
Notation: p prior, u gains, q = pᵀK, l = e^-ε_l, h = e^ε_u, and ū_y = Σ_x p_x u_xy.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .cones import inner_factors, outer_factors
from .methods import Candidate, Duals, Method, Multipliers
from .problem import AnyProblem, Problem
from .recognition import Recognition


class Unconstrained(Method):
    """No bound asks anything: every symbol goes to its best output."""

    name = "unconstrained"
    reason = "no bound asks anything, so each symbol is sent to its best output"

    def refusal(self, problem: Problem) -> str | None:
        """Applies with one symbol, or without any finite level."""
        if problem.others:
            return problem.not_a_bound
        if problem.bounds and problem.shape[0] > 1:
            return "there are privacy bounds to satisfy"
        return None

    def solve(self, problem: Problem) -> Candidate:
        """K[x, argmax_y u_xy] = 1; price of x: p_x max_y u_xy."""
        kernel = np.zeros(problem.shape)
        kernel[np.arange(problem.shape[0]), problem.gains.argmax(axis=1)] = 1.0
        duals = Duals(problem.objective.max(axis=1), _no_multipliers(problem))
        return Candidate(kernel, duals, "closed form")


class Constant(Method):
    """A level of zero that ties every symbol to the others: nothing may be revealed."""

    name = "constant"
    reason = (
        "a level that is zero to working precision leaves only kernels with equal rows; the best "
        "single output wins"
    )

    def refusal(self, problem: Problem) -> str | None:
        """Applies when some bound of level 0 has all point masses on a side."""
        if problem.others:
            return problem.not_a_bound
        sides = problem.sides
        if sides is None or min(sides.upper, sides.ratio, 1 / max(sides.lower, 1e-300)) > 1:
            return "every level is above zero"
        return None

    def solve(self, problem: Problem) -> Candidate:
        """All mass on argmax_y ū_y.

        Price of x: p_x times the best ū, which the bound turns into the optimum because a column
        can only be a multiple of 1.
        """
        best = problem.constant_value
        prices = problem.inner.probabilities * best
        return Candidate(problem.constant_kernel, Duals(prices), "closed form")


class HighPrivacyPML(Method):
    """PML with e^ε (1 − pmin) ≤ 1: posteriors fill a simplex."""

    name = "pml-high-privacy"
    reason = (
        "e^ε(1 − pmin) ≤ 1: the posteriors that PML allows fill a simplex, so each symbol has one "
        "extreme posterior and goes to the output where that posterior is worth most"
    )
    source = "GrosseID Corollary 4, SaeidianPMC Corollary 5"

    def refusal(self, problem: Problem) -> str | None:
        """Applies to two-sided cones whose upper side implies all others."""
        sides = problem.sides
        if sides is None or problem.others:
            return "the notions are not bounds on the lift"
        h, pmin = sides.upper, problem.inner.pmin
        if h == math.inf:
            return "there is no upper bound on the lift"
        if h * (1 - pmin) > 1 or h == 1:
            return f"e^ε (1 − pmin) = {h * (1 - pmin):.4g} is above 1"
        least = (1 - h * (1 - pmin)) / pmin
        if sides.lower > least * (1 + 1e-12):
            return "the lower bound on the lift is stricter than what PML implies"
        if sides.ratio < math.inf and sides.ratio * least < h:
            return "the LDP level is stricter than what PML implies"
        return None

    def solve(self, problem: Problem) -> Candidate:
        """K = h·1qᵀ − (h−1)·1{y = y*(x)} with y*(x) = argmax_y h ū_y − (h−1) u_xy.

        The extreme posterior of symbol j is h·p − (h−1)·δ_j: the outcome under which j is *least*
        likely. Prices: λ_j = p_j (h ḡ − g_j)/(h − 1), with g_j the worth of that posterior.
        """
        sides = problem.sides
        assert sides is not None
        h = sides.upper
        return _simplex(problem, h, h - 1, "closed form (simplex of posteriors)")


class AnyPMC(Method):
    """PMC at any level: posteriors fill a simplex."""

    name = "pmc"
    reason = (
        "a lower bound on the lift alone: the allowed posteriors fill a simplex, so each symbol "
        "has one extreme posterior and goes to the output where it is worth most"
    )

    def refusal(self, problem: Problem) -> str | None:
        """Applies to two-sided cones whose lower side implies all others."""
        sides = problem.sides
        if sides is None or problem.others:
            return "the notions are not bounds on the lift"
        low, pmin = sides.lower, problem.inner.pmin
        if low == 0:
            return "there is no lower bound on the lift"
        if low == 1:
            return "the level is zero"
        largest = (1 - low * (1 - pmin)) / pmin
        if sides.upper < largest * (1 - 1e-12):
            return "the upper bound on the lift is stricter than what PMC implies"
        if sides.ratio < largest / low:
            return "the LDP level is stricter than what PMC implies"
        return None

    def solve(self, problem: Problem) -> Candidate:
        """K = l·1qᵀ + (1−l)·1{y = y*(x)} with y*(x) = argmax_y l ū_y + (1−l) u_xy.

        The extreme posterior of symbol j is l·p + (1−l)·δ_j. Prices: λ_j = p_j (g_j − l ḡ)/(1−l).
        """
        sides = problem.sides
        assert sides is not None
        return _simplex(
            problem, sides.lower, sides.lower - 1, "closed form (simplex of posteriors)"
        )


def _simplex(problem: Problem, base: float, step: float, solver: str) -> Candidate:
    """Vertices base·p − step·δ_j: PML with (h, h−1), PMC with (l, l−1)."""
    p, u = problem.inner.probabilities, problem.gains
    worth = base * problem.objective.sum(axis=0)[None, :] - step * u
    best = worth.argmax(axis=1)
    sent = np.zeros(problem.shape)
    sent[np.arange(len(p)), best] = 1.0
    q = p @ sent
    kernel = base * q[None, :] - step * sent
    g = worth.max(axis=1)
    prices = p * ((base * (p @ g) - g) / step)
    return Candidate(np.maximum(kernel, 0.0), Duals(prices), solver)


class SymmetricHamming(Method):
    """Uniform prior and a utility that only tells right from wrong."""

    name = "symmetric"
    reason = (
        "uniform prior, and every wrong output is worth the same: by symmetry one column shape "
        "serves all, with the largest diagonal that the bounds allow (randomised response)"
    )
    source = "Kairouz2016 for LDP"

    def refusal(self, problem: Problem) -> str | None:
        """Applies to two-sided cones, a uniform prior and gains a·I + b with a > 0."""
        sides = problem.sides
        if sides is None or problem.others:
            return "the notions are not bounds on the lift or between all symbols"
        n, m = problem.shape
        if not problem.inner.is_uniform:
            return "the prior is not uniform"
        if n != m or n < 2:
            return "there are not as many outputs as symbols"
        off = problem.gains[~np.eye(n, dtype=bool)]
        diagonal = np.diag(problem.gains)
        if np.ptp(off) > 0 or np.ptp(diagonal) > 0 or diagonal[0] <= off[0]:
            return "outputs are worth more than right or wrong"
        return None

    def solve(self, problem: Problem) -> Candidate:
        """Diagonal a = min(1, h/n, 1 − (n−1) l/n, r/(r+n−1)), the rest equal."""
        sides = problem.sides
        assert sides is not None
        n = problem.shape[0]
        diagonal = min(1.0, sides.upper / n, 1 - (n - 1) * sides.lower / n)
        if sides.ratio < math.inf:
            diagonal = min(diagonal, 1 / (1 + (n - 1) / sides.ratio))
        rest = (1 - diagonal) / (n - 1)
        kernel = np.full((n, n), rest)
        np.fill_diagonal(kernel, diagonal)
        value = float((problem.objective * kernel).sum())
        return Candidate(kernel, Duals(np.full(n, value / n)), "closed form (symmetry)")


class Binary(Method):
    """Two symbols: a column is a point of an interval, an optimum uses its two ends."""

    name = "binary"
    reason = "two symbols: columns form a cone with two edges, and each edge takes its best output"
    source = "GrosseID Example 1"

    def refusal(self, problem: Problem) -> str | None:
        """Applies to every list of bounds on two symbols."""
        if problem.others:
            return problem.not_a_bound
        n = problem.shape[0]
        return None if n == 2 else f"there are {n} symbols, not two"

    def solve(self, problem: Problem) -> Candidate:
        """Edges (1, t) and (s, 1) of the cone, 0 ≤ s, t ≤ 1; masses solve the row sums.

        Multipliers: on each edge one pair of hypotheses is tight; the residual of an output is a
        non-negative combination of the two tight inequalities.
        """
        edges = find_edges(problem, inner=True)
        s, t = edges[1].other, edges[0].other
        det = 1 - s * t
        if det <= 0:
            duals = Duals(problem.inner.probabilities * problem.constant_value)
            return Candidate(problem.constant_kernel, duals, "closed form")
        rays = np.array([[1.0, t], [s, 1.0]])
        masses = np.array([(1 - s) / det, (1 - t) / det])
        worth = rays @ problem.objective
        best = worth.argmax(axis=1)
        kernel = np.zeros(problem.shape)
        for ray, mass, y in zip(rays, masses, best, strict=True):
            kernel[:, y] += mass * ray
        g = worth.max(axis=1)
        prices = np.array([(g[0] - t * g[1]) / det, (g[1] - s * g[0]) / det])
        duals = Duals(prices, _edge_multipliers(problem, edges, prices))
        return Candidate(kernel, duals, "closed form (two edges)")


class _Edge:
    """One edge of a cone in the plane: 1 on its own axis, ``other`` on the other one."""

    def __init__(self, axis: int) -> None:
        self.axis, self.other = axis, 0.0
        self.tight: tuple[int, int, int] | None = None
        self.normal = np.array([0.0, 0.0])
        self.normal[1 - axis] = -1.0
        self.factor = math.inf

    def tighten(
        self,
        over: NDArray[np.float64],
        under: NDArray[np.float64],
        factor: float,
        pair: tuple[int, int, int],
    ) -> None:
        """Take in ``(over − factor·under) · k ≤ 0`` if it cuts the edge back."""
        inequality = over - factor * under
        mine, others = float(inequality[self.axis]), float(inequality[1 - self.axis])
        if mine <= 0 or others >= 0:
            return
        least = min(1.0, mine / -others)
        if least > self.other:
            self.other, self.tight = least, pair
            self.normal, self.factor = inequality, factor


def find_edges(problem: AnyProblem, *, inner: bool) -> list[_Edge]:
    """Both edges of the cone that the bounds leave for two symbols."""
    edges = [_Edge(0), _Edge(1)]
    for number, bound in enumerate(problem.bounds):
        over, under = bound.over.matrix.toarray(), bound.under.matrix.toarray()
        factors = inner_factors(bound) if inner else outer_factors(bound)
        if bound.pairing == "all":
            pairs = [(i, j, 0) for i in range(len(over)) for j in range(len(under))]
        else:
            pairs = [(i, i, min(i, len(factors) - 1)) for i in range(len(over))]
        for i, j, k in pairs:
            # A factor beyond all floats asks nothing, and would be multiplied by masses of zero.
            for edge in edges if math.isfinite(factors[k]) else ():
                edge.tighten(over[i], under[j], float(factors[k]), (number, i, j))
    return edges


def two_edges(problem: AnyProblem, *, inner: bool) -> NDArray[np.float64]:
    """The kernel on the two edges, ``(2, 2)``; one constant output where they coincide."""
    edges = find_edges(problem, inner=inner)
    s, t = edges[1].other, edges[0].other
    det = 1 - s * t
    if det <= 0:
        return np.ones((2, 1))
    first, second = (1 - s) / det, (1 - t) / det
    return np.array([[first, s * second], [t * first, second]])


def _edge_multipliers(
    problem: Problem, edges: list[_Edge], prices: NDArray[np.float64]
) -> tuple[Multipliers, ...]:
    multipliers = _no_multipliers(problem)
    residual = problem.objective - prices[:, None]
    # Scaled to entries of at most one, so that large factors stay finite.
    sizes = [float(np.abs(edge.normal).max()) for edge in edges]
    basis = np.array([edge.normal / size for edge, size in zip(edges, sizes, strict=True)]).T
    if abs(basis[0, 0] * basis[1, 1] - basis[0, 1] * basis[1, 0]) < 1e-300:
        return multipliers
    weights = np.maximum(np.linalg.solve(basis, residual), 0.0)
    for edge, size, scaled in zip(edges, sizes, weights, strict=True):
        z = scaled / size
        if edge.tight is None:
            continue
        number, i, j = edge.tight
        if problem.bounds[number].pairing == "all":
            over, under = multipliers[number]
            over[i] += z
            under[j] += edge.factor * z
        else:
            multipliers[number][0][i] += z
    return multipliers


def _no_multipliers(problem: Problem) -> tuple[Multipliers, ...]:
    m = problem.shape[1]
    return tuple(
        (np.zeros((len(b.over), m)), np.zeros((len(b.under), m)))
        if b.pairing == "all"
        else (np.zeros((len(b.over), m)),)
        for b in problem.bounds
    )


CLOSED_FORMS: tuple[Method, ...] = (
    Unconstrained(),
    Constant(),
    Binary(),
    AnyPMC(),
    HighPrivacyPML(),
    SymmetricHamming(),
    Recognition(),
)
