"""The prices of the constraints that bind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError, quote
from ..solve._design import Design
from ..solve.sensitivity import Binding, PricedConstraint, binding_of_likeliest
from .style import NORMAL, PALETTE, SMALL, fit_figure, legend_beside, new_axes
from .ticks import plain_name, plain_names

# Constraints shown by default, and entries of a kernel whose prices are found within a second.
_MOST, _ENTRIES = 20, 20_000
_HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++", "----")


def plot_binding(design: Design | Binding, most: int = _MOST, ax: Any = None) -> Any:
    """Bars of the prices of the constraints that bind, the largest first; returns the axes.

    A price is the utility gained per nat if this constraint alone is relaxed. The prices after the
    first ``most`` are summed in a last bar. Below them stand the first ``most`` limits of
    requirements, per unit of the limit. See :func:`mechdesign.binding`. Of a design of more than
    20,000 entries prices are found for its likeliest outcomes alone, and the legend says of how
    many; those of all, which take longer, are drawn of its ``md.binding(design)``.

    Parameters
    ----------
    design : Design for a linear utility, or its ``md.binding(design)``
    most : number of constraints shown one by one, at least 1
    ax : matplotlib axes, optional
        A new figure when left out; an empty figure is drawn on as well.

    Raises
    ------
    InputError
        For a design without prices, see :func:`mechdesign.binding`, or no constraint to show.
    MechdesignError
        When matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import mechdesign as md
    >>> prior = md.Prior([.5, .3, .2], labels=["a", "b", "c"])
    >>> axes = md.plot_binding(md.design(prior, md.utility.Hamming(), md.PML(.4)))
    >>> axes.get_yticklabels()[0].get_text()
    "b: 'b' against the prior"
    >>> matplotlib.pyplot.close("all")
    """
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError(
            "number of constraints shown",
            expected="a positive whole number",
            got=quote(most),
            remedy=f"leave it out for {_MOST}",
        )
    which = "all"
    if isinstance(design, Binding):
        found = design
    else:
        found, priced, occur = binding_of_likeliest(design, _ENTRIES)
        if priced < occur:
            which = f"{priced} likeliest of {occur} outcomes"
    shown, rest = found.constraints[:most], found.constraints[most:]
    limits = found.limits[:most]
    first = len(shown) + bool(rest)
    rows = first + len(limits)
    ax = new_axes(ax, (4.0, 0.24 * max(rows, 2)))
    ax.set_xlabel("shadow price per nat" + (", of limits per unit" if limits else ""))
    if not rows:
        ax.set_yticks([])
        ax.set_xlim(0, 1)
        ax.text(
            0.5,
            0.5,
            "no constraint holds the utility back",
            ha="center",
            va="center",
            transform=ax.transAxes,
            fontsize=NORMAL,
        )
        return fit_figure(ax)
    dear = [name for name, slope in found.slopes.items() if slope]
    names = list(dict.fromkeys([*(constraint.asked_by for constraint in shown), *dear]))
    for position, name in enumerate(names):
        bars = [k for k, constraint in enumerate(shown) if constraint.asked_by == name]
        slope = found.slopes[name]
        ax.barh(
            bars,
            [shown[k].price_per_nat for k in bars],
            height=0.68,
            color=PALETTE[position % len(PALETTE)],
            hatch=_HATCHES[position % len(_HATCHES)],
            edgecolor="white",
            lw=0,
            label=f"{name}\n({which}: {slope:.3g} per nat)",
        )
    texts = _texts(found, shown)
    if rest:
        total = math.fsum(constraint.price_per_nat for constraint in rest)
        ax.barh([first - 1], [total], height=0.68, color="0.6")
        texts.append(f"{len(rest)} more together")
    if limits:
        ax.barh(
            np.arange(first, rows),
            [limit.price for limit in limits],
            height=0.68,
            color="0.35",
            label="requirements\n(per unit of the limit)",
        )
        texts += [f"{plain_name(limit.about, 40)} ({limit.end})" for limit in limits]
    ax.set_ylim(rows - 0.4, -0.6)
    ax.set_yticks(np.arange(rows), texts, fontsize=SMALL)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    legend_beside(ax)
    return fit_figure(ax)


def _texts(found: Binding, shown: Sequence[PricedConstraint]) -> list[str]:
    """Outcome and pair of each constraint, labels shortened to where they differ."""
    labels, outputs = found.design.prior.labels, found.design.mechanism.outputs
    symbols = dict(zip(map(repr, labels), plain_names(labels), strict=True))
    places = dict(zip(outputs, plain_names(outputs), strict=True))

    def side(name: str) -> str:
        if name not in symbols:
            return plain_name(name, 40)
        return f"'{symbols[name]}'" if name[0] in "'\"" else symbols[name]

    lines = []
    for constraint in shown:
        about = f"{side(constraint.over)} against {side(constraint.under)}"
        lines.append(
            about if constraint.output is None else f"{places[constraint.output]}: {about}"
        )
    return lines
