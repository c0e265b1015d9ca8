"""The ledger: no release is lost, none is forgotten, and the same secrets are known again."""

from __future__ import annotations

import datetime
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from checks import for_each, refused
from entropy import draws_decide_nothing

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import DataError, LeftoverWarning, RepeatWarning, StorageError
from mechdesign.files import claimed
from mechdesign.release.adapters import privatize_batch
from mechdesign.release.codes import cell_text
from mechdesign.release.drawing import Part, Release
from mechdesign.release.ledger import Ledger, default_ledger
from mechdesign.release.receipts import Fingerprinter, file_receipts
from mechdesign.tables.files import receipt_path

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

LABELS = ["a", "b", "c"]
FOUND = md.design(md.Prior([0.5, 0.3, 0.2], LABELS), md.utility.MutualInformation(), md.LDP(1))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with secrets, and the design as a file."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"id": np.arange(200), "x": rng.choice(LABELS, 200)})
    frame.to_csv("people.csv", index=False)
    md.save(FOUND, "design.json")
    return tmp_path


@pytest.fixture
def run(place, capsys):
    def call(*arguments):
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        return code, *capsys.readouterr()

    return call


def start(*arguments, script=None):
    """The command line, or a script, as a process of its own."""
    what = ["-m", "mechdesign", *map(str, arguments)] if script is None else ["-c", script]
    return subprocess.Popen(
        [sys.executable, *what],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**draws_decide_nothing(), "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def apply(source="people.csv", target="reports.csv", *more):
    return ["apply", "design.json", source, "--column", "x", "-o", target, *more]


# Nothing is lost


@pytest.mark.slow
def test_releases_at_the_same_time_are_all_recorded(place):
    for i in range(6):
        Path(f"{i}.csv").write_text("x\n" + "\n".join("abc"[: i % 3 + 1] * (20 + i)) + "\n")
    works = [start(*apply(f"{i}.csv", f"r{i}.csv")) for i in range(6)]
    ends = [(work.communicate(), work.returncode) for work in works]
    assert [code for _, code in ends] == [0] * 6, ends
    found = Ledger().releases()
    assert sorted(r["output"] for r in found) == [f"r{i}.csv" for i in range(6)]
    assert all(r["finished"] for r in found)


STOPPED = """
import os, signal
import mechdesign as md
from mechdesign import files
def stop(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
{where} = stop
md.privatize_file("people.csv", "reports.csv", "x", md.load("design.json"))
"""


@pytest.mark.slow
def test_a_release_that_was_killed_is_counted_and_its_leftovers_are_removed(place):
    work = start(script=STOPPED.format(where="files.Claim.publish"))
    work.communicate()
    assert work.returncode == -signal.SIGKILL
    left = [p for p in place.iterdir() if p.suffix == ".partial"]
    assert len(left) == 2
    assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in left)
    assert not Path("reports.csv").exists()
    (entry,) = Ledger().releases()
    assert not entry["finished"]
    with (
        pytest.warns(LeftoverWarning, match="left 2 unfinished files"),
        pytest.warns(RepeatWarning, match=r"1 time before.*1 of them is under way or stopped"),
    ):
        md.privatize_file("people.csv", "reports.csv", "x", FOUND)
    assert not [p for p in place.iterdir() if p.name.startswith(".")]
    assert [r["finished"] for r in Ledger().releases()] == [False, True]


def test_a_release_that_failed_before_its_end_is_not_counted(place):
    Path("wrong.csv").write_text("x\na\nb\nz\n")
    refused(lambda: md.privatize_file("wrong.csv", "w.csv", "x", FOUND), "1 other value")
    assert Ledger().releases() == []
    assert not [p for p in place.iterdir() if p.name.startswith(".") or p.name == "w.csv"]


