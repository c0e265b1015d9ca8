"""Which columns solve a sub-convex utility, and in what mixture?

In: a :class:`~mechdesign.program.program.SublinearProgram`: a column function, its cone, a prior.
Out: a candidate kernel, with dual prices that bound what any kernel can have.

Four methods answer: column generation (:mod:`.method`), the list of all extreme columns of few
symbols (:mod:`.vertices`), for many symbols columns that are fitted to their masses
(:mod:`.fitted`), and windows (:mod:`.window`). Below them: :mod:`mechdesign.certificate.columns`
finds extreme columns, :mod:`.master` mixes them; :mod:`.continuum` solves for few large symbols and
a continuum of small ones, :mod:`.balance` finds shares of given columns without a linear program.
"""
