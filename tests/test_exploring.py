"""The model behind the page: settings, answers, frontiers, recipes, and how they are shown."""

from __future__ import annotations

import itertools
import math
import shlex
from dataclasses import replace

import numpy as np
import pytest
from checks import refused
from hypothesis import given
from hypothesis import strategies as st

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import LevelError, PriorError, UnknownNameError
from mechdesign.explorer import frontiers
from mechdesign.explorer.answering import answer
from mechdesign.explorer.recipes import FILE, python_lines, shell_lines
from mechdesign.explorer.settings import (
    LARGEST_SHARE,
    MOST_SYMBOLS,
    OFFERED,
    UTILITIES,
    Column,
    Demand,
    Settings,
    parse_number,
)
from mechdesign.privacy.notion import NOTIONS

ABC = Settings.of_prior(md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"]))
NUMBERS = Settings.of_prior(md.Prior([0.5, 0.3, 0.2], [1, 2, 4]))
TITANIC = Settings.of_prior(md.Prior.from_csv("titanic", "class"), Column("titanic", "class"))

shares = st.lists(st.integers(0, 1000), min_size=2, max_size=8).filter(any)


def weighed(weights):
    names = tuple(f"s{i}" for i in range(len(weights)))
    return replace(ABC, names=names, weights=tuple(map(float, weights)))


# Settings


def test_a_column_gives_the_exact_prior_that_the_library_counts():
    assert TITANIC.prior() == md.Prior.from_csv("titanic", "class")
    assert TITANIC.weights == TITANIC.prior().weights
    assert str(TITANIC.source) == "titanic: class"


@given(shares, st.data(), st.floats(0, 1))
def test_a_bar_that_is_moved_leaves_the_others_their_proportions(weights, data, share):
    place = data.draw(st.integers(0, len(weights) - 1))
    settings = weighed(weights)
    moved = settings.with_share(place, share)
    assert math.fsum(moved.shares) == pytest.approx(1, abs=1e-12)
    others = [i for i in range(len(weights)) if i != place]
    had = sum(weights[i] for i in others)
    wanted = min(share, LARGEST_SHARE) if had else share
    if had or share < 1:
        assert moved.shares[place] == pytest.approx(wanted, abs=2e-8)
    rest = 1 - wanted
    for i in others:
        part = weights[i] / had if had else 1 / len(others)
        assert moved.shares[i] == pytest.approx(part * rest, abs=2e-8)
        # Nothing gets or loses its mass on the way.
        assert (moved.shares[i] > 0) == (weights[i] > 0 if had else rest > 0)


def test_equal_symbols_stay_equal_and_the_prior_stays_short():
    moved = weighed([1, 1, 1, 1]).with_share(0, 0.1)
    assert moved.weights == (0.1, 0.3, 0.3, 0.3)
    assert weighed([1] * 7).uniform().prior().is_uniform
    assert weighed([3, 1]).zipf().weights == (0.666666667, 0.333333333)


def test_the_last_symbol_with_mass_shares_what_it_gives_away_with_all():
    moved = weighed([1, 0, 0]).with_share(0, 0.5)
    assert moved.weights == (0.5, 0.25, 0.25)
    assert weighed([1, 0]).with_share(1, 0).weights == (1.0, 0.0)
    assert weighed([1]).with_share(0, 0.3) == weighed([1])


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan, math.inf])
def test_a_mass_that_is_none_is_refused(share):
    refused(lambda: ABC.with_share(0, share), "from 0 to 1", error=PriorError)


