"""Dual variables as plain values, and back for the problem that they belong to.

They prove a bound, and are trusted in nothing: what comes in has the shapes that the problem asks
for, and no more entries than its own could have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .certificate.few_outputs import MOST_PROGRAMS
from .exact import read_integer
from .program.duals import Branch, Duals
from .program.problem import Problem
from .program.program import EstimationProgram, LinearProgram
from .program.worst import LeastProgram, WorstTruthProgram

# Dual variables of small problems may take this many entries.
_SMALL_MATRIX = 10**6
# Matrices of dual variables that belong to one bound, and some more.
_MATRICES = 8
# What those of designs for estimates consist of.
_OF_ESTIMATES = "prices", "multipliers", "mixture", "inverse"


def duals_to_json(duals: Duals) -> dict[str, Any]:
    """Dual variables as plain values, matrices by their entries other than zero."""
    # JSON has no other numbers than finite ones, and no bound makes use of others.
    vectors = {
        name: numbers.tolist()
        for name in ("prices", "limits", "mixture", "inverse")
        if (numbers := getattr(duals, name)) is not None and np.isfinite(numbers).all()
    }
    lists = {
        name: [[_sparse_out(part) for part in parts] for parts in matrices]
        for name, matrices in (("multipliers", duals.multipliers), ("averages", duals.sums))
        if matrices is not None
    }
    found: dict[str, Any] = {"prices": None, "multipliers": None, **vectors, **lists}
    if duals.branches is not None:
        found["branches"] = [
            {
                "excluded": list(part.excluded),
                "counted": part.counted,
                "duals": duals_to_json(part.duals),
            }
            for part in duals.branches
        ]
    if duals.offset or duals.power:
        found |= {"offset": duals.offset, "power": duals.power}
    return found


def _sparse_out(matrix: NDArray[np.float64]) -> dict[str, Any]:
    rows, columns = np.nonzero(np.where(np.isfinite(matrix), matrix, 0.0))
    return {
        "shape": list(matrix.shape),
        "rows": rows.tolist(),
        "columns": columns.tolist(),
        "values": matrix[rows, columns].tolist(),
    }


def duals_from_json(part: dict[str, Any], problem: Problem, counted: bool = False) -> Duals:
    """The dual variables that :func:`duals_to_json` wrote, for the problem they are of; where
    ``counted``, with one more sum over outcomes.

    Raises ``ValueError`` for matrices larger than any dual variables of the problem, each alone or
    all together, before they are made.
    """
    program, parts = problem.program, problem.program.cone.parts
    size = len(program.prior)
    shapes: dict[str, tuple[int, ...]] = {"prices": (size,), "mixture": (0,), "limits": (0,)}
    if isinstance(program, EstimationProgram):
        if part.keys() - {*_OF_ESTIMATES} or part["multipliers"] is not None:
            raise ValueError("dual variables of another kind than those of estimates")
        shapes["inverse"] = (size, size)
    elif "inverse" in part:
        raise ValueError("dual variables of estimates, where none are asked")
    if isinstance(program, WorstTruthProgram):
        shapes |= {"mixture": (program.truths.count,), "inverse": (program.parts * size, size)}
    if isinstance(program, LinearProgram):
        shapes["limits"] = (len(program.limits),)
    if isinstance(program, LeastProgram):
        shapes["mixture"] = (len(program.alternatives),)
    if "branches" in part and all(r.most_outputs is None for r in problem.requirements):
        raise ValueError("a search that nothing asks for")
    searched = _branches_in(part, len(problem.outputs))
    side = max(len(problem.prior), len(problem.outputs))
    most = max(_SMALL_MATRIX, 4 * side * max([side, *(own.width for own in parts)]))
    total = sum(
        max(rows, 0) * max(columns, 0)
        for some in (part, *(branch["duals"] for branch in searched or ()))
        for matrices in (some["multipliers"], some.get("averages"))
        for row in matrices or ()
        for rows, columns in (map(read_integer, matrix["shape"]) for matrix in row)
    )
    if total > _MATRICES * most * max(1, len(problem.notions), len(parts)):
        raise ValueError(f"dual variables of {total} entries together")
    counts = {"multipliers": len(parts), "averages": len(program.sums) + counted}
    lists = {name: part[name] for name in counts if part.get(name) is not None}
    for name, given in lists.items():
        if len(given) != counts[name] or not all(given):
            raise ValueError(f"{name} of {len(given)} parts in place of {counts[name]}")
    made: dict[str, Any] = {
        {"averages": "sums"}.get(name, name): tuple(
            tuple(_sparse_in(matrix, most) for matrix in row) for row in given
        )
        for name, given in lists.items()
    }
    vectors: dict[str, Any] = {
        name: _numbers_in(part, name, *shape) for name, shape in shapes.items()
    }
    branches = (
        None
        if searched is None
        else tuple(
            Branch(
                tuple(some["excluded"]),
                duals_from_json(some["duals"], problem, some["counted"]),
                some["counted"],
            )
            for some in searched
        )
    )
    return Duals(
        **vectors,
        **made,
        offset=float(part.get("offset", 0.0)),
        power=read_integer(part.get("power", 0)),
        branches=branches,
    )


def check_shapes(duals: Duals, problem: Problem) -> None:
    """Raise ``ValueError`` for dual variables of another form than parts of a program have."""
    program = problem.program
    if isinstance(program, LinearProgram) and duals.multipliers is not None:
        own = program.cone.no_duals(program.shape[1])
        found, asked = (
            [[m.shape for m in row] for row in part] for part in (duals.multipliers, own)
        )
        if found != asked:
            raise ValueError(f"multipliers of shapes {found} in place of {asked}")
    for constraint, numbers in zip(program.sums, duals.sums or (), strict=bool(duals.sums)):
        if len(numbers) != (constraint.dual_matrices or len(numbers)):
            raise ValueError(f"{len(numbers)} matrices of dual variables of {constraint}")


def _branches_in(part: dict[str, Any], outputs: int) -> list[dict[str, Any]] | None:
    """The parts of a search as they stand there, with outputs that there are."""
    found: list[dict[str, Any]] | None = part.get("branches")
    if found is None:
        return None
    if not isinstance(found, list) or len(found) > 2 * MOST_PROGRAMS:
        raise ValueError("the parts of a search are no list, or a longer one than any search has")
    for branch in found:
        places, counted = branch["excluded"], branch["counted"]
        if not all(type(y) is int and 0 <= y < outputs for y in places):
            raise ValueError("a part of a search holds other things than outputs")
        if "branches" in branch["duals"] or not isinstance(counted, bool):
            raise ValueError("a part of a search has another form")
    return found


def _numbers_in(part: dict[str, Any], name: str, *shape: int) -> NDArray[np.float64] | None:
    if part.get(name) is None:
        return None
    found = np.array(part[name], dtype=float)
    if 0 in found.shape:
        raise ValueError(f"dual variables {name} of nothing")
    if found.shape != shape or not np.isfinite(found).all():
        raise ValueError(f"dual variables {name} of shape {found.shape} in place of {shape}")
    return found


def _sparse_in(part: dict[str, Any], most: int) -> NDArray[np.float64]:
    rows, columns = (read_integer(size) for size in part["shape"])
    if not (rows > 0 and columns > 0 and rows * columns <= most):
        raise ValueError(f"dual variables of shape {rows}×{columns}, where {most} entries fit")
    matrix = np.zeros((rows, columns))
    matrix[part["rows"], part["columns"]] = part["values"]
    return matrix
