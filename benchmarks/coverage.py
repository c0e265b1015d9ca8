"""How often intervals hold the truth: simulated surveys of many kinds, beside Wald's intervals.

``python -m benchmarks.coverage run`` simulates every cell, ``table`` writes ``coverage.md``. A cell
is a kernel, a true share and a number of reports; 95 % is asked. A cell that holds fewer than 94 of
100 truths in 2,000 surveys is simulated again with 20,000, as the lowest of many cells is low by
chance. What is expected: 94 of 100 everywhere (92.5 of 100 where intervals are about these people
alone), and widths as Wald's where those hold; Wald's hold where some 10 people and more have each
answer, and fail below.
"""

from __future__ import annotations

import datetime
import json
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .readme import read_rows, write_page
from .runner import machine
from .simulated_surveys import (
    KERNELS,
    Held,
    Simulated,
    Simulation,
    clusters_of,
    many_weights,
    of_cells,
    of_changes,
    of_differences,
    of_population,
    of_rounds,
    of_samples,
    of_shares,
    pairs_of,
    strata_of,
    tied_weights,
    weights_of_two,
)

HERE = Path(__file__).parent
RESULTS, TABLE = HERE / "coverage.jsonl", HERE / "coverage.md"
SHARES = (0.0, 0.001, 0.01, 0.1, 0.5)
SIZES = (10, 30, 100, 1_000, 10_000)
REPETITIONS, AGAIN = 2_000, 20_000
#: Surveys of each kind and kernel that the public function estimates too, and of which cell.
PUBLIC, PUBLIC_CELL = 10, (0.1, 100)
#: Below this a cell is simulated again; where intervals are about these people it may be less.
ENOUGH, THESE = 0.94, 0.925
#: How wide intervals may be beside Wald's where those hold.
WIDEST = 1.1
#: Tosses of a coin on its rarer side below which nothing is normal: 100 reports at a share of .1.
FEW_EVENTS = 10
#: Cells whose intervals are wider all the same, by reason.
WIDE = {
    reason: {tuple(key) for key in keys}
    for reason, keys in json.loads(
        Path(__file__).with_name("coverage_wide.json").read_text(encoding="utf-8")
    ).items()
}
#: What is recorded of a cell: our rate and Wald's, where they are asked for the ratio of widths and
#: the number of events, and our rate when simulated again.
CELL = ("share", "reports", "held", "wald", "width", "events", "again")

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


# All of them

USUAL = tuple(name for name in KERNELS if not name.endswith(", 50"))
LARGE = tuple(name for name in USUAL if not name.endswith(", 2"))
SMALL = tuple(name for name in KERNELS if name.endswith((", 2", ", 3")))
THREE = tuple(name for name in KERNELS if name.endswith(", 3"))
MOST = (*LARGE, "useless row, 50")


@dataclass(frozen=True)
class Kind:
    """What is simulated.

    Attributes
    ----------
    simulate, kernels, sizes : how, under which kernels, with how many reports
    these : whether intervals are about these people alone
    compared : whether widths are compared with Wald's: not where a group has a share of zero
    """

    simulate: Simulation
    kernels: tuple[str, ...] = THREE
    sizes: tuple[int, ...] = SIZES
    these: bool = False
    compared: bool = True

    @property
    def enough(self) -> float:
        """What must be held."""
        return THESE if self.these else ENOUGH