def test_nothing_is_released_where_ledger_or_head_cannot_be_written(run, place, monkeypatch):
    before = sorted(place.iterdir())
    # Nobody can make files there, not even who may do everything.
    code, out, err = run(*apply("people.csv", "reports.csv", "--ledger", "/proc/ledger.jsonl"))
    assert (code, out) == (2, ""), err
    assert "so nothing was released" in err
    monkeypatch.setenv("MECHDESIGN_LEDGER", "/proc/nowhere/ledger.jsonl")
    with pytest.raises(StorageError, match="let MECHDESIGN_LEDGER name"):
        md.privatize_file("people.csv", "reports.csv", "x", FOUND, ledger=place / "l.jsonl")
    assert sorted(place.iterdir()) == before


# The same secrets


def test_the_same_secrets_are_known_again_wherever_they_lie(run, place):
    for folder in ("sub", "sub2"):
        Path(folder).mkdir()
        shutil.copy("people.csv", Path(folder) / "a.csv")
    assert "before" not in run(*apply("sub/a.csv", "sub/r.csv"))[2]
    frame = pd.read_csv("people.csv")
    frame.rename(columns={"x": "y"}).to_parquet("other.parquet")
    frame.assign(x=pd.Categorical(frame["x"])).to_parquet("category.parquet", row_group_size=7)
    shuffled = frame.sample(frac=1, random_state=1)
    assert shuffled["x"].tolist() != frame["x"].tolist()
    shuffled.to_csv("shuffled.csv", index=False)
    fewer = frame.iloc[:-1]
    fewer.to_csv("fewer.csv", index=False)
    code, _, err = run(*apply("sub2/a.csv", "sub2/r.csv"))
    assert code == 0
    assert "was released 1 time before" in err
    assert "2 reports together: LDP(2)" in err
    arguments = ["apply", "design.json", "other.parquet", "--column", "y", "-o", "o.parquet"]
    assert "was released 2 times before" in run(*arguments)[2]
    assert "3 times before" in run(*apply("category.parquet", "c.parquet"))[2]
    assert "(its values, in another order)" in run(*apply("shuffled.csv", "s.csv"))[2]
    assert "before" not in run(*apply("fewer.csv", "f.csv"))[2]  # a control
    with pytest.warns(RepeatWarning, match="5 times before"):
        md.privatize_file("people.csv", "python.csv", "x", FOUND)


def test_values_are_compared_by_what_they_mean():
    def finger(values, kind=None, key=b"k"):
        made = Fingerprinter(key)
        for start in range(0, len(values), 2):
            made.add(pa.array(values[start : start + 2], kind))
        return made.result()

    one = finger([1, 2, None, 2, 1])
    assert one == finger(["1", " 2", "NA", "2.0", "1"]) == finger([1.0, 2.0, None, 2.0, 1.0])
    other = finger([2, 1, None, 2, 1])
    assert (other.sequence, other.values) != (one.sequence, one.values)
    assert other.values == one.values
    assert finger([1, 2, None, 2]).values != one.values
    assert finger([1, 2, None, 2, 2]).values != one.values
    assert finger([1, 2, None, 2, 1], key=b"other").values != one.values


def test_reports_that_lost_their_receipt_are_not_privatised_again(place):
    md.privatize_file("people.csv", "reports.csv", "x", FOUND)
    receipt_path("reports.csv").unlink()
    os.rename("reports.csv", "people-too.csv")
    refused(
        lambda: md.privatize_file("people-too.csv", "again.csv", "x", FOUND),
        "by the ledger",
        error=DataError,
    )
    md.privatize_file("people-too.csv", "again.csv", "x", FOUND, ledger=False)  # a control


# The same reports again

KEY = md.ReleaseKey(bytes(range(32)))


@pytest.fixture
def keyed(place):
    """A release under a key; a function that releases something else and returns its reports."""
    people = pd.read_csv("people.csv")

    def release(frame=people, ending="csv", column="x", designed=FOUND, **options):
        number = len(list(place.iterdir()))
        source, target = f"s{number}.{ending}", f"r{number}.{ending}"
        if ending == "csv":
            frame.to_csv(source, index=False)
        else:
            frame.to_parquet(source)
        if "person" not in options:
            options = {"row": "id", **options}
        md.privatize_file(source, target, column, designed, **{"key": KEY, **options})
        made = pd.read_csv(target) if ending == "csv" else pd.read_parquet(target)
        return dict(zip(made["id"].astype(str), made[column].fillna(""), strict=True))

    return people, release, release()


