"""Frequencies of many symbols, with standard errors, from reports that are integers.

Reports are counted in one pass, batch by batch; one transform over the space of the family then
gives the estimates of all symbols, so that the work is that of counting and of order N log N.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    DataError,
    InputError,
    PrecisionWarning,
    UnknownNameError,
    asked_by,
    quote,
    warn,
)
from ..input_tables import DROPPED, MISSING_TEXT, is_missing
from ..labels import Label, counted, short_names
from ..subsets import SubsetSelection
from .counts import FEWEST, count_rows
from .receipts import Receipt, trace
from .references import check_confidence
from .report_counts import ReportCounts

# Tables of counts up to this size are kept whole; of more reports, those that came.
_MOST_CELLS = 1 << 25
# Reports that came are put together when there are so many of them.
_PENDING = 1 << 22
# Groups of directions whose counts are held against chance.
_GROUPS = 64
_SHOWN = 10

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class SubsetCounts:
    """How often each report of a subset selection came, counted batch by batch.

    Parameters
    ----------
    mechanism : what made them
    missing : {"error", "drop"}
        What to do with null reports.

    Attributes
    ----------
    total : number of reports so far
    """

    def __init__(self, mechanism: SubsetSelection, missing: str = "error") -> None:
        self._limit, self._missing = len(mechanism.outputs), missing
        self.total = 0
        self._table = np.zeros(self._limit, dtype=np.int64) if self._limit <= _MOST_CELLS else None
        self._known = np.zeros((2, 0), dtype=np.int64)
        self._pending: list[NDArray[np.int64]] = []
        self._waiting = 0

    def add(self, values: Any, times: Any = None) -> None:
        """Take in reports of an Arrow array, a NumPy vector or a list.

        ``times`` says how often each came. Raises :class:`DataError` for what is no report.
        """
        found, blank = _whole_numbers(values)
        if blank.any():
            if self._missing == "error":
                raise DataError(
                    "reports",
                    expected="no missing reports",
                    got=str(int(blank.sum())),
                    remedy=f"leave them out with {asked_by(*DROPPED)}",
                )
            found = found[~blank]
            times = None if times is None else np.asarray(times)[~blank]
        wrong = (found < 0) | (found >= self._limit)
        if wrong.any():
            raise DataError(
                "reports",
                expected=f"integers from 0 to {self._limit - 1}",
                got=f"{int(wrong.sum())} others",
                remedy="pass the mechanism that made them",
            )
        counts = np.ones(len(found), dtype=np.int64) if times is None else _checked_times(times)
        self.total += int(counts.sum())
        if self._table is not None:
            np.add.at(self._table, found, counts)
            return
        self._pending.append(np.stack([found, counts]))
        self._waiting += len(found)
        if self._waiting > _PENDING:
            self._put_together()

    def _put_together(self) -> None:
        whole = np.concatenate([self._known, *self._pending], axis=1)
        whole = whole[:, np.argsort(whole[0], kind="stable")]
        starts = np.flatnonzero(np.diff(whole[0], prepend=-1))
        sums = np.add.reduceat(whole[1], starts) if len(starts) else whole[1]
        self._known = np.stack([whole[0][starts], sums])
        self._pending, self._waiting = [], 0

    def result(self) -> tuple[Integers, Integers]:
        """Distinct reports in rising order, and how often each came."""
        if self._table is not None:
            met = np.flatnonzero(self._table)
            return met, self._table[met]
        self._put_together()
        return self._known[0], self._known[1]


def _whole_numbers(values: Any) -> tuple[Integers, NDArray[np.bool_]]:
    """Integers of a column, and which of them are null."""
    if hasattr(values, "null_count") and hasattr(values, "is_null"):
        values = _of_arrow(values)
    array = np.asarray(values)
    if array.ndim == 1 and array.dtype.kind in "iu":
        if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
            raise _no_integers("larger integers")
        return array.astype(np.int64, copy=False), np.zeros(len(array), dtype=bool)
    if array.ndim != 1:
        raise _no_integers(f"an array of shape {array.shape}")
    if array.dtype.kind == "f":
        blank = np.isnan(array)
        whole = np.where(blank, 0, array)
        if (np.abs(whole) >= 2**53).any() or (whole != np.floor(whole)).any():
            raise _no_integers("other numbers")
        return whole.astype(np.int64), blank
    blank = np.array([_is_blank(value) for value in array.tolist()], dtype=bool)
    try:
        return np.array(
            [0 if b else _integer(v) for v, b in zip(array, blank, strict=True)], dtype=np.int64
        ), blank
    except (TypeError, ValueError, OverflowError):
        raise _no_integers(f"values of type {array.dtype}") from None


def _is_blank(value: Any) -> bool:
    return is_missing(value) or (isinstance(value, str) and value.strip().lower() in MISSING_TEXT)


def _integer(value: Any) -> int:
    """An integer, or the one that the digits of a text from a file are."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        return int(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    raise TypeError


