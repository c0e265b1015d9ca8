"""Release, merge and estimate in any order: no report is drawn twice, none is lost.

For each engine hypothesis finds its own sequences of releases, unions, shuffles, joins and
filters over tables that are, or are not, drawn by identity.
"""

from __future__ import annotations

import os
from collections import Counter

import checks
import numpy as np
import pytest
from checks import for_each, slow_but
from engines import needed
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

import mechdesign as md
from mechdesign.release.identities import IdentityWords

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

# The engines warn about themselves, and few reports say little.
pytestmark = pytest.mark.filterwarnings("ignore")

LABELS = ["a", "b", "c"]
FOUND = md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(1))
KEY = md.ReleaseKey(bytes(range(32)))
SECRETS = np.random.default_rng(3).choice(LABELS, 40).tolist()
COLUMNS = ["id", "release", "x"]


class Pandas:
    """What a machine does with a table; ``release`` tells tables that are drawn apart."""

    def make(self, rows):
        return pd.DataFrame(rows, columns=COLUMNS)

    def read(self, table):
        return list(table[COLUMNS].itertuples(index=False, name=None))

    def union(self, one, two):
        return pd.concat([one, two], ignore_index=True)

    def shuffle(self, table, seed):
        return table.sample(frac=1, random_state=seed)

    def join(self, table):
        keys = table[["id", "release"]].drop_duplicates()
        return table.drop_duplicates().merge(keys, on=["id", "release"], how="inner")

    def part(self, table, rest):
        return table[table["id"] % 3 == rest]


class Polars(Pandas):
    def make(self, rows):
        return pl.DataFrame(rows, schema=COLUMNS, orient="row")

    def read(self, table):
        return table.lazy().select(COLUMNS).collect().rows()

    def union(self, one, two):
        return pl.concat([one, two])

    def shuffle(self, table, seed):
        return table.sort("x", pl.col("id").hash(seed))

    def join(self, table):
        keys = table.select("id", "release").unique()
        return table.unique().join(keys, on=["id", "release"], how="full", coalesce=True)

    def part(self, table, rest):
        return table.filter(pl.col("id") % 3 == rest)


class PolarsLazy(Polars):
    def make(self, rows):
        return super().make(rows).lazy()


class PolarsStreaming(PolarsLazy):
    def read(self, table):
        return table.select(COLUMNS).collect(engine="streaming").rows()


class DuckDB(Pandas):
    def __init__(self):
        self.base = needed("duckdb").connect()
        self.number = 0

    def make(self, rows):
        self.number += 1
        table = pa.Table.from_pandas(super().make(rows), preserve_index=False)
        self.base.register(f"t{self.number}", table)
        return self.base.table(f"t{self.number}")

    def read(self, table):
        return table.project("id, release, x").fetchall()

    def union(self, one, two):
        return one.union(two)

    def shuffle(self, table, seed):
        return table.order(f"hash(id + {seed})")

    def join(self, table):
        keys = table.project("id, release").distinct().set_alias("r")
        same = "l.id = r.id AND l.release = r.release"
        joined = table.distinct().set_alias("l").join(keys, same)
        return joined.project("l.id, l.release, l.x")

    def part(self, table, rest):
        return table.filter(f"id % 3 = {rest}")