AGAIN = {
    "the same": {},
    "in another order": {"frame": lambda f: f.sample(frac=1, random_state=3)},
    "with more columns": {"frame": lambda f: f.assign(y=1)[["y", "x", "id"]]},
    "by person": {"person": "id"},
    "by another name of the identities": {"frame": lambda f: f.assign(who=f["id"]), "row": "who"},
    "under the same bytes": {"key": bytes(range(32))},
    "with a policy that nothing falls under": {"missing": "keep"},
    "integers in place of their text": {"ending": "parquet"},
}


@pytest.mark.parametrize("name", AGAIN)
def test_the_same_rows_under_the_same_key_are_no_second_release(keyed, name):
    people, release, first = keyed
    options = dict(AGAIN[name])
    frame = options.pop("frame", lambda f: f)(people)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert release(frame, **options) == first
    # A third release, under another key, is the second that tells something.
    with pytest.warns(RepeatWarning, match=r"1 time before.*2 reports together: LDP\(2\)"):
        release(key=bytes(range(1, 33)))
    # What was said of once is not said of again.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert release(frame, **options) == first


OTHER = md.design(FOUND.prior, md.utility.Hamming(), md.LDP(2))
SECOND = {
    "another key": {"key": bytes(range(1, 33))},
    "a fresh key": {"key": None},
    "another kernel": {"designed": OTHER},
    "another column": {"frame": lambda f: f.rename(columns={"x": "y"}), "column": "y"},
    "permuted identities": {"frame": lambda f: f.assign(id=f["id"].to_numpy()[::-1])},
    "other identities": {"frame": lambda f: f.assign(id=f["id"] + 1000)},
    "permuted secrets": {"frame": lambda f: f.assign(x=f["x"].to_numpy()[::-1])},
    # Identities that mean the same, and are others to the draws.
    "text with blanks": {"frame": lambda f: f.assign(id=[f" {i}" for i in f["id"]])},
    "text of decimals": {"frame": lambda f: f.assign(id=[f"{i}.0" for i in f["id"]])},
}


@pytest.mark.parametrize("name", SECOND)
def test_other_reports_of_the_same_secrets_are_a_second_release(keyed, name):
    people, release, first = keyed
    options = dict(SECOND[name])
    frame = options.pop("frame", lambda f: f)(people)
    with pytest.warns(RepeatWarning, match=r"1 time before.*2 reports together"):
        assert release(frame, **options) != first


def test_changed_secrets_of_the_same_people_are_a_second_release(keyed):
    """Of one row only: the fingerprint of the column is another, that of the file's path is not."""
    people, _, _ = keyed
    md.privatize_file("people.csv", "one.csv", "x", FOUND, row="id", key=KEY)
    people.loc[0, "x"] = {"a": "b"}.get(people["x"][0], "a")
    people.to_csv("people.csv", index=False)
    with pytest.warns(RepeatWarning, match="1 time before"):
        md.privatize_file("people.csv", "two.csv", "x", FOUND, row="id", key=KEY)


@pytest.mark.parametrize(
    "other",
    [{"missing": "replace", "replacement": "b"}, {"missing": "keep"}],
    ids=["another replacement", "kept"],
)
def test_another_policy_for_missing_values_is_a_second_release(keyed, other):
    people, release, _ = keyed
    blanks = people.assign(x=people["x"].where(people["id"] > 60))
    first = release(blanks, missing="replace", replacement="a")
    with pytest.warns(RepeatWarning, match="1 time before"):
        assert release(blanks, **other) != first


