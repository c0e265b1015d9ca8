"""Every picture: takes axes and gives them back, overlaps nowhere, is the same each time."""

from __future__ import annotations

import math
from itertools import combinations

import matplotlib as mpl
import numpy as np
import pytest
from checks import for_each, slow_but
from matplotlib import pyplot
from matplotlib.colors import to_rgb
from matplotlib.text import Text

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import InputError, MechdesignError, StorageError
from mechdesign.plotting import (
    PALETTE,
    new_axes,
    plain_name,
    save_figure,
    series_style,
)

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def prior_of(n, *, long=False, zero=False):
    mass = np.arange(1.0, n + 1)
    if zero:
        mass[0] = 0.0
    labels = [
        f"a rather long label that goes on and on, number {i}" if long else f"s{i}"
        for i in range(n)
    ]
    return md.Prior(mass / mass.sum(), labels)


def design_of(prior, *notions):
    return md.design(prior, md.utility.Hamming(), list(notions) or [md.LIP(1.0)])


def estimate_of(prior):
    # Every symbol is reported as itself two times in three, and as any of them otherwise.
    size = len(prior)
    mechanism = md.Mechanism(
        (np.full((size, size), 1.0) + 2 * size * np.eye(size)) / (3 * size),
        prior.labels,
        prior.labels,
    )
    rng = np.random.default_rng(0)
    q = mechanism.output_distribution(prior)
    reports = [prior.labels[i] for i in rng.choice(size, 2000, p=q / q.sum())]
    return md.estimate(reports, mechanism)


def sampled(prior):
    """An audit of 400 reports about each symbol, with all three verdicts."""
    size = len(prior)
    kernel = (np.full((size, size), 1.0) + size * np.eye(size)) / (2 * size)
    rng = np.random.default_rng(1)
    inputs = np.repeat(np.arange(size), 400)
    reports = np.concatenate([rng.choice(size, 400, p=row / row.sum()) for row in kernel])
    notions = [md.LDP(0.2), md.PML(5), md.ALIP(1, 1), md.LDP(math.inf)]
    return md.audit_samples(
        [prior.labels[x] for x in inputs], reports.tolist(), notions, prior=prior
    )


PICTURES = {
    "kernel": lambda prior, ax: md.plot_kernel(design_of(prior), ax=ax),
    "lifts": lambda prior, ax: md.plot_lifts(design_of(prior), ax=ax),
    "lifts, full disclosure": lambda prior, ax: md.plot_lifts(
        np.eye(len(prior)), prior, md.PML(1), ax
    ),
    "lifts, LDP": lambda prior, ax: md.plot_lifts(design_of(prior, md.LDP(2), md.PML(1)), ax=ax),
    "leakage": lambda prior, ax: md.plot_leakage(
        md.audit(design_of(prior).mechanism, prior, [md.ALIP(1, 1), md.LDP(3)]), ax=ax
    ),
    "leakage, full disclosure": lambda prior, ax: md.plot_leakage(
        md.audit(np.eye(len(prior)), prior), ax=ax
    ),
    "binding": lambda prior, ax: md.plot_binding(design_of(prior, md.LDP(1), md.PML(0.9)), ax=ax),
    "envelope": lambda prior, ax: md.plot_envelope(
        md.leakage_envelope(design_of(prior).mechanism, prior, [0, 0.2, 0.5, 0.9]), ax
    ),
    "limits": lambda prior, ax: md.plot_limits(sampled(prior), ax),
    "pml regions": lambda prior, ax: md.plot_pml_regions(prior, [0.1, 1.0], ax=ax),
    "regions": lambda prior, ax: md.plot_regions(prior, ax=ax),
    "estimate": lambda prior, ax: md.plot_estimate(
        estimate_of(prior), prior, np.full(len(prior), 1 / len(prior)), ax
    ),
    "frontiers": lambda prior, ax: md.plot_frontiers(
        md.compare(prior, md.utility.Hamming(), [md.PML, md.LDP], [0.1, 1.0, math.inf]), ax
    ),
}
PRIORS = {
    "1": prior_of(1),
    "2": prior_of(2),
    "3 long": prior_of(3, long=True),
    "6": prior_of(6),
    "6 long": prior_of(6, long=True),
    "30": prior_of(30),
    "30 long": prior_of(30, long=True),
}


