"""What was told so far: against the posterior written out, and the whole tree of reports."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, refused
from strategies import exact_mechanism

import mechdesign as md
from mechdesign.errors import KernelError, LevelError
from mechdesign.exact import Verdict

NOTIONS = [
    md.PML(math.inf),
    md.PMC(math.inf),
    md.LIP(math.inf),
    md.LDP(math.inf),
    md.DP(math.inf, "adjacent"),
    md.MetricPrivacy(math.inf, "absolute"),
    md.SymbolPML(math.inf, [1, 0.5, 2]),
    md.FeaturePML(math.inf, {0: "a", 1: "a", 2: "b"}),
    md.RobustPML.ball(math.inf, md.Prior([0.5, 0.3, 0.2]), 0.2),
]
PRIOR = md.Prior([0.5, 0.3, 0.2])


def kernel(seed, outputs=3):
    rng = np.random.default_rng(seed)
    return exact_mechanism(rng.dirichlet(np.ones(outputs), 3))


def names(notion):
    return type(notion).__name__


@for_each("notion", NOTIONS)
@for_each("seed", range(4))
def test_every_history_leaks_what_its_outcome_of_the_whole_kernel_does(notion, seed):
    """The kernel of all reports, each of its columns an outcome with a leakage of its own."""
    parts = [kernel([seed, i], 2 + i) for i in range(3)]
    whole = parts[0].parallel(parts[1]).parallel(parts[2])
    leaks = np.atleast_2d(notion.leakage(whole.kernel, PRIOR))[0]
    worst = 0.0
    outcomes = itertools.product(*(range(part.shape[1]) for part in parts))
    for column, ys in enumerate(outcomes):
        told = md.Odometer(PRIOR)
        for part, y in zip(parts, ys, strict=True):
            told = told.after(part, part.outputs[y])
        assert told.level(notion) == pytest.approx(leaks[column], abs=1e-9)
        masses = PRIOR.probabilities * np.prod(
            [p.kernel[:, y] for p, y in zip(parts, ys, strict=True)], 0
        )
        np.testing.assert_allclose(told.posterior.probabilities, masses / masses.sum(), atol=1e-12)
        worst = max(worst, told.level(notion))
    assert worst == pytest.approx(notion.check(whole, PRIOR).achieved[0], rel=1e-15)


def interactive(told, parts, asked, seen=()):
    """Every history of asking before each release, with its likelihoods."""
    if len(seen) == 6 or not told.allows(parts[len(seen) % len(parts)], asked):
        yield seen, told
        return
    part = parts[len(seen) % len(parts)]
    for y in part.outputs:
        yield from interactive(told.after(part, y), parts, asked, (*seen, y))


@pytest.mark.parametrize("asked", [md.PML(0.8), md.LDP(2.2), md.PMC(1.4)], ids=names)
def test_asking_before_each_release_keeps_the_whole_within_the_level(asked):
    """The whole interaction as one kernel, built from its histories, audited exactly."""
    flip = md.Mechanism([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]])
    other = md.Mechanism([[0.25, 0.75], [0.75, 0.25], [0.5, 0.5]])
    parts, columns, lengths = [flip, other], [], set()
    for seen, told in interactive(md.Odometer(PRIOR), parts, asked):
        column = [Fraction(1)] * 3
        for i, y in enumerate(seen):
            part = parts[i % 2]
            column = [
                c * int(w) / (1 << part.bits)
                for c, w in zip(column, part.weights[:, y], strict=True)
            ]
        columns.append(column)
        lengths.add(len(seen))
        assert told.within(asked)
    bits = 400
    weights = [[int(c[x] * (1 << bits)) for c in columns] for x in range(3)]
    whole = md.Mechanism.from_weights(weights, bits, PRIOR.labels)
    assert asked.check(whole, PRIOR).verdict is Verdict.YES
    # Reports that told little left room for more: histories stop at different lengths, and some
    # are longer than the worst case allows.
    assert len(lengths) > 1
    longest = max(lengths)
    every = md.compose(*[parts[i % 2] for i in range(longest)], prior=PRIOR, notions=[asked])
    assert every.found[0].levels[0] > asked.epsilon


def test_notions_may_come_one_by_one_or_in_a_list():
    flip = md.Mechanism([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]])
    told = md.Odometer(PRIOR)
    wide, narrow = md.LDP(3), md.PML(0.1)
    assert told.allows(flip, [wide])
    assert told.allows(flip, wide)
    for both in ([wide, narrow], (narrow, wide)):
        assert told.within(both)
        assert told.within(*both)
        assert not told.allows(flip, both)
        assert not told.allows(flip, *both)
        assert not told.after(flip, 1).within(both)


def test_going_on_without_asking_exceeds_the_level():
    flip = md.Mechanism([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]])
    told = md.Odometer(PRIOR)
    for _ in range(5):
        told = told.after(flip, 1)
    assert not told.within(md.PML(0.8))


def test_symbols_in_another_order_are_the_same_symbols():
    one = md.Mechanism([[0.7, 0.3], [0.4, 0.6]], ["a", "b"])
    turned = md.Mechanism([[0.4, 0.6], [0.7, 0.3]], ["b", "a"])
    prior = md.Prior([0.8, 0.2], ["a", "b"])
    assert (
        md.Odometer(prior).after(one, 0).likelihoods
        == md.Odometer(prior).after(turned, 0).likelihoods
    )


def test_what_is_ruled_out_is_infinite_for_costs_and_finite_for_gains():
    told = md.Odometer([0.5, 0.25, 0.25]).after(md.Mechanism([[1, 0], [1, 0], [0, 1]]), 0)
    assert told.level(md.PMC) == told.level(md.LDP) == math.inf
    assert told.level(md.PML) == pytest.approx(math.log(4 / 3))
    assert told.levels(md.ALIP) == (math.inf, pytest.approx(math.log(4 / 3)))
    assert "PMC(inf)" in str(told)


def test_what_is_ruled_out_is_within_no_finite_level_of_a_cost():
    sure = md.Mechanism([[1, 0], [0.5, 0.5]], ["a", "b"])
    told = md.Odometer(md.Prior([0.5, 0.5], ["a", "b"])).after(sure, 1)
    for finite, unbounded in ((md.PMC(50), md.PMC(math.inf)), (md.LDP(50), md.LDP(math.inf))):
        assert not told.within(finite)
        assert not md.Odometer(told.prior).allows(sure, finite)
        assert told.within(unbounded)
        assert md.Odometer(told.prior).allows(sure, unbounded)


def test_mistakes_are_explained():
    told = md.Odometer([0.5, 0.5])
    sure = md.Mechanism([[1, 0], [0, 1]])
    refused(lambda: told.after(sure, 7), "outcome of the kernel", error=KernelError)
    refused(lambda: told.after(sure, 0).after(sure, 1), "cannot", error=KernelError)
    refused(lambda: told.after(md.Mechanism(np.eye(3)), 0), "2 symbols", error=KernelError)
    refused(lambda: told.level(md.MaximalLeakage), "likelihood ratios", error=LevelError)
    refused(lambda: told.level(md.ALIP), "one level", error=LevelError)
    refused(lambda: told.level(md.DP), "likelihood ratios", error=LevelError)
    refused(lambda: told.allows(sure, md.MIPrivacy(1)), "likelihood ratios", error=LevelError)
