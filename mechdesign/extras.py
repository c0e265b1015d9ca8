"""Libraries that not every use needs, and the extra that installs each.

``pip install mechdesign`` brings what the first design uses. Modules of this package import all
else where they use it; a finder, which Python asks after all others, answers for what is missing
with the command that installs it. It answers to this package alone: whether a library is there is
for others as it would be without.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType, ModuleType

#: The modules that each extra brings; all but ``standard`` bring those of ``standard`` too.
EXTRAS = {
    "standard": (
        *("scipy", "clarabel", "threadpoolctl", "joblib"),
        *("narwhals", "filelock", "platformdirs"),
    ),
    "frames": ("pandas", "polars"),
    "plot": ("matplotlib",),
    "report": ("jinja2",),
    "explore": ("nicegui",),
    "serve": ("starlette", "granian", "sqlalchemy"),
    "postgresql": ("psycopg",),
    "cvxpy": ("cvxpy",),
    "sklearn": ("sklearn",),
    "opendp": ("opendp",),
    "duckdb": ("duckdb",),
    "dask": ("dask", "distributed"),
    "spark": ("pyspark",),
}
_EXTRA_OF = {module: extra for extra, modules in EXTRAS.items() for module in modules}


class _MissingLibraries:
    """Says which extra installs a library that a module of this package imports in vain."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> None:
        """Raise :class:`MissingLibraryError`, or leave the name to Python's own error."""
        extra = _EXTRA_OF.get(name)
        if extra is None or not _asked_by_package():
            return
        from .errors import MissingLibraryError

        raise MissingLibraryError(name, extra)


def _asked_by_package() -> bool:
    """Whether the nearest frame that is no part of Python's import is one of this package."""
    frame = sys._getframe(2)
    while frame.f_back is not None and _root(frame) == "importlib":
        frame = frame.f_back
    return _root(frame) == __name__.partition(".")[0]


def _root(frame: FrameType) -> str:
    """The package whose code runs in a frame."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def answer_for_missing() -> None:
    """Have Python ask the finder for what is missing; once is enough."""
    if not any(type(finder).__name__ == _MissingLibraries.__name__ for finder in sys.meta_path):
        sys.meta_path.append(_MissingLibraries())
