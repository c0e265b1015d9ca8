"""Names, numbers and results in words."""

from __future__ import annotations

import math

from ..labels import shorten
from ..solve._design import Design
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


def number(value: float, digits: int = 6) -> str:
    """A number for reading: significant digits, a true minus sign, infinity in words.

    >>> number(-0.5), number(float("inf")), number(1.5e-10, 2)
    ('−0.5', 'infinite', '1.5e−10')
    """
    if math.isinf(value):
        return "infinite" if value > 0 else "−infinite"
    return f"{value:.{digits}g}".replace("-", "−")


def gap(value: float, unit: str = "") -> str:
    """A gap and what it is a share of, or that it is unknown.

    >>> gap(1e-9, "the utility"), gap(float("inf"), "the utility")
    ('1e−09 of the utility', 'unknown')
    """
    if math.isinf(value):
        return "unknown"
    return f"{number(value, 2)} of {unit}" if unit else number(value, 2)


def level(value: float) -> str:
    """A level in nats, rounded up so that it still holds."""
    return "infinite" if value == math.inf else rounded_up(value, 5)


def implied_sentence(entry: Implication) -> str:
    """What an implied guarantee promises, or why there is none."""
    if math.inf in entry.levels:
        finite = [v for v in entry.levels if v < math.inf]
        start = "Only one of the two levels is finite" if finite else "Nothing finite follows"
        return f"{start}: {entry.reason}."
    if not any(entry.levels):
        return "The report tells nothing at all about the secret."
    assert entry.notion is not None  # what is implied with a level is a registered notion
    return entry.notion.in_words


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
