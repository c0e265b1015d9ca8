"""Adversaries: what one outcome gives to those who maximise a gain or minimise a cost.

The largest factor by which outcome y raises what a gain adversary can expect is e^ℓ(X→y),
ℓ(X→y) = max_x i(x;y), whether they have a gain function or guess a feature; the largest factor by
which it lowers what a cost adversary must expect to pay is e^Λ(X→y), Λ(X→y) = max_x −i(x;y),
whether they have a cost function, guess a feature wrong, or count guesses. Every leakage here comes
with the construction that attains it, or with its error. Sources: [Saeidian2023PML] Theorems 1 and
2; [SaeidianPMC] Theorems 1, 2 and 3, Proposition 2 and Section III; [GrosseID] Theorems 2 and 3;
[SaeidianDisclosure] Definition 2.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import KernelError, UtilityError, quote
from ..labels import Label, counted
from ..mechanism import Mechanism, mechanism_of
from ..prior import Prior
from ..privacy.features import channel_of
from .leakage import condition, outcome_leakage, output_position
from .validation import masses, number, whole

#: Features with more values than this are not built unless asked for.
_MOST_VALUES = 10_000
# Features with more values than this are not built at all.
_MOST_ASKED = 1_000_000
_LARGEST_ALPHABET = 7
_MOST_SUMMED = 1_000_000
_MOST_SPLITS = 10**300
# Powers of ranks beyond e^this are no floats.
_LARGEST_LOG = 700.0


# One outcome


@dataclass(frozen=True, eq=False)
class Observation:
    """What an adversary knows before and after one outcome y.

    Attributes
    ----------
    outcome : label of y
    symbols : labels of the N symbols
    prior : (N,) masses before y (given the side information, when there is some)
    likelihood : (N,) P(y|x)
    posterior : (N,) masses after y; the prior when y has probability zero
    """

    outcome: Label
    symbols: tuple[Label, ...]
    prior: NDArray[np.float64]
    likelihood: NDArray[np.float64]
    posterior: NDArray[np.float64]

    @property
    def support(self) -> NDArray[np.intp]:
        """Positions of the symbols with positive prior mass."""
        return np.flatnonzero(self.prior > 0)

    @property
    def probability(self) -> float:
        """P(Y = y)."""
        return float(self.prior @ self.likelihood)

    @property
    def lift(self) -> NDArray[np.float64]:
        """P(x|y)/P(x), ``(N,)``; 1 for symbols or outcomes of probability zero."""
        lift = np.ones(len(self.prior))
        q = self.probability
        if q > 0:
            lift[self.support] = self.likelihood[self.support] / q
        return lift

    @property
    def leakage(self) -> float:
        """ℓ(X→y) = D∞(posterior ‖ prior) in nats ([Saeidian2023PML] Theorem 1)."""
        return max(0.0, math.log(self.lift[self.support].max()))

    @property
    def cost(self) -> float:
        """Λ(X→y) = D∞(prior ‖ posterior) in nats; may be infinite ([SaeidianPMC] Theorem 1)."""
        low = float(self.lift[self.support].min())
        return math.inf if low == 0 else max(0.0, -math.log(low))


def observe(
    mechanism: Mechanism, prior: Prior, outcome: Any, *, given: tuple[Mechanism, Any] | None = None
) -> Observation:
    """What outcome y of a mechanism tells someone who holds a prior.

    Parameters
    ----------
    mechanism : the kernel P(Y|X), or a design
    prior : over the mechanism's inputs
    outcome : label of an output
    given : (channel, z), optional
        Side information known before: outcome z of another channel P(Z|X), with Z independent of Y
        given X. What is measured is then conditional leakage ([SaeidianPMC] Corollary 2;
        [SaeidianDisclosure] Definition 2.5). For a second mechanism that depends on z, pass the
        one that z selects.

    Raises
    ------
    KernelError
        When the prior is over other symbols, or no output bears the label.

    Examples
    --------
    >>> flip = Mechanism([[.75, .25], [.25, .75]])
    >>> seen = observe(flip, Prior([.5, .5]), 0)
    >>> round(seen.leakage, 4), round(seen.cost, 4)
    (0.4055, 0.6931)
    """
    mechanism = mechanism_of(mechanism)
    mechanism.check_prior(prior)
    if given is not None:
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            raise KernelError(
                "side information",
                expected="a channel and one of its outcomes",
                got=type(given).__name__,
                remedy="write given=(channel, z)",
            )
        prior = condition(prior, *given)
    y = output_position(mechanism, outcome)
    p = prior.probabilities
    likelihood = mechanism.kernel[:, y]
    q = float(p @ likelihood)
    posterior = p * likelihood / q if q > 0 else p
    return Observation(mechanism.outputs[y], mechanism.inputs, p, likelihood, posterior)


def _as_observation(value: Any) -> Observation:
    """An observation; raises :class:`UtilityError` for anything else."""
    if not isinstance(value, Observation):
        raise UtilityError(
            "outcome of a mechanism",
            expected="an Observation",
            got=type(value).__name__,
            remedy="use theory.observe(mechanism, prior, outcome)",
        )
    return value


# What a construction attains


@dataclass(frozen=True, eq=False)
class Attack:
    """A feature of the secret built so that one outcome leaks as much as possible about it.

    Attributes
    ----------
    feature : channel P(U|X) of the feature the adversary goes after
    attained : what the outcome leaks to this adversary, in nats
    supremum : what it leaks to the worst adversary of the kind
    error : ``supremum - attained``, from the closed form of the construction; 0 where the
        construction attains the supremum, ``inf`` where no finite feature does
    """

    feature: Mechanism
    attained: float
    supremum: float
    error: float

    def __repr__(self) -> str:
        return (
            f"Attack({counted(self.feature.shape[1], 'value')}, attained {self.attained:.6g} of "
            f"{self.supremum:.6g} nats)"
        )


def _shortfall(supremum: float, attained: float) -> float:
    """How far an attack stays below its supremum; rounding does not make it negative."""
    return math.inf if supremum == math.inf > attained else max(0.0, supremum - attained)


def _check_values(value: Any, subject: str) -> int:
    """How many values a constructed feature has: 1 up to a million, or a :class:`UtilityError`."""
    return whole(value, subject, 1, _MOST_ASKED, error=UtilityError)


def _check_payoff(matrix: ArrayLike, seen: Observation | int, subject: str) -> NDArray[np.float64]:
    """An ``(N, W)`` array of finite non-negative numbers, or a :class:`UtilityError`."""
    size = seen if isinstance(seen, int) else len(_as_observation(seen).prior)
    try:
        found = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros(0)
    if found.ndim != 2 or found.shape[0] != size or found.shape[1] == 0:
        raise UtilityError(
            subject,
            expected=f"an array with {size} rows (symbols) and one column per guess",
            got=f"shape {found.shape}",
            remedy="give one row per symbol",
        )
    if not (np.isfinite(found).all() and (found >= 0).all()):
        bad = found[~(np.isfinite(found) & (found >= 0))][0]
        raise UtilityError(
            subject,
            expected="finite non-negative numbers",
            got=str(bad),
            remedy="the theory covers non-negative payoffs only; shift them",
        )
    return found


def _log_ratio(top: float, low: float, subject: str) -> float:
    """Log of a ratio of two expected payoffs; raises where both are zero."""
    if top == 0 and low == 0:
        raise UtilityError(
            subject,
            expected="an adversary whose expected payoff is positive before or after the outcome",
            got="zero for both",
            remedy="give it a positive payoff for some symbol of positive mass",
        )
    if low == 0:
        return math.inf
    return -math.inf if top == 0 else math.log(top) - math.log(low)


def _too_many(values: float) -> KernelError:
    """The error for a construction that needs more values than can be built."""
    return KernelError(
        "worst-case feature",
        expected=f"at most {_MOST_VALUES} values",
        got=f"a construction with {values:.3g}",
        remedy="name a number of values; the attack then states its error",
    )


# Gain adversaries


def gain_leakage(seen: Observation, gain: ArrayLike) -> float:
    """Log of the best expected gain after y over the best before, in nats.

    Parameters
    ----------
    seen : the outcome, from :func:`~mechdesign.theory.observe`
    gain : (N, W) array of non-negative numbers, the gain of guess w for symbol x

    Raises
    ------
    UtilityError
        For another shape, negative or infinite gains, or gains that are zero on the support.

    Examples
    --------
    >>> import mechdesign as md
    >>> seen = md.theory.observe(md.Mechanism([[.75, .25], [.25, .75]]), md.Prior([.5, .5]), 0)
    >>> round(gain_leakage(seen, [[1, 0], [0, 1]]), 6) == round(seen.leakage, 6)
    True
    """
    g = _check_payoff(gain, seen, "gain function")
    after, before = float((seen.posterior @ g).max()), float((seen.prior @ g).max())
    return _log_ratio(after, before, "gain function")


def worst_gain(seen: Observation) -> NDArray[np.float64]:
    """The gain 1{x = w}/P(x), ``(N, N)``: it attains ℓ(X→y) for every outcome y at once.

    Before y every guess has expected gain 1; after y the best has the largest lift.
    """
    seen = _as_observation(seen)
    gain = np.zeros((len(seen.prior), len(seen.prior)))
    live = seen.support
    gain[live, live] = 1 / seen.prior[live]
    return gain


def guess_leakage(seen: Observation, feature: Mechanism) -> float:
    """Log P(guess U right | y) − log P(guess U right), for the best guesses ([SaeidianPMC] Def 3).

    Never more than ℓ(X→y); negative where y makes U harder to guess.
    """
    table = channel_of(feature, _as_observation(seen).symbols).kernel
    after, before = (seen.posterior @ table).max(), (seen.prior @ table).max()
    return _log_ratio(float(after), float(before), "feature")


def worst_guess(seen: Observation, values: int | None = None) -> Attack:
    """The feature with a given number of values whose guessing gains most from y.

    Value 0 takes the symbols of largest lift, up to mass 1/B, the symbol at the edge in part; all
    else is shared evenly among the other B − 1 values, so that before y all guesses are equally
    good. No feature with at most B values leaks more: with G(m) the most posterior mass that
    prior mass m can have, the leakage is log G(m)/m for the largest prior mass m ≥ 1/B of a value
    at best, and G(m)/m does not increase. From B ≥ 1/P(symbols of largest lift) on, the leakage
    ℓ(X→y) itself is attained; no limit is needed.

    Parameters
    ----------
    values : B, optional
        As many as attain ℓ(X→y) when left out; raises :class:`KernelError` when that is more
        than 10,000.

    Examples
    --------
    >>> import mechdesign as md
    >>> seen = md.theory.observe(md.Mechanism([[.9, .1], [.1, .9]]), md.Prior([.75, .25]), 1)
    >>> worst_guess(seen)
    Attack(4 values, attained 1.09861 of 1.09861 nats)
    >>> worst_guess(seen, 2)
    Attack(2 values, attained 0.510826 of 1.09861 nats)
    """
    seen = _as_observation(seen)
    lift = seen.lift
    top = np.isclose(lift, lift[seen.support].max(), rtol=1e-12, atol=0) & (seen.prior > 0)
    if values is None:
        need = 1 / float(seen.prior[top].sum())
        if need > _MOST_VALUES:
            raise _too_many(need)
        # Rounding must not ask for one value more than the mass allows.
        values = max(1, math.ceil(need * (1 - 1e-12)))
    count = _check_values(values, "number of values")
    share = _greedy(seen.prior, lift, 1 / count)
    table = np.empty((len(share), count))
    table[:, 0] = share
    if count > 1:
        table[:, 1:] = ((1 - share) / (count - 1))[:, None]
    attained = max(0.0, math.log(float(share @ seen.posterior) / float(share @ seen.prior)))
    feature = Mechanism(table, seen.symbols, normalise=True)
    return Attack(feature, attained, seen.leakage, _shortfall(seen.leakage, attained))


def _greedy(prior: NDArray[np.float64], lift: NDArray[np.float64], mass: float) -> Any:
    """Shares of the symbols that fill a prior mass in the order of falling lift."""
    share, left = np.zeros(len(prior)), mass
    for x in np.argsort(-lift, kind="stable"):
        if prior[x] > 0:
            share[x] = min(1.0, left / prior[x])
            left = max(0.0, left - share[x] * prior[x])
    return share


def gain_of_feature(feature: Mechanism) -> NDArray[np.float64]:
    """The gain P(u|x): what it leaks is what guessing U leaks ([Saeidian2023PML] Theorem 2)."""
    return np.array(mechanism_of(feature, "feature").kernel)


def feature_of_gain(seen: Observation, gain: ArrayLike) -> Mechanism:
    """A feature whose guessing leaks exactly as much through y as a gain function does.

    The converse half of [Saeidian2023PML] Theorem 2, at a finite number of values. Between the
    best guess before y and the best after y there is a mixture of the two gains whose ratio of
    expectations is that of the two optima; value 0 of the feature has this gain, scaled, as its
    probability, and the rest is spread so thin that it is never guessed.

    Raises
    ------
    UtilityError
        As :func:`gain_leakage`, and when the gain is zero after y: some value of a feature always
        has positive probability, so no feature has leakage minus infinity.
    KernelError
        When the spread needs more than 10,000 values.
    """
    seen = _as_observation(seen)
    g = _check_payoff(gain, seen, "gain function")
    target = gain_leakage(seen, g)
    if target == -math.inf:
        raise UtilityError(
            "gain function",
            expected="a positive gain after the outcome",
            got="zero for every guess",
            remedy="no feature has leakage minus infinity",
        )
    first = g[:, int((seen.prior @ g).argmax())]
    last = g[:, int((seen.posterior @ g).argmax())]
    mixed = _mixture(seen, first, last, float((seen.posterior @ last) / (seen.prior @ first)))
    mixed = mixed / mixed[seen.support].max()
    mixed[seen.prior == 0] = 0
    least = min(float(seen.prior @ mixed), float(seen.posterior @ mixed))
    spread = max(1.0, math.ceil((1 - least) / least))
    if spread >= _MOST_VALUES:
        raise _too_many(spread + 1)
    table = np.column_stack([mixed, *[(1 - mixed) / spread] * int(spread)])
    return Mechanism(table, seen.symbols, normalise=True)


def _mixture(
    seen: Observation, first: NDArray[np.float64], last: NDArray[np.float64], ratio: float
) -> NDArray[np.float64]:
    """The mixture f of two payoffs with E[f|y]/E[f] equal to a ratio between those of the two."""
    # r(f) = E[f|y] − ratio·E[f] is linear in f and has different signs at the two ends.
    r_first = float(seen.posterior @ first - ratio * (seen.prior @ first))
    r_last = float(seen.posterior @ last - ratio * (seen.prior @ last))
    share = 0.0 if r_last == r_first else min(1.0, max(0.0, r_last / (r_last - r_first)))
    return share * first + (1 - share) * last


# Cost adversaries


def cost_leakage(seen: Observation, cost: ArrayLike) -> float:
    """Λ_c: log of the least expected cost before y over the least after, in nats.

    Parameters
    ----------
    seen : the outcome, from :func:`~mechdesign.theory.observe`
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
    c = _check_payoff(cost, seen, "cost function")
    before, after = float((seen.prior @ c).min()), float((seen.posterior @ c).min())
    return _log_ratio(before, after, "cost function")


