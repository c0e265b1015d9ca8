"""Mutual information between a secret and a noisy query: in closed form for Laplace noise.

Between two neighbouring values of the query a mixture of Laplace densities is a e^t + b e^{−t}, and
∫ f log f of such an f is elementary. Balls around the sum of all pieces are made smaller until one
float is nearest to everything in them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LevelError, UnknownNameError
from ..exact import ball_ends, is_whole, nearest_float
from ..prior import Prior
from .additive import Function, groups_of, values_of
from .checks import called, positive, shown

# Gaps of more deviations are made as narrow: what noise carries across is below all floats.
_WIDEST = {"laplace": 4000, "gaussian": 80}
# Gaussian noise comes no further, and its points lie no further apart.
_REACH, _STEP = 40.0, 0.0625
# Points that are summed at once.
_HELD = 1024
_PRECISIONS = (128, 512, 2048, 8192)

#: Weights of the values of a query, in units of the noise, for each value of the secret.
Table = dict[Any, dict[Fraction, int]]


def noisy_information(
    prior: Prior,
    query: Function,
    private: Function,
    noise: tuple[str, float],
    public: Function | None = None,
    steps: int = 20_000,
) -> float:
    """I(g(X); f(X) + Z | w(X)) in nats for Laplace or Gaussian noise on a number.

    For Laplace noise the float next to the exact number, from an enclosure of its closed form. For
    Gaussian noise a trapezoidal sum in floats, at most the entropy of the secret, over at least
    ``steps`` points up to 40 deviations around the values of the query. No sampling is involved.

    Parameters
    ----------
    prior : Prior
    query : f, function from label to a number
    private : g, function from label to the secret
    noise : ``("laplace", b)`` or ``("gaussian", sigma)``
    public : w, function of a label; ``None`` is the constant one
    steps : for Gaussian noise alone

    Raises
    ------
    UnknownNameError
        For another noise.
    LevelError
        For a query or a scale that is no number.

    Examples
    --------
    >>> coin = Prior.uniform([0, 1])
    >>> round(noisy_information(coin, float, float, ("laplace", 1.0)), 12)
    0.088519640201
    """
    kind, scale = noise if isinstance(noise, (tuple, list)) and len(noise) == 2 else (noise, 1.0)
    called(private, "private function")
    if not is_whole(steps, 2):
        raise LevelError(
            "steps of the integration",
            expected="a whole number from 2",
            got=shown(steps),
            remedy="leave it out for 20000",
        )
    if not isinstance(kind, str) or kind not in _WIDEST:
        raise UnknownNameError("noise", kind, list(_WIDEST))
    unit = Fraction(positive(scale, "scale of the noise"))
    values = values_of(query, prior)
    if values.shape[1] != 1:
        raise LevelError(
            "query",
            expected="one number for every symbol",
            got=f"vectors of {values.shape[1]}",
            remedy="independent noise on each coordinate is at most the sum of their informations",
        )
    places = [Fraction(v) / unit for v in values[:, 0].tolist()]
    tables = []
    for members in groups_of(prior, public).values():
        table: Table = {}
        for x in members:
            row = table.setdefault(private(prior.labels[x]), {})
            row[places[x]] = row.get(places[x], 0) + prior.weights[x]
        if not _is_independent(table):
            tables.append(_drawn_together(table, _WIDEST[kind]))
    if kind == "laplace":
        return _enclosed(tables, prior.total, _laplace_information)
    found = sum(_gaussian_information(table, prior.total, steps) for table in tables)
    return min(max(found, 0.0), _enclosed(tables, prior.total, _entropy))


def _is_independent(table: Table) -> bool:
    """Whether all values of the secret leave the same law of the query."""
    first, *rest = table.values()
    mass = sum(first.values())
    return all(
        row.keys() == first.keys()
        and all(w * mass == first[place] * sum(row.values()) for place, w in row.items())
        for row in rest
    )


def _drawn_together(table: Table, widest: int) -> Table:
    """The same table with gaps that hardly any noise crosses made narrower."""
    places = sorted({place for row in table.values() for place in row})
    moved = {places[0]: Fraction(0)}
    for one, two in pairwise(places):
        moved[two] = moved[one] + min(two - one, Fraction(widest))
    return {key: {moved[place]: w for place, w in row.items()} for key, row in table.items()}


def _joined(table: Table) -> dict[Fraction, int]:
    """Weights of the values of the query alone."""
    joint: dict[Fraction, int] = {}
    for row in table.values():
        for place, weight in row.items():
            joint[place] = joint.get(place, 0) + weight
    return joint


def _enclosed(tables: list[Table], total: int, information: Callable[[Table], Any]) -> float:
    """The float next to the sum of a ball for each table, over a total weight."""
    from flint import ctx

    low = high = Fraction(0)
    for precision in _PRECISIONS if tables else ():
        with ctx.workprec(precision):
            ends = [ball_ends(information(table)) for table in tables]
        low, high = Fraction(0), Fraction(0)
        for pair in ends:
            assert pair is not None
            low, high = low + pair[0] / total, high + pair[1] / total
        if nearest_float(low) == nearest_float(high):
            break
    return max(0.0, nearest_float((low + high) / 2))


def _x_log_x(weight: int) -> Any:
    from flint import arb

    return weight * arb(weight).log()


def _entropy(table: Table) -> Any:
    """The entropy of the secret times the weight of the table, as a ball."""
    masses = [sum(row.values()) for row in table.values()]
    return _x_log_x(sum(masses)) - sum(map(_x_log_x, masses))


def _laplace_information(table: Table) -> Any:
    """The information times the weight of the table, as a ball."""
    rows = sum(map(_negative_entropy, table.values()))
    return rows - _negative_entropy(_joined(table)) + _entropy(table)


def _negative_entropy(row: dict[Fraction, int]) -> Any:
    """∫ q log q of q = Σ m e^{−|t − x|}/2 over values x of weight m, as a ball.

    With f = a e^t + b e^{−t} and g = a e^t − b e^{−t} an integral of f log f is
    g log f − g + 4√(ab) arctan(e^t √(a/b)).
    """
    from flint import arb, fmpq

    places = sorted(row)
    gaps = [arb(fmpq(d.numerator, d.denominator)) for d in (y - x for x, y in pairwise(places))]
    falls = [(-gap).exp() for gap in gaps]
    halves = [arb(row[place]) / 2 for place in places]
    # What all values up to one, and from one on, add to the density at it.
    below, above = [halves[0]], [halves[-1]]
    for half, fall in zip(halves[1:], falls, strict=True):
        below.append(half + below[-1] * fall)
    for half, fall in zip(halves[-2::-1], reversed(falls), strict=True):
        above.append(half + above[-1] * fall)
    above.reverse()
    total = sum(end * (end.log() - 1) for end in (above[0], below[-1]))
    for b, top, fall in zip(below[:-1], above[1:], falls, strict=True):
        a, low = top * fall, b * fall
        root = (a / b).sqrt()
        turn = (root / fall).atan() - root.atan()
        total += (top - low) * ((top + low).log() - 1) - (a - b) * ((a + b).log() - 1)
        total += 4 * (a * b).sqrt() * turn
    return total


def _gaussian_information(table: Table, total: int, steps: int) -> float:
    """The information times the share of the table, by a trapezoidal sum.

    What is summed is smooth and vanishes at both ends: the error falls faster than any power of the
    step.
    """
    mass = np.array([sum(row.values()) / total for row in table.values()])
    entries = sorted(
        (float(place), key, weight / total)
        for key, row in enumerate(table.values())
        for place, weight in row.items()
    )
    places, keys, shares = (np.array(column) for column in zip(*entries, strict=True))
    low, high = places[0] - _REACH, places[-1] + _REACH
    number = max(steps, math.ceil((high - low) / _STEP) + 1)
    grid = low + (high - low) * np.arange(number) / (number - 1)
    found = []
    for points in np.array_split(grid, math.ceil(number / _HELD)):
        # What lies farther away adds less than any float.
        near = slice(*np.searchsorted(places, (points[0] - _REACH, points[-1] + _REACH)))
        live, row = np.unique(keys[near], return_inverse=True)
        found.append(_summed(points, places[near], row, shares[near], mass[live], mass.sum()))
    return math.fsum(found) * (high - low) / (number - 1)


def _summed(
    points: NDArray[np.float64],
    places: NDArray[np.float64],
    row: NDArray[np.int64],
    shares: NDArray[np.float64],
    mass: NDArray[np.float64],
    total: float,
) -> float:
    """Σ q log(q/mass ÷ joint/total) over points and values of the secret, one row for each."""
    from scipy.sparse import csr_array

    weights = csr_array((shares, (row, np.arange(len(places)))), (len(mass), len(places)))
    with np.errstate(under="ignore", divide="ignore", invalid="ignore"):
        parts = weights @ np.exp(-((points - places[:, None]) ** 2) / 2) / math.sqrt(2 * math.pi)
        logs = np.log(parts / mass[:, None]) - np.log(parts.sum(axis=0) / total)
        return float(np.where(parts > 0, parts * logs, 0.0).sum())
