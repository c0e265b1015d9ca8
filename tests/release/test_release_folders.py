"""Many files as one release: recorded once, gone on with after a kill, nothing drawn twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from checks import for_each, refused, slow_but
from entropy import draws_decide_nothing
from filelock import FileLock

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import DataError, InputError, LeftoverWarning, RepeatWarning, StorageError
from mechdesign.release.ledger import Ledger
from mechdesign.release.receipts import file_receipts
from mechdesign.release.reports import ReportFile, counted_rows

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")

LABELS = ["a", "b", "c"]
FOUND = md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(1.5))
OTHER = md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(1))
KEY = b"k" * 32
NAMES = ["day=1/part-0", "day=1/part-1", "day=2/part-0"]
RUN = ".mechdesign-run"


def frame(index, rows=400):
    drawn = np.random.default_rng(index).choice(LABELS, rows)
    return pd.DataFrame({"id": np.arange(rows) + 1000 * index, "x": drawn, "n": ["note"] * rows})


def write(made, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        made.to_parquet(path)
    else:
        made.to_csv(path, index=False)


def read(path):
    if Path(path).suffix == ".parquet":
        return pq.ParquetFile(path).read().to_pandas()
    return pd.read_csv(path)


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder of three Parquet files in two partitions."""
    monkeypatch.chdir(tmp_path)
    for index, name in enumerate(NAMES):
        write(frame(index), Path("in", name + ".parquet"))
    Path("in/_SUCCESS").touch()
    return tmp_path


def there(folder="."):
    """All that lies in a folder, hidden or not, by name."""
    return sorted(p.relative_to(folder).as_posix() for p in Path(folder).rglob("*"))


def contents(folder):
    return {p.name + str(p.parent): p.read_bytes() for p in Path(folder).rglob("part-*")}


def release(source="in", target="out", mechanism=FOUND, **options):
    return md.privatize_file(source, target, "x", mechanism, **options)


def stopped_by(make, *said):
    """The call is refused for what lies there, in one line that says all of this."""
    with pytest.raises(StorageError) as caught:
        make()
    message = str(caught.value)
    assert "\n" not in message
    assert all(text in message for text in ("expected", ", got ", *said)), message


# Several files are one table


@for_each("ending", [".parquet", ".csv", ".csv.gz"])
@for_each("options", [{"row": "id", "key": KEY}, {"rng": 4}])
def test_a_folder_has_the_reports_of_one_table(tmp_path, monkeypatch, ending, options):
    monkeypatch.chdir(tmp_path)
    for index, name in enumerate(NAMES):
        write(frame(index), Path("in", name + ending))
    whole = pd.concat([frame(index) for index in range(3)], ignore_index=True)
    write(whole, Path("whole" + ending))
    release("whole" + ending, "one" + ending, ledger=False, **options)
    receipt = release(**options)
    assert receipt.rows == 1200
    made = [Path("out", name + ending) for name in NAMES]
    for path in made:
        assert file_receipts(path, check=True)["x"].kernel == receipt.kernel
        assert file_receipts(path)["x"].rows == 400
    reports = pd.concat([read(path) for path in made], ignore_index=True)
    pd.testing.assert_frame_equal(reports, read("one" + ending))
    beside = [p.with_name(p.name + ".receipt.json") for p in made if "csv" in ending]
    assert sorted(p for p in Path("out").rglob("*") if p.is_file()) == sorted(made + beside)


def test_a_release_of_many_files_is_one_line_of_the_ledger(data):
    release()
    found = Ledger().releases()
    assert len(found) == 1
    assert found[0]["finished"]
    # The same as of one table with these rows, whose reports have this fingerprint.
    reports = pa.concat_tables(
        [pq.ParquetFile(f"out/{name}.parquet").read().select(["x"]) for name in NAMES]
    )
    pq.write_table(reports.replace_schema_metadata({}), "lost.parquet")
    refused(lambda: release("lost.parquet", "again.parquet"), "reports", error=DataError)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("in/*/part-0.parquet", ["day=1/part-0", "day=2/part-0"]),
        ("in/day=1/*.parquet", ["part-0", "part-1"]),
        ("in/**/*.parquet", NAMES),
        ("in/day=[2]/part-?.parquet", ["day=2/part-0"]),
    ],
)
def test_patterns_name_files_from_where_they_branch(data, pattern, names):
    receipt = release(pattern)
    assert receipt.rows == 400 * len(names)
    assert [p for p in there("out") if "." in p] == [name + ".parquet" for name in names]