def worst_cost(seen: Observation) -> NDArray[np.float64]:
    """The cost 1{x = w}/P(x), ``(N, n)`` with one guess per symbol of positive mass.

    Before y every guess costs 1, after y the cheapest costs the smallest lift: it attains Λ(X→y)
    for every outcome y at once, and the maximal cost leakage on average over Y.
    """
    live = _as_observation(seen).support
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
    lift = _as_observation(seen).lift
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
    return cost_leakage(seen, cost_of_feature(channel_of(feature, _as_observation(seen).symbols)))


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
    n = len(_as_observation(seen).prior)
    if len(seen.support) == 1:
        constant = Mechanism(np.ones((n, 1)), seen.symbols)
        return Attack(constant, 0.0, seen.cost, 0.0)
    star = _least_lift(seen)
    if splits is None:
        table = np.zeros((n, 2))
        table[:, 0] = 1
        table[star] = 0.5
    else:
        k = _check_values(splits, "number of splits")
        table = np.zeros((n, k + 1))
        table[:, k] = 1
        table[star] = [*[1 / k] * k, 0]
    feature = Mechanism(table, seen.symbols, normalise=True)
    attained = miss_leakage(seen, feature)
    return Attack(feature, attained, seen.cost, _shortfall(seen.cost, attained))


