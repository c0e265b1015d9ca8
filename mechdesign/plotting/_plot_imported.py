"""A picture from outside the package, by its import path."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import InputError, MechdesignError, quote


def plot_imported(path: str, item: Any, *, prior: Any = None, privacy: Any = None) -> Any:
    """Draw with the function that an import path names; returns its axes.

    Parameters
    ----------
    path : such as ``mypackage.mymodule:plot_mine``
        Modules in the current folder are found as well. Importing a module runs it.
    item : what is drawn, the first argument of the function
    prior, privacy : passed by name where the function has parameters of these names

    Raises
    ------
    InputError
        When the path names no function, or what it returns is no axes.
    MechdesignError
        As the function raises it; any other error of the function becomes one that names it.
    """
    function = _imported(path)
    known = inspect.signature(function).parameters
    named = {"prior": prior, "privacy": privacy}
    try:
        axes = function(item, **{name: value for name, value in named.items() if name in known})
    except MechdesignError:
        raise
    except Exception as problem:
        raise MechdesignError(
            f"picture {path} failed with {type(problem).__name__}: {problem}"
        ) from problem
    if not (hasattr(axes, "figure") or hasattr(axes, "flat")):
        raise InputError(
            f"picture {path}",
            expected="matplotlib axes as its result",
            got=quote(axes),
            remedy="return fit_figure(ax)",
        )
    return axes


def _imported(path: str) -> Callable[..., Any]:
    name, _, attribute = path.partition(":")
    folder = str(Path.cwd())  # the command line does not search it by itself
    is_new = folder not in sys.path
    if is_new:
        sys.path.append(folder)
    try:
        found = getattr(importlib.import_module(name), attribute)
    except Exception as problem:  # the module runs here, and may fail in any way
        raise InputError(
            "picture",
            expected="the import path of a function",
            got=f"{quote(path)} ({type(problem).__name__}: {problem})",
            remedy="write for example mypackage.mymodule:plot_mine",
        ) from problem
    finally:
        if is_new:
            sys.path.remove(folder)
    if not callable(found):
        raise InputError(
            "picture",
            expected="the import path of a function",
            got=f"{quote(path)}, which is of type {type(found).__name__}",
            remedy="write for example mypackage.mymodule:plot_mine",
        )
    function: Callable[..., Any] = found
    return function
