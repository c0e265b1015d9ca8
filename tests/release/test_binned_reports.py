"""Raw numbers privatised by the bins of a design: the same reports in every library and type."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal

import numpy as np
import pytest
from checks import for_each, pairwise_cases
from engines import needed, spark_session
from libraries import TABLES, frame_of

import mechdesign as md
from mechdesign.errors import CountsWarning, DataError, EdgesWarning, InputError

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


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_files(people, expected, kind, tmp_path):
    people.assign(x=people["x"].astype(kind)).to_parquet(tmp_path / "a.parquet", index=False)
    text = people.astype({"id": str})
    text.to_csv(tmp_path / "a.csv", index=False)
    md.save(FOUND, tmp_path / "m.json")
    design = md.load(tmp_path / "m.json")
    assert design.mechanism.schema.bins == (BINS,)
    for ending in ("csv", "parquet"):
        source, target = (tmp_path / f"{name}.{ending}" for name in "ab")
        md.privatize_file(source, target, "x", design, row="id", key=KEY, ledger=False)
    assert parquet.read_table(tmp_path / "b.parquet")["x"].to_pylist() == expected
    # Identities of a text file are text.
    assert pd.read_csv(tmp_path / "b.csv")["x"].tolist() == released(text)["x"].tolist()
    told = md.estimate(pd.read_csv(tmp_path / "b.csv")["x"], design)
    assert told.mean().error > 0


def test_the_public_form_knows_its_bins(people, expected, tmp_path):
    md.save(FOUND, tmp_path / "p.json", public=True)
    public = md.load(tmp_path / "p.json")
    made = md.privatize(people, "x", public, row="id", key=KEY)
    assert made["x"].tolist() == expected


def test_a_ledger_knows_the_same_reports_of_numbers(people, tmp_path):
    """Under one key, 32-bit numbers on an edge are the same reports: no second release."""
    people.assign(x=people["x"].astype("float32")).to_parquet(tmp_path / "a.parquet", index=False)
    options = {"row": "id", "key": KEY, "ledger": tmp_path / "ledger"}
    for name in ("b", "c"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            md.privatize_file(tmp_path / "a.parquet", tmp_path / f"{name}.parquet", "x", FOUND,
                              **options)  # fmt: skip
    assert (
        parquet.read_table(tmp_path / "b.parquet")["x"]
        == (parquet.read_table(tmp_path / "c.parquet")["x"])
    )


def test_the_counts_of_a_column_of_numbers_are_known_again(people, tmp_path):
    people.to_parquet(tmp_path / "a.parquet", index=False)
    fitted = md.design(md.Prior.from_data(people, "x", bins=BINS), None, md.LDP(2))
    with pytest.warns(CountsWarning):
        md.privatize_file(tmp_path / "a.parquet", tmp_path / "b.parquet", "x", fitted, ledger=False)


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
        (["77731", 3], "1 other value of type str"),
        (["zzsecret", "20 to 39"], "1 other value of type str"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "2 other values of type Timestamp"),
        ([True, False], "2 other values of type bool"),
        ([Decimal("3.5"), Decimal(3)], "1 other value of type Decimal"),
    ],
)
def test_values_in_no_bin_are_refused_unseen(values, count):
    with pytest.raises(DataError) as told:
        ages(values)
    message = str(told.value)
    assert count in message or ("Timestamp" in count and "2 other values" in message)
    assert "whole numbers from 0 on" in message
    assert "7773" not in message
    assert "zzsecret" not in message
    assert "\n" not in message


def test_they_are_quoted_where_that_is_asked_for():
    with md.show_values(), pytest.raises(DataError, match="-77731"):
        ages([3, -77731])


def test_policies_decide_what_becomes_of_them():
    kept = ages([5.0, math.nan, -1.0, 25.5, math.inf, 45.0], missing="keep", unseen="null")
    assert kept.isna().tolist() == [False, True, True, True, True, False]
    assert kept.iloc[[0, 5]].tolist() == ["0 to 19", "40 or more"]
    # At level 20 a report is the truth, but for a chance of one in 10⁸.
    put = ages(
        [5.0, None, -1.0], missing="replace", unseen="replace", replacement="40 or more"
    ).tolist()
    assert put == ["0 to 19", "40 or more", "40 or more"]
    with pytest.raises(DataError, match="no missing values, got 1 in the 3 rows read"):
        ages([5.0, math.nan, 1.0])
    with pytest.raises(DataError, match="no missing values"):
        ages(pd.array([5, None], dtype="Int64"))


def test_labels_stand_for_themselves_among_numbers():
    assert ages(["20 to 39", 45, 3.0]).tolist() == ["20 to 39", "40 or more", "0 to 19"]


def test_numbers_beyond_floats_are_read_exactly():
    edge = 2**53 + 1
    bins = md.bins(edges=[-math.inf, edge, math.inf], whole=True)
    prior = md.Prior.uniform(bins.labels).with_schema({"n": bins})
    found = md.design(prior, md.utility.Hamming(), md.LDP(20))
    for kind in ("int64", "Int64", "uint64"):
        frame = pd.DataFrame({"n": pd.array([edge - 1, edge], dtype=kind)})
        assert md.privatize(frame, "n", found, rng=1)["n"].tolist() == list(bins.labels)


def test_all_in_one_bin():
    with pytest.warns(md.errors.ZeroMassWarning):
        prior = md.Prior.from_data([3, 4, 5], bins=AGES)
    found = md.design(prior, None, md.LDP(1))
    frame = pd.DataFrame({"age": [3, 25, 45]})
    with pytest.warns(md.errors.UntoldWarning):
        made = md.privatize(frame, "age", found, rng=1)["age"]
    assert made.tolist() == ["0 to 19"] * 3


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
    assert md.Prior.from_data([3, 25, 45, 90], bins=AGES) == prior
    joint = md.Prior.from_data(frame, ["age", "sex"], bins={"age": AGES})
    assert joint.labels == (("0 to 19", "f"), ("20 to 39", "m"), ("40 or more", "f"))
    assert joint.schema.bins == (AGES, None)
    with pytest.warns(md.errors.ZeroMassWarning):
        every = md.Prior.from_data(frame, ["age", "sex"], bins={"age": AGES}, all_combinations=True)
    assert len(every) == 6


def test_priors_of_numbers_in_files(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age,sex,n\n3,f,2\n25,m,1\n 45 ,f,1\n45.0,f,1\n,f,1\n")
    prior = md.Prior.from_csv(path, "age", bins=AGES, missing="drop")
    assert prior == md.Prior.from_counts([1, 1, 2], AGES.labels)
    weighted = md.Prior.from_csv(path, "age", bins=AGES, missing="drop", weights="n")
    assert weighted == md.Prior.from_counts([2, 1, 2], AGES.labels)
    joint = md.Prior.from_csv(path, ["sex", "age"], bins={"age": AGES}, missing="drop")
    assert joint.labels == (("f", "0 to 19"), ("f", "40 or more"), ("m", "20 to 39"))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([3, -77731], "whole numbers from 0 on, got 1 of 2 values outside, of type int"),
        ([3, "77731"], "of type str"),
        ([3, None], "no missing values"),
    ],
    ids=["outside", "text", "missing"],
)
def test_priors_refuse_other_values(column, message):
    with pytest.raises(DataError, match=message) as told:
        md.Prior.from_data(column, bins=AGES)
    assert "7773" not in str(told.value)


def test_priors_refuse_other_bins():
    frame = pd.DataFrame({"age": [3], "pay": [4]})
    for bins in ([0, 20], {"sex": AGES}, AGES):
        with pytest.raises(InputError, match="bins"):
            md.Prior.from_data(frame, ["age", "pay"], bins=bins)


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
    assert repr(md.design(md.Prior([0.5, 0.5]), None, md.LDP(1)).utility) == "Hamming()"
    squared = md.utility.Distance("squared").gains(prior, [AGES.labels[0], 60.0])
    assert squared[1].tolist() == [-((29.5 - 9.5) ** 2), -((29.5 - 60) ** 2)]


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


def test_such_a_design_is_kept(tmp_path):
    prior = md.Prior([0.2, 0.3, 0.5], AGES.labels).with_schema({"age": AGES})
    found = md.design(prior, None, md.PML(0.5))
    md.save(found, tmp_path / "m.json")
    again = md.load(tmp_path / "m.json")
    assert repr(again.utility) == "Distance(absolute)"
    assert again.prior.schema == prior.schema
    assert again.mechanism == found.mechanism


def test_edges_from_the_secrets_say_so_in_the_file(tmp_path):
    values = np.arange(100)
    with pytest.warns(EdgesWarning):
        bins = md.bins(values, quantiles=3)
    md.save(md.design(md.Prior.from_data(values, bins=bins), None, md.LDP(1)), tmp_path / "m.json")
    assert md.load(tmp_path / "m.json").prior.schema.bins[0].origin == "the secrets"


def test_a_million_rows():
    values = np.random.default_rng(1).uniform(0, 60, 1_000_000)
    bins = md.bins(edges=[0, 20, 40, 60])
    prior = md.Prior.from_data(values, bins=bins)
    found = md.design(prior, md.utility.Hamming(), md.LDP(2))
    table = pa.table({"x": values})
    told = md.privatize(table, "x", found, rng=1)["x"]
    shares = {str(v["values"]): v["counts"] / 1e6 for v in told.value_counts().to_pylist()}
    expected = found.mechanism.output_distribution(prior)
    for label, chance in zip(found.mechanism.outputs, expected, strict=True):
        assert abs(shares[label] - chance) < 5 * math.sqrt(chance / 1e6)


def test_a_column_of_bins_among_others_has_a_distance():
    labels = [(sex, age) for sex in "fm" for age in AGES.labels]
    prior = md.Prior.uniform(labels).with_schema({"sex": None, "age": AGES})
    gains = md.utility.Distance("absolute", of="age").gains(prior, AGES.labels)
    middles = AGES.midpoints
    assert np.array_equal(gains[:3], -np.abs(middles[:, None] - middles[None, :]))
    assert np.array_equal(gains[:3], gains[3:])
