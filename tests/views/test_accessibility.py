"""The pages under axe, an audit of accessibility: names, roles, contrast, reach of the keyboard.

In a light and a dark scheme, on a wide and a narrow window. These tests need Chromium, and are
skipped with a reason where there is none.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from checks import for_each

import mechdesign as md
from mechdesign.views import pages as pages_of_reports

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.collector import Served as ServedCollector
from benchmarks.page import Served, find_chromium

playwright = pytest.importorskip("playwright.sync_api", reason="the browser needs playwright")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="the audit needs axe")
pytest.importorskip("jinja2", reason="reports need mechdesign[web]")
pytest.importorskip("nicegui", reason="the page needs mechdesign[web]")
pytest.importorskip("granian", reason="the collector needs mechdesign[web]")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_chromium() is None, reason="THERE IS NO CHROMIUM: no page is audited in any test"
    ),
]

FOREVER = 300_000  # milliseconds; only keeps a test from waiting for ever
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
VIEWS = [("light", 1280), ("dark", 390)]
PRIOR = md.Prior([0.5, 0.3, 0.2], labels=["walk", "bus", "car"])
FLIP = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])


# Addresses of the explorer that show the controls of each kind of question.
QUESTIONS = {
    "a mean": "&of=1st%3D1,2nd%3D2,3rd%3D3,crew%3D4&truth=any",
    "written out": "&of=[[1,-1,0,0],[0,0,1,-1]]&of-weights=1,2&truth=5,3,2,1",
    "refused": "&of=x",
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Addresses of the pages, and a selector that is there once a page is complete."""
    folder = tmp_path_factory.mktemp("pages")
    found = md.design(PRIOR, md.utility.Hamming(), md.PML(0.5))
    md.write_report(found, folder / "review.html")
    compared = md.compare(PRIOR, md.utility.Hamming(), [md.PML, md.LDP], [0.5, 1.0])
    text = pages_of_reports.comparison_page(compared)
    (folder / "comparison.html").write_text(text, encoding="utf-8")
    sampled = md.audit_samples(
        ["no", "yes"] * 500, md.Sampler(FLIP, rng=1).draw(["no", "yes"] * 500), md.LDP(1.2)
    )
    md.write_sample_report(sampled, folder / "samples.html")
    reports = {path.stem: (path.as_uri(), "footer") for path in folder.glob("*.html")}
    md.save(FLIP, folder / "m.json")
    arguments = [str(folder / "m.json"), "--database", str(folder / "c.sqlite")]
    with Served() as explorer, ServedCollector(*arguments) as collector:
        yield {
            **reports,
            "explorer": (explorer, "table.kernel td"),
            **{
                f"explorer, {kind}": (f"{explorer}?utility=estimation{query}", "table.kernel td")
                for kind, query in QUESTIONS.items()
            },
            "collector": (collector.url, "#estimates section"),
        }


def violations(page, rules=RULES):
    found = axe.Axe().run(page, options=rules).response
    assert len(found["passes"]) > 15  # the audit looked at something
    return [
        (rule["id"], node["html"][:200], node["failureSummary"])
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


@for_each(
    "name",
    [
        *("review", "comparison", "samples", "explorer", "collector"),
        *(f"explorer, {kind}" for kind in QUESTIONS),
    ],
)
def test_the_audit_finds_nothing(name, browser, pages):
    url, complete = pages[name]
    for scheme, width in VIEWS:
        page = browser.new_page(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            reduced_motion="reduce",
        )
        page.goto(url)
        page.wait_for_selector(complete, timeout=FOREVER)
        assert violations(page) == [], (scheme, width)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        light = sum(int(part) for part in ground.strip("rgba()").split(",")[:3]) > 3 * 128
        assert light is (scheme == "light")
        page.emulate_media(media="print", color_scheme=scheme)
        ink = page.evaluate("getComputedStyle(document.body).color")
        assert sum(int(part) for part in ink.strip("rgba()").split(",")[:3]) < 3 * 128
        page.close()


# A page of each kind; best practices, such as landmarks, are those of the theme.
SITE = Path(__file__).parents[2] / "build" / "site"
SITE_RULES = {"runOnly": [rule for rule in RULES["runOnly"] if rule != "best-practice"]}
SITE_PAGES = [
    *("index", "learn/data-engineer", "look-up/command-line", "look-up/benchmarks/results"),
    *("learn/notebooks/02_compare_regimes", "look-up/errors/MD103", "look-up/python/privacy"),
    *("look-up/glossary", "coming-from/opendp", "understand/one-idea", "search", "genindex"),
]


@pytest.mark.skipif(not SITE.exists(), reason="the site is built by notebooks/site/build.py")
@for_each("number", range(len(SITE_PAGES)))
def test_the_audit_finds_nothing_on_the_site(number, browser):
    name = SITE_PAGES[number]
    # The theme is that of every page: the first is looked at in both ways, the others in turn.
    for scheme, width in VIEWS if number == 0 else [VIEWS[number % 2]]:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.goto((SITE / f"{name}.html").as_uri())
        page.wait_for_load_state("load")
        assert violations(page, SITE_RULES) == [], (scheme, width)
        wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wider) <= 0  # tables scroll, pages do not
        page.close()


def test_the_audit_notices_what_is_broken(browser, pages):
    """A control: a page without names, and with faint text, does not pass."""
    page = browser.new_page()
    page.goto(pages["review"][0])
    page.evaluate(
        """() => {
          document.documentElement.removeAttribute("lang");
          document.querySelector("main p").style.color = "#ccc";
          document.querySelector("main").append(document.createElement("button"));
          document.querySelector("pre").removeAttribute("tabindex");
        }"""
    )
    found = {rule for rule, *_ in violations(page)}
    assert {"html-has-lang", "color-contrast", "button-name"} <= found
    page.close()
