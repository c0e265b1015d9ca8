"""Which kernel answers questions about frequencies with the least error?

In: an :class:`~mechdesign.program.program.EstimationProgram`: a loss, a truth, a cone, a prior.
Out: a candidate kernel, with prices and an inverse that bound the risk of every kernel.

:mod:`.orbit` permutes one column where all symbols count alike, :mod:`.uniform_truth` where the
worst truth does too.
:mod:`.method` mixes extreme columns by :mod:`.master`: all of them where they are few, else those
that :mod:`.generation` finds, by what :mod:`mechdesign.certificate.quadratic` says of prices.
"""
