"""Which extreme columns does a cone have, and which is worth most for some prices?

In: a cone or two sides of one, and prices.
Out: all columns in rationals, or the best ones and how much any can be worth.

:mod:`.families` says what they look like, :mod:`.exact_columns` lists them in rationals,
:mod:`.pricing` finds the best by local search and :mod:`.branch_and_bound`.
"""
