"""``Places``: cells or points of a map, with what a design of reports about them is asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    DataError,
    InputError,
    LevelError,
    OutsideWarning,
    UnknownNameError,
    is_iterable,
    listed,
    quote,
    warn,
)
from ..exact import fraction
from ..mechanism import Mechanism, mechanism_of
from ..numeric import finite_number
from ..place_sets import (
    COLUMNS,
    MISSING,
    OUTSIDE,
    RADIUS,
    PlaceSet,
    checked_bounds,
    checked_edge,
    checked_point,
    checked_shape,
    grid_step,
    read_points,
)
from ..prior import Prior
from ..privacy import InferenceCost, MetricPrivacy, inference_cost
from ..privacy.notion import positive_level
from ..schema import Schema
from ..tables.counting import check_missing_policy, read_weight, refuse_missing
from ..tables.reading import Table, read_columns
from .loss import PlaceLoss, check_reports, costs_of

# Parts of the distance "within" that distances are multiples of in a notion.
_PARTS = 1 << 20
_EDGE_COLUMNS = ("from", "to", "metres")


class Places(PlaceSet):
    """Places with coordinates and distances in metres; symbols are their coordinates.

    Made by :func:`mechdesign.places.grid`, :func:`~mechdesign.places.from_csv`,
    :func:`~mechdesign.places.from_frame` and :func:`~mechdesign.places.from_roads`, or from a
    design by :func:`~mechdesign.places.of`. A prior that it makes carries it into the design and
    its file, so that :func:`mechdesign.privatize` and ``mechdesign apply`` take raw points.

    Notes
    -----
    What is hidden is the place of a point: two points in one cell are reported alike, and points of
    two cells are hidden from each other as far as the distance of their centres says, which may be
    more or less than their own by up to the diagonal of a cell.

    Examples
    --------
    >>> import mechdesign as md
    >>> town = md.places.grid((59.30, 18.00, 59.36, 18.12), cells=(2, 3))
    >>> town.labels[0], town.names[:2], town.distances[0, 1].round()
    ((59.315, 18.02), ('r1c1', 'r1c2'), np.float64(2268.0))
    >>> prior = town.prior([(59.31, 18.01), (59.31, 18.02), (59.35, 18.11)], added=1)
    >>> found = md.design(prior, town.loss(), town.privacy(math.log(2), within=500))
    >>> found.status
    'optimal'
    """

    def prior(
        self,
        visits: Any,
        *,
        columns: Sequence[str] = COLUMNS,
        weights: str | None = None,
        outside: str = "error",
        missing: str = "error",
        added: Any = 0,
    ) -> Prior:
        """Shares of the places among visits, points that are snapped to them.

        Parameters
        ----------
        visits : path of a table, data frame, mapping of columns, or (n, 2) array of degrees
        columns : names of the columns of latitudes and longitudes, in the table and in every later
            one that reports are drawn for
        weights : name of a column of counts, optional
        outside : {"error", "drop"}
            Points that belong to no place: refused, or left out and counted in a warning.
        missing : {"error", "drop"}
            Rows without coordinates.
        added : number
            Visits that every place gets beside those in the table, such as 1, so that places
            without any are designed for too.

        Raises
        ------
        DataError, UnknownNameError
            For points outside, missing coordinates, and for what is no such table.
        """
        policies = ("error", "drop")
        check_missing_policy(missing, policies)
        if not isinstance(outside, str) or outside not in ("error", "drop"):
            raise UnknownNameError("policy for points outside", outside, ("error", "drop"))
        extra = fraction(finite_number(added, "visits added to every place", 0.0))
        named = checked_columns(columns)
        lat, lon, more = read_points(visits, named, *([] if weights is None else [weights]))
        codes = self.snap(lat, lon)
        refuse_missing("visits", int((codes == MISSING).sum()), len(codes), missing, policies)
        beyond = int((codes == OUTSIDE).sum())
        if beyond and outside == "error":
            row = int(np.flatnonzero(codes == OUTSIDE)[0]) + 1
            raise DataError(
                "visits",
                expected="points within the places",
                got=f"{beyond} of {len(codes)} outside, first in row {row}",
                remedy="take larger bounds or a larger reach, or leave them out with "
                "outside='drop' (--outside drop)",
            )
        if beyond:
            warn(
                f"visits: {beyond} of {len(codes)} lie outside of the places and are left out",
                OutsideWarning,
            )
        counts: list[Any] = [extra] * len(self)
        each = _weights(more[0], str(weights)) if weights is not None else [1] * len(codes)
        for code, weight in zip(codes.tolist(), each, strict=True):
            if code >= 0:
                counts[code] += weight
        return self.carried(Prior.from_counts(counts, self.labels), named)

    def uniform(self, columns: Sequence[str] = COLUMNS) -> Prior:
        """The same mass for every place."""
        return self.carried(Prior.uniform(self.labels), checked_columns(columns))

    def carried(self, prior: Prior, columns: tuple[str, ...] = COLUMNS) -> Prior:
        """A prior over these places with what a design keeps of them and of its columns."""
        return prior.with_schema(Schema(columns, places=self))

    # What a design is asked for

    def privacy(self, level: float, within: float) -> MetricPrivacy:
        """Geo-indistinguishability: ``level`` nats between places ``within`` metres, and so on.

        The odds of two places at d metres change by at most e^(level · d / within). The notion is
        :class:`mechdesign.MetricPrivacy` with distances in units of ``within``, rounded down to
        multiples of 2⁻²⁰ of it, so that its level is that of places ``within`` metres apart
        ([Andres2013]).

        Raises :class:`LevelError` for what are no positive numbers.
        """
        positive_level(level, "level of places")
        return MetricPrivacy(level, scaled_distances(self, within))

    def loss(self, kind: str = "metres", reports: str = "point") -> PlaceLoss:
        """The expected distance of the report from the place, as a utility; see :class:`PlaceLoss`.

        Parameters
        ----------
        kind : {"metres", "squared"}
            Metres, or square metres.
        reports : {"point", "cell"}
            Whether reports are coordinates of places or their names.
        """
        return PlaceLoss(self, kind, reports)

    def hidden(self, prior: Prior, error: float) -> InferenceCost:
        """The notion under which the best attack is off by at least ``error`` metres on average.

        See :class:`mechdesign.InferenceCost`, which bounds an adversary who knows the prior.
        """
        return InferenceCost.at_least(error, self.distances, self.ordered(prior))

    # What a kernel does

    def error(self, mechanism: Any, prior: Prior | None = None) -> float:
        """Metres by which the best inference attack is off on average ([Shokri2012])."""
        kernel, known = self._kernel_and_prior(mechanism, prior)
        return inference_cost(kernel, known, self.distances)

    def expected_loss(
        self, mechanism: Any, prior: Prior | None = None, kind: str = "metres"
    ) -> float:
        """Expected distance of the report from the place."""
        kernel, known = self._kernel_and_prior(mechanism, prior)
        named = all(y in set(self.names) for y in kernel.outputs)
        return -self.loss(kind, "cell" if named else "point").value(kernel, known)

    def remap(
        self,
        mechanism: Any,
        prior: Prior | None = None,
        *,
        kind: str = "metres",
        reports: str = "point",
    ) -> Mechanism:
        """Every report replaced by the place with the least expected loss, given that report.

        Post-processing: it needs no secret, so every guarantee stays, and the expected loss under
        the prior never rises ([Chatzikokolakis2017]). Reports that lead to the same place become
        one.

        Parameters
        ----------
        mechanism : Mechanism or Design over these places, with any outputs
        prior : Prior, optional
            What reports are read with; that of the design when left out.
        kind, reports : as for :meth:`loss`
        """
        check_reports(reports)
        kernel, known = self._kernel_and_prior(mechanism, prior)
        costs = costs_of(self, kind)
        best = (costs.T @ kernel.joint(known)).argmin(axis=0)
        used = np.unique(best)
        place = np.searchsorted(used, best)
        weights = np.zeros((len(kernel.inputs), len(used)), dtype=kernel.weights.dtype)
        np.add.at(weights.T, place, kernel.weights.T)
        names = self.labels if reports == "point" else self.names
        outputs = [names[i] for i in used.tolist()]
        found = Mechanism.over(weights, kernel.denominator, kernel.inputs, outputs, check=False)
        return found.with_schema(kernel.schema)

    def ordered(self, prior: Prior) -> Prior:
        """The prior in the order of the places; raises :class:`InputError` for other symbols."""
        if not isinstance(prior, Prior) or set(prior.labels) != set(self.labels):
            raise InputError(
                "prior",
                expected="one over these places",
                got=f"one over {list(prior.labels)[:3]}" if isinstance(prior, Prior) else "none",
                remedy="make it by places.prior(visits) or places.uniform()",
            )
        return prior if prior.labels == self.labels else prior.reordered(self.labels)

    def _kernel_and_prior(self, item: Any, prior: Prior | None) -> tuple[Mechanism, Prior]:
        known = getattr(item, "prior", None) if prior is None else prior
        kernel = mechanism_of(item)
        ordered = self.ordered(known)  # type: ignore[arg-type]
        if kernel.inputs != self.labels:
            raise InputError(
                "kernel",
                expected="one over these places, in their order",
                got=f"inputs such as {quote(kernel.inputs[0])}",
                remedy="design with a prior of these places",
            )
        return kernel, ordered


def scaled_distances(places: PlaceSet, within: Any) -> NDArray[np.float64]:
    """Distances in units of ``within`` metres, rounded down to multiples of 2⁻²⁰ of it."""
    unit = finite_number(
        within, "within", 1e-3, error=LevelError, remedy="give metres, such as within=200"
    )
    found = np.floor(places.distances / unit * _PARTS) / _PARTS
    if (found + np.eye(len(found)) == 0).any():
        raise LevelError(
            "within",
            expected="at most a million times the distance of the nearest places",
            got=f"{unit:g} m",
            remedy="merge places that are one",
        )
    return np.asarray(found)


def checked_columns(columns: Any) -> tuple[str, ...]:
    """Two names of columns; raises :class:`InputError`."""
    names = Schema(tuple(columns) if is_iterable(columns) else columns).names
    if len(names) != 2:
        raise InputError(
            "columns of coordinates",
            expected="two names, of latitudes and of longitudes",
            got=quote(columns),
            remedy="write for example ('lat', 'lon')",
        )
    return names


def _weights(values: Sequence[Any], column: str) -> list[Fraction]:
    return [read_weight(value, f"column {quote(column)} of visits") for value in values]


# Ways to get them


def grid(bounds: Any, cells: Any = None, *, side: float | None = None) -> Places:
    """Cells of a rectangle of a map.

    Parameters
    ----------
    bounds : (south, west, north, east) in degrees
    cells : number of rows and of columns, or one number for both, optional
    side : metres, optional
        Side of square cells, in place of ``cells``; the bounds grow to the north and east to hold
        whole ones. Squares are alike in both directions, which designs are faster for.

    Raises
    ------
    InputError
        For bounds that are no rectangle, and for neither or both of cells and side.

    Examples
    --------
    >>> import mechdesign as md
    >>> md.places.grid((59.30, 18.00, 59.36, 18.12), side=1000)
    7×7 places
    """
    south, west, north, east = checked_bounds(bounds)
    if (cells is None) == (side is None):
        raise InputError(
            "grid",
            expected="either cells, such as (4, 6), or the side of square cells in metres",
            got="neither" if cells is None else "both",
            remedy="pass one of them",
        )
    if side is None:
        shape = checked_shape(cells)
        return _apart(
            Places.of_grid(
                (south, west, north, east), shape, grid_step((south, west, north, east), shape)
            )
        )
    length = finite_number(side, "side of cells", 1.0, remedy="give metres, such as side=250")
    height = math.degrees(length / RADIUS)
    rows = max(1, math.ceil((north - south) / height - 1e-9))
    north = south + rows * height
    farthest = math.radians(max(abs(south), abs(north)))
    width = height / math.cos(farthest)
    columns = max(1, math.ceil((east - west) / width - 1e-9))
    shape = checked_shape((rows, columns))
    whole = checked_bounds((south, west, north, west + columns * width))
    step = min(grid_step(whole, shape))
    return _apart(Places.of_grid(whole, shape, (step, step)))


def from_frame(
    table: Any,
    *,
    columns: Sequence[str] = COLUMNS,
    name: str | None = None,
    reach: float | None = None,
) -> Places:
    """Places that a table lists, with distances along great circles.

    Parameters
    ----------
    table : data frame of any library, mapping of columns, path or (n, 2) array of degrees
    columns : names of the columns of latitudes and longitudes
    name : column with the names of the places, optional
    reach : metres, optional
        A point farther than this from every place belongs to none; ``inf`` takes all points. Left
        out, it is the largest distance of a place from the one nearest to it.

    Raises
    ------
    DataError, UnknownNameError, InputError
        For what is no such table, and for places that are less than 1 mm apart.
    """
    more = [] if name is None else [name]
    lat, lon, names = read_points(table, checked_columns(columns), *more)
    refuse_missing("places", int(np.isnan(lat + lon).sum()), len(lat), "error", ("error",))
    points = [checked_point(a, b) for a, b in zip(lat.tolist(), lon.tolist(), strict=True)]
    return _apart(Places.of_points(points, names[0] if names else None, _checked_reach(reach)))


def from_csv(path: str | Path, **options: Any) -> Places:
    """Places that a file lists, one in a row; options are those of :func:`from_frame`."""
    if not isinstance(path, (str, Path)):
        raise InputError(
            "places",
            expected="the name of a CSV file",
            got=quote(path),
            remedy="pass tables to md.places.from_frame",
        )
    return from_frame(path, **options)


def from_roads(
    nodes: Any,
    edges: Any,
    *,
    columns: Sequence[str] = COLUMNS,
    reach: float | None = None,
) -> Places:
    """Crossings of a network of roads, with distances along shortest paths.

    Points are snapped to the nearest crossing as the crow flies.

    Parameters
    ----------
    nodes : mapping from names to (latitude, longitude), or table or its path with a column
        ``name`` and those of the coordinates
    edges : iterable of (name, name, metres), or table or its path with the columns ``from``, ``to``
        and ``metres``
        Roads, which are taken both ways.
    columns : names of the columns of latitudes and longitudes of the crossings
    reach : metres, optional
        As for :func:`from_frame`.

    Raises
    ------
    InputError
        For roads between unknown crossings, and for a network in several parts.

    Examples
    --------
    >>> import mechdesign as md
    >>> nodes = {"a": (59.30, 18.0), "b": (59.31, 18.0), "c": (59.31, 18.02)}
    >>> roads = md.places.from_roads(nodes, [("a", "b", 1200), ("b", "c", 1300)])
    >>> float(roads.distances[0, 2])
    2500.0
    """
    if isinstance(nodes, Mapping) and all(_is_pair(v) for v in nodes.values()):
        names, points = [str(name) for name in nodes], list(nodes.values())
    else:
        lat, lon, more = read_points(nodes, checked_columns(columns), "name")
        names = [str(name) for name in more[0]]
        points = list(zip(lat.tolist(), lon.tolist(), strict=True))
    known = [checked_point(a, b) for a, b in points]
    place = {name: i for i, name in enumerate(names)}
    joined = []
    for edge in _edges(edges):
        parts = list(edge) if is_iterable(edge) and not isinstance(edge, str) else []
        if len(parts) != 3:
            raise InputError(
                "roads",
                expected="two crossings and a length in metres each",
                got=quote(edge),
                remedy="write ('a', 'b', 120.0)",
            )
        ends = []
        for end in parts[:2]:
            if str(end) not in place:
                raise UnknownNameError("crossing of a road", str(end), names)
            ends.append(place[str(end)])
        if ends[0] == ends[1]:
            raise InputError(
                "roads",
                expected="roads between two different crossings",
                got=f"one from {quote(str(parts[0]))} to itself",
                remedy="leave it out; no shortest path takes it",
            )
        joined.append(checked_edge(ends[0], ends[1], _number(parts[2]), len(names)))
    if not joined:
        raise InputError(
            "roads", expected="at least one", got="none", remedy="list (name, name, metres)"
        )
    return _apart(Places.of_points(known, names, _checked_reach(reach), joined))


def of(designed: Any) -> Places:
    """The places that a design, a kernel or a prior was made with.

    Raises :class:`InputError` for one without.
    """
    schema = getattr(designed, "schema", None)
    if schema is None:
        schema = getattr(getattr(designed, "mechanism", None), "schema", None)
    if schema is None or schema.places is None:
        raise InputError(
            "places",
            expected="a design, a kernel or a prior over places",
            got=quote(designed) if schema is None else "one over other symbols",
            remedy="make the prior by the places: md.places.grid(...).prior(visits)",
        )
    known: PlaceSet = schema.places
    return known if isinstance(known, Places) else Places.from_json(known.to_json())


def _apart(found: Places) -> Places:
    found.check_apart()
    return found


def _checked_reach(reach: Any) -> float | None:
    if reach is None or (isinstance(reach, float) and reach == math.inf):
        return reach
    return finite_number(reach, "reach", 0.0, remedy="give metres, such as reach=500")


def _is_pair(value: Any) -> bool:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__") or len(value) != 2:
        return False
    return not hasattr(value, "columns")


def _edges(edges: Any) -> Iterable[Any]:
    if isinstance(edges, (str, Path, Mapping, Table)) or hasattr(edges, "columns"):
        return list(zip(*read_columns(edges, _EDGE_COLUMNS), strict=True))
    remedy = "write [('a', 'b', 120.0), ...]"
    return listed(edges, "roads", "a list of (name, name, metres)", InputError, remedy)


def _number(value: Any) -> Any:
    """A cell of a text file as the number it says; anything else as it is."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value
