"""The privacy regions of pointwise maximal leakage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import LevelError, is_iterable
from ..prior import Prior, as_prior
from ..privacy.notion import check_level
from ..privacy.pointwise import pml_regions
from .style import MARKERS, PALETTE, fit_figure, legend_beside, log_axis, new_axes

# A first region below this share of the picture needs a logarithmic axis, which begins and ends
# this factor before the first and after the last level.
_NARROW, _BEFORE = 300.0, 3.0
_MARKED = (PALETTE[1], PALETTE[6], PALETTE[3], PALETTE[4])


def plot_pml_regions(prior: Prior, epsilon: Any = None, ax: Any = None) -> Any:
    """How many symbols one outcome may rule out, by level; returns the axes.

    A staircase over the level of PML: it rises by one at each level of
    :func:`mechdesign.pml_regions`. In the first region no mechanism rules anything out. Where that
    region is too narrow to be seen the axis is logarithmic.

    Parameters
    ----------
    prior : prior of the secret
    epsilon : a level in nats or several, optional
        Marked on the staircase.
    ax : matplotlib axes, optional
        A new figure when left out; an empty figure is drawn on as well.

    Raises
    ------
    LevelError
        For levels that are negative, infinite or no numbers.
    MechdesignError
        When matplotlib is not installed.

    Notes
    -----
    Source: [GrosseID] (privacy regions).

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> axes = plot_pml_regions(Prior([.1, .2, .3, .4]), .2)
    >>> float(axes.get_ylim()[1]) > 3
    True
    >>> matplotlib.pyplot.close("all")
    """
    found = pml_regions(as_prior(prior))
    marked = _levels(epsilon)
    ax = new_axes(ax, (4.6, 2.9))
    last = len(found.levels)
    right = 1.12 * max([*found.levels, *marked, 0.5])
    first = min((v for v in (*found.levels, *marked) if v > 0), default=right)
    left = first / _BEFORE if first < right / _NARROW else 0.0
    if left:
        right *= _BEFORE
        log_axis(ax.xaxis)
    edges = [left, *found.levels]
    heights = np.arange(last + 1)
    ax.stairs(heights, [*edges, right], fill=True, color=PALETTE[5], alpha=0.35, lw=0)
    ax.stairs(heights, [*edges, right], color=PALETTE[0], lw=1.5, baseline=None)
    if found.levels:
        ax.axvspan(left, edges[1], color=PALETTE[2], alpha=0.25, lw=0)
        ax.axvline(
            edges[1],
            color=PALETTE[2],
            lw=1.2,
            ls=":",
            label=f"nothing is ruled out\nbelow ε = {edges[1]:.4g}",
        )
    for position, level in enumerate(marked):
        height = found.most_zeros(level)
        style = {"color": _MARKED[position % len(_MARKED)], "lw": 1.2, "ls": "--", "zorder": 3}
        ax.plot(
            [max(level, left)] * 2,
            [0, height],
            marker=MARKERS[position % len(MARKERS)],
            markevery=[1],
            markersize=6,
            clip_on=False,
            label=f"ε = {level:.4g}: {height} of {last + 1}",
            **style,
        )
    if found.levels or marked:
        legend_beside(ax)
    ax.set_xlim(left, right)
    ax.set_ylim(0, max(last, 1) * 1.05)
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("level ε of PML (nats)")
    ax.set_ylabel("symbols an outcome may rule out")
    return fit_figure(ax)


def _levels(epsilon: Any) -> list[float]:
    if epsilon is None:
        return []
    many = is_iterable(epsilon) and not isinstance(epsilon, (str, bytes))
    levels = [check_level(e, "level marked in a plot") for e in (epsilon if many else [epsilon])]
    if any(math.isinf(level) for level in levels):
        raise LevelError(
            "level marked in a plot",
            expected="finite levels in nats",
            got="infinite",
            remedy="leave it out; every symbol but one may be ruled out beyond the last region",
        )
    return sorted(levels)
