"""``privatize_file``: a column of a file, released once and recorded.

The file is read twice: first to check its identities and to tell the ledger what is about to be
released, then to draw. Nothing can be seen of the reports before all of them are there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..errors import CountsWarning, DataError, InputError, StorageError, quote, warn
from ..files import Claim, check_writable, claimed, noticed_interrupts
from ..input_tables import is_missing
from ..progress import counter
from ._identifiability import warn_of_untold
from .adapters import column_reader, privatize_batch, reported_schema
from .codes import Policy, distinct_values
from .codes import show_values as quote_values
from .column import ColumnRelease
from .counts import warn_of_rows
from .identities import words_and_identity
from .ledger import Ledger, releases_beside
from .receipts import (
    Fingerprint,
    Fingerprinter,
    PairFingerprinter,
    Receipt,
    receipts_to_text,
    with_receipt,
)
from .table_files import (
    file_digest,
    file_ending,
    file_receipts,
    new_table,
    open_batches,
    receipt_path,
)

# Shares this close are those of the same counts, at any number of rows that a file has.
_ROUNDING = Fraction(1, 10**10)


def privatize_file(
    source: str | Path,
    target: str | Path,
    column: str,
    mechanism: Any,
    *,
    missing: str = "error",
    unseen: str = "error",
    replacement: Any = None,
    row: str | None = None,
    person: str | None = None,
    key: Any = None,
    rng: Any = None,
    overwrite: bool = False,
    progress: bool = False,
    excel_safe: bool = False,
    ledger: str | Path | Literal[False] | None = None,
    about: str | None = None,
    show_values: bool = False,
    strata: str | None = None,
) -> Receipt:
    """Write a copy of a CSV or Parquet file with one column replaced by reports.

    The file is streamed, so that memory does not grow with it, and appears under its name only when
    it is complete. A Parquet file carries its receipt in its metadata, a CSV file has it in
    ``<target>.receipt.json`` with the SHA-256 of the file. In a CSV file labels are matched by
    their text, and the words that :meth:`Prior.from_csv` takes for missing are missing here too.

    The release is written into a ledger before anything is drawn. A second one of the same secrets
    is warned of, with what both add up to, whatever their file is called and wherever it lies. The
    same secrets with the same identities, in any order, under the same key are the same reports
    again, and no second release.

    Parameters
    ----------
    source, target : files that end in .csv or .parquet, both the same
    column, mechanism, missing, unseen, replacement, row, person, key, rng, strata
        As in :func:`privatize`. Identities are checked before anything is drawn, which takes about
        a hundred bytes of memory for each. In a CSV file they are text as it stands there: the same
        reports come from a data frame whose column of identities is text.
    overwrite : whether ``target`` may exist
    progress : whether to show a bar on standard error
    excel_safe : whether cells of a CSV file that a spreadsheet would run as a formula get an
        apostrophe, in every column; estimates read such reports as the labels they were
    ledger : file of another ledger than the user's own, which the environment variable
        ``MECHDESIGN_LEDGER`` names or which lies in the user's data folder; ``False`` for none
    about : name of the people in the ledger; the path of ``source`` when left out
    show_values : whether messages may quote values of the data, which are secrets

    Raises
    ------
    DataError, UnknownNameError
        As :func:`privatize`; and for a file of another kind, or one whose column holds reports.
    StorageError
        When the target exists, is being written by another process or cannot be written, and when
        the ledger was edited or cannot be written; then nothing is released.

    Warns
    -----
    RepeatWarning
        When the same secrets were released before, or one person has several rows.
    CountsWarning
        When the design holds the exact counts of this very column.
    UntoldWarning
        When reports would be uninformative about the secret.
    LeftoverWarning
        When a run that was stopped left unfinished files, which are removed.
    """
    if ledger is not None and ledger is not False and not isinstance(ledger, (str, os.PathLike)):
        raise InputError(
            "ledger",
            expected="a path, None for the user's own, or False for none",
            got=quote(ledger),
            remedy="leave it out",
        )
    warn_of_untold(mechanism)
    source, target = Path(source), Path(target)
    book = None if ledger is False else _ledger(ledger, source, target)
    with (
        quote_values() if show_values else nullcontext(),
        noticed_interrupts() as stop_if_asked,
    ):
        texts = _check_files(source, target, column, overwrite=overwrite)
        policy = Policy(missing, unseen, replacement)
        words, identity = words_and_identity(rng, column, row, person, key)
        release = ColumnRelease(
            mechanism, column, words, policy, texts=texts, identity=identity, strata=strata
        )
        with open_batches(source) as (schema, _, _):
            release.check_names(schema.names)
        with claimed(target, overwrite=overwrite) as claim:
            if texts:
                check_writable(receipt_path(target), overwrite=overwrite)
            secret = b"" if book is None else book.key
            survey = _survey(source, release, person, secret)
            if person is not None:
                warn_of_rows(survey.most_of_one, person, mechanism)
            _warn_of_counts(survey, column, mechanism)
            number = -1 if book is None else _intend(book, survey, release, source, target, about)
            try:
                reports = Fingerprinter(secret)
                release = release.with_parts(admission=None, reports=reports)
                part = claim.part()
                _write(source, part, release, stop_if_asked, progress, excel_safe)
                # The metadata of a Parquet file come before its rows; the fingerprint is the
                # ledger's.
                receipt = replace(release.receipt(), reports=None)
                made = [(part, target)]
                if texts:
                    # First, so that no file of reports is ever without its receipt.
                    made.insert(0, _receipt_beside(claim, part, source, target, receipt))
                stop_if_asked()
            except BaseException:
                if book is not None:
                    book.close(number, None)
                raise
            # What is stopped from here on may have been seen, and stays on the books.
            claim.publish(*made)
            if book is not None:
                _finish(book, number, target, reports.result())
    return receipt


def _ledger(path: str | Path | None, source: Path, target: Path) -> Ledger:
    """The ledger, which is no file of the release."""
    found = Ledger(path)
    own = {os.path.realpath(path) for path in (target, source, receipt_path(target))}
    if os.path.realpath(found.path) in own:
        raise InputError(
            "--ledger",
            expected="a file of its own",
            got=f"{found.path}, which is written or read as well",
            remedy="choose another name for the ledger",
        )
    return found


def _check_files(source: Path, target: Path, column: str, *, overwrite: bool) -> bool:
    """Whether both are CSV files; raises an error for files that cannot be read or written."""
    ending = file_ending(source)
    if file_ending(target) != ending:
        raise DataError(
            "output",
            expected=f"a name that ends in {ending}, as the input",
            got=str(target),
            remedy="rename the output",
        )
    if column in file_receipts(source):
        raise DataError(
            f"column {column!r} of {source.name}",
            expected="the secret itself",
            got="reports, by the receipt of the file",
            remedy="privatise the original column once, and keep these reports",
        )
    check_writable(target, overwrite=overwrite)
    if ending == ".csv":
        check_writable(receipt_path(target), overwrite=overwrite)
    return ending == ".csv"


# Before anything is drawn


@dataclass(frozen=True)
class _Survey:
    """What a file holds that is about to be released.

    Attributes
    ----------
    secrets : fingerprint of the column, under the key of the ledger
    pairs : fingerprint of identities with their symbols, in any order, where reports are drawn by
        identities; under one key, column and kernel these decide every report
    counts : how often each input of the mechanism occurs
    most_of_one : most rows of one person whose reports are drawn independently, 0 without any
    """

    secrets: Fingerprint
    pairs: str | None
    counts: tuple[int, ...]
    most_of_one: int


def _survey(source: Path, release: ColumnRelease, person: str | None, key: bytes) -> _Survey:
    """Read what is about to be released, and check its identities."""
    secrets, pairs = Fingerprinter(key), PairFingerprinter(key)
    counts = np.zeros(len(release.encoder.book.labels) + 1, dtype=np.int64)
    repeats: dict[Any, int] = {}
    identity = release.identity
    alone = person is not None and not (identity and identity.by_person)
    columns = dict.fromkeys([*release.columns, *([person] if alone else [])])
    with open_batches(source, list(columns)) as (_, batches, _):
        for batch in batches:
            read = column_reader(batch)
            values, places = distinct_values(read(release.column), release.column)
            values = [*values, None]
            secrets.add_codes(values, places)
            found = release.encoder.positions(read(release.column), values[:-1], places)
            counts += np.bincount(found + 1, minlength=len(counts))
            if identity is not None:
                codes = release.paired(read, release.encode(read(release.column)))
                # As the draws read them: 7 and "7" mean the same, and draw differently.
                pairs.add(release.identify(read, codes) or [], codes)
            release.rows += batch.num_rows
            if alone:
                who, rows = distinct_values(read(person), person)
                for name, count in zip(who, np.bincount(rows, minlength=len(who)), strict=False):
                    repeats[name] = repeats.get(name, 0) + int(count)
    most = max((n for who, n in repeats.items() if who != "" and not is_missing(who)), default=0)
    prints = secrets.result(), None if identity is None else pairs.result()
    return _Survey(*prints, tuple(counts[1:].tolist()), most)


def _warn_of_counts(survey: _Survey, column: str, designed: Any) -> None:
    """Warn of a design that holds the counts of this very column."""
    prior, total = getattr(designed, "prior", None), sum(survey.counts)
    if prior is None or not total or len(set(prior.weights)) == 1:
        return
    # Shares that were written as decimals are off by their rounding.
    most = _ROUNDING * prior.total * total
    pairs = zip(survey.counts, prior.weights, strict=True)
    if all(abs(count * prior.total - weight * total) <= most for count, weight in pairs):
        fitted = any(notion.uses_prior for notion in designed.notions)
        warn(
            f"the design was made from the counts of this very column {column!r}, and "
            "its file holds them exactly, which no notion covers; keep it to yourself, and "
            "give others its public form (md.save(..., public=True), mechdesign show --public)"
            + (", after you read what that warns of" if fitted else ""),
            CountsWarning,
        )


def _intend(
    book: Ledger,
    survey: _Survey,
    release: ColumnRelease,
    source: Path,
    target: Path,
    about: str | None,
) -> int:
    """Write the intent to release into the ledger; returns its number there."""
    who = f"file {os.path.realpath(source)}" if about is None else f"name {about}"
    folders = (target.parent, source.parent, Path())
    return book.open(
        survey.secrets,
        survey.pairs,
        who,
        about or source.name,
        release.receipt(rows=False),
        release.designed,
        target.name,
        releases_beside(folders, book, who, str(release.column)),
    )


# Drawing and writing


def _write(
    source: Path,
    part: Path,
    release: ColumnRelease,
    stop_if_asked: Callable[[], None],
    progress: bool,
    excel_safe: bool,
) -> None:
    """Write the file with the column replaced to a hidden one."""
    with open_batches(source) as (schema, batches, total):
        after = reported_schema(schema, release)
        if total is not None:
            after = with_receipt(after, replace(release.receipt(rows=False), rows=total))
        with (
            new_table(part, after, source, excel_safe=excel_safe) as write,
            counter(total, "privatising", show=progress) as advance,
        ):
            for batch in batches:
                made = privatize_batch(batch, release)
                try:
                    write(made)
                except OSError as problem:
                    raise StorageError(
                        f"output: cannot be written ({problem.strerror or 'no reason given'})."
                    ) from None
                advance(batch.num_rows)
                stop_if_asked()
    if release.rows == 0:
        raise DataError(
            f"table {source.name}", expected="at least one row", got="none", remedy="check the file"
        )


def _receipt_beside(
    claim: Claim, part: Path, source: Path, target: Path, receipt: Receipt
) -> tuple[Path, Path]:
    """The hidden file with the receipt of a CSV file, and its name."""
    carried = {**file_receipts(source), receipt.column: receipt}
    note = {"file": target.name, "sha256": file_digest(part)}
    note["receipts"] = json.loads(receipts_to_text(carried))
    beside = claim.part()
    beside.write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")
    return beside, receipt_path(target)


def _finish(book: Ledger, number: int, target: Path, reports: Fingerprint) -> None:
    try:
        book.close(number, reports)
    except StorageError as problem:
        raise StorageError(
            f"the reports are in {target} and count as released, but the ledger could "
            f"not be told that they were finished ({problem})"
        ) from None
