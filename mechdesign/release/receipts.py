"""Receipts: what released data says about the mechanism that made it.

A receipt travels in the metadata of Arrow tables and Parquet files, in ``attrs`` of pandas frames
and in a JSON file next to a CSV file. It names the kernel by its fingerprint, so that estimates can
refuse reports of another mechanism, and the reports by theirs, so that a column that was renamed is
known again. Other tables, and what is merged or joined, lose it: :func:`save_receipt` keeps it in
a file of its own, which :func:`estimate` takes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..errors import (
    DataError,
    InputError,
    LeftoverWarning,
    StorageError,
    UnknownNameError,
    quote,
    warn,
)
from ..files import parse_json, read_text, write_text
from ..labels import parse_labels, tidy
from ..mechanism import kernel_of
from ..published import (
    kernel_fingerprint,
    public_fingerprint,
    shown_fingerprint,
    told_in_public,
)
from ..tables.counting import MISSING_TEXT, distinct_values, is_missing
from ..tables.files import RUN, file_of, find_inputs, is_text, receipt_path
from ..tables.frames import frame_names, frame_parts, listed_values
from ..tables.parts import parts_of
from ..tables.reading import open_table
from .report_counts import ReportCounts

KEY = "mechdesign"
SCHEMA = 1
# Rows whose digests are hashed at once: they stay in the cache.
_CHUNK = 1 << 14
# Values whose texts are kept, as they come in every batch.
_KEPT = 1 << 12


@dataclass(frozen=True)
class Receipt:
    """What made the reports of one column.

    Attributes
    ----------
    column : the column of reports
    kernel : fingerprint of the kernel that drew them
    design : public fingerprint of the design, where there is one
    notions : what the certificate guarantees, such as ``PML(0.5)``
    source : where the random words came from
    for_production : false for reports drawn with a seed, which whoever knows it can undo
    missing, unseen : what was done with values that are no inputs
    rows : number of rows, where it is known
    row, person : the column whose identities the reports belong to, where they were drawn with a
        key: by row, or one report for each person
    key : fingerprint of that key; the same key, kernel and column give the same reports again,
        another key a second release
    reports : fingerprint of the reports, where it is known; a column of another name is known by it
    together : what all reports of several columns guarantee that were drawn together, as a text
    round : name of the round of fresh draws under that key, where there is one
    """

    column: str
    kernel: str
    design: str | None
    notions: tuple[str, ...]
    source: str
    for_production: bool
    missing: str = "error"
    unseen: str = "error"
    rows: int | None = None
    reports: str | None = None
    version: str = field(default=__version__)
    schema: int = SCHEMA
    row: str | None = None
    person: str | None = None
    key: str | None = None
    together: str | None = None
    round: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values; what only reports with a key have is left out of others."""
        values = {**asdict(self), "notions": list(self.notions)}
        for name in ("row", "person", "key", "together", "round"):
            if values[name] is None:
                del values[name]
        return values


_FIELDS = {part.name for part in fields(Receipt)}
_KINDS: dict[str, Any] = {"for_production": bool, "rows": int, "schema": int}
_OPTIONAL = {part.name for part in fields(Receipt) if part.default is None or part.name == "design"}


def _fitting(name: str, value: Any) -> Any:
    """A field of a receipt; ``TypeError`` for what none can hold there."""
    if name == "notions":
        fits = isinstance(value, list) and all(isinstance(text, str) for text in value)
    elif value is None:
        fits = name in _OPTIONAL
    else:
        fits = type(value) is _KINDS.get(name, str) and (name != "rows" or value >= 0)
    if not fits:
        raise TypeError(f"the field {name} of a receipt holds another kind of value")
    return value


def make_receipt(designed: Any, column: str, words: Any, **more: Any) -> Receipt:
    """The receipt of a column drawn from a design or a mechanism."""
    mechanism, notions = kernel_of(designed), getattr(designed, "notions", ())
    # In the order of the public form, so that it does not matter which of the two was applied.
    whole, named = told_in_public(notions)
    stated = (*named, *getattr(designed, "stated", ()))
    return Receipt(
        str(column),
        kernel_fingerprint(mechanism),
        public_fingerprint(mechanism, whole, stated) if whole or stated else None,
        (*map(str, whole), *stated),
        words.source,
        words.for_production,
        **more,
    )


