"""The controls of the page: the prior and where it comes from, notions with levels, the utility.

Each shows the settings of a page state and changes them through it.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nicegui import events, ui
from nicegui.element import Element

import mechdesign as md

from ..data import EXAMPLES
from ..errors import MechdesignError
from ..tables import open_table
from ..views.html import number
from .results import LEVELS
from .settings import (
    OFFERED,
    UTILITIES,
    Column,
    NotionSetting,
    Settings,
    message,
    parse_number,
)
from .state import PageState, Runner

#: Largest file that a visitor may load, in bytes.
LARGEST_FILE = 50_000_000
#: Files above so many bytes are read in the background.
LARGE_FILE = 1_000_000
# Ends of the sliders of masses: the first that leaves room above the largest mass.
_TOPS = (0.1, 0.2, 0.5, 1.0)
_SHARE_STEPS, _LEVEL_STEPS = 200, 150
_LOG_ENDS = (math.log10(LEVELS[0]), math.log10(LEVELS[-1]))
_GREEK = {"epsilon": "ε", "epsilon_l": "ε_l", "epsilon_u": "ε_u"}
# Seconds between two messages of a slider that is dragged.
_THROTTLE = 0.05


class Slider(Element, component="slider.js"):  # type: ignore[call-arg]
    """A native range input that tells of its moves.

    Parameters
    ----------
    low, high : ends
    steps : number of steps between them
    unit : ``"share"`` for a probability, ``"nats"`` for the decimal logarithm of a level
    moved : called with the value while it is dragged and at each key
    released : called when it is let go
    """

    def __init__(
        self,
        low: float,
        high: float,
        steps: int,
        unit: str,
        moved: Callable[[float], object],
        released: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__()
        self._steps = steps
        self.props["unit"] = unit
        self.props["value"] = low
        self.limit(low, high)

        def let_go(value: float) -> None:
            moved(value)
            released()

        self.on("move", lambda event: moved(_argument(event)), throttle=_THROTTLE)
        self.on("release", lambda event: let_go(_argument(event)))

    def limit(self, low: float, high: float) -> None:
        """Give it other ends."""
        self._set("min", low)
        self._set("max", high)
        self._set("step", (high - low) / self._steps)

    def show(self, value: float, label: str, *, beyond: str = "", fixed: bool = False) -> None:
        """Its value and its name; ``beyond`` says a value outside the ends in words."""
        self._set("value", value)
        self._set("label", label)
        self._set("beyond", beyond)
        self._set("fixed", fixed)

    def _set(self, name: str, value: Any) -> None:
        if self.props.get(name) != value:
            self.props[name] = value


def _argument(event: Any) -> float:
    return float(event.args[0] if isinstance(event.args, list) else event.args)


def text_field(value: str, name: str, commit: Callable[[str], bool], classes: str) -> ui.input:
    """A field whose text counts when it is left or Enter is pressed, marked while it is refused."""
    field = ui.input(value=value).props("dense outlined hide-bottom-space").classes(classes)
    field.props["aria-label"] = name
    field.on("change", lambda: _mark(field, commit(field.value or "")))
    return field


def _mark(field: ui.input, good: bool) -> None:
    """Show whether the text of a field was taken."""
    if bool(field.props.get("error")) == good:
        field.props["error"] = not good


def show_value(field: Any, value: Any) -> None:
    """Show a value in a field unless it is there already."""
    if field.value != value:
        field.value = value
    if isinstance(field, ui.input):
        _mark(field, True)


def select(options: dict[str, str], label: str, act: Callable[..., Any], **more: Any) -> ui.select:
    """A field that offers some options."""
    field = ui.select(options, label=label, on_change=act, **more)
    return field.props("dense outlined options-dense").classes("wide")


def button(text: str, act: Callable[..., Any] | None) -> ui.button:
    """A button with a text."""
    return ui.button(text, on_click=act).props("outline dense no-caps")


def csv_upload(
    load: ui.button, take: Callable[..., Any], refuse: Callable[[str], Any], remedy: str
) -> ui.upload:
    """What a button picks a CSV file with; ``refuse`` is told of a file that is too large."""
    problem = f"file: expected at most {LARGEST_FILE // 1_000_000} MB, got more; {remedy}."
    upload = ui.upload(
        auto_upload=True,
        max_files=None,
        max_file_size=LARGEST_FILE,
        on_upload=take,
        on_rejected=lambda: refuse(problem),
    )
    load.on("click", js_handler=f"() => getElement({upload.id}).$refs.qRef.pickFiles()")
    return upload.props("accept=.csv,.tsv,.txt,.gz,.zst,.parquet,.feather,.arrow,.xlsx").classes(
        "away"
    )


def _remove_button(name: str, act: Callable[[], Any]) -> ui.button:
    button = ui.button(icon="close", on_click=act).props("flat dense round size=sm")
    button.props["aria-label"] = f"Remove {name}"
    return button


@dataclass
class _Row:
    """The controls of one symbol."""

    name: ui.input
    slider: Slider
    share: ui.input
    remove: ui.button


class PriorSliders:
    """One slider for each symbol, with its name and its mass as text.

    A drag keeps the proportions that the other symbols had when it began: a slider that is dragged
    to its end and back leaves everything as it was.
    """

    def __init__(self, state: PageState) -> None:
        self._state = state
        self._rows: list[_Row] = []
        self._drag: tuple[int, tuple[float, ...], tuple[float, ...]] | None = None
        self._top = 1.0
        self._box = ui.element("div").classes("bars")
        self._scale = ui.html("", tag="p", sanitize=False).classes("hint")
        self.show(state.settings)

    def show(self, settings: Settings) -> None:
        """Show the masses and names of the settings."""
        if len(self._rows) != len(settings.names):
            self._rebuild(settings)
        largest = max(settings.shares)
        if self._drag is None or largest > self._top:
            self._rescale(largest)
        for row, name, share in zip(self._rows, settings.names, settings.shares, strict=True):
            row.slider.show(share, f"Mass of {name}", fixed=len(self._rows) == 1)
            show_value(row.name, name)
            show_value(row.share, f"{share:.4g}")
            if row.name.props.get("title") != name:
                row.name.props["title"] = name
                row.share.props["aria-label"] = f"Mass of {name} as a number"
                row.remove.props["aria-label"] = f"Remove {name}"

    def _rescale(self, largest: float) -> None:
        self._top = next((top for top in _TOPS if top >= 1.1 * largest), 1.0)
        for row in self._rows:
            row.slider.limit(0, self._top)
        text = f"Bars end at {self._top:g}. Drag one, and the others keep their proportions."
        self._scale.content = text

    def _rebuild(self, settings: Settings) -> None:
        self._box.clear()
        with self._box:
            self._rows = [self._row(place, name) for place, name in enumerate(settings.names)]

    def _row(self, place: int, name: str) -> _Row:
        change = self._state.change
        with ui.element("div").classes("bar"):
            return _Row(
                text_field(
                    name,
                    f"Name of symbol {place + 1}",
                    lambda text: change(lambda s: s.with_name(place, text)),
                    "name",
                ),
                Slider(
                    *(0, self._top, _SHARE_STEPS, "share"),
                    lambda value: self._dragged(place, value),
                    self._released,
                ).classes("share"),
                text_field("", f"Mass of {name}", lambda text: self._typed(place, text), "mass"),
                _remove_button(name, lambda: change(lambda s: s.without_symbol(place))),
            )

    def _dragged(self, place: int, value: float) -> None:
        now = self._state.settings.weights
        if self._drag is None or self._drag[0] != place or self._drag[2] != now:
            self._drag = (place, now, now)
        start = self._drag[1]
        moved = replace(self._state.settings, weights=start).with_share(place, value).weights
        self._drag = (place, start, moved)
        self._state.change(lambda s: s.with_weights(moved))

    def _released(self) -> None:
        drag, self._drag = self._drag, None
        self.show(self._state.settings)
        self._drag = drag

    def _typed(self, place: int, text: str) -> bool:
        def changed(settings: Settings) -> Settings:
            share = parse_number(text, f"mass of {settings.names[place]}")
            return settings.with_share(place, share)

        return self._state.change(changed)


class PriorSources:
    """Buttons for uniform and Zipf priors, the columns of tables, and loading a file.

    Parameters
    ----------
    state : whose prior it is
    folder : where the file of the visitor is kept until the page is closed
    foreground, background : as for :class:`PageState`; large files are read in the background
    """

    def __init__(
        self, state: PageState, folder: Path, foreground: Runner, background: Runner
    ) -> None:
        self._state = state
        self._folder = folder
        self._foreground = foreground
        self._background = background
        self._own: tuple[str, Path] | None = None
        self._failed: str | None = None  # the option chosen last, if it could not be read
        self._reading = 0  # counts what was begun to be read
        self._is_showing = False  # changes of a field are not the visitor's then
        self._given = state.settings.source  # on the command line
        self._tables: dict[str, str] = {}
        for table in EXAMPLES.values():
            self._tables |= _columns_of(table.name, table.columns)
        if self._given is not None:
            self._tables = {str(self._given): str(self._given)} | self._tables
        with ui.element("div").classes("buttons"):
            button("Uniform", lambda: state.change(Settings.uniform))
            button("Zipf", lambda: state.change(Settings.zipf)).tooltip("1, 1/2, 1/3, …")
            button("Add symbol", lambda: state.change(Settings.with_new_symbol))
            load = button("Load CSV", None)
        self._columns = select(self._tables, "Column of a table", self._chosen)
        remedy = "count the column first, or use 'mechdesign design'"
        self._upload = csv_upload(load, self._uploaded, self._refuse, remedy)
        self._status = ui.label("").classes("hint reading").props("role=status")
        with ui.element("div").classes("own") as self._options:
            self._weights = select({}, "Counts are in", self._chosen_again).props("clearable")
            self._drop = ui.checkbox("Leave out missing values", on_change=self._chosen_again)
            self._drop.props("dense")
        self._options.set_visibility(False)
        self.show(state.settings)

    def show(self, settings: Settings) -> None:
        """Name the column that the prior is from, if it still is."""
        self._is_showing = True
        key = None if settings.source is None else str(settings.source)
        show_value(self._columns, key if key in self._columns.options else None)
        self._is_showing = False

    def close(self) -> None:
        """Remove the file that the visitor has loaded."""
        self._reading += 1
        self._remove_file()

    def _remove_file(self) -> None:
        if self._own is not None:
            self._own[1].unlink(missing_ok=True)

    async def _uploaded(self, event: events.UploadEventArguments) -> None:
        name = Path(event.file.name).name
        path = self._folder / f"{uuid.uuid4()}.csv"
        await event.file.save(path)
        self._upload.reset()
        try:
            header = list(map(str, open_table(path).names))
        except MechdesignError as problem:
            path.unlink()  # the file before it, if any, stays
            self._refuse(message(problem).replace(path.name, name))
            return
        self._remove_file()
        self._own = (name, path)
        self._is_showing = True
        self._columns.set_options(_columns_of(name, header) | self._tables, value=None)
        self._weights.set_options({column: column for column in header}, value=None)
        self._options.set_visibility(True)
        self._is_showing = False
        await self._load(f"{name}: {header[0]}")

    # What these two return is awaited after the field has changed, when it may be shown already.

    def _chosen(self, event: Any) -> Awaitable[None] | None:
        return None if self._is_showing or event.value is None else self._load(event.value)

    def _chosen_again(self) -> Awaitable[None] | None:
        """Read a column of the visitor's file with other options."""
        source = self._state.settings.source
        key = self._failed or (None if source is None else str(source))
        is_own = self._own is not None and key is not None and key.startswith(f"{self._own[0]}: ")
        return None if self._is_showing or not is_own else self._load(str(key))

    async def _load(self, key: str) -> None:
        """Take the prior from a column, unless it was changed otherwise meanwhile."""
        self._reading += 1
        turn, before = self._reading, self._state.settings
        source, path = self._source(key)
        read = self._background if _is_large(path) else self._foreground
        self._status.text = f"reading {source.table} …"
        found = await read(_read, source, path)
        if turn != self._reading:
            return
        self._status.text = ""
        now = self._state.settings
        if isinstance(found, str):
            self._failed = key
            self._refuse(found.replace(Path(path).name, Path(source.table).name))
        elif found is not None and (now.names, now.weights) == (before.names, before.weights):
            self._failed = None
            if self._state.change(lambda s: s.with_prior(found, source)):
                return
        self.show(now)  # the field names again where the prior is from

    def _source(self, key: str) -> tuple[Column, str]:
        """The column of an option, and the file to read it from."""
        if self._own is not None and key.startswith(f"{self._own[0]}: "):
            name, path = self._own
            missing = "drop" if self._drop.value else "error"
            column = key.removeprefix(f"{name}: ")
            return Column(name, column, self._weights.value, missing), str(path)
        if key == str(self._given):
            assert self._given is not None
            return self._given, self._given.table
        table, _, column = key.partition(": ")
        return Column(table, column), table

    def _refuse(self, text: str) -> None:
        self._state.view.show_problem(text, of_design=False)


