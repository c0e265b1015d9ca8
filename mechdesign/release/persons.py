"""What each person has given away over time: their draws, in a table beside the ledger.

Under one key a report is a function of person, column, kernel, value and round. A value that comes
again gives the report again, and costs nothing; a new value, kernel, column, key or round is a new
draw. So is every row where there is no key, or where rows have identities of their own.

Draws about one value of a person compose as reports about one secret do: exactly, where their
kernels are small enough. Draws about different values (of other columns, too) may be about secrets
that depend on each other in any way: levels of LDP add up then. Those of PML do not; what bounds
them is the level of one value plus the leakage capacities of the others, which are their levels of
LDP ([SaeidianPMC] Lemma 1.7).

All of this compares sequences of values of a person that are equal, and change, at the same times.
When a value changed is not covered: two different reports under one key show that it did, and equal
ones make it likely that it did not [Erlingsson2014].

Persons are hashes under the key of the ledger. Draws are hashes under the secret key of their
release, so that who has the ledger and its key, but not that one, can try no values.
"""

from __future__ import annotations

import math
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, RepeatWarning, StorageError, quote, warn
from ..labels import counted
from ..privacy.differential import LDP
from ..privacy.notion import is_notion_text, parse_notion, read_level
from ..privacy.pointwise import PML
from ..theory._composition import compose
from .codes import ABSENT
from .identities import Identity

_UNITS = 10**12  # of a nat: levels are added up exactly, as whole numbers of these
UNBOUNDED = 1000 * _UNITS  # a level so large counts as infinite, and many of them can be added
_PATIENCE = 60  # seconds to wait for another process
_DIGEST, _SEAL = 16, 8  # bytes
_VERSION = 1

_TABLES = f"""
CREATE TABLE releases (number INTEGER PRIMARY KEY, people TEXT, time TEXT, secret TEXT,
    kernel TEXT, level INTEGER, round TEXT);
CREATE TABLE draws (people TEXT, person BLOB, draw BLOB, release INTEGER, value BLOB, sealed BLOB,
    times INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (people, person, draw)) WITHOUT ROWID;
CREATE TABLE states (mark TEXT PRIMARY KEY, draws INTEGER);
PRAGMA user_version = {_VERSION};
"""
# Draws of the first form stand for themselves, and give no earlier report.
_NEWER = f"""
ALTER TABLE releases ADD COLUMN round TEXT;
ALTER TABLE draws ADD COLUMN value BLOB;
ALTER TABLE draws ADD COLUMN sealed BLOB;
ALTER TABLE draws ADD COLUMN times INTEGER NOT NULL DEFAULT 1;
PRAGMA user_version = {_VERSION};
"""

#: A draw as (column, fingerprint of the kernel, level in units).
Draw = tuple[str, str, int]
#: The level and the leakage capacity of draws about one value, in units.
Judge = Callable[[Sequence[Draw]], tuple[int, int]]


# What a release asks for


