"""One Arrow batch in, one Arrow batch out: the function under every frame, file and engine."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, MechdesignError, UnknownNameError, quote
from ..labels import listing, tidy
from ..tables import MISSING_TEXT, is_missing
from .alias import AliasTable
from .encoding import ABSENT, Codebook, label_text
from .entropy import Words, words_from
from .fingerprints import Fingerprinter
from .identities import Admission, Identity, encode_identities
from .receipts import Receipt, kernel_fingerprint, make_receipt, with_receipt
from .sampler import mechanism_of

MISSING = ("error", "keep", "replace")
UNSEEN = ("error", "null", "replace")


def load_arrow() -> Any:
    """The pyarrow module, or an error that says how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise MechdesignError(
            "tables need pyarrow, which is not installed; pip install 'mechdesign[frames]'."
        ) from None
    return pyarrow


@dataclass(frozen=True)
class Policy:
    """What happens to values that are no inputs of the mechanism.

    ``missing``: nulls and NaN, unless the mechanism has a null input; ``unseen``: other values.
    What stays null tells everybody which rows had no usable value, which no notion covers.
    """

    missing: str = "error"
    unseen: str = "error"
    replacement: Any = None

    def check(self, codebook: Codebook) -> None:
        """Raise :class:`InputError` for policies that do not exist or do not fit together."""
        if not isinstance(self.missing, str) or self.missing not in MISSING:
            raise UnknownNameError("policy for missing values", self.missing, MISSING)
        if not isinstance(self.unseen, str) or self.unseen not in UNSEEN:
            raise UnknownNameError("policy for unseen values", self.unseen, UNSEEN)
        asked = "replace" in (self.missing, self.unseen)
        if asked and self.replacement is None and codebook.place(None) == ABSENT:
            raise InputError(
                "replacement",
                expected="the input that stands in for other values",
                got="none",
                remedy="name one of " + listing(codebook.labels),
            )
        if asked and codebook.place(self.replacement) == ABSENT:
            raise codebook.refuse(
                "replacement",
                [self.replacement],
                "name the input that stands in for others",
                own=True,
            )
        if not asked and self.replacement is not None:
            raise InputError(
                "replacement",
                expected="missing='replace' or unseen='replace' with it",
                got=f"{quote(self.replacement)} alone",
                remedy="say what it should replace",
            )


