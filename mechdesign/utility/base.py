"""What every utility has, and their registry."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from ..errors import UtilityError
from ..mechanism import Mechanism
from ..prior import Prior
from ..registry import register as register_class

UTILITIES: dict[str, type[Utility]] = {}


class Utility(ABC):
    """Something to maximise over kernels. Subclassing registers it under its class name."""

    references: ClassVar[tuple[str, ...]] = ()
    #: What gaps and losses are a share of, as messages say it.
    gap_unit: ClassVar[str] = "the utility range"

    def __init_subclass__(cls, *, register: bool = True, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if register:
            register_class(cls, UTILITIES, "utility", UtilityError)

    @abstractmethod
    def value(self, mechanism: Mechanism, prior: Prior) -> float:
        """Utility of a kernel under a prior."""

    @property
    def description(self) -> str:
        """What is maximised, in a line: the first one of the documentation."""
        text = inspect.cleandoc(type(self).__doc__ or "").split("\n\n")[0].replace("\n", " ")
        return text.replace("``", "") if not text.startswith(f"{type(self).__name__}(") else ""

    @property
    def spec(self) -> str:
        """A short text that names the utility."""
        return type(self).__name__.lower()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
