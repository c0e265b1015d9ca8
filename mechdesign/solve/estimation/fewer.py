"""Fewer outputs with the same information: basic solutions.

What a kernel tells at a truth is J = Σ q r rᵀ/(πᵀr), with N(N + 1)/2 entries that also fix Σ q r:
as many columns suffice for any information that some columns give (Carathéodory).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import SolverError
from ...program.program import EstimationProgram
from .basic_solution import basic_solution
from .generation import Columns
from .master import Weighted, optimal_masses

Vector = NDArray[np.float64]

# Columns of less mass than this share of the largest are not in use.
_USED = 1e-10
# Seconds of a basic solution for each unit of its work, and the share of a time limit that it may
# take: beyond that all outputs stay, as a search that is cut short has many that are hardly used.
_RATE, _REDUCING = 5e-10, 0.2


def fewer_columns(
    program: EstimationProgram, columns: Columns, masses: Vector
) -> tuple[Columns, Vector]:
    """Columns that answer as well with fewer outputs, where some are found, and their masses; all
    with their own masses elsewhere, and where finding them would take too long.
    """
    even = columns.even_masses(masses)
    used = even > _USED * even.max()
    every, columns, masses = (columns, masses), columns[used], masses[used]
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


def basic_masses(program: EstimationProgram, columns: Columns, masses: Vector) -> Vector | None:
    """Masses of a basic solution with the same Σ q, Σ q r and J.

    ``None`` where none is precise enough or all columns are needed.
    """
    answers = _answer_rows(program, columns, masses)
    even = columns.even_masses(np.ones(len(masses)))
    table = np.column_stack([np.ones(len(masses)), columns.deviations, answers]) / even[:, None]
    masses = masses * even
    basic = basic_solution(table.T, masses)
    return None if basic is None else basic / even


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
