"""Estimates from reports of one kernel: unbiased, of least variance, with the errors they have."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from checks import for_each, refused
from hypothesis import given
from hypothesis import strategies as st
from naive_surveys import best_scores, two_variances
from numpy.testing import assert_allclose
from reported import FLIP, THREE, counted, quiet, response, table_of
from scipy.optimize import linprog
from scipy.stats import binom, norm
from strategies import random_kernel

import mechdesign as md
from mechdesign.errors import MisfitWarning, PrecisionWarning
from mechdesign.inference.likelihood import Fitted

pytestmark = quiet


@st.composite
def asked(draw):
    """A kernel with an output that never comes, a question, and where its weights are best."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 5))
    rows = random_kernel(rng, n, draw(st.integers(2, 7)))
    if draw(st.booleans()):
        rows = rows[rng.integers(0, n, n)]
    mechanism = md.Mechanism(np.column_stack([rows, np.zeros(n)]))
    found = md.identifiability(mechanism)
    values = np.array([[x in block for block in found.blocks] for x in range(n)], float)
    options = {"by": "blocks"}
    kind = draw(st.sampled_from(["blocks", "symbols", "numbers", "rows"]))
    if kind == "symbols" and found.is_complete:
        options = {}
    elif kind in ("numbers", "rows") and n > 1:
        values = values @ rng.normal(size=(values.shape[1], 1 + (kind == "rows")))
        options = {"feature": values.T}
        if kind == "numbers":
            options = {"feature": values.ravel().tolist().__getitem__}
    truth = np.full(n, 1 / n)
    if draw(st.booleans()):
        truth = rng.dirichlet(truth * n)
        options["truth"] = truth.tolist()
    return mechanism, found, values, options, truth, rng


@given(asked())
def test_estimates_are_unbiased_of_least_variance_and_have_the_errors_of_all_reports(case):
    mechanism, found, values, options, truth, rng = case
    if found.is_one_block or found.weakest < 1e-3:
        return
    kernel, size = mechanism.kernel, int(rng.integers(10, 300))

    def made(counts, **more):
        reports = counted(counts, mechanism)
        return md.estimate(reports, mechanism, misfit="warn", **options, **more)

    # An estimate is a mean of scores: those of each report, and that of all of them.
    scores = [made(10 * row).values for row in np.eye(kernel.shape[1])[:-1]]
    scores = np.vstack([*scores, np.zeros(values.shape[1])])
    assert_allclose(kernel @ scores, values, atol=1e-7)
    assert_allclose(scores, best_scores(kernel, values, truth), rtol=1e-6, atol=1e-7)
    f = rng.multinomial(size, rng.dirichlet(np.ones(len(kernel))) @ kernel) / size
    for target in ("sample", "population"):
        one = made(size * f, target=target)
        likely = one.distribution
        noise, spread = two_variances(kernel, scores, values, likely)
        whole = (noise + spread * (target == "population")) / size
        assert_allclose(one.values, f @ scores, rtol=1e-9, atol=1e-9)
        assert_allclose(one.covariance, whole, rtol=1e-7, atol=1e-10)
        assert_allclose(one.errors**2, whole.diagonal(), rtol=1e-7, atol=1e-10)
        assert_allclose(one.noise**2, noise.diagonal() / size, rtol=1e-7, atol=1e-10)
    ends = values.min(axis=0), values.max(axis=0)
    assert_allclose(one.projected, np.clip(one.values, *ends), rtol=1e-14, atol=1e-14)
    # No distribution is likelier, by the slopes of the likelihood.
    used, q = f > 0, likely @ kernel
    assert (kernel[:, used] @ (f / np.where(used, q, 1))[used]).max() <= 1 + 2e-9
    assert likely.sum() == pytest.approx(1, abs=1e-12)
    options.pop("truth", None)
    best = made(size * f, method="likelihood")
    assert_allclose(best.values, likely @ values, atol=1e-9)
    assert ((best.lower <= best.values) & (best.values <= best.upper)).all()
    # How well the kernel fits, and what a next round takes for the truth.
    outcomes = kernel.shape[1] - 2
    distance = size * float(f[used] @ np.log(f[used] / q[used]))
    ratio = max(distance / outcomes, 1)
    assert one.fit == pytest.approx(np.exp(outcomes * (1 + np.log(ratio) - ratio)), rel=1e-3)
    even = kernel.mean(axis=0)[:-1]
    freedom, far = found.rank - 1, size * ((f[:-1] - even) ** 2 / even).sum()
    share = max(min(1, freedom / far), 1 / (size + 1)) if freedom else 1
    shrunk = (1 - share) * likely + share / len(kernel)
    assert_allclose(one.shrunk.probabilities, shrunk, atol=1e-7)


