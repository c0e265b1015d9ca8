"""The lift of each symbol at each outcome, with the bounds of the notions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..certificate.shape import exact_sides
from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy.notion import PrivacyNotion, as_notions
from ..privacy.pointwise import ALIP
from ..privacy.rows import ConeRows
from ..program.program import Cone
from ..solve._design import Design
from ..theory.conversions import implications
from .coercion import mechanism_and_prior
from .style import DASHES, INK, MANY_POINTS, MARKERS, PALETTE, fit_figure, legend_beside, new_axes
from .ticks import mark_infinity, name_outcomes, plain_names

Array = NDArray[np.float64]

# Symbols up to this many have a colour, a marker and a name each.
_NAMED = len(PALETTE)
# Width of what belongs to one outcome.
_WIDTH = 0.7


def plot_lifts(item: Any, prior: Any = None, privacy: Any = None, ax: Any = None) -> Any:
    """Lifts log P(x|y)/P(x) of all symbols at each outcome, in nats; returns the axes.

    Bounds on the lifts (PML above, PMC below, LIP and ALIP on both sides) are lines. LDP is a band
    at each outcome, from the smallest lift up to ε more: all lifts must lie in it. Other bounds on
    ratios of likelihoods are a bracket at each outcome, for the pair (μ, ν) that comes nearest to
    its bound: from the log lift of ν to the largest log lift that μ may have. For notions that
    bound a sum over outcomes, the bounds are drawn that published results imply for the lifts;
    where none follows the legend says so.

    A symbol that an outcome rules out is drawn in a strip below. Symbols of zero mass are hollow.
    Outcomes that cannot occur are left out.

    Parameters
    ----------
    item : Design, Mechanism or (N, M) array
    prior : Prior or N probabilities
        A design brings its own.
    privacy : notion or list of them, optional
        Whose bounds are drawn; a design brings its own.
    ax : matplotlib axes, optional
        A new figure when left out; an empty figure is drawn on as well.

    Raises
    ------
    PriorError, KernelError, LevelError
        For input that cannot be used.
    MechdesignError
        When matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import mechdesign as md
    >>> axes = md.plot_lifts([[.75, .25], [.25, .75]], [.5, .5], md.LDP(1.2))
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['0', '1', 'LDP(1.2): all lifts within a band']
    >>> matplotlib.pyplot.close("all")
    """
    mechanism, known = mechanism_and_prior(item, prior)
    if privacy is None and isinstance(item, Design):
        privacy = item.notions
    notions = () if privacy is None else as_notions(privacy)
    q = mechanism.output_distribution(known)
    used = np.flatnonzero(q > 0)
    lifts = mechanism.information_density(known)[:, used]
    ax = new_axes(ax, (min(0.75 * max(len(used), 3), 7.5), 3.2))
    drawn = [_bounds_of(notion, mechanism, known, lifts, used) for notion in notions]
    low, high = _span(lifts, [v for one in drawn for v in one.heights])
    rules_out = bool(np.isneginf(lifts).any())
    bottom, _ = mark_infinity(ax, low, high, below="ruled out" if rules_out else "")
    _draw_points(ax, known, np.where(np.isneginf(lifts), bottom, lifts))
    position = 0
    for one in drawn:
        position = _draw_bounds(ax, one, position, (low, high))
    ax.axhline(0, color=INK, lw=0.8, zorder=1)
    name_outcomes(ax, [mechanism.outputs[y] for y in used], q[used])
    ax.set_ylabel("log posterior over prior (nats)")
    if ax.get_legend_handles_labels()[0]:
        legend_beside(ax)
    return fit_figure(ax)


@dataclass(frozen=True)
class _Bounds:
    """The bounds of one notion on the lifts: lines at all outcomes, or intervals at some."""

    name: str
    lines: tuple[tuple[float, str], ...] = ()
    spans: tuple[tuple[int, float, float], ...] = ()
    is_band: bool = False

    @property
    def heights(self) -> list[float]:
        """All ends."""
        ends = [v for _, low, high in self.spans for v in (low, high)]
        return [*ends, *(height for height, _ in self.lines)]


def _bounds_of(
    notion: PrivacyNotion, mechanism: Mechanism, prior: Prior, lifts: Array, used: NDArray[np.intp]
) -> _Bounds:
    name = str(notion)
    asked = notion.constraints(prior)
    if asked is not None and not asked.sums:
        sides = exact_sides(Cone(prior, asked.cone))
        if sides is not None and sides.ratio is None:
            low, high = (
                math.inf if level is None else float(level) for level in (sides.lower, sides.upper)
            )
            return _Bounds(name, _lines(low, high, name))
        if sides is not None and sides.ratio is not None and sides.lower is sides.upper is None:
            least = enumerate(lifts.min(axis=0).tolist())
            width = float(sides.ratio)
            spans = tuple((y, v, v + width) for y, v in least if math.isfinite(v))
            return _Bounds(f"{name}: all lifts within a band", (), spans, True)
        found = [span for part in asked.cone for span in _brackets(part, mechanism, prior, used)]
        return _Bounds(f"{name}: reach of the nearest pair", (), tuple(found))
    low, high = implications(notion, prior)[ALIP].levels
    return _Bounds(name, _lines(low, high, f"implied by {name}"))


def _lines(low: float, high: float, name: str) -> tuple[tuple[float, str], ...]:
    """Heights of the finite bounds −low and high, with their names."""
    both = max(low, high) < math.inf
    lines = []
    if high < math.inf:
        lines.append((high, f"{name}, above" if both else name))
    if low < math.inf:
        lines.append((-low, f"{name}, below" if both else name))
    return tuple(lines)


def _brackets(
    part: ConeRows, mechanism: Mechanism, prior: Prior, used: NDArray[np.intp]
) -> Iterator[tuple[int, float, float]]:
    """At each outcome the pair nearest to its bound: from ν to as far as μ may go."""
    ratios = part.at(mechanism)
    q = mechanism.output_distribution(prior)
    for place, y in enumerate(used.tolist()):
        nearest = ratios.nearest(y)
        if nearest is not None and nearest[0] > 0:
            start = math.log(nearest[0] / float(q[y]))
            yield place, start, start + nearest[1]


def _span(lifts: Array, heights: list[float]) -> tuple[float, float]:
    """Limits around finite lifts, zero and the bounds that are not far beyond them."""
    finite = lifts[np.isfinite(lifts)].tolist()
    low, high = min([0.0, *finite]), max([0.0, *finite])
    reach = 3.0 * max(high - low, 0.5)
    low = min([low, *(h for h in heights if -reach <= h < 0)])
    high = max([high, *(h for h in heights if 0 < h <= reach)])
    if high - low < 1e-9:
        return -0.5, 0.5
    return low, high


def _draw_bounds(ax: Any, one: _Bounds, position: int, limits: tuple[float, float]) -> int:
    """Draw the bounds of one notion; returns the position of the next line style."""
    low, high = limits
    for height, name in one.lines:
        style: dict[str, Any] = {"color": INK, "lw": 1.3, "ls": DASHES[position % len(DASHES)]}
        if low <= height <= high:
            ax.axhline(height, label=name, **style)
            position += 1
        else:
            ax.plot([], [], ls="none", label=f"{name}\n(beyond the picture)")
    if one.spans and one.is_band:
        y, start, end = (np.array(part) for part in zip(*one.spans, strict=True))
        ax.bar(
            y,
            end - start,
            bottom=start,
            width=_WIDTH + 0.15,
            facecolor="0.9",
            edgecolor="0.55",
            lw=0.8,
            zorder=0.7,
            label=one.name,
        )
    elif one.spans:
        style = {"color": INK, "lw": 1.1, "ls": DASHES[position % len(DASHES)]}
        position += 1
        half = _WIDTH / 2 + 0.07
        for k, (place, foot, head) in enumerate(one.spans):
            x = [place - half, place + half, place + half, place - half]
            ax.plot(x, [foot, foot, head, head], label=one.name if not k else None, **style)
    elif not one.lines:
        ax.plot([], [], ls="none", label=f"{one.name.split(':')[0]}\n(bounds no lift)")
    return position


def _draw_points(ax: Any, prior: Prior, heights: Array) -> None:
    n, m = heights.shape
    places = np.arange(m)
    shift = (np.arange(n) - (n - 1) / 2) * (_WIDTH / max(n, 2))
    names = plain_names(prior.labels) if n <= _NAMED else [""] * n
    for i, name in enumerate(names):
        style: dict[str, Any] = {"color": PALETTE[0], "marker": "o", "ms": 2.5}
        if n <= _NAMED:
            style = {"color": PALETTE[i], "marker": MARKERS[i], "ms": 5.5, "label": name}
        if not prior.weights[i]:
            style["markerfacecolor"] = "none"
            if n <= _NAMED:
                style["label"] += ", zero mass"
        style["rasterized"] = n * m > MANY_POINTS
        ax.plot(places + shift[i], heights[i], linestyle="", zorder=3, **style)
    if n > _NAMED:
        dot: dict[str, Any] = {"color": PALETTE[0], "marker": "o", "ms": 2.5, "linestyle": ""}
        ax.plot([], [], label=f"each of {n} symbols", **dot)
        if not prior.has_full_support:
            ax.plot([], [], label="one of zero mass", markerfacecolor="none", **dot)
