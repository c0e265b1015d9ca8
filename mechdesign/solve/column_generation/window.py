"""The window mechanism: near-optimal columns for any number of symbols, without a search.

Symbols are arcs of length p_x on a circle of length one. Lifts are high inside a window and low
outside, and the window moves around. A symbol cut by an end of the window gets a lift in between.
With many small symbols nearly nothing is lost against the universal bound.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from ...certificate.columns.families import (
    Family,
    LiftFamily,
    StaircaseFamily,
    bounded_family_of,
    family_of,
)
from ...program.duals import Candidate, Duals
from ...program.program import SublinearProgram
from ..method import INFORMATION, Method
from .master import merged, mixed_kernel

Vector = NDArray[np.float64]


def window_columns(family: Family, *, paired: bool = True) -> tuple[Vector, Vector]:
    """Deviations ``(C, n)`` and shares ``(C,)`` of a mixture of at most 2n windows.

    Between two positions at which an end of the window meets an end of an arc, deviations are
    linear in the position, so those positions alone have the same mean.

    Parameters
    ----------
    paired : whether symbols are ordered so that both ends of the window meet ends of arcs together
    """
    groups = family.groups
    masses = groups.spread(groups.masses)
    width, low, step = _shape(family, float(masses.sum()))
    order = _around(masses, width) if paired else np.arange(len(masses))
    p = masses[order]
    ends = np.concatenate([[0.0], np.cumsum(p)])
    total = float(ends[-1])
    places = np.unique(np.concatenate([ends[:-1], (ends[:-1] - width) % total]))
    gaps = np.diff(np.concatenate([places, [places[0] + total]]))
    shares = (gaps + np.roll(gaps, 1)) / (2 * total)
    inside = np.zeros((len(places), len(p)))
    for turn in (-total, 0.0, total):
        start, end = places[:, None] + turn, places[:, None] + turn + width
        overlap = np.minimum(end, ends[None, 1:]) - np.maximum(start, ends[None, :-1])
        inside += np.maximum(overlap, 0.0)
    inside = np.clip(inside / p, 0.0, 1.0)
    deviations = np.empty_like(inside)
    deviations[:, order] = low + step * inside
    return merged(deviations, shares)


def _around(masses: Vector, width: float) -> NDArray[np.intp]:
    """An order in which both ends of the window meet ends of arcs at nearly the same time.

    Symbols are laid one after the other; once a window's length is laid, the next one is that
    whose mass brings its end nearest to a window's length ahead of an end that lies behind.
    """
    ranked = np.argsort(masses, kind="stable").tolist()
    sorted_masses = masses[ranked].tolist()
    # The first window takes every so many symbols in the order of mass, so that each has partners.
    every = max(round(float(masses.sum()) / width), 1)
    laid = 0.0
    order: list[int] = []
    behind: list[float] = []
    place, next_behind = 0, 0
    while ranked:
        if laid < width:
            place = (place + every - 1) % len(ranked)
        else:
            fitting = behind[next_behind] + width - laid
            next_behind += 1
            place = bisect_left(sorted_masses, fitting)
            if place == len(ranked) or (
                place > 0 and fitting - sorted_masses[place - 1] < sorted_masses[place] - fitting
            ):
                place -= 1
        order.append(ranked.pop(place))
        laid += sorted_masses.pop(place)
        behind.append(laid)
        if ranked:
            place %= len(ranked)
    return np.array(order)


def _shape(family: Family, total: float) -> tuple[float, float, float]:
    """Length of the window; deviation outside, and what is added inside."""
    if isinstance(family, LiftFamily):
        below, above = family.below, family.above
        return total * below / (above + below), -below, above + below
    assert isinstance(family, StaircaseFamily)
    width = family.target
    scale = 1 + family.excess * width
    return width, -family.excess * width / scale, family.excess / scale


class Window(Method):
    """f-informations under one lift box or one ratio, at any size."""

    name = "window"
    features = INFORMATION
    is_exact = False
    reason = (
        "many symbols of different mass: a window of high lifts moves around the symbols and comes "
        "close to the universal bound without any search"
    )

    def condition(self, program: SublinearProgram) -> str | None:
        """Applies to f-informations under one lift box with an upper side, or one ratio."""
        family = bounded_family_of(program)
        return family if isinstance(family, str) else None

    def lateness(self, program: SublinearProgram) -> int:
        """Behind what comes to the optimum."""
        return 1

    def solve(self, program: SublinearProgram) -> Candidate:
        """At most 2n windows; the bound is the universal one."""
        family = family_of(program)
        assert not isinstance(family, str)
        kernel = mixed_kernel(*window_columns(family))
        return Candidate(kernel, Duals(), "closed form (windows)")
