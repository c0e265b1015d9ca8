"""``mechdesign certify``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from ..errors import UntoldWarning, UtilityError, quote, warn
from ..labels import Label, listing
from ..progress import waiting
from .options import AsJson, Force, KernelSource, Outputs, Require, read_goal, refuse, say_advice
from .output import note, plain, print_json

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from ..solve._design import Design


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
    """Make a kernel of any tool exactly private; bound what is best.

    What a kernel lacks of a level is repaired, and what a better one could gain is bounded. A saved
    design brings its own prior, notions, requirements and utility; --privacy, --require and
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
        refuse(
            "--privacy",
            "at least one notion with a level",
            "none",
            "add for example --privacy ldp:1",
        )
    saved = asked.designed.utility if isinstance(asked.designed, Design) else None
    is_default = utility is None and saved is None
    if utility is None and saved is not None:
        goal = saved
    else:
        goal = read_goal(utility or "hamming", asked.prior)
    if output is not None:
        check_writable(output, overwrite=force)
    required = asked.read_required(require, outputs)
    try:
        with waiting("certifying", show=sys.stderr.isatty(), limit=time_limit):
            found = run_certify(
                asked.mechanism,
                asked.prior,
                goal,
                list(asked.notions),
                outputs=outputs,
                time_limit=time_limit,
                subject_to=required,
            )
    except UtilityError:
        columns = asked.mechanism.outputs if outputs is None else outputs
        if is_default and set(columns).isdisjoint(asked.prior.labels):
            raise _without_utility(columns, asked.prior.labels) from None
        raise
    if output is not None:
        save(found, output, overwrite=force)
    if found.certificate.repair.merged:
        note(_what_merged(asked.mechanism, outputs or asked.mechanism.outputs, found))
    report = run_audit(found.mechanism, found.prior, found.notions, found.requirements)
    identified = identifiability(found)
    if identified.tells_nothing:
        warn(identified.advice, UntoldWarning)
    if as_json:
        print_json(seal({**to_json(found), "audit": plain(report.summary())}))
        return
    print_design(found, report)
    say_advice(identified)
    if output is not None:
        note(f"saved {output}")


def _what_merged(given: Mechanism, names: Sequence[Label], found: Design) -> str:
    """Which outputs of a kernel became one, whose row changed most, and what that cost."""
    from ..certificate.certificate import gap_out_of

    made = found.mechanism
    names = made.outputs if made.shape == given.shape else names
    gone = listing([names[y] for y in found.certificate.repair.merged])
    lost = gap_out_of(found.certificate.repair_loss, found.utility.gap_unit)
    text = f"merged into the most frequent output, as too rare to be private alone: {gone}"
    if set(made.outputs) <= set(names):
        rows = np.zeros(given.shape)
        rows[:, [names.index(label) for label in made.outputs]] = made.kernel
        place = {label: x for x, label in enumerate(given.inputs)}
        is_named = set(place) == set(made.inputs)
        order = [place[label] for label in made.inputs] if is_named else slice(None)
        moved = np.abs(rows - given.kernel[order]).sum(axis=1) / 2
        most = max(found.prior.support.tolist(), key=moved.tolist().__getitem__)
        text += f"; the row of {quote(made.inputs[most])} changed most, by {moved[most]:.2g}"
    return f"{text}; utility lost: {lost}"


def _without_utility(outputs: Sequence[Label], symbols: Sequence[Label]) -> UtilityError:
    """No utility is named, and outputs that are no symbols cannot be right."""
    return UtilityError(
        "--utility",
        expected="what the kernel is for, as the share of right reports needs outputs that are "
        "symbols",
        got=f"none, for outputs {quote(list(outputs[:6]))} and symbols {quote(list(symbols[:6]))}",
        remedy="give --utility mutual-information, or a CSV matrix of gains (symbols as rows, "
        "outputs as columns); or name by --outputs the symbol that each column reports",
    )
