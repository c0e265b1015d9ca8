"""Pictures of unusual designs on unusual axes, and what only some of them show."""

from __future__ import annotations

import math
import warnings
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from checks import for_each, refused, slow_but
from matplotlib import pyplot
from matplotlib.figure import Figure
from pictures import check_picture, drawn, tick_texts

import mechdesign as md
from mechdesign.errors import ZeroMassWarning
from mechdesign.plotting import plain_names, save_figure

mpl.use("Agg")

# Alike at both ends.
LONG = "a rather long name of symbol number {} that goes on"


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def made(n, notion=None, *, long=False, zero=False):
    masses = np.random.default_rng(n).dirichlet(np.full(n, 2.0))
    if zero:
        masses[1] = 0.0
        masses /= masses.sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroMassWarning)
        prior = md.Prior(masses, [LONG.format(i) if long else f"s{i}" for i in range(n)])
    gains = np.eye(n) + 0.3 * np.random.default_rng(n).uniform(size=(n, n))
    return md.design(prior, md.utility.Matrix(gains, prior.labels), notion or md.PML(0.9))


DESIGNS = {
    "zero mass": lambda: made(3, zero=True),
    "zero mass, thirty, long": lambda: made(30, long=True, zero=True),
    "one outcome": lambda: made(4, md.PML(0.0)),
    "several notions": lambda: made(5, [md.ALIP(0.9, 0.7), md.LDP(1.2), md.MaximalLeakage(0.6)]),
    "far bounds": lambda: made(3, [md.LDP(0.3), md.PML(20.0)]),
    "no bound": lambda: made(3, md.PML(math.inf)),
    "thirty, LIP": lambda: made(30, md.LIP(0.8)),
}
PICTURES = {
    "kernel": lambda design, ax: md.plot_kernel(design, ax=ax),
    "lifts": lambda design, ax: md.plot_lifts(design, ax=ax),
    "leakage": lambda design, ax: md.plot_leakage(
        md.audit(design.mechanism, design.prior, design.notions), ax=ax
    ),
    "binding": lambda design, ax: md.plot_binding(design, ax=ax),
    "pml regions": lambda design, ax: md.plot_pml_regions(design.prior, [0.2, 1], ax),
}


@pytest.fixture(scope="module")
def designs():
    return {name: make() for name, make in DESIGNS.items()}


@for_each("case", slow_but(lambda case: "thirty" not in case, DESIGNS))
@for_each("kind", PICTURES)
def test_nothing_overlaps_and_nothing_is_cut(designs, kind, case):
    """On a figure that no window shows, as a page or a program would make it."""
    figure = Figure()
    axes = PICTURES[kind](designs[case], figure)
    assert axes in figure.axes
    assert not pyplot.get_fignums()
    check_picture(figure)


def test_the_contract_sees_what_is_wrong():
    def wrong(change):
        figure = Figure(figsize=(4, 3))
        change(figure.add_subplot())
        with pytest.raises(AssertionError):
            check_picture(figure)

    wrong(lambda ax: ax.set_xticks([0.4, 0.5], ["quite a long name", "another long name"]))
    wrong(lambda ax: ax.set_xticks([0, 1], ["a" * 40, "b"]))
    wrong(lambda ax: ax.set_xlabel("small", fontsize=6))
    wrong(lambda ax: ax.text(0.9, 0.5, "beyond the end of the axes"))
    wrong(lambda ax: (ax.plot([0, 1], label="x"), ax.legend(loc="center")))


def test_characters_that_cannot_be_seen_are_escaped(tmp_path):
    """A zero byte would make a file that is no SVG, a mark for right-to-left turn numbers round."""
    labels = ["nul\x00", "\u202eturned", "\ufeffmark"]
    assert plain_names(labels) == [r"nul\x00", r"\u202eturned", r"\ufeffmark"]
    axes = md.plot_kernel(md.Mechanism(np.full((3, 1), 1.0), labels, ["one"]), [0.5, 0.3, 0.2])
    save_figure(axes.figure, tmp_path / "k.svg")
    ElementTree.parse(tmp_path / "k.svg")


