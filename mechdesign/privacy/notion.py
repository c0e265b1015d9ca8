"""What every privacy notion has: a level, a measurement, an exact check; and their registry."""

from __future__ import annotations

import inspect
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any, ClassVar, Self

import numpy as np

from ..errors import LevelError, UnknownNameError, is_iterable, quote
from ..exact import (
    Level,
    Verdict,
    bits_level,
    exact_level,
    float_at_most,
    level_bounds,
    log_level,
    log_upper,
    read_fraction,
    rounded_up,
    write_fraction,
)
from ..labels import Label
from ..mechanism import Mechanism
from ..numeric import finite_number, float_array
from ..prior import Prior
from ..registry import register as register_class
from .constraint import GRAVEST, Array, Bound, Evaluation, check_bound, gravest
from .rows import ConeRows, cone_rows
from .sums import SumConstraint, least_level

# Ratios above e to this are shown as powers of e.
_LARGEST_SHOWN = 200
#: How a level is written.
LEVEL_WORDS = "a level such as 0.5 (nats), ln 3, x3 (a ratio of likelihoods) or 1.5 bits"
_LEVEL = re.compile(
    r"ln *\((?P<log>[^()]+)\)|ln *(?P<plain>[^()]+)|[x×] *(?P<ratio>.+)"
    r"|(?P<bits>.+?) *bits?|(?P<nats>[^/]+/[^/]+)"
)
# A notion as it is printed, and names of its parameters.
_PRINTED = re.compile(r"\s*(?!ln\b)(\w+)\s*\((.*)\)\s*")
_NAMED = re.compile(r"\b[a-z_]+=")
# Entries of a table that tell a notion apart from others.
_SHOWN_ENTRIES = 3

NOTIONS: dict[str, type[PrivacyNotion]] = {}


@dataclass(frozen=True, eq=False)
class Constraints:
    """What a notion asks of a kernel on given symbols, in the form that everything else reads.

    Attributes
    ----------
    cone : rows that every column satisfies, one part for each bound with a finite level
    sums : constraints on sums over outcomes with a finite level
    """

    cone: tuple[ConeRows, ...] = ()
    sums: tuple[SumConstraint, ...] = ()


@dataclass(frozen=True)
class Worst:
    """Where a kernel leaks most under one level of a notion.

    Attributes
    ----------
    level : exact level in nats, rounded up; ``inf`` where something is ruled out
    output : label of the outcome
    over, under : names of the hypotheses whose likelihood ratio is largest there
    """

    level: float
    output: Label
    over: str
    under: str

    @property
    def about(self) -> str:
        """The pair of hypotheses as text."""
        return f"{self.over} against {self.under}"

    @property
    def shown(self) -> str:
        """The level as text: a number of nats, or that it is infinite."""
        return "infinite" if self.level == math.inf else f"{rounded_up(self.level, 12)} nats"


@dataclass(frozen=True)
class Check:
    """Exact verdict on one notion for one kernel.

    Attributes
    ----------
    notion : the notion with the level asked
    verdict : ``Verdict.YES`` only when the guarantee is proved for the exact numbers
    worst : where the kernel leaks most, one entry per level of the notion
    output : label of the outcome that decides
    ratio : the largest likelihood ratio there, ``None`` when infinite
    evidence : one sentence that names the outcome and the hypotheses that decide
    """

    notion: PrivacyNotion
    verdict: Verdict
    worst: tuple[Worst, ...]
    output: Label
    ratio: Fraction | None
    evidence: str

    @property
    def achieved(self) -> tuple[float, ...]:
        """The levels the kernel has, in nats, rounded up (one per level of the notion)."""
        return tuple(w.level for w in self.worst)