class PersonDraws:
    """Collects which draws a release needs of whom.

    Parameters
    ----------
    key : secret bytes of the ledger
    identity : column and key of the identities that reports are a function of; without any, every
        row is a draw of its own
    column, kernel : name of the column of secrets, fingerprint of the kernel
    inputs : what positions stand for, where draws of other kernels with the same are about the same

    Attributes
    ----------
    recalled : for encoded identities that get an earlier report, the symbol and round of it
    """

    def __init__(
        self,
        key: bytes,
        identity: Identity | None,
        column: str,
        kernel: str,
        inputs: tuple[Any, ...] | None = None,
    ) -> None:
        self._key, self._identity = key, identity
        self._column, self._kernel = f"{len(column)} {column}", kernel
        self.recalled: dict[bytes, tuple[int, str | None]] = {}
        self._found: dict[bytes, bytes] = {}
        self._identities: dict[bytes, bytes] = {}
        self._rows: dict[bytes, int] = {}
        if identity is not None:
            self._draw = self._draw_of(identity.round)
            known = kernel if inputs is None else repr(inputs)
            self._value = self._hash(f"values of persons {self._column} {known}")
            self._seal = self._hash(f"seals of draws {self._column} {kernel}", _SEAL)

    @property
    def is_remembered(self) -> bool:
        """Whether the same value of the same person is the same draw."""
        return self._identity is not None and self._identity.by_person

    def add(
        self,
        identities: Sequence[bytes] | None,
        codes: NDArray[np.int64],
        persons: Sequence[bytes | None] | None = None,
    ) -> None:
        """Take in rows by their encoded identities and the positions of their symbols.

        Where identities are those of rows, or there are none, persons say whom they are about; rows
        about nobody are on nobody's account.
        """
        if self.is_remembered:
            assert identities is not None
            for identity, code in zip(identities, codes.tolist(), strict=True):
                if code != ABSENT:
                    draw = self._digest(self._draw, code, identity)
                    if draw not in self._found:
                        value = self._digest(self._value, code, identity)
                        sealed = self._sealed(draw, code)
                        self._found[draw] = whom(self._key, identity) + value + sealed
                        self._identities[draw] = identity
            return
        assert persons is not None
        for i, (person, code) in enumerate(zip(persons, codes.tolist(), strict=True)):
            if code == ABSENT or person is None:
                continue
            who = whom(self._key, person)
            if identities is None:
                self._rows[who] = self._rows.get(who, 0) + 1
            else:
                self._found[self._digest(self._draw, code, identities[i])] = who

    def rows(self) -> Iterator[tuple[bytes, bytes, bytes | None, bytes | None, int]]:
        """Draws with their person, value and sealed symbol, and how many of them there are."""
        for draw, packed in self._found.items():
            who, value, sealed = packed[:_DIGEST], packed[_DIGEST:-_SEAL], packed[-_SEAL:]
            if self.is_remembered:
                yield draw, who, value, sealed, 1
            else:
                yield draw, packed, None, None, 1
        for who, number in self._rows.items():
            yield secrets.token_bytes(_DIGEST), who, None, None, number

    def recall(self, draw: bytes, earlier: Sequence[tuple[bytes, bytes, str | None]]) -> bool:
        """Let a person have an earlier report, of the same value if there is one.

        Parameters
        ----------
        draw : what was asked
        earlier : draws of that person under this column and kernel with their sealed symbols and
            rounds, the last first

        Returns
        -------
        Whether there was one under this key.
        """
        identity = self._identities[draw]
        own = self._opened(draw, self._found[draw][-_SEAL:])
        known = []
        for other, sealed, of in earlier:
            code = self._opened(other, sealed)
            # Draws under other keys do not open.
            if self._digest(self._draw_of(of), code, identity) == other:
                known.append((code, of))
        if not known:
            return False
        self.recalled[identity] = next((one for one in known if one[0] == own), known[0])
        return True

    def changed(self) -> int:
        """How many earlier reports are of another value."""
        return sum(
            self._opened(draw, self._found[draw][-_SEAL:]) != self.recalled[identity][0]
            for draw, identity in self._identities.items()
            if identity in self.recalled
        )

    def _hash(self, context: str, size: int = _DIGEST) -> blake2b:
        assert self._identity is not None
        return self._identity.key.hash(size, context.encode("utf-8", "surrogatepass"))

    def _draw_of(self, of: str | None) -> blake2b:
        behind = "" if of is None else f" {of}"
        return self._hash(f"draws of persons {self._column} {self._kernel}{behind}")

    @staticmethod
    def _digest(start: blake2b, code: int, identity: bytes) -> bytes:
        found = start.copy()
        found.update(code.to_bytes(8, "little", signed=True) + identity)
        return found.digest()

    def _sealed(self, draw: bytes, code: int) -> bytes:
        """The symbol under a pad that belongs to this draw alone."""
        pad = self._seal.copy()
        pad.update(draw)
        hidden = int.from_bytes(pad.digest(), "little") ^ code
        return hidden.to_bytes(_SEAL, "little")

    def _opened(self, draw: bytes, sealed: bytes) -> int:
        pad = self._seal.copy()
        pad.update(draw)
        found = int.from_bytes(pad.digest(), "little") ^ int.from_bytes(sealed, "little")
        return found & (1 << 62) - 1


def recalled(found: PersonDraws | None) -> dict[bytes, tuple[int, str | None]]:
    """Who gets an earlier report in a release, and which."""
    return {} if found is None else found.recalled


def whom(key: bytes, identity: bytes) -> bytes:
    """The hash of a person, under the key of the ledger."""
    return blake2b(identity, key=key, digest_size=_DIGEST, person=b"mechdesign-whom").digest()


# Levels and budgets


@dataclass(frozen=True)
class Budget:
    """What all draws of one person may come to.

    Attributes
    ----------
    notion : LDP or PML with its level
    on_spent : "error" for a refusal, or "earlier" for the earlier report of whom it is spent for
    """

    notion: LDP | PML
    on_spent: str = "error"

    @property
    def level(self) -> int:
        """In units."""
        return units(self.notion.epsilon)


