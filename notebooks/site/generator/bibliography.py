"""The bibliography: each source of ``mechdesign/references.bib``, with a place to link to."""

import re
from pathlib import Path

import mechdesign

FILE = Path(mechdesign.__file__).parent / "references.bib"
_ENTRY = re.compile(r"^@(\w+)\{(\w+),\n(.*?)^\}", re.M | re.S)
_FIELD = re.compile(r"(\w+)\s*=\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_ACCENTS = {
    '"': "\u0308",
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    "~": "\u0303",
    "v": "\u030c",
}


def entries() -> dict[str, dict[str, str]]:
    """Fields of each source, by its key."""
    found = {}
    for kind, key, body in _ENTRY.findall(FILE.read_text(encoding="utf-8")):
        found[key] = {
            "kind": kind,
            **{name.lower(): " ".join(value.split()) for name, value in _FIELD.findall(body)},
        }
    return found


def plain(text: str) -> str:
    """A field without the marks of LaTeX."""
    text = re.sub(
        r"\{?\\([\"'`^~v])\s*\{?\\?([A-Za-z])\}?\}?", lambda m: m[2] + _ACCENTS[m[1]], text
    )
    return re.sub(r"[{}]", "", text).replace("\\&", "&").replace("--", "–").replace("~", " ")


def line(key: str, fields: dict[str, str]) -> str:
    """One source in one line."""
    names = [" ".join(reversed(name.split(", ", 1))) for name in fields["author"].split(" and ")]
    where = [fields[name] for name in ("journal", "booktitle", "publisher") if name in fields]
    where += [f"vol. {fields['volume']}"] if "volume" in fields else []
    where += [f"pp. {fields['pages']}"] if "pages" in fields else []
    where += [fields["note"]] if "note" in fields else []
    parts = [", ".join(names), f"*{fields['title']}*", *where, fields["year"]]
    text = plain(". ".join([parts[0], parts[1], ", ".join(parts[2:])])) + "."
    if "doi" in fields:
        text += f" [doi:{fields['doi']}](https://doi.org/{fields['doi']})"
    if "eprint" in fields:
        text += f" [arXiv:{fields['eprint']}](https://arxiv.org/abs/{fields['eprint']})"
    return f"(bib-{key.lower()})=\n**[{key}]** {text}\n"


def page() -> str:
    """The page of all sources."""
    body = "\n".join(line(key, fields) for key, fields in sorted(entries().items()))
    return (
        "# Bibliography\n\nWhat the results, methods and tables of the library rest on. "
        f"Docstrings name a source by the key in brackets.\n\n{body}"
    )
