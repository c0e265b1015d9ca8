"""Fonts for labels that those of the settings have no glyphs for, such as Chinese and Japanese."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from ..errors import GlyphWarning, warn

# Fonts of frames with a number in place of a glyph, and of mathematics under other codes.
_NO_FONTS = ("Last Resort", "STIXNonUnicode", "cm")
_SHOWN = 8
# They choose between glyphs and have none.
_VARIANTS = frozenset(map(chr, range(0xFE00, 0xFE10)))


def families_for(text: str, known: Sequence[str] | None = None) -> list[str]:
    """The font families of the settings, or ``known`` ones, and installed ones that have what these
    lack of a text, those first that have most of it.
    """
    if known is None:
        from matplotlib import rcParams

        known = rcParams["font.family"]
    return [*known, *_others(_lacking(text, known), frozenset())]


def use_fonts_of_labels(axes: Any) -> None:
    """Let every text of the axes that lacks glyphs take them from other installed fonts."""
    for text in _texts(axes):
        known = text.get_fontfamily()
        found = families_for(text.get_text(), known)
        if len(found) > len(known):
            text.set_fontfamily(found)


def without_glyphs(figure: Any) -> str:
    """The characters of a figure that no installed font has, sorted."""
    lacking = (_lacking(text.get_text(), text.get_fontfamily()) for text in _texts(figure))
    return "".join(sorted(frozenset[str]().union(*lacking)))


def warn_of_boxes(absent: str) -> None:
    """Warn that a picture has empty boxes in place of some characters."""
    shown = absent[:_SHOWN] + "…" * (len(absent) > _SHOWN)
    warn(
        f"picture: no installed font has {shown}, so empty boxes stand in their place; install one "
        "that has, such as Noto Sans CJK, or save the picture as .svg, in which they are text",
        GlyphWarning,
    )


@contextmanager
def no_glyph_warnings() -> Iterator[None]:
    """Without the warnings of matplotlib for each character that a font lacks."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .*missing from", category=UserWarning)
        yield


def _texts(artist: Any) -> Iterable[Any]:
    from matplotlib.text import Text

    return (text for text in artist.findobj(Text) if not text.get_text().isascii())


def _lacking(text: str, families: Sequence[str]) -> frozenset[str]:
    """What no font of these families has; what has no glyph, such as a joiner, is not lacking."""
    return frozenset(
        c
        for c in set(text)
        if not (c.isascii() or c.isspace() or unicodedata.category(c) in ("Cc", "Cf"))
        and c not in _VARIANTS
        and not any(ord(c) in _characters(path) for path in _paths(tuple(families)))
    )


@cache
def _paths(families: tuple[str, ...]) -> tuple[str, ...]:
    from matplotlib.font_manager import FontProperties, findfont

    return tuple(findfont(FontProperties(family=[name])) for name in families)


@cache
def _characters(path: str) -> frozenset[int]:
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(FT2Font(path).get_charmap())
    except (OSError, RuntimeError):  # a file that is gone, or no font
        return frozenset()


@cache
def _others(lacking: frozenset[str], used: frozenset[str]) -> tuple[str, ...]:
    """Installed families that have what is lacking, the one that has most of it first."""
    from matplotlib.font_manager import fontManager

    codes = frozenset(map(ord, lacking))
    if not codes:
        return ()
    upright = [
        font
        for font in fontManager.ttflist
        if font.style == "normal" and not font.name.startswith(_NO_FONTS) and font.name not in used
    ]
    most, name, path = max(
        ((len(codes & _characters(font.fname)), font.name, font.fname) for font in upright),
        key=lambda found: (found[0], found[1]),
        default=(0, "", ""),
    )
    if not most:
        return ()
    rest = frozenset(c for c in lacking if ord(c) not in _characters(path))
    return (name, *_others(rest, used | {name}))
