"""Estimation designs with at most so many outputs.

The best design without the limit bounds the risk. What it uses is brought down to the number by
leaving out rare columns and, apart from that, by merging outputs that tell nearly the same; then
columns that pay most are exchanged for those in use while that helps. Nothing says that no other
choice of columns is better: the gap to the bound says what that could bring at most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...certificate.repair import repair_kernel
from ...errors import SolverError
from ...exact import DENOMINATOR_BITS
from .. import clock
from ..method import Candidate, Handles, Method
from ..program import EstimationProgram
from ..worst_truth_program import WorstTruthProgram
from .block_designs import symmetric_design
from .fewer import mixed_masses
from .generation import Columns
from .method import MOST_LISTED, OptimalExperiment, kernel_of, listed
from .worst_truth import LeastFavourable, mixed_at_worst

Vector = NDArray[np.float64]

# How many rare columns are left out at once, as a share of those that are too many; how many of the
# rarest are tried.
_STEP, _RAREST = 4, 4
# Columns that are tried in the place of others, how often, in how many choices, and the share of
# the time limit that this may take.
_PAYING, _ROUNDS, _STARTS, _EXCHANGING = 8, 25, 2, 0.15
# The gap at which mixtures are compared.
_ROUGH = 1e-5
# A smaller gain than this share of the risk is none.
_GAIN = 1e-7


class FewOutputs(Method):
    """Risks of estimates, or the worst of several, with at most so many outputs."""

    name = "few-outputs-experiment"
    handles = Handles(frozenset({"estimation", "worst estimation"}), few_outputs=True)
    is_exact = False
    reason = (
        "the best design with any number of outputs bounds the risk, and is brought down to the "
        "outputs asked for by leaving out, merging and exchanging columns"
    )
    source = "Pukelsheim2006"

    def condition(self, program: EstimationProgram) -> str | None:
        """Applies where the design without the limit is known."""
        return _relaxed(program)[0].refusal(_relaxed(program)[1])

    def solve(self, program: EstimationProgram) -> Candidate:
        """The design without the limit, and the best of it with as many outputs as may be."""
        assert program.most_outputs is not None
        from threadpoolctl import threadpool_limits

        method, relaxed = _relaxed(program)
        candidate = method.solve(relaxed)
        deadline = clock.now() + _EXCHANGING * program.time_limit
        kernel = candidate.kernel[:, candidate.kernel.any(axis=0)]
        details = {**candidate.details, "without limit": str(kernel.shape[1])}
        if kernel.shape[1] > program.most_outputs:
            # Columns are chosen at the least favourable truth, their masses for the worst.
            one = relaxed
            if isinstance(relaxed, WorstTruthProgram):
                one = relaxed.at_mixture(candidate.duals.mixture)
            with threadpool_limits(1):  # threads wait for each other longer than small systems take
                found = _Search(one, kernel, program.most_outputs).best(deadline)
            kernel = kernel_of(one, found.columns, found.masses, found.risk)
            if isinstance(relaxed, WorstTruthProgram):
                kernel = mixed_at_worst(relaxed, found.columns.deviations, kernel)
            weights, _ = repair_kernel(kernel, program.cone, keep_rare=True)
            if program.enclose(weights, DENOMINATOR_BITS) is None:
                raise SolverError(
                    f"with {program.most_outputs} outputs what is asked hangs on digits that a "
                    "kernel does not keep; allow more outputs"
                )
        return replace(candidate, kernel=kernel, details=details)


def _relaxed(program: EstimationProgram) -> tuple[Method, EstimationProgram]:
    method = LeastFavourable() if isinstance(program, WorstTruthProgram) else OptimalExperiment()
    return method, replace(program, most_outputs=None)


@dataclass(frozen=True, eq=False)
class _Choice:
    columns: Columns
    masses: Vector
    risk: float
    prices: Vector
    inverse: Vector


class _Search:
    """Columns of a program, at most so many, whose best mixture has a small risk."""

    def __init__(self, program: EstimationProgram, kernel: Vector, most: int) -> None:
        self.program, self.most = program, most
        prior, self.truth = program.prior.probabilities, program.survey.masses
        shares = prior @ kernel
        self.start = Columns.of(kernel / shares, self.truth)
        self.masses = shares
        few = len(prior) <= MOST_LISTED
        self.pool = listed(program) if few else self.start

    def best(self, deadline: float) -> _Choice:
        """The best choice that is found until the deadline."""
        fewer = max(self.program.survey.fewest_outputs, 2 * self.most // 3)
        starts = [self._dropped(), self._merged(self.most), self._merged(fewer), *self._blocks()]
        found = [choice for choice in starts if choice is not None]
        if not found:
            raise SolverError(
                f"no mixture of at most {self.most} outputs was found that answers what is asked; "
                "allow more outputs"
            )
        best = None
        for choice in sorted(found, key=lambda one: one.risk)[:_STARTS]:
            better = self._exchanged(choice, deadline)
            if best is None or better.risk < best.risk:
                best = better
        assert best is not None
        return self._mixed(best.columns, None) or best

    def _mixed(self, columns: Columns, gap: float | None = _ROUGH) -> _Choice | None:
        """The best mixture of columns; ``None`` where it is no kernel that answers."""
        if not self._balances(columns):
            return None
        found = mixed_masses(self.program, columns, gap)
        if found is None:
            return None
        return _Choice(columns, found.masses, found.risk, found.prices, found.inverse)

    @staticmethod
    def _balances(columns: Columns) -> bool:
        """Whether some mixture of columns is a kernel with all of them in use or not."""
        from scipy.optimize import linprog

        size = np.maximum(np.abs(columns.deviations).max(axis=0), 1e-300)
        rows = np.vstack([np.ones(len(columns.shares)), (columns.deviations / size).T])
        target = np.zeros(len(rows))
        target[0] = 1.0
        return bool(linprog(np.zeros(rows.shape[1]), A_eq=rows, b_eq=target).status == 0)

    def _dropped(self) -> _Choice | None:
        """The start without its rarest columns, a few at a time."""
        choice = self._mixed(self.start)
        while choice is not None and len(choice.masses) > self.most:
            choice = self._without_some(choice)
        return choice

    def _without_some(self, choice: _Choice) -> _Choice | None:
        order = np.argsort(choice.masses, kind="stable")
        several = max(1, (len(order) - self.most) // _STEP)
        best: _Choice | None = None
        for number, places in enumerate([order[:several], *order[: 4 * _RAREST, None]]):
            if best is not None and (several > 1 or number > _RAREST):
                break
            rest = np.ones(len(order), dtype=bool)
            rest[places] = False
            found = self._mixed(choice.columns[rest])
            if found is not None and (best is None or found.risk < best.risk):
                best = found
        return best

    def _merged(self, count: int) -> _Choice | None:
        """The start with pairs of outputs merged that tell nearly the same."""
        kept = np.delete(np.arange(len(self.truth)), int(np.argmax(self.truth)))
        loss = self.program.survey.losses[np.ix_(kept, kept)]
        lifts, masses = 1 + self.start.deviations, self.masses.copy()
        while len(masses) > count:
            shares = lifts @ self.truth
            spread: Vector = (lifts / shares[:, None] - 1)[:, kept]
            weights = masses * shares
            matrix = (spread.T * weights) @ spread
            inverse: Vector = np.asarray(
                np.linalg.pinv(matrix, rcond=1e-12, hermitian=True), dtype=float
            )
            factor = 1 / (1 / weights[:, None] + 1 / weights[None, :])
            answers: Vector = inverse @ loss @ inverse
            left = np.maximum(1 - factor * _between(inverse, spread), 1e-12)
            paid = _between(answers, spread)
            cost = factor * np.maximum(paid, 0.0) / left
            np.fill_diagonal(cost, np.inf)
            i, j = np.unravel_index(int(cost.argmin()), cost.shape)
            total = masses[i] + masses[j]
            lifts[i] = (masses[i] * lifts[i] + masses[j] * lifts[j]) / total
            masses[i] = total
            lifts, masses = np.delete(lifts, j, axis=0), np.delete(masses, j)
        return self._mixed(Columns.of(lifts.T, self.truth))

    def _blocks(self) -> list[_Choice | None]:
        """One output for each symbol: sets of a block design, in randomised response those of one
        symbol.
        """
        n = len(self.truth)
        if self.most < n:
            return []
        up = self.pool.deviations > 0
        place = {row.tobytes(): i for i, row in enumerate(up)}
        found: list[_Choice | None] = []
        for size in range(1, n):
            sets = symmetric_design(n, size)
            places = [place.get(row.tobytes()) for row in sets.T] if sets is not None else [None]
            if None not in places:
                some = np.array(places, dtype=np.intp)
                columns = Columns(self.pool.deviations[some], self.pool.shares[some])
                found.append(self._mixed(columns))
        return found

    def _exchanged(self, choice: _Choice, deadline: float) -> _Choice:
        """A choice with columns that pay more in the place of some of its own, while that helps."""
        for _ in range(_ROUNDS):
            better = self._exchanged_once(choice, deadline)
            if better is None:
                break
            choice = better
        return choice

    def _exchanged_once(self, choice: _Choice, deadline: float) -> _Choice | None:
        deviations = self.pool.deviations
        spread = deviations - (deviations @ self.truth)[:, None]
        answers = choice.inverse @ self.program.survey.losses @ choice.inverse.T
        paid = ((spread @ answers) * spread).sum(axis=1) / self.pool.shares
        paid -= deviations @ choice.prices
        for place in np.argsort(-paid, kind="stable")[:_PAYING].tolist():
            if clock.now() > deadline:
                return None
            more = self._mixed(
                Columns(
                    np.vstack([choice.columns.deviations, deviations[place]]),
                    np.append(choice.columns.shares, self.pool.shares[place]),
                )
            )
            if more is None or more.risk > choice.risk * (1 - _GAIN):
                continue
            if len(more.masses) <= self.most:
                return more
            for rare in np.argsort(more.masses, kind="stable")[:_RAREST].tolist():
                rest = np.ones(len(more.masses), dtype=bool)
                rest[rare] = False
                found = self._mixed(more.columns[rest])
                if found is not None and found.risk < choice.risk * (1 - _GAIN):
                    return found
        return None


def _between(form: Vector, points: Vector) -> Vector:
    """The quadratic form of the difference of every two points."""
    inner = points @ form @ points.T
    own = np.diagonal(inner)
    return np.asarray(own[:, None] + own[None, :] - 2 * inner)
