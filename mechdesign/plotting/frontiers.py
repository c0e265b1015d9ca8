"""Frontiers of utility against level."""

from __future__ import annotations

from typing import Any

from ..comparing import Comparison
from .style import new_axes, series_style


def plot_frontiers(comparison: Comparison, ax: Any = None) -> Any:
    """Utility against level, one line per notion; returns the matplotlib axes.

    Parameters
    ----------
    comparison : from :func:`mechdesign.compare`
    ax : matplotlib axes, optional
        A new figure when left out.

    Raises
    ------
    MechdesignError
        When matplotlib is not installed.
    """
    ax = new_axes(ax)
    for position, name in enumerate(comparison.notions):
        levels, values = comparison.frontier(name)
        ax.plot(levels, values, label=name, markersize=4, **series_style(position))
    ax.set_xlabel("level ε (nats)")
    ax.set_ylabel(f"utility: {comparison.utility!r}")
    ax.legend()
    return ax
