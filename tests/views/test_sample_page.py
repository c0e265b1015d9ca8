"""The page about an audit from samples: what was tried, what it shows, what it cannot show."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
from checks import for_each

import mechdesign as md
from mechdesign.views.samples import cannot_show, sample_page


def audit(notions, **more):
    rng = np.random.default_rng(0)
    inputs = np.repeat(["a", "b"], 3000)
    reports = np.where(rng.random(6000) < 0.5, inputs, rng.choice(["a", "b"], size=6000))
    return md.audit_samples(inputs, reports, notions, **more)


def text_of(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.partition("<body>")[2]))


class Balanced(HTMLParser):
    """Counts tags that are opened and not closed."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_says_all_three_things_in_order():
    page = sample_page(audit([md.LDP(0.5), md.LDP(1.6)], outputs=["a", "b"]), "An audit")
    parts = ["What was tried", "What it shows", "What it cannot show"]
    places = [page.index(f"<h2>{part}</h2>") for part in parts]
    assert places == sorted(places)
    shown = text_of(page)
    assert "LDP(0.5): violated" in shown
    assert "LDP(1.6): consistent" in shown
    assert "was promised" in shown
    assert "Faults that need luck" in shown
    parser = Balanced()
    body = page.partition("<body>")[2].partition("</body>")[0]
    parser.feed(re.sub(r"<svg.*?</svg>", "", body, flags=re.DOTALL))
    assert not parser.open
    # It loads nothing: addresses are names of the formats of the picture alone.
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "")
    assert page.count("<svg") == 1


def test_the_picture_says_its_limits_to_who_cannot_see_it():
    found = audit([md.LDP(0.5), md.ALIP(1, 1)], outputs=["a", "b"])
    label = re.search(r'<svg role="img" aria-label="([^"]*)"', sample_page(found, "x"))[1]
    levels = [level for finding in found.findings for level in finding.levels]
    assert len(levels) == 3
    for level in levels:
        assert f"between {level.lower:.4g} and {level.upper:.4g}" in label
    assert "LDP(0.5) epsilon" in label
    assert "violated" in label


def test_numbers_on_the_page_are_those_of_the_audit():
    found = audit(md.LDP(0.5), outputs=["a", "b"])
    level = found.findings[0].levels[0]
    shown = text_of(sample_page(found, "x"))
    assert f"{level.lower:.4g}" in shown
    assert f"{level.upper:.4g}" in shown
    assert "6,000 reports" in shown


def test_a_level_that_is_kept_is_shown_as_a_ratio_only_where_it_is_one():
    plain_claim = text_of(sample_page(audit(md.LDP(1.6), outputs=["a", "b"]), "x"))
    assert "than under the other by more than a factor 3" in plain_claim
    scaled = md.InputDiscriminativeLDP(0.4, {"a": 4, "b": 4})
    found = audit(scaled, outputs=["a", "b"])
    assert str(found.verdict) == "consistent"
    shown = text_of(sample_page(found, "x"))
    level = found.findings[0].levels[0].upper
    assert f"its level is at most {level:.4g} nats." in shown
    assert (
        "by more than a factor 1."
        not in shown.partition("What it shows")[2].partition("the reports show")[2]
    )


@for_each(
    ("more", "said"),
    [
        ({}, "Outcomes that never occurred"),
        ({"outputs": ["a", "b"]}, "more outcomes than the 2"),
        ({"partition": lambda report: report == "a"}, "What a report tells beyond its group"),
        ({"prior": {"a": 0.5, "b": 0.5}}, None),
    ],
)
def test_what_it_cannot_show_depends_on_what_was_tried(more, said):
    lines = " ".join(cannot_show(audit([md.LDP(1), md.PML(0.5)], **more)))
    assert said is None or said in lines
    assert ("expects other inputs" in lines) is ("prior" not in more)


def test_labels_cannot_break_the_page():
    inputs = ["<script>", "b\u202e"] * 500
    found = md.audit_samples(inputs, ["<b>", "\x1b[31m"] * 500, md.LDP(0.5))
    page = sample_page(found, "<i>")
    assert "<script>" not in page
    assert "<b>" not in page
    assert "\u202e" not in page
    assert "\x1b" not in page
