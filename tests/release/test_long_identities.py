"""Identities that come again are noticed in tables of any length, in bounded memory.

What is spooled to a nameless file must be refused exactly where a dictionary of all identities
refuses it, with the same count.
"""

from __future__ import annotations

import errno
import io
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from checks import for_each, pairwise_cases, refused

import mechdesign as md
from mechdesign.errors import DataError, StorageError
from mechdesign.release import identities
from mechdesign.release.identities import (
    Admission,
    Identity,
    SpooledAdmission,
    encode_identities,
    release_key,
)


@pytest.fixture(autouse=True)
def few_are_held(monkeypatch):
    monkeypatch.setattr(identities, "_HELD", 20)


def asked(*, by_person):
    return Identity("who", by_person, release_key(), "", True)


def outcome(admission, parts):
    """What was refused, in words, or nothing."""
    try:
        for who, codes in parts:
            admission.admit(encode_identities(who, "who"), codes)
        if isinstance(admission, SpooledAdmission):
            admission.compare()
    except DataError as refusal:
        return str(refusal)
    return None


@for_each(
    "by_person, size, repeats",
    pairwise_cases([False, True], [3, 19, 20, 21, 90, 400], [0, 1, 5]),
)
def test_the_same_rows_are_refused(by_person, size, repeats, tmp_path):
    rng = np.random.default_rng([size, repeats])
    for trial in range(6):
        who = [f"p{number}" for number in rng.permutation(10 * size)[:size]]
        codes = rng.integers(-1, 3, size)
        # The last rows repeat earlier ones; in a long table those are in the file by then.
        for place in rng.integers(0, size, repeats):
            who.append(who[place])
            codes = np.append(codes, (codes[place] + trial % 2) % 3)
        cuts = [0, *sorted(rng.integers(0, len(who), 3)), len(who)]
        parts = [(who[a:b], codes[a:b]) for a, b in pairwise(cuts)]
        with SpooledAdmission(asked(by_person=by_person), tmp_path) as spooled:
            found = outcome(spooled, parts)
        # The one in memory stops at the part where it sees it: it gets one part.
        whole = outcome(Admission(asked(by_person=by_person)), [(who, codes)])
        assert (found is None) == (whole is None)


def test_the_count_is_of_all_that_came_again(tmp_path):
    who, codes = [f"p{n}" for n in range(100)], np.zeros(100, dtype=int)
    parts = [(who, codes), (who[:7], codes[:7] + 1), (who[3:5], codes[:2] + 2)]
    with SpooledAdmission(asked(by_person=False), tmp_path) as rows:
        assert "got 9 rows" in outcome(rows, parts)
    with SpooledAdmission(asked(by_person=True), tmp_path) as persons:
        assert "several for 7 of them" in outcome(persons, parts)
    # Some of them came again before the first ones no longer fit into memory.
    early = [(who[:9], codes[:9]), (who[:4], codes[:4] + 1), (who[4:], codes[4:]), *parts[1:]]
    with SpooledAdmission(asked(by_person=True), tmp_path) as persons:
        assert "several for 7 of them in the 118 rows read" in outcome(persons, early)
    with SpooledAdmission(asked(by_person=False), tmp_path) as rows:
        assert "got 18 rows whose identity came before, of the 118" in outcome(rows, early)
    unchanged = [(who, codes), (who, codes), (who, np.full(100, -1))]
    with SpooledAdmission(asked(by_person=True), tmp_path) as persons:
        assert outcome(persons, unchanged) is None


def test_the_file_reveals_no_identities(tmp_path):
    """Digests of the same rows differ from run to run: whoever gets the file cannot try names."""
    told = []
    for _ in range(2):
        with SpooledAdmission(asked(by_person=False), tmp_path) as spooled:
            assert (
                outcome(spooled, [([f"p{n}" for n in range(60)], np.zeros(60, dtype=int))]) is None
            )
            spooled._spool.seek(0)
            told.append(spooled._spool.read())
    assert len(told[0]) == len(told[1]) == 60 * 20
    assert not {told[0][i : i + 16] for i in range(0, 1200, 20)} & {
        told[1][i : i + 16] for i in range(0, 1200, 20)
    }


def test_a_full_disk_is_a_message(monkeypatch, tmp_path):
    class Full(io.BytesIO):
        def __init__(self, dir):
            super().__init__()

        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(identities.tempfile, "TemporaryFile", Full)
    rows = [([f"p{n}" for n in range(60)], np.zeros(60, dtype=int))]
    with (
        SpooledAdmission(asked(by_person=False), tmp_path) as spooled,
        pytest.raises(StorageError, match="make room there"),
    ):
        outcome(spooled, [*rows, ([f"q{n}" for n in range(60)], rows[0][1])])


def test_a_folder_that_takes_no_file_is_a_message(tmp_path):
    rows = [([f"p{n}" for n in range(60)], np.zeros(60, dtype=int))]
    with (
        SpooledAdmission(asked(by_person=False), tmp_path / "gone") as spooled,
        pytest.raises(StorageError, match=r"gone .No such file.*another folder"),
    ):
        outcome(spooled, rows)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_digests_lie_where_the_reports_go(kind, tmp_path, monkeypatch):
    """The system's folder for temporary files is often memory."""
    import pandas as pd

    told = []
    monkeypatch.setattr(
        identities.tempfile,
        "TemporaryFile",
        lambda dir: told.append(Path(dir).resolve()) or io.BytesIO(),
    )
    found = md.design(md.Prior.uniform(["a", "b"]), md.utility.Hamming(), md.LDP(1))
    table = pd.DataFrame({"who": [f"p{n}" for n in range(60)], "answer": ["a", "b"] * 30})
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    table.to_csv(tmp_path / "in" / "s.csv", index=False)
    source = tmp_path / "in" / "s.csv" if kind == "file" else tmp_path / "in"
    target = tmp_path / "out" / ("t.csv" if kind == "file" else "parts")
    md.privatize_file(source, target, "answer", found, row="who", key=md.release_key())
    assert told == [(tmp_path / "out").resolve()]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_with_a_late_repeat_are_refused_whole(ending, tmp_path):
    import pandas as pd

    secrets = md.Prior.uniform(["a", "b"])
    found = md.design(secrets, md.utility.Hamming(), md.LDP(1))
    who = [f"p{n}" for n in range(300)]
    source, target, key = tmp_path / f"s.{ending}", tmp_path / f"t.{ending}", md.release_key()
    options = {"row": "who", "key": key, "ledger": tmp_path / "ledger"}

    def written(names):
        table = pd.DataFrame({"who": names, "answer": ["a", "b"] * (len(names) // 2)})
        table.to_csv(source, index=False) if ending == "csv" else table.to_parquet(source)

    written([*who[:-1], who[4]])
    refused(
        lambda: md.privatize_file(source, target, "answer", found, **options),
        "different identity in each row",
        error=DataError,
    )
    assert not target.exists()
    written(who)
    assert md.privatize_file(source, target, "answer", found, **options).rows == 300
