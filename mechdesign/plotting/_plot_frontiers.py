"""Frontiers of utility against what is matched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._compare.comparison import (
    MATCHED_BY,
    RISK_IN_WORDS,
    Comparison,
    FrontierPoint,
    asks_reports,
)
from ..errors import InputError, UnknownNameError
from .style import (
    INK,
    NORMAL,
    PALE,
    fit_figure,
    legend_beside,
    load_pyplot,
    new_axes,
    series_style,
)

#: What can be drawn upwards, in words.
QUANTITIES = {
    "value": "utility",
    "risk": RISK_IN_WORDS,
    "kept": "share of what can be gained",
    "loss": "expected loss",
    "epsilon": "level ε (nats)",
    "achieved_pml": "achieved PML level (nats)",
    "achieved_ldp": "achieved LDP level (nats)",
    "implied_ldp": "implied LDP level (nats)",
    "mutual_information": "mutual information (nats)",
}
_MARKERS = 12
# Quantities with a proven bound on them.
_BOUNDS = {"value": "bound", "kept": "kept_bound", "risk": "least_risk"}
# Over fewer decades a logarithmic axis has numbers at 2 and 5 of each, too.
_FEW_DECADES = 2.5


def plot_frontiers(comparison: Comparison, ax: Any = None, quantity: str | None = None) -> Any:
    """One line per notion against what the notions are matched by; returns the axes.

    A shade between a value and its proven bound shows where an optimum is not known to the last
    digit. Infinite numbers are drawn at a dashed edge marked ∞. The risks of estimates stand on
    a logarithmic axis, with that of an open survey as a dotted line.

    Parameters
    ----------
    comparison : from :func:`mechdesign.compare`
    ax : matplotlib axes, optional
        A new figure when left out. A comparison of several utilities and priors has a panel for
        each pair, utilities down and priors across, and takes and returns an array of axes.
    quantity : what is drawn upwards
        ``"value"`` when left out, ``"risk"`` for estimates (the squared error times the number of
        reports), ``"achieved_pml"`` for designs of equal loss; also ``"kept"``,
        ``"loss"``, ``"epsilon"``, ``"achieved_ldp"``, ``"implied_ldp"``, ``"mutual_information"``.

    Raises
    ------
    InputError
        For a comparison without points, an unknown quantity or too few axes.
    MechdesignError
        When matplotlib is not installed.
    """
    if not isinstance(comparison, Comparison):
        raise InputError(
            "picture of frontiers",
            expected="the result of a comparison",
            got=type(comparison).__name__,
            remedy="pass what md.compare returned",
        )
    if quantity is not None and (not isinstance(quantity, str) or quantity not in QUANTITIES):
        raise UnknownNameError("quantity of a plot", quantity, QUANTITIES)
    others = [name for name, goal in comparison.utilities.items() if not asks_reports(goal)]
    if quantity == "risk" and others:
        raise InputError(
            "picture of risks",
            expected="utilities of estimates alone",
            got=others[0],
            remedy="leave the quantity out, or select() the utility of estimates",
        )
    if not comparison.points:
        raise InputError(
            "comparison",
            expected="at least one point",
            got="none",
            remedy="; ".join(comparison.verdict) or "compare at other levels",
        )
    rows, columns = len(comparison.utilities), len(comparison.priors)
    if rows * columns == 1:
        _draw_panel(comparison, panel := new_axes(ax), quantity)
        legend_beside(panel)
        return fit_figure(panel)
    grid = _grid(ax, rows, columns)
    for i, utility in enumerate(comparison.utilities):
        for j, prior in enumerate(comparison.priors):
            panel = new_axes(grid[i, j])
            _draw_panel(comparison.select(prior=prior, utility=utility), panel, quantity)
            panel.set_title(f"{utility}, {prior}" if columns > 1 else utility, fontsize=NORMAL)
            if panel.get_ylabel().startswith("utility: "):
                panel.set_ylabel("utility")
            if i + 1 < rows:
                panel.set_xlabel("")
            if j:
                panel.set_ylabel("")
    legend_beside(grid[0, columns - 1])
    return grid


def _grid(ax: Any, rows: int, columns: int) -> Any:
    if ax is None:
        size = (1.5 + 4.0 * columns, 0.6 + 2.9 * rows)
        return load_pyplot().subplots(
            rows, columns, figsize=size, squeeze=False, layout="constrained"
        )[1]
    grid = np.array(ax, dtype=object)
    if grid.size != rows * columns:
        raise InputError(
            "ax of a comparison with several panels",
            expected=f"an array of {rows} × {columns} axes",
            got=f"{grid.size}",
            remedy="leave it out, or select() one prior and one utility",
        )
    return grid.reshape(rows, columns)


def _draw_panel(part: Comparison, ax: Any, asked: str | None) -> None:
    quantity = asked or _usual(part)
    targets = [point.target for point in part]
    heights = [_height(point, quantity) for point in part]
    right, top = _edge(targets), _edge(heights)
    for position, name in enumerate(part.notions):
        points = sorted((p for p in part if p.notion == name), key=lambda p: p.target)
        if not points:
            continue
        x = np.minimum([p.target for p in points], right)
        y = np.minimum([_height(p, quantity) for p in points], top)
        style = series_style(position)
        every = max(1, -(-len(points) // _MARKERS))
        # Markers of different lines stand beside each other where the lines run together.
        ax.plot(
            x, y, label=name, markersize=4.5, lw=1.4, markevery=(position % every, every), **style
        )
        if quantity in _BOUNDS:
            above = [_height(p, _BOUNDS[quantity]) for p in points]
            ax.fill_between(x, y, above, color=style["color"], alpha=0.25, lw=0)
    if quantity == "risk" and all(height > 0 for height in heights):
        _mark_open_survey(ax, part)
        _use_logarithms(ax)
    ax.set_xlabel(MATCHED_BY[part.match])
    ax.set_ylabel(_title(part, quantity))
    if math.inf in heights:
        _mark_edge(ax.yaxis, ax.axhline, top, heights)
    if math.inf in targets:
        _mark_edge(ax.xaxis, ax.axvline, right, targets)


def _usual(part: Comparison) -> str:
    """What is drawn of one utility where nothing is named."""
    if part.match == "loss":
        return "achieved_pml"
    return "risk" if all(map(asks_reports, part.utilities.values())) else "value"


def _mark_open_survey(ax: Any, part: Comparison) -> None:
    """Where estimates are without privacy; the range of the axis shows it."""
    point = next(iter(part))
    assert point.risk is not None
    ax.axhline(point.risk * point.kept, color=INK, lw=1, ls=":", zorder=0, label="open survey")


def _use_logarithms(ax: Any) -> None:
    """A logarithmic axis upwards, with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    ax.set_yscale("log")
    low, high = ax.get_ylim()
    few = math.log10(high / low) < _FEW_DECADES
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _title(part: Comparison, quantity: str) -> str:
    utility = next(iter(part.utilities))
    if quantity == "value":
        return f"utility: {utility}"
    unit = f" of {utility}" if quantity in ("loss", "kept") else ""
    return QUANTITIES[quantity] + unit


def _height(point: FrontierPoint, quantity: str) -> float:
    return float(getattr(point, quantity))


def _edge(values: Sequence[float]) -> float:
    """Where infinite values are drawn: a little beyond the finite ones."""
    if math.inf not in values:
        return math.inf
    finite = [v for v in values if v < math.inf]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    return high + 0.12 * (high - low if high > low else max(abs(high), 1.0))


def _mark_edge(axis: Any, line: Any, edge: float, values: Sequence[float]) -> None:
    """A dashed line at the edge, and a tick ∞ in place of those near it."""
    line(edge, color=PALE, lw=1, ls="--", zorder=0)
    finite = [v for v in values if v < math.inf]
    top = max(finite, default=0.0)
    ticks = [t for t in axis.get_majorticklocs() if min(finite, default=0.0) <= t <= top]
    span = edge - min(finite, default=0.0)
    ticks = [t for t in ticks if edge - t > 0.08 * span]
    axis.set_ticks([*ticks, edge], [*(f"{t:g}" for t in ticks), "∞"])
