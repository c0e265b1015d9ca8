"""The shipped tables: what they count, and whom they cite."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from checks import for_each

from mechdesign import Prior
from mechdesign.data import EXAMPLES, example_path
from mechdesign.tables.counting import count_labels
from mechdesign.tables.reading import open_table


@for_each(
    ("name", "people"),
    [("titanic", 2201), ("ucb_admissions", 4526), ("hair_eye_colour", 592), ("fair", 6366)],
)
def test_number_of_people(name, people):
    table = EXAMPLES[name]
    assert table.people == people
    with open(example_path(name), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["count"]) for row in rows) == people
    for column in table.columns:
        assert sum(count_labels(name, [column]).values()) == people


# A marginal of each table as its source prints it.
MARGINALS = {
    ("titanic", "class"): {"1st": 325, "2nd": 285, "3rd": 706, "crew": 885},
    ("ucb_admissions", "department"): dict(
        zip("ABCDEF", [933, 585, 918, 792, 584, 714], strict=True)
    ),
    ("hair_eye_colour", "hair"): {"black": 108, "blond": 127, "brown": 286, "red": 71},
    ("fair", "religious"): {"fairly": 2422, "mildly": 2267, "not": 1021, "strongly": 656},
}


@for_each(("name", "column"), MARGINALS)
def test_marginal_counts(name, column):
    assert count_labels(name, [column]) == MARGINALS[name, column]
    assert Prior.from_csv(name, column) == Prior.from_counts(MARGINALS[name, column])


def test_every_group_occurs_once():
    assert {table.name for table in EXAMPLES.values()} == {name for name, _ in MARGINALS}
    for table in EXAMPLES.values():
        assert open_table(table.name).names == [*table.columns, table.weights]
        with open(example_path(table.name), newline="", encoding="utf-8") as file:
            groups = [tuple(row[c] for c in table.columns) for row in csv.DictReader(file)]
        assert len(set(groups)) == len(groups)


@for_each("name", sorted(EXAMPLES))
def test_every_table_says_where_it_comes_from(name):
    source = EXAMPLES[name].source
    assert re.search(r"\b(19|20)\d\d\b", source)
    assert len(source.split(",")) >= 3
    assert EXAMPLES[name].rows


def test_every_shipped_file_is_listed():
    folder = example_path("titanic").parent
    assert {path.stem for path in folder.glob("*.csv")} == set(EXAMPLES)


def test_only_names_are_shipped_tables():
    assert example_path("titanik") is None
    assert example_path("titanic.csv") is None
    assert example_path(Path("titanic")) is None