def test_a_kernel_is_decomposed_once_for_all_that_is_asked_of_it(monkeypatch):
    shapes, decompose = [], np.linalg.svd
    monkeypatch.setattr(
        np.linalg, "svd", lambda rows, **more: shapes.append(rows.shape) or decompose(rows, **more)
    )
    mechanism = md.Mechanism([[0.4, 0.3, 0.2, 0.1], *[[0.1, 0.2, 0.3, 0.4]] * 2])
    refused(lambda: md.estimate({0: 99}, mechanism), "by='blocks'")
    for _ in range(2):
        md.estimate(dict.fromkeys(range(4), 25), mechanism, by="blocks")
    assert md.identifiability(mechanism).rank == 2
    assert shapes.count((3, 4)) == 1


@given(st.integers(2, 4), st.integers(1, 4), st.integers(0, 999))
def test_blocks_are_what_the_reports_fix(n, m, seed):
    """By linear programs: totals of blocks are fixed by q = pK, other symbols are not."""
    rng = np.random.default_rng(seed)
    kernel = random_kernel(rng, 3, m)[rng.integers(0, 3, n)]
    if seed % 3 == 0:
        kernel[-1] = kernel[:-1].mean(axis=0)
    found, q = md.identifiability(md.Mechanism(kernel, normalise=True)), kernel.mean(axis=0)

    def width(gain):
        return -sum(linprog(s * gain, A_eq=kernel.T, b_eq=q, bounds=(0, 1)).fun for s in (1, -1))

    for block in found.blocks:
        inside = np.array([x in block for x in range(n)], float)
        assert width(inside) == pytest.approx(0, abs=1e-6)
        assert len(block) == 1 or all(width(np.eye(n)[x]) > 1e-6 for x in block)
    assert found.is_complete == (len(found.blocks) == n)
    assert found.rank == np.linalg.matrix_rank(kernel, 1e-7)


def test_what_cannot_be_told_is_refused_with_what_can():
    found = md.design(md.Prior.from_csv("titanic", "class"), md.utility.Hamming(), md.PML(0.5))
    reports, groups = {"3rd": 900, "crew": 1300}, "('1st', '2nd', '3rd')"
    refused(lambda: md.estimate(reports, found), groups, "by='blocks'")
    made = md.estimate(reports, found, by="blocks")
    assert made.labels == (("1st", "2nd", "3rd"), "crew")
    assert groups in str(md.identifiability(found))
    aboard = md.estimate(reports, found, feature=lambda x: x == "crew")
    assert_allclose(aboard.values, made.values, atol=1e-9)
    ranks = {"1st": 1, "2nd": 2, "3rd": 3, "crew": 0}
    refused(lambda: md.estimate(reports, found, feature=ranks), "'mean'")
    refused(lambda: md.plan(found, error=0.01), "totals")
    even = md.Mechanism(np.full((2, 2), 0.5))
    refused(lambda: md.estimate({0: 20}, even, by="blocks"), "tell none of")


# Intervals

ODD = {"a": 60, "b": 40, "c": 10}


