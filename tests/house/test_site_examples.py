"""What the pages of the site show is what happens."""

from __future__ import annotations

import re
import subprocess
import sys

import page_blocks
import pandas as pd
import pytest
from page_blocks import SITE, TABLE, blocks, commands, run_page

from mechdesign.cli import main

PAGES = sorted(SITE.rglob("*.md"))
#: Pages that take more than a second or two.
SLOW = {
    "learn/researcher",
    "learn/auditor",
    "do/compare-notions",
    "do/joint-table",
    "do/many-symbols",
    "do/several-columns",
    "do/show-a-reviewer",
    "do/extend",
    "do/write-your-own",
    "coming-from/opendp",
    "coming-from/cvxpy",
}


def name_of(path):
    return path.relative_to(SITE).with_suffix("").as_posix()


SHOWN = [
    path
    for path in PAGES
    if any(b["language"] in ("python", "sh") for b in blocks(path.read_text(encoding="utf-8")))
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with the table that examples use, and a terminal of one width."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    run_page(TABLE)
    return tmp_path


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=name_of(path), marks=[pytest.mark.slow] * (name_of(path) in SLOW))
        for path in SHOWN
    ],
)
def test_the_examples_of_a_page_run(path, folder):
    if path == TABLE:
        return
    if "\nclass " not in path.read_text(encoding="utf-8"):
        assert run_page(path)
        return
    # Classes register themselves for good, so that they are defined in a process of their own.
    command = [sys.executable, "-W", "error", page_blocks.__file__, str(path)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_both_ways_of_the_readme_give_one_report(folder):
    """A file and a data frame, with one key: who runs both has told nothing twice."""
    text = (SITE.parents[1] / "README.md").read_text(encoding="utf-8")
    (first,) = re.findall(r"&& \.venv/bin/(mechdesign design .*)", text)
    assert [main(arguments) for arguments, _ in commands(first)] == [0]
    shown = [b["content"] for b in blocks(text) if "reports.csv" in b["content"]]
    assert [main(arguments) for arguments, _ in commands("".join(shown))] == [0, 0, 0]
    (code,) = [b["content"] for b in blocks(text) if "md.privatize(" in b["content"]]
    names = {}
    exec(compile(code, "README.md", "exec", dont_inherit=True), names)
    drawn = pd.read_csv("reports.csv")["class"]
    assert drawn.nunique() >= 4
    assert names["reports"]["class"].to_pylist() == drawn.tolist()


def test_every_recipe_has_an_example():
    recipes = [path for path in PAGES if path.parent.name == "do" and path.stem != "index"]
    assert len(recipes) >= 20
    assert set(recipes) <= set(SHOWN)


def page(folder, text):
    path = folder / "page.md"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        "```python\n1 / 0\n```\n",
        "```python\nprint(2)\n```\n\n```text\n3\n```\n",
        "```sh\nmechdesign check nothing.json\n```\n",
        "```sh\nmechdesign doctor data  # exit 1\n```\n",
        "```sh\nrm people.csv\n```\n",
    ],
)
def test_an_example_that_is_wrong_is_noticed(text, folder):
    """Controls: an error, another output, another exit code, a command of something else."""
    with pytest.raises((AssertionError, ZeroDivisionError)):
        run_page(page(folder, text))


def test_blocks_are_read_with_what_they_print(folder):
    text = (
        "```python\nx = 2\n```\n\nwords\n\n```python\nprint(x, x)\n```\n\n```text\n2   ...\n```\n"
    )
    assert [block["printed"] for block in blocks(text)] == [None, "2   ...\n"]
    assert run_page(page(folder, text + "\n```bash\nnot run\n```\n")) == 2
    assert list(commands("mechdesign a \\\n  -b\nmechdesign c  # exit 4\n")) == [
        (["a", "-b"], 0),
        (["c"], 4),
    ]