# Lifts


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def brackets(axes):
    """Feet and heads of brackets, in the order of their places."""
    return [
        (line.get_ydata()[0], line.get_ydata()[-1])
        for line in axes.get_lines()
        if len(line.get_xdata()) == 4
    ]


def test_every_lift_is_drawn():
    mechanism = md.Mechanism((np.eye(10) + np.roll(np.eye(10), 1, axis=0)) / 2)
    prior = md.Prior.from_counts(range(1, 11))
    axes = md.plot_lifts(mechanism, prior)
    density = mechanism.information_density(prior)
    points = [v for line in axes.get_lines() if line.get_marker() == "o" for v in line.get_ydata()]
    assert len(points) == 100
    assert sum(v == min(points) for v in points) == np.isneginf(density).sum() == 80
    drawn(axes.figure)
    edge = {t.get_text(): t.get_position()[1] for t in tick_texts(axes.yaxis)}["ruled out"]
    assert edge == min(points)
    finite = sorted(density[np.isfinite(density)].tolist())
    assert sorted(v for v in points if v > edge) == pytest.approx(finite)


def test_other_bounds_are_brackets_at_the_nearest_pair():
    kernel = np.array([[0.6, 0.4], [0.5, 0.5], [0.3, 0.7]])
    prior = md.Prior([0.2, 0.3, 0.5])
    lift = np.exp(md.Mechanism(kernel).information_density(prior))
    axes = md.plot_lifts(kernel, prior, md.DP(0.6, "adjacent"))
    # 0 and 2 are no neighbours. Nearest are 1 against 2, and at the other outcome 2 against 1.
    feet = [math.log(lift[2, 0]), math.log(lift[1, 1])]
    assert np.allclose(brackets(axes), [(v, v + 0.6) for v in feet])
    # Twice as far apart, twice the level.
    axes = md.plot_lifts(kernel, prior, md.MetricPrivacy(0.1, "absolute"))
    assert np.allclose(brackets(axes), [(v, v + 0.1) for v in feet])
    # Against a set of priors: the least likely of them.
    axes = md.plot_lifts(kernel, prior, md.RobustPML.floor(0.9, 0.1))
    q = prior.probabilities @ kernel
    least = np.log((0.1 * kernel.sum(axis=0) + 0.7 * kernel.min(axis=0)) / q)
    assert np.allclose(brackets(axes), [(v, v + 0.9) for v in least])


# Leakages


# Rare symbols


@pytest.mark.parametrize("rare", [1e-4, 1e-9, 1e-15])
def test_levels_of_rare_symbols_are_logarithmic(rare):
    prior = md.Prior.from_counts([1 / rare, 1 / rare, 2])
    axes = md.plot_pml_regions(prior, [0.3])
    assert axes.get_xscale() == "log"
    first = md.pml_regions(prior).levels[0]
    assert axes.get_xlim()[0] < first / 2
    check_picture(axes.figure)
    axes = md.plot_pml_regions(md.Prior([0.5, 0.3, 0.2]), 0.0)
    assert axes.get_xscale() == "linear"


# Mistakes


def test_mistakes_are_named(designs):
    kernel = [[0.5, 0.5], [0.4, 0.6]]
    refused(lambda: md.plot_leakage(kernel), "report of an audit", "md.audit")
    refused(lambda: md.plot_estimate({"a": 10}), "md.estimate")
    refused(lambda: md.plot_lifts(kernel, [0.5, 0.5], "pml"), "PML(0.5)")
    refused(lambda: md.plot_kernel(kernel, [0.5, 0.3, 0.2]), "2 probabilities")
    for most in (0, -1, 2.5, True):
        refused(lambda most=most: md.plot_binding(designs["zero mass"], most), "positive whole")
    refused(lambda: md.plot_kernel(kernel, ax=3), "matplotlib axes")
    refused(lambda: md.plot_kernel(kernel, ax=pyplot.subplots(1, 2)[1]), "several axes")
    refused(lambda: md.plot_frontiers(designs["zero mass"]), "md.compare")
