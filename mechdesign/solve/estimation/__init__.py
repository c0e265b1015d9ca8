"""Which kernel answers questions about frequencies with the least error?

In: an :class:`~mechdesign.solve.program.EstimationProgram`: a loss, a truth, a cone, a prior.
Out: a candidate kernel, with prices and an inverse that bound the risk of every kernel.

:mod:`.method` mixes extreme columns, all of them where they are few, by :mod:`.master`.
"""
