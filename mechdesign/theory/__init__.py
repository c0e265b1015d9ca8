"""What the papers prove, checked: results, conversions between guarantees, errata."""

from .theorems import (
    Claim,
    Outcome,
    Theorem,
    at_least,
    at_most,
    check_theorems,
    equal,
    find_theorem,
    holds,
    known_theorems,
    theorem,
)

__all__ = [
    "Claim",
    "Outcome",
    "Theorem",
    "at_least",
    "at_most",
    "check_theorems",
    "equal",
    "find_theorem",
    "holds",
    "known_theorems",
    "theorem",
]
