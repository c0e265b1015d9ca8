"""Estimates of sample surveys: weights, strata, clusters, groups, finite populations."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from checks import for_each, refused

import mechdesign as md
from mechdesign.errors import DataError, InputError, PrecisionWarning, UnknownNameError
from mechdesign.inference.likelihood import maximise
from mechdesign.inference.observed import covariances
from mechdesign.inference.surveys import Survey, Units, drawn_by
from mechdesign.release._identifiability import ask, report_weights
from mechdesign.release.reports import Sample
from mechdesign.release.table_files import rows_of_file

FLIP = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
THREE = md.Mechanism([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8]], list("abc"), list("abc"))


def reported(mechanism, secrets, rng):
    """Labels of reports for positions of inputs."""
    edges = mechanism.kernel.cumsum(axis=1)
    drawn = (rng.random(len(secrets))[:, None] > edges[secrets]).sum(axis=1)
    return np.array(mechanism.outputs, dtype=object)[np.minimum(drawn, edges.shape[1] - 1)]


def table(n=600, seed=1):
    rng = np.random.default_rng(seed)
    secrets = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    made = pd.DataFrame(
        {
            "r": reported(THREE, secrets, rng),
            "w": rng.uniform(0.5, 3, n).round(3),
            "s": rng.choice(["north", "south", "west"], n),
            "c": rng.integers(0, 25, n),
            "g": rng.choice(["old", "young"], n),
        }
    )
    # Clusters lie in strata.
    return made.assign(c=made["s"] + made["c"].astype(str))


TABLE = table()


# What cannot be used


@pytest.mark.parametrize(
    ("bad", "fragment"),
    [
        (-1.0, "1 negative one"),
        (np.nan, "1 row without one, 1 of them empty"),
        (np.inf, "1 row without one"),
    ],
    ids=["negative", "nan", "infinite"],
)
def test_weights_that_are_none_are_refused(bad, fragment):
    frame = TABLE.assign(w=[bad, *TABLE["w"][1:]])
    refused(lambda: md.estimate(frame, THREE, "r", weights="w"), "'w'", fragment, error=DataError)


def test_weights_of_text_and_of_zeros_only_are_refused():
    frame = TABLE.assign(w="heavy")
    found = refused(lambda: md.estimate(frame, THREE, "r", weights="w"), "600 rows without one")
    assert "heavy" not in str(found)
    refused(lambda: md.estimate(TABLE.assign(w=0.0), THREE, "r", weights="w"), "zeros only")


@for_each("size", [1e-200, 5e-324, 1e200, 1e308])
@for_each("part", ["one", "all"])
def test_weights_whose_squares_are_no_floats_are_refused(size, part):
    """Of such weights a standard error would be zero, or not a number."""
    weights = TABLE["w"].copy()
    weights.iloc[: 1 if part == "one" else None] = size
    frame = TABLE.assign(w=weights)
    refused(lambda: md.estimate(frame, THREE, "r", weights="w"), "between 1e-60 and 1e+60")


@pytest.mark.parametrize("scale", [1e-50, 1e50])
def test_the_unit_of_weights_changes_nothing(scale):
    plain = md.estimate(TABLE, THREE, "r", weights="w")
    scaled = md.estimate(TABLE.assign(w=TABLE["w"] * scale), THREE, "r", weights="w")
    assert np.allclose(scaled.errors, plain.errors, rtol=1e-9)
    assert scaled.effective == pytest.approx(plain.effective)


def test_a_stratum_of_one_is_refused_unless_it_is_all_there_is():
    frame = TABLE.assign(s=["alone", *["rest"] * 599])
    found = refused(lambda: md.estimate(frame, THREE, "r", strata="s"), "one person in 1 of 2")
    assert "alone" not in str(found)
    sizes = {"alone": 1, "rest": 6000}
    told = md.estimate(frame, THREE, "r", strata="s", population=sizes)
    assert told.strata == 2
    frame = frame.assign(c=["x", *["y"] * 300, *["z"] * 299])
    refused(lambda: md.estimate(frame, THREE, "r", strata="s", clusters="c"), "one cluster in 1")
    # About those who reported nobody's choice is left to chance.
    assert md.estimate(frame, THREE, "r", strata="s", target="sample").freedom == np.inf


def test_a_population_smaller_than_the_sample_is_refused():
    refused(lambda: md.estimate(TABLE, THREE, "r", population=599), "599 for 600 sampled")
    sizes = TABLE["s"].value_counts().to_dict()
    md.estimate(TABLE, THREE, "r", strata="s", population=sizes)
    sizes["west"] -= 1
    call = {"strata": "s", "population": sizes}
    refused(lambda: md.estimate(TABLE, THREE, "r", **call), "in every stratum")


@for_each(
    ("options", "fragment"),
    [
        ({"population": 1000.5}, "whole number"),
        ({"population": {"north": 5}}, "whole number"),
        ({"population": 1000, "strata": "s"}, "for each stratum"),
        ({"population": {"north": 5000}, "strata": "s"}, "none for 2 of 3"),
        (
            {"population": dict.fromkeys(["north", "south", "west", "east"], 999), "strata": "s"},
            "nobody of 'east'",
        ),
        ({"weights": 3}, "name of a column"),
        ({"weighting": "horvitz-thompson"}, "population="),
        ({"weighting": "horvitz-thompson", "population": 10**6, "weights": "w"}, "add up to"),
        ({"weights": "w", "method": "likelihood"}, "'inversion'"),
        ({"weights": "w", "intervals": "bootstrap"}, "'binomial'"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, fragment):
    refused(lambda: md.estimate(TABLE, THREE, "r", **options), fragment)


def test_unknown_columns_and_bare_columns_are_refused():
    with pytest.raises(UnknownNameError, match="'W'"):
        md.estimate(TABLE, THREE, "r", weights="W")
    with pytest.raises(UnknownNameError, match="weighting"):
        md.estimate(TABLE, THREE, "r", weighting="none")
    refused(lambda: md.estimate(TABLE["r"], THREE, weights="w"), "a table", error=InputError)
    refused(lambda: md.estimate({"a": 20}, THREE, "r", weights="w"), "counts", error=InputError)
    subsets = md.subset_selection(4, md.LDP(1.0))
    refused(lambda: md.estimate(TABLE, subsets, "r", weights="w"), "subset selection")


def test_reports_are_no_groups_of_themselves():
    for name in ("weights", "by_group", "strata"):
        found = refused(lambda n=name: md.estimate(TABLE, THREE, "r", **{n: "r"}), "'r'")
        assert "noise" in found.remedy


def test_one_column_may_be_strata_and_groups():
    both = md.estimate(TABLE, THREE, "r", strata="s", by_group="s")
    # Strata are independent of each other.
    assert not both.covariance[:3, 3:].any()


def test_reports_of_no_output_are_counted_and_not_quoted():
    frame = TABLE.assign(r=["secret", *TABLE["r"][1:]])
    found = refused(lambda: md.estimate(frame, THREE, "r", weights="w"), "1 other value")
    assert "secret" not in str(found)


def test_a_group_without_reports_is_left_out_with_a_warning():
    frame = TABLE.assign(g=["few"] * 9 + ["many"] * 591)
    with pytest.warns(PrecisionWarning, match="nothing is estimated for 'few'"):
        found = md.estimate(frame, THREE, "r", by_group="g")
    assert found.groups == ("many",)
    with pytest.raises(UnknownNameError):
        found["few"]
    frame = TABLE.assign(g=[None] * 3 + ["many"] * 597)
    refused(lambda: md.estimate(frame, THREE, "r", by_group="g"), "3 rows without one")
    frame = TABLE.assign(r=[None] * 20 + list(TABLE["r"][20:]), g=["silent"] * 20 + ["b"] * 580)
    refused(lambda: md.estimate(frame, THREE, "r", by_group="g"), "no missing reports")
    assert md.estimate(frame, THREE, "r", by_group="g", missing="drop").groups == ("b",)


def test_all_groups_too_small():
    frame = TABLE.assign(g=np.arange(600) // 9)
    refused(lambda: md.estimate(frame, THREE, "r", by_group="g"), "none of 67")


# What is right


def test_equal_weights_change_nothing_but_the_degrees_of_freedom():
    plain = md.estimate(TABLE, THREE, "r")
    found = md.estimate(TABLE.assign(w=2.5), THREE, "r", weights="w")
    np.testing.assert_allclose(found.values, plain.values, atol=1e-12)
    # The plain one takes the variance at the distribution of largest likelihood.
    np.testing.assert_allclose(found.errors, plain.errors, rtol=0.01)
    assert found.effective == pytest.approx(600)
    assert found.freedom == 599


@pytest.mark.parametrize("clusters", [False, True])
def test_degrees_of_freedom_are_those_of_the_weights(clusters):
    """Satterthwaite's: (Σ v_h)² / Σ v_h²/d_h, with v_h the squares of what units of a stratum weigh
    and d_h = units less one; six people who stand for half of all leave six or so.
    """
    few = pd.DataFrame(
        {
            "r": list("abc") * 10,
            "w": [0.5 / 24] * 24 + [0.5 / 6] * 6,
            "s": [0] * 24 + [1] * 6,
            "c": np.arange(30) // 2,
        }
    )
    options = {"weights": "w", "strata": "s"} | ({"clusters": "c"} if clusters else {})
    unit = "c" if clusters else few.index
    heavy = few.groupby(["s", unit])["w"].sum() ** 2
    squares, units = (getattr(heavy.groupby(level=0), of)() for of in ("sum", "size"))
    expected = squares.sum() ** 2 / (squares**2 / (units - 1)).sum()
    found = md.estimate(few, THREE, "r", misfit="warn", **options)
    assert found.freedom == pytest.approx(expected)
    assert found.freedom < units.sum() / 3
    # A stratum of which everybody was asked varies no more, and groups are as free as alone.
    if not clusters:
        sizes = {0: 24, 1: 60}
        part = md.estimate(few, THREE, "r", misfit="warn", population=sizes, **options)
        assert part.freedom == pytest.approx(5)
    halves = few.assign(g=few["c"] < 6)
    both = md.estimate(halves, THREE, "r", misfit="warn", by_group="g", weights="w")
    assert both[True].freedom == pytest.approx(11)


def test_frequencies_as_weights_are_as_if_rows_were_repeated():
    """The values; not the errors, as a person of weight three is no three people."""
    whole = TABLE.assign(w=np.arange(600) % 3 + 1)
    long = whole.loc[whole.index.repeat(whole["w"])]
    found = md.estimate(whole, THREE, "r", weights="w")
    np.testing.assert_allclose(found.values, md.estimate(long, THREE, "r").values, atol=1e-12)
    assert (found.errors > md.estimate(long, THREE, "r").errors).all()


def test_zero_weights_leave_a_group():
    old = TABLE["g"] == "old"
    groups = md.estimate(TABLE, THREE, "r", weights="w", strata="s", clusters="c", by_group="g")
    alone = TABLE.assign(w=TABLE["w"].where(old, 0.0))
    found = md.estimate(alone, THREE, "r", weights="w", strata="s", clusters="c")
    np.testing.assert_allclose(found.values, groups["old"].values, atol=1e-12)
    np.testing.assert_allclose(found.covariance, groups["old"].covariance, atol=1e-14)


def test_tied_rows_are_the_same_as_single_ones():
    """Rows are counted where they are equal; variances know how many they are."""
    rng = np.random.default_rng(0)
    ties = TABLE.assign(w=2.0, s="all")
    apart = ties.assign(w=2.0 + 1e-12 * rng.random(600))
    for options in ({}, {"clusters": "c"}, {"population": 1000}):
        found = [md.estimate(t, THREE, "r", weights="w", **options) for t in (ties, apart)]
        np.testing.assert_allclose(found[0].covariance, found[1].covariance, rtol=1e-8)


def double_sum(frame, sizes):
    """Variance of a Hájek ratio by pairs of people, and of their noise one by one.

    With chances π_i and π_ij of a stratified sample without replacement, by Horvitz and Thompson:
    Σ_ij (1 − π_i π_j/π_ij) w_i w_j e_i e_jᵀ for the reports, whose own noise then counts
    (1 − π_i) w_i² times, and is completed to w_i² by what the kernel is known to add.
    """
    inverse = np.linalg.inv(THREE.kernel)
    z = inverse[[list("abc").index(r) for r in frame["r"]]]
    strata = frame["s"].to_numpy()
    n = {s: int((strata == s).sum()) for s in sizes}
    pi = np.array([n[s] / sizes[s] for s in strata])
    w = 1 / pi
    mean = (w[:, None] * z).sum(axis=0) / w.sum()
    e = (z - mean) / w.sum()
    found = np.zeros((3, 3))
    for i in range(len(z)):
        for j in range(len(z)):
            both = pi[i] * pi[j]
            if i == j:
                both = pi[i]
            elif strata[i] == strata[j]:
                both = pi[i] * (n[strata[i]] - 1) / (sizes[strata[i]] - 1)
            found += (1 - pi[i] * pi[j] / both) * w[i] * w[j] * np.outer(e[i], e[j])
    # What the mechanism adds, at the likeliest shares of secrets.
    f = np.bincount([list("abc").index(r) for r in frame["r"]], w) / w.sum()
    likely = maximise(THREE.kernel, f[None])[0][0]
    noise = covariances(THREE.kernel, inverse, np.eye(3), likely)[0]
    found += (pi * w**2).sum() * noise / w.sum() ** 2
    return mean, found


def test_variances_are_those_of_a_double_sum_over_pairs_of_people():
    frame = TABLE.head(60)
    sizes = {s: 2 * n + 7 for s, n in frame["s"].value_counts().to_dict().items()}
    found = md.estimate(frame, THREE, "r", strata="s", population=sizes)
    mean, expected = double_sum(frame, sizes)
    np.testing.assert_allclose(found.values, mean, atol=1e-12)
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-9, atol=1e-14)


def test_variances_of_clusters_are_those_of_a_jackknife():
    frame = table(4000, 3).assign(c=lambda t: t.index // 20, s=lambda t: t["c"] % 2)
    options = {"weights": "w", "strata": "s", "clusters": "c", "by_group": "g"}
    found = md.estimate(frame, THREE, "r", **options)
    inverse = np.linalg.inv(THREE.kernel)
    z = inverse[[list("abc").index(r) for r in frame["r"]]] * frame["w"].to_numpy()[:, None]

    def value(kept):
        parts = []
        for group in ("old", "young"):
            rows = kept & (frame["g"] == group).to_numpy()
            parts.append(z[rows].sum(axis=0) / frame["w"][rows].sum())
        return np.concatenate(parts)

    whole, expected = value(np.ones(len(z), bool)), np.zeros((6, 6))
    for stratum in (0, 1):
        clusters = frame["c"][frame["s"] == stratum].unique()
        again = np.array([value((frame["c"] != c).to_numpy()) for c in clusters])
        moved = again - whole
        expected += (len(clusters) - 1) / len(clusters) * moved.T @ moved
    np.testing.assert_allclose(np.concatenate([e.values for e in found.estimates]), whole)
    np.testing.assert_allclose(found.covariance, expected, rtol=0.05, atol=4e-6)
    contrast = np.hstack([np.eye(3), -np.eye(3)])
    one = found.difference("old", "young")
    np.testing.assert_allclose(one.covariance, contrast @ found.covariance @ contrast.T)
    np.testing.assert_allclose(one.values, whole[:3] - whole[3:])
    assert [d.groups for d in found.differences()] == [("young", "old")]


@pytest.mark.parametrize("asked", [2, 3, 5])
def test_totals_and_their_variance_are_unbiased_over_all_samples_and_all_reports(asked):
    """By enumeration: a population of five, all samples without replacement, all reports."""
    secrets = np.array([0, 0, 1, 1, 1])
    question, reference = ask(FLIP), np.full(2, 0.5)
    scores = report_weights(FLIP, question, reference)
    truth = np.array([0.4, 0.6])
    noise = covariances(FLIP.kernel, scores, np.eye(2), truth)[0] / asked
    survey = Survey(population=5, weighting="horvitz-thompson")
    chances, values, variances = [], [], []
    samples = list(itertools.combinations(range(5), asked))
    for people in samples:
        for ys in itertools.product(range(2), repeat=asked):
            chance = np.prod([FLIP.kernel[secrets[i], y] for i, y in zip(people, ys, strict=True)])
            sample = Sample({"y": np.array(ys)}, np.ones(asked, dtype=np.int64))
            drawn = drawn_by(survey, sample)
            groups = np.zeros(asked, dtype=np.int64)
            units = Units(sample, drawn, groups, scores, population=5)
            (part,) = units.parts
            chances.append(chance / len(samples))
            values.append(part.weights.sum() * units.frequencies[0] @ scores)
            variances.append(units.between(0, 0)[0] + asked / 5 * noise)
            assert part.sampling("population").fraction == pytest.approx(asked / 5)
    chances = np.array(chances)
    assert chances.sum() == pytest.approx(1)
    np.testing.assert_allclose(chances @ np.array(values), [0.4, 0.6], atol=1e-12)
    exact = np.cov(np.array(values).T, aweights=chances, bias=True)
    np.testing.assert_allclose(np.tensordot(chances, variances, 1), exact, atol=1e-12)
    # The mechanism's part is the whole where everybody is asked, and never vanishes.
    assert noise[0, 0] > 0.1
    assert (asked == 5) == np.allclose(noise, exact, atol=1e-12)


def test_the_correction_for_a_finite_population_leaves_the_noise_of_the_mechanism():
    plain = md.estimate(TABLE, THREE, "r", population=10**9)
    half = md.estimate(TABLE, THREE, "r", population=1200)
    census = md.estimate(TABLE, THREE, "r", population=600)
    np.testing.assert_allclose(census.errors, census.noise)
    np.testing.assert_allclose(
        census.covariance,
        md.estimate(TABLE, THREE, "r", target="sample", population=600).covariance,
    )
    np.testing.assert_allclose(half.errors**2, (plain.errors**2 + census.errors**2) / 2, rtol=1e-5)
    # A control: the customary correction of everything would leave nothing of a census.
    assert (census.errors > 0.5 * plain.errors).all()


def test_a_mean_whose_square_the_reports_do_not_tell_has_a_variance_that_is_large_enough():
    rank = np.array([[0.6, 0.3, 0.1], [0.4, 0.35, 0.25], [0.2, 0.4, 0.4]])
    mechanism = md.Mechanism(rank, [1, 2, 3])
    assert md.identifiability(mechanism).rank == 2
    rng = np.random.default_rng(2)
    secrets = rng.choice(3, 500, p=[0.2, 0.6, 0.2])
    frame = pd.DataFrame({"r": reported(mechanism, secrets, rng)})
    feature = {1: 1.0, 2: 2.0, 3: 3.0}
    found = md.estimate(frame, mechanism, "r", feature=feature, population=500)
    plain = md.estimate(frame, mechanism, "r", feature=feature, target="sample")
    assert found.errors[0] >= plain.errors[0] * 0.98


# Every table is the same


def test_all_tables_give_the_same(tmp_path):
    options = {"weights": "w", "strata": "s", "clusters": "c", "by_group": "g"}
    expected = md.estimate(TABLE, THREE, "r", **options)
    arrow = pa.Table.from_pandas(TABLE)
    import duckdb

    others = [
        pl.from_pandas(TABLE),
        pl.from_pandas(TABLE).lazy(),
        arrow,
        arrow.to_reader(100),
        duckdb.connect().from_arrow(arrow),
    ]
    for other in others:
        found = md.estimate(other, THREE, "r", **options)
        assert found.groups == ("old", "young")
        np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-9)
        assert [row["estimate"] for row in found.rows()] == pytest.approx(
            [row["estimate"] for row in expected.rows()]
        )


def test_means_of_numbers_in_bins():
    rng = np.random.default_rng(9)
    frame = pd.DataFrame({"age": rng.integers(0, 80, 3000), "w": rng.uniform(0.5, 2, 3000)})
    prior = md.Prior.from_data(frame["age"], bins=md.bins(edges=[0, 20, 40, 60, 80]))
    design = md.design(prior, md.utility.Estimation(), md.LDP(3))
    reports = md.privatize(frame, "age", design, rng=1)
    found = md.estimate(reports, design, "age", weights="w").mean()
    truth = np.average(frame["age"], weights=frame["w"])
    assert found.lower < truth < found.upper
    assert found.error > 0


def test_what_is_shown():
    found = md.estimate(TABLE, THREE, "r", weights="w", strata="s", clusters="c", by_group="g")
    assert "3 strata, 75 clusters" in repr(found["old"])
    assert "'g' old" in repr(found)
    assert "old minus young" in repr(found.difference("old", "young"))
    assert "<table>" in found._repr_html_()
    assert "<table>" in found.difference("old", "young")._repr_html_()
    assert len(found) == 2
    assert found.reports == 600


# Missing answers as a category


@pytest.fixture
def answers():
    rng = np.random.default_rng(5)
    return pd.Series(rng.choice(["a", "b", None], 3000, p=[0.5, 0.2, 0.3]), name="v")


def test_missing_answers_are_a_category_of_their_own(answers):
    prior = md.Prior.from_data(answers, missing="category")
    assert prior.labels == ("a", "b", None)
    kernel = md.design(prior, md.utility.Hamming(), md.LDP(1.5))
    assert kernel.mechanism.outputs == ("a", "b", None)
    frame = pd.DataFrame({"v": answers})
    for make in (lambda t: t, pl.from_pandas, lambda t: pa.Table.from_pandas(t)):
        reports = md.privatize(make(frame), "v", kernel, rng=3)
        found = md.estimate(reports, kernel, "v", missing="category")
        assert found.labels == ("a", "b", None)
        np.testing.assert_allclose(found.values, [0.5, 0.2, 0.3], atol=0.06)
        grouped = md.estimate(reports, kernel, "v", missing="category", population=3000)
        np.testing.assert_allclose(grouped.values, found.values, atol=1e-9)
    column = md.estimate(reports["v"], kernel, missing="category")
    np.testing.assert_allclose(column.values, found.values)


def test_missing_answers_in_files(answers, tmp_path):
    path = tmp_path / "answers.csv"
    pd.DataFrame({"v": answers, "i": range(len(answers))}).to_csv(path, index=False)
    prior = md.Prior.from_csv(path, "v", missing="category")
    assert prior == md.Prior.from_data(answers, missing="category")
    assert prior == md.Prior.from_data(pl.from_pandas(answers), missing="category")
    kernel = md.design(md.Prior.uniform(prior.labels), md.utility.Hamming(), md.LDP(1.5))
    md.privatize_file(path, tmp_path / "reports.csv", "v", kernel, rng=3)
    found = md.estimate(pd.read_csv(tmp_path / "reports.csv"), kernel, "v", missing="category")
    np.testing.assert_allclose(found.values, [0.5, 0.2, 0.3], atol=0.06)
    rows = rows_of_file(tmp_path / "reports.csv", ["v"])
    np.testing.assert_allclose(md.estimate(rows, kernel, "v").values, found.values)


def test_outputs_are_not_named_none(answers):
    """Readers of CSV files would take the name for no value."""
    prior = md.Prior.from_data(answers, missing="category")
    assert md.randomised_response(prior, 1.5).outputs == ("a", "b", "missing")
    found = md.design(prior, md.utility.Estimation(), md.LDP(0.5))
    assert not any("None" in str(output) for output in found.mechanism.outputs)


def test_missing_answers_without_a_symbol_for_them_are_refused(answers):
    frame = pd.DataFrame({"r": [None, *["no"] * 20]})
    found = refused(lambda: md.estimate(frame, FLIP, "r", missing="category"), "an input None")
    assert "missing='category'" in found.remedy
    refused(lambda: md.Prior.from_data([None] * 3, missing="category"), "at least one value")


# Over many surveys


@pytest.mark.slow
def test_intervals_cover_at_the_stated_rate_and_those_of_unweighted_reports_do_not():
    """A finite population in strata and clusters, a third of whose clusters are asked; the share of
    interest differs between strata that are asked unequally often."""
    rng = np.random.default_rng(17)
    shape = {"north": (30, 0.2, 0.8), "south": (30, 0.6, 0.3)}
    rows = []
    for name, (count, centre, fraction) in shape.items():
        for c in range(count):
            share = np.clip(rng.normal(centre, 0.1), 0.02, 0.98)
            for secret in rng.random(30) < share:
                rows.append((name, f"{name}{c}", int(secret), fraction, rng.random() < share))
    people = pd.DataFrame(rows, columns=["s", "c", "x", "f", "g"])
    truth = people["x"].mean()
    in_groups = people.groupby("g")["x"].mean()
    sizes = {name: count for name, (count, _, _) in shape.items()}
    hits = dict.fromkeys(("design", "unweighted", "corrected noise", "difference"), 0)
    rounds = 300
    for _ in range(rounds):
        kept = []
        for name, (count, _, fraction) in shape.items():
            chosen = rng.choice(count, round(count * fraction), replace=False)
            kept += [f"{name}{c}" for c in chosen]
        asked = people[people["c"].isin(kept)]
        asked = asked.assign(w=1 / asked["f"], r=reported(FLIP, asked["x"].to_numpy(), rng))
        options = {"weights": "w", "strata": "s", "clusters": "c", "population": sizes}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = md.estimate(asked, FLIP, "r", **options)
            plain = md.estimate(asked, FLIP, "r")
            groups = md.estimate(asked, FLIP, "r", by_group="g", **options)
        hits["design"] += found.lower[1] <= truth <= found.upper[1]
        hits["unweighted"] += plain.lower[1] <= truth <= plain.upper[1]
        # The correction on everything, the noise of the mechanism too.
        wide = np.sqrt(
            max(found.errors[1] ** 2 - found.noise[1] ** 2, 0) + 0.2 * found.noise[1] ** 2
        )
        hits["corrected noise"] += abs(found.values[1] - truth) <= 1.96 * wide
        both = groups.difference(True, False)
        hits["difference"] += both.lower[1] <= in_groups[True] - in_groups[False] <= both.upper[1]
    # 0.95 of 300 is 285 ± 3.8.
    assert 272 <= hits["design"] <= 297, hits
    assert 272 <= hits["difference"] <= 297, hits
    assert hits["unweighted"] < 230, hits
    assert hits["corrected noise"] < 262, hits


def test_clusters_of_one_name_in_several_strata_are_warned_of():
    """They count as different ones, as where they are numbered in each stratum."""
    bare = TABLE.assign(c=TABLE["c"].str.extract(r"(\d+)")[0])
    with pytest.warns(PrecisionWarning, match="count as different ones") as caught:
        found = md.estimate(bare, THREE, "r", strata="s", clusters="c")
    assert len(caught) == 1
    np.testing.assert_allclose(
        found.errors, md.estimate(TABLE, THREE, "r", strata="s", clusters="c").errors
    )
    # A control: clusters without strata, or inside of them, are as they are.
    md.estimate(bare, THREE, "r", clusters="c")