def visible_texts(figure):
    found = []
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip():
            box = text.get_window_extent()
            if box.width > 0 and box.height > 0:
                found.append((text.get_text(), box))
    return found


def overlaps(texts, allowed=1.0):
    """Pairs of texts that share more than a margin of pixels both ways."""
    pairs = []
    for (a, p), (b, q) in combinations(texts, 2):
        wide = min(p.x1, q.x1) - max(p.x0, q.x0)
        high = min(p.y1, q.y1) - max(p.y0, q.y0)
        if wide > allowed and high > allowed:
            pairs.append((a, b))
    return pairs


# A secret that is known has no regions.
DRAWN = [(name, size) for name in PICTURES for size in PRIORS if (name, size) != ("regions", "1")]


@for_each(("name", "size"), slow_but(lambda case: case[1] == "3 long", DRAWN))
def test_nothing_overlaps_and_nothing_is_cut(name, size):
    pyplot.close("all")  # of the case before
    axes = PICTURES[name](PRIORS[size], None)
    figure = axes.figure
    figure.canvas.draw()
    # Ticks outside of the limits have a text that is not drawn.
    box = figure.bbox
    low, high = axes.get_xlim(), axes.get_ylim()
    hidden = {
        id(tick.label1)
        for axis, limits in ((axes.xaxis, sorted(low)), (axes.yaxis, sorted(high)))
        for tick in axis.get_major_ticks()
        if not limits[0] - 1e-9 <= tick.get_loc() <= limits[1] + 1e-9
    }
    texts = [
        (text.get_text(), text.get_window_extent())
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in hidden
    ]
    assert texts
    assert not overlaps(texts)
    for label, extent in texts:
        assert extent.x0 >= box.x0 - 1, label
        assert extent.x1 <= box.x1 + 1, label
        assert extent.y0 >= box.y0 - 1, label
        assert extent.y1 <= box.y1 + 1, label


def test_a_picture_that_overlaps_would_be_seen():
    """A control for the test above."""
    axes = new_axes()
    axes.text(0.5, 0.5, "one thing")
    axes.text(0.52, 0.5, "another")
    axes.figure.canvas.draw()
    assert ("one thing", "another") in overlaps(visible_texts(axes.figure))


@for_each("name", PICTURES)
def test_axes_that_are_given_are_used_and_left_where_they_are(name):
    pyplot.close("all")  # of the case before
    figure, grid = pyplot.subplots(1, 2, figsize=(9, 4))
    before = grid[1].get_position().bounds
    assert PICTURES[name](PRIORS["6"], grid[1]) is grid[1]
    assert grid[1].get_position().bounds == before
    assert tuple(figure.get_size_inches()) == (9, 4)
    assert not grid[0].has_data()
    assert len(pyplot.get_fignums()) == 1


@for_each("name", slow_but(6, PICTURES))
@for_each("ending", slow_but(1, ["svg", "pdf", "png"]))
def test_files_are_the_same_each_time(name, ending, tmp_path):
    pyplot.close("all")  # of the case before
    for part in ("a", "b"):
        save_figure(PICTURES[name](PRIORS["3 long"], None).figure, tmp_path / f"{part}.{ending}")
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


def test_files_that_cannot_be_written(tmp_path):
    figure = PICTURES["kernel"](PRIORS["2"], None).figure
    with pytest.raises(StorageError, match="png"):
        save_figure(figure, tmp_path / "a.bmp")
    with pytest.raises(StorageError, match="existing folder"):
        save_figure(figure, tmp_path / "nowhere" / "a.png")
    assert not list(tmp_path.iterdir())


