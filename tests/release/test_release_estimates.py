"""Estimates: unbiased, maximal, covered at the stated rate; what cannot be told is said."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from checks import for_each, refused, slow_but
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from strategies import kernels, random_kernel, random_mechanism, sizes

import mechdesign as md
from mechdesign.errors import (
    DataError,
    InputError,
    KernelError,
    MisfitWarning,
    PrecisionWarning,
    UnknownNameError,
)
from mechdesign.inference.estimator import whole_numbers
from mechdesign.inference.likelihood import (
    fit_of,
    gaps,
    maximise,
    maximise_table,
)
from mechdesign.inference.observed import covariances
from mechdesign.release._identifiability import ask, report_weights

FLIP = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])


def likelihood(kernel, f, p):
    positive = f > 0
    return float((f[positive] * np.log((p @ kernel)[positive])).sum())


def counts_of(f):
    return {y: int(c) for y, c in enumerate(f)}


# Inversion


def test_a_kernel_is_decomposed_once_for_all_that_is_asked_of_it(monkeypatch):
    shapes, decompose = [], np.linalg.svd
    monkeypatch.setattr(
        np.linalg, "svd", lambda rows, **more: shapes.append(rows.shape) or decompose(rows, **more)
    )
    rng = np.random.default_rng(1)
    low = rng.dirichlet(np.ones(4))
    mechanism = md.Mechanism(np.stack([rng.dirichlet(np.ones(4)), low, low]))
    refused(lambda: ask(mechanism), "by='blocks'", error=DataError)
    ask(mechanism, by="blocks")
    for _ in range(2):
        md.estimate(dict.fromkeys(range(4), 25), mechanism, by="blocks", misfit="warn")
    assert md.identifiability(mechanism).rank == 2
    assert shapes.count((3, 4)) == 1


@pytest.mark.slow
@given(st.data())
def test_weights_on_reports_are_unbiased_for_every_distribution(data):
    n, m = data.draw(sizes(1, 5)), data.draw(sizes(1, 7))
    mechanism = md.Mechanism(data.draw(kernels(n, m)))
    found = md.identifiability(mechanism)
    if found.weakest < 1e-4:
        return
    if found.is_one_block:
        refused(lambda: ask(mechanism, by="blocks"), "tell none of", error=DataError)
        return
    question = ask(mechanism, by="blocks")
    reference = data.draw(st.sampled_from([np.full(n, 1 / n), np.eye(n)[0]]))
    weights = report_weights(mechanism, question, reference)
    np.testing.assert_allclose(mechanism.kernel @ weights, question.weights, atol=1e-6)


def test_square_kernels_are_inverted():
    mechanism = md.Mechanism(random_kernel(np.random.default_rng(3), 4, 4))
    weights = report_weights(mechanism, ask(mechanism), np.full(4, 0.25))
    np.testing.assert_allclose(weights, np.linalg.inv(mechanism.kernel), atol=1e-9)


def test_weights_have_the_least_variance_of_all_unbiased_ones():
    rng = np.random.default_rng(4)
    kernel = random_kernel(rng, 3, 6)
    mechanism, p = md.Mechanism(kernel), np.array([0.2, 0.3, 0.5])
    weights = report_weights(mechanism, ask(mechanism), p)
    q = p @ mechanism.kernel
    least = q @ weights**2
    hidden = np.linalg.svd(mechanism.kernel)[2][3:]
    for _ in range(20):
        other = weights + hidden.T @ rng.normal(size=(3, 3)) * 0.1
        np.testing.assert_allclose(mechanism.kernel @ other, np.eye(3), atol=1e-9)
        # The share of the uniform distribution in the reference costs next to nothing.
        assert (q @ other**2 >= least * (1 - 1e-4)).all()


def test_covariance_by_enumeration():
    """All samples of three people, by hand."""
    kernel = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    mechanism, p = md.Mechanism(kernel), np.array([0.4, 0.6])
    question = ask(mechanism)
    weights = report_weights(mechanism, question, np.full(2, 0.5))
    q = p @ kernel
    chance, value = [], []
    for ys in itertools.product(range(3), repeat=3):
        chance.append(np.prod(q[list(ys)]))
        value.append(weights[list(ys)].mean(axis=0))
    expected = np.cov(np.array(value).T, aweights=chance, bias=True)
    found = sum(covariances(kernel, weights, question.weights, p)) / 3
    np.testing.assert_allclose(found, expected, atol=1e-12)
    people = [0, 0, 1, 1, 1]
    chance, value = [], []
    for ys in itertools.product(range(3), repeat=5):
        chance.append(np.prod([kernel[x, y] for x, y in zip(people, ys, strict=True)]))
        value.append(weights[list(ys)].mean(axis=0))
    expected = np.cov(np.array(value).T, aweights=chance, bias=True)
    found = covariances(kernel, weights, question.weights, p)[0] / 5
    np.testing.assert_allclose(found, expected, atol=1e-12)


# Likelihood


@given(st.data())
def test_gap_bounds_the_distance_to_every_other_distribution(data):
    n, m = data.draw(sizes(1, 5)), data.draw(sizes(2, 6))
    kernel = data.draw(kernels(n, m, zeros=False))
    counts = np.array(data.draw(st.lists(st.integers(0, 30), min_size=m, max_size=m)))
    f = (counts + 1e-9) / (counts + 1e-9).sum()
    p, gap, _ = maximise(kernel, f[None, :])
    assert gap[0] <= 1e-8
    assert p[0].min() >= 0
    assert p[0].sum() == pytest.approx(1, abs=1e-12)
    rng = np.random.default_rng(0)
    for other in [*rng.dirichlet(np.ones(n), 20), *np.eye(n)]:
        assert likelihood(kernel, f, other) <= likelihood(kernel, f, p[0]) + gap[0] + 1e-12
        claimed = gaps(kernel, f, other)
        assert likelihood(kernel, f, p[0]) <= likelihood(kernel, f, other) + claimed + 1e-12


def test_maximum_agrees_with_a_general_optimiser():
    rng = np.random.default_rng(8)
    for n, m in [(2, 2), (3, 5), (4, 4)]:
        kernel, p = random_kernel(rng, n, m), rng.dirichlet(np.ones(n))
        f = rng.multinomial(300, p @ kernel) / 300
        found = maximise(kernel, f[None, :])[0][0]
        best = minimize(
            lambda x, kernel=kernel, f=f: -likelihood(kernel, f, x),
            np.full(n, 1 / n),
            method="SLSQP",
            bounds=[(1e-12, 1)] * n,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        )
        assert likelihood(kernel, f, found) >= -best.fun - 1e-9


def test_newton_and_em_agree():
    rng = np.random.default_rng(9)
    kernel = random_kernel(rng, 4, 6)
    f = rng.multinomial(500, np.array([0.5, 0.5, 0, 0]) @ kernel) / 500
    p, gap, steps = maximise(kernel, f[None, :])
    slow = np.full(4, 0.25)
    for _ in range(3000):
        slow = slow * (kernel @ (f / (slow @ kernel)))
    assert gap[0] <= 1e-9
    assert steps < 40
    assert abs(likelihood(kernel, f, slow) - likelihood(kernel, f, p[0])) <= 1e-6


def test_many_frequencies_at_once_are_each_maximal():
    rng = np.random.default_rng(10)
    kernel = np.column_stack([random_kernel(rng, 5, 4), np.zeros(5)])
    f = rng.multinomial(40, rng.dirichlet(np.ones(5)) @ kernel, 300) / 40
    together, gap, _ = maximise(kernel, f)
    assert gap.max() <= 1e-9
    for i in range(0, 300, 60):
        alone = maximise(kernel, f[i : i + 1])[0][0]
        assert likelihood(kernel, f[i], alone) == pytest.approx(
            likelihood(kernel, f[i], together[i]), abs=2e-9
        )


def test_pairs_of_many_symbols_need_no_product_kernel():
    rng = np.random.default_rng(11)
    left, right = random_kernel(rng, 26, 26), random_kernel(rng, 25, 25)
    left, right = left * 0.3 + 0.7 * np.eye(26), right * 0.3 + 0.7 * np.eye(25)
    p = rng.dirichlet(np.ones(650)).reshape(26, 25)
    table = rng.multinomial(10**6, (left.T @ p @ right).ravel()).reshape(26, 25) / 10**6
    found, convergence = maximise_table(left, right, table)
    assert convergence.converged
    assert found.sum() == pytest.approx(1)
    direct, gap, _ = maximise(np.kron(left, right), table.reshape(1, -1))
    both = [likelihood(np.kron(left, right), table.ravel(), x) for x in (found.ravel(), direct[0])]
    assert abs(both[0] - both[1]) <= convergence.gap + gap[0] + 1e-12


# Coverage on a survey


@pytest.fixture(scope="module")
def survey():
    from statsmodels.datasets import fair

    return fair.load_pandas().data


@pytest.fixture(scope="module")
def jobs(survey):
    """The survey's occupations, a mechanism that keeps all six apart, and their frequencies."""
    column = survey["occupation"].astype(int).to_numpy()
    found = md.design(md.Prior.uniform(range(1, 7)), md.utility.Hamming(), md.LDP(2))
    return column - 1, found, np.bincount(column - 1) / len(column)


