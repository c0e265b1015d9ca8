"""The two passes over a file that is privatised: what it holds, then its reports.

Between them the intent to release is written into the ledger. Several files are read as one table.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CountsWarning, DataError, StorageError, warn
from ..prior import Prior
from ..progress import counter
from ..tables.beside import told_types
from ..tables.counting import categories_of, distinct_values
from ..tables.files import file_ending
from ..tables.reading import Table, open_table
from ..tables.writing import codes_are_written, new_table
from .adapters import column_reader, privatize_batch, reported_schema
from .counts import warn_of_rows
from .drawing import Release
from .identities import Admission, encode_identities, encode_some
from .ledger import Ledger, ReleasedColumn
from .persons import Budget, PersonDraws
from .receipts import (
    Fingerprint,
    Fingerprinter,
    file_receipts,
    names_reports,
    receipts_to_text,
    sha256_of,
    with_receipt,
)
from .written_columns import Beside, Written

# Shares this close are those of the same counts, at any number of rows that a file has.
_ROUNDING = Fraction(1, 10**10)


def check_source(source: Path, column: str) -> None:
    """Raise :class:`DataError` for a file of another kind, or whose column holds reports."""
    file_ending(source)
    if names_reports(file_receipts(source), column):
        raise DataError(
            f"column {column!r} of {source.name}",
            expected="the secret itself",
            got="reports, by the receipt of the file",
            remedy="privatise the original column once, and keep these reports",
        )


# Before anything is drawn


@dataclass(frozen=True)
class Survey:
    """What a file, or several of them, hold that is about to be released.

    Attributes
    ----------
    secrets : fingerprint of the column, under the key of the ledger
    pairs : fingerprint of identities with their symbols, in any order, where reports are drawn by
        identities; under one key, column and kernel these decide every report
    counts : for each prior that the file of the design holds, how often its symbols occur
    rows : number of rows of each file
    columns : fingerprints of the columns, where there are several, and of others that were asked
        for
    person_draws : what is drawn of whom, where rows say whom they are about
    """

    secrets: Fingerprint
    pairs: str | None
    counts: tuple[tuple[int, ...], ...]
    rows: tuple[int, ...]
    columns: Mapping[str, Fingerprint]
    person_draws: PersonDraws | None = None


@dataclass(frozen=True)
class FileRelease:
    """What is asked of a release of files.

    Attributes
    ----------
    release : of the columns
    written : what is read and written of a table
    book : ledger, where there is one
    about : name of the people in the ledger
    person : column that says whom a row is about
    budget : of each person
    overwrite : whether targets may exist
    progress : whether a bar is shown
    stop_if_asked : function that raises where somebody interrupts
    """

    release: Release
    written: Written
    book: Ledger | None
    about: str | None
    person: str | None
    budget: Budget | None
    overwrite: bool
    progress: bool
    stop_if_asked: Callable[[], None]

    @property
    def key(self) -> bytes:
        """The key of fingerprints."""
        return b"" if self.book is None else self.book.key

    def survey(self, sources: Sequence[Path], base: Path, folder: Path) -> Survey:
        """Read what is about to be released, check its identities, and warn of what is found.

        Columns that are written beside the reports are known again by their fingerprints. Without
        a budget, rows about nobody are on nobody's account; with one they are an error. The folder
        has room for the reports, and takes digests of the identities of long files before.
        """
        release, beside = self.release, Beside(sources, self.release, self.written, self.book)
        identity = release.identity
        with Admission(identity, folder, self.key) as rows, Admission(None, folder) as persons:
            mine = release.changed(admission=rows)
            found = replace(self._survey(sources, mine, beside, persons), pairs=rows.compare())
            beside.warn(found.columns, who_of(base, self.about), base.name)
            if self.person is not None:
                warn_of_rows(persons.most(), self.person, release.recorded)
        warn_of_counts(found, release)
        return found

    def _survey(
        self, sources: Sequence[Path], release: Release, beside: Beside, persons: Admission
    ) -> Survey:
        """One pass over the files; its release takes the identities in, and persons whose reports
        are drawn independently are noted.
        """
        key, person, budget = self.key, self.person, self.budget
        secrets = Fingerprinter(key)
        several = release.secret_columns if len(release.secret_columns) > 1 else []
        fingers = {str(name): Fingerprinter(key) for name in (*several, *beside.asked)}
        counts = [np.zeros(len(one.prior) + 1, dtype=np.int64) for one in release.held]
        identity = release.identity
        person_draws = None
        if key and person is not None:
            kernel = release.receipt(rows=False).kernel
            column = str(release.column)
            person_draws = PersonDraws(key, self.about, identity, column, kernel, release.inputs)
        alone = person is not None and not (identity and identity.by_person)
        columns = dict.fromkeys([*release.columns, *([person] if alone else []), *beside.asked])
        rows_of = []
        for path in sources:
            release.rows = 0
            with told_apart(path, sources):
                for batch in open_table(path, self.written.dialect, release.coded).batches(
                    [*columns]
                ):
                    read = column_reader(batch)
                    secrets.add_codes(*release.secrets(read))
                    for column, one in fingers.items():
                        own, at = distinct_values(read(column), column)
                        one.add_codes([*own, None], at)
                    for so_far, here in zip(counts, release.held_counts(read), strict=True):
                        so_far += here
                    about = None
                    if alone:
                        assert person is not None
                        encode = encode_some if budget is None else encode_identities
                        about = encode(read(person), person, release.texts)
                        persons.admit(about.known, None)
                    if identity is not None or len(sources) > 1 or person_draws is not None:
                        # Where there are several, nothing is refused after the first is there.
                        codes = release.codes(read)
                        found = release.identify(read, codes)
                        if person_draws is not None:
                            person_draws.add(found, codes, about)
                    release.rows += batch.num_rows
            rows_of.append(release.rows)
        if not any(rows_of):
            raise DataError(
                f"table {sources[0].name}" + (" and others" if len(sources) > 1 else ""),
                expected="at least one row",
                got="none",
                remedy="check the file",
            )
        return Survey(
            secrets.result(),
            None,
            tuple(tuple(one[1:].tolist()) for one in counts),
            tuple(rows_of),
            {name: one.result() for name, one in fingers.items()},
            person_draws,
        )

    def intend(self, survey: Survey, source: Path, target: Path) -> int:
        """Write the intent to release into the ledger; its number there, -1 without a ledger."""
        book, release, about = self.book, self.release, self.about
        if book is None:
            return -1
        who = who_of(source, about)
        return book.open(
            survey.secrets,
            survey.pairs,
            who,
            about or source.name,
            release.receipt(rows=False),
            release.recorded,
            target.name,
            [
                ReleasedColumn(str(column), survey.columns[str(column)], designed)
                for column, designed in release.parted
            ],
            person_draws=survey.person_draws,
            budget=self.budget,
        )

    def drawing(self, survey: Survey) -> FileRelease:
        """The same for what was surveyed, with reports that are taken in for their fingerprint."""
        release = self.release.changed(
            admission=None,
            reports=Fingerprinter(self.key),
            recalled=survey.person_draws,
        )
        return replace(self, release=release)

    def schema_after(self, source: Path, table: Table) -> Any:
        """The Arrow schema of the file of reports that is made of a file."""
        told = self.release.receipts(rows=False)
        if table.rows is not None:
            told = [replace(one, rows=table.rows) for one in told]
        after = reported_schema(table.schema, self.release)
        after = with_receipt(after, *file_receipts(source).values(), *told)
        return self.written.schema(after, self.release)

    def write(self, source: Path, part: Path, target: Path) -> None:
        """Write a file with the columns replaced to a hidden one."""
        release, written = self.release, self.written
        is_coded = codes_are_written() and file_ending(target) == ".parquet"
        table = open_table(source, written.dialect, release.coded if is_coded else None)
        after = self.schema_after(source, table)
        try:
            with (
                new_table(part, target, after, table, excel_safe=written.excel_safe) as write,
                counter(table.rows, "privatising", show=self.progress) as advance,
                ThreadPoolExecutor(1) as beside,
            ):
                # Each batch is written while the next one is made.
                under_way = beside.submit(int)
                for batch in table.batches():
                    made = privatize_batch(batch, release)
                    under_way.result()
                    made = made.drop_columns(written.gone(made.schema.names, release))
                    under_way = beside.submit(write, made)
                    advance(batch.num_rows)
                    self.stop_if_asked()
                under_way.result()
        except OSError as problem:
            raise StorageError(
                f"output: cannot be written ({problem.strerror or 'no reason given'})."
            ) from None

    def write_note(self, note: Path, part: Path, source: Path, target: Path) -> None:
        """Write the receipts that will stand beside a text file, whose hidden file is ``part``."""
        receipts = [replace(one, reports=None) for one in self.release.receipts()]
        known = file_receipts(source)
        gone = self.written.gone(list(known), self.release)
        kept = {name: one for name, one in known.items() if name not in gone}
        carried = {**kept, **{one.column: one for one in receipts}}
        content: dict[str, Any] = {"file": target.name, "sha256": sha256_of(part)}
        # What a text file cannot say itself.
        table = open_table(source, self.written.dialect)
        after = self.schema_after(source, table)
        types = told_types(after, self._orders(table, after))
        types = {name: kind for name, kind in types.items() if names_reports(carried, name)}
        content |= {"types": types} if types else {}
        content["receipts"] = json.loads(receipts_to_text(carried))
        note.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    def _orders(self, table: Table, after: Any) -> dict[str, list[str]]:
        """Reports that are ordered categories, in the order that these have in their column."""
        found = {}
        for target in self.release.targets:
            name = str(target.column)
            if name in after.names and getattr(after.field(name).type, "ordered", False):
                (known,) = next(table.parts([target.source]))
                order = dict.fromkeys([*categories_of(known), *target.outputs])
                outputs = set(target.outputs)
                found[name] = [label for label in order if label in outputs]
        return found

    def finish(self, number: int, target: Path) -> None:
        """Write into the ledger that the reports are there."""
        if self.book is None:
            return
        assert self.release.reports is not None
        try:
            self.book.close(number, self.release.reports.result())
        except StorageError as problem:
            raise StorageError(
                f"the reports are in {target} and count as released, but the ledger could "
                f"not be told that they were finished ({problem})"
            ) from None

    def give_up(self, number: int) -> None:
        """Write into the ledger that nothing was released."""
        if self.book is not None:
            self.book.close(number, None)


@contextmanager
def told_apart(path: Path, paths: Sequence[Path]) -> Iterator[None]:
    """Name the file in what is refused, where there are several."""
    try:
        yield
    except DataError as problem:
        if len(paths) == 1 or path.name in problem.subject or not problem.subject:
            raise
        raise DataError(
            f"{problem.subject} of file {path}",
            expected=problem.expected,
            got=problem.got,
            remedy=problem.remedy,
        ) from None


def warn_of_counts(survey: Survey, release: Release) -> None:
    """Warn once of a design or a plan that holds the counts of these very columns."""
    pairs = zip(release.held, survey.counts, strict=True)
    found = [one for one, counts in pairs if _are_shares(counts, one.prior)]
    if not found:
        return
    columns = list(dict.fromkeys(str(column) for one in found for column in one.columns))
    these = f"this very column {columns[0]!r}"
    if len(columns) > 1:
        these = f"these very columns {', '.join(map(repr, columns))}"
    what = "plan" if release.plan is not None else "design"
    warn(
        f"the {what} was made from the counts of {these}, and "
        "its file holds them exactly, which no notion covers; keep it to yourself, and "
        "give others its public form (md.save(..., public=True), mechdesign check --public)"
        + (", after you read what that warns of" if any(one.decides for one in found) else ""),
        CountsWarning,
    )


def _are_shares(counts: Sequence[int], prior: Prior) -> bool:
    """Whether a prior is these counts over their sum, and tells more than that all are the same."""
    total = sum(counts)
    if not total or len(set(prior.weights)) == 1:
        return False
    # Shares that were written as decimals are off by their rounding.
    most = _ROUNDING * prior.total * total
    pairs = zip(counts, prior.weights, strict=True)
    return all(abs(count * prior.total - weight * total) <= most for count, weight in pairs)


def who_of(source: Path, about: str | None) -> str:
    """What tells a ledger whom a release is about."""
    return f"file {os.path.realpath(source)}" if about is None else f"name {about}"
