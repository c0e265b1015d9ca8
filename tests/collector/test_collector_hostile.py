"""Connections without a name: no bytes of theirs stop the collector, or make it answer 500."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import mechdesign as md

for library in ("starlette", "granian", "sqlalchemy"):
    pytest.importorskip(library, reason="the collector needs mechdesign[web]")

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.collector import Served, reports, request  # noqa: E402
from mechdesign.collector import server  # noqa: E402
from mechdesign.collector.app import Collector  # noqa: E402
from mechdesign.collector.gate import Limits  # noqa: E402
from mechdesign.collector.kernels import Collected  # noqa: E402
from mechdesign.collector.store import Store  # noqa: E402
from mechdesign.errors import MechdesignError, StorageError  # noqa: E402

KERNEL = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
DIGEST = md.ReportCounts(KERNEL).kernel
FOREVER = 300  # seconds; only keeps a test from waiting for ever
HEAD = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
LAST = HEAD + b"Connection: close\r\n\r\n"


# Headers, paths and bodies that nobody expects


TOKEN = b"t" * 20
VALUES = [
    *(b"http://[", b"http://[::1", b"//]", b"null", b"\xff\xb2", b"http://127.0.0.1", b""),
    *(b"Basic \xe9", b"Basic ====", b"Basic /w==", b"Basic", b"Bearer " + TOKEN, b"bearer \xe9"),
    *(b"\xb2", b"-1", b"1e3", b"+5", b"9" * 5000, b"0" * 5000, b"5", b"identity", b"gzip"),
    *(b"127.0.0.1", b"[::1]:8780", b"localhost:\xb2", b"[", b":", b"GET", b"content-type, \xff"),
]
NAMES = [
    *(b"host", b"origin", b"authorization", b"content-length", b"content-type", b"cookie"),
    *(b"content-encoding", b"access-control-request-method", b"access-control-request-headers"),
    *(b"sec-fetch-site", b"sec-fetch-dest", b"range", b"expect", b"x-forwarded-for"),
]
HEADERS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES) | st.binary(max_size=20)), max_size=4
)
PATHS = ["/", "/reports", "/estimate", "/counts", "/kernels", "/reports.parquet", "/health"]
ODD_PATHS = ["", "//[", "/health/", "/\udcff", "/%00", "/../etc", "/" + "a/" * 999]
QUERIES = [b"", b"kernel=" + DIGEST.encode(), b"kernel=%ff%00", b"kernel=a&kernel=b", b"\xff&=;%"]
VALUE = st.recursive(
    st.sampled_from([None, True, "no", "\ud800", 1e400, -0.0, 10**400, 2**70, DIGEST, "0" * 32])
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kernel", "report", "nonce", "tuple", "float", "value"]), inner
        )
    ),
    max_leaves=8,
)
SENT = st.fixed_dictionaries({"kernel": st.just(DIGEST), "report": VALUE, "nonce": VALUE})
BODIES = (
    st.sampled_from([b"", b"[" * 99_999, b"[" * 60 + b"]" * 60, b"\xff\xfe[\x00]\x00", b"NaN"])
    | st.binary(max_size=30)
    | st.builds(lambda value: json.dumps(value).encode(), VALUE | SENT | st.lists(SENT))
)


async def ask(app, method, path, query, headers, body):
    """The status that an ASGI application answers with; raises what it raises."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]
    sent = []

    async def receive():
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    known = [(b"host", b"127.0.0.1")] if b"host" not in dict(headers) else []
    scope = {"type": "http", "http_version": "1.1", "method": method, "scheme": "http"}
    scope |= {"path": path, "raw_path": path.encode("utf-8", "replace"), "query_string": query}
    scope |= {"headers": [*known, *headers], "client": ("127.0.0.1", 1), "root_path": ""}
    await app({**scope, "server": ("127.0.0.1", 80)}, receive, send)
    return sent[0]["status"]


@pytest.fixture(scope="module")
def collectors(tmp_path_factory):
    """A loop and two applications in it: one open to all, one with tokens and a foreign origin."""
    folder = tmp_path_factory.mktemp("hostile")
    options = [{}, {"token": TOKEN.decode(), "origins": ["https://a.example"], "is_local": False}]
    with asyncio.Runner() as runner:
        made = [
            Collector([Collected.of(KERNEL)], Store(folder / f"{i}.sqlite"), **one).app()
            for i, one in enumerate(options)
        ]
        lives = [app.router.lifespan_context(app) for app in made]
        for life in lives:
            runner.run(life.__aenter__())
        yield runner, made
        for life in lives:
            runner.run(life.__aexit__(None, None, None))


