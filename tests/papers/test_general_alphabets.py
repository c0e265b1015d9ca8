"""Secrets on the interval: closed forms against draws, and against cells that are refined."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mechdesign.papers.general_alphabets import TiltedLaw

LAWS = {
    "a density": TiltedLaw(1.7),
    "Cantor's law": TiltedLaw(-1.1, 0.0, 1.0),
    "atoms": TiltedLaw(2.0, 0.0, 0.0, {0.2: 0.4, 0.9: 0.6}),
    "all three": TiltedLaw(0.8, 0.3, 0.3, {0.25: 0.15, 1.0: 0.25}),
}
each_law = pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))


@each_law
def test_means_agree_with_draws(law):
    drawn = np.exp(law.slope * law.draw(np.random.default_rng(5), 200_000))
    error = 5 * drawn.std() / math.sqrt(len(drawn))
    assert abs(drawn.mean() - math.exp(law.log_mean())) < error


@each_law
def test_masses_of_cells_agree_with_draws_and_add_up(law):
    places = law.draw(np.random.default_rng(6), 100_000)
    found = np.bincount(np.minimum((places * 9).astype(int), 8), minlength=9) / len(places)
    masses = law.masses(2, 0.0)
    assert np.abs(found - masses).max() < 5 * 0.5 / math.sqrt(len(places))
    for slope in (0.0, law.slope):
        fine = law.masses(6, slope).reshape(9, -1).sum(axis=1)
        assert fine == pytest.approx(law.masses(2, slope), rel=1e-12, abs=1e-15)
        assert fine.sum() == pytest.approx(math.exp(law.log_mean(slope)), rel=1e-12)


@each_law
def test_divergences_are_those_of_cells_in_the_limit(law):
    before, after = law.cells(8)
    assert math.log((before / after).max()) == pytest.approx(law.pmc, abs=law.step(8))
    assert math.log((after / before).max()) == pytest.approx(law.pml, abs=law.step(8))


def test_cantor_law_has_no_atoms_and_no_density():
    """Each cell that has mass has 2^-depth of it, in a set of length (2/3)^depth."""
    masses = TiltedLaw(0.0, 0.0, 1.0).masses(7, 0.0)
    live = masses[masses > 0]
    assert live == pytest.approx(np.full(2**7, 2.0**-7))
    assert len(live) / len(masses) == pytest.approx((2 / 3) ** 7)


def test_a_finer_law_than_drawn_would_be_noticed():
    """A control: the means of two laws differ by more than draws do."""
    one, two = LAWS["a density"], LAWS["Cantor's law"]
    assert abs(one.log_mean(1.7) - two.log_mean(1.7)) > 0.01
