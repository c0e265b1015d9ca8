"""Which columns a released file has beside its reports, and which of them are known as secrets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, UnhiddenWarning, is_iterable, quote, warn
from ..labels import listing
from ..tables.frames import find_column
from ..tables.reading import open_table
from ..tables.text import AS_FOUND, Dialect
from .drawing import Release, columns_of
from .ledger import Ledger
from .receipts import KEY as RECEIPTS
from .receipts import Fingerprint, file_receipts, names_reports, receipts_to_text, schema_receipts


@dataclass(frozen=True)
class Written:
    """What is written of a table: all of its columns, all but some, or reports alone.

    Attributes
    ----------
    dropped : columns that are left out
    only_reports : whether all columns are left out that no reports stand in
    excel_safe : whether no cell of text is one that a spreadsheet runs
    dialect : how text is written that is read
    """

    dropped: tuple[str, ...] = ()
    only_reports: bool = False
    excel_safe: bool = False
    dialect: Dialect = AS_FOUND

    @classmethod
    def read(
        cls, drop: Any, only_reports: Any, excel_safe: bool = False, dialect: Dialect = AS_FOUND
    ) -> Written:
        """What a caller asks for; raises :class:`InputError` for what means nothing."""
        is_list = is_iterable(drop) and not isinstance(drop, (str, bytes))
        names = (drop,) if isinstance(drop, str) else tuple(drop) if is_list else None
        if drop is not None and (names is None or not all(isinstance(n, str) for n in names)):
            raise InputError(
                "drop",
                expected="names of columns to leave out",
                got=quote(drop),
                remedy="pass drop=['age', 'city']",
            )
        if not isinstance(only_reports, bool):
            raise InputError(
                "only_reports",
                expected="True or False",
                got=quote(only_reports),
                remedy="pass only_reports=True",
            )
        if names and only_reports:
            raise InputError(
                "columns that are written",
                expected="either columns to leave out or reports alone",
                got="both",
                remedy="leave out drop= (--drop-column)",
            )
        return cls(tuple(dict.fromkeys(names or ())), only_reports, excel_safe, dialect)

    @property
    def is_all(self) -> bool:
        """Whether every column is written."""
        return not self.dropped and not self.only_reports

    @property
    def settings(self) -> dict[str, Any]:
        """Plain values that a run is gone on with by."""
        found: dict[str, Any] = {"excel_safe": self.excel_safe, **vars(self.dialect)}
        if not self.is_all:
            found["columns left out"] = sorted(self.dropped) or "all but reports"
        return found

    def check(self, names: Sequence[str], release: Release) -> None:
        """Raise an error for columns that the table lacks, or that reports take the place of."""
        for column in self.dropped:
            find_column(names, column)
            if column in map(str, release.secret_columns):
                raise InputError(
                    "columns to leave out",
                    expected="others than the secrets, which reports take the place of",
                    got=quote(column),
                    remedy="leave it out of drop= (--drop-column)",
                )

    def gone(self, names: Sequence[str], release: Release) -> list[str]:
        """The names among those of a table with reports that are left out."""
        if not self.only_reports:
            return [name for name in names if name in self.dropped]
        kept = {str(target.column) for target in release.targets}
        return [name for name in names if name not in kept]

    def schema(self, schema: Any, release: Release) -> Any:
        """The Arrow schema of what is written, from that of a table with reports.

        What pandas and receipts say of columns that are not there goes with them.
        """
        if self.is_all:
            return schema
        metadata = dict(schema.metadata or {})
        metadata.pop(b"pandas", None)
        gone = self.gone(schema.names, release)
        told = {name: one for name, one in schema_receipts(schema).items() if name not in gone}
        metadata[RECEIPTS.encode()] = receipts_to_text(told).encode()
        for name in gone:
            schema = schema.remove(find_column(schema.names, name))
        return schema.with_metadata(metadata)

    def batch(self, batch: Any, release: Release) -> Any:
        """A batch with reports, without the columns that are left out."""
        gone = [] if self.is_all else self.gone(batch.schema.names, release)
        return batch.drop_columns(gone) if gone else batch


class Beside:
    """The columns of a table that are written as they are, and what is known of them.

    Parameters
    ----------
    sources : files of one table
    release : of its secrets
    written : which columns are written
    book : ledger, where there is one
    """

    def __init__(
        self,
        sources: Sequence[Path],
        release: Release,
        written: Written,
        book: Ledger | None,
    ) -> None:
        names = open_table(sources[0], written.dialect).names
        written.check(names, release)
        own = {*map(str, release.secret_columns), *written.gone(names, release)}
        raw = [name for name in names if name not in own and names.count(name) == 1]
        receipts = file_receipts(sources[0]) if raw else {}
        #: Columns that may hold secrets.
        self.names = [name for name in raw if not names_reports(receipts, name)]
        # That of a single column is often used for another of the same values.
        designed = columns_of(release.plan or release.parts[0].designed)
        self.of_design = [name for name in self.names if name in designed]
        self._book = book
        known = () if book is None or not self.names else book.columns()
        #: Those whose contents the ledger is asked about.
        self.asked = [name for name in self.names if name in known]

    def warn(self, found: Sequence[Fingerprint], about: str, table: str) -> None:
        """Warn of those that the design or the ledger knows as secrets.

        ``found`` are the fingerprints of those that the ledger is asked about.
        """
        known = []
        if self._book is not None:
            known = self._book.known_secrets(dict(zip(self.asked, found, strict=True)), about)
        for names, why in (
            (known, "released as secret before, by the ledger"),
            ([name for name in self.of_design if name not in known], "named by the design"),
        ):
            if not names:
                continue
            options = " ".join(f"--drop-column {name}" for name in names)
            one = len(names) == 1
            are = f"column {listing(names)}" if one else f"columns {listing(names)}"
            stand = "is written as it stands" if one else "are written as they stand"
            warn(
                f"{are} of {table}, {why}, {stand}; leave {'it' if one else 'them'} out with "
                f"drop={names} ({options}), or write reports alone (only_reports=True, "
                "--only-reports)",
                UnhiddenWarning,
            )