def test_nothing_that_is_sent_is_answered_with_500(collectors):
    runner, applications = collectors

    @settings(max_examples=80, deadline=None, derandomize=True)
    @example("GET", "/health", b"", [(b"origin", b"http://[")], b"")
    @example("GET", "/", b"", [(b"authorization", b"Basic \xe9")], b"")
    @example("POST", "/reports", b"", [(b"content-length", b"\xb2")], b"")
    @example("POST", "/reports", b"", [(b"content-length", b"9" * 5000)], b"")
    @given(
        st.sampled_from(["GET", "POST", "HEAD", "OPTIONS", "DELETE", "BREW"]),
        st.sampled_from(PATHS + ODD_PATHS),
        st.sampled_from(QUERIES),
        HEADERS,
        BODIES,
    )
    def check(method, path, query, headers, body):
        for app in applications:
            status = runner.run(ask(app, method, path, query, headers, body))
            assert 200 <= status < 500

    check()


def test_a_machine_without_room_is_told_of_and_not_a_500(collectors, monkeypatch, capsys):
    runner, (app, _) = collectors

    def full():
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    assert runner.run(ask(app, "GET", "/reports.parquet", b"", [], b"")) == 503
    assert capsys.readouterr().err.splitlines() == ["error: [Errno 28] No space left on device"]


def test_watching_asks_the_database_once_and_is_not_starved_by_others(tmp_path, monkeypatch):
    now, asked, broken = [0.0], [], []

    def others(numbers):
        asked.append(numbers)
        if broken:
            raise StorageError("the disk is gone")
        return {}

    async def check():
        store = Store(tmp_path / "c.sqlite")
        monkeypatch.setattr(store, "others", others)
        one = Collector([Collected.of(KERNEL)], store, limits=Limits(rate=2), clock=lambda: now[0])
        app = one.app()
        async with app.router.lifespan_context(app):

            async def statuses(path, count=1):
                return {await ask(app, "GET", path, b"", [], b"") for _ in range(count)}

            assert await statuses("/kernels", 20) == {200, 429}
            # The rate of this address is spent; who watches is answered all the same.
            assert await statuses("/estimate") == {429}
            assert await statuses("/health", 200) == {200}
            assert len(asked) == 1
            broken.append(True)
            now[0] = 1.5
            assert await statuses("/health", 50) == {503}
            assert len(asked) == 2
            broken.clear()
            now[0] = 3.0
            assert await statuses("/health", 50) == {200}
            assert len(asked) == 3

    asyncio.run(check())


# Connections that send too much, too slowly, or nothing


async def opened(port, *parts):
    """A connection on which some bytes are sent."""
    one = socket.socket()
    one.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(one, ("127.0.0.1", port))
    await loop.sock_sendall(one, b"".join(parts))
    return one


async def ended(one):
    """All that comes until the other end closes the connection, with an answer or without."""
    found = b""
    loop = asyncio.get_running_loop()
    with one, suppress(ConnectionError):
        while part := await asyncio.wait_for(loop.sock_recv(one, 1 << 16), FOREVER):
            found += part
    return found


async def probe(port, *parts):
    """The status of a request; where the machine is too busy to send it in time, of the next."""
    for _ in range(100):
        with suppress(ConnectionError):
            if found := await ended(await opened(port, *(parts or (LAST,)))):
                return int(found[9:12])
    raise AssertionError("nobody answers")


async def grow(port):
    """Whether a header that grows by a megabyte at a time is cut off before 120 of them."""
    loop = asyncio.get_running_loop()
    one = await opened(port, HEAD, b"X: ")
    with suppress(ConnectionError):
        for _ in range(120):
            await asyncio.wait_for(loop.sock_sendall(one, b"a" * (1 << 20)), FOREVER)
        return False
    return b"200" not in (await ended(one))[:15]


async def drip(port, head, part):
    """What comes on a connection whose sender goes on and on, until it is closed."""
    loop = asyncio.get_running_loop()
    one = await opened(port, head)
    closed = asyncio.ensure_future(ended(one))
    while not closed.done():
        with suppress(OSError):
            await loop.sock_sendall(one, part)
        await asyncio.wait({closed}, timeout=0.1)
    return closed.result()


