"""Where version 0.1 had :func:`truncations`, kept for programs that import it from here."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["truncations"]  # noqa: F822


def __getattr__(name: str) -> Any:
    # Papers lie above theory, so that this room may not import them when it is loaded.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    papers = __name__.split(".")[0] + ".papers"
    return getattr(importlib.import_module(f"{papers}.pointwise_maximal_cost"), name)
