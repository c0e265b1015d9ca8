"""What is chosen: a prior, the notions looked at, a utility; and code that makes the same design.

Settings never change; every choice of the visitor makes new ones. Nothing here computes a design.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

import mechdesign as md

from ..arguments import read_utility
from ..errors import InputError, LevelError, PriorError, UnknownNameError, quote
from ..labels import Label, label_text, parse_labels

#: Symbols that the page has room for.
MOST_SYMBOLS = 50
#: Notions on offer, by registered name, with what the name stands for. Mutual information privacy
#: is left out: a design for twenty symbols takes a second, too long for a slider that is dragged.
OFFERED = {
    "pml": "pointwise maximal leakage",
    "pmc": "pointwise maximal cost",
    "lip": "local information privacy",
    "alip": "asymmetric local information privacy",
    "ldp": "local differential privacy",
    "maximalleakage": "maximal leakage",
    "maximalcostleakage": "maximal cost leakage",
}
#: The largest share of a symbol while others have any: their proportions stay known.
LARGEST_SHARE = 0.999
#: The file that a design is saved in.
FILE = "mechanism.json"
_DECIMALS = 9
_SMALLEST = 10.0**-_DECIMALS


@dataclass(frozen=True)
class OfferedUtility:
    """A utility on offer.

    Attributes
    ----------
    title : its name, and what it rewards
    meaning : what its value is, of a risk what that is
    call : Python that makes it
    is_risk : whether minus its value is shown, a risk, the less the better
    """

    title: str
    meaning: str
    call: str
    is_risk: bool = False


#: Utilities on offer, by the name they have on the command line.
UTILITIES = {
    "hamming": OfferedUtility(
        "Hamming: the output is the symbol",
        "probability that the output is the symbol itself",
        "md.utility.Hamming()",
    ),
    "absolute": OfferedUtility(
        "Absolute error, as a loss",
        "minus the expected absolute error",
        'md.utility.Distance("absolute")',
    ),
    "squared": OfferedUtility(
        "Squared error, as a loss",
        "minus the expected squared error",
        'md.utility.Distance("squared")',
    ),
    "mutual-information": OfferedUtility(
        "Mutual information",
        "nats of mutual information between symbol and output",
        "md.utility.MutualInformation()",
    ),
    "total-variation": OfferedUtility(
        "Total variation",
        "mean total variation between posterior and prior",
        "md.utility.TotalVariation()",
    ),
    "chi-square": OfferedUtility(
        "Chi-square",
        "mean chi-square divergence of the posterior from the prior",
        "md.utility.ChiSquare()",
    ),
    "estimation": OfferedUtility(
        "Estimation: few reports for the frequencies",
        "squared error of estimated frequencies × number of reports",
        "md.utility.Estimation()",
        is_risk=True,
    ),
}


@dataclass(frozen=True)
class NotionSetting:
    """A notion with its levels in nats; ``required`` when the design must satisfy it.

    A notion that is not required is an alternative, drawn for comparison.
    """

    name: str
    levels: tuple[float, ...]
    required: bool = False

    @property
    def notion(self) -> md.PrivacyNotion:
        """The notion at its levels; raises :class:`LevelError` for levels that are none."""
        return md.privacy.NOTIONS[self.name](*self.levels)

    @property
    def title(self) -> str:
        """Name of the notion's class, such as ``PML``."""
        return md.privacy.NOTIONS[self.name].__name__

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the levels, such as ``("epsilon_l", "epsilon_u")``."""
        return md.privacy.NOTIONS[self.name].level_fields


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
    """Everything a visitor has chosen.

    Attributes
    ----------
    names : the symbols as they are written; numbers among them are read as ``parse_labels`` does
    weights : one non-negative number per symbol, proportional to its mass
    notions : the notions looked at, each at most once
    utility : name of one of :data:`UTILITIES`
    source : the column that the prior was counted in, until a mass or a name is changed
    """

    names: tuple[str, ...]
    weights: tuple[float, ...]
    notions: tuple[NotionSetting, ...]
    utility: str = "hamming"
    source: Column | None = None

    @classmethod
    def of_prior(cls, prior: md.Prior, source: Column | None = None) -> Settings:
        """A prior, with PML required and LIP and LDP as alternatives.

        Raises :class:`PriorError` for more symbols than the page has room for.
        """
        notions = (
            NotionSetting("pml", (0.5,), required=True),
            NotionSetting("lip", (0.5,)),
            NotionSetting("ldp", (0.5,)),
        )
        return cls((), (), notions).with_prior(prior, source)

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

    def prior(self) -> md.Prior:
        """The prior; raises :class:`PriorError` for names that are read as one number."""
        return md.Prior.from_counts(self.weights, self.labels)

    def objective(self) -> md.utility.Utility:
        """The utility to be maximised."""
        return read_utility(self.utility, self.prior())

    @property
    def shows_risk(self) -> bool:
        """Whether minus the value of designs is shown."""
        return UTILITIES[self.utility].is_risk

    def shown(self, value: float) -> float:
        """A value of a design as it is shown: the risk where there is one."""
        return 0.0 - value if self.shows_risk else value

    def required_notions(self) -> list[md.PrivacyNotion]:
        """The notions that the design must satisfy; raises :class:`LevelError` for none."""
        required = [chosen.notion for chosen in self.notions if chosen.required]
        if not required:
            raise LevelError(
                "design",
                expected="at least one notion that must hold",
                got="none",
                remedy="tick one of the notions, or add one",
            )
        return required

    def notion(self, name: str) -> NotionSetting:
        """The notion of a name, as it is set."""
        for chosen in self.notions:
            if chosen.name == name:
                return chosen
        raise UnknownNameError("notion on the page", name, [n.name for n in self.notions])

    # Changes of the prior

    def with_prior(self, prior: md.Prior, source: Column | None = None) -> Settings:
        """Another prior. Counts of a column are kept as they are, other masses as floats."""
        if len(prior) > MOST_SYMBOLS:
            raise PriorError(
                "prior of the page",
                expected=f"at most {MOST_SYMBOLS} symbols",
                got=f"{len(prior)}",
                remedy="choose another column, merge symbols, or use 'mechdesign design'",
            )
        names = tuple(label_text(label) for label in prior.labels)
        weights = prior.probabilities.tolist() if source is None else prior.weights
        return replace(self, names=names, weights=tuple(weights), source=source)

    def with_share(self, place: int, share: float) -> Settings:
        """Give a symbol a mass; the others share the rest in the proportions they had.

        The mass is kept at :data:`LARGEST_SHARE` or below while others have any. Where all others
        are at zero they get equal parts of the rest. Raises :class:`PriorError` for a mass that is
        not from 0 to 1.
        """
        if not 0 <= share <= 1:
            raise PriorError(
                "mass of a symbol",
                expected="a number from 0 to 1",
                got=f"{share:g}",
                remedy="write for example 0.25",
            )
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

    def with_new_symbol(self) -> Settings:
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

    def without_symbol(self, place: int) -> Settings:
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

    def with_name(self, place: int, text: str) -> Settings:
        """Another name for a symbol; raises :class:`PriorError` for none, or one that is taken."""
        name = text.strip()
        if name == self.names[place]:
            return self
        if not name or not name.isprintable():  # surrogates, which no file holds, are not printable
            raise PriorError(
                f"name of symbol {place + 1}",
                expected="a name of printable characters" if name else "a name",
                got=repr(name) if name else "empty text",
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

    def with_level(self, name: str, level: float, place: int = 0) -> Settings:
        """Another level for a notion; raises :class:`LevelError` for what is none."""
        chosen = self.notion(name)
        levels = tuple(level if i == place else old for i, old in enumerate(chosen.levels))
        changed = replace(chosen, levels=levels)
        return self._with_notion(replace(changed, levels=changed.notion.levels))

    def with_required(self, name: str, required: bool) -> Settings:
        """Whether the design must satisfy a notion."""
        return self._with_notion(replace(self.notion(name), required=required))

    def _with_notion(self, changed: NotionSetting) -> Settings:
        notions = tuple(changed if n.name == changed.name else n for n in self.notions)
        return replace(self, notions=notions)

    def with_new_notion(self, name: str) -> Settings:
        """One more notion to compare with, at the last level of the first one."""
        left = sorted(set(OFFERED) - {chosen.name for chosen in self.notions})
        if name not in left:
            raise UnknownNameError("notion to add", name, left)
        level = self.notions[0].levels[-1] if self.notions else 0.5
        added = NotionSetting(name, ())
        added = replace(added, levels=(level,) * len(added.fields))
        return replace(self, notions=(*self.notions, added))

    def without_notion(self, name: str) -> Settings:
        """One notion less."""
        return replace(self, notions=tuple(n for n in self.notions if n.name != name))

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
    shown = (text or "").strip().lower()
    try:
        if shown in ("∞", "infinite"):
            return math.inf
        if "_" in shown:
            raise ValueError
        if shown.endswith("%"):
            return float(shown[:-1]) / 100 + 0.0
        above, bar, below = shown.partition("/")
        return (float(above) / float(below) if bar else float(shown)) + 0.0  # -0 is 0
    except (ValueError, ZeroDivisionError):
        raise InputError(
            subject,
            expected="a number",
            got=quote(text) if shown else "empty text",
            remedy="write for example 0.25",
        ) from None


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


# Code that makes the same design


def python_lines(settings: Settings) -> str:
    """A script that designs the same mechanism and saves it."""
    notions = [
        f"md.{chosen.title}({', '.join(map(_python_number, chosen.levels))})"
        for chosen in settings.notions
        if chosen.required
    ]
    privacy = notions[0] if len(notions) == 1 else f"[{', '.join(notions)}]"
    return "\n".join(
        [
            "import mechdesign as md",
            "",
            f"prior = {_prior_call(settings)}",
            f"found = md.design(prior, {UTILITIES[settings.utility].call}, {privacy})",
            f'md.save(found, "{FILE}")',
        ]
    )


def shell_lines(settings: Settings) -> str:
    """A command line that designs the same mechanism and saves it.

    Names that an argument cannot hold (with a comma, say) go by way of a JSON file.
    """
    first = ""
    arguments = ["mechdesign", "design"]
    source = settings.source
    if source is not None:
        arguments += [source.table, "--column", source.column]
        arguments += [] if source.weights is None else ["--weights", source.weights]
        arguments += [] if source.missing == "error" else ["--missing", source.missing]
    elif all("," not in name and name == name.strip() for name in settings.names):
        pairs = zip(settings.names, settings.weights, strict=True)
        arguments += ["--prior", ",".join(f"{name}={mass!r}" for name, mass in pairs)]
    else:
        content = json.dumps(dict(zip(settings.names, settings.weights, strict=True)))
        first = f"printf %s {shlex.quote(content)} > prior.json\n"
        arguments += ["--prior", "prior.json"]
    for notion in settings.required_notions():
        arguments += ["--privacy", notion.spec]
    arguments += ["--utility", settings.utility, "--output", FILE]
    return first + shlex.join(arguments)


def _prior_call(settings: Settings) -> str:
    source = settings.source
    if source is None:
        masses = ", ".join(map(repr, settings.weights))
        return f"md.Prior([{masses}], {settings.labels!r})"
    arguments = [repr(source.table), repr(source.column)]
    arguments += [] if source.weights is None else [f"weights={source.weights!r}"]
    arguments += [] if source.missing == "error" else [f"missing={source.missing!r}"]
    return f"md.Prior.from_csv({', '.join(arguments)})"


def _python_number(level: float) -> str:
    return 'float("inf")' if level == math.inf else repr(level)