def _least_lift(seen: Observation) -> int:
    """Position of the symbol x* of smallest lift."""
    return int(seen.support[seen.lift[seen.support].argmin()])


def cost_of_feature(feature: Mechanism) -> NDArray[np.float64]:
    """The cost 1 − P(u|x), ``(N, U)``: its Λ_c is Λ_U ([SaeidianPMC] Theorem 2)."""
    table = mechanism_of(feature, "feature").kernel
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
    c = _check_payoff(cost, seen, "cost function")
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
        mixed = _mixture(seen, first, last, float((seen.posterior @ last) / (seen.prior @ first)))
    mixed = mixed / (2 * mixed[seen.support].max())
    mixed[seen.prior == 0] = 0
    return Mechanism(np.column_stack([1 - mixed, mixed]), seen.symbols)


def reduced_cost(feature: Mechanism, cost: ArrayLike) -> NDArray[np.float64]:
    """The cost E[c(U, w) | X = x] of guessing a feature as a cost on the secret, ``(N, W)``.

    It has the same expectations before and after every outcome, so features add nothing to the
    cost-function view ([SaeidianPMC] Proposition 2).
    """
    feature = mechanism_of(feature, "feature")
    c = _check_payoff(cost, feature.shape[1], "cost function of the feature")
    reduced: NDArray[np.float64] = feature.kernel @ c
    return reduced


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
        return _shannon_entropy(p)
    # log ‖p‖_α = log max p + (1/α) log Σ (p/max p)^α, the sum's first term being one.
    tail = float(((np.delete(p, p.argmax()) / top) ** alpha).sum())
    log_top = math.log1p(-missing) if missing < 0.5 else math.log(top)
    return -alpha / (alpha - 1) * math.expm1(log_top + math.log1p(tail) / alpha)


