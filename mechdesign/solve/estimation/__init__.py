"""Which kernel answers questions about frequencies with the least error?

In: an :class:`~mechdesign.solve.program.EstimationProgram`: a loss, a truth, a cone, a prior.
Out: a candidate kernel, with prices and an inverse that bound the risk of every kernel.

:mod:`.method` mixes extreme columns by :mod:`.master`: all of them where they are few, else those
that pricing finds. :mod:`.pricing` says what it asks of columns: those whose quadratic over their
mass pays more than their prices, and a proven bound on how much more any can pay;
:mod:`.pricing_forms` (numbers and boxes that searches share) is below :mod:`.pricing_search` (local
search, in floats), :mod:`.pricing_listed` (every extreme column of few symbols) and
:mod:`.pricing_relaxation` (semidefinite bounds for many); :mod:`.pricing_cones` is for cones that
are not two-sided. :mod:`.pricing_design` bounds the risk before any column is known.
"""
