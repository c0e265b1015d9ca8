"""The page of a collector in a browser: it follows the reports, and asks nobody else.

These tests need Chromium on the machine and are skipped, with a reason, where there is none.
"""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import mechdesign as md

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.collector import Served, request, send
from benchmarks.page import find_chromium

pytest.importorskip("granian", reason="the collector needs mechdesign[web]")
pytest.importorskip("sqlalchemy", reason="the collector needs mechdesign[web]")
playwright = pytest.importorskip("playwright.sync_api", reason="the browser needs playwright")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_chromium() is None, reason="THERE IS NO CHROMIUM: the page is not opened in any test"
    ),
]

FOREVER = 300_000  # milliseconds; only keeps a test from waiting for ever
FLIP = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
DIGEST = md.ReportCounts(FLIP).kernel


class Visit:
    """A page that takes down what it asks for and what goes wrong in it."""

    def __init__(self, browser, url, **options):
        self.page = browser.new_page(**options)
        self.page.set_default_timeout(FOREVER)
        self.asked, self.wrong = [], []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on(
            "console", lambda line: self.wrong.append(line.text) if line.type == "error" else None
        )
        self.page.goto(url)

    def wait_for(self, text):
        playwright.expect(self.page.locator("#estimates")).to_contain_text(text, timeout=FOREVER)


def post(server, label, nonces):
    one = [{"kernel": DIGEST, "report": label, "nonce": f"{k:032x}"} for k in nonces]
    found = []  # the browser is driven in this thread, with a loop of its own
    thread = threading.Thread(
        target=lambda: found.append(asyncio.run(send(server.port, [request(one)], 1))[0])
    )
    thread.start()
    thread.join()
    assert found[0][0][0] == 200


def test_the_page_follows_the_reports_and_asks_nobody_else(browser, tmp_path):
    md.save(FLIP, tmp_path / "m.json")
    arguments = [str(tmp_path / "m.json"), "--database", str(tmp_path / "c.sqlite")]
    with Served(*arguments) as server:
        visit = Visit(browser, server.url, viewport={"width": 390, "height": 800})
        visit.wait_for("0 reports so far; estimates begin at 10")
        post(server, "no", range(600))
        visit.wait_for("600 reports")
        post(server, "yes", range(600, 1000))
        visit.wait_for("1,000 reports")
        made = md.estimate({"no": 600, "yes": 400}, FLIP)
        cells = visit.page.get_by_role("row", name="no").get_by_role("cell").all_inner_texts()
        shown = [float(text) for text in cells]
        row = made.rows()[0]
        assert shown == pytest.approx(
            [row[name] for name in ("estimate", "error", "lower", "upper")], abs=1e-4
        )
        picture = visit.page.get_by_role("img", name="Estimates with their intervals")
        playwright.expect(picture).to_be_visible()
        assert picture.locator("circle").count() == 2
        # It fits into a narrow window.
        assert visit.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        hosts = {urlsplit(asked).netloc for asked in visit.asked if not asked.startswith("data:")}
        assert hosts == {urlsplit(server.url).netloc}
        assert len([asked for asked in visit.asked if asked == server.url]) > 2
        assert not visit.wrong, visit.wrong
        refusal = visit.page.evaluate(
            """() => new Promise((done) => {
              document.addEventListener("securitypolicyviolation", (e) =>
                done(e.effectiveDirective));
              fetch("http://192.0.2.1/").catch(() => setTimeout(() => done("none"), 60000));
            })"""
        )
        assert refusal == "connect-src"
        visit.wrong.clear()
    playwright.expect(visit.page.locator("#state")).to_contain_text(
        "does not answer", timeout=FOREVER
    )
    assert all(re.search("ERR_CONNECTION|Failed to fetch", line) for line in visit.wrong)
    visit.page.close()


def test_a_browser_asks_for_the_token_of_readers(browser, tmp_path):
    md.save(FLIP, tmp_path / "m.json")
    (tmp_path / "token").write_text("correct-horse-battery\n")
    arguments = [str(tmp_path / "m.json"), "--database", str(tmp_path / "c.sqlite")]
    with Served(*arguments, "--token-file", str(tmp_path / "token")) as server:
        for password, status in (("correct-horse-battery", 200), ("another", 401)):
            context = browser.new_context(
                http_credentials={"username": "reader", "password": password}
            )
            page = context.new_page()
            assert page.goto(server.url, timeout=FOREVER).status == status
            context.close()
