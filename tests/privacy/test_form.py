"""The one form of all constraints: only notions know how it is made, and its sides agree."""

from __future__ import annotations

import ast
import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from family_notions import MAKERS
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from strategies import cone_of, exact_mechanism, notions, random_gains, random_kernel

import mechdesign as md
from mechdesign.certificate.shape import sides_outside
from mechdesign.exact import Verdict, compare_with_exp, exp_bounds, log_bounds
from mechdesign.privacy import Bound, Hypotheses
from mechdesign.privacy.constraint import Rounding, check_bound
from mechdesign.privacy.notion import Constraints
from mechdesign.privacy.rows import AllPairs, ConeRows
from mechdesign.privacy.sums import SumConstraint

ROOT = Path(md.__file__).parent
N = 4

# Who may look at what


#: The checker of files imports nothing of the package, and names its own parts.
ALONE = "certificate/verify.py"
#: Requirements state bounds too, in the same form.
MAKERS_OF_BOUNDS = "requirement/"

INSIDE_A_BOUND = {"Hypotheses", "Bound", "PriorSet", "Box", "Ball", "check_bound", "prior_sets"}


def subclasses(cls):
    """Names of the package's classes derived from one."""
    found = set()
    for child in cls.__subclasses__():
        found |= subclasses(child)
        if child.__module__.startswith("mechdesign."):
            found.add(child.__name__)
    return found


KINDS_OF_SUMS = subclasses(SumConstraint)
KINDS_OF_ROWS = subclasses(ConeRows)


def offences(source, place):
    """What a module outside privacy/ does that only notions may do."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, (ast.Attribute, ast.ImportFrom)):
            continue
        if isinstance(node, ast.Attribute) and node.attr == "pairing":
            found.append("looks at how a bound pairs its hypotheses")
        named = set()
        if isinstance(node, ast.ImportFrom):
            named = {alias.name for alias in node.names}
            if (node.module or "").split(".")[-1] == "prior_sets":
                named.add("prior_sets")
        elif isinstance(node, ast.Attribute):
            named = {node.attr}
        if place.startswith(MAKERS_OF_BOUNDS):
            named -= {"Bound", "Hypotheses"}
        for names in (INSIDE_A_BOUND, KINDS_OF_SUMS, KINDS_OF_ROWS):
            found += [f"names {name}" for name in sorted(named & names)]
    return found


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        if not place.startswith("privacy/") and place != ALONE:
            yield place, path.read_text(encoding="utf-8")


def test_nobody_outside_privacy_asks_a_bound_what_it_is_made_of():
    for place, source in modules():
        assert offences(source, place) == [], place
    for source, place, told in (
        ("def f(b):\n    return b.pairing == 'all'", "solve/choice.py", "pairs its hypotheses"),
        ("from ..privacy.constraint import Bound", "program/problem.py", "names Bound"),
        ("from ..privacy.prior_sets import masses_over", "theory/tight.py", "names prior_sets"),
        ("isinstance(c, sums.HockeyStick)", "certificate/bounds.py", "names HockeyStick"),
        ("from ..privacy.rows import AgainstSet", "program/program.py", "names AgainstSet"),
    ):
        (found,) = offences(source, place)
        assert told in found


# What is drawn


def levels():
    return st.floats(math.log(1e-3), math.log(8)).map(math.exp)


@st.composite
def cases(draw):
    """A prior of four symbols, its cone, the bounds it was made of, and a generator."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    prior = md.Prior.from_counts(rng.integers(1, 20, N).tolist())
    asked = draw(
        st.one_of(
            st.tuples(st.sampled_from(sorted(MAKERS)), levels()).map(lambda t: MAKERS[t[0]](t[1])),
            notions(1e-3, 8),
        )
    )
    return prior, asked, cone_of(asked, prior), rng


def each_way(test):
    return settings(max_examples=30)(given(cases())(test))


def random_column(rng):
    """Positive integers over 2^40, from nearly constant to very uneven."""
    exponents = rng.uniform(0, rng.choice([0.1, 2.0, 20.0]), N)
    return [Fraction(int(2**39 * math.exp(-v)) + 1, 1 << 40) for v in exponents]


def pairs_hold(part, column):
    """Whether a column satisfies every pair of a part, in exact numbers."""
    for group in part.groups():
        over = max(mu.dot(column) for mu in group.over)
        under = min(nu.dot(column) for nu in group.under)
        if over and (not under or compare_with_exp(over / under, group.level) is not Verdict.YES):
            return False
    return True


