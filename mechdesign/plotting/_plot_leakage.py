"""The leakage of each outcome under several notions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._audit import AuditReport
from ..errors import InputError, UnknownNameError, is_iterable
from ..privacy.notion import AverageNotion, PrivacyNotion
from .style import DASHES, MARKERS, PALETTE, fit_figure, legend_beside, new_axes
from .ticks import mark_infinity, name_outcomes

# Notions drawn by default, beside those that the audit was asked about.
_USUAL = ("pml", "pmc", "ldp")
_WIDTH = 0.6


def plot_leakage(report: AuditReport, notions: Any = None, ax: Any = None) -> Any:
    """Leakage of each outcome under several notions, in nats; returns the axes.

    The worst outcome of each notion has a ring. Levels that the audit was asked about are lines in
    the colour of what they bound, with the verdict. Infinite leakage is drawn in a strip above.
    Outcomes that cannot occur are left out. For notions that bound a sum over outcomes the share of
    each outcome is drawn, and no line, as the level bounds the sum.

    Parameters
    ----------
    report : from :func:`mechdesign.audit`
    notions : notions in the report, such as ``["pml", "alip"]`` or ``[md.PML]``, optional
        PML, PMC and LDP, and what was asked, when left out.
    ax : matplotlib axes, optional
        A new figure when left out; an empty figure is drawn on as well.

    Raises
    ------
    InputError
        For what is no report, or a notion that it does not have.
    MechdesignError
        When matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import mechdesign as md
    >>> report = md.audit([[.75, .25], [.25, .75]], [.5, .5], md.LDP(1.2))
    >>> axes = md.plot_leakage(report, ["ldp"])
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['LDP', 'asked: LDP(1.2), yes']
    >>> matplotlib.pyplot.close("all")
    """
    if not isinstance(report, AuditReport):
        raise InputError(
            "picture of leakages",
            expected="the report of an audit",
            got=type(report).__name__,
            remedy="pass md.audit(mechanism, prior)",
        )
    q = report.mechanism.output_distribution(report.prior)
    used = np.flatnonzero(q > 0)
    series = _series(report, _chosen(report, notions), used)
    ax = new_axes(ax, (min(0.7 * max(len(used), 3), 7.5), 2.9))
    values = np.concatenate([one.values for one in series])
    highest = max(values[np.isfinite(values)].tolist(), default=0.0)
    reach = 4.0 * max(highest, 0.25)
    near = [level for one in series for level, _ in one.asked if level <= reach]
    top = max([highest, *near])
    top = top if top > 0.01 else 0.1
    is_infinite = bool(np.isposinf(values).any())
    _, edge = mark_infinity(ax, 0.0, top, above="infinite" if is_infinite else "")
    shift = (np.arange(len(series)) - (len(series) - 1) / 2) * (_WIDTH / max(len(series), 3))
    for k, one in enumerate(series):
        _draw(ax, one, k, np.arange(len(used)) + shift[k], edge)
    for k, one in enumerate(series):
        for level, text in one.asked:
            style = {"color": PALETTE[k % len(PALETTE)], "lw": 1.2, "ls": DASHES[k % len(DASHES)]}
            if level <= top:
                ax.axhline(level, label=text, zorder=1, **style)
            else:
                ax.plot([], [], ls="none", label=f"{text}\n(beyond the picture)")
    name_outcomes(ax, [report.mechanism.outputs[y] for y in used], q[used])
    ax.set_ylabel("leakage (nats)")
    legend_beside(ax)
    return fit_figure(ax)


@dataclass(frozen=True)
class _Series:
    """Leakages of the outcomes under one level of a notion, and the levels asked for it."""

    title: str
    values: NDArray[np.float64]
    asked: tuple[tuple[float, str], ...]


def _series(report: AuditReport, names: list[str], used: NDArray[np.intp]) -> list[_Series]:
    found = []
    for name in names:
        leakage = report.leakages[name]
        fields = leakage.notion.level_fields
        average = isinstance(leakage.notion, AverageNotion)
        for k, field in enumerate(fields):
            title = type(leakage.notion).__name__
            title = title if len(fields) == 1 else f"{title} {field}"
            line = "" if len(fields) == 1 else f"\n({field})"
            asked = tuple(
                (check.notion.levels[k], f"asked: {check.notion}, {check.verdict}{line}")
                for check in report.checks
                if type(check.notion) is type(leakage.notion)
                and check.notion.levels[k] < math.inf
                and not average
            )
            title += "\n(share of each output)" if average else ""
            found.append(_Series(title, leakage.per_outcome[k][used], asked))
    return found


def _draw(ax: Any, one: _Series, k: int, x: NDArray[np.float64], edge: float) -> None:
    y = np.where(np.isposinf(one.values), edge, one.values)
    style = {"color": PALETTE[k % len(PALETTE)], "marker": MARKERS[k % len(MARKERS)]}
    ax.plot(x, y, linestyle="", markersize=5, label=one.title, zorder=3, **style)
    most = int(np.argmax(y))
    ring = {"markersize": 10, "markerfacecolor": "none", "markeredgecolor": style["color"]}
    ax.plot(x[most], y[most], "o", **ring, zorder=2)


def _chosen(report: AuditReport, notions: Any) -> list[str]:
    if notions is None:
        asked = [type(check.notion).__name__.lower() for check in report.checks]
        return [n for n in dict.fromkeys([*_USUAL, *asked]) if n in report.leakages]
    if isinstance(notions, str) or not is_iterable(notions):
        notions = [notions]
    classes = [type(n) if isinstance(n, PrivacyNotion) else n for n in notions]
    names = [str(getattr(cls, "__name__", cls)).strip().lower() for cls in classes]
    found = list(dict.fromkeys(names))
    unknown = [name for name in found if name not in report.leakages]
    if unknown:
        raise UnknownNameError("notion of an audit", unknown[0], report.leakages)
    if not found:
        raise InputError(
            "notions of a plot",
            expected="at least one notion of the audit",
            got="none",
            remedy="leave it out, or pass for example ['pml', 'ldp']",
        )
    return found
