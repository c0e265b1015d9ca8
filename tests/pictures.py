"""What every picture must be: nothing over anything else, nothing cut off, nothing too small."""

from __future__ import annotations

import itertools

LEAST_SIZE = 8.0


def drawn(figure):
    """The figure rendered by Agg, and its renderer."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return canvas.get_renderer()


def boxes(texts, renderer):
    return [(t.get_text(), t.get_window_extent(renderer)) for t in texts]


def visible(texts):
    return [t for t in texts if t.get_visible() and t.get_text().strip()]


def tick_texts(axis):
    """Tick labels within the limits of the axis."""
    low, high = sorted(axis.get_view_interval())
    room = 1e-9 * (high - low)
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    return visible(t.label1 for t in ticks if low - room <= t.get_loc() <= high + room)


def overlap(a, b, tolerance=0.5):
    """Whether two boxes share more than a trace of a pixel each way."""
    wide = min(a.x1, b.x1) - max(a.x0, b.x0)
    high = min(a.y1, b.y1) - max(a.y0, b.y0)
    return wide > tolerance and high > tolerance


def assert_apart(named):
    # Neighbours first: most overlaps are theirs, and N² pairs are too many for large axes.
    for (name, box), (other, beside) in itertools.combinations(named, 2):
        assert not overlap(box, beside), f"{name!r} lies over {other!r}"


def check_picture(figure, *, whole=True):
    """Tick labels, legends, numbers and titles apart, inside, and large enough.

    ``whole`` also asks that all text lies on the canvas itself, not just on what a tight box saves.
    """
    renderer = drawn(figure)
    canvas = (
        figure.bbox if whole else figure.get_tightbbox(renderer).transformed(figure.dpi_scale_trans)
    )
    for ax in figure.axes:
        ticks = [*tick_texts(ax.xaxis), *tick_texts(ax.yaxis)]
        titles = visible([ax.xaxis.label, ax.yaxis.label, ax.title])
        inside = visible(ax.texts)
        legend = ax.get_legend()
        entries = visible(legend.get_texts()) if legend is not None else []
        assert_apart(boxes([*ticks, *titles], renderer))
        assert_apart(boxes(inside, renderer))
        assert_apart(boxes(entries, renderer))
        for text in [*ticks, *titles, *inside, *entries]:
            assert text.get_fontsize() >= LEAST_SIZE, text.get_text()
            box = text.get_window_extent(renderer)
            assert box.x0 >= canvas.x0 - 1, text.get_text()
            assert box.x1 <= canvas.x1 + 1, text.get_text()
            assert box.y0 >= canvas.y0 - 1, text.get_text()
            assert box.y1 <= canvas.y1 + 1, text.get_text()
        frame = ax.get_window_extent(renderer)
        assert min(frame.width, frame.height) > (10 if ax.get_label() == "<colorbar>" else 40)
        for text in inside:
            box = text.get_window_extent(renderer)
            assert frame.x0 <= box.x0 <= box.x1 <= frame.x1, text.get_text()
        if legend is not None:
            assert not overlap(legend.get_window_extent(renderer), frame), "legend over the picture"
