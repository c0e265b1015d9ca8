"""How long it takes to start: ``python -m benchmarks.starting``.

Seconds of processor time in a fresh process, least of some rounds: the package on top of NumPy and
SciPy, all public names, a first design, and the command line. Exit code 1 when the import alone
takes longer than the limit.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated

import typer

SCRIPTS = {
    "import mechdesign": "import mechdesign",
    "every public name": "import mechdesign as md; [getattr(md, name) for name in md.__all__]",
    "a first design": (
        "import mechdesign as md; "
        "md.design(md.Prior([.5, .3, .2]), md.utility.Hamming(), md.PML(.5))"
    ),
    "mechdesign --version": "from mechdesign.cli import main; main(['--version'])",
}
_TIMED = """
import sys, time
import numpy, scipy
start = time.process_time()
{script}
print(time.process_time() - start, file=sys.stderr)
"""


def measure(script: str) -> float:
    """Seconds of processor time that a script takes in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _TIMED.format(script=script)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stderr.splitlines()[-1])


def main(
    rounds: Annotated[int, typer.Option(help="Rounds of each.")] = 3,
    limit: Annotated[float, typer.Option(help="Seconds that the import may take.")] = 0.3,
) -> None:
    """Measure and print."""
    found = {name: min(measure(s) for _ in range(rounds)) for name, s in SCRIPTS.items()}
    for name, seconds in found.items():
        typer.echo(f"{name:<22} {seconds:.3f} s")
    if found["import mechdesign"] > limit:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
