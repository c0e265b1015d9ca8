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

Persons are hashes under the key of the ledger. Values are hashes of person and symbol under the
secret key of their release, so that who has the ledger and its key, but not that one, can try none.
For each value the table says which releases drew about it, and for each person a running total, so
that what a release costs does not depend on how many there were.
"""

from __future__ import annotations

import math
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal
from hashlib import blake2b, shake_256
from itertools import repeat
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
from .identities import Identity, hashed

_UNITS = 10**12  # of a nat: levels are added up exactly, as whole numbers of these
_UNBOUNDED_NATS = 1000
UNBOUNDED = (
    _UNBOUNDED_NATS * _UNITS
)  # a level so large counts as infinite, and many of them can be added
_PATIENCE = 60  # seconds to wait for another process
_MOST = 1 << 62  # units that a total is kept below: many times what counts as infinite
_DIGEST = 16  # bytes
_CHUNK = 1 << 14  # draws that are handed to the table at once
_CACHE = 1 << 14  # kilobytes of the table that are held in memory
_VERSION = 2

# Of kinds the first is that of values about which nothing was drawn; others name their releases.
_TABLES = f"""
CREATE TABLE releases (number INTEGER PRIMARY KEY, secret TEXT, kernel TEXT, level INTEGER,
    round TEXT, time TEXT, key TEXT, seed BLOB, mark TEXT);
CREATE TABLE kinds (number INTEGER PRIMARY KEY, releases TEXT, size INTEGER);
INSERT INTO kinds VALUES (0, '', 0);
CREATE TABLE draws (person BLOB, value BLOB, kind INTEGER, times INTEGER, place INTEGER,
    sealed BLOB, PRIMARY KEY (person, value)) WITHOUT ROWID;
CREATE TABLE accounts (person BLOB PRIMARY KEY, total INTEGER) WITHOUT ROWID;
PRAGMA user_version = {_VERSION};
"""
# What a release asks for, which kinds become others by it and what that adds, and whom it takes
# anything. One value of a person counts with its level in place of its capacity.
_ASKED = f"""
CREATE TEMP TABLE asked (person BLOB, value BLOB, times INTEGER, place INTEGER, sealed BLOB,
    PRIMARY KEY (person, value)) WITHOUT ROWID;
CREATE TEMP TABLE steps (kind INTEGER PRIMARY KEY, next INTEGER, more INTEGER);
CREATE TEMP TABLE fresh (person BLOB PRIMARY KEY, more INTEGER, number INTEGER) WITHOUT ROWID;
CREATE TEMP TABLE spares (person BLOB PRIMARY KEY, spare INTEGER) WITHOUT ROWID;
CREATE TEMP VIEW changes AS SELECT asked.*, steps.* FROM asked LEFT JOIN draws
    USING (person, value) JOIN steps ON steps.kind = coalesce(draws.kind, 0);
CREATE TEMP VIEW levels AS SELECT *, min({_MOST}, more + coalesce(total, 0)) - coalesce(spare, 0)
    AS level FROM fresh LEFT JOIN accounts USING (person) LEFT JOIN spares USING (person);
"""
# Each of ?1 draws by the bytes of all of them; ?5 says whether one that comes again is another.
_UNPACKED = """
INSERT INTO asked WITH RECURSIVE each(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM each
    WHERE n < ?1 - 1) SELECT substr(?2, 32 * n + 1, 16), substr(?2, 32 * n + 17, 16), 1, ?3 + n,
    substr(?4, 8 * n + 1, 8) FROM each WHERE true
    ON CONFLICT (person, value) DO UPDATE SET times = times + ?5
"""
# In floats, which are exact for all sums that a budget may have, and never too large.
_ADDED_UP = f"""
INSERT INTO fresh SELECT person, min({_MOST}, total(min({_MOST}, times * more))), sum(times)
    FROM changes GROUP BY person
