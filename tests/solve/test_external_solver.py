"""Methods from outside: an object passed as ``solver=``, which is trusted in nothing."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from checks import for_each, refused
from scipy.optimize import linprog

import mechdesign as md
from mechdesign.errors import CertificateError, GapWarning, NoMethodError, SolverError
from mechdesign.solve import (
    LINEAR,
    SUBLINEAR,
    Candidate,
    Duals,
    Method,
    compile_program,
)

PRIOR = md.Prior([0.5, 0.3, 0.2], labels=["a", "b", "c"])
HAMMING = md.utility.Hamming()
NOTIONS = [md.PML(0.4), md.LDP(0.7), md.LIP(0.3), md.DP(0.5, [("a", "b"), ("b", "c")])]
each_notion = for_each("notion", NOTIONS)


class SciPy(Method):
    """The sparse program on SciPy: what somebody would write for a solver of their own."""

    name = "scipy"
    reason = "asked for by an object"
    features = LINEAR

    def solve(self, program):
        compiled = compile_program(program)
        found = linprog(
            -compiled.cost,
            compiled.below if compiled.below.shape[0] else None,
            compiled.right if compiled.below.shape[0] else None,
            compiled.equal,
            np.ones(compiled.equal.shape[0]),
        )
        if found.status:
            raise SolverError(found.message)
        kernel, duals = compiled.invert(found.x, -found.eqlin.marginals, -found.ineqlin.marginals)
        return Candidate(kernel, duals, "SciPy")


class Edited(SciPy):
    """SciPy's answer, with something done to it."""

    name = "edited"

    def __init__(self, edit):
        self.edit = edit

    def solve(self, program):
        found = super().solve(program)
        return Candidate(*self.edit(program, found.kernel, found.duals), "SciPy, edited")


@each_notion
def test_a_kernel_that_is_not_private_is_repaired(notion):
    def tell_all(program, kernel, duals):
        return np.eye(3), duals

    def a_little(program, kernel, duals):
        return 0.999 * kernel + 0.001 * np.eye(3), duals

    best = md.design(PRIOR, HAMMING, notion)
    for edit in (tell_all, a_little):
        with pytest.warns(GapWarning):
            found = md.design(PRIOR, HAMMING, notion, solver=Edited(edit))
        assert found.certificate.checks[0].verdict is md.Verdict.YES
        assert notion.check(found.mechanism, PRIOR).verdict is md.Verdict.YES
        assert found.certificate.repair.mixed > 0
        assert found.value <= best.bound
        # The dual variables were good: the gap is what the repair cost.
        assert found.bound == pytest.approx(best.bound, abs=1e-8)


@for_each(
    ("kernel", "message"),
    [
        (np.full((3, 3), np.nan), "not finite"),
        (np.zeros((3, 3)), "sums to 0"),
        (-np.eye(3), "sums to 0"),
        (np.full((3, 3), 1e308), "sum is not finite"),
    ],
)
def test_a_kernel_without_usable_numbers_is_refused(kernel, message):
    with pytest.raises(CertificateError, match=message) as caught:
        md.design(PRIOR, HAMMING, md.LDP(1), solver=Edited(lambda program, k, d: (kernel, d)))
    assert "\n" not in str(caught.value)


@for_each(
    "duals",
    [
        Duals(np.zeros(4)),
        Duals(multipliers=()),
        Duals(multipliers=((np.zeros((3, 3)),),)),
        Duals(sums=((np.zeros((1, 1)),),)),
        Duals(np.array([1, None, 2])),
        Duals(multipliers=3),
        Duals(sums=3),
    ],
)
def test_dual_variables_of_other_shapes_are_an_error_in_one_line(duals):
    with pytest.raises(CertificateError, match="dual variables of other shapes") as caught:
        md.design(PRIOR, HAMMING, md.LDP(1), solver=Edited(lambda program, k, d: (k, duals)))
    assert "\n" not in str(caught.value)


@for_each(
    "kernel", [None, "abc", [["1", "0", "0"]] * 3, np.eye(3) * 1j, [[1], [1, 2], [3]], np.eye(4)]
)
def test_a_kernel_that_holds_no_numbers_is_an_error_in_one_line(kernel):
    with pytest.raises(CertificateError, match=r"a kernel of shape .* and type") as caught:
        md.design(PRIOR, HAMMING, md.LDP(1), solver=Edited(lambda program, k, d: (kernel, d)))
    assert "\n" not in str(caught.value)


