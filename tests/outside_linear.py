"""A linear utility defined outside the package: all that it takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import mechdesign as md


@dataclass(frozen=True)
class Pinball(md.utility.LinearUtility):
    """−E of the pinball loss: what is reported estimates a quantile of a numeric secret."""

    quantile: float = 0.5

    def gains(self, prior, outputs):
        """Minus the loss of each output for each symbol, ``(N, M)``."""
        above = np.array(prior.labels, float)[:, None] - np.array(outputs, float)[None, :]
        return -np.maximum(self.quantile * above, (self.quantile - 1) * above)
