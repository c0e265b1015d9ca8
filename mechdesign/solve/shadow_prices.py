"""``binding``: which privacy constraints hold the utility back, and at what price."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, quote
from ..labels import shorten
from ..privacy.hypotheses import Bound
from ..privacy.notion import LikelihoodBound, PrivacyNotion
from ..utility.linear import LinearUtility
from .budget_prices import BudgetPrice, budget_weights
from .designing import Design
from .priced_pairs import TIGHT, PricedConstraint, PricedPairs, name_level
from .problem import Problem, state_problem
from .recovering import Weights, given_weights, recovered_weights

Array = NDArray[np.float64]

# Prices below this share of the range of gains are a solver's noise.
_NOISE = 1e-9
_LINES = 20


@dataclass(frozen=True, eq=False)
class Binding:
    """The constraints of a design that carry a price, the dearest per nat first.

    Attributes
    ----------
    design : what they were found for
    constraints : those with a price above the noise of the numbers
    row_prices : ``(N,)`` by how much the optimum rises per unit added to the sum of a row; 0 for
        symbols of zero mass that the design leaves out
    tight : number of pairs and outcomes that meet their bound within 1e-6 nats, price or not
    """

    design: Design
    constraints: tuple[PricedConstraint, ...]
    row_prices: Array
    tight: int

    def __iter__(self) -> Iterator[PricedConstraint]:
        return iter(self.constraints)

    def __len__(self) -> int:
        return len(self.constraints)

    @cached_property
    def slopes(self) -> dict[str, float]:
        """For each level of each notion the sum of its prices per nat.

        The derivative of the optimal value in that level, where it has one.
        """
        found = {name_level(n, f): 0.0 for n in self.design.notions for f in n.level_fields}
        for item in self.constraints:
            found[item.asked_by] += item.price_per_nat
        return found

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per constraint, for a data frame."""
        return [
            {
                "notion": str(item.notion),
                "level": item.level,
                "output": item.output,
                "over": item.over,
                "under": item.under,
                "slack": item.slack,
                "price": item.price,
                "price_per_nat": item.price_per_nat,
            }
            for item in self.constraints
        ]

    def __repr__(self) -> str:
        lines = [self._summary()]
        lines += [f"  {text}: value rises by {v:.6g} per nat" for text, v in self.slopes.items()]
        if self.constraints:
            lines.append("  per nat     price       slack      outcome and pair")
        for item in self.constraints[:_LINES]:
            place = "all outcomes" if item.output is None else shorten(item.output)
            numbers = f"{item.price_per_nat:<11.5g} {item.price:<11.5g} {item.slack:<10.2g}"
            lines.append(f"  {numbers} {place}: {item.about}")
        if len(self) > _LINES:
            lines.append(f"  and {len(self) - _LINES} more")
        return "\n".join(lines)

    def _summary(self) -> str:
        return f"{len(self)} constraints carry a price, {self.tight} are tight"

    def _repr_html_(self) -> str:
        rows = self.rows()[:50]
        head = "".join(f"<th>{key}</th>" for key in (rows[0] if rows else ()))
        body = "".join(
            "<tr>" + "".join(f"<td>{_cell(v)}</td>" for v in row.values()) + "</tr>" for row in rows
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<p>{self._summary()}</p>{table if rows else ''}"


def binding(design: Design) -> Binding:
    """Which privacy constraints hold the utility of a design back, and by how much.

    The optimum V of a linear utility is that of a linear program, so each constraint has a dual
    price z ≥ 0 and each row a price λ::

        V = max Σ_y ⟨c_y, k_y⟩   subject to   (μᵀK)(y) ≤ e^ε (νᵀK)(y) + r,   Σ_y K[x,y] = 1 + t_x

    with r = 0 and t = 0. For every change of one or several right-hand sides
    V(r, t) ≤ V + Σ z r + Σ λ t, with equality to first order where V has a derivative; so z is what
    a unit of r at this constraint is worth, and lies between the derivatives to its two sides.
    Raising the level of one constraint by dε adds e^ε (νᵀK)(y) dε to its right-hand side, so

        price_per_nat = z · (μᵀK)(y),   dV/dε = Σ price_per_nat over all constraints of the level

    (times the distance, where a notion multiplies its level by one). The row prices add up to the
    bound of the certificate, less z times the limit for each constraint on a sum over outcomes.

    Parameters
    ----------
    design : Design
        For a linear utility. Outcomes that never occur are left out, as nothing is tight there.

    Raises
    ------
    InputError
        For a utility that is not linear (its program is not linear, and one price does not say
        what a change is worth), or a design whose bound came without dual numbers.
    SolverError
        When prices of pairs cannot be computed from the prices of the rows.

    Notes
    -----
    Where several dual solutions are optimal, the prices are those of one of them. A bound that
    compares all symbols with all (LDP) determines how much each symbol is worth on either side;
    the pairs shown match them, the largest with the largest.

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior([.5, .3, .2], labels=["a", "b", "c"])
    >>> found = md.binding(md.design(prior, md.utility.Hamming(), md.PML(.4)))
    >>> {level: round(slope, 6) for level, slope in found.slopes.items()}
    {'PML(0.4)': 0.59673}
    >>> found.constraints[0].output, found.constraints[0].about
    ('b', "'b' against the prior")
    """
    problem = _problem_of(design)
    kernel = design.mechanism.kernel[problem.kept]
    used = np.flatnonzero((problem.inner.probabilities @ kernel) > 0)
    weights, prices, budgets = _dual_solution(design, problem, used)
    items: list[PricedConstraint] = []
    tight = 0
    for (notion, bound), (a, b) in zip(_owners(problem), weights, strict=True):
        found = PricedPairs(design.mechanism, problem, notion, bound)
        tight += found.tight(used)
        for y in used.tolist():
            items += found.priced(y, a[:, y], b[:, y])
    items += [
        PricedConstraint(v.notion, "epsilon", None, v.over, v.under, v.slack, v.price, v.per_nat)
        for v in budgets
    ]
    tight += sum(v.slack <= TIGHT for v in budgets)
    kept = sorted(
        (item for item in items if _binds(item, problem.gain_range)),
        key=lambda item: (-item.price_per_nat, -item.price),
    )
    rows = np.zeros(len(design.prior))
    rows[problem.kept] = prices
    rows.setflags(write=False)
    return Binding(design, tuple(kept), rows, tight)


def has_prices(design: Design) -> bool:
    """Whether :func:`binding` knows what the constraints of a design cost."""
    certificate = design.certificate
    proved = certificate.bound_source in ("prices", "multipliers") or certificate.is_optimal
    return isinstance(design.utility, LinearUtility) and proved


def _binds(item: PricedConstraint, width: float) -> bool:
    """Whether a price is more than noise, and not one that a solver left on a loose constraint.

    A dual solution within the gap of the best one has prices with Σ price · slack within the gap:
    what is larger decides, the price or the slack.
    """
    if item.slack > TIGHT and item.price_per_nat <= width * item.slack:
        return False
    return max(item.price_per_nat, item.price) > _NOISE * width


def _problem_of(design: Any) -> Problem:
    """The problem of a design, stated again; errors for what has no prices."""
    if not isinstance(design, Design):
        raise InputError(
            "binding constraints",
            expected="a Design with its certificate",
            got=type(design).__name__,
            remedy="pass the result of md.design, or of md.load for a saved one",
        )
    if not isinstance(design.utility, LinearUtility):
        raise InputError(
            f"binding constraints for {quote(design.utility)}",
            expected="a design for a linear utility, whose optimum has a price per constraint",
            got="a sub-convex utility, whose optimum is a maximum of many linear programs",
            remedy="use a linear utility such as md.utility.Hamming() or md.utility.Matrix(u)",
        )
    problem = state_problem(design.prior, design.utility, design.notions, design.mechanism.outputs)
    assert isinstance(problem, Problem)
    return problem


def _dual_solution(
    design: Design, problem: Problem, used: NDArray[np.intp]
) -> tuple[Weights, Array, list[BudgetPrice]]:
    """Multipliers of every bound, prices of the rows, and prices of the budgets."""
    certificate = design.certificate
    duals = certificate.duals.in_units_of_gains(problem.inner.probabilities)
    n, m = problem.shape
    if certificate.bound_source == "prices":
        assert duals.prices is not None
        return *recovered_weights(problem, duals.prices, used), []
    if certificate.bound_source == "multipliers":
        budgets, pull = budget_weights(problem, duals, design.mechanism)
        weights: Weights = []
        if duals.multipliers is not None:
            weights, more = given_weights(problem, duals)
            pull = pull + more
        return weights, (problem.objective - pull).max(axis=1), budgets
    if not has_prices(design):
        raise InputError(
            "binding constraints",
            expected="a design whose bound comes from dual numbers",
            got=f"one whose bound is the {certificate.bound_source}, with a gap of "
            f"{certificate.gap:.2g}",
            remedy="design it with solver='highs-simplex', which finds them",
        )
    # Nothing is lost to privacy, so nothing is gained by relaxing it.
    nothing = [(np.zeros((len(b.over), m)), np.zeros((n, m))) for b in problem.bounds]
    return nothing, problem.objective.max(axis=1), []


def _owners(problem: Problem) -> list[tuple[PrivacyNotion, Bound]]:
    """The bounds of the problem, each with the notion that asks it."""
    return [
        (notion, bound)
        for notion in problem.notions
        if isinstance(notion, LikelihoodBound)
        for bound in notion.checked_bounds(problem.inner)
        if not bound.is_vacuous
    ]


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else html.escape(str(value))
