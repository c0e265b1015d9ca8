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

_METADATA = sql.MetaData()
_COLLECTOR = sql.Table(
    "mechdesign_collector",
    _METADATA,
    sql.Column("one", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("name", sql.String(32), nullable=False),
    sql.Column("schema_version", sql.Integer, nullable=False),
)
_KERNELS = sql.Table(
    "mechdesign_kernels",
    _METADATA,
    sql.Column("kernel", sql.Integer, primary_key=True),
    sql.Column("digest", sql.String(64), nullable=False, unique=True),
    sql.Column("public", sql.Text, nullable=False),
)
_REPORTS = sql.Table(
    "mechdesign_reports",
    _METADATA,
    sql.Column("nonce", sql.LargeBinary(16), primary_key=True),
    sql.Column("kernel", sql.Integer, nullable=False),
    sql.Column("output", sql.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
_COUNTS = sql.Table(
    "mechdesign_counts",
    _METADATA,
    sql.Column("kernel", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("output", sql.BigInteger, primary_key=True, autoincrement=False),
    sql.Column("reports", sql.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# What is added where there are counts of an output already.
_ADDED = (
    " ON CONFLICT (kernel, output) DO UPDATE SET reports = mechdesign_counts.reports"
    " + excluded.reports"
)


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
            is_new = _COLLECTOR.name not in there
            if there and is_new and self._is_sqlite:
                raise InputError(
                    "database",
                    expected="a new file, or one that a collector made",
                    got=f"{self.shown}, which holds other tables",
                    remedy="choose another file (--database)",
                )
            _METADATA.create_all(connection)
            if is_new:
                self._insert(connection, _COLLECTOR, [(1, secrets.token_hex(16), SCHEMA)])
            _, name, version = connection.execute(sql.select(_COLLECTOR)).one()
        if version != SCHEMA:
            raise InputError(
                "database",
                expected=f"schema version {SCHEMA}",
                got=f"{version}, of another version of mechdesign",
                remedy="use that version, or another database",
            )
        return str(name)

    def register(self, collected: Sequence[Collected]) -> list[int]:
        """Numbers of kernels, which stay theirs; new ones are written with their public form."""
        with self._reporting(), self._writing() as connection:
            for one in collected:
                own = _KERNELS.c.digest == one.digest
                # What is there may be of a version that told more.
                kept = connection.execute(_KERNELS.update().where(own).values(public=one.text))
                if not kept.rowcount:
                    new = _KERNELS.insert().values(digest=one.digest, public=one.text)
                    connection.execute(new)
            found = connection.execute(sql.select(_KERNELS.c.digest, _KERNELS.c.kernel))
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
                self._insert(connection, _REPORTS, sorted(new))
                counts = Counter((row.kernel, row.code) for row in new)
                totals = [(*of, number) for of, number in sorted(counts.items())]
                self._insert(connection, _COUNTS, totals, _ADDED)
        return outcomes

    def _marks(self, number: int) -> str:
        """Places of parameters, for statements that the driver runs without SQLAlchemy."""
        return ", ".join(["?" if self._is_sqlite else "%s"] * number)

    def _insert(
        self, connection: Any, table: sql.Table, rows: Sequence[tuple[Any, ...]], more: str = ""
    ) -> None:
        text = f"INSERT INTO {table.name} VALUES ({self._marks(len(table.columns))}){more}"
        connection.exec_driver_sql(text, [tuple(row) for row in rows])

    def _find(self, connection: Any, nonces: Sequence[bytes]) -> dict[bytes, Row]:
        """Reports of nonces that were there before."""
        found: dict[bytes, Row] = {}
        for start in range(0, len(nonces), _ASKED):
            some = tuple(nonces[start : start + _ASKED])
            text = f"SELECT * FROM {_REPORTS.name} WHERE nonce IN ({self._marks(len(some))})"
            for nonce, kernel, code in connection.exec_driver_sql(text, some):
                found[bytes(nonce)] = Row(bytes(nonce), kernel, code)
        return found

    def counts(self, kernel: int) -> dict[int, int]:
        """How often each output of a kernel was reported, by its position."""
        query = sql.select(_COUNTS.c.output, _COUNTS.c.reports).where(_COUNTS.c.kernel == kernel)
        with self._reporting(), self._engine.connect() as connection:
            return dict(map(tuple, connection.execute(query.order_by("output"))))

    def others(self, numbers: Sequence[int]) -> dict[str, int]:
        """Digests of other kernels in the database, and how many reports of each there are."""
        total = sql.func.coalesce(sql.func.sum(_COUNTS.c.reports), 0)
        query = (
            sql.select(_KERNELS.c.digest, total)
            .select_from(_KERNELS.outerjoin(_COUNTS, _KERNELS.c.kernel == _COUNTS.c.kernel))
            .where(_KERNELS.c.kernel.not_in(numbers))
            .group_by(_KERNELS.c.digest)
        )
        with self._reporting(), self._engine.connect() as connection:
            return {digest: int(count) for digest, count in connection.execute(query)}

    def pages(self, kernel: int) -> Iterator[list[tuple[bytes, int]]]:
        """Nonces and positions of outputs of all reports of a kernel, in constant memory.

        In the order of the nonces, which are random: nothing is left of the order of arrival.
        """
        query = (
            sql.select(_REPORTS.c.nonce, _REPORTS.c.output)
            .where(_REPORTS.c.kernel == kernel)
            .order_by(_REPORTS.c.nonce)
            .limit(_PAGE)
        )
        last = b""
        while True:
            with self._reporting(), self._engine.connect() as connection:
                found = connection.execute(query.where(_REPORTS.c.nonce > last)).all()
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