def _columns_of(table: str, header: Iterable[str]) -> dict[str, str]:
    return {f"{table}: {column}": f"{table}: {column}" for column in header}


def _is_large(path: str) -> bool:
    try:
        return Path(path).stat().st_size > LARGE_FILE
    except OSError:  # a shipped table, by its name
        return False


def _read(source: Column, path: str) -> md.Prior | str:
    """The prior, or the message of an error, which another process can return."""
    try:
        return md.Prior.from_csv(path, source.column, **source.options)  # type: ignore[arg-type]
    except MechdesignError as problem:
        return message(problem)


class NotionControls:
    """The notions looked at, each with its levels on sliders and as text."""

    def __init__(self, state: PageState) -> None:
        self._state = state
        self._names: list[str] = []
        self._ticks: dict[str, ui.checkbox] = {}
        self._sliders: dict[tuple[str, int], Slider] = {}
        self._fields: dict[tuple[str, int], ui.input] = {}
        self._box = ui.element("div").classes("notions")
        self._more = select({}, "Add a notion to compare", self._added)
        self.show(state.settings)

    def show(self, settings: Settings) -> None:
        """Show the notions of the settings, and their levels."""
        names = [chosen.name for chosen in settings.notions]
        if names != self._names:
            self._names = names
            self._rebuild(settings)
        for chosen in settings.notions:
            show_value(self._ticks[chosen.name], chosen.required)
            for place, level in enumerate(chosen.levels):
                is_inside = LEVELS[0] <= level <= LEVELS[-1]
                beyond = "" if is_inside else f"{number(level)} nats"
                slider = self._sliders[chosen.name, place]
                slider.show(_position(level), _level_name(chosen, place), beyond=beyond)
                text = "∞" if level == math.inf else f"{level:.6g}"
                show_value(self._fields[chosen.name, place], text)

    def _rebuild(self, settings: Settings) -> None:
        self._box.clear()
        for removed in (self._ticks, self._sliders, self._fields):
            removed.clear()
        with self._box:
            for chosen in settings.notions:
                self._add_notion(chosen)
        left = [name for name in OFFERED if name not in self._names]
        titles = {name: f"{NotionSetting(name, ()).title}: {OFFERED[name]}" for name in left}
        self._more.set_options(titles, value=None)
        self._more.set_visibility(bool(left))

    def _add_notion(self, chosen: NotionSetting) -> None:
        name, change = chosen.name, self._state.change
        with ui.element("div").classes("notion"), ui.element("div").classes("notion-head"):
            self._ticks[name] = ui.checkbox(
                f"{chosen.title}: {OFFERED[name]}",
                value=chosen.required,
                on_change=lambda event: self._ticked(name, bool(event.value)),
            ).props("dense")
            remove = _remove_button(chosen.title, lambda: change(lambda s: s.without_notion(name)))
            remove.tooltip("Take it off the page")
        for place in range(len(chosen.levels)):
            self._add_level(chosen, place)

    def _add_level(self, chosen: NotionSetting, place: int) -> None:
        name, key = chosen.name, (chosen.name, place)
        symbol = _GREEK[chosen.fields[place]]
        with ui.element("div").classes("level"):
            ui.html(
                symbol.replace("_l", "<sub>l</sub>").replace("_u", "<sub>u</sub>"),
                tag="span",
                sanitize=False,
            )
            self._sliders[key] = Slider(
                *(*_LOG_ENDS, _LEVEL_STEPS, "nats"),
                lambda value: self._set_level(name, place, lambda: float(f"{10**value:.3g}")),
            )
            title = _level_name(chosen, place)
            subject = f"{chosen.title} level {chosen.fields[place]}"
            self._fields[key] = text_field(
                "",
                f"{title} in nats",
                lambda text: self._set_level(name, place, lambda: parse_number(text, subject)),
                "mass",
            )

    def _set_level(self, name: str, place: int, level: Callable[[], float]) -> bool:
        return self._state.change(lambda s: s.with_level(name, level(), place))

    def _ticked(self, name: str, required: bool) -> None:
        if required != self._state.settings.notion(name).required:
            self._state.change(lambda s: s.with_required(name, required))

    def _added(self, event: Any) -> None:
        if event.value is not None:
            self._state.change(lambda s: s.with_new_notion(event.value))


def _level_name(chosen: NotionSetting, place: int) -> str:
    return f"Level {_GREEK[chosen.fields[place]]} of {chosen.title}"


def _position(level: float) -> float:
    """Where a level stands on its slider; levels beyond an end stand at the end."""
    low, high = _LOG_ENDS
    return high if level == math.inf else min(max(math.log10(max(level, 1e-9)), low), high)


class UtilityControl:
    """The utility to be maximised."""

    def __init__(self, state: PageState) -> None:
        self._state = state
        titles = {name: offered.title for name, offered in UTILITIES.items()}
        self._select = select(titles, "Utility", self._chosen, value=state.settings.utility)

    def show(self, settings: Settings) -> None:
        """Show the utility of the settings."""
        show_value(self._select, settings.utility)

    def _chosen(self, event: Any) -> None:
        if event.value != self._state.settings.utility:
            self._state.change(lambda s: s.with_utility(event.value))