def receipts_to_text(receipts: Mapping[str, Receipt]) -> str:
    """JSON of receipts by column."""
    return json.dumps({name: receipt.to_json() for name, receipt in receipts.items()})


def receipts_from_text(text: str | bytes, name: str = "table") -> dict[str, Receipt]:
    """The inverse of :func:`receipts_to_text`.

    Raises :class:`DataError` for text that is no receipt, or for one of an unknown schema.
    """
    try:
        content = parse_json(text, f"receipt of {name}")
    except StorageError as problem:
        raise _no_receipt(f"receipt of {name}", problem) from None
    return _receipts_in(content, name)


def _receipts_in(content: Any, name: str) -> dict[str, Receipt]:
    found = {}
    try:
        for column, part in content.items():
            if part["schema"] != SCHEMA:
                raise DataError(
                    f"receipt of {name}",
                    expected=f"schema version {SCHEMA}",
                    got=f"{quote(part['schema'])}, written by mechdesign {part.get('version')}",
                    remedy="upgrade mechdesign",
                )
            known = {key: _fitting(key, part[key]) for key in part if key in _FIELDS}
            found[str(column)] = Receipt(**{**known, "notions": tuple(part["notions"])})
    except DataError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        raise _no_receipt(f"receipt of {name}", problem) from None
    return found


def _no_receipt(subject: str, problem: Exception) -> DataError:
    return DataError(
        subject,
        expected="JSON written by mechdesign",
        got=f"something else ({type(problem).__name__})",
        remedy="take the receipt that was written with the reports",
    )


def schema_receipts(schema: Any) -> dict[str, Receipt]:
    """The receipts in the metadata of an Arrow schema."""
    text = (schema.metadata or {}).get(KEY.encode())
    return {} if text is None else receipts_from_text(text)


def with_receipt(schema: Any, *receipts: Receipt) -> Any:
    """The Arrow schema with more receipts in its metadata."""
    kept = {**schema_receipts(schema), **{receipt.column: receipt for receipt in receipts}}
    return schema.with_metadata(
        {**(schema.metadata or {}), KEY.encode(): receipts_to_text(kept).encode()}
    )


def receipts_of(data: Any) -> dict[str, Receipt]:
    """The receipts that a table carries, by column; empty where it carries none.

    Metadata outlive slices, filters and concatenations, so a number of rows larger than that of the
    table is left out; a smaller one says that some rows came from elsewhere.
    """
    found: dict[str, Receipt] = {}
    if isinstance(data, (str, Path)):
        return file_receipts(data)
    if isinstance(getattr(data, "receipts", None), Mapping):  # rows of a file
        return dict(data.receipts)
    if isinstance(getattr(data, "attrs", None), dict):
        text = data.attrs.get(KEY)
        found = {} if text is None else receipts_from_text(text)
    elif type(data).__module__.startswith("pyarrow") and hasattr(data, "schema"):
        found = schema_receipts(data.schema)
    rows = _rows_of(data) if found else None
    return {
        column: receipt
        if rows is None or receipt.rows is None or receipt.rows <= rows
        else replace(receipt, rows=None)
        for column, receipt in found.items()
    }


def _rows_of(data: Any) -> int | None:
    """The number of rows, where it takes no computing."""
    rows = getattr(data, "num_rows", None)
    if rows is None and type(data).__module__.startswith("pandas"):
        rows = len(data)
    return rows if isinstance(rows, int) else None


