"""Raw numbers privatised by the bins of a design: the same reports in every library and type."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from checks import for_each, pairwise_cases
from engines import needed, spark_session
from libraries import TABLES, frame_of

import mechdesign as md
from mechdesign.errors import CountsWarning, DataError, InputError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402

KEY = md.ReleaseKey(bytes(range(32)))
# Numbers on every edge, some of which no binary float is.
EDGES = [0, 0.1, 0.7, 2, 5.5, 10]
BINS = md.bins(edges=EDGES)
FOUND = md.design(
    md.Prior.uniform(BINS.labels).with_schema({"x": BINS}), md.utility.Hamming(), md.LDP(2)
)
pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning"),
    # Bins without an end are meant here.
    pytest.mark.filterwarnings("ignore::mechdesign.errors.OpenBinWarning"),
]


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    values = np.concatenate([np.tile(EDGES, 50), np.round(rng.uniform(0, 10, 700), 1)])
    return pd.DataFrame({"id": np.arange(len(values)), "x": rng.permutation(values)})


@pytest.fixture(scope="module")
def expected(people):
    """The reports of the labels themselves, by an independent reading of the intervals."""
    places = [min(sum(x >= edge for edge in EDGES) - 1, 4) for x in people["x"].tolist()]
    named = people.assign(x=[BINS.labels[place] for place in places])
    return md.privatize(named, "x", FOUND, row="id", key=KEY)["x"].tolist()


def released(table):
    return md.privatize(table, "x", FOUND, row="id", key=KEY)


# Dask makes text of decimals, and pandas other numbers of floats of 32 bits.
OTHERS = {("decimal", "dask"), ("float32", "pandas objects")}
TYPES = {
    "decimal": lambda column: column.map(lambda x: Decimal(str(x))),
    **{
        kind: lambda column, kind=kind: column.astype(kind)
        for kind in ("float64", "float32", "float16", "Float64", "object")
    },
}


@for_each(
    "kind, library",
    [
        *((kind, "pandas") for kind in TYPES),
        *(c for c in pairwise_cases(["float64", "float32", "decimal"], TABLES) if c not in OTHERS),
    ],
)
def test_numbers_of_every_type_in_every_library(people, expected, kind, library):
    typed = people.assign(x=TYPES[kind](people["x"]))
    assert frame_of(released(TABLES[library](typed)))["x"].tolist() == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_spark(people, expected):
    session = spark_session()
    try:
        for kind in ("double", "float", "decimal(10,3)"):
            table = session.createDataFrame(people).selectExpr("id", f"cast(x as {kind}) as x")
            made = released(table).toPandas().sort_values("id")
            assert made["x"].tolist() == expected
    finally:
        session.stop()


@for_each("kind", ["float64", "float32"])
def test_files(people, expected, kind, tmp_path):
    """Under one key, 32-bit numbers on an edge are the same reports: no second release."""
    people.assign(x=people["x"].astype(kind)).to_parquet(tmp_path / "a.parquet", index=False)
    text = people.astype({"id": str})
    text.to_csv(tmp_path / "a.csv", index=False)
    fitted = md.design(md.Prior.from_data(people, "x", bins=BINS), None, md.LDP(2))
    md.save(fitted, tmp_path / "fitted.json")
    md.save(FOUND, tmp_path / "m.json", public=True)
    assert md.load(tmp_path / "fitted.json").mechanism.schema.bins == (BINS,)
    public, options = md.load(tmp_path / "m.json"), {"row": "id", "key": KEY}
    for source, target in (
        ("a.csv", "b.csv"),
        ("a.parquet", "b.parquet"),
        ("a.parquet", "c.parquet"),
    ):
        md.privatize_file(tmp_path / source, tmp_path / target, "x", public, **options)
    for name in "bc":
        assert parquet.read_table(tmp_path / f"{name}.parquet")["x"].to_pylist() == expected
    # Identities of a text file are text.
    reports = pd.read_csv(tmp_path / "b.csv")["x"]
    assert reports.tolist() == released(text)["x"].tolist()
    assert md.estimate(reports, public).mean().error > 0
    with pytest.warns(CountsWarning):
        md.privatize_file(tmp_path / "a.parquet", tmp_path / "d.parquet", "x", fitted, ledger=False)


# What is no number of a bin

AGES = md.bins(edges=[0, 20, 40, math.inf], whole=True)
BY_AGE = md.design(
    md.Prior.uniform(AGES.labels).with_schema({"age": AGES}), md.utility.Hamming(), md.LDP(20)
)


def ages(values, **options):
    return md.privatize(pd.DataFrame({"age": values}), "age", BY_AGE, rng=1, **options)["age"]


@for_each(
    ("values", "count"),
    [
        ([3, -77731], "1 other value of type int in 1 of the 2 rows read, first in row 2"),
        (
            [77731.5, 3.0, 77731.5],
            "1 other value of type float in 2 of the 3 rows read, first in row 1",
        ),
        ([3.0, math.inf, -math.inf], "2 other values of type float in 2 of the 3 rows read"),
        (["zzsecret", "20 to 39"], "1 other value of type str"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "2 other values"),
        ([True, False], "2 other values of type bool"),
        ([Decimal("3.5"), Decimal(3)], "1 other value of type Decimal"),
    ],
)
def test_values_in_no_bin_are_refused_unseen(values, count):
    with pytest.raises(DataError) as told:
        ages(values)
    message = str(told.value)
    assert count in message
    assert "whole numbers from 0 on" in message
    assert not any(hidden in message for hidden in ("7773", "zzsecret", "\n"))
    with md.show_values(), pytest.raises(DataError, match="-77731"):
        ages([3, -77731])


def test_policies_decide_what_becomes_of_them():
    kept = ages([5.0, math.nan, -1.0, 25.5, math.inf, 45.0], missing="keep", unseen="null")
    assert kept.isna().tolist() == [False, True, True, True, True, False]
    assert kept.iloc[[0, 5]].tolist() == ["0 to 19", "40 or more"]
    # At level 20 a report is the truth, but for a chance of one in 10⁸.
    policy = {"missing": "replace", "unseen": "replace", "replacement": "40 or more"}
    assert ages([5.0, None, -1.0], **policy).tolist() == ["0 to 19", "40 or more", "40 or more"]
    for column in ([5.0, math.nan], pd.array([5, None], dtype="Int64")):
        with pytest.raises(DataError, match="no missing values, got 1 in the 2 rows read"):
            ages(column)
    # Labels stand for themselves.
    assert ages(["20 to 39", 45, 3.0]).tolist() == ["20 to 39", "40 or more", "0 to 19"]


def test_numbers_beyond_floats_are_read_exactly():
    edge = 2**53 + 1
    bins = md.bins(edges=[-math.inf, edge, math.inf], whole=True)
    prior = md.Prior.uniform(bins.labels).with_schema({"n": bins})
    found = md.design(prior, md.utility.Hamming(), md.LDP(20))
    for kind in ("int64", "Int64", "uint64"):
        frame = pd.DataFrame({"n": pd.array([edge - 1, edge], dtype=kind)})
        assert md.privatize(frame, "n", found, rng=1)["n"].tolist() == list(bins.labels)


def test_a_sampler_and_a_transformer_take_numbers():
    drawn = md.Sampler(BY_AGE, rng=1).draw([3, 25.0, np.int64(45), "0 to 19"])
    assert drawn == ["0 to 19", "20 to 39", "40 or more", "0 to 19"]
    with pytest.raises(DataError, match="symbols"):
        md.Sampler(BY_AGE, rng=1).draw([3, -1])
    needed("sklearn")
    from mechdesign.release.transformer import Privatizer

    made = Privatizer(BY_AGE, random_state=1).fit_transform(np.array([[3.0], [45.0]]))
    assert made.ravel().tolist() == ["0 to 19", "40 or more"]


# Priors


def test_priors_of_numbers():
    frame = pd.DataFrame({"age": [3, 25, 45, 90], "sex": ["f", "m", "f", "f"]})
    prior = md.Prior.from_data(frame["age"], bins=AGES)
    assert prior == md.Prior([0.25, 0.25, 0.5], AGES.labels)
    assert prior.schema.bins_of("age") == AGES
    assert md.Prior.from_data(frame, "age", bins=AGES) == prior
    joint = md.Prior.from_data(frame, ["age", "sex"], bins={"age": AGES})
    assert joint.labels == (("0 to 19", "f"), ("20 to 39", "m"), ("40 or more", "f"))
    assert joint.schema.bins == (AGES, None)
    for bins in ([0, 20], {"job": AGES}, AGES):
        with pytest.raises(InputError, match="bins"):
            md.Prior.from_data(frame, ["age", "sex"], bins=bins)
    for column, message in (
        ([3, -77731], "whole numbers from 0 on, got 1 of 2 values outside, of type int"),
        ([3, "77731"], "of type str"),
        ([3, None], "no missing values"),
    ):
        with pytest.raises(DataError, match=message) as told:
            md.Prior.from_data(column, bins=AGES)
        assert "7773" not in str(told.value)


def test_priors_of_numbers_in_files(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age,sex,n\n3,f,2\n25,m,1\n 45 ,f,1\n45.0,f,1\n,f,1\n")
    for weights, counts in ((None, [1, 1, 2]), ("n", [2, 1, 2])):
        prior = md.Prior.from_csv(path, "age", bins=AGES, missing="drop", weights=weights)
        assert prior == md.Prior.from_counts(counts, AGES.labels)
    joint = md.Prior.from_csv(path, ["sex", "age"], bins={"age": AGES}, missing="drop")
    assert joint.labels == (("f", "0 to 19"), ("f", "40 or more"), ("m", "20 to 39"))


# Utilities


def test_bins_have_an_ordered_utility_by_default():
    prior = md.Prior([0.2, 0.3, 0.5], AGES.labels).with_schema({"age": AGES})
    found = md.design(prior, None, md.LDP(1))
    assert repr(found.utility) == "Distance(absolute)"
    middles = AGES.midpoints
    gains = md.utility.Distance("absolute").gains(prior, prior.labels)
    assert np.array_equal(gains, -np.abs(middles[:, None] - middles[None, :]))
    same = md.design(prior, md.utility.Matrix(gains), md.LDP(1))
    assert found.value == pytest.approx(same.value, abs=1e-12)
    squared = md.utility.Distance("squared").gains(prior, [AGES.labels[0], 60.0])
    assert squared[1].tolist() == [-((29.5 - 9.5) ** 2), -((29.5 - 60) ** 2)]
    pairs = [(sex, age) for sex in "fm" for age in AGES.labels]
    joint = md.Prior.uniform(pairs).with_schema({"sex": None, "age": AGES})
    of_age = md.utility.Distance("absolute", of="age").gains(joint, AGES.labels)
    assert np.array_equal(of_age, np.vstack([gains, gains]))


def test_missing_answers_have_a_distance_from_numbers(tmp_path):
    ages = [3.0, 70.0, math.nan, 30.0, 45.0, math.nan]
    prior = md.Prior.from_data(ages, bins=AGES, missing="category")
    assert prior.labels == (*AGES.labels, None)
    numbers = AGES.midpoints
    farthest = numbers.max() - numbers.min()
    found = -md.utility.Distance("absolute").gains(prior, prior.labels)
    assert np.array_equal(found[:-1, :-1], np.abs(numbers[:, None] - numbers[None, :]))
    assert found[-1].tolist() == found[:, -1].tolist() == [farthest] * len(numbers) + [0]
    squared = -md.utility.Distance("squared").gains(prior, prior.labels)
    assert squared[-1].tolist() == [farthest**2] * len(numbers) + [0]
    made = md.design(prior, None, md.LDP(2))
    assert repr(made.utility) == "Distance(absolute)"
    assert made.status == "optimal"
    md.save(made, tmp_path / "m.json")
    assert md.load(tmp_path / "m.json").value == made.value
