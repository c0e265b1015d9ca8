"""What a command is asked about: a saved design or a kernel, its prior, the notions asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ..arguments import align_prior, read_prior
from ..errors import InputError
from .options import note

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from ..prior import Prior
    from ..privacy.notion import PrivacyNotion
    from ..solve._design import Design

KernelFile = Annotated[
    str, typer.Argument(help="A saved design, or a kernel as CSV with labels or as JSON rows.")
]
PriorTable = Annotated[
    str | None, typer.Option("--data", help="CSV file or shipped table for the prior.")
]
Normalise = Annotated[
    bool, typer.Option("--normalise", help="Accept rows that do not sum to one, and divide.")
]


@dataclass(frozen=True)
class Subject:
    """A kernel, or the design it comes from, with prior and notions: those given, else its own."""

    item: Design | Mechanism
    mechanism: Mechanism
    prior: Prior
    notions: tuple[PrivacyNotion, ...]


def read_subject(
    kernel: str,
    table: str | None,
    column: str | None,
    weights: str | None,
    missing: str,
    prior: str | None,
    privacy: list[str] | None,
    *,
    normalise: bool,
    max_symbols: int | None = None,
    any_prior: bool = False,
) -> Subject:
    """Read the file and match the prior with its inputs; :class:`InputError` without a prior.

    With ``any_prior`` a public design needs none, as long as no notion does that is asked.
    """
    from ..prior import Prior
    from ..privacy.notion import parse_notion
    from ..published import PublicDesign, needs_prior
    from ..solve._design import Design
    from ..storage import load_kernel

    notions = tuple(parse_notion(spec) for spec in privacy or [])
    given = None
    if any(option is not None for option in (table, column, prior)):
        given = read_prior(table, column, weights, missing, prior, max_symbols)
    item = load_kernel(kernel, normalise=normalise)
    mechanism = item.mechanism if isinstance(item, Design) else item
    if isinstance(item, Design):
        given = given or item.prior
        notions = notions or item.notions
    if isinstance(item, PublicDesign):
        notions = notions or item.notions
        needing = [str(notion) for notion in notions if needs_prior(notion)]
        needing += item.stated if not privacy else ()
        if given is None and any_prior and not needing:
            given = Prior.uniform(mechanism.inputs)
            note(
                "a public design holds no prior: what it keeps is checked without one, and levels "
                "that depend on a prior are those under the uniform one"
            )
        elif given is None:
            raise InputError(
                "prior",
                expected=f"the prior that {needing[0]} is about"
                if needing
                else "a prior to judge beliefs by",
                got="a public design, which holds none",
                remedy="add --prior or --data, or ask whoever made it"
                + (", or audit what needs none (--privacy ldp:1)" if any_prior else ""),
            )
    if given is None:
        raise InputError(
            "prior",
            expected="a prior for the kernel's inputs",
            got="none",
            remedy="add --prior 0.5,0.3,0.2 or --data TABLE --column COLUMN",
        )
    # Masses without names are those of the inputs in their order.
    bare = prior is not None and "=" not in prior and given.labels == tuple(range(len(given)))
    given = align_prior(given, mechanism.inputs, named=not bare)
    return Subject(item, mechanism, given, notions)
