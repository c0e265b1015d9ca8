"""What each person has given away over time: their draws, in a table beside the ledger.

Under one key a report is a function of person, column, kernel and value. A value that comes again
gives the report again, and costs nothing; a new value, kernel, column or key is a new draw, and
costs the level of its kernel. Of two sequences of values of a person that are equal and change at
the same times, the reports then have chances that differ by a factor of at most e to the sum of
the levels of the draws. When a value changed is not covered: two different reports under one key
show that it did, and equal ones make it likely that it did not [Erlingsson2014].

Persons are hashes under the key of the ledger. Draws are hashes under the secret key of their
release, so that who has the ledger and its key, but not that one, can try no values.
"""

from __future__ import annotations

import math
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, StorageError, quote
from ..privacy.differential import LDP
from ..privacy.notion import parse_notion
from ..theory._composition import compose
from .codes import ABSENT
from .identities import Identity

_UNITS = 10**12  # of a nat: levels are added up exactly, as whole numbers of these
_UNBOUNDED = 1000 * _UNITS  # a level so large counts as infinite, and many of them can be added
_PATIENCE = 60  # seconds to wait for another process

_TABLES = """
CREATE TABLE releases (number INTEGER PRIMARY KEY, people TEXT, time TEXT, secret TEXT,
    kernel TEXT, level INTEGER);
CREATE TABLE draws (people TEXT, person BLOB, draw BLOB, release INTEGER,
    PRIMARY KEY (people, person, draw)) WITHOUT ROWID;
CREATE TABLE states (mark TEXT PRIMARY KEY, draws INTEGER);
"""


class PersonDraws:
    """Collects which draws a release needs of whom.

    Parameters
    ----------
    key : secret bytes of the ledger
    identity : column and key of the persons
    column, kernel : name of the column of secrets, fingerprint of the kernel
    """

    def __init__(self, key: bytes, identity: Identity, column: str, kernel: str) -> None:
        self._key = key
        context = f"draws of persons {len(column)} {column} {kernel}"
        self._draw = identity.key.hash(16, context.encode("utf-8", "surrogatepass"))
        self.found: dict[bytes, bytes] = {}

    def add(self, identities: Sequence[bytes], codes: NDArray[np.int64]) -> None:
        """Take in rows by their encoded identities and the positions of their symbols."""
        for identity, code in zip(identities, codes.tolist(), strict=True):
            if code != ABSENT:
                draw = self._draw.copy()
                draw.update(code.to_bytes(8, "little", signed=True) + identity)
                # Under one key 7 and "7" draw apart, so both draws are counted.
                self.found[draw.digest()] = whom(self._key, identity)


def whom(key: bytes, identity: bytes) -> bytes:
    """The hash of a person, under the key of the ledger.

    The integer 7 and the text ``"7"`` are one person here, as a CSV file and a Parquet file may
    hold them; their levels add up.
    """
    plain = identity[1:] if identity[:1] in (b"i", b"s") else b"\0" + identity
    found = blake2b(key=key, digest_size=16, person=b"mechdesign-whom")
    found.update(plain)
    return found.digest()


def read_budget(budget: Any) -> int | None:
    """A budget in units of 10⁻¹² nats; raises :class:`InputError` for what is none."""
    if budget is None:
        return None
    notion = parse_notion(budget) if isinstance(budget, str) and ":" in budget else budget
    level: Any = notion.epsilon if isinstance(notion, LDP) else notion
    try:
        level = math.nan if isinstance(level, bool) else float(level)
    except (TypeError, ValueError):
        level = math.nan
    if not 0 <= level < math.inf:
        raise InputError(
            "budget",
            expected="a level of LDP in nats, not negative and finite, or md.LDP(level)",
            got=quote(budget),
            remedy="say what all reports of one person may add up to; levels of other notions "
            "do not add up",
        )
    return units(level)


def units(level: float) -> int:
    """A level in units of 10⁻¹² nats, rounded up."""
    if not level < _UNBOUNDED / _UNITS:
        return _UNBOUNDED
    return int((Decimal(repr(float(level))) * _UNITS).to_integral_value(ROUND_CEILING))


def nats(total: int) -> float:
    """Units as nats."""
    return math.inf if total >= _UNBOUNDED else total / _UNITS


def level_of(designs: Sequence[Any]) -> int:
    """The level of one draw of each of these together, in units, rounded up."""
    found = (compose(one, notions=[LDP(math.inf)]).found[0].levels[0] for one in designs)
    return min(_UNBOUNDED, sum(map(units, found)))


