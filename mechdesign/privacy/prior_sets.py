"""Sets of priors: lists of them as data, and polytopes with too many vertices to list.

A set P of distributions stands in a :class:`Bound` where a list of hypotheses ν could stand:
(μᵀK)(y) ≤ e^ε (pᵀK)(y) for every p in P is (μᵀK)(y) ≤ e^ε min_P (pᵀK)(y). The minimum over a box or
an ℓ1-ball is a small linear program, so its dual describes the constraint with O(N) rows instead of
one row per vertex; both sides of that duality are here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PriorError, quote
from ..exact import common_integers, fraction
from ..labels import tidy
from ..mechanism import Mechanism
from ..prior import Prior
from .constraint import Array, Hypotheses

# Steps of the search for corners before it gives up.
_MOST_STEPS = 20_000

# Dual weights are moved this share into the set, so that rounding leaves them inside.
_INSIDE = 4e-16


def checked_priors(priors: Any) -> Any:
    """A set of priors as data, ``((label, mass), ...)`` each; ``None`` for the design's own."""
    if priors is None:
        return None
    found = []
    try:
        for prior in [priors] if isinstance(priors, Prior) else list(priors):
            if isinstance(prior, Prior):
                masses = ((label, prior.mass(i)) for i, label in enumerate(prior.labels))
                found.append(tuple((label, mass) for label, mass in masses if mass))
            else:
                given = tuple((tidy(label), mass) for label, mass in prior)
                _check_masses(given)
                found.append(given)
    except (TypeError, ValueError, OverflowError):
        raise PriorError(
            "priors of a notion",
            expected="a Prior, or a list of them",
            got=quote(priors),
            remedy="write md.Prior([...], labels) for each",
        ) from None
    if not found:
        raise PriorError(
            "priors of a notion",
            expected="at least one Prior",
            got="none",
            remedy="leave it out to use the prior of the design",
        )
    return tuple(found)


def _check_masses(masses: Sequence[tuple[Any, Any]]) -> None:
    """Raise ``ValueError`` unless pairs of labels and masses are a distribution."""
    exact = [fraction(mass) for _, mass in masses]
    if len(dict(masses)) < len(masses) or min(exact) < 0 or sum(exact) != 1:
        raise ValueError("no distribution")


def masses_over(priors: Any, prior: Prior) -> list[list[Fraction]]:
    """Exact masses of each prior of a set, in the order of the design's symbols.

    Raises :class:`PriorError` for a prior that has mass on other symbols.
    """
    if priors is None:
        return [[prior.mass(i) for i in range(len(prior))]]
    known = set(prior.labels)
    for masses in priors:
        strange = [label for label, mass in masses if mass and label not in known]
        if strange:
            raise PriorError(
                "prior of a notion",
                expected="a prior over symbols of the design",
                got=f"mass on {quote(strange[0])}",
                remedy="give both the same labels",
            )
    return [[fraction(dict(masses).get(label, 0)) for label in prior.labels] for masses in priors]


