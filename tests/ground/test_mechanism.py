"""Mechanisms: what an observer learns, exact operations, looks, and kernels that are refused."""

from __future__ import annotations

import html.parser
import itertools
import math
import pickle
import warnings
from fractions import Fraction
from functools import partial

import checks
import numpy as np
import pytest
from checks import for_each
from hypothesis import given, settings
from hypothesis import strategies as st

from mechdesign import Mechanism, Prior
from mechdesign.errors import KernelError, ZeroMassWarning

BITS = 8
SIZES = st.integers(1, 4)


def exact(mechanism):
    """The kernel in rationals, from the integer weights alone."""
    scale = 2**mechanism.bits
    return [[Fraction(int(w), scale) for w in row] for row in mechanism.weights]


def product_of(left, right):
    """Matrix product in rationals."""
    return [
        [
            sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0))
            for column in zip(*right, strict=True)
        ]
        for row in left
    ]


refused = partial(checks.refused, error=KernelError)


@st.composite
def kernels(draw, n=None, m=None, bits=BITS):
    """Exact kernels: every row is a random composition of 2**bits."""
    n = draw(SIZES) if n is None else n
    m = draw(SIZES) if m is None else m
    rows = []
    for _ in range(n):
        cuts = sorted(draw(st.integers(0, 2**bits)) for _ in range(m - 1))
        edges = [0, *cuts, 2**bits]
        rows.append([b - a for a, b in itertools.pairwise(edges)])
    return Mechanism.from_weights(np.array(rows), bits)


@st.composite
def priors(draw, n):
    counts = draw(st.lists(st.integers(0, 50), min_size=n, max_size=n).filter(any))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroMassWarning)
        return Prior.from_counts(counts)


@st.composite
def kernels_with_priors(draw):
    mechanism = draw(kernels())
    return mechanism, draw(priors(mechanism.shape[0]))


FLIP = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"], outputs=["no", "yes"])
FAIR = Prior([0.5, 0.5], ["no", "yes"])
SKEW = Prior.from_counts([3, 1], ["no", "yes"])


# What an observer learns


def test_output_distribution_and_joint():
    assert FLIP.output_distribution(FAIR).tolist() == [0.5, 0.5]
    assert FLIP.output_distribution(SKEW).tolist() == [0.625, 0.375]
    assert FLIP.joint(SKEW).tolist() == [[0.5625, 0.1875], [0.0625, 0.1875]]


@given(kernels_with_priors())
def test_posterior_agrees_with_rationals(pair):
    mechanism, prior = pair
    rows = exact(mechanism)
    n, m = mechanism.shape
    for y in range(m):
        q = sum(prior.mass(x) * rows[x][y] for x in range(n))
        assert mechanism.output_distribution(prior)[y] == pytest.approx(float(q), rel=1e-12)
        for x in range(n):
            wanted = prior.mass(x) * rows[x][y] / q if q else prior.mass(x)
            assert mechanism.posterior(prior)[x, y] == pytest.approx(float(wanted), rel=1e-12)
            density = mechanism.information_density(prior)[x, y]
            lift = rows[x][y] / q if q else Fraction(1)
            assert math.exp(density) == pytest.approx(float(lift), rel=1e-12, abs=1e-300)


@for_each("method", ["output_distribution", "joint", "posterior", "information_density"])
def test_a_prior_over_other_symbols_is_refused(method):
    measure = getattr(FLIP, method)
    refused(lambda: measure(Prior([0.5, 0.5])), "('no', 'yes')", "(0, 1)", "same order")
    refused(lambda: measure(Prior.uniform(3)), "2 symbols", "3")
    refused(lambda: measure(Prior([0.5, 0.5], ["yes", "no"])), "same order")


# Exact numbers


@given(st.lists(st.floats(0, 1), min_size=2, max_size=5))
def test_tiny_entries_are_kept_exactly(values):
    row = [v / 8 for v in values]
    row.append(1 - math.fsum(row))
    mechanism = Mechanism([row])
    assert exact(mechanism) == [[Fraction(x) for x in row]]
    assert mechanism.row_error == abs(sum(map(Fraction, row)) - 1)


