"""Bins: which label a number gets, in every type that tables hold, and which edges are chosen."""

from __future__ import annotations

import datetime as dt
import json
import math
import pickle
import warnings
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from checks import for_each
from hypothesis import given
from hypothesis import strategies as st

import mechdesign as md
from mechdesign.errors import (
    DataError,
    EdgesWarning,
    InputError,
    OpenBinWarning,
)

INF = math.inf
SHARES = md.bins(edges=[0, 0.1, 0.7, 1])

# The same number in every type that a column has.
ON_AN_EDGE = {
    "float": [0.7],
    "float64": np.array([0.7]),
    "float32": np.array([0.7], np.float32),
    "float16": np.array([0.7], np.float16),
    "scalar": [np.float32(0.7)],
    "decimal": [Decimal("0.7")],
    "rational": [Fraction(7, 10)],
    "object": np.array([0.7], object),
    "pandas": pd.Series([0.7]),
    "pandas Float32": pd.Series([0.7], dtype="Float32"),
    "polars": pl.Series([0.7], dtype=pl.Float32),
    "polars decimal": pl.Series([Decimal("0.7")]),
    "arrow": pa.array([0.7], pa.float32()),
    "arrow decimal": pa.chunked_array([pa.array([Decimal("0.7")])]),
}


@for_each("name", ON_AN_EDGE)
@for_each("edge", [0.7, np.float32(0.7), Decimal("0.7"), Fraction(7, 10)])
def test_a_value_on_an_edge_lies_on_its_closed_side(name, edge):
    values = ON_AN_EDGE[name]
    left = md.bins(edges=[0, 0.1, edge, 1])
    right = md.bins(edges=[0, 0.1, edge, 1], closed="right")
    assert left.codes(values).tolist() == [2]
    assert right.codes(values).tolist() == [1]


@for_each("kind", ["int8", "uint8", "int16", "int64", "uint64", "float32", "object"])
def test_the_outermost_edges_belong_to_bins(kind):
    cells = [" 0.10 ", "7e-1", "1", "+0", "a", "", "1e", "inf", "0x1"]
    assert SHARES.codes(cells, texts=True).tolist() == [1, 2, 2, 0] + [-2] * 5
    values = np.array([0, 1, 9, 10, 11], kind)
    for closed, expected in (("left", [0, 1, 1, 1, -2]), ("right", [0, 0, 1, 1, -2])):
        assert md.bins(edges=[0, 1, 10], closed=closed).codes(values).tolist() == expected


def test_integers_beyond_floats_are_compared_exactly():
    edge = 2**53 + 1
    split = md.bins(edges=[-INF, edge, INF])
    for kind in ("int64", "uint64", "object"):
        values = np.array([edge - 1, edge, edge + 1], kind)
        assert split.codes(values).tolist() == [0, 1, 1]
    assert split.codes([str(edge - 1), str(edge)], texts=True).tolist() == [0, 1]
    far = md.bins(edges=[-INF, -(10**30), 10**30, INF])
    assert far.codes(np.array([-128, 127], "int8")).tolist() == [1, 1]
    assert far.codes([-(10**31), 10**30]).tolist() == [0, 2]


def test_what_is_no_number_lies_nowhere():
    values = [None, math.nan, np.nan, pd.NA, pd.NaT, Decimal("NaN")]
    assert SHARES.codes(values).tolist() == [-1] * 6
    others = [INF, -INF, True, "0.7", b"1", [0.7], Decimal("Infinity"), pd.Timestamp(0), 1j, 1.5]
    assert SHARES.codes(others).tolist() == [-2] * len(others)
    everywhere = md.bins(edges=[-INF, INF])
    assert everywhere.codes(np.array([-INF, INF, np.nan, 1e308])).tolist() == [-2, -2, -1, 0]
    days = np.array(["2020-01-01", "NaT"], "datetime64[D]")
    assert everywhere.codes(days).tolist() == [-2, -1]
    assert everywhere.codes(np.array([True, False])).tolist() == [-2, -2]


