"""Fresh draws of people who come back: rounds, budgets, accounts without keys, many files."""

from __future__ import annotations

import math
import sqlite3
import warnings
from pathlib import Path

import numpy as np
import pytest
from checks import for_each, slow_but

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import DataError, InputError, RepeatWarning, StorageError
from mechdesign.release.ledger import Ledger

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

LABELS = ["a", "b", "c"]
PRIOR = md.Prior([0.5, 0.3, 0.2], LABELS)
FOUND = md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(1))
KEY = md.ReleaseKey(bytes(range(40)))
BY_PERSON = {"person": "id", "key": KEY}

allowed = pytest.mark.filterwarnings("ignore::mechdesign.errors.RepeatWarning")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, values, **columns):
    columns = {"id": range(1, len(values) + 1), **columns}
    pd.DataFrame({**columns, "x": values}).to_csv(name, index=False)


def release(source, target, design=FOUND, **more):
    md.privatize_file(source, target, "x", design, **{**BY_PERSON, **more})
    return pd.read_csv(target)["x"].tolist()


def drawn(*people):
    return [len(Ledger().person(i).entries) for i in people]


# The adversary: all reports that a person ever gave


ROUNDS = 30


def guessed(rounds):
    """The share of persons whose value is found from all their reports."""
    table = pd.DataFrame({"id": range(500), "x": np.random.default_rng(5).choice(LABELS, 500)})
    scores = np.zeros((len(table), len(LABELS)))
    logs = np.log(FOUND.mechanism.kernel)
    for one in rounds:
        made = md.privatize(table, "x", FOUND, round=one, **BY_PERSON)
        scores += logs[:, [LABELS.index(y) for y in made["x"]]].T
    return float((scores.argmax(axis=1) == [LABELS.index(x) for x in table["x"]]).mean())


def test_averaging_fails_within_a_round_and_succeeds_over_many():
    assert guessed([None] * ROUNDS) == guessed([None]) < 0.75
    assert guessed([2] * ROUNDS) == guessed([2]) < 0.75
    assert guessed(range(ROUNDS)) > 0.95


@pytest.mark.slow
@allowed
def test_averaging_over_rounds_fails_where_a_budget_stops_fresh_draws():
    """Thirty rounds are asked, and the budget allows two: the others add nothing."""
    rng = np.random.default_rng(5)
    write("people.csv", rng.choice(LABELS, 120).tolist())
    asked = {"budget": 2, "spent": "earlier"}
    told = [
        release("people.csv", f"{i}.csv", round=i, **(asked if i > 1 else {})) for i in range(6)
    ]
    different = [len({column[i] for column in told}) for i in range(120)]
    assert max(different) == 2
    assert told[2] == told[3] == told[4] == told[5] == told[1]
    assert set(drawn(*range(1, 121))) == {2}
    # The control: without a budget there is a draw for each round.
    fresh = [release("people.csv", f"f{i}.csv", round=i) for i in range(2, 6)]
    assert len({tuple(one) for one in fresh}) == 4
    assert set(drawn(*range(1, 121))) == {6}


# Rounds


def test_a_round_has_the_same_reports_for_ever_and_another_has_its_own():
    table = pd.DataFrame({"id": range(300), "x": ["a", "b", "c"] * 100})
    made = [
        md.privatize(table, "x", FOUND, round=one, **BY_PERSON)["x"].tolist()
        for one in (None, 1, "1", 2, "two", 1)
    ]
    assert made[1] == made[2] == made[5]
    assert len({tuple(one) for one in made}) == 4
    # Reports of two rounds are no closer than independent ones: with c = Σ_y K(y|x)² they agree.
    agree = np.mean([x == y for x, y in zip(made[1], made[3], strict=True)])
    chance = (FOUND.mechanism.kernel**2).sum(axis=1).mean()
    assert abs(agree - chance) < 4 * math.sqrt(chance * (1 - chance) / 300)


def test_rounds_of_rows_and_of_kernels_without_a_matrix():
    table = pd.DataFrame({"id": range(200), "x": np.arange(200) % 40})
    large = md.subset_selection(md.Prior.uniform(range(40)), md.LDP(1))
    for design in (large, md.randomised_response(md.Prior.uniform(range(40)), 1)):
        made = [
            md.privatize(table, "x", design, row="id", key=KEY, round=one)["x"].tolist()
            for one in (1, 1, 2)
        ]
        assert made[0] == made[1] != made[2]


