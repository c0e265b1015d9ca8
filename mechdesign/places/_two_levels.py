"""Too many places for one optimal kernel: blocks by an optimal design, places inside by noise.

The report is drawn in two steps that are rounded to one kernel. A block is drawn by the optimal
kernel over blocks, its rows interpolated between the centres of blocks so that places near a border
are reported alike; a place within the block is drawn with probability ∝ e^(−η d). What the whole
hides is not derived: :func:`metric_level` measures it on the integers that are drawn from, over all
pairs of places, and the scale of both steps is chosen so that it stays below the level asked.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CertificateError, InputError, KernelError, LevelError, quote
from ..exact import DENOMINATOR_BITS, log_bounds, nearest_float
from ..labels import counted
from ..mechanism import Mechanism, mechanism_of
from ..noise.planar import geometric_masses
from ..numeric import finite_number
from ..place_sets import PlaceSet, checked_shape, grid_step
from ..prior import Prior
from ..privacy.notion import positive_level
from ..solve._design import Design, find_design
from ._places import Places, scaled_distances
from .loss import costs_of

Array = NDArray[np.float64]

# Constant mass of every entry, so that 2⁻⁵³ is small against the least of them.
_CONSTANT = 2.0**-20
# Pairs whose level in floats is this close to the largest are decided in rationals.
_NEAR = 1e-9
# Error of a difference of two logarithms in floats, generously.
_ROUNDING = 1e-13
# Steps of the search for the scale, and how close to the level asked it ends.
_STEPS, _CLOSE = 12, 2e-3
_MOST_SCALE = 1e3
# What rounding of weights may add to a level, as a share of it.
_ROOM = 1e-6
# Shares of the level inside that are tried.
_SHARES = (0.0, 0.3, 1.0)
_SHARES_OF_MANY = (0.0, 1.0)
# Mass that blocks without visits get, as a share of all.
_EMPTY = 1e-6
_MOST_BLOCKS = 400
_BLOCKS = 6  # in each direction, where nothing is said
_MOST_BITS = 1000
# Rows of a kernel that are compared at a time, so that they stay in a processor's cache.
_ROWS = 32
# Beyond so many places kernels with noise inside of blocks take minutes.
_MANY = 1000


@dataclass(frozen=True, eq=False)
class TwoLevels:
    """A kernel over many places in two levels, with what it hides and loses.

    Attributes
    ----------
    mechanism : the whole, over integers, with the places as inputs; what reports are drawn from
    places, prior : what it is for
    level, within : nats asked between places ``within`` metres apart
    achieved : the level that it has over all pairs of places, exact and rounded up
    pair : positions of the two places that decide it
    loss : expected distance of the report from the place, after remapping
    blocks : the certified optimal design over blocks, ``None`` where noise alone lost less
    inside : share of the level that went into the place within a block
    """

    mechanism: Mechanism
    places: Places
    prior: Prior
    level: float
    within: float
    achieved: float
    pair: tuple[int, int]
    loss: float
    blocks: Design | None
    inside: float

    def __repr__(self) -> str:
        a, b = (self.places.names[i] for i in self.pair)
        parts = "" if self.blocks is None else f" in {len(self.blocks.mechanism.inputs)} blocks"
        return (
            f"{counted(len(self.places), 'place')}{parts}: "
            f"{self.achieved:.9g} nats within {self.within:g} m over all pairs (exact, decided by "
            f"{a} and {b}), expected loss {self.loss:.6g}, {self.inside:.0%} of the level inside"
        )


def two_levels(
    places: Places,
    prior: Prior,
    level: float,
    within: float,
    *,
    blocks: Any = None,
    inside: float | None = None,
    kind: str = "metres",
) -> TwoLevels:
    """A kernel for more places than an optimal design can have, with an exact audit of the whole.

    Parameters
    ----------
    places, prior : Places, and a prior that they made
    level, within : nats between places ``within`` metres apart
    blocks : rows and columns of blocks, or one number for both; 6, or as many as there are places
        for, when left out
    inside : share of the level for the place within a block, from 0 to 1, optional
        1 leaves blocks out and draws from all places by noise alone. Left out, several are tried
        and the one that loses least is kept; beyond 1,000 places these are 0 and 1, as others take
        minutes.
    kind : {"metres", "squared"}
        The loss, as for :meth:`Places.loss`.

    Returns
    -------
    TwoLevels
        Not an optimum: a bound on what other kernels lose is not known. Its level is what the
        audit says, at most the one asked. Blocks serve where they are small beside the mean length
        of the noise, within/level; where they are large, noise alone loses less and is what comes
        back. Either is remapped as a whole.

    Raises
    ------
    InputError, LevelError
        For levels that are not positive, places without coordinates of their own block, and too
        many blocks.

    Examples
    --------
    >>> import mechdesign as md
    >>> town = md.places.grid((59.30, 18.00, 59.36, 18.12), cells=(6, 6))
    >>> made = md.places.two_levels(town, town.uniform(), 1.0, within=1000, blocks=2, inside=0.5)
    >>> made.achieved <= 1.0
    True
    """
    nats = positive_level(level, "level of two levels")
    costs = costs_of(places, kind)
    known = places.ordered(prior)
    apart = scaled_distances(places, within)
    coarse = _blocks(places, _most_blocks(len(places)) if blocks is None else blocks)
    shares: tuple[float, ...] = _SHARES if len(places) <= _MANY else _SHARES_OF_MANY
    if inside is not None:
        shares = (finite_number(inside, "share of the level inside", 0.0, 1.0),)
    case = _Case(places, known, coarse, nats, float(within), apart, costs, kind)
    found = [made for made in (_scaled(case, share) for share in shares) if made is not None]
    if not found:
        raise CertificateError(
            "two levels: no kernel was found that keeps its level over all pairs; take more "
            "blocks, or another share inside"
        )
    return min(found, key=lambda made: made.loss)


@dataclass(frozen=True, eq=False)
class _Coarse:
    """Blocks as places, which block each place is in, and its weights among blocks, ``(N, B)``."""

    places: Places
    block: NDArray[np.int64]
    weights: Array


def _most_blocks(places: int) -> tuple[int, int]:
    """Rows and columns of blocks of which there are no more than places."""
    rows = min(_BLOCKS, math.isqrt(places))
    return rows, min(_BLOCKS, places // rows)


def _blocks(places: Places, blocks: Any) -> _Coarse:
    rows, columns = checked_shape(blocks)
    if rows * columns > min(_MOST_BLOCKS, len(places)):
        raise InputError(
            "blocks",
            expected=f"at most {min(_MOST_BLOCKS, len(places))} of them",
            got=f"{rows * columns}",
            remedy=f"take fewer, such as blocks={_most_blocks(len(places))}",
        )
    if places.bounds is not None:
        bounds = places.bounds
    else:
        low, high = places.coordinates.min(axis=0), places.coordinates.max(axis=0)
        room = np.maximum((high - low) * 1e-6, 1e-9)
        low, high = low - room, high + room
        bounds = (float(low[0]), float(low[1]), float(high[0]), float(high[1]))
    shape = (rows, columns)
    made = Places.of_grid(bounds, shape, grid_step(bounds, shape))
    made.check_apart()
    block = made.snap(*places.coordinates.T)
    south, west, north, east = bounds
    along = (places.coordinates[:, 0] - south) / (north - south) * rows - 0.5
    across = (places.coordinates[:, 1] - west) / (east - west) * columns - 0.5
    up, side = _hats(along, rows), _hats(across, columns)
    weights = (up[:, :, None] * side[:, None, :]).reshape(len(places), -1)
    return _Coarse(made, block, weights)


def _hats(positions: Array, count: int) -> Array:
    """Weights of linear interpolation between whole numbers from 0 to count - 1."""
    at = np.clip(positions, 0.0, count - 1.0)
    return np.maximum(0.0, 1.0 - np.abs(at[:, None] - np.arange(count)))


def _scaled(case: _Case, share: float) -> TwoLevels | None:
    """The kernel of the largest scale found whose level, over all pairs, is at most the asked."""
    kept: tuple[Mechanism, Design | None, _Steepest] | None = None
    # Noise alone mostly has the level that it is made for, but for rounding: its own and that of
    # distances, which are multiples of 2⁻²⁰.
    room = _ROOM + 2.0**-19 / float(case.apart[case.apart > 0].min())
    low, high, scale = 0.0, math.inf, 1 / (1 + room) if share == 1 else 1.0
    for _ in range(_STEPS):
        made: tuple[Mechanism, Design | None]
        made = case.noise(scale) if share == 1 else case.in_blocks(scale, share)
        mechanism = _remapped(case.places, made[0], case.prior, case.costs)
        steepest = _steepest(mechanism, case.apart)
        reached = steepest.level
        if reached <= case.level:
            low, kept = scale, (mechanism, made[1], steepest)
            if reached >= (1 - _CLOSE) * case.level:
                break
        else:
            high = scale
        guess = scale * case.level / reached * (1 - _CLOSE / 2) if reached > 0 else 2 * scale
        if not low < guess < high:
            guess = (low + high) / 2 if high < math.inf else 2 * scale
        scale = min(guess, 4 * scale)
        if scale > _MOST_SCALE or high - low <= _CLOSE / 4 * low:
            break
    if kept is None:
        return None
    mechanism, blocks, steepest = kept
    reached, pair = steepest.exactly(mechanism, case.apart)
    if reached > case.level:
        raise CertificateError(
            f"two levels: the exact audit gives {reached:.12g} nats where {case.level:.12g} are "
            "asked; take another share inside"
        )
    place = {label: i for i, label in enumerate(case.places.labels)}
    used = [place[y] for y in mechanism.outputs]
    loss = float((mechanism.joint(case.prior) * case.costs[:, used]).sum())
    return TwoLevels(
        mechanism,
        case.places,
        case.prior,
        case.level,
        case.within,
        reached,
        pair,
        loss,
        blocks,
        share,
    )


@dataclass(frozen=True, eq=False)
class _Case:
    """What all shares of the level inside have in common."""

    places: Places
    prior: Prior
    coarse: _Coarse
    level: float
    within: float
    apart: Array
    costs: Array
    kind: str

    def in_blocks(self, scale: float, share: float) -> tuple[Mechanism, Design | None]:
        """Both steps, with levels that are a multiple of those asked."""
        coarse = self.coarse
        masses = np.bincount(
            coarse.block, weights=self.prior.probabilities, minlength=len(coarse.places)
        )
        known = coarse.places.carried(
            Prior.from_counts(masses + _EMPTY / len(masses), coarse.places.labels)
        )
        nats = max(scale * (1 - share) * self.level, 1e-6)
        blocks = find_design(
            known, coarse.places.loss(self.kind), coarse.places.privacy(nats, self.within)
        )
        rate = share * scale * self.level / self.within / 2
        return _composed(self.places, coarse, blocks, rate), blocks

    def noise(self, scale: float) -> tuple[Mechanism, None]:
        """Noise on all places alone: a_z e^(−ε d(x,z)) with a such that all rows sum to one.

        No row needs a constant of its own then. Where some a would be negative, it is planar
        geometric noise on a grid; else all are one and rows are divided by their sums: the
        exponential mechanism, which hides less at one scale.
        """
        near = np.exp(-scale * self.level * self.apart)
        try:
            shares = np.linalg.solve(near, np.ones(len(near)))
        except np.linalg.LinAlgError:
            shares = np.full(len(near), math.nan)
        if not shares.min() >= 0:
            # Not where there is no grid, or where the noise is far longer than its sides.
            with contextlib.suppress(LevelError):
                near = geometric_masses(self.places, scale * self.level, self.within)
            shares = np.ones(len(near))
        whole = near * shares
        whole = (1 - _CONSTANT) * whole / whole.sum(axis=1, keepdims=True) + _CONSTANT / len(near)
        kernel = Mechanism.from_weights(_rounded(whole), DENOMINATOR_BITS, self.places.labels)
        return kernel, None


def _composed(places: Places, coarse: _Coarse, blocks: Design, rate: float) -> Mechanism:
    """Both steps as one kernel over integers, its outputs numbered."""
    kernel = blocks.mechanism.kernel
    used = np.flatnonzero(kernel.max(axis=0) > 0)
    # Rows between centres of blocks are geometric means of those around them.
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(kernel[:, used], 2.0**-200))
    between = np.exp(coarse.weights @ logs)
    between /= between.sum(axis=1, keepdims=True)
    if rate == 0:
        whole = between
    else:
        position = {label: i for i, label in enumerate(coarse.places.labels)}
        parts = []
        for column, y in enumerate(used.tolist()):
            block = position[blocks.mechanism.outputs[y]]
            members = np.flatnonzero(coarse.block == block)
            if not len(members):
                parts.append(between[:, [column]])
                continue
            away = places.distances[:, members]
            # Less the nearest, as far from the block all of them would be zero.
            near = np.exp(-rate * (away - away.min(axis=1, keepdims=True)))
            near /= near.sum(axis=1, keepdims=True)
            parts.append(between[:, [column]] * near)
        whole = np.hstack(parts)
    whole = (1 - _CONSTANT) * whole + _CONSTANT / whole.shape[1]
    return Mechanism.from_weights(_rounded(whole), DENOMINATOR_BITS, places.labels)


def _rounded(kernel: Array) -> NDArray[np.int64]:
    """Integers over 2⁵³ with exact sums; the largest entry of a row takes what rounding left."""
    one = 1 << DENOMINATOR_BITS
    weights = np.floor(kernel / kernel.sum(axis=1, keepdims=True) * one).astype(np.int64)
    rows = np.arange(len(weights))
    weights[rows, weights.argmax(axis=1)] += one - weights.sum(axis=1)
    return weights


def _remapped(places: Places, kernel: Mechanism, prior: Prior, costs: Array) -> Mechanism:
    """Every output as the place with the least expected loss; post-processing, in integers."""
    best = (costs.T @ kernel.joint(prior)).argmin(axis=0)
    used, place = np.unique(best, return_inverse=True)
    weights = np.zeros((len(places), len(used)), dtype=np.int64)
    for column, target in enumerate(place.tolist()):
        weights[:, target] += kernel.weights[:, column]
    outputs = [places.labels[i] for i in used.tolist()]
    found = Mechanism.over(weights, kernel.denominator, places.labels, outputs)
    return found.with_schema(prior.schema)


# The level over all pairs


def metric_level(mechanism: Any, places: PlaceSet, within: float) -> tuple[float, tuple[int, int]]:
    """The level of a kernel over all pairs of places, exact and rounded up, and the pair.

    The largest |log P(y|x) − log P(y|x')| over d(x, x') in units of ``within`` metres, with the
    distances that :meth:`Places.privacy` has. All pairs that could decide are measured in floats,
    those that come near the largest are decided in rationals; what an audit of
    ``places.privacy(level, within)`` gives for few places, this gives for thousands.

    Raises :class:`KernelError` for a kernel over other symbols.

    Examples
    --------
    >>> import mechdesign as md
    >>> town = md.places.grid((59.30, 18.00, 59.36, 18.12), cells=(2, 3))
    >>> level, pair = md.places.metric_level(md.noise.exponential(town, 1.0, 500), town, 500)
    >>> 0 < level <= 1
    True
    """
    kernel = mechanism_of(mechanism)
    if kernel.inputs != places.labels:
        raise KernelError(
            "kernel",
            expected="one over these places, in their order",
            got=f"inputs such as {quote(kernel.inputs[0])}",
            remedy="design with a prior of these places",
        )
    if kernel.denominator.bit_length() > _MOST_BITS:
        raise KernelError(
            "kernel",
            expected=f"weights over at most 2**{_MOST_BITS}, which floats can hold",
            got=f"2**{kernel.denominator.bit_length() - 1} or more",
            remedy="audit it against places.privacy(level, within)",
        )
    apart = scaled_distances(places, within)
    return _steepest(kernel, apart).exactly(kernel, apart)


@dataclass(frozen=True)
class _Steepest:
    """The largest level over all pairs as floats have it, and the pairs that come near it.

    ``level`` is rounded up; ``close`` holds positions of two places, the later one first.
    """

    level: float
    close: list[tuple[int, int]]

    def exactly(self, kernel: Mechanism, apart: Array) -> tuple[float, tuple[int, int]]:
        """The level in rationals, rounded up, and the pair that has it."""
        if self.level == math.inf:
            i, j = self.close[0]
            return math.inf, (j, i)
        weights = _used(kernel)
        top, pair = Fraction(0), (0, min(1, len(weights) - 1))
        for i, j in self.close:
            one = _exact_level(weights[i], weights[j], Fraction(float(apart[i, j])))
            if one > top:
                top, pair = one, (j, i)
        if not kernel.is_exact:
            top += log_bounds(kernel.slack)[1] / Fraction(float(apart[apart > 0].min()))
        level = nearest_float(top)
        return (level if Fraction(level) >= top else math.nextafter(level, math.inf)), pair


def _used(kernel: Mechanism) -> NDArray[Any]:
    """Weights of the outcomes that occur."""
    found: NDArray[Any] = kernel.weights[:, (kernel.weights != 0).any(axis=0)]
    return found


def _steepest(kernel: Mechanism, apart: Array) -> _Steepest:
    """The largest level over all pairs in floats, with all pairs that could have it."""
    weights = _used(kernel)
    if (weights == 0).any():
        # Some place is ruled out by an outcome that others have.
        x, y = np.argwhere(weights == 0)[0].tolist()
        return _Steepest(math.inf, [(int(np.flatnonzero(weights[:, y])[0]), int(x))])
    logs = np.log(weights.astype(np.float64))
    spread = float(np.ptp(logs, axis=0).max())
    best, close = 0.0, []
    for i in range(1, len(logs)):
        others = np.arange(i)
        # Beyond this distance no two rows are far enough apart to decide.
        limit = math.inf if best <= 0 else spread / best * (1 + 1e-6)
        others = others[apart[i, :i] <= limit]
        if not len(others):
            continue
        found = _largest_differences(logs, others, i) / apart[i, others]
        best = max(best, float(found.max()))
        room = _NEAR + _ROUNDING / max(best * float(apart[i, others].min()), 1e-300)
        near = np.flatnonzero(found >= best * (1 - room))
        close += [(float(found[k]), i, int(others[k])) for k in near]
    room = _NEAR + _ROUNDING / max(best * float(apart[apart > 0].min()), 1e-300)
    pairs = [(i, j) for level, i, j in close if level >= best * (1 - room)]
    return _Steepest(best * (1 + room), pairs)


def _largest_differences(logs: Array, others: NDArray[np.intp], i: int) -> Array:
    """max_y |log P(y|x) − log P(y|x_i)| of each other place x, few rows at a time."""
    found = np.empty(len(others))
    for start in range(0, len(others), _ROWS):
        part = slice(start, start + _ROWS)
        differences = logs[others[part]] - logs[i]
        np.maximum(differences.max(axis=1), -differences.min(axis=1), out=found[part])
    return found


def _exact_level(first: NDArray[Any], second: NDArray[Any], distance: Fraction) -> Fraction:
    """An upper bound, to many digits, on the largest |log ratio| of two rows over a distance."""
    logs = np.abs(np.log(first.astype(np.float64)) - np.log(second.astype(np.float64)))
    top = Fraction(0)
    for y in np.flatnonzero(logs >= logs.max() * (1 - _NEAR) - _ROUNDING).tolist():
        a, b = int(first[y]), int(second[y])
        top = max(top, log_bounds(Fraction(max(a, b), min(a, b)))[1])
    return top / distance
