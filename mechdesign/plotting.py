"""Plots, on matplotlib, which is loaded when the first one is drawn."""

from __future__ import annotations

from typing import Any

from .comparing import Comparison
from .errors import MechdesignError


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
    if ax is None:
        ax = load_pyplot().subplots()[1]
    for name in comparison.notions:
        levels, values = comparison.frontier(name)
        ax.plot(levels, values, marker="." if len(levels) < 40 else None, label=name)
    ax.set_xlabel("level ε (nats)")
    ax.set_ylabel(f"utility: {comparison.utility!r}")
    ax.legend()
    ax.grid(alpha=0.3)
    return ax


def load_pyplot() -> Any:
    """``matplotlib.pyplot``, or a :class:`MechdesignError` that says how to install it."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MechdesignError(
            "matplotlib is not installed; install it with: pip install 'mechdesign[plot]'"
        ) from None
    return pyplot
