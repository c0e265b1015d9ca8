"""Several columns of secrets made reports at once: of one kernel on tuples, or of a plan.

A kernel on tuples draws one report for a row, and writes its parts in the place of the columns, or
where reports are no such tuples one column in the place of all. A plan draws a report for each
column, independently, and is refused where a combination of values was not in its prior, as its
guarantee is about those that were.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError, UnknownNameError, asked_by, quote
from ..labels import Label, listing
from ..mechanism import ImplicitKernel, Mechanism, kernel_of
from ..prior import Prior
from ..published import kernel_fingerprint
from ..solve.columns_plan import MOST_ENTRIES, KernelPlan, product_kernel
from ..tables.counting import distinct_values
from .bin_codes import encoder_of
from .codes import ABSENT, NULL_OR_REPLACED, Encoder, Policy, rows_told
from .column import ColumnRelease, HeldPrior, Reader, check_name, plain_settings, told_bins
from .identities import Admission, Identity
from .receipts import Fingerprinter, Receipt
from .words import SeededWords, Words, words_from

# Combinations of values whose positions are kept in a table.
_MOST_COMBINATIONS = 1 << 26


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


def joined(columns: Sequence[Any]) -> str:
    """What several columns are called together."""
    return ", ".join(map(str, columns))


@dataclass(frozen=True)
class ReportColumn:
    """A column of parts of reports.

    Attributes
    ----------
    column, source : its name, and the column in whose place it stands
    outputs, inputs : labels of reports, and of the secrets there
    whole : the kernel of reports that are no tuples and have no matrix
    """

    column: Any
    source: Any
    outputs: Sequence[Label]
    inputs: tuple[Label, ...]
    whole: ImplicitKernel | None = None

    # What adapters ask a release for.
    @property
    def mechanism(self) -> Any:
        """What has the outputs."""
        return self if self.whole is None else self.whole

    @property
    def encoder(self) -> Any:
        """What has the book of labels."""
        return self

    @property
    def book(self) -> Any:
        """What has the labels of the secrets."""
        return self

    @property
    def labels(self) -> tuple[Label, ...]:
        """Labels of the secrets."""
        return self.inputs


class Combinations:
    """Positions of combinations of values, in mixed radix; rows without a value are apart."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        if math.prod(size + 1 for size in self.sizes) >= 1 << 62:
            raise DataError(
                "columns",
                expected="fewer than 2**62 combinations of values",
                got="more",
                remedy="release some of the columns by themselves",
            )

    def join(self, parts: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        """One number for the positions of each row; -1 where none of them is there."""
        found = np.zeros(len(parts[0]), dtype=np.int64)
        for size, part in zip(self.sizes, parts, strict=True):
            found = found * (size + 1) + (part.astype(np.int64) + 1)
        return np.where(found == 0, ABSENT, found)

    def split(self, codes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The positions that :meth:`join` made the numbers of."""
        rest, parts = np.where(codes == ABSENT, 0, codes), []
        for size in reversed(self.sizes):
            rest, part = np.divmod(rest, size + 1)
            parts.append(part - 1)
        return parts[::-1]


class _SeveralColumns(ColumnRelease):
    """What releases of several columns read: all of them, none as a dictionary."""

    _columns: tuple[Any, ...]

    @property
    def secret_columns(self) -> list[Any]:
        """The columns that the inputs are made of."""
        return list(self._columns)

    @property
    def columns(self) -> list[Any]:
        """The columns that a report depends on."""
        return [*([self.identity.column] if self.identity else []), *self._columns]

    @property
    def coded(self) -> str | None:
        """None is best read as a dictionary."""
        return None

    def secrets(self, read: Reader) -> tuple[list[Any], NDArray[Any]]:
        """Distinct rows of secrets of a part as tuples, and the place of each row among them."""
        return distinct_rows([read(column) for column in self._columns], self._columns)

    @property
    def _is_told_by_value(self) -> bool:
        """Never: values of several columns make a symbol."""
        return False


class JointRelease(_SeveralColumns):
    """Privatises several columns by a kernel whose inputs are tuples of their values.

    Parameters are those of :class:`ColumnRelease`, with the names of the columns in the order of
    the tuples, and ``into``: names for reports that are tuples of as many parts, or one name for
    other reports.
    """

    def __init__(
        self,
        designed: Any,
        columns: Sequence[Any],
        words: Words | None = None,
        policy: Policy | None = None,
        *,
        texts: bool = False,
        identity: Identity | None = None,
        into: Any = None,
    ) -> None:
        kernel = kernel_of(designed)
        self._columns = _checked_columns(columns, identity)
        labels = kernel.inputs
        if not all(isinstance(x, tuple) and len(x) == len(self._columns) for x in labels):
            raise DataError(
                f"kernel for the columns {listing(self._columns)}",
                expected=f"inputs that are tuples of {len(self._columns)} values",
                got=listing(labels),
                remedy="design for these columns together: md.Prior.from_data(table, [...])",
            )
        super().__init__(
            designed, joined(self._columns), words, policy, texts=texts, identity=identity
        )
        self._values = [tuple(dict.fromkeys(x[i] for x in labels)) for i in range(len(columns))]
        self._understand(labels, getattr(kernel, "schema", None))
        self._targets, self._parts = _targets(kernel, self._columns, self._values, into)

    def _understand(self, labels: Sequence[Label], schema: Any) -> None:
        """Prepare what makes positions of inputs of the values in a row."""
        count = len(self._columns)
        bins = schema.bins if schema is not None and len(schema) > 1 else (None,) * count
        # What is done with values that are missing or none of these is decided for whole rows.
        kept = _kept(self.policy)
        self._encoders = [
            encoder_of(column, values, kept, texts=self.texts, bins=own)
            for column, values, own in zip(self._columns, self._values, bins, strict=True)
        ]
        self._radix = Combinations([len(values) for values in self._values])
        self._places = _place_table(labels, self._values, self._radix)

    @property
    def targets(self) -> list[Any]:
        """A column for each part of the reports, or one for all."""
        return list(self._targets)

    def settings(self, is_repeatable: bool, mark: Callable[[str], str]) -> dict[str, Any]:
        """What decides the reports, with how numbers are binned and where parts are written."""
        told = super().settings(is_repeatable, mark)
        bins = mark(repr([told_bins(encoder.bins) for encoder in self._encoders]))
        return {**told, "bins": bins, "into": [str(target.column) for target in self._targets]}

    @property
    def parted(self) -> list[tuple[Any, Any]]:
        """Each column, with the design for all of them."""
        return [(column, self.designed) for column in self._columns]

    def check_names(self, names: Sequence[Any]) -> None:
        """Raise an error for a table that lacks a column, or has one of the name of a new one."""
        super().check_names(names)
        _check_new(names, self._targets, self._columns)

    def receipts(self, *, rows: bool = True) -> list[Receipt]:
        """What made the reports so far, by the name of their column where there is one."""
        made = self.receipt(rows=rows)
        return [replace(made, column=joined([target.column for target in self._targets]))]

    def codes(self, read: Reader) -> NDArray[np.int64]:
        """Input positions for the rows of a part, by the policy; -1 for null reports."""
        columns = [read(column) for column in self._columns]
        parts = [
            e.encode(values, self.rows) for e, values in zip(self._encoders, columns, strict=True)
        ]
        blank = np.zeros(len(parts[0]), dtype=bool)
        for encoder, values, part in zip(self._encoders, columns, parts, strict=True):
            blank |= (part == ABSENT) & _blank_rows(encoder, values)
        return self._placed(parts, blank)

    def _placed(self, parts: Sequence[NDArray[Any]], blank: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Positions of the tuples; those that are no inputs by the policy for unseen values."""
        return self._decided(self._tuples(parts), blank)

    def _decided(self, found: NDArray[np.int64], blank: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Positions of inputs with what the policy says of rows without one."""
        unseen = (found == ABSENT) & ~blank
        if unseen.any() and self.policy.unseen == "error":
            raise self._unseen(unseen)
        stand_in = self.encoder.book.place(self.policy.replacement)
        if self.policy.missing == "replace":
            found[blank] = stand_in
        if self.policy.unseen == "replace":
            found[unseen] = stand_in
        return found

    def _unseen(self, unseen: NDArray[np.bool_]) -> DataError:
        """The error for rows whose values are no input."""
        return unseen_combination(joined(self._columns), unseen, self.rows)

    def positions(
        self, read: Reader, values: Sequence[Any], places: NDArray[Any]
    ) -> NDArray[np.int64]:
        """Positions of the tuples, whatever the policy is."""
        found = []
        for encoder, column in zip(self._encoders, self._columns, strict=True):
            own, rows = distinct_values(read(column), column)
            found.append(encoder.positions(read(column), own, rows))
        return self._tuples(found)

    def _tuples(self, parts: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        """Positions of the tuples of these parts; -1 where they make no input."""
        absent = np.logical_or.reduce([part == ABSENT for part in parts])
        return np.where(absent, ABSENT, self._places[np.where(absent, 0, self._radix.join(parts))])

    def draw_all(self, read: Reader) -> list[tuple[Any, NDArray[Any]]]:
        """For each column of reports the positions of its labels, -1 where the report is null."""
        drawn = self.draw(read)
        # The place behind the last is that of a null report.
        pairs = zip(self._targets, self._parts, strict=True)
        return [(t, drawn if part is None else part[drawn]) for t, part in pairs]

    def recall(self, read: Reader) -> None:
        """Take in reports that were drawn before, for the fingerprint of all."""
        reports = self.reports = self.reports or Fingerprinter()
        if isinstance(self.mechanism, ImplicitKernel):
            reports.add(read(self._targets[0].column))
            return
        found = [self.read_back(read(t.column), t.outputs) for t in self._targets]
        radix = Combinations([len(t.outputs) for t in self._targets])
        own = radix.join([part[:-1] for part in self._parts if part is not None])
        order = np.argsort(own)
        codes = radix.join(found)
        places = np.searchsorted(own[order], codes).clip(max=len(own) - 1)
        is_known = own[order][places] == codes
        outputs = [*self.mechanism.outputs, None]
        reports.add_codes(outputs, np.where(is_known, order[places], len(outputs) - 1))


class PlanRelease(_SeveralColumns):
    """Privatises several columns by a plan: a kernel for each, drawn independently.

    Parameters are those of :class:`ColumnRelease`, with the columns in the order of the plan. A
    replacement is a tuple or a mapping with a value for each column.
    """

    def __init__(
        self,
        plan: KernelPlan,
        columns: Sequence[Any],
        rng: Any = None,
        policy: Policy | None = None,
        *,
        texts: bool = False,
        identity: Identity | None = None,
    ) -> None:
        self._columns = _checked_columns(columns, identity)
        if len(self._columns) != len(plan.names):
            raise InputError(
                "columns of a plan",
                expected=f"{len(plan.names)}, as the plan is for {listing(plan.names)}",
                got=str(len(self._columns)),
                remedy="leave columns= out, or name one for each of the plan's",
            )
        self.plan, self.designed = plan, plan
        self.column, self.identity, self.strata = joined(self._columns), identity, None
        self.policy, self.texts, self.rows = policy or Policy(), texts, 0
        replacement = _replacements(self.policy, plan.names)
        self.parts = [
            ColumnRelease(
                found,
                column,
                words_from(rng, str(column)),
                Policy(self.policy.missing, self.policy.unseen, stand_in),
                texts=texts,
                identity=identity,
            ).checked()
            for found, column, stand_in in zip(
                plan.designs, self._columns, replacement, strict=True
            )
        ]
        self.words = words_from(rng, self.column)
        self._radix = Combinations([part.symbols for part in self.parts])
        self._covered = _covered(plan, self.parts, self._radix)
        self.admission = None if identity is None else Admission(identity)
        self.admitted, self.reports = None, None
        self.recalled = {}

    @property
    def targets(self) -> list[Any]:
        """The reports of each column."""
        return list(self.parts)

    def settings(self, is_repeatable: bool, mark: Callable[[str], str]) -> dict[str, Any]:
        """What decides the reports: of all columns together, and of each."""
        return {
            **plain_settings(self.receipt(rows=False), is_repeatable),
            # Whether a combination is released depends on those that the plan covers.
            "combinations": mark(repr(sorted(map(repr, self.plan.combinations or ())))),
            "parts": [part.settings(is_repeatable, mark) for part in self.parts],
        }

    @cached_property
    def recorded(self) -> Any:
        """All reports together as one kernel; ``None`` where that is too large."""
        return together_of(self.plan)

    @property
    def parted(self) -> list[tuple[Any, Any]]:
        """Each column with its design."""
        return list(zip(self._columns, self.plan.designs, strict=True))

    @property
    def symbols(self) -> int:
        """Number of combinations of known values, with and without each of them."""
        return len(self._covered) if self._covered is not None else 0

    @property
    def inputs(self) -> tuple[Label, ...] | None:
        """None: positions of combinations are those of this plan."""
        return None

    # Copies for other parts of a table

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "reports": None}

    def with_parts(self, **parts: Any) -> ColumnRelease:
        """The same release for other rows, with other attributes."""
        other = super().with_parts(**parts)
        assert isinstance(other, PlanRelease)
        own: list[dict[str, Any]] = [{} for _ in self.parts]
        for each, part in zip(own, self.parts, strict=True):
            if "identity" in parts:
                each["identity"] = parts["identity"]
            if isinstance(parts.get("words"), SeededWords) and isinstance(part.words, SeededWords):
                each["words"] = part.words.at(parts["words"].position)
        other.parts = [p.with_parts(**each) for p, each in zip(self.parts, own, strict=True)]
        return other

    def fixed(self, identities: list[bytes], codes: NDArray[Any]) -> ColumnRelease:
        """The same release for a table of these rows, in any order and as often as they come."""
        other = self.with_parts(admission=None)
        assert isinstance(other, PlanRelease)
        pairs = zip(other.parts, self._radix.split(codes), strict=True)
        other.parts = [part.fixed(identities, own) for part, own in pairs]
        return other

    def without_identity(self) -> ColumnRelease:
        """What may be seen: the kernels and policy, no key and no design with its prior."""
        other = self.with_parts(identity=None, admission=None, words=words_from(None))
        assert isinstance(other, PlanRelease)
        other.parts = [part.without_identity() for part in self.parts]
        # Its prior may be the counts of people; what it covers is in a table already.
        other.plan = other.designed = self.plan.bare()
        return other

    # What is released

    def receipts(self, *, rows: bool = True) -> list[Receipt]:
        """What made the reports so far, for each column."""
        named = f"{self.plan.total} of {joined(self._columns)} together"
        return [replace(part.receipt(rows=rows), together=named) for part in self.parts]

    def receipt(self, *, rows: bool = True) -> Receipt:
        """What made the reports of all columns together."""
        parts = self.receipts(rows=False)
        kernel = hashlib.sha256(",".join(part.kernel for part in parts).encode()).hexdigest()
        if self.recorded is not None:
            kernel = kernel_fingerprint(self.recorded.mechanism)
        reports = None
        if rows and self.reports is not None:
            reports = self.reports.result().sequence
        return replace(
            parts[0],
            column=self.column,
            kernel=kernel,
            design=None,
            notions=(str(self.plan.total),),
            missing=self.policy.missing,
            unseen=self.policy.unseen,
            rows=self.rows if rows else None,
            reports=reports,
            together=None,
        )

    def codes(self, read: Reader) -> NDArray[np.int64]:
        """One number for the values of each row, by the policy."""
        parts = []
        for part in self.parts:
            part.rows = self.rows
            parts.append(part.codes(read))
        found = self._radix.join(parts)
        if self._covered is None:
            return found
        whole = np.logical_and.reduce([part != ABSENT for part in parts])
        unseen = whole & ~self._covered[np.where(found == ABSENT, 0, found)]
        if not unseen.any():
            return found
        if self.policy.unseen == "error":
            raise unseen_combination(self.column, unseen, self.rows)
        stand_in = ABSENT
        if self.policy.unseen == "replace":
            values = _replacements(self.policy, self.plan.names)
            places = [p.encoder.book.place(v) for p, v in zip(self.parts, values, strict=True)]
            stand_in = int(self._radix.join([np.array([place]) for place in places])[0])
            if not self._covered[stand_in]:
                raise InputError(
                    "replacement",
                    expected="a combination of values that the plan's prior has",
                    got=quote(tuple(values)),
                    remedy="name one that occurs",
                )
        found[unseen] = stand_in
        return found

    @property
    def held(self) -> list[HeldPrior]:
        """The prior of all columns together where the plan has it, and that of each."""
        found = [one for part in self.parts for one in part.held]
        if self.plan.prior is None:
            return found
        decides = any(one.decides for one in found)
        return [HeldPrior(self._columns, self.plan.prior, decides), *found]

    def held_counts(
        self, read: Reader, values: Sequence[Any], places: NDArray[Any]
    ) -> list[NDArray[np.int64]]:
        """How often combinations of values, and those of each column, occur in a part."""
        positions, counts = [], []
        for part in self.parts:
            own = part.positions(read, *part.secrets(read))
            positions.append(own)
            counts += [np.bincount(own + 1, minlength=part.symbols + 1) for _ in part.held]
        if self.plan.prior is None:
            return counts
        order = np.argsort(self._held_codes)
        known, codes = self._held_codes[order], self._radix.join(positions)
        at = np.searchsorted(known, codes).clip(max=len(known) - 1)
        found = np.where(known[at] == codes, order[at], ABSENT)
        return [np.bincount(found + 1, minlength=len(known) + 1), *counts]

    @cached_property
    def _held_codes(self) -> NDArray[np.int64]:
        """The number of the combination of each symbol of the plan's prior."""
        assert self.plan.prior is not None
        places = [{x: i for i, x in enumerate(part.mechanism.inputs)} for part in self.parts]
        labels = self.plan.prior.labels
        return self._radix.join(
            [np.array([own.get(x[i], ABSENT) for x in labels]) for i, own in enumerate(places)]
        )

    def draw_all(self, read: Reader) -> list[tuple[Any, NDArray[Any]]]:
        """For each column its output positions, -1 where the report is null."""
        codes = self.codes(read)
        identities = self.identify(read, codes)
        codes, rounds = self.with_recalled(codes, identities)
        drawn = []
        for part, own in zip(self.parts, self._radix.split(codes), strict=True):
            drawn.append(part.draw_codes(own, identities, rounds))
        self.rows += len(codes)
        self._note(drawn)
        return list(zip(self.parts, drawn, strict=True))

    def recall(self, read: Reader) -> None:
        """Take in reports that were drawn before, for the fingerprint of all."""
        self._note([p.read_back(read(p.column), p.mechanism.outputs) for p in self.parts])

    def _note(self, drawn: Sequence[NDArray[Any]]) -> None:
        """Take in the reports of all columns, by the positions of those of each."""
        self.reports = self.reports or Fingerprinter()
        outputs = Combinations([part.mechanism.shape[1] for part in self.parts])
        met, places = np.unique(outputs.join(drawn), return_inverse=True)
        labels = [part.mechanism.outputs for part in self.parts]
        self.reports.add_rows(labels, outputs.split(met), places)


@dataclass(frozen=True)
class Together:
    """All reports of a plan as one kernel, with what they have together.

    Attributes
    ----------
    mechanism : over the combinations that the guarantee is about
    prior, notions : the joint prior, if any, and the total notion
    """

    mechanism: Mechanism
    prior: Prior | None
    notions: tuple[Any, ...]


def together_of(plan: KernelPlan) -> Together | None:
    """All reports of a plan as one kernel; ``None`` where that is too large."""
    shapes = [kernel.shape for kernel in plan.kernels.values()]
    known = plan.prior.restricted() if plan.prior is not None and plan.total.uses_prior else None
    rows = math.prod(n for n, _ in shapes) if known is None else len(known)
    if rows * math.prod(m for _, m in shapes) > MOST_ENTRIES:
        return None
    if known is None:
        return Together(plan.product(), None, (plan.total,))
    kernel = product_kernel(list(plan.kernels.values()), known.labels)
    return Together(kernel.with_schema(plan.names), known, (plan.total,))


# What is handed in


def _checked_columns(columns: Sequence[Any], identity: Identity | None) -> tuple[Any, ...]:
    found = tuple(columns)
    twice = next((name for name in found if found.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            "columns",
            expected="different columns",
            got=f"{quote(twice)} more than once",
            remedy="name each column once",
        )
    if identity is not None and identity.column in found:
        raise InputError(
            "row or person",
            expected="another column than the secrets",
            got=f"{quote(identity.column)} for both",
            remedy="name the column that identifies the rows",
        )
    return found


def _check_new(names: Sequence[Any], targets: Sequence[Any], columns: Sequence[Any]) -> None:
    """Refuse names of reports that other columns of the table have."""
    for target in targets:
        if target.column in names and target.column not in columns:
            raise DataError(
                "names of the columns of reports",
                expected="names that the table does not have",
                got=quote(target.column),
                remedy="choose another name with into= (--into)",
            )
        others = [name for name in columns if name != target.source]
        if target.column in others and target.column in [t.source for t in targets]:
            raise DataError(
                "names of the columns of reports",
                expected="each in the place of the column that it is called after",
                got=f"{quote(target.column)} in the place of {quote(target.source)}",
                remedy="choose other names with into= (--into)",
            )


def _kept(policy: Policy) -> Policy:
    """A policy under which nothing is replaced in a single column."""
    return Policy(
        "error" if policy.missing == "error" else "keep",
        "error" if policy.unseen == "error" else "null",
    )


def _blank_rows(encoder: Encoder, values: Any) -> NDArray[np.bool_]:
    """Which rows of a column have no value."""
    distinct, places = distinct_values(values)
    blank = np.array([*(encoder.is_blank(value) for value in distinct), True])
    return np.asarray(blank[places], dtype=bool)


def _place_table(
    labels: Sequence[Label], values: Sequence[Sequence[Label]], radix: Combinations
) -> NDArray[np.int64]:
    """Positions of tuples among the inputs by the number of their combination."""
    size = math.prod(size + 1 for size in radix.sizes)
    if size > _MOST_COMBINATIONS:
        raise DataError(
            "columns",
            expected=f"at most {_MOST_COMBINATIONS:,} combinations of values",
            got=f"{size:,}",
            remedy="plan each column by itself (md.plan_columns)",
        )
    place = [{value: i for i, value in enumerate(own)} for own in values]
    codes = [np.array([p[x[i]] for x in labels]) for i, p in enumerate(place)]
    table = np.full(size, ABSENT, dtype=np.int64)
    table[radix.join(codes)] = np.arange(len(labels))
    return table


def _targets(
    kernel: Any, columns: Sequence[Any], values: Sequence[tuple[Label, ...]], into: Any
) -> tuple[list[ReportColumn], list[NDArray[np.int64] | None]]:
    """The columns of reports, and for each the places of labels by outputs, null the last; none
    where there is no list of outputs.
    """
    outputs, count = kernel.outputs, len(columns)
    split = all(isinstance(y, tuple) and len(y) == count for y in outputs)
    wanted = count if split else 1
    names = [into] if isinstance(into, str) else into
    if names is None:
        names = list(columns) if split else ["_".join(map(str, columns))]
    names = list(names) if isinstance(names, (list, tuple)) else [names]
    if (
        len(names) != wanted
        or not all(isinstance(n, str) for n in names)
        or len(set(names)) < len(names)
    ):
        raise InputError(
            "names of the columns of reports (into)",
            expected=f"{wanted} different names, as reports are "
            + (f"tuples of {count} parts" if split else "no tuples with a part for each column"),
            got=listing(names),
            remedy="leave into= (--into) out, or name each column of reports",
        )
    if isinstance(kernel, ImplicitKernel):
        return [ReportColumn(names[0], columns[0], outputs, (), kernel)], [None]
    parts = [[y[i] for y in outputs] for i in range(count)] if split else [[*outputs]]
    targets, places = list[ReportColumn](), list[NDArray[np.int64] | None]()
    for i, part in enumerate(parts):
        met = list(dict.fromkeys(part))
        place = {label: k for k, label in enumerate(met)}
        known = tuple(values[i]) if split else ()
        targets.append(ReportColumn(names[i], columns[i], tuple(met), known))
        places.append(np.array([*(place[label] for label in part), ABSENT]))
    return targets, places


def distinct_rows(
    columns: Sequence[Any], names: Sequence[Any]
) -> tuple[list[Any], NDArray[np.int64]]:
    """Distinct tuples of values of several columns, with null the last, and the place of each row.

    >>> import pyarrow as pa
    >>> distinct_rows([pa.array(["a", "b", None]), pa.array([1, 1, 2])], ["x", "y"])
    ([(None, 2), ('a', 1), ('b', 1), None], array([1, 2, 0]))
    """
    found = [distinct_values(values, name) for values, name in zip(columns, names, strict=True)]
    codes = [
        np.where(places.astype(np.int64) >= len(values), ABSENT, places) for values, places in found
    ]
    radix = Combinations([len(values) for values, _ in found])
    met, places = np.unique(radix.join(codes), return_inverse=True)
    rows = zip(*(part.tolist() for part in radix.split(met)), strict=True)
    tuples = [
        tuple(None if k < 0 else values[k] for (values, _), k in zip(found, row, strict=True))
        for row in rows
    ]
    return [*tuples, None], places


def unseen_combination(column: str, unseen: NDArray[np.bool_], first: int) -> DataError:
    """The error for combinations of values that are no inputs, of which none is quoted."""
    rows = np.flatnonzero(unseen)
    return DataError(
        f"columns {column}",
        expected="combinations of values that the design knows",
        got="others" + rows_told(rows, first, len(unseen)),
        remedy="give every combination that can occur some mass in the prior and design again, or "
        f"choose {asked_by(*NULL_OR_REPLACED)}",
    )


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


def _covered(
    plan: KernelPlan, parts: Sequence[ColumnRelease], radix: Combinations
) -> NDArray[np.bool_] | None:
    """Which combinations the guarantee of a plan is about; ``None`` for all of them."""
    known = plan.combinations
    if known is None:
        return None
    size = math.prod(size + 1 for size in radix.sizes)
    if size > _MOST_COMBINATIONS:
        raise DataError(
            "columns of a plan",
            expected=f"at most {_MOST_COMBINATIONS:,} combinations of values",
            got=f"{size:,}",
            remedy="ask for md.LDP, which covers all of them",
        )
    inputs = [{x: i for i, x in enumerate(part.mechanism.inputs)} for part in parts]
    rows = [[place[label[i]] for label in known] for i, place in enumerate(inputs)]
    table = np.zeros(size, dtype=bool)
    table[radix.join([np.array(row) for row in rows])] = True
    return table


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
        check_name("column", name)
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