def test_a_warning_names_each_release_by_the_people_it_was_about(keyed, recwarn):
    """The same secrets under another name are not of the people who are named now."""
    people, _, _ = keyed
    people.assign(id=people["id"] + 1000).to_csv("others.csv", index=False)
    said = []
    for number, (source, about) in enumerate([("people", "A"), ("people", "B"), ("others", "B")]):
        recwarn.clear()
        key = bytes(range(number, number + 32))
        options = {"person": "id", "key": key, "about": about}
        md.privatize_file(f"{source}.csv", f"{number}.csv", "x", FOUND, **options)
        said.append([str(one.message) for one in recwarn if "before" in str(one.message)])
    names = [" (as column 'x' of A)", " (as column 'x' of A, column 'x' of B)"]
    assert said[0] == []
    for number, (lines, told) in enumerate(zip(said[1:], names, strict=True), 1):
        (line,) = lines
        assert line.startswith(
            f"column 'x' of B was released {number} time{'s' * (number > 1)} before{told}"
        )


def test_errors_of_a_survey_name_the_row(place):
    """A survey reads batch by batch, as the draws do: of a CSV file, four megabytes at once."""
    rows = [f"{i:0100},{'a' if i != 60_000 else 'z'}" for i in range(60_001)]
    Path("long.csv").write_text("id,x\n" + "\n".join(rows) + "\n")
    for options in ({"row": "id"}, {"person": "id"}):
        refused(
            lambda w=options: md.privatize_file("long.csv", "o.csv", "x", FOUND, key=KEY, **w),
            "first in row 60001",
            error=DataError,
        )


# Nothing is forgotten


#: What is left of the lines of a ledger; ``None`` where it is removed.
DAMAGE = {
    "removed": lambda lines: None,
    "emptied": lambda lines: "",
    "cut": lambda lines: "".join(lines[:-2]),
    "an entry taken out": lambda lines: "".join(lines[:1] + lines[3:]),
    "an entry changed": lambda lines: "".join(lines).replace('"column": "x"', '"column": "y"', 1),
    "begun anew": lambda lines: lines[0],
    "replaced by JSON": lambda lines: "{}",
}


def test_a_ledger_that_was_edited_is_noticed(run, place):
    for i in range(2):
        Path(f"{i}.csv").write_text("x\n" + "a\nb\n" * (i + 5))
        assert run(*apply(f"{i}.csv", f"r{i}.csv"))[0] == 0
    path, head = default_ledger(), Ledger().head_file.read_text()
    whole = path.read_text()
    for how, left in DAMAGE.items():
        path.write_text(whole)
        Ledger().head_file.write_text(head)
        assert len(Ledger().releases()) == 2  # a control
        text = left(whole.splitlines(keepends=True))
        path.unlink() if text is None else path.write_text(text)
        code, out, err = run(*apply())
        assert (code, out) == (2, ""), err
        assert "edited or removed" in err
        assert not Path("reports.csv").exists()
        Ledger().head_file.unlink()
        if how in ("removed", "cut"):
            # What an owner who does not want to know can do.
            assert run(*apply("people.csv", f"{how}.csv"))[0] == 0


def test_no_byte_of_a_ledger_can_be_changed(place):
    for i in range(3):
        Path(f"{i}.csv").write_text("x\n" + "a\nb\n" * (i + 5))
        md.privatize_file(f"{i}.csv", f"r{i}.csv", "x", FOUND)
    path = default_ledger()
    whole = path.read_bytes()
    draw = random.Random(5)
    for _ in range(100):
        at = draw.randrange(len(whole))
        other = bytes([whole[at] ^ 1 << draw.randrange(7)])
        path.write_bytes(whole[:at] + other + whole[at + 1 :])
        with pytest.raises(StorageError, match="edited"):
            Ledger().releases()
    path.write_bytes(whole)
    assert len(Ledger().releases()) == 3  # a control


def test_two_who_release_the_same_secrets_at_once_know_of_each_other(place, monkeypatch):
    """The intent is there before the first has drawn anything."""
    write, states = Ledger.open, []

    def slow(book, *release, **more):
        number = write(book, *release, **more)
        monkeypatch.setattr(Ledger, "open", write)
        with pytest.warns(RepeatWarning, match="1 of them is under way or stopped"):
            md.privatize_file("people.csv", "other.csv", "x", FOUND)
        states.append([entry["finished"] for entry in book.releases()])
        return number

    monkeypatch.setattr(Ledger, "open", slow)
    md.privatize_file("people.csv", "reports.csv", "x", FOUND)
    assert states == [[False, True]]
    assert [entry["finished"] for entry in Ledger().releases()] == [True, True]


