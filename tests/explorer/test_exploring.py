"""The explorer without its page: settings, results, frontiers, lines of code, and its imports."""

from __future__ import annotations

import ast
import itertools
import math
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from checks import for_each, refused
from guessing import guessing
from hypothesis import given
from hypothesis import strategies as st

import mechdesign as md
from mechdesign.arguments import read_prior
from mechdesign.cli import main
from mechdesign.errors import LevelError, PriorError, UnknownNameError
from mechdesign.explorer import results
from mechdesign.explorer.results import compute
from mechdesign.explorer.settings import (
    OFFERED,
    UTILITIES,
    Column,
    NotionSetting,
    parse_number,
    python_lines,
    shell_lines,
)
from mechdesign.privacy.notion import NOTIONS

ABC = guessing(md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"]))
NUMBERS = guessing(md.Prior([0.5, 0.3, 0.2], [1, 2, 4]))
TITANIC = guessing(md.Prior.from_csv("titanic", "class"), Column("titanic", "class"))

shares = st.lists(st.integers(0, 1000), min_size=2, max_size=8).filter(any)


def weighted(weights):
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
    settings = weighted(weights)
    moved = settings.with_share(place, share)
    assert math.fsum(moved.shares) == pytest.approx(1, abs=1e-12)
    others = [i for i in range(len(weights)) if i != place]
    had = sum(weights[i] for i in others)
    wanted = min(share, 0.999) if had else share
    if had or share < 1:
        assert moved.shares[place] == pytest.approx(wanted, abs=2e-8)
    rest = 1 - wanted
    for i in others:
        part = weights[i] / had if had else 1 / len(others)
        assert moved.shares[i] == pytest.approx(part * rest, abs=2e-8)
        # Nothing gets or loses its mass on the way.
        assert (moved.shares[i] > 0) == (weights[i] > 0 if had else rest > 0)


def test_equal_symbols_stay_equal_and_the_prior_stays_short():
    moved = weighted([1, 1, 1, 1]).with_share(0, 0.1)
    assert moved.weights == (0.1, 0.3, 0.3, 0.3)
    assert weighted([1] * 7).uniform().prior().is_uniform
    assert weighted([3, 1]).zipf().weights == (0.666666667, 0.333333333)


def test_the_last_symbol_with_mass_shares_what_it_gives_away_with_all():
    moved = weighted([1, 0, 0]).with_share(0, 0.5)
    assert moved.weights == (0.5, 0.25, 0.25)
    assert weighted([1, 0]).with_share(1, 0).weights == (1.0, 0.0)
    assert weighted([1]).with_share(0, 0.3) == weighted([1])


@for_each("share", [-0.1, 1.1, math.nan, math.inf])
def test_a_mass_that_is_none_is_refused(share):
    refused(lambda: ABC.with_share(0, share), "from 0 to 1", error=PriorError)


def test_symbols_come_and_go():
    more = ABC.with_new_symbol()
    assert more.names == ("a", "b", "c", "d")
    np.testing.assert_allclose(more.shares, [0.375, 0.225, 0.15, 0.25], atol=1e-8)
    assert NUMBERS.with_new_symbol().labels == [1, 2, 4, 5]
    assert TITANIC.with_new_symbol().names[-1] == "new 5"
    assert TITANIC.with_new_symbol().source is None
    np.testing.assert_allclose(more.without_symbol(3).shares, ABC.shares, atol=1e-8)
    assert weighted([1, 0, 0]).without_symbol(0).weights == (0.5, 0.5)
    one = ABC.without_symbol(0).without_symbol(0)
    refused(lambda: one.without_symbol(0), "at least one symbol", error=PriorError)
    full = guessing(md.Prior.uniform(50))
    refused(full.with_new_symbol, "at most 50", error=PriorError)
    refused(lambda: ABC.with_prior(md.Prior.uniform(51)), "at most 50", error=PriorError)


def test_names_are_changed_or_refused():
    changed = TITANIC.with_name(3, "  staff ")
    assert changed.names == ("1st", "2nd", "3rd", "staff")
    assert changed.source is None
    np.testing.assert_allclose(changed.shares, TITANIC.shares, atol=1e-8)
    assert TITANIC.with_name(3, "crew") is TITANIC
    assert ABC.with_name(0, "x" * 300).names[0] == "x" * 300
    for text in ("", "   ", "a\nb", "\ud800"):
        refused(lambda text=text: ABC.with_name(0, text), "name of symbol 1", error=PriorError)
    refused(lambda: ABC.with_name(0, "b"), "distinct labels", "'b'", error=PriorError)


def test_names_are_read_as_the_library_reads_labels():
    assert NUMBERS.prior().labels == (1, 2, 4)
    assert NUMBERS.with_name(0, "one").labels == ["one", "2", "4"]


def test_notions_are_set_added_and_removed():
    with_alip = ABC.with_new_notion("alip")
    assert with_alip.notion("alip").notion == md.ALIP(0.5, 0.5)
    changed = with_alip.with_level("alip", 1.0).with_level("alip", 0.25, 1)
    changed = changed.with_required("alip", True)
    assert changed.required_notions() == [md.PML(0.5), md.ALIP(1.0, 0.25)]
    assert [n.name for n in changed.without_notion("pml").notions] == ["lip", "ldp", "alip"]
    refused(lambda: ABC.with_new_notion("pml"), "notion to add", error=UnknownNameError)
    refused(lambda: ABC.with_new_notion("dp"), "notion to add", error=UnknownNameError)
    refused(lambda: ABC.notion("dp"), "notion on the page", error=UnknownNameError)
    refused(lambda: ABC.with_level("pml", -1.0), "PML level", error=LevelError)
    refused(lambda: ABC.with_level("pml", math.nan), "PML level", error=LevelError)
    refused(lambda: ABC.with_utility("cubed"), "utility", error=UnknownNameError)
    optional = ABC.with_required("pml", False)
    refused(optional.required_notions, "at least one", error=LevelError)
    assert replace(ABC, notions=()).with_new_notion("pmc").notion("pmc").levels == (0.5,)


@for_each(
    ("text", "value"),
    [
        *((".5", 0.5), (" 0.25 ", 0.25), ("1/3", 1 / 3), ("25%", 0.25), ("1e-3", 0.001)),
        *(("inf", math.inf), ("∞", math.inf), ("Infinite", math.inf), ("-2", -2.0)),
    ],
)
def test_numbers_as_people_write_them(text, value):
    assert parse_number(text, "level") == value


@for_each("text", ["", None, "  ", "abc", "0,5", "1/0", "1_0", "%", "1/2/3"])
def test_what_is_no_number_is_refused(text):
    refused(lambda: parse_number(text, "level of PML"), "level of PML", "a number")


# Results


@for_each("utility", UTILITIES)
@for_each("name", [n for n in OFFERED if not n.startswith("maximal")])
def test_a_result_is_what_the_library_says(name, utility):
    levels = (0.7,) * len(NOTIONS[name].level_fields)
    settings = replace(NUMBERS, notions=(NotionSetting(name, levels, True),), utility=utility)
    found = compute(settings)
    prior = md.Prior.from_counts([5, 3, 2], [1, 2, 4])  # masses are what is written
    goal = {
        "hamming": md.utility.Hamming(),
        "absolute": md.utility.Distance("absolute"),
        "squared": md.utility.Distance("squared"),
        "mutual-information": md.utility.MutualInformation(),
        "total-variation": md.utility.TotalVariation(),
        "chi-square": md.utility.ChiSquare(),
        "estimation": md.utility.Estimation(),
    }[utility]
    notion = NOTIONS[name].at(*levels)
    direct = md.design(prior, goal, notion)
    assert found.design.certificate.fingerprint == direct.certificate.fingerprint
    assert found.design.value == direct.value
    assert found.report.summary() == md.audit(direct.mechanism, prior, notion).summary()
    assert found.implied == md.implications([notion], prior)
    assert found.design.certificate.is_optimal
    advice = md.identifiability(direct.mechanism).advice
    assert [note.lower() for note in found.notes] == ([f"{advice.lower()}."] if advice else [])
    steps = {step.id for entry in found.implied.found for step in entry.derivation}
    assert set(found.statements) == steps
    assert all(md.theory.find_theorem(i).statement == s for i, s in found.statements.items())


def test_a_symbol_without_mass_is_pointed_out():
    with pytest.warns(md.errors.ZeroMassWarning):
        found = compute(ABC.with_share(1, 0))
    assert "'b'" in found.notes[0]
    assert found.design.mechanism.shape == (3, 3)


@pytest.mark.filterwarnings("ignore::mechdesign.errors.GapWarning")
def test_a_search_that_is_cut_short_has_an_honest_gap():
    settings = guessing(md.Prior.uniform(20)).zipf().with_utility("mutual-information")
    quick, slow = compute(settings, 0.001), compute(settings)
    assert slow.design.certificate.is_optimal
    assert not quick.design.certificate.is_optimal
    assert quick.design.value <= slow.design.value <= quick.design.bound * (1 + 1e-9)
    assert quick.report.verdict is md.Verdict.YES


@for_each(
    ("settings", "fragment"),
    [
        (ABC.with_utility("absolute"), "numeric labels"),
        (ABC.with_utility("estimation").with_level("pml", 0.0), "told apart by no kernel"),
        (ABC.with_required("pml", False), "at least one notion"),
        (
            replace(
                ABC, notions=(NotionSetting("maximalleakage", (1.0,), True),), utility="chi-square"
            ),
            "no method applies",
        ),
    ],
)
def test_what_cannot_be_designed_says_why(settings, fragment):
    with pytest.raises(md.MechdesignError, match=fragment):
        compute(settings)


# Lines of code


def made_by(settings, folder, monkeypatch, capsys):
    """The designs that the Python lines and the command line save."""
    monkeypatch.chdir(folder)
    exec(python_lines(settings), {})  # the page's own text
    by_python = md.load("mechanism.json")
    *before, command = shell_lines(settings).splitlines()
    for line in before:
        subprocess.run(["sh", "-c", line], cwd=folder, check=True)
    assert main([*shlex.split(command)[1:], "--force"]) == 0, capsys.readouterr().err
    capsys.readouterr()
    return by_python, md.load("mechanism.json")


@for_each(
    "settings",
    [
        TITANIC,
        ABC,
        ABC.with_share(0, 0.123).with_utility("total-variation"),
        NUMBERS.zipf().with_utility("absolute"),
        TITANIC.with_new_notion("alip")
        .with_level("alip", math.inf)
        .with_level("alip", 0.4, 1)
        .with_required("alip", True)
        .with_utility("mutual-information"),
        guessing(md.Prior.from_csv("fair", "affair"), Column("fair", "affair", "count", "drop")),
        guessing(md.Prior([0.1, 0.2, 0.7], ["x=1, y", " b", "-c"])),
        guessing(md.Prior([0.1, 0.2, 0.7], ["it's", 'a "b"', "$HOME `d`"])),
    ],
)
def test_the_lines_make_the_same_mechanism(settings, tmp_path, monkeypatch, capsys):
    found = compute(settings).design
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
    arguments = shlex.split(shell_lines(settings).splitlines()[-1])
    text = arguments[arguments.index("--prior") + 1]
    assert read_prior(text) == settings.prior()


# Frontiers


@pytest.mark.parametrize("utility", ["hamming", "mutual-information", "estimation"])
def test_frontiers_are_the_designs_of_the_library(utility):
    settings = NUMBERS.with_new_notion("alip").with_level("alip", 1.0)
    settings = settings.with_utility(utility)
    found = {}
    for piece in results.frontier_pieces(settings):
        for point in results.frontier_points(settings, piece):
            assert (piece[0].name, point.level) not in found
            found[piece[0].name, point.level] = point
    assert len(found) == 4 * 19
    prior, goal = settings.prior(), settings.objective()
    make = {"pml": md.PML, "lip": md.LIP, "ldp": md.LDP, "alip": lambda e: md.ALIP(2 * e, e)}
    for name, notion in make.items():
        for level in results.LEVELS[::6]:
            direct = md.design(prior, goal, notion(level))
            shown = -direct.value if utility == "estimation" else direct.value
            assert found[name, level].value == pytest.approx(shown, rel=1e-7)
        values = [settings.shown(found[name, level].value) for level in results.LEVELS]
        assert all(a <= b + 1e-7 for a, b in itertools.pairwise(values))
    least, most = (settings.shown(end) for end in results.value_range(settings))
    assert least - 1e-9 <= min(settings.shown(p.value) for p in found.values())
    assert max(settings.shown(p.value) for p in found.values()) <= most + 1e-9


@for_each("utility", UTILITIES)
def test_values_range_from_uninformative_to_full_disclosure(utility):
    settings = NUMBERS.with_utility(utility)
    ends = results.value_range(settings)
    p = np.array([0.5, 0.3, 0.2])
    distances = np.abs(np.subtract.outer([1, 2, 4], [1, 2, 4]))
    wanted = {
        "hamming": (0.5, 1.0),
        "absolute": (-(p @ distances).min(), 0.0),
        "squared": (-(p @ distances**2).min(), 0.0),
        "mutual-information": (0.0, -(p * np.log(p)).sum()),
        "total-variation": (0.0, (p * (1 - p)).sum()),
        "chi-square": (0.0, 2.0),
        "estimation": (math.inf, 1 - p @ p),
    }[utility]
    assert (ends.uninformative, ends.full_disclosure) == pytest.approx(wanted, abs=1e-12)


def test_few_points_come_first_where_each_is_a_search():
    order = [levels[0] for _, levels in results.frontier_pieces(ABC.with_utility("chi-square"))]
    assert (len(order), len(set(order)), min(order), max(order)) == (3 * 19, 19, 0.01, 10.0)
    assert set(order[:12]) == {0.01, 0.1, 1.0, 10.0}


def test_a_frontier_does_not_depend_on_the_level():
    key = results.frontier_key
    assert key(ABC) == key(ABC.with_level("pml", 3.0).with_required("pml", False))
    assert key(ABC) != key(ABC.with_share(0, 0.1))
    assert key(ABC) != key(ABC.with_utility("chi-square"))
    assert key(ABC) != key(ABC.without_notion("lip"))
    both = ABC.with_new_notion("alip")
    assert key(both) == key(both.with_level("alip", 2.0).with_level("alip", 2.0, 1))
    assert key(both) != key(both.with_level("alip", 2.0))


@for_each(
    ("levels", "notion", "label"),
    [
        ((2.0, 1.0), md.ALIP(0.6, 0.3), "ALIP 2:1"),
        ((math.inf, 1.0), md.ALIP(math.inf, 0.3), "ALIP inf:ε"),
        ((0.0, 1.0), md.ALIP(0.0, 0.3), "ALIP 0:ε"),
        ((0.7, 0.0), md.ALIP(0.7, 0.3), "ALIP 0.7:ε"),
    ],
)
def test_two_levels_keep_their_ratio_where_they_have_one(levels, notion, label):
    chosen = NotionSetting("alip", levels)
    assert results.notion_at(chosen, 0.3) == notion
    assert results.Curve(chosen).label == label


def test_alternatives_hold_alone():
    found = results.alternative(ABC, ABC.notion("ldp"))
    assert found.value == md.design(ABC.prior(), md.utility.Hamming(), md.LDP(0.5)).value
    settings = ABC.with_new_notion("maximalleakage").with_utility("chi-square")
    found = results.alternative(settings, settings.notion("maximalleakage"))
    assert "no method applies" in found.problem


# Where it stands


ROOT = Path(md.__file__).parent
# Folders whose modules are named by what they hold; of all other folders the face is the package.
OPEN_ROOMS = {"views"}


def imported(path):
    """Modules that a file of the package imports of it, with dots and without its own name."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    package = parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = (alias.name.split(".") for alias in node.names)
            yield from (tuple(name[1:]) for name in names if name[0] == "mechdesign")
        elif isinstance(node, ast.ImportFrom):
            base = () if not node.level else package[: len(package) - node.level + 1]
            module = tuple((node.module or "").split(".")) if node.module else ()
            if not node.level and module[:1] != ("mechdesign",):
                continue
            found = base + module if node.level else module[1:]
            for alias in node.names:
                longer = (*found, alias.name)
                is_module = (ROOT.joinpath(*longer).with_suffix(".py")).is_file()
                yield longer if is_module or ROOT.joinpath(*longer).is_dir() else found


def test_the_reader_of_imports_sees_imports():
    """A control: a reader that finds nothing would pass the tests below."""
    assert ("explorer", "settings") in set(imported(ROOT / "explorer" / "page.py"))
    assert () in set(imported(ROOT / "explorer" / "results.py"))  # import mechdesign as md
    assert ("views", "html") in set(imported(ROOT / "explorer" / "markup.py"))
    found = {name for path in (ROOT / "cli").glob("*.py") for name in imported(path)}
    assert ("explorer", "server") in found


def test_nothing_in_the_library_knows_the_explorer():
    for path in ROOT.rglob("*.py"):
        if path.relative_to(ROOT).parts[0] not in ("explorer", "cli"):
            assert not [name for name in imported(path) if name[:1] == ("explorer",)], path


def test_the_explorer_reads_faces_only():
    """The package, a module beside it, or a folder's own names; no module within a folder."""
    for path in (ROOT / "explorer").glob("*.py"):
        for name in imported(path):
            if name[:1] == ("explorer",):
                continue
            depth = 2 if name[:1] and name[0] in OPEN_ROOMS else 1
            assert len(name) <= depth, f"{path.name} imports {'.'.join(name)}"
            assert not any(part.startswith("_") for part in name), path
