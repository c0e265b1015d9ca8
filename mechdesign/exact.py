"""Exact arithmetic: what floats mean, rational bounds on e^ε, integer dot products.

A float stands for the rational number it stores. Everything a certificate says is decided here,
in integers and rationals; the only irrational numbers, e^ε and log r, are enclosed by ball
arithmetic and rounded to the safe side.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from numbers import Rational
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .errors import quote

#: Kernels are stored as integer weights over this denominator: every weight is an exact float.
DENOMINATOR_BITS = 53
DENOMINATOR = 1 << DENOMINATOR_BITS

#: Levels above this many nats are never turned into numbers e^level.
LARGEST_LEVEL = 2000

#: Digits of an integer in a text. A weight of 2^20 bits has 315,653.
MOST_DIGITS = 400_000
#: Powers of ten that a number in a text may be away from one.
LARGEST_EXPONENT = 400
# Digits that Python reads and writes at once.
_STEP = 3600
# Integers are cut here for products; every float is a multiple of 2 to the other power.
_HALF, _LOWEST = 27, -1074

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?P<digits>[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE](?P<exponent>[+-]?[0-9]+))?")
# Digits that programs write floats with, where fewer would not do.
_OF_FLOATS = (16, 17)

_PRECISION = 192
_MAX_PRECISION = 8192
# Powers of rationals that are compared as integers.
_LARGEST_POWER = 64
# Nats, or bits, of a level that is no float; e^that is never computed.
_LARGEST_TIMES = 1 << 1000


class Verdict(Enum):
    """Answer of an exact check. ``UNDECIDED`` is never a yes."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"

    def __str__(self) -> str:
        return self.value


def fraction(value: Any) -> Fraction:
    """The exact rational value of an int, float, Fraction, Decimal or NumPy scalar.

    Raises ``ValueError`` or ``OverflowError`` for values that are not finite numbers.

    >>> fraction(0.5), fraction(3)
    (Fraction(1, 2), Fraction(3, 1))
    """
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if isinstance(value, bool):
        return Fraction(int(value))
    if isinstance(value, (int, float, Decimal, Rational)):
        return Fraction(value)
    raise TypeError(f"not a number but a {type(value).__name__}")


def is_whole(value: Any, least: int, most: int | None = None) -> bool:
    """Whether a value is an integer in a range; ``True`` is none."""
    good = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return good and bool(value >= least) and (most is None or bool(value <= most))