REPETITIONS = 500


def coverage(jobs, target, seed, wrong=None, **options):
    """How often each interval holds the truth, over repeated surveys."""
    codes, found, truth = jobs
    rng = np.random.default_rng(seed)
    sampler = md.Sampler(found, rng)
    hits = np.zeros(len(truth))
    for _ in range(REPETITIONS):
        people = codes if target == "sample" else rng.choice(codes, len(codes))
        counts = np.bincount(sampler.draw_codes(people), minlength=6)
        reports = {y: int(c) for y, c in zip(found.mechanism.outputs, counts, strict=True)}
        made = md.estimate(reports, wrong or found, target=target, rng=rng, **options)
        hits += (made.lower <= truth) & (truth <= made.upper)
    return hits / REPETITIONS


# Four standard deviations of a share of 0.95 in 500 repetitions.
SLACK = 4 * np.sqrt(0.95 * 0.05 / REPETITIONS)


@pytest.mark.slow
@for_each("target", slow_but(1, ["population", "sample"]))
@for_each("method", ["inversion", "likelihood"])
def test_intervals_by_the_delta_method_cover_at_the_stated_rate(jobs, method, target):
    found = coverage(jobs, target, 1, method=method)
    assert found.min() >= 0.95 - SLACK
    assert found.max() <= 0.95 + SLACK


