"""Identities that come again are noticed in tables of any length, in bounded memory.

What is spooled to a nameless file must be refused exactly where a dictionary of all identities
refuses it, with the same count.
"""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from checks import for_each, pairwise_cases, refused

import mechdesign as md
from mechdesign.errors import DataError, StorageError
from mechdesign.release import identities
from mechdesign.release.codes import ABSENT
from mechdesign.release.identities import (
    Admission,
    Identities,
    Identity,
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
            admission.admit(
                who if isinstance(who, Identities) else encode_identities(who, "who"), codes
            )
        if admission._folder is not None:
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
        with Admission(asked(by_person=by_person), tmp_path) as spooled:
            found = outcome(spooled, parts)
        # The one in memory stops at the part where it sees it: it gets one part.
        whole = outcome(Admission(asked(by_person=by_person)), [(who, codes)])
        assert (found is None) == (whole is None)


def test_the_count_is_of_all_that_came_again(tmp_path):
    who, codes = [f"p{n}" for n in range(100)], np.zeros(100, dtype=int)
    parts = [(who, codes), (who[:7], codes[:7] + 1), (who[3:5], codes[:2] + 2)]
    with Admission(asked(by_person=False), tmp_path) as rows:
        assert "got 9 rows" in outcome(rows, parts)
    with Admission(asked(by_person=True), tmp_path) as persons:
        assert "several for 7 of them" in outcome(persons, parts)
    # Some of them came again before the first ones no longer fit into memory.
    early = [(who[:9], codes[:9]), (who[:4], codes[:4] + 1), (who[4:], codes[4:]), *parts[1:]]
    with Admission(asked(by_person=True), tmp_path) as persons:
        assert "several for 7 of them in the 118 rows read" in outcome(persons, early)
    with Admission(asked(by_person=False), tmp_path) as rows:
        assert "got 18 rows whose identity came before, of the 118" in outcome(rows, early)
    unchanged = [(who, codes), (who, codes), (who, np.full(100, -1))]
    with Admission(asked(by_person=True), tmp_path) as persons:
        assert outcome(persons, unchanged) is None


def test_the_file_has_no_name_and_holds_no_identities(tmp_path):
    """Digests of the same rows differ from key to key, and in every run without one."""
    told, who = [], [f"person {n}" for n in range(60)]
    for key in (b"", b"", b"one key", b"one key"):
        with Admission(asked(by_person=False), tmp_path, key) as spooled:
            assert outcome(spooled, [(who, np.zeros(60, dtype=int))]) is None
            assert not list(tmp_path.iterdir())
            spooled._spool.seek(0)
            told.append(spooled._spool.read())
    assert all(len(one) == 60 * 24 and b"person" not in one for one in told)
    records = [{one[i : i + 16] for i in range(0, len(one), 24)} for one in told]
    assert not records[0] & records[1]
    assert records[2] == records[3]


def test_one_fingerprint_of_identities_in_any_order_and_any_parts(tmp_path):
    """It tells symbols, null reports and numbers of rows apart, whatever lies in a file."""
    rng = np.random.default_rng(4)
    who = [f"p{n}" for n in range(90)]
    codes = rng.integers(-1, 1 << 40, 90)

    def fingerprint(rows, codes, cuts=(0, 90), key=b"k", by_person=True):
        with Admission(asked(by_person=by_person), tmp_path, key) as admission:
            for a, b in pairwise(cuts):
                admission.admit(encode_identities(rows[a:b], "who"), codes[a:b])
            return admission.compare()

    known = fingerprint(who, codes)
    order = rng.permutation(90)
    assert fingerprint([who[i] for i in order], codes[order], (0, 7, 31, 31, 90)) == known
    assert fingerprint(who, codes, by_person=False) == known
    others = [
        fingerprint(who, np.where(np.arange(90) == 3, ABSENT, codes)),
        fingerprint(who, np.roll(codes, 1)),
        fingerprint([*who[:89], "q"], codes),
        fingerprint([*who, who[0]], np.append(codes, codes[0]), (0, 91)),
        fingerprint(who, codes, key=b"other"),
    ]
    assert len({known, *others}) == 6


NASTY = [
    "",
    "\0",
    "\0\0",
    "a",
    "a\0",
    "a\0\0",
    "\0a",
    "é",
    "e\u0301",
    "\U0001f600",
    "x" * 31,
    "x" * 32,
]
NASTY += ["x" * 33, "x" * 34, "x" * 100_000, "x" * 100_001, "s1", "1", "01", "-1", "1.0", " 1"]


@pytest.mark.parametrize("by_person", [False, True])
def test_identities_that_look_alike_are_different_and_equal_ones_are_one(by_person, tmp_path):
    import pyarrow as pa

    codes = np.zeros(len(NASTY), dtype=int)
    texts = encode_identities(pa.array(NASTY), "who")
    assert (
        list(texts) == list(encode_identities(NASTY, "who")) == [b"s" + x.encode() for x in NASTY]
    )
    for folder in (None, tmp_path):
        with Admission(asked(by_person=by_person), folder) as admission:
            admission.admit(texts, codes)
            admission.compare()
            admission.admit(
                encode_identities(pa.array([f"y{n}" for n in range(30)]), "who"), np.zeros(30, int)
            )
            again = encode_identities(pa.array([1], pa.uint8()), "who")
            told = outcome(admission, [(again, np.ones(1, dtype=int))])
            assert ("for 1 of them" if by_person else "1 row whose") in told


def test_a_folder_that_takes_no_file_is_a_message(tmp_path):
    rows = [([f"p{n}" for n in range(60)], np.zeros(60, dtype=int))]
    with (
        Admission(asked(by_person=False), tmp_path / "gone") as spooled,
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


def test_files_with_a_late_repeat_are_refused_whole(tmp_path):
    import pandas as pd

    found = md.design(md.Prior.uniform(["a", "b"]), md.utility.Hamming(), md.LDP(1))
    who = [f"p{n}" for n in range(300)]
    source, target, key = tmp_path / "s.parquet", tmp_path / "t.parquet", md.release_key()
    options = {"row": "who", "key": key, "ledger": tmp_path / "ledger"}

    def written(names):
        pd.DataFrame({"who": names, "answer": ["a", "b"] * 150}).to_parquet(source)

    written([*who[:-1], who[4]])
    refused(
        lambda: md.privatize_file(source, target, "answer", found, **options),
        "different identity in each row",
        error=DataError,
    )
    assert not target.exists()
    written(who)
    assert md.privatize_file(source, target, "answer", found, **options).rows == 300
