"""Noise for Pufferfish privacy: how much bounds mutual information or likelihood ratios.

For mutual information the framework is that of [NuradhaGoldfeld2023]: a query f(X) in ℝ^d, private
functions g, public functions w, priors Θ; M = f(X) + Z is ε-MI-private when I(g(X); M | w(X)) ≤ ε
for all of them. The published statements are used in their corrected form where they need one. For
Pufferfish privacy itself there is the Wasserstein mechanism: Laplace noise by how far apart the
secrets of a pair put the query.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import LevelError, PriorError, listed
from ..exact import (
    LARGEST_LEVEL,
    common_integers,
    exp_bounds,
    exp_lower,
    float_at_least,
    is_whole,
    log_bounds,
    sqrt_upper,
)
from ..prior import Prior
from ..privacy.pufferfish import Pufferfish
from .checks import (
    at_least,
    called,
    checked,
    exact_list,
    exactly,
    positive,
    real,
    reals,
    shown,
)

Function = Callable[[Any], Any]

#: A rational above π, by less than 1e-56.
_PI_ABOVE = Fraction("3.14159265358979323846264338327950288419716939937510582098")


def gaussian_variance(variance: float, epsilon: float, dimension: int = 1) -> float:
    """σ² at which Gaussian noise is ε-MI-private: A/(d(e^{2ε/d} − 1)).

    Parameters
    ----------
    variance : A, the supremum over Θ and w of Σ_j E Var(f_j(X)|w(X)); see :func:`query_spread`
    epsilon : level in nats
    dimension : d

    Source: [NuradhaGoldfeld2023] Theorem 3.

    >>> round(gaussian_variance(.02, .1), 6)
    0.090333
    """
    a, e, d = _checked(variance, epsilon, dimension)
    return _noise(a / (d * _growth(2 * e / d)), "variance of the noise")


def gaussian_variance_given_secret(
    variance: float, entropy: float, epsilon: float, dimension: int = 1
) -> float:
    """σ² at which Gaussian noise is ε-MI-private when the query is uncertain given the secret.

    max{(A − d e^{2ε/d} B)/(d(e^{2ε/d} − 1)), 0} with B = e^{2h/d − 1}/2π and h the differential
    entropy h(f(X)|g(X), w(X)), or a lower bound on it.

    Source: [NuradhaGoldfeld2023] Theorem 4. The exponent 2h/d − 1 is what the entropy power
    inequality gives; the printed (d/2)h − 1 allows too little noise (for A = .02, a conditional
    variance of .01 and ε = .1 it allows none, at .347 nats).

    >>> h = .5 * math.log(2 * math.pi * math.e * .01)
    >>> round(gaussian_variance_given_secret(.02, h, .1), 5)
    0.03517
    """
    a, e, d = _checked(variance, epsilon, dimension)
    h = real(entropy)
    if not math.isfinite(h):
        raise LevelError(
            "conditional entropy of the query",
            expected="a finite number of nats",
            got=shown(entropy),
            remedy="use gaussian_variance, which needs none",
        )
    growth = _growth(2 * e / d)
    # What is known of B is a lower bound. The quotient falls as the growth rises, unless it is
    # negative throughout, so that a lower bound on the growth is on the safe side as well.
    power = _exp_lower(2 * Fraction(h) / d - 1) / (2 * _PI_ABOVE)
    return _noise(
        max((a - d * (growth + 1) * power) / (d * growth), Fraction(0)), "variance of the noise"
    )


def laplace_scale(deviation: float, epsilon: float, dimension: int = 1) -> float:
    """B at which Laplace noise is ε-MI-private: s/(d(e^{ε/d} − 1)).

    ``deviation`` is the supremum over Θ and w of Σ_j E √Var(f_j(X)|w(X)). Source:
    [NuradhaGoldfeld2023] Remark 6.

    >>> round(laplace_scale(.1, .1), 6)
    0.950833
    """
    s, e, d = _checked(deviation, epsilon, dimension)
    return _noise(s / (d * _growth(e / d)), "scale of the noise")


def gaussian_variance_for_dp(sensitivity: float, epsilon: float, dimension: int = 1) -> float:
    """σ² at which Gaussian noise is ε-MI-differentially private: Δ²/(2d(e^{2ε/d} − 1)).

    ``sensitivity`` is Δ, the largest Euclidean distance of the query on neighbours. Source:
    [NuradhaGoldfeld2023] Corollary 1. By Jung's theorem the query lies within Δ√(d/(2(d + 1))) of a
    point, so that its variance is at most Δ²d/(2(d + 1)): :func:`gaussian_variance` of that is
    smaller, by the factor d/(d + 1), and as good.
    """
    return _noise(_dp_variance(sensitivity, epsilon, dimension), "variance of the noise")


def _dp_variance(sensitivity: Any, epsilon: Any, dimension: Any) -> Fraction:
    delta, e, d = _checked(sensitivity, epsilon, dimension)
    return delta**2 / (2 * d * _growth(2 * e / d))


def classical_gaussian_variance(sensitivity: float, epsilon: float, delta: float) -> float:
    """σ² = 2 log(1.25/δ) Δ²/ε² of the classical (ε, δ)-DP Gaussian mechanism, for ε ≤ 1."""
    return _noise(_classical_variance(sensitivity, epsilon, delta), "variance of the noise")


def _classical_variance(sensitivity: Any, epsilon: Any, delta: Any) -> Fraction:
    width, e, _ = _checked(sensitivity, epsilon, 1)
    chance = real(delta)
    if not 0 < chance < 1 or e > 1:
        raise LevelError(
            "classical Gaussian mechanism",
            expected="ε at most 1 and δ between 0 and 1",
            got=f"ε = {float(e):g}, δ = {shown(delta)}",
            remedy="outside of this the formula proves nothing",
        )
    return 2 * log_bounds(Fraction(5, 4) / Fraction(chance))[1] * width**2 / e**2


def classical_comparison(
    epsilons: ArrayLike, target: float, sensitivity: float = 1.0
) -> list[dict[str, float]]:
    """σ by mutual information beside the classical mechanism, both (ε', √(2ε))-DP at ε' = target.

    One row per MI level ε < 1/2: ``epsilon``, ``delta`` = √(2ε), ``sigma_mi``,
    ``sigma_classical``, ``threshold``, the ε' below which the former is smaller,
    2√((e^{2ε} − 1) log(1.25/√(2ε))) ([NuradhaGoldfeld2023] Remark 4, exact for d = 1).
    """
    rows = []
    levels = reals(epsilons).ravel()
    if not np.isfinite(levels).all():
        raise LevelError(
            "levels of a comparison",
            expected="finite numbers",
            got=shown(epsilons),
            remedy="give for example [0.1, 0.2]",
        )
    for epsilon in levels.tolist():
        e = positive(epsilon, "level")
        delta = math.sqrt(2 * e)
        if delta >= 1:
            raise LevelError(
                "level of a comparison",
                expected="ε below 1/2, so that δ = √(2ε) is below 1",
                got=f"{e:g}",
                remedy="compare at smaller levels",
            )
        rows.append(
            {
                "epsilon": e,
                "delta": delta,
                "sigma_mi": _deviation(_dp_variance(sensitivity, e, 1)),
                "sigma_classical": _deviation(_classical_variance(sensitivity, target, delta)),
                "threshold": 2 * math.sqrt(math.expm1(2 * e) * math.log(1.25 / delta)),
            }
        )
    return rows


# What a query varies by


def query_spread(
    priors: Prior | Iterable[Prior],
    query: Function,
    public: Iterable[Function | None] = (None,),
) -> tuple[float, float]:
    """Sup Σ_j E Var(f_j|w) and sup Σ_j E √Var(f_j|w) over priors and public functions.

    Parameters
    ----------
    priors : Prior, or several
    query : function from label to a number or a vector
    public : functions of a label; ``None`` is the constant one (no public information)

    These are what :func:`gaussian_variance` and :func:`laplace_scale` ask for.
    """
    allowed = [priors] if isinstance(priors, Prior) else priors
    allowed = listed(
        allowed, "priors", "a Prior, or a list of them", remedy="write md.Prior([...], labels)"
    )
    functions = listed(
        public,
        "public functions",
        "a list of functions",
        remedy="write [function], or [None] for none",
    ) or [None]
    spreads, deviations = [Fraction(0)], [Fraction(0)]
    for prior in allowed:
        values = values_of(query, prior)
        # Exact, so that neither a far value nor a rare symbol is rounded away.
        columns = [common_integers(map(Fraction, column)) for column in values.T.tolist()]
        for w in functions:
            spread = deviation = Fraction(0)
            for members in groups_of(prior, w).values():
                p = [prior.weights[x] for x in members]
                mass = sum(p)
                for numbers, unit in columns:
                    x = [numbers[i] for i in members]
                    first = sum(m * v for m, v in zip(p, x, strict=True))
                    second = sum(m * v * v for m, v in zip(p, x, strict=True))
                    # Mass times variance, and mass times deviation, of the members.
                    within = Fraction(mass * second - first**2, mass * unit**2)
                    spread += within
                    deviation += sqrt_upper(within * mass)
            spreads.append(spread / prior.total)
            deviations.append(deviation / prior.total)
    return (
        _noise(max(spreads), "spread of the query"),
        _noise(max(deviations), "spread of the query"),
    )


def values_of(query: Function, prior: Prior) -> NDArray[np.float64]:
    """A row of floats for each symbol; :class:`LevelError` where there is none."""
    checked(prior, Prior, "prior", "write md.Prior([...], labels)", PriorError)
    called(query, "query")
    problem = None
    try:
        values = reals([np.atleast_1d(query(label)) for label in prior.labels])
    except (TypeError, ValueError) as found:
        values, problem = reals(None), found
    if values.ndim != 2 or not np.isfinite(values).all():
        raise LevelError(
            "query",
            expected="a finite number, or vectors of one length, for every symbol",
            got="something else" if values.ndim != 2 else "a number that is not finite",
            remedy="let the function take a label of the prior",
        ) from problem
    return values


def groups_of(prior: Prior, function: Function | None) -> dict[Any, list[int]]:
    """Indices of the support for each value of a function of a label; ``None`` is constant."""
    groups: dict[Any, list[int]] = {}
    if function is not None:
        called(function, "public function")
    for x in prior.support.tolist():
        key = None if function is None else function(prior.labels[x])
        groups.setdefault(key, []).append(x)
    return groups


# What a guarantee implies


def variation_from_information(information: float, first: float, second: float) -> float:
    """An upper bound on the total variation of P(M|g=a, w=c) and P(M|g=b, w=c), at most 1.

    √(I/2p_a) + √(I/2p_b) when I(g(X); M | w(X) = c) ≤ I and the two values have probabilities p_a
    and p_b given c: I is at least p_a D(P_a‖P_M), and Pinsker's inequality applies to each. The
    published √(2ε) ([NuradhaGoldfeld2023] Theorem 1) holds when Θ contains every distribution of
    g(X); for a given Θ it is false (Θ = {Ber(.01)}, M = X: I = .056, total variation 1).
    """
    i = exactly(information, "mutual information", zero=True)
    one, two = real(first), real(second)
    if not (0 < one <= 1 and 0 < two <= 1):
        raise LevelError(
            "probabilities of two values",
            expected="numbers above 0 and up to 1",
            got=f"{shown(first)} and {shown(second)}",
            remedy="values of probability zero are never distinguished",
        )
    parts = (sqrt_upper(i / (2 * Fraction(p))) for p in (one, two))
    return min(1.0, float_at_least(sum(parts, Fraction(0))))


def information_from_approximate(
    epsilon: float, delta: float, values: int, outputs: int | None = None
) -> float:
    """An upper bound on I(g(X); M | w(X)) for every (ε, δ)-Pufferfish-private M.

    2 h_b(δ') + 2δ' log min{outputs, values + 1}, δ' = 1 − 2(1 − δ)/(e^ε + 1)
    ([NuradhaGoldfeld2023] Theorem 1), for δ' up to 1/2, and never above log min{outputs, values},
    the most that the entropies of the two allow.

    >>> round(information_from_approximate(3, .2, 10, 2), 4)
    0.6931
    """
    e, chance = exactly(epsilon, "level", zero=True), real(delta)
    if not 0 <= chance <= 1 or not is_whole(values, 1):
        raise LevelError(
            "approximate level",
            expected="δ from 0 to 1 and at least one value",
            got=f"δ = {shown(delta)}, {shown(values)} values",
            remedy="correct it",
        )
    if outputs is not None and not is_whole(outputs, 1):
        raise LevelError(
            "number of outputs",
            expected="a whole number from 1",
            got=shown(outputs),
            remedy="leave it out when it is not known",
        )
    fewer = int(values) if outputs is None else min(int(outputs), int(values))
    limit = log_bounds(Fraction(fewer))[1]
    share = Fraction(1)
    if e <= LARGEST_LEVEL:
        share -= 2 * (1 - Fraction(chance)) / (exp_bounds(e)[1] + 1)
    if share > Fraction(1, 2):
        return float_at_least(limit)
    most = int(values) + 1 if outputs is None else min(int(outputs), int(values) + 1)
    bound = 2 * _binary_entropy(share) + 2 * share * log_bounds(Fraction(most))[1]
    return float_at_least(min(limit, bound))


def _binary_entropy(share: Fraction) -> Fraction:
    """A rational at least h_b(share), for a share from 0 to 1/2."""
    if share == 0:
        return Fraction(0)
    return share * log_bounds(1 / share)[1] + (1 - share) * log_bounds(1 / (1 - share))[1]


def _checked(size: Any, epsilon: Any, dimension: Any) -> tuple[Fraction, Fraction, int]:
    if not is_whole(dimension, 1):
        raise LevelError(
            "dimension of the query",
            expected="a whole number from 1",
            got=shown(dimension),
            remedy="give the length of the query's vector",
        )
    return (
        exactly(size, "spread of the query", zero=True),
        exactly(epsilon, "level"),
        int(dimension),
    )


def _growth(level: Fraction) -> Fraction:
    """A positive rational at most e^level − 1, next to it unless the level is beyond all floats."""
    return exp_lower(level) - 1


def _exp_lower(level: Fraction) -> Fraction:
    """A rational at most e^level, for a level of either sign."""
    if level >= 0:
        return exp_lower(level)
    return Fraction(0) if -level > LARGEST_LEVEL else 1 / exp_bounds(-level)[1]


def _noise(amount: Fraction, subject: str) -> float:
    """An amount of noise as a float: never less, so that the guarantee that it gives holds."""
    return at_least(
        amount,
        subject,
        expected="a level that noise up to the largest float reaches",
        got="a level that needs more",
        remedy="ask for a larger level, or measure the query in a larger unit",
    )


def _deviation(variance: Fraction) -> float:
    return _noise(sqrt_upper(variance), "standard deviation of the noise")


# The Wasserstein mechanism


def wasserstein_infinity(values: ArrayLike, first: ArrayLike, second: ArrayLike) -> float:
    """W∞ of two laws on the same numbers: the largest distance under the monotone coupling.

    Parameters
    ----------
    values : K finite numbers
    first, second : K non-negative masses each, divided by their sum

    Notes
    -----
    Computed in rationals from the exact values of what is given, and rounded up: an atom of any
    mass, however small, counts. Masses that are no floats, such as thirds, are best given as
    integers or fractions; rounded, two steps that should coincide are apart, and the distance is
    that of the rounded laws, which may be larger.

    Examples
    --------
    >>> wasserstein_infinity([0, 1, 2], [.5, .5, 0], [0, .5, .5])
    1.0
    >>> wasserstein_infinity([0, 100], [1, 0], [1 - 4e-15, 4e-15])
    100.0
    """
    x, a, b = (exact_list(v) for v in (values, first, second))
    if not x or not a or not b or not _are_masses(len(x), a, b):
        raise LevelError(
            "laws on the same numbers",
            expected="finite values, and two lists of as many non-negative masses",
            got=f"{shown(values)}, {shown(first)} and {shown(second)}",
            remedy="give one mass of each law per value",
        )
    return _upward(_farthest(x, a, b), "distance of two laws")


def _are_masses(size: int, *laws: list[Fraction]) -> bool:
    return all(len(law) == size and min(law) >= 0 and sum(law) > 0 for law in laws)


def _farthest(x: list[Fraction], first: list[Fraction], second: list[Fraction]) -> Fraction:
    """W∞ of two laws on the numbers ``x``, exact; the masses need not have sum one."""
    a, b = common_integers(first)[0], common_integers(second)[0]
    # Scaled to one total, so that every step of either distribution function is an integer.
    total_a, total_b = sum(a), sum(b)
    order = sorted(range(len(x)), key=x.__getitem__)
    one = [(x[i], a[i] * total_b) for i in order if a[i]]
    two = [(x[i], b[i] * total_a) for i in order if b[i]]
    # Mass is moved in rising order, as much at a time as both sides have left.
    farthest = Fraction(0)
    i = j = 0
    left, right = one[0][1], two[0][1]
    while True:
        farthest = max(farthest, abs(one[i][0] - two[j][0]))
        moved = min(left, right)
        left, right = left - moved, right - moved
        if not left:
            i += 1
            if i == len(one):
                return farthest
            left = one[i][1]
        if not right:
            j += 1
            right = two[j][1]


def _upward(amount: Fraction, subject: str) -> float:
    return at_least(
        amount,
        subject,
        expected="one that is at most the largest float",
        got="a larger one",
        remedy="measure the query in a larger unit",
    )


def wasserstein_scale(
    prior: Prior, notion: Pufferfish, query: Callable[[Any], float] = float
) -> float:
    """The scale W/ε of the Laplace noise that makes a query ε-Pufferfish private.

    W is the largest W∞ distance of the query's laws given the two secrets of a pair, over pairs and
    priors ([Song2017]), in rationals; the scale is rounded up. It is a baseline:
    :func:`mechdesign.design` finds the best mechanism.

    Parameters
    ----------
    prior : the prior of the design (used when the notion has none of its own)
    notion : Pufferfish, with a positive finite level
    query : function from label to a number; the labels themselves when left out

    Examples
    --------
    >>> import mechdesign as md
    >>> flu = md.Prior([.1, .15, .5, .15, .1])         # how many of four have the flu
    >>> one = md.Pufferfish.of_feature(1.0, md.privacy.databases.entry_of(4))   # whether one has
    >>> wasserstein_scale(flu, one)
    2.0
    """
    checked(prior, Prior, "prior", "write md.Prior([...], labels)", PriorError)
    checked(notion, Pufferfish, "notion", "write md.Pufferfish(epsilon, secrets)")
    called(query, "query")
    epsilon = exactly(notion.epsilon, "level")
    try:
        values = [query(label) for label in prior.labels]
    except (TypeError, ValueError, OverflowError):
        values = [math.nan]
    places = exact_list(values)
    if places is None:
        raise LevelError(
            "query",
            expected="a finite number for every symbol",
            got=f"something else, for one like {shown(prior.labels[0])}",
            remedy="pass query=, a function from label to number",
        )
    apart = (_farthest(places, mine, theirs) for _, _, mine, theirs in notion.hypotheses(prior))
    return _upward(max(apart, default=Fraction(0)) / epsilon, "scale of the noise")
