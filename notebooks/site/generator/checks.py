"""What is checked of the pages that were built."""

import re
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser loads by itself, rather than when somebody follows it.
_LOADS = {
    ("script", "src"),
    ("img", "src"),
    ("img", "srcset"),
    ("source", "srcset"),
    ("iframe", "src"),
    ("source", "src"),
    ("video", "src"),
    ("embed", "src"),
    ("object", "data"),
    ("link", "href"),
}
_NO_LOAD = {"next", "prev", "index", "search", "author", "copyright", "canonical"}
_AWAY = re.compile(r"(https?:)?//")
_STYLE = re.compile(r"""(?:url\(\s*|@import\s+)["']?((?:https?:)?//[^"')\s]+)""")
# Namespaces are names, and comments of scripts load nothing.
_SCRIPT = re.compile(
    r"""(?:\.src\s*=|fetch\(|import\(|importScripts\()\s*["'`]((?:https?:)?//[^"'`]+)"""
)


class Page(HTMLParser):
    """Anchors, links and loaded files of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.styles: list[str] = []
        self.fields: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = {name: value or "" for name, value in attrs}
        self.ids |= {found[name] for name in ("id", "name") if name in found and tag != "meta"}
        self.styles.append(found.get("style", ""))
        for name, value in found.items():
            if (tag, name) in _LOADS and not (tag == "link" and found.get("rel") in _NO_LOAD):
                self.loads.append(value)
            elif name == "href":
                self.links.append(value)

    def handle_data(self, data):
        if self.lasttag == "dt":
            self.fields.add(data.strip())
        if self.lasttag == "style":
            self.styles.append(data)


def away(page: Page) -> Iterable[str]:
    """What a page would load from a network."""
    yield from (value for value in page.loads if _AWAY.match(value))
    for style in page.styles:
        yield from _STYLE.findall(style)


def problems(folder: Path, names: Iterable[str]) -> list[str]:
    """One line for each link that leads nowhere, loaded address, name without an entry, and page
    with attributes that are not as they are documented.
    """
    pages = {
        path.relative_to(folder).as_posix(): Page(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.html"))
    }
    found = []
    for name, page in pages.items():
        found += [f"{name}: loads {value}" for value in away(page)]
        # Napoleon takes what is said of attributes for types, and splits names that share a line.
        if "Variables" in page.fields:
            found.append(f"{name}: attributes that are not listed as they are documented")
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("data:"):
                continue
            target = (folder / name).parent / unquote(parts.path) if parts.path else folder / name
            target = target.resolve()
            if not target.is_file():
                found.append(f"{name}: no file for {link}")
                continue
            anchor = unquote(parts.fragment)
            inside = pages.get(target.relative_to(folder.resolve()).as_posix())
            if anchor and inside and anchor not in inside.ids:
                found.append(f"{name}: no anchor for {link}")
    for path in sorted([*folder.rglob("*.css"), *folder.rglob("*.js")]):
        text = path.read_text(encoding="utf-8")
        pattern = _STYLE if path.suffix == ".css" else _SCRIPT
        found += [f"{path.relative_to(folder)}: loads {value}" for value in pattern.findall(text)]
    known = set().union(*(page.ids for page in pages.values()))
    found += [f"no page has an entry for {name}" for name in names if name not in known]
    return found
