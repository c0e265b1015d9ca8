"""Options of the two charts, as plain values for ECharts.

Colours are those of Okabe and Ito, told apart by markers, dashes and patterns as well. Text that a
visitor has typed enters as values only, and tooltips are drawn as plain text, so that no label can
be taken for HTML.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..labels import shorten
from ..views.html import number
from .markup import MANY
from .results import LEVELS, Curve, Result, ValueRange

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("circle", "rect", "triangle", "diamond", "roundRect", "pin", "arrow")
DASHES = ("solid", "dashed", "dotted", "solid", "dashed", "dotted", "solid")
#: Up to so many symbols each has a bar of its own colour and pattern at every outcome.
MOST_BARS = 7
# Most characters of a name that is written level, and aslant.
_LEVEL, _SLANTED = 24, 14
_INK, _FAINT = "#333333", "#6b6b6b"
# The fonts of the page, by name: widths of text are measured with them.
_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'
_TEXT = {"fontFamily": _FONT, "color": _INK, "fontSize": 12}
_TOOLTIP = {"renderMode": "richText", "confine": True, "textStyle": _TEXT}


def lifts_options(result: Result) -> dict[str, Any]:
    """How far each outcome moves each symbol: log posterior over prior, with the bounds drawn.

    Up to :data:`MOST_BARS` symbols are bars side by side; more are dots on one line per outcome. A
    symbol that an outcome rules out ends at the bottom of the chart in a triangle.
    """
    mechanism, prior = result.design.mechanism, result.report.prior
    used = np.flatnonzero(mechanism.output_distribution(prior) > 0)
    density = mechanism.information_density(prior)[:, used]
    bounds = _bounds(result)
    floor, top = _range(density, bounds)
    numbered = len(used) > MANY
    outcomes = [shorten(mechanism.outputs[j], _LEVEL) for j in used]
    ticks = [str(k + 1) for k in range(len(used))] if numbered else outcomes
    if _turn(ticks):  # aslant they reach to the left, where there is little room
        short = [shorten(mechanism.outputs[j], _SLANTED) for j in used]
        ticks = short if len(set(short)) == len(set(ticks)) else ticks
    symbols = [shorten(label, _LEVEL) for label in mechanism.inputs]
    few = len(symbols) <= MOST_BARS
    series = (
        [_bars(symbols[i], row, i, floor) for i, row in enumerate(density)]
        if few
        else _dots(symbols, outcomes, density, floor)
    )
    series[0]["markLine"] = _bound_lines(bounds)
    about = "; ".join(f"{name} at {height:.3g} nats" for name, height in bounds)
    return {
        "animation": False,
        "textStyle": _TEXT,
        "color": list(COLOURS),
        "aria": {
            "enabled": True,
            "label": {
                "description": "Chart of the log of posterior over prior for each symbol at each "
                f"outcome. Bounds drawn: {about or 'none'}. The numbers are in the table below."
            },
            "decal": {"show": few},
        },
        "tooltip": {**_TOOLTIP, "trigger": "item"},
        "legend": {"show": few, "type": "scroll", "top": 0, "textStyle": _TEXT},
        "grid": {"left": 58, "right": 10, "top": 34 if few else 12, "bottom": _room(ticks)},
        "xAxis": {
            "type": "category",
            "data": ticks,
            "name": "outcome, numbered as above" if numbered else "outcome",
            "nameLocation": "middle",
            "nameGap": _room(ticks) - 18,
            "axisLabel": {
                "interval": "auto" if numbered else 0,
                "rotate": _turn(ticks),
                "color": _INK,
            },
            "axisLine": {"onZero": False},
            "axisTick": {"show": False},
        },
        "yAxis": {
            "type": "value",
            "min": floor,
            "max": top,
            "name": "log posterior/prior (nats)",
            "nameLocation": "middle",
            "nameGap": 42,
            "axisLabel": {"color": _INK, "showMinLabel": False, "showMaxLabel": False},
        },
        "series": series,
    }


def _bounds(result: Result) -> list[tuple[str, float]]:
    """The tightest bounds on the density that the required notions give, with their names."""
    up: list[tuple[float, str]] = []
    down: list[tuple[float, str]] = []
    for chosen in result.settings.notions:
        if not chosen.required:
            continue
        if chosen.name in ("pml", "lip", "alip"):
            up.append((chosen.levels[-1], chosen.title))
        if chosen.name in ("pmc", "lip", "alip"):
            down.append((chosen.levels[0], chosen.title))
    low, high = result.implied["alip"].levels
    up.append((high, "implied"))
    down.append((low, "implied"))
    (high, above), (low, below) = (min(c, key=lambda pair: pair[0]) for c in (up, down))
    if high == low == 0:
        return [(above, 0.0)]
    found = [(above, high), (below, -low)]
    return [(name, height) for name, height in found if math.isfinite(height)]


def _range(density: np.ndarray, bounds: Sequence[tuple[str, float]]) -> tuple[float, float]:
    """Ends of the axis: around all finite numbers, with room for what is ruled out."""
    finite = density[np.isfinite(density)]
    values = [*finite.tolist(), *(height for _, height in bounds), 0.0]
    low, high = min(values), max(values)
    width = max(high - low, 0.2)
    ruled_out = bool(np.isneginf(density).any())
    return low - width * (0.25 if ruled_out else 0.12), high + width * 0.12


def _bars(name: str, row: np.ndarray, place: int, floor: float) -> dict[str, Any]:
    data = []
    for value in row.tolist():
        ruled_out = math.isinf(value)
        item: dict[str, Any] = {"value": round(floor if ruled_out else value, 6)}
        if ruled_out:
            label = {"show": True, "position": "insideBottom", "formatter": "▼", "color": _INK}
            item |= {"label": label, "itemStyle": {"opacity": 0.45}}
        data.append(item)
    return {
        "id": f"symbol {place}",
        "name": name,
        "type": "bar",
        "data": data,
        "barMaxWidth": 26,
        "itemStyle": {"color": COLOURS[place]},
    }


def _dots(
    symbols: Sequence[str], outcomes: Sequence[str], density: np.ndarray, floor: float
) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = []
    ruled_out: list[dict[str, Any]] = []
    for i, symbol in enumerate(symbols):
        for j, outcome in enumerate(outcomes):
            value = float(density[i, j])
            if math.isinf(value):
                name = f"{symbol} is ruled out by {outcome}"
                ruled_out.append({"name": name, "value": [j, floor]})
            else:
                text = f"{symbol} at {outcome}: {number(value, 4)}"
                kept.append({"name": text, "value": [j, round(value, 6)]})
    common = {"type": "scatter", "tooltip": {"formatter": "{b}"}}
    return [
        {
            **common,
            "id": "kept",
            "name": "symbols",
            "data": kept,
            "symbol": "circle",
            "symbolSize": 7,
            "itemStyle": {"color": COLOURS[0], "opacity": 0.45},
        },
        {
            **common,
            "id": "ruled out",
            "name": "ruled out",
            "data": ruled_out,
            "symbol": "triangle",
            "symbolRotate": 180,
            "symbolSize": 9,
            "symbolOffset": [0, -6],
            "itemStyle": {"color": COLOURS[1], "opacity": 0.8},
        },
    ]


def _bound_lines(bounds: Sequence[tuple[str, float]]) -> dict[str, Any]:
    # Names stand outside the bounds, where no bar reaches.
    lines = [
        _named_line(
            height,
            f"{name} {number(height, 3)}",
            "insideEndTop" if height > 0 else "insideEndBottom",
        )
        for name, height in bounds
    ]
    return _lines(lines, _INK, "dashed", 1.5)


def _named_line(value: float, name: str, position: str) -> dict[str, Any]:
    return {"yAxis": value, "name": name, "label": {"position": position}}


def _lines(lines: Sequence[dict[str, Any]], colour: str, dash: str, width: float) -> dict[str, Any]:
    return {
        "silent": True,
        "symbol": "none",
        "lineStyle": {"color": colour, "type": dash, "width": width},
        "label": {"color": colour, "formatter": "{b}", "distance": [4, 7]},
        "data": list(lines),
    }


def _room(names: Sequence[str]) -> int:
    """Height below the axis for the names of the outcomes."""
    longest = max(map(len, names), default=1)
    return 46 if _turn(names) == 0 else min(34 + 5 * longest, 140)


def _turn(names: Sequence[str]) -> int:
    short = max(map(len, names), default=0) <= 2
    return 0 if short or sum(len(name) + 3 for name in names) <= 48 else 40


def frontier_options(
    curves: Sequence[Curve], ends: ValueRange | None, result: Result | None
) -> dict[str, Any]:
    """Utility against level, a line for each notion; the design as a large diamond.

    ``ends`` are drawn as lines when known; ``result`` is ``None`` while the design is not.
    """
    series = [_line(curve, place) for place, curve in enumerate(curves)]
    series.append(_design_marks(result))
    series[-1]["markLine"] = _end_lines(ends)
    values = [p.value for curve in curves for p in curve.points]
    names = ", ".join(curve.label for curve in curves)
    return {
        "animation": False,
        "textStyle": _TEXT,
        "aria": {
            "enabled": True,
            "label": {
                "description": f"Chart of the best utility by level for {names or 'no notion'}. "
                "The numbers are in the table below."
            },
        },
        "tooltip": {**_TOOLTIP, "trigger": "axis", "axisPointer": {"snap": True}},
        "legend": {
            "type": "scroll",
            "top": 0,
            "itemWidth": 34,
            "textStyle": _TEXT,
            "data": [curve.label for curve in curves],
        },
        "grid": {"left": 62, "right": 14, "top": 36, "bottom": 46},
        "xAxis": {
            "type": "log",
            "min": LEVELS[0],
            "max": LEVELS[-1],
            "name": "level (nats)",
            "axisLine": {"onZero": False},
            "nameLocation": "middle",
            "nameGap": 28,
            "axisLabel": {"color": _INK},
            "splitLine": {"show": True, "lineStyle": {"color": "#eeeeee"}},
        },
        "yAxis": {
            "type": "value",
            "scale": True,
            "min": _value_end(values, ends, False),
            "max": _value_end(values, ends, True),
            "name": "best utility",
            "nameLocation": "middle",
            "nameGap": 44,
            "axisLabel": {"color": _INK, "showMinLabel": False, "showMaxLabel": False},
            "splitLine": {"lineStyle": {"color": "#eeeeee"}},
        },
        "series": series,
    }


def _line(curve: Curve, place: int) -> dict[str, Any]:
    k = place % len(COLOURS)
    return {
        "id": f"curve {place}",
        "name": curve.label,
        "type": "line",
        "data": [[point.level, float(f"{point.value:.7g}")] for point in curve.points],
        "symbol": MARKERS[k],
        # Later curves are slighter, so that those below show where they coincide.
        "symbolSize": max(10 - 1.5 * place, 5),
        "color": COLOURS[k],
        "lineStyle": {"width": max(3 - 0.4 * place, 1.4), "type": DASHES[k]},
    }


def _design_marks(result: Result | None) -> dict[str, Any]:
    data = []
    if result is not None:
        for chosen in result.settings.notions:
            at = chosen.levels[-1]
            if chosen.required and LEVELS[0] <= at <= LEVELS[-1]:
                data.append([at, result.design.value])
    return {
        "id": "design",
        "name": "the design",
        "type": "scatter",
        "data": data,
        "symbol": "diamond",
        "symbolSize": 17,
        "z": 5,
        "color": "#F0E442",
        "itemStyle": {"borderColor": "#000000", "borderWidth": 1.5},
    }


def _end_lines(ends: ValueRange | None) -> dict[str, Any]:
    lines = []
    if ends is not None:
        lines = [
            _named_line(ends.uninformative, "uninformative", "insideEndBottom"),
            _named_line(ends.full_disclosure, "full disclosure", "insideStartTop"),
        ]
    return _lines(lines, _FAINT, "dotted", 1)


def _value_end(values: Sequence[float], ends: ValueRange | None, upper: bool) -> float | None:
    known = [*values, *((ends.uninformative, ends.full_disclosure) if ends is not None else ())]
    if not known:
        return None
    width = max(known) - min(known)
    if width <= 1e-9 * max(map(abs, known)):
        width = max(1.0, abs(known[0]))
    # Below there is room for a name that no curve reaches.
    return max(known) + 0.06 * width if upper else min(known) - 0.1 * width