def test_fractions_are_no_whole_numbers():
    ages = md.bins(edges=[0, 20, 100], whole=True)
    values = [19.5, Fraction(39, 2), Decimal("19.5"), np.float32(19.5), 19.0, Decimal(19)]
    assert ages.codes(values).tolist() == [-2] * 4 + [0, 0]
    assert ages.codes(np.array([19.5, 19.0])).tolist() == [-2, 0]


def test_labels_say_which_numbers():
    assert md.bins(edges=[0, 10, 20]).labels == ("[0, 10)", "[10, 20]")
    assert md.bins(edges=[0, 10, 20], closed="right").labels == ("[0, 10]", "(10, 20]")
    ends = [-INF, -0.5, Fraction(1, 3), INF]
    assert md.bins(edges=ends).labels == ("below -0.5", "[-0.5, 1/3)", "1/3 or more")
    assert md.bins(edges=ends, closed="right").labels[::2] == ("-0.5 or less", "more than 1/3")
    whole = [-INF, 0, 1, 20, 60, INF]
    assert md.bins(edges=whole, whole=True).labels == (
        "-1 or less",
        "exactly 0",
        "1 to 19",
        "20 to 59",
        "60 or more",
    )
    assert md.bins(edges=[0, 19.5, 40], whole=True).labels == ("0 to 19", "20 to 40")
    assert md.bins(edges=[0, 1, 2], labels=["low", "high"]).labels == ("low", "high")
    assert md.bins(edges=[-INF, INF]).labels == ("any number",)


@given(
    st.lists(st.integers(-6, 6), min_size=2, max_size=5, unique=True).map(sorted),
    st.sampled_from(["left", "right"]),
    st.booleans(),
    st.booleans(),
)
def test_a_label_and_its_ends_are_true_of_its_numbers(edges, closed, low_open, high_open):
    """A naive reading of the intervals, number by number, for halves from -8 to 8."""
    edges = [*([-INF] if low_open else []), *edges, *([INF] if high_open else [])]
    made = md.bins(edges=edges, closed=closed)
    last = len(edges) - 2
    for value in [n / 2 for n in range(-16, 17)]:
        inside = [
            i
            for i, (low, high) in enumerate(pairwise(edges))
            if low < value < high
            or (value == low and (closed == "left" or i == 0))
            or (value == high and (closed == "right" or i == last))
        ]
        code = int(made.codes([value])[0])
        assert [code] == (inside or [-2])
        assert int(made.codes(np.array([value]))[0]) == code
        if value == int(value):
            assert int(made.codes(np.array([int(value)]))[0]) == code
            whole = md.bins(edges=edges, closed=closed, whole=True) if len(edges) > 1 else made
            assert int(whole.codes([int(value)])[0]) == code
            if code >= 0:
                assert whole.lower[code] <= value <= whole.upper[code]


def test_ends_middles_and_widths():
    made = md.bins(edges=[-INF, 0, 10, 30, INF])
    assert made.lower.tolist() == [-INF, 0, 10, 30]
    assert made.upper.tolist() == [0, 10, 30, INF]
    assert made.widths.tolist() == [INF, 10, 20, INF]
    with pytest.warns(OpenBinWarning, match="an end, 'below 0', '30 or more', stand"):
        assert made.midpoints.tolist() == [-5, 5, 20, 40]
    assert made.is_open
    ages = md.bins(edges=[0, 20, 30], whole=True)
    assert ages.midpoints.tolist() == [9.5, 25]
    assert ages.widths.tolist() == [20, 11]
    assert not ages.is_open
    with pytest.warns(OpenBinWarning):
        assert md.bins(edges=[-INF, 3, INF]).midpoints.tolist() == [2.5, 3.5]


