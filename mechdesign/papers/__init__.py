"""Are the papers right? What the four of them claim, checked, and where they are wrong.

In: random instances.
Out: claims, two numbers computed in different ways that must relate as the paper says; errata.

One file per paper holds its claims in the paper's order, one its errata, and one its numbered
statements with what checks them; ``derived`` and ``derived_optima`` hold results that none of them
states. ``catalogue`` lists and finds all of them, ``tightness`` says which published conversions
are tight for a prior.
"""