def binned(first):
    """An estimate of three bins of width one."""
    bins = md.bins(edges=[first, first + 1, first + 2, first + 3])
    kernel = md.Mechanism(THREE.kernel, bins.labels, bins.labels).with_schema({"age": bins})
    return md.estimate(dict(zip(bins.labels, [300, 200, 100], strict=True)), kernel)


def holders_of_limits():
    """Results of all kinds, and the least and the most that their answers can be."""
    table = table_of(q=np.tile([*"abbac"], 120), id=np.arange(600))
    groups = md.estimate(table, THREE, "r", by_group="g")
    joint = md.estimate_joint(table, [THREE, THREE], ["r", "q"])
    likeliest = md.estimate(table, THREE, "r", method="likelihood")
    selection = md.subset_selection(9, md.LDP(2))
    drawn = np.random.default_rng(1).integers(0, selection.shape[1], 400)
    return [
        *((one, 0) for one in (md.estimate(ODD, THREE), groups["old"], joint, likeliest)),
        *((one, 0) for one in (joint.marginal("q"), joint.conditional("r"))),
        (md.estimate_rounds([table["r"], table["q"]], [THREE] * 2), 0),
        (md.estimate(drawn, selection, misfit="warn"), 0),
        (groups.difference("old", "young"), -1),
        (md.estimate_change(table, table, THREE, ["r", "q"], person="id"), -1),
    ]


def test_limits_of_one_side_and_of_all_at_once():
    for found, least in holders_of_limits():
        assert_allclose(found.limits(), (found.lower, found.upper), atol=1e-9)
        for side, k in (("lower", 0), ("upper", 1)):
            one, both = found.limits(0.95, side), found.limits(0.9)
            assert_allclose(one[k], both[k], atol=1e-7)
            assert (one[1 - k] == (1 if k == 0 else least)).all()
        together = found.limits(together=True)
        assert_allclose(together, found.limits(1 - 0.05 / len(found.labels)), atol=1e-7)
        made = found.with_limits(0.9, "upper", together=True)
        assert_allclose((made.lower, made.upper), found.limits(0.9, "upper", together=True))
        assert made.told_rate() == "90 % simultaneous upper limits"
        assert_allclose((made.values, made.errors), (found.values, found.errors))
        held = found.projected
        assert ((found.lower <= held) & (held <= found.upper)).all()
        assert not found.misfits
    three = md.estimate(table_of(), THREE, "r", by_group="g").with_limits(
        side="lower", together=True
    )
    assert three.differences()[0].told_rate() == "95 % simultaneous lower limits"
    ages = binned(0)
    bars = ages.with_limits(0.9, "lower", together=True).histogram()
    assert_allclose(bars.lower, ages.limits(1 - 0.1 / 3, "lower")[0])
    least, both = ages.with_limits(0.95, "lower").quantile(0.5), ages.with_limits(0.9)
    # Everybody may be in the last bin.
    assert (least.lower, least.upper) == pytest.approx((both.quantile(0.5).lower, 2.5))
    # What is likeliest is held, however little the rate is.
    kernel = response(2, "abc")
    counts = counted([500, 480, 20], kernel), kernel
    likeliest, plain = (
        md.estimate(*counts, method=method, misfit="warn") for method in ("likelihood", "inversion")
    )
    inside = [
        (low <= likeliest.values) & (likeliest.values <= high)
        for low, high in (likeliest.limits(1e-6), plain.limits(1e-6))
    ]
    assert (inside[0].all(), inside[1].all()) == (True, False)
    delta = md.estimate(ODD, THREE, intervals="delta")
    refused(lambda: delta.with_limits(side="lower"), "binomial")


