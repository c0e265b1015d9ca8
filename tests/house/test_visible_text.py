"""No label acts on a terminal, a page or a spreadsheet: what cannot be seen is a code."""

from __future__ import annotations

import csv
import json
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import AlikeWarning, MechdesignError, quote, visible, visible_lines
from mechdesign.kernel_files import kernel_csv
from mechdesign.labels import excel_safe_cell, near_miss, short_names
from mechdesign.views.pages import write_report

# Colours, a clearing of the screen, writing from right to left, isolates, lines, nothing to see.
NASTY = [
    "\x1b[31mred",
    "\x1b[2J",
    "\u202egnp.exe",
    "\u2066a\u2069",
    "two\nlines",
    "a\rb",
    "\x07\x08",
    "\u2028x",
    "z\u200bw",
    "\x9b31m",
    "=cmd|' /C calc'!A0",
    "plain",
]
COLUMN = "x\x1b[2J\u202e"


def clean(text):
    return [line for line in text.split("\n") if not line.isprintable()] == []


@pytest.fixture
def design():
    return md.design(md.Prior.uniform(NASTY), md.utility.Hamming(), md.LDP(3))


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("t.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([COLUMN])
        writer.writerows([[label] for label in NASTY] * 30)
    return "t.csv"


def test_every_category_of_what_cannot_be_seen_is_written_as_a_code():
    """Cc, Cf, Cs, Co, Cn, Zl, Zp, and Zs but the space."""
    unseen = 0
    for code in range(0x110000):
        sign = chr(code)
        hidden = unicodedata.category(sign)[0] == "C" or (
            unicodedata.category(sign)[0] == "Z" and sign != " "
        )
        unseen += hidden
        if hidden:
            assert visible(sign).isascii()
        elif code % 97 == 0:
            assert visible(sign) == sign
    assert unseen > 100_000
    assert visible_lines("a\n\x1b\n") == "a\n\\x1b\n"


@for_each(
    "text",
    [
        "👨‍👩‍👧",
        "🏳️‍🌈",
        "👩🏽‍🚀",
        "می\u200cخواهم",
        "र्\u200dय",
        "র\u200d্য",
        "山田\u3000太郎",
        "مرحبا",
        "Cafe\u0301",
    ],
)
def test_signs_that_shape_legitimate_text_stay(text):
    assert visible(text) == text
    assert quote(text) == f"'{text}'"
    with pytest.raises(MechdesignError, match=text):
        md.Prior([0.5, 0.5], ["a", "b"]).index(text)


@for_each("text", ["a\u200db", "北\u200d京", "\u200dم", "م\u200d", "a\u3000b", "😀\u200c😀"])
def test_the_same_signs_elsewhere_are_codes(text):
    assert visible(text).isprintable()
    assert quote(text) == repr(text)


def test_a_text_of_both_quotation_marks_is_quoted_as_it_would_be():
    text = "a'b\"c"
    assert quote(text + "👨‍👩‍👧") == repr(text + "x").replace("x", "👨‍👩‍👧")


@for_each(
    ("column", "why"),
    [
        (["a", "a ", "b"], "spaces at its ends"),
        (["yes", "no", "Yes"], "letter case"),
        (["Caf\u00e9", "Cafe\u0301"], "the encoding of an accent"),
        (["a\u200bb", "ab"], "invisible characters"),
        ([1, "1"], "its type"),
    ],
)
def test_symbols_that_people_take_for_one_are_warned_of(column, why):
    with pytest.warns(AlikeWarning, match=why):
        assert len(md.Prior.from_data(column)) == len(column)


def test_symbols_alike_in_a_file_are_warned_of(tmp_path):
    (tmp_path / "t.csv").write_text("x\nyes\nYes\nno\nno \n")
    with pytest.warns(AlikeWarning, match="'Yes' and 'yes' are counted") as caught:
        assert md.Prior.from_csv(tmp_path / "t.csv", "x").labels == ("Yes", "no", "yes")
    assert len(caught) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "d.json"),
        ("audit", "d.json"),
        ("compose", "d.json", "--times", "2"),
        ("plan", "d.json", "--reports", "1000"),
        ("plan", "d.json", "--reports", "1000", "--by", "blocks"),
        ("estimate", "d.json", "r.csv", "--column", COLUMN),
        ("estimate", "d.json", "r.csv", "--column", COLUMN, "--method", "likelihood"),
        ("estimate", "d.json", "t.csv", "--column", COLUMN),
        ("estimate", "d.json", "r.csv", "--column", "\x1b[31m"),
        ("research", "convert", "ldp:1", "--data", "t.csv", "--column", COLUMN),
        ("design", "t.csv", "--column", COLUMN, "-p", "ldp:1", "--solver", "all"),
        ("design", "t.csv", "--column", COLUMN, "-p", "ldp:1", "--explain"),
        ("design", "t.csv", "--column", COLUMN, "-p", "ldp:1", "--outputs", "\x1b[31m,b"),
        ("design", "t.csv", "--column", COLUMN, "-p", "\x1b[31m:1"),
        ("compare", "t.csv", "--column", COLUMN, "--levels", "1", "-n", "ldp", "-n", "pml"),
        ("apply", "d.json", "t.csv", "--column", COLUMN, "-o", "again.csv"),
        ("apply", "d.json", "other.csv", "--column", "x", "-o", "again.csv"),
    ],
    ids=lambda arguments: " ".join(arguments[:1]),
)
def test_no_command_sends_a_label_raw_to_the_terminal(arguments, design, table, capsys):
    md.save(design, "d.json")
    md.privatize_file(table, "r.csv", COLUMN, design, rng=1)
    with open("other.csv", "w", encoding="utf-8") as file:
        file.write("x\n\u202eother\n")
    capsys.readouterr()
    main(list(arguments))
    out, err = capsys.readouterr()
    assert out or err
    assert clean(out)
    assert clean(err)


