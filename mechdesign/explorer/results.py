"""What follows from the settings: the design and its implications, frontiers, alternatives.

Functions of the settings alone, which a thread or another process computes.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import mechdesign as md

from ..labels import listing
from ..solve import matrix_design
from .settings import NotionSetting, Settings, message

#: Levels of a frontier in nats: the ends of the sliders, and even steps of the logarithm between.
LEVELS = tuple(float(f"{level:.4g}") for level in np.geomspace(0.01, 10, 19))
#: Seconds for one point of a frontier whose utility needs a search.
POINT_LIMIT = 2.0


@dataclass(frozen=True)
class Result:
    """A certified design for the settings, with everything the page says about it.

    Attributes
    ----------
    settings : what was chosen
    design : the design; its kernel passed an exact check of every required notion
    report : what it leaks
    implied : what follows from the required notions, for every mechanism that satisfies them
    statements : the published results that the implications rest on, by identifier
    notes : what a person should know about this design
    """

    settings: Settings
    design: md.Design
    report: md.AuditReport
    implied: md.theory.Implications
    statements: dict[str, str]
    notes: tuple[str, ...]


def compute(settings: Settings, time_limit: float | None = None) -> Result:
    """Design, audit, and derive what the required notions imply.

    Parameters
    ----------
    settings : Settings
    time_limit : float, optional
        Seconds for methods that search; the best kernel found by then is certified with its gap.

    Raises
    ------
    MechdesignError
        For settings that cannot be used, and where no method applies or the solver fails.
    """
    prior, notions = settings.prior(), settings.required_notions()
    design = matrix_design(prior, settings.objective(), notions, time_limit=time_limit)
    implied = md.implications(notions, prior)
    steps = dict.fromkeys(step.id for entry in implied.found for step in entry.derivation)
    notes = []
    massless = [prior.labels[i] for i, weight in enumerate(prior.weights) if weight == 0]
    if massless:
        notes.append(
            f"Symbols without mass ({listing(massless)}) play no part in the design: each gets a "
            "copy of the row that serves it best."
        )
    advice = md.identifiability(design).advice
    if advice:
        notes.append(f"{advice[0].upper()}{advice[1:]}.")
    return Result(
        settings,
        design,
        md.audit(design.mechanism, prior, notions),
        implied,
        {step: md.theory.find_theorem(step).statement for step in steps},
        tuple(notes),
    )


# Frontiers: the best utility that a notion allows, by level


class Point(NamedTuple):
    """The best utility at a level, or the least risk."""

    level: float
    value: float


@dataclass(frozen=True)
class Curve:
    """The frontier of one notion, as far as it has been computed.

    Attributes
    ----------
    notion : the notion; of two levels a frontier keeps the ratio
    points : with rising level
    problem : why there are no more points, or nothing
    asks : what is estimated, in words, where the values are risks
    """

    notion: NotionSetting
    points: tuple[Point, ...] = ()
    problem: str = ""
    asks: str = ""

    @property
    def label(self) -> str:
        """Name of the notion; with two levels also the lower to the upper one, as in ``2:1``."""
        shape = _shape(self.notion)
        if shape is None:
            return self.notion.title
        kind, number = shape
        return f"{self.notion.title} " + (f"{number:.3g}:1" if kind == "ratio" else f"{number:g}:ε")


def frontier_key(settings: Settings) -> Hashable:
    """What a frontier depends on: settings with equal keys have the same one."""
    shapes = tuple((chosen.name, _shape(chosen)) for chosen in settings.notions)
    return settings.names, settings.weights, settings.goal, shapes


def notion_at(chosen: NotionSetting, level: float) -> md.PrivacyNotion:
    """The notion at a level of its frontier.

    For two levels it is the upper one; the lower keeps its ratio to it where both are positive and
    finite, and stays as it is otherwise.
    """
    cls, shape = md.privacy.NOTIONS[chosen.name], _shape(chosen)
    if shape is None:
        return cls.at(level)
    kind, number = shape
    return cls.at(number * level if kind == "ratio" else number, level)


def _shape(chosen: NotionSetting) -> tuple[str, float] | None:
    if len(chosen.levels) == 1:
        return None
    low, high = chosen.levels
    if all(0 < level < math.inf for level in chosen.levels):
        return "ratio", float(f"{low / high:.9g}")
    return "fixed", low


#: Some levels of the frontier of a notion.
Piece = tuple[NotionSetting, tuple[float, ...]]


def frontier_pieces(settings: Settings) -> list[Piece]:
    """The frontiers of all notions in pieces of work, between which it can be cancelled.

    Designs for a linear utility are quick, so each notion is one piece. For other utilities each
    point is a piece: few points of each notion first, which show the shape, then those between.
    """
    if isinstance(settings.objective(), md.utility.LinearUtility):
        return [(chosen, LEVELS) for chosen in settings.notions]
    coarse = [*LEVELS[::6], *LEVELS[3::6]]
    order = [*coarse, *(level for level in LEVELS if level not in coarse)]
    return [(chosen, (level,)) for level in order for chosen in settings.notions]


def frontier_points(settings: Settings, piece: Piece) -> tuple[Point, ...]:
    """The points of one piece; raises :class:`MechdesignError` where no method applies."""
    prior, utility = settings.prior(), settings.objective()
    chosen, levels = piece
    notions = [notion_at(chosen, level) for level in levels]
    if len(notions) > 1:
        designs = md.sweep(prior, utility, notions)
    else:
        designs = [matrix_design(prior, utility, notions[0], time_limit=POINT_LIMIT)]
    return tuple(
        Point(at, settings.shown(found.value)) for at, found in zip(levels, designs, strict=True)
    )


class ValueRange(NamedTuple):
    """The values that frontiers run between: uninformative mechanisms and full disclosure.

    The risk of an uninformative one is infinite.
    """

    uninformative: float
    full_disclosure: float


def value_range(settings: Settings) -> ValueRange:
    """The best utility at level zero, and without any constraint."""
    prior, utility = settings.prior(), settings.objective()
    if settings.shows_risk:
        return ValueRange(
            math.inf, settings.shown(matrix_design(prior, utility, md.PML(math.inf)).value)
        )
    least, most = (matrix_design(prior, utility, md.PML(level)).value for level in (0.0, math.inf))
    return ValueRange(least, most)


@dataclass(frozen=True)
class Alternative:
    """A notion to compare with, at its level: its best utility, or why there is none."""

    notion: NotionSetting
    value: float = math.nan
    problem: str = ""


def alternative(settings: Settings, chosen: NotionSetting) -> Alternative:
    """The best utility, or the least risk, under one notion alone."""
    try:
        prior, utility = settings.prior(), settings.objective()
        design = matrix_design(prior, utility, chosen.notion, time_limit=POINT_LIMIT)
    except md.MechdesignError as problem:
        return Alternative(chosen, problem=message(problem))
    return Alternative(chosen, settings.shown(design.value))
