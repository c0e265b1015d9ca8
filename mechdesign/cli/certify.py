"""``mechdesign certify``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..arguments import read_outputs
from ..errors import InputError, UntoldWarning, warn
from ..progress import waiting
from .options import (
    AsJson,
    Force,
    KernelSource,
    Outputs,
    Require,
    note,
    plain,
    print_json,
    read_goal,
    say_advice,
)


def certify(
    source: KernelSource,
    utility: Annotated[
        str | None,
        typer.Option(
            "--utility",
            "-u",
            help="hamming, absolute, squared (losses on numeric labels), mutual-information, "
            "total-variation, chi-square, a CSV matrix of gains with symbols as rows and outputs "
            "as columns, or one of your own: package.module:Name. Left out, that of a saved "
            "design, or hamming.",
        ),
    ] = None,
    outputs: Outputs = None,
    require: Require = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds for a search for the bound; default 60."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save the certified design as JSON.")
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Make a kernel of any tool exactly private, check it, and bound what a better one could gain.

    A saved design brings its own prior, notions, requirements and utility; --privacy, --require and
    --utility ask for others.
    """
    from .._audit import audit as run_audit
    from ..files import check_writable
    from ..release._identifiability import identifiability
    from ..solve._certify import certify as run_certify
    from ..solve._design import Design
    from ..storage import save, seal, to_json
    from ..views.text import print_design

    asked = source.read_kernel()
    if not asked.notions:
        raise InputError(
            "--privacy",
            expected="at least one notion with a level",
            got="none",
            remedy="add for example --privacy pml:0.5",
        )
    if utility is None and isinstance(asked.designed, Design):
        goal = asked.designed.utility
    else:
        goal = read_goal(utility or "hamming", asked.prior)
    if output is not None:
        check_writable(output, overwrite=force)
    labels = read_outputs(outputs)
    with waiting("certifying", show=sys.stderr.isatty(), limit=time_limit):
        found = run_certify(
            asked.mechanism,
            asked.prior,
            goal,
            list(asked.notions),
            outputs=labels,
            time_limit=time_limit,
            subject_to=asked.read_required(require, labels),
        )
    if output is not None:
        save(found, output, overwrite=force)
    report = run_audit(found.mechanism, found.prior, found.notions, found.requirements)
    identified = identifiability(found.mechanism)
    if identified.tells_nothing:
        warn(identified.advice, UntoldWarning)
    if as_json:
        print_json(seal({**to_json(found), "audit": plain(report.summary())}))
        return
    print_design(found, report)
    say_advice(identified)
    if output is not None:
        note(f"saved {output}")
