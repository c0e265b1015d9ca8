"""How is a linear utility maximised where bounds compare two symbols each? Over their graph.

In: a linear program whose bounds are K_xy ≤ e^level K_x'y for pairs of symbols, as metric privacy,
differential privacy over an adjacency and lists of such notions ask.
Out: a candidate: a kernel, dual prices of the rows, and multipliers of every pair at every output.

Each output's block of a Newton system is a weighted Laplacian of that graph (:mod:`.dense`, and
:mod:`.path` where the graph is a line); pairs come in as columns come near them (:mod:`.newton`).
What permutations leave alone is solved once (:mod:`.symmetry`).
"""

from .method import Differences

__all__ = ["Differences"]
