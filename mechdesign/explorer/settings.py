"""What a visitor has set: a prior, the notions looked at, and a utility. Nothing here changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..arguments import read_utility
from ..errors import InputError, LevelError, PriorError, UnknownNameError, quote
from ..labels import Label, parse_labels
from ..prior import Prior
from ..privacy.notion import NOTIONS, PrivacyNotion, check_level
from ..utility.base import Utility

#: Symbols that the page has room for.
MOST_SYMBOLS = 50
#: Notions on offer, by registered name. Mutual information privacy is not among them: a design for
#: twenty symbols takes a second, and nobody can drag a slider against that.
OFFERED = ("pml", "pmc", "lip", "alip", "ldp", "maximalleakage", "maximalcostleakage")
#: Utilities on offer, by the name they have on the command line.
UTILITIES = (
    *("hamming", "absolute", "squared"),
    *("mutual-information", "total-variation", "chi-square"),
)
#: The largest share of a symbol while others have any: their proportions stay known.
LARGEST_SHARE = 0.999
_DECIMALS = 9
_SMALLEST = 10.0**-_DECIMALS


@dataclass(frozen=True)
class Demand:
    """A notion with its levels in nats; ``held`` when the design must satisfy it."""

    name: str
    levels: tuple[float, ...]
    held: bool = False

    @property
    def notion(self) -> PrivacyNotion:
        """The notion at its levels."""
        return NOTIONS[self.name](*self.levels)

    @property
    def title(self) -> str:
        """Name of the notion's class, such as ``PML``."""
        return NOTIONS[self.name].__name__


@dataclass(frozen=True)
class Column:
    """The column of a table that a prior was counted in."""

    table: str
    column: str
    weights: str | None = None
    missing: str = "error"

    def __str__(self) -> str:
        return f"{self.table}: {self.column}"


