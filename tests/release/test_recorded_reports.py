"""Reports of one key or seed are what they were: every form of a release, from frames and files.

python tests/release/test_recorded_reports.py    prints the digests of today
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import warnings
from pathlib import Path

import pandas as pd
from checks import for_each

import mechdesign as md
from mechdesign.published import PublicDesign
from mechdesign.release.receipts import file_receipts, receipts_of
from mechdesign.solve.columns_plan import PublicPlan

KEY = bytes(range(32))
ROWS = 60
FRAME = pd.DataFrame({
    "id": range(ROWS), "x": list("abcaab") * 10, "y": list("uvvuuv") * 10,
    "age": [*range(15, 75)], "latitude": [0.5 + i % 2 for i in range(ROWS)],
    "longitude": [0.5 + i % 3 for i in range(ROWS)], "region": ["north", "south", "south"] * 20,
})  # fmt: skip
PAIRS = [(x, y) for x in "abc" for y in "uv"]
PLACES = md.places.grid((0, 0, 2, 3), (2, 3))


def noisy(inputs, outputs=None, schema=None):
    """A kernel that keeps each symbol with chance a half or more."""
    count = len(inputs)
    other = (1 << 10) // (2 * count)
    rows = [
        [(1 << 10) - other * (count - 1) if i == j else other for j in range(count)]
        for i in range(count)
    ]
    made = md.Mechanism.from_weights(rows, 10, inputs, outputs or inputs)
    return made if schema is None else made.with_schema(schema)


def public(symbols, name):
    """The public form of a column of a plan."""
    return PublicDesign.of(noisy(list(symbols), schema=[name]), [md.LDP(2)])


AGES = {"age": md.Bins([0, 30, 50, 120], whole=True)}
FORMS = {
    "column": (noisy(["a", "b", "c"], schema=["x"]), {}),
    "bins": (noisy(AGES["age"].labels, schema=AGES), {}),
    "tuples": (noisy(PAIRS, schema=["x", "y"]), {}),
    "one for both": (noisy(PAIRS, [f"{x}{y}" for x, y in PAIRS], ["x", "y"]), {"into": "told"}),
    "strata": (
        noisy([(s, x) for s in ("north", "south") for x in "abc"], list("abcdef")),
        {"column": "x", "strata": "region"},
    ),
    "plan": (
        PublicPlan.of(["x", "y"], [public("abc", "x"), public("uv", "y")], md.LDP(3)),
        {},
    ),
    "places": (noisy(PLACES.labels, schema=PLACES.uniform().schema), {}),
    "subsets": (md.subset_selection(["a", "b", "c", "d"], md.LDP(1)), {"column": "x"}),
}
WAYS = {
    "row": {"row": "id", "key": KEY},
    "person": {"person": "id", "key": KEY, "round": 2},
    "seed": {"rng": 7},
}


def digest(reports, receipts):
    told = [
        (name, r.kernel, r.rows, r.reports, r.together, r.row, r.person, r.round)
        for name, r in sorted(receipts.items())
    ]
    text = json.dumps([reports.astype(str).to_dict("list"), told])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def digests(form, folder):
    """Of a form of release: of frames and of files, by row, person and seed."""
    kernel, asked = FORMS[form]
    found = {}
    source = folder / "people.csv"
    FRAME.to_csv(source, index=False)
    for way, options in WAYS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = md.privatize(FRAME, mechanism=kernel, **{**where(kernel, asked), **options})
            found[f"frame {way}"] = digest(made, receipts_of(made))
            target = folder / f"{way}.csv"
            md.privatize_file(
                source,
                target,
                mechanism=kernel,
                ledger=False,
                **{**where(kernel, asked), **options},
            )
        found[f"file {way}"] = digest(pd.read_csv(target), file_receipts(target))
    return found


def where(kernel, asked):
    """The columns of a kernel that does not name them."""
    names = kernel.names if hasattr(kernel, "names") else getattr(kernel, "schema", None)
    names = getattr(names, "names", names)
    return asked if "column" in asked else {"columns": list(names), **asked}


RECORDED = {
    "column": {
        "frame row": "12882d3650e0",
        "file row": "8edb98bafe0a",
        "frame person": "55e7111dc673",
        "file person": "27ea1955243c",
        "frame seed": "227215a37374",
        "file seed": "92df0e8bc128",
    },
    "bins": {
        "frame row": "5ac5a3981d75",
        "file row": "db18ee0d7577",
        "frame person": "f1e4f8cf86b5",
        "file person": "e0dd55bd441b",
        "frame seed": "38a9dcf30a11",
        "file seed": "e271fc18f7eb",
    },
    "tuples": {
        "frame row": "90d8b11a8314",
        "file row": "d2ed0bf6cc0b",
        "frame person": "93150b5de6bd",
        "file person": "41899a9a78a4",
        "frame seed": "00dd3992eb03",
        "file seed": "587cabb0c219",
    },
    "one for both": {
        "frame row": "c2025770912e",
        "file row": "14179e407b24",
        "frame person": "b285f151cbc3",
        "file person": "dadd4f83eb8b",
        "frame seed": "d9d4851d00d2",
        "file seed": "fd7b869f0f08",
    },
    "strata": {
        "frame row": "250afda6e564",
        "file row": "1d3728408098",
        "frame person": "80523e857fea",
        "file person": "ca8f58f07bba",
        "frame seed": "a97f00884cc9",
        "file seed": "a30ce8fd7d7b",
    },
    "plan": {
        "frame row": "ece44377cabf",
        "file row": "8d6e3ef55785",
        "frame person": "1655676cdf23",
        "file person": "1d9f8d838b9e",
        "frame seed": "270975752dc2",
        "file seed": "b94450271e91",
    },
    "places": {
        "frame row": "f7861f58e3d5",
        "file row": "c974dd48a3cc",
        "frame person": "1561fe46c13b",
        "file person": "1003a8c8982e",
        "frame seed": "aad2f6c8bac5",
        "file seed": "cfe5a9d16bfd",
    },
    "subsets": {
        "frame row": "89c9dd6e8215",
        "file row": "087df8120082",
        "frame person": "853898be52a9",
        "file person": "cccdad432bdc",
        "frame seed": "1620565d7749",
        "file seed": "f70c45e13d34",
    },
}


@for_each("form", FORMS)
def test_reports_of_a_key_or_a_seed_are_what_they_were(form, tmp_path):
    assert digests(form, tmp_path) == RECORDED[form]


if __name__ == "__main__":
    for name in FORMS:
        with tempfile.TemporaryDirectory() as place:
            json.dump({name: digests(name, Path(place))}, sys.stdout)
            print()
