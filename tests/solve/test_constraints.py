"""What notions ask of a cvxpy expression: the set that designs are made in, and nothing else."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from checks import for_each, refused, slow_but
from random_designs import MAKERS
from scipy import sparse
from strategies import random_gains

import mechdesign as md
from mechdesign.errors import KernelError, LevelError, PriorError
from mechdesign.privacy import NOTIONS, ConicRows, Epigraph, PrivacyNotion
from mechdesign.privacy.sums import ColumnExtremes

cvxpy = pytest.importorskip("cvxpy")

#: What Clarabel and a design may differ by.
AGREED = 1e-6
PRIOR = md.Prior([0.5, 0.3, 0.2])
#: What the repair of its answer may cost.
REPAIRED = 1e-5
#: Least level that a conic solver tells from zero.
COARSE = 1e-3


def best(prior, gains, privacy):
    """Optimum of a linear utility over the constraints, the kernel and the prices of its rows."""
    kernel = cvxpy.Variable(gains.shape)
    asked = md.constraints(kernel, prior, privacy)
    value = cvxpy.sum(cvxpy.multiply(prior.probabilities[:, None] * gains, kernel))
    task = cvxpy.Problem(cvxpy.Maximize(value), asked)
    with warnings.catch_warnings():
        # What it calls inaccurate is compared with the optimum all the same.
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        return task.solve(solver="CLARABEL"), kernel.value, asked[0].dual_value


def instances(name, rounds=6):
    for number in range(rounds):
        rng = np.random.default_rng([61, list(MAKERS).index(name), number])
        n, m = int(rng.integers(2, 6)), int(rng.integers(2, 5))
        masses = (rng.dirichlet(np.ones(n)) + 0.02).tolist()
        if number >= 4:
            masses[int(rng.integers(n))] = 0.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prior = md.Prior.from_counts(masses)
        notion = MAKERS[name](rng, n, masses)[0]
        if min(notion.levels) < COARSE:
            notion = notion.with_levels(*(max(level, COARSE) for level in notion.levels))
        yield prior, random_gains(rng, n, m), notion


def test_every_registered_notion_of_the_package_has_a_maker():
    own = {n for n, cls in NOTIONS.items() if cls.__module__.startswith("mechdesign.")}
    assert own == {name.lower() for name in MAKERS}


@for_each("name", slow_but(8, MAKERS))
def test_a_linear_objective_has_the_optimum_of_the_design(name):
    for prior, gains, notion in instances(name):
        found = md.design(prior, md.utility.Matrix(gains), notion)
        assert found.gap < AGREED
        value, kernel, _ = best(prior, gains, notion)
        assert value == pytest.approx(found.value, abs=AGREED), (notion, prior.probabilities)
        np.testing.assert_allclose(kernel.sum(axis=1), 1, atol=1e-7)
        told = md.certify(kernel, prior, md.utility.Matrix(gains), notion)
        assert told.value == pytest.approx(found.value, abs=REPAIRED)
        assert told.bound == pytest.approx(found.bound, abs=AGREED)


def test_symbols_without_mass_keep_what_is_asked_of_them():
    """LDP is about every symbol, those of zero mass too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prior = md.Prior([0.5, 0.5, 0.0])
    kernel = cvxpy.Variable((3, 3))
    asked = md.constraints(kernel, prior, md.LDP(1))
    apart = cvxpy.Maximize(kernel[2, 2] - kernel[0, 2])
    told = cvxpy.Problem(apart, asked).solve(solver="CLARABEL")
    assert told == pytest.approx((math.e - 1) / (math.e + 1), abs=AGREED)


# Cones of sums that no notion of the package has


class SecondOrder(ColumnExtremes):
    """Σ_y max_x K[x,y] by (t_y, k_xy) in second-order cones."""

    def epigraph(self, symbols, outputs):
        """One cone of two rows for each entry."""
        size = symbols * outputs
        entries = sparse.kron(sparse.eye_array(size), [[0.0], [1.0]])
        tops = sparse.kron(sparse.eye_array(outputs), np.tile([[1.0], [0.0]], (symbols, 1)))
        cone = ConicRows("second-order", sparse.hstack([entries, tops]).tocsr(), 2)
        return Epigraph(outputs, *self.total(size, outputs), (cone,))

    def total(self, size, outputs):
        """The row of the limit."""
        row = sparse.csr_array(np.r_[np.zeros(size), np.ones(outputs)][None, :])
        return row, np.array([math.exp(self.epsilon)])


class Power(SecondOrder):
    """The same by t_y^0.3 t_y^0.7 ≥ |k_xy|."""

    def epigraph(self, symbols, outputs):
        """One cone of three rows for each entry."""
        size = symbols * outputs
        entries = sparse.kron(sparse.eye_array(size), [[0.0], [0.0], [1.0]])
        tops = sparse.kron(sparse.eye_array(outputs), np.tile([[1.0], [1.0], [0.0]], (symbols, 1)))
        cone = ConicRows("power", sparse.hstack([entries, tops]).tocsr(), 3, 0.3)
        return Epigraph(outputs, *self.total(size, outputs), (cone,))


@dataclass(frozen=True)
class ByCones(md.MaximalLeakage, register=False):
    """Maximal leakage by cones of another kind."""

    kind: type = SecondOrder

    def sums(self, prior):
        """One sum."""
        return [self.kind(super().sums(prior)[0].over, self.epsilon)]


@pytest.mark.parametrize("kind", [SecondOrder, Power])
def test_cones_of_every_kind(kind):
    gains = np.random.default_rng(5).uniform(-1, 1, (3, 4))
    for level in (0.1, 0.5):
        found = best(PRIOR, gains, ByCones(level, kind))[0]
        assert found == pytest.approx(best(PRIOR, gains, md.MaximalLeakage(level))[0], abs=1e-5)
        # A control: another limit has another optimum.
        assert found < best(PRIOR, gains, md.MaximalLeakage(level + 0.05))[0] - 1e-4


# What is refused


@for_each(
    ("make", "words"),
    [
        (lambda: np.eye(3), ["shape (3, M)", "a ndarray"]),
        (lambda: md.PML(1), ["PML"]),
        (lambda: None, ["None"]),
        (lambda: cvxpy.Variable(3), ["shape (3,)"]),
        (lambda: cvxpy.Variable((2, 3)), ["shape (2, 3)", "cvxpy.Variable((3, M))"]),
        (lambda: cvxpy.Variable((3, 3), complex=True), ["complex"]),
        (lambda: cvxpy.square(cvxpy.Variable((3, 3))), ["convex"]),
    ],
)
def test_what_is_no_kernel_expression_is_refused(make, words):
    refused(lambda: md.constraints(make(), PRIOR, md.LDP(1)), *words, error=KernelError)


@dataclass(frozen=True)
class OnlyAudited(PrivacyNotion, register=False):
    """A notion that nothing is known to imply."""

    epsilon: float

    def leakage(self, kernel, prior):
        """Nothing."""
        return np.zeros(kernel.shape[1])

    def check(self, mechanism, prior):
        """The check of another notion."""
        return md.LDP(self.epsilon).check(mechanism, prior)


def test_a_notion_without_such_a_form_is_refused():
    variable = cvxpy.Variable((3, 3))
    asked = [md.LDP(1), OnlyAudited(1)]
    refused(lambda: md.constraints(variable, PRIOR, asked), "OnlyAudited", error=LevelError)
    refused(lambda: md.constraints(variable, [0.5, 0.3, 0.2], md.LDP(1)), error=PriorError)
    refused(lambda: md.constraints(variable, PRIOR, "ldp"), error=LevelError)
