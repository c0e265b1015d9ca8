"""What a pilot says the truth is, for the design of the next round.

The distribution of largest likelihood may rule symbols out, and follows the noise of few reports.
It is drawn towards the prior by the share of its distance that noise alone explains: with d ways
for reports to differ, Pearson's statistic X² of the reports under the prior has mean d where the
prior is right, and d + (what is really different) otherwise, so that share is d/X² (James and Stein
in the metric of the reports).
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from ..errors import ZeroMassWarning
from ..kernel import MatrixKernel
from ..prior import Prior

Vector = NDArray[np.float64]


def shrunk_truth(
    kernel: MatrixKernel, likely: Vector, prior: Vector, frequencies: Vector, reports: int
) -> Prior:
    """A distribution with mass exactly where the prior has some.

    Parameters
    ----------
    kernel : that made the reports
    likely : ``(N,)`` of largest likelihood
    prior : ``(N,)``, what it is drawn to
    frequencies, reports : ``(M,)`` of the reports, and how many there are
    """
    expected, freedom, share = prior @ kernel.matrix, kernel.rank - 1, 1.0
    used = (expected > 0) | (frequencies > 0)
    with np.errstate(divide="ignore"):  # infinite where the prior rules a report out
        distance = reports * ((frequencies - expected)[used] ** 2 / expected[used]).sum()
    if freedom and distance > 0:
        # At least as much of the prior as one report weighs: no symbol that it has is ruled out.
        share = np.clip(freedom / distance, 1 / (reports + 1), 1)
    kept = np.where(prior > 0, likely, 0.0)
    if kept.any():
        prior = (1 - share) * kept / kept.sum() + share * prior
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroMassWarning)  # speaks of designs
        return Prior.from_counts(prior, kernel.inputs)
