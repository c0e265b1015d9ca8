"""mechdesign: design, certify and audit optimal privacy mechanisms.

Names are bound on first use, so that importing the package stays fast. They are listed once, in
``__init__.pyi`` beside this file, which type checkers read in its place.

>>> import mechdesign as md
>>> prior = md.Prior([.5, .3, .2], labels=["a", "b", "c"])
>>> found = md.design(prior, md.utility.Hamming(), md.PML(.4))
>>> found.certificate.checks[0].verdict
<Verdict.YES: 'yes'>
"""

import importlib

# The loader reads the file wherever it loaded the package from, an archive too.
_FACE = __spec__.loader.get_data(f"{__path__[0]}/__init__.pyi").decode()
_LINES = [line.split() for line in _FACE.splitlines() if line.startswith("from ")]
#: The module that each name is from: ``from HOME import NAME as NAME``.
_HOMES = {name: home for _, home, _, name, *_ in _LINES}

__all__ = sorted(_HOMES)


def __getattr__(name):
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if home == ".":
        value = importlib.import_module(f".{name}", __name__)
    else:
        value = getattr(importlib.import_module(home, __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
