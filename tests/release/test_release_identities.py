"""A report is a function of a secret key and the identity of its row, in every library."""

from __future__ import annotations

import datetime
import decimal
import hashlib
import itertools
import json
import os
import pickle
import stat
import sys
import threading
import uuid

import numpy as np
import pytest
from checks import for_each, refused
from libraries import TABLES, arrow, frame_of
from scipy.stats import chi2

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import DataError, ExposureWarning, InputError, RepeatWarning, StorageError
from mechdesign.release.identities import encode_identities
from mechdesign.release.receipts import kernel_fingerprint, receipts_from_text, receipts_of
from mechdesign.release.words import SeededWords, SystemWords

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
dataframe = pytest.importorskip("dask.dataframe")

LABELS = ["a", "b", "c"]
FOUND = md.design(md.Prior([0.5, 0.3, 0.2], LABELS), md.utility.Hamming(), md.LDP(2))
KEY = md.ReleaseKey(bytes(range(40)))
ROWS = 3000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"id": rng.permutation(ROWS) - 50, "x": rng.choice(LABELS, ROWS), "z": 1.5})


@pytest.fixture(scope="module")
def expected(table):
    made = md.privatize(table, "x", FOUND, row="id", key=KEY)
    return dict(zip(made["id"].tolist(), made["x"].tolist(), strict=True))


WAYS = {name: TABLES[name] for name in ("pandas", "polars", "polars lazy", "arrow", "arrow reader")}
WAYS |= {
    "batches": lambda f: arrow(f).to_batches(max_chunksize=1001),
    "duckdb": TABLES["duckdb"],
    "dask": TABLES["dask"],
}
ONCE = [name for name in WAYS if name not in ("arrow reader", "batches")]


def read(made):
    """Reports of what comes back as pairs of identity and report."""
    frame = frame_of(made)
    return zip(frame["id"], frame["x"], strict=True)


def check_reports(found, expected):
    """Every identity that is there has its one report."""
    rows = 0
    for identity, report in found:
        assert expected[int(identity)] == report
        rows += 1
    assert rows


@for_each("kind", ["int64", "int16", "Int32", "object"])
@for_each("name", WAYS)
def test_the_same_key_gives_the_same_reports_in_every_library(name, kind, table, expected):
    make = WAYS[name]
    if (name, kind) == ("dask", "object"):
        kind = "int32"  # Dask itself makes text of columns of objects.
    for frame in (table, table.sort_values("id"), table.iloc[:100]):
        typed = make(frame.astype({"id": kind}))
        found = list(read(md.privatize(typed, "x", FOUND, row="id", key=KEY)))
        check_reports(found, expected)
        assert len(found) == len(frame)


def test_lazy_tables_stay_lazy_only_with_identities(table):
    lazy = pl.from_pandas(table).lazy()
    assert "PYTHON" in md.privatize(lazy, "x", FOUND, row="id").explain().upper()
    assert md.privatize(lazy, "x", FOUND).explain().startswith("DF [")
    generator = np.random.default_rng(1)
    drawn = md.privatize(lazy, "x", FOUND, rng=generator).collect()
    same = md.privatize(table, "x", FOUND, rng=np.random.default_rng(1))
    assert drawn["x"].to_list() == same["x"].tolist()


TEXTS = {
    "string_view": lambda part: pa.array(part, pa.string_view()),
    "large_string": lambda part: pa.array(part, pa.large_string()),
    "dictionary": lambda part: pa.array(part[::-1]).dictionary_encode()[::-1],
}


@for_each("make", TEXTS.values())
def test_columns_of_every_text_type_of_arrow_keep_it(table, expected, make):
    """Arrow selects no rows of views."""
    values = table["x"].tolist()
    chunks = pa.chunked_array([make(values[:1000]), make(values[1000:])])
    frame = pa.table({"id": table["id"].tolist(), "x": chunks})
    reports = md.privatize(frame, "x", FOUND, row="id", key=KEY)
    assert reports.schema.field("x").type == frame.schema.field("x").type
    check_reports(read(reports), expected)


