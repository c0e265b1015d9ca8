"""``mechdesign plot``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError, UnknownNameError
from .options import (
    Column,
    Force,
    MaxSymbols,
    Missing,
    PriorText,
    Privacy,
    Weights,
    expect_picture,
    note,
)
from .subjects import KernelFile, Normalise, PriorTable, Subject, read_subject

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = ("kernel", "lifts", "leakage", "binding", "regions", "pml-regions")


def plot(
    kernel: KernelFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The picture: .png, .svg or .pdf.")
    ],
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            "-k",
            help="kernel; lifts: what outcomes do to beliefs, with the bounds; leakage: of each "
            "outcome; binding: the constraints that bind, with prices; regions: which bound "
            "implies which under the prior; pml-regions: what outcomes may rule out, by level; or "
            "the import path of a picture of your own, such as mypackage.mymodule:plot_mine.",
        ),
    ] = "kernel",
    table: PriorTable = None,
    column: Column = None,
    weights: Weights = None,
    missing: Missing = "error",
    max_symbols: MaxSymbols = None,
    prior: PriorText = None,
    privacy: Privacy = None,
    normalise: Normalise = False,
    force: Force = False,
) -> None:
    """Draw a picture of a saved design or a kernel.

    A saved design brings its own prior and notions; a kernel of any tool needs a prior.
    """
    from ..plotting.style import figure_of, save_figure

    if not isinstance(kind, str) or (kind not in KINDS and ":" not in kind):
        raise UnknownNameError("kind of picture", kind, KINDS)
    expect_picture(output, force=force)
    asked = read_subject(
        kernel,
        table,
        column,
        weights,
        missing,
        prior,
        privacy,
        normalise=normalise,
        max_symbols=max_symbols,
    )
    draw: dict[str, Callable[[Subject], Any]] = {
        "kernel": _kernel,
        "lifts": _lifts,
        "leakage": _leakage,
        "binding": _binding,
        "regions": _regions,
        "pml-regions": _pml_regions,
    }
    axes = draw[kind](asked) if kind in draw else _imported(asked, kind)
    save_figure(figure_of(axes), output, overwrite=force)
    note(f"saved {output}")


def _kernel(asked: Subject) -> Any:
    from ..plotting._plot_kernel import plot_kernel

    return plot_kernel(asked.mechanism, asked.prior)


def _lifts(asked: Subject) -> Any:
    from ..plotting._plot_lifts import plot_lifts

    return plot_lifts(asked.mechanism, asked.prior, asked.notions or None)


def _leakage(asked: Subject) -> Any:
    from .._audit import audit
    from ..plotting._plot_leakage import plot_leakage

    return plot_leakage(audit(asked.mechanism, asked.prior, list(asked.notions) or None))


def _binding(asked: Subject) -> Any:
    from ..plotting._plot_binding import plot_binding
    from ..solve.designing import Design

    design = asked.item
    if not isinstance(design, Design) or asked.prior != design.prior:
        raise InputError(
            "prices of constraints",
            expected="a saved design and its own prior",
            got="a kernel without a design, or another prior",
            remedy="save a design with mechdesign design --output",
        )
    return plot_binding(design)


def _regions(asked: Subject) -> Any:
    from ..plotting._plot_regions import plot_regions

    return plot_regions(asked.prior)


def _pml_regions(asked: Subject) -> Any:
    from ..plotting._plot_pml_regions import plot_pml_regions
    from ..privacy.pointwise import PML

    levels = [n.epsilon for n in asked.notions if isinstance(n, PML) and n.epsilon < float("inf")]
    return plot_pml_regions(asked.prior, levels or None)


def _imported(asked: Subject, path: str) -> Any:
    from ..plotting._plot_imported import plot_imported

    return plot_imported(path, asked.item, prior=asked.prior, privacy=asked.notions)
