"""What repeated reports add up to: exact for small products, bounded for large ones."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from checks import refused
from hypothesis import given
from hypothesis import strategies as st
from strategies import exact_mechanism, kernels, priors, sizes

import mechdesign as md
from mechdesign.errors import InputError
from mechdesign.privacy import AverageNotion
from mechdesign.solve.columns_plan import product_kernel
from mechdesign.theory._composition import bounded_levels, largest_ratios, levels_from_ratio

NOTIONS = [md.LDP(math.inf), md.PML(math.inf), md.PMC(math.inf), md.LIP(9), md.ALIP(9, 9)]


def naive_levels(kernels_, prior, notion):
    """Levels of all sequences of outcomes, one by one."""
    columns = []
    for ys in itertools.product(*(range(k.shape[1]) for k in kernels_)):
        columns.append(np.prod([k.kernel[:, y] for k, y in zip(kernels_, ys, strict=True)], axis=0))
    per_outcome = np.atleast_2d(notion.leakage(np.stack(columns, axis=1), prior))
    return per_outcome.max(axis=1)


@given(st.data())
def test_products_agree_with_all_sequences_of_outcomes(data):
    prior = data.draw(priors(2, 3))
    n = len(prior)
    parts = [
        exact_mechanism(data.draw(kernels(n, data.draw(sizes(1, 3)), zeros=False)))
        for _ in range(data.draw(st.integers(1, 2)))
    ]
    times = data.draw(st.integers(1, 2))
    made = md.compose(*parts, times=times, prior=prior, notions=NOTIONS)
    assert made.reports == times * len(parts)
    for level in made:
        assert level.exact
        expected = naive_levels(parts * times, prior, level.notion)
        np.testing.assert_allclose(level.levels, expected, rtol=1e-9, atol=1e-9)


@given(st.data())
def test_bounds_lie_above_the_exact_levels(data):
    prior = data.draw(priors(2, 4))
    mechanism = exact_mechanism(data.draw(kernels(len(prior), data.draw(sizes(2, 3)))))
    times = data.draw(st.integers(1, 3))
    exact = md.compose(mechanism, times=times, prior=prior, notions=NOTIONS)
    for level in exact:
        assert level.exact
        bound = bounded_levels(level.notion, [(mechanism, times)], prior)
        for have, most in zip(level.levels, bound, strict=True):
            assert have <= most
        if isinstance(level.notion, md.LDP) and level.levels[0] < math.inf:
            assert bound[0] == pytest.approx(level.levels[0], rel=1e-9, abs=1e-9)


def test_large_products_are_bounded_and_say_so():
    found = md.design(md.Prior.uniform(30), md.utility.Hamming(), md.LDP(1))
    made = md.compose(found, times=40, notions=[md.LDP(1), md.PML(1)])
    ldp, pml = made.found
    assert not ldp.exact
    assert ldp.levels[0] == pytest.approx(40, rel=1e-6)
    assert ldp.levels[0] >= 40 * (1 - 1e-9)
    assert pml.levels[0] <= math.log(30) * (1 + 1e-9)
    assert not ldp.meets
    assert "at most" in str(made)
    assert md.compose(found).found[0].meets


def test_pml_of_repeated_reports_never_exceeds_what_there_is_to_know():
    prior = md.Prior([0.2, 0.8])
    flip = md.Mechanism([[0.75, 0.25], [0.25, 0.75]])
    levels = [
        md.compose(flip, times=k, prior=prior, notions=[md.PML(1)]).found[0].levels[0]
        for k in (1, 2, 4, 8, 5000)
    ]
    assert levels == sorted(levels)
    assert levels[-1] <= math.log(5) + 1e-6
    assert levels[-1] == pytest.approx(math.log(5), abs=1e-3)


def test_order_and_repetition_of_the_list_do_not_matter():
    a = md.Mechanism([[0.75, 0.25], [0.25, 0.75]])
    b = md.Mechanism([[0.5, 0.5], [0.125, 0.875]])
    prior = md.Prior([0.25, 0.75])
    orders = [md.compose(*order, prior=prior) for order in ([a, b, a], [a, a, b], [b, a, a])]
    assert len({str(made) for made in orders}) == 1
    assert str(md.compose(a, b, times=2, prior=prior)) == str(md.compose(a, a, b, b, prior=prior))


def test_a_level_is_told_once_whatever_each_report_was_asked_to_keep():
    prior = md.Prior([0.5, 0.3, 0.2])
    for notions, asked in (
        ([md.LDP(1), md.LDP(2)], md.LDP(1)),
        ([md.ALIP(1, 0.5), md.ALIP(0.5, 1)], md.ALIP(0.5, 0.5)),
    ):
        designs = [md.design(prior, md.utility.Hamming(), one) for one in notions]
        (found,) = md.compose(*designs).found
        one, two = (design.mechanism for design in designs)
        assert found.notion == asked
        assert found.levels == asked.check(one.parallel(two), prior).achieved
    selections = [md.subset_selection(md.Prior.uniform(5), md.LDP(e)) for e in (1, 2)]
    assert str(md.compose(*selections)) == "2 reports together: LDP(3) at most"


def test_levels_from_the_ratio_alone_hold():
    """For two reports of a subset selection together, whose matrix is a product."""
    selection = md.subset_selection(5, md.LIP(2))
    rows = [[float(selection.probability(x, y)) for y in selection.outputs] for x in range(5)]
    kernel = np.array([np.outer(row, row).ravel() for row in rows])
    lift, ratio = kernel / kernel.mean(axis=0), 2 * selection.log_ratio
    upper, lower = math.log(lift.max()), -math.log(lift.min())
    spread = math.log((lift.max(axis=0) / lift.min(axis=0)).max())
    for asked, met in (
        (md.LDP(1), [spread]),
        (md.PML(1), [upper]),
        (md.PMC(1), [lower]),
        (md.LIP(1), [max(upper, lower)]),
        (md.ALIP(1, 1), [lower, upper]),
    ):
        levels = levels_from_ratio(asked, ratio, 1 / 5)
        assert all(a <= b + 1e-12 for a, b in zip(met, levels, strict=True))
    together = md.compose(selection, times=2)
    assert together.found[0].levels == levels_from_ratio(md.LIP(2), ratio, 1 / 5)


def test_reports_of_a_plan_are_one_report_of_all_its_columns(tmp_path, run):
    people = {"class": list("xyzxyx") * 20, "sex": list("fmfmff") * 20}
    for total, twice in ((md.LDP(2), 4.0), (md.PML(1), None)):
        plan = md.plan_columns(people, {"class": 1, "sex": 1}, total=total)
        once = md.compose(plan)
        assert once.found[0].levels == plan.leaks
        assert once.found[0].exact
        again = md.compose(plan, times=2).found[0]
        if twice is None:
            known = plan.prior.restricted()
            kernel = product_kernel(list(plan.kernels.values()), known.labels)
            assert again.levels == total.check(kernel.parallel(kernel), known).achieved
        else:
            assert again.levels[0] == pytest.approx(twice, abs=1e-8)
        md.save(plan, "plan.json", overwrite=True)
        assert run("compose", "plan.json", "--times", "2")[1] == f"{md.compose(plan, times=2)}\n"


def test_ratios_by_definition():
    mechanism = md.Mechanism([[0.5, 0.5, 0], [0.25, 0.5, 0.25]])
    found = largest_ratios(mechanism)
    np.testing.assert_allclose(found[0, 1], 2)
    assert found[0, 1] >= 2
    assert found[1, 0] == math.inf


def test_refusals():
    flip = md.Mechanism([[0.75, 0.25], [0.25, 0.75]])
    refused(lambda: md.compose(), "0 mechanisms", error=InputError)
    refused(lambda: md.compose(flip, times=0), "0 times", error=InputError)
    refused(lambda: md.compose(flip, md.Mechanism(np.eye(3))), "same secret", error=InputError)


@dataclass(frozen=True)
class Silent(AverageNotion, register=False):
    """Asks what maximal leakage asks, and says nothing of how levels compose."""

    epsilon: float

    def sums(self, prior):
        return md.MaximalLeakage(self.epsilon).sums(prior)

    def leakage(self, kernel, prior):
        return md.MaximalLeakage(self.epsilon).leakage(kernel, prior)


@dataclass(frozen=True)
class Adding(Silent, register=False):
    adds_up = True


@dataclass(frozen=True)
class BelowSize(Adding, register=False):
    below_size = True


def test_notions_from_outside_say_how_their_levels_compose():
    flip, prior, many = md.Mechanism([[0.75, 0.25], [0.25, 0.75]]), md.Prior.uniform(2), 10**6
    found = md.compose(flip, times=many, prior=prior, notions=[Silent(1), Adding(1), BelowSize(1)])
    silent, adding, below = (part.levels[0] for part in found)
    assert not any(part.exact for part in found)
    assert silent == math.inf
    assert adding == pytest.approx(many * math.log(1.5), rel=1e-9)
    assert below == pytest.approx(math.log(2), rel=1e-9)
    # Few reports are counted out, whatever a notion says.
    (few,) = md.compose(flip, times=1, prior=prior, notions=[Silent(1)])
    assert few.exact
    assert few.levels[0] == pytest.approx(math.log(1.5), rel=1e-9)