def test_symbols_come_and_go():
    more = ABC.with_added()
    assert more.names == ("a", "b", "c", "d")
    np.testing.assert_allclose(more.shares, [0.375, 0.225, 0.15, 0.25], atol=1e-8)
    assert NUMBERS.with_added().labels == [1, 2, 4, 5]
    assert TITANIC.with_added().names[-1] == "new 5"
    assert TITANIC.with_added().source is None
    np.testing.assert_allclose(more.without(3).shares, ABC.shares, atol=1e-8)
    assert weighed([1, 0, 0]).without(0).weights == (0.5, 0.5)
    one = ABC.without(0).without(0)
    refused(lambda: one.without(0), "at least one symbol", error=PriorError)
    full = Settings.of_prior(md.Prior.uniform(MOST_SYMBOLS))
    refused(full.with_added, "at most 50", error=PriorError)
    refused(lambda: ABC.with_prior(md.Prior.uniform(51)), "at most 50", error=PriorError)


def test_names_are_changed_or_refused():
    changed = TITANIC.renamed(3, "  staff ")
    assert changed.names == ("1st", "2nd", "3rd", "staff")
    assert changed.source is None
    np.testing.assert_allclose(changed.shares, TITANIC.shares, atol=1e-8)
    assert TITANIC.renamed(3, "crew") is TITANIC
    assert ABC.renamed(0, "x" * 300).names[0] == "x" * 300
    for text in ("", "   ", "a\nb", "\ud800"):
        refused(lambda text=text: ABC.renamed(0, text), "name of symbol 1", error=PriorError)
    refused(lambda: ABC.renamed(0, "b"), "distinct labels", "'b'", error=PriorError)


def test_names_are_read_as_the_library_reads_labels():
    assert NUMBERS.prior().labels == (1, 2, 4)
    assert NUMBERS.renamed(0, "one").labels == ["one", "2", "4"]


def test_demands_are_set_added_and_removed():
    with_alip = ABC.with_notion("alip")
    assert with_alip.demand("alip").notion == md.ALIP(0.5, 0.5)
    changed = with_alip.with_demand("alip", levels=(1.0, 0.25), held=True)
    assert changed.notions() == [md.PML(0.5), md.ALIP(1.0, 0.25)]
    assert [d.name for d in changed.without_notion("pml").demands] == ["lip", "ldp", "alip"]
    refused(lambda: ABC.with_notion("pml"), "notion to add", error=UnknownNameError)
    refused(lambda: ABC.with_notion("dp"), "notion to add", error=UnknownNameError)
    refused(lambda: ABC.demand("dp"), "notion on the page", error=UnknownNameError)
    refused(lambda: ABC.with_demand("pml", levels=(-1.0,)), "level of PML", error=LevelError)
    refused(lambda: ABC.with_demand("pml", levels=(math.nan,)), "level of PML", error=LevelError)
    refused(lambda: ABC.with_utility("cubed"), "utility", error=UnknownNameError)
    refused(ABC.with_demand("pml", held=False).notions, "at least one", error=LevelError)
    assert replace(ABC, demands=()).with_notion("pmc").demand("pmc").levels == (0.5,)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((".5", 0.5), (" 0.25 ", 0.25), ("1/3", 1 / 3), ("25%", 0.25), ("1e-3", 0.001)),
        *(("inf", math.inf), ("∞", math.inf), ("Infinite", math.inf), ("-2", -2.0)),
    ],
)
def test_numbers_as_people_write_them(text, value):
    assert parse_number(text, "level") == value


@pytest.mark.parametrize("text", ["", None, "  ", "abc", "0,5", "1/0", "1_0", "%", "1/2/3"])
def test_what_is_no_number_is_refused(text):
    refused(lambda: parse_number(text, "level of PML"), "level of PML", "a number")


