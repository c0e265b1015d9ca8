"""By how much reports shrink the distance of two distributions of the secret.

The hockey-stick divergence at level g is E_g(μ‖ν) = Σ max(0, μ − e^g ν); at level 0 it is total
variation. A kernel K shrinks it by η_g, the largest E_g(K(x)‖K(x')) over two symbols: for all μ and
ν, E_g(μK‖νK) ≤ η_g E_g(μ‖ν) ([Dobrushin1956] at level 0, [Asoodeh2020] above). At level 0 it bounds
what every f-divergence keeps, relative entropy among them.

Notions of this project are closed under post-processing, and joining the outcomes where K(x) is
above e^g K(x'), and the others, keeps E_g(K(x)‖K(x')). So a kernel with two outcomes attains the
largest coefficient under a notion, and it is the optimum of a linear utility for each pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .._audit import matched
from ..errors import KernelError, LevelError
from ..exact import exp_bounds, float_at_least, float_at_most
from ..labels import Label
from ..mechanism import Mechanism, as_mechanism
from ..prior import Prior
from ..privacy.notion import PrivacyNotion
from ..solve._design import design
from ..theory.validation import number
from ..utility import Matrix
from ._refines import Rows, integer_rows

# Relative rounding of gains 1/p and of e^g, generously.
_SLACK = 1e-12
_HIGHEST = 512.0


@dataclass(frozen=True, eq=False)
class Contraction:
    """The share of a hockey-stick divergence that reports keep at most.

    Attributes
    ----------
    level : g of the divergence E_g, in nats; 0 for total variation
    at_most : proved, rounded up
    at_least : what :attr:`kernel` attains for :attr:`pair`, exact, rounded down
    pair : the two symbols that reports tell apart best
    kernel : the kernel that was asked about, or one of the notion that attains it
    """

    level: float
    at_most: float
    at_least: float
    pair: tuple[Label, Label]
    kernel: Mechanism

    @property
    def gap(self) -> float:
        """Difference of the two sides."""
        return self.at_most - self.at_least

    def reports_at_least(self, relative_entropy: float, error: float) -> float:
        """Reports without which two distributions cannot be told apart.

        Whoever tells μ from ν with both kinds of error adding up to at most ``error`` needs
        2 (1 − error)² / (η KL(μ‖ν)) reports at least, as relative entropies of independent reports
        add up and bound total variation (Pinsker). Only for the coefficient at level 0.

        Parameters
        ----------
        relative_entropy : KL(μ‖ν) of the secret, in nats
        error : sum of the two errors, below 1

        Raises
        ------
        LevelError
            For numbers out of range, or a coefficient at another level.
        """
        if self.level:
            raise LevelError(
                "level of the coefficient",
                expected="0, total variation",
                got=f"{self.level:g}",
                remedy="ask for contraction(…) without a level",
            )
        told = number(relative_entropy, "relative entropy", 0, math.inf)
        wrong = number(error, "sum of errors", 0, 1, ends="[)")
        kept = self.at_most * told
        return 2 * (1 - wrong) ** 2 / kept if kept else math.inf

    def __str__(self) -> str:
        what = "total variation" if not self.level else f"hockey-stick divergence at {self.level:g}"
        return f"reports keep at most {self.at_most:.6g} of the {what}"


def contraction(subject: Any, prior: Any = None, *, level: float = 0.0) -> Contraction:
    """The share of total variation, or of a hockey-stick divergence, that reports keep at most.

    Parameters
    ----------
    subject : Mechanism, design or matrix; or a notion with its level, or a list of notions
        Of notions, the largest coefficient of all kernels that satisfy them.
    prior : Prior or N probabilities
        Needed for notions. Only symbols of positive mass count.
    level : float
        g of the divergence, in nats; 0 for total variation (Dobrushin's coefficient).

    Raises
    ------
    LevelError
        For a level that is no number of at least 0.
    KernelError
        For a notion without a prior, or fewer than two symbols of positive mass.

    Notes
    -----
    [Dobrushin1956]; [Asoodeh2020]. Under LDP(ε) it is (e^ε − 1)/(e^ε + 1) at level 0.

    Examples
    --------
    >>> import mechdesign as md
    >>> round(md.contraction(md.LDP(1), md.Prior.uniform(3)).at_most, 6)
    0.462117
    >>> md.contraction([[.75, .25], [.25, .75]]).at_most
    0.5
    """
    height = number(level, "level of a divergence", 0, _HIGHEST)
    listed = isinstance(subject, (list, tuple)) and any(
        isinstance(item, PrivacyNotion) for item in subject
    )
    if isinstance(subject, PrivacyNotion) or listed:
        return _of_notions(subject, prior, height)
    mechanism = as_mechanism(subject)
    used = list(range(len(mechanism.inputs)))
    if prior is not None:
        used = matched(mechanism, prior)[1].support.tolist()
    return _of_kernel(mechanism, used, height)


def _of_kernel(mechanism: Mechanism, used: list[int], level: float) -> Contraction:
    _check_pairs(len(used))
    rows = integer_rows(mechanism, used)
    lower, upper = exp_bounds(Fraction(level))
    best, pair = Fraction(-1), (0, 0)
    for i in range(len(used)):
        for j in range(len(used)):
            if i != j and (value := _stick(rows, i, j, upper)) > best:
                best, pair = value, (i, j)
    most = best
    if lower != upper:
        every = (_stick(rows, i, j, lower) for i in range(len(used)) for j in range(len(used)))
        most = max(every)
    return Contraction(
        level,
        float_at_least(most),
        float_at_most(best),
        (mechanism.inputs[used[pair[0]]], mechanism.inputs[used[pair[1]]]),
        mechanism,
    )


def _check_pairs(count: int) -> None:
    if count < 2:
        raise KernelError(
            "contraction",
            expected="at least two symbols of positive mass",
            got=str(count),
            remedy="ask about a secret that can have two values",
        )


def _stick(rows: Rows, i: int, j: int, factor: Fraction) -> Fraction:
    weights, one = rows
    scaled = zip(weights[i].tolist(), weights[j].tolist(), strict=True)
    top, bottom = factor.numerator, factor.denominator
    total = sum(max(0, bottom * int(a) - top * int(b)) for a, b in scaled)
    return Fraction(total, bottom * one)


def _of_notions(notions: Any, prior: Any, level: float) -> Contraction:
    if prior is None:
        raise KernelError(
            "contraction of a notion",
            expected="a prior, whose symbols the kernels are over",
            got="none",
            remedy="pass the prior, such as md.Prior.uniform(5)",
        )
    known = prior if isinstance(prior, Prior) else Prior(prior)
    used = known.support.tolist()
    _check_pairs(len(used))
    p = known.probabilities
    factor = math.exp(level)
    best: Contraction | None = None
    most = 0.0
    for i in used:
        for j in used:
            if i == j:
                continue
            gains = np.zeros((len(known), 2))
            gains[i, 0], gains[j, 0] = 1 / p[i], -factor / p[j]
            found = design(known, Matrix(gains, ["told", "rest"]), notions)
            most = max(most, found.certificate.bound * (1 + _SLACK) + _SLACK * factor)
            attained = _of_kernel(found.mechanism, [i, j], level)
            if best is None or attained.at_least > best.at_least:
                best = attained
    assert best is not None
    return Contraction(
        level, min(1.0, max(most, best.at_least)), best.at_least, best.pair, best.kernel
    )
