"""The kernel as a heat map."""

from __future__ import annotations

from typing import Any

import numpy as np

from .coercion import mechanism_of
from .style import INK, MANY_POINTS, SMALL, fit_figure, new_axes
from .ticks import name_ticks, short_probability, step_of

# Cells of this many points hold a number of three characters.
_WIDE, _HIGH = 23.0, 11.0
# Up to so many cells, white lines separate them.
_EDGED = 1000
_DARK = 0.55


def plot_kernel(item: Any, prior: Any = None, ax: Any = None) -> Any:
    """Heat map of P(Y|X), a row for each input; returns the axes.

    Numbers stand in the cells where they fit, else there is a scale beside them. With a prior each
    input is named with its mass and each output with its probability; inputs of zero mass are
    hatched.

    Parameters
    ----------
    item : Design, Mechanism or (N, M) array
    prior : Prior or N probabilities, optional
        A design brings its own.
    ax : matplotlib axes, optional
        A new figure when left out; an empty figure is drawn on as well.

    Raises
    ------
    KernelError, PriorError
        For a kernel or a prior that cannot be used.
    MechdesignError
        When matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import mechdesign as md
    >>> prior = md.Prior([.5, .3, .2], labels=["a", "b", "c"])
    >>> axes = md.plot_kernel(md.design(prior, md.utility.Hamming(), md.PML(.4)))
    >>> [tick.get_text() for tick in axes.get_yticklabels()]
    ['a  0.5', 'b  0.3', 'c  0.2']
    >>> matplotlib.pyplot.close("all")
    """
    mechanism, known = mechanism_of(item, prior)
    kernel = mechanism.kernel
    n, m = kernel.shape
    ax = new_axes(ax, (min(0.42 * max(m, 2), 7.0), min(0.27 * max(n, 2), 9.0)))
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    edged = n * m <= _EDGED
    mesh = ax.pcolormesh(
        np.arange(m + 1) - 0.5,
        np.arange(n + 1) - 0.5,
        kernel,
        cmap="Blues",
        vmin=0.0,
        vmax=1.0,
        edgecolors="white" if edged else "face",
        linewidth=0.6 if edged else 0.0,
        rasterized=n * m > MANY_POINTS,
    )
    ax.set_ylim(n - 0.5, -0.5)
    masses = shares = None
    hatched: list[int] = []
    ax.set_xlabel("output")
    ax.set_ylabel("input")
    if known is not None:
        masses = [short_probability(float(v)) for v in known.probabilities]
        shares = [short_probability(float(v)) for v in mechanism.output_distribution(known)]
        ax.set_xlabel("output, with its probability")
        ax.set_ylabel("input, with its mass")
        hatched = np.flatnonzero(known.probabilities == 0).tolist()
        _hatch(ax, hatched, m)
    name_ticks(ax, "y", mechanism.inputs, masses)
    name_ticks(ax, "x", mechanism.outputs, shares)
    if step_of(ax, "x", m) >= _WIDE and step_of(ax, "y", n) >= _HIGH:
        _write_numbers(ax, mesh, kernel, hatched)
    else:
        bar = ax.figure.colorbar(mesh, cax=ax.inset_axes((1.03, 0.0, 0.03, 1.0)))
        bar.set_label("P(output | input)", fontsize=SMALL, color=INK)
        bar.ax.tick_params(labelsize=SMALL, color=INK)
        bar.outline.set_visible(False)
    return fit_figure(ax)


def _hatch(ax: Any, rows: list[int], m: int) -> None:
    from matplotlib.patches import Rectangle

    for i in rows:
        patch = Rectangle((-0.5, i - 0.5), m, 1, fill=False, hatch="////", lw=0, edgecolor="0.7")
        ax.add_patch(patch)


def _write_numbers(ax: Any, mesh: Any, kernel: Any, hatched: list[int]) -> None:
    for (i, j), value in np.ndenumerate(kernel):
        ax.text(
            j,
            i,
            _short(float(value)),
            ha="center",
            va="center",
            fontsize=SMALL,
            color="white" if value > _DARK else "black",
            # Hatching stops short of the number.
            bbox={"fc": mesh.to_rgba(value), "ec": "none", "pad": 1.0} if i in hatched else None,
        )


def _short(value: float) -> str:
    """Two decimals; 0 and 1 only for exactly 0 and 1.

    >>> [_short(v) for v in (0.0, 0.004, 0.25, 0.996, 1.0)]
    ['0', '<.01', '.25', '>.99', '1']
    """
    if value in (0.0, 1.0):
        return str(int(value))
    if value < 0.005:
        return "<.01"
    return ">.99" if value >= 0.995 else f"{value:.2f}"[1:]
