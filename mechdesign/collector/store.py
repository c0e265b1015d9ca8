"""What is kept: each nonce with its report, and counts by kernel and output.

A report is acknowledged when the transaction that holds it and its count is on disk. Nonces make it
count once, however often it is sent: whoever is not answered, as the collector was killed between
commit and answer, sends it again. Neither addresses nor times are kept.

SQLite (write-ahead log, every commit synced) or PostgreSQL, both through SQLAlchemy; any number of
processes may share a database.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

import sqlalchemy as sql

from ..errors import InputError, StorageError
from ..extras import brought_by
from .incoming import Row
from .kernels import Collected

SCHEMA = 1
#: Seconds that a process waits for the other one's transaction.
PATIENCE = 60
_LOCK = 0x6D656368  # names writing among PostgreSQL's advisory locks
_PAGE = 1 << 16
# Nonces that are looked for at once.
_ASKED = 1000
# Kibibytes of pages that SQLite keeps in memory, and pages of its log before it is worked in.
_CACHE, _LOG = 1 << 17, 10_000

# In the words of both databases, but for those in braces.
_TABLES = """
CREATE TABLE IF NOT EXISTS mechdesign_collector (one INTEGER PRIMARY KEY, name VARCHAR(32) NOT NULL,
    schema_version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS mechdesign_kernels (kernel {number} PRIMARY KEY,
    digest VARCHAR(64) NOT NULL UNIQUE, public TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS mechdesign_reports (nonce {bytes} PRIMARY KEY, kernel INTEGER NOT NULL,
    output BIGINT NOT NULL) {kept};
CREATE TABLE IF NOT EXISTS mechdesign_counts (kernel INTEGER, output BIGINT,
    reports BIGINT NOT NULL, PRIMARY KEY (kernel, output)) {kept}
"""
_SQLITE = {"number": "INTEGER", "bytes": "BLOB", "kept": "WITHOUT ROWID"}
_POSTGRESQL = {"number": "SERIAL", "bytes": "BYTEA", "kept": ""}
# What is there may be of a version that told more.
_KERNEL_KEPT = """INSERT INTO mechdesign_kernels (digest, public) VALUES (?, ?)
    ON CONFLICT (digest) DO UPDATE SET public = excluded.public"""
_COUNTED = """INSERT INTO mechdesign_counts VALUES (?, ?, ?) ON CONFLICT (kernel, output)
    DO UPDATE SET reports = mechdesign_counts.reports + excluded.reports"""
_OTHERS = """SELECT k.kernel, digest, coalesce(sum(reports), 0) FROM mechdesign_kernels AS k
    LEFT JOIN mechdesign_counts AS c ON c.kernel = k.kernel GROUP BY k.kernel, digest"""
_PAGES = """SELECT nonce, output FROM mechdesign_reports WHERE kernel = ? AND nonce > ?
    ORDER BY nonce LIMIT ?"""


class Outcome(Enum):
    """What became of a report."""

    COUNTED = "counted"
    AGAIN = "already counted"
    OTHER = "another report has this nonce"


class Store:
    """The database of one or several collectors.

    Parameters
    ----------
    place : a file for SQLite, or the URL of a database as SQLAlchemy writes it

    Raises
    ------
    InputError
        For a place that holds something else, or a kind of database that is not supported.
    MissingLibraryError
        When the database cannot be reached, or its driver is not installed.
    """

    name: str

    def __init__(self, place: str | Path) -> None:
        url = _url(place)
        self._is_sqlite = url.get_backend_name() == "sqlite"
        self.shown = url.render_as_string(hide_password=True)
        options: dict[str, Any] = {"pool_pre_ping": True}
        if self._is_sqlite:
            self.shown = url.database or ""
            _prepare(Path(self.shown))
            options = {"connect_args": {"timeout": PATIENCE}}
        with brought_by("postgresql"):
            self._engine = sql.create_engine(url, **options)
        if self._is_sqlite:
            sql.event.listen(self._engine, "connect", _configure)
            sql.event.listen(self._engine, "begin", _begin)
        with self._reporting():
            self.name = self._create()

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Errors of the database as one line, without passwords and values."""
        try:
            yield
        except sql.exc.SQLAlchemyError as problem:
            cause = getattr(problem, "orig", None) or problem
            text = " ".join(str(cause).split())[:200] or type(cause).__name__
            raise StorageError(
                f"database {self.shown}: cannot be used ({text}); check that it is there, that it "
                "is a database and that there is room."
            ) from None

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        with (
            self._engine.connect().execution_options(writes=True) as connection,
            connection.begin(),
        ):
            if not self._is_sqlite:
                # One writer at a time, as in SQLite: all of them change the same counts.
                connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_LOCK)))
            yield connection

    def _create(self) -> str:
        """Make what is missing, as one of several processes; the name of the database."""
        with self._writing() as connection:
            there = set(sql.inspect(connection).get_table_names())
            if there and "mechdesign_collector" not in there and self._is_sqlite:
                raise InputError(
                    "database",
                    expected="a new file, or one that a collector made",
                    got=f"{self.shown}, which holds other tables",
                    remedy="choose another file (--database)",
                )
            for statement in _TABLES.format(**(_SQLITE if self._is_sqlite else _POSTGRESQL)).split(
                ";"
            ):
                connection.exec_driver_sql(statement)
            first = "INSERT INTO mechdesign_collector VALUES (1, ?, ?) ON CONFLICT DO NOTHING"
            self._run(connection, first, (secrets.token_hex(16), SCHEMA))
            text = "SELECT name, schema_version FROM mechdesign_collector"
            name, version = self._run(connection, text).one()
        if version != SCHEMA:
            raise InputError(
                "database",
                expected=f"schema version {SCHEMA}",
                got=f"{version}, of another version of mechdesign",
                remedy="use that version, or another database",
            )
        return str(name)

    def _run(self, connection: Any, text: str, values: Any = ()) -> Any:
        """A statement for one or, in a list, many rows, by the driver without SQLAlchemy."""
        text = text if self._is_sqlite else text.replace("?", "%s")
        return connection.exec_driver_sql(text, values)

    def register(self, collected: Sequence[Collected]) -> list[int]:
        """Numbers of kernels, which stay theirs; new ones are written with their public form."""
        with self._reporting(), self._writing() as connection:
            for one in collected:
                self._run(connection, _KERNEL_KEPT, (one.digest, one.text))
            found = self._run(connection, "SELECT digest, kernel FROM mechdesign_kernels")
            numbers = dict(map(tuple, found))
        return [numbers[one.digest] for one in collected]

    def add(self, rows: Sequence[Row]) -> list[Outcome]:
        """Count reports in one transaction; when this returns, they are on disk."""
        outcomes: list[Outcome] = []
        with self._reporting(), self._writing() as connection:
            kept = self._find(connection, [row.nonce for row in rows])
            new: list[Row] = []
            for row in rows:
                known = kept.get(row.nonce)
                if known is None:
                    kept[row.nonce] = row
                    new.append(row)
                    outcomes.append(Outcome.COUNTED)
                else:
                    outcomes.append(Outcome.AGAIN if known == row else Outcome.OTHER)
            if new:
                # Sorted as they are kept, so that neighbours lie on one page.
                insert = "INSERT INTO mechdesign_reports VALUES (?, ?, ?)"
                self._run(connection, insert, sorted(new))
                counts = Counter((row.kernel, row.code) for row in new)
                totals = [(*of, number) for of, number in sorted(counts.items())]
                self._run(connection, _COUNTED, totals)
        return outcomes

    def _find(self, connection: Any, nonces: Sequence[bytes]) -> dict[bytes, Row]:
        """Reports of nonces that were there before."""
        found: dict[bytes, Row] = {}
        for start in range(0, len(nonces), _ASKED):
            some = tuple(nonces[start : start + _ASKED])
            marks = ", ".join("?" * len(some))
            text = f"SELECT nonce, kernel, output FROM mechdesign_reports WHERE nonce IN ({marks})"
            for nonce, kernel, code in self._run(connection, text, some):
                found[bytes(nonce)] = Row(bytes(nonce), kernel, code)
        return found

    def counts(self, kernel: int) -> dict[int, int]:
        """How often each output of a kernel was reported, by its position."""
        text = "SELECT output, reports FROM mechdesign_counts WHERE kernel = ? ORDER BY output"
        with self._reporting(), self._engine.connect() as connection:
            return dict(map(tuple, self._run(connection, text, (kernel,))))

    def others(self, numbers: Sequence[int]) -> dict[str, int]:
        """Digests of other kernels in the database, and how many reports of each there are."""
        with self._reporting(), self._engine.connect() as connection:
            found = self._run(connection, _OTHERS)
            return {digest: int(count) for kernel, digest, count in found if kernel not in numbers}

    def pages(self, kernel: int) -> Iterator[list[tuple[bytes, int]]]:
        """Nonces and positions of outputs of all reports of a kernel, in constant memory.

        In the order of the nonces, which are random: nothing is left of the order of arrival.
        """
        last = b""
        while True:
            with self._reporting(), self._engine.connect() as connection:
                found = self._run(connection, _PAGES, (kernel, last, _PAGE)).all()
            if not found:
                return
            yield [(bytes(nonce), code) for nonce, code in found]
            last = bytes(found[-1][0])


