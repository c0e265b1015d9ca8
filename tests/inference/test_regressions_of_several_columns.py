"""Regressions of several privatised columns: corrected for all kernels at once, with errors."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from checks import for_each
from scipy.optimize import minimize

import mechdesign as md
from mechdesign.errors import DataError, InputError, UnknownNameError

THREE = md.Mechanism(
    [[0.8, 0.1, 0.1], [0.15, 0.7, 0.15], [0.1, 0.1, 0.8]], ["a", "b", "c"], ["a", "b", "c"]
)
TWO = md.Mechanism([[0.8, 0.2], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
BOTH = {"z": THREE, "w": TWO}


def reported(kernel, secrets, rng):
    below = np.cumsum(kernel.kernel[secrets], axis=1)[:, :-1]
    return np.array(kernel.outputs)[(rng.random(len(secrets))[:, None] > below).sum(axis=1)]


def people(n, rng):
    """Two dependent secrets; both the mean of y and the odds of r are additive in them."""
    z = rng.choice(3, n, p=[0.4, 0.35, 0.25])
    w = (rng.random(n) < np.where(z == 1, 0.6, 0.3)).astype(int)
    y = 1 + 0.5 * (z == 1) - 1 * (z == 2) + 0.8 * w + rng.normal(size=n)
    odds = np.exp(-0.5 + 0.7 * (z == 1) - 0.6 * (z == 2) + 0.9 * w)
    r = (rng.random(n) < odds / (1 + odds)).astype(int)
    return z, w, y, r


def table(n, rng):
    z, w, y, r = people(n, rng)
    reports = {"z": reported(THREE, z, rng), "w": reported(TWO, w, rng), "r": reported(TWO, r, rng)}
    return pd.DataFrame({**reports, "y": np.round(y, 1), "open": r})


def covered(found, truth):
    return (found.lower <= truth) & (truth <= found.upper)


def check_coverage(hits, times, sigmas=4):
    room = sigmas * math.sqrt(times * 0.95 * 0.05)
    assert (np.abs(hits - 0.95 * times) <= room).all(), hits / times


@pytest.mark.slow
def test_two_privatised_covariates_cover_and_a_naive_regression_does_not():
    times, rng = 120, np.random.default_rng(3)
    truth = np.array([1, 0.5, -1, 0.8])
    hits, naive = np.zeros(4), np.zeros(4)
    for _ in range(times):
        frame = table(3000, rng)
        hits += covered(md.regress(frame, BOTH, response="y"), truth)
        x = np.column_stack([np.ones(3000), frame["z"] == "b", frame["z"] == "c",
                             frame["w"] == "yes"]).astype(float)  # fmt: skip
        beta, rest, *_ = np.linalg.lstsq(x, frame["y"].to_numpy(), rcond=None)
        errors = np.sqrt(np.diag(np.linalg.inv(x.T @ x)) * rest / 2996)
        naive += np.abs(beta - truth) <= 1.96 * errors
    check_coverage(hits, times)
    assert naive[1:].max() < 0.8 * times


@pytest.mark.slow
def test_a_privatised_response_with_a_privatised_covariate_covers():
    """Linear in a secret number, and logistic; the control takes the reports for the truth."""
    times, rng = 120, np.random.default_rng(4)
    whole = people(2_000_000, np.random.default_rng(5))
    means = np.array([whole[3][whole[0] == k].mean() for k in range(3)])
    line = np.array([means[0], *(means[1:] - means[0])])
    curve = np.array([-0.5, 0.7, -0.6, 0.9])
    hits, bent, naive = np.zeros(3), np.zeros(4), np.zeros(3)
    for _ in range(times):
        frame = table(4000, rng)
        numbers = {"r": {"no": 0, "yes": 1}}
        kernels = {"z": THREE, "r": TWO}
        found = md.regress(frame, kernels, response="r", feature=numbers)
        hits += covered(found, line)
        bent += covered(md.regress(frame, {**BOTH, "r": TWO}, response="r", family="logistic"),
                        curve)  # fmt: skip
        share = frame.assign(r=frame["r"] == "yes").groupby("z")["r"].agg(["mean", "count"])
        half = 1.96 * np.sqrt(share["mean"] * (1 - share["mean"]) / share["count"])
        naive += (np.abs(share["mean"] - means) <= half).to_numpy()
    check_coverage(hits, times)
    check_coverage(bent, times)
    assert naive.min() < 0.8 * times


def test_one_column_is_regressed_as_it_is_alone():
    frame = table(3000, np.random.default_rng(1))
    for options in ({"response": "y"}, {"response": "open", "family": "logistic"}):
        several = md.regress(frame, {"z": THREE}, **options)
        alone = md.regress(frame, THREE, "z", **options)
        assert several.labels == alone.labels
        assert several.values == pytest.approx(alone.values, abs=1e-6)
        assert several.errors == pytest.approx(alone.errors, rel=1e-5)


def test_moments_by_hand():
    """Weights that undo each kernel, for each product of columns of the design."""
    frame = table(4000, np.random.default_rng(2))
    undo = {"z": np.linalg.inv(THREE.kernel), "w": np.linalg.inv(TWO.kernel)}
    at = {name: np.array([list(k.outputs).index(v) for v in frame[name]]) for name, k in
          BOTH.items()}  # fmt: skip
    z, w = (undo[name][at[name]] for name in ("z", "w"))
    y, one = frame["y"].to_numpy(), np.ones(len(frame))
    columns = np.column_stack([one, z[:, 1], z[:, 2], w[:, 1]])
    moments = columns.T @ columns
    # Indicators of one column are squares of themselves, and no two of them are one.
    for i, v in ((1, z[:, 1]), (2, z[:, 2]), (3, w[:, 1])):
        moments[i, i] = v.sum()
    moments[1, 2] = moments[2, 1] = 0
    found = md.regress(frame, BOTH, response="y")
    assert found.values == pytest.approx(np.linalg.solve(moments, columns.T @ y), abs=1e-8)
    assert found.labels == ("(intercept)", "z=b", "z=c", "w=yes")
    assert found.reference == ("a", "no")


def test_the_maximum_is_that_of_a_general_optimiser():
    """The likelihood of reports of response and covariates, summed over all secrets."""
    frame = table(3000, np.random.default_rng(6))
    counts = frame.groupby(["z", "w", "r"]).size()
    places = [(list("abc").index(a), ["no", "yes"].index(b), ["no", "yes"].index(c))
              for a, b, c in counts.index]  # fmt: skip
    z, w = np.divmod(np.arange(6), 2)
    design = np.column_stack([np.ones(6), z == 1, z == 2, w == 1]).astype(float)

    def surprise(parameters):
        shares = np.exp(np.append(0, parameters[4:]))
        shares /= shares.sum()
        chance = 1 / (1 + np.exp(-design @ parameters[:4]))
        total = 0.0
        for (a, b, c), count in zip(places, counts, strict=True):
            said = chance * TWO.kernel[1, c] + (1 - chance) * TWO.kernel[0, c]
            total -= count * math.log(shares @ (THREE.kernel[z, a] * TWO.kernel[w, b] * said))
        return total

    best = minimize(surprise, np.zeros(9), method="BFGS", options={"gtol": 1e-3})
    found = md.regress(frame, {**BOTH, "r": TWO}, response="r", family="logistic")
    assert found.values == pytest.approx(best.x[:4], abs=2e-3)
    assert found.log_likelihood == pytest.approx(-best.fun, abs=1e-4)
    turned = md.regress(
        frame, {**BOTH, "r": TWO}, response="r", family="logistic", reference={"r": "yes"}
    )
    assert turned.values == pytest.approx(-found.values, abs=1e-5)


def test_reports_of_a_plan():
    prior = md.Prior.from_csv("titanic", ["class", "sex"])
    plan = md.plan_columns(prior, None, md.LDP(4), joint=False)
    rng = np.random.default_rng(7)
    rows = [prior.labels[i] for i in rng.choice(8, 6000, p=prior.probabilities)]
    frame = pd.DataFrame(rows, columns=["class", "sex"])
    frame["fare"] = np.round(frame["class"].map({"1st": 30, "2nd": 15, "3rd": 8, "crew": 0})
                             + rng.normal(size=6000))  # fmt: skip
    made = md.privatize(frame, plan, rng=8)
    found = md.regress(made, plan, response="fare")
    truth = {"class=2nd": -15, "class=3rd": -22, "class=crew": -30, "sex=male": 0}
    assert found.note == ""
    for label, value, error in zip(found.labels, found.values, found.errors, strict=True):
        if label in truth:
            assert abs(value - truth[label]) < 5 * error
    part = md.regress(made, plan, "class", response="fare", covariates=[])
    assert "sex=male" not in part.labels
    other = md.plan_columns(prior, None, md.LDP(3), joint=False)
    with pytest.raises(DataError, match="mechanism"):
        md.regress(made, other, response="fare")


@for_each(
    ("options", "problem"),
    [
        ({"column": "x", "response": "y"}, UnknownNameError),
        ({"column": ["z", "z"], "response": "y"}, InputError),
        ({"column": "z", "response": "z"}, InputError),
        ({"response": "y", "covariates": ["z"]}, InputError),
        ({"response": "y", "covariates": ["w"]}, InputError),
        ({"response": "y", "reference": "a"}, InputError),
        ({"response": "y", "reference": {"x": "a"}}, UnknownNameError),
        ({"response": "y", "reference": {"z": "x"}}, UnknownNameError),
        ({"response": "w"}, InputError),
        ({"response": "z", "family": "logistic"}, DataError),
        ({"response": "y", "truth": md.Prior([1.0])}, InputError),
        ({"response": "nothing"}, UnknownNameError),
    ],
)
def test_what_cannot_be_regressed_is_refused(options, problem):
    frame = table(500, np.random.default_rng(9))
    with pytest.raises(problem) as caught:
        md.regress(frame, BOTH, **options)
    assert "\n" not in str(caught.value)


def test_rows_without_a_report_are_left_out_when_asked():
    frame = table(2000, np.random.default_rng(10))
    frame.loc[:99, "w"] = None
    with pytest.raises(DataError, match="100 rows"):
        md.regress(frame, BOTH, response="y")
    found = md.regress(frame, BOTH, response="y", missing="drop")
    assert found.reports == 1900
