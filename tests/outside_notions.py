"""Privacy notions defined outside the package, with parameters of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import mechdesign as md
from mechdesign.privacy.notion import AverageNotion


@dataclass(frozen=True)
class AgainstOne(md.LikelihoodBound):
    """K[x, y] ≤ e^ε K[reference, y] for every symbol x and outcome y."""

    epsilon: float
    reference: str
    needs = ("reference",)

    def bounds(self, prior):
        """All symbols over the one of reference."""
        one = md.Hypotheses.points(prior, [prior.index(self.reference)])
        return [md.Bound(md.Hypotheses.points(prior), one, self.epsilon)]

    def leakage(self, kernel, prior):
        """Log max_x K[x, y]/K[reference, y], ``(M,)``."""
        base = kernel[prior.index(self.reference)]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(kernel.max(axis=0) > 0, np.log(kernel.max(axis=0) / base), 0.0)


@dataclass(frozen=True)
class SharedLeakage(AverageNotion):
    """Maximal leakage of at most ε divided among some people."""

    epsilon: float
    people: int
    needs = ("people",)

    @property
    def each(self):
        """Maximal leakage at the level of one."""
        return md.MaximalLeakage(self.epsilon / self.people)

    def sums(self, prior):
        """The sum of column maxima."""
        return self.each.sums(prior)

    def leakage(self, kernel, prior):
        """Share of each outcome, ``(M,)``."""
        return self.each.leakage(kernel, prior)

    def measure(self, mechanism, prior):
        """The level of the kernel."""
        return self.each.measure(mechanism, prior)
