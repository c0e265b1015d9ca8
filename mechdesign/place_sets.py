"""Places: which cells of a map or points of a network are the symbols, and how far apart they are.

A place is named by the coordinates of its centre, (latitude, longitude) in degrees, so that reports
are points of a map. Distances are in metres and never more than they are on the ground: they are
rounded down to multiples of 2⁻¹⁰ m, which leaves sums exact, and a place that lies exactly between
two others on a grid does so in these numbers too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .errors import DataError, InputError, is_iterable, listed, quote
from .labels import Label, check_labels, counted
from .numeric import finite_number
from .tables.counting import MISSING_TEXT, is_missing
from .tables.frames import listed_values, plain_numbers
from .tables.reading import open_table, read_columns

Array = NDArray[np.float64]

#: What :meth:`PlaceSet.snap` gives for points without coordinates, and for those of no place.
MISSING, OUTSIDE = -1, -2
#: Mean radius of the Earth in metres.
RADIUS = 6_371_008.8
#: The columns of a table that hold coordinates, unless others are named.
COLUMNS = ("latitude", "longitude")

# Parts of a metre that distances are multiples of, and digits of coordinates in degrees (0.1 m).
_PARTS, _DIGITS = 1024.0, 6
_MOST = 10_000
# Beyond this latitude a grid in degrees has no cells of one width.
_FARTHEST = 85.0


class PlaceSet:
    """N places with coordinates, distances and a rule for which place a point belongs to.

    Attributes
    ----------
    labels : (latitude, longitude) of each place in degrees, what symbols are called
    names : short names of the places, such as ``"r1c1"``
    shape : rows from south to north and columns from west to east of a grid, ``None`` for others
    bounds : south, west, north, east of a grid, ``None`` for others
    step : height and width of a cell in metres, of a grid
    reach : metres beyond which a point belongs to no place, where there is no grid
    roads : edges (i, j, metres) between positions of places, where distances go along them
    """

    labels: tuple[Label, ...]
    names: tuple[str, ...]
    shape: tuple[int, int] | None = None
    bounds: tuple[float, float, float, float] | None = None
    step: tuple[float, float] | None = None
    reach: float = math.inf
    roads: tuple[tuple[int, int, float], ...] | None = None

    @classmethod
    def of_grid(
        cls,
        bounds: Sequence[float],
        shape: tuple[int, int],
        step: tuple[float, float],
    ) -> Self:
        """Cells of equal size; ``step`` is what their distances are made of, in metres."""
        found = cls()
        south, west, north, east = bounds
        rows, columns = shape
        found.bounds, found.shape, found.step = (south, west, north, east), shape, step
        lat = _middles(south, north, rows)
        lon = _middles(west, east, columns)
        found._name(
            [(a, b) for a in lat for b in lon],
            [f"r{i}c{j}" for i in range(1, rows + 1) for j in range(1, columns + 1)],
        )
        return found

    @classmethod
    def of_points(
        cls,
        points: Iterable[tuple[float, float]],
        names: Iterable[Any] | None = None,
        reach: float | None = None,
        roads: Iterable[tuple[int, int, float]] | None = None,
    ) -> Self:
        """Points; one belongs to the nearest place within ``reach`` metres.

        Left out, that is the largest distance of a place from the one nearest to it.
        """
        found = cls()
        labels = [(float(a), float(b)) for a, b in points]
        shown = [f"p{i}" for i in range(1, len(labels) + 1)] if names is None else list(names)
        found._name(labels, [str(name) for name in shown])
        if roads is not None:
            found.roads = tuple(roads)
        if reach is None:
            apart = great_circle(found.coordinates)
            np.fill_diagonal(apart, math.inf)
            reach = float(apart.min(axis=1).max()) if len(labels) > 1 else math.inf
        found.reach = float(reach)
        return found

    def _name(self, labels: list[tuple[float, float]], names: list[str]) -> None:
        if not 2 <= len(labels) <= _MOST:
            raise InputError(
                "places",
                expected=f"2 to {_MOST:,} of them",
                got=f"{len(labels):,}",
                remedy="take other bounds or cells",
            )
        self.labels = check_labels(labels, len(labels), "coordinates of places", InputError)
        self.names = check_labels(names, len(names), "names of places", InputError)

    def __len__(self) -> int:
        return len(self.labels)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlaceSet) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.labels)

    def __repr__(self) -> str:
        if self.shape is not None:
            return f"{self.shape[0]}×{self.shape[1]} places"
        return f"{counted(len(self), 'place')}{'' if self.roads is None else ' along roads'}"

    # How far apart they are

    @cached_property
    def coordinates(self) -> Array:
        """Latitudes and longitudes in degrees, ``(N, 2)``."""
        found = np.array(self.labels, dtype=np.float64)
        found.setflags(write=False)
        return found

    @cached_property
    def chart(self) -> Array:
        """Coordinates for pictures, ``(N, 2)``: east of the date line longitudes go on from 180.

        Only where the places are closer together that way.
        """
        lat, lon = self.coordinates.T
        beyond = np.where(lon < 0, lon + 360, lon)
        return np.stack([lat, beyond if np.ptp(beyond) < np.ptp(lon) else lon], axis=1)

    @cached_property
    def plane(self) -> Array:
        """Metres north and east of the first place, ``(N, 2)``; of a grid multiples of its step."""
        if self.shape is not None:
            assert self.step is not None
            rows, columns = np.divmod(np.arange(len(self)), self.shape[1])
            return np.stack([rows * self.step[0], columns * self.step[1]], axis=1)
        angle = np.radians(self.chart)
        shrunk = math.cos(float(angle[:, 0].mean()))
        return RADIUS * (angle - angle[0]) * [1.0, shrunk]

    @cached_property
    def distances(self) -> Array:
        """Metres between places, ``(N, N)``, symmetric with zeros on the diagonal.

        On a grid the distances of a plane whose steps are those of ``step``, along roads the
        lengths of shortest paths, else great circles.
        """
        if self.roads is not None:
            found = _shortest(self.roads, len(self))
        elif self.shape is not None:
            apart = self.plane[:, None, :] - self.plane[None, :, :]
            found = np.hypot(apart[:, :, 0], apart[:, :, 1])
        else:
            found = great_circle(self.coordinates)
        found = np.floor(found * _PARTS) / _PARTS
        found = np.minimum(found, found.T)
        found.setflags(write=False)
        return found

    def check_apart(self) -> None:
        """Raise :class:`InputError` for places less than 1 mm apart, or joined by no path.

        Of a metric they would be one, or ask nothing of each other.
        """
        apart = self.distances + np.where(np.eye(len(self), dtype=bool), 1.0, 0.0)
        for bad, got in ((apart == 0, "less than 1 mm apart"), (np.isinf(apart), "without a path")):
            if bad.any():
                i, j = np.argwhere(bad)[0].tolist()
                raise InputError(
                    "places",
                    expected="places with positive distances, all of which some path joins",
                    got=f"{quote(self.names[i])} and {quote(self.names[j])} {got}",
                    remedy="merge places that are one; leave out parts of a network without roads",
                )

    # Where a point lies

    def snap(self, latitudes: Any, longitudes: Any) -> NDArray[np.int64]:
        """Position of the place of each point, ``-1`` without coordinates, ``-2`` for no place.

        On a grid a point belongs to the cell it lies in (on an edge to the one to the north or
        east), else to the nearest place as the crow flies, within ``reach``.
        """
        lat = np.asarray(latitudes, dtype=np.float64)
        lon = np.asarray(longitudes, dtype=np.float64)
        blank = np.isnan(lat) | np.isnan(lon)
        with np.errstate(invalid="ignore"):
            on_earth = (np.abs(lat) <= 90) & (np.abs(lon) <= 180)
        found = np.full(len(lat), OUTSIDE, dtype=np.int64)
        if self.shape is not None:
            found[on_earth] = self._cell(lat[on_earth], lon[on_earth])
        elif on_earth.any():
            found[on_earth] = self._nearest(np.stack([lat[on_earth], lon[on_earth]], axis=1))
        found[blank] = MISSING
        return found

    def _cell(self, lat: Array, lon: Array) -> NDArray[np.int64]:
        assert self.shape is not None
        assert self.bounds is not None
        south, west, north, east = self.bounds
        rows, columns = self.shape
        row = np.searchsorted(_edges(south, north, rows)[1:-1], lat, side="right")
        column = np.searchsorted(_edges(west, east, columns)[1:-1], lon, side="right")
        inside = (lat >= south) & (lat <= north) & (lon >= west) & (lon <= east)
        return np.where(inside, row * columns + column, OUTSIDE)

    def _nearest(self, points: Array) -> NDArray[np.int64]:
        chords, found = self._tree.query(_on_sphere(points))
        # The angle of a chord; beyond the reach by more than rounding is outside.
        metres = 2 * RADIUS * np.arcsin(np.clip(chords / 2, 0.0, 1.0))
        return np.where(metres <= self.reach * (1 + 1e-9), found, OUTSIDE)

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import cKDTree

        return cKDTree(_on_sphere(self.coordinates))

    # As plain values

    def to_json(self) -> dict[str, Any]:
        """Plain values that say coordinates, distances and where points belong."""
        if self.shape is not None:
            return {
                "bounds": list(self.bounds or ()),
                "cells": list(self.shape),
                "step": list(self.step or ()),
            }
        return {
            "points": [list(label) for label in self.labels],
            "names": list(self.names),
            "reach": "inf" if math.isinf(self.reach) else self.reach,
            **({} if self.roads is None else {"roads": [list(edge) for edge in self.roads]}),
        }

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """The inverse of :meth:`to_json`; raises as a damaged file does."""
        if "cells" in content:
            bounds = checked_bounds(content["bounds"])
            rows, columns = content["cells"]
            height, width = (finite_number(v, "step of places", 1e-3) for v in content["step"])
            shape = checked_shape((rows, columns))
            return cls.of_grid(bounds, shape, (height, width))
        points = [checked_point(a, b) for a, b in content["points"]]
        reach = content["reach"]
        reach = math.inf if reach == "inf" else finite_number(reach, "reach of places", 0.0)
        roads = None
        if "roads" in content:
            roads = [checked_edge(i, j, d, len(points)) for i, j, d in content["roads"]]
        return cls.of_points(points, content["names"], reach, roads)


# Geometry


def great_circle(points: Array, others: Array | None = None) -> Array:
    """Metres along great circles between points in degrees, ``(N, M)``; with themselves ``(N, N)``.

    >>> round(float(great_circle(np.array([[0.0, 0.0]]), np.array([[0.0, 1.0]]))[0, 0]))
    111195
    """
    a = np.radians(points)
    b = a if others is None else np.radians(others)
    rise = np.sin((a[:, None, 0] - b[None, :, 0]) / 2) ** 2
    turn = np.sin((a[:, None, 1] - b[None, :, 1]) / 2) ** 2
    shrunk = np.cos(a[:, None, 0]) * np.cos(b[None, :, 0])
    return np.asarray(2 * RADIUS * np.arcsin(np.sqrt(np.clip(rise + shrunk * turn, 0.0, 1.0))))


def grid_step(bounds: Sequence[float], shape: tuple[int, int]) -> tuple[float, float]:
    """Height and width of cells, such that distances in their plane exceed no great circle.

    Cells are narrowest where they are farthest from the equator; the plane has that width.
    """
    south, west, north, east = bounds
    rows, columns = shape
    lat = np.array(_middles(south, north, rows))
    height = RADIUS * math.radians((north - south) / rows)
    width = RADIUS * math.radians((east - west) / columns) * float(np.cos(np.radians(lat)).min())
    # Great circles cut the corners of circles of latitude, so the plane shrinks a little more.
    least = 1.0
    lon = np.array(_middles(west, east, columns))
    for i in range(rows):
        start = np.array([[lat[i], lon[0]]])
        ends = np.array([(a, b) for a in lat for b in lon])
        flat = np.hypot(
            *np.meshgrid((np.arange(rows) - i) * height, np.arange(columns) * width, indexing="ij")
        ).ravel()
        true = great_circle(start, ends)[0]
        least = min(least, float((true[flat > 0] / flat[flat > 0]).min()))
    shrink = least * (1 - 1e-12)
    return _rounded_down(height * shrink), _rounded_down(width * shrink)


def _rounded_down(metres: float) -> float:
    return math.floor(metres * _PARTS) / _PARTS


def _edges(low: float, high: float, count: int) -> Array:
    return np.linspace(low, high, count + 1)


def _middles(low: float, high: float, count: int) -> list[float]:
    edges = _edges(low, high, count)
    return [round(float(v), _DIGITS) for v in (edges[1:] + edges[:-1]) / 2]


def _on_sphere(points: Array) -> Array:
    lat, lon = np.radians(points).T
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)


def _shortest(edges: Sequence[tuple[int, int, float]], size: int) -> Array:
    """Lengths of shortest paths; of several edges between two places the shortest counts."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    least: dict[tuple[int, int], float] = {}
    for i, j, metres in edges:
        pair = (min(i, j), max(i, j))
        least[pair] = min(metres, least.get(pair, math.inf))
    rows, columns = zip(*least, strict=True)
    graph = csr_array((list(least.values()), (rows, columns)), shape=(size, size))
    return np.asarray(shortest_path(graph, directed=False), dtype=np.float64)


