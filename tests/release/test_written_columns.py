"""Columns beside the reports: secrets among them are warned of, and those not wanted left out."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from checks import refused

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


@pytest.mark.parametrize("ending", ENDINGS)
def test_secrets_that_were_released_before_are_named(here, ending):
    write(people(), "in" + ending)
    write(people().iloc[::-1], "copy" + ending)
    assert told_by(lambda: md.privatize_file("in" + ending, "a" + ending, "job", JOB)) == []
    (told,) = told_by(lambda: md.privatize_file("in" + ending, "b" + ending, "sex", SEX))
    assert "'job'" in told
    assert "'sex'" not in told
    assert "ledger" in told
    assert "--drop-column" in told
    assert read("b" + ending)["job"].tolist() == people()["job"].tolist()
    # A copy under another name and in another order holds the same secrets.
    (told,) = told_by(lambda: md.privatize_file("copy" + ending, "c" + ending, "sex", SEX))
    assert "'job'" in told
    # Reports are no secrets, and other people's column of that name is none of these.
    assert told_by(lambda: md.privatize_file("a" + ending, "d" + ending, "sex", SEX)) == []
    write(people(7), "others" + ending)
    assert told_by(lambda: md.privatize_file("others" + ending, "e" + ending, "sex", SEX)) == []


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


def test_both_columns_of_a_plan_count_as_released(here):
    write(people(), "in.parquet")
    plan = md.plan_columns(people(), {"job": 1, "sex": 1}, md.LDP(2))
    assert told_by(lambda: md.privatize_file("in.parquet", "a.parquet", plan)) == []
    (told,) = told_by(lambda: md.privatize_file("in.parquet", "b.parquet", "sex", SEX))
    assert "'job'" in told


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
    frame = people().assign(work=people()["job"])
    write(frame, "in.csv")
    (told,) = told_by(lambda: md.privatize_file("in.csv", "a.csv", "work", JOB, ledger=False))
    assert "'job'" in told
    assert "design" in told
    assert (
        told_by(lambda: md.privatize_file("in.csv", "b.csv", "work", JOB, ledger=False, drop="job"))
        == []
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_columns_are_left_out(here, ending):
    write(people(), "in" + ending)
    md.privatize_file("in" + ending, "job" + ending, "job", JOB, rng=1)
    whole = read("job" + ending)
    for made, options, columns in (
        ("a", {"drop": ["sex", "id"]}, ["job", "note"]),
        ("b", {"only_reports": True}, ["job"]),
        ("c", {"drop": "id", "row": "id"}, ["job", "sex", "note"]),
    ):
        name = made + ending
        seed = {} if "row" in options else {"rng": 1}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", md.errors.RepeatWarning)
            md.privatize_file("in" + ending, name, "job", JOB, **seed, **options)
        assert list(read(name)) == columns
        assert list(file_receipts(name, check=True)) == ["job"]
        if seed:
            pd.testing.assert_frame_equal(read(name), whole[columns])
    # A receipt goes with its column.
    assert (
        told_by(
            lambda: md.privatize_file("job" + ending, "d" + ending, "sex", SEX, only_reports=True)
        )
        == []
    )
    assert list(file_receipts("d" + ending, check=True)) == list(read("d" + ending)) == ["sex"]
    md.privatize_file(
        "job" + ending, "e" + ending, "sex", SEX, drop="id", ledger=str(here / "another.jsonl")
    )
    assert sorted(file_receipts("e" + ending, check=True)) == ["job", "sex"]


def test_an_index_that_pandas_kept_may_be_left_out(here):
    people().iloc[::-1].assign(id=lambda frame: frame["id"] ** 2).set_index("id").to_parquet(
        "in.parquet"
    )
    md.privatize_file("in.parquet", "out.parquet", "job", JOB, drop="id")
    assert list(pd.read_parquet("out.parquet")) == ["job", "sex", "note"]


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


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_folders_alike(here, ending, monkeypatch):
    for seed in (1, 2):
        write(people(seed), f"in/{seed}{ending}")
    assert told_by(lambda: md.privatize_file("in", "a", "job", JOB)) == []
    (told,) = told_by(lambda: md.privatize_file("in", "b", "sex", SEX))
    assert "'job'" in told
    assert (
        told_by(lambda: md.privatize_file("in", "c", "note", _noted(), drop=["job", "sex"])) == []
    )
    for seed in (1, 2):
        assert list(read(f"c/{seed}{ending}")) == ["id", "note"]
        assert list(file_receipts(f"c/{seed}{ending}", check=True)) == ["note"]

    def stopped(*_, **options):
        raise KeyboardInterrupt

    made = folder_release._Run.publish

    def once(run, name, **options):
        made(run, name, **options)
        monkeypatch.setattr(folder_release._Run, "publish", stopped)

    def release(**options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            md.privatize_file("in", "d", "sex", SEX, **options)

    monkeypatch.setattr(folder_release._Run, "publish", once)
    with pytest.raises(KeyboardInterrupt):
        release(drop=["job"])
    monkeypatch.setattr(folder_release._Run, "publish", made)
    with pytest.raises(StorageError, match="columns left out"):
        release()
    release(drop=["job"])
    assert [list(read(f"d/{seed}{ending}")) for seed in (1, 2)] == [["id", "sex", "note"]] * 2


def _noted():
    return md.design(md.Prior.uniform(["n", "o"]), md.utility.Hamming(), md.LDP(1))


@pytest.mark.parametrize(
    ("options", "kind", "told"),
    [
        ({"drop": ["job"]}, InputError, ("'job'", "--drop-column")),
        ({"drop": ["jobs"]}, UnknownNameError, ("jobs",)),
        ({"drop": 3}, InputError, ("drop", "3")),
        ({"drop": [3]}, InputError, ("drop", "3")),
        ({"only_reports": "yes"}, InputError, ("only_reports",)),
        ({"drop": ["sex"], "only_reports": True}, InputError, ("both",)),
    ],
)
def test_what_cannot_be_left_out(here, options, kind, told):
    write(people(), "in.csv")
    refused(lambda: md.privatize_file("in.csv", "a.csv", "job", JOB, **options), *told, error=kind)
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
