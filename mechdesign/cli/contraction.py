"""``contraction``: by how much reports shrink the distance of two distributions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ..progress import waiting
from .options import AsJson, PriorOption, read_notion, refuse
from .output import print_json

if TYPE_CHECKING:
    from ..channels._contraction import Contraction
    from ..prior import Prior


def contraction(
    subject: Annotated[
        list[str],
        typer.Argument(
            metavar="DESIGN|NOTION:LEVEL...",
            help="A saved design or kernel; or notions that hold at once, such as ldp:1, for the "
            "worst kernel that satisfies them.",
        ),
    ],
    source: PriorOption,
    level: Annotated[
        float, typer.Option(help="g of the hockey-stick divergence; 0 for total variation.")
    ] = 0.0,
    tell: Annotated[
        list[str] | None,
        typer.Option(
            metavar="P1,P2,...",
            help="A distribution of the secret; twice, for how many reports tell the two apart.",
        ),
    ] = None,
    error: Annotated[
        float | None,
        typer.Option(
            help="With --tell what both kinds of error may add up to; else the squared error of "
            "an estimate of the distribution."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what share of a divergence reports keep at most, and what that costs in reports.

    A kernel needs no prior, notions do: --prior or --data with --column. Only symbols of positive
    mass count.
    """
    from ..views.channels import contraction_json, print_contraction

    if tell is not None and (len(tell) != 2 or error is None):
        refuse(
            "--tell",
            "two distributions, and --error with them",
            f"{len(tell)} and {'no ' * (error is None)}--error",
            "write --tell .6,.4 --tell .5,.5 --error .1",
        )
    with waiting("looking for the worst kernel", show=sys.stderr.isatty()):
        found = _contraction(subject, source, level)
    reports = None
    if tell is not None and error is not None:
        first, second = (_masses(text) for text in tell)
        reports = found.reports_to_tell(first, second, error)
    elif error is not None:
        reports = found.reports_to_estimate(error)
    if as_json:
        print_json(contraction_json(found, reports))
    else:
        print_contraction(found, reports, is_test=tell is not None)


def _contraction(subject: list[str], source: PriorOption, level: float) -> Contraction:
    from ..channels._contraction import contraction as run_contraction
    from ..kernel_files import load_kernel
    from ..mechanism import mechanism_of

    prior: Prior | None = None
    if any(option is not None for option in (source.table, source.column, source.prior)):
        prior = source.read_prior()
    asked: Any
    if len(subject) == 1 and ":" not in subject[0]:
        asked = mechanism_of(load_kernel(subject[0]))
        if prior is not None:
            from ..arguments import align_prior

            named = source.prior is None or "=" in source.prior
            prior = align_prior(prior, asked.inputs, named=named)
    else:
        asked = [read_notion(text) for text in subject]
        if prior is None:
            refuse(
                "prior",
                "a prior, whose symbols the kernels of the notions are over",
                "none",
                "add --prior 0.5,0.3,0.2 or --data TABLE --column COLUMN",
            )
    return run_contraction(asked, prior, level=level)


def _masses(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            "--tell",
            expected="probabilities separated by commas, in the order of the inputs",
            got=repr(text),
            remedy="write for example --tell .6,.4",
        ) from None