@for_each("index", [[0] * ROWS, [float("nan")] * ROWS, list(range(ROWS))[::-1]])
def test_rows_of_pandas_frames_keep_an_index_with_repeats(table, expected, index):
    frame = table.set_axis(index)
    made = md.privatize(frame, "x", FOUND, row="id", key=KEY)
    assert made.index.equals(frame.index)
    check_reports(read(made), expected)


def changing(table, change):
    """A lazy frame that ``change`` makes another one of, each time that it is evaluated."""
    turns = itertools.count()

    def turn(frame):
        return change(frame, next(turns))

    kept = dict.fromkeys(("predicate_pushdown", "projection_pushdown", "slice_pushdown"), False)
    return pl.from_pandas(table).lazy().map_batches(turn, **kept)


@for_each("engine", ["in-memory", "streaming"])
def test_a_lazy_plan_that_numbers_rows_anew_is_found_out(table, engine):
    """A person would get the reports of several numbers, one more each time."""
    unstable = changing(table, lambda f, turn: f[turn:].vstack(f[:turn])).with_row_index("number")
    made = md.privatize(unstable, "x", FOUND, row="number", key=KEY)
    refused(lambda: made.collect(engine=engine), "rows that the table had", error=DataError)
    # A control: numbers that stay.
    stable = changing(table, lambda f, turn: f).with_row_index("number")
    made = md.privatize(stable, "x", FOUND, row="number", key=KEY)
    assert made.collect(engine=engine).equals(made.collect(engine=engine))


@for_each("engine", ["in-memory", "streaming"])
def test_errors_inside_a_lazy_plan_keep_their_message(table, engine):
    """polars makes an exception anew from its message alone."""
    lost = changing(
        table, lambda f, turn: f.with_columns(x=pl.lit(None, pl.String) if turn else pl.col("x"))
    )
    made = md.privatize(lost, "x", FOUND, row="id", key=KEY)
    refused(lambda: made.collect(engine=engine), "'x'", "no missing values", error=DataError)


def test_lazy_frames_keep_names_that_look_like_patterns():
    """Names that polars reads as several columns elsewhere."""
    frame = pl.DataFrame({"^a.*$": LABELS, "ab": LABELS, "*": [1, 2, 3], "secret": [4, 5, 6]})
    made = md.privatize(frame.lazy(), "^a.*$", FOUND, row="*", key=KEY).collect()
    for name in ("ab", "*", "secret"):
        assert made.get_column(name).equals(frame.get_column(name))
    plain = pd.DataFrame({"id": [1, 2, 3], "^a.*$": LABELS})
    same = md.privatize(plain, "^a.*$", FOUND, row="id", key=KEY)
    assert made.get_column("^a.*$").to_list() == same["^a.*$"].tolist()


# What a report depends on


def test_the_words_are_those_of_the_documented_hash(table):
    """The format is a promise: the same key gives the same reports with later versions."""
    kernel = bytes.fromhex(kernel_fingerprint(FOUND.mechanism))
    root = hashlib.blake2b(bytes(range(40)), digest_size=64, person=b"mechdesign-root").digest()
    context = (1).to_bytes(8, "little") + b"x" + kernel
    words = []
    for identity, x in zip(table["id"][:500], table["x"][:500], strict=True):
        found = hashlib.blake2b(key=root, digest_size=8, person=b"mechdesign-words")
        found.update(len(context).to_bytes(8, "little") + context)
        found.update(LABELS.index(x).to_bytes(8, "little") + bytes(8) + b"s%d" % identity)
        words.append(int.from_bytes(found.digest(), "little"))

    from listed_words import Listed

    drawn = md.Sampler(FOUND, Listed(words)).draw(table["x"][:500].tolist())
    made = md.privatize(table[:500], "x", FOUND, row="id", key=KEY)
    assert made["x"].tolist() == drawn
    assert KEY.fingerprint == "0bdaec46dc80516c5515aa3c0317f059"


