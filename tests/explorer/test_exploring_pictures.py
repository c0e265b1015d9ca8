"""How the page shows results: sentences, tables and chart options for all kinds of settings."""

from __future__ import annotations

import html.parser
import json
import math

import numpy as np
import pytest
from checks import for_each
from guessing import guessing

import mechdesign as md
from mechdesign.explorer import charts, markup, results
from mechdesign.explorer.results import compute
from mechdesign.explorer.settings import OFFERED, Column, NotionSetting
from mechdesign.privacy.notion import NOTIONS

ABC = guessing(md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"]))
TITANIC = guessing(md.Prior.from_csv("titanic", "class"), Column("titanic", "class"))


def shown_in_full(found):
    plain(charts.lifts_options(found))
    for text in (
        markup.kernel_table(found),
        markup.tiles(found),
        markup.lifts_table(found),
        markup.leakage_table(found),
        markup.certificate_table(found),
        markup.implied_list(found.implied.found),
        markup.unknown_list(found.implied.found),
        markup.statement_list(found.statements),
    ):
        assert Outline.of(text).open == []


@for_each("levels", [0.0, math.inf])
@for_each("count", [1, 2, 30])
def test_extreme_settings_have_results_and_pictures(count, levels):
    settings = guessing(md.Prior.uniform(count)).zipf()
    settings = settings.with_level("pml", levels)
    found = compute(settings)
    assert found.design.certificate.is_optimal
    shown_in_full(found)
    curves = [results.Curve(chosen) for chosen in settings.notions]
    plain(charts.frontier_options(curves, results.value_range(settings), found))


# Sentences


def test_everything_that_is_implied_has_a_sentence():
    found = md.implications(md.LDP(0.3), ABC.prior())
    sentences = [markup.implied_sentence(entry) for entry in found.found]
    assert len(set(sentences)) >= len(sentences) - 1
    assert all(s.endswith(".") for s in sentences)
    assert found[md.LDP].notion.description in sentences
    for entry in md.implications(md.PML(0), ABC.prior()).found:
        assert markup.implied_sentence(entry).startswith("The mechanism is uninformative")
    unknown = md.implications(md.PML(1), ABC.prior())[md.LDP]
    assert "ID-Cor-3" in markup.implied_sentence(unknown)


def test_a_summary_names_the_proof():
    found = compute(TITANIC)
    assert markup.summary(found) == (
        "PML(0.5): 0.60902 probability that the output is the symbol itself, proved optimal."
    )


# Markup


class Outline(html.parser.HTMLParser):
    """Tags and text of a piece of HTML; ``open`` are the tags never closed."""

    @classmethod
    def of(cls, text):
        outline = cls()
        outline.tags, outline.open, outline.texts = [], [], []
        outline.feed(text)
        outline.close()
        return outline

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


EVIL = "<img src=x onerror=alert(1)>\"'&"


def test_names_are_never_taken_for_html():
    settings = guessing(md.Prior([0.6, 0.4], [EVIL, "</table><script>"]))
    found = compute(settings)
    shown_in_full(found)
    for text in (markup.kernel_table(found), markup.lifts_table(found)):
        outline = Outline.of(text)
        assert not {"img", "script"} & {tag for tag, _ in outline.tags}
        assert EVIL in outline.texts
    failed = results.Alternative(settings.notions[0], problem=EVIL)
    assert "<img" not in markup.alternative_list([failed], found)


def test_the_kernel_is_a_table_with_headers():
    found = compute(TITANIC)
    outline = Outline.of(markup.kernel_table(found))
    heads = [attrs["scope"] for tag, attrs in outline.tags if tag == "th"]
    assert heads.count("col") == 6
    assert heads.count("row") == 5
    assert [tag for tag, _ in outline.tags].count("caption") == 1
    cells = [
        float(attrs["title"]) for tag, attrs in outline.tags if tag == "td" and "title" in attrs
    ]
    rows = np.array(cells[:20]).reshape(4, 5)  # the prior, then the kernel
    np.testing.assert_allclose(rows[:, 0], TITANIC.shares, rtol=1e-11)
    np.testing.assert_allclose(rows[:, 1:], found.design.mechanism.kernel, rtol=1e-11)


def test_among_many_outputs_those_that_never_occur_are_named_below():
    found = compute(guessing(md.Prior.uniform(12)).zipf())
    used = int((found.design.mechanism.output_distribution(found.report.prior) > 0).sum())
    outline = Outline.of(markup.kernel_table(found))
    assert sum(attrs.get("scope") == "col" for _, attrs in outline.tags) == used + 2
    assert used < 12
    assert any(text.startswith("Never reported: ") for text in outline.texts)


def test_no_probability_is_shown_as_0_or_1_that_is_neither():
    settings = guessing(md.Prior([1 - 1e-9, 1e-9])).with_level("pml", math.inf)
    texts = Outline.of(markup.kernel_table(compute(settings))).texts
    assert {"0", "1", ">0.9999", "1e-09"} <= set(texts)


def test_shaded_cells_can_be_read():
    """Contrast of the text against the darkest cell, by the formula of WCAG."""

    def luminance(colour):
        parts = [c / 255 for c in colour]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    found = compute(ABC.with_level("pml", math.inf))
    assert found.design.mechanism.kernel.max() == 1
    tags = Outline.of(markup.kernel_table(found)).tags
    styles = [attrs["style"] for _, attrs in tags if "style" in attrs]
    colours = [
        [int(c) for c in style.removeprefix("background:rgb(").rstrip(")").split(",")]
        for style in styles
    ]
    darkest = min(map(luminance, colours))
    assert (darkest + 0.05) / (luminance((0x1F, 0x29, 0x33)) + 0.05) > 4.5


# Charts


def plain(options):
    """The options as JSON, which knows neither infinity nor NaN; no key runs as code."""
    text = json.dumps(options, allow_nan=False)

    def keys(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key
                yield from keys(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from keys(inner)

    assert not [key for key in keys(options) if key.startswith(":")]
    return json.loads(text)


def test_lifts_are_drawn_with_their_bounds_and_what_is_ruled_out():
    found = compute(ABC.with_level("pml", 0.9))
    options = plain(charts.lifts_options(found))
    density = found.design.mechanism.information_density(found.report.prior)
    used = found.design.mechanism.output_distribution(found.report.prior) > 0
    assert len(options["series"]) == 3
    assert options["tooltip"]["renderMode"] == "richText"
    for row, series in zip(density[:, used], options["series"], strict=True):
        for value, point in zip(row, series["data"], strict=True):
            if np.isneginf(value):
                assert point["label"]["formatter"] == "▼"
                assert point["value"] == pytest.approx(options["yAxis"]["min"])
            else:
                assert point["value"] == pytest.approx(value, abs=1e-6)
    assert np.isneginf(density[:, used]).any()
    lines = options["series"][0]["markLine"]["data"]
    assert [(line["name"], line["yAxis"]) for line in lines] == [("PML 0.9", 0.9)]


def test_implied_bounds_are_drawn_where_they_are_tighter():
    found = compute(ABC.with_required("pml", False).with_required("ldp", True))
    low, high = found.implied["alip"].levels
    lines = charts.lifts_options(found)["series"][0]["markLine"]["data"]
    assert [line["yAxis"] for line in lines] == [high, -low]
    assert all(line["name"].startswith("implied") for line in lines)


def test_many_symbols_are_dots_on_numbered_outcomes():
    settings = guessing(md.Prior.uniform(12)).zipf().with_utility("chi-square")
    found = compute(settings)
    options = plain(charts.lifts_options(found))
    kept, ruled_out = options["series"]
    used = found.design.mechanism.output_distribution(found.report.prior) > 0
    assert len(kept["data"]) + len(ruled_out["data"]) == 12 * used.sum()
    assert options["xAxis"]["data"] == [str(k + 1) for k in range(used.sum())]


def test_the_design_is_marked_on_the_frontier_at_each_level_it_holds():
    settings = ABC.with_required("ldp", True).with_level("ldp", math.inf)
    found = compute(settings.with_level("pml", 0.4))
    piece = (settings.notions[0], (0.1, 1.0))
    curve = results.Curve(settings.notions[0], results.frontier_points(settings, piece))
    options = plain(charts.frontier_options([curve], results.value_range(settings), found))
    line, marks = options["series"]
    np.testing.assert_allclose(line["data"], [[p.level, p.value] for p in curve.points], rtol=1e-6)
    assert marks["data"] == [[0.4, found.design.value]]
    ends = [mark["yAxis"] for mark in marks["markLine"]["data"]]
    assert ends == pytest.approx([0.5, 1.0])
    nothing = plain(charts.frontier_options([], None, None))
    assert nothing["series"][-1]["data"] == []


def test_risks_have_a_logarithmic_axis_and_words_of_their_own():
    settings = ABC.with_utility("estimation")
    found = compute(settings)
    risk = found.design.risk
    curves = [
        results.Curve(
            chosen, results.frontier_points(settings, (chosen, (0.1, 1.0))), asks=settings.question
        )
        for chosen in settings.notions
    ]
    ends = results.value_range(settings)
    options = plain(charts.frontier_options(curves, ends, found))
    axis = options["yAxis"]
    assert (axis["type"], axis["name"]) == ("log", "least squared error × reports")
    values = [y for line in options["series"][:-1] for _, y in line["data"]]
    assert axis["min"] < ends.full_disclosure < min(values) < max(values) < axis["max"]
    marks = options["series"][-1]
    assert marks["data"] == [[0.5, risk]]
    assert [(m["name"], m["yAxis"]) for m in marks["markLine"]["data"]] == [
        ("open survey", ends.full_disclosure)
    ]
    # A design for another utility is not marked among risks.
    assert charts.frontier_options(curves, ends, compute(ABC))["series"][-1]["data"] == []
    shown_in_full(found)
    tiles = markup.tiles(found)
    assert f"<b>{found.design.reports_for(0.05):,}</b>" in tiles
    assert f"<b>{risk:.6g}</b>" in tiles
    assert "Upper bound" not in tiles
    assert markup.summary(found).startswith(f"PML(0.5): {risk:.6g} squared error")
    others = [results.alternative(settings, chosen) for chosen in settings.notions]
    listed = markup.alternative_list(others, found)
    assert "as many reports as the design" in listed
    assert f"{others[2].value / risk:.3g} times the reports of the design" in listed
    assert "Least squared error × reports" in markup.frontier_table(curves)


def test_a_secret_that_is_known_takes_no_reports():
    settings = guessing(md.Prior([1.0])).with_utility("estimation")
    found = compute(settings)
    assert found.design.risk == 0
    shown_in_full(found)
    curves = [results.Curve(chosen, asks=settings.question) for chosen in settings.notions]
    options = plain(charts.frontier_options(curves, results.value_range(settings), found))
    assert options["yAxis"]["type"] == "value"


def test_curves_are_told_apart_without_colour():
    curves = [
        results.Curve(NotionSetting(name, (1.0,) * len(NOTIONS[name].level_fields)))
        for name in OFFERED
    ]
    lines = charts.frontier_options(curves, None, None)["series"][:-1]
    assert len({line["symbol"] for line in lines}) == len(lines)
    assert len({line["color"] for line in lines}) == len(lines)


def test_names_aslant_are_short_unless_they_would_look_alike():
    def ticks(names):
        settings = guessing(md.Prior([1 / 3] * 3, names))
        found = compute(settings.with_level("pml", math.inf))
        return charts.lifts_options(found)["xAxis"]["data"]

    assert ticks([f"{k} is a rather long name" for k in "abc"]) == [
        f"{k} is a rather…" for k in "abc"
    ]
    alike = [f"rather long name {k}" for k in "abc"]
    assert ticks(alike) == alike


def test_widths_of_text_can_be_measured():
    """A canvas does not know the word "inherit", and would measure with another font."""
    found = compute(guessing(md.Prior([0.5, 0.5])))
    assert "inherit" not in json.dumps(
        [charts.lifts_options(found), charts.frontier_options((), None, found)]
    )