@for_each("given", [True, 1.5, "", "  ", ["1"], np.nan])
def test_what_names_no_round_is_refused(given):
    table = pd.DataFrame({"id": [1], "x": ["a"]})
    with pytest.raises(InputError, match="round"):
        md.privatize(table, "x", FOUND, round=given, **BY_PERSON)


def test_a_round_needs_a_key():
    table = pd.DataFrame({"id": [1], "x": ["a"]})
    for options in ({}, {"person": "id"}, {"row": "id"}, {"row": "id", "rng": 1}):
        with pytest.raises(InputError, match="expected a key with it"):
            md.privatize(table, "x", FOUND, round=1, **options)


def test_the_receipt_names_the_round():
    table = pd.DataFrame({"id": range(30), "x": "a"})
    one = md.privatize(table, "x", FOUND, round=7, receipt="r.json", **BY_PERSON)
    assert '"round": "7"' in Path("r.json").read_text()
    assert md.estimate(one, FOUND, "x").receipt.round == "7"


# Accounts


def level():
    return md.compose(FOUND, notions=[md.LDP(1)]).found[0].levels[0]


@allowed
def test_a_round_is_a_draw_of_its_own():
    write("one.csv", LABELS)
    release("one.csv", "1.csv")
    release("one.csv", "2.csv", round=2)
    release("one.csv", "3.csv", round=2)
    assert drawn(1, 2, 3) == [2, 2, 2]
    found = Ledger().person(1)
    assert found.level == pytest.approx(2 * level(), abs=1e-11)
    assert [entry.get("round") for entry in found.entries] == [None, "2"]


@allowed
def test_rows_without_a_key_and_rows_with_identities_are_charged():
    write("rows.csv", ["a", "a", "b", "c"], id=[1, 1, 1, 2], row=[10, 11, 12, 13])
    md.privatize_file("rows.csv", "1.csv", "x", FOUND, person="id")
    assert [entry.get("times", 1) for entry in Ledger().person(1).entries] == [3]
    assert Ledger().person(1).level == pytest.approx(3 * level(), abs=1e-11)
    assert str(Ledger().person(1)).startswith("3 draws: LDP(3)")
    md.privatize_file("rows.csv", "2.csv", "x", FOUND, person="id")
    assert Ledger().person(1).level == pytest.approx(6 * level(), abs=1e-11)
    # Under a key a row that comes again with its value is no new draw, in any round of asking.
    named = {"about": "keyed", "person": "id", "row": "row", "key": KEY}
    for i in range(3):
        md.privatize_file("rows.csv", f"k{i}.csv", "x", FOUND, **named)
    assert len(Ledger().person(1, "keyed").entries) == 3
    write("rows.csv", ["a", "b", "b", "c"], id=[1, 1, 1, 2], row=[10, 11, 12, 13])
    md.privatize_file("rows.csv", "k4.csv", "x", FOUND, **named)
    assert len(Ledger().person(1, "keyed").entries) == 4
    assert len(Ledger().person(2, "keyed").entries) == 1


@allowed
def test_budgets_hold_without_a_key():
    write("rows.csv", ["a", "a", "b"], id=[1, 1, 2])
    with pytest.raises(DataError, match="1 of 2 persons with more, up to 2 nats"):
        md.privatize_file("rows.csv", "1.csv", "x", FOUND, person="id", budget=1.5)
    assert drawn(1, 2) == [0, 0]
    md.privatize_file("rows.csv", "1.csv", "x", FOUND, person="id", budget=2)
    write("more.csv", ["a", "c"], id=[2, 3])
    md.privatize_file("more.csv", "2.csv", "x", FOUND, person="id", budget=2)
    with pytest.raises(DataError, match="1 of 2 persons"):
        md.privatize_file("more.csv", "3.csv", "x", FOUND, person="id", budget=2)
    write("blank.csv", ["a", "c"], id=[2, None])
    with pytest.raises(DataError, match="missing values"):
        md.privatize_file("blank.csv", "4.csv", "x", FOUND, person="id", budget=20)


def separate():
    """Two kernels whose worst pairs of symbols differ."""
    first = md.Mechanism([[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]], LABELS, ["p", "q"])
    second = md.Mechanism([[0.25, 0.75], [0.25, 0.75], [0.75, 0.25]], LABELS, ["p", "q"])
    return first, second


