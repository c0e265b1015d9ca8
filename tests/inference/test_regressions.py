"""Regressions with privatised columns: right where naive ones are not, and refused in time."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import statsmodels.api as sm
from checks import for_each, refused
from numpy.testing import assert_allclose as same
from scipy.special import expit, softmax
from scipy.stats import t as student

import mechdesign as md
from mechdesign.errors import PrecisionWarning
from mechdesign.inference import latent, privatised

FLIP = md.Mechanism([[0.8, 0.2], [0.2, 0.8]], ["no", "yes"], ["no", "yes"])
THREE = md.Mechanism([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8]], list("abc"), list("abc"))
OPEN = md.Mechanism(np.eye(3), list("abc"), list("abc"))
BOTH = {"y": THREE, "w2": FLIP}
SICK = {**BOTH, "sick": FLIP}
NUMBERS = {"a": 1.0, "b": 2.0, "c": 4.0}
LINEAR = {"response": "cost", "covariates": ["age", "sex"]}
EVENT = {"response": "event", "covariates": ["age"], "family": "logistic"}
ALL = {"response": "sick", "family": "logistic"}


def reported(mechanism, secrets, rng):
    """Labels of reports for positions of inputs."""
    below = mechanism.kernel.cumsum(axis=1)[secrets][:, :-1]
    drawn = (rng.random(len(secrets))[:, None] > below).sum(axis=1)
    return np.array(mechanism.outputs, dtype=object)[drawn]


def people(n, rng, kernel=THREE):
    """Secrets x and z that depend on age and each other; a cost and events that depend on them."""
    age, sex = rng.normal(40, 10, n), rng.choice(["f", "m"], n)
    late, told = 0.05 * (age - 40), rng.random((4, n))
    shares = softmax(np.column_stack([0 * late, 0.4 - 0.6 * late, 0.8 * late - 0.5]), axis=1)
    x = (told[0][:, None] > shares.cumsum(axis=1)[:, :2]).sum(axis=1)
    z = (told[1] < np.where(x == 1, 0.6, 0.3)).astype(int)
    cost = 1 + np.array([0, 1.0, -0.5])[x] + 0.05 * age + 0.3 * (sex == "m") + 0.8 * z
    cost += rng.normal(size=n) * (1 + 0.5 * (x == 2))
    event = (told[2] < expit(np.array([-0.5, 0.5, -1.0])[x] + late)).astype(int)
    sick = (told[3] < expit(np.array([-0.5, 0.2, -1.1])[x] + 0.9 * z)).astype(int)
    frame = {"x": x, "age": age, "sex": sex, "cost": cost, "event": event}
    for name, made, secret in (("y", kernel, x), ("w2", FLIP, z), ("sick", FLIP, sick)):
        frame[name] = reported(made, secret, rng)
    return pd.DataFrame(frame | {"w": rng.uniform(0.5, 2, n), "c": rng.integers(0, 40, n)})


TABLE, OPENLY = (people(1500, np.random.default_rng(0), kernel) for kernel in (THREE, OPEN))


def regressed(frame, kernel, column="y", **options):
    return lambda: md.regress(frame, kernel, column, **options)


# What cannot be answered


def test_what_reports_do_not_tell_is_named():
    blind, line = (
        md.Mechanism(rows, list("abc"), list("pqr")[: len(rows[0])])
        for rows in (
            [[0.8, 0.2], [0.2, 0.8], [0.2, 0.8]],
            [[0.6, 0.3, 0.1], [0.4, 0.35, 0.25], [0.2, 0.4, 0.4]],
        )
    )
    secrets, rng = np.arange(1500) % 3, np.random.default_rng(1)
    frame = TABLE.assign(y=reported(blind, secrets, rng))
    for options in (LINEAR, EVENT):
        found = refused(regressed(frame, blind, **options), "'b'", "'c'")
        assert "'a'" not in found.expected
    # What it tells can be regressed on.
    merged = {"a": "A", "b": "B", "c": "B"}
    assert regressed(frame, blind, feature=merged, **LINEAR)().labels[1] == "y=B"
    frame["y"] = reported(line, secrets, rng)
    numbers = {"a": 1.0, "b": 2.0, "c": 3.0}
    refused(regressed(frame, line, feature=numbers, **LINEAR), "squares")


def test_what_has_no_finite_estimate_is_named_unless_merged():
    split = TABLE.assign(age=(TABLE["event"] - 0.5) * (1 + TABLE["w"]))
    refused(regressed(split, THREE, **EVENT), "bound every coefficient", "age")
    rng = np.random.default_rng(11)
    x = (rng.random(4000) < 0.4).astype(int)
    frame = pd.DataFrame({"y": reported(THREE, x, rng), "event": rng.random(4000) < expit(x - 0.5)})
    # Just fewer reports of c than a and b would make.
    frame = frame[(frame["y"] != "c") | (rng.random(4000) < 0.9)]
    options = {"response": "event", "family": "logistic"}
    refused(regressed(frame, THREE, **options), "y=c")
    merged = {"a": "a", "b": "b or c", "c": "b or c"}
    with pytest.warns(PrecisionWarning, match="do not show that 'c' occurs"):
        found = regressed(frame, THREE, feature=merged, **options)()
    assert found.lower[1] < 1 < found.upper[1]


@for_each(("mechanism", "options", "fragment"), [
        (THREE, {"response": "sex"}, "1500 rows without one"),
        (THREE, {"response": "cost", "family": "logistic"}, "two different values"),
        (THREE, {"response": "y"}, "at least one"),
        (THREE, {"response": "cost", "covariates": ["y"]}, "different names"),
        (THREE, {"response": "cost", "covariates": "age"}, "a list of"),
        (THREE, {"response": "cost", "covariates": ["one"]}, "'one'"),
        (THREE, {"response": "cost", "covariates": ["age", "years"]}, "'years'"),
        (THREE, {"response": "y", "covariates": ["age"]}, "a number for each symbol"),
        (THREE, {"response": "cost", "strata": "alone"}, "one person in 1 of 2"),
        (THREE, {"response": "cost", "feature": NUMBERS, "reference": "a"}, "is a number"),
        (THREE, {**EVENT, "response": "y", "feature": NUMBERS}, "left out"),
        (THREE, {"response": "cost", "reference": "z"}, "'z'"),
        (md.subset_selection(4, md.LDP(1.0)), {"response": "cost"}, "matrix"),
        (BOTH, {"column": "x", "response": "cost"}, "'x'"),
        (BOTH, {"column": 3, "response": np.ones(2), "feature": np.ones(2)}, "privatised column"),
        (BOTH, {"column": [], "response": "cost"}, "different names"),
        (BOTH, {"response": "cost", "reference": "a"}, "of reference=: expected one of w2, y"),
        (BOTH, {"response": "cost", "feature": {"x": NUMBERS}}, "of feature=: expected one"),
        (BOTH, {"response": "w2"}, "a number for each symbol"),
        (BOTH, {"response": "cost", "truth": md.Prior([1.0])}, "3 symbols"),
    ])  # fmt: skip
def test_what_cannot_be_regressed_is_refused(mechanism, options, fragment):
    alone, years = ["x", *["y"] * 1499], TABLE["age"] * 2 + 1
    frame = TABLE.assign(one=1.0, years=years, alone=alone)
    column = None if isinstance(mechanism, dict) else "y"
    found = refused(regressed(frame, mechanism, **{"column": column, **options}), fragment)
    assert str(TABLE["cost"][0]) not in str(found)


# Few events, and the noise that is known


def counted(*counts):
    reports = np.repeat(list("abc")[: len(counts)], counts)
    each, cost = np.arange(len(reports)), np.random.default_rng(3).normal(size=len(reports))
    return pd.DataFrame({"y": reports, "cost": cost, "event": each % 2, "c": each // 4})


def test_fewer_than_five_effective_events_are_refused():
    """Of an identity kernel they are people, or clusters that are alike; noise takes from them."""
    cost = {"response": "cost"}
    for options, few, most, freedom in (
        (cost, 4, 5, 4),
        ({"response": "event", "family": "logistic"}, 9, 10, math.inf),
        ({**cost, "clusters": "c"}, 16, 24, 5),
    ):
        found = refused(regressed(counted(100, 100, few), OPEN, **options), "4.0 of 'y=c")
        assert "md.plan" in found.remedy
        made = regressed(counted(100, 100, most), OPEN, **options)()
        assert made.errors[2] > 0
        assert made.freedom == pytest.approx(freedom)
        # Thirty people with the symbol, of 1500, are lost in the reports of others.
        mixed = (THREE.kernel.T @ [735, 735, 30]).round().astype(int)
        refused(regressed(counted(*mixed), THREE, **options), "y=c")
    weak = md.Mechanism([[0.51, 0.49], [0.49, 0.51]], [0, 1], ["a", "b"])
    refused(regressed(counted(100, 110), weak, feature={0: 0, 1: 3}, **cost), "tell of 'y'")
    frame = TABLE.assign(w=1.0 - TABLE["event"])
    refused(regressed(frame, THREE, weights="w", **EVENT), "event=1")


def test_intervals_of_five_people_or_clusters_are_those_of_student():
    """With normal quantiles, as good as those of sixty people or clusters, they hold in < 90 %."""
    rng = np.random.default_rng(8)
    both = md.Mechanism(np.eye(2), ["a", "b"], ["a", "b"])
    for size in (1, 4):
        cluster = np.arange(60 * size) // size
        x = np.column_stack([np.ones(60 * size), cluster < 5])
        r = (
            rng.normal(size=(3000, 60 * size))
            + (size > 1) * rng.normal(size=(3000, 60))[:, cluster]
        )
        frame = pd.DataFrame({"y": np.where(x[:, 1], "b", "a"), "r": r[0], "c": cluster})
        found = regressed(frame, both, response="r", clusters="c" if size > 1 else None)()
        expected = sm.OLS(r[0], x).fit(cov_type="cluster", cov_kwds={"groups": cluster})
        same(found.errors, expected.bse, 1e-9)
        ahead = r @ x @ np.linalg.inv(x.T @ x)
        scores = ((r - ahead @ x.T)[:, :, None] * x @ np.linalg.inv(x.T @ x)[1]).reshape(
            3000, 60, size
        )
        errors = np.sqrt((scores.sum(axis=2) ** 2).sum(axis=1))
        errors *= found.errors[1] / errors[0]
        ratio = (found.upper - found.values)[1] / found.errors[1]
        assert (np.abs(ahead[:, 1]) <= 2 * errors).mean() < 0.9
        assert 0.94 <= (np.abs(ahead[:, 1]) <= ratio * errors).mean() < 0.975


def test_no_error_is_below_what_the_mechanism_is_known_to_add():
    """Clusters alike have an observed spread of zero, and reports noise nonetheless."""
    rng, x = np.random.default_rng(6), (np.arange(60) % 3 == 0).astype(int)
    for rows in ([[0.8, 0.2], [0.2, 0.8]], [[0.9, 0.1], [0.4, 0.6]]):
        flip = md.Mechanism(rows, ["no", "yes"], ["no", "yes"])
        one = pd.DataFrame({"y": reported(flip, x, rng), "r": x + rng.normal(size=60)})
        one["late"] = one["r"] > 0
        frame = pd.concat([one.assign(c=c) for c in range(12)])
        found = regressed(frame, flip, response="r", clusters="c")()
        # Score and its variance given the secret, person by person, for the likelier secret of two.
        a, r = np.linalg.inv(flip.kernel)[:, 1], frame["r"].to_numpy()
        z = a[(frame["y"] == "yes").astype(int)].sum()
        left, right = r - found.values[0], r - found.values.sum()
        scores = np.array([[left - w * found.values[1], w * right] for w in a])
        scores = np.linalg.inv([[len(r), z], [z, z]]) @ scores
        varies = [
            np.tensordot(k, scores**2, 1) - np.tensordot(k, scores, 1) ** 2 for k in flip.kernel
        ]
        assert (found.errors**2 >= np.minimum(*varies).sum(axis=1) * (1 - 1e-9)).all()
        same(found.errors**2, found.covariance.diagonal())
        late = {"response": "late", "family": "logistic"}
        bound, whole = (regressed(frame, flip, clusters=c, **late)().errors for c in ("c", None))
        assert ((bound > 0.1 * whole) & (bound < whole)).all()
    both = md.Mechanism(np.eye(2), ["no", "yes"], ["no", "yes"])
    assert regressed(frame, both, response="r", clusters="c")().errors.max() < 1e-6


def test_slopes_of_a_rare_symbol_are_missed_where_the_model_is_false_and_only_there():
    """With a category of 5 %: the limit of many reports is that of secrets if the logit holds."""
    t = np.linspace(-2, 2, 21)
    public = np.column_stack([np.ones(21), t]).repeat(3, axis=0)
    flipped = np.ones((3, 3)) + math.expm1(2) * np.eye(3)
    for bend in (0, 0.8):
        ahead = [0 * t, -0.54 + 0.3 * t, -2.8 - 0.8 * t + bend * (t**2 - 0.77)]
        shares = softmax(-(t**2) / 2)[:, None] * softmax(ahead, axis=0).T
        slopes, limit = (
            latent.maximise_latent(
                4, np.tile(k.T, (21, 1))[:, None], public, (shares @ k).ravel(), np.zeros((1, 0))
            )[0][1::2]
            for k in (np.eye(3), flipped / flipped.sum(axis=1))
        )
        if bend:
            assert abs(limit[1] - slopes[1]) > 0.5
        else:
            same([slopes, limit], [[0.3, -0.8]] * 2, atol=1e-6)


# Where nothing is private they are those of everybody


def test_regressions_of_open_answers_are_those_of_statsmodels():
    y, w, cost, event = (OPENLY[name] for name in ("y", "w", "cost", "event"))
    design = [np.ones(1500), y == "b", y == "c", OPENLY["age"], OPENLY["sex"] == "m"]
    design = np.column_stack(design).astype(float)
    robust, plain = {"cov_type": "HC1"}, sm.Logit(event, design[:, :4])
    grouped = {"cov_type": "cluster", "cov_kwds": {"groups": OPENLY["c"]}}
    weighted, clustered = {"weights": "w"}, {"clusters": "c"}
    yes = md.Mechanism(np.eye(2), [0, 1], [0, 1])
    alone = sm.Logit(event, design[:, [0, 3]])
    for model, kind, column, kernel, options in (
        (sm.OLS(cost, design), robust, "y", OPEN, LINEAR),
        (sm.WLS(cost, design, weights=w), robust, "y", OPEN, LINEAR | weighted),
        (sm.WLS(cost, design, weights=w), grouped, "y", OPEN, LINEAR | weighted | clustered),
        (plain, {"cov_type": "nonrobust"}, "y", OPEN, EVENT),
        (plain, grouped, "y", OPEN, EVENT | clustered),
        (alone, {"cov_type": "nonrobust"}, "event", yes, EVENT),
    ):
        expected = model.fit(use_t=True, disp=0, **kind)
        found = regressed(OPENLY, kernel, column, **options)()
        same(found.values, expected.params, 1e-5)
        same(found.covariance, expected.cov_params(), 1e-4, 1e-9)
        same(found.upper, expected.conf_int().to_numpy()[:, 1], 0.02)
        by = "observed information" if kind["cov_type"] == "nonrobust" else "sandwich"
        assert found.errors_by == by
        assert found.freedom == 39 or kind is not grouped
    assert found.labels == ("(intercept)", "age")
    # Of more than two values each is compared with the first.
    expected = sm.MNLogit(OPENLY["x"], design[:, [0, 3]]).fit(disp=0)
    found = regressed(OPENLY, OPEN, **{**EVENT, "response": "y"})()
    assert found.labels == ("y=b", "y=b: age", "y=c", "y=c: age")
    same(found.values, expected.params.to_numpy().T.ravel(), 1e-4)
    same(found.errors, expected.bse.to_numpy().T.ravel(), 1e-4)


# Independent formulations


def test_moments_by_hand():
    """Weights that undo each kernel, for each product of columns of the design."""
    z, w = (
        np.linalg.inv(k.kernel)[[list(k.outputs).index(v) for v in TABLE[name]]]
        for name, k in BOTH.items()
    )
    cost, yes = TABLE["cost"].to_numpy(), w[:, 1]
    columns = np.column_stack([np.ones(1500), z[:, 1], z[:, 2], yes])
    moments = columns.T @ columns
    # Indicators of one column are squares of themselves, and no two of them are one.
    moments[[1, 2, 3], [1, 2, 3]] = columns[:, 1:].sum(axis=0)
    moments[1, 2] = moments[2, 1] = 0
    found = md.regress(TABLE, BOTH, response="cost")
    same(found.values, np.linalg.solve(moments, columns.T @ cost), 1e-9)
    assert found.labels == ("(intercept)", "y=b", "y=c", "w2=yes")
    assert (found.reference, found.column) == (("a", "no"), "y, w2")
    # A number, whose square is told apart from it; as a response, it stands for itself.
    values = np.array(list(NUMBERS.values()))
    v, feature = z @ values, {"feature": NUMBERS}
    moments = [[1500, v.sum()], [v.sum(), (z @ values**2).sum()]]
    found = regressed(TABLE, THREE, response="cost", **feature)()
    same(found.values, np.linalg.solve(moments, [cost.sum(), v @ cost]), 1e-9)
    found = regressed(TABLE, THREE, response="y", covariates=["cost"], **feature)()
    same(found.values[1], np.polyfit(cost, v, 1)[0], 1e-9)
    # One binary secret: the difference of two corrected means, with its error by the delta method.
    one, none = (yes @ cost) / yes.sum(), ((1 - yes) @ cost) / (1 - yes).sum()
    found = regressed(TABLE, FLIP, "w2", response="cost")()
    same(found.values, [none, one - none], 1e-10)
    parts = [(1 - yes) * (cost - none) / (1 - yes).mean(), yes * (cost - one) / yes.mean()]
    parts = np.array([parts[0], parts[1] - parts[0]])
    same(found.covariance, parts @ parts.T / 1500 / 1498, 1e-8)
    share, freedom = yes.mean(), found.freedom
    assert freedom == pytest.approx(share**2 * (1 - share) * 1500 / yes.var() - 1)
    wide = found.errors * math.sqrt((1 + 1 / freedom) / (1 + 1 / 1498))
    for end, sign in ((found.lower, -1), (found.upper, 1)):
        same(end, found.values + sign * student.ppf(0.975, freedom) * wide, 1e-9)
    same(found.pvalues, 2 * student.sf(np.abs(found.values) / wide, freedom), 1e-6)


def slow_likelihood(at, chances, public, mass, values):
    """The log-likelihood, person by person and symbol by symbol."""
    levels, width = chances.shape[2], public.shape[1]
    beta, alpha = np.split(at, [(levels - 1) * (width + values.shape[1])])
    beta = np.vstack([np.zeros(width + values.shape[1]), beta.reshape(levels - 1, -1)])
    alpha = np.vstack([np.zeros(width), alpha.reshape(-1, width)])
    total = 0.0
    for c, told, weight in zip(public, chances, mass, strict=True):
        ends = [softmax(beta @ [*c, *v]) @ told[x] for x, v in enumerate(values)]
        total += weight * math.log(softmax(alpha @ c) @ ends)
    return total


def test_the_likelihood_its_slope_and_its_information(monkeypatch):
    rng = np.random.default_rng(1)
    for symbols, levels in ((6, 2), (1, 3), (2, 3)):
        mass, values = rng.uniform(1, 2, 20), rng.normal(size=(symbols, 3))
        seen = rng.random((20, symbols, levels)), rng.normal(size=(20, 2)), mass, values
        at = rng.normal(size=(levels - 1) * 5 + (symbols - 1) * 2) * 0.5
        of_rows, scores, known, information, having = latent.parts(at, *seen)
        same(mass @ of_rows, slow_likelihood(at, *seen), 1e-12)
        for place, step in enumerate(1e-4 * np.eye(len(at))):
            ends = [slow_likelihood(at + sign * step, *seen) for sign in (1, -1)]
            same(mass @ scores[:, place], (ends[0] - ends[1]) / 2e-4, 1e-5, 1e-5)
            ends = [mass @ latent.parts(at + sign * step, *seen)[1] for sign in (1, -1)]
            same(-information[place], (ends[0] - ends[1]) / 2e-4, 1e-5, 1e-5)
        # What is hidden is a covariance: no error is below that of known secrets.
        assert np.linalg.eigvalsh(known - information)[0] > -1e-9
        assert having.sum() == pytest.approx(mass.sum())
        with monkeypatch.context() as patch:
            patch.setattr(latent, "_MOST_NUMBERS", 1)
            same(latent.parts(at, *seen)[3], information, 1e-9, 1e-9)


def test_what_changes_nothing():
    """Kinds of tables, units, one weight for all, rows that recur, and a mapping of one column."""
    rough = TABLE.assign(age=TABLE["age"] // 10, cost=TABLE["cost"].round(), w=7.0)
    rough["sex"] = pd.Categorical(rough["sex"], ["x", "f", "m"])
    for options in (LINEAR, EVENT):
        plain = regressed(TABLE, THREE, **options)()
        for table in (pl.from_pandas(TABLE).lazy(), [pa.Table.from_pandas(TABLE)]):
            same(regressed(table, THREE, **options)().covariance, plain.covariance, 1e-6)
        same(md.regress(TABLE, {"y": THREE}, **options).errors, plain.errors, 1e-9)
        scaled = regressed(TABLE.assign(age=TABLE["age"] * 1e6 + 1e7), THREE, **options)()
        same([scaled["age"] * 1e6, scaled["y=b"]], [plain["age"], plain["y=b"]], 1e-6)
        small = {label: number * 1e-9 for label, number in NUMBERS.items()}
        one, other = (
            regressed(TABLE, THREE, feature=f, **options)()["y"] for f in (NUMBERS, small)
        )
        same(other * 1e-9, one, 1e-6)
        heavy = regressed(rough, THREE, weights="w", **options)()
        twice = regressed(pd.concat([rough, rough]), THREE, **options)()
        same(twice.values, heavy.values, 1e-6)
        same(twice.errors * 2**0.5, heavy.errors, 0.15)
        assert (twice.reports, heavy.errors_by) == (3000, "sandwich")
    turned, plain = (md.regress(TABLE, SICK, reference={"sick": s}, **ALL) for s in ("yes", "no"))
    assert turned.reference == ("a", "no")
    same(turned.values, -plain.values, atol=1e-6)
    rough.loc[:99, "y"] = None
    refused(regressed(rough, THREE, **LINEAR), "100 rows")
    assert regressed(rough, THREE, missing="drop", **LINEAR)().reports == 1400


def test_reports_of_a_plan_and_what_is_shown():
    prior = md.Prior.from_csv("titanic", ["class", "sex"])
    plan = md.plan_columns(prior, None, md.LDP(4), joint=False)
    rng = np.random.default_rng(7)
    rows = [prior.labels[i] for i in rng.choice(8, 6000, p=prior.probabilities)]
    frame = pd.DataFrame(rows, columns=["class", "sex"])
    fare = frame["class"].map({"1st": 30, "2nd": 15, "3rd": 8, "crew": 0})
    frame["fare"] = np.round(fare + rng.normal(size=6000))
    found = md.regress(md.privatize(frame, plan, rng=8), plan, response="fare")
    truth = {"class=2nd": -15, "class=3rd": -22, "class=crew": -30, "sex=male": 0}
    assert found.note == ""
    for row in found.rows()[1:]:
        assert abs(row["estimate"] - truth[row["label"]]) < 5 * row["error"]
    assert "linear regression of fare on 6000 reports; columns class, sex priv" in repr(found)
    shown = repr(regressed(TABLE, FLIP, "sick", covariates=["age"], **ALL)())
    assert "response sick privatised" in shown
    assert "no receipt" in shown


# Over many samples


@pytest.mark.slow
def test_intervals_fail_below_five_events_and_hold_above(monkeypatch):
    """Surveys with two and with forty people of a symbol on average, were none refused."""
    monkeypatch.setattr(privatised, "_FEWEST", 0)
    rng, both = np.random.default_rng(5), md.Mechanism(np.eye(2), ["a", "b"], ["a", "b"])
    held = {2: 0, 40: 0}
    for events in [*held] * 300:
        x = rng.random(20 * events) < 0.05
        r = x + rng.normal(size=len(x)) * (1 + 3 * x)
        if x.any():
            frame = pd.DataFrame({"y": np.where(x, "b", "a"), "r": r})
            found = regressed(frame, both, response="r")()
            held[events] += found.lower[1] < 1 < found.upper[1]
    assert held[2] < 0.85 * 300
    assert held[40] > 0.91 * 300


@pytest.mark.slow
def test_intervals_cover_at_the_stated_rate_and_those_of_naive_regressions_do_not():
    rng = np.random.default_rng(2026)
    truths = [
        (BOTH, LINEAR, [1, 1, -0.5, 0.8, 0.05, 0.3]),
        ({"y": THREE}, EVENT, [-2.5, 1, -0.5, 0.05]),
        (SICK, ALL, [-0.5, 0.7, -0.6, 0.9]),
    ]
    hits, naive = np.zeros(14), np.zeros(6)
    for _ in range(100):
        # Rows that recur are merged.
        table = people(4000, rng)
        table["age"] = table["age"].round()
        made = [md.regress(table, kernels, **options) for kernels, options, _ in truths]
        truth = np.concatenate([truth for *_, truth in truths])
        lower, upper = (
            np.concatenate([getattr(each, end) for each in made]) for end in ("lower", "upper")
        )
        hits += (lower <= truth) & (truth <= upper)
        y, w = table["y"], table["w2"]
        columns = [np.ones(4000), y == "b", y == "c", w == "yes", table["age"], table["sex"] == "m"]
        plain = sm.OLS(table["cost"], np.column_stack(columns).astype(float)).fit(cov_type="HC1")
        lower, upper = plain.conf_int().to_numpy().T
        naive += (lower <= truth[:6]) & (truth[:6] <= upper)
    # 0.95 of 100 is 95 ± 2.2; fourteen coefficients.
    assert hits.min() >= 88, hits
    assert (naive[1:4] < 50).all(), naive