def test_the_ledger_names_the_folder_of_a_pattern(data, monkeypatch):
    """Where a pattern has no folder of its own, it is the one that the files are in."""
    monkeypatch.chdir("in/day=1")
    md.privatize_file("part-*.parquet", data / "first", "x", FOUND)
    with pytest.warns(RepeatWarning, match="column 'x' of day=1 was released 1 time before"):
        md.privatize_file("part-*.parquet", data / "second", "x", FOUND)


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(data):
    write(frame(7), Path("a[1].parquet"))
    assert release("a[1].parquet", "b.parquet").rows == 400
    assert Path("b.parquet").is_file()


def test_an_empty_file_stays_empty_and_all_empty_is_refused(data):
    write(frame(9)[:0].astype({"x": str}), Path("in/day=3/part-0.parquet"))
    empty = pq.read_schema("in/day=1/part-0.parquet").empty_table()
    pq.write_table(empty, "in/day=3/part-0.parquet")
    assert release().rows == 1200
    assert len(read("out/day=3/part-0.parquet")) == 0
    Path("none").mkdir()
    pq.write_table(empty, "none/a.parquet")
    pq.write_table(empty, "none/b.parquet")
    refused(lambda: release("none", "out2"), "at least one row", error=DataError)
    assert not Path("out2").exists()
    Path("none/c.parquet").touch()
    refused(lambda: release("none", "out2"), "c.parquet", error=DataError)


def test_a_receipt_is_written_where_it_is_asked_for(data):
    made = release(receipt="r.json")
    assert json.loads(Path("r.json").read_text())["receipts"]["x"]["rows"] == 1200
    one = release("in/day=2/part-0.parquet", "o.parquet", ledger=False, receipt="one.json")
    reports = read("o.parquet")["x"].value_counts().to_dict()
    assert md.estimate(reports, FOUND, receipt="one.json").receipt == one
    assert made.kernel == one.kernel
    before = there()
    stopped_by(lambda: release(target="out3", receipt="r.json"), "a new file")
    assert there() == before


# What is no table


def spoil_schema(folder):
    write(frame(5).rename(columns={"n": "m"}), folder / "day=2/part-9.parquet")


def spoil_type(folder):
    write(frame(5).astype({"id": float}), folder / "day=2/part-9.parquet")


def spoil_value(folder):
    write(frame(5).replace("c", "secret"), folder / "day=2/part-9.parquet")


def spoil_identity(folder):
    write(frame(0), folder / "day=2/part-9.parquet")


def spoil_kind(folder):
    write(frame(5), folder / "day=2/part-9.csv")


def spoil_other(folder):
    (folder / "day=2/notes.sav").write_text("notes")


def spoil_link(folder):
    (folder / "day=2/part-9.parquet").symlink_to((folder / "day=1/part-0.parquet").resolve())


def spoil_hard_link(folder):
    os.link(folder / "day=1/part-0.parquet", folder / "day=2/part-9.parquet")


def spoil_loop(folder):
    (folder / "day=2/more").symlink_to(folder.resolve())


def spoil_dangling(folder):
    (folder / "day=2/part-9.parquet").symlink_to("nowhere.parquet")


def spoil_partition(folder):
    write(frame(5), folder / "x=a/part-9.parquet")


def spoil_hidden_partition(folder):
    write(frame(5), folder / "%78=a/part-9.parquet")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (spoil_schema, "columns and types"),
        (spoil_type, "columns and types"),
        (spoil_value, "part-9.parquet"),
        (spoil_identity, "400 rows whose identity came before"),
        (spoil_kind, "one kind"),
        (spoil_other, "notes.sav"),
        (spoil_link, "one file"),
        (spoil_hard_link, "one file"),
        (spoil_loop, "a link"),
        (spoil_dangling, "a link to no file"),
        (spoil_partition, "names of folders"),
        (spoil_hidden_partition, "names of folders"),
    ],
)
def test_what_is_no_table_leaves_nothing_behind(data, spoil, said):
    spoil(data / "in")
    before = there()
    found = refused(lambda: release(row="id", key=KEY), said, error=DataError)
    assert "secret" not in str(found).replace("the secret", "")
    assert there() == before
    assert Ledger().releases() == []


def test_a_value_in_the_last_file_is_refused_before_the_first_is_there(data):
    """Also where rows have no identities, and one pass would do for a single file."""
    spoil_value(data / "in")
    refused(release, "first in row", "part-9.parquet", error=DataError)
    assert not Path("out").exists()
    assert Ledger().releases() == []


