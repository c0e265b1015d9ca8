"""What each heuristic of the interior point buys: ``python -m benchmarks ablation-interior-point``.

Every heuristic is switched off, or moved, in turn. Counted are iterations, factorised matrices,
eliminated columns times n² (what the factorised systems cost to form) and the certified gap at the
end, never seconds; so rows are the same on every machine up to rounding.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import mechdesign as md
from mechdesign.certificate.certificate import certify
from mechdesign.errors import CertificateError, SolverError
from mechdesign.program.duals import Candidate
from mechdesign.program.problem import Problem, state_problem
from mechdesign.program.program import LinearProgram
from mechdesign.solve.interior_point import Structured
from mechdesign.solve.interior_point.newton import StructuredOptions

from .readme import read_rows

HERE = Path(__file__).parent
ROWS, TABLE = HERE / "ablation_interior_point.jsonl", HERE / "ablation_interior_point.md"

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@dataclass(frozen=True)
class Instance:
    """One problem, or a path of problems whose levels grow, by name."""

    n: int
    notion: str
    utility: str
    prior: str
    levels: tuple[float, ...] = (1.0,)
    m: int = 0

    def __str__(self) -> str:
        """A readable identifier."""
        levels = f"{self.levels[0]:g}" + (f"–{self.levels[-1]:g}" if len(self.levels) > 1 else "")
        size = f"{self.n}x{self.m}" if self.m else str(self.n)
        return f"{size} {self.notion}({levels}) {self.utility}/{self.prior}"

    def problems(self) -> Iterator[Problem]:
        """The problems, made from the names alone."""
        n, rng = self.n, np.random.default_rng(0)
        dirichlet = rng.dirichlet(np.ones(n))
        masses = {
            "uniform": np.ones(n),
            "zipf": 1 / np.arange(1, n + 1),
            "dirichlet": dirichlet,
            "atom 1e-9": np.r_[1e-9, dirichlet[1:]],
            "atom .99": np.r_[0.99, np.full(n - 1, 0.01 / (n - 1))],
            "twelve decades": 10.0 ** -np.linspace(0, 12, n),
        }
        utility = {
            "random": lambda: md.utility.Matrix(np.random.default_rng(1).random((n, self.m or n))),
            "absolute": lambda: md.utility.Distance("absolute"),
        }[self.utility]()
        make: dict[str, Callable[[float], Any]] = {
            "PML": md.PML,
            "LDP": md.LDP,
            "ALIP": lambda level: md.ALIP(2 * level, level),
        }
        prior = md.Prior.from_counts(masses[self.prior])
        for level in self.levels:
            problem = state_problem(prior, utility, make[self.notion](level))
            yield problem


def _instances(
    sizes: Iterable[int], priors: Iterable[str], levels: Iterable[tuple[float, ...]]
) -> tuple[Instance, ...]:
    return tuple(
        Instance(n, notion, utility, prior, path)
        for n in sizes
        for prior in priors
        for utility in ("random", "absolute")
        for path in levels
        for notion in ("PML", "LDP", "ALIP")
    )


_PATH = tuple(float(level) for level in np.linspace(0.3, 2, 8))
INSTANCES: dict[str, tuple[Instance, ...]] = {
    "structured": _instances(
        (30, 100, 200), ("uniform", "zipf", "dirichlet", "atom 1e-9"), [(1.0,)]
    ),
    "structured, hard": _instances(
        (100,), ("atom .99", "twelve decades"), [(0.01,), (3.0,), (10.0,)]
    ),
    "structured, wide": tuple(
        Instance(20, notion, "random", "dirichlet", (level,), m)
        for m in (3_000, 20_000)
        for notion in ("PML", "LDP", "ALIP")
        for level in (0.3, 1.0, 3.0)
    ),
    "structured, large": tuple(
        Instance(n, notion, utility, prior)
        for n in (200, 300)
        for notion in ("PML", "LDP")
        for utility, prior in (("random", "dirichlet"), ("absolute", "zipf"))
    ),
    "warm starts": _instances((50, 120), ("zipf", "dirichlet"), [_PATH]),
    "warm starts, large": tuple(
        Instance(520, notion, utility, prior, (1.0, 1.1))
        for notion in ("PML", "LDP")
        for utility, prior in (("random", "dirichlet"), ("absolute", "zipf"))
    ),
}

#: Groups of instances, and what is changed in them; an empty change is what the package does.
VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "structured": {
        "as it is": {},
        "equal targets": {"target_power": 0.0},
        "second-order terms not clipped": {"clip": math.inf},
        "no second-order terms": {"clip": 0.0},
        "step share 0.9": {"step_share": 0.9},
        "step share 0.99999": {"step_share": 0.99999},
        "start 1": {"start": 1.0},
        "start 3": {"start": 3.0},
        "patience 5": {"patience": 5},
        "start 3, patience 5": {"start": 3.0, "patience": 5},
        "no regularisation": {"regularisation": 0.0},
        "row sums not restored": {"restores_rows": False},
        "no output dropped": {"vanished": 0.0},
        "outputs dropped to the end": {"drop_until": 0.0},
    },
    "structured, large": {
        "as it is": {},
        "outputs in step": {"own_steps": 1.0},
        "outputs four times as far": {"own_steps": 4.0},
        "steps of their own to the end": {"own_steps_until": 0.0},
        "steps of their own above 50,000 entries": {"own_entries": 50_000},
        "outputs dropped from a gap of 1e-2": {"warm_entries": 10**9},
        "no output returns before the end": {"return_from": 0.0},
        "outputs that returned stay": {"leaves_again": 0.0},
        "no output leaves before it is light": {"crowd_until": 1000},
    },
    "warm starts": {
        "as it is": {},
        "cold": {"cold": True},
        "from the outputs used": {"warm_entries": 0},
        "point kept at a gap of 1e-3": {"warm_gap": 1e-3},
        "point kept at a gap of 5e-2": {"warm_gap": 5e-2},
        "point kept for every size": {"warm_entries": 10**9},
    },
}
VARIANTS["structured, hard"] = VARIANTS["structured, wide"] = VARIANTS["structured"]
VARIANTS["warm starts, large"] = VARIANTS["warm starts"]


def measure(instance: Instance, change: dict[str, Any]) -> dict[str, Any]:
    """Counts over all problems of an instance, and their largest gap."""
    options = {name: value for name, value in change.items() if name != "cold"}
    method = Structured(replace(StructuredOptions(), **options))
    counts = {"iterations": 0, "factorisations": 0, "multiplications": 0}
    gaps, converged = [], True
    last: Candidate | None = None
    for problem in instance.problems():
        program = problem.program
        assert isinstance(program, LinearProgram)
        n, m = program.shape
        try:
            if last is None or change.get("cold"):
                found = method.solve(program)
            else:
                found = method.solve(program, last)
            gaps.append(certify(problem, found)[1].gap)
        except (SolverError, CertificateError):
            # The method broke down, which is a result as well.
            return {**counts, "gap": 1.0, "converged": False}
        steps = int(found.details["iterations"])
        counts["iterations"] += steps
        counts["factorisations"] += steps
        columns = int(found.details.get("eliminations", steps * m))
        counts["multiplications"] += columns * n * n
        converged &= found.details["converged"] == "True"
        last = found
    return {**counts, "gap": max(gaps), "converged": converged}


@app.command()
def run(
    group: Annotated[list[str] | None, typer.Option(help="Group; repeat it.")] = None,
    output: Annotated[Path, typer.Option(help="Rows are written here.")] = ROWS,
) -> None:
    """Measure every variant on every instance of the groups; each group's rows are replaced."""
    groups = group or list(INSTANCES)
    for name in groups:
        if name not in INSTANCES:
            raise typer.BadParameter(f"{name!r}; choose among {', '.join(INSTANCES)}")
    rows = [row for row in _read(output) if row["group"] not in groups]
    for name in groups:
        for variant, change in VARIANTS[name].items():
            for instance in INSTANCES[name]:
                found = measure(instance, change)
                rows.append({"group": name, "variant": variant, "instance": str(instance), **found})
            typer.echo(f"{name}: {variant}", err=True)
        output.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return read_rows(path)