def test_misfits_of_an_arm_are_those_of_a_difference():
    """Of two arms either may be as far outside."""
    rows = [["a", "one"]] * 205 + [["b", "one"]] * 795 + [["a", "two"]] * 500 + [["b", "two"]] * 500
    table = pd.DataFrame(rows, columns=["r", "g"])
    found = md.estimate(table, response(1), "r", by_group="g", misfit="warn")
    between = found.difference("one", "two")
    chances = {label: 2 * chance for label, chance in found["one"].misfits.items()}
    assert between.misfits == pytest.approx(chances)
    assert [*chances] == ["a", "b"]
    assert not found["two"].misfits
    assert_allclose(between.projected, found["one"].projected - found["two"].projected)


def test_numbers_far_from_zero_are_numbers_near_it():
    """Estimates, plans and differences of x + 10⁷ are those of x, moved."""
    table = table_of(q=np.tile([*"abbac"], 120), id=np.arange(600))

    def numbers(x):
        feature = {"a": x, "b": x + 1, "c": x + 3}
        options = {"feature": feature}
        single = md.estimate(table, THREE, "r", weights="w", clusters="c", **options)
        groups = md.estimate(table, THREE, "r", by_group="g", **options)
        rounds = md.estimate_rounds([table["r"], table["q"]], [THREE] * 2, **options)
        joint = md.estimate_joint(table, [THREE] * 2, ["r", "q"], features=[None, feature])
        mean = binned(x).mean()
        drawn = md.estimate(table, THREE, "r", intervals="bootstrap", rng=1, **options)
        moved = [
            *((one.values, one.lower, one.upper) for one in (single, groups["old"], rounds, drawn)),
            *((one.values, one.lower, one.upper) for one in (joint.conditional("r"),)),
            (mean.value, mean.lower, mean.upper),
        ]
        change = md.estimate_change(table, table, THREE, ["r", "q"], person="id", **options)
        kept = [
            *((one.lower, one.upper) for one in (groups.differences()[0], change)),
            *(one.errors for one in (single, rounds, groups["old"], change, drawn)),
            mean.error,
            md.plan(THREE, error=0.1, worst=True, **options).reports,
        ]
        return [np.ravel(part) - x for one in moved for part in one] + [
            np.ravel(part) for part in kept
        ]

    for near, far in zip(numbers(0), numbers(1e7), strict=True):
        assert_allclose(far, near, rtol=1e-6, atol=1e-6)


def test_intervals_of_other_software_are_given_where_they_hold():
    size, draws, reports = 1000, 400, {"a": 600, "b": 300, "c": 100}
    plain = md.estimate(reports, THREE)
    delta = md.estimate(reports, THREE, intervals="delta", confidence=0.9)
    width = norm.isf(0.05) * plain.errors
    assert_allclose(delta.lower, plain.values - width, rtol=1e-9)
    assert_allclose(delta.upper, plain.values + width, rtol=1e-9)
    # The same draws of these people, by hand: whole numbers of them, largest remainders first.
    rng, p = np.random.default_rng(1), plain.distribution
    people = np.floor(p * size).astype(int)
    people[np.argsort(people - p * size)[: size - people.sum()]] += 1
    drawn = sum(rng.multinomial(n, q, draws) for n, q in zip(people, THREE.kernel, strict=True))
    drawn = drawn @ np.linalg.inv(THREE.kernel) / size
    options = {"target": "sample", "intervals": "bootstrap", "resamples": draws, "rng": 1}
    made = md.estimate(reports, THREE, **options)
    assert_allclose(made.errors, drawn.std(axis=0, ddof=1), rtol=1e-9)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    assert_allclose(made.lower, plain.values + p - high, rtol=1e-9)
    assert_allclose(made.upper, plain.values + p - low, rtol=1e-9)
    # Where few events were seen they are not given.
    for level, a, b, few in ((6, 30, 1, True), (6, 540, 60, False), (1, 240, 760, True)):
        call = {"a": a, "b": b}, response(level)
        own = md.estimate(*call)
        for intervals in ("delta", "bootstrap"):
            made = md.estimate(*call, intervals=intervals, rng=1)
            assert np.array_equal((made.lower, made.upper), (own.lower, own.upper)) == few
            assert (made.errors >= made.noise).all()


