"""What the papers prove, checked: results, conversions between guarantees, errata."""

from __future__ import annotations

import importlib
from typing import Any

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

# Bound on first use, so that importing the package stays fast.
_HOMES = {
    "accounting": ("Account", "account", "account_product", "repeated"),
    "attacks": ("Attack",),
    "costs": (
        "alpha_leakage",
        "alpha_loss",
        "average_cost_leakage",
        "cost_leakage",
        "cost_of_feature",
        "expected_cost",
        "feature_of_cost",
        "maximal_cost_leakage",
        "maximal_realizable_cost",
        "miss_leakage",
        "partition_cost",
        "power_leakage",
        "power_loss",
        "reduced_cost",
        "worst_cost",
        "worst_miss",
    ),
    "counting": (
        "ThresholdQuery",
        "answer_leakage",
        "chernoff_bound",
        "laplace_count_bound",
        "laplace_count_leakage",
        "laplace_count_simple_bound",
        "person_leakage",
        "threshold_query",
    ),
    "databases": (
        "Database",
        "conditional_leakage",
        "dp_level",
        "entry_leakage",
        "free_lunch_leakage",
        "free_lunch_level",
        "neighbour_leakage",
    ),
    "disclosure": (
        "Disclosure",
        "Exposure",
        "cheapest_disclosure",
        "compatible_symbols",
        "dearest_disclosure",
        "disclosing_mechanism",
        "disclosure_price",
        "disclosures",
        "discloses",
        "easier_feature",
        "hidden_above",
        "leakage_capacity",
        "least_uncertainty",
        "most_entropy_disclosed",
        "remaining_entropy_bound",
        "singles_out",
        "uncertainty_bound",
    ),
    "features": (
        "feature",
        "feature_channel",
        "feature_entropy",
        "feature_leakage",
        "feature_posterior",
        "is_constant",
        "is_deterministic",
    ),
    "gains": (
        "feature_of_gain",
        "gain_leakage",
        "gain_of_feature",
        "guess_leakage",
        "worst_gain",
        "worst_guess",
    ),
    "guessing": (
        "guesswork",
        "guesswork_cost",
        "guesswork_error",
        "guesswork_leakage",
        "worst_guesswork",
    ),
    "limits": (
        "Approach",
        "Characterisation",
        "CorrelatedDatabase",
        "correlated_database",
        "dp_as_pml",
        "free_lunch_as_pml",
    ),
    "properties": (
        "TwoSides",
        "adaptive",
        "additivity",
        "composition",
        "conditional_outcome_leakage",
        "expected_exponential",
        "mixed_prior",
        "outcome_leakage",
        "post_processing",
        "pre_processing",
        "prior_curvature",
        "product_of",
    ),
    "picking": ("EpsilonChoice", "FeatureLine", "pick_epsilon", "quantised_mean"),
    "observation": ("Observation", "condition", "observe", "pushforward"),
}
_PLACES = {name: module for module, names in _HOMES.items() for name in names}

__all__ += sorted(_PLACES)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