# What is handed in


def checked_bounds(bounds: Any) -> tuple[float, float, float, float]:
    """South, west, north and east in degrees; raises :class:`InputError`."""
    remedy = "write (south, west, north, east), such as (59.28, 17.95, 59.37, 18.15)"
    expected = "south, west, north and east in degrees"
    given = listed(bounds, "bounds of places", expected, InputError, remedy)
    if len(given) != 4:
        raise InputError("bounds of places", expected=expected, got=str(len(given)), remedy=remedy)
    south, west, north, east = (
        finite_number(value, "bounds of places", -most, most, remedy=remedy)
        for value, most in zip(given, (_FARTHEST, 180.0, _FARTHEST, 180.0), strict=True)
    )
    if not (south < north and west < east):
        raise InputError(
            "bounds of places",
            expected="south before north, and west before east",
            got=quote(tuple(given)),
            remedy=remedy,
        )
    return south, west, north, east


def checked_shape(cells: Any) -> tuple[int, int]:
    """Rows and columns of a grid: one number for both, or two; raises :class:`InputError`."""
    given = list(cells) if is_iterable(cells) and not isinstance(cells, str) else [cells, cells]
    whole = all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in given)
    if len(given) != 2 or not whole or not all(1 <= v <= _MOST for v in given):
        raise InputError(
            "cells of a grid",
            expected="a number of rows and columns, or both",
            got=quote(cells),
            remedy="write for example 6 or (4, 6)",
        )
    rows, columns = int(given[0]), int(given[1])
    if not 2 <= rows * columns <= _MOST:
        raise InputError(
            "cells of a grid",
            expected=f"2 to {_MOST:,} cells",
            got=f"{rows * columns:,}",
            remedy="take larger cells, and md.places.two_levels beyond a few hundred",
        )
    return rows, columns


