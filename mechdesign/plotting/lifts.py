"""What each outcome does to the belief in each symbol, with the bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..prior import Prior
from ..privacy.differential import LDP
from ..privacy.notion import PrivacyNotion, as_notions
from ..privacy.pointwise import ALIP, LIP, PMC, PML, log_lift
from ..solve.designing import Design
from ..theory.conversions import implications
from .items import kernel_and_prior
from .style import INK, MARKERS, NORMAL, PALETTE, fit_figure, legend_beside, new_axes
from .ticks import brief, mark_edge, name_ticks, plain

Array = NDArray[np.float64]

# Symbols up to this many have a colour, a marker and a name each.
_NAMED = len(PALETTE)
_LINES = ("--", ":", "-.", (0, (1, 1)))
# Width of what belongs to one outcome.
_WIDTH = 0.7


def plot_lifts(item: Any, prior: Any = None, privacy: Any = None, ax: Any = None) -> Any:
    """Lifts log P(x|y)/P(x) of all symbols at each outcome, in nats; returns the axes.

    Bounds on the lifts (PML above, PMC below, LIP and ALIP on both sides) are lines. LDP is a band
    at each outcome, from the smallest lift up to ε more: all lifts must lie in it. Of other notions
    the bounds are drawn that follow for the lifts by published results, if any do. A symbol that
    an outcome rules out is drawn at the marked edge below. Outcomes that cannot occur are left out.

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
    mechanism, known = kernel_and_prior(item, prior)
    if privacy is None and isinstance(item, Design):
        privacy = item.notions
    notions = () if privacy is None else as_notions(privacy)
    q = mechanism.output_distribution(known)
    used = np.flatnonzero(q > 0)
    lifts = log_lift(mechanism.kernel, known)[:, used]
    symbols = [known.labels[x] for x in known.support]
    ax = new_axes(ax, (min(0.75 * max(len(used), 3), 7.5), 3.2))
    lines = [line for notion in notions for line in _lines(notion, known)]
    low, high = _span(lifts, [height for height, _ in lines])
    gone = bool(np.isneginf(lifts).any())
    bottom, _ = mark_edge(ax, low, high, below="ruled out" if gone else "")
    for notion in notions:
        if isinstance(notion, LDP):
            _draw_bands(ax, notion, lifts)
    _draw_points(ax, symbols, np.where(np.isneginf(lifts), bottom, lifts))
    for position, (height, name) in enumerate(lines):
        ax.axhline(height, color=INK, lw=1.3, ls=_LINES[position % len(_LINES)], label=name)
    ax.axhline(0, color=INK, lw=0.8, zorder=1)
    ax.set_xlim(-0.6, len(used) - 0.4)
    ax.grid(visible=False, axis="x")
    shares = [brief(float(v)) for v in q[used]]
    name_ticks(ax, "x", [mechanism.outputs[y] for y in used], shares)
    ax.set_xlabel("output, with its probability", fontsize=NORMAL)
    ax.set_ylabel("log posterior over prior (nats)", fontsize=NORMAL)
    if ax.get_legend_handles_labels()[0]:
        legend_beside(ax)
    return fit_figure(ax)


def _lines(notion: PrivacyNotion, prior: Prior) -> Iterator[tuple[float, str]]:
    """Heights of the finite bounds on lifts, with their names."""
    if isinstance(notion, LDP):
        return
    if isinstance(notion, (PML, PMC, LIP, ALIP)):
        sides = {
            PML: (math.inf, notion.levels[0]),
            PMC: (notion.levels[0], math.inf),
            LIP: (notion.levels[0], notion.levels[0]),
            ALIP: (notion.levels[0], notion.levels[-1]),
        }
        low, high = next(pair for cls, pair in sides.items() if isinstance(notion, cls))
        name = str(notion)
    else:
        low, high = implications(notion, prior)[ALIP].levels
        name = f"implied by {notion}"
    if high < math.inf:
        yield high, f"{name}, above" if low < math.inf else name
    if low < math.inf:
        yield -low, f"{name}, below" if high < math.inf else name


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


def _draw_bands(ax: Any, notion: LDP, lifts: Array) -> None:
    if notion.epsilon == math.inf:
        return
    least = lifts.min(axis=0)
    ok = np.isfinite(least)
    ax.bar(
        np.flatnonzero(ok),
        np.full(int(ok.sum()), notion.epsilon),
        bottom=least[ok],
        width=_WIDTH + 0.15,
        facecolor="0.9",
        edgecolor="0.55",
        lw=0.8,
        zorder=0.7,
        label=f"{notion}: all lifts within a band",
    )


def _draw_points(ax: Any, symbols: list[Any], heights: Array) -> None:
    n, m = heights.shape
    places = np.arange(m)
    shift = (np.arange(n) - (n - 1) / 2) * (_WIDTH / max(n, 2))
    if n <= _NAMED:
        for i, label in enumerate(symbols):
            ax.plot(
                places + shift[i],
                heights[i],
                linestyle="",
                marker=MARKERS[i],
                color=PALETTE[i],
                markersize=5.5,
                label=plain(label),
                zorder=3,
            )
        return
    ax.plot(
        (places[None, :] + shift[:, None]).ravel(),
        heights.ravel(),
        linestyle="",
        marker="o",
        color=PALETTE[0],
        markersize=2.5,
        label=f"each of {n} symbols",
        zorder=3,
    )