@allowed
def test_draws_about_one_value_are_composed_exactly_and_others_add_up():
    write("one.csv", LABELS)
    first, second = separate()
    together = md.compose(first, second, notions=[md.LDP(1)]).found[0].levels[0]
    apart = sum(md.compose(k, notions=[md.LDP(1)]).found[0].levels[0] for k in (first, second))
    assert together < apart - 0.3
    release("one.csv", "1.csv", first)
    release("one.csv", "2.csv", second, budget=together + 1e-9)
    assert Ledger().person(1).level == pytest.approx(together, abs=1e-9)
    # Another value may depend on the first in any way.
    release("one.csv", "3.csv", first, about="others")
    write("one.csv", ["b", "c", "a"])
    with pytest.raises(DataError, match="3 of 3"):
        release("one.csv", "4.csv", second, about="others", budget=together + 1e-9)
    release("one.csv", "4.csv", second, about="others", budget=apart + 1e-9)
    assert Ledger().person(1, "others").level == pytest.approx(apart, abs=1e-9)


@allowed
def test_levels_of_pml_are_not_added():
    """Under PML a value that is known by heart gives away −log of its mass, however often told."""
    design = md.design(PRIOR, md.utility.Hamming(), md.PML(0.5))
    write("one.csv", LABELS)
    exact = [
        md.compose(design, times=n, notions=[md.PML(1)], prior=PRIOR).found[0].levels[0]
        for n in (1, 2, 3, 4)
    ]
    # Two levels of this kernel do not add up: two draws leak more, or less, than twice the one.
    assert max(abs(exact[n] - (n + 1) * exact[0]) for n in (1, 2, 3)) > 0.01
    for n in (1, 2, 3):
        if n > 1:
            with pytest.raises(DataError, match=r"PML\(.*3 of 3 persons"):
                release("one.csv", f"{n}.csv", design, round=n, budget=md.PML(exact[n - 1] - 0.001))
        release("one.csv", f"{n}.csv", design, round=n, budget=md.PML(exact[n - 1] + 1e-9))
    # Of another value, another draw is bounded by its leakage capacity, which is more than PML.
    write("one.csv", ["c", "a", "b"])
    (capacity,) = md.compose(design, notions=[md.LDP(1)]).found[0].levels
    assert exact[3] < exact[2] + capacity - 0.1
    with pytest.raises(DataError, match="3 of 3"):
        release("one.csv", "5.csv", design, round=4, budget=md.PML(exact[2] + capacity - 0.001))
    release("one.csv", "5.csv", design, round=4, budget=md.PML(exact[2] + capacity + 1e-9))


def test_a_budget_of_pml_needs_a_prior():
    write("one.csv", LABELS)
    with pytest.raises(InputError, match="a design with its prior"):
        release("one.csv", "1.csv", FOUND.mechanism, budget=md.PML(1))
    assert not Path("1.csv").exists()


# Spent budgets


def test_who_has_spent_the_budget_gets_the_earlier_report():
    values = ["a", "b", "c"] * 30
    write("one.csv", values)
    first = release("one.csv", "1.csv", budget=1)
    with pytest.raises(DataError, match="--spent earlier"):
        release("one.csv", "2.csv", round=2, budget=1)
    write("two.csv", [*values[1:], "a", "b"])  # all have another value, and one is new
    with pytest.warns(RepeatWarning) as warned:
        second = release("two.csv", "2.csv", round=2, budget=1, spent="earlier")
    assert second[:90] == first
    (message,) = [str(one.message) for one in warned]
    assert "LDP(1) is spent for 90 of 91 persons, who get an earlier report again, 90" in message
    assert drawn(1, 90, 91) == [1, 1, 1]
    # Of the same value its own report, though the last one was of another.
    third = release("two.csv", "3.csv", round=2, budget=2)
    assert third[:90] != first
    with pytest.warns(RepeatWarning, match="for 90 of 90 persons, who get an earlier report again"):
        fourth = release("one.csv", "4.csv", round=3, budget=2, spent="earlier")
    assert fourth == first


