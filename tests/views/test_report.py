"""The page for a reviewer: what it says is what the library finds, and it stands alone."""

from __future__ import annotations

import html
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import InputError, MechdesignError, PriorError, StorageError
from mechdesign.views.pages import disclosure_lines, implied_of, report_page
from mechdesign.views.tables import belief_table, version_table

PRIOR = md.Prior([0.4, 0.3, 0.2, 0.1], ["a", "b", "c", "d"])


@pytest.fixture(scope="module")
def found():
    return md.design(PRIOR, md.utility.Hamming(), [md.PML(0.7), md.LDP(3)])


@pytest.fixture(autouse=True)
def no_screen():
    import matplotlib as mpl
    from matplotlib import pyplot

    mpl.use("Agg")
    before = pyplot.get_fignums()  # of tests that ran in this process before
    yield
    assert pyplot.get_fignums() == before  # pages close what they draw


class Reader(HTMLParser):
    """Checks that tags are closed in order, and keeps the text and what is linked."""

    VOID = frozenset(["meta", "br", "link", "img", "input", "hr"])

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.links, self.names = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.names += [known["id"]] if "id" in known else []
        self.links += [v for k, v in attrs if k in ("src", "href", "xlink:href", "data")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        known = dict(attrs)
        self.names += [known["id"]] if "id" in known else []
        self.links += [v for k, v in attrs if k in ("src", "href", "xlink:href", "data")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if "style" not in self.open[-1:]:
            self.texts.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.texts))


def read(page):
    reader = Reader(page)
    assert not reader.open
    assert all(link.startswith(("#", "data:")) for link in reader.links), reader.links
    assert len(set(reader.names)) == len(reader.names)
    assert "<script" not in page
    assert "@import" not in page
    assert "url(http" not in page
    return reader.text


def test_the_page_says_what_was_found(found):
    text = read(report_page(found))
    assert text.count("PML(0.7): yes.") == 1
    assert md.PML(0.7).description in text
    assert md.LDP(3).description in text
    assert f"{found.value:.12g}" in text
    assert f"{found.bound:.12g}" in text
    assert found.certificate.fingerprint in text
    assert found.method in text
    assert "it is optimal" in text
    for check in found.certificate.checks:
        assert check.evidence in text
    report = md.audit(found.mechanism, PRIOR)
    assert f"{report.lip:.6g}" in text
    for row in version_table().records():
        assert f"{row['name']} {row['value']}" in text
    for row in belief_table(found.mechanism, PRIOR).records():
        assert f"{row['most']:.4g}" in text


def test_implied_guarantees_come_with_their_results(found):
    text = read(report_page(found))
    table, cited = implied_of(found.notions, PRIOR)
    known = md.implications(list(found.notions), PRIOR)
    assert {row["guarantee"] for row in table.records()} == set(known)
    for name, statement, _ in cited:
        assert name in text
        assert statement in text
    for step in known[md.LIP].derivation:
        assert str(step) in text


def test_beliefs_against_bayes(found):
    rows = belief_table(found.mechanism, PRIOR).records()
    joint = PRIOR.probabilities[:, None] * found.mechanism.kernel
    q = joint.sum(axis=0)
    posterior = joint[:, q > 0] / q[q > 0]
    assert [row["most"] for row in rows] == pytest.approx(posterior.max(axis=1), abs=1e-12)
    assert [row["least"] for row in rows] == pytest.approx(posterior.min(axis=1), abs=1e-12)
    ruled_out = ["ruled out" in row["certainty"] for row in rows]
    assert ruled_out == (posterior == 0).any(axis=1).tolist()


def test_what_is_disclosed():
    tell = md.Mechanism(np.eye(3))
    some = md.Mechanism([[0.5, 0.5], [0.5, 0.5], [0, 1]])
    none = md.Mechanism([[0.5, 0.5], [0.4, 0.6], [0.3, 0.7]])
    prior = md.Prior([0.5, 0.3, 0.2])
    assert disclosure_lines(tell, prior)[0].startswith("3 of 3 reports reveal the secret: 0 (only")
    assert "0 leaves 2 of 3" in disclosure_lines(some, prior)[1]
    assert "No report rules out any value" in disclosure_lines(none, prior)[1]
    for row in belief_table(tell, prior).records():
        assert row["certainty"] == "can be certain or ruled out"
        assert row["most"] == 1
    assert "one possible value" in disclosure_lines(md.Mechanism([[1.0]]), md.Prior([1.0]))[0]


def test_a_kernel_that_is_not_private_says_so():
    """An auditor's case: the page says no, and does not speak of an optimum."""
    text = read(report_page(np.eye(4), PRIOR, md.PML(0.5)))
    assert "PML(0.5): no." in text
    assert "can be certain" in text
    assert "upper bound" not in text
    assert "4 of 4 reports reveal the secret" in text


def test_a_broken_promise_is_not_made():
    kernel = [[0.6, 0.4], [0.3, 0.7]]
    text = read(report_page(kernel, [0.5, 0.5], [md.LDP(0.1), md.LDP(2)]))
    assert f"LDP(0.1): no. What it asks does not hold here: “{md.LDP(0.1).description}”" in text
    assert f"LDP(2): yes. {md.LDP(2).description}" in text
    assert "Every kernel with LDP(2) under this prior" in text
    text = read(report_page(kernel, [0.5, 0.5], md.LDP(0.1)))
    assert "nothing follows from them" in text
    assert "⇒" not in text


@pytest.mark.slow
def test_levels_and_gaps_are_rounded_up():
    """log 2 = 0.6931471… is 0.693147 to the nearest sixth digit, which it exceeds."""
    kernel = [[0.6, 0.4], [0.3, 0.7]]
    assert "LDP 0.693148 " in read(report_page(kernel, [0.5, 0.5]))
    found = md.design(PRIOR, md.utility.MutualInformation(), md.LIP(0.5))
    text = read(report_page(found))
    shown = re.search(r"exceeds that by more than (\S+) of", text)
    assert float(shown[1]) >= found.gap > 0