def rows_hold(part, column):
    """Whether auxiliaries exist with which a column satisfies the rows, their floats taken exactly.

    Each row holds one auxiliary at most, so that rows bound it from below or above; else a linear
    program says by how much rows must be violated, and ``None`` is too little to tell.
    """
    rows = part.matrix().toarray()
    free = rows[:, N:]
    if (np.count_nonzero(free, axis=1) > 1).any():
        return rows_hold_roughly(rows, column)
    fixed = [
        sum(Fraction(a) * k for a, k in zip(row, column, strict=True))
        for row in rows[:, :N].tolist()
    ]
    for row, value in zip(free, fixed, strict=True):
        if not row.any() and value > 0:
            return False
    for j in range(free.shape[1]):
        entries = [(Fraction(float(a)), v) for a, v in zip(free[:, j], fixed, strict=True) if a]
        least = max([Fraction(0), *(v / -a for a, v in entries if a < 0)])
        if any(least > -v / a for a, v in entries if a > 0):
            return False
    return True


def rows_hold_roughly(rows, column):
    scale = np.array([float(k) for k in column]) / float(max(column))
    free = np.hstack([rows[:, N:], -np.ones((len(rows), 1))])
    cost = np.eye(free.shape[1])[-1]
    signs = [(0, None)] * (free.shape[1] - 1) + [(None, None)]
    found = linprog(cost, free, -rows[:, :N] @ scale, bounds=signs, method="highs-ds")
    assert found.status == 0
    return None if abs(found.fun) < 1e-8 else found.fun < 0


def at_the_edge(cone, column):
    """The largest share t, up to 2^-40, with which (1 − t)·constant + t·column lies in the cone."""
    most = max(column)

    def moved(t):
        return [(1 - t) * most + t * k for k in column]

    low, high = Fraction(0), Fraction(1)
    for _ in range(40):
        middle = (low + high) / 2
        if all(pairs_hold(part, moved(middle)) for part in cone.parts):
            low = middle
        else:
            high = middle
    return low, moved


# Rows


@pytest.mark.slow
@each_way
def test_rows_are_stricter_than_the_pairs(case):
    _, _, cone, rng = case
    for _ in range(2):
        share, moved = at_the_edge(cone, random_column(rng))
        near = share * (1 - Fraction(1, 10**6)), share, share + Fraction(2, 1 << 40)
        for t in (*near, Fraction(1)):
            column = moved(t)
            for part in cone.parts:
                assert pairs_hold(part, column) or not rows_hold(part, column)


@each_way
def test_rows_hold_a_little_inside_and_fail_a_little_outside(case):
    """How much: a share of 1e-5 of the way from a constant column."""
    _, _, cone, rng = case
    share, moved = at_the_edge(cone, random_column(rng))
    inner, outer = moved(share * (1 - Fraction(1, 10**5))), moved(share * (1 + Fraction(1, 10**5)))
    # Shares are known to 2^-40: enough, as levels are at least 1e-3.
    assert share > Fraction(1, 10**4)
    for part in cone.parts:
        assert rows_hold(part, inner) is not False
    if share < Fraction(1, 2):
        assert not all(rows_hold(part, outer) for part in cone.parts)


@each_way
def test_rows_of_the_cone_are_those_of_its_parts(case):
    _, _, cone, _ = case
    rows = cone.matrix()
    assert rows.shape == (cone.count, N + cone.auxiliaries)
    start, place = 0, N
    for part in cone.parts:
        own = part.matrix().toarray()
        block = rows.toarray()[start : start + len(own)]
        used = [*range(N), *range(place, place + part.auxiliaries)]
        np.testing.assert_array_equal(block[:, used], own)
        assert not np.delete(block, used, axis=1).any()
        start, place = start + len(own), place + part.auxiliaries


# Dual variables


def any_numbers(rng, cone, outputs):
    """Dual variables of the right shapes: of any sign and size, some not finite."""
    size = 10.0 ** rng.uniform(-6, 6)

    def spoiled(numbers):
        found = size * rng.standard_normal(numbers.shape)
        found[rng.random(numbers.shape) < 0.2] = 0.0
        found[rng.random(numbers.shape) < 0.05] = rng.choice([math.nan, math.inf, -math.inf, 1e300])
        return found

    return tuple(tuple(map(spoiled, part)) for part in cone.no_duals(outputs))


@pytest.mark.slow
@each_way
def test_any_dual_variables_take_nothing_off_columns_of_the_cone(case):
    """⟨w, k⟩ ≤ 0 up to the rounding of sums of so many terms, exactly evaluated."""
    _, _, cone, rng = case
    columns = []
    for _ in range(3):
        share, moved = at_the_edge(cone, random_column(rng))
        columns.append(moved(share))
    taken, size = cone.combination(any_numbers(rng, cone, 3), 3)
    if not np.isfinite(taken).all():
        return  # numbers beyond floats: bounds leave such duals out
    terms = Fraction(cone.terms + N + 8) / 2**52
    for w, s in zip(taken.T.tolist(), size.T.tolist(), strict=True):
        for column in columns:
            value = sum(Fraction(a) * k for a, k in zip(w, column, strict=True))
            assert value <= terms * sum(Fraction(a) * k for a, k in zip(s, column, strict=True))