def test_a_line_that_was_not_ended_is_no_damage(place):
    md.privatize_file("people.csv", "reports.csv", "x", FOUND)
    with open(default_ledger(), "a") as file:
        file.write('{"kind": "relea')
    assert len(Ledger().releases()) == 1
    with pytest.warns(RepeatWarning, match="1 time before"):
        md.privatize_file("people.csv", "again.csv", "x", FOUND)
    assert len(Ledger().releases()) == 2


def test_no_key_is_made_for_a_ledger_that_is_gone(run, place):
    run(*apply())
    path = default_ledger()
    text, key = path.read_text(), path.with_name(path.name + ".key")
    secret = key.read_text()
    key.unlink()
    assert "is gone or damaged" in run(*apply("people.csv", "again.csv"))[2]
    path.unlink()
    code, _, err = run(*apply("people.csv", "again.csv"))
    assert code == 2
    assert "got no ledger" in err
    assert not key.exists()
    path.write_text(text)
    key.write_text(secret)
    assert "released 1 time before" in run(*apply("people.csv", "again.csv"))[2]


def test_a_ledger_that_others_wrote_on_is_no_damage(place, monkeypatch):
    """Two users with their own places share a ledger."""
    ledger = place / "shared.jsonl"
    for user in ("one", "two", "one", "two"):
        monkeypatch.setenv("MECHDESIGN_LEDGER", str(place / user / "ledger.jsonl"))
        before = len(Ledger(ledger).releases())
        Path("some.csv").write_text("x\n" + "a\n" * (before + 3))
        md.privatize_file("some.csv", f"{before}.csv", "x", FOUND, ledger=ledger, about=f"{before}")
        assert len(Ledger(ledger).releases()) == before + 1
    lines = ledger.read_text().splitlines(keepends=True)
    ledger.write_text("".join(lines[:-2]))
    with pytest.raises(StorageError, match="edited"):
        Ledger(ledger).releases()


# What it holds


@pytest.mark.slow
def test_the_ledger_holds_no_secrets_and_stays_small(place):
    labels = [f"label {i}" for i in range(300)]
    found = md.design(md.Prior.uniform(labels), md.utility.Hamming(), md.LDP(1))
    for i in range(3):
        Path(f"{i}.csv").write_text("x\n" + "\n".join(labels[i : i + 50]) + "\n")
        md.privatize_file(f"{i}.csv", f"r{i}.csv", "x", found)
    text = default_ledger().read_text()
    assert len(text) < 6000
    assert str(place) not in text
    assert "label" not in text.replace('"labels"', "")
    files = [p for p in default_ledger().parent.rglob("*") if p.is_file()]
    assert {p.name.split(".")[-1] for p in files} == {"jsonl", "key", "lock", "gz", "json"}
    assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in files)
    assert sum(p.stat().st_size for p in files) < 100_000
    (kernel,) = [p for p in files if p.suffix == ".gz"]
    assert Ledger().kernel(kernel.name.split(".")[0]) == found.mechanism


def test_a_kernel_that_is_gone_is_said(place):
    md.privatize_file("people.csv", "reports.csv", "x", FOUND)
    shutil.rmtree(default_ledger().with_name("ledger.jsonl.kernels"))
    with pytest.warns(RepeatWarning, match="the kernel of one is gone"):
        md.privatize_file("people.csv", "again.csv", "x", FOUND)


def test_releases_under_other_designs_are_added_up(place):
    other = md.design(FOUND.prior, md.utility.Hamming(), [md.PML(0.3), md.LDP(2)])
    md.privatize_file("people.csv", "reports.csv", "x", other)
    expected = md.compose(other, FOUND, notions=[md.LDP(1), md.PML(0.3)], prior=FOUND.prior)
    with pytest.warns(RepeatWarning) as caught:
        md.privatize_file("people.csv", "again.csv", "x", FOUND)
    assert str(expected) in str(caught[0].message)


