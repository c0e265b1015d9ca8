"""Where a function of the level that only grows passes zero."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

# Doublings until a level counts as unlimited, and steps of the search between two levels.
_DOUBLINGS = 40
_STEPS = 60


@dataclass(frozen=True)
class Crossing:
    """Two neighbouring levels: at ``below`` the function is at most 0, at ``above`` positive.

    ``above`` is ``None`` where the function never is positive, ``below`` where it is from the
    start on.
    """

    below: float | None
    above: float | None


def find_crossing(
    excess: Callable[[float], float],
    start: float,
    near: float,
    width: float,
    *,
    above: bool,
    known: float = 0.0,
) -> Crossing:
    """Bracket the level at which a growing function of it passes zero.

    Parameters
    ----------
    excess : the function; infinite values are fine, jumps too
    start : where to look first
    near : a value this close to zero ends the search, on the side that is wanted
    width : so does a bracket this narrow, relative to its upper end
    above : which side that is
    known : a level that the search begins at; where the function is not positive

    Examples
    --------
    >>> found = find_crossing(lambda level: level * level - 2, 1.0, 1e-12, 1e-12, above=False)
    >>> round(found.below, 9), found.below**2 <= 2 < found.above**2
    (1.414213562, True)
    """
    low, at_low = known, excess(known)
    if at_low > 0:
        return Crossing(None, known)
    if excess(math.inf) <= 0:
        return Crossing(math.inf, None)
    high = max(start, 1e-6)
    at_high = excess(high)
    for _ in range(_DOUBLINGS):
        if at_high > 0:
            break
        low, at_low = high, at_high
        high, at_high = 2 * high, excess(2 * high)
    else:
        return Crossing(math.inf, None)
    halve = False
    for _ in range(_STEPS):
        if high - low <= width * high or (at_high if above else -at_low) <= near:
            break
        middle = _between(low, high, at_low, at_high, halve)
        if not low < middle < high:
            break  # neighbouring floats
        found, before = excess(middle), high - low
        if found > 0:
            high, at_high = middle, found
        else:
            low, at_low = middle, found
        # A side that hardly moves is a sign to halve instead of interpolating.
        halve = high - low > before / 2
    return Crossing(low, high)


def _between(low: float, high: float, at_low: float, at_high: float, halve: bool) -> float:
    middle = (low + high) / 2
    if halve or math.isinf(at_high) or math.isinf(at_low) or at_high <= at_low:
        return math.sqrt(low * high) if 0 < 8 * low < high else middle
    share = -at_low / (at_high - at_low)
    return low + min(max(share, 0.02), 0.98) * (high - low)
