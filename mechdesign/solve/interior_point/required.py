"""What is required beside one two-sided cone, for the structured method: zeros and limits, sorted.

Entries that must be zero are left out. Limits on a single entry become bounds of that entry; all
others become rows, those whose ends nearly meet equations. The iterations are in :mod:`.bordered`.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ...errors import SolverError
from ...requirement.base import Limit
from ..method import Candidate, Duals
from ..program import LinearProgram
from .bordered import Bordered, Entries, Places, Rows, Singles
from .newton import Cone, StructuredOptions
from .predictor_corrector import Array, follow, one_thread

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
        iterations, converged = follow(path, options)
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
        self._sort(cone, p)

    def _sort(self, cone: Cone, p: Array) -> None:
        from scipy import sparse

        limits, entries = self.program.limits, self.entries
        places, signs, values, asking = [], [], [], []
        found, self._rows, data, where = [], [], [], []
        for j, limit in enumerate(limits):
            coefficients = limit.coefficients
            if _is_single(limit):
                place, scale = self.place[limit.symbols[0], limit.outputs[0]], coefficients[0]
                for end, sign in ((limit.low, 1.0), (limit.high, -1.0)):
                    if end is None or scale == 0:
                        continue
                    value = float(end / Fraction(float(scale)))
                    sign = sign if scale > 0 else -sign
                    if place < 0:
                        self._check(sign * value <= 0, limit)
                    elif 0 < value < 1:
                        places.append(place)
                        signs.append(sign)
                        values.append(value + sign * _ROOM)
                        asking.append((j, sign / scale))
                    else:
                        self._check(sign * (0.5 - value) > 0, limit)
                continue
            place = self.place[limit.symbols, limit.outputs]
            kept = np.flatnonzero((place >= 0) & (coefficients != 0))
            scale = float(np.abs(coefficients[kept]).max(initial=0.0))
            if not scale:
                self._check((limit.low or 0) <= 0 <= (limit.high or 0), limit)
                continue
            ends = [
                math.copysign(math.inf, sign)
                if end is None
                else float(end / Fraction(scale)) - sign * _ROOM
                for end, sign in ((limit.low, -1.0), (limit.high, 1.0))
            ]
            self._rows.append((j, scale))
            found.append((*ends, _width(limit) <= _EQUATION))
            data.append(coefficients[kept] / scale)
            where.append(place[kept])
        self.singles = Singles(
            np.array(places, dtype=np.intp), np.array(signs), np.array(values, dtype=float)
        )
        self._asking = asking
        count = len(found)
        low, high, equal = np.array(found).reshape(count, 3).T
        row = np.repeat(np.arange(count), [len(v) for v in data])
        flat, column = (np.concatenate([np.zeros(0), *parts]) for parts in (data, where))
        scales = np.zeros((count, entries.shape[1]))
        if cone.linked:
            kept_at = self._in_proportion(row, column.astype(np.intp), flat, p, scales)
            row, column, flat = row[kept_at], column[kept_at], flat[kept_at]
        matrix = sparse.csr_array(
            (flat, (row, column.astype(np.intp))), shape=(count, len(entries.symbols))
        )
        same = equal > 0
        low = np.where(same, (low + high) / 2, low)
        self.rows = Rows(entries, matrix, scales, same, low, high)

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

    def _check(self, is_kept: bool, limit: Limit) -> None:
        if not is_kept:
            raise SolverError(f"{self.program}: {limit.label} cannot be satisfied")

    def kernel(self, k: Array) -> Array:
        """The whole kernel ``(n, M)``."""
        found = np.zeros(self.place.shape)
        found[self.entries.symbols, self.outputs[self.entries.outputs]] = np.maximum(k, 0.0)
        return found

    def duals(self, eta: Array, multipliers: Array) -> Array:
        """Of each limit, positive for its upper and negative for its lower end."""
        found = np.zeros(len(self.program.limits))
        for (j, scale), value in zip(self._rows, eta.tolist(), strict=True):
            found[j] = value / scale
        for (j, factor), value in zip(self._asking, multipliers.tolist(), strict=True):
            found[j] -= factor * value
        return found
