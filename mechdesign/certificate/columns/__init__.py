"""Extreme columns of a cone: all of them, or those of the largest reduced value for some prices.

:mod:`.families` says what they look like, :mod:`.exact_columns` lists them in rationals,
:mod:`.pricing` finds the best by local search and :mod:`.branch_and_bound`.
"""
