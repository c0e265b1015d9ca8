"""The least of several utilities: agreement with dense programs, honest bounds, files, texts.

The adversary: a mixture that is wrong and would prove too little, a value that hides the symbol
that is served least, and a file that claims a better optimum than its mixture proves.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import naive
import numpy as np
import pytest
from checks import for_each, refused, slow_but
from dense_programs import SUMS
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_check import pairs_of
from plain_requirements import random_case
from random_designs import MAKERS
from scipy.optimize import linprog
from strategies import random_gains, random_level, random_masses

import mechdesign as md
from mechdesign.arguments import read_utility
from mechdesign.certificate import verify
from mechdesign.certificate.bounds import least_bound
from mechdesign.errors import InfeasibleError, InputError, StorageError, UtilityError
from mechdesign.program.duals import Duals
from mechdesign.program.problem import state_problem
from mechdesign.storage import from_json, seal, to_json
from mechdesign.utility import Distance, Hamming, Matrix, WorstCase

ABC = md.Prior([0.5, 0.3, 0.2], [0, 1, 2])


def dense_optimum(costs, rows, limits=()):
    """max_K min_i Σ c_ixy K_xy, columns with ``row @ k <= 0``, by one dense program."""
    n, m = costs[0].shape
    size = n * m + 1
    below, right = [], []
    for cost in costs:
        below.append(np.append(-cost.ravel(), 1.0))
        right.append(0.0)
    for cost, least in limits:
        below.append(np.append(-cost.ravel(), 0.0))
        right.append(-least)
    for row in rows:
        for y in range(m):
            line = np.zeros(size)
            line[y : n * m : m] = row
            below.append(line)
            right.append(0.0)
    sums = np.zeros((n, size))
    for x in range(n):
        sums[x, x * m : (x + 1) * m] = 1.0
    found = linprog(
        np.append(np.zeros(n * m), -1.0),
        A_ub=np.array(below),
        b_ub=right,
        A_eq=sums,
        b_eq=np.ones(n),
        bounds=[(0, None)] * (n * m) + [(None, None)],
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0, found.message
    return -float(found.fun), found.x[:-1].reshape(n, m)


def random_case_of(rng, prior, labels):
    """A worst case of one of its forms, and its costs c_ixy by hand."""
    n, m = len(prior), len(labels)
    p = prior.probabilities
    kind = int(rng.integers(4))
    gains = [random_gains(rng, n, m) for _ in range(int(rng.integers(1, 4)))]
    if kind == 0:
        costs = [np.eye(n)[x][:, None] * gains[0] for x in range(n)]
        return WorstCase.symbols(Matrix(gains[0], labels)), costs
    if kind == 1:
        uses = [md.Prior(rng.dirichlet(np.ones(n)), prior.labels) for _ in range(3)]
        costs = [use.probabilities[:, None] * gains[0] for use in uses]
        return WorstCase(Matrix(gains[0], labels), priors=uses), costs
    utilities = [Matrix(u, labels) for u in gains]
    if kind == 2:
        return WorstCase(utilities), [p[:, None] * u for u in gains]
    weights = rng.uniform(0.1, 10, len(gains)).tolist()
    costs = [w * p[:, None] * u for w, u in zip(weights, gains, strict=True)]
    return WorstCase(utilities, weights=weights), costs


def assert_agrees(found, costs, rows):
    best, _ = dense_optimum(costs, rows)
    scale = max(float(np.abs(c).sum()) for c in costs)
    assert found.value == pytest.approx(best, rel=0, abs=1e-7 * scale)
    assert found.bound == pytest.approx(best, rel=0, abs=1e-7 * scale)
    assert found.status == "optimal"
    least = min(float((c * found.mechanism.kernel).sum()) for c in costs)
    assert found.value == pytest.approx(least, rel=0, abs=1e-12 * scale)


@for_each("number", slow_but(2, range(20)))
@for_each("name", [name for name in MAKERS if name not in SUMS])
def test_agrees_with_a_dense_program(name, number):
    rng = np.random.default_rng([71, list(MAKERS).index(name), number])
    case = random_case(rng, (name,), (), most=4)
    utility, costs = random_case_of(rng, case.prior, ["a", "b", "c"])
    pairs = pairs_of(case.asked[0], list(case.masses))
    rows = [math.exp(-e) * np.array(mu, float) - np.array(nu, float) for mu, nu, e in pairs]
    assert_agrees(md.design(case.prior, utility, case.notions[0]), costs, rows)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1, 1e6), min_size=3, max_size=3), st.floats(0.1, 2))
def test_any_mixture_gives_a_true_bound(mixture, level):
    utility = WorstCase(
        [Hamming(), Distance("absolute"), Matrix([[1, 0, 2], [0, 3, 0], [1, 1, 1]])]
    )
    problem = state_problem(ABC, utility, md.PML(level))
    found = md.design(ABC, utility, md.PML(level))
    duals = found.certificate.duals
    for wrong in (replace(duals, mixture=np.array(mixture)), Duals(mixture=np.array(mixture))):
        bound, _ = least_bound(problem.program, wrong)
        assert bound >= problem.enclose(found.mechanism).low
    assert float(least_bound(problem.program, duals)[0]) <= found.bound


def test_the_value_is_exact():
    uses = [md.Prior([Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]), md.Prior([0.1, 0.2, 0.7])]
    utility = WorstCase(Hamming(), priors=uses, weights=[0.7, 1.3])
    found = md.design(ABC, utility, md.LDP(1))
    problem = state_problem(ABC, utility, md.LDP(1))
    mechanism = found.mechanism
    by_hand = min(
        Fraction(w) * sum(use.mass(x) * int(mechanism.weights[x, x]) for x in range(3))
        for w, use in zip([0.7, 1.3], uses, strict=True)
    ) / (1 << mechanism.bits)
    assert problem.enclose(mechanism).low == by_hand
    assert utility.value(mechanism, ABC) == pytest.approx(float(by_hand), abs=1e-15)


def test_gains_far_from_zero():
    rng = np.random.default_rng(4)
    u = rng.random((3, 3))
    near = md.design(ABC, WorstCase([Matrix(u), Hamming()]), md.LDP(1))
    far = md.design(ABC, WorstCase([Matrix(u + 2.0**30), Matrix(np.eye(3) + 2.0**30)]), md.LDP(1))
    assert far.gap < 1e-9
    assert far.value - 2.0**30 == pytest.approx(near.value, abs=1e-6)


def test_symbols_of_zero_mass_get_the_row_that_serves_them():
    with pytest.warns(UserWarning, match="zero"):
        prior = md.Prior([0.5, 0.5, 0.0])
    found = md.design(prior, WorstCase.symbols(Hamming()), md.PML(0.3))
    assert found.status == "optimal"
    assert list(found.utility.served(found.mechanism, prior)) == ["0", "1"]
    rows = found.mechanism.kernel
    assert rows[2] in rows[:2]


def test_goals_are_reached_or_refused():
    two = [Hamming(), Distance("absolute")]
    free = md.design(ABC, WorstCase(two), md.LDP(1))
    first = free.utility.served(free.mechanism, ABC)["hamming"]
    held = md.design(ABC, WorstCase(two, goals=[first - 0.01, None]), md.LDP(1))
    assert held.value == pytest.approx(free.value, abs=1e-9)
    rows = naive.ldp_rows(ABC.probabilities, 1)
    best = md.design(ABC, Hamming(), md.LDP(1)).value
    goal = (first + best) / 2 if best > first + 1e-6 else best
    asked = WorstCase(two, weights=[1, 0.1], goals=[goal, None])
    found = md.design(ABC, asked, md.LDP(1))
    hamming = ABC.probabilities[:, None] * np.eye(3)
    distance = -ABC.probabilities[:, None] * abs(np.subtract.outer(range(3), range(3)))
    costs = [hamming, 0.1 * distance]
    assert found.value == pytest.approx(dense_optimum(costs, rows, [(hamming, goal)])[0], abs=1e-7)
    assert found.certificate.kept[0].excess <= 0
    with pytest.raises(InfeasibleError, match=r"utility 1 is at least 0\.99"):
        md.design(ABC, WorstCase(two, goals=[0.99, None]), md.LDP(1))


@for_each("number", slow_but(4, range(10)))
def test_refinement_raises_the_others_in_order(number):
    rng = np.random.default_rng([74, number])
    n = 4
    p = random_masses(rng, n, "dirichlet")
    prior = md.Prior.from_counts(p)
    u = random_gains(rng, n, n)
    level = random_level(rng, 0.2, 2)
    plain = md.design(prior, WorstCase.symbols(Matrix(u)), md.LDP(level))
    found = md.design(prior, WorstCase.symbols(Matrix(u), refine=True), md.LDP(level))
    assert found.value == pytest.approx(plain.value, abs=1e-7)
    assert found.status == "optimal"
    first = sorted(plain.utility.served(plain.mechanism, prior).values())
    then = sorted(found.utility.served(found.mechanism, prior).values())
    different = [i for i in range(n) if abs(first[i] - then[i]) > 1e-6]
    assert not different or then[different[0]] > first[different[0]]
    # The second stage by a dense program: the least of the others with the first ones held.
    rows, least = naive.ldp_rows(p, level), then[0]
    costs = [np.eye(n)[x][:, None] * u for x in range(n)]
    top = [dense_optimum([c], rows, [(d, least - 1e-8) for d in costs])[0] for c in costs]
    free = [c for c, t in zip(costs, top, strict=True) if t > least + 1e-5]
    if free and len(free) < n:
        held = [(c, least - 1e-8) for c in costs]
        second = dense_optimum(free, rows, held)[0]
        assert then[n - len(free)] == pytest.approx(second, abs=1e-5)


def test_saved_and_loaded(tmp_path):
    uses = [md.Prior([0.2, 0.3, 0.5]), md.Prior([0.6, 0.2, 0.2])]
    for utility in (
        WorstCase([Hamming(), Distance("absolute")], weights=[1, 0.1], goals=[None, -0.9]),
        WorstCase(Matrix(np.eye(3)), priors=uses),
        WorstCase.symbols(Distance("squared"), refine=True),
    ):
        found = md.design(ABC, utility, md.PML(0.5))
        md.save(found, tmp_path / "w.json", overwrite=True)
        again = md.load(tmp_path / "w.json")
        assert again.utility.spec.partition(":")[0] == utility.spec.partition(":")[0]
        assert (again.value, again.bound, again.gap) == (found.value, found.bound, found.gap)
        assert again.mechanism == found.mechanism
        assert again.requirements == found.requirements
        assert again.method == found.method


def test_a_tampered_mixture_is_refused():
    found = md.design(ABC, WorstCase([Hamming(), Distance("absolute")]), md.PML(0.5))
    saved = to_json(found)
    for wrong in ([0.9, 0.1], [1.0], [math.nan, 1.0], "x", [[1.0, 0.0]]):
        forged = {**saved, "certificate": {**saved["certificate"]}}
        forged["certificate"]["duals"] = {**saved["certificate"]["duals"], "mixture": wrong}
        with pytest.raises(StorageError):
            from_json(seal(forged))
    better = {**saved, "certificate": {**saved["certificate"], "bound": found.bound - 1e-3}}
    with pytest.raises(StorageError, match="bound"):
        from_json(seal(better))
    assert from_json(saved).bound == found.bound


@pytest.mark.parametrize("each", [False, True])
def test_the_checker_of_files_proves_and_refutes_it(each):
    several = WorstCase(
        [Hamming(), (Distance("absolute"), md.Prior([0.2, 0.3, 0.5]))], weights=[1, 2]
    )
    found = md.design(ABC, WorstCase.symbols(Hamming()) if each else several, md.PML(0.5))

    def said(change):
        content = json.loads(json.dumps(to_json(found)))
        change(content)
        report = verify.check(json.dumps(seal(content)).encode())
        return {claim["claim"]: claim["state"] for claim in report.claims}

    honest = said(lambda content: None)
    assert {name for name, state in honest.items() if state != verify.PROVED} == {"gain_gap"}

    def put(*path, value):
        def change(content):
            for key in path[:-1]:
                content = content[key]
            content[path[-1]] = value

        return change

    loose = said(put("certificate", "duals", "mixture", value=[1.0] + [0.0] * (2 if each else 1)))
    assert loose["bound"] == verify.OPEN
    for wrong in (
        put("utility", "parts", -1, "utility", "gains", 0, 0, value=0.9),
        put("certificate", "value", value=found.value + 1e-6),
        put("certificate", "value_exact", value="3/5"),
        put("certificate", "bound_exact", value="-5"),
        put("certificate", "gap", value=0.0),
    ):
        assert verify.REFUTED in said(wrong).values()
    for strange in (
        put("utility", "parts", value=[]),
        put("certificate", "duals", "mixture", value=[1.0]),
    ):
        with pytest.raises(verify.UnreadableError):
            said(strange)
    if not each:
        assert said(put("utility", "parts", 0, "goal", value=0.1))["goal 1"] == verify.PROVED
        assert said(put("utility", "parts", 0, "goal", value=0.99))["goal 1"] == verify.REFUTED
    if not each:
        heavier = said(put("utility", "parts", 1, "weight", value=3.0))
        assert heavier["value"] == verify.REFUTED
        other = to_json(md.design(ABC, WorstCase(Hamming(), priors=[ABC]), md.PML(0.5)))
        use = other["utility"]["parts"][0]["prior"]
        assert said(put("utility", "parts", 1, "prior", value=use))["value"] == verify.REFUTED


@for_each(
    "text",
    [
        "worst:hamming+distance:absolute",
        "worst:hamming+0.1*distance:absolute>=-2",
        "worst:hamming@0=0.2,1=0.3,2=0.5+2*hamming@0=0.6,1=0.2,2=0.2>=0.25",
        "worst-symbol:hamming",
        "worst-symbol-refined:distance:squared",
        "worst-refined:hamming+1e-05*distance:squared",
    ],
)
def test_texts_name_it(text):
    utility = read_utility(text, ABC)
    assert utility.spec == text
    assert read_utility(utility.spec, ABC).spec == text
    assert md.design(ABC, utility, md.PML(1)).status == "optimal"


@for_each(
    "text",
    [
        "worst:",
        "worst:mutual-information",
        "worst-symbol:2*hamming",
        "worst-symbol:hamming>=0.2",
        "worst:nan*hamming",
    ],
)
def test_texts_that_name_nothing(text):
    with pytest.raises(InputError):
        md.design(ABC, read_utility(text, ABC), md.PML(1))


def test_what_is_refused():
    refused(lambda: WorstCase([]), "at least one", error=UtilityError)
    refused(lambda: WorstCase([md.utility.MutualInformation()]), "linear", error=UtilityError)
    refused(lambda: WorstCase(Hamming(), priors=[1]), "prior of use", error=UtilityError)
    refused(lambda: WorstCase([Hamming()], priors=[ABC]), "pairs", error=UtilityError)
    refused(lambda: WorstCase([Hamming()], weights=[0]), "weights", error=UtilityError)
    (part,) = WorstCase([Hamming()], weights=[Fraction(1, 2)], goals=[np.float32(0.5)]).parts
    assert (part.weight, part.goal) == (0.5, 0.5)
    # A prior of use would be forgotten there.
    refused(lambda: WorstCase.symbols((Hamming(), ABC)), "one linear", error=UtilityError)
    information = md.utility.MutualInformation()
    refused(lambda: WorstCase.symbols(information), "one linear", error=UtilityError)
    other = WorstCase(Hamming(), priors=[md.Prior([0.5, 0.5], ["x", "y"])])
    refused(lambda: md.design(ABC, other, md.PML(1)), "prior of use", error=UtilityError)
    mixed = WorstCase([Hamming(), Matrix(np.eye(3), ["u", "v", "w"])])
    refused(lambda: md.design(ABC, mixed, md.PML(1)), "outputs", error=UtilityError)
    with pytest.warns(UserWarning, match="zero"):
        prior = md.Prior([0.5, 0.5, 0.0])
    use = WorstCase(Hamming(), priors=[md.Prior([0.2, 0.3, 0.5])])
    refused(lambda: md.design(prior, use, md.PML(1)), "mass 0.5", error=UtilityError)
    found = md.design(ABC, WorstCase.symbols(Hamming()), md.PML(1))
    refused(lambda: md.binding(found), "least of several")


def test_methods_that_cannot_say_so():
    choice = md.explain(ABC, WorstCase.symbols(Hamming()), md.LDP(1))
    assert choice.method.name == "highs-simplex"
    assert "the least of several utilities" in str(choice)
