"""Features of a secret as data: what value, or which values at which chance, each symbol has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from ..errors import LevelError, quote
from ..exact import fraction
from ..labels import Label, tidy
from ..prior import Prior

#: ((label, ((value, mass), ...)), ...)
Feature = tuple[tuple[Label, tuple[tuple[Label, Any], ...]], ...]


def checked_feature(feature: Any, subject: str = "feature") -> Feature:
    """A feature as data, from a mapping of labels to values or to distributions over values.

    Raises :class:`LevelError` for masses that are no distribution, or for what is no mapping.
    """
    if isinstance(feature, Mapping):
        items: Iterable[Any] = feature.items()
    elif isinstance(feature, tuple) and all(isinstance(p, tuple) and len(p) == 2 for p in feature):
        items = ((label, dict(row)) for label, row in feature)
    else:
        raise LevelError(
            subject,
            expected="a mapping from each symbol to its value, or to a mapping of values to masses",
            got=quote(feature),
            remedy="write {'symbol': 'value', ...}; from_function tabulates a function of labels",
        )
    table = {}
    for label, content in items:
        try:
            masses = content if isinstance(content, Mapping) else {content: 1}
        except TypeError:
            raise LevelError(
                subject,
                expected="values such as text or numbers",
                got=f"{quote(content)} for {quote(label)}",
                remedy="give each symbol one hashable value, or a mapping of values to masses",
            ) from None
        row = tuple((tidy(value), _mass(mass, subject, label)) for value, mass in masses.items())
        if not row or sum(fraction(mass) for _, mass in row) <= 0:
            raise LevelError(
                subject,
                expected="for each symbol a value, or masses with a positive sum",
                got=f"{quote(dict(masses))} for {quote(label)}",
                remedy="give P(value | symbol)",
            )
        table[tidy(label)] = row
    return tuple(table.items())


def _mass(value: Any, subject: str, label: Any) -> Any:
    try:
        mass = fraction(value)
    except (TypeError, ValueError, OverflowError):
        mass = None
    if mass is None or mass < 0:
        raise LevelError(
            subject,
            expected="non-negative masses",
            got=f"{quote(value)} for {quote(label)}",
            remedy="give P(value | symbol)",
        )
    return mass if isinstance(value, Fraction) else tidy(value)


def tabulated(function: Callable[[Any], Any], labels: Iterable[Label]) -> dict[Label, Any]:
    """A function of labels as a mapping."""
    return {label: function(label) for label in labels}


def joint_masses(
    feature: Feature, prior: Prior, subject: str = "feature"
) -> dict[Label, list[Fraction]]:
    """P(X = x, U = u) for each value u of positive probability, exact, in the prior's order.

    Symbols of zero mass need no value. Raises :class:`LevelError` for one without.
    """
    table = dict(feature)
    joint: dict[Label, list[Fraction]] = {}
    for x, label in enumerate(prior.labels):
        if not prior.weights[x]:
            continue
        if label not in table:
            raise LevelError(
                subject,
                expected=f"a value for every symbol of positive mass, {quote(label)} too",
                got=f"values for {[*table][:6]}",
                remedy="use the labels of the prior (text and numbers differ)",
            )
        row = table[label]
        total = sum((fraction(mass) for _, mass in row), Fraction(0))
        for value, mass in row:
            if fraction(mass):
                joint.setdefault(value, [Fraction(0)] * len(prior))
                joint[value][x] += prior.mass(x) * fraction(mass) / total
    return joint
