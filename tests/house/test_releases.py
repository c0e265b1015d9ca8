"""What a release promises: one version, extras that are what the code says, documents that fit."""

from __future__ import annotations

import functools
import pickle
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from checks import for_each
from entropy import draws_decide_nothing

import mechdesign as md
from mechdesign.citations import bibtex
from mechdesign.errors import MissingLibraryError
from mechdesign.extras import EXTRAS, _MissingLibraries, answer_for_missing

ROOT = Path(md.__file__).parent
HOUSE = ROOT.parent
PROJECT = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))
MODULE_OF = {
    "python-flint": "flint",
    "scikit-learn": "sklearn",
    "psycopg": "psycopg",
}


def distributions(requirements):
    """Names of what is required, without versions; of the package itself, its extras."""
    return [re.match(r"[\w.-]+(\[[^]]*\])?", text)[0] for text in requirements]


# One version


def test_the_version_is_written_in_one_place():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "mechdesign/_version.py"
    assert re.fullmatch(r"\d+\.\d+\.\d+", md.__version__)
    holders = [
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if f'"{md.__version__}"' in path.read_text(encoding="utf-8")
    ]
    assert holders == ["_version.py"]


def test_the_changelog_and_the_citation_are_of_this_version():
    changes = (HOUSE / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {md.__version__}" in changes
    heads = re.findall(r"^## (.*)$", changes, re.M)
    assert heads[0] == "Unreleased" or heads[0].startswith(md.__version__)


def citation():
    """The fields of CITATION.cff, which needs no more of YAML than lines and lists."""
    fields, key = {}, ""
    for line in (HOUSE / "CITATION.cff").read_text(encoding="utf-8").splitlines():
        if found := re.fullmatch(r"([a-z-]+):\s*(.*)", line):
            key = found[1]
            fields[key] = found[2].strip('"') if found[2] else []
        elif found := re.fullmatch(r"  - (.*)", line):
            fields[key].append(found[1])
        elif fields[key] and (found := re.fullmatch(r"    ([a-z-]+: .*)", line)):
            fields[key][-1] += f"\n{found[1]}"
        else:
            raise AssertionError(f"CITATION.cff: {line!r} is no field")
    return fields


def test_the_citation_has_the_fields_of_its_format():
    fields = citation()
    assert fields["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(fields)  # what the format requires
    allowed = {
        *("cff-version", "message", "title", "type", "authors", "license", "version"),
        *("keywords", "abstract", "date-released", "doi", "repository-code", "url"),
    }
    assert set(fields) <= allowed
    assert fields["type"] in ("software", "dataset")
    assert fields["version"] == md.__version__
    assert fields["license"] == PROJECT["project"]["license"]
    assert fields["title"] in bibtex([])
    assert fields["authors"]
    for author in fields["authors"]:
        assert re.match(r'(name|family-names|given-names): ".+"', author)
        assert all(re.fullmatch(r'[a-z-]+: ".+"', line) for line in author.splitlines())


# What is installed


def test_each_extra_brings_the_modules_that_the_code_expects_of_it():
    extras = PROJECT["project"]["optional-dependencies"]
    assert set(EXTRAS) == set(extras) - {"test", "docs"}  # which the package itself never imports
    for name, modules in EXTRAS.items():
        brought = distributions(extras[name])
        found = {MODULE_OF.get(d.split("[")[0], d.split("[")[0]) for d in brought}
        assert set(modules) <= found, name
        # Whoever installs any of them has everything the package does without the others.
        seen = {name}
        while (
            more := {
                part
                for extra in seen
                for text in extras[extra]
                if (held := re.match(r"mechdesign\[(.*)\]", text))
                for part in held[1].split(",")
            }
            - seen
        ):
            seen |= more
        assert "standard" in seen, name


def test_the_lowest_versions_are_those_that_are_tested():
    lines = (HOUSE / ".ci" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    asked = PROJECT["project"]["dependencies"]
    asked = [*asked, *PROJECT["project"]["optional-dependencies"]["standard"]]
    lowest = dict(
        re.fullmatch(r"([\w-]+)>=([\d.]+)(?:,!=[\d.]+)*", text).groups() for text in asked
    )
    assert set(pinned) == set(lowest)
    for name, version in lowest.items():
        padded = [int(part) for part in (version + ".0.0").split(".")[:3]]
        assert [int(part) for part in pinned[name].split(".")] == padded, name


HIDDEN = """
import importlib.machinery, sys
found = importlib.machinery.PathFinder.find_spec
def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in HIDDEN else found(name, path, target)
HIDDEN = {hidden!r}
importlib.machinery.PathFinder.find_spec = staticmethod(find_spec)
"""


def hidden_run(script):
    """What a script prints where nothing that extras bring is installed."""
    modules = {module for group in EXTRAS.values() for module in group}
    start = HIDDEN.replace("{hidden!r}", repr(sorted(modules)))
    return subprocess.run(
        [sys.executable, "-c", start + script],
        capture_output=True,
        text=True,
        timeout=300,
        env=draws_decide_nothing(),
    )


def test_the_first_design_uses_what_the_base_brings_and_nothing_else(tmp_path):
    path = str(tmp_path / "m.json")
    done = hidden_run(f"""
from mechdesign.cli import main
asked = ["design", "titanic", "--column", "class", "--privacy", "pml:0.5", "--output", {path!r}]
assert main(asked) == 0
assert main(["audit", {path!r}]) == 0
assert main(["verify", {path!r}]) == 0
assert main(["doctor"]) == 0
assert main([]) == 0
base = {{"numpy", "highspy", "flint", "pyarrow", "typer", "rich"}}
print(sorted(base - {{name.partition(".")[0] for name in sys.modules}}))
""")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"  # and the base brings nothing else


def test_what_is_missing_names_its_extra():
    done = hidden_run("""
from mechdesign.cli import main
code = main(["design", "--prior", "0.5,0.3,0.2", "-p", "ldp:1", "-u", "estimation"])
print(code)
import mechdesign as md
for task in (
    lambda: md.plot_kernel(md.Mechanism([[1.0]])),
):
    try:
        task()
    except ImportError as problem:
        print(type(problem).__name__, problem)
# Others see what they would see without this package.
import importlib.util
print(importlib.util.find_spec("scipy"))
try:
    import scipy
except ModuleNotFoundError as problem:
    print(type(problem).__name__, problem)
""")
    assert done.returncode == 0, done.stderr
    said = "is not installed; install it with: pip install"
    assert f"error: scipy {said} 'mechdesign[standard]' [MD602]" in done.stderr
    assert done.stdout.splitlines() == [
        "3",
        f"MissingLibraryError matplotlib {said} 'mechdesign[plot]'",
        "None",
        "ModuleNotFoundError No module named 'scipy'",
    ]


def asked_from(*modules):
    """What the finder says of SciPy to code of these modules, the outermost first."""
    ask = functools.partial(_MissingLibraries.find_spec, None, "scipy")
    for module in reversed(modules):
        names = {"__name__": module, "ask": ask}
        exec("def call(): return ask()", names)
        ask = names["call"]
    return ask()


@for_each(
    "modules",
    [
        ("other",),
        ("mechdesign.solve", "other"),
        ("mechdesign_of_others.solve",),
        ("mechdesign.cli", "importlib_metadata", "importlib._bootstrap"),
        ("mechdesign.cli", "other", "importlib", "importlib._bootstrap"),
    ],
)
def test_the_finder_answers_nobody_else(modules):
    assert asked_from(*modules) is None


@pytest.mark.parametrize(
    "modules", [("mechdesign",), ("other", "mechdesign.solve", "importlib", "importlib._bootstrap")]
)
def test_the_finder_answers_this_package(modules):
    with pytest.raises(MissingLibraryError, match=r"mechdesign\[standard\]") as found:
        asked_from(*modules)
    again = pickle.loads(pickle.dumps(found.value))
    assert (again.library, again.extra, str(again)) == ("scipy", "standard", str(found.value))
    before = len(sys.meta_path)
    answer_for_missing()
    assert len(sys.meta_path) == before


# Citing


@pytest.mark.parametrize(
    ("utility", "privacy", "solver", "keys"),
    [
        (md.utility.Hamming(), md.PML(0.5), "highs-simplex", {"GrosseID", "HuangfuHall2018"}),
        (md.utility.Estimation(), md.LDP(1), "auto", {"Duchi2013", "YeBarg2018"}),
        (
            md.utility.Hamming(),
            [md.LDP(1), md.PMC(1)],
            "SCS",
            {"SaeidianPMC", "DiamondBoyd2016"},
        ),
    ],
)
def test_a_design_says_what_to_cite(utility, privacy, solver, keys):
    if solver.isupper():
        pytest.importorskip("cvxpy", reason="a solver of cvxpy needs mechdesign[cvxpy]")
    found = md.design(md.Prior.uniform(3), utility, privacy, solver=solver)
    text = found.cite()
    cited = re.findall(r"^@\w+\{([^,]+),", text, re.M)
    assert keys <= set(cited)
    assert cited[-1] == "mechdesign"
    assert len(set(cited)) == len(cited)
    assert f"Version {md.__version__}" in text
    assert text.count("{") == text.count("}")
    assert "nodoi" not in text


def test_a_loaded_design_cites_the_same(tmp_path):
    found = md.design(md.Prior([0.5, 0.3, 0.2]), md.utility.MutualInformation(), md.LDP(1))
    md.save(found, tmp_path / "m.json")
    assert md.load(tmp_path / "m.json").cite() == found.cite()


# What others find beside the code


def test_hosted_ci_runs_what_the_repository_says():
    flow = (HOUSE / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert "bash .ci/run" in flow
    assert "permissions:\n  contents: read" in flow
    run = (HOUSE / ".ci" / "run").read_text(encoding="utf-8")
    for part in (".ci/installed\n", ".ci/installed lowest", ".ci/installed 3.13"):
        assert part in run


def test_pre_commit_uses_the_linter_that_is_tested():
    text = (HOUSE / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    (ruff,) = [t for t in PROJECT["project"]["optional-dependencies"]["test"] if "ruff" in t]
    assert f"rev: v{ruff.partition('==')[2]}" in text


def test_the_recipe_of_conda_asks_for_what_the_project_asks_for():
    text = (HOUSE / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
    listed = re.findall(r"^    - ([\w-]+) (>=[\d.]+(?:,!=[\d.]+)*)$", text, re.M)
    project = PROJECT["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["standard"]]
    wanted = {re.fullmatch(r"([\w-]+)(>=[\d.,!=]+)", part).groups() for part in asked}
    assert wanted <= set(listed)
    assert f'version: "{md.__version__}"' in text


# Addresses

DOCUMENTS = [
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff", "LICENSE"),
    *("recipe/recipe.yaml", ".github/ISSUE_TEMPLATE"),
]
ADDRESS = re.compile(r"\w+://[^\s<>\"')\]]+|[\w.+-]+@(?:[\w-]+\.)+[A-Za-z]{2,}")


def addresses(project):
    """What the maintainers set: pages of the project, and mail to those who are named in it."""
    people = [*project.get("authors", []), *project.get("maintainers", [])]
    return [*project.get("urls", {}).values(), *(p["email"] for p in people if "email" in p)]


def unset(text, known):
    """Addresses in a text that are none of those known, nor pages below them."""
    below = tuple(f"{address.rstrip('/')}/" for address in known)
    return [
        found
        for found in (found.rstrip(".,;:") for found in ADDRESS.findall(text))
        if found not in known and not found.startswith(below)
    ]


def written():
    for name in DOCUMENTS:
        path = HOUSE / name
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            yield file.relative_to(HOUSE).as_posix(), file.read_text(encoding="utf-8")


def test_addresses_that_nobody_set_are_seen():
    """A control: readers that find nothing would pass the tests below."""
    text = "  url: https://host.example/us/it/security\n[a](http://b.example/c), or me@d.example."
    seen = ["https://host.example/us/it/security", "http://b.example/c", "me@d.example"]
    assert unset(text, []) == seen
    assert unset(text, ["https://host.example/us/it", "me@d.example"]) == ["http://b.example/c"]
    assert unset(text, ["https://host.example/us/i"]) == seen
    assert unset("ruff@0.17, prior@home, a://", []) == []
    project = {"urls": {"Repository": "https://a.example"}, "authors": [{"email": "b@c.example"}]}
    assert addresses(project) == ["https://a.example", "b@c.example"]
    assert len(dict(written())) >= len(DOCUMENTS) + 2


@for_each("name", sorted(dict(written())))
def test_documents_name_no_address_but_those_that_are_set(name):
    assert unset(dict(written())[name], addresses(PROJECT["project"])) == []


def test_the_repository_is_the_same_wherever_it_is_named():
    """And is named nowhere as long as it is not set."""
    urls = PROJECT["project"].get("urls", {})
    assert not urls or "Repository" in urls
    assert all(re.fullmatch(r"https://[\w.-]+\.\w+(/\S*)?", url) for url in urls.values())
    recipe = (HOUSE / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
    named = [urls["Repository"]] if urls else []
    assert re.findall(r"^  repository: (.*)$", recipe, re.M) == named
    assert [value for key, value in citation().items() if key == "repository-code"] == named
