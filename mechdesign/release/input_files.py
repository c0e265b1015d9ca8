"""Names that files being rewritten elsewhere still ask for."""

from ..tables.files import RUN, Inputs, file_ending, find_inputs
from ..tables.files import is_text as is_csv

__all__ = ["RUN", "Inputs", "file_ending", "find_inputs", "is_csv"]
