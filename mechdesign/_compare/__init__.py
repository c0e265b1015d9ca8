"""Which notion allows the most? Frontiers of utility against level, matched to be comparable.

In: priors, utilities, notions and targets.
Out: a :class:`.comparison.Comparison`: one certified design per point, tables of them, and what
they prove about which notion is ahead.
"""
