"""Confidence limits on the levels of notions, against what was claimed."""

from __future__ import annotations

import math
from typing import Any

from ..errors import InputError
from ..evidence.findings import SampleAudit, SampleVerdict
from .style import INK, MARKERS, PALETTE, fit_figure, legend_beside, new_axes
from .ticks import mark_infinity, name_ticks

# A colour and a marker for each verdict.
_VERDICTS = {
    SampleVerdict.VIOLATED: (PALETTE[1], MARKERS[1]),
    SampleVerdict.CONSISTENT: (PALETTE[2], MARKERS[0]),
    SampleVerdict.CANNOT_TELL: (PALETTE[0], MARKERS[2]),
}
_WIDTH = 0.28


def plot_limits(found: SampleAudit, ax: Any = None) -> Any:
    """Limits on each level as a bar, the claim as a line across it; returns the axes.

    A bar wholly above its claim is a violation, one at or below it is consistent; colour and marker
    of the frequencies' own level say the verdict on the notion. Infinite limits end in a strip
    above.

    Parameters
    ----------
    found : from :func:`mechdesign.audit_samples`
    ax : matplotlib axes, optional
        A new figure when left out; an empty figure is drawn on as well.

    Raises
    ------
    InputError
        For what is no audit from samples.
    MechdesignError
        When matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import mechdesign as md
    >>> reports = ["no", "yes", "no", "yes", "yes", "no", "no", "yes"] * 500
    >>> found = md.audit_samples(["no", "yes"] * 2000, reports, md.LDP(1.5), outputs=["no", "yes"])
    >>> axes = md.plot_limits(found)
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['claimed', 'consistent']
    >>> matplotlib.pyplot.close("all")
    """
    if not isinstance(found, SampleAudit):
        raise InputError(
            "picture of limits",
            expected="an audit from samples",
            got=type(found).__name__,
            remedy="pass what md.audit_samples returned",
        )
    levels = [(finding, level) for finding in found.findings for level in finding.levels]
    numbers = [v for _, one in levels for v in (one.claimed, one.lower, one.upper, one.estimate)]
    top = max((v for v in numbers if math.isfinite(v)), default=0.0)
    ax = new_axes(ax, (min(0.85 * max(len(levels), 3), 7.5), 2.9))
    is_infinite = not all(map(math.isfinite, numbers))
    _, edge = mark_infinity(ax, 0.0, top or 1.0, above="infinite" if is_infinite else "")
    for x, (finding, level) in enumerate(levels):
        colour, marker = _VERDICTS[finding.verdict]
        low, high, seen, claimed = (
            v if math.isfinite(v) else edge
            for v in (level.lower, level.upper, level.estimate, level.claimed)
        )
        ax.bar(x, high - low, _WIDTH, low, color=colour, alpha=0.35, lw=0, zorder=2)
        for end in (low, high):
            ax.hlines(end, x - _WIDTH / 2, x + _WIDTH / 2, color=colour, lw=1.2, zorder=3)
        ax.plot(x, seen, ls="", color=colour, marker=marker, markersize=5, zorder=4)
        ax.hlines(claimed, x - _WIDTH, x + _WIDTH, color=INK, lw=2.0, zorder=5)
    ax.plot([], [], color=INK, lw=2.0, label="claimed")
    for verdict, (colour, marker) in _VERDICTS.items():
        if any(finding.verdict is verdict for finding in found.findings):
            ax.plot([], [], ls="", color=colour, marker=marker, markersize=5, label=str(verdict))
    ax.set_xlim(-0.6, len(levels) - 0.4)
    ax.grid(visible=False, axis="x")
    name_ticks(
        ax,
        "x",
        [
            str(finding.notion)
            + (f", {level.field.replace('epsilon', 'ε')}" if len(finding.levels) > 1 else "")
            for finding, level in levels
        ],
    )
    ax.set_ylabel("level (nats)")
    legend_beside(ax)
    return fit_figure(ax)
