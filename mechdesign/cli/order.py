"""``mechdesign research order``: which of two kernels is better whatever the use."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..progress import waiting
from .options import AsJson
from .output import print_json, say


def order(
    first: Annotated[str, typer.Argument(metavar="FIRST", help="Saved design or kernel.")],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="Another, same inputs.")],
    limit: Annotated[
        int, typer.Option(help="Pieces of the priors to search, for the weaker orders.")
    ] = 4000,
    as_json: AsJson = False,
) -> None:
    """Say whether the first kernel is at least as good as the second, whatever the use.

    Three orders, each weaker than the one before: reports of the second can be made from those of
    the first; the first is less noisy (tells any feature at least as well); the first is more
    capable (has at least the mutual information for any prior). Turn the files round for the
    other way.
    """
    from ..channels._orders import less_noisy, more_capable
    from ..channels._refines import refines
    from ..kernel_files import load_kernel
    from ..mechanism import mechanism_of

    one, two = (mechanism_of(load_kernel(file)) for file in (first, second))
    with waiting("comparing kernels", show=sys.stderr.isatty()):
        made = refines(one, two)
        found = [is_above(one, two, limit=limit) for is_above in (less_noisy, more_capable)]
    if as_json:
        print_json(
            {
                "post_processing": {
                    "verdict": str(made.verdict),
                    "at_least": made.at_least,
                    "at_most": made.at_most,
                },
                **{
                    which.order.replace(" ", "_"): {
                        "verdict": str(which.verdict),
                        "pieces": which.pieces,
                        "prior": None
                        if which.prior is None
                        else which.prior.probabilities.tolist(),
                    }
                    for which in found
                },
            }
        )
        return
    say(f"post-processing: {made}")
    for which in found:
        say(f"{which.order}: {which}")