class ColumnRelease:
    """Privatises one column of Arrow batches, in constant memory.

    Parameters
    ----------
    item : Mechanism or Design
    column : name of the column
    words : source of random words; one for each row
    policy : what to do with values that are no inputs
    texts : whether cells were read from a text file, so that labels are matched by their text
    identity : the column that identifies the rows, and a key, which then decide the words; no
        identity is admitted twice over all batches
    """

    def __init__(
        self,
        item: Any,
        column: Any,
        words: Words | None = None,
        policy: Policy | None = None,
        *,
        texts: bool = False,
        identity: Identity | None = None,
    ) -> None:
        self.item, self.column, self.identity = item, column, identity
        self.mechanism = mechanism_of(item)
        self.words = words_from(words)
        self.policy = policy or Policy()
        self.texts = texts
        self.rows = 0
        self._admission = None if identity is None else Admission(identity)
        # Words of the only rows that may come, where the table was seen before.
        self._seen: NDArray[np.uint64] | None = None
        self._reports: Fingerprinter | None = Fingerprinter()
        self._book = Codebook(self.mechanism.inputs, "inputs of the mechanism", texts=texts)
        self.policy.check(self._book)

    @cached_property
    def table(self) -> AliasTable:
        """The thresholds that draws are compared with."""
        return AliasTable(self.mechanism)

    def __getstate__(self) -> dict[str, Any]:
        # A hash under way cannot be sent to another process; what is drawn there has its own.
        return {**self.__dict__, "_reports": None}

    @cached_property
    def _kernel(self) -> str:
        return kernel_fingerprint(self.mechanism)

    def _with(self, **parts: Any) -> ColumnRelease:
        other = ColumnRelease.__new__(ColumnRelease)
        other.__dict__.update({**self.__dict__, "rows": 0, "_reports": Fingerprinter(), **parts})
        return other

    def with_words(self, words: Words) -> ColumnRelease:
        """The same release with other words."""
        return self._with(words=words)

    def checked(self) -> ColumnRelease:
        """The same release for a table whose identities are known to be admissible."""
        return self._with(_admission=None)

    def fixed(self, identities: list[bytes], codes: NDArray[np.int64]) -> ColumnRelease:
        """The same release for a table of these rows, in any order and as often as they come."""
        words = self._words_of(identities, codes)
        return self._with(_admission=None, _seen=np.sort(words.take(len(codes))))

    def _words_of(self, identities: list[bytes], codes: NDArray[np.int64]) -> Words:
        assert self.identity is not None
        return self.identity.words(str(self.column), self._kernel, identities, codes, self._seen)

    def fingerprinted_by(self, reports: Fingerprinter) -> ColumnRelease:
        """The same release, with the fingerprint of its reports made by another."""
        return self._with(_reports=reports)

    def without_identity(self) -> ColumnRelease:
        """What may be seen: the kernel and policy, no key and no design with its prior."""
        self.table, self._kernel  # noqa: B018 - computed once, for all who get a copy
        words = words_from(None)
        return self._with(identity=None, _admission=None, words=words, item=self.mechanism)

    def with_identity(self, identity: Identity | None) -> ColumnRelease:
        """The same release, drawn by identities that were checked."""
        return self._with(identity=identity, _admission=None)

    def receipt(self, *, rows: bool = True) -> Receipt:
        """What made the reports so far."""
        found = make_receipt(
            self.item,
            self.column,
            self.identity or self.words,
            missing=self.policy.missing,
            unseen=self.policy.unseen,
            **(self.identity.receipt_fields() if self.identity else {}),
        )
        if not rows:
            return found
        reports = None if self._reports is None else self._reports.result().sequence
        return replace(found, rows=self.rows, reports=reports)

    # Arrow batches

    def __call__(self, batch: Any) -> Any:
        """A RecordBatch or Table with the column replaced; everything else is as it was."""
        place = self.find_among(batch.schema.names)
        codes = self.encode(batch.column(place))
        drawn = self.draw(codes, self.identify(batch, codes))
        array = self.decode(drawn, batch.schema.field(place).type)
        field = batch.schema.field(place).with_type(array.type)
        return batch.set_column(place, field, array)

    def schema(self, schema: Any) -> Any:
        """The schema of what comes out, with the receipt in its metadata."""
        place = self.find_among(schema.names)
        kind = self.decode(np.empty(0, dtype=np.int64), schema.field(place).type).type
        changed = schema.set(place, schema.field(place).with_type(kind))
        return with_receipt(changed, self.receipt(rows=False))

    def find_among(self, names: Sequence[Any]) -> int:
        """Position of the column among the names of a table, which has that of identities too."""
        if self.identity is not None:
            find_column(names, self.identity.column)
        return find_column(names, self.column)

    # Identities

    def identify(self, batch: Any, codes: NDArray[np.int64] | None) -> list[bytes] | None:
        """Identities of the rows of an Arrow batch, checked; ``None`` where there are none."""
        if self.identity is None:
            return None
        place = find_column(batch.schema.names, self.identity.column)
        return self.admit(batch.column(place), codes)

    def admit(self, values: Any, codes: NDArray[np.int64] | None) -> list[bytes]:
        """Identities of the values of an Arrow array or a list, none of which came before."""
        assert self.identity is not None
        found = encode_identities(values, self.identity.column, texts=self.texts)
        if self._admission is not None:
            self._admission.admit(found, codes)
        return found

    def admit_identities(self, found: list[bytes], codes: NDArray[np.int64] | None) -> None:
        """Take in identities that were read elsewhere."""
        assert self._admission is not None
        self._admission.admit(found, codes)

    def survey(self, batch: Any) -> list[bytes]:
        """Identities of a batch that is drawn later, checked; it needs no other columns."""
        assert self.identity is not None
        codes = None
        if self.identity.by_person:
            codes = self.encode(batch.column(find_column(batch.schema.names, self.column)))
        place = find_column(batch.schema.names, self.identity.column)
        found = self.admit(batch.column(place), codes)
        # For errors, which say in which row they are.
        self.rows += batch.num_rows
        return found

    @property
    def surveyed(self) -> list[str]:
        """The columns that :meth:`survey` reads."""
        assert self.identity is not None
        return [self.identity.column, *([self.column] if self.identity.by_person else [])]

    # Codes

    def draw(
        self, codes: NDArray[np.int64], identities: list[bytes] | None = None
    ) -> NDArray[np.int64]:
        """Output positions for input positions, -1 for -1."""
        absent = codes == ABSENT
        words = self.words
        if self.identity is not None:
            assert identities is not None
            words = self._words_of(identities, codes)
        if not absent.any():
            drawn = self.table.draw(codes, words).astype(np.int64)
        else:
            # Every row takes its word, so that the others do not depend on it.
            drawn = self.table.draw(np.where(absent, 0, codes), words).astype(np.int64)
            drawn[absent] = ABSENT
        self.rows += len(codes)
        outputs = self.mechanism.outputs
        if self._reports is None:
            self._reports = Fingerprinter()
        self._reports.add_codes([*outputs, None], np.where(drawn == ABSENT, len(outputs), drawn))
        return drawn

    def encode(self, array: Any) -> NDArray[np.int64]:
        """Input positions for the values of an Arrow array, by the policy; -1 for null reports."""
        pa = load_arrow()
        if isinstance(array, pa.ChunkedArray):
            array = array.unify_dictionaries().combine_chunks()
        if not pa.types.is_dictionary(array.type):
            try:
                array = array.dictionary_encode()
            except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
                raise DataError(
                    f"column {self.column!r}",
                    expected="text, numbers or categories",
                    got=f"values of type {array.type}",
                    remedy="select a column that holds one value per row",
                ) from None
        values = array.dictionary.to_pylist()
        indices = array.indices.cast(pa.int64()).fill_null(len(values))
        return self.look_up(values, indices.to_numpy(zero_copy_only=False))

    def encode_values(self, values: list[Any]) -> NDArray[np.int64]:
        """Input positions for Python values of any types, by the policy."""
        try:
            found = dict.fromkeys(values)
        except TypeError:
            raise DataError(
                f"column {self.column!r}",
                expected="text, numbers or categories",
                got="values that are not hashable, such as lists",
                remedy="select a column that holds one value per row",
            ) from None
        places = {value: i for i, value in enumerate(found)}
        indices = np.fromiter((places[value] for value in values), np.int64, len(values))
        return self.look_up(list(found), indices)

    def look_up(self, values: list[Any], indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Input positions for distinct values and positions among them (one more for null)."""
        values = [tidy(value) for value in values]
        places = np.append(self._book.places(values), self._book.place(None))
        missing = np.array([*map(self._is_missing, values), True])
        kind = np.where(places != ABSENT, 0, np.where(missing, 1, 2))
        if kind.any():
            counts = np.bincount(indices, minlength=len(kind))
            self._settle([*values, None], kind, counts, places, indices)
        return places[indices]

    def _is_missing(self, value: Any) -> bool:
        if is_missing(value):
            return True
        return self.texts and isinstance(value, str) and is_missing_text(value)

    def _settle(
        self,
        values: list[Any],
        kind: NDArray[np.int64],
        counts: NDArray[np.int64],
        places: NDArray[np.int64],
        indices: NDArray[np.int64],
    ) -> None:
        """Apply the policy to the values that are no inputs and that do occur."""
        total = len(indices)
        blank = int(counts[kind == 1].sum())
        if blank and self.policy.missing == "error":
            raise DataError(
                f"column {self.column!r}",
                expected="no missing values",
                got=f"{blank} in {total} rows",
                remedy="fill them in, or choose missing='keep' or 'replace' (--missing)",
            )
        strangers = [v for v, k, c in zip(values, kind, counts, strict=True) if k == 2 and c]
        if strangers and self.policy.unseen == "error":
            rows = np.flatnonzero((kind == 2)[indices])
            first = self.rows + int(rows[0]) + 1
            raise self._book.refuse(
                f"column {self.column!r}",
                strangers,
                "correct them, or choose unseen='null' or 'replace' (--unseen)",
                f" in {len(rows)} row{'s' * (len(rows) > 1)}, first in row {first}",
            )
        stand_in = self._book.place(self.policy.replacement)
        if self.policy.missing == "replace":
            places[kind == 1] = stand_in
        if self.policy.unseen == "replace":
            places[kind == 2] = stand_in

    # Reports

    def decode(self, drawn: NDArray[np.int64], kind: Any) -> Any:
        """An Arrow array of output labels, of the given type where the labels fit it."""
        pa = load_arrow()
        dictionary = pa.types.is_dictionary(kind)
        labels = output_array(self.mechanism.outputs, kind.value_type if dictionary else kind)
        absent = drawn == ABSENT
        mask = absent if absent.any() else None
        if not dictionary:
            indices = pa.array(drawn, mask=mask)
            if "_view" in str(labels.type):
                # Arrow selects no rows of views.
                plain = pa.array(labels.to_pylist())
                return plain.take(indices).cast(labels.type)
            return labels.take(indices)
        width = kind.index_type
        if len(labels) - 1 > np.iinfo(width.to_pandas_dtype()).max:
            width = pa.int32()
        indices = pa.array(drawn, mask=mask).cast(width)
        ordered = bool(kind.ordered) and self.mechanism.outputs == self.mechanism.inputs
        return pa.DictionaryArray.from_arrays(indices, labels, ordered=ordered)


def find_column(names: Sequence[Any], column: Any) -> int:
    """Position of a column among the names of a table, which has it once."""
    names = list(names)
    if not isinstance(column, Hashable):
        raise UnknownNameError("column", column, map(str, names))
    if names.count(column) > 1:
        raise DataError(
            "table",
            expected=f"one column {column!r}",
            got=f"{names.count(column)} of that name",
            remedy="rename the columns",
        )
    if column not in names:
        raise UnknownNameError("column", column, map(str, names))
    return names.index(column)


def check_names(names: Sequence[Any]) -> None:
    """Raise :class:`DataError` for a table with two columns of one name."""
    if len(set(names)) < len(names):
        raise DataError(
            "table",
            expected="distinct column names",
            got=f"{next(name for name in names if list(names).count(name) > 1)!r} more than once",
            remedy="rename the columns",
        )


def check_rows(rows: int) -> None:
    """Raise :class:`DataError` for a table without rows."""
    if rows == 0:
        raise DataError(
            "table", expected="at least one row", got="none", remedy="check how it was read"
        )


def output_array(outputs: tuple[Any, ...], kind: Any) -> Any:
    """Output labels as an Arrow array: of the given type, else of their own, else as text."""
    pa = load_arrow()
    for wanted in (kind, None):
        try:
            found = pa.array(list(outputs), type=wanted)
            if same_labels(found.to_pylist(), outputs):
                return found
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
    return pa.array(output_texts(outputs))


def same_labels(found: list[Any], outputs: Sequence[Any]) -> bool:
    """Whether values are the labels, none of them lost in a conversion (1.0 is 1, True is not)."""
    return found == list(outputs) and all(
        isinstance(a, bool) == isinstance(b, bool) for a, b in zip(found, outputs, strict=True)
    )


def output_texts(outputs: tuple[Any, ...]) -> list[str]:
    """Output labels as distinct text."""
    texts = [label_text(label) for label in outputs]
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise DataError(
            "outputs of the mechanism",
            expected="labels that are distinct as text",
            got=f"{quote(twice)} for two of them",
            remedy="relabel the outputs",
        )
    return texts


def is_missing_text(text: str) -> bool:
    """Whether a cell of a text file counts as missing."""
    return text.strip().lower() in MISSING_TEXT
