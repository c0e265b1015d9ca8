"""Iterative refinement: a linear program solved far beyond the tolerance of its solver.

HiGHS decides feasibility up to 1e-10, which is much beside a mass of 1e-9 or near the edge of what
is possible. Here the residuals of its answer are computed in rationals, and the program that is
left, scaled up by their inverse, is solved from the last basis ([GleixnerSteffyWolter2016]).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError
from ..program.program import LinearProgram
from .compiled import SparseProgram
from .highs import Model, row_ends, split_rows, variable_ends

Array = NDArray[np.float64]

#: Non-zeros up to which residuals in rationals cost little beside the solver.
REFINED_ENTRIES = 6000
# Residuals of this size end it; by how much a scale grows at most in one round; how many rounds.
_ENOUGH, _GROWTH, _ROUNDS = 2.0**-60, 2.0**20, 6
# Ends of rows and variables are scaled up with the residuals; floats must still hold them.
_LARGEST_SCALE = 2.0**40
# A variable this near to its end is at it.
_AT_END = Fraction(1, 1 << 50)
_TOLERANCES = (1e-10, 1e-7)


def solve_refined(
    program: SparseProgram,
) -> tuple[tuple[Array, Array, Array, tuple[Array, ...], Array], int]:
    """A compiled program without cones: what :meth:`SparseProgram.invert` takes, and how many
    rounds it took.

    Raises :class:`SolverError` where HiGHS finds no optimum, or refinement does not converge.
    """
    if program.cones:
        raise SolverError(f"HiGHS has no {program.cones[0].kind} cones for {program.program}")
    exact = _Exact(program)
    tried = []
    for tolerance in _TOLERANCES:
        model = Model(tolerance)
        cost, right, least, most = exact.floats
        model.load(cost, exact.matrix, right, right, least=least, most=most)
        found = model.run("simplex")
        tried.append(f"at {tolerance:g}: {found.status}")
        if found.point is None or found.duals is None:
            continue
        x, y = _fractions(found.point), _fractions(found.duals)
        primal = dual = 1.0
        for number in range(_ROUNDS):
            rest = exact.rest(x, y)
            if max(rest.primal, rest.dual) <= _ENOUGH:
                return (_floats(x[: program.cost.size]), *split_rows(program, _floats(y))), number
            primal, dual = _scale(rest.primal, primal), _scale(rest.dual, dual)
            model.change(*rest.scaled(primal, dual))
            found = model.run("simplex")
            if found.point is None or found.duals is None:
                tried.append(f"refined at {1 / primal:.1g}: {found.status}")
                break
            up, over = Fraction(1 / primal), Fraction(1 / dual)
            x = [a + up * b for a, b in zip(x, _fractions(found.point), strict=True)]
            y = [a + over * b for a, b in zip(y, _fractions(found.duals), strict=True)]
        else:
            tried.append(f"residual {max(rest.primal, rest.dual):.2g} after {_ROUNDS} rounds")
    raise SolverError(
        f"HiGHS with refinement found no optimum for {program.program} ({'; '.join(tried)}); what "
        "is asked may be impossible, or all but"
    )


def _scale(residual: float, last: float) -> float:
    """A power of two that makes a residual about one, not much above the last scale."""
    wanted = last if residual == 0 else 2.0 ** math.floor(-math.log2(residual))
    return min(max(wanted, 1.0), last * _GROWTH, _LARGEST_SCALE)


@dataclass(frozen=True)
class _Rest:
    """What is left of a program around a point, in rationals, and how large its residuals are."""

    cost: list[Fraction]
    right: list[Fraction]
    least: list[Fraction | None]
    most: list[Fraction | None]
    primal: float
    dual: float

    def scaled(self, primal: float, dual: float) -> tuple[Array, Array, Array, Array]:
        """Objective, right-hand sides and ends of variables as floats, scaled up."""
        up, over = Fraction(primal), Fraction(dual)
        return (
            _floats([over * c for c in self.cost]),
            _floats([up * b for b in self.right]),
            _ends(self.least, up, -math.inf),
            _ends(self.most, up, math.inf),
        )


class _Exact:
    """Maximise ⟨c, x⟩ with A x = b and least ≤ x ≤ most, in rationals.

    Every row that is no equation has a variable of its own, its value.
    """

    def __init__(self, program: SparseProgram) -> None:
        from scipy import sparse

        matrix, lower, upper = row_ends(program, merged=False)
        loose = np.flatnonzero(lower < upper)
        count = len(loose)
        places = loose, np.arange(count)
        values = sparse.csr_array((-np.ones(count), places), shape=(len(lower), count))
        self.matrix = sparse.hstack([matrix, values]).tocsc()
        right = np.where(lower < upper, 0.0, lower)
        least = np.concatenate([variable_ends(program), lower[loose]])
        most = np.concatenate([np.full(program.cost.size, math.inf), upper[loose]])
        cost = np.concatenate([program.cost, np.zeros(count)])
        self.floats = cost, right, least, most
        found = self.matrix.tocoo()
        rows, columns = found.coords
        numbers = _fractions(found.data)
        self._entries = list(zip(rows.tolist(), columns.tolist(), numbers, strict=True))
        self._cost, self._right = _fractions(cost), _fractions(right)
        self._least, self._most = _finite(least), _finite(most)

    def rest(self, x: list[Fraction], y: list[Fraction]) -> _Rest:
        """The program around x, with the rows priced at y."""
        right, reduced = list(self._right), list(self._cost)
        for i, j, a in self._entries:
            if x[j]:
                right[i] -= a * x[j]
            if y[i]:
                reduced[j] -= a * y[i]
        least = [None if end is None else end - v for end, v in zip(self._least, x, strict=True)]
        most = [None if end is None else end - v for end, v in zip(self._most, x, strict=True)]
        off = [abs(v) for v in right]
        off += [v for v in least if v is not None] + [-v for v in most if v is not None]
        dual = Fraction(0)
        for d, low, high in zip(reduced, least, most, strict=True):
            end = high if d > 0 else low
            # What is at its end may have a reduced cost, else there is something to gain.
            if end is None or abs(end) > _AT_END:
                dual = max(dual, abs(d))
        return _Rest(reduced, right, least, most, max(float(max(off)), 0.0), float(dual))


def _fractions(values: Iterable[float]) -> list[Fraction]:
    return [Fraction(v) for v in np.asarray(values, dtype=float).tolist()]


def _finite(values: Array) -> list[Fraction | None]:
    return [Fraction(v) if math.isfinite(v) else None for v in values.tolist()]


def _floats(values: Iterable[Fraction]) -> Array:
    return np.array([float(v) for v in values])


def _ends(values: list[Fraction | None], scale: Fraction, nothing: float) -> Array:
    return np.array([nothing if v is None else float(scale * v) for v in values])


def is_small(program: LinearProgram) -> bool:
    """Whether refinement in rationals costs little."""
    limits = sum(len(limit.values) for limit in program.limits)
    n, m = program.shape
    return m * (2 * program.cone.entries + n) + limits <= REFINED_ENTRIES
