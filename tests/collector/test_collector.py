"""What a collector takes and what it refuses, over HTTP within one process."""

from __future__ import annotations

import base64
import io
import json
import sqlite3

import numpy as np
import pytest

import mechdesign as md
from mechdesign.errors import InputError

pytest.importorskip("sqlalchemy", reason="the collector needs mechdesign[web]")
testing = pytest.importorskip("starlette.testclient", reason="it needs mechdesign[web]")
pq = pytest.importorskip("pyarrow.parquet", reason="exports need pyarrow")

from mechdesign.collector.app import Collector  # noqa: E402
from mechdesign.collector.gate import Limits, Rates  # noqa: E402
from mechdesign.collector.incoming import RefusedError  # noqa: E402
from mechdesign.collector.kernels import Collected, load_kernels  # noqa: E402
from mechdesign.collector.store import Store  # noqa: E402

YES_NO = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
NUMBERS = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], [0, 1], [0, 1])
KINDS = md.Mechanism(
    np.full((2, 7), 1 / 7), normalise=True, outputs=["1", 2.0, True, None, ("a", 1), ("a", "1"), ""]
)
SECRET = "tested positive"


def digest(mechanism):
    return md.ReportCounts(mechanism).kernel


def report(label, nonce=1, mechanism=YES_NO):
    return {"kernel": digest(mechanism), "report": label, "nonce": f"{nonce:032x}"}


