"""Every extreme column priced, for few symbols or few classes of them.

Values are floats with a bound on their rounding; columns that rounding leaves in doubt are priced
again in rationals, so that the largest value is exact. Symbols that G, λ, prior and truth treat
alike are interchangeable: of columns that differ by exchanges of such symbols one is listed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .forms import UNIT, Array, ColumnBox, FloatBox, Form, Question

#: How many columns are listed, and how many where they are priced in pairs of halves.
MOST_COLUMNS, MOST_PAIRS = 1 << 16, 1 << 26
# Columns in doubt that are priced in rationals.
_MOST_EXACT = 200
# Columns above a level that are handed back.
_MOST_RETURNED = 400
_BLOCK = 1 << 19

_Column = list[Fraction]


@dataclass(frozen=True, eq=False)
class Listed:
    """The outcome of a list.

    Attributes
    ----------
    upper : no column has a larger value; exact where rounding left no more than a few in doubt
    best : ``(n, m)`` t of the columns above the level, best first
    values : ``(m,)`` of these
    """

    upper: Fraction
    best: Array
    values: Array


def list_size(box: ColumnBox, classes: Sequence[Sequence[int]]) -> int:
    """How many columns there are up to exchanges."""
    sizes = [len(c) for c in classes]
    if not box.is_lift:
        return math.prod(m + 1 for m in sizes)
    # One symbol of a class lies between its ends, the others are at either.
    return sum(math.prod(m + (h != g) for h, m in enumerate(sizes)) for g in range(len(sizes)))


def price_list(
    questions: Sequence[Question], box: ColumnBox, classes: Sequence[Sequence[int]], level: float
) -> Listed:
    """The largest value of any extreme column, and the columns above a level.

    The values of several questions, each at its truth, are added.
    """
    forms = [question.on(box) for question in questions]
    if box.is_lift and list_size(box, classes) > MOST_COLUMNS:
        return _lifts_by_halves(forms, FloatBox.of(box), classes, level)
    if box.is_lift:
        t, between = _lift_patterns(box, classes)
        return _from_patterns(
            questions, forms, t, lambda i: _with(box, t[:, i], *between[i]), level
        )
    if list_size(box, classes) <= MOST_COLUMNS:
        t = _subsets(classes, len(box))
        return _from_patterns(questions, forms, t, lambda i: _with(box, t[:, i]), level)
    return _by_halves(forms, classes, level)


def _doubt(forms: Sequence[Form], truths: Iterable[Any], mass: Any) -> Any:
    """What a sum of values of columns with such πᵀr and pᵀr is off by, at most."""
    parts = [form.rounding(truth, mass) for form, truth in zip(forms, truths, strict=True)]
    return sum(parts[1:], parts[0]) * (1 + (len(parts) - 1) / 8)


def _subsets(classes: Sequence[Sequence[int]], n: int) -> Array:
    """Every set of symbols up to exchanges, as t: of each class its first few."""
    counts = np.indices([len(c) + 1 for c in classes]).reshape(len(classes), -1)
    t = np.zeros((n, counts.shape[1]))
    for count, members in zip(counts, classes, strict=True):
        for rank, x in enumerate(members):
            t[x] = count > rank
    return t


def _lift_patterns(
    box: ColumnBox, classes: Sequence[Sequence[int]]
) -> tuple[Array, list[tuple[int, Fraction]]]:
    """Every column with all symbols but one at an end, as t, and that one's share exactly."""
    assert box.units is not None
    found: list[list[float]] = []
    between: list[tuple[int, Fraction]] = []
    for number, members in enumerate(classes):
        last = members[-1]
        others = [list(c) if h != number else list(c[:-1]) for h, c in enumerate(classes)]
        for counts, left in _left(box, others):
            if not 0 <= left <= box.units[last]:
                continue
            column = [0.0] * len(box)
            for count, symbols in zip(counts, others, strict=True):
                for x in symbols[:count]:
                    column[x] = 1.0
            share = Fraction(left, box.units[last] or 1)
            column[last] = float(share)
            found.append(column)
            between.append((last, share))
    return np.array(found).T, between


def _with(box: ColumnBox, t: Array, symbol: int = 0, share: Fraction | None = None) -> _Column:
    """The column of t, of which one symbol has an exact share."""
    exact = [Fraction(float(v)) for v in t]
    if share is not None:
        exact[symbol] = share
    return box.column(exact)


