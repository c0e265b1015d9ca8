"""Utilities, notions, solvers and pictures of one's own, named by where they can be imported from.

``package.module:Name`` on the command line imports a module, which runs it. Nothing but the command
line calls this module: a file that is loaded never causes an import, whatever names it holds.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from .errors import InputError, MechdesignError, UnknownNameError, quote

_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_PATH = re.compile(rf"\s*(?P<module>{_MODULE.pattern}):(?P<name>[^\W\d]\w*)\s*")


# Packages whose modules were loaded here: frames of a traceback in them are code of one's own.
_OWN: set[str] = set()


def is_import_path(text: str) -> bool:
    """Whether a text has the form ``package.module:Name``.

    >>> [is_import_path(text) for text in ("mine.utilities:Nearest", "hamming", "pml:0.5", "a:b,c")]
    [True, False, False, False]
    """
    return _PATH.fullmatch(text) is not None


def check_name_or_module(path: str, kind: str, known: Iterable[str]) -> None:
    """Raise :class:`UnknownNameError` where ``name:text`` is neither a known name nor a module.

    That is a misspelt name: what has a dot is meant as a module. Nothing is imported.
    """
    name = path.partition(":")[0].strip()
    if "." in name or name in sys.modules or importlib.util.find_spec(name) is not None:
        return
    if importlib.machinery.PathFinder.find_spec(name, [""]) is None:
        more = f", and no module named {quote(name)} is found either"
        raise UnknownNameError(kind, name, [*known, "package.module:Name"], more)


def load_module(name: str, subject: str) -> Any:
    """A module by its name, also one in the current directory.

    Whatever is installed comes before files of that directory, so that none of them takes the place
    of a library. Raises :class:`InputError` for a module that is not found or fails.
    """
    if _MODULE.fullmatch(name) is None:
        raise InputError(
            subject,
            expected="a module such as package.module",
            got=quote(name),
            remedy="write it as Python imports it, without .py",
        )
    if "" not in sys.path:  # which stands for the current directory
        sys.path.append("")
    _OWN.add(name.partition(".")[0])
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name is None or not f"{name}.".startswith(f"{problem.name}."):
            raise _failed(name, subject, problem) from problem
        raise InputError(
            subject,
            expected="a module that Python finds",
            got=f"no module named {quote(problem.name)}",
            remedy="install it, or run the command in the folder that holds it",
        ) from None
    except (Exception, SystemExit) as problem:
        raise _failed(name, subject, problem) from problem


@contextmanager
def naming_own_code() -> Iterator[None]:
    """Errors that a module loaded here raises become an :class:`InputError` that names the method.

    What the package raises on purpose passes, from there too. The cause stays attached.
    """
    try:
        yield
    except MechdesignError:
        raise
    except (Exception, SystemExit) as problem:
        place = _entry(problem)
        if place is None:
            raise
        code, name = place.tb_frame.f_code, place.tb_frame.f_globals["__name__"]
        owner = place.tb_frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
        method = getattr(type(owner), code.co_name, None)
        is_method = method is not None and inspect.unwrap(method).__code__ is code
        called = f"{type(owner).__name__}.{code.co_name}" if is_method else code.co_qualname
        raise InputError(
            f"{called} of {name}",
            expected="an answer",
            got=f"{type(problem).__name__}: {problem} (line {place.tb_lineno})",
            remedy="correct it there; called from Python, it shows the whole traceback",
        ) from problem


def _entry(problem: BaseException) -> TracebackType | None:
    """Where the package last called code of one's own, if the error comes from there."""
    found, inside, frame = None, True, problem.__traceback__
    package = __name__.partition(".")[0]
    while frame is not None:
        root = frame.tb_frame.f_globals.get("__name__", "").partition(".")[0]
        if root == package:
            found, inside = None, True
        elif root in _OWN and inside:
            found, inside = frame, False
        frame = frame.tb_next
    return found


def _failed(name: str, subject: str, problem: BaseException) -> InputError:
    return InputError(
        subject,
        expected=f"a module {name} that can be imported",
        got=f"{type(problem).__name__}: {problem}",
        remedy=f'see: python -c "import {name}"',
    )


def find(path: str, base: type, subject: str) -> Any:
    """What ``package.module:Name`` names: a subclass of a base class, or an instance of one.

    Parameters
    ----------
    path : text of that form
    base : what the class must derive from
    subject : what is looked for, for messages

    Raises
    ------
    InputError
        When the module cannot be imported, has no such name, or holds something else there.
    """
    found = _attribute(path, subject, lambda value: _is_class(value, base))
    if _is_class(found, base) or isinstance(found, base):
        return found
    raise InputError(
        f"{subject} {path}",
        expected=f"a class that derives from {base.__name__}, or an instance of one",
        got=_described(found),
        remedy=f"derive it from mechdesign's {base.__name__}",
    )


def find_function(path: str, subject: str) -> Any:
    """The function that ``package.module:name`` names; raises :class:`InputError` as above."""
    found = _attribute(path, subject, inspect.isroutine)
    if callable(found):
        return found
    raise InputError(
        f"{subject} {path}",
        expected="a function",
        got=_described(found),
        remedy="name a function of the module",
    )


def make(path: str, base: type, subject: str) -> Any:
    """The instance that ``package.module:Name`` names, or one of the class, made without arguments.

    Raises :class:`InputError` as :func:`find` does, and for a class that cannot be made so.
    """
    found = find(path, base, subject)
    if not inspect.isclass(found):
        return found
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise InputError(
            f"{subject} {path}",
            expected=f"a class with all methods of {base.__name__}",
            got=f"one without {', '.join(missing)}",
            remedy="define them",
        )
    try:
        inspect.signature(found).bind()
    except TypeError as problem:
        raise InputError(
            f"{subject} {path}",
            expected="a class that is made without arguments",
            got=str(problem),
            remedy="give them defaults, or name an instance that the module makes",
        ) from None
    try:
        return found()
    except MechdesignError:
        raise
    except Exception as problem:  # code from outside, which may fail in any way
        raise InputError(
            f"{subject} {path}",
            expected="a class that can be made",
            got=f"{type(problem).__name__}: {problem}",
            remedy="correct its constructor",
        ) from problem


def _attribute(path: str, subject: str, is_wanted: Any) -> Any:
    match = _PATH.fullmatch(path)
    if match is None:
        raise InputError(
            subject,
            expected="a path such as package.module:Name",
            got=quote(path),
            remedy="write the module, a colon, and the name in it",
        )
    module = load_module(match["module"], f"{subject} {path}")
    if not hasattr(module, match["name"]):
        known = [name for name, value in vars(module).items() if is_wanted(value)]
        if known:
            raise UnknownNameError(f"{subject} in {match['module']}", match["name"], known)
        raise InputError(
            f"{subject} {path}",
            expected=f"a {subject} in {quote(getattr(module, '__file__', match['module']))}",
            got="none",
            remedy="define it there, or name another module",
        )
    return getattr(module, match["name"])


def _is_class(value: Any, base: type) -> bool:
    return inspect.isclass(value) and issubclass(value, base)


def _described(value: Any) -> str:
    if inspect.isclass(value):
        return f"the class {value.__name__}"
    return f"{quote(value)} of type {type(value).__name__}"
