"""The most that two kernels both tell, against what both can make; and where there is no such."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from checks import for_each, slow_but
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection

import mechdesign as md
from mechdesign.errors import KernelError


def common(a, b, gains):
    """The best post-processing of both for some gains, by a linear program in both channels."""
    (n, m), k, out = a.shape, b.shape[1], gains.shape[1]
    cost = np.concatenate([-(a.T @ gains).ravel(), np.zeros(k * out)])
    rows, right = [], []
    for x, y in itertools.product(range(n), range(out)):
        row = np.zeros((m + k, out))
        row[:m, y], row[m:, y] = a[x], -b[x]
        rows.append(row.ravel())
        right.append(0)
    for j in range(m + k):
        row = np.zeros((m + k, out))
        row[j] = 1
        rows.append(row.ravel())
        right.append(1)
    found = linprog(cost, A_eq=rows, b_eq=right, bounds=(0, 1), method="highs")
    return a @ found.x[: m * out].reshape(m, out)


@for_each("seed", slow_but(4, range(8)))
def test_of_two_symbols_it_is_above_all_that_both_can_make(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.dirichlet(np.full(3, 0.6), 2), rng.dirichlet(np.full(4, 0.6), 2)
    found = md.meet(a, b)
    assert found.from_first
    assert found.from_second
    for _ in range(4):
        assert md.refines(found.kernel, common(a, b, rng.random((2, 3))), tolerance=1e-7)
    if found.reason.startswith("two"):
        assert not md.refines(found.kernel, a), "the control: what one tells alone is above it"


def test_an_erasure_and_a_flip():
    found = md.meet([[0.5, 0, 0.5], [0, 0.5, 0.5]], [[0.8, 0.2], [0.2, 0.8]])
    expected = np.array([[4, 1, 1], [1, 1, 4]]) / 6
    assert found.kernel.kernel == pytest.approx(expected, abs=1e-12)
    assert "two symbols" in str(found)


def test_kernels_that_tell_nothing_in_common():
    """The one separates a from b, the other half of the time a from both: a size of zero each."""
    found = md.meet([[1, 0], [0, 1]], [[0.5, 0.5], [0.5, 0.5]])
    assert np.ptp(found.kernel.kernel, axis=0).max() == 0
    disjoint = md.meet([[0.5, 0.5, 0], [0, 0.5, 0.5]], [[0.9, 0.1], [0.9, 0.1]])
    assert np.ptp(disjoint.kernel.kernel, axis=0).max() <= 1e-15


def test_a_prior_on_two_symbols_makes_it_well_defined():
    a = [[0.7, 0.3, 0], [0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]
    b = [[0.6, 0.4], [0.1, 0.9], [0.9, 0.1]]
    with pytest.raises(KernelError, match="in general"):
        md.meet(a, b)
    with pytest.warns(md.errors.ZeroMassWarning):
        prior = md.Prior([0.5, 0.5, 0])
    found = md.meet(a, b, prior)
    assert found.kernel.inputs == (0, 1)
    assert found.from_first
    assert found.from_second


def test_partitions_have_their_common_part():
    a = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]])
    b = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]])
    # The classes of b are told by one of two reports each at random, which tells no more.
    b = b @ np.array([[0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    found = md.meet(a, b)
    assert found.kernel.kernel.tolist() == [[1, 0]] * 3 + [[0, 1]] * 2
    assert found.reason == "both kernels are partitions"
    rng = np.random.default_rng(0)
    for _ in range(4):
        assert md.refines(found.kernel, common(a, b, rng.random((5, 3))), tolerance=1e-7)


def test_the_worse_of_two_that_have_an_order():
    strong, weak = (md.randomised_response(md.Prior.uniform(4), e) for e in (2, 1))
    for pair in ((strong, weak), (weak, strong)):
        assert md.meet(*pair).kernel.kernel == pytest.approx(weak.kernel)


# Why there is none in general: the kernels with two outcomes that can be made from A are the points
# of the zonotope {A w : 0 ≤ w ≤ 1}. Were C a greatest kernel below A and B, what can be made from
# both would be what can be made from C, so the intersection of two zonotopes would be one. All
# faces of a zonotope are centrally symmetric.


def halfspaces(kernel):
    corners = np.array(list(itertools.product([0, 1], repeat=kernel.shape[1]))) @ kernel.T
    return ConvexHull(corners).equations


def symmetric_faces(equations):
    """Whether each two-dimensional face of an intersection of halfspaces is symmetric."""
    corners = HalfspaceIntersection(equations, np.full(3, 0.5)).intersections
    corners = np.unique(corners.round(9), axis=0)
    found = []
    for *normal, offset in np.unique(equations.round(9), axis=0):
        face = corners[np.abs(corners @ normal + offset) < 1e-7]
        if len(face) > 2:
            mirrored = face.min(axis=0) + face.max(axis=0) - face
            found.append(all(np.abs(face - point).max(axis=1).min() < 1e-6 for point in mirrored))
    return found


def test_three_symbols_have_no_greatest_kernel_below_two():
    a = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    b = np.array([[0.5, 0.1, 0.4], [0.3, 0.6, 0.1], [0.1, 0.5, 0.4]])
    for kernel in (a, b):
        assert all(symmetric_faces(halfspaces(kernel))), "the control: each is a zonotope"
    both = symmetric_faces(np.vstack([halfspaces(a), halfspaces(b)]))
    assert not all(both)
    with pytest.raises(KernelError, match="no kernel below both is above all others"):
        md.meet(a, b)


def test_bad_input_is_refused():
    with pytest.raises(KernelError, match="same inputs"):
        md.meet([[1, 0], [0, 1]], np.eye(3))
    with pytest.raises(KernelError):
        md.meet([[0.5, 0.6], [0, 1]], np.eye(2))
