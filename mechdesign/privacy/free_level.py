"""Notions as functions of one level that is left free, everything else fixed: ``alip:2e,e``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..errors import LevelError, is_iterable, quote
from ..labels import counted
from .notion import PrivacyNotion, as_notions, find_notion, parse_notion

# A level of a family as text: the free level, a multiple of it, or a number.
_FREE = re.compile(r"\s*(?P<times>[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?)\s*\*?\s*(?:e|ε|eps)\s*")


@dataclass(frozen=True)
class Family:
    """What a privacy demand asks as a function of one level.

    Attributes
    ----------
    name : how the family is called in tables and plots
    make : from a level in nats to a notion or a list of notions
    """

    name: str
    make: Callable[[float], Any]

    def at(self, level: float) -> tuple[PrivacyNotion, ...]:
        """The notions of a level; raises :class:`LevelError` for what is none."""
        return as_notions(self.make(level))


def as_families(notions: Any) -> tuple[Family, ...]:
    """Families from classes, texts and functions; a mapping gives them names.

    A class of one level stands for itself, one of several for the same level in each place. Texts
    are read by :func:`parse_family`. Functions take a level in nats and are named after themselves.

    Raises
    ------
    LevelError
        For none, for a notion at a fixed level, or for two families of one name.

    Examples
    --------
    >>> from mechdesign import LDP
    >>> [f.name for f in as_families([LDP, "alip:2e,e", {"half": "pml:0.5e"}])]
    ['LDP', 'ALIP(2ε, ε)', 'half']
    """
    found: list[Family] = []
    for position, entry in enumerate(_entries(notions)):
        if isinstance(entry, Mapping):
            found += [Family(str(name), _one(entry, 0).make) for name, entry in entry.items()]
        else:
            found.append(_one(entry, position))
    names = [family.name for family in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if not found or twice is not None:
        raise LevelError(
            "notions of a comparison",
            expected="at least one notion, and different names",
            got="none" if twice is None else f"{quote(twice)} twice",
            remedy="pass for example [md.PML, md.LDP], or {'a name': md.PML, ...}",
        )
    return tuple(found)


def as_family(notion: Any) -> Family:
    """The only family of :func:`as_families`; raises :class:`LevelError` for several."""
    found = as_families(notion)
    if len(found) != 1:
        raise LevelError(
            "smallest level",
            expected="one notion with a free level",
            got=counted(len(found), "notion"),
            remedy="ask for one after another",
        )
    return found[0]


def _entries(notions: Any) -> list[Any]:
    one = isinstance(notions, (str, type, Mapping, Family)) or callable(notions)
    if one or isinstance(notions, PrivacyNotion) or not is_iterable(notions):
        return [notions]
    return list(notions)


def _one(entry: Any, position: int) -> Family:
    if isinstance(entry, Family):
        return entry
    if isinstance(entry, str):
        return parse_family(entry)
    strange = isinstance(entry, type) and not issubclass(entry, PrivacyNotion)
    if isinstance(entry, PrivacyNotion) or not callable(entry) or strange or not _takes_one(entry):
        raise LevelError(
            "notion with a free level",
            expected="a notion class, a text such as 'alip:2e,e', or a function of the level alone",
            got=quote(entry),
            remedy="pass md.PML rather than md.PML(0.5), or lambda e: md.PML(e)",
        )
    name = getattr(entry, "__name__", "")
    name = name if name and name != "<lambda>" else f"notion {position + 1}"
    if isinstance(entry, type) and issubclass(entry, PrivacyNotion):
        if entry.needs:
            raise LevelError(
                f"notion with a free level {name}",
                expected="a notion that levels alone define",
                got=f"one that needs {', '.join(entry.needs)}",
                remedy=f"pass a function, such as lambda e: md.{name}(e, ...)",
            )
        return Family(name, entry.at)
    return Family(name, entry)


def _takes_one(entry: Any) -> bool:
    """Whether a function can be called with a level and nothing else, as far as it tells."""
    if isinstance(entry, type):
        return True
    try:
        inspect.signature(entry).bind(0.0)
    except TypeError:
        return False
    except ValueError:  # some built-in functions have no signature
        pass
    return True


def parse_family(text: str) -> Family:
    """The family that a text such as ``pml``, ``alip:2e,e`` or ``dp:e,adjacent`` names.

    ``e`` is the free level and ``2e`` twice as much; numbers stay fixed. Several joined with ``+``
    must all hold: ``pml:e+ldp:2e``.

    >>> family = parse_family("alip:2e,e")
    >>> family.name, family.at(0.5)
    ('ALIP(2ε, ε)', (ALIP(epsilon_l=1.0, epsilon_u=0.5),))
    """
    parts = [_parse_part(part) for part in re.split(r"\+(?=\s*[a-zA-Z])", text)]
    if not any(part.is_free for part in parts):
        raise LevelError(
            f"notion {text}",
            expected="at least one level that varies, written e",
            got=quote(text),
            remedy="write for example pml:e or alip:2e,e, or just pml",
        )
    return Family(" + ".join(part.shown for part in parts), partial(_join, parts))


@dataclass(frozen=True)
class _Part:
    """One notion of a family: levels that are multiples of the free one, or fixed arguments."""

    name: str
    shown: str
    arguments: tuple[float | str, ...]

    @property
    def is_free(self) -> bool:
        return any(isinstance(argument, float) for argument in self.arguments)

    def at(self, level: float) -> PrivacyNotion:
        arguments = [repr(float(w * level)) if isinstance(w, float) else w for w in self.arguments]
        return parse_notion(f"{self.name}:{','.join(arguments)}")


def _join(parts: list[_Part], level: float) -> list[PrivacyNotion]:
    return [part.at(level) for part in parts]


def _parse_part(text: str) -> _Part:
    name, colon, rest = text.strip().partition(":")
    name = name.strip()
    if not colon:
        found = find_notion(name)
        return _Part(name, found.__name__, (1.0,) * len(found.level_fields))
    arguments: list[float | str] = []
    for argument in rest.split(","):
        match = _FREE.fullmatch(argument)
        times = float(match["times"] or 1) if match else 0.0
        arguments.append(times if times > 0 else argument.strip())
    # A text that means nothing is refused here, before anything is designed.
    shown = type(_Part(name, "", tuple(arguments)).at(1.0)).__name__
    if arguments == [1.0]:
        return _Part(name, shown, (1.0,))
    said = ", ".join(w if isinstance(w, str) else _times(w) for w in arguments)
    return _Part(name, f"{shown}({said})", tuple(arguments))


def _times(factor: float) -> str:
    return "ε" if factor == 1 else f"{factor:g}ε"
