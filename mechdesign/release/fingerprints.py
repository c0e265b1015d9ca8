"""Fingerprints of columns: the same values are known again in another file, format or order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..labels import parse_labels, tidy
from ..tables import MISSING_TEXT, is_missing
from .receipts import Receipt, receipts_of


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
        self._sequence = hashlib.blake2b(digest_size=16, key=key)
        self._sums = np.zeros(2, dtype=np.uint64)

    def add(self, array: Any) -> None:
        """Take in an Arrow array."""
        import pyarrow as pa

        if isinstance(array, pa.ChunkedArray):
            array = array.unify_dictionaries().combine_chunks()
        if not pa.types.is_dictionary(array.type):
            try:
                array = array.dictionary_encode()
            except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
                # Lists and the like; whatever releases the column refuses them.
                array = pa.array([str(value) for value in array.to_pylist()]).dictionary_encode()
        values = array.dictionary.to_pylist()
        places = array.indices.cast(pa.int64()).fill_null(len(values))
        self.add_codes([*values, None], places.to_numpy(zero_copy_only=False))

    def add_codes(self, values: Sequence[Any], places: NDArray[np.int64]) -> None:
        """Take in rows that are given by their places among distinct values."""
        digests = np.array([self._digest(value) for value in values], dtype=np.uint64)
        self._sequence.update(np.ascontiguousarray(digests.reshape(-1, 2)[places]).tobytes())
        counts = np.bincount(places, minlength=len(values)).astype(np.uint64)
        # Sums modulo 2**64, which do not depend on the order.
        self._sums += (digests.reshape(-1, 2) * counts[:, None]).sum(axis=0, dtype=np.uint64)
        self._rows += len(places)

    def _digest(self, value: Any) -> tuple[int, int]:
        digest = hashlib.blake2b(plain_text(value).encode(), digest_size=16, key=self._key).digest()
        return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")

    def result(self) -> Fingerprint:
        """The fingerprint of the rows so far."""
        total = b"%d;" % self._rows + self._sums.tobytes()
        values = hashlib.blake2b(total, digest_size=16, key=self._key).hexdigest()
        sequence = self._sequence.copy()
        sequence.update(b"%d" % self._rows)
        return Fingerprint(self._rows, sequence.hexdigest(), values)


class PairFingerprinter:
    """Builds a fingerprint of identities with their symbols, the same in any order.

    Parameters
    ----------
    key : secret bytes, as of :class:`Fingerprinter`
    """

    def __init__(self, key: bytes) -> None:
        self._row = hashlib.blake2b(digest_size=16, key=key, person=b"mechdesign-pairs")
        self._rows = self._sum = 0

    def add(self, identities: Sequence[bytes], codes: NDArray[np.int64]) -> None:
        """Take in rows by their encoded identities and the positions of their symbols."""
        for identity, code in zip(identities, codes.tolist(), strict=True):
            found = self._row.copy()
            found.update(code.to_bytes(8, "little", signed=True) + identity)
            # A sum does not depend on the order.
            self._sum += int.from_bytes(found.digest(), "little")
        self._rows += len(identities)

    def result(self) -> str:
        """The fingerprint of the rows so far."""
        found = self._row.copy()
        found.update(b"%d;%d" % (self._rows, self._sum))
        return found.hexdigest()


def plain_text(value: Any) -> str:
    """A text that is equal for values that mean the same, in whatever file they stand.

    >>> plain_text(" 1 ") == plain_text(1) == plain_text(1.0)
    True
    >>> plain_text("007") == plain_text(7), plain_text(None) == plain_text("NA")
    (False, True)
    """
    value = tidy(value)
    if isinstance(value, str):
        word = value.strip()
        value = None if word.lower() in MISSING_TEXT else parse_labels([word])[0]
    if is_missing(value):
        return "missing"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        whole = isinstance(value, int) or value.is_integer()
        return f"number {int(value) if whole else value!r}"
    return f"text {value}"


def known_reports(table: Any, column: str) -> Receipt | None:
    """The receipt that a table carries for the reports in a column, by its name or its values.

    A column that was renamed is known by the fingerprint of its values, as long as they are all
    there in their order.
    """
    found = receipts_of(table)
    if str(column) in found or not found:
        return found.get(str(column))
    names = table.schema.names if hasattr(table, "schema") else map(str, table.columns)
    there = set(names)
    marked = {r.reports: r for name, r in found.items() if r.reports and name not in there}
    if not marked:
        return None
    array = _array(table, column)
    if array is None:
        return None
    finger = Fingerprinter()
    finger.add(array)
    return marked.get(finger.result().sequence)


def _array(table: Any, column: str) -> Any:
    """A column of a pandas frame or an Arrow table as an Arrow array; ``None`` for others."""
    import pyarrow as pa

    if type(table).__module__.startswith("pandas") and list(table.columns).count(column) == 1:
        try:
            return pa.Array.from_pandas(table[column])
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            return None  # values of several types, as no mechanism reports them
    if hasattr(table, "schema") and table.schema.names.count(column) == 1:
        return table.column(column) if hasattr(table, "column") else None
    return None
