"""Frontiers: the best utility that each notion on the page allows, level by level."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from ..errors import MechdesignError
from ..privacy.notion import NOTIONS, PrivacyNotion
from ..solve._design import Design, design
from ..solve._sweep import sweep
from ..solve.problem import state_problem
from ..utility.linear import LinearUtility
from .settings import Demand, Settings

#: Levels of a frontier in nats: the ends of the sliders, and even steps of the logarithm between.
GRID = tuple(float(f"{level:.4g}") for level in np.geomspace(0.01, 10, 19))
#: Seconds for one point of a frontier whose utility needs a search.
POINT_LIMIT = 2.0


@dataclass(frozen=True)
class Point:
    """The best utility at a level: ``value`` is attained, ``bound`` is not exceeded."""

    level: float
    value: float
    bound: float


@dataclass(frozen=True)
class Curve:
    """The frontier of one notion, as far as it has been computed.

    Attributes
    ----------
    demand : the notion; a frontier keeps the shape of its levels
    points : with rising level
    problem : why there are no more points, or nothing
    """

    demand: Demand
    points: tuple[Point, ...] = ()
    problem: str = ""

    @property
    def label(self) -> str:
        """Name of the notion; with two levels also the lower to the upper one, as in ``2:1``."""
        shape = _shape(self.demand)
        if shape is None:
            return self.demand.title
        kind, number = shape
        return f"{self.demand.title} " + (f"{number:.3g}:1" if kind == "ratio" else f"{number:g}:ε")


def frontier_key(settings: Settings) -> Hashable:
    """What a frontier depends on: settings with equal keys have the same."""
    shapes = tuple((demand.name, _shape(demand)) for demand in settings.demands)
    return settings.names, settings.weights, settings.utility, shapes


def notion_at(demand: Demand, level: float) -> PrivacyNotion:
    """The notion at a level of its frontier.

    For two levels it is the upper one; the lower keeps its ratio to it where both are positive and
    finite, and stays as it is otherwise.
    """
    shape = _shape(demand)
    if shape is None:
        return NOTIONS[demand.name].at(level)
    kind, number = shape
    return NOTIONS[demand.name].at(number * level if kind == "ratio" else number, level)


def _shape(demand: Demand) -> tuple[str, float] | None:
    if len(demand.levels) == 1:
        return None
    low, high = demand.levels
    if all(0 < level < math.inf for level in demand.levels):
        return "ratio", float(f"{low / high:.9g}")
    return "fixed", low


Piece = tuple[Demand, tuple[float, ...]]


def pieces(settings: Settings) -> list[Piece]:
    """The frontiers of all notions in pieces of work, between which whoever waits can give up.

    A linear utility is quick, and swept a notion at a time. For others each point is a piece: few
    points of each notion first, which show the shape, then those between.
    """
    if isinstance(settings.goal(), LinearUtility):
        return [(demand, GRID) for demand in settings.demands]
    rough = [*GRID[::6], *GRID[3::6]]
    order = [*rough, *(level for level in GRID if level not in rough)]
    return [(demand, (level,)) for level in order for demand in settings.demands]


def points(settings: Settings, piece: Piece) -> tuple[Point, ...]:
    """The points of one piece; raises :class:`MechdesignError` where no method applies."""
    prior, utility = settings.prior(), settings.goal()
    demand, levels = piece
    notions = [notion_at(demand, level) for level in levels]
    if len(notions) > 1:
        found: list[Design] = sweep(prior, utility, notions)
    else:
        found = [design(prior, utility, notions[0], time_limit=POINT_LIMIT)]
    return tuple(Point(at, f.value, f.bound) for at, f in zip(levels, found, strict=True))


@dataclass(frozen=True)
class Span:
    """The values that frontiers run between: of telling nothing, and of telling everything."""

    nothing: float
    everything: float


def span(settings: Settings) -> Span:
    """Utilities without any release and without any privacy."""
    problem = state_problem(settings.prior(), settings.goal(), NOTIONS["pml"].at(math.inf))
    return Span(problem.program.constant_value, problem.program.revealed_value)


@dataclass(frozen=True)
class Rival:
    """A notion to compare with, at the level set for it: its best utility, or why there is none."""

    demand: Demand
    value: float = math.nan
    problem: str = ""


def rival(settings: Settings, demand: Demand) -> Rival:
    """What a notion allows at the level set for it, held alone."""
    try:
        notion, limit = demand.notion, POINT_LIMIT
        return Rival(
            demand, design(settings.prior(), settings.goal(), notion, time_limit=limit).value
        )
    except MechdesignError as problem:
        return Rival(demand, problem=str(problem))