def read_budget(budget: Any, on_spent: str = "error") -> Budget | None:
    """What a ``budget=`` argument means; raises :class:`InputError` for what is none."""
    if on_spent not in ("error", "earlier"):
        raise InputError(
            "what happens where a budget is spent",
            expected="'error' or 'earlier'",
            got=quote(on_spent),
            remedy="choose 'earlier' (--spent earlier) for the reports of an earlier round",
        )
    if budget is None:
        if on_spent != "error":
            raise InputError(
                "what happens where a budget is spent",
                expected="a budget with it",
                got="none",
                remedy="pass budget= (--budget)",
            )
        return None
    notion = parse_notion(budget) if isinstance(budget, str) and is_notion_text(budget) else budget
    level: Any = notion.epsilon if isinstance(notion, (LDP, PML)) else notion
    try:
        level = read_level(level) if isinstance(level, str) else level
        level = math.nan if isinstance(level, bool) else float(level)
    except (TypeError, ValueError):
        level = math.nan
    if not 0 <= level < nats_of(UNBOUNDED):
        raise InputError(
            "budget",
            expected="a level of LDP in nats from 0 to below 1000, md.LDP(level) or md.PML(level)",
            got=quote(budget),
            remedy="say what all reports of one person may come to",
        )
    return Budget(notion if isinstance(notion, (LDP, PML)) else LDP(level), on_spent)


def units(level: float) -> int:
    """A level in units of 10⁻¹² nats, rounded up."""
    if not level < nats_of(UNBOUNDED):
        return UNBOUNDED
    return int((Decimal(repr(float(level))) * _UNITS).to_integral_value(ROUND_CEILING))


def nats_of(total: int) -> float:
    """Units as nats."""
    return total / _UNITS


def nats(total: int) -> float:
    """Units as nats, infinite where they are so many."""
    return math.inf if total >= UNBOUNDED else nats_of(total)


def level_of(designs: Sequence[Any]) -> int:
    """The level of one draw of each of these together, in units, rounded up."""
    found = (compose(one, notions=[LDP(math.inf)]).found[0].levels[0] for one in designs)
    return min(UNBOUNDED, sum(map(units, found)))


def level_of_draws(kernels: Sequence[Any], notion: LDP | PML, prior: Any) -> int:
    """The level of one draw of each kernel about one value, in units, rounded up."""
    return units(compose(*kernels, notions=[notion], prior=prior).found[0].levels[0])


# Accounts


