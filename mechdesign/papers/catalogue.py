"""All results and errata of the papers, in order, and by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..errors import UnknownNameError
from . import (
    derived,
    derived_optima,
    disclosure_prevention,
    disclosure_prevention_errata,
    disclosure_prevention_outcomes,
    disclosure_prevention_statements,
    information_density,
    information_density_errata,
    information_density_statements,
    pointwise_maximal_cost,
    pointwise_maximal_cost_conversions,
    pointwise_maximal_cost_errata,
    pointwise_maximal_cost_general,
    pointwise_maximal_cost_noise,
    pointwise_maximal_cost_statements,
    pufferfish_mutual_information,
    pufferfish_mutual_information_databases,
    pufferfish_mutual_information_errata,
    pufferfish_mutual_information_statements,
)
from .claims import ERRATA, THEOREMS, Erratum, Outcome, Theorem
from .statements import STATEMENTS, Statement

#: What these files hold is registered once they are imported, above.
FILES = (
    information_density,
    information_density_errata,
    information_density_statements,
    pointwise_maximal_cost,
    pointwise_maximal_cost_conversions,
    pointwise_maximal_cost_errata,
    pointwise_maximal_cost_general,
    pointwise_maximal_cost_noise,
    pointwise_maximal_cost_statements,
    disclosure_prevention,
    disclosure_prevention_errata,
    disclosure_prevention_outcomes,
    disclosure_prevention_statements,
    pufferfish_mutual_information,
    pufferfish_mutual_information_databases,
    pufferfish_mutual_information_errata,
    pufferfish_mutual_information_statements,
    derived,
    derived_optima,
)


def known_theorems() -> tuple[Theorem, ...]:
    """Every registered result, in the order of their identifiers."""
    return tuple(THEOREMS[key] for key in sorted(THEOREMS, key=_order))


def find_theorem(name: str) -> Theorem:
    """The result with an identifier, in any case, its own or one it is also known by.

    Raises :class:`UnknownNameError` with the nearest identifier.
    """
    wanted = name.strip().lower() if isinstance(name, str) else None
    results = known_theorems()
    for result in results:
        if wanted in (result.id.lower(), *(other.lower() for other in result.also)):
            return result
    raise UnknownNameError("result", name, (result.id for result in results))


def check_theorems(
    results: Iterable[Theorem], *, seed: int = 0, instances: int = 5
) -> Iterator[tuple[Theorem, Outcome]]:
    """Check results one after the other, each from the same seed."""
    for result in results:
        yield result, result.check(seed, instances=instances)


def errata() -> tuple[Erratum, ...]:
    """Every known mistake in the four papers, in order.

    Examples
    --------
    >>> first = errata()[0]
    >>> first.place, first.kind
    ('Proposition 3 and Corollary 4', 'misprint')
    >>> print(first.counterexamples()[0])
    diagonal entry at p = (.5, .5), ε = 1: -0.359141 >= 0 fails; corrected: 1 >= 0.693147 holds
    """
    return tuple(ERRATA[key] for key in sorted(ERRATA, key=_erratum_order))


def find_erratum(name: str) -> Erratum:
    """The erratum with an identifier; raises :class:`UnknownNameError` with the nearest one."""
    found = {entry.id.lower(): entry for entry in errata()}
    wanted = name.strip().lower() if isinstance(name, str) else None
    if wanted is None or wanted not in found:
        raise UnknownNameError("erratum", name, (entry.id for entry in found.values()))
    return found[wanted]


def statements() -> tuple[Statement, ...]:
    """Every numbered statement of the four papers: what implements it, and what checks it how far.

    Examples
    --------
    >>> first = statements()[0]
    >>> first.id, first.place, first.status, first.checked
    ('ID-Def-1', 'Definition 1', 'as printed', ('PMC-Def-4', 'PMC-Def-4.2'))
    """
    kinds = ["Def", "Thm", "Prop", "Cor", "Lem", "Rem", "Ex", "Fig", "Tab"]

    def order(entry: Statement) -> tuple[object, ...]:
        paper, kind, number = entry.id.split("-", 2)
        return paper, kinds.index(kind), _order(number)

    return tuple(sorted(STATEMENTS.values(), key=order))


def _order(name: str) -> tuple[object, ...]:
    words = name.replace(".", "-").split("-")
    return tuple((not w.isdigit(), int(w) if w.isdigit() else 0, w) for w in words)


def _erratum_order(name: str) -> tuple[int, str]:
    digits = "".join(c for c in name if c.isdigit())
    return int(digits or 0), name
