"""Names that docstrings refer to exist, where they are said to be."""

from __future__ import annotations

import ast
import functools
import importlib
import re

import pytest
from checks import for_each
from package_source import FILES, tree

import mechdesign
from mechdesign import errors

ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):`~?([^`]+)`")


def dotted(name):
    return f"mechdesign.{name}" if name else "mechdesign"


def holds(owner, parts):
    """Whether an object has an attribute path; fields and what ``__init__`` sets are attributes."""
    for part in parts:
        if not hasattr(owner, part):
            fields = {
                f for c in getattr(owner, "__mro__", ()) for f in vars(c).get("__annotations__", ())
            }
            return part in fields | set_by_methods(owner)
        owner = getattr(owner, part)
    return True


def set_by_methods(owner):
    """Attributes that the methods of a class of this package set on ``self``."""
    found = set()
    for base in getattr(owner, "__mro__", ()):
        name = base.__module__.removeprefix("mechdesign").lstrip(".")
        for node in ast.walk(tree(name)) if name in FILES else ():
            if isinstance(node, ast.ClassDef) and node.name == base.__name__:
                found |= {
                    n.attr
                    for n in ast.walk(node)
                    if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
                }
    return found


@functools.cache
def is_module(name):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        return False
    return True


def exists(text, module, owner=None):
    """Whether a name means something in the docstring of a module, or of a class in it.

    A bare name is one of the class, the module, the public face or the errors. One that begins with
    a dot may be of any module, and one that begins with the package is spelled out.
    """
    parts = text.strip(".").split(".")
    here = importlib.import_module(dotted(module))
    if parts[0] == "mechdesign":
        splits = range(1, len(parts) + 1)
        modules = [i for i in splits if is_module(".".join(parts[:i]))]
        deepest = importlib.import_module(".".join(parts[: modules[-1]]))
        return holds(deepest, parts[modules[-1] :])
    if text.startswith("."):
        package = here.__package__
        if is_module(f"{package}{text}"):
            return True
        return any(holds(importlib.import_module(dotted(m)), parts) for m in FILES if m != MAIN)
    owners = [owner] if owner is not None else []
    return any(holds(place, parts) for place in (*owners, here, mechdesign, errors, Exception))


MAIN = "__main__"


def referred(node, owner):
    """Names in the docstrings of a tree, each with the class around it."""
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
        for name in ROLE.findall(ast.get_docstring(node) or ""):
            yield name, owner
    for child in getattr(node, "body", ()):
        if isinstance(child, ast.ClassDef):
            yield from referred(child, getattr(owner, child.name, None))
        elif isinstance(child, ast.FunctionDef):
            yield from referred(child, owner)


@pytest.mark.slow
@for_each("name", [name for name in FILES if name != MAIN])
def test_names_in_docstrings_exist(name):
    pytest.importorskip("matplotlib")
    module = importlib.import_module(dotted(name))
    for text, owner in referred(tree(name), module):
        assert exists(text, name, owner), f"{name}: no {text}"


def test_a_name_that_moved_is_noticed():
    """A control: the reader finds what is there, and not what was renamed or stands elsewhere."""
    assert exists("Method", "solve.choice")
    assert exists(".ConeRows.feasible", "solve.sensitivity")
    assert not exists("ConeRows.feasible", "solve.choice")
    assert not exists(".ConeRows.made_feasible", "solve.sensitivity")
    assert not exists("mechdesign.solve.form.Program", "solve.choice")
    count = sum(len(list(referred(tree(name), None))) for name in FILES)
    assert count > 300
