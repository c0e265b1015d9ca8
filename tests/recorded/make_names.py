"""Write ``public_names.json``: the public names of this version, and what is passed to them.

Run once per version whose programs must go on, from the root of the repository::

    python tests/recorded/make_names.py tests/recorded/public_names.json
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import mechdesign as md

ROOMS = {
    "": md,
    "theory.": md.theory,
    "noise.": md.noise,
    "utility.": md.utility,
    "privacy.": md.privacy,
}


def parameters(item: Any) -> list[str] | None:
    """Names of what is passed, with kinds and defaults; ``None`` where Python cannot tell."""
    try:
        found = inspect.signature(item).parameters.values()
    except (TypeError, ValueError):
        return None
    return [f"{p.kind.name} {p.replace(annotation=inspect.Parameter.empty)}" for p in found]


def public_names() -> dict[str, dict[str, Any]]:
    """Parameters of every public function and class; of classes, those of their members as well."""
    names: dict[str, dict[str, Any]] = {}
    for room, module in ROOMS.items():
        for name in module.__all__:
            item = getattr(module, name)
            names[room + name] = {"": parameters(item) if callable(item) else None}
            if inspect.isclass(item):
                for member in filter(lambda member: not member.startswith("_"), dir(item)):
                    value = getattr(item, member)
                    found = parameters(value) if inspect.isroutine(value) else None
                    # What a method calls its own object is nobody's business.
                    static = inspect.getattr_static(item, member)
                    own = not isinstance(static, (classmethod, staticmethod))
                    names[room + name][member] = found[own:] if found else found
    return names


if __name__ == "__main__":
    text = json.dumps(public_names(), indent=0, sort_keys=True, ensure_ascii=False)
    Path(sys.argv[1]).write_text(text + "\n", encoding="utf-8")
