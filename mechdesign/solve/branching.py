"""Branch and bound over blocks of nodes: many nodes at once, so that NumPy does the work.

Used to price columns: to find columns worth more than a floor, or to prove that there are none.
"""

from __future__ import annotations

import heapq
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import clock
from .columns import Columns

#: Nodes of one block.
BLOCK = 1024

Nodes = tuple[NDArray[Any], ...]


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found.

    Attributes
    ----------
    columns, values : columns worth more than the floor, best first
    upper : proven upper bound on the worth of every column (at least the floor)
    complete : whether the whole tree was searched, so that ``upper`` is the floor or, up to
        rounding, the best value
    """

    columns: Columns | None
    values: NDArray[np.float64]
    upper: float
    complete: bool

    @property
    def count(self) -> int:
        """Number of columns found."""
        return len(self.values)


@dataclass
class Budget:
    """How long a search may take: nodes, and a moment on the :mod:`.clock`."""

    nodes: float = math.inf
    deadline: float = math.inf

    def moment(self, share: float) -> float:
        """The moment at which a share of the time that is left has passed."""
        now = clock.now()
        return now + share * max(self.deadline - now, 0.0)

    @property
    def is_over(self) -> bool:
        """Whether the moment has passed."""
        return clock.now() > self.deadline


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Relaxations of B nodes over G groups, in the order in which groups are filled.

    Attributes
    ----------
    possible : whether the node can hold a column
    bound : what no column in it exceeds
    counts : ``(B, G)`` symbols raised, the partly filled group rounded down
    critical : the group that is partly filled (G where all are full)
    over : mass of that group left over by rounding down
    """

    possible: NDArray[np.bool_]
    bound: NDArray[np.float64]
    counts: NDArray[np.float64]
    critical: NDArray[np.intp]
    over: NDArray[np.float64]


class Search(ABC):
    """Branch and bound for one pricing problem."""

    #: Groups in the order in which they are filled; worth or price per mass and mass of one symbol
    #: of each, in that order.
    order: NDArray[np.intp]
    density: NDArray[np.float64]
    units: NDArray[np.float64]

    @abstractmethod
    def root(self) -> Nodes:
        """One node that holds every column."""

    @abstractmethod
    def relax(self, nodes: Nodes) -> Relaxed:
        """The relaxation of every node."""

    def settled(self, nodes: Nodes, b: int) -> int | None:
        """The group whose symbol is partly raised in a node, where that is settled."""
        return None

    @abstractmethod
    def expand(
        self, nodes: Nodes, floor: float
    ) -> tuple[
        list[tuple[Columns, NDArray[np.float64]]], list[tuple[Nodes, NDArray[np.float64]]], float
    ]:
        """Columns worth more than ``floor`` met on the way, children with upper bounds, and the
        largest bound of the nodes that are closed.

        Children hold whatever their parent holds. Nodes that hold no column above the floor have
        no children; no more have those whose relaxation is a column up to rounding, and what such
        a node may hold beyond that column is told by its bound.
        """

    def run(self, floor: float, wanted: int, budget: Budget) -> Found:
        """Search until nothing above the floor is left, or enough is found, or time is up."""
        heap: list[tuple[float, int, Nodes]] = [(-math.inf, 0, self.root())]
        met: list[tuple[Columns, NDArray[np.float64]]] = []
        count = visited = ticks = 0
        settled = floor
        while heap and count < wanted and visited < budget.nodes and not budget.is_over:
            _, _, nodes = heapq.heappop(heap)
            visited += len(nodes[0])
            columns, children, closed = self.expand(nodes, floor)
            met += columns
            settled = max(settled, closed)
            count += sum(len(values) for _, values in columns)
            if not children:
                continue
            bounds = np.concatenate([b for _, b in children])
            joined = tuple(
                np.concatenate([part[i] for part, _ in children]) for i in range(len(nodes))
            )
            order = np.argsort(-bounds)
            for start in range(0, len(order), BLOCK):
                chosen = order[start : start + BLOCK]
                ticks -= 1  # among equal bounds the newest first, which is the deepest
                block = tuple(part[chosen] for part in joined)
                heapq.heappush(heap, (-float(bounds[chosen[0]]), ticks, block))
        upper = max([settled, *(-key for key, _, _ in heap[:1])])
        if not met:
            return Found(None, np.empty(0), upper, not heap)
        values = np.concatenate([v for _, v in met])
        order = np.argsort(-values, kind="stable")
        columns_met = Columns.join([c for c, _ in met]).take(order)
        return Found(columns_met, values[order], max(upper, float(values.max())), not heap)