@dataclass(frozen=True)
class Settings:
    """Everything a visitor has set.

    Attributes
    ----------
    names : the symbols as they are written; numbers among them are read as ``parse_labels`` does
    weights : one non-negative number per symbol, proportional to its mass
    demands : the notions looked at, each at most once
    utility : one of :data:`UTILITIES`
    source : the column that the prior was counted in, until a mass or a name is changed
    """

    names: tuple[str, ...]
    weights: tuple[float, ...]
    demands: tuple[Demand, ...]
    utility: str = "hamming"
    source: Column | None = None

    @classmethod
    def of_prior(cls, prior: Prior, source: Column | None = None) -> Settings:
        """A prior, with PML designed and LIP and LDP to compare it with.

        Raises :class:`PriorError` for more symbols than the page has room for.
        """
        demands = (Demand("pml", (0.5,), True), Demand("lip", (0.5,)), Demand("ldp", (0.5,)))
        return cls((), (), demands).with_prior(prior, source)

    # What it means

    @property
    def labels(self) -> list[Label]:
        """The labels that the names are read as."""
        return parse_labels(self.names)

    @property
    def shares(self) -> tuple[float, ...]:
        """The mass of each symbol."""
        total = math.fsum(self.weights)
        return tuple(weight / total for weight in self.weights)

    def prior(self) -> Prior:
        """The prior; raises :class:`PriorError` for names that are read as one number."""
        return Prior.from_counts(self.weights, self.labels)

    def goal(self) -> Utility:
        """The utility."""
        return read_utility(self.utility, self.prior())

    def notions(self) -> list[PrivacyNotion]:
        """The notions that the design must satisfy; raises :class:`LevelError` for none."""
        held = [demand.notion for demand in self.demands if demand.held]
        if not held:
            raise LevelError(
                "design",
                expected="at least one notion that must hold",
                got="none",
                remedy="tick one of the notions, or add one",
            )
        return held

    def demand(self, name: str) -> Demand:
        """The notion of a name, as it is set."""
        for demand in self.demands:
            if demand.name == name:
                return demand
        raise UnknownNameError("notion on the page", name, [d.name for d in self.demands])

    # Changes of the prior

    def with_prior(self, prior: Prior, source: Column | None = None) -> Settings:
        """Another prior. Counts of a column are kept as they are, other masses as floats."""
        if len(prior) > MOST_SYMBOLS:
            raise PriorError(
                "prior of the page",
                expected=f"at most {MOST_SYMBOLS} symbols",
                got=f"{len(prior)}",
                remedy="choose another column, merge symbols, or use 'mechdesign design'",
            )
        names = tuple(str(label) for label in prior.labels)
        weights = prior.probabilities.tolist() if source is None else prior.weights
        return replace(self, names=names, weights=tuple(weights), source=source)

    def with_share(self, place: int, share: float) -> Settings:
        """Give a symbol a mass; the others share the rest in the proportions they had.

        The mass is kept at :data:`LARGEST_SHARE` or below while others have any. Where all others
        are at zero they get equal parts of the rest.
        """
        share = check_share(share)
        shares = list(self.shares)
        others = math.fsum(shares) - shares[place]
        if len(shares) == 1:
            return self
        if others > 0:
            share = min(share, LARGEST_SHARE)
            scaled = [s * (1 - share) / others for s in shares]
        else:
            scaled = [(1 - share) / (len(shares) - 1)] * len(shares)
        scaled[place] = share
        return self._weighed(scaled)

    def with_added(self) -> Settings:
        """One more symbol, with the mean mass; the others keep their proportions."""
        count = len(self.names)
        if count >= MOST_SYMBOLS:
            raise PriorError(
                "prior of the page",
                expected=f"at most {MOST_SYMBOLS} symbols",
                got="one more",
                remedy="remove one first",
            )
        shares = [share * count / (count + 1) for share in self.shares]
        names = (*self.names, _next_name(self.names))
        return replace(self, names=names)._weighed([*shares, 1 / (count + 1)])

    def without(self, place: int) -> Settings:
        """One symbol less; the others keep their proportions."""
        if len(self.names) == 1:
            raise PriorError(
                "prior of the page",
                expected="at least one symbol",
                got="none left",
                remedy="add another one first",
            )
        kept = [s for i, s in enumerate(self.shares) if i != place]
        names = tuple(name for i, name in enumerate(self.names) if i != place)
        return replace(self, names=names)._weighed(kept if any(kept) else [1.0] * len(kept))

    def renamed(self, place: int, text: str) -> Settings:
        """Another name for a symbol; raises :class:`PriorError` for none, or one that is taken."""
        name = text.strip()
        if name == self.names[place]:
            return self
        wrong = None
        if not name:
            wrong = ("a name", "empty text")
        elif not name.isprintable() or not _is_encodable(name):
            wrong = ("a name of printable characters", repr(name))
        if wrong is not None:
            raise PriorError(
                f"name of symbol {place + 1}",
                expected=wrong[0],
                got=wrong[1],
                remedy="write for example a",
            )
        names = tuple(name if i == place else old for i, old in enumerate(self.names))
        changed = replace(self, names=names)._weighed(self.shares)
        changed.prior()  # refuses a name that is taken
        return changed

    def uniform(self) -> Settings:
        """Equal masses."""
        return replace(self, weights=(1 / len(self.names),) * len(self.names), source=None)

    def zipf(self) -> Settings:
        """Masses proportional to 1, 1/2, 1/3 and so on."""
        return self._weighed([1 / (i + 1) for i in range(len(self.names))])

    def _weighed(self, weights: Sequence[float]) -> Settings:
        """Masses as short numbers: nine decimals, zero only for what is zero."""
        total = math.fsum(weights)
        short = [max(round(w / total, _DECIMALS), _SMALLEST) if w > 0 else 0.0 for w in weights]
        return replace(self, weights=tuple(short), source=None)

    # Changes of what is asked

    def with_demand(self, name: str, **changes: Any) -> Settings:
        """Other ``levels`` for a notion, or whether it is ``held``."""
        changed = replace(self.demand(name), **changes)
        for level in changed.levels:
            check_level(level, f"level of {changed.title}")
        return replace(self, demands=tuple(changed if d.name == name else d for d in self.demands))

    def with_notion(self, name: str) -> Settings:
        """One more notion to compare with, at the levels of the first one."""
        if name not in OFFERED or name in {demand.name for demand in self.demands}:
            left = sorted(set(OFFERED) - {demand.name for demand in self.demands})
            raise UnknownNameError("notion to add", name, left)
        level = self.demands[0].levels[-1] if self.demands else 0.5
        levels = (level,) * len(NOTIONS[name].level_fields)
        return replace(self, demands=(*self.demands, Demand(name, levels)))

    def without_notion(self, name: str) -> Settings:
        """One notion less."""
        return replace(self, demands=tuple(d for d in self.demands if d.name != name))

    def with_utility(self, name: str) -> Settings:
        """Another utility, one of :data:`UTILITIES`."""
        if not isinstance(name, str) or name not in UTILITIES:
            raise UnknownNameError("utility", name, UTILITIES)
        return replace(self, utility=name)


def parse_number(text: str | None, subject: str) -> float:
    """A number as people write it: ``0.25``, ``1/4``, ``25%``, ``inf`` or ``∞``.

    >>> parse_number(" 1/4 ", "share"), parse_number("∞", "level")
    (0.25, inf)
    """
    word = (text or "").strip().lower()
    try:
        if word in ("∞", "infinite"):
            return math.inf
        if "_" in word:
            raise ValueError
        if word.endswith("%"):
            return float(word[:-1]) / 100 + 0.0
        above, bar, below = word.partition("/")
        return (float(above) / float(below) if bar else float(word)) + 0.0  # -0 is 0
    except (ValueError, ZeroDivisionError):
        raise InputError(
            subject,
            expected="a number",
            got=quote(text) if word else "empty text",
            remedy="write for example 0.25",
        ) from None


def check_share(value: float) -> float:
    """A mass from 0 to 1; raises :class:`PriorError` for anything else."""
    if not 0 <= value <= 1:
        raise PriorError(
            "mass of a symbol",
            expected="a number from 0 to 1",
            got=f"{value:g}",
            remedy="write for example 0.25",
        )
    return value


def _next_name(names: Sequence[str]) -> str:
    """A name that continues the ones there are: the next number, letter, or ``new 7``."""
    numbers = parse_labels(names)
    if all(isinstance(n, int) for n in numbers):
        return str(max(numbers) + 1)
    if all(len(name) == 1 for name in names):
        for letter in "abcdefghijklmnopqrstuvwxyz":
            if letter not in names:
                return letter
    number = len(names) + 1
    while f"new {number}" in names:
        number += 1
    return f"new {number}"


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