def test_json_output_holds_the_labels_exactly(design, table, capsys):
    md.save(design, "d.json")
    assert main(["check", "d.json", "--json"]) == 0
    out = capsys.readouterr().out
    assert clean(out)
    assert json.loads(out)["prior"]["labels"] == NASTY


def test_no_text_of_a_result_holds_a_label_raw(design, tmp_path):
    mechanism = design.mechanism
    reports = md.Sampler(mechanism, 1).draw(NASTY * 50)
    found = md.estimate(reports, mechanism, rng=1)
    texts = {
        "prior": repr(design.prior),
        "mechanism": repr(mechanism),
        "design": repr(design),
        "audit": repr(md.audit(mechanism, design.prior, md.LDP(3))),
        "estimate": repr(found),
        "plan": repr(md.plan(mechanism, reports=1000)),
        "binding": repr(md.binding(design)),
        "composition": str(md.compose(design, times=2)),
        "names": "\n".join(short_names(NASTY, 12)),
        "evidence": "\n".join(check.evidence for check in design.certificate.checks),
        "html of mechanism": mechanism._repr_html_(),
        "html of audit": md.audit(mechanism, design.prior)._repr_html_(),
        "html of estimate": found._repr_html_(),
        "html of design": design._repr_html_(),
    }
    assert not [name for name, text in texts.items() if not clean(text)]
    write_report(design, tmp_path / "page.html", title="\u202etitle")
    assert clean((tmp_path / "page.html").read_text(encoding="utf-8"))


@for_each(
    "act",
    [
        lambda: md.Prior([0.5, 0.5], ["\x1b[31m", "\u202e"])["\x1b[2J"],
        lambda: md.Prior([0.5, 0.5], ["\x1b[31m\n"] * 2),
        lambda: md.Prior({"\x1b": -1}),
        lambda: md.Sampler(md.Mechanism([[1.0]], ["\u202e"])).draw(["\x1b[2J"]),
        lambda: md.design(md.Prior([1.0]), md.utility.Hamming(), md.LDP(1), solver="\x1b[2J"),
        lambda: md.load("\x1b[2J\n"),
        lambda: md.Prior.from_csv("\x1b[2J\n", "x"),
        lambda: md.Prior.from_csv("titanic", "\x1b[2J\n"),
    ],
)
def test_no_error_holds_a_label_raw(act):
    with pytest.raises(MechdesignError) as caught:
        act()
    assert str(caught.value).isprintable()


def test_no_warning_holds_a_label_raw():
    with pytest.warns(md.errors.ZeroMassWarning) as caught:
        md.Prior([1, 0], ["a", "\x1b[31m\u202e\n"])
    assert str(caught[0].message).isprintable()


def test_arrays_and_tables_are_named_by_their_shape():
    assert quote(np.eye(3)) == "a ndarray of shape (3, 3)"
    assert quote(list(range(10**6))).count(",") < 20
    assert len(quote("x" * 10**6)) <= 80