def alpha_leakage(seen: Observation, alpha: float) -> float:
    """Log of the least expected α-loss before y over that after; never more than Λ(X→y)."""
    before, after = (
        alpha_loss(_as_observation(seen).prior, alpha),
        alpha_loss(seen.posterior, alpha),
    )
    return _log_ratio(before, after, "α-loss")


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
    unit, _ = _unit_values(_as_observation(seen).prior, values, power)
    before, after = (_unit_loss(d, unit, power) for d in (seen.prior, seen.posterior))
    return _log_ratio(before, after, "distance")


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
            expected=counted(len(p), "finite number"),
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


def average_cost_leakage(mechanism: Mechanism, prior: Prior, cost: ArrayLike) -> float:
    """Log of the least expected cost before Y over that of the best rule ŵ(Y), in nats.

    What one cost contributes to maximal cost leakage ([SaeidianPMC] Definition 8).
    """
    mechanism = mechanism_of(mechanism)
    joint = mechanism.joint(prior)
    c = _check_payoff(cost, len(prior), "cost function")
    after = float((joint.T @ c).min(axis=1).sum())
    return _log_ratio(float((prior.probabilities @ c).min()), after, "cost function")


def maximal_cost_leakage(mechanism: Mechanism, prior: Prior) -> float:
    """−log Σ_y min_x P(y|x), x over the support, in nats ([Issa2020]; [SaeidianPMC] Section III-C).

    It equals −log E[exp(−Λ(X→Y))], so it is at most E[Λ(X→Y)], with equality when all outcomes have
    one PMC (binary randomised response with a uniform prior), and at most
    :func:`maximal_realizable_cost`. ``inf`` when every outcome rules some symbol out.
    """
    mechanism = mechanism_of(mechanism)
    mechanism.check_prior(prior)
    total = math.fsum(mechanism.kernel[prior.support].min(axis=0))
    return max(0.0, -math.log(total)) if total > 0 else math.inf


