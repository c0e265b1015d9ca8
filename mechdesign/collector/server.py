"""The server of a collector: on this machine unless told otherwise, until it is interrupted."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import os
import signal
import socket
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import ExposureWarning, InputError, MechdesignError, warn
from ..extras import brought_by
from ..files import read_text
from .gate import Limits
from .kernels import Collected

HOST, PORT = "127.0.0.1", 8780
# Connections at once, which wait for one another beyond that, and files beside them.
_CONNECTIONS, _FILES = 20_000, 100
# Seconds that a connection has for a header, its first one included, and bytes of one at most.
_HEADER_SECONDS, _HEADER_BYTES = 5, 1 << 14
# Seconds that a connection has to take what it was sent, and that the last ones have at the end.
_UNREAD_SECONDS, _LAST_SECONDS = 10, 10
_LOG = {
    "handlers": {"console": {"class": "logging.StreamHandler", "stream": "ext://sys.stderr"}},
    "formatters": {},
    "loggers": {"_granian": {"handlers": ["console"], "propagate": False}},
}


def check_framework() -> None:
    """Raise :class:`MissingLibraryError` when Starlette, Granian or SQLAlchemy is not installed."""
    with brought_by("web"):
        import granian  # noqa: F401
        import sqlalchemy  # noqa: F401
        import starlette  # noqa: F401


def read_token(path: Path | None, option: str) -> str | None:
    """The token in a file; raises :class:`InputError` for one that can be guessed."""
    if path is None:
        return None
    token = read_text(path).strip()
    if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            option,
            expected="a file with at least 16 printable characters without spaces",
            got="another content",
            remedy="make one: python -c 'import secrets; print(secrets.token_hex())' > FILE",
        )
    return token


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def reserve(host: str, port: int) -> socket.socket:
    """A socket that keeps an address free for the server, and tells which port it is.

    Raises :class:`InputError` where there is none to be had.
    """
    try:
        if not 0 <= port <= 0xFFFF or "%" in host:
            raise OverflowError  # of a port the system would take the rest; zones are not served
        (family, kind, protocol, _, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        found = socket.socket(family, kind, protocol)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
            if hasattr(socket, "SO_REUSEPORT"):  # others were refused; the server may join
                found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        except BaseException:
            found.close()
            raise
    except (OSError, OverflowError, UnicodeError) as problem:
        why = getattr(problem, "strerror", None) or "not allowed"
        raise InputError(
            "--host and --port",
            expected="an address of this machine and a port that is free",
            got=f"{host} and {port} ({why})",
            remedy="choose another --port, or 0 for any",
        ) from None
    return found


def allow_connections() -> int:
    """Raise the number of files that the process may open; how many connections that allows."""
    try:
        import resource
    except ImportError:  # only POSIX limits them
        return _CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _CONNECTIONS + _FILES
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return max(most - _FILES, 1)


def serve(
    kernels: Sequence[Collected],
    database: str | Path,
    *,
    host: str = HOST,
    port: int = PORT,
    limits: Limits | None = None,
    token: str | None = None,
    reader_token: str | None = None,
    origins: Sequence[str] = (),
    form: Any = None,
) -> None:
    """Collect reports until interrupted; prints the address on standard output, and that of the
    form where there is one.

    Raises
    ------
    InputError
        For an address or a database that cannot be used.
    MechdesignError
        When the extra ``web`` is not installed.
    """
    check_framework()
    from .app import Collector
    from .store import Store

    local = is_loopback(host)
    reserved = reserve(host, port)
    try:
        store = Store(database)
        collector = Collector(
            kernels,
            store,
            limits=limits,
            token=token,
            reader_token=reader_token,
            origins=origins,
            form=form,
            is_local=local,
        )
        known = sum(sum(store.counts(one.number).values()) for one in collector.estimators)
        if known:
            print(
                f"{store.shown} holds {known} reports of these kernels already, which count; for "
                "another survey name another --database",
                file=sys.stderr,
            )
        if not local:
            warn(
                f"the collector listens at {host}: whoever reaches it can send reports"
                + ("" if reader_token or token else ", read estimates and take all reports")
                + "; put a proxy with TLS before it, and ask for tokens (--token-file, "
                "--reader-token-file)",
                ExposureWarning,
            )
        name = f"[{host}]" if ":" in host else host
        told = f"http://{name}:{reserved.getsockname()[1]}/"
        # What was imported stays: the collector of garbage need not look through it again.
        gc.collect()
        gc.freeze()
        shown = [told] if form is None else [told, f"{told}form"]
        asyncio.run(_serve(collector.app(), reserved, shown, store.shown))
    finally:
        reserved.close()
    print("stopped; all that was acknowledged is stored", file=sys.stderr)


async def _serve(app: Any, reserved: socket.socket, told: list[str], database: str) -> None:
    """Serve until a signal, which lets those who are served have their answer."""
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels
    from granian.server.embed import Server

    host, port = reserved.getsockname()[:2]
    server = Server(
        app,
        host,
        port,
        interface=Interfaces.ASGINL,
        http=HTTPModes.http1,
        websockets=False,
        backlog=socket.SOMAXCONN,
        backpressure=allow_connections(),
        http1_settings=HTTP1Settings(
            header_read_timeout=1000 * _HEADER_SECONDS, max_buffer_size=_HEADER_BYTES
        ),
        log_level=LogLevels.error,
        log_dictconfig=_LOG,
    )
    stopped = asyncio.Event()
    stop = partial(asyncio.get_running_loop().call_soon_threadsafe, stopped.set)
    async with app.router.lifespan_context(app):
        with _at_signals(stop):
            serving = asyncio.ensure_future(server.serve())
            if await _is_listening(host, port, serving):
                reserved.close()
                _limit_unread(port)
                print("\n".join(told), flush=True)
                print(f"collects into {database}; Ctrl-C ends it", file=sys.stderr, flush=True)
                stopping = asyncio.ensure_future(stopped.wait())
                await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
            server.stop()
            await asyncio.wait({serving}, timeout=_LAST_SECONDS)
        if not stopped.is_set():
            why, *_ = f"{serving.exception() or 'it does not say why'}".splitlines()
            raise MechdesignError(f"the server has ended by itself ({why}); start it again")


@contextmanager
def _at_signals(stop: Callable[[], object]) -> Iterator[None]:
    """Have Ctrl-C, and what asks a process to end, call a function instead."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: stop()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


async def _is_listening(host: str, port: int, serving: asyncio.Future[None]) -> bool:
    """Whether connections are taken, once they are, or the server has ended before."""
    if ipaddress.ip_address(host).is_unspecified:
        host = "::1" if ":" in host else HOST
    while not serving.done():
        await asyncio.sleep(0.01)
        with suppress(OSError):
            _, writer = await asyncio.open_connection(host, port)
            writer.close()
            return not serving.done()
    return False


def _limit_unread(port: int) -> None:
    """Have Linux end connections whose other end takes nothing of what it asked for.

    The server has no setting for it. What is set for the socket that listens holds for all that
    connect to it.
    """
    if not hasattr(socket, "TCP_USER_TIMEOUT"):
        return
    for number in map(int, os.listdir("/proc/self/fd")):
        # Files are left alone: to close one anew would end the locks of the database.
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                with socket.fromfd(number, socket.AF_INET, socket.SOCK_STREAM) as found:
                    listens = found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
                    if listens and found.getsockname()[1] == port:
                        option = socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT
                        found.setsockopt(*option, 1000 * _UNREAD_SECONDS)
