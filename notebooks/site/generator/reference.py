"""Pages of the reference, one for each room: every public name, from its docstring."""

import importlib
import inspect
import re
from collections.abc import Mapping
from pathlib import Path

import mechdesign as md

_FACE = Path(md.__file__).with_name("__init__.pyi").read_text(encoding="utf-8")

#: Rooms in the order of a job, with the title of their page. The first has what stands in no room.
ROOMS = {
    "": "Priors, mechanisms and files",
    "privacy": "Privacy notions",
    "utility": "Utilities",
    "requirement": "Requirements",
    "solve": "Design",
    "certificate": "Certificates",
    "channels": "Orders of kernels",
    "evidence": "Audits by samples",
    "theory": "What follows from what",
    "noise": "Noise on the real line",
    "places": "Places of a map",
    "release": "From a kernel to data",
    "subsets": "Very many symbols",
    "devices": "Drawing on devices and in databases",
    "forms": "Forms that the public answers",
    "_compare": "Comparisons",
    "plotting": "Pictures",
    "views": "Reports for reviewers",
    "errors": "Errors and warnings",
}

#: Modules that are public beside the names of ``mechdesign`` itself, by the room they are shown in.
MODULES = {
    "privacy": ["mechdesign.privacy", "mechdesign.privacy.databases"],
    "utility": ["mechdesign.utility"],
    "requirement": ["mechdesign.require", "mechdesign.requirement"],
    "solve": ["mechdesign.solve"],
    "evidence": ["mechdesign.evidence.controls"],
    "theory": ["mechdesign.theory"],
    "noise": ["mechdesign.noise"],
    "places": ["mechdesign.places"],
    "release": ["mechdesign.release.transformer", "mechdesign.release.measurement"],
    "plotting": ["mechdesign.plotting"],
    "errors": ["mechdesign.errors"],
}


def homes() -> dict[str, str]:
    """The room of each name of ``mechdesign``."""
    found = {}
    for module, name in re.findall(r"^from (\.\S*) import (\w+)", _FACE, re.M):
        room = module.split(".")[1]
        if not inspect.ismodule(getattr(md, name)):
            found[name] = room if room in ROOMS else ""
    return found


def module(name: str):
    """A public module, which may be reached as an attribute only."""
    head, _, last = name.rpartition(".")
    if name == "mechdesign.require":
        return getattr(importlib.import_module(head), last)
    return importlib.import_module(name)


def names(which: str) -> list[str]:
    """Public names of a module: those it lists, else what it defines."""
    found = module(which)
    listed = getattr(found, "__all__", None)
    if listed is None:
        # Of errors only what is raised and warned of; the rest of that module serves messages.
        listed = [
            name
            for name, value in vars(found).items()
            if not name.startswith("_")
            and (
                inspect.isclass(value) if which == "mechdesign.errors" else inspect.isroutine(value)
            )
            and value.__module__ == found.__name__
        ]
    return [name for name in listed if not inspect.ismodule(getattr(found, name))]


def entry(place: str, name: str) -> str:
    """The directive for one name."""
    value = getattr(module(place), name)
    if inspect.isclass(value):
        return f".. autoclass:: {place}.{name}\n   :members:\n   :show-inheritance:\n"
    if callable(value):
        return f".. autofunction:: {place}.{name}\n"
    if isinstance(value, Mapping):
        known = ", ".join(f"``{key}``" for key in value)
        return f".. py:data:: {name}\n\n   Classes by their name: {known}.\n"
    return f".. py:data:: {name}\n\n   Now ``{value!r}``.\n"


def table(place: str, listed: list[str]) -> str:
    """Names with the first line of what they say."""
    lines = "".join(f"   {name}\n" for name in listed if callable(getattr(module(place), name)))
    return f".. autosummary::\n   :nosignatures:\n\n{lines}"


def heading(title: str, line: str) -> str:
    return f"{title}\n{line * len(title)}\n\n"


def room_page(room: str) -> str:
    """The page of a room: a table of its names, then each of them."""
    text = heading(ROOMS[room], "=")
    if room and room != "errors":
        face = importlib.import_module(f"mechdesign.{room}")
        text += (inspect.getdoc(face) or "").split("\n", 1)[0] + "\n\n"
    top = sorted(name for name, home in homes().items() if home == room)
    parts = [("mechdesign", top)] if top else []
    shown = {id(getattr(md, name)) for name in homes()}
    for which in MODULES.get(room, []):
        others = [name for name in names(which) if id(getattr(module(which), name)) not in shown]
        shown |= {id(getattr(module(which), name)) for name in others}
        parts.append((which, others))
    for place, listed in parts:
        text += heading(f"``{place}``", "-")
        if place != "mechdesign":
            text += f".. module:: {place}\n\n"
        text += f".. currentmodule:: {place}\n\n{table(place, listed)}\n"
        text += "\n".join(entry(place, name) for name in listed) + "\n"
    return text


def pages() -> dict[str, str]:
    """Every page of the reference, by its name, and the page that lists them."""
    made = {(room or "core").strip("_"): room_page(room) for room in ROOMS if room != "certificate"}
    index = heading("In Python", "=")
    index += "``import mechdesign as md``. Levels are in nats throughout.\n\n"
    index += ".. module:: mechdesign\n\n.. toctree::\n   :maxdepth: 1\n\n"
    index += "".join(f"   {name}\n" for name in made)
    index += f"\n{heading('Every name of ``mechdesign``', '-')}"
    index += table("mechdesign", sorted(homes()))
    return {"index": index, **made}


def expected() -> list[str]:
    """The anchor that every public name must have on some page.

    A name of a room that is a name of ``mechdesign`` too has its entry there.
    """
    at = {id(getattr(md, name)): name for name in homes()}
    found = [f"mechdesign.{name}" for name in homes()]
    for name in md.__all__:
        if inspect.ismodule(getattr(md, name)):
            found.append(f"module-mechdesign.{name}")
    for which in dict.fromkeys(each for listed in MODULES.values() for each in listed):
        for name in names(which):
            same = at.setdefault(id(getattr(module(which), name)), f"{which}.{name}")
            found.append(same if same.startswith("mechdesign.") else f"mechdesign.{same}")
    return list(dict.fromkeys(found))
