"""The module for devices in headless Chromium: its kernel and draws, reloads, tabs, and refusals.

These tests need Chromium on the machine and are skipped, with a reason, where there is none.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from site_pages import FOREVER, serving

import mechdesign as md

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.page import find_chromium

pd = pytest.importorskip("pandas")
playwright = pytest.importorskip("playwright.sync_api", reason="the browser needs playwright")

pytestmark = pytest.mark.skipif(
    find_chromium() is None, reason="THERE IS NO CHROMIUM: the module is not opened in any browser"
)

LABELS = ["no", "yes", 'perhaps "</script>"\n😀']
KERNEL = md.randomised_response(md.Prior.uniform(LABELS), 1)


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("site"), KERNEL, column="answer") as found:
        yield found


@pytest.fixture
def context(browser):
    """A profile of its own: an empty memory."""
    found = browser.new_context()
    yield found
    found.close()


def opened(context, url):
    page = context.new_page()
    page.set_default_timeout(FOREVER)
    page.goto(url)
    page.wait_for_function("window.ready")
    return page


FORGET = """new Promise((done, failed) => {
  const asked = indexedDB.deleteDatabase("mechdesign");
  asked.onsuccess = done;
  asked.onerror = failed;
}).then(() => null)"""


@pytest.mark.slow
def test_a_report_survives_a_reload_and_a_new_tab(context, url):
    page = opened(context, url)
    ask = "Promise.all(kernel.inputs.map((label) => new Client().report(label)))"
    first = page.evaluate(ask)
    assert all(re.fullmatch("[0-9a-f]{32}", one["nonce"]) for one in first)
    for _ in range(20):
        page.reload()
        page.wait_for_function("window.ready")
        again = page.evaluate(ask)
        assert [one["report"] for one in again] == [one["report"] for one in first]
    other = opened(context, url).evaluate(ask)
    assert [one["report"] for one in other] == [one["report"] for one in first]
    nonces = [one["nonce"] for one in (*first, *again, *other)]
    assert len(set(nonces)) == len(nonces)
    # The control: where the memory is lost, reports are drawn anew.
    lost = []
    for _ in range(16):
        page.evaluate(FORGET)
        lost.append(tuple(one["report"] for one in page.evaluate(ask)))
    assert len(set(lost)) > 1


def test_two_tabs_at_once_have_one_report(context, url):
    tabs = [opened(context, url) for _ in range(2)]
    people = 300
    start = """(people) => { window.told = (async () => {
      const found = [];
      for (let i = 0; i < people; i++) found.push(await new Client({ person: i }).output("yes"));
      return found;
    })(); return null; }"""
    for tab in tabs:
        tab.evaluate(start, people)
    first, second = (tab.evaluate("window.told") for tab in tabs)
    assert first == second
    assert len(set(first)) == len(LABELS)


def test_equal_keys_give_the_reports_of_python(context, url, tmp_path):
    key = md.release_key(tmp_path / "release.key")
    codes = np.arange(60) % len(LABELS)
    people = [f"person {i} é😀" for i in range(60)]
    table = pd.DataFrame({"who": people, "answer": [LABELS[x] for x in codes]})
    made = md.privatize(table, "answer", KERNEL, person="who", key=key)
    found = opened(context, url).evaluate(
        """async ([text, people]) => {
          const key = keyFromText(text), found = [];
          for (const [i, identity] of people.entries()) {
            const client = new Client({ key, identity });
            found.push((await client.report(kernel.inputs[i % kernel.inputs.length])).report);
          }
          return [found, new Client({ key, identity: 1 }).receipt.key];
        }""",
        [(tmp_path / "release.key").read_text(), people],
    )
    assert found == [made["answer"].tolist(), key.fingerprint]


FULL = "() => { throw new Error('full'); }"


REFUSED = {
    "storage that is full": f"IDBObjectStore.prototype.put = {FULL}",
    "storage that is closed": f"IDBFactory.prototype.open = {FULL}",
    "storage that fails later": """
      const { put } = IDBObjectStore.prototype;
      IDBObjectStore.prototype.put = function (...of) {
        put.apply(this, of);
        setTimeout(() => {});
        this.transaction.abort();
      }""",
    "storage that is refused": (
        "Object.defineProperty(window, 'indexedDB', { get() { throw new Error('closed'); } })"
    ),
    "no storage": "Object.defineProperty(window, 'indexedDB', { value: null })",
    "no entropy": "Object.defineProperty(window, 'crypto', { value: undefined })",
    "a memory that was changed": """
      const { get } = IDBObjectStore.prototype;
      IDBObjectStore.prototype.get = function (name) {
        this.put('{"reports":[0,0,0]}', name);
        return get.call(this, name);
      }""",
}


@pytest.mark.parametrize("what", REFUSED)
def test_nothing_is_told_where_it_cannot_be_remembered(context, url, what):
    page = opened(context, url)
    page.evaluate(f"() => {{ {REFUSED[what]}; }}")
    name, message = page.evaluate("tried(async () => new Client().report('yes'))")
    assert name in ("ClientError", "Error", "AbortError", "TypeError"), message
    assert "yes" not in message


def test_a_storage_whose_tabs_may_differ_is_refused(context, url):
    page = opened(context, url)
    for storage in ("localStorage", "sessionStorage"):
        tried = f"tried(async () => new Client({{ storage: {storage} }}))"
        name, message = page.evaluate(tried)
        assert name == "ClientError"
        assert "leave storage out: IndexedDB is taken" in message


def test_the_module_asks_nobody(context, url):
    asked = []
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(url)
    page.wait_for_function("window.ready")
    page.evaluate("new Client().report('yes')")
    names = {address.rsplit("/", 1)[1] for address in asked}
    assert names <= {"index.html", "client.mjs", "favicon.ico"}
