"""What a guarantee implies: published conversions, chained until nothing improves."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import LevelError, NoGuaranteeWarning, UnknownNameError, warn
from ..exact import float_at_least, level_bounds, rounded_up
from ..prior import Prior
from ..privacy.notion import NOTIONS, LikelihoodBound, PrivacyNotion, as_notions
from .rules import QUANTITIES, RULES, Level, Levels, Refused, Rule, Setting, level_count
from .tight import known_levels, tight_conversion

_GIVEN = "given"
# The published conversions settle within a few rounds; two that contradict each other never do.
_MOST_ROUNDS = 20


@dataclass(frozen=True)
class Step:
    """One link of a derivation.

    Attributes
    ----------
    id : identifier of the result, see :func:`mechdesign.theory.find_theorem`
    source : key into ``references.bib``; empty for results derived in this project
    premises : what it starts from, such as ``("PML(0.05)",)``
    conclusion : what follows, such as ``"PMC(0.0782)"``
    """

    id: str
    source: str
    premises: tuple[str, ...]
    conclusion: str

    def __str__(self) -> str:
        start = " and ".join(self.premises) or "always"
        cited = f"{self.id}, {self.source}" if self.source else self.id
        return f"{start} ⇒ {self.conclusion} [{cited}]"


@dataclass(frozen=True)
class Implication:
    """What is known about one quantity.

    Attributes
    ----------
    name : of the notion or quantity, such as ``"LDP"`` or ``"MIPrivacy"``
    levels : in nats, rounded up; ``inf`` where nothing finite follows
    derivation : the steps that lead there, in order; empty for what was given
    reason : why a level is infinite; empty when none is
    """

    name: str
    levels: tuple[float, ...]
    derivation: tuple[Step, ...]
    reason: str

    @property
    def notion(self) -> PrivacyNotion | None:
        """The implied notion; ``None`` for a quantity that is no registered notion."""
        cls = NOTIONS.get(self.name.lower())
        if cls is None or cls.needs or len(cls.level_fields) != len(self.levels):
            return None
        return cls.at(*self.levels)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(rounded_up(level, 6) for level in self.levels)})"


@dataclass(frozen=True)
class Implications(Mapping[Any, Implication]):
    """Everything that follows, by name or by class of notion.

    Attributes
    ----------
    given : the notions that hold
    prior : the prior of the secret
    found : one :class:`Implication` per quantity
    """

    given: tuple[PrivacyNotion, ...]
    prior: Prior
    found: tuple[Implication, ...]

    def __getitem__(self, key: Any) -> Implication:
        name = key.__name__ if inspect.isclass(key) else str(key)
        for entry in self.found:
            if entry.name.lower() == name.lower():
                return entry
        raise UnknownNameError("implied quantity", name, (entry.name for entry in self.found))

    def __contains__(self, key: object) -> bool:
        name = key.__name__ if inspect.isclass(key) else str(key)
        return any(entry.name.lower() == name.lower() for entry in self.found)

    def __iter__(self) -> Iterator[str]:
        return (entry.name for entry in self.found)

    def __len__(self) -> int:
        return len(self.found)

    def __str__(self) -> str:
        lines = [", ".join(map(str, self.given)) + " implies"]
        for entry in self.found:
            lines.append(f"  {entry}" + (f"  ({entry.reason})" if entry.reason else ""))
            lines += [f"      {step}" for step in entry.derivation]
        return "\n".join(lines)


@dataclass(frozen=True)
class _Derived:
    """A quantity, its exact levels, the rule that gave them, and what that rule started from."""

    name: str
    levels: Levels
    rule: str
    source: str
    premises: tuple[_Derived, ...]

    def __str__(self) -> str:
        shown = ", ".join(rounded_up(_float(level), 6) for level in self.levels)
        return f"{QUANTITIES.get(self.name, self.name)}({shown})"

    @property
    def is_from_given(self) -> bool:
        """Whether it rests on what was given, and not only on what always holds."""
        return self.rule == _GIVEN or any(premise.is_from_given for premise in self.premises)

    def steps(self) -> Iterator[Step]:
        """The steps that lead here, premises first, each once."""
        met: dict[Step, None] = {}
        for premise in self.premises:
            met.update(dict.fromkeys(premise.steps()))
        if self.rule != _GIVEN:
            starts = tuple(map(str, self.premises))
            met[Step(self.rule, self.source, starts, str(self))] = None
        return iter(met)


def implications(privacy: Any, prior: Prior) -> Implications:
    """Everything that published results say follows from a guarantee.

    The conversions are chained until no level improves. Levels are rounded up, so each implied
    guarantee holds; ``tight_conversion`` says how much smaller it could be.

    Parameters
    ----------
    privacy : a notion, or a list of notions that all hold
    prior : prior of the secret

    Raises
    ------
    LevelError
        For anything else than notions and a prior.

    Notes
    -----
    Sources: [GrosseID] Section III, [SaeidianPMC] Section V, [Jiang2020], [Zarrabian2023]; each
    step of a derivation names its own.

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior([.5, .3, .2])
    >>> found = implications(md.PML(.1), prior)
    >>> print(found[md.LDP])
    LDP(0.645907)
    >>> [step.id for step in found[md.LDP].derivation]
    ['ID-Cor-3']
    >>> print(implications(md.PML(.3), prior)[md.LDP].reason)
    ID-Cor-3: ε_u = 0.3 is not below log 1/(1−pmin) = 0.223144 (pmin = 0.2), so an outcome may
    rule a symbol out
    """
    given = as_notions(privacy)
    setting = Setting(prior)
    derived: dict[str, _Derived] = {}
    for notion in given:
        name = type(notion).__name__.lower()
        if NOTIONS.get(name) is type(notion) and name in QUANTITIES:
            exact = tuple(None if v == math.inf else level_bounds(v)[1] for v in notion.levels)
            _learn(derived, _Derived(name, exact, _GIVEN, "", ()))
    refusals = _chain(derived, setting, frozenset(derived))
    asked = known_levels(given)
    found = []
    for name, shown in QUANTITIES.items():
        entry = derived.get(name)
        levels = (None,) * level_count(name) if entry is None else entry.levels
        reason = ""
        if None in levels:
            reason = "; ".join(refusals.get(name, ())) or _no_way(given, shown)
        derivation = () if entry is None else tuple(entry.steps())
        told = tuple(asked.get(level, _float(level)) for level in levels)
        found.append(Implication(shown, told, derivation, reason))
    return Implications(given, prior, tuple(found))


def convert(privacy: Any, to: Any, prior: Prior, tight: bool = False) -> PrivacyNotion:
    """The best guarantee of another kind that follows from one that holds.

    Parameters
    ----------
    privacy : a notion, or a list of notions that all hold
    to : class of the wanted notion (or an instance, for what it needs beside levels)
    prior : prior of the secret
    tight : find the smallest level that always holds by optimisation, in place of the published
        conversions; for notions of the likelihood family. See
        :func:`mechdesign.theory.tight_conversion` for the witness.

    Returns
    -------
    PrivacyNotion
        The wanted notion, its level rounded up; at level ``inf``, with a
        :class:`NoGuaranteeWarning` that says why, where nothing follows.

    Raises
    ------
    LevelError
        For what is no notion, or a target that published results do not speak of.

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior([.5, .5])
    >>> convert(md.PML(.1), to=md.LIP, prior=prior)
    LIP(epsilon=0.11112...)
    >>> convert(md.LIP(1.0), to=md.LDP, prior=prior)
    LDP(epsilon=1.48988...)
    >>> convert(md.LIP(1.0), to=md.LDP, prior=md.Prior([.4, .3, .3]))
    LDP(epsilon=1.90621...)
    """
    if tight:
        found = tight_conversion(privacy, to, prior)
        result: PrivacyNotion = found.target
        reason = found.reason
    else:
        given = as_notions(privacy)
        cls = to if inspect.isclass(to) else type(to)
        name = cls.__name__.lower()
        if not issubclass(cls, PrivacyNotion) or NOTIONS.get(name) is not cls:
            raise LevelError(
                "target of a conversion",
                expected="a privacy notion such as md.LDP",
                got=cls.__name__,
                remedy="name its class",
            )
        if name not in QUANTITIES:
            also = ", or pass tight=True" if issubclass(cls, LikelihoodBound) else ""
            raise LevelError(
                "target of a conversion",
                expected="one of " + ", ".join(n for k, n in QUANTITIES.items() if k in NOTIONS),
                got=cls.__name__,
                remedy="no published conversion leads there; choose another" + also,
            )
        entry = implications(given, prior)[cls]
        result, reason = cls.at(*entry.levels), entry.reason
    if reason:
        source = ", ".join(map(str, as_notions(privacy)))
        warn(f"{source} gives {result}: {reason}", NoGuaranteeWarning)
    return result


def _chain(
    derived: dict[str, _Derived], setting: Setting, given: frozenset[str]
) -> dict[str, list[str]]:
    """Apply the rules until nothing improves; what each refused conclusion was refused for.

    That a rule cannot start from what holds for every mechanism is not reported as a reason.
    """
    refusals: dict[str, list[str]] = {}
    for _ in range(_MOST_ROUNDS):
        improved = False
        refusals.clear()
        for rule in RULES.values():
            if not all(name in derived for name in rule.premises):
                continue
            premises = tuple(derived[name] for name in rule.premises)
            try:
                levels = rule.apply(setting, *(entry.levels for entry in premises))
            except Refused as refusal:
                if not any(entry.name in given or entry.is_from_given for entry in premises):
                    continue
                refusals.setdefault(rule.conclusion, []).append(f"{rule.id}: {refusal}")
                continue
            if any(level is not None for level in levels):
                entry = _Derived(rule.conclusion, levels, rule.id, rule.source, premises)
                improved |= _learn(derived, entry)
        if not improved:
            return refusals
    raise LevelError(
        "conversions",
        expected="levels that settle",
        got=f"smaller ones in each of {_MOST_ROUNDS} rounds",
        remedy="one of your own gives less than it may; mechdesign research theorems tests it",
    )


def _learn(derived: dict[str, _Derived], entry: _Derived) -> bool:
    """Keep levels that improve on what is known.

    Where two entries on ALIP cross, the new one counts by what it says of PMC and of PML; joining
    those is a rule of its own. Of another quantity with several levels the first one is kept.
    """
    known = derived.get(entry.name)
    if known is None:
        derived[entry.name] = entry
        return True
    best = tuple(_least(a, b) for a, b in zip(known.levels, entry.levels, strict=True))
    if best == known.levels:
        return False
    if best == entry.levels:
        derived[entry.name] = entry
        return True
    if entry.name != "alip":
        return False
    low, high = entry.levels
    parts = (
        _Derived("pmc", (low,), "PMC-Def-5.2", "SaeidianPMC", (entry,)),
        _Derived("pml", (high,), "PMC-Def-5.1", "SaeidianPMC", (entry,)),
    )
    improved = [_learn(derived, part) for part in parts if None not in part.levels]
    return any(improved)


def _least(a: Level, b: Level) -> Level:
    return b if a is None else a if b is None else min(a, b)


def _float(level: Level) -> float:
    return math.inf if level is None else float_at_least(level)


def _no_way(given: tuple[PrivacyNotion, ...], wanted: str) -> str:
    reason = f"no published result leads from {', '.join(map(str, given))} to {wanted}"
    family = (*map(type, given), NOTIONS.get(wanted.lower(), PrivacyNotion))
    if all(issubclass(cls, LikelihoodBound) for cls in family):
        reason += "; a tight conversion decides it"
    return reason


def family_rules() -> tuple[Rule, ...]:
    """The conversions from one notion of the likelihood family to another."""
    family = {k for k, cls in NOTIONS.items() if issubclass(cls, LikelihoodBound)}
    return tuple(
        rule
        for rule in RULES.values()
        if len(rule.premises) == 1 and {rule.premises[0], rule.conclusion} <= family
    )
