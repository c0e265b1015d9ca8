"""The style of every picture: colours, markers, axes, legends, files; the user's settings stay.

The colours are those of Okabe and Ito, which colour-blind readers can tell apart; markers and line
styles say the same again, for print in grey.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from ..errors import InputError, StorageError, quote
from ..extras import brought_by
from ..files import new_file
from .glyphs import no_glyph_warnings, use_fonts_of_labels, warn_of_boxes, without_glyphs

#: Okabe and Ito's colours without yellow, which is too pale for lines; black comes last.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES: tuple[Any, ...] = (
    "-",
    "--",
    "-.",
    ":",
    (0, (5, 1, 1, 1, 1, 1)),
    (0, (8, 2)),
    (0, (1, 2)),
)
#: Line styles of bounds and asked levels.
DASHES: tuple[Any, ...] = ("--", ":", "-.", (0, (1, 1)))
INK = "0.25"
PALE = "0.85"
#: Sizes of text in points.
SMALL, NORMAL = 8, 9
ENDINGS = (".png", ".pdf", ".svg")
#: Above so many, points and cells are stored as pixels: an SVG would have a line for each.
MANY_POINTS = 2500
# Marks axes that new_axes made, which fit_figure may resize; inches around what is drawn.
_OURS, _MARGIN = "mechdesign-axes", 0.08
# Share of the width of others' axes that a legend beside them leaves at least.
_LEAST = 0.4

# Without these a file would hold the time it was made at, and random identifiers.
_SALT = {"svg.hashsalt": "mechdesign"}
_NO_DATE: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    ".pdf": {"CreationDate": None},
    ".png": {},
}


def load_pyplot() -> Any:
    """``matplotlib.pyplot``, or a :class:`MissingLibraryError` that says how to install it."""
    with brought_by("web"):
        from matplotlib import pyplot
    return pyplot


def series_style(position: int) -> dict[str, Any]:
    """Colour, marker and line style of the series at a position; all three differ up to seven."""
    turn = position % len(PALETTE)
    line = (position + position // len(PALETTE)) % len(LINES)
    return {"color": PALETTE[turn], "marker": MARKERS[turn], "linestyle": LINES[line]}


def new_axes(ax: Any = None, size: tuple[float, float] = (4.6, 3.2)) -> Any:
    """The axes given, or those of a new figure, in this style.

    A figure in place of axes is given one pair of axes that fills it. ``size`` is the width and
    height of new axes in inches; :func:`fit_figure` afterwards makes the figure as large as axes,
    names and legend need.
    """
    if ax is None or hasattr(ax, "set_size_inches"):
        figure = load_pyplot().figure(figsize=size) if ax is None else ax
        figure.set_size_inches(size)
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        ax.set_gid(_OURS)
    elif not hasattr(ax, "spines"):
        raise InputError(
            "ax of a picture",
            expected="matplotlib axes, or an empty figure",
            got=f"several axes in a {type(ax).__name__}" if hasattr(ax, "flat") else quote(ax),
            remedy="leave it out, or pass one of plt.subplots()[1]",
        )
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_linewidth(0.8)
        ax.spines[side].set_color(INK)
    ax.tick_params(labelsize=SMALL, color=INK, width=0.8)
    ax.set_axisbelow(True)
    ax.grid(True, color=PALE, linewidth=0.5)
    for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
        text.set_fontsize(NORMAL)
    return ax


def fit_figure(ax: Any) -> Any:
    """Make the figure of :func:`new_axes` as large as what is drawn; others stay as they are."""
    use_fonts_of_labels(ax)
    if ax.get_gid() != _OURS:
        return ax
    figure = ax.figure
    width, height = figure.get_size_inches()
    with no_glyph_warnings():
        box = ax.get_tightbbox()
    left, bottom, right, top = (float(v) / figure.dpi for v in box.extents)
    wide, high = right - left + 2 * _MARGIN, top - bottom + 2 * _MARGIN
    figure.set_size_inches(wide, high)
    ax.set_position(
        ((_MARGIN - left) / wide, (_MARGIN - bottom) / high, width / wide, height / high)
    )
    return ax


def legend_beside(ax: Any, *rest: Any, **options: Any) -> None:
    """Draw a legend to the right of the axes, where it covers nothing.

    Axes of somebody else's figure, where nothing else makes room for it, become narrower by its
    width; where too little would be left of them, the legend is drawn inside, on a pale ground.
    """
    look = {"fontsize": SMALL, "handlelength": 2.5, "labelcolor": INK, **options}
    beside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    legend = ax.legend(*rest, frameon=False, **beside, **look)
    figure = ax.figure
    if ax.get_gid() == _OURS or figure.get_layout_engine() is not None:
        return
    box = ax.get_position(original=True)
    width = legend.get_window_extent().width / figure.bbox.width
    left = (box.width - width) / 1.01
    if left >= _LEAST * box.width:
        ax.set_position((box.x0, box.y0, left, box.height), which="active")
    else:
        ax.legend(*rest, loc="best", frameon=True, framealpha=0.8, edgecolor=PALE, **look)


def log_axis(axis: Any) -> None:
    """Make an axis logarithmic, with names at powers of ten and none between them."""
    from matplotlib.ticker import NullFormatter

    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    axis.set_minor_formatter(NullFormatter())


def figure_of(axes: Any) -> Any:
    """The figure that axes, or an array of them, belong to."""
    return getattr(axes, "figure", None) or axes.flat[0].figure


def check_picture(path: Path) -> None:
    """Raise before any work when a picture could not be saved under this name."""
    if path.suffix.lower() not in ENDINGS:
        raise StorageError(
            f"plot {path}: expected a name that ends in {', '.join(ENDINGS)}, got "
            f"{path.suffix or 'none'}; choose one of these."
        )
    load_pyplot()


def save_figure(figure: Any, path: Path | str | BytesIO, *, overwrite: bool = True) -> None:
    """Write a figure; the ending says which kind. The same figure gives the same bytes.

    A buffer in place of a path gets SVG. Where no installed font has a character, an SVG holds its
    texts as text, and other files have a box in its place.

    Warns
    -----
    GlyphWarning
        When a picture has such boxes.

    Raises
    ------
    StorageError
        For an ending that is none of png, pdf and svg, or when the file cannot be written, or
        exists and must not be replaced.
    """
    if isinstance(path, BytesIO):
        _write(figure, path, ".svg")
        return
    path = Path(path)
    check_picture(path)
    # Complete or not at all.
    with new_file(path, overwrite=overwrite) as name:
        _write(figure, name, path.suffix.lower())


def _write(figure: Any, target: Path | BytesIO, kind: str) -> None:
    import matplotlib as mpl

    absent = without_glyphs(figure)
    settings = dict(_SALT)
    if absent and kind == ".svg":
        settings["svg.fonttype"] = "none"  # whoever shows the file has other fonts
    elif absent:
        warn_of_boxes(absent)
    with mpl.rc_context(settings), no_glyph_warnings():
        figure.savefig(
            target, format=kind[1:], bbox_inches="tight", dpi=200, metadata=_NO_DATE[kind]
        )