def _left(box: ColumnBox, classes: list[list[int]]) -> Iterator[tuple[tuple[int, ...], int]]:
    """How many symbols of each class are at their upper end, and the capacity that is left."""
    assert box.units is not None
    partial: list[tuple[tuple[int, ...], int]] = [((), box.capacity)]
    for symbols in classes:
        unit = box.units[symbols[0]] if symbols else 0
        partial = [
            ((*counts, c), left - c * unit)
            for counts, left in partial
            for c in range(len(symbols) + 1)
            if left - c * unit >= 0
        ]
    yield from partial


def _from_patterns(
    questions: Sequence[Question],
    forms: Sequence[Form],
    t: Array,
    exactly: Callable[[int], _Column],
    level: float,
) -> Listed:
    values, truths = np.zeros(t.shape[1]), []
    mass: Array | float = 1.0
    for form in forms:
        squares, truth, mass, price = form.parts(t)
        values += (squares / truth - price) / mass
        truths.append(truth)
    doubt = np.broadcast_to(_doubt(forms, truths, mass), values.shape)
    unclear = np.flatnonzero(values + doubt >= (values - doubt).max())
    if len(unclear) <= _MOST_EXACT:
        columns = [exactly(i) for i in unclear.tolist()]
        upper = max(sum((q.value(r) for q in questions), Fraction(0)) for r in columns)
    else:
        upper = Fraction(math.nextafter(float((values + doubt).max()), math.inf))
    above = np.flatnonzero(values > level)
    above = above[np.argsort(-values[above], kind="stable")][:_MOST_RETURNED]
    return Listed(upper, t[:, above], values[above])