KINDS = {
    "shares": Kind(of_shares(False), USUAL),
    "shares, all others alike": Kind(of_shares(False, alike=True), MOST),
    "shares of these people": Kind(of_shares(True), USUAL, these=True),
    "shares of these people, all others alike": Kind(of_shares(True, alike=True), MOST, these=True),
    "means of numbers": Kind(of_shares(False, numbers=True), LARGE),
    "means of numbers of these people": Kind(of_shares(True, numbers=True), LARGE, these=True),
    "cells of two columns": Kind(of_cells(False), SMALL),
    "cells of two columns of these people": Kind(of_cells(True), SMALL, these=True),
    "rounds, the same people": Kind(of_rounds(True), SMALL),
    # Ten people and more in each round: the public function refuses fewer.
    "rounds, other people": Kind(of_rounds(False), SMALL, SIZES[1:]),
    "differences of groups": Kind(of_differences(False), SMALL),
    "differences from a group that has none": Kind(of_differences(True), SMALL, compared=False),
    "changes of the same people": Kind(of_changes(1.0), SMALL),
    "changes of rounds that share half": Kind(of_changes(0.5), SMALL),
    "weights 1 and 2": Kind(of_samples(weights_of_two)),
    "weights tied to secrets": Kind(of_samples(tied_weights())),
    "weights tied to secrets, one stratum": Kind(of_samples(tied_weights(strata=1))),
    "weights tied to secrets in part": Kind(of_samples(tied_weights(0.3))),
    "weights tied to secrets, these people": Kind(of_samples(tied_weights(), True), these=True),
    "weights tied to other secrets": Kind(of_samples(tied_weights(light=True))),
    "weights tied to other secrets, these people": Kind(
        of_samples(tied_weights(light=True), True), these=True
    ),
    "weights of fifty sizes": Kind(of_samples(many_weights)),
    "weights of fifty sizes, these people": Kind(of_samples(many_weights, True), these=True),
    "five strata": Kind(of_samples(strata_of)),
    "strata of two people": Kind(of_samples(pairs_of), sizes=SIZES[:4]),
    "clusters at random": Kind(of_samples(clusters_of(0)), sizes=SIZES[1:]),
    "clusters half alike": Kind(of_samples(clusters_of(0.5)), sizes=SIZES[1:]),
    "clusters all alike": Kind(of_samples(clusters_of(1)), sizes=SIZES[1:]),
    "clusters, strata and weights": Kind(
        of_samples(clusters_of(0.5, weighted=True)), sizes=SIZES[1:]
    ),
    "half of a population": Kind(of_population(0.5)),
    "nine tenths of a population": Kind(of_population(0.9)),
    "all but a hundredth of a population": Kind(of_population(0.99), sizes=SIZES[2:]),
}


def simulated(
    kind: str, kernel: str, share: float, n: int, repetitions: int
) -> tuple[Simulated, np.random.Generator]:
    """The surveys of a cell, the same each time."""
    seed = zlib.crc32(f"{kind}/{kernel}/{share:g}/{n}/{repetitions}".encode())
    rng = np.random.default_rng(seed)
    return KINDS[kind].simulate(kernel, share, n, rng, repetitions), rng


def compared(kind: str, share: float, n: int) -> bool:
    """Whether widths are compared with Wald's."""
    return KINDS[kind].compared and n >= 100 and share >= 0.1


def measure(kind: str, kernel: str, share: float, n: int, repetitions: int = REPETITIONS) -> Held:
    """One cell."""
    surveys, rng = simulated(kind, kernel, share, n, repetitions)
    return surveys.held(compared(kind, share, n), rng)


def apart(kind: str, kernel: str, share: float, n: int, count: int = PUBLIC) -> float:
    """How far intervals of the public function are from ours in some surveys of a cell."""
    return simulated(kind, kernel, share, n, count)[0].apart(count)


def measured(kind: str, kernel: str, repetitions: int, again: int) -> dict[str, Any]:
    """A row: all cells of a kernel, those that hold too little measured again."""
    start = time.process_time()
    cells = []
    for share in SHARES:
        for n in KINDS[kind].sizes:
            found = measure(kind, kernel, share, n, repetitions)
            rate = found.ours / found.surveys
            low = rate < ENOUGH and again > 0
            more = measure(kind, kernel, share, n, again) if low else None
            cell = (
                share,
                n,
                rate,
                found.wald / found.surveys,
                None if found.width is None else round(found.width, 4),
                None if found.events is None else round(found.events, 1),
                None if more is None else more.ours / more.surveys,
            )
            cells.append(dict(zip(CELL, cell, strict=True)))
    seconds = round(time.process_time() - start, 2)
    return {
        "kind": kind,
        "kernel": kernel,
        "repetitions": repetitions,
        "again": again,
        "seconds": seconds,
        "public": apart(kind, kernel, *PUBLIC_CELL),
        "cells": [list(cell.values()) for cell in cells],
    }