def save_receipt(data: Any, path: str | Path, *, overwrite: bool = False) -> None:
    """Write the receipt of reports to a file, for tables that lose it on their way.

    Parameters
    ----------
    data : Receipt, list of them, or a table that carries receipts
    path : file to write, JSON
    overwrite : whether it may exist

    Raises
    ------
    DataError
        For a table that carries none.
    StorageError
        When the file exists or cannot be written.

    Examples
    --------
    >>> import tempfile, mechdesign as md, pandas as pd
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]], ["no", "yes"], ["no", "yes"])
    >>> made = md.privatize(pd.DataFrame({"x": ["no", "yes"] * 10}), "x", flip, rng=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     md.save_receipt(made, folder + "/receipt.json")
    ...     counts = made["x"].value_counts().to_dict()
    ...     md.estimate(counts, flip, receipt=folder + "/receipt.json").receipt.column
    'x'
    """
    data = [data] if isinstance(data, Receipt) else data
    is_listed = isinstance(data, list) and all(isinstance(one, Receipt) for one in data)
    found = {one.column: one for one in data} if is_listed else receipts_of(data)
    if not found:
        raise DataError(
            "receipt",
            expected="a receipt, or a table that carries one",
            got=f"a {type(data).__name__} without",
            remedy="save it with the reports: md.privatize(..., receipt='receipt.json')",
        )
    note = {"receipts": json.loads(receipts_to_text(found))}
    write_text(json.dumps(note, indent=1) + "\n", path, overwrite=overwrite)


def read_receipts(path: str | Path) -> tuple[dict[str, Receipt], str | None]:
    """The receipts in a file, by column, and the SHA-256 of the file of reports that it is beside.

    Raises :class:`DataError` for a file that holds none.
    """
    name, text = Path(path).name, read_text(path)
    try:
        note = parse_json(text, name)
        found, digest = note["receipts"], note.get("sha256")
    except (StorageError, KeyError, TypeError, AttributeError) as problem:
        raise _no_receipt(f"receipt {name}", problem) from None
    return _receipts_in(found, name), digest


def load_receipt(path: str | Path, column: str | None = None) -> Receipt:
    """The receipt of a column from a file: that of :func:`save_receipt`, or one beside a CSV file.

    Where the file holds one receipt only, its column may have another name by now.
    """
    found, _ = read_receipts(path)
    if column in found:
        return found[column]
    if len(found) != 1:
        raise UnknownNameError(f"column of receipt {Path(path).name}", column, found)
    return next(iter(found.values()))


def check_receipt(receipt: Receipt, mechanism: Any) -> None:
    """Refuse reports that another kernel made."""
    own = kernel_fingerprint(kernel_of(mechanism))
    if receipt.kernel != own:
        raise DataError(
            f"reports in column {receipt.column!r}",
            expected=f"reports of this mechanism (kernel {shown_fingerprint(own)})",
            got=f"reports of another (kernel {shown_fingerprint(receipt.kernel)}, "
            + (", ".join(receipt.notions) or "no notion")
            + ")",
            remedy="pass the mechanism that made them",
        )


def names_reports(receipts: Mapping[str, Receipt], column: Any) -> bool:
    """Whether a column is one of those that receipts are of, alone or with others."""
    return any(str(column) in (name, *name.split(", ")) for name in receipts)


def known_reports(table: Any, column: str) -> Receipt | None:
    """The receipt that a table carries for the reports in a column, by its name or its values.

    A column that was renamed is known by the fingerprint of its values, as long as they are all
    there in their order.
    """
    found = receipts_of(table)
    if str(column) in found or not found or not hasattr(type(table), "columns"):
        return found.get(str(column))
    names = frame_names(table)
    there = set(map(str, names))
    marked = {r.reports: r for name, r in found.items() if r.reports and name not in there}
    if not marked or names.count(column) != 1:
        return None
    finger = Fingerprinter()
    for (values,) in frame_parts(table, [column]):
        finger.add(values)
    return marked.get(finger.result().sequence)


