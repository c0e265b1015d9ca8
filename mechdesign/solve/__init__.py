"""How is the optimum found? A problem is stated, a program made of it, a method chosen and run.

In: a prior, a utility and notions.
Out: a design, with the certificate that :mod:`mechdesign.certificate` makes.

On the way: a :mod:`~mechdesign.program.problem` (validated at the door) → its
:mod:`~mechdesign.program.program` (the one form: objective, cone, sums) → :mod:`.choice` (compares
what methods say they handle) → a :class:`Method` → certificate. A method of one's own derives from
:class:`Method`, says in ``features`` what it solves, and answers with a :class:`Candidate`;
:func:`compile_program` gives it the sparse program of a linear utility.
"""

from typing import TYPE_CHECKING, Any

from ..linear.compiled import SparseProgram, compile_program
from ..program.duals import Candidate, Duals
from ..program.program import (
    Cone,
    EstimationProgram,
    LinearProgram,
    Program,
    SublinearProgram,
    TwoSided,
)
from .differences import Differences
from .method import ESTIMATION, GENERAL, INFORMATION, LINEAR, SUBLINEAR, Method

if TYPE_CHECKING:
    from ._design import matrix_design as matrix_design

__all__ = [
    "ESTIMATION",
    "GENERAL",
    "INFORMATION",
    "LINEAR",
    "SUBLINEAR",
    "Candidate",
    "Cone",
    "Differences",
    "Duals",
    "EstimationProgram",
    "LinearProgram",
    "Method",
    "Program",
    "SparseProgram",
    "SublinearProgram",
    "TwoSided",
    "compile_program",
]


def __getattr__(name: str) -> Any:
    # Bound on first use: designs need methods, which need this package.
    if name != "matrix_design":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ._design import matrix_design

    globals()[name] = matrix_design
    return matrix_design
