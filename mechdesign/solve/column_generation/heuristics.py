"""Columns found without proof: to start column generation with, and beside branch and bound.

At equal prices the best columns are those whose symbols at the upper lift bound have just the right
mass, and meeting in the middle comes very near to it. For priors without large atoms such columns
alone often reach what no column can exceed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .families import Columns, Family, LiftFamily
from .subsets import Halves

Vector = NDArray[np.float64]
Places = NDArray[np.intp]

# A column: symbols of each group at their upper bound, the group of one between, and its mass.
_Column = tuple[Vector, int, float]

_CHOICE = 26
_PER_CHOICE = 3
_PER_SYMBOL, _MOST_ORDERS = 5, 2000
# How often a symbol that takes up most of the mass is tried at its upper bound.
_WITH_LARGE = 0.2


def first_columns(family: Family, rng: np.random.Generator, *, fitted: bool = True) -> Columns:
    """Some columns per symbol: runs of symbols in a few orders, and those of nearly the best mass.

    Parameters
    ----------
    fitted : whether runs of random orders are fitted to the best mass by meeting in the middle
    """
    runs = _runs(family, rng)
    return Columns.join([runs, _fitted_runs(family, rng)]) if fitted else runs


def perturbed_columns(
    family: LiftFamily, density: Vector, count: int, rng: np.random.Generator
) -> Columns:
    """Columns of the right mass with symbols of high reduced value per mass, with variety.

    Parameters
    ----------
    density : reduced value per mass of each group, ``(G,)``
    count : how many perturbed orders to try
    """
    units, target = family.units, family.target
    symbols = _that_fit(family)
    spread = float(np.std(density))
    found: list[_Column] = []
    for _ in range(count):
        some = _without_some(symbols, units, target, rng)
        noise = spread * 10 ** rng.uniform(-2, 0.3) * rng.normal(size=len(some))
        order = some[np.argsort(-(density[some] + noise), kind="stable")]
        end = int(np.searchsorted(np.cumsum(units[order]), target, "right"))
        low = max(0, end - _CHOICE // 2)
        found += _completed(family, order[:low], order[low : low + _CHOICE])
    return _as_columns(found, len(units))


def _runs(family: Family, rng: np.random.Generator) -> Columns:
    """From each symbol on, in a few orders, symbols at the upper bound until the mass is used up.

    Staircases have no symbol between its bounds: the last one is at either, both are taken.
    """
    units, symbols, n = family.units, family.groups.symbols, len(family.groups.symbols)
    found: list[_Column] = []
    for order in (symbols, symbols[::-1], rng.permutation(symbols)):
        ends = np.concatenate([[0.0], np.cumsum(np.tile(units[order], 2))])
        for start in range(n):
            end = int(np.searchsorted(ends, ends[start] + family.target, "right")) - 1
            end = min(end, start + n - 1)
            counts = _counts(order[np.arange(start, end) % n], len(units))
            last = int(order[end % n])
            if isinstance(family, LiftFamily):
                amount = max(ends[start] + family.target - ends[end], 0.0)
                found.append((counts, last, amount))
            else:
                found += [(counts, -1, 0.0), (counts + (np.arange(len(units)) == last), -1, 0.0)]
    return _as_columns(found, len(units))


def _fitted_runs(family: Family, rng: np.random.Generator) -> Columns:
    """Runs of random orders, their far ends made to fit the mass.

    The runs of one order follow each other around the circle, so that together they have every
    symbol at its upper bound about as often as they must.
    """
    units, target = family.units, family.target
    symbols = _that_fit(family)
    found: list[_Column] = []
    for _ in range(_MOST_ORDERS if len(units) >= 3 and len(symbols) >= 2 else 0):
        order = rng.permutation(_without_some(symbols, units, target, rng))
        for surely, choice in _around(units[order], target):
            found += _completed(family, order[surely], order[choice])
        if len(found) >= _PER_SYMBOL * len(family.groups.symbols):
            break
    return _as_columns(found, len(units))


def _around(masses: Vector, target: float) -> Iterator[tuple[Places, Places]]:
    """Positions surely at the upper bound, and those to choose from, for runs around the circle."""
    n = len(masses)
    ends = np.concatenate([[0.0], np.cumsum(np.tile(masses, 2))])
    total = ends[n]
    count = max(int(total / target), 1)
    for k in range(count):
        start = int(np.searchsorted(ends, k * total / count))
        end = int(np.searchsorted(ends, ends[start] + target, "right")) - 1
        end = min(end, start + n)
        # Half of those to choose from lie on either side of the end of the run.
        low = max(start, min(end - _CHOICE // 2, start + n - _CHOICE))
        high = min(low + _CHOICE, start + n)
        yield np.arange(start, low) % n, np.arange(low, high) % n


def _that_fit(family: Family) -> Places:
    """Symbols whose way to the upper bound does not take more than all the mass."""
    symbols = family.groups.symbols
    return symbols[family.units[symbols] <= family.target * (1 + 1e-12)]


def _without_some(
    symbols: Places, units: Vector, target: float, rng: np.random.Generator
) -> Places:
    """Symbols that take up most of the mass leave no choice beside them: mostly left out."""
    large = units[symbols] > 0.5 * target
    kept = symbols[~large | (rng.random(len(symbols)) < _WITH_LARGE)]
    return kept if kept.size else symbols


def _completed(family: Family, surely: Places, choice: Places) -> list[_Column]:
    """The few subsets of a choice that come nearest to the mass that other symbols leave.

    What is missing under lift bounds goes to the symbol that loses least by it.
    """
    units, groups = family.units, len(family.groups)
    counts = _counts(surely, groups)
    left = family.target - float(counts @ units)
    halves = Halves(units[choice], left)
    found: list[_Column] = []
    for members, missing in halves.nearest(left, _PER_CHOICE) if halves.is_short else ():
        table = counts + _counts(choice[members], groups)
        if not isinstance(family, LiftFamily):
            found.append((table, -1, 0.0))
            continue
        spare = np.flatnonzero((table < family.groups.sizes) & (units >= missing))
        if spare.size:
            chord = (family.at_high - family.at_low)[spare] / family.span[spare] * missing
            loss = chord - family.between(spare, np.full(len(spare), missing))
            found.append((table, int(spare[np.argmin(loss)]), missing))
    return found


def _counts(symbols: Places, groups: int) -> Vector:
    return np.bincount(symbols, minlength=groups).astype(float)


def _as_columns(found: list[_Column], groups: int) -> Columns:
    if not found:
        return Columns.whole(np.empty((0, groups)))
    counts, part, amount = zip(*found, strict=True)
    return Columns(np.array(counts), np.array(part), np.array(amount))