# Answers


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("name", [n for n in OFFERED if not n.startswith("maximal")])
def test_an_answer_is_what_the_library_says(name, utility):
    levels = (0.7,) * len(NOTIONS[name].level_fields)
    settings = replace(NUMBERS, demands=(Demand(name, levels, True),), utility=utility)
    found = answer(settings)
    prior = md.Prior([0.5, 0.3, 0.2], [1, 2, 4])
    goal = {
        "hamming": md.utility.Hamming(),
        "absolute": md.utility.Distance("absolute"),
        "squared": md.utility.Distance("squared"),
        "mutual-information": md.utility.MutualInformation(),
        "total-variation": md.utility.TotalVariation(),
        "chi-square": md.utility.ChiSquare(),
    }[utility]
    notion = NOTIONS[name].at(*levels)
    direct = md.design(prior, goal, notion)
    assert found.found.certificate.fingerprint == direct.certificate.fingerprint
    assert found.found.value == direct.value
    assert found.report.summary() == md.audit(direct.mechanism, prior, notion).summary()
    assert found.implied == md.implications([notion], prior)
    assert found.is_final
    told = md.identifiability(direct.mechanism).advice
    assert [note.lower() for note in found.notes] == ([f"{told.lower()}."] if told else [])


def test_a_zero_bar_is_pointed_out():
    with pytest.warns(md.errors.ZeroMassWarning):
        found = answer(ABC.with_share(1, 0))
    assert "'b'" in found.notes[0]
    assert found.found.mechanism.shape == (3, 3)


@pytest.mark.filterwarnings("ignore::mechdesign.errors.GapWarning")
def test_in_haste_the_gap_is_honest():
    settings = Settings.of_prior(md.Prior.uniform(20)).zipf().with_utility("mutual-information")
    quick, slow = answer(settings, 0.001), answer(settings)
    assert slow.is_final
    assert not quick.is_final
    assert quick.found.value <= slow.found.value <= quick.found.bound * (1 + 1e-9)
    assert quick.report.verdict is md.Verdict.YES


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        (ABC.with_utility("absolute"), "numeric labels"),
        (ABC.with_demand("pml", held=False), "at least one notion"),
        (
            replace(ABC, demands=(Demand("maximalleakage", (1.0,), True),)).with_utility(
                "chi-square"
            ),
            "no method applies",
        ),
    ],
)
def test_what_cannot_be_designed_says_why(settings, word):
    with pytest.raises(md.MechdesignError, match=word):
        answer(settings)


# Recipes


def made_by(settings, folder, monkeypatch, capsys):
    """The designs that the Python lines and the command line save."""
    monkeypatch.chdir(folder)
    exec(python_lines(settings), {})  # the page's own text
    by_python = md.load(FILE)
    *before, command = shell_lines(settings).splitlines()
    for line in before:
        printed, text, content, into, name = shlex.split(line)
        assert (printed, text, into) == ("printf", "%s", ">")
        (folder / name).write_text(content, encoding="utf-8")
    assert main([*shlex.split(command)[1:], "--force"]) == 0, capsys.readouterr().err
    capsys.readouterr()
    return by_python, md.load(FILE)


@pytest.mark.parametrize(
    "settings",
    [
        TITANIC,
        ABC,
        ABC.with_share(0, 0.123).with_utility("total-variation"),
        NUMBERS.zipf().with_utility("absolute"),
        TITANIC.with_notion("alip")
        .with_demand("alip", levels=(math.inf, 0.4), held=True)
        .with_utility("mutual-information"),
        Settings.of_prior(
            md.Prior.from_csv("fair", "affair"), Column("fair", "affair", "count", "drop")
        ),
        Settings.of_prior(md.Prior([0.1, 0.2, 0.7], ["x=1, y", " b", "-c"])),
        Settings.of_prior(md.Prior([0.1, 0.2, 0.7], ["it's", 'a "b"', "$HOME `d`"])),
    ],
)
def test_both_recipes_make_the_same_mechanism(settings, tmp_path, monkeypatch, capsys):
    found = answer(settings).found
    for made in made_by(settings, tmp_path, monkeypatch, capsys):
        assert made.certificate.fingerprint == found.certificate.fingerprint
        assert made.prior == found.prior
        assert made.notions == found.notions


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1),
        min_size=1,
        max_size=4,
        unique=True,
    )
)
def test_any_names_survive_in_the_lines(names):
    settings = replace(ABC, names=tuple(names), weights=(1 / len(names),) * len(names))
    scope: dict = {}
    exec(python_lines(settings).rsplit("\nfound", 1)[0], scope)  # without the design
    assert scope["prior"] == settings.prior()
    words_of_it = shlex.split(shell_lines(settings).splitlines()[-1])
    if "prior.json" not in words_of_it:
        from mechdesign.arguments import read_prior

        text = words_of_it[words_of_it.index("--prior") + 1]
        assert read_prior(None, None, None, "error", text) == settings.prior()


