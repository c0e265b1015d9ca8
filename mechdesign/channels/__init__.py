"""Which kernel is better than which, whatever the use, and what becomes of reports afterwards?

In: kernels, priors where they matter, notions.
Out: verdicts with a proof either way (a post-processing, or a use on which kernels differ), the
probability of leaking more than a level after any post-processing, coefficients of contraction.
"""
