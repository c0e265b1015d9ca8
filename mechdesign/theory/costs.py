"""Adversaries who fear: cost functions, and wrong guesses of randomised functions of the secret.

Both views give the pointwise maximal cost: the largest factor by which outcome y lowers what an
adversary must expect to pay is e^Λ(X→y), Λ(X→y) = max_x −i(x;y). Sources: [SaeidianPMC] Theorems
1, 2 and 3, Proposition 2 and Section III; [GrosseID] Theorems 2 and 3.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import UtilityError
from ..mechanism import Mechanism
from ..prior import Prior
from .attacks import Attack, check_payoff, check_values, log_ratio, shortfall
from .features import check_feature, shannon_or_zero
from .gains import mixture
from .inputs import masses, number
from .observation import Observation, as_mechanism, as_observation


def cost_leakage(seen: Observation, cost: ArrayLike) -> float:
    """Λ_c: log of the least expected cost before y over the least after, in nats.

    Parameters
    ----------
    seen : from :func:`~mechdesign.theory.observe`
    cost : (N, W) array of non-negative numbers, the cost of guess w for symbol x

    Returns
    -------
    ``inf`` when the outcome makes a guess free; never more than Λ(X→y).

    Raises
    ------
    UtilityError
        For another shape, negative or infinite costs, or costs that are zero before and after.

    Examples
    --------
    >>> import mechdesign as md
    >>> seen = md.theory.observe(md.Mechanism([[.75, .25], [.25, .75]]), md.Prior([.5, .5]), 0)
    >>> round(cost_leakage(seen, [[0, 1], [1, 0]]), 6) == round(seen.cost, 6)
    True
    """
    c = check_payoff(cost, seen, "cost function")
    before, after = float((seen.prior @ c).min()), float((seen.posterior @ c).min())
    return log_ratio(before, after, "cost function")


def worst_cost(seen: Observation) -> NDArray[np.float64]:
    """The cost 1{x = w}/P(x), ``(N, n)`` with one guess per symbol of positive mass.

    Before y every guess costs 1, after y the cheapest costs the smallest lift: it attains Λ(X→y)
    for every outcome y at once, and the maximal cost leakage on average over Y.
    """
    live = as_observation(seen).support
    cost = np.zeros((len(seen.prior), len(live)))
    cost[live, np.arange(len(live))] = 1 / seen.prior[live]
    return cost


def partition_cost(seen: Observation, step: float) -> NDArray[np.float64]:
    """The cost 1{x in D_w}/P(D_w), D_w the symbols with P(x)/P(x|y) from e^{w·step} to a step more.

    The construction in the proof of [SaeidianPMC] Theorem 3, which carries over to secrets of any
    kind: it comes within ``step`` nats of Λ(X→y). An infinite ratio is a cell of its own. Raises
    :class:`UtilityError` unless the step is positive.
    """
    step = number(step, "step of a partition", 0, math.inf, ends="()", error=UtilityError)
    lift = as_observation(seen).lift
    cells: dict[float, list[int]] = {}
    for x in seen.support:
        ratio = math.inf if lift[x] == 0 else -math.log(lift[x]) / step
        cells.setdefault(ratio if ratio == math.inf else math.floor(ratio), []).append(int(x))
    cost = np.zeros((len(seen.prior), len(cells)))
    for w, members in enumerate(cells.values()):
        cost[members, w] = 1 / seen.prior[members].sum()
    return cost


def miss_leakage(seen: Observation, feature: Mechanism) -> float:
    """Λ_U: log P(guess U wrong) − log P(guess U wrong | y), for the best guesses, in nats.

    Raises :class:`UtilityError` for a feature that is constant before and after y.
    """
    return cost_leakage(seen, cost_of_feature(check_feature(feature, as_observation(seen))))


def worst_miss(seen: Observation, splits: int | None = None) -> Attack:
    """A feature whose wrong guesses y makes rarer by the factor e^Λ(X→y).

    Parameters
    ----------
    splits : k, optional
        When left out, a feature with two values: 1 with probability ½ at the symbol x* of smallest
        lift, else 0. Guessing 0 is best before and after y, and is wrong with probability P(x*)/2
        and P(x*|y)/2, so Λ(X→y) is attained; no limit is needed.
        With k, the construction in the proof of Theorem 1 of [SaeidianPMC]: x* is split evenly
        into k values, and the others share one. It attains Λ(X→y) from k ≥ P(x*)/(1 − P(x*)) on;
        below, the error is stated.

    Examples
    --------
    >>> import mechdesign as md
    >>> seen = md.theory.observe(md.Mechanism([[.9, .1], [.1, .9]]), md.Prior([.75, .25]), 1)
    >>> worst_miss(seen)
    Attack(2 values, attained 1.09861 of 1.09861 nats)
    >>> worst_miss(seen, 1)
    Attack(2 values, attained 0 of 1.09861 nats)
    """
    n = len(as_observation(seen).prior)
    if len(seen.support) == 1:
        constant = Mechanism(np.ones((n, 1)), seen.symbols)
        return Attack(constant, 0.0, seen.cost, 0.0)
    star = seen.support[seen.lift[seen.support].argmin()]
    if splits is None:
        table = np.zeros((n, 2))
        table[:, 0] = 1
        table[star] = 0.5
    else:
        k = check_values(splits, "number of splits")
        table = np.zeros((n, k + 1))
        table[:, k] = 1
        table[star] = [*[1 / k] * k, 0]
    feature = Mechanism(table, seen.symbols, normalise=True)
    attained = miss_leakage(seen, feature)
    return Attack(feature, attained, seen.cost, shortfall(seen.cost, attained))


def cost_of_feature(feature: Mechanism) -> NDArray[np.float64]:
    """The cost 1 − P(u|x), ``(N, U)``: its Λ_c is Λ_U ([SaeidianPMC] Theorem 2)."""
    table = as_mechanism(feature, "feature").kernel
    cost = 1 - table
    for x, u in np.argwhere(table > 0.5):
        # Summed from the other values, so that a cost next to zero keeps its digits.
        cost[x, u] = table[x, :u].sum() + table[x, u + 1 :].sum()
    return cost


def feature_of_cost(seen: Observation, cost: ArrayLike) -> Mechanism:
    """A feature with Λ_U = Λ_c for one outcome y ([SaeidianPMC] Theorem 2; [GrosseID] Theorem 3).

    Two values are enough and nothing is taken to a limit: with f the mixture of the costs of the
    best guesses before and after y whose expectations have the ratio of the two optima, the
    feature is 1 with probability f(x)/(2 max f), else 0, and 0 is the best guess throughout. Where
    Λ_c is infinite, the feature is 1 only where the best guess after y costs something.

    Raises :class:`UtilityError` as :func:`cost_leakage` does, and where the cost is zero before y
    but not after it: then Λ_c is minus infinity.
    """
    c = check_payoff(cost, seen, "cost function")
    target = cost_leakage(seen, c)
    if target == -math.inf:
        raise UtilityError(
            "cost function",
            expected="a positive cost before the outcome",
            got="zero for some guess",
            remedy="no feature that is constant before the outcome varies after it",
        )
    first, last = c[:, int((seen.prior @ c).argmin())], c[:, int((seen.posterior @ c).argmin())]
    if target == math.inf:
        mixed = (last > 0).astype(float)
    else:
        mixed = mixture(seen, first, last, float((seen.posterior @ last) / (seen.prior @ first)))
    mixed = mixed / (2 * mixed[seen.support].max())
    mixed[seen.prior == 0] = 0
    return Mechanism(np.column_stack([1 - mixed, mixed]), seen.symbols)


def reduced_cost(feature: Mechanism, cost: ArrayLike) -> NDArray[np.float64]:
    """The cost E[c(U, w) | X = x] of guessing a feature as a cost on the secret, ``(N, W)``.

    It has the same expectations before and after every outcome, so features add nothing to the
    cost-function view ([SaeidianPMC] Proposition 2).
    """
    feature = as_mechanism(feature, "feature")
    c = check_payoff(cost, feature.shape[1], "cost function of the feature")
    reduced: NDArray[np.float64] = feature.kernel @ c
    return reduced


# Named costs


def alpha_loss(distribution: ArrayLike, alpha: float) -> float:
    """Least expected α-loss of someone who knows only a distribution ([SaeidianPMC] Example 2).

    α/(α−1)·(1 − ‖p‖_α) for 1 < α < ∞, the Shannon entropy at α = 1 and 1 − max p at α = ∞. The best
    answer is the distribution proportional to p^α. Raises :class:`UtilityError` for α below one.

    >>> alpha_loss([.5, .5], math.inf), round(alpha_loss([.5, .5], 2), 6)
    (0.5, 0.585786)
    """
    p = masses(distribution)
    alpha = number(alpha, "order of an α-loss", 1, math.inf, error=UtilityError)
    top = float(p.max())
    missing = float(np.delete(p, p.argmax()).sum())
    if alpha == math.inf:
        return missing
    if alpha == 1:
        return shannon_or_zero(p)
    # log ‖p‖_α = log max p + (1/α) log Σ (p/max p)^α, the sum's first term being one.
    tail = float(((np.delete(p, p.argmax()) / top) ** alpha).sum())
    log_top = math.log1p(-missing) if missing < 0.5 else math.log(top)
    return -alpha / (alpha - 1) * math.expm1(log_top + math.log1p(tail) / alpha)


def alpha_leakage(seen: Observation, alpha: float) -> float:
    """Log of the least expected α-loss before y over that after; never more than Λ(X→y)."""
    before, after = alpha_loss(as_observation(seen).prior, alpha), alpha_loss(seen.posterior, alpha)
    return log_ratio(before, after, "α-loss")


def power_loss(distribution: ArrayLike, values: ArrayLike, power: float) -> float:
    """inf_w E|X − w|^power for a real-valued secret ([SaeidianPMC] Example 1); power at least 1.

    The mean is best at power 2, the median at 1. Raises :class:`UtilityError` for a power below
    one or values that do not fit.
    """
    p = masses(distribution)
    unit, span = _unit_values(p, values, power)
    with np.errstate(over="ignore"):
        return _unit_loss(p, unit, power) * float(np.float64(span) ** power)


def power_leakage(seen: Observation, values: ArrayLike, power: float = 2.0) -> float:
    """Log of the least E|X − w|^power before y over that after; never more than Λ(X→y)."""
    # The unit of the values does not matter; between 0 and 1 no power of them overflows.
    unit, _ = _unit_values(as_observation(seen).prior, values, power)
    before, after = (_unit_loss(d, unit, power) for d in (seen.prior, seen.posterior))
    return log_ratio(before, after, "distance")


def _unit_values(
    p: NDArray[np.float64], values: ArrayLike, power: float
) -> tuple[NDArray[np.float64], float]:
    """Values moved and scaled to [0, 1] on the support, and how long the unit was."""
    try:
        v = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        v = np.zeros(0)
    if v.shape != p.shape or not np.isfinite(v).all():
        raise UtilityError(
            "values of the symbols",
            expected=f"{len(p)} finite numbers",
            got=f"shape {v.shape}" if v.shape != p.shape else "numbers that are not finite",
            remedy="give one number per symbol",
        )
    number(power, "power of a distance", 1, math.inf, ends="[)", error=UtilityError)
    halves = np.where(p > 0, v, v[p > 0][0]) / 2
    span = float(halves.max() - halves.min())
    unit = (halves - halves.min()) / span if span > 0 else np.zeros(len(p))
    return unit, 2 * span


def _unit_loss(p: NDArray[np.float64], v: NDArray[np.float64], power: float) -> float:
    from scipy.optimize import brentq

    p, v = p[p > 0], v[p > 0]
    if len(set(v)) == 1:
        return 0.0
    if power == 1:
        return float(min(p @ np.abs(v - w) for w in v))
    if power == 2:
        return float(p @ (v - p @ v) ** 2)

    def slope(w: float) -> float:
        away = w - v
        return float(p @ (np.sign(away) * np.abs(away) ** (power - 1)))

    best = brentq(slope, float(v.min()), float(v.max()), xtol=1e-15)
    return float(p @ np.abs(v - best) ** power)


# On average over outcomes, and for the worst of them


def average_cost_leakage(mechanism: Mechanism, prior: Prior, cost: ArrayLike) -> float:
    """Log of the least expected cost before Y over that of the best rule ŵ(Y), in nats.

    What one cost contributes to maximal cost leakage ([SaeidianPMC] Definition 8).
    """
    mechanism = as_mechanism(mechanism)
    joint = mechanism.joint(prior)
    c = check_payoff(cost, len(prior), "cost function")
    after = float((joint.T @ c).min(axis=1).sum())
    return log_ratio(float((prior.probabilities @ c).min()), after, "cost function")


def maximal_cost_leakage(mechanism: Mechanism, prior: Prior) -> float:
    """−log Σ_y min_x P(y|x), x over the support, in nats ([Issa2020]; [SaeidianPMC] Section III-C).

    It equals −log E[exp(−Λ(X→Y))], so it is at most E[Λ(X→Y)], with equality when all outcomes have
    one PMC (binary randomised response with a uniform prior), and at most
    :func:`maximal_realizable_cost`. ``inf`` when every outcome rules some symbol out.
    """
    mechanism = as_mechanism(mechanism)
    mechanism.check_prior(prior)
    total = math.fsum(mechanism.kernel[prior.support].min(axis=0))
    return max(0.0, -math.log(total)) if total > 0 else math.inf


def maximal_realizable_cost(mechanism: Mechanism, prior: Prior) -> float:
    """D∞(P_X×P_Y ‖ P_XY) = max_y Λ(X→y) in nats ([Issa2020]; [SaeidianPMC] Section III-C)."""
    costs, q = outcome_costs(mechanism, prior)
    return float(costs[q > 0].max())


def expected_cost(mechanism: Mechanism, prior: Prior) -> float:
    """E[Λ(X→Y)] in nats: the PMC of the outcome, on average."""
    costs, q = outcome_costs(mechanism, prior)
    return float(q[q > 0] @ costs[q > 0])


def outcome_costs(
    mechanism: Mechanism, prior: Prior
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Λ(X→y) and P(Y=y) for every outcome, two ``(M,)`` arrays."""
    mechanism = as_mechanism(mechanism)
    q = mechanism.output_distribution(prior)
    low = mechanism.kernel[prior.support].min(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        costs = np.where(q > 0, np.maximum(np.log(q) - np.log(low), 0.0), 0.0)
    return costs, q
