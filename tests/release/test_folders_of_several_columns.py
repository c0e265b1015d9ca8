"""Several columns of many files: one release, gone on with after a kill, nothing drawn twice."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from checks import for_each, pairwise_cases, refused, slow_but
from entropy import draws_decide_nothing

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import DataError, StorageError
from mechdesign.release.ledger import Ledger
from mechdesign.release.receipts import file_receipts

KEY = b"k" * 32
RUN = ".mechdesign-run"
BOTH = ["class", "sex"]
NAMES = ["day=1/part-0", "day=1/part-1", "day=2/part-0"]
PRIOR = md.Prior.from_csv("titanic", BOTH)
PLAN = md.plan_columns(PRIOR, None, md.LDP(3), joint=False)
OTHER = md.plan_columns(PRIOR, {"class": 1, "sex": 9}, md.LDP(3), joint=False)
SUBSETS = md.design(PRIOR, md.utility.Estimation(), md.LDP(3))
RELEASES = {
    "plan": PLAN,
    "tuples": md.design(PRIOR, md.utility.Hamming(), md.LDP(3)),
    "subsets": SUBSETS,
}


def people(index, rows=300):
    rng = np.random.default_rng(index)
    met = [PRIOR.labels[i] for i in rng.choice(len(PRIOR), rows, p=PRIOR.probabilities)]
    first, second = zip(*met, strict=True)
    return pd.DataFrame({"id": np.arange(rows) + 1000 * index, "class": first, "sex": second})


def write(frame, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)


def read(path):
    if Path(path).suffix == ".parquet":
        # One file, whose folders say nothing.
        with open(path, "rb") as file:
            return pd.read_parquet(file)
    return pd.read_csv(path)


def whole(paths):
    return pd.concat([read(path) for path in paths], ignore_index=True)


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Three Parquet files in two partitions."""
    monkeypatch.chdir(tmp_path)
    for index, name in enumerate(NAMES):
        write(people(index), Path("in", name + ".parquet"))
    return tmp_path


def release(source="in", target="out", mechanism=PLAN, **options):
    return md.privatize_file(source, target, mechanism=mechanism, **options)


def made():
    return [Path("out", name + ".parquet") for name in NAMES]


@for_each(
    "ending, kind, options",
    pairwise_cases(
        [".parquet", ".csv", ".csv.gz"], RELEASES, [{"row": "id", "key": KEY}, {"rng": 4}]
    ),
)
def test_a_folder_has_the_reports_of_one_table(tmp_path, monkeypatch, ending, kind, options):
    monkeypatch.chdir(tmp_path)
    for index, name in enumerate(NAMES):
        write(people(index), Path("in", name + ending))
    write(pd.concat([people(index) for index in range(3)]), Path("whole" + ending))
    mechanism = RELEASES[kind]
    release("whole" + ending, "one" + ending, mechanism, ledger=False, **options)
    receipt = release(mechanism=mechanism, receipt="told.json", **options)
    assert (receipt.column, receipt.rows) == ("class, sex", 900)
    assert len(Ledger().releases()) == 1
    found = [Path("out", name + ending) for name in NAMES]
    pd.testing.assert_frame_equal(whole(found), read("one" + ending))
    named = {"plan": BOTH, "tuples": ["class, sex"], "subsets": ["class_sex"]}[kind]
    for path in found:
        told = file_receipts(path, check=True)
        assert list(told) == named
        assert [told[name].rows for name in named] == [300] * len(named)


@pytest.mark.parametrize("pattern", ["in/*/part-*.parquet", "in/**/*.parquet"])
def test_patterns_are_one_release_too(data, pattern):
    assert release(pattern, row="id", key=KEY).rows == 900
    (entry,) = Ledger().releases()
    assert entry["finished"]
    assert [part["column"] for part in entry["parts"]] == BOTH


CHILD = """
import os, sys, warnings
import mechdesign as md
from mechdesign.release import folder_release
warnings.simplefilter("ignore")
after, at, key = sys.argv[1] == "after", int(sys.argv[2]), sys.argv[3]
publish, calls = folder_release.publish, []
def dying(*arguments, **options):
    calls.append(1)
    if len(calls) == at and not after:
        os._exit(9)
    publish(*arguments, **options)
    if len(calls) == at:
        os._exit(9)
folder_release.publish = dying
options = {"row": "id", "key": b"k" * 32} if key == "key" else {}
md.privatize_file("in", "out", mechanism=md.load("m.json"), **options)
"""


def killed(mechanism, when="after", at=2, key=""):
    md.save(mechanism, "m.json", overwrite=True)
    # What it draws is compared with itself.
    done = subprocess.run(
        [sys.executable, "-c", CHILD, when, str(at), key],
        timeout=240,
        check=False,
        env=draws_decide_nothing(),
    )
    assert done.returncode == 9


