"""What must stay hidden: privacy notions, their registry, and the bounds behind them."""

from .differential import LDP
from .hypotheses import Bound, Hypotheses
from .notion import NOTIONS, Check, LikelihoodBound, PrivacyNotion, as_notions, parse_notion
from .pointwise import ALIP, LIP, PMC, PML

__all__ = [
    "ALIP", "LDP", "LIP", "NOTIONS", "PMC", "PML", "Bound", "Check", "Hypotheses",
    "LikelihoodBound", "PrivacyNotion", "as_notions", "parse_notion",
]
