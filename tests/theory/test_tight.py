"""Tight conversions: naive linear programs agree, witnesses attain, bounds are proved."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import naive
import numpy as np
import pytest
from checks import for_each, refused, slow_but
from family_notions import MAKERS
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from strategies import levels, priors, random_kernel, random_level

import mechdesign as md
from mechdesign.errors import LevelError
from mechdesign.linear.highs import Model
from mechdesign.privacy import Bound, Hypotheses, LikelihoodBound
from mechdesign.privacy.prior_sets import Ball, Box
from mechdesign.theory import exact_cone, tight_conversion
from mechdesign.theory.exact_cone import ClosedForm, ConeProgram, Knapsack, make_cone

FAMILY = (md.PML, md.PMC, md.LIP, md.ALIP, md.LDP)


@dataclass(frozen=True)
class Pairs(LikelihoodBound, register=False):
    """A notion with hypotheses of its own, as a user would define one outside the package."""

    epsilon: float
    over: tuple[tuple[float, ...], ...]
    under: tuple[tuple[float, ...], ...]
    pairing: str = "all"
    scales: tuple[float, ...] | None = None
    references: ClassVar = ()

    def bounds(self, prior):
        over, under = Hypotheses.mixtures(self.over), Hypotheses.mixtures(self.under)
        return [Bound(over, under, self.epsilon, self.pairing, self.scales)]

    def leakage(self, kernel, prior):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = [np.log(mu @ kernel / (nu @ kernel)) / s for mu, nu, s in triples(self)]
        return np.nan_to_num(ratios, nan=0.0, posinf=np.inf).max(axis=0).clip(0)


def groups(notion, prior):
    """The pairs of a notion in exact numbers."""
    return (group for part in notion.constraints(prior).cone for group in part.groups())


def triples(notion):
    """(μ, ν, scale) of every pair."""
    over = [np.array(row) / sum(row) for row in notion.over]
    under = [np.array(row) / sum(row) for row in notion.under]
    if notion.pairing == "matched":
        return list(zip(over, under, notion.scales or [1.0] * len(over), strict=True))
    return [(mu, nu, 1.0) for mu in over for nu in under]


def random_pairs(rng, n, epsilon):
    """Points, mixtures, mixtures with zeros; all pairs or matched ones; with and without scales."""

    def hypothesis():
        kind = rng.integers(3)
        row = np.eye(n)[rng.integers(n)] if kind == 0 else rng.dirichlet(np.full(n, 0.5))
        if kind == 2:
            row = row * (rng.uniform(size=n) < 0.6)
        return tuple((row if row.sum() > 1e-3 else np.eye(n)[0]).tolist())

    matched = rng.uniform() < 0.5
    a, b = rng.integers(1, 4, 2)
    b = a if matched else b
    scales = tuple(rng.uniform(0.2, 3, a).tolist()) if matched and rng.uniform() < 0.5 else None
    while True:
        over, under = tuple(hypothesis() for _ in range(a)), tuple(hypothesis() for _ in range(b))
        found = Pairs(epsilon, over, under, "matched" if matched else "all", scales)
        # Alike hypotheses ask nothing, which is refused.
        if any(abs(mu - nu).max() > 1e-9 for mu, nu, _ in triples(found)):
            return found


def asked(target, p):
    """(μ, ν, scale) of the pairs of a target."""
    if isinstance(target, Pairs):
        return triples(target)
    n, eye = len(p), np.eye(len(p))
    found = []
    if target in (md.PML, md.LIP):
        found += [(eye[x], p, 1.0) for x in range(n)]
    if target in (md.PMC, md.LIP):
        found += [(p, eye[x], 1.0) for x in range(n)]
    if target is md.LDP:
        found += [(eye[x], eye[z], 1.0) for x in range(n) for z in range(n) if x != z]
    return found


def naive_level(rows, pairs):
    """The largest log-ratio by one dense linear program per pair; infinite when unbounded."""
    worst = 0.0
    for mu, nu, scale in pairs:
        answer = linprog(
            -mu,
            A_ub=np.reshape(rows, (-1, len(mu))),
            b_ub=np.zeros(len(rows)),
            A_eq=nu[None, :],
            b_eq=[1.0],
            bounds=(0, None),
            method="highs",
        )
        if answer.status in (2, 3):
            return math.inf
        assert answer.status == 0, answer.message
        worst = max(worst, math.log(-answer.fun) / scale)
    return worst


def source(rng, prior, kind):
    """Notions and their dense rows."""
    p, e = prior.probabilities, random_level(rng, 0.05, 3)
    if kind in naive.ROWS and kind != "alip":
        return [getattr(md, kind.upper())(e)], naive.ROWS[kind](p, e)
    f = random_level(rng, 0.05, 3)
    if kind == "alip":
        return [md.ALIP(e, f)], naive.alip_rows(p, e, f)
    if kind == "both":
        notions = [md.ALIP(e, f), md.LDP(0.7 * (e + f))]
        return notions, naive.alip_rows(p, e, f) + naive.ldp_rows(p, 0.7 * (e + f))
    own = random_pairs(rng, len(p), e)
    rows = naive.ratio_rows((mu, nu, e * s) for mu, nu, s in triples(own))
    if kind == "pairs and ldp":
        return [own, md.LDP(2 * e)], rows + naive.ldp_rows(p, 2 * e)
    return [own], rows


KINDS = (*naive.ROWS, "both", "pairs", "pairs and ldp")


@pytest.mark.slow
@given(priors(2, 5), st.integers(0, 10**6), st.sampled_from(KINDS))
def test_tight_levels_agree_with_dense_programs_and_are_attained(prior, seed, kind):
    rng = np.random.default_rng(seed)
    prior = md.Prior.from_counts(rng.dirichlet(np.ones(len(prior))) + 0.01)
    notions, rows = source(rng, prior, kind)
    targets = [md.PML, md.PMC, md.LIP, md.LDP, random_pairs(rng, len(prior), 1.0)]
    for target in targets:
        found = tight_conversion(notions, target, prior)
        entry = found.levels[0]
        want = naive_level(rows, asked(target, prior.probabilities))
        assert entry.level == want or entry.level == pytest.approx(want, rel=1e-6, abs=1e-7)
        assert entry.gap <= 1e-8 * max(1.0, entry.attained)
        assert entry.witness is not None
        assert entry.witness.is_exact
        for notion in notions:
            assert notion.check(entry.witness, prior).verdict is md.Verdict.YES
        if entry.level > 1e-6:
            below = found.target.with_levels(min(entry.attained, 1e3) * (1 - 1e-9))
            assert below.check(entry.witness, prior).verdict is md.Verdict.NO


@pytest.mark.slow
@given(priors(2, 5), st.integers(0, 10**6), st.sampled_from(KINDS))
def test_no_kernel_exceeds_a_tight_level(prior, seed, kind):
    """Columns drawn inside the cone, and far out on its rays, stay below the level."""
    rng = np.random.default_rng(seed)
    notions, _ = source(rng, prior, kind)
    target = random_pairs(rng, len(prior), 1.0)
    level = tight_conversion(notions, target, prior).target.levels[0]
    kernel = random_kernel(rng, len(prior), 4)
    share = 1.0
    while share > 1e-6:
        mixed = md.Mechanism(share * kernel + (1 - share) * kernel.mean(axis=0))
        if all(max(n.measure(mixed, prior)) <= min(n.levels) * (1 - 1e-9) for n in notions):
            assert max(target.measure(mixed, prior)) <= level * (1 + 1e-9) + 1e-12
            break
        share /= 2


@pytest.mark.slow
@given(priors(2, 6), levels(0.01, 4), levels(0.01, 4), st.booleans())
def test_closed_forms_knapsacks_and_programs_agree(prior, first, second, ratio):
    notions = [md.LDP(first)] if ratio else [md.ALIP(first, second)]
    for target in (md.PML(1.0), md.PMC(1.0), md.LDP(1.0)):
        cone, questions = make_cone(notions, prior, groups(target, prior))
        assert cone.sides is not None
        closed, knapsack, program = (
            ClosedForm(cone.sides),
            Knapsack(cone.sides),
            ConeProgram(cone),
        )
        assert knapsack.applies
        for group in questions:
            for mu in group.over[:3]:
                for nu in group.under[:3]:
                    exact = closed.level(mu, nu)
                    again = knapsack.level(mu, nu)
                    if exact is None:
                        assert again is None
                        continue
                    assert again is not None
                    assert abs(exact - again) <= Fraction(1, 1 << 150)
                    loose = program.level(mu, nu)
                    if loose is not None and prior.pmin > 1e-4:
                        assert float(loose) >= float(exact) * (1 - 1e-15)
                        assert float(loose) == pytest.approx(float(exact), rel=1e-6, abs=1e-8)


@for_each("damage", ["nothing", "zeros", "noise", "doubled"])
def test_bounds_hold_whatever_the_multipliers(damage, monkeypatch):
    """A solver that returns other multipliers gives a worse bound, never a wrong one."""
    rng = np.random.default_rng(5)

    class Damaged(Model):
        def run(self, solver=None):
            found = super().run(solver)
            if found.duals is None or damage == "nothing":
                return found
            size = len(found.duals)
            duals = {
                "zeros": 0 * found.duals,
                "noise": found.duals * rng.uniform(0.5, 1.5, size) + rng.uniform(0, 1, size),
                "doubled": found.duals * rng.integers(2, 4, size),
            }
            return replace(found, duals=duals[damage])

    monkeypatch.setattr(exact_cone, "Model", Damaged)
    prior = md.Prior([0.5, 0.3, 0.2])
    worse = 0
    for _ in range(20):
        notions, rows = source(rng, prior, "pairs and ldp")
        target = random_pairs(rng, 3, 1.0)
        level = tight_conversion(notions, target, prior).target.epsilon
        want = naive_level(rows, triples(target))
        assert level >= want * (1 - 1e-7)
        worse += level > want + 1e-6
    assert (worse > 2) == (damage != "nothing")


@for_each("cls", FAMILY)
@given(prior=priors(2, 5), level=levels(1e-3, 10))
def test_a_notion_implies_itself_at_its_level_or_less(cls, prior, level):
    notion = cls.at(level)
    found = tight_conversion(notion, cls, prior)
    assert all(a <= level for a in found.target.levels)
    # And what it implies of itself is all that it asks.
    again = tight_conversion(found.target, cls, prior)
    assert again.target.levels == pytest.approx(found.target.levels, rel=1e-12)


def test_closed_values():
    coin = md.Prior([0.5, 0.5])
    found = tight_conversion(md.LIP(1.0), md.LDP, coin)
    assert found.target.epsilon == pytest.approx(math.log(2 * math.e - 1), rel=1e-15)
    assert found.levels[0].method == "closed form"
    prior = md.Prior([0.5, 0.3, 0.2])
    assert tight_conversion(md.LIP(0.15), md.LDP, prior).target.epsilon == 0.3
    star = math.log(0.2 / (1 - math.exp(0.1) * 0.8))
    assert tight_conversion(md.PML(0.1), md.PMC, prior).target.epsilon == pytest.approx(star)


@pytest.mark.parametrize(("given", "to"), [(md.LIP, md.LDP), (md.PML, md.PMC), (md.LDP, md.PML)])
def test_what_a_witness_attains_is_rounded_down_and_its_bound_up(given, to):
    """Exactly: the witness is above the one and not above the other."""
    prior = md.Prior([0.5, 0.3, 0.2])
    found = tight_conversion(given(0.15), to, prior)
    (entry,) = found.levels
    assert entry.attained < entry.level
    assert str(to(entry.attained).check(entry.witness, prior).verdict) == "no"
    assert str(found.target.check(entry.witness, prior).verdict) == "yes"


def test_chains_of_neighbours_add_up():
    """With neighbours on a path, the ends are three steps apart; across a gap, nothing holds."""
    path = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))
    steps = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)]
    over = tuple(path[a] for a, _ in steps)
    under = tuple(path[b] for _, b in steps)
    prior = md.Prior.uniform(4)
    whole = tight_conversion(Pairs(0.5, over, under, "matched"), md.LDP, prior)
    assert whole.target.epsilon == pytest.approx(1.5, rel=1e-9)
    broken = Pairs(0.5, over[:2] + over[4:], under[:2] + under[4:], "matched")
    apart = tight_conversion(broken, md.LDP, prior)
    assert apart.target.epsilon == math.inf
    assert apart.levels[0].attained == math.inf
    assert "unbounded" in apart.reason
    scaled = tight_conversion(md.LDP(1.0), Pairs(1.0, over, under, "matched", (2.0,) * 6), prior)
    assert scaled.target.epsilon == pytest.approx(0.5)


@for_each("masses", [[1e-12, 0.3, 0.7 - 1e-12], [0.2, 0.3, 0.5]])
@for_each("level", [1e-4, 1.0, 30.0, 200.0])
def test_levels_too_extreme_for_a_solver_have_a_bound_all_the_same(level, masses):
    """A demand of another kind leaves a linear program, and the two-sided cone around it."""
    prior = md.Prior(masses)
    extra = Pairs(2 * level, ((1.0, 0.0, 0.0),), ((0.0, 1.0, 0.0),))
    found = tight_conversion([md.LIP(level), extra], md.LDP, prior).levels[0]
    around = tight_conversion(md.LIP(level), md.LDP, prior).levels[0]
    assert found.method == "linear program"
    assert found.level <= around.level
    assert found.witness is not None
    assert found.gap <= 1e-7 * found.level


def test_scale_zero_asks_for_equal_likelihoods():
    prior = md.Prior([0.5, 0.5])
    asked_for = Pairs(1.0, ((1.0, 0.0),), ((0.0, 1.0),), "matched", (0.0,))
    assert tight_conversion(md.LDP(0.1), asked_for, prior).target.epsilon == math.inf
    assert tight_conversion(md.LDP(0.0), asked_for, prior).target.epsilon == 0.0


def test_solvers_stop_where_numbers_are_too_extreme_for_floats(monkeypatch):
    """Without a limit the simplex method goes round in circles here."""
    prior = md.Prior([1e-12, 0.3, 0.3, 0.4 - 1e-12])
    source = MAKERS["feature PML"](0.0)
    cone, (group, *_) = make_cone([source], prior, groups(MAKERS["pufferfish"](1.0), prior))
    limits, ends = [], []

    class Watched(Model):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            limits.append((options["simplex_iteration_limit"], options["ipm_iteration_limit"]))

        def run(self, solver=None):
            found = super().run(solver)
            ends.append(found.status)
            return found

    monkeypatch.setattr(exact_cone, "Model", Watched)
    ConeProgram(cone).level(group.over[0], group.under[0])
    assert len(limits) == 1
    assert max(limits[0]) <= 5000
    assert "Iteration limit reached" in ends
    witness = tight_conversion(source, MAKERS["pufferfish"](1.0), prior).levels[0].witness
    assert source.check(witness, prior).verdict is md.Verdict.YES


def test_chains_bound_levels_that_are_too_large_for_floats():
    prior = md.Prior.uniform(range(4))
    for level in (30.0, 300.0):
        found = tight_conversion(md.DP(level, "adjacent"), md.FreeLunch, prior)
        assert found.target.epsilon == 3 * level


@pytest.mark.slow
def test_many_symbols():
    rng = np.random.default_rng(3)
    prior = md.Prior.from_counts(rng.dirichlet(np.ones(400)))
    found = tight_conversion(md.LIP(1.0), md.LDP, prior)
    assert found.gap <= 1e-12
    assert found.target.epsilon == 2.0
    feature = Pairs(1.0, (tuple(float(x < 40) for x in range(400)),), (tuple(prior.probabilities),))
    found = tight_conversion(md.LIP(1.0), feature, prior)
    assert found.levels[0].method == "knapsack"
    assert found.gap <= 1e-12


def dense(hypothesis, n):
    row = np.zeros(n)
    row[list(hypothesis.support)] = [float(m) for m in hypothesis.masses]
    return row


@given(st.integers(1, 6), st.integers(0, 10**6))
def test_vertices_of_sets_of_priors_reach_what_is_least_over_them(n, seed):
    rng = np.random.default_rng(seed)
    centre = [Fraction(int(c), 64) for c in rng.multinomial(64, rng.dirichlet(np.ones(n)))]
    away = [Fraction(int(v), 64) for v in rng.integers(0, 20, n)]
    low = [max(c - a, Fraction(0)) for c, a in zip(centre, away, strict=True)]
    high = [min(c + a, Fraction(1)) for c, a in zip(centre, away, strict=True)]
    for found in (Box(low, high, "box"), Ball(centre, away[0], "ball")):
        vertices = found.vertices()
        assert all(sum(v) == found.total and min(v) >= 0 for v in vertices)
        for _ in range(5):
            column = rng.integers(0, 50, n).tolist()
            values = [sum(a * k for a, k in zip(v, column, strict=True)) for v in vertices]
            assert min(values) == found.least(column)


@pytest.mark.slow
def test_sets_with_too_many_vertices_are_named():
    prior = md.Prior.uniform(range(40))
    ranges = dict.fromkeys(range(40), (0.01, 0.04))
    refused(
        lambda: tight_conversion(md.RobustPML.box(1.0, ranges), md.LDP, prior),
        "few thousand vertices",
        error=LevelError,
    )
    floor = md.RobustPML.floor(1.0, 0.01)
    assert tight_conversion(md.LDP(0.5), floor, prior).target.epsilon < 0.5


@pytest.mark.parametrize("level", slow_but(1, [0.3, 2.0]))
def test_any_two_notions_of_the_family_agree_with_dense_programs(level):
    """Neighbours, distances, features, side information, sets of priors: all against all."""
    rng = np.random.default_rng(8)
    prior = md.Prior([0.4, 0.3, 0.2, 0.1])
    makers = {**MAKERS, "PML": md.PML, "LIP": md.LIP, "LDP": md.LDP}
    rows, pairs = {}, {}
    for name, make in makers.items():
        pairs[name] = [
            (dense(mu, 4), dense(nu, 4), float(group.scale))
            for group in groups(make(1.0), prior)
            for mu in group.over
            for nu in group.under
        ]
        rows[name] = naive.ratio_rows((mu, nu, level * s) for mu, nu, s in pairs[name])
    for source_name in makers:
        for target in rng.choice(list(makers), 4, replace=False):
            notion = makers[source_name](level)
            found = tight_conversion(notion, makers[target](1.0), prior)
            (entry,) = found.levels
            want = naive_level(rows[source_name], pairs[target])
            case = (source_name, target)
            assert entry.level == want or entry.level == pytest.approx(want, rel=1e-6, abs=1e-7), (
                case
            )
            assert entry.gap <= 1e-7 * max(1.0, entry.attained), case
            assert entry.witness is not None
            assert notion.check(entry.witness, prior).verdict is md.Verdict.YES


def test_mistakes_are_named():
    prior = md.Prior([0.5, 0.5])

    class Other(md.PrivacyNotion, register=False):
        epsilon = 1.0

        def leakage(self, kernel, prior):
            raise NotImplementedError

        def check(self, mechanism, prior):
            raise NotImplementedError

    refused(lambda: tight_conversion(Other(), md.LDP, prior), "tight=True", error=LevelError)
    refused(lambda: tight_conversion(md.PML(1), Other, prior), "md.LDP", error=LevelError)
    refused(lambda: tight_conversion(md.PML(1), "ldp", prior), "md.LDP", error=LevelError)
    refused(lambda: tight_conversion(md.PML(1), md.LDP, [0.5, 0.5]), "a Prior", error=LevelError)


def test_a_report_on_tightness_is_a_line_for_each_conversion():
    """No matrix of a witness stands in it."""
    for level in (0.08, 2.0):
        report = md.theory.tightness_report(md.Prior([0.5, 0.3, 0.2]), level)
        head, *lines = str(report).splitlines()
        assert len(lines) == len(report)
        assert max(map(len, lines)) < 90
        for line, row in zip(lines, report, strict=True):
            for part in (row.id, str(row.given), str(row.published), row.verdict):
                assert part in line
            assert (str(row.tight.target) in line) or row.verdict != "loose"
            assert len(repr(row.tight).splitlines()) == 1
        assert f"{sum(row.verdict == 'tight' for row in report)} tight" in head