@pytest.mark.parametrize(
    ("source", "target"),
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
def test_reports_never_lie_among_what_is_read(data, source, target):
    Path("link").symlink_to("in")
    before = there()
    refused(lambda: release(source, target), "apart", error=InputError)
    assert there() == before


def test_a_pattern_takes_in_no_reports_of_its_own(data):
    """A folder beside, one level deeper than the pattern goes, is not among what it matches."""
    release("in/day=1/*.parquet", "in/day=1/out")
    found = release("in/day=1/*.parquet", "in/day=1/out", overwrite=True, ledger=False)
    assert found.rows == 800


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


def test_only_one_process_writes_a_folder(data):
    Path("out").mkdir()
    with FileLock(f"out/{RUN}.lock"):
        stopped_by(release, "another process")
    assert release().rows == 1200


# Stopped, and gone on with

CHILD = """
import os, sys, warnings
import mechdesign as md
from mechdesign.release import folder_release
warnings.simplefilter("ignore")
after, at, key, kind = sys.argv[1] == "after", int(sys.argv[2]), sys.argv[3], sys.argv[4]
publish, calls = folder_release.publish, []
def dying(*arguments, **options):
    calls.append(1)
    if len(calls) == at and not after:
        os._exit(9)
    publish(*arguments, **options)
    if len(calls) == at:
        os._exit(9)
folder_release.publish = dying
found = md.load("m.json")
options = {"row": "id", "key": b"k" * 32} if key == "key" else {}
md.privatize_file(kind, "out", "x", found, **options)
"""


def killed(when, at, key="", source="in"):
    md.save(FOUND, "m.json", overwrite=True)
    # What it draws is compared with itself.
    found = subprocess.run(
        [sys.executable, "-c", CHILD, when, str(at), key, source],
        timeout=120,
        check=False,
        env=draws_decide_nothing(),
    )
    assert found.returncode == 9


@pytest.mark.parametrize(
    ("when", "at"), slow_but(1, [("before", 1), ("after", 1), ("before", 3), ("after", 3)])
)
def test_what_was_finished_is_not_drawn_again(data, when, at):
    """Reports without a key are random: each that may have been seen is the one that stays."""
    killed(when, at)
    visible = contents("out")
    # One more than is visible is finished where the kill came before its name.
    assert len([name for name in visible if RUN not in name]) == at - (when == "before")
    finished = {p.read_bytes() for p in Path("out", RUN).glob("*.parquet")}
    assert not Ledger().releases()[0]["finished"]
    release()
    made = contents("out")
    assert len(made) == 3
    for name, content in visible.items():
        if RUN not in name:
            assert made[name] == content
    assert finished <= set(made.values())
    assert not [name for name in there("out") if name.startswith(".")]
    books = Ledger().releases()
    assert len(books) == 1
    assert books[0]["finished"]
    reports = pa.concat_tables(
        [pq.ParquetFile(f"out/{name}.parquet").read().select(["x"]) for name in NAMES]
    )
    pq.write_table(reports.replace_schema_metadata({}), "lost.parquet")
    refused(lambda: release("lost.parquet", "again.parquet"), "reports", error=DataError)


@for_each("at", slow_but(1, [1, 2, 3, 4]))
def test_a_csv_file_has_its_receipt_whenever_the_kill_came(tmp_path, monkeypatch, at):
    monkeypatch.chdir(tmp_path)
    for index in range(2):
        write(frame(index), Path(f"in/{index}.csv"))
    killed("after", at)
    for path in Path("out").glob("*.csv"):
        assert file_receipts(path, check=True)
    release()
    for index in range(2):
        assert file_receipts(f"out/{index}.csv", check=True)["x"].rows == 400
    assert len(there("out")) == 4


@pytest.mark.slow
def test_a_control_another_run_draws_other_reports(data):
    killed("after", 1)
    visible = contents("out")
    release(target="other", ledger=False)
    assert contents("other")["part-0.parquetother/day=1"] not in visible.values()


def stopped(at=2, key=""):
    killed("after", at, key)


@pytest.mark.slow
def test_a_finished_file_that_was_removed_is_drawn_again_under_a_key_only(data):
    stopped()
    content = Path("out/day=1/part-0.parquet").read_bytes()
    Path("out/day=1/part-0.parquet").unlink()
    stopped_by(release, "1 that was removed", "second report")
    Path("out/day=1/part-0.parquet").write_bytes(content)
    assert release().rows == 1200
    assert Path("out/day=1/part-0.parquet").read_bytes() == content


def test_under_a_key_a_removed_file_comes_back_with_the_same_reports(data):
    stopped(key="key")
    first = read("out/day=1/part-0.parquet")
    Path("out/day=1/part-0.parquet").unlink()
    release(row="id", key=KEY)
    pd.testing.assert_frame_equal(read("out/day=1/part-0.parquet"), first)
    assert len(Ledger().releases()) == 1


def change_reports():
    write(frame(3), Path("out/day=1/part-0.parquet"))


def change_secrets():
    write(frame(3), Path("in/day=1/part-0.parquet"))


def more_secrets():
    write(frame(3), Path("in/day=4/part-0.parquet"))


def foreign_file():
    write(frame(3), Path("out/day=2/part-0.parquet"))


def damaged_run():
    Path("out", RUN, "run.json").write_text("{}")


@pytest.mark.parametrize(
    ("change", "said"),
    slow_but(
        1,
        [
            (change_reports, "1 that was changed since"),
            (change_secrets, "1 file that changed"),
            (more_secrets, "1 file that changed"),
            (foreign_file, "did not make"),
            (damaged_run, "something else"),
        ],
    ),
)
def test_what_changed_since_is_not_mixed_with_what_was_finished(data, change, said):
    stopped()
    change()
    before = contents("out")
    stopped_by(release, said)
    assert contents("out") == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mechanism": OTHER}, "kernel"),
        ({"missing": "keep"}, "missing"),
        ({"row": "id", "key": KEY}, "key"),
        ({"rng": 3}, "source"),
        ({"ledger": False}, "ledger"),
        ({"ledger": "other.jsonl"}, "ledger"),
    ],
)
def test_another_release_does_not_go_on_with_a_stopped_one(data, options, said):
    stopped()
    before = contents("out")
    stopped_by(lambda: release(**options), "another", said)
    assert contents("out") == before
    assert release().rows == 1200