@for_each(
    "asked",
    [
        (md.Prior([1.0]), md.utility.Hamming(), md.PML(0.5)),
        (md.Prior([0.5, 0.5]), md.utility.Hamming(), md.LDP(math.inf)),
        (md.Prior([1 - 1e-12, 1e-12]), md.utility.Hamming(), md.PMC(0.0)),
        (md.Prior(np.arange(1, 31) / 465), md.utility.Hamming(), md.ALIP(1.0, 0.5)),
        (PRIOR, md.utility.MutualInformation(), md.PML(0.4)),
        (PRIOR, md.utility.Hamming(), md.MIPrivacy(0.3)),
        (PRIOR, md.utility.Hamming(), md.FeaturePML(0.4, {x: x in "ab" for x in "abcd"})),
    ],
)
def test_every_kind_of_design_has_a_page(asked):
    text = read(report_page(md.design(*asked)))
    assert ": yes." in text


def test_symbols_without_mass():
    with pytest.warns(md.errors.ZeroMassWarning):
        prior = md.Prior([0.6, 0.4, 0.0], ["a", "b", "never"])
    found = md.design(prior, md.utility.Hamming(), md.PML(0.4))
    assert "never" in read(report_page(found))


def test_labels_and_titles_cannot_write_into_the_page():
    evil = "<script>alert('x')</script>"
    prior = md.Prior([0.5, 0.3, 0.2], [evil, "b & c", "x" * 300])
    page = report_page(md.design(prior, md.utility.Hamming(), md.PML(0.3)), title=evil)
    read(page)
    assert html.escape("b & c") in page


@pytest.mark.slow
def test_files(found, tmp_path):
    path = tmp_path / "r.html"
    md.write_report(found, path, title="For the board")
    assert "<h1>For the board</h1>" in path.read_text(encoding="utf-8")
    with pytest.raises(StorageError, match="exists"):
        md.write_report(found, path)
    md.write_report(found, path, overwrite=True)
    with pytest.raises(PriorError, match="prior of a report"):
        md.write_report(found.mechanism, tmp_path / "other.html")
    with pytest.raises(InputError):
        md.write_report(found.mechanism, tmp_path / "other.html", prior=[0.5, 0.5])
    assert not (tmp_path / "other.html").exists()


def test_a_missing_library_is_said_before_any_work(found, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MechdesignError, match="mechdesign\\[web\\]"):
        md.write_report(found, tmp_path / "r.html")


# Command line


@pytest.mark.slow
def test_command_line(found, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    md.save(found, "m.json")
    assert main(["report", "m.json", "-o", "r.html"]) == 0
    with open("r.html", encoding="utf-8") as file:
        assert file.read() == report_page(found)
    assert "saved r.html" in capsys.readouterr().err
    assert main(["report", "m.json", "-o", "r.html"]) == 2
    assert main(["report", "m.json", "-o", "r.html", "--force", "--title", "Ours"]) == 0
    with open("k.csv", "w", encoding="utf-8") as file:
        file.write("input,y,z\na,.9,.1\nb,.2,.8\n")
    arguments = ["report", "k.csv", "--prior", "a=.5,b=.5", "-p", "ldp:1", "-o", "k.html"]
    assert main(arguments) == 0
    with open("k.html", encoding="utf-8") as file:
        assert "LDP(1): no." in read(file.read())


@for_each(
    "arguments",
    [
        ["nothing.json", "-o", "r.html"],
        ["k.csv", "-o", "r.html"],
        ["k.csv", "--prior", ".5,.5", "-o", "r.docx"],
        ["k.csv", "--prior", ".5,.5", "-o", "nowhere/r.html"],
        ["k.csv", "--prior", ".5,.3,.2", "-o", "r.html"],
        ["k.csv", "--prior", ".5,.5", "-p", "pmk:1", "-o", "r.html"],
    ],
)
def test_command_line_refuses(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.csv").write_text("input,y,z\na,.9,.1\nb,.2,.8\n")
    assert main(["report", *arguments]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert not (tmp_path / "r.html").exists()


@pytest.mark.slow
def test_outputs_that_stand_for_sets_are_explained(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MECHDESIGN_LEDGER", str(tmp_path / "ledger"))
    symbols = ["ENT", "oncology", "surgery", "icu"]
    Path("p.csv").write_text("x\n" + "".join(f"{symbols[i % 4]}\n" for i in range(80)))
    sentence = "is a single output: each of these symbols gives it more often than the others do."
    asked = ["design", "p.csv", "--column", "x", "-u", "estimation", "-p", "ldp:.3"]
    assert main([*asked, "-o", "d.json"]) == 0
    found = md.load("d.json")
    outputs = list(found.mechanism.outputs)
    name = next(y for y in outputs if y.startswith("one of "))
    assert capsys.readouterr().out.count(f"“{name}” {sentence}") == 1
    column = found.mechanism.kernel[:, outputs.index(name)]
    inside = [x in name.removeprefix("one of ").split(", ") for x in found.mechanism.inputs]
    assert column[inside].min() > column[np.logical_not(inside)].max()
    assert main(["apply", "d.json", "p.csv", "-o", "r.csv"]) == 0
    assert capsys.readouterr().out.count(sentence) == 1
    assert main(["audit", "d.json"]) == 0
    assert capsys.readouterr().out.count(sentence) == 1
    assert read(report_page(found)).count(sentence) == 1
    plain = md.design(found.prior, md.utility.Hamming(), md.LDP(1))
    assert sentence not in read(report_page(plain))
