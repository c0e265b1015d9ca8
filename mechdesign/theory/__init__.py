"""What follows from what? Levels that a guarantee implies, and what an outcome gives away.

In: notions, priors, mechanisms and features.
Out: other levels with their derivations or witnesses, leakages with the adversaries that attain
them, the features that are disclosed, and what several releases leak together.

The results behind it are checked one by one in the room ``papers``; their names are reached from
here as well.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..privacy.features import feature as feature
    from .conversions import Implication as Implication
    from .conversions import Implications as Implications
    from .conversions import Step as Step
    from .conversions import convert as convert
    from .conversions import implications as implications
    from .tight import TightConversion as TightConversion
    from .tight import TightLevel as TightLevel
    from .tight import tight_conversion as tight_conversion

# Bound on first use, so that importing the package stays fast.
_HOMES = {
    "theory.adversaries": (
        "Attack",
        "Observation",
        "alpha_leakage",
        "alpha_loss",
        "average_cost_leakage",
        "cost_leakage",
        "cost_of_feature",
        "expected_cost",
        "feature_of_cost",
        "feature_of_gain",
        "gain_leakage",
        "gain_of_feature",
        "guess_leakage",
        "guesswork",
        "guesswork_cost",
        "guesswork_error",
        "guesswork_leakage",
        "maximal_cost_leakage",
        "maximal_realizable_cost",
        "miss_leakage",
        "observe",
        "partition_cost",
        "power_leakage",
        "power_loss",
        "reduced_cost",
        "worst_cost",
        "worst_gain",
        "worst_guess",
        "worst_guesswork",
        "worst_miss",
    ),
    "theory._composition": (
        "Account",
        "account",
        "account_product",
        "adaptive",
        "additivity",
        "composition",
        "conditional_outcome_leakage",
        "product_of",
        "repeated",
    ),
    "theory._rates": ("GuessingRate", "guessing_rate"),
    "theory._people": ("reports_of_people",),
    "theory.conversions": ("Implication", "Implications", "Step", "convert", "implications"),
    "theory.counting_queries": (
        "ThresholdQuery",
        "answer_leakage",
        "chernoff_bound",
        "laplace_count_bound",
        "laplace_count_leakage",
        "laplace_count_simple_bound",
        "person_leakage",
        "threshold_query",
    ),
    "theory.databases": (
        "Approach",
        "Characterisation",
        "CorrelatedDatabase",
        "Database",
        "conditional_leakage",
        "correlated_database",
        "dp_as_pml",
        "dp_level",
        "entry_leakage",
        "free_lunch_as_pml",
        "free_lunch_leakage",
        "free_lunch_level",
        "neighbour_leakage",
    ),
    "theory.disclosure": (
        "Disclosure",
        "EpsilonChoice",
        "Exposure",
        "FeatureLine",
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
        "pick_epsilon",
        "quantised_mean",
        "remaining_entropy_bound",
        "singles_out",
        "uncertainty_bound",
    ),
    "theory.leakage": (
        "TwoSides",
        "condition",
        "expected_exponential",
        "feature_channel",
        "feature_entropy",
        "feature_leakage",
        "feature_posterior",
        "is_constant",
        "is_deterministic",
        "mixed_prior",
        "outcome_leakage",
        "post_processing",
        "pre_processing",
        "prior_curvature",
        "pushforward",
    ),
    "theory.tight": ("TightConversion", "TightLevel", "tight_conversion"),
    "privacy.features": ("feature",),
    "papers.claims": (
        "Claim",
        "Counterexample",
        "Erratum",
        "Outcome",
        "Theorem",
        "at_least",
        "at_most",
        "equal",
        "holds",
        "theorem",
    ),
    "papers.catalogue": (
        "check_theorems",
        "errata",
        "find_erratum",
        "find_theorem",
        "known_theorems",
        "statements",
    ),
    "papers.statements": ("Statement",),
    "papers.published_conversions": ("conversion",),
    "papers.tightness": ("TightnessReport", "TightnessRow", "tightness_report"),
}
_PLACES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    package = __name__.rpartition(".")[0]
    value = getattr(importlib.import_module(f"{package}.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