def checked_point(latitude: Any, longitude: Any) -> tuple[float, float]:
    """Coordinates in degrees; raises :class:`InputError`."""
    remedy = "give degrees, latitude before longitude"
    return (
        finite_number(latitude, "latitude of a place", -90.0, 90.0, remedy=remedy),
        finite_number(longitude, "longitude of a place", -180.0, 180.0, remedy=remedy),
    )


def checked_edge(first: Any, second: Any, metres: Any, size: int) -> tuple[int, int, float]:
    """An edge between two positions of places; raises :class:`InputError`."""
    whole = all(isinstance(v, int) and not isinstance(v, bool) for v in (first, second))
    if not whole or not (0 <= first < size and 0 <= second < size and first != second):
        raise InputError(
            "edge of a network",
            expected="two different places",
            got=f"{quote(first)} and {quote(second)}",
            remedy="name both ends by their places",
        )
    least, remedy = 1 / _PARTS, "give the length in metres; merge places that are one"
    return first, second, finite_number(metres, "length of an edge", least, remedy=remedy)


def read_points(
    table: Any, columns: Sequence[str] = COLUMNS, *more: str
) -> tuple[Array, Array, list[list[Any]]]:
    """Latitudes, longitudes (NaN where missing) and further columns of a table of points.

    Parameters
    ----------
    table : path of one, data frame of any library, mapping of columns, or (n, 2) array
    columns : names of the columns of latitudes and of longitudes

    Raises
    ------
    DataError, UnknownNameError
        For what is no such table, and for coordinates that are no numbers.
    """
    wanted = (*columns, *more)
    if not isinstance(table, Mapping) and _is_array(table):
        array = np.asarray(table)
        if array.ndim != 2 or array.shape[1] != 2 or more:
            raise DataError(
                "points",
                expected="an array of two columns, latitudes and longitudes",
                got=f"shape {array.shape}" + (f" for the columns {wanted}" if more else ""),
                remedy="pass a table with names of columns",
            )
        rows, texts = [array[:, 0].tolist(), array[:, 1].tolist()], False
    else:
        opened = open_table(table)
        rows, texts = read_columns(opened, wanted), bool(opened.name)
    if len({len(row) for row in rows}) != 1 or not rows[0]:
        raise DataError(
            "points",
            expected="at least one row, and as many values in each column",
            got=" and ".join(str(len(row)) for row in rows),
            remedy="pass columns of one table",
        )
    lat, lon = (
        degrees(values, name, texts=texts) for values, name in zip(rows[:2], columns, strict=True)
    )
    return lat, lon, [list(row) for row in rows[2:]]


