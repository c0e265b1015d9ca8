"""The controls of the page: bars of the prior, notions with their levels, the utility."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from nicegui import ui

from . import words
from .bar import Bar
from .desk import Desk
from .frontiers import GRID
from .settings import OFFERED, UTILITIES, Demand, Settings, check_share, parse_number

#: Ends of the bars: the first that leaves room above the largest mass.
_TOPS = (0.1, 0.2, 0.5, 1.0)
_STEPS = 200
_LEVEL_STEPS = 150
_GREEK = {"epsilon": "ε", "epsilon_l": "ε_l", "epsilon_u": "ε_u"}


def heading(text: str, anchor: str, level: int = 2) -> None:
    """A heading that links and sections can refer to."""
    ui.html(text, tag=f"h{level}", sanitize=False).props(f"id={anchor}")


def text_field(value: str, name: str, commit: Callable[[str], bool], classes: str = "") -> ui.input:
    """A field whose text counts when it is left or Enter is pressed, marked while it is refused."""
    field = ui.input(value=value).props("dense outlined hide-bottom-space").classes(classes)
    field.props["aria-label"] = name

    def done() -> None:
        mark(field, commit(field.value or ""))

    field.on("change", done)
    return field


def mark(field: ui.input, good: bool) -> None:
    """Show whether the text of a field was taken."""
    if bool(field.props.get("error")) == good:
        field.props["error"] = not good


def put(field: Any, value: Any) -> None:
    """Show a value in a control unless it is there already."""
    if field.value != value:
        field.value = value
    if isinstance(field, ui.input):
        mark(field, True)


@dataclass
class Row:
    """The controls of one symbol."""

    name: ui.input
    bar: Bar
    share: ui.input
    gone: ui.button


class PriorBars:
    """One bar for each symbol, with its name and its mass as text.

    Dragging a bar keeps the proportions of the others, those they had when the drag began: a bar
    pulled to its end and back leaves everything as it was.
    """

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.rows: list[Row] = []
        self._drag: tuple[int, tuple[float, ...], tuple[float, ...]] | None = None
        self._top = 1.0
        self._box = ui.element("div").classes("bars")
        self._scale = ui.html("", tag="p", sanitize=False).classes("hint")
        self.show(desk.settings)

    def show(self, settings: Settings) -> None:
        """Bring all bars in line with the settings."""
        if len(self.rows) != len(settings.names):
            self._rebuild(settings)
        largest = max(settings.shares)
        if self._drag is None or largest > self._top:
            self._rescale(largest)
        for row, name, share in zip(self.rows, settings.names, settings.shares, strict=True):
            row.bar.show(share, f"Mass of {name}", still=len(self.rows) == 1)
            put(row.name, name)
            put(row.share, f"{share:.4g}")
            if row.name.props.get("title") != name:
                row.name.props["title"] = name
                row.share.props["aria-label"] = f"Mass of {name} as a number"
                row.gone.props["aria-label"] = f"Remove {name}"

    def _rescale(self, largest: float) -> None:
        self._top = next((top for top in _TOPS if top >= 1.1 * largest), 1.0)
        for row in self.rows:
            row.bar.limit(0, self._top)
        text = f"Bars end at {self._top:g}. Drag one, and the others keep their proportions."
        self._scale.content = text

    def _rebuild(self, settings: Settings) -> None:
        self._box.clear()
        with self._box:
            self.rows = [self._row(place, name) for place, name in enumerate(settings.names)]

    def _row(self, place: int, name: str) -> Row:
        with ui.element("div").classes("bar"):
            label = text_field(
                name,
                f"Name of symbol {place + 1}",
                lambda text: self.desk.change(lambda s: s.renamed(place, text)),
                "name",
            )
            bar = Bar(
                *(0, self._top, _STEPS, "share"),
                lambda value: self._dragged(place, value),
                self._released,
            )
            share = text_field("", f"Mass of {name}", lambda text: self._typed(place, text), "mass")
            gone = ui.button(
                icon="close", on_click=lambda: self.desk.change(lambda s: s.without(place))
            ).props("flat dense round size=sm")
            gone.props["aria-label"] = f"Remove {name}"
        return Row(label, bar.classes("share"), share, gone)

    def _dragged(self, place: int, value: float) -> None:
        now = self.desk.settings.weights
        if self._drag is None or self._drag[0] != place or self._drag[2] != now:
            self._drag = (place, now, now)
        start = self._drag[1]
        moved = replace(self.desk.settings, weights=start).with_share(place, value).weights
        self._drag = (place, start, moved)
        self.desk.change(lambda s: replace(s, weights=moved, source=None))

    def _released(self) -> None:
        drag, self._drag = self._drag, None
        self.show(self.desk.settings)
        self._drag = drag

    def _typed(self, place: int, text: str) -> bool:
        def changed(settings: Settings) -> Settings:
            share = check_share(parse_number(text, f"mass of {settings.names[place]}"))
            return settings.with_share(place, share)

        return self.desk.change(changed)


class NotionList:
    """The notions looked at, each with its level on a slider and as text."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._quiet = False
        self._names: list[str] = []
        self._ticks: dict[str, ui.checkbox] = {}
        self._sliders: dict[tuple[str, int], Bar] = {}
        self._fields: dict[tuple[str, int], ui.input] = {}
        self._box = ui.element("div").classes("notions")
        self._more = (
            ui.select({}, label="Add a notion to compare", on_change=self._chosen)
            .props("dense outlined options-dense")
            .classes("wide")
        )
        self.show(desk.settings)

    def show(self, settings: Settings) -> None:
        """Bring all controls in line with the settings."""
        self._quiet = True
        try:
            names = [demand.name for demand in settings.demands]
            if names != self._names:
                self._rebuild(settings)
            for demand in settings.demands:
                self._show_demand(demand)
        finally:
            self._quiet = False

    def _show_demand(self, demand: Demand) -> None:
        put(self._ticks[demand.name], demand.held)
        fields = type(demand.notion).level_fields
        for place, level in enumerate(demand.levels):
            title = f"Level {_GREEK[fields[place]]} of {demand.title}"
            inside = GRID[0] <= level <= GRID[-1]
            beyond = "" if inside else f"{words.number(level)} nats"
            self._sliders[demand.name, place].show(_position(level), title, beyond=beyond)
            put(self._fields[demand.name, place], _level_text(level))

    def _rebuild(self, settings: Settings) -> None:
        self._names = [demand.name for demand in settings.demands]
        self._box.clear()
        for kept in (self._ticks, self._sliders, self._fields):
            kept.clear()
        with self._box:
            for demand in settings.demands:
                self._card(demand)
        left = [name for name in OFFERED if name not in self._names]
        self._more.set_options({name: _option(name) for name in left}, value=None)
        self._more.set_visibility(bool(left))

    def _card(self, demand: Demand) -> None:
        name = demand.name
        with ui.element("div").classes("notion"), ui.element("div").classes("notion-head"):
            self._ticks[name] = ui.checkbox(
                f"{demand.title}: {words.NAMES[name]}",
                on_change=lambda event: self._set(name, held=bool(event.value)),
            ).props("dense")
            gone = ui.button(
                icon="close", on_click=lambda: self.desk.change(lambda s: s.without_notion(name))
            ).props("flat dense round size=sm")
            gone.props["aria-label"] = f"Remove {demand.title}"
            gone.tooltip("Take it off the page")
        fields = type(demand.notion).level_fields
        for place, field in enumerate(fields):
            self._level(demand, place, _GREEK[field])

    def _level(self, demand: Demand, place: int, symbol: str) -> None:
        name, title = demand.name, f"Level {symbol} of {demand.title}"
        with ui.element("div").classes("level"):
            ui.html(
                symbol.replace("_l", "<sub>l</sub>").replace("_u", "<sub>u</sub>"),
                tag="span",
                sanitize=False,
            )
            slider = Bar(
                *(math.log10(GRID[0]), math.log10(GRID[-1]), _LEVEL_STEPS, "nats"),
                lambda value: self._set_level(name, place, float(f"{10**value:.3g}")),
            )
            field = text_field(
                "", f"{title} in nats", lambda text: self._typed(name, place, text), "mass"
            )
        self._sliders[name, place], self._fields[name, place] = slider, field

    def _set(self, name: str, **changes: Any) -> None:
        if not self._quiet:
            self.desk.change(lambda s: s.with_demand(name, **changes))

    def _typed(self, name: str, place: int, text: str) -> bool:
        def changed(settings: Settings) -> Settings:
            demand = settings.demand(name)
            return _levelled(
                settings, demand, place, parse_number(text, f"level of {demand.title}")
            )

        return self.desk.change(changed)

    def _set_level(self, name: str, place: int, level: float) -> None:
        self.desk.change(lambda s: _levelled(s, s.demand(name), place, level))

    def _chosen(self, event: Any) -> None:
        if not self._quiet and event.value is not None:
            self.desk.change(lambda s: s.with_notion(event.value))


