"""What a release promises: one version, extras that are what the code says, documents that fit."""

from __future__ import annotations

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
from mechdesign.extras import BASE, EXTRAS, brought_by

ROOT = Path(md.__file__).parent
HOUSE = ROOT.parent
PROJECT = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS_ASKED = PROJECT["project"]["optional-dependencies"]
MODULE_OF = {
    "python-flint": "flint",
    "python-calamine": "python_calamine",
    "scikit-learn": "sklearn",
}


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


def modules(requirements):
    """The modules that requirements bring, those of other extras of the package included."""
    found = set()
    for text in requirements:
        if held := re.fullmatch(r"mechdesign\[(.*)\]", text):
            for extra in held[1].split(","):
                found |= modules(EXTRAS_ASKED[extra])
        else:
            (name,) = re.findall(r"^[\w-]+", text)
            found.add(MODULE_OF.get(name, name))
    return found


def test_the_package_and_its_extras_bring_the_modules_that_the_code_expects_of_them():
    assert modules(PROJECT["project"]["dependencies"]) == set(BASE)
    asked = {**EXTRAS_ASKED}
    every = modules(asked.pop("all"))
    del asked["test"], asked["docs"]  # which the package itself never imports
    assert set(EXTRAS) == set(asked)
    for name, brought in EXTRAS.items():
        assert set(brought) <= modules(asked[name]), name
        assert not set(BASE) & set(brought), name
        assert set(brought) <= every, name
    # A collector on PostgreSQL is a page too.
    assert set(EXTRAS["web"]) <= modules(asked["postgresql"])


def test_the_lowest_versions_are_those_that_are_tested():
    lines = (HOUSE / ".ci" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    lowest = dict(
        re.fullmatch(r"([\w-]+)>=([\d.]+)(?:,!=[\d.]+)*", text).groups()
        for text in PROJECT["project"]["dependencies"]
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
    """What a script prints where nothing that extras bring is installed, nor pandas and polars."""
    hidden = sorted({"pandas", "polars", *(m for group in EXTRAS.values() for m in group)})
    return subprocess.run(
        [sys.executable, "-c", HIDDEN.replace("{hidden!r}", repr(hidden)) + script],
        capture_output=True,
        text=True,
        timeout=300,
        env=draws_decide_nothing(),
    )


@pytest.mark.slow
def test_the_first_page_uses_what_the_package_brings_and_nothing_else(tmp_path):
    """Designs, tables, estimates and audits; the doctor, too."""
    done = hidden_run(f"""
import os
os.chdir({str(tmp_path)!r})
from mechdesign.cli import main
with open("people.csv", "w") as file:
    file.writelines(["id,class\\n", *(f"{{i}},{{'abb'[i % 3]}}\\n" for i in range(99))])
for line in (
    "design people.csv --column class --privacy ldp:1 --utility estimation --output m.json",
    "audit m.json",
    "verify m.json",
    "apply m.json people.csv --column class --row id --key k.key --output r.csv --ledger l.jsonl",
    "estimate m.json r.csv --column class",
    "plan m.json --error 0.01",
    "doctor",
    "",
):
    assert main(line.split()) == 0, line
import mechdesign as md
from pyarrow import csv
people = csv.read_csv("people.csv")
reports = md.privatize(people, "class", md.load("m.json"), row="id", key=md.release_key("k.key"))
print(md.estimate(reports, md.load("m.json"), "class").reports)
""")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "99"


def test_what_is_missing_names_its_extra(tmp_path):
    """Every way to what an extra brings."""
    done = hidden_run(f"""
import os
os.chdir({str(tmp_path)!r})
import mechdesign as md
from mechdesign.cli import main
kernel = md.design(md.Prior([0.5, 0.3, 0.2]), md.utility.Hamming(), md.LDP(1))
md.save(kernel, "m.json")
picture = "report m.json --kind kernel -o x.svg"
for line in (picture, "report m.json -o x.html", "explore", "serve m.json"):
    assert main(line.split()) == 3, line
def learned():
    from mechdesign.evidence.partition import learned_partition
    learned_partition("learned", None, 0)
def measured():
    from mechdesign.release.measurement import to_opendp
    to_opendp(kernel)
def transformed():
    from mechdesign.release.transformer import Privatizer
for task in (lambda: md.plot_kernel(kernel.mechanism), learned, measured, transformed):
    try:
        task()
    except md.errors.MissingLibraryError as problem:
        print(problem)
""")
    assert done.returncode == 0, done.stderr
    said = "{} is not installed; install it with: pip install 'mechdesign[{}]'"
    shown = re.findall(r"^error: (.*) \[MD602\]$", done.stderr, re.M)
    web = [said.format(name, "web") for name in ("matplotlib", "jinja2", "nicegui", "granian")]
    assert shown == web
    assert done.stdout.splitlines()[-4:] == [
        said.format("matplotlib", "web"),
        *(said.format(name, name) for name in ("sklearn", "opendp", "sklearn")),
    ]


def test_an_import_in_vain_names_what_to_install():
    with pytest.raises(MissingLibraryError) as found, brought_by("dask"):
        import no_such.module
    said = "is not installed; install it with: pip install 'mechdesign[dask]'"
    again = pickle.loads(pickle.dumps(found.value))
    assert (again.library, again.extra, str(again)) == ("no_such", "dask", f"no_such {said}")
    with pytest.raises(MissingLibraryError) as found, brought_by("dask"):
        from math import no_such  # noqa: F401
    assert str(found.value) == f"a newer math {said}"


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
    asked = PROJECT["project"]["dependencies"]
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