def maximal_realizable_cost(mechanism: Mechanism, prior: Prior) -> float:
    """D∞(P_X×P_Y ‖ P_XY) = max_y Λ(X→y) in nats ([Issa2020]; [SaeidianPMC] Section III-C)."""
    return float(outcome_leakage(mechanism, prior, risk_averse=True).max())


def expected_cost(mechanism: Mechanism, prior: Prior) -> float:
    """E[Λ(X→Y)] in nats: the PMC of the outcome, on average."""
    costs = outcome_leakage(mechanism, prior, risk_averse=True)
    q = mechanism_of(mechanism).output_distribution(prior)
    return float(q[q > 0] @ costs[q > 0])


def _shannon_entropy(distribution: NDArray[np.float64]) -> float:
    """Shannon entropy of a distribution in nats."""
    live = distribution[distribution > 0]
    return max(0.0, -math.fsum(live * np.log(live)))


# Guesswork: how many guesses of the form "is it u?" a secret needs


def guesswork(distribution: ArrayLike, moment: float = 1.0) -> float:
    """min_G E[G(X)^moment]: the most likely value is guessed first, and so on.

    Raises :class:`UtilityError` unless the moment is a positive finite number.

    >>> guesswork([.25, .5, .25])
    1.75
    """
    p = np.sort(masses(distribution))[::-1]
    return float(p @ _ranks(len(p), moment))


