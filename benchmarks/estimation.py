"""Reports needed for one error: kernels designed for estimates beside protocols of the field.

``python -m benchmarks estimation run`` measures, ``table`` writes ``estimation.md``. Every case
is a prior, which is the truth too, a notion and a level. Beside the design of least risk stand
our kernels of most accuracy and of most information, and the protocols of ``frequency_oracles``
with the estimates of their papers; under PML, PMC and LIP each of these at the largest level of
its own that keeps the notion, with everything that may be chosen chosen best. What is expected:
under LDP subset selection is level with us for equal masses and within a few per cent for others,
randomised response near it for few symbols; under notions that know the prior all of them, which do
not, need several times the reports. Risks are predicted by formulas, and measured by surveys
that draw every report.
"""

from __future__ import annotations

import datetime
import json
import math
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import mechdesign as md
from mechdesign import clock

from .frequency_oracles import PROTOCOLS, LeastVariance, at_level
from .readme import read_rows, write_page
from .runner import machine

HERE = Path(__file__).parent
RESULTS, TABLE = HERE / "estimation.jsonl", HERE / "estimation.md"
SIZES = (4, 8, 12, 20, 50, 100)
NOTIONS = ("LDP", "PML", "LIP", "PMC")
COLUMNS = {
    "Titanic class": ("titanic", "class"),
    "Fair occupation": ("fair", "occupation"),
    "hair colour": ("hair_eye_colour", "hair"),
    "eye colour": ("hair_eye_colour", "eye"),
}
BEST, ACCURATE, INFORMED = "estimation", "accuracy", "information"
OTHER_LEVELS = (0.5, 2.0)
SURVEYS, PEOPLE = 2000, 100
#: The seed of the prior that is drawn from a Dirichlet distribution, all of whose parameters are 1.
DIRICHLET = 20261122

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@dataclass(frozen=True)
class Survey:
    """A prior by name, and what reports must keep."""

    prior: str
    size: int
    notion: str
    level: float = 1.0

    @property
    def name(self) -> str:
        """A readable identifier."""
        return f"{self.size} {self.prior}, {self.notion}({self.level:g})"

    def known(self) -> md.Prior:
        """The prior."""
        if self.prior in COLUMNS:
            return md.Prior.from_csv(*COLUMNS[self.prior])
        weights = {
            "uniform": np.ones,
            "1/x": lambda n: 1 / np.arange(1, n + 1),
            "Dirichlet": lambda n: np.random.default_rng(DIRICHLET).dirichlet(np.ones(n)),
        }[self.prior]
        return md.Prior.from_counts(weights(self.size))


def surveys(sizes: Iterable[int] = SIZES) -> list[Survey]:
    """All cases with so many symbols, the real columns among them; some of 50 at other levels."""
    found = [Survey(p, n, k) for n in SIZES for p in ("uniform", "1/x") for k in NOTIONS]
    found += [Survey("Dirichlet", 50, notion) for notion in NOTIONS]
    found += [
        Survey(prior, 50, notion, level)
        for prior in ("1/x", "Dirichlet")
        for notion in NOTIONS[:-1]
        for level in OTHER_LEVELS
    ]
    for column in COLUMNS:
        n = len(Survey(column, 0, "LDP").known())
        found += [Survey(column, n, notion) for notion in NOTIONS]
    kept = set(sizes)
    return [survey for survey in found if survey.size in kept]


def _measured(errors: np.ndarray) -> dict[str, float]:
    return {
        "measured": float(errors.mean()),
        "deviation": float(errors.std(ddof=1)) / math.sqrt(len(errors)),
    }


def measure_protocol(
    protocol: Any, truth: np.ndarray, repeat: int, people: int, seed: int
) -> dict[str, float]:
    """Error times reports over simulated surveys: the mean, and its standard error."""
    rng = np.random.default_rng(seed)
    symbols = rng.choice(len(truth), repeat * people, p=truth)
    parts = protocol.split(protocol.draw(symbols, rng), repeat)
    values = np.array([protocol.read(part) for part in parts])
    return _measured(people * ((values - truth) ** 2).sum(axis=1))


def measure_design(
    found: md.Design, truth: np.ndarray, repeat: int, people: int, seed: int
) -> dict[str, float]:
    """The same for a kernel of ours, with the weights that ``md.estimate`` uses."""
    from mechdesign.release._identifiability import ask, report_weights

    rng = np.random.default_rng(seed)
    symbols = rng.choice(len(truth), repeat * people, p=truth)
    # Of one seed, the secrets and their reports would come from the same random words.
    words = int(rng.integers(1 << 32))
    drawn = md.Sampler(found, rng=words).draw_codes(symbols).reshape(repeat, people)
    weights = report_weights(found.mechanism, ask(found.mechanism), truth)
    values = weights[drawn].mean(axis=1)
    return _measured(people * ((values - truth) ** 2).sum(axis=1))