def test_the_order_of_labels_does_not_keep_releases_from_being_added_up(place):
    turned = md.design(
        md.Prior([0.2, 0.5, 0.3], ["c", "a", "b"]), md.utility.MutualInformation(), md.LDP(1)
    )
    md.privatize_file("people.csv", "1.csv", "x", FOUND)
    with pytest.warns(RepeatWarning, match=r"1 time before.*; 2 reports together: LDP\(2\)"):
        md.privatize_file("people.csv", "2.csv", "x", turned)


# Places that fail


def test_a_user_without_a_home_is_told_what_to_set(run, place, monkeypatch):
    import platformdirs

    def homeless(*_, **__):
        raise RuntimeError("could not determine the home directory")

    monkeypatch.setattr(platformdirs, "user_data_path", homeless)
    before = sorted(place.iterdir())
    for named in ("", "~nobody-of-this-name/ledger.jsonl"):
        monkeypatch.setenv("MECHDESIGN_LEDGER", named)
        for more in ((), ("--ledger", "l.jsonl")):
            code, _, err = run(*apply("people.csv", "reports.csv", *more))
            assert code == 2
            assert "so nothing was released; let MECHDESIGN_LEDGER name a file" in err
    assert sorted(place.iterdir()) == before


@pytest.mark.skipif(os.name != "posix", reason="SKIPPED: such locks are those of POSIX")
@pytest.mark.filterwarnings("ignore:flock not supported")
def test_a_file_system_without_locks_is_no_other_process(place, monkeypatch):
    import errno
    import fcntl

    def missing(*_):
        raise OSError(errno.ENOSYS, "not there")

    monkeypatch.setattr(fcntl, "flock", missing)
    md.privatize_file("people.csv", "reports.csv", "x", FOUND)
    assert [r["finished"] for r in Ledger().releases()] == [True]
    assert not [p for p in place.iterdir() if p.name.startswith(".")]


def test_reports_that_are_there_are_not_said_to_be_unreleased(place, monkeypatch):
    def full(self, *_):
        raise StorageError("ledger: cannot be written (no space), so nothing was released.")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "close", full)
        with pytest.raises(StorageError, match=r"the reports are in reports.csv and count"):
            md.privatize_file("people.csv", "reports.csv", "x", FOUND)
    assert Path("reports.csv").exists()
    assert [r["finished"] for r in Ledger().releases()] == [False]


def test_a_path_that_is_no_ledger_is_not_called_an_output(run, place):
    (place / "folder").mkdir()
    for path in ("folder", "nowhere/l.jsonl"):
        code, _, err = run(*apply("people.csv", "reports.csv", "--ledger", path))
        assert code == 2
        assert f"error: ledger {path}: expected" in err
    refused(lambda: md.privatize_file("people.csv", "r.csv", "x", FOUND, ledger=0), "got 0")


# One output, one process


@pytest.mark.slow
def test_leftovers_of_an_output_of_another_name_are_removed_unless_it_is_being_written(place):
    with claimed("busy.csv", overwrite=False) as claim:
        part = claim.part()
        start(script=STOPPED.format(where="files.Claim.publish")).communicate()
        with (
            pytest.warns(LeftoverWarning, match="left 2 unfinished files"),
            pytest.warns(RepeatWarning),
        ):
            md.privatize_file("people.csv", "other.csv", "x", FOUND)
        assert part.exists()
    assert not [p for p in place.iterdir() if p.name.startswith(".")]


@pytest.mark.slow
def test_of_several_processes_with_one_output_one_is_refused_nothing_mixed(place):
    for force in ((), ("--force",)):
        works = [start(*apply("people.csv", "one.csv", *force)) for _ in range(4)]
        ends = [(*work.communicate(), work.returncode) for work in works]
        done = [end for end in ends if end[2] == 0]
        assert len(done) >= 1
        assert len(done) == 1 or force
        for _, err, code in ends:
            assert code in (0, 2)
            assert code == 0 or "another process is writing" in err or "exists" in err, err
        # Data and receipt are of one run: the hash of the one is in the other.
        assert file_receipts("one.csv", check=True)["x"].rows == 200
        assert not [p for p in place.iterdir() if p.name.startswith(".")]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="SKIPPED: users are those of POSIX")
