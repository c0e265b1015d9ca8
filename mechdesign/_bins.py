"""Bins: which numbers or dates a label of a column stands for.

Edges are exact numbers; those of dates are days since the first of 1970. A float among them is the
number that its shortest decimal says, so that 0.1 as a float, as a decimal and in a text file is
one edge. A value of fewer bits than the edge, such as a float of 32 bits, is compared with the edge
rounded to its type: 0.7 lies on the edge 0.7.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray

from .dates import PARTS, date_number, date_of, is_date, read_date
from .errors import (
    DataError,
    EdgesWarning,
    InputError,
    OpenBinWarning,
    UnknownNameError,
    asked_by,
    check_choice,
    is_iterable,
    listed,
    quote,
    warn,
)
from .exact import fraction, is_whole, nearest_float, read_fraction, write_fraction
from .labels import Label, check_labels, counted, listing, tidy
from .numeric import truth_value
from .tables.counting import is_missing
from .tables.frames import column_values, listed_values, plain_dates, plain_numbers

#: What :meth:`Bins.codes` gives for nulls and NaN, and for what lies in no bin.
MISSING, OUTSIDE = -1, -2

#: What edges are edges of.
KINDS = ("numbers", "dates", *PARTS)
ORIGINS = ("public", "a separate sample", "the secrets")
_SIDES = ("left", "right")
# Bins of one column; more are measured numbers again.
_MOST = 10_000
_LONGEST_TEXT = 24
# Edges of dates in a file, and days that dates can be.
_WRITTEN_DATE = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{6})?)?", re.ASCII)
_DAYS = date_number(date.min), date_number(date.max)

Edge = Fraction | float  # a float only where it is infinite


@dataclass(frozen=True, init=False, repr=False)
class Bins:
    """Intervals side by side that make labels of numbers or dates.

    Parameters
    ----------
    edges : K + 1 increasing numbers, dates or timestamps
        The first may be ``-inf``, the last ``inf``. Those of dates are kept as days since the first
        of 1970.
    closed : {"left", "right"}
        Which edge belongs to a bin. The outermost edges do in any case, if they are finite.
    whole : bool
        Whether the numbers are integers. Labels then name the first and the last of a bin, and
        fractions lie in no bin. Of dates: whether labels name days, whatever the time of day.
    labels : K distinct labels, optional
        Such as ``"[20, 30)"``, ``"20 to 29"`` and ``"60 or more"`` when left out.
    origin : {"public", "a separate sample", "the secrets"}
        What the edges were chosen by.
    of : {"numbers", "dates", "year", "quarter", "month", "weekday"}, optional
        What they are edges of: the last four are numbers that are read off a date, 1 for January
        and for Monday. Read off the edges when left out.

    Raises
    ------
    InputError
        For edges that are no increasing numbers or dates, and for bins without an integer where
        ``whole``.

    Examples
    --------
    >>> ages = Bins([0, 20, 40, float("inf")], whole=True)
    >>> ages.labels
    ('0 to 19', '20 to 39', '40 or more')
    >>> ages.codes([39, 40, None, -1])
    array([ 1,  2, -1, -2])
    """

    edges: tuple[Edge, ...]
    closed: str
    whole: bool
    labels: tuple[Label, ...]
    origin: str
    of: str

    def __init__(
        self,
        edges: Iterable[Any],
        *,
        closed: str = "left",
        whole: bool = False,
        labels: Iterable[Any] | None = None,
        origin: str = "public",
        of: str | None = None,
    ) -> None:
        given = listed(edges, "edges of bins", "increasing numbers", InputError, "pass a list")
        if of is None:
            of = "dates" if any(map(_is_date, given)) else "numbers"
        check_choice("what bins are of", of, KINDS)
        found = tuple(_edge(value, place, len(given), of) for place, value in enumerate(given))
        if not 2 <= len(found) <= _MOST + 1:
            raise InputError(
                "edges of bins",
                expected=f"2 to {_MOST + 1:,} numbers",
                got=str(len(found)),
                remedy="name the ends as well, such as 0, 18, 65, inf",
            )
        check_choice("closed side of bins", closed, _SIDES)
        check_choice("origin of edges", origin, ORIGINS)
        whole = truth_value(whole, "whole") or of in PARTS
        vars(self).update(edges=found, closed=closed, whole=whole, origin=origin, of=of)
        for left, right in pairwise(found):
            if not left < right:
                raise InputError(
                    "edges of bins",
                    expected="increasing numbers",
                    got=f"{self._text(left)} before {self._text(right)}",
                    remedy="sort them, and name each once",
                )
        for place, (left, right) in enumerate(pairwise(found)):
            low, high = self._ends(place)
            if low > high:
                raise InputError(
                    "edges of bins",
                    expected="a whole number in every bin",
                    got=f"none between {self._text(left)} and {self._text(right)}",
                    remedy="move the edges, or pass whole=False",
                )
        named = tuple(map(self._label, range(len(self)))) if labels is None else labels
        vars(self)["labels"] = check_labels(named, len(self), "labels of bins", InputError)

    def __len__(self) -> int:
        return len(self.edges) - 1

    def __repr__(self) -> str:
        shown = ", ".join(str(label) for label in self.labels[:8])
        more = f", … {len(self) - 8} more" if len(self) > 8 else ""
        return f"Bins({shown}{more}; edges: {self.origin})"

    # Where a number lies

    def codes(self, values: Any, *, texts: bool = False) -> NDArray[np.int64]:
        """Position of the bin of each value, -1 for nulls and NaN, -2 for what lies in none.

        That is numbers beyond the ends, infinite ones, fractions where numbers are ``whole``, and
        what is no number: truth values, dates, text, unless ``texts`` says that the cells of a text
        file are read. Of bins of dates that is what is no date: numbers, and text that is not one
        such as ``2024-01-31``, ``2024-01-31 12:00`` or ``31.1.2024``. What has a time zone lies
        where a clock there shows it.

        Parameters
        ----------
        values : NumPy vector, or pandas, polars or pyarrow series, or sequence
        """
        column = column_values(values)
        numbers = self.plain(column)
        if numbers is not None:
            vector, blank, per = numbers
            if vector.dtype.kind in "iu":
                found = self._codes_of_integers(vector, per)
            else:
                found = self._codes_of_floats(vector)
            if blank is not None:
                found[blank] = MISSING
            return found
        known: dict[Any, int] = {}

        def code(value: Any) -> int:
            key = (type(value), value)
            try:
                hash(key)
            except TypeError:
                return self._code(value, texts)
            if key not in known:
                known[key] = self._code(value, texts)
            return known[key]

        return np.fromiter(map(code, listed_values(column)), np.int64, len(column))

    def plain(self, column: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None, int] | None:
        """A column of numbers, or of dates as such, of one type, which of them are null, and how
        many make one of the edges; ``None`` for anything else.
        """
        if self.of == "numbers":
            numbers = plain_numbers(column)
            return None if numbers is None else (*numbers, 1)
        dates = plain_dates(column, self.of if self.of in PARTS else None)
        if dates is None or not self.whole:
            return dates
        return dates[0] // dates[2], dates[1], 1

    def _codes_of_integers(self, values: NDArray[Any], per: int = 1) -> NDArray[np.int64]:
        # Passed are the edges that are at most the value: the least integer that does each.
        passed = [self._least_integer(edge * per, i) for i, edge in enumerate(self.edges)]
        least, most = np.iinfo(values.dtype).min, np.iinfo(values.dtype).max
        below = sum(start <= least for start in passed)
        inside = [int(start) for start in passed if least < start <= most]
        cuts = np.array(inside, dtype=values.dtype)
        found = below + np.searchsorted(cuts, values, side="right") - 1
        return np.where((found >= 0) & (found < len(self)), found, OUTSIDE).astype(np.int64)

    def _least_integer(self, edge: Edge, place: int) -> int | float:
        """The least integer that has passed an edge: of the last edge, that is beyond all bins."""
        if isinstance(edge, float):
            return edge
        closed = place == 0 or (place < len(self) and self.closed == "left")
        return math.ceil(edge) if closed else math.floor(edge) + 1

    def _codes_of_floats(self, values: NDArray[Any]) -> NDArray[np.int64]:
        if values.dtype.itemsize > 8:
            values = values.astype(np.float64)
        with np.errstate(over="ignore"):
            edges = np.array([_float(edge) for edge in self.edges]).astype(values.dtype)
        found = np.searchsorted(
            edges[1:-1], values, side="right" if self.closed == "left" else "left"
        )
        out = ~((values >= edges[0]) & (values <= edges[-1]) & np.isfinite(values))
        if self.whole:
            with np.errstate(invalid="ignore"):
                out |= values != np.floor(values)
        found = np.where(out, OUTSIDE, found)
        found[np.isnan(values)] = MISSING
        return found

    def _code(self, value: Any, texts: bool) -> int:
        if isinstance(value, (np.integer, np.floating, np.datetime64)):
            return int(self.codes(np.array([value]))[0])
        value = self.number(value, texts=texts)
        if is_missing(value):
            return MISSING
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, Fraction)):
            return OUTSIDE
        if isinstance(value, float):
            return int(self._codes_of_floats(np.array([value]))[0])
        try:
            exact = fraction(value)
        except (ValueError, OverflowError):  # an infinite decimal
            return OUTSIDE
        if not self.edges[0] <= exact <= self.edges[-1] or (self.whole and exact.denominator > 1):
            return OUTSIDE
        among = bisect_right if self.closed == "left" else bisect_left
        return among(self.edges[1:-1], exact)

    def number(self, value: Any, *, texts: bool = False) -> Any:
        """The number that a value, or text where ``texts`` says so, is for these edges; a value
        that has none, as no date has one among numbers, as it is.
        """
        if self.of == "numbers":
            return read_number(value) if texts else tidy(value)
        if is_missing(value) or not is_date(value):
            return None if is_missing(value) else str(value)
        if isinstance(value, str):
            value = read_date(value)
        number = date_number(value, self.of if self.of in PARTS else None)
        return Fraction(math.floor(number)) if self.whole else number

    # What a bin is

    @cached_property
    def lower(self) -> NDArray[np.float64]:
        """Least number of each bin, or the limit of its numbers, ``(K,)``; ``-inf`` if open."""
        return np.array([_float(self._ends(i)[0]) for i in range(len(self))])

    @cached_property
    def upper(self) -> NDArray[np.float64]:
        """Largest number of each bin, or the limit of its numbers, ``(K,)``; ``inf`` if open."""
        return np.array([_float(self._ends(i)[1]) for i in range(len(self))])

    @property
    def widths(self) -> NDArray[np.float64]:
        """How wide each bin is, ``(K,)``: integers in it where ``whole``; ``inf`` if open."""
        return self.upper - self.lower + self.whole

    @property
    def recurs(self) -> bool:
        """Whether what is binned comes again and again, as months do, so that it has no mean."""
        return bool(PARTS.get(self.of))

    @cached_property
    def midpoints(self) -> NDArray[np.float64]:
        """A number for each bin, ``(K,)``: its middle.

        A bin without an end stands for the middle of one as wide as the bin beside it, or of width
        one where that has no end either, which :class:`OpenBinWarning` says.
        """
        if self.is_open:
            pairs = zip(self.labels, self.widths, strict=True)
            without = listing([label for label, width in pairs if math.isinf(width)])
            warn(
                f"bins without an end, {without}, stand in distances for bins "
                "as wide as those beside them; end them, as in 0,18,65,120, or take a utility "
                "without distances, such as "
                + asked_by("Hamming() or Estimation()", "-u hamming or estimation"),
                OpenBinWarning,
            )
        lower, upper, widths = self.lower.copy(), self.upper.copy(), self.widths - self.whole
        for i, beside in ((0, 1), (len(self) - 1, len(self) - 2)):
            if not math.isfinite(widths[i]):
                near = widths[beside] if 0 <= beside < len(self) else math.inf
                width = near if math.isfinite(near) else 1.0
                if math.isinf(lower[i]) and math.isinf(upper[i]):
                    lower[i], upper[i] = -width / 2, width / 2
                elif math.isinf(lower[i]):
                    lower[i] = upper[i] - width
                else:
                    upper[i] = lower[i] + width
        return np.asarray(lower + (upper - lower) / 2)

    @property
    def number_of(self) -> dict[Label, float]:
        """The midpoint of the bin that each label names; none where bins have no order."""
        return {} if self.recurs else dict(zip(self.labels, self.midpoints.tolist(), strict=True))

    @property
    def is_open(self) -> bool:
        """Whether the first or the last bin has no end."""
        return any(isinstance(edge, float) for edge in self.edges)

    @property
    def reach(self) -> str:
        """Which numbers or dates lie in some bin, in a few words.

        >>> Bins([0, 1, 2]).reach, Bins([0, 5, float("inf")], whole=True).reach
        ('numbers from 0 to 2', 'whole numbers from 0 on')
        """
        what = "whole numbers" if self.whole else "numbers"
        if self.of != "numbers":
            what = "dates"
        if len(self) == len(PARTS.get(self.of, ())):
            return what
        low, high = self._ends(0)[0], self._ends(len(self) - 1)[1]
        if isinstance(low, float):
            return what if isinstance(high, float) else f"{what} up to {self._text(high)}"
        if isinstance(high, float):
            return f"{what} from {self._text(low)} on"
        return f"{what} from {self._text(low)} to {self._text(high)}"

    def _ends(self, place: int) -> tuple[Edge, Edge]:
        left, right = self.edges[place], self.edges[place + 1]
        if not self.whole:
            return left, right
        first = self._least_integer(left, place)
        last = self._least_integer(right, place + 1)
        return (
            first if isinstance(first, float) else Fraction(first),
            last if isinstance(last, float) else Fraction(last - 1),
        )

    def _label(self, place: int) -> str:
        left, right = self._ends(place)
        last, are_numbers = place == len(self) - 1, self.of == "numbers"
        low, high = self._text(left), self._text(right)
        if isinstance(left, float) and isinstance(right, float):
            return f"any {'whole ' * (self.whole and are_numbers)}{self.of.removesuffix('s')}"
        words = ("less", "below", "more", "more than")
        less, below, more, above = words if are_numbers else ("earlier", "before", "later", "after")
        if isinstance(left, float):
            within = self.whole or self.closed == "right" or last
            return f"{high} or {less}" if within else f"{below} {high}"
        if isinstance(right, float):
            within = self.whole or self.closed == "left" or place == 0
            return f"{low} or {more}" if within else f"{above} {low}"
        if self.whole:
            return "exactly " * are_numbers + low if left == right else f"{low} to {high}"
        opens = "[" if self.closed == "left" or place == 0 else "("
        closes = "]" if self.closed == "right" or last else ")"
        return f"{opens}{low}, {high}{closes}"

    def shown(self, number: float) -> Any:
        """A number as what it is one of: a date where bins are of dates."""
        if self.of != "dates" or not math.isfinite(number):
            return number
        known = min(max(Fraction(number), _DAYS[0]), _DAYS[1])
        return date_of(round(known) if self.whole else known)

    def _text(self, edge: Edge) -> str:
        """An edge as people write it."""
        names = PARTS.get(self.of)
        if self.of == "dates" and not isinstance(edge, float):
            return str(date_of(edge))
        return names[math.floor(edge) - 1] if names and 1 <= edge < len(names) + 1 else _text(edge)

    # As plain values

    def to_json(self) -> dict[str, Any]:
        """Plain values: exact edges as text, and what else decides where a number or date lies."""
        from_labels = [label for label in self.labels if not isinstance(label, str)]
        if from_labels:
            raise InputError(
                "labels of bins",
                expected="text, as a file holds",
                got=quote(from_labels[0]),
                remedy="name bins by text before saving",
            )
        return {
            **({} if self.of == "numbers" else {"of": self.of}),
            "edges": [self._written(edge) for edge in self.edges],
            "closed": self.closed,
            "whole": self.whole,
            "labels": list(self.labels),
            "origin": self.origin,
        }

    @classmethod
    def from_json(cls, content: Any) -> Bins:
        """The inverse of :meth:`to_json`; raises as a damaged file does."""
        of = content.get("of", "numbers")
        read = _date_in if of == "dates" else read_fraction
        found = cls(
            [float(edge) if edge in ("inf", "-inf") else read(edge) for edge in content["edges"]],
            closed=content["closed"],
            whole=content["whole"],
            labels=content["labels"],
            origin=content["origin"],
            of=of,
        )
        if of in PARTS and not content["whole"]:
            raise ValueError("parts of dates are whole numbers")
        with catch_warnings():
            # Whoever made the file was told of bins without an end.
            simplefilter("ignore", OpenBinWarning)
            _ = found.number_of
        return found

    def _written(self, edge: Edge) -> str:
        if isinstance(edge, float):
            return str(edge)
        return date_of(edge).isoformat() if self.of == "dates" else write_fraction(edge)


def checked_bins(made: Any) -> Bins:
    """Bins as they are; raises :class:`InputError` for anything else."""
    if not isinstance(made, Bins):
        raise InputError(
            "bins",
            expected="Bins",
            got=quote(made),
            remedy="make them with md.bins(edges=[0, 18, 65, 120])",
        )
    return made


def bins_by_name(given: Any, names: Sequence[str]) -> tuple[Any, ...]:
    """For each of several columns its bins, or ``None``.

    Raises :class:`InputError` for what are no bins, and :class:`UnknownNameError` for bins of other
    columns.
    """
    if given is None:
        return (None,) * len(names)
    if not isinstance(given, Mapping):
        if len(names) > 1:
            raise InputError(
                "bins",
                expected="a mapping from column to Bins, as there are several columns",
                got=quote(given),
                remedy=f"write bins={{{quote(names[0])}: …}}",
            )
        return (checked_bins(given),)
    for name in given:
        if name not in names:
            raise UnknownNameError("column of bins", name, map(str, names))
    return tuple(checked_bins(given[name]) if name in given else None for name in names)


# Choosing edges


def bins(
    sample: Any = None,
    *,
    edges: Iterable[Any] | None = None,
    quantiles: int | None = None,
    k: int | None = None,
    ends: tuple[Any, Any] | None = None,
    closed: str = "left",
    whole: bool | None = None,
    labels: Iterable[Any] | None = None,
    origin: str | None = None,
    of: str | None = None,
) -> Bins:
    """Bins for a column of numbers or dates: by edges that are known, or chosen from a sample.

    Edges stand in the file of a design and in its labels. Where they were chosen by the numbers of
    the people that the design is applied to, they say something about those that no notion covers;
    a warning says so. Take edges that everybody knows, or a sample of other people.

    Parameters
    ----------
    sample : series of pandas, polars or pyarrow, NumPy vector or sequence, optional
        Missing numbers are left out. With ``edges`` it only says whether numbers are whole.
    edges : K + 1 increasing numbers, dates or timestamps, optional
        Open ends are written ``-inf`` and ``inf``.
    quantiles : int, optional
        Bins with about equal shares of the sample. There are fewer where numbers recur so often
        that no edge parts them.
    k : int, optional
        Bins of about equal width, between ``ends`` or over the sample.
    ends : two numbers or dates, optional
        The least and the largest there can be; without them, bins chosen from a sample are open at
        both ends.
    closed, whole, labels
        As for :class:`Bins`; ``whole`` is read off the sample when left out, for dates off edges.
    origin : {"public", "a separate sample", "the secrets"}, optional
        What edges were chosen by. When left out, ``"public"`` for ``edges``, and for ``k`` between
        finite ``ends``; else ``"the secrets"`` where there is a sample.
    of : {"numbers", "dates", "year", "quarter", "month", "weekday"}, optional
        As for :class:`Bins`; read off edges, ends and sample when left out. Each year (from the
        first to the last of ``ends``, or of the sample), quarter, month or day of the week is a bin
        of its own, unless edges say otherwise.

    Raises
    ------
    InputError, DataError
        For none or several of ``edges``, ``quantiles`` and ``k``; for a sample that is missing,
        holds other things than numbers, or only one number.

    Warns
    -----
    EdgesWarning
        When edges come from the secrets themselves.

    Examples
    --------
    >>> bins(edges=[0, 18, 65, 120], whole=True).labels
    ('0 to 17', '18 to 64', '65 to 120')
    >>> bins(range(100), quantiles=4, origin="a separate sample").labels
    ('24 or less', '25 to 49', '50 to 74', '75 or more')
    >>> bins(of="quarter").labels, bins(of="year", ends=(2019, 2021)).labels
    (('Q1', 'Q2', 'Q3', 'Q4'), ('2019', '2020', '2021'))
    """
    if edges is not None:
        edges = listed(edges, "edges of bins", "increasing numbers", InputError, "pass a list")
    if of is None:
        known = [*(edges or []), *(ends if is_iterable(ends) else [])]
        is_of_dates = any(map(_is_date, known)) or (sample is not None and _holds_dates(sample))
        of = "dates" if is_of_dates else "numbers"
    check_choice("what bins are of", of, KINDS)
    asked = {"edges": edges, "quantiles": quantiles, "k": k}
    given = [name for name, value in asked.items() if value is not None]
    each = of in PARTS and not given
    if len(given) != 1 and not each:
        raise InputError(
            "bins",
            expected="one of edges=, quantiles= and k=",
            got=" and ".join(given) or "none of them",
            remedy="pass for example edges=[0, 18, 65, 120]",
        )
    if edges is not None and ends is not None:
        raise InputError(
            "bins", expected="edges= with its ends", got="ends= too", remedy="leave out ends="
        )
    is_known = of != "numbers" and (edges is not None or bool(PARTS.get(of)))
    numbers = None if sample is None or is_known else _sample(sample, of)
    limits = _limits(ends, of)
    if whole is None and of == "dates":
        found = [_edge(e, i, len(edges), of) for i, e in enumerate(edges)] if edges else limits
        whole = all(isinstance(e, float) or e.denominator == 1 for e in found)
    elif whole is None:
        whole = False
        if numbers is not None and len(numbers):
            whole = bool((numbers == np.floor(numbers)).all())
    if origin is None:
        chosen = edges is None and numbers is not None and not PARTS.get(of)
        if chosen and quantiles is None:  # equal widths between ends that are given need no numbers
            chosen = any(isinstance(end, float) for end in limits)
        origin = "the secrets" if chosen else "public"
    check_choice("origin of edges", origin, ORIGINS)
    if each:
        edges = _each(of, numbers, limits)
    elif edges is None:
        count: Any = asked[given[0]]
        if not is_whole(count, 2, _MOST):
            raise InputError(
                f"number of bins ({given[0]})",
                expected=f"a whole number from 2 to {_MOST:,}",
                got=quote(count),
                remedy="pass for example 5",
            )
        if quantiles is not None:
            cuts = _quantile_cuts(numbers, count, closed, whole, of)
        else:
            cuts = _even_cuts(numbers, count, limits, whole)
        low, high = limits
        edges = [low, *(cut for cut in cuts if low < cut < high), high]
    made = Bins(edges, closed=closed, whole=whole, labels=labels, origin=origin, of=of)
    if origin == "the secrets":
        warn(
            "the edges of these bins were chosen by the numbers themselves, stand in the design "
            "and in every label, and no notion covers what they say about people; take public "
            f"edges, {asked_by('edges=[0, 18, 65]', '--bins 0,18,65 or year,1950..2020')}, or a "
            "sample of others, " + asked_by("origin='a separate sample'", "--bins-from"),
            EdgesWarning,
        )
    return made


def _each(of: str, numbers: NDArray[np.float64] | None, limits: tuple[Edge, Edge]) -> list[Any]:
    """Edges that part all values of a part of dates."""
    first, last = limits
    if names := PARTS[of]:
        first, last = Fraction(1), Fraction(len(names))
    elif isinstance(first, float) or isinstance(last, float):
        known = (
            numbers
            if numbers is not None and len(numbers)
            else _need_sample(None, "each year, or ends= (1990..2024)")
        )
        first, last = Fraction(known.min()), Fraction(known.max())
    return [*range(math.ceil(first), math.floor(last) + 1), math.floor(last) + Fraction(1, 2)]


def _limits(ends: Any, of: str) -> tuple[Edge, Edge]:
    if ends is None:
        return -math.inf, math.inf
    both = listed(ends, "ends of bins", "two numbers", InputError, "pass for example (0, 120)")
    if len(both) != 2:
        raise InputError(
            "ends of bins", expected="two numbers", got=str(len(both)), remedy="pass both"
        )
    low, high = (_edge(value, i, 2, of) for i, value in enumerate(both))
    if not low < high:
        raise InputError(
            "ends of bins",
            expected="the least number before the largest",
            got=f"{quote(both[0])} and {quote(both[1])}",
            remedy="swap them",
        )
    return low, high


def _holds_dates(sample: Any) -> bool:
    """Whether the first value of a sample that is not missing is a date."""
    column = column_values(sample)
    if isinstance(column, np.ndarray) or plain_numbers(column) is not None:
        return getattr(column, "dtype", None) is not None and column.dtype.kind == "M"
    return is_date(next((v for v in listed_values(column) if not is_missing(v)), None))


def _sample(sample: Any, of: str) -> NDArray[np.float64]:
    """The numbers of a sample, without missing ones; raises :class:`DataError` for others."""
    column, read = column_values(sample), Bins([-math.inf, math.inf], of=of, whole=of == "dates")
    values, codes = listed_values(column), read.codes(column).tolist()
    outside = [tidy(v) for v, code in zip(values, codes, strict=True) if code == OUTSIDE]
    if outside:
        kinds = sorted({type(v).__name__ for v in outside})
        raise DataError(
            "sample for bins",
            expected="finite numbers" if of == "numbers" else "dates",
            got=f"{counted(len(outside), 'other value')} of type {' or '.join(kinds)}",
            remedy="convert the column to numbers or dates, or clean it",
        )
    kept = [v for v, code in zip(values, codes, strict=True) if code >= 0]
    return np.array([float(read.number(v)) for v in kept])


def _need_sample(numbers: NDArray[np.float64] | None, what: str) -> NDArray[np.float64]:
    if numbers is None:
        raise InputError(
            "bins", expected=f"a sample for {what}", got="none", remedy="pass a series, or edges="
        )
    if len(numbers) == 0 or numbers.min() == numbers.max():
        raise DataError(
            "sample for bins",
            expected="at least two different numbers",
            got="none" if len(numbers) == 0 else "one",
            remedy="take another sample, or pass edges=",
        )
    return numbers


def _quantile_cuts(
    numbers: NDArray[np.float64] | None, k: int, closed: str, whole: bool, of: str
) -> list[Fraction]:
    """Short numbers that part the sample into about equal shares, at most k - 1."""
    values, counts = np.unique(_need_sample(numbers, "quantiles="), return_counts=True)
    below = np.cumsum(counts)[:-1] / counts.sum()
    cuts = set()
    for i in range(1, k):
        place = int(np.argmin(np.abs(below - i / k)))
        low, high = _decimal(values[place]), _decimal(values[place + 1])
        if of != "numbers":
            cuts.add(high if closed == "left" else low)
        else:
            cuts.add(_simplest(low, high, closed, whole))
    return sorted(cuts)


def _even_cuts(
    numbers: NDArray[np.float64] | None, k: int, limits: tuple[Edge, Edge], whole: bool
) -> list[Fraction]:
    """Short numbers about equally far apart, k - 1."""
    low, high = limits
    if isinstance(low, float) or isinstance(high, float):
        known = _need_sample(numbers, "k= without finite ends=")
        low = _decimal(known.min()) if isinstance(low, float) else low
        high = _decimal(known.max()) if isinstance(high, float) else high
    width = (high - low) / k
    if whole and width < 1:
        raise InputError(
            "number of bins (k)",
            expected=f"at most {max(math.floor(high - low), 1)} for so few whole numbers",
            got=str(k),
            remedy="take fewer bins",
        )
    cuts = [low + i * width for i in range(1, k)]
    if whole:
        return [Fraction(math.floor(cut + Fraction(1, 2))) for cut in cuts]
    return [_simplest(cut - width / 20, cut + width / 20, "left", False) for cut in cuts]


def _simplest(low: Fraction, high: Fraction, closed: str, whole: bool) -> Fraction:
    """The number of fewest digits that parts two: in (low, high], or in [low, high)."""
    step = Fraction(10) ** (len(str(math.floor(max(abs(low), abs(high)) + 1))) + 1)
    while True:
        if closed == "left":
            cut = math.floor(high / step) * step
            found = cut > low
        else:
            cut = math.ceil(low / step) * step
            found = cut < high
        if found or (whole and step == 1):
            return cut
        step /= 10


# Numbers


def _edge(value: Any, place: int, count: int, of: str) -> Edge:
    """The exact number of an edge; raises :class:`InputError` for what is none."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        if isinstance(value, np.datetime64) and of == "dates":
            value = value.astype("datetime64[us]").item()
        if isinstance(value, date) and of == "dates" and not is_missing(value):
            return fraction(date_number(value))
        if isinstance(value, (float, np.floating)):
            if math.isinf(value) and place in (0, count - 1) and (value > 0) == (place > 0):
                return float(value)
            value = _decimal(value) if of != "dates" else value
        if isinstance(value, Decimal) and value.is_infinite():
            return _edge(float(value), place, count, of)
        # Days are no edges that anybody writes, but those that were read.
        if isinstance(value, Fraction if of == "dates" else (int, np.integer, Decimal, Fraction)):
            exact = fraction(value)
            float(exact)  # where the numbers of a column end
            if of != "dates" or _DAYS[0] <= exact <= _DAYS[1]:
                return exact
    except (TypeError, ValueError, OverflowError):
        pass
    what = "numbers below 1.8e308 in size" if of != "dates" else "dates, such as 2024-01-31"
    raise InputError(
        "edges of bins",
        expected=f"finite {what}, and -inf or inf at the ends only",
        got=quote(value, 40),
        remedy="correct it",
    )


def _is_date(value: Any) -> bool:
    return isinstance(value, (date, np.datetime64))


def _date_in(text: str) -> datetime:
    """An edge of dates as files hold it."""
    if not _WRITTEN_DATE.fullmatch(text):
        raise ValueError("no date")
    return datetime.fromisoformat(text)


def _decimal(value: Any) -> Fraction:
    """The number that the shortest decimal of a float says."""
    return Fraction(str(value))


def read_number(text: Any) -> Any:
    """The number in a cell of a text file, as tables read it; anything else as it is."""
    if not isinstance(text, str):
        return text
    word = text.strip()
    try:
        return int(word) if word.lstrip("+-").isdecimal() else float(word)
    except ValueError:
        return text


def _float(edge: Edge) -> float:
    return edge if isinstance(edge, float) else nearest_float(edge)


def _text(edge: Edge) -> str:
    """A number as people write it."""
    if isinstance(edge, float):
        return str(edge)
    written = write_fraction(edge)
    rest = edge.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if edge.denominator > 1 and rest == 1:
        written = f"{Decimal(edge.numerator) / Decimal(edge.denominator):f}"
    return written if len(written) <= _LONGEST_TEXT else repr(_float(edge))