@dataclass(frozen=True)
class PersonAccount:
    """What one person has given away.

    Attributes
    ----------
    level : of LDP, in nats, rounded up: of their values, given when these changed
    entries : for each draw the time, column, fingerprint of the kernel and level of its release,
        its round where it has one, and how many draws there are where there are several
    """

    level: float
    entries: tuple[dict[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values; an infinite level is ``"inf"``."""
        return {"level": _told(self.level), "draws": list(self.entries)}

    def __str__(self) -> str:
        number = sum(entry.get("times", 1) for entry in self.entries)
        return f"{number} draw{'s' * (number != 1)}: LDP({self.level:.6g}) at most"


def _told(level: float) -> float | str:
    return "inf" if level == math.inf else level


@dataclass(frozen=True)
class Charge:
    """What a release takes of persons.

    Attributes
    ----------
    persons : how many it is about
    fresh : how many of their reports are new
    before : how many persons with a new one had given something away before
    most : the largest level of a person with a new one, in units
    earlier, changed : how many get an earlier report, and how many of these of another value
    """

    persons: int
    fresh: int
    before: int
    most: int
    earlier: int = 0
    changed: int = 0


def warn_of_charge(charge: Charge, budget: Budget | None, column: str, name: str) -> None:
    """Say who gets earlier reports, and, without a budget, who gives away more than before."""
    if charge.earlier:
        changed = ""
        if charge.changed:
            changed = (
                f", {charge.changed} of them of a value that is no longer theirs, so that "
                "estimates lag behind"
            )
        assert budget is not None
        warn(
            f"column {column!r} of {name}: {budget.notion} is spent for {charge.earlier} of "
            f"{counted(charge.persons, 'person')}, who get an earlier report again{changed}",
            RepeatWarning,
        )
    if budget is None and charge.before:
        have = "persons have" if charge.before > 1 else "person has"
        warn(
            f"column {column!r} of {name}: {charge.before} {have} given reports before, and with "
            f"their new ones gave away up to LDP({nats(charge.most):.6g}) by their accounts; keep "
            "the earlier reports instead, or set a budget (--budget), unless that much leakage is "
            "allowed",
            RepeatWarning,
        )


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

    @contextmanager
    def charged(
        self,
        found: PersonDraws,
        people: str,
        about: dict[str, Any],
        level: int,
        judge: Judge,
        budget: Budget | None,
    ) -> Iterator[tuple[Charge, str]]:
        """The charge of a release and the mark that the ledger keeps of it.

        Draws are written when the body has ended, and not where it raises. Raises
        :class:`DataError` where the budget of a person does not allow theirs.
        """
        with self._opened() as base:
            persons = _ask(base, found)
            base.execute("BEGIN IMMEDIATE")
            number = base.execute(
                "INSERT INTO releases (people, time, secret, kernel, level, round) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                [people, *(about[n] for n in ("time", "column", "kernel")), level, about["round"]],
            ).lastrowid
            base.execute(
                "INSERT OR IGNORE INTO draws SELECT ?, person, draw, ?, value, sealed, times "
                "FROM asked",
                [people, number],
            )
            base.execute(
                "CREATE TEMP TABLE mine AS SELECT DISTINCT person FROM asked "
                "JOIN draws USING (person, draw) WHERE people = ? AND release = ?",
                [people, number],
            )
            _add_up(base, people, judge)
            if budget is not None:
                self._keep_to(base, budget, number, people, persons)
                _recall(base, found, people, about)
            (before,) = base.execute(
                "SELECT count(*) FROM mine WHERE EXISTS (SELECT 1 FROM draws WHERE people = ? "
                "AND person = mine.person AND release <> ?)",
                [people, number],
            ).fetchone()
            (drawn,) = base.execute(
                "SELECT coalesce(sum(asked.times), 0) FROM asked JOIN draws USING (person, draw) "
                "WHERE people = ? AND release = ?",
                [people, number],
            ).fetchone()
            (most,) = base.execute("SELECT coalesce(max(total), 0) FROM totals").fetchone()
            mark = secrets.token_hex(16)
            base.execute("INSERT INTO states VALUES (?, ?)", [mark, drawn])
            earlier = len(found.recalled)
            yield (
                Charge(persons, drawn, before, int(most), earlier, found.changed()),
                mark,
            )
            base.execute("COMMIT")

    @staticmethod
    def _keep_to(
        base: sqlite3.Connection, budget: Budget, number: int | None, people: str, persons: int
    ) -> None:
        """Refuse a release that takes anybody beyond, or leave out whom it would."""
        over, most = base.execute(
            "SELECT count(*), max(total) FROM totals WHERE total > ?", [budget.level]
        ).fetchone()
        if over and budget.on_spent == "error":
            raise DataError(
                "budget of persons",
                expected=f"{budget.notion} at most of each person",
                got=f"{over} of {counted(persons, 'person')} with more, up to "
                f"{nats(int(most)):.6g} nats",
                remedy="keep their earlier reports and leave their rows out, let them have these "
                "again (--spent earlier), or keep the key, column, kernel and round, under which "
                "values that are as before cost nothing",
            )
        if over:
            beyond = "(SELECT person FROM totals WHERE total > ?)"
            base.execute(
                f"DELETE FROM draws WHERE people = ? AND release = ? AND person IN {beyond}",
                [people, number, budget.level],
            )
            base.execute(f"DELETE FROM mine WHERE person IN {beyond}", [budget.level])
            base.execute("DELETE FROM totals WHERE total > ?", [budget.level])

    def recall(self, found: PersonDraws, people: str, about: dict[str, Any]) -> None:
        """Find the earlier reports for a release whose draws are written already."""
        with self._opened() as base:
            _ask(base, found)
            _recall(base, found, people, about)

    def account(self, people: str, person: bytes, judge: Judge) -> PersonAccount:
        """What a person has given away."""
        if not self.path.exists():
            return PersonAccount(0.0, ())
        with self._opened() as base:
            rows = base.execute(
                "SELECT time, secret, kernel, level, round, times FROM draws "
                "JOIN releases ON number = release "
                "WHERE draws.people = ? AND person = ? ORDER BY number",
                [people, person],
            ).fetchall()
            base.execute("CREATE TEMP TABLE mine AS SELECT ? AS person", [person])
            _add_up(base, people, judge)
            (total,) = base.execute("SELECT coalesce(max(total), 0) FROM totals").fetchone()
        entries = tuple(
            {
                "time": time,
                "column": column,
                "kernel": kernel,
                "level": _told(nats(level)),
                **({} if of is None else {"round": of}),
                **({} if times == 1 else {"times": times}),
            }
            for time, column, kernel, level, of, times in rows
        )
        return PersonAccount(nats(int(total)), entries)

    def history(self, people: str, person: bytes) -> list[tuple[str, str, bytes | None, int]]:
        """Column, kernel, hash of the value where it is known, and number, of each draw."""
        if not self.path.exists():
            return []
        with self._opened() as base:
            return base.execute(
                "SELECT secret, kernel, value, times FROM draws JOIN releases ON number = release "
                "WHERE draws.people = ? AND person = ? ORDER BY number",
                [people, person],
            ).fetchall()

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
                (version,) = base.execute("PRAGMA user_version").fetchone()
                if version < _VERSION:
                    base.executescript(f"BEGIN IMMEDIATE; {_NEWER} COMMIT;")
                yield base
            finally:
                # Takes back what is not committed.
                base.close()
        except sqlite3.Error as problem:
            raise StorageError(
                f"ledger: what persons gave away cannot be kept in {self.path} ({problem}), so "
                "nothing was released; take the file from a copy."
            ) from None


def _ask(base: sqlite3.Connection, found: PersonDraws) -> int:
    """Make the table of the draws that are asked; returns the number of persons."""
    base.execute(
        "CREATE TEMP TABLE asked (draw BLOB PRIMARY KEY, person BLOB, value BLOB, sealed BLOB, "
        "times INTEGER)"
    )
    base.executemany("INSERT INTO asked VALUES (?, ?, ?, ?, ?)", found.rows())
    return int(base.execute("SELECT count(DISTINCT person) FROM asked").fetchone()[0])


def _add_up(base: sqlite3.Connection, people: str, judge: Judge) -> None:
    """Make the table of what each person in ``mine`` has given away.

    What kernels drew about one value is judged once for all who have the same.
    """
    base.execute(
        "CREATE TEMP TABLE kernels AS SELECT number, (SELECT min(number) FROM releases AS other "
        "WHERE other.secret = releases.secret AND other.kernel = releases.kernel) AS kernel "
        "FROM releases WHERE people = ?",
        [people],
    )
    base.execute("CREATE INDEX temp.by_number ON kernels (number)")
    base.execute(
        "CREATE TEMP TABLE kinds AS SELECT person, max(times) AS times, "
        "group_concat(kernels.kernel) AS kind FROM mine JOIN draws USING (person) "
        "JOIN kernels ON number = release WHERE people = ? "
        "GROUP BY person, coalesce(value, draw)",
        [people],
    )
    base.execute("CREATE TEMP TABLE judged (kind TEXT PRIMARY KEY, level INTEGER, size INTEGER)")
    for (kind,) in base.execute("SELECT DISTINCT kind FROM kinds").fetchall():
        parts = [
            base.execute(
                "SELECT secret, kernel, level FROM releases WHERE number = ?", [number]
            ).fetchone()
            for number in kind.split(",")
        ]
        base.execute("INSERT INTO judged VALUES (?, ?, ?)", [kind, *judge(parts)])
    # One value with its level, and all others with their capacities. In floats, which are exact
    # for all sums that a budget may have.
    base.execute(
        "CREATE TEMP TABLE totals AS SELECT person, "
        "total(times * size) - max(size - level) AS total "
        "FROM kinds JOIN judged USING (kind) GROUP BY person"
    )


def _recall(
    base: sqlite3.Connection, found: PersonDraws, people: str, about: dict[str, Any]
) -> None:
    """Find earlier reports for what is asked and not written; an error where there are none."""
    missing = base.execute(
        "SELECT draw, person FROM asked WHERE NOT EXISTS (SELECT 1 FROM draws WHERE people = ? "
        "AND person = asked.person AND draw = asked.draw)",
        [people],
    ).fetchall()
    none = 0
    for draw, person in missing:
        earlier = base.execute(
            "SELECT draw, sealed, round FROM draws JOIN releases ON number = release "
            "WHERE draws.people = ? AND person = ? AND secret = ? AND kernel = ? "
            "AND sealed IS NOT NULL ORDER BY number DESC",
            [people, person, about["column"], about["kernel"]],
        ).fetchall()
        none += not found.recall(draw, earlier)
    if none:
        raise DataError(
            "budget of persons",
            expected="an earlier report of each person whose budget is spent",
            got=f"{none} without one under this key, column and kernel",
            remedy="leave their rows out, or use the key and kernel of the earlier reports",
        )