"""
_DRAWS_WRITTEN = """
INSERT INTO draws SELECT person, value, (SELECT next FROM steps WHERE kind = 0), times, place,
    sealed FROM asked CROSS JOIN fresh USING (person) WHERE true
    ON CONFLICT (person, value) DO UPDATE
    SET kind = coalesce((SELECT next FROM steps WHERE steps.kind = draws.kind), kind)
"""
_TOTALS_WRITTEN = f"""
INSERT INTO accounts SELECT person, more FROM fresh WHERE true
    ON CONFLICT (person) DO UPDATE SET total = min({_MOST}, total + excluded.total)
"""
# The kinds of all values of whom a release takes anything, as they are after it.
_HELD = """
CREATE TEMP TABLE held AS SELECT person, coalesce(next, draws.kind) AS kind
    FROM fresh JOIN draws USING (person) LEFT JOIN changes USING (person, value)
    UNION ALL SELECT person, next FROM changes WHERE kind = 0
"""

#: A draw as (column, fingerprint of the kernel, level in units).
Draw = tuple[str, str, int]
#: The level and the leakage capacity of draws about one value, in units.
Judge = Callable[[Sequence[Draw]], tuple[int, int]]


# What a release asks for


class PersonDraws:
    """Collects which draws a release needs of whom, in 40 bytes for each row.

    It is a mapping, too, of encoded identities that get an earlier report to the symbol and round
    of that.

    Parameters
    ----------
    key : secret bytes of the ledger
    people : name of the people; persons of one identity and name are one person
    identity : column and key of the identities that reports are a function of; without any, every
        row is a draw of its own
    column, kernel : name of the column of secrets, fingerprint of the kernel
    inputs : what positions stand for, where draws of other kernels with the same are about the same

    Attributes
    ----------
    changed : how many earlier reports are of another value
    """

    def __init__(
        self,
        key: bytes,
        people: str | None,
        identity: Identity | None,
        column: str,
        kernel: str,
        inputs: tuple[Any, ...] | None = None,
    ) -> None:
        self.people, self.identity = people, identity
        self.whom = whom(key, people)
        self._recalled: dict[bytes, tuple[int, str | None]] = {}
        self.changed = 0
        self._parts: list[NDArray[np.uint64]] = []
        self._streams: dict[bytes, NDArray[np.uint64]] = {}
        if identity is not None:
            known = kernel if inputs is None else repr(inputs)
            context = f"values of persons {len(column)} {column} {known}"
            self._value = identity.key.hash(_DIGEST, context.encode("utf-8", "surrogatepass"))
            name = identity.key.fingerprint.encode()
            self.key = blake2b(name, key=key, digest_size=_DIGEST).hexdigest()

    def __len__(self) -> int:
        return len(self._recalled)

    def __contains__(self, identity: bytes) -> bool:
        return hashed([self.whom.copy], [identity]) in self._recalled

    def __getitem__(self, identity: bytes) -> tuple[int, str | None]:
        return self._recalled[hashed([self.whom.copy], [identity])]

    @property
    def is_remembered(self) -> bool:
        """Whether the same value of the same person is the same draw."""
        return self.identity is not None and self.identity.by_person

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
        who: Any = identities if self.is_remembered else persons
        told = (codes != ABSENT) & np.array([one is not None for one in who], dtype=bool)
        places = np.flatnonzero(told).tolist()
        rows = np.zeros((len(places), 5), dtype=np.uint64)
        rows[:, 4] = codes[told]
        who = list(who)
        rows[:, :2] = _words(hashed(repeat(self.whom.copy), [who[i] for i in places]))
        if identities is not None:
            symbols = codes[told].tolist()
            copies = {}
            for code in set(symbols):
                start = self._value.copy()
                start.update(code.to_bytes(8, "little"))
                copies[code] = start.copy
            who = who if self.is_remembered else list(identities)
            values = hashed(map(copies.__getitem__, symbols), [who[i] for i in places])
            rows[:, 2:4] = _words(values)
        self._parts.append(rows)

    def ask(self, base: sqlite3.Connection, seed: bytes) -> None:
        """Fill the table of what is asked, each draw once.

        Symbols are sealed by a stream that belongs to the seed and to the key of the release. All
        draws of a person without a key have the seed in the place of their values.
        """
        rows = np.concatenate([np.zeros((0, 5), np.uint64), *self._parts])
        self._parts = []
        rows = rows[np.argsort(rows[:, 0])]
        sealed: Any = None
        if self.identity is None:
            rows[:, 2:4] = _words(seed)
        if self.is_remembered:
            self._codes = rows[:, 4]
            sealed = (rows[:, 4] ^ self._stream(seed, len(rows))).tobytes()
        for start in range(0, len(rows), _CHUNK):
            part = rows[start : start + _CHUNK, :4].astype(">u8")
            hidden = sealed and sealed[8 * start : 8 * (start + len(part))]
            told = [len(part), part.tobytes(), start, hidden, self.identity is None]
            base.execute(_UNPACKED, told)

    def recall(
        self, person: bytes, place: int, earlier: tuple[bytes, int, bytes, str | None]
    ) -> None:
        """Let a person have an earlier report, by seed, place and seal of its symbol, and round."""
        seed, sealed_at, sealed, of = earlier
        pad = int(self._stream(seed, 1 << (sealed_at + 1).bit_length())[sealed_at])
        code = pad ^ int.from_bytes(sealed, "little")
        self.changed += code != int(self._codes[place])
        self._recalled[person] = (code, of)

    def _stream(self, seed: bytes, size: int) -> NDArray[np.uint64]:
        """The first words of what seals the symbols of a release."""
        known = self._streams.get(seed)
        if known is None or len(known) < size:
            assert self.identity is not None
            start = self.identity.key.hash(64, b"seals of draws " + seed).digest()
            known = np.frombuffer(shake_256(start).digest(8 * size), dtype="<u8")
            self._streams[seed] = known
        return known[:size]


def _words(digests: bytes) -> NDArray[np.uint64]:
    """Digests as two words each, which are in the order that their bytes are in."""
    return np.frombuffer(digests, dtype=">u8").reshape(-1, 2).astype(np.uint64)


def whom(key: bytes, people: str | None) -> blake2b:
    """What hashes persons under the key of the ledger, before their identity."""
    found = blake2b(key=key, digest_size=_DIGEST, person=b"mechdesign-whom")
    # Of fixed length, and apart for people without a name.
    name = b"" if people is None else b"named " + people.encode("utf-8", "surrogatepass")
    found.update(blake2b(name).digest())
    return found


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
        nats = math.nan if isinstance(level, bool) else float(level)
    except (TypeError, ValueError):
        nats = math.nan
    if not 0 <= nats < _UNBOUNDED_NATS:
        raise InputError(
            "budget",
            expected="a level of LDP in nats from 0 to below 1000, md.LDP(level) or md.PML(level)",
            got=quote(budget),
            remedy="say what all reports of one person may come to",
        )
    return Budget(notion if isinstance(notion, (LDP, PML)) else LDP(level), on_spent)


def units(level: float) -> int:
    """A level in units of 10⁻¹² nats, rounded up."""
    if not level < _UNBOUNDED_NATS:
        return UNBOUNDED
    return int((Decimal(repr(float(level))) * _UNITS).to_integral_value(ROUND_CEILING))


def nats(total: int) -> float:
    """Units as nats, infinite where they are so many."""
    return math.inf if total >= UNBOUNDED else total / _UNITS


def level_of(kernels: Sequence[Any], prior: Any = None) -> int:
    """The level of one draw of each kernel about one value, in units, rounded up: of LDP, or of PML
    under a prior.
    """
    notion = LDP(math.inf) if prior is None else PML(math.inf)
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
    values : for each draw a hash of what it was about, where that is known
    """

    level: float
    entries: tuple[dict[str, Any], ...]
    values: tuple[bytes | None, ...] = field(default=(), repr=False)

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


