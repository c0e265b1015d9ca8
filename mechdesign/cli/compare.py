"""``mechdesign compare``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..arguments import read_levels
from ..errors import StorageError
from .options import (
    AsJson,
    ExcelSafe,
    Force,
    Of,
    OfWeights,
    Outputs,
    PriorSource,
    Require,
    TruthText,
    asked_of,
    check_distinct,
    draw_nowhere,
    name_notions,
    read_goal,
    read_required,
)
from .output import note, print_json

if TYPE_CHECKING:
    from .._compare.comparison import Comparison

_PICTURES = (".png", ".svg", ".pdf")


def compare(
    source: PriorSource,
    notion: Annotated[
        list[str] | None,
        typer.Option(
            "--notion",
            "-n",
            help="Notion, such as pml; with several levels in terms of one, e: alip:2e,e, or "
            "dp:e,adjacent, or pml:e+ldp:2e (both); or one of your own, package.module:Name:e. "
            "Repeat it. Default: pml, pmc, lip, ldp.",
        ),
    ] = None,
    levels: Annotated[
        list[float] | None,
        typer.Option(
            help="What to match at: 0.1,0.5,1 or first:last:count. Nats, or losses with --match "
            "loss. Default: 20 levels from 0.1 to 2, or 20 losses up to that of no disclosure."
        ),
        read_levels,
    ] = None,
    match: Annotated[
        str,
        typer.Option(
            help="What the notions are given equally: epsilon (the level), ldp (the LDP level that "
            "the guarantee implies), pml (the PML level that the kernel has), loss."
        ),
    ] = "epsilon",
    utility: Annotated[
        list[str] | None,
        typer.Option("--utility", "-u", help="As for 'mechdesign design'. Repeat it."),
    ] = None,
    of: Of = None,
    of_weights: OfWeights = None,
    truth: TruthText = None,
    require: Require = None,
    outputs: Outputs = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help="Save the table (.csv), the picture (.png, .svg, .pdf) or a page with all of it "
            "(.html). Repeat it.",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Folder to keep designs in; a stopped comparison goes on from there."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds for each design that is searched for; default 60.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes to run in; -1 for one per core.")] = 1,
    excel_safe: ExcelSafe = False,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Compare how much utility several notions allow."""
    from .._compare._compare import compare as run_compare
    from ..files import check_writable
    from ..utility.linear import default_utility
    from ..views.plain import comparison_json
    from ..views.text import print_comparison

    for path in output or []:
        check_distinct({"--output": path}, {"the table": source.table})
    known = source.read_prior()
    asked = {text: read_goal(text, known) for text in utility or []}
    if not asked:
        own = default_utility(known)
        asked = {own.spec: own}
    goals = {text: asked_of(goal, known, of, of_weights, truth) for text, goal in asked.items()}
    required = read_required(require, known, goals.values(), outputs)
    writers = {path: _writer(path, force, excel_safe=excel_safe) for path in output or []}
    for path in writers:
        check_writable(path, overwrite=force)
    source.hint_at_bins(known)
    try:
        found = run_compare(
            {"+".join(source.column or ["prior"]): known},
            goals,
            [name_notions(text) for text in notion or ["pml", "pmc", "lip", "ldp"]],
            levels,
            outputs,
            match=match,
            jobs=jobs,
            resume=resume,
            progress=sys.stderr.isatty(),
            subject_to=required,
            time_limit=time_limit,
        )
    except KeyboardInterrupt:
        if resume is not None:
            note(f"designs so far are kept in {resume}; the same command goes on from there")
        raise
    for path, write in writers.items():
        write(found, path)
    if as_json:
        print_json(comparison_json(found, known))
    else:
        print_comparison(found)
    for path in writers:
        note(f"saved {path}")


def _writer(path: Path, force: bool, *, excel_safe: bool) -> Callable[[Comparison, Path], None]:
    """What writes a file of this ending, with its libraries looked for at once."""
    ending = path.suffix.lower()
    if ending == ".csv":
        return lambda found, where: found.to_csv(where, overwrite=force, excel_safe=excel_safe)
    if ending in _PICTURES:
        from ..plotting.style import check_picture

        check_picture(path)
        draw_nowhere()
        return partial(_write_picture, force)
    if ending == ".html":
        from ..views.pages import check_pages

        check_pages()
        draw_nowhere()
        return partial(_write_page, force)
    raise StorageError(
        f"output {path}: expected a name that ends in .csv, .png, .svg, .pdf or .html, got "
        f"{ending or 'none'}; choose one of these."
    )


def _write_picture(force: bool, found: Comparison, path: Path) -> None:
    from ..plotting._plot_frontiers import plot_frontiers
    from ..plotting.style import figure_of, save_figure

    save_figure(figure_of(plot_frontiers(found)), path, overwrite=force)


def _write_page(force: bool, found: Comparison, path: Path) -> None:
    from ..files import write_text
    from ..views.pages import comparison_page

    write_text(comparison_page(found), path, overwrite=force)
