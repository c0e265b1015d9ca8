"""Single changes of theory and noise are seen by the checks of results, or by the file's tests."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import mutants
import pytest

HERE = Path(__file__).parents[1]


def ran(count, *options):
    done = subprocess.run(
        [sys.executable, str(HERE / "mutants.py"), str(count), *options],
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_changes_have_names_that_stay():
    """Two changes of one place differ, and no line number is in a name."""
    for module in mutants.FILES:
        found = mutants.sites(module)
        assert len(found) >= 2, module
        assert len({(m.line, m.column, m.before, m.after) for m in found}) == len(found)
        assert all(m.before != m.after for m in found)


@pytest.mark.slow
def test_a_change_is_made_and_every_change_can_be():
    for module in mutants.FILES:
        text = mutants.source_of(module)
        plain = ast.unparse(ast.parse(text))
        for mutant in mutants.sites(module)[::20]:
            changed = ast.unparse(mutants.changed_tree(text, mutant))
            assert changed != plain
            assert mutant.after in changed


def test_the_page_lists_what_is_not_seen():
    page = HERE.parent / "notebooks" / "site" / "understand" / "papers.md"
    text = page.read_text(encoding="utf-8")
    for change, reason in mutants.SURVIVORS.items():
        name, _, what = change.partition(": ")
        assert f"| `{name}` | `{what}` | {reason} |" in text
    assert text.count("| `") == 2 * len(mutants.SURVIVORS)


@pytest.mark.slow
def test_changes_are_seen():
    rows = ran(170, "--tests")
    assert [row["seen"] for row in rows if row["kind"] == "control"] == ["survived"]
    named = [row for row in rows if row["kind"] == "named"]
    assert len(named) == len(mutants.NAMED)
    assert [row["id"] for row in named if row["seen"] != "checks"] == []
    others = [row for row in rows if row["kind"] not in ("named", "control")]
    assert len(others) >= 150
    assert sum(row["seen"] == "checks" for row in others) >= 140  # as the page says
    assert not [row["id"] for row in rows if row["seen"] == "not applied"]
    assert {row["id"] for row in others if row["seen"] == "survived"} <= set(mutants.SURVIVORS)
    assert {row["kind"] for row in others} == {"sign", "role", "factor", "exponent"}
