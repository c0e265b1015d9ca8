"""From the body of a request to rows of the store: what is a report, and what is refused.

No message quotes what came: whoever sends the secret by mistake must not find it in a log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..errors import StorageError
from ..files import parse_json
from ..published import shown_fingerprint
from .kernels import Collected

FIELDS = ("kernel", "report", "nonce")
_NONCE = re.compile(r"[0-9a-fA-F]{32}")
_NEVER = "secrets are never to be sent: draw the report on the device and send it alone"


class Row(NamedTuple):
    """One report: its nonce, its kernel among those collected, and the position of its output."""

    nonce: bytes
    kernel: int
    code: int


class RefusedError(Exception):
    """A request that is not done, with the status of its answer."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers


def read_reports(body: bytes, known: Mapping[str, tuple[int, Collected]]) -> tuple[list[Row], bool]:
    """The reports of a body, and whether it was a list of them.

    Parameters
    ----------
    body : JSON, one object {"kernel", "report", "nonce"} or a list of them
    known : for each digest that reports may name the number of its kernel, and the kernel

    Raises
    ------
    RefusedError
        For anything else. One wrong report refuses the whole list: nothing of it is counted.
    """
    if b"NaN" in body or b"Infinity" in body:
        _refuse_constants(body)
    try:
        content = parse_json(body, "body")
    except StorageError:
        raise RefusedError(
            400,
            "body: expected JSON in UTF-8 with each name once, got other bytes; send one "
            'object {"kernel", "report", "nonce"} or a list of them.',
        ) from None
    is_list = isinstance(content, list)
    parts = content if is_list else [content]
    if not parts:
        raise RefusedError(422, "body: expected at least one report, got an empty list; send some.")
    return [_row(part, known, i + 1, len(parts)) for i, part in enumerate(parts)], is_list


def _refuse_constants(body: bytes) -> None:
    """Refuse NaN and Infinity, which are no JSON although Python reads them."""

    def refuse(_: str) -> None:
        raise RefusedError(
            400,
            "body: expected JSON, got NaN or Infinity, which JSON has not; send an output of "
            "the kernel.",
        )

    try:
        json.loads(body, parse_constant=refuse)
    except (ValueError, RecursionError):
        return  # said by whoever reads it in earnest


def _row(part: Any, known: Mapping[str, tuple[int, Collected]], place: int, count: int) -> Row:
    name = "report" if count == 1 else f"report {place} of {count}"
    if not isinstance(part, dict):
        raise _wrong(name, 'an object {"kernel", "report", "nonce"}', _kind(part), "send such")
    unknown = [field for field in part if field not in FIELDS]
    if unknown:
        got = "a field of another name" if len(unknown) == 1 else f"{len(unknown)} other fields"
        if "value" in part:
            got = "a field 'value'"
        raise _wrong(name, "the fields kernel, report and nonce alone", got, _NEVER)
    absent = [field for field in FIELDS if field not in part]
    if absent:
        raise _wrong(name, "the fields kernel, report and nonce", f"no {absent[0]}", "add it")
    kernel, nonce = part["kernel"], part["nonce"]
    found = known.get(kernel) if isinstance(kernel, str) else None
    if found is None:
        raise _wrong(
            name,
            f"a kernel that is collected here ({_listed(known)})",
            "another",
            "draw it from the design of this collection (GET /kernels)",
        )
    if not isinstance(nonce, str) or not _NONCE.fullmatch(nonce):
        raise _wrong(name, "a nonce of 32 hexadecimal digits", "another", "draw 16 random bytes")
    number, collected = found
    code = collected.code(part["report"])
    if code is None:
        raise _wrong(
            name,
            f"an output of kernel {shown_fingerprint(collected.digest)}",
            f"{_kind(part['report'])} that is none",
            f"send what the device drew; {_NEVER}",
        )
    return Row(bytes.fromhex(nonce), number, code)


def _listed(known: Iterable[str]) -> str:
    names = [shown_fingerprint(digest) for digest in known]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _kind(value: Any) -> str:
    """The type of a JSON value, in the words of JSON."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value"}
    return names.get(type(value), "null" if value is None else "a number")


def _wrong(name: str, expected: str, got: str, remedy: str) -> RefusedError:
    return RefusedError(422, f"{name}: expected {expected}, got {got}; {remedy}.")
