"""Long columns, drawn part by part beside their hash: the same reports, nulls and fingerprints."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from checks import for_each, slow_but
from false_alarms import are_usual

import mechdesign as md
from mechdesign.release.receipts import Fingerprinter, known_reports, plain_text, receipts_of
from mechdesign.release.words import words_from

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

# More rows than are drawn at once, and not a multiple of that.
ROWS = 600_001
LABELS = ["a", "b", "c"]
FOUND = md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(1.5))


def column(nulls):
    codes = np.random.default_rng(3).integers(0, 4 if nulls else 3, ROWS)
    return pa.array(codes, mask=codes == 3).cast(pa.int8()), codes


def table(kind, nulls=True):
    indices, codes = column(nulls)
    texts = pa.DictionaryArray.from_arrays(indices, pa.array(LABELS))
    if kind == "text":
        return pa.table({"x": texts.cast(pa.string())}), codes
    if kind == "chunks":
        # Dictionaries in another order, and one with a value that no row has.
        other = pa.array(["z", "c", "b", "a"])
        turned = pa.DictionaryArray.from_arrays(pa.compute.subtract(3, indices).cast("int8"), other)
        chunks = [texts.slice(0, 300_000), turned.slice(300_000)]
        return pa.table({"x": pa.chunked_array(chunks)}), codes
    return pa.table({"x": texts}), codes


def naive(values):
    """The fingerprint of reports as it is defined: a hash of eight bytes for each row."""
    each = {
        value: hashlib.blake2b(plain_text(value).encode(), digest_size=16).digest()[:8]
        for value in set(values)
    }
    joined = hashlib.sha256(hashlib.blake2b().digest())
    for value in values:
        digest = each[value]
        joined.update(digest)
    joined.update(b"%d" % len(values))
    return joined.hexdigest()[:32]


@pytest.mark.parametrize("kind", slow_but(1, ["text", "dictionary", "chunks"]))
def test_a_long_column_has_the_reports_of_its_parts(kind):
    secrets, codes = table(kind)
    made = md.privatize(secrets, "x", FOUND, missing="keep", rng=5)
    reports = made["x"].to_pylist()
    drawn = md.Sampler(FOUND, words_from(5, "x")).draw_codes(np.where(codes == 3, 0, codes))
    expected = [None if c == 3 else LABELS[y] for c, y in zip(codes, drawn, strict=True)]
    assert reports == expected
    assert receipts_of(made)["x"].reports == naive(reports)
    renamed = made.rename_columns(["y"]).replace_schema_metadata(made.schema.metadata)
    assert known_reports(renamed, "y") is not None


def test_one_report_changed_in_a_later_part_changes_the_fingerprint():
    """A control: no part of a long column is left out of its hash, or taken out of order."""
    codes = np.zeros(ROWS, dtype=np.int8)
    found = []
    for at in (None, 0, 300_000, ROWS - 1):
        changed = codes.copy()
        if at is not None:
            changed[at] = 1
        finger = Fingerprinter()
        finger.add_codes(["a", "b"], changed)
        found.append(finger.result())
    assert len({one.sequence for one in found}) == 4
    assert len({one.values for one in found}) == 2


@for_each("frame", slow_but(2, ["polars cat", "pandas", "categorical", "polars", "enum"]))
def test_frames_of_all_kinds_keep_their_type_and_nulls(frame):
    secrets, codes = table("dictionary")
    coded = pl.from_arrow(secrets)
    made = {
        "pandas": lambda: secrets.to_pandas().astype({"x": "str"}),
        "categorical": secrets.to_pandas,
        "polars": lambda: coded.with_columns(pl.col("x").cast(pl.String)),
        "enum": lambda: coded.with_columns(pl.col("x").cast(pl.Enum(LABELS))),
        "polars cat": lambda: coded,
    }[frame]()
    reports = md.privatize(made, "x", FOUND, missing="keep", rng=5)
    assert type(reports["x"].dtype) is type(made["x"].dtype)
    same = md.privatize(secrets, "x", FOUND, missing="keep", rng=5)["x"].to_pylist()
    assert [v if isinstance(v, str) else None for v in reports["x"].to_list()] == same
    assert sum(v is None for v in same) == int((codes == 3).sum())


@for_each("size", [1, 127, 128, 129, 300])
def test_null_reports_stay_apart_from_the_last_output(size):
    labels = [f"v{i}" for i in range(size)]
    exact = md.Mechanism(np.eye(size), labels, labels)
    values = [labels[-1], None, labels[0], labels[-1]]
    made = md.privatize(pa.table({"x": pa.array(values)}), "x", exact, missing="keep")
    assert made["x"].to_pylist() == values
    assert receipts_of(made)["x"].reports == naive(values)


def test_reports_of_the_system_follow_the_kernel():
    """Leading bits only, most of the time: the shares are the kernel's all the same."""
    secrets, codes = table("dictionary", nulls=False)
    made = md.privatize(secrets, "x", FOUND)["x"].combine_chunks().cast(pa.string())
    reports = np.array([LABELS.index(v) for v in made.to_pylist()])
    counts = [np.bincount(reports[codes == x], minlength=3) for x in range(3)]
    assert are_usual(counts, FOUND.mechanism.kernel)
    assert not are_usual(counts, np.roll(FOUND.mechanism.kernel, 1, axis=1))


def test_rows_are_marked_as_tuples_are():
    """Parts of rows are made texts once; the fingerprint is that of the tuples."""
    labels = [["a", "O'Hara", "NA", " 1 "], [1, 2.0, True, None, "x"], [("u", 1), "missing"]]
    rng = np.random.default_rng(0)
    drawn = [rng.integers(-1, len(own), 200) for own in labels]
    drawn = [np.append(part, -1) for part in drawn]
    tuples = [
        tuple(own[i] if i >= 0 else None for own, i in zip(labels, row, strict=True))
        for row in zip(*drawn, strict=True)
    ]
    places = rng.integers(0, len(tuples), 5000)
    one, other = Fingerprinter(b"key"), Fingerprinter(b"key")
    one.add_codes(tuples, places)
    other.add_rows(labels, drawn, places)
    assert one.result() == other.result()
    # The control: another row would be told.
    changed = [drawn[0], drawn[1], np.where(drawn[2] == 0, 1, 0)]
    third = Fingerprinter(b"key")
    third.add_rows(labels, changed, places)
    assert third.result() != one.result()
