"""The documents match the tree: the map, the ways through, the examples, the questions of rooms."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from checks import for_each
from house.test_layering import LAYERS

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
MODULES = sorted(path.name for path in ROOT.glob("*.py"))


def rows(text):
    """Question, room and named files of each row of the map."""
    cells = [line.split("|")[1:4] for line in text.splitlines() if line.startswith("| ")]
    return [(a.strip(), CODE.findall(b), CODE.findall(c)) for a, b, c in cells[2:]]


MAP = rows(section("Where things are"))


# The map


def test_every_room_and_module_has_a_row():
    named = [room for _, found, _ in MAP for room in found[:1]]
    assert sorted(named) == sorted([*ROOMS, *MODULES])
    assert all(question for question, _, _ in MAP)


def test_every_row_names_files_that_exist():
    seen = 0
    for _, (room,), files in MAP:
        folder = ROOT / room if room.endswith("/") else ROOT
        assert folder.exists(), room
        for name in files:
            if re.fullmatch(r"\w+\.pyi?", name):
                seen += 1
                assert (folder / name).is_file(), f"{room} has no {name}"
    assert seen > 60


def test_a_map_that_lacks_a_room_is_noticed():
    """A control: the reader of the map sees one row less."""
    text = section("Where things are")
    line = next(line for line in text.splitlines() if "`noise/`" in line)
    assert len(rows(text.replace(line + "\n", ""))) == len(MAP) - 1


def test_the_layers_are_those_that_are_pinned():
    shown = section("Where things are").split("```text\n")[1].split("```")[0]
    assert tuple(tuple(line.split()) for line in shown.strip().splitlines()) == LAYERS


# The ways through


def ways():
    """Steps of each way: a file and the names that are said to be defined in it."""
    for part in section("Three ways through").split("\n### ")[1:]:
        title, _, text = part.partition("\n")
        steps = []
        for lead in re.findall(r"^\d+\. (`[^:]*?):", text, flags=re.M | re.S):
            path, *names = CODE.findall(lead)
            steps.append((path, names))
        yield pytest.param(steps, text, id=title.split(",")[0])


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


@pytest.mark.parametrize(("steps", "text"), list(ways()))
def test_every_step_is_there_and_none_leads_back(steps, text):
    assert len(steps) >= 6
    for path, names in steps:
        assert names, f"no function of {path}"
        assert set(names) <= defined(path), f"{path} lacks {set(names) - defined(path)}"
    paths = [path for path, _ in steps]
    assert len(set(paths)) == len(paths)
    for name in CODE.findall(text):
        assert not name.endswith(".py") or (ROOT / name).is_file(), f"no {name}"


def test_all_other_files_that_are_named_exist():
    text = prose(section("From outside the package") + section("Inside the package"))
    named = [name for name in CODE.findall(text) if "/" in name and "mypackage" not in name]
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


# The examples


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", section("From outside the package"), re.S)


def test_what_is_written_outside_the_package_works(tmp_path):
    package = tmp_path / "mypackage"
    package.mkdir()
    (package / "__init__.py").touch()
    module = "\n".join(blocks("python"))
    assert module.count("\nclass ") + module.count("\ndef ") >= 7
    (package / "mymodule.py").write_text(module, encoding="utf-8")
    lines = [shlex.split(line)[1:] for line in "".join(blocks("sh")).splitlines()]
    assert len(lines) == 9
    script = "import mypackage.mymodule\nfrom mechdesign.cli import main\n"
    script += f"for line in {lines!r}:\n    assert main(line) == 0, line\n"
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "outcomes.svg").stat().st_size > 1000


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
