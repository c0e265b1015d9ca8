"""Every numbered statement of the papers is there, and what is said to check it does."""

from __future__ import annotations

import re
from collections import Counter
from functools import reduce
from pathlib import Path

from checks import for_each, refused

import mechdesign as md
from mechdesign.papers import catalogue, statements
from mechdesign.views import tables

ENTRIES = catalogue.statements()
#: How the papers number, counted by hand: kinds with one number each, or with the numbers listed.
PRINTED = {
    "ID": {"Def": 4, "Thm": 3, "Prop": 3, "Cor": 5, "Ex": 1, "Rem": 1, "Fig": 1, "Tab": 1},
    "PMC": {
        "Def": 12,
        "Thm": 6,
        "Prop": 3,
        "Cor": 5,
        "Lem": 2,
        "Rem": 6,
        "Ex": 6,
        "Fig": 1,
    },
    "PML": {
        "Def": ["2.1", "2.2", "2.3", "2.5", "2.6", "2.7", "3.3", "3.9", "4.1", "4.4"],
        "Thm": ["2.4", "2.8", "3.4", "3.5", "3.7", "4.2", "4.3", "4.5"],
        "Prop": ["3.6", "3.8", "4.6"],
        "Cor": ["3.10"],
        "Ex": ["3.1", "3.2", "3.11"],
        "Rem": ["B.1"],
        "Fig": 1,
    },
    "PP": {"Def": 3, "Thm": 4, "Cor": 1, "Rem": 8, "Fig": 1},
}


def test_every_numbered_statement_is_there_and_no_other():
    printed = {
        f"{paper}-{kind}-{number}"
        for paper, kinds in PRINTED.items()
        for kind, numbers in kinds.items()
        for number in (numbers if isinstance(numbers, list) else range(1, numbers + 1))
    }
    assert {entry.id for entry in ENTRIES} == printed
    assert len(ENTRIES) == len(printed) == 104


@for_each("entry", ENTRIES)
def test_what_a_statement_names_exists(entry):
    assert entry.says
    assert entry.place.split()[-1] == entry.id.split("-", 2)[-1]
    for name in entry.implemented:
        assert reduce(getattr, name.split("."), md) is not None
    assert bool(entry.checked) != bool(entry.cannot)
    for name in entry.checked:
        assert catalogue.find_theorem(name)
    for name in entry.errata:
        assert catalogue.find_erratum(name).source == entry.source
    if entry.status != "as printed":
        assert len(entry.partly or entry.cannot) > 20


def test_every_result_and_erratum_belongs_to_a_statement():
    named = {catalogue.find_theorem(name).id for entry in ENTRIES for name in entry.checked}
    for result in catalogue.known_theorems():
        # Sentences between the numbered statements have identifiers of their own.
        if not result.id.startswith("D-") and not re.search(r"-(Sec|Eq)-", result.id):
            assert result.id in named, result.id
    mistakes = {name for entry in ENTRIES for name in entry.errata}
    numbered = re.compile(r"^(Theorem|Proposition|Corollary|Example|Remark|Table) ")
    for entry in catalogue.errata():
        if numbered.match(entry.place) and "proof" not in entry.place:
            assert entry.id in mistakes, entry.id


def test_totals_are_counted_and_quoted():
    counts = Counter(entry.status for entry in ENTRIES)
    table = tables.coverage_totals(ENTRIES)
    shown = [int(cell.value) for cell in table.rows[-1][1:]]
    assert shown == [counts["as printed"], counts["partly"], counts["not checkable"]]
    page = Path(__file__).parents[2] / "notebooks" / "site" / "understand" / "papers.md"
    told = " ".join(page.read_text(encoding="utf-8").split())
    assert f"{len(ENTRIES)} numbered statements" in told
    assert f"{counts['as printed']} are checked as printed" in told
    assert f"{counts['partly']} in part" in told
    readme = (page.parents[3] / "README.md").read_text(encoding="utf-8")
    totals = f"{counts['as printed']} checked as printed, {counts['partly']} in part"
    assert totals in readme
    assert f"{len(ENTRIES)} statements" in readme


def test_a_statement_without_a_check_or_a_reason_is_refused(monkeypatch):
    monkeypatch.setattr(statements, "STATEMENTS", {})
    refused(lambda: statements.statement("X-Thm-1", source="", says="something"), "neither")
    refused(
        lambda: statements.statement(
            "X-Thm-1", source="", says="something", checked="PMC-Thm-1", cannot="a reason"
        ),
        "both",
    )
    statements.statement("X-Thm-1", source="", says="something", cannot="it is a matter of taste")
    assert statements.STATEMENTS["X-Thm-1"].status == "not checkable"
