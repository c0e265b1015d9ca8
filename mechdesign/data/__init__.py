"""What can be tried at once? Small real tables, shipped with the library, each with its citation.

In: the name of a table.
Out: its CSV file, what its rows and columns are, and where it comes from.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path


@dataclass(frozen=True)
class ExampleTable:
    """A shipped table: its file, what its rows are, and where it comes from."""

    name: str
    rows: str
    columns: tuple[str, ...]
    weights: str | None
    people: int
    source: str


EXAMPLES = {
    table.name: table
    for table in (
        ExampleTable(
            "titanic",
            "one line per group of people on board the Titanic",
            ("class", "sex", "age", "survived"),
            "count",
            2201,
            "R. J. MacG. Dawson, The 'Unusual Episode' Data Revisited, Journal of Statistics "
            "Education 3(3), 1995",
        ),
        ExampleTable(
            "ucb_admissions",
            "one line per group of applicants to Berkeley's six largest departments, 1973",
            ("department", "gender", "admission"),
            "count",
            4526,
            "P. J. Bickel, E. A. Hammel, J. W. O'Connell, Sex Bias in Graduate Admissions: Data "
            "from Berkeley, Science 187, 398-404, 1975",
        ),
        ExampleTable(
            "hair_eye_colour",
            "one line per group of statistics students",
            ("hair", "eye", "sex"),
            "count",
            592,
            "R. D. Snee, Graphical Display of Two-Way Contingency Tables, The American "
            "Statistician 28, 9-12, 1974",
        ),
        ExampleTable(
            "fair",
            "one line per group of married women who answered a magazine's survey, 1974",
            ("occupation", "education", "religious", "affair"),
            "count",
            6366,
            "R. C. Fair, A Theory of Extramarital Affairs, Journal of Political Economy 86, 45-61, "
            "1978",
        ),
    )
}


def example_path(name: str | Path) -> Path | None:
    """File of a shipped table, or ``None`` when there is no table of that name.

    >>> example_path("titanic").name
    'titanic.csv'
    """
    if not isinstance(name, str) or name not in EXAMPLES:
        return None
    return Path(str(resources.files(__package__).joinpath(f"{name}.csv")))
