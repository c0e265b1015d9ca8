"""The tests of the checker see every mistake that is put into it: comparisons turned round, checks
dropped, numbers and signs changed, one at a time.
"""

from __future__ import annotations

import ast
import copy
import sys
import types
from pathlib import Path

import pytest
from verify_cases import all_cases, faults

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
SIGNS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult}
ENDS = {"min": "max", "max": "min", "any": "all", "all": "any"}
#: Pieces of the source in which a change is none, or gives another true bound, by why.
HARMLESS: dict[str, str] = {}


def changes(node):
    """Copies of a node with one mistake in it."""
    if isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            made = copy.deepcopy(node)
            made.ops[k] = TURNED[type(op)]()
            yield made
    elif isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        made = copy.deepcopy(node)
        made.op = SIGNS[type(node.op)]()
        yield made
    elif isinstance(node, ast.BoolOp):
        made = copy.deepcopy(node)
        made.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield made
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Name) and node.id in ENDS and isinstance(node.ctx, ast.Load):
        yield ast.Name(ENDS[node.id], node.ctx)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()


def mutants():
    """What was changed, and the tree of the whole file with that change."""
    tree = ast.parse(SOURCE)
    functions = [
        node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    ]
    inside = {id(part) for function in functions for part in ast.walk(function)}
    for node in list(ast.walk(tree)):
        for name, value in list(ast.iter_fields(node)):
            places = enumerate(value) if isinstance(value, list) else [(None, value)]
            for at, part in list(places):
                if not isinstance(part, ast.AST) or id(part) not in inside:
                    continue
                for made in changes(part):
                    ast.copy_location(made, part)
                    ast.fix_missing_locations(made)
                    _put(node, name, at, made)
                    yield described(part, made), tree
                    _put(node, name, at, part)


def _put(node, name, at, part):
    if at is None:
        setattr(node, name, part)
    else:
        getattr(node, name)[at] = part


def described(part, made):
    line = SOURCE.splitlines()[part.lineno - 1].strip()
    return f"{part.lineno}: {ast.unparse(part)[:60]} -> {ast.unparse(made)[:60]}  in  {line}"


def loaded(tree):
    module = types.ModuleType("mutant")
    sys.modules["mutant"] = module  # data classes look their module up
    try:
        exec(compile(tree, "mutant", "exec"), module.__dict__)
    finally:
        del sys.modules["mutant"]
    return module


def is_caught(tree, cases):
    """Whether some file is judged in another way than it must be."""
    try:
        return next(faults(loaded(tree), cases), None) is not None
    except Exception:  # whatever a mistake leads to, it is seen
        return True


def harmless(what):
    return any(piece in what for piece in HARMLESS)


@pytest.fixture(scope="module")
def cases():
    return all_cases()


def missed(cases, share, shares):
    every = 0
    found = []
    for number, (what, tree) in enumerate(mutants()):
        if number % shares != share or harmless(what):
            continue
        every += 1
        if not is_caught(tree, cases):
            found.append(what)
    return every, found


def test_the_file_itself_has_no_mistake(cases):
    assert not is_caught(ast.parse(SOURCE), cases)
