"""Sub-convex utilities without a solver of this library: vertices of the lifts, listed.

A mechanism is a mixture of columns of lifts v = P(·|y)/P(·) with mean one; where lifts are bounded,
a utility that is convex in them is largest on vertices of that polytope, and a linear program over
the list of them finds its optimum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
from numpy.random import Generator

from .measurements import Array

#: A convex function of a column of lifts with mean one.
ColumnValue = Callable[[Array], float]


def lift_vertices(p: Array, low: float, high: float) -> Array:
    """Vertices of {v: Σ p v = 1, low ≤ v ≤ high}, one row each: at most one entry is inside."""
    found = []
    for free in range(len(p)):
        others = [x for x in range(len(p)) if x != free]
        for ends in product((low, high), repeat=len(others)):
            v = np.empty(len(p))
            v[others] = ends
            v[free] = (1 - p[others] @ v[others]) / p[free]
            if low - 1e-12 <= v[free] <= high + 1e-12:
                found.append(np.clip(v, low, high))
    return np.unique(np.round(found, 13), axis=0)


def best_value(p: Array, low: float, high: float, value: ColumnValue) -> float:
    """The largest Σ_y P(y) value(v_y) over mechanisms with lifts between two bounds."""
    from scipy.optimize import linprog

    vertices = lift_vertices(p, low, high)
    gains = np.array([value(v) for v in vertices])
    solved = linprog(-gains, A_eq=vertices.T, b_eq=np.ones(len(p)), bounds=(0, None))
    return float(-solved.fun) if solved.status == 0 else math.nan


def value_of(p: Array, kernel: Array, value: ColumnValue) -> float:
    """Σ_y P(y) value(v_y) of a kernel."""
    masses = p @ kernel
    return float(sum(q * value(column / q) for q, column in zip(masses, kernel.T, strict=True)))


def information_value(p: Array) -> ColumnValue:
    """Mutual information as a value of columns of lifts."""

    def value(v: Array) -> float:
        live = v > 0
        return float((p[live] * v[live] * np.log(v[live])).sum())

    return value


def some_values(rng: Generator, p: Array) -> dict[str, ColumnValue]:
    """Sub-convex utilities of several families, with random parameters, as values of columns."""
    order = float(rng.uniform(1.2, 5))
    gains = rng.uniform(-1, 1, (int(rng.integers(2, 6)), len(p)))
    weights = rng.uniform(0, 1, len(p))
    root = rng.normal(size=(len(p), len(p)))
    return {
        "mutual information": information_value(p),
        "Arimoto's norms": lambda v: float((p @ v**order) ** (1 / order)),
        "χ²": lambda v: float(p @ (v - 1) ** 2),
        "total variation": lambda v: float(p @ np.abs(v - 1)) / 2,
        "a weighted guess": lambda v: float((weights * p * v).max()),
        "the best of several gains": lambda v: float((gains @ (p * v)).max()),
        "a random quadratic form": lambda v: float(((root @ (p * v)) ** 2).sum()),
    }
