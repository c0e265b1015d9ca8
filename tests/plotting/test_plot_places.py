"""Maps without tiles and losses against levels: what is drawn is what is so."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from checks import for_each
from matplotlib import pyplot
from pictures import check_picture

import mechdesign as md
from mechdesign.errors import InputError
from mechdesign.plotting import place_losses

mpl.use("Agg")
TOWN = md.places.grid((59.29, 17.97, 59.37, 18.15), cells=(3, 4))
RNG = np.random.default_rng(0)
PRIOR = TOWN.prior(RNG.normal([59.33, 18.06], [0.008, 0.015], (200, 2)), added=1)
NOISY = md.noise.planar_geometric(TOWN, 1.0, within=1500)
ROADS = md.places.from_roads(
    {"a": (59.30, 18.0), "b": (59.31, 18.0), "c": (59.31, 18.02)},
    [("a", "b", 1200), ("b", "c", 1300)],
)


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


PICTURES = {
    "prior": lambda ax: md.plot_places(PRIOR, ax=ax),
    "reports": lambda ax: md.plot_places(NOISY, "r2c2", ax=ax),
    "values": lambda ax: md.plot_places(TOWN, values=np.arange(12.0), ax=ax),
    "places": lambda ax: md.plot_places(TOWN, ax=ax),
    "roads": lambda ax: md.plot_places(ROADS.uniform(), ax=ax),
    "losses": lambda ax: md.plot_place_losses(TOWN, PRIOR, [0.5, 2.0], 1500, ax=ax),
}


@for_each("name", PICTURES)
def test_nothing_overlaps_and_axes_that_are_given_are_used(name):
    check_picture(PICTURES[name](None).figure)
    _, ax = pyplot.subplots()
    assert PICTURES[name](ax) is ax


def heat(axes):
    return np.asarray(axes.collections[0].get_array(), dtype=float).ravel()


def test_the_map_shows_the_prior_with_north_up():
    axes = md.plot_places(PRIOR)
    assert heat(axes) == pytest.approx(PRIOR.probabilities)
    assert axes.get_ylim()[0] < axes.get_ylim()[1]
    assert axes.get_ylim() == pytest.approx((59.29, 59.37))
    width, height = axes.figure.get_size_inches() * np.array(axes.get_position().size)
    ground = TOWN.step[1] * 4 / (TOWN.step[0] * 3)
    assert width / height == pytest.approx(ground, rel=0.02)


def test_losses_are_those_of_audited_kernels_above_the_optimum():
    rows = place_losses(TOWN, PRIOR, [0.5, 2.0], 1500)
    assert len(rows) == 2 * 7
    for level in (0.5, 2.0):
        by_name = {name: loss for name, at, loss in rows if at == level}
        assert min(by_name, key=by_name.__getitem__) == "optimum"
        for name in ("planar Laplace", "planar geometric", "exponential"):
            assert by_name[f"{name}, remapped"] <= by_name[name]
        best = md.design(PRIOR, TOWN.loss(), TOWN.privacy(level, within=1500))
        assert by_name["optimum"] == pytest.approx(-best.value)
    assert {name for name, *_ in place_losses(ROADS, ROADS.uniform(), [1.0], 1500)} == {
        "exponential",
        "exponential, remapped",
        "optimum",
    }


WRONG = {
    "unknown place": lambda: md.plot_places(NOISY, "r9c9"),
    "no reports": lambda: md.plot_places(PRIOR, "r1c1"),
    "short values": lambda: md.plot_places(TOWN, values=[1.0]),
    "nan": lambda: md.plot_places(TOWN, values=[float("nan")] * 12),
    "no places": lambda: md.plot_places(md.Prior.uniform(3)),
}


@for_each("name", WRONG)
def test_what_cannot_be_drawn_is_refused(name):
    with pytest.raises(InputError):
        WRONG[name]()