@app.command()
def run(
    select: Annotated[str, typer.Option(help="Only kinds whose name contains this.")] = "",
    kernel: Annotated[str, typer.Option(help="Only kernels whose name contains this.")] = "",
    repeat: Annotated[int, typer.Option(help="Surveys of each cell.")] = REPETITIONS,
    again: Annotated[int, typer.Option(help="Surveys of a cell that held too little.")] = AGAIN,
    keep: Annotated[bool, typer.Option(help="Leave out what the file holds already.")] = False,
    output: Annotated[Path, typer.Option(help="Rows are appended here.")] = RESULTS,
) -> None:
    """Simulate all cells: some twenty minutes of one processor."""
    stamp = {"date": datetime.date.today().isoformat(), "machine": machine()}
    known = read_rows(output) if keep and output.exists() else []
    done = {(row["kind"], row["kernel"]) for row in known}
    with output.open("a", encoding="utf-8") as file:
        for kind, what in KINDS.items():
            for name in what.kernels:
                if select not in kind or kernel not in name or (kind, name) in done:
                    continue
                row = measured(kind, name, repeat, again)
                file.write(json.dumps({**row, **stamp}) + "\n")
                file.flush()
                low = min(cell["rate"] for cell in cells_of([row]))
                typer.echo(f"{kind}, {name}: at least {low:.4f}, {row['seconds']:.1f} s", err=True)


# What was found


def cells_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells of the last row of each kind and kernel, with what was found last: ``rate``."""
    found = []
    for (kind, name), row in {(row["kind"], row["kernel"]): row for row in rows}.items():
        for values in row["cells"]:
            cell = dict(zip(CELL, values, strict=True))
            rate = cell["held"] if cell["again"] is None else cell["again"]
            found.append({**cell, "kind": kind, "kernel": name, "rate": rate})
    return found


def too_low(cell: dict[str, Any]) -> bool:
    """Whether a cell holds fewer truths than it must."""
    return bool(cell["held"] < THESE or cell["rate"] < KINDS[cell["kind"]].enough)


def wald_holds(cell: dict[str, Any]) -> bool:
    """Whether Wald's interval holds what is asked, so that widths are compared."""
    return cell["width"] is not None and cell["wald"] >= ENOUGH


def too_wide(cell: dict[str, Any]) -> bool:
    """Whether intervals are wider than they may be beside Wald's, which hold there."""
    return wald_holds(cell) and cell["width"] > WIDEST


def key_of(cell: dict[str, Any]) -> tuple[str, str, float, int]:
    """Which cell it is."""
    return cell["kind"], cell["kernel"], cell["share"], cell["reports"]


def few_events(cell: dict[str, Any]) -> bool:
    """Whether hardly anything that is left to chance falls on the rarer side.

    Of these people nothing but what the mechanism does is: where few of their reports are wrong,
    the number of reports says nothing of how normal an estimate is.
    """
    return KINDS[cell["kind"]].these and cell["events"] < FEW_EVENTS


def _where(cell: dict[str, Any]) -> str:
    return f"{cell['kernel']}; share {cell['share']:g}, {cell['reports']:,} reports"


def _table(head: str, rows: list[list[Any]]) -> list[str]:
    """A table below a blank line."""
    columns = head.split(" | ")
    lines = [columns, ["---"] * len(columns), *rows]
    return ["", *("| " + " | ".join(map(str, line)) + " |" for line in lines)]


def _lowest(cells: list[dict[str, Any]]) -> dict[str, Any]:
    return min(cells, key=lambda cell: cell["rate"])


def _exceptions(cells: list[dict[str, Any]]) -> list[str]:
    """All cells whose intervals are wider than they may be, and why."""
    wide = [cell for cell in cells if too_wide(cell)]
    few = [cell for cell in wide if few_events(cell)]
    lines = ["", f"## Wider than {WIDEST} of Wald's", ""]
    lines += [
        f"{len(wide)} cells, all there are. Of these people ({len(few)} of these cells) chance has "
        "nothing but the mechanism: where on average fewer than ten tosses of the coin that an "
        "interval comes from fall on its rarer side, as next to no report is wrong, Wald's "
        "intervals are as wide as what was seen of wrong reports, which may be none.",
    ]
    shown: dict[tuple[str, str], list[str]] = {}
    for cell in few:
        what = f"{cell['share']:g}, {cell['reports']:,}: {cell['width']:.2f}"
        shown.setdefault((cell["kind"], cell["kernel"]), []).append(what)
    rows = [[*key, "; ".join(what)] for key, what in shown.items()]
    lines += _table("what is estimated | kernel | share, reports: width of Wald's", rows)
    for reason, keys in WIDE.items():
        mine = [cell for cell in wide if key_of(cell) in keys and not few_events(cell)]
        lines += ["", f"{reason}:"]
        rows = [
            [c["kind"], _where(c), f"{c['width']:.2f}", f"{c['rate']:.4f}", f"{c['wald']:.4f}"]
            for c in mine
        ]
        lines += _table("what is estimated | where | width | held | Wald's held", rows)
    return lines


