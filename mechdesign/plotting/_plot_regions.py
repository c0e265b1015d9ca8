"""Which of two bounds on the information density implies the other, by their levels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LevelError, quote
from ..exact import float_at_least
from ..prior import Prior
from ..theory.rules import Level, Setting, lower_star, upper_star
from .style import PALETTE, fit_figure, legend_beside, log_axis, new_axes

Array = NDArray[np.float64]

# Curves that start below this share of the picture are shown on logarithmic axes.
_SMALL = 30.0


@dataclass(frozen=True)
class Regions:
    """The two curves that divide the plane of levels (ε_u, ε_l), in nats, rounded up.

    Attributes
    ----------
    limit : end of the high-privacy regime, log 1/(1−pmin)
    upper, implied_lower : ε_u-PML implies PMC at the second level; one entry per point
    lower, implied_upper : ε_l-PMC implies PML at the second level
    """

    limit: float
    upper: Array
    implied_lower: Array
    lower: Array
    implied_upper: Array


def regions(
    prior: Prior, most: float | None = None, points: int = 200, least: float = 0.0
) -> Regions:
    """Where a bound on one side of the information density implies one on the other.

    Parameters
    ----------
    prior : prior of the secret
    most : largest ε_l to look at; four times log 1/(1−pmin), at least 1, when left out
    points : number of points of each curve
    least : levels to start at, below ``most``; when positive, points have equal ratios

    Raises
    ------
    LevelError
        For a prior on one symbol, or a largest level that is not positive and finite.

    Notes
    -----
    Source: [GrosseID] Propositions 1 and 2; [SaeidianPMC] Theorem 4.

    Examples
    --------
    For a fair coin both curves are one:

    >>> found = regions(Prior([.5, .5]), most=2.0)
    >>> back = np.interp(found.upper, found.implied_upper, found.lower)
    >>> float(abs(back - found.implied_lower)[found.implied_lower < 1.9].max()) < 1e-3
    True
    """
    setting = Setting(prior)
    if setting.size < 2:
        raise LevelError(
            "regions of levels",
            expected="a prior on at least two symbols",
            got=quote(prior),
            remedy="nothing leaks about a secret that is known",
        )
    limit = -math.log1p(-prior.pmin)
    top = max(1.0, 4 * limit) if most is None else most
    if not (isinstance(top, (int, float)) and 0 < top < math.inf) or points < 2:
        raise LevelError(
            "regions of levels",
            expected="a positive finite largest level and at least 2 points",
            got=f"most={quote(most)}, points={quote(points)}",
            remedy="leave them out, or pass for example most=2.0",
        )
    # Up to where the implied level leaves the picture.
    end = -math.log1p(prior.pmin * math.expm1(-top) / (1 - prior.pmin * math.exp(-top)))
    spacing = np.geomspace if least else np.linspace
    upper = spacing(least, math.nextafter(min(end, limit), 0.0), points)
    lower = spacing(least, top, points)
    return Regions(
        limit,
        upper,
        np.array([_float(lower_star(setting, Fraction(float(u)))) for u in upper]),
        lower,
        np.array([_float(upper_star(setting, Fraction(float(v)))) for v in lower]),
    )


def _float(level: Level) -> float:
    return math.inf if level is None else float_at_least(level)


def plot_regions(prior: Prior, most: float | None = None, ax: Any = None) -> Any:
    """Draw where PML implies PMC and the other way round; returns the matplotlib axes.

    Above the one curve ε_u-PML alone gives (ε_l, ε_u)-ALIP, below the other ε_l-PMC alone does;
    between them both bounds say something. For a fair coin the curves coincide. Where the rarest
    symbol is so rare that the first curve would lie on the axis, both axes are logarithmic.

    Parameters
    ----------
    prior : prior of the secret
    most : largest ε_l shown, see :func:`regions`
    ax : matplotlib axes, optional
        A new figure when left out; an empty figure is drawn on as well.

    Raises
    ------
    LevelError
        For a prior on one symbol, or a largest level that is not positive and finite.
    MechdesignError
        When matplotlib is not installed.

    Notes
    -----
    Source: [GrosseID] Figure 1; [SaeidianPMC] Figure 1.
    """
    found = regions(prior, most)
    least = 0.0
    if found.upper[-1] < found.implied_upper[-1] / _SMALL:
        least = float(found.upper[-1]) / _SMALL
        found = regions(prior, most, least=least)
    ax = new_axes(ax)
    if least:
        log_axis(ax.xaxis)
        log_axis(ax.yaxis)
    top, right = float(found.lower[-1]), float(found.implied_upper[-1])
    grid = np.geomspace(least, right, 400) if least else np.linspace(0.0, right, 400)
    edge = np.union1d(grid, np.concatenate([found.upper, found.implied_upper]))
    edge = edge[(edge >= least) & (edge <= right)]
    wall = np.interp(edge, found.upper, np.minimum(found.implied_lower, top), right=top)
    below = np.interp(edge, found.implied_upper, found.lower, left=least)
    below = np.minimum(below, wall)
    fill = {"edgecolor": "0.6", "lw": 0, "zorder": 0.6}
    ax.fill_between(edge, wall, top, facecolor="0.8", label="PML alone decides", **fill)
    ax.fill_between(
        edge, least, below, facecolor="0.95", hatch="....", label="PMC alone decides", **fill
    )
    ax.fill_between(edge, below, wall, facecolor="#cfe3f5", label="both bounds matter", **fill)
    ax.plot(
        found.upper, found.implied_lower, color=PALETTE[0], lw=1.6, label="PMC implied by ε_u-PML"
    )
    ax.plot(
        found.implied_upper,
        found.lower,
        color=PALETTE[1],
        lw=1.6,
        ls="--",
        label="PML implied by ε_l-PMC",
    )
    if found.limit <= right:
        ax.axvline(
            found.limit, color=PALETTE[0], ls=":", lw=1.2, label="end of the high-privacy regime"
        )
    equal = [least, min(top, right)]
    ax.plot(equal, equal, color="black", ls="-.", lw=0.9, label="LIP")
    ax.set_xlim(least, right)
    ax.set_ylim(least, top)
    if least:
        # The lowest number would meet that of the other axis in the corner.
        corner = least * (top / least) ** 0.06
        ax.set_yticks([t for t in ax.get_yticks() if corner <= t <= top])
    ax.set_xlabel("ε_u (nats)")
    ax.set_ylabel("ε_l (nats)")
    legend_beside(ax)
    return fit_figure(ax)
