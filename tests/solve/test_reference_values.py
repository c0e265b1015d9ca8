"""Published and independently computed optimal values, to nine digits."""

from __future__ import annotations

import math

import pytest
from checks import for_each

import mechdesign as md

# Vertex enumeration and dense programs that share no code with the package; prior (.1, .2, .3, .4).
PML_HAMMING = {
    0.2: 0.4397049929,
    0.3: 0.4859491707,
    0.6: 0.6466356401,
    1.0: 0.8077422743,
}


@for_each(("epsilon", "accuracy"), PML_HAMMING.items())
@for_each("solver", ["auto", "highs-simplex", "highs-ipm"])
def test_pml_hamming_accuracy(epsilon, accuracy, solver):
    prior = md.Prior([0.1, 0.2, 0.3, 0.4])
    found = md.design(prior, md.utility.Hamming(), md.PML(epsilon), solver=solver)
    assert found.value == pytest.approx(accuracy, rel=0, abs=1e-9)
    assert found.bound == pytest.approx(accuracy, rel=0, abs=1e-9)
    assert found.utility.value(found.mechanism, prior) == pytest.approx(accuracy, rel=0, abs=1e-9)


@for_each("n", [2, 3, 10, 40])
@for_each("epsilon", [0.1, 1.0, 4.0])
def test_randomised_response_under_ldp(n, epsilon):
    """Uniform prior: e^ε/(e^ε + n - 1), [Kairouz2016]."""
    accuracy = math.exp(epsilon) / (math.exp(epsilon) + n - 1)
    found = md.design(md.Prior.uniform(n), md.utility.Hamming(), md.LDP(epsilon))
    assert found.value == pytest.approx(accuracy, rel=0, abs=1e-9)
    assert found.bound == pytest.approx(accuracy, rel=0, abs=1e-9)