def common_integers(values: Iterable[Fraction]) -> tuple[list[int], int]:
    """Integers ``n`` and one denominator ``d`` with ``values[i] == n[i] / d``.

    >>> common_integers([Fraction(1, 2), Fraction(1, 3)])
    ([3, 2], 6)
    """
    values = list(values)
    denominator = math.lcm(*(v.denominator for v in values)) if values else 1
    return [v.numerator * (denominator // v.denominator) for v in values], denominator


def _exact_end(ball: Any) -> Fraction:
    man, exp = ball.man_exp()
    man, exp = int(man), int(exp)
    return Fraction(man << exp) if exp >= 0 else Fraction(man, 1 << -exp)


class Level(float):
    """A level in nats that no float is: the exact number times · log(base).

    Its float is the smallest one that is not below. Made by :func:`log_level`, :func:`bits_level`
    and :func:`exact_level`; sums and rational multiples stay exact where they are such levels.

    Attributes
    ----------
    times : positive rational
    base : rational above 1, or ``None`` for e, so that ``times`` is the level itself
    """

    __slots__ = ("base", "times")

    times: Fraction
    base: Fraction | None

    def __new__(cls, times: Fraction, base: Fraction | None = None) -> Self:
        """The level ``times * log(base)``."""
        found = super().__new__(
            cls, float_at_least(times if base is None else times * log_bounds(base)[1])
        )
        found.times, found.base = times, base
        return found

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.times, self.base

    @property
    def power(self) -> Fraction | None:
        """The rational e^level, if it is one of moderate size."""
        if self.base is None or self.times.denominator > 1:
            return None
        size = max(self.base.as_integer_ratio()).bit_length()
        return self.base**self.times.numerator if self.times * size <= _MAX_PRECISION else None

    def as_integer_ratio(self) -> tuple[int, int]:
        """That of a rational level; raises ``TypeError`` for a logarithm, which has none."""
        if self.base is not None:
            raise TypeError(f"the level {self} is no rational; see level_bounds")
        return self.times.as_integer_ratio()

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Level):
            return self if other == 0 else super().__add__(other)
        if self.base == other.base:
            return _normal(self.times + other.times, self.base)
        if self.power is None or other.power is None:
            return float_at_least(level_bounds(self)[1] + level_bounds(other)[1])
        return log_level(self.power * other.power)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, (int, Fraction)) or other <= 0:
            return super().__mul__(other)
        return _normal(self.times * other, self.base)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Level):
            return (self.times, self.base) == (other.times, other.base)
        return False if isinstance(other, (int, float, Fraction)) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.times, self.base))

    def __repr__(self) -> str:
        return repr(self.times) if self.base is None else str(self)

    def __str__(self) -> str:
        kind, value = self.told
        text = write_fraction(value)
        if kind == "ln":
            return f"ln({text})" if "/" in text else f"ln {text}"
        return f"{text} {kind or f'log {self.base}'}".removesuffix(" fraction")

    @property
    def told(self) -> tuple[str, Fraction]:
        """The kind and the number that say it in a file; an empty kind where files have no form."""
        if self.base is None:
            return "fraction", self.times
        if self.times == 1:
            return "ln", self.base
        return "bits" if self.base == 2 and self.times.denominator > 1 else "", self.times

    @property
    def is_plain(self) -> bool:
        """Whether files have a form for it, of at most 3,600 characters, and it is not enormous."""
        kind, value = self.told
        return bool(kind) and self.times < _LARGEST_TIMES and len(write_fraction(value)) <= _STEP


def _normal(times: Fraction, base: Fraction | None) -> Level | float:
    """The level times · log(base) in its one form: a float where it is one, else a logarithm."""
    if base is None:
        return exact_level(times)
    found = Level(times, base)
    return found if found.power is None else log_level(found.power)


def exact_level(nats: Fraction) -> Level | float:
    """A rational number of nats that is not negative: a float where one is that number."""
    near = nearest_float(nats)
    return near if near == nats else Level(nats)


def log_level(ratio: Fraction) -> Level | float:
    """The level at which likelihoods differ by a factor, log(ratio), for ``ratio >= 1``.

    >>> log_level(Fraction(3)) + log_level(Fraction(1, 2) * 4), float(log_level(Fraction(3)))
    (ln 6, 1.0986122886681098)
    """
    return 0.0 if ratio == 1 else Level(Fraction(1), ratio)


def bits_level(bits: Fraction) -> Level | float:
    """The level of a number of bits that is not negative: that many times log 2."""
    return _normal(bits, Fraction(2)) if bits else 0.0


def sum_of_levels(levels: Iterable[float]) -> float:
    """A sum of levels: exact where it is a logarithm or a rational, else rounded up to a float.

    >>> sum_of_levels([log_level(Fraction(2)), 0.0, log_level(Fraction(3))])
    ln 6
    """
    finite = [level for level in levels if level]
    if math.inf in finite:
        return math.inf
    if finite and all(isinstance(level, Level) for level in finite):
        return sum(finite)
    return float_at_least(sum((level_bounds(level)[1] for level in finite), Fraction(0)))


def level_bounds(level: Fraction | float, precision: int = _PRECISION) -> tuple[Fraction, Fraction]:
    """Rational numbers at most and at least a level, both itself for a rational one."""
    if not isinstance(level, Level) or level.base is None:
        return (Fraction(level),) * 2
    low, high = log_bounds(level.base, precision)
    return low * level.times, high * level.times


