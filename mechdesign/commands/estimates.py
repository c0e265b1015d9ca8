"""``mechdesign estimate``."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from .options import AsJson, By, Confidence, Feature, Kernel, print_json


def estimate(
    kernel: Kernel,
    reports: Annotated[str, typer.Argument(help="CSV or Parquet file with the reports.")],
    column: Annotated[str, typer.Option(help="Column that holds the reports.")],
    method: Annotated[
        str, typer.Option(help="inversion (unbiased) or likelihood (stays in the simplex).")
    ] = "inversion",
    by: By = "symbols",
    feature: Feature = None,
    intervals: Annotated[str, typer.Option(help="delta or bootstrap.")] = "delta",
    confidence: Confidence = 0.95,
    target: Annotated[
        str,
        typer.Option(help="population (where people came from) or sample (those who reported)."),
    ] = "population",
    missing: Annotated[str, typer.Option(help="Missing reports: error or drop.")] = "error",
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Estimate the distribution of the secret from reports, with error bars."""
    from ..arguments import read_feature
    from ..release.counting import tally
    from ..release.encoding import Codebook
    from ..release.estimating import estimate as run_estimate
    from ..release.receipts import kernel_fingerprint
    from ..release.sampler import mechanism_of
    from ..release.streams import count_file
    from ..storage import load_kernel

    item = load_kernel(kernel)
    mechanism = mechanism_of(item)
    found = count_file(reports, [column], [item], progress=sys.stderr.isatty())
    book = Codebook(mechanism.outputs, "outputs of the mechanism", texts=True)
    counts = tally(_without_blanks(found), book, mechanism, missing)
    made = run_estimate(
        dict(zip(mechanism.outputs, counts.tolist(), strict=True)),
        item,
        method=method,
        by=by,
        feature=read_feature(feature, mechanism),
        intervals=intervals,
        confidence=confidence,
        target=target,
        rng=seed,
    )
    if as_json:
        print_json(
            {
                "rows": [{**row, "label": _plain(row["label"])} for row in made.rows()],
                "reports": made.reports,
                "method": made.method,
                "intervals": made.intervals,
                "confidence": made.confidence,
                "target": made.target,
                "fit": made.fit,
                "likelihood": vars(made.convergence),
                "kernel": kernel_fingerprint(mechanism),
            }
        )
        return
    from rich.table import Table

    from ..reporting import console

    out = console()
    table = Table("label", *(["estimate", "error", "lower", "upper"]))
    for row in made.rows():
        numbers = (row["estimate"], row["error"], row["lower"], row["upper"])
        table.add_row(str(row["label"]), *(f"{number:.6f}" for number in numbers))
    out.print(made.describe())
    out.print(table)
    if made.method == "likelihood":
        out.print(f"likelihood {made.convergence}")


def _without_blanks(found: dict[Any, int]) -> dict[Any, int]:
    """Blank cells of a text file as missing reports."""
    from ..release.batches import is_missing_text

    counts: dict[Any, int] = {}
    for key, count in found.items():
        label = None if isinstance(key, str) and is_missing_text(key) else key
        counts[label] = counts.get(label, 0) + count
    return counts


def _plain(label: Any) -> Any:
    return list(label) if isinstance(label, tuple) else label
