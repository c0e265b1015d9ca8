"""Which extreme columns does a cone have, and which has the largest reduced value at some prices?

In: a cone or two sides of one, and prices.
Out: all columns in rationals, or the best ones and how much any can add.

:mod:`.families` says what they look like, :mod:`.exact_columns` lists them in rationals,
:mod:`.pricing` finds the best by local search and :mod:`.branch_and_bound`.
"""
