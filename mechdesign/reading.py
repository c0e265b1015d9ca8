"""What is read from outside: files and JSON, with limits that are met before any work is done.

One function reads every JSON file of the library. What it lets through is small enough to work
with, nested no deeper than people write, and says each thing once.
"""

from __future__ import annotations

import json
import re
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

from .errors import StorageError, quote

#: Largest file that is read whole, in bytes.
LARGEST_TEXT = 1 << 30
#: Lists and objects inside one another, at most. Labels are tuples of tuples, and no deeper.
DEEPEST = 64
#: Digits of an integer in a text. A weight of 2^20 bits has 315,653.
MOST_DIGITS = 400_000
#: Powers of ten that a number in a text may be away from one.
LARGEST_EXPONENT = 400

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE](?P<exponent>[+-]?[0-9]+))?")
# Digits that Python reads and writes at once.
_STEP = 3600
_TAKE_ANOTHER = "pass a saved design, or a kernel as .csv"


def regular_file(path: str | Path) -> Path:
    """The path of a regular file, or a :class:`StorageError`.

    A device or a pipe has no end or none yet, so nothing waits for one.
    """
    try:
        target = Path(path)
        found = target.stat()
    except FileNotFoundError:
        raise StorageError(
            f"file: expected an existing file, got {path}; check the path."
        ) from None
    except (OSError, ValueError, TypeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else problem
        raise StorageError(
            f"file {_shown(path)}: cannot be read ({why}); check the path."
        ) from None
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a device, a pipe or a socket"
        raise StorageError(
            f"file {path}: cannot be read (expected a regular file, got {kind}); check the path."
        )
    return target


def read_text(path: str | Path) -> str:
    """The text of a regular file in UTF-8, or a :class:`StorageError`."""
    target = regular_file(path)
    try:
        if target.stat().st_size > LARGEST_TEXT:
            raise StorageError(
                f"file {path}: expected at most {LARGEST_TEXT:,} bytes, got "
                f"{target.stat().st_size:,}; check the path."
            )
        text = target.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise StorageError(
            f"file {path}: cannot be read (expected UTF-8 text, got other bytes at place "
            f"{problem.start}); save it in UTF-8."
        ) from None
    except OSError as problem:
        raise StorageError(
            f"file {path}: cannot be read ({problem.strerror}); check the path."
        ) from None
    return text


def read_json(path: str | Path, remedy: str = _TAKE_ANOTHER) -> Any:
    """The content of a JSON file; raises :class:`StorageError` as :func:`parse_json` does."""
    return parse_json(read_text(path), f"file {path}", remedy)


def parse_json(text: str | bytes, subject: str, remedy: str = _TAKE_ANOTHER) -> Any:
    """The content of a JSON text, where every name in an object is there once.

    Raises :class:`StorageError` that names the cause: no JSON, a byte-order mark, a name twice, an
    integer too long, or lists in lists deeper than 64; ``remedy`` says what else to hand in.

    >>> parse_json('{"a": [1, 0.5]}', "file m.json")
    {'a': [1, 0.5]}
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError:
            raise _no_json(subject, "bytes that are no UTF-8", remedy) from None
    if text.startswith("\ufeff"):
        raise _no_json(
            subject,
            "a byte-order mark before it",
            "save the file as UTF-8 without a byte-order mark",
        )
    deep = f"lists or objects nested deeper than {DEEPEST}"
    try:
        content = json.loads(text, object_pairs_hook=_once, parse_int=_integer)
    except RecursionError:
        raise _no_json(subject, deep, remedy) from None
    except ValueError as problem:
        raise _no_json(subject, f"text that is no JSON ({problem})", remedy) from None
    if _is_deep(content):
        raise _no_json(subject, deep, remedy)
    return content


def _is_deep(content: Any) -> bool:
    """Whether lists and objects lie deeper in one another than they may."""
    level = [content]
    for _ in range(DEEPEST + 1):
        inner: list[Any] = []
        for part in level:
            if isinstance(part, dict):
                inner += part.values()
            elif isinstance(part, list):
                inner += part
        level = [part for part in inner if isinstance(part, (dict, list))]
        if not level:
            return False
    return True


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the name {quote(name, 40)} is there twice")
        found[name] = value
    return found


def _integer(word: str) -> int:
    if len(word) > _STEP:
        raise ValueError(f"an integer of {len(word):,} digits, which must be in quotes")
    return int(word)


def read_integer(word: Any) -> int:
    """An integer from its decimal digits; ``ValueError`` for other text, or over 400,000 digits.

    >>> read_integer("9" * 5000) == 10**5000 - 1
    True
    """
    if isinstance(word, int) and not isinstance(word, bool):
        return word
    text = word.strip() if isinstance(word, str) else ""
    if len(text) > MOST_DIGITS or not _INTEGER.fullmatch(text):
        raise ValueError(f"expected at most {MOST_DIGITS:,} digits, got {quote(word, 40)}")
    if len(text) <= _STEP:
        return int(text)
    # Python reads a limited number of digits at once; halves keep the work small.
    middle = len(text) // 2
    low = text[-middle:]
    sign = -1 if text[0] == "-" else 1
    return read_integer(text[:-middle]) * 10**middle + sign * read_integer(low)


def write_integer(value: int) -> str:
    """The decimal digits of an integer of any length, as :func:`read_integer` reads them.

    >>> write_integer(-10**5000) == "-1" + "0" * 5000
    True
    """
    if value < 0:
        return "-" + write_integer(-value)
    # A digit is more than three bits; Python writes a limited number of them at once.
    if value.bit_length() <= 3 * _STEP:
        return str(value)
    low = value.bit_length() // 7
    above, below = divmod(value, 10**low)
    return write_integer(above) + write_integer(below).rjust(low, "0")


def write_fraction(value: Fraction) -> str:
    """A rational as :func:`read_fraction` reads it, exact."""
    above = write_integer(value.numerator)
    return above if value.denominator == 1 else f"{above}/{write_integer(value.denominator)}"


def read_fraction(word: Any) -> Fraction:
    """The exact number of a text such as ``1/3``, ``0.1`` or ``1e-7``.

    Raises ``ValueError`` for other text, for too many digits, and for exponents whose number,
    written out, would fill the memory.

    >>> read_fraction("2/6"), read_fraction("1e-1")
    (Fraction(1, 3), Fraction(1, 10))
    """
    if isinstance(word, (int, float)) and not isinstance(word, bool):
        return Fraction(word)
    if not isinstance(word, str):
        raise ValueError(f"expected a number, got {quote(word, 40)}")
    above, slash, below = word.strip().partition("/")
    if slash:
        under = read_integer(below)
        if under <= 0:
            raise ValueError(f"expected a positive denominator, got {quote(below, 40)}")
        return Fraction(read_integer(above), under)
    if _INTEGER.fullmatch(above):
        return Fraction(read_integer(above))
    match = _NUMBER.fullmatch(above)
    if match is None or len(above) > _STEP:
        raise ValueError(f"expected a number, got {quote(word, 40)}")
    exponent = match["exponent"] or "0"
    if len(exponent) > 9 or abs(int(exponent)) > LARGEST_EXPONENT:
        raise ValueError(
            f"expected an exponent of at most {LARGEST_EXPONENT} in size, got {quote(word, 40)}"
        )
    return Fraction(above)


def _shown(path: Any) -> str:
    return str(path) if isinstance(path, (str, Path)) else quote(path)


def _no_json(subject: str, got: str, remedy: str) -> StorageError:
    return StorageError(f"{subject}: expected JSON, got {got}; {remedy}.")
