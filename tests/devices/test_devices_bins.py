"""Numbers on a device lie in the bins that they lie in for Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from checks import for_each, refused
from node_runs import MISSING, NODE, run_node

import mechdesign as md
from mechdesign.errors import DataError, KernelError

pytestmark = pytest.mark.skipif(NODE is None, reason=MISSING)

ASKED = """
const client = new Client({ storage: memory(), random: (part) => part.fill(0) });
const read = (text) => text === "null" ? null : text.endsWith("n") ? BigInt(text.slice(0, -1))
  : Number(text);
const found = [];
for (const text of given) {
  const [kind, output] = await said(() => client.output(read(text)));
  found.push(kind === "done" ? output : -1);
}
tell(found);
"""
BINS = {
    "closed on the left": md.bins(edges=[0, 0.1, 0.3, 1, 60]),
    "closed on the right": md.bins(edges=[-1.5, 0, 0.1, 0.7], closed="right"),
    "open ends": md.bins(edges=[-math.inf, 18, 65, math.inf]),
    "whole": md.bins(edges=[0, 18, 65, math.inf], whole=True),
    "whole, closed on the right": md.bins(edges=[-3, 0, 10, 11], whole=True, closed="right"),
    "large": md.bins(edges=[0, 2**52, 2**53 - 1]),
}


def identity(bins):
    """A kernel that reports the bin."""
    labels = bins.labels
    return md.Mechanism(np.eye(len(labels)), labels, labels).with_schema({"x": bins})


@for_each("name", BINS)
def test_numbers_lie_in_the_same_bin(name, tmp_path):
    bins = BINS[name]
    edges = [float(edge) for edge in bins.edges]
    values = [0.0, -0.0, 0.5, 17.999999, 1e300, -1e300, math.inf, -math.inf, math.nan, 5e-324]
    for edge in filter(math.isfinite, edges):
        values += [edge, math.nextafter(edge, math.inf), math.nextafter(edge, -math.inf)]
    whole = [int(edge) + step for edge in filter(math.isfinite, edges) for step in (-1, 0, 1)]
    texts = [repr(v).replace("inf", "Infinity").replace("nan", "NaN") for v in values]
    texts += [f"{v}n" for v in whole]
    told = run_node(tmp_path, identity(bins), ASKED, texts)
    assert told == np.maximum([*bins.codes(values), *bins.codes(whole)], -1).tolist()
    assert len(set(told)) > len(bins) - 1


def test_a_number_that_lies_in_no_bin_is_not_quoted(tmp_path):
    body = "tell(await said(() => new Client({ storage: memory() }).report(87654.5)));"
    kind, message = run_node(tmp_path, identity(BINS["whole"]), body)
    assert kind == "ClientError"
    assert "87654" not in message
    assert 'expected a number in one of "' in message
    assert message.endswith("that is in none; pass one that lies in a bin.")


KEYED = """
const found = [];
for (const [i, value] of given.values.entries()) {
  const client = new Client({ key: keyFromText(given.key), identity: i, column: given.column });
  found.push((await client.report(value)).report);
}
tell(found);
"""


def test_equal_keys_give_the_reports_of_python_for_several_columns(tmp_path):
    pd = pytest.importorskip("pandas")
    ages = md.bins(edges=[0, 18, 65], whole=True)
    labels = [(sex, age) for sex in ("f", "m") for age in ages.labels]
    weights = 1 + 4 * np.eye(4, dtype=int)
    pairs = md.Mechanism.from_weights(weights, 3, labels, labels)
    mechanism = pairs.with_schema({"sex": None, "age": ages})
    rng = np.random.default_rng(4)
    values = [[str(rng.choice(["f", "m"])), int(rng.integers(0, 66))] for _ in range(300)]
    key = md.release_key(tmp_path / "release.key")
    table = pd.DataFrame(
        {"id": range(300), **dict(zip(("sex", "age"), zip(*values, strict=True), strict=True))}
    )
    made = md.privatize(table, mechanism, person="id", key=key)
    given = {"key": (tmp_path / "release.key").read_text(), "values": values, "column": "sex, age"}
    told = run_node(tmp_path, mechanism, KEYED, given)
    expected = made[["sex", "age"]].itertuples(index=False, name=None)
    assert [tuple(report["tuple"]) for report in told] == list(expected)


def test_edges_that_doubles_do_not_hold_are_refused(tmp_path):
    path = tmp_path / "client.mjs"
    large = identity(md.bins(edges=[0, 2**53 + 1, 2**54]))
    refused(lambda: md.export(large, path, to="javascript"), "2^53", error=KernelError)
    assert not list(tmp_path.iterdir())
    asked = {"to": "sql", "dialect": "postgresql", "table": "people", "column": "x"}
    plain = identity(BINS["whole"]).with_schema(None)
    md.export(plain, path, **asked)
    with pytest.raises(DataError):
        md.Sampler(plain).draw([17])
