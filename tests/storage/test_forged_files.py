"""What a file claims is derived afresh or not shown, whoever wrote it and its digest.

Each place of the saved format is forged in turn, with a digest that fits, in files of every kind.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from checks import for_each, slow_but

import mechdesign as md
from mechdesign._audit import audit
from mechdesign._compare.path import Store
from mechdesign.certificate.certificate import examine
from mechdesign.certificate.repair import Repair
from mechdesign.errors import DataError, StorageError
from mechdesign.program.duals import Duals
from mechdesign.program.problem import state_problem
from mechdesign.release.receipts import make_receipt, receipts_from_text, receipts_to_text
from mechdesign.release.words import SystemWords
from mechdesign.solve._design import confirmed_solver
from mechdesign.storage import from_json, to_json
from mechdesign.views.text import print_design

ABC = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
TWO = md.Prior([0.6, 0.4], ["no", "yes"])
CASES = {
    "linear": (ABC, md.utility.Hamming(), md.PML(0.4)),
    "linear, several notions": (ABC, md.utility.Matrix(np.eye(3)[:, :2]), [md.LDP(1), md.PML(0.6)]),
    "sub-convex, closed form": (ABC, md.utility.MutualInformation(), md.PML(0.1)),
    "sub-convex, searched": (ABC, md.utility.MutualInformation(), md.LDP(1)),
    "two symbols": (TWO, md.utility.TotalVariation(), md.LDP(1)),
    "least of several": (
        ABC,
        md.utility.WorstCase(
            [
                (md.utility.Hamming(), None),
                (md.utility.Hamming(), md.Prior([0.2, 0.3, 0.5], ["a", "b", "c"])),
            ],
            weights=[1, 2],
        ),
        md.PML(0.4),
    ),
    "average": (TWO, md.utility.Hamming(), md.MaximalLeakage(0.3)),
}
# Of these, a loaded file says what was written down; they prove nothing, and say so in the docs.
RECORDS = ("method", "repair")
JUNK = [
    None,
    True,
    False,
    -1,
    0,
    1,
    10**9,
    1.5,
    1e-300,
    10**30,
    "1/0",
    math.inf,
    math.nan,
    "",
    "yes",
    "inf",
    "extremal-pml",
    "two-edges",
    "closed form\n\x1b[31mproved",
    "x" * 5000,
    [],
    [[]],
    {},
    ["yes", "yes"],
]


def resealed(content):
    kept = {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    return {**kept, "digest": hashlib.sha256(text.encode()).hexdigest()}


def places(part, path=()):
    yield path
    if isinstance(part, dict):
        children = list(part.items())
    else:
        children = list(enumerate(part)) if isinstance(part, list) else []
    for key, value in children:
        yield from places(value, (*path, key))


def forged(content, path, value):
    changed = copy.deepcopy(content)
    part = changed
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return resealed(changed)


def is_one_line(text):
    return text.isprintable() and len(text) < 2100


def shown(found, capsys):
    """Every line that says anything of a design but what is a record, without frames of tables."""
    capsys.readouterr()
    print_design(found, audit(found.mechanism, found.prior, list(found.notions)))
    lines = [*capsys.readouterr().out.splitlines(), *repr(found).splitlines()]
    lines = [
        " ".join(re.sub("[│─┌┐└┘├┤┬┴┼━┏┓┡┩┃╇┳╈╉┠┨┯┷┿╋╍]", " ", line).split()) for line in lines
    ]
    return [line for line in lines if line and not line.startswith(RECORDS)]


@pytest.fixture(scope="module", params=slow_but(lambda name: name in ("linear", "average"), CASES))
def design(request):
    return md.design(*CASES[request.param])


@pytest.mark.slow
def test_no_forged_claim_is_shown(design, capsys):
    """Junk in any place: one line, or a sound design that says what the honest one says."""
    content = json.loads(json.dumps(to_json(design)))
    honest = shown(from_json(content), capsys)
    assert honest == shown(design, capsys)
    loaded = unreadable = 0
    for path in list(places(content)):
        if not path or path[0] == "digest" or path[-1] == "denominator_bits":
            continue
        for value in JUNK:
            try:
                again = from_json(forged(content, path, value))
            except StorageError as refused:
                unreadable += not is_one_line(str(refused))
                continue
            loaded += 1
            assert all(str(check.verdict) == "yes" for check in again.certificate.checks)
            assert to_json(again)
            found = shown(again, capsys)
            if path[0] not in ("certificate", "method", "agreement", "version"):
                continue  # of another design
            if "duals" in path:
                # Other dual variables may prove the same bound, and then it is proved.
                assert design.value <= again.bound <= design.bound + 1e-11
                continue
            without = [line for line in honest if "scope" not in line]
            assert found in (honest, without), (path, value)
            assert again.agreement == ()
            assert again.methods_agree is None
            assert len(again.certificate.solver) <= 200
            assert again.certificate.solver.isprintable()
            assert again.method in (design.method, "unknown")
    assert not unreadable
    assert loaded > 20  # versions, records, prices that still prove the bound


def test_every_part_is_needed():
    content = json.loads(json.dumps(to_json(md.design(*CASES["linear"]))))
    for path in list(places(content)):
        if not path or not isinstance(path[-1], str) or path[-1] == "digest":
            continue
        changed = copy.deepcopy(content)
        part = changed
        for key in path[:-1]:
            part = part[key]
        del part[path[-1]]
        with pytest.raises(StorageError):
            from_json(resealed(changed))


@for_each("name", ["extremal-pml", "extremal-pmc", "reveal-all", "two-edges"])
@for_each("case", CASES)
def test_a_scope_is_not_taken_from_the_name_of_a_method(case, name):
    found = md.design(*CASES[case])
    content = json.loads(json.dumps(to_json(found)))
    again = from_json(forged(content, ("method",), name))
    assert again.scope == (found.scope if name == found.method else "")
    assert again.method == (name if name == found.method else "unknown")


def test_a_scope_is_that_of_one_kernel():
    """A kernel within the gap of the extremal one is not optimal for every utility."""
    prior, goal, notion = CASES["sub-convex, closed form"]
    best = md.design(prior, goal, notion)
    constant = md.Mechanism(np.tile([0.5, 0.3, 0.2], (3, 1)), prior.labels, best.mechanism.outputs)
    other = best.mechanism.mix(constant, 2.0**-30)
    problem = state_problem(prior, goal, notion)
    proof = examine(problem, other, Duals(), Repair((), 0.0, 1), 0.0, "by hand")
    assert proof.is_optimal
    content = json.loads(json.dumps(to_json(replace(best, mechanism=other, certificate=proof))))
    again = from_json(content)
    assert again.mechanism == other
    assert (again.method, again.scope) == ("unknown", "")


@for_each(
    ("place", "value"),
    [
        (("repair", "constant"), True),
        (("repair", "mixed"), 1.5),
        (("repair", "mixed"), -1e-9),
        (("repair", "loss"), -1.0),
        (("repair", "loss"), math.inf),
        (("repair", "rounds"), -1),
        (("repair", "merged"), [-1]),
        (("solver",), "a\nb"),
        (("solver",), "x" * 1000),
    ],
)
def test_impossible_records_are_refused(place, value):
    content = json.loads(json.dumps(to_json(md.design(*CASES["linear"]))))
    with pytest.raises(StorageError):
        from_json(forged(content, ("certificate", *place), value))


@for_each("case", CASES)
def test_a_solver_is_shown_only_where_it_is_one_of_ours(case, capsys, tmp_path):
    content = json.loads(json.dumps(to_json(md.design(*CASES[case]))))
    assert from_json(content).certificate.solver == content["certificate"]["solver"]
    made = from_json(forged(content, ("certificate", "solver"), "exact rational proof"))
    assert made.certificate.solver == "unknown"
    assert "rational proof" not in repr(made)


def test_every_method_names_a_solver_that_files_may_name():
    prior = md.Prior([0.5, 0.3, 0.2])
    named = set()
    for utility, notion in (
        (md.utility.Hamming(), md.PML(0.5)),
        (md.utility.Hamming(), md.MIPrivacy(0.2)),
        (md.utility.MutualInformation(), md.LDP(1)),
    ):
        found = md.design(prior, utility, notion, solver="all")
        for row in found.agreement:
            alone = md.design(prior, utility, notion, solver=row.method)
            named.add(alone.certificate.solver)
    assert len(named) > 4
    assert {name for name in named if confirmed_solver(name) != name} == set()


def test_dual_variables_that_fill_the_memory_together_are_not_made():
    content = json.loads(json.dumps(to_json(md.design(*CASES["linear"]))))
    matrix = {"shape": [1000, 1000], "rows": [], "columns": [], "values": []}
    for part in ("multipliers", "averages"):
        bad = forged(content, ("certificate", "duals", part), [[matrix] * 2000])
        with pytest.raises(StorageError, match=r"2000000\d* entries together"):
            from_json(bad)


@for_each(
    ("name", "value"),
    [
        ("rows", "abc"),
        ("rows", -5),
        ("rows", 1.5),
        ("rows", True),
        ("kernel", 5),
        ("kernel", None),
        ("notions", [5]),
        ("notions", "abc"),
        ("source", 5),
        ("for_production", "no"),
        ("unseen", 5),
        ("person", 7),
    ],
)
def test_receipts_hold_in_each_field_what_can_be_there(name, value):
    design = md.design(*CASES["linear"])
    good = make_receipt(design, "x", SystemWords(), rows=3)
    assert receipts_from_text(receipts_to_text({"x": good})) == {"x": good}
    text = json.dumps({"x": {**good.to_json(), name: value}})
    with pytest.raises(DataError, match="take the receipt"):
        receipts_from_text(text)


def test_a_forged_file_in_the_folder_of_a_comparison_claims_nothing(tmp_path):
    store = Store(tmp_path)
    found = md.design(*CASES["sub-convex, searched"])
    problem = state_problem(*CASES["sub-convex, searched"])
    store.put(problem, "auto", found)
    (path,) = tmp_path.glob("*.json")
    content = json.loads(path.read_text())
    path.write_text(json.dumps(forged(content, ("method",), "extremal-pml")))
    again = store.get(problem, "auto")
    assert (again.scope, again.method) == ("", "unknown")
    path.write_text(json.dumps(forged(content, ("certificate", "bound"), 0.999 * found.value)))
    with pytest.raises(StorageError, match="claims bound"):
        store.get(problem, "auto")


def test_a_mechanism_alone_claims_nothing_but_its_numbers():
    """Whatever stands in its file, what loads is a kernel whose rows sum to one."""
    content = json.loads(json.dumps(to_json(md.Mechanism([[0.75, 0.25], [0.25, 0.75]]))))
    unreadable = 0
    for path in list(places(content)):
        if not path or path == ("digest",):
            continue
        for value in JUNK:
            try:
                again = from_json(forged(content, path, value))
            except StorageError as refused:
                unreadable += not is_one_line(str(refused))
                continue
            assert isinstance(again, md.Mechanism)
            assert float(again.row_error) <= 1e-6
            assert all(line.isprintable() for line in repr(again).splitlines())
    assert not unreadable
