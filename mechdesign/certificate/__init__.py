"""Why is it true? From a solver's answer to a kernel that is private and a bound that holds.

In: a problem, and a candidate of a method (kernel and dual variables, trusted in nothing).
Out: the mechanism in integer weights and its certificate: exact checks, value, upper bound, gap.
"""