def test_row_error_is_the_largest_exact_distance_from_one():
    rows = [[0.1, 0.2, 0.7], [0.5, 0.25, 0.25 + 3e-7], [0.5, 0.25, 0.25 - 5e-7]]
    mechanism = Mechanism(rows)
    assert not mechanism.is_exact
    assert mechanism.row_error == max(abs(sum(map(Fraction, row)) - 1) for row in rows)
    assert mechanism.row_error == pytest.approx(5e-7, rel=1e-6)
    np.testing.assert_allclose(mechanism.kernel.sum(axis=1), 1, rtol=0, atol=4e-16)
    np.testing.assert_allclose(mechanism.kernel[2], np.array(rows[2]) / (1 - 5e-7), rtol=1e-15)


def test_normalise_divides_rows_and_leaves_rounding_at_most():
    mechanism = Mechanism([[1, 2], [30, 10]], normalise=True)
    np.testing.assert_allclose(mechanism.kernel, [[1 / 3, 2 / 3], [0.75, 0.25]], rtol=1e-15)
    assert mechanism.row_error <= Fraction(1, 2**52)
    printed = [[0.33, 0.33, 0.33], [0.2, 0.3, 0.5]]
    refused(lambda: Mechanism(printed), "0.99 in row 0", "normalise=True", "--normalise")
    np.testing.assert_allclose(Mechanism(printed, normalise=True).kernel[0], 1 / 3, rtol=1e-15)


# Operations, each against the same thing done in rationals


@given(st.data(), SIZES, SIZES, SIZES)
def test_cascade_is_the_exact_matrix_product(data, n, m, k):
    a, b = data.draw(kernels(n, m)), data.draw(kernels(m, k))
    assert exact(a @ b) == product_of(exact(a), exact(b))
    assert a @ b == a.cascade(b)
    assert (a @ b).is_exact


def test_long_cascades_stay_exact():
    mechanism = Mechanism([[0.9, 0.1], [0.2, 0.8]], normalise=True)
    chain, wanted = mechanism, exact(mechanism)
    for _ in range(29):
        chain, wanted = chain @ mechanism, product_of(wanted, exact(mechanism))
    assert exact(chain) == wanted
    np.testing.assert_allclose(chain.kernel, [[2 / 3, 1 / 3]] * 2, rtol=1e-4)


@given(kernels(), kernels())
def test_product_is_the_kronecker_product(a, b):
    both = a.product(b)
    rows_a, rows_b = exact(a), exact(b)
    assert both.inputs == tuple((x, z) for x in a.inputs for z in b.inputs)
    assert both.outputs == tuple((y, w) for y in a.outputs for w in b.outputs)
    entry = {
        (i, j): value
        for i, row in zip(both.inputs, exact(both), strict=True)
        for j, value in zip(both.outputs, row, strict=True)
    }
    assert all(
        entry[(x, z), (y, w)] == rows_a[x][y] * rows_b[z][w]
        for (x, z) in both.inputs
        for (y, w) in both.outputs
    )


@given(st.data(), SIZES)
def test_parallel_multiplies_likelihoods(data, n):
    a, b = data.draw(kernels(n)), data.draw(kernels(n))
    both = a.parallel(b)
    rows_a, rows_b = exact(a), exact(b)
    assert both.inputs == a.inputs
    for x, row in enumerate(exact(both)):
        assert dict(zip(both.outputs, row, strict=True)) == {
            (y, w): rows_a[x][y] * rows_b[x][w] for y in a.outputs for w in b.outputs
        }


@given(st.data(), kernels())
def test_merging_equals_cascading_with_a_deterministic_channel(data, mechanism):
    m = mechanism.shape[1]
    group = [data.draw(st.integers(0, 2)) for _ in range(m)]
    merged = mechanism.merge(lambda y: f"g{group[y]}")
    names = tuple(dict.fromkeys(f"g{g}" for g in group))
    channel = np.zeros((m, len(names)))
    for y, g in enumerate(group):
        channel[y, names.index(f"g{g}")] = 1
    assert merged.outputs == names
    assert merged == mechanism @ Mechanism(channel, outputs=names)


@for_each(
    ("groups", "words"),
    [
        *((g, "at most once") for g in ([["a", "x"]], [["a"], ["a", "b"]], [["a", "a"]], [[[]]])),
        *((groups, "lists of output labels") for groups in (["bc"], [3], 3, None)),
        ([["a", "b"]], "whose names are no outputs"),
    ],
)
def test_groups_that_part_no_outputs_are_refused(groups, words):
    mechanism = Mechanism([[0.5, 0.25, 0.25]], outputs=["a", "b", ("a", "b")])
    refused(lambda: mechanism.merge(groups), "groups of outputs", words)


