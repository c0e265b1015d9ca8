"""How is the optimum found? A problem is stated, a program made of it, a method chosen and run.

In: a prior, a utility and notions.
Out: a design, with the certificate that :mod:`mechdesign.certificate` makes.

On the way: :mod:`.problem` (validated at the door) → :mod:`.program` (the one form: objective,
cone, sums) → :mod:`.choice` (compares what methods say they handle) → a :class:`Method` →
certificate. A method of one's own derives from :class:`Method`, says in ``handles`` what it solves,
and answers with a :class:`Candidate`; :func:`compile_program` gives it the sparse program of a
linear utility.
"""

from .differences import Differences
from .linear_program import SparseProgram, compile_program
from .method import (
    Candidate,
    Duals,
    Handles,
    Method,
    handles_estimation,
    handles_information,
    handles_linear,
    handles_sublinear,
)
from .program import (
    Cone,
    EstimationProgram,
    LinearProgram,
    Program,
    SublinearProgram,
    TwoSided,
)

__all__ = [
    "Candidate",
    "Cone",
    "Differences",
    "Duals",
    "EstimationProgram",
    "Handles",
    "LinearProgram",
    "Method",
    "Program",
    "SparseProgram",
    "SublinearProgram",
    "TwoSided",
    "compile_program",
    "handles_estimation",
    "handles_information",
    "handles_linear",
    "handles_sublinear",
]