@pytest.mark.parametrize("kind", slow_but(1, RELEASES))
@pytest.mark.parametrize(("when", "at"), [("before", 1), ("after", 2)])
def test_what_was_finished_is_not_drawn_again(data, kind, when, at):
    """Reports without a key are random: those that may have been seen stay as they are.

    In the end the ledger knows the reports of all files again, also of those that it did not see
    drawn.
    """
    killed(RELEASES[kind], when, at)
    visible = {path: path.read_bytes() for path in Path("out").glob("day*/*")}
    finished = {path.read_bytes() for path in Path("out", RUN).glob("*.parquet")}
    assert len(visible) + len(finished) == at
    assert not Ledger().releases()[0]["finished"]
    release(mechanism=RELEASES[kind])
    found = made()
    contents = [path.read_bytes() for path in found]
    assert finished | set(visible.values()) <= set(contents)
    assert all(path.read_bytes() == content for path, content in visible.items())
    assert not [path for path in Path("out").rglob("*") if path.name.startswith(".")]
    (entry,) = Ledger().releases()
    assert entry["finished"]
    if kind != "subsets":
        whole(found).to_parquet("lost.parquet", index=False)
        again = {"mechanism": RELEASES[kind], "target": "again.parquet", "unseen": "null"}
        refused(lambda: release("lost.parquet", **again), "reports", error=DataError)


@pytest.mark.slow
def test_another_run_draws_other_reports(data):
    """The control."""
    killed(PLAN)
    before = {path: path.read_bytes() for path in Path("out").glob("day*/*")}
    release(target="other", ledger=False)
    for path, content in before.items():
        assert Path("other", *path.parts[1:]).read_bytes() != content


def test_under_a_key_a_removed_file_comes_back_with_the_same_reports(data):
    killed(PLAN, key="key")
    first = Path("out/day=1/part-0.parquet")
    before = read(first)
    first.unlink()
    release(row="id", key=KEY)
    pd.testing.assert_frame_equal(read(first), before)
    assert len(Ledger().releases()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mechanism": OTHER}, "parts"),
        ({"mechanism": SUBSETS}, "kernel"),
        ({"unseen": "null"}, "unseen"),
        ({"row": "id", "key": KEY}, "key"),
    ],
    ids=["weights", "kernel", "policy", "key"],
)
def test_another_release_does_not_go_on_with_a_stopped_one(data, options, said):
    killed(PLAN)
    before = {path: path.read_bytes() for path in Path("out").rglob("part*")}
    with pytest.raises(StorageError, match="got another") as caught:
        release(**options)
    assert said in str(caught.value)
    assert {path: path.read_bytes() for path in Path("out").rglob("part*")} == before
    assert release().rows == 900


@pytest.mark.slow
def test_other_names_for_reports_do_not_go_on_either(data):
    killed(SUBSETS)
    with pytest.raises(StorageError, match="into"):
        release(mechanism=SUBSETS, into="answer")


@pytest.mark.parametrize("column", BOTH)
def test_a_file_that_holds_reports_of_any_column_is_refused(data, column):
    path = Path("in", NAMES[2] + ".parquet")
    md.privatize_file(path, "some.parquet", column, PLAN[column], ledger=False)
    Path("some.parquet").replace(path)
    refused(release, "the secret itself", column, error=DataError)
    assert not Path("out").exists()


@pytest.mark.parametrize("name", ["sex", "class_sex"])
def test_no_folder_is_named_by_a_column_that_is_read_or_written(data, name):
    write(people(4), Path("in", f"{name}=x", "part.parquet"))
    refused(lambda: release(mechanism=SUBSETS), "names of folders", error=DataError)
    assert not Path("out").exists()


def test_a_combination_in_the_last_file_is_refused_before_the_first_is_there(data):
    covered = md.Prior([0.5, 0.5], [("1st", "male"), ("crew", "female")]).with_schema(BOTH)
    for index, name in enumerate(NAMES):
        last = index == 2
        frame = pd.DataFrame({"class": ["1st", "1st"], "sex": ["male", "male"]})
        frame.loc[1] = ["crew", "male" if last else "female"]
        write(frame, Path("in", name + ".parquet"))
    plan = md.plan_columns(covered, None, md.PML(0.5), joint=False)
    refused(lambda: release(mechanism=plan), "combinations of values", error=DataError)
    assert not Path("out").exists()
    assert Ledger().releases() == []


def test_from_a_folder_to_its_joint_table(data, capsys):
    md.save(PLAN, "plan.json")
    assert main(["apply", "plan.json", "in", "-o", "out"]) == 0
    capsys.readouterr()
    assert main(["estimate", "plan.json", "out", "--json"]) == 0
    assert capsys.readouterr().out.count('"estimate"') == 8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = md.estimate(whole(made()), PLAN)
    assert found.reports == 900
