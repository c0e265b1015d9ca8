"""What a method of the package buys over the next best one: ``python -m benchmarks.next_best``.

Processor seconds of one thread, one run each; the table is kept in ``next_best.md``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import mechdesign as md
from mechdesign.solve.differences import Differences


def cases() -> Iterator[tuple[str, tuple[Any, ...], tuple[Any, ...]]]:
    """What is asked, its arguments, and the methods that answer it, the package's own first."""
    rng = np.random.default_rng(1)
    for n in (60, 120):
        prior = md.Prior(rng.dirichlet(np.ones(n)), range(n))
        asked = prior, md.utility.Matrix(rng.random((n, n))), [md.LDP(1), md.PML(0.6)]
        yield f"lift and ratio, {n} symbols", asked, ("structured", "clarabel", "highs-ipm")
    for n in (100, 200):
        prior = md.Prior(rng.dirichlet(np.ones(n)), range(n))
        for notion in (md.LDP(1), md.LIP(1)):
            asked = prior, md.utility.MutualInformation(), notion
            yield (
                f"information, {n} symbols, {notion}",
                asked,
                ("fitted-columns", "column-generation"),
            )
    for side in (8, 12):
        cells = [(a, b) for a in range(side) for b in range(side)]
        asked = (
            md.Prior.uniform(cells),
            md.utility.Distance("euclidean"),
            md.MetricPrivacy(1, "euclidean"),
        )
        methods = Differences(), Differences(symmetry=False)
        yield f"a map of {side * side} equal cells, with symmetry and without", asked, methods
    for n in (50, 100):
        asked = md.Prior(rng.dirichlet(np.ones(n)), range(n)), md.utility.Distance("absolute")
        asked = *asked, md.MetricPrivacy(0.5, "absolute")
        yield (
            f"a line of {n}, closed form and blocks",
            asked,
            (Differences(), Differences(symmetry=False)),
        )


def main() -> None:
    """Print a line for each case."""
    for name, asked, methods in cases():
        told = []
        for method in methods:
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = md.design(*asked, solver=method, time_limit=20)
            told.append(f"{found.method} {time.process_time() - began:.2f} s, gap {found.gap:.0e}")
        print(f"| {name} | {' | '.join(told)} |", flush=True)


if __name__ == "__main__":
    main()
