"""What must survive: utilities, all maximised (a loss enters as its negative)."""

from .base import UTILITIES, LinearUtility, Utility
from .linear import BayesGain, Distance, Hamming, Matrix
from .sublinear import (
    ChiSquare,
    FInformation,
    MutualInformation,
    Sublinear,
    SublinearUtility,
    TotalVariation,
)

__all__ = [
    "UTILITIES",
    "BayesGain",
    "ChiSquare",
    "Distance",
    "FInformation",
    "Hamming",
    "LinearUtility",
    "Matrix",
    "MutualInformation",
    "Sublinear",
    "SublinearUtility",
    "TotalVariation",
    "Utility",
]
