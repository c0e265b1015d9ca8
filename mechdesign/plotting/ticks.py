"""Tick labels: names and numbers along an axis, as many as fit, never over one another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ..labels import Label, cut, one_line, short_names
from .glyphs import families_for, no_glyph_warnings
from .style import INK, PALE, SMALL

# Longest name in characters, beside rows and under columns.
_LONGEST = 18
# Height of a line of text, and the gap between two names, in points.
_LINE, _GAP = SMALL * 1.3, 4.0


def plain_name(label: Label, width: int = _LONGEST) -> str:
    """A label in one line of at most ``width`` characters, with no mathematics in it.

    Long labels keep both ends, as those that begin alike often end differently.
    """
    return cut(one_line(label), width).replace("$", r"\$")


def plain_names(labels: Sequence[Label], width: int = _LONGEST) -> list[str]:
    """Labels as :func:`plain_name` ones; where some would look alike, what all begin with goes."""
    return [name.replace("$", r"\$") for name in short_names(labels, width)]


def short_probability(value: float) -> str:
    """A probability with at most three decimals; 0 and 1 only for exactly 0 and 1."""
    if 0 < value < 0.0005:
        return f"{value:.0e}".replace("e-0", "e-")
    if 0.9995 < value < 1:
        return "≈1"
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _text_width(text: str) -> float:
    """Width of a line of small text in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    if not text:
        return 0.0
    properties = FontProperties(size=SMALL, family=families_for(text))
    with no_glyph_warnings():
        width, _, _ = TextToPath().get_text_width_height_descent(text, properties, ismath=False)
    return float(width)


def step_of(ax: Any, axis: str, count: int) -> float:
    """Points from one of ``count`` names to the next along an axis, ``"x"`` or ``"y"``."""
    box, figure = ax.get_position(), ax.figure
    inches = figure.get_size_inches() if hasattr(figure, "get_size_inches") else None
    if inches is None:  # a part of a figure
        whole = figure.get_figure(root=True) if hasattr(figure, "get_figure") else figure.figure
        inches = whole.get_size_inches()
        part = figure.bbox
        inches = inches * (part.width / whole.bbox.width, part.height / whole.bbox.height)
    return 72 * (box.width * inches[0] if axis == "x" else box.height * inches[1]) / count


def name_ticks(
    ax: Any, axis: str, labels: Sequence[Label], notes: Sequence[str] | None = None
) -> None:
    """Name the places 0, 1, … of an axis, ``"x"`` or ``"y"``, with a short note each.

    Under columns the names are turned upright where they would touch; where even that is too dense,
    every second (third, …) place is named.
    """
    names = plain_names(labels)
    notes = list(notes) if notes is not None else [""] * len(names)
    step = step_of(ax, axis, len(names))
    texts = [f"{name}  {note}".rstrip() for name, note in zip(names, notes, strict=True)]
    if axis == "y":
        _set(ax.yaxis, texts, step, 0)
        return
    widest = max(_text_width(line) for line in (*names, *notes))
    if widest + _GAP <= step:
        _set(
            ax.xaxis,
            [f"{name}\n{note}".rstrip() for name, note in zip(names, notes, strict=True)],
            math.inf,
            0,
        )
    else:
        _set(ax.xaxis, texts, step, 90)


def name_outcomes(ax: Any, labels: Sequence[Label], probabilities: Iterable[float]) -> None:
    """Name the outcomes at 0, 1, … of the horizontal axis, each with its probability."""
    ax.set_xlim(-0.6, len(labels) - 0.4)
    ax.grid(visible=False, axis="x")
    name_ticks(ax, "x", labels, [short_probability(float(v)) for v in probabilities])
    ax.set_xlabel("output, with its probability")


def _set(axis: Any, texts: list[str], step: float, rotation: float) -> None:
    every = max(1, math.ceil(_LINE / step))
    places = range(0, len(texts), every)
    axis.set_ticks(
        list(places), [texts[i] for i in places], rotation=rotation, fontsize=SMALL, color=INK
    )
    axis.set_tick_params(length=0 if every == 1 else 3)


def mark_infinity(ax: Any, low: float, high: float, *, below: str = "", above: str = "") -> Any:
    """Set vertical limits around finite values, with shaded strips beyond them for infinite ones.

    ``below`` and ``above`` name the strips; an empty name leaves a strip out. Returns the heights
    at which to draw −∞ and ∞.
    """
    from matplotlib.ticker import MaxNLocator

    span = high - low
    bottom, top = low - 0.11 * span, high + 0.11 * span
    numbers = MaxNLocator(nbins=7, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    inside = [float(t) for t in numbers if low - 1e-9 * span <= t <= high + 1e-9 * span]
    ticks = [(t, f"{t:g}") for t in inside]
    limits = [low - 0.04 * span, high + 0.04 * span]
    for place, name, side in ((bottom, below, 0), (top, above, 1)):
        if not name:
            continue
        ticks = [(t, s) for t, s in ticks if abs(t - place) > 0.07 * span]
        ticks.append((place, name))
        limits[side] = place + (0.06 * span if side else -0.06 * span)
        inner = place - (0.05 * span if side else -0.05 * span)
        ax.axhspan(inner, limits[side], facecolor="0.93", edgecolor="none", zorder=0)
        ax.axhline(inner, color=PALE, lw=0.8, ls="--", zorder=0.5)
    ax.set_ylim(*limits)
    ax.yaxis.set_ticks([t for t, _ in ticks], [s for _, s in ticks], fontsize=SMALL)
    return bottom, top