def trace(
    reports: Any, column: str | None, mechanism: Any, given: Any, count: int, name: str = "reports"
) -> tuple[Receipt | None, str]:
    """The receipt of reports, the one given or one that their table carries, checked.

    Parameters
    ----------
    reports : table, column or counts
    column : name of their column in a table
    given : Receipt, path of a file with one, or ``None``
    count : number of reports

    Returns
    -------
    Receipt, or ``None`` where none came with the reports, and a sentence about what could not be
    told of where they came from, empty where all of them are accounted for.

    Raises
    ------
    DataError
        When the receipt names another mechanism.
    """
    found = None
    if isinstance(given, Receipt):
        found = given
    elif isinstance(given, (str, Path)):
        found = load_receipt(given, column)
    elif given is not None:
        raise InputError(
            "receipt",
            expected="a Receipt, or the path of a file with one",
            got=type(given).__name__,
            remedy="pass what md.save_receipt wrote",
        )
    elif column is not None and not isinstance(reports, Mapping):
        found = known_reports(reports, column)
    if found is None and isinstance(reports, ReportCounts):
        return None, ""  # counts name their kernel, and were refused where it is another
    if found is None:
        return None, (
            f"no receipt came with the {name}: whether this mechanism made them could not be told, "
            "and those of a noisier one would fit it as well"
        )
    check_receipt(found, mechanism)
    if found.rows is not None and count > found.rows:
        return found, (
            f"the receipt that came with the {name} is of {found.rows} of {count}: whether this "
            "mechanism made the others could not be told"
        )
    return found, ""


# Files: in their metadata, or beside those of text


def file_receipts(path: str | Path, *, check: bool = False) -> dict[str, Receipt]:
    """The receipts that belong to a file, by column; empty where there are none.

    Those of a folder or a pattern are of columns that have one in each file, by one kernel. Raises
    :class:`DataError` where there are several.
    """
    inputs = find_inputs(path)
    if inputs is not None:
        if (inputs.base / RUN).exists():
            warn(
                f"the release into {inputs.base} was stopped, and only some of its reports are "
                "there; the call that began it goes on with it",
                LeftoverWarning,
            )
        return _receipts_of_all([file_receipts(one, check=check) for one in inputs.paths])
    _, place = file_of(path)
    if place.suffix and not is_text(place):
        return schema_receipts(open_table(path).schema)
    beside = receipt_path(path)
    if not beside.exists():
        return {}
    found, digest = read_receipts(beside)
    if check and digest != sha256_of(Path(path)):
        raise DataError(
            f"file {Path(path).name}",
            expected="the file that its receipt was written for",
            got="other contents",
            remedy="take the original file; reports must not be edited",
        )
    return found


def _receipts_of_all(each: list[dict[str, Receipt]]) -> dict[str, Receipt]:
    """Receipts of the columns of several files as of one."""
    found = {}
    for column, first in each[0].items():
        all_of_it = [receipts[column] for receipts in each if column in receipts]
        if len(all_of_it) < len(each):
            continue  # where some reports came from cannot be told
        kernels = {receipt.kernel for receipt in all_of_it}
        if len(kernels) > 1:
            raise DataError(
                f"reports in column {column!r}",
                expected="reports of one mechanism in all files",
                got=f"those of {len(kernels)}",
                remedy="estimate from the files of each by themselves",
            )
        rows = [receipt.rows for receipt in all_of_it]
        total = None if None in rows else sum(row for row in rows if row is not None)
        found[column] = replace(first, rows=total, reports=None)
    return found


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as problem:
        raise StorageError(f"file {path}: cannot be read ({problem.strerror}).") from None


# Fingerprints of columns


@dataclass(frozen=True)
class Fingerprint:
    """What tells a column from others.

    Attributes
    ----------
    rows : number of rows
    sequence : hash of the values in their order
    values : hash of how often each value occurs, the same in any order
    """

    rows: int
    sequence: str
    values: str


