"""Regressions with privatised columns: right where naive ones are not, and refused in time."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from checks import for_each, refused

import mechdesign as md
from mechdesign.errors import DataError, InputError, PrecisionWarning, UnknownNameError
from mechdesign.inference.latent import Latent, maximise_latent

FLIP = md.Mechanism([[0.8, 0.2], [0.2, 0.8]], ["no", "yes"], ["no", "yes"])
THREE = md.Mechanism([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8]], list("abc"), list("abc"))
OPEN = md.Mechanism(np.eye(3), list("abc"), list("abc"))
BOTH = {"y": THREE, "w2": FLIP}


def reported(mechanism, secrets, rng):
    """Labels of reports for positions of inputs."""
    below = mechanism.kernel.cumsum(axis=1)[secrets][:, :-1]
    drawn = (rng.random(len(secrets))[:, None] > below).sum(axis=1)
    return np.array(mechanism.outputs, dtype=object)[drawn]


def logistic(x):
    return 1 / (1 + np.exp(-x))


def people(n, rng, kernel=THREE):
    """Secrets x and z that depend on age and each other; a cost and events that depend on them."""
    age, sex = rng.normal(40, 10, n), rng.choice(["f", "m"], n)
    ahead = np.column_stack([np.zeros(n), 0.4 - 0.03 * (age - 40), -0.5 + 0.04 * (age - 40)])
    shares = np.exp(ahead) / np.exp(ahead).sum(axis=1, keepdims=True)
    x = (rng.random(n)[:, None] > shares.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    z = (rng.random(n) < np.where(x == 1, 0.6, 0.3)).astype(int)
    cost = 1 + np.array([0, 1.0, -0.5])[x] + 0.05 * age + 0.3 * (sex == "m") + 0.8 * z
    cost = cost + rng.normal(size=n) * (1 + 0.5 * (x == 2))
    event = rng.random(n) < logistic(np.array([-0.5, 0.5, -1.0])[x] + 0.05 * (age - 40))
    sick = (rng.random(n) < logistic(np.array([-0.5, 0.2, -1.1])[x] + 0.9 * z)).astype(int)
    vote = (rng.random(n) < logistic(-1 + 0.05 * (age - 40))).astype(int)
    return pd.DataFrame(
        {
            "x": np.array(list("abc"))[x],
            "y": reported(kernel, x, rng),
            "w2": reported(FLIP, z, rng),
            "age": age,
            "sex": sex,
            "cost": cost,
            "event": event.astype(int),
            "sick": reported(FLIP, sick, rng),
            "vote": vote,
            "voted": reported(FLIP, vote, rng),
            "w": rng.uniform(0.5, 2, n),
            "c": rng.integers(0, 40, n),
        }
    )


LINEAR = {"response": "cost", "covariates": ["age", "sex"]}
EVENT = {"response": "event", "covariates": ["age"], "family": "logistic"}
VOTE = {"response": "voted", "covariates": ["age"], "family": "logistic"}
TABLE = people(1500, np.random.default_rng(0))
OPENLY = people(1500, np.random.default_rng(0), OPEN)


# What cannot be answered


def test_what_reports_do_not_tell_is_named():
    blind = md.Mechanism([[0.8, 0.2], [0.2, 0.8], [0.2, 0.8]], list("abc"), ["a", "b"])
    rng = np.random.default_rng(1)
    frame = TABLE.assign(y=reported(blind, np.arange(1500) % 3, rng))
    for options in (LINEAR, EVENT):
        found = refused(lambda o=options: md.regress(frame, blind, "y", **o), "'b'", "'c'")
        assert "'a'" not in found.expected
    # What it tells can be regressed on.
    grouped = md.regress(frame, blind, "y", feature={"a": "A", "b": "B", "c": "B"}, **LINEAR)
    assert grouped.labels[1] == "y=B"
    rank = [[0.6, 0.3, 0.1], [0.4, 0.35, 0.25], [0.2, 0.4, 0.4]]
    squares = md.Mechanism(rank, list("abc"), list("abc"))
    frame = TABLE.assign(y=reported(squares, np.arange(1500) % 3, rng))
    numbers = {"feature": {"a": 1.0, "b": 2.0, "c": 3.0}, **LINEAR}
    refused(lambda: md.regress(frame, squares, "y", **numbers), "squares")


def test_separation_is_found_and_named():
    split = np.where(TABLE["event"] == 1, 1.0, -1.0) * (1 + TABLE["w"])
    frame = TABLE.assign(age=split)
    refused(lambda: md.regress(frame, THREE, "y", **EVENT), "bound every coefficient")


def test_a_symbol_that_does_not_occur_can_be_merged_with_others():
    rng = np.random.default_rng(11)
    x = (rng.random(4000) < 0.4).astype(int)
    event = (rng.random(4000) < logistic(-0.5 + x)).astype(int)
    # Just fewer reports of c than a and b would make.
    y = reported(THREE, x, rng)
    kept = (y != "c") | (rng.random(4000) < 0.9)
    frame = pd.DataFrame({"y": y, "event": event})[kept]
    options = {"response": "event", "family": "logistic"}
    refused(lambda: md.regress(frame, THREE, "y", **options), "y=c", error=DataError)
    merged = {"a": "a", "b": "b or c", "c": "b or c"}
    with pytest.warns(PrecisionWarning, match="do not show that 'c' occurs"):
        found = md.regress(frame, THREE, "y", feature=merged, **options)
    assert found.lower[1] < 1 < found.upper[1]


@for_each(("mechanism", "options", "fragment"), [
        (THREE, {"response": "sex"}, "1500 rows without one"),
        (THREE, {"response": "cost", "family": "logistic"}, "two different values"),
        (THREE, {"response": "y"}, "at least one"),
        (THREE, {"response": "cost", "covariates": ["y"]}, "'y' among them"),
        (THREE, {"response": "cost", "covariates": "age"}, "list of names"),
        (THREE, {"response": "cost", "covariates": ["one"]}, "'one'"),
        (THREE, {"response": "cost", "covariates": ["age", "years"]}, "'years'"),
        (THREE, {"response": "y", "covariates": ["age"]}, "a number for each symbol"),
        (THREE, {"response": "cost", "strata": "alone"}, "one person in 1 of 2"),
        (THREE, {"response": "cost", "feature": {"a": 1, "b": 2, "c": 4}, "reference": "a"},
         "reference"),
        (THREE, {"response": "y", "covariates": ["age"], "family": "logistic",
                 "feature": {"a": "u", "b": "u", "c": "v"}}, "left out"),
        (THREE, {"response": "cost", "reference": "z"}, "'z'"),
        (md.subset_selection(4, md.LDP(1.0)), {"response": "cost"}, "matrix"),
        (BOTH, {"column": "x", "response": "cost"}, "'x'"),
        (BOTH, {"column": ["y", "y"], "response": "cost"}, "each once"),
        (BOTH, {"column": 3, "response": np.ones(2), "feature": np.ones(2)}, "privatised column"),
        (THREE, {"column": [], "response": "cost"}, "names of the privatised column"),
        (BOTH, {"response": "cost", "reference": "a"}, "mapping"),
        (BOTH, {"response": "cost", "reference": {"x": "a"}}, "'x'"),
        (BOTH, {"response": "w2"}, "a number for each symbol"),
        (BOTH, {"response": "y", "family": "logistic"}, "two values"),
        (BOTH, {"response": "cost", "truth": md.Prior([1.0])}, "left out"),
    ])  # fmt: skip
def test_what_cannot_be_regressed_is_refused(mechanism, options, fragment):
    frame = TABLE.assign(
        one=1.0,
        years=TABLE["age"] * 2 + 1,
        alone=["x", *["y"] * 1499],
    )
    column = None if isinstance(mechanism, dict) else "y"
    found = refused(lambda: md.regress(frame, mechanism, **{"column": column, **options}), fragment)
    assert isinstance(found, (DataError, InputError, UnknownNameError))
    assert str(TABLE["cost"][0]) not in str(found)


# Few events, and the noise that is known


def counted(counts):
    rng = np.random.default_rng(3)
    reports = np.repeat(list(counts), list(counts.values()))
    n = len(reports)
    return pd.DataFrame({"y": reports, "cost": rng.normal(size=n), "event": np.arange(n) % 2})


def test_fewer_than_five_effective_events_are_refused():
    """Of an identity kernel they are people; noise takes from them."""
    for family, few, most in (("linear", 4, 5), ("logistic", 9, 10)):
        options = {"response": {"linear": "cost", "logistic": "event"}[family], "family": family}
        told = counted({"a": 100, "b": 100, "c": few})
        found = refused(lambda t=told, o=options: md.regress(t, OPEN, "y", **o), "4.0 of 'y=c")
        assert "md.plan" in found.remedy
        made = md.regress(counted({"a": 100, "b": 100, "c": most}), OPEN, "y", **options)
        assert made.errors[2] > 0
        # Thirty people with the symbol, of 1500, are lost in the reports of others.
        mixed = dict(zip("abc", (THREE.kernel.T @ [735, 735, 30]).round().astype(int), strict=True))
        refused(lambda m=mixed, o=options: md.regress(counted(m), THREE, "y", **o), "y=c")
    weak = md.Mechanism([[0.51, 0.49], [0.49, 0.51]], [0, 1], ["a", "b"])
    frame = counted({"a": 100, "b": 110})
    refused(lambda: md.regress(frame, weak, "y", response="cost", feature={0: 0, 1: 3}), "tell of")
    refused(
        lambda: md.regress(TABLE.assign(w=1.0 - TABLE["event"]), THREE, "y", weights="w", **EVENT),
        "event=1",
    )


def test_intervals_of_five_people_are_those_of_student():
    """With normal quantiles they hold in 85 % of surveys; those of a table are as written here."""
    rng = np.random.default_rng(8)
    x, r = np.arange(60) < 5, rng.normal(size=(4000, 60))
    means = [r[:, part].mean(axis=1) for part in (x, ~x)]
    squares = [((r[:, part].T - m) ** 2).sum(axis=0) / part.sum() ** 2
               for part, m in zip((x, ~x), means, strict=True)]  # fmt: skip
    apart, errors = means[0] - means[1], np.sqrt(60 / 58 * sum(squares))
    frame = pd.DataFrame({"y": np.where(x, "b", "a"), "r": r[0]})
    both = md.Mechanism(np.eye(2), ["a", "b"], ["a", "b"])
    found = md.regress(frame, both, "y", response="r")
    assert (found.values[1], found.errors[1]) == pytest.approx((apart[0], errors[0]))
    ratio = (found.upper - found.values)[1] / errors[0]
    assert (np.abs(apart) <= 1.96 * errors).mean() < 0.88
    assert 0.92 < (np.abs(apart) <= ratio * errors).mean() < 0.96


def test_no_error_is_below_what_the_mechanism_is_known_to_add():
    """Clusters alike have an observed spread of zero, and reports noise nonetheless."""
    rng = np.random.default_rng(6)
    for kernel in ([[0.8, 0.2], [0.2, 0.8]], [[0.9, 0.1], [0.4, 0.6]]):
        flip = md.Mechanism(kernel, ["no", "yes"], ["no", "yes"])
        x = (np.arange(60) % 3 == 0).astype(int)
        one = pd.DataFrame({"y": reported(flip, x, rng), "r": x + rng.normal(size=60)})
        one["late"] = (one["r"] > 0).astype(int)
        frame = pd.concat([one.assign(c=c) for c in range(12)])
        found = md.regress(frame, flip, "y", response="r", clusters="c")
        # Score and its variance given the secret, person by person, for the likelier secret of two.
        a = np.linalg.inv(flip.kernel)[:, 1]
        z = a[(frame["y"] == "yes").astype(int)]
        bread = np.linalg.inv([[len(z), z.sum()], [z.sum(), z.sum()]])
        least = np.zeros(2)
        for r in frame["r"]:
            score = [bread @ [r - found.values @ [1, w], (r - found.values.sum()) * w] for w in a]
            both = [k @ np.square(score) - (k @ np.array(score)) ** 2 for k in flip.kernel]
            least += np.minimum(*both)
        assert (found.errors**2 >= least * (1 - 1e-9)).all()
        assert found.errors == pytest.approx(np.sqrt(found.covariance.diagonal()))
        event = {"response": "late", "family": "logistic"}
        bound = md.regress(frame, flip, "y", clusters="c", **event)
        whole = md.regress(frame, flip, "y", **event)
        assert (bound.errors > 0.1 * whole.errors).all()
        assert (bound.errors < whole.errors).all()
    both = md.Mechanism(np.eye(2), ["no", "yes"], ["no", "yes"])
    assert md.regress(frame, both, "y", response="r", clusters="c").errors.max() < 1e-6


def limit(t, mass, shares, kernel):
    """Slopes of a multinomial logit at the exact shares of reports, with the error of one."""
    rows, outputs = len(t), kernel.shape[1]
    public = np.column_stack([np.ones(rows), t]).repeat(outputs, axis=0)
    weight = (mass[:, None] * (shares @ kernel)).ravel()
    observed = Latent(np.tile(kernel.T, (rows, 1)), public, np.zeros((len(kernel), 0)), weight)
    found = maximise_latent(observed, np.zeros(observed.parameters))
    return found.coefficients[1::2], np.sqrt(np.linalg.inv(found.information).diagonal())[1::2]


def test_slopes_of_a_rare_symbol_are_missed_where_the_model_is_false_and_only_there():
    """With a category of 5 %: the limit of many reports is that of secrets if the logit holds."""
    t = np.linspace(-2, 2, 21)
    mass = np.exp(-(t**2) / 2) / np.exp(-(t**2) / 2).sum()
    for bend in (0, 0.8):
        ahead = [0 * t, -0.54 + 0.3 * t, -2.8 - 0.8 * t + bend * (t**2 - 0.77)]
        shares = np.exp(ahead).T / np.exp(ahead).sum(axis=0)[:, None]
        slopes, _ = limit(t, mass, shares, np.eye(3))
        for epsilon in (1, 2, 3):
            kernel = (np.ones((3, 3)) + (math.exp(epsilon) - 1) * np.eye(3)) / (
                math.exp(epsilon) + 2
            )
            found, errors = limit(t, mass, shares, kernel)
            if bend:
                assert (
                    abs(found[1] - slopes[1]) > (1.2, 2.5, 3)[epsilon - 1] * errors[1] / 3000**0.5
                )
            else:
                assert found == pytest.approx(slopes, abs=1e-6)
                assert slopes == pytest.approx([0.3, -0.8], abs=1e-6)


# Where nothing is private they are those of everybody


@pytest.mark.parametrize("way", ["plain", "weights", "clusters"])
def test_least_squares_of_open_answers(way):
    import statsmodels.api as sm

    y, sex = OPENLY["y"], OPENLY["sex"]
    columns = [np.ones(1500), y == "b", y == "c", OPENLY["age"], sex == "m"]
    model = sm.WLS(
        OPENLY["cost"],
        np.column_stack(columns).astype(float),
        weights=np.ones(1500) if way == "plain" else OPENLY["w"],
    )
    named = {} if way == "plain" else {"weights": "w"}
    expected = model.fit(cov_type="HC1", use_t=True)
    if way == "clusters":
        named["clusters"] = "c"
        expected = model.fit(cov_type="cluster", cov_kwds={"groups": OPENLY["c"]}, use_t=True)
    found = md.regress(OPENLY, OPEN, "y", **LINEAR, **named)
    assert found.labels == ("(intercept)", "y=b", "y=c", "age", "sex=m")
    np.testing.assert_allclose(found.values, expected.params, rtol=1e-8)
    np.testing.assert_allclose(found.covariance, expected.cov_params(), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found.upper, np.asarray(expected.conf_int())[:, 1], rtol=0.01)
    if way == "clusters":
        np.testing.assert_allclose(found.pvalues, expected.pvalues, rtol=1e-5, atol=1e-12)


def test_logistic_regression_of_open_answers():
    import statsmodels.api as sm

    columns = [np.ones(1500), OPENLY["y"] == "b", OPENLY["y"] == "c", OPENLY["age"]]
    model = sm.Logit(OPENLY["event"], np.column_stack(columns).astype(float))
    expected = model.fit(disp=0)
    found = md.regress(OPENLY, OPEN, "y", **EVENT)
    assert found.errors_by == "observed information"
    np.testing.assert_allclose(found.values, expected.params, rtol=1e-5)
    np.testing.assert_allclose(found.covariance, expected.cov_params(), rtol=1e-4, atol=1e-9)
    expected = model.fit(disp=0, cov_type="cluster", cov_kwds={"groups": OPENLY["c"]})
    found = md.regress(OPENLY, OPEN, "y", clusters="c", **EVENT)
    assert (found.errors_by, found.freedom) == ("sandwich", OPENLY["c"].nunique() - 1)
    # But for the coefficients of the secret, which the correction for few people counts too.
    np.testing.assert_allclose(found.covariance, expected.cov_params(), rtol=0.01, atol=1e-6)
    both = md.Mechanism(np.eye(2), ["no", "yes"], ["no", "yes"])
    told = OPENLY.assign(voted=np.array(["no", "yes"])[OPENLY["vote"]])
    alone = sm.Logit(OPENLY["vote"], sm.add_constant(OPENLY["age"])).fit(disp=0)
    found = md.regress(told, both, "voted", **VOTE)
    np.testing.assert_allclose(found.values, alone.params, rtol=1e-5)
    np.testing.assert_allclose(found.errors, alone.bse, rtol=1e-4)
    assert found.labels == ("(intercept)", "age")


# Independent formulations


def test_moments_by_hand():
    """Weights that undo each kernel, for each product of columns of the design."""
    undo = {name: np.linalg.inv(kernel.kernel) for name, kernel in BOTH.items()}
    at = {name: [list(k.outputs).index(v) for v in TABLE[name]] for name, k in BOTH.items()}
    z, w = (undo[name][at[name]] for name in BOTH)
    cost = TABLE["cost"].to_numpy()
    columns = np.column_stack([np.ones(1500), z[:, 1], z[:, 2], w[:, 1]])
    moments = columns.T @ columns
    # Indicators of one column are squares of themselves, and no two of them are one.
    moments[[1, 2, 3], [1, 2, 3]] = columns[:, 1:].sum(axis=0)
    moments[1, 2] = moments[2, 1] = 0
    found = md.regress(TABLE, BOTH, response="cost")
    assert found.values == pytest.approx(np.linalg.solve(moments, columns.T @ cost), abs=1e-9)
    assert found.labels == ("(intercept)", "y=b", "y=c", "w2=yes")
    assert (found.reference, found.column) == (("a", "no"), "y, w2")
    # One binary secret: the difference of two corrected means, with its error by the delta method.
    yes = w[:, 1]
    one, none = (yes * cost).mean() / yes.mean(), ((1 - yes) * cost).mean() / (1 - yes).mean()
    found = md.regress(TABLE, FLIP, "w2", response="cost")
    np.testing.assert_allclose(found.values, [none, one - none], rtol=1e-10)
    parts = [(1 - yes) * (cost - none) / (1 - yes).mean(), yes * (cost - one) / yes.mean()]
    parts = np.array([parts[0], parts[1] - parts[0]])
    np.testing.assert_allclose(found.covariance, parts @ parts.T / 1500 / 1498, rtol=1e-8)


def slow_likelihood(coefficients, frame):
    """The log-likelihood of reports of a response and of two covariates, person by person."""
    beta, alpha = coefficients[:5], np.append([0, 0], coefficients[5:]).reshape(6, 2)
    total = 0.0
    for y, w, sick, age in zip(frame["y"], frame["w2"], frame["sick"], frame["age"], strict=True):
        shares = np.exp(alpha @ [1, age])
        mass = 0.0
        for k, (x, z) in enumerate(itertools.product(range(3), range(2))):
            chance = logistic(beta @ [1, x == 1, x == 2, z, age])
            said = FLIP.kernel[:, ["no", "yes"].index(sick)] @ [1 - chance, chance]
            told = THREE.kernel[x, "abc".index(y)] * FLIP.kernel[z, ["no", "yes"].index(w)]
            mass += shares[k] / shares.sum() * told * said
        total += math.log(mass)
    return total


def test_the_likelihood_its_slope_and_its_information():
    frame = TABLE.head(40).assign(age=lambda t: (t["age"] - 40) / 10)
    pairs = list(itertools.product(range(3), range(2)))
    of_tuple = np.array(
        [
            [THREE.kernel[x, "abc".index(y)] * FLIP.kernel[z, ["no", "yes"].index(w)]
             for x, z in pairs]
            for y, w in zip(frame["y"], frame["w2"], strict=True)
        ]
    )  # fmt: skip
    said = FLIP.kernel.T[(frame["sick"] == "yes").astype(int)]
    observed = Latent(
        np.hstack([of_tuple * said[:, [0]], of_tuple * said[:, [1]]]),
        np.column_stack([np.ones(40), frame["age"]]),
        np.array([[x == 1, x == 2, z] for x, z in pairs], dtype=float),
        np.ones(40),
    )
    at = np.random.default_rng(1).normal(size=observed.parameters) * 0.5
    values, scores, known, missing = observed.parts(at)
    assert values.sum() == pytest.approx(slow_likelihood(at, frame), rel=1e-12)
    for step in 1e-4 * np.eye(len(at)):
        slope = (slow_likelihood(at + step, frame) - slow_likelihood(at - step, frame)) / 2e-4
        ends = [observed.parts(at + sign * step)[1].sum(axis=0) for sign in (1, -1)]
        place = step.argmax()
        assert scores.sum(axis=0)[place] == pytest.approx(slope, abs=1e-5)
        np.testing.assert_allclose((missing - known)[place], (ends[0] - ends[1]) / 2e-4, atol=1e-5)
    # What is hidden is a covariance: no error is below that of known secrets.
    assert np.linalg.eigvalsh(missing)[0] > -1e-9


def test_what_changes_nothing():
    """Kinds of tables, units, one weight for all, and a mapping of one column."""
    for options in (LINEAR, EVENT):
        plain = md.regress(TABLE, THREE, "y", **options)
        arrow = pa.Table.from_pandas(TABLE)
        for other in (pl.from_pandas(TABLE), pl.from_pandas(TABLE).lazy(), [arrow]):
            found = md.regress(other, THREE, "y", **options)
            np.testing.assert_allclose(found.covariance, plain.covariance, rtol=1e-6)
        scaled = md.regress(TABLE.assign(age=TABLE["age"] * 1e6 + 1e7), THREE, "y", **options)
        np.testing.assert_allclose(scaled["age"] * 1e6, plain["age"], rtol=1e-6)
        np.testing.assert_allclose(scaled["y=b"], plain["y=b"], rtol=1e-6)
        heavy = md.regress(TABLE.assign(w=7.0), THREE, "y", weights="w", **options)
        assert heavy.errors_by == "sandwich"
        np.testing.assert_allclose(heavy.values, plain.values, rtol=1e-6)
        np.testing.assert_allclose(heavy.errors, plain.errors, rtol=0.15)
        kernels = {**BOTH, "sick": FLIP}
        both = {"response": "sick", "family": "logistic"}
        turned = md.regress(TABLE, kernels, reference={"sick": "yes"}, **both)
        assert turned.reference == ("a", "no")
        assert turned.values == pytest.approx(-md.regress(TABLE, kernels, **both).values, abs=1e-6)
        one = md.regress(TABLE, {"y": THREE}, **options)
        np.testing.assert_allclose(one.errors, plain.errors, rtol=1e-9)


def test_rows_that_recur_count_as_often():
    """Rows of a frame are merged where they recur; categories without rows are left out."""
    frame = TABLE.assign(age=(TABLE["age"] // 10), cost=TABLE["cost"].round(), w=1.0)
    frame["sex"] = pd.Categorical(frame["sex"], ["x", "f", "m"])
    twice = pd.concat([frame, frame])
    for options in (LINEAR, EVENT):
        whole = md.regress(twice, THREE, "y", **options)
        single = md.regress(frame.assign(w=2.0), THREE, "y", weights="w", **options)
        np.testing.assert_allclose(whole.values, single.values, rtol=1e-9)
        assert whole.reports == 3000
    frame.loc[:99, "y"] = None
    refused(lambda: md.regress(frame, THREE, "y", **LINEAR), "100 rows")
    assert md.regress(frame, THREE, "y", missing="drop", **LINEAR).reports == 1400


def test_a_privatised_response():
    numbers = {"no": 0, "yes": 1}
    options = {"response": "voted", "covariates": ["age"]}
    found = md.regress(TABLE, FLIP, "voted", feature=numbers, **options)
    assert found.labels == ("(intercept)", "age")
    assert "response voted privatised" in found.describe()
    by_name = md.regress(TABLE, {"voted": FLIP}, feature={"voted": numbers}, **options)
    assert by_name.values == pytest.approx(found.values, rel=1e-12)
    several = md.regress(
        TABLE, THREE, "y", response="y", covariates=["age"], family="logistic", reference="b"
    )
    assert several.labels == ("y=a", "y=a: age", "y=c", "y=c: age")
    assert several.reference == "b"
    inputs = md.Mechanism(THREE.kernel, [1, 2, 5], list("abc"))
    md.regress(TABLE, inputs, "y", response="y", covariates=["age"])


def test_reports_of_a_plan_and_what_is_shown():
    prior = md.Prior.from_csv("titanic", ["class", "sex"])
    plan = md.plan_columns(prior, None, md.LDP(4), joint=False)
    rng = np.random.default_rng(7)
    rows = [prior.labels[i] for i in rng.choice(8, 6000, p=prior.probabilities)]
    frame = pd.DataFrame(rows, columns=["class", "sex"])
    fare = frame["class"].map({"1st": 30, "2nd": 15, "3rd": 8, "crew": 0})
    frame["fare"] = np.round(fare + rng.normal(size=6000))
    made = md.privatize(frame, plan, rng=8)
    found = md.regress(made, plan, response="fare")
    truth = {"class=2nd": -15, "class=3rd": -22, "class=crew": -30, "sex=male": 0}
    assert found.note == ""
    for row in found.rows()[1:]:
        assert abs(row["estimate"] - truth[row["label"]]) < 5 * row["error"]
    assert "linear regression of fare on 6000 reports; columns class, sex priv" in repr(found)
    assert "<table>" in found._repr_html_()
    assert "no receipt" in repr(md.regress(TABLE, THREE, "y", **LINEAR))


# Over many samples


@pytest.mark.slow
def test_intervals_cover_at_the_stated_rate_and_those_of_naive_regressions_do_not():
    import statsmodels.api as sm

    rng, rounds = np.random.default_rng(2026), 100
    truths = {
        "linear": ({"y": THREE, "w2": FLIP}, LINEAR, [1, 1, -0.5, 0.8, 0.05, 0.3]),
        "logistic": ({"y": THREE}, EVENT, [-2.5, 1, -0.5, 0.05]),
        "both": (
            {**BOTH, "sick": FLIP},
            {"response": "sick", "family": "logistic"},
            [-0.5, 0.7, -0.6, 0.9],
        ),
        "response": ({"voted": FLIP}, VOTE, [-3, 0.05]),
    }
    hits = {name: np.zeros(len(truth)) for name, (*_, truth) in truths.items()}
    naive = np.zeros(6)
    for _ in range(rounds):
        # Rows that recur are merged.
        table = people(4000, rng)
        table["age"] = table["age"].round()
        for name, (kernels, options, truth) in truths.items():
            found = md.regress(table, kernels, **options)
            hits[name] += (found.lower <= truth) & (truth <= found.upper)
        y, w = table["y"], table["w2"]
        columns = [np.ones(4000), y == "b", y == "c", w == "yes", table["age"], table["sex"] == "m"]
        plain = sm.OLS(table["cost"], np.column_stack(columns).astype(float)).fit(cov_type="HC1")
        low, high = np.asarray(plain.conf_int()).T
        truth = truths["linear"][2]
        naive += (low <= truth) & (truth <= high)
    # 0.95 of 100 is 95 ± 2.2; sixteen coefficients.
    for name, each in hits.items():
        assert (each >= 88).all(), (name, each)
    assert (naive[1:4] < 50).all(), naive
