"""Which outputs would pay: the most that a column of a two-sided cone gains at given prices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...certificate.bounds import supports
from ...program.program import TwoSided

Array = NDArray[np.float64]


def best_columns(reduced: Array, p: Array, sides: TwoSided) -> Array:
    """max{⟨w_y, k⟩ : k in the cone, pᵀk = 1} for each row of ``(m, n)`` reduced costs, ``(m,)``."""
    return supports(reduced.T, p, sides)
