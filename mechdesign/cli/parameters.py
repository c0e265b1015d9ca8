"""Commands as typer reads them: options spelled out, named for readers, files checked."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo, ParameterInfo

from ..errors import EdgesWarning, OpenBinWarning
from ..extensions import naming_own_code
from .held_warnings import holding_back

# What help calls the value of an option, by a part of the name of its type.
_VALUES = {"int": "NUMBER", "float": "NUMBER", "Path": "FILE"}
# … and which of these stand for files where the type is text.
_FILES = ("FILE", "TABLE", "KERNEL", "DESIGN", "VISITS", "FIRST", "SECOND")


def _file_name(text: str) -> str:
    """The text of an option that names a file; an empty one would stand for the current folder."""
    if not text or "\0" in text:
        got = "a text with a zero byte" if text else "an empty text"
        raise typer.BadParameter(f"expected the name of a file, got {got}")
    return text


def _path(text: str) -> Path:
    return Path(_file_name(text))


def _named_for_readers(name: str, hint: Any) -> Any:
    """The hint of a parameter, with the name that help gives its value where it has none.

    Typer would show the type of Python, as in ``<list[str]>``, or not, depending on its version.
    """
    if get_origin(hint) is not Annotated:
        return hint
    kind, *extras = get_args(hint)
    if any(map(inspect.isfunction, extras)):
        kind = str | None
    told = "|".join(str(part) for part in get_args(kind)) or getattr(kind, "__name__", str(kind))
    value = next((shown for part, shown in _VALUES.items() if part in told), "TEXT")
    for place, extra in enumerate(extras):
        if not isinstance(extra, ParameterInfo) or "bool" in told:
            continue
        changed = extras[place] = copy.copy(extra)
        if changed.metavar is None:
            changed.metavar = name.upper() if isinstance(extra, ArgumentInfo) else value
        if "Path" in told or changed.metavar.rstrip(".") in _FILES:
            changed.parser = _path if "Path" in told else _file_name
    return Annotated[(kind, *extras)]


def spelled_out(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of its groups, those of ``PriorSource`` say, one by one.

    So typer finds each in the signature, and the command gets each group as one argument. A
    function in the annotation of an option, behind what typer reads, makes of its text what the
    command gets.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: group for name, group in hints.items() if is_dataclass(group)}
    spelled = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name not in groups:
            hint = _named_for_readers(parameter.name, hints[parameter.name])
            spelled.append(parameter.replace(annotation=hint))
            continue
        options = get_type_hints(groups[parameter.name], include_extras=True)
        for field in fields(groups[parameter.name]):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            spelled.append(
                parameter.replace(
                    name=field.name,
                    annotation=_named_for_readers(field.name, options[field.name]),
                    default=default,
                )
            )

    read = {
        parameter.name: convert
        for parameter in spelled
        for convert in get_args(parameter.annotation)[1:]
        if inspect.isfunction(convert)
    }

    @functools.wraps(command)
    def run(**given: Any) -> None:
        with naming_own_code(), holding_back(EdgesWarning, OpenBinWarning):
            for name, convert in read.items():
                given[name] = None if given[name] is None else convert(given[name])
            for name, group in groups.items():
                own = {field.name: given.pop(field.name) for field in fields(group)}
                given[name] = group(**own)
            command(**given)

    keyword = inspect.Parameter.KEYWORD_ONLY
    run.__signature__ = inspect.Signature([p.replace(kind=keyword) for p in spelled])  # type: ignore[attr-defined]
    return run
