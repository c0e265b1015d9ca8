"""First columns for column generation: good for any prices, found without any.

At equal prices the best columns are those whose raised symbols have just the right mass. Pairs of
halves' sets come very near to it, so that for priors without large atoms these columns alone often
reach what no column can exceed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .columns import Columns, Family, LiftFamily, StaircaseFamily
from .halves import Halves

Vector = NDArray[np.float64]

_ITEMS = 26
_PER_ROUND = 3
_PER_SYMBOL, _MOST_ORDERS = 5, 2000
# How often a symbol that takes up most of the mass is tried raised.
_RAISE_LARGE = 0.2


def first_columns(family: Family, rng: np.random.Generator) -> Columns:
    """Some columns per symbol: each symbol alone raised or lowered, windows, and near sets."""
    parts = [_greedy(family, rng), _near(family, rng)]
    return Columns.join([part for part in parts if len(part)])


def _symbols(family: Family) -> NDArray[np.intp]:
    return np.repeat(np.arange(len(family.groups)), family.groups.sizes.astype(int))


def _units(family: Family) -> tuple[Vector, float]:
    """Mass that raising a symbol of each group takes, and the mass to aim at."""
    if isinstance(family, LiftFamily):
        return family.units, family.capacity
    assert isinstance(family, StaircaseFamily)
    return family.groups.masses, family.best_mass


def _greedy(family: Family, rng: np.random.Generator) -> Columns:
    """From each symbol on, in a few orders, raise symbols until the mass is used up."""
    units, target = _units(family)
    symbols = _symbols(family)
    counts, parts, amounts = [], [], []
    for order in (symbols, symbols[::-1], rng.permutation(symbols)):
        masses = units[order]
        doubled = np.concatenate([[0.0], np.cumsum(np.tile(masses, 2))])
        n = len(order)
        for start in range(n):
            end = int(np.searchsorted(doubled, doubled[start] + target, "right")) - 1
            end = min(end, start + n - 1)
            taken = order[np.arange(start, end) % n]
            counts.append(np.bincount(taken, minlength=len(units)).astype(float))
            parts.append(int(order[end % n]))
            amounts.append(max(doubled[start] + target - doubled[end], 0.0))
    found = Columns(np.array(counts), np.array(parts), np.array(amounts))
    return _fitted(family, found)


def _fitted(family: Family, columns: Columns) -> Columns:
    """Staircases have no partly raised symbol: it is raised or not, both ways."""
    if isinstance(family, LiftFamily):
        return columns
    none = np.full(len(columns), -1)
    without = Columns(columns.counts, none, np.zeros(len(columns)))
    counts = columns.counts.copy()
    counts[np.arange(len(columns)), columns.part] += 1
    return Columns.join([without, Columns(counts, none, np.zeros(len(columns)))])


def _near(family: Family, rng: np.random.Generator) -> Columns:
    """Sets of nearly the mass aimed at: windows of random orders, their far ends made to fit.

    The windows of one order follow each other around the circle, so that together they raise every
    symbol about as often as they must.
    """
    units, target = _units(family)
    all_symbols = _symbols(family)
    symbols = all_symbols[units[all_symbols] <= target * (1 + 1e-12)]
    none = Columns(np.empty((0, len(units))), np.empty(0, int), np.empty(0))
    if len(family.groups) < 3 or len(symbols) < 2:
        return none
    found: list[tuple[Vector, int, float]] = []
    for _ in range(_MOST_ORDERS):
        order = rng.permutation(_without_some(symbols, units, target, rng))
        for first, chosen in _windows(units[order], target, len(order)):
            counts = np.bincount(order[first], minlength=len(units)).astype(float)
            left = target - float(counts @ units)
            found += _complete(family, order[chosen], counts, left, units)
        if len(found) >= _PER_SYMBOL * len(all_symbols):
            break
    if not found:
        return none
    table, part, amount = zip(*found, strict=True)
    return Columns(np.array(table), np.array(part), np.array(amount))


def columns_along(
    family: LiftFamily, density: Vector, count: int, rng: np.random.Generator
) -> Columns:
    """Sets of exactly the mass aimed at that raise symbols of high worth per mass, with variety.

    Parameters
    ----------
    density : worth per mass of each group at some prices, ``(G,)``
    count : how many perturbed orders to try
    """
    units, target = family.units, family.capacity
    symbols = _symbols(family)
    symbols = symbols[units[symbols] <= target * (1 + 1e-12)]
    spread = float(np.std(density))
    found: list[tuple[Vector, int, float]] = []
    for _ in range(count):
        some = _without_some(symbols, units, target, rng)
        noise = spread * 10 ** rng.uniform(-2, 0.3) * rng.normal(size=len(some))
        order = some[np.argsort(-(density[some] + noise), kind="stable")]
        end = int(np.searchsorted(np.cumsum(units[order]), target, "right"))
        low = max(0, end - _ITEMS // 2)
        counts = np.bincount(order[:low], minlength=len(units)).astype(float)
        left = target - float(counts @ units)
        found += _complete(family, order[low : low + _ITEMS], counts, left, units)
    if not found:
        return Columns(np.empty((0, len(units))), np.empty(0, int), np.empty(0))
    table, part, amount = zip(*found, strict=True)
    return Columns(np.array(table), np.array(part), np.array(amount))


def _without_some(
    symbols: NDArray[np.intp], units: Vector, target: float, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Symbols that take up most of the mass, once raised, leave no choice: mostly left low."""
    large = units[symbols] > 0.5 * target
    kept = symbols[~large | (rng.random(len(symbols)) < _RAISE_LARGE)]
    return kept if kept.size else symbols