@for_each("answer", [None, np.eye(3), (np.eye(3), Duals()), Candidate(np.eye(3), None, "")])
def test_an_answer_that_is_no_candidate_is_an_error_in_one_line(answer):
    class Odd(SciPy):
        name = "odd"

        def solve(self, program):
            return answer

    with pytest.raises(SolverError, match="method odd: expected a Candidate with Duals") as caught:
        md.design(PRIOR, HAMMING, md.LDP(1), solver=Odd())
    assert "\n" not in str(caught.value)


def test_a_method_that_does_not_say_what_it_is():
    class Nameless(Method):
        features = LINEAR

        def solve(self, program):
            raise AssertionError("solved")

    class Silent(Nameless):
        name = "silent"
        features = None

    for method, missing in ((Nameless(), "name"), (Silent(), "features")):
        for call in (md.explain, md.design):
            ask = partial(call, PRIOR, HAMMING, md.LDP(1), solver=method)
            refused(ask, f"got one without {missing}", "mechdesign.solve.LINEAR")


def scaled(program, kernel, duals):
    parts = tuple(tuple(3 * w for w in part) for part in duals.multipliers)
    return kernel, Duals(0.5 * duals.prices, parts)


def flipped(program, kernel, duals):
    parts = tuple(tuple(-w for w in part) for part in duals.multipliers)
    return kernel, Duals(-duals.prices, parts)


def none_at_all(program, kernel, duals):
    return kernel, Duals()


def not_finite(program, kernel, duals):
    parts = tuple(tuple(np.full_like(w, np.nan) for w in part) for part in duals.multipliers)
    return kernel, Duals(np.full_like(duals.prices, np.inf), parts)


@each_notion
@for_each("edit", [scaled, flipped, none_at_all, not_finite])
def test_wrong_dual_variables_only_lose_the_bound(notion, edit):
    best = md.design(PRIOR, HAMMING, notion)
    with pytest.warns(GapWarning):
        found = md.design(PRIOR, HAMMING, notion, solver=Edited(edit))
    assert found.value == pytest.approx(best.value, abs=1e-8)
    assert found.bound >= best.bound - 1e-9
    assert found.bound > found.value + 1e-6


@pytest.mark.parametrize("price", [1e308, -1e308, 1e300])
def test_prices_beyond_floats_only_lose_the_bound(price):
    class Pricing(Method):
        name = "pricing"
        features = SUBLINEAR

        def solve(self, program):
            return Candidate(program.constant_kernel, Duals(np.full(3, price)), "nothing")

    utility = md.utility.MutualInformation()
    for notion in NOTIONS:
        with pytest.warns(GapWarning):
            found = md.design(PRIOR, utility, notion, solver=Pricing())
        assert found.bound >= md.design(PRIOR, utility, notion).value


def test_an_object_may_refuse():
    class Sublinear(SciPy):
        features = SUBLINEAR

    class Picky(SciPy):
        def condition(self, program):
            return f"{len(program.prior)} symbols are too many for it"

    for method, why in (
        (Sublinear(), "does not solve linear utilities"),
        (Picky(), "3 symbols are too many for it"),
    ):
        for call in (md.explain, md.design):
            with pytest.raises(NoMethodError, match=why):
                call(PRIOR, HAMMING, md.LDP(1), solver=method)
    with pytest.raises(NoMethodError, match="does not solve sub-convex utilities"):
        md.design(PRIOR, md.utility.MutualInformation(), md.LDP(1), solver=SciPy())


@for_each(
    ("solver", "message"),
    [
        (SciPy, r"expected one of SciPy\(\), got 'the class SciPy'"),
        (Method, "the class Method"),
        (object(), "solver: expected one of"),
        (lambda program: None, "solver: expected one of"),
        (None, "solver: expected one of"),
        ([SciPy()], "solver: expected one of"),
    ],
)
def test_what_is_no_method_is_an_error_in_one_line(solver, message):
    for call in (md.explain, md.design):
        with pytest.raises(md.errors.UnknownNameError, match=message) as caught:
            call(PRIOR, HAMMING, md.LDP(1), solver=solver)
        assert "\n" not in str(caught.value)
