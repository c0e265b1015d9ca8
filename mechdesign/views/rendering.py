"""Pages from templates: everything in one file, nothing loaded from elsewhere."""

from __future__ import annotations

import io
import math
import re
from typing import Any

from .. import __version__
from ..certificate.certificate import gap_in_words
from ..errors import MechdesignError, visible_lines
from ..plotting.style import figure_of, load_pyplot, save_figure
from ..theory.conversions import rounded_up

_HEADER = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_NAMES = re.compile(r'(id="|href="#|url\(#)')


def render(template: str, **values: Any) -> str:
    """A page from a template of this folder; raises :class:`MechdesignError` without jinja2.

    The same values give the same text: no dates, no random names.
    """
    jinja2 = _load_jinja()
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("mechdesign.views"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_seen,
    )
    environment.filters["number"] = number
    environment.filters["upward"] = upward
    environment.filters["gap"] = gap_in_words
    environment.filters["chance"] = chance
    return str(environment.get_template(template).render(version=__version__, **values))


def _seen(value: Any) -> Any:
    """Text with what cannot be seen as escape codes, so that no label reorders a page.

    Pictures and other markup of our own stay as they are; lines stay lines.
    """
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return visible_lines(value)
    return value


def check_pages() -> None:
    """Raise :class:`MechdesignError` before any work when a library that pages need is missing."""
    _load_jinja()
    load_pyplot()


def _load_jinja() -> Any:
    try:
        import jinja2
    except ImportError:
        raise MechdesignError(
            "jinja2 is not installed; install it with: pip install 'mechdesign[report]'"
        ) from None
    return jinja2


def number(value: float, digits: int = 6) -> str:
    """A number for people: significant digits, or that it is infinite."""
    return "infinite" if math.isinf(value) else f"{value:.{digits}g}"


def upward(value: float, digits: int = 6) -> str:
    """A :func:`number` rounded up, so that what it bounds stays below it."""
    return "infinite" if math.isinf(value) else rounded_up(value, digits)


def chance(value: float) -> str:
    """A probability with six decimals; 0 and 1 only where they are meant.

    >>> [chance(v) for v in (0.0, 2e-10, 0.25, 1 - 1e-9, 1.0)]
    ['0', '2e-10', '0.250000', '>0.999999', '1']
    """
    if value in (0.0, 1.0):
        return str(int(value))
    if value < 5e-7:
        return f"{value:.0e}"
    return ">0.999999" if value >= 0.9999995 else f"{value:.6f}"


class Figures:
    """Figures of one page as inline SVG, each with names of its own."""

    def __init__(self) -> None:
        self._count = 0

    def inline(self, axes: Any, label: str) -> str:
        """The figure that axes belong to, closed afterwards; ``label`` says what it shows."""
        from markupsafe import Markup, escape

        figure = figure_of(axes)
        buffer = io.BytesIO()
        save_figure(figure, buffer)
        load_pyplot().close(figure)
        self._count += 1
        text = _HEADER.sub("", buffer.getvalue().decode())
        text = _NAMES.sub(rf"\g<1>f{self._count}-", text)
        return Markup(text.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1))
