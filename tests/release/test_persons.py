"""People who come back: one report for each value, and what each person gave away over time."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import DataError, InputError, StorageError
from mechdesign.release import persons
from mechdesign.release.ledger import Ledger

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore::mechdesign.errors.RepeatWarning")

LABELS = ["a", "b", "c"]
FOUND = md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(1))
KEY = md.ReleaseKey(bytes(range(40)))
ROUNDS = 40


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    md.save(FOUND, "design.json")
    write("one.csv", ["a", "b", "c", "a"])
    return tmp_path


@pytest.fixture
def run(place, capsys):
    def call(*arguments):
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        return code, *capsys.readouterr()

    return call


def write(name, values, start=1):
    frame = pd.DataFrame({"id": range(start, start + len(values)), "x": values})
    frame.to_csv(name, index=False)


def release(source, target, key=KEY, **more):
    md.privatize_file(source, target, "x", FOUND, person="id", key=key, **more)
    return pd.read_csv(target)["x"].tolist()


# The adversary: an average over rounds


def guessed(keys):
    """The share of persons whose value is found from all their rounds of reports."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"id": np.arange(600), "x": rng.choice(LABELS, 600)})
    logs = np.log(FOUND.mechanism.kernel)
    scores = np.zeros((len(table), len(LABELS)))
    for i, key in enumerate(keys):
        # Another order in each round, and other people beside them.
        order = np.random.default_rng(i).permutation(len(table))[: 600 - i]
        made = md.privatize(table.iloc[order], "x", FOUND, person="id", key=key)
        outputs = [FOUND.mechanism.outputs.index(y) for y in made["x"]]
        scores[made["id"]] += logs[:, outputs].T
    truth = [LABELS.index(x) for x in table["x"]]
    return float((scores.argmax(axis=1) == truth).mean())


def test_averaging_over_rounds_fails_with_memory_and_succeeds_without():
    once = guessed([KEY])
    remembered = guessed([KEY] * ROUNDS)
    assert remembered == once < 0.75
    fresh = [md.ReleaseKey(bytes([i]) * 32) for i in range(ROUNDS)]
    assert guessed(fresh) > 0.97


# Levels over time


def test_a_value_that_comes_again_costs_nothing_and_a_new_one_its_level(place):
    (level,) = md.compose(FOUND, notions=[md.LDP(1)]).found[0].levels
    first = release("one.csv", "r1.csv")
    write("two.csv", ["b", "b", "a", "a"])
    second = release("two.csv", "r2.csv")
    shutil.copy("one.csv", "three.csv")
    assert release("three.csv", "r3.csv") == first
    assert second[1] == first[1]
    assert second[3] == first[3]
    counts = [len(Ledger().person(i).entries) for i in (1, 2, 3, 4, 5)]
    assert counts == [2, 1, 2, 1, 0]
    for i, n in enumerate(counts, 1):
        assert Ledger().person(i).level == pytest.approx(n * level, abs=1e-11)
        assert Ledger().person(i).level >= n * level - 1e-15


def test_accounts_are_those_of_a_list_of_all_draws(place, monkeypatch):
    """Random rounds, keys, kernels and values of people, beside an account that is done by hand."""
    monkeypatch.setattr(persons, "_CHUNK", 4)
    rng = np.random.default_rng(11)
    weak = md.design(FOUND.prior, md.utility.Hamming(), md.LDP(0.5))
    kernels, keys, people = [FOUND, weak], [KEY, md.release_key()], np.arange(9)
    given = {}
    for number in range(12):
        who = rng.permutation(people)[: rng.integers(1, 10)]
        kernel, key, of = rng.integers(2), rng.integers(2), rng.choice([None, "1", "2"])
        values = rng.choice(LABELS[:2], len(who))
        pd.DataFrame({"id": who, "x": values}).to_csv("now.csv", index=False)
        md.privatize_file(
            "now.csv", f"{number}.csv", "x", kernels[kernel], person="id", key=keys[key], round=of
        )
        for one, value in zip(who.tolist(), values, strict=True):
            given.setdefault(one, {}).setdefault((key, value), set()).add((kernel, of))

    def together(drawn):
        asked = [kernels[kernel] for kernel, _ in drawn]
        return md.compose(*asked, notions=[md.LDP(1)]).found[0].levels[0]

    for one in people.tolist():
        found, mine = Ledger().person(one), given.get(one, {})
        assert len(found.entries) == sum(map(len, mine.values()))
        assert found.level == pytest.approx(sum(map(together, mine.values())), abs=1e-10)


