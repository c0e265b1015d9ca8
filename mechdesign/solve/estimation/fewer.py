"""Fewer outputs with the same information: basic solutions, and block designs of equal masses.

What a kernel tells at a truth is J = Σ q r rᵀ/(πᵀr), with N(N + 1)/2 entries that also fix Σ q r:
as many columns suffice for any information that some columns give (Carathéodory).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...certificate.estimation import is_symmetric
from ...errors import SolverError
from ...program.program import EstimationProgram
from .basic_solution import basic_solution
from .block_designs import block_design
from .generation import Columns
from .master import Weighted, optimal_masses

Vector = NDArray[np.float64]

# Columns of less mass than this share of the largest are not in use, or do not matter.
_USED, _MATTERS = 1e-10, 1e-6
# Seconds of a basic solution for each unit of its work, and the share of a time limit that it may
# take: beyond that all outputs stay, as a search that is cut short has many that are hardly used.
_RATE, _REDUCING = 5e-10, 0.2
# Entries of tables for which several basic solutions are sought, and how many of them.
_SEVERAL, _TRIES = 200_000, 8
_SAME = 1e-9
_SEED = 3


def fewer_columns(
    program: EstimationProgram, columns: Columns, masses: Vector
) -> tuple[Columns, Vector]:
    """Columns that answer as well with fewer outputs, where some are found, and their masses; all
    with their own masses elsewhere, and where finding them would take too long.
    """
    even = columns.even_masses(masses)
    used = even > _USED * even.max()
    every, columns, masses = (columns, masses), columns[used], masses[used]
    if (block := block_columns(program, columns.deviations, masses)) is not None:
        return block, np.full(len(block.shares), 1 / len(block.shares))
    found = basic_masses(program, columns, masses) if _in_time(program, len(masses)) else None
    return every if found is None else (columns[found > 0], found[found > 0])


def _in_time(program: EstimationProgram, count: int) -> bool:
    """Whether a basic solution of so many columns takes a small part of the time there is."""
    n = len(program.prior)
    sums = n * (n + 1) // 2
    return _RATE * sums * count * min(sums, count) <= _REDUCING * program.time_limit


def is_partial(program: EstimationProgram) -> bool:
    """Whether what is asked leaves some frequencies open, so that the best J may be singular."""
    loss = program.survey.losses
    size = np.sqrt(np.diagonal(loss))
    size = np.where(size > 0, size, 1.0)
    rank = np.linalg.matrix_rank(loss / np.outer(size, size), tol=1e-9 * len(loss))
    return int(rank) < len(loss) - 1


def is_exchangeable(program: EstimationProgram) -> bool:
    """Whether prior, truth, loss and bounds treat all symbols alike."""
    if not program.prior.is_uniform or len(set(program.survey.truth)) > 1:
        return False
    if program.sides is None or len(program.prior) < 2:
        return False
    return is_symmetric(program.survey.loss)


def block_columns(program: EstimationProgram, deviations: Vector, masses: Vector) -> Columns | None:
    """The sets of a block design instead of all sets of a size, where one is known.

    All of them have the same mass.
    """
    used = deviations[masses > _MATTERS * masses.max()]
    if not len(used) or program.apart or not is_exchangeable(program):
        return None
    n = used.shape[1]
    low, high = float(used.min()), float(used.max())
    room = _SAME * (high - low)
    up = used >= high - room
    sizes = set(up.sum(axis=1).tolist())
    if len(sizes) > 1 or not (up | (used <= low + room)).all():
        return None
    sets = block_design(n, sizes.pop())
    if sets is None or sets.shape[1] > len(used):
        return None
    found = np.where(sets.T, high, low)
    return Columns(found, 1 + found @ program.survey.masses)


def basic_masses(program: EstimationProgram, columns: Columns, masses: Vector) -> Vector | None:
    """Masses of a basic solution with the same Σ q, Σ q r and J.

    ``None`` where none is precise enough or all columns are needed.
    """
    answers = _answer_rows(program, columns, masses)
    even = columns.even_masses(np.ones(len(masses)))
    table = np.column_stack([np.ones(len(masses)), columns.deviations, answers]) / even[:, None]
    masses = masses * even
    if table.size <= _SEVERAL and (found := _fewest(table, masses)) is not None:
        return found / even
    basic = basic_solution(table.T, masses)
    return None if basic is None else basic / even


def _fewest(table: Vector, masses: Vector) -> Vector | None:
    """The basic solution of fewest columns among several, each the best one of some costs."""
    from scipy.linalg import qr
    from scipy.optimize import linprog

    size = np.sqrt((table**2).mean(axis=0))
    table = table[:, size > 0] / size[size > 0]
    _, triangle, order = qr(table, mode="economic", pivoting=True)
    some = np.abs(np.diagonal(triangle)) > 1e-11 * abs(triangle[0, 0])
    rows = table[:, order[: len(some)][some]].T
    if len(rows) >= len(masses):
        return None
    target, rng = rows @ masses, np.random.default_rng(_SEED)
    best: Vector | None = None
    for number in range(_TRIES):
        cost = -masses if not number else rng.random(len(masses))
        found = linprog(cost, A_eq=rows, b_eq=target, method="highs-ds")
        if found.status:
            break
        places = np.flatnonzero(found.x > 1e-9 * found.x.max())
        exact, *_ = np.linalg.lstsq(rows[:, places], target, rcond=None)
        left_over = np.abs(rows[:, places] @ exact - target).max()
        good = exact.min() > 0 and left_over <= 1e-12 * np.abs(target).max() * len(rows)
        if good and (best is None or len(places) < np.count_nonzero(best)):
            best = np.zeros(len(masses))
            best[places] = exact
    return best


def _answer_rows(program: EstimationProgram, columns: Columns, masses: Vector) -> Vector:
    """What columns add to J, or where that is less to JZ = R, for a root R of the loss: any masses
    with the same sums answer as well.
    """
    truth = program.survey.masses
    kept = np.delete(np.arange(len(truth)), int(np.argmax(truth)))
    deviations, shares = columns.deviations, columns.shares
    spread = (deviations - (deviations @ truth)[:, None])[:, kept]
    scale = np.sqrt(np.maximum((spread**2).mean(axis=0), 1e-300))
    spread = spread / scale
    left, right = np.triu_indices(len(kept))
    if is_partial(program):
        matrix = (spread.T * (masses / shares)) @ spread
        root = _root(program.survey.losses[np.ix_(kept, kept)])
        if root.shape[1] * len(kept) < len(left):
            answers = np.linalg.lstsq(matrix, root / scale[:, None], rcond=1e-12)[0]
            image = spread @ answers
            return np.asarray(
                (spread[:, :, None] * image[:, None, :]).reshape(len(spread), -1) / shares[:, None]
            )
    return np.asarray(spread[:, left] * spread[:, right] / shares[:, None])


def _root(loss: Vector) -> Vector:
    """R with RRᵀ a positive semi-definite matrix."""
    size = np.sqrt(np.diagonal(loss))
    size = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(loss / np.outer(size, size))
    some = values > 1e-11 * values[-1]
    return np.asarray(vectors[:, some] * np.sqrt(values[some]) * size[:, None])


def mixed_masses(
    program: EstimationProgram, columns: Columns, gap: float | None = None
) -> Weighted | None:
    """The best mixture of columns; ``None`` where none is a kernel that answers."""
    survey, prior = program.survey, program.prior.probabilities
    try:
        with np.errstate(all="ignore"):  # masses that cannot balance grow beyond floats
            told = columns.deviations, columns.shares, prior, survey.masses, survey.losses
            return optimal_masses(*told) if gap is None else optimal_masses(*told, gap)
    except (SolverError, ValueError):
        return None
