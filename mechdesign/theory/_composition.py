"""What several releases leak together: exact levels of composed mechanisms, and honest bounds.

Reports that are drawn independently given one secret compose to the product kernel. Where that is
small enough it is built and checked exactly; otherwise levels are bounded from the reports one by
one. Levels of local differential privacy add up under composition. Those of PML and PMC do not:
they speak about the prior, and the second release meets the posterior of the first. What holds
instead is the level of one release plus the leakage capacity of the others ([SaeidianPMC]
Lemma 1.7).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, KernelError, LevelError, UnknownNameError, listed, quote
from ..exact import float_at_least, is_whole, log_level, sum_of_levels
from ..labels import counted
from ..mechanism import Mechanism, kernel_of, mechanism_of
from ..prior import Prior
from ..privacy import (
    LDP,
    PMC,
    PML,
    ApproximateLDP,
    AverageNotion,
    LikelihoodBound,
    PrivacyNotion,
)
from ..privacy.notion import as_notions
from ..privacy.rows import cone_rows
from ..solve.columns_plan import KernelPlan
from ..subsets import SubsetSelection
from ..subsets.bounds import asked_parts
from ._rates import approximate_level
from .disclosure import leakage_capacity
from .leakage import TwoSides, condition, outcome_leakage, quiet_prior
from .rules import Setting, log_above
from .validation import whole

_MOST_COUNTS = 200_000
_MOST_OUTPUTS = 1 << 16
# Product kernels with more entries times reports are bounded, not built.
_MOST_WORK = 100_000
# Reports of one mechanism: more would be no count that floats can tell apart.
_MOST_TIMES = 10**15
# Relative rounding of a product of ratios and of a sum of masses, generously.
_SLACK = 1e-11
# Ratios of larger numbers are told as floats.
_LARGEST_SHOWN = 1_000_000_000

# A mechanism and how often it reports.
_Repeated = tuple[Mechanism, int]
Then = Mechanism | Mapping[Any, Mechanism] | Callable[[Any], Mechanism]


# Composed mechanisms


def product_of(parts: list[tuple[Mechanism, Prior]]) -> tuple[Mechanism, Prior]:
    """The mechanism and the prior of independent secrets, exact; symbols are nested pairs."""
    parts = listed(parts, "product of mechanisms", "pairs (mechanism, prior)", KernelError)
    if not parts or not all(isinstance(part, tuple) and len(part) == 2 for part in parts):
        raise KernelError(
            "product of mechanisms",
            expected="at least one mechanism, each with its prior",
            got="none" if not parts else type(parts[0]).__name__,
            remedy="pass [(mechanism, prior), …]",
        )
    for part, own in parts:
        mechanism_of(part).check_prior(own)
    mechanism, prior = mechanism_of(parts[0][0]), parts[0][1]
    for other, own in parts[1:]:
        weights = [a * b for a in prior.weights for b in own.weights]
        labels = [(a, b) for a in prior.labels for b in own.labels]
        mechanism, prior = mechanism.product(mechanism_of(other)), quiet_prior(weights, labels)
    return mechanism, prior


def adaptive(first: Mechanism, then: Then) -> Mechanism:
    """Run a mechanism, then one chosen by its outcome, on the same secret; exact.

    Parameters
    ----------
    first : kernel P(Y1|X)
    then : the second mechanism, or a mapping or function from the first outcome to it

    Returns
    -------
    The kernel P(Y1, Y2|X) with pairs as outputs.

    Raises
    ------
    KernelError
        When an outcome has no second mechanism, or one with other inputs.

    Examples
    --------
    >>> m = Mechanism([[.75, .25], [.25, .75]], outputs=["a", "b"])
    >>> adaptive(m, {"a": m, "b": Mechanism([[1], [1]], outputs=["stop"])}).outputs
    (('a', 'a'), ('a', 'b'), ('b', 'stop'))
    """
    first = mechanism_of(first)
    seconds = [_second(then, label, first) for label in first.outputs]
    one = math.lcm(*(m.denominator for m in seconds))
    columns, outputs = [], []
    for y, second in enumerate(seconds):
        own = first.weights[:, y].astype(object)[:, None]
        columns.append(own * second.weights.astype(object) * (one // second.denominator))
        outputs += [(first.outputs[y], z) for z in second.outputs]
    weights = np.concatenate(columns, axis=1)
    one *= first.denominator
    return Mechanism.over(weights, one, first.inputs, outputs, check=False)


def _second(then: Then, outcome: Any, first: Mechanism) -> Mechanism:
    found: Any = then
    if isinstance(then, Mapping):
        found = then.get(outcome)
    elif callable(then) and not isinstance(then, Mechanism):
        found = then(outcome)
    found = getattr(found, "mechanism", found)
    if not isinstance(found, Mechanism) or found.inputs != first.inputs:
        raise KernelError(
            f"second mechanism after outcome {quote(outcome)}",
            expected=f"a Mechanism with the inputs {first.inputs[:4]}",
            got=type(found).__name__ if not isinstance(found, Mechanism) else "other inputs",
            remedy="give one mechanism on the same secret for every outcome",
        )
    return found


def repeated(mechanism: Mechanism, times: int) -> Mechanism:
    """The same mechanism run independently ``times`` times on one secret, by counts of outcomes.

    The order of the reports is uninformative: outcomes are the counts of each label, as tuples in
    the order of the mechanism's outputs. The kernel is exact, and its levels under every notion
    are those of the full list of reports.

    Raises
    ------
    KernelError
        For fewer than one run, or more than 200,000 different counts.

    Examples
    --------
    >>> flip = Mechanism([[.75, .25], [.25, .75]])
    >>> repeated(flip, 2).outputs
    ((0, 2), (1, 1), (2, 0))
    >>> repeated(flip, 2).kernel[0]
    array([0.0625, 0.375 , 0.5625])
    """
    mechanism = mechanism_of(mechanism)
    times = whole(times, "number of runs", 1, error=KernelError)
    outputs = mechanism.shape[1]
    count = math.comb(times + outputs - 1, outputs - 1)
    if count > _MOST_COUNTS:
        raise KernelError(
            "repeated mechanism",
            expected=f"at most {_MOST_COUNTS} different counts of outcomes",
            got=str(count),
            remedy="merge outcomes first, or run it less often",
        )
    weights = mechanism.weights.astype(object)
    powers = [np.ones(weights.shape, dtype=object)]
    for _ in range(times):
        powers.append(powers[-1] * weights)
    counts = list(_counts(times, outputs))
    columns = [
        _orders(each) * math.prod(powers[n][:, y] for y, n in enumerate(each)) for each in counts
    ]
    one = mechanism.denominator**times
    return Mechanism.over(np.column_stack(columns), one, mechanism.inputs, counts, check=False)


def _orders(counts: tuple[int, ...]) -> int:
    """In how many orders outcomes with these counts can come."""
    return math.prod(math.comb(sum(counts[y:]), n) for y, n in enumerate(counts))


def _counts(total: int, places: int) -> Iterator[tuple[int, ...]]:
    if places == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _counts(total - first, places - 1):
            yield (first, *rest)


# Properties of composition, outcome by outcome


def additivity(parts: list[tuple[Mechanism, Prior]], *, risk_averse: bool = False) -> TwoSides:
    """Independent secrets, released independently: the leakage of the tuple is the sum.

    [SaeidianPMC] Lemma 1.3. Left is measured on the product mechanism under the product prior;
    right is the sum, for every tuple of outcomes.
    """
    mechanism, prior = product_of(parts)
    total = np.zeros(1)
    for part, own in parts:
        single = outcome_leakage(mechanism_of(part), own, risk_averse=risk_averse)
        total = (total[:, None] + single).ravel()
    # A tuple that cannot occur is uninformative, whatever its parts are.
    total = np.where(mechanism.output_distribution(prior) > 0, total, 0.0)
    return TwoSides(outcome_leakage(mechanism, prior, risk_averse=risk_averse), total, "==")


def composition(
    first: Mechanism, then: Then, prior: Prior, *, risk_averse: bool = False
) -> TwoSides:
    """ℓ(X→y1, y2) ≤ ℓ(X→y1) + ℓ(X→y2|y1), for every pair of outcomes.

    [SaeidianPMC] Lemma 1.7; [Saeidian2023PML] Lemma 1. The second term is conditional: it is
    measured under the posterior after y1, and may exceed what the second mechanism leaks under the
    prior. The sum of the two PML (or PMC) levels is therefore no bound, even for independent
    mechanisms; see :func:`~mechdesign.theory.account`.
    """
    first = mechanism_of(first)
    joint = outcome_leakage(adaptive(first, then), prior, risk_averse=risk_averse)
    alone = outcome_leakage(first, prior, risk_averse=risk_averse)
    q = first.output_distribution(prior)
    right = []
    for y, label in enumerate(first.outputs):
        second = _second(then, label, first)
        if q[y] > 0:
            after = condition(prior, first, label)
            right.append(alone[y] + outcome_leakage(second, after, risk_averse=risk_averse))
        else:
            right.append(np.zeros(second.shape[1]))
    return TwoSides(joint, np.concatenate(right), "<=")


def conditional_outcome_leakage(
    mechanism: Mechanism | Mapping[Any, Mechanism] | Callable[[Any], Mechanism],
    prior: Prior,
    channel: Mechanism,
    outcome: Any,
    *,
    risk_averse: bool = False,
) -> NDArray[np.float64]:
    """ℓ(X→y|z) or Λ(X→y|z) for every y, given outcome z of a channel P(Z|X), in nats.

    [SaeidianPMC] Definition 12, Corollary 2; [SaeidianDisclosure] Definition 2.5. When the
    mechanism depends on z, give a mapping or a function from z to the kernel P(Y|X, Z=z).
    """
    channel = mechanism_of(channel, "channel of the side information")
    second = _second(mechanism, outcome, channel)
    return outcome_leakage(second, condition(prior, channel, outcome), risk_averse=risk_averse)


# One notion, exactly


@dataclass(frozen=True, eq=False)
class Account:
    """What several releases leak together, under one notion with one level.

    Attributes
    ----------
    notion : class of the notion
    level : exact level of the composed kernel in nats, rounded up
    parts : exact levels of the releases on their own
    bound : a bound on ``level`` from the parts that is valid: their sum for independent secrets and
        for LDP, DP and metric privacy; for PML and PMC on one secret the best of "one level plus
        the capacities of the others" (for PML at most log 1/pmin); ``inf`` for other notions on one
        secret
    mechanism : the composed kernel
    """

    notion: type[PrivacyNotion]
    level: float
    parts: tuple[float, ...]
    bound: float
    mechanism: Mechanism

    @property
    def sum_of_parts(self) -> float:
        """The sum of the single levels: for PML and PMC on one secret *not* a bound."""
        return math.fsum(self.parts)

    @property
    def adds_up(self) -> bool:
        """Whether the composed level stays within the sum of the single levels."""
        return self.level <= self.sum_of_parts * (1 + 1e-12)

    def __str__(self) -> str:
        parts = " + ".join(f"{p:.6g}" for p in self.parts)
        verdict = "within" if self.adds_up else "MORE THAN"
        return (
            f"{self.notion.__name__.lower()}: {self.level:.6g} nats together, {verdict} the sum "
            f"{parts} = {self.sum_of_parts:.6g}; bound {self.bound:.6g}"
        )


def account(
    mechanisms: Sequence[Mechanism],
    prior: Prior,
    notion: type[PrivacyNotion] | PrivacyNotion = PML,
) -> Account:
    """Exact accounting for independent reports about one secret (parallel composition).

    Parameters
    ----------
    mechanisms : kernels or designs with the prior's symbols as inputs
    prior : over the symbols
    notion : a notion with one level, such as ``md.PML`` or ``md.LDP``; for one that needs more,
        such as ``md.DP(1, "hamming")``, an instance, whose level is ignored

    Raises
    ------
    LevelError
        For a notion with more than one level.
    KernelError
        For mechanisms on other symbols, or more than 65,536 tuples of outcomes (use
        :func:`repeated` when it is one mechanism many times).

    Examples
    --------
    Two reports that leak little on their own, and together everything about the rarest symbol:

    >>> import mechdesign as md
    >>> prior = md.Prior([.02, .49, .49])
    >>> one = md.Mechanism([[.5, .5], [.5, .5], [0, 1]])
    >>> two = md.Mechanism([[.5, .5], [0, 1], [.5, .5]])
    >>> found = md.theory.account([one, two], prior)
    >>> [round(level, 3) for level in found.parts], round(found.level, 3), found.adds_up
    ([0.673, 0.673], 3.912, False)
    """
    found = [mechanism_of(m) for m in listed(mechanisms, "accounting", "mechanisms", KernelError)]
    if not found:
        raise KernelError(
            "accounting",
            expected="at least one mechanism",
            got="none",
            remedy="pass the releases in a list",
        )
    if math.prod(m.shape[1] for m in found) > _MOST_OUTPUTS:
        raise KernelError(
            "accounting",
            expected=f"at most {_MOST_OUTPUTS} tuples of outcomes",
            got=str(math.prod(m.shape[1] for m in found)),
            remedy="use theory.repeated for one mechanism many times, or merge outcomes first",
        )
    together = found[0]
    for other in found[1:]:
        together = together.parallel(other)
    parts = tuple(_level(m, prior, notion) for m in found)
    kind = type(notion) if isinstance(notion, PrivacyNotion) else notion
    return Account(
        kind,
        _level(together, prior, notion),
        parts,
        _bound(found, parts, prior, kind),
        together,
    )


def account_product(
    parts: Sequence[tuple[Mechanism, Prior]], notion: type[PrivacyNotion] = PML
) -> Account:
    """Exact accounting for independent secrets, each released by its own mechanism.

    PML, PMC and LDP levels add up exactly ([SaeidianPMC] Lemma 1.3).
    """
    if isinstance(notion, PrivacyNotion):
        raise LevelError(
            "notion to account for",
            expected="a notion class that one level defines, such as md.PML",
            got=quote(notion),
            remedy="pass the class: what an instance needs besides is not known for the tuples",
        )
    pairs = listed(parts, "accounting", "pairs (mechanism, prior)", KernelError)
    together, prior = product_of(pairs)
    levels = tuple(_level(mechanism_of(m), p, notion) for m, p in pairs)
    level = _level(together, prior, notion)
    return Account(notion, level, levels, sum_of_levels(levels), together)


def _level(
    mechanism: Mechanism, prior: Prior, notion: type[PrivacyNotion] | PrivacyNotion
) -> float:
    kind: Any = type(notion) if isinstance(notion, PrivacyNotion) else notion
    known = isinstance(kind, type) and issubclass(kind, PrivacyNotion)
    if not known or (kind is not notion and not kind.needs):
        raise LevelError(
            "notion to account for",
            expected="a notion class that one level defines, such as md.PML",
            got=quote(notion),
            remedy="pass the class, not an instance",
        )
    if isinstance(notion, type) and kind.needs:
        raise LevelError(
            "notion to account for",
            expected="an instance, because the notion needs " + ", ".join(kind.needs),
            got=f"the class {kind.__name__}",
            remedy="pass an instance at any level to theory.account",
        )
    if len(kind.level_fields) != 1:
        raise LevelError(
            "notion to account for",
            expected="a notion with one level",
            got=f"{kind.__name__}, which has {len(kind.level_fields)}",
            remedy="account for each side on its own: md.PML and md.PMC",
        )
    template = notion if isinstance(notion, PrivacyNotion) else notion.at(math.inf)
    check = template.with_levels(math.inf).check(mechanism, prior)
    level = check.achieved[0]
    if check.ratio is None or max(check.ratio.as_integer_ratio()) > _LARGEST_SHOWN:
        return level
    # That of the ratio, unless lengths or factors divide it.
    exact = log_level(max(check.ratio, Fraction(1)))
    return exact if mechanism.is_exact and float(exact) == level else level


def _bound(
    found: list[Mechanism], parts: tuple[float, ...], prior: Prior, notion: type[PrivacyNotion]
) -> float:
    if issubclass(notion, LikelihoodBound) and not notion.uses_prior:
        # Symbols are compared, so levels add up whatever the prior.
        return sum_of_levels(parts)
    if notion not in (PML, PMC):
        return math.inf if len(found) > 1 else parts[0]
    capacities = [leakage_capacity(m, prior) for m in found]
    best = min(
        sum_of_levels((part, *capacities[:i], *capacities[i + 1 :])) for i, part in enumerate(parts)
    )
    if notion is PMC:
        return best
    most = log_above(1 / Setting(prior).pmin)
    return best if most is None else min(best, float_at_least(most))


# Many reports, many notions


@dataclass(frozen=True)
class ComposedLevel:
    """What several reports together leak under one notion.

    Attributes
    ----------
    notion : the notion with the level that each report was asked to keep
    levels : levels of all reports together, in nats, rounded up; ``inf`` where something is ruled
        out
    exact : whether they come from the exact product kernel; else they are upper bounds
    """

    notion: PrivacyNotion
    levels: tuple[float, ...]
    exact: bool

    @property
    def meets(self) -> bool:
        """Whether the reports together still keep what was asked of each."""
        return all(
            have <= asked for have, asked in zip(self.levels, self.notion.levels, strict=True)
        )

    def __str__(self) -> str:
        # The notion writes its other parameters itself, such as δ.
        shown = re.sub(r"\binf\b", "infinite", str(self.notion.with_levels(*self.levels)))
        return shown if self.exact else f"{shown} at most"


@dataclass(frozen=True)
class Composition:
    """Several independent reports, and what is leaked of each person by all of theirs.

    Attributes
    ----------
    reports : how many
    found : the level of each notion
    people : "same" where one person makes all of them, "different" where each makes one
    """

    reports: int
    found: tuple[ComposedLevel, ...]
    people: str = "same"

    def __iter__(self) -> Any:
        return iter(self.found)

    def __str__(self) -> str:
        who = "together" if self.people == "same" else "of different people, for each of them"
        return f"{counted(self.reports, 'report')} {who}: " + ", ".join(map(str, self.found))


def compose(
    *mechanisms: Any,
    times: int = 1,
    prior: Prior | None = None,
    notions: Iterable[PrivacyNotion] | None = None,
    people: str = "same",
) -> Composition:
    """What independent reports about the same secret leak together.

    Where different people make them, each person's level is the largest of any report, not a sum.

    Parameters
    ----------
    mechanisms : Mechanisms or Designs with the same inputs
        One for each report. Of subset selections the levels are bounded. A plan for several columns
        is one report of all of them, about the combination of their values.
    times : int
        How often the whole list is reported.
    prior, notions : optional
        When left out, what each design was asked to keep, under its own prior; for bare mechanisms
        LDP, and PML with a prior.
    people : {"same", "different"}
        Whether one person makes all reports, or nobody makes more than one, as in the rounds of
        a survey. A kernel that was chosen by what others reported is one of its own.

    Returns
    -------
    Composition
        Exact levels of the product kernel, or upper bounds where it is too large to build; exact
        where people differ.

    Raises
    ------
    InputError
        For no mechanism, different inputs, or an impossible number of times.
    UnknownNameError
        For other people.

    Examples
    --------
    >>> import mechdesign as md
    >>> flip = md.Mechanism([[.75, .25], [.25, .75]])
    >>> print(md.compose(flip, times=2, prior=md.Prior([.5, .5])))
    2 reports together: LDP(2.19722), PML(0.587787)
    """
    if not mechanisms or not is_whole(times, 1, _MOST_TIMES):
        raise InputError(
            "composition",
            expected="at least one mechanism, once to 10^15 times",
            got=f"{len(mechanisms)} mechanisms, {quote(times)} times",
            remedy="pass what was reported",
        )
    if people not in ("same", "different"):
        raise UnknownNameError("people who report", people, ("same", "different"))
    mechanisms = tuple(one.together() if isinstance(one, KernelPlan) else one for one in mechanisms)
    if any(isinstance(one, SubsetSelection) for one in mechanisms):
        return _composed_by_ratio(mechanisms, int(times), notions, people)
    kernels = [mechanism_of(one) for one in mechanisms]
    for kernel in kernels[1:]:
        if kernel.inputs != kernels[0].inputs:
            raise InputError(
                "composition",
                expected=f"mechanisms with the inputs {kernels[0].inputs[:6]}",
                got=f"one with {kernel.inputs[:6]}",
                remedy="only reports about the same secret compose this way",
            )
    reports = [(kernel, n * int(times)) for kernel, n in _distinct(kernels)]
    product = _product(reports) if people == "same" else None
    found = []
    for notion, known in _once(_asked_of(mechanisms, prior, notions)):
        if people == "different":
            each = [notion.check(kernel, known).achieved for kernel, _ in reports]
            largest = tuple(max(levels) for levels in zip(*each, strict=True))
            found.append(ComposedLevel(notion, largest, exact=True))
        elif product is not None:
            levels = notion.check(product, known).achieved
            found.append(ComposedLevel(notion, tuple(levels), exact=True))
        else:
            found.append(ComposedLevel(notion, bounded_levels(notion, reports, known), exact=False))
    # Levels of one notion that agree under two priors are listed once.
    return Composition(sum(n for _, n in reports), tuple(dict.fromkeys(found)), people)


def _composed_by_ratio(
    mechanisms: Sequence[Any], times: int, notions: Any, people: str
) -> Composition:
    """Upper bounds from the largest likelihood ratios alone, for kernels without a matrix."""
    kernels = [kernel_of(one) for one in mechanisms]
    symbols = set(kernels[0].inputs)
    if any(set(kernel.inputs) != symbols for kernel in kernels[1:]):
        raise InputError(
            "composition",
            expected=f"mechanisms with the same {len(symbols)} inputs",
            got="others",
            remedy="only reports about the same secret compose this way",
        )
    asked = [notion for one in mechanisms for notion in getattr(one, "notions", ())]
    asked = list(as_notions(notions)) if notions is not None else asked or [LDP(math.inf)]
    logs = [
        one.log_ratio
        if isinstance(one, SubsetSelection)
        else LDP(math.inf).check(mechanism_of(one), Prior.uniform(one.inputs)).achieved[0]
        for one in kernels
    ]
    total = times * math.fsum(logs) if people == "same" else max(logs)
    least = min(_least_mass(one, 1 / len(symbols)) for one in kernels)
    found = [
        ComposedLevel(notion, levels_from_ratio(notion, total, least), exact=False)
        for notion, _ in _once((notion, None) for notion in asked)
    ]
    return Composition(times * len(kernels), tuple(found), people)


def levels_from_ratio(
    notion: PrivacyNotion, log_ratio: float, least_mass: float
) -> tuple[float, ...]:
    """Levels that hold where no two of the symbols have likelihoods further apart.

    With R = e^log_ratio and p the least mass of a symbol, a lift is at most 1/(p + (1 − p)/R), and
    at least the same of 1/R. Nothing needs to be known of p, which is 0 then.
    """
    own = -math.log(least_mass) if least_mass else math.inf
    known = {"ratio": log_ratio, "upper": own, "lower": math.inf}
    if log_ratio < math.inf:
        rest = math.log1p(-least_mass)
        known["upper"] = -float(np.logaddexp(-own, rest - log_ratio))
        known["lower"] = float(np.logaddexp(-own, rest + log_ratio))
    found: dict[int, float] = {}
    for kind, parameter, _ in asked_parts(notion):
        # Logarithms are rounded, generously.
        level = max(0.0, known[kind]) * (1 + 1e-12) + 1e-12
        found[parameter] = max(found.get(parameter, 0.0), level)
    return tuple(found[k] for k in sorted(found))


def _least_mass(kernel: Any, even: float) -> float:
    """The least mass of a symbol under what a selection was made for, 0 where that is not told."""
    if not isinstance(kernel, SubsetSelection):
        return even
    return 0.0 if kernel.prior is None else kernel.prior.pmin


def _once(asked: Iterable[tuple[PrivacyNotion, Any]]) -> list[tuple[PrivacyNotion, Any]]:
    """Each notion once under each prior, at the smallest levels that are asked: that is what all
    reports together keep or not, and they have one level, whatever each was asked to keep.
    """
    found: dict[tuple[PrivacyNotion, Any], PrivacyNotion] = {}
    for notion, known in asked:
        free = (notion.with_levels(*[math.inf] * len(notion.levels)), known)
        other = found.get(free, notion)
        found[free] = notion.with_levels(*map(min, notion.levels, other.levels))
    return [(notion, known) for (_, known), notion in found.items()]


def _asked_of(
    mechanisms: Sequence[Any], prior: Prior | None, notions: Any
) -> list[tuple[PrivacyNotion, Prior]]:
    """Which notions are asked, and under which priors."""
    known_priors = (getattr(one, "prior", None) for one in mechanisms)
    own = dict.fromkeys(prior for prior in known_priors if prior is not None)
    priors = list(own) if prior is None else [prior]
    first = mechanism_of(mechanisms[0])
    anything = Prior.uniform(first.inputs).with_schema(first.schema)
    if notions is None:
        # A public design holds no prior: notions that need none are kept, and LDP for the rest.
        found = [
            (notion, prior or getattr(one, "prior", None), one)
            for one in mechanisms
            for notion in getattr(one, "notions", ())
        ]
        pairs = [
            (notion, known or anything)
            for notion, known, _ in found
            if known is not None or not notion.uses_prior
        ]
        stated = any(getattr(one, "stated", ()) for one in mechanisms)
        if pairs and len(pairs) == len(found) and not stated:
            return list(dict.fromkeys(pairs))
        if pairs or found or stated:
            free = [(LDP(math.inf), anything)]
            known_ldp = any(isinstance(notion, LDP) for notion, _ in pairs)
            return list(dict.fromkeys([*pairs, *([] if known_ldp else free)]))
        notions = [LDP(math.inf)] + ([PML(math.inf)] if priors else [])
    # Without a prior any full one does for notions that need none.
    every = priors or [anything]
    return [(notion, known) for notion in as_notions(notions) for known in every]


def _product(reports: list[_Repeated]) -> Mechanism | None:
    """The kernel of all reports together, in any order; ``None`` if large."""
    used = [(_used(kernel), n) for kernel, n in reports]
    size = math.prod(math.comb(kernel.shape[1] + n - 1, n) for kernel, n in used)
    if size * used[0][0].shape[0] * sum(n for _, n in used) > _MOST_WORK:
        return None
    first, *rest = (repeated(kernel, n) for kernel, n in used)
    for other in rest:
        first = first.parallel(other)
    return first


def _used(kernel: Mechanism) -> Mechanism:
    """The kernel without outputs that never occur."""
    live = np.flatnonzero((kernel.weights != 0).any(axis=0))
    weights, outputs = kernel.weights[:, live], [kernel.outputs[y] for y in live]
    return Mechanism.over(weights, kernel.denominator, kernel.inputs, outputs, check=False)


def _distinct(kernels: list[Mechanism]) -> list[_Repeated]:
    """The different kernels and how often each is there; one object is compared once."""
    objects = {id(kernel): kernel for kernel in kernels}
    found: Counter[Mechanism] = Counter()
    for key, n in Counter(map(id, kernels)).items():
        found[objects[key]] += n
    return list(found.items())


def bounded_levels(
    notion: PrivacyNotion, reports: list[_Repeated], prior: Prior
) -> tuple[float, ...]:
    """Upper bounds on the levels of all reports together, from mechanisms and how often each runs.

    P(y|x)/P(y|x') of all reports is at most the product R of the largest ratios of each. Then
    (δ_x K)(y)/(νK)(y) ≤ 1/Σ_x' ν_x'/R[x,x'] for every outcome y, and a mixture μ lies below the
    largest of its parts. All in logarithms, which do not overflow.
    """
    if not isinstance(notion, LikelihoodBound):
        return (_sum_bounded(notion, reports, prior),) * len(notion.levels)
    logs = _log_ratios(reports)
    levels = [0.0] * len(notion.levels)
    for bound in notion.checked_bounds(prior):
        level = cone_rows(bound).implied_level(logs)
        levels[bound.parameter] = max(levels[bound.parameter], level)
    return tuple(levels)


def _sum_bounded(notion: PrivacyNotion, reports: list[_Repeated], prior: Prior) -> float:
    """An upper bound on the one level of an average or approximate notion; ``inf`` if unknown."""
    found = math.inf
    if not isinstance(notion, AverageNotion):
        return found
    if notion.below_ratio:
        found = float(_log_ratios(reports).max())
    if notion.adds_up:
        each = [(n, notion.check(kernel, prior).achieved[0]) for kernel, n in reports]
        found = min(found, math.fsum(n * level for n, level in each))
    if isinstance(notion, ApproximateLDP):
        found = min(found, approximate_level(reports, notion.delta))
    if notion.below_size:
        found = min(found, math.log(len(prior)))
    return found * (1 + _SLACK) + _SLACK


def _log_ratios(reports: list[_Repeated]) -> NDArray[np.float64]:
    """Logarithms of the largest likelihood ratios of all reports together, ``(N, N)``."""
    parts = [n * np.log(largest_ratios(kernel)) for kernel, n in reports]
    return np.asarray(np.sum(parts, axis=0))


def largest_ratios(mechanism: Mechanism) -> NDArray[np.float64]:
    """The largest P(y|x)/P(y|x') over the outcomes y, ``(N, N)``, rounded up; ``inf`` over 0."""
    kernel = mechanism.kernel
    found = np.ones((len(kernel), len(kernel)))
    for column in kernel.T:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = column[:, None] / column[None, :]
        np.maximum(found, np.where(column[:, None] > 0, ratio, 0), out=found)
    slack = 1 + 4 * np.finfo(float).eps + 2 * float(mechanism.row_error)
    return np.where(np.eye(len(kernel), dtype=bool), 1.0, found * slack)
