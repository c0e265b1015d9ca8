"""How is a report drawn and understood where a kernel is too large for a matrix?

In: a number of symbols of equal mass, or their labels, or a prior of a few masses, and notions that
treat symbols alike.
Out: subset selection with blocks of an affine geometry, or with permutations of one column, or
mixtures of types of these: weights of a few levels in integers, levels and risk in closed form, the
bound on the risk of every kernel by symmetry.
"""

from .choice import subset_selection
from .report_types import LevelCheck, ReportType
from .selection import PublicSelection, SubsetSelection, SymmetryCertificate

__all__ = [
    "LevelCheck",
    "PublicSelection",
    "ReportType",
    "SubsetSelection",
    "SymmetryCertificate",
    "subset_selection",
]
