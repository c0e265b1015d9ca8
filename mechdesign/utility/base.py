"""What every utility has; and the registry that the command line and the contracts use."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import UtilityError, is_iterable, quote
from ..labels import Label, check_labels
from ..mechanism import Mechanism
from ..prior import Prior
from ..registry import register as register_class

UTILITIES: dict[str, type[Utility]] = {}


class Utility(ABC):
    """Something to maximise over kernels. Subclassing registers it under its class name."""

    references: ClassVar[tuple[str, ...]] = ()
    #: What gaps and losses are a share of, in words.
    gap_unit: ClassVar[str] = "the utility range"

    def __init_subclass__(cls, *, register: bool = True, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if register:
            register_class(cls, UTILITIES, "utility", UtilityError)

    @abstractmethod
    def value(self, mechanism: Mechanism, prior: Prior) -> float:
        """Utility of a kernel under a prior."""

    @property
    def in_words(self) -> str:
        """What is maximised, in a line: the first one of the documentation."""
        text = inspect.cleandoc(type(self).__doc__ or "").split("\n\n")[0].replace("\n", " ")
        return text.replace("``", "") if not text.startswith(f"{type(self).__name__}(") else ""

    @property
    def spec(self) -> str:
        """A short text that names the utility."""
        return type(self).__name__.lower()


class LinearUtility(Utility):
    """E[u(X, Y)] for a gain matrix u: linear in the kernel."""

    @abstractmethod
    def gains(self, prior: Prior, outputs: Sequence[Label]) -> NDArray[np.float64]:
        """The ``(N, M)`` matrix u over the prior's symbols and the given outputs."""

    def output_labels(self, prior: Prior) -> tuple[Label, ...]:
        """The outputs used when none are asked for: the prior's symbols."""
        return prior.labels

    def labels_for(self, prior: Prior, outputs: Any) -> tuple[Label, ...]:
        """Output labels for an ``outputs=`` argument: ``None``, or a sequence of labels."""
        if outputs is None:
            return self.output_labels(prior)
        if isinstance(outputs, (int, np.integer)):
            default = self.output_labels(prior)
            if int(outputs) == len(default):
                return default
            raise UtilityError(
                f"outputs for {type(self).__name__}",
                expected=f"output labels, or the number {len(default)}",
                got=f"the number {quote(outputs)}",
                remedy="list the labels, so that it is known what each output is worth",
            )
        if isinstance(outputs, (str, bytes)):
            return check_labels(outputs, len(outputs), "outputs", UtilityError)
        if not is_iterable(outputs):
            raise UtilityError(
                "outputs",
                expected="a list of labels",
                got=quote(outputs),
                remedy="leave it out, or name the outputs",
            )
        labels = list(outputs)
        if not labels:
            raise UtilityError(
                "outputs",
                expected="at least one output",
                got="none",
                remedy="leave it out, or name the outputs",
            )
        return check_labels(labels, len(labels), "outputs", UtilityError)

    def value(self, mechanism: Mechanism, prior: Prior) -> float:
        """Expected utility Σ p(x) K[x,y] u(x,y)."""
        joint = mechanism.joint(prior)
        gains = self.gains(prior, mechanism.outputs)
        return float((joint * gains).sum())


def checked_matrix(values: Any, shape: tuple[int, int] | None, subject: str) -> NDArray[np.float64]:
    """A finite float matrix, of a given shape if one is given."""
    try:
        if np.iscomplexobj(values):
            raise TypeError
        matrix = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise UtilityError(
            subject,
            expected="an N×M array of numbers",
            got="something else",
            remedy="give rows of equal length that hold numbers only",
        ) from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise UtilityError(
            subject,
            expected="an N×M array",
            got=f"shape {matrix.shape}",
            remedy="one row per input symbol, one column per output",
        )
    if shape is not None and matrix.shape != shape:
        raise UtilityError(
            subject,
            expected=f"shape {shape} (inputs × outputs)",
            got=f"{matrix.shape}",
            remedy="one row per input symbol, one column per output",
        )
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise UtilityError(
            subject,
            expected="finite numbers",
            got=f"{matrix[i, j]} in row {i}, column {j}",
            remedy="replace it; forbid an outcome by a large loss instead of an infinite one",
        )
    matrix.setflags(write=False)
    return matrix
