"""What is asked of an estimation on the page: texts shared with the command line, and addresses."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import replace
from urllib.parse import parse_qsl

import numpy as np
import pytest
from checks import for_each, refused, slow_but
from guessing import ARGUMENTS, guessing
from hypothesis import given
from hypothesis import strategies as st
from test_exploring import made_by

import mechdesign as md
from mechdesign.cli import main
from mechdesign.explorer import charts, markup, questions, results
from mechdesign.explorer.questions import Asked, columns_text, kind_of, numbers_text
from mechdesign.explorer.results import compute
from mechdesign.explorer.settings import Column, python_lines, shell_lines
from mechdesign.utility import Estimation

# The server leaves these to the page, which says the same itself.
pytestmark = pytest.mark.filterwarnings("ignore::mechdesign.errors.MechdesignWarning")

ABC = guessing(md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])).with_utility("estimation")
NUMBERS = guessing(md.Prior([0.5, 0.3, 0.2], [1, 2, 4])).with_utility("estimation")
ODD = guessing(md.Prior([0.5, 0.3, 0.2], ["x, y", "p=q;r", " [s]"]))
ODD = ODD.with_utility("estimation")
PAIR = ("class", "sex")
JOINT = guessing(md.Prior.from_csv("titanic", PAIR), Column("titanic", PAIR))
JOINT = JOINT.with_utility("estimation")
EVIL = "<script>alert(1)</script>\"'&\u202e"


def asking(settings, *texts):
    return settings.with_asked(Asked(*texts))


ASKED = [
    (ABC, (), Estimation()),
    (ABC, ("a=0,b=1,c=0",), Estimation([[0, 1, 0]])),
    (ABC, ("a=1,b=-1,c=0",), Estimation([[1, -1, 0]])),
    (ABC, ('{"a": "x", "b": "y", "c": "x"}',), Estimation([[1, 0, 1], [0, 1, 0]])),
    (ABC, ("[[1, -1, 0], [0, 1, -1]]", "1,3"), Estimation([[1, -1, 0], [0, 1, -1]], [1, 3])),
    (ABC, (None, "1,2,3", "any"), Estimation(None, [1, 2, 3], "any")),
    (ABC, (None, None, "a=1,b=2,c=3"), Estimation(truth=[1, 2, 3])),
    (ABC, (None, None, "0,1,2"), Estimation(truth=[1, 2, 4])),
    (ABC, (None, None, "a=1/3,b=0.1,c=2"), Estimation(truth=[10, 3, 60])),
    (
        ABC,
        ("a=0,b=0,c=1", None, "1,2,3;3,2,1"),
        Estimation([[0, 0, 1]], truth=[[1, 2, 3], [3, 2, 1]]),
    ),
    (NUMBERS, ("1=1,2=2,4=4",), Estimation([[1, 2, 4]])),
    (
        ODD,
        ('{"x, y": 1, "p=q;r": 0, " [s]": 0.25}', None, '{"x, y": 3, "p=q;r": 0, " [s]": 2}'),
        Estimation([[1, 0, 0.25]], truth=[6, 1, 4]),
    ),
    (JOINT, ("class",), Estimation("class")),
    (JOINT, ("sex,class",), Estimation(["sex", "class"])),
    (JOINT, ("sex", "1,0.5", "4,3,2,1,4,3,2,1"), Estimation("sex", [1, 0.5], [4, 3, 2, 1] * 2)),
    (JOINT.with_share(0, 0.2), ("sex",), Estimation("sex")),
    (JOINT.without_symbol(1).with_share(2, 0), ("class",), Estimation("class")),
]


@for_each(("settings", "texts", "question"), slow_but(4, ASKED))
def test_the_same_text_asks_the_same_on_the_page_in_python_and_on_the_command_line(
    settings, texts, question, tmp_path, monkeypatch, capsys
):
    settings = asking(settings, *texts)
    found = compute(settings).design
    best = md.design(settings.prior(), question, found.notions)
    assert found.risk == pytest.approx(best.risk, rel=1e-9)
    by_python, by_shell = made_by(settings, tmp_path, monkeypatch, capsys)
    assert by_python.certificate.fingerprint == found.certificate.fingerprint
    # A kernel without some mass may be made of other numbers for the same masses.
    for made in (by_python, by_shell):
        assert made.prior == found.prior
        assert made.risk == pytest.approx(found.risk, rel=1e-12)
        assert made.utility.of is None or made.utility.question(
            made.prior.labels, made.prior.schema
        ).weights == pytest.approx(
            question.question(settings.prior().labels, settings.prior().schema).weights
        )
    command = shlex.split(shell_lines(settings).splitlines()[-1])
    for option, text in zip(("--of", "--of-weights", "--truth"), texts, strict=False):
        assert (option in command) is (text is not None)
        assert text is None or command[command.index(option) + 1] == text


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1)
        | st.sampled_from(["a, b", "=", ";", "{}", "[1]", "x.json", "any", "1.0", "-1", " "]),
        min_size=2,
        max_size=4,
        unique_by=lambda name: name.strip() or name,
    ),
    st.data(),
)
def test_numbers_for_any_names_are_read_back(names, data):
    """By the reader of the command line; " " stands for no name, as on the page."""
    names = [name for name in names if name.strip()] or ["a"]
    numbers = data.draw(
        st.lists(
            st.floats(-100, 100).filter(lambda v: not 0 < abs(v) < 1e-50),
            min_size=len(names),
            max_size=len(names),
        )
    )
    settings = guessing(md.Prior.uniform(names))
    text = numbers_text(dict(zip(settings.names, numbers, strict=True)))
    found = questions.numbers_in(text, settings.prior())
    assert list(found.values()) == numbers
    assert list(found) == settings.labels


@for_each(
    "columns", [["a"], ["a", "b"], ["a,b"], ["a,b", "c"], ["a=b"], [" a", "b"], ["q.json"], ["[a]"]]
)
def test_columns_of_any_name_are_read_back(columns):
    prior = md.Prior.uniform([(0,) * (len(columns) + 1), (1,) * (len(columns) + 1)])
    prior = prior.with_schema([*columns, "other"])
    text = columns_text(columns, prior.schema.names)
    assert list(questions.columns_in(text, prior)) == columns
    assert kind_of(text, prior) == "columns"


@for_each(
    ("texts", "fragment"),
    [
        (("a=1",), "'b' too"),
        (("",), "empty text"),
        (("question.json",), "a number for each symbol"),
        (("/etc/passwd",), "a number for each symbol"),
        (("a=nan,b=0,c=0",), "finite numbers"),
        (("a=1,b=0,c=inf",), "finite numbers"),
        (("[[1, 0, NaN]]",), "finite numbers"),
        (("[[1, 0]]",), "rows of 3 numbers"),
        (("a=1,b=0,c=0,a=2",), "one number for each symbol"),
        (("a=1e300,b=0,c=0",), "1e+60"),
        (("a=1,b=0,c=0," + "d" * 1_000_000,), "at most 20,000 characters"),
        (("[" * 10_000 + "]" * 10_000,), "nested deeper"),
        ((f"a=1,b=0,{EVIL}=0",), "<script>"),
        ((None, "1,2"), "3, one for each answer"),
        ((None, "nan,1,1"), "non-negative number"),
        ((None, None, "1,2"), "over the symbols 'a', 'b', 'c'"),
        ((None, None, "a=nan,b=1,c=1"), "finite non-negative numbers"),
        ((None, None, "a=-1,b=1,c=1"), "non-negative"),
        ((None, None, "truth.json"), "or 1/3, separated by commas"),
        ((None, None, "any;1,2,3"), "any alone"),
        ((None, None, "0.2,0.8,0"), "'c' with mass in the prior alone"),
        ((None, None, f"a=1,b=1,{EVIL}=1"), "<script>"),
        ((None, None, ";".join(["1,2,3"] * 21)), "at most 20 distributions"),
        ((None, None, ""), "or 1/3, separated by commas"),
    ],
)
def test_what_cannot_be_asked_is_refused_and_no_file_is_read(
    texts, fragment, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for name in ("question.json", "truth.json"):
        (tmp_path / name).write_text('{"a": 1, "b": 2, "c": 3}', encoding="utf-8")
    with pytest.raises(md.MechdesignError) as problem:
        asking(ABC, *texts)
    assert fragment in str(problem.value)
    assert problem.value.code.startswith("MD")
    assert len(str(problem.value)) < 3000
    # The files are questions and truths where files may be read: the command line.
    text = next(filter(None, texts), "")
    if text in ("question.json", "truth.json"):
        option = "--of" if text[0] == "q" else "--truth"
        asked = ["design", "--prior", "a=0.5,b=0.3,c=0.2", "-p", "pml:1", "-u", "estimation"]
        assert main([*asked, option, text]) == 0


@for_each(
    ("settings", "texts", "kind", "noun"),
    [
        (ABC, (), "all", "the frequencies of all symbols"),
        (ABC, ("a=0,b=1,c=0",), "symbol", "the share of b"),
        (NUMBERS, ("1=1,2=2,4=4",), "mean", "the mean of 1=1, 2=2, 4=4"),
        (ABC, ("a=1,b=-1,c=0",), "other", "the share of a less that of b"),
        (ABC, ("a=1,b=-2,c=1",), "other", "the weighted sum of shares a=1, b=-2, c=1"),
        (ABC, ('{"a":"x","b":"y","c":"x"}',), "other", "the shares of x, y"),
        (ABC, ("[[1,-1,0],[0,1,-1]]",), "other", "the answers to [[1,-1,0],[0,1,-1]]"),
        (JOINT, ("class,sex",), "columns", "the shares of class and of sex"),
        (ABC, (None, None, "any"), "all", "all symbols, whatever the true shares are"),
        (ABC, (None, None, "5,3,9"), "all", "all symbols, with true shares as in 5, 3, 9"),
        (ABC, (None, None, "1,2,3;3,2,1"), "all", "with the worst true shares of 1, 2, 3; 3, 2, 1"),
    ],
)
def test_every_picture_and_text_says_what_is_asked(settings, texts, kind, noun):
    settings = asking(settings, *texts)
    assert kind_of(settings.asked.of, settings.prior()) == kind
    assert noun in settings.question
    found = compute(settings)
    others = [results.alternative(settings, chosen) for chosen in settings.notions]
    piece = (settings.notions[0], (0.5, 1.0))
    curve = results.Curve(
        piece[0], results.frontier_points(settings, piece), asks=settings.question
    )
    options = charts.frontier_options([curve], results.value_range(settings), found)
    said = (
        markup.tiles(found),
        markup.alternative_list(others, found),
        markup.frontier_table([curve]),
    )
    escaped = markup.escape(settings.question)
    assert all(escaped in text for text in said)
    assert markup.tiles(found).count(escaped) == 2  # reports and risk
    assert settings.question in markup.summary(found)
    assert settings.question in options["aria"]["label"]["description"]
    lines = options["title"]["text"].split("\n")
    assert f"for {settings.question}".startswith(" ".join(lines).removesuffix(" …"))
    assert max(map(len, lines)) <= 46
    assert len(lines) <= 2
    without = charts.frontier_options([], None, None)
    assert "title" not in without


def test_reports_of_a_mean_are_counted_for_an_error_of_its_size():
    """An error of .05 of ages would take millions of reports."""
    small, large = (asking(NUMBERS, f"1={k},2={2 * k},4={4 * k}") for k in (1, 100))
    assert (small.error, large.error, ABC.error) == (0.15, 15, 0.05)
    needed = [compute(s).design.reports_for(s.error) for s in (small, large)]
    assert needed[0] == needed[1]
    assert asking(NUMBERS, "1=1e60,2=0,4=1").error == 1e12
    assert asking(NUMBERS, "1=3,2=3,4=3").error == 0.05
    for extreme in ("1=1e60,2=0,4=1", "1=1e-30,2=0,4=2e-30"):
        assert markup.tiles(compute(asking(NUMBERS, extreme)))


def test_numbers_that_are_all_the_same_say_so():
    """They are taken, as the next one that is typed may differ."""
    with pytest.raises(md.MechdesignError, match="different coefficients"):
        compute(asking(NUMBERS, "1=3,2=3,4=3"))


def test_what_is_asked_belongs_to_its_key():
    """Else a frontier, or an alternative, of another question would be shown."""
    from mechdesign.explorer.state import _alternative_key

    one, other = asking(ABC, "a=1,b=0,c=0"), asking(ABC, "a=0,b=1,c=0")
    worst = asking(ABC, "a=1,b=0,c=0", None, "any")
    for key in (results.frontier_key, lambda s: _alternative_key(s, s.notion("ldp"))):
        assert len({key(s) for s in (ABC, one, other, worst)}) == 4
        # Other utilities know nothing of it.
        plain = [s.with_utility("chi-square") for s in (one, other, worst)]
        assert len({key(s) for s in plain}) == 1
        assert key(plain[0].with_utility("estimation")) == key(one)


def test_frontiers_and_alternatives_answer_the_question():
    settings = asking(ABC, "a=1,b=0,c=0", None, "any")
    question = Estimation([[1, 0, 0]], truth="any")
    (point,) = results.frontier_points(settings, (settings.notion("ldp"), (1.0,)))
    assert point.value == pytest.approx(md.design(ABC.prior(), question, md.LDP(1)).risk)
    found = results.alternative(settings, settings.notion("lip"))
    assert found.value == pytest.approx(md.design(ABC.prior(), question, md.LIP(0.5)).risk)
    assert results.value_range(settings).full_disclosure == pytest.approx(0.25)


def test_a_question_follows_its_symbols():
    asked = asking(ABC, "a=1,b=-1,c=0.5", None, "a=2,b=1,c=3")
    renamed = asked.with_name(1, "x, y")
    assert json.loads(renamed.asked.of) == {"a": 1, "x, y": -1, "c": 0.5}
    assert json.loads(renamed.asked.truth) == {"a": 2, "x, y": 1, "c": 3}
    assert renamed.with_name(1, "b").asked == asked.asked
    assert asked.without_symbol(1).asked == Asked("a=1,c=0.5", None, "a=2,c=3")
    thirds = asking(ABC, None, None, "a=1/3,b=0.5,c=2")
    assert thirds.with_name(1, "d").asked.truth == "a=1/3,d=0.5,c=2"
    assert json.loads(thirds.with_name(1, "x, y").asked.truth) == {"a": "1/3", "x, y": 0.5, "c": 2}
    # A new symbol has a zero in the question; its true share nobody has said.
    assert asked.with_new_symbol().asked == Asked("a=1,b=-1,c=0.5,d=0")
    assert asked.with_share(0, 0.1).asked == asked.asked
    # Another prior, of other symbols, is asked for every frequency.
    for others in (["p", "q"], ["a", "b"], ["a", "b", "c", "d"]):
        assert asked.with_prior(md.Prior.uniform(others)).asked == Asked()
    assert asked.with_prior(md.Prior.uniform(["a", "b", "c"])).asked == asked.asked
    assert asking(ABC, "a=0,b=1,c=0").without_symbol(1).asked == Asked()
    assert asking(ABC, "a=0,b=1,c=0").without_symbol(0).asked == Asked("b=1,c=0")
    assert asking(ABC, None, "1,2,3").without_symbol(0).asked == Asked()
    worst = asking(ABC, "[[1, -1, 0]]", None, "any")
    assert worst.without_symbol(0).asked == Asked(None, None, "any")
    refused(lambda: asked.with_name(0, "b"), "distinct labels")


def test_a_symbol_that_loses_its_mass_has_none_in_the_truth():
    settings = asking(ABC, None, None, "a=1,b=2,c=3").with_share(0, 0)
    with pytest.raises(md.MechdesignError, match="'a' with mass in the truth alone"):
        compute(settings)


def test_a_joint_table_keeps_its_columns_until_a_name_is_changed():
    assert JOINT.prior() == md.Prior.from_csv("titanic", PAIR)
    assert JOINT.columns == JOINT.with_share(0, 0.3).columns == PAIR
    asked = asking(JOINT, "class")
    assert asked.with_share(0, 0.3).asked == Asked("class")
    assert asked.with_share(0, 0.3).prior().schema.names == PAIR
    assert asked.without_symbol(0).prior().labels == JOINT.prior().labels[1:]
    for changed in (asked.with_name(0, "others"), asked.with_new_symbol()):
        assert (changed.columns, changed.asked) == ((), Asked())
    # Of one column the name asks for every share, as on the command line, while it is known.
    one = guessing(md.Prior.from_csv("titanic", "class"), Column("titanic", "class"))
    one = asking(one.with_utility("estimation"), "class")
    assert compute(one).design.risk == compute(replace(one, asked=Asked())).design.risk
    assert one.with_share(0, 0.3).asked == Asked()


def test_the_command_explores_a_joint_table(monkeypatch):
    from mechdesign.explorer import server

    served = []
    monkeypatch.setattr(server, "serve", lambda settings, port, show: served.append(settings))
    monkeypatch.setattr(server, "check_framework", lambda: None)
    table = ["explore", "titanic", "--column", "class", "--column", "sex"]
    assert main([*table, *ARGUMENTS]) == 0
    assert served[0].with_utility("estimation") == JOINT
    # Without them it is about frequencies, under LDP(1).
    assert main(table) == 0
    assert served[1].shows_risk
    assert [(one.title, *one.levels) for one in served[1].notions if one.required] == [("LDP", 1)]
    refused = ["-p", "dp:1,adjacent"], ["-u", "likelihood"]
    assert [main([*table, *options]) for options in refused] == [2, 2]
    assert "md.Prior.from_csv('titanic', ['class', 'sex'])" in python_lines(JOINT)


# The address


@for_each(("settings", "texts", "question"), ASKED)
def test_an_address_carries_what_is_asked(settings, texts, question):
    settings = asking(settings, *texts)
    query = dict(parse_qsl(settings.query, keep_blank_values=True))
    assert query["utility"] == "estimation"
    begun = replace(settings, utility="hamming", asked=Asked())
    assert begun.query == "utility=hamming"
    assert begun.with_query(query) == settings
    assert settings.query.isascii()
    assert not set(settings.query) & set("<>\"' ")


def test_addresses_of_before_and_of_others_are_taken():
    for query in ({}, {"fbclid": "1"}, {"utm_source": EVIL}):
        assert ABC.with_query(query) == ABC
    plain = ABC.with_utility("chi-square")
    assert plain.query == "utility=chi-square"
    assert ABC.with_query({"utility": "chi-square"}) == plain
    # What an estimation was asked is not carried by other utilities.
    assert asking(ABC, "a=1,b=0,c=0").with_utility("chi-square").query == "utility=chi-square"


@for_each(
    ("query", "fragment"),
    [
        ({"utility": EVIL}, "utility"),
        ({"utility": ""}, "utility"),
        ({"utility": "x" * 1_000_000}, "utility"),
        ({"utility": "estimation", "of": ""}, "empty text"),
        ({"utility": "estimation", "of": EVIL}, "a number for each symbol"),
        ({"utility": "estimation", "of": f"{EVIL}=1,b=0,c=0"}, "'a', 'b', 'c'"),
        ({"utility": "estimation", "of": "x" * 1_000_000}, "at most 20,000"),
        ({"utility": "estimation", "of": "a=NaN,b=0,c=0"}, "finite numbers"),
        ({"utility": "estimation", "of": "/etc/passwd.json"}, "a number for each symbol"),
        ({"utility": "estimation", "truth": "/etc/passwd.json"}, "1/3, separated by commas"),
        ({"utility": "estimation", "truth": f'{{"{"a" * 5000}": 1}}'}, "over the symbols"),
        ({"utility": "estimation", "of-weights": "1,1,1e999"}, "non-negative number"),
        ({"utility": "hamming", "of": "a=1,b=0,c=0"}, "utility=estimation"),
        ({"truth": "any"}, "utility=estimation"),
    ],
)
def test_forged_addresses_are_refused(query, fragment):
    plain = ABC.with_utility("hamming")
    with pytest.raises(md.MechdesignError) as problem:
        plain.with_query(query)
    assert fragment in str(problem.value)
    assert len(str(problem.value)) < 3000
    assert "\u202e" not in str(problem.value)


def test_no_masses_are_in_an_address_and_none_is_too_long():
    wide = guessing(md.Prior.uniform([f"{'name ' * 40}{x}" for x in range(50)]))
    wide = wide.with_utility("estimation")
    numbers = dict(zip(wide.names, np.arange(50.0).tolist(), strict=True))
    asked = asking(wide, numbers_text(numbers))
    assert math.isfinite(compute(asked, 0.06).design.risk)
    assert len(wide.query) < 8000
    assert asked.query == ""
    for settings in (wide, ABC, JOINT):
        assert settings.query == "utility=estimation"