def _of_arrow(values: Any) -> Any:
    """An Arrow array as NumPy integers or a list."""
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_integer(values.type) and not values.null_count:
        return values.to_numpy(zero_copy_only=False)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        try:
            return _of_arrow(values.cast(pa.int64()))
        except pa.ArrowInvalid:
            pass
    return np.array(values.to_pylist(), dtype=object)


def _no_integers(got: str) -> DataError:
    return DataError(
        "reports",
        expected="integers, as this mechanism reports them",
        got=got,
        remedy="pass the column of reports, and the mechanism that made them",
    )


def _checked_times(times: Any) -> Integers:
    found = np.asarray(times)
    if found.dtype.kind not in "iu" or (found.size and int(found.min()) < 0):
        raise DataError(
            "counts of reports",
            expected="integers of at least 0",
            got=quote(times, 40),
            remedy="pass how often each report came",
        )
    return found.astype(np.int64)


def count_subset_reports(
    reports: Any, mechanism: SubsetSelection, column: str | None = None, missing: str = "error"
) -> SubsetCounts:
    """Counts of reports in a table with ``column``, a column, batches or a mapping to counts."""
    if isinstance(reports, SubsetCounts):
        return reports
    if isinstance(reports, ReportCounts):
        reports = reports.by_label(mechanism)
    found = SubsetCounts(mechanism, missing)
    for values, times in _parts(reports, column):
        found.add(values, times)
    return found


def _parts(reports: Any, column: str | None) -> Iterator[tuple[Any, Any]]:
    if isinstance(reports, Mapping):
        yield list(reports), list(reports.values())
        return
    if column is None:
        if hasattr(reports, "columns") and not isinstance(reports, np.ndarray):
            raise DataError(
                "reports",
                expected="the name of their column",
                got="a table without it",
                remedy="pass column=",
            )
        yield _listed(reports), None
        return
    root = type(reports).__module__.partition(".")[0]
    if root in ("pandas", "polars", "pyarrow") and not hasattr(reports, "collect_schema"):
        names = reports.schema.names if root == "pyarrow" else list(reports.columns)
        if column not in names:
            raise UnknownNameError("column", column, map(str, names))
        batches: Iterable[Any] = [reports]
        if hasattr(reports, "read_all"):
            batches = reports
        for batch in batches:
            yield (batch.column(column) if root == "pyarrow" else batch[column]), None
        return
    counts = count_rows(reports, [column])
    yield list(counts), list(counts.values())


def _listed(reports: Any) -> Any:
    if isinstance(reports, (str, bytes)):
        raise _no_integers(f"a single {type(reports).__name__}")
    if isinstance(reports, np.ndarray) or hasattr(reports, "dtype") or hasattr(reports, "type"):
        return reports
    try:
        return list(reports)
    except TypeError:
        raise _no_integers(f"a {type(reports).__name__}") from None


# Estimates


