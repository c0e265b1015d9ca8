"""Where a prior may come from: the shipped tables, a visitor's own file, or a rule."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any

from nicegui import events, ui

from ..data import EXAMPLES
from ..errors import MechdesignError
from ..prior import Prior
from ..tables import csv_header
from .controls import put
from .desk import Desk
from .settings import Column, Settings

#: Largest file that a visitor may load, in bytes.
LARGEST_FILE = 50_000_000
#: Files above so many bytes are read in another process.
LARGE_FILE = 1_000_000


class PriorSources:
    """Buttons for uniform and Zipf priors, the columns of tables, and loading a file.

    Parameters
    ----------
    desk : whose prior it is
    folder : where files of the visitor are kept until the page is closed
    soon, later : coroutine functions that call a function in a thread, and in another process,
        which can be ended while it reads; both give ``None`` when the server stops
    """

    def __init__(
        self,
        desk: Desk,
        folder: Path,
        soon: Callable[..., Coroutine[Any, Any, Any]],
        later: Callable[..., Coroutine[Any, Any, Any]],
    ) -> None:
        self.desk = desk
        self._soon = soon
        self._folder = folder
        self._later = later
        self._own: tuple[str, Path] | None = None
        self._failed: str | None = None  # the option chosen last, if it could not be read
        self._reading = 0  # counts what was begun to be read
        self._quiet = False
        self._tables = _shipped()
        self._given = desk.settings.source  # on the command line
        if self._given is not None:
            self._tables = {str(self._given): str(self._given)} | self._tables
        with ui.element("div").classes("buttons"):
            self._button("Uniform", lambda: desk.change(Settings.uniform))
            self._button("Zipf", lambda: desk.change(Settings.zipf)).tooltip("1, 1/2, 1/3, …")
            self._button("Add symbol", lambda: desk.change(Settings.with_added))
            load = self._button("Load CSV", None)
        self._columns = (
            ui.select(self._tables, label="Column of a table", on_change=self._chosen)
            .props("dense outlined options-dense")
            .classes("wide")
        )
        upload = (
            ui.upload(
                auto_upload=True,
                max_files=None,
                max_file_size=LARGEST_FILE,
                on_upload=self._uploaded,
                on_rejected=lambda: self._refuse(
                    f"file: expected at most {LARGEST_FILE // 1_000_000} MB, got more; count the "
                    "column first, or use 'mechdesign design'."
                ),
            )
            .props("accept=.csv")
            .classes("away")
        )
        self._upload = upload
        load.on("click", js_handler=f"() => getElement({upload.id}).$refs.qRef.pickFiles()")
        self._state = ui.label("").classes("hint").props("role=status")
        with ui.element("div").classes("own") as self._options:
            self._weights = (
                ui.select({}, label="Counts are in", on_change=self._again)
                .props("dense outlined options-dense clearable")
                .classes("wide")
            )
            self._drop = ui.checkbox("Leave out missing values", on_change=self._again).props(
                "dense"
            )
        self._options.set_visibility(False)
        self.show(desk.settings)

    def show(self, settings: Settings) -> None:
        """Name the column that the prior is from, if it still is."""
        self._quiet = True
        source = settings.source
        key = None if source is None else str(source)
        put(self._columns, key if key in self._columns.options else None)
        self._quiet = False

    def close(self) -> None:
        """Remove what the visitor has loaded."""
        self._reading += 1
        self._discard()

    def _discard(self) -> None:
        if self._own is not None:
            self._own[1].unlink(missing_ok=True)

    def _button(self, text: str, act: Callable[[], Any] | None) -> ui.button:
        return ui.button(text, on_click=act).props("outline dense no-caps")

    async def _uploaded(self, event: events.UploadEventArguments) -> None:
        name = Path(event.file.name).name
        path = self._folder / f"{uuid.uuid4()}.csv"
        await event.file.save(path)
        self._upload.reset()
        try:
            header = csv_header(path)
        except MechdesignError as problem:
            path.unlink()  # the file before it, if any, stays
            self._refuse(str(problem).replace(path.name, name))
            return
        self._discard()
        self._own = (name, path)
        self._quiet = True
        self._columns.set_options(_columns_of(name, header) | self._tables, value=None)
        self._weights.set_options({column: column for column in header}, value=None)
        self._options.set_visibility(True)
        self._quiet = False
        await self._load(f"{name}: {header[0]}")

    async def _chosen(self, event: Any) -> None:
        if not self._quiet and event.value is not None:
            await self._load(event.value)

    async def _again(self) -> None:
        source = self.desk.settings.source
        key = self._failed or (None if source is None else str(source))
        if self._quiet or self._own is None or key is None:
            return
        if key.startswith(f"{self._own[0]}: "):
            await self._load(key)

    async def _load(self, key: str) -> None:
        """Take the prior from a column, unless it was changed otherwise meanwhile."""
        self._reading += 1
        turn, before = self._reading, self.desk.settings
        source, path = self._source(key)
        read = self._later if _is_large(path) else self._soon
        self._state.text = f"reading {source.table} …"
        try:
            found = await read(_read, source, path)
        except MechdesignError as problem:
            found = str(problem)
        if turn != self._reading:
            return
        self._state.text = ""
        now = self.desk.settings
        if isinstance(found, Prior) and (now.names, now.weights) == (before.names, before.weights):
            self._failed = None
            if self.desk.change(lambda s: s.with_prior(found, source)):
                return
        elif isinstance(found, str):
            self._failed = key
            self._refuse(found.replace(Path(path).name, Path(source.table).name))
        self.show(now)  # the choice names again where the prior is from

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
        self.desk.view.show_problem(text, of_design=False)


def _is_large(path: str) -> bool:
    try:
        return Path(path).stat().st_size > LARGE_FILE
    except OSError:  # a shipped table, by its name
        return False


def _read(source: Column, path: str) -> Prior | str:
    try:
        return Prior.from_csv(path, source.column, weights=source.weights, missing=source.missing)
    except MechdesignError as problem:
        return str(problem)


def _columns_of(table: str, header: Iterable[str]) -> dict[str, str]:
    return {f"{table}: {column}": f"{table}: {column}" for column in header}


def _shipped() -> dict[str, str]:
    found: dict[str, str] = {}
    for table in EXAMPLES.values():
        found |= _columns_of(table.name, table.columns)
    return found
