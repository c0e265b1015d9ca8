"""Which columns solve a sub-convex utility, and in what mixture?

In comes a :class:`~mechdesign.solve.problem.SublinearProblem`: a column function, its cone and a
prior. Out goes a candidate kernel, with prices that bound what any kernel can have. Three methods
answer: column generation (:mod:`.method`), the list of all extreme columns of few symbols
(:mod:`.vertices`), and windows for many symbols, without a search (:mod:`.window`). Below them:
:mod:`.families` says what extreme columns look like, :mod:`.exact_columns` lists them in rationals,
:mod:`.pricing` finds those of the largest reduced value, :mod:`.master` mixes them.
"""
