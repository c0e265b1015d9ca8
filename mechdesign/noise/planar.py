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
from ..privacy.notion import check_level
from ..schema import Schema
from .checks import checked, shown

Array = NDArray[np.float64]

#: Noise that falls outside of the grid beyond this many mean lengths is left out.
_FAR = 45.0
# Rows of a window of offsets for noise on a lattice.
_MOST_OFFSETS = 4000
# Nodes of a rule for one cell, and in one direction of a strip that has no end.
_NODES, _PANELS = 24, 12
# A little more noise than the level asks for, so that rounding keeps it.
_ROOM = 1e-9
# Constant mass that every entry gets, so that 2⁻⁵³ is small against the least of them.
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
    masses = _cell_masses(rate, shape, step)
    return _kernel(places, masses)


def planar_geometric(places: PlaceSet, level: float, within: float) -> Mechanism:
    """Noise on the lattice of cells: probability ∝ e^(−ε d) for a cell d metres away.

    The lattice goes on beyond the grid, and what falls outside is reported as the nearest cell, so
    that no row needs a constant of its own; ε = level/within. Parameters and errors are those of
    :func:`planar_laplace`.
    """
    return _kernel(places, geometric_masses(places, level, within))


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
    return _kernel(places, masses / masses.sum(axis=1, keepdims=True))


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
    nats = check_level(level, "level of noise")
    metres = finite_number(within, "within", 1e-3, error=LevelError, remedy="give metres")
    if not 0 < nats < math.inf:
        raise LevelError(
            "level of noise",
            expected="a positive finite number of nats",
            got=shown(level),
            remedy="pass for example math.log(2)",
        )
    rate = nats / metres
    apart = places.distances
    if places.shape is not None:
        # Those of the plane, of which the distances are at most 2⁻¹⁰ m and a part of within less.
        flat = places.plane[:, None, :] - places.plane[None, :, :]
        apart = np.hypot(flat[:, :, 0], flat[:, :, 1])
    units = np.floor(places.distances / metres * (1 << 20)) / (1 << 20)
    off = np.where(apart > 0, units * metres / np.where(apart > 0, apart, 1.0), 1.0)
    return float(rate * off.min() * (1 - _ROOM))


def _kernel(places: PlaceSet, masses: Array) -> Mechanism:
    """The kernel of masses that sum to one in each row, over integers.

    Mass is added to all entries alike where the least of them are near 2⁻⁵³; constant columns
    raise no ratio, and lower those of others by more than rounding to multiples of 2⁻⁵³ adds.
    """
    n = len(places)
    masses = np.maximum(masses, 0.0)
    sums = masses.sum(axis=1, keepdims=True)
    if masses.min() < 2.0 ** (30 - DENOMINATOR_BITS):
        weights = to_weights((1 - _CONSTANT) * (masses / sums) + _CONSTANT / n)
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
    rules = [[_rule(*side) for side in sides] for sides in ends]
    found = np.zeros((2 * shape[0], 2 * shape[1]))
    for a, (low, high) in enumerate(ends[0]):
        for b, (left, right) in enumerate(ends[1]):
            if math.hypot(low, left) <= _FAR:
                found[a, b] = (
                    _quadrant(high, right) if low == left == 0 else _mass(rules[0][a], rules[1][b])
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


def _rule(low: float, high: float) -> tuple[Array, Array]:
    """Nodes and weights for an interval, in panels that grow where it is long."""
    panels = min(_PANELS, max(1, math.ceil((high - low) / 2)))
    cuts = low + (high - low) * (np.arange(panels + 1) / panels) ** 1.5
    nodes, weights = _gauss(_NODES)
    half = np.diff(cuts) / 2
    middle = (cuts[1:] + cuts[:-1]) / 2
    return (
        (middle[:, None] + half[:, None] * nodes).ravel(),
        (half[:, None] * weights).ravel(),
    )


def _quadrant(a: float, b: float) -> float:
    """Mass of [0, a] × [0, b]: ∫ (1 − (1 + R) e^(−R)) dθ/2π, with R the length of each ray."""
    corner = math.atan2(b, a)
    total = 0.0
    for low, high, side, turned in ((0.0, corner, a, False), (corner, math.pi / 2, b, True)):
        angles, weights = _angles(low, high)
        along = np.sin(angles) if turned else np.cos(angles)
        rays = side / along
        total += float(weights @ -np.expm1(np.log1p(rays) - rays))
    return total / (2 * math.pi)


def _angles(low: float, high: float) -> tuple[Array, Array]:
    nodes, weights = _gauss(200)
    half = (high - low) / 2
    return low + half * (1 + nodes), half * weights