@lru_cache(maxsize=4096)
def exp_bounds(level: Fraction | float, precision: int = _PRECISION) -> tuple[Fraction, Fraction]:
    """Rational numbers ``lo <= e^level <= hi``, a relative ``2^-precision`` or so apart.

    Both are exact at level 0 and at the logarithm of a rational. The numbers have about 1.44 bits
    per nat, so levels above ``LARGEST_LEVEL`` are refused with ``ValueError``; see
    :func:`exp_lower`.
    """
    from flint import arb, ctx, fmpq

    if level == 0:
        return Fraction(1), Fraction(1)
    if not 0 <= level <= LARGEST_LEVEL:
        raise ValueError(f"level {float(level)} is not between 0 and {LARGEST_LEVEL}")
    if isinstance(level, Level) and level.base is not None:
        if level.power is not None:
            return level.power, level.power
        low, high = level_bounds(level, precision)
        return exp_bounds(low, precision)[0], exp_bounds(high, precision)[1]
    level = Fraction(level)
    # A tiny level needs the digits in which e^level differs from one.
    extra = max(0, level.denominator.bit_length() - level.numerator.bit_length())
    with ctx.workprec(precision + extra):
        ball = arb(fmpq(level.numerator, level.denominator)).exp()
        return _exact_end(ball.lower()), _exact_end(ball.upper())


def exp_lower(level: Fraction | float) -> Fraction:
    """A rational number at most e^level: near it up to ``LARGEST_LEVEL``, e^that above."""
    return exp_bounds(level if level <= LARGEST_LEVEL else Fraction(LARGEST_LEVEL))[0]


def float_at_least(value: Fraction) -> float:
    """The smallest float that is not below ``value`` (may be ``inf``)."""
    try:
        near = float(value)
    except OverflowError:
        return math.inf if value > 0 else -sys.float_info.max
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def float_at_most(value: Fraction) -> float:
    """The largest float that is not above ``value`` (may be ``-inf``)."""
    return -float_at_least(-value)


