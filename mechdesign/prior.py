"""The prior: what is known about the secret before anything is released."""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._bins import bins_by_name
from .checks import Number, Whole, checked
from .discrete_laplace import discrete_laplace
from .errors import PriorError, ZeroMassWarning, is_iterable, listed, nearest_name, quote, warn
from .exact import fraction, is_whole
from .labels import Label, check_labels, listing, near_miss, shorten, tidy
from .schema import Schema
from .tables.counting import count_labels
from .tables.text import Dialect

SUM_TOLERANCE = 1e-6
# Symbols of a uniform prior, and bits of all masses over their common denominator.
_MOST = 10_000_000
_MOST_BITS = 1 << 33
_LONGEST = 10_000
# Labels that one unknown is compared with.
_COMPARED = 10_000


class Prior:
    """A probability distribution over N labelled symbols, with exact rational masses.

    The masses are the exact rational values of the numbers given, divided by their exact sum, so
    ``[.1, .2, .7]`` is a distribution although the three floats do not add up to one exactly.

    Parameters
    ----------
    probabilities : sequence of N numbers, or mapping from label to number
        Floats, integers, ``Fraction`` or ``Decimal``; non-negative, with sum 1 within 1e-6.
        For counts or unnormalised weights use :meth:`from_counts`.
    labels : sequence of N distinct hashable values, optional
        Names of the symbols; ``0 … N-1`` when left out.

    Raises
    ------
    PriorError
        For numbers that are negative or not finite, a sum off by more than 1e-6, or labels that are
        not distinct.

    Notes
    -----
    A symbol of zero mass stays in the alphabet and is named in a :class:`ZeroMassWarning`. Designs
    are made on the support; the symbol then gets a copy of the row of the support symbol that
    serves it best, so that a report never fails on it and every guarantee holds for it.

    Examples
    --------
    >>> prior = Prior([.5, .3, .2], labels=["a", "b", "c"])
    >>> prior.pmin
    0.2
    >>> prior["b"]
    0.3
    """

    __slots__ = ("__dict__", "labels", "total", "weights")

    labels: tuple[Label, ...]
    weights: tuple[int, ...]
    total: int
    #: Names of the columns that the symbols are made of, where they are known.
    schema: Schema | None = None
    #: How many people masses were counted from, where whole counts were given.
    counted: int | None = None
    #: The level at which noise protects the people that masses were counted from.
    noise: float | None = None
    #: Labels without mass that :meth:`restricted` left out.
    _left_out: frozenset[Label] = frozenset()

    def __init__(self, probabilities: Iterable[Any], labels: Iterable[Any] | None = None) -> None:
        probabilities, labels = _unpacked(probabilities, labels)
        masses, one = _integers(probabilities)
        total = Fraction(sum(masses), one)
        if abs(total - 1) > Fraction(SUM_TOLERANCE):
            raise PriorError(
                "prior",
                expected="probabilities with sum 1 (within 1e-6)",
                got=f"sum {_rough(total)}",
                remedy="divide by the sum, or use Prior.from_counts for counts and weights",
            )
        self._fill(masses, labels)

    def _fill(
        self, masses: Sequence[int], labels: Iterable[Any] | None, *, warns: bool = True
    ) -> None:
        shared = math.gcd(*masses)
        self.weights = tuple(n // shared for n in masses) if shared > 1 else tuple(masses)
        self.total = sum(self.weights)
        self.labels = check_labels(labels, len(masses), "prior labels", PriorError)
        empty = [self.labels[i] for i, n in enumerate(self.weights) if n == 0]
        if empty and warns:
            warn(
                f"prior: {len(empty)} of {len(masses)} symbols have zero mass "
                f"({listing(empty)}); a design is made on the others, and these symbols get a "
                "copy of the row that serves them best",
                ZeroMassWarning,
            )

    # Ways to get one

    @classmethod
    def uniform(cls, symbols: int | Iterable[Any]) -> Prior:
        """Equal masses on N symbols (an integer) or on the given labels.

        Raises :class:`PriorError` for no symbols or repeated labels.

        >>> Prior.uniform(4).probabilities
        array([0.25, 0.25, 0.25, 0.25])
        """
        if isinstance(symbols, (int, np.integer)) and not isinstance(symbols, bool):
            if not 1 <= symbols <= _MOST:
                raise PriorError(
                    "uniform prior",
                    expected=f"1 to {_MOST:,} symbols",
                    got=quote(symbols),
                    remedy="pass the number of symbols or a list of labels",
                )
            return cls._from_masses([1] * int(symbols), None)
        labels = listed(
            symbols,
            "uniform prior",
            "a number of symbols or a list of labels",
            PriorError,
            "pass for example 4 or ['a', 'b']",
        )
        return cls._from_masses([1] * len(labels), labels)

    @classmethod
    def from_counts(
        cls, counts: Mapping[Any, Any] | Iterable[Any], labels: Iterable[Any] | None = None
    ) -> Prior:
        """Masses proportional to counts or other non-negative weights.

        Raises :class:`PriorError` for negative numbers, or none that is positive.

        Parameters
        ----------
        counts : mapping from label to count, pandas series with labels as index, or N counts

        Examples
        --------
        >>> Prior.from_counts({"yes": 30, "no": 10}).probabilities
        array([0.75, 0.25])
        """
        counts, labels = _unpacked(counts, labels)
        masses, one = _integers(counts)
        found = cls._from_masses(masses, labels)
        found.counted = sum(masses) if one == 1 else None
        return found

    @classmethod
    def from_data(
        cls,
        column: Any,
        columns: Any = None,
        *,
        weights: str | None = None,
        missing: str = "error",
        max_symbols: int | None = None,
        all_combinations: bool = False,
        bins: Any = None,
        sep: str | None = None,
        encoding: str | None = None,
    ) -> Prior:
        """Relative frequencies in a column of data, or of values of several columns together.

        Raises :class:`DataError` for missing values (unless dropped), for what is no column, and
        for a column of so many values that it is a measured number or an identifier;
        :class:`UnknownNameError` for a column that a table does not have.

        Parameters
        ----------
        column : pandas, polars or pyarrow series, any iterable of values, or table with ``columns``
            Categories of a categorical dtype keep their order and stay in the alphabet even
            when no row has them; other values are sorted.
        columns : column name or list of them, optional
            Columns of a table: a data frame or lazy frame of any library, a relation of DuckDB, a
            mapping of columns, or a path as :meth:`from_csv` takes. The symbols of several are the
            tuples of their values that occur.
        weights : name of a column of counts, for tables with one row per group
        missing : {"error", "drop", "category"}
            What to do with nulls and NaN. As a category they are a symbol of their own, ``None``,
            the last one: a kernel designed for it has rows for missing answers too.
        max_symbols : int, optional
            The most different values that are let through. When left out: 1000, and 100 where
            there are more than half as many values as rows. Of several columns, combinations.
        all_combinations : bool
            Whether combinations that no row has are in the alphabet, without mass.
        bins : Bins, or mapping from column to Bins, optional
            What makes symbols of numbers, see :func:`mechdesign.bins`; designs keep it, and
            reports are then drawn for raw numbers.
        sep, encoding : optional
            As for :meth:`from_csv`.

        Examples
        --------
        >>> table = {"class": ["crew", "first", "crew"], "sex": ["m", "f", "f"]}
        >>> joint = Prior.from_data(table, ["class", "sex"])
        >>> joint.labels
        (('crew', 'f'), ('crew', 'm'), ('first', 'f'))
        >>> joint.marginal("sex")["f"]
        0.6666666666666666
        """
        name = getattr(column, "name", None)
        is_named = columns is not None or isinstance(name, str)
        if columns is None:
            names: tuple[Any, ...] = (name if is_named else "number",)
        else:
            # A column that is no text is refused where the header is read.
            names = Schema.of(columns).names if is_iterable(columns) else (columns,)
        known = bins_by_name(bins, names)
        counts = count_labels(
            column,
            None if columns is None else names,
            weights=weights,
            missing=missing,
            max_symbols=max_symbols,
            all_combinations=all_combinations,
            bins=known,
            dialect=Dialect(sep, encoding),
        )
        found = cls.from_counts(counts)
        return found.with_schema(Schema(names, known)) if is_named or any(known) else found

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        column: Any,
        *,
        weights: str | None = None,
        missing: str = "error",
        max_symbols: int | None = None,
        all_combinations: bool = False,
        bins: Any = None,
        sep: str | None = None,
        encoding: str | None = None,
    ) -> Prior:
        """Relative frequencies of one or several columns of a file with named columns.

        Raises :class:`DataError` for a file that cannot be read, for missing values (unless
        dropped) and for a column of so many values that it is a measured number or an identifier,
        and :class:`UnknownNameError` for a column that is not there.

        Parameters
        ----------
        path : file, list of files, folder, pattern, or name of a shipped table as ``"titanic"``
            Separated text (also packed by gzip or zstd), Parquet, Feather, Arrow, or the first
            sheet of an ``.xlsx`` workbook; ``"-"`` is standard input. In text empty cells and the
            words NA, N/A, NaN, null and none are missing values.
        column : name of the column that holds the secret, or a list of names
        weights : name of a column of counts, for tables with one line per group
        missing : {"error", "drop", "category"}
        max_symbols, all_combinations, bins : optional
            As for :meth:`from_data`.
        sep : sign between cells of a text file, such as ``";"``; found when left out
        encoding : of a text file, such as ``"latin-1"``; UTF-8 or UTF-16 when left out
        """
        return cls.from_data(
            path,
            column,
            weights=weights,
            missing=missing,
            max_symbols=max_symbols,
            all_combinations=all_combinations,
            bins=bins,
            sep=sep,
            encoding=encoding,
        )

    @classmethod
    def _from_masses(
        cls, masses: Sequence[int], labels: Iterable[Any] | None, *, warns: bool = True
    ) -> Prior:
        """Raises :class:`PriorError`; ``warns`` of symbols without mass unless they were named."""
        if not masses or not any(masses):
            raise PriorError(
                "prior",
                expected="at least one symbol with positive mass",
                got="no symbols" if not masses else "zero mass everywhere",
                remedy="check the counts",
            )
        prior = cls.__new__(cls)
        prior._fill(masses, labels, warns=warns)
        return prior

    # What it says

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """Masses as an ``(N,)`` array of floats (read-only; nearest floats to the exact ones)."""
        values = np.array([n / self.total for n in self.weights])
        values.setflags(write=False)
        return values

    @cached_property
    def support(self) -> NDArray[np.intp]:
        """Positions of the symbols with positive mass."""
        return np.flatnonzero([n > 0 for n in self.weights])

    @property
    def has_full_support(self) -> bool:
        """Whether every symbol has positive mass."""
        return len(self.support) == len(self)

    @property
    def pmin(self) -> float:
        """Smallest positive mass."""
        return min(n for n in self.weights if n) / self.total

    @property
    def is_uniform(self) -> bool:
        """Whether all masses are exactly equal."""
        return len(set(self.weights)) == 1

    def entropy(self) -> float:
        """Shannon entropy in nats."""
        p = self.probabilities[self.support]
        return max(0.0, -math.fsum(p * np.log(p)))

    def min_entropy(self) -> float:
        """Min-entropy −log max p in nats."""
        return -math.log(max(self.weights) / self.total)

    def mass(self, position: int) -> Fraction:
        """Exact mass of the symbol at a position."""
        return Fraction(self.weights[position], self.total)

    def restricted(self) -> Prior:
        """The prior on its support."""
        if self.has_full_support:
            return self
        kept = [int(i) for i in self.support]
        found = Prior._from_masses([self.weights[i] for i in kept], [self.labels[i] for i in kept])
        found._left_out = frozenset(self.labels) - frozenset(found.labels)
        return self._known_of(found.with_schema(self.schema))

    def _known_of(self, found: Prior) -> Prior:
        """The same masses in another form: where they are from stays known."""
        found.counted, found.noise = self.counted, self.noise
        return found

    def marginal(self, names: str | Sequence[str]) -> Prior:
        """The prior of one of the columns that symbols are made of, or of several of them.

        Raises :class:`PriorError` where no columns are named, :class:`UnknownNameError` for a name
        that is none of them.

        Parameters
        ----------
        names : name of a column, or a list of names; the labels are then tuples

        Examples
        --------
        >>> pairs = Prior([.5, .3, .2], [("a", 0), ("a", 1), ("b", 0)]).with_schema(["x", "y"])
        >>> pairs.marginal("x")
        Prior({a: 0.8, b: 0.2})
        """
        if self.schema is None:
            raise PriorError(
                "marginal prior",
                expected="a prior whose columns are named",
                got="one without names",
                remedy="make it by Prior.from_data(table, ['class', 'sex']), or name its columns: "
                "prior.with_schema(['class', 'sex'])",
            )
        kept = self.schema.restricted(Schema.of(names).names)
        masses: dict[Label, int] = {}
        for label, weight in zip(self.labels, self.weights, strict=True):
            part = self.schema.parts(label, kept.names)
            masses[part] = masses.get(part, 0) + weight
        found = Prior._from_masses(list(masses.values()), list(masses), warns=False)
        return self._known_of(found.with_schema(kept))

    # What a kernel may give back of it

    @checked(PriorError, digits=Whole(1, 15, "digits of a rounded prior", "pass 2 or 3"))
    def rounded(self, digits: int) -> Prior:
        """The prior whose masses are the nearest multiples of 10^−digits with sum one.

        A kernel gives back the prior that it was designed for, see :func:`determined_prior`; of
        this one that is so many digits. Rounding hides small differences, and is no guarantee:
        whoever knows all people but one may still see from it what that one said, now and then.
        For that see :meth:`with_noise`. Symbols with mass keep at least one unit, as none must
        leave the design; those without stay without.

        Parameters
        ----------
        digits : whole number from 1 to 15

        Raises
        ------
        PriorError
            For other digits, or too few of them for so many symbols.

        Examples
        --------
        >>> Prior.from_counts({"a": 1237, "b": 731, "c": 3}).rounded(2)
        Prior({a: 0.62, b: 0.37, c: 0.01})
        """
        if 10**digits < len(self.support):
            raise PriorError(
                "digits of a rounded prior",
                expected="at least as many multiples as symbols",
                got=f"{digits} for {len(self.support)} symbols",
                remedy="take more digits",
            )
        units = 10**digits
        quotas = [Fraction(weight * units, self.total) for weight in self.weights]
        masses = [max(math.floor(q), 1) if q else 0 for q in quotas]
        while left := units - sum(masses):
            step = 1 if left > 0 else -1
            # The nearest sum changes those first that are furthest from their quota.
            free = [x for x, mass in enumerate(masses) if mass > (left < 0)]
            free.sort(key=lambda x: step * (masses[x] - quotas[x]))
            for x in free[: abs(left)]:
                masses[x] += step
        return self._with_masses(masses)

    @checked(PriorError, epsilon=Number(1e-9, subject="level of noise"))
    def with_noise(
        self, epsilon: float, *, people: int | None = None, seed: int | None = None
    ) -> Prior:
        """A prior from counts with noise: who sees it learns at most ε of the value of any person.

        Discrete Laplace noise of scale 2/ε is added to every count, exactly drawn ([Canonne2020]),
        so that the counts are ε-differentially private where one person's value is changed to any
        other (ε/2 where a person is added or taken away), and so is every kernel that is designed
        from them, whatever follows from it ([Dwork2006]). Counts below one become one, those of
        symbols that nobody has too: no mass is negative or zero, and which symbols occurred does
        not show. The list of symbols itself is not protected; it must not come from the data.

        Every call has noise of its own, and levels of several add up. Notions of a prior hold under
        the one with noise, which the design is made for.

        Parameters
        ----------
        epsilon : positive number of nats
        people : int, optional
            How many people the masses were counted from; known where they were made of counts.
        seed : int, optional
            For research only: whoever knows it can take the noise off.

        Raises
        ------
        PriorError
            For levels that are no number of at least 1e-9, and for a prior that is not counted
            from so many people.

        Examples
        --------
        >>> Prior.from_counts({"a": 1237, "b": 731, "c": 3}).with_noise(0.1, seed=2)
        Prior({a: 0.6232, b: 0.3763, c: 0.0005051})
        """
        level = fraction(epsilon)
        total = self.counted if people is None else people
        if total is None or not is_whole(total, 1) or total % self.total:
            raise PriorError(
                "people of a prior",
                expected="how many people its masses were counted from",
                got="none" if total is None else f"{quote(total)}, which gives no whole counts",
                remedy="make the prior of counts (Prior.from_counts, a table), or pass people=",
            )
        source = secrets.SystemRandom() if seed is None else random.Random(seed)
        scale, each = 2 / level, int(total) // self.total
        counts = [weight * each + discrete_laplace(scale, source) for weight in self.weights]
        found = self._with_masses([max(count, 1) for count in counts])
        found.noise = float(level)
        return found

    def _with_masses(self, masses: Sequence[int]) -> Prior:
        """Other masses on the same symbols."""
        found = Prior._from_masses(masses, self.labels, warns=False).with_schema(self.schema)
        found.noise = self.noise
        return found

    def with_schema(self, schema: Any) -> Prior:
        """The same prior with names for the columns that its symbols are made of.

        Parameters
        ----------
        schema : column name, list of them, mapping from names to bins, Schema, or ``None``
            With several names every label is a tuple with one value for each.

        Raises
        ------
        PriorError
            For labels that are no such tuples.

        Examples
        --------
        >>> Prior.uniform([("a", 0), ("a", 1)]).with_schema(["x", "y"]).schema.names
        ('x', 'y')
        """
        found = copy(self)
        found.schema = None if schema is None else Schema.of(schema)
        if found.schema is not None:
            found.schema.check(self.labels, PriorError)
        return found

    def reordered(self, labels: Sequence[Any]) -> Prior:
        """The same prior with its symbols in another order."""
        asked = "order of the symbols", "a list of the prior's labels"
        labels = listed(labels, *asked, PriorError, "list each label once")
        masses = [self.weights[self.index(label)] for label in labels]
        found = Prior._from_masses(masses, labels, warns=False)
        return self._known_of(found.with_schema(self.schema))

    def index(self, label: Any) -> int:
        """Position of a label."""
        try:
            return self._positions[tidy(label)]
        except Exception:  # labels of other classes may fail in any way when they are compared
            cause = near_miss([label], self.labels)
            texts = [known for known in self.labels[:_COMPARED] if isinstance(known, str)]
            hint = nearest_name(label, texts) if isinstance(label, str) and not cause else None
            raise PriorError(
                "symbol",
                expected="one of " + listing(self.labels),
                got=quote(label) + (f" ({cause})" if cause else ""),
                remedy=f"did you mean {quote(hint)}?"
                if hint
                else "check the spelling and the type of the label",
            ) from None

    def positions(self, labels: Iterable[Any]) -> list[int]:
        """Positions of the symbols of a group, in the prior's order, each once.

        Raises :class:`PriorError` for a label that the prior does not have. Those without mass that
        :meth:`restricted` left out are passed over, so that a notion can name them in a design.

        >>> Prior([.5, .3, .2], labels=["a", "b", "c"]).positions(["c", "a", "c"])
        [0, 2]
        """
        group = listed(
            labels, "group of symbols", "a list of labels such as ['a', 'b']", PriorError
        )
        return sorted({self.index(label) for label in group if not self._is_left_out(label)})

    def _is_left_out(self, label: Any) -> bool:
        try:
            return tidy(label) in self._left_out
        except Exception:  # what is no label is refused as one that is not known
            return False

    @cached_property
    def _positions(self) -> dict[Label, int]:
        return {label: i for i, label in enumerate(self.labels)}

    def __getitem__(self, label: Any) -> float:
        return float(self.probabilities[self.index(label)])

    def __len__(self) -> int:
        return len(self.weights)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prior):
            return NotImplemented
        return self.labels == other.labels and self.weights == other.weights

    def __hash__(self) -> int:
        return hash((self.labels, self.weights))

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{shorten(label)}: {p:.4g}"
            for label, p in list(zip(self.labels, self.probabilities, strict=True))[:8]
        )
        more = f", … {len(self) - 8} more" if len(self) > 8 else ""
        return f"Prior({{{shown}{more}}})"


