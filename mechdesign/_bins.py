"""Bins: which numbers a label of a numeric column stands for.

Edges are exact numbers. A float among them is the number that its shortest decimal says, so that
0.1 as a float, as a decimal and in a text file is one edge. A value of fewer bits than the edge,
such as a float of 32 bits, is compared with the edge rounded to its type: 0.7 lies on the edge 0.7.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import (
    DataError,
    EdgesWarning,
    InputError,
    UnknownNameError,
    asked_by,
    listed,
    quote,
    warn,
)
from .exact import fraction, nearest_float, read_fraction, write_fraction
from .labels import Label, check_labels, counted, tidy
from .numeric import truth_value
from .tables.counting import is_missing
from .tables.frames import column_values, listed_values, plain_numbers

#: What :meth:`Bins.codes` gives for nulls and NaN, and for what lies in no bin.
MISSING, OUTSIDE = -1, -2

ORIGINS = ("public", "a separate sample", "the secrets")
_SIDES = ("left", "right")
# Bins of one column; more are measured numbers again.
_MOST = 10_000
_LONGEST_TEXT = 24

Edge = Fraction | float  # a float only where it is infinite


@dataclass(frozen=True, init=False, repr=False)
class Bins:
    """Intervals side by side that make labels of numbers.

    Parameters
    ----------
    edges : K + 1 increasing numbers
        The first may be ``-inf``, the last ``inf``.
    closed : {"left", "right"}
        Which edge belongs to a bin. The outermost edges do in any case, if they are finite.
    whole : bool
        Whether the numbers are integers. Labels then name the first and the last of a bin, and
        fractions lie in no bin.
    labels : K distinct labels, optional
        Such as ``"[20, 30)"``, ``"20 to 29"`` and ``"60 or more"`` when left out.
    origin : {"public", "a separate sample", "the secrets"}
        What the edges were chosen by.

    Raises
    ------
    InputError
        For edges that are no increasing numbers, and for bins without an integer where ``whole``.

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

    def __init__(
        self,
        edges: Iterable[Any],
        *,
        closed: str = "left",
        whole: bool = False,
        labels: Iterable[Any] | None = None,
        origin: str = "public",
    ) -> None:
        given = listed(edges, "edges of bins", "increasing numbers", InputError, "pass a list")
        found = tuple(_edge(value, place, len(given)) for place, value in enumerate(given))
        if not 2 <= len(found) <= _MOST + 1:
            raise InputError(
                "edges of bins",
                expected=f"2 to {_MOST + 1:,} numbers",
                got=str(len(found)),
                remedy="name the ends as well, such as 0, 18, 65, inf",
            )
        for left, right in pairwise(found):
            if not left < right:
                raise InputError(
                    "edges of bins",
                    expected="increasing numbers",
                    got=f"{_text(left)} before {_text(right)}",
                    remedy="sort them, and name each once",
                )
        _check_choice("closed side of bins", closed, _SIDES)
        _check_choice("origin of edges", origin, ORIGINS)
        truth_value(whole, "whole")
        for name, value in (
            ("edges", found),
            ("closed", closed),
            ("whole", bool(whole)),
            ("origin", origin),
        ):
            object.__setattr__(self, name, value)
        if whole:
            self._check_whole()
        named = tuple(map(self._label, range(len(self)))) if labels is None else labels
        object.__setattr__(
            self, "labels", check_labels(named, len(self), "labels of bins", InputError)
        )

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
        file are read.

        Parameters
        ----------
        values : NumPy vector, or pandas, polars or pyarrow series, or sequence
        """
        column = column_values(values)
        numbers = plain_numbers(column)
        if numbers is not None:
            vector, blank = numbers
            are_whole = vector.dtype.kind in "iu"
            codes = self._codes_of_integers if are_whole else self._codes_of_floats
            found = codes(vector)
            if blank is not None:
                found[blank] = MISSING
            return found
        known: dict[Any, int] = {}
        found = np.empty(len(column), dtype=np.int64)
        for i, value in enumerate(listed_values(column)):
            key = (type(value), value)
            try:
                code = known.get(key)
                if code is None:
                    code = known[key] = self._code(value, texts)
            except TypeError:  # not hashable
                code = self._code(value, texts)
            found[i] = code
        return found

    def _codes_of_integers(self, values: NDArray[Any]) -> NDArray[np.int64]:
        # Passed are the edges that are at most the value: the least integer that does each.
        passed = [self._least_integer(edge, i) for i, edge in enumerate(self.edges)]
        least, most = np.iinfo(values.dtype).min, np.iinfo(values.dtype).max
        below = sum(start <= least for start in passed)
        inside = [int(start) for start in passed if least < start <= most]
        cuts = np.array(inside, dtype=values.dtype)
        found = below + np.searchsorted(cuts, values, side="right") - 1
        return self._kept(found)

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

    def _kept(self, found: NDArray[Any]) -> NDArray[np.int64]:
        return np.where((found >= 0) & (found < len(self)), found, OUTSIDE).astype(np.int64)

    def _code(self, value: Any, texts: bool) -> int:
        if texts and isinstance(value, str):
            value = read_number(value)
        if isinstance(value, (np.integer, np.floating)):
            return int(self.codes(np.array([value]))[0])
        value = tidy(value)
        if is_missing(value) or (isinstance(value, Decimal) and value.is_nan()):
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

    @staticmethod
    def is_number(cell: Any) -> bool:
        """Whether the cell of a text file holds a number."""
        return isinstance(cell, str) and not isinstance(read_number(cell), str)

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

    @cached_property
    def midpoints(self) -> NDArray[np.float64]:
        """A number for each bin, ``(K,)``: its middle.

        A bin without an end stands for the middle of one as wide as the bin beside it, or of width
        one where that has no end either.
        """
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
    def is_open(self) -> bool:
        """Whether the first or the last bin has no end."""
        return any(isinstance(edge, float) for edge in self.edges)

    @property
    def reach(self) -> str:
        """Which numbers lie in some bin, in a few words.

        >>> Bins([0, 1, 2]).reach, Bins([0, 5, float("inf")], whole=True).reach
        ('numbers from 0 to 2', 'whole numbers from 0 on')
        """
        what = "whole numbers" if self.whole else "numbers"
        low, high = self.edges[0], self.edges[-1]
        if isinstance(low, float):
            return what if isinstance(high, float) else f"{what} up to {_text(high)}"
        if isinstance(high, float):
            return f"{what} from {_text(low)} on"
        return f"{what} from {_text(low)} to {_text(high)}"

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
        last = place == len(self) - 1
        if isinstance(left, float) and isinstance(right, float):
            return "any whole number" if self.whole else "any number"
        if self.whole:
            if isinstance(left, float):
                return f"{_text(right)} or less"
            if isinstance(right, float):
                return f"{_text(left)} or more"
            return f"exactly {_text(left)}" if left == right else f"{_text(left)} to {_text(right)}"
        if isinstance(left, float):
            within = self.closed == "right" or last
            return f"{_text(right)} or less" if within else f"below {_text(right)}"
        if isinstance(right, float):
            within = self.closed == "left" or place == 0
            return f"{_text(left)} or more" if within else f"more than {_text(left)}"
        opens = "[" if self.closed == "left" or place == 0 else "("
        closes = "]" if self.closed == "right" or last else ")"
        return f"{opens}{_text(left)}, {_text(right)}{closes}"

    def _check_whole(self) -> None:
        for place in range(len(self)):
            left, right = self._ends(place)
            if left > right:
                raise InputError(
                    "edges of bins",
                    expected="a whole number in every bin",
                    got=f"none between {_text(self.edges[place])} and "
                    f"{_text(self.edges[place + 1])}",
                    remedy="move the edges, or pass whole=False",
                )

    # As plain values

    def to_json(self) -> dict[str, Any]:
        """Plain values: exact edges as text, and what else decides where a number lies."""
        from_labels = [label for label in self.labels if not isinstance(label, str)]
        if from_labels:
            raise InputError(
                "labels of bins",
                expected="text, as a file holds",
                got=quote(from_labels[0]),
                remedy="name bins by text before saving",
            )
        return {
            "edges": [_written(edge) for edge in self.edges],
            "closed": self.closed,
            "whole": self.whole,
            "labels": list(self.labels),
            "origin": self.origin,
        }

    @classmethod
    def from_json(cls, content: Any) -> Bins:
        """The inverse of :meth:`to_json`; raises as a damaged file does."""
        edges = [
            float(edge) if edge in ("inf", "-inf") else read_fraction(edge)
            for edge in content["edges"]
        ]
        return cls(
            edges,
            closed=content["closed"],
            whole=content["whole"],
            labels=content["labels"],
            origin=content["origin"],
        )


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
) -> Bins:
    """Bins for a numeric column: by edges that are known, or chosen from a sample.

    Edges stand in the file of a design and in its labels. Where they were chosen by the numbers of
    the people that the design is applied to, they say something about those that no notion covers;
    a warning says so. Take edges that everybody knows, or a sample of other people.

    Parameters
    ----------
    sample : pandas, polars or pyarrow series, NumPy vector or sequence of numbers, optional
        Missing numbers are left out. With ``edges`` it only says whether numbers are whole.
    edges : K + 1 increasing numbers, optional
        Open ends are written ``-inf`` and ``inf``.
    quantiles : int, optional
        Bins with about equal shares of the sample. There are fewer where numbers recur so often
        that no edge parts them.
    k : int, optional
        Bins of about equal width, between ``ends`` or over the sample.
    ends : two numbers, optional
        The least and the largest number there can be; without them, bins chosen from a sample are
        open at both ends.
    closed, whole, labels
        As for :class:`Bins`; ``whole`` is read off the sample when left out.
    origin : {"public", "a separate sample", "the secrets"}, optional
        What edges were chosen by. When left out, ``"public"`` for ``edges``, and for ``k`` between
        finite ``ends``; else ``"the secrets"`` where there is a sample.

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
    """
    asked = {"edges": edges, "quantiles": quantiles, "k": k}
    given = [name for name, value in asked.items() if value is not None]
    if len(given) != 1:
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
    numbers = None if sample is None else _sample(sample)
    if whole is None:
        whole = False
        if numbers is not None and len(numbers):
            whole = bool((numbers == np.floor(numbers)).all())
    if origin is None:
        chosen = edges is None and numbers is not None
        if k is not None and chosen:  # equal widths between ends that are given need no numbers
            chosen = any(isinstance(end, float) for end in _limits(ends))
        origin = "the secrets" if chosen else "public"
    _check_choice("origin of edges", origin, ORIGINS)
    if edges is None:
        count = _checked_count(given[0], asked[given[0]])
        limits = _limits(ends)
        if quantiles is not None:
            cuts = _quantile_cuts(numbers, count, closed, whole)
        else:
            cuts = _even_cuts(numbers, count, limits, whole)
        low, high = limits
        edges = [low, *(cut for cut in cuts if low < cut < high), high]
    found = Bins(edges, closed=closed, whole=whole, labels=labels, origin=origin)
    if origin == "the secrets":
        warn(
            "the edges of these bins were chosen by the numbers themselves, stand in the design "
            "and in every label, and no notion covers what they say about people; take public "
            f"edges, {asked_by('edges=[0, 18, 65]', '--bins 0,18,65')}, or a sample of others, "
            + asked_by("origin='a separate sample'", "--bins-from"),
            EdgesWarning,
        )
    return found


def _check_choice(what: str, value: Any, known: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise UnknownNameError(what, value, known)


def _checked_count(name: str, value: Any) -> int:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not 2 <= value <= _MOST:
        raise InputError(
            f"number of bins ({name})",
            expected=f"a whole number from 2 to {_MOST:,}",
            got=quote(value),
            remedy="pass for example 5",
        )
    return int(value)


def _limits(ends: Any) -> tuple[Edge, Edge]:
    if ends is None:
        return -math.inf, math.inf
    both = listed(ends, "ends of bins", "two numbers", InputError, "pass for example (0, 120)")
    if len(both) != 2:
        raise InputError(
            "ends of bins", expected="two numbers", got=str(len(both)), remedy="pass both"
        )
    low, high = (_edge(value, i, 2) for i, value in enumerate(both))
    if not low < high:
        raise InputError(
            "ends of bins",
            expected="the least number before the largest",
            got=f"{quote(both[0])} and {quote(both[1])}",
            remedy="swap them",
        )
    return low, high


def _sample(sample: Any) -> NDArray[np.float64]:
    """The numbers of a sample, without missing ones; raises :class:`DataError` for others."""
    column = column_values(sample)
    values, codes = listed_values(column), Bins([-math.inf, math.inf]).codes(column).tolist()
    outside = [tidy(v) for v, code in zip(values, codes, strict=True) if code == OUTSIDE]
    if outside:
        kinds = sorted({type(v).__name__ for v in outside})
        raise DataError(
            "sample for bins",
            expected="finite numbers",
            got=f"{counted(len(outside), 'other value')} of type {' or '.join(kinds)}",
            remedy="convert the column to numbers (dates to years, say), or clean it",
        )
    return np.array([float(v) for v, code in zip(values, codes, strict=True) if code >= 0])


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
    numbers: NDArray[np.float64] | None, k: int, closed: str, whole: bool
) -> list[Fraction]:
    """Short numbers that part the sample into about equal shares, at most k - 1."""
    values, counts = np.unique(_need_sample(numbers, "quantiles="), return_counts=True)
    below = np.cumsum(counts)[:-1] / counts.sum()
    cuts = set()
    for i in range(1, k):
        place = int(np.argmin(np.abs(below - i / k)))
        low, high = _decimal(values[place]), _decimal(values[place + 1])
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


def _edge(value: Any, place: int, count: int) -> Edge:
    """The exact number of an edge; raises :class:`InputError` for what is none."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        if isinstance(value, (float, np.floating)):
            if math.isinf(value) and place in (0, count - 1) and (value > 0) == (place > 0):
                return float(value)
            return _decimal(value)
        if isinstance(value, (int, np.integer, Decimal, Fraction)):
            if isinstance(value, Decimal) and value.is_infinite():
                return _edge(float(value), place, count)
            exact = fraction(value)
            float(exact)  # where the numbers of a column end
            return exact
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(
        "edges of bins",
        expected="finite numbers below 1.8e308 in size, and -inf or inf at the ends only",
        got=quote(value, 40),
        remedy="correct it, or convert dates to numbers first",
    )


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


def _written(edge: Edge) -> str:
    return str(edge) if isinstance(edge, float) else write_fraction(edge)
