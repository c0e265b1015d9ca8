"""A kernel of which one report gives the secret away is warned of, whatever its notion is."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import DisclosureWarning
from mechdesign.mechanism import guess_probability

THREE = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
HAMMING = md.utility.Hamming()


def told(make):
    """What is warned of as disclosed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make()
    return [str(w.message) for w in caught if w.category is DisclosureWarning]


@for_each("shape", [(2, 2), (3, 5), (6, 2), (1, 3)])
def test_the_probability_is_that_of_the_best_guess(shape):
    """Counted over all pairs of a symbol and a report, of which a guess is right for one."""
    rng = np.random.default_rng(shape)
    weights = rng.integers(0, 9, shape) + 1
    weights[:, 0] += 100 - weights.sum(axis=1)
    kernel = md.Mechanism([[Fraction(int(w), 100) for w in row] for row in weights])
    right = sum(max(int(w) for w in column) for column in weights.T)
    assert float(guess_probability(kernel)) == pytest.approx(right / (100 * shape[0]), abs=1e-12)


@pytest.mark.parametrize("symbols", [2, 3, 10])
def test_the_border_is_at_999_of_1000(symbols):
    """Randomised response is right with probability e^ε / (e^ε + N − 1)."""
    border = math.log(999 * (symbols - 1))
    prior = md.Prior.uniform(symbols)
    for change, words in ((0.01, "nothing is hidden"), (-0.01, "little is hidden")):
        assert words in told(lambda c=change: md.design(prior, HAMMING, md.LDP(border + c)))[0]


@pytest.mark.parametrize("symbols", [2, 3, 40])
def test_a_guess_that_gets_much_better_is_told(symbols):
    """Wrong in a third of the cases: (N − 1) / (e^ε + N − 1) = (N − 1) / 3N. Ten times as often
    right: e^ε / (e^ε + N − 1) = 10 / N.
    """
    thrice = math.log(2 * symbols + 1)
    tenfold = math.log(10 * (symbols - 1) / (symbols - 10)) if symbols > 10 else math.inf
    border, prior = min(thrice, tenfold), md.Prior.uniform(symbols)
    (said,) = told(lambda: md.design(prior, HAMMING, md.LDP(border + 0.01)))
    assert ("10 times as often" if tenfold < thrice else "less than a third") in said
    assert not told(lambda: md.design(prior, HAMMING, md.LDP(border - 0.01)))


def test_the_kernel_decides_and_not_the_notion():
    assert "always right" in told(lambda: md.design(md.Prior.uniform(4), HAMMING, md.PML(1.5)))[0]
    assert told(lambda: md.design(THREE, HAMMING, md.PML(math.inf)))
    # Everything but one column is told, and that is hidden.
    pairs = [(x, y) for x in "abcd" for y in (0, 1)]
    both = md.Prior.uniform(pairs).with_schema(["x", "y"])
    assert not told(lambda: md.design(both, md.utility.Hamming(of="x"), md.FeaturePML(0.5, "y")))
    # The count is told as it is, and hides each person among the others.
    of_people = [md.FeaturePML(2.0, {x: x > 1 for x in range(4)}), md.EntryPML(2.0, 3, 0.2)]
    counts = md.Prior.uniform(range(4))
    for notion in of_people:
        found = md.design(counts, md.utility.Distance("absolute"), notion)
        assert guess_probability(found.mechanism) > 0.999
        assert not told(lambda n=notion: md.design(counts, md.utility.Distance("absolute"), n))
    # The level is large, and the utility wants less than all.
    assert not told(
        lambda: md.design(THREE, md.utility.Matrix([[1, 0], [0, 1], [0, 1]]), md.LDP(50))
    )


def test_commands_say_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"x": list("aaabbc") * 20}).to_csv("t.csv", index=False)

    def err(*arguments):
        assert main(list(arguments)) == 0
        return capsys.readouterr().err

    asked = ("design", "--prior", "a=0.5,b=0.3,c=0.2")
    assert err(*asked, "-p", "ldp:100", "-o", "open.json").count("[MD816]") == 1
    assert "MD816" not in err(*asked, "-p", "ldp:2", "-o", "hidden.json")
    for name, count in (("open", 1), ("hidden", 0)):
        assert err("audit", f"{name}.json").count("[MD816]") == count
        applied = err("apply", f"{name}.json", "t.csv", "--column", "x", "-o", f"{name}.csv")
        assert applied.count("[MD816]") == count
