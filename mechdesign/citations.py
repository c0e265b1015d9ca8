"""Entries of the bibliography, as BibTeX, and that of the package itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ._version import __version__

_KEY = re.compile(r"@\w+\{([^,\s]+),")
# Why an entry has no identifier; for those who maintain the file.
_WHY = re.compile(r",?\n\s*nodoi\s*=\s*\{[^{}]*\}")


@cache
def entries() -> dict[str, str]:
    """The BibTeX of each source, by its key."""
    text = Path(__file__).with_name("references.bib").read_text(encoding="utf-8")
    parts = [part.strip() for part in re.split(r"(?m)^(?=@)", text) if part.strip()]
    return {found[1]: _WHY.sub("", part) for part in parts if (found := _KEY.match(part))}


def package_entry() -> str:
    """The entry of this package, in its installed version.

    >>> print(package_entry().splitlines()[0])
    @misc{mechdesign,
    """
    return (
        "@misc{mechdesign,\n"
        "  author = {{The mechdesign maintainers}},\n"
        "  title  = {mechdesign: optimal privacy mechanisms for finite secrets, certified},\n"
        f"  note   = {{Version {__version__}}}\n"
        "}"
    )


def bibtex(sources: Iterable[str]) -> str:
    """Entries of all keys that sources name, each once, in their order, and that of the package.

    A source may say where in it and what for, as ``"GrosseID Corollary 4, Kairouz2016 for LDP"``
    does; words that are no key of the bibliography are passed over.

    >>> bibtex(["Warner1965", "Warner1965"]).count("@")
    2
    """
    known = entries()
    keys = dict.fromkeys(k for text in sources for k in re.findall(r"\w+", text) if k in known)
    return "\n\n".join([*(known[key] for key in keys), package_entry()])
