"""Columns of a large reduced value, by local search in floats, many at a time.

Reduced values are convex in a column, so that the best column for the gradient at one is no worse;
exchanges finish the search. Nothing is proved here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ... import clock
from .forms import Array, FloatBox, Form

_MOST_STEPS = 400
# Columns whose exchanges of two symbols are tried at once, under LDP.
_EXCHANGED = 128
# Symbols of a column, up and down each, that are tried in exchanges before all others.
_TRIED = 12
_GAIN = 1e-12
_DIGITS = 9


def distinct(t: Array) -> Array:
    """Columns that differ by more than rounding."""
    _, first = np.unique(np.round(t, _DIGITS), axis=1, return_index=True)
    return t[:, np.sort(first)]


class LocalSearch:
    """Local search over the columns of a box at one G and λ.

    Parameters
    ----------
    form : what is maximised
    box : the same box in floats
    deadline : moment on the :mod:`~mechdesign.clock` at which columns stay as they are
    """

    def __init__(self, form: Form, box: FloatBox, deadline: float = np.inf) -> None:
        self.form, self.box, self.deadline = form, box, deadline
        self.diagonal = np.diag(form.square)

    @property
    def _is_late(self) -> bool:
        return clock.now() > self.deadline

    def improve(self, t: Array) -> tuple[Array, Array]:
        """Local optima from starts ``(n, m)``, distinct and best first, with their values."""
        t = self._flip(t) if self.box.weights is None else self._exchange(self._climb(t))
        return self._ranked(t)

    def reach(self, t: Array, level: float) -> tuple[Array, Array]:
        """Columns from starts ``(n, m)``, moved no further than to a value of ``level``, in the
        same way.
        """
        move = self._flip if self.box.weights is None else self._exchange
        return self._ranked(move(t.copy(), level))

    def nearby(self, t: Array, level: float) -> Array:
        """Columns that differ from others in one symbol under LDP, in two under bounds on the lift,
        with a value above ``level``.
        """
        found = [t]
        for i in range(t.shape[1]):
            near = np.repeat(t[:, [i]], len(t), axis=1)
            places = np.arange(len(t))
            if self.box.weights is None:
                near[places, places] = 1 - near[places, places]
            else:
                keys = near + 1e-6 * self._gradient(t[:, [i]])
                keys[places, places] = np.where(near[places, places] > 0.5, -2.0, 2.0)
                near = self.box.filled(keys)
            found.append(near[:, self.form.values(near) > level])
        return np.hstack(found)

    def _ranked(self, t: Array) -> tuple[Array, Array]:
        t = distinct(t)
        values = self.form.values(t)
        order = np.argsort(-values, kind="stable")
        return t[:, order], values[order]

    # LDP: t in {0, 1}

    def _flip(self, t: Array, enough: float = np.inf) -> Array:
        t = distinct(np.round(t))
        active = np.arange(t.shape[1])
        for _ in range(_MOST_STEPS):
            part = t[:, active]
            values, gain = self._flips(part)
            best = gain.argmax(axis=0)
            rows = np.arange(len(active))
            good = gain[best, rows] > _GAIN * np.abs(values).max(initial=0.0)
            good &= values < enough
            if good.any():
                t[best[good], active[good]] = 1 - part[best[good], good]
            stuck = np.flatnonzero(~good & (values < enough))
            moved = self._swaps(part, values, stuck[:_EXCHANGED])
            for i, pair in moved:
                t[pair, active[i]] = 1 - part[pair, i]
                good[i] = True
            active = active[good]
            if not len(active) or self._is_late:
                break
        return t

    def _flips(self, t: Array) -> tuple[Array, Array]:
        """Values, and what changing one symbol adds, ``(n, m)``."""
        f = self.form
        assert f.mass is not None
        squares, truth, mass, price = f.parts(t)
        values = np.asarray((squares / truth - price) / mass)
        sign = 1 - 2 * t
        step = squares + sign * (f.linear[:, None] + 2 * (f.square @ t)) + self.diagonal[:, None]
        step /= truth + sign * f.truth[1][:, None]
        step -= price + sign * f.price[1][:, None]
        step /= mass + sign * f.mass[1][:, None]
        return values, step - values

    def _swaps(
        self, t: Array, values: Array, columns: NDArray[np.intp]
    ) -> list[tuple[int, list[int]]]:
        """The best exchange of one symbol for another in each of some columns, where one helps."""
        f, found = self.form, []
        assert f.mass is not None
        for i in columns.tolist():
            up, down = np.flatnonzero(t[:, i] == 0), np.flatnonzero(t[:, i] == 1)
            if not (len(up) and len(down)):
                continue
            squares, truth, mass, price = (float(np.ravel(v)[0]) for v in f.parts(t[:, [i]]))
            slope = f.linear + 2 * (f.square @ t[:, i])
            step = squares - 2 * f.square[np.ix_(up, down)]
            step += (slope[up] + self.diagonal[up])[:, None]
            step += (self.diagonal[down] - slope[down])[None, :]
            step /= truth + f.truth[1][up][:, None] - f.truth[1][down]
            step -= price + f.price[1][up][:, None] - f.price[1][down]
            step /= mass + f.mass[1][up][:, None] - f.mass[1][down]
            a, b = np.unravel_index(int(step.argmax()), step.shape)
            if step[a, b] > values[i] + _GAIN * abs(values[i]):
                found.append((i, [int(up[a]), int(down[b])]))
        return found

    # Bounds on the lift: wᵀt = capacity

    @property
    def _weights(self) -> Array:
        assert self.box.weights is not None
        return self.box.weights

    def greedy(self, gradient: Array) -> Array:
        """The best t for linear gains ``(n, m)`` per unit of t: a continuous knapsack."""
        w = self._weights
        density = gradient / np.where(w > 0, w, 1.0)[:, None]
        return self.box.filled(density)

    def _gradient(self, t: Array) -> Array:
        f = self.form
        squares, truth, _, _ = f.parts(t)
        slope = (f.linear[:, None] + 2 * (f.square @ t)) / truth
        return np.asarray(slope - squares / truth**2 * f.truth[1][:, None] - f.price[1][:, None])

    def _climb(self, t: Array) -> Array:
        values = self.form.values(t)
        active = np.arange(t.shape[1])
        t = t.copy()
        for _ in range(_MOST_STEPS):
            step = self.greedy(self._gradient(t[:, active]))
            new = self.form.values(step)
            good = new > values[active] + _GAIN * np.abs(values).max(initial=0.0)
            active, step, new = active[good], step[:, good], new[good]
            t[:, active], values[active] = step, new
            if not len(active) or self._is_late:
                break
        return distinct(t)

    def _exchange(self, t: Array, enough: float = np.inf) -> Array:
        """One symbol up, another down by as much mass, until one is at an end.

        The symbols that promise most are tried first; where none of them helps all are, for some of
        the columns.
        """
        movable = np.flatnonzero(self._weights > 0)
        active = np.arange(t.shape[1] if len(movable) > 1 else 0)
        for _ in range(_MOST_STEPS if len(active) else 0):
            part = t[:, active]
            values = self.form.values(part)
            least = values + _GAIN * np.abs(values).max(initial=0.0)
            up, down = self._promising(part, movable)
            best, moved = self._transferred(part, up, down)
            good = (best > least) & (values < enough)
            if len(movable) > len(up):
                stuck = np.flatnonzero(~good & (values < enough))[:_EXCHANGED]
                few, least = part[:, stuck], least[stuck]
                down = np.repeat(movable[:, None], len(stuck), axis=1)
                for x in movable.tolist() if len(stuck) else ():
                    value, new = self._transferred(few, np.full((1, len(stuck)), x), down)
                    helps = value > least
                    moved[:, stuck[helps]], good[stuck[helps]] = new[:, helps], True
                    least[helps] = value[helps]
                    if self._is_late:
                        break
            active = active[good]
            t[:, active] = moved[:, good]
            if not len(active) or self._is_late:
                break
        return t

    def _promising(
        self, t: Array, movable: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Symbols that gain most by going up, for each unit of mass, and that lose least by going
        down, ``(k, m)`` each.
        """
        w = self._weights[movable][:, None]
        _, truth, _, _ = self.form.parts(t)
        slope, bent = self._gradient(t)[movable], self.diagonal[movable][:, None] / truth
        part = t[movable]
        rise = np.where(part < 1, (slope + bent * (1 - part)) / w, -np.inf)
        fall = np.where(part > 0, (bent * part - slope) / w, -np.inf)
        count = min(_TRIED, len(movable))
        up, down = (
            movable[np.argpartition(-score, count - 1, axis=0)[:count]] for score in (rise, fall)
        )
        return up, down

    def _transferred(
        self, t: Array, up: NDArray[np.intp], down: NDArray[np.intp]
    ) -> tuple[Array, Array]:
        """The best value of each column after some mass goes from one of the symbols ``down`` to
        one of the symbols ``up``, and what it then is.
        """
        f, w = self.form, self._weights
        squares, truth, _, price = f.parts(t)
        columns = np.arange(t.shape[1])
        slope = f.linear[:, None] + 2 * (f.square @ t)
        mass = np.minimum(
            (w[up] * (1 - t[up, columns]))[:, None], (w[down] * t[down, columns])[None]
        )
        a, b = mass / w[up][:, None], mass / w[down][None]
        step = squares + a * (slope[up, columns][:, None] + a * self.diagonal[up][:, None])
        step -= b * (slope[down, columns][None] - b * self.diagonal[down][None])
        step -= 2 * a * b * f.square[up[:, None], down[None]]
        step /= truth + a * f.truth[1][up][:, None] - b * f.truth[1][down][None]
        step -= price + a * f.price[1][up][:, None] - b * f.price[1][down][None]
        step = np.where((up[:, None] == down[None]) | (mass <= 0), -np.inf, step)
        places = step.reshape(-1, len(columns)).argmax(axis=0)
        one, two = np.unravel_index(places, step.shape[:2])
        moved = t.copy()
        for symbols, change in (
            (up[one, columns], a[one, two, columns]),
            (down[two, columns], -b[one, two, columns]),
        ):
            new = moved[symbols, columns] + change
            new[np.abs(new) < 1e-12] = 0.0
            new[np.abs(new - 1) < 1e-12] = 1.0
            moved[symbols, columns] = new
        return step[one, two, columns], moved
