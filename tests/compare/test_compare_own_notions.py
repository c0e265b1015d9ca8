"""Comparisons of notions from outside: levels that are zero but for rounding, and implications."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

import mechdesign as md
from mechdesign.papers.claims import THEOREMS
from mechdesign.privacy.notion import NOTIONS
from mechdesign.theory import conversion
from mechdesign.theory.rules import QUANTITIES, RULES

PRIOR = md.Prior([0.34, 0.23, 0.19, 0.12, 0.08, 0.04])


def log_ratios(over, under):
    """Logarithms of likelihood ratios, 0 where both are zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(np.nan_to_num(over / under, nan=1.0, posinf=np.inf)).clip(0)


@dataclass(frozen=True)
class Hidden(md.LikelihoodBound, register=False):
    """P(y|s) ≤ e^ε P(y|A(s)): from any ε > 0 on a report may point away from s, and leaks much."""

    epsilon: float
    groups: tuple
    needs = ("groups",)

    def bounds(self, prior):
        """Each symbol over its group."""
        over = md.Hypotheses.points(prior, [s for s, _ in self.groups])
        rows = [
            [m if x in group else 0 for x, m in enumerate(prior.weights)]
            for _, group in self.groups
        ]
        return [md.Bound(over, md.Hypotheses.mixtures(rows), self.epsilon, pairing="matched")]

    def leakage(self, kernel, prior):
        """The largest of the ratios, ``(M,)``."""
        worst = np.zeros(kernel.shape[1])
        for s, group in self.groups:
            masses = prior.probabilities[list(group)]
            mixed = masses @ kernel[list(group)] / masses.sum()
            worst = np.maximum(worst, log_ratios(kernel[s], mixed))
        return worst


CHAIN = tuple((x, (y,)) for x, y in pairwise(range(6)))


def test_a_level_that_is_zero_within_rounding_is_zero_and_said():
    notions = {"Chain": lambda level: Hidden(level, CHAIN), "PML": md.PML}
    found = md.compare(PRIOR, md.utility.Hamming(), notions, [0.2, 0.5], match="pml")
    for point in found.select("Chain"):
        assert (point.epsilon, point.attained) == (0, 0)
        assert point.bound == pytest.approx(0.34)
    said = " ".join(found.verdict)
    assert "Chain is matched at level zero, within rounding, at 2 points (targets 0.2, 0.5)" in said
    assert "cannot be told apart" not in said
    assert "moves in steps" not in said
    assert "PML does at all 2 targets" in said


@pytest.mark.slow
def test_what_is_unknown_at_level_zero_is_missing():
    """No kernel that is best at level zero can be rounded; a constant one says nothing of it."""
    groups = ((4, (2, 0)), (5, (1, 2)))
    notions = {"Alibi": lambda level: Hidden(level, groups), "PML": md.PML}
    found = md.compare(PRIOR, md.utility.Hamming(), notions, [0.2, 0.5], match="pml")
    assert [m.target for m in found.missing] == [0.2, 0.5]
    said = " ".join(found.verdict)
    assert "Alibi has no point at 2 targets: its level would be zero within rounding" in said
    assert "cannot be told apart" not in said


@pytest.fixture
def ratios():
    """An own notion of one level, and its conversion to LDP; both are forgotten afterwards."""
    kept = [(table, dict(table)) for table in (NOTIONS, RULES, THEOREMS, QUANTITIES)]

    @dataclass(frozen=True)
    class AllRatios(md.LikelihoodBound):
        """K[x, y] ≤ e^ε K[x', y]."""

        epsilon: float

        def bounds(self, prior):
            """Every symbol over every other one."""
            points = md.Hypotheses.points(prior)
            return [md.Bound(points, points, self.epsilon)]

        def leakage(self, kernel, prior):
            """Log max_x K[x, y]/min_x K[x, y], ``(M,)``."""
            return log_ratios(kernel.max(axis=0), kernel.min(axis=0))

    conversion("Mine-1", [AllRatios], md.LDP, statement="ε is ε-LDP.")(lambda setting, own: own)
    yield AllRatios
    for table, entries in kept:
        table.clear()
        table.update(entries)


@pytest.mark.parametrize("match", ["epsilon", "pml", "ldp", "loss"])
def test_declared_implications_are_in_the_verdict(ratios, match):
    found = md.compare(PRIOR, md.utility.Hamming(), [ratios, md.PML, md.LDP], [0.5], match=match)
    lines = [line for line in found.verdict if "AllRatios implies PML and LDP" in line]
    assert len(lines) == 1
    assert ("differ" in lines[0]) == (match != "epsilon")
    assert all("LDP implies AllRatios" not in line for line in found.verdict)  # not declared


def test_published_implications_alone_are_said_of_equal_levels():
    found = md.compare(PRIOR, md.utility.Hamming(), [md.PML, md.LDP], [0.5], match="pml")
    assert not any("implies" in line for line in found.verdict)


def test_notions_that_differ_in_parameters_alone_are_told_apart_in_the_tables():
    prior = md.Prior([0.4, 0.3, 0.2, 0.1])
    even, low = ({x: part(x) for x in range(4)} for part in (lambda x: x % 2, lambda x: x // 2))
    notions = {
        "even": lambda level: md.FeaturePML(level, even),
        "low": lambda level: [md.FeaturePML(level, low), md.LDP(2)],
        "counts": lambda level: md.DP(level, "adjacent"),
        "pairs": lambda level: md.DP(level, [(0, 1)]),
        "LDP": md.LDP,
    }
    found = md.compare(prior, md.utility.Hamming(), notions, [0.5])
    texts = [row["privacy"] for row in found.rows()]
    assert len(set(texts)) == 5
    assert texts[0].startswith("featurepml:0.5 (feature=")
    assert texts[1].endswith("+ldp:2.0")
    assert texts[2:] == ["dp:0.5,adjacent", "dp:0.5", "ldp:0.5"]
    assert found.to_frame()["privacy"].tolist() == texts
    page = "\n".join(" ".join(texts) for texts in found.asked())
    assert "DP(0.5, adjacent)" in page
    assert "LDP(0.5)" in page.splitlines()
    assert found.select("even").rows()[0]["privacy"] == "featurepml:0.5"
