"""What the papers prove, checked: results, conversions between guarantees, errata."""

from .conversions import Implication, Implications, Step, convert, implications
from .mistakes import Counterexample, Erratum, errata, find_erratum
from .reports import TightnessReport, TightnessRow, tightness_report
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
from .tight import TightConversion, TightLevel, tight_conversion

__all__ = [
    "Claim",
    "Counterexample",
    "Erratum",
    "Implication",
    "Implications",
    "Outcome",
    "Step",
    "Theorem",
    "TightConversion",
    "TightLevel",
    "TightnessReport",
    "TightnessRow",
    "at_least",
    "at_most",
    "check_theorems",
    "convert",
    "equal",
    "errata",
    "find_erratum",
    "find_theorem",
    "holds",
    "implications",
    "known_theorems",
    "theorem",
    "tight_conversion",
    "tightness_report",
]