def test_people_of_alike_names_are_different_people(place):
    """A zero byte, other forms of one letter, spaces in the middle, and very long identities."""
    who = ["a", "a\0", "a\0\0", "é", "e\u0301", "a b", "a  b", "x" * 40, "x" * 5000, "x" * 5001]
    for number, table in enumerate([who, who[::-1], who[3:]]):
        pd.DataFrame({"id": table, "x": "a"}).to_parquet("named.parquet")
        md.privatize_file(
            "named.parquet", f"{number}.parquet", "x", FOUND, person="id", key=KEY, round=number
        )
    drawn = [len(Ledger().person(one).entries) for one in who]
    assert drawn == [2, 2, 2, *[3] * 7]
    assert Ledger().person("a\0\0\0").entries == ()


@pytest.mark.parametrize("level", [1, persons.units(0.001), persons.UNBOUNDED])
def test_a_total_of_any_number_of_rows_does_not_overflow(level, tmp_path):
    class Many(persons.PersonDraws):
        def ask(self, base, _):
            value = os.urandom(16)
            base.execute("INSERT INTO asked VALUES (?, ?, ?, 0, NULL)", [b"p" * 16, value, 10**9])

    table = persons.Persons(tmp_path / "p")
    about = {"secret": "x", "kernel": "k", "round": None, "time": "now"}

    def judge(drawn):
        return (min(persons.UNBOUNDED, sum(one for *_, one in drawn)),) * 2

    for number in range(1, 12):
        with table.charged(Many(b"key", None, None, "x", "k"), about, level, judge, None):
            pass
        total = number * 10**9 * level
        expected = math.inf if total >= persons.UNBOUNDED else total / 10**12
        assert table.account(b"p" * 16).level == pytest.approx(expected, abs=1e-9)


# Budgets


def test_a_budget_keeps_people_from_more(place):
    release("one.csv", "r1.csv", budget=md.LDP(1))
    release("one.csv", "r2.csv", budget=1)
    write("two.csv", ["b", "b", "a", "a"])
    with pytest.raises(DataError, match="4 of 4"):
        release("one.csv", "r3.csv", about="others", budget=0)
    with pytest.raises(DataError, match="2 of 4 persons with more") as problem:
        release("two.csv", "r3.csv", budget="ldp:1")
    assert not Path("r3.csv").exists()
    assert "'a'" not in str(problem.value)
    assert len(Ledger().person(1).entries) == 1
    assert len(Ledger().releases()) == 2
    release("two.csv", "r3.csv", budget=2)
    # A fresh draw by another key, where all have had their share.
    with pytest.raises(DataError, match="4 of 4 persons"):
        release("one.csv", "r4.csv", key=md.release_key(), budget=1.5)


def test_a_kernel_that_rules_values_out_is_beyond_every_budget(place):
    exact = md.Mechanism(np.eye(3), LABELS, LABELS)
    with pytest.raises(DataError, match="up to inf"):
        md.privatize_file("one.csv", "r.csv", "x", exact, person="id", key=KEY, budget=900)
    md.privatize_file("one.csv", "r.csv", "x", exact, person="id", key=KEY)
    assert Ledger().person(1).level == np.inf


def test_levels_are_added_up_without_rounding_errors(place):
    tenth = md.design(FOUND.prior, md.utility.Hamming(), md.LDP(0.1))
    for i in range(3):
        key = md.ReleaseKey(bytes([i]) * 32)
        md.privatize_file("one.csv", f"{i}.csv", "x", tenth, person="id", key=key, budget=0.3)
    with pytest.raises(DataError, match="4 of 4"):
        md.privatize_file(
            "one.csv", "3.csv", "x", tenth, person="id", key=md.release_key(), budget=0.3
        )


@pytest.mark.parametrize("budget", [-1, np.nan, np.inf, True, "much", "lip:1", md.LIP(1), [1]])
def test_what_is_no_budget_is_refused(place, budget):
    with pytest.raises(InputError):
        release("one.csv", "r.csv", budget=budget)
    assert not Path("r.csv").exists()


def test_a_budget_needs_persons_and_a_ledger(place):
    for options in (
        {},
        {"row": "id", "key": KEY},
        {"person": "id", "key": KEY, "ledger": False},
    ):
        with pytest.raises(InputError, match="budget"):
            md.privatize_file("one.csv", "r.csv", "x", FOUND, budget=1, **options)


