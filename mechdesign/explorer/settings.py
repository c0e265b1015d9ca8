"""What is chosen: a prior, the notions looked at, a utility; and code that makes the same design.

Settings never change; every choice of the visitor makes new ones. Nothing here computes a design.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from urllib.parse import urlencode

import mechdesign as md

from ..arguments import read_utility
from ..errors import (
    InputError,
    LevelError,
    MechdesignError,
    PriorError,
    UnknownNameError,
    quote,
)
from ..exact import read_fraction
from ..labels import Label, label_text, parse_labels
from ..tables import csv_text
from .questions import Asked

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
# The file that a joint table is written to, whose masses are in no file.
_TABLE = "prior.csv"
_DECIMALS = 9
_FIRST_UTILITY = "estimation"
# Notions that are drawn for comparison, where they are not asked for.
_ALTERNATIVES = ("pml", "lip", "ldp")
_FREQUENCIES = Asked()
# Characters that the address of the page may carry: browsers and servers take more.
_LONGEST_QUERY = 8000
_SMALLEST = 10.0**-_DECIMALS


@dataclass(frozen=True)
class OfferedUtility:
    """A utility on offer.

    Attributes
    ----------
    title : its name, and what it rewards
    meaning : what its value is, of a risk what that is; ``{question}`` stands for what is asked
    call : Python that makes it; of an estimation what nothing else is asked of
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
        "Estimation: few reports for what is asked",
        "squared error of {question} × number of reports",
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

    @classmethod
    def of(cls, notion: md.PrivacyNotion) -> NotionSetting:
        """A notion as one that is required; raises :class:`UnknownNameError` for one that is not on
        offer.
        """
        name = type(notion).__name__.lower()
        if name not in OFFERED:
            raise UnknownNameError("notion of the page", name, OFFERED)
        fields = type(notion).level_fields
        return cls(name, tuple(float(getattr(notion, f)) for f in fields), required=True)

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
    """The column of a table that a prior was counted in, or several of them together."""

    table: str
    column: str | tuple[str, ...]
    weights: str | None = None
    missing: str = "error"
    sep: str | None = None
    encoding: str | None = None

    @property
    def options(self) -> dict[str, str]:
        """What is said of how the table is read, by the names of options."""
        given = {"weights": self.weights, "sep": self.sep, "encoding": self.encoding}
        given["missing"] = None if self.missing == "error" else self.missing
        return {name: value for name, value in given.items() if value is not None}

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return (self.column,) if isinstance(self.column, str) else self.column

    def __str__(self) -> str:
        return f"{self.table}: {', '.join(self.columns)}"


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
    joined : names of the columns of a joint table, whose symbols combine their values
    symbols : these combinations, in the order of the names; nothing where names are all there is
    asked : what an estimation estimates, and at which distribution its errors count
    """

    names: tuple[str, ...]
    weights: tuple[float, ...]
    notions: tuple[NotionSetting, ...]
    utility: str = _FIRST_UTILITY
    source: Column | None = None
    joined: tuple[str, ...] = ()
    symbols: tuple[Label, ...] = ()
    asked: Asked = _FREQUENCIES

    @classmethod
    def of_prior(
        cls,
        prior: md.Prior,
        source: Column | None = None,
        notions: Sequence[md.PrivacyNotion] = (),
        utility: str = _FIRST_UTILITY,
    ) -> Settings:
        """A prior, with these notions required, LDP(1) if none, and others at that level beside.

        Raises :class:`PriorError` for more symbols than the page has room for, and
        :class:`UnknownNameError` for a notion or a utility that it does not offer.
        """
        asked = [NotionSetting.of(notion) for notion in notions or (md.LDP(1),)]
        names = {one.name for one in asked}
        level = asked[0].levels[0]
        beside = [NotionSetting(name, (level,)) for name in _ALTERNATIVES if name not in names]
        made = cls((), (), (*asked, *beside)).with_utility(utility)
        return made.with_prior(prior, source)

    # What it means

    @property
    def labels(self) -> list[Label]:
        """The labels that the names are read as, or the combinations that they stand for."""
        return list(self.symbols) if self.symbols else parse_labels(self.names)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the symbols are made of, where they are known."""
        return self.joined or (() if self.source is None else self.source.columns)

    @property
    def shares(self) -> tuple[float, ...]:
        """The mass of each symbol."""
        total = math.fsum(self.weights)
        return tuple(weight / total for weight in self.weights)

    def prior(self) -> md.Prior:
        """The prior, of the masses as they are written: 0.1 is a tenth, as on the command line.

        Raises :class:`PriorError` for names that are read as one number.
        """
        found = md.Prior.from_counts(list(map(_exact, self.weights)), self.labels)
        return found.with_schema(self.columns or None)

    def objective(self) -> md.utility.Utility:
        """The utility to be maximised."""
        prior = self.prior()
        return self.asked.goal(prior) if self.shows_risk else read_utility(self.utility, prior)

    @property
    def question(self) -> str:
        """What is estimated, in words; nothing for other utilities."""
        return self.asked.question(self.prior()) if self.shows_risk else ""

    @property
    def meaning(self) -> str:
        """What the value that is shown is."""
        return UTILITIES[self.utility].meaning.replace("{question}", self.question)

    @property
    def error(self) -> float:
        """The error of what is estimated that reports are counted for."""
        return self.asked.error(self.prior())

    @property
    def goal(self) -> tuple[str, Asked | None]:
        """The utility with what is asked: settings where it is equal have the same objective."""
        return self.utility, self.asked if self.shows_risk else None

    @property
    def shows_risk(self) -> bool:
        """Whether minus the value of designs is shown, the risk of what is asked."""
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
        schema = prior.schema
        is_joint = schema is not None and len(schema) > 1 and schema.places is None
        changed = replace(
            self,
            names=names,
            weights=tuple(weights),
            source=source,
            joined=schema.names if schema is not None and is_joint else (),
            symbols=prior.labels if is_joint else (),
        )
        return self._asking_still(changed)

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
        return self._asking_still(self._weighed(scaled))

    def with_weights(self, weights: Sequence[float]) -> Settings:
        """Other masses, proportional to these."""
        return self._asking_still(replace(self, weights=tuple(weights), source=None))

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
        changed = replace(self, names=names, joined=(), symbols=())
        return self._asking_still(changed._weighed([*shares, 1 / (count + 1)]), {})

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
        symbols = tuple(symbol for i, symbol in enumerate(self.symbols) if i != place)
        changed = replace(self, names=names, symbols=symbols)
        weights = kept if any(kept) else [1.0] * len(kept)
        return self._asking_still(changed._weighed(weights), {})

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
        changed = replace(self, names=names, joined=(), symbols=())._weighed(self.shares)
        changed.prior()  # refuses a name that is taken
        return self._asking_still(changed, {self.names[place]: name})

    def uniform(self) -> Settings:
        """Equal masses."""
        return self.with_weights([1 / len(self.names)] * len(self.names))

    def zipf(self) -> Settings:
        """Masses proportional to 1, 1/2, 1/3 and so on."""
        weights = [1 / (i + 1) for i in range(len(self.names))]
        return self._asking_still(self._weighed(weights))

    def _asking_still(
        self, changed: Settings, renamed: Mapping[str, str] | None = None
    ) -> Settings:
        """Settings that came of these, with what can still be asked: see :meth:`Asked.carried`."""
        is_same = (changed.names, changed.columns) == (self.names, self.columns)
        if is_same or not self.asked.options:
            return changed
        asked = self.asked.carried(self.prior(), changed.prior(), changed.names, renamed)
        return replace(changed, asked=asked)

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

    def with_asked(self, asked: Asked) -> Settings:
        """Something else to estimate; raises :class:`MechdesignError` for what cannot be asked."""
        asked.check(self.prior())
        return replace(self, asked=asked)

    # The address of the page

    @property
    def query(self) -> str:
        """What the address of the page carries: the utility, and what is asked of an estimation.

        Nothing for texts too long for an address. Masses are not in it: browsers keep addresses,
        and masses may be counts of people.
        """
        found = urlencode(
            {"utility": self.utility, **(self.asked.options if self.shows_risk else {})}
        )
        return found if len(found) <= _LONGEST_QUERY else ""

    def with_query(self, query: Mapping[str, str]) -> Settings:
        """What an address carries; raises :class:`MechdesignError` for what cannot be asked."""
        found = self.with_utility(query["utility"]) if "utility" in query else self
        asked = Asked.of_options(query)
        if not asked.options:
            return found
        if not found.shows_risk:
            raise InputError(
                "address of the page",
                expected="utility=estimation with of, of-weights and truth, which belong to it",
                got=f"utility={found.utility}",
                remedy="correct the address, or choose on the page",
            )
        return found.with_asked(asked)


