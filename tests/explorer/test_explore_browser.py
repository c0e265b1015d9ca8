"""The page in a browser: a click-through, the keyboard alone, narrow and wide, and who may ask.

These tests need Chromium on the machine and are skipped, with a reason, where there is none.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from checks import for_each
from guessing import ARGUMENTS

import mechdesign as md
from mechdesign.kernel_files import load_kernel

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.page import TIMED, Served, find_chromium, prior

pytest.importorskip("nicegui", reason="the page needs mechdesign[web]")
playwright = pytest.importorskip("playwright.sync_api", reason="the browser needs playwright")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_chromium() is None, reason="THERE IS NO CHROMIUM: the page is not opened in any test"
    ),
]


@pytest.fixture(scope="module")
def url():
    """The page as it is without arguments."""
    with Served(*ARGUMENTS) as address:
        yield address


# Milliseconds that only keep a test from waiting for ever: what it waits for is a state.
FOREVER = 300_000
playwright.expect.set_options(timeout=FOREVER)


class Tab:
    """A page in the browser that takes down what it asks for and what goes wrong in it."""

    def __init__(self, browser, url, width=1280, height=900, **options):
        self.page = browser.new_page(viewport={"width": width, "height": height}, **options)
        self.page.set_default_timeout(FOREVER)
        self.results = 0  # waited for so far
        self.asked, self.wrong = [], []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("websocket", lambda socket: self.asked.append(socket.url))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on(
            "console",
            lambda line: self.wrong.append(line.text) if line.type == "error" else None,
        )
        self.page.goto(url)
        self.page.wait_for_selector("table.kernel")
        self.wait_until_idle()

    def wait_until_idle(self):
        """Wait for a result newer than the last one waited for, and until the page is complete.

        Complete is a page on which nothing is being computed, the frontier included, and which no
        result reached for a while: several changes may be on their way at once.
        """
        while True:
            self.page.wait_for_function(
                """(results) => {
                  const busy = document.querySelector(".busy");
                  return Number(busy.dataset.results || 0) > results && busy.textContent === ""
                    && !document.querySelector("#frontier").closest("section").innerText
                         .includes("computing");
                }""",
                arg=self.results,
            )
            before, self.results = self.results, self.count()
            self.page.wait_for_timeout(900)
            if self.count() == self.results:
                return
            self.results = before

    def agree(self, name):
        """Wait until the field of a bar shows where the bar is."""
        self.page.wait_for_function(
            """([name]) => {
              const field = document.querySelector(`input[aria-label="${name} as a number"]`);
              const bar = document.querySelector(`input[type=range][aria-label="${name}"]`);
              return Math.abs(Number(field.value) - Number(bar.value)) < 1e-4;
            }""",
            arg=[name],
        )

    def count(self):
        """How many results the page has shown."""
        return int(self.page.evaluate("document.querySelector('.busy').dataset.results || 0"))

    def bar(self, name):
        return self.page.get_by_role("slider", name=name, exact=True)

    def field(self, name):
        return self.page.get_by_role("textbox", name=name, exact=True)

    def write(self, name, text):
        self.field(name).fill(text)
        self.field(name).press("Enter")

    def choose(self, name, option):
        self.page.get_by_role("combobox", name=name).click()
        self.page.get_by_role("option", name=option).click()

    def kernel(self):
        cells = self.page.locator("table.kernel tbody td[style]")
        numbers = [float(text) for text in cells.evaluate_all("all => all.map(c => c.title)")]
        rows = self.page.locator("table.kernel tbody tr").count()
        return np.array(numbers).reshape(rows, -1)

    def row(self, name):
        """What the certificate says."""
        found = self.page.locator("section", has=self.page.locator("#certificate"))
        return found.get_by_role("row", name=name).get_by_role("cell").inner_text()

    def close(self):
        self.page.close()
        assert not self.wrong, self.wrong


@pytest.fixture
def tab(browser, url):
    opened = Tab(browser, url)
    yield opened
    opened.close()


def download(tab, button):
    with tab.page.expect_download() as waiting:
        tab.page.get_by_role("button", name=button).click()
    return waiting.value


def test_a_visitor_designs_something_else_and_takes_it_away(tab, tmp_path):
    first = tab.kernel()
    # A bar is pulled to about two thirds of its length.
    box = tab.bar("Mass of 1st").bounding_box()
    y = box["y"] + box["height"] / 2
    left = float(tab.bar("Mass of 1st").input_value())
    tab.page.mouse.move(box["x"] + box["width"] * left / 0.5, y)
    tab.page.mouse.down()
    for part in (0.4, 0.5, 0.6, 0.66):
        tab.page.mouse.move(box["x"] + box["width"] * part, y)
        tab.page.wait_for_timeout(60)  # as a hand would
    tab.page.mouse.up()
    tab.wait_until_idle()
    tab.agree("Mass of 1st")
    mass = float(tab.field("Mass of 1st as a number").input_value())
    assert mass == pytest.approx(0.33, abs=0.03)
    assert np.abs(tab.kernel() - first).max() > 1e-3
    # One notion more, by the space bar; its level by the arrow keys; and another utility.
    tick = tab.page.get_by_role("checkbox", name="LDP")
    tick.focus()
    tab.page.keyboard.press("Space")
    playwright.expect(tick).to_be_checked()
    tab.bar("Level ε of LDP").focus()
    for _ in range(15):
        tab.page.keyboard.press("ArrowRight")
    playwright.expect(tab.field("Level ε of LDP in nats")).to_have_value(re.compile("^(1|0.9[89])"))
    tab.choose("Utility", "Mutual information")
    playwright.expect(tab.page.get_by_label("Command line")).to_contain_text("mutual-information")
    tab.wait_until_idle()
    level = float(tab.field("Level ε of LDP in nats").input_value())
    assert level == pytest.approx(1, rel=0.02)
    value, bound = (float(tab.row(name).split()[0]) for name in ("value", "upper bound"))
    assert tab.row("LDP").startswith("yes")
    assert tab.row("PML").startswith("yes")
    # What is downloaded is what is on the page, and is proved again when it is read.
    saved = download(tab, "Mechanism as JSON")
    saved.save_as(tmp_path / saved.suggested_filename)
    found = md.load(tmp_path / "mechanism.json")
    assert found.notions == (md.PML(0.5), md.LDP(level))
    assert found.value == pytest.approx(value, rel=1e-10)
    assert found.value <= found.bound == pytest.approx(bound, rel=1e-10)
    assert found.prior.probabilities[0] == pytest.approx(mass, abs=1e-4)
    np.testing.assert_allclose(tab.kernel(), found.mechanism.kernel, rtol=1e-10)
    direct = md.design(found.prior, md.utility.MutualInformation(), found.notions)
    assert direct.certificate.fingerprint == found.certificate.fingerprint
    table = download(tab, "Kernel as CSV")
    table.save_as(tmp_path / "kernel.csv")
    np.testing.assert_array_equal(
        load_kernel(tmp_path / "kernel.csv").kernel, found.mechanism.kernel
    )
    tab.page.screenshot(path=tmp_path / "page.png", full_page=True)
    assert (tmp_path / "page.png").stat().st_size > 50_000


def test_places_of_a_map_are_designed_and_drawn(tab, tmp_path):
    assert not tab.page.get_by_role("heading", name="Places of a map").is_visible()
    rows = [f"{59.30 + i / 40},{17.98 + 0.06 * j}" for i in range(3) for j in range(3)]
    (tmp_path / "visits.csv").write_text("\n".join(["latitude,longitude", *rows]))
    with tab.page.expect_file_chooser() as chosen:
        tab.page.get_by_role("button", name="Load points of a map").click()
    chosen.value.set_files(tmp_path / "visits.csv")
    tab.write("Cells, as rows x columns", "3x3")
    tab.write("within metres", "2000")
    tab.page.get_by_role("button", name="Design for these places").click()
    drawn = tab.page.get_by_role("img", name=re.compile("^Reports of somebody at"))
    playwright.expect(drawn).to_be_visible()
    assert drawn.locator("rect").count() == 9
    box = drawn.bounding_box()
    assert box["width"] > 100
    assert box["height"] > 100
    losses = tab.page.get_by_role("table", name="Expected distance of the report")
    assert losses.get_by_role("row").count() == 1 + 1 + 6
    before = drawn.get_attribute("aria-label")
    tab.choose("Somebody is at", "anywhere: the prior")
    prior = tab.page.get_by_role("img", name=re.compile("^Prior: 0.111 at most"))
    playwright.expect(prior).to_be_visible()
    assert before != prior.get_attribute("aria-label")


def test_nothing_is_asked_of_any_other_host(tab, url):
    tab.choose("Utility", "Chi-square")
    tab.wait_until_idle()
    hosts = {urlsplit(asked).netloc for asked in tab.asked if not asked.startswith("data:")}
    assert hosts == {urlsplit(url).netloc}
    assert any(asked.startswith("ws://") for asked in tab.asked)


def test_the_policy_keeps_the_browser_from_other_hosts(tab):
    refusal = tab.page.evaluate(
        """() => new Promise((done) => {
          document.addEventListener("securitypolicyviolation", (e) => done(e.violatedDirective));
          fetch("http://192.0.2.1/").catch(() => setTimeout(() => done("none"), 60000));
        })"""
    )
    assert refusal == "connect-src"
    assert all("Content Security Policy" in line for line in tab.wrong)
    tab.wrong.clear()


def focused(page):
    """The name of what has the focus, and whether that can be seen."""
    return page.evaluate(
        """() => {
          const e = document.activeElement, style = getComputedStyle(e);
          if (e === document.body) return ["BODY", false];
          const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
          const field = e.closest(".q-field--focused") !== null;
          const name = e.getAttribute("aria-label") || e.innerText || e.tagName;
          return [name.trim().split("\\n").pop(), ring || field];  // after the icon, if any
        }"""
    )


def test_everything_is_reached_by_the_tab_key(tab):
    tab.page.evaluate("document.activeElement.blur()")
    reached = []
    for _ in range(80):
        tab.page.keyboard.press("Tab")
        name, visible = focused(tab.page)
        if name == "BODY":
            break
        assert visible, f"the focus on {name!r} is not to be seen"
        reached.append(name)
    for wanted in (
        *("Skip to results", "Name of symbol 1", "Mass of 1st", "Mass of 1st as a number"),
        *("Remove 1st", "Mass of crew", "Uniform", "Zipf", "Add symbol", "Load CSV"),
        *("Column of a table", "PML: pointwise maximal leakage", "Remove PML", "Level ε of PML"),
        *("Level ε of PML in nats", "Level ε of LDP", "Add a notion to compare", "Utility"),
        *("Kernel, scrolls sideways", "The numbers as a table", "What these results say"),
        *("Mechanism as JSON", "Kernel as CSV", "Python lines", "Command line"),
    ):
        assert wanted in reached, wanted
    assert reached.index("Mass of 1st") < reached.index("Level ε of PML") < reached.index("Utility")


def test_a_skip_link_jumps_to_the_results(tab):
    tab.page.keyboard.press("Tab")
    for _ in range(2):
        tab.page.keyboard.press("Tab")
    assert focused(tab.page)[0] == "Skip to results"
    tab.page.keyboard.press("Enter")
    tab.page.keyboard.press("Tab")
    assert focused(tab.page)[0] == "Kernel, scrolls sideways"


def test_the_arrow_keys_move_a_bar_and_a_screen_reader_hears_it(tab):
    bar = tab.bar("Mass of crew")
    bar.focus()
    tab.page.keyboard.press("ArrowLeft")
    tab.page.keyboard.press("ArrowLeft")
    spoken = bar.get_attribute("aria-valuetext")
    assert spoken == f"{100 * float(bar.input_value()):.3g} percent"
    tab.wait_until_idle()
    tab.agree("Mass of crew")
    shown = float(tab.field("Mass of crew as a number").input_value())
    assert shown == pytest.approx(float(bar.input_value()), abs=1e-4)
    assert shown < 0.4021
    assert tab.bar("Level ε of PML").get_attribute("aria-valuetext") == "0.5 nats"
    status = tab.page.get_by_role("status").first
    playwright.expect(status).to_have_text(re.compile(r"^PML\(0\.5\): .*proved optimal"))


def test_the_page_has_landmarks_headings_and_names(tab):
    outline = tab.page.locator("body").aria_snapshot()
    for line in ("- banner:", "- main:", 'heading "mechdesign explore" [level=1]'):
        assert line in outline
    for title in ("Prior", "What must stay hidden", "The best mechanism", "Certificate"):
        assert f'region "{title}"' in outline
        assert f'heading "{title}" [level=2]' in outline
    nameless = tab.page.evaluate(
        """() => [...document.querySelectorAll("input, button, [role=checkbox]")].filter((e) =>
          e.offsetParent && !e.getAttribute("aria-label") && !e.innerText && !e.labels?.length)
          .map((e) => e.outerHTML)"""
    )
    assert nameless == []
    assert tab.page.locator("html").get_attribute("lang") == "en-US"


@for_each("width", [1280, 800])
@for_each("size", [3, 20])
def test_nothing_sticks_out_at_either_width(browser, width, size):
    long = "a rather long name of a symbol"
    text = prior(size).replace("0=", f"{long}=", 1)
    with Served(*ARGUMENTS, "--prior", text) as address:
        opened = Tab(browser, address, width)
        wide = opened.page.evaluate("document.scrollingElement.scrollWidth")
        assert wide <= width
        charts = opened.page.locator(".chart svg")
        assert charts.count() == 2
        for k in range(2):
            box = charts.nth(k).bounding_box()
            assert box["x"] + box["width"] <= width
            assert box["height"] > 200
        opened.close()


def test_motion_is_reduced_for_those_who_ask(browser, url):
    opened = Tab(browser, url, reduced_motion="reduce")
    moving = opened.page.evaluate(
        """() => [...document.querySelectorAll("*")].filter((e) => {
          const s = getComputedStyle(e);
          return s.transitionProperty !== "none" && parseFloat(s.transitionDuration) > 0
            || s.animationName !== "none" && parseFloat(s.animationDuration) > 0;
        }).length"""
    )
    assert moving == 0
    opened.close()


def test_bad_input_is_answered_in_words_and_nothing_is_lost(tab):
    kernel = tab.kernel()
    alert = tab.page.get_by_role("alert").filter(has_text="expected")
    for name, text, fragment in (
        ("Level ε of PML in nats", "", "empty text"),
        ("Level ε of PML in nats", "-1", "non-negative"),
        ("Mass of 1st as a number", "much", "a number"),
        ("Name of symbol 1", "crew", "more than once"),
        ("Name of symbol 1", "", "a name"),
    ):
        tab.write(name, text)
        playwright.expect(alert).to_contain_text(fragment)
        assert tab.field(name).input_value() == text
        playwright.expect(tab.page.locator(".q-field--error").first).to_be_visible()
        np.testing.assert_array_equal(tab.kernel(), kernel)
    tab.write("Level ε of PML in nats", "inf")
    tab.wait_until_idle()
    np.testing.assert_array_equal(tab.kernel(), np.eye(4))
    tab.write("Level ε of PML in nats", "0")
    tab.wait_until_idle()
    assert np.ptp(tab.kernel(), axis=0).max() == 0
    tab.write("Mass of 1st as a number", "0")
    tab.wait_until_idle()
    assert "'1st'" in tab.page.locator(".notes").inner_text()


def test_a_visitor_asks_for_something_else_and_shares_the_address(tab, browser, url, tmp_path):
    tab.choose("Utility", "Estimation")
    tab.choose("What is estimated", "Share of one symbol")
    tab.choose("Symbol", "crew")
    tab.choose("True shares of the people", "the worst case")
    results = tab.page.locator("section", has=tab.page.locator("#results"))
    playwright.expect(results).to_contain_text("the share of crew, whatever the true shares are")
    tab.wait_until_idle()
    saved = download(tab, "Mechanism as JSON")
    saved.save_as(tmp_path / saved.suggested_filename)
    found = md.load(tmp_path / "mechanism.json")
    crew = {"1st": 0, "2nd": 0, "3rd": 0, "crew": 1}
    best = md.design(found.prior, md.utility.Estimation(crew, truth="any"), md.PML(0.5))
    assert found.risk == pytest.approx(best.risk, rel=1e-9)
    line = tab.page.get_by_label("Command line").inner_text()
    assert "--of 1st=0,2nd=0,3rd=0,crew=1 --truth any" in line
    # A number that is none is refused where it is typed.
    tab.choose("What is estimated", "Mean of numbers")
    alert = tab.page.get_by_role("alert").filter(has_text="expected")
    tab.write("Number of crew", "many")
    playwright.expect(alert).to_contain_text("number of crew: expected a number")
    tab.write("Number of crew", "2.5")
    playwright.expect(tab.page.get_by_label("Command line")).to_contain_text("crew=2.5")
    tab.wait_until_idle()
    # The address asks the same, and one that was forged runs nothing.
    other = Tab(browser, tab.page.url)
    assert other.field("Number of crew").input_value() == "2.5"
    assert (
        other.page.get_by_label("Command line").inner_text()
        == tab.page.get_by_label("Command line").inner_text()
    )
    np.testing.assert_array_equal(other.kernel(), tab.kernel())
    other.close()
    for query in (
        "?utility=estimation&of=%3Cimg+src%3Dx+onerror%3D%27window.hit%3D1%27%3E%3D1",
        "?utility=%3Cimg+src%3Dx+onerror%3D%27window.hit%3D1%27%3E",
        "?utility=estimation&truth=%22%3B%2F%2F%3C%2Fscript%3E%3Cscript%3Ewindow.hit%3D1%3C%2Fscript%3E",
    ):
        forged = Tab(browser, url + query)
        alert = forged.page.get_by_role("alert").filter(has_text="expected")
        playwright.expect(alert).to_be_visible()
        assert forged.page.evaluate("window.hit") is None
        assert forged.page.get_by_role("combobox", name="Utility").input_value().startswith("Hamm")
        forged.close()
    assert ask(url, path="/?utility=estimation&of=" + "x" * 1_000_000).status in (400, 414, 431)
    assert ask(url).status == 200


@pytest.mark.parametrize("width", [1280, 380])
def test_questions_of_long_names_stick_out_nowhere(browser, width):
    long = "a rather long name of a symbol"
    with Served(*ARGUMENTS, "--prior", f"{long}=0.5,b=0.3,c=0.2") as address:
        of = f"{long}=1,b=-2,c=5".replace(" ", "+").replace("=", "%3D")
        opened = Tab(browser, f"{address}?utility=estimation&of={of}", width)
        for kind in ("Another question", "Mean of numbers", "Share of one symbol"):
            opened.choose("What is estimated", kind)
            opened.wait_until_idle() if kind == "Share of one symbol" else None
            assert opened.page.evaluate("document.scrollingElement.scrollWidth") <= width
            outside = opened.page.evaluate(
                """(width) => [...document.querySelectorAll(".question *, dl.tiles *")].filter(
                  (e) => e.offsetParent && e.getBoundingClientRect().right > width)
                  .map((e) => e.outerHTML.slice(0, 120))""",
                width,
            )
            assert outside == []
        opened.close()


def test_a_name_is_never_run(tab):
    evil = "<img src=x onerror='window.hit=1'>"
    tab.write("Name of symbol 4", evil)
    tab.wait_until_idle()
    playwright.expect(tab.page.locator("table.kernel tbody th").nth(3)).to_have_text(evil)
    tab.page.locator(".chart svg").first.hover()
    tab.page.wait_for_timeout(300)  # for what would be run
    assert tab.page.evaluate("window.hit") is None


def test_a_file_is_loaded(tab, tmp_path):
    (tmp_path / "pets.csv").write_text("pet\ncat\ndog\ncat\n", encoding="utf-8")
    with tab.page.expect_file_chooser() as waiting:
        tab.page.get_by_role("button", name="Load CSV", exact=True).click()
    waiting.value.set_files(tmp_path / "pets.csv")
    playwright.expect(tab.field("Name of symbol 1")).to_have_value("cat")
    tab.wait_until_idle()
    assert tab.field("Mass of cat as a number").input_value() == "0.6667"
    assert "pets.csv --column pet" in tab.page.get_by_label("Command line").inner_text()


def test_tabs_share_nothing(browser, tab, url):
    other = Tab(browser, url)
    other.write("Level ε of PML in nats", "0.1")
    other.wait_until_idle()
    assert tab.field("Level ε of PML in nats").input_value() == "0.5"
    assert tab.row("PML").endswith("0.5 nats")
    other.close()


def test_changes_are_shown_one_after_another(browser):
    """How fast is measured by ``python -m benchmarks.page time``, which can be given a limit."""
    with Served(*ARGUMENTS, "--prior", prior(20)) as address:
        opened = Tab(browser, address)
        for selector, value in ((".bar input.share", "0.07"), (".level input", "-1.0")):
            assert opened.page.evaluate(TIMED, [selector, value, FOREVER]) is not None
        opened.close()


# Who may ask


def ask(url, **headers):
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=FOREVER / 1000)
    connection.request("GET", headers.pop("path", "/"), headers=headers)
    answer = connection.getresponse()
    with contextlib.suppress(ConnectionResetError):  # a request that was not read to its end
        answer.read()
    connection.close()
    return answer


def test_foreign_hosts_and_pages_are_refused(url):
    netloc = urlsplit(url).netloc
    assert ask(url).status == 200
    assert ask(url, Host="evil.example").status == 403
    assert ask(url, Host=f"evil.example:{urlsplit(url).port}").status == 403
    assert ask(url, Origin="https://evil.example").status == 403
    upgrade = {
        "path": "/_nicegui_ws/socket.io/?EIO=4&transport=websocket",
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    assert ask(url, **upgrade, Origin="https://evil.example").status == 403
    assert ask(url, **upgrade, Origin=f"http://{netloc}").status == 101


COMPUTING = """() => document.querySelector("#frontier").closest("section").innerText
  .includes("computing")"""


def test_an_interrupt_ends_it_cleanly_with_a_page_open(browser, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    served = Served(*ARGUMENTS, "--prior", prior(20))
    with served as address:
        assert urlsplit(address).hostname == "127.0.0.1"
        opened = Tab(browser, address)
        opened.choose("Utility", "Mutual information")
        opened.page.wait_for_function(COMPUTING)
    assert served.code == 0
    # It did not wait for the frontier, which the page is without still.
    assert opened.page.evaluate(f"({COMPUTING})()")
    assert served.said.splitlines()[-1] == "stopped"
    assert "Traceback" not in served.said
    assert not list(tmp_path.iterdir())  # it leaves nothing behind
    opened.page.close()


@pytest.mark.skipif(os.name != "posix", reason="ended by a signal")
def test_a_server_that_is_told_to_end_leaves_no_files(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    served = Served()
    with served as address:
        assert address
        assert [path.name[:10] for path in tmp_path.iterdir()] == ["mechdesign"]
        served.process.terminate()
        served.process.wait(FOREVER / 1000)
    assert not list(tmp_path.iterdir())


def test_what_is_printed_is_the_address_alone():
    served = Served(*ARGUMENTS, "--prior", "0.5,0.5")
    with served as address:
        pass
    assert address.startswith("http://127.0.0.1:")
    assert served.code == 0
    assert json.dumps(served.said).count("error") == 0
