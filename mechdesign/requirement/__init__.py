"""What else must hold? Requirements on the kernel beside privacy: zeros, floors, costs, marginals.

In: a prior and the labels of the outputs.
Out: forbidden entries and linear limits on the kernel for the program, and an exact check of a
kernel that shares nothing with them.
"""

from . import require
from .averages import Cost, EqualError, Invariant, LeastGain, OutputShare, Unbiased
from .base import (
    REQUIREMENTS,
    Limit,
    Requirement,
    RequirementCheck,
    as_requirements,
    requirement_fields,
)
from .convex import Convex
from .entries import Diagonal, Entry, Pattern, Within
from .local import Apart, EveryOutput, Posterior
from .order import Monotone, Symmetric
from .own import FewOutputs, Rows, Sums

__all__ = [
    "REQUIREMENTS",
    "Apart",
    "Convex",
    "Cost",
    "Diagonal",
    "Entry",
    "EqualError",
    "EveryOutput",
    "FewOutputs",
    "Invariant",
    "LeastGain",
    "Limit",
    "Monotone",
    "OutputShare",
    "Pattern",
    "Posterior",
    "Requirement",
    "RequirementCheck",
    "Rows",
    "Sums",
    "Symmetric",
    "Unbiased",
    "Within",
    "as_requirements",
    "require",
    "requirement_fields",
]
