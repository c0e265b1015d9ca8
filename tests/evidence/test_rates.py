"""How often a true violation is found and a true guarantee accused, over 500 repetitions each."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mechdesign as md
from mechdesign import SampleVerdict
from mechdesign.evidence import judging
from mechdesign.evidence.hypotheses import Questions
from mechdesign.evidence.judging import Evidence, judge

REPETITIONS = 500
#: Three binomial standard errors of a rate of 5% over all repetitions.
ROOM = 3 * math.sqrt(0.05 * 0.95 / REPETITIONS)
PRIOR = md.Prior([0.5, 0.3, 0.2])
pytestmark = pytest.mark.slow


def response(level):
    kernel = np.ones((3, 3)) + np.eye(3) * math.expm1(level)
    return kernel / kernel.sum(axis=1, keepdims=True)


def columns(rng, level, size):
    inputs = rng.choice(3, size=size, p=PRIOR.probabilities)
    ends = response(level).cumsum(axis=1)[inputs]
    return inputs, (rng.random(size)[:, None] > ends).sum(axis=1)


def rate(verdicts, wanted):
    return sum(verdict is wanted for verdict in verdicts) / len(verdicts)


def judged(inputs, reports, claims, confidence=0.95):
    """Limits and verdicts as ``audit_samples`` has them, without p-values and advice."""
    counts = np.zeros((3, 3))
    np.add.at(counts, (inputs, reports), 1)
    evidence = Evidence(Questions(claims, PRIOR), (counts,), 1, 3, is_whole=True)
    return evidence, judge(evidence, 1 - confidence)


@pytest.fixture
def verdicts_alone(monkeypatch):
    """No p-values and no advice, which no verdict rests on and which take most of the time."""
    monkeypatch.setattr(Evidence, "p_value", lambda *_: 1.0)
    monkeypatch.setattr(judging, "reports_needed", lambda *_: None)


def test_no_verdict_rests_on_what_is_left_out_here(verdicts_alone, monkeypatch):
    inputs, reports = columns(np.random.default_rng(9), 1.0, 3000)
    claims = [md.LDP(0.5), md.LDP(1.0), md.LDP(3.0)]
    quick = md.audit_samples(inputs, reports, claims, prior=PRIOR, outputs=range(3))
    monkeypatch.undo()
    whole = md.audit_samples(inputs, reports, claims, prior=PRIOR, outputs=range(3))
    assert [f.verdict for f in quick.findings] == [f.verdict for f in whole.findings]
    assert [f.levels for f in quick.findings] == [f.levels for f in whole.findings]
    assert len({f.verdict for f in whole.findings}) == 3


def test_what_is_judged_here_is_what_an_audit_says():
    inputs, reports = columns(np.random.default_rng(9), 1.0, 3000)
    claims = [md.LDP(1.0), md.PML(0.3), md.LIP(1.2)]
    audit = md.audit_samples(inputs, reports, claims, prior=PRIOR, outputs=range(3))
    _, found = judged(inputs, reports, claims)
    assert [verdict for _, _, verdict in found] == [f.verdict for f in audit.findings]
    levels = [level.lower for finding in audit.findings for level in finding.levels]
    assert [limits.lower for _, each, _ in found for limits in each] == levels


def test_reports_in_a_table():
    """At the very levels that a kernel has, which is where an accusation is most likely."""
    exact = md.audit(response(1.0), PRIOR)
    claims = [md.LDP(1.0), md.PML(exact.pml), md.PMC(exact.pmc), md.LIP(exact.lip)]
    rng = np.random.default_rng(0)
    accused, covered, naive, found = 0, 0, 0, 0
    for _ in range(REPETITIONS):
        evidence, results = judged(*columns(rng, 1.0, 3000), claims)
        accused += any(verdict is SampleVerdict.VIOLATED for _, _, verdict in results)
        covered += all(
            each[0].lower <= claim.epsilon <= each[0].upper
            for claim, (_, each, _) in zip(claims, results, strict=True)
        )
        shares = evidence.estimates()[:3]
        naive += bool(np.log(shares.max(axis=0) / shares.min(axis=0)).max() > 1.0)
        _, ((_, _, verdict),) = judged(*columns(rng, 1.4, 3000), [md.LDP(1.0)])
        found += verdict is SampleVerdict.VIOLATED
    assert accused / REPETITIONS <= 0.05 + ROOM
    assert covered / REPETITIONS >= 0.95 - ROOM
    assert found / REPETITIONS >= 0.95
    # A control: frequencies taken at face value accuse this kernel nearly every time.
    assert naive / REPETITIONS > 0.8


def test_a_mechanism_that_is_called(verdicts_alone):
    """Stages depend on what came before them, and limits hold all the same."""
    rng = np.random.default_rng(1)

    def of_level(level):
        kernel = response(level)
        return lambda x, number: rng.choice(3, size=number, p=kernel[x])

    def audit(level, claim):
        return md.audit_samples(
            range(3), of_level(level), claim, outputs=range(3), calls=3000, batch=True
        )

    true, broken = [], []
    covered = 0
    for _ in range(REPETITIONS):
        found = audit(1.0, md.LDP(1.0))
        level = found.findings[0].levels[0]
        covered += level.lower <= 1.0 <= level.upper
        true.append(found.verdict)
        broken.append(audit(1.8, md.LDP(1.0)).verdict)
    assert rate(true, SampleVerdict.VIOLATED) <= 0.05 + ROOM
    assert rate(true, SampleVerdict.CONSISTENT) <= 0.05 + ROOM
    assert covered / REPETITIONS >= 0.95 - ROOM
    assert rate(broken, SampleVerdict.VIOLATED) >= 0.95


def test_a_claim_that_is_kept_with_room_is_called_consistent():
    rng = np.random.default_rng(2)
    right, wrong = [], []
    for _ in range(REPETITIONS):
        claims = [md.LDP(1.0), md.LDP(0.49)]
        _, results = judged(*columns(rng, 0.5, 3000), claims)
        right.append(results[0][2])
        wrong.append(results[1][2])
    assert rate(right, SampleVerdict.CONSISTENT) >= 0.95
    # A control: a level just below the true one is never called kept.
    assert rate(wrong, SampleVerdict.CONSISTENT) <= 0.05 + ROOM


def test_groups_that_are_learned(verdicts_alone):
    """The half that groups are learned from is chosen by chance, and counted by no limit."""
    rng = np.random.default_rng(3)

    def noisy(scale, size):
        inputs = rng.integers(2, size=size)
        # Rounded to a grid that is coarser than floats, so that lowest bits tell nothing.
        return inputs, np.round((inputs + rng.laplace(scale=scale, size=size)) * 2.0**12) / 2.0**12

    true, broken = [], []
    for seed in range(REPETITIONS):
        for scale, verdicts in ((1.0, true), (0.25, broken)):
            inputs, reports = noisy(scale, 3000)
            found = md.audit_samples(inputs, reports, md.LDP(1.0), partition="tree", seed=seed)
            verdicts.append(found.verdict)
    assert rate(true, SampleVerdict.VIOLATED) <= 0.05 + ROOM
    assert rate(true, SampleVerdict.CONSISTENT) == 0
    assert rate(broken, SampleVerdict.VIOLATED) >= 0.5
