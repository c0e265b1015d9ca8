"""The checks of the built site find what they are for."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import pytest
from checks import for_each

SITE = Path(__file__).parents[2] / "notebooks" / "site"
sys.path.insert(0, str(SITE))

from generator import (  # noqa: E402
    bibliography,
    checks,
    docstrings,
    documents,
    notions,
    problems,
    reference,
)

import mechdesign as md  # noqa: E402
from mechdesign import errors  # noqa: E402
from mechdesign.privacy.notion import NOTIONS  # noqa: E402

GOOD = """<html><head><link rel="stylesheet" href="s.css"><link rel="next" href="b.html"></head>
<body><h1 id="top">A</h1><a href="b.html#there">b</a><a href="#top">a</a>
<a href="https://example.org">out</a><img src="data:image/png;base64,AA=="></body></html>"""
OTHER = '<html><body><p id="there">B</p><dt id="mechdesign.PML"></dt></body></html>'


def built(
    folder, page=GOOD, style="p { color: red }", script="var x = 'http://www.w3.org/2000/svg'"
):
    (folder / "a.html").write_text(page, encoding="utf-8")
    (folder / "b.html").write_text(OTHER, encoding="utf-8")
    (folder / "s.css").write_text(style, encoding="utf-8")
    (folder / "s.js").write_text(script, encoding="utf-8")
    return checks.problems(folder, ["mechdesign.PML"])


def test_pages_without_a_mistake_pass(tmp_path):
    assert built(tmp_path) == []


@for_each(
    ("was", "becomes", "found"),
    [
        ("b.html#there", "c.html", "no file for c.html"),
        ("b.html#there", "b.html#nowhere", "no anchor for b.html#nowhere"),
        ("#top", "#bottom", "no anchor for #bottom"),
        ("data:image/png;base64,AA==", "https://example.org/x.png", "loads https://example.org"),
        ("data:image/png;base64,AA==", "x.png", "no file for x.png"),
        ('href="s.css"', 'href="//example.org/s.css"', "loads //example.org/s.css"),
        ("<body>", "<body><script src='http://example.org/x.js'></script>", "loads http:"),
        ("<body>", "<body style='background: url(https://example.org/x)'>", "loads https:"),
        ("<body>", "<body><style>@import 'https://example.org/x'</style>", "loads https:"),
        ("<body>", "<body><dl><dt>Variables<span>:</span></dt></dl>", "as they are documented"),
    ],
)
def test_a_mistake_in_a_page_is_found(tmp_path, was, becomes, found):
    assert was in GOOD
    (line,) = built(tmp_path, GOOD.replace(was, becomes, 1))
    assert found in line
    assert line.startswith("a.html: ")


def test_styles_and_scripts_that_load_from_elsewhere_are_found(tmp_path):
    assert len(built(tmp_path, style="@font-face { src: url('https://example.org/f') }")) == 1
    assert len(built(tmp_path, script="fetch('https://example.org/x')")) == 1
    assert len(built(tmp_path, script='s.src = "//example.org/x"')) == 1


def test_a_name_without_an_entry_is_found(tmp_path):
    built(tmp_path)
    assert checks.problems(tmp_path, ["mechdesign.LDP"]) == [
        "no page has an entry for mechdesign.LDP"
    ]


def test_every_public_name_is_asked_for():
    asked = set(reference.expected())
    for name in md.__all__:
        assert {f"mechdesign.{name}", f"module-mechdesign.{name}"} & asked, name
    for module in (md.privacy, md.utility, md.theory, md.noise, md.places, md.solve):
        for name in module.__all__:
            own = f"{module.__name__}.{name}"
            assert own in asked or f"mechdesign.{name}" in asked, own


def test_every_room_with_public_names_has_a_page():
    pages = reference.pages()
    assert "autofunction:: mechdesign.design" in pages["solve"]
    assert "autoclass:: mechdesign.PML" in pages["privacy"]
    assert sum(text.count(".. autofunction:: mechdesign.plan\n") for text in pages.values()) == 1


def test_every_code_has_a_page_and_every_class_a_code():
    pages = problems.pages()
    assert sorted(pages) == sorted(f"{kind.code}.md" for kind in errors.KINDS)
    assert "**What to do.**" in pages["MD101.md"]
    assert "[MD101](errors/MD101.md)" in problems.tables()


def test_every_notion_is_in_the_glossary_with_its_sources():
    listed = [term for cls in ours() for term in notions.terms(cls)]
    assert len(set(listed)) == len(listed) > 30
    assert {"PML", "PMC", "LIP", "ALIP", "LDP", "DP", "MetricPrivacy"} <= set(listed)
    assert {"pointwise maximal leakage", "asymmetric local information privacy"} <= set(listed)
    assert {"local differential privacy", "(ε, δ)-local differential privacy"} <= set(listed)
    page = (SITE / "look-up" / "glossary.md").read_text("utf-8")
    assert "glossary-of-notions.txt" in page
    assert not set(listed) & set(re.findall(r"^(?! |`|#)(\S.*)\n  \S", page, re.M))
    for cls in ours():
        text = notions.entry(cls)
        assert cls.references, cls.__name__
        assert all(f"bib-{key.lower()}>" in text for key in cls.references)
        assert notions.first_paragraph(cls)[:20] in text


def ours():
    return [cls for cls in NOTIONS.values() if cls.__module__.startswith("mechdesign.")]


def test_every_source_is_in_the_bibliography():
    found = bibliography.entries()
    file = Path(md.__file__).parent / "references.bib"
    assert sorted(found) == sorted(re.findall(r"@\w+\{(\w+)", file.read_text("utf-8")))
    for fields in found.values():  # those of the longest titles and the deepest braces, too
        assert {"author", "title", "year"} <= set(fields)
    assert found["Alvim2012"]["doi"] == "10.1109/CSF.2012.26"
    page = bibliography.page()
    for key in found:
        assert f"(bib-{key.lower()})=" in page
    assert "\\" not in page
    assert "Mário S. Alvim" in page
    assert "Gheorghe Zbăganu" in page


ATTRIBUTES = """What it is.