def degrees(values: Any, name: Any, *, texts: bool = False) -> Array:
    """Numbers of a column as floats, NaN where missing; raises :class:`DataError` for others.

    No value is quoted, as it is where somebody was.
    """
    found = np.full(len(values), math.nan)
    numbers = plain_numbers(values)
    if numbers is not None:
        there = slice(None) if numbers[1] is None else ~numbers[1]
        found[there] = numbers[0][there]
        return found
    for i, value in enumerate(listed_values(values)):
        is_text = isinstance(value, str)
        if is_missing(value) or (texts and is_text and value.strip().lower() in MISSING_TEXT):
            continue
        is_number = hasattr(value, "__float__") and not isinstance(value, (bool, np.bool_))
        try:
            if not is_number and not (texts and is_text):
                raise ValueError
            found[i] = float(value)
        except ValueError:
            what = "text that is no number" if texts and is_text else ""
            raise _no_degrees(name, i, what or f"a value of type {type(value).__name__}") from None
    return found


def _no_degrees(name: Any, row: int, got: str) -> DataError:
    return DataError(
        f"column {quote(name)}",
        expected="coordinates in degrees, numbers such as 59.33",
        got=f"{got}, first in row {row + 1}",
        remedy="convert the column to numbers, or name the columns of coordinates",
    )


def _is_array(table: Any) -> bool:
    return isinstance(table, np.ndarray) or (
        isinstance(table, (list, tuple))
        and bool(table)
        and all(isinstance(row, (list, tuple, np.ndarray)) and len(row) == 2 for row in table)
    )
