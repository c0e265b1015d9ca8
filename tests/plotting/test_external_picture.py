"""A picture from outside the package: one file that imports the face of the room and no more."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from pictures import check_picture

import mechdesign as md
from mechdesign.cli import main

mpl.use("Agg")

PICTURE = '''
"""How well the secret is guessed from each outcome."""

from mechdesign.plotting import (
    PALETTE,
    fit_figure,
    legend_beside,
    mechanism_and_prior,
    name_outcomes,
    new_axes,
    series_style,
)


def plot_guesses(item, prior=None, privacy=(), ax=None):
    """The largest posterior after each outcome that can occur; returns the axes."""
    mechanism, prior = mechanism_and_prior(item, prior)
    q = mechanism.output_distribution(prior)
    used = [j for j, probability in enumerate(q) if probability > 0]
    best = mechanism.posterior(prior)[:, used].max(axis=0)
    ax = new_axes(ax, (0.6 * max(len(used), 3), 2.5))
    ax.bar(range(len(used)), best, color=PALETTE[0], label="after the outcome")
    style = series_style(1)
    before = prior.probabilities.max()
    ax.axhline(before, color=style["color"], ls=style["linestyle"], label="before")
    name_outcomes(ax, [mechanism.outputs[j] for j in used], q[used])
    ax.set_ylabel(" ".join(["best guess", *map(str, privacy)]))
    legend_beside(ax)
    return fit_figure(ax)


def plot_nothing(item):
    return None


def plot_wrong(item):
    raise ZeroDivisionError("no such picture")


def plot_two(item, other):
    return plot_guesses(item)


def plot_refusing(item):
    return plot_guesses(item.mechanism)
'''


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The module of the picture, in the current folder."""
    (tmp_path / "own_pictures.py").write_text(PICTURE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    import own_pictures

    yield own_pictures
    del sys.modules["own_pictures"]


def design_of(size):
    labels = [f"a rather long label that goes on and on, number {i}" for i in range(size)]
    prior = md.Prior.from_counts(range(1, size + 1), labels)
    return md.design(prior, md.utility.Hamming(), md.PML(0.9))


@pytest.mark.parametrize("size", [1, 2, 3, 6, 30])
def test_it_is_drawn_as_those_of_the_package(own, size):
    figure = Figure()
    design = design_of(size)
    axes = own.plot_guesses(design, ax=figure)
    assert axes.figure is figure
    check_picture(figure)
    used = design.mechanism.output_distribution(design.prior) > 0
    best = design.mechanism.posterior(design.prior)[:, used].max(axis=0)
    assert [bar.get_height() for bar in axes.patches] == pytest.approx(best)


def test_the_function_is_given_the_prior_and_the_notions_that_it_asks_for(own):
    design = design_of(2)
    md.save(design, "m.json")
    drawn = []
    own.plot_seen = lambda kernel, prior, privacy, ax=None: (
        drawn.append((kernel, prior, privacy)) or own.plot_guesses(kernel, prior, privacy, ax)
    )
    assert main(["report", "m.json", "-k", "own_pictures:plot_seen", "-o", "a.svg"]) == 0
    assert (
        main(["report", "m.json", "-p", "ldp:1", "-k", "own_pictures:plot_seen", "-o", "b.svg"])
        == 0
    )
    (kernel, prior, privacy), (_, _, asked) = drawn
    assert kernel.mechanism == design.mechanism
    assert (prior, privacy, asked) == (design.prior, design.notions, (md.LDP(1),))
    # Pictures of the package are such functions.
    for name in ("plot_kernel", "plot_lifts"):
        kind = f"mechdesign.plotting:{name}"
        assert main(["report", "m.json", "-k", kind, "-o", f"{name}.svg"]) == 0
        assert main(["report", "m.json", "-k", name[5:], "-o", "own.svg", "--force"]) == 0
        assert Path(f"{name}.svg").read_bytes() == Path("own.svg").read_bytes()


@pytest.mark.parametrize(
    ("name", "code", "fragment"),
    [
        ("plot_nothing", 2, "got None; return what it drew on"),
        ("plot_two", 2, "missing a required argument: 'other'; give defaults"),
        ("plot_wrong", 3, "own_pictures:plot_wrong failed with ZeroDivisionError: no such picture"),
        ("plot_refusing", 2, "prior of a kernel: expected a prior"),
    ],
)
def test_a_function_that_is_no_picture_is_named(own, name, code, fragment, capsys):
    md.save(design_of(2), "m.json")
    assert main(["report", "m.json", "-k", f"own_pictures:{name}", "-o", "a.svg"]) == code
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("error: ")
    assert fragment in line
    assert not Path("a.svg").exists()