#: A release as column, kernel, level, round, time, mark of its key, and seed of its seals.
_Made = dict[int, tuple[str, str, int, str | None, str, str | None, bytes]]


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
                if base.execute("SELECT 1 FROM releases WHERE mark = ?", [mark]).fetchone():
                    return
        raise StorageError(
            f"ledger: expected in {self.path.name} what persons gave away so far, got an older "
            "copy or nothing, so nothing was released; take the last one from a copy."
        )

    @contextmanager
    def charged(
        self,
        person_draws: PersonDraws,
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
            seed, mark = secrets.token_bytes(_DIGEST), secrets.token_hex(_DIGEST)
            base.execute("BEGIN IMMEDIATE")
            told = {**about, "level": level, "seed": seed, "mark": mark}
            told["key"] = person_draws.key if person_draws.identity else None
            names = ", ".join(told)
            marks = ", ".join("?" * len(told))
            number = base.execute(
                f"INSERT INTO releases ({names}) VALUES ({marks})", [*told.values()]
            ).lastrowid
            person_draws.ask(base, seed)
            (persons,) = base.execute("SELECT count(DISTINCT person) FROM asked").fetchone()
            _step(base, about, judge, number)
            base.execute(_ADDED_UP)
            if budget is not None:
                self._keep_to(base, budget, judge, persons)
            drawn, before, most = base.execute(
                "SELECT coalesce(sum(number), 0), count(total), coalesce(max(level), 0) FROM levels"
            ).fetchone()
            base.execute(_DRAWS_WRITTEN)
            base.execute(_TOTALS_WRITTEN)
            if budget is not None:
                _recall(base, person_draws, about)
            yield (
                Charge(persons, drawn, before, most, len(person_draws), person_draws.changed),
                mark,
            )
            base.execute("COMMIT")

    @staticmethod
    def _keep_to(base: sqlite3.Connection, budget: Budget, judge: Judge, persons: int) -> None:
        """Refuse a release that takes anybody beyond, or leave out whom it would."""
        if isinstance(budget.notion, PML):
            _spare(base, judge)
        over, most = base.execute(
            "SELECT count(*), max(level) FROM levels WHERE level > ?", [budget.level]
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
            beyond = "(SELECT person FROM levels WHERE level > ?)"
            base.execute(f"DELETE FROM fresh WHERE person IN {beyond}", [budget.level])

    def recall(self, person_draws: PersonDraws, about: dict[str, Any]) -> None:
        """Find the earlier reports for a release whose draws are written already."""
        with self._opened() as base:
            person_draws.ask(base, secrets.token_bytes(_DIGEST))
            _step(base, about, lambda _: (0, 0), None)
            _recall(base, person_draws, about)

    def account(self, person: bytes) -> PersonAccount:
        """What a person has given away."""
        if not self.path.exists():
            return PersonAccount(0.0, ())
        with self._opened() as base:
            (total,) = base.execute(
                "SELECT coalesce(max(total), 0) FROM accounts WHERE person = ?", [person]
            ).fetchone()
            made = _releases(base)
            kinds = base.execute(
                "SELECT releases, CASE WHEN sealed IS NULL THEN NULL ELSE value END, times "
                "FROM draws JOIN kinds ON number = kind WHERE person = ?",
                [person],
            ).fetchall()
        given = [(n, value, times) for kind, value, times in kinds for n in map(int, kind.split())]
        given.sort(key=lambda one: one[0])
        entries = []
        for number, _, times in given:
            column, kernel, level, of, time, *_ = made[number]
            entry = {"time": time, "column": column, "kernel": kernel, "level": _told(nats(level))}
            entry |= {} if of is None else {"round": of}
            entries.append(entry | ({} if times == 1 else {"times": times}))
        return PersonAccount(nats(total), tuple(entries), tuple(value for _, value, _ in given))

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            if not self.path.exists():
                os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
            base = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
            try:
                base.execute("PRAGMA synchronous = FULL")
                base.execute(f"PRAGMA cache_size = -{_CACHE}")
                if not base.execute("SELECT 1 FROM sqlite_master").fetchone():
                    base.executescript(f"BEGIN IMMEDIATE; {_TABLES} COMMIT;")
                (version,) = base.execute("PRAGMA user_version").fetchone()
                if version != _VERSION:
                    raise StorageError(
                        f"ledger: expected {self.path.name} of version {_VERSION}, got {version}; "
                        "begin another ledger, or use the version of mechdesign that wrote it."
                    )
                base.executescript(_ASKED)
                yield base
            finally:
                # Takes back what is not committed.
                base.close()
        except sqlite3.Error as problem:
            raise StorageError(
                f"ledger: what persons gave away cannot be kept in {self.path} ({problem}), so "
                "nothing was released; take the file from a copy."
            ) from None


def _releases(base: sqlite3.Connection) -> _Made:
    """All releases by their numbers."""
    rows = base.execute(
        "SELECT number, secret, kernel, level, round, time, key, seed FROM releases"
    )
    return {number: tuple(told) for number, *told in rows}


def _step(
    base: sqlite3.Connection, about: dict[str, Any], judge: Judge, number: int | None
) -> None:
    """Make the table of the kinds that become others by a release.

    Those are left out that have a draw of its kernel and round: under one key and column their
    values have that report already.
    """
    made = _releases(base)
    kinds = base.execute(
        "SELECT number, releases, size FROM kinds WHERE number IN (SELECT DISTINCT "
        "coalesce(kind, 0) FROM asked LEFT JOIN draws USING (person, value))"
    ).fetchall()
    for kind, releases, size in kinds:
        known = [int(n) for n in releases.split()]
        if any((made[n][1], made[n][3]) == (about["kernel"], about["round"]) for n in known):
            continue
        after, more = None, 0
        if number is not None:
            _, larger = judge([made[n][:3] for n in (*known, number)])
            after = base.execute(
                "INSERT INTO kinds (releases, size) VALUES (?, ?)",
                [f"{releases} {number}", larger],
            ).lastrowid
            more = larger - size
        base.execute("INSERT INTO steps VALUES (?, ?, ?)", [kind, after, more])


def _spare(base: sqlite3.Connection, judge: Judge) -> None:
    """Find for each person the value whose level is furthest below its leakage capacity."""
    made = _releases(base)
    base.execute(_HELD)
    base.execute("CREATE TEMP TABLE judged (kind INTEGER PRIMARY KEY, spare INTEGER)")
    for kind, releases in base.execute(
        "SELECT number, releases FROM kinds WHERE number IN (SELECT kind FROM held)"
    ).fetchall():
        level, size = judge([made[int(n)][:3] for n in releases.split()])
        base.execute("INSERT INTO judged VALUES (?, ?)", [kind, size - level])
    base.execute(
        "INSERT INTO spares SELECT person, max(spare) FROM held JOIN judged USING (kind) "
        "GROUP BY person"
    )


def _recall(base: sqlite3.Connection, person_draws: PersonDraws, about: dict[str, Any]) -> None:
    """Find earlier reports for what is asked and not written; an error where there are none."""
    made, none = _releases(base), 0
    same = (about["secret"], about["kernel"], person_draws.key if person_draws.identity else None)
    for person, value, place in base.execute("SELECT person, value, place FROM changes").fetchall():
        rows = base.execute(
            "SELECT value, releases, place, sealed FROM draws JOIN kinds ON number = kind "
            "WHERE person = ? AND sealed IS NOT NULL",
            [person],
        ).fetchall()
        earlier = [
            (other == value, n, (made[numbers[0]][6], at, sealed, made[n][3]))
            for other, releases, at, sealed in rows
            for numbers in [[int(n) for n in releases.split()]]
            for n in numbers
            if (*made[n][:2], made[n][5]) == same
        ]
        none += not earlier
        if earlier:
            person_draws.recall(person, place, max(earlier)[2])
    if none:
        raise DataError(
            "budget of persons",
            expected="an earlier report of each person whose budget is spent",
            got=f"{none} without one under this key, column and kernel",
            remedy="leave their rows out, or use the key and kernel of the earlier reports",
        )
