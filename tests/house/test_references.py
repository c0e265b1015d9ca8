"""One bibliography: every key that is cited is in it, and every entry is cited."""

from __future__ import annotations

import ast
import functools
import re

import pytest
from checks import for_each
from package_source import FILES, ROOT, tree

from mechdesign.evidence.controls import controls
from mechdesign.papers.catalogue import errata, known_theorems
from mechdesign.privacy import NOTIONS
from mechdesign.solve import choice, closed_form
from mechdesign.solve import method as methods
from mechdesign.utility import UTILITIES

TEXT = (ROOT / "references.bib").read_text(encoding="utf-8")


def entries(text):
    """Key, kind and fields of each entry, read by counting braces."""
    found = []
    for start in re.finditer(r"@(\w+)\s*\{\s*([^,\s]+)\s*,", text):
        depth, place = 1, start.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[place], 0)
            place += 1
        body = text[start.end() : place - 1]
        fields = {
            name.lower(): value.strip()
            for name, value in re.findall(r"(\w+)\s*=\s*\{((?:[^{}]|\{[^{}]*\})*)\}", body)
        }
        found.append((start[2], start[1].lower(), fields))
    return found


ENTRIES = entries(TEXT)
KEYS = {key for key, _, _ in ENTRIES}

# A key in square brackets that is not an index or a type, such as [Duchi2013] or [GrosseID].
MARK = re.compile(r"(?<![\w\])])\[([A-Za-z]{3,}(?:\d{4})?[A-Za-z]*)\](?!\()")


def docstrings():
    for name, path in FILES.items():
        for node in ast.walk(tree(name)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                text = ast.get_docstring(node)
                if text:
                    yield f"{path.name}:{getattr(node, 'name', 'module')}", text


def subclasses(cls):
    for child in cls.__subclasses__():
        yield child
        yield from subclasses(child)


def ours(classes):
    return [cls for cls in classes if cls.__module__.startswith("mechdesign.")]


@functools.cache
def cited():
    """Every citation as (where, key)."""
    return sorted(set(_cited()))


def _cited():
    for cls in (*ours(NOTIONS.values()), *ours(UTILITIES.values())):
        for key in cls.references:
            yield cls.__name__, key
    for cls in ours(subclasses(methods.Method)):
        for part in filter(None, cls.source.split(",")):
            yield cls.__name__, part.split()[0]
    for entry in (*known_theorems(), *errata()):
        if entry.source:
            yield entry.id, entry.source
    for control in controls():
        for key in control.source:
            yield control.name, key
    for place, text in docstrings():
        for key in MARK.findall(text):
            yield place, key


@pytest.mark.slow
def test_the_readers_see_citations_of_every_kind():
    """A control: readers that find nothing would pass the tests below."""
    assert ("PML", "GrosseID") in cited()
    assert ("sparse vector", "Lyu2017") in cited()
    assert ("LDP", "Duchi2013") in cited()
    assert ("BayesGain", "Alvim2012") in cited()
    assert ("HighPrivacyPML", "SaeidianPMC") in cited()
    assert ("_audit.py:AuditReport", "Issa2020") in cited()
    assert ("PMC-Thm-4.1", "SaeidianPMC") in cited()
    assert ("E7", "NuradhaGoldfeld") in cited()
    assert closed_form.CLOSED_FORMS
    assert ("HighsSimplex", "HuangfuHall2018") in cited()
    assert choice.__doc__  # it knows every method, so importing it brings them all
    assert MARK.findall("x[index], list[str], ([Duchi2013]; [GrosseID]) K[x,y] [.5, .3]") == [
        "Duchi2013",
        "GrosseID",
    ]


@for_each(("place", "key"), cited)
def test_every_key_that_is_cited_is_in_the_bibliography(place, key):
    assert key in KEYS


@for_each("key", sorted(KEYS))
def test_every_entry_is_cited(key):
    assert key in {name for _, name in cited()}


def test_keys_occur_once():
    assert len(ENTRIES) == len(KEYS) > 0
    assert len(re.findall(r"^\s*@", TEXT, re.MULTILINE)) == len(ENTRIES)


@for_each(("key", "kind", "fields"), ENTRIES)
def test_entries_can_be_found_in_a_library(key, kind, fields):
    assert {"author", "title", "year"} <= set(fields), key
    assert all(fields.values())
    assert re.fullmatch(r"(19|20)\d\d", fields["year"])
    assert kind in ("article", "inproceedings", "book", "misc", "techreport", "phdthesis")
    if kind == "inproceedings":
        assert fields["booktitle"]


@for_each(("key", "fields"), [(key, fields) for key, _, fields in ENTRIES])
def test_entries_have_an_identifier_or_say_why_not(key, fields):
    found = {"doi", "eprint"} & set(fields)
    assert bool(found) is not bool(fields.get("nodoi")), key
    assert re.fullmatch(r"10\.\d{4,9}/[^\s{}]+", fields.get("doi", "10.1000/none"))
    assert re.fullmatch(r"\d{4}\.\d{4,5}", fields.get("eprint", "2000.00000"))
    if "eprint" in fields:
        assert fields["archiveprefix"] == "arXiv"


def test_no_two_entries_are_one_paper():
    for name in ("doi", "eprint", "title"):
        found = [
            re.sub("[{}]", "", fields[name]).lower() for *_, fields in ENTRIES if name in fields
        ]
        assert not {value for value in found if found.count(value) > 1}


@for_each("cls", ours(NOTIONS.values()))
def test_every_notion_cites_something(cls):
    assert cls.references
