"""The papers, checked: does what the four papers claim hold, and where are they wrong?

One file per paper holds its claims in the paper's order, the numbers of its figures and its errata;
``derived`` holds results that none of them states. In come random instances, out go claims: two
numbers computed in different ways, which must relate as the paper says. ``catalogue`` lists and
finds all results and errata, ``tightness`` says which published conversions are tight for a prior.
"""
