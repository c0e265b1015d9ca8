"""Columns beside the reports: secrets among them are warned of, and those not wanted left out."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from checks import for_each, refused

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import (
    CountsWarning,
    InputError,
    StorageError,
    UnhiddenWarning,
    UnknownNameError,
)
from mechdesign.release import folder_release
from mechdesign.release.receipts import file_receipts

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

ENDINGS = (".csv", ".csv.gz", ".parquet")
JOB, SEX = (
    md.design(md.Prior.uniform(labels).with_schema(name), md.utility.Hamming(), md.LDP(1))
    for name, labels in (("job", ["x", "y", "z"]), ("sex", ["f", "m"]))
)


def people(seed=0, rows=120):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": np.arange(rows) + 1000 * seed,
            "job": rng.choice(["x", "y", "z"], rows),
            "sex": rng.choice(["f", "m"], rows),
            "note": ["n"] * rows,
        }
    )


def write(frame, path):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)


def read(path):
    return pd.read_parquet(path) if Path(path).suffix == ".parquet" else pd.read_csv(path)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MECHDESIGN_LEDGER", str(tmp_path / "ledger.jsonl"))
    return tmp_path


def told_by(make):
    """The warnings of columns that are written as they stand."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make()
    return [str(one.message) for one in caught if one.category is UnhiddenWarning]


@for_each("ending", ENDINGS)
def test_secrets_that_were_released_before_are_named(tmp_path, monkeypatch, ending):
    monkeypatch.chdir(tmp_path)

    def told(source, to, column, kernel):
        call = lambda: md.privatize_file(source + ending, to + ending, column, kernel)  # noqa: E731
        return told_by(call)

    for name, frame in (("in", people()), ("copy", people().iloc[::-1]), ("others", people(7))):
        write(frame, name + ending)
    assert told("in", "a", "job", JOB) == []
    (said,) = told("in", "b", "sex", SEX)
    assert all(part in said for part in ("'job'", "ledger", "--drop-column"))
    assert "'sex'" not in said
    assert read("b" + ending)["job"].tolist() == people()["job"].tolist()
    # A copy under another name and in another order holds the same secrets.
    (said,) = told("copy", "c", "sex", SEX)
    assert "'job'" in said
    # Reports are no secrets, and other people's column of that name is none of these.
    assert told("a", "d", "sex", SEX) == told("others", "e", "sex", SEX) == []


def test_the_same_people_by_name_and_reports_whose_receipt_is_gone(here):
    write(people(), "in.csv")
    md.privatize_file("in.csv", "a.csv", "job", JOB, about="staff")
    changed = people()
    changed.loc[0, "job"] = "z" if changed["job"][0] != "z" else "x"
    write(changed, "later.csv")
    release = lambda source, to: md.privatize_file(source, to, "sex", SEX, about="staff")  # noqa: E731
    (told,) = told_by(lambda: release("later.csv", "b.csv"))
    assert "'job'" in told
    Path("a.csv.receipt.json").unlink()
    assert told_by(lambda: release("a.csv", "c.csv")) == []


def test_several_columns_are_named_together(here):
    write(people(), "in.csv")
    plan = md.plan_columns(people(), {"job": 1, "sex": 1}, md.LDP(2))
    with pytest.warns(CountsWarning, match="these very columns 'job', 'sex'"):
        md.privatize_file("in.csv", "a.csv", plan)
    (told,) = told_by(lambda: md.privatize_file("in.csv", "b.csv", "note", _noted()))
    assert "columns 'job', 'sex' of in.csv" in told
    assert "are written as they stand; leave them out" in told
    assert "--drop-column job --drop-column sex" in told


def test_what_the_design_names_is_named_without_a_ledger(here):
    write(people().assign(work=people()["job"]), "in.csv")
    asked = {"column": "work", "mechanism": JOB, "ledger": False}
    (told,) = told_by(lambda: md.privatize_file("in.csv", "a.csv", **asked))
    assert "'job'" in told
    assert "design" in told
    assert told_by(lambda: md.privatize_file("in.csv", "b.csv", **asked, drop="job")) == []


