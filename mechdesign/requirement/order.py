"""Requirements on the order of the symbols: monotone and symmetric kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from ..errors import RequirementError, quote
from ..labels import Label
from ..mechanism import Mechanism
from ..prior import Prior
from .base import TOLERANCE, Limit, Requirement, checked_tolerance, keep, largest, share


@dataclass(frozen=True)
class Monotone(Requirement):
    """P(Y ≥ y | x) does not fall in x: a later symbol is reported as stochastically later.

    Symbols and outputs count in the order in which the design lists them.
    """

    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Limit]:
        """One for each two neighbouring symbols and each output but the first."""
        m = len(outputs)
        for x in range(len(prior) - 1):
            for y in range(1, m):
                tail = np.arange(y, m)
                places = np.concatenate([np.full(m - y, x), np.full(m - y, x + 1)])
                values = np.concatenate([np.ones(m - y), -np.ones(m - y)])
                label = f"P(Y ≥ {outputs[y]}) of {prior.labels[x]} at most of {prior.labels[x + 1]}"
                yield Limit(places, np.tile(tail, 2), values, None, Fraction(0), label)

    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """Of the two neighbours whose tails are most out of order."""
        weights = [[int(w) for w in row] for row in mechanism.weights]
        tails = [[sum(row[y:]) for y in range(1, len(row))] for row in weights]
        return largest(
            (share(a - b, mechanism), f"P(Y ≥ {mechanism.outputs[y + 1]}) of {mechanism.inputs[x]}")
            for x, (first, second) in enumerate(pairwise(tails))
            for y, (a, b) in enumerate(zip(first, second, strict=True))
        )

    description = "later symbols are reported as stochastically later, in the order listed"


@dataclass(frozen=True)
class Symmetric(Requirement):
    """P(z | x) = P(x | z) for all symbols, within a tolerance."""

    tolerance: float | None = None

    def __post_init__(self) -> None:
        keep(self, tolerance=checked_tolerance(self.tolerance, "tolerance of symmetry"))

    @property
    def _room(self) -> Fraction:
        return Fraction(TOLERANCE if self.tolerance is None else self.tolerance)

    def limits(self, prior: Prior, outputs: Sequence[Label]) -> Iterator[Limit]:
        """One for each pair of symbols."""
        _check_square(prior, outputs)
        for x, first in enumerate(prior.labels):
            for z in range(x):
                label = f"P({prior.labels[z]} | {first}) equal to P({first} | {prior.labels[z]})"
                sides, signs = np.array([[x, z], [z, x]]), np.array([1.0, -1.0])
                yield Limit(sides[0], sides[1], signs, -self._room, self._room, label)

    def excess(self, mechanism: Mechanism, prior: Prior) -> tuple[Fraction, str]:
        """Of the two entries that differ most."""
        _check_square(prior, mechanism.outputs)
        off = np.abs(mechanism.weights - mechanism.weights.T)
        x, z = np.unravel_index(int(np.argmax(off)), off.shape)
        where = f"P({mechanism.outputs[z]} | {mechanism.inputs[x]})"
        return share(off[x, z], mechanism) - self._room, where

    @property
    def description(self) -> str:
        """With the tolerance."""
        return f"the kernel is symmetric within {float(self._room):g}"


def _check_square(prior: Prior, outputs: Sequence[Label]) -> None:
    if tuple(outputs) != tuple(prior.labels):
        raise RequirementError(
            "symmetric kernel",
            expected="outputs that are the symbols, in their order",
            got=f"outputs {quote(list(outputs))}",
            remedy="leave outputs= out",
        )