def _check_moment(size: int, moment: Any, extra: int = 0) -> float:
    """The moment as a float, for which ranks up to ``size`` have powers that floats can hold."""
    found = number(moment, "moment of guesswork", 0, math.inf, ends="()", error=UtilityError)
    if (found + extra) * math.log(size) > _LARGEST_LOG:
        raise UtilityError(
            "moment of guesswork",
            expected=f"one at which powers of ranks up to {quote(size)} are floats",
            got=f"{found:g}",
            remedy="take a smaller moment",
        )
    return found


def _ranks(size: int, moment: float) -> NDArray[np.float64]:
    moment = _check_moment(size, moment)
    ranks: NDArray[np.float64] = np.arange(1, size + 1, dtype=float) ** moment
    return ranks


def guesswork_leakage(
    seen: Observation, feature: Mechanism | None = None, moment: float = 1.0
) -> float:
    """Log of the guesswork of a feature before y over that after, in nats.

    The secret itself when no feature is named. Never more than Λ(X→y).
    """
    before, after = _as_observation(seen).prior, seen.posterior
    if feature is not None:
        table = channel_of(feature, _as_observation(seen).symbols).kernel
        before, after = before @ table, after @ table
    return _log_ratio(guesswork(before, moment), guesswork(after, moment), "guesswork")


