"""Several rounds of a survey: a pilot's estimate to design for, and one estimate of all reports."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from checks import refused

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import DataError, InputError, KernelError, UnknownNameError
from mechdesign.inference.pilots import shrunk_truth
from mechdesign.utility import Estimation

LABELS = ["a", "b", "c", "d", "e"]
PRIOR = md.Prior.uniform(LABELS)
#: What the prior does not know.
TRUTH = md.Prior.from_counts([81, 27, 9, 3, 1], LABELS)
PI = TRUTH.probabilities
MEAN = {x: i for i, x in enumerate(LABELS)}
#: Six symbols, of which the later are rarer than a uniform prior says.
SIX = md.Prior.uniform(6)
STEEP = md.Prior.from_counts([0.3**i for i in range(6)])
GRADES = {x: x for x in range(6)}
PILOT = md.design(PRIOR, Estimation(), md.PML(1))
SECOND = md.design(PRIOR, Estimation(truth=TRUTH), md.PML(1))
NOISY = md.design(PRIOR, Estimation(), md.LDP(0.7))
SURVEYS = 400


def counts_of(reports, mechanism):
    """Reports by output, as a table counts them."""
    return dict(zip(mechanism.outputs, map(int, reports), strict=True))


def drawn(found, people, surveys, seed, truth=TRUTH):
    """Counts ``(surveys, M)`` of the reports of people drawn from the truth."""
    q = truth.probabilities @ found.mechanism.kernel
    return np.random.default_rng(seed).multinomial(people, q / q.sum(), surveys)


def squared_errors(found):
    return np.array([((one.values - PI) ** 2).sum() for one in found])


def agree(errors, expected):
    """Whether a mean is within 3 standard errors of what was predicted."""
    sd = errors.std(ddof=1) / math.sqrt(len(errors))
    return abs(errors.mean() - expected) <= 3 * sd


# A pilot's estimate as the truth


def test_the_second_round_is_designed_for_the_pilots_estimate_and_private_under_the_prior():
    pilot = counts_of(drawn(PILOT, 2000, 1, seed=1)[0], PILOT.mechanism)
    known = md.estimate(pilot, PILOT)
    second = md.design(PRIOR, Estimation(truth=known), md.PML(1))
    assert second.certificate.is_optimal
    assert second.utility.truth == known.shrunk
    assert second.prior == PRIOR
    assert md.audit(second.mechanism, PRIOR).pml <= 1
    # Designed as if the estimate were what everybody knows, a kernel is not private.
    fooled = md.design(known.shrunk, Estimation(), md.PML(1))
    assert md.audit(fooled.mechanism, PRIOR).pml > 1.05


def test_a_second_round_takes_fewer_reports():
    # Frequencies, and a mean. Which of several best kernels the pilot has decides about the rest.
    for of, gain in ((None, 1.15), (GRADES, 1.2)):
        at_truth = Estimation(of, truth=STEEP)
        pilot = md.design(SIX, Estimation(of), md.PML(1))
        best = md.design(SIX, at_truth, md.PML(1))
        one_stage = at_truth.risk(pilot.mechanism, SIX)
        assert one_stage > gain * best.risk
        for seed in range(2):
            counts = counts_of(drawn(pilot, 1000, 1, seed, STEEP)[0], pilot.mechanism)
            known = md.estimate(counts, pilot, feature=GRADES)
            second = md.design(SIX, Estimation(of, truth=known), md.PML(1))
            found = at_truth.risk(second.mechanism, SIX)
            assert best.risk * (1 - 1e-9) <= found < (best.risk + one_stage) / 2


@pytest.mark.slow
def test_the_error_of_a_second_round_is_the_one_designed_for():
    people = 500
    at_truth = Estimation(GRADES, truth=STEEP)
    first = md.design(SIX, Estimation(GRADES), md.PML(1))
    second = md.design(SIX, at_truth, md.PML(1))
    rows = drawn(second, people, SURVEYS, seed=3, truth=STEEP)
    made = [md.estimate(counts_of(r, second.mechanism), second, feature=GRADES) for r in rows]
    errors = np.array([one.values[0] - STEEP.probabilities @ range(6) for one in made]) ** 2
    assert agree(errors, second.risk / people)
    assert not agree(errors, at_truth.risk(first.mechanism, SIX) / people)


def test_shrinkage_is_what_noise_explains():
    q = PRIOR.probabilities @ PILOT.mechanism.kernel
    as_expected = np.round(q * 1e9)
    same = md.estimate(counts_of(as_expected, PILOT.mechanism), PILOT).shrunk
    np.testing.assert_allclose(same.probabilities, PRIOR.probabilities, atol=1e-6)
    # Far more reports than noise: next to nothing of the prior.
    counts = counts_of(drawn(PILOT, 10**9, 1, seed=2)[0], PILOT.mechanism)
    found = md.estimate(counts, PILOT)
    np.testing.assert_allclose(found.shrunk.probabilities, found.distribution, atol=1e-6)
    # In between, the mean share of the prior is that of the noise in Pearson's statistic.
    few = md.estimate(counts_of(drawn(PILOT, 40, 1, seed=2)[0], PILOT.mechanism), PILOT)
    p, likely = few.shrunk.probabilities, few.distribution
    share = (p - likely) @ (0.2 - likely) / ((0.2 - likely) @ (0.2 - likely))
    np.testing.assert_allclose(p, (1 - share) * likely + share * 0.2, atol=1e-12)
    assert 0.01 < share < 0.9


def test_a_shrunk_truth_has_mass_exactly_where_the_prior_has():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prior = md.Prior([0.4, 0.3, 0.3, 0.0])
        groups = [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]]
        pilot = md.design(prior, Estimation(groups), md.PML(1))
        # Every report is the same output: largest likelihood rules symbols out.
        y = int(np.argmax(pilot.mechanism.kernel[0]))
        counts = {pilot.mechanism.outputs[y]: 50}
        found = md.estimate(counts, pilot, by="blocks")
        assert (found.distribution[:3] < 1e-6).any()
        masses = found.shrunk.probabilities
        assert (masses[:3] > 1e-4).all()
        assert masses[3] == 0
        assert masses.sum() == pytest.approx(1)
        assert md.design(prior, Estimation(groups, truth=found), md.PML(1)).certificate.is_optimal


def test_reports_without_information_leave_the_prior():
    quiet = md.Mechanism([[0.5, 0.5]] * 3)
    prior, likely = np.array([0.5, 0.3, 0.2]), np.array([1.0, 0.0, 0.0])
    kernel = quiet.kernel
    made = shrunk_truth((0, 1, 2), likely, prior, [(kernel, np.array([0.75, 0.25]), 40)], 1)
    np.testing.assert_allclose(made.probabilities, prior)


def test_several_questions_with_weights_go_through_both_rounds():
    of = [{"a": 1, "b": 1, "c": 0, "d": 0, "e": 0}, MEAN]
    goal = Estimation(of, [1, 4])
    pilot = md.design(PRIOR, goal, md.LIP(1))
    known = md.estimate(
        counts_of(drawn(pilot, 3000, 1, seed=4)[0], pilot.mechanism), pilot, feature=of
    )
    second = md.design(PRIOR, Estimation(of, [1, 4], truth=known), md.LIP(1))
    sizes = (3000, 9000)
    parts = [
        counts_of(drawn(one, n, 1, seed=5)[0], one.mechanism)
        for one, n in zip((pilot, second), sizes, strict=True)
    ]
    both = md.estimate_rounds(parts, [pilot, second], feature=of)
    assert both.labels == md.estimate(parts[0], pilot, feature=of).labels
    answers = goal.question(LABELS).weights
    assert (np.abs(both.values - PI @ answers) < 4 * both.errors).all()
    alone = md.estimate(parts[1], second, feature=of)
    assert (both.errors < alone.errors).all()


# Adding rounds up


@pytest.mark.slow
def test_rounds_are_added_up_with_the_least_variance():
    sizes = (300, 600)
    designs = [NOISY, SECOND]
    rows = [drawn(one, n, SURVEYS, seed=7 + n) for one, n in zip(designs, sizes, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [
            md.estimate_rounds(
                [counts_of(row, one.mechanism) for row, one in zip(pair, designs, strict=True)],
                designs,
                truth=TRUTH,
            )
            for pair in zip(*rows, strict=True)
        ]
    information = sum(
        n * (k / (PI @ k)) @ k.T
        for n, k in ((n, one.mechanism.kernel) for n, one in zip(sizes, designs, strict=True))
    )
    expected = np.trace(np.linalg.inv(information)) - PI @ PI / sum(sizes)
    errors = squared_errors(made)
    assert agree(errors, expected)
    # Neither with the numbers of reports exchanged, nor as a mean of all reports.
    swapped = sum(
        n * (k / (PI @ k)) @ k.T
        for n, k in ((n, one.mechanism.kernel) for n, one in zip(sizes[::-1], designs, strict=True))
    )
    assert not agree(errors, np.trace(np.linalg.inv(swapped)) - PI @ PI / sum(sizes))
    risks = [Estimation(truth=TRUTH).risk(one.mechanism, PRIOR) for one in designs]
    shares = np.array(sizes) / sum(sizes)
    plain = sum(s**2 * r / n for s, r, n in zip(shares, risks, sizes, strict=True))
    best = min(r / n for r, n in zip(risks, sizes, strict=True))
    assert errors.mean() < expected * 1.15 < min(plain, best * 1.15)
    # The errors that each survey states are those, up to what it estimates itself.
    stated = np.mean([np.trace(one.covariance) for one in made])
    assert stated == pytest.approx(expected, rel=0.03)
    inside = np.mean([((one.lower <= PI) & (one.upper >= PI)).mean() for one in made])
    assert 0.92 < inside < 0.98


def test_one_round_alone_is_the_ordinary_estimate():
    counts = counts_of(drawn(SECOND, 800, 1, seed=9)[0], SECOND.mechanism)
    one, rounds = md.estimate(counts, SECOND), md.estimate_rounds([counts], [SECOND])
    np.testing.assert_allclose(rounds.values, one.values, atol=1e-12)
    np.testing.assert_allclose(rounds.covariance, one.covariance, atol=1e-15)
    np.testing.assert_allclose(rounds.upper, one.upper, atol=1e-12)
    np.testing.assert_allclose(rounds.shrunk.probabilities, one.shrunk.probabilities, atol=1e-9)
    assert rounds.rounds == (800,)


def test_rounds_of_one_kernel_are_one_survey():
    first, second, third = drawn(SECOND, 500, 3, seed=10)
    parts = [counts_of(row, SECOND.mechanism) for row in (first, second, third)]
    whole = md.estimate(counts_of(first + second + third, SECOND.mechanism), SECOND)
    found = md.estimate_rounds(parts, [SECOND] * 3)
    np.testing.assert_allclose(found.values, whole.values, atol=1e-12)
    np.testing.assert_allclose(found.covariance, whole.covariance, rtol=1e-3, atol=1e-9)


def test_rounds_tell_together_what_neither_tells():
    first = md.Mechanism([[0.8, 0.2], [0.2, 0.8], [0.2, 0.8]], ["a", "b", "c"])
    second = md.Mechanism([[0.2, 0.8], [0.2, 0.8], [0.8, 0.2]], ["a", "b", "c"])
    truth = np.array([0.5, 0.3, 0.2])
    parts = [counts_of(np.round(truth @ one.kernel * 10**4), one) for one in (first, second)]
    with pytest.raises(DataError, match="identifiable"):
        md.estimate(parts[0], first)
    found = md.estimate_rounds(parts, [first, second])
    np.testing.assert_allclose(found.values, truth, atol=1e-3)


def test_reports_of_other_kernels_are_refused():
    parts = [counts_of(drawn(one, 20_000, 1, seed=11)[0], one.mechanism) for one in (PILOT, SECOND)]
    wrong = dict(zip(PILOT.mechanism.outputs, reversed(parts[0].values()), strict=True))
    wrong[PILOT.mechanism.outputs[0]] += 60_000
    with pytest.raises(DataError, match="with probability"):
        md.estimate_rounds([wrong, parts[1]], [PILOT, SECOND])
    assert md.estimate_rounds(parts, [PILOT, SECOND]).fit > 1e-6


def test_tables_with_receipts_are_rounds():
    rng = np.random.default_rng(12)
    parts = [
        md.privatize(pd.DataFrame({"x": rng.choice(LABELS, n, p=PI)}), "x", one, rng=n)
        for n, one in ((400, PILOT), (600, SECOND))
    ]
    found = md.estimate_rounds(parts, [PILOT, SECOND], "x")
    assert found.note == ""
    assert found.rounds == (400, 600)
    assert "2 rounds (400 + 600)" in found.describe()
    with pytest.raises(DataError, match="mechanism"):
        md.estimate_rounds(parts, [SECOND, PILOT], "x")


# What each person gives away


def test_levels_of_different_people_are_the_largest_and_those_of_the_same_compose():
    different = md.compose(PILOT, SECOND, people="different")
    (level,) = different.found
    each = [one.certificate.checks[0].achieved[0] for one in (PILOT, SECOND)]
    assert level.levels == (max(each),)
    assert level.exact
    assert level.meets
    (together,) = md.compose(PILOT, SECOND).found
    product = PILOT.mechanism.parallel(SECOND.mechanism)
    assert together.levels[0] == md.audit(product, PRIOR).pml
    assert max(each) < together.levels[0] < sum(each) - 0.1
    # Levels of local differential privacy do add up.
    (ldp,) = md.compose(NOISY, NOISY).found
    assert ldp.levels[0] == pytest.approx(1.4, abs=1e-9)
    (ldp,) = md.compose(NOISY, NOISY, people="different").found
    assert ldp.levels[0] == pytest.approx(0.7, abs=1e-9)
    with pytest.raises(UnknownNameError, match="people"):
        md.compose(PILOT, SECOND, people="others")


def test_the_same_people_report_to_both_mechanisms_at_once():
    rng = np.random.default_rng(13)
    secrets = rng.choice(LABELS, 3000, p=PI)
    frame = pd.DataFrame({"one": secrets, "two": secrets})
    frame = md.privatize(frame, "one", PILOT, rng=1)
    frame = md.privatize(frame, "two", SECOND, rng=2)
    found = md.estimate_rounds(frame, [PILOT, SECOND], ["one", "two"], people="same")
    assert found.rounds == (3000, 3000)
    assert found.leaked == md.compose(PILOT, SECOND)
    assert (np.abs(found.values - PI) < 4 * found.errors).all()
    counts = frame.groupby(["one", "two"]).size().to_dict()
    product = PILOT.mechanism.parallel(SECOND.mechanism)
    expected = md.estimate(counts, product, truth=SECOND.utility.truth)
    np.testing.assert_allclose(found.values, expected.values, atol=1e-12)
    # Two reports of one person tell less than reports of two people.
    apart = md.estimate_rounds([frame["one"], frame["two"]], [PILOT, SECOND])
    assert np.trace(found.covariance) > 1.05 * np.trace(apart.covariance)


# What is refused


def test_rounds_that_do_not_match_are_refused():
    counts = counts_of(drawn(SECOND, 100, 1, seed=14)[0], SECOND.mechanism)
    other = md.design(md.Prior.uniform(3), Estimation(), md.LDP(1))
    refused(lambda: md.estimate_rounds([counts], [SECOND, SECOND]), "one for each mechanism", "1")
    refused(lambda: md.estimate_rounds([], []), "at least one mechanism")
    refused(lambda: md.estimate_rounds([counts], SECOND), "rounds")
    refused(
        lambda: md.estimate_rounds([counts, counts], [SECOND, other]), "inputs", error=KernelError
    )
    refused(lambda: md.estimate_rounds([counts], [SECOND], ["x", "y"]), "one for each round")
    refused(lambda: md.estimate_rounds({}, [SECOND] * 3, people="same"), "two")
    with pytest.raises(UnknownNameError, match="people"):
        md.estimate_rounds([counts], [SECOND], people="other")
    with pytest.raises(InputError, match="confidence"):
        md.estimate_rounds([counts], [SECOND], confidence=1)


# The command line


@pytest.fixture
def survey(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    rng = np.random.default_rng(15)
    for name, n in (("one", 1500), ("two", 6000)):
        pd.DataFrame({"x": rng.choice(LABELS, n, p=PI)}).to_csv(f"{name}.csv", index=False)

    def run(*arguments):
        capsys.readouterr()
        code = main([*map(str, arguments)])
        return code, *capsys.readouterr()

    return run


def test_two_rounds_from_a_terminal(survey):
    prior = "a=1,b=1,c=1,d=1,e=1".replace("=1", "=0.2")
    design = ("design", "--prior", prior, "-u", "estimation", "-p", "pml:1", "-o")
    assert survey(*design, "pilot.json")[0] == 0
    assert survey("apply", "pilot.json", "one.csv", "--column", "x", "-o", "r1.csv")[0] == 0
    code, out, _ = survey("estimate", "pilot.json", "r1.csv", "--column", "x", "--json")
    assert code == 0
    with open("e1.json", "w", encoding="utf-8") as file:
        file.write(out)
    assert survey(*design, "second.json", "--truth", "e1.json")[0] == 0
    known = md.load("second.json")
    assert known.utility.truth.probabilities == pytest.approx(
        json.loads(out)["shrunk"]["probabilities"]
    )
    assert known.certificate.checks[0].achieved[0] <= 1
    assert survey("apply", "second.json", "two.csv", "--column", "x", "-o", "r2.csv")[0] == 0
    both = ("estimate", "pilot.json", "r1.csv", "--column", "x")
    rounds = (*both, "--second-round", "second.json", "r2.csv")
    code, out, _ = survey(*rounds, "--json")
    assert code == 0
    found = json.loads(out)
    assert found["rounds"] == [1500, 6000]
    assert found["people"] == "different"
    assert found["leaked"]["together"][0]["levels"][0] <= 1
    for row, mass in zip(found["rows"], PI, strict=True):
        assert abs(row["estimate"] - mass) < 4 * row["error"]
    code, out, _ = survey(*rounds, "--by", "symbols")
    assert code == 0
    assert "2 rounds (1500 + 6000)" in out
    for wrong, option in (
        ((*rounds, "--method", "likelihood"), "--method"),
        ((*rounds, "--people", "same"), "one file"),
        ((*both, "--people", "same"), "--second-round"),
    ):
        code, _, err = survey(*wrong)
        assert code == 2
        assert option in err


def test_the_same_people_in_two_columns_from_a_terminal(survey):
    prior = "0.2,0.2,0.2,0.2,0.2"
    frame = pd.read_csv("two.csv").replace(dict(zip(LABELS, range(5), strict=True)))
    frame["y"] = frame["x"]
    frame.to_csv("both.csv", index=False)
    for name, level in (("d1.json", "ldp:2"), ("d2.json", "ldp:1")):
        survey("design", "--prior", prior, "-u", "estimation", "-p", level, "-o", name)
    survey("apply", "d1.json", "both.csv", "--column", "x", "-o", "s1.csv")
    survey("apply", "d2.json", "s1.csv", "--column", "y", "-o", "s2.csv")
    code, out, err = survey(
        *("estimate", "d1.json", "s2.csv", "--column", "x", "--people", "same", "--json"),
        *("--second-round", "d2.json", "s2.csv", "--second-round-column", "y"),
    )
    assert code == 0, err
    found = json.loads(out)
    assert found["people"] == "same"
    assert found["leaked"]["together"][0]["levels"][0] == pytest.approx(3, abs=1e-6)


def test_a_forged_shrunk_distribution_is_refused(survey):
    with open("e.json", "w", encoding="utf-8") as file:
        json.dump({"shrunk": {"labels": ["a"]}}, file)
    code, _, err = survey(
        *("design", "--prior", "a=0.5,b=0.5", "-u", "estimation", "--truth", "e.json"),
        *("-p", "pml:1", "-o", "d.json"),
    )
    assert code == 2
    assert "estimate --json" in err
