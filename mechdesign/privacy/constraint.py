"""Hypotheses about the secret, and the bounds on likelihood ratios between pairs of them.

A hypothesis μ is a distribution over the N symbols of the secret; it gives the outcome y the
likelihood (μᵀK)(y). A :class:`Bound` asks (μᵀK)(y) ≤ e^ε (νᵀK)(y) for every outcome y and every
pair (μ, ν) it names. Both are exact: masses are rationals, levels are the exact values of floats.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import LevelError, UnknownNameError, listed, quote
from ..exact import (
    Level,
    Verdict,
    common_integers,
    compare_with_exp,
    dot,
    exp_upper,
    fraction,
    log_upper,
)
from ..labels import Label, listing, quote_label
from ..mechanism import Mechanism
from ..prior import Prior

# Logarithms in floats decide comparisons that are clearer than this; rationals the rest.
_CLEAR = 1e-9
# Bits of masses from which their products are left to a library for large integers.
_MANY_BITS = 1_000_000
# Relative room left below e^ε when designing: a few hundred units in the last place.
_ROOM = 1e-13
_LARGEST_FACTOR = 1e300
# Room that is left for the rounding of logarithms in floats, a thousand times what they need, and
# entries that are taken at once.
_FAR_FROM, _ENTRIES = 1e-11, 2**20
_LOWEST_LOG = -1e6

Array = NDArray[np.float64]
#: Integers of any size.
Integers = NDArray[Any]


class Rounding(Enum):
    """Which float stands for e^ε.

    ``INSIDE`` is slightly below, so that rounding a kernel to integer weights leaves it private;
    ``OUTSIDE`` is at or above, so that what is proved holds for the true level.
    """

    INSIDE = "inside"
    OUTSIDE = "outside"


def inner_factor(level: float) -> float:
    """A float slightly below e^level, at least 1; solvers design against it."""
    excess = math.expm1(min(level, math.log(_LARGEST_FACTOR)))
    if excess == 0:
        return 1.0
    room = min(_ROOM * (1 + excess) / excess, 1e-3)
    # Down by one float, in case the sum was rounded up.
    return max(1.0, math.nextafter(1 + excess * (1 - room), 0.0))


class _LabelNames(Sequence[str]):
    """Names of point masses, made when they are read: few of many ever are."""

    def __init__(self, labels: Sequence[Label], positions: Sequence[int]) -> None:
        self._labels, self._positions = labels, positions

    def __len__(self) -> int:
        return len(self._positions)

    def __getitem__(self, at: Any) -> Any:
        return quote_label(self._labels[self._positions[at]])


@dataclass(frozen=True, slots=True)
class Distribution:
    """One hypothesis: positions, positive exact masses, and how it is called."""

    support: tuple[int, ...]
    masses: tuple[Fraction, ...]
    name: str

    @property
    def key(self) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
        """What two equal distributions share."""
        return self.support, self.masses

    @property
    def point(self) -> int | None:
        """The position of a point mass, ``None`` for a mixture."""
        return self.support[0] if len(self.support) == 1 else None

    def dot(self, column: Sequence[Fraction]) -> Fraction:
        """The likelihood μᵀk."""
        return sum(
            (m * column[x] for x, m in zip(self.support, self.masses, strict=True)), Fraction(0)
        )


@dataclass(frozen=True)
class Group:
    """μᵀk ≤ e^level νᵀk for every μ in ``over`` and ν in ``under``, in exact numbers.

    ``scale`` is what the level of the notion was multiplied by, ``parameter`` says which level.
    """

    over: tuple[Distribution, ...]
    under: tuple[Distribution, ...]
    level: Fraction | float
    scale: Fraction
    parameter: int


class Hypotheses:
    """H distributions over N symbols: point masses, or mixtures with exact rational masses.

    Use the constructors :meth:`points`, :meth:`prior`, :meth:`groups` and :meth:`mixtures`.
    """

    __slots__ = ("__dict__", "indices", "masses", "names", "size", "total")

    size: int
    #: Positions of the point masses, or ``None`` for mixtures.
    indices: NDArray[np.intp] | None
    #: Integer masses of the mixtures over one common ``total``; empty for point masses.
    masses: tuple[tuple[int, ...], ...]
    total: int
    names: Sequence[str]

    def __init__(
        self,
        size: int,
        indices: NDArray[np.intp] | None,
        masses: tuple[tuple[int, ...], ...],
        total: int,
        names: Sequence[str],
    ) -> None:
        self.size, self.indices, self.masses = size, indices, masses
        self.total, self.names = total, names

    @classmethod
    def points(cls, prior: Prior, positions: Iterable[int] | None = None) -> Hypotheses:
        """δ_x for the given positions (every symbol when left out); repeats are allowed."""
        if positions is None:
            chosen = np.arange(len(prior))
        elif isinstance(positions, np.ndarray):
            chosen = positions.astype(int)
        else:
            chosen = np.array(list(positions), int)
        if ((chosen < 0) | (chosen >= len(prior))).any():
            raise LevelError(
                "positions of hypotheses",
                expected=f"numbers from 0 to {len(prior) - 1}",
                got=str(chosen.tolist()[:6]),
                remedy="count symbols from 0, on the prior that bounds() is given",
            )
        return cls(len(prior), chosen, (), 1, _LabelNames(prior.labels, chosen.tolist()))

    @classmethod
    def prior(cls, prior: Prior) -> Hypotheses:
        """The prior itself."""
        return cls(len(prior), None, (prior.weights,), prior.total, ("the prior",))

    @classmethod
    def mixtures(
        cls, rows: Iterable[Sequence[Any]], names: Sequence[str] | None = None
    ) -> Hypotheses:
        """Distributions given as rows of N numbers; each row is divided by its exact sum."""
        scaled: list[list[Fraction]] = []
        for row in rows:
            values = [fraction(v) for v in row]
            total = sum(values)
            if total <= 0 or min(values) < 0:
                raise LevelError(
                    "hypothesis",
                    expected="non-negative masses with a positive sum",
                    got=f"{list(row)[:6]}",
                    remedy="correct the distribution",
                )
            scaled.append([v / total for v in values])
        if not scaled or len({len(row) for row in scaled}) != 1:
            raise LevelError(
                "hypotheses",
                expected="at least one distribution, all of one length",
                got=f"lengths {sorted({len(r) for r in scaled})}",
                remedy="give one mass per symbol",
            )
        size = len(scaled[0])
        flat, total_int = common_integers(v for row in scaled for v in row)
        masses = tuple(tuple(flat[i * size : (i + 1) * size]) for i in range(len(scaled)))
        if names is None:
            names = [f"hypothesis {i}" for i in range(len(scaled))]
        return cls(size, None, masses, total_int, tuple(names))

    @classmethod
    def groups(
        cls, prior: Prior, groups: Iterable[Iterable[Label]] | Mapping[str, Iterable[Label]]
    ) -> Hypotheses:
        """P(X | X in the group) for each group of labels; a mapping gives the groups names.

        Raises :class:`PriorError` for a label that the prior does not have, with the one that was
        likely meant, and :class:`LevelError` for a group without mass.

        >>> prior = Prior({"red": .5, "green": .3, "blue": .2})
        >>> Hypotheses.groups(prior, [["red", "green"], ["blue"]]).matrix.toarray().tolist()
        [[0.625, 0.375, 0.0], [0.0, 0.0, 1.0]]
        """
        given = [*map(str, groups)] if isinstance(groups, Mapping) else None
        entries = listed(
            groups.values() if isinstance(groups, Mapping) else groups,
            "groups of hypotheses",
            "lists of labels such as [['a', 'b'], ['c']]",
        )
        rows, names = [], []
        for entry in entries:
            members = prior.positions(entry)
            if not any(prior.weights[x] for x in members):
                raise LevelError(
                    "group of a hypothesis",
                    expected="symbols with a probability above zero in all",
                    got=quote(entry),
                    remedy="add a symbol that occurs, or leave the group out",
                )
            row = [0] * len(prior)
            for x in members:
                row[x] = prior.weights[x]
            rows.append(row)
            names.append("one of " + listing([prior.labels[x] for x in members]))
        return cls.mixtures(rows, given or names)

    def __len__(self) -> int:
        return len(self.masses) if self.indices is None else len(self.indices)

    @cached_property
    def matrix(self) -> Any:
        """The ``(H, N)`` masses as a SciPy sparse CSR matrix of floats."""
        from scipy.sparse import csr_array

        if self.indices is not None:
            h = len(self.indices)
            return csr_array(
                (np.ones(h), (np.arange(h), self.indices)), shape=(h, self.size), dtype=float
            )
        return csr_array(np.array([[m / self.total for m in row] for row in self.masses]))

    @property
    def _row(self) -> Array | None:
        """The floats of a single mixture without zeros, such as the prior; else ``None``."""
        if self.indices is not None or len(self.masses) != 1 or not all(self.masses[0]):
            return None
        return np.array([m / self.total for m in self.masses[0]])

    @property
    def is_every_symbol(self) -> bool:
        """Whether these are the point masses of all symbols, in their order."""
        if self.indices is None or len(self.indices) != self.size:
            return False
        return bool((self.indices == np.arange(self.size)).all())

    def entries_of_matrix(self) -> tuple[Integers, Integers, Integers]:
        """Values, rows and columns of the masses that are not zero, row by row."""
        if self.indices is not None:
            count = len(self.indices)
            return np.ones(count), np.arange(count), self.indices
        row = self._row
        if row is not None:
            return row, np.zeros(self.size, dtype=np.intp), np.arange(self.size)
        found = self.matrix.tocoo()
        return found.data, *found.coords

    def of_kernel(self, kernel: Array) -> Array:
        """Likelihoods ``(H, M)`` of every outcome in floats: the matrix times a kernel."""
        if self.indices is not None:
            return kernel if self.is_every_symbol else kernel[self.indices]
        row = self._row
        found: Array = self.matrix @ kernel if row is None else (row @ kernel)[None]
        return found

    def combined(self, weights: Array) -> Array:
        """Sums ``(N, M)`` of the hypotheses with weights ``(H, M)``: the transposed matrix times
        these.
        """
        if self.is_every_symbol:
            return weights
        row = self._row
        if row is not None:
            return row[:, None] * weights
        found: Array = self.matrix.T @ weights
        return found

    @cached_property
    def distributions(self) -> tuple[Distribution, ...]:
        """The hypotheses one by one, exact."""
        if self.indices is not None:
            one = (Fraction(1),)
            pairs = zip(self.indices.tolist(), self.names, strict=True)
            return tuple(Distribution((x,), one, name) for x, name in pairs)
        return tuple(map(self._distribution, self.masses, self.names))

    def _distribution(self, row: Sequence[int], name: str) -> Distribution:
        support = tuple(x for x, m in enumerate(row) if m)
        return Distribution(support, tuple(Fraction(row[x], self.total) for x in support), name)

    @property
    def entries(self) -> int:
        """Number of masses that are not zero."""
        return len(self) if self.indices is not None else sum(map(bool, chain(*self.masses)))

    def rows_of_integers(self) -> list[tuple[int, ...]]:
        """Masses times ``total``, a row of N integers for each hypothesis."""
        if self.indices is None:
            return list(self.masses)
        return [tuple(int(x == i) for x in range(self.size)) for i in self.indices.tolist()]

    def kind(self, prior: Prior) -> str | None:
        """``"points"`` for all point masses of a prior, ``"prior"`` for the prior alone."""
        if self.indices is None:
            same = self.masses == (prior.weights,) and self.total == prior.total
            return "prior" if same else None
        return "points" if set(self.indices.tolist()) == set(range(len(prior))) else None

    def likelihoods(self, mechanism: Mechanism) -> Integers:
        """Exact ``(H, M)`` integers: likelihoods times ``total * mechanism.denominator``."""
        if self.indices is not None:
            whole = len(self.indices) == len(mechanism.weights)
            if whole and (self.indices[1:] > self.indices[:-1]).all():
                return mechanism.weights
            return mechanism.weights[self.indices]
        if self.size * len(self.masses) * self.total.bit_length() > _MANY_BITS:
            return _large_product(self.masses, self.total, mechanism.weights)
        return np.array([dot(row, mechanism.weights) for row in self.masses], dtype=object)


def compares_nothing(over: Hypotheses, under: Hypotheses, *, is_matched: bool) -> bool:
    """Whether hypotheses on two sides are the same: each that is matched, else all of them."""
    if is_matched:
        if over.indices is not None and under.indices is not None:
            return bool((over.indices == under.indices).all())
        pairs = zip(over.distributions, under.distributions, strict=True)
        return all(a.key == b.key for a, b in pairs)
    for side in (over, under):
        rows = side.masses if side.indices is None else side.indices.tolist()
        if len(set(rows)) > 1:
            return False
    # A set of priors lists none; that of one symbol is that symbol.
    return not under.distributions or over.distributions[0].key == under.distributions[0].key


@dataclass(frozen=True)
class Bound:
    """(μᵀK)(y) ≤ e^level (νᵀK)(y) for every outcome y and every pair (μ, ν).

    Parameters
    ----------
    over, under : Hypotheses
        The μ and the ν.
    epsilon : float
        Level in nats, exactly the float or :class:`Level` given; ``inf`` asks nothing.
    pairing : {"all", "matched"}
        Every μ with every ν, or the i-th with the i-th.
    scales : sequence of numbers
        Factors on ``epsilon``, one per matched pair (distances, for metric privacy); with
        ``pairing="all"`` a single one.
    parameter : int
        Which level of its notion this bound carries (0 for notions with one level).
    """

    over: Hypotheses
    under: Hypotheses
    epsilon: float
    pairing: Literal["all", "matched"] = "all"
    scales: tuple[float | Fraction, ...] | None = None
    parameter: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, (int, float)) or not self.epsilon >= 0:
            raise LevelError(
                "level of a bound",
                expected="a non-negative number of nats",
                got=quote(self.epsilon),
                remedy="pass the level of the notion",
            )
        if not isinstance(self.pairing, str) or self.pairing not in ("all", "matched"):
            raise UnknownNameError("pairing of a bound", self.pairing, ["all", "matched"])
        for side in (self.over, self.under):
            if not isinstance(side, Hypotheses):
                raise LevelError(
                    "bound",
                    expected="Hypotheses on both sides",
                    got=quote(side),
                    remedy="make them with Hypotheses.points(prior), Hypotheses.prior(prior) or "
                    "Hypotheses.mixtures([masses], names)",
                )
        if self.over.size != self.under.size:
            raise LevelError(
                "bound",
                expected="hypotheses over one alphabet",
                got=f"{self.over.size} and {self.under.size} symbols",
                remedy="build both from the same prior",
            )
        if self.pairing == "matched" and len(self.over) != len(self.under):
            raise LevelError(
                "bound",
                expected="as many hypotheses on both sides",
                got=f"{len(self.over)} and {len(self.under)}",
                remedy="use pairing='all' or match them",
            )
        count = len(self.over) if self.pairing == "matched" else 1
        if self.scales is not None and len(self.scales) != count:
            raise LevelError(
                "bound",
                expected="one scale per matched pair, or a single one for all pairs",
                got=f"{len(self.scales)}",
                remedy="give as many scales as pairs",
            )
        if self.scales is not None and not all(0 <= s < math.inf for s in self.scales):
            raise LevelError(
                "scales of a bound",
                expected="finite non-negative numbers",
                got=str(next(s for s in self.scales if not 0 <= s < math.inf)),
                remedy="correct the distance",
            )

    def level(self, pair: int = 0) -> Fraction | float:
        """Exact level of a pair, or infinity."""
        if self.is_vacuous:
            return math.inf
        level = self.epsilon if isinstance(self.epsilon, Level) else Fraction(self.epsilon)
        return level * self.scale(pair)

    def scale(self, pair: int = 0) -> Fraction:
        """Exact factor on the level of a pair."""
        return Fraction(1) if self.scales is None else fraction(self.scales[pair])

    def largest_ratios(self, mechanism: Mechanism, y: int) -> list[Fraction | None]:
        """Likelihood ratios at one outcome, exact: of every pair that is matched, else the largest
        of all; ``None`` for an infinite one, one where both are zero.
        """
        over = [int(v) for v in self.over.likelihoods(mechanism)[:, y]]
        under = [int(v) for v in self.under.likelihoods(mechanism)[:, y]]
        if self.pairing == "all":
            over, under = [max(over)], [min(under)]
        totals = self.under.total, self.over.total
        return [
            (Fraction(a * totals[0], b * totals[1]) if b else None) if a else Fraction(1)
            for a, b in zip(over, under, strict=True)
        ]

    def factors(self, rounding: Rounding) -> Array:
        """Floats for e^level, one per matched pair with scales, else a single one."""
        scales = (1,) if self.scales is None else self.scales
        # Few of many distances differ.
        known: dict[Any, float] = {}
        for i, scale in enumerate(scales):
            if scale not in known:
                inside = rounding is Rounding.INSIDE
                known[scale] = (
                    inner_factor(self.epsilon * scale) if inside else exp_upper(self.level(i))
                )
        return np.array([known[scale] for scale in scales])

    def is_about_more_than(self, prior: Prior) -> bool:
        """Whether it is about symbols of zero mass too."""
        known = set(prior.support.tolist())
        distributions = (*self.over.distributions, *self.under.distributions)
        return any(not known.issuperset(found.support) for found in distributions)

    def kinds(self, prior: Prior) -> str | None:
        """What its hypotheses are of a prior, both sides; ``None`` where pairs are matched or
        scaled.
        """
        if self.pairing != "all" or self.scales is not None:
            return None
        return f"{self.over.kind(prior)} {self.under.kind(prior)}"

    @property
    def is_idle(self) -> bool:
        """Whether each hypothesis is compared with itself alone."""
        return compares_nothing(self.over, self.under, is_matched=self.pairing == "matched")

    @property
    def is_vacuous(self) -> bool:
        """Whether the level is infinite, so that nothing is asked."""
        return self.epsilon == math.inf


@dataclass(frozen=True)
class Evaluation:
    """Exact value of one bound, or one constraint on a sum, on one kernel.

    Attributes
    ----------
    verdict : yes, no, or undecided when the kernel's own rounding does not settle it
    level : float
        The measured level (the factor of ``epsilon``, so scales are divided out), in nats,
        rounded up; ``inf`` when nothing finite would be satisfied.
    output : position of the outcome that attains it, or takes the largest share
    over, under : what the level compares
    ratio : largest likelihood ratio, exact (``None`` when infinite, and for sums)
    """

    verdict: Verdict
    level: float
    output: int
    over: str
    under: str
    ratio: Fraction | None = None


#: Verdicts, the gravest first.
GRAVEST = (Verdict.NO, Verdict.UNDECIDED, Verdict.YES)


def gravest(found: Sequence[Evaluation]) -> Evaluation:
    """The gravest verdict of all, at the largest level."""
    if not found:
        return Evaluation(Verdict.YES, 0.0, 0, "", "", Fraction(1))
    verdict = min((one.verdict for one in found), key=GRAVEST.index)
    return replace(max(found, key=lambda one: one.level), verdict=verdict)


def decided(
    ratio: Fraction | None, slack: Fraction, level: Fraction | float
) -> tuple[Verdict, float]:
    """Verdict on ratio ≤ e^level for a ratio that is known up to a factor, and its logarithm.

    ``None`` is an infinite ratio; the logarithm is rounded up.
    """
    is_vacuous = level == math.inf
    if ratio is None:
        return (Verdict.YES if is_vacuous else Verdict.NO), math.inf
    log = max(0.0, log_upper(ratio * slack)) if ratio > 0 else 0.0
    verdict = Verdict.YES if is_vacuous else compare_with_exp(ratio * slack, level)
    if verdict is not Verdict.YES and slack != 1:
        lowest = compare_with_exp(ratio / slack, level)
        verdict = Verdict.NO if lowest is Verdict.NO else Verdict.UNDECIDED
    return verdict, log


def _large_product(masses: tuple[tuple[int, ...], ...], total: int, weights: Integers) -> Integers:
    """``masses @ weights`` for rows of masses that sum to a large ``total``.

    All masses of a symbol stand in one number, with room for the sums, so that a weight multiplies
    them at once.
    """
    from flint import fmpz

    room = (total.bit_length() + int(weights.max()).bit_length()) // 8 + 2
    size = room * len(masses)
    packed = [
        fmpz(int.from_bytes(b"".join(v.to_bytes(room, "little") for v in column), "little"))
        for column in zip(*masses, strict=True)
    ]
    product = np.zeros((len(masses), weights.shape[1]), dtype=object)
    # Columns of zeros are common in kernels, and free.
    for y in np.flatnonzero(weights.any(axis=0)).tolist():
        found = fmpz(0)
        for x in np.flatnonzero(weights[:, y]).tolist():
            found += packed[x] * int(weights[x, y])
        digits = int(found).to_bytes(size, "little")
        product[:, y] = [
            int.from_bytes(digits[k : k + room], "little") for k in range(0, size, room)
        ]
    return product


def check_bound(bound: Bound, mechanism: Mechanism) -> Evaluation:
    """Decide a bound in integers and rationals, on the exact numbers of the kernel.

    A kernel whose rows are off by d from one has likelihood ratios known up to a factor
    (1+d)/(1-d); within that factor the verdict is ``UNDECIDED``.
    """
    over, under = bound.over.likelihoods(mechanism), bound.under.likelihoods(mechanism)
    slack = mechanism.slack
    if bound.pairing == "matched":
        pairs = _deciding(bound, over, under, slack).tolist()
        return gravest([_evaluated(bound, i, over[[i]], under[[i]], slack) for i in pairs])
    return _evaluated(bound, None, over, under, slack)


def _evaluated(
    bound: Bound, pair: int | None, over: Integers, under: Integers, slack: Fraction
) -> Evaluation:
    """The largest ratio of one pair, or of all likelihoods to all others."""
    y, ratio = _largest(over.max(axis=0), under.min(axis=0))
    i, j = (int(over[:, y].argmax()), int(under[:, y].argmin())) if pair is None else (pair, pair)
    if ratio is not None:
        ratio *= Fraction(bound.under.total, bound.over.total)
    verdict, log = decided(ratio, slack, bound.level(pair or 0))
    scale = float(bound.scale(pair or 0))
    if bound.scales is not None and 0 < log < math.inf:
        log = math.nextafter(log / scale, math.inf) if scale > 0 else math.inf
    return Evaluation(verdict, log, y, bound.over.names[i], bound.under.names[j], ratio)


def _deciding(bound: Bound, over: Integers, under: Integers, slack: Fraction) -> NDArray[np.intp]:
    """Matched pairs that may break their bound, or have the largest level; floats tell the others,
    with room for their rounding.
    """
    levels = np.array([float(bound.epsilon * s) for s in bound.scales or [1.0] * len(over)])
    scales = np.array([float(s) for s in bound.scales or [1.0] * len(over)])
    rough = largest_logs(over, under) + math.log(bound.under.total) - math.log(bound.over.total)
    room = float(slack - 1) * 2 + _FAR_FROM
    open_ones = ~(rough + room * (1 + abs(rough)) < levels)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.maximum(rough, 0.0) / scales
    each[np.isnan(each)] = 0.0
    top = float(each.max(initial=0.0))
    near = each >= (top - _FAR_FROM * (1 + top) / max(float(scales.min(initial=1.0)), 1e-9))
    return np.flatnonzero(open_ones | near | (scales == 0))


def largest_logs(over: Integers, under: Integers) -> Array:
    """Largest log of over/under of each row, in floats; 0/0 counts as 1, rows in blocks.

    Infinite, as nothing is known, where the integers are too long for floats.
    """
    found = np.full(len(over), math.inf)
    if over.dtype == object or under.dtype == object:
        return found
    step = max(1, _ENTRIES // max(1, over.shape[1]))
    for i in range(0, len(over), step):
        a, b = over[i : i + step].astype(float), under[i : i + step].astype(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.log(np.where((a == 0) & (b == 0), 1.0, a / b))
        found[i : i + step] = ratios.max(axis=1, initial=_LOWEST_LOG)
    return found


def _rough_log(value: int) -> float:
    """Logarithm of a positive integer of any size, within a relative 1e-14."""
    shift = max(value.bit_length() - 1000, 0)
    return math.log(value >> shift) + shift * math.log(2)


def _largest(top: Integers, low: Integers) -> tuple[int, Fraction | None]:
    """Position and value of the largest exact ratio of two integer vectors; 0/0 counts as 1.

    Floats shortlist the positions, rationals decide among them.
    """
    live = np.asarray(top != 0, dtype=bool)
    if not live.any():
        return 0, Fraction(1)
    infinite = live & np.asarray(low == 0, dtype=bool)
    if infinite.any():
        return int(np.flatnonzero(infinite)[0]), None
    places = np.flatnonzero(live)
    if top.dtype == object or low.dtype == object:
        rough = np.array([_rough_log(int(top[y])) - _rough_log(int(low[y])) for y in places])
    else:
        rough = np.log(top[places]) - np.log(low[places])
    best, over, under = -1, 0, 1
    for y in places[rough >= rough.max() - _CLEAR].tolist():
        a, b = int(top[y]), int(low[y])
        if a * under > over * b:
            best, over, under = y, a, b
    return best, Fraction(over, under)