def _windows(
    masses: Vector, target: float, n: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Positions surely raised, and those to choose from, for windows around the circle."""
    ends = np.concatenate([[0.0], np.cumsum(np.tile(masses, 2))])
    total = ends[n]
    count = max(int(total / target), 1)
    for k in range(count):
        start = int(np.searchsorted(ends, k * total / count))
        end = int(np.searchsorted(ends, ends[start] + target, "right")) - 1
        end = min(end, start + n)
        # Half of those to choose from lie on either side of the window's end.
        low = max(start, min(end - _ITEMS // 2, start + n - _ITEMS))
        high = min(low + _ITEMS, start + n)
        yield np.arange(start, low) % n, np.arange(low, high) % n


def _complete(
    family: Family, chosen: NDArray[np.intp], counts: Vector, target: float, units: Vector
) -> list[tuple[Vector, int, float]]:
    """The few best sets of the chosen symbols to make up a mass."""
    halves = Halves(units[chosen], target)
    if not halves.is_short:
        return []
    (left, _), (right, _) = halves.lists
    place = np.searchsorted(right, target - left, "right") - 1
    missing = np.where(place >= 0, target - left - right[np.maximum(place, 0)], np.inf)
    found = []
    for i in np.argsort(missing, kind="stable")[:_PER_ROUND]:
        if not np.isfinite(missing[i]):
            break
        table = counts.copy()
        for side, member, row in zip(halves.sides, halves.member, (i, place[i]), strict=True):
            np.add.at(table, chosen[side], member[row])
        if not isinstance(family, LiftFamily):
            found.append((table, -1, 0.0))
            continue
        amount = max(float(missing[i]), 0.0)
        spare = np.flatnonzero((table < family.groups.sizes) & (units >= amount))
        if not spare.size:
            continue
        p = family.groups.masses[spare]
        chord = (family.at_high - family.at_low)[spare] / family.span[spare] * amount
        curve = p * (family.curve(family.low[spare] + amount / p) - family.at_low[spare])
        found.append((table, int(spare[np.argmin(chord - curve)]), amount))
    return found
