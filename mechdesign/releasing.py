"""``privatize_file``: a column of a file, released once and recorded."""

from __future__ import annotations

import os
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from .errors import CountsWarning, InputError, StorageError, quote, warn
from .first_ledgers import is_first, read_first
from .ledger import Ledger
from .release.encoding import show_values as quote_values
from .release.fingerprints import Fingerprint
from .release.identify import warn_of_untold
from .release.published import needs_prior
from .release.receipts import Receipt
from .release.streams import Survey, receipt_path, stream_file

# Shares this close are those of the same counts, at any number of rows that a file has.
_ROUNDING = Fraction(1, 10**10)
# What the ledger was called that lay beside the output.
_BESIDE = "mechdesign-ledger.json"


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
    column, mechanism, missing, unseen, replacement, row, person, key, rng : as in :func:`privatize`
        Identities are checked in a pass of their own, before anything is written, which takes about
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
        When reports would tell nothing about the secret.
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
    opened = None if ledger is False else Ledger(ledger)
    book = Book(opened, mechanism, Path(source), Path(target), about)
    with quote_values() if show_values else nullcontext():
        return stream_file(
            source,
            target,
            column,
            mechanism,
            missing=missing,
            unseen=unseen,
            replacement=replacement,
            row=row,
            person=person,
            key=key,
            rng=rng,
            overwrite=overwrite,
            progress=progress,
            excel_safe=excel_safe,
            recorder=book,
        )


class Book:
    """Looks at the secrets before they are released, and writes the release into a ledger.

    Parameters
    ----------
    ledger : Ledger, or ``None`` for none
    item : Mechanism or Design that is applied
    source, target : the files
    about : name of the people; the input file when left out
    """

    def __init__(
        self, ledger: Ledger | None, item: Any, source: Path, target: Path, about: str | None
    ) -> None:
        self.ledger, self.item = ledger, item
        self.source, self.target, self.about = source, target, about
        self._number = -1
        mine = {os.path.realpath(path) for path in (target, source, receipt_path(target))}
        if ledger is not None and os.path.realpath(ledger.path) in mine:
            raise InputError(
                "--ledger",
                expected="a file of its own",
                got=f"{ledger.path}, which is written or read as well",
                remedy="choose another name for the ledger",
            )

    @property
    def key(self) -> bytes:
        """The key of the ledger, empty without one."""
        return b"" if self.ledger is None else self.ledger.key

    def begin(self, survey: Survey, receipt: Receipt) -> None:
        """Warn of a design that holds the counts of this column, and write the intent."""
        self._warn_of_counts(survey, receipt)
        if self.ledger is not None:
            about = (
                f"file {os.path.realpath(self.source)}"
                if self.about is None
                else f"name {self.about}"
            )
            self._number = self.ledger.open(
                survey,
                [about],
                self.about or self.source.name,
                receipt,
                self.item,
                self.target.name,
                self._older(about, receipt.column),
            )

    def _warn_of_counts(self, survey: Survey, receipt: Receipt) -> None:
        prior, total = getattr(self.item, "prior", None), sum(survey.counts)
        if prior is None or not total or len(set(prior.weights)) == 1:
            return
        # Shares that were written as decimals are off by their rounding.
        most = _ROUNDING * prior.total * total
        pairs = zip(survey.counts, prior.weights, strict=True)
        if all(abs(count * prior.total - weight * total) <= most for count, weight in pairs):
            fitted = any(map(needs_prior, self.item.notions))
            warn(
                f"the design was made from the counts of this very column {receipt.column!r}, and "
                "its file holds them exactly, which no notion covers; keep it to yourself, and "
                "give others its public form (md.save(..., public=True), mechdesign show --public)"
                + (", after you read what that warns of" if fitted else ""),
                CountsWarning,
            )

    def withdraw(self) -> None:
        """Nothing came of it."""
        if self.ledger is not None and self._number >= 0:
            self.ledger.close(self._number, None)

    def finish(self, receipt: Receipt, reports: Fingerprint) -> None:
        """The reports are there."""
        if self.ledger is None:
            return
        try:
            self.ledger.close(self._number, reports)
        except StorageError as problem:
            raise StorageError(
                f"the reports are in {self.target} and count as released, but the ledger could "
                f"not be told that they were finished ({problem})"
            ) from None

    def _older(self, about: str, column: str) -> list[dict[str, Any]]:
        """Releases of the same people in ledgers of the first kind, which lay beside outputs.

        Where those went is not known: looked for beside this output, beside the input and here.
        """
        assert self.ledger is not None
        folders = (self.target.parent, self.source.parent, Path())
        own = os.path.realpath(self.ledger.path)
        found: list[dict[str, Any]] = []
        for path in dict.fromkeys(os.path.realpath(folder / _BESIDE) for folder in folders):
            beside = Path(path)
            if path == own or not beside.is_file() or not is_first(beside):
                continue
            rows, kernels = read_first(beside)
            made = [{**row, "made": kernels[row["kernel"]]} for row in rows]
            found += [row for row in made if about in row["about"] and row["column"] == column]
            warn(
                f"{beside} is a ledger of an earlier version: it holds whole designs, which may "
                "hold counts of people, and paths of the data; keep it from whoever gets the "
                "reports",
                CountsWarning,
            )
        return found
