"""What must survive: utilities, all maximised (a loss enters as its negative)."""

from .base import UTILITIES, LinearUtility, Utility
from .linear import BayesGain, Distance, Hamming, Matrix

__all__ = ["UTILITIES", "BayesGain", "Distance", "Hamming", "LinearUtility", "Matrix", "Utility"]
