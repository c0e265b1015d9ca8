"""Noise on a map as kernels over places: planar Laplace, planar geometric, exponential mechanism.

All three are the customary mechanisms for geo-indistinguishability, made kernels of integer weights
that are audited, certified, remapped and drawn from like any other. Adding a noise of floats to
coordinates is not offered: drawn in polar form from floats (the radius by a branch of Lambert's W),
the digits of a report say which place it cannot have come from. What is exact here is the kernel
that a report is drawn from, and its level is what an audit says of its integers.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LevelError
from ..exact import DENOMINATOR_BITS, to_weights
from ..mechanism import Mechanism
from ..numeric import finite_number
from ..place_sets import COLUMNS, PlaceSet
from ..privacy.notion import positive_level
from ..schema import Schema
from .checks import checked

Array = NDArray[np.float64]

#: Noise that falls outside of the grid beyond this many mean lengths is left out.
_FAR = 45.0
# Rows of a window of offsets for noise on a lattice.
_MOST_OFFSETS = 4000
# Nodes of a rule for one panel, and the length of the longest in units of 1/ε.
_NODES, _LONGEST = 24, 4.0
# A little more noise than the level asks for, so that rounding keeps it.
_ROOM = 1e-9
# Constant mass of a row, at least, where 2⁻⁵³ is not small against the least of its entries.
_CONSTANT = 2.0**-20


def planar_laplace(places: PlaceSet, level: float, within: float) -> Mechanism:
    """Planar Laplace noise on the centre of a cell, reported as the cell it falls into.

    Noise of density (ε²/2π) e^(−ε r) per square metre, ε = level/within, is added to the centre;
    what falls outside of the grid is reported as the nearest cell ([Andres2013]). The probability
    of each cell is an integral, which quadrature gives to about twelve digits.

    Parameters
    ----------
    places : Places of :func:`mechdesign.places.grid`
    level, within : level in nats between places ``within`` metres apart

    Raises
    ------
    LevelError
        For levels that are not positive, and for places that are no grid.

    Examples
    --------
    >>> import mechdesign as md
    >>> town = md.places.grid((59.30, 18.00, 59.36, 18.12), side=2000)
    >>> noisy = md.noise.planar_laplace(town, 1.0, within=1000)
    >>> str(md.audit(noisy, town.uniform(), town.privacy(1.0, within=1000)).verdict)
    'yes'
    """
    shape, step = _grid(places, "planar Laplace noise")
    rate = _rate(places, level, within)
    return _kernel(places, _cell_masses(rate, shape, step), rate)


def planar_geometric(places: PlaceSet, level: float, within: float) -> Mechanism:
    """Noise on the lattice of cells: probability ∝ e^(−ε d) for a cell d metres away.

    The lattice goes on beyond the grid, and what falls outside is reported as the nearest cell, so
    that no row needs a constant of its own; ε = level/within. Parameters and errors are those of
    :func:`planar_laplace`.
    """
    masses = geometric_masses(places, level, within)
    return _kernel(places, masses, _rate(places, level, within))


def geometric_masses(places: PlaceSet, level: float, within: float) -> Array:
    """Probabilities of :func:`planar_geometric` before they are rounded, ``(N, N)``."""
    shape, step = _grid(places, "planar geometric noise")
    rate = _rate(places, level, within)
    window = [
        math.ceil(_FAR / (rate * size)) + count for size, count in zip(step, shape, strict=True)
    ]
    if max(window) > _MOST_OFFSETS:
        raise LevelError(
            "level of planar geometric noise",
            expected="noise that is short beside a few thousand cells",
            got=f"a mean length of {1 / rate:.4g} m, for cells of {min(step):.4g} m",
            remedy="take larger cells, or planar Laplace noise",
        )
    offsets = [np.arange(-size, size + 1) for size in window]
    lengths = np.hypot(*np.meshgrid(offsets[0] * step[0], offsets[1] * step[1], indexing="ij"))
    masses = np.exp(-rate * lengths)
    masses /= masses.sum()
    rows, columns = (
        [_clamped(offset, i, count) for i in range(count)]
        for offset, count in zip(offsets, shape, strict=True)
    )
    found = np.empty((*shape, *shape))
    for i, row in enumerate(rows):
        below = row @ masses
        for j, column in enumerate(columns):
            found[i, j] = below @ column.T
    return found.reshape(len(places), -1)


def exponential(places: PlaceSet, level: float, within: float) -> Mechanism:
    """The exponential mechanism: probability ∝ e^(−ε d/2) for a place d metres away.

    ε = level/within; half of it goes into the constants of the rows. For any places and distances,
    roads too. Raises :class:`LevelError` for levels that are not positive.
    """
    checked(places, PlaceSet, "places", "make them by md.places.grid(...)", LevelError)
    rate = _rate(places, level, within)
    masses = np.exp(-rate / 2 * places.distances)
    return _kernel(places, masses / masses.sum(axis=1, keepdims=True), rate)


#: The customary mechanisms by the names that pictures and comparisons have for them.
PLANAR = {
    "planar Laplace": planar_laplace,
    "planar geometric": planar_geometric,
    "exponential": exponential,
}


def _grid(places: Any, subject: str) -> tuple[tuple[int, int], tuple[float, float]]:
    checked(places, PlaceSet, "places", "make them by md.places.grid(...)", LevelError)
    if places.shape is None:
        raise LevelError(
            f"places for {subject}",
            expected="cells of a grid",
            got=repr(places),
            remedy="make them by md.places.grid(...), or take md.noise.exponential",
        )
    return places.shape, places.step


def _rate(places: PlaceSet, level: Any, within: Any) -> float:
    """ε in nats per metre, a little less, as distances were rounded down."""
    nats = positive_level(level, "level of noise")
    metres = finite_number(within, "within", 1e-3, error=LevelError, remedy="give metres")
    rate = nats / metres
    apart = places.distances
    if places.shape is not None:
        # Those of the plane, of which the distances are at most 2⁻¹⁰ m and a part of within less.
        flat = places.plane[:, None, :] - places.plane[None, :, :]
        apart = np.hypot(flat[:, :, 0], flat[:, :, 1])
    units = np.floor(places.distances / metres * (1 << 20)) / (1 << 20)
    off = np.where(apart > 0, units * metres / np.where(apart > 0, apart, 1.0), 1.0)
    return float(rate * off.min() * (1 - _ROOM))


def _kernel(places: PlaceSet, masses: Array, rate: float) -> Mechanism:
    """The kernel of masses that sum to one in each row, over integers.

    Mass is added to all entries alike where the least of them are near 2⁻⁵³; constant columns
    raise no ratio, and lower those of others by more than rounding to multiples of 2⁻⁵³ adds.
    """
    n = len(places)
    masses = np.maximum(masses, 0.0)
    sums = masses.sum(axis=1, keepdims=True)
    # Nats between the nearest places: a mass k in every entry takes k of them off where two
    # roundings add 2⁻⁵², both relative to the entry.
    nats = rate * float(places.distances[places.distances > 0].min())
    constant = min(1.0, max(_CONSTANT, n * 2.0 ** (2 - DENOMINATOR_BITS) / nats))
    if masses.min() < 2.0 ** (30 - DENOMINATOR_BITS) or constant > _CONSTANT:
        weights = to_weights((1 - constant) * (masses / sums) + constant / n)
        found = Mechanism.from_weights(weights, DENOMINATOR_BITS, places.labels, places.labels)
    else:
        found = Mechanism(masses / sums, places.labels, places.labels)
    return found.with_schema(Schema(COLUMNS, places=places))


def _clamped(offsets: NDArray[Any], start: int, count: int) -> Array:
    """Which offsets lead from a row to each of the rows of a grid, ``(count, offsets)``."""
    ends = np.clip(start + offsets, 0, count - 1)
    return np.asarray(ends[None, :] == np.arange(count)[:, None], dtype=np.float64)


# Integrals of e^(−εr) over cells


def _cell_masses(rate: float, shape: tuple[int, int], step: tuple[float, float]) -> Array:
    """Probability of every cell for noise on the centre of every cell, ``(N, N)``."""
    rows, columns = shape
    down, across = map(_parts, shape)
    half = np.einsum("ika,ab->ikb", down, _masses(rate, shape, step))
    found = np.einsum("ikb,jmb->ijkm", half, across, optimize=True)
    return found.reshape(rows * columns, -1)


def _parts(count: int) -> Array:
    """Rows of a grid as parts of half planes: how often each, ``(count, count, 2 count)``.

    From a row to a row: how many rows away the part begins, then the same for parts without end. A
    row that is the first and the last at once, or the own one at an edge, has parts both ways.
    """
    start, end = np.meshgrid(np.arange(count), np.arange(count), indexing="ij")
    away = abs(end - start)
    found = np.zeros((count, count, 2 * count))
    for edge, side in ((count - 1, end >= start), (0, end <= start)):
        place = away + count * (end == edge)
        found[start[side], end[side], place[side]] += 1
    return found


def _masses(rate: float, shape: tuple[int, int], step: tuple[float, float]) -> Array:
    """Masses of cells by what :func:`_parts` tells of their rows and columns."""
    ends = [
        [_side(rate * size, away, endless=half) for half in (False, True) for away in range(count)]
        for count, size in zip(shape, step, strict=True)
    ]
    # The density has a corner at the centre, at least half a cell away from what a rule is for.
    nearest = rate * min(step) / 2
    rules = [[_rule(*side, nearest) for side in sides] for sides in ends]
    found = np.zeros((2 * shape[0], 2 * shape[1]))
    for a, (low, high) in enumerate(ends[0]):
        for b, (left, right) in enumerate(ends[1]):
            if math.hypot(low, left) <= _FAR:
                found[a, b] = (
                    _own(high, right) if low == left == 0 else _mass(rules[0][a], rules[1][b])
                )
    return found


def _mass(down: tuple[Array, Array], across: tuple[Array, Array]) -> float:
    """Mass of a cell, or of the half of one where that is none rows or columns away.

    In units of 1/ε the density is e^(−r)/2π.
    """
    (x, u), (y, v) = down, across
    density = np.exp(-np.hypot(x[:, None], y[None, :]))
    return float(u @ density @ v) / (2 * math.pi)


def _side(size: float, count: int, *, endless: bool) -> tuple[float, float]:
    low = max(0.0, (count - 0.5) * size)
    return low, low + _FAR + size if endless else (count + 0.5) * size


@cache
def _gauss(count: int) -> tuple[Array, Array]:
    """Nodes and weights of Gauss and Legendre for [−1, 1]."""
    return np.polynomial.legendre.leggauss(count)


def _rule(low: float, high: float, nearest: float) -> tuple[Array, Array]:
    """Nodes and weights for an interval, in panels no longer than their distance to the centre."""
    cuts, high = [low], min(high, low + _FAR)
    while cuts[-1] < high:
        step = min(max(cuts[-1], nearest), _LONGEST)
        cuts.append(high if high - cuts[-1] < 1.5 * step else cuts[-1] + step)
    nodes, weights = _gauss(_NODES)
    ends = np.array(cuts)
    half = np.diff(ends) / 2
    middle = (ends[1:] + ends[:-1]) / 2
    return (
        (middle[:, None] + half[:, None] * nodes).ravel(),
        (half[:, None] * weights).ravel(),
    )


def _own(high: float, right: float) -> float:
    """Mass of [0, high] × [0, right]: that of a square at the centre, and of what is left of it."""
    side = min(high, right)
    rest = _mass(_rule(0.0, side, side), _rule(side, max(high, right), side))
    return _quadrant(side) + (rest if max(high, right) > side else 0.0)


def _quadrant(side: float) -> float:
    """Mass of [0, side]²: ∫ (1 − (1 + R) e^(−R)) dθ/2π, with R the length of each ray."""
    from scipy.special import gammainc

    angles, weights = _angles(0.0, math.pi / 4)
    rays = side / np.cos(angles)
    # 1 − (1 + R) e^(−R) is the incomplete gamma function of order two.
    return 2 * float(weights @ gammainc(2.0, rays)) / (2 * math.pi)


def _angles(low: float, high: float) -> tuple[Array, Array]:
    nodes, weights = _gauss(200)
    half = (high - low) / 2
    return low + half * (1 + nodes), half * weights
