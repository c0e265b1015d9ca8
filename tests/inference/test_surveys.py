"""Sample surveys: weights, strata, clusters, groups and finite populations, beside all pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from checks import for_each, refused
from hypothesis import given
from hypothesis import strategies as st
from naive_surveys import (
    answers_of,
    best_scores,
    between,
    difference_ends,
    fractions,
    freedom_of,
    no_less,
    two_variances,
)
from numpy.testing import assert_allclose
from reported import THREE, are_held, kernel_of, quiet, response, table_of

import mechdesign as md
from mechdesign.errors import PrecisionWarning
from mechdesign.inference.likelihood import maximise
from mechdesign.inference.observed import arms_of

HOW = ("weights", "strata", "clusters")


#: Its reports tell a mean, neither every symbol nor the mean of squares.
RANK = kernel_of([[0.6, 0.3, 0.1], [0.4, 0.35, 0.25], [0.2, 0.4, 0.4]])
NUMBERS = {"a": 1.0, "b": 2.0, "c": 3.0}
KERNELS = (THREE, response(0.5), response(2), response(6))


@st.composite
def surveys(draw, names=HOW, kernels=KERNELS):
    """A kernel, a table of its reports, and how it was drawn."""
    kernel = draw(st.sampled_from(kernels))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(24, 60))
    reports = draw(st.sampled_from([kernel.outputs, kernel.outputs, kernel.outputs[:1]]))
    weights = draw(st.sampled_from([rng.choice([0.5, 1.0, 3.0], n), rng.uniform(0.5, 3, n)]))
    place = np.arange(n)
    table = pd.DataFrame({"r": rng.choice(reports, n), "w": weights, "s": place % 2})
    table = table.assign(c=place // 4 * 2 + place % 2, g=place % 5 > 2)
    chosen = draw(st.sets(st.sampled_from(names)))
    return kernel, table, {name: "g" if name == "by_group" else name[0] for name in chosen}


def units_of(table, options):
    """Sampled people, or clusters, of each stratum."""
    people = table if "clusters" in options else table.assign(c=range(len(table)))
    return people.groupby("s" if "strata" in options else table["s"] * 0)["c"].nunique().to_dict()


def with_population(options, sizes):
    return {**options, "population": sizes if "strata" in options else sizes[0]}


@quiet
@given(
    surveys((*HOW, "by_group"), (RANK, THREE, KERNELS[2])),
    st.sampled_from([None, 0, 1, 30]),
    st.sampled_from(["population", "sample"]),
)
def test_surveys_are_what_all_pairs_of_people_say(survey, more, target):
    kernel, table, options = survey
    units, sizes, total = units_of(table, options), {0: np.inf, 1: np.inf}, None
    people = {
        "y": np.searchsorted(kernel.outputs, table["r"]),
        "s": table["s"].to_numpy() * ("strata" in options),
        "c": table["c"].to_numpy() if "clusters" in options else np.arange(len(table)),
        "g": table["g"].to_numpy().astype(int) * ("by_group" in options),
        "w": np.ones(len(table)),
    }
    if more is not None:
        sizes = {stratum: count + more * (1 + stratum) for stratum, count in units.items()}
        people["w"] = 1 / fractions(people, sizes)
        if not {"clusters", "by_group"} & set(options):
            if "weights" in options:  # they add up to about the population
                sums = np.bincount(people["s"], table["w"]).astype(int)
                sizes = {stratum: max(n, int(sums[stratum])) for stratum, n in units.items()}
            options, total = {**options, "weighting": "horvitz-thompson"}, sum(sizes.values())
        options = with_population(options, sizes)
    if not options:
        return
    if "weights" in options:
        people["w"] = table["w"].to_numpy()
    asked, size = np.eye(len(kernel.inputs)), len(kernel.inputs)
    if kernel is RANK:
        asked, options = np.array([[1.0], [2.0], [3.0]]), {**options, "feature": NUMBERS}
    made = md.estimate(table, kernel, "r", target=target, misfit="warn", **options)
    each = made.estimates if "by_group" in options else [made]
    scores = best_scores(kernel.kernel, asked, np.full(size, 1 / size))
    values, added = answers_of(scores, people, total)
    apart = between(added, people, sizes) * np.ones((values.size,) * 2)
    whole, count = apart.copy(), len(asked.T)
    for place, one in enumerate(each):
        here = slice(place * count, (place + 1) * count)
        own = people["w"] * (people["g"] == place)
        share = own / (total or own.sum())
        squares = (share**2).sum()
        heavy = np.bincount(people["y"], share**2 / squares, len(kernel.outputs))
        (of_heavy,), *_ = maximise(kernel.kernel, heavy[None])
        noise = squares * two_variances(kernel.kernel, scores, asked, of_heavy)[0]
        free, whole[here, here] = np.inf, noise
        if target == "population":
            part, free = (
                share**2 @ fractions(people, sizes) / squares,
                freedom_of(share, people, sizes),
            )
            whole[here, here] = no_less(apart[here, here], (1 - part) * noise) + part * noise
        assert_allclose(one.values, values[place], atol=1e-12)
        assert_allclose(one.covariance, whole[here, here], rtol=1e-5, atol=1e-9)
        assert_allclose(one.errors**2, one.covariance.diagonal(), rtol=1e-12)
        assert_allclose(one.noise**2, noise.diagonal(), rtol=1e-6, atol=1e-12)
        assert one.effective == pytest.approx(1 / squares)
        drawn = sum(units.values())
        assert one.freedom == pytest.approx(free)
        assert (one.strata, one.clusters) == (len(units), drawn * ("clusters" in options))
    if len(each) == 2 and target == "population":
        assert_allclose(made.covariance, whole, rtol=1e-5, atol=1e-9)
        found = made.difference(False, True)
        contrast = np.hstack([np.eye(count), -np.eye(count)])
        assert_allclose(found.values, contrast @ values.ravel(), atol=1e-12)
        expected = contrast @ made.covariance @ contrast.T
        raised = -expected.diagonal()
        # However alike people are, what the kernel adds to both is left.
        floor = sum(one.observed.noise for one in made.estimates)
        sizes, ways = np.linalg.eigh(expected - floor)
        expected = floor + (ways * np.maximum(sizes, 0)) @ ways.T
        raised = raised + expected.diagonal()
        assert_allclose(found.covariance, expected, atol=1e-12)
        shared = apart[:count, count:].diagonal() - raised / 2
        cross = shared / (each[0].errors * each[1].errors)
        both = len(np.intersect1d(*(people["c"][people["g"] == g] for g in (0, 1))))
        room = np.ptp(asked, axis=0)
        arms = np.moveaxis(arms_of([one.observed for one in each], 0.05), 1, 0)
        held = each[0].projected - each[1].projected
        ends = difference_ends(*arms[::-1], held, cross * both / (both + 4), room)
        assert_allclose((found.lower, found.upper), ends, atol=1e-9)


@quiet
@given(surveys(), st.sampled_from(["population", "sample"]))
def test_no_error_is_below_the_known_noise_and_no_interval_is_empty(survey, target):
    kernel, table, options = survey
    found = md.estimate(table, kernel, "r", target=target, misfit="warn", **options)
    assert (found.errors >= found.noise * (1 - 1e-9)).all()
    # No combination of answers is known better than the mechanism lets it be.
    assert np.linalg.eigvalsh(found.covariance).min() >= -1e-12
    assert are_held(found)
    assert (found.lower < found.upper).all()


@quiet
@given(surveys(), st.integers(1, 200))
def test_a_larger_population_never_lowers_an_error(survey, more):
    kernel, table, options = survey
    errors = []
    for times in (1, 2, 7):
        sizes = {s: n * more * times for s, n in units_of(table, options).items()}
        call = with_population(options, sizes)
        errors.append(md.estimate(table, kernel, "r", misfit="warn", **call).errors)
    if "weights" in options:
        errors.append(md.estimate(table, kernel, "r", misfit="warn", **options).errors)
    assert all((a <= b * (1 + 1e-9)).all() for a, b in itertools.pairwise(errors))


@quiet
@for_each("options", [{}, {"weights": "w"}])
def test_limits_of_a_group_are_those_of_its_reports_alone(options):
    table, options = table_of(300), {"target": "sample", **options}
    for one in md.estimate(table, THREE, "r", by_group="g", **options).estimates:
        found = md.estimate(table[table["g"] == one.group], THREE, "r", **options)
        assert_allclose((one.lower, one.upper), found.limits(), atol=1e-6)
    # The unit of weights changes nothing.
    scaled = [table.assign(w=table["w"] * scale) for scale in (1e-50, 1, 1e50)]
    errors = [md.estimate(each, THREE, "r", **options).errors for each in scaled]
    assert_allclose(errors, [errors[1]] * 3, rtol=1e-9)


# What cannot be used, and what is said


def first(value, name):
    """The first person has another value."""
    table = table_of(60)
    return {name: [value, *table[name][1:]]}


SIZES = dict.fromkeys([1, 2, 3], 999)
TOTALS = {"weighting": "horvitz-thompson"}


@quiet
@for_each(
    "words, options, columns",
    [
        ("1 negative one", {"weights": "w"}, first(-1.0, "w")),
        ("1 row without one, 1 of them empty", {"weights": "w"}, first(np.nan, "w")),
        ("zeros only", {"weights": "w"}, {"w": 0.0}),
        *(("between 1e-60 and 1e+60", {"weights": "w"}, columns)
          for columns in (first(1e200, "w"), {"w": 5e-324})),
        ("name of a column", {"weights": 3}, {}),
        *(("noise", {name: "r"}, {}) for name in ("weights", "by_group", "strata")),
        ("one person in 1 of 4", {"strata": "s"}, first("alone", "s")),
        ("one cluster in 3 of 3", {"strata": "s", "clusters": "c"}, {"c": "x"}),
        ("59 for 60 sampled", {"population": 59}, {}),
        ("in every stratum", {"strata": "s", "population": {**SIZES, 3: 9}}, {}),
        ("whole number", {"population": {1: 5}}, {}),
        ("for each stratum", {"population": 1000, "strata": "s"}, {}),
        ("none for 2 of 3", {"population": {1: 5000}, "strata": "s"}, {}),
        ("nobody of 4", {"population": {**SIZES, 4: 9}, "strata": "s"}, {}),
        ("population=", TOTALS, {}),
        ("add up to", {**TOTALS, "population": 10**6, "weights": "w"}, {}),
        ("add up to", {**TOTALS, "population": 60, "weights": "w"}, {"w": 3.0}),
        ("'inversion'", {"weights": "w", "method": "likelihood"}, {}),
        ("1 row without one", {"by_group": "g"}, first(None, "g")),
        ("none of 7", {"by_group": "g"}, {"g": np.arange(60) // 9}),
        ("1 other value", {"weights": "w"}, first("secret", "r")),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused(words, options, columns):
    found = refused(lambda: md.estimate(table_of(60, **columns), THREE, "r", **options), words)
    assert not any(word in str(found) for word in ("secret", "alone"))


def test_what_is_no_table_is_refused():
    refused(lambda: md.estimate(table_of()["r"], THREE, weights="w"), "a table")
    refused(lambda: md.estimate({"a": 20}, THREE, "r", weights="w"), "counts")
    refused(lambda: md.estimate(table_of(), THREE, "r", by_group="g")["few"], "'few'")


@quiet
def test_strata_of_one_missing_reports_and_strata_as_groups():
    alone = table_of(60, **first("alone", "s"))
    sizes = {**SIZES, "alone": 1}
    assert md.estimate(alone, THREE, "r", strata="s", population=sizes).strata == 4
    # About those who reported nobody's choice is left to chance.
    assert md.estimate(alone, THREE, "r", strata="s", target="sample").freedom == np.inf
    blank = table_of(60, **first(None, "r"))
    assert md.estimate(blank, THREE, "r", by_group="g", missing="drop").reports == 59
    groups = md.estimate(table_of(60), THREE, "r", strata="s", by_group="s")
    assert not groups.covariance[:3, 3:].any()


def test_warnings_of_groups_and_of_clusters():
    table = table_of(600, g=["few"] * 9 + ["many"] * 591)
    with pytest.warns(PrecisionWarning, match="nothing is estimated for 'few'"):
        assert md.estimate(table, THREE, "r", by_group="g").groups == ("many",)
    # Clusters of one name in several strata count as different ones.
    same = table_of(c=table_of()["c"] % 100)
    with pytest.warns(PrecisionWarning, match="count as different ones"):
        found = md.estimate(same, THREE, "r", strata="s", clusters="c")
    apart = md.estimate(table_of(), THREE, "r", strata="s", clusters="c")
    assert_allclose(found.errors, apart.errors)


def test_what_is_shown():
    options = {"weights": "w", "strata": "s", "clusters": "c", "by_group": "g"}
    found = md.estimate(table_of(), THREE, "r", **options)
    for text in ("3 strata, 75 clusters", "of equal weight", "'g' old"):
        assert text in repr(found)
    assert "<table>" in found._repr_html_()
    assert ["young minus old" in repr(one) for one in found.differences()] == [True]