@for_each(
    "edges",
    [
        [0, 10, 10],
        [0, 20, 10],
        [0],
        [0, INF, INF],
        [0, math.nan, 1],
        [INF, 0],
        [0, "10", 20],
        [0, True, 20],
        [0, None],
        [0, Decimal("NaN")],
        "0,10",
        7,
        [dt.date(2020, 1, 1), 5],
        [np.datetime64("NaT"), np.datetime64("2021-01-01")],
        [0.1, Decimal("0.1"), 1],
    ],
)
def test_edges_that_are_no_increasing_numbers_are_refused(edges):
    with pytest.raises(InputError, match=r"expected .*; ") as told:
        md.bins(edges=edges)
    assert "\n" not in str(told.value)


# Dates

DAYS = [
    dt.date(2019, 12, 31),
    dt.date(2020, 2, 29),
    dt.date(2021, 1, 1),
    None,
    dt.date(1969, 7, 20),
]
BERLIN = pd.Series(pd.to_datetime(DAYS)).dt.tz_localize("Europe/Berlin")
COLUMNS_OF_DATES = {
    "list": DAYS,
    "times": [day and dt.datetime(day.year, day.month, day.day, 23, 59, 59) for day in DAYS],
    "text": [day and str(day) for day in DAYS],
    "dotted text": pa.array([day and f"{day.day}.{day.month}.{day.year}" for day in DAYS]),
    "text with a zone": [day and f"{day} 00:30+02:00" for day in DAYS],
    "days of NumPy": np.array(DAYS, "datetime64[D]"),
    "hours of NumPy": np.array(DAYS, "datetime64[h]"),
    "pandas": pd.Series(pd.to_datetime(DAYS)),
    "pandas with a zone": BERLIN,
    "Arrow with a zone": pa.Array.from_pandas(BERLIN),
    "list with a zone": BERLIN.tolist(),
    "polars": pl.Series(DAYS),
    "polars times": pl.Series(pd.to_datetime(DAYS)),
    "Arrow of 64 bits": pa.array(DAYS, pa.date64()),
    "Arrow dictionary": pa.array(DAYS).dictionary_encode(),
    "chunks": pa.chunked_array([pa.array(DAYS[:2]), pa.array(DAYS[2:])]),
}


def test_a_date_lies_in_the_same_bin_in_every_type_that_tables_have():
    """Also where a zone, or the time of day, would have it on another day elsewhere."""
    made = [
        md.bins(edges=[-INF, *(dt.date(year, 1, 1) for year in (1970, 2020, 2021)), INF]),
        *(md.bins(of=part) for part in ("month", "quarter", "weekday")),
        md.bins(of="year", ends=(1969, 2021)),
    ]
    expected = [
        [1, 2, 3, -1, 0],
        [11, 1, 0, -1, 6],
        [3, 0, 0, -1, 2],
        [1, 5, 4, -1, 6],
        [50, 51, 52, -1, 0],
    ]
    for bins, codes in zip(made, expected, strict=True):
        for name, column in COLUMNS_OF_DATES.items():
            assert bins.codes(column).tolist() == codes, (bins, name)
        others = [5, 5.5, "5", "2020", "x", True, "2020-02-30", dt.time(5), "31.2.2020", ""]
        assert bins.codes(others).tolist() == [-2] * len(others)
        assert bins.codes(others, texts=True).tolist() == [-2] * len(others)
        assert bins.codes([pd.NaT, None, np.datetime64("NaT"), math.nan]).tolist() == [-1] * 4
    assert md.bins(edges=[0, 1]).codes(COLUMNS_OF_DATES["pandas"]).tolist() == [-2, -2, -2, -1, -2]


