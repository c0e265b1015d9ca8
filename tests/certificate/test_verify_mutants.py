"""The tests of the checker see mistakes that are put into it, one at a time.

Mistakes are comparisons turned round, ``and`` and ``or`` exchanged, ``not`` left out, and
statements dropped: guards, claims, additions.
"""

from __future__ import annotations
import __future__

import ast
import copy
import cProfile
import functools
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from verify_cases import all_cases, faults_of_files, faults_of_numbers

from mechdesign.certificate import verify

SOURCE = Path(verify.__file__).read_text(encoding="utf-8")
TURNED = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
#: Mistakes that change nothing that a test could see, by the function and a piece of what is
#: changed, each with the reason.
EQUIVALENT = (
    (
        "InferenceCost",
        "before > 0",
        "nothing is divided by costs of nothing, which is no number and refused as such",
    ),
    (
        "_bound",
        "abs(eta) > noise",
        "any prices of limits are safe: then all are tried, and the small",
    ),
    (
        "_rays",
        "len(both) < n - 2",
        "rays that are not adjacent join to one within the cone, which is worth no more",
    ),
    (
        "_fit",
        "name and key.isupper()",
        "names of small letters are of lists that no file has twice",
    ),
    ("_shown", "", "how a claim is printed is the business of other tests"),
    ("_has_risk", "len(prior.n) > MOST_TOLD", "of many symbols it takes longer, and is as true"),
    ("_risk", "2 * off * size", "the other way is exact, where there are few symbols"),
    ("_risk", "risk - room", "the other way is exact, where there are few symbols"),
    ("_check_groups", "_need(len(numbers) == len(weights)", "lists that differ make no pairs"),
    ("_grid", "_need([len(row)", "products of other shapes are none, here as everywhere"),
    ("_check_risk", "holds is not False", "of few symbols the value is known exactly"),
    ("_has_risk", "low == math.inf", "how it is told is the business of other tests"),
    ("_has_risk", "pair[0] == math.inf", "of several truths either all answer or none"),
    ("check", "_work.update", "the limit of one file alone is that of the first"),
    *(
        ("_extreme_columns", piece, "when it is said how far the proof is changes nothing in it")
        for piece in ("'--progress' in sys.argv", "number % 32", "progress {number}")
    ),
)
#: What is printed, and how a process ends, is the business of other tests.
LEFT_OUT = ("main", "_end_with_input")
#: Functions that declare the form of files, which is the same or is not.
OF_FORMS = (
    *("_list", "_row", "_object", "_only", "_any", "_of", "_numbers", "_double", "_whole", "_by"),
    *("_matrices", "_asked_forms", "_file"),
)
#: Steps are counted before they are done; tests of bounded work see whether they are.
COUNTED = "_afford("
#: Functions that work on numbers alone, which have cases of their own.
OF_NUMBERS = ("exp_bounds", "parse", "_number", "_real", "asks")


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Copies of a node with one mistake in it."""
    if isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            made = copy.deepcopy(node)
            made.ops[k] = TURNED[type(op)]()
            yield made
    elif isinstance(node, ast.BoolOp):
        exchanged = copy.deepcopy(node)
        exchanged.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield exchanged
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield copy.deepcopy(node.operand)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()


def functions() -> Iterator[tuple[str, ast.AST, tuple[int, ast.stmt]]]:
    """Functions and methods with their names, but for those left out, and where in the file."""
    for place in enumerate(ast.parse(SOURCE).body):
        inside = place[1].body if isinstance(place[1], ast.ClassDef) else [place[1]]
        for part in inside:
            if isinstance(part, ast.FunctionDef) and part.name not in LEFT_OUT:
                yield part.name, part, place


def mutants() -> Iterator[tuple[str, str, tuple[int, ast.stmt]]]:
    """The function, what was changed, and the statement of the file with that change."""
    for name, function, place in functions():
        for node in list(ast.walk(function)):
            for field, value in list(ast.iter_fields(node)):
                if field == "decorator_list":
                    continue
                places: Any = enumerate(value) if isinstance(value, list) else [(None, value)]
                for at, part in list(places):
                    for made in changes(part) if isinstance(part, ast.AST) else ():
                        ast.copy_location(made, part)
                        ast.fix_missing_locations(made)
                        _put(node, field, at, made)
                        yield name, f"{ast.unparse(part)} -> {ast.unparse(made)}", place
                        _put(node, field, at, part)


def _put(node: ast.AST, field: str, at: int | None, part: Any) -> None:
    if at is None:
        setattr(node, field, part)
    else:
        getattr(node, field)[at] = part


def compiled(statement: ast.stmt) -> types.CodeType:
    flag = __future__.annotations.compiler_flag
    return compile(ast.Module([statement], []), "mutant", "exec", flag, dont_inherit=True)


@functools.cache
def as_it_is() -> list[types.CodeType]:
    """The statements of the file, compiled once: each mistake is in one of them."""
    return [compiled(statement) for statement in ast.parse(SOURCE).body]


def loaded(*changed: tuple[int, ast.stmt]) -> Any:
    """The checker with a statement in the place of another."""
    module = types.ModuleType("mutant")
    sys.modules["mutant"] = module  # data classes look their module up
    put_in = {place: compiled(statement) for place, statement in changed}
    try:
        for place, code in enumerate(as_it_is()):
            exec(put_in.get(place, code), module.__dict__)
    finally:
        del sys.modules["mutant"]
    return module


@functools.cache
def cases_of() -> dict[str, list[Any]]:
    """The files on which each function of the checker works, those that take least time first."""
    found: dict[str, list[tuple[float, int, Any]]] = {}
    checker = loaded()
    for number, case in enumerate(all_cases()):
        begin, seen = time.perf_counter(), cProfile.Profile(subcalls=False, builtins=False)
        with seen:
            wrong = list(faults_of_files(checker, [case]))
        assert wrong == [], "a mistake is seen where there is none"
        codes = [entry.code for entry in seen.getstats() if not isinstance(entry.code, str)]
        names = {code.co_name for code in codes if code.co_filename == "mutant"}
        seconds = time.perf_counter() - begin
        for name in names:
            found.setdefault(name, []).append((seconds, number, case))
    return {name: [case for *_, case in sorted(rows)] for name, rows in found.items()}


def is_caught(name: str, *changed: tuple[int, ast.stmt]) -> bool:
    """Whether some file on which a function works is judged in another way than it must be."""
    try:
        checker = loaded(*changed)
        if name in OF_FORMS:
            return bool(checker.FORM != verify.FORM)
        if name in OF_NUMBERS and next(faults_of_numbers(checker), None) is not None:
            return True
        return next(faults_of_files(checker, cases_of().get(name, [])), None) is not None
    except Exception:  # whatever a mistake leads to, it is seen
        return True


def is_equivalent(name: str, what: str) -> bool:
    if what.startswith(COUNTED) or name == "_afford":
        return True
    return any(name == function and piece in what for function, piece, _ in EQUIVALENT)


def missed() -> tuple[int, list[tuple[str, str]]]:
    """How many mistakes there were, and those that were not seen."""
    tried, found = 0, []
    for name, what, changed in mutants():
        if not is_equivalent(name, what):
            tried += 1
            found += [] if is_caught(name, changed) else [(name, what)]
    return tried, found


def test_what_is_called_equivalent_is_there():
    known = [(name, what) for name, what, _ in mutants()]
    page = Path(__file__).parents[2] / "notebooks" / "site" / "understand" / "papers.md"
    assert "at least 780 such changes" in page.read_text(encoding="utf-8")
    assert "all are noticed but at most 60" in page.read_text(encoding="utf-8")
    assert len(known) >= 780
    assert sum(is_equivalent(*change) for change in known) <= 60
    for function, piece, reason in EQUIVALENT:
        assert any(name == function and piece in what for name, what in known), piece
        assert len(reason) > 20


@pytest.mark.slow
def test_mistakes_are_seen_and_none_is_seen_in_the_file_itself():
    """All in one item: the files on which each function works take longest to be made."""
    names = {name for name, _, _ in mutants()}
    assert names - set(cases_of()) - set(OF_FORMS) == set()
    assert not any(is_caught(name) for name in OF_NUMBERS)
    tried, found = missed()
    assert found == []
    assert tried > 700
