"""The linear program that mixes columns: max Σ q F subject to Σ q = 1, Σ q d = 0, q ≥ 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError

Vector = NDArray[np.float64]


# Deviations of rare symbols reach from −1 to 1e12; rows are scaled so that −1 still counts.
_LARGEST_SCALE = 1e4
# Entries of a column up to this are handed to HiGHS as they are.
_LARGEST_ENTRY = 1e9


def row_scales(reach: Vector) -> Vector:
    """What to divide the row of each symbol or group by, from the largest deviation in it."""
    return np.clip(reach, 1e-300, _LARGEST_SCALE)


def new_model(rows: int) -> Any:
    """A HiGHS model to maximise, with the row Σ q = 1 and ``rows`` rows Σ q d = 0."""
    import highspy

    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("threads", 1)
    for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        model.setOptionValue(name, 1e-10)
    model.changeObjectiveSense(highspy.ObjSense.kMaximize)
    empty, none = np.array([], dtype=np.int32), np.array([], dtype=float)
    model.addRow(1.0, 1.0, 0, empty, none)
    for _ in range(rows):
        model.addRow(0.0, 0.0, 0, empty, none)
    return model


def add_columns(model: Any, worth: Vector, rows: Vector) -> Vector:
    """Columns with the given worths and ``(C, rows)`` entries, below a one.

    HiGHS refuses entries above 1e15 and forgets those below 1e-9, so a column of large entries is
    divided by a scale; its share is what is found for it times the scale that is returned.
    """
    count, width = rows.shape
    largest = np.maximum(np.abs(rows).max(axis=1, initial=0.0), np.abs(worth))
    scale = 1 / np.maximum(largest / _LARGEST_ENTRY, 1.0)
    entries = np.concatenate([np.ones((count, 1)), rows], axis=1) * scale[:, None]
    model.addCols(
        count,
        worth * scale,
        np.zeros(count),
        np.full(count, np.inf),
        entries.size,
        np.arange(count, dtype=np.int32) * (width + 1),
        np.tile(np.arange(width + 1, dtype=np.int32), count),
        entries.ravel(),
    )
    return scale


def run_model(model: Any) -> tuple[Vector, float, Vector]:
    """Duals, value and shares. Raises :class:`SolverError` unless solved."""
    import highspy

    model.run()
    status = model.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise SolverError(f"HiGHS stopped on the program over columns with status {status}")
    solution = model.getSolution()
    value = float(model.getInfo().objective_function_value)
    return np.array(solution.row_dual), value, np.array(solution.col_value)


def merged(table: Vector, shares: Vector) -> tuple[Vector, Vector]:
    """Columns that are the same to working precision, as one with their joint share."""
    reach = np.maximum(np.abs(table).max(axis=0), 1e-300)
    _, first, place = np.unique(
        np.round(table / reach, 12), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    place = rank[place.ravel()]
    joint = np.bincount(place, weights=shares).astype(float)
    means = table[first[order]]
    if len(joint) < len(shares):
        sums = np.zeros_like(means)
        np.add.at(sums, place, shares[:, None] * table)
        several = (np.bincount(place) > 1) & (joint > 0)
        means[several] = sums[several] / joint[several, None]
    return means, joint


def exact_shares(table: Vector, guess: Vector) -> Vector:
    """Shares of ``(C, n)`` columns of deviations, corrected so that Σ q = 1 and Σ q d = 0 hold to
    the last digits.
    """
    scale = row_scales(np.abs(table).max(axis=0))
    rows = np.vstack([np.ones(len(table)), (table / scale).T])
    target = np.zeros(len(rows))
    target[0] = 1.0
    shares = guess
    for _ in range(3):
        missing = target - rows @ shares
        if float(np.abs(missing).max()) < 1e-15:
            break
        step, *_ = np.linalg.lstsq(rows, missing, rcond=None)
        shares = np.maximum(shares + step, 0.0)
    return np.asarray(shares)