@given(
    st.lists(st.datetimes(), min_size=2, max_size=5, unique=True).map(sorted),
    st.lists(st.datetimes(), min_size=1, max_size=9),
    st.sampled_from(["left", "right"]),
    st.booleans(),
)
def test_labels_of_dates_are_true_of_them(edges, values, closed, are_days):
    """A naive reading of the intervals, time by time or day by day."""
    if are_days:
        edges = sorted({edge.date() for edge in edges})
        if len(edges) < 2 or any((b - a).days < 2 for a, b in pairwise(edges)):
            return
    made = md.bins(edges=edges, closed=closed)
    values += [dt.datetime(edge.year, edge.month, edge.day) if are_days else edge for edge in edges]
    for value, code in zip(values, made.codes(values).tolist(), strict=True):
        x = value.date() if are_days else value
        if not edges[0] <= x <= edges[-1]:
            expected = -2
        elif closed == "left":
            expected = min(sum(edge <= x for edge in edges), len(edges) - 1) - 1
        else:
            expected = max(sum(edge < x for edge in edges), 1) - 1
        assert code == expected
        if are_days and code >= 0:
            first, last = made.shown(made.lower[code]), made.shown(made.upper[code])
            assert first <= x <= last
            assert made.labels[code] == (f"{first} to {last}" if first < last else str(first))
    assert made.codes(pa.array(values, pa.timestamp("us"))).tolist() == made.codes(values).tolist()
    again = made.codes([str(value) for value in values])
    assert again.tolist() == made.codes(values).tolist()


def test_bins_of_dates_are_chosen_from_dates():
    sample = pd.Series(pd.date_range("2020-01-01", periods=366, freq="D"))
    assert md.bins(sample, quantiles=2, origin="a separate sample").labels == (
        "2020-07-01 or earlier",
        "2020-07-02 or later",
    )
    ends = (dt.date(2020, 1, 1), dt.date(2020, 12, 31))
    assert md.bins(k=4, ends=ends).labels[1] == "2020-04-01 to 2020-07-01"
    with pytest.warns(EdgesWarning, match="year,1950"):
        assert md.bins(["31.12.2019", "2021-01-01"], of="year").labels == ("2019", "2020", "2021")
    assert md.bins(of="month", edges=[1, 4, 7, 10, 12]).labels[1] == "April to June"
    assert md.bins(edges=[dt.datetime(2020, 1, 1, 12), INF]).labels == (
        "2020-01-01 12:00:00 or later",
    )
    assert md.bins(edges=[-INF, dt.date(2020, 1, 1), INF]).reach == "dates"
    days = np.array(["2020-01-01", "2021-01-01"], "datetime64[D]")
    assert md.bins(edges=days) == md.bins(edges=iter(days.tolist()))
    for asked in ({"of": "decade"}, {"of": "year"}, {"of": "numbers", "edges": DAYS[:2]}):
        with pytest.raises(InputError, match="expected"):
            md.bins(**asked)


