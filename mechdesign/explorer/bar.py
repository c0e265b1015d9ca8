"""A bar that is dragged: a native range input as an element of the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui.element import Element

#: Seconds between two messages of a bar that is being dragged.
THROTTLE = 0.05


class Bar(Element, component="bar.js"):  # type: ignore[call-arg]
    """A range input that tells of its moves.

    Parameters
    ----------
    low, high : ends
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
        self.on("move", lambda event: moved(_number(event.args)), throttle=THROTTLE)
        self.on("release", lambda event: _last(moved, released, _number(event.args)))

    def limit(self, low: float, high: float) -> None:
        """Give it other ends."""
        self._set("min", low)
        self._set("max", high)
        self._set("step", (high - low) / self._steps)

    def show(self, value: float, label: str, *, beyond: str = "", still: bool = False) -> None:
        """What it stands at, and what it is called."""
        self._set("value", value)
        self._set("label", label)
        self._set("beyond", beyond)
        self._set("still", still)

    def _set(self, name: str, value: Any) -> None:
        if self.props.get(name) != value:
            self.props[name] = value


def _last(moved: Callable[[float], object], released: Callable[[], object], value: float) -> None:
    moved(value)
    released()


def _number(arguments: Any) -> float:
    return float(arguments[0] if isinstance(arguments, list) else arguments)
