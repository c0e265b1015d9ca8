"""Which columns a released file has beside its reports, and which of them are known as secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, UnhiddenWarning, quote, warn
from ..labels import listing
from ..numeric import truth_value
from ..schema import attribute_names
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
        names = () if drop is None or drop == [] else attribute_names(drop)
        if names is None:
            raise InputError(
                "drop",
                expected="names of columns to leave out",
                got=quote(drop),
                remedy="pass drop=['age', 'city']",
            )
        if truth_value(only_reports, "only_reports") and names:
            raise InputError(
                "columns that are written",
                expected="either columns to leave out or reports alone",
                got="both",
                remedy="leave out drop= (--drop-column)",
            )
        return cls(tuple(dict.fromkeys(names)), only_reports, excel_safe, dialect)

    @property
    def settings(self) -> dict[str, Any]:
        """Plain values that a run is gone on with by."""
        found: dict[str, Any] = {"excel_safe": self.excel_safe, **vars(self.dialect)}
        if self.dropped or self.only_reports:
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
        gone = self.gone(schema.names, release)
        if not gone:
            return schema
        metadata = dict(schema.metadata or {})
        metadata.pop(b"pandas", None)
        told = {name: one for name, one in schema_receipts(schema).items() if name not in gone}
        metadata[RECEIPTS.encode()] = receipts_to_text(told).encode()
        for name in gone:
            schema = schema.remove(find_column(schema.names, name))
        return schema.with_metadata(metadata)


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

    def warn(self, found: Mapping[str, Fingerprint], about: str, table: str) -> None:
        """Warn of those that the design or the ledger knows as secrets.

        ``found`` has the fingerprints of those that the ledger is asked about.
        """
        known = []
        if self._book is not None:
            known = self._book.known_secrets({name: found[name] for name in self.asked}, about)
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