Attributes
----------
lower, upper : ends of the interval, such as
    0 and 1
level : in nats

Examples
--------
>>> 1
"""


def test_attributes_that_share_a_line_stay_together():
    lines = ATTRIBUTES.splitlines()
    docstrings.attributes(lines)
    assert lines == [
        "What it is.",
        "",
        ":Attributes:",
        "    * **lower, upper** – ends of the interval, such as",
        "      0 and 1",
        "    * **level** – in nats",
        "",
        *ATTRIBUTES.splitlines()[-3:],
    ]
    text = list(lines)
    docstrings.attributes(lines)
    assert lines == text


@pytest.mark.parametrize("entry", ["lower, upper", "lower and upper : ends", "  lower : an end"])
def test_attributes_without_what_they_are_stop_the_build(entry):
    with pytest.raises(ValueError, match="no 'name : what it is'"):
        docstrings.attributes(["Attributes", "----------", entry])


def test_sentences_of_properties_are_no_types():
    lines = ["The columns: risks too."]
    docstrings.before(None, "property", "columns", None, None, lines)
    assert ":" not in lines[0]
    docstrings.after(None, "property", "columns", None, None, lines)
    assert lines == ["The columns: risks too."]


def test_attributes_of_every_public_class_are_written_so_and_exist():
    found = 0
    for anchor in reference.expected():
        if anchor.startswith("module-"):
            continue
        place, name = anchor.rsplit(".", 1)
        cls = getattr(reference.module(place), name, None)
        if not isinstance(cls, type):
            continue
        lines = (inspect.getdoc(cls) or "").splitlines()
        docstrings.attributes(lines)
        for names in re.findall(r"^    \* \*\*(.*?)\*\* – ", "\n".join(lines), re.M):
            found += 1
            for each in names.split(", "):
                kept = {n for base in cls.__mro__ for n in getattr(base, "__annotations__", {})}
                # Looking for the source of a class takes much longer than the rest.
                is_there = hasattr(cls, each) or each in kept
                assert is_there or f"self.{each}" in inspect.getsource(cls), (name, each)
    assert found > 200


def test_links_of_documents_lead_to_pages_of_the_site():
    text = "[a](benchmarks/places.md#x) [b](mechdesign/errors.py) [c](https://example.org) [d](#e)"
    assert documents.with_links(text, "CONTRIBUTING.md") == (
        "[a](benchmarks/places.md#x) b (`mechdesign/errors.py`) [c](https://example.org) "
        "[d](contributing.md#e)"
    )
