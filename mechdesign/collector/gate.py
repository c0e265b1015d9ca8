"""Who may send and read, how much at once, and how often."""

from __future__ import annotations

import base64
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .incoming import RefusedError

# Addresses remembered at most; the one not heard of for longest is forgotten first.
_MOST_ADDRESSES = 10_000


@dataclass(frozen=True)
class Limits:
    """What a collector takes.

    Attributes
    ----------
    body : bytes of a request at most
    rate : reports a second from one address, on average; twice as many at once
    patience : seconds that a client may take to send a body
    waiting : reports that may wait for their commit; more are sent away until there is room
    """

    body: int = 1 << 20
    rate: float = 20_000.0
    patience: float = 10.0
    waiting: int = 100_000


class Rates:
    """Token buckets by address, in memory only: no address is written anywhere."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._most, self._clock = rate, max(2 * rate, 1.0), clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def spend(self, address: str, reports: int) -> None:
        """Take so many from an address; raises :class:`RefusedError` (429) where none are left.

        A list may take more than there is: the next request waits until that is made up for.
        """
        now = self._clock()
        left, then = self._left.pop(address, (self._most, now))
        left = min(self._most, left + (now - then) * self._rate)
        refused = left < 1
        self._left[address] = (left if refused else left - reports, now)
        while len(self._left) > _MOST_ADDRESSES:
            self._left.popitem(last=False)
        if refused:
            wait = f"{max(1, round((1 - left) / self._rate + 0.5))}"
            raise RefusedError(
                429,
                f"rate: expected at most {self._rate:g} reports a second from one address, got "
                f"more; send the same again, with its nonces, in {wait} s.",
                **{"Retry-After": wait},
            )

    def charge(self, address: str, reports: int) -> None:
        """Take so many more of a request that was let in."""
        left, then = self._left.get(address, (self._most, self._clock()))
        self._left[address] = (left - reports, then)


def check_token(headers: Mapping[str, str], token: str | None, *, browser: bool) -> None:
    """Raise :class:`RefusedError` (401) without the token: a bearer's, or a browser's password."""
    if token is None:
        return
    kind, _, given = headers.get("authorization", "").partition(" ")
    if kind.lower() == "basic":
        try:
            given = base64.b64decode(given, validate=True).decode().partition(":")[2]
        except ValueError:  # no base64, or no text in it
            given = ""
    elif kind.lower() != "bearer":
        given = ""
    if not hmac.compare_digest(given.strip().encode(), token.encode()):
        raise RefusedError(
            401,
            "token: expected the one of this collector, got another or none; send it as "
            "Authorization: Bearer TOKEN.",
            **{"WWW-Authenticate": 'Basic realm="mechdesign collector"' if browser else "Bearer"},
        )


def check_origin(headers: Mapping[str, str], allowed: frozenset[str], *, is_local: bool) -> None:
    """Raise :class:`RefusedError` (403) for requests that a foreign page has made.

    On the loopback interface that includes another ``Host``: a foreign name was made to point here.
    """
    host = headers.get("host", "").lower()
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    if is_local and name not in ("127.0.0.1", "localhost", "[::1]"):
        raise RefusedError(
            403,
            "host: expected 127.0.0.1 or localhost, got another name; the collector listens to "
            "this machine only (--host).",
        )
    origin = headers.get("origin")
    if origin is None or origin in allowed or "*" in allowed:
        return
    # Compared as text: what comes from outside need not be an address that can be taken apart.
    if origin.lower() not in (f"http://{host}", f"https://{host}"):
        raise RefusedError(
            403,
            "origin: expected a page of this collector, got another; allow it with --allow-origin.",
        )
