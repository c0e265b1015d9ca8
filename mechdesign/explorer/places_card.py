"""The card of places: a grid or a file, a level within metres, and the best reports on a map."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

from nicegui import events, ui

from .controls import button, csv_upload, select, text_field
from .places import (
    HOLDS,
    MapResult,
    MapSettings,
    design_map,
    losses_table,
    map_picture,
    map_summary,
)
from .state import Runner

_FIELDS = {
    "bounds": "South, west, north, east",
    "cells": "Cells, as rows x columns",
    "level": "Level in nats",
    "within": "within metres",
}
_PRIOR = "prior"


class PlacesCard:
    """Settings of a map, and what is designed for them when the visitor asks.

    Parameters
    ----------
    folder : where the file of the visitor is kept until the page is closed
    background : as for the page
    panel : what is seen once a file was loaded
    buttons : where the button is that loads it
    """

    def __init__(
        self, folder: Path, background: Runner, panel: ui.element, buttons: ui.element
    ) -> None:
        self._panel = panel
        self._folder, self._background = folder, background
        self._settings = MapSettings()
        self._result: MapResult | None = None
        self._name = ""
        self._asked = 0  # counts what was asked for, so that only the last is shown
        with ui.element("div").classes("fields"):
            for name, title in _FIELDS.items():
                with ui.element("label"):
                    ui.label(title).classes("hint")
                    self._field(name, title)
        with ui.element("div").classes("buttons"):
            button("Design for these places", self._design)
            button("Without the map", self._without_file)
        with buttons:
            load = button("Load points of a map", None)
            self._upload = csv_upload(load, self._uploaded, self._refuse, "use 'mechdesign places'")
        self._file = ui.label("").classes("file-used").props("role=status")
        self._holds = select(HOLDS, "What the file holds", self._held, value="visits")
        self._problem = ui.label("").classes("trouble").props("role=alert")
        self._summary = ui.label("").classes("map-summary").props("role=status")
        with ui.element("div").classes("map-box") as self._shown:
            with ui.element("div"):
                self._place = select({}, "Somebody is at", self._looked)
                self._picture = ui.html("", sanitize=False)
            self._losses = ui.html("", sanitize=False)
        self._show_file()
        self._shown.set_visibility(False)

    def close(self) -> None:
        """Remove the file that the visitor has loaded."""
        self._asked += 1
        self._remove_file()

    def _field(self, name: str, title: str) -> None:
        def commit(text: str) -> bool:
            self._settings = replace(self._settings, **{name: text})
            return True

        text_field(getattr(self._settings, name), title, commit, "wide")

    async def _uploaded(self, event: events.UploadEventArguments) -> None:
        path = self._folder / f"{uuid.uuid4()}.csv"
        await event.file.save(path)
        self._upload.reset()
        self._remove_file()
        self._name = Path(event.file.name).name
        self._settings = replace(self._settings, file=str(path))
        self._show_file()

    def _remove_file(self) -> None:
        if self._settings.file is not None:
            Path(self._settings.file).unlink(missing_ok=True)
        self._settings = replace(self._settings, file=None)

    def _without_file(self) -> None:
        self._remove_file()
        self._show_file()

    def _show_file(self) -> None:
        given = self._settings.file is not None
        self._file.text = f"{self._name} is used." if given else ""
        self._panel.set_visibility(given)

    def _refuse(self, text: str) -> None:
        self._panel.set_visibility(True)
        self._say(text)

    def _held(self, event: Any) -> None:
        self._settings = replace(self._settings, holds=event.value)

    async def _design(self) -> None:
        self._asked += 1
        turn, asked = self._asked, self._settings
        self._say("")
        self._summary.text = "computing…"
        found = await self._background(design_map, asked)
        if turn != self._asked or found is None:
            return
        self._summary.text = ""
        if isinstance(found, MapResult):
            self._show(found)
        else:
            name = "" if asked.file is None else Path(asked.file).name
            self._say(found.replace(name, self._name) if name else found)

    def _show(self, found: MapResult) -> None:
        self._result = found
        self._summary.text = map_summary(found)
        self._losses.content = losses_table(found)
        options = {_PRIOR: "anywhere: the prior"}
        options |= {str(i): name for i, name in enumerate(found.names)}
        self._place.set_options(options, value=str(int(found.prior.argmax())))
        self._looked(None)
        self._shown.set_visibility(True)

    def _looked(self, _: Any) -> None:
        chosen = self._place.value
        if self._result is not None and chosen is not None:
            place = None if chosen == _PRIOR else int(chosen)
            self._picture.content = map_picture(self._result, place)

    def _say(self, text: str) -> None:
        self._problem.text = text
        if text:
            self._shown.set_visibility(False)