@each_way
def test_feasible_dual_variables_stay_as_they_are(case):
    _, _, cone, rng = case
    for part in cone.parts:
        shapes = part.no_duals(3)
        once = part.feasible(tuple(rng.exponential(size=numbers.shape) for numbers in shapes))
        again = part.feasible(once[: len(shapes)])
        for first, second in zip(once, again, strict=True):
            assert (first >= 0).all()
            np.testing.assert_allclose(second, first, rtol=1e-13, atol=1e-300)


# The pairs, four ways


def dense(distribution):
    row = [Fraction(0)] * N
    for x, mass in zip(distribution.support, distribution.masses, strict=True):
        row[x] = mass
    return tuple(row)


def listed(part):
    """Every pair of a part as (μ, ν, level)."""
    return [
        (dense(mu), dense(nu), group.level)
        for group in part.groups()
        for mu in group.over
        for nu in group.under
    ]


def times(masses, column):
    return sum((a * k for a, k in zip(masses, column, strict=True)), Fraction(0))


def columns_of(mechanism):
    return [
        [Fraction(int(w), 1 << mechanism.bits) for w in column] for column in mechanism.weights.T
    ]


@each_way
def test_groups_and_pairs_are_the_same_pairs(case):
    _, _, cone, _ = case
    for part in cone.parts:
        expected = sorted(listed(part))
        for rounding in Rounding:
            found = []
            for pair in part.pairs(rounding):
                over = tuple(Fraction(v, pair.over_total) for v in pair.over)
                under = tuple(Fraction(v, pair.under_total) for v in pair.under)
                found.append((over, under, Fraction(pair.factor)))
                # An integer row that says the same.
                row = pair.integers()
                assert math.gcd(*row) in (0, 1)
                exact = [found[-1][2] * b - a for a, b in zip(over, under, strict=True)]
                same = list(zip(row, exact, strict=True))
                assert all(a * v == b * u and a * u >= 0 for a, u in same for b, v in same)
            assert [pair[:2] for pair in sorted(found)] == [pair[:2] for pair in expected]
            by_pair = {}
            for over, under, level in expected:
                by_pair.setdefault((over, under), []).append(level)
            for over, under, factor in found:
                ends = [exp_bounds(level) for level in by_pair[over, under]]
                if rounding is Rounding.INSIDE:
                    assert any(factor <= high and factor > low * (1 - 1e-9) for low, high in ends)
                else:
                    assert any(low <= factor < high * (1 + 1e-15) for low, high in ends)


@each_way
def test_what_is_compared_in_integers_is_decided_by_the_same_pairs(case):
    prior, asked, cone, rng = case
    mechanism = exact_mechanism(random_kernel(rng, N, 3), prior.labels)
    columns = columns_of(mechanism)
    for part in cone.parts:
        holds = [True] * 3
        for c in part.compared(mechanism):
            for y, (a, b) in enumerate(zip(c.over.tolist(), c.under.tolist(), strict=True)):
                ratio = Fraction(int(a) * c.under_total, int(b) * c.over_total)
                holds[y] &= compare_with_exp(ratio, c.level) is Verdict.YES
        assert holds == [pairs_hold(part, column) for column in columns]
    # And so is the exact check of the bounds that the notion gave.
    bounds = [b for b in asked.bounds(prior) if not b.is_vacuous]
    for bound, part in zip(bounds, cone.parts, strict=True):
        checked = check_bound(bound, mechanism)
        holds = all(pairs_hold(part, column) for column in columns)
        assert (checked.verdict is Verdict.YES) is holds
        ratios = [
            (times(mu, k) / times(nu, k), level) for mu, nu, level in listed(part) for k in columns
        ]
        if asked.levels[bound.parameter] > 0 and len({level for _, level in ratios}) == 1:
            assert checked.ratio == max(ratio for ratio, _ in ratios)


