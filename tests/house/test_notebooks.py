"""Every notebook runs from its first cell to its last, without errors or leftovers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mechdesign.papers.catalogue import statements

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)

#: What a saved notebook says about the machine it was made on.
PLAIN = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
PLACES = re.compile(r"/(tmp|home|root|opt|work|Users|var)/|[A-Z]:\\\\|site-packages|ipykernel")

# jupyter_client and zmq warn about themselves on some platforms.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def execute(notebook, folder):
    client = nbclient.NotebookClient(
        notebook,
        timeout=1800,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    return client.execute()


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def shape_of(cell):
    """Kinds of the outputs of a cell and their numbers of lines; digits may differ by platform."""
    texts = {}
    for output in cell.outputs:
        kinds = tuple(sorted(output.get("data", ["stream"])))
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        texts[kinds] = texts.get(kinds, "") + text
    return {
        kinds: "image/png" in kinds or text.rstrip().count("\n") for kinds, text in texts.items()
    }


def test_there_are_notebooks():
    assert NOTEBOOKS, f"no notebook in {FOLDER.name}"
    assert [int(path.stem[:2]) for path in NOTEBOOKS] == list(range(1, len(NOTEBOOKS) + 1))


@each_notebook
def test_saved_notebook_is_complete_and_anonymous(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata == PLAIN
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert all(output.output_type != "error" for output in outputs)
    assert all(output.get("name") != "stderr" for output in outputs)
    for output in outputs:
        output.get("data", {}).pop("image/png", None)
    assert not PLACES.findall(json.dumps(notebook, ensure_ascii=False))


@each_notebook
def test_notebooks_name_each_other_by_number(path):
    notebook = nbformat.read(path, as_version=4)
    prose = " ".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    named = set(re.findall(r"`(\d\d)`", prose))
    assert named <= {other.stem[:2] for other in NOTEBOOKS} - {path.stem[:2]}


@pytest.mark.slow
@each_notebook
def test_notebook_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    before = path.read_bytes()
    saved = [shape_of(cell) for cell in code_cells(notebook)]
    done = execute(notebook, tmp_path)
    cells = code_cells(done)
    assert [shape_of(cell) for cell in cells] == saved
    assert all(cell.execution_count for cell in cells)
    outputs = [output for cell in cells for output in cell.outputs]
    assert outputs
    assert not [output for output in outputs if output.output_type == "error"]
    stderr = [o.text for o in outputs if o.output_type == "stream" and o.name == "stderr"]
    assert not [text for text in stderr if "Traceback" in text]
    assert path.read_bytes() == before


@pytest.mark.slow
def test_a_notebook_that_fails_is_noticed(tmp_path):
    """A control: an error in a cell is not passed over."""
    broken = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="ZeroDivisionError"):
        execute(broken, tmp_path)


def test_the_index_of_figures_names_cells_that_draw_them():
    """Of the page on the papers: under a heading that names it, each figure is a picture."""
    page = (FOLDER / "site" / "understand" / "papers.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| [^|]+ \| ((?:Figure|Table) \w+) \| \[[^]]+\]\(\S*/(\S+)\.ipynb#\S+\) \| (\d+) \|$",
        page,
        re.MULTILINE,
    )
    stated = [entry for entry in statements() if re.search("-(Fig|Tab)-", entry.id)]
    assert len(rows) == len(set(rows)) == len(stated) == 5
    for item, name, number in rows:
        cells = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4).cells
        (place,) = (i for i, cell in enumerate(cells) if cell.get("execution_count") == int(number))
        headings = [c.source for c in cells[:place] if c.source.startswith("## ")]
        assert item in headings[-1].splitlines()[0]
        kinds = {kind for output in cells[place].outputs for kind in output.get("data", {})}
        assert "image/png" in kinds if item.startswith("Figure") else cells[place].outputs
