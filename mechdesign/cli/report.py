"""``mechdesign report``."""

from __future__ import annotations

import inspect
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError, MechdesignError, UnknownNameError, quote
from ..extensions import find_function, is_import_path
from ..progress import waiting
from .options import (
    Asked,
    Force,
    KernelSource,
    Reports,
    Require,
    draw_nowhere,
    expect_picture,
    refuse,
    refuse_typed,
)
from .output import note

if TYPE_CHECKING:
    from collections.abc import Callable


def report(
    context: typer.Context,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="The page (.html), or with --kind a picture (.png, .svg, .pdf)."
        ),
    ],
    source: KernelSource,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            "-k",
            help="Draw one picture: kernel; lifts: what outcomes do to beliefs, with the bounds; "
            "leakage: of each outcome; binding: the constraints that bind, with prices; regions: "
            "which bound implies which under the prior; pml-regions: what outcomes may rule out, "
            "by level; places: the prior of places on a map; or package.module:name, a function "
            "of your own that is called with design or kernel, and with prior and privacy where "
            "it has such parameters, and returns axes or a figure.",
        ),
    ] = None,
    require: Require = None,
    reports: Reports = 1000,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    force: Force = False,
) -> None:
    """Write a page about a kernel for its reviewer, or a picture.

    The page is one HTML file. A saved design brings its own prior, notions and requirements, and
    its proof; a kernel of any tool needs a prior, and is audited against what is asked.
    """
    if kind is not None or output.suffix.lower() in (".png", ".svg", ".pdf"):
        refuse_typed(context, ("require", "reports", "title"), "of a picture; write -o report.html")
        _draw(kind or "kernel", source, output, force=force)
    else:
        _write(source, output, require, reports, title, force=force)
    note(f"saved {output}")


def _write(
    source: KernelSource,
    output: Path,
    require: list[str] | None,
    reports: int,
    title: str | None,
    *,
    force: bool,
) -> None:
    from ..views.pages import check_pages, write_report

    if output.suffix.lower() not in (".html", ".htm"):
        refuse(
            f"output {output}",
            "a name that ends in .html, .png, .svg or .pdf",
            output.suffix or "none",
            "choose such a name",
        )
    check_pages()
    draw_nowhere()
    asked = source.read_kernel()
    with waiting("writing the page", show=sys.stderr.isatty()):
        write_report(
            asked.designed,
            output,
            prior=asked.prior,
            privacy=list(asked.notions) or None,
            requirements=asked.read_required(require),
            reports=reports,
            title=title,
            overwrite=force,
        )


def _draw(kind: str, source: KernelSource, output: Path, *, force: bool) -> None:
    from ..plotting.style import save_figure

    pictures: dict[str, Callable[[Asked], Any]] = {
        "kernel": _kernel,
        "lifts": _lifts,
        "leakage": _leakage,
        "binding": _binding,
        "regions": _regions,
        "pml-regions": _pml_regions,
        "places": _places,
    }
    draw = pictures.get(kind)
    if draw is None:
        if not is_import_path(kind):
            raise UnknownNameError("kind of picture", kind, pictures)
        draw = partial(_own, kind, find_function(kind, "picture"))
    expect_picture(output, force=force)
    asked = source.read_kernel()
    with waiting("drawing", show=sys.stderr.isatty()):
        save_figure(draw(asked), output, overwrite=force)


def _kernel(asked: Asked) -> Any:
    from ..plotting._plot_kernel import plot_kernel

    return plot_kernel(asked.mechanism, asked.prior).figure


def _lifts(asked: Asked) -> Any:
    from ..plotting._plot_lifts import plot_lifts

    return plot_lifts(asked.mechanism, asked.prior, asked.notions or None).figure


def _leakage(asked: Asked) -> Any:
    from .._audit import audit
    from ..plotting._plot_leakage import plot_leakage

    return plot_leakage(audit(asked.mechanism, asked.prior, list(asked.notions) or None)).figure


def _binding(asked: Asked) -> Any:
    from ..plotting._plot_binding import plot_binding
    from ..solve._design import Design

    design = asked.designed
    if not isinstance(design, Design) or asked.prior != design.prior:
        refuse(
            "prices of constraints",
            "a saved design and its own prior",
            "a kernel without a design, or another prior",
            "save a design with mechdesign design --output",
        )
    return plot_binding(design).figure


def _regions(asked: Asked) -> Any:
    from ..plotting._plot_regions import plot_regions

    return plot_regions(asked.prior).figure


def _pml_regions(asked: Asked) -> Any:
    from ..plotting._plot_pml_regions import plot_pml_regions
    from ..privacy.pointwise import PML

    levels = [n.epsilon for n in asked.notions if isinstance(n, PML) and n.epsilon < float("inf")]
    return plot_pml_regions(asked.prior, levels or None).figure


def _places(asked: Asked) -> Any:
    from ..plotting._plot_places import plot_places

    return plot_places(asked.designed if asked.prior is None else asked.prior).figure


def _own(path: str, function: Callable[..., Any], asked: Asked) -> Any:
    """The figure of a function from outside the package, see :mod:`mechdesign.plotting`."""
    signature = inspect.signature(function)
    known = {"prior": asked.prior, "privacy": asked.notions}
    named = {name: value for name, value in known.items() if name in signature.parameters}
    try:
        signature.bind(asked.designed, **named)
    except TypeError as problem:
        raise InputError(
            f"picture {path}",
            expected="a function of a design or kernel, and at most prior and privacy beside it",
            got=str(problem),
            remedy="give defaults to all other parameters",
        ) from None
    try:
        drawn = function(asked.designed, **named)
    except MechdesignError:
        raise
    except Exception as problem:  # code from outside, which may fail in any way
        failure = f"{type(problem).__name__}: {problem}"
        raise MechdesignError(f"picture {path} failed with {failure}") from problem
    figure = getattr(drawn, "figure", None) or drawn
    if not hasattr(figure, "savefig"):
        refuse(
            f"picture {path}",
            "a function that returns matplotlib axes or a figure",
            quote(drawn),
            "return what it drew on",
        )
    return figure