class PrivacyNotion(ABC):
    """A privacy notion at a level.

    A subclass is a frozen dataclass. The fields named in :attr:`level_fields` hold levels in nats;
    they are checked when an instance is made. Subclassing registers the notion under its class
    name, so that audits, the command line and the contract tests include it; pass
    ``register=False`` as a class keyword to keep a class out.
    """

    level_fields: ClassVar[tuple[str, ...]] = ("epsilon",)
    #: What it promises about an adversary, with ``{factor}`` for e^ε and ``{0.name}`` for a field;
    #: of two levels ``{lower}`` is the first one.
    promise: ClassVar[str] = ""
    #: Keys into ``references.bib``.
    references: ClassVar[tuple[str, ...]] = ()
    #: Whether further parameters than levels are needed (so audits cannot guess an instance).
    needs: ClassVar[tuple[str, ...]] = ()
    #: What reads each of them from its text on the command line, after the levels: ``(str,)``.
    written: ClassVar[tuple[Callable[[str], Any], ...]] = ()
    #: Whether audits list the notion unasked; where it fails on their labels, they leave it out.
    by_default: ClassVar[bool] = True
    #: Whether it takes the prior to check a kernel; else the verdict is one for all full priors.
    uses_prior: ClassVar[bool] = True
    #: The two methods that say what it asks, apart from each other: one exactly, one measured.
    said_by: ClassVar[tuple[str, str]] = ("check", "leakage")

    def __init_subclass__(cls, *, register: bool = True, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if register:
            register_class(cls, NOTIONS, "privacy notion", LevelError)

    def __post_init__(self) -> None:
        for name in self.level_fields:
            object.__setattr__(self, name, checked_level(getattr(self, name), self._name(name)))

    def _name(self, field_name: str) -> str:
        return f"{type(self).__name__} level {field_name}"

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels in nats, in the order of the fields."""
        return tuple(getattr(self, name) for name in self.level_fields)

    @classmethod
    def at(cls, *levels: float) -> Self:
        """The notion at given levels; one level serves all when fewer are given."""
        if len(levels) == 1:
            levels = levels * len(cls.level_fields)
        return cls(*levels)

    def with_levels(self, *levels: float) -> Self:
        """The same notion at other levels."""
        if not is_dataclass(self):
            raise LevelError(
                f"privacy notion {type(self).__name__}",
                expected="a frozen dataclass",
                got="another class",
                remedy="decorate it with @dataclass(frozen=True)",
            )
        return replace(self, **dict(zip(self.level_fields, levels, strict=True)))

    @abstractmethod
    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """Leakage of each outcome in nats, ``(M,)``, or ``(L, M)`` for a notion with L levels.

        A direct measurement in floating point that shares nothing with :meth:`check`. Outcomes of
        probability zero leak 0; an outcome that rules something out may leak ``inf``.
        """

    @abstractmethod
    def check(self, mechanism: Mechanism, prior: Prior) -> Check:
        """Decide exactly whether a kernel satisfies the notion at its level."""

    def check_labels(self, prior: Prior) -> None:  # noqa: B027 (most name no symbols)
        """Raise :class:`LevelError` for a parameter that names what is no symbol of the prior."""

    def constraints(self, prior: Prior) -> Constraints | None:
        """What the notion asks, for a prior over the kernel's inputs; infinite levels ask nothing.

        ``None`` for a notion that can be audited only, as nothing is known that implies it.
        """
        return None

    def measure(self, mechanism: Mechanism, prior: Prior) -> tuple[float, ...]:
        """The levels a kernel has, in floating point (see :meth:`check` for exact ones)."""
        return tuple(float(row.max()) for row in self.checked_leakage(mechanism, prior))

    def checked_leakage(self, mechanism: Mechanism, prior: Prior) -> Array:
        """:meth:`leakage` as ``(L, M)``, or a :class:`LevelError` when it is no such numbers."""
        levels, outcomes = len(self.level_fields), mechanism.shape[1]
        shown = f"{levels} rows of " if levels > 1 else ""
        shown += f"{outcomes} numbers, one for each outcome"
        return self._numbers("leakage", self.leakage(mechanism.kernel, prior), outcomes, shown)

    def checked_measure(self, mechanism: Mechanism, prior: Prior) -> tuple[float, ...]:
        """:meth:`measure`, or a :class:`LevelError` when it is not one number for each level."""
        shown = f"a tuple of {len(self.level_fields)} levels"
        found = self._numbers("measure", self.measure(mechanism, prior), None, shown)
        return tuple(found.ravel().tolist())

    def _numbers(self, method: str, found: Any, outcomes: int | None, expected: str) -> Array:
        """Floats of what a method returned, ``(L, M)`` or ``(L, 1)``, none of them NaN."""
        array = float_array(found)
        shape = (len(self.level_fields), outcomes or 1)
        if array is not None and outcomes is None and array.ndim == 1:
            array = array[:, None]
        lost = array is not None and bool(np.isnan(array).any())
        if array is None or lost or np.atleast_2d(array).shape != shape:
            remedy = f"return numbers in nats from {method}()"
            if lost:
                remedy += ": 0 at an outcome of probability zero, inf at one that rules it out"
            raise LevelError(
                f"{method} of {type(self).__name__}",
                expected=expected,
                got="NaN among them" if lost else quote(found),
                remedy=remedy,
            )
        return np.atleast_2d(array)

    def _refuse_idle(self, parts: Sequence[Bound | SumConstraint], prior: Prior) -> None:
        """Raise :class:`LevelError` where nothing is asked of any two symbols, if there are two."""
        symbols = prior.support.size if self.uses_prior else len(prior)
        if symbols > 1 and all(part.is_idle for part in parts):
            raise LevelError(
                f"privacy notion {self.title}",
                expected="something that it keeps from being told apart",
                got="a notion that asks nothing of any pair of symbols",
                remedy="name neighbours, secrets or finite factors of this prior, a delta below 1, "
                "or leave the notion out",
            )

    @property
    def covers_zero_mass(self) -> bool:
        """Whether a symbol of zero mass needs a row of its own, not just a copy of another row."""
        return False

    @property
    def description(self) -> str:
        """What the guarantee promises about an adversary, in a sentence or two.

        Notions say this in :attr:`promise`; otherwise it is the first line of their documentation.
        """
        if self.promise:
            lower, *_, upper = map(factor, (*self.levels, *self.levels[-1:]))
            bits = self.levels[0] / math.log(2)
            return self.promise.format(self, factor=upper, lower=lower, bits=bits)
        text = inspect.cleandoc(type(self).__doc__ or "").split("\n\n")[0].replace("\n", " ")
        own = text and not text.startswith(f"{type(self).__name__}(")
        return text if own else f"{self}: it has no description."

    @property
    def spec(self) -> str:
        """How the notion is written on the command line, such as ``pml:0.5``."""
        levels = (str(level).replace(" ", "") for level in self.levels)
        return f"{type(self).__name__.lower()}:{','.join([*levels, *self._texts()])}"

    def _texts(self) -> list[str]:
        """Parameters as texts; tables, and objects of one's own, have none."""
        more = [getattr(self, name) for name, _ in zip(self.needs, self.written, strict=False)]
        return [str(value) for value in more if isinstance(value, (str, int, float))]

    @property
    def title(self) -> str:
        """Name and levels without parameters, as they are told in public."""
        return f"{type(self).__name__}({', '.join(map(shown_level, self.levels))})"

    def __str__(self) -> str:
        return f"{', '.join([self.title[:-1], *self._texts()])})"


#: Which level of a notion, what was asked at it, and what a kernel has.
Asked = tuple[int, float, Evaluation]


class DecidedNotion(PrivacyNotion, register=False):
    """A notion that is decided by evaluations, each of one of its levels."""

    @abstractmethod
    def _evaluated(self, mechanism: Mechanism, prior: Prior) -> list[Asked]:
        """What the notion asks, decided on the exact numbers of a kernel."""

    @abstractmethod
    def _evidence(self, asked: float, worst: Evaluation, mechanism: Mechanism) -> str:
        """The sentence for what decides."""

    def check(self, mechanism: Mechanism, prior: Prior) -> Check:
        """Decide everything that is asked exactly.

        Raises :class:`KernelError` when the prior is not over the kernel's inputs.
        """
        mechanism.check_prior(prior)
        self.check_labels(prior)
        found, outputs = self._evaluated(mechanism, prior), mechanism.outputs
        worst = []
        for k in range(len(self.level_fields)):
            # The first of equal levels, so that ties are settled the same way each time.
            top = max((e for place, _, e in found if place == k), key=lambda e: e.level)
            worst.append(Worst(top.level, outputs[top.output], top.over, top.under))
        _, asked, last = min(found, key=_gravity)
        evidence = self._evidence(asked, last, mechanism)
        return Check(self, last.verdict, tuple(worst), outputs[last.output], last.ratio, evidence)


def _gravity(asked: Asked) -> tuple[int, bool, float]:
    _, level, found = asked
    is_vacuous = level == math.inf
    excess = found.level if is_vacuous else found.level - level
    return GRAVEST.index(found.verdict), is_vacuous, -excess


class LikelihoodBound(DecidedNotion):
    """A notion that bounds likelihood ratios between pairs of hypotheses.

    A subclass gives :meth:`bounds`, the pairs, which are compiled and exactly checked, and
    :meth:`leakage`, an independent measurement. Nothing else is needed for design, audit and
    certificates.
    """

    said_by = ("bounds", "leakage")

    @abstractmethod
    def bounds(self, prior: Prior) -> list[Bound]:
        """The pairs of hypotheses and their levels, for a prior over the kernel's inputs."""

    def checked_bounds(self, prior: Prior) -> list[Bound]:
        """:meth:`bounds`, or a :class:`LevelError` when it does not give what it should."""
        found = self.bounds(prior)
        good = isinstance(found, (list, tuple)) and all(isinstance(b, Bound) for b in found)
        levels = range(len(self.level_fields))
        if not good or {b.parameter for b in found} != set(levels):
            raise LevelError(
                f"bounds of {type(self).__name__}",
                expected=f"a list of Bound with at least one for each of {len(levels)} levels",
                got=quote(found) if not good else str([b.parameter for b in found]),
                remedy="return Bound(over, under, level, parameter=…) from bounds()",
            )
        sizes = {side.size for b in found for side in (b.over, b.under)}
        if sizes != {len(prior)}:
            raise LevelError(
                f"bounds of {type(self).__name__}",
                expected=f"hypotheses about the {len(prior)} symbols of the prior",
                got=f"some about {max(sizes - {len(prior)})}",
                remedy="make them of the prior that bounds() is given",
            )
        self._refuse_idle(found, prior)
        return list(found)

    def constraints(self, prior: Prior) -> Constraints:
        """Rows of the cone for every bound."""
        return Constraints(
            tuple(cone_rows(b) for b in self.checked_bounds(prior) if not b.is_vacuous)
        )

    def _evaluated(self, mechanism: Mechanism, prior: Prior) -> list[Asked]:
        """Every bound, decided in integers and rationals."""
        bounds = self.checked_bounds(prior)
        return [(b.parameter, b.epsilon, check_bound(b, mechanism)) for b in bounds]

    def _evidence(self, asked: float, worst: Evaluation, mechanism: Mechanism) -> str:
        shown = "infinite"
        if worst.ratio is not None:
            power = log_upper(worst.ratio) if worst.ratio > 1 else 0.0
            huge = power > _LARGEST_SHOWN
            shown = f"e^{power:.12g}" if huge else f"{float(worst.ratio):.12g}"
        text = (
            f"outcome {quote(mechanism.outputs[worst.output])}: likelihood ratio of {worst.over} "
            f"to {worst.under} is {shown}, {_against(worst, asked)}"
        )
        if worst.verdict is Verdict.UNDECIDED:
            text += (
                f" (rows of the kernel are off by up to {float(mechanism.row_error):.2g}, which "
                "does not settle it)"
            )
        return text


def _against(found: Evaluation, asked: float) -> str:
    told = f"level {rounded_up(found.level, 12)}"
    return told if asked == math.inf else f"{told} against {shown_level(asked, 12)}"


class AverageNotion(DecidedNotion, register=False):
    """A notion that constrains sums over outcomes.

    A subclass gives :meth:`sums`, which are compiled and exactly checked, and a measurement of its
    own: :meth:`leakage`, the share of each outcome, and :meth:`measure`, the level.

    What a class says of its level bounds the level of many reports, independent given the secret.
    """

    by_default: ClassVar[bool] = False
    said_by = ("sums", "measure")
    #: Whether it is at most the sum of those of the single reports.
    adds_up: ClassVar[bool] = False
    #: Whether it is at most the logarithm of the largest likelihood ratio of two symbols.
    below_ratio: ClassVar[bool] = False
    #: Whether it is at most the logarithm of the number of symbols.
    below_size: ClassVar[bool] = False

    @property
    def covers_zero_mass(self) -> bool:
        """Yes, as a sum may count every row; no where a copy of a row changes nothing."""
        return True

    @abstractmethod
    def sums(self, prior: Prior) -> list[SumConstraint]:
        """The constraints and their levels, for a prior over the kernel's inputs."""

    def checked_sums(self, prior: Prior) -> list[SumConstraint]:
        """:meth:`sums`, or a :class:`LevelError` when it does not give what it should."""
        found = self.sums(prior)
        good = isinstance(found, (list, tuple)) and bool(found)
        if not good or not all(isinstance(constraint, SumConstraint) for constraint in found):
            raise LevelError(
                f"sums of {type(self).__name__}",
                expected="a list of at least one SumConstraint",
                got=quote(found),
                remedy="return what mechdesign.privacy.SumConstraint is derived from in sums()",
            )
        self._refuse_idle(found, prior)
        return list(found)

    def constraints(self, prior: Prior) -> Constraints:
        """The constraints on sums over outcomes."""
        return Constraints(sums=tuple(c for c in self.checked_sums(prior) if not c.is_vacuous))

    def _evaluated(self, mechanism: Mechanism, prior: Prior) -> list[Asked]:
        """Every constraint, decided in integers, rationals and enclosures of logarithms."""
        found = gravest([c.evaluate(mechanism) for c in self.checked_sums(prior)])
        return [(0, self.levels[0], found)]

    def _evidence(self, asked: float, worst: Evaluation, mechanism: Mechanism) -> str:
        text = f"{worst.over} against {worst.under}: {_against(worst, asked)}"
        text += f", most of it at outcome {quote(mechanism.outputs[worst.output])}"
        undecided = worst.verdict is Verdict.UNDECIDED
        return text + " (rounding does not settle it)" * undecided


class DeltaNotion(AverageNotion, register=False):
    """An average notion up to a δ, which a subclass has as a field."""

    epsilon: float
    delta: float

    @abstractmethod
    def _given(self, kernel: Array, prior: Prior) -> Iterable[tuple[Array, Array]]:
        """Likelihoods of the outcomes under both hypotheses of every pair."""

    def leakage(self, kernel: Array, prior: Prior) -> Array:
        """Largest excess μᵀk − e^ε νᵀk of each outcome, at the asked ε (at 0 when infinite)."""
        factor = math.exp(self.epsilon) if self.epsilon < 700 else 1.0
        worst = np.zeros(kernel.shape[1])
        for first, second in self._given(kernel, prior):
            worst = np.maximum(worst, first - factor * second)
        return worst

    def measure(self, mechanism: Mechanism, prior: Prior) -> tuple[float, ...]:
        """The least ε at δ over all pairs."""
        pairs = self._given(mechanism.kernel, prior)
        return (max((least_level(a, b, self.delta) for a, b in pairs), default=0.0),)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(
            self, "delta", finite_number(self.delta, "delta", 0, 1, error=LevelError)
        )

    @property
    def title(self) -> str:
        """Name, level and δ."""
        return f"{type(self).__name__}({shown_level(self.levels[0])}, delta={self.delta:.6g})"

    def __str__(self) -> str:
        return self.title


def factor(level: float) -> str:
    """The factor e^level as text, rounded up.

    >>> factor(0.5), factor(0.0), factor(math.inf)
    ('a factor 1.649 (e^0.5)', 'a factor 1, so not at all', 'an unbounded factor')
    """
    if level == math.inf:
        return "an unbounded factor"
    if level == 0:
        return "a factor 1, so not at all"
    if isinstance(level, Level) and level.power is not None:
        return f"a factor {write_fraction(level.power)}"
    if level > _LARGEST_SHOWN:
        return f"a factor e^{level:.6g}"
    # Three digits of what the factor is above 1.
    digits = 3 + max(0, -math.floor(math.log10(level))) if level < 1 else 3
    context = Context(prec=min(digits, 15), rounding=ROUND_CEILING)
    return f"a factor {float(context.create_decimal(math.exp(level))):.{digits}g} (e^{level:.6g})"


def shown_level(level: float, digits: int = 6) -> str:
    """A level as it is told: ``ln 3``, or a number of nats with so many digits.

    >>> shown_level(ratio(3)), shown_level(1 / 3)
    ('ln 3', '0.333333')
    """
    return str(level) if isinstance(level, Level) else f"{level:.{digits}g}"


def ratio(value: Any) -> float:
    """The level in nats at which likelihoods differ at most by a factor: its logarithm, exactly.

    Parameters
    ----------
    value : int, float, Fraction, Decimal or a text such as ``"7/3"``, at least 1

    Raises
    ------
    LevelError
        For what is no such number, or has more than 3,600 digits.

    Examples
    --------
    >>> from fractions import Fraction
    >>> ratio(Fraction(7, 3)), ratio(2) + ratio(3) == ratio(6), float(ratio(2))
    (ln(7/3), True, 0.6931471805599454)
    """
    return _made(log_level, value, 1, "ratio")


def bits(value: Any) -> float:
    """A level given in bits, exactly: so many times the logarithm of two.

    Takes numbers as :func:`ratio` does, from 0 on.

    >>> bits(1) == ratio(2), bits("1.5")
    (True, 3/2 bits)
    """
    return _made(bits_level, value, 0, "bits")


def _made(make: Callable[[Fraction], float], value: Any, least: int, name: str) -> float:
    try:
        number = read_fraction(value)
        level = make(number) if number >= least else None
    except (TypeError, ValueError, OverflowError):
        level = None
    if level is None or (isinstance(level, Level) and not level.is_plain):
        raise LevelError(
            f"{name} of a level",
            expected=f"a number of at least {least}, of at most 3,600 digits",
            got=quote(value),
            remedy=f"pass for example md.{name}(3), md.{name}('7/3') or md.{name}(Fraction(7, 3))",
        )
    return level


def checked_level(value: Any, subject: str) -> float:
    """A level in nats: a non-negative number, ``inf`` allowed; exact, as what was given.

    Raises :class:`LevelError` for text, NaN, negative numbers and booleans.
    """
    level: float | None = None
    try:
        if isinstance(value, (Rational, Decimal)) and not isinstance(value, bool):
            level = exact_level(Fraction(value))
        elif not isinstance(value, (bool, np.bool_, str, bytes)) and value is not None:
            level = value if isinstance(value, Level) else float(value)
        if isinstance(level, Level) and not level.is_plain:
            level = None
    except (TypeError, ValueError, OverflowError):
        pass
    if level is None or math.isnan(level) or level < 0:
        raise LevelError(
            subject,
            expected="a non-negative number of nats",
            got=quote(value),
            remedy=_in_python(value)
            if isinstance(value, str)
            else "give a level such as 0.5 (SymbolPML, SymbolPMC, SymbolLIP and "
            "InputDiscriminativeLDP take a level for each symbol)",
        )
    return level


def _in_python(text: str) -> str:
    """How a level that is written as on the command line is written in Python."""
    word = text.strip().lower()
    form = _LEVEL.fullmatch(word)
    try:
        read_level(word)
    except ValueError:
        return "write 0.5, md.ratio(3) for a ratio of likelihoods, or md.bits(1.5)"
    if form is None:
        return f"write {word} without quotes"
    number = next(filter(None, form.groups())).strip()
    shown = number if number.isdigit() else repr(number)
    call = {"bits": "md.bits", "nats": "Fraction"}.get(form.lastgroup or "", "md.ratio")
    return f"write {call}({shown})"


def check_level(value: Any, subject: str) -> float:
    """A :func:`checked_level` as a float, one that is not above it."""
    level = checked_level(value, subject)
    return float_at_most(level_bounds(level)[0]) if isinstance(level, Level) else level


def positive_level(value: Any, subject: str) -> float:
    """A :func:`check_level` that is positive and finite, as between places: at 0 all look alike,
    and so they do where e^level is 1 in floats; at infinity none is hidden.
    """
    level = check_level(value, subject)
    if not math.ulp(1.0) <= level < math.inf:
        raise LevelError(
            subject,
            expected="a positive finite number of nats, at least 2.3e-16",
            got=quote(value),
            remedy="pass for example math.log(2)",
        )
    return level


def parse_notion(spec: str) -> PrivacyNotion:
    """The notion that a text such as ``pml:0.5`` or ``alip:1.0,0.5`` (lower, upper) names.

    Some notions take more after the level: ``dp:1,adjacent``, ``metricprivacy:1,absolute``,
    ``approximateldp:1,1e-5`` (ε, δ) and ``entrypml:0.1,100,0.3`` (entries, least chance). Levels
    are written as :func:`read_level` says. Notions as they are printed are read as well.

    >>> parse_notion("pml:0.5"), parse_notion("dp:1,adjacent"), parse_notion("LDP(ln 2)")
    (PML(epsilon=0.5), DP(epsilon=1.0, neighbours='adjacent'), LDP(epsilon=ln 2))
    """
    printed = _PRINTED.fullmatch(spec)
    text = f"{printed[1]}:{_NAMED.sub('', printed[2])}" if printed else spec
    name, colon, rest = text.strip().partition(":")
    cls = NOTIONS.get(name.strip().lower())
    if cls is None or not cls.written:
        cls = find_notion(name)
    if len(cls.written) != len(cls.needs):
        raise LevelError(
            f"written of {cls.__name__}",
            expected=f"what reads each of its parameters from text, for {', '.join(cls.needs)}",
            got=f"{len(cls.written)} of {len(cls.needs)}",
            remedy="give one function for each of needs, such as str, int or float",
        )
    count = len(cls.level_fields)
    wanted = [f"{count} level{'s' if count > 1 else ''}", *cls.needs]
    parts = [part.strip() for part in rest.split(",")] if rest.strip() else []
    example = f"{name}:{','.join(['0.5'] * count + [n.upper() for n in cls.needs])}"
    if not colon or len(parts) != count + len(cls.needs):
        raise LevelError(
            f"privacy notion {name}",
            expected=f"{' and '.join(wanted)}, as in {example}",
            got=quote(spec),
            remedy="write the levels in nats after a colon",
        )
    levels = [_read(read_level, word, example, LEVEL_WORDS) for word in parts[:count]]
    more = [
        _read(read, word, example, f"{_KINDS.get(read, 'text that is read')} for {need}")
        for read, word, need in zip(cls.written, parts[count:], cls.needs, strict=True)
    ]
    return cls(*levels, *more) if more else cls.at(*levels)


def read_level(text: str) -> float:
    """A level from a text: nats, the logarithm of a number, a ratio of likelihoods, or bits.

    All but a decimal number of nats, which is a float, are exact. Raises ``ValueError`` for
    anything else, and for numbers beyond floats: no limit at all is asked for as ``inf``.

    >>> read_level("0.5"), read_level("1/3"), read_level("ln 3") == read_level("x3")
    (0.5, Fraction(1, 3), True)
    >>> read_level("ln(7/3)"), read_level("1.5 bits")
    (ln(7/3), 3/2 bits)
    """
    word = text.strip().lower()
    form = _LEVEL.fullmatch(word)
    if form is not None:
        kind = form.lastgroup
        make = exact_level if kind == "nats" else bits if kind == "bits" else ratio
        return make(read_fraction(next(filter(None, form.groups()))))
    found = float(word)
    if "_" in word or (math.isinf(found) and "inf" not in word):
        raise ValueError(f"{text!r} is no level")
    return found


def is_notion_text(text: str) -> bool:
    """Whether a text names a notion, ``ldp:1`` or ``LDP(1)``, and not a level alone."""
    return ":" in text or _PRINTED.fullmatch(text) is not None


_KINDS: dict[Callable[[str], Any], str] = {int: "a whole number", float: "a number"}


def _read(kind: Callable[[str], Any], word: str, example: str, expected: str) -> Any:
    try:
        if "_" in word and kind is not str:
            raise ValueError
        found = kind(word)
        if kind is float and math.isinf(found) and "inf" not in word.lower():
            raise ValueError  # no limit at all is asked for by that name
        return found
    except ValueError:
        raise LevelError(
            f"privacy notion {example.partition(':')[0]}",
            expected=expected,
            got=quote(word),
            remedy=f"write it as in {example}",
        ) from None


def is_ours(cls: type) -> bool:
    """Whether a notion is one of this package, and not of whoever uses it."""
    return cls.__module__.partition(".")[0] == __package__.partition(".")[0]


def find_notion(name: str) -> type[PrivacyNotion]:
    """The registered notion of a name that levels alone define.

    Raises :class:`UnknownNameError` with the nearest name, or :class:`LevelError` for a notion that
    needs more than levels.
    """
    cls = NOTIONS.get(name.strip().lower())
    if cls is None:
        raise UnknownNameError("privacy notion", name, NOTIONS)
    if cls.needs:
        own = not is_ours(cls)
        readers = f"({', '.join(['str'] * len(cls.needs))}{',' * (len(cls.needs) == 1)})"
        raise LevelError(
            f"privacy notion {name}",
            expected="a notion that levels alone define",
            got=f"one that needs {', '.join(cls.needs)}",
            remedy="use it in Python, where it takes them"
            + f", or say in the class how text is read: written = {readers}" * own,
        )
    return cls


def as_notions(privacy: Any) -> tuple[PrivacyNotion, ...]:
    """One notion or several, as a tuple; raises :class:`LevelError` for anything else."""
    if isinstance(privacy, PrivacyNotion):
        return (privacy,)
    if is_iterable(privacy) and not isinstance(privacy, (str, bytes)):
        notions = tuple(privacy)
        if notions and all(isinstance(n, PrivacyNotion) for n in notions):
            return notions
    got = quote(privacy)
    if inspect.isclass(privacy):
        got = f"the class {privacy.__name__} without a level"
    raise LevelError(
        "privacy",
        expected="a notion such as PML(0.5), or a list of notions",
        got=got,
        remedy="name at least one notion with its level"
        + (", as md.LDP(1) for 'ldp:1' of the command line" if isinstance(privacy, str) else ""),
    )


def told_apart(
    notions: Iterable[PrivacyNotion], text: Callable[[PrivacyNotion], str] = str
) -> list[str]:
    """A text for each notion, with the parameters that differ where notions have the same one.

    >>> from mechdesign import DP, LDP
    >>> told_apart([LDP(1), DP(1, "adjacent"), DP(1, "hamming")])
    ['LDP(1)', 'DP(1, adjacent)', 'DP(1, hamming)']
    """
    listed = list(notions)
    texts = [text(notion) for notion in listed]
    alike: dict[str, list[PrivacyNotion]] = {}
    for said, notion in zip(texts, listed, strict=True):
        known = alike.setdefault(said, [])
        if not any(_same(notion, other) for other in known):
            known.append(notion)
    return [
        said if len(alike[said]) == 1 else f"{said} ({_what_differs(notion, alike[said])})"
        for said, notion in zip(texts, listed, strict=True)
    ]


def _same(one: Any, other: Any) -> bool:
    try:
        return one is other or bool(one == other)
    except ValueError:  # arrays are compared entry by entry
        return False


def _what_differs(notion: PrivacyNotion, alike: list[PrivacyNotion]) -> str:
    parts = []
    for name, value in notion_fields(notion).items():
        others = [notion_fields(other).get(name) for other in alike]
        if not all(_same(value, other) for other in others):
            parts.append(f"{name}={_own_part(value, others)}")
    return ", ".join(parts)


def _own_part(value: Any, others: list[Any]) -> str:
    """A value, of a table the entries that not all the others have."""
    if not isinstance(value, tuple) or not all(isinstance(other, tuple) for other in others):
        return quote(value)
    own = [entry for entry in value if not all(entry in other for other in others)]
    shown = ", ".join(quote(entry) for entry in own[:_SHOWN_ENTRIES])
    more = f" and {len(own) - _SHOWN_ENTRIES} more" if len(own) > _SHOWN_ENTRIES else ""
    return f"{shown}{more}" if own else f"only {', '.join(map(quote, value[:_SHOWN_ENTRIES]))}"


def notion_fields(notion: PrivacyNotion) -> dict[str, Any]:
    """The dataclass fields of a notion, by name."""
    return {f.name: getattr(notion, f.name) for f in fields(notion)}  # type: ignore[arg-type]


def hides_symbols(notion: PrivacyNotion, prior: Prior) -> bool:
    """Whether a notion hides which symbol it was, not only a feature of it."""
    if not isinstance(notion, LikelihoodBound):
        return True
    sides = (side for b in notion.bounds(prior) for side in (b.over, b.under))
    return any(side.indices is not None for side in sides)