@dataclass(frozen=True, eq=False)
class ManyEstimates:
    """Shares of many symbols, or of combinations of values, each with its standard error.

    Attributes
    ----------
    labels : the symbols
    values : ``(N,)`` unbiased estimates, which may lie outside [0, 1]
    errors : ``(N,)`` standard errors
    reports : number of reports
    confidence, target : as asked
    fit : p-value of the hypothesis that this mechanism made the reports, rather too large
    receipt : the receipt that says so, ``None`` where none came with the reports
    note : what could not be told of where the reports came from, a sentence or nothing
    freedom : degrees of freedom of the intervals, infinite but for samples of a survey
    """

    labels: tuple[Label, ...]
    values: Floats
    errors: Floats
    reports: int
    confidence: float
    target: str
    fit: float
    receipt: Receipt | None = None
    note: str = ""
    freedom: float = math.inf

    method = "inversion"

    @cached_property
    def _places(self) -> dict[Label, int]:
        return {label: i for i, label in enumerate(self.labels)}

    def _limits(self, together: int = 1) -> tuple[Floats, Floats]:
        """Confidence limits inside [0, 1] that hold for so many symbols at once (Bonferroni)."""
        from scipy.stats import t

        width = float(t.isf((1 - self.confidence) / (2 * together), self.freedom)) * self.errors
        return np.clip(self.values - width, 0.0, 1.0), np.clip(self.values + width, 0.0, 1.0)

    @property
    def lower(self) -> Floats:
        """Lower confidence limits, each alone, inside [0, 1]."""
        return self._limits()[0]

    @property
    def upper(self) -> Floats:
        """Upper confidence limits, each alone, inside [0, 1]."""
        return self._limits()[1]

    def top(self, count: int = _SHOWN) -> list[dict[str, Any]]:
        """The symbols of largest estimates, largest first, one plain dictionary each.

        Symbols that are chosen for their estimates are mostly overestimated. Their intervals hold
        with the confidence for all N symbols at once (Bonferroni), and so for those chosen; they
        are wider than those of :attr:`lower`, :attr:`upper` and :meth:`rows`, each alone.
        """
        if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
            raise InputError(
                "count", expected="a positive integer", got=quote(count), remedy="pass 10"
            )
        count = min(int(count), len(self.labels))
        places = np.argpartition(-self.values, count - 1)[:count]
        order = np.argsort(-self.values[places], kind="stable")
        return self._rows(places[order], len(self.labels))

    def present(self, confidence: float = 0.95) -> list[dict[str, Any]]:
        """The symbols whose shares are above zero, all of them at once with this confidence.

        Their intervals hold for all N symbols at once, as in :meth:`top`.
        """
        from scipy.stats import t

        check_confidence(confidence)
        width = float(t.isf((1 - confidence) / len(self.labels), self.freedom))
        places = np.flatnonzero(self.values > width * self.errors)
        order = np.argsort(-self.values[places], kind="stable")
        return self._rows(places[order], len(self.labels))

    def rows(self) -> list[dict[str, Any]]:
        """One plain dictionary for each symbol, in their order, with intervals each alone."""
        return self._rows(np.arange(len(self.labels)))

    def _rows(self, places: NDArray[Any], together: int = 1) -> list[dict[str, Any]]:
        lower, upper = (ends[places] for ends in self._limits(together))
        return [
            {
                "label": self.labels[i],
                "estimate": float(self.values[i]),
                "error": float(self.errors[i]),
                "lower": float(low),
                "upper": float(high),
            }
            for i, low, high in zip(places.tolist(), lower, upper, strict=True)
        ]

    def __getitem__(self, label: Label) -> float:
        if label not in self._places:
            raise UnknownNameError("estimate of", label, map(str, self.labels[:_SHOWN]))
        return float(self.values[self._places[label]])

    def describe(self, *, together: bool = False) -> str:
        """Number of symbols and reports and what the intervals are about, in one line: those of
        each symbol alone, or of :meth:`top`, which hold together.
        """
        about = "all who might be asked" if self.target == "population" else "those who reported"
        return (
            f"unbiased inversion for {counted(len(self.labels), 'symbol')} from "
            f"{counted(self.reports, 'report')}; {100 * self.confidence:g} % intervals (delta) "
            f"for {about}"
            + (f", of all {len(self.labels)} symbols at once (Bonferroni)" if together else "")
        )

    def __repr__(self) -> str:
        lines = [f"{self.describe(together=True)}; largest estimates ± one standard error"]
        rows = self.top()
        names = short_names([row["label"] for row in rows], 28)
        lines += [
            f"{name:<28}  {row['estimate']:9.5f}  ± {row['error']:.5f}  "
            f"[{row['lower']:.5f}, {row['upper']:.5f}]"
            for name, row in zip(names, rows, strict=True)
        ]
        if self.note:
            lines.append(self.note)
        return "\n".join(lines)


def estimate_many(
    reports: Any,
    mechanism: SubsetSelection,
    column: str | None,
    *,
    confidence: float,
    target: str,
    missing: str,
    receipt: Any,
) -> ManyEstimates:
    """:func:`estimate` for reports of a subset selection, with every option checked."""
    counted = count_subset_reports(reports, mechanism, column, missing)
    n = counted.total
    if n < FEWEST:
        raise DataError(
            "reports",
            expected=f"at least {FEWEST}",
            got=str(n),
            remedy="collect more; md.plan (mechdesign plan) says how many",
        )
    known, note = trace(reports, column, mechanism, receipt, n)
    codes, counts = counted.result()
    values = mechanism.shares_of(codes, counts)
    shares = np.clip(values, 0.0, 1.0)
    shares /= max(1.0, float(shares.sum()))
    variance = mechanism.variances(shares)
    if target == "sample":
        # What remains where the secrets are fixed and only reports are random.
        variance = np.maximum(variance - shares * (1 - shares), 0.0)
    errors = np.sqrt(variance / n)
    if float(errors.max()) * 1.96 >= 0.5:
        warn(
            f"{n} reports say next to nothing about the {len(values)} shares "
            f"(± {1.96 * float(errors.max()):.2g}); md.plan (mechdesign plan) says how many would",
            PrecisionWarning,
        )
    return ManyEstimates(
        mechanism.inputs,
        values,
        errors,
        n,
        confidence,
        target,
        fit_of_directions(mechanism, codes, counts),
        known,
        note,
    )


def fit_of_directions(mechanism: SubsetSelection, codes: Integers, counts: Integers) -> float:
    """A p-value for the hypothesis that the mechanism made the reports.

    Directions have the same chances whatever the symbols are; raw data and other mechanisms'
    reports mostly lie elsewhere. With t = n·KL(f‖q) over k groups of directions it is
    e^-t (et/(k−1))^(k−1), a bound for every number of reports [Agrawal2020].
    """
    family, directions, counts = mechanism.directions_of(codes, counts)
    total, lines = int(counts.sum()), family.directions
    groups = min(_GROUPS, lines)
    ends = [-(-k * lines // groups) for k in range(groups + 1)]
    place = np.searchsorted(ends, directions, side="right") - 1
    met = np.bincount(place, counts, groups)
    expected = np.diff([family.share_below(end) for end in ends[:-1]] + [1.0])
    used = met > 0
    share = met[used] / total
    distance = total * float((share * np.log(share / expected[used])).sum())
    freedom = groups - 1
    if freedom == 0 or distance <= freedom:
        return 1.0
    return math.exp(freedom * (1 + math.log(distance / freedom)) - distance)