def test_a_person_with_two_values_in_one_table_is_refused_and_not_charged(place):
    pd.DataFrame({"id": [1, 1], "x": ["a", "b"]}).to_csv("twice.csv", index=False)
    with pytest.raises(DataError, match="one value of the secret for each person"):
        release("twice.csv", "r.csv", budget=5)
    assert Ledger().person(1).entries == ()


def test_people_of_another_name_have_accounts_of_their_own(place):
    release("one.csv", "r1.csv", about="patients", budget=1)
    write("two.csv", ["b", "c", "a", "b"])
    release("two.csv", "r2.csv", about="nurses", budget=1)
    assert len(Ledger().person(1, "patients").entries) == 1
    assert Ledger().person(1).entries == ()


def test_an_account_is_not_empty_because_of_the_name_of_its_people(run, place):
    assert Ledger().people() == ()
    release("one.csv", "r1.csv", about="patients", budget=1)
    code, _, problem = run("ledger", "--person", 1)
    assert code == 2
    assert "--about: expected one of 'patients', got none" in problem
    assert run("ledger", "--person", 1, "--about", "patients")[1].startswith("1 draw: LDP(1)")
    write("two.csv", ["b", "c", "a", "b"])
    release("two.csv", "r2.csv", budget=1)
    assert Ledger().people() == ("patients", None)
    code, _, problem = run("ledger", "--person", 1, "--about", "patient")
    assert code == 2
    assert "did you mean 'patients'?" in problem
    # Whoever is in no release of people that the ledger knows gave nothing.
    assert run("ledger", "--person", 99, "--about", "patients")[1].startswith("0 draws")


# Files


def persons_file():
    path = Ledger().path
    return path.with_name(path.name + ".persons")


def test_an_older_copy_of_what_persons_gave_away_is_noticed(place):
    release("one.csv", "r1.csv")
    shutil.copy(persons_file(), "old")
    write("two.csv", ["b", "b", "a", "a"])
    release("two.csv", "r2.csv")
    shutil.copy(persons_file(), "new")
    for damage in (lambda: shutil.copy("old", persons_file()), persons_file().unlink):
        damage()
        with pytest.raises(StorageError, match="older copy or nothing"):
            release("one.csv", "r3.csv")
        assert not Path("r3.csv").exists()
        shutil.copy("new", persons_file())
    release("one.csv", "r3.csv")
    persons_file().write_text("nothing of the kind")
    with pytest.raises(StorageError, match="take the file from a copy"):
        release("one.csv", "r4.csv")


def test_neither_identities_nor_values_are_kept(place):
    pd.DataFrame({"id": ["Ada Byron"], "x": ["a"]}).to_csv("named.csv", index=False)
    release("named.csv", "r.csv")
    content = persons_file().read_bytes()
    assert b"Byron" not in content
    assert KEY.fingerprint.encode() not in content
    assert persons_file().stat().st_mode & 0o077 == 0
    assert len(Ledger().person("Ada Byron").entries) == 1


def start(script):
    return subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


AT_ONCE = """
import mechdesign as md
md.privatize_file("{0}.csv", "r{0}.csv", "x", md.load("design.json"), person="id",
                  key=md.ReleaseKey(bytes(range(40))), budget=1)
"""


@pytest.mark.slow
def test_of_two_processes_at_once_one_finds_the_budget_spent(place):
    write("0.csv", ["a"] * 50)
    write("1.csv", ["b"] * 50)
    works = [start(AT_ONCE.format(i)) for i in range(2)]
    ends = [work.communicate()[1] for work in works]
    assert sorted(work.returncode for work in works) == [0, 1], ends
    assert sum("50 of 50 persons" in end for end in ends) == 1
    assert len(Ledger().person(1).entries) == 1


STOPPED = """
import os, signal
import mechdesign as md
from mechdesign.release import ledger
def stop(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
ledger.Ledger._append = stop
md.privatize_file("one.csv", "r.csv", "x", md.load("design.json"), person="id",
                  key=md.ReleaseKey(bytes(range(40))))
"""


@pytest.mark.slow
def test_a_kill_between_both_files_counts_and_goes_on(place):
    write("zero.csv", ["a"])
    release("zero.csv", "r0.csv")
    work = start(STOPPED)
    work.communicate()
    assert work.returncode == -signal.SIGKILL
    assert len(Ledger().person(2).entries) == 1
    release("one.csv", "r.csv", budget=1)
    assert [len(Ledger().person(i).entries) for i in (1, 2, 3, 4)] == [1, 1, 1, 1]