@allowed
def test_without_an_earlier_report_nothing_is_released():
    write("one.csv", LABELS)
    release("one.csv", "1.csv")
    for more in ({"key": md.release_key()}, {"design": separate()[0]}):
        with pytest.raises(DataError, match="3 without one under this key, column and kernel"):
            release("one.csv", "2.csv", budget=1, spent="earlier", **more)
    with pytest.raises(DataError, match="3 without one"):
        release("one.csv", "2.csv", budget=0.5, spent="earlier", about="nobody known")
    assert not Path("2.csv").exists()
    assert drawn(1) == [1]
    assert len(Ledger().releases()) == 1


def test_what_happens_where_a_budget_is_spent_is_checked():
    write("one.csv", LABELS)
    for more in (
        {"budget": 1, "spent": "never"},
        {"spent": "earlier"},
        {"budget": 1, "spent": "earlier", "key": None},
        {"budget": 1, "spent": "earlier", "row": "id"},
    ):
        with pytest.raises(InputError):
            release("one.csv", "1.csv", **more)
    assert not Path("1.csv").exists()


# Warnings by accounts


def test_warnings_speak_of_accounts():
    write("one.csv", LABELS)
    write("two.csv", ["a", "a", "a"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatWarning)
        release("one.csv", "1.csv")
        release("one.csv", "2.csv")  # the very reports
        release("two.csv", "3.csv", budget=2)  # as much as is allowed
    write("three.csv", ["b", "a", "b"])
    with pytest.warns(RepeatWarning) as warned:
        release("three.csv", "4.csv")
    (message,) = [str(one.message) for one in warned]
    # The second has had its report of "a", the others gave a second or third.
    assert "2 persons have given reports before" in message
    assert "LDP(3) by their accounts" in message
    # Where others, without accounts, gave reports of the same secrets, these count as before.
    md.privatize_file("three.csv", "5.csv", "x", FOUND, ledger="other.jsonl", row="id")
    with pytest.warns(RepeatWarning, match="was released 1 time before"):
        release("three.csv", "6.csv", ledger="other.jsonl")


def test_the_same_secrets_under_other_names_are_warned_of_as_before():
    write("one.csv", LABELS, mail=["k", "l", "m"])
    release("one.csv", "1.csv")
    with pytest.warns(RepeatWarning, match="was released 1 time before"):
        release("one.csv", "2.csv", person="mail")


def test_a_warning_that_is_an_error_charges_nobody():
    write("one.csv", LABELS)
    release("one.csv", "1.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatWarning)
        with pytest.raises(RepeatWarning):
            release("one.csv", "2.csv", round=2)
    assert drawn(1) == [1]


# Several columns, and many files


def two_columns():
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {"id": range(60), "x": rng.choice(LABELS, 60), "y": rng.choice(["u", "v"], 60)}
    )


def planned(table):
    return md.plan_columns(table, {"x": 1, "y": 1}, total=md.LDP(1.5))


def joint(table):
    prior = md.Prior.from_data(table, ["x", "y"])
    return md.design(prior, md.utility.Hamming(), md.LDP(1.5))


@allowed
@pytest.mark.filterwarnings("ignore::mechdesign.errors.CountsWarning")
@pytest.mark.parametrize("made", slow_but(lambda made: made is joint, [planned, joint]))
def test_several_columns_are_one_account(made):
    table = two_columns()
    table.to_csv("one.csv", index=False)
    design = made(table)

    def give(source, target, **more):
        md.privatize_file(source, target, design, **BY_PERSON, **more)
        return pd.read_csv(target)[["x", "y"]].to_numpy().tolist()

    first = give("one.csv", "1.csv", budget=1.6)
    assert give("one.csv", "2.csv", budget=1.6) == first
    assert drawn(0) == [1]
    assert Ledger().person(0).level == pytest.approx(1.5, abs=0.02)
    # One column of the two changes for the first person: a new draw of the whole.
    table.loc[0, "y"] = "u" if table.loc[0, "y"] == "v" else "v"
    table.to_csv("two.csv", index=False)
    with pytest.raises(DataError, match="1 of 60 persons with more"):
        give("two.csv", "3.csv", budget=1.6)
    with pytest.warns(RepeatWarning, match="spent for 1 of 60 persons"):
        assert give("two.csv", "3.csv", budget=1.6, spent="earlier") == first
    assert give("two.csv", "4.csv", round=2, budget=1.6, spent="earlier") == first
    assert give("two.csv", "5.csv", round=2, budget=3.1)[1:] != first[1:]
    assert drawn(0, 1) == [2, 2]


def write_folder(name, values):
    Path(name).mkdir()
    for i, part in enumerate(np.array_split(np.arange(len(values)), 3)):
        pd.DataFrame({"id": part, "x": [values[k] for k in part]}).to_csv(
            f"{name}/{i}.csv", index=False
        )


def read_folder(name):
    return [y for i in range(3) for y in pd.read_csv(f"{name}/{i}.csv")["x"]]


@allowed
def test_a_folder_is_one_release_of_its_people():
    values = ["a", "b", "c"] * 20
    write_folder("one", values)
    md.privatize_file("one", "r1", "x", FOUND, budget=1, **BY_PERSON)
    assert drawn(0, 30, 59) == [1, 1, 1]
    write_folder("two", [*values[1:], "a"])
    with pytest.raises(DataError, match="60 of 60 persons"):
        md.privatize_file("two", "r2", "x", FOUND, budget=1, **BY_PERSON)
    assert not Path("r2").exists()
    md.privatize_file("two", "r2", "x", FOUND, budget=1, spent="earlier", **BY_PERSON)
    assert read_folder("r2") == read_folder("r1")
    # A file of the same people knows of the folder.
    write("all.csv", values, id=range(60))
    assert release("all.csv", "all-r.csv", budget=1) == read_folder("r1")


@allowed
@pytest.mark.parametrize("key", [KEY, None], ids=["earlier reports", "no key"])
def test_a_stopped_folder_goes_on_with_its_accounts(monkeypatch, key):
    values = ["a", "b", "c"] * 20
    write_folder("one", values)
    asked = {"budget": 1, "person": "id"}
    if key is not None:
        md.privatize_file("one", "r1", "x", FOUND, **BY_PERSON)
        asked |= {"spent": "earlier", "key": key}
    write_folder("two", [*values[1:], "a"])
    # A file that cannot be written stops the run when some are there.
    from mechdesign.release.file_passes import FileRelease

    whole = FileRelease.write

    def fails(asked, path, *arguments):
        if Path(path).name == "2.csv":
            raise KeyboardInterrupt
        return whole(asked, path, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(FileRelease, "write", fails)
        with (
            pytest.raises(KeyboardInterrupt),
            pytest.warns(md.errors.LeftoverWarning, match="2 of 3 files"),
        ):
            md.privatize_file("two", "r2", "x", FOUND, **asked)
    md.privatize_file("two", "r2", "x", FOUND, **asked)
    assert len(read_folder("r2")) == 60
    if key is not None:
        assert read_folder("r2") == read_folder("r1")
    assert drawn(0, 59) == [1, 1]


def test_accounts_of_another_version_are_refused_in_a_line():
    write("one.csv", LABELS)
    release("one.csv", "1.csv")
    path = Ledger().path.with_name(Ledger().path.name + ".persons")
    with sqlite3.connect(path) as base:
        base.execute("PRAGMA user_version = 1")
    base.close()
    with pytest.raises(StorageError, match="of version 2, got 1"):
        release("one.csv", "2.csv")
    assert not Path("2.csv").exists()


# From a terminal


def test_rounds_from_a_terminal(capsys):
    md.save(FOUND, "design.json")
    write("one.csv", LABELS)
    how = ["apply", "design.json", "one.csv", "--column", "x", "--person", "id", "--key", "k"]
    assert main([*how, "-o", "1.csv", "--budget", "1"]) == 0
    assert main([*how, "-o", "2.csv", "--budget", "1", "--round", "2"]) == 2
    assert "3 of 3 persons with more" in capsys.readouterr().err
    told = ["--budget", "1", "--round", "2", "--spent", "earlier"]
    assert main([*how, "-o", "2.csv", *told]) == 0
    assert "LDP(1) is spent for 3 of 3 persons" in capsys.readouterr().err
    assert Path("1.csv").read_bytes() == Path("2.csv").read_bytes()
    assert main([*how, "-o", "3.csv", "--budget", "pml:0.9", "--round", "2"]) == 0
    capsys.readouterr()
    assert main(["ledger", "--person", "1"]) == 0
    head, *rows = [line for line in capsys.readouterr().out.splitlines() if line[:1] in "┃│"]
    assert head.split("┃")[-2].strip() == "round"
    assert [row.split("│")[-2].strip() for row in rows][-1] == "2"
