"""Lifts of independent reports together, without the product kernel: as with it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.solve.columns_plan import product_kernel
from mechdesign.solve.product_lifts import ProductLifts, check_lifts, leaks_in_floats

NOTIONS = [md.PML(1), md.PMC(1), md.LIP(1), md.ALIP(0.9, 1.1)]


def random_case(seed, sizes=(4, 3, 2), outputs=(5, 2, 3), share=0.6, zeros=0.0):
    """Kernels of columns and a joint prior of some of the combinations."""
    rng = np.random.default_rng(seed)
    kernels = []
    for n, m in zip(sizes, outputs, strict=True):
        rows = rng.integers(1, 60, (n, m))
        rows[rng.random((n, m)) < zeros] = 0
        rows[:, 0] += 1024 - rows.sum(axis=1)
        kernels.append(md.Mechanism.from_weights(rows, 10, [f"{n}{i}" for i in range(n)]))
    labels = list(itertools.product(*(kernel.inputs for kernel in kernels)))
    kept = [label for label in labels if rng.random() < share]
    counts = {label: int(rng.integers(1, 30)) for label in kept}
    return kernels, md.Prior.from_counts(counts)


@for_each("notion", NOTIONS)
@for_each("zeros", [0, 0.3])
def test_levels_are_those_of_the_product_kernel(notion, zeros):
    for seed in range(12):
        kernels, prior = random_case(seed, zeros=zeros)
        whole = notion.check(product_kernel(kernels, prior.labels), prior)
        told = check_lifts(notion, ProductLifts(tuple(kernels), prior))
        assert told.achieved == whole.achieved
        assert told.verdict is whole.verdict
        assert told.ratio == whole.ratio
        assert [w.level for w in told.worst] == [w.level for w in whole.worst]
        rough = leaks_in_floats(notion, ProductLifts(tuple(kernels), prior))
        assert rough == pytest.approx(list(whole.achieved), rel=1e-12)


def test_very_many_ties_give_a_bound_from_above(monkeypatch):
    """Of independent columns all reports may have the largest lift."""
    flip = md.Mechanism(np.full((4, 4), 1 / 8) + np.eye(4) / 2, list("abcd"))
    prior = md.Prior.uniform(list(itertools.product("abcd", repeat=2)))
    lifts = ProductLifts((flip, flip), prior)
    exact = check_lifts(md.PML(2 * math.log(2.5) + 1e-12), lifts)
    assert exact.verdict is md.Verdict.YES
    monkeypatch.setattr("mechdesign.solve.product_lifts._MOST_NEAR", 15)
    told = check_lifts(md.PML(2), lifts)
    assert told.verdict is md.Verdict.YES
    assert exact.achieved[0] <= told.achieved[0] <= exact.achieved[0] + 1.1e-11
    assert "at most" in told.evidence
    # What is between the levels that floats tell apart is not decided.
    between = check_lifts(md.PML(2 * math.log(2.5) + 1e-12), lifts)
    assert between.verdict is md.Verdict.UNDECIDED
    assert check_lifts(md.PML(1.5), lifts).verdict is not md.Verdict.YES
