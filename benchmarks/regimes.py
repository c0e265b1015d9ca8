"""How long a comparison of regimes takes: ``python -m benchmarks.regimes``.

The occupations of Fair's survey, five notions, two utilities, thirty levels (or twenty losses):
every point is designed and certified. One line per way of matching, in one process and in two.
"""

from __future__ import annotations

import time
from typing import Annotated

import numpy as np
import typer

import mechdesign as md
from mechdesign._compare.path import MATCHES

NOTIONS = (md.PML, md.LIP, "alip:2e,e", md.PMC, md.LDP)
LEVELS = np.linspace(0.1, 3.0, 30)


def measure(match: str, jobs: int) -> tuple[float, md.Comparison]:
    """Seconds for one comparison, and what it found."""
    prior = {"occupation": md.Prior.from_csv("fair", "occupation")}
    goals = [md.utility.Hamming(), md.utility.MutualInformation()]
    levels = None if match == "loss" else LEVELS
    start = time.perf_counter()
    found = md.compare(prior, goals, NOTIONS, levels, match=match, jobs=jobs)
    return time.perf_counter() - start, found


def main(
    jobs: Annotated[list[int] | None, typer.Option(help="Processes; repeat it.")] = None,
) -> None:
    """Print the seconds, the number of points and the largest gap."""
    measure("epsilon", 1)  # what is loaded once is not counted
    for match in MATCHES:
        for count in jobs or [1, 2]:
            seconds, found = measure(match, count)
            typer.echo(
                f"{match:<8} {count} process{'es' if count > 1 else ''}: {seconds:6.1f} s, "
                f"{len(found)} points, largest gap {found.worst_gap:.1g}"
            )


if __name__ == "__main__":
    typer.run(main)
