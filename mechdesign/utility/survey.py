"""What is asked of reports of people with one distribution, and its risk in exact numbers.

A risk is enclosed between rationals by ball arithmetic, ever tighter until it is accurate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UtilityError
from ..exact import ball_ends, common_integers

Vector = NDArray[np.float64]
#: A matrix W, exactly, or its diagonal.
Weights = Vector | list[list[Fraction]]
Ends = tuple[Fraction, Fraction]
# Precisions of enclosures, and the relative accuracy at which they end.
PRECISIONS = (256, 1024, 4096, 16384)
DIGITS = 80


def too_close() -> UtilityError:
    """What is said where the last precision does not suffice."""
    return UtilityError(
        "kernel of an estimation",
        expected="rows that 16384 bits can tell apart",
        got="rows that are closer",
        remedy="merge the symbols whose rows are nearly the same",
    )


def balls(rows: int, columns: int, values: Iterable[Fraction]) -> Any:
    """A matrix of balls around exact numbers, row by row."""
    from flint import arb, arb_mat

    return arb_mat(rows, columns, [arb(as_rational(v)) for v in values])


def column_matrices(kept: list[list[int]], shares: Any) -> tuple[Any, Any]:
    """Rows k of a kernel, and the same over the masses of the columns, as matrices of balls."""
    from flint import arb, arb_mat

    shape = len(kept), len(shares)
    masses = [arb(int(q)) for q in shares]
    scaled = [arb(k) / q for row in kept for k, q in zip(row, masses, strict=True)]
    return arb_mat(*shape, [arb(k) for row in kept for k in row]), arb_mat(*shape, scaled)


@dataclass(frozen=True)
class Survey:
    """What is asked of reports of people with one distribution, in exact numbers.

    Attributes
    ----------
    truth : π, all positive
    loss : A = FᵀWF less what every distribution shares, so that Aπ = 0; ``(n, n)``
    """

    truth: tuple[Fraction, ...]
    loss: tuple[tuple[Fraction, ...], ...]

    @classmethod
    def of(
        cls, rows: list[list[Fraction]], weights: Weights, truth: tuple[Fraction, ...]
    ) -> Survey:
        """From questions F, one a row, and weights W, or their diagonal."""
        from flint import fmpq_mat

        n, count = len(truth), len(rows)
        asked = fmpq_mat(count, n, [as_rational(v) for row in rows for v in row])
        masses = fmpq_mat(n, 1, [as_rational(v) for v in truth])
        # A constant added to a question adds nothing to its risk: every answer is centred.
        asked = asked - asked * masses * fmpq_mat(1, n, [1] * n)
        if isinstance(weights, np.ndarray):
            pairs = zip(
                map(as_rational, map(Fraction, weights.tolist())), asked.tolist(), strict=True
            )
            weighted = fmpq_mat(count, n, [w * v for w, row in pairs for v in row])
        else:
            weighted = fmpq_mat(count, count, [as_rational(v) for r in weights for v in r]) * asked
        loss = asked.transpose() * weighted
        return cls(truth, tuple(tuple(map(as_fraction, row)) for row in loss.tolist()))

    def moved(self, truth: tuple[Fraction, ...]) -> Survey:
        """The same asked of people of another distribution."""
        rows = self.loss
        shares = [
            sum((v * t for v, t in zip(row, truth, strict=True)), Fraction(0)) for row in rows
        ]
        mean = sum((v * t for v, t in zip(shares, truth, strict=True)), Fraction(0))
        loss = tuple(
            tuple(v - s - o + mean for v, o in zip(row, shares, strict=True))
            for row, s in zip(rows, shares, strict=True)
        )
        return Survey(truth, loss)

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def asks_nothing(self) -> bool:
        """Whether every answer is the same for all distributions."""
        return not any(v for row in self.loss for v in row)

    @cached_property
    def masses(self) -> Vector:
        """π in floats."""
        return np.array([float(v) for v in self.truth])

    @cached_property
    def losses(self) -> Vector:
        """A in floats."""
        return np.array([[float(v) for v in row] for row in self.loss])

    @property
    def fewest_outputs(self) -> int:
        """How many outputs it takes to answer: one more than there are independent questions."""
        from flint import fmpq_mat

        n = len(self)
        return int(fmpq_mat(n, n, [as_rational(v) for row in self.loss for v in row]).rank()) + 1

    @property
    def open_risk(self) -> Fraction:
        """The risk without privacy: J⁻¹ = diag(π) where every symbol is revealed."""
        return sum((mass * self.loss[x][x] for x, mass in enumerate(self.truth)), start=Fraction(0))

    def risk(self, weights: NDArray[Any]) -> Ends | None:
        """tr(A J⁻¹) of a kernel of integer weights, rows of equal sums, between two rationals.

        ``None`` where it is infinite: some question is no combination of the columns.
        """
        if self.asks_nothing:
            return Fraction(0), Fraction(0)
        rows = weights.astype(object)
        rows = rows[:, rows.any(axis=0)]
        found = self._enclosed(rows, range(len(rows)), first=True)
        if found is not None:
            return found
        basis = self.telling(rows)
        return None if basis is None else self._enclosed(rows, basis)

    def _enclosed(
        self, rows: NDArray[Any], basis: Sequence[int], first: bool = False
    ) -> Ends | None:
        """tr(A J⁻¹) over rows that are independent; ``None`` where the first precision fails."""
        from flint import arb, ctx

        masses, whole = common_integers(self.truth)
        shares = np.array(masses, dtype=object) @ rows
        kept, count = [rows[x].tolist() for x in basis], len(basis)
        for precision in PRECISIONS[: 1 if first else None]:
            with ctx.workprec(precision):
                plain, scaled = column_matrices(kept, shares)
                matrix = scaled * plain.transpose() * (arb(whole) / int(sum(rows[0])))
                right = balls(count, count, (self.loss[x][z] for x in basis for z in basis))
                try:
                    ball = matrix.solve(right).trace()
                except ZeroDivisionError:
                    continue
                if ball.rel_accuracy_bits() >= DIGITS:
                    return ball_ends(ball)
        if first:
            return None
        raise too_close()

    def telling(self, rows: NDArray[Any]) -> list[int] | None:
        """Rows of a kernel of integers, ``(n, M)``, that all others are combinations of.

        ``None`` where A says something else of the others than of their combinations.
        """
        from flint import fmpq, fmpq_mat, fmpz_mat

        n, m = rows.shape
        reduced, common, rank = fmpz_mat(m, n, rows.T.ravel().tolist()).rref()
        table = reduced.tolist()[:rank]
        basis = [next(x for x, v in enumerate(line) if v != 0) for line in table]
        if rank == n:
            return basis
        # Row x of the kernel is the sum of table[r][x] / common times row basis[r].
        spread = fmpq_mat(n, rank, [fmpq(line[x], common) for x in range(n) for line in table])
        own = fmpq_mat(rank, n, [as_rational(v) for x in basis for v in self.loss[x]])
        whole = fmpq_mat(n, n, [as_rational(v) for row in self.loss for v in row])
        return basis if spread * own == whole else None


def as_rational(value: Fraction) -> Any:
    """A rational number of ``flint``."""
    from flint import fmpq

    return fmpq(value.numerator, value.denominator)


def as_fraction(value: Any) -> Fraction:
    """The fraction that a rational number of ``flint`` is."""
    return Fraction(int(value.p), int(value.q))
