"""Methods from outside: an object passed as ``solver=``, which is trusted in nothing."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from checks import for_each, refused
from scipy.optimize import linprog

import mechdesign as md
from mechdesign.errors import CertificateError, GapWarning, NoMethodError, SolverError
from mechdesign.privacy.constraint import Rounding
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
def test_an_object_is_explained_and_designs(notion):
    chosen = md.explain(PRIOR, HAMMING, notion, solver=SciPy())
    assert chosen.method.name == "scipy"
    assert "why: asked for by an object" in str(chosen)
    found = md.design(PRIOR, HAMMING, notion, solver=SciPy())
    assert (found.method, found.certificate.solver, found.status) == ("scipy", "SciPy", "optimal")
    assert found.value == pytest.approx(md.design(PRIOR, HAMMING, notion).value, abs=1e-8)


def test_a_sweep_takes_one(tmp_path):
    path = md.sweep(PRIOR, HAMMING, [md.LDP(e) for e in (0.2, 0.4)], solver=SciPy())
    assert [found.method for found in path] == ["scipy", "scipy"]
    # What it found is a design like any other, but its name means nothing to a reader of files.
    md.save(path[0], tmp_path / "design.json")
    again = md.load(tmp_path / "design.json")
    assert again.mechanism == path[0].mechanism
    assert (again.value, again.bound) == (path[0].value, path[0].bound)
    assert again.method != "scipy"


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


@for_each("shape", [(3, 2), (2, 3), (9,), (4, 4)])
def test_a_kernel_of_another_shape_is_an_error_in_one_line(shape):
    kernel = np.full(shape, 1 / shape[-1])
    with pytest.raises(CertificateError, match="a kernel of shape") as caught:
        md.design(PRIOR, HAMMING, md.LDP(1), solver=Edited(lambda program, k, d: (kernel, d)))
    assert "\n" not in str(caught.value)


@for_each(
    "duals",
    [
        Duals(np.zeros(4)),
        Duals(np.zeros((3, 1))),
        Duals(multipliers=()),
        Duals(multipliers=((np.zeros((3, 3)),),)),
        Duals(multipliers=((np.zeros((3, 3)), np.zeros((3, 2))),)),
        Duals(sums=((np.zeros((1, 1)),),)),
        Duals(["1", "2", "3"]),
        Duals(np.array([1, None, 2])),
        Duals(1j * np.ones(3)),
        Duals(multipliers=3),
        Duals(multipliers=(3,)),
        Duals(multipliers=((np.full((3, 3), None), np.zeros((3, 3))),)),
        Duals(sums=3),
    ],
)
def test_dual_variables_of_other_shapes_are_an_error_in_one_line(duals):
    with pytest.raises(CertificateError, match="dual variables of other shapes") as caught:
        md.design(PRIOR, HAMMING, md.LDP(1), solver=Edited(lambda program, k, d: (k, duals)))
    assert "\n" not in str(caught.value)


@for_each(
    "kernel", [None, "abc", [["1", "0", "0"]] * 3, np.eye(3) * 1j, [[1], [1, 2], [3]], iter("abc")]
)
def test_a_kernel_that_holds_no_numbers_is_an_error_in_one_line(kernel):
    with pytest.raises(CertificateError, match=r"a kernel of shape .* and type") as caught:
        md.design(PRIOR, HAMMING, md.LDP(1), solver=Edited(lambda program, k, d: (kernel, d)))
    assert "\n" not in str(caught.value)


def test_numbers_may_come_as_lists(tmp_path):
    def listed(program, kernel, duals):
        parts = ([w.tolist() for w in part] for part in duals.multipliers)
        return kernel.tolist(), Duals(duals.prices.tolist(), parts)

    best = md.design(PRIOR, HAMMING, md.PML(0.4), solver=SciPy())
    found = md.design(PRIOR, HAMMING, md.PML(0.4), solver=Edited(listed))
    assert (found.mechanism, found.bound) == (best.mechanism, best.bound)
    md.save(found, tmp_path / "design.json")
    assert md.load(tmp_path / "design.json").bound == best.bound


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


@for_each("notion", [md.MaximalLeakage(0.3), md.MaximalCostLeakage(0.3)])
@for_each("numbers", [np.array([3.0, 0, 0]), np.ones((1, 1)), 2.0, None])
def test_dual_variables_of_sums_of_other_shapes_prove_nothing(notion, numbers):
    """As many numbers as symbols, and as outputs, would stand at the wrong ones."""

    class Summing(Edited):
        features = LINEAR | {"sums"}

    method = Summing(lambda program, k, d: (k, Duals(sums=((numbers,),))))
    for solver in (method, Summing(lambda program, k, d: (k, Duals(sums=((),))))):
        with pytest.raises(CertificateError, match=r"shapes|minorants") as caught:
            md.design(PRIOR, HAMMING, notion, solver=solver)
        assert "\n" not in str(caught.value)


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


def test_an_object_for_informations():
    class Constant(Method):
        name = "constant kernel"
        features = SUBLINEAR

        def solve(self, program):
            return Candidate(program.constant_kernel, Duals(), "nothing")

    with pytest.warns(GapWarning):
        found = md.design(PRIOR, md.utility.MutualInformation(), md.LDP(1), solver=Constant())
    best = md.design(PRIOR, md.utility.MutualInformation(), md.LDP(1))
    assert found.value == 0
    assert found.bound >= best.value


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


def test_a_solver_sees_rows_inside_the_level():
    """What it is given is stricter than the level by less than anybody can see."""
    seen = []

    class Watching(SciPy):
        def solve(self, program):
            seen.append(program)
            return super().solve(program)

    md.design(PRIOR, HAMMING, md.PML(0.4), solver=Watching())
    (program,) = seen
    inside, outside = (program.cone.two_sided(rounding) for rounding in Rounding)
    assert inside.upper < outside.upper < inside.upper * (1 + 1e-12)
