"""The collector on PostgreSQL: several writers at once, each report counted once.

These tests need PostgreSQL on the machine and are skipped, with a reason, where there is none.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import threading
import urllib.request
from collections import Counter
from pathlib import Path

import pytest
from postgres import MISSING, find_programs, running_cluster

import mechdesign as md

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.collector import Served, reports, request, send

pytest.importorskip("granian", reason="the collector needs mechdesign[web]")
pytest.importorskip("sqlalchemy", reason="the collector needs mechdesign[web]")
pytest.importorskip("psycopg", reason="PostgreSQL needs mechdesign[postgresql]")

from mechdesign.collector.incoming import Row
from mechdesign.collector.kernels import Collected
from mechdesign.collector.store import Outcome, Store

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_programs() is None, reason=MISSING),
]

KERNEL = md.Mechanism([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]], ["a", "b"], ["x", "y", "z"])


@pytest.fixture(scope="module")
def cluster():
    with running_cluster() as found:
        yield found


@pytest.fixture
def url(cluster, request):
    name = request.node.name[:60]
    cluster.do(f"CREATE DATABASE {name};")
    return f"postgresql://test@/{name}?host={cluster.folder}"


def test_writers_at_once_count_each_report_once(url):
    """Four connections add the same rows, each in an order of its own; nothing locks up."""
    drawn = reports("", range(3), 3000, seed=1)
    stores, outcomes = [Store(url) for _ in range(4)], []
    assert len({store.name for store in stores}) == 1
    numbers = [store.register([Collected.of(KERNEL)]) for store in stores]
    assert numbers == [numbers[0]] * 4
    rows = [Row(bytes.fromhex(d["nonce"]), numbers[0][0], d["report"]) for d in drawn]

    def add(store, seed):
        mine = random.Random(seed).sample(rows, len(rows))
        for start in range(0, len(mine), 100):
            outcomes.extend(store.add(mine[start : start + 100]))

    threads = [
        threading.Thread(target=add, args=pair) for pair in zip(stores, range(4), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(outcomes) == {Outcome.COUNTED: 3000, Outcome.AGAIN: 9000}
    assert stores[0].counts(numbers[0][0]) == Counter(row.code for row in rows)
    assert stores[0].add([rows[0]._replace(code=(rows[0].code + 1) % 3)]) == [Outcome.OTHER]
    assert sum(map(len, stores[0].pages(numbers[0][0]))) == 3000
    for store in stores:
        store.close()


def test_none_of_the_reports_is_lost_when_a_collector_is_killed(url, tmp_path):
    md.save(KERNEL, tmp_path / "m.json")
    drawn = reports(md.ReportCounts(KERNEL).kernel, KERNEL.outputs, 600, seed=2)
    bodies = [request(one) for one in drawn]
    arguments = [str(tmp_path / "m.json"), "--database", url]

    async def kill_soon(server):
        found = [None] * len(bodies)
        sending = asyncio.ensure_future(send(server.port, bodies, 100, found))
        while not any(found) and not sending.done():
            await asyncio.sleep(0)
        server.process.kill()
        await sending
        return found

    with Served(*arguments) as here, Served(*arguments) as there:
        first = asyncio.run(kill_soon(here))
        assert any(first)
        assert not all(first)
        here.kill()
        found, _ = asyncio.run(send(there.port, bodies, 20))
        assert all(one[0] == 200 for one in found)
    with Served(*arguments) as server:
        answer = urllib.request.urlopen(f"{server.url}counts", timeout=300).read()
    kept = md.ReportCounts.from_json(json.loads(answer))
    assert kept == md.ReportCounts(KERNEL, Counter(one["report"] for one in drawn))


def test_a_database_that_is_not_there_is_said_in_one_line(cluster):
    with pytest.raises(md.errors.StorageError) as caught:
        Store(f"postgresql://test:geheim@/none?host={cluster.folder}")
    assert "cannot be used" in str(caught.value)
    assert "geheim" not in str(caught.value)
    assert "\n" not in str(caught.value)
