"""Which privacy constraints hold the utility back, and at what price: ``binding``.

Methods that never look at pairs of hypotheses leave prices λ of the rows alone. With
s = max_y sup{⟨c_y − λ, k⟩ : k in the cone, pᵀk = 1} the prices λ + s·p leave nothing to gain in any
column, so the dual of each column's own small program gives multipliers z ≥ 0 with
c_y − λ − s·p ≤ Σ_i z_iy (μ_i − e^ε_i ν_i): together with the prices a dual solution of the whole
program, whose value is the bound that the certificate states.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..certificate.bounds import (
    clamped_prices,
    excluded,
    limit_prices,
    price_bound,
    priced_sums,
    supports,
    without_limits,
)
from ..certificate.shape import sides_outside
from ..errors import InputError, SolverError, quote
from ..labels import Label, counted, shorten
from ..linear.highs import Model, column_duals
from ..mechanism import Mechanism
from ..notebook import Tabular, notebook_table
from ..privacy.notion import PrivacyNotion
from ..privacy.rows import Multipliers, Ratios
from ..privacy.sums import SumConstraint, SumDuals
from ..program.problem import Problem, state_problem
from ..program.program import LinearProgram
from ..requirement.base import Requirement
from ..utility.estimation import Estimation
from ..utility.linear import LinearUtility
from ..utility.worst_case import WorstCase
from ._design import Design

Array = NDArray[np.float64]

#: Constraints with less slack than this, in nats, are tight.
TIGHT = 1e-6
# Prices below this share of the range of gains are a solver's noise.
_NOISE = 1e-9
_LINES = 20
# Designs whose optimum has no price per constraint.
_OTHERS = {
    WorstCase: "the least of several utilities, which has a price for each of them",
    Estimation: "the error of estimates, whose bound comes from a search over columns",
}


@dataclass(frozen=True, slots=True)
class PricedConstraint:
    """One privacy constraint that holds the utility back.

    Attributes
    ----------
    notion, level : the notion that asks it, and the name of its level
    output : label of the outcome; ``None`` for a constraint on a sum over all outcomes
    over, under : names of the hypotheses μ and ν whose likelihoods are compared
    slack : ε minus the log ratio of the likelihoods, in nats; 0 where the constraint is met exactly
    price : by how much the optimum rises per unit added to the right-hand side, see :func:`binding`
    price_per_nat : by how much it rises per nat added to the level of this constraint alone
    """

    notion: PrivacyNotion
    level: str
    output: Label | None
    over: str
    under: str
    slack: float
    price: float
    price_per_nat: float

    @property
    def about(self) -> str:
        """The pair of hypotheses as text."""
        return f"{self.over} against {self.under}"

    @property
    def asked_by(self) -> str:
        """The notion, with the name of the level where it has several."""
        return name_level(self.notion, self.level)


def name_level(notion: PrivacyNotion, field: str) -> str:
    """A level of a notion as text."""
    return str(notion) if len(notion.level_fields) == 1 else f"{notion} {field}"


@dataclass(frozen=True, slots=True)
class PricedLimit:
    """One limit of a requirement that holds the utility back.

    Attributes
    ----------
    requirement : which asks it
    about : what it stands for
    end : ``"upper"`` or ``"lower"``, or ``"zero"`` for an entry that must be zero
    slack : how far the kernel is from that end, in the units of the limit
    price : by how much the optimum rises per unit that this end alone is moved outwards, in units
        of the utility per unit of the limit, see :func:`binding`
    """

    requirement: Requirement
    about: str
    end: str
    slack: float
    price: float

    @property
    def slope(self) -> float:
        """The derivative of the optimum in the right-hand side: negative for a lower end."""
        return -self.price if self.end == "lower" else self.price


@dataclass(frozen=True, eq=False)
class Binding(Tabular):
    """The constraints of a design that carry a price, the dearest per nat first.

    Attributes
    ----------
    design : what they were found for
    constraints : those with a price above the noise of the numbers
    row_prices : ``(N,)`` by how much the optimum rises per unit added to the sum of a row; 0 for
        symbols of zero mass that the design leaves out
    tight : number of pairs and outcomes that meet their bound within 1e-6 nats, price or not
    limits : the limits of requirements with a price above that noise, the dearest first
    """

    design: Design
    constraints: tuple[PricedConstraint, ...]
    row_prices: Array
    tight: int
    limits: tuple[PricedLimit, ...] = ()

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
        names: dict[tuple[int, str], str] = {}  # there may be a million constraints of few levels
        for constraint in self.constraints:
            key = id(constraint.notion), constraint.level
            if key not in names:
                names[key] = constraint.asked_by
            found[names[key]] += constraint.price_per_nat
        return found

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per constraint, for a data frame."""
        names = ("level", "output", "over", "under", "slack", "price", "price_per_nat")
        return [_row(constraint, "notion", names) for constraint in self.constraints]

    def limit_rows(self) -> list[dict[str, Any]]:
        """One dictionary per limit of a requirement, for a data frame."""
        names = ("about", "end", "slack", "price", "slope")
        return [_row(limit, "requirement", names) for limit in self.limits]

    def __repr__(self) -> str:
        lines = [self._summary()]
        lines += [f"  {text}: value rises by {v:.6g} per nat" for text, v in self.slopes.items()]
        if self.constraints:
            lines.append("  per nat     price       slack      outcome and pair")
        for constraint in self.constraints[:_LINES]:
            place = "all outcomes" if constraint.output is None else shorten(constraint.output)
            prices = f"{constraint.price_per_nat:<11.5g} {constraint.price:<11.5g}"
            lines.append(f"  {prices} {constraint.slack:<10.2g} {place}: {constraint.about}")
        if len(self) > _LINES:
            lines.append(f"  and {len(self) - _LINES} more")
        if self.limits:
            lines.append("  price       slack      limit of a requirement")
        for limit in self.limits[:_LINES]:
            lines.append(f"  {limit.price:<11.5g} {limit.slack:<10.2g} {limit.about} ({limit.end})")
        if len(self.limits) > _LINES:
            lines.append(f"  and {len(self.limits) - _LINES} more")
        return "\n".join(lines)

    def _summary(self) -> str:
        text = f"{counted(len(self), 'constraint')} carry a price, {self.tight} are tight"
        if self.design.requirements:
            text += f"; {counted(len(self.limits), 'limit')} of requirements carry one"
        return text

    def _repr_html_(self) -> str:
        tables = "".join(
            notebook_table(list(rows[0]), (row.values() for row in rows[:50]))
            for rows in (self.rows(), self.limit_rows())
            if rows
        )
        return f"<p>{html.escape(self._summary())}</p>{tables}"