@each_way
def test_likelihoods_in_floats_are_those_of_the_same_pairs(case):
    """The nearest pair, and how many are tight: in floats, against exact numbers."""
    prior, _, cone, rng = case
    mechanism = exact_mechanism(random_kernel(rng, N, 3), prior.labels)
    columns = columns_of(mechanism)
    for part in cone.parts:
        ratios = part.at(mechanism)
        for y, column in enumerate(columns):
            excess = [
                (float(log_bounds(times(mu, column) / times(nu, column))[0] - level), nu, level)
                for mu, nu, level in listed(part)
            ]
            top = max(excess)[0]
            under, level = ratios.nearest(y)
            near = [(times(nu, column), lv) for e, nu, lv in excess if e > top - 1e-9]
            assert any(
                under == pytest.approx(float(v)) and level == pytest.approx(float(lv))
                for v, lv in near
            )
            if not part.is_listed:
                continue  # of a set of priors only the worst one counts
            room = 1e-7 - float(rng.choice([e for e, _, _ in excess]))
            expected = sum(e >= -room for e, _, _ in excess)
            assert ratios.count_tight(np.array([y]), room) == expected


# Shapes


@each_way
def test_the_certificate_sees_the_shape_that_designs_see(case):
    """Recognised twice, by different means; the certificate's is never inside e^ε."""
    _, _, cone, _ = case
    seen, said = sides_outside(cone), cone.two_sided(Rounding.OUTSIDE)
    if said is None or seen is None:
        # A set of priors that is one prior alone may be seen by one and not by the other.
        assert seen is said or not all(part.is_listed for part in cone.parts)
        return
    assert (seen.lower, seen.upper, seen.ratio) == (said.lower, said.upper, said.ratio)
    design = cone.two_sided(Rounding.INSIDE)
    assert seen.lower <= design.lower
    assert seen.upper >= design.upper
    assert seen.ratio >= design.ratio
    by_kind = {"upper": [], "lower": [], "ratio": []}
    for part in cone.parts:
        for mu, nu, level in listed(part):
            sizes = np.count_nonzero(mu), np.count_nonzero(nu)
            kind = {(1, N): "upper", (N, 1): "lower", (1, 1): "ratio"}.get(sizes)
            if kind is not None:
                by_kind[kind].append(level)
    factors = {kind: exp_bounds(min(found))[0] for kind, found in by_kind.items() if found}
    assert factors
    for kind, factor in factors.items():
        told = 1 / seen.lower if kind == "lower" else getattr(seen, kind)
        assert told == pytest.approx(float(factor), rel=1e-14)
        if kind == "lower":
            assert Fraction(seen.lower) * factor <= 1
        else:
            assert Fraction(told) >= factor


def test_shapes_are_recognised_from_pairs_alone():
    prior = md.Prior([0.4, 0.3, 0.2, 0.1])
    shapes = {
        name: cone_of(make(0.7), prior).shape
        for name, make in {**MAKERS, "PML": md.PML, "PMC": md.PMC, "LIP": md.LIP}.items()
    }
    special = {name: shape for name, shape in shapes.items() if shape != "general"}
    assert special == {
        "DP all": "ratio",
        "free lunch": "ratio",
        "PML": "upper lift",
        "PMC": "lower lift",
        "LIP": "lift",
    }


class Boaster(AllPairs):
    """Rows of one symbol against the prior that say to be those of all symbols."""

    def kind(self, prior):
        return "points", "prior"


@dataclass(frozen=True)
class OneSymbol(md.LikelihoodBound, register=False):
    """P(y | first symbol) ≤ e^ε P(y)."""

    epsilon: float
    boasts: bool = False

    def bounds(self, prior):
        return [Bound(Hypotheses.points(prior, [0]), Hypotheses.prior(prior), self.epsilon)]

    def constraints(self, prior):
        if not self.boasts:
            return super().constraints(prior)
        return Constraints(tuple(Boaster(bound) for bound in self.checked_bounds(prior)))

    def leakage(self, kernel, prior):
        q = prior.probabilities @ kernel
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(kernel[0] / np.where(q > 0, q, 1.0)), 0.0)


def test_rows_that_lie_about_their_kind_prove_nothing():
    """They mislead a design, not its bound: that is above what the pairs allow."""
    prior = md.Prior([0.4, 0.3, 0.2, 0.1])
    rng = np.random.default_rng(5)
    utilities = [md.utility.Matrix(random_gains(rng, N, N)) for _ in range(6)]
    utilities += [md.utility.Hamming(), md.utility.MutualInformation(), md.utility.ChiSquare()]
    utilities.append(md.utility.Sublinear(lambda k, p: float(np.sqrt(np.sum(np.square(k))))))
    liar = OneSymbol(0.1, boasts=True)
    assert cone_of(liar, prior).shape == "upper lift"
    assert sides_outside(cone_of(liar, prior)) is None
    misled = 0
    for utility in utilities:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", md.errors.GapWarning)
            honest = md.design(prior, utility, OneSymbol(0.1))
            found = md.design(prior, utility, liar)
        assert found.bound >= honest.value - 1e-9
        assert found.value <= honest.bound + 1e-9
        if found.value < honest.value - 1e-5:
            misled += 1
            assert not found.certificate.is_optimal
    assert misled >= 3
