"""What each outcome leaks under several notions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..auditing import AuditReport
from ..errors import InputError, UnknownNameError
from .style import INK, MARKERS, NORMAL, PALETTE, fit_figure, legend_beside, new_axes
from .ticks import brief, mark_edge, name_ticks

#: Notions drawn when nothing else is said, beside those that were asked.
_USUAL = ("pml", "pmc", "ldp")
_LINES = ("--", ":", "-.", (0, (1, 1)))
_WIDTH = 0.6


def plot_leakage(report: AuditReport, notions: Any = None, ax: Any = None) -> Any:
    """Leakage of each outcome under several notions, in nats; returns the axes.

    The worst outcome of each notion has a ring. Levels that the audit was asked about are lines.
    What is infinite is drawn at the marked edge above. Outcomes that cannot occur are left out.

    Parameters
    ----------
    report : from :func:`mechdesign.audit`
    notions : names of notions in the report, such as ``["pml", "alip"]``, optional
        PML, PMC and LDP, and what was asked, when left out.
    ax : matplotlib axes, optional
        A new figure when left out; an empty figure is drawn on as well.

    Raises
    ------
    InputError
        For a notion that the report does not have.
    MechdesignError
        When matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import mechdesign as md
    >>> report = md.audit([[.75, .25], [.25, .75]], [.5, .5], md.LDP(1.2))
    >>> axes = md.plot_leakage(report, ["ldp"])
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['LDP', 'asked: LDP(1.2)']
    >>> matplotlib.pyplot.close("all")
    """
    names = _chosen(report, notions)
    q = report.mechanism.output_distribution(report.prior)
    used = np.flatnonzero(q > 0)
    series = []
    for name in names:
        leakage = report.leakages[name]
        fields = leakage.notion.level_fields
        for field, row in zip(fields, leakage.per_outcome, strict=True):
            title = type(leakage.notion).__name__
            title = title if len(fields) == 1 else f"{title} {field}"
            series.append((title, row[used]))
    asked = [
        (level, str(check.notion))
        for check in report.checks
        if type(check.notion).__name__.lower() in names
        for level in check.notion.levels
        if level < math.inf
    ]
    ax = new_axes(ax, (min(0.7 * max(len(used), 3), 7.5), 2.9))
    values = np.concatenate([row for _, row in series])
    finite = values[np.isfinite(values)].tolist()
    top = max([1e-3, *finite, *(level for level, _ in asked)])
    worst = bool(np.isposinf(values).any())
    _, edge = mark_edge(ax, 0.0, top, above="infinite" if worst else "")
    shift = (np.arange(len(series)) - (len(series) - 1) / 2) * (_WIDTH / max(len(series), 3))
    for k, (title, row) in enumerate(series):
        x = np.arange(len(used)) + shift[k]
        y = np.where(np.isposinf(row), edge, row)
        style = {"color": PALETTE[k % len(PALETTE)], "marker": MARKERS[k % len(MARKERS)]}
        ax.plot(x, y, linestyle="", markersize=5, label=title, zorder=3, **style)
        most = int(np.argmax(y))
        ring = {"markersize": 10, "markerfacecolor": "none", "markeredgecolor": style["color"]}
        ax.plot(x[most], y[most], "o", **ring, zorder=2)
    for position, (level, name) in enumerate(asked):
        ls = _LINES[position % len(_LINES)]
        ax.axhline(level, color=INK, lw=1.2, ls=ls, label=f"asked: {name}", zorder=1)
    ax.set_xlim(-0.6, len(used) - 0.4)
    ax.grid(visible=False, axis="x")
    shares = [brief(float(v)) for v in q[used]]
    name_ticks(ax, "x", [report.mechanism.outputs[y] for y in used], shares)
    ax.set_xlabel("output, with its probability", fontsize=NORMAL)
    ax.set_ylabel("leakage (nats)", fontsize=NORMAL)
    legend_beside(ax)
    return fit_figure(ax)


def _chosen(report: AuditReport, notions: Any) -> list[str]:
    if notions is None:
        asked = [type(check.notion).__name__.lower() for check in report.checks]
        return [n for n in dict.fromkeys([*_USUAL, *asked]) if n in report.leakages]
    if isinstance(notions, str):
        notions = [notions]
    names = list(notions) if isinstance(notions, Iterable) else [notions]
    found = [str(getattr(name, "__name__", name)).lower() for name in names]
    strangers = [name for name in found if name not in report.leakages]
    if strangers:
        raise UnknownNameError("notion of an audit", strangers[0], report.leakages)
    if not found:
        raise InputError(
            "notions of a plot",
            expected="at least one notion of the audit",
            got="none",
            remedy="leave it out, or pass for example ['pml', 'ldp']",
        )
    return found