@pytest.mark.slow
@for_each("target", ["population", "sample"])
@for_each("method", ["inversion", "likelihood"])
def test_intervals_by_the_bootstrap_cover_at_the_stated_rate(jobs, method, target):
    found = coverage(jobs, target, 2, method=method, intervals="bootstrap", resamples=400)
    assert found.min() >= 0.95 - SLACK
    # The rarest symbol lies next to the edge of the simplex, where the bootstrap is cautious.
    assert found[1:5].max() <= 0.95 + SLACK


def test_intervals_of_another_confidence_cover_less(jobs):
    """A control: the count of hits tells 90 % from 95 %, and 80 % from both."""
    # The rarest answer has an interval that is held more often.
    assert coverage(jobs, "population", 3, confidence=0.8)[1:].max() < 0.95 - SLACK


@pytest.mark.slow
def test_intervals_for_the_sample_do_not_cover_the_population(jobs):
    """A control: the two targets differ by more than chance."""
    codes, found, truth = jobs
    rng = np.random.default_rng(4)
    sampler, hits = md.Sampler(found, rng), 0
    for _ in range(REPETITIONS):
        drawn = sampler.draw_codes(rng.choice(codes, len(codes)))
        reports = dict(zip(range(1, 7), np.bincount(drawn, minlength=6).tolist(), strict=True))
        made = md.estimate(reports, found, target="sample")
        hits += int(made.lower[2] <= truth[2] <= made.upper[2])
    assert hits / REPETITIONS < 0.95 - SLACK


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mechdesign.errors.MisfitWarning")
def test_a_kernel_that_did_not_make_the_reports_is_not_covered(jobs):
    """A control: reports of LDP(2) read with the kernel of LDP(1.9)."""
    other = md.design(md.Prior.uniform(range(1, 7)), md.utility.Hamming(), md.LDP(1.9))
    assert coverage(jobs, "sample", 5, wrong=other).min() < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("method", slow_but(1, ["inversion", "likelihood"]))
def test_joint_and_conditional_intervals_cover_at_the_stated_rate(survey, jobs, method):
    codes, found, _ = jobs
    had = (survey["affairs"] > 0).to_numpy().astype(int)
    answer = md.design(md.Prior.uniform(["no", "yes"]), md.utility.Hamming(), md.LDP(2))
    grouped = [None, None]
    grouped[0] = lambda job: "low" if job <= 3 else "high"
    truth = np.zeros((2, 2))
    np.add.at(truth, ((codes >= 3).astype(int), had), 1 / len(codes))
    given = truth / truth.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(6)
    first, second = md.Sampler(found, rng), md.Sampler(answer, rng)
    joint, conditional = np.zeros((2, 2)), np.zeros((2, 2))
    repetitions = 300
    for _ in range(repetitions):
        table = np.zeros((6, 2), dtype=int)
        np.add.at(table, (first.draw_codes(codes), second.draw_codes(had)), 1)
        reports = {
            (x, y): int(table[i, j])
            for i, x in enumerate(range(1, 7))
            for j, y in enumerate(["no", "yes"])
        }
        made = md.estimate_joint(
            reports,
            [found, answer],
            ["job", "had"],
            features=grouped,
            method=method,
            target="sample",
        )
        joint += (made.lower <= truth) & (truth <= made.upper)
        rows = made.conditional("job")
        conditional += (rows.lower <= given) & (given <= rows.upper)
    slack = 4 * np.sqrt(0.95 * 0.05 / repetitions)
    for hits in (joint, conditional):
        assert abs(hits / repetitions - 0.95).max() <= slack