def test_merge_with_lists_names_groups_by_their_labels():
    mechanism = Mechanism([[0.5, 0.25, 0.25], [0.125, 0.375, 0.5]], outputs=["a", "b", "c"])
    merged = mechanism.merge([["a", "c"]])
    assert merged.outputs == (("a", "c"), "b")
    assert exact(merged) == [[Fraction(3, 4), Fraction(1, 4)], [Fraction(5, 8), Fraction(3, 8)]]
    assert mechanism.merge([]) == mechanism
    assert mechanism.merge([["b"]]) == mechanism
    assert mechanism.merge([["a", "b", "c"]]).kernel.tolist() == [[1], [1]]


@given(st.data(), SIZES, SIZES, st.floats(0, 1))
def test_mix_is_the_exact_convex_combination(data, n, m, weight):
    a, b = data.draw(kernels(n, m)), data.draw(kernels(n, m, bits=3))
    share = Fraction(weight)
    wanted = [
        [(1 - share) * x + share * y for x, y in zip(r, s, strict=True)]
        for r, s in zip(exact(a), exact(b), strict=True)
    ]
    assert exact(a.mix(b, weight)) == wanted


@for_each("weight", [-0.1, 1.5, math.nan, math.inf, "half", None, [0.5]])
def test_mix_refuses_weights_that_are_no_probability(weight):
    refused(lambda: FLIP.mix(FLIP, weight), "from 0 to 1", repr(weight))


def test_trimmed_drops_outputs_that_never_occur():
    mechanism = Mechanism([[0.5, 0, 0.5, 0], [1, 0, 0, 0]], outputs=["a", "b", "c", "d"])
    assert mechanism.trimmed().outputs == ("a", "c")
    assert mechanism.trimmed().kernel.tolist() == [[0.5, 0.5], [1, 0]]
    assert FLIP.trimmed() == FLIP


def test_operations_refuse_labels_that_do_not_match():
    other = Mechanism(FLIP.kernel)
    refused(lambda: FLIP.cascade(other), "('no', 'yes')", "(0, 1)", "same order")
    refused(lambda: FLIP @ Mechanism(np.eye(3)), "2 inputs", "3 inputs")
    refused(lambda: FLIP.parallel(other), "('no', 'yes')", "(0, 1)")
    refused(lambda: FLIP.mix(other, 0.5), "same inputs and outputs")


def test_rows_off_by_rounding_do_not_stop_operations():
    mechanism = Mechanism([[0.3 + 6e-7, 0.7], [0.6, 0.4 + 6e-7]])
    for operation in (mechanism.cascade, mechanism.product, mechanism.parallel):
        both = operation(mechanism)
        assert both.row_error >= mechanism.row_error
        np.testing.assert_allclose(both.kernel.sum(axis=1), 1, rtol=1e-12)
    assert mechanism.merge([[0, 1]]).row_error == mechanism.row_error
    assert mechanism.mix(Mechanism(np.eye(2)), 0.5).row_error == mechanism.row_error / 2


# Integer weights


@for_each(
    ("weights", "bits", "words"),
    [
        (np.array([[0.5, 0.5]]), 0, ["integers", "float64"]),
        (np.array([[0.5, 0.5]], dtype=object), 0, ["integers"]),
        (np.array([[3, -1]]), 1, ["non-negative", "-1"]),
        (np.array([1, 1]), 1, ["shape (2,)"]),
        (np.zeros((0, 2), dtype=int), 1, ["shape (0, 2)"]),
        (np.array([[3, 2]]), 2, ["sum 4", "0.25"]),
        (np.array([[1, 1]]), -1, ["-1"]),
    ],
)
def test_bad_weights_are_refused(weights, bits, words):
    refused(lambda: Mechanism.from_weights(weights, bits), *words)


# How it looks


def test_text_is_an_aligned_table():
    lines = FLIP.to_text(digits=2).splitlines()
    assert [line.split() for line in lines] == [
        ["no", "yes"],
        ["no", "0.75", "0.25"],
        ["yes", "0.25", "0.75"],
    ]
    assert len({len(line) for line in lines}) == 1
    assert repr(FLIP).startswith("Mechanism(2 inputs × 2 outputs)\n")
    large = Mechanism(np.eye(30)).to_text().splitlines()
    assert (large[-1], len(large)) == ("… 18 more inputs, 18 more outputs", 14)