class UtilityChoice:
    """What must survive."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._select = (
            ui.select(
                {name: words.UTILITY_NAMES[name] for name in UTILITIES},
                label="Utility",
                value=desk.settings.utility,
                on_change=lambda event: self._chosen(event.value),
            )
            .props("dense outlined options-dense")
            .classes("wide")
        )

    def show(self, settings: Settings) -> None:
        """Bring the choice in line with the settings."""
        put(self._select, settings.utility)

    def _chosen(self, name: str) -> None:
        if name != self.desk.settings.utility:
            self.desk.change(lambda s: s.with_utility(name))


def _levelled(settings: Settings, demand: Demand, place: int, level: float) -> Settings:
    levels = tuple(level if i == place else old for i, old in enumerate(demand.levels))
    return settings.with_demand(demand.name, levels=levels)


def _position(level: float) -> float:
    """Where a level stands on its slider; the ends serve what lies beyond them."""
    low, high = math.log10(GRID[0]), math.log10(GRID[-1])
    return high if level == math.inf else min(max(math.log10(max(level, 1e-9)), low), high)


def _level_text(level: float) -> str:
    return "∞" if level == math.inf else f"{level:.6g}"


def _option(name: str) -> str:
    from ..privacy.notion import NOTIONS

    return f"{NOTIONS[name].__name__}: {words.NAMES[name]}"
