"""The server of the page: on this machine, for this machine, until it is interrupted.

Also the processes of its background work, which give way to the one that answers visitors.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from pathlib import Path
from typing import Any

import mechdesign as md

from ..errors import InputError, MechdesignError, MechdesignWarning, SolverError
from ..extras import brought_by
from .settings import Settings

HOST = "127.0.0.1"
#: The port tried first when none is asked for, and how many ports are tried.
PORT, TRIES = 8765, 30
_NAMES = frozenset({HOST, "localhost"})
_NICENESS = 10
# Seconds for a header, and for the next part of a body; at most twice as many between requests.
_SECONDS = 5.0
# What the browser may load and connect to: this server. The framework compiles its templates in the
# browser, which takes inline scripts and eval.
_POLICY = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src 'self'; "
    "frame-ancestors 'none'; form-action 'self'; base-uri 'none'; object-src 'none'"
)
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" '
    'rx="3" fill="#0072b2"/><path d="M3 13V8h2v5zm4 0V3h2v10zm4 0V6h2v7z" fill="#fff"/></svg>'
)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class OnlyLocal:
    """ASGI middleware that answers requests to this machine from its own pages alone.

    Another ``Host`` than the loopback names means that a foreign name was made to point here (DNS
    rebinding); another ``Origin`` that a foreign page is asking. Both are refused, web sockets
    included. Responses carry a policy under which the browser loads from this server only.
    """

    def __init__(self, app: Callable[[Message, Receive, Send], Awaitable[None]]) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer or refuse one request."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        if not is_local(dict(scope["headers"])):
            await _refuse(scope, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [
                    (b"content-security-policy", _POLICY.encode()),
                    (b"referrer-policy", b"no-referrer"),
                    (b"x-content-type-options", b"nosniff"),
                ]
                message["headers"] = [*message.get("headers", ()), *extra]
            await send(message)

        await self.app(scope, receive, send_guarded)


def is_local(headers: MutableMapping[bytes, bytes]) -> bool:
    """Whether a request names this machine, and comes from a page that it has served, or none.

    Where the browser tells of foreign pages without an ``Origin``, they may link here, no more.
    """
    host = headers.get(b"host", b"").decode("latin-1").lower()
    origin = headers.get(b"origin", b"").decode("latin-1").lower()
    if host.rpartition(":")[0] not in _NAMES and host not in _NAMES:
        return False
    if headers.get(b"sec-fetch-site", b"none") in (b"cross-site", b"same-site"):
        # A foreign page may link here; as an image or a frame, say, it would only cause work.
        return headers.get(b"sec-fetch-dest") == b"document"
    # Compared as text: what comes from outside need not be an address that can be taken apart.
    return origin in ("", f"http://{host}", f"https://{host}")


async def _refuse(scope: Message, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    text = f"This page is served to this machine only: open it at http://{HOST} or localhost.\n"
    await send({"type": "http.response.body", "body": text.encode()})


def find_port(wanted: int | None) -> int:
    """A port that is free on the loopback interface.

    The one wanted, with 0 for any; when none is, the first free one from :data:`PORT` on. Raises
    :class:`InputError` when there is none.
    """
    if wanted is not None:
        found = _free(wanted)
        if found is None:
            raise InputError(
                "--port",
                expected="a port that is free",
                got=f"{wanted}, which is taken or not allowed",
                remedy="leave out --port to take the next free one",
            )
        return found
    for port in range(PORT, PORT + TRIES):
        if _free(port):
            return port
    raise InputError(
        "port",
        expected=f"a free one from {PORT} to {PORT + TRIES - 1}",
        got="none",
        remedy="name one with --port, or 0 for any",
    )


def _free(port: int) -> int | None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name == "posix":
            # A port whose last connections are still closing is free, as it is for the server.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError):
            return None
        number: int = probe.getsockname()[1]
        return number


async def in_background(work: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in another process; ``None`` when the server stops."""
    from nicegui import app, run

    try:
        return await run.cpu_bound(at_low_priority, work, *arguments)
    except BrokenProcessPool:
        if app.is_stopping or app.is_stopped:
            return None
        raise SolverError(
            "a process that computed for this page was ended from outside; change something to "
            "have it computed again"
        ) from None


