"""The house: imports go downwards only, files stay short, every public thing says what it is."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from graphlib import TopologicalSorter

import pytest
from checks import for_each
from package_source import FILES, ROOT, tree

import mechdesign

PACKAGE = "mechdesign"

# From the ground up. A module, or a folder with all in it, may import what lies lower.
LAYERS = (
    ("_version", "errors", "data"),
    (
        "exact",
        "discrete_laplace",
        "numeric",
        "labels",
        "progress",
        "registry",
        "extensions",
        "extras",
        "citations",
        "clock",
        "dates",
    ),
    ("files", "notebook", "checks"),
    ("schema",),
    ("tables", "roots"),
    ("_bins",),
    ("place_sets",),
    ("prior",),
    ("mechanism",),
    ("privacy", "utility"),
    ("requirement", "published"),
    ("kernel",),
    ("program",),
    ("linear",),
    ("certificate",),
    ("subsets",),
    ("solve",),
    ("theory", "noise", "_audit", "evidence", "_determined_prior"),
    ("_public_form",),
    ("channels",),
    ("places",),
    ("stored_values",),
    ("stored_claims", "stored_duals", "stored_plans"),
    ("storage",),
    ("kernel_files",),
    ("release",),
    ("inference",),
    ("devices",),
    ("arguments", "bin_arguments"),
    ("_compare", "papers"),
    ("plotting",),
    ("_try_out",),
    ("views",),
    ("forms",),
    ("explorer", "collector"),
    ("cli",),
    ("__main__",),
)
# Rooms that know each other: reports are read for estimates, which say what is released.
TOGETHER = ({"release", "inference"},)
RANK = {room: rank for rank, layer in enumerate(LAYERS) for room in layer}


@functools.cache
def imports(name):
    """Modules of this package that a module imports, at the top or inside a function.

    A name bound in the package's own ``__init__`` counts as an import of the package root, "".
    """
    inside = FILES[name].name == "__init__.py"
    own = name.split(".") if name else []
    found = set()
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == PACKAGE:
                    found.add((alias.name.removeprefix(PACKAGE).lstrip("."), None))
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = own[: len(own) - node.level + inside]
                base = [*base, *(node.module or "").split(".")] if node.module else base
            elif (node.module or "").split(".")[0] == PACKAGE:
                base = node.module.split(".")[1:]
            else:
                continue
            for alias in node.names:
                longer = ".".join([*base, alias.name])
                if longer in FILES:
                    found.add((longer, None))
                else:
                    found.add((".".join(base), alias.name))
    return found


def room(name):
    return name.split(".")[0]


def test_the_reader_of_imports_sees_imports():
    """A control: without it, a reader that finds nothing would pass every test below."""
    assert ("prior", "Prior") in imports("mechanism")
    assert ("privacy.notion", "LikelihoodBound") in imports("privacy.pointwise")
    assert ("tables.counting", "count_labels") in imports("prior")
    assert ("solve._design", "design") in imports("cli.design")  # inside a function
    assert ("views.text", "print_design") in imports("cli.design")
    assert ("", "__version__") in imports("storage")
    assert ("cli", "main") in imports("__main__")
    assert sum(len(imports(name)) for name in FILES) > 100


@for_each("name", [name for name in FILES if name])
def test_every_module_has_its_layer(name):
    assert room(name) in RANK, f"give {room(name)!r} a place in LAYERS"


@for_each("name", [name for name in FILES if name])
def test_imports_go_downwards(name):
    mine = room(name)
    for target, what in imports(name):
        if target == "":
            # The explorer stands on top of the library and calls it as any application does.
            is_outside = mine == "explorer" and what is None
            assert what == "__version__" or is_outside, f"{name} imports {what} of the package"
            continue
        theirs = room(target)
        if theirs == mine:
            continue
        assert RANK[theirs] < RANK[mine] or {mine, theirs} in TOGETHER, (
            f"{name} imports {target}, which lies no lower"
        )


def test_no_module_imports_itself_in_a_circle():
    graph = {
        name: {
            target for target, _ in imports(name) if target in FILES and target not in ("", name)
        }
        for name in FILES
        if name and FILES[name].name != "__init__.py"
    }
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("errors") < order.index("prior") < order.index("cli.design")


def test_the_package_imports_nothing_of_itself_when_it_is_imported():
    """Names are bound on first use."""
    assert not imports("")
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree("")))


@for_each("name", FILES)
def test_no_file_is_over_900_lines(name):
    """A file is as long as its one subject; from here on it may well hold a second one.

    The checker of files imports nothing of ours, so that it is read and carried as one file.
    """
    most = 2750 if name == "certificate.verify" else 900
    assert len(FILES[name].read_text(encoding="utf-8").splitlines()) <= most


def test_the_checker_of_files_imports_nothing_of_the_package():
    assert not imports("certificate.verify")
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree("certificate.verify"))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
    }
    assert "json" in imported
    assert imported <= sys.stdlib_module_names


# The public face


def test_every_public_name_resolves():
    for name in mechdesign.__all__:
        assert getattr(mechdesign, name) is not None, name
    assert len(set(mechdesign.__all__)) == len(mechdesign.__all__)
    assert set(mechdesign.__all__) <= set(dir(mechdesign))
    assert {"Prior", "Mechanism", "design", "explain", "audit", "save", "load", "utility"} <= set(
        mechdesign.__all__
    )


def test_each_public_name_is_written_once():
    """In the stub, which type checkers and the package itself read."""
    stub = ast.parse((ROOT / "__init__.pyi").read_text(encoding="utf-8"))
    named = [alias for node in stub.body[1:] for alias in node.names]
    assert all(alias.asname == alias.name for alias in named)  # as stubs say that a name is public
    assert sorted(alias.name for alias in named) == list(mechdesign.__all__)
    written = {getattr(node, "value", None) for node in ast.walk(tree(""))}
    bound = {getattr(node, "id", None) for node in ast.walk(tree(""))}
    assert not (written | bound) & set(mechdesign.__all__)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'mechdesign' has no attribute 'desing'"):
        mechdesign.desing  # noqa: B018


def test_no_module_bears_the_name_of_a_public_function():
    functions = {
        name for name in mechdesign.__all__ if inspect.isroutine(getattr(mechdesign, name))
    }
    assert {"design", "audit", "save", "load"} <= functions
    for name in FILES:
        # A file of the command line is named after its command.
        assert room(name) == "cli" or name.split(".")[-1] not in functions


def test_the_citation_names_the_version():
    citation = ROOT.parent / "CITATION.cff"
    assert f"\nversion: {mechdesign.__version__}\n" in citation.read_text(encoding="utf-8")


def test_types_are_shipped():
    assert (ROOT / "py.typed").is_file()


def _undocumented(tree, path=()):
    for node in tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if node.name.startswith("_") or "overload" in map(ast.unparse, node.decorator_list):
            continue
        if not ast.get_docstring(node):
            yield ".".join((*path, node.name))
        if isinstance(node, ast.ClassDef):
            yield from _undocumented(node, (*path, node.name))


@for_each("name", FILES)
def test_everything_public_has_a_docstring(name):
    assert ast.get_docstring(tree(name))
    assert not list(_undocumented(tree(name)))