class Fingerprinter:
    """Builds the fingerprint of a column, batch by batch, in constant memory.

    Values are compared by what they mean, not by how a file writes them: 1, 1.0 and the text
    ``"1"`` are one value, and so are all ways to leave a cell empty. Batches may be cut anywhere.

    Parameters
    ----------
    key : secret bytes
        Columns of secrets have few values, so that a plain hash could be undone by trying. With a
        key only its owner can compare. Reports, which are public, need none.
    """

    def __init__(self, key: bytes = b"") -> None:
        self._key, self._rows = key, 0
        # SHA-256 is several times as fast as BLAKE2 where the processor knows it.
        self._sequence = hashlib.sha256(hashlib.blake2b(key=key).digest())
        self._sums = np.zeros(2, dtype=np.uint64)

    def add(self, array: Any) -> None:
        """Take in an Arrow array, or a list."""
        try:
            values, places = distinct_values(array)
        except DataError:
            # Lists and the like; whatever releases the column refuses them.
            values, places = distinct_values([str(value) for value in listed_values(array)])
        self.add_codes([*values, None], places)

    def add_codes(self, values: Sequence[Any], places: NDArray[np.int64]) -> None:
        """Take in rows that are given by their places among distinct values."""
        mark = self.marker(values)
        for part in parts_of(len(places), _CHUNK):
            self.take(mark(places[part]))

    def add_rows(
        self,
        labels: Sequence[Sequence[Any]],
        rows: Sequence[NDArray[np.int64]],
        places: NDArray[np.int64],
    ) -> None:
        """Take in tuples: each is given by its place among distinct ones, and the parts of these by
        their places among the labels of their column, -1 for null.
        """
        parts = zip(labels, rows, strict=True)
        cells = [map([*own, None].__getitem__, part.tolist()) for own, part in parts]
        self.add_codes([*zip(*cells, strict=True), None], places)

    def marker(self, values: Sequence[Any]) -> Callable[[NDArray[Any]], Marks]:
        """A function that makes of places among these values, the last of which may be called -1,
        what :meth:`take` takes in; it may be called in any thread.
        """
        digests = (self._digest(plain_text(value)) for value in values)
        table = np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64).reshape(-1, 2)
        # Half of a digest tells the values of a column apart.
        halves = np.ascontiguousarray(table[:, 0])

        def mark(places: NDArray[Any]) -> Marks:
            if places.dtype.kind == "i" and len(places) and places.min() < 0:
                places = np.where(places < 0, np.int64(len(table) - 1), places)
            counts = np.bincount(places, minlength=len(table)).astype(np.uint64)
            # Sums modulo 2**64, which do not depend on the order.
            sums = (table * counts[:, None]).sum(axis=0, dtype=np.uint64)
            return Marks(halves.take(places), sums)

        return mark

    def take(self, marks: Marks) -> None:
        """Take in the next rows."""
        self._sequence.update(marks.halves.data)
        self._sums += marks.sums
        self._rows += len(marks.halves)

    def _digest(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode(), digest_size=16, key=self._key).digest()

    def result(self) -> Fingerprint:
        """The fingerprint of the rows so far."""
        total = b"%d;" % self._rows + self._sums.tobytes()
        values = hashlib.blake2b(total, digest_size=16, key=self._key).hexdigest()
        sequence = self._sequence.copy()
        sequence.update(b"%d" % self._rows)
        return Fingerprint(self._rows, sequence.hexdigest()[:32], values)


class Marks(NamedTuple):
    """What a :class:`Fingerprinter` takes in of rows: half the digest of each, and sums of all."""

    halves: NDArray[np.uint64]
    sums: NDArray[np.uint64]


def plain_text(value: Any) -> str:
    """A text that is equal for values that mean the same, in whatever file they stand.

    >>> plain_text(" 1 ") == plain_text(1) == plain_text(1.0)
    True
    >>> plain_text("007") == plain_text(7), plain_text(None) == plain_text("NA")
    (False, True)
    """
    value = tidy(value)
    if not isinstance(value, tuple):
        return _text_of_cell(value)
    parts = [plain_text(part) for part in value]
    return "missing" if set(parts) == {"missing"} else f"row [{', '.join(map(repr, parts))}]"


@lru_cache(maxsize=_KEPT, typed=True)
def _text_of_cell(value: Any) -> str:
    if isinstance(value, str):
        text = value.strip()
        value = None if text.lower() in MISSING_TEXT else parse_labels([text])[0]
    if is_missing(value):
        return "missing"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        whole = isinstance(value, int) or value.is_integer()
        return f"number {int(value) if whole else value!r}"
    return f"text {value}"
