"""Linear algebra in one thread."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


@cache
def _thread_controller() -> Any:
    import scipy.linalg  # noqa: F401  (its linear algebra must be loaded to be found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Linear algebra in one thread while the context lasts.

    The methods alternate small matrix products with passes over blocks; threads that spin between
    the products slow them down by factors of 2 to 70 (measured on two cores).
    """
    limited: AbstractContextManager[Any] = _thread_controller().limit(limits=1, user_api="blas")
    return limited
