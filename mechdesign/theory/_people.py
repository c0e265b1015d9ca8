"""Reports of several people as one mechanism on the database of all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import KernelError, listed
from ..mechanism import Mechanism, mechanism_of
from .databases import Database

_MOST_ENTRIES = 4_000_000


def reports_of_people(mechanisms: Any, database: Database) -> Mechanism:
    """Everybody reports their own entry through a kernel of their own; exact.

    What the reports of all tell about one of them, whose entry depends on those of the others, is
    then :func:`~mechdesign.theory.entry_leakage` of it, or its level under any notion about the
    whole database.

    Parameters
    ----------
    mechanisms : one for each entry in order, or a single one for all of them
        Over the values of an entry.
    database : Database
        The entries, dependent in any way.

    Returns
    -------
    Mechanism
        With the databases as inputs and tuples of reports as outputs.

    Raises
    ------
    KernelError
        For another number of mechanisms, over other values, or more than four million entries.

    Examples
    --------
    Two people who almost always have the same: the report of one tells about the other.

    >>> import mechdesign as md
    >>> twins = md.theory.Database({("a", "a"): .5, ("b", "b"): .4, ("a", "b"): .1}, ["a", "b"])
    >>> flip = md.randomised_response(md.Prior([.6, .4], ["a", "b"]), 1.0)
    >>> alone = md.audit(flip, twins.marginal(0)).pml
    >>> both = md.theory.reports_of_people(flip, twins)
    >>> float(md.theory.entry_leakage(both, twins).max()) > alone
    True
    """
    if hasattr(mechanisms, "mechanism") or isinstance(mechanisms, Mechanism):
        mechanisms = [mechanisms] * database.entries
    found = [
        mechanism_of(m) for m in listed(mechanisms, "reports of people", "mechanisms", KernelError)
    ]
    values = set(database.alphabet)
    if len(found) != database.entries or any(set(m.inputs) != values for m in found):
        raise KernelError(
            "reports of people",
            expected=f"{database.entries} mechanisms over {len(values)} values of an entry",
            got=f"{len(found)} mechanisms over {sorted({len(m.inputs) for m in found})} inputs",
            remedy="pass one for each entry, over the alphabet of the database",
        )
    size = len(database) * math.prod(m.shape[1] for m in found)
    if size > _MOST_ENTRIES:
        raise KernelError(
            "reports of people",
            expected=f"at most {_MOST_ENTRIES} databases times tuples of reports",
            got=str(size),
            remedy="take fewer people, or bound what reports tell by theory.account",
        )
    together = _in_order(found[0], database.alphabet)
    for other in found[1:]:
        together = together.product(_in_order(other, database.alphabet))
    return Mechanism.over(
        together.weights,
        together.denominator,
        database.prior.labels,
        [_flat(label, len(found)) for label in together.outputs],
        check=False,
    )


def _in_order(mechanism: Mechanism, alphabet: Sequence[Any]) -> Mechanism:
    place = {label: x for x, label in enumerate(mechanism.inputs)}
    rows = np.array([place[value] for value in alphabet])
    return Mechanism.over(
        mechanism.weights[rows], mechanism.denominator, alphabet, mechanism.outputs, check=False
    )


def _flat(label: Any, count: int) -> tuple[Any, ...]:
    """((a, b), c) as (a, b, c)."""
    parts: list[Any] = []
    for _ in range(count - 1):
        label, last = label
        parts.append(last)
    return (label, *reversed(parts))
