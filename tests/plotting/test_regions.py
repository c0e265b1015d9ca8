"""The plane of levels: curves against the formulas, and what the plot shows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from strategies import priors

import mechdesign as md
from mechdesign.plotting import regions


@given(priors(2, 6))
def test_curves_are_the_formulas(prior):
    # The plain formulas below lose their digits for rarer symbols.
    assume(prior.pmin > 1e-5)
    found = regions(prior, points=30)
    p = prior.pmin
    assert found.limit == pytest.approx(math.log(1 / (1 - p)))
    inside = found.upper < 0.999 * found.limit
    wanted = np.log(p / (1 - np.exp(found.upper[inside]) * (1 - p)))
    assert found.implied_lower[inside] == pytest.approx(wanted, rel=1e-3, abs=1e-6)
    wanted = np.log((1 - np.exp(-found.lower) * (1 - p)) / p)
    assert found.implied_upper == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    # There and back: what PML implies for PMC implies no less than it for PML.
    back = np.log((1 - np.exp(-found.implied_lower) * (1 - p)) / p)
    assert (back >= found.upper - 1e-9).all()


def test_the_curves_of_a_fair_coin_coincide():
    found = regions(md.Prior([0.5, 0.5]), most=3.0, points=400)
    again = np.log(0.5 / (1 - np.exp(found.implied_upper) * 0.5))
    assert again == pytest.approx(found.lower, rel=1e-9, abs=1e-12)
    three = regions(md.Prior([0.4, 0.3, 0.3]), most=3.0)
    gap = np.interp(three.upper, three.implied_upper, three.lower)
    assert (three.implied_lower[1:] > gap[1:] + 1e-4).all()


def test_the_plot_has_both_curves():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    axes = md.plot_regions(md.Prior([0.5, 0.3, 0.2]), most=2.0)
    labels = [line.get_label() for line in axes.get_lines()]
    assert "PMC implied by ε_u-PML" in labels
    assert "PML implied by ε_l-PMC" in labels
    assert axes.get_ylim() == (0.0, 2.0)
    assert "ε_u" in axes.get_xlabel()
    assert md.plot_regions(md.Prior([0.5, 0.5]), ax=axes) is axes
    pyplot.close(axes.figure)


@pytest.mark.parametrize("most", [None, 1e-3, 2.0])
def test_rare_symbols_have_logarithmic_axes(most):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    prior = md.Prior([0.5, 0.4999, 0.0001])
    axes = md.plot_regions(prior, most)
    assert axes.get_xscale() == axes.get_yscale() == "log"
    pml, pmc = axes.get_lines()[:2]
    for line in (pml, pmc):
        x, y = line.get_data()
        assert (np.diff(x) > 0).all()
        assert (np.diff(y) > 0).all()
    # Both curves are in the picture, not on its edges.
    left, right = axes.get_xlim()
    inside = np.log(pml.get_xdata()[-1] / left) / np.log(right / left)
    assert 0.1 < inside < 0.9
    pyplot.close(axes.figure)
