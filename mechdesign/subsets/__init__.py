"""How is a report drawn and understood where a kernel is too large for a matrix?

In: a number of symbols of equal mass, or their labels, or a prior of a few masses, and notions that
treat symbols alike.
Out: subset selection with blocks of an affine geometry, or with permutations of one column: weights
of a few levels in integers, levels and risk in closed form, the bound on the risk of every kernel
by symmetry. Of a few masses, mixtures of types of such subsets.
"""

from ._subset_selection import subset_selection
from .grouped import GroupedKernel, GroupedSelection, PublicSelection
from .permuted import PermutedFamily
from .report_types import ReportType
from .selection import LevelCheck, SubsetSelection, SymmetryCertificate

__all__ = [
    "GroupedKernel",
    "GroupedSelection",
    "LevelCheck",
    "PermutedFamily",
    "PublicSelection",
    "ReportType",
    "SubsetSelection",
    "SymmetryCertificate",
    "subset_selection",
]
