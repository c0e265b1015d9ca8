"""What must stay hidden: privacy notions, their registry, and the bounds behind them."""

# isort: off
# The order of import is the order in which audits list the notions.
from .hypotheses import Bound, Hypotheses
from .notion import NOTIONS, Check, LikelihoodBound, PrivacyNotion, as_notions, parse_notion
from .pointwise import ALIP, LIP, PMC, PML
from .differential import DP, LDP, FreeLunch, MetricPrivacy
from .features import ConditionalPMC, ConditionalPML, FeaturePMC, FeaturePML
from .databases import EntryPML
from .pufferfish import ApproximatePufferfish, Pufferfish
from .average import ApproximateLDP, MaximalCostLeakage, MaximalLeakage, MIPrivacy, MIPufferfish
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
    "Bound",
    "Check",
    "ConditionalPMC",
    "ConditionalPML",
    "EntryPML",
    "FeaturePMC",
    "FeaturePML",
    "FreeLunch",
    "Hypotheses",
    "LikelihoodBound",
    "MIPrivacy",
    "MIPufferfish",
    "MaximalCostLeakage",
    "MaximalLeakage",
    "MetricPrivacy",
    "PrivacyNotion",
    "Pufferfish",
    "RobustPML",
    "as_notions",
    "parse_notion",
]
