"""Documents of the repository that are pages of the site, with their links led to pages."""

import posixpath
import re
from pathlib import Path

#: Where a file of the repository is shown.
PLACES = {
    "CHANGELOG.md": "look-up/changes.md",
    "CONTRIBUTING.md": "look-up/contributing.md",
    "mechdesign/collector/PLANNING.md": "do/plan-a-collection.md",
    "mechdesign/certificate/FORMAT.md": "look-up/file-format.md",
    "mechdesign/references.bib": "look-up/bibliography.md",
    "README.md": "index.md",
}

#: Recorded measurements, with what they are about.
BENCHMARKS = {
    "results": "Time to design, beside other solvers",
    "sampling": "Reports drawn per second",
    "releases": "What tables, keys and accounts cost",
    "estimation": "Reports needed, beside other protocols",
    "large_alphabets": "Large alphabets",
    "places": "Places of a map",
    "coverage": "How often intervals hold the truth",
    "ablation_interior_point": "What each part of the interior points brings",
}
PLACES |= {f"benchmarks/{name}.md": f"look-up/benchmarks/{name}.md" for name in BENCHMARKS}


def place_of(path: str) -> str | None:
    """The page for a file of the repository, if it has one."""
    if path.startswith("notebooks/") and path.endswith(".ipynb"):
        return "learn/" + path
    if path.startswith("notebooks/site/") and path.endswith(".md"):
        return path.removeprefix("notebooks/site/")
    return PLACES.get(path)


def with_links(text: str, source: str) -> str:
    """A document with links between files of the repository led to their pages.

    What is no page, such as a file of the source, keeps its words and loses its link.
    """
    folder = posixpath.dirname(PLACES[source])

    def led(match):
        words, target = match[1], match[2]
        if re.match(r"[a-z]+:", target):
            return match[0]
        path, _, anchor = target.partition("#")
        path = (
            posixpath.normpath(posixpath.join(posixpath.dirname(source), path)) if path else source
        )
        page = place_of(path)
        if page is None:
            return f"{words} (`{path}`)"
        page = posixpath.relpath(page, folder)
        return f"[{words}]({page}{'#' + anchor if anchor else ''})"

    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", led, text)


def copies(root: Path) -> dict[str, str]:
    """Pages made of documents, by their place."""
    made = {}
    for source in ("CHANGELOG.md", "CONTRIBUTING.md", "mechdesign/collector/PLANNING.md"):
        made[PLACES[source]] = with_links((root / source).read_text(encoding="utf-8"), source)
    for name, title in BENCHMARKS.items():
        text = (root / "benchmarks" / f"{name}.md").read_text(encoding="utf-8")
        made[f"look-up/benchmarks/{name}.md"] = f"# {title}\n\n{text}"
    return made
