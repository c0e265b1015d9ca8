"""What is required beside one two-sided cone, for the structured method: zeros and limits, sorted.

Entries that must be zero are left out. Limits on a single entry become bounds of that entry; all
others become rows, those whose ends nearly meet equations. The iterations are in :mod:`.bordered`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...errors import SolverError
from ...linear.threads import one_thread
from ...program.duals import Candidate, Duals
from ...program.program import LinearProgram
from ...requirement.base import Limit
from .bordered import Bordered, Entries, Places, Rows, Singles
from .newton import Cone, StructuredOptions
from .predictor_corrector import Array, Stopping, follow

#: Rows beside single entries, and their coefficients, up to which it is used.
MOST_ROWS, MOST_COEFFICIENTS = 1000, 4_000_000
# Limits whose ends are closer than this, as a share of their largest coefficient, are equations.
_EQUATION = 1e-8
# Coefficients are in proportion to the prior up to this relative difference.
_PROPORTIONAL = 1e-13
# Limits keep this share of their largest coefficient for rounding.
_ROOM = 1e-13
# Error up to which a point counts as an answer where rounding lets it come no closer.
_ACCEPTED = 3e-7


def refusal(program: LinearProgram) -> str | None:
    """Why the limits of a program are too many or too long for it, or ``None``."""
    lengths = [len(limit.values) for limit in program.limits if not _is_single(limit)]
    if len(lengths) > MOST_ROWS:
        return f"{len(lengths)} limits on sums of entries are above the {MOST_ROWS} that it takes"
    if sum(lengths) > MOST_COEFFICIENTS:
        return (
            f"limits with {sum(lengths)} coefficients are above the {MOST_COEFFICIENTS} that it "
            "takes"
        )
    return None


def _is_single(limit: Limit) -> bool:
    if len(limit.values) != 1:
        return False
    return limit.low is None or limit.high is None or _width(limit) > _EQUATION


def _width(limit: Limit) -> float:
    """Distance of both ends, in units of the largest coefficient."""
    if limit.low is None or limit.high is None:
        return math.inf
    largest = float(np.abs(limit.coefficients).max(initial=0.0)) or 1.0
    return float(limit.high - limit.low) / largest


def solve_required(
    program: LinearProgram,
    p: Array,
    c: Array,
    cone: Cone,
    targets: Array,
    options: StructuredOptions,
) -> Candidate:
    """Solve under zeros and limits; prices and duals are in the units of ``c``.

    Parameters
    ----------
    p : ``(n,)`` prior
    c : ``(M, n)`` objective of each output, of order one or less
    cone : of every column
    targets : of the products of each symbol

    Raises :class:`SolverError` where the iterations end far from an optimum, as they do when there
    is no kernel.
    """
    asked = _Asked(program, p, c, cone)
    with one_thread(), np.errstate(all="ignore"):
        path = Bordered(
            p, asked.c, cone, asked.entries, asked.singles, asked.rows, targets, options
        )
        iterations, converged = follow(path, Stopping(options.tolerance, options.patience))
        inside = path.inside()
    if path.best is None or not path.least <= _ACCEPTED:
        raise SolverError(
            f"the structured method came no closer than {path.least:.2g} to an optimum of "
            f"{program}; what is asked may be impossible: try solver='highs-ipm'"
        )
    k, prices, eta, multipliers = path.best
    return Candidate(
        asked.kernel(k),
        Duals(prices, limits=asked.duals(eta, multipliers)),
        "structured interior point",
        {
            "iterations": str(iterations),
            "eliminations": str(iterations * asked.entries.shape[1]),
            "converged": str(converged),
        },
        inside=None if inside is None else asked.kernel(inside),
    )


@dataclass(frozen=True, eq=False)
class _Row:
    """low ≤ Σ a_i k_i ≤ high over entries, with a largest coefficient of one.

    ``lower`` and ``upper`` are the limits that its dual belongs to by its sign, and their unit.
    """

    places: Places
    coefficients: Array
    low: float
    high: float
    is_equation: bool
    lower: tuple[int, float]
    upper: tuple[int, float]


class _Asked:
    """Zeros and limits of a program in the form that the iterations take, and the way back."""

    def __init__(self, program: LinearProgram, p: Array, c: Array, cone: Cone) -> None:
        n, m = program.shape
        self.program = program
        allowed = np.ones((m, n), dtype=bool)
        if program.forbidden is not None:
            allowed = ~program.forbidden.T
        if not allowed.any(axis=0).all():
            raise SolverError(f"{program}: some symbol has no output")
        self.outputs = np.flatnonzero(allowed.any(axis=1))
        outputs, symbols = np.nonzero(allowed[self.outputs])
        self.entries = Entries(symbols, outputs, (n, len(self.outputs)))
        self.c = c[self.outputs[outputs], symbols]
        #: Position of each entry of the kernel, −1 for those that are zero.
        self.place = np.full((n, m), -1)
        self.place[symbols, self.outputs[outputs]] = np.arange(len(symbols))
        #: Of each entry and sign the tightest value, and which limit asks for it in what unit.
        self._bounds: dict[tuple[int, float], tuple[float, int, float]] = {}
        self._rows: list[_Row] = []
        for number, limit in enumerate(program.limits):
            if _is_single(limit):
                self._add_bound(number, limit)
            else:
                self._add_row(number, limit)
        self._fix_entries()
        keys, found = list(self._bounds), list(self._bounds.values())
        self.singles = Singles(
            np.array([place for place, _ in keys], dtype=np.intp),
            np.array([sign for _, sign in keys], dtype=float),
            np.array([value for value, _, _ in found], dtype=float),
        )
        self.rows = self._compiled_rows(p if cone.linked else None)

    def _add_bound(self, number: int, limit: Limit) -> None:
        place = int(self.place[limit.symbols[0], limit.outputs[0]])
        scale = float(limit.coefficients[0])
        for end, side in ((limit.low, 1.0), (limit.high, -1.0)):
            if end is None or scale == 0:
                continue
            value, sign = float(end / Fraction(scale)), math.copysign(side, side * scale)
            if place < 0:
                self._check(sign * value <= 0, limit)
            elif sign * value <= min(sign, 0.0):
                continue  # every probability does
            else:
                self._check(0 < value < 1, limit)
                bound = value + sign * _ROOM, number, sign / scale
                known = self._bounds.get((place, sign), bound)
                self._bounds[place, sign] = max(bound, known, key=lambda b: sign * b[0])

    def _add_row(self, number: int, limit: Limit) -> None:
        place, coefficients = self.place[limit.symbols, limit.outputs], limit.coefficients
        kept = np.flatnonzero((place >= 0) & (coefficients != 0))
        scale = float(np.abs(coefficients[kept]).max(initial=0.0))
        if not scale:
            self._check((limit.low or 0) <= 0 <= (limit.high or 0), limit)
            return
        low = -math.inf if limit.low is None else float(limit.low / Fraction(scale)) + _ROOM
        high = math.inf if limit.high is None else float(limit.high / Fraction(scale)) - _ROOM
        owner, is_equation = (number, 1 / scale), _width(limit) <= _EQUATION
        row = _Row(place[kept], coefficients[kept] / scale, low, high, is_equation, owner, owner)
        self._rows.append(row)

    def _fix_entries(self) -> None:
        """Entries whose floor meets their ceiling have rows: there is nothing between the two."""
        for place, sign in list(self._bounds):
            floor, ceiling = self._bounds.get((place, 1.0)), self._bounds.get((place, -1.0))
            if sign < 0 or floor is None or ceiling is None or ceiling[0] - floor[0] > _EQUATION:
                continue
            _, below, factor = self._bounds.pop((place, 1.0))
            _, above, other = self._bounds.pop((place, -1.0))
            self._check(ceiling[0] - floor[0] >= -_EQUATION, self.program.limits[below])
            owners = (below, factor), (above, -other)
            where, one = np.array([place]), np.ones(1)
            self._rows.append(_Row(where, one, floor[0], ceiling[0], True, *owners))

    def _compiled_rows(self, p: Array | None) -> Rows:
        """Rows in the form that the iterations take; with a prior, columns in proportion to it are
        rows in t.
        """
        from scipy import sparse

        count, (_, m) = len(self._rows), self.entries.shape
        number = np.repeat(np.arange(count), [len(row.places) for row in self._rows])
        none = np.zeros(0)
        data = np.concatenate([none, *(row.coefficients for row in self._rows)])
        column = np.concatenate([none.astype(int), *(row.places for row in self._rows)])
        scales = np.zeros((count, m))
        if p is not None:
            kept = self._in_proportion(number, column, data, p, scales)
            number, column, data = number[kept], column[kept], data[kept]
        matrix = sparse.csr_array(
            (data, (number, column)), shape=(count, len(self.entries.symbols))
        )
        low = np.array([row.low for row in self._rows])
        high = np.array([row.high for row in self._rows])
        equations = np.array([row.is_equation for row in self._rows], dtype=bool)
        middle = (low[equations] + high[equations]) / 2
        low[equations] = middle
        return Rows(self.entries, matrix, scales, equations, low, high)

    def _in_proportion(
        self, row: Places, column: Places, data: Array, p: Array, scales: Array
    ) -> Places:
        """Move what weighs a whole column like p to the scales; which coefficients are left."""
        entries = self.entries
        m = entries.shape[1]
        output = entries.outputs[column]
        key = row * m + output
        count = np.bincount(key, minlength=scales.size)
        ratio = data / p[entries.symbols[column]]
        most, least = np.full(scales.size, -np.inf), np.full(scales.size, np.inf)
        np.maximum.at(most, key, ratio)
        np.minimum.at(least, key, ratio)
        whole = count == np.tile(entries.heights, len(scales))
        with np.errstate(invalid="ignore"):
            whole &= most - least <= _PROPORTIONAL * np.maximum(np.abs(most), np.abs(least))
        scales.ravel()[whole] = most[whole]
        return np.flatnonzero(~whole[key])

    def _check(self, is_possible: bool, limit: Limit) -> None:
        if not is_possible:
            raise SolverError(
                f"{self.program}: {limit.label} leaves nothing inside for an interior point"
            )

    def kernel(self, k: Array) -> Array:
        """The whole kernel ``(n, M)``."""
        found = np.zeros(self.place.shape)
        found[self.entries.symbols, self.outputs[self.entries.outputs]] = np.maximum(k, 0.0)
        return found

    def duals(self, eta: Array, multipliers: Array) -> Array:
        """Of each limit, positive for its upper and negative for its lower end."""
        found = np.zeros(len(self.program.limits))
        for row, value in zip(self._rows, eta.tolist(), strict=True):
            number, factor = row.upper if value > 0 else row.lower
            found[number] += factor * value
        owners = self._bounds.values()
        for (_, number, factor), value in zip(owners, multipliers.tolist(), strict=True):
            found[number] -= factor * value
        return found
