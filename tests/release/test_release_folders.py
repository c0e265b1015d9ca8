"""Many files as one release: recorded once, gone on with after a kill, nothing drawn twice.

Every form of a release is tried: a column, those of a plan, tuples, and one report for both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from checks import for_each, pairwise_cases, refused, slow_but
from entropy import draws_decide_nothing
from filelock import FileLock

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import DataError, InputError, LeftoverWarning, RepeatWarning, StorageError
from mechdesign.release import folder_release
from mechdesign.release.ledger import Ledger
from mechdesign.release.receipts import file_receipts
from mechdesign.release.reports import ReportFile, counted_rows

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

KEY = b"k" * 32
NAMES = ["day=1/part-0", "day=1/part-1", "day=2/part-0"]
RUN = ".mechdesign-run"
BOTH = ["class", "sex"]
PRIOR = md.Prior.from_csv("titanic", BOTH)
CLASSES = ("1st", "2nd", "3rd", "crew")
FOUND, OTHER = (
    md.design(md.Prior.uniform(CLASSES), md.utility.Hamming(), md.LDP(e)) for e in (1.5, 1)
)
PLAN, WEIGHTED = (
    md.plan_columns(PRIOR, {"class": 1, "sex": weight}, md.LDP(3), joint=False) for weight in (1, 9)
)
SUBSETS = md.design(PRIOR, md.utility.Estimation(), md.LDP(3))
# With the names of their receipts.
FORMS = {
    "column": ({"mechanism": FOUND, "column": "class"}, ["class"]),
    "plan": ({"mechanism": PLAN}, BOTH),
    "tuples": ({"mechanism": md.design(PRIOR, md.utility.Hamming(), md.LDP(3))}, ["class, sex"]),
    "one for both": ({"mechanism": SUBSETS}, ["class_sex"]),
}


def frame(index, rows=300):
    rng = np.random.default_rng(index)
    met = [PRIOR.labels[i] for i in rng.choice(len(PRIOR), rows, p=PRIOR.probabilities)]
    first, second = zip(*met, strict=True)
    ids = np.arange(rows) + 1000 * index
    return pd.DataFrame({"id": ids, "class": first, "sex": second, "n": ["note"] * rows})


def write(made, path):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        made.to_parquet(path, index=False)
    else:
        made.to_csv(path, index=False)


def read(path):
    if Path(path).suffix == ".parquet":
        # One file, whose folders say nothing.
        return pq.ParquetFile(path).read().to_pandas()
    return pd.read_csv(path)


def whole(folder="out", ending=".parquet"):
    return pd.concat([read(Path(folder, name + ending)) for name in NAMES], ignore_index=True)


def prepared(tmp_path, monkeypatch, ending=".parquet"):
    """A folder of three files in two partitions."""
    monkeypatch.chdir(tmp_path)
    for index, name in enumerate(NAMES):
        write(frame(index), Path("in", name + ending))
    Path("in/_SUCCESS").touch()


@pytest.fixture
def data(tmp_path, monkeypatch):
    prepared(tmp_path, monkeypatch)
    return tmp_path


def there(folder="."):
    """All that lies in a folder, hidden or not, by name."""
    return sorted(p.relative_to(folder).as_posix() for p in Path(folder).rglob("*"))


def contents(folder="out"):
    return {p.as_posix(): p.read_bytes() for p in Path(folder).rglob("part-*") if p.is_file()}


def release(source="in", target="out", form="column", **options):
    return md.privatize_file(source, target, **{**FORMS[form][0], **options})


def stopped_by(make, *said):
    """The call is refused for what lies there, in one line that says all of this."""
    with pytest.raises(StorageError) as caught:
        make()
    message = str(caught.value)
    assert "\n" not in message
    assert all(text in message for text in ("expected", ", got ", *said)), message


def again_known(form, ending=".parquet"):
    """The ledger knows reports in a file without a receipt."""
    write(whole(ending=ending), "lost" + ending)
    options = {} if form == "column" else {"unseen": "null"}
    again = lambda: release("lost" + ending, "again" + ending, form, **options)  # noqa: E731
    refused(again, "reports", error=DataError)


# Several files are one table


@for_each(
    "ending, form, options",
    pairwise_cases([".parquet", ".csv", ".csv.gz"], FORMS, [{"row": "id", "key": KEY}, {"rng": 4}]),
)
def test_a_folder_has_the_reports_of_one_table(tmp_path, monkeypatch, ending, form, options):
    prepared(tmp_path, monkeypatch, ending)
    write(pd.concat([frame(index) for index in range(3)]), "whole" + ending)
    release("whole" + ending, "one" + ending, form, ledger=False, **options)
    receipt = release(form=form, receipt="told.json", **options)
    named = FORMS[form][1]
    assert (receipt.column, receipt.rows) == ("class" if form == "column" else "class, sex", 900)
    pd.testing.assert_frame_equal(whole(ending=ending), read("one" + ending))
    made = [Path("out", name + ending) for name in NAMES]
    for path in made:
        told = file_receipts(path, check=True)
        assert [(name, one.rows) for name, one in told.items()] == [(name, 300) for name in named]
    assert sorted(json.loads(Path("told.json").read_text())["receipts"]) == sorted(named)
    beside = [p.with_name(p.name + ".receipt.json") for p in made if "csv" in ending]
    assert sorted(p for p in Path("out").rglob("*") if p.is_file()) == sorted(made + beside)
    (entry,) = Ledger().releases()
    assert entry["finished"]
    if form != "column":
        assert [part["column"] for part in entry["parts"]] == BOTH
    stopped_by(lambda: release(target="out3", form=form, receipt="told.json"), "a new file")
    if form != "one for both":
        # Without the receipts of the files, the ledger knows the reports again.
        again_known(form, ending)


@for_each(
    "pattern, names",
    [
        ("in/*/part-0.parquet", ["day=1/part-0", "day=2/part-0"]),
        ("in/day=1/*.parquet", ["part-0", "part-1"]),
        ("in/**/*.parquet", NAMES),
        ("in/day=[2]/part-?.parquet", ["day=2/part-0"]),
    ],
)
def test_patterns_name_files_from_where_they_branch(tmp_path, monkeypatch, pattern, names):
    prepared(tmp_path, monkeypatch)
    for form in ("column", "plan"):
        told = release(pattern, form, form, row="id", key=KEY, ledger=f"{form}.jsonl")
        assert told.rows == 300 * len(names)
        assert [p for p in there(form) if "." in p] == [name + ".parquet" for name in names]
    # A file whose name looks like a pattern is that file.
    write(frame(7), "a[1].parquet")
    assert release("a[1].parquet", "b.parquet").rows == 300
    # A folder one level deeper than the pattern goes is not among what it matches.
    for _ in range(2):
        deeper = {"overwrite": True, "ledger": False}
        assert release("in/day=1/*.parquet", "in/day=1/out", **deeper).rows == 600
    # Where a pattern has no folder of its own, it is the one that the files are in.
    monkeypatch.chdir("in/day=1")
    release("part-*.parquet", tmp_path / "first")
    with pytest.warns(RepeatWarning, match="column 'class' of day=1 was released 1 time before"):
        release("part-*.parquet", tmp_path / "second")


def test_an_empty_file_stays_empty_and_all_empty_is_refused(data):
    empty = pq.read_schema("in/day=1/part-0.parquet").empty_table()
    Path("in/day=3").mkdir()
    Path("none").mkdir()
    for name in ("in/day=3/part-0", "none/a", "none/b"):
        pq.write_table(empty, name + ".parquet")
    assert release().rows == 900
    assert len(read("out/day=3/part-0.parquet")) == 0
    refused(lambda: release("none", "out2"), "at least one row", error=DataError)
    assert not Path("out2").exists()
    Path("none/c.parquet").touch()
    refused(lambda: release("none", "out2"), "c.parquet", error=DataError)


# What is no table

LAST = Path("in/day=2/part-9.parquet")
SPOILED = {
    "columns and types": [
        lambda: write(frame(5).rename(columns={"n": "m"}), LAST),
        lambda: write(frame(5).astype({"id": float}), LAST),
    ],
    "part-9.parquet": [lambda: write(frame(5).replace("crew", "secret"), LAST)],
    "300 rows whose identity came before": [lambda: write(frame(0), LAST)],
    "one kind": [lambda: write(frame(5), LAST.with_suffix(".csv"))],
    "notes.sav": [lambda: Path("in/day=2/notes.sav").write_text("notes")],
    "one file": [
        lambda: LAST.symlink_to(Path("in/day=1/part-0.parquet").resolve()),
        lambda: os.link("in/day=1/part-0.parquet", LAST),
    ],
    "a link": [
        lambda: Path("in/day=2/more").symlink_to(Path("in").resolve()),
        lambda: LAST.symlink_to("nowhere.parquet"),
    ],
    "names of folders": [
        lambda: write(frame(5), "in/class=a/part-9.parquet"),
        lambda: write(frame(5), "in/%63lass=a/part-9.parquet"),
    ],
}


@for_each("said, spoil", [(said, spoil) for said in SPOILED for spoil in SPOILED[said]])
def test_what_is_no_table_leaves_nothing_behind(tmp_path, monkeypatch, said, spoil):
    prepared(tmp_path, monkeypatch)
    spoil()
    before = there()
    found = refused(lambda: release(row="id", key=KEY), said, error=DataError)
    assert "secret" not in str(found).replace("the secret", "")
    if said == "part-9.parquet":
        # Also where rows have no identities, and one pass would do for a single file.
        refused(release, "first in row", said, error=DataError)
    assert there() == before
    assert Ledger().releases() == []


def test_what_is_wrong_of_several_columns_is_refused_before_the_first_is_there(data):
    for name in ("sex", "class_sex"):
        path = Path("in", f"{name}=x", "part.parquet")
        write(frame(4), path)
        refused(lambda: release(form="one for both"), "names of folders", error=DataError)
        path.unlink()
    path = Path("in", NAMES[2] + ".parquet")
    before = path.read_bytes()
    for column in BOTH:
        md.privatize_file(path, "some.parquet", column, PLAN[column], ledger=False)
        Path("some.parquet").replace(path)
        refused(lambda: release(form="plan"), "the secret itself", column, error=DataError)
        path.write_bytes(before)
    covered = md.Prior([0.5, 0.5], [("1st", "male"), ("crew", "female")]).with_schema(BOTH)
    for name, last in zip(NAMES, ("female", "female", "male"), strict=True):
        write(pd.DataFrame({"class": ["1st", "crew"], "sex": ["male", last]}), f"in/{name}.parquet")
    plan = md.plan_columns(covered, None, md.PML(0.5), joint=False)
    refused(lambda: release(form="plan", mechanism=plan), "combinations of values", error=DataError)
    assert not Path("out").exists()
    assert Ledger().releases() == []


@for_each(
    "source, target",
    [
        ("in", "in"),
        ("in", "in/out"),
        ("in", "in/../in/day=1"),
        ("in", "."),
        ("in/**/*.parquet", "in/out"),
        ("in/day=1/*.parquet", "in/day=1"),
        ("in/*/*.parquet", "in"),
        ("in/*/*.parquet", "in/day=2"),
        ("link", "in/out"),
    ],
)
def test_reports_never_lie_among_what_is_read(tmp_path, monkeypatch, source, target):
    prepared(tmp_path, monkeypatch)
    Path("link").symlink_to("in")
    before = there()
    refused(lambda: release(source, target), "apart", error=InputError)
    assert there() == before


def test_a_folder_that_holds_something_is_left_alone(data):
    Path("out").mkdir()
    Path("out/mine.txt").write_text("mine")
    before = there()
    stopped_by(release, "empty folder")
    stopped_by(lambda: release(overwrite=True), "1 other")
    Path("file").touch()
    stopped_by(lambda: release(target="file"), "got a file")
    stopped_by(lambda: release(target="no/where"), "existing folder")
    refused(lambda: release("in/*.csv"), "none", error=DataError)
    Path("file").unlink()
    assert there() == before
    Path("out/mine.txt").unlink()
    with FileLock(f"out/{RUN}.lock"):
        stopped_by(release, "another process")
    assert release().rows == 900


# Stopped, and gone on with

CHILD = """
import json, os, sys, warnings
import mechdesign as md
from mechdesign.release import folder_release
warnings.simplefilter("ignore")
after, at, options = sys.argv[1] == "after", int(sys.argv[2]), json.loads(sys.argv[3])
publish, calls = folder_release.publish, []
def dying(*arguments, **others):
    calls.append(1)
    if len(calls) == at and not after:
        os._exit(9)
    publish(*arguments, **others)
    if len(calls) == at:
        os._exit(9)