# Colours


def luminance(colour):
    channels = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot([0.2126, 0.7152, 0.0722], channels))


def seen_by(colour, blindness):
    """Colours as people without long or medium cones see them (linear model of Viénot et al.)."""
    lms = np.array(
        [[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]]
    )
    remove = {
        "protanopia": [[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]],
        "deuteranopia": [[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]],
    }[blindness]
    linear = np.array(to_rgb(colour)) ** 2.2
    return np.clip(np.linalg.inv(lms) @ remove @ lms @ linear, 0, 1) ** (1 / 2.2)


@pytest.mark.parametrize("blindness", ["protanopia", "deuteranopia"])
def test_colours_can_be_told_apart(blindness):
    perceived = [seen_by(colour, blindness) for colour in PALETTE]
    assert min(np.abs(a - b).max() for a, b in combinations(perceived, 2)) > 0.1
    assert np.abs(seen_by("#ff0000", blindness) - seen_by("#6f6f00", blindness)).max() < 0.5


def test_series_differ_in_more_than_colour():
    styles = [series_style(k) for k in range(len(PALETTE))]
    for key in ("color", "marker", "linestyle"):
        assert len({str(style[key]) for style in styles}) == len(styles)
    assert all(luminance(colour) < 0.55 for colour in PALETTE)  # dark enough on white paper


# What is drawn is what is so


def test_the_kernel_in_numbers():
    with pytest.warns(md.errors.ZeroMassWarning):
        prior = md.Prior([0.5, 0.5, 0.0], ["a", "b", "never"])
    axes = md.plot_kernel(md.Mechanism([[0.25, 0.75], [0.999, 0.001], [0, 1]], prior.labels), prior)
    cells = [text.get_text() for text in axes.texts]
    assert cells == [".25", ".75", ">.99", "<.01", "0", "1"]
    assert [patch.get_hatch() for patch in axes.patches] == ["////"]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a  0.5", "b  0.5", "never  0"]


def test_lifts_against_bayes():
    prior = PRIORS["3 long"]
    found = design_of(prior, md.PML(0.8))
    axes = md.plot_lifts(found)
    joint = prior.probabilities[:, None] * found.mechanism.kernel
    q = joint.sum(axis=0)
    used = q > 0
    with np.errstate(divide="ignore"):
        expected = np.log(joint[:, used] / q[used]) - np.log(prior.probabilities)[:, None]
    lines = [line for line in axes.get_lines() if line.get_label() in map(plain_name, prior.labels)]
    drawn = np.array([line.get_ydata() for line in lines])
    finite = np.isfinite(expected)
    assert drawn[finite] == pytest.approx(expected[finite], abs=1e-12)
    assert any(
        line.get_label() == "PML(0.8)" and set(line.get_ydata()) == {0.8}
        for line in axes.get_lines()
    )


def test_what_is_ruled_out_is_shown_at_the_edge():
    axes = md.plot_lifts(np.eye(3), [0.5, 0.3, 0.2], [md.PMC(1.0), md.LDP(1.0)])
    assert "ruled out" in [t.get_text() for t in axes.get_yticklabels()]
    bottom = dict(
        zip([t.get_text() for t in axes.get_yticklabels()], axes.get_yticks(), strict=True)
    )["ruled out"]
    points = [line for line in axes.get_lines() if line.get_marker() not in ("None", None, "")]
    assert sum(int((np.asarray(line.get_ydata()) == bottom).sum()) for line in points) == 6
    assert bottom > axes.get_ylim()[0]


@for_each(
    ("notion", "heights"),
    [
        (md.PML(0.5), {0.5}),
        (md.PMC(0.5), {-0.5}),
        (md.LIP(0.5), {0.5, -0.5}),
        (md.ALIP(0.7, 0.4), {-0.7, 0.4}),
        (md.PML(math.inf), set()),
        (md.LDP(0.5), set()),
    ],
)
def test_bounds_of_lifts(notion, heights):
    axes = md.plot_lifts([[0.6, 0.4], [0.4, 0.6]], [0.5, 0.5], notion)
    flat = {
        line.get_ydata()[0]
        for line in axes.get_lines()
        if len(line.get_xdata()) == 2 and line.get_transform() != axes.transData
    }
    assert flat - {0} == heights


