"""What a picture of a kernel is drawn from: a design, a mechanism or an array, and a prior."""

from __future__ import annotations

from typing import Any

from .._audit import matched
from ..errors import PriorError
from ..mechanism import Mechanism
from ..prior import Prior
from ..solve._design import Design


def kernel_of(item: Any, prior: Any) -> tuple[Mechanism, Prior | None]:
    """The mechanism, and the prior given, else the one it was designed for, if any."""
    if isinstance(item, Design):
        prior = item.prior if prior is None else prior
        item = item.mechanism
    if prior is not None:
        return matched(item, prior)
    return (item if isinstance(item, Mechanism) else Mechanism(item)), None


def kernel_and_prior(item: Any, prior: Any) -> tuple[Mechanism, Prior]:
    """:func:`kernel_of` where a prior is needed; raises :class:`PriorError` without one."""
    mechanism, known = kernel_of(item, prior)
    if known is None:
        raise PriorError(
            "prior of a kernel",
            expected="a prior, as only a design brings its own",
            got="none",
            remedy="pass prior=[0.5, 0.3, 0.2] or a Prior",
        )
    return mechanism, known
