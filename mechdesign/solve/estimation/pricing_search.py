"""Columns of a large reduced value, by local search in floats, many at a time.

Reduced values are convex in a column, so that the best column for the gradient at one is no worse;
exchanges finish the search. Nothing is proved here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .pricing_forms import Array, FloatBox, Form

_MOST_STEPS = 400
# Columns whose exchanges of two symbols are tried at once, under LDP.
_EXCHANGED = 128
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
    """

    def __init__(self, form: Form, box: FloatBox) -> None:
        self.form, self.box = form, box
        self.diagonal = np.diag(form.square)

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
            if not len(active):
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

    def greedy(self, gradient: Array) -> Array:
        """The best t for linear gains ``(n, m)`` per unit of t: a continuous knapsack."""
        w = self.box.weights
        assert w is not None
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
            if not len(active):
                break
            t[:, active], values[active] = step, new
        return distinct(t)

    def _exchange(self, t: Array, enough: float = np.inf) -> Array:
        """One symbol up, another down by as much mass, until one is at an end."""
        f, w = self.form, self.box.weights
        assert w is not None
        active = np.arange(t.shape[1])
        movable = np.flatnonzero(w > 0)
        for _ in range(_MOST_STEPS):
            part = t[:, active]
            squares, truth, _, price = f.parts(part)
            values = squares / truth - price
            slope = f.linear[:, None] + 2 * (f.square @ part)
            room, held = w[:, None] * (1 - part), w[:, None] * part
            per_mass = 1 / np.where(w > 0, w, 1.0)
            best = values + _GAIN * np.abs(values).max(initial=0.0)
            up = np.full(len(active), -1)
            down, amount = up.copy(), np.zeros(len(active))
            rows = np.arange(len(active))
            for x in movable.tolist():
                mass = np.minimum(room[x], held)
                a, b = mass * per_mass[x], mass * per_mass[:, None]
                step = squares + a * slope[x] - b * slope + a * a * self.diagonal[x]
                step += b * b * self.diagonal[:, None] - 2 * a * b * f.square[x][:, None]
                step /= truth + a * f.truth[1][x] - b * f.truth[1][:, None]
                step -= price + a * f.price[1][x] - b * f.price[1][:, None]
                step[x] = -np.inf
                z = step.argmax(axis=0)
                top = step[z, rows]
                good = top > best
                best[good], up[good], down[good] = top[good], x, z[good]
                amount[good] = mass[z, rows][good]
            good = np.flatnonzero((up >= 0) & (values < enough))
            if not len(good):
                break
            active, up, down, amount = active[good], up[good], down[good], amount[good]
            for symbols, sign in ((up, 1), (down, -1)):
                moved = t[symbols, active] + sign * amount * per_mass[symbols]
                moved[np.abs(moved) < 1e-12] = 0.0
                moved[np.abs(moved - 1) < 1e-12] = 1.0
                t[symbols, active] = moved
        return t