def markdown(rows: list[dict[str, Any]]) -> str:
    """Sums over the instances of each group, as ratios to what the package does."""
    lines = []
    for group in dict.fromkeys(row["group"] for row in rows):
        of = [row for row in rows if row["group"] == group]
        base = _sums([row for row in of if row["variant"] == "as it is"])
        count = len({row["instance"] for row in of})
        lines += [
            f"**{group}**: {count} instances, {base['iterations']} iterations as it is.",
            "",
            "| variant | iterations | factorisations | multiplications | not converged "
            "| largest gap |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for variant in dict.fromkeys(row["variant"] for row in of):
            found = _sums([row for row in of if row["variant"] == variant])
            cells = [
                f"{found[name] / base[name]:.2f}"
                for name in ("iterations", "factorisations", "multiplications")
            ]
            cells += [str(found["failed"]), f"{found['gap']:.0e}"]
            lines.append(f"| {variant} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _sums(rows: list[dict[str, Any]]) -> dict[str, Any]:
    names = ("iterations", "factorisations", "multiplications")
    return {
        **{name: sum(row[name] for row in rows) for name in names},
        "failed": sum(not row["converged"] for row in rows),
        "gap": max(row["gap"] for row in rows),
    }


@app.command()
def table(
    rows: Annotated[Path, typer.Option(help="Rows to read.")] = ROWS,
    output: Annotated[Path, typer.Option(help="Where the table goes.")] = TABLE,
) -> None:
    """Write the table from the rows."""
    output.write_text(markdown(_read(rows)), encoding="utf-8")
    typer.echo(f"wrote {output}")


if __name__ == "__main__":
    app()
