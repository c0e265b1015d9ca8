"""Regressions with privatised columns: right where naive ones are not, and refused in time."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from checks import for_each, refused
from numpy.testing import assert_allclose as same
from scipy.special import expit, softmax
from scipy.stats import t as student
from statsmodels.tools.numdiff import approx_fprime, approx_hess

import mechdesign as md
from mechdesign.errors import PrecisionWarning
from mechdesign.inference import latent

FLIP = md.Mechanism([[0.85, 0.15], [0.25, 0.75]], [0, 1], [0, 1])
THREE = md.Mechanism([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8]], list("abc"), list("abc"))
OPEN, TOLD = (md.Mechanism(np.eye(k.shape[0]), k.inputs, k.outputs) for k in (THREE, FLIP))
BOTH = {"y": THREE, "z": FLIP}
NUMBERS, MERGED = {"a": 1.0, "b": 2.0, "c": 4.0}, {"a": "a", "b": "b", "c": "b"}
LINEAR = {"response": "cost", "covariates": ["age", "sex"]}
EVENT = {"response": "event", "covariates": ["age"], "family": "logistic"}


def reported(kernel, secrets, rng):
    """Reports for positions of inputs."""
    return np.array(kernel.outputs)[md.Sampler(kernel, rng=rng).draw_codes(secrets)]


def people(n, rng, three=THREE, flip=FLIP):
    """Secrets x and z that depend on age and each other; a cost and events that depend on them."""
    age, sex, chance = rng.normal(size=n).round(1), rng.choice(["f", "m"], n), rng.random((2, n))
    ahead = np.array([[0, 0.4, -0.5]]) + age[:, None] * [0, -0.3, 0.4]
    x = (ahead + rng.gumbel(size=(n, 3))).argmax(axis=1)
    by = np.array([[-0.2, 0.8, -0.6], [-0.5, 0.5, -1]])[:, x] + [0 * age, 0.5 * age]
    z, event = (chance < expit(by)).astype(int)
    cost = np.array([1, 2, 0.5])[x] + 0.5 * age + 0.3 * (sex == "m") + 0.8 * z
    frame = {"age": age, "sex": sex, "cost": cost + rng.normal(size=n) * (1 + 0.5 * (x == 2))}
    frame |= {"y": reported(three, x, rng), "z": reported(flip, z, rng), "event": event}
    return pd.DataFrame(frame | {"w": rng.uniform(0.5, 2, n), "c": rng.integers(0, 40, n)})


TABLE = people(1500, np.random.default_rng(0))


def regressed(frame, kernel, column="y", **options):
    return lambda: md.regress(frame, kernel, column, **options)


# What cannot be answered


def test_what_reports_do_not_tell_is_named_and_what_they_do_is_regressed_on():
    blind = md.Mechanism([[0.8, 0.2], [0.2, 0.8], [0.2, 0.8]], list("abc"), list("ab"))
    line = md.Mechanism([[0.6, 0.3, 0.1], [0.4, 0.35, 0.25], [0.2, 0.4, 0.4]], list("abc"))
    rng = np.random.default_rng(11)
    frame, other = (TABLE.assign(y=reported(k, np.arange(1500) % 3, rng)) for k in (blind, line))
    for options in (LINEAR, EVENT):
        refused(regressed(frame, blind, **options), "one whose reports tell 'b', 'c', got")
    assert regressed(frame, blind, feature=MERGED, **LINEAR)().reports
    refused(regressed(other, line, feature={"a": 1, "b": 2, "c": 3}, **LINEAR), "squares")
    split = TABLE.assign(age=(TABLE["event"] - 0.5) * (1 + TABLE["w"]))
    refused(regressed(split, THREE, **EVENT), "bound every coefficient", "age")
    # Just fewer reports of c than a and b would make.
    x = (rng.random(4000) < 0.4).astype(int)
    frame = pd.DataFrame({"y": reported(THREE, x, rng), "event": rng.random(4000) < expit(x - 0.5)})
    frame = frame[(frame["y"] != "c") | (rng.random(4000) < 0.9)]
    with pytest.warns(PrecisionWarning, match="do not show that 'c' occurs"):
        regressed(frame, THREE, feature=MERGED, response="event", family="logistic")()


@for_each(("mechanism", "options", "fragment"), [
        (THREE, {"response": "sex"}, "1500 rows without one"),
        (THREE, {"family": "logistic"}, "two different values"),
        (THREE, {"response": "y"}, "at least one"),
        (THREE, {"covariates": ["y"]}, "different names"),
        (THREE, {"covariates": "age"}, "a list of"),
        (THREE, {"covariates": ["age", "years"]}, "'years'"),
        (THREE, {"response": "y", "covariates": ["age"]}, "a number for each symbol"),
        (THREE, {"strata": "alone"}, "one person in 1 of 2"),
        (THREE, {"feature": NUMBERS, "reference": "a"}, "is a number"),
        (THREE, {**EVENT, "response": "y", "feature": NUMBERS}, "left out"),
        (BOTH, {"column": 3}, "column names"),
        (BOTH, {"column": [], "response": np.ones(2)}, "column names"),
        (BOTH, {"feature": np.ones(2)}, "of feature=: expected one of y, z"),
        (BOTH, {"reference": "a"}, "of reference=: expected one of y, z"),
    ])  # fmt: skip
def test_what_cannot_be_regressed_is_refused(mechanism, options, fragment):
    frame = TABLE.assign(years=TABLE["age"] * 2 + 1, alone=["x", *["y"] * 1499])
    options = {"column": None if mechanism is BOTH else "y", "response": "cost", **options}
    found = refused(regressed(frame, mechanism, **options), fragment)
    assert str(TABLE["cost"][0]) not in str(found)


# Few events, and the noise that is known


def counted(*counts):
    reports = np.repeat(list("abc")[: len(counts)], counts)
    each, cost = np.arange(len(reports)), np.random.default_rng(3).normal(size=len(reports))
    return pd.DataFrame({"y": reports, "cost": cost, "event": each % 2, "c": each // 4})


def test_fewer_than_five_effective_events_are_refused():
    """Of an identity kernel they are people, or clusters that are alike; noise takes from them."""
    cost, mixed = {"response": "cost"}, (THREE.kernel.T @ [735, 735, 30]).round().astype(int)
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
        refused(regressed(counted(*mixed), THREE, **options), "y=c")
    alike = pd.concat([counted(6, 7, 4).assign(c=c) for c in range(5)])
    refused(regressed(alike, THREE, clusters="c", **cost), "y=c")
    # Reports that show no variance of the secret, and one that might be chance.
    for p in (0.51, 0.55):
        weak = md.Mechanism([[p, 1 - p], [1 - p, p]], [0, 1], ["a", "b"], normalise=True)
        refused(regressed(counted(100, 110), weak, feature={0: 0, 1: 3}, **cost), "tell of 'y'")
    frame = TABLE.assign(w=1.0 - TABLE["event"])
    refused(regressed(frame, THREE, weights="w", **EVENT), "event=1")


def test_no_error_is_below_what_the_mechanism_is_known_to_add():
    """Clusters alike have an observed spread of zero, and reports noise nonetheless."""
    rng, flip = np.random.default_rng(6), md.Mechanism([[0.9, 0.1], [0.4, 0.6]], [0, 1], [0, 1])
    x, z = rng.integers(0, 2, (2, 300))
    frame = {"y": reported(flip, x, rng), "z": reported(flip, z, rng), "r": x + z + x * z / 30}
    frame["late"] = x + rng.normal(size=300) > 0
    frame = pd.concat([pd.DataFrame(frame).assign(c=c) for c in range(12)])
    found = regressed(frame, flip, response="r", clusters="c")()
    *_, bread, scores, known = unfolded(frame, "r", ("y", flip, [[0], [1]]))
    same(found.covariance, bread @ (scores.T @ scores - known) @ bread, 1e-7)
    same(found.errors**2, found.covariance.diagonal())
    # Of two secrets that determine the response all that is seen to vary is noise.
    for kernel, column, options, least, most in (
        ({"y": flip, "z": flip}, None, {"response": "r"}, 0.85, 1.05),
        (flip, "y", {"response": "late", "family": "logistic"}, 0.1, 1),
        (TOLD, "y", {"response": "late"}, -1, 1e-6),
    ):
        bound, whole = (
            md.regress(frame, kernel, column, clusters=c, **options).errors for c in ("c", None)
        )
        assert ((bound > least * whole) & (bound < most * whole)).all()


def test_slopes_of_a_rare_symbol_are_missed_where_the_model_is_false_and_only_there():
    """With a category of 5 %: the limit of many reports is that of secrets if the logit holds."""
    t = np.linspace(-2, 2, 21)
    public = np.column_stack([t**0, t]).repeat(3, axis=0)
    for bend in (0, 0.8):
        ahead = [0 * t, -0.54 + 0.3 * t, -2.8 - 0.8 * t + bend * (t**2 - 0.77)]
        shares, slopes = softmax(-(t**2) / 2)[:, None] * softmax(ahead, axis=0).T, []
        for kernel in (np.eye(3), (np.ones((3, 3)) + 6 * np.eye(3)) / 9):
            seen = public, (shares @ kernel).ravel(), np.tile(kernel, 21)[:, None]
            slopes.append(latent.maximise_latent(4, *seen, np.zeros((1, 0)))[0][3])
        assert (abs(slopes[0] - slopes[1]) > 0.5) == (bend > 0)
        assert bend or slopes == pytest.approx([-0.8, -0.8])


# Independent formulations


def test_regressions_of_open_answers_are_those_of_statsmodels():
    frame = people(1500, np.random.default_rng(0), OPEN, TOLD)
    y, cost, event = frame["y"], frame["cost"], frame["event"]
    design = [np.ones(1500), y == "b", y == "c", frame["age"], frame["sex"] == "m"]
    design = np.column_stack(design).astype(float)
    robust, simple = {"cov_type": "HC1"}, {"cov_type": "nonrobust"}
    grouped = {"cov_type": "cluster", "cov_kwds": {"groups": frame["c"]}}
    logit, weighed = sm.Logit(event, design[:, :4]), {"clusters": "c", "weights": "w"}
    for model, kind, options in (
        (sm.OLS(cost, design), robust, LINEAR),
        (sm.WLS(cost, design, weights=frame["w"]), grouped, LINEAR | weighed),
        (logit, simple, EVENT),
        (logit, grouped, EVENT | {"clusters": "c"}),
    ):
        expected, found = model.fit(use_t=True, disp=0, **kind), regressed(frame, OPEN, **options)()
        same(found.values, expected.params, 1e-5)
        same(found.covariance, expected.cov_params(), 1e-4, 1e-9)
        same(found.lower, expected.conf_int().to_numpy()[:, 0], 0.02)
        assert found.errors_by == ("observed information" if kind is simple else "sandwich")
        assert found.freedom == 39 or kind is not grouped
    # Of more than two values each is compared with the first.
    for column, kernel, labels in (
        ("y", OPEN, ("y=b", "y=b: age", "y=c", "y=c: age")),
        ("z", TOLD, ("(intercept)", "age")),
    ):
        expected = sm.MNLogit(frame[column], design[:, [0, 3]]).fit(disp=0)
        found = regressed(frame, kernel, column, **EVENT | {"response": column})()
        assert found.labels == labels
        for ours, theirs in ((found.values, expected.params), (found.errors, expected.bse)):
            same(ours, theirs.to_numpy().T.ravel(), 1e-4)


def unfolded(frame, response, *columns):
    """Least squares over all secrets that may have made each report, with weights that undo each
    kernel in place of knowing the secrets: coefficients, the inverse of their slope, scores, and
    what their squares are were secrets known.

    ``columns`` have a name, a kernel and the columns of the design for each symbol.
    """
    rows = []
    for secrets in product(*(range(len(values)) for *_, values in columns)):
        z, w = [1], 1
        for (name, kernel, values), x in zip(columns, secrets, strict=True):
            z = [*z, *values[x]]
            w = w * np.linalg.inv(kernel.kernel)[frame[name].map(kernel.outputs.index), x]
        rows.append((np.tile(z, (len(frame), 1)), w[:, None], frame[[response]].to_numpy()))
    bread = np.linalg.inv(sum(z.T @ (w * z) for z, w, _ in rows))
    at = bread @ sum(z.T @ (w * r) for z, w, r in rows)
    each = [(w, z * (r - z @ at)) for z, w, r in rows]
    scores, known = sum(w * score for w, score in each), sum(s.T @ (w * s) for w, s in each)
    return at.ravel(), bread, scores, known


def test_least_squares_over_all_secrets_that_may_have_made_each_report():
    groups, yes = ("y", THREE, np.eye(3)[:, 1:]), ("z", FLIP, [[0], [1]])
    feature, number = {"feature": {"y": NUMBERS}}, ("y", THREE, [[1], [2], [4]])
    for kernels, options, columns in (
        (BOTH, {}, (groups, yes)),
        ({"y": THREE}, feature, (number,)),
        ({"z": FLIP}, {}, (yes,)),
    ):
        found = md.regress(TABLE, kernels, response="cost", **options)
        at, bread, scores, _ = unfolded(TABLE, "cost", *columns)
        base = 1500 - len(at)
        same(found.values, at, 1e-9)
        same(found.covariance, bread @ scores.T @ scores @ bread * 1500 / base, 1e-7, 1e-9)
        assert found.column == ", ".join(kernels)
    assert found.reference == (0,)
    told, freedom = np.linalg.inv(FLIP.kernel)[TABLE["z"], 0], found.freedom
    same(freedom, told.mean() ** 2 * (1 - told.mean()) * 1500 / told.var() - 1)
    wide = found.errors * math.sqrt((1 + 1 / freedom) / (1 + 1 / base))
    half = student.ppf(0.975, freedom) * wide
    same([found.lower, found.upper], [found.values - half, found.values + half])
    same(found.pvalues, 2 * student.sf(np.abs(found.values) / wide, freedom), 1e-6)
    # A response stands for itself.
    found = md.regress(TABLE, {"y": THREE}, response="y", covariates=["cost"], **feature)
    v = (np.linalg.inv(THREE.kernel) @ [1, 2, 4])[TABLE["y"].map("abc".index)]
    same(found.values, np.polyfit(TABLE["cost"], v, 1)[::-1], 1e-9)


def likelihood(at, public, mass, chances, values):
    """The log-likelihood, where every public covariate and every value has two columns."""
    beta, alpha = np.split(at, [(chances.shape[1] - 1) * 4])
    beta, alpha = (np.pad(x.reshape(-1, k), ((1, 0), (0, 0))).T for x, k in ((beta, 4), (alpha, 2)))
    responses = softmax((public @ beta[:2])[:, None] + values @ beta[2:], axis=2)
    secrets = softmax(public @ alpha, axis=1)
    return mass @ np.log(np.einsum("rs,rsq,sqr->r", secrets, responses, chances))


def test_the_likelihood_its_slope_and_its_information(monkeypatch):
    rng = np.random.default_rng(1)
    for symbols, levels in ((6, 2), (1, 3), (2, 3)):
        public, values = rng.normal(size=(20, 2)), rng.normal(size=(symbols, 2))
        mass, at = rng.uniform(1, 2, 20), rng.normal(size=levels * 4 + symbols * 2 - 6) * 0.5
        seen = public, mass, rng.random((symbols, levels, 20)), values
        for most in (4_000_000, 900):
            monkeypatch.setattr(latent, "_MOST_NUMBERS", most)
            of_rows, scores, _, information, _ = latent.parts(at, *seen)
            same(mass @ of_rows, likelihood(at, *seen), 1e-12)
            slope = approx_fprime(at, likelihood, args=seen, centered=True)
            same(mass @ scores, slope, 1e-5, 1e-5)
            same(-information, approx_hess(at, likelihood, args=seen), 1e-4, 1e-4)


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
    # Numbers far from zero move the intercept alone, and scales the slopes of theirs.
    moved = rough.assign(age=rough["age"] * 1e3 + 1e7, cost=rough["cost"] + 1e7)
    away = {x: 1e-3 * v + 1e7 for x, v in NUMBERS.items()}
    for options in (LINEAR, EVENT, {"response": "y", "covariates": ["age"]}):
        plain = regressed(rough, THREE, feature=NUMBERS, **options)()
        found = regressed(moved, THREE, feature=away, **options)()
        units = [{"age": 1e3, "y": 1e-3}.get(name, 1) for name in found.labels[1:]]
        unit = 1e3 if options["response"] == "y" else 1
        same(found.values[1:] * units * unit, plain.values[1:], 1e-6)
        same(found.errors[1:] * units * unit, plain.errors[1:], 1e-6)
    turned, plain = (
        md.regress(TABLE, BOTH, reference={"z": s}, response="z", family="logistic") for s in (1, 0)
    )
    same(turned.values, -plain.values, atol=1e-6)
    rough.loc[:99, "y"] = None
    assert md.regress(rough, {"y": THREE}, missing="drop", **LINEAR).reports == 1400


@pytest.mark.slow
def test_intervals_cover_at_the_stated_rate_and_those_of_naive_regressions_do_not():
    rng, hits = np.random.default_rng(2026), 0
    truth = [1, 1, -0.5, 0.8, 0.5, 0.3, -0.5, 1, -0.5, 0.5, -0.2, 1, -0.4]
    truth = np.array([*truth, *truth[:6]])
    for _ in range(100):
        table = people(4000, rng)
        made = [
            md.regress(table, BOTH, **LINEAR),
            regressed(table, THREE, **EVENT)(),
            md.regress(table, BOTH, response="z", family="logistic"),
            md.regress(table, {"y": OPEN, "z": TOLD}, **LINEAR),
        ]
        lower, upper = (np.concatenate([getattr(m, x) for m in made]) for x in ("lower", "upper"))
        hits = hits + ((lower <= truth) & (truth <= upper))
    # 0.95 of 100 is 95 ± 2.2; thirteen coefficients, and reports taken for secrets.
    assert hits[:13].min() >= 88, hits
    assert hits[14:17].max() < 50, hits