def nearest_float(value: Fraction) -> float:
    """The float nearest to a rational number, infinite beyond the largest one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def rounded_up(level: float, digits: int) -> str:
    """A level as text, with a number of significant digits, rounded up so that it still holds.

    >>> rounded_up(0.1000000001, 6), rounded_up(0.1, 6)
    ('0.100001', '0.1')
    """
    if not math.isfinite(level):
        return str(level)
    context = Context(prec=digits, rounding=ROUND_CEILING)
    return f"{float(context.create_decimal(repr(float(level)))):.{digits}g}"


def decimals_up(level: float, decimals: int = 6) -> str:
    """A level as text, with a number of decimals, rounded up so that it still holds.

    >>> decimals_up(1.0986122887), decimals_up(0.5), decimals_up(0.0)
    ('1.098613', '0.500000', '0.000000')
    """
    if not math.isfinite(level):
        return str(level)
    return f"{Decimal(repr(float(level))).quantize(Decimal(1).scaleb(-decimals), ROUND_CEILING):f}"


def ball_ends(ball: Any) -> tuple[Fraction, Fraction] | None:
    """Rational ends of a ball; ``None`` for one that is not finite."""
    if not ball.is_finite():
        return None
    return _exact_end(ball.lower()), _exact_end(ball.upper())


def is_positive_semidefinite(matrix: Sequence[Sequence[Fraction]]) -> bool:
    """Whether a symmetric matrix has no negative eigenvalue, by elimination."""
    rows, left = [list(row) for row in matrix], set(range(len(matrix)))
    while left:
        k = max(left, key=lambda i: rows[i][i])
        if rows[k][k] <= 0:
            return not any(rows[i][j] for i in left for j in left)
        left.remove(k)
        for i in left:
            share = rows[i][k] / rows[k][k]
            rows[i] = [v - share * w for v, w in zip(rows[i], rows[k], strict=True)]
    return True


def sqrt_upper(value: Fraction, bits: int = _PRECISION) -> Fraction:
    """A rational at least √value, a relative ``2^-bits`` or so above it, for ``value >= 0``.

    >>> sqrt_upper(Fraction(9, 4)), float(sqrt_upper(Fraction(2)))
    (Fraction(3, 2), 1.4142135623730951)
    """
    top, bottom = value.numerator, value.denominator
    shift = max(0, 2 * bits - top.bit_length() - bottom.bit_length())
    shift += shift % 2
    # √(n/d) = √(n d)/d, so that only one root is taken.
    square = (top * bottom) << shift
    root = math.isqrt(square)
    root += root * root < square
    return Fraction(root, bottom << (shift // 2))


def exp_upper(level: Fraction | float) -> float:
    """The smallest float known to be at least e^level (``inf`` beyond the largest float)."""
    if level > LARGEST_LEVEL:
        return math.inf
    return float_at_least(exp_bounds(level)[1])


@lru_cache(maxsize=256)
def log_bounds(ratio: Fraction, precision: int = _PRECISION) -> tuple[Fraction, Fraction]:
    """Rational numbers ``lo <= log(ratio) <= hi`` for ``ratio > 0``; both 0 at ratio 1."""
    from flint import arb, ctx, fmpq

    if ratio == 1:
        return Fraction(0), Fraction(0)
    # A ratio next to one needs the digits in which it differs from one.
    apart = abs(ratio.numerator - ratio.denominator).bit_length()
    extra = max(0, ratio.denominator.bit_length() - apart)
    with ctx.workprec(precision + extra):
        ball = arb(fmpq(ratio.numerator, ratio.denominator)).log()
        return _exact_end(ball.lower()), _exact_end(ball.upper())


def log_upper(ratio: Fraction) -> float:
    """The smallest float known to be at least ``log(ratio)``, for ``ratio > 0``.

    >>> log_upper(Fraction(1))
    0.0
    """
    return float_at_least(log_bounds(ratio)[1])


def compare_with_exp(ratio: Fraction, level: Fraction | float) -> Verdict:
    """Whether ``ratio <= e^level``, decided in exact arithmetic.

    Precision grows until the enclosures of log(ratio) and ``level`` are apart. The logarithm of
    a rational other than 1 is transcendental, so this ends at a rational level, and two powers of
    rationals are compared as integers; the cap guards against absurdly close calls, which come
    back undecided.
    """
    if ratio <= 1:
        return Verdict.YES
    if isinstance(level, Level) and level.base is not None:
        above, below = level.times.as_integer_ratio()
        if max(above, below) <= _LARGEST_POWER:
            return Verdict.YES if ratio**below <= level.base**above else Verdict.NO
    precision = _PRECISION
    while precision <= _MAX_PRECISION:
        lo, hi = log_bounds(ratio, precision)
        low, high = level_bounds(level, precision)
        if hi <= low:
            return Verdict.YES
        if lo > high:
            return Verdict.NO
        precision *= 4
    return Verdict.UNDECIDED


def dyadic(matrix: NDArray[np.float64]) -> tuple[NDArray[Any], int]:
    """Integer weights and a bit count ``b`` with ``matrix == weights / 2**b`` exactly.

    The weights are ``int64`` where they fit, Python integers in an object array otherwise.
    """
    mantissa, exponent = np.frexp(matrix)
    numerators = np.ldexp(mantissa, 53).astype(np.int64)
    shift = exponent.astype(np.int64) - 53
    used = numerators != 0
    if not used.any():
        return np.zeros(matrix.shape, dtype=np.int64), 0
    # Strip trailing zero bits first, so that short decimals keep small integers.
    low = numerators & -numerators
    trailing = np.where(used, np.round(np.log2(np.where(used, low, 1))).astype(np.int64), 0)
    numerators = numerators >> trailing
    shift = shift + trailing
    base = min(int(shift[used].min()), 0)
    lift = np.where(used, shift - base, 0)
    bits = int((np.frexp(np.abs(numerators).astype(float))[1] + lift)[used].max())
    if bits <= 62:
        return numerators << lift, -base
    powers = np.array([1 << int(k) for k in lift.ravel()], dtype=object).reshape(lift.shape)
    return numerators.astype(object) * powers, -base


def to_weights(
    kernel: NDArray[np.float64],
    inwards: tuple[NDArray[np.bool_], NDArray[np.float64]] | None = None,
) -> NDArray[np.int64]:
    """Integer weights with rows of exactly 2⁵³, zeros kept, nearest by largest remainder.

    ``inwards`` are columns to round towards their averages: which ones, and the averages of all.
    """
    scaled = kernel * float(DENOMINATOR)
    weights = np.floor(scaled).astype(np.int64)
    fractions = scaled - weights
    if inwards is not None:
        marked, averages = inwards
        weights += marked & (fractions > 0) & (kernel <= averages)
        fractions[:, marked] = 0.0
    missing = DENOMINATOR - weights.sum(axis=1)
    order = np.argsort(-fractions, axis=1, kind="stable")
    # Rank of each entry among the remainders of its row.
    rows = np.arange(len(weights))
    ranks = np.empty_like(order)
    ranks[rows[:, None], order] = np.arange(kernel.shape[1])
    raise_one = (ranks < missing[:, None]) & (fractions > 0)
    weights += raise_one
    weights[rows, weights.argmax(axis=1)] += DENOMINATOR - weights.sum(axis=1)
    return weights


@lru_cache(maxsize=64)
def _limbs(weights: tuple[int, ...], bits: int) -> NDArray[np.int64]:
    """Non-negative integers cut into limbs of so many bits, the lowest first; ``(L, N)``."""
    mask = (1 << bits) - 1
    rest = [int(w) for w in weights]
    limbs = []
    while any(rest):
        limbs.append([w & mask for w in rest])
        rest = [w >> bits for w in rest]
    return np.array(limbs, dtype=np.int64).reshape(len(limbs), len(weights))


def dot(weights: Sequence[int], matrix: NDArray[Any]) -> list[int]:
    """Exact integer product ``weights @ matrix`` of non-negative ``(N,)`` and ``(N, M)`` arrays.

    Machine integers are used in limbs small enough that no sum overflows; ``weights`` may be
    of any size and ``matrix`` may hold Python integers. Raises ``ValueError`` for negative weights.
    """
    n = len(weights)
    if any(w < 0 for w in weights):
        raise ValueError("weights must not be negative")
    if matrix.dtype == object:
        return [int(v) for v in np.array(list(weights), dtype=object) @ matrix]
    if matrix.size == 0:
        return [0] * matrix.shape[1]
    weight_bits = 62 - 32 - max(1, n.bit_length())
    factors = _limbs(tuple(weights), weight_bits)
    # Columns of zeros are common in kernels, and free.
    live = np.flatnonzero(matrix.any(axis=0))
    total = [0] * matrix.shape[1]
    if not len(factors) or not len(live):
        return total
    used = matrix if len(live) == matrix.shape[1] else matrix[:, live]
    low, high = (factors @ (used & 0xFFFFFFFF)).tolist(), (factors @ (used >> 32)).tolist()
    for k, place in enumerate(live.tolist()):
        value = 0
        for upper, lower in zip(reversed(high), reversed(low), strict=True):
            value = (value << weight_bits) + (upper[k] << 32) + lower[k]
        total[place] = value
    return total


# Numbers in text


def are_machine_weights(weights: NDArray[Any]) -> bool:
    """Whether weights are small enough for :func:`sums_of_products`."""
    return weights.dtype != object and not (weights.size and int(weights.max()) > DENOMINATOR)


def sums_of_products(
    weights: NDArray[Any], values: NDArray[np.float64], groups: NDArray[np.intp], count: int
) -> tuple[list[int], int]:
    """Σ W_i v_i of each group, exactly, for machine integers W_i from 0 to 2⁵³ and floats v_i.

    The floats are cut into limbs short enough that sums of products of machine integers are exact;
    most need three. Terms where either factor is zero cost nothing.

    Parameters
    ----------
    groups : of each term, in rising order
    count : number of groups

    Returns the sums as integers, times two to the power that is returned with them.
    """
    totals = [0] * count
    used = np.flatnonzero((weights != 0) & (values != 0))
    if not used.size:
        return totals, 0
    part, rest, rows = weights[used], values[used], groups[used]
    longest = int(np.diff(np.flatnonzero(np.diff(rows, prepend=-1, append=count))).max())
    bits = 62 - _HALF - longest.bit_length()
    unit = int(np.frexp(np.abs(rest).max())[1])
    while rest.size:
        lower = max(unit - bits, _LOWEST)
        totals = [total << (unit - lower) for total in totals]
        unit = lower
        limb = np.trunc(np.ldexp(rest, -unit))
        rest = rest - np.ldexp(limb, unit)
        whole = limb.astype(np.int64)
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        high = np.add.reduceat((part >> _HALF) * whole, starts).tolist()
        low = np.add.reduceat((part & ((1 << _HALF) - 1)) * whole, starts).tolist()
        for x, above, below in zip(rows[starts].tolist(), high, low, strict=True):
            totals[x] += (above << _HALF) + below
        left = np.flatnonzero(rest)
        part, rest, rows = part[left], rest[left], rows[left]
    return totals, unit


def scaled(integer: int, exponent: int) -> Fraction:
    """An integer times a power of two."""
    return Fraction(integer << exponent) if exponent >= 0 else Fraction(integer, 1 << -exponent)


def read_integer(word: Any) -> int:
    """An integer from its decimal digits; ``ValueError`` for other text, or over 400,000 digits.

    >>> read_integer("9" * 5000) == 10**5000 - 1
    True
    """
    if isinstance(word, int) and not isinstance(word, bool):
        return word
    text = word.strip() if isinstance(word, str) else ""
    if len(text) > MOST_DIGITS or not _INTEGER.fullmatch(text):
        raise ValueError(f"expected at most {MOST_DIGITS:,} digits, got {quote(word, 40)}")
    if len(text) <= _STEP:
        return int(text)
    from flint import fmpz  # Python reads and writes a limited number of digits

    return int(fmpz(text.removeprefix("+")))


def write_integer(value: int) -> str:
    """The decimal digits of an integer of any length, as :func:`read_integer` reads them.

    >>> write_integer(-10**5000) == "-1" + "0" * 5000
    True
    """
    # A digit is more than three bits.
    if value.bit_length() <= 3 * _STEP:
        return str(value)
    from flint import fmpz

    return str(fmpz(value))


def write_fraction(value: Fraction) -> str:
    """A rational as :func:`read_fraction` reads it, exact."""
    above = write_integer(value.numerator)
    return above if value.denominator == 1 else f"{above}/{write_integer(value.denominator)}"


def read_fraction(word: Any) -> Fraction:
    """The exact number that is handed in: as a number, or as a text ``1/3``, ``0.1`` or ``1e-7``.

    A text of 16 or 17 digits, as programs write floats, is the float nearest to it. Raises
    ``ValueError`` for other text, for too many digits, and for exponents whose number, written out,
    would fill the memory; and the errors of :func:`fraction`.

    >>> read_fraction("2/6"), read_fraction("1e-1"), read_fraction(0.5)
    (Fraction(1, 3), Fraction(1, 10), Fraction(1, 2))
    """
    if isinstance(word, bool):
        raise ValueError(f"expected a number, got {quote(word, 40)}")
    if not isinstance(word, str):
        return fraction(word)
    above, slash, below = word.strip().partition("/")
    if slash:
        under = read_integer(below)
        if under <= 0:
            raise ValueError(f"expected a positive denominator, got {quote(below, 40)}")
        return Fraction(read_integer(above), under)
    if _INTEGER.fullmatch(above):
        return Fraction(read_integer(above))
    match = _NUMBER.fullmatch(above)
    if match is None or len(above) > _STEP:
        raise ValueError(f"expected a number, got {quote(word, 40)}")
    exponent = match["exponent"] or "0"
    if len(exponent) > 9 or abs(int(exponent)) > LARGEST_EXPONENT:
        raise ValueError(
            f"expected an exponent of at most {LARGEST_EXPONENT} in size, got {quote(word, 40)}"
        )
    digits = match["digits"].replace(".", "").lstrip("0")
    return Fraction(float(above)) if len(digits) in _OF_FLOATS else Fraction(above)
