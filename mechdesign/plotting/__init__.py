"""How is it drawn? Pictures on matplotlib, which is loaded when the first one is drawn.

In: what a picture shows: a design, a kernel with its prior, an audit, a comparison, an estimate.
Out: matplotlib axes: every picture is a function ``plot_…(what, …, ax=None)`` in a file of its own
that draws on these axes, or on a new figure, and returns the axes.

A picture of one's own is such a function in any file. It begins with :func:`new_axes`, which takes
the size of the axes in inches, and ends with :func:`fit_figure`, which makes the figure as large as
axes, names and legend need:

>>> from mechdesign.plotting import PALETTE, fit_figure, mechanism_and_prior, name_ticks, new_axes
>>> def plot_guesses(item, prior=None, ax=None):
...     mechanism, prior = mechanism_and_prior(item, prior)
...     best = mechanism.posterior(prior).max(axis=0)
...     ax = new_axes(ax, (0.6 * len(best), 2.5))
...     ax.bar(range(len(best)), best, color=PALETTE[0])
...     name_ticks(ax, "x", mechanism.outputs)
...     ax.set_ylabel("posterior of the best guess")
...     return fit_figure(ax)
>>> import matplotlib; matplotlib.use("Agg")
>>> axes = plot_guesses([[.75, .25], [.25, .75]], [.5, .5])
>>> [round(float(bar.get_height()), 6) for bar in axes.patches]
[0.75, 0.75]
>>> matplotlib.pyplot.close("all")

The command line draws it by its import path. The function is given the saved design, or the kernel
as a :class:`~mechdesign.mechanism.Mechanism`, and by name what it has parameters for of ``prior``
(a :class:`~mechdesign.prior.Prior`) and ``privacy`` (a tuple of notions); it returns axes or a
figure::

    mechdesign report design.json --kind mypackage.mymodule:plot_guesses --output guesses.svg

========================================================  ==========================================
what is drawn from                                        ``mechanism_and_prior``, ``mechanism_of``
axes and figures                                          ``new_axes``, ``fit_figure``,
                                                          ``figure_of``, ``save_figure``
colours, markers, lines, sizes of text in points          ``PALETTE``, ``MARKERS``, ``LINES``,
                                                          ``DASHES``, ``INK``, ``PALE``, ``SMALL``,
                                                          ``NORMAL``, ``series_style``
legend beside the axes                                    ``legend_beside``
names along an axis, shortened and as many as fit         ``name_ticks``, ``name_outcomes``,
                                                          ``plain_name``, ``plain_names``
numbers                                                   ``short_probability``, ``log_axis``,
                                                          ``mark_infinity``
========================================================  ==========================================
"""

from __future__ import annotations

import importlib
from typing import Any

# Bound on first use: a picture of a kernel loads no comparisons.
_HOMES = {
    "coercion": ("mechanism_and_prior", "mechanism_of"),
    "style": (
        "DASHES",
        "INK",
        "LINES",
        "MARKERS",
        "NORMAL",
        "PALE",
        "PALETTE",
        "SMALL",
        "figure_of",
        "fit_figure",
        "legend_beside",
        "log_axis",
        "new_axes",
        "save_figure",
        "series_style",
    ),
    "ticks": (
        "mark_infinity",
        "name_outcomes",
        "name_ticks",
        "plain_name",
        "plain_names",
        "short_probability",
    ),
    "_plot_binding": ("plot_binding",),
    "_plot_envelope": ("plot_envelope",),
    "_plot_estimate": ("plot_estimate",),
    "_plot_frontiers": ("plot_frontiers",),
    "_plot_kernel": ("plot_kernel",),
    "_plot_leakage": ("plot_leakage",),
    "_plot_lifts": ("plot_lifts",),
    "_plot_limits": ("plot_limits",),
    "_plot_places": ("customary_losses", "place_losses", "plot_place_losses", "plot_places"),
    "_plot_pml_regions": ("plot_pml_regions",),
    "_plot_regions": ("Regions", "plot_regions", "regions"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