def worst_guesswork(
    seen: Observation,
    splits: int | None = None,
    *,
    moment: float = 1.0,
    tolerance: float = 1e-2,
) -> Attack:
    """A feature whose guesswork y lowers by a factor near e^Λ(X→y).

    The symbol x* of smallest lift is split evenly into k values, and the others share the value 0,
    which is guessed first. With h the mean of (i+1)^moment − 1 over i = 1 … k, the guesswork is
    1 + h·P(x*) before y and 1 + h·P(x*|y) after, from k ≥ P(x*)/(1 − P(x*)) on. The error is
    then log(1 + (P(x*) − P(x*|y)) / (P(x*|y)·(1 + h·P(x*)))), which goes to zero as k grows.

    Parameters
    ----------
    splits : k, optional
        When left out, the smallest power of two (with k large enough for the order of guesses)
        whose error is at most ``tolerance``; raises :class:`KernelError` when that is more than
        10,000, as for an infinite Λ(X→y).
    """
    n = len(_as_observation(seen).prior)
    if len(seen.support) == 1:
        return Attack(Mechanism(np.ones((n, 1)), seen.symbols), 0.0, seen.cost, 0.0)
    star = _least_lift(seen)
    if splits is None:
        k = 1
        while guesswork_error(seen, k, moment) > tolerance:
            k *= 2
            if k > _MOST_VALUES:
                raise _too_many(k)
    else:
        k = _check_values(splits, "number of splits")
    table = np.zeros((n, k + 1))
    table[:, 0] = 1
    table[star] = [0, *[1 / k] * k]
    feature = Mechanism(table, seen.symbols, normalise=True)
    attained = guesswork_leakage(seen, feature, moment)
    return Attack(feature, attained, seen.cost, _shortfall(seen.cost, attained))


def guesswork_error(seen: Observation, splits: int, moment: float = 1.0) -> float:
    """How far the guesswork construction with k splits stays below Λ(X→y), in nats.

    ``inf`` where Λ(X→y) is infinite, or k is too small for the value 0 to be guessed first. Above
    a million splits, an upper bound on it.
    """
    seen = _as_observation(seen)
    k = whole(splits, "number of splits", 1, _MOST_SPLITS, error=UtilityError)
    star = _least_lift(seen)
    p, after = float(seen.prior[star]), float(seen.posterior[star])
    rest = float(np.delete(seen.prior, star).sum())
    if len(seen.support) == 1:
        return 0.0
    if after == 0 or p / k > rest:
        return math.inf
    if k <= _MOST_SUMMED:
        h = float(_ranks(k + 1, moment)[1:].mean() - 1)
    else:
        # An integral below the sum; a smaller h makes the stated error larger.
        _check_moment(k + 1, moment, extra=1)
        h = (float(k + 1) ** (moment + 1) - 1) / ((moment + 1) * k) - 1
    return math.log1p(max(p - after, 0.0) / (after * (1 + h * p)))


def guesswork_cost(size: int, moment: float = 1.0) -> NDArray[np.float64]:
    """Guesswork as a cost function: rank^moment of a value in each order of guesses, ``(n, n!)``.

    Its least expected cost is the guesswork, which makes guesswork a case of the cost-function view
    ([SaeidianPMC] Section III-D). For at most 7 values; raises :class:`UtilityError` above.
    """
    size = whole(size, "number of values", 1, error=UtilityError)
    if size > _LARGEST_ALPHABET:
        raise UtilityError(
            "guesswork as a cost matrix",
            expected=f"at most {_LARGEST_ALPHABET} values",
            got=f"{quote(size)}, whose orders of guesses are too many",
            remedy="use theory.guesswork, which sorts",
        )
    orders = np.array(list(permutations(range(size))))
    return _ranks(size, moment)[orders.T]