def _url(place: str | Path) -> sql.URL:
    """The URL of a database, or that of SQLite for a file."""
    text = str(place)
    if "://" not in text:
        return sql.URL.create("sqlite", database=text)
    try:
        url = sql.make_url(text)
    except sql.exc.ArgumentError:
        url = None
    kind = "" if url is None else url.get_backend_name()
    if (
        url is None
        or kind not in ("sqlite", "postgresql")
        or (kind == "sqlite" and not url.database)
    ):
        raise InputError(
            "database",
            expected="a file, sqlite:///FILE or postgresql://USER@HOST/NAME",
            got=f"a URL of another kind ({kind or 'none that can be read'})",
            remedy="name a file, or a PostgreSQL database",
        )
    return url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url


def _prepare(path: Path) -> None:
    """Make an empty file that only its owner reads, where there is none."""
    if path.is_dir() or not path.parent.is_dir() or (path.exists() and not path.is_file()):
        raise InputError(
            "database",
            expected="a file in a folder that exists",
            got=str(path),
            remedy="choose another file (--database)",
        )
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as problem:
        raise StorageError(
            f"database {path}: cannot be written ({problem.strerror}); choose another file."
        ) from None


def _configure(connection: sqlite3.Connection, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say
    pragmas = ("journal_mode=WAL", "synchronous=FULL", f"busy_timeout={PATIENCE * 1000}")
    # Nonces are random, so that every transaction changes pages everywhere: many are kept at hand,
    # and written to their places when they have changed often.
    for pragma in (*pragmas, f"cache_size=-{_CACHE}", f"wal_autocheckpoint={_LOG}"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Any) -> None:
    # A reader that turns writer may find that another wrote meanwhile; writers say so at once.
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
