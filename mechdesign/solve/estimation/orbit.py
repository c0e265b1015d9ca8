"""Equal masses: all ways to permute one extreme column, in closed form.

Where prior and truth are uniform and the loss treats all symbols alike, A = τ(I − 11ᵀ/N), averaging
a kernel over all permutations of the symbols costs nothing, as the risk is convex in J. Then
J = aI + b11ᵀ, the risk is τ(N − 1)/a, and a is the mean of (Σ r_x² − N)/(N − 1) over the columns r,
so that the permutations of the one extreme column with the largest Σ r_x² are optimal. Under LDP
these are subsets of one size, the subset selection of [YeBarg2018]; bounds on the lift have one
kind of extreme column alone.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...certificate.columns.exact_columns import LiftBox, near_sides
from ...certificate.columns.families import LARGEST_RATIO, LiftFamily, StaircaseFamily, make_family
from ...certificate.estimation import is_symmetric
from ...errors import SolverError
from ...prior import Prior
from ...program.duals import Candidate, Duals
from ...program.program import EstimationProgram, TwoSided
from ..method import ESTIMATION, Method
from .cyclic_designs import cyclic_design, most_outputs
from .generation import Columns
from .method import kernel_of

Vector = NDArray[np.float64]

#: Outputs of the largest kernel that is made so: a cyclic design of a hundred symbols.
MOST_OUTPUTS = 5000
# Permutations up to which all of them are taken.
_MOST_PERMUTED = 2000


class Orbit(Method):
    """Risks that treat all symbols alike, under one box of lifts or one ratio."""

    name = "orbit"
    features = ESTIMATION
    reason = "all symbols count alike: the permutations of one extreme column are optimal"
    source = "YeBarg2018 for LDP"

    def condition(self, program: EstimationProgram) -> str | None:
        """Applies to uniform priors and truths where all answers count alike."""
        survey = program.survey
        if survey.asks_nothing:
            return "nothing is asked"
        if not program.prior.is_uniform or len(set(survey.truth)) > 1:
            return "prior and truth are not both uniform"
        if not is_symmetric(survey.loss):
            return "errors of some answers count more than others"
        sides = near_sides(program.cone)
        lifts = None if sides is None else best_column(program.prior, sides)
        if lifts is None:
            return "the bounds are not one box of lifts or one LDP level"
        count = fewest_outputs(lifts)
        if count > MOST_OUTPUTS:
            return f"{count} outputs are above the {MOST_OUTPUTS} that are made so"
        return None

    def solve(self, program: EstimationProgram) -> Candidate:
        """Permutations of the best column: as few of them as answer as well as all."""
        sides, n = near_sides(program.cone), len(program.prior)
        assert sides is not None
        lifts = best_column(program.prior, sides)
        assert lifts is not None
        spread = (sum(r * r for r in lifts) - n) / (n - 1)
        inverse = np.eye(n) * float(1 / spread)
        rows, masses = rows_of(lifts)
        columns = Columns(rows - 1, np.ones(len(rows)))
        risk = float(np.trace(program.survey.losses)) / float(spread)
        kernel = kernel_of(program, columns, masses, risk)
        details = {"outputs": str(kernel.shape[1])}
        return Candidate(kernel, Duals(np.zeros(n), inverse=inverse), _SOLVER, details)


_SOLVER = "closed form (symmetry)"


def best_column(prior: Prior, sides: TwoSided) -> tuple[Fraction, ...] | None:
    """The extreme column r with the largest Σ r_x² under a uniform prior.

    ``None`` for other cones, and where no column but the constant one is left.
    """
    found = extreme_columns(prior, sides)
    best = max(found, key=lambda r: sum(v * v for v in r), default=None)
    return best if best is not None and len(set(best)) > 1 else None


def extreme_columns(prior: Prior, sides: TwoSided) -> list[tuple[Fraction, ...]]:
    """The extreme columns up to permutations under a uniform prior; none for other cones."""
    n = len(prior)
    family = make_family(prior, sides, np.abs)
    found: list[tuple[Fraction, ...]] = []
    if isinstance(family, StaircaseFamily):
        ratio = Fraction(min(sides.ratio, LARGEST_RATIO))
        for size in range(1, n):
            low = n / (size * ratio + n - size)
            found.append((ratio * low,) * size + (low,) * (n - size))
    elif isinstance(family, LiftFamily):
        box = LiftBox.of(prior, sides)
        unit = box.units[0]
        above = min(box.capacity // unit, n) if unit else 0
        left = box.between(0, box.capacity - above * unit) if above < n else None
        if left is not None:
            partial = 1 + left
            low, high = 1 + box.low[0], 1 + box.high[0]
            found.append((*((high,) * above), partial, *((low,) * (n - above - 1))))
    return found


def outputs_of(lifts: tuple[Fraction, ...]) -> int:
    """How many different permutations a column has."""
    found = math.factorial(len(lifts))
    for count in Counter(lifts).values():
        found //= math.factorial(count)
    return found


def fewest_outputs(lifts: tuple[Fraction, ...]) -> int:
    """How many outputs the permutations take that are made of a column."""
    every = outputs_of(lifts)
    return every if every <= _MOST_PERMUTED else most_outputs(len(lifts))


def rows_of(lifts: tuple[Fraction, ...]) -> tuple[Vector, Vector]:
    """Permutations of a column, ``(M, n)``, and their masses: a cyclic design where that has fewer
    outputs than all of them and is found. Raises :class:`SolverError` where they are too many.
    """
    every, fewer = outputs_of(lifts), most_outputs(len(lifts))
    found = cyclic_design(np.array(lifts, dtype=float)) if fewer < every else None
    if found is not None:
        return found
    if every > _MOST_PERMUTED:
        raise SolverError(f"no cyclic design of {len(lifts)} symbols was found")
    kernel = permuted(lifts)
    return np.asarray(kernel.T * kernel.shape[1]), np.full(every, 1 / every)


def permuted(lifts: tuple[Fraction, ...]) -> Vector:
    """The kernel of all different permutations of a column, ``(n, M)``."""
    n = len(lifts)
    table = np.full((n, 1), -1.0)
    for value, count in Counter(lifts).items():
        columns = []
        for column in table.T:
            for places in combinations(np.flatnonzero(column < 0).tolist(), count):
                filled = column.copy()
                filled[list(places)] = float(value)
                columns.append(filled)
        table = np.array(columns).T
    return np.asarray(table / table.shape[1])
