"""Libraries that only some uses need, and the extra that installs each.

``pip install mechdesign`` brings what designs, tables, estimates and audits need. Pictures and
pages come with an extra, and so do the tools that a mechanism is handed to. Tables of pandas and
polars need none: who has one has its library.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import MissingLibraryError

#: The modules that the package itself brings.
BASE = (
    *("numpy", "scipy", "highspy", "clarabel", "cvxpy", "flint", "pyarrow", "python_calamine"),
    *("narwhals", "typer", "rich", "joblib", "threadpoolctl", "filelock", "platformdirs"),
)

#: The modules that each extra brings.
EXTRAS = {
    "web": ("matplotlib", "jinja2", "nicegui", "starlette", "granian", "sqlalchemy"),
    "postgresql": ("psycopg",),
    "duckdb": ("duckdb",),
    "dask": ("dask", "distributed"),
    "spark": ("pyspark", "pandas"),
    "sklearn": ("sklearn",),
    "opendp": ("opendp",),
}


@contextmanager
def brought_by(extra: str) -> Iterator[None]:
    """Within it, an import in vain raises :class:`MissingLibraryError`, which names the extra."""
    try:
        yield
    except ImportError as problem:
        library = (problem.name or extra).partition(".")[0]
        if not isinstance(problem, ModuleNotFoundError):
            library = f"a newer {library}"
        raise MissingLibraryError(library, extra) from None
