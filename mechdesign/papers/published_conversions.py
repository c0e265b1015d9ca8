"""Each published conversion as a result: no kernel exceeds it, and the extreme one is nearest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.random import Generator

from ..prior import Prior
from ..privacy.notion import NOTIONS, LikelihoodBound
from ..theory.rules import QUANTITIES, RULES, Levels, Refused, Rule, Setting
from ..theory.tight import tight_conversion
from .claims import Claim, Claims, Theorem, add, at_most
from .measurements import (
    Array,
    high_privacy_kernel,
    measure,
    randomised_response,
    release_or_draw,
    towards_constant,
)
from .random_instances import mild_prior, positive_kernel, some_high_privacy_level, some_level

_RULES = {rule.id: rule for rule in RULES}


def conversions(*names: str) -> None:
    """Register published conversions as results, under the identifiers of their rules."""
    for name in names:
        rule = _RULES[name]
        add(
            Theorem(
                rule.id,
                rule.statement,
                rule.source,
                rule.conditions,
                rule.tight,
                rule.also,
                _claims(rule),
            )
        )


def _claims(rule: Rule) -> Callable[[Generator], Iterator[Claim]]:
    def claims(rng: Generator) -> Claims:
        prior = mild_prior(rng)
        yield from _random(rng, prior, rule)
        yield from _attaining(rng, prior, rule)

    return claims


def _random(rng: Generator, prior: Prior, rule: Rule) -> Claims:
    """A random kernel, at the levels that it has; more constant until the rule applies."""
    kernel = positive_kernel(rng, len(prior))
    setting = Setting(prior)
    while True:
        levels = [v for name in rule.premises for v in measure(name, kernel, prior)]
        try:
            claimed = rule.apply(setting, *_split(rule, levels))
        except Refused:
            kernel = towards_constant(kernel, 0.3)
            continue
        break
    measured = measure(rule.conclusion, kernel, prior)
    for found, level in zip(measured, claimed, strict=True):
        yield at_most(found, _number(level), f"random kernel with {_shown(rule, levels)}")


def _attaining(rng: Generator, prior: Prior, rule: Rule) -> Claims:
    """The witness of the tight conversion, or the mechanism that is known to be extreme."""
    family = [NOTIONS.get(name) for name in (*rule.premises, rule.conclusion)]
    if rule.premises and all(c is not None and issubclass(c, LikelihoodBound) for c in family):
        regime = rule.premises == ("pml",)
        draw = some_high_privacy_level(rng, prior) if regime else some_level(rng)
        levels = [
            draw * f for name in rule.premises for f in ((0.8, 1) if name == "alip" else (1,))
        ]
        parts = _split(rule, levels)
        notions = [
            NOTIONS[name](*(float(v or 0) for v in part))
            for name, part in zip(rule.premises, parts, strict=True)
        ]
        tight = tight_conversion(notions, NOTIONS[rule.conclusion], prior)
        kernels = [entry.witness.kernel for entry in tight.levels if entry.witness is not None]
    else:
        kernel, levels = _extreme(rng, prior, rule)
        kernels = [kernel]
    claimed = rule.apply(Setting(prior), *_split(rule, levels))
    measured = [measure(rule.conclusion, kernel, prior) for kernel in kernels]
    for place, level in enumerate(claimed):
        best = max(found[place] for found in measured)
        yield at_most(best, _number(level), f"extreme kernel with {_shown(rule, levels)}")


def _extreme(rng: Generator, prior: Prior, rule: Rule) -> tuple[Array, list[float]]:
    """A kernel that comes as close to a rule's conclusion as the prior allows, and its level."""
    high = some_high_privacy_level(rng, prior)
    level = some_level(rng)
    known: dict[str, Callable[[], tuple[Array, list[float]]]] = {
        "D-PML-ML": lambda: (high_privacy_kernel(prior, high), [high]),
        "D-LDP-ML": lambda: (randomised_response(len(prior), level), [level]),
        "PMC-Eq-9": lambda: (release_or_draw(prior, level), [level]),
        "D-LDP-MCL": lambda: (randomised_response(len(prior), -level), [level]),
        "D-LDP-MI": lambda: (randomised_response(len(prior), level), [level]),
    }
    if rule.id in known:
        return known[rule.id]()
    if not rule.premises:
        return np.eye(len(prior)), []
    kernel = release_or_draw(prior, level)
    return kernel, [v for name in rule.premises for v in measure(name, kernel, prior)]


def _split(rule: Rule, levels: list[float]) -> list[Levels]:
    """Levels as exact numbers, premise by premise."""
    exact = [Fraction(v) for v in levels]
    found: list[Levels] = []
    for name in rule.premises:
        count = 2 if name == "alip" else 1
        found.append(tuple(exact[:count]))
        exact = exact[count:]
    return found


def _number(level: Fraction | None) -> float:
    return np.inf if level is None else float(level)


def _shown(rule: Rule, levels: list[float]) -> str:
    names = " and ".join(QUANTITIES[name] for name in rule.premises) or "no condition"
    return f"{names} {', '.join(f'{v:.4g}' for v in levels)}".strip()
