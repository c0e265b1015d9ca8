"""The server of a collector: on this machine unless told otherwise, until it is interrupted."""

from __future__ import annotations

import gc
import ipaddress
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import ExposureWarning, InputError, MissingLibraryError, warn
from ..files import read_text
from .gate import Limits
from .kernels import Collected

HOST, PORT = "127.0.0.1", 8780
# Connections at once, files beside them, and seconds that an idle connection is kept.
_CONNECTIONS, _FILES, _IDLE = 5000, 100, 30


def check_framework() -> None:
    """Raise :class:`MissingLibraryError` when Starlette, uvicorn or SQLAlchemy is not installed."""
    try:
        import sqlalchemy  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as problem:
        raise MissingLibraryError(str(problem.name), "serve") from None


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


def listen(host: str, port: int) -> socket.socket:
    """A socket at an address; raises :class:`InputError` where there is none to be had."""
    try:
        if not 0 <= port <= 0xFFFF:
            raise OverflowError  # the system would take the rest of a division
        (family, kind, protocol, _, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        found = socket.socket(family, kind, protocol)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
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
) -> None:
    """Collect reports until interrupted; prints the address on standard output.

    Raises
    ------
    InputError
        For an address or a database that cannot be used.
    MechdesignError
        When the extra ``serve`` is not installed.
    """
    check_framework()
    import uvicorn

    from .app import Collector
    from .store import Store

    local = is_loopback(host)
    bound = listen(host, port)
    try:
        store = Store(database)
        collector = Collector(
            kernels,
            store,
            limits=limits,
            token=token,
            reader_token=reader_token,
            origins=origins,
            is_local=local,
        )
        if not local:
            warn(
                f"the collector listens at {host}: whoever reaches it can send reports"
                + ("" if reader_token or token else ", read estimates and take all reports")
                + "; put a proxy with TLS before it, and ask for tokens (--token-file, "
                "--reader-token-file)",
                ExposureWarning,
            )
        number = bound.getsockname()[1]
        name = f"[{host}]" if ":" in host else host
        _run(uvicorn, collector.app(), bound, f"http://{name}:{number}/", store.shown)
    finally:
        bound.close()


def _run(uvicorn: Any, app: Any, bound: socket.socket, address: str, database: str) -> None:
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,  # it would hold addresses
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=10,
        limit_concurrency=allow_connections(),
        ws="none",
        lifespan="on",
    )

    class Server(uvicorn.Server):
        """Says where it is once it answers."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            print(address, flush=True)
            print(f"collects into {database}; Ctrl-C ends it", file=sys.stderr, flush=True)

    # What was imported stays: the collector of garbage need not look through it again and again.
    gc.collect()
    gc.freeze()
    with suppress(KeyboardInterrupt):
        Server(config).run(sockets=[bound])
    print("stopped; all that was acknowledged is stored", file=sys.stderr)
