"""By how much reports shrink the distance of two distributions of the secret.

The hockey-stick divergence at level g is E_g(μ‖ν) = Σ max(0, μ − e^g ν); at level 0 it is total
variation. A kernel K shrinks it by η_g, the largest E_g(K(x)‖K(x')) over two symbols: for all μ and
ν, E_g(μK‖νK) ≤ η_g E_g(μ‖ν) ([Dobrushin1956] at level 0, [Asoodeh2020] above). At level 0 it bounds
what every f-divergence keeps, relative entropy among them.

Notions of this project are closed under post-processing, and joining the outcomes where K(x) is
above e^g K(x'), and the others, keeps E_g(K(x)‖K(x')). So a kernel with two outcomes attains the
largest coefficient under a notion, and it is the optimum of a linear utility for each pair.

What is kept of relative entropy, χ² and squared Hellinger distances is one coefficient for all
three, at most 1 − B² for the least Bhattacharyya coefficient B = Σ √(K(x) K(x')) of two rows
([OrdentlichPolyanskiy2021]). From it follows how many reports a test or an estimate takes at least,
by the bounds of Le Cam and Assouad as in [BinYu1997].
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from .._audit import matched
from ..errors import KernelError, LevelError, ZeroMassWarning
from ..exact import exp_bounds, float_at_least, float_at_most
from ..labels import Label
from ..mechanism import Mechanism, as_mechanism
from ..prior import Prior
from ..privacy.differential import LDP
from ..privacy.notion import LikelihoodBound, PrivacyNotion, as_notions
from ..solve._design import find_design
from ..theory._rates import guessing_rate, least_number, overlap_at_least
from ..theory.tight import tight_conversion
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
    at_most : proved, rounded up; a kernel is also (g, at_most)-locally differentially private
    at_least : what :attr:`kernel` attains for :attr:`pair`, exact, rounded down
    pair : the two symbols that reports tell apart best
    kernel : the kernel that was asked about, or one of the notion that attains it
    affinity : proved: what Σ √(K(x) K(x')) is at least for every two symbols, rounded down
    symbols : the symbols of positive mass
    """

    level: float
    at_most: float
    at_least: float
    pair: tuple[Label, Label]
    kernel: Mechanism
    affinity: float
    symbols: tuple[Label, ...]

    @property
    def gap(self) -> float:
        """Difference of the two sides."""
        return self.at_most - self.at_least

    @property
    def information(self) -> float:
        """The share of relative entropy that reports keep at most, also of χ² and Hellinger's.

        1 − B² for the :attr:`affinity` B, or what is kept of total variation where that is less
        ([CohenKempermanZbaganu1998]).
        """
        kept = (1 - self.affinity) * (1 + self.affinity) * (1 + _SLACK)
        return min(kept, 1.0 if self.level else self.at_most)

    def reports_at_least(self, relative_entropy: float, error: float) -> float:
        """Reports without which two distributions cannot be told apart.

        Whoever tells μ from ν with both kinds of error adding up to at most ``error`` needs
        2 (1 − error)² / (η KL(μ‖ν)) reports at least, as relative entropies of independent reports
        add up and bound total variation (Pinsker), and log(1/(2 error))/(η KL(μ‖ν)) as well
        ([BretagnolleHuber1979]). Only for the coefficient at level 0.

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
        kept = self.information * told
        needed = 2 * (1 - wrong) ** 2
        if wrong < 0.5:
            needed = max(needed, -math.log(2 * wrong) if wrong else math.inf)
        return needed * (1 - _SLACK) / kept if kept else math.inf

    def reports_to_tell(self, first: Any, second: Any, error: float) -> tuple[float, float]:
        """How many independent reports it takes to tell two distributions of the secret apart.

        Fewer than the first number do not suffice for any test, whichever kernels with this
        coefficient make them: squared Hellinger distances shrink by :attr:`information`, and what
        two distributions of n reports overlap in is at least 1 − √(1 − (1 − η H²/2)²ⁿ)
        ([LeCam1973]); :meth:`reports_at_least` counts, too. As many as the second number suffice
        with :attr:`kernel`, by the likelihood ratio ([Chernoff1952]).

        Parameters
        ----------
        first, second : Priors or N probabilities over the inputs of :attr:`kernel`
        error : what both kinds of error may add up to, between 0 and 1

        Raises
        ------
        LevelError
            For an error out of range.
        PriorError
            For distributions over other symbols.
        """
        wrong = number(error, "sum of errors", 0, 1, ends="()")
        one, two = (self._distribution(p).probabilities for p in (first, second))
        close = math.fsum(np.sqrt(one * two))
        each = self._kept_affinity(1 - close)
        # 1 − √(1 − B²ⁿ) ≤ error, in logarithms.
        wanted = math.log(wrong * (2 - wrong)) / 2
        # Without a report both kinds of error add up to one.
        needed = max(1.0, wanted / math.log(each) * (1 - _SLACK)) if 0 < each < 1 else 1.0
        if each == 1:
            needed = math.inf
        if not self.level:
            entropies = (math.fsum(rel_entr(p, q)) for p, q in ((one, two), (two, one)))
            needed = max(needed, *(self.reports_at_least(v, wrong) for v in entropies))
        rows = np.array([one, two]) @ self.kernel.kernel
        enough = math.inf
        if (rows[0] != rows[1]).any():
            rate = guessing_rate(Mechanism(rows), Prior([0.5, 0.5]))
            enough = rate.reports_until(wrong / 2)[1]
        return float(math.ceil(needed)) if needed < math.inf else needed, enough

    def reports_to_estimate(self, error: float) -> tuple[float, float]:
        """How many independent reports it takes to estimate the distribution of the secret.

        Fewer than the first number do not suffice for any estimate, whichever kernels with this
        coefficient make them: pairs of symbols are moved by ±t around equal masses, and each
        direction is a test that is at times wrong ([Assouad1983], [BinYu1997]). As many as the
        second number suffice with :attr:`kernel`, by the unbiased linear estimate; ``inf`` where
        its rows are dependent. The first number lacks a factor of about the number of symbols;
        what the best kernel takes is what ``md.utility.Estimation`` designs for.

        Parameters
        ----------
        error : E ‖estimate − distribution‖², the largest over all distributions

        Raises
        ------
        LevelError
            For an error that is not above 0.
        """
        wanted = number(error, "squared error", 0, math.inf, ends="()")
        pairs = len(self.symbols) // 2
        shifts = np.geomspace(1e-6, 1, 200) / (2 * pairs)
        distances = (np.sqrt(1 / (2 * pairs) + shifts) - np.sqrt(1 / (2 * pairs) - shifts)) ** 2
        affinities = np.array([self._kept_affinity(float(d)) for d in distances])

        def suffices(n: int) -> bool:
            overlap = 1 - np.sqrt(1 - affinities ** (2 * n))
            return bool((2 * pairs * shifts**2 * overlap * (1 - _SLACK)).max() <= wanted)

        rows = self.kernel.kernel[[self.kernel.inputs.index(x) for x in self.symbols]]
        enough = math.inf
        if np.linalg.matrix_rank(rows) == len(rows):
            weights = np.linalg.pinv(rows)
            spread = float((rows @ (weights**2).sum(axis=1)).max()) - 1 / len(rows)
            enough = float(math.ceil(spread / wanted * (1 + _SLACK)))
        return least_number(suffices), enough

    def guess_error_after(self, prior: Any, reports: int) -> float:
        """How often the best guess of the secret is wrong at least, after so many reports.

        Whichever kernels with this coefficient make them, each drawn by itself: of two symbols of
        masses a and b at most one is guessed after each outcome, and their overlap is at least
        (a + b − √((a + b)² − 4ab B²ⁿ))/2 for the :attr:`affinity` B ([Kailath1967]). So it falls
        no faster than e^(2n log B); :func:`mechdesign.theory.guessing_rate` is the rate of one
        kernel.

        Parameters
        ----------
        prior : Prior or N probabilities over the inputs of :attr:`kernel`
        reports : number n of reports

        Raises
        ------
        LevelError
            For what is no number of reports.
        PriorError
            For a prior over other symbols.
        """
        known = self._distribution(prior)
        masses = np.sort(known.probabilities)[::-1]
        b, a = (float(v) for v in (*masses, 0.0)[:2])
        return overlap_at_least(a, b, self.affinity, reports)

    def _distribution(self, given: Any) -> Prior:
        """Masses over the inputs, some of which may be zero: nothing is designed for them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZeroMassWarning)
            return matched(self.kernel, given)[1]

    def _kept_affinity(self, distance: float) -> float:
        """1 − η d for half the squared Hellinger distance d of two distributions, rounded down."""
        return max(0.0, 1 - min(1.0, self.information * max(0.0, distance)) - 1e-15)

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
    lower, upper = exp_bounds(level)
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
        _affinity(mechanism.kernel[used]),
        tuple(mechanism.inputs[x] for x in used),
    )


