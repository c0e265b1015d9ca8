"""The problem: validated once at the door, so that nothing inside has to check again.

Symbols of zero mass leave here, unless a notion needs them, and come back here with the kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, PriorError, RequirementError, UtilityError, is_iterable, quote
from ..exact import DENOMINATOR_BITS
from ..labels import Label, counted, listing, name_outputs, name_subsets
from ..mechanism import Mechanism
from ..prior import Prior, as_prior
from ..privacy.notion import PrivacyNotion, as_notions
from ..privacy.rows import ConeRows, cone_rows
from ..privacy.sums import SumConstraint
from ..requirement.averages import LeastGain
from ..requirement.base import Limit, Requirement, as_requirements
from ..requirement.convex import Convex
from ..requirement.own import FewOutputs
from ..utility.base import Utility
from ..utility.estimation import Estimation
from ..utility.linear import LinearUtility, OutputUtility, checked_matrix, default_utility
from ..utility.sublinear import FInformation, SublinearUtility, check_sublinear
from ..utility.survey import Survey
from ..utility.worst_case import Alternative, WorstCase
from .enclosures import Enclosure
from .gains import LARGE, GainsByOutput
from .program import LARGEST_GAIN, Cone, EstimationProgram, LinearProgram, Program, SublinearProgram
from .worst import LeastProgram, WorstTruthProgram

Vector = NDArray[np.float64]

#: Smallest positive mass of a symbol that floats can work with beside others.
SMALLEST_MASS = 1e-200
#: Seconds that a search takes at most when nothing is said.
DEFAULT_LIMIT = 60.0
# Deviations of lifts from one that floats would know to few digits, and how many units of weight
# rounding may move an entry by.
_NEAR_ONE, _UNITS = 1e-6, 1.0
#: Entries of the largest kernel that is designed: symbols times outputs.
LARGEST_KERNEL = 10**8


@dataclass(frozen=True)
class Problem:
    """What a design is asked for, and the program that it amounts to.

    Attributes
    ----------
    prior : the prior as given
    utility, notions : what is maximised, what must hold
    outputs : output labels; none for utilities whose outputs the design finds (sub-convex ones and
        estimation), unless a kernel with labels is given
    program : over the support of the prior, or all its symbols where a notion needs that
    asked_by : the notion or requirement that each part of the cone belongs to
    sums_asked_by : the notion that each constraint on a sum belongs to
    requirements : what else must hold
    limits_asked_by : the requirement that each limit of the program belongs to
    zeros : the requirement that asks for entries that are zero, and positions of these, ``(E, 2)``
    """

    prior: Prior
    utility: Utility
    notions: tuple[PrivacyNotion, ...]
    outputs: tuple[Label, ...]
    program: Program
    asked_by: tuple[PrivacyNotion | Requirement, ...]
    sums_asked_by: tuple[PrivacyNotion, ...]
    requirements: tuple[Requirement, ...] = ()
    limits_asked_by: tuple[Requirement, ...] = ()
    zeros: tuple[tuple[Requirement, NDArray[np.intp]], ...] = ()

    @property
    def kept(self) -> NDArray[np.intp]:
        """Positions of the symbols designed for."""
        whole = len(self.program.prior) == len(self.prior)
        return np.arange(len(self.prior)) if whole else self.prior.support

    def kept_weights(self, mechanism: Mechanism) -> NDArray[Any]:
        """Integer weights of the rows designed for."""
        whole = len(self.kept) == len(self.prior)
        return mechanism.weights if whole else mechanism.weights[self.kept]

    def on_kept(self, mechanism: Mechanism) -> Mechanism:
        """The mechanism on the symbols designed for alone."""
        labels = self.program.prior.labels
        weights = self.kept_weights(mechanism)
        return Mechanism.over(weights, mechanism.denominator, labels, mechanism.outputs)

    def enclose(self, mechanism: Mechanism) -> Enclosure | None:
        """Utility of a mechanism, exact or between two rationals; ``None`` where floats fail."""
        return self.program.enclose(self.kept_weights(mechanism), mechanism.bits)

    def mechanism(self, weights: NDArray[np.int64]) -> Mechanism:
        """:meth:`labelled`, with the names of the columns that the prior is about."""
        return self.labelled(weights).with_schema(self.prior.schema)

    def labelled(self, weights: NDArray[np.int64]) -> Mechanism:
        """The mechanism over all symbols, those of zero mass included, with its labels.

        For a linear utility a symbol of zero mass gets a copy of the row that serves it best, for
        estimates that of the likeliest symbol of which the same is asked. For others, and where
        there is none, it gets that of the most likely symbol. Outputs of positive weight are named
        by the symbols that are more likely given them, or for estimates by those that they report.
        """
        if isinstance(self.program, LinearProgram):
            full = self._completed(weights)
            return Mechanism.from_weights(full, DENOMINATOR_BITS, self.prior.labels, self.outputs)
        prior, p = self.prior, self.program.prior.probabilities
        used = np.flatnonzero(weights.any(axis=0))
        named = len(self.outputs) == weights.shape[1]
        weights = weights[:, used]
        if named:
            labels: Sequence[Label] = [self.outputs[y] for y in used.tolist()]
        else:
            is_set = isinstance(self.program, EstimationProgram)
            name = name_subsets if is_set else name_outputs
            labels = name(self.program.prior.labels, *_deviations(weights, self.program.prior))
        full = np.empty((len(prior), weights.shape[1]), dtype=np.int64)
        full[:] = weights[int(np.argmax(p))]
        full[prior.support] = weights
        if isinstance(self.utility, Estimation) and not prior.has_full_support:
            for x, other in self.utility.counterparts(prior).items():
                full[x] = full[x if other is None else other]
        return Mechanism.from_weights(full, DENOMINATOR_BITS, prior.labels, labels)

    def _completed(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        prior = self.prior
        if len(self.program.prior) == len(prior):
            return weights
        utility = self.utility
        full = np.empty((len(prior), weights.shape[1]), dtype=np.int64)
        full[prior.support] = weights
        kernel = np.ldexp(weights.astype(np.float64), -DENOMINATOR_BITS)
        for i in np.setdiff1d(np.arange(len(prior)), prior.support):
            if isinstance(utility, WorstCase):
                served = (kernel @ utility.gains_of(int(i), prior, self.outputs).T).min(axis=1)
            else:
                assert isinstance(utility, LinearUtility)
                used = np.arange(kernel.shape[1])
                if utility.is_by_output and kernel.size > LARGE:
                    used = np.flatnonzero(weights.any(axis=0))
                gains = utility.gains(prior, [self.outputs[y] for y in used])
                served = kernel[:, used] @ gains[i]
            full[i] = weights[int(np.argmax(served))]
        return full

    def __str__(self) -> str:
        size = f"{counted(len(self.program.prior), 'symbol')}"
        if isinstance(self.program, LinearProgram):
            size += f" × {counted(len(self.outputs), 'output')}"
        asked = ", ".join(map(str, (*self.notions, *self.requirements)))
        return f"{size}, {asked}, {self.utility!r}"


def _deviations(weights: NDArray[np.int64], prior: Prior) -> tuple[Vector, Vector]:
    """Deviations of the lifts of a kernel from one, ``(n, M)``, and what a unit of weight makes of
    them, ``(M,)``. Where lifts are near one, deviations are those of exact numbers.
    """
    kernel = weights.astype(np.float64)
    shares = prior.probabilities @ kernel
    found = kernel / shares - 1
    near = np.flatnonzero(np.abs(found).max(axis=0) < _NEAR_ONE)
    if near.size:
        some = weights[:, near].astype(object)
        exact = np.array(prior.weights, dtype=object) @ some
        found[:, near] = ((some * prior.total - exact) / exact).astype(np.float64)
    return found, _UNITS / shares


def state_problem(
    prior: Prior,
    utility: Utility | None,
    privacy: Any,
    outputs: Any = None,
    time_limit: float | None = None,
    subject_to: Any = (),
) -> Problem:
    """Coerce and validate everything a design is asked with.

    A utility of ``None`` is that of :func:`default_utility`.

    Raises
    ------
    PriorError, UtilityError, LevelError, RequirementError
        With what was expected, what came, and what to do.
    """
    as_prior(prior)
    if utility is None:
        utility = default_utility(prior)
    notions = as_notions(privacy)
    requirements = as_requirements(subject_to)
    if not isinstance(utility, Utility):
        got = utility.__name__ + " (the class)" if isinstance(utility, type) else quote(utility)
        raise UtilityError(
            "utility",
            expected="a utility such as md.utility.Hamming()",
            got=got,
            remedy="make an instance; md.utility.Matrix(u) takes any matrix",
        )
    finds_outputs = isinstance(utility, (SublinearUtility, Estimation))
    if not (finds_outputs or isinstance(utility, (LinearUtility, WorstCase))):
        raise UtilityError(
            "utility",
            expected="a linear or a sublinear utility",
            got=quote(utility),
            remedy="derive it from LinearUtility (a matrix of gains) or SublinearUtility (a convex "
            "function of a column)",
        )
    limit = check_limit(time_limit)
    if isinstance(utility, Estimation) and not is_iterable(outputs) and outputs is not None:
        requirements, outputs = (*requirements, FewOutputs(outputs)), None
    for requirement in requirements:
        if requirement.apart(prior):
            _check_apart(requirement, prior, utility, requirements)
    if finds_outputs and outputs is not None:
        raise UtilityError(
            f"outputs for {quote(utility)}",
            expected="none, as the outputs are found by the design"
            + (", or how many there may be" if isinstance(utility, Estimation) else ""),
            got=quote(outputs),
            remedy="leave them out, or limit their number (outputs=4, --require outputs:4); rename "
            "outputs of the mechanism afterwards"
            if isinstance(utility, Estimation)
            else "leave them out; merge or rename outputs of the mechanism afterwards",
        )
    gains: NDArray[np.float64] | GainsByOutput | None = None
    alternatives: tuple[Alternative, ...] = ()
    labels: tuple[Label, ...] = ()
    check_size(len(prior), len(prior), "symbols")
    if isinstance(utility, OutputUtility):
        labels = utility.checked_labels(prior, outputs)
        check_size(len(prior), len(labels), "outputs")
    if isinstance(utility, LinearUtility):
        large = len(prior) * len(labels) > LARGE and utility.is_by_output and not requirements
        if large:
            gains = GainsByOutput(utility, prior, labels, np.arange(len(prior)))
        else:
            gains = _checked_gains(prior, utility, labels)
    elif isinstance(utility, WorstCase):
        gains = np.zeros((len(prior), len(labels)))
        alternatives = _checked_alternatives(prior, utility, labels)
        requirements = as_requirements((*requirements, *_goals(prior, utility, labels)))
    elif far := next((r for r in requirements if not _suits(r, prior, utility)), None):
        raise RequirementError(
            f"{far} with {quote(utility)}",
            expected="one on every output alike, as the outputs the design finds have no names",
            got=far.named,
            remedy="md.require.lift, posterior, ratio and every_output ask it of every output, "
            "relative to how likely that is, and apart that symbols share no output; or use "
            "md.utility.Hamming() or another linear utility, whose outputs have names",
        )
    requirements = tuple(
        part for requirement in requirements for part in requirement.stated(prior, labels)
    )
    convex = tuple(r for r in requirements if isinstance(r, Convex))
    asked = [
        (requirement, limit.without_zeros())
        for requirement in requirements
        for limit in requirement.limits(prior, labels)
    ]
    whole = not prior.has_full_support and bool(
        any(n.covers_zero_mass for n in notions)
        or convex
        or any((~np.isin(limit.symbols, prior.support)).any() for _, limit in asked)
        or any(b.is_about_more_than(prior) for r in requirements for b in r.bounds(prior))
    )
    inner = prior if whole else prior.restricted()
    if whole and finds_outputs:
        raise PriorError(
            f"prior of a design for {quote(utility)}",
            expected="positive masses, as the notions tie symbols of zero mass to the others",
            got=f"{int((prior.probabilities == 0).sum())} of {len(prior)} symbols with zero mass",
            remedy="leave those symbols out, or give them a small mass",
        )
    if inner.pmin < SMALLEST_MASS:
        rare = prior.labels[min(prior.support, key=lambda i: prior.weights[i])]
        raise PriorError(
            "prior of a design",
            expected=f"masses of zero or at least {SMALLEST_MASS:g}",
            got=f"{inner.pmin:.3g} for {quote(rare)}",
            remedy="give the symbol zero mass, or merge it with another",
        )
    for notion in notions:
        notion.check_labels(prior)
    wished = ask(notions, inner, requirements)
    common = (
        inner,
        Cone(inner, tuple(rows for _, rows in wished.cone)),
        tuple(constraint for _, constraint in wished.sums),
        tuple(str(notion) for notion, _ in wished.sums),
        tuple(map(str, wished.unexpressed)),
        limit,
    )
    program: Program
    if gains is not None:
        whole = whole or prior.has_full_support
        symbols = np.arange(len(prior)) if whole else prior.support
        limits = [(asker, limit.on(symbols, len(prior))) for asker, limit in asked]
        forbidden = forbidden_entries([limit for _, limit in limits], common[1], len(labels))
        zeros = tuple(
            (asker, np.column_stack([limit.symbols, limit.outputs]))
            for asker, limit in limits
            if limit.forbids
        )
        limits = [(asker, limit) for asker, limit in limits if not limit.forbids]
        held = tuple(limit for _, limit in limits)
        few = _fewest(requirements)
        few = few if few is not None and few < len(labels) else None
        some = (
            replace(gains, symbols=symbols) if isinstance(gains, GainsByOutput) else gains[symbols]
        )
        program = LinearProgram(*common, some, forbidden, held, few, convex)
        if isinstance(gains, GainsByOutput):
            # Every gain is looked at once, and must be finite.
            _check_largest(program.largest_gain, utility)
        if alternatives:
            place = np.full(len(prior), -1)
            place[symbols] = np.arange(len(symbols))
            placed = tuple(replace(one, symbols=place[one.symbols]) for one in alternatives)
            program = LeastProgram(*common, some, forbidden, held, few, convex, alternatives=placed)
    elif isinstance(utility, Estimation):
        survey, truths = _checked_survey(prior, utility), utility.truths(prior)
        few = _checked_count(survey, requirements)
        program = (
            EstimationProgram(*common, utility, survey, few, _apart(requirements, inner))
            if truths is None
            else WorstTruthProgram(*common, utility, survey, few, truths=truths)
        )
        limits, zeros = [], ()
    else:
        assert isinstance(utility, SublinearUtility)
        if not isinstance(utility, FInformation):
            check_sublinear(utility, inner)
        program = SublinearProgram(*common, utility)
        limits, zeros = [], ()
    return Problem(
        prior,
        utility,
        notions,
        labels,
        program,
        tuple(asker for asker, _ in wished.cone),
        tuple(notion for notion, _ in wished.sums),
        requirements,
        tuple(asker for asker, _ in limits),
        zeros,
    )


def designable(problem: Problem) -> Problem:
    """The problem, where a kernel can be designed for it and not only examined.

    Raises :class:`PriorError` where symbols without mass would share the row of another symbol
    that estimates should tell them from.
    """
    prior = problem.prior
    if isinstance(problem.utility, Estimation) and len(problem.program.prior) < len(prior):
        alike = problem.utility.counterparts(prior)
        untold = [prior.labels[x] for x, other in alike.items() if other is None]
        if untold:
            raise PriorError(
                "prior of a design for estimates",
                expected="mass for every symbol that estimates should tell from the others",
                got=f"none for {listing(untold)}",
                remedy="leave symbols that do not occur out of the prior (Prior.restricted), or "
                "give those that may occur a little mass, such as half a count",
            )
    return problem


def _check_apart(
    asked: Requirement, prior: Prior, utility: Utility, requirements: Iterable[Requirement]
) -> None:
    """Raise :class:`RequirementError` where symbols that share no output cannot be designed for."""
    remedy = "use md.utility.Estimation() at one truth, with any number of outputs"
    if not isinstance(utility, Estimation):
        got = quote(utility)
        remedy += ", or name which symbol is not reported as which output: md.require.zero(x, y)"
    elif utility.truths(prior) is not None:
        got = "the worst of several truths"
    elif _fewest(requirements) is not None:
        got = "a limit on the number of outputs"
    elif not all(prior.weights[x] for pair in asked.apart(prior) for x in pair):
        got, remedy = "symbols of zero mass among them", "leave those out"
    else:
        return
    raise RequirementError(
        str(asked),
        expected="a design for estimates at one truth, of symbols of positive mass",
        got=got,
        remedy=remedy,
    )


def _apart(requirements: Iterable[Requirement], prior: Prior) -> frozenset[tuple[int, int]]:
    return frozenset(pair for r in requirements for pair in r.apart(prior))


def _suits(requirement: Requirement, prior: Prior, utility: Utility) -> bool:
    """Whether a requirement means something where the design finds the outputs.

    As many outputs as there are symbols suffice for any sub-convex utility.
    """
    if requirement.apart(prior):
        return isinstance(utility, Estimation)
    most = requirement.most_outputs
    enough = 1 if isinstance(utility, Estimation) else len(prior)
    return requirement.is_local or (most is not None and most >= enough)


def _fewest(requirements: Iterable[Requirement]) -> int | None:
    """How many outputs may occur; ``None`` for any number."""
    counts = [r.most_outputs for r in requirements if r.most_outputs is not None]
    return min(counts) if counts else None


def _checked_count(survey: Survey, requirements: Iterable[Requirement]) -> int | None:
    few = _fewest(requirements)
    if few is not None and few < (least := survey.fewest_outputs):
        raise RequirementError(
            "number of outputs",
            expected=f"at least {least}, which it takes to answer what is asked",
            got=str(few),
            remedy="allow more outputs, or ask for less",
        )
    return few


def _checked_survey(prior: Prior, utility: Estimation) -> Survey:
    found = utility.survey(prior)
    if found.asks_nothing and len(found) > 1:
        raise UtilityError(
            "questions of an estimation",
            expected="answers that depend on the distribution",
            got="coefficients that are the same for all symbols of positive mass",
            remedy="give symbols that should be told apart different coefficients",
        )
    return found


def forbidden_entries(limits: list[Limit], cone: Cone, outputs: int) -> NDArray[np.bool_] | None:
    """Entries that limits leave no value but zero, and those that follow in the cone."""
    found = np.zeros((len(cone.prior), outputs), dtype=bool)
    for limit in limits:
        if limit.forbids:
            found[limit.symbols, limit.outputs] = True
    return cone.closed(found) if found.any() else None


@dataclass(frozen=True, eq=False)
class AskedOf:
    """What is asked of a kernel on the symbols of one prior, each part with who asks it.

    Attributes
    ----------
    cone : rows that every column satisfies
    sums : constraints on sums over outcomes
    unexpressed : notions that have no such form
    """

    cone: tuple[tuple[PrivacyNotion | Requirement, ConeRows], ...]
    sums: tuple[tuple[PrivacyNotion, SumConstraint], ...]
    unexpressed: tuple[PrivacyNotion, ...]


def ask(
    notions: Iterable[PrivacyNotion], prior: Prior, requirements: Iterable[Requirement] = ()
) -> AskedOf:
    """Rows and sums of several notions, and what requirements ask of every outcome alike, for a
    prior over the symbols of the kernel.
    """
    cone: list[tuple[PrivacyNotion | Requirement, ConeRows]] = []
    sums: list[tuple[PrivacyNotion, SumConstraint]] = []
    unexpressed = []
    for notion in notions:
        found = notion.constraints(prior)
        if found is None:
            unexpressed.append(notion)
        else:
            cone += [(notion, rows) for rows in found.cone]
            sums += [(notion, constraint) for constraint in found.sums]
    cone += [(r, cone_rows(bound)) for r in requirements for bound in r.bounds(prior)]
    # Some of several stay in, as saved dual variables are told apart by their order.
    if all(constraint.is_implied for _, constraint in sums):
        sums = []
    return AskedOf(tuple(cone), tuple(sums), tuple(unexpressed))


def _checked_gains(
    prior: Prior, utility: LinearUtility, labels: tuple[Label, ...]
) -> NDArray[np.float64]:
    gains = checked_matrix(
        utility.gains(prior, labels), (len(prior), len(labels)), f"gains of {utility!r}"
    )
    _check_largest(max(float(gains.max()), -float(gains.min())), utility)
    return gains


def _checked_alternatives(
    prior: Prior, utility: WorstCase, labels: tuple[Label, ...]
) -> tuple[Alternative, ...]:
    found = utility.alternatives(prior, labels)
    for one in found:
        scale = max(float(sum(one.factors)), 1.0)
        _check_largest(scale * float(np.abs(one.gains).max()), utility)
    return found


def _goals(prior: Prior, utility: WorstCase, labels: tuple[Label, ...]) -> Iterator[LeastGain]:
    for goal in utility.goals(prior, labels):
        name = f"the expected gain of utility {goal.number}"
        rows = tuple(map(tuple, goal.gains.tolist()))
        yield LeastGain(rows, goal.least, goal.masses, name)


def _check_largest(largest: float, utility: Utility) -> None:
    if not largest <= LARGEST_GAIN:
        raise UtilityError(
            f"gains of {quote(utility)}",
            expected=f"numbers of size at most {LARGEST_GAIN:g}",
            got=f"{largest:.3g}",
            remedy="divide the gains by a constant",
        )


def check_size(symbols: int, others: int, what: str) -> None:
    """Refuse, before anything is made, a kernel that no memory would hold."""
    if symbols * others > LARGEST_KERNEL:
        raise InputError(
            "design",
            expected=f"at most {LARGEST_KERNEL:,} entries of a kernel",
            got=f"{symbols:,} symbols × {others:,} {what}",
            remedy="merge symbols into groups first",
        )


def check_limit(limit: float | None) -> float:
    """A time limit in seconds, the usual one for ``None``; :class:`InputError` for what is none."""
    if limit is None:
        return DEFAULT_LIMIT
    numeric = isinstance(limit, (int, float)) and not isinstance(limit, bool)
    if not numeric or not limit > 0:
        raise InputError(
            "time limit",
            expected="a positive number of seconds",
            got=quote(limit),
            remedy="leave it out, or pass for example time_limit=60",
        )
    return float(min(limit, sys.maxsize))
