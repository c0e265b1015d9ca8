"""What was observed: reports counted by input, from columns or from a mechanism that is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, listed, quote
from ..exact import is_whole
from ..labels import Label, check_labels, tidy
from ..prior import Prior
from ..progress import advance
from ..tables.counting import is_missing
from ..tables.frames import column_values as values_in
from ..tables.frames import listed_values

#: Most cells of a table of counts, inputs times outcomes.
MOST_CELLS = 20_000_000
#: Most calls of a mechanism.
MOST_CALLS = 100_000_000

Reports = list[Any]
Coded = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Sample:
    """Inputs, as positions among the symbols, and the reports on them."""

    inputs: Coded
    reports: Reports

    def __len__(self) -> int:
        return len(self.inputs)

    def part(self, rows: NDArray[np.intp]) -> Sample:
        """Some of the rows."""
        return Sample(self.inputs[rows], [self.reports[i] for i in rows.tolist()])


def column_values(column: Any, subject: str) -> list[Any]:
    """The values of a column of any library; a :class:`DataError` where one is missing."""
    try:
        is_array = isinstance(column, np.ndarray) and column.ndim > 0
        listed = listed_values(column if is_array else values_in(column))
    except DataError as problem:
        raise DataError(
            subject, expected=problem.expected, got=problem.got, remedy=problem.remedy
        ) from None
    values = [tuple(v) if is_array and isinstance(v, list) else tidy(v) for v in listed]
    refuse_blank(values, subject)
    return values


def refuse_blank(values: Sequence[Any], subject: str) -> None:
    """Raise :class:`DataError` where a value, or an entry of a tuple, is missing or NaN."""
    blank = sum(map(_is_blank, values))
    if blank:
        raise DataError(
            subject,
            expected="a value in every row",
            got=f"{blank} of {len(values)} rows with none, or with NaN",
            remedy="name what is missing with a text such as 'none': not to answer is a report too",
        )


def _is_blank(value: Any) -> bool:
    """Whether a value, or an entry of a tuple, is missing or does not equal itself."""
    if isinstance(value, (tuple, list)):
        return any(map(_is_blank, value))
    if isinstance(value, (complex, Decimal)):
        return bool(value != value)
    return is_missing(value)


def counted_inputs(values: Sequence[Any]) -> Counter[Label]:
    """How often each input occurs; a :class:`DataError` for values that cannot be labels."""
    try:
        return Counter(values)
    except Exception:  # a class may fail in any way when it is asked for its hash
        raise DataError(
            "inputs",
            expected="hashable values such as text or numbers",
            got="values that are not",
            remedy="convert the inputs to text",
        ) from None


def coded_inputs(values: Sequence[Any], prior: Prior) -> Coded:
    """Positions of inputs in a prior; a :class:`DataError` for inputs that it does not know."""
    places = {label: i for i, label in enumerate(prior.labels)}
    counted_inputs(values)  # which says so where some cannot be looked up
    unknown = sum(value not in places for value in values)
    if unknown:
        raise DataError(
            "inputs",
            expected=f"the {len(prior)} symbols of the prior",
            got=f"{unknown} of {len(values)} that are none of them",
            remedy="give a prior over all inputs, or leave out the other rows",
        )
    return np.array([places[value] for value in values], dtype=np.intp)


def pairs_of_columns(inputs: Any, reports: Any) -> tuple[list[Any], Reports]:
    """Two columns of one length, without missing values."""
    for column, subject in ((inputs, "inputs"), (reports, "reports")):
        if isinstance(column, (set, frozenset)):
            raise DataError(
                subject,
                expected="a column, one value for each report",
                got="a set, which has no order and each value once",
                remedy="pass a list",
            )
    given, told = column_values(inputs, "inputs"), column_values(reports, "reports")
    rows, others = _row_names(inputs), _row_names(reports)
    if rows is not None and others is not None and not rows.equals(others):
        raise DataError(
            "inputs and reports",
            expected="columns with the same index, row by row",
            got="two different indexes",
            remedy="take both from one table, or pass .tolist() of each where rows do correspond",
        )
    if len(given) != len(told):
        raise DataError(
            "inputs and reports",
            expected="as many reports as inputs",
            got=f"{len(given)} inputs and {len(told)} reports",
            remedy="give the report on each input, in the same order",
        )
    if not given:
        raise DataError(
            "inputs and reports",
            expected="at least one report",
            got="none",
            remedy="collect some reports first",
        )
    return given, told


def _row_names(column: Any) -> Any:
    """The index of a column of pandas, ``None`` of any other."""
    found = getattr(column, "index", None)
    return found if hasattr(found, "equals") else None


def check_every_symbol(totals: NDArray[Any], symbols: Iterable[int]) -> None:
    """Raise :class:`DataError` where there is no report about a symbol that is asked about."""
    missing = sum(totals[x] == 0 for x in symbols)
    if missing:
        raise DataError(
            "inputs",
            expected="reports about every symbol that the notions compare",
            got=f"none about {missing} of them",
            remedy="collect reports about these symbols, or give a prior over the others",
        )


class Outcomes:
    """The outcomes that are told apart: those that are stated, or those that occur.

    Parameters
    ----------
    stated : all outcomes that there are, or ``None``
    """

    def __init__(self, stated: Any = None) -> None:
        self.is_complete = stated is not None
        labels: tuple[Label, ...] = ()
        if stated is not None:
            listing = listed(stated, "outputs", "all outcomes that there are", DataError)
            labels = check_labels(listing, len(listing), "outputs", DataError)
        if self.is_complete and not labels:
            raise DataError(
                "outputs",
                expected="all outcomes that there are",
                got="none",
                remedy="list them, or leave outputs out",
            )
        self._places: dict[Label, int] = {label: i for i, label in enumerate(labels)}

    @property
    def labels(self) -> tuple[Label, ...]:
        """The outcomes, in the order of their columns."""
        return tuple(self._places)

    def count(self, sample: Sample, size: int) -> NDArray[np.float64]:
        """Reports of a sample by input and outcome, ``(size, M)``; outcomes that are new follow."""
        try:
            found = Counter(zip(sample.inputs.tolist(), sample.reports, strict=True))
        except Exception:  # a class may fail in any way when it is asked for its hash
            raise DataError(
                "reports",
                expected="hashable values such as text, numbers or tuples of these",
                got="values that are not",
                remedy="return tuples in place of lists and arrays, or state a partition",
            ) from None
        new = [label for label in dict.fromkeys(sample.reports) if label not in self._places]
        if new and self.is_complete:
            wrong = sum(report not in self._places for report in sample.reports)
            raise DataError(
                "reports",
                expected=f"the {len(self._places)} outcomes that were stated",
                got=f"{wrong} of {len(sample)} reports that are none of them",
                remedy="state all outcomes, or leave outputs out",
            )
        for label in new:
            self._places[label] = len(self._places)
        if size * len(self._places) > MOST_CELLS:
            raise DataError(
                "reports",
                expected=f"at most {MOST_CELLS // size:,} different ones",
                got=f"{len(self._places):,}",
                remedy="state a partition, such as the edges of intervals, or partition='tree'",
            )
        counts = np.zeros((size, len(self._places)))
        for (x, label), times in found.items():
            counts[x, self._places[label]] += times
        return counts


class Called:
    """A mechanism that is called for its reports.

    Parameters
    ----------
    function : from an input to a report, or with ``batch`` from an input and a number to as many
    batch : whether it is called for many reports at once
    labels : the symbols, in the order of their positions
    """

    def __init__(
        self, function: Callable[..., Any], labels: Sequence[Label], *, batch: bool
    ) -> None:
        self._function, self._labels, self._batch = function, labels, batch
        self.calls = 0

    def draw(self, numbers: Iterable[int]) -> Sample:
        """So many reports about each symbol."""
        inputs: list[int] = []
        reports: Reports = []
        for x, number in enumerate(numbers):
            if number:
                reports += self._reports(self._labels[x], int(number))
                inputs += [x] * int(number)
                if self._batch:
                    advance(int(number))
        self.calls += len(inputs)
        refuse_blank(reports, "reports of the mechanism")
        return Sample(np.array(inputs, dtype=np.intp), reports)

    def _one(self, label: Label) -> Any:
        found = tidy(self._function(label))
        advance()
        return found

    def _reports(self, label: Label, number: int) -> Reports:
        try:
            if not self._batch:
                return [self._one(label) for _ in range(number)]
            found = self._function(label, number)
        except Exception as problem:  # the mechanism is anybody's; what it says may be secret
            raise DataError(
                "mechanism",
                expected="a report about every symbol",
                got=f"a {type(problem).__name__} when it was called",
                remedy="check what it does with each of the inputs that you give",
            ) from problem
        values = column_values(found, "reports of the mechanism")
        if len(values) != number:
            raise DataError(
                "mechanism",
                expected=f"{number} reports, as asked of it with batch=True",
                got=str(len(values)),
                remedy="return as many reports as its second argument says",
            )
        return values


def checked_calls(calls: Any, symbols: int, least: int) -> int:
    """A number of calls that suffices for a few of each symbol, or a :class:`DataError`."""
    if not is_whole(calls, least * symbols, MOST_CALLS):
        raise DataError(
            "calls",
            expected=f"a whole number from {least * symbols}, {least} for each symbol, to "
            f"{MOST_CALLS:,}",
            got=quote(calls),
            remedy="pass for example 100000",
        )
    return int(calls)


def checked_confidence(confidence: Any) -> float:
    """A confidence between 0 and 1, or a :class:`DataError`."""
    good = isinstance(confidence, (int, float, np.floating)) and not isinstance(confidence, bool)
    if not good or not 0 < confidence < 1:
        raise DataError(
            "confidence",
            expected="a number between 0 and 1",
            got=quote(confidence),
            remedy="pass for example 0.95",
        )
    return float(confidence)