def _row(item: Any, asker: str, names: tuple[str, ...]) -> dict[str, Any]:
    return {asker: str(getattr(item, asker)), **{name: getattr(item, name) for name in names}}


def binding(design: Design) -> Binding:
    """Which privacy constraints hold the utility of a design back, and by how much.

    The optimum V of a linear utility is that of a linear program, so each constraint has a dual
    price z ≥ 0 and each row a price λ::

        V = max Σ_y ⟨c_y, k_y⟩   subject to   (μᵀK)(y) ≤ e^ε (νᵀK)(y) + r,   Σ_y K[x,y] = 1 + t_x

    with r = 0 and t = 0. For every change of one or several right-hand sides
    V(r, t) ≤ V + Σ z r + Σ λ t, with equality to first order where V has a derivative; so z is what
    the optimum gains per unit of r at this constraint, between the derivatives to its two sides.
    Raising the level of one constraint by dε adds e^ε (νᵀK)(y) dε to its right-hand side, so

        price_per_nat = z · (μᵀK)(y),   dV/dε = Σ price_per_nat over all constraints of the level

    (times the distance, where a notion multiplies its level by one). The row prices add up to the
    bound of the certificate, less z times the limit for each constraint on a sum over outcomes,
    and η times the end for each limit of a requirement.

    A limit low ≤ Σ a K ≤ high of a requirement has a dual η as well: the optimum rises by η per
    unit added to ``high``, or taken off ``low``. The price of an entry that must be zero is what
    the optimum gains per unit of probability that it may have, where all entries of its output that
    must be zero may have as much.

    Parameters
    ----------
    design : Design
        For a linear utility. Outcomes that never occur are left out, as nothing is tight there.

    Raises
    ------
    InputError
        For a utility that is not linear (its program is not linear, and one price does not say
        what a change brings), or a design whose bound came without dual variables.
    SolverError
        When prices of pairs cannot be computed from the prices of the rows.

    Notes
    -----
    Where several dual solutions are optimal, the prices are those of one of them. A bound that
    compares all symbols with all (LDP) determines the price of each symbol on either side;
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
    return binding_of_likeliest(design)[0]


def binding_of_likeliest(design: Design, entries: int | None = None) -> tuple[Binding, int, int]:
    """The same for the likeliest outcomes alone, as many as have ``entries`` entries of the kernel
    together; with their number, and that of all that occur.
    """
    problem, program = _problem_of(design)
    mechanism = problem.on_kept(design.mechanism)
    masses = program.prior.probabilities @ mechanism.kernel
    used = np.flatnonzero(masses > 0)
    occur = len(used)
    if entries is not None:
        most = max(1, entries // len(program.prior))
        used = np.sort(used[np.argsort(-masses[used], kind="stable")[:most]])
    solution = _dual_solution(design, program, used)
    found: list[PricedConstraint] = []
    tight = 0
    limits = [*_limit_prices(problem, program, design, solution)]
    limits += _zero_prices(problem, program, solution)
    parts = zip(problem.asked_by, program.cone.parts, solution.weights, strict=True)
    for notion, part, (a, b) in parts:
        if not isinstance(notion, PrivacyNotion):
            limits += _local_prices(notion, part.at(mechanism), used, mechanism, a, b)
            continue
        ratios, level = part.at(mechanism), notion.level_fields[part.parameter]
        tight += ratios.count_tight(used, TIGHT)
        for y in used.tolist():
            label = mechanism.outputs[y]
            found += [
                PricedConstraint(notion, level, label, v.over, v.under, v.slack, v.price, v.per_nat)
                for v in ratios.prices(y, a[:, y], b[:, y])
            ]
    for notion, constraint, duals in solution.sums_of(problem):
        prices = constraint.prices(duals, mechanism)
        level = notion.level_fields[0]
        found += [
            PricedConstraint(notion, level, None, v.over, v.under, v.slack, v.price, v.per_nat)
            for v in prices
        ]
        tight += sum(v.slack <= TIGHT for v in prices)
    kept = sorted(
        (constraint for constraint in found if _binds(constraint, program.gain_range)),
        key=lambda constraint: (-constraint.price_per_nat, -constraint.price),
    )
    rows = np.zeros(len(design.prior))
    rows[problem.kept] = solution.prices
    rows.setflags(write=False)
    limits.sort(key=lambda limit: -limit.price)
    return Binding(design, tuple(kept), rows, tight, tuple(limits)), len(used), occur


def _limit_prices(
    problem: Problem, program: LinearProgram, design: Design, solution: _DualSolution
) -> Iterator[PricedLimit]:
    """The prices of limits that are more than noise, as :func:`_binds` has it."""
    weights, width = problem.kept_weights(design.mechanism), program.gain_range
    asked = zip(problem.limits_asked_by, program.limits, solution.limits.tolist(), strict=True)
    for requirement, limit, price in asked:
        end = limit.high if price > 0 else limit.low
        if price == 0 or end is None:
            continue
        slack = max(float(abs(end - limit.exactly(weights, design.mechanism.bits))), 0.0)
        size = float(np.abs(limit.coefficients).max())
        if slack > TIGHT * size and abs(price) * size <= width * slack / size:
            continue
        if abs(price) * size > _NOISE * width:
            side = "upper" if price > 0 else "lower"
            yield PricedLimit(requirement, limit.label, side, slack, abs(price))


def _local_prices(
    requirement: Requirement,
    ratios: Ratios,
    used: NDArray[np.intp],
    mechanism: Mechanism,
    a: Array,
    b: Array,
) -> Iterator[PricedLimit]:
    """Prices of what a requirement asks of every outcome alike, per unit of likelihood."""
    for y in used.tolist():
        for found in ratios.prices(y, a[:, y], b[:, y]):
            if found.slack <= TIGHT and found.price > 0:
                about = f"{requirement} (outcome {mechanism.outputs[y]})"
                slack = found.per_nat / found.price * math.expm1(found.slack)
                yield PricedLimit(requirement, about, "upper", slack, found.price)


def _zero_prices(
    problem: Problem, program: LinearProgram, solution: _DualSolution
) -> Iterator[PricedLimit]:
    """Reduced prices of the entries that must be zero.

    For an output with the residual gains r of its column, the dual of max ⟨r, k⟩ over the cone
    with k at most one at these entries.
    """
    from scipy import sparse

    askers: dict[tuple[int, int], Requirement] = {}
    for requirement, places in problem.zeros:
        for x, y in places.tolist():
            askers.setdefault((x, y), requirement)
    by_output: dict[int, list[int]] = {}
    for x, y in askers:
        by_output.setdefault(y, []).append(x)
    rows, p = program.cone.matrix(), program.prior.probabilities
    count, size = rows.shape
    for y, symbols in by_output.items():
        residual = solution.residual[:, y]
        scale = float(np.abs(residual).max()) or 1.0
        ends = sparse.csr_array(
            (np.ones(len(symbols)), (np.arange(len(symbols)), symbols)), shape=(len(symbols), size)
        )
        cost = np.zeros(size)
        # A little below, so that noise leaves nothing to gain without these entries.
        cost[: len(p)] = residual / scale - _NOISE * p
        model = Model()
        model.load(
            cost,
            sparse.vstack([rows, ends]).tocsr(),
            np.full(count + len(symbols), -np.inf),
            np.append(np.zeros(count), np.ones(len(symbols))),
        )
        answer = model.run()
        if answer.duals is None:
            raise SolverError(
                f"the program of one column was not solved (HiGHS: {answer.status}), so the prices "
                "of entries that must be zero are not known; design again with "
                "solver='highs-simplex'"
            )
        for x, price in zip(symbols, (answer.duals[count:] * scale).tolist(), strict=True):
            if price > 10 * _NOISE * scale:
                about = f"P({problem.outputs[y]} | {program.prior.labels[x]}) equal to 0"
                yield PricedLimit(askers[x, y], about, "zero", 0.0, price)


def requirement_prices(design: Design) -> Binding | None:
    """:func:`binding` of a design with requirements, ``None`` for one without them or prices."""
    return binding(design) if design.requirements and has_prices(design) else None


def has_prices(design: Design) -> bool:
    """Whether :func:`binding` knows what the constraints of a design cost."""
    certificate = design.certificate
    if any(r.most_outputs is not None for r in design.requirements):
        return False
    proved = certificate.bound_source in ("prices", "multipliers") or certificate.is_optimal
    return isinstance(design.utility, LinearUtility) and proved


def _binds(constraint: PricedConstraint, width: float) -> bool:
    """Whether a price is more than noise, and not one that a solver left on a loose constraint.

    A dual solution within the gap of the best one has prices with Σ price · slack within the gap:
    what is larger decides, the price or the slack.
    """
    if constraint.slack > TIGHT and constraint.price_per_nat <= width * constraint.slack:
        return False
    return max(constraint.price_per_nat, constraint.price) > _NOISE * width


def _problem_of(design: Any) -> tuple[Problem, LinearProgram]:
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
            got=_OTHERS.get(
                type(design.utility),
                "a sub-convex utility, whose optimum is a maximum of many linear programs",
            ),
            remedy="use a linear utility such as md.utility.Hamming() or md.utility.Matrix(u)",
        )
    few = next((r for r in design.requirements if r.most_outputs is not None), None)
    if few is not None:
        raise InputError(
            "binding constraints",
            expected="a linear program, whose optimum has a price per constraint",
            got=f"a choice among outputs ({few})",
            remedy="design with outputs= those that occur, without that requirement",
        )
    labels = design.mechanism.outputs
    problem = state_problem(
        design.prior, design.utility, design.notions, labels, None, design.requirements
    )
    assert isinstance(problem.program, LinearProgram)
    return problem, problem.program


@dataclass(frozen=True, eq=False)
class _DualSolution:
    """Prices, and weights of each part of the cone (:meth:`.ConeRows.feasible`).

    ``residual`` is what prices, limits and sums leave of the objective, ``(n, M)``.
    """

    weights: list[tuple[Array, Array]]
    prices: Array
    residual: Array
    limits: Array
    sums: tuple[SumDuals, ...] = ()

    def sums_of(self, problem: Problem) -> Iterator[tuple[PrivacyNotion, SumConstraint, SumDuals]]:
        """Each constraint on a sum with the notion that asks it, where there are duals."""
        if self.sums:
            yield from zip(problem.sums_asked_by, problem.program.sums, self.sums, strict=True)


def _dual_solution(design: Design, program: LinearProgram, used: NDArray[np.intp]) -> _DualSolution:
    certificate = design.certificate
    duals = certificate.duals.in_units_of_gains(program.prior.probabilities)
    limits = limit_prices(program, duals)
    taken = without_limits(program, limits)
    assert taken is not None
    program, objective = taken.program, taken.program.objective
    if taken.rest is not None:
        objective = objective - taken.rest.columns
    if certificate.bound_source == "prices":
        assert duals.prices is not None
        return _recovered(program, duals.prices, used, limits)
    if certificate.bound_source == "multipliers":
        priced = priced_sums(program, duals, taken.rest)
        left = objective
        if priced is not None:
            left = left - priced.columns
        multipliers = duals.multipliers
        if multipliers is None:
            multipliers = program.cone.no_duals(program.shape[1])
        columns = program.cone.combination(multipliers, program.shape[1])[0]
        prices = program.allowed(left - columns).max(axis=1)
        return _DualSolution(
            _feasible(program, multipliers),
            prices,
            left - prices[:, None],
            limits,
            () if priced is None else priced.duals,
        )
    if not has_prices(design):
        raise InputError(
            "binding constraints",
            expected="a design whose bound comes from dual variables",
            got=f"one whose bound is the {certificate.bound_source}, with a gap of "
            f"{certificate.gap:.2g}",
            remedy="design it with solver='highs-simplex', which finds them",
        )
    # Nothing is lost to privacy, so nothing is gained by relaxing it.
    none = program.cone.no_duals(program.shape[1])
    prices = program.allowed(objective).max(axis=1)
    return _DualSolution(_feasible(program, none), prices, objective - prices[:, None], limits)


def _feasible(
    program: LinearProgram, multipliers: tuple[Multipliers, ...]
) -> list[tuple[Array, Array]]:
    pairs = zip(program.cone.parts, multipliers, strict=True)
    return [part.feasible(given) for part, given in pairs]


def _recovered(
    program: LinearProgram, prices: Array, outputs: NDArray[np.intp], limits: Array
) -> _DualSolution:
    """Multipliers at some outputs from prices alone, and the prices that leave nothing to gain.

    Raises :class:`SolverError` when a column's program is not solved.
    """
    sides = sides_outside(program.cone)
    assert sides is not None
    tried = (prices, clamped_prices(program, prices))
    best = min(tried, key=lambda some: price_bound(program, some, sides))
    p = program.prior.probabilities
    # Moved along p until nothing is gained.
    left = program.objective - best[:, None]
    kept = excluded(left, program.forbidden)
    best = best + p * float(supports(kept, p, sides).max())
    rows = program.cone.matrix()
    duals = np.zeros((rows.shape[0], program.shape[1]))
    if rows.shape[0]:
        residual = (program.objective - best[:, None])[:, outputs]
        zeros = np.zeros(residual.shape, dtype=bool)
        if program.forbidden is not None:
            zeros = program.forbidden[:, outputs]
        for pattern in np.unique(zeros, axis=1).T:
            same = (zeros == pattern[:, None]).all(axis=0)
            duals[:, outputs[same]] = column_duals(rows, p, residual[:, same], pattern)
    left = program.objective - best[:, None]
    return _DualSolution(_feasible(program, program.cone.split(duals)), best, left, limits)
