"""Noise for Pufferfish privacy: how much of it keeps mutual information, and what that implies.

The framework is that of [NuradhaGoldfeld2023]: a query f(X) in ℝ^d, private functions g, public
functions w, priors Θ; M = f(X) + Z is ε-MI-private when I(g(X); M | w(X)) ≤ ε for all of them. The
published statements are used in their corrected form where they need one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import LevelError, PriorError, UnknownNameError
from ..prior import Prior
from .checking import called, checked, listed, real, reals, shown, whole
from .laws import positive

Function = Callable[[Any], Any]


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
    return a / (d * math.expm1(2 * e / d))


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
    if not math.isfinite(real(entropy)):
        raise LevelError(
            "conditional entropy of the query",
            expected="a finite number of nats",
            got=repr(entropy),
            remedy="use gaussian_variance, which needs none",
        )
    b = math.exp(2 * entropy / d - 1) / (2 * math.pi)
    return max((a - d * math.exp(2 * e / d) * b) / (d * math.expm1(2 * e / d)), 0.0)


def laplace_scale(deviation: float, epsilon: float, dimension: int = 1) -> float:
    """B at which Laplace noise is ε-MI-private: s/(d(e^{ε/d} − 1)).

    ``deviation`` is the supremum over Θ and w of Σ_j E √Var(f_j(X)|w(X)). Source:
    [NuradhaGoldfeld2023] Remark 6.

    >>> round(laplace_scale(.1, .1), 6)
    0.950833
    """
    s, e, d = _checked(deviation, epsilon, dimension)
    return s / (d * math.expm1(e / d))


def gaussian_variance_for_dp(sensitivity: float, epsilon: float, dimension: int = 1) -> float:
    """σ² at which Gaussian noise is ε-MI-differentially private: Δ²/(2d(e^{2ε/d} − 1)).

    ``sensitivity`` is Δ, the largest Euclidean distance of the query on neighbours. Source:
    [NuradhaGoldfeld2023] Corollary 1. In one dimension the variance of a bounded query is at most
    Δ²/4, so :func:`gaussian_variance` of that halves it.
    """
    delta, e, d = _checked(sensitivity, epsilon, dimension)
    return delta**2 / (2 * d * math.expm1(2 * e / d))


def classical_gaussian_variance(sensitivity: float, epsilon: float, delta: float) -> float:
    """σ² = 2 log(1.25/δ) Δ²/ε² of the classical (ε, δ)-DP Gaussian mechanism, for ε ≤ 1."""
    width, e, _ = _checked(sensitivity, epsilon, 1)
    if not 0 < real(delta) < 1 or e > 1:
        raise LevelError(
            "classical Gaussian mechanism",
            expected="ε at most 1 and δ between 0 and 1",
            got=f"ε = {e:g}, δ = {delta!r}",
            remedy="outside of this the formula proves nothing",
        )
    return 2 * math.log(1.25 / delta) * width**2 / e**2


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
                "sigma_mi": math.sqrt(gaussian_variance_for_dp(sensitivity, e)),
                "sigma_classical": math.sqrt(
                    classical_gaussian_variance(sensitivity, target, delta)
                ),
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
    thetas = [priors] if isinstance(priors, Prior) else priors
    thetas = listed(thetas, "priors", "a Prior, or a list of them", "write md.Prior([...], labels)")
    functions = listed(
        public, "public functions", "a list of functions", "write [function], or [None] for none"
    ) or [None]
    spreads, deviations = [0.0], [0.0]
    for prior in thetas:
        values = _values(query, prior)
        for w in functions:
            groups = _groups(prior, w)
            variances = np.zeros((len(groups), values.shape[1]))
            masses = np.zeros(len(groups))
            for i, members in enumerate(groups.values()):
                p = prior.probabilities[members]
                masses[i] = p.sum()
                centred = values[members] - (p @ values[members]) / masses[i]
                variances[i] = p @ centred**2 / masses[i]
            spreads.append(float(masses @ variances.sum(axis=1)))
            deviations.append(float(masses @ np.sqrt(variances).sum(axis=1)))
    return max(spreads), max(deviations)


def _values(query: Function, prior: Prior) -> NDArray[np.float64]:
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


def _groups(prior: Prior, function: Function | None) -> dict[Any, list[int]]:
    groups: dict[Any, list[int]] = {}
    if function is not None:
        called(function, "public function")
    for x in prior.support.tolist():
        key = None if function is None else function(prior.labels[x])
        groups.setdefault(key, []).append(x)
    return groups


def noisy_information(
    prior: Prior,
    query: Function,
    private: Function,
    noise: tuple[str, float],
    public: Function | None = None,
    steps: int = 20_000,
) -> float:
    """I(g(X); f(X) + Z | w(X)) in nats for Laplace or Gaussian noise on a number, by integration.

    A trapezoidal sum over ``steps`` points from 40 deviations below the least value of the query
    to 40 above the largest, for checks and plots; no sampling is involved.
    """
    from scipy.integrate import trapezoid

    kind, scale = noise if isinstance(noise, (tuple, list)) and len(noise) == 2 else (noise, 1.0)
    called(private, "private function")
    if not whole(steps, 2):
        raise LevelError(
            "steps of the integration",
            expected="a whole number from 2",
            got=shown(steps),
            remedy="leave it out for 20000",
        )
    if kind not in ("laplace", "gaussian"):
        raise UnknownNameError("noise", kind, ["laplace", "gaussian"])
    scale = positive(scale, "scale of the noise")
    values = _values(query, prior)[:, 0]
    grid = np.linspace(values.min() - 40 * scale, values.max() + 40 * scale, steps)
    apart = np.abs(grid[None, :] - values[:, None]) / scale
    rows = np.exp(-apart) / (2 * scale)
    if kind == "gaussian":
        rows = np.exp(-(apart**2) / 2) / (scale * math.sqrt(2 * math.pi))
    total = 0.0
    for members in _groups(prior, public).values():
        parts: dict[Any, NDArray[np.float64]] = {}
        for x in members:
            key = private(prior.labels[x])
            term = prior.probabilities[x] * np.append(rows[x], 1.0)
            parts[key] = parts.get(key, 0.0) + term
        joint = np.sum(list(parts.values()), axis=0)
        for part in parts.values():
            with np.errstate(divide="ignore", invalid="ignore"):
                log = np.log(part[:-1] / part[-1]) - np.log(joint[:-1] / joint[-1])
                terms = np.where(part[:-1] > 0, part[:-1] * log, 0.0)
            total += float(trapezoid(terms, grid))
    return max(total, 0.0)


# What a guarantee implies


def variation_from_information(information: float, first: float, second: float) -> float:
    """An upper bound on the total variation of P(M|g=a, w=c) and P(M|g=b, w=c), at most 1.

    √(I/2p_a) + √(I/2p_b) when I(g(X); M | w(X) = c) ≤ I and the two values have probabilities p_a
    and p_b given c: I is at least p_a D(P_a‖P_M), and Pinsker's inequality applies to each. The
    published √(2ε) ([NuradhaGoldfeld2023] Theorem 1) holds when Θ contains every distribution of
    g(X); for a given Θ it is false (Θ = {Ber(.01)}, M = X: I = .056, total variation 1).
    """
    i = positive(information, "mutual information", zero=True)
    if not (0 < real(first) <= 1 and 0 < real(second) <= 1):
        raise LevelError(
            "probabilities of two values",
            expected="numbers above 0 and up to 1",
            got=f"{first!r} and {second!r}",
            remedy="values of probability zero are never told apart",
        )
    return min(1.0, math.sqrt(i / (2 * first)) + math.sqrt(i / (2 * second)))


def information_from_approximate(
    epsilon: float, delta: float, values: int, outputs: int | None = None
) -> float:
    """An upper bound on I(g(X); M | w(X)) for every (ε, δ)-Pufferfish-private M.

    2 h_b(δ') + 2δ' log min{outputs, values + 1}, δ' = 1 − 2(1 − δ)/(e^ε + 1)
    ([NuradhaGoldfeld2023] Theorem 1), for δ' up to 1/2, and never above log of ``values``.
    """
    e = positive(epsilon, "level", zero=True)
    if not 0 <= real(delta) <= 1 or not whole(values):
        raise LevelError(
            "approximate level",
            expected="δ from 0 to 1 and at least one value",
            got=f"δ = {delta!r}, {values} values",
            remedy="correct it",
        )
    if outputs is not None and not whole(outputs):
        raise LevelError(
            "number of outputs",
            expected="a whole number from 1",
            got=shown(outputs),
            remedy="leave it out when it is not known",
        )
    share = 1 - 2 * (1 - delta) / (math.exp(e) + 1)
    limit = math.log(values)
    if share > 0.5:
        return limit
    binary = 0.0 if share <= 0 else -share * math.log(share) - (1 - share) * math.log1p(-share)
    most = values + 1 if outputs is None else min(outputs, values + 1)
    return min(limit, 2 * binary + 2 * max(share, 0.0) * math.log(most))


def _checked(size: float, epsilon: float, dimension: int) -> tuple[float, float, int]:
    if not whole(dimension):
        raise LevelError(
            "dimension of the query",
            expected="a whole number from 1",
            got=repr(dimension),
            remedy="give the length of the query's vector",
        )
    return (
        positive(size, "spread of the query", zero=True),
        positive(epsilon, "level"),
        int(dimension),
    )