def test_joint_variances_by_enumeration():
    """All samples of two people with two secrets each, by hand."""
    kernel = np.array([[0.7, 0.3], [0.2, 0.8]])
    mechanism = md.Mechanism(kernel)
    table = {(i, j): 1000 * (1 + i + 2 * j) for i in range(2) for j in range(2)}
    made = md.estimate_joint(table, [mechanism, mechanism])
    weights = np.linalg.inv(mechanism.kernel)
    q = mechanism.kernel.T @ made.distribution @ mechanism.kernel
    each = np.array([np.kron(weights[a], weights[b]) for a in range(2) for b in range(2)])
    expected = np.cov(each.T, aweights=q.ravel(), bias=True).diagonal() / made.reports
    np.testing.assert_allclose(made.errors.ravel() ** 2, expected, rtol=1e-9)
    # Conditional errors against numerical derivatives of the ratio.
    cover = np.cov(each.T, aweights=q.ravel(), bias=True) / made.reports
    rows = made.conditional("first")
    for i, j in itertools.product(range(2), repeat=2):

        def ratio(cells, i=i, j=j):
            cells = cells.reshape(2, 2)
            return cells[i, j] / cells[i].sum()

        flat, step = made.values.ravel(), 1e-6
        slope = [(ratio(flat + step * e) - ratio(flat - step * e)) / 2 / step for e in np.eye(4)]
        assert rows.errors[i, j] ** 2 == pytest.approx(slope @ cover @ slope, rel=1e-4)


# What can be told


def test_rows_that_are_equal_cannot_be_told_apart():
    kernel = np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.1, 0.1, 0.8], [0.1, 0.8, 0.1]])
    found = md.identifiability(md.Mechanism(kernel, inputs=list("abcd")))
    assert found.rank == 3
    assert found.identifiable == (True, False, False, True)
    assert found.blocks == (("a",), ("b", "c"), ("d",))
    assert "('b', 'c')" in str(found)
    assert not found.is_complete