SOME = pd.DataFrame(
    {
        "id": [7 * i - 50 for i in range(600)],
        "text": [f"person {7 * i - 50}" for i in range(600)],
        "day": [datetime.date(2024, 1, 1) + datetime.timedelta(i) for i in range(600)],
        "x": [LABELS[i * i % 7 % 3] for i in range(600)],
    }
)
SOME["who"] = SOME["x"] + "-" + (SOME["id"] % 5).astype(str)
EIGHTHS = md.Mechanism.from_weights([[4, 2, 2], [1, 6, 1], [3, 3, 2]], 3, LABELS, LABELS)
THIRDS = md.Mechanism.from_weights(
    np.array([[1, 1, 1], [2, 1, 0], [0, 1, 2]]), 2, LABELS, LABELS, check=False
)
RECORDED = [
    (EIGHTHS, {"row": "id", "key": KEY}, "505d317fea876488"),
    (EIGHTHS, {"row": "text", "key": KEY}, "384716fb0284dc79"),
    (EIGHTHS, {"row": "day", "key": KEY}, "ce9cec8dd4efd606"),
    (EIGHTHS, {"person": "who", "key": KEY}, "74a70d2938924bc1"),
    (EIGHTHS, {"row": "id", "rng": 5}, "602b88e375eb5a18"),
    (EIGHTHS, {"rng": 5}, "e6364f8180e42d01"),
    (THIRDS, {"row": "id", "key": KEY}, "85cd5fd59033698e"),
    (THIRDS, {"row": "text", "key": KEY}, "829060fbe55adaff"),
    (THIRDS, {"person": "who", "key": KEY}, "9e94f903bad7de3e"),
    (THIRDS, {"row": "id", "rng": 5}, "5bc510b66db635ec"),
    (THIRDS, {"rng": 5}, "74f7d94120e4a57f"),
]


@for_each(("mechanism", "options", "digest"), RECORDED)
def test_reports_are_those_that_are_recorded(mechanism, options, digest, tmp_path):
    """Those of files too: there, identities are text, so that days are others."""
    SOME.to_csv(tmp_path / "a.csv", index=False)
    made = [md.privatize(SOME, "x", mechanism, **options)["x"]]
    if options.get("row") != "day":
        md.privatize_file(tmp_path / "a.csv", tmp_path / "r.csv", "x", mechanism, **options)
        made.append(pd.read_csv(tmp_path / "r.csv")["x"])
    for reports in made:
        assert hashlib.sha256("".join(reports).encode()).hexdigest()[:16] == digest


def test_reports_change_with_key_column_kernel_and_identity():
    flip = md.Mechanism([[0.5, 0.5], [0.25, 0.75]], ["a", "b"])
    almost = md.Mechanism.from_weights([[2, 2], [3, 1]], 2, ["a", "b"])
    frame = pd.DataFrame({"id": range(200), "x": "a", "y": "a"})

    def drawn(frame=frame, column="x", mechanism=flip, key=KEY):
        return md.privatize(frame, column, mechanism, row="id", key=key)[column].tolist()

    base = drawn()
    assert base == drawn(key=bytes(range(40)))
    for other in (
        drawn(key=bytes(range(41))),
        drawn(column="y"),
        drawn(mechanism=almost),
        drawn(frame=frame.assign(id=frame["id"] + 200)),
        # The same row with another symbol: its word is independent of the first.
        drawn(frame=frame.assign(x="b")),
        md.privatize(frame, "x", flip, row="id")["x"].tolist(),
    ):
        same = np.mean([a == b for a, b in zip(base, other, strict=True)])
        assert 0.3 < same < 0.7