def measure(
    survey: Survey,
    repeat: int = SURVEYS,
    people: int = PEOPLE,
    limit: float = 60.0,
    only: str = "",
) -> Iterable[dict[str, Any]]:
    """A row for each kernel and protocol, or one of them: its risk, predicted and measured."""
    prior = survey.known()
    truth, risk_of = prior.probabilities, md.utility.Estimation()
    notion = getattr(md, survey.notion)(survey.level)
    seed = sum(map(ord, survey.name))
    goals = {
        BEST: risk_of,
        ACCURATE: md.utility.Hamming(),
        INFORMED: md.utility.MutualInformation(),
    }
    for number, (name, goal) in enumerate(goals.items()):
        if only not in ("", name):
            continue
        start, worked = time.perf_counter(), time.process_time()
        row: dict[str, Any] = {"case": survey.name, "kernel": name}
        try:
            found = md.design(prior, goal, notion, time_limit=limit)
        except md.MechdesignError as failure:
            yield {**row, "risk": None, "note": str(failure)[:200]}
            continue
        risk = found.risk if name == BEST else risk_of.risk(found.mechanism, prior)
        row.update(risk=risk if math.isfinite(risk) else "infinite", gap=found.gap)
        row["seconds"] = time.perf_counter() - start
        row["cpu_seconds"] = time.process_time() - worked
        if math.isfinite(risk):
            row.update(measure_design(found, truth, repeat, people, seed + number))
        yield row
    for number, kind in enumerate(PROTOCOLS, len(goals)):
        if only not in ("", kind.name):
            continue
        if kind is LeastVariance and survey.size > LeastVariance.largest:
            continue
        risk, protocol = at_level(kind, truth, survey.notion, survey.level)
        yield {
            "case": survey.name,
            "kernel": kind.name,
            "risk": risk,
            "level": protocol.level,
            **measure_protocol(protocol, truth, repeat, people, seed + number),
        }


@app.command()
def run(
    n: Annotated[list[int] | None, typer.Option(help="Symbols; repeat it.")] = None,
    select: Annotated[str, typer.Option(help="Only cases whose name contains this.")] = "",
    repeat: Annotated[int, typer.Option(help="Simulated surveys of each.")] = SURVEYS,
    people: Annotated[int, typer.Option(help="Reports of each survey.")] = PEOPLE,
    limit: Annotated[float, typer.Option(help="Seconds per design that searches.")] = 60.0,
    only: Annotated[str, typer.Option(help="One kernel or protocol, by its name.")] = "",
    cpu: Annotated[bool, typer.Option(help="Limits in CPU seconds: others are at work.")] = False,
    output: Annotated[Path, typer.Option(help="Rows are appended here.")] = RESULTS,
) -> None:
    """Design, predict and measure every case, in one process."""
    stamp = {"date": datetime.date.today().isoformat(), "machine": machine()}
    stamp.update(surveys=repeat, people=people)
    if cpu:
        clock.now = time.process_time
    sizes = n or range(1, max(SIZES) + 1)
    rows = []
    with output.open("a", encoding="utf-8") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of gaps and of symbols that are not told apart
        for survey in surveys(sizes):
            if select not in survey.name:
                continue
            for found in measure(survey, repeat, people, limit, only):
                rows.append({**found, **stamp})
                file.write(json.dumps(rows[-1]) + "\n")
                file.flush()
            typer.echo(survey.name, err=True)
    typer.echo(markdown(rows))


def deviations(rows: list[dict[str, Any]]) -> list[float]:
    """Measured less predicted risk of every row that has both, in standard errors."""
    return [
        (row["measured"] - row["risk"]) / row["deviation"] for row in rows if row.get("deviation")
    ]


def markdown(rows: list[dict[str, Any]]) -> str:
    """Least risks, and what others need as multiples of it, as Markdown."""
    last = {(row["case"], row["kernel"]): row for row in rows}
    names = [ACCURATE, INFORMED, *(kind.name for kind in PROTOCOLS)]
    rows = list(last.values())
    dates = sorted({row["date"] for row in rows})
    machines = " and ".join(sorted({row["machine"] for row in rows}))
    off = deviations(rows)
    within = sum(abs(z) <= 3 for z in off)
    lines = [
        "Risk: reports times mean squared error of all shares, of the design for estimates, with "
        "its proven gap and, where recorded, the CPU seconds that it took; what others need for "
        "the same error as multiples of its reports, “∞” "
        "where symbols cannot be told apart. Protocols are taken at the level of their own that "
        f"keeps the notion. Computed {' to '.join(dict.fromkeys((dates[0], dates[-1])))} on "
        f"a machine with {machines}. Of {len(off)} risks measured over {rows[0]['surveys']:,} "
        f"simulated surveys {within} are within three standard errors of the formula; the largest "
        f"deviation is {max(map(abs, off), default=0.0):.1f} (a kernel that hardly tells some "
        "symbols apart owes nearly all of its error to reports that are too rare to be drawn "
        "here).",
        "",
        "| case | risk | gap | CPU s | " + " | ".join(names) + " |",
        "| --- | --- | --- | --- | " + " | ".join("---" for _ in names) + " |",
    ]
    for case in dict.fromkeys(row["case"] for row in rows):
        best = last.get((case, BEST))
        if best is None or best["risk"] is None:
            continue
        cells = [_ratio(last.get((case, name)), best["risk"]) for name in names]
        lines.append(
            f"| {case} | {best['risk']:.4g} | {best['gap']:.0e} | {_cpu(best)} | "
            + " | ".join(cells)
            + " |"
        )
    return "\n".join(lines)


def _cpu(row: dict[str, Any]) -> str:
    return f"{row['cpu_seconds']:.0f}" if "cpu_seconds" in row else ""


def _ratio(row: dict[str, Any] | None, best: float) -> str:
    if row is None or row["risk"] is None:
        return ""
    return "∞" if row["risk"] == "infinite" else f"{row['risk'] / best:.3g}×"


@app.command()
def table(
    results: Annotated[Path, typer.Option(help="Rows to read.")] = RESULTS,
    output: Annotated[Path, typer.Option(help="File for the table.")] = TABLE,
) -> None:
    """Write the table from the rows, the last ones of each case."""
    write_page(output, markdown(read_rows(results)))


if __name__ == "__main__":
    app()
