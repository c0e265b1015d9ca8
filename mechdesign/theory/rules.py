"""Published conversions between guarantees: their formulas, and one rule each.

With l = e^-ε_l, h = e^ε_u and pmin the smallest positive mass::

    ε_l*(ε_u) = log[pmin / (1 − h (1−pmin))]     for ε_u < log 1/(1−pmin)
    ε_u*(ε_l) = log[(1 − l (1−pmin)) / pmin]

Levels are rationals, ``None`` for an infinite one. Exponentials and logarithms are enclosed by
rationals and taken on the safe side, so a converted level truly holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ..errors import LevelError, MechdesignError, quote
from ..exact import LARGEST_LEVEL, exp_bounds, log_bounds
from ..prior import Prior
from ..privacy.notion import NOTIONS

Level = Fraction | None


Levels = tuple[Level, ...]


def check_prior(prior: Any) -> None:
    """Raise a :class:`LevelError` for anything else than a prior."""
    if not isinstance(prior, Prior):
        raise LevelError(
            "prior of a conversion",
            expected="a Prior",
            got=type(prior).__name__,
            remedy="wrap it: md.Prior(probabilities)",
        )


class Refused(MechdesignError):  # noqa: N818
    """A rule does not apply; the message says why. Whoever applies a rule catches it."""


@dataclass(frozen=True)
class Setting:
    """What the rules need to know of a prior; anything else is a :class:`LevelError`."""

    prior: Prior

    def __post_init__(self) -> None:
        check_prior(self.prior)

    @cached_property
    def pmin(self) -> Fraction:
        """Smallest positive mass, exact."""
        return Fraction(min(w for w in self.prior.weights if w), self.prior.total)

    @cached_property
    def size(self) -> int:
        """Number of symbols of positive mass."""
        return len(self.prior.support)

    @cached_property
    def entropy(self) -> Fraction:
        """An upper bound on the Shannon entropy."""
        masses = (self.prior.mass(int(x)) for x in self.prior.support)
        return sum((p * log_bounds(1 / p)[1] for p in masses), Fraction(0))

    def need_full_support(self) -> None:
        """Refuse LDP, which compares all symbols, where the prior does not see some of them."""
        if not self.prior.has_full_support:
            raise Refused(
                f"{len(self.prior) - self.size} symbols have zero mass, which LDP compares and "
                "the prior does not see"
            )


def lower_star(setting: Setting, u: Level) -> Level:
    """ε_l*(ε_u), rounded up; raises :class:`Refused` outside the high-privacy regime."""
    p = setting.pmin
    if p == 1:
        return Fraction(0)
    limit = log_bounds(1 / (1 - p))[0]
    rest = Fraction(0) if u is None or u >= limit else 1 - exp_above(u) * (1 - p)
    if rest <= 0:
        shown = "infinite" if u is None else f"{float(u):.6g}"
        raise Refused(
            f"ε_u = {shown} is not below log 1/(1−pmin) = {float(limit):.6g} (pmin = "
            f"{float(p):.6g}), so an outcome may rule a symbol out"
        )
    return log_above(p / rest)


def upper_star(setting: Setting, low: Level) -> Level:
    """ε_u*(ε_l), rounded up; −log pmin for an infinite level."""
    p = setting.pmin
    least = Fraction(0) if low is None else 1 / exp_above(low)
    return log_above((1 - least * (1 - p)) / p)


def ldp_lower(setting: Setting, level: Level) -> Level:
    """ε₁ = log(pmin + e^ε (1−pmin)), rounded up."""
    return (
        None if level is None else log_above(setting.pmin + exp_above(level) * (1 - setting.pmin))
    )


def ldp_upper(setting: Setting, level: Level) -> Level:
    """ε₂ = −log(pmin + e^-ε (1−pmin)), rounded up."""
    least = Fraction(0) if level is None else 1 / exp_above(level)
    return log_above(1 / (setting.pmin + least * (1 - setting.pmin)))


def information_bound(low: Level, high: Level) -> Level:
    """C(l, h) = [(h−1) l log l + (1−l) h log h]/(h−l), rounded up; ε·tanh(ε/2) when symmetric."""
    if low == 0 or high == 0:
        return Fraction(0)
    if high is None or low is None or max(low, high) > LARGEST_LEVEL:
        return high
    l_hi, l_lo = (1 / v for v in exp_bounds(low))
    h_lo, h_hi = exp_bounds(high)
    top = (1 - l_lo) * h_hi * high - (h_lo - 1) * l_lo * low
    return min(high, top / (h_lo - l_hi))


def ldp_information(level: Level) -> Level:
    """sεE/Z − log Z with E = e^ε, s = (εE−E+1)/(E−1)², Z = 1+s(E−1), rounded up."""
    if level is None or level == 0 or level > LARGEST_LEVEL:
        return level
    low, high = exp_bounds(level)
    s_lo = (level * low - high + 1) / (high - 1) ** 2
    s_hi = (level * high - low + 1) / (low - 1) ** 2
    z_lo = 1 + s_lo * (low - 1)
    return min(level, s_hi * high * level / z_lo - log_bounds(z_lo)[0])


def exp_above(level: Fraction) -> Fraction:
    """A rational at or above e^level; raises :class:`Refused` for levels beyond the largest."""
    if level > LARGEST_LEVEL:
        raise Refused(f"levels above {LARGEST_LEVEL} nats are not turned into numbers")
    return exp_bounds(level)[1]


def log_above(ratio: Fraction) -> Fraction:
    """A rational at or above log(ratio), and at least 0."""
    return max(Fraction(0), log_bounds(ratio)[1])


def total(a: Level, b: Level) -> Level:
    """The sum of two levels."""
    return None if a is None or b is None else a + b


def largest(a: Level, b: Level) -> Level:
    """The larger of two levels."""
    return None if a is None or b is None else max(a, b)


#: Names of what is bounded, as a reader knows them. Notions among them have these class names.
QUANTITIES = {
    "pml": "PML",
    "pmc": "PMC",
    "lip": "LIP",
    "alip": "ALIP",
    "ldp": "LDP",
    "freelunch": "FreeLunch",
    "maximalleakage": "MaximalLeakage",
    "maximalcostleakage": "MaximalCostLeakage",
    "miprivacy": "MIPrivacy",
}
#: Those that the papers speak of; conversions of one's own add others.
PUBLISHED_QUANTITIES = frozenset(QUANTITIES)


@dataclass(frozen=True)
class Rule:
    """One conversion.

    Attributes
    ----------
    id : the result that proves it, an identifier of the register
    source : key into ``references.bib``; empty for results derived in this project
    premises : names of what must be bounded (keys of :data:`QUANTITIES`)
    conclusion : name of what is bounded then
    apply : from the setting and the levels of each premise to the levels of the conclusion
    statement : as a sentence
    conditions : when it applies
    tight : whether some mechanism attains it, for every prior and level within the conditions
    also : identifiers under which the same conversion is stated elsewhere
    """

    id: str
    source: str
    premises: tuple[str, ...]
    conclusion: str
    apply: Callable[..., Levels]
    statement: str
    conditions: str = "finite alphabets"
    tight: bool = False
    also: tuple[str, ...] = ()


def _pml_alip(s: Setting, u: Levels) -> Levels:
    return lower_star(s, u[0]), u[0]


def _pmc_alip(s: Setting, low: Levels) -> Levels:
    return low[0], upper_star(s, low[0])


def _pml_ldp(s: Setting, u: Levels) -> Levels:
    s.need_full_support()
    return (total(*_pml_alip(s, u)),)


def _pmc_ldp(s: Setting, low: Levels) -> Levels:
    s.need_full_support()
    return (total(*_pmc_alip(s, low)),)


def _alip_ldp(s: Setting, a: Levels) -> Levels:
    s.need_full_support()
    return (total(*a),)


def _ldp_leakage(s: Setting, e: Levels) -> Levels:
    least = Fraction(0) if e[0] is None else 1 / exp_above(e[0])
    return (log_above(s.size / (1 + (s.size - 1) * least)),)


def _ldp_cost(s: Setting, e: Levels) -> Levels:
    return (None if e[0] is None else log_above((1 + (s.size - 1) * exp_above(e[0])) / s.size),)


_HIGH = "finite alphabets, ε_u < log 1/(1−pmin)"


_LDP = "finite alphabets, every symbol of positive mass"


_PUBLISHED: tuple[Rule, ...] = (
    Rule(
        "PMC-Def-4",
        "SaeidianPMC",
        ("lip",),
        "alip",
        lambda s, e: (e[0], e[0]),
        "ε-LIP bounds the information density by ε on both sides: it is (ε, ε)-ALIP.",
        also=("ID-Def-1",),
    ),
    Rule(
        "PMC-Def-5.1",
        "SaeidianPMC",
        ("alip",),
        "pml",
        lambda s, a: (a[1],),
        "(ε_l, ε_u)-ALIP is ε_u-PML, because PML is the largest information density.",
        also=("ID-Thm-1",),
    ),
    Rule(
        "PMC-Def-5.2",
        "SaeidianPMC",
        ("alip",),
        "pmc",
        lambda s, a: (a[0],),
        "(ε_l, ε_u)-ALIP is ε_l-PMC, because PMC is minus the smallest information density.",
        also=("ID-Thm-2",),
    ),
    Rule(
        "PMC-Def-5.3",
        "SaeidianPMC",
        ("pmc", "pml"),
        "alip",
        lambda s, low, u: (low[0], u[0]),
        "ε_l-PMC and ε_u-PML together are (ε_l, ε_u)-ALIP.",
    ),
    Rule(
        "PMC-Def-4.2",
        "SaeidianPMC",
        ("alip",),
        "lip",
        lambda s, a: (largest(*a),),
        "(ε_l, ε_u)-ALIP is max{ε_l, ε_u}-LIP.",
        also=("ID-Def-2",),
    ),
    Rule(
        "PMC-Thm-4.1",
        "SaeidianPMC",
        ("pml",),
        "pmc",
        lambda s, u: (lower_star(s, u[0]),),
        "ε_u-PML in the high-privacy regime implies ε_l*(ε_u)-PMC.",
        _HIGH,
        tight=True,
        also=("ID-Prop-1",),
    ),
    Rule(
        "PMC-Thm-4.2",
        "SaeidianPMC",
        ("pmc",),
        "pml",
        lambda s, low: (upper_star(s, low[0]),),
        "ε_l-PMC implies ε_u*(ε_l)-PML.",
        tight=True,
        also=("ID-Prop-2",),
    ),
    Rule(
        "ID-Cor-1",
        "GrosseID",
        ("pml",),
        "alip",
        _pml_alip,
        "ε-PML in the high-privacy regime implies (ε_l*(ε), ε)-ALIP.",
        _HIGH,
        tight=True,
        also=("PMC-Cor-3.1a",),
    ),
    Rule(
        "ID-Cor-2",
        "GrosseID",
        ("pml",),
        "lip",
        lambda s, u: (largest(*_pml_alip(s, u)),),
        "ε-PML in the high-privacy regime implies ε_l*(ε)-LIP.",
        _HIGH,
        tight=True,
        also=("PMC-Cor-3.1b",),
    ),
    Rule(
        "ID-Cor-3",
        "GrosseID",
        ("pml",),
        "ldp",
        _pml_ldp,
        "ε-PML in the high-privacy regime implies (ε_l*(ε) + ε)-LDP.",
        _HIGH + ", every symbol of positive mass",
        tight=True,
        also=("PMC-Cor-3.1c",),
    ),
    Rule(
        "PMC-Cor-3.2a",
        "SaeidianPMC",
        ("pmc",),
        "alip",
        _pmc_alip,
        "ε_l-PMC implies (ε_l, ε_u*(ε_l))-ALIP.",
        tight=True,
    ),
    Rule(
        "PMC-Cor-3.2b",
        "SaeidianPMC",
        ("pmc",),
        "lip",
        lambda s, low: (largest(*_pmc_alip(s, low)),),
        "ε_l-PMC implies max{ε_l, ε_u*(ε_l)}-LIP.",
        tight=True,
    ),
    Rule(
        "PMC-Cor-3.2c",
        "SaeidianPMC",
        ("pmc",),
        "ldp",
        _pmc_ldp,
        "ε_l-PMC implies (ε_l + ε_u*(ε_l))-LDP.",
        _LDP,
        tight=True,
    ),
    Rule(
        "PMC-Prop-1a",
        "SaeidianPMC",
        ("ldp",),
        "lip",
        lambda s, e: (largest(ldp_lower(s, e[0]), ldp_upper(s, e[0])),),
        "ε-LDP implies ε₁-LIP with ε₁ = log(pmin + e^ε (1−pmin)).",
        tight=True,
    ),
    Rule(
        "PMC-Prop-1b",
        "SaeidianPMC",
        ("ldp",),
        "alip",
        lambda s, e: (ldp_lower(s, e[0]), ldp_upper(s, e[0])),
        "ε-LDP implies (ε₁, ε₂)-ALIP with ε₂ = −log(pmin + e^-ε (1−pmin)).",
        tight=True,
    ),
    Rule(
        "PMC-Prop-1c",
        "SaeidianPMC",
        ("ldp",),
        "pml",
        lambda s, e: (ldp_upper(s, e[0]),),
        "ε-LDP implies ε₂-PML with ε₂ = −log(pmin + e^-ε (1−pmin)).",
        tight=True,
    ),
    Rule(
        "PMC-Prop-3",
        "SaeidianPMC",
        ("ldp",),
        "pmc",
        lambda s, e: (ldp_lower(s, e[0]),),
        "ε-LDP implies ε'-PMC with ε' = log(e^ε − pmin (e^ε − 1)).",
        tight=True,
    ),
    Rule(
        "PML-Def-4.4a",
        "SaeidianDisclosure",
        ("freelunch",),
        "ldp",
        lambda s, e: (e[0],),
        "ε-free-lunch privacy compares every two databases: with the database as the secret it is "
        "ε-LDP.",
        tight=True,
    ),
    Rule(
        "PML-Def-4.4b",
        "SaeidianDisclosure",
        ("ldp",),
        "freelunch",
        lambda s, e: (e[0],),
        "ε-LDP of a database is ε-free-lunch privacy.",
        tight=True,
    ),
    Rule(
        "ID-Sec-3C.1",
        "Jiang2020",
        ("lip",),
        "ldp",
        lambda s, e: _alip_ldp(s, (e[0], e[0])),
        "ε-LIP implies 2ε-LDP.",
        _LDP,
    ),
    Rule(
        "ID-Sec-3C.2",
        "Zarrabian2023",
        ("alip",),
        "ldp",
        _alip_ldp,
        "(ε_l, ε_u)-ALIP implies (ε_l + ε_u)-LDP.",
        _LDP,
    ),
    Rule(
        "D-PML-Max",
        "SaeidianDisclosure",
        (),
        "pml",
        lambda s: (log_above(1 / s.pmin),),
        "No mechanism leaks more than log 1/pmin of PML.",
        tight=True,
    ),
    Rule(
        "D-PML-ML",
        "Saeidian2023PML",
        ("pml",),
        "maximalleakage",
        lambda s, u: (u[0],),
        "Maximal leakage averages e^PML over the outcomes, so ε-PML bounds it by ε; with equality "
        "for the optimal mechanism of the high-privacy regime.",
        tight=True,
    ),
    Rule(
        "D-LDP-ML",
        "",
        ("ldp",),
        "maximalleakage",
        _ldp_leakage,
        "ε-LDP bounds maximal leakage by log[N e^ε/(e^ε + N − 1)]; randomised response attains it.",
        tight=True,
    ),
    Rule(
        "PMC-Eq-9",
        "SaeidianPMC",
        ("pmc",),
        "maximalcostleakage",
        lambda s, low: (low[0],),
        "Maximal cost leakage is at most the largest pointwise maximal cost, so ε-PMC bounds it.",
        tight=True,
    ),
    Rule(
        "D-LDP-MCL",
        "",
        ("ldp",),
        "maximalcostleakage",
        _ldp_cost,
        "ε-LDP bounds maximal cost leakage by log[(1 + (N−1) e^ε)/N].",
        tight=True,
    ),
    Rule(
        "D-ML-MI",
        "Issa2020",
        ("maximalleakage",),
        "miprivacy",
        lambda s, e: (e[0],),
        "Mutual information is at most maximal leakage.",
    ),
    Rule(
        "D-ALIP-MI",
        "",
        ("alip",),
        "miprivacy",
        lambda s, a: (information_bound(*a),),
        "(ε_l, ε_u)-ALIP bounds mutual information by [(h−1) l log l + (1−l) h log h]/(h−l); for "
        "ε-LIP this is ε·tanh(ε/2).",
    ),
    Rule(
        "D-LDP-MI",
        "",
        ("ldp",),
        "miprivacy",
        lambda s, e: (ldp_information(e[0]),),
        "ε-LDP bounds mutual information, whatever the prior, by sεE/Z − log Z with E = e^ε, "
        "s = (εE−E+1)/(E−1)² and Z = 1 + s(E−1).",
    ),
    Rule(
        "D-MI-Max",
        "",
        (),
        "miprivacy",
        lambda s: (s.entropy,),
        "Mutual information is at most the entropy of the secret.",
        tight=True,
    ),
    Rule(
        "D-ML-Max",
        "Issa2020",
        (),
        "maximalleakage",
        lambda s: (log_above(Fraction(s.size)),),
        "Maximal leakage is at most the logarithm of the number of symbols.",
        tight=True,
    ),
)


#: Every rule by its identifier; each step of a derivation is one of them.
RULES: dict[str, Rule] = {rule.id: rule for rule in _PUBLISHED}


def check_rule(rule: Rule) -> None:
    """Raise :class:`LevelError` for an identifier that a rule of another module has taken."""
    known = RULES.get(rule.id)
    if known is not None and known.apply.__module__ != rule.apply.__module__:
        raise LevelError(
            "identifier of a conversion",
            expected="one that is not taken",
            got=f"{rule.id}, registered in {known.apply.__module__}",
            remedy="number it as its paper does",
        )


def quantity(notion: Any) -> str:
    """The name of a notion's class as a key of :data:`QUANTITIES`.

    Raises :class:`LevelError` for what is no registered class that levels alone define.
    """
    name = getattr(notion, "__name__", "").lower()
    if not isinstance(notion, type) or NOTIONS.get(name) is not notion or NOTIONS[name].needs:
        raise LevelError(
            "notion of a conversion",
            expected="a class of notions that levels alone define, such as md.LDP",
            got=quote(notion),
            remedy="name the class, not an instance, and derive it without register=False",
        )
    return str(name)


def level_count(name: str) -> int:
    """Number of levels of a quantity."""
    return len(NOTIONS[name].level_fields) if name in NOTIONS else 1
