"""Sets of priors with too many vertices to list: what is smallest over them, exactly.

A set P of distributions stands in a :class:`Bound` where a list of hypotheses ν could stand:
(μᵀK)(y) ≤ e^ε (pᵀK)(y) for every p in P is (μᵀK)(y) ≤ e^ε min_P (pᵀK)(y). The minimum over a box or
an ℓ1-ball is a small linear program, so its dual describes the constraint with O(N) rows instead of
one row per vertex; both sides of that duality are here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact import common_integers
from ..mechanism import Mechanism
from .hypotheses import Hypotheses

# Dual weights are moved this share into the set, so that rounding leaves them inside.
_INSIDE = 4e-16


class PriorSet(Hypotheses):
    """A polytope of distributions over N symbols in the place of a list of hypotheses.

    ``likelihoods`` gives the one row that matters: the smallest likelihood over the set.
    """

    def __init__(self, size: int, total: int, name: str) -> None:
        super().__init__(size, None, (), total, (name,))

    def __len__(self) -> int:
        return 1

    @property
    def matrix(self) -> Any:
        """Sets have no matrix of hypotheses."""
        raise TypeError("a set of priors has no matrix; use rows()")

    def likelihoods(self, mechanism: Mechanism) -> NDArray[Any]:
        """Exact ``(1, M)`` integers: min over the set of pᵀK, times ``total * 2**bits``."""
        columns = mechanism.weights.astype(object).T
        return np.array([[self.least([int(w) for w in column]) for column in columns]], object)

    @abstractmethod
    def least(self, column: list[int]) -> int:
        """The smallest pᵀk over the set, times ``total``, for integers k."""

    @abstractmethod
    def corners(self) -> Iterator[tuple[int, ...]]:
        """Points of the set, times ``total``, one of which attains :meth:`least` for every k.

        Exponentially many in N: for few symbols.
        """

    @abstractmethod
    def rows(self, inverse: float) -> tuple[Any, Any]:
        """Sparse (rows × N) and (rows × auxiliaries) with ``left @ k + right @ a ≤ 0``, a ≥ 0.

        Some a with a[0] = t satisfy them just when ``inverse``·t ≤ min over the set of pᵀk.
        """

    @abstractmethod
    def weights(self, duals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiples of distributions, ``(N, M)``, from multipliers of :meth:`rows`."""

    @abstractmethod
    def inside(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiples of distributions of the set, ``(N, M)``, near arbitrary non-negative ones."""


def _fillings(caps: Sequence[int], amount: int) -> Iterator[tuple[set[int], int | None]]:
    """Ways to place an amount: coordinates that are full, and the one with a positive rest."""
    room = [x for x, cap in enumerate(caps) if cap > 0]
    for size in range(len(room) + 1):
        for full in combinations(room, size):
            left = amount - sum(caps[x] for x in full)
            if left == 0:
                yield set(full), None
            elif left > 0:
                yield from ((set(full), x) for x in room if x not in full and left < caps[x])


class Box(PriorSet):
    """Distributions with low ≤ p ≤ high, coordinate by coordinate."""

    __slots__ = ("caps", "low", "rest")

    def __init__(self, low: Sequence[Fraction], high: Sequence[Fraction], name: str) -> None:
        rest = 1 - sum(low, Fraction(0))
        # No coordinate can take more than what is left over all lower bounds.
        caps = [min(h - v, rest) for v, h in zip(low, high, strict=True)]
        integers, total = common_integers([*low, *caps, rest])
        n = len(low)
        self.low, self.caps, self.rest = integers[:n], integers[n : 2 * n], integers[-1]
        super().__init__(n, total, name)

    def least(self, column: list[int]) -> int:
        """Lower bounds everywhere, the rest on the smallest entries first."""
        value = sum(v * k for v, k in zip(self.low, column, strict=True))
        left = self.rest
        for x in sorted(range(self.size), key=column.__getitem__):
            part = min(left, self.caps[x])
            value += part * column[x]
            left -= part
            if not left:
                break
        return value

    def corners(self) -> Iterator[tuple[int, ...]]:
        """Some coordinates at their caps, one with what is left, the others at lower bounds."""
        for full, one in _fillings(self.caps, self.rest):
            point = [v + c if x in full else v for x, (v, c) in enumerate(self._pairs())]
            if one is not None:
                point[one] += self.rest - sum(self.caps[x] for x in full)
            yield tuple(point)

    def _pairs(self) -> zip[tuple[int, int]]:
        return zip(self.low, self.caps, strict=True)

    def _floats(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        low = np.array([v / self.total for v in self.low])
        caps = np.array([v / self.total for v in self.caps])
        return low, caps, self.rest / self.total

    def rows(self, inverse: float) -> tuple[Any, Any]:
        """t/e^ε ≤ ⟨low, k⟩ + rest·τ − ⟨caps, s⟩ and τ ≤ k_x + s_x."""
        from scipy import sparse

        low, caps, rest = self._floats()
        bounded = [x for x in range(self.size) if self.caps[x] < self.rest]
        free = [x for x in range(self.size) if self.caps[x] > 0]
        left = sparse.vstack(
            [sparse.csr_array(-low[None, :]), -sparse.eye_array(self.size).tocsr()[free]]
        )
        right = np.zeros((1 + len(free), 2 + len(bounded)))
        right[0, 0], right[0, 1], right[1:, 1] = inverse, -rest, 1.0
        place = {x: row + 1 for row, x in enumerate(free)}
        for j, x in enumerate(bounded):
            right[0, 2 + j] = caps[x]
            if x in place:
                right[place[x], 2 + j] = -1.0
        return left.tocsr(), sparse.csr_array(right)

    def weights(self, duals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Lower bounds times the first multiplier, plus the multipliers of the other rows."""
        low, caps, rest = self._floats()
        extra = np.zeros((self.size, duals.shape[1]))
        extra[[x for x in range(self.size) if self.caps[x] > 0]] = duals[1:]
        # What exceeds the rest only says that entries are not negative.
        extra = np.minimum(extra, caps[:, None] * duals[0])
        total = extra.sum(axis=0)
        extra *= np.minimum(rest * duals[0] / np.where(total > 0, total, 1.0), 1.0)
        return low[:, None] * duals[0] + extra

    def inside(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """What exceeds the lower bounds, cut to the caps and brought to the right sum."""
        low, caps, rest = self._floats()
        mass = weights.sum(axis=0)
        room = caps[:, None] * mass
        extra = np.clip(weights - low[:, None] * mass, 0.0, room)
        total, target = extra.sum(axis=0), rest * mass
        over = total > target
        extra *= np.where(over, target / np.where(over, total, 1.0), 1.0)
        missing = np.maximum(target - extra.sum(axis=0), 0.0)
        spare = (room - extra).sum(axis=0)
        extra += (room - extra) * np.minimum(missing / np.where(spare > 0, spare, 1.0), 1.0)
        return low[:, None] * mass + extra


class Ball(PriorSet):
    """Distributions within total variation δ of a centre, ½ Σ |p − centre| ≤ δ."""

    __slots__ = ("centre", "distance")

    def __init__(self, centre: Sequence[Fraction], distance: Fraction, name: str) -> None:
        integers, total = common_integers([*centre, min(distance, Fraction(1))])
        self.centre, self.distance = integers[:-1], integers[-1]
        super().__init__(len(centre), total, name)

    def least(self, column: list[int]) -> int:
        """Mass δ moved from the largest entries to the smallest one."""
        value = sum(c * k for c, k in zip(self.centre, column, strict=True))
        smallest, left = min(column), self.distance
        for x in sorted(range(self.size), key=column.__getitem__, reverse=True):
            part = min(left, self.centre[x])
            value -= part * (column[x] - smallest)
            left -= part
            if not left:
                break
        return value

    def corners(self) -> Iterator[tuple[int, ...]]:
        """The distance moved to one coordinate, from some emptied ones and a last one."""
        for best in range(self.size):
            caps = [0 if x == best else c for x, c in enumerate(self.centre)]
            moved = min(self.distance, sum(caps))
            for full, one in _fillings(caps, moved):
                point = [c - caps[x] if x in full else c for x, c in enumerate(self.centre)]
                if one is not None:
                    point[one] -= moved - sum(caps[x] for x in full)
                point[best] += moved
                yield tuple(point)

    def _floats(self) -> tuple[NDArray[np.float64], float]:
        return np.array([c / self.total for c in self.centre]), self.distance / self.total

    def rows(self, inverse: float) -> tuple[Any, Any]:
        """t/e^ε ≤ ⟨c, k⟩ − δθ − ⟨c, s⟩, k_x ≤ m + θ + s_x and m ≤ k_x."""
        from scipy import sparse

        centre, distance = self._floats()
        n = self.size
        bounded = [x for x in range(n) if self.centre[x] < self.distance]
        eye = sparse.eye_array(n)
        left = sparse.vstack([sparse.csr_array(-centre[None, :]), eye, -eye])
        right = np.zeros((1 + 2 * n, 3 + len(bounded)))
        right[0, 0], right[0, 1] = inverse, distance
        right[1 : n + 1, 1] = right[1 : n + 1, 2] = -1.0
        right[n + 1 :, 2] = 1.0
        for j, x in enumerate(bounded):
            right[0, 3 + j] = centre[x]
            right[1 + x, 3 + j] = -1.0
        return left.tocsr(), sparse.csr_array(right)

    def weights(self, duals: NDArray[np.float64]) -> NDArray[np.float64]:
        """The centre times the first multiplier, less what is taken, plus what is given."""
        centre, _ = self._floats()
        n = self.size
        taken, given = duals[1 : n + 1], duals[n + 1 :]
        # What is given beyond what is taken only says that entries are not negative.
        total = given.sum(axis=0)
        share = np.minimum(taken.sum(axis=0) / np.where(total > 0, total, 1.0), 1.0)
        return np.maximum(centre[:, None] * duals[0] - taken + given * share, 0.0)

    def inside(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Moved towards the centre until the distance is kept."""
        centre, distance = self._floats()
        mass = weights.sum(axis=0)
        away = weights - centre[:, None] * mass
        apart = np.abs(away).sum(axis=0) / 2
        allowed = distance * mass
        share = np.where(apart > allowed, allowed / np.where(apart > 0, apart, 1.0), 1.0)
        return centre[:, None] * mass + away * (share * (1 - _INSIDE))
