"""Text, and things of another kind, where numbers, laws, priors and functions are asked for."""

from __future__ import annotations

import pytest
from checks import for_each, refused
from scipy import stats

import mechdesign as md
from mechdesign import noise
from mechdesign.errors import KernelError, LevelError, PriorError, UnknownNameError
from mechdesign.noise import GaussianNoise, LaplaceMean, Law, RandomisedResponse, quantise
from mechdesign.privacy import databases

UNIT = Law.uniform(-1, 1)
COIN = md.Prior.uniform([0, 1])
WORDS = md.Prior.uniform(["a", "b"])
LAPLACE = ("laplace", 1.0)
SECRETS = {"few": [0], "many": [1]}

MISTAKES = {
    PriorError: {
        "ends of a uniform": lambda: Law.uniform("0", "1"),
        "end missing": lambda: Law.uniform(0, None),
        "ends of a beta": lambda: Law.beta(1, 1, "0", 1),
        "chance of two points": lambda: Law.two_point("0.5"),
        "one of two points": lambda: Law.two_point(0.5, "low"),
        "values": lambda: Law.finite(["0", "1"], [1, 1]),
        "ragged values": lambda: Law.finite([[0], [1, 2]], [1, 1]),
        "masses": lambda: Law.finite([0, 1], ["half", "half"]),
        "end of a finite law": lambda: Law.finite([0, 1], [1, 1], "0"),
        "sample of text": lambda: Law.sample(["1", "2"]),
        "sample of mixed": lambda: Law.sample([1, "2"]),
        "sample is a text": lambda: Law.sample("12"),
        "sample is a number": lambda: Law.sample(5),
        "prior of a law": lambda: Law.from_prior([0.5, 0.5]),
        "free parameters": lambda: Law.of(stats.beta),
        "prior of a response": lambda: RandomisedResponse([0.5, 0.5], 1.0),
        "prior of a calibrated response": lambda: RandomisedResponse.at(5, "pml", 0.1),
        "prior of a spread": lambda: noise.query_spread([5], float),
        "prior of an information": lambda: noise.noisy_information(5, float, float, LAPLACE),
        "prior of a scale": lambda: noise.wasserstein_scale(5, md.Pufferfish(1, SECRETS)),
        "values of counts": lambda: databases.counts_of(5, "x"),
        "number of values of counts": lambda: databases.counts_of(5, 2.5),
        "entries of counts": lambda: databases.counts_of("x"),
    },
    KernelError: {
        "edges": lambda: quantise(LAPLACE, [0, 1], ["0.5"]),
        "edges are a text": lambda: quantise(LAPLACE, [0, 1], "edges"),
        "locations": lambda: quantise(LAPLACE, [0, 1], [0.5], locations=5),
        "outputs": lambda: quantise(LAPLACE, [0, 1], [0.5], outputs=5),
        "noise": lambda: quantise(5, [0, 1], [0.5]),
        "noise with free parameters": lambda: quantise(stats.beta, [0, 1], [0.5]),
    },
    UnknownNameError: {
        "kind of noise": lambda: noise.noisy_information(COIN, float, float, 5),
    },
    LevelError: {
        "law of a mean": lambda: LaplaceMean([0, 1], 3, 1.0),
        "law of a calibrated mean": lambda: LaplaceMean.for_pml(COIN, 3, 1.0),
        "law of Gaussian noise": lambda: GaussianNoise("uniform", 1.0),
        "law of a tail": lambda: GaussianNoise.for_tail(5, 1.0, 0.1),
        "outcome": lambda: LaplaceMean(UNIT, 1, 1.0).pml("0.5"),
        "outcomes": lambda: LaplaceMean(UNIT, 1, 1.0).pmc([0.5, "y"]),
        "outcome of a density": lambda: LaplaceMean(UNIT, 1, 1.0).density("y"),
        "outcome of Gaussian noise": lambda: GaussianNoise(UNIT, 1.0).pml("y"),
        "outcome of the bounds": lambda: GaussianNoise(UNIT, 1.0).pmc_bounds("y"),
        "level of a tail": lambda: GaussianNoise.for_tail(UNIT, "1", 0.1),
        "chance of a tail": lambda: GaussianNoise.for_tail(UNIT, 1.0, "0.1"),
        "secret": lambda: quantise(LAPLACE, 5, [0.5]),
        "entries of edges": lambda: noise.counting_edges("3"),
        "variance": lambda: noise.gaussian_variance("x", 0.1),
        "level": lambda: noise.laplace_scale(0.1, "x"),
        "huge level": lambda: noise.laplace_scale(0.1, 10**400),
        "dimension": lambda: noise.gaussian_variance(0.1, 0.1, "2"),
        "entropy": lambda: noise.gaussian_variance_given_secret(0.1, "h", 0.1),
        "sensitivity": lambda: noise.gaussian_variance_for_dp("x", 0.1),
        "delta": lambda: noise.classical_gaussian_variance(1.0, 0.5, "x"),
        "levels compared": lambda: noise.classical_comparison(["x"], 0.5),
        "target compared": lambda: noise.classical_comparison([0.1], "x"),
        "first chance": lambda: noise.variation_from_information(0.1, "x", 0.5),
        "second chance": lambda: noise.variation_from_information(0.1, 0.5, None),
        "approximate delta": lambda: noise.information_from_approximate(1.0, "x", 2),
        "number of values": lambda: noise.information_from_approximate(1.0, 0.1, "x"),
        "number of outputs": lambda: noise.information_from_approximate(1.0, 0.1, 2, "x"),
        "priors": lambda: noise.query_spread(5, float),
        "query": lambda: noise.query_spread(COIN, "mean"),
        "query of words": lambda: noise.query_spread(WORDS, float),
        "query into words": lambda: noise.query_spread(WORDS, str),
        "public": lambda: noise.query_spread(COIN, float, 5),
        "public function": lambda: noise.query_spread(COIN, float, ["x"]),
        "private function": lambda: noise.noisy_information(COIN, float, "x", LAPLACE),
        "scale": lambda: noise.noisy_information(COIN, float, float, ("laplace", "x")),
        "steps": lambda: noise.noisy_information(COIN, float, float, LAPLACE, steps="x"),
        "notion of a scale": lambda: noise.wasserstein_scale(COIN, 5),
        "values apart": lambda: noise.wasserstein_infinity("x", [1], [1]),
        "pairs of secrets": lambda: md.Pufferfish(1, SECRETS, pairs=5),
        "edges of a graph": lambda: md.MetricPrivacy.graph(1, 5),
    },
}
CASES = {name: (make, kind) for kind, group in MISTAKES.items() for name, make in group.items()}


@for_each("name", CASES)
def test_mistakes_are_refused(name):
    make, error = CASES[name]
    refused(make, error=error)


def test_numbers_of_other_kinds_are_taken():
    """A control: whole numbers, truth values and objects that stand for numbers are numbers."""
    assert Law.sample(v for v in [True, False]).mean == pytest.approx(0.5)
    assert Law.sample({0, 1}).high == 1
    assert noise.query_spread(COIN, lambda x: [x, 1])[0] == pytest.approx(0.25)
    assert md.MetricPrivacy.graph(1, iter([(0, 1, 2.0)])).distances == ("graph", ((0, 1, 2.0),))