def test_a_misfit_is_said_with_its_odds():
    for counts in ([205, 795], [795, 205]):
        found = md.estimate(counted(counts, response(1)), response(1), misfit="warn")
        # The probability of as few reports where nobody has the symbol.
        chance = binom.cdf(205, 1000, response(1).kernel[1, 0])
        assert found.misfits == pytest.approx(dict.fromkeys("ab", chance), rel=1e-6)
        assert "1 of" in repr(found)
    inside = md.estimate({"a": 240, "b": 760}, response(1))
    assert not inside.misfits
    assert "moved inside: a 0, b 1" in repr(inside)
    with pytest.warns(MisfitWarning, match="probability"):
        md.estimate({"no": 990, "yes": 10}, FLIP, misfit="warn")
    with pytest.warns(PrecisionWarning, match="next to nothing"):
        md.estimate({0: 10, 1: 10}, md.Mechanism([[0.51, 0.49], [0.49, 0.51]]))


def test_very_many_reports_raise_no_false_alarm():
    """What the likelihood may be short of its maximum by is many times its distance by chance."""
    for rows in (response(3).kernel, np.random.default_rng(1).dirichlet(np.ones(6), 2)):
        found = Fitted.of(rows, np.rint(1e14 * np.array([0.7, 0.3]) @ rows).astype(int))
        assert found.convergence.gap * 1e14 > 10
        assert found.fit == 1


@pytest.mark.filterwarnings("error")
def test_what_is_shown():
    options = {"method": "likelihood", "feature": {"no": True, "yes": False}}
    made = md.estimate({"no": 600, "yes": 400}, FLIP, **options)
    assert "maximum likelihood from 1000 reports" in repr(made)
    assert "converged" in repr(made)
    assert "<table>" in made._repr_html_()
    assert made[True] == made.rows()[0]["estimate"] == pytest.approx(0.7)


OK = {"no": 30, "yes": 20}
FRAME = pd.DataFrame({"x": ["no", "yes", None] * 10})
NEVER = md.Mechanism([[1.0, 0], [1.0, 0]], outputs=["no", "yes"])


@for_each(
    "words, reports, options",
    [
        ("1 other", {"no": 30, "maybe": 20}, {}),
        ("at least 10, got 9", {"no": 3, "yes": 6}, {}),
        ("integers", {"no": True}, {}),
        ("column", 3, {}),
        ("Mechanism", OK, {"mechanism": [[1.0]]}),
        ("no input gives", OK, {"mechanism": NEVER}),
        ("whatever the secrets", {"no": 990, "yes": 10}, {}),
        ("one distribution", OK, {"truth": "any"}),
        ("int", OK, {"feature": 3}),
        ("'yes'", OK, {"feature": {"no": 1}}),
        ("differ", OK, {"feature": {"no": 1, "yes": 1}}),
        ("finite", OK, {"feature": {"no": 1, "yes": np.nan}}),
        ("rows of 2", OK, {"feature": [[1, 2, 3]]}),
        ("both", OK, {"feature": str, "by": "blocks"}),
        ("at least 2", OK, {"resamples": 1}),
        ("generator", OK, {"rng": "x"}),
        ("column=", FRAME, {}),
        ("'y'", FRAME, {"column": "y"}),
        ("missing reports", FRAME, {"column": "x"}),
        ("missing", FRAME["x"], {}),
        ("an input None", OK, {"missing": "category"}),
        *(("'x'", OK, {name: "x"})
          for name in ("method", "intervals", "target", "by", "missing", "misfit")),
        *(("0 and 1", OK, {"confidence": c}) for c in (0, 1, 95, "95", np.nan, True)),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused(words, reports, options):
    refused(lambda: md.estimate(reports, **{"mechanism": FLIP, **options}), words)
