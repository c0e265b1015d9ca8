"""The method for bounds over a graph: what it applies to, and its answer for every output."""

from __future__ import annotations

import numpy as np

from ...errors import SolverError
from ...linear.threads import one_thread
from ...program.duals import Candidate, Duals
from ...program.program import LinearProgram
from ..method import Method
from .graph import Array, Graph, graph_of
from .newton import GraphOptions, Newton
from .remapped import Remapped, remapped
from .symmetry import generators, symmetry_of

#: Bytes of the factors that are kept, and arcs times outputs.
MOST_MEMORY, MOST_ARCS = 4 * 2**30, 2 * 10**8
DEFAULTS = GraphOptions()


class Differences(Method):
    """Interior point for bounds on pairs of symbols; see :mod:`.newton`.

    Parameters
    ----------
    options : heuristics
    symmetry : whether permutations of the symbols that leave prior, utility and bounds alone are
        looked for, so that one output of each orbit is solved for. The certificate is that of the
        whole kernel and knows of no symmetry.
    """

    name = "differences"
    # One bound on all ratios has methods of its own.
    features = frozenset({"linear", "general"})
    is_sharpened = False
    reason = (
        "the bounds compare two symbols each, or few mixtures of them such as the prior: an "
        "interior-point method eliminates every column by a weighted Laplacian of their graph, and "
        "takes pairs in as columns come near them"
    )
    source = "Mehrotra1992"

    def __init__(self, options: GraphOptions = DEFAULTS, symmetry: bool = True) -> None:
        self.options, self.symmetry = options, symmetry

    def condition(self, program: LinearProgram) -> str | None:
        """Applies where bounds compare two symbols, and few mixtures, at positive levels."""
        found = graph_of(program)
        if isinstance(found, str):
            return found
        n, m = program.shape
        large = n * n * m * 8 > MOST_MEMORY and self._closed(program, found) is None
        if large or len(found.arcs) * m > MOST_ARCS:
            return (
                "there are too many pairs and outputs for its memory; take fewer symbols, or "
                "md.places.two_levels where they are places"
            )
        return None

    def _closed(self, program: LinearProgram, graph: Graph) -> Remapped | None:
        """The closed form on a line, where it is optimal."""
        found = remapped(_scaled(program)[2], graph.arcs) if self.symmetry else None
        return found if found is not None and found.gap <= self.options.tolerance else None

    def solve(self, program: LinearProgram) -> Candidate:
        """Solve on one output of each orbit, and copy what was found to the others."""
        graph = graph_of(program)
        assert isinstance(graph, Graph)
        width, shift, c = _scaled(program)
        if (closed := self._closed(program, graph)) is not None:
            return Candidate(
                closed.columns,
                Duals(
                    closed.prices * width + shift,
                    graph.multipliers(program, closed.arcs, closed.outputs, closed.values * width),
                ),
                "geometric mechanism with its reports mapped to the best outputs",
                {"iterations": "0", "converged": "True", "outputs": str(program.shape[1])},
            )
        symmetry = symmetry_of(c, generators(c, graph.arcs) if self.symmetry else [])
        rows, chosen = symmetry.rows, symmetry.outputs
        first = graph.first
        options = self.options
        block = max(1, options.block // max(1, int(first.sum())))
        with one_thread():
            newton = Newton(
                c[:, chosen],
                symmetry.counts,
                graph.arcs,
                first,
                rows,
                options,
                block,
            )
            iterations, converged = newton.run()
        point = newton.point()
        if not np.isfinite(point.columns).all():
            raise SolverError(f"the method broke down on {program}; try solver='clarabel' instead")
        spread = symmetry.spread(graph.arcs, point.arcs, point.outputs, point.values * width)
        return Candidate(
            np.maximum(symmetry.columns(point.columns), 0.0),
            Duals(point.prices * width + shift, graph.multipliers(program, *spread)),
            "graph interior point",
            {
                "iterations": str(iterations),
                "converged": str(converged),
                "outputs": str(len(chosen)),
            },
        )


def _scaled(program: LinearProgram) -> tuple[float, Array, Array]:
    """The range of gains, the largest objective of each symbol, and the rest over that range."""
    width, shift = program.gain_range or 1.0, program.objective.max(axis=1)
    return width, shift, (program.objective - shift[:, None]) / width
