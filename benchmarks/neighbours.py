"""Privacy between neighbours on a line, as a notion of a user's own: bounds of another kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import mechdesign as md


@dataclass(frozen=True)
class OnALine(md.LikelihoodBound, register=False):
    """P(y|x) ≤ e^ε P(y|x′) for symbols x and x′ next to each other."""

    epsilon: float

    def bounds(self, prior: md.Prior) -> list[md.Bound]:
        """Each symbol against the next one, and back."""
        near = np.arange(len(prior) - 1)
        left, right = np.append(near, near + 1), np.append(near + 1, near)
        points = md.Hypotheses.points
        return [md.Bound(points(prior, left), points(prior, right), self.epsilon, "matched")]

    def leakage(self, kernel: NDArray[np.float64], prior: md.Prior) -> NDArray[np.float64]:
        """The largest |log P(y|x)/P(y|x+1)| of each outcome."""
        used = kernel.any(axis=0)
        found = np.zeros(kernel.shape[1])
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.abs(np.diff(np.log(kernel[:, used]), axis=0))
        found[used] = np.nan_to_num(steps, nan=0.0, posinf=np.inf).max(axis=0)
        return found