class Clock:
    """Seconds that pass when they are told to."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def start(tmp_path):
    """A function that starts a collector on one database and gives a client of it."""
    opened = []

    def begin(*kernels, path=tmp_path / "collected.sqlite", client="http://127.0.0.1", **options):
        found = [Collected.of(kernel) for kernel in kernels or (YES_NO,)]
        collector = Collector(found, Store(path), **options)
        made = testing.TestClient(collector.app(), base_url=client)
        made.__enter__()
        opened.append(made)
        return made

    yield begin
    for client in opened:
        client.__exit__(None, None, None)


def counted(client, **query):
    return md.ReportCounts.from_json(client.get("/counts", params=query).json())


# What is sent twice


def test_a_report_that_is_sent_again_counts_once(start):
    client = start()
    one = {**report("no"), "nonce": "ab" * 16}
    for sent, status in ((one, "counted"), (one, "already counted")):
        answer = client.post("/reports", json=sent)
        assert (answer.status_code, answer.json()["status"]) == (200, status)
    # Digits of a nonce are the same in either case.
    answer = client.post("/reports", json={**one, "nonce": "AB" * 16})
    assert answer.json()["status"] == "already counted"
    assert counted(client) == md.ReportCounts(YES_NO, {"no": 1})


def test_a_nonce_that_another_report_has_is_refused_and_changes_nothing(start):
    client = start(YES_NO, NUMBERS)
    client.post("/reports", json=report("no"))
    for other in (report("yes"), report(0, mechanism=NUMBERS)):
        answer = client.post("/reports", json=other)
        assert answer.status_code == 409
        assert "nonce of its own" in answer.json()["error"]
    assert counted(client, kernel=digest(YES_NO)) == md.ReportCounts(YES_NO, {"no": 1})
    assert len(counted(client, kernel=digest(NUMBERS))) == 0


def test_a_list_says_how_many_of_it_are_new(start):
    client = start()
    client.post("/reports", json=report("no", 1))
    some = [report("no", 1), report("no", 2), report("no", 2), report("yes", 3), report("yes", 1)]
    answer = client.post("/reports", json=some)
    assert answer.status_code == 409
    assert answer.json()["counted"] == 2
    assert answer.json()["already counted"] == 2
    assert answer.json()["refused"] == 1
    assert "[5]" in answer.json()["error"]
    assert counted(client) == md.ReportCounts(YES_NO, {"no": 2, "yes": 1})


def test_what_a_database_holds_of_a_kernel_becomes_its_public_form(tmp_path):
    """An earlier version may have written more."""
    store = Store(tmp_path / "collected.sqlite")
    kept = Collected.of(YES_NO)
    (number,) = store.register([kept])
    with sqlite3.connect(tmp_path / "collected.sqlite") as file:
        file.execute("UPDATE mechdesign_kernels SET public = '{\"prior\": [3, 4]}'")
    file.close()
    assert store.register([kept]) == [number]
    with sqlite3.connect(tmp_path / "collected.sqlite") as file:
        assert list(file.execute("SELECT public FROM mechdesign_kernels")) == [(kept.text,)]
    file.close()
    store.close()


# What is no report


WRONG = {
    "no object": 5,
    "empty list": [],
    "list in a list": [[report("no")]],
    "no output": report(SECRET),
    "a number for a text": report(1),
    "an object": report({"a": SECRET}),
    "deep list": report([[[[SECRET]]]]),
    "no nonce": {"kernel": digest(YES_NO), "report": "no"},
    "short nonce": {**report("no"), "nonce": "ab"},
    "nonce with blanks": {**report("no"), "nonce": "ab " * 10 + "ab"},
    "nonce of other digits": {**report("no"), "nonce": "\u0661" * 32},
    "nonce as number": {**report("no"), "nonce": 7},
    "forged digest": {**report("no"), "kernel": "f" * 64},
    "digest of another kernel": report("no", mechanism=NUMBERS),
    "digest as list": {**report("no"), "kernel": [digest(YES_NO)]},
    "the secret beside it": {**report("no"), "value": SECRET},
    "the secret as a name": {**report("no"), SECRET: True},
    "a receipt of another": {**report("no"), "receipt": {"kernel": "f" * 64}},
}


def refusal(client, capsys, status, **sent):
    """The one line of a refusal, which quotes no secret, and after which nothing is counted."""
    answer = client.post("/reports", **sent)
    assert answer.status_code == status
    message = answer.json()["error"]
    assert "\n" not in message
    assert "expected" in message
    assert SECRET not in answer.text
    assert SECRET not in "".join(capsys.readouterr())
    assert len(counted(client)) == 0
    return message


def test_what_is_no_report_is_refused_without_a_trace_of_it(start, capsys):
    client = start()
    told = {name: refusal(client, capsys, 422, json=sent) for name, sent in WRONG.items()}
    assert all("got" in message for message in told.values())
    assert "got a field 'value'" in told["the secret beside it"]
    assert "secrets are never to be sent" in told["the secret beside it"]
    # One wrong report refuses its list.
    message = refusal(client, capsys, 422, json=[report("no", 1), report("perhaps", 2)])
    assert message.startswith("report 2 of 2:")


def test_what_is_no_json_is_refused(start, capsys):
    client = start()
    bodies = [b"", b"{", b"\xff\xfe", b"NaN", b'{"kernel": 1, "kernel": 2}', b"\xef\xbb\xbf[]"]
    bodies += [json.dumps({**report("no"), "report": float(x)}).encode() for x in ("nan", "-inf")]
    for body in (*bodies, b"[" * 100_000, b'{"report": ' + b"9" * 5000 + b"}"):
        assert "expected JSON" in refusal(client, capsys, 400, content=body)


def test_the_text_nan_is_an_output_as_any_other(start):
    names = md.Mechanism(np.eye(2), ["NaN", "Infinity"], ["NaN", "Infinity"])
    client = start(names)
    assert client.post("/reports", json=report("NaN", mechanism=names)).status_code == 200


def test_texts_numbers_truth_values_and_lists_are_told_apart(start):
    client = start(KINDS)
    sent = ["1", 2, True, None, ["a", 1], ["a", "1"], ""]
    for k, label in enumerate(sent):
        answer = client.post("/reports", json=report(label, k + 1, KINDS))
        assert answer.json() == {"counted": 1, "already counted": 0, "status": "counted"}
    assert counted(client) == md.ReportCounts(KINDS, dict.fromkeys(KINDS.outputs, 1))
    for k, label in enumerate([False, 1, "2", "true", "None", ["a"], ["a", True], [], 1.5]):
        assert client.post("/reports", json=report(label, 99 + k, KINDS)).status_code == 422
    assert len(counted(client)) == 7


def test_an_output_that_no_input_gives_is_refused(start):
    kernel = md.Mechanism([[1, 0, 0], [0.5, 0.5, 0]], ["a", "b"], ["a", "b", "never"])
    client = start(kernel)
    assert client.post("/reports", json=report("b", 1, kernel)).status_code == 200
    assert client.post("/reports", json=report("never", 2, kernel)).status_code == 422


def test_reports_may_name_the_design_as_well_as_its_kernel(start):
    found = md.design(md.Prior([0.6, 0.4]), md.utility.Hamming(), md.LDP(1))
    public = md.PublicDesign.of(found.mechanism, found.notions)
    client = start(found)
    one = report(0, 1, found)
    assert client.post("/reports", json=one).status_code == 200
    named = {**one, "kernel": public.fingerprint}
    assert client.post("/reports", json=named).json()["status"] == "already counted"


def test_reports_of_a_subset_selection_are_integers(start):
    kernel = md.subset_selection(50, md.LDP(2))
    client = start(kernel)
    most = len(kernel.outputs)
    for k, label in enumerate([0, 1, most - 1] * 5):
        assert client.post("/reports", json=report(label, k, kernel)).status_code == 200
    for label in (-1, most, True, "0", 0.5):
        assert client.post("/reports", json=report(label, 99, kernel)).status_code == 422
    assert counted(client) == md.ReportCounts(kernel, {0: 5, 1: 5, most - 1: 5})
    assert len(client.get("/estimate").json()["kernels"][0]["rows"]) == 50


# Limits


@pytest.mark.slow
def test_a_body_of_ten_megabytes_is_refused(start):
    client = start()

    def body():
        """Of a length that is not told beforehand."""
        for _ in range(10):
            yield b" " * (1 << 20)

    huge = json.dumps([report("no", k) for k in range(100_000)])
    assert len(huge) > 10_000_000
    for content in (huge, body()):
        answer = client.post("/reports", content=content)
        assert answer.status_code == 413
        assert "at most 1048576 bytes" in answer.json()["error"]
    assert len(counted(client)) == 0


def test_a_compressed_body_is_refused(start):
    answer = start().post("/reports", content=b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
    assert answer.status_code == 415


def test_more_than_the_rate_is_sent_away_until_later(start):
    clock = Clock()
    client = start(limits=Limits(rate=2), clock=clock)
    sent = [client.post("/reports", json=report("no", k)) for k in range(6)]
    assert [answer.status_code for answer in sent] == [200] * 4 + [429] * 2
    assert int(sent[-1].headers["Retry-After"]) >= 1
    clock.now = 1.0
    assert client.post("/reports", json=report("no", 4)).status_code == 200
    assert counted(client)["no"] == 5


def test_a_long_list_is_made_up_for_later():
    clock = Clock()
    rates = Rates(10, clock)
    rates.spend("a", 1)
    rates.charge("a", 99)
    with pytest.raises(RefusedError) as caught:
        rates.spend("a", 1)
    assert caught.value.status == 429
    rates.spend("b", 1)  # another address
    clock.now = 8.0
    with pytest.raises(RefusedError):
        rates.spend("a", 1)
    clock.now = 8.2
    rates.spend("a", 1)


def test_addresses_are_forgotten_before_they_fill_the_memory():
    clock = Clock()
    rates = Rates(1, clock)
    for k in range(30_000):
        rates.spend(str(k), 2)
    rates.spend("0", 1)  # not heard of for so long that it was forgotten
    with pytest.raises(RefusedError):
        rates.spend("29999", 1)


# Who may


def test_without_the_token_nothing_is_taken_or_shown(start):
    client = start(token="s" * 20, reader_token="r" * 20)
    sender, reader = ({"Authorization": f"Bearer {c * 20}"} for c in "sr")
    assert client.post("/reports", json=report("no")).status_code == 401
    assert client.post("/reports", json=report("no"), headers=reader).status_code == 401
    assert client.post("/reports", json=report("no"), headers=sender).status_code == 200
    for path in ("/", "/estimate", "/counts", "/reports.parquet"):
        assert client.get(path).status_code == 401
        assert client.get(path, headers=sender).status_code == 401
        assert client.get(path, headers=reader).status_code == 200
        password = base64.b64encode(b"anybody:" + b"r" * 20).decode()
        asked = client.get(path, headers={"Authorization": f"Basic {password}"})
        assert asked.status_code == 200
    for wrong in ("Bearer", "Basic ###", "Basic /w==", "Bearer \u00e9".encode("latin-1")):
        assert client.get("/", headers={"Authorization": wrong}).status_code == 401
    assert client.get("/health").status_code == 200


def test_foreign_pages_may_send_only_where_they_are_allowed(start):
    foreign = {"Origin": "https://survey.example"}
    client = start()
    assert client.post("/reports", json=report("no"), headers=foreign).status_code == 403
    assert client.post("/reports", json=report("no"), headers={"Origin": "null"}).status_code == 403
    own = {"Origin": "http://127.0.0.1"}
    assert client.post("/reports", json=report("no"), headers=own).status_code == 200
    asked = {**foreign, "Access-Control-Request-Method": "POST"}
    assert "access-control-allow-origin" not in client.options("/reports", headers=asked).headers
    allowed = start(origins=["https://survey.example"])
    answer = allowed.post("/reports", json=report("no", 2), headers=foreign)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://survey.example"
    asked["Access-Control-Request-Headers"] = "content-type"
    assert allowed.options("/reports", headers=asked).status_code == 200
    other = {"Origin": "https://elsewhere.example"}
    assert allowed.post("/reports", json=report("no", 3), headers=other).status_code == 403


def test_a_foreign_name_that_points_to_this_machine_is_refused(start):
    client = start()
    for host in ("attacker.example", "127.0.0.1.attacker.example", ""):
        assert client.get("/estimate", headers={"Host": host}).status_code == 403
    for host in ("localhost:8780", "127.0.0.1", "[::1]:8780"):
        assert client.get("/estimate", headers={"Host": host}).status_code == 200
    elsewhere = start(is_local=False)
    assert elsewhere.get("/estimate", headers={"Host": "survey.example"}).status_code == 200


def test_other_paths_and_methods_are_answered_in_one_line(start):
    client = start()
    for answer in (client.get("/reports"), client.get("/../etc"), client.delete("/")):
        assert answer.status_code in (404, 405)
        assert "expected POST /reports" in answer.json()["error"]


# What is shown


def test_the_running_estimate_is_that_of_the_library(start):
    client = start()
    few = client.get("/estimate").json()["kernels"][0]
    assert few["problem"] == "0 reports so far; estimates begin at 10"
    client.post("/reports", json=[report("no", k) for k in range(60)])
    client.post("/reports", json=[report("yes", 100 + k) for k in range(40)])
    shown = client.get("/estimate").json()["kernels"][0]
    direct = md.estimate({"no": 60, "yes": 40}, YES_NO)
    assert shown["rows"] == direct.rows()
    assert shown["reports"] == 100
    assert shown["problem"] == ""


def test_raw_data_is_noticed_on_the_page(start):
    """Reports that the kernel next to never makes are shown as such, without numbers."""
    client = start()
    client.post("/reports", json=[report("no", k) for k in range(500)])
    shown = client.get("/estimate").json()["kernels"][0]
    assert "expected reports of this mechanism" in shown["problem"]
    # What is said to be done about it can be done from here.
    assert "misfit=" not in shown["problem"]
    assert "/reports.parquet" in shown["problem"]
    assert "rows" not in shown
    assert "expected reports of this mechanism" in client.get("/").text


def test_reports_that_tell_groups_only_are_estimated_by_groups(start):
    kernel = md.Mechanism([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8]], ["a", "b", "c"], ["x", "y"])
    client = start(kernel)
    client.post("/reports", json=[report("xy"[k % 2], k, kernel) for k in range(40)])
    shown = client.get("/estimate").json()["kernels"][0]
    assert [row["label"] for row in shown["rows"]] == [["a", "b"], "c"]


COUNTED = md.Prior.from_counts({"a": 70211, "b": 20113, "c": 9067, "d": 609})
ODD = "<b>late & odd</b>"
ASKED = md.utility.Estimation(
    [{x: x in "cd" for x in COUNTED.labels}], names=[float("inf"), (ODD, 2)]
)


@pytest.fixture(scope="module")
def asking():
    """A design for shares of two groups, whose reports tell no symbol."""
    return md.design(COUNTED, ASKED, md.LDP(1))


@pytest.mark.parametrize("form", ["whole", "public", "of before"])
def test_a_design_for_questions_is_estimated_for_what_it_asks(start, tmp_path, asking, form):
    """End to end: file, reports of devices, counts, JSON, page; and without the question."""
    path = tmp_path / "asking.json"
    md.save(asking, path, public=form != "whole")
    if form == "of before":
        content = json.loads(path.read_text())
        kept = {k: v for k, v in content.items() if k not in ("questions", "answers", "digest")}
        path.write_text(json.dumps(md.storage.seal(kept)))
    (collected,) = load_kernels([path])
    client = start(collected.public)
    drawn = md.Sampler(asking, rng=1).draw(["a"] * 300 + ["d"] * 100)
    # Devices name the kernel, or it with its guarantee: those of every form count together.
    named = [digest(asking.mechanism), md.public_form(asking).fingerprint]
    sent = [{**report(label, k), "kernel": named[k % 2]} for k, label in enumerate(drawn)]
    assert client.post("/reports", json=sent).json()["counted"] == 400
    (shown,) = client.get("/estimate").json()["kernels"]
    page = client.get("/").text
    assert shown["problem"] == ""
    assert ("made for the answers below" in page) is (form != "of before")
    assert ODD not in page
    if form == "of before":
        assert [row["label"] for row in shown["rows"]] == [["a", "b"], ["c", "d"]]
        return
    assert [row["label"] for row in shown["rows"]] == [{"float": "inf"}, [ODD, 2]]
    made = md.estimate(counted(client), md.load(path), truth=md.Prior.uniform(list("abcd")))
    numbers = ("estimate", "error", "lower", "upper")
    for row, own in zip(shown["rows"], made.rows(), strict=True):
        assert [row[k] for k in numbers] == [own[k] for k in numbers]
    assert "&lt;b&gt;late &amp; odd&lt;/b&gt;" in page
    # What is handed out asks the same, and says nothing of who was counted.
    (shared,) = client.get("/kernels").json()
    again = md.storage.from_json(shared)
    assert again.question.labels == asking.question.labels
    assert again.question.weights.tolist() == asking.question.weights.tolist()
    everything = [json.dumps(shared), page, json.dumps(shown)]
    for text in (*everything, (tmp_path / "collected.sqlite").read_bytes().decode("latin-1")):
        assert not any(str(count) in text for count in (70211, 20113, 9067))


def test_several_kernels_are_collected_side_by_side(start):
    client = start(YES_NO, NUMBERS)
    client.post("/reports", json=[report("no", 1), report(1, 2, NUMBERS), report(1, 3, NUMBERS)])
    assert client.get("/counts").status_code == 400
    assert counted(client, kernel=digest(YES_NO)) == md.ReportCounts(YES_NO, {"no": 1})
    assert counted(client, kernel=digest(NUMBERS)) == md.ReportCounts(NUMBERS, {1: 2})
    assert client.get("/counts", params={"kernel": "f" * 64}).status_code == 404
    assert len(client.get("/estimate").json()["kernels"]) == 2
    assert len(client.get("/kernels").json()) == 2


def test_what_is_exported_can_be_estimated_from(start):
    client = start(YES_NO, NUMBERS)
    client.post("/reports", json=[report("no", k) for k in range(60)])
    client.post("/reports", json=[report("yes", 100 + k) for k in range(40)])
    client.post("/reports", json=[report(k % 2, 200 + k, NUMBERS) for k in range(20)])
    answer = client.get("/reports.parquet", params={"kernel": digest(YES_NO)})
    table = pq.read_table(io.BytesIO(answer.content))
    assert table.schema.names == ["report", "nonce"]
    made = md.estimate(table, YES_NO, "report")
    assert made.rows() == md.estimate({"no": 60, "yes": 40}, YES_NO).rows()
    assert made.receipt.kernel == digest(YES_NO)
    with pytest.raises(md.errors.DataError, match="expected reports of this mechanism"):
        md.estimate(table, NUMBERS, "report")
    answer = client.get("/reports.parquet", params={"kernel": digest(NUMBERS)})
    found = pq.read_table(io.BytesIO(answer.content)).to_pydict()
    assert sorted(found["report"]) == [0] * 10 + [1] * 10
    assert [int.from_bytes(n, "big") for n in found["nonce"]] == [*range(200, 220)]


# Files that change, databases of others


def test_a_file_that_changes_under_a_collector_is_told_of_and_changes_nothing(start, tmp_path):
    md.save(YES_NO, tmp_path / "m.json")
    kernels = load_kernels([tmp_path / "m.json"])
    collector = Collector(kernels, Store(tmp_path / "collected.sqlite"))
    with testing.TestClient(collector.app(), base_url="http://127.0.0.1") as client:
        assert client.get("/health").json()["kernels"][0]["file_changed"] is False
        md.save(NUMBERS, tmp_path / "m.json", overwrite=True)
        assert client.get("/health").json()["kernels"][0]["file_changed"] is True
        assert "m.json has changed" in client.get("/").text
        assert client.post("/reports", json=report("no", 1)).status_code == 200
        assert client.post("/reports", json=report(0, 2, NUMBERS)).status_code == 422
    later = start(*[one.public for one in load_kernels([tmp_path / "m.json"])])
    assert later.post("/reports", json=report(0, 2, NUMBERS)).status_code == 200
    assert later.post("/reports", json=report("no", 3)).status_code == 422
    assert "holds 1 report of 1 other kernel," in later.get("/").text


def test_the_columns_of_a_plan_are_collected_side_by_side(start, tmp_path):
    priors = {"job": md.Prior([0.6, 0.4], ["a", "b"]), "sex": md.Prior([0.5, 0.5], ["f", "m"])}
    plan = md.plan_columns(priors, total=md.LDP(2))
    md.save(plan, tmp_path / "plan.json")
    found = load_kernels([tmp_path / "plan.json"])
    assert [one.name for one in found] == ["plan.json, 'job'", "plan.json, 'sex'"]
    client = start(*[one.public for one in found])
    sent = [report("a", 1, plan["job"].mechanism), report("f", 2, plan["sex"].mechanism)]
    assert client.post("/reports", json=sent).status_code == 200
    assert client.post("/reports", json=report("a", 3, plan["sex"].mechanism)).status_code == 422
    same = {name: md.Prior([0.5, 0.5], ["no", "yes"]) for name in ("one", "two")}
    md.save(md.plan_columns(same, total=md.LDP(2)), tmp_path / "same.json")
    with pytest.raises(InputError, match=r"'one' and same\.json, 'two', which hold one kernel"):
        load_kernels([tmp_path / "same.json"])


def test_a_database_of_others_is_left_as_it_is(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE people (name TEXT)")
    other.close()
    with pytest.raises(InputError, match="holds other tables"):
        Store(path)
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("people",)]
    other.close()


def test_what_is_no_database_is_refused(tmp_path):
    (tmp_path / "text.sqlite").write_text("no database, but a text of some length" * 100)
    before = (tmp_path / "text.sqlite").read_bytes()
    with pytest.raises(md.errors.StorageError, match="not a database"):
        Store(tmp_path / "text.sqlite")
    assert (tmp_path / "text.sqlite").read_bytes() == before
    for place in (tmp_path, tmp_path / "none" / "a.sqlite"):
        with pytest.raises(InputError, match="a file in a folder that exists"):
            Store(place)
    for url in ("mysql://u:geheim@h/n", "nonsense://", "sqlite://", "://"):
        with pytest.raises(InputError, match="expected a file") as caught:
            Store(url)
        assert "geheim" not in str(caught.value)


def test_only_its_owner_reads_the_database(start, tmp_path):
    start().post("/reports", json=report("no"))
    for path in tmp_path.glob("collected.sqlite*"):
        assert path.stat().st_mode & 0o077 == 0
