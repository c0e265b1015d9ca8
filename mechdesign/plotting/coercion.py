"""The mechanism and the prior of whatever a picture of a kernel is drawn from."""

from __future__ import annotations

from typing import Any

from .._audit import matched
from ..errors import PriorError
from ..mechanism import Mechanism
from ..prior import Prior
from ..solve._design import Design


def mechanism_of(kernel: Any, prior: Any = None) -> tuple[Mechanism, Prior | None]:
    """The mechanism of a design, a mechanism or an array, and its prior if one is known.

    The prior is the one given, in the order of the inputs, else the one of the design.
    """
    if isinstance(kernel, Design):
        prior = kernel.prior if prior is None else prior
        kernel = kernel.mechanism
    if prior is not None:
        return matched(kernel, prior)
    return (kernel if isinstance(kernel, Mechanism) else Mechanism(kernel)), None


def mechanism_and_prior(kernel: Any, prior: Any = None) -> tuple[Mechanism, Prior]:
    """:func:`mechanism_of` where a prior is needed; raises :class:`PriorError` without one."""
    mechanism, known = mechanism_of(kernel, prior)
    if known is None:
        raise PriorError(
            "prior of a kernel",
            expected="a prior, as only a design brings its own",
            got="none",
            remedy="pass prior=[0.5, 0.3, 0.2] or a Prior",
        )
    return mechanism, known
