"""What every privacy notion must satisfy, as functions of a notion class.

Each function raises ``AssertionError`` (or lets an error of the package through) when the notion
breaks its part of the contract. A class may need further parameters than levels: pass a function
``make(*levels)`` that returns an instance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.optimize import linprog
from strategies import exact_mechanism, random_gains, random_mechanism

import mechdesign as md
from mechdesign.exact import Verdict
from mechdesign.linear.compiled import SparseProgram, compile_program
from mechdesign.privacy import PrivacyNotion
from mechdesign.program.problem import state_problem
from mechdesign.solve.choice import find_method
from mechdesign.solve.closed_form import CLOSED_FORMS

Make = Callable[..., PrivacyNotion]

ROUNDS = 25
ROUNDING = 1e-12
FINE = 1e-6


def instances(seed: int, rounds: int = ROUNDS) -> Iterator[tuple[Generator, md.Prior, int]]:
    """Generators with a prior and a number of outputs each."""
    for number in range(rounds):
        rng = np.random.default_rng([seed, number])
        n = int(rng.integers(2, 6))
        counts = rng.integers(1, 20, n) if number % 3 else np.ones(n, dtype=int)
        yield rng, md.Prior.from_counts(counts.tolist()), int(rng.integers(2, 6))


def at(make: Make, level: float) -> PrivacyNotion:
    """The notion with every level at one number."""
    return make.at(level) if isinstance(make, type) else make(level)  # type: ignore[attr-defined]


def constant_kernels_leak_nothing(make: Make) -> None:
    """Equal rows leak 0 and pass at level 0."""
    for rng, prior, m in instances(1):
        row = random_mechanism(rng, 1, m).kernel
        mechanism = exact_mechanism(np.repeat(row, len(prior), axis=0))
        check = at(make, 0.0).check(mechanism, prior)
        assert check.verdict is Verdict.YES, check
        assert check.achieved == (0.0,) * len(check.achieved)
        assert max(at(make, 0.0).measure(mechanism, prior)) < ROUNDING


def designs_stay_within_their_level(make: Make) -> None:
    """Measured and exact levels of a design are at most the level asked."""
    for rng, prior, m in instances(2):
        notion = at(make, float(rng.choice([0.05, 0.3, 1.0, 3.0])))
        utility = md.utility.Matrix(random_gains(rng, len(prior), m))
        found = md.design(prior, utility, notion)
        check = notion.check(found.mechanism, prior)
        assert check.verdict is Verdict.YES, check
        for asked, measured, achieved in zip(
            notion.levels, notion.measure(found.mechanism, prior), check.achieved, strict=True
        ):
            assert measured <= asked + ROUNDING
            assert achieved <= asked
        assert found.gap < 1e-6


def verdicts_are_monotone_in_the_level(make: Make) -> None:
    """Once a level is enough, every larger one is; both verdicts occur."""
    told = 0
    for rng, prior, m in instances(3):
        mechanism = random_mechanism(rng, len(prior), m)
        largest = max(at(make, math.inf).measure(mechanism, prior))
        levels = largest * np.array([0, 0.3, 0.7, 0.999, 1 - 1e-9, 1 + 1e-9, 1.001, 2, 10])
        verdicts = [at(make, float(e)).check(mechanism, prior).verdict for e in levels]
        assert set(verdicts) <= {Verdict.YES, Verdict.NO}
        first = verdicts.index(Verdict.YES)
        assert first > 0 or largest < ROUNDING
        told += first > 0
        assert all(v is Verdict.YES for v in verdicts[first:]), verdicts
    assert told


def relabelling_changes_nothing(make: Make) -> None:
    """Permuting symbols with their prior, and outputs, permutes the leakage."""
    for rng, prior, m in instances(4):
        mechanism, notion = random_mechanism(rng, len(prior), m), at(make, math.inf)
        rows, columns = rng.permutation(len(prior)), rng.permutation(m)
        labels = [prior.labels[i] for i in rows]
        moved = md.Mechanism.from_weights(
            mechanism.weights[rows][:, columns], mechanism.bits, labels
        )
        other = md.Prior.from_counts([prior.weights[i] for i in rows], labels)
        np.testing.assert_allclose(
            np.atleast_2d(notion.leakage(moved.kernel, other)),
            np.atleast_2d(notion.leakage(mechanism.kernel, prior))[:, columns],
            rtol=0,
            atol=ROUNDING,
        )
        mine, theirs = notion.check(mechanism, prior), notion.check(moved, other)
        for one, two in zip(mine.achieved, theirs.achieved, strict=True):
            assert one == two or abs(one - two) < 1e-13 * (1 + one)
        limit = at(make, max(mine.achieved) * 0.99)
        assert limit.check(moved, other).verdict is limit.check(mechanism, prior).verdict


def merging_outputs_leaks_no_more(make: Make) -> None:
    """Post-processing by merging two outputs never raises a level."""
    for rng, prior, m in instances(5):
        mechanism, notion = random_mechanism(rng, len(prior), m), at(make, math.inf)
        pair = rng.choice(m, 2, replace=False).tolist()
        merged = mechanism.merge([pair])
        for before, after in zip(
            notion.measure(mechanism, prior), notion.measure(merged, prior), strict=True
        ):
            assert after <= before + ROUNDING
        exact = notion.check(mechanism, prior), notion.check(merged, prior)
        assert all(a <= b for b, a in zip(*(c.achieved for c in exact), strict=True))


def feasible_kernels_mix(make: Make) -> None:
    """A mixture of two kernels that pass at a level passes at that level, exactly."""
    tried = 0
    for rng, prior, m in instances(6):
        n = len(prior)
        first = random_mechanism(rng, n, m)
        notion = at(make, max(at(make, math.inf).check(first, prior).achieved))
        gains = random_gains(rng, n, m)
        labels = list(range(m))
        kernels = [
            first,
            md.Mechanism(md.design(prior, md.utility.Matrix(gains), notion).mechanism.kernel),
            exact_mechanism(np.repeat(np.eye(m)[:1], n, axis=0), outputs=labels),
            exact_mechanism(np.repeat(np.eye(m)[1:2], n, axis=0), outputs=labels),
        ]
        passing = [k for k in kernels if notion.check(k, prior).verdict is Verdict.YES]
        for i, a in enumerate(passing):
            for b in passing[:i]:
                mixed = a.mix(b, int(rng.integers(1, 64)) / 64)
                check = notion.check(mixed, prior)
                assert check.verdict is Verdict.YES, check
                tried += 1
    assert tried >= ROUNDS


def compiled_program_agrees_with_the_measurement(make: Make) -> None:
    """A kernel satisfies the compiled constraints just when its measured level is within."""
    for rng, prior, m in instances(7):
        mechanism = random_mechanism(rng, len(prior), m)
        utility = md.utility.Matrix(random_gains(rng, len(prior), m))
        loose = at(make, 1.0)
        measured = loose.measure(mechanism, prior)
        for step in (1e-1, FINE):
            above = [level + step for level in measured]
            cases = [(above, True)]
            for k, level in enumerate(measured):
                if level > step:
                    cases.append(([*above[:k], level - step, *above[k + 1 :]], False))
            assert len(cases) > 1 or step > FINE
            for levels, inside in cases:
                notion = loose.with_levels(*levels)
                problem = state_problem(prior, utility, notion)
                program = compile_program(problem.program)
                assert satisfies(program, mechanism.kernel) is inside, (notion, measured)
                verdict = notion.check(mechanism, prior).verdict
                assert verdict is (Verdict.YES if inside else Verdict.NO), (notion, measured)


def exact_levels_agree_with_the_measurement(make: Make) -> None:
    """``check`` and ``measure`` give the same levels, infinite ones included."""
    for rng, prior, m in instances(8, 2 * ROUNDS):
        mechanism, notion = random_mechanism(rng, len(prior), m), at(make, math.inf)
        if rng.random() < 0.3:
            kernel = mechanism.kernel * (rng.random(mechanism.shape) < 0.6)
            kernel[:, 0] += 1 - kernel.sum(axis=1)
            mechanism = exact_mechanism(kernel)
        np.testing.assert_allclose(
            notion.check(mechanism, prior).achieved,
            notion.measure(mechanism, prior),
            rtol=0,
            atol=1e-9,
        )


def methods_agree(make: Make) -> None:
    """Every method that applies finds the same optimum.

    Formulas and vertices agree within 1e-9. Methods that stop at a gap of 1e-9 or so come within
    1e-7 of the utility range, and their value and bound still bracket the optimum.
    """
    for rng, prior, m in instances(9):
        gains = random_gains(rng, len(prior), m)
        notion = at(make, float(rng.choice([0.02, 0.1, 1.0, 3.0])))
        found = md.design(prior, md.utility.Matrix(gains), notion, solver="all")
        assert len(found.agreement) >= 2
        for row in found.agreement:
            assert row.value is not None, row
            exact = find_method(row.method) in CLOSED_FORMS or row.method.startswith("highs-")
            within = 1e-9 if exact else 1e-7 * max(1.0, float(np.ptp(gains)))
            assert abs(row.value - found.value) < within, found.agreement
            assert abs(row.bound - found.bound) < within, found.agreement
            assert row.value - ROUNDING < found.value < row.bound + ROUNDING


CONTRACT = (
    constant_kernels_leak_nothing,
    designs_stay_within_their_level,
    verdicts_are_monotone_in_the_level,
    relabelling_changes_nothing,
    merging_outputs_leaks_no_more,
    feasible_kernels_mix,
    compiled_program_agrees_with_the_measurement,
    exact_levels_agree_with_the_measurement,
    methods_agree,
)
#: Parts that solve many programs each.
COSTLY = (
    designs_stay_within_their_level,
    feasible_kernels_mix,
    compiled_program_agrees_with_the_measurement,
    methods_agree,
)


def satisfies(program: SparseProgram, kernel: NDArray[np.float64]) -> bool:
    """Whether auxiliaries exist with which a kernel satisfies the compiled inequalities.

    Where each row holds at most one auxiliary t, the rows bound t from below or above; else a
    linear program per output says how far the rows must be violated.
    """
    n, m = program.program.shape
    height = program.below.shape[0] // m
    block: Any = program.below[:height, : program.block].toarray()
    fixed, free = block[:, :n] @ kernel, block[:, n:]
    if ((free != 0).sum(axis=1) > 1).any():
        return all(_violation(column, free) < ROUNDING for column in fixed.T)
    alone = (free == 0).all(axis=1)
    if (fixed[alone] > ROUNDING).any():
        return False
    for column in free.T:
        lower = (fixed[column < 0] / -column[column < 0][:, None]).max(axis=0)
        upper = (-fixed[column > 0] / column[column > 0][:, None]).min(axis=0)
        if (np.maximum(lower, 0.0) > upper * (1 + ROUNDING)).any():
            return False
    return True


def _violation(fixed: NDArray[np.float64], free: Any) -> float:
    """Min over auxiliaries a ≥ 0 of the largest entry of ``fixed + free @ a``."""
    slack = np.hstack([free, -np.ones((len(free), 1))])
    cost = np.eye(slack.shape[1])[-1]
    sign = [(0, None)] * free.shape[1] + [(None, None)]
    found = linprog(cost, slack, -fixed, bounds=sign, method="highs-ds")
    assert found.status == 0, found.message
    return float(found.fun)
