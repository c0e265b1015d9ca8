"""Limits on sums over outcomes: they hold as often as they say, and find what is broken."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mechdesign as md
from mechdesign import SampleVerdict
from mechdesign.evidence.hypotheses import Questions
from mechdesign.evidence.judging import Evidence, judge
from mechdesign.views.samples import sample_page

PRIOR = md.Prior([0.5, 0.3, 0.2])
KERNEL = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
CLAIMS = [md.MaximalLeakage(0.3), md.MaximalCostLeakage(0.3), md.ApproximateLDP(0.5, 0.1)]


def reports(rng, kernel, each):
    return np.repeat(np.arange(3), each), np.concatenate(
        [rng.choice(3, each, p=row) for row in kernel]
    )


def audited(notions, *, each=4000, seed=0, **more):
    inputs, told = reports(np.random.default_rng(seed), KERNEL, each)
    return md.audit_samples(inputs, told, notions, prior=PRIOR, **more)


def exact(notion):
    return notion.check(md.Mechanism(KERNEL), PRIOR).achieved[0]


@pytest.mark.parametrize("notion", CLAIMS, ids=str)
def test_limits_enclose_the_exact_level_and_close_in_on_it(notion):
    wide = audited(notion, each=300, outputs=range(3)).findings[0].levels[0]
    near = audited(notion, each=30_000, outputs=range(3)).findings[0].levels[0]
    level = exact(notion)
    for limits in (wide, near):
        assert limits.lower <= level <= limits.upper
    assert near.upper - near.lower < (wide.upper - wide.lower) / 4
    assert near.estimate == pytest.approx(level, abs=0.05)


@pytest.mark.parametrize("notion", CLAIMS, ids=str)
def test_the_three_verdicts(notion):
    level = exact(notion)
    asked = [notion.with_levels(v) for v in (level - 0.2, level, level + 0.3)]
    found = audited(asked, each=20_000, outputs=range(3))
    assert [str(f.verdict) for f in found.findings] == ["violated", "cannot tell", "consistent"]
    broken, _, kept = found.findings
    assert broken.p_value <= 0.05 < kept.p_value
    assert broken.levels[0].over
    page = sample_page(found, "x")
    assert "Over all reports together its level is at least" in page
    # Where nobody says that these are all outcomes, none is consistent.
    unstated = audited(asked, each=20_000)
    assert [str(f.verdict) for f in unstated.findings] == ["violated", *["cannot tell"] * 2]


def test_a_p_value_is_the_error_at_which_it_breaks():
    notion = md.MaximalLeakage(exact(CLAIMS[0]) - 0.1)
    found = audited(notion, outputs=range(3))
    p = found.findings[0].p_value
    assert 0 < p < 1
    for share, verdict in ((1.01, SampleVerdict.VIOLATED), (0.99, SampleVerdict.CANNOT_TELL)):
        again = audited(notion, outputs=range(3), confidence=1 - p * share)
        assert again.verdict is verdict


def test_a_mechanism_that_is_called_is_called_until_it_is_decided():
    rng = np.random.default_rng(0)

    def draw(x, number):
        return rng.choice(3, size=number, p=KERNEL[x])

    found = md.audit_samples(
        range(3),
        draw,
        [md.ApproximateLDP(0.1, 0.05), md.MaximalLeakage(1.0)],
        outputs=range(3),
        calls=60_000,
        batch=True,
    )
    assert [str(f.verdict) for f in found.findings] == ["violated", "consistent"]
    assert found.calls < 60_000


def test_how_many_reports_would_tell():
    notion = md.MaximalLeakage(exact(CLAIMS[0]) + 0.05)
    few = audited(notion, each=1000, outputs=range(3)).findings[0]
    assert few.verdict is SampleVerdict.CANNOT_TELL
    assert few.needed is not None
    many = audited(notion, each=few.needed, outputs=range(3)).findings[0]
    assert many.verdict is SampleVerdict.CONSISTENT


@pytest.mark.slow
def test_limits_hold_together_as_often_as_they_say():
    """500 repetitions at the very levels that the kernel has; frequencies are the control."""
    claims = [notion.with_levels(exact(notion)) for notion in CLAIMS]
    rng = np.random.default_rng(5)
    accused = covered = naive = 0
    for _ in range(500):
        counts = np.array([rng.multinomial(1000, row) for row in KERNEL], dtype=float)
        questions = Questions(claims, PRIOR)
        evidence = Evidence(questions, (counts,), 1, 3, is_whole=True)
        found = judge(evidence, 0.05)
        accused += any(verdict is SampleVerdict.VIOLATED for _, _, verdict in found)
        covered += all(
            each[0].lower <= claim.levels[0] <= each[0].upper
            for claim, (_, each, _) in zip(claims, found, strict=True)
        )
        naive += math.log((counts.max(axis=0) / 1000).sum()) > claims[0].epsilon
    room = 3 * math.sqrt(0.05 * 0.95 / 500)
    assert accused / 500 <= 0.05 + room
    assert covered / 500 >= 0.95 - room
    assert naive / 500 > 0.4
