"""The probability of leaking at least a level, before and after any post-processing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..channels._leakage_envelope import LeakageEnvelope
from ..errors import InputError
from ..theory.leakage import outcome_leakage
from .style import DASHES, INK, PALETTE, fit_figure, legend_beside, new_axes

Array = NDArray[np.float64]


def plot_envelope(envelope: LeakageEnvelope, ax: Any = None) -> Any:
    """The leakage envelope against the level, with the tail of the reports; returns the axes.

    The line is proved: after no post-processing is a level reached more often. The shade below it
    ends at what a post-processing attains, and is too thin to be seen where both sides meet. The
    dashes are the probability of the reports as they are. The largest leakage is a dotted line.

    Parameters
    ----------
    envelope : from :func:`mechdesign.leakage_envelope`, at two levels at least
    ax : matplotlib axes, optional
        A new figure when left out; an empty figure is drawn on as well.

    Raises
    ------
    InputError
        For what is no envelope, or one at a single level.
    MechdesignError
        When matplotlib is not installed.

    Notes
    -----
    Source: [SaeidianEnvelopes].

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import mechdesign as md
    >>> axes = md.plot_envelope(md.leakage_envelope([[.75, .25], [.4, .6]], [.3, .7]))
    >>> axes.get_ylim()[1] > 1
    True
    >>> matplotlib.pyplot.close("all")
    """
    if not isinstance(envelope, LeakageEnvelope):
        raise InputError(
            "picture of an envelope",
            expected="a leakage envelope",
            got=type(envelope).__name__,
            remedy="pass md.leakage_envelope(mechanism, prior)",
        )
    levels = envelope.levels
    if len(levels) < 2:
        raise InputError(
            "picture of an envelope",
            expected="one at two levels at least",
            got=str(len(levels)),
            remedy="leave out the levels of md.leakage_envelope for a curve",
        )
    ax = new_axes(ax, (4.6, 2.9))
    ax.fill_between(levels, envelope.at_least, envelope.at_most, color=PALETTE[0], alpha=0.25, lw=0)
    ax.plot(levels, envelope.at_most, color=PALETTE[0], lw=1.6, label="after any\npost-processing")
    edges, shares = _tail(envelope)
    ax.plot(
        edges,
        shares,
        drawstyle="steps-pre",
        color=PALETTE[1],
        lw=1.4,
        ls=DASHES[0],
        label="as reports are",
    )
    if math.isfinite(envelope.largest):
        ax.axvline(
            envelope.largest,
            color=INK,
            lw=1.0,
            ls=":",
            label=f"largest leakage\n{envelope.largest:.4g}",
        )
    kind = "of Λ (PMC)" if envelope.risk_averse else "of ℓ (PML)"
    right = max(float(levels[-1]), envelope.largest if math.isfinite(envelope.largest) else 0.0)
    ax.set_xlim(min(0.0, float(levels[0])), 1.04 * right if right > 0 else 1.0)
    ax.set_ylim(-0.02, 1.05)
    ax.set_xlabel(f"level {kind} (nats)")
    ax.set_ylabel("probability of leaking\nat least so much")
    legend_beside(ax)
    return fit_figure(ax)


def _tail(envelope: LeakageEnvelope) -> tuple[Array, Array]:
    """Leakages of the outcomes in rising order, and how likely one leaks at least so much."""
    q = envelope.mechanism.output_distribution(envelope.prior)
    found = outcome_leakage(envelope.mechanism, envelope.prior, risk_averse=envelope.risk_averse)
    right = max(float(envelope.levels[-1]), float(found[np.isfinite(found)].max(initial=0.0)))
    edges = np.unique([0.0, *found[(q > 0) & np.isfinite(found)], right])
    return edges, np.array([q[(q > 0) & (found >= edge)].sum() for edge in edges])