class _Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags, self.cells = [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.cells.append(data)


def test_html_is_well_formed_and_escapes_labels():
    mechanism = Mechanism([[0.25, 0.75]], ["<script>x</script>"], ["a & b", "c"])
    reader = _Reader()
    reader.feed(mechanism._repr_html_())
    assert not reader.open
    assert "script" not in reader.tags
    assert "<script>x</script>" in reader.cells
    assert "a & b" in reader.cells
    assert {"0.2500", "0.7500"} <= set(reader.cells)
    assert any("1 input × 2 outputs" in cell for cell in reader.cells)


# Equality


def test_equality_goes_by_exact_kernel_and_labels():
    assert Mechanism([[0.5, 0.5]]) == Mechanism.from_weights(np.array([[4, 4]]), 3)
    assert Mechanism([[0.5, 0.5]]) != Mechanism([[0.5, math.nextafter(0.5, 0)]])
    assert Mechanism([[0.5, 0.5]]) != Mechanism([[0.5, 0.5]], inputs=["a"])
    assert Mechanism([[0.5, 0.5]]) != Mechanism([[0.5, 0.5]], outputs=["a", "b"])
    assert Mechanism([[0.5, 0.5]]) != Mechanism([[0.5, 0.5], [0.5, 0.5]])
    assert Mechanism([[1.0]]) != [[1.0]]
    big = Mechanism.from_weights(np.array([[2**99, 2**99], [2**100, 0]], dtype=object), 100)
    assert big.kernel.tolist() == [[0.5, 0.5], [1, 0]]
    assert big == Mechanism([[0.5, 0.5], [1, 0]]) == pickle.loads(pickle.dumps(big))
    assert hash(big) == hash(Mechanism([[0.5, 0.5], [1, 0]]))


def test_arrays_are_copied_and_kept():
    array, weights = np.array([[0.5, 0.5]]), np.array([[1, 1]])
    for found in (Mechanism(array), Mechanism.from_weights(weights, 1)):
        array[0], weights[0] = [1, 0], [2, 0]
        assert found.kernel.tolist() == [[0.5, 0.5]]
        for kept in (found.kernel, found.weights):
            with pytest.raises(ValueError, match="read-only"):
                kept[0, 0] = 1
        array[0], weights[0] = [0.5, 0.5], [1, 1]


# Kernels that are refused


@for_each("side", ["inputs", "outputs"])
def test_bad_labels_are_refused(side):
    found = refused(lambda: Mechanism(np.eye(2), **{side: ["a", "a"]}), "'a' more than once")
    assert side in found.subject


BAD_KERNELS = {
    "row sum above": ([[0.5, 0.6]], "sum 1.1 in row 0", "normalise=True"),
    "row sum below": ([[1, 0], [0.5, 0.4]], "sum 0.9 in row 1"),
    "negative": ([[1.5, -0.5]], "-0.5 in row 0, column 1"),
    "nan": ([[1, 0], [math.nan, 1]], "nan in row 1, column 0"),
    "vector": ([0.5, 0.5], "shape (2,)"),
    "empty": ([], "shape (0,)"),
    "nothing": (None, "got"),
    "overflowing": ([[1e308, 1e308]], "sum"),
}


@for_each("case", BAD_KERNELS)
def test_bad_kernels_are_refused(case):
    kernel, *words = BAD_KERNELS[case]
    refused(lambda: Mechanism(kernel), *words)


@settings(max_examples=200)
@given(
    st.lists(
        st.lists(st.one_of(st.floats(), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=3),
        min_size=1,
        max_size=3,
    )
)
def test_any_array_gives_a_stochastic_kernel_or_a_kernel_error(rows):
    for normalise in (False, True):
        try:
            mechanism = Mechanism(rows, normalise=normalise)
        except KernelError:
            continue
        assert mechanism.kernel.min() >= 0
        np.testing.assert_allclose(mechanism.kernel.sum(axis=1), 1, rtol=1e-12)
    assert Mechanism([[1e308, 1e308]], normalise=True).kernel.tolist() == [[0.5, 0.5]]


def test_what_is_no_mechanism_or_prior_is_named():
    flip = Mechanism([[0.75, 0.25], [0.25, 0.75]])
    for call in (
        lambda: flip @ np.eye(2),
        lambda: flip.product(np.eye(2)),
        lambda: flip.parallel(None),
        lambda: flip.mix(np.eye(2), 0.5),
        lambda: flip.posterior([0.5, 0.5]),
    ):
        with pytest.raises(KernelError, match="wrap"):
            call()
