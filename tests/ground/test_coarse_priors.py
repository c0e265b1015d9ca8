"""Priors that may be given back: rounded, and with noise that is drawn exactly."""

from __future__ import annotations

import json
import random
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import mechdesign as md
from mechdesign.cli import main
from mechdesign.discrete_laplace import discrete_laplace
from mechdesign.errors import PriorError, ZeroMassWarning


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=12).filter(any), st.integers(2, 15))
@settings(deadline=None, derandomize=True)
def test_rounded_masses_are_multiples_next_to_the_exact_ones(counts, digits):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroMassWarning)
        prior = md.Prior.from_counts(counts)
    rounded, unit = prior.rounded(digits), Fraction(1, 10**digits)
    masses = [rounded.mass(x) for x in range(len(prior))]
    assert sum(masses) == 1
    assert rounded.labels == prior.labels
    small = sum(0 < prior.mass(x) < unit for x in range(len(prior)))
    for x, mass in enumerate(masses):
        assert (mass / unit).denominator == 1
        assert bool(mass) is bool(prior.mass(x))
        # Those of the least masses are taken from the others.
        assert abs(mass - prior.mass(x)) <= unit * (1 + small)
    assert rounded.rounded(digits) == rounded


def test_sums_are_kept_by_the_largest_remainders():
    assert list(md.Prior.from_counts([1, 1, 1]).rounded(1).weights) == [4, 3, 3]
    assert list(md.Prior.from_counts([997, 1, 1, 1]).rounded(2).weights) == [97, 1, 1, 1]
    pairs = md.Prior.from_counts([3, 2], [("a", 1), ("b", 2)]).with_schema(["x", "y"])
    assert pairs.rounded(1).schema == pairs.schema
    assert md.Prior.uniform(10).rounded(1).is_uniform
    for digits in (0, 16, 1.5, True, "2", None):
        with pytest.raises(PriorError, match="digits of a rounded prior"):
            pairs.rounded(digits)
    with pytest.raises(PriorError, match="take more digits"):
        md.Prior.uniform(11).rounded(1)


def test_noise_has_exactly_the_chances_of_the_discrete_laplace_distribution():
    """χ² of 20,000 draws with a fixed seed; two scales, one with a large denominator."""
    source = random.Random(7)
    for scale in (Fraction(2), 2 / Fraction(0.7)):
        drawn = Counter(discrete_laplace(scale, source) for _ in range(20_000))
        q = np.exp(-1 / float(scale))
        middle = np.arange(-6, 7)
        chances = (1 - q) / (1 + q) * q ** abs(middle)
        beyond = q**7 / (1 + q)
        seen = [drawn[y] for y in middle.tolist()]
        seen = [sum(n for y, n in drawn.items() if y < -6), *seen]
        seen.append(20_000 - sum(seen))
        assert chisquare(seen, 20_000 * np.array([beyond, *chances, beyond])).pvalue > 1e-3


def test_noise_leaves_every_symbol_some_mass_and_does_not_show_which_had_none():
    with pytest.warns(ZeroMassWarning):
        prior = md.Prior.from_counts({"a": 40, "b": 0, "c": 2})
    made = [prior.with_noise(0.5, seed=seed) for seed in range(40)]
    assert all(min(one.weights) > 0 for one in made)
    assert len({one.weights for one in made}) > 30
    assert sum(one["b"] > one["c"] for one in made) > 5  # nobody had b, two had c
    assert prior.with_noise(0.5, seed=3) == made[3]
    assert prior.with_noise(1e-9).noise == 1e-9
    assert all(one.noise == 0.5 and one.counted is None for one in made)
    assert made[0].reordered(["c", "b", "a"]).noise == made[0].rounded(3).noise == 0.5


def test_how_many_people_were_counted_is_known_or_asked():
    assert md.Prior.from_counts([10, 20, 30]).counted == 60
    assert md.Prior.from_csv("titanic", "class").counted == 2201
    table = md.Prior.from_csv("titanic", ["class", "sex"])
    assert table.counted == table.marginal("sex").counted == 2201
    for prior in (md.Prior([0.5, 0.5]), md.Prior.uniform(3), md.Prior.from_counts([0.5, 1.5])):
        assert prior.counted is None
        with pytest.raises(PriorError, match="how many people its masses were counted from"):
            prior.with_noise(1)
    halves = md.Prior([0.5, 0.5])
    assert halves.with_noise(50, people=10**6, seed=1).probabilities == pytest.approx(0.5, abs=1e-5)
    for people in (3, 0, -2, 2.5, True, "many"):
        with pytest.raises(PriorError, match="people of a prior"):
            halves.with_noise(1, people=people)
    for level in (0, -1, np.inf, np.nan, "1", None, 1e-10):
        with pytest.raises(PriorError, match="level of noise"):
            md.Prior.from_counts([1, 2]).with_noise(level)


def test_commands_that_count_tables_design_for_such_priors(tmp_path, capsys):
    arguments = ["design", "titanic", "--column", "class", "-p", "pml:1", "--json"]
    assert main([*arguments, "--round-prior", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["prior"]["weights"] == ["2", "1", "3", "4"]
    made = []
    for _ in range(2):
        public = str(tmp_path / "p.json")
        assert main([*arguments, "--prior-noise", "0.01", "--public", public, "--force"]) == 0
        shown = capsys.readouterr()
        made.append(json.loads(shown.out)["prior"]["weights"])
        assert "MD809" not in shown.err
    assert made[0] != made[1]
    assert main([*arguments, "--public", public, "--force"]) == 0
    assert "MD809" in capsys.readouterr().err  # a control
    for wrong in (["--round-prior", "0"], ["--prior-noise", "-1"]):
        assert main([*arguments, *wrong]) == 2
    given = ["design", "--prior", "0.5,0.3,0.2", "-p", "ldp:1", "--prior-noise", "1"]
    assert main(given) == 2
    assert "counted" in capsys.readouterr().err


def test_the_noise_of_a_count_has_the_scale_of_the_level():
    """Two over it, as a person who changes moves two counts by one."""
    prior = md.Prior.from_counts([10**6] * 3)
    made = [prior.with_noise(0.5, seed=seed) for seed in range(300)]
    off = [w - 10**6 for one in made if one.total > 2_900_000 for w in one.weights]
    q = np.exp(-0.5 / 2)
    assert len(off) > 600
    assert np.abs(off).mean() == pytest.approx(2 * q / (1 - q**2), rel=0.1)