def test_what_is_kept_of_a_run_tells_no_secrets_and_is_its_owners(data):
    stopped()
    state = Path("out", RUN)
    assert state.stat().st_mode & 0o077 == 0
    text = (state / "run.json").read_text()
    assert (state / "run.json").stat().st_mode & 0o077 == 0
    # Digests under the key of the ledger, which is elsewhere.
    assert json.loads(text)["key"] == ""
    assert Ledger().key.hex() not in text


def test_an_interrupt_keeps_what_is_finished_and_says_so(data, monkeypatch):
    from mechdesign.release import folder_release

    publish, calls = folder_release.publish, []

    def interrupted(*arguments, **options):
        publish(*arguments, **options)
        calls.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(folder_release, "publish", interrupted)
    with pytest.warns(LeftoverWarning, match="1 of 3 files"), pytest.raises(KeyboardInterrupt):
        release()
    visible = Path("out/day=1/part-0.parquet").read_bytes()
    monkeypatch.setattr(folder_release, "publish", publish)
    assert release().rows == 1200
    assert Path("out/day=1/part-0.parquet").read_bytes() == visible
    assert len(Ledger().releases()) == 1


# The command line


def test_apply_takes_folders_and_patterns(data, capsys):
    md.save(FOUND, "m.json")
    arguments = ["apply", "m.json", "in", "--column", "x", "--row", "id", "--key", "k.key"]
    assert main([*arguments, "-o", "out", "--receipt", "r.json"]) == 0
    assert "1200 reports" in capsys.readouterr().out
    assert Path("r.json").exists()
    assert main(["apply", "m.json", "in/*/*.parquet", "--column", "x", "-o", "in"]) == 2
    assert "apart" in capsys.readouterr().err
    assert main([*arguments[:-1], "out2/k.key", "-o", "out2"]) == 2
    found = capsys.readouterr().err
    assert "outside of the folder" in found
    assert "Traceback" not in found
    assert main(["apply", "m.json", "none/*.csv", "--column", "x", "-o", "out2"]) == 2
    assert not Path("out2").exists()


def test_estimates_take_the_folder_that_apply_wrote(data, capsys):
    md.save(FOUND, "m.json")
    md.save(OTHER, "other.json")
    assert main(["apply", "m.json", "in", "--column", "x", "-o", "out"]) == 0
    capsys.readouterr()
    assert main(["estimate", "m.json", "out", "--column", "x", "--json"]) == 0
    out, err = capsys.readouterr()
    whole = pd.concat([read(f"out/{name}.parquet") for name in NAMES])
    whole[["x"]].to_parquet("whole.parquet")
    assert main(["estimate", "m.json", "whole.parquet", "--column", "x", "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    found = json.loads(out)
    assert [v for k, v in found.items() if k not in ("receipt", "note")] == [
        v for k, v in alone.items() if k not in ("receipt", "note")
    ]
    assert "no receipt" in alone.get("note", "")
    assert "no receipt" not in found.get("note", "")
    assert "no receipt" not in err
    assert main(["estimate", "other.json", "out/*/*.parquet", "--column", "x"]) == 2
    assert "of another" in capsys.readouterr().err
    # Files of two mechanisms are no one column of reports.
    release("in/day=1/part-0.parquet", "out/day=1/part-9.parquet", OTHER, ledger=False)
    assert main(["estimate", "m.json", "out", "--column", "x"]) == 2
    assert "one mechanism in all files" in capsys.readouterr().err


@pytest.mark.slow
def test_counts_of_a_stopped_folder_say_so(data):
    stopped()
    with pytest.warns(LeftoverWarning, match="only some"):
        found = counted_rows(ReportFile("out"), ["x"])
    assert found.repeats.sum() == 800
