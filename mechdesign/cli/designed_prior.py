"""The prior that a kernel is designed for, where that is not the counts themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from .options import PriorSource

if TYPE_CHECKING:
    from ..prior import Prior


@dataclass(frozen=True, kw_only=True)
class PriorChange:
    """What is done to counts before anything is designed for them."""

    prior_noise: Annotated[
        float | None,
        typer.Option(
            metavar="LEVEL",
            help="Design for the counts with discrete Laplace noise, drawn anew: what others see "
            "of the kernel then gives away at most so many nats of the value of any person.",
        ),
    ] = None
    round_prior: Annotated[
        int | None,
        typer.Option(
            metavar="DIGITS",
            help="Design for shares rounded to so many decimal places, which a kernel may give "
            "back.",
        ),
    ] = None

    def changed(self, prior: Prior) -> Prior:
        """The prior that is designed for."""
        if self.prior_noise is not None:
            prior = prior.with_noise(self.prior_noise)
        return prior if self.round_prior is None else prior.rounded(self.round_prior)


@dataclass(frozen=True, kw_only=True)
class DesignSource(PriorChange, PriorSource):
    """A column of a table, or a text, and what is done to its counts."""

    def read_prior(self, most: int | None = None) -> Prior:
        """The prior; :class:`InputError` where neither or both are given."""
        return self.changed(super().read_prior(most))
