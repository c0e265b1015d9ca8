"""``privatize_file``: a column of a file, or of many, released once and recorded.

A file is read twice: first to check its identities and to tell the ledger what is about to be
released, then to draw. Nothing can be seen of the reports before all of them are there. Folders
and patterns of names are in ``folder_release``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..errors import InputError, quote
from ..files import Claim, check_named, check_writable, claimed, noticed_interrupts, unstopped
from ..mechanism import Mechanism, warn_of_disclosure
from ..tables.files import file_ending, find_inputs, is_text, receipt_path
from ..tables.reading import open_table
from ..tables.text import Dialect
from ..tables.writing import check_held
from ._identifiability import warn_of_untold
from .codes import Policy
from .codes import show_values as quote_values
from .drawing import Part, release_of, resolved
from .file_passes import FileRelease, check_source
from .folder_release import privatize_folder
from .ledger import Ledger
from .persons import Budget, read_budget
from .receipts import Receipt, save_receipt
from .written_columns import Written


def privatize_file(
    source: str | Path,
    target: str | Path,
    column: Any = None,
    mechanism: Any = None,
    *,
    columns: Any = None,
    into: Any = None,
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
    receipt: str | Path | None = None,
    budget: Any = None,
    spent: str = "error",
    round: Any = None,
    drop: Any = None,
    only_reports: bool = False,
    sep: str | None = None,
    encoding: str | None = None,
) -> Receipt:
    """Write a copy of a file with one or several columns replaced by reports.

    The file is streamed, so that memory does not grow with it, and appears under its name only when
    it is complete. Parquet and Arrow files carry their receipt in their metadata, text has it in
    ``<target>.receipt.json`` with the SHA-256 of the file. In text labels are matched as they are
    written, and the words that :meth:`Prior.from_csv` takes for missing are missing here too.

    The release is written into a ledger before anything is drawn. A second one of the same secrets
    is warned of, with what both add up to, whatever their file is called and wherever it lies. The
    same secrets with the same identities, in any order, under the same key are the same reports
    again, and no second release.

    Many files are one release: a folder of files, such as ``class=1/part-0.parquet``, or a pattern
    such as ``"2024/*.csv"``. They are checked as one table before anything is drawn, and each has
    its copy under the same name in the folder ``target``. Where such a run is stopped, the same
    call goes on with it: files that are there stay as they are, and no report is drawn twice.

    Parameters
    ----------
    source : file of any kind that :meth:`Prior.from_csv` reads; a folder of files of one kind, with
        the same columns; or a pattern of their names with ``*``, ``?``, ``**``. Names that begin
        with a dot or an underscore are left out.
    target : file whose name says its kind: separated text (.csv, .tsv, .txt; packed with .gz or
        .zst), .parquet, .feather or .arrow; for several files a folder, which is made. Text of text
        keeps its separator, and is written in UTF-8.
    column, mechanism, columns, into, missing, unseen, replacement, row, person, key, rng, strata
        As in :func:`privatize`. Identities are checked before anything is drawn; those of a long
        file take 24 bytes each, in a nameless file beside the target. In a CSV file they are text
        as it stands there: the same reports come from a data frame whose column of identities is
        text.
    overwrite : whether ``target`` may exist
    progress : whether to show a bar on standard error
    excel_safe : whether cells of a CSV file that a spreadsheet would run as a formula get an
        apostrophe, in every column; estimates read such reports as the labels they were
    ledger : file of another ledger than the user's own, which the environment variable
        ``MECHDESIGN_LEDGER`` names or which lies in the user's data folder; ``False`` for none
    about : name of the people in the ledger; the path of ``source`` when left out. Persons of
        another name have accounts of their own, so that 7 among patients and 7 among nurses are two
        people; without a name they are one, whatever the file. Name those who are the same people
        alike, as their levels are added up under one name only.
    show_values : whether messages may quote values of the data, which are secrets
    budget : LDP, PML or float (of LDP), optional
        What all draws of one person may come to, in nats, over the releases of the ledger with
        the same ``about``; goes with ``person``. A value that comes again under the same key,
        column, kernel and round is no new draw; without a key, and with ``row``, every row is one
        (with both, a row that comes again with its value is none). Draws about one value of a
        person are composed exactly, under PML with the prior of the design; levels of different
        values add up under LDP, and are bounded by leakage capacities under PML. A release that
        would take anybody beyond it is refused as a whole. Without it draws are counted all the
        same. It covers the values, and not when they changed, which reports under one key show.
    spent : {"error", "earlier"}
        With "earlier", who would go beyond the budget gets an earlier report again, of the same
        value where there is one, else the last: nothing new is told, and estimates of values that
        changed lag behind. It is refused where there is none under the key, column and kernel.
    round : int or str, optional
        Names a round of deliberately fresh draws, as in :func:`privatize`.
    drop : str or list of str, optional
        Columns that are not written, such as other secrets or names. Identities and strata may be
        among them, as they are read all the same.
    only_reports : whether the columns of reports are all that is written
    receipt : a new file for the receipt, for engines that read reports without their metadata
    sep, encoding : of text that is read, as for :meth:`Prior.from_csv`

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
    UnhiddenWarning
        When columns are written as they stand that were released as secrets before, by the ledger,
        or that the design names as secrets.
    CountsWarning
        When the design or plan holds the exact counts of these very columns.
    UntoldWarning
        When reports would be uninformative about the secret.
    DisclosureWarning
        When one report lets the secret be guessed right with probability 99.9 % or more.
    LeftoverWarning
        When a run that was stopped left unfinished files, which are removed; or when this one is
        stopped with some of its files finished.
    """
    if ledger is not None and ledger is not False and not isinstance(ledger, (str, os.PathLike)):
        raise InputError(
            "ledger",
            expected="a path, None for the user's own, or False for none",
            got=quote(ledger),
            remedy="leave it out",
        )
    mechanism, names = resolved(column, mechanism, columns)
    written = Written.read(drop, only_reports, excel_safe, Dialect(sep, encoding))
    check_named(target, "output")
    inputs = find_inputs(source)
    most = _budget(budget, spent, row, person, key, ledger)
    source, target = Path(source), Path(target)
    book = None if ledger is False else _ledger(ledger, [source, target, receipt_path(target)])
    if receipt is not None:
        check_writable(receipt, overwrite=overwrite, subject="receipt")
    policy = Policy(missing, unseen, replacement)
    with (
        quote_values() if show_values else nullcontext(),
        noticed_interrupts() as stop_if_asked,
    ):
        if inputs is None:
            _check_files(source, target, names, overwrite=overwrite)
        texts = open_table(source if inputs is None else inputs.paths[0], written.dialect).is_text
        release = release_of(
            mechanism,
            names,
            policy,
            row=row,
            person=person,
            key=key,
            rng=rng,
            texts=texts,
            strata=strata,
            into=into,
            of_round=round,
        )
        for part in release.parts:
            _warn_of(part, f"column {quote(part.name)}: " if len(release.parts) > 1 else "")
        asked = FileRelease(
            release, written, book, about, person, most, overwrite, progress, stop_if_asked
        )
        if inputs is None:
            made = _privatize_one(source, target, asked)
        else:
            is_repeatable = key is not None or isinstance(rng, (int, np.integer))
            made = privatize_folder(inputs, target, asked, is_repeatable=is_repeatable)
        if receipt is not None:
            told = release.receipts(rows=False) if len(release.secret_columns) > 1 else [made]
            save_receipt(
                [replace(one, rows=made.rows) for one in told], receipt, overwrite=overwrite
            )
    return made


def _privatize_one(source: Path, target: Path, asked: FileRelease) -> Receipt:
    """One file, whole or not at all."""
    has_note = is_text(target)
    table = open_table(source, asked.written.dialect)
    asked.release.check_names(table.names)
    check_held(asked.schema_after(source, table), target)
    with claimed(target, overwrite=asked.overwrite) as claim:
        if has_note:
            check_writable(receipt_path(target), overwrite=asked.overwrite)
        found = asked.survey([source], source, target.parent)
        number = asked.intend(found, source, target)
        try:
            asked = asked.drawing(found)
            part = claim.part()
            asked.write(source, part, target)
            # The metadata of a Parquet file come before its rows; the fingerprint is the
            # ledger's.
            receipt = replace(asked.release.receipt(), reports=None)
            made = [(part, target)]
            if has_note:
                # First, so that no file of reports is ever without its receipt.
                note = claim.part()
                asked.write_note(note, part, source, target)
                made.insert(0, (note, receipt_path(target)))
            asked.stop_if_asked()
        except BaseException:
            asked.give_up(number)
            raise
        # What is stopped from here on may have been seen, and stays on the books. An interrupt
        # comes too late: all is there.
        _publish(claim, made, asked, number)
    return receipt


@unstopped
def _publish(
    claim: Claim, made: Sequence[tuple[Path, Path]], asked: FileRelease, number: int
) -> None:
    """Let files be seen, and write down that they are there."""
    claim.publish(*made)
    asked.finish(number, claim.target)


def _warn_of(part: Part, subject: str) -> None:
    """Warn of a kernel whose reports are uninformative, or give the secret away."""
    warn_of_untold(part.designed)
    if isinstance(part.kernel, Mechanism):
        warn_of_disclosure(part.kernel, getattr(part.designed, "prior", None), subject)


def _budget(budget: Any, spent: Any, row: Any, person: Any, key: Any, ledger: Any) -> Budget | None:
    """What all draws of a person may come to, where draws of persons are recorded."""
    if budget is not None and (person is None or ledger is False):
        raise InputError(
            "budget",
            expected="person= with it (--person), and a ledger",
            got="others",
            remedy="name the column of persons, and with it best a key, under which values that "
            "come again give the report again",
        )
    found = read_budget(budget, spent)
    if found is not None and found.on_spent == "earlier" and (row is not None or key is None):
        raise InputError(
            "earlier reports where a budget is spent",
            expected="person= and key= with them (--person, --key), and no row=",
            got="others",
            remedy="name a key, under which a person has one report for each value",
        )
    return found


def _ledger(path: str | Path | None, own: list[Path]) -> Ledger:
    """The ledger, which is no file of the release."""
    found = Ledger(path)
    if os.path.realpath(found.path) in {os.path.realpath(path) for path in own}:
        raise InputError(
            "--ledger",
            expected="a file of its own",
            got=f"{found.path}, which is written or read as well",
            remedy="choose another name for the ledger",
        )
    return found


def _check_files(source: Path, target: Path, columns: Sequence[Any], *, overwrite: bool) -> None:
    """Raise an error for files that cannot be read or written."""
    file_ending(target, written=True)
    for column in columns:
        check_source(source, column)
    check_writable(target, overwrite=overwrite)
    if is_text(target):
        check_writable(receipt_path(target), overwrite=overwrite)
