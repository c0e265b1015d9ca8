"""A notion is one class: these are defined here, outside the package, and do everything."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from checks import for_each
from notion_contract import (
    CONTRACT,
)

import mechdesign as md
from mechdesign.errors import CertificateError, LevelError
from mechdesign.exact import Verdict
from mechdesign.privacy import NOTIONS, Bound, Hypotheses, parse_notion


@dataclass(frozen=True)
class LinePrivacy(md.LikelihoodBound, register=False):
    """Metric privacy on numbered symbols: K[x, y] ≤ e^{ε |x - x'|} K[x', y], by neighbours."""

    epsilon: float

    @staticmethod
    def steps(prior):
        order = sorted(range(len(prior)), key=lambda i: prior.labels[i])
        return list(pairwise(order))

    def bounds(self, prior):
        steps = self.steps(prior)
        over = [i for a, b in steps for i in (a, b)]
        under = [i for a, b in steps for i in (b, a)]
        scales = tuple(abs(prior.labels[a] - prior.labels[b]) for a, b in steps for _ in range(2))
        return [
            Bound(
                Hypotheses.points(prior, over),
                Hypotheses.points(prior, under),
                self.epsilon,
                pairing="matched",
                scales=scales,
            )
        ]

    def leakage(self, kernel, prior):
        x = np.array(prior.labels, dtype=float)
        distance = np.abs(x[:, None] - x[None, :])
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.log(kernel)
            rate = (log[:, None, :] - log[None, :, :]) / distance[:, :, None]
        return np.nanmax(np.where(np.isnan(rate), 0.0, rate), axis=(0, 1))


@dataclass(frozen=True)
class AgainstUniform(md.LikelihoodBound, register=False):
    """K[x, y] ≤ e^ε times the average of column y: PML for a uniform prior, whatever the prior."""

    epsilon: float

    def bounds(self, prior):
        uniform = Hypotheses.mixtures([[1] * len(prior)], ["the uniform prior"])
        return [Bound(Hypotheses.points(prior), uniform, self.epsilon)]

    def leakage(self, kernel, prior):
        mean = kernel.mean(axis=0)
        lift = np.where(mean > 0, kernel.max(axis=0) / np.where(mean > 0, mean, 1.0), 1.0)
        return np.maximum(np.log(lift), 0.0)


# A feature


# A metric, with matched pairs and scales


def test_a_scale_of_zero_ties_two_symbols():
    @dataclass(frozen=True)
    class Tied(md.LikelihoodBound, register=False):
        epsilon: float

        def bounds(self, prior):
            over, under = Hypotheses.points(prior, [0, 1]), Hypotheses.points(prior, [1, 0])
            return [Bound(over, under, self.epsilon, pairing="matched", scales=(0, 0))]

        def leakage(self, kernel, prior):
            same = np.isclose(kernel[0], kernel[1], rtol=1e-12)
            return np.where(same, 0.0, np.inf)

    prior = md.Prior([0.4, 0.35, 0.25])
    for solver in ("highs-simplex", "highs-ipm"):
        found = md.design(prior, md.utility.Hamming(), Tied(1.0), solver=solver)
        np.testing.assert_array_equal(found.mechanism.weights[0], found.mechanism.weights[1])
        assert found.value == pytest.approx(0.65, abs=1e-9)
    told_apart = md.Mechanism(np.eye(3))
    assert Tied(1.0).check(told_apart, prior).verdict is Verdict.NO


# A registered one


@pytest.fixture
def registered():
    before = dict(NOTIONS)
    source = {
        "bounds": AgainstUniform.bounds,
        "leakage": AgainstUniform.leakage,
        "__annotations__": {"epsilon": float},
        "__module__": __name__,
    }
    cls = dataclass(frozen=True)(type("Even", (md.LikelihoodBound,), source))
    yield cls
    NOTIONS.clear()
    NOTIONS.update(before)


def test_subclassing_registers(registered):
    assert NOTIONS["even"] is registered
    assert parse_notion("even:0.25") == registered(0.25)
    prior = md.Prior([0.6, 0.25, 0.15])
    found = md.design(prior, md.utility.Hamming(), registered(0.25))
    report = md.audit(found.mechanism, prior)
    assert report.even == pytest.approx(0.25, abs=1e-9)
    assert report.even <= 0.25
    same = md.audit(found.mechanism, md.Prior.uniform(3))
    assert same.even == same.pml


@for_each("part", CONTRACT)
def test_external_notion_keeps_the_contract(part):
    part(AgainstUniform)


# The pieces a notion is made of


@for_each(
    ("rows", "message"),
    [
        ([[1, -1, 3]], "non-negative"),
        ([[0, 0]], "positive sum"),
        ([[1, 2], [1]], "one length"),
        ([], "at least one"),
    ],
)
def test_bad_mixtures(rows, message):
    with pytest.raises(LevelError, match=message):
        Hypotheses.mixtures(rows)


def test_bounds_check_their_shapes():
    two, three = md.Prior.uniform(2), md.Prior.uniform(3)
    points = Hypotheses.points(three)
    with pytest.raises(LevelError, match="over one alphabet"):
        Bound(points, Hypotheses.points(two), 1.0)
    with pytest.raises(LevelError, match="both sides"):
        Bound(points, Hypotheses.points(three, [0]), 1.0, pairing="matched")
    with pytest.raises(LevelError, match="one scale per"):
        Bound(points, points, 1.0, pairing="matched", scales=(1.0,))
    with pytest.raises(LevelError, match="one scale per"):
        Bound(points, points, 1.0, scales=(1.0, 1.0, 1.0))


def test_a_notion_outside_the_family_is_refused_with_reasons():
    @dataclass(frozen=True)
    class Average(md.PrivacyNotion, register=False):
        epsilon: float

        def leakage(self, kernel, prior):
            return np.zeros(kernel.shape[1])

        def check(self, mechanism, prior):
            raise NotImplementedError

    with pytest.raises(md.MechdesignError, match="no method applies") as caught:
        md.design(md.Prior([0.5, 0.5]), md.utility.Hamming(), [md.PML(1), Average(0.5)])
    assert set(caught.value.refusals) >= {"binary", "highs-simplex", "highs-ipm"}
    assert all("Average" in why or "not bounds" in why for why in caught.value.refusals.values())


def test_disagreeing_methods_of_a_notion_withhold_the_kernel():
    @dataclass(frozen=True)
    class Careless(LinePrivacy, register=False):
        def bounds(self, prior):
            (bound,) = super().bounds(prior)
            doubled = tuple(2 * s for s in bound.scales)
            return [Bound(bound.over, bound.under, bound.epsilon, "matched", doubled)]

    with pytest.raises(CertificateError, match="do not say the same"):
        md.design(md.Prior.uniform(4), md.utility.Distance("absolute"), Careless(0.5))
