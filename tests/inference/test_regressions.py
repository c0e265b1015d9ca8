"""Regressions with privatised columns: right where naive ones are not, and refused in time."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from checks import for_each, refused
from numpy.testing import assert_allclose as same
from scipy.special import expit, softmax
from scipy.stats import t as student

import mechdesign as md
from mechdesign.errors import PrecisionWarning
from mechdesign.inference import latent, privatised

FLIP = md.Mechanism([[0.85, 0.15], [0.25, 0.75]], [0, 1], [0, 1])
THREE = md.Mechanism([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8]], list("abc"), list("abc"))
OPEN, TOLD = (md.Mechanism(np.eye(k.shape[0]), k.inputs, k.outputs) for k in (THREE, FLIP))
BOTH = {"y": THREE, "z": FLIP}
NUMBERS = {"a": 1.0, "b": 2.0, "c": 4.0}
LINEAR = {"response": "cost", "covariates": ["age", "sex"]}
EVENT = {"response": "event", "covariates": ["age"], "family": "logistic"}
SICK = {"response": "sick", "family": "logistic"}


def reported(kernel, secrets, rng):
    """Reports for positions of inputs."""
    below = kernel.kernel.cumsum(axis=1)[secrets, :-1] < rng.random((len(secrets), 1))
    return np.array(kernel.outputs)[below.sum(axis=1)]


def people(n, rng, three=THREE, flip=FLIP):
    """Secrets x and z that depend on age and each other; a cost and events that depend on them."""
    age, sex = rng.normal(size=n).round(1), rng.choice(["f", "m"], n)
    ahead = np.array([[0, 0.4, -0.5]]) + age[:, None] * [0, -0.3, 0.4]
    x = (ahead + rng.gumbel(size=(n, 3))).argmax(axis=1)
    z, event, sick = (
        (rng.random(n) < expit(np.array(by)[x] + more)).astype(int)
        for by, more in (([-1, 0, -1], 0), ([-0.5, 0.5, -1], 0.5 * age), ([-0.2, 0.8, -0.6], 0))
    )
    cost = np.array([1, 2, 0.5])[x] + 0.5 * age + 0.3 * (sex == "m") + 0.8 * z
    frame = {"age": age, "sex": sex, "cost": cost + rng.normal(size=n) * (1 + 0.5 * (x == 2))}
    for name, kernel, secret in (("y", three, x), ("z", flip, z), ("sick", flip, sick)):
        frame[name] = reported(kernel, secret, rng)
    frame |= {"event": event, "w": rng.uniform(0.5, 2, n), "c": rng.integers(0, 40, n)}
    return pd.DataFrame(frame)


TABLE = people(1500, np.random.default_rng(0))


def regressed(frame, kernel, column="y", **options):
    return lambda: md.regress(frame, kernel, column, **options)


# What cannot be answered


def test_what_reports_do_not_tell_is_named():
    blind = md.Mechanism([[0.8, 0.2], [0.2, 0.8], [0.2, 0.8]], list("abc"), list("ab"))
    line = md.Mechanism([[0.6, 0.3, 0.1], [0.4, 0.35, 0.25], [0.2, 0.4, 0.4]], list("abc"))
    secrets, rng = np.arange(1500) % 3, np.random.default_rng(1)
    frame = TABLE.assign(y=reported(blind, secrets, rng))
    for options in (LINEAR, EVENT):
        refused(regressed(frame, blind, **options), "one whose reports tell 'b', 'c', got")
    # What it tells can be regressed on.
    assert regressed(frame, blind, feature={"a": "a", "b": "b", "c": "b"}, **LINEAR)().reports
    frame["y"] = reported(line, secrets, rng)
    refused(regressed(frame, line, feature={"a": 1, "b": 2, "c": 3}, **LINEAR), "squares")


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
    with pytest.warns(PrecisionWarning, match="do not show that 'c' occurs"):
        found = regressed(frame, THREE, feature={"a": "a", "b": "b", "c": "b"}, **options)()
    assert found.lower[1] < 1 < found.upper[1]


@for_each(("mechanism", "options", "fragment"), [
        (THREE, {"response": "sex"}, "1500 rows without one"),
        (THREE, {"response": "cost", "family": "logistic"}, "two different values"),
        (THREE, {"response": "y"}, "at least one"),
        (THREE, {"response": "cost", "covariates": ["y"]}, "different names"),
        (THREE, {"response": "cost", "covariates": "age"}, "a list of"),
        (THREE, {"response": "cost", "covariates": ["age", "years"]}, "'years'"),
        (THREE, {"response": "y", "covariates": ["age"]}, "a number for each symbol"),
        (THREE, {"response": "cost", "strata": "alone"}, "one person in 1 of 2"),
        (THREE, {"response": "cost", "feature": NUMBERS, "reference": "a"}, "is a number"),
        (THREE, {**EVENT, "response": "y", "feature": NUMBERS}, "left out"),
        (md.subset_selection(4, md.LDP(1.0)), {"response": "cost"}, "matrix"),
        (BOTH, {"column": 3, "response": np.ones(2), "feature": np.ones(2)}, "privatised column"),
        (BOTH, {"column": [], "response": "cost"}, "different names"),
        (BOTH, {"response": "cost", "reference": "a"}, "of reference=: expected one of y, z"),
    ])  # fmt: skip
def test_what_cannot_be_regressed_is_refused(mechanism, options, fragment):
    frame = TABLE.assign(years=TABLE["age"] * 2 + 1, alone=["x", *["y"] * 1499])
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
        assert made.freedom == pytest.approx(freedom)
        # Thirty people with the symbol, of 1500, are lost in the reports of others.
        mixed = (THREE.kernel.T @ [735, 735, 30]).round().astype(int)
        refused(regressed(counted(*mixed), THREE, **options), "y=c")
    alike = pd.concat([counted(6, 7, 4).assign(c=c) for c in range(5)])
    refused(regressed(alike, THREE, clusters="c", **cost), "y=c")
    weak = md.Mechanism([[0.51, 0.49], [0.49, 0.51]], [0, 1], ["a", "b"])
    refused(regressed(counted(100, 110), weak, feature={0: 0, 1: 3}, **cost), "tell of 'y'")
    frame = TABLE.assign(w=1.0 - TABLE["event"])
    refused(regressed(frame, THREE, weights="w", **EVENT), "event=1")


def test_intervals_of_five_people_or_clusters_are_those_of_student():
    """With normal quantiles, as good as those of sixty people or clusters, they hold in < 90 %."""
    rng = np.random.default_rng(8)
    for size in (1, 4):
        cluster = np.arange(60 * size) // size
        x = np.column_stack([np.ones(60 * size), cluster < 5])
        r = rng.normal(size=(3000, 60))[:, cluster] + (size > 1) * rng.normal(
            size=(3000, 60 * size)
        )
        frame = pd.DataFrame({"y": x[:, 1].astype(int), "r": r[0], "c": cluster})
        found = regressed(frame, TOLD, response="r", clusters=["c", None][size == 1])()
        bread = np.linalg.inv(x.T @ x)
        ahead = r @ x @ bread
        scores = (r - ahead @ x.T) * (x @ bread[1])
        errors = np.sqrt((scores.reshape(3000, 60, size).sum(axis=2) ** 2).sum(axis=1))
        ratio = (found.upper - found.values)[1] / errors[0]
        held = [(np.abs(ahead[:, 1]) <= k * errors).mean() for k in (2, ratio)]
        assert held[0] < 0.9
        assert 0.94 <= held[1] < 0.975


def test_no_error_is_below_what_the_mechanism_is_known_to_add():
    """Clusters alike have an observed spread of zero, and reports noise nonetheless."""
    rng, x = np.random.default_rng(6), (np.arange(60) % 3 == 0).astype(int)
    flip = md.Mechanism([[0.9, 0.1], [0.4, 0.6]], [0, 1], [0, 1])
    one = pd.DataFrame({"y": reported(flip, x, rng), "r": x + rng.normal(size=60)})
    frame = pd.concat([one.assign(c=c, late=one["r"] > 0) for c in range(12)])
    found = regressed(frame, flip, response="r", clusters="c")()
    # Score and its variance given the secret, person by person, for the likelier secret of two.
    a, r = np.linalg.inv(flip.kernel)[:, 1], frame["r"].to_numpy()
    left, right, z = r - found.values[0], r - found.values.sum(), a[frame["y"]].sum()
    scores = np.array([[left - w * found.values[1], w * right] for w in a])
    scores = np.linalg.inv([[len(r), z], [z, z]]) @ scores
    squares, means = (np.tensordot(flip.kernel, scores**k, 1) for k in (2, 1))
    assert (found.errors**2 >= (squares - means**2).min(axis=0).sum(axis=1)).all()
    same(found.errors**2, found.covariance.diagonal())
    late = {"response": "late", "family": "logistic"}
    bound, whole = (regressed(frame, flip, clusters=c, **late)().errors for c in ("c", None))
    assert ((bound > 0.1 * whole) & (bound < whole)).all()
    assert regressed(frame, TOLD, response="r", clusters="c")().errors.max() < 1e-6
    # Two secrets that determine the response: all that is seen to vary is noise.
    x, z = rng.integers(0, 2, (2, 300))
    one = {
        "y": reported(flip, x, rng),
        "z": reported(flip, z, rng),
        "r": x + z + rng.normal(size=300) / 30,
    }
    frame = pd.concat([pd.DataFrame(one).assign(c=c) for c in range(12)])
    bound, whole = (
        md.regress(frame, {"y": flip, "z": flip}, response="r", clusters=c).errors
        for c in ("c", None)
    )
    assert (np.abs(bound / whole - 0.95) < 0.1).all()


def test_slopes_of_a_rare_symbol_are_missed_where_the_model_is_false_and_only_there():
    """With a category of 5 %: the limit of many reports is that of secrets if the logit holds."""
    t = np.linspace(-2, 2, 21)
    public = np.column_stack([t**0, t]).repeat(3, axis=0)
    for bend in (0, 0.8):
        ahead = [0 * t, -0.54 + 0.3 * t, -2.8 - 0.8 * t + bend * (t**2 - 0.77)]
        shares, slopes = softmax(-(t**2) / 2)[:, None] * softmax(ahead, axis=0).T, []
        for kernel in (np.eye(3), (np.ones((3, 3)) + 6 * np.eye(3)) / 9):
            seen = np.tile(kernel.T, (21, 1))[:, None], public, (shares @ kernel).ravel()
            slopes.append(latent.maximise_latent(4, *seen, np.zeros((1, 0)))[0][3])
        assert (abs(slopes[0] - slopes[1]) > 0.5) == (bend > 0)
        assert bend or slopes == pytest.approx([-0.8, -0.8])


# Where nothing is private they are those of everybody


def test_regressions_of_open_answers_are_those_of_statsmodels():
    frame = people(1500, np.random.default_rng(0), OPEN, TOLD)
    y, z, w, cost, event = (frame[name] for name in ("y", "z", "w", "cost", "event"))
    design = [np.ones(1500), y == "b", y == "c", frame["age"], frame["sex"] == "m"]
    design = np.column_stack(design).astype(float)
    robust, simple = {"cov_type": "HC1"}, {"cov_type": "nonrobust"}
    grouped = {"cov_type": "cluster", "cov_kwds": {"groups": frame["c"]}}
    clustered = {"clusters": "c"}
    logit, alone = sm.Logit(event, design[:, :4]), sm.Logit(z, design[:, [0, 3]])
    for model, kind, column, kernel, options in (
        (sm.OLS(cost, design), robust, "y", OPEN, LINEAR),
        (
            sm.WLS(cost, design, weights=w),
            grouped,
            "y",
            OPEN,
            LINEAR | clustered | {"weights": "w"},
        ),
        (logit, simple, "y", OPEN, EVENT),
        (logit, grouped, "y", OPEN, EVENT | clustered),
        (alone, simple, "z", TOLD, EVENT | {"response": "z"}),
    ):
        expected = model.fit(use_t=True, disp=0, **kind)
        found = regressed(frame, kernel, column, **options)()
        same(found.values, expected.params, 1e-5)
        same(found.covariance, expected.cov_params(), 1e-4, 1e-9)
        same(found.lower, expected.conf_int().to_numpy()[:, 0], 0.02)
        assert found.errors_by == ("observed information" if kind is simple else "sandwich")
        assert found.freedom == 39 or kind is not grouped
    assert found.labels == ("(intercept)", "age")
    # Of more than two values each is compared with the first.
    expected = sm.MNLogit(y, design[:, [0, 3]]).fit(disp=0)
    found = regressed(frame, OPEN, **EVENT | {"response": "y"})()
    assert found.labels == ("y=b", "y=b: age", "y=c", "y=c: age")
    for ours, theirs in ((found.values, expected.params), (found.errors, expected.bse)):
        same(ours, theirs.to_numpy().T.ravel(), 1e-4)


# Independent formulations


def test_moments_by_hand():
    """Weights that undo each kernel, for each product of columns of the design."""
    undo = {name: np.linalg.inv(k.kernel) for name, k in BOTH.items()}
    y, yes = undo["y"][TABLE["y"].map("abc".index)], undo["z"][TABLE["z"], 1]
    cost, values = TABLE["cost"].to_numpy(), np.array([*NUMBERS.values()])
    columns = np.column_stack([np.ones(1500), y[:, 1], y[:, 2], yes])
    moments = columns.T @ columns
    # Indicators of one column are squares of themselves, and no two of them are one.
    moments[[1, 2, 3], [1, 2, 3]] = columns[:, 1:].sum(axis=0)
    moments[1, 2] = moments[2, 1] = 0
    found = md.regress(TABLE, BOTH, response="cost")
    same(found.values, np.linalg.solve(moments, columns.T @ cost), 1e-9)
    assert (found.reference, found.column) == (("a", 0), "y, z")
    # A number, whose square is told apart from it; a response stands for itself.
    v, feature = y @ values, {"feature": NUMBERS}
    moments = [[1500, v.sum()], [v.sum(), (y @ values**2).sum()]]
    found = regressed(TABLE, THREE, response="cost", **feature)()
    same(found.values, np.linalg.solve(moments, [cost.sum(), v @ cost]), 1e-9)
    found = regressed(TABLE, THREE, response="y", covariates=["cost"], **feature)()
    same(found.values, np.polyfit(cost, v, 1)[::-1], 1e-9)
    # One binary secret: the difference of two corrected means, with its error by the delta method.
    one, none = (yes @ cost) / yes.sum(), ((1 - yes) @ cost) / (1 - yes).sum()
    found = regressed(TABLE, FLIP, "z", response="cost")()
    same(found.values, [none, one - none], 1e-10)
    parts = [(1 - yes) * (cost - none) / (1 - yes).mean(), yes * (cost - one) / yes.mean()]
    parts = np.array([parts[0], parts[1] - parts[0]])
    same(found.covariance, parts @ parts.T / 1500 / 1498, 1e-8)
    share, freedom = yes.mean(), found.freedom
    same(freedom, share**2 * (1 - share) * 1500 / yes.var() - 1)
    wide = found.errors * math.sqrt((1 + 1 / freedom) / (1 + 1 / 1498))
    half = student.ppf(0.975, freedom) * wide
    same([found.lower, found.upper], [found.values - half, found.values + half])
    same(found.pvalues, 2 * student.sf(np.abs(found.values) / wide, freedom), 1e-6)


def likelihood(at, chances, public, mass, values):
    """The log-likelihood, where every public covariate and every value has two columns."""
    beta, alpha = np.split(at, [(chances.shape[2] - 1) * 4])
    beta, alpha = (np.pad(x.reshape(-1, k), ((1, 0), (0, 0))).T for x, k in ((beta, 4), (alpha, 2)))
    responses = softmax((public @ beta[:2])[:, None] + values @ beta[2:], axis=2)
    secrets = softmax(public @ alpha, axis=1)
    return mass @ np.log(np.einsum("rs,rsq,rsq->r", secrets, responses, chances))


def test_the_likelihood_its_slope_and_its_information(monkeypatch):
    rng = np.random.default_rng(1)
    for symbols, levels in ((6, 2), (1, 3), (2, 3)):
        public, values = rng.normal(size=(20, 2)), rng.normal(size=(symbols, 2))
        mass, at = rng.uniform(1, 2, 20), rng.normal(size=levels * 4 + symbols * 2 - 6) * 0.5
        seen = rng.random((20, symbols, levels)), public, mass, values
        of_rows, scores, _, information, _ = latent.parts(at, *seen)
        same(mass @ of_rows, likelihood(at, *seen), 1e-12)
        for place, step in enumerate(1e-4 * np.eye(len(at))):
            slope = likelihood(at + step, *seen) - likelihood(at - step, *seen)
            same(mass @ scores[:, place], slope / 2e-4, 1e-5, 1e-5)
            monkeypatch.setattr(latent, "_MOST_NUMBERS", 500)
            ends = [mass @ latent.parts(at + sign * step, *seen)[1] for sign in (1, -1)]
            same(-information[place], (ends[0] - ends[1]) / 2e-4, 1e-5, 1e-5)


def test_what_changes_nothing():
    """Units, one weight for all, rows that recur, and which value of a response is first."""
    rough = TABLE.assign(age=TABLE["age"].round(), cost=TABLE["cost"].round(), w=7.0)
    rough["sex"] = pd.Categorical(rough["sex"], ["x", "f", "m"])
    for options in (LINEAR, EVENT):
        plain = regressed(rough, THREE, **options)()
        heavy = regressed(rough, THREE, weights="w", **options)()
        twice = regressed(pd.concat([rough, rough]), THREE, **options)()
        for other, by, within in ((heavy, 1, 0.15), (twice, 2**0.5, 0.01)):
            same(other.values, plain.values, 1e-6)
            same(other.errors * by, plain.errors, within)
        scaled = regressed(rough.assign(age=rough["age"] * 1e6 + 1e7), THREE, **options)()
        same([scaled["age"] * 1e6, scaled["y=b"]], [plain["age"], plain["y=b"]], 1e-6)
        one, other = (
            regressed(rough, THREE, feature=lambda x, k=k: NUMBERS[x] * k, **options)()["y"] * k
            for k in (1, 1e-9)
        )
        same(other, one, 1e-6)
    kernels = {**BOTH, "sick": FLIP}
    turned, plain = (md.regress(TABLE, kernels, reference={"sick": s}, **SICK) for s in (1, 0))
    same(turned.values, -plain.values, atol=1e-6)
    rough.loc[:99, "y"] = None
    assert md.regress(rough, {"y": THREE}, missing="drop", **LINEAR).reports == 1400


# Over many samples


@pytest.mark.slow
def test_intervals_fail_below_five_events_and_hold_above(monkeypatch):
    """Surveys with two and with forty people of a symbol on average, were none refused."""
    monkeypatch.setattr(privatised, "_FEWEST", 0)
    rng, held = np.random.default_rng(5), {2: 0, 40: 0}
    for events in [*held] * 120:
        x = (rng.random(20 * events) < 0.05).astype(int)
        if x.any():
            frame = pd.DataFrame({"y": x, "r": x + rng.normal(size=len(x)) * (1 + 3 * x)})
            found = regressed(frame, TOLD, response="r")()
            held[events] += found.lower[1] < 1 < found.upper[1]
    assert held[2] < 0.85 * 120
    assert held[40] > 0.88 * 120


@pytest.mark.slow
def test_intervals_cover_at_the_stated_rate_and_those_of_naive_regressions_do_not():
    rng, hits = np.random.default_rng(2026), np.zeros(20)
    truth = [1, 1, -0.5, 0.8, 0.5, 0.3, -0.5, 1, -0.5, 0.5, -0.2, 1, -0.4, 0]
    truth = np.array([*truth, *truth[:6]])
    for _ in range(100):
        # Rows that recur are merged.
        table = people(4000, rng)
        made = [
            md.regress(table, BOTH, **LINEAR),
            regressed(table, THREE, **EVENT)(),
            md.regress(table, {**BOTH, "sick": FLIP}, **SICK),
            md.regress(table, {"y": OPEN, "z": TOLD}, **LINEAR),
        ]
        lower, upper = (
            np.concatenate([getattr(m, end) for m in made]) for end in ("lower", "upper")
        )
        hits += (lower <= truth) & (truth <= upper)
    # 0.95 of 100 is 95 ± 2.2; fourteen coefficients, and reports taken for secrets.
    assert hits[:14].min() >= 88, hits
    assert hits[15:18].max() < 50, hits
