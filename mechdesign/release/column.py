"""One column of secrets made a column of reports: codes in, draws out, whatever the table is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError
from ..labels import Label, tidy
from ..mechanism import ImplicitKernel, Mechanism, kernel_of
from ..prior import Prior
from ..published import kernel_fingerprint
from ..tables.counting import distinct_values
from ..tables.frames import find_column
from ..tables.parts import parts_of, side_by_side
from .bin_codes import bins_of, encoder_of
from .codes import ABSENT, Codebook, Policy, StrataEncoder
from .identities import Admission, Identity, IdentityWords, encode_identities
from .receipts import Fingerprinter, Marks, Receipt, make_receipt
from .sampler import AliasTable, draw_table
from .subset_reports import SubsetTable
from .words import SeededWords, Words, words_from

#: Reads a column of a table by its name, as an Arrow array, a NumPy vector or a list.
Reader = Callable[[Any], Any]


@dataclass(frozen=True)
class HeldPrior:
    """A prior that the file of a design or a plan holds.

    Attributes
    ----------
    columns : whose values it is about
    prior : over the symbols, or over tuples of those of several columns
    decides : whether a notion of the design is about it, so that kernels depend on it
    """

    columns: tuple[Any, ...]
    prior: Prior
    decides: bool


class ColumnRelease:
    """Privatises one column, part by part, in constant memory.

    Parameters
    ----------
    designed : Mechanism or Design
    column : name of the column
    words : source of random words; one for each row
    policy : what to do with values that are no inputs
    texts : whether cells were read from a text file, so that labels are matched by their text
    identity : the column that identifies the rows, and a key, which then decide the words; no
        identity is admitted twice over all parts
    strata : a column whose value, with that of the column of secrets, is the input

    Attributes
    ----------
    rows : number of rows so far
    admission : of the identities, ``None`` where there are none or they were checked before
    admitted : words of the only rows that may come, sorted, where the table was read before
    reports : fingerprint of the reports so far
    recalled : for identities that get an earlier report, the symbol and round that it was drawn for
    """

    def __init__(
        self,
        designed: Any,
        column: Any,
        words: Words | None = None,
        policy: Policy | None = None,
        *,
        texts: bool = False,
        identity: Identity | None = None,
        strata: Any = None,
    ) -> None:
        self.designed, self.column, self.identity = designed, column, identity
        self.mechanism = kernel_of(designed)
        self.strata = strata
        inputs = self.mechanism.inputs
        if strata is not None:
            self._pairs = StrataEncoder(strata, inputs, texts=texts)
            inputs = self._pairs.symbols
        self.words = words_from(words)
        self.policy = policy or Policy()
        bins = None if strata is not None else bins_of(self.mechanism)
        self.encoder = encoder_of(column, inputs, self.policy, texts=texts, bins=bins)
        self.texts = texts
        self.rows = 0
        self.admission = None if identity is None else Admission(identity)
        self.admitted: NDArray[np.uint64] | None = None
        self.reports: Fingerprinter | None = None
        self.recalled: Mapping[bytes, tuple[int, str | None]] = {}

    @cached_property
    def table(self) -> AliasTable | SubsetTable:
        """The thresholds that words are compared with."""
        return draw_table(self.mechanism)

    @cached_property
    def _kernel(self) -> str:
        return kernel_fingerprint(self.mechanism)

    # Copies for other parts of a table

    def __getstate__(self) -> dict[str, Any]:
        # A hash under way cannot be copied; what is drawn elsewhere has its own.
        return {**self.__dict__, "reports": None}

    def with_parts(self, **parts: Any) -> ColumnRelease:
        """The same release for other rows, with other attributes."""
        other = copy(self)
        other.__dict__.update({"rows": 0, **parts})
        return other

    def checked(self) -> ColumnRelease:
        """The same release for a table whose identities are known to be admissible."""
        return self.with_parts(admission=None)

    def fixed(self, identities: list[bytes], codes: NDArray[Any]) -> ColumnRelease:
        """The same release for a table of these rows, in any order and as often as they come."""
        words = self._words_of(identities, codes)
        return self.with_parts(admission=None, admitted=np.sort(words.take(len(codes))))

    def without_identity(self) -> ColumnRelease:
        """What may be seen: the kernel and policy, no key and no design with its prior."""
        self.table, self._kernel  # noqa: B018 - computed once, for all who get a copy
        words = words_from(None)
        return self.with_parts(identity=None, admission=None, words=words, designed=self.mechanism)

    def from_row(self, start: int) -> ColumnRelease:
        """The same release for the rows from a position on, where that decides their words."""
        words = self.words.at(start) if isinstance(self.words, SeededWords) else self.words
        return self.with_parts(words=words, reports=self.reports)

    def settings(self, is_repeatable: bool, mark: Callable[[str], str]) -> dict[str, Any]:
        """What decides the reports, in plain values; ``mark`` hides what is secret.

        A key that another run does not have is left out.
        """
        seed = str(self.words.seed) if isinstance(self.words, SeededWords) else ""
        return {
            **plain_settings(self.receipt(rows=False), is_repeatable),
            "replacement": mark(repr(self.policy.replacement)),
            "seed": mark(seed),
            "strata": None if self.strata is None else str(self.strata),
            # Kernels of one fingerprint may have the same names for other numbers.
            "bins": mark(repr(told_bins(self.encoder.bins))),
        }

    # What is released: here one column, elsewhere several

    @property
    def targets(self) -> list[Any]:
        """What is written: each has a ``column``, the ``source`` in whose place it stands, and what
        labels are made of, ``mechanism`` and ``encoder``.
        """
        return [self]

    @property
    def source(self) -> Any:
        """The column in whose place the reports stand, of whose type they are."""
        return self.column

    @property
    def secret_columns(self) -> list[Any]:
        """The columns that reports take the place of."""
        return [self.column]

    @property
    def coded(self) -> str | None:
        """The column that is best read as a dictionary."""
        return str(self.column)

    @property
    def recorded(self) -> Any:
        """What a ledger keeps of the design."""
        return self.designed

    @property
    def parted(self) -> list[tuple[Any, Any]]:
        """Each column of several, with what draws its reports; none for one column."""
        return []

    @property
    def symbols(self) -> int:
        """Number of different values that are known."""
        return len(self.encoder.book.labels)

    @property
    def inputs(self) -> tuple[Label, ...] | None:
        """What the positions of a draw stand for, where kernels with the same can be composed."""
        return self.mechanism.inputs if isinstance(self.mechanism, Mechanism) else None

    def codes(self, read: Reader) -> NDArray[Any]:
        """Input positions for the rows of a part, by the policy; -1 for null reports."""
        return self.paired(read, self.encode(read(self.column)))

    def secrets(self, read: Reader) -> tuple[list[Any], NDArray[Any]]:
        """Distinct secrets of a part, null the last, and the place of each row among them."""
        values, places = distinct_values(read(self.column), self.column)
        return [*values, None], places

    def positions(
        self, read: Reader, values: Sequence[Any], places: NDArray[Any]
    ) -> NDArray[np.int64]:
        """Positions of symbols for the :meth:`secrets` of a part, whatever the policy is."""
        return self.encoder.positions(read(self.column), values[:-1], places)

    @property
    def held(self) -> list[HeldPrior]:
        """The priors that the file of the design holds, if any."""
        prior = getattr(self.designed, "prior", None)
        if prior is None or len(prior) != self.symbols:
            return []
        decides = any(notion.uses_prior for notion in self.designed.notions)
        return [HeldPrior(tuple(self.secret_columns), prior, decides)]

    def held_counts(
        self, read: Reader, values: Sequence[Any], places: NDArray[Any]
    ) -> list[NDArray[np.int64]]:
        """For each of the :attr:`held` priors how often its symbols occur among the
        :meth:`secrets` of a part, behind the number of rows that have none of them.
        """
        return [self.counts(read, values, places) for _ in self.held]

    def counts(
        self, read: Reader, values: Sequence[Any], places: NDArray[Any]
    ) -> NDArray[np.int64]:
        """How often each symbol occurs among the :meth:`secrets` of a part, behind the number of
        rows that have none, whatever the policy is.
        """
        size = self.symbols + 1
        if not self._is_told_by_value:
            return np.bincount(self.positions(read, values, places) + 1, minlength=size)
        found = np.zeros(size, dtype=np.int64)
        occurrences = np.bincount(places, minlength=len(values))
        np.add.at(found, self.encoder.places([*map(tidy, values)]) + 1, occurrences)
        return found

    @property
    def _is_told_by_value(self) -> bool:
        """Whether the value of a row, as it stands among distinct ones, is all that decides."""
        return self.encoder.bins is None

    def draw_all(self, read: Reader) -> list[tuple[Any, NDArray[Any]]]:
        """For each of the :attr:`targets` its output positions, -1 where the report is null."""
        return [(self, self.draw(read))]

    def receipts(self, *, rows: bool = True) -> list[Receipt]:
        """What made the reports so far, for each column of them."""
        return [self.receipt(rows=rows)]

    def check_names(self, names: Sequence[Any]) -> None:
        """Raise an error for a table that lacks a column of the release, or has it twice."""
        for column in self.columns:
            find_column(names, column)

    @property
    def columns(self) -> list[Any]:
        """The columns that a report depends on: identities and strata, if any, and the secret."""
        strata = [] if self.strata is None else [self.strata]
        return [*([self.identity.column] if self.identity else []), self.column, *strata]

    @property
    def surveyed(self) -> list[Any]:
        """The columns that :meth:`survey` reads."""
        assert self.identity is not None
        return self.columns if self.identity.by_person else self.columns[:1]

    def receipt(self, *, rows: bool = True) -> Receipt:
        """What made the reports so far."""
        found = make_receipt(
            self.designed,
            self.column,
            self.identity or self.words,
            missing=self.policy.missing,
            unseen=self.policy.unseen,
            **(self.identity.receipt_fields() if self.identity else {}),
        )
        if not rows:
            return found
        reports = None if self.reports is None else self.reports.result().sequence
        return replace(found, rows=self.rows, reports=reports)

    # Codes in, draws out

    def draw(self, read: Reader) -> NDArray[Any]:
        """Output positions for the rows of a part of the table, -1 where the report is null.

        Parameters
        ----------
        read : function that gives a column of the part by its name
        """
        codes = self.codes(read)
        identities = self.identify(read, codes)
        codes, rounds = self.with_recalled(codes, identities)
        return self.draw_codes(codes, identities, rounds)

    def with_recalled(
        self, codes: NDArray[Any], identities: Sequence[bytes] | None
    ) -> tuple[NDArray[Any], list[str | None] | None]:
        """The symbols that reports are drawn for, and their rounds where they differ."""
        if not self.recalled or identities is None:
            return codes, None
        assert self.identity is not None
        codes, rounds = codes.copy(), [self.identity.round] * len(codes)
        for i, identity in enumerate(identities):
            if identity in self.recalled and codes[i] != ABSENT:
                codes[i], rounds[i] = self.recalled[identity]
        return codes, rounds

    def recall(self, read: Reader) -> None:
        """Take in reports that were drawn before, for the fingerprint of all; ``read`` gives those
        of one of the :attr:`targets` by its name.
        """
        reports = self.reports = self.reports or Fingerprinter()
        values = read(self.column)
        if isinstance(self.mechanism, ImplicitKernel):
            reports.add(values)
            return
        outputs = self.mechanism.outputs
        reports.add_codes([*outputs, None], self.read_back(values, outputs))

    def read_back(self, values: Any, labels: Sequence[Label]) -> NDArray[np.int64]:
        """Positions of reports that were written by these labels; -1 where they are null."""
        distinct, places = distinct_values(values)
        # Tuples are written as text, whatever the file is.
        texts = self.texts or any(isinstance(label, tuple) for label in labels)
        book = Codebook(labels, "outputs of the mechanism", texts=texts)
        return book.places([*distinct, None])[places]

    def encode(self, values: Any) -> NDArray[Any]:
        """Input positions for the values of the column, by the policy; -1 for null reports."""
        return self.encoder.encode(values, self.rows)

    def paired(self, read: Reader, codes: NDArray[Any]) -> NDArray[Any]:
        """Positions of inputs for those of symbols: the same, unless there are strata."""
        if self.strata is None:
            return codes
        return self._pairs.pairs(read(self.strata), codes, self.rows)

    def identify(self, read: Reader, codes: NDArray[Any] | None) -> list[bytes] | None:
        """Identities of the rows of a part, none of which came before; ``None`` without any."""
        if self.identity is None:
            return None
        found = encode_identities(read(self.identity.column), self.identity.column, self.texts)
        self.admit(found, codes)
        return found

    def admit(self, identities: list[bytes], codes: NDArray[Any] | None) -> None:
        """Take in the identities of a part; raises :class:`DataError` where one came before."""
        if self.admission is not None:
            self.admission.admit(identities, codes)

    def survey(self, read: Reader) -> tuple[list[bytes], NDArray[Any] | None]:
        """Identities of a part that is drawn later, checked, and its codes where they are needed.

        Only :attr:`surveyed` columns are read.
        """
        assert self.identity is not None
        codes = None
        if self.identity.by_person:
            codes = self.codes(read)
        found = self.identify(read, codes)
        assert found is not None
        # For errors, which say in which row they are.
        self.rows += len(found)
        return found, codes

    def draw_codes(
        self,
        codes: NDArray[Any],
        identities: list[bytes] | None = None,
        rounds: list[str | None] | None = None,
    ) -> NDArray[Any]:
        """Output positions for input positions, -1 for -1."""
        words = self.words
        if self.identity is not None:
            assert identities is not None
            words = self._words_of(identities, codes, rounds)
        self.rows += len(codes)
        self.reports = self.reports or Fingerprinter()
        outputs = self.mechanism.outputs
        if isinstance(self.mechanism, ImplicitKernel):
            drawn = self._drawn(codes, words, np.dtype(np.int64))
            # There may be many more reports than rows, and the labels are the positions.
            met, places = np.unique(drawn, return_inverse=True)
            self.reports.add_codes([None if y == ABSENT else y for y in met.tolist()], places)
            return drawn
        # Narrow, with room for the place behind the last, which is that of a null report.
        drawn = np.empty(len(codes), dtype=np.min_scalar_type(-len(outputs) - 1))
        mark = self.reports.marker([*outputs, None])
        if isinstance(self.table, AliasTable):
            self.table.prepare(len(codes), words)

        def draw(part: slice) -> Marks:
            drawn[part] = self._drawn(codes[part], words, drawn.dtype)
            return mark(drawn[part])

        # Words of the operating system belong to no row, so that several parts take theirs at once.
        # The hash of a part is taken, in its order, while the next are drawn.
        workers = None if words.in_parts else 1
        for marks in side_by_side(draw, parts_of(len(codes)), workers):
            self.reports.take(marks)
        return drawn

    def _drawn(self, codes: NDArray[Any], words: Words, kind: np.dtype[Any]) -> NDArray[Any]:
        """Output positions as integers of a kind, -1 for -1."""
        if not len(codes) or codes.min() != ABSENT:
            return self.table.draw(codes, words).astype(kind, copy=False)
        absent = codes == ABSENT
        # Every row takes its word, so that the others do not depend on it.
        drawn = self.table.draw(np.where(absent, 0, codes), words).astype(kind)
        drawn[absent] = ABSENT
        return drawn

    def _words_of(
        self,
        identities: list[bytes],
        codes: NDArray[Any],
        rounds: list[str | None] | None = None,
    ) -> Words:
        assert self.identity is not None
        column, admitted = str(self.column), self.admitted
        return IdentityWords(
            self.identity, column, self._kernel, identities, codes, admitted, rounds
        )


def plain_settings(receipt: Receipt, is_repeatable: bool) -> dict[str, Any]:
    """What a receipt tells of a release, without a key that another run does not have."""
    told = receipt.to_json()
    for name in ("version", "schema", *(() if is_repeatable else ("key",))):
        told.pop(name, None)
    return told


def told_bins(bins: Any) -> Any:
    """What tells bins apart from others."""
    return bins and (bins.of, bins.edges, bins.closed, bins.whole, bins.labels)


def check_name(what: str, name: Any) -> None:
    """Raise :class:`InputError` for what cannot be the name of a column, such as a list."""
    try:
        hash(name)
    except TypeError:
        raise InputError(
            what,
            expected="the name of a column",
            got=f"a {type(name).__name__}",
            remedy="pass the name, such as 'class'",
        ) from None


def check_rows(rows: int) -> None:
    """Raise :class:`DataError` for a table without rows."""
    if rows == 0:
        raise DataError(
            "table", expected="at least one row", got="none", remedy="check how it was read"
        )
