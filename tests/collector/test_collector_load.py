"""Real processes: thousands of reports in flight, kills, two collectors at once, slow clients.

How many a second is recorded by ``python -m benchmarks.collector run`` and asserted nowhere.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sqlite3
import sys
import urllib.request
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

import mechdesign as md

pytest.importorskip("sqlalchemy", reason="the collector needs mechdesign[web]")
pytest.importorskip("granian", reason="the collector needs mechdesign[web]")

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.collector import Served, answer, reports, request, send

pytestmark = pytest.mark.slow

KERNEL = md.Mechanism([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]], ["a", "b"], ["x", "y", "z"])
DIGEST = md.ReportCounts(KERNEL).kernel


@pytest.fixture
def place(tmp_path):
    md.save(KERNEL, tmp_path / "m.json")
    return tmp_path


def served(place, *more):
    return Served(
        str(place / "m.json"), "--database", str(place / "c.sqlite"), "--rate", "1e9", *more
    )


def collected(url):
    with urllib.request.urlopen(f"{url}counts", timeout=300) as found:
        return md.ReportCounts.from_json(json.load(found))


def expected(drawn):
    return md.ReportCounts(KERNEL, Counter(one["report"] for one in drawn))


async def send_until_killed(server, bodies, connections, answers):
    """Kill the collector by force after so many answers, with all others in flight."""

    async def watch():
        while sum(one is not None for one in found) < answers and not sending.done():
            await asyncio.sleep(0)
        server.process.kill()

    found = [None] * len(bodies)
    sending = asyncio.ensure_future(send(server.port, bodies, connections, found))
    await watch()
    await sending
    return found


def test_none_of_thousands_of_reports_in_flight_is_lost_when_the_collector_is_killed(place):
    """Killed three times; whoever has no answer sends again. All count once in the end."""
    drawn = reports(DIGEST, KERNEL.outputs, 16_000, seed=7)
    # Lists of ten over 200 connections: 2,000 are in flight at any time.
    lists = [drawn[i : i + 10] for i in range(0, len(drawn), 10)]
    waiting, acknowledged = lists, []
    for enough in (1, 50, 100):
        with served(place) as server:
            assert collected(server.url).counts.keys() <= expected(drawn).counts.keys()
            bodies = [request(some) for some in waiting]
            found = asyncio.run(send_until_killed(server, bodies, 200, enough))
            server.kill()
        assert all(one is None or one[0] == 200 for one in found)
        acknowledged += [some for some, told in zip(waiting, found, strict=True) if told]
        # What was acknowledged is there, as it was.
        with sqlite3.connect(place / "c.sqlite") as kept:
            rows = dict(kept.execute("SELECT nonce, output FROM mechdesign_reports"))
        kept.close()
        for one in chain.from_iterable(acknowledged):
            assert rows[bytes.fromhex(one["nonce"])] == KERNEL.outputs.index(one["report"])
        waiting = [some for some, told in zip(waiting, found, strict=True) if not told]
        assert waiting
    with served(place) as server:
        found, _ = asyncio.run(send(server.port, [request(some) for some in waiting], 64))
        assert all(one[0] == 200 for one in found)
        assert collected(server.url) == expected(drawn)
        again, _ = asyncio.run(send(server.port, [request(some) for some in lists], 64))
        assert sum(json.loads(one[1])["already counted"] for one in again) == 16_000
        assert collected(server.url) == expected(drawn)
    assert server.code == 0


def test_two_processes_on_one_database_count_each_report_once(place):
    """Both are sent everything, in opposite orders."""
    drawn = reports(DIGEST, KERNEL.outputs, 1000, seed=8)
    bodies = [request(drawn[i : i + 10]) for i in range(0, 1000, 10)]
    with served(place) as here, served(place) as there:

        async def both():
            return await asyncio.gather(
                send(here.port, bodies, 20), send(there.port, bodies[::-1], 20)
            )

        told = [one for found, _ in asyncio.run(both()) for one in found]
        assert all(one[0] == 200 for one in told)
        sums = [json.loads(one[1]) for one in told]
        assert sum(one["counted"] for one in sums) == 1000
        assert sum(one["already counted"] for one in sums) == 1000
        assert collected(here.url) == collected(there.url) == expected(drawn)


def test_slow_clients_keep_nobody_from_reporting_and_are_sent_away(place):
    drawn = reports(DIGEST, KERNEL.outputs, 200, seed=9)
    with served(place, "--patience", "2") as server:

        async def check():
            slow = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(100)]
            for _, writer in slow:
                writer.write(request(drawn[0])[:-5])
            found, _ = await send(server.port, [request(one) for one in drawn], 20)
            assert all(one[0] == 200 for one in found)
            told = [await answer(reader) for reader, _ in slow]
            assert {status for status, _ in told} == {408}
            for _, writer in slow:
                writer.close()

        asyncio.run(check())
        assert collected(server.url) == expected(drawn)


def test_the_command_says_what_is_wrong_before_it_serves(place, capsys):
    from mechdesign.cli import main

    taken = socket.create_server(("127.0.0.1", 0))
    port = str(taken.getsockname()[1])
    md.save(md.design(md.Prior([0.6, 0.4]), md.utility.Hamming(), md.LDP(1)), place / "d.json")
    (place / "short").write_text("abc")
    (place / "broken.json").write_text('{"format": "mechdesign"}')
    wrong = [
        [str(place / "none.json")],
        [str(place / "broken.json")],
        [str(place / "m.json"), str(place / "m.json")],
        [str(place / "m.json"), "--port", port],
        [str(place / "m.json"), "--port", "70000"],
        [str(place / "m.json"), "--host", "192.0.2.1"],
        [str(place / "m.json"), "--rate", "0"],
        [str(place / "m.json"), "--max-body", "-1"],
        [str(place / "m.json"), "--token-file", str(place / "short")],
        [str(place / "m.json"), "--port", "0", "--database", str(place / "m.json")],
        [str(place / "m.json"), "--port", "0", "--database", "mysql://user:geheim@host/name"],
    ]
    before = (place / "m.json").read_bytes()
    for arguments in wrong:
        if "--database" not in arguments:
            arguments = [*arguments, "--database", str(place / "new.sqlite")]
        assert main(["serve", *arguments]) in (2, 3), arguments
        said = capsys.readouterr()
        assert said.out == ""
        (line,) = said.err.splitlines()  # no warning of what is not going to happen
        assert line.startswith("error: "), said.err
        assert "geheim" not in said.err
    taken.close()
    assert not (place / "new.sqlite").exists()
    assert (place / "m.json").read_bytes() == before


def test_other_hosts_are_warned_of(place):
    with served(place, "--host", "0.0.0.0") as server:
        assert server.url.startswith("http://0.0.0.0:")
    assert "whoever reaches it can send reports, read estimates" in server.said
    with served(place) as server:
        pass
    assert "warning" not in server.said
