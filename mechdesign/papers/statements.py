"""Every numbered statement of the papers: what implements it, and what checks it how far.

The files of the papers register theirs; ``catalogue`` imports them all. Definitions, remarks,
examples, figures and tables count as statements.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InputError

STATEMENTS: dict[str, Statement] = {}

_KINDS = {
    "Def": "Definition",
    "Thm": "Theorem",
    "Prop": "Proposition",
    "Cor": "Corollary",
    "Lem": "Lemma",
    "Rem": "Remark",
    "Ex": "Example",
    "Fig": "Figure",
    "Tab": "Table",
}


@dataclass(frozen=True)
class Statement:
    """One numbered statement of a paper.

    Attributes
    ----------
    id : such as ``"PMC-Thm-4"``
    source : key into ``references.bib``
    says : what it is about, in a few words
    implemented : public names of the package that implement it
    checked : identifiers of the results that check it
    errata : identifiers of the errata about it
    partly : what is left unchecked, and why; empty when it is checked in the generality printed
    cannot : why it is not checkable on a computer; empty when it is
    """

    id: str
    source: str
    says: str
    implemented: tuple[str, ...]
    checked: tuple[str, ...]
    errata: tuple[str, ...] = ()
    partly: str = ""
    cannot: str = ""

    @property
    def place(self) -> str:
        """Where it is printed, such as ``"Theorem 4"``."""
        _, kind, number = self.id.split("-", 2)
        return f"{_KINDS[kind]} {number}"

    @property
    def status(self) -> str:
        """``"as printed"``, ``"partly"`` or ``"not checkable"``."""
        if self.cannot:
            return "not checkable"
        return "partly" if self.partly else "as printed"


def statement(
    id: str,
    *,
    source: str,
    says: str,
    by: str = "",
    checked: str = "",
    errata: str = "",
    partly: str = "",
    cannot: str = "",
) -> None:
    """Register a statement; names and identifiers are separated by spaces.

    Raises :class:`InputError` for one that is neither checked nor said not to be checkable.
    """
    if bool(checked) == bool(cannot):
        raise InputError(
            f"statement {id}",
            expected="results that check it, or why there are none",
            got="both" if checked else "neither",
            remedy="give one of the two",
        )
    STATEMENTS[id] = Statement(
        id,
        source,
        says,
        tuple(by.split()),
        tuple(checked.split()),
        tuple(errata.split()),
        partly,
        cannot,
    )
