"""What must stay hidden: privacy notions, their registry, and the bounds behind them."""

# isort: off
# The order of import is the order in which audits list the notions.
from .hypotheses import Bound, Hypotheses
from .notion import NOTIONS, Check, LikelihoodBound, PrivacyNotion, as_notions, parse_notion
from .pointwise import ALIP, LIP, PMC, PML
from .differential import LDP
# isort: on

__all__ = [
    "ALIP",
    "LDP",
    "LIP",
    "NOTIONS",
    "PMC",
    "PML",
    "Bound",
    "Check",
    "Hypotheses",
    "LikelihoodBound",
    "PrivacyNotion",
    "as_notions",
    "parse_notion",
]
