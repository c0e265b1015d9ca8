"""What bounds on likelihood ratios ask of a column, as rows of a cone: the form that all read.

A bound asks the same of the column k = K[:, y] of every outcome: homogeneous rows A k + B t ≤ 0
with auxiliary variables t ≥ 0, each labelled with what it stands for. :class:`ConeRows` gives them
to solvers (slightly inside e^ε), to bounds (at or above it), and pair by pair in exact numbers; it
projects dual variables to feasibility and shows prices. Nothing outside this folder looks at how a
bound pairs its hypotheses.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LevelError, SolverError
from ..mechanism import Mechanism
from ..prior import Prior
from .constraint import Bound, Group, Hypotheses, Rounding, largest_logs
from .prior_sets import PriorSet

_UNIT = 2.0**-52
# Rounding that a level computed from logarithms in floats is rounded up by.
_LOG_SLACK = 1e-11
# Room for the rounding of logarithms of likelihoods in floats.
_CLEAR = 1e-11

Array = NDArray[np.float64]
Places = NDArray[np.intp]
#: Dual variables of the rows of one bound, non-negative up to a solver's accuracy: ``(over,
#: under)`` of shapes ``(A, M)`` and ``(B, M)`` when every μ is paired with every ν, ``(pairs,)`` of
#: shape ``(P, M)`` when they are matched. Only :class:`ConeRows` looks inside.
Multipliers = tuple[Array, ...]
#: Positions u and v and factors of pairs k_u ≤ factor · k_v, ``(P,)``, and the mixtures ``(e, n)``
#: whose likelihoods follow those of the n symbols.
Differences = tuple[Places, Places, Array, Array]


@dataclass(frozen=True)
class PairRow:
    """One pair of hypotheses: μᵀk ≤ factor · νᵀk, in integers over common totals.

    ``place`` finds it again in :meth:`ConeRows.add`.
    """

    over: tuple[int, ...]
    over_total: int
    under: tuple[int, ...]
    under_total: int
    factor: float
    place: tuple[int, int]

    def integers(self) -> tuple[int, ...]:
        """A row a with a·k ≥ 0, without common divisor, exactly at the float factor."""
        ratio = Fraction(self.factor)
        left, right = ratio.numerator * self.over_total, ratio.denominator * self.under_total
        row = [left * b - right * a for a, b in zip(self.over, self.under, strict=True)]
        divisor = math.gcd(*row) or 1
        return tuple(v // divisor for v in row)

    def floats(self) -> Array:
        """μ − factor · ν."""
        over = np.array([v / self.over_total for v in self.over])
        return over - self.factor * np.array([v / self.under_total for v in self.under])


@dataclass(frozen=True, eq=False)
class Compared:
    """over/over_total ≤ e^level · under/under_total at each outcome, in integers ``(M,)``."""

    over: NDArray[Any]
    under: NDArray[Any]
    over_total: int
    under_total: int
    level: Fraction | float


@dataclass(frozen=True)
class PairPrice:
    """The price z ≥ 0 of one pair at one outcome.

    Attributes
    ----------
    over, under : names of the hypotheses
    slack : level minus the log ratio of the likelihoods, in nats
    price : z, per unit added to the right-hand side of (μᵀK)(y) ≤ e^level (νᵀK)(y)
    per_nat : per nat added to the level of the notion for this pair alone
    """

    over: str
    under: str
    slack: float
    price: float
    per_nat: float


class ConeRows(ABC):
    """What one bound asks of a column: rows A k + B t ≤ 0 with auxiliary variables t ≥ 0.

    Parameters
    ----------
    bound : Bound
        With a finite level.
    """

    #: Whether :meth:`pairs` and :meth:`groups` know that they can list everything.
    is_listed: bool = True

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        self._over, self._under = bound.over, bound.under

    @property
    def size(self) -> int:
        """Number of symbols."""
        return self._over.size

    @property
    def parameter(self) -> int:
        """Which level of its notion the bound carries."""
        return self._bound.parameter

    @property
    def terms(self) -> int:
        """How many hypotheses there are, for allowances on the rounding of sums over them."""
        return len(self._over) + len(self._under)

    @property
    def entries(self) -> int:
        """How many masses of the hypotheses are not zero."""
        return self._over.entries + self._under.entries

    @property
    def width(self) -> int:
        """The longest dimension of dual variables of one outcome."""
        return max(len(self._over), len(self._under))

    def kind(self, prior: Prior) -> tuple[str | None, str | None]:
        """What stands on either side where all are compared with all, see :meth:`.Hypotheses.kind`;
        ``None`` for other things.
        """
        return self._over.kind(prior), self._under.kind(prior)

    def factor(self, rounding: Rounding) -> float:
        """The largest factor of any pair."""
        return float(self._bound.factors(rounding).max())

    @property
    @abstractmethod
    def auxiliaries(self) -> int:
        """Number of auxiliary variables."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of rows."""

    def matrix(self) -> Any:
        """The rows over (k, t) inside e^ε, a SciPy sparse array, ``(R, n + auxiliaries)``."""
        from scipy import sparse

        values, *places = self.entries_of_matrix()
        shape = self.count, self.size + self.auxiliaries
        return sparse.csr_array((values, tuple(places)), shape=shape)

    @abstractmethod
    def entries_of_matrix(self) -> tuple[Array, Places, Places]:
        """Values, rows and columns of :meth:`matrix`, without repetitions."""

    @abstractmethod
    def split(self, duals: Array) -> Multipliers:
        """Dual variables, from those of the rows of :meth:`matrix`, ``(R, M)``."""

    @abstractmethod
    def no_duals(self, outputs: int) -> Multipliers:
        """Dual variables that are all zero."""

    @abstractmethod
    def feasible(self, multipliers: Multipliers) -> tuple[Array, Array]:
        """Dual variables projected to feasibility outside e^ε: weights a of the μ and b of the ν.

        Whatever the numbers were, Σ a μᵀk − Σ b νᵀk ≤ 0 then holds on the cone.
        """

    def weighted(self, a: Array, b: Array) -> tuple[Array, Array]:
        """Σ a μ and Σ b ν for weights from :meth:`feasible`, both ``(n, M)``."""
        return self._over.combined(a), self._under.combined(b)

    @abstractmethod
    def _listed(self) -> tuple[Places, Places]:
        """Which μ and which ν each pair is of."""

    def _factors(self, rounding: Rounding, count: int) -> Array:
        """The factor of each of so many pairs."""
        return np.broadcast_to(self._bound.factors(rounding), count)

    def pairs(self, rounding: Rounding) -> Iterator[PairRow]:
        """Every pair with a finite factor, one by one.

        Raises :class:`SolverError` where there are too many to list.
        """
        over, under = self._over.rows_of_integers(), self._under.rows_of_integers()
        totals = self._over.total, self._under.total
        places = list(zip(*(side.tolist() for side in self._listed()), strict=True))
        factors = self._factors(rounding, len(places)).tolist()
        for (i, j), factor in zip(places, factors, strict=True):
            if not math.isinf(factor):
                yield PairRow(over[i], totals[0], under[j], totals[1], factor, (i, j))

    @abstractmethod
    def add(self, multipliers: Multipliers, pair: PairRow, price: Array) -> None:
        """Add the price of one pair at each output, ``(M,)``, to dual variables, in place."""

    @abstractmethod
    def compared(self, mechanism: Mechanism) -> Iterator[Compared]:
        """What the bound compares, in integers: the worst pair of each outcome, or every pair
        that may break its bound.
        """

    @abstractmethod
    def groups(self) -> Iterator[Group]:
        """The pairs in exact numbers.

        Raises :class:`LevelError` where there are too many hypotheses to list.
        """

    def implied_level(self, ratios: Iterable[Array]) -> float:
        """The level of this bound for kernels with bounded ratios between symbols, in nats.

        ``ratios[x][z]`` bounds log K[x,y]/K[z,y] over the outcomes; rounded up.
        """
        from scipy.special import logsumexp

        with np.errstate(divide="ignore"):
            masses = np.log(self._under.matrix.toarray())
        # Largest ratio of each symbol to each ν, then of the symbols in each μ.
        against = np.stack([-logsumexp(masses - row, axis=1) for row in ratios])
        over = self._over.matrix.toarray() > 0
        largest = np.stack([against[part].max(axis=0) for part in over])[self._listed()]
        levels = _rounded_up(np.maximum(largest, 0.0))
        scales = np.broadcast_to([float(s) for s in self._bound.scales or (1,)], levels.shape)
        each = levels / np.where(scales == 0, 1.0, scales)
        each[(scales == 0) & (levels > 4 * _LOG_SLACK)] = math.inf
        return float(each.max())

    def differences(self, mixtures: int = 0) -> Differences | None:
        """Positions u and v and the factor inside e^ε of every pair, where each compares symbols
        and at most so many mixtures of them; ``None`` for other bounds.
        """
        places = self._places(mixtures) if self.is_listed else None
        if places is None:
            return None
        i, j = self._listed()
        return places[0][i], places[1][j], self._factors(Rounding.INSIDE, len(i)), places[2]

    def _places(self, most: int) -> tuple[Places, Places, Array] | None:
        """Positions of the μ and the ν, and the mixtures after the symbols; ``None`` if there are
        more.
        """
        found: dict[tuple[bytes, bytes], int] = {}
        rows, places = [], []
        for hypotheses in (self._over, self._under):
            if hypotheses.indices is not None:
                places.append(hypotheses.indices)
                continue
            matrix = hypotheses.matrix
            own = []
            for start, end in itertools.pairwise(matrix.indptr.tolist()):
                held, masses = matrix.indices[start:end], matrix.data[start:end]
                if len(held) == 1:
                    own.append(int(held[0]))
                    continue
                key = held.tobytes(), masses.tobytes()
                if key not in found:
                    if len(found) == most:
                        return None
                    found[key] = self.size + len(found)
                    rows.append(np.bincount(held, masses, self.size))
                own.append(found[key])
            places.append(np.array(own, dtype=np.intp))
        return places[0], places[1], np.array(rows, dtype=float).reshape(-1, self.size)

    def from_differences(
        self, pairs: Places, outputs: Places, prices: Array, count: int
    ) -> Multipliers:
        """Dual variables at ``count`` outputs: prices of some :meth:`differences` at some of them,
        per unit of k_u ≤ factor · k_v, and zero elsewhere.
        """
        raise NotImplementedError(f"{type(self).__name__} compares no two mixtures")

    @abstractmethod
    def exclude(self, forbidden: NDArray[np.bool_]) -> None:
        """Mark, in place, entries ``(n, M)`` that are zero because others are."""

    def _excluded(self, forbidden: NDArray[np.bool_]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Outcomes that every symbol of a ν is excluded from, and which symbols each μ has."""
        possible = (self._under.matrix != 0).astype(int) @ (~forbidden).astype(int)
        never: NDArray[Any] = np.asarray(possible) == 0
        return never, (self._over.matrix != 0).toarray()

    def at(self, mechanism: Mechanism) -> Ratios:
        """The likelihoods of the hypotheses under a kernel on the same symbols."""
        kernel = mechanism.kernel
        return Ratios(self._bound, self._over.of_kernel(kernel), self._likelihoods_under(mechanism))

    def _likelihoods_under(self, mechanism: Mechanism) -> Array:
        return self._under.of_kernel(mechanism.kernel)


class AllPairs(ConeRows):
    """μᵀk ≤ t and t/e^ε ≤ νᵀk with one auxiliary t: as many rows as hypotheses, not as pairs.

    Dual variables a of the first and b of the second are feasible when Σ b ≥ e^ε Σ a.
    """

    @property
    def auxiliaries(self) -> int:
        """One."""
        return 1

    @property
    def count(self) -> int:
        """One for each hypothesis."""
        return self.terms

    def entries_of_matrix(self) -> tuple[Array, Places, Places]:
        """The μ, then the ν, then the auxiliary of both."""
        over, under = self._over.entries_of_matrix(), self._under.entries_of_matrix()
        a, b, n = len(self._over), len(self._under), self.size
        inverse = 1 / self._bound.factors(Rounding.INSIDE)[0]
        values = over[0], -under[0], np.full(a, -1.0), np.full(b, inverse)
        rows = over[1], under[1] + a, np.arange(a + b)
        columns = over[2], under[2], np.full(a + b, n)
        return np.concatenate(values), np.concatenate(rows), np.concatenate(columns)

    def split(self, duals: Array) -> Multipliers:
        """As they are."""
        return duals[: len(self._over)], duals[len(self._over) :]

    def no_duals(self, outputs: int) -> Multipliers:
        """Zero for each μ and each ν."""
        return np.zeros((len(self._over), outputs)), np.zeros((len(self._under), outputs))

    def feasible(self, multipliers: Multipliers) -> tuple[Array, Array]:
        """Take b as it is, scale a to it."""
        a, b = map(_nonnegative, multipliers)
        factor = self._bound.factors(Rounding.OUTSIDE)[0]
        allowed = b.sum(axis=0) / factor * (1 - 8 * _UNIT * (len(a) + len(b)))
        total = a.sum(axis=0)
        uniform = np.full_like(a, 1 / len(a))
        return np.where(total > 0, a / np.where(total > 0, total, 1.0), uniform) * allowed, b

    def _listed(self) -> tuple[Places, Places]:
        """Every μ with every ν."""
        over, under = np.indices((len(self._over), len(self._under))).reshape(2, -1)
        return over, under

    def add(self, multipliers: Multipliers, pair: PairRow, price: Array) -> None:
        """The price to μ, e^ε times it to ν."""
        over, under = multipliers
        over[pair.place[0]] += price
        under[pair.place[1]] += pair.factor * price

    def from_differences(
        self, pairs: Places, outputs: Places, prices: Array, count: int
    ) -> Multipliers:
        """The price to each μ, e^ε times it to each ν."""
        over, under = self.no_duals(count)
        i, j = np.divmod(pairs, len(self._under))
        np.add.at(over, (i, outputs), prices)
        np.add.at(under, (j, outputs), self._bound.factors(Rounding.OUTSIDE)[0] * prices)
        return over, under

    def exclude(self, forbidden: NDArray[np.bool_]) -> None:
        """Every symbol of every μ, at outcomes without one ν."""
        never, held = self._excluded(forbidden)
        forbidden |= np.outer(held.any(axis=0), never.any(axis=0))

    def compared(self, mechanism: Mechanism) -> Iterator[Compared]:
        """The largest likelihood of the μ with the smallest of the ν."""
        over = self._over.likelihoods(mechanism).max(axis=0)
        under = self._under.likelihoods(mechanism).min(axis=0)
        totals = self._over.total, self._under.total
        yield Compared(over, under, *totals, self._bound.level())

    def groups(self) -> Iterator[Group]:
        """One."""
        over, under = self._over.distributions, self._under.distributions
        bound = self._bound
        yield Group(over, under, bound.level(), bound.scale(), bound.parameter)


class Matched(ConeRows):
    """e^-ε μᵀk ≤ νᵀk, a row for every pair."""

    auxiliaries = 0

    def kind(self, prior: Prior) -> tuple[str | None, str | None]:
        """Neither: the hypotheses may be all points, but these are not compared with all."""
        return None, None

    @property
    def count(self) -> int:
        """One for each pair."""
        return len(self._over)

    def _each(self, rounding: Rounding) -> Array:
        return self._factors(rounding, len(self._over))

    def entries_of_matrix(self) -> tuple[Array, Places, Places]:
        """The μ over their factors, less the ν: two in each row where two symbols are compared."""
        over, under = self._over.indices, self._under.indices
        inverse = 1 / self._each(Rounding.INSIDE)
        if over is None or under is None or (over == under).any():
            from scipy import sparse

            rows = sparse.diags_array(inverse) @ self._over.matrix - self._under.matrix
            found = rows.tocoo()
            return found.data, *found.coords
        values = np.concatenate([inverse, np.full(len(over), -1.0)])
        return values, np.tile(np.arange(len(over)), 2), np.concatenate([over, under])

    def split(self, duals: Array) -> Multipliers:
        """Per unit of μᵀk ≤ e^ε νᵀk."""
        return (duals / self._each(Rounding.INSIDE)[:, None],)

    def no_duals(self, outputs: int) -> Multipliers:
        """Zero for each pair."""
        return (np.zeros((len(self._over), outputs)),)

    def feasible(self, multipliers: Multipliers) -> tuple[Array, Array]:
        """Set b = e^ε a, pair by pair."""
        factors = self._each(Rounding.OUTSIDE)[:, None]
        infinite = np.isinf(factors)
        a = np.where(infinite, 0.0, _nonnegative(multipliers[0]))
        return a, a * np.where(infinite, 1.0, factors)

    def _listed(self) -> tuple[Places, Places]:
        """Each μ with its ν."""
        return np.arange(self.count), np.arange(self.count)

    def add(self, multipliers: Multipliers, pair: PairRow, price: Array) -> None:
        """The price to the pair."""
        multipliers[0][pair.place[0]] += price

    def from_differences(
        self, pairs: Places, outputs: Places, prices: Array, count: int
    ) -> Multipliers:
        """The prices, each to its pair."""
        (found,) = self.no_duals(count)
        found[pairs, outputs] = prices
        return (found,)

    def exclude(self, forbidden: NDArray[np.bool_]) -> None:
        """The symbols of the μ of a pair, at outcomes without its ν."""
        never, held = self._excluded(forbidden)
        finite = np.isfinite(self._each(Rounding.OUTSIDE))
        forbidden |= (held & finite[:, None]).T.astype(int) @ never.astype(int) > 0

    def compared(self, mechanism: Mechanism) -> Iterator[Compared]:
        """Pair by pair, without those that floats see to be kept, with room for their rounding."""
        over, under = (side.likelihoods(mechanism) for side in (self._over, self._under))
        totals = self._over.total, self._under.total
        logs = largest_logs(over, under) + math.log(totals[1]) - math.log(totals[0])
        levels = np.log(self._each(Rounding.INSIDE))
        for i in np.flatnonzero(~(logs + _CLEAR * (1 + abs(logs)) < levels)).tolist():
            yield Compared(over[i], under[i], *totals, self._bound.level(i))

    def groups(self) -> Iterator[Group]:
        """One for every pair."""
        bound = self._bound
        pairs = zip(self._over.distributions, self._under.distributions, strict=True)
        for i, (mu, nu) in enumerate(pairs):
            yield Group((mu,), (nu,), bound.level(i), bound.scale(i), bound.parameter)


class Ratios:
    """Likelihoods of the hypotheses of one bound under one kernel, ``(A, M)`` and ``(B, M)``."""

    def __init__(self, bound: Bound, over: Array, under: Array) -> None:
        self._bound, self.over, self.under = bound, over, under
        self._levels = np.full(len(over), float(bound.epsilon))
        if bound.scales is not None:
            self._levels[:] = bound.epsilon * np.array([float(s) for s in bound.scales])

    @property
    def _is_matched(self) -> bool:
        return self._bound.pairing == "matched"

    def count_tight(self, outputs: Places, room: float) -> int:
        """Number of pairs and outputs within ``room`` nats of the bound."""
        with np.errstate(divide="ignore"):
            over, under = np.log(self.over[:, outputs]), np.log(self.under[:, outputs])
        if self._is_matched:
            live = np.isfinite(over)
            reach = under + self._levels[:, None] - room
            return int((np.where(live, over, -math.inf) >= np.where(live, reach, 0.0)).sum())
        level = float(self._levels[0])
        return sum(
            int((o.size - np.searchsorted(np.sort(o), u + level - room)).sum())
            for o, u in zip(over.T, np.where(np.isfinite(under), under, math.inf).T, strict=True)
        )

    def prices(self, output: int, a: Array, b: Array) -> Iterator[PairPrice]:
        """The pairs that weights from :meth:`ConeRows.feasible` put a price on at an output.

        Weights on either side of all pairs do not say which pair they belong to: the largest are
        matched with the largest.
        """
        if self._is_matched:
            pairs = [(i, i, float(a[i])) for i in np.flatnonzero(a).tolist()]
        elif len(self.under) == 1:
            pairs = [(i, 0, float(a[i])) for i in np.flatnonzero(a).tolist()]
        else:
            total = float(b.sum())
            pairs = _matched_up(a, b * (float(a.sum()) / total)) if total > 0 else []
        for i, j, price in pairs:
            over, under = float(self.over[i, output]), float(self.under[j, output])
            if over > 0 and under > 0:
                slack = float(self._levels[i]) - math.log(over / under)
            else:
                slack = math.inf if under > 0 else 0.0
            scales = self._bound.scales or (1.0,)
            scale = float(scales[i if len(scales) > 1 else 0])
            yield PairPrice(
                self._bound.over.names[i],
                self._bound.under.names[j],
                max(slack, 0.0),
                price,
                price * over * scale,
            )

    def nearest(self, output: int) -> tuple[float, float] | None:
        """Likelihood νᵀk and level of the pair nearest to its bound; ``None`` where none occurs."""
        over, under = self.over[:, output], self.under[:, output]
        if not self._is_matched:
            return float(under.min()), float(self._levels[0])
        live = (over > 0) & (under > 0)
        if not live.any():
            return None
        excess = np.full(len(live), -math.inf)
        excess[live] = np.log(over[live] / under[live]) - self._levels[live]
        pair = int(excess.argmax())
        return float(under[pair]), float(self._levels[pair])


def _matched_up(a: Array, b: Array) -> list[tuple[int, int, float]]:
    """A coupling of two weight vectors of equal sum with few pairs, the largest with the largest.

    >>> _matched_up(np.array([3., 1.]), np.array([2., 2.]))
    [(0, 0, 2.0), (0, 1, 1.0), (1, 1, 1.0)]
    """
    left, right = np.argsort(-a, kind="stable").tolist(), np.argsort(-b, kind="stable").tolist()
    have, need = [float(a[i]) for i in left], [float(b[j]) for j in right]
    found = []
    i = j = 0
    while i < len(left) and j < len(right) and have[i] > 0 and need[j] > 0:
        part = min(have[i], need[j])
        found.append((left[i], right[j], part))
        have[i] -= part
        need[j] -= part
        if have[i] <= need[j]:
            i += 1
        else:
            j += 1
    return found


def _column(rows: int, value: float) -> Any:
    from scipy import sparse

    return sparse.csr_array(np.full((rows, 1), value))


def _nonnegative(weights: Array) -> Array:
    return np.where(np.isfinite(weights), np.maximum(weights, 0.0), 0.0)


def _rounded_up(levels: Array) -> Array:
    """Levels at or above the true ones, whatever the logarithms in them were rounded to."""
    return np.where(
        levels > _LOG_SLACK, levels * (1 + _LOG_SLACK) + _LOG_SLACK, levels + 2 * _LOG_SLACK
    )


class AgainstSet(AllPairs):
    """μᵀk ≤ t and t/e^ε ≤ min pᵀk over a set of priors, by the dual of that minimum.

    The rows of the set bring auxiliary variables of their own; the weights b of dual variables are
    a multiple of one prior of the set, ``(N, M)``.
    """

    is_listed = False

    def __init__(self, bound: Bound, priors: PriorSet) -> None:
        super().__init__(bound)
        self._set = priors

    @property
    def auxiliaries(self) -> int:
        """Those of the set, t first."""
        return int(self._set.rows(1.0)[1].shape[1])

    @property
    def count(self) -> int:
        """One for each hypothesis, and the rows of the set."""
        return len(self._over) + int(self._set.rows(1.0)[0].shape[0])

    def matrix(self) -> Any:
        """The μ, then the rows of the set."""
        from scipy import sparse

        left, right = self._set.rows(1 / self._bound.factors(Rounding.INSIDE)[0])
        others = sparse.csr_array((len(self._over), right.shape[1] - 1))
        over = sparse.hstack([self._over.matrix, _column(len(self._over), -1.0), others])
        return sparse.vstack([over, sparse.hstack([left, right])]).tocsr()

    def entries_of_matrix(self) -> tuple[Array, Places, Places]:
        """Of the matrix: the set has no hypotheses that could be listed."""
        found = self.matrix().tocoo()
        return found.data, *found.coords

    def split(self, duals: Array) -> Multipliers:
        """The second part as a multiple of a prior."""
        return duals[: len(self._over)], self._set.weights(duals[len(self._over) :])

    def no_duals(self, outputs: int) -> Multipliers:
        """Zero for each μ and each symbol."""
        return np.zeros((len(self._over), outputs)), np.zeros((self.size, outputs))

    def feasible(self, multipliers: Multipliers) -> tuple[Array, Array]:
        """Move b into the set, scale a to it."""
        a, b = map(_nonnegative, multipliers)
        return super().feasible((a, self._set.inside(b)))

    def weighted(self, a: Array, b: Array) -> tuple[Array, Array]:
        """Σ b ν is b, a multiple of a prior."""
        return self._over.combined(a), b

    def _likelihoods_under(self, mechanism: Mechanism) -> Array:
        unit = self._set.total * mechanism.denominator
        return np.array([[int(v) / unit for v in self._set.likelihoods(mechanism)[0]]])

    @cached_property
    def _with_vertices(self) -> AllPairs | None:
        """The rows of the vertices of the set; ``None`` where there are too many to list."""
        found = self._set.vertices()
        if found is None:
            return None
        names = (f"a vertex of {self._set.names[0]}",) * len(found)
        under = Hypotheses(self.size, None, tuple(found), self._set.total, names)
        return AllPairs(replace(self._bound, under=under))

    def exclude(self, forbidden: NDArray[np.bool_]) -> None:
        """Every symbol of every μ, at outcomes without one of the vertices of the set."""
        if self._with_vertices is not None:  # else the check of the kernel sees it all the same
            self._with_vertices.exclude(forbidden)

    def pairs(self, rounding: Rounding) -> Iterator[PairRow]:
        """Every μ with every vertex of the set."""
        if self._with_vertices is None:
            raise SolverError(
                f"{self._set.names[0]} has too many vertices to list; use a linear utility, or a "
                "smaller set of priors"
            )
        yield from self._with_vertices.pairs(rounding)

    def add(self, multipliers: Multipliers, pair: PairRow, price: Array) -> None:
        """The price to μ, e^ε times it to the vertex."""
        over, under = multipliers
        over[pair.place[0]] += price
        masses = np.array([v / pair.under_total for v in pair.under])
        under += pair.factor * masses[:, None] * price

    def groups(self) -> Iterator[Group]:
        """Every μ with every vertex of the set."""
        if self._with_vertices is None:
            raise LevelError(
                "set of priors of a notion",
                expected="one of at most a few thousand vertices",
                got=f"{self._set.names[0]} over {self.size} symbols, which has more",
                remedy="merge symbols, or use RobustPML.floor, which has one vertex per symbol",
            )
        yield from self._with_vertices.groups()


def cone_rows(bound: Bound) -> ConeRows:
    """The rows that a bound with a finite level asks of every column."""
    if isinstance(bound.under, PriorSet):
        return AgainstSet(bound, bound.under)
    return AllPairs(bound) if bound.pairing == "all" else Matched(bound)