def test_leakages_against_the_report():
    prior = PRIORS["6"]
    report = md.audit(design_of(prior, md.PML(0.9)).mechanism, prior, md.PML(0.9))
    axes = md.plot_leakage(report, ["pml"])
    used = report.mechanism.output_distribution(prior) > 0
    line = next(line for line in axes.get_lines() if line.get_label() == "PML")
    assert line.get_ydata() == pytest.approx(report.leakages["pml"].per_outcome[0][used])
    assert "asked: PML(0.9), yes" in [other.get_label() for other in axes.get_lines()]
    with pytest.raises(InputError, match="did you mean 'pml'"):
        md.plot_leakage(report, ["pmk"])
    with pytest.raises(InputError, match="at least one"):
        md.plot_leakage(report, [])
    assert md.plot_leakage(report, md.LDP).get_legend().get_texts()[0].get_text() == "LDP"


def test_prices_add_up():
    found = design_of(PRIORS["30"], md.LDP(1))
    prices = md.binding(found)
    axes = md.plot_binding(prices, most=5)
    widths = [patch.get_width() for patch in axes.patches]
    assert len(widths) == 6
    assert sum(widths) == pytest.approx(sum(prices.slopes.values()))
    assert "more together" in axes.get_yticklabels()[-1].get_text()
    with pytest.raises(InputError, match="linear utility"):
        md.plot_binding(md.design(PRIORS["2"], md.utility.MutualInformation(), md.PML(0.3)))


def test_estimates_and_truth():
    prior = PRIORS["6"]
    found = estimate_of(prior)
    axes = md.plot_estimate(found, dict(zip(prior.labels, prior.probabilities, strict=True)))
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert list(lines["truth"].get_xdata()) == pytest.approx(prior.probabilities.tolist())
    assert list(lines["estimate, 95% interval"].get_xdata()) == found.values.tolist()
    (spans,) = [c for c in axes.collections if hasattr(c, "get_segments")]
    for k, segment in enumerate(spans.get_segments()):
        assert segment[:, 0].tolist() == [found.lower[k], found.upper[k]]
    for bad in ([1.0], {"s0": 1.0}, "truth", [math.nan] * 6):
        with pytest.raises(InputError, match="finite number"):
            md.plot_estimate(found, bad)


def test_pictures_need_matplotlib(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MechdesignError, match="mechdesign\\[web\\]"):
        md.plot_kernel(np.eye(2))


def test_symbols_of_zero_mass_are_hollow():
    with pytest.warns(md.errors.ZeroMassWarning):
        prior = prior_of(4, zero=True)
    axes = md.plot_lifts(design_of(prior))
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert lines["s0, zero mass"].get_markerfacecolor() == "none"
    assert lines["s1"].get_markerfacecolor() != "none"
    md.plot_leakage(md.audit(design_of(prior).mechanism, prior))


# Command line


@for_each(
    "arguments",
    [
        ["m.json", "-o", "a.docx"],
        ["m.json", "-o", "nowhere/a.png"],
        ["m.json", "-o", "a.png", "-k", "pie"],
        ["n.json", "-o", "a.png"],
        ["k.csv", "-o", "a.png"],
        ["k.csv", "-o", "a.png", "--prior", ".5,.5", "-k", "binding"],
        ["m.json", "-o", "m.json"],
    ],
)
def test_command_line_refuses(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    md.save(design_of(PRIORS["2"]), "m.json")
    (tmp_path / "k.csv").write_text("input,y,z\na,.9,.1\nb,.2,.8\n")
    assert main(["report", *arguments]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
