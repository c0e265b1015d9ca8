"""Fewer outputs with the same information: basic solutions, and block designs of equal masses.

What a kernel tells at a truth is J = Σ q r rᵀ/(πᵀr), with N(N + 1)/2 entries that also fix Σ q r:
as many columns suffice for any information that some columns give (Carathéodory).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import SolverError
from ..program import EstimationProgram
from .block_designs import symmetric_design
from .master import optimal_masses

Vector = NDArray[np.float64]

# Columns of less mass than this share of the largest are not in a basic solution.
_NONE = 1e-12
# Entries of tables for which basic solutions are sought, and how many of them.
_LARGEST, _TRIES = 200_000, 6
# Columns that are left out one after the other are so few, and what that may cost of the risk.
_MOST_DROPPED, _COST = 60, 1e-9
_SAME = 1e-9
_SEED = 3


def fewer_columns(
    program: EstimationProgram, deviations: Vector, masses: Vector, risk: float
) -> tuple[Vector, Vector]:
    """Columns ``(m, n)`` with masses that answer as well with fewer outputs, where some are found.

    Parameters
    ----------
    deviations, masses : columns in use, ``(m, n)`` and ``(m,)``
    risk : what they reach, at the truth of the program
    """
    if block := block_columns(program, deviations, masses):
        return block
    best = deviations, masses
    places = basic_places(program, deviations, masses)
    if places is not None and len(places[0]) < len(masses):
        best = deviations[places[0]], places[1]
    return dropped_columns(program, *best, risk)


def is_exchangeable(program: EstimationProgram) -> bool:
    """Whether prior, truth, loss and bounds treat all symbols alike."""
    n, loss = len(program.prior), program.survey.loss
    if len(set(program.prior.weights)) > 1 or len(set(program.survey.truth)) > 1:
        return False
    if program.sides is None or n < 2:
        return False
    on, off = loss[0][0], loss[0][1]
    return all(
        v == (on if x == z else off) for x, row in enumerate(loss) for z, v in enumerate(row)
    )


def block_columns(
    program: EstimationProgram, deviations: Vector, masses: Vector
) -> tuple[Vector, Vector] | None:
    """One set for each symbol instead of all sets of a size, where such a block design is known."""
    used = deviations[masses > _NONE * masses.max()]
    if not len(used) or not is_exchangeable(program):
        return None
    n = used.shape[1]
    low, high = float(used.min()), float(used.max())
    room = _SAME * (high - low)
    up = used >= high - room
    sizes = set(up.sum(axis=1).tolist())
    if len(sizes) > 1 or not (up | (used <= low + room)).all():
        return None
    sets = symmetric_design(n, sizes.pop())
    if sets is None:
        return None
    return np.where(sets.T, high, low), np.full(n, 1 / n)


def basic_places(
    program: EstimationProgram, deviations: Vector, masses: Vector
) -> tuple[NDArray[np.intp], Vector] | None:
    """Positions and masses of columns of a basic solution with the same Σ q, Σ q r and J.

    ``None`` where it would take too long or is not precise.
    """
    from scipy.linalg import qr
    from scipy.optimize import linprog

    truth = program.survey.masses
    shares = 1 + deviations @ truth
    spread = deviations - (deviations @ truth)[:, None]
    left, right = np.triu_indices(deviations.shape[1] - 1)
    table = np.column_stack(
        [np.ones(len(masses)), deviations, spread[:, left] * spread[:, right] / shares[:, None]]
    )
    if table.size > _LARGEST:
        return None
    size = np.sqrt((table**2).mean(axis=0))
    table = table[:, size > 0] / size[size > 0]
    _, triangle, order = qr(table, mode="economic", pivoting=True)
    some = np.abs(np.diagonal(triangle)) > 1e-11 * abs(triangle[0, 0])
    rows = table[:, order[: len(some)][some]].T
    if len(rows) >= len(masses):
        return None
    target, rng = rows @ masses, np.random.default_rng(_SEED)
    best: tuple[NDArray[np.intp], Vector] | None = None
    for number in range(_TRIES):
        cost = -masses if not number else rng.random(len(masses))
        found = linprog(cost, A_eq=rows, b_eq=target, method="highs-ds")
        if found.status:
            return best
        places = np.flatnonzero(found.x > 1e-9 * found.x.max())
        exact, *_ = np.linalg.lstsq(rows[:, places], target, rcond=None)
        left_over = np.abs(rows[:, places] @ exact - target).max()
        good = exact.min() > 0 and left_over <= 1e-12 * np.abs(target).max() * len(rows)
        if good and (best is None or len(places) < len(best[0])):
            best = places, exact
    return best


def dropped_columns(
    program: EstimationProgram, deviations: Vector, masses: Vector, risk: float
) -> tuple[Vector, Vector]:
    """What is left when columns that the others can do without are left out, rarest first."""
    survey, prior = program.survey, program.prior.probabilities
    if len(masses) > _MOST_DROPPED:
        return deviations, masses
    column = 0
    for _ in range(len(masses)):
        order = np.argsort(masses, kind="stable")
        if column == len(order):
            break
        rest = np.delete(np.arange(len(masses)), order[column])
        try:
            found = optimal_masses(
                deviations[rest],
                1 + deviations[rest] @ survey.masses,
                prior,
                survey.masses,
                survey.losses,
            )
        except SolverError:
            found = None
        if found is None or not found.risk <= risk * (1 + _COST):
            column += 1
            continue
        kept = found.masses > _NONE * found.masses.max()
        deviations, masses = deviations[rest][kept], found.masses[kept]
        column = 0
    return deviations, masses
