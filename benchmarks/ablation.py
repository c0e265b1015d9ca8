"""What each technique of column generation buys: ``python -m benchmarks ablation``.

Every technique is switched off in turn, and the search ends after the same work. Work is counted,
not timed, so that rows are the same on every machine: entries of nodes that branch and bound
relaxes, subsets that meeting in the middle lists and searches, and entries of the restricted
program each time it is solved. A search that is left to itself would end at the same
optimum; the table shows how far it comes. For windows, which do not search, the gap to the
universal bound is shown. Methods that are made for one kind of problem stand beside the next best
one for it, in seconds of one thread of the processor.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.table import Table

import mechdesign as md
from mechdesign import clock
from mechdesign.certificate.columns.branch_and_bound import (
    LiftSearch,
    StaircaseSearch,
    universal_bound,
)
from mechdesign.certificate.columns.families import Family, family_of
from mechdesign.certificate.columns.pricing import Pricer, Techniques
from mechdesign.certificate.columns.subsets import Halves
from mechdesign.program.problem import state_problem
from mechdesign.program.program import SublinearProgram
from mechdesign.solve.column_generation.master import Master, Mixture
from mechdesign.solve.column_generation.method import generate
from mechdesign.solve.column_generation.window import window_columns
from mechdesign.solve.differences import Differences

from .cases import Case

RESULTS = Path(__file__).parent / "ablation.jsonl"

#: Entries that a search may work through, in millions.
LIMIT = 20.0
#: What is switched off, by the name of the row.
VARIANTS = {
    "everything": Techniques(),
    "no halves": Techniques(halves=False),
    "no perturbed orders": Techniques(perturbed=False),
    "no fitted first columns": Techniques(fitted=False),
    "branch and bound alone": Techniques(False, False, False),
}
CASES = tuple(
    Case("ablation", n, n, notion, "information", prior, level)
    for n, notion, prior, level in (
        (16, "LDP", "zipf", 1.0),
        (30, "PML", "zipf", 1.0),
        (30, "LIP", "dirichlet", 1.0),
        (50, "LIP", "dirichlet", 1.0),
        (50, "LDP", "zipf", 1.0),
        (100, "PML", "zipf", 2.5),
    )
)
WINDOWS = tuple(
    Case("windows", n, n, notion, "information", "dirichlet")
    for n in (100, 1000)
    for notion in ("LDP", "PML", "LIP")
)


def method_cases() -> dict[str, tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...]]]:
    """Problems by what is special about them: arguments of a design, and the method that is chosen
    with the next best.
    """
    rng = np.random.default_rng(1)

    def prior(n: int) -> md.Prior:
        return md.Prior.from_counts(rng.integers(1, 1000, n).tolist())

    cells = [(a, b) for a in range(10) for b in range(10)]
    apart = np.abs(np.array(cells)[:, None] - np.array(cells)[None]).sum(axis=2).astype(float)
    loss, information = md.utility.Distance("absolute"), md.utility.MutualInformation()
    zeros = {"subject_to": md.require.zero(farther_than=30)}
    floors = {"subject_to": md.require.diagonal(at_least=0.005)}
    mixtures = md.Pufferfish(1.0, {k: list(range(k, 100, 5)) for k in range(5)})
    plain, general = Differences(symmetry=False), ("structured", "clarabel", "highs-ipm")
    line, columns = md.MetricPrivacy(0.04, "absolute"), ("fitted-columns", "column-generation")
    square = md.Prior.uniform(cells), md.utility.Matrix(-apart), md.MetricPrivacy(0.5, apart)
    return {
        "lift and ratio, 100": ((prior(100), loss, [md.LDP(1), md.PML(0.5)]), {}, general[:2]),
        "zeros, 100": ((prior(100), loss, md.PML(1)), zeros, general),
        "floors, 100": ((prior(100), loss, md.LDP(1)), floors, general[:2]),
        "line, 100": (
            (prior(100), loss, line),
            {},
            ("differences", plain),
        ),
        "square of symmetries, 100": (square, {}, ("differences", plain)),
        "mixtures, 100": ((prior(100), loss, mixtures), {}, ("highs-simplex", "clarabel")),
        "information, 200": (
            (prior(200), information, md.LDP(1)),
            {},
            columns,
        ),
    }


def beside(name: str) -> Iterator[dict[str, Any]]:
    """Rows of the methods for a problem."""
    asked, more, methods = method_cases()[name]
    for method in ("highs-ipm", "clarabel"):  # what is loaded on first use
        md.design(md.Prior.uniform(30), md.utility.Hamming(), md.PML(1), solver=method)
    for method in methods:
        start = time.process_time()
        found = md.design(*asked, solver=method, **more)
        variant = method if isinstance(method, str) else f"{method.name}, plain"
        seconds = round(time.process_time() - start, 2)
        row = {"case": name, "variant": variant, "gap": found.gap, "value": found.value}
        yield {**row, "seconds": seconds}


@dataclass
class Work:
    """Counts of one search; as a clock it shows the entries so far in millions."""

    nodes: int = 0
    rounds: int = 0
    columns: int = 0
    entries: int = 0

    def __call__(self) -> float:
        return self.entries / 1e6

    def expanding(self, _: Any, search: Any, nodes: Any) -> None:
        self.nodes += len(nodes.least)
        self.entries += nodes.least.size

    def listing(self, _: Any, halves: Halves, *__: Any) -> None:
        self.entries += sum(len(masses) for masses, _ in halves.lists)

    def searching(self, _: Any, halves: Halves, __: Any, remainders: Any, *___: Any) -> None:
        self.entries += len(remainders) * sum(len(masses) for masses, _ in halves.lists)

    def mixing(self, found: Mixture, master: Master) -> None:
        self.rounds, self.columns = self.rounds + 1, len(master)
        self.entries += len(master) * len(found.prices)


@contextmanager
def counted() -> Iterator[Work]:
    """Searches count their work, and read it as their clock."""
    work = Work()

    def counting(method: Callable[..., Any], count: Callable[..., None]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            found = method(*arguments)
            count(found, *arguments)
            return found

        return called

    with ExitStack() as stack:
        stack.enter_context(patch.object(clock, "now", work))
        for cls, name, count in (
            (LiftSearch, "expand", work.expanding),
            (StaircaseSearch, "expand", work.expanding),
            (Halves, "__init__", work.listing),
            (Halves, "search", work.searching),
            (Master, "solve", work.mixing),
        ):
            stack.enter_context(patch.object(cls, name, counting(getattr(cls, name), count)))
        yield work


def family(case: Case) -> Family:
    """The extreme columns of a case."""
    p, _ = case.arrays()
    notion = getattr(md, case.notion)(case.level)
    program = state_problem(md.Prior(p.tolist()), md.utility.MutualInformation(), notion).program
    assert isinstance(program, SublinearProgram)
    found = family_of(program)
    assert not isinstance(found, str)
    return found


def searched(case: Case, variant: str, limit: float = LIMIT) -> dict[str, Any]:
    """A row of column generation with a technique switched off."""
    with counted() as work:
        found = generate(Pricer(family(case), VARIANTS[variant]), limit)
    gap = (found.upper - found.value) / found.value
    return {"case": case.name, "variant": variant, "gap": gap, "value": found.value, **asdict(work)}


def windowed(case: Case, paired: bool) -> dict[str, Any]:
    """A row of the window mechanism, with symbols ordered for it or as they come."""
    columns = family(case)
    deviations, shares = window_columns(columns, paired=paired)
    groups = columns.groups
    value = float(shares @ (columns.curve(deviations) @ groups.spread(groups.masses)))
    gap = (universal_bound(columns) - value) / value
    variant = "everything" if paired else "symbols as they come"
    return {"case": f"window {case.name}", "variant": variant, "gap": gap, "value": value}


def rows(select: str = "") -> Iterator[dict[str, Any]]:
    """Every row, one after the other."""
    for case in CASES:
        if select in case.name:
            yield from (searched(case, variant) for variant in VARIANTS)
    for case in WINDOWS:
        if select in f"window {case.name}":
            yield from (windowed(case, paired) for paired in (True, False))
    for name in method_cases():
        if select in f"method {name}":
            yield from beside(name)


def write(found: Iterable[dict[str, Any]], output: Path) -> list[dict[str, Any]]:
    """Rows kept in a file, as they come."""
    kept = []
    with output.open("w", encoding="utf-8") as file:
        for row in found:
            file.write(json.dumps(row) + "\n")
            file.flush()
            kept.append(row)
    return kept


def print_rows(found: list[dict[str, Any]]) -> None:
    """The table: gap after the same work, and the counts."""
    table = Table(
        "case", "variant", "gap", "value", "nodes", "rounds", "columns", "entries", "seconds"
    )
    for row in found:
        counts = [f"{row[name]:,}" if name in row else "" for name in (*asdict(Work()), "seconds")]
        table.add_row(
            row["case"], row["variant"], f"{row['gap']:.1e}", f"{row['value']:.9g}", *counts
        )
    Console(width=160).print(table)
