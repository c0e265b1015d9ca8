"""Options of the two charts, as plain values for ECharts.

Colours are those of Okabe and Ito, told apart by markers, dashes and patterns as well. Text that a
visitor has typed enters as values only, and tooltips are drawn as plain text, so that no label can
be taken for HTML.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..labels import short_names, shorten
from ..views.html import number
from .markup import MANY, RISK
from .results import LEVELS, Curve, Result, ValueRange

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("circle", "rect", "triangle", "diamond", "roundRect", "pin", "arrow")
DASHES = ("solid", "dashed", "dotted", "solid", "dashed", "dotted", "solid")
#: Up to so many symbols each has a bar of its own colour and pattern at every outcome.
MOST_BARS = 7
# Most characters of a name that is written level, and aslant.
_LEVEL, _SLANTED = 24, 14
# Height of a title of two lines, and characters that have room in each.
_TITLE, _TITLE_WIDTH = 36, 46
_INK, _FAINT = "#333333", "#6b6b6b"
# The fonts of the page, by name: widths of text are measured with them.
_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'
_TEXT = {"fontFamily": _FONT, "color": _INK, "fontSize": 12}


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
    outcomes = short_names([mechanism.outputs[j] for j in used], _LEVEL)
    ticks = [str(k + 1) for k in range(len(used))] if numbered else outcomes
    if _turn(ticks):  # aslant they reach to the left, where there is little room
        short = [shorten(mechanism.outputs[j], _SLANTED) for j in used]
        ticks = short if len(set(short)) == len(set(ticks)) else ticks
    symbols = short_names(mechanism.inputs, _LEVEL)
    few = len(symbols) <= MOST_BARS
    if few:
        series = [_bars(symbols[i], row, i, floor) for i, row in enumerate(density)]
    else:
        series = _dots(symbols, outcomes, density, floor)
    # Names stand outside the bounds, where no bar reaches.
    lines = [
        (f"{name} {number(height, 3)}", height, f"insideEnd{'Top' if height > 0 else 'Bottom'}")
        for name, height in bounds
    ]
    series[0]["markLine"] = _lines(lines, _INK, "dashed", 1.5)
    about = "; ".join(f"{name} at {height:.3g} nats" for name, height in bounds)
    axis_name = "outcome, numbered as above" if numbered else "outcome"
    options = _options(
        "Chart of the log of posterior over prior for each symbol at each outcome. Bounds drawn: "
        f"{about or 'none'}.",
        _axis("category", axis_name, _room(ticks) - 18, data=ticks, axisTick={"show": False}),
        _axis("value", "log posterior/prior (nats)", 42, min=floor, max=top),
        series,
    )
    options["xAxis"]["axisLabel"] |= {"interval": "auto" if numbered else 0, "rotate": _turn(ticks)}
    options["aria"]["decal"] = {"show": few}
    options["tooltip"]["trigger"] = "item"
    options["legend"]["show"] = few
    options["grid"] = {"left": 58, "right": 10, "top": 34 if few else 12, "bottom": _room(ticks)}
    return options | {"color": list(COLOURS)}


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
    below = {"show": True, "position": "insideBottom", "formatter": "▼", "color": _INK}
    ruled_out = {"value": round(floor, 6), "label": below, "itemStyle": {"opacity": 0.45}}
    return {
        "id": f"symbol {place}",
        "name": name,
        "type": "bar",
        "data": [ruled_out if math.isinf(v) else {"value": round(v, 6)} for v in row.tolist()],
        "barMaxWidth": 26,
        "itemStyle": {"color": COLOURS[place]},
    }


def _dots(
    symbols: Sequence[str], outcomes: Sequence[str], density: np.ndarray, floor: float
) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = []
    ruled_out: list[dict[str, Any]] = []
    for (i, j), value in np.ndenumerate(density):
        if math.isinf(value):
            name = f"{symbols[i]} is ruled out by {outcomes[j]}"
            ruled_out.append({"name": name, "value": [j, floor]})
        else:
            name = f"{symbols[i]} at {outcomes[j]}: {number(value, 4)}"
            kept.append({"name": name, "value": [j, round(float(value), 6)]})
    common = {"type": "scatter", "tooltip": {"formatter": "{b}"}}
    circle = {"symbol": "circle", "symbolSize": 7}
    triangle = {"symbol": "triangle", "symbolRotate": 180, "symbolSize": 9, "symbolOffset": [0, -6]}
    return [
        common
        | circle
        | {"id": "kept", "name": "symbols", "data": kept}
        | {"itemStyle": {"color": COLOURS[0], "opacity": 0.45}},
        common
        | triangle
        | {"id": "ruled out", "name": "ruled out", "data": ruled_out}
        | {"itemStyle": {"color": COLOURS[1], "opacity": 0.8}},
    ]


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
    asks = next((curve.asks for curve in curves if curve.asks), "")
    is_risk = bool(asks)
    marks = _design_marks(result, is_risk)
    places = ("insideEndBottom", "insideStartTop")
    last = "open survey" if is_risk else "full disclosure"
    lines = [
        line
        for line in zip(("uninformative", last), ends or (), places, strict=False)
        if math.isfinite(line[1])
    ]
    marks["markLine"] = _lines(lines, _FAINT, "dotted", 1)
    values = [p.value for curve in curves for p in curve.points] + [line[1] for line in lines]
    low, high = _risk_ends(values) if is_risk else _value_ends(values)
    # A risk of nothing, of a secret that is known, has no logarithm.
    upwards = {"type": "log"} if is_risk and min(values, default=0) > 0 else {"type": "value"}
    names = [curve.label for curve in curves]
    grid = {"lineStyle": {"color": "#eeeeee"}}
    options = _options(
        f"Chart of the {f'least {RISK} for {asks}' if is_risk else 'best utility'} by level for "
        f"{', '.join(names) or 'no notion'}.",
        _axis(
            "log",
            "level (nats)",
            28,
            min=LEVELS[0],
            max=LEVELS[-1],
            splitLine={"show": True, **grid},
        ),
        _axis(
            "value",
            f"least {RISK}" if is_risk else "best utility",
            44,
            scale=True,
            min=low,
            max=high,
            splitLine=grid,
        )
        | upwards,
        [*(_line(curve, place) for place, curve in enumerate(curves)), marks],
    )
    options["tooltip"] |= {"trigger": "axis", "axisPointer": {"snap": True}}
    options["legend"] |= {"itemWidth": 34, "data": names}
    if is_risk:
        options["title"] = _title(f"for {asks}")
        options["legend"]["top"] = _TITLE
    top = 36 + (_TITLE if is_risk else 0)
    return options | {"grid": {"left": 62, "right": 14, "top": top, "bottom": 46}}


def _title(text: str) -> dict[str, Any]:
    """What the numbers of a chart are about, on two lines above it at most."""
    lines = textwrap.wrap(text, _TITLE_WIDTH, max_lines=2, placeholder=" …")
    style = {"fontFamily": _FONT, "color": _INK, "fontSize": 12, "fontWeight": "normal"}
    return {"text": "\n".join(lines), "left": "center", "top": 0, "textStyle": style}


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


def _design_marks(result: Result | None, is_risk: bool) -> dict[str, Any]:
    data = []
    if result is not None and result.settings.shows_risk == is_risk:
        for chosen in result.settings.notions:
            at = chosen.levels[-1]
            if chosen.required and LEVELS[0] <= at <= LEVELS[-1]:
                data.append([at, result.settings.shown(result.design.value)])
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


def _value_ends(values: Sequence[float]) -> tuple[float | None, float | None]:
    if not values:
        return None, None
    low, high = min(values), max(values)
    width = high - low
    if width <= 1e-9 * max(map(abs, values)):
        width = max(1.0, abs(values[0]))
    return low - 0.1 * width, high + 0.06 * width  # below there is room for a name


def _risk_ends(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Powers of ten around all risks."""
    if min(values, default=0.0) <= 0:
        return _value_ends(values)
    low, high = math.log10(min(values)), math.log10(max(values))
    return 10.0 ** math.floor(low - 0.05), 10.0 ** math.ceil(high + 0.02)


