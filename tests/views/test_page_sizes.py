"""Pages, pictures and texts on both sides of every number at which one of them changes its form."""

from __future__ import annotations

import io
import math
import re
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot

import mechdesign as md
from mechdesign.inference.planning import NOT_SHOWN, errors_to_show
from mechdesign.plotting.style import save_figure
from mechdesign.views.pages import report_page
from mechdesign.views.tables import MOST_ROWS
from mechdesign.views.text import print_audit, print_design

mpl.use("Agg")

SIZES = (1, 2, 8, 9, 50, 51, 100, 101, 500, 501, 1000)
# Inputs and outputs: each size on either side, with one beyond the limits beside it or below.
SHAPES = [
    *((n, n) for n in SIZES if n < 500),
    (501, 500),
    (500, 501),
    (2, 1000),
    (1000, 2),
    (51, 9),
]
# What a reviewer can still open, in characters.
LARGEST = 3_000_000


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def kernel_of(n, m):
    """Every report as likely as any other, but for one that each input makes more likely."""
    kernel = np.ones((n, m))
    kernel[np.arange(n), np.arange(n) % m] = math.e
    return md.Mechanism(kernel / kernel.sum(axis=1, keepdims=True))


def rows_by_caption(page):
    found = {}
    for table in re.findall(r"<table.*?</table>", page, re.DOTALL):
        caption = re.search(r"<caption.*?>(.*?)</caption>", table).group(1)
        found[caption] = len(re.findall(r"<tr>", re.search(r"<tbody>(.*)</tbody>", table).group(1)))
    return found


def few_and_all(few, every):
    """The first for the fast suite, all others for the whole one."""
    rest = [one for one in every if one not in few]
    cases = [few, pytest.param(rest, marks=pytest.mark.slow)]
    return pytest.mark.parametrize("sizes", cases, ids=["few", "all"])


@few_and_all([(1, 1), (9, 51), (51, 51)], SHAPES)
def test_pages_pictures_and_texts_stand_at_every_size(sizes, capsys):
    for n, m in sizes:
        prior, kernel = md.Prior.uniform(n), kernel_of(n, m)
        page = report_page(kernel, prior, md.LDP(1.5))
        HTMLParser().feed(page)
        assert len(page) < LARGEST
        planned = errors_to_show(kernel, prior, 1000)
        rows = rows_by_caption(page)
        assert rows["Beliefs before and after a report"] == min(n, MOST_ROWS)
        # The errors are a picture and a table, or a sentence: none of them stops before the others.
        answers = 0 if planned is None else len(planned.labels)
        assert page.count("<figure>") == 3 + bool(answers)
        assert (str(NOT_SHOWN) in page) == (not answers)
        assert rows.get("Standard errors of 1000 reports", 0) == min(answers, MOST_ROWS)
        if planned is not None:
            buffer = io.BytesIO()
            save_figure(md.plot_estimate(planned).figure, buffer)
            assert len(buffer.getvalue()) < LARGEST
        pyplot.close("all")
        print_audit(md.audit(kernel, prior, md.LDP(1.5)))
        assert "Leakage in nats" in capsys.readouterr().out


@few_and_all([1, 51], [n for n in SIZES if n <= 101])
def test_designs_are_shown_at_every_size(sizes, capsys):
    for size in sizes:
        design = md.design(md.Prior.uniform(size), md.utility.Hamming(), md.LDP(1))
        assert len(report_page(design)) < LARGEST
        print_design(design, md.audit(design.mechanism, design.prior, md.LDP(1)), 1000)
        assert "Standard errors of 1000 reports" in capsys.readouterr().out
        for axes in (md.plot_binding(design), md.plot_pml_regions(design.prior, [0.1, 1])):
            save_figure(axes.figure, io.BytesIO())
        pyplot.close("all")
