"""Which kernel answers questions about frequencies with the least error?

In: an :class:`~mechdesign.solve.program.EstimationProgram`: a loss, a truth, a cone, a prior.
Out: a candidate kernel, with prices and an inverse that bound the risk of every kernel.

:mod:`.orbit` permutes one column where all symbols count alike, :mod:`.uniform_truth` where the
worst truth does too.
:mod:`.method` mixes extreme columns by :mod:`.master`: all of them where they are few, else those
that :mod:`.generation` finds. :mod:`.pricing` says which columns pay more than their prices,
rᵀGr/(πᵀr) − λᵀr, and proves how much any can. It asks :mod:`.pricing_search` (local search),
:mod:`.pricing_listed` (every extreme column of few symbols), :mod:`.pricing_relaxation` (bounds for
many), :mod:`.pricing_design` (a whole design, relaxed) and :mod:`.pricing_cones` (cones of any
kind), on numbers and boxes in :mod:`.pricing_forms`.
"""
