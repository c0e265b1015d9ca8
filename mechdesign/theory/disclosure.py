"""Disclosure: which features of the secret a mechanism gives away for certain, and how to pick ε.

A mechanism discloses a feature U when some outcome leaves no doubt about its value:
min_y H∞(U|Y=y) = 0. All decisions here are about which entries of the kernel are zero, so they are
exact. What must stay hidden and what may be given away then says which ε to take. Source:
[SaeidianDisclosure] Section 3.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import KernelError, LevelError, PriorError, listed, quote
from ..exact import (
    LARGEST_LEVEL,
    exp_bounds,
    float_at_most,
    fraction,
    log_bounds,
    log_upper,
)
from ..labels import Label, tidy
from ..mechanism import Mechanism, mechanism_of
from ..prior import Prior, as_prior
from ..privacy.features import feature
from .leakage import (
    check_feature,
    feature_entropy,
    pushforward,
    quiet_prior,
)
from .validation import number, whole

# The share of a feature's entropy-lowering mixture lies between the threshold and one.
_DEFAULT_BITS = 30
_MOST_SUMS = 200_000


@dataclass(frozen=True)
class Disclosure:
    """An outcome after which the value of a feature is certain.

    Attributes
    ----------
    outcome : label of the outcome
    value : the value that it leaves
    """

    outcome: Label
    value: Label


def disclosures(mechanism: Mechanism, prior: Prior, feature: Mechanism) -> tuple[Disclosure, ...]:
    """The outcomes that disclose a feature, with the values they disclose; empty for none.

    The answer is the same for every adversary whose prior has this support, whatever the masses
    ([SaeidianDisclosure] Theorem 3.4): only zeros of the kernel and of the feature count. An
    adversary who rules symbols out beforehand is a prior of smaller support; ask for it.

    A constant feature is disclosed by every outcome.

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior([.5, .3, .2], ["a", "b", "c"])
    >>> m = md.Mechanism([[.5, .5], [0, 1], [0, 1]], prior.labels, ["y", "z"])
    >>> disclosures(m, prior, md.theory.feature(prior, ["a"]))
    (Disclosure(outcome='y', value=True),)
    """
    mechanism = mechanism_of(mechanism)
    found = check_feature(feature, prior)
    pairs = _possible(mechanism, prior).astype(np.int64)
    values = np.asarray(found.weights != 0, dtype=np.int64)
    # (U, M): how many symbols are compatible with value u and outcome y.
    open_values = (values.T @ pairs) > 0
    return tuple(
        Disclosure(mechanism.outputs[y], found.outputs[int(open_values[:, y].argmax())])
        for y in np.flatnonzero(open_values.sum(axis=0) == 1)
    )


def discloses(mechanism: Mechanism, prior: Prior, feature: Mechanism) -> bool:
    """Whether some outcome discloses a feature ([SaeidianDisclosure] Definition 3.3)."""
    return bool(disclosures(mechanism, prior, feature))


def singles_out(mechanism: Mechanism, prior: Prior) -> tuple[Disclosure, ...]:
    """The outcomes that leave one symbol only ([SaeidianDisclosure] Definition 3.9).

    Empty for every mechanism with ε-PML at ε < H∞(P_X) (Corollary 3.10).
    """
    return disclosures(mechanism, prior, feature(as_prior(prior), lambda symbol: symbol))


def leakage_capacity(mechanism: Mechanism, prior: Prior | None = None) -> float:
    """C = log max_y max_{x,x'} P(y|x)/P(y|x') in nats ([SaeidianDisclosure] Definition 2.7).

    The largest PML of any outcome under any prior (Theorem 2.8 there; [Issa2020]), and the LDP
    level of the mechanism; exact from the weights and rounded up. With a prior, over its support
    only. ``inf`` when an outcome that can occur rules a symbol out.

    >>> round(leakage_capacity(Mechanism([[.75, .25], [.25, .75]])), 6)
    1.098612
    """
    mechanism = mechanism_of(mechanism)
    rows = mechanism.weights
    if prior is not None:
        mechanism.check_prior(prior)
        rows = rows[prior.support]
    pairs = zip(rows.max(axis=0).tolist(), rows.min(axis=0).tolist(), strict=True)
    ends = {(top, low) for top, low in pairs if top > 0}
    if any(low == 0 for _, low in ends):
        return math.inf
    return log_upper(max(Fraction(top, low) for top, low in ends))


def uncertainty_bound(prior: Prior, capacity: float) -> float:
    """log(1 + e^{−C}·pmin/(1 − pmin)) ([SaeidianDisclosure] Theorem 3.7), in nats, rounded down.

    What remains uncertain, as min-entropy, about every non-constant deterministic feature after
    every outcome of a mechanism of leakage capacity C, for an adversary with this prior. Tight: a
    mechanism with two likelihoods, the smaller one at the least likely symbol, attains it.

    Raises :class:`PriorError` when only one symbol has mass (no feature varies), and
    :class:`LevelError` for a capacity that is negative or not a number.
    """
    capacity = number(capacity, "leakage capacity", 0, math.inf)
    low = _varied(prior)
    if capacity > LARGEST_LEVEL:
        return 0.0
    rest = low / (1 - low) / exp_bounds(Fraction(capacity))[1]
    return float_at_most(log_bounds(1 + rest)[0])


def least_uncertainty(mechanism: Mechanism, prior: Prior) -> float:
    """The least H∞(V|Y=y) over outcomes and non-constant deterministic features V, in nats.

    Exactly −log(1 − min P(x|y)): the feature that asks about the symbol that y makes least likely
    is the most exposed one. Zero when some outcome rules a symbol out. Never below
    :func:`uncertainty_bound` at the mechanism's capacity.
    """
    mechanism = mechanism_of(mechanism)
    _varied(prior)
    posterior = mechanism.posterior(prior)[prior.support]
    return max(0.0, -math.log1p(-float(posterior.min())))


def most_entropy_disclosed(mechanism: Mechanism, prior: Prior) -> float:
    """The supremum of H∞(P_U) over all features U that a mechanism discloses, in nats.

    max_y −log P(S_y), S_y the symbols that y leaves possible: a feature with value u on S_y that is
    spread thinly elsewhere is disclosed by y and has this entropy, and P(U=u) ≥ P(S_y) for every
    feature that y discloses. Never above max_y ℓ(X→y), which is [SaeidianDisclosure] Theorem 3.5;
    zero exactly when no outcome rules a symbol out.
    """
    mechanism = mechanism_of(mechanism)
    left = [mass for mass in _left_masses(mechanism, prior) if mass > 0]
    return max(0.0, -math.log(min(left)))


def _left_masses(mechanism: Mechanism, prior: Prior) -> list[Fraction]:
    """Exact prior mass of the symbols that each outcome leaves possible; 0 if it cannot occur."""
    pairs = _possible(mechanism, prior)
    return [
        Fraction(sum(prior.weights[x] for x in np.flatnonzero(pairs[:, y])), prior.total)
        for y in range(mechanism.shape[1])
    ]


def hidden_above(epsilon: float, prior: Prior, features: list[Mechanism]) -> list[bool]:
    """Which features no ε-PML mechanism discloses, to anyone: those with H∞(P_U) > ε.

    [SaeidianDisclosure] Theorem 3.5. The comparison is exact. See :func:`disclosure_price` for the
    level at which a feature can first be disclosed, which for randomised features may be higher.
    """
    level = number(epsilon, "PML level", 0, math.inf)
    found = (
        [features] if isinstance(features, Mechanism) else listed(features, "features", "a list")
    )
    return [_above(_top_mass(prior, check_feature(f, prior)), level) for f in found]


def _top_mass(prior: Prior, channel: Mechanism) -> Fraction:
    masses = pushforward(prior, channel)
    return Fraction(max(masses.weights), masses.total)


def _above(mass: Fraction, level: float) -> bool:
    """Whether −log(mass) > level, decided in rationals."""
    if level == math.inf:
        return False
    return log_bounds(1 / mass)[0] > fraction(level)


def remaining_entropy_bound(epsilon: float, entropy: float) -> float:
    """H∞(U|Y=y) ≥ H∞(U) − ε after every outcome of an ε-PML mechanism (Theorem 3.5's proof)."""
    entropy = number(entropy, "min-entropy", 0, math.inf, ends="[)")
    return max(0.0, entropy - number(epsilon, "PML level", 0, math.inf))


def easier_feature(
    prior: Prior, feature: Mechanism, value: Any, share: float | None = None
) -> Mechanism:
    """A feature W of lower min-entropy than U that is disclosed whenever U = value is.

    [SaeidianDisclosure] Proposition 3.6: W is U, except that any other value is replaced by the
    disclosed one with probability ``share`` > (max_u P(u) − P(value))/(1 − P(value)).

    Parameters
    ----------
    share : float, optional
        Halfway between the threshold and one when left out.

    Raises
    ------
    KernelError
        When U is constant (its entropy is zero already, so the proposition needs H∞(P_U) > 0), or
        has no such value, or the share is not between the threshold and one.

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior([.5, .3, .2])
    >>> u = md.theory.feature(prior, [2])
    >>> w = easier_feature(prior, u, True)
    >>> md.theory.feature_entropy(prior, u) > md.theory.feature_entropy(prior, w)
    True
    """
    found = check_feature(feature, prior)
    masses = pushforward(prior, found)
    if tidy(value) not in found.outputs:
        raise KernelError(
            "value of a feature",
            expected=f"one of {list(found.outputs)[:6]}",
            got=quote(value),
            remedy="name the value that is disclosed",
        )
    u = found.outputs.index(tidy(value))
    top, own = Fraction(max(masses.weights), masses.total), masses.mass(u)
    if top == 1:
        raise KernelError(
            "feature",
            expected="one with positive min-entropy",
            got="a constant one",
            remedy="there is nothing of lower entropy; the proposition needs H∞(P_U) > 0",
        )
    threshold = (top - own) / (1 - own)
    if share is None:
        steps = 1 << _DEFAULT_BITS
        lam = Fraction(math.floor((threshold + 1) / 2 * steps), steps)
        if lam <= threshold:
            lam = (threshold + 1) / 2
    else:
        lam = fraction(number(share, "share of the disclosed value", 0, 1, error=KernelError))
    if not threshold < lam < 1:
        raise KernelError(
            "share of the disclosed value",
            expected=f"a number above {float(threshold):.6g} and below 1",
            got=str(float(lam)),
            remedy="leave it out for one halfway",
        )
    mix = np.eye(len(found.outputs)) * float(1 - lam)
    mix[:, u] += float(lam)
    return found @ Mechanism(mix, found.outputs, found.outputs)


@dataclass(frozen=True, eq=False)
class Exposure:
    """A feature, a mechanism that discloses it, and the level at which that is allowed.

    Attributes
    ----------
    feature : channel P(U|X)
    mechanism : an exact kernel that discloses the value with its first outcome
    value : the value disclosed
    epsilon : its PML level in nats, −log P(X in the event), rounded up; no mechanism that
        discloses this value has a smaller one
    """

    feature: Mechanism
    mechanism: Mechanism
    value: Label
    epsilon: float


def disclosure_price(prior: Prior, feature: Mechanism, value: Any = None) -> float:
    """The smallest float ε at which some ε-PML mechanism discloses a feature, in nats.

    −log P(E_u), E_u the symbols for which U = u for certain; the cheapest value when none is named.
    For a deterministic feature that is its min-entropy, so the condition of [SaeidianDisclosure]
    Theorem 3.5 cannot be weakened; for a randomised one it may be more, and ``inf`` when no symbol
    fixes the value. :func:`disclosing_mechanism` attains it.

    >>> round(disclosure_price(Prior([.5, .25, .25]), Mechanism([[1, 0], [1, 0], [0, 1]])), 6)
    0.287682
    """
    mass = _event_mass(prior, feature, value)[1]
    return log_upper(1 / mass) if mass > 0 else math.inf


def _event_mass(prior: Prior, channel: Mechanism, value: Any) -> tuple[int, Fraction]:
    """Position of the value that is cheapest to disclose, and the exact mass of its event."""
    found = check_feature(channel, prior)
    sure = np.asarray(found.weights != 0).sum(axis=1) == 1
    masses = [
        Fraction(
            sum(
                prior.weights[x]
                for x in np.flatnonzero(sure & np.asarray(found.weights[:, u] != 0))
            ),
            prior.total,
        )
        for u in range(found.shape[1])
    ]
    if value is None:
        u = max(range(len(masses)), key=masses.__getitem__)
    elif tidy(value) in found.outputs:
        u = found.outputs.index(tidy(value))
    else:
        raise KernelError(
            "value of a feature",
            expected=f"one of {list(found.outputs)[:6]}",
            got=quote(value),
            remedy="name a value that the feature has",
        )
    return u, masses[u]


def disclosing_mechanism(prior: Prior, feature: Mechanism, value: Any = None) -> Exposure:
    """A mechanism that discloses a feature at the smallest PML level there is.

    With a small probability α it says that X is in E_u, for X in E_u; else it says nothing. The
    first outcome leaks −log P(E_u), the other less ([SaeidianDisclosure] Proposition 3.8 for the
    event X ≠ x_min). The kernel is exact.

    Raises :class:`KernelError` when no symbol fixes the value, or every symbol does.
    """
    found = check_feature(feature, prior)
    u, mass = _event_mass(prior, found, value)
    if mass == 0 or mass == 1:
        raise KernelError(
            "feature",
            expected="a value that some, but not all, symbols of positive mass fix",
            got="a constant feature" if mass else "one that no symbol fixes",
            remedy="only then is there something to disclose",
        )
    inside = np.asarray(found.weights[:, u] != 0) & (
        np.asarray(found.weights != 0).sum(axis=1) == 1
    )
    # The quiet outcome leaks −log(1 − α P(E)); α P(E) ≤ 1 − P(E) keeps that below −log P(E).
    bits = 1
    while Fraction(1, 1 << bits) * mass > 1 - mass:
        bits += 1
    loud = inside.astype(object)
    weights = np.column_stack([loud, (1 << bits) - loud])
    mechanism = Mechanism.from_weights(weights, bits, found.inputs, ["disclosed", "nothing"])
    return Exposure(found, mechanism, found.outputs[u], log_upper(1 / mass))


def cheapest_disclosure(prior: Prior) -> Exposure:
    """The feature that can be disclosed at the smallest PML level: is X ≠ x_min?

    The level is log 1/(1 − pmin); below it every mechanism has finite leakage capacity and
    discloses nothing ([SaeidianDisclosure] Proposition 3.8). Raises :class:`PriorError` when only
    one symbol has mass.
    """
    _varied(prior)
    least = min(prior.support, key=lambda x: prior.weights[x])
    others = [label for x, label in enumerate(prior.labels) if x != least]
    return disclosing_mechanism(prior, feature(prior, others), True)


def dearest_disclosure(prior: Prior) -> Exposure:
    """The answer that needs the largest PML level to be given: yes to "is X = x_min?".

    The level is log 1/pmin, at which everything may be released ([Issa2020];
    [SaeidianDisclosure] Section 3.3). Raises :class:`PriorError` when only one symbol has mass.
    """
    _varied(prior)
    least = min(prior.support, key=lambda x: prior.weights[x])
    return disclosing_mechanism(prior, feature(prior, [prior.labels[least]]), True)


def _varied(prior: Prior) -> Fraction:
    """Exact pmin of a prior with at least two symbols of positive mass."""
    if len(as_prior(prior).support) < 2:
        raise PriorError(
            "prior",
            expected="at least two symbols of positive mass",
            got="one",
            remedy="a secret that is known has no features",
        )
    return min(prior.mass(int(x)) for x in prior.support)


def _possible(mechanism: Mechanism, prior: Prior) -> NDArray[np.bool_]:
    """Which pairs (x, y) can occur, ``(N, M)``: positive mass and positive likelihood, exactly."""
    mechanism.check_prior(prior)
    alive = np.array([w > 0 for w in prior.weights])
    return np.asarray(mechanism.weights != 0, dtype=bool) & alive[:, None]


def compatible_symbols(mechanism: Mechanism, prior: Prior) -> dict[Label, tuple[Label, ...]]:
    """The symbols that each outcome leaves possible; outcomes that cannot occur are left out."""
    mechanism = mechanism_of(mechanism)
    pairs: NDArray[np.bool_] = _possible(mechanism, prior)
    return {
        label: tuple(prior.labels[x] for x in np.flatnonzero(pairs[:, y]))
        for y, label in enumerate(mechanism.outputs)
        if pairs[:, y].any()
    }


# Picking ε


@dataclass(frozen=True)
class FeatureLine:
    """One feature on the scale of ε.

    Attributes
    ----------
    name : as given
    entropy : H∞(P_U) in nats: no mechanism with ε-PML below it discloses the feature (Theorem 3.5);
        −log P(U=u) for a single value u
    price : smallest ε at which some mechanism with ε-PML does; at least ``entropy``, equal for
        deterministic features
    hide : whether it was asked to stay hidden (otherwise it may be given away)
    possible : for a feature that may be given away, whether its price fits under what must stay
        hidden; ``None`` for a feature to hide
    """

    name: str
    entropy: float
    price: float
    hide: bool
    possible: bool | None


@dataclass(frozen=True)
class EpsilonChoice:
    """What a list of features says about ε.

    Attributes
    ----------
    largest : the largest float that is certainly below ``below``: ``md.PML(choice.largest)`` hides
        every feature asked to be hidden, from everyone
    below : ε must be below this many nats (or at most this, when a remainder was asked for)
    binding : name of the feature that decides
    nothing_below : log 1/(1 − pmin): below it nothing at all is disclosed (Proposition 3.8)
    singling_out : H∞(P_X): from here on a mechanism may single out a symbol (Corollary 3.10)
    everything_from : log 1/pmin: from here on everything may be released
    features : one line per feature, the cheapest first
    """

    largest: float
    below: float
    binding: str
    nothing_below: float
    singling_out: float
    everything_from: float
    features: tuple[FeatureLine, ...]

    def __str__(self) -> str:
        lines = [
            f"ε below {self.below:.6g} nats ({self.binding} decides)",
            f"  nothing is disclosed below {self.nothing_below:.6g}, no symbol is singled out "
            f"below {self.singling_out:.6g}, everything may be from {self.everything_from:.6g}",
        ]
        for line in self.features:
            role = "hide" if line.hide else ("may go" if line.possible else "may go, but cannot")
            lines.append(
                f"  {line.name:<24} entropy {line.entropy:<10.6g} disclosed from "
                f"{line.price:<10.6g} {role}"
            )
        return "\n".join(lines)


Wanted = Mechanism | tuple[Mechanism, Any]


Features = Mapping[str, Wanted] | Iterable[Wanted]


def pick_epsilon(
    prior: Prior,
    hide: Features,
    reveal: Features = (),
    *,
    remaining: float = 0.0,
) -> EpsilonChoice:
    """The PML levels that keep some features hidden, and what they allow to be given away.

    Parameters
    ----------
    prior : over the symbols
    hide : features that no outcome may settle, named by a mapping or numbered. A pair (feature,
        value) hides this value only: that a visit *was* for cancer, say, while that it was not may
        come out.
    reveal : features, or pairs, that one would like to be able to disclose
    remaining : nats of min-entropy that every hidden feature must keep after every outcome. With
        the default of 0 a feature only has to stay uncertain, and ε may come up to its price; else
        ε may be H∞(P_U) − remaining (the bound H∞(U|Y=y) ≥ H∞(U) − ε of Theorem 3.5's proof).

    Raises
    ------
    LevelError
        When nothing is to be hidden, or a feature cannot keep what is asked at any ε.
    KernelError
        For features of other symbols.

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior([.4, .3, .2, .1], ["flu", "cold", "asthma", "cancer"])
    >>> serious = md.theory.feature(prior, ["cancer", "asthma"])
    >>> choice = pick_epsilon(prior, {"serious": serious})
    >>> round(choice.below, 4), choice.binding
    (0.3567, 'serious')

    That level comes from the answer "not serious", which is likely. To hide a yes only:

    >>> round(pick_epsilon(prior, {"serious": (serious, True)}).below, 4)
    1.204
    """
    prior = as_prior(prior)
    remaining = number(remaining, "remaining uncertainty", 0, math.inf, ends="[)")
    hidden, shown = _named(hide, prior, "hidden"), _named(reveal, prior, "revealed")
    if not hidden:
        raise LevelError(
            "features to hide",
            expected="at least one",
            got="none",
            remedy="every ε hides nothing at all; name what must stay hidden",
        )
    limits = {name: _limit(prior, *wanted, remaining) for name, wanted in hidden.items()}
    binding = min(limits, key=lambda name: limits[name][0])
    below, largest = limits[binding]
    if below <= 0:
        raise LevelError(
            f"feature {binding}",
            expected=f"more than {remaining:.6g} nats of min-entropy",
            got=f"{_entropy(prior, *hidden[binding]):.6g}",
            remedy="the prior alone tells that much; ask for less, or leave the feature out",
        )
    lines = [
        FeatureLine(name, _entropy(prior, *f), disclosure_price(prior, *f), True, None)
        for name, f in hidden.items()
    ]
    for name, f in shown.items():
        price = disclosure_price(prior, *f)
        lines.append(FeatureLine(name, _entropy(prior, *f), price, False, price <= largest))
    lines.sort(key=lambda line: (line.price, line.entropy))
    return EpsilonChoice(
        largest,
        below,
        binding,
        -math.log1p(-prior.pmin) if prior.pmin < 1 else math.inf,
        prior.min_entropy(),
        -math.log(prior.pmin),
        tuple(lines),
    )


def _named(features: Any, prior: Prior, kind: str) -> dict[str, tuple[Mechanism, Any]]:
    if isinstance(features, Mapping):
        pairs = [(str(name), wanted) for name, wanted in features.items()]
    else:
        one = isinstance(features, Mechanism)
        named = [features] if one else listed(features, f"{kind} features", "a list or a mapping")
        pairs = [(f"{kind} {i + 1}", wanted) for i, wanted in enumerate(named)]
    found = {}
    for name, wanted in pairs:
        if not (isinstance(wanted, tuple) and len(wanted) == 2):
            wanted = (wanted, None)
        found[name] = (check_feature(wanted[0], prior), wanted[1])
        _event_mass(prior, *found[name])  # refuses a value that the feature does not have
    return found


def _entropy(prior: Prior, channel: Mechanism, value: Any) -> float:
    if value is None:
        return feature_entropy(prior, channel)
    mass = pushforward(prior, channel)[value]
    return -math.log(mass) if mass > 0 else math.inf


def _limit(prior: Prior, channel: Mechanism, value: Any, remaining: float) -> tuple[float, float]:
    """Below which ε a feature keeps what is asked, and a float that certainly is."""
    if remaining:
        limit = _entropy(prior, channel, value) - remaining
        return limit, math.nextafter(limit, -math.inf)
    mass = _event_mass(prior, channel, value)[1]
    if mass == 0:
        return math.inf, math.inf
    price = log_upper(1 / mass)
    # A logarithm is no float, except at mass one, so the float before it is below the price.
    return price, math.nextafter(price, 0.0)


def quantised_mean(prior: Prior, people: int, edges: Iterable[Any]) -> Prior:
    """Distribution of the quantised mean of n independent entries.

    Source: [SaeidianDisclosure] Example 3.1.

    Parameters
    ----------
    prior : distribution of one entry; its labels are numbers
    people : n
    edges : c_0 < c_1 < … < c_m; the cells are [c_j, c_{j+1}) and must hold every possible value

    Returns
    -------
    A prior over the midpoints of the cells. Its min-entropy goes to zero as n grows, unless the
    mean of the prior is an edge; that of a single entry does not.

    Raises
    ------
    PriorError
        For labels that are not numbers, values outside the cells, or too many different sums.

    Examples
    --------
    >>> coin = Prior([.7, .3], labels=[0, 1])
    >>> [round(quantised_mean(coin, n, [0, .5, 1.5]).min_entropy(), 4) for n in (1, 11, 101)]
    [0.3567, 0.0815, 0.0]
    """
    try:
        cells = [fraction(e) for e in edges]
    except (TypeError, ValueError, OverflowError):
        raise _bad_mean("edges that are finite numbers", quote(edges)) from None
    if len(cells) < 2 or any(a >= b for a, b in itertools.pairwise(cells)):
        raise _bad_mean("at least two edges in rising order", str([float(c) for c in cells]))
    people = whole(people, "number of entries", 1, error=PriorError)
    try:
        values = [fraction(label) for label in as_prior(prior).labels]
    except (TypeError, ValueError, OverflowError):
        raise _bad_mean("symbols that are finite numbers", str(prior.labels[:4])) from None
    total: dict[Fraction, int] = {Fraction(0): 1}
    for _ in range(people):
        grown: dict[Fraction, int] = {}
        for so_far, weight in total.items():
            for value, w in zip(values, prior.weights, strict=True):
                if w:
                    grown[so_far + value] = grown.get(so_far + value, 0) + weight * w
        if len(grown) > _MOST_SUMS:
            raise _bad_mean(f"at most {_MOST_SUMS} different sums", "more")
        total = grown
    masses = [0] * (len(cells) - 1)
    for value, weight in total.items():
        mean = value / people
        place = sum(1 for edge in cells if edge <= mean) - 1
        if not 0 <= place < len(masses):
            raise _bad_mean("cells that hold every value", f"a mean of {float(mean):.6g}")
        masses[place] += weight
    midpoints: list[Label] = [float((a + b) / 2) for a, b in itertools.pairwise(cells)]
    return quiet_prior(masses, midpoints)


def _bad_mean(expected: str, got: str) -> PriorError:
    return PriorError(
        "quantised mean", expected=expected, got=got, remedy="see the example in its docstring"
    )