def _rough(total: Fraction) -> str:
    if total.numerator.bit_length() > _LONGEST:
        return f"a number of {total.numerator.bit_length():,} bits"
    return f"{Decimal(total.numerator) / Decimal(total.denominator):.9g}"


def _unpacked(values: Any, labels: Iterable[Any] | None) -> tuple[Any, Iterable[Any] | None]:
    """Numbers and labels of a mapping or of a pandas series; anything else as it is."""
    if isinstance(values, Mapping):
        found, numbers = list(values.keys()), list(values.values())
    elif hasattr(values, "index") and hasattr(values, "to_list") and hasattr(values, "name"):
        found, numbers = list(values.index), values.to_list()
    else:
        return values, labels
    if labels is not None and isinstance(values, Mapping):
        raise PriorError(
            "prior",
            expected="labels either in the mapping or in labels=",
            got="both",
            remedy="leave out labels=",
        )
    return numbers, found if labels is None else labels


def sampled_prior(counts: Any, labels: Iterable[Any] | None = None) -> Prior:
    """Masses proportional to counts of a sample, which does not rule out what it did not meet.

    Whole numbers whose sum is above one are counts, and zeros among them stand for half a count
    each; other numbers are the masses of :meth:`Prior.from_counts`, with no warning of zeros.
    """
    numbers, labels = _unpacked(counts, labels)
    masses, one = _integers(numbers)
    total = sum(masses)
    if 0 in masses and total > one and all(mass % one == 0 for mass in masses):
        masses = [2 * mass or one for mass in masses]
    return Prior._from_masses(masses, labels, warns=False)