@dataclass(frozen=True)
class PersonAccount:
    """What one person has given away.

    Attributes
    ----------
    level : of LDP, in nats, rounded up: of their values, given when these changed
    entries : for each draw the time, column, fingerprint of the kernel and level of its release
    """

    level: float
    entries: tuple[dict[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values; an infinite level is ``"inf"``."""
        return {"level": _told(self.level), "draws": list(self.entries)}

    def __str__(self) -> str:
        number = len(self.entries)
        return f"{number} draw{'s' * (number != 1)}: LDP({self.level:.6g}) at most"


def _told(level: float) -> float | str:
    return "inf" if level == math.inf else level


class Persons:
    """The table of draws; whoever uses it holds the lock of its ledger."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def check(self, mark: str | None) -> None:
        """Raise :class:`StorageError` for a table that is not as far as the ledger says."""
        if mark is None:
            return
        if self.path.exists():
            with self._opened() as base:
                if base.execute("SELECT 1 FROM states WHERE mark = ?", [mark]).fetchone():
                    return
        raise StorageError(
            f"ledger: expected in {self.path.name} what persons gave away so far, got an older "
            "copy or nothing, so nothing was released; take the last one from a copy."
        )

    def record(
        self, found: PersonDraws, people: str, about: dict[str, str], level: int, budget: int | None
    ) -> dict[str, Any]:
        """Write the draws of a release; returns what the ledger says of it.

        Raises :class:`DataError` where the budget of a person does not allow theirs; nothing is
        written then.
        """
        with self._opened() as base:
            base.execute("CREATE TEMP TABLE asked (draw BLOB PRIMARY KEY, person BLOB)")
            base.executemany("INSERT INTO asked VALUES (?, ?)", found.found.items())
            base.execute("BEGIN IMMEDIATE")
            base.execute(
                "CREATE TEMP TABLE fresh AS SELECT person, draw FROM asked WHERE NOT EXISTS "
                "(SELECT 1 FROM draws WHERE people = ? AND person = asked.person "
                "AND draw = asked.draw)",
                [people],
            )
            (persons, drawn) = base.execute(
                "SELECT count(DISTINCT person), (SELECT count(*) FROM fresh) FROM asked"
            ).fetchone()
            totals = (
                "SELECT count(*) * ? + (SELECT coalesce(sum(level), 0) FROM draws JOIN releases "
                "ON number = release WHERE draws.people = ? AND draws.person = fresh.person) "
                "AS total FROM fresh GROUP BY person"
            )
            over, most = base.execute(
                f"SELECT coalesce(sum(total > ?), 0), max(total) FROM ({totals})",
                [_UNBOUNDED if budget is None else budget, level, people],
            ).fetchone()
            if budget is not None and over:
                base.rollback()
                raise DataError(
                    "budget of persons",
                    expected=f"at most {nats(budget):.6g} nats of each person",
                    got=f"{over} of {persons} persons with more, up to {nats(most):.6g}",
                    remedy="keep their earlier reports and leave their rows out, or keep the key, "
                    "column and kernel, under which values that are as before cost nothing",
                )
            number = base.execute(
                "INSERT INTO releases (people, time, secret, kernel, level) VALUES (?, ?, ?, ?, ?)",
                [people, about["time"], about["column"], about["kernel"], level],
            ).lastrowid
            base.execute("INSERT INTO draws SELECT ?, person, draw, ? FROM fresh", [people, number])
            mark = secrets.token_hex(16)
            base.execute("INSERT INTO states VALUES (?, ?)", [mark, drawn])
            base.commit()
        told = {"number": persons, "draws": drawn, "mark": mark}
        return told if budget is None else {**told, "budget": nats(budget)}

    def account(self, people: str, person: bytes) -> PersonAccount:
        """What a person has given away."""
        if not self.path.exists():
            return PersonAccount(0.0, ())
        with self._opened() as base:
            rows = base.execute(
                "SELECT time, secret, kernel, level FROM draws JOIN releases ON number = release "
                "WHERE draws.people = ? AND person = ? ORDER BY number",
                [people, person],
            ).fetchall()
        entries = tuple(
            {"time": time, "column": column, "kernel": kernel, "level": _told(nats(level))}
            for time, column, kernel, level in rows
        )
        return PersonAccount(nats(sum(row[3] for row in rows)), entries)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            if not self.path.exists():
                os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
            base = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
            try:
                base.execute("PRAGMA synchronous = FULL")
                base.execute("PRAGMA temp_store = MEMORY")
                if not base.execute("SELECT 1 FROM sqlite_master").fetchone():
                    base.executescript(f"BEGIN IMMEDIATE; {_TABLES} COMMIT;")
                yield base
            finally:
                base.close()
        except sqlite3.Error as problem:
            raise StorageError(
                f"ledger: what persons gave away cannot be kept in {self.path} ({problem}), so "
                "nothing was released; take the file from a copy."
            ) from None