def message(problem: MechdesignError) -> str:
    """An error as the page shows it: with its code, which ``mechdesign doctor`` explains."""
    return f"{problem} [{problem.code}]"


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
    utility, known = UTILITIES[settings.utility].call, settings.prior()
    if settings.shows_risk:
        utility = settings.asked.python(known)
    prior = _prior_call(settings)
    has_fractions = settings.source is None and not all(map(_is_float, settings.weights))
    has_fractions = has_fractions or (settings.shows_risk and settings.asked.has_fractions(known))
    return "\n".join(
        [
            *(["from fractions import Fraction", ""] if has_fractions else []),
            "import mechdesign as md",
            "",
            f"prior = {prior}",
            f"found = md.design(prior, {utility}, {privacy})",
            f'md.save(found, "{FILE}")',
        ]
    )


def shell_lines(settings: Settings) -> str:
    """A command line that designs the same mechanism and saves it.

    A joint table whose masses are no longer those of a file is written to one first.
    """
    first = ""
    arguments = ["mechdesign", "design"]
    source = settings.source
    if source is None and settings.joined:
        first, source = _table_lines(settings)
    if source is not None:
        arguments.append(source.table)
        arguments += [text for column in source.columns for text in ("--column", column)]
        for name, text in source.options.items():
            arguments += [f"--{name}", text]
    else:
        arguments += ["--prior", _masses_text(settings)]
    for notion in settings.required_notions():
        arguments += ["--privacy", notion.spec]
    arguments += ["--utility", settings.utility]
    for name, text in settings.asked.options.items() if settings.shows_risk else ():
        arguments += [f"--{name}", text]
    return first + shlex.join([*arguments, "--output", FILE])


