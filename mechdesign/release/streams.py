"""CSV and Parquet files of any size, privatised and counted batch by batch in constant memory."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..errors import DataError, StorageError, UnknownNameError
from ..files import check_writable, claimed, noticed_interrupts, read_json
from ..labels import excel_safe_cell
from ..progress import counter
from ..tables import csv_header
from .batches import ColumnRelease, Policy, load_arrow
from .counting import count_columns
from .encoding import ABSENT, Codebook
from .fingerprints import Fingerprint, Fingerprinter, PairFingerprinter
from .identities import words_and_identity
from .receipts import (
    Receipt,
    check_receipt,
    receipts_from_text,
    receipts_to_text,
    schema_receipts,
    with_receipt,
)
from .repeats import warn_of_rows
from .sampler import mechanism_of

ENDINGS = (".csv", ".parquet")
_ROWS = 1 << 16
_BLOCK = 1 << 22
_CHUNK = 1 << 20
# What makes a cell of a CSV file need quotes.
_SPECIAL = '[",\r\n]'


def receipt_path(path: str | Path) -> Path:
    """Where the receipt of a CSV file is: next to it."""
    return Path(f"{path}.receipt.json")


@dataclass(frozen=True)
class Survey:
    """What a column holds, looked at before anything is released.

    Attributes
    ----------
    fingerprint : of the secrets, under the key of whoever looks
    counts : how often each input of the mechanism occurs
    pairs : fingerprint of identities with their symbols, in any order, where reports are drawn by
        identities; under one key, column and kernel these decide every report
    """

    fingerprint: Fingerprint
    counts: tuple[int, ...]
    pairs: str | None = None


class Recorder(Protocol):
    """Whoever keeps the books of releases."""

    @property
    def key(self) -> bytes:
        """What fingerprints of secrets are made with."""

    def begin(self, survey: Survey, receipt: Receipt) -> None:
        """Called before anything is drawn; what it raises stops the release."""

    def withdraw(self) -> None:
        """Called when the release failed before anything could be seen of it."""

    def finish(self, receipt: Receipt, reports: Fingerprint) -> None:
        """Called when the reports are there."""


def stream_file(
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
    recorder: Recorder | None = None,
) -> Receipt:
    """Write a copy of a file with one column replaced by reports; see :func:`privatize_file`.

    The file is read twice, first to tell the recorder what is about to be released.
    """
    ending = _ending(source)
    if _ending(target) != ending:
        raise DataError(
            "output",
            expected=f"a name that ends in {ending}, as the input",
            got=str(target),
            remedy="rename the output",
        )
    if column in file_receipts(source):
        raise DataError(
            f"column {column!r} of {Path(source).name}",
            expected="the secret itself",
            got="reports, by the receipt of the file",
            remedy="privatise the original column once, and keep these reports",
        )
    texts = ending == ".csv"
    check_writable(target, overwrite=overwrite)
    if texts:
        check_writable(receipt_path(target), overwrite=overwrite)
        book = Codebook(mechanism_of(mechanism).inputs, "inputs of the mechanism", texts=True)
        place = book.place(replacement)
        replacement = replacement if place == ABSENT else book.labels[place]
    policy = Policy(missing, unseen, replacement)
    words, identity = words_and_identity(rng, column, row, person, key)
    release = ColumnRelease(mechanism, column, words, policy, texts=texts, identity=identity)
    with open_batches(source) as (schema, _, _):
        release.find_among(schema.names)
    if identity is not None:
        with open_batches(source, release.surveyed) as (_, batches, _):
            for batch in batches:
                release.survey(batch)
        release = release.checked()
    if person is not None and not (identity and identity.by_person):
        _warn_of_persons(source, person, mechanism)
    with noticed_interrupts() as stop_if_asked, claimed(target, overwrite=overwrite) as claim:
        if texts:
            check_writable(receipt_path(target), overwrite=overwrite)
        if recorder is not None:
            recorder.begin(survey_file(source, release, recorder.key), release.receipt())
        try:
            part, reports = claim.part(), Fingerprinter(b"" if recorder is None else recorder.key)
            release = release.fingerprinted_by(reports)
            _write(source, part, release, stop_if_asked, progress=progress, excel_safe=excel_safe)
            # The metadata of a Parquet file come before its rows; the fingerprint is the ledger's.
            receipt = replace(release.receipt(), reports=None)
            files = [(part, Path(target))]
            if texts:
                note = {"file": Path(target).name, "sha256": _digest(part)}
                carried = {**file_receipts(source), column: receipt}
                note["receipts"] = json.loads(receipts_to_text(carried))
                beside = claim.part()
                beside.write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")
                # First, so that no file of reports is ever without its receipt.
                files.insert(0, (beside, receipt_path(target)))
            stop_if_asked()
        except BaseException:
            if recorder is not None:
                recorder.withdraw()
            raise
        # What is stopped from here on may have been seen, and stays on the books.
        claim.publish(*files)
        if recorder is not None:
            recorder.finish(receipt, reports.result())
    return receipt


def _write(
    source: str | Path,
    part: Path,
    release: ColumnRelease,
    stop_if_asked: Callable[[], None],
    *,
    progress: bool,
    excel_safe: bool,
) -> None:
    """Write the file with the column replaced to a hidden one."""
    ending, name = _ending(source), Path(source).name
    with open_batches(source) as (schema, batches, total):
        after = release.schema(schema)
        if total is not None:
            after = with_receipt(after, replace(release.receipt(rows=False), rows=total))
        with (
            _writer(ending, part, after, source, excel_safe=excel_safe) as write,
            counter(total, "privatising", show=progress) as advance,
        ):
            last = None
            for batch in batches:
                made = release(batch)
                try:
                    write(made)
                except OSError as problem:
                    raise StorageError(
                        f"output: cannot be written ({problem.strerror or 'no reason given'})."
                    ) from None
                advance(batch.num_rows)
                stop_if_asked()
                last = batch if batch.num_rows else last
            if ending == ".csv" and last is not None:
                _check_last_quote(source, last)
    if release.rows == 0:
        raise DataError(
            f"table {name}", expected="at least one row", got="none", remedy="check the file"
        )


def survey_file(source: str | Path, release: ColumnRelease, key: bytes) -> Survey:
    """What a file holds that is about to be released: fingerprints under a key, and counts."""
    look = release.checked()
    finger, pairs = Fingerprinter(key), PairFingerprinter(key)
    book = Codebook(look.mechanism.inputs, "inputs of the mechanism", texts=look.texts)
    counts = np.zeros(len(look.mechanism.inputs) + 1, dtype=np.int64)
    named = [] if look.identity is None else [look.identity.column]
    with open_batches(source, [look.column, *named]) as (_, batches, _):
        for batch in batches:
            secrets = batch.column(0)
            finger.add(secrets)
            for value, count in count_distinct(secrets):
                counts[book.place(value)] += count
            if named:
                # Identities as the draws read them: 7 and "7" mean the same, and draw differently.
                codes = look.encode(secrets)
                pairs.add(look.survey(batch), codes)
    return Survey(finger.result(), tuple(counts[:-1].tolist()), pairs.result() if named else None)


def count_file(
    path: str | Path, columns: list[str], mechanisms: list[Any], *, progress: bool = False
) -> dict[Any, int]:
    """How often each value (or tuple of values) occurs in columns of a CSV or Parquet file.

    Receipts of the file must name the mechanisms, and a CSV file must be the one that its receipt
    was written for.
    """
    receipts = file_receipts(path, check=True)
    for column, item in zip(columns, mechanisms, strict=True):
        if column in receipts:
            check_receipt(receipts[column], item)
    found: dict[Any, int] = {}
    kernels = [mechanism_of(item) for item in mechanisms]
    pa = load_arrow()
    with (
        open_batches(path, columns) as (_, batches, total),
        counter(total, "counting", show=progress) as advance,
    ):
        for batch in batches:
            table = pa.Table.from_batches([batch]).replace_schema_metadata(None)
            for key, count in count_columns(table, columns, *kernels).items():
                found[key] = found.get(key, 0) + count
            advance(batch.num_rows)
    return found


def file_receipts(path: str | Path, *, check: bool = False) -> dict[str, Receipt]:
    """The receipts that belong to a file, by column; empty where there are none."""
    if _ending(path) == ".parquet":
        with open_batches(path, []) as (schema, _, _):
            return schema_receipts(schema)
    beside = receipt_path(path)
    if not beside.exists():
        return {}
    try:
        note = read_json(beside)
        text, digest = json.dumps(note["receipts"]), note["sha256"]
    except (StorageError, ValueError, KeyError, TypeError):
        raise DataError(
            f"receipt {beside.name}",
            expected="JSON written by mechdesign",
            got="something else",
            remedy="take the receipt that was written with the reports, or remove it",
        ) from None
    if check and digest != _digest(Path(path)):
        raise DataError(
            f"file {Path(path).name}",
            expected="the file that its receipt was written for",
            got="other contents",
            remedy="take the original file; reports must not be edited",
        )
    return receipts_from_text(text, beside.name)


@contextmanager
def open_batches(
    path: str | Path, columns: list[str] | None = None
) -> Iterator[tuple[Any, Iterator[Any], int | None]]:
    """Schema, batches and number of rows (where it is known) of a file.

    All columns of a CSV file are text, so that what is not privatised is written as it was read.
    """
    pa = load_arrow()
    ending = _ending(path)
    if not Path(path).is_file():
        raise DataError(
            "table", expected="an existing file", got=str(path), remedy="check the path"
        )
    try:
        if ending == ".csv":
            yield _csv_batches(path, columns)
        else:
            from pyarrow.parquet import ParquetFile

            # Without these, the reader keeps what it has read until the end of the file.
            with ParquetFile(path, buffer_size=_CHUNK, pre_buffer=False) as file:
                schema = file.schema_arrow
                for column in columns or []:
                    if column not in schema.names:
                        raise UnknownNameError("column", column, schema.names)
                batches = (
                    batch
                    for number in range(file.num_row_groups)
                    for batch in file.iter_batches(_ROWS, row_groups=[number], columns=columns)
                )
                yield schema, batches, file.metadata.num_rows
    except pa.ArrowInvalid as problem:
        raise DataError(
            f"table {Path(path).name}",
            expected=f"a {ending[1:]} file",
            got=_without_cells(problem),
            remedy="check the file",
        ) from None
    except OSError as problem:
        raise DataError(
            f"table {Path(path).name}",
            expected="a readable file",
            got=" ".join(str(problem).split())[:200].rstrip("."),
            remedy="check the path and its permissions",
        ) from None


def _csv_batches(
    path: str | Path, columns: list[str] | None
) -> tuple[Any, Iterator[Any], int | None]:
    pa = load_arrow()
    from pyarrow import csv as arrow_csv

    header = csv_header(path)
    for column in columns or []:
        if column not in header:
            raise UnknownNameError("column", column, header)
    reader = arrow_csv.open_csv(
        path,
        read_options=arrow_csv.ReadOptions(block_size=_BLOCK, use_threads=False),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()),
            strings_can_be_null=False,
            include_columns=columns or None,
        ),
    )
    return reader.schema, iter(reader), None


@contextmanager
def _writer(
    ending: str, name: Path, schema: Any, source: str | Path, *, excel_safe: bool
) -> Iterator[Any]:
    if ending == ".csv":
        safe = excel_safe_batch if excel_safe else lambda batch: batch
        with open(name, "wb") as text:
            header = map(excel_safe_cell, schema.names) if excel_safe else schema.names
            text.write(_csv_line(list(header)))
            yield lambda batch: text.write(_csv_text(safe(batch)))
        return
    from pyarrow.parquet import ParquetFile, ParquetWriter

    with ParquetFile(source) as old:
        rows = old.metadata.num_row_groups and old.metadata.num_columns
        codec = old.metadata.row_group(0).column(0).compression if rows else "SNAPPY"
    codec = "NONE" if codec == "UNCOMPRESSED" else codec
    with ParquetWriter(name, schema, compression=codec) as file:
        yield lambda batch: file.write_batch(batch.replace_schema_metadata(schema.metadata))


def _check_last_quote(source: str | Path, batch: Any) -> None:
    """Refuse a file whose last cell takes in further lines, as its quote is never closed.

    Those lines are rows that would be written out as they are.
    """
    cell = batch.column(batch.num_columns - 1)[batch.num_rows - 1].as_py() or ""
    if "\n" not in cell.rstrip("\r\n"):
        return
    with open(source, "rb") as file:
        file.seek(max(0, Path(source).stat().st_size - _CHUNK))
        end = file.read().rstrip(b"\r\n")
    if not end.endswith(b'"'):
        raise DataError(
            f"table {Path(source).name}",
            expected="quotes that are closed",
            got=f"a cell in the last column that takes in the last {len(cell.splitlines())} lines",
            remedy="close the quote, or double it where it is meant as a character",
        )


def excel_safe_batch(batch: Any) -> Any:
    """The batch as text that no spreadsheet runs."""
    pa = load_arrow()
    columns = [
        pa.array([excel_safe_cell(cell) for cell in column.cast(pa.string()).to_pylist()])
        for column in batch.columns
    ]
    columns = [column.cast(pa.string()) for column in columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _csv_line(cells: list[str | None]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue().encode()


def _csv_text(batch: Any) -> bytes:
    """Rows of text as CSV, with quotes only where a cell needs them."""
    pa = load_arrow()
    from pyarrow import compute
    from pyarrow.csv import WriteOptions, write_csv

    columns = [column.cast(pa.string()) for column in batch.columns]
    plain = len(columns) > 1 and not any(
        compute.any(compute.match_substring_regex(column, _SPECIAL)).as_py() for column in columns
    )
    if plain:
        sink = pa.BufferOutputStream()
        table = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
        write_csv(table, sink, WriteOptions(include_header=False, quoting_style="none"))
        return bytes(sink.getvalue())
    buffer = io.StringIO()
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as problem:
        raise StorageError(f"file {path}: cannot be read ({problem.strerror}).") from None
    return digest.hexdigest()


def _ending(path: str | Path) -> str:
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise DataError(
            "file",
            expected=f"a name that ends in {' or '.join(ENDINGS)}",
            got=str(path),
            remedy="convert it, or privatise a data frame in Python with md.privatize",
        )
    return ending


def _without_cells(problem: Exception) -> str:
    """What Arrow says is wrong with a file, without the cells that it quotes."""
    text = " ".join(str(problem).split())
    found = re.search(r"(?:Row #\d+: )?Expected \d+ columns, got \d+", text)
    if found is not None:
        return "a row of another length: " + found[0]
    # What comes after a colon or in quotes may be a cell.
    return re.split(r"[:'\"]", text.removeprefix("CSV parse error: "))[0][:200].strip(" .")


def count_distinct(array: Any) -> list[tuple[Any, int]]:
    """Distinct values of an Arrow array and how often each occurs."""
    from pyarrow import compute

    return [
        (entry["values"].as_py(), entry["counts"].as_py()) for entry in compute.value_counts(array)
    ]


def _warn_of_persons(source: str | Path, person: str, mechanism: Any) -> None:
    counts: dict[Any, int] = {}
    with open_batches(source, [person]) as (_, batches, _):
        for batch in batches:
            for key, count in count_distinct(batch.column(0)):
                counts[key] = counts.get(key, 0) + count
    known = (count for who, count in counts.items() if who not in (None, ""))
    warn_of_rows(max(known, default=0), person, mechanism)
