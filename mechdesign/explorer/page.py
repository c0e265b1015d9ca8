"""The page of one visitor: settings on the left, what follows from them on the right."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from nicegui import ui

from ..errors import MechdesignError
from ..kernel_files import kernel_csv
from ..storage import to_json
from ..views.html import escape
from . import markup
from .charts import frontier_options, lifts_options
from .controls import NotionControls, PriorSliders, PriorSources, UtilityControl
from .places_card import PlacesCard
from .question_controls import QuestionControl
from .results import Alternative, Curve, Result, ValueRange
from .settings import FILE, Settings, message, python_lines, shell_lines
from .state import PageState, Runner

_STYLE = resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8")
_SKIPS = (
    ("prior", "prior"),
    ("notions", "notions"),
    ("results", "results"),
    ("export", "export"),
)


class Page:
    """Everything one visitor sees. Nothing of it is shared with another tab.

    Parameters
    ----------
    settings : what the visitor begins with
    folder : where a file that the visitor loads is kept until the page is closed
    foreground, background : as for :class:`PageState`
    query : what the address of the page carries; what cannot be asked is refused on the page
    """

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        foreground: Runner,
        background: Runner,
        query: Mapping[str, str] | None = None,
    ) -> None:
        ui.add_css(_STYLE)
        ui.colors(primary="#0072b2")
        self._client = ui.context.client
        settings, refused = _asked_by_address(settings, query or {})
        self._query = settings.query
        self.state = PageState(settings, self, foreground, background)
        with ui.header(fixed=False, elevated=False).classes("top"):
            ui.html(_masthead(), sanitize=False)
        with ui.element("div").classes("page"):
            with ui.element("div").classes("settings"):
                self._build_settings(folder, foreground, background)
            with ui.element("div").classes("results") as self._results:
                self._build_results()
                self._build_places(folder, background)
        self._client.on_delete(self._close)
        if refused:
            self.show_problem(refused, of_design=False)
        self.state.refresh()

    # Layout

    def _build_settings(self, folder: Path, foreground: Runner, background: Runner) -> None:
        with _panel("Prior", "prior"):
            _hint("What is known of the secret beforehand. Drag a bar, or use the arrow keys.")
            self._prior = PriorSliders(self.state)
            self._sources = PriorSources(self.state, folder, foreground, background)
            self._maps = ui.element("div").classes("buttons")
        with _panel("What must stay hidden", "notions"):
            _hint("Ticked notions must all hold; the others are drawn for comparison.")
            self._notions = NotionControls(self.state)
        with _panel("What must survive", "utility"):
            self._utility = UtilityControl(self.state)
            self._question = QuestionControl(self.state)

    def _build_results(self) -> None:
        with _panel("The best mechanism", "results"):
            self._results_shown = 0
            self._busy = ui.html("", tag="p", sanitize=False).classes("busy")
            self._refusal = ui.label("").classes("problem refusal").props("role=alert")
            self._problem = ui.label("").classes("problem").props("role=alert")
            self._notes = ui.label("").classes("notes")
            self._spoken = ui.label("").classes("unseen").props("role=status aria-live=polite")
            self._tiles = ui.html("", sanitize=False).classes("tiles-box")
            with ui.element("div").classes("of-design"):
                _heading("P(output | input)", "kernel", 3)
                with _scrolled("Kernel"):
                    self._kernel = ui.html("", sanitize=False).classes("kernel-box")
        with ui.element("div").classes("charts"):
            with _panel("What each outcome says", "lifts", "of-design"):
                _hint("Symbols above zero are more likely than before. ▼: ruled out.")
                self._lifts = ui.echart({}, renderer="svg").classes("chart")
                self._lifts_rows = _details("The numbers as a table")
            with _panel("Utility against level", "frontier"):
                _hint(
                    "The best that each notion allows; of estimates the fewest reports. The "
                    "diamond is the design."
                )
                self._frontier_status = ui.html("computing", tag="p", sanitize=False)
                self._frontier_status.classes("hint")
                self._frontier = ui.echart({}, renderer="svg").classes("chart")
                self._alternatives = ui.html("", sanitize=False)
                self._frontier_rows = _details("The numbers as a table")
        with _panel("What is guaranteed", "implied", "of-design"):
            _hint(
                "Holds for every mechanism that satisfies the ticked notions, by the results named."
            )
            self._implied = ui.html("", sanitize=False)
            self._statements = _details("What these results say")
            self._unknown = _details("What does not follow, and why")
        with _panel("What this mechanism leaks", "leaks", "of-design"), _scrolled("Leakage"):
            self._leaks = ui.html("", sanitize=False)
        with _panel("Certificate", "certificate", "of-design"), _scrolled("Certificate"):
            self._certificate = ui.html("", sanitize=False)
        self._build_export()

    def _build_export(self) -> None:
        with _panel("Take it with you", "export", "of-design"):
            with ui.element("div").classes("buttons"):
                for text, act in (("Mechanism as JSON", self._save), ("Kernel as CSV", self._csv)):
                    button = ui.button(text, icon="download", on_click=act)
                    button.props("outline dense no-caps")
            _hint(f"The JSON file is what md.load(&quot;{FILE}&quot;) reads and proves again.")
            _heading("In Python", "python", 3)
            self._python = _code("Python lines")
            _heading("On the command line", "shell", 3)
            self._shell = _code("Command line")

    def _build_places(self, folder: Path, background: Runner) -> None:
        with _panel("Places of a map", "places") as panel:
            _hint(
                "Reports of where somebody is, as near as the level allows: the odds of places so "
                "many metres apart change by at most e to the level. Computed when asked for."
            )
            self._places = PlacesCard(folder, background, panel, self._maps)

    # What the page state tells it to show

    def show_settings(self, settings: Settings) -> None:
        """The settings have changed: the controls follow."""
        self._refusal.text = ""
        self._prior.show(settings)
        self._sources.show(settings)
        self._notions.show(settings)
        self._utility.show(settings)
        self._question.show(settings)
        if settings.query != self._query:
            self._query = settings.query
            address = json.dumps(f"?{self._query}" if self._query else "/")
            self._client.run_javascript(f'history.replaceState({{}}, "", {address})')

    def show_busy(self, busy: bool) -> None:
        """A mark at the result while it is not yet that of the settings.

        ``data-results`` counts how often it was taken away, for whoever waits for the next result.
        """
        self._busy.content = "computing…" if busy else ""
        if not busy:
            self._results_shown += 1
            self._busy.props(f"data-results={self._results_shown}")

    def show_result(self, result: Result) -> None:
        """The design and everything that follows from it."""
        self._problem.text = ""
        self._results.classes(remove="nothing")
        self._notes.text = " ".join(result.notes)
        self._tiles.content = markup.tiles(result)
        self._kernel.content = markup.kernel_table(result)
        self._implied.content = markup.implied_list(result.implied.found)
        self._unknown.content = markup.unknown_list(result.implied.found)
        self._statements.content = markup.statement_list(result.statements)
        self._leaks.content = markup.leakage_table(result)
        self._certificate.content = markup.certificate_table(result)
        self._lifts_rows.content = markup.lifts_table(result)
        _redraw(self._lifts, lifts_options(result))
        self._python.content = escape(python_lines(result.settings))
        self._shell.content = escape(shell_lines(result.settings))

    def show_problem(self, text: str, *, of_design: bool) -> None:
        """A message; where there is no design, what belongs to one is hidden."""
        if not of_design:
            self._refusal.text = text
            return
        self._problem.text = text
        self._notes.text = self._tiles.content = self._alternatives.content = ""
        self._results.classes(add="nothing")

    def show_frontier(
        self, curves: tuple[Curve, ...], ends: ValueRange | None, status: str
    ) -> None:
        """The frontier as far as it is known."""
        problems = [f"{curve.notion.title}: {curve.problem}" for curve in curves if curve.problem]
        self._frontier_status.content = escape(" ".join([status, *problems]))
        _redraw(self._frontier, frontier_options(curves, ends, self.state.result))
        self._frontier_rows.content = markup.frontier_table(curves)

    def show_alternatives(self, found: Sequence[Alternative]) -> None:
        """What the alternatives allow, at their levels."""
        own = self.state.result
        text = "" if own is None else markup.alternative_list(found, own)
        self._alternatives.content = text

    def announce(self, result: Result) -> None:
        """Tell a screen reader the result."""
        self._spoken.text = markup.summary(result)

    # What is taken away

    def _save(self) -> None:
        if self.state.result is not None:
            text = json.dumps(to_json(self.state.result.design), indent=1) + "\n"
            ui.download.content(text.encode(), FILE, "application/json")

    def _csv(self) -> None:
        if self.state.result is not None:
            text = kernel_csv(self.state.result.design.mechanism)
            ui.download.content(text.encode(), "kernel.csv", "text/csv")

    def _close(self) -> None:
        self.state.close()
        self._sources.close()
        self._places.close()


def _asked_by_address(settings: Settings, query: Mapping[str, str]) -> tuple[Settings, str]:
    """Settings with what an address carries, or as they are with the reason."""
    try:
        return settings.with_query(query), ""
    except MechdesignError as problem:
        return settings, message(problem)


def _masthead() -> str:
    links = "".join(
        f'<a class="skip" href="#{anchor}">Skip to {name}</a>' for anchor, name in _SKIPS
    )
    return (
        f'<nav aria-label="Skip links">{links}</nav><h1>mechdesign <span>explore</span></h1>'
        "<p>Optimal privacy mechanisms, designed and proved while you drag. Levels are in nats. "
        "Nothing leaves this machine.</p>"
    )


def _heading(text: str, anchor: str, level: int = 2) -> None:
    """A heading that links and sections can refer to."""
    ui.html(text, tag=f"h{level}", sanitize=False).props(f"id={anchor}")


@contextmanager
def _panel(title: str, anchor: str, classes: str = "") -> Iterator[ui.element]:
    box = ui.element("section").classes(f"panel {classes}").props(f"aria-labelledby={anchor}")
    with box:
        _heading(title, anchor)
        yield box


@contextmanager
def _scrolled(name: str) -> Iterator[None]:
    """A box that scrolls sideways, by keyboard as well."""
    with ui.element("div").classes("scrolled") as box:
        box.props["tabindex"] = 0
        box.props["role"] = "group"
        box.props["aria-label"] = f"{name}, scrolls sideways"
        yield


def _details(title: str) -> ui.html:
    with ui.element("details"):
        ui.html(title, tag="summary", sanitize=False)
        with _scrolled(title):
            return ui.html("", sanitize=False)


def _code(name: str) -> ui.html:
    box = ui.html("", tag="pre", sanitize=False).classes("code")
    box.props["tabindex"] = 0
    box.props["aria-label"] = name
    return box


def _hint(text: str) -> None:
    ui.html(text, tag="p", sanitize=False).classes("hint")


def _redraw(chart: ui.echart, options: dict[str, Any]) -> None:
    chart.options.clear()
    chart.options.update(options)
    chart.update()
