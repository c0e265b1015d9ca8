"""Guarantees, utilities and certificates in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context, Decimal

from ..labels import shorten
from ..solve.designing import Design
from ..theory.conversions import Implication, rounded_up

#: What the names of notions stand for.
NAMES = {
    "pml": "pointwise maximal leakage",
    "pmc": "pointwise maximal cost",
    "lip": "local information privacy",
    "alip": "asymmetric local information privacy",
    "ldp": "local differential privacy",
    "freelunch": "free-lunch privacy",
    "maximalleakage": "maximal leakage",
    "maximalcostleakage": "maximal cost leakage",
    "miprivacy": "mutual information",
}
#: What each utility rewards.
UTILITY_NAMES = {
    "hamming": "Hamming: the report is the symbol",
    "absolute": "Absolute error, as a loss",
    "squared": "Squared error, as a loss",
    "mutual-information": "Mutual information",
    "total-variation": "Total variation",
    "chi-square": "Chi-square",
}
#: What the value of a design is.
MEANING: dict[str, str] = {
    "hamming": "chance that the report is the symbol itself",
    "absolute": "minus the expected absolute error",
    "squared": "minus the expected squared error",
    "mutual-information": "nats that the report says about the symbol",
    "total-variation": "mean distance between what is known after and before",
    "chi-square": "mean chi-square of what is known after against before",
}


# Levels are rounded up in their last digit; that alone must not make a factor of 4 one of 4.01.
_SLACK = 1e-9


def number(value: float, digits: int = 6) -> str:
    """A number for reading: significant digits, a true minus sign, infinity in words.

    >>> number(-0.5), number(float("inf")), number(1.5e-10, 2)
    ('−0.5', 'infinite', '1.5e−10')
    """
    if math.isinf(value):
        return "infinite" if value > 0 else "−infinite"
    return f"{value:.{digits}g}".replace("-", "−")


def level(value: float) -> str:
    """A level in nats, rounded up so that it still holds."""
    return "infinite" if value == math.inf else rounded_up(value, 5)


def factor(value: float) -> str:
    """Raise e to a level, rounded up but for a billionth.

    >>> factor(0.5)
    '1.65'
    """
    if value > 300:
        return f"e^{level(value)}"
    return rounded_up(math.exp(value) * (1 - _SLACK), 3) if value > 0 else "1"


def left(value: float) -> str:
    """Raise e to minus a level, rounded down but for a billionth: what is left at least.

    >>> left(0.5)
    '0.606'
    """
    part = Decimal(math.exp(-value) * (1 + _SLACK)) if value > 0 else Decimal(1)
    return f"{float(Context(prec=3, rounding=ROUND_FLOOR).plus(part)):.3g}"


def guarantee(name: str, levels: Sequence[float]) -> str:
    """What a notion at finite levels promises, in a sentence."""
    first, last = levels[0], levels[-1]
    if first == last == 0:
        return "The report tells nothing at all about the secret."
    if name == "pml":
        return (
            "No outcome raises anybody's chance of guessing anything about the secret by more "
            f"than the factor {factor(first)}."
        )
    if name == "pmc":
        return (
            f"No outcome leaves a symbol less than {left(first)} of the probability it had, so "
            "nothing is ruled out."
        )
    if name in ("lip", "alip"):
        return (
            f"After every outcome each symbol has between {left(first)} and {factor(last)} times "
            "the probability it had."
        )
    if name == "ldp":
        return (
            f"No outcome is more than {factor(first)} times as likely from one symbol as from "
            "another, whatever the prior."
        )
    if name == "freelunch":
        return (
            f"If the symbols are databases: no outcome is more than {factor(first)} times as "
            "likely from one as from another."
        )
    if name == "maximalleakage":
        return (
            "On average over outcomes the chance of guessing anything about the secret grows at "
            f"most {factor(first)} times."
        )
    if name == "maximalcostleakage":
        return (
            "On average over outcomes no cost that an adversary wants small falls below "
            f"{left(first)} of what it was."
        )
    return (
        f"The report says at most {level(first)} nats ({level(first / math.log(2))} bits) about "
        "the secret."
    )


def implied_sentence(entry: Implication) -> str:
    """What an implied guarantee promises, or why there is none."""
    if math.inf in entry.levels:
        finite = [v for v in entry.levels if v < math.inf]
        start = "Only one of the two levels is finite" if finite else "Nothing finite follows"
        return f"{start}: {entry.reason}."
    return guarantee(entry.name.lower(), entry.levels)


def summary(found: Design, utility: str) -> str:
    """A design in one sentence."""
    asked = " and ".join(str(notion) for notion in found.notions)
    proof = (
        "proved optimal"
        if found.certificate.is_optimal
        else f"at most {number(found.bound)} is possible"
    )
    return f"{asked}: {number(found.value)} {MEANING[utility]}, {proof}."


def outcome(label: object, width: int = 24) -> str:
    """The label of an outcome, short enough for a chart."""
    return shorten(label, width)


def percent(value: float) -> str:
    """A probability in percent.

    >>> percent(0.402), percent(1.0)
    ('40.2%', '100%')
    """
    return f"{100 * value:.3g}%"
