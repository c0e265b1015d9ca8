"""``envelope``: how likely reports leak a level, whatever is done to them afterwards."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..arguments import read_levels
from ..progress import waiting
from .options import AsJson, Force, KernelSource, expect_picture, refuse
from .output import note, print_json


def envelope(
    source: KernelSource,
    levels: Annotated[
        list[float] | None,
        typer.Option(
            help="In nats: 0.1,0.5,1 or first:last:count. Default: a curve up to the largest "
            "leakage."
        ),
        read_levels,
    ] = None,
    risk_averse: Annotated[
        bool, typer.Option("--risk-averse", help="Leakage that PMC bounds, in place of PML.")
    ] = False,
    probability: Annotated[
        float | None,
        typer.Option(help="Also say the level that is exceeded no more often than this."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A picture of the curve: .png, .svg or .pdf."),
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Say how likely an outcome leaks at least a level, after any post-processing of the reports.

    A saved design brings its own prior; a kernel of any tool needs one. Both sides of each
    probability are proved.
    """
    from ..channels._leakage_envelope import leakage_envelope
    from ..views.channels import envelope_json, print_envelope

    if source.privacy is not None:
        refuse(
            "--privacy",
            "none, as an envelope is about a kernel and its prior",
            ", ".join(source.privacy),
            "leave it out; --risk-averse asks for what PMC bounds",
        )
    if output is not None:
        expect_picture(output, force=force)
    asked = source.read_kernel()
    with waiting("following all levels", show=sys.stderr.isatty()):
        found = leakage_envelope(asked.mechanism, asked.prior, levels, risk_averse=risk_averse)
        level = None if probability is None else found.level_at(probability)
    if output is not None:
        from ..plotting._plot_envelope import plot_envelope
        from ..plotting.style import save_figure

        save_figure(plot_envelope(found).figure, output, overwrite=force)
    if as_json:
        print_json(envelope_json(found, probability, level))
    else:
        print_envelope(found, probability, level)
    if output is not None:
        note(f"saved {output}")
