"""How is a linear utility maximised when there are many outputs? By primal-dual interior points.

In comes a problem whose outputs all have the same constraints on a column of the kernel, so that
only the row sums tie them together; out goes a candidate: a kernel, prices of the rows, and a warm
start for problems with nearby levels. Columns are eliminated from every Newton system, which leaves
one N×N system in the prices. :class:`~.structured.Structured` does that in closed form for one
two-sided cone, :class:`~.blockwise.Blockwise` by a factorisation per output for any other bounds.
"""

from .blockwise import Blockwise
from .structured import Structured

__all__ = ["Blockwise", "Structured"]
