"""A sub-convex utility defined outside the package: all that it takes."""

from __future__ import annotations

from dataclasses import dataclass

import mechdesign as md


@dataclass(frozen=True)
class NormGain(md.utility.SublinearUtility):
    """Σ_y (Σ_x p(x) K[x, y]^a)^(1/a): 1 for uninformative kernels, maximal leakage as a grows."""

    order: float
    label: str = ""

    def values(self, columns, prior):
        """The norm of each column, ``(M,)``."""
        return (prior.probabilities @ columns**self.order) ** (1 / self.order)