SAMPLE = uuid.UUID("12345678-9abc-def0-1234-56789abcdef0")
DAY = datetime.date(2024, 2, 29)
MOMENT = datetime.datetime(2024, 2, 29, 12, 30, 1, 5)
SAME = {
    "integers, and text": [
        [7],
        pa.array([7], pa.int8()),
        pa.array([7], pa.uint64()),
        pa.chunked_array([pa.array([7])]),
        pa.array([7]).dictionary_encode(),
        pa.array([decimal.Decimal(7)]),
        [np.uint8(7)],
        [decimal.Decimal("7.00")],
        pl.Series([7], dtype=pl.Int32).to_arrow(),
        ["7"],
        pa.array(["7"]),
        pa.array(["7"], pa.large_string()),
        pa.array(["7"], pa.string_view()),
        pa.chunked_array([pa.array(["7"]).dictionary_encode()] * 1),
        [np.str_("7")],
    ],
    "uuids": [[SAMPLE], [str(SAMPLE)], pa.array([str(SAMPLE)]), pa.array([SAMPLE])],
    "bytes": [[b"7"], pa.array([b"7"]), pa.array([b"7"], pa.binary(1)), [bytearray(b"7")]],
    "dates": [[DAY], pa.array([DAY]), pa.array([DAY], pa.date64())],
    "times": [
        [MOMENT],
        [pd.Timestamp(MOMENT)],
        [np.datetime64(MOMENT)],
        pa.array([MOMENT], pa.timestamp("us")),
        pa.array([MOMENT], pa.timestamp("ns")),
    ],
    "instants": [
        [MOMENT.replace(tzinfo=datetime.UTC)],
        [
            MOMENT.replace(tzinfo=datetime.UTC).astimezone(
                datetime.timezone(datetime.timedelta(0, 60))
            )
        ],
        pa.array([MOMENT], pa.timestamp("us", tz="Europe/Stockholm")),
    ],
}


def test_identities_are_the_same_in_every_library_and_differ_otherwise():
    found = {}
    for name, ways in SAME.items():
        encoded = {encode_identities(values, "id")[0] for values in ways}
        assert len(encoded) == 1, name
        found[name] = encoded.pop()
    assert len(set(found.values())) == len(SAME)


@for_each(
    "values",
    [
        [1.0],
        [float("nan")],
        [None],
        [True],
        [(1, 2)],
        [decimal.Decimal("1.5")],
        [datetime.timedelta(1)],
        [np.datetime64("NaT")],
        pa.array([1.0]),
        pa.array([1.0]).dictionary_encode(),
        pa.array([1, None]),
        pa.array(["a", None]).dictionary_encode(),
        pa.array([[1]]),
        pa.array([True]),
    ],
)
def test_what_is_no_identity_is_refused(values):
    refused(lambda: encode_identities(values, "id"), "'id'", "identit", error=DataError)


@for_each("name", ONCE)
@for_each("row", [None, "id"])
def test_tables_without_rows_are_refused_at_once(name, row, table):
    empty = WAYS[name](table.iloc[:0])
    refused(lambda: md.privatize(empty, "x", FOUND, row=row), "at least one row", error=DataError)


# Repeated identities


@for_each("name", WAYS)
def test_repeated_identities_are_refused_over_the_whole_table(name, table):
    make = WAYS[name]
    twice = pd.concat([table, table.iloc[[0]].assign(x="c")], ignore_index=True)
    table_of = make(twice)
    if name == "arrow reader":
        # A stream notices when it comes to it.
        made = md.privatize(table_of, "x", FOUND, row="id")
        refused(lambda: list(read(made)), "1 row whose identity came before", error=DataError)
        return
    found = refused(lambda: list(md.privatize(table_of, "x", FOUND, row="id")), error=DataError)
    assert "identity" in str(found)
    assert str(table["id"][0]) not in str(found).replace("one", "")


@for_each("name", WAYS)
def test_a_person_has_one_report(name, table, expected):
    make = WAYS[name]
    thrice = pd.concat([table, table, table.iloc[:10]], ignore_index=True)
    found = list(read(md.privatize(make(thrice), "x", FOUND, person="id", key=KEY)))
    assert len(found) == len(thrice)
    check_reports(found, expected)
    other = thrice.assign(x=["c" if i == len(thrice) - 1 else x for i, x in enumerate(thrice["x"])])
    other.loc[0, "x"] = "a"
    other.loc[ROWS, "x"] = "b"

    def all_of_it():
        return list(read(md.privatize(make(other), "x", FOUND, person="id", key=KEY)))

    refused(all_of_it, "one value of the secret for each person", "row=", error=DataError)


