"""Entries of the glossary for the notions, from the first lines of their documentation."""

import inspect
import re

from mechdesign.privacy.notion import NOTIONS, PrivacyNotion

# A level alone says nothing that sets one notion apart from another; a δ or a set does.
_NAMED = re.compile(r"(?:ε-|\(ε_l, ε_u\)-)?(?P<name>(?:\([^)]*\)-)?[^:(]+?)(?: \([^)]*\))?: ")


def terms(cls: type[PrivacyNotion]) -> list[str]:
    """What a notion is looked up by: its class, and the name that its documentation begins with."""
    named = _NAMED.match(first_paragraph(cls))
    whole = named is not None and not re.search(r"\b(of|given|with|for)\b", named["name"])
    return [cls.__name__, *([named["name"]] if named and whole else [])]


def first_paragraph(cls: type[PrivacyNotion]) -> str:
    """What a notion asks, in a line."""
    return (inspect.getdoc(cls) or "").split("\n\n", 1)[0].replace("\n", " ")


def entry(cls: type[PrivacyNotion]) -> str:
    """Terms, what they ask, and the sources."""
    said = re.sub(r" ?\(\[[^()]*\]\)", "", first_paragraph(cls))
    said = re.sub(r"(?<=\w)'(?!\w)", "′", said)  # a prime, no quotation mark
    sources = ", ".join(f"{{ref}}`[{key}] <bib-{key.lower()}>`" for key in cls.references)
    place = f"mechdesign.{cls.__name__}"
    text = f"{said} {{py:class}}`~{place}`" + (f"; {sources}." if sources else ".")
    return "\n".join(terms(cls)) + f"\n  {text}\n"


def glossary() -> str:
    """A glossary of the notions of the library."""
    ours = [cls for cls in NOTIONS.values() if cls.__module__.startswith("mechdesign.")]
    return "```{glossary}\n" + "\n".join(map(entry, ours)) + "```\n"
