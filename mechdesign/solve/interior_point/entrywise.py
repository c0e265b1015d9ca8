"""Newton steps as long as nearly all entries allow; the few that they would overshoot stay behind.

With a hundred thousand entries and more some are always far from the central path, and the step to
the boundary is short for all because of them: so iterations grow with the size of a problem. Here
a step is as long as all but a small share of the entries allow. An entry beyond that keeps a share
of what it had. What this takes from the rows and from the balance of the multipliers is small, as
those entries are, and the next steps make up for it: where it is large beside the gap, they centre.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .newton import Newton
from .predictor_corrector import Array


@dataclass(frozen=True)
class EntrywiseOptions:
    """Heuristics of these steps.

    Attributes
    ----------
    left_behind : share of the entries that do not limit a step
    keeps : share of its slack or multiplier that such an entry keeps
    most_centring : the centring parameter is at most this …
    residual, lack : … unless residuals of the duals, or what rows lack, are so many times the gap:
        then it is one
    plain : steps at least this long leave no entry behind
    plain_at_the_end : likewise near the end …
    ends_at : … which is below this gap, once residuals are near it
    neighbourhood : products are at least this share of their targets
    """

    left_behind: float = 1e-3
    keeps: float = 0.1
    most_centring: float = 0.5
    residual: float = 10.0
    lack: float = 100.0
    plain: float = 0.9
    plain_at_the_end: float = 0.1
    neighbourhood: float = 0.01
    ends_at: float = 1e-6


ENTRYWISE = EntrywiseOptions()
# Slacks that are left with less than this share of what they had: their output takes a plain step.
_LEAST = 1e-3


class EntrywiseNewton(Newton):
    """Iterations as :class:`Newton`, with step lengths of single entries."""

    def iterate(self, gap: float) -> float:
        """One predictor-corrector step; returns the shorter of the two step lengths."""
        options = ENTRYWISE
        small = max(self.residual, self.lack) <= options.residual * gap
        ends = small and gap <= options.ends_at
        mu = gap / self.point.slacks.size
        self._factorise()
        self._affine_direction()
        sigma = self._centring_parameter(mu)
        if not ends:
            sigma = min(sigma, options.most_centring)
        if self.residual > options.residual * gap or self.lack > options.lack * gap:
            sigma = 1.0
        self._corrected_targets(mu, sigma)
        self._corrector_direction()
        # Also leaves the new multipliers in ``e``.
        falls = self._falls()
        primal, dual = (self._step_lengths(fall, ends) for fall in falls)
        self._move(primal, dual, options.neighbourhood * sigma * mu)
        return min(primal[0], dual[0])

    def _falls(self) -> tuple[Array, Array]:
        """By how much of itself a full step takes each slack and each multiplier down."""
        point = self.point
        both = np.empty((2, *point.slacks.shape), dtype=np.float32)
        for b in self.blocks:
            q, e, z = self._relative_steps(b), self.e[:, b], point.multipliers[:, b]
            np.negative(q, out=both[0][:, b], casting="same_kind")
            q *= z
            e -= q
            np.divide(e, z, out=q)
            np.subtract(1.0, q, out=both[1][:, b], casting="same_kind")
        return both[0].ravel(), both[1].ravel()

    def _step_lengths(self, falls: Array, ends: bool) -> tuple[float, bool]:
        """The step, and whether entries stay behind."""
        share, options = self.options.step_share, ENTRYWISE
        longest = min(1.0, share / max(float(falls.max()), share))
        if longest >= (options.plain_at_the_end if ends else options.plain):
            return longest, False
        place = len(falls) - max(1, int(options.left_behind * len(falls)))
        step = min(1.0, share / max(float(np.partition(falls, place)[place]), share))
        return step, True

    def _move(self, primal: tuple[float, bool], dual: tuple[float, bool], least: float) -> None:
        point, p, keeps = self.point, self.p, ENTRYWISE.keeps
        (step, primal_behind), (rise, dual_behind) = primal, dual
        self.lack *= 1 - step
        for b in self.blocks:
            s, z, e, ds = (a[:, b] for a in (point.slacks, point.multipliers, self.e, self.ds))
            lengths = np.full(s.shape[1], step)
            new = ds * step
            new += s
            if primal_behind:
                more = np.maximum(keeps * s - new, 0.0)
                moved = more[0] - more[1]
                if point.cone.linked:
                    # The pivot makes up for it, so that the column keeps its mass.
                    pivot = self.pivot[b]
                    moved[self.row[: len(moved)], pivot] -= (moved @ p) / p[pivot]
                new[0] += moved
                new[1] -= moved
                bad = (new <= _LEAST * s).any(axis=(0, 2))
                if bad.any():
                    far = np.max(-ds[:, bad] / s[:, bad], axis=(0, 2))
                    share = self.options.step_share
                    lengths[bad] = np.minimum(step, share / np.maximum(far, share))
                    new[:, bad] = s[:, bad] + lengths[bad][:, None] * ds[:, bad]
            s[...] = new
            point.scales[b] += lengths * self.dt[b]
            # A multiplier keeps a share of itself, and products stay near the central path.
            low = keeps * z if dual_behind else np.zeros_like(z)
            np.maximum(low, least * self.targets / s, out=low)
            z *= 1 - rise
            e *= rise
            z += e
            low -= z
            # Both sides of an entry rise alike, which keeps its stationarity.
            z += np.maximum(low, 0.0, out=low).sum(axis=0)
        self._shrink(rise)
        point.prices = point.prices + rise * self.dprices
        if point.cone.linked:
            point.link = point.link + rise * self.dlink
        self._residuals()