def test_rows_and_persons_together(table):
    """Each row has its own report; what the rows of one person add up to is warned of."""
    frame = table.assign(who=table["id"] // 2)
    with pytest.warns(RepeatWarning, match="one person has 2 rows"):
        made = md.privatize(frame, "x", FOUND, row="id", person="who", key=KEY)
    alone = md.privatize(frame, "x", FOUND, row="id", key=KEY)
    assert made["x"].tolist() == alone["x"].tolist()
    assert receipts_of(made)["x"].row == "id"
    # Without a key a person's rows are drawn independently, and warned of.
    with pytest.warns(RepeatWarning, match="one person has 2 rows"):
        md.privatize(frame, "x", FOUND, person="who")


def test_null_reports_of_a_person_are_no_second_value():
    frame = pd.DataFrame({"who": [1, 1, 2], "x": ["a", None, "b"]})
    made = md.privatize(frame, "x", FOUND, person="who", key=KEY, missing="keep")
    assert made["x"].isna().tolist() == [False, True, False]


def test_what_does_not_go_together(table):
    for options, message in [
        ({"key": KEY}, "a key alone"),
        ({"key": KEY, "row": "id", "rng": 1}, "both"),
        ({"row": "x"}, "another column"),
        ({"person": "x"}, "another column"),
        ({"row": "id", "key": b"short"}, "5 bytes"),
        ({"row": "id", "key": "k" * 40}, "got str"),
        ({"row": "id", "rng": SystemWords()}, "SystemWords"),
    ]:
        refused(lambda w=options: md.privatize(table, "x", FOUND, **w), message)
    refused(
        lambda: md.privatize(table, "x", FOUND, row="idd"), "did you mean 'id'", error=InputError
    )


def test_a_seed_with_identities_is_for_research(table):
    one = md.privatize(table, "x", FOUND, row="id", rng=5)
    assert not receipts_of(one)["x"].for_production
    lazy = md.privatize(pl.from_pandas(table).lazy(), "x", FOUND, row="id", rng=5)
    assert lazy.collect()["x"].to_list() == one["x"].tolist()
    generators = [np.random.default_rng(3) for _ in range(2)]
    same = [md.privatize(table, "x", FOUND, row="id", rng=g)["x"].tolist() for g in generators]
    assert same[0] == same[1] != one["x"].tolist()


# Draws


def test_undecided_words_of_an_identity_are_settled_with_the_right_chances(monkeypatch):
    """Kernels over other denominators need more than one word for some rows."""
    from mechdesign.release import drawing
    from mechdesign.release.sampler import AliasTable

    monkeypatch.setattr(drawing, "draw_table", lambda mechanism: AliasTable(mechanism, bits=4))
    thirds = md.Mechanism.from_weights(np.array([[1, 1, 1]]), 2, ["a"], check=False)
    frame = pd.DataFrame({"id": range(30_000), "x": "a"})
    made = md.privatize(frame, "x", thirds, row="id", key=KEY)["x"]
    counts = np.bincount(made, minlength=3)
    assert chi2.sf(((counts - 10_000) ** 2 / 10_000).sum(), 2) > 1e-4
    again = md.privatize(frame[::-1], "x", thirds, row="id", key=KEY)["x"]
    assert (again[::-1] == made).all()


# Keys


def test_keys_are_not_shown_and_travel_to_workers():
    assert "0001" not in repr(KEY)
    assert KEY.fingerprint[:12] in repr(KEY)
    assert pickle.loads(pickle.dumps(KEY)) == KEY
    assert {KEY, md.ReleaseKey(bytes(range(40)))} == {KEY}
    assert md.release_key() != md.release_key()
    assert KEY != "key"


def test_key_files(tmp_path):
    path = tmp_path / "release.key"
    key = md.release_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert md.release_key(str(path)) == key
    assert os.listdir(tmp_path) == ["release.key"]
    path.chmod(0o644)
    with pytest.warns(ExposureWarning, match="mode 0644"):
        md.release_key(path)
    for text in ("", "secret", "mechdesign-key-1 00", "\xff"):
        path.write_text(text)
        path.chmod(0o600)
        with pytest.raises(StorageError, match=r"release\.key: expected a key"):
            md.release_key(path)
        assert path.read_text() == text
    for bad in (tmp_path, tmp_path / "none" / "k", 5, "a\0b"):
        with pytest.raises(StorageError, match="key file") as caught:
            md.release_key(bad)
        assert "\n" not in str(caught.value)


def test_the_path_of_a_key_file_stands_for_its_key(tmp_path, table, expected):
    for options in ({}, {"row": "id", "rng": 1}):
        refused(lambda w=options: md.privatize(table, "x", FOUND, key=tmp_path / "k", **w))
        assert os.listdir(tmp_path) == []  # no key is made for a release that is refused
    made = md.privatize(table, "x", FOUND, row="id", key=tmp_path / "k")
    same = md.privatize(table, "x", FOUND, row="id", key=md.release_key(tmp_path / "k"))
    assert made["x"].tolist() == same["x"].tolist()
    assert made["x"].tolist() != [expected[i] for i in made["id"]]


def test_threads_that_make_a_key_file_at_once_get_one_key(tmp_path):
    found, start = [], threading.Barrier(8)

    def make():
        start.wait()
        found.append(md.release_key(tmp_path / "k"))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert os.listdir(tmp_path) == ["k"]


def test_a_key_is_found_where_links_are_not_possible(tmp_path, monkeypatch):
    def refuse(*names):
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    key = md.release_key(tmp_path / "k")
    assert md.release_key(tmp_path / "k") == key
    assert os.listdir(tmp_path) == ["k"]
    assert stat.S_IMODE((tmp_path / "k").stat().st_mode) == 0o600


# Receipts and files


def test_receipts_name_the_identities_and_never_the_key(table):
    for make in (lambda f: f, arrow):
        made = md.privatize(make(table), "x", FOUND, row="id", key=KEY)
        receipt = receipts_of(made)["x"]
        assert (receipt.row, receipt.person, receipt.key) == ("id", None, KEY.fingerprint)
        assert receipt.for_production
        text = json.dumps(receipt.to_json())
        assert bytes(range(40)).hex() not in text
        assert receipts_from_text(json.dumps({"x": receipt.to_json()}))["x"] == receipt
        plain = receipts_of(md.privatize(make(table), "x", FOUND))["x"]
        # What is written without a key has the fields that it always had.
        assert not {"row", "person", "key"} & set(plain.to_json())
        assert receipts_from_text(json.dumps({"x": plain.to_json()}))["x"] == plain
    person = receipts_of(md.privatize(table, "x", FOUND, person="id", key=KEY))["x"]
    assert (person.row, person.person) == (None, "id")
    fresh = [receipts_of(md.privatize(table, "x", FOUND, row="id"))["x"].key for _ in range(2)]
    assert fresh[0] != fresh[1]


@pytest.fixture
def folder(tmp_path, monkeypatch, table):
    monkeypatch.chdir(tmp_path)
    md.save(FOUND, "d.json")
    table.to_csv("people.csv", index=False)
    table.iloc[::-1].to_parquet("people.parquet")
    return tmp_path


def apply(capsys, *arguments):
    capsys.readouterr()
    code = main(["apply", "d.json", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


def test_files_are_privatised_by_identity(folder, table, expected, capsys):
    arguments = ["--column", "x", "--row", "id", "--key", "release.key"]
    code, out, _ = apply(capsys, "people.csv", *arguments, "-o", "r.csv")
    assert code == 0
    key = md.release_key("release.key")
    assert f"key: fingerprint {key.fingerprint[:12]}…" in out
    assert stat.S_IMODE(os.stat("release.key").st_mode) == 0o600
    assert apply(capsys, "people.csv", *arguments, "-o", "again.csv")[0] == 0
    assert (folder / "r.csv").read_bytes() == (folder / "again.csv").read_bytes()
    # Cells of a CSV file are text.
    as_text = md.privatize(table.astype({"id": str}), "x", FOUND, row="id", key=key)
    assert pd.read_csv("r.csv")["x"].tolist() == as_text["x"].tolist()
    code, out, _ = apply(capsys, "people.parquet", *arguments, "-o", "r.parquet", "--json")
    assert json.loads(out)["row"] == "id"
    assert json.loads(out)["key"] == key.fingerprint
    made = pd.read_parquet("r.parquet").iloc[::-1]
    assert made["x"].tolist() == md.privatize(table, "x", FOUND, row="id", key=key)["x"].tolist()
    secret = (folder / "release.key").read_text().split()[1]
    for name in os.listdir(folder):
        if name != "release.key":
            assert secret.encode() not in (folder / name).read_bytes()
            assert bytes.fromhex(secret) not in (folder / name).read_bytes()


def test_a_key_that_is_new_or_gone_is_told(folder, table, capsys):
    """A name misspelt made another key, and a second report of everybody, without a word."""
    arguments = ["people.csv", "--column", "x", "--row", "id"]
    told = {}
    for name, key in {
        "made": ["--key", "release.key"],
        "kept": ["--key", "release.key"],
        "misspelt": ["--key", "relaese.key"],
        "gone": [],
        "seeded": ["--seed", "1"],
    }.items():
        code, _, told[name] = apply(capsys, *arguments, *key, "-o", f"{name}.csv")
        assert code == 0
    for name, message in told.items():
        is_new = name in ("made", "misspelt")
        assert ("a new key was made" in message) == is_new
        assert ("without --key" in message) == (name == "gone")
    assert "relaese.key" in told["misspelt"]


def test_files_with_repeated_or_missing_identities_are_refused_before_anything_is_written(
    folder, table, capsys
):
    for change, message in (
        (lambda f: pd.concat([f, f.iloc[:3]]), "3 rows whose identity came before"),
        (lambda f: f.assign(id=f["id"].astype("Int64").where(f["id"] > 0)), "missing values"),
    ):
        change(table).to_csv("bad.csv", index=False)
        code, _, err = apply(capsys, "bad.csv", "--column", "x", "--row", "id", "-o", "o.csv")
        assert code == 2
        assert message in err
        assert not os.path.exists("o.csv")
    for arguments, message in [
        (["--key", "k"], "a key alone"),
        (["--key", "o.csv", "--row", "id"], "another file"),
        (["--key", "l", "--ledger", "l", "--row", "id"], "another file"),
        (["--key", os.environ["MECHDESIGN_LEDGER"], "--row", "id"], "another file"),
        (["--key", os.environ["MECHDESIGN_LEDGER"] + ".key", "--row", "id"], "another file"),
        (["--row", "ID"], "did you mean 'id'"),
        (["--row", "id", "--key", "d.json"], "expected a key"),
        (["--row", "id", "--key", "k", "--seed", "1"], "both"),
    ]:
        code, _, err = apply(capsys, "people.csv", "--column", "x", "-o", "o.csv", *arguments)
        assert code == 2, arguments
        assert message in err
        assert not os.path.exists("o.csv")
        assert not os.path.exists("k")


# Words that threads share


@pytest.mark.parametrize("make", [SystemWords, lambda: md.Sampler(FOUND, 1).words])
def test_threads_never_share_words(make):
    arguments, found = make(), []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def draw():
        for _ in range(100):
            found.append(arguments.claim(50))

    threads = [threading.Thread(target=draw) for _ in range(8)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert sorted(start for start, _ in found) == list(range(0, 40_000, 50))
    assert len(np.unique(np.concatenate([part for _, part in found]))) == 40_000
    ordered = np.concatenate([part for _, part in sorted(found, key=lambda one: one[0])])
    if isinstance(arguments, SeededWords):
        np.testing.assert_array_equal(ordered, SeededWords(1).take(40_000))
