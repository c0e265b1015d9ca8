"""The page on which the public answers, in a browser: from the question to the estimate.

These tests need Chromium on the machine and are skipped, with a reason, where there is none.
"""

from __future__ import annotations

import http.server
import json
import sys
import threading
from collections import Counter
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from false_alarms import are_usual

import mechdesign as md

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.collector import Served
from benchmarks.page import find_chromium

pytest.importorskip("granian", reason="the collector needs mechdesign[web]")
playwright = pytest.importorskip("playwright.sync_api", reason="the browser needs playwright")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="the audit needs axe")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_chromium() is None, reason="THERE IS NO CHROMIUM: the page is not opened in any test"
    ),
]

FOREVER = 300_000  # milliseconds; only keeps a test from waiting for ever
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
WORDS = """question = "Have you been a victim of a crime in the last year?"
title = "Life in our town"
shared = {shared}
[choices]
yes = "Yes, at least once, and I could have reported it to the police if I had wanted to"
[translations.de]
question = "Wurden Sie im letzten Jahr Opfer einer Straftat?"
title = "Leben in unserer Stadt"
[translations.de.choices]
yes = "Ja"
no = "Nein"
"""


@pytest.fixture(scope="module")
def design(tmp_path_factory):
    folder = tmp_path_factory.mktemp("form")
    made = md.design(md.Prior([0.8, 0.2], ["no", "yes"]), md.utility.Estimation(), md.LDP(1))
    md.save(made, folder / "design.json")
    return folder / "design.json"


def served(folder, design, *, shared="false", **more):
    (folder / "wording.toml").write_text(WORDS.format(shared=shared), encoding="utf-8")
    arguments = ["--database", str(folder / "c.sqlite"), "--form", str(folder / "wording.toml")]
    return Served(str(design), *arguments, *(part for pair in more.items() for part in pair))


class Visit:
    """A page that takes down what it asks for and what goes wrong in it."""

    def __init__(self, browser, url, width=390, **options):
        self.context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(FOREVER)
        self.asked, self.wrong, self.sent = [], [], []
        self.page.on("request", self._note)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on(
            "console", lambda line: self.wrong.append(line.text) if line.type == "error" else None
        )
        self.page.goto(url)

    def _note(self, request):
        self.asked.append(request.url)
        if request.method == "POST":
            self.sent += json.loads(request.post_data)

    def message(self, text):
        playwright.expect(self.page.get_by_role("status")).to_contain_text(text, timeout=FOREVER)


def counts(url):
    with urlopen(f"{url}counts") as answer:
        return md.ReportCounts.from_json(json.load(answer))


def test_two_hundred_answers_on_one_device_are_an_estimate(browser, design, tmp_path):
    with served(tmp_path, design, shared="true") as server:
        visit = Visit(browser, f"{server.url}form")
        page = visit.page
        for person in range(200):
            page.get_by_role("radio", name="no" if person % 4 else "Yes").check()
            page.get_by_role("button", name="Send").click()
            visit.message("This is what left your device")
            page.get_by_role("button", name="Next person").click()
        found = counts(server.url)
        made = md.load(design)
        drawn = Counter((p % 4 == 0, one["report"]) for p, one in enumerate(visit.sent))
        outputs = made.mechanism.outputs
        table = [[drawn[answer, output] for output in outputs] for answer in (False, True)]
        assert are_usual(table, made.mechanism.kernel)
        assert len(found) == 200
        assert len({one["nonce"] for one in visit.sent}) == 200
        assert {*visit.sent[0]} == {"kernel", "report", "nonce"}  # and no answer
        assert md.estimate(found, made).values.sum() == pytest.approx(1)
        hosts = {urlsplit(address).hostname for address in visit.asked}
        assert hosts == {"127.0.0.1"}
        assert visit.wrong == []


def test_an_answer_counts_once_whatever_happens(browser, design, tmp_path):
    with served(tmp_path, design) as server:
        visit = Visit(browser, f"{server.url}form?lang=de")
        page = visit.page
        assert page.title() == "Leben in unserer Stadt"
        # The collector counts it, but its answer is lost.
        page.route("**/reports", lambda route: (route.fetch(), route.abort()))
        page.get_by_role("radio", name="Ja").check()
        page.get_by_role("button", name="Absenden").click()
        visit.message("noch nicht angekommen")
        assert page.get_by_role("radio", name="Nein").is_disabled()
        page.unroute("**/reports")
        page.reload()
        visit.message("noch nicht angekommen")
        page.get_by_role("button", name="Noch einmal senden").click()
        visit.message("Dies hat Ihr Gerät verlassen")
        assert len({json.dumps(one, sort_keys=True) for one in visit.sent}) == 1
        assert len(visit.sent) == 2
        assert len(counts(server.url)) == 1
        page.reload()
        visit.message("schon eine Antwort")
        assert not page.get_by_role("radio").first.is_visible()
        kept = page.evaluate("JSON.stringify(localStorage)")
        assert visit.sent[0]["nonce"] not in kept


def test_the_keyboard_is_enough_and_the_language_changes(browser, design, tmp_path):
    with served(tmp_path, design) as server:
        visit = Visit(browser, f"{server.url}form", locale="fr-FR")
        page = visit.page
        page.get_by_role("combobox", name="Language").select_option("de")
        assert page.evaluate("document.documentElement.lang") == "de"
        page.get_by_role("combobox", name="Sprache").focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        page.keyboard.press("ArrowDown")
        assert page.get_by_role("radio", name="Nein").is_checked()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        visit.message("Danke")
        assert page.evaluate("document.activeElement.id") == "message"
        assert visit.wrong == []


def test_it_is_accessible_and_no_wider_than_a_phone(browser, design, tmp_path):
    with served(tmp_path, design) as server:
        for scheme, width in (("light", 1280), ("dark", 390)):
            visit = Visit(browser, f"{server.url}form", width, color_scheme=scheme)
            playwright.expect(visit.page.get_by_role("button", name="Send")).to_be_enabled()
            found = axe.Axe().run(visit.page, options={"runOnly": RULES["runOnly"]})
            assert found.response["violations"] == [], found.generate_report()
            wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert visit.page.evaluate(wide) == 0


def test_a_folder_on_another_host_sends_where_it_may(browser, design, tmp_path):
    with served(tmp_path, design, **{"--allow-origin": "http://localhost:1"}) as server:
        told = md.write_form(md.load(design), tmp_path / "page", "Here?", collector=server.url)
        assert "--allow-origin" in told
        handler = partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path / "page")
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
            threading.Thread(target=host.serve_forever, daemon=True).start()
            origin = f"http://127.0.0.1:{host.server_port}"
            visit = Visit(browser, f"{origin}/index.html")
            visit.page.get_by_role("radio", name="no").check()
            visit.page.get_by_role("button", name="Send").click()
            visit.message("Nobody received it yet")  # the collector knows another origin
            assert len(counts(server.url)) == 0
            host.shutdown()
    arguments = ["--database", str(tmp_path / "d.sqlite"), "--allow-origin"]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{host.server_port}"
        with Served(str(design), *arguments, origin) as server:
            md.write_form(
                md.load(design),
                tmp_path / "page",
                "Here?",
                collector=server.url,
                overwrite=True,
            )
            visit = Visit(browser, f"{origin}/index.html")
            visit.page.get_by_role("radio", name="yes").check()
            visit.page.get_by_role("button", name="Send").click()
            visit.message("Thank you")
            assert len(counts(server.url)) == 1
        host.shutdown()
