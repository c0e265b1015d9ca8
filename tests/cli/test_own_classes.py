"""Utilities, notions and pictures from outside the package, by import path on the command line."""

from __future__ import annotations

import ast
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from checks import slow_but

import mechdesign as md
from mechdesign.storage import seal

ROOT = Path(md.__file__).parent
# With -P Python adds no folder to where it looks for modules, as for the installed command.
COMMAND = (sys.executable, "-P", "-m", "mechdesign")

FILES = {
    "mine/__init__.py": "",
    "mine/utilities.py": '''
import numpy as np
from mechdesign.utility import FInformation, LinearUtility, Utility

class Nearest(LinearUtility):
    """The larger of two symbols gains twice as much."""
    def gains(self, prior, outputs):
        gain = np.arange(1, len(prior) + 1)[:, None]
        return gain * (np.array(prior.labels)[:, None] == np.array(outputs))

class Hellinger(FInformation):
    """Squared Hellinger information."""
    def __init__(self):
        super().__init__(lambda t: (np.sqrt(t) - 1) ** 2, "hellinger")

    @property
    def spec(self):
        return "hellinger"

class Weighted(Nearest):
    def __init__(self, weight, more):
        self.weight = weight

class Bare(Utility):
    pass

class Failing(Nearest):
    def __init__(self):
        raise KeyError("no weights")

nearest = Nearest()
number = 3
''',
    "mine/notions.py": '''
from dataclasses import dataclass
import numpy as np
import mechdesign as md

@dataclass(frozen=True)
class AgainstUniform(md.LikelihoodBound):
    """No symbol is e^eps times as likely as under a uniform prior."""
    epsilon: float

    def bounds(self, prior):
        uniform = md.Hypotheses.mixtures([[1] * len(prior)], ["the uniform prior"])
        return [md.Bound(md.Hypotheses.points(prior), uniform, self.epsilon)]

    def leakage(self, kernel, prior):
        mean = kernel.mean(axis=0)
        lift = np.where(mean > 0, kernel.max(axis=0) / np.where(mean > 0, mean, 1.0), 1.0)
        return np.maximum(np.log(lift), 0.0)

@dataclass(frozen=True)
class Unregistered(AgainstUniform, register=False):
    pass

ours = AgainstUniform(0.5)
grouped = md.FeaturePML(0.3, {0: "a", 1: "a", 2: "b"})
''',
    "mine/pictures.py": """
from matplotlib import pyplot as plt

def bars(found, prior, privacy):
    _, ax = plt.subplots()
    ax.bar(range(len(prior)), prior.probabilities)
    ax.set_title(f"{type(found).__name__}, {len(privacy)} notions")
    return ax

def figure(found, prior, privacy):
    return bars(found, prior, privacy).figure

def nothing(found, prior, privacy):
    return 3
""",
    "failing.py": "1 / 0\n",
    "leaving.py": "raise SystemExit(0)\n",
    "needing.py": "import no_such_library\n",
    "taken.py": """
import mechdesign as md
class PML(md.PML):
    pass
""",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def run(folder, *arguments):
    """The command line as a process of its own, run in the folder."""
    return subprocess.run(
        [*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


def done(folder, *arguments):
    found = run(folder, *arguments)
    assert found.returncode == 0, found.stderr
    return found.stdout


def refused(folder, *arguments):
    found = run(folder, *arguments)
    assert found.returncode == 2, found.stderr
    assert found.stdout == ""
    (line,) = found.stderr.splitlines()
    assert line.startswith("error: ")
    return line


PRIOR = ("--prior", ".5,.3,.2")


@pytest.mark.parametrize("name", ["Nearest", "nearest"])
def test_a_linear_utility(folder, name):
    found = json.loads(
        done(folder, "design", *PRIOR, "-p", "ldp:1", "-u", f"mine.utilities:{name}", "--json")
    )
    gains = [[1, 0, 0], [0, 2, 0], [0, 0, 3]]
    wanted = md.design(md.Prior([0.5, 0.3, 0.2]), md.utility.Matrix(gains, [0, 1, 2]), md.LDP(1))
    assert found["certificate"]["value"] == pytest.approx(wanted.value, abs=1e-12)
    assert found["certificate"]["optimal"] is True


@pytest.mark.slow
def test_a_notion_in_every_command_that_takes_one(folder):
    path = "mine.notions:AgainstUniform"
    text = done(folder, "design", *PRIOR, "-p", f"{path}:0.5", "-u", "hamming", "-o", "m.json")
    assert "AgainstUniform(0.5)" in text
    audited = run(folder, "audit", "m.json", "-p", f"{path}:0.4", "--json")
    assert audited.returncode == 1  # 0.5 is kept, 0.4 is not
    level = json.loads(audited.stdout)["checks"][0]
    assert (level["notion"], level["verdict"]) == ("againstuniform:0.4", "no")
    assert level["achieved"] == [pytest.approx(0.5, abs=1e-9)]
    compared = json.loads(
        done(folder, "compare", *PRIOR, "-n", path, "-n", f"{path}:2e+ldp:e", "-n", "pml:e",
             "--levels", "0.5", "--json")
    )  # fmt: skip
    values = {point["notion"]: point["value"] for point in compared["points"]}
    assert set(values) == {"AgainstUniform", "AgainstUniform(2ε) + LDP", "PML"}
    designed = json.loads(done(folder, "--import", "mine.notions", "check", "m.json", "--json"))
    assert values["AgainstUniform"] == pytest.approx(designed["certificate"]["value"], abs=1e-9)
    tight = json.loads(
        done(
            folder, "research", "convert", f"{path}:0.5", *PRIOR, "--to", path, "--tight", "--json"
        )
    )
    assert tight["given"] == ["againstuniform:0.5"]
    assert tight["implied"][0]["levels"][0]["level"] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", slow_but(1, ["bars", "figure"]))
def test_a_picture(folder, name):
    done(folder, "design", *PRIOR, "-p", "pml:.5", "-p", "ldp:2", "-o", "m.json")
    done(folder, "report", "m.json", "-k", f"mine.pictures:{name}", "-o", "m.svg")
    text = (folder / "m.svg").read_text()
    assert "<svg" in text
    line = refused(folder, "report", "m.json", "-k", "mine.pictures:nothing", "-o", "n.svg")
    assert "expected a function that returns matplotlib axes or a figure, got 3" in line
    assert not (folder / "n.svg").exists()


MISTAKES = {
    "no module": ("-u", "mien.utilities:Nearest", "got no module named 'mien'"),
    "a long name": ("-u", f"{'x' * 5000}:Nearest", "got no module named"),
    "no module in a package": ("-u", "mine.utility:Nearest", "no module named 'mine.utility'"),
    "no attribute": ("-u", "mine.utilities:Nearst", "did you mean 'Nearest'?"),
    "no utility in the module": ("-u", "mine.pictures:Nearest", "expected a utility in"),
    "no utility": ("-u", "mine.utilities:number", "got 3 of type int"),
    "another class": ("-u", "mine.notions:AgainstUniform", "got the class AgainstUniform"),
    "arguments": ("-u", "mine.utilities:Weighted", "missing a required argument: 'weight'"),
    "a constructor that fails": ("-u", "mine.utilities:Failing", "got KeyError: 'no weights'"),
    "an abstract class": ("-u", "mine.utilities:Bare", "got one without value"),
    "a module that fails": ("-u", "failing:Nearest", "got ZeroDivisionError: division by zero"),
    "a module that exits": ("-u", "leaving:Nearest", "got SystemExit: 0"),
    "a module that needs another": ("-u", "needing:Nearest", "No module named 'no_such_library'"),
    "a name that is taken": ("-p", "taken:PML:1", "expected a class name that is not taken"),
    "a notion without levels": ("-p", "mine.notions:AgainstUniform", "expected 1 level"),
    "a notion with bad levels": ("-p", "mine.notions:AgainstUniform:x", "expected a level such"),
    "an unregistered notion": ("-p", "mine.notions:Unregistered:1", "without register=False"),
    "no notion": ("-p", "mine.utilities:Nearest:1", "derives from PrivacyNotion"),
    "a misspelt notion": ("-p", "lddp:much", "did you mean 'ldp'?"),
    "neither notion nor module": ("-p", "flor:crew", "package.module:Name, pmc, pml"),
    "no module for a notion": ("-p", "mien:AgainstUniform:1", "no module named 'mien'"),
}


@pytest.mark.parametrize("case", slow_but(2, MISTAKES))
def test_mistakes_are_one_line(folder, case):
    option, path, said = MISTAKES[case]
    more = ("-p", "ldp:1") if option == "-u" else ()
    assert said in refused(folder, "design", *PRIOR, *more, option, path)


def test_a_module_that_is_not_found_for_a_file(folder):
    assert "no module named 'mien'" in refused(folder, "--import", "mien", "check", "m.json")
    assert "expected a module" in refused(folder, "--import", "../mine", "check", "m.json")


# Nothing but the command line imports what a text names


@pytest.mark.slow
def test_a_file_never_causes_an_import(folder):
    (folder / "sly.py").write_text("open('imported', 'w').close()\n")
    prior = md.Prior([0.5, 0.3, 0.2])
    md.save(md.design(prior, md.utility.MutualInformation(), md.LDP(1)), folder / "m.json")
    content = json.loads((folder / "m.json").read_text())
    del content["digest"]
    for change in (
        {"utility": {"name": "sly:Utility"}},
        {"notions": [{"name": "sly:Notion", "parameters": {"epsilon": 1.0}}]},
    ):
        (folder / "forged.json").write_text(json.dumps(seal({**content, **change})))
        for arguments in (("check",), ("audit",), ("compose",), ("plan", "--reports", "100")):
            found = run(folder, arguments[0], "forged.json", *arguments[1:])
            assert found.returncode == 2
            assert "is not known here" in found.stderr
    assert not (folder / "imported").exists()
    # A control: the command line does import it.
    refused(folder, "design", "--prior", ".5,.5", "-p", "ldp:1", "-u", "sly:Utility")
    assert (folder / "imported").exists()


@pytest.mark.slow
def test_only_the_command_line_reaches_what_imports():
    """The module that imports what a text names is called by the files of the commands alone."""
    reaching = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [getattr(node, "module", ""), *(alias.name for alias in node.names)]
                if any(str(name).split(".")[-1] == "extensions" for name in names):
                    reaching.add(path.relative_to(ROOT).parts[0])
    assert reaching == {"cli"}


def test_levels_that_are_words_are_no_import_paths():
    from mechdesign.cli.options import read_notion

    assert read_notion("pml:inf") == md.PML(math.inf)
    assert read_notion("dp:1,adjacent") == md.DP(1, "adjacent")


FAILING = """
import mechdesign as md
from mechdesign.solve import LINEAR, Method

class Failing(md.utility.LinearUtility):
    def gains(self, prior, outputs):
        return {}["nothing"]

class Stopped(Method):
    name, features = "stopped", LINEAR
    def solve(self, program):
        raise ValueError("no answer")
"""


def test_an_error_of_ones_own_code_names_the_method(folder):
    (folder / "failing.py").write_text(FAILING)
    line = refused(folder, "design", *PRIOR, "-p", "pml:1", "-u", "failing:Failing")
    assert "Failing.gains of failing" in line
    assert "KeyError: 'nothing' (line 7)" in line
    line = refused(
        folder, "design", *PRIOR, "-p", "pml:1", "-u", "hamming", "--solver", "failing:Stopped"
    )
    assert "Stopped.solve of failing" in line
    assert "ValueError: no answer (line 12)" in line
