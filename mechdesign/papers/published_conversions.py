"""Each published conversion as a result: no kernel exceeds it, and the extreme one is nearest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import wraps
from typing import Any

import numpy as np
from numpy.random import Generator

from ..errors import LevelError, listed, quote
from ..prior import Prior
from ..privacy.notion import NOTIONS, LikelihoodBound, PrivacyNotion
from ..theory.rules import (
    QUANTITIES,
    RULES,
    Levels,
    Refused,
    Rule,
    Setting,
    check_rule,
    level_count,
    quantity,
)
from ..theory.tight import tight_conversion
from .claims import Claim, Claims, Theorem, add, at_most, equal
from .measurements import (
    Array,
    high_privacy_kernel,
    measure,
    randomised_response,
    release_or_draw,
    towards_constant,
)
from .random_instances import mild_prior, positive_kernel, some_high_privacy_level, some_level

# How often a kernel is mixed, or a level halved, until a rule applies.
_MOST_TRIALS = 100


def register_rules(*names: str) -> None:
    """Register published conversions as results, under the identifiers of their rules."""
    for name in names:
        _register(RULES[name])


def _register(rule: Rule) -> None:
    text = (rule.statement, rule.source, rule.conditions)
    add(Theorem(rule.id, *text, rule.tight, rule.also, _claims(rule)))


def conversion(
    id: str,
    premises: Iterable[type[PrivacyNotion]],
    conclusion: type[PrivacyNotion],
    *,
    statement: str,
    source: str = "",
    conditions: str = "finite alphabets",
    tight: bool = False,
    also: Iterable[str] = (),
) -> Callable[[Callable[..., Levels]], Callable[..., Levels]]:
    """Register the decorated function as a conversion between notions, and as a result.

    It is chained with the published ones by :func:`mechdesign.implications` and
    :func:`mechdesign.convert`, and tested like them by ``mechdesign research theorems check``.

    Parameters
    ----------
    id : identifier of the result
    premises, conclusion : classes of notions: those that hold, and the one that follows
    statement : as a sentence
    source : key into ``references.bib``; empty for other results
    conditions : when it applies
    tight : whether some mechanism attains it, for every prior and level within the conditions
    also : identifiers under which the same conversion is stated elsewhere

    The function gets a :class:`mechdesign.theory.rules.Setting`, which knows the prior, and the
    levels of each premise; it returns those of the conclusion, or raises
    :class:`mechdesign.theory.rules.Refused` with the reason. Levels are tuples of rationals in
    nats, ``None`` for an infinite one; ``exp_above`` and ``log_above`` of that module round to the
    side that keeps them true.

    Raises
    ------
    LevelError
        For what is no class of notions, for an identifier that is taken, and later for levels that
        are none.
    """
    known = [*listed(premises, *_PREMISES), conclusion]
    *names, wanted = map(quantity, known)

    def register(function: Callable[..., Levels]) -> Callable[..., Levels]:
        @wraps(function)
        def apply(setting: Setting, *levels: Levels) -> Levels:
            return _checked_levels(function(setting, *levels), wanted, id)

        rule = Rule(
            id, source, tuple(names), wanted, apply, statement, conditions, tight, tuple(also)
        )
        check_rule(rule)
        _register(rule)
        RULES[id] = rule
        QUANTITIES.update((cls.__name__.lower(), cls.__name__) for cls in known)
        return function

    return register


_PREMISES = ("premises of a conversion", "classes of notions such as [md.LDP]")


def _checked_levels(found: Any, name: str, id: str) -> Levels:
    """Levels as rationals and ``None``; :class:`LevelError` for anything else."""
    count = level_count(name)
    try:
        if not isinstance(found, tuple) or len(found) != count:
            raise TypeError
        levels = tuple(None if v is None or v == np.inf else Fraction(v) for v in found)
        if any(v is not None and v < 0 for v in levels):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise LevelError(
            f"levels of conversion {id}",
            expected=f"a tuple of {count}, each a rational of at least 0 or None",
            got=quote(found),
            remedy=f"return what {QUANTITIES[name]} holds at",
        ) from None
    return levels


def _claims(rule: Rule) -> Callable[[Generator], Iterator[Claim]]:
    def claims(rng: Generator) -> Claims:
        prior = mild_prior(rng)
        yield from _random(rng, prior, rule)
        yield from _attaining(rng, prior, rule)

    claims.__module__ = rule.apply.__module__
    return claims


def _random(rng: Generator, prior: Prior, rule: Rule) -> Claims:
    """A random kernel, at the levels that it has; more constant until the rule applies."""
    kernel = positive_kernel(rng, len(prior))
    for _ in range(_MOST_TRIALS):
        levels = [v for name in rule.premises for v in measure(name, kernel, prior)]
        claimed = _applied(rule, prior, levels)
        if claimed is not None:
            break
        kernel = towards_constant(kernel, 0.3)
    else:
        return
    measured = measure(rule.conclusion, kernel, prior)
    for found, level in zip(measured, claimed, strict=True):
        yield at_most(found, _number(level), f"random kernel with {_shown(rule, levels)}")


def _attaining(rng: Generator, prior: Prior, rule: Rule) -> Claims:
    """The witness of the tight conversion, or the mechanism that is known to be extreme."""
    family = [NOTIONS.get(name) for name in (*rule.premises, rule.conclusion)]
    if rule.premises and all(c is not None and issubclass(c, LikelihoodBound) for c in family):
        regime = rule.premises == ("pml",)
        draw = some_high_privacy_level(rng, prior) if regime else some_level(rng)
        shares = [
            f for name in rule.premises for f in ((0.8, 1) if level_count(name) == 2 else (1,))
        ]
        levels = [draw * f for f in shares]
        for _ in range(_MOST_TRIALS):
            if _applied(rule, prior, levels) is not None:
                break
            levels = [level / 2 for level in levels]
        parts = _split(rule, levels)
        notions = [
            NOTIONS[name].at(*(float(v or 0) for v in part))
            for name, part in zip(rule.premises, parts, strict=True)
        ]
        tight = tight_conversion(notions, NOTIONS[rule.conclusion], prior)
        kernels = [entry.witness.kernel for entry in tight.levels if entry.witness is not None]
    else:
        prior, kernel, levels = _extreme(rng, prior, rule)
        kernels = [kernel]
    claimed = _applied(rule, prior, levels)
    if claimed is None:
        return
    measured = [measure(rule.conclusion, kernel, prior) for kernel in kernels]
    for place, level in enumerate(claimed):
        best = max(found[place] for found in measured)
        about = f"extreme kernel with {_shown(rule, levels)}"
        yield at_most(best, _number(level), about)
        if rule.tight:
            # The formula claims no more, and no less.
            yield equal(best, _number(level), about)


def _applied(rule: Rule, prior: Prior, levels: list[float]) -> Levels | None:
    """What a rule says follows from levels, ``None`` where it does not apply."""
    try:
        return rule.apply(Setting(prior), *_split(rule, levels))
    except Refused:
        return None


def _extreme(rng: Generator, prior: Prior, rule: Rule) -> tuple[Prior, Array, list[float]]:
    """A kernel that comes as close to a rule's conclusion as there is one, its prior and levels."""
    high = some_high_privacy_level(rng, prior)
    level = some_level(rng)
    size = int(rng.integers(3, 6))
    known: dict[str, Callable[[], tuple[Array, list[float]]]] = {
        "D-PML-ML": lambda: (high_privacy_kernel(prior, high), [high]),
        "D-LDP-ML": lambda: (randomised_response(len(prior), level), [level]),
        "PMC-Eq-9": lambda: (release_or_draw(prior, level), [level]),
        "D-LDP-MCL": lambda: (randomised_response(len(prior), -level), [level]),
    }
    if rule.id in known:
        return prior, *known[rule.id]()
    # These hold for every prior, and are attained under uniform ones at levels that fit them.
    if rule.id == "D-ML-MI":
        return Prior.uniform(size), np.eye(size), [math.log(size)]
    if rule.id == "D-LDP-MI":
        level = _balanced_level(size)
        return Prior.uniform(size), randomised_response(size, level), [level]
    if rule.id == "D-ALIP-MI":
        # Lifts are l, or h on a share 1/N of the symbols, where their mean is one.
        least = float(rng.uniform(0.3, 0.95))
        most = size * (1 - least) + least
        kernel = (np.full((size, size), least) + (most - least) * np.eye(size)) / size
        return Prior.uniform(size), kernel, [-math.log(least), math.log(most)]
    if not rule.premises:
        return prior, np.eye(len(prior)), []
    kernel = release_or_draw(prior, level)
    return prior, kernel, [v for name in rule.premises for v in measure(name, kernel, prior)]


def _balanced_level(size: int) -> float:
    """The ε at which the best share (εE − E + 1)/(E − 1)² of likely symbols, E = e^ε, is 1/N."""
    from scipy.optimize import brentq

    def above(level: float) -> float:
        e = math.exp(level)
        return (level * e - e + 1) / (e - 1) ** 2 - 1 / size

    return float(brentq(above, 0.1, 30, xtol=1e-14, rtol=1e-14))


def _split(rule: Rule, levels: list[float]) -> list[Levels]:
    """Levels as exact numbers, premise by premise."""
    exact = [None if v == np.inf else Fraction(v) for v in levels]
    found: list[Levels] = []
    for name in rule.premises:
        count = level_count(name)
        found.append(tuple(exact[:count]))
        exact = exact[count:]
    return found


def _number(level: Fraction | None) -> float:
    return np.inf if level is None else float(level)


def _shown(rule: Rule, levels: list[float]) -> str:
    names = " and ".join(QUANTITIES[name] for name in rule.premises) or "no condition"
    return f"{names} {', '.join(f'{v:.4g}' for v in levels)}".strip()
