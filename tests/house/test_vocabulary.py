"""One standard term for one thing: words of a dialect stand nowhere in the rooms.

Names, docstrings, comments and other text of every module are cut into words, at underscores and
capitals too, and held against the terms of its room.
"""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
from pathlib import Path

import pytest
from checks import for_each

import mechdesign

ROOT = Path(mechdesign.__file__).parent

# What must not be said, as the words of the text in lower case with one space between them, and
# what to say instead.
EVERYWHERE = {
    r"worths?": "value, objective",
    r"pull(s|ed|ing)?": "Aᵀy, reduced cost",
    r"bit(es|ing|ten)": "binds",
    r"tell(s|ing)? (nothing|all|everything)": "uninformative, identity (full disclosure)",
    r"solve near": "warm solve",
    r"remember(s|ed|ing)?": "keeps, warm start",
    r"raised": "at its upper lift bound; regularised; rounded up",
    r"hop(e|es|ed|ing)": "gain adversaries",
    r"fear(s|ed|ing)?": "cost adversaries",
    r"(un)?seen|sights?": "observed, outcome, random outcome",
    r"in words": "description",
    r"subjects|items|facts|draws|thetas?": "what it holds",
    r"dual numbers?": "dual variables",
    r"budgets?": "constraint on a sum over outcomes, work limit",
    r"only grows|passes zero": "bracketed root of a monotone function",
    r"made true": "dual variables projected to feasibility",
    r"excess of privacy|spent": "evaluation",
    r"desk|rivals?|haste|hasty|calm": "page state, alternative, quick limit, debounce",
}
PRIVACY = {r"peaks?|troughs?": "sum of column maxima, of column minima"}
SOLVE = {
    r"neighbours?": "warm start, nearby levels",
    r"suggest(s|ed)?|settle(s|d)?": "affine direction, corrector direction",
    r"predict(s|ed)?": "centring parameter",
    r"aims?": "targets of the complementarity products",
}

# Rooms (or modules of the ground) and what is asked of each beside EVERYWHERE.
ROOMS: dict[str, dict[str, str]] = {
    "privacy": PRIVACY,
    "utility": {},
    "solve": SOLVE,
    "certificate": SOLVE,
    "theory": {},
    "papers": {},
    "noise": {},
    "mechanism": {},
    "prior": {},
    "exact": {},
    "errors": {},
    "labels": {},
    "published": {},
}

# Members of Python's own classes, as in `table.items()` and `hasattr(table, "items")`.
OF_PYTHON = {"items"}

# A module, a term that may stand there, and why.
ALLOWED = [
    ("solve/_extremal.py", "raised", "public parameter of `binary_mechanism`"),
    ("privacy/robust.py", "draws", "public parameter: a number of draws from the prior"),
    ("papers/pointwise_maximal_cost.py", "draws", "independent draws of a sample"),
    ("theory/adversaries.py", "seen", "public parameter of every leakage of an observation"),
    ("certificate/verify.py", "neighbours", "the parameter of DP in a file, and a relation"),
    ("errors.py", "raised", "of errors, as Python says it"),
    ("certificate/verify.py", "items", "keywords of JSON Schema"),
]


def texts(source):
    """Every name, comment and piece of text of a module, with its line."""
    for node in ast.walk(ast.parse(source)):
        line = getattr(node, "lineno", 0)
        for field in ("id", "attr", "arg", "name", "module", "asname"):
            name = getattr(node, field, None)
            if isinstance(name, str) and not (field == "attr" and name in OF_PYTHON):
                yield line, name
        text = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and text not in OF_PYTHON:
            yield line, text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


@functools.cache
def words_of(text):
    """Lower-case words with one space between them; ``DualNumber`` and ``dual_number`` are two."""
    text = re.sub(r"\.items\(", "(", text)  # in the example of a docstring
    split = re.sub(r"(?<=[a-zà-ÿ0-9])(?=[A-Z])", " ", text)
    return " ".join(re.findall(r"[^\W_]+", split)).lower()


def offences(source, terms):
    """The lines and forbidden terms of a module."""
    pattern = re.compile(rf"\b(?:{'|'.join(terms)})\b")
    told = functools.cache(lambda text: [f.group() for f in pattern.finditer(words_of(text))])
    return [(line, term) for line, text in texts(source) for term in told(text)]


def modules():
    for room in ROOMS:
        alone = (ROOT / room).with_suffix(".py")
        for path in [alone] if alone.exists() else sorted((ROOT / room).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), room


@for_each(("module", "room"), list(modules()))
def test_the_terms_are_those_of_the_field(module, room):
    found = offences((ROOT / module).read_text(encoding="utf-8"), {**EVERYWHERE, **ROOMS[room]})
    allowed = {term for where, term, _ in ALLOWED if where == module}
    assert allowed <= {term for _, term in found}, "an allowance that nothing uses is to go"
    assert not [offence for offence in found if offence[1] not in allowed]


def test_every_room_has_modules_and_every_allowance_a_reason():
    found = {room for _, room in modules()}
    assert found == set(ROOMS)
    assert {where for where, *_ in ALLOWED} <= {module for module, _ in modules()}
    assert all(reason for *_, reason in ALLOWED)


@for_each(
    ("source", "term"),
    [
        ("def column_worth(x):\n    return x\n", "worth"),
        ("class SearchBudget:\n    pass\n", "budget"),
        ('"""Bounds.\n\nWhat an outcome that tells\n    nothing has."""\n', "tells nothing"),
        ("x = 1  # where a function that only grows passes zero\n", "only grows"),
        ("raise ValueError(f'{2} dual numbers')\n", "dual numbers"),
        ("def f(*, theta=0):\n    return theta\n", "theta"),
        ("found = method.solve_near(program)\n", "solve near"),
        ("from m import facts\n", "facts"),
    ],
)
def test_a_planted_offence_is_found(source, term):
    assert term in [found for _, found in offences(source, EVERYWHERE)]


@pytest.mark.parametrize("source", ["worthwhile = 1  # unhopeful\n", "x = 'value of a kernel'\n"])
def test_parts_of_other_words_are_none(source):
    assert offences(source, EVERYWHERE) == []


#: Terms of the field that stand for those of a dialect, which readers of the site look up.
TERMS = (
    "affine direction", "bind", "centring parameter", "complementarity product", "cost adversary",
    "dual variables", "full disclosure", "gain adversary", "hockey-stick divergence",
    "projected dual variables", "random outcome", "reduced cost", "regularised",
    "sum of column maxima", "uninformative", "upper lift bound", "value", "warm start",
)  # fmt: skip
GLOSSARY = ROOT.parent / "notebooks" / "site" / "look-up" / "glossary.md"


@pytest.mark.skipif(not GLOSSARY.exists(), reason="pages of the site are not here")
def test_the_glossary_has_the_terms_of_the_field_once_each_and_no_others():
    entries = re.findall(r"^(?! |`|#)(\S.*)\n  \S", GLOSSARY.read_text(encoding="utf-8"), re.M)
    assert len(set(entries)) == len(entries) > 30
    assert set(TERMS) <= set(entries)
    text = "\n".join(entries)
    said = {what for terms in ROOMS.values() for what in (*EVERYWHERE, *terms)}
    assert not re.findall(rf"\b(?:{'|'.join(said)})\b", words_of(text))
