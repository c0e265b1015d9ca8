"""Tables of results: the same rows on a terminal, in a page and as plain values."""

from __future__ import annotations

import html.parser
import math

import numpy as np
import pytest
from checks import for_each
from rich.console import Console

import mechdesign as md
from mechdesign.views import tables
from mechdesign.views.html import chance, html_table, shade_of
from mechdesign.views.plain import audit_json
from mechdesign.views.tables import Cell, Column, Table
from mechdesign.views.text import rich_table

PRIOR = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
EVIL = "<img src=x onerror=alert(1)>\"'&\x1b[31m"


@pytest.fixture(scope="module")
def found():
    return md.design(PRIOR, md.utility.Hamming(), [md.PML(0.5), md.ALIP(2, 1)])


@pytest.fixture(scope="module")
def report(found):
    return md.audit(found.mechanism, PRIOR, found.notions)


class Reader(html.parser.HTMLParser):
    """Rows of the texts of cells, and the attributes of each tag."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.tags, self.open, self.notes = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag != "br":
            self.open.append(tag)
        else:
            self.handle_data("\n")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data
        elif "p" in self.open:
            self.notes.append(data)


def on_terminal(table):
    """The cells of each line that a terminal of any width shows."""
    console = Console(width=400)
    with console.capture() as caught:
        console.print(rich_table(table))
    lines = [line for line in caught.get().splitlines() if line[:1] in ("│", "┃")]
    return [
        [cell.strip() for cell in line.strip("│┃").replace("┃", "│").split("│")] for line in lines
    ]


def test_the_media_show_the_same_rows(found, report):
    for table in (
        tables.kernel_table(found.mechanism, PRIOR),
        tables.leakage_table(report),
        tables.outcome_table(report),
        tables.certificate_table(found),
        tables.check_table(report.checks),
        tables.belief_table(found.mechanism, PRIOR),
    ):
        page, terminal = Reader(html_table(table)).rows, on_terminal(table)
        assert len(page) == len(terminal) == len(table.rows) + len(table.foot) + table.has_heads
        for shown, printed in zip(page, terminal, strict=True):
            assert len(shown) == len(printed) == len(table.columns)
        assert len(table.records()) == len(table.rows)


def test_a_kernel_with_its_prior_and_the_distribution_of_its_outputs(found):
    table = tables.kernel_table(found.mechanism, PRIOR)
    kernel = [list(row.values())[2:] for row in table.records()]
    np.testing.assert_array_equal(kernel, found.mechanism.kernel)
    assert [row["prior"] for row in table.records()] == [0.5, 0.3, 0.2]
    last = [cell.value for cell in table.foot[0][2:]]
    np.testing.assert_allclose(last, [0.5, 0.3, 0.2] @ found.mechanism.kernel, atol=1e-15)
    reader = Reader(html_table(table, shaded=True, numbered=True))
    scopes = [attrs["scope"] for tag, attrs in reader.tags if tag == "th"]
    assert scopes == ["col"] * 5 + ["row"] * 4
    assert reader.rows[0] == ["input", "prior", "1 a", "2 b", "3 c"]
    shades = [attrs for tag, attrs in reader.tags if tag == "td" and "style" in attrs]
    titles = [float(attrs["title"]) for attrs in shades]
    np.testing.assert_allclose(titles, [*found.mechanism.kernel.ravel(), *last], rtol=1e-11)


def test_what_is_not_shown_is_said():
    prior = md.Prior.uniform(40)
    kernel = md.Mechanism(np.eye(40))
    whole = tables.kernel_table(kernel, prior)
    assert (len(whole.rows), len(whole.columns), whole.notes) == (40, 42, ())
    part = tables.kernel_table(kernel, prior, rows=30, columns=10)
    assert (len(part.rows), len(part.columns)) == (30, 12)
    assert tables.kernel_table(kernel, prior, columns=10).notes == ("30 more outputs not shown",)
    assert tables.kernel_table(kernel, prior, columns=39).notes == ("1 more output not shown",)
    assert part.notes == ("10 more inputs, 30 more outputs not shown",)
    assert Reader(html_table(part)).notes == ["10 more inputs, 30 more outputs not shown"]
    outcomes = tables.outcome_table(md.audit(kernel, prior), 39)
    assert (len(outcomes.rows), outcomes.notes) == (39, ("1 more outcome not shown",))
    assert tables.belief_table(kernel, prior, 38).notes == ("2 more values not shown",)
    assert tables.prior_table(prior, 40).notes == ()


def test_leakages_are_those_of_the_report(report):
    rows = tables.leakage_table(report).records()
    assert [row["notion"] for row in rows] == [
        "pml", "pmc", "lip", "alip epsilon_l", "alip epsilon_u", "ldp"
    ]  # fmt: skip
    assert [row["level"] for row in rows] == [
        report.pml, report.pmc, report.lip, *report.alip, report.ldp
    ]  # fmt: skip
    foot = {row[0].value: row[1].value for row in tables.leakage_table(report).foot}
    assert foot["maximal leakage"] == report.maximal_leakage
    assert foot["mutual information"] == report.mutual_information
    assert tables.outcome_table(report).records() == report.table()
    assert audit_json(report)["outcomes"] == report.table()


def test_pages_and_terminals_round_levels_up():
    """log 2 = 0.69314718… lies above 0.693147."""
    level = Cell(math.log(2), "level")
    table = Table("t", (tables.column("x"), tables.column("y")), ((tables.text("a"), level),))
    assert Reader(html_table(table)).rows[1] == ["a", "0.693148"]
    assert on_terminal(table)[1] == ["a", "0.693148"]
    for kind, value, page, terminal in (
        ("number", 2 / 3, "0.666667", "0.666667"),
        ("level", math.inf, "infinite", "infinite"),
        ("number", None, "", ""),
        ("chance", 1e-9, "1e-09", "0.000000"),
        ("chance", 1.0, "1", "1.000000"),
    ):
        one = Table("t", (tables.column("x"), tables.column("y")), ((level, Cell(value, kind)),))
        assert Reader(html_table(one)).rows[1][1] == page
        assert on_terminal(one)[1][1] == terminal


@for_each(
    ("value", "text"),
    [(0, "0"), (1, "1"), (1e-9, "1e-09"), (1 - 1e-9, ">0.999"), (0.25, "0.250"), (0.0004, "4e-04")],
)
def test_a_chance_is_shown_as_certain_only_where_it_is(value, text):
    assert chance(value, 3) == text


def test_labels_are_never_taken_for_html():
    prior = md.Prior([0.6, 0.4], [EVIL, "</table><script>"])
    mechanism = md.Mechanism(np.eye(2), prior.labels, prior.labels)
    report = md.audit(mechanism, prior, md.PML(1))
    for table in (
        tables.kernel_table(mechanism, prior),
        tables.leakage_table(report),
        tables.outcome_table(report),
        tables.belief_table(mechanism, prior),
        tables.check_table(report.checks),
        tables.prior_table(prior),
        Table(EVIL, (Column("k", Cell(EVIL, "label", short=EVIL)),), ((Cell(EVIL),),), (), (EVIL,)),
    ):
        text = html_table(table, classes="plain")
        assert not {"img", "script"} & {tag for tag, _ in Reader(text).tags}
        assert text.isprintable()
        assert "&lt;" in text
    assert "\\x1b[31m" in html_table(tables.prior_table(prior))


def test_dark_shades_can_be_read():
    """Contrast of the text against the darkest cell, by the formula of WCAG."""

    def light(colour):
        parts = [c / 255 for c in colour]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    darkest = [int(c) for c in shade_of(1.0).removeprefix("rgb(").rstrip(")").split(",")]
    assert (light(darkest) + 0.05) / (light((0x1F, 0x29, 0x33)) + 0.05) > 4.5
    assert shade_of(0.0) == "rgb(255,255,255)"


def test_an_audit_shows_what_the_notions_measure():
    """The leakages that average over outcomes are those of their notions, computed here anew."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        n, m = rng.integers(1, 6, 2)
        mechanism = md.Mechanism(rng.dirichlet(np.full(m, 0.4), n))
        prior = md.Prior(rng.dirichlet(np.ones(n)))
        report = md.audit(mechanism, prior)
        kernel, p = mechanism.kernel, prior.probabilities
        joint = p[:, None] * kernel
        ratio = np.where(kernel > 0, kernel / np.where(joint.sum(axis=0) > 0, p @ kernel, 1), 1)
        information = float((joint * np.log(ratio)).sum())
        assert report.mutual_information == pytest.approx(information, abs=1e-12)
        top, low = kernel.max(axis=0).sum(), kernel.min(axis=0).sum()
        assert report.maximal_leakage == pytest.approx(math.log(top), abs=1e-12)
        cost = -math.log(low) if low else math.inf
        assert report.maximal_cost_leakage == pytest.approx(cost, abs=1e-9)
        for cls, level in (
            (md.MaximalLeakage, report.maximal_leakage),
            (md.MaximalCostLeakage, report.maximal_cost_leakage),
        ):
            assert cls.at(math.inf).check(mechanism, prior).achieved == (level,)
