"""What runs in another process: work that may take its time, at low priority."""

from __future__ import annotations

import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from ..errors import MechdesignWarning

_NICENESS = 10


def politely(work: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a process that gives way to the one that answers visitors."""
    if multiprocessing.parent_process() is not None:
        _step_back()
    return work(*arguments)


@cache
def _step_back() -> None:
    """Once for each process: low priority, no warnings that the page gives itself, no afterlife.

    A server that is ended by force cannot end its processes; each waits for that and ends itself.
    """
    warnings.simplefilter("ignore", MechdesignWarning)
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    threading.Thread(target=_end_with_parent, name="end with parent", daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None  # only called in other processes
    parent.join()
    os._exit(1)
