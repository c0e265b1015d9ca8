"""What devices send is what a collector counts: a thousand reports from Node, and from a page."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections import Counter

import numpy as np
import pytest
from node_runs import MISSING, NODE, run_node
from site_pages import FOREVER, serving

import mechdesign as md
from mechdesign.release.report_counts import report_text

for library in ("starlette", "granian", "sqlalchemy"):
    pytest.importorskip(library, reason="the collector needs mechdesign[web]")

from benchmarks.page import FLAGS, find_chromium  # noqa: E402

LABELS = ["no", 2, True, 0.5, ("a", 1), 2**60 + 1, 'x"</script>\n😀', None]
KERNEL = md.Mechanism.from_weights(3 + 8 * np.eye(8, dtype=int), 5, LABELS, LABELS)
PEOPLE = 1000

SENDS = """
const pool = [];
for (let i = 0; i < given.people; i++) {
  const client = new Client({ storage: memory(), person: i });
  pool.push(await client.report(kernel.inputs[i % kernel.inputs.length]));
}
let counted = 0;
for (let i = 0; i < pool.length; i += 100) {
  counted += (await send(given.url, pool.slice(i, i + 100))).counted;
}
const again = await send(given.url, pool[0]);
const [name, message] = await said(() => send(given.url, { ...pool[0], nonce: "no" }));
tell({ counted, again: again.status, name, message, text: toJSON(pool.map((one) => one.report)) });
"""


@pytest.fixture
def collect(tmp_path):
    """A function that starts a collector of the kernel and gives its address."""
    processes = []

    def begin(*options):
        md.save(KERNEL, tmp_path / "m.json", overwrite=True)
        words = [sys.executable, "-m", "mechdesign", "serve", "m.json", "--port", "0", *options]
        process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        return re.search(r"http://[^\s/]+", process.stdout.readline())[0]

    yield begin
    for process in processes:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=FOREVER / 1000)


def counts_of(address):
    with urllib.request.urlopen(f"{address}/counts") as answer:
        found = md.ReportCounts.from_json(json.load(answer))
    return {text: count for text, count in found.counts.items() if count}


@pytest.mark.skipif(NODE is None, reason=MISSING)
def test_a_thousand_reports_from_node_are_counted(collect, tmp_path):
    address = collect()
    given = {"people": PEOPLE, "url": f"{address}/reports"}
    told = run_node(tmp_path, KERNEL, SENDS, given)
    assert told["counted"] == PEOPLE
    assert told["again"] == "already counted"
    assert told["name"] == "ClientError"
    assert "got 422; " in told["message"]
    drawn = Counter(report_text(report) for report in json.loads(told["text"]))
    assert counts_of(address) == drawn
    assert set(drawn) == {report_text(label) for label in LABELS}


@pytest.mark.slow
@pytest.mark.skipif(
    find_chromium() is None, reason="THERE IS NO CHROMIUM: the module is not opened in any browser"
)
def test_a_page_of_another_host_sends_where_it_may(collect, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser needs playwright")
    sends = """async ([url, people]) => {
      const pool = [];
      for (let i = 0; i < people; i++) {
        pool.push(await new Client({ person: i }).report(kernel.inputs[5]));
      }
      return tried(() => send(url, pool));
    }"""
    with serving(tmp_path / "site", KERNEL) as page_url, playwright.sync_playwright() as driver:
        origin = page_url.rpartition("/")[0]
        allowed = collect("--allow-origin", origin)
        browser = driver.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        page = browser.new_page()
        page.goto(page_url)
        page.wait_for_function("window.ready", timeout=FOREVER)
        kind, answer = page.evaluate(sends, [f"{allowed}/reports", 50])
        assert kind == "done", answer
        assert answer["counted"] == 50
        assert sum(counts_of(allowed).values()) == 50
        # The control: where the collector allows no page, the browser sends nothing.
        other = collect("--database", "other.sqlite")
        kind, _ = page.evaluate(sends, [f"{other}/reports", 50])
        assert kind == "TypeError"
        assert not counts_of(other)
        browser.close()