def _options(
    description: str, x: dict[str, Any], y: dict[str, Any], series: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """What both charts share; the description is for screen readers."""
    label = f"{description} The numbers are in the table below."
    x["axisLine"] = {"onZero": False}
    y["axisLabel"] |= {"showMinLabel": False, "showMaxLabel": False}
    return {
        "animation": False,
        "textStyle": _TEXT,
        "aria": {"enabled": True, "label": {"description": label}},
        "tooltip": {"renderMode": "richText", "confine": True, "textStyle": _TEXT},
        "legend": {"type": "scroll", "top": 0, "textStyle": _TEXT},
        "xAxis": x,
        "yAxis": y,
        "series": series,
    }


def _axis(kind: str, name: str, gap: int, **more: Any) -> dict[str, Any]:
    label = {"axisLabel": {"color": _INK}}
    return {"type": kind, "name": name, "nameLocation": "middle", "nameGap": gap} | label | more


def _lines(
    lines: Sequence[tuple[str, float, str]], colour: str, dash: str, width: float
) -> dict[str, Any]:
    """Horizontal lines, each a name, a height and the place of the name."""
    return {
        "silent": True,
        "symbol": "none",
        "lineStyle": {"color": colour, "type": dash, "width": width},
        "label": {"color": colour, "formatter": "{b}", "distance": [4, 7]},
        "data": [{"yAxis": v, "name": n, "label": {"position": at}} for n, v, at in lines],
    }
