"""At most k outputs: branch and bound over which of them occur.

A node leaves some outputs out and wants some others to occur; its program is linear. Where that
says something, the sum of column maxima is limited by k as well, which no k outputs exceed. Where k
are wanted, all others are left out. A node whose kernel uses at most k outputs is solved; any other
is split by an output that it uses: one part wants it, the other leaves it out. The parts that are
not split any further cover every choice of k outputs, so the largest of their bounds is one for
all.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from .. import clock
from ..errors import SolverError
from ..exact import nearest_float
from ..linear.solvers import solved_candidate
from ..program.duals import Branch, Candidate, Duals
from ..program.program import LinearProgram
from .bounds import upper_bound
from .feasible import slack_duals

Array = NDArray[np.float64]

# Programs of one search, and smallest share of the outcomes that counts as an output.
MOST_PROGRAMS, _RARE = 4000, 1e-9
# Nodes whose bound is that little above a value are not split, as a share of the range of gains.
_ENOUGH = 1e-9


@dataclass(order=True)
class _Node:
    """A part of the search, the most promising first."""

    order: tuple[float, int]
    bound: float = field(compare=False)
    wanted: frozenset[int] = field(compare=False)
    excluded: frozenset[int] = field(compare=False)
    candidate: Candidate | None = field(compare=False)
    duals: Duals = field(compare=False)
    counted: bool = field(compare=False)


def search_outputs(program: LinearProgram) -> tuple[Candidate | None, Duals, dict[str, str]]:
    """The best kernel found with so many outputs, if any, dual variables of all parts, details."""
    search = _Search(program)
    leaves = search.run()
    branches = tuple(
        Branch(tuple(sorted(node.excluded)), node.duals, node.counted) for node in leaves
    )
    details = {"programs": str(search.solved), "parts": str(len(branches))}
    return search.best, replace(search.relaxed, branches=branches), details


class _Search:
    """The state of one search."""

    def __init__(self, program: LinearProgram) -> None:
        assert program.most_outputs is not None
        self.program, self.most = program, program.most_outputs
        self.stop = clock.now() + program.time_limit
        self.solved, self.value, self._count = 0, -np.inf, 0
        self.best: Candidate | None = None
        self._tried: set[frozenset[int]] = set()
        self._counted = False
        self.root = self._node(frozenset(), frozenset())
        self.relaxed = self.root.duals
        found = self.root.candidate
        if found is not None and found.kernel.max(axis=0).sum() > self.most * (1 + _RARE):
            self._counted = True
            self.root = self._node(frozenset(), frozenset())

    def run(self) -> list[_Node]:
        """The parts that are not split any further."""
        leaves: list[_Node] = []
        heap = [self.root]
        width = self.program.gain_range
        while heap:
            node = heapq.heappop(heap)
            used = self._used(node)
            done = node.bound <= self.value + _ENOUGH * width or len(used) <= self.most
            late = self.solved >= MOST_PROGRAMS or clock.now() > self.stop
            if done or late:
                leaves.append(node)
                continue
            y = next(y for y in used if y not in node.wanted)
            wanted = node.wanted | {y}
            if len(wanted) == self.most:
                others = frozenset(range(self.program.shape[1])) - wanted
                heapq.heappush(heap, self._node(wanted, others))
            else:
                self._tried.add(wanted)
                heapq.heappush(heap, replace(node, order=self._order(node.bound), wanted=wanted))
            heapq.heappush(heap, self._node(node.wanted, node.excluded | {y}))
        return leaves

    def _order(self, bound: float) -> tuple[float, int]:
        self._count += 1
        return -bound, self._count

    def _used(self, node: _Node) -> list[int]:
        """Outputs that a node's kernel uses, the most frequent first."""
        return [] if node.candidate is None else self._by_share(node.candidate.kernel)

    def _by_share(self, kernel: Array) -> list[int]:
        shares = kernel.mean(axis=0)
        return [y for y in np.argsort(-shares, kind="stable").tolist() if shares[y] > _RARE]

    def _node(self, wanted: frozenset[int], excluded: frozenset[int]) -> _Node:
        """A part of the search, solved; its best outputs are tried as a choice of their own."""
        candidate, duals, counted, bound = self._solve(excluded)
        if candidate is not None:
            used = self._by_share(candidate.kernel)
            if len(used) > self.most:
                first = [y for y in used if y in wanted] + [y for y in used if y not in wanted]
                self._try(frozenset(first[: self.most]))
            else:
                self._accept(candidate)
        return _Node(self._order(bound), bound, wanted, excluded, candidate, duals, counted)

    def _try(self, chosen: frozenset[int]) -> None:
        """The best kernel with some outputs alone."""
        if chosen in self._tried:
            return
        self._tried.add(chosen)
        candidate = self._solve(frozenset(range(self.program.shape[1])) - chosen)[0]
        if candidate is not None:
            self._accept(candidate)

    def _accept(self, candidate: Candidate) -> None:
        value = self.program.value(candidate.kernel)
        if value > self.value:
            self.best, self.value = candidate, value

    def _solve(self, excluded: frozenset[int]) -> tuple[Candidate | None, Duals, bool, float]:
        """Kernel, dual variables, whether column maxima are limited, and the proven bound of the
        program without some outputs.

        Without a kernel where a solver finds none; the dual variables then say what is proved.
        """
        self.solved += 1
        # Of at most k outputs the column maxima are at most k anyway.
        counted = self._counted and self.program.shape[1] - len(excluded) > self.most
        part = self.program.without_outputs(sorted(excluded), self.most if counted else None)
        if part.forbidden is not None and part.forbidden.all(axis=1).any():
            return None, Duals(), counted, -np.inf
        try:
            found = solved_candidate(part)
        except SolverError:
            duals = self._impossible(part)
            return None, duals, counted, nearest_float(upper_bound(part, duals)[0])
        return found, found.duals, counted, nearest_float(upper_bound(part, found.duals)[0])

    def _impossible(self, part: LinearProgram) -> Duals:
        """Dual variables that prove a part impossible, scaled so that its bound is below any value.

        Without a proof none, and the part keeps the bound that holds for any kernel.
        """
        bare = replace(part, stated=np.zeros(part.shape))
        found = slack_duals(bare)
        if found is None:
            return Duals()
        below = nearest_float(upper_bound(bare, found)[0])
        if below >= 0:
            return Duals()
        size = float(np.abs(part.gains).max())
        factor = max(8 * size / -below, 1.0)
        return found.mapped(lambda numbers: factor * numbers)