def _by_halves(forms: Sequence[Form], classes: Sequence[Sequence[int]], level: float) -> Listed:
    """Every pair of a set among half of the classes and one among the others, under LDP.

    What a pair has beyond both is one product of matrices.
    """
    n = len(forms[0].linear)
    one, two = _halves(classes, n)
    crosses = [2 * (form.square @ two) for form in forms]
    firsts, seconds = [form.parts(one) for form in forms], [_second(form, two) for form in forms]
    m1, m2 = np.asarray(firsts[0][2]), seconds[0][2]
    l1, l2 = sum(part[3] for part in firsts), sum(part[3] for part in seconds)
    assert forms[0].mass is not None
    doubt = float(_doubt(forms, (form.truth[0] for form in forms), forms[0].mass[0]))
    top, kept = -math.inf, _Kept(level)
    step = max(_BLOCK // two.shape[1], 1)
    for start in range(0, one.shape[1], step):
        part = slice(start, start + step)
        total: Array | None = None
        for cross, (q1, a1, _, _), (q2, a2, _, _) in zip(crosses, firsts, seconds, strict=True):
            values = one[:, part].T @ cross
            values += q1[part, None]
            values += q2
            values /= a1[part, None] + a2
            total = values if total is None else np.add(total, values, out=total)
        assert total is not None
        total -= np.asarray(l1)[part, None] + l2
        total /= m1[part, None] + m2
        largest = float(total.max())
        top = max(top, largest)
        if largest > kept.level:
            i, j = np.nonzero(total > kept.level)
            some = _largest(total[i, j])
            i, j = i[some], j[some]
            kept.take(total[i, j], zip((i + start).tolist(), j.tolist(), strict=True))
    upper = Fraction(math.nextafter(top + doubt, math.inf))
    best = [one[:, i] + two[:, j] for _, (i, j) in kept.best]
    t = np.array(best).T if best else np.zeros((n, 0))
    return Listed(upper, t, np.array([value for value, _ in kept.best]))


def _second(form: Form, t: Array) -> tuple[Array, Array, Array | float, Array]:
    """The parts of a form without what does not depend on t."""
    squares, truth, mass, price = form.parts(t)
    mass = mass if form.mass is None else mass - form.mass[0]
    return squares - form.constant, truth - form.truth[0], mass, price - form.price[0]


def _halves(classes: Sequence[Sequence[int]], n: int) -> tuple[Array, Array]:
    """Every set among half of the classes, and every one among the others."""
    halves: tuple[list[Sequence[int]], list[Sequence[int]]] = ([], [])
    for members in sorted(classes, key=len, reverse=True):
        sizes = [math.prod(len(c) + 1 for c in half) for half in halves]
        halves[int(sizes[0] > sizes[1])].append(members)
    one, two = (_subsets(half, n) if half else np.zeros((n, 1)) for half in halves)
    return one, two


def _lifts_by_halves(
    forms: Sequence[Form], box: FloatBox, classes: Sequence[Sequence[int]], level: float
) -> Listed:
    """The same under bounds on the lift: one symbol takes what the others leave.

    Where floats do not know what that is, the value is taken at either end of what it may be, as it
    is convex.
    """
    w = box.weights
    assert w is not None
    n = len(w)
    error = 4 * (n + 4) * UNIT * (box.capacity + float(w.sum()))
    top, kept = -math.inf, _Kept(level)
    found: list[Array] = []
    for number, members in enumerate(classes):
        last = members[-1]
        others = [c if h != number else c[:-1] for h, c in enumerate(classes)]
        one, two = _halves([c for c in others if len(c)], n)
        pairs = [_LiftPairs(form, one, two, last) for form in forms]
        w1, w2 = box.capacity - w @ one, w @ two
        unit = max(float(w[last]), 1e-300)
        step = max(_BLOCK // two.shape[1], 1)
        for start in range(0, one.shape[1], step):
            part = slice(start, start + step)
            left = w1[part, None] - w2
            i, j = np.nonzero((left >= -error) & (left <= unit + error))
            if not len(i):
                continue
            rest = left[i, j]
            lines = [pair.lines(start, part, i, j) for pair in pairs]
            i = i + start
            ends = []
            for end in (-error, error):
                t = np.clip((rest + end) / unit, 0.0, 1.0)
                at = [pair.at(t, line) for pair, line in zip(pairs, lines, strict=True)]
                values = sum((value for value, _ in at[1:]), at[0][0])
                doubt = _doubt(forms, (truth for _, truth in at), 1.0)
                top = max(top, float((values + doubt).max()))
                ends.append(values)
            values = np.maximum(*ends)
            above = np.flatnonzero(values > kept.level)
            if len(above):
                above = above[_largest(values[above])]
                columns = one[:, i[above]] + two[:, j[above]]
                columns[last] = np.clip(rest[above] / unit, 0.0, 1.0)
                kept.take(values[above], [(len(found) + k, 0) for k in range(len(above))])
                found += list(columns.T)
    upper = Fraction(math.nextafter(top, math.inf))
    best = [found[k] for _, (k, _) in kept.best]
    t = np.array(best).T if best else np.zeros((n, 0))
    return Listed(upper, t, np.array([value for value, _ in kept.best]))


class _LiftPairs:
    """One form on pairs of sets, as a quadratic in the share of the last symbol over a line."""

    def __init__(self, form: Form, one: Array, two: Array, last: int) -> None:
        self.form, self.one, self.last = form, one, last
        self.cross = 2 * (form.square @ two)
        self.first, self.second = form.parts(one), _second(form, two)
        self.slope1 = 2 * (form.square[last] @ one) + form.linear[last]
        self.slope2 = 2 * (form.square[last] @ two)

    def lines(self, start: int, part: slice, i: Any, j: Any) -> tuple[Array, ...]:
        """rᵀGr, its slope, πᵀr and λᵀr of pairs without the last symbol."""
        (q1, a1, _, l1), (q2, a2, _, l2) = self.first, self.second
        squares = (self.one[:, part].T @ self.cross)[i, j]
        i = i + start
        squares += q1[i] + q2[j]
        return squares, self.slope1[i] + self.slope2[j], a1[i] + a2[j], l1[i] + l2[j]

    def at(self, t: Array, line: tuple[Array, ...]) -> tuple[Array, Array]:
        """Values at shares t of the last symbol, and πᵀr."""
        form, last = self.form, self.last
        squares, slope, truth, price = line
        at = truth + t * form.truth[1][last]
        values = (squares + t * (slope + t * form.square[last, last])) / at
        values -= price + t * form.price[1][last]
        return values, at


def _largest(values: Array) -> NDArray[np.intp]:
    """Positions of the largest values, as many as are handed back."""
    if len(values) <= _MOST_RETURNED:
        return np.arange(len(values))
    return np.argpartition(-values, _MOST_RETURNED)[:_MOST_RETURNED]


class _Kept:
    """The best few pairs above a level."""

    def __init__(self, level: float) -> None:
        self.level = level
        self.best: list[tuple[float, tuple[int, int]]] = []

    def take(self, values: Array, places: Iterable[tuple[int, int]]) -> None:
        self.best += zip(values.tolist(), places, strict=True)
        self.best.sort(key=lambda pair: -pair[0])
        if len(self.best) > _MOST_RETURNED:
            del self.best[_MOST_RETURNED:]
            self.level = self.best[-1][0]


def price_rays(
    question: Question, columns: Sequence[Sequence[Fraction]], level: float
) -> tuple[Fraction, list[int]]:
    """The largest value of given columns with pᵀr = 1, exactly, and which are above a level."""
    values = [question.value(column) for column in columns]
    order = sorted(range(len(values)), key=lambda i: -values[i])
    return values[order[0]], [i for i in order if values[i] > level][:_MOST_RETURNED]
