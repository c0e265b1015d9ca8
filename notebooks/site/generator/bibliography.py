"""The bibliography: each source of ``mechdesign/references.bib``, with a place to link to."""

import re
import unicodedata

from mechdesign import citations

# A field may hold braces, such as those of an accent, and these hold none.
_FIELD = re.compile(r"(\w+)\s*=\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_ACCENTS = {
    '"': "\u0308",
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    "~": "\u0303",
    "v": "\u030c",
    "u": "\u0306",
    "c": "\u0327",
}
_ACCENT = re.compile(r"\\([\"'`^~]|[vuc](?=[\s{]))\s*\{?\\?([A-Za-z])\}?")


def entries() -> dict[str, dict[str, str]]:
    """Fields of each source, by its key."""
    return {
        key: {name.lower(): " ".join(value.split()) for name, value in _FIELD.findall(text)}
        for key, text in citations.entries().items()
    }


def plain(text: str) -> str:
    """A field without the marks of LaTeX."""
    text = _ACCENT.sub(lambda m: m[2] + _ACCENTS[m[1]], text)
    text = re.sub(r"[{}]", "", text).replace("\\&", "&").replace("--", "–").replace("~", " ")
    return unicodedata.normalize("NFC", text)


def line(key: str, source: dict[str, str]) -> str:
    """One source in one line."""
    names = [" ".join(reversed(name.split(", ", 1))) for name in source["author"].split(" and ")]
    where = [source[name] for name in ("journal", "booktitle", "publisher") if name in source]
    where += [f"vol. {source['volume']}"] if "volume" in source else []
    where += [f"pp. {source['pages']}"] if "pages" in source else []
    where += [source["note"]] if "note" in source else []
    parts = [", ".join(names), f"*{source['title']}*", *where, source["year"]]
    text = plain(". ".join([parts[0], parts[1], ", ".join(parts[2:])])) + "."
    if "doi" in source:
        text += f" [doi:{source['doi']}](https://doi.org/{source['doi']})"
    if "eprint" in source:
        text += f" [arXiv:{source['eprint']}](https://arxiv.org/abs/{source['eprint']})"
    return f"(bib-{key.lower()})=\n**[{key}]** {text}\n"


def page() -> str:
    """The page of all sources."""
    body = "\n".join(line(key, source) for key, source in sorted(entries().items()))
    return (
        "# Bibliography\n\nWhat the results, methods and tables of the library rest on. "
        f"Docstrings name a source by the key in brackets.\n\n{body}"
    )
