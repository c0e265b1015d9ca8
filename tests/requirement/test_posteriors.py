"""Posteriors and lifts of groups at every output: the exact check, optima, proofs of clashes."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, slow_but
from scipy.optimize import linprog

import mechdesign as md
from mechdesign.certificate import verify
from mechdesign.errors import InfeasibleError
from mechdesign.exact import Verdict
from mechdesign.storage import to_json

R = md.require
BITS = 10


def drawn(rng, n):
    """A prior, a group, ends on either side of its mass, and whether they are those of the lift."""
    counts = rng.integers(1, 20, n)
    group = rng.choice(n, int(rng.integers(1, n)), replace=False).tolist()
    share = float(counts[group].sum() / counts.sum())
    ends = [share * rng.uniform(0.2, 1), share + (1 - share) * rng.uniform(0, 0.6)]
    ends[int(rng.integers(0, 3)) % 2] = None if rng.random() < 0.5 else ends[0] and ends[0]
    if ends[0] is not None and ends[0] > share:
        ends[0] = None
    if ends[1] is not None and ends[1] < share:
        ends[1] = None
    if ends == [None, None]:
        ends[1] = share + (1 - share) / 3
    return counts.tolist(), group, ends, bool(rng.integers(0, 2))


def asked(group, ends, relative, share):
    if relative:
        return R.lift(group, *(None if v is None else v / share for v in ends))
    return R.posterior(group, *ends)


def holds(requirement, counts, group, weights):
    """By the definition, in fractions; outputs that never occur have no posterior."""
    masses = [Fraction(c, sum(counts)) for c in counts]
    unit = sum(masses[x] for x in group) if requirement.relative else Fraction(1)
    for column in zip(*weights, strict=True):
        likely = [m * int(w) for m, w in zip(masses, column, strict=True)]
        if not sum(likely):
            continue
        posterior = sum(likely[x] for x in group) / sum(likely)
        if requirement.low is not None and posterior < Fraction(requirement.low) * unit:
            return False
        if requirement.high is not None and posterior > Fraction(requirement.high) * unit:
            return False
    return True


def kernels(rng, n):
    found = [rng.dirichlet(np.full(4, share), n) for share in (0.2, 1.0, 30.0)]
    found.append(np.broadcast_to(rng.dirichlet(np.ones(4)), (n, 4)))
    found.append(np.eye(n, 4) + (np.arange(n)[:, None] >= 4) * np.eye(1, 4))
    for kernel in found:
        weights = np.floor(kernel * 2**BITS).astype(np.int64)
        weights[np.arange(n), weights.argmax(axis=1)] += 2**BITS - weights.sum(axis=1)
        yield weights


@for_each("seed", slow_but(4, range(40)))
def test_the_check_is_the_definition(seed):
    rng = np.random.default_rng([20261126, seed])
    n = int(rng.integers(2, 6))
    counts, group, ends, relative = drawn(rng, n)
    prior = md.Prior.from_counts(counts)
    requirement = asked(group, ends, relative, sum(counts[x] for x in group) / sum(counts))
    for weights in kernels(rng, n):
        kernel = md.Mechanism.from_weights(weights, BITS, prior.labels)
        verdict = requirement.check(kernel, prior).verdict
        expected = holds(requirement, counts, group, weights.tolist())
        assert (verdict is Verdict.YES) == expected, requirement


@for_each("seed", slow_but(4, range(25)))
def test_linear_designs_agree_with_a_program_written_out(seed):
    rng = np.random.default_rng([20261127, seed])
    n = int(rng.integers(2, 6))
    counts, group, ends, relative = drawn(rng, n)
    prior = md.Prior.from_counts(counts)
    p, gains = np.asarray(prior.probabilities), rng.uniform(0, 1, (n, n)).round(3)
    requirement = asked(group, ends, relative, float(p[group].sum()))
    found = md.design(prior, md.utility.Matrix(gains), md.LDP(1), subject_to=requirement)
    assert found.certificate.is_optimal
    assert found.certificate.kept[0].verdict is Verdict.YES
    inside = np.isin(np.arange(n), group)
    rows = [np.eye(n)[x] - np.e * np.eye(n)[z] for x in range(n) for z in range(n) if x != z]
    rows += [] if ends[1] is None else [p * (inside - ends[1])]
    rows += [] if ends[0] is None else [p * (ends[0] - inside)]
    solved = linprog(
        -(p[:, None] * gains).ravel(),
        A_ub=np.vstack([np.kron(row, np.eye(n)) for row in rows]),
        b_ub=np.zeros(n * len(rows)),
        A_eq=np.kron(np.eye(n), np.ones((1, n))),
        b_eq=np.ones(n),
    )
    assert found.value == pytest.approx(-solved.fun, abs=1e-7)
    claims = verify.check(json.dumps(to_json(found)).encode()).claims
    assert "refuted" not in {fact["state"] for fact in claims}


def test_a_clash_with_other_requirements_is_proved():
    prior = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
    both = [R.posterior("c", at_most=0.25), R.diagonal({"c": 0.9}), R.at_most("a", "c", 0.1)]
    with pytest.raises(InfeasibleError) as caught:
        md.design(prior, md.utility.Hamming(), md.PML(2), subject_to=both)
    states = {
        f["state"] for f in verify.check(json.dumps(to_json(caught.value.proof)).encode()).claims
    }
    assert states == {"proved"}
