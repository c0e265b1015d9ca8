"""Lexicographic refinement of a worst case: after the least, the next least, and so on.

In an optimal dual solution of max_K min_i f_i(K), every function of positive weight equals the
optimum in all optimal kernels, so that it can be held there while the least of the others is
maximised. What is proved remains the bound of the first stage.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError
from ..program.duals import Candidate
from ..program.worst import LeastProgram
from .method import Method

# Shares above this are no noise; functions are held within this part of the range.
_POSITIVE, _SLACK = 1e-6, 1e-9


def refined_candidate(program: LeastProgram, method: Method, first: Candidate) -> Candidate:
    """A candidate whose further functions are maximised in turn, with the duals of the first.

    Raises :class:`SolverError` where a later stage is not solved.
    """
    slack = _SLACK * program.largest_rise
    free = list(range(len(program.alternatives)))
    found, limits = first, program.limits
    while True:
        values = program.values(found.kernel)
        least = float(values[free].min())
        binding = _binding(found.duals.mixture, values[free])
        held = [i for i, binds in zip(free, binding, strict=True) if binds]
        limits = (*limits, *(program.as_limit(i, least - slack) for i in held))
        free = [i for i in free if i not in held]
        if not free:
            return replace(first, kernel=found.kernel)
        others = tuple(program.alternatives[i] for i in free)
        found = method.solve(replace(program, alternatives=others, limits=limits))
        if found.kernel.shape != program.shape:
            raise SolverError(
                f"method {method.name}: expected a kernel of shape {program.shape} in a refinement,"
                f" got {found.kernel.shape}"
            )


def _binding(mixture: NDArray[np.float64] | None, values: NDArray[np.float64]) -> list[bool]:
    """Which functions cannot exceed the least: those of positive weight, at least one."""
    found = np.zeros(len(values), dtype=bool)
    if mixture is not None and len(mixture) == len(values):
        found = mixture > _POSITIVE * max(float(mixture.max()), _POSITIVE)
    if not found.any():
        found[int(np.argmin(values))] = True
    return [bool(binds) for binds in found]