@for_each(
    ("options", "words"),
    [
        ({}, "one of edges="),
        ({"edges": [0, 1], "k": 3}, "edges and k"),
        ({"quantiles": 3}, "a sample"),
        ({"k": 3}, "a sample"),
        ({"k": 3, "ends": (0, INF)}, "a sample"),
        ({"k": 1, "ends": (0, 1)}, "from 2 to"),
        ({"k": 2.0, "ends": (0, 1)}, "from 2 to"),
        ({"k": 3, "ends": (1, 0)}, "before the largest"),
        ({"k": 3, "ends": (1, 2, 3)}, "two numbers"),
        ({"edges": [0, 1], "ends": (0, 1)}, "with its ends"),
        ({"edges": [0, 1], "whole": "yes"}, "True or False"),
        ({"k": 30, "ends": (0, 10), "whole": True}, "at most 10"),
        ({"edges": [0, 0.2, 0.8, 3], "whole": True}, "a whole number in every bin"),
        ({"edges": [0, 1], "closed": "both"}, "'left'|left"),
        ({"edges": [0, 1], "origin": "nowhere"}, "public"),
        *(
            ({"edges": sorted([0, 1, edge])}, r"1\.8e308")
            for edge in (10**400, -(10**400), Fraction(10**400, 3))
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        md.bins(**options)


def test_edges_from_the_secrets_are_warned_of():
    sample = list(range(100))
    halves = ({"k": 4, "ends": (0, math.inf)}, {"k": 4, "ends": (-math.inf, 200)})
    for options in ({"quantiles": 4}, {"quantiles": 4, "ends": (0, 200)}, {"k": 4}, *halves):
        with pytest.warns(EdgesWarning, match="no notion covers"):
            found = md.bins(sample, **options)
        assert found.origin == "the secrets"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert md.bins(sample, **options, origin="a separate sample").codes(sample).min() == 0
    assert md.bins(sample, edges=[0, 50, 100]).origin == "public"
    assert md.bins(k=4, ends=(0, 1)).origin == "public"
    # Equal widths between ends that were given are the same whatever the numbers are.
    assert md.bins(sample, k=4, ends=(0, 200)).origin == "public"
    assert md.bins([3, 150], k=4, ends=(0, 200)) == md.bins(sample, k=4, ends=(0, 200))


def apart(values, **options):
    return md.bins(values, origin="a separate sample", **options)


def test_quantiles_part_a_sample_into_equal_shares():
    rng = np.random.default_rng(1)
    for values in (rng.lognormal(10, 1, 10_000), rng.integers(0, 500, 10_000)):
        made = apart(values, quantiles=8)
        shares = np.bincount(made.codes(values), minlength=8) / len(values)
        assert len(made) == 8
        assert np.abs(shares - 1 / 8).max() < 0.01
        assert made.is_open


def test_ties_are_parted_nowhere():
    values = [0] * 90 + [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    made = apart(values, quantiles=10)
    assert made.labels == ("0 or less", "1 or more")
    assert apart([5, 5, 5, 6], quantiles=4).labels == ("5 or less", "6 or more")
    assert apart([0.5, 0.5, 0.5, 2.5], quantiles=4, closed="right").codes([0.5, 2.5]).tolist() == [
        0,
        1,
    ]


def test_edges_that_are_chosen_are_short_and_inside_the_ends():
    made = apart(np.linspace(0.123456, 99.87654, 1000), quantiles=4, ends=(0, 100))
    assert made.labels == ("[0, 25)", "[25, 50)", "[50, 75)", "[75, 100]")
    assert apart([1, 2, 3], k=2, ends=(2.5, 10), whole=False).edges[0] == Fraction(5, 2)
    assert md.bins(k=4, ends=(0, 120), whole=True).labels[0] == "0 to 29"


@for_each(
    ("sample", "words"),
    [
        ([], "got none"),
        ([None, math.nan], "got none"),
        ([3, 3, 3], "got one"),
        (["secret", 1, 2], "1 other value of type str"),
        ([INF, 1, 2], "1 other value"),
        ([dt.date(2020, 1, 1), 7], "expected dates"),
        ([True, False], "of type bool"),
    ],
)
def test_samples_that_give_no_edges_are_refused(sample, words):
    with pytest.raises(DataError, match=words) as told:
        apart(sample, quantiles=2)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    "made",
    [
        md.bins(edges=[-INF, 0.1, Fraction(1, 3), 10**25, INF], closed="right"),
        md.bins(edges=[0, 10], whole=True, labels=["all"]),
        md.bins(edges=[-INF, dt.datetime(1969, 3, 1, 12, 0, 0, 5), dt.date(2020, 2, 29)]),
        md.bins(edges=[dt.date.min, dt.date(2020, 2, 29), dt.date.max], closed="right"),
        md.bins(of="year", edges=[-INF, 1990, 2000, INF]),
        *(md.bins(of=part) for part in ("quarter", "month", "weekday")),
    ],
    ids=lambda made: f"{made.of} {made.labels[0]}",
)
def test_they_are_kept_exactly(made):
    again = md.Bins.from_json(json.loads(json.dumps(made.to_json())))
    assert again == made
    assert hash(again) == hash(made)
    assert again.labels == made.labels
    assert pickle.loads(pickle.dumps(made)) == made
