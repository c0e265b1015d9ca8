"""Regressions with one privatised variable: right where naive ones are not, and refused in time."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from checks import for_each, refused
from scipy.optimize import minimize

import mechdesign as md
from mechdesign.errors import DataError, InputError, PrecisionWarning, UnknownNameError
from mechdesign.inference.latent import Latent, maximise_latent

FLIP = md.Mechanism([[0.8, 0.2], [0.2, 0.8]], ["no", "yes"], ["no", "yes"])
THREE = md.Mechanism([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8]], list("abc"), list("abc"))
OPEN = md.Mechanism(np.eye(3), list("abc"), list("abc"))


def reported(mechanism, secrets, rng):
    """Labels of reports for positions of inputs."""
    edges = mechanism.kernel.cumsum(axis=1)
    drawn = (rng.random(len(secrets))[:, None] > edges[secrets]).sum(axis=1)
    return np.array(mechanism.outputs, dtype=object)[np.minimum(drawn, edges.shape[1] - 1)]


def logistic(x):
    return 1 / (1 + np.exp(-x))


def people(n, rng, kernel=THREE):
    """Secrets that depend on age, a cost and an event that depend on both, a privatised event."""
    age = rng.normal(40, 10, n)
    sex = rng.choice(["f", "m"], n)
    ahead = np.column_stack([np.zeros(n), 0.4 - 0.03 * (age - 40), -0.5 + 0.04 * (age - 40)])
    shares = np.exp(ahead)
    shares /= shares.sum(axis=1, keepdims=True)
    secret = (rng.random(n)[:, None] > shares.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    noise = rng.normal(size=n) * (1 + 0.5 * (secret == 2))
    cost = 1 + np.array([0, 1.0, -0.5])[secret] + 0.05 * age + 0.3 * (sex == "m") + noise
    event = rng.random(n) < logistic(np.array([-0.5, 0.5, -1.0])[secret] + 0.05 * (age - 40))
    vote = (rng.random(n) < logistic(-1 + 0.05 * (age - 40))).astype(int)
    return pd.DataFrame(
        {
            "x": np.array(list("abc"))[secret],
            "y": reported(kernel, secret, rng),
            "age": age,
            "sex": sex,
            "cost": cost,
            "event": event.astype(int),
            "vote": vote,
            "voted": reported(FLIP, vote, rng),
            "w": rng.uniform(0.5, 2, n),
            "s": rng.choice(["north", "south"], n),
            "c": rng.integers(0, 40, n),
        }
    )


LINEAR = {"response": "cost", "covariates": ["age", "sex"]}
EVENT = {"response": "event", "covariates": ["age"], "family": "logistic"}
VOTE = {"response": "voted", "covariates": ["age"], "family": "logistic"}
TABLE = people(1500, np.random.default_rng(0))
OPENLY = people(1500, np.random.default_rng(0), OPEN)


# What cannot be answered


def test_symbols_that_reports_do_not_tell_apart_are_named():
    blind = md.Mechanism([[0.8, 0.2], [0.2, 0.8], [0.2, 0.8]], list("abc"), ["a", "b"])
    frame = TABLE.assign(y=reported(blind, np.arange(1500) % 3, np.random.default_rng(1)))
    for options in (LINEAR, EVENT):
        found = refused(lambda o=options: md.regress(frame, blind, "y", **o), "'b'", "'c'")
        assert "'a'" not in found.expected
    # What it tells can be regressed on.
    grouped = md.regress(frame, blind, "y", feature={"a": "A", "b": "B", "c": "B"}, **LINEAR)
    assert grouped.labels[1] == "y=B"
    deaf = md.Mechanism([[0.5, 0.5]] * 2, ["no", "yes"], ["no", "yes"])
    refused(lambda: md.regress(TABLE, deaf, "voted", **VOTE), "tell", error=DataError)


def test_a_feature_whose_square_the_reports_do_not_tell_is_refused():
    rank = np.array([[0.6, 0.3, 0.1], [0.4, 0.35, 0.25], [0.2, 0.4, 0.4]])
    mechanism = md.Mechanism(rank, list("abc"), list("abc"))
    frame = TABLE.assign(y=reported(mechanism, np.arange(1500) % 3, np.random.default_rng(1)))
    feature = {"a": 1.0, "b": 2.0, "c": 3.0}
    refused(lambda: md.regress(frame, mechanism, "y", feature=feature, **LINEAR), "squares")


def test_separation_is_found_and_named():
    """Everybody with the secret c has the event, so that no coefficient is large enough."""
    frame = TABLE.assign(event=(TABLE["x"] == "c") | (TABLE["event"] == 1))
    # Reports that leave no doubt: separated with certainty.
    sure = {"response": "event", "family": "logistic"}
    told = frame.assign(y=frame["x"], event=frame["event"].astype(int))
    refused(lambda: md.regress(told, OPEN, "y", **sure), "y=c", error=DataError)
    # By a public covariate.
    split = frame.assign(age=np.where(frame["event"], 1.0, -1.0) * (1 + frame["w"]))
    options = {**EVENT, "covariates": ["age"]}
    refused(lambda: md.regress(split, THREE, "y", **options), "bound every coefficient")
    # A symbol that does not occur.
    none = frame.assign(y=np.where(frame["x"] == "c", "a", frame["x"]))
    refused(lambda: md.regress(none, OPEN, "y", **sure), "y=c", error=DataError)


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


def test_a_response_whose_weights_leave_one_value_is_refused():
    frame = TABLE.assign(w=np.where(TABLE["event"] == 1, 0.0, 1.0))
    refused(lambda: md.regress(frame, THREE, "y", weights="w", **EVENT), "zero weight")


def test_too_few_reports_for_corrected_moments_are_refused():
    weak = md.Mechanism([[0.51, 0.49], [0.49, 0.51]], ["no", "yes"], ["no", "yes"])
    frame = pd.DataFrame({"y": ["no"] * 9 + ["yes"] * 11, "r": range(20)})
    frame["y"] = ["yes"] * 20
    refused(lambda: md.regress(frame, weak, "y", response="r"), "y=yes", "md.plan")


def test_symbols_that_hardly_occur_are_warned_of():
    rng = np.random.default_rng(4)
    secret = rng.choice(3, 1500, p=[0.75, 0.04, 0.21])
    frame = TABLE.assign(y=reported(THREE, secret, rng))
    with pytest.warns(PrecisionWarning, match="'y=b' occurs"):
        md.regress(frame, THREE, "y", **LINEAR)
    frame = TABLE.assign(y=["a"] * 1050 + ["b"] * 300 + ["c"] * 150)
    refused(lambda: md.regress(frame, THREE, "y", **LINEAR), "y=b", error=DataError)


@for_each(("options", "fragment"), [
        ({"response": "sex"}, "1500 rows without one"),
        ({"response": "cost", "family": "logistic"}, "two different values"),
        ({"response": "y"}, "at least one"),
        ({"response": "cost", "covariates": ["y"]}, "'y' among them"),
        ({"response": "cost", "covariates": ["age", "age"]}, "twice"),
        ({"response": "cost", "covariates": "age"}, "list of names"),
        ({"response": 3}, "names of the privatised column"),
        ({"response": "cost", "covariates": ["one"]}, "'one'"),
        ({"response": "cost", "covariates": ["age", "years"]}, "'years'"),
        ({"response": "cost", "covariates": ["holes"]}, "1 row"),
        ({"response": "y", "covariates": ["age"]}, "a number for each symbol"),
        ({"response": "cost", "weights": "negative"}, "negative"),
        ({"response": "cost", "strata": "alone"}, "one person in 1 of 2"),
        ({"response": "cost", "feature": {"a": 1, "b": 2, "c": 4}, "reference": "a"}, "reference"),
        ({"response": "y", "covariates": ["age"], "feature": {"a": 1, "b": 2, "c": 4},
          "reference": "a"}, "reference"),
        ({"response": "y", "covariates": ["age"], "family": "logistic",
          "feature": {"a": "u", "b": "u", "c": "v"}}, "left out"),
        ({"response": "cost", "confidence": 2}, "between 0 and 1"),
    ])  # fmt: skip
def test_what_cannot_be_regressed_is_refused(options, fragment):
    frame = TABLE.assign(
        one=1.0,
        years=TABLE["age"] * 2 + 1,
        holes=[np.nan, *TABLE["age"][1:]],
        negative=-1.0,
        alone=["x", *["y"] * 1499],
    )
    found = refused(lambda: md.regress(frame, THREE, "y", **options), fragment)
    assert str(TABLE["cost"][0]) not in str(found)


@for_each("size", [1e-200, 1e-320, 1e100, 1e300])
@for_each("name", ["cost", "age", "w"])
def test_numbers_whose_squares_are_no_floats_are_refused(name, size):
    """Standard errors would be zero for the small ones, and coefficients NaN for the large."""
    frame = TABLE.assign(**{name: TABLE[name] * size})
    options = {**LINEAR, "weights": "w"}
    found = refused(lambda: md.regress(frame, THREE, "y", **options), "between 1e-60 and 1e+60")
    assert name in found.subject


def test_small_and_large_units_change_nothing_else():
    plain = md.regress(TABLE, THREE, "y", **LINEAR)
    for unit in (1e-50, 1e50):
        scaled = md.regress(TABLE.assign(cost=TABLE["cost"] * unit), THREE, "y", **LINEAR)
        np.testing.assert_allclose(scaled.errors / unit, plain.errors, rtol=1e-6)


def test_unknown_names_and_other_mechanisms_are_refused():
    for options in (
        {"response": "none"},
        {"response": "cost", "family": "probit"},
        {"response": "cost", "reference": "z"},
        {"response": "cost", "covariates": ["none"]},
    ):
        with pytest.raises(UnknownNameError):
            md.regress(TABLE, THREE, "y", **options)
    subsets = md.subset_selection(4, md.LDP(1.0))
    refused(lambda: md.regress(TABLE, subsets, "y", response="cost"), error=InputError)
    raw = pd.DataFrame({"y": ["a"] * 2000, "cost": np.arange(2000)})
    refused(lambda: md.regress(raw, THREE, "y", response="cost"), "reports of this mechanism")


# Where nothing is private they are those of everybody


@pytest.mark.parametrize("way", ["plain", "weights", "clusters"])
def test_least_squares_of_open_answers(way):
    import statsmodels.api as sm

    table = OPENLY
    design = np.column_stack(
        [
            np.ones(len(table)),
            table["y"] == "b",
            table["y"] == "c",
            table["age"],
            table["sex"] == "m",
        ]
    ).astype(float)
    weights = np.ones(len(table)) if way == "plain" else table["w"]
    model = sm.WLS(table["cost"], design, weights=weights)
    if way == "clusters":
        expected = model.fit(cov_type="cluster", cov_kwds={"groups": table["c"]}, use_t=True)
    else:
        expected = model.fit(cov_type="HC1", use_t=True)
    options = {"plain": {}, "weights": {"weights": "w"}}.get(way, {"weights": "w", "clusters": "c"})
    found = md.regress(table, OPEN, "y", **LINEAR, **options)
    assert found.labels == ("(intercept)", "y=b", "y=c", "age", "sex=m")
    np.testing.assert_allclose(found.values, expected.params, rtol=1e-8)
    np.testing.assert_allclose(found.covariance, expected.cov_params(), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found.pvalues, expected.pvalues, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(
        np.column_stack([found.lower, found.upper]), expected.conf_int(), rtol=1e-6
    )


def test_logistic_regression_of_open_answers():
    import statsmodels.api as sm

    table = OPENLY
    design = np.column_stack(
        [np.ones(len(table)), table["y"] == "b", table["y"] == "c", table["age"]]
    ).astype(float)
    expected = sm.Logit(table["event"], design).fit(disp=0)
    found = md.regress(table, OPEN, "y", **EVENT)
    assert found.errors_by == "observed information"
    np.testing.assert_allclose(found.values, expected.params, rtol=1e-5)
    np.testing.assert_allclose(found.covariance, expected.cov_params(), rtol=1e-4, atol=1e-9)
    both = md.Mechanism(np.eye(2), ["no", "yes"], ["no", "yes"])
    told = table.assign(voted=np.array(["no", "yes"])[table["vote"]])
    alone = sm.Logit(table["vote"], sm.add_constant(table["age"])).fit(disp=0)
    found = md.regress(told, both, "voted", **VOTE)
    np.testing.assert_allclose(found.values, alone.params, rtol=1e-5)
    np.testing.assert_allclose(found.errors, alone.bse, rtol=1e-4)
    assert found.labels == ("(intercept)", "age")


def test_sandwich_of_a_logistic_regression_in_clusters():
    import statsmodels.api as sm

    columns = [np.ones(1500), OPENLY["y"] == "b", OPENLY["y"] == "c", OPENLY["age"]]
    model = sm.Logit(OPENLY["event"], np.column_stack(columns).astype(float))
    expected = model.fit(disp=0, cov_type="cluster", cov_kwds={"groups": OPENLY["c"]})
    found = md.regress(OPENLY, OPEN, "y", clusters="c", **EVENT)
    assert found.errors_by == "sandwich"
    assert found.freedom == OPENLY["c"].nunique() - 1
    # But for the coefficients of the secret, which the correction for few people counts too.
    np.testing.assert_allclose(found.covariance, expected.cov_params(), rtol=0.01, atol=1e-6)


# Independent formulations


def test_moments_by_hand():
    """One binary secret, no covariates: the difference of two corrected means."""
    rng = np.random.default_rng(3)
    x = (rng.random(800) < 0.4).astype(int)
    frame = pd.DataFrame({"y": reported(FLIP, x, rng), "r": 2 + 3 * x + rng.normal(size=800)})
    z = np.where(frame["y"] == "yes", 0.8, -0.2) / 0.6
    found = md.regress(frame, FLIP, "y", response="r")
    in_yes, in_no = (
        (z * frame["r"]).mean() / z.mean(),
        ((1 - z) * frame["r"]).mean() / (1 - z).mean(),
    )
    np.testing.assert_allclose(found.values, [in_no, in_yes - in_no], rtol=1e-9)
    # A ratio's error by the delta method.
    scores = np.column_stack(
        [
            (1 - z) * (frame["r"] - in_no) / (1 - z).mean(),
            z * (frame["r"] - in_yes) / z.mean(),
        ]
    )
    meat = scores.T @ scores / 800**2 * 800 / 798
    contrast = np.array([[1, 0], [-1, 1]])
    np.testing.assert_allclose(found.covariance, contrast @ meat @ contrast.T, rtol=1e-8)
    again = md.regress(frame, FLIP, "y", response="r", reference="yes")
    np.testing.assert_allclose(again.values, [in_yes, in_no - in_yes], rtol=1e-9)
    assert again.reference == "yes"


def slow_likelihood(coefficients, frame, kernel, values):
    """The log-likelihood of one response, one covariate and three symbols, person by person."""
    beta, alpha = coefficients[:4], coefficients[4:].reshape(2, 2)
    total = 0.0
    for label, event, age in zip(frame["y"], frame["event"], frame["age"], strict=True):
        y = list("abc").index(label)
        ahead = [0.0, *(alpha[k, 0] + alpha[k, 1] * age for k in range(2))]
        norm = sum(np.exp(a) for a in ahead)
        mass = 0.0
        for x in range(3):
            linear = beta[0] + beta[1] * values[x][0] + beta[2] * values[x][1] + beta[3] * age
            chance = logistic(linear) if event else 1 - logistic(linear)
            mass += np.exp(ahead[x]) / norm * kernel[x, y] * chance
        total += np.log(mass)
    return total


def test_the_likelihood_its_slope_and_its_information():
    frame = TABLE.head(60).assign(age=lambda t: (t["age"] - 40) / 10)
    codes = np.array([list("abc").index(y) for y in frame["y"]])
    values = np.eye(3)[:, 1:]
    observed = Latent(
        THREE.kernel.T[codes],
        np.column_stack([np.ones(60), frame["age"]]),
        values,
        frame["event"].to_numpy(float),
        np.ones(60),
    )
    coefficients = np.random.default_rng(1).normal(size=observed.parameters) * 0.5

    def slow(t):
        return slow_likelihood(t, frame, THREE.kernel, values)

    value, scores, hessian = observed.parts(coefficients)
    assert value.sum() == pytest.approx(slow(coefficients), rel=1e-12)
    step = 1e-4 * np.eye(observed.parameters)
    slope = np.array([(slow(coefficients + e) - slow(coefficients - e)) / 2e-4 for e in step])
    np.testing.assert_allclose(scores.sum(axis=0), slope, atol=1e-5)
    second = [
        (observed.parts(coefficients + e)[1] - observed.parts(coefficients - e)[1]).sum(axis=0)
        / 2e-4
        for e in step
    ]
    np.testing.assert_allclose(hessian, second, atol=1e-5)


def test_the_maximum_is_that_of_a_general_optimiser_from_other_starts():
    frame = TABLE.assign(age=(TABLE["age"] - 40) / 10)
    found = md.regress(frame, THREE, "y", **EVENT)
    codes = np.array([list("abc").index(y) for y in frame["y"]])
    public = np.column_stack([np.ones(len(frame)), frame["age"]])
    event = frame["event"].to_numpy(float)
    observed = Latent(THREE.kernel.T[codes], public, np.eye(3)[:, 1:], event, np.ones(len(frame)))
    rng = np.random.default_rng(2)
    best = np.inf
    for _ in range(4):
        other = minimize(
            lambda t: -observed.parts(t, second=False)[0].mean(),
            rng.normal(size=observed.parameters),
            jac=lambda t: -observed.parts(t, second=False)[1].mean(axis=0),
            method="BFGS",
            options={"gtol": 1e-7},
        )
        best = min(best, other.fun)
        if other.fun < best + 1e-9:
            np.testing.assert_allclose(found.values, other.x[:4], atol=1e-3)
    assert -found.log_likelihood / len(frame) <= best + 1e-9
    assert maximise_latent(observed, np.zeros(observed.parameters)).steps > 1


def test_weights_of_one_change_errors_to_those_of_the_sandwich_only():
    plain = md.regress(TABLE, THREE, "y", **EVENT)
    heavy = md.regress(TABLE.assign(w=7.0), THREE, "y", weights="w", **EVENT)
    assert heavy.errors_by == "sandwich"
    np.testing.assert_allclose(heavy.values, plain.values, atol=1e-6)
    np.testing.assert_allclose(heavy.errors, plain.errors, rtol=0.15)
    one = md.regress(TABLE.assign(w=1.0), THREE, "y", weights="w", **EVENT)
    np.testing.assert_allclose(heavy.covariance, one.covariance, rtol=1e-4, atol=1e-10)


def test_units_of_covariates_change_nothing_else():
    plain = md.regress(TABLE, THREE, "y", **EVENT)
    scaled = md.regress(TABLE.assign(age=TABLE["age"] * 1e6 + 1e7), THREE, "y", **EVENT)
    np.testing.assert_allclose(scaled["age"] * 1e6, plain["age"], rtol=1e-4)
    np.testing.assert_allclose(scaled["y=b"], plain["y=b"], rtol=1e-4)
    plain = md.regress(TABLE, FLIP, "voted", **VOTE)
    scaled = md.regress(TABLE.assign(age=TABLE["age"] / 10 - 4), FLIP, "voted", **VOTE)
    assert scaled["age"] == pytest.approx(plain["age"] * 10, rel=1e-4)
    assert scaled["(intercept)"] == pytest.approx(
        plain["(intercept)"] + 40 * plain["age"], rel=1e-3
    )


def test_all_tables_give_the_same():
    arrow = pa.Table.from_pandas(TABLE)
    for options in (LINEAR, EVENT):
        expected = md.regress(TABLE, THREE, "y", **options)
        for other in (pl.from_pandas(TABLE), pl.from_pandas(TABLE).lazy(), arrow):
            found = md.regress(other, THREE, "y", **options)
            np.testing.assert_allclose(found.values, expected.values, rtol=1e-6)


def test_a_privatised_response():
    found = md.regress(
        TABLE, FLIP, "voted", response="voted", covariates=["age"], feature={"no": 0, "yes": 1}
    )
    assert found.labels == ("(intercept)", "age")
    assert "response voted privatised" in found.describe()
    several = md.regress(
        TABLE, THREE, "y", response="y", covariates=["age"], family="logistic", reference="b"
    )
    assert several.labels == ("y=a", "y=a: age", "y=c", "y=c: age")
    assert several.reference == "b"
    numbers = md.Mechanism(THREE.kernel, [1, 2, 5], list("abc"))
    md.regress(TABLE, numbers, "y", response="y", covariates=["age"])


def test_what_is_shown():
    found = md.regress(TABLE, THREE, "y", **LINEAR)
    assert "linear regression of cost on 1500 reports; covariate y privatised" in repr(found)
    assert "no receipt" in repr(found)
    assert found["y=b"] == pytest.approx(1.0, abs=0.5)
    assert found.rows()[1]["label"] == "y=b"
    assert "<table>" in found._repr_html_()


# Over many samples


@pytest.mark.slow
def test_intervals_cover_at_the_stated_rate_and_those_of_naive_regressions_do_not():
    import statsmodels.api as sm

    rng = np.random.default_rng(2026)
    truths = {
        "linear": [1, 1, -0.5, 0.05, 0.3],
        "logistic": [-0.5 - 2, 1, -0.5, 0.05],
        "response": [-1 - 2, 0.05],
    }
    hits = {name: np.zeros(len(truth)) for name, truth in truths.items()}
    naive = {name: np.zeros(len(truth)) for name, truth in truths.items()}
    rounds = 300

    def count(where, name, lower, upper):
        truth = np.array(truths[name])
        where[name] += (np.asarray(lower) <= truth) & (truth <= np.asarray(upper))

    for _ in range(rounds):
        table = people(2000, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = {
                "linear": md.regress(table, THREE, "y", **LINEAR),
                "logistic": md.regress(table, THREE, "y", **EVENT),
                "response": md.regress(table, FLIP, "voted", **VOTE),
            }
        for name, each in found.items():
            count(hits, name, each.lower, each.upper)
        dummies = [np.ones(2000), table["y"] == "b", table["y"] == "c", table["age"]]
        design = np.column_stack([*dummies, table["sex"] == "m"]).astype(float)
        plain = {
            "linear": sm.OLS(table["cost"], design).fit(cov_type="HC1"),
            "logistic": sm.Logit(table["event"], design[:, :4]).fit(disp=0),
            "response": sm.Logit(table["voted"] == "yes", design[:, [0, 3]]).fit(disp=0),
        }
        for name, each in plain.items():
            count(naive, name, *np.asarray(each.conf_int()).T)
    # 0.95 of 300 is 285 ± 3.8; ten coefficients.
    for name, found in hits.items():
        assert (found >= 271).all(), (name, found)
        assert (found <= 298).all(), (name, found)
    assert (naive["linear"][1:3] < 150).all(), naive
    assert naive["logistic"][1] < 150, naive
    assert (naive["response"] < 150).all(), naive
