"""What must survive? Utilities, all maximised; a loss enters as its negative.

In: a prior, and the outputs or the columns of a kernel.
Out: the gains of a linear utility, the values of columns under a sub-convex one, or the risk of
estimates, in floats and where possible enclosed between rationals.
"""

from .base import UTILITIES, Utility
from .estimation import Estimation
from .linear import BayesGain, Distance, Hamming, LinearUtility, Matrix, OutputUtility
from .sublinear import (
    ChiSquare,
    FInformation,
    MutualInformation,
    Sublinear,
    SublinearUtility,
    TotalVariation,
)
from .worst_case import WorstCase

__all__ = [
    "UTILITIES",
    "BayesGain",
    "ChiSquare",
    "Distance",
    "Estimation",
    "FInformation",
    "Hamming",
    "LinearUtility",
    "Matrix",
    "MutualInformation",
    "OutputUtility",
    "Sublinear",
    "SublinearUtility",
    "TotalVariation",
    "Utility",
    "WorstCase",
]
