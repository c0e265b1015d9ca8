"""Write ``designs.jsonl.gz``: what 300 designs are asked for, with their values and bounds.

Run from the root of the repository, where more is asked for than before::

    python tests/recorded/make.py tests/recorded/designs.jsonl.gz
"""

from __future__ import annotations

import gzip
import json
import sys
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from strategies import random_gains, random_level, random_masses

import mechdesign as md
from mechdesign.storage import to_json

KINDS = ("dirichlet", "zipf", "uniform", "atom 1e-6", "atom 1e-9")
LIFTS = ("PML", "PMC", "LIP", "ALIP", "LDP")


def linear(rng: np.random.Generator, number: int) -> tuple[Any, Any, Any]:
    """A linear utility under one or two of the basic notions."""
    n = int(rng.integers(2, 13)) if number % 10 else 40
    prior = md.Prior(random_masses(rng, n, KINDS[number % len(KINDS)]))
    m = n if number % 3 else int(rng.integers(2, 2 * n + 1))
    kind = number % 4
    if kind == 0 and m == n:
        utility: Any = md.utility.Distance("absolute")
    elif kind == 1 and m == n:
        utility = md.utility.Hamming()
    else:
        utility = md.utility.Matrix(random_gains(rng, n, m))
    return prior, utility, lift_notions(rng, 1 + (number % 7 == 0))


def lift_notions(rng: np.random.Generator, count: int) -> list[Any]:
    """Basic notions at levels between 0.05 and 5."""
    found = []
    for name in rng.choice(LIFTS, count, replace=False):
        levels = [random_level(rng, 0.05, 5) for _ in range(1 + (name == "ALIP"))]
        found.append(getattr(md, name)(*levels))
    return found


def informations(rng: np.random.Generator, number: int) -> tuple[Any, Any, Any]:
    """A sub-convex utility."""
    n = int(rng.integers(2, 8))
    kinds = (md.utility.MutualInformation, md.utility.TotalVariation, md.utility.ChiSquare)
    prior = md.Prior(random_masses(rng, n, KINDS[number % 4]))
    return prior, kinds[number % 3](), lift_notions(rng, 1)


def others(rng: np.random.Generator, number: int) -> tuple[Any, Any, Any]:
    """Notions with structure of their own, and sums over outcomes."""
    n = int(rng.integers(3, 7))
    prior = md.Prior(random_masses(rng, n, KINDS[number % 3]))
    level = random_level(rng, 0.1, 2)
    labels = list(prior.labels)
    pairs = list(pairwise(labels))
    parity = {label: i % 2 for i, label in enumerate(labels)}
    second = random_masses(rng, n, "dirichlet")
    distances = np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)
    notions = (
        lambda: md.DP(level, pairs),
        lambda: md.MetricPrivacy(level, distances),
        lambda: md.FeaturePML(level, parity),
        lambda: md.FeaturePMC(level, parity),
        lambda: md.RobustPML(level, [prior, md.Prior(second, labels)]),
        lambda: md.MaximalLeakage(level),
        lambda: md.MaximalCostLeakage(level),
        lambda: md.ApproximateLDP(level, 0.05),
        lambda: md.MIPrivacy(level / 4),
        lambda: md.FreeLunch(level),
    )
    utility = md.utility.Hamming() if number % 2 else md.utility.Matrix(random_gains(rng, n, n))
    return prior, utility, [notions[number % len(notions)]()]


def instances() -> Iterator[tuple[Any, Any, Any]]:
    """160 linear, 80 sub-convex and 60 other problems."""
    for make, count in ((linear, 160), (informations, 80), (others, 60)):
        for number in range(count):
            yield make(np.random.default_rng([count, number]), number)


def main(path: str) -> None:
    """Design every instance and write it as one line of JSON."""
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        for prior, utility, notions in instances():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = md.design(prior, utility, notions)
            saved = to_json(found)
            kept = {name: saved[name] for name in ("prior", "notions", "utility")}
            kept |= {name: saved["certificate"][name] for name in ("value", "bound")}
            kept["outputs"] = saved["mechanism"]["outputs"]
            file.write((json.dumps(kept, separators=(",", ":")) + "\n").encode())


if __name__ == "__main__":
    main(sys.argv[1])
