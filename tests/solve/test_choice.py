"""Which method is chosen, and what a refusal says."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.errors import NoMethodError, UnknownNameError
from mechdesign.linear.highs import Model
from mechdesign.program.problem import state_problem
from mechdesign.solve.backends import installed_solvers
from mechdesign.solve.choice import choose, find_method, ordered_methods
from mechdesign.solve.closed_form import CLOSED_FORMS

PRIOR = md.Prior([0.5, 0.3, 0.2], labels=["a", "b", "c"])
HAMMING = md.utility.Hamming()
DISTANCE = md.utility.Matrix(-np.abs(np.arange(3)[:, None] - np.arange(3)))
UNIFORM = md.Prior.uniform(4)


def problem(prior, privacy, utility=HAMMING):
    return state_problem(prior, utility, privacy)


@for_each(
    ("prior", "privacy", "method"),
    [
        (md.Prior([1.0]), md.PML(0.1), "unconstrained"),
        (PRIOR, md.LDP(math.inf), "unconstrained"),
        (PRIOR, md.LDP(0), "constant"),
        (PRIOR, md.ALIP(1, 0), "constant"),
        (md.Prior([0.6, 0.4]), [md.PML(1), md.LDP(2)], "binary"),
        (PRIOR, md.PMC(1), "pmc"),
        (PRIOR, md.LIP(1.5), "pmc"),
        (PRIOR, md.PML(0.2), "pml-high-privacy"),
        (PRIOR, md.PML(0.3), "highs-simplex"),
        (PRIOR, md.LDP(0.3), "recognition"),
        (UNIFORM, md.LDP(0.3), "symmetric"),
        (UNIFORM, [md.LDP(0.3), md.LIP(0.2)], "symmetric"),
    ],
)
def test_method(prior, privacy, method):
    choice = choose(problem(prior, privacy))
    assert choice.method.name == method
    assert choice.method.refusal(problem(prior, privacy).program) is None
    assert md.design(prior, HAMMING, privacy).method == method
    assert md.explain(prior, HAMMING, privacy).method.name == method


def test_what_fits_into_no_memory_is_refused_before_it_is_tried(monkeypatch):
    from mechdesign.linear import compiled as linear_program
    from mechdesign.solve.differences import method

    town = md.places.grid((59.29, 17.97, 59.37, 18.15), 3)
    asked = (town.uniform(), town.loss(), town.privacy(1.0, 2000))
    md.design(*asked)
    monkeypatch.setattr(method, "MOST_ARCS", 9 * 8)
    # Pairs with a place half way between them ask nothing more.
    pairs = sum(part.count for part in state_problem(*asked).program.cone.parts)
    assert 9 * 3 < pairs < 9 * 8
    monkeypatch.setattr(linear_program, "MOST_ROWS", 9 * pairs - 1)
    with pytest.raises(
        NoMethodError, match=f"{9 * pairs} rows, more than the {9 * pairs - 1}"
    ) as no:
        md.design(*asked)
    assert "md.places.two_levels" in str(no.value)
    monkeypatch.setattr(linear_program, "MOST_ROWS", 9 * pairs)
    assert md.design(*asked).status == "optimal"


def test_choosing_does_not_solve(monkeypatch):
    def never(*_):
        raise AssertionError("solved")

    monkeypatch.setattr(Model, "run", never)
    assert md.explain(PRIOR, DISTANCE, md.LDP(0.3)).method.name == "highs-simplex"
    with pytest.raises(AssertionError, match="solved"):
        md.design(PRIOR, DISTANCE, md.LDP(0.3))


def test_size_decides_between_the_general_methods():
    """Simplex up to a number of kernel entries, later than every other general method beyond."""
    rng = np.random.default_rng(0)
    most = 600  # 24 by 24 entries are fewer, 25 by 25 more
    for n in (3, 24, 25):
        prior = md.Prior.from_counts(rng.integers(1, 99, n).tolist())
        for privacy in (md.LIP(0.3), md.LDP(0.5), [md.LIP(0.3), md.LDP(0.5)]):
            asked = problem(prior, privacy, md.utility.Distance("absolute"))
            methods = [*ordered_methods(asked.program)][len(CLOSED_FORMS) :]
            general = [m.name for m in methods if m.refusal(asked.program) is None]
            chosen = choose(asked).method.name
            if n * n <= most:
                assert chosen == general[0] == "highs-simplex"
            else:
                assert general[-1] == "highs-simplex"
                assert chosen in general[:-1]


@for_each("solver", ["highs-simplx", "gurobbi", "", None, 3])
def test_unknown_solver(solver):
    with pytest.raises(UnknownNameError, match=r"solver: expected one of .*highs-simplex"):
        md.design(PRIOR, HAMMING, md.PML(0.3), solver=solver)


@pytest.mark.parametrize("utility", [HAMMING, md.utility.TotalVariation()])
def test_refusals_of_sums_over_outcomes_name_the_notion(utility):
    asked = problem(PRIOR, [md.PML(0.5), md.MIPrivacy(0.1)], utility)
    name = "unconstrained" if utility is HAMMING else "reveal-all"
    why = find_method(name).refusal(asked.program)
    assert why.startswith("MIPrivacy(0.1) is not a bound on likelihood ratios")


def test_solver_all_runs_every_method_that_applies():
    found = md.design(UNIFORM, HAMMING, md.PML(0.2), solver="all")
    names = [row.method for row in found.agreement]
    assert names[0] == found.method == "pml-high-privacy"
    assert {"symmetric", "highs-simplex", "highs-ipm"} <= set(names)
    assert all(row.value == pytest.approx(found.value, abs=1e-8) for row in found.agreement)
    assert md.design(UNIFORM, HAMMING, md.PML(0.2)).agreement == ()


def test_solver_all_keeps_going_when_a_method_breaks(monkeypatch):
    from mechdesign.errors import SolverError
    from mechdesign.solve.closed_form import HighPrivacyPML

    def broken(self, program):
        raise SolverError("broke down")

    monkeypatch.setattr(HighPrivacyPML, "solve", broken)
    found = md.design(UNIFORM, HAMMING, md.PML(0.2), solver="all")
    first = found.agreement[0]
    assert (first.method, first.value, first.note) == ("pml-high-privacy", None, "broke down")
    assert found.method == "symmetric"
    assert found.methods_agree
    # Left to choose, the next method takes over; asked for by name, the failure is the answer.
    assert md.design(UNIFORM, HAMMING, md.PML(0.2)).method == "symmetric"
    with pytest.raises(SolverError, match="broke down"):
        md.design(UNIFORM, HAMMING, md.PML(0.2), solver="pml-high-privacy")


def test_a_failed_method_gives_way_as_often_as_there_are_others(monkeypatch):
    from mechdesign.errors import SolverError

    def broken(self, program):
        raise SolverError(f"{self.name} broke down")

    program = problem(UNIFORM, md.PML(0.2)).program
    names = [m.name for m in ordered_methods(program)]
    applying = [name for name in names if not find_method(name).refusal(program)]
    assert len(applying) >= 4
    for name, following in pairwise(applying):
        monkeypatch.setattr(type(find_method(name)), "solve", broken)
        found = md.design(UNIFORM, HAMMING, md.PML(0.2))
        assert found.method == following
        assert found.choice.refusals[name] == "it failed"
    monkeypatch.setattr(type(find_method(applying[-1])), "solve", broken)
    with pytest.raises(SolverError, match=f"{applying[-1]} broke down"):
        md.design(UNIFORM, HAMMING, md.PML(0.2))


@pytest.mark.parametrize("notion", [md.PML(0.4), md.LDP(0.7), md.LIP(0.3)])
def test_solvers_of_cvxpy_by_name(notion):
    pytest.importorskip("cvxpy")
    assert "SCIPY" in installed_solvers()
    exact = md.design(PRIOR, HAMMING, notion)
    for name in ("SCIPY", "scipy"):
        found = md.design(PRIOR, HAMMING, notion, solver=name)
        assert found.certificate.solver == "cvxpy SCIPY"
        assert found.value == pytest.approx(exact.value, abs=1e-9)
        assert found.bound == pytest.approx(exact.value, abs=1e-9)
        assert found.certificate.checks[0].verdict is md.Verdict.YES