# Spreadsheets

FORMULAS = [
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    " =1",
    "＝1+1",
    "=cmd|' /C calc'!A0",
]


@for_each("cell", FORMULAS)
def test_cells_that_a_spreadsheet_would_run_get_an_apostrophe(cell):
    assert excel_safe_cell(cell) == "'" + cell


@for_each("cell", ["a", "", "-2.5", "1e-7", "a=b", "'quoted", 3, -2.5, None, True])
def test_other_cells_stay_as_they_are(cell):
    assert excel_safe_cell(cell) == cell


def test_reports_for_spreadsheets_are_read_back_as_the_labels_they_were(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels = ["=1+1", "@b", "c"]
    with open("t.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["=x", "more"], *[[label, "+y"] for label in labels * 40]])
    mechanism = md.Mechanism(np.full((3, 3), 0.1) + 0.7 * np.eye(3), labels, labels)
    md.save(mechanism, "m.json")
    arguments = ["apply", "m.json", "t.csv", "--column", "=x", "--seed", "1"]
    assert main([*arguments, "-o", "plain.csv"]) == 0
    assert main([*arguments, "-o", "safe.csv", "--excel-safe"]) == 0
    plain, safe = (
        list(csv.reader(Path(name).read_text(encoding="utf-8").splitlines()))
        for name in ("plain.csv", "safe.csv")
    )
    assert safe == [[excel_safe_cell(cell) for cell in row] for row in plain]
    assert safe != plain
    assert safe[0][0] == "'=x"
    counted = {}
    for name, column in (("plain.csv", "=x"), ("safe.csv", "'=x")):
        counted[name] = md.count_reports(name, mechanism, column)
    assert counted["plain.csv"] == counted["safe.csv"]


def test_kernels_and_comparisons_can_be_written_for_spreadsheets(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    mechanism = md.Mechanism([[0.5, 0.5]], ["=a"], ["=b", "c"])
    assert kernel_csv(mechanism).splitlines()[0] == "input,=b,c"
    assert kernel_csv(mechanism, excel_safe=True).splitlines()[0] == "input,'=b,c"
    assert kernel_csv(mechanism, excel_safe=True).splitlines()[1].startswith("'=a,0.5")
    prior = md.Prior([0.5, 0.5])
    found = md.compare({"=p": prior}, md.utility.Hamming(), [md.LDP], [1])
    assert "\n=p," in found.csv_text()
    assert "\n'=p," in found.csv_text(excel_safe=True)
    arguments = ["design", "--prior", "=a=0.5,b=0.5", "-p", "ldp:1", "--csv"]
    assert main([*arguments, "k.csv", "--excel-safe"]) == 0
    assert "'=a" in (tmp_path / "k.csv").read_text()


# Labels that look alike

CAFE = "caf\u00e9"


@for_each(
    ("value", "label", "cause"),
    [
        ("yes ", "yes", "spaces at its ends"),
        ("yes", "yes ", "spaces at its ends"),
        ("YES", "yes", "letter case"),
        (unicodedata.normalize("NFD", CAFE), CAFE, "the encoding of an accent"),
        ("a\u00a0b", "a b", "invisible characters or kinds of spaces"),
        ("\ufeffa", "a", "invisible characters"),
        (" YES", "yes", "spaces at its ends and letter case"),
        (1, "1", "its type, a number against text"),
        ("1", 1, "its type, text against a number"),
        (1.0, "1", "its type"),
        (float(np.float32(0.1)), 0.1, "the rounding of a float of 32 bits"),
        (np.float32(0.1), 0.1, "the rounding of a float of 32 bits"),
    ],
)
def test_the_cause_is_named_when_labels_look_alike(value, label, cause):
    found = near_miss([value], ["other", label])
    assert found is not None
    assert cause in found
    with pytest.raises(MechdesignError) as caught:
        md.Prior([0.5, 0.5], ["other", label])[value]
    assert cause in str(caught.value)
    with pytest.raises(MechdesignError) as caught:
        md.Sampler(md.Mechanism(np.eye(2), ["other", label])).draw([value])
    assert cause in str(caught.value) or "values of type" in str(caught.value)


@for_each("value", ["maybe", 7, 0.2, None, "", ("a",), float("inf")])
def test_no_cause_is_named_for_what_is_another_label(value):
    assert near_miss([value], ["no", "yes", 0.1, 3]) is None
