"""Build the site: ``python notebooks/site/build.py``. The first page is build/site/index.html.

The written pages, the notebooks and what is made from the source are gathered in
build/site-sources, Sphinx makes pages of them (a warning stops it), and what came out is checked:
every link and anchor leads somewhere, nothing is loaded from a network, every public name has an
entry.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from generator import (
    bibliography,
    checks,
    commands,
    documents,
    file_format,
    notions,
    problems,
    reference,
)


def gather(sources: Path) -> None:
    """Everything that Sphinx reads, in one folder."""
    shutil.copytree(HERE, sources, ignore=shutil.ignore_patterns("__pycache__", "build.py"))
    notebooks = sources / "learn" / "notebooks"
    notebooks.mkdir()
    saved = sources / "saved-notebooks"
    saved.mkdir()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        shutil.copy(path, saved)
        content = json.loads(path.read_text(encoding="utf-8"))
        content["cells"][0]["source"] += [
            f"\n\n{{download}}`Download this notebook <../../saved-notebooks/{path.name}>`"
        ]
        (notebooks / path.name).write_text(json.dumps(content), encoding="utf-8")
    shutil.copytree(ROOT / "notebooks" / "pictures", sources / "pictures")
    shutil.copy(file_format.FOLDER / "verify.py", sources / "look-up")
    made = {f"look-up/python/{name}.rst": text for name, text in reference.pages().items()}
    made |= documents.copies(ROOT)
    made[f"look-up/{file_format.NAME}"] = json.dumps(file_format.SCHEMA, indent=1)
    made["look-up/command-line.md"] = commands.page()
    made["look-up/bibliography.md"] = bibliography.page()
    made["look-up/file-format.md"] = documents.with_links(
        file_format.page(), "mechdesign/certificate/FORMAT.md"
    )
    made["look-up/tables-of-errors.txt"] = problems.tables()
    made["look-up/glossary-of-notions.txt"] = notions.glossary()
    made |= {f"look-up/errors/{name}": text for name, text in problems.pages().items()}
    for name, text in made.items():
        path = sources / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main() -> int:
    """Gather, build, check."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "site")
    output = parser.parse_args().output
    sources = output.with_name(f"{output.name}-sources")
    for folder in (output, sources):
        shutil.rmtree(folder, ignore_errors=True)
    output.parent.mkdir(parents=True, exist_ok=True)
    gather(sources)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run([*command, "-d", f"{sources}/.doctrees", sources, output], check=False)
    if done.returncode:
        return done.returncode
    found = checks.problems(output, reference.expected())
    for line in found:
        print(line, file=sys.stderr)
    print(f"{'not ' if found else ''}as it should be: {output / 'index.html'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