def _integers(values: Iterable[Any]) -> tuple[list[int], int]:
    """Integers and one denominator that give the exact values of the numbers handed in.

    Numbers with the same denominator, as floats of one size are, cost one multiplication each.
    """
    shape = getattr(values, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 1:
        raise PriorError(
            "prior",
            expected="a vector of N probabilities",
            got=f"an array of shape {shape}",
            remedy="pass one dimension",
        )
    remedy = "pass a list of probabilities, or use Prior.from_csv for a file"
    given = listed(values, "prior", "a sequence of numbers", PriorError, remedy)
    if isinstance(values, np.ndarray):
        given = values.tolist()
    masses = []
    for i, value in enumerate(given):
        try:
            mass = _ratio(value)
        except (TypeError, ValueError, OverflowError):
            mass = None
        if mass is None or mass[0] < 0:
            raise PriorError(
                "prior",
                expected="finite numbers" if mass is None else "non-negative numbers",
                got=f"{quote(value)} at position {i}",
                remedy="remove or replace the entry",
            )
        masses.append(mass)
    if not masses:
        raise PriorError(
            "prior",
            expected="at least one symbol",
            got="none",
            remedy="pass the probabilities of the symbols",
        )
    below = {denominator for _, denominator in masses}
    one = 1
    for denominator in below:
        one = math.lcm(one, denominator)
        if one.bit_length() * len(masses) > _MOST_BITS:
            raise PriorError(
                "prior",
                expected=f"masses that take at most {_MOST_BITS:,} bits over one denominator",
                got=f"{len(masses):,} masses over {len(below):,} denominators",
                remedy="pass floats, or counts",
            )
    lift = {denominator: one // denominator for denominator in below}
    return [above * lift[under] for above, under in masses], one


def _ratio(value: Any) -> tuple[int, int]:
    """Numerator and denominator of a number, exact."""
    if type(value) is float or type(value) is int:
        return value.as_integer_ratio()
    exact = fraction(value)
    return exact.numerator, exact.denominator


def as_prior(value: Any) -> Prior:
    """A prior; raises :class:`PriorError` for anything else."""
    if not isinstance(value, Prior):
        raise PriorError(
            "prior",
            expected="a Prior",
            got=type(value).__name__,
            remedy="wrap it: md.Prior(probabilities, labels)",
        )
    return value
