"""The module for devices in headless Chromium: its kernel and draws, reloads, tabs, and refusals.

These tests need Chromium on the machine and are skipped, with a reason, where there is none.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from false_alarms import are_usual
from listed_words import Stream
from site_pages import FOREVER, serving

import mechdesign as md
from mechdesign.published import kernel_fingerprint
from mechdesign.release.sampler import AliasTable

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.page import FLAGS, find_chromium

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


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        yield found
        found.close()


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


@pytest.mark.slow
def test_the_browser_has_the_weights_of_python(context, url):
    told = opened(context, url).evaluate(
        "[kernel.digest, kernel.inputs, kernel.outputs, kernel.weights.map((r) => r.map(String))]"
    )
    weights = [[str(int(w)) for w in row] for row in KERNEL.weights]
    assert told == [kernel_fingerprint(KERNEL), LABELS, LABELS, weights]


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


def test_draws_in_the_browser_have_the_chances_of_the_kernel(context, url):
    page = opened(context, url)
    counts = page.evaluate(
        """async (draws) => {
          const counts = kernel.inputs.map(() => kernel.outputs.map(() => 0));
          for (let i = 0; i < draws; i++) {
            const map = new Map();
            const storage = {
              getItem: (name) => map.get(name) ?? null, setItem: (name, v) => map.set(name, v),
            };
            const client = new Client({ storage });
            for (const [x, label] of kernel.inputs.entries()) {
              counts[x][await client.output(label)]++;
            }
          }
          return counts;
        }""",
        4000,
    )

    assert are_usual(counts, KERNEL.kernel)
    # The control: a kernel of another level does not fit.
    assert not are_usual(counts, md.randomised_response(md.Prior.uniform(LABELS), 2).kernel)


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


def test_equal_bytes_give_equal_draws(context, url):
    rng = np.random.default_rng(3)
    streams = [rng.bytes(8 * len(LABELS) + 800) for _ in range(100)]
    told = opened(context, url).evaluate(
        """(streams) => Promise.all(streams.map((stream) => {
          const map = new Map();
          const storage = {
            getItem: (name) => map.get(name) ?? null, setItem: (name, v) => map.set(name, v),
          };
          let place = 0;
          const random = (part) => {
            part.set(stream.slice(place, place + part.length));
            place += part.length;
          };
          const client = new Client({ storage, random });
          return Promise.all(kernel.inputs.map((label) => client.output(label)));
        }))""",
        [list(stream) for stream in streams],
    )
    table, codes = AliasTable(KERNEL), np.arange(len(LABELS))
    assert told == [table.draw(codes, Stream(stream)).tolist() for stream in streams]


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