# From a terminal


def test_persons_from_a_terminal(run, place):
    def apply(source, target, *more):
        how = ("--column", "x", "--person", "id", "--key", "release.key")
        return run("apply", "design.json", source, "-o", target, *how, *more)

    assert apply("one.csv", "r1.csv", "--budget", "ldp:1")[0] == 0
    write("two.csv", ["b", "b", "a", "a"])
    code, _, problem = apply("two.csv", "r2.csv", "--budget", "ldp:1")
    assert code == 2
    assert "2 of 4 persons with more" in problem
    assert not Path("r2.csv").exists()
    code, told, _ = run("ledger", "--person", 1)
    assert code == 0
    assert told.startswith("1 draw: LDP(")
    assert [line.split("│")[2].strip() for line in told.splitlines() if "…" in line] == ["x"]
    assert json.loads(run("ledger", "--person", 9, "--json")[1]) == {"level": 0.0, "draws": []}
    assert len(json.loads(run("ledger", "--json")[1])) == 1
    code, _, problem = run("ledger", "--ledger", "none.jsonl")
    assert code == 2
    assert "expected a ledger, got none" in problem
    assert not Path("none.jsonl.key").exists()


# What reports really told


def test_the_odometer_of_a_person_reads_the_kernels_of_the_ledger(place):
    """Two kernels about one value: the posterior of what was reported, not the worst case."""
    weak = md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(0.5))
    first = release("one.csv", "r1.csv", ledger="l")
    md.privatize_file("one.csv", "r2.csv", "x", weak, person="id", key=KEY, ledger="l")
    second = pd.read_csv("r2.csv")["x"].tolist()
    prior = md.Prior([0.5, 0.3, 0.2], LABELS)
    for person in range(4):
        told = Ledger("l").odometer(person + 1, [first[person], second[person]], prior)
        y, z = (
            FOUND.mechanism.outputs.index(first[person]),
            weak.mechanism.outputs.index(second[person]),
        )
        likelihood = FOUND.mechanism.kernel[:, y] * weak.mechanism.kernel[:, z]
        masses = prior.probabilities * likelihood
        np.testing.assert_allclose(told.posterior.probabilities, masses / masses.sum())
        expected = np.log(likelihood.max() / likelihood.min())
        assert told.level(md.LDP) == pytest.approx(expected)
        assert told.level(md.LDP) <= Ledger("l").person(person + 1).level


def test_the_odometer_refuses_what_the_ledger_does_not_know(place):
    first = release("one.csv", "r1.csv", ledger="l")
    write("two.csv", ["b", "b", "c", "a"])
    second = release("two.csv", "r2.csv", ledger="l")
    book, prior = Ledger("l"), md.Prior.uniform(LABELS)
    # The second person's value is the same, and the report is too: one draw.
    assert first[1] == second[1]
    assert book.odometer(2, [first[1]], prior).reports == (first[1],)
    for reports in ([first[1], second[1]], [], "a", None):
        with pytest.raises(InputError, match="expected 1, one for each draw"):
            book.odometer(2, reports, prior)
    # The first person's changed.
    with pytest.raises(InputError, match="draws about one value"):
        book.odometer(1, [first[0], second[0]], prior)
    assert len(book.odometer(1, [first[0], second[0]], prior, unchanged=True).reports) == 2
    with pytest.raises(InputError, match="0 columns"):
        book.odometer(9, ["a"], prior)


def test_the_listing_fits_a_terminal_of_eighty_columns(run, place, monkeypatch):
    for number, about in enumerate(["the staff", "guests", None]):
        more = ("--column", "x", *(("--about", about) if about else ()))
        made = run("apply", "design.json", "one.csv", "-o", f"reports-{number}.csv", *more)
        assert made[0] == 0, made
    monkeypatch.setenv("FORCE_COLOR", "1")  # as a terminal
    monkeypatch.setenv("COLUMNS", "80")
    shown = re.sub("\x1b\\[[0-9;]*m", "", run("ledger")[1])
    assert max(map(len, shown.splitlines())) <= 80
    heads = [line.strip() for line in shown.splitlines() if line.startswith("About")]
    assert heads == ["About the staff", "About guests", "About one.csv"]
    for number in range(3):
        assert shown.count(f"reports-{number}.csv ") == 1
    assert "T1" not in shown
    assert "+00:00" not in shown
