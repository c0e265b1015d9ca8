"""First columns for column generation: good for any prices, found without any.

At equal prices the best columns are those whose raised symbols have just the right mass. Pairs of
halves' sets come very near to it, so that for priors without large atoms these columns alone often
reach what no column can exceed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .columns import Columns, Family, LiftFamily, StaircaseFamily
from .halves import Halves

Vector = NDArray[np.float64]

_ITEMS = 26
_PER_ROUND = 8


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
    cuts = np.linspace(0, family.total, 4097)
    return family.groups.masses, float(cuts[np.argmax(family.worth_of(cuts))])


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
    units, target = _units(family)
    all_symbols = _symbols(family)
    symbols = all_symbols[units[all_symbols] <= target * (1 + 1e-12)]
    if len(family.groups) < 3 or len(symbols) < 2:
        return Columns(np.empty((0, len(units))), np.empty(0, int), np.empty(0))
    rounds = max(8, len(all_symbols) // 2)
    found = []
    for _ in range(rounds):
        order = rng.permutation(len(symbols))
        chosen, rest = symbols[order[:_ITEMS]], symbols[order[_ITEMS:]]
        aim = target - rng.uniform(0.2, 0.8) * float(units[chosen].sum())
        filled = np.cumsum(units[rest])
        raised = rest[: int(np.searchsorted(filled, aim, "right"))] if aim > 0 else rest[:0]
        counts = np.bincount(raised, minlength=len(units)).astype(float)
        found += _complete(family, chosen, counts, target - float(counts @ units), units)
    if not found:
        return Columns(np.empty((0, len(units))), np.empty(0, int), np.empty(0))
    table, part, amount = zip(*found, strict=True)
    return Columns(np.array(table), np.array(part), np.array(amount))


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