def _affinity(rows: NDArray[np.float64]) -> float:
    """The least Σ √(K(x) K(x')) of two rows, rounded down."""
    roots = np.sqrt(rows)
    return max(0.0, float((roots @ roots.T).min()) * (1 - _SLACK) - 1e-15 * rows.shape[1])


def _affinity_under(notions: Any, prior: Prior, kept: float) -> float:
    """What the affinity of two rows is at least under notions; ``kept`` of total variation.

    1 − TV, and under LDP(ε) that of a randomised response to two symbols, 1/cosh(ε/2): squared
    Hellinger distances are convex in an outcome's likelihood ratio, so the two extreme ones attain
    the largest.
    """
    found = 1 - kept
    if all(isinstance(notion, LikelihoodBound) for notion in as_notions(notions)):
        level = tight_conversion(notions, LDP, prior).levels[0].level
        found = max(found, 1 / math.cosh(level / 2) if level < 1400 else 0.0)
    return max(0.0, found * (1 - _SLACK))


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
            found = find_design(known, Matrix(gains, ["told", "rest"]), notions)
            most = max(most, found.certificate.bound * (1 + _SLACK) + _SLACK * factor)
            attained = _of_kernel(found.mechanism, [i, j], level)
            if best is None or attained.at_least > best.at_least:
                best = attained
    assert best is not None
    most = min(1.0, max(most, best.at_least))
    return Contraction(
        level,
        most,
        best.at_least,
        best.pair,
        best.kernel,
        _affinity_under(notions, known, most if not level else 1.0),
        tuple(known.labels[x] for x in used),
    )