# Frontiers


@pytest.mark.parametrize("utility", ["hamming", "mutual-information"])
def test_frontiers_are_the_designs_of_the_library(utility):
    settings = NUMBERS.with_notion("alip").with_demand("alip", levels=(1.0, 0.5))
    settings = settings.with_utility(utility)
    found = {}
    for piece in frontiers.pieces(settings):
        for point in frontiers.points(settings, piece):
            assert (piece[0].name, point.level) not in found
            found[piece[0].name, point.level] = point
    assert len(found) == 4 * len(frontiers.GRID)
    prior, goal = settings.prior(), settings.goal()
    make = {"pml": md.PML, "lip": md.LIP, "ldp": md.LDP, "alip": lambda e: md.ALIP(2 * e, e)}
    for name, notion in make.items():
        for level in frontiers.GRID[::6]:
            direct = md.design(prior, goal, notion(level))
            assert found[name, level].value == pytest.approx(direct.value, rel=1e-7)
            assert found[name, level].value <= found[name, level].bound
        values = [found[name, level].value for level in frontiers.GRID]
        assert all(a <= b + 1e-7 for a, b in itertools.pairwise(values))
    ends = frontiers.span(settings)
    assert ends.nothing - 1e-9 <= min(p.value for p in found.values())
    assert max(p.value for p in found.values()) <= ends.everything + 1e-9


def test_rough_points_come_first_where_each_is_a_search():
    order = [levels[0] for _, levels in frontiers.pieces(ABC.with_utility("chi-square"))]
    assert sorted(set(order)) == sorted(frontiers.GRID)
    assert set(order[:12]) == set(frontiers.GRID[::6])


def test_a_frontier_does_not_depend_on_the_level():
    key = frontiers.frontier_key
    assert key(ABC) == key(ABC.with_demand("pml", levels=(3.0,), held=False))
    assert key(ABC) != key(ABC.with_share(0, 0.1))
    assert key(ABC) != key(ABC.with_utility("chi-square"))
    assert key(ABC) != key(ABC.without_notion("lip"))
    both = ABC.with_notion("alip")
    assert key(both) == key(both.with_demand("alip", levels=(2.0, 2.0)))
    assert key(both) != key(both.with_demand("alip", levels=(2.0, 1.0)))


@pytest.mark.parametrize(
    ("levels", "notion", "label"),
    [
        ((2.0, 1.0), md.ALIP(0.6, 0.3), "ALIP 2:1"),
        ((math.inf, 1.0), md.ALIP(math.inf, 0.3), "ALIP inf:ε"),
        ((0.0, 1.0), md.ALIP(0.0, 0.3), "ALIP 0:ε"),
        ((0.7, 0.0), md.ALIP(0.7, 0.3), "ALIP 0.7:ε"),
    ],
)
def test_two_levels_keep_their_ratio_where_they_have_one(levels, notion, label):
    demand = Demand("alip", levels)
    assert frontiers.notion_at(demand, 0.3) == notion
    assert frontiers.Curve(demand).label == label


def test_rivals_are_designed_for_alone():
    found = frontiers.rival(ABC, ABC.demand("ldp"))
    assert found.value == md.design(ABC.prior(), md.utility.Hamming(), md.LDP(0.5)).value
    settings = ABC.with_notion("maximalleakage").with_utility("chi-square")
    assert (
        "no method applies" in frontiers.rival(settings, settings.demand("maximalleakage")).problem
    )