folder_release.publish = dying
if "row" in options:
    options["key"] = b"k" * 32
md.privatize_file("in", "out", mechanism=md.load("m.json"), **options)
"""


def killed(form="column", when="after", at=2, **options):
    asked = FORMS[form][0]
    md.save(asked["mechanism"], "m.json", overwrite=True)
    options |= {name: part for name, part in asked.items() if name != "mechanism"}
    # What it draws is compared with itself.
    found = subprocess.run(
        [sys.executable, "-c", CHILD, when, str(at), json.dumps(options)],
        timeout=240,
        check=False,
        env=draws_decide_nothing(),
    )
    assert found.returncode == 9


@pytest.mark.parametrize(
    ("form", "when", "at"),
    slow_but(
        2,
        [
            ("column", "before", 1),
            ("plan", "after", 2),
            ("tuples", "before", 1),
            ("one for both", "after", 2),
            ("column", "after", 1),
            ("column", "before", 3),
            ("column", "after", 3),
        ],
    ),
)
def test_what_was_finished_is_not_drawn_again(data, form, when, at):
    """Reports without a key are random: each that may have been seen is the one that stays.

    In the end the ledger knows the reports of all files again, also of those that it did not see
    drawn.
    """
    killed(form, when, at)
    visible = {name: content for name, content in contents().items() if RUN not in name}
    # One more than is visible is finished where the kill came before its name.
    assert len(visible) == at - (when == "before")
    finished = {p.read_bytes() for p in Path("out", RUN).glob("*.parquet")}
    assert len(visible) + len(finished) == at
    assert not Ledger().releases()[0]["finished"]
    release(form=form)
    made = contents()
    assert len(made) == 3
    assert {**made, **visible} == made
    assert finished <= set(made.values())
    assert not [name for name in there("out") if name.startswith(".")]
    (entry,) = Ledger().releases()
    assert entry["finished"]
    if form != "one for both":
        again_known(form)


@for_each("at", slow_but(1, [1, 2, 3, 4]))
def test_a_csv_file_has_its_receipt_whenever_the_kill_came(tmp_path, monkeypatch, at):
    monkeypatch.chdir(tmp_path)
    for index in range(2):
        write(frame(index), f"in/{index}.csv")
    killed(at=at)
    for path in Path("out").glob("*.csv"):
        assert file_receipts(path, check=True)
    release()
    for index in range(2):
        assert file_receipts(f"out/{index}.csv", check=True)["class"].rows == 300
    assert len(there("out")) == 4


@pytest.mark.slow
@for_each("form", ["column", "plan"])
def test_a_control_another_run_draws_other_reports(tmp_path, monkeypatch, form):
    prepared(tmp_path, monkeypatch)
    killed(form)
    visible = contents()
    release(target="other", form=form, ledger=False)
    assert set(contents("other").values()).isdisjoint(visible.values())


@for_each(
    "form, key", slow_but(2, [("column", {}), ("plan", {"row": "id"}), ("column", {"row": "id"})])
)
def test_a_finished_file_that_was_removed_is_drawn_again_under_a_key_only(
    tmp_path, monkeypatch, form, key
):
    prepared(tmp_path, monkeypatch)
    killed(form, **key)
    first = Path("out/day=1/part-0.parquet")
    content = first.read_bytes()
    first.unlink()
    if not key:
        stopped_by(release, "1 that was removed", "second report")
        first.write_bytes(content)
    made = read(first) if first.exists() else pq.read_table(pa.BufferReader(content)).to_pandas()
    assert release(form=form, **key, **({"key": KEY} if key else {})).rows == 900
    pd.testing.assert_frame_equal(read(first), made)
    assert len(Ledger().releases()) == 1


CHANGES = {
    "1 that was changed since": "out/day=1/part-0.parquet",
    "1 file that changed": "in/day=1/part-0.parquet",
    "1 file that changed,": "in/day=4/part-0.parquet",
    "did not make": "out/day=2/part-0.parquet",
    "something else": f"out/{RUN}/run.json",
}


def test_what_changed_since_is_not_mixed_with_what_was_finished(data):
    killed()
    for said, path in CHANGES.items():
        place = Path(path)
        before = place.read_bytes() if place.exists() else None
        if place.suffix == ".json":
            place.write_text("{}")
        else:
            write(frame(3), place)
        held = contents()
        stopped_by(release, said.rstrip(","))
        assert contents() == held
        place.unlink() if before is None else place.write_bytes(before)
    assert release().rows == 900


@pytest.mark.slow
@for_each(
    "form, options, said",
    [
        ("column", {"mechanism": OTHER}, "kernel"),
        ("column", {"missing": "keep"}, "missing"),
        ("column", {"row": "id", "key": KEY}, "key"),
        ("column", {"rng": 3}, "source"),
        ("column", {"ledger": False}, "ledger"),
        ("column", {"ledger": "other.jsonl"}, "ledger"),
        ("plan", {"mechanism": WEIGHTED}, "kernel"),
        ("plan", {"mechanism": SUBSETS}, "kernel"),
        ("plan", {"unseen": "null"}, "unseen"),
        ("one for both", {"into": "answer"}, "into"),
    ],
)
def test_another_release_does_not_go_on_with_a_stopped_one(
    tmp_path, monkeypatch, form, options, said
):
    prepared(tmp_path, monkeypatch)
    killed(form)
    before = contents()
    stopped_by(lambda: release(form=form, **options), "another", said)
    assert contents() == before
    assert release(form=form).rows == 900


def test_what_is_kept_of_a_run_tells_no_secrets_and_is_its_owners(data):
    killed()
    state = Path("out", RUN)
    text = (state / "run.json").read_text()
    assert not any(path.stat().st_mode & 0o077 for path in (state, state / "run.json"))
    # Digests under the key of the ledger, which is elsewhere.
    assert json.loads(text)["key"] == ""
    assert Ledger().key.hex() not in text
    with pytest.warns(LeftoverWarning, match="only some"):
        found = counted_rows(ReportFile("out"), ["class"])
    assert found.repeats.sum() == 600


def test_an_interrupt_keeps_what_is_finished_and_says_so(data, monkeypatch):
    publish = folder_release.publish

    def interrupted(*arguments, **options):
        publish(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(folder_release, "publish", interrupted)
    with pytest.warns(LeftoverWarning, match="1 of 3 files"), pytest.raises(KeyboardInterrupt):
        release()
    monkeypatch.setattr(folder_release, "publish", publish)
    visible = Path("out/day=1/part-0.parquet").read_bytes()
    assert release().rows == 900
    assert Path("out/day=1/part-0.parquet").read_bytes() == visible
    assert len(Ledger().releases()) == 1


# The command line


def test_apply_takes_folders_and_patterns(data, capsys):
    md.save(FOUND, "m.json")
    md.save(PLAN, "plan.json")

    def run(*arguments):
        code = main(list(arguments))
        return code, *capsys.readouterr()

    asked = ["apply", "m.json", "in", "--column", "class", "--row", "id", "--key"]
    code, out, _ = run(*asked, "k.key", "-o", "out", "--receipt", "r.json")
    assert (code, "900 reports" in out, Path("r.json").exists()) == (0, True, True)
    for arguments, said in (
        (["apply", "m.json", "in/*/*.parquet", "--column", "class", "-o", "in"], "apart"),
        ([*asked, "out2/k.key", "-o", "out2"], "outside of the folder"),
        (["apply", "m.json", "none/*.csv", "--column", "class", "-o", "out2"], "none"),
    ):
        code, _, err = run(*arguments)
        assert (code, said in err, len(err.splitlines())) == (2, True, 1)
    assert not Path("out2").exists()
    assert run("apply", "plan.json", "in", "-o", "both", "--ledger", "l")[0] == 0
    assert run("estimate", "plan.json", "both", "--json")[1].count('"estimate"') == 8


def test_estimates_take_the_folder_that_apply_wrote(data, capsys):
    md.save(FOUND, "m.json")
    md.save(OTHER, "other.json")
    release()

    def told(kernel, source):
        code = main(["estimate", kernel, source, "--column", "class", "--json"])
        return code, *capsys.readouterr()

    write(whole()[["class"]], "whole.parquet")
    (_, out, err), (_, alone, _) = told("m.json", "out"), told("m.json", "whole.parquet")
    found, expected = json.loads(out), json.loads(alone)
    assert "no receipt" in expected["note"]
    assert "no receipt" not in found.get("note", "") + err
    assert {**found, "receipt": 0, "note": 0} == {**expected, "receipt": 0, "note": 0}
    code, _, err = told("other.json", "out/*/*.parquet")
    assert (code, "of another" in err) == (2, True)
    # Files of two mechanisms are no one column of reports.
    source = "in/day=1/part-0.parquet"
    release(source, "out/day=1/part-9.parquet", mechanism=OTHER, ledger=False)
    code, _, err = told("m.json", "out")
    assert (code, "one mechanism in all files" in err) == (2, True)
