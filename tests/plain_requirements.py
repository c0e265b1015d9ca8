"""Random requirements beside notions, with their meaning written out in plain rational numbers.

A requirement comes as what the package is called with, and as rows low ≤ Σ A_xy K_xy ≤ high of
fractions, written from its definition. Nothing of the package is used for the rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.random import Generator
from plain_check import SUMS, Asked, at_most, pairs_of
from random_designs import MAKERS

import mechdesign as md
from mechdesign.errors import ZeroMassWarning

Entries = dict[tuple[int, int], Fraction]
#: What equations are allowed to be off by where nothing is said, as a share of their largest
#: coefficient.
TOLERANCE = 1e-12


@dataclass(frozen=True)
class PlainRow:
    """low ≤ Σ A_xy K_xy ≤ high; ``None`` asks nothing."""

    entries: Entries
    low: Fraction | None
    high: Fraction | None

    @property
    def is_equation(self) -> bool:
        """Whether it holds within a tolerance that is next to nothing."""
        return None not in (self.low, self.high) and self.high - self.low < Fraction(1, 10**7)  # type: ignore[operator]

    def value(self, weights: Any, bits: int) -> Fraction:
        """Σ A_xy K_xy for integer weights over ``2**bits``."""
        return sum((a * int(weights[x][y]) for (x, y), a in self.entries.items()), Fraction(0)) / (
            1 << bits
        )

    def is_kept(self, weights: Any, bits: int) -> bool:
        """Whether it holds, exactly."""
        value = self.value(weights, bits)
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


@dataclass(frozen=True)
class Wish:
    """A requirement as handed to the package, and its rows."""

    requirement: Any
    rows: tuple[PlainRow, ...]
    name: str


@dataclass(frozen=True)
class Case:
    """Everything a design is asked with, and the same in plain numbers.

    Attributes
    ----------
    masses : of the symbols, exactly, with sum one
    gains : ``(n, M)``
    notions, asked : as handed to the package, and in plain numbers
    wishes : requirements
    outputs : their labels
    """

    masses: tuple[Fraction, ...]
    gains: Any
    notions: tuple[Any, ...]
    asked: tuple[Asked, ...]
    wishes: tuple[Wish, ...]
    outputs: tuple[int, ...]

    @property
    def prior(self) -> md.Prior:
        common = math.lcm(*(m.denominator for m in self.masses))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZeroMassWarning)
            return md.Prior.from_counts([int(m * common) for m in self.masses])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.masses), len(self.outputs)

    @property
    def rows(self) -> list[PlainRow]:
        """Of every requirement."""
        return [row for wish in self.wishes for row in wish.rows]

    @property
    def requirements(self) -> list[Any]:
        return [wish.requirement for wish in self.wishes]

    def design(self, **more: Any) -> Any:
        """What the package makes of it."""
        utility = md.utility.Matrix(self.gains, list(self.outputs))
        return md.design(
            self.prior, utility, list(self.notions), subject_to=self.requirements, **more
        )

    def __str__(self) -> str:
        return (
            f"masses {[str(m) for m in self.masses]}, outputs {self.outputs}, "
            f"notions {self.notions}, requirements {self.requirements}, "
            f"gains {np.asarray(self.gains).tolist()}"
        )


# What a kernel of integers does


def faults(case: Case, weights: Any, bits: int) -> list[str]:
    """Everything that integer weights break, by the definitions alone."""
    found = []
    n, m = case.shape
    whole = 1 << bits
    table = [[int(w) for w in row] for row in weights]
    if any(w < 0 for row in table for w in row) or any(sum(row) != whole for row in table):
        found.append("no kernel")
    for wish in case.wishes:
        if not all(row.is_kept(table, bits) for row in wish.rows):
            found.append(f"{wish.name} is broken")
    columns = [[Fraction(table[x][y], whole) for x in range(n)] for y in range(m)]
    for asked in case.asked:
        pairs = pairs_of(asked, list(case.masses))
        if pairs is None:
            if not SUMS[asked.name](asked, list(case.masses), columns):
                found.append(f"{asked.name} is broken")
            continue
        for over, under, level in pairs:
            for k in columns:
                left = sum(a * v for a, v in zip(over, k, strict=True))
                right = sum(b * v for b, v in zip(under, k, strict=True))
                if not at_most(left, level, right):
                    found.append(f"{asked.name} is broken")
    return found


# Requirements, each with the rows that define it


def _number(rng: Generator, low: float, high: float) -> float:
    return round(float(rng.uniform(low, high)), 3)


def _row(entries: Entries, low: Any = None, high: Any = None) -> PlainRow:
    return PlainRow(
        entries,
        None if low is None else Fraction(low),
        None if high is None else Fraction(high),
    )


@dataclass(frozen=True)
class Room:
    """What makers of requirements are given: masses, output labels, chances."""

    rng: Generator
    masses: tuple[Fraction, ...]
    outputs: tuple[int, ...]

    @property
    def n(self) -> int:
        return len(self.masses)

    @property
    def m(self) -> int:
        return len(self.outputs)

    @property
    def same(self) -> list[tuple[int, int]]:
        """Positions of symbols and outputs with the same label."""
        return [(x, y) for x in range(self.n) for y, z in enumerate(self.outputs) if x == z]


Maker = Callable[[Room], Wish | None]


def zero_entry(room: Room) -> Wish:
    x, y = int(room.rng.integers(room.n)), int(room.rng.integers(room.m))
    made = md.require.zero(x, room.outputs[y])
    return Wish(made, (_row({(x, y): Fraction(1)}, high=0),), "zero")


def zero_output(room: Room) -> Wish:
    y = int(room.rng.integers(room.m))
    rows = tuple(_row({(x, y): Fraction(1)}, high=0) for x in range(room.n))
    return Wish(md.require.zero(None, room.outputs[y]), rows, "zero output")


def pattern(room: Room) -> Wish:
    allowed = (room.rng.random((room.n, room.m)) < 0.8).astype(float)
    for x, y in room.same:
        allowed[x, y] = 1.0
    rows = tuple(
        _row({(x, y): Fraction(1)}, high=0)
        for x in range(room.n)
        for y in range(room.m)
        if not allowed[x, y]
    )
    return Wish(md.require.zero(pattern=allowed), rows, "pattern")


def within(room: Room) -> Wish:
    limit = float(room.rng.choice([0.5, 1.0, 2.0]))
    if room.rng.random() < 0.5:
        far = [[abs(x - z) > limit for z in room.outputs] for x in range(room.n)]
        made = md.require.zero(farther_than=limit)
    else:
        table = np.round(room.rng.uniform(0, 3, (room.n, room.m)), 2)
        far = (table > limit).tolist()
        made = md.require.zero(farther_than=limit, distance=table)
    rows = tuple(
        _row({(x, y): Fraction(1)}, high=0)
        for x in range(room.n)
        for y in range(room.m)
        if far[x][y]
    )
    return Wish(made, rows, "distance")


def at_least(room: Room) -> Wish:
    x, y, value = (
        int(room.rng.integers(room.n)),
        int(room.rng.integers(room.m)),
        _number(room.rng, 0, 0.6),
    )
    made = md.require.at_least(x, room.outputs[y], value)
    return Wish(made, (_row({(x, y): Fraction(1)}, low=value),), "at least")


def at_least_everywhere(room: Room) -> Wish:
    value = _number(room.rng, 0, 0.9 / room.m)
    rows = tuple(
        _row({(x, y): Fraction(1)}, low=value) for x in range(room.n) for y in range(room.m)
    )
    return Wish(md.require.at_least(None, None, value), rows, "floors")


def at_most_entry(room: Room) -> Wish:
    x, value = int(room.rng.integers(room.n)), _number(room.rng, 1 / room.m, 1)
    rows = tuple(_row({(x, y): Fraction(1)}, high=value) for y in range(room.m))
    return Wish(md.require.at_most(x, None, value), rows, "at most")


def diagonal(room: Room) -> Wish | None:
    if not room.same:
        return None
    if room.rng.random() < 0.5:
        low, high = _number(room.rng, 0, 0.6), _number(room.rng, 0.6, 1)
        made = md.require.diagonal(at_least=low, at_most=high)
        return Wish(made, tuple(_row({e: Fraction(1)}, low, high) for e in room.same), "diagonal")
    chosen = [e for e in room.same if room.rng.random() < 0.6] or room.same[:1]
    lows = {x: _number(room.rng, 0, 0.7) for x, _ in chosen}
    made = md.require.diagonal(at_least=lows)
    return Wish(
        made, tuple(_row({(x, y): Fraction(1)}, lows[x]) for x, y in chosen), "named diagonal"
    )


def _costs(room: Room) -> Any:
    if room.rng.random() < 0.5:
        return [[float(x != z) for z in room.outputs] for x in range(room.n)]
    return np.round(room.rng.uniform(-0.5, 2, (room.n, room.m)), 2).tolist()


def expected_cost(room: Room) -> Wish:
    costs, limit = _costs(room), _number(room.rng, 0.2, 1.1)
    entries = {
        (x, y): room.masses[x] * Fraction(costs[x][y]) for x in range(room.n) for y in range(room.m)
    }
    return Wish(md.require.cost(costs, limit), (_row(entries, high=limit),), "cost")


def each_cost(room: Room) -> Wish:
    costs, limit = _costs(room), _number(room.rng, 0.4, 1.2)
    rows = tuple(
        _row({(x, y): Fraction(costs[x][y]) for y in range(room.m)}, high=limit)
        for x in range(room.n)
    )
    return Wish(md.require.cost(costs, limit, each=True), rows, "each cost")


def invariant(room: Room) -> Wish | None:
    if not {x for x in range(room.n) if room.masses[x]} <= set(room.outputs):
        return None
    tolerance = None if room.rng.random() < 0.7 else float(room.rng.choice([1e-9, 1e-3, 0.1]))
    off = Fraction(TOLERANCE if tolerance is None else tolerance)
    rows = []
    for y, label in enumerate(room.outputs):
        mass = room.masses[label] if label < room.n else Fraction(0)
        room_here = off if mass else Fraction(0)
        entries = {(x, y): room.masses[x] for x in range(room.n)}
        rows.append(_row(entries, mass - room_here, mass + room_here))
    return Wish(md.require.invariant(tolerance), tuple(rows), "invariant")


def output_share(room: Room) -> Wish:
    y, low = int(room.rng.integers(room.m)), _number(room.rng, 0, 0.5)
    high = _number(room.rng, low, 1)
    entries = {(x, y): room.masses[x] for x in range(room.n)}
    made = md.require.output(room.outputs[y], low, high)
    return Wish(made, (_row(entries, low, high),), "output")


def equal_error(room: Room) -> Wish | None:
    order = [int(x) for x in room.rng.permutation(room.n)]
    cut = int(room.rng.integers(1, room.n)) if room.n > 1 else 0
    groups = [order[:cut], order[cut:]]
    if room.n > 3 and room.rng.random() < 0.3:
        groups = [order[:1], order[1:3], order[3:]]
    if not all(sum(room.masses[x] for x in group) for group in groups):
        return None
    tolerance = _number(room.rng, 0.001, 0.3)
    costs = None if room.rng.random() < 0.6 else _costs(room)
    used = costs or [[float(x != z) for z in room.outputs] for x in range(room.n)]
    rows = []
    for i, first in enumerate(groups):
        for second in groups[:i]:
            entries: Entries = {}
            for sign, group in ((1, first), (-1, second)):
                total = sum(room.masses[x] for x in group)
                for x in group:
                    for y in range(room.m):
                        share = sign * room.masses[x] / total * Fraction(used[x][y])
                        entries[x, y] = entries.get((x, y), Fraction(0)) + share
            rows.append(_row(entries, -Fraction(tolerance), Fraction(tolerance)))
    return Wish(md.require.equal_error(groups, tolerance, costs=costs), tuple(rows), "equal error")


def unbiased(room: Room) -> Wish:
    values = {label: _number(room.rng, -2, 2) for label in {*range(room.n), *room.outputs}}
    middle = [0.4 + 0.2 * values[x] for x in range(room.n)]
    for x in range(room.n):
        if x not in room.outputs:
            values[x] = middle[x]
    if room.rng.random() < 0.3:
        tolerance, off = None, Fraction(TOLERANCE * max(1.0, *map(abs, values.values())))
    else:
        tolerance = _number(room.rng, 0.05, 1.5)
        off = Fraction(tolerance)
    rows = tuple(
        _row(
            {(x, y): Fraction(values[z]) for y, z in enumerate(room.outputs)},
            Fraction(values[x]) - off,
            Fraction(values[x]) + off,
        )
        for x in range(room.n)
    )
    return Wish(md.require.unbiased(values, tolerance), rows, "unbiased")


def monotone(room: Room) -> Wish:
    rows = []
    for x in range(room.n - 1):
        for y in range(1, room.m):
            entries = {}
            for z in range(y, room.m):
                entries[x, z], entries[x + 1, z] = Fraction(1), Fraction(-1)
            rows.append(_row(entries, high=0))
    return Wish(md.require.monotone(), tuple(rows), "monotone")


def symmetric(room: Room) -> Wish | None:
    if room.outputs != tuple(range(room.n)):
        return None
    tolerance = None if room.rng.random() < 0.6 else float(room.rng.choice([1e-6, 0.01]))
    off = Fraction(TOLERANCE if tolerance is None else tolerance)
    rows = tuple(
        _row({(x, z): Fraction(1), (z, x): Fraction(-1)}, -off, off)
        for x in range(room.n)
        for z in range(x)
    )
    return Wish(md.require.symmetric(tolerance), rows, "symmetric")


def linear_rows(room: Room) -> Wish:
    sense = str(room.rng.choice(["<=", ">=", "=="]))
    count = int(room.rng.integers(1, 3))
    matrices = np.round(room.rng.uniform(-1, 1, (count, room.n, room.m)), 2)
    # Near the value of a constant kernel, so that it is often possible.
    constant = room.rng.dirichlet(np.ones(room.m))
    off = {"<=": 0.1, ">=": -0.1, "==": 0.0}[sense]
    right = [round(float((a @ constant).sum()) + off, 3) for a in matrices]
    rows = []
    for a, b in zip(matrices.tolist(), right, strict=True):
        entries = {(x, y): Fraction(a[x][y]) for x in range(room.n) for y in range(room.m)}
        largest = max(abs(v) for row in a for v in row) or 1.0
        slack = Fraction(TOLERANCE * largest) if sense == "==" else Fraction(0)
        low = None if sense == "<=" else Fraction(b) - slack
        high = None if sense == ">=" else Fraction(b) + slack
        rows.append(_row(entries, low, high))
    return Wish(md.require.rows(matrices, sense, right), tuple(rows), f"rows {sense}")


def every_output(room: Room) -> Wish | None:
    if room.n < 2:
        return None
    first, second = (int(x) for x in room.rng.choice(room.n, 2, replace=False))
    plus = _number(room.rng, 0.2, 1)
    minus = -round(plus * float(room.rng.uniform(1.05, 3)), 3)
    rows = tuple(
        _row({(first, y): Fraction(plus), (second, y): Fraction(minus)}, high=0)
        for y in range(room.m)
    )
    return Wish(md.require.every_output({first: plus, second: minus}), rows, "every output")


WISHES: dict[str, Maker] = {
    made.__name__: made
    for made in (
        zero_entry,
        zero_output,
        pattern,
        within,
        at_least,
        at_least_everywhere,
        at_most_entry,
        diagonal,
        expected_cost,
        each_cost,
        invariant,
        output_share,
        equal_error,
        unbiased,
        monotone,
        symmetric,
        linear_rows,
        every_output,
    )
}


# Cases


def at_levels(notion: Any, asked: Asked, levels: tuple[float, ...]) -> tuple[Any, Asked]:
    """A notion and its plain form at other levels."""
    changed = dict(zip(notion.level_fields, levels, strict=True))
    return replace(notion, **changed), replace(asked, levels=levels)


def random_notion(
    rng: Generator, name: str, masses: tuple[Fraction, ...], low: float = 0.1, high: float = 3.0
) -> tuple[Any, Asked]:
    """A notion of random parameters at levels between two numbers."""
    notion, asked, _ = MAKERS[name](rng, len(masses), [float(m) for m in masses])
    levels = tuple(
        round(float(np.exp(rng.uniform(math.log(low), math.log(high)))), 4) for _ in asked.levels
    )
    return at_levels(notion, asked, levels)


def random_fractions(rng: Generator, n: int, rare: float = 0.0) -> tuple[Fraction, ...]:
    """Masses of sum one, positive; with chance ``rare`` one is tiny."""
    counts = [int(c) for c in rng.integers(1, 30, n)]
    if rng.random() < rare:
        scale = 10 ** int(rng.integers(6, 13))
        counts = [c * scale for c in counts]
        counts[int(rng.integers(n))] = int(rng.integers(1, 30))
    total = sum(counts)
    return tuple(Fraction(c, total) for c in counts)


def random_case(
    rng: Generator,
    notions: tuple[str, ...],
    wishes: tuple[str, ...],
    *,
    most: int = 5,
    low: float = 0.1,
    high: float = 3.0,
    rare: float = 0.0,
) -> Case:
    """A case with notions and requirements of the given names."""
    while True:
        n = int(rng.integers(2, most + 1))
        masses = random_fractions(rng, n, rare)
        m = n if rng.random() < 0.75 else int(rng.integers(2, most + 2))
        outputs = tuple(range(m))
        room = Room(rng, masses, outputs)
        made = [WISHES[name](room) for name in wishes]
        if None in made:
            continue
        kept = tuple(wish for wish in made if wish is not None)
        gains = np.eye(n, m) if rng.random() < 0.5 else np.round(rng.uniform(-1, 1, (n, m)), 3)
        found = [random_notion(rng, name, masses, low, high) for name in notions]
        return Case(
            masses,
            gains,
            tuple(notion for notion, _ in found),
            tuple(asked for _, asked in found),
            kept,
            outputs,
        )


def names(rng: Generator, first: str, count: int) -> tuple[str, ...]:
    """``first`` and others, ``count`` in all, no two of one kind."""
    others = [name for name in WISHES if name != first]
    chosen = rng.choice(others, count - 1, replace=False).tolist() if count > 1 else []
    return (first, *chosen)


def listed(rng: Generator, total: int, seed: int) -> Iterator[tuple[int, str, str]]:
    """Numbers with the names of a notion and a requirement, so that all pairs occur in turn."""
    notions, wishes = list(MAKERS), list(WISHES)
    for number in range(total):
        yield seed + number, notions[number % len(notions)], wishes[number % len(wishes)]


def pushed(case: Case, best: float, off: float) -> Case | None:
    """The case with a value of at least ``best + off`` asked too; ``None`` where nothing counts."""
    table = [
        [float(mass) * gain for gain in row]
        for mass, row in zip(case.masses, np.asarray(case.gains).tolist(), strict=True)
    ]
    entries = {(x, y): Fraction(v) for x, row in enumerate(table) for y, v in enumerate(row) if v}
    if not entries:
        return None
    row = PlainRow(entries, Fraction(best + off), None)
    made = md.require.rows(table, ">=", best + off, name="value")
    return replace(case, wishes=(*case.wishes, Wish(made, (row,), "value")))


def only(case: Case, parts: list[str]) -> Case:
    """The case with some of its notions and requirements alone, by their descriptions."""
    kept = [i for i, notion in enumerate(case.notions) if str(notion) in parts]
    return replace(
        case,
        notions=tuple(case.notions[i] for i in kept),
        asked=tuple(case.asked[i] for i in kept),
        wishes=tuple(wish for wish in case.wishes if str(wish.requirement) in parts),
    )