def markdown(rows: list[dict[str, Any]]) -> str:
    """What was found, by what was simulated, by share and reports, and by kernel."""
    cells = cells_of(rows)
    dates = sorted({row["date"] for row in rows})
    last = {(row["kind"], row["kernel"]): row for row in rows}.values()
    again = [cell for cell in cells if cell["again"] is not None]
    low = sum(too_low(cell) for cell in cells)
    wide = np.array([cell["width"] for cell in cells if wald_holds(cell)])
    lines = [
        f"Intervals of 95 % in {len(cells):,} cells of {len({c['kernel'] for c in cells})} "
        f"kernels, {max(row['repetitions'] for row in rows):,} surveys each, simulated "
        + " to ".join(dict.fromkeys((dates[0], dates[-1])))
        + f" in {sum(row['seconds'] for row in last) / 60:.0f} minutes of one processor "
        f"({', '.join(sorted({row['machine'] for row in rows}))}). {len(again)} cells that held "
        f"fewer than {ENOUGH:.0%} were simulated again with {AGAIN:,} surveys; theirs is the rate "
        f"that is given. {low or 'None'} of all cells {'hold' if low else 'holds'} less than "
        f"{ENOUGH:.0%}, or less than {THESE:.1%} where intervals are about these people alone.",
        "",
        f"{PUBLIC} surveys of each kind and kernel were estimated by the public functions too "
        "(`estimate`, `estimate_joint`, `estimate_rounds`, differences of groups, "
        "`estimate_change`): no end differs by more than "
        f"{max(row['public'] for row in last):.0e} from what is simulated.",
        "",
    ]
    for name, these in (("the population", False), ("these people alone", True)):
        some = [cell for cell in cells if KINDS[cell["kind"]].these == these]
        if some:
            cell = _lowest(some)
            lines += [
                f"The lowest about {name}: **{cell['rate']:.4f}** ({cell['kind']}: "
                f"{_where(cell)}).",
                "",
            ]
    if wide.size:
        lines += [
            f"Where Wald's intervals hold {ENOUGH:.0%} (100 reports and more, shares .1 and .5: "
            f"{len(wide)} cells), widths are {np.median(wide):.3f} of theirs in the median, and "
            f"more than {WIDEST} of theirs in {int((wide > WIDEST).sum())} cells, which are listed "
            "below.",
        ]
    found: list[list[Any]] = []
    for kind in KINDS:
        mine = [cell for cell in cells if cell["kind"] == kind]
        if mine:
            widths = [c["width"] for c in mine if wald_holds(c)]
            worst = _lowest(mine)
            found.append(
                [
                    kind,
                    len(mine),
                    f"{worst['rate']:.4f}",
                    _where(worst),
                    f"{min(c['wald'] for c in mine):.3f}",
                    sum(c["wald"] < THESE for c in mine),
                    f"{np.median(widths):.3f}" if widths else "",
                    f"{max(widths):.3f}" if widths else "",
                ]
            )
    head = "what is estimated | cells | lowest | where | Wald's lowest | cells where Wald's hold "
    lines += _table(head + "less than 92.5 % | median width | largest", found)
    lines += ["", "Lowest rate by share and reports, Wald's in brackets:"]
    found = []
    for share in SHARES:
        row = [f"{share:g}"]
        for n in SIZES:
            mine = [c for c in cells if (c["share"], c["reports"]) == (share, n)]
            least = min((c["wald"] for c in mine), default=0)
            row.append(f"{_lowest(mine)['rate']:.3f} ({least:.3f})" if mine else "")
        found.append(row)
    lines += _table("share | " + " | ".join(f"{n:,}" for n in SIZES), found)
    found = []
    for name in KERNELS:
        mine = [cell for cell in cells if cell["kernel"] == name]
        if mine:
            least = min(c["wald"] for c in mine)
            found.append([name, len(mine), f"{_lowest(mine)['rate']:.4f}", f"{least:.3f}"])
    lines += _table("kernel | cells | lowest | Wald's lowest", found)
    return "\n".join([*lines, *_exceptions(cells)])


@app.command()
def table(
    results: Annotated[Path, typer.Option(help="Rows to read.")] = RESULTS,
    output: Annotated[Path, typer.Option(help="Page to write.")] = TABLE,
) -> None:
    """Write the page from the rows."""
    write_page(output, markdown(read_rows(results)))


if __name__ == "__main__":
    app()
