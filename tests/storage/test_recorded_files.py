"""Files that were recorded are read, of every format, and mean the same."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from recorded.make_files import compared, shown

import mechdesign as md
from mechdesign.errors import DataError, RepeatWarning

ARCHIVE = Path(__file__).parents[1] / "recorded" / "files.tar.gz"
with tarfile.open(ARCHIVE) as archive:
    CONTENTS = json.load(archive.extractfile("contents.json"))
SAVED = CONTENTS["items"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with the files, as their owner has them."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_are_designs_of_every_kind():
    assert len([name for name in SAVED if name.startswith("design-")]) == 20
    kinds = {saved["kind"] for saved in SAVED.values()}
    assert kinds == {"Design", "Mechanism", "PublicDesign"}


@pytest.mark.filterwarnings("ignore::mechdesign.errors.ZeroMassWarning")
@pytest.mark.parametrize("name", SAVED)
def test_what_was_saved_is_loaded(name, place):
    found = shown(md.load(name))
    saved = dict(SAVED[name])
    for number in ("value", "bound", "gap"):
        if number in saved:
            # A gap is a difference of the other two: a tighter bound of today shows in its digits.
            room = 1e-12 if number == "gap" else 1e-15
            assert found.pop(number) == pytest.approx(saved.pop(number), rel=1e-12, abs=room)
    assert found == saved


def test_a_key_gives_the_same_reports(place):
    key = md.release_key("release.key")
    assert key.fingerprint == CONTENTS["key"]
    found = md.load("design-information.json")
    md.privatize_file("people.csv", "again.csv", "x", found, row="id", key=key, ledger=False)
    assert Path("again.csv").read_bytes() == Path("reports.csv").read_bytes()


def test_a_receipt_belongs_to_its_reports_and_design(place):
    reports = [line.split(",")[1] for line in Path("reports.csv").read_text().splitlines()[1:]]
    receipt = "reports.csv.receipt.json"
    found = md.estimate(reports, md.load("design-information.json"), receipt=receipt)
    assert found.values.tolist() == pytest.approx(CONTENTS["estimate"], rel=1e-12)
    with pytest.raises(DataError, match="expected reports of this mechanism"):
        md.estimate(reports, md.load("design-average.json"), receipt=receipt)


def test_a_ledger_knows_what_was_released(place):
    found = md.load("design-information.json")
    with pytest.warns(RepeatWarning, match=r"released 1 time before.*LDP\(2\)"):
        md.privatize_file("people.csv", "again.csv", "x", found, ledger="ledger.json")


def test_a_comparison_goes_on_with_what_it_had(place):
    kept = {path.name: path.read_bytes() for path in Path("comparison").iterdir()}
    assert compared("comparison") == CONTENTS["comparison"]
    assert {path.name: path.read_bytes() for path in Path("comparison").iterdir()} == kept
    assert len(kept) == 4
