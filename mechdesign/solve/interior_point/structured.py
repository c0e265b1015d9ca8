"""The structured method: one two-sided cone, the outputs that matter, the rest priced afterwards.

Where it starts and what it hands to problems with nearby levels; which outputs are carried along is
in :mod:`.screening`, the iterations themselves are in :mod:`.newton`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import SolverError
from ...linear.threads import one_thread
from ...program.duals import Candidate, Duals
from ...program.gains import LARGE
from ...program.program import LinearProgram, TwoSided
from ..method import WARM_START, Method
from .double import DoubleCone, DoubleNewton, DoublePoint, central_double
from .entrywise import EntrywiseNewton
from .growing import GROWING, Growing, Rows, columns_of_rows, first_outputs
from .newton import Cone, Newton, Point, StructuredOptions
from .predictor_corrector import Array, Iterate, Stopping, follow
from .pricing import best_columns
from .required import refusal, solve_required
from .screening import Screen

Places = NDArray[np.intp]

#: Largest e^ε it is used for; beyond, squares of it would drown the rest.
LARGEST_FACTOR = 1e7
DEFAULTS = StructuredOptions()
# A slack starts at no less than this share of what the former had of its centre's.
_INSIDE = 0.1
# Outputs left out come back when they would pay more than this; rounds of that, at most.
_PAYING = 1e-8
_ROUNDS = 20
# What rows may lack when the last step restores them, in units of the utility range.
_RESTORED = 1e-9
# Steps that restore the rows of an optimum from few outputs, of which each may be short.
_RESTORES = 20
# Outputs of at least this mass were used.
_USED = 1e-9


@dataclass(frozen=True, eq=False)
class WarmStart:
    """An early point on the way to a solution, still well inside, and its outputs."""

    point: Point
    outputs: Places

    def on(self, outputs: Places) -> WarmStart | None:
        """The point on some outputs, ``None`` where it lacks any of these."""
        kept = np.isin(self.outputs, outputs)
        if kept.sum() < len(outputs):
            return None
        return WarmStart(self.point.on(kept), self.outputs[kept])


@dataclass(frozen=True, eq=False)
class Solution:
    """Result of the method on some outputs.

    Attributes
    ----------
    columns : ``(m, n)`` columns of the outputs that were kept
    outputs : their positions, in the order of the columns
    prices : ``(n,)`` prices of the rows
    iterations : Newton steps taken
    eliminations : columns eliminated in all of them
    converged : whether gap and dual residual reached the tolerance
    warm_start : where a problem with nearby levels may start
    """

    columns: Array
    outputs: Places
    prices: Array
    iterations: int
    eliminations: int
    converged: bool
    warm_start: WarmStart | None


def solve_columns(
    p: Array,
    c: Array,
    cone: Cone | DoubleCone,
    outputs: Places,
    *,
    screen: bool = True,
    warm_start: WarmStart | None = None,
    options: StructuredOptions = DEFAULTS,
) -> Solution:
    """Solve for some outputs; those that vanish are dropped on the way.

    Parameters
    ----------
    p : ``(n,)`` prior
    c : ``(m, n)`` objective of each output, one row per output, of order one or less
    cone : of every column
    outputs : positions of the m outputs
    screen : whether outputs that vanish may be dropped
    warm_start : of a problem with nearby levels on the same outputs
    """
    targets = relative_targets(c, options.target_power)
    if warm_start is None:
        point = start_at(c, cone, targets, options.start)
    else:
        assert isinstance(cone, Cone)
        point = warm_point(cone, warm_start.point)
    kind = DoubleNewton if isinstance(point, DoublePoint) else Newton
    newton = kind(p, c, targets, point, options)
    screening = Screen(newton, outputs, sides_of(cone)) if screen else None
    path = _Path(newton, outputs, screening)
    iterations, converged = follow(path, Stopping(options.tolerance, options.patience))
    if options.restores_rows:
        newton.restore_rows()
    return Solution(
        np.maximum(newton.point.columns, 0.0),
        path.outputs,
        newton.point.prices,
        iterations,
        newton.eliminations,
        converged,
        path.warm_start,
    )


class _Path(Iterate):
    """Newton iterations that drop outputs and keep a point to start others from."""

    def __init__(self, newton: Newton, outputs: Places, screen: Screen | None) -> None:
        self.newton, self.outputs, self.screen = newton, outputs, screen
        self.warm_start: WarmStart | None = None
        few = newton.c.size <= newton.options.warm_entries
        self._keeps_start = few and not isinstance(newton, DoubleNewton)
        self._taken = 0

    def error(self) -> float:
        self._gap = self.newton.gap()
        lack = self.newton.lack
        return max(self._gap, self.newton.residual, lack if lack > _RESTORED else 0.0)

    def step(self) -> float:
        newton, options = self.newton, self.newton.options
        # A warm start has not been centred at these levels yet.
        keep = self._keeps_start and self.warm_start is None and self._taken > 0
        if keep and self._gap <= options.warm_gap:
            everything = np.ones(len(self.outputs), dtype=bool)
            self.warm_start = WarmStart(newton.point.on(everything), self.outputs)
        moved = newton.iterate(self._gap)
        self._taken += 1
        early = self._keeps_start and self.warm_start is None
        if self.screen is not None and not early:
            if self._gap > options.drop_until:
                self.screen.drop_vanished()
            gap = newton.gap()
            if gap <= options.return_from:
                self.screen.bring_back(gap)
            self.outputs = self.screen.outputs
        return moved


def relative_targets(c: Array, power: float) -> Array:
    """Targets of the products of each symbol, with mean one.

    What is at stake for a symbol is the range of its objective. With equal targets the rare symbols
    would only be decided once the gap is as small as their stakes.
    """
    return targets_of(np.ptp(c, axis=0), power)


def targets_of(stakes: Array, power: float) -> Array:
    """Targets of symbols from what is at stake for each, with mean one."""
    # Far below the largest all are alike.
    targets: Array = np.maximum(stakes, 1e-12 * (float(stakes.max()) or 1.0)) ** power
    return targets / targets.mean()


def start_at(c: Array, cone: Cone | DoubleCone, targets: Array, start: float) -> Point:
    """The centre of a cone of either kind."""
    if isinstance(cone, DoubleCone):
        return central_double(c, cone, targets, start)
    return central_point(c, cone, targets, start)


def central_point(c: Array, cone: Cone, targets: Array, start: float) -> Point:
    """All outputs alike and uninformative; products in proportion to the targets."""
    m, n = c.shape
    lower, upper = cone.lower, cone.upper
    # Without a link any scale of t describes the same cone; the middle one keeps numbers small.
    scale = 1 / m if cone.linked else 2 / m / (lower + upper)
    slacks = np.array([1 / m - lower * scale, upper * scale - 1 / m])
    prices = c.mean(axis=0)
    deviation = float(np.abs(c - prices).mean()) or 1.0
    multipliers = start * deviation * float(slacks.min()) * targets / slacks[:, None]
    link = lower * math.fsum(multipliers[0]) - upper * math.fsum(multipliers[1])
    shape = (2, m, n)
    return Point(
        cone,
        np.broadcast_to(slacks[:, None, None], shape).copy(),
        np.broadcast_to(multipliers[:, None, :], shape).copy(),
        np.full(m, scale),
        np.full(m, link if cone.linked else 0.0),
        prices,
    )


def warm_point(cone: Cone, old: Point) -> Point:
    """A former point in another cone: its columns, where need be mixed with the centre.

    Row sums and the link stay as they were or nearly so; the first steps mend the duals.
    """
    t, columns = old.scales[:, None], old.columns
    slacks = np.stack([columns - cone.lower * t, cone.upper * t - columns])
    centre = np.array([1 - cone.lower, cone.upper - 1])[:, None, None] * t
    former = np.array([1 - old.cone.lower, old.cone.upper - 1])[:, None, None] * t
    floor = _INSIDE * np.minimum(old.slacks / former, 1.0) * centre
    with np.errstate(divide="ignore", invalid="ignore"):
        lack = np.where(slacks < floor, (floor - slacks) / (centre - slacks), 0.0)
    slacks += lack.max(axis=(0, 2))[:, None] * (centre - slacks)
    z, link = old.multipliers.copy(), old.link.copy()
    if cone.linked:
        link = cone.lower * z[0].sum(axis=1) - cone.upper * z[1].sum(axis=1)
    return Point(cone, slacks, z, old.scales.copy(), link, old.prices.copy())


_SHAPES = ("upper lift", "lift", "ratio", "lift and ratio")


class Structured(Method):
    """Interior point for one two-sided cone, eliminating columns; see :mod:`.newton`."""

    name = "structured"
    features = frozenset({"linear", "zeros", "limits", WARM_START, *_SHAPES})
    reason = (
        "the bounds form one two-sided cone: a structured interior-point method eliminates every "
        "column and factorises one N×N matrix per iteration"
    )
    source = "Mehrotra1992"

    def __init__(self, options: StructuredOptions = DEFAULTS) -> None:
        self.options = options

    def condition(self, program: LinearProgram) -> str | None:
        """Applies at positive levels that its arithmetic can hold."""
        if program.shape[0] < 2:
            return "there is only one symbol"
        sides = program.sides
        assert sides is not None
        if sides.is_constant:
            return "a level of zero has a closed form"
        if sides.shape == "lift and ratio" and program.is_restricted:
            return "zeros and limits beside bounds on the lift and on ratios are not eliminated"
        if max(f for f in (sides.upper, sides.ratio) if f < math.inf) > LARGEST_FACTOR:
            return f"e^ε is above {LARGEST_FACTOR:g}, too wide for this method's arithmetic"
        return refusal(program)

    def solve(self, program: LinearProgram, start: Candidate | None = None) -> Candidate:
        """Solve, price the outputs that were left out, and repeat with those that would pay.

        The objective is shifted row by row and divided by the utility range. The solution for
        nearby levels lends a point passed early on the way to it. Where none was kept: the outputs
        used there and those that nearly paid at its prices. Under zeros and limits nothing.
        """
        if program.is_restricted:
            return _Run(program, self.options).solve_restricted()
        if start is None:
            return few_outputs(program, self.options) or _Run(program, self.options).solve_all()
        run = _Run(program, self.options)
        warm = start.warm_start
        if isinstance(warm, WarmStart) and run.fits(warm):
            found = run.solve(warm.outputs, warm)
            if found.details["converged"] == str(True):
                return found
        prices = start.duals.prices
        if prices is None or start.kernel.shape != program.shape:
            return run.solve_all()
        used = np.flatnonzero(run.p @ start.kernel > _USED)
        values = best_columns(run.c - (prices - run.shift) / run.width, run.p, run.sides)
        paying = np.argsort(-values, kind="stable")[: max(20, len(used))]
        return run.solve(np.union1d(used, paying))


def cone_of(sides: TwoSided) -> Cone | DoubleCone:
    """The cone of one column: lift bounds, a ratio around the middle of the column, or both."""
    if sides.shape == "lift and ratio":
        return DoubleCone(sides.lower, sides.upper, sides.ratio**-0.5, sides.ratio**0.5)
    if sides.has_lift_sides:
        return Cone(sides.lower, sides.upper, linked=True)
    return Cone(sides.ratio**-0.5, sides.ratio**0.5, linked=False)


def sides_of(cone: Cone | DoubleCone) -> TwoSided:
    """The bounds of a cone, as pricing reads them."""
    if isinstance(cone, DoubleCone):
        return TwoSided(cone.lower, cone.upper, cone.high / cone.low)
    if cone.linked:
        return TwoSided(cone.lower, cone.upper, math.inf)
    return TwoSided(0.0, math.inf, cone.upper / cone.lower)


def few_outputs(program: LinearProgram, options: StructuredOptions) -> Candidate | None:
    """An optimum from few outputs at the start; ``None`` for small programs and dense optima."""
    sides = program.sides
    assert sides is not None
    cone = cone_of(sides)
    if not isinstance(cone, Cone) or program.shape[0] * program.shape[1] < LARGE:
        return None
    rows = Rows(program)
    outputs = first_outputs(program, GROWING.first)
    c = rows.on(outputs)
    targets = targets_of(rows.stakes, options.target_power)
    with one_thread():
        # Plain steps are more, but lead there more surely.
        for kind in (EntrywiseNewton, Newton):
            point = central_point(c, cone, targets, options.start)
            path = Growing(rows, sides, targets, point, outputs, options, GROWING, kind)
            if path.solve():
                break
            if path.is_dense:
                return None
        else:
            return None
        for _ in range(_RESTORES):
            path.newton.restore_rows()
    found = path.newton.point
    columns = np.maximum(columns_of_rows(path.newton), 0.0)
    if not (np.isfinite(columns).all() and np.isfinite(found.prices).all()):
        return None
    # By columns, so that those that are not used take no memory.
    kernel = np.zeros(program.shape, order="F")
    kernel[:, path.outputs] = columns.T
    return Candidate(
        kernel,
        Duals(found.prices * rows.width + rows.shift),
        "structured interior point",
        {
            "iterations": str(path.iterations),
            "eliminations": str(path.newton.eliminations),
            "converged": str(True),
            "outputs": str(len(path.outputs)),
            "pricings": str(path.pricings),
        },
    )


class _Run:
    """One program in the units of the interior point: objective over the utility range."""

    def __init__(self, program: LinearProgram, options: StructuredOptions) -> None:
        sides = program.sides
        assert sides is not None
        self.program, self.sides, self.cone = program, sides, cone_of(sides)
        self.options = options
        self.p = program.prior.probabilities
        self.width = program.gain_range or 1.0
        self.shift = program.objective.max(axis=1)
        self.c = np.ascontiguousarray((program.objective - self.shift[:, None]).T) / self.width

    def fits(self, warm: WarmStart) -> bool:
        """Whether a point is one of this problem under other levels."""
        point, (m, n) = warm.point, self.c.shape
        return (
            isinstance(self.cone, Cone)
            and point.cone.linked == self.cone.linked
            and point.slacks.shape[2] == n
            and int(warm.outputs.max()) < m
        )

    def solve_restricted(self) -> Candidate:
        """Under zeros and limits: all outputs to the end, none is priced."""
        assert isinstance(self.cone, Cone)
        targets = relative_targets(self.c, self.options.target_power)
        found = solve_required(self.program, self.p, self.c, self.cone, targets, self.options)
        prices, limits = found.duals.prices, found.duals.limits
        assert prices is not None
        assert limits is not None
        duals = Duals(prices * self.width + self.shift, limits=limits * self.width)
        return replace(found, duals=duals)

    def solve_all(self) -> Candidate:
        """From all outputs."""
        return self.solve(np.arange(len(self.c)))

    def solve(self, active: Places, warm: WarmStart | None = None) -> Candidate:
        """Rounds of solving and pricing, from all outputs or from a few."""
        m = len(self.c)
        iterations, eliminations, kept = 0, 0, None
        for turn in range(_ROUNDS):
            with one_thread():
                found = solve_columns(
                    self.p,
                    self.c[active],
                    self.cone,
                    active,
                    # Outputs are screened once; what is brought back stays, so that rounds end.
                    screen=turn == 0 and len(active) == m,
                    warm_start=warm,
                    options=self.options,
                )
            kept = kept or found.warm_start
            iterations += found.iterations
            eliminations += found.eliminations
            if len(found.outputs) == m:
                break
            values = best_columns(self.c - found.prices, self.p, self.sides)
            paying = np.flatnonzero(values > values[found.outputs].max() + _PAYING)
            if not len(paying):
                break
            active = np.union1d(found.outputs, paying)
            # What is brought back was there when the point was kept.
            warm = None if kept is None else kept.on(active)
        if not found.converged and self.options.own_steps > 1 and warm is None:
            # Outputs in step take longer and lead there more surely.
            again = _Run(self.program, replace(self.options, own_steps=1.0, vanished=0.0))
            return again.solve(np.arange(m))
        if not np.isfinite(found.columns).all() or not np.isfinite(found.prices).all():
            raise SolverError(
                f"the structured method broke down on {self.program}; try solver='highs-ipm'"
            )
        kernel = np.zeros(self.program.shape)
        kernel[:, found.outputs] = found.columns.T
        return Candidate(
            kernel,
            Duals(found.prices * self.width + self.shift),
            "structured interior point",
            {
                "iterations": str(iterations),
                "eliminations": str(eliminations),
                "converged": str(found.converged),
            },
            kept,
        )
