"""Gains that are asked of the utility for some outputs at a time, so that no array holds all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..labels import Label
from ..prior import Prior
from ..utility.linear import LinearUtility

Array = NDArray[np.float64]
Places = NDArray[np.intp]

#: Entries of gains from which they are asked for by output, where the utility can say them so.
LARGE = 400_000


@dataclass(frozen=True, eq=False)
class GainsByOutput:
    """The ``(n, M)`` gains of a utility over some symbols of a prior, output by output.

    Attributes
    ----------
    utility : whose gains of an output do not depend on which others are asked for
    prior, labels : what the utility is asked with
    symbols : positions of the n symbols
    """

    utility: LinearUtility
    prior: Prior
    labels: tuple[Label, ...]
    symbols: Places

    @property
    def shape(self) -> tuple[int, int]:
        """Symbols n and outputs M."""
        return len(self.symbols), len(self.labels)

    def columns(self, outputs: Sequence[int] | Places) -> Array:
        """Gains of some outputs, ``(n, k)``; raises :class:`UtilityError` as the utility does."""
        found = self.utility.gains(self.prior, [self.labels[y] for y in outputs])
        return found if len(self.symbols) == len(found) else found[self.symbols]

    @cached_property
    def positions(self) -> Array | None:
        """Where the outputs lie, ``(M, d)``, if gains fall with the distance from there."""
        return self.utility.positions(self.prior, self.labels)
