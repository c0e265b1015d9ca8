"""Constraints on sums over outcomes that are defined outside the package, one with cones."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each
from scipy import sparse
from scipy.optimize import minimize
from strategies import exact_mechanism, random_kernel

import mechdesign as md
from mechdesign.errors import CertificateError, GapWarning, SolverError, ZeroMassWarning
from mechdesign.exact import Verdict, compare_with_exp, exp_upper, log_upper
from mechdesign.privacy import (
    NOTIONS,
    AverageNotion,
    ConicRows,
    Epigraph,
    Evaluation,
    Minorants,
    SumConstraint,
    SumPrice,
)

PRIOR = md.Prior([0.4, 0.3, 0.2, 0.1])
HAMMING = md.utility.Hamming()
#: Digits of square roots.
FINE = 200


def nonnegative(numbers):
    return np.where(np.isfinite(numbers), np.maximum(numbers, 0.0), 0.0)


@dataclass(frozen=True)
class RootMeanSquare(SumConstraint):
    """Σ_y (mean over x of K[x,y]²)^½ ≤ e^ε, one second-order cone for each outcome."""

    epsilon: float
    cones = frozenset({"second-order"})

    def evaluate(self, mechanism):
        """Square roots between integers: low ≤ 2^FINE · root ≤ low + 1."""
        n, m = mechanism.shape
        roots = [
            sum(int(w) ** 2 for w in mechanism.weights[:, y]) * n << (2 * FINE) for y in range(m)
        ]
        low = sum(math.isqrt(v) for v in roots)
        high = low + sum(math.isqrt(v) ** 2 < v for v in roots)
        unit = n << (FINE + mechanism.bits)
        off = 1 + mechanism.row_error
        least, most = Fraction(low, unit) / off, Fraction(high, unit) * off
        verdict = Verdict.UNDECIDED
        if self.is_vacuous or compare_with_exp(most, Fraction(self.epsilon)) is Verdict.YES:
            verdict = Verdict.YES
        elif compare_with_exp(least, Fraction(self.epsilon)) is Verdict.NO:
            verdict = Verdict.NO
        spread = np.ptp(mechanism.kernel, axis=0)
        level = max(0.0, log_upper(most))
        return Evaluation(verdict, level, int(spread.argmax()), "the sum of quadratic means", "one")

    def epigraph(self, symbols, outputs):
        """(√n t, k) in a second-order cone for each outcome, Σ t ≤ e^ε."""
        own = sparse.kron(
            sparse.eye_array(outputs), math.sqrt(symbols) * np.eye(symbols + 1)[:, :1]
        )
        entries = sparse.kron(sparse.eye_array(outputs), np.eye(symbols + 1)[:, 1:])
        cone = ConicRows("second-order", sparse.hstack([entries, own]).tocsr(), symbols + 1)
        total = sparse.hstack([sparse.csr_array((1, symbols * outputs)), np.ones((1, outputs))])
        limit = 1 + math.expm1(self.epsilon) * (1 - 1e-12)
        return Epigraph(outputs, total, np.array([limit]), (cone,))

    def duals(self, rows, cones, kernel):
        """τ, and the directions in which the cones push."""
        return rows.reshape(1, 1), -cones[0][:, 1:].T

    def minorants(self, duals):
        """⟨w, k⟩ ≤ τ (mean k²)^½ for every w of length τ/√n."""
        tau = float(nonnegative(duals[0]).max())
        size = np.where(np.isfinite(duals[1]), np.clip(duals[1], -1e100, 1e100), 0.0)
        length = np.sqrt(np.square(size).sum(axis=0))
        unit = size / np.where(length > 0, length, 1.0)
        columns = tau / math.sqrt(len(size)) * (1 - 1e-14) * unit
        return Minorants(tau * exp_upper(self.epsilon), columns, np.abs(columns))

    def prices(self, duals, mechanism):
        """One price, of the limit e^ε."""
        tau = float(nonnegative(duals[0]).max())
        found = self.evaluate(mechanism)
        slack = max(self.epsilon - found.level, 0.0)
        return [SumPrice(found.over, found.under, slack, tau, tau * math.exp(self.epsilon))]


@dataclass(frozen=True)
class Ranges(SumConstraint):
    """Σ_y (max_x K[x,y] − min_x K[x,y]) ≤ ε, by linear rows alone."""

    epsilon: float

    def evaluate(self, mechanism):
        """A sum of integers over a power of two."""
        spread = mechanism.weights.max(axis=0) - mechanism.weights.min(axis=0)
        total = Fraction(int(spread.astype(object).sum()), 1 << mechanism.bits)
        total += 2 * mechanism.row_error
        verdict = Verdict.YES if self.is_vacuous or total <= self.epsilon else Verdict.NO
        level = float(total)
        level = level if level >= total else math.nextafter(level, math.inf)
        return Evaluation(verdict, level, int(spread.argmax()), "the sum of ranges", "zero")

    def epigraph(self, symbols, outputs):
        """k ≤ h, l ≤ k, Σ (h − l) ≤ ε."""
        entries = sparse.eye_array(symbols * outputs)
        ends = sparse.kron(sparse.eye_array(outputs), np.ones((symbols, 1)))
        nothing = sparse.csr_array(ends.shape)
        rows = sparse.vstack(
            [
                sparse.hstack([entries, -ends, nothing]),
                sparse.hstack([-entries, nothing, ends]),
                sparse.hstack(
                    [
                        sparse.csr_array((1, symbols * outputs)),
                        np.ones((1, outputs)),
                        -np.ones((1, outputs)),
                    ]
                ),
            ]
        )
        right = np.append(np.zeros(2 * symbols * outputs), self.epsilon * (1 - 1e-12))
        return Epigraph(2 * outputs, rows, right)

    def duals(self, rows, cones, kernel):
        """Those of the upper and the lower ends, ``(n, M)`` each."""
        above, below = np.split(rows[:-1], 2)
        return tuple(part.reshape(kernel.shape[1], -1).T for part in (above, below))

    def minorants(self, duals):
        """⟨a − b, k⟩ ≤ τ (max k − min k) for a, b ≥ 0 with Σ a = Σ b ≤ τ."""
        above, below = map(nonnegative, duals)
        least = np.minimum(above.sum(axis=0), below.sum(axis=0))
        a, b = (
            part * (least / np.where(part.sum(axis=0) > 0, part.sum(axis=0), 1.0))
            for part in (above, below)
        )
        tau = float(least.max()) * (1 + 1e-14)
        return Minorants(tau * self.epsilon, a - b, a + b)

    def prices(self, duals, mechanism):
        """One price, of the limit ε."""
        tau = float(self.minorants(duals).limit) / self.epsilon
        found = self.evaluate(mechanism)
        return [SumPrice(found.over, found.under, max(self.epsilon - found.level, 0.0), tau, tau)]


@dataclass(frozen=True)
class ShiftedRanges(Ranges):
    """The same with variables less one, which are negative."""

    def epigraph(self, symbols, outputs):
        """The ends of the ranges, less one."""
        found = super().epigraph(symbols, outputs)
        own = found.rows[:, symbols * outputs :] @ np.ones(found.size)
        return Epigraph(found.size, found.rows, found.right - own, is_signed=False)


class Measured(AverageNotion, register=False):
    """What both notions share: the measurement of an outcome, and of all."""

    def leakage(self, kernel, prior):
        """The share of each outcome."""
        return self.share(kernel)


@dataclass(frozen=True)
class QuadraticLeakage(Measured, register=False):
    """Quadratic leakage: log Σ_y (mean of K[x,y]²)^½ ≤ ε."""

    epsilon: float

    def sums(self, prior):
        """One constraint."""
        return [RootMeanSquare(self.epsilon)]

    @staticmethod
    def share(kernel):
        return np.sqrt(np.square(kernel).mean(axis=0))

    def measure(self, mechanism, prior):
        """The logarithm of the sum."""
        return (max(0.0, math.log(self.share(mechanism.kernel).sum())),)


@dataclass(frozen=True)
class RangeLeakage(Measured, register=False):
    """Range leakage: Σ_y (max − min of K[:,y]) ≤ ε."""

    epsilon: float

    def sums(self, prior):
        """One constraint."""
        return [Ranges(self.epsilon)]

    @staticmethod
    def share(kernel):
        return np.ptp(kernel, axis=0)

    def measure(self, mechanism, prior):
        """The sum."""
        return (float(self.share(mechanism.kernel).sum()),)


BOTH = [QuadraticLeakage, RangeLeakage]
each = pytest.mark.parametrize("cls", BOTH)


@pytest.fixture
def registered():
    before = dict(NOTIONS)
    NOTIONS.update({cls.__name__.lower(): cls for cls in BOTH})
    yield
    NOTIONS.clear()
    NOTIONS.update(before)


@each
@for_each("level, also", [(0.0, []), (0.2, []), (0.5, [md.PML(0.6)])])
def test_designs_are_certified(cls, level, also):
    for utility in (HAMMING, md.utility.Distance("absolute")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GapWarning)
            found = md.design(PRIOR, utility, [cls(level), *also])
        assert found.gap <= 1e-6
        assert found.certificate.checks[0].verdict is Verdict.YES
        least = utility.value(md.Mechanism(np.eye(1)[[0] * 4], PRIOR.labels, [0]), PRIOR)
        assert level or found.value == pytest.approx(0.4 if utility is HAMMING else -0.8, abs=1e-6)
        assert least <= found.value <= md.design(PRIOR, utility, [cls(9.0), *also]).value + 1e-9


@pytest.mark.parametrize("solver", ["auto", "epigraph-highs", "epigraph-clarabel"])
def test_variables_of_an_epigraph_may_be_negative(solver):
    class Shifted(RangeLeakage, register=False):
        def sums(self, prior):
            return [ShiftedRanges(self.epsilon)]

    for utility in (HAMMING, md.utility.Distance("absolute")):
        found = md.design(PRIOR, utility, Shifted(0.2), solver=solver)
        assert found.method == ("epigraph-highs" if solver == "auto" else solver)
        assert found.gap < 1e-9
        assert found.value == pytest.approx(md.design(PRIOR, utility, RangeLeakage(0.2)).value)


@pytest.mark.parametrize("named", [frozenset(), ["second-order"], {"second-order"}], ids=str)
def test_cones_that_are_named_otherwise_or_not_at_all(named):
    """Without them the program would be another one: a solver that has none says so."""

    class Named(RootMeanSquare):
        cones = named

    class Leakage(QuadraticLeakage, register=False):
        def sums(self, prior):
            return [Named(self.epsilon)]

    found = md.design(PRIOR, HAMMING, Leakage(0.2))
    assert found.value == md.design(PRIOR, HAMMING, QuadraticLeakage(0.2)).value
    assert found.method == "epigraph-clarabel"
    if not named:
        with pytest.raises(SolverError, match=r"no second-order cones .* name them"):
            md.design(PRIOR, HAMMING, Leakage(0.2), solver="epigraph-highs")


@each
def test_symbols_of_zero_mass_count(cls):
    """A mean over all rows is another one without theirs: they have rows of their own."""
    with pytest.warns(ZeroMassWarning):
        prior = md.Prior([0.5, 0.3, 0.2, 0.0])
    found = md.design(prior, HAMMING, cls(0.2))
    near = md.design(md.Prior([0.5, 0.3, 0.2 - 1e-7, 1e-7]), HAMMING, cls(0.2))
    assert found.value == pytest.approx(near.value, abs=1e-6)
    assert found.gap < 1e-9
    assert found.bound >= near.value - 1e-6


def test_the_optimum_is_that_of_a_general_optimiser():
    """Hamming under ranges: a linear program; under quadratic means: SLSQP from many kernels."""
    n, level = 4, 0.2
    found = md.design(PRIOR, HAMMING, QuadraticLeakage(level))
    p, rng = PRIOR.probabilities, np.random.default_rng(0)
    limit = {
        "type": "ineq",
        "fun": lambda k: math.exp(level) - np.sqrt(np.square(k.reshape(n, n)).mean(axis=0)).sum(),
    }
    rows = {"type": "eq", "fun": lambda k: k.reshape(n, n).sum(axis=1) - 1}
    best = max(
        -minimize(
            lambda k: -float(p @ np.diag(k.reshape(n, n))),
            0.9 / n + 0.1 * rng.dirichlet(np.ones(n), n).ravel(),
            bounds=[(0, 1)] * (n * n),
            constraints=[limit, rows],
            method="SLSQP",
            options={"maxiter": 300, "ftol": 1e-12},
        ).fun
        for _ in range(3)
    )
    assert found.value == pytest.approx(best, abs=1e-5)


@each
def test_checks_agree_with_measurements(cls):
    rng = np.random.default_rng(2)
    for _ in range(20):
        mechanism = exact_mechanism(random_kernel(rng, 4, 3), PRIOR.labels)
        (measured,) = cls(1.0).measure(mechanism, PRIOR)
        assert cls(1.0).check(mechanism, PRIOR).achieved[0] == pytest.approx(measured, abs=1e-9)
        assert cls(measured + 1e-6).check(mechanism, PRIOR).verdict is Verdict.YES
        assert cls(measured - 1e-6).check(mechanism, PRIOR).verdict is Verdict.NO


@each
def test_it_is_saved_and_loaded(cls, tmp_path, registered):
    found = md.design(PRIOR, HAMMING, cls(0.2))
    md.save(found, tmp_path / "design.json")
    again = md.load(tmp_path / "design.json")
    assert again.notions == (cls(0.2),)
    assert again.mechanism == found.mechanism
    assert (again.value, again.bound, again.gap) == (found.value, found.bound, found.gap)


@each
def test_its_price_is_the_slope_of_the_optimum(cls):
    step, level = 1e-4, 0.2
    found = md.binding(md.design(PRIOR, HAMMING, cls(level)))
    near = [md.design(PRIOR, HAMMING, cls(level + d)).value for d in (-step, step)]
    (price,) = found.constraints
    assert price.output is None
    assert price.slack < 1e-6
    assert price.price_per_nat == pytest.approx((near[1] - near[0]) / (2 * step), rel=1e-3)
    # Prices of the rows and of the limit add up to the bound.
    limit = math.exp(level) if cls is QuadraticLeakage else level
    total = found.row_prices.sum() + price.price * limit
    assert total == pytest.approx(found.design.bound, abs=1e-6)


# Minorants that are none


@dataclass(frozen=True)
class Mistaken(SumConstraint):
    """A constraint that says more of its minorants than is true, or less."""

    true: SumConstraint
    steeper: float
    tighter: float

    @property
    def epsilon(self):
        return self.true.epsilon

    @property
    def cones(self):
        return self.true.cones

    def evaluate(self, mechanism):
        return self.true.evaluate(mechanism)

    def epigraph(self, symbols, outputs):
        return self.true.epigraph(symbols, outputs)

    def duals(self, rows, cones, kernel):
        return self.true.duals(rows, cones, kernel)

    def prices(self, duals, mechanism):
        return self.true.prices(duals, mechanism)

    def minorants(self, duals):
        found = self.true.minorants(duals)
        return Minorants(found.limit / self.tighter, self.steeper * found.columns, found.size)


def mistaken(cls, steeper, tighter):
    """The notion at level 0.2, with minorants that are wrong by these factors."""

    @dataclass(frozen=True)
    class Wrong(cls, register=False):
        def sums(self, prior):
            return [Mistaken(c, steeper, tighter) for c in super().sums(prior)]

    return Wrong(0.2)


@for_each(
    ("cls", "steeper", "tighter"),
    [
        (QuadraticLeakage, 1.02, 1.0),
        (QuadraticLeakage, 4.0, 1.0),
        (QuadraticLeakage, 1.0, 1.02),
        (RangeLeakage, 1.0, 1.02),
        (RangeLeakage, 1.0, 4.0),
    ],
)
def test_minorants_that_are_none_withhold_the_design(cls, steeper, tighter):
    """The bound they give lies below the value of a private kernel, which is seen."""
    with pytest.raises(CertificateError, match=r"is below the value .* one of them is wrong"):
        md.design(PRIOR, HAMMING, mistaken(cls, steeper, tighter))


@for_each(
    ("cls", "steeper", "tighter"),
    [
        (QuadraticLeakage, 0.5, 1.0),
        (QuadraticLeakage, 1.0, 0.5),
        (RangeLeakage, 0.9, 1.0),
        (RangeLeakage, 1.0, 0.9),
        # Steeper than any minorant, but other outputs take over: not below the value either.
        (RangeLeakage, 1.5, 1.0),
    ],
)
def test_minorants_of_the_wrong_size_otherwise_only_lose_the_bound(cls, steeper, tighter):
    true = md.design(PRIOR, HAMMING, cls(0.2))
    with pytest.warns(GapWarning):
        found = md.design(PRIOR, HAMMING, mistaken(cls, steeper, tighter))
    assert found.value == pytest.approx(true.value, abs=1e-9)
    assert found.bound > true.bound + 1e-3


# Power cones


def cube_root(number):
    """The largest integer whose cube is at most a number."""
    found = 1 << (number.bit_length() + 2) // 3
    while found**3 > number:
        found = (2 * found + number // found**2) // 3
    return found


@dataclass(frozen=True)
class CubicMeans(RootMeanSquare):
    """Σ_y (mean over x of K[x,y]³)^⅓ ≤ e^ε, a power cone for each entry."""

    cones = frozenset({"power"})

    def evaluate(self, mechanism):
        """Cube roots between integers: low ≤ 2^FINE · root ≤ low + 1."""
        n, m = mechanism.shape
        cubes = [sum(int(w) ** 3 for w in mechanism.weights[:, y]) * n**2 for y in range(m)]
        least = sum(cube_root(v << 3 * FINE) for v in cubes)
        most = Fraction(least + m, n << FINE + mechanism.bits) * (1 + mechanism.row_error)
        verdict = Verdict.NO
        if self.is_vacuous or compare_with_exp(most, Fraction(self.epsilon)) is Verdict.YES:
            verdict = Verdict.YES
        return Evaluation(verdict, max(0.0, log_upper(most)), 0, "the sum of cubic means", "one")

    def epigraph(self, symbols, outputs):
        """K ≤ r^⅓ t^⅔ for each entry, Σ_x r ≤ n t for each outcome, Σ t ≤ e^ε."""
        entries = symbols * outputs
        every, none = sparse.eye_array(entries), sparse.csr_array((entries, entries))
        means = sparse.kron(sparse.eye_array(outputs), np.ones((symbols, 1)))
        # Variables of its own: t of each outcome, then r of each entry.
        cone = sparse.vstack(
            [
                sparse.hstack([none, 0 * means, every]),
                sparse.hstack([none, means, none]),
                sparse.hstack([every, 0 * means, none]),
            ]
        ).tocsr()
        rows = sparse.vstack(
            [
                sparse.hstack(
                    [sparse.csr_array((outputs, entries)), -symbols * np.eye(outputs), means.T]
                ),
                sparse.csr_array(
                    ([1.0] * outputs, ([0] * outputs, entries + np.arange(outputs))),
                    shape=(1, 2 * entries + outputs),
                ),
            ]
        )
        right = np.append(np.zeros(outputs), 1 + math.expm1(self.epsilon) * (1 - 1e-12))
        order = np.arange(3 * entries).reshape(3, entries).T.ravel()
        return Epigraph(
            outputs + entries, rows, right, (ConicRows("power", cone[order], alpha=1 / 3),)
        )

    def duals(self, rows, cones, kernel):
        """τ, and the directions in which the cones push."""
        return rows[-1:].reshape(1, 1), -cones[0][:, 2].reshape(kernel.shape[1], -1).T

    def minorants(self, duals):
        """⟨w, k⟩ ≤ τ (mean k³)^⅓ for Σ |w|^(3/2) = (τ n^-⅓)^(3/2), by Hölder."""
        tau = float(nonnegative(duals[0]).max())
        size = np.where(np.isfinite(duals[1]), np.clip(duals[1], -1e100, 1e100), 0.0)
        length = (np.abs(size) ** 1.5).sum(axis=0) ** (2 / 3)
        unit = size / np.where(length > 0, length, 1.0)
        columns = tau * len(size) ** (-1 / 3) * (1 - 1e-14) * unit
        return Minorants(tau * exp_upper(self.epsilon), columns, np.abs(columns))


@dataclass(frozen=True)
class CubicLeakage(QuadraticLeakage, register=False):
    """Cubic leakage: log Σ_y (mean of K[x,y]³)^⅓ ≤ ε."""

    def sums(self, prior):
        """One constraint."""
        return [CubicMeans(self.epsilon)]

    @staticmethod
    def share(kernel):
        return np.cbrt((kernel**3).mean(axis=0))


@pytest.mark.parametrize("level", [0.02, 0.2, 0.6])
def test_power_cones(level):
    """A larger mean than the quadratic one: what it allows is allowed by that, too."""
    found = md.design(PRIOR, HAMMING, CubicLeakage(level))
    assert found.method == "epigraph-clarabel"
    assert found.gap < 1e-8
    looser = md.design(PRIOR, HAMMING, QuadraticLeakage(level))
    assert QuadraticLeakage(level).check(found.mechanism, PRIOR).verdict is Verdict.YES
    assert found.bound <= looser.bound + 1e-9
    both = md.design(PRIOR, HAMMING, [CubicLeakage(level), md.MIPrivacy(0.5 * level), md.PML(0.4)])
    assert both.gap < 1e-7
    assert both.value <= found.bound
    near = [md.design(PRIOR, HAMMING, CubicLeakage(level + d)).value for d in (-1e-4, 1e-4)]
    (price,) = md.binding(found).constraints
    assert price.price_per_nat == pytest.approx((near[1] - near[0]) / 2e-4, rel=1e-3)
