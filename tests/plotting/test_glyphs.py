"""Labels in scripts that the usual font has no glyphs for, on machines with and without others."""

from __future__ import annotations

import warnings
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from matplotlib import font_manager, pyplot
from pictures import check_picture

import mechdesign as md
from mechdesign.errors import GlyphWarning
from mechdesign.plotting import glyphs, save_figure
from mechdesign.views.pages import report_page

mpl.use("Agg")

LABELS = ["東京", "大阪", "北京市朝阳区"]
# In fonts that come with matplotlib, and not in its usual one.
RARE = ["a\u1d81", "b\u20d2c", "c\u2313"]


def design_of(labels):
    return md.design(md.Prior([0.5, 0.3, 0.2], labels), md.utility.Hamming(), md.LDP(1))


@pytest.fixture(autouse=True)
def only_fonts_of_matplotlib(monkeypatch):
    """Whatever else is installed on the machine of the test."""
    own = [f for f in font_manager.fontManager.ttflist if "mpl-data" in f.fname]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", own)
    glyphs._others.cache_clear()
    yield
    glyphs._others.cache_clear()
    pyplot.close("all")


def test_labels_without_a_font_are_text_in_svg_and_warned_of_elsewhere(tmp_path):
    found = design_of(LABELS)
    axes = md.plot_kernel(found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_figure(axes.figure, tmp_path / "k.svg")
        page = report_page(found)
    texts = [e.text or "" for e in ElementTree.parse(tmp_path / "k.svg").iter() if "text" in e.tag]
    for label in LABELS:
        assert any(label in text for text in texts)
        assert page.count(label) > 5
    with pytest.warns(GlyphWarning, match="no installed font has .*install one") as said:
        save_figure(axes.figure, tmp_path / "k.png")
    assert len(said) == 1


def test_labels_take_the_glyphs_of_any_installed_font(tmp_path):
    axes = md.plot_kernel(design_of(RARE))
    assert glyphs.without_glyphs(axes.figure) == ""
    check_picture(axes.figure)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ending in ("png", "pdf", "svg"):
            save_figure(axes.figure, tmp_path / f"k.{ending}")
    # A control: the usual font alone has none of them.
    with mpl.rc_context({"font.family": "DejaVu Sans"}):
        assert all(len(glyphs.families_for(label)) > 1 for label in RARE)
        assert glyphs.families_for("plain äöü €") == ["DejaVu Sans"]
