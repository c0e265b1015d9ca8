"""How is a linear utility maximised with many outputs? By primal-dual interior points.

In: a linear program whose outputs all have the same cone, so that only the row sums couple them.
Out: a candidate: a kernel, dual prices of the rows, and a warm start for nearby levels.

Columns are eliminated from every Newton system, which leaves one N×N system in the prices.
:class:`~.structured.Structured` does that in closed form for one two-sided cone.
"""

from .structured import Structured

__all__ = ["Structured"]
