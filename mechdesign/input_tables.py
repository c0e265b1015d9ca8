"""Names that files being rewritten elsewhere still ask for."""

from .tables.counting import DROPPED, MISSING_TEXT, is_missing
from .tables.counting import count_labels as count_values

__all__ = ["DROPPED", "MISSING_TEXT", "count_values", "is_missing"]
