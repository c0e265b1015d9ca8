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
STRIDE, SHARES = 12, 2
ENDS = {"min": "max", "max": "min", "any": "all", "all": "any"}
#: Checks of the form that others stand behind: what they let through is unreadable all the same,
#: or they only keep numbers from growing beyond what a test could hold.
DOUBLED = (
    "more than {LARGEST_FILE} bytes",
    "weights of another number than labels",
    "rows of another number than inputs",
    "a row of another length than outputs",
    "masses of a hypothesis",
    "databases of several lengths",
    "a distance of a symbol to itself",
    "symbols that are not 0",
    "chances of an entry",
    "gains of other outputs",
    "gains of another number of symbols",
    "a matrix of another size",
    "a symbol without a feature",
    "an integer of another form",
    "a rational that is neither number nor text",
    "weights of a prior that are no masses",
    "labels that are no databases",
    "distances that differ by way",
    "a metric that is not known",
    "a secret of symbols that the prior has not",
    "an edge without length",
    "prices of another number than symbols",
    "chances of a secret",
    "chances of a feature",
    "dual variables of other bounds",
    "a mixture of other functions",
    "a prior of use over other symbols",
    "mass beyond the prior of the design",
    "share_of_gain >= v for v in gained(own)",  # outputs as good as one another in floats
    "room = width / 10**9",  # the same
    "largest = max(abs(u)",
    "low = [max(c - room",  # which nothing reads for a ball
    "for floor in",  # dual variables left out as noise, which is safe whatever they are
)
#: Any numbers that these give lead to a true bound.
SAFE = ("_clamped", "_inside")


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
    elif isinstance(node, ast.Name) and node.id in ENDS and isinstance(node.ctx, ast.Load):
        yield ast.Name(ENDS[node.id], node.ctx)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()


def mutants():
    """What was changed, and the tree of the whole file with that change."""
    tree = ast.parse(SOURCE)
    # What is printed is the business of other tests, and so is what a decorator says.
    others = [node for node in tree.body if not _is_left_out(node)]
    bodies = [part for node in others for part in getattr(node, "body", ())]
    inside = {id(part) for body in bodies for part in ast.walk(body)}
    decorators = (d for node in ast.walk(tree) for d in getattr(node, "decorator_list", ()))
    inside -= {id(part) for decorator in decorators for part in ast.walk(decorator)}
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


def _is_left_out(node):
    return isinstance(node, ast.If) or getattr(node, "name", "") in ("main", *SAFE)


def _put(node, name, at, part):
    if at is None:
        setattr(node, name, part)
    else:
        getattr(node, name)[at] = part


def described(part, made):
    lines = " ".join(SOURCE.splitlines()[part.lineno - 1 : part.end_lineno])
    return f"{part.lineno}: {ast.unparse(part)} -> {ast.unparse(made)} in {lines}"


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


def is_doubled(what):
    return any(text in what for text in DOUBLED)


@pytest.fixture(scope="module")
def cases():
    return all_cases()


def test_the_file_itself_has_no_mistake(cases):
    assert not is_caught(ast.parse(SOURCE), cases)


@pytest.mark.parametrize("share", range(SHARES))
def test_mistakes_are_seen(cases, share):
    """A sixth of them, from all over the file; the marks of the others are as good."""
    tried, missed = 0, []
    for number, (what, tree) in enumerate(mutants()):
        if number % STRIDE == share and not is_doubled(what):
            tried += 1
            missed += [] if is_caught(tree, cases) else [what]
    assert missed == []
    assert tried > 20
