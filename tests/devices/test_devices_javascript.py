"""The module for devices in Node: the same kernel, draws and reports as in Python, and a memory."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from checks import refused
from listed_words import Stream
from node_runs import MISSING, NODE, run_node, run_script

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import (
    CountsWarning,
    KernelError,
    StorageError,
    UnknownNameError,
)
from mechdesign.published import kernel_fingerprint
from mechdesign.release.sampler import AliasTable

pd = pytest.importorskip("pandas")

pytestmark = [
    pytest.mark.skipif(NODE is None, reason=MISSING),
    # That the reports of some kernels here are uninformative does not matter.
    pytest.mark.filterwarnings("ignore::mechdesign.errors.UntoldWarning"),
]

LABELS = ["no", "yes", "perhaps"]
FOUND = md.design(md.Prior([0.5, 0.3, 0.2], LABELS), md.utility.Hamming(), md.LDP(1))
TELLING = md.randomised_response(md.Prior.uniform(LABELS), 1)
# Labels that are code, markup, names of properties, or numbers that JavaScript rounds.
HOSTILE = [
    *("</script><script>alert(1)</script>", "<!--", "`${1}`", "a\"b'c\\", "line\nbreak\r\x00"),
    *(
        "\u2028\u2029",
        "__proto__",
        "constructor",
        "toString",
        "😀",
        "é",
        "e\u0301",
        "",
        "2",
        "true",
    ),
    *("null", 2, -7, 2**53 - 1, 2**53, 2**53 + 1, 10**40, -(2**64), 0.1, 1e300, float("inf")),
    *(True, False, None, ("a", 1), ("a", "1"), ("a", ("b", None)), (2**60, 0.5), ()),
]


def uneven(inputs, outputs=None, bits=60):
    """A kernel with zeros, over a denominator that 53 bits do not hold."""
    outputs = inputs if outputs is None else outputs
    weights = []
    for x in range(len(inputs)):
        step = (1 << bits) // (4 * len(outputs))
        row = [(7 * x + 11 * y) % 5 * step + y * (x % 3) for y in range(len(outputs))]
        row[-1] = max(0, row[-1] - max(0, sum(row) - (1 << bits)))
        row[x % len(outputs)] += (1 << bits) - sum(row)
        weights.append(row)
    return md.Mechanism.from_weights(weights, bits, inputs, outputs)


KERNELS = {
    "a design": FOUND.mechanism,
    "hostile labels": uneven(HOSTILE),
    "few bits": md.Mechanism.from_weights([[1, 3], [3, 1]], 2),
    "one output": md.Mechanism.from_weights([[1], [1]], 0),
    "no power of two": md.Mechanism([[1 / 3, 1 / 3, 1 / 3], [0.2, 0.2, 0.6]], [1.5, 2.5]),
    "coarse steps of large rows": uneven(list(range(17)), list("abcdefghi"), 200),
}


@pytest.fixture(params=KERNELS)
def mechanism(request):
    return KERNELS[request.param]


# The kernel


def test_the_module_has_the_weights_of_python(mechanism, tmp_path):
    told = run_node(
        tmp_path,
        mechanism,
        "tell([kernel.digest, kernel.bits, kernel.weights.map((row) => row.map(String))])",
    )
    rows = [[str(int(w)) for w in row] for row in mechanism.weights]
    assert told == [kernel_fingerprint(mechanism), mechanism.bits, rows]


DRAW = """
const found = given.map((text) => {
  const stream = bytes(text);
  let place = 0;
  const random = (part) => {
    part.set(stream.subarray(place, place + part.length));
    place += part.length;
  };
  const client = new Client({ storage: memory(), random });
  return Promise.all(kernel.inputs.map((label) => client.output(label)));
});
tell(await Promise.all(found));
"""


def test_equal_bytes_give_equal_draws(mechanism, tmp_path):
    """Of random words, and of those before and behind the place where each bucket is cut."""
    table, rng = AliasTable(mechanism), np.random.default_rng(5)
    streams = [rng.bytes(8 * len(mechanism.inputs) + 4000) for _ in range(60)]
    top = 64 - table.shift
    limits = table.thresholds.astype(object) * (1 << (64 - table.bits))
    for bucket in range(1 << table.shift):
        for step in (-1, 0):
            low = np.clip(limits[:, bucket] + step, 0, (1 << top) - 1)
            words = [(bucket << top) + int(part) for part in low]
            streams.append(b"".join(word.to_bytes(8, "little") for word in words) + bytes(9000))
    told = run_node(tmp_path, mechanism, DRAW, [stream.hex() for stream in streams])
    codes = np.arange(len(mechanism.inputs))
    assert told == [table.draw(codes, Stream(stream)).tolist() for stream in streams]


def test_no_draw_comes_from_anything_but_secure_entropy(tmp_path):
    md.export(FOUND, tmp_path / "client.mjs", to="javascript")
    text = (tmp_path / "client.mjs").read_text(encoding="utf-8")
    for word in (r"Math\.random", r"\bDate\b", r"performance", r"\beval\b", r"Function\("):
        assert not re.search(word, text), word
    assert not re.search(r"^\s*import\b", text, flags=re.M)
    body = """
    Object.defineProperty(globalThis, "crypto", { value: undefined });
    tell(await said(() => new Client({ storage: memory() }).output("yes")));
    """
    name, message = run_script(tmp_path, body)
    assert name == "ClientError"
    assert "expected crypto.getRandomValues, got none; " in message


# Labels


WIRE = """
const client = new Client({ storage: memory() });
const found = [];
for (const label of kernel.inputs) found.push(await client.report(label));
tell({ column: client.receipt.column, text: toJSON(found) });
"""


def test_every_label_is_found_and_told_as_it_is(tmp_path):
    identity = md.Mechanism(np.eye(len(HOSTILE)), HOSTILE, HOSTILE)
    column = "*/ </script>\n`${x}`"
    told = run_node(tmp_path, identity, WIRE, column=column)
    assert told["column"] == column
    text = (tmp_path / "client.mjs").read_text(encoding="utf-8")
    assert "</script" not in text
    assert "<!--" not in text
    told = json.loads(told["text"])

    def label(part):
        if isinstance(part, dict):
            if "float" in part:
                return float(part["float"])
            return tuple(label(one) for one in part["tuple"])
        return part

    assert [label(one["report"]) for one in told] == HOSTILE
    assert {one["kernel"] for one in told} == {kernel_fingerprint(identity)}
    nonces = [one["nonce"] for one in told]
    assert all(re.fullmatch("[0-9a-f]{32}", nonce) for nonce in nonces)
    assert len(set(nonces)) == len(nonces)


#: Values of JavaScript, and the labels that they are; ``Ellipsis`` for none.
VALUES = {
    "2": 2,
    "2n": 2,
    "'2'": "2",
    "'true'": "true",
    "null": None,
    "['a', 1]": ("a", 1),
    "['a', '1']": ("a", "1"),
    "1e300": 1e300,
    "BigInt(1e300)": 1e300,
    "''": "",
    "[]": (),
    "9007199254740993n": 2**53 + 1,
    "9007199254740992n": 2**53,
    "'e\\u0301'": "e\u0301",
    **dict.fromkeys(("1", "undefined", "NaN", "[,]", "{ a: 1 }", "'secret-value'", "-0"), ...),
    **dict.fromkeys(("9007199254740992", "[2 ** 60, 0.5]"), ...),
}


def test_values_match_labels_as_in_python(tmp_path):
    identity = md.Mechanism(np.eye(len(HOSTILE)), HOSTILE, HOSTILE)
    body = f"""
    const client = new Client({{ storage: memory() }}), found = [];
    for (const value of [true, {", ".join(VALUES)}]) {{
      found.push(await said(() => client.output(value)));
    }}
    tell(found);
    """
    told = run_node(tmp_path, identity, body)
    assert told.pop(0) == ["done", next(i for i, v in enumerate(HOSTILE) if v is True)]
    for (value, label), (kind, got) in zip(VALUES.items(), told, strict=True):
        if label is not ...:
            assert (kind, got) == ("done", HOSTILE.index(label)), value
            continue
        assert kind == "ClientError", value
        assert "\n" not in got
        assert "secret-value" not in got
    assert all("may have been rounded; pass a BigInt" in got for _, got in told[-2:])


def test_labels_without_a_form_in_javascript_are_refused(tmp_path):
    class Odd:
        pass

    odd = md.Mechanism([[1.0]], [Odd()], ["a"])
    with pytest.raises(StorageError, match="relabel"):
        md.export(odd, tmp_path / "client.mjs", to="javascript")
    assert not list(tmp_path.iterdir())


# Keys


def test_the_hash_is_that_of_python(tmp_path):
    rng = np.random.default_rng(2)
    cases = [
        (rng.bytes(size), rng.bytes(key), person, digest)
        for size in (0, 1, 127, 128, 129, 256, 1000)
        for key, person, digest in ((0, "", 64), (64, "mechdesign-words", 8), (1, "x", 31))
    ]
    body = """
    tell(given.map(([text, key, person, size]) =>
      Buffer.from(blake2b(bytes(text), size, bytes(key), person)).toString("hex")));
    """
    given = [(text.hex(), key.hex(), person, size) for text, key, person, size in cases]
    told = run_node(tmp_path, FOUND, body, given)
    assert told == [
        hashlib.blake2b(text, key=key, person=person.encode(), digest_size=size).hexdigest()
        for text, key, person, size in cases
    ]


KEYED = """
const key = keyFromText(given.key);
const found = [];
for (const [kind, identity, x] of given.people) {
  const read = { integer: BigInt, bytes, text: String };
  const whom = read[kind](identity);
  const client = new Client({ key, identity: whom, column: given.column });
  found.push(await client.output(kernel.inputs[x]));
}
const client = new Client({ key, identity: 1, column: given.column });
tell({ found, receipt: client.receipt });
"""


@pytest.mark.parametrize("column", ["answer", "Antwort: 😀 \n"])
def test_equal_keys_give_the_reports_of_python(mechanism, column, tmp_path):
    key = md.release_key(tmp_path / "release.key")
    ids = {
        "integer": [0, -3, 2**53 + 1, 10**30, *range(100, 220)],
        "text": ["", "a", "é😀\n", "7"],
        "bytes": [b"", b"\x00\xff", bytes(range(200))],
    }
    rng = np.random.default_rng(1)
    people, expected = [], []
    for kind, some in ids.items():
        codes = rng.integers(len(mechanism.inputs), size=len(some))
        values = pd.Series([mechanism.inputs[x] for x in codes], dtype=object)
        table = pd.DataFrame({"who": pd.Series(some, dtype=object), column: values})
        policy = {"missing": "replace", "replacement": None} if None in mechanism.inputs else {}
        made = md.privatize(table, column, mechanism, person="who", key=key, **policy)
        reports = made[column].tolist()
        expected += [mechanism.outputs.index(report) for report in reports]
        plain = [i.hex() if kind == "bytes" else str(i) for i in some]
        people += [[kind, i, int(x)] for i, x in zip(plain, codes, strict=True)]
    text = (tmp_path / "release.key").read_text()
    told = run_node(tmp_path, mechanism, KEYED, {"key": text, "people": people, "column": column})
    assert told["found"] == expected
    assert told["receipt"]["key"] == key.fingerprint
    if len(mechanism.outputs) > 1:
        # The control: under another column the reports are others.
        given = {"key": text, "people": people, "column": column + "s"}
        assert run_script(tmp_path, KEYED, given)["found"] != expected


def test_keys_that_cannot_be_used_are_refused(tmp_path):
    body = """
    const key = new Uint8Array(32);
    tell(await Promise.all([
      () => new Client({ key: key.subarray(1), identity: 1 }),
      () => new Client({ key }),
      () => new Client({ identity: 1 }),
      () => new Client({ key, identity: 2 ** 53 }),
      () => new Client({ key, identity: 1, random: () => {} }),
      () => new Client({ key, identity: 1, storage: memory() }),
      () => keyFromText("mechdesign-key-1 00ff"),
      () => new Client({ storage: memory(), colunm: "x" }),
    ].map(said)));
    """
    for kind, message in run_node(tmp_path, FOUND, body):
        assert kind == "ClientError"
        assert re.fullmatch(r"[^\n]+: expected [^\n]+, got [^\n]+; [^\n]+\.", message)


# Memory


def test_a_report_is_remembered_and_what_is_stored_does_not_tell_the_value(tmp_path):
    body = """
    const stores = [];
    for (let i = 0; i < 40; i++) {
      const storage = memory();
      const first = new Client({ storage });
      const told = [];
      for (const label of kernel.inputs) told.push(await first.output(label));
      const again = new Client({ storage });
      for (const [x, label] of kernel.inputs.entries()) {
        if (await again.output(label) !== told[x]) throw new Error("forgotten");
      }
      stores.push([...storage.map.values()]);
    }
    const storage = memory();
    await new Client({ storage }).output("yes");
    const [entry] = storage.map.entries();
    tell({ stores, entry });
    """
    told = run_node(tmp_path, FOUND, body)
    kept = [json.loads(one)["reports"] for (one,) in told["stores"]]
    assert len({tuple(one) for one in kept}) > 3
    # One entry for all values, whichever is asked.
    assert "yes" not in "".join(told["entry"])
    assert len(json.loads(told["entry"][1])["reports"]) == len(LABELS)


def test_two_clients_at_once_have_one_report(tmp_path):
    body = """
    const slow = (storage) => ({
      map: storage.map,
      getItem: async (name) => { await 0; await 0; return storage.getItem(name); },
      setItem: async (name, text) => { await 0; await 0; storage.setItem(name, text); },
    });
    const found = [];
    for (let i = 0; i < 60; i++) {
      const storage = slow(memory());
      const both = [1, 2, 3].map(() => new Client({ storage, person: i }).output("perhaps"));
      found.push(await Promise.all(both));
    }
    const storage = memory();
    for (let i = 0; i < 60; i++) await new Client({ storage, person: i }).output("no");
    tell({ found, people: storage.map.size });
    """
    told = run_node(tmp_path, FOUND, body)
    assert all(len(set(one)) == 1 for one in told["found"])
    assert len({one[0] for one in told["found"]}) > 1
    assert told["people"] == 60


def test_nothing_is_told_where_nothing_can_be_remembered(tmp_path):
    body = """
    const full = () => { throw new Error("QuotaExceededError"); };
    const stores = {
      "nothing": null,
      "half": { getItem: () => null },
      "full": { getItem: () => null, setItem: full },
      "closed": { getItem: full, setItem: () => {} },
      "forgetful": { getItem: () => null, setItem: () => {} },
      "no JSON": { getItem: () => "{", setItem: full },
      "another kernel": { getItem: () => '{"kernel":"00","reports":[0,0,0]}', setItem: full },
      "never drawn": {
        getItem: () => JSON.stringify({ kernel: kernel.digest, reports: given }), setItem: full,
      },
      "too few": {
        getItem: () => JSON.stringify({ kernel: kernel.digest, reports: [0] }), setItem: full,
      },
    };
    const found = {};
    for (const [name, storage] of Object.entries(stores)) {
      found[name] = await said(() => new Client({ storage }).report("yes"));
    }
    tell(found);
    """
    never = [int(np.argmin(row)) for row in FOUND.mechanism.weights]
    assert all(FOUND.mechanism.weights[x, y] == 0 for x, y in enumerate(never))
    told = run_node(tmp_path, FOUND, body, never)
    for name, (kind, message) in told.items():
        assert kind == ("Error" if name in ("full", "closed") else "ClientError"), name
        assert "yes" not in message


def test_what_a_test_drew_is_never_a_report(tmp_path):
    body = """
    const found = [];
    for (let i = 0; i < 30; i++) {
      const storage = memory();
      await new Client({ storage, random: (part) => part.fill(0) }).output("perhaps");
      found.push(await new Client({ storage }).output("perhaps"));
    }
    tell(found);
    """
    assert len(set(run_node(tmp_path, FOUND, body))) > 1


def test_a_failure_does_not_stop_the_next_one(tmp_path):
    body = """
    const storage = memory();
    const { setItem } = storage;
    const client = new Client({ storage });
    storage.setItem = () => { throw new Error("full"); };
    const first = await said(() => client.output("no"));
    storage.setItem = setItem;
    tell([first, await said(() => client.output("no"))]);
    """
    told = run_node(tmp_path, FOUND, body)
    assert [kind for kind, _ in told] == ["Error", "done"]


# Arguments


WRONG = """
const cycle = [];
cycle.push(cycle, cycle);
const looped = { report: 1 };
looped.inner = [looped];
let doubled = [1];
for (let i = 0; i < 100; i++) doubled = [doubled, doubled];
let deep = [];
for (let i = 0; i < 200000; i++) deep = [deep];
const throws = { get key() { throw new Error("own"); }, get length() { throw new Error("own"); } };
const revoked = Proxy.revocable([], {});
revoked.revoke();
const odd = {
  null: null, undefined, number: 7, NaN, text: "secret-value", nul: "secret-value\\0",
  half: "\\ud800", symbol: Symbol("secret-value"), truth: true, BigInt: 1n << 70n,
  function: () => "yes", class: class {}, cycle, looped, doubled, deep, throws,
  bare: Object.create(null), revoked: revoked.proxy, sparse: new Array(2 ** 32 - 1),
  date: new Date(), map: new Map(),
  bytes: new Uint8Array(3), numbers: [1, 2], named: { colour: 1 }, hidden: { [Symbol("x")]: 1 },
};
const key = new Uint8Array(32);
const client = new Client({ storage: memory() });
const report = await client.report(kernels[0].inputs[0]);
const option = (name, more = { storage: memory() }) => (v) => new Client({ ...more, [name]: v });
const keyed = { key, identity: 1 };
// For each argument that is tried: what is right, so that only the others must be refused.
const tried = {
  options: [(v) => new Client(v), "undefined", "bare"],
  column: [option("column"), "undefined", "text", "nul"],
  storage: [option("storage", {}), "undefined", "text"],
  person: [option("person"), "undefined", "number", "text", "nul", "BigInt", "bytes"],
  random: [option("random"), "undefined", "function", "class"],
  key: [option("key", keyed)],
  identity: [option("identity", keyed), "number", "text", "nul", "BigInt", "bytes"],
  identityColumn: [option("identityColumn", keyed), "undefined", "text", "nul", "half"],
  round: [option("round", keyed), "undefined", "number", "text", "nul", "BigInt"],
  output: [(v) => client.output(v)],
  report: [(v) => client.report(v)],
  keyFromText: [(v) => keyFromText(v)],
  toJSON: [
    toJSON, "null", "number", "text", "nul", "half", "truth", "BigInt", "numbers", "named",
    "hidden", "bare",
  ],
  url: [(v) => send(v, report)],
  reports: [(v) => send("http://127.0.0.1:9/", v), "numbers", "named", "hidden", "bare"],
};
const found = [];
for (const [name, [task, ...right]] of Object.entries(tried)) {
  for (const [kind, value] of Object.entries(odd)) {
    if (kind === "doubled" && ["toJSON", "reports"].includes(name)) continue; // it has an end
    const [error, message] = await said(async () => { await task(value); });
    found.push([name, kind, right.includes(kind), error, message ?? ""]);
  }
}
tell(found);
"""


def test_every_wrong_argument_ends_in_an_error_of_the_client(tmp_path):
    labels = [("a", 1), ("a", ("b", None)), "c"]
    told = run_node(tmp_path, md.Mechanism(np.eye(3), labels, labels), WRONG)
    assert len(told) > 300
    for name, kind, right, error, message in told:
        if right:
            # What was right is sent to nobody, as nobody listens.
            assert error == ("TypeError" if name == "reports" else "done"), (name, kind, message)
        else:
            assert error == "ClientError", (name, kind, error, message)
            assert re.fullmatch(r"[^\n]+: expected [^\n]+, got [^\n]+; [^\n]+\.", message)
            assert "secret-value" not in message.replace("Symbol(secret-value)", "")


POLLUTED = """
const names = {
  key: new Uint8Array(32), identity: 1, identityColumn: "x", round: 1, column: "x", person: 2,
  random: (part) => part.fill(0), storage: memory(), keep: async () => "{}", getItem: () => "{}",
  setItem: () => {}, kernel: kernel.digest, reports: [0, 0, 0],
};
const tried = async () => {
  const { map, ...storage } = memory();
  const client = new Client({ storage });
  await client.report("yes");
  return {
    receipt: client.receipt,
    names: [...map.keys()],
    half: await said(() => new Client({ storage: { getItem: () => null } })),
    none: await said(() => new Client({ storage: {} })),
    damaged: await said(() => new Client({ storage: { keep: () => "{}" } }).output("yes")),
  };
};
const before = await tried();
for (const [name, value] of Object.entries(names)) Object.prototype[name] = value;
const after = await tried();
for (const name of Object.keys(names)) delete Object.prototype[name];
tell([before, after]);
"""


def test_what_all_objects_of_a_page_were_given_is_no_option(tmp_path):
    before, after = run_node(tmp_path, FOUND, POLLUTED)
    assert after == before
    assert before["receipt"]["for_production"]
    assert {before[name][0] for name in ("half", "none", "damaged")} == {"ClientError"}


# Receipts


# The file


def test_the_module_holds_no_prior(tmp_path):
    prior = md.Prior.from_counts({"no": 733, "yes": 541, "perhaps": 127})
    found = md.design(prior, md.utility.Hamming(), md.PML(0.3))
    with pytest.warns(CountsWarning):
        md.export(found, tmp_path / "client.mjs", to="javascript")
    text = (tmp_path / "client.mjs").read_text(encoding="utf-8")
    secrets = [*map(str, prior.weights), found.certificate.fingerprint, "value", "bound"]
    data = text.partition("const DATA = {")[2].partition("\n};")[0]
    for secret in secrets:
        assert f'"{secret}"' not in data
        assert f" {secret}," not in data


def test_bad_input_is_refused_and_nothing_is_written(tmp_path):
    path = tmp_path / "client.mjs"
    refused(lambda: md.export(FOUND, path, to="java"), "javascript", error=UnknownNameError)
    refused(lambda: md.export(FOUND, path, to="javascript", column=""), "name of what is asked")
    refused(lambda: md.export("m.json", path, to="javascript"), error=KernelError)
    many = md.subset_selection(1000, md.LDP(1))
    refused(lambda: md.export(many, path, to="javascript"), "matrix", error=KernelError)
    pairs = md.Prior.uniform([(a, b) for a in "xy" for b in "zw"]).with_schema(["first", "second"])
    plan = md.plan_columns(pairs, total=md.LDP(2))
    refused(
        lambda: md.export(plan, path, to="sql", dialect="postgresql", table="t"),
        "one column of the plan",
    )
    refused(lambda: md.export(plan, path, to="javascript", column=["a"]), "2 different names")
    assert not list(tmp_path.iterdir())
    path.write_text("mine")
    with pytest.raises(StorageError, match="--force"):
        md.export(FOUND, path, to="javascript")
    assert path.read_text() == "mine"


def test_from_a_terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    md.save(FOUND, "m.json")
    words = ["export", "m.json", "--to", "javascript", "--column", "answer", "-o"]
    assert main([*words, "client.mjs"]) == 0
    assert capsys.readouterr().err == "saved client.mjs\n"
    assert run_script(tmp_path, "tell(new Client({storage: memory()}).receipt.column)") == "answer"
    for arguments in (
        [*words, "client.mjs"],
        [*words, "m.json", "--force"],
        ["export", "m.json", "--to", "cobol", "-o", "x"],
        ["export", "none.json", "--to", "javascript", "-o", "x"],
    ):
        assert main(arguments) == 2
        said = capsys.readouterr().err
        assert said.startswith("error: ")
        assert said.count("\n") == 1
    assert not Path("x").exists()
    assert md.load("m.json").mechanism == FOUND.mechanism
