"""The documents match the tree: the map, the ways through, the examples, the questions of rooms."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from checks import for_each
from house.test_layering import TOGETHER, imports, room
from package_source import FILES

import mechdesign

ROOT = Path(mechdesign.__file__).parent
HOUSE = ROOT.parent
TEXT = (HOUSE / "CONTRIBUTING.md").read_text(encoding="utf-8")
CODE = re.compile(r"`([^`]+)`")


def section(title, text=TEXT):
    """What stands under a heading of the second level."""
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def prose(text):
    """A text without its blocks of code."""
    return re.sub(r"```.*?```", "", text, flags=re.S)


ROOMS = sorted(
    path.parent.relative_to(ROOT).as_posix() + "/"
    for path in ROOT.rglob("__init__.py")
    if path.parent != ROOT
)
PLACES = {path.stem for path in ROOT.glob("*.py") if not path.stem.startswith("__")}
PLACES |= {room.strip("/") for room in ROOMS if room.count("/") == 1}


def places(text):
    """Rooms and modules that each row of the map names."""
    rows = [line.split("|")[2] for line in text.splitlines() if line.startswith("| ")]
    return [[name.strip("/") for name in CODE.findall(row) if "." not in name] for row in rows[1:]]


MAP = places(section("Where things are"))


# The map


def test_every_room_and_module_has_a_place():
    assert sorted(name for row in MAP for name in row) == sorted(PLACES)


def test_rows_know_those_below_them_only():
    row = {name: place for place, names in enumerate(MAP) for name in names}
    for name in filter(None, FILES):
        for target, _ in imports(name):
            above, below = room(name), room(target)
            if {above, below} <= set(row) and {above, below} not in TOGETHER:
                assert row[above] <= row[below], (name, target)


def test_a_map_that_lacks_a_room_is_noticed():
    """A control: the reader of the map sees one row less."""
    text = section("Where things are")
    line = next(line for line in text.splitlines() if "`theory/`" in line)
    assert len(places(text.replace(line + "\n", ""))) == len(MAP) - 1


# The ways through


def ways():
    """Steps of each way: its files, each with the names that are said to be defined in it."""
    for part in section("Three ways through").split("\nA **")[1:]:
        steps = re.findall(r"`([\w/]+\.py)`((?:,\s+`[\w.]+`)*)", part)
        yield pytest.param(
            [(path, CODE.findall(names)) for path, names in steps], id=part.split("**")[0]
        )


def defined(path):
    """Functions, classes, methods and constants that a file defines."""
    found = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{f.name}" for f in node.body if isinstance(f, ast.FunctionDef)}
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


@pytest.mark.parametrize("steps", list(ways()))
def test_every_step_is_there_and_none_leads_back(steps):
    for path, names in steps:
        assert set(names) <= defined(path), f"{path} lacks {set(names) - defined(path)}"
    paths = [path for path, names in steps if names]
    assert len(set(paths)) == len(paths) >= 5


def test_all_other_files_that_are_named_exist():
    named = [name for name in CODE.findall(section("Adding one")) if "/" in name]
    assert len(named) > 10
    for name in named:
        assert (HOUSE / name).exists(), name


def test_the_readme_is_short():
    assert len((HOUSE / "README.md").read_text(encoding="utf-8").splitlines()) <= 200


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_somewhere(name):
    text = (HOUSE / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", prose(text)):
        path, _, anchor = target.partition("#")
        assert (HOUSE / (path or name)).exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.+)$", (HOUSE / (path or name)).read_text(), flags=re.M)
            assert anchor in {title.lower().replace(" ", "-") for title in titles}, target


# The rooms


@for_each("room", ROOMS)
def test_every_room_says_its_question_and_what_comes_in_and_out(room):
    tree = ast.parse((ROOT / room / "__init__.py").read_text(encoding="utf-8"))
    text = ast.get_docstring(tree) or ""
    first, empty, *rest = text.splitlines()
    assert "?" in first
    assert empty == ""
    starts = [line.partition(" ")[0] for line in rest]
    assert starts[0] == "In:"
    assert starts.count("In:") == starts.count("Out:") == 1
    assert len(text.split("\n\n")[1].splitlines()) <= 6