async def check_connections(port):
    """Silent, half-sent, growing and dripping connections end; others are served meanwhile."""
    silent = [await opened(port) for _ in range(20)]
    silent += [await opened(port, part) for part in (b"GET /he", HEAD, HEAD + b"X: a")]
    silent += [await opened(port, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")]
    idle = await opened(port, HEAD, b"\r\n")
    growing = asyncio.gather(grow(port), grow(port))
    dripping = asyncio.gather(drip(port, HEAD, b"X: a\r\n"), drip(port, HEAD + b"\r\n", b"G"))
    while not growing.done() or not dripping.done():
        assert await probe(port) == 200
        await asyncio.sleep(0.05)
    assert await growing == [True, True]
    first, second = await dripping
    assert b"200" not in first[:15]
    assert second.count(b"HTTP/1.1") <= 1
    for one in silent:
        assert b"200" not in (await ended(one))[:15]
    assert (await ended(idle)).count(b"HTTP/1.1") <= 1
    many = b"".join(b"X%d: 1\r\n" % i for i in range(2000))
    assert await probe(port, HEAD, many, b"\r\n") == 431
    assert await probe(port, request(reports(DIGEST, ["no"], 1, seed=1)[0]), LAST) == 200


def test_no_connection_stops_the_collector_and_a_signal_ends_it(tmp_path, monkeypatch, capsys):
    """In this process, with seconds that are shorter; one client is stuck when it ends."""
    for name, seconds in (("_HEADER_SECONDS", 1), ("_LAST_SECONDS", 0.2)):
        monkeypatch.setattr(server, name, seconds)
    collector = Collector(
        [Collected.of(KERNEL)], Store(tmp_path / "c.sqlite"), limits=Limits(patience=FOREVER)
    )
    reserved = server.reserve("127.0.0.1", 0)
    port = reserved.getsockname()[1]

    async def check():
        serving = asyncio.ensure_future(
            server._serve(collector.app(), reserved, [f"http://127.0.0.1:{port}/"], "c.sqlite")
        )
        while reserved.fileno() != -1 and not serving.done():
            await asyncio.sleep(0.01)
        await check_connections(port)
        stuck = await opened(port, request([])[:-1])
        assert await probe(port) == 200
        signal.raise_signal(signal.SIGTERM)
        await asyncio.wait_for(serving, FOREVER)
        stuck.close()

    before = signal.getsignal(signal.SIGTERM)
    asyncio.run(check())
    assert signal.getsignal(signal.SIGTERM) is before
    assert capsys.readouterr().out == f"http://127.0.0.1:{port}/\n"


def test_a_port_that_was_taken_meanwhile_ends_the_collector_in_one_line(tmp_path, capsys):
    reserved = server.reserve("127.0.0.1", 0)
    with socket.socket() as other:
        # As by somebody between the reservation and its use.
        port = reserved.getsockname()[1]
        reserved.close()
        other.bind(("127.0.0.1", port))
        other.listen()
        collector = Collector([Collected.of(KERNEL)], Store(tmp_path / "c.sqlite"))
        with pytest.raises(MechdesignError, match=r"ended by itself \(Address already in use"):
            asyncio.run(server._serve(collector.app(), other, "http://", "c.sqlite"))
    assert capsys.readouterr() == ("", "")


@pytest.fixture
def served(tmp_path):
    md.save(KERNEL, tmp_path / "m.json")
    with Served(str(tmp_path / "m.json"), "--database", str(tmp_path / "c.sqlite")) as found:
        yield found


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="only POSIX raises the number of open files")
def test_thousands_of_silent_connections_end_and_nobody_is_sent_away(served):
    import resource

    count = 5100
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + 200
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"this machine allows {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))

    async def check():
        silent = []
        for _ in range(0, count, 100):
            silent += [await opened(served.port, HEAD[: 3 * (k % 2)]) for k in range(100)]
            assert await probe(served.port) == 200
        assert {await probe(served.port) for _ in range(20)} == {200}
        assert {await ended(one) for one in silent} == {b""}

    try:
        asyncio.run(check())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux ends them")
def test_who_asks_and_never_reads_is_let_go_of(served):
    """So much is asked for that answers fill every buffer on the way."""
    found = []
    for _ in range(5):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.connect(("127.0.0.1", served.port))
        one.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                one.send((HEAD + b"\r\n") * 100)
        found.append(one)

    async def let_go(one):
        while True:
            try:
                one.send(b"G")
            except BlockingIOError:
                await asyncio.sleep(0.1)
            except ConnectionError:
                return one.close()

    async def check():
        await asyncio.gather(*map(let_go, found))
        assert await probe(served.port) == 200

    asyncio.run(asyncio.wait_for(check(), FOREVER))
