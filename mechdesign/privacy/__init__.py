"""What must stay hidden? Privacy notions at a level, each with what it asks of a kernel.

In: a level in nats, what else a notion needs, and a prior.
Out: ``constraints(prior)``, the rows of the cone and the sums over outcomes that everything else
reads; ``check``, an exact verdict on a kernel; ``leakage``, a direct measurement; a description.

The three ways share no code.
"""

# isort: off
# The order of import is the order in which audits list the notions.
from .constraint import Bound, Evaluation, Hypotheses
from .sums import ConicRows, Epigraph, Minorants, SumConstraint, SumPrice
from .notion import (
    NOTIONS,
    AverageNotion,
    Check,
    LikelihoodBound,
    PrivacyNotion,
    as_notions,
    parse_notion,
)
from .pointwise import ALIP, LIP, PMC, PML
from .differential import DP, LDP, FreeLunch, MetricPrivacy
from .levels import (
    ContextAwareLDP,
    InputDiscriminativeLDP,
    SymbolLIP,
    SymbolPMC,
    SymbolPML,
    UtilityOptimisedLDP,
)
from .features import ConditionalPMC, ConditionalPML, FeaturePMC, FeaturePML
from .databases import EntryPML
from .pufferfish import ApproximatePufferfish, Pufferfish
from .average import ApproximateLDP, MaximalCostLeakage, MaximalLeakage, MIPrivacy, MIPufferfish
from .inference import InferenceCost, inference_cost
from .robust import RobustPML
# isort: on

__all__ = [
    "ALIP",
    "DP",
    "LDP",
    "LIP",
    "NOTIONS",
    "PMC",
    "PML",
    "ApproximateLDP",
    "ApproximatePufferfish",
    "AverageNotion",
    "Bound",
    "Check",
    "ConditionalPMC",
    "ConditionalPML",
    "ConicRows",
    "ContextAwareLDP",
    "EntryPML",
    "Epigraph",
    "Evaluation",
    "FeaturePMC",
    "FeaturePML",
    "FreeLunch",
    "Hypotheses",
    "InferenceCost",
    "InputDiscriminativeLDP",
    "LikelihoodBound",
    "MIPrivacy",
    "MIPufferfish",
    "MaximalCostLeakage",
    "MaximalLeakage",
    "MetricPrivacy",
    "Minorants",
    "PrivacyNotion",
    "Pufferfish",
    "RobustPML",
    "SumConstraint",
    "SumPrice",
    "SymbolLIP",
    "SymbolPMC",
    "SymbolPML",
    "UtilityOptimisedLDP",
    "as_notions",
    "inference_cost",
    "parse_notion",
]
