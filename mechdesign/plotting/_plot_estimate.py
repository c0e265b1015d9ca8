"""Estimated frequencies with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, quote
from ..inference.planning import Plan
from ..inference.results import Estimate
from ..labels import counted
from ..prior import Prior
from .style import INK, PALE, PALETTE, fit_figure, legend_beside, new_axes
from .ticks import name_ticks


def plot_estimate(
    estimate: Estimate | Plan, truth: Any = None, reported: Any = None, ax: Any = None
) -> Any:
    """Each estimate with its interval, a line per label; returns the axes.

    Parameters
    ----------
    estimate : from :func:`mechdesign.estimate`, or from :func:`mechdesign.plan`
        A plan is drawn as the intervals that estimates will have around what it assumes.
    truth : what is known to be true, optional
        A Prior, a mapping of labels and numbers, or one number per label.
    reported : frequencies among the raw reports, optional
        In the same forms: the naive estimate, which takes reports for the truth.
    ax : matplotlib axes, optional
        A new figure when left out; an empty figure is drawn on as well.

    Raises
    ------
    InputError
        For what is no estimate and no plan at an assumed distribution.
    DataError
        For numbers that are not finite or do not fit the labels.
    MechdesignError
        When matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import mechdesign as md
    >>> kernel = md.randomised_response(md.Prior([.5, .5], ["yes", "no"]), 1.)
    >>> found = md.estimate(["yes"] * 60 + ["no"] * 40, kernel)
    >>> axes = md.plot_estimate(found, truth={"yes": 0.7, "no": 0.3})
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['estimate, 95% interval', 'truth']
    >>> matplotlib.pyplot.close("all")
    """
    planned = isinstance(estimate, Plan) and estimate.values is not None
    if not isinstance(estimate, Estimate) and not planned:
        raise InputError(
            "picture of an estimate",
            expected="the result of md.estimate, or of md.plan at an assumed distribution",
            got="a plan for the worst one"
            if isinstance(estimate, Plan)
            else type(estimate).__name__,
            remedy="pass what md.estimate returned",
        )
    size = len(estimate.labels)
    ax = new_axes(ax, (4.2, min(0.27 * max(size, 2), 9.5)))
    places = np.arange(size)
    middle, low, high = _intervals(estimate)
    told = np.isfinite(low)
    ax.hlines(places[told], low[told], high[told], color=PALETTE[0], lw=1.4, zorder=2)
    for ends in (low, high):
        ax.plot(ends[told], places[told], "|", color=PALETTE[0], markersize=7, mew=1.3, zorder=2)
    if not told.all():  # by no number of reports
        low, high = np.where(told, low, 0.0), np.where(told, high, 1.0)
        rest = places[~told]
        ax.hlines(rest, low[~told], high[~told], color=PALETTE[1], lw=1.4, ls=":", zorder=2)
    # Unbiased estimates may lie outside [0, 1], and then outside their intervals.
    ax.plot(
        middle,
        places,
        "o",
        color=PALETTE[0],
        markersize=5,
        zorder=3,
        label=f"{'assumed' if planned else 'estimate'}, {100 * estimate.confidence:g}% interval",
    )
    if truth is not None:
        known = _per_label(truth, estimate, "truth")
        ax.plot(known, places, "|", color="black", markersize=13, mew=1.6, zorder=4, label="truth")
    if reported is not None:
        frequencies = _per_label(reported, estimate, "reported")
        ax.plot(
            frequencies,
            places,
            "x",
            color=PALETTE[1],
            markersize=6,
            mew=1.4,
            zorder=2,
            label="among reports",
        )
    if min(low.min(), middle.min()) < 0:
        ax.axvline(0, color=INK, lw=0.8, zorder=1)
    ax.set_ylim(size - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    name_ticks(ax, "y", estimate.labels)
    for place in places[1:]:
        ax.axhline(place - 0.5, color=PALE, lw=0.4, zorder=0)
    ax.set_xlabel(f"share ({counted(estimate.reports, 'report')})")
    legend_beside(ax)
    return fit_figure(ax)


def _intervals(
    estimate: Estimate | Plan,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Middle and ends of each interval; infinite where nothing is told."""
    if isinstance(estimate, Estimate):
        return estimate.values, estimate.lower, estimate.upper
    assert estimate.values is not None
    low, high = estimate.values - estimate.errors, estimate.values + estimate.errors
    if ((estimate.values >= 0) & (estimate.values <= 1)).all():  # shares
        told = np.isfinite(estimate.errors)
        low, high = (np.where(told, np.clip(ends, 0, 1), ends) for ends in (low, high))
    return estimate.values, low, high


def _per_label(values: Any, estimate: Estimate | Plan, subject: str) -> NDArray[np.float64]:
    """One finite number per label of the estimate."""
    if isinstance(values, Prior):
        values = dict(zip(values.labels, values.probabilities.tolist(), strict=True))
    if isinstance(values, Mapping):
        absent = [label for label in estimate.labels if label not in values]
        values = None if absent else [values[label] for label in estimate.labels]
    try:
        found = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        found = np.empty(0)
    if found.shape != (len(estimate.labels),) or not np.isfinite(found).all():
        raise DataError(
            f"{subject} of a plot",
            expected=f"a finite number for each of {list(estimate.labels)[:6]}",
            got=quote(values),
            remedy="pass a Prior over these labels, a mapping, or numbers in their order",
        )
    return found
