"""The desk of one visitor: their settings, the answer to them, and what is being computed.

Every change goes through :meth:`Desk.change`. The answer is computed in a thread and shown at once.
What need not be there at once is computed in other processes, so that it does not slow down the
next answer: a tighter design where the first, hasty search left a gap, and the frontier. Newer
changes make older work stop at its next step, and nothing of it is put on the page any more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ..errors import MechdesignError
from .answering import Answer, answer
from .frontiers import Curve, Rival, Span, frontier_key, pieces, points, rival, span
from .settings import Demand, Settings

#: Seconds that a search may take before something is shown, and to improve on that.
HASTE, PATIENCE = 0.06, 5.0
#: Seconds after which a frontier that is out of date goes, and between two pictures of a new one.
GRACE = 0.25
#: Seconds without a change after which the result is announced.
CALM = 0.6
_NOTHING: Hashable = object()
_LOG = logging.getLogger(__name__)


class View(Protocol):
    """What the desk tells the page to show. All calls come from the event loop."""

    def show_settings(self, settings: Settings) -> None:
        """The settings have changed."""

    def show_busy(self, busy: bool) -> None:
        """Whether an answer to the settings as they are is still to come."""

    def show_answer(self, found: Answer) -> None:
        """An answer, certified, to settings that are on the page or were a moment ago."""

    def show_problem(self, text: str, *, of_design: bool) -> None:
        """Why a change was refused, or why there is no design for the settings."""

    def show_frontier(self, curves: tuple[Curve, ...], ends: Span | None, state: str) -> None:
        """Curves as far as they are known; ``state`` says what is still to come, or is empty."""

    def show_rivals(self, found: Sequence[Rival]) -> None:
        """What the notions that are not held allow at the levels set for them.

        Those of them that are known for the answer shown last.
        """

    def announce(self, found: Answer) -> None:
        """The visitor has paused: say in words what came out."""


class Desk:
    """Settings of one visitor, and the work they cause.

    Parameters
    ----------
    settings : what to begin with
    view : where results go
    soon : coroutine function that calls a function where it is answered soonest, in a thread
    later : the same for what may take its time, in another process. Both give ``None`` when the
        server stops.
    """

    def __init__(
        self,
        settings: Settings,
        view: View,
        soon: Callable[..., Coroutine[Any, Any, Any]],
        later: Callable[..., Coroutine[Any, Any, Any]],
    ) -> None:
        self.settings = settings
        self.view = view
        self.answer: Answer | None = None
        self._soon = soon
        self._later = later
        self._turn = 0  # counts changes
        self._answering = False
        self._drawing: Hashable = _NOTHING  # key of the frontier under way or complete
        self._drawn: Hashable = _NOTHING  # key of the frontier on the page
        self._frontier: tuple[tuple[Curve, ...], Span | None, str] = ((), None, "")
        self._rivals: dict[Hashable, Rival] = {}  # by what they depend on
        self._expiry: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def change(self, make: Callable[[Settings], Settings]) -> bool:
        """Change the settings, or say why they cannot be changed; returns whether they were."""
        try:
            settings = make(self.settings)
        except MechdesignError as problem:
            self.view.show_problem(str(problem), of_design=False)
            return False
        changed = settings != self.settings
        self.settings = settings
        self.view.show_settings(settings)
        if changed:
            self.refresh()
        return True

    def refresh(self) -> None:
        """Compute the answer to the settings as they are."""
        self._turn += 1
        self.view.show_busy(True)
        outdated = self._drawn not in (_NOTHING, frontier_key(self.settings))
        if outdated and self._expiry is None:
            self._expiry = asyncio.get_running_loop().call_later(GRACE, self._expire)
        if not self._answering:
            self._answering = True
            self._spawn(self._answer_all())

    def close(self) -> None:
        """The visitor is gone: whatever is under way stops at its next step."""
        self._drawing = _NOTHING
        if self._expiry is not None:
            self._expiry.cancel()
        for task in self._tasks:
            task.cancel()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            if isinstance(failure, MechdesignError):
                self.view.show_problem(str(failure), of_design=False)
                return
            # A mistake in this program: it is logged in full, and the visitor is told.
            _LOG.error("work for the page failed", exc_info=failure)
            self.view.show_problem(f"internal error: {failure!r}", of_design=True)

    # The answer

    async def _answer_all(self) -> None:
        """Answer the newest settings until there are no newer ones."""
        turn = -1
        try:
            while turn != self._turn:
                turn = self._turn
                try:
                    found = await self._soon(_quiet, answer, self.settings, HASTE)
                except Exception:
                    if turn == self._turn:
                        self.answer = None
                        raise
                else:
                    self._show(found)
        finally:
            self._answering = False
            self.view.show_busy(False)
        key = frontier_key(self.settings)
        if self._drawing != key:
            self._drawing = key
            self._spawn(self._draw(key))
        self._spawn(self._settle(turn))

    def _show(self, found: Answer | str | None) -> None:
        if isinstance(found, Answer):
            self.answer = found
            self.view.show_answer(found)
        elif found is not None:
            self.answer = None
            self.view.show_problem(found, of_design=True)
        self._show_rivals()
        if self._drawn == frontier_key(self.settings):
            self.view.show_frontier(*self._frontier)  # the design has its place in it

    async def _settle(self, turn: int) -> None:
        """What need not be there at once, for as long as nothing changes.

        A design that is not tight is improved, the notions to compare with are designed for, and
        when the visitor has paused the result is announced.
        """
        if self.answer is not None and not self.answer.is_final:
            found = await self._later(_quiet, answer, self.settings, PATIENCE)
            if turn != self._turn:
                return
            self._show(found)
        known, settings = {}, self.settings
        for demand in settings.demands:
            if not demand.held:
                key = _rival_key(settings, demand)
                found = self._rivals.get(key) or await self._later(rival, settings, demand)
                if turn != self._turn or found is None:
                    return
                known[key] = found
        self._rivals = known
        self._show_rivals()
        await asyncio.sleep(CALM)
        if turn == self._turn and self.answer is not None:
            self.view.announce(self.answer)

    def _show_rivals(self) -> None:
        """Put on the page what is known of the notions to compare with, and nothing older."""
        if self.answer is None:
            self.view.show_rivals([])
            return
        settings = self.answer.settings
        keys = [_rival_key(settings, demand) for demand in settings.demands if not demand.held]
        self.view.show_rivals([self._rivals[key] for key in keys if key in self._rivals])

    # The frontier

    async def _draw(self, key: Hashable) -> None:
        """Compute the frontier of the settings, or say that it failed and may be tried again."""
        try:
            await self._compute_frontier(key)
        except Exception:
            if key == self._drawing:
                self._drawing = self._drawn = _NOTHING
                self.view.show_frontier((), None, "not computed")
            raise

    async def _compute_frontier(self, key: Hashable) -> None:
        """Put the frontier on the page piece by piece, for as long as the settings have its key."""
        settings, clock = self.settings, asyncio.get_running_loop().time
        ends = await self._later(_quiet, span, settings)
        if not isinstance(ends, Span):
            self._put(key, (), None, ends or "")
            return
        curves = {demand.name: Curve(demand) for demand in settings.demands}
        last = clock()
        for piece in pieces(settings):
            curve = curves[piece[0].name]
            if curve.problem:
                continue
            found = await self._later(_quiet, points, settings, piece)
            if found is None or key != self._drawing:
                return
            if isinstance(found, str):
                curves[piece[0].name] = replace(curve, problem=found)
            else:
                all_points = sorted((*curve.points, *found), key=lambda point: point.level)
                curves[piece[0].name] = replace(curve, points=tuple(all_points))
            if clock() - last > GRACE:
                done = sum(len(curve.points) for curve in curves.values())
                self._put(key, tuple(curves.values()), ends, f"computing, {done} points so far")
                last = clock()
        self._put(key, tuple(curves.values()), ends, "")

    def _put(self, key: Hashable, curves: tuple[Curve, ...], ends: Span | None, state: str) -> None:
        """Put a frontier on the page, unless the settings have moved on."""
        if key != self._drawing or key != frontier_key(self.settings):
            return
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        self._drawn, self._frontier = key, (curves, ends, state)
        self.view.show_frontier(curves, ends, state)

    def _expire(self) -> None:
        """Take a frontier off the page that is not that of the settings."""
        self._expiry = None
        if self._drawn != frontier_key(self.settings):
            self._drawn = _NOTHING
            self.view.show_frontier((), None, "computing")


def _rival_key(settings: Settings, demand: Demand) -> Hashable:
    return settings.names, settings.weights, settings.utility, demand.name, demand.levels


def _quiet(work: Callable[..., Any], *arguments: Any) -> Any:
    """The result, or the message of an error that says what to do."""
    try:
        return work(*arguments)
    except MechdesignError as problem:
        return str(problem)