class PriorSet(Hypotheses):
    """A polytope of distributions over N symbols in the place of a list of hypotheses.

    ``likelihoods`` gives the one row that matters: the smallest likelihood over the set.
    """

    def __init__(self, size: int, total: int, name: str) -> None:
        super().__init__(size, None, (), total, (name,))

    def __len__(self) -> int:
        return 1

    @property
    def entries(self) -> int:
        """Counted as one, as rows of the dual are sparse."""
        return 1

    def kind(self, prior: Prior) -> str | None:
        """A set is neither all point masses nor the prior alone."""
        return None

    @property
    def matrix(self) -> Any:
        """A set has no matrix of hypotheses."""
        raise TypeError("a set of priors has no matrix; use rows()")

    def likelihoods(self, mechanism: Mechanism) -> NDArray[Any]:
        """Exact ``(1, M)`` integers: min over the set of pᵀK, times ``total * 2**bits``."""
        columns = mechanism.weights.astype(object).T
        return np.array([[self.least([int(w) for w in column]) for column in columns]], object)

    @abstractmethod
    def least(self, column: list[int]) -> int:
        """The smallest pᵀk over the set, times ``total``, for integers k."""

    @abstractmethod
    def vertices(self) -> list[tuple[int, ...]] | None:
        """Distributions times ``total`` whose hull is the set; ``None`` when there are too many."""

    @abstractmethod
    def rows(self, inverse: float) -> tuple[Any, Any]:
        """Sparse (rows × N) and (rows × auxiliaries) with ``left @ k + right @ a ≤ 0``, a ≥ 0.

        Some a with a[0] = t satisfy them just when ``inverse``·t ≤ min over the set of pᵀk.
        """

    @abstractmethod
    def weights(self, duals: Array) -> Array:
        """Multiples of distributions, ``(N, M)``, from multipliers of :meth:`rows`."""

    @abstractmethod
    def inside(self, weights: Array) -> Array:
        """Multiples of distributions of the set, ``(N, M)``, near arbitrary non-negative ones."""


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

    def vertices(self) -> list[tuple[int, ...]] | None:
        """Lower bounds, and the rest in full portions but for one coordinate."""
        found = _corners(self.caps, self.rest)
        if found is None:
            return None
        return [tuple(v + e for v, e in zip(self.low, extra, strict=True)) for extra in found]

    def _floats(self) -> tuple[Array, Array, float]:
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

    def weights(self, duals: Array) -> Array:
        """Lower bounds times the first multiplier, plus the multipliers of the other rows."""
        low, caps, rest = self._floats()
        extra = np.zeros((self.size, duals.shape[1]))
        extra[[x for x in range(self.size) if self.caps[x] > 0]] = duals[1:]
        # What exceeds the rest only says that entries are not negative.
        extra = np.minimum(extra, caps[:, None] * duals[0])
        total = extra.sum(axis=0)
        extra *= np.minimum(rest * duals[0] / np.where(total > 0, total, 1.0), 1.0)
        return low[:, None] * duals[0] + extra

    def inside(self, weights: Array) -> Array:
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

    def vertices(self) -> list[tuple[int, ...]] | None:
        """Mass δ taken in full portions but for one coordinate, and given to one."""
        found = _corners(self.centre, self.distance)
        if found is None or len(found) * self.size > _MOST_STEPS:
            return None
        return sorted(
            {
                tuple(
                    c - b + self.distance * (x == given)
                    for x, (c, b) in enumerate(zip(self.centre, taken, strict=True))
                )
                for taken in found
                for given in range(self.size)
            }
        )

    def _floats(self) -> tuple[Array, float]:
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

    def weights(self, duals: Array) -> Array:
        """The centre times the first multiplier, less what is taken, plus what is given."""
        centre, _ = self._floats()
        n = self.size
        taken, given = duals[1 : n + 1], duals[n + 1 :]
        # What is given beyond what is taken only says that entries are not negative.
        total = given.sum(axis=0)
        share = np.minimum(taken.sum(axis=0) / np.where(total > 0, total, 1.0), 1.0)
        return np.maximum(centre[:, None] * duals[0] - taken + given * share, 0.0)

    def inside(self, weights: Array) -> Array:
        """Moved towards the centre until the distance is kept."""
        centre, distance = self._floats()
        mass = weights.sum(axis=0)
        away = weights - centre[:, None] * mass
        apart = np.abs(away).sum(axis=0) / 2
        allowed = distance * mass
        share = np.where(apart > allowed, allowed / np.where(apart > 0, apart, 1.0), 1.0)
        return centre[:, None] * mass + away * (share * (1 - _INSIDE))


def _corners(caps: Sequence[int], total: int) -> list[tuple[int, ...]] | None:
    """The points of {0 ≤ e ≤ caps, Σ e = total} with at most one coordinate strictly between.

    ``None`` when the search takes too many steps.
    """
    size = len(caps)
    if all(cap >= total for cap in caps):
        return [(*[0] * x, total, *[0] * (size - x - 1)) for x in range(size)]
    found: set[tuple[int, ...]] = set()
    steps = 0
    for between, part in enumerate(caps):
        room = [0]
        for x in reversed(range(size)):
            room.append(room[-1] + (caps[x] if x != between else 0))
        room.reverse()
        open_rows: list[tuple[tuple[int, ...], int]] = [((), total)]
        while open_rows:
            row, left = open_rows.pop()
            steps += 1
            if steps > _MOST_STEPS:
                return None
            if left < 0 or left > room[len(row)] + part:
                continue
            if len(row) == size or not left:
                row = (*row, *[0] * (size - len(row)))
                found.add((*row[:between], left, *row[between + 1 :]))
            elif len(row) == between:
                open_rows.append(((*row, 0), left))
            else:
                cap = caps[len(row)]
                open_rows += [((*row, e), left - e) for e in {0, cap}]
    return sorted(found)
