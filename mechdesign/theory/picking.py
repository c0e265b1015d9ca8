"""How to pick ε: from the features that must stay hidden and those that may be given away.

Source: [SaeidianDisclosure] Section 3.3.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..errors import LevelError, PriorError, quote
from ..exact import fraction, log_upper
from ..labels import Label
from ..mechanism import Mechanism
from ..prior import Prior, as_prior
from .disclosure import disclosure_price, event_mass
from .features import check_feature, feature_entropy
from .inputs import listed, number, whole
from .observation import pushforward, quiet_prior

_MOST_SUMS = 200_000


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
        event_mass(prior, *found[name])  # refuses a value that the feature does not have
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
    mass = event_mass(prior, channel, value)[1]
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