def at_low_priority(work: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; where that is in another process, give way to the server."""
    if multiprocessing.parent_process() is not None:
        _give_way()
    return work(*arguments)


@cache
def _give_way() -> None:
    """Once for each process: low priority, no warnings, and an end with that of the server.

    A server that is ended by force cannot end its processes; each waits for that and ends itself.
    """
    warnings.simplefilter("ignore", MechdesignWarning)
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    threading.Thread(target=_end_with_parent, name="end with parent", daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None  # only called in other processes
    parent.join()
    os._exit(1)


def serve(settings: Settings, port: int | None = None, *, show: bool = True) -> None:
    """Serve the page until it is interrupted; prints the address on standard output.

    Parameters
    ----------
    settings : what each visitor begins with
    port : see :func:`find_port`
    show : open the page in the browser

    Raises
    ------
    MechdesignError
        When NiceGUI is not installed, or no port is free.
    """
    check_framework()
    from nicegui import app, run, ui
    from nicegui.server import Server

    from .page import Page
    from .results import compute

    number = find_port(port)
    small = Settings.of_prior(md.Prior([0.5, 0.3, 0.2])).with_utility("mutual-information")
    # The page says what these warnings say.
    warnings.simplefilter("ignore", MechdesignWarning)

    async def started() -> None:
        while not Server.instance.started:  # this runs before it listens
            await asyncio.sleep(0.01)
        print(f"http://{HOST}:{number}/", flush=True)
        print("explore at this address; Ctrl-C ends it", file=sys.stderr)
        # Solvers are loaded before the first visitor needs them.
        await run.io_bound(compute, small)
        await run.cpu_bound(at_low_priority, compute, small)

    run.process_pool_start_method = "spawn"
    app.add_middleware(OnlyLocal)
    app.on_startup(started)
    uploads = tempfile.TemporaryDirectory(prefix="mechdesign-")
    # Files of visitors are removed also when a signal ends the server before the block is left.
    app.on_shutdown(uploads.cleanup)
    with uploads as folder:

        def visit() -> None:
            query = ui.context.client.request.query_params
            Page(settings, Path(folder), run.io_bound, in_background, query)

        _run_until_interrupted(visit, number, show)


def _run_until_interrupted(visit: Callable[[], None], number: int, show: bool) -> None:
    from nicegui import ui

    try:
        ui.run(
            visit,
            host=HOST,
            port=number,
            title="mechdesign explore",
            favicon=_ICON,
            language="en-US",
            show=show,
            reload=False,
            dark=None,
            tailwind=False,
            show_welcome_message=False,
            reconnect_timeout=30.0,
            timeout_graceful_shutdown=1,
            http=_prompt_connection(),
        )
    except KeyboardInterrupt:
        pass  # some interrupts end the server, and do not come through
    except SystemExit:
        raise MechdesignError(
            f"the page could not be served at http://{HOST}:{number}/; choose another --port"
        ) from None
    print("stopped", file=sys.stderr)


def _prompt_connection() -> Any:
    """The connections of uvicorn, but that they end where the other side does not send what it has
    begun. For that uvicorn has no setting: it limits the time between requests alone.

    A header must be whole in time. A body may take longer, but not stand still.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Prompt(H11Protocol):
        parts = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.loop.call_later(_SECONDS, self.look, (None, 0))

        def data_received(self, data: bytes) -> None:
            self.parts += 1
            super().data_received(data)

        def look(self, before: Any) -> None:
            """End where all is as it was, and the other side is awaited."""
            if self.transport.is_closing() or self.transport.get_protocol() is not self:
                return  # or it has become a web socket
            state = str(self.conn.their_state)
            is_awaited = state in ("IDLE", "SEND_BODY") and not self.flow.read_paused
            now = (self.cycle, self.parts if state == "SEND_BODY" else 0)
            if is_awaited and now == before:
                self.transport.close()
            else:
                self.loop.call_later(_SECONDS, self.look, now if is_awaited else None)

    return Prompt


def check_framework() -> None:
    """Raise :class:`MissingLibraryError` when NiceGUI is not installed."""
    with brought_by("web"):
        import nicegui  # noqa: F401