def _masses_text(settings: Settings) -> str:
    """The masses as the command line takes them; as JSON where names hold what separates them."""
    pairs = dict(zip(settings.names, settings.weights, strict=True))
    if all("," not in name and name == name.strip() for name in pairs):
        return ",".join(f"{name}={mass!r}" for name, mass in pairs.items())
    return json.dumps(pairs, ensure_ascii=False)


def _table_lines(settings: Settings) -> tuple[str, Column]:
    """A line that writes the masses of a joint table, and the columns to read them from.

    As whole numbers, which are exact: decimals in a file are not the floats of the page.
    """
    mass = "mass"
    while mass in settings.joined:
        mass += "_"
    pairs = zip(settings.symbols, settings.prior().weights, strict=True)
    rows = csv_text([[*settings.joined, mass], *([*symbol, weight] for symbol, weight in pairs)])
    blank = any(part is None for symbol in settings.symbols for part in symbol)
    missing = "category" if blank else "error"
    text = shlex.join(["printf", "%s\\n", *rows.split("\n")[:-1]])
    return f"{text} > {_TABLE}\n", Column(_TABLE, settings.joined, mass, missing)


def _prior_call(settings: Settings) -> str:
    source = settings.source
    if source is None:
        masses = ", ".join(
            repr(mass) if _is_float(mass) else f"Fraction({str(mass)!r})"
            for mass in settings.weights
        )
        found = f"md.Prior([{masses}], {settings.labels!r})"
        return found + (f".with_schema({list(settings.joined)!r})" if settings.joined else "")
    column = source.column if isinstance(source.column, str) else list(source.column)
    arguments = [repr(source.table), repr(column)]
    arguments += [f"{name}={value!r}" for name, value in source.options.items()]
    return f"md.Prior.from_csv({', '.join(arguments)})"


def _exact(mass: float) -> Fraction:
    """A mass as it is written."""
    return read_fraction(str(mass))


def _is_float(mass: float) -> bool:
    """Whether a mass as it is written is what its float stands for."""
    return _exact(mass) == Fraction(mass)


def _python_number(level: float) -> str:
    return 'float("inf")' if level == math.inf else repr(level)
