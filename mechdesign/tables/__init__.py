"""What does a table hold, whatever it is kept in? Read in one way, counted in one way, written.

In: a file, several of them, a folder, a pattern, standard input, a shipped table; a data frame of
any library, a relation of an engine, batches, columns.
Out: names and types of columns, their values in Arrow arrays, part by part; how often each row of
some of them occurs; files.
"""

from .reading import open_table
from .text import Dialect
from .writing import csv_text

__all__ = ["Dialect", "csv_text", "open_table"]
