"""Pricing for estimation designs: max rᵀGr/(πᵀr) − λᵀr over the columns r of a cone with pᵀr = 1.

Columns are found by local search (:mod:`.search`), in the cone inside e^ε. Bounds hold for
the cone outside e^ε: by a list of all extreme columns where they are few (:mod:`.listed`),
by semidefinite relaxations where they are many (:mod:`.relaxation`). A cone that is not
two-sided has its rays listed for few symbols; else linear programs find columns, and the two-sided
cones around it bound them (:mod:`.cones`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ... import clock
from ...errors import SolverError
from ...privacy.constraint import Rounding
from ...program.program import Cone
from ..columns.exact_columns import columns_of_cone
from .cones import ConeSearch, inner_box, outer_box, wider_boxes
from .forms import UNIT, Array, ColumnBox, FloatBox, Form, Question
from .listed import MOST_PAIRS, list_size, price_list, price_rays
from .relaxation import Coordinates, Majorant, Relaxation, relaxed_bound
from .relaxed_design import DesignBarrier, RelaxedDesign
from .search import LocalSearch, distinct

#: Symbols up to which the extreme columns of any cone are listed.
MOST_SYMBOLS_ANY = 6
_SEED = 11
# Rounds of cuts, levels tried where truth and prior differ, and how near to their least value
# relaxations are solved, before and after the first cuts.
_ROUNDS, _LEVELS, _COARSE, _FINE = 6, 4, 1e-4, 1e-7
# How near to its optimum the relaxed design is solved, and what cuts must gain for more of them.
_NEAR, _GAIN = 1e-6, 1e-5
# The share of a bound that cuts must leave at most for more of them.
_HELPS = 0.9
# Random starts for each symbol.
_RANDOM = 4
# One in so many sets under LDP is of any size.
_OTHER = 4
# Columns near which others are looked at, and how many are listed in a search.
_CENTRES, _MOST_SEARCHED = 40, 1 << 24


class QuadraticPricing:
    """Prices columns of one cone, for quadratics over the mass under one truth.

    Parameters
    ----------
    cone : the cone of columns, with its prior p
    truth : π, positive, ``(n,)``; the prior where it is ``None``
    """

    def __init__(self, cone: Cone, truth: Sequence[Fraction] | None = None) -> None:
        self.cone, self.prior = cone, cone.prior
        n = len(cone.prior)
        self.masses = tuple(cone.prior.mass(x) for x in range(n))
        self.truth = self.masses if truth is None else tuple(Fraction(v) for v in truth)
        if len(self.truth) != n or min(self.truth) <= 0:
            raise SolverError(
                f"expected a positive truth for each of {n} symbols, got {len(self.truth)} numbers"
            )
        self._rng = np.random.default_rng(_SEED)

    # What the cone is

    @cached_property
    def _outer_box(self) -> ColumnBox | None:
        return outer_box(self.cone)

    @cached_property
    def _inner_box(self) -> ColumnBox | None:
        return inner_box(self.cone)

    @cached_property
    def _inner(self) -> FloatBox | None:
        return None if self._inner_box is None else FloatBox.of(self._inner_box)

    def _rays(self, rounding: Rounding) -> list[tuple[Fraction, ...]]:
        """Extreme columns of any cone, exactly."""
        found = columns_of_cone(self.cone, None, rounding)
        return [tuple(1 + d for d in column) for column in found]

    @cached_property
    def _listed_inside(self) -> Array:
        return np.array(self._rays(Rounding.INSIDE), dtype=float).T

    @cached_property
    def _listed_outside(self) -> list[tuple[Fraction, ...]]:
        return self._rays(Rounding.OUTSIDE)

    @property
    def _lists_rays(self) -> bool:
        return len(self.prior) <= MOST_SYMBOLS_ANY

    @cached_property
    def _any(self) -> ConeSearch:
        return ConeSearch(self.cone, np.array(self.truth, dtype=float))

    def _any_columns(self, start: Array, count: int) -> Array:
        """Columns of a cone of any kind to search from: all of them where they are few."""
        if self._lists_rays:
            return self._listed_inside
        gains = self._rng.normal(size=(len(self.prior), count))
        return np.column_stack([start, self._any.vertices(gains)])

    # Columns

    def values(self, square: Any, prices: Any, columns: Array) -> Array:
        """rᵀGr/(πᵀr) − λᵀr of columns ``(n, m)`` with pᵀr = 1, in floats, ``(m,)``."""
        g, price = np.asarray(square, dtype=float), np.asarray(prices, dtype=float)
        # Where levels are small, G all but cancels at the constant column.
        image = np.array([math.fsum(row) for row in g.tolist()])
        away = columns - 1
        squares = math.fsum(image.tolist()) + (2 * image) @ away + (away * (g @ away)).sum(axis=0)
        truth = np.array(self.truth, dtype=float) @ columns
        return np.asarray(squares / truth - (math.fsum(price.tolist()) + price @ away))

    def first(self, count: int) -> Array:
        """Some extreme columns with pᵀr = 1, whatever is priced, ``(n, m)``."""
        box = self._inner
        if box is None:
            return distinct(self._any_columns(np.zeros((len(self.prior), 0)), count))
        return box.columns(distinct(self._random(box, count)))

    def spread(
        self, square: Any, prices: Any, count: int, level: float, deadline: float = math.inf
    ) -> Array:
        """Columns that differ much, each with a reduced value of at least ``level`` where a few
        steps lead there, ``(n, m)``.

        At the prices of :meth:`relaxed` and a level of a hundredth of its value below zero they
        are a good first mixture.
        """
        box, exact = self._inner, self._inner_box
        if box is None or exact is None:
            return self.first(count)
        form = Question.of(square, prices, self.truth).on(exact)
        t, _ = LocalSearch(form, box, deadline).reach(self._random(box, count), level)
        return box.columns(distinct(exact.completed(t)))

    def search(
        self,
        square: Any,
        prices: Any,
        start: Array,
        level: float = math.inf,
        deadline: float = math.inf,
    ) -> tuple[Array, Array]:
        """Columns of large reduced value, without proof; the best of all where they can be listed.

        Parameters
        ----------
        square : G, ``(n, n)``, floats or Fractions
        prices : λ, ``(n,)``
        start : ``(n, k)`` columns of the cone to search from, beside random ones
        level : columns near the best ones found are among the answers where their reduced
            value is above this
        deadline : moment on the :mod:`~mechdesign.clock` at which steps end

        Returns
        -------
        columns ``(n, m)`` with pᵀr = 1 and their reduced values ``(m,)``, distinct, best first
        """
        box, exact = self._inner, self._inner_box
        if box is None or exact is None:
            columns = self._any_columns(start, _RANDOM * len(self.prior))
            if not self._lists_rays:
                g, price = np.asarray(square, dtype=float), np.asarray(prices, dtype=float)
                columns = self._any.improve((g + g.T) / 2, price, columns)
            values = self.values(square, prices, columns)
            order = np.argsort(-values, kind="stable")
            return columns[:, order], values[order]
        question = Question.of(square, prices, self.truth)
        t, values = self._improve(question, exact, box.places(start), level, deadline)
        return box.columns(t), values

    def _improve(
        self,
        question: Question,
        exact: ColumnBox,
        t: Array,
        level: float = math.inf,
        deadline: float = math.inf,
    ) -> tuple[Array, Array]:
        """Local optima from places t and random ones, best first, and their values."""
        form, box = question.on(exact), FloatBox.of(exact)
        starts = np.column_stack([t, self._random(box, _RANDOM * len(box.p))])
        search = LocalSearch(form, box, deadline)
        t, values = search.improve(starts)
        if level < math.inf:
            t = search.nearby(t[:, values > level][:, :_CENTRES], level)
        classes = question.classes(self.masses)
        if list_size(exact, classes) <= _MOST_SEARCHED:
            least = level if level < math.inf else -math.inf
            t = np.column_stack([t, price_list([question], exact, classes, least).best])
        t = distinct(exact.completed(t))
        values = form.values(t)
        order = np.argsort(-values, kind="stable")
        return t[:, order], values[order]

    def _random(self, box: FloatBox, count: int) -> Array:
        n = len(box.p)
        if box.weights is not None:
            return box.filled(self._rng.random((n, count)))
        # The best sets have a share near 1/(1 + e^ε) of the symbols; others are tried as well.
        share = np.full(count, 1 / (2 + float(box.span[0])))
        share[::_OTHER] = self._rng.random(len(share[::_OTHER]))
        t = self._rng.random((n, count)) < np.maximum(share, 1 / n)
        t[self._rng.integers(0, n, count), np.arange(count)] = True
        return np.asarray(t.astype(float))

    # Bounds

    def relaxed(
        self,
        loss: Array,
        deadline: float = math.inf,
        *,
        near: float = _NEAR,
        rounds: int = _ROUNDS,
    ) -> RelaxedDesign | None:
        """V and λ that bound the risk of every kernel well before columns are known.

        With A the loss, 2 tr(AV) − Σλ less what :meth:`bound` proves at G = VAVᵀ and λ bounds
        tr(A(J⁻¹ − ππᵀ)) from below; columns found at these prices are good ones to begin with.

        Parameters
        ----------
        loss : A, ``(n, n)``, positive semi-definite with Aπ = 0
        deadline : moment on the :mod:`~mechdesign.clock` at which it ends
        near : how near to its optimum, as a share
        rounds : of cuts, at most

        Returns
        -------
        ``None`` for cones that have no such relaxation, and where nothing can be told
        """
        if self._outer_box is None or max(self._outer_box.span) == 0:
            return None
        box = FloatBox.of(self._outer_box)
        truth, best = np.array(self.truth, dtype=float), None
        try:
            barrier = DesignBarrier(box, truth, loss, self._truths(box))
        except SolverError:  # a bound more or less; nothing rests on it
            return None
        for step in range(rounds + 1):
            barrier.follow(near, deadline)
            found, before = barrier.design, -math.inf if best is None else best.value
            if best is None or found.value > before:
                best = found
            gained = found.value > before + _GAIN * abs(found.value)
            if not gained or step == rounds or clock.now() > deadline or not barrier.cut():
                break
        return best if best is not None and 0 < best.value < math.inf else None

    def design_bound(self, design: RelaxedDesign, square: Any, prices: Any) -> Fraction | None:
        """A proven upper bound on the reduced value of every column outside e^ε, by the multipliers
        of a relaxed design: next to zero at its V and λ. ``None`` where rounding leaves none.
        """
        box = self._outer_box
        assert box is not None
        floats = FloatBox.of(box)
        form, ratios = Question.of(square, prices, self.truth).on(box), self._truths(floats)
        majorant = Majorant.of(form, floats, 0.0, design.point, ratios)
        bound = relaxed_bound(majorant, ratios)
        return Fraction(bound) if math.isfinite(bound) else None

    def bound(
        self, square: Any, prices: Any, target: Fraction | float, deadline: float = math.inf
    ) -> tuple[Fraction, Array]:
        """A proven upper bound on the reduced value of every column of the cone outside e^ε.

        Parameters
        ----------
        square : G, ``(n, n)``, positive semi-definite, floats or Fractions, which are exact
        prices : λ, ``(n,)``, likewise
        target : the search ends where no column is above it
        deadline : moment on the :mod:`~mechdesign.clock` at which it ends anyway

        Returns
        -------
        the bound, and columns ``(n, m)`` above the target with pᵀr = 1, best first

        Raises
        ------
        SolverError
            Where no bound is known.
        """
        question = Question.of(square, prices, self.truth)
        level = float(target)
        box = self._outer_box
        if box is not None:
            classes = question.classes(self.masses)
            if list_size(box, classes) <= MOST_PAIRS:
                listed = price_list([question], box, classes, level)
                return listed.upper, self._columns(listed.best)
            upper, t = self._relaxed(question, box, target, deadline)
            return upper, self._columns(t)
        if self._lists_rays:
            upper, above = price_rays(question, self._listed_outside, level)
            rays = [[float(v) for v in self._listed_outside[i]] for i in above]
            return upper, np.array(rays).reshape(-1, len(self.prior)).T
        wider = wider_boxes(self.cone)
        if not wider:
            raise SolverError(
                f"no bound on the reduced value of columns of {len(self.prior)} symbols is known, "
                "where some have no mass and the bounds are of this kind"
            )
        found = [self._relaxed(question, each, target, deadline) for each in wider]
        columns, values = self.search(square, prices, np.zeros((len(self.prior), 0)))
        return min(upper for upper, _ in found), columns[:, values > level]

    def lists(self, square: Any, prices: Any) -> bool:
        """Whether :meth:`bound` prices every extreme column, so that it has no better one."""
        if self._outer_box is None:
            return self._lists_rays
        classes = Question.of(square, prices, self.truth).classes(self.masses)
        return list_size(self._outer_box, classes) <= MOST_PAIRS

    def _relaxed(
        self, question: Question, box: ColumnBox, target: Fraction | float, deadline: float
    ) -> tuple[Fraction, Array]:
        """Semidefinite relaxations, with cuts until the target is proved or nothing is gained; and
        the t of columns above the target.
        """
        form, floats = question.on(box), FloatBox.of(box)
        t, values = self._improve(question, box, np.zeros((len(box), 0)), deadline=deadline)
        least = float(values[0])
        level = max(float(target), least) if math.isfinite(target) else least
        best = math.inf
        for _ in range(1 if self._truths(floats) == (1.0, 1.0) else _LEVELS):
            best = min(best, self._relaxed_at(question, form, floats, level, deadline))
            if best <= level or clock.now() > deadline:
                break
            level = best
        return Fraction(best), t[:, values > float(target)]

    def _relaxed_at(
        self, question: Question, form: Form, box: FloatBox, level: float, deadline: float
    ) -> float:
        """A bound from relaxations of what columns have beyond a level."""
        ratios = self._truths(box)
        coordinates = Coordinates.of(box, np.array(self.truth, dtype=float), ratios)
        prices = np.array(question.prices, dtype=float)
        charged = coordinates.row(float(sum(question.prices)), prices) + level * coordinates.mass
        matrix = coordinates.square(question.centred)
        matrix[0] -= charged / 2
        matrix[:, 0] -= charged / 2
        size = abs(level) + float(np.abs(prices).sum())
        relaxation = Relaxation(coordinates, matrix, size)
        best, before = math.inf, math.inf
        for step in range(_ROUNDS + 1):
            relaxation.follow(_COARSE * size, deadline)
            helps = relaxation.least > 0 and (not step or relaxation.value < _HELPS * before)
            last = step == _ROUNDS or not helps
            before = relaxation.value
            if last:
                relaxation.follow(_FINE * size, deadline)
            majorant = Majorant.of(form, box, level, relaxation.point, ratios)
            best = min(best, relaxed_bound(majorant, ratios))
            if best <= level or last or clock.now() > deadline:
                break
            if not relaxation.cut():
                before = -math.inf
        return best

    def _truths(self, box: FloatBox) -> tuple[float, float]:
        """The least and the largest πᵀr of columns with pᵀr = 1, outwards."""
        ratios = [a / b for a, b in zip(self.truth, self.masses, strict=True)]
        if min(ratios) == max(ratios):
            return 1.0, 1.0
        if box.weights is None:
            most = 1 + float(box.span[0])
            least = 1 / most
        else:
            least, most = float(box.base.min()), 1 + float(box.above.max())
        least, most = max(least, float(min(ratios))), min(most, float(max(ratios)))
        return least * (1 - 8 * UNIT), most * (1 + 8 * UNIT)

    def _columns(self, t: Array) -> Array:
        """The columns that t stands for, in the cone for design where that is of one kind."""
        box = self._inner_box or self._outer_box
        assert box is not None
        return FloatBox.of(box).columns(distinct(box.completed(t)))