def test_mixtures_of_rows_cannot_be_told_from_their_parts():
    rows = np.array([[1.0, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [0, 0, 1]])
    found = md.identifiability(md.Mechanism(rows))
    assert found.blocks == ((0, 1, 2), (3,))
    constant = md.identifiability(md.Mechanism(np.full((3, 2), 0.5)))
    assert constant.blocks == ((0, 1, 2),)
    assert constant.rank == 1
    assert md.identifiability(FLIP).is_complete
    assert "all 2 symbols" in str(md.identifiability(FLIP))


@pytest.mark.slow
@given(st.data())
def test_blocks_are_what_the_reports_fix(data):
    """By linear programs: totals of blocks are fixed by q = pK, other symbols are not."""
    n, m = data.draw(sizes(2, 4)), data.draw(sizes(1, 4))
    rows = data.draw(st.lists(st.sampled_from(range(3)), min_size=n, max_size=n))
    base = random_kernel(np.random.default_rng(m), 3, m)
    kernel = base[rows]
    found = md.identifiability(md.Mechanism(kernel))
    p = np.full(n, 1 / n)
    for block in found.blocks:
        gain = np.array([x in block for x in range(n)], float)
        ends = [
            linprog(sign * gain, A_eq=kernel.T, b_eq=p @ kernel, bounds=(0, 1)) for sign in (1, -1)
        ]
        assert all(end.status == 0 for end in ends)
        assert -ends[1].fun - ends[0].fun == pytest.approx(0, abs=1e-6)
        for x in block if len(block) > 1 else ():
            one = np.eye(n)[x]
            low = linprog(one, A_eq=kernel.T, b_eq=p @ kernel, bounds=(0, 1)).fun
            high = -linprog(-one, A_eq=kernel.T, b_eq=p @ kernel, bounds=(0, 1)).fun
            assert high - low > 1e-6


def test_what_cannot_be_told_is_refused_with_what_can():
    titanic = md.Prior.from_csv("titanic", "class")
    found = md.design(titanic, md.utility.Hamming(), md.PML(0.5))
    reports = {"3rd": 900, "crew": 1300}
    refused(
        lambda: md.estimate(reports, found),
        "('1st', '2nd', '3rd')",
        "by='blocks'",
        error=DataError,
    )
    made = md.estimate(reports, found, by="blocks")
    assert made.labels == (("1st", "2nd", "3rd"), "crew")
    assert made.values.sum() == pytest.approx(1)
    aboard = md.estimate(reports, found, feature=lambda x: "crew" if x == "crew" else "passenger")
    np.testing.assert_allclose(aboard.values, made.values, atol=1e-9)
    refused(
        lambda: md.estimate(reports, found, feature={"1st": 1, "2nd": 2, "3rd": 3, "crew": 0}),
        "'mean'",
        error=DataError,
    )
    refused(lambda: md.plan(found, error=0.01), "totals", error=DataError)


# Features


def test_features_agree_with_symbols():
    mechanism = random_mechanism(np.random.default_rng(12), 4, 5)
    expected = 2000 * np.array([0.1, 0.2, 0.3, 0.4]) @ mechanism.kernel
    reports = counts_of(expected.round())
    whole = md.estimate(reports, mechanism)
    mean = md.estimate(reports, mechanism, feature=lambda x: x)
    assert mean["mean"] == pytest.approx(whole.values @ np.arange(4))
    expected = np.arange(4) @ whole.covariance @ np.arange(4)
    assert mean.errors[0] ** 2 == pytest.approx(expected, rel=1e-6)
    odd = md.estimate(reports, mechanism, feature={0: False, 1: True, 2: False, 3: True})
    assert odd.labels == (False, True)
    assert odd[True] == pytest.approx(whole.values[[1, 3]].sum())


# The door


def test_forms_of_reports():
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    values = ["no"] * 30 + ["yes"] * 20
    expected = md.estimate({"no": 30, "yes": 20}, FLIP).values
    frame = pd.DataFrame({"x": values})
    forms = [values, np.array(values), frame["x"], pl.Series(values), pa.array(values)]
    for reports in forms:
        np.testing.assert_array_equal(md.estimate(reports, FLIP).values, expected)
    record = pa.table({"x": values})
    tables = [frame, frame.astype("category"), pl.from_pandas(frame), record, record.to_reader()]
    for table in [*tables, pl.from_pandas(frame).lazy(), iter(record.to_batches(max_chunksize=7))]:
        np.testing.assert_array_equal(md.estimate(table, FLIP, "x").values, expected)


def test_refusals():
    ok = {"no": 30, "yes": 20}
    refused(lambda: md.estimate({"no": 30, "maybe": 20}, FLIP), "1 other", error=DataError)
    refused(lambda: md.estimate({"no": 3, "yes": 2}, FLIP), "at least 10", "5", error=DataError)
    refused(lambda: md.estimate([], FLIP), "at least 10", "0", error=DataError)
    refused(lambda: md.estimate({"no": 30.5}, FLIP), "30.5", error=DataError)
    refused(lambda: md.estimate({"no": -1}, FLIP), "-1", error=DataError)
    refused(lambda: md.estimate(3, FLIP), "column", error=DataError)
    refused(lambda: md.estimate(ok, [[1.0]]), "Mechanism", error=KernelError)
    never = md.Mechanism([[1.0, 0], [1.0, 0]], outputs=["a", "b"])
    refused(lambda: md.estimate({"a": 20, "b": 1}, never), "no input gives", error=DataError)
    for name in ("method", "intervals", "target", "by", "missing"):
        refused(lambda n=name: md.estimate(ok, FLIP, **{n: "x"}), "'x'", error=UnknownNameError)
    for confidence in (0, 1, 95, "95", float("nan")):
        refused(lambda c=confidence: md.estimate(ok, FLIP, confidence=c), error=InputError)
    refused(lambda: md.estimate(ok, FLIP, feature=3), "int", error=InputError)
    refused(lambda: md.estimate(ok, FLIP, feature={"no": 1}), "'yes'", error=DataError)
    nan = float("nan")
    refused(lambda: md.estimate(ok, FLIP, feature={"no": 1, "yes": nan}), error=DataError)
    refused(lambda: md.estimate(ok, FLIP, feature=str, by="blocks"), "both", error=InputError)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": ["no", "yes", None] * 10})
    refused(lambda: md.estimate(frame, FLIP), "column=", error=DataError)
    refused(lambda: md.estimate(frame, FLIP, "y"), "'y'", error=UnknownNameError)
    refused(lambda: md.estimate(frame, FLIP, "x"), "missing reports", error=DataError)
    assert md.estimate(frame, FLIP, "x", missing="drop").reports == 20
    refused(lambda: md.estimate_joint(ok, [FLIP]), "two mechanisms", error=InputError)
    refused(lambda: md.estimate_joint(ok, [FLIP, FLIP]), "tuples of 2", error=DataError)
    refused(lambda: md.estimate_joint({("no", "q"): 99}, [FLIP, FLIP]), "1 other", error=DataError)
    refused(lambda: md.estimate_joint({("no", "no"): 9}, [FLIP, FLIP]), "10", error=DataError)


def test_reports_of_another_mechanism_are_refused():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": ["no", "yes"] * 50})
    made = md.privatize(frame, "x", FLIP, rng=1)
    assert md.estimate(made, FLIP, "x").reports == 100
    other = md.Mechanism([[0.8, 0.2], [0.2, 0.8]], ["no", "yes"], ["no", "yes"])
    refused(lambda: md.estimate(made, other, "x"), "kernel", error=DataError)


def test_impossible_and_empty_reports_are_warned_of():
    with pytest.warns(MisfitWarning, match="probability"):
        made = md.estimate({"no": 990, "yes": 10}, FLIP, misfit="warn")
    assert made["no"] > made.upper[0] == made.projected[0] == 1
    assert list(made.misfits) == ["no", "yes"]
    assert "outside of what is possible" in repr(made)
    weak = md.Mechanism([[0.51, 0.49], [0.49, 0.51]])
    with pytest.warns(PrecisionWarning, match="next to nothing"):
        md.estimate({0: 10, 1: 10}, weak)


@for_each(("n", "m", "reports"), [(2, 2, 10), (3, 4, 40), (20, 20, 20), (4, 40, 30)])
def test_alarms_about_the_mechanism_are_as_rare_as_they_say(n, m, reports):
    """Many outcomes with few reports each are where the usual tests fail."""
    rng = np.random.default_rng(n * m)
    kernel = random_kernel(rng, n, m)
    truth = rng.dirichlet(np.ones(n)) @ kernel
    f = rng.multinomial(reports, truth, 2000) / reports
    p = maximise(kernel, f)[0]
    values = np.array([fit_of(kernel, *pair, reports) for pair in zip(f, p, strict=True)])
    for level in (0.2, 0.05, 0.01):
        assert (values <= level).mean() <= level


def test_an_alarm_is_given_by_reports_of_another_kernel():
    """A control for the test above."""
    rng = np.random.default_rng(2)
    kernel, other = random_kernel(rng, 3, 8), random_kernel(rng, 3, 8)
    f = rng.multinomial(3000, other.mean(axis=0))[None, :] / 3000
    assert fit_of(kernel, f[0], maximise(kernel, f)[0][0], 3000) < 1e-6


def test_nothing_is_said_given_what_is_not_seen():
    table = {("no", "no"): 800, ("no", "yes"): 250, ("yes", "no"): 230, ("yes", "yes"): 80}
    made = md.estimate_joint(table, [FLIP, FLIP])
    with pytest.warns(PrecisionWarning, match="given 'yes'"):
        found = made.conditional("first")
    assert found.rows == ("no",)
    refused(lambda: made.conditional("third"), "'third'", error=UnknownNameError)


def test_estimates_are_plain_and_readable():
    made = md.estimate({"no": 600, "yes": 400}, FLIP, method="likelihood")
    assert json.loads(json.dumps(made.rows()))[0]["label"] == "no"
    assert "maximum likelihood from 1000 reports" in repr(made)
    assert "converged" in repr(made)
    assert "<table>" in made._repr_html_()
    refused(lambda: made["maybe"], "'maybe'", error=UnknownNameError)
    with pytest.raises(UnknownNameError):
        md.estimate({"no": 600, "yes": 400}, FLIP)[3]


def test_whole_numbers_keep_their_sum():
    rng = np.random.default_rng(1)
    for n in (1, 10, 997):
        found = whole_numbers(rng.dirichlet(np.ones(7)) * n)
        assert found.sum() == n
        assert found.min() >= 0