@for_each("ending", ENDINGS)
def test_columns_are_left_out(tmp_path, monkeypatch, ending):
    monkeypatch.chdir(tmp_path)
    frame = people().assign(id=lambda frame: frame["id"] ** 2)
    write(frame.set_index("id") if ending == ".parquet" else frame, "in" + ending)

    def made(name, source="in", column="job", kernel=JOB, **options):
        md.privatize_file(source + ending, name + ending, column, kernel, **options)
        return read(name + ending), sorted(file_receipts(name + ending, check=True))

    whole = made("job", rng=1)[0]
    warnings.simplefilter("ignore", md.errors.RepeatWarning)
    for name, options, columns in (
        ("a", {"drop": ["sex", "id"]}, ["job", "note"]),
        ("b", {"only_reports": True}, ["job"]),
    ):
        part, receipts = made(name, rng=1, **options)
        pd.testing.assert_frame_equal(part, whole[columns].reset_index(drop=True))
        assert receipts == ["job"]
    part, receipts = made("c", drop="id", row="id")
    assert (list(part), receipts) == (["job", "sex", "note"], ["job"])
    # A receipt goes with its column.
    asked = {"source": "job", "column": "sex", "kernel": SEX}
    assert told_by(lambda: made("d", only_reports=True, **asked)) == []
    assert list(file_receipts("d" + ending)) == list(read("d" + ending)) == ["sex"]
    assert made("e", drop="id", ledger="another.jsonl", **asked)[1] == ["job", "sex"]


def test_plans_and_joint_designs_write_reports_alone(here):
    write(people(), "in.csv")
    pairs = [(job, sex) for job in "xyz" for sex in "fm"]
    joint = md.design(
        md.Prior.uniform(pairs).with_schema(["job", "sex"]), md.utility.Hamming(), md.LDP(1)
    )
    plan = md.plan_columns(people(2), {"job": 1, "sex": 1}, md.LDP(2))
    for name, designed, columns in (("a.csv", plan, ["job", "sex"]), ("b.csv", joint, ["u", "v"])):
        into = {"into": columns} if designed is joint else {}
        md.privatize_file("in.csv", name, designed, only_reports=True, ledger=False, **into)
        assert list(read(name)) == columns


@for_each("ending", [".csv", ".parquet"])
def test_folders_alike(tmp_path, monkeypatch, ending):
    monkeypatch.chdir(tmp_path)
    for seed in (1, 2):
        write(people(seed), f"in/{seed}{ending}")

    def told(to, column, kernel, **options):
        return told_by(lambda: md.privatize_file("in", to, column, kernel, **options))

    assert told("a", "job", JOB) == []
    (said,) = told("b", "sex", SEX)
    assert "'job'" in said
    assert told("c", "note", _noted(), drop=["job", "sex"]) == []
    for seed in (1, 2):
        assert list(read(f"c/{seed}{ending}")) == ["id", "note"]
        assert list(file_receipts(f"c/{seed}{ending}", check=True)) == ["note"]
    made, calls = folder_release._Run.publish, []

    def once(run, name, **options):
        calls.append(name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        made(run, name, **options)

    monkeypatch.setattr(folder_release._Run, "publish", once)
    with pytest.raises(KeyboardInterrupt):
        told("d", "sex", SEX, drop=["job"])
    with pytest.raises(StorageError, match="columns left out"):
        told("d", "sex", SEX)
    told("d", "sex", SEX, drop=["job"])
    assert [list(read(f"d/{seed}{ending}")) for seed in (1, 2)] == [["id", "sex", "note"]] * 2


def _noted():
    return md.design(md.Prior.uniform(["n", "o"]), md.utility.Hamming(), md.LDP(1))


def test_what_cannot_be_left_out(here):
    write(people(), "in.csv")
    for options, kind, told in (
        ({"drop": ["job"]}, InputError, ("'job'", "--drop-column")),
        ({"drop": ["jobs"]}, UnknownNameError, ("jobs",)),
        ({"drop": [3]}, InputError, ("drop", "3")),
        ({"only_reports": "yes"}, InputError, ("only_reports",)),
        ({"drop": ["sex"], "only_reports": True}, InputError, ("both",)),
    ):
        call = lambda o=options: md.privatize_file("in.csv", "a.csv", "job", JOB, **o)  # noqa: E731
        refused(call, *told, error=kind)
    assert not Path("a.csv").exists()


def test_the_command_line_says_and_does_the_same(here, capsys):
    write(people(), "in.csv")
    md.save(JOB, "job.json")
    md.save(SEX, "sex.json")
    assert main(["apply", "job.json", "in.csv", "-o", "a.csv", "--only-reports"]) == 0
    assert list(read("a.csv")) == ["job"]
    assert "MD815" not in capsys.readouterr().err
    assert main(["apply", "sex.json", "in.csv", "-o", "b.csv"]) == 0
    (line,) = [one for one in capsys.readouterr().err.splitlines() if "[MD815]" in one]
    assert line.startswith("warning: ")
    assert "--drop-column job" in line
    options = ["--drop-column", "job", "--drop-column", "id"]
    assert main(["apply", "sex.json", "in.csv", "-o", "c.csv", *options]) == 0
    assert "MD815" not in capsys.readouterr().err
    assert list(read("c.csv")) == ["sex", "note"]
