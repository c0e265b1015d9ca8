"""The page state: the settings of one visitor, their result, and what is being computed.

Every change goes through :meth:`PageState.change`. The result is computed in the foreground, in a
thread, and shown at once. Work that may take longer is done in the background, in other processes,
so that it does not slow down the next result: a tighter design where the first search was cut
short, the alternatives, and the frontier. A newer change cancels older work at its next step, and
nothing of it is shown any more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ..errors import MechdesignError
from ..labels import counted
from .results import (
    Alternative,
    Curve,
    Result,
    ValueRange,
    alternative,
    compute,
    frontier_key,
    frontier_pieces,
    frontier_points,
    value_range,
)
from .settings import NotionSetting, Settings, message

#: Seconds that a search may take before its result is shown, and then to improve on that.
QUICK_LIMIT, FULL_LIMIT = 0.06, 5.0
#: Seconds after which an outdated frontier is removed, and between two pictures of a new one.
STALE_AFTER = 0.25
#: Seconds without a change after which the result is announced.
DEBOUNCE = 0.6
_NONE: Hashable = object()
_LOG = logging.getLogger(__name__)

#: Runs a function and gives its result, or ``None`` when the server stops.
Runner = Callable[..., Coroutine[Any, Any, Any]]


class View(Protocol):
    """What the page state tells the page to show. All calls come from the event loop."""

    def show_settings(self, settings: Settings) -> None:
        """The settings have changed."""

    def show_busy(self, busy: bool) -> None:
        """Whether the result of the present settings is still to come."""

    def show_result(self, result: Result) -> None:
        """A result for the present settings, or for those of a moment ago."""

    def show_problem(self, text: str, *, of_design: bool) -> None:
        """Why a change was refused, or why there is no design for the settings."""

    def show_frontier(
        self, curves: tuple[Curve, ...], ends: ValueRange | None, status: str
    ) -> None:
        """Curves as far as they are known; ``status`` says what is still to come, or is empty."""

    def show_alternatives(self, found: Sequence[Alternative]) -> None:
        """The alternatives that are known for the result shown last."""

    def announce(self, result: Result) -> None:
        """The visitor has paused: say the result in words."""


class PageState:
    """Settings of one visitor, and the work they cause.

    Parameters
    ----------
    settings : the settings to begin with
    view : where results go
    foreground : coroutine function that calls a function where its result comes soonest
    background : the same where other work is not held up; both give ``None`` when the server stops
    """

    def __init__(
        self, settings: Settings, view: View, foreground: Runner, background: Runner
    ) -> None:
        self.settings = settings
        self.view = view
        self.result: Result | None = None
        self._foreground = foreground
        self._background = background
        self._version = 0  # counts changes
        self._is_computing = False
        self._pending_key: Hashable = _NONE  # of the frontier under way or complete
        self._shown_key: Hashable = _NONE  # of the frontier on the page
        self._frontier: tuple[tuple[Curve, ...], ValueRange | None, str] = ((), None, "")
        self._alternatives: dict[Hashable, Alternative] = {}  # by what they depend on
        self._expiry: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def change(self, make: Callable[[Settings], Settings]) -> bool:
        """Change the settings, or say why they cannot be changed; returns whether they were."""
        try:
            settings = make(self.settings)
        except MechdesignError as problem:
            self.view.show_problem(message(problem), of_design=False)
            return False
        changed = settings != self.settings
        self.settings = settings
        self.view.show_settings(settings)
        if changed:
            self.refresh()
        return True

    def refresh(self) -> None:
        """Compute the result of the present settings."""
        self._version += 1
        self.view.show_busy(True)
        is_outdated = self._shown_key not in (_NONE, frontier_key(self.settings))
        if is_outdated and self._expiry is None:
            loop = asyncio.get_running_loop()
            self._expiry = loop.call_later(STALE_AFTER, self._remove_outdated)
        if not self._is_computing:
            self._is_computing = True
            self._start(self._compute_newest())

    def close(self) -> None:
        """The visitor is gone: whatever is under way stops at its next step."""
        self._pending_key = _NONE
        if self._expiry is not None:
            self._expiry.cancel()
        for task in self._tasks:
            task.cancel()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name="explorer")
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or (failure := task.exception()) is None:
            return
        if isinstance(failure, MechdesignError):
            self.view.show_problem(message(failure), of_design=False)
            return
        # A mistake in this program: it is logged in full, and the visitor sees that it happened.
        _LOG.error("work for the page failed", exc_info=failure)
        self.view.show_problem(f"internal error: {failure!r}", of_design=True)

    # The result

    async def _compute_newest(self) -> None:
        """Compute results until that of the newest settings is there."""
        version = -1
        try:
            while version != self._version:
                version = self._version
                try:
                    found = await self._foreground(_or_message, compute, self.settings, QUICK_LIMIT)
                except Exception:
                    if version == self._version:
                        self.result = None
                        raise
                else:
                    self._show(found)
        finally:
            self._is_computing = False
            self.view.show_busy(False)
        key = frontier_key(self.settings)
        if self._pending_key != key:
            self._pending_key = key
            self._start(self._draw_frontier(key))
        self._start(self._refine(version))

    def _show(self, found: Result | str | None) -> None:
        if isinstance(found, Result):
            self.result = found
            self.view.show_result(found)
        elif found is not None:
            self.result = None
            self.view.show_problem(found, of_design=True)
        self._show_alternatives()
        if self._shown_key == frontier_key(self.settings):
            self.view.show_frontier(*self._frontier)  # with the mark of the new design

    async def _refine(self, version: int) -> None:
        """What follows a result in the background, for as long as nothing changes.

        A design that is not proved optimal is improved, the alternatives are computed, and after a
        pause the result is announced.
        """
        if self.result is not None and not self.result.design.certificate.is_optimal:
            found = await self._background(_or_message, compute, self.settings, FULL_LIMIT)
            if version != self._version:
                return
            self._show(found)
        known, settings = {}, self.settings
        for chosen in settings.notions:
            if not chosen.required:
                key = _alternative_key(settings, chosen)
                found = self._alternatives.get(key) or await self._background(
                    alternative, settings, chosen
                )
                if version != self._version or found is None:
                    return
                known[key] = found
        self._alternatives = known
        self._show_alternatives()
        await asyncio.sleep(DEBOUNCE)
        if version == self._version and self.result is not None:
            self.view.announce(self.result)

    def _show_alternatives(self) -> None:
        """Show the alternatives that belong to the result, and none of other settings."""
        if self.result is None:
            self.view.show_alternatives([])
            return
        settings = self.result.settings
        keys = [_alternative_key(settings, n) for n in settings.notions if not n.required]
        known = self._alternatives
        self.view.show_alternatives([known[key] for key in keys if key in known])

    # The frontier

    async def _draw_frontier(self, key: Hashable) -> None:
        """Compute the frontier of the settings, or say that it failed and may be tried again."""
        try:
            await self._compute_frontier(key)
        except Exception:
            if key == self._pending_key:
                self._pending_key = self._shown_key = _NONE
                self.view.show_frontier((), None, "not computed")
            raise

    async def _compute_frontier(self, key: Hashable) -> None:
        """Show the frontier piece by piece, for as long as the settings have its key."""
        settings, clock = self.settings, asyncio.get_running_loop().time
        ends = await self._background(_or_message, value_range, settings)
        if not isinstance(ends, ValueRange):
            self._show_frontier(key, (), None, ends or "")
            return
        curves = {chosen.name: Curve(chosen, asks=settings.question) for chosen in settings.notions}
        last = clock()
        for piece in frontier_pieces(settings):
            name = piece[0].name
            curve = curves[name]
            if curve.problem:
                continue
            found = await self._background(_or_message, frontier_points, settings, piece)
            if found is None or key != self._pending_key:
                return
            if isinstance(found, str):
                curves[name] = replace(curve, problem=found)
            else:
                points = tuple(sorted((*curve.points, *found)))
                curves[name] = replace(curve, points=points)
            if clock() - last > STALE_AFTER:
                done = sum(len(curve.points) for curve in curves.values())
                status = f"computing, {counted(done, 'point')} so far"
                self._show_frontier(key, tuple(curves.values()), ends, status)
                last = clock()
        self._show_frontier(key, tuple(curves.values()), ends, "")

    def _show_frontier(
        self, key: Hashable, curves: tuple[Curve, ...], ends: ValueRange | None, status: str
    ) -> None:
        """Show a frontier unless the settings have another one by now."""
        if key != self._pending_key or key != frontier_key(self.settings):
            return
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        self._shown_key, self._frontier = key, (curves, ends, status)
        self.view.show_frontier(curves, ends, status)

    def _remove_outdated(self) -> None:
        """Take a frontier off the page that is not that of the settings."""
        self._expiry = None
        if self._shown_key != frontier_key(self.settings):
            self._shown_key = _NONE
            self.view.show_frontier((), None, "computing")


def _alternative_key(settings: Settings, chosen: NotionSetting) -> Hashable:
    return settings.names, settings.weights, settings.goal, chosen.name, chosen.levels


def _or_message(work: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function, or the message of an error, which another process can return."""
    try:
        return work(*arguments)
    except MechdesignError as problem:
        return message(problem)
