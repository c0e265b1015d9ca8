"""Places on a map: shares, reports of one place, and losses of mechanisms against the level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError, LevelError, quote
from ..noise.planar import PLANAR
from ..numeric import float_array
from ..places import Places, of
from ..prior import Prior
from ..solve._design import find_design
from .style import (
    INK,
    MANY_POINTS,
    PALE,
    PALETTE,
    SMALL,
    fit_figure,
    legend_beside,
    new_axes,
    series_style,
)

_WIDEST, _TALLEST = 5.0, 4.5


def plot_places(item: Any, place: Any = None, values: Any = None, ax: Any = None) -> Any:
    """Places of a map with heat: their prior, the reports of one of them, or values of your own.

    North is up and a metre is as long in both directions; nothing is loaded from elsewhere.

    Parameters
    ----------
    item : Design, Prior or Mechanism over places, or Places
    place : name or coordinates of a place, optional
        Draws the probabilities of the reports of this place, which a cross marks.
    values : N numbers, optional
        What is drawn in place of the prior, such as an estimated density.
    ax : matplotlib axes, optional
        A new figure when left out.

    Raises
    ------
    InputError
        For what has no places, an unknown place, or nothing to draw.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import mechdesign as md
    >>> town = md.places.grid((59.30, 18.00, 59.36, 18.12), cells=(2, 3))
    >>> axes = md.plot_places(town.uniform())
    >>> axes.get_xlabel()
    'longitude'
    >>> matplotlib.pyplot.close("all")
    """
    places = item if isinstance(item, Places) else of(item)
    mark = None if place is None else _position(places, place)
    heat, title = _heat(item, places, mark, values)
    plane = places.plane - places.plane.min(axis=0)
    high, wide = np.maximum(plane.max(axis=0) + (places.step or (0.0, 0.0)), 1.0)
    scale = min(_WIDEST / wide, _TALLEST / high)
    ax = new_axes(ax, (max(1.5, wide * scale), max(1.5, high * scale)))
    ax.grid(False)
    top = float(heat.max()) or 1.0
    if places.shape is not None:
        assert places.bounds is not None
        south, west, north, east = places.bounds
        drawn = ax.pcolormesh(
            np.linspace(west, east, places.shape[1] + 1),
            np.linspace(south, north, places.shape[0] + 1),
            heat.reshape(places.shape),
            cmap="Blues",
            vmin=0.0,
            vmax=top,
            edgecolors="white",
            linewidth=0.3,
            rasterized=len(places) > MANY_POINTS,
        )
    else:
        lat, lon = places.chart.T
        for i, j, _ in places.roads or ():
            ax.plot(lon[[i, j]], lat[[i, j]], color=PALE, lw=1, zorder=0)
        drawn = ax.scatter(
            lon, lat, c=heat, cmap="Blues", vmin=0.0, vmax=top, edgecolors=INK, linewidth=0.5, s=40
        )
    if mark is not None:
        lat, lon = places.chart[mark]
        ax.plot([lon], [lat], marker="x", color=PALETTE[1], markersize=8, mew=2)
    ax.ticklabel_format(useOffset=False)
    ax.locator_params(nbins=4)
    ax.set_xlabel("longitude")
    ax.set_ylabel("latitude")
    bar = ax.figure.colorbar(drawn, cax=ax.inset_axes((1.03, 0.0, 0.03, 1.0)))
    bar.set_label(title, fontsize=SMALL, color=INK)
    bar.ax.tick_params(labelsize=SMALL, color=INK)
    bar.outline.set_visible(False)
    return fit_figure(ax)


def _position(places: Places, place: Any) -> int:
    for known in (places.names, places.labels):
        if place in known:
            return known.index(place)
    raise InputError(
        "place",
        expected=f"a name such as {quote(places.names[0])}, or coordinates of a place",
        got=quote(place),
        remedy="see places.names",
    )


def _heat(item: Any, places: Places, mark: int | None, values: Any) -> tuple[Any, str]:
    if values is not None:
        found = float_array(values)
        if found is None or found.shape != (len(places),) or not np.isfinite(found).all():
            raise InputError(
                "values of places",
                expected=f"{len(places)} finite numbers",
                got=quote(values),
                remedy="give one for each place, in their order",
            )
        return np.maximum(found, 0.0), "value"
    kernel = getattr(item, "mechanism", item)
    if mark is not None:
        if not hasattr(kernel, "kernel"):
            raise InputError(
                "reports of a place",
                expected="a design or a mechanism over places",
                got=type(item).__name__,
                remedy="leave place= out, or pass the design",
            )
        position = {label: i for i, label in enumerate(places.labels)}
        position.update({name: i for i, name in enumerate(places.names)})
        found = np.zeros(len(places))
        for y, label in enumerate(kernel.outputs):
            found[position[label]] += kernel.kernel[mark, y]
        return found, f"P(report | {places.names[mark]})"
    prior = item if isinstance(item, Prior) else getattr(item, "prior", None)
    if not isinstance(prior, Prior):
        return np.full(len(places), 1 / len(places)), "share"
    return places.ordered(prior).probabilities, "share of visits"


def plot_place_losses(
    places: Places,
    prior: Prior,
    levels: Sequence[float],
    within: float,
    ax: Any = None,
    kind: str = "metres",
) -> Any:
    """Expected loss against the level: customary noise, the same remapped, and the optimum.

    Every point is a kernel whose level over all pairs of places was checked exactly; that of the
    optimum is certified, and nothing of that level lies below it.

    Parameters
    ----------
    places, prior : Places, and a prior that they made
    levels : nats between places ``within`` metres apart
    kind : {"metres", "squared"}

    Raises
    ------
    InputError, LevelError
        For levels without a meaning, and a prior over other places.
    """
    rows = place_losses(places, prior, levels, within, kind=kind)
    ax = new_axes(ax)
    names = list(dict.fromkeys(name for name, *_ in rows))
    for number, name in enumerate(names):
        points = sorted((level, loss) for other, level, loss in rows if other == name)
        x, y = zip(*points, strict=True)
        style = {**series_style(number // 2 if name != "optimum" else 6)}
        if name != "optimum":
            style["linestyle"] = "--" if name.endswith("remapped") else "-"
        ax.plot(x, y, label=name, markersize=4.5, lw=1.4, **style)
    ax.set_xlabel(f"level (nats within {within:g} m)")
    ax.set_ylabel("expected distance (m)" if kind == "metres" else "expected squared distance (m²)")
    ax.set_ylim(bottom=0)
    legend_beside(ax)
    return fit_figure(ax)


def place_losses(
    places: Places,
    prior: Prior,
    levels: Sequence[float],
    within: float,
    *,
    kind: str = "metres",
) -> list[tuple[str, float, float]]:
    """Name, level and expected loss of each mechanism; see :func:`plot_place_losses`.

    Kernels whose exact check does not say yes are left out, planar noise where there is no grid.
    """
    known = places.ordered(prior)
    found: list[tuple[str, float, float]] = []
    for level in levels:
        noisy = customary_losses(places, known, level, within, kind=kind)
        found += [(name, level, loss) for name, loss in noisy]
        best = find_design(known, places.loss(kind), places.privacy(level, within))
        found.append(("optimum", level, -best.value))
    return found


def customary_losses(
    places: Places, prior: Prior, level: float, within: float, *, kind: str = "metres"
) -> list[tuple[str, float]]:
    """Name and expected loss of every customary mechanism at a level, and of each remapped.

    Kernels whose exact check does not say yes are left out, planar noise where there is no grid,
    and planar geometric noise where it is far longer than a few thousand cells.
    """
    known, notion = places.ordered(prior), places.privacy(level, within)
    found: list[tuple[str, float]] = []
    for name, make in PLANAR.items():
        if places.shape is None and name.startswith("planar"):
            continue
        try:
            noisy = make(places, level, within)
        except LevelError:
            # Levels without a meaning were refused by the first; this one is short of memory.
            if name != "planar geometric":
                raise
            continue
        for shown, kernel in (
            (name, noisy),
            (f"{name}, remapped", places.remap(noisy, known, kind=kind)),
        ):
            if str(notion.check(kernel, known).verdict) == "yes":
                found.append((shown, places.expected_loss(kernel, known, kind)))
    return found
