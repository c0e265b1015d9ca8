"""A release: parts of (columns, coding, kernel) that draw reports, whatever the table is.

A column alone, several columns by a kernel on tuples and points of a map are one part; a plan has a
part for each of its columns, drawn independently, and is refused where a combination of values was
not in its prior, as its guarantee is about those that were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, UnknownNameError, quote
from ..labels import Label, counted, listing
from ..mechanism import ImplicitKernel, Mechanism, kernel_of
from ..prior import Prior
from ..published import kernel_fingerprint
from ..solve.columns_plan import KernelPlan
from ..tables.counting import distinct_values, row_places
from ..tables.frames import find_column
from ..tables.parts import parts_of, side_by_side
from .codes import ABSENT, Policy, cell_text
from .codings import (
    Combinations,
    Reader,
    coding_of,
    joined,
    rows_told,
    unseen_combination,
    values_of,
)
from .identities import Admission, Identity, IdentityWords, encode_identities, words_and_identity
from .persons import PersonDraws
from .receipts import Fingerprinter, Marks, Receipt, make_receipt
from .sampler import AliasTable, draw_table
from .words import SeededWords, SystemWords, Words, words_from


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


@dataclass(frozen=True, eq=False)
class Target:
    """A column of reports, or of parts of reports.

    Attributes
    ----------
    column, source : its name, and the column in whose place it stands, of whose type it is
    outputs, inputs : labels of what it holds, and of the secrets there where these are known
    places : of each output of the kernel among the labels; ``None`` where they are the same
    """

    column: Any
    source: Any
    outputs: Sequence[Label]
    inputs: tuple[Label, ...]
    places: NDArray[np.int64] | None = None


class Part:
    """Columns of secrets whose reports one kernel draws.

    Parameters
    ----------
    designed : Mechanism, SubsetSelection or Design
    columns : their names, in the order of the tuples that inputs are
    policy : what to do with values that are no inputs
    words : source of random words, one for each row
    texts : whether cells were read from a text file, so that labels are matched by their text
    strata : a column whose value, with that of the column of secrets, is the input
    into : names for reports of several columns, or one name where these are no tuples

    Attributes
    ----------
    coding : how values become positions of inputs
    admitted : words of the only rows that may come, sorted, where the table was read before
    reports : fingerprint of the reports so far
    """

    def __init__(
        self,
        designed: Any,
        columns: Sequence[Any],
        policy: Policy | None = None,
        words: Any = None,
        *,
        texts: bool = False,
        strata: Any = None,
        into: Any = None,
    ) -> None:
        self.designed, self.columns = designed, tuple(columns)
        self.kernel, self.name = kernel_of(designed), joined(columns)
        policy = policy or Policy()
        self.coding = coding_of(self.kernel, columns, policy, texts=texts, strata=strata)
        self.words = words_from(words)
        self.targets = self._targets(into)
        self.admitted: NDArray[np.uint64] | None = None
        self.reports: Fingerprinter | None = None

    @cached_property
    def table(self) -> Any:
        """The thresholds that words are compared with."""
        return draw_table(self.kernel)

    @cached_property
    def fingerprint(self) -> str:
        """That of the kernel."""
        return kernel_fingerprint(self.kernel)

    def __getstate__(self) -> dict[str, Any]:
        # A hash under way cannot be copied; what is drawn elsewhere has its own.
        return {**self.__dict__, "reports": None}

    def bare(self) -> Part:
        """What may be seen: the kernel and policy, no design with its prior."""
        self.table, self.fingerprint  # noqa: B018 - computed once, for all who get a copy
        other = copy(self)
        other.designed, other.words = self.kernel, SystemWords()
        return other

    @property
    def held(self) -> list[HeldPrior]:
        """The prior that the file of the design holds, if any."""
        prior = getattr(self.designed, "prior", None)
        if prior is None or len(prior) != self.coding.size:
            return []
        decides = any(notion.uses_prior for notion in self.designed.notions)
        return [HeldPrior(self.columns, prior, decides)]

    def positions(self, read: Reader) -> NDArray[Any]:
        """Positions of inputs, whatever the policy is, -1 for rows without one."""
        return np.maximum(self.coding.places(read), ABSENT)

    def _targets(self, into: Any) -> list[Target]:
        """The columns of reports: one for each of secrets where reports are such tuples."""
        columns, count = self.columns, len(self.columns)
        outputs: Sequence[Any] = self.kernel.outputs
        if count == 1:
            return [Target(columns[0], columns[0], outputs, self.coding.book.labels)]
        split = all(isinstance(y, tuple) and len(y) == count for y in outputs)
        wanted = count if split else 1
        names = [into] if isinstance(into, str) else into
        if names is None:
            names = list(columns) if split else ["_".join(map(str, columns))]
        names = list(names) if isinstance(names, (list, tuple)) else [names]
        are_texts = all(isinstance(n, str) for n in names)
        if len(names) != wanted or not are_texts or len(set(names)) < len(names):
            raise InputError(
                "names of the columns of reports (into)",
                expected=f"{wanted} different names, as reports are "
                + (
                    f"tuples of {count} parts" if split else "no tuples with a part for each column"
                ),
                got=listing(names),
                remedy="leave into= (--into) out, or name each column of reports",
            )
        if not split:
            return [Target(names[0], columns[0], outputs, ())]
        made, inputs = values_of(outputs, count), values_of(self.kernel.inputs, count)
        targets = []
        for i, labels in enumerate(made):
            place = {label: k for k, label in enumerate(labels)}
            places = np.array([*(place[y[i]] for y in outputs), ABSENT])
            targets.append(Target(names[i], columns[i], labels, inputs[i], places))
        return targets

    def identity_words(
        self,
        identity: Identity,
        identities: Sequence[bytes],
        codes: NDArray[Any],
        rounds: Sequence[str | None] | None = None,
    ) -> Words:
        """The words of rows with identities."""
        kernel, admitted = self.fingerprint, self.admitted
        return IdentityWords(identity, self.name, kernel, identities, codes, admitted, rounds)

    def draw(self, codes: NDArray[Any], words: Words, reports: Fingerprinter) -> NDArray[Any]:
        """Output positions for input positions, -1 for -1; their fingerprint is taken in."""
        outputs = self.kernel.outputs
        if isinstance(self.kernel, ImplicitKernel):
            drawn = self._drawn(codes, words, np.dtype(np.int64))
            # There may be many more reports than rows, and the labels are the positions.
            met, places = np.unique(drawn, return_inverse=True)
            reports.add_codes([None if y == ABSENT else y for y in met.tolist()], places)
            return drawn
        # Narrow, with room for the place behind the last, which is that of a null report.
        drawn = np.empty(len(codes), dtype=np.min_scalar_type(-len(outputs) - 1))
        mark = reports.marker([*outputs, None])
        if isinstance(self.table, AliasTable):
            self.table.prepare(len(codes), words)

        def draw(part: slice) -> Marks:
            drawn[part] = self._drawn(codes[part], words, drawn.dtype)
            return mark(drawn[part])

        # Words of the operating system belong to no row, so that several parts take theirs at once.
        # The hash of a part is taken, in its order, while the next are drawn.
        workers = None if words.in_parts else 1
        for marks in side_by_side(draw, parts_of(len(codes)), workers):
            reports.take(marks)
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


class Release:
    """Privatises columns of a table, part by part of its rows, in constant memory.

    Parameters
    ----------
    parts : of the columns; several are those of the plan
    policy : what to do with values that are no inputs
    texts : whether cells were read from a text file
    identity : the column that identifies the rows, and a key, which then decide the words; no
        identity is admitted twice over all rows
    plan : what guarantees something of all parts together

    Attributes
    ----------
    column : what the columns are called together
    rows : number of rows so far
    admission : of the identities, ``None`` where there are none or they were checked before
    reports : fingerprint of the reports so far
    recalled : for identities that get an earlier report, the symbol and round that it was drawn for
    """

    def __init__(
        self,
        parts: Sequence[Part],
        policy: Policy | None = None,
        *,
        texts: bool = False,
        identity: Identity | None = None,
        plan: KernelPlan | None = None,
    ) -> None:
        self.parts, self.policy, self.texts = list(parts), policy or Policy(), texts
        self.identity, self.plan, self.rows = identity, plan, 0
        self.column = self.secret_columns[0] if self._is_alone else joined(self.secret_columns)
        self.admission = None if identity is None else Admission(identity)
        self.reports: Fingerprinter | None = None
        self.recalled: PersonDraws | None = None
        inputs = [part.kernel.inputs for part in parts] if plan is not None else []
        self._covered = self._held = None
        if plan is not None:
            known = plan.combinations
            self._combinations = Combinations(inputs)
            self._covered = None if known is None else Combinations(inputs, list(known))
            if plan.prior is not None:
                self._held = Combinations(inputs, plan.prior.labels)

    # Copies for other rows

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "reports": None}

    def changed(self, **attributes: Any) -> Release:
        """The same release for other rows, with other attributes."""
        other = copy(self)
        other.__dict__.update({"rows": 0, "parts": [*map(copy, self.parts)], **attributes})
        return other

    def checked(self) -> Release:
        """The same release for a table whose identities are known to be admissible."""
        return self.changed(admission=None)

    def fixed(self, identities: Sequence[bytes], codes: NDArray[Any]) -> Release:
        """The same release for a table of these rows, in any order and as often as they come."""
        other = self.checked()
        assert self.identity is not None
        for part, own in zip(other.parts, self._split(codes), strict=True):
            words = part.identity_words(self.identity, identities, own)
            part.admitted = np.sort(words.take(len(own)))
        return other

    def without_identity(self) -> Release:
        """What may be seen: kernels and policy, no key and no design with its prior."""
        parts = [part.bare() for part in self.parts]
        other = self.changed(identity=None, admission=None, plan=None, _held=None, parts=parts)
        other.recorded, other.recalled = None, None
        return other

    def with_words(self, words: Sequence[Words], start: int = 0) -> Release:
        """The same release for the rows from a position on, where that decides their words."""
        other = self.changed(reports=self.reports)
        for part, own in zip(other.parts, words, strict=True):
            part.words = own.at(start) if isinstance(own, SeededWords) else own
        return other

    @property
    def words(self) -> list[Words]:
        """The source of random words of each part."""
        return [part.words for part in self.parts]

    # What is released

    @property
    def secret_columns(self) -> list[Any]:
        """The columns that reports take the place of."""
        return [column for part in self.parts for column in part.columns]

    @property
    def _is_one(self) -> bool:
        return len(self.parts) == 1

    @property
    def _is_alone(self) -> bool:
        return len(self.secret_columns) == 1

    @property
    def columns(self) -> list[Any]:
        """The columns that a report depends on: identities, secrets and strata, if any."""
        identity = [self.identity.column] if self.identity else []
        return identity + [column for part in self.parts for column in part.coding.columns]

    @property
    def surveyed(self) -> list[Any]:
        """The columns that :meth:`survey` reads."""
        assert self.identity is not None
        return self.columns if self.identity.by_person else self.columns[:1]

    @property
    def targets(self) -> list[Target]:
        """The columns of reports."""
        return [target for part in self.parts for target in part.targets]

    @property
    def coded(self) -> str | None:
        """The column that is best read as a dictionary."""
        return str(self.column) if self._is_alone else None

    @cached_property
    def recorded(self) -> Any:
        """What a ledger keeps of the design: of a plan all reports together as one kernel, ``None``
        where that is too large.
        """
        if self.plan is None:
            return self.parts[0].designed
        try:
            return self.plan.together()
        except DataError:
            return None

    @property
    def parted(self) -> list[tuple[Any, Any]]:
        """Each column of several, with what draws its reports; none for one column."""
        if self._is_alone:
            return []
        return [(column, part.designed) for part in self.parts for column in part.columns]

    @property
    def inputs(self) -> tuple[Label, ...] | None:
        """What the codes of a draw stand for, where kernels with the same can be composed."""
        kernel = self.parts[0].kernel
        return kernel.inputs if self.plan is None and isinstance(kernel, Mechanism) else None

    def check_names(self, names: Sequence[Any]) -> None:
        """Raise an error for a table that lacks a column of the release or has it twice, or has one
        of the name of a new one.
        """
        for column in self.columns:
            find_column(names, column)
        columns, targets = self.secret_columns, self.targets
        for target in targets:
            if target.column in names and target.column not in columns:
                raise DataError(
                    "names of the columns of reports",
                    expected="names that the table does not have",
                    got=quote(target.column),
                    remedy="choose another name with into= (--into)",
                )
            others = [t.source for t in targets if t.source != target.source]
            if target.column in others:
                raise DataError(
                    "names of the columns of reports",
                    expected="each in the place of the column that it is called after",
                    got=f"{quote(target.column)} in the place of {quote(target.source)}",
                    remedy="choose other names with into= (--into)",
                )

    def settings(self, is_repeatable: bool, mark: Callable[[str], str]) -> dict[str, Any]:
        """What decides the reports, in plain values; ``mark`` hides what is secret.

        A key that another run does not have is left out.
        """
        told = self.receipt(rows=False).to_json()
        for name in ("version", "schema", *(() if is_repeatable else ("key",))):
            told.pop(name, None)
        seeds = [str(own.seed) for own in self.words if isinstance(own, SeededWords)]
        return {
            **told,
            "replacement": mark(repr(self.policy.replacement)),
            "seed": mark("".join(seeds[:1])),
            "strata": [str(name) for name in self.columns if name not in self.secret_columns],
            # Kernels of one fingerprint may have the same names for other numbers.
            "bins": mark(repr([part.coding.told for part in self.parts])),
            "kernels": [part.fingerprint for part in self.parts],
            "into": [str(target.column) for target in self.targets],
            # Whether a combination is released depends on those that the plan covers.
            "combinations": mark(repr(None if self._covered is None else self._covered.told)),
        }

    # Receipts

    def receipts(self, *, rows: bool = True) -> list[Receipt]:
        """What made the reports so far, for the columns of each part."""
        named = None
        if self.plan is not None:
            named = f"{self.plan.total} of {joined(self.secret_columns)} together"
        found = []
        for part in self.parts:
            made = make_receipt(
                part.designed,
                joined([target.column for target in part.targets]),
                self.identity or part.words,
                missing=self.policy.missing,
                unseen=self.policy.unseen,
                together=named,
                **(self.identity.receipt_fields() if self.identity else {}),
            )
            if rows:
                made = replace(made, rows=self.rows, reports=_sequence(part.reports))
            found.append(made)
        return found

    def receipt(self, *, rows: bool = True) -> Receipt:
        """What made the reports so far, of all columns together."""
        each = self.receipts(rows=rows)
        made = replace(each[0], column=str(self.column))
        if self.plan is None:
            return made
        kernel = hashlib.sha256(",".join(one.kernel for one in each).encode()).hexdigest()
        if self.recorded is not None:
            kernel = kernel_fingerprint(self.recorded.mechanism)
        return replace(
            made,
            kernel=kernel,
            design=None,
            notions=(str(self.plan.total),),
            reports=_sequence(self.reports) if rows else None,
            together=None,
        )

    # What is counted before

    def secrets(self, read: Reader) -> tuple[list[Any], NDArray[Any]]:
        """Distinct secrets of a part of the rows, null the last, and the place of each row among
        them.
        """
        if self._is_alone:
            values, places = distinct_values(read(self.column), self.column)
            return [*values, None], places
        rows, places = row_places([*map(read, self.secret_columns)], self.secret_columns)
        return [*rows, None], places

    @property
    def held(self) -> list[HeldPrior]:
        """The prior of all columns together where a plan has it, and those of designs."""
        found = [one for part in self.parts for one in part.held]
        if self.plan is None or self.plan.prior is None:
            return found
        decides = any(one.decides for one in found)
        return [HeldPrior(tuple(self.secret_columns), self.plan.prior, decides), *found]

    def held_counts(self, read: Reader) -> list[NDArray[np.int64]]:
        """For each of the :attr:`held` priors how often its symbols occur in a part of the rows,
        behind the number of those that have none of them.
        """
        if not (held := self.held):
            return []
        positions = [part.positions(read) for part in self.parts]
        pairs = zip(self.parts, positions, strict=True)
        found = [own for part, own in pairs for _ in part.held]
        if self._held is not None:
            found.insert(0, self._held.places(positions))
        return [
            np.bincount(own.astype(np.int64) + 1, minlength=len(one.prior) + 1)
            for one, own in zip(held, found, strict=True)
        ]

    # Codes in, draws out

    def codes(self, read: Reader) -> NDArray[Any]:
        """One number for the values of each row, by the policy; -1 for null reports."""
        parts = [part.coding.codes(read, self.rows) for part in self.parts]
        if self._is_one:
            return parts[0]
        found = self._combinations.join(parts)
        if self._covered is None:
            return found
        whole = np.logical_and.reduce([part != ABSENT for part in parts])
        unseen = whole & (self._covered.places(parts) == ABSENT)
        if not unseen.any():
            return found
        if self.policy.unseen == "error":
            where = rows_told(np.flatnonzero(unseen), self.rows, len(unseen))
            raise unseen_combination(self.secret_columns, where)
        stand_in = ABSENT
        if self.policy.unseen == "replace":
            books = [(part.coding.book, part.coding.policy.replacement) for part in self.parts]
            places = [np.array([book.place(value)]) for book, value in books]
            if self._covered.places(places)[0] == ABSENT:
                raise InputError(
                    "replacement",
                    expected="a combination of values that the plan's prior has",
                    got=quote(tuple(value for _, value in books)),
                    remedy="name one that occurs",
                )
            stand_in = int(self._combinations.join(places)[0])
        found[unseen] = stand_in
        return found

    def _split(self, codes: NDArray[Any]) -> list[NDArray[Any]]:
        """Positions of inputs of each part."""
        return [codes] if self._is_one else self._combinations.split(codes)

    def identify(self, read: Reader, codes: NDArray[Any] | None) -> Sequence[bytes] | None:
        """Identities of rows, none of which came before; ``None`` without any."""
        if self.identity is None:
            return None
        found = encode_identities(read(self.identity.column), self.identity.column, self.texts)
        self.admit(found, codes)
        return found

    def admit(self, identities: Sequence[bytes], codes: NDArray[Any] | None) -> None:
        """Take in the identities of rows; raises :class:`DataError` where one came before."""
        if self.admission is not None:
            self.admission.admit(identities, codes)

    def survey(self, read: Reader) -> tuple[Sequence[bytes], NDArray[Any] | None]:
        """Identities of rows that are drawn later, checked, and their codes where they are needed.

        Only :attr:`surveyed` columns are read.
        """
        assert self.identity is not None
        codes = self.codes(read) if self.identity.by_person else None
        found = self.identify(read, codes)
        assert found is not None
        # For errors, which say in which row they are.
        self.rows += len(found)
        return found, codes

    def draw_all(self, read: Reader) -> list[tuple[Target, NDArray[Any]]]:
        """For each of the :attr:`targets` the positions of its labels, -1 where they are null.

        ``read`` gives a column of the rows by its name.
        """
        codes = self.codes(read)
        identities = self.identify(read, codes)
        rounds = None
        if self.recalled and identities is not None:
            # Who gets an earlier report gets it for the symbol and round that it was drawn for.
            assert self.identity is not None
            codes, rounds = codes.copy(), [self.identity.round] * len(codes)
            for i, identity in enumerate(identities):
                if identity in self.recalled and codes[i] != ABSENT:
                    codes[i], rounds[i] = self.recalled[identity]
        drawn = self.draw_codes(codes, identities, rounds)
        return [
            # The place behind the last is that of a null report.
            (target, own if target.places is None else target.places[own])
            for part, own in zip(self.parts, drawn, strict=True)
            for target in part.targets
        ]

    def draw_codes(
        self,
        codes: NDArray[Any],
        identities: Sequence[bytes] | None = None,
        rounds: list[str | None] | None = None,
    ) -> list[NDArray[Any]]:
        """Output positions of each part for the codes of rows, -1 for -1."""
        self.reports = self.reports or Fingerprinter()
        self.rows += len(codes)
        drawn = []
        for part, own in zip(self.parts, self._split(codes), strict=True):
            part.reports = self.reports if self._is_one else part.reports or Fingerprinter()
            words = part.words
            if self.identity is not None:
                assert identities is not None
                words = part.identity_words(self.identity, identities, own, rounds)
            drawn.append(part.draw(own, words, part.reports))
        if not self._is_one:
            self._note(self.reports, drawn)
        return drawn

    def recall(self, read: Reader) -> None:
        """Take in reports that were drawn before, for the fingerprint of all; ``read`` gives those
        of one of the :attr:`targets` by its name.
        """
        reports = self.reports = self.reports or Fingerprinter()
        names = [target.column for target in self.targets]
        if len(names) > 1:
            rows, places = row_places([*map(read, names)], names)
            return reports.add_codes([*rows, None], places)
        outputs = self.targets[0].outputs
        values, places = distinct_values(read(names[0]))
        # Tuples are written as text, whatever the file is.
        tuples = {}
        if not isinstance(outputs, range):
            tuples = {cell_text(label): label for label in outputs if isinstance(label, tuple)}
        return reports.add_codes([tuples.get(value, value) for value in [*values, None]], places)

    def _note(self, reports: Fingerprinter, drawn: Sequence[NDArray[Any]]) -> None:
        """Take in the reports of all parts, by the positions of those of each."""
        labels = [part.kernel.outputs for part in self.parts]
        outputs = Combinations(labels)
        met, places = np.unique(outputs.join(drawn), return_inverse=True)
        reports.add_rows(labels, outputs.split(met), places)


def _sequence(reports: Fingerprinter | None) -> str | None:
    return None if reports is None else reports.result().sequence


def check_rows(rows: int) -> None:
    """Raise :class:`DataError` for a table without rows."""
    if rows == 0:
        raise DataError(
            "table", expected="at least one row", got="none", remedy="check how it was read"
        )


# What is asked for


def columns_of(designed: Any) -> tuple[str, ...]:
    """The columns that a kernel or a plan reads, by their names; none where they are not known."""
    if isinstance(designed, KernelPlan):
        return designed.names
    schema = getattr(kernel_of(designed), "schema", None)
    return () if schema is None else schema.names


def check_order(columns: Sequence[Any], known: Sequence[str]) -> None:
    """Refuse columns that a design knows at other places than they are named at.

    Columns of the same values could be taken for one another, and nothing else would tell. Other
    names are those of another table.
    """
    places = {name: i for i, name in enumerate(known)}
    # Too few, and one that is named twice, are told of where they are read.
    is_whole = len(known) == len(columns) == len(set(columns))
    if not is_whole or all(places.get(name, i) == i for i, name in enumerate(columns)):
        return
    raise InputError(
        "columns",
        expected=f"{joined(known)}, in the order of the design",
        got=joined(columns),
        remedy="name them in that order, or leave them out",
    )


def resolved(column: Any, mechanism: Any, columns: Any) -> tuple[Any, tuple[Any, ...]]:
    """Mechanism or plan, and the columns that it reads: those named, else those that it knows.

    Raises :class:`InputError` where none are known, or both ways to name them are taken.
    """
    if mechanism is None:
        column, mechanism = None, column
    if column is not None and columns is not None:
        raise InputError(
            "columns",
            expected="either column or columns=",
            got="both",
            remedy="name the columns once",
        )
    if columns is not None and not isinstance(columns, (list, tuple)):
        columns = [columns]
    if isinstance(column, list):
        columns, column = column, None
    for name in [column, *(columns or [])]:
        _check_name("column", name)
    if column is not None:
        return mechanism, (column,)
    found = tuple(columns) if columns is not None else columns_of(mechanism)
    check_order(found, columns_of(mechanism))
    if not found:
        raise InputError(
            "columns",
            expected="the names of the columns of secrets",
            got="none, and a mechanism that knows none",
            remedy="name them with columns=, or make the prior of a table: "
            "md.Prior.from_data(table, ['class', 'sex'])",
        )
    return mechanism, found


def release_of(
    designed: Any,
    columns: tuple[Any, ...],
    policy: Policy,
    *,
    row: str | None,
    person: str | None,
    key: Any,
    rng: Any,
    texts: bool = False,
    strata: Any = None,
    into: Any = None,
    of_round: Any = None,
) -> Release:
    """The release of columns by a kernel, or by each of those of a plan."""
    identities = {"row": row, "person": person}
    for option, given in {**identities, "strata": strata}.items():
        _check_name(option, given)
    plan = designed if isinstance(designed, KernelPlan) else None
    for name, what in identities.items():
        if what is not None and what in columns:
            raise InputError(
                name,
                expected="another column than the secret",
                got=f"{quote(what)} for both",
                remedy="name the column that identifies the rows",
            )
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            "columns",
            expected="different columns",
            got=f"{quote(twice)} more than once",
            remedy="name each column once",
        )
    if into is not None and (plan is not None or len(columns) == 1):
        raise InputError(
            "names of the columns of reports (into)",
            expected="a kernel on tuples of several columns with them",
            got="reports that keep the names of their columns",
            remedy="leave into= (--into) out, and rename the columns afterwards",
        )
    if strata is not None and (plan is not None or len(columns) > 1):
        raise InputError(
            "strata",
            expected="one column of secrets with it",
            got=counted(len(columns), "column"),
            remedy="make the stratum a column of the prior",
        )
    words, identity = words_and_identity(rng, joined(columns), row, person, key, of_round)
    if plan is None:
        parts = [Part(designed, columns, policy, words, texts=texts, strata=strata, into=into)]
        return Release(parts, policy, texts=texts, identity=identity)
    if len(columns) != len(plan.names):
        raise InputError(
            "columns of a plan",
            expected=f"{len(plan.names)}, as the plan is for {listing(plan.names)}",
            got=str(len(columns)),
            remedy="leave columns= out, or name one for each of the plan's",
        )
    stand_ins = _replacements(policy, plan.names)
    parts = [
        Part(
            own,
            [column],
            replace(policy, replacement=stand_in),
            words if identity is not None else words_from(rng, str(column)),
            texts=texts,
        )
        for own, column, stand_in in zip(plan.designs, columns, stand_ins, strict=True)
    ]
    return Release(parts, policy, texts=texts, identity=identity, plan=plan)


def _check_name(what: str, name: Any) -> None:
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


def _replacements(policy: Policy, names: Sequence[str]) -> list[Any]:
    """What stands in for values of each column."""
    given = policy.replacement
    if given is None:
        return [None] * len(names)
    if isinstance(given, Mapping):
        unknown = next((name for name in given if name not in names), None)
        if unknown is not None:
            raise UnknownNameError("column of a replacement", unknown, names)
        given = tuple(given.get(name) for name in names)
    if not isinstance(given, (tuple, list)) or len(given) != len(names):
        raise InputError(
            "replacement",
            expected=f"a value for each of the columns {listing(names)}",
            got=quote(given),
            remedy="pass a tuple in their order, or a mapping from their names",
        )
    return list(given)
