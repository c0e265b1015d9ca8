"""A comparison as a page."""

from __future__ import annotations

from .._compare.frontiers import Comparison
from .._compare.paths import MATCHED_BY
from ..plotting._plot_frontiers import plot_frontiers
from .rendering import Figures, render


def comparison_page(found: Comparison, title: str = "Comparison of privacy notions") -> str:
    """One self-contained HTML page: verdict, picture, table of certificates.

    Raises :class:`MechdesignError` when matplotlib or jinja2 are not installed.
    """
    figures = Figures()
    label = f"Frontiers of {', '.join(found.notions)}; the numbers are in the tables below"
    panels = []
    for prior, utility in found.panels:
        rows = [
            {**row, "shown": ", ".join(str(n) for n in point.design.notions)}
            for point, row in zip(found.points, found.rows(), strict=True)
            if (point.prior, point.utility) == (prior, utility)
        ]
        panels.append({"prior": prior, "utility": utility, "points": rows})
    more = []
    if found.match == "loss":
        words = "Mutual information of the designs"
        axes = plot_frontiers(found, quantity="mutual_information")
        more.append((words, figures.inline(axes, words)))
    return render(
        "comparison.html.j2",
        title=title,
        found=found,
        matched_by=MATCHED_BY[found.match],
        picture=figures.inline(plot_frontiers(found), label),
        more=more,
        panels=panels,
    )
