"""The controls of an estimation: what is asked, at which shares errors count, what each weighs.

Each control writes the text that the command line takes, which the settings keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from nicegui import ui

from ..errors import InputError
from ..labels import shorten
from ..views.html import escape
from .controls import select, show_value, text_field
from .questions import (
    ANY,
    KINDS,
    LONGEST,
    Asked,
    columns_in,
    columns_text,
    kind_of,
    numbers_in,
    numbers_text,
    symbol_in,
)
from .settings import Settings, parse_number
from .state import PageState

_TRUTHS = {
    "prior": "As the prior says",
    ANY: "Whatever they are: the worst case",
    "other": "Other shares, or counts of a pilot",
}
# Characters of a text that is no longer asked.
_LOST = 80
# Symbols, or answers, that hints name one by one.
_MOST_NAMED = 6
# How the hints say where a text is taken too.
_OF = "As <code>--of</code> takes it: <code>{example}</code> compares two shares."
_SEVERAL = (
    "Several questions are JSON: <code>[[1, -1, 0], [0, 1, -1]]</code>, a row of numbers each, or "
    '<code>{"a": "x", "b": "y", "c": "x"}</code> for the shares of groups.'
)
_TRUTH = (
    "As <code>--truth</code> takes it: shares or counts for each symbol, several with "
    "<code>;</code> between them for the worst of them."
)


class QuestionControl:
    """What is estimated, shown while an estimation is the utility."""

    def __init__(self, state: PageState) -> None:
        self._state = state
        self._kind = "all"
        self._shown: Any = None  # what the controls show
        self._asked = state.settings.asked
        self._is_own = False  # whether a change is one of these controls
        self._is_showing = False  # changes of a field are not the visitor's then
        self._names: tuple[str, ...] = ()
        self._numbers: list[ui.input] = []
        with ui.element("div").classes("question") as self._box:
            self._kinds = select({}, "What is estimated", self._kind_chosen)
            self._columns = select({}, "Columns", self._columns_chosen, multiple=True)
            self._columns.props("use-chips")
            self._symbol = select({}, "Symbol", self._symbol_chosen)
            self._rows = ui.element("div").classes("numbers")
            with _written("Question") as self._other:
                self._text = self._field("Question", lambda text: self._ask({"of": text}))
                self._example = ui.html("", tag="p", sanitize=False).classes("hint")
            self._truths = select(_TRUTHS, "True shares of the people", self._truth_chosen)
            with _written("Shares or counts") as self._at:
                self._truth = self._field(
                    "Shares or counts", lambda text: self._ask({"truth": text})
                )
                ui.html(_TRUTH, tag="p", sanitize=False).classes("hint")
            with _written("What each error weighs") as self._weighing:
                self._weights = self._field(
                    "What each error weighs", lambda text: self._ask({"weights": text or None})
                )
                self._answers = ui.label("").classes("hint")
            self._lost = ui.label("").classes("hint").props("role=status")
        self.show(state.settings)

    def _field(self, name: str, commit: Callable[[str], bool]) -> ui.input:
        field = text_field("", name, commit, "written")
        field.props["maxlength"] = LONGEST
        return field

    # What is shown

    def show(self, settings: Settings) -> None:
        """Show what is asked of the symbols of the settings."""
        self._box.set_visibility(settings.shows_risk)
        shown = settings.shows_risk, settings.asked, settings.names, settings.columns
        if shown == self._shown:
            return
        self._shown = shown
        self._say_lost(settings.asked)
        if settings.shows_risk:
            self._is_showing = True
            self._show_question(settings)
            self._show_truth(settings)
            self._is_showing = False

    def _say_lost(self, asked: Asked) -> None:
        """Tell of what was asked before and does not fit the symbols that there are now."""
        before, now = self._asked.options, asked.options
        lost = [shorten(text, _LOST) for name, text in before.items() if name not in now]
        self._asked = asked
        was = ""
        if lost and not self._is_own:
            was = "No longer asked, as it does not fit these symbols: " + "; ".join(lost)
        self._lost.text = was

    def _show_question(self, settings: Settings) -> None:
        prior, of = settings.prior(), settings.asked.of
        numbers = numbers_in(of, prior)
        self._kind = _kept_kind(self._kind, kind_of(of, prior), bool(numbers))
        offered = {k: v for k, v in KINDS.items() if k != "columns" or len(settings.columns) > 1}
        _offer(self._kinds, offered, self._kind)
        _offer(self._columns, _named(settings.columns), list(columns_in(of, prior)))
        chosen = None
        if self._kind == "symbol":
            chosen = settings.names[prior.labels.index(symbol_in(of, prior))]
        _offer(self._symbol, _named(settings.names), chosen)
        if self._kind == "mean":
            self._show_numbers(settings.names, list(numbers.values()))
        show_value(self._text, of or "")
        self._example.content = _example(settings.names)
        for control, kind in (
            *((self._columns, "columns"), (self._symbol, "symbol")),
            *((self._rows, "mean"), (self._other, "other")),
        ):
            control.set_visibility(self._kind == kind)
        answers = settings.asked.answers(prior)
        self._weighing.set_visibility(len(answers) > 1)
        self._answers.text = _weights_hint(answers)
        show_value(self._weights, settings.asked.weights or "")

    def _show_numbers(self, names: tuple[str, ...], numbers: Sequence[float]) -> None:
        if names != self._names:
            self._names = names
            self._rows.clear()
            with self._rows:
                self._numbers = [self._number(place, name) for place, name in enumerate(names)]
        for field, number in zip(self._numbers, numbers, strict=True):
            show_value(field, f"{number:.12g}")

    def _number(self, place: int, name: str) -> ui.input:
        def commit(text: str) -> bool:
            return self._ask(lambda: {"of": self._with_number(place, text)})

        with ui.element("div").classes("number"):
            ui.label(name).props["title"] = name
            return text_field("", f"Number of {name}", commit, "mass")

    def _show_truth(self, settings: Settings) -> None:
        truth = settings.asked.truth
        plain = "" if truth is None else truth.strip().lower()
        kind = "prior" if truth is None else ANY if plain == ANY else "other"
        show_value(self._truths, kind)
        self._at.set_visibility(kind == "other")
        show_value(self._truth, truth if kind == "other" else "")

    # What is chosen

    def _ask(self, part: Mapping[str, Any] | Callable[[], Mapping[str, Any]]) -> bool:
        """Ask something else; weights that do not fit other answers are left out."""

        def changed(settings: Settings) -> Settings:
            given = part() if callable(part) else part
            asked = replace(settings.asked, **given)
            if "of" in given and not asked.fits(settings.prior()):
                asked = replace(asked, weights=None)
            return settings.with_asked(asked)

        self._is_own = True
        done = self._state.change(changed)
        self._is_own = False
        if not done:
            self._shown = None  # what the fields show is not what is asked
        return done

    def _choose(self, part: Mapping[str, Any] | Callable[[], Mapping[str, Any]]) -> None:
        if not self._ask(part):
            self.show(self._state.settings)

    def _kind_chosen(self, event: Any) -> None:
        if not self._is_showing and event.value is not None:
            settings, self._kind = self._state.settings, event.value
            of = _first_question(event.value, settings)
            if of == settings.asked.of:
                self._shown = None
                self.show(settings)
            else:
                self._choose({"of": of})

    def _columns_chosen(self, event: Any) -> None:
        if not self._is_showing:
            self._choose(lambda: {"of": self._of_columns(event.value)})

    def _symbol_chosen(self, event: Any) -> None:
        if not self._is_showing and event.value is not None:
            self._choose({"of": _share_of(event.value, self._state.settings.names)})

    def _of_columns(self, chosen: Sequence[str] | None) -> str:
        if not chosen:
            raise InputError(
                "columns", expected="at least one", got="none", remedy="choose one before this one"
            )
        return columns_text(chosen, self._state.settings.columns)

    def _with_number(self, place: int, text: str) -> str:
        settings = self._state.settings
        numbers = list(numbers_in(settings.asked.of, settings.prior()).values())
        numbers[place] = parse_number(text, f"number of {settings.names[place]}")
        return numbers_text(dict(zip(settings.names, numbers, strict=True)))

    def _truth_chosen(self, event: Any) -> None:
        if not self._is_showing:
            truths = {"prior": None, ANY: ANY, "other": _even_truth(self._state.settings)}
            self._choose({"truth": truths[event.value]})


@contextmanager
def _written(title: str) -> Iterator[ui.element]:
    """A box for a text field, with its name above it."""
    with ui.element("div").classes("written-box") as box:
        ui.label(title).classes("hint")
        yield box


def _offer(field: ui.select, options: dict[str, str], value: Any) -> None:
    """Offer options, one or some of which are chosen."""
    if field.options != options:
        field.set_options(options, value=value)
    show_value(field, value)


def _named(names: Sequence[str]) -> dict[str, str]:
    return {name: name for name in names}


def _kept_kind(chosen: str, found: str, has_numbers: bool) -> str:
    """The kind that the visitor has chosen, as long as the question can be shown as that."""
    if found in ("all", "columns"):
        return "other" if chosen == "other" and found == "columns" else found
    if chosen == "other" or (chosen == "mean" and has_numbers):
        return chosen
    return found


def _first_question(kind: str, settings: Settings) -> str | None:
    """The question that a kind begins with: what is asked already, where it is of that kind."""
    names, of = settings.names, settings.asked.of
    prior = settings.prior()
    if kind == "all":
        return None
    if kind == "columns":
        return columns_text(settings.columns[:1], settings.columns)
    if kind == "symbol":
        return of if kind_of(of, prior) == "symbol" else _share_of(names[0], names)
    if kind == "mean":
        labels = prior.labels
        own = all(isinstance(label, (int, float)) for label in labels)
        numbers = labels if own else range(1, len(names) + 1)
        return numbers_text(dict(zip(names, numbers, strict=True)))
    return of or _difference(names)


def _share_of(name: str, names: Sequence[str]) -> str:
    return numbers_text({other: int(other == name) for other in names})


def _difference(names: Sequence[str]) -> str:
    """The share of the first symbol less that of the second."""
    return numbers_text({name: (x == 0) - (x == 1) for x, name in enumerate(names)})


def _example(names: Sequence[str]) -> str:
    example = _difference(names if len(names) <= _MOST_NAMED else names[:3])
    more = "" if len(names) <= _MOST_NAMED else ",…"
    return f"{_OF.format(example=escape(example + more))} {_SEVERAL}"


def _weights_hint(answers: Sequence[str]) -> str:
    few = len(answers) <= _MOST_NAMED
    named = ", ".join(answers if few else (*answers[:3], f"… {answers[-1]}"))
    example = ",".join("1" * (len(answers) - 1) + "2") if few else "1,1,1,…"
    return f"A number for each answer ({named}), such as {example}. Left empty, all weigh the same."


def _even_truth(settings: Settings) -> str:
    """A count of one for each symbol, or equal shares where some have no mass."""
    some = sum(weight > 0 for weight in settings.weights)
    share = 1.0 if some == len(settings.names) else round(1 / some, 9)
    pairs = zip(settings.names, settings.weights, strict=True)
    return numbers_text({name: share if weight > 0 else 0 for name, weight in pairs})
