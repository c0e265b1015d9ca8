"""Reports of one key or seed are what they were: every form of a release, from frames and files.

python tests/release/test_release_forms.py    prints the digests of today
"""

from __future__ import annotations

import hashlib
import json
import pickle
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from checks import for_each, pairwise_cases
from libraries import TABLES, frame_of

import mechdesign as md
from mechdesign.errors import DataError
from mechdesign.published import PublicDesign
from mechdesign.release.codes import Policy
from mechdesign.release.drawing import columns_of, release_of
from mechdesign.release.ledger import Ledger
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


def privatised(table, form, **options):
    kernel, asked = FORMS[form]
    return md.privatize(table, mechanism=kernel, **where(kernel, asked), **options)


def digest(form, folder):
    """Of a form of release: of frames and of files, by row, person and seed."""
    kernel, asked = FORMS[form]
    source, found = folder / "people.csv", []
    FRAME.to_csv(source, index=False)
    for way, options in WAYS.items():
        made = privatised(FRAME, form, **options)
        target, where_to = folder / f"{way}.csv", where(kernel, asked)
        md.privatize_file(source, target, mechanism=kernel, ledger=False, **where_to, **options)
        for reports, receipts in (
            (made, receipts_of(made)),
            (pd.read_csv(target), file_receipts(target)),
        ):
            told = [
                (name, r.kernel, r.rows, r.reports, r.together, r.row, r.person, r.round)
                for name, r in sorted(receipts.items())
            ]
            found.append([reports.astype(str).to_dict("list"), told])
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:12]


def where(kernel, asked):
    """The columns of a kernel that does not name them."""
    names = kernel.names if hasattr(kernel, "names") else getattr(kernel, "schema", None)
    names = getattr(names, "names", names)
    return asked if "column" in asked else {"columns": list(names), **asked}


RECORDED = {
    "column": "1291e11b0e95",
    "bins": "d1fc62d7d456",
    "tuples": "661dc226e16f",
    "one for both": "4540c4d311d3",
    "strata": "49b9319b6bc7",
    "plan": "bbb078bcdf3f",
    "places": "1978a86c6ccb",
    "subsets": "e04a02928b3c",
}


@for_each("form", FORMS)
def test_reports_of_a_key_or_a_seed_are_what_they_were(form, tmp_path):
    assert digest(form, tmp_path) == RECORDED[form]


@for_each("library, form, way", pairwise_cases(TABLES, FORMS, WAYS))
def test_every_library_gives_the_same_reports(library, form, way):
    made = privatised(FRAME, form, **WAYS[way])
    found = frame_of(privatised(TABLES[library](FRAME), form, **WAYS[way]))
    told = {name: found[name].astype(str).tolist() for name in found.columns}
    assert told == made.astype(str).to_dict("list")


@for_each("library, form", pairwise_cases(TABLES, FORMS))
def test_reports_are_drawn_afresh_without_a_key_or_a_seed(library, form):
    made, again = (frame_of(privatised(TABLES[library](FRAME), form)) for _ in range(2))
    assert made.astype(str).to_dict("list") != again.astype(str).to_dict("list")


@for_each("form", FORMS)
def test_the_order_of_rows_does_not_matter_under_a_key(form):
    made = privatised(FRAME, form, **WAYS["row"])
    turned = privatised(FRAME.iloc[::-1], form, **WAYS["row"])
    assert turned.sort_index().astype(str).equals(made.astype(str))
    with pytest.raises(DataError, match="60 rows whose identity came before"):
        privatised(pd.concat([FRAME, FRAME]), form, **WAYS["row"])
    twice = privatised(pd.concat([FRAME, FRAME]), form, **WAYS["person"])
    assert twice[:ROWS].astype(str).equals(twice[ROWS:].astype(str))


@for_each("form", FORMS)
@for_each("ending", [".csv", ".parquet"])
def test_files_have_the_reports_of_their_tables(tmp_path, ending, form):
    source, target, book = (tmp_path / name for name in ("a" + ending, "b" + ending, "book"))
    frame, (kernel, asked) = FRAME.astype({"id": str}), FORMS[form]
    frame.to_csv(source, index=False) if ending == ".csv" else frame.to_parquet(source)
    options = {**where(kernel, asked), **WAYS["row"]}
    told = md.privatize_file(source, target, mechanism=kernel, ledger=book, **options)
    found = pd.read_csv(target) if ending == ".csv" else pd.read_parquet(target)
    made = privatised(frame, form, **WAYS["row"]).astype({"id": int})
    assert found.astype({"id": int}).astype(str).to_dict("list") == made.astype(str).to_dict("list")
    (entry,) = Ledger(book).releases()
    columns = options.get("columns", ["x"])
    assert (told.column, told.rows) == (", ".join(columns), ROWS)
    assert [part["column"] for part in entry.get("parts", [])] == columns[: len(columns) // 2 * 2]
    assert all(one.rows == ROWS for one in file_receipts(target, check=True).values())


def test_what_workers_of_a_cluster_get_holds_no_key_and_no_prior():
    both = md.Prior([0.5, 0.3, 0.2], [("a", "u"), ("b", "v"), ("c", "v")]).with_schema(["x", "y"])
    asked = {"row": None, "person": "id", "key": KEY, "rng": None}
    for designed in (
        md.design(both.marginal("x"), md.utility.Hamming(), md.PML(1)),
        md.design(both, md.utility.Hamming(), md.PML(1)),
        md.plan_columns(both, None, md.PML(1), joint=False),
    ):
        release = release_of(designed, columns_of(designed), Policy(), **asked)
        assert release.recorded.prior is not None
        assert [part.kernel for part in release.parts]
        sent = pickle.dumps(release.without_identity())
        assert b"prior" not in sent
        assert KEY not in sent
        # The control.
        assert b"prior" in pickle.dumps(release)
        assert KEY in pickle.dumps(release)


if __name__ == "__main__":
    for name in FORMS:
        with tempfile.TemporaryDirectory() as place:
            print(name, digest(name, Path(place)))