def machine(make_engine):
    class Releases(RuleBasedStateMachine):
        def __init__(self):
            super().__init__()
            self.engine = make_engine()
            # Reports by identity under the key; by release and identity without.
            self.reports = {}
            # Tables, each with how often it should hold a row.
            self.tables = []
            self.released = 0

        def known(self, release, identity):
            return (None if release % 2 else release, identity)

        @rule(
            ids=st.sets(st.integers(0, len(SECRETS) - 1), min_size=6),
            keyed=st.booleans(),
        )
        def release(self, ids, keyed):
            # Releases under the key have odd numbers.
            self.released += 2
            number = self.released + keyed
            rows = [(i, number, SECRETS[i]) for i in ids]
            options = {"row": "id", "key": KEY} if keyed else {}
            made = md.privatize(self.engine.make(rows), "x", FOUND, **options)
            self.tables.append((made, Counter((i, number) for i in ids)))

        @precondition(lambda self: self.tables)
        @rule(data=st.data())
        def merge(self, data):
            (one, first), (two, second) = (data.draw(st.sampled_from(self.tables)) for _ in "ab")
            if sum((first + second).values()) <= 200:
                self.tables.append((self.engine.union(one, two), first + second))

        @precondition(lambda self: self.tables)
        @rule(data=st.data(), seed=st.integers(0, 9))
        def shuffle(self, data, seed):
            table, held = data.draw(st.sampled_from(self.tables))
            self.tables.append((self.engine.shuffle(table, seed), held))

        @precondition(lambda self: self.tables)
        @rule(data=st.data())
        def join(self, data):
            table, held = data.draw(st.sampled_from(self.tables))
            # Rows that a merge repeats are one again: their reports are.
            self.tables.append((self.engine.join(table), Counter(dict.fromkeys(held, 1))))

        @precondition(lambda self: self.tables)
        @rule(data=st.data(), rest=st.integers(0, 2))
        def part(self, data, rest):
            table, held = data.draw(st.sampled_from(self.tables))
            held = Counter({row: n for row, n in held.items() if row[0] % 3 == rest})
            self.tables.append((self.engine.part(table, rest), held))

        @precondition(lambda self: self.tables)
        @rule(data=st.data())
        def look(self, data):
            self.check(*data.draw(st.sampled_from(self.tables)))

        @precondition(lambda self: self.tables)
        @rule(data=st.data())
        def estimate(self, data):
            table, held = data.draw(st.sampled_from(self.tables))
            self.check(table, held)
            if sum(held.values()) < 10:
                return
            found = md.estimate(table, FOUND, "x")
            counts = Counter()
            for (i, number), times in held.items():
                counts[self.reports[self.known(number, i)]] += times
            assert found.reports == sum(held.values())
            np.testing.assert_allclose(found.values, md.estimate(counts, FOUND).values)

        def check(self, table, held):
            rows = self.engine.read(table)
            assert Counter((i, number) for i, number, _ in rows) == held
            for i, number, report in rows:
                known = self.known(number, i)
                assert self.reports.setdefault(known, report) == report

        def teardown(self):
            for table, held in self.tables:
                self.check(table, held)

    return Releases


ENGINES = {
    "pandas": Pandas,
    "polars": Polars,
    "polars lazy": PolarsLazy,
    "polars streaming": PolarsStreaming,
    "duckdb": DuckDB,
}
QUIET = {"deadline": None, "derandomize": True, "database": None}
# A control needs one failure, not the shortest one; fresh words fail otherwise each time.
CONTROL = settings(
    max_examples=20,
    stateful_step_count=12,
    phases=[Phase.generate],
    report_multiple_bugs=False,
    **QUIET,
)


@for_each("name", slow_but(lambda name: name == "polars lazy", ENGINES))
def test_no_report_is_drawn_twice_or_lost(name):
    examples = 20 if checks.run_all else 3
    run_state_machine_as_test(
        machine(ENGINES[name]),
        settings=settings(max_examples=examples, stateful_step_count=15, **QUIET),
    )


def test_the_machine_finds_reports_that_are_drawn_twice(monkeypatch):
    """A control: words that are fresh each time."""

    def fresh(self, number):
        return np.frombuffer(os.urandom(8 * number), np.uint64)

    monkeypatch.setattr(IdentityWords, "next_words", fresh)
    with pytest.raises((AssertionError, Flaky)):
        run_state_machine_as_test(machine(PolarsLazy), settings=CONTROL)


def test_the_machine_finds_reports_that_are_lost():
    """A control: a union that forgets a row."""

    class Forgets(Pandas):
        def union(self, one, two):
            return super().union(one, two).iloc[:-1]

    with pytest.raises(AssertionError):
        run_state_machine_as_test(machine(Forgets), settings=CONTROL)