def test_what_other_users_write_in_the_folder_is_theirs(place, monkeypatch):
    theirs = place / ".mechdesign-0123456789abcdef-x.partial"
    theirs.touch()
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    md.privatize_file("people.csv", "reports.csv", "x", FOUND)
    assert theirs.exists()


def test_who_writes_a_file_keeps_others_from_it(run, place):
    with claimed("reports.csv", overwrite=False) as claim:
        part = claim.part()
        code, _, err = run(*apply())
        assert code == 2
        assert "another process is writing" in err
        assert part.exists()  # nobody removes what is being written
        code, _, err = run(*apply("people.csv", "other.csv"))
        assert code == 0  # a control
    assert run(*apply())[0] == 0


def test_a_file_that_appears_meanwhile_stays_as_it_is(place, monkeypatch):
    link = os.link

    def meanwhile(name, target, **options):
        if target.name == "reports.csv":
            target.write_text("somebody else's")
        link(name, target, **options)

    monkeypatch.setattr(os, "link", meanwhile)
    with pytest.raises(StorageError, match="made meanwhile"):
        md.privatize_file("people.csv", "reports.csv", "x", FOUND)
    assert Path("reports.csv").read_text() == "somebody else's"
    assert not receipt_path("reports.csv").exists()
    # Its end is not known to be none, so it counts.
    assert [r["finished"] for r in Ledger().releases()] == [False]


@pytest.mark.skipif(os.name != "posix", reason="SKIPPED: modes are those of POSIX")
def test_what_holds_counts_is_for_its_owner_only(place):
    md.save(FOUND, "d.json")
    md.save(FOUND.mechanism, "m.json")
    md.privatize_file("people.csv", "r.csv", "x", FOUND)
    mode = {p: stat.S_IMODE(Path(p).stat().st_mode) for p in ("d.json", "m.json", "r.csv")}
    assert mode["d.json"] == 0o600
    umask = os.umask(0)
    os.umask(umask)
    assert mode["m.json"] == mode["r.csv"] == 0o666 & ~umask


def test_the_own_ledger_is_where_it_is_said_to_be(monkeypatch, tmp_path):
    assert str(default_ledger()) == os.environ["MECHDESIGN_LEDGER"]
    monkeypatch.delenv("MECHDESIGN_LEDGER")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert default_ledger().is_relative_to(tmp_path)
    assert default_ledger().name == "ledger.jsonl"
    assert list(tmp_path.iterdir()) == []


NASTY_LABELS = {
    "text": ["a", " b ", "1", "NA", "None", "", "true", "1.0", "007"],
    "numbers": [0.5, 1.0, 1e22, 1e-7],
    "missing": [None, "x"],
    "days": [datetime.date(2024, 1, 2), datetime.date(2024, 1, 3)],
    "bytes": [b"x", b"y"],
}


@for_each("name", NASTY_LABELS)
@for_each("texts", [False, True])
def test_reports_have_one_fingerprint_whether_drawn_or_read(name, texts):
    """What the ledger notes of reports as they are drawn is what their file shows later."""
    labels = NASTY_LABELS[name]
    n = len(labels)
    kernel = md.Mechanism(0.5 * np.eye(n)[::-1] + 0.5 / n, labels, labels)
    values = [cell_text(label) for label in labels] if texts else labels
    drawn, read = Fingerprinter(b"key"), Fingerprinter(b"key")
    release = Release([Part(kernel, ["x"], None, 1, texts=texts)], texts=texts).changed(
        reports=drawn
    )
    made = privatize_batch(pa.record_batch({"x": pa.array(values * 40)}), release)
    read.add(made.column(0))
    assert drawn.result() == read.result()
    read.add(made.column(0))
    assert drawn.result() != read.result()
