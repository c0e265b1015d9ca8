"""``extremal``: closed-form mechanisms, with what they are optimal for and on which condition.

Also by themselves: randomised response and binary mechanisms for LDP ([Kairouz2016]), and the
window mechanism.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..certificate.certificate import repaired, serves_all
from ..certificate.columns.families import Columns, Family, LiftFamily, StaircaseFamily, family_of
from ..errors import NoMethodError, PriorError
from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy import LDP
from ..privacy.constraint import Rounding
from ..privacy.notion import PrivacyNotion
from ..program.problem import Problem, state_problem
from ..program.program import SublinearProgram
from ..utility.sublinear import MutualInformation, SublinearUtility
from ._design import find_design
from .closed_form import ALMOST, EVERY, SIMPLICES, simplex_case, simplex_kernel
from .column_generation.master import mixed_kernel
from .column_generation.window import Window

Vector = NDArray[np.float64]

_AGREE = 1e-9
_SUBSETS = 16


@dataclass(frozen=True)
class Extremal:
    """A closed-form mechanism and what is known about it.

    Attributes
    ----------
    mechanism : the kernel, exactly private
    name : of the closed form
    optimal_for : utilities that no private kernel serves better, as text
    condition : under which that holds, checked for this prior and level
    source : key into the bibliography; empty where it was derived for this project
    """

    mechanism: Mechanism
    name: str
    optimal_for: str
    condition: str
    source: str

    def __str__(self) -> str:
        cited = f" [{self.source}]" if self.source else ""
        return (
            f"{self.name}: {self.optimal_for}, as {self.condition}{cited}\n"
            f"{self.mechanism.to_text()}"
        )


def extremal(prior: Prior, privacy: Any, utility: SublinearUtility | None = None) -> Extremal:
    """The closed-form mechanism for a prior and a notion, where there is one.

    - Where posteriors fill a simplex (two symbols; PML in the high-privacy regime; PMC at every
      level; LIP and ALIP that amount to one of these): optimal for every sub-convex utility.
    - Uniform prior and PML, LIP or ALIP: circulant columns, optimal for every f-information.
    - Uniform prior and LDP: subset selection with the best size for the utility ([YeBarg2018]).
    - Any prior and LDP: randomised response or the best binary mechanism where it is optimal for
      the utility; that is checked against the bound of a design.

    Parameters
    ----------
    utility : mutual information when left out; matters for LDP only

    Raises
    ------
    NoMethodError
        Where no closed form is optimal, with the reasons; use :func:`design` then.

    Examples
    --------
    >>> import mechdesign as md
    >>> found = extremal(md.Prior([.5, .3, .2]), md.PMC(1))
    >>> found.name, found.optimal_for
    ('extremal-pmc', 'optimal for every sub-convex utility at once')
    """
    problem = state_problem(prior, utility or MutualInformation(), privacy)
    program = problem.program
    if not isinstance(program, SublinearProgram):
        raise NoMethodError(str(problem), {"extremal": "it is for sub-convex utilities"})
    kernel, name = simplex_kernel(program, Rounding.INSIDE), simplex_case(program, Rounding.INSIDE)
    if kernel is not None and name is not None:
        method = next(m for m in SIMPLICES if m.name == name)
        mechanism = _exact(problem, kernel)
        scope = EVERY if serves_all(prior, problem.notions, mechanism) else ALMOST
        return Extremal(mechanism, name, scope, method.reason, method.source)
    reasons = {method.name: method.refusal(program) or "" for method in SIMPLICES}
    family = family_of(program)
    if isinstance(family, str):
        reasons["uniform"] = family
        raise NoMethodError(str(problem), reasons)
    if len(family.groups) == 1:
        return _uniform(problem, family)
    reasons["uniform"] = "the prior is not uniform"
    if isinstance(family, StaircaseFamily):
        return _ldp(problem, family, reasons)
    raise NoMethodError(str(problem), reasons)


def _uniform(problem: Problem, family: Family) -> Extremal:
    n = len(problem.program.prior)
    if isinstance(family, LiftFamily):
        whole = np.floor(family.capacity / family.units[0] + 1e-12)
        rest = max(family.capacity - whole * family.units[0], 0.0)
        columns = Columns(np.array([[whole]]), np.array([0]), np.array([rest]))
        name, source = "circulant", "GrosseID"
        scope = "optimal for every f-information, and for every symmetric sub-convex utility"
        condition = "the prior is uniform and each extreme column is a permutation of one"
    else:
        assert isinstance(family, StaircaseFamily)
        sizes = np.arange(1, n)
        best = int(sizes[np.argmax(family.value_at(sizes / n * family.capacity))])
        columns = Columns.whole(np.array([[float(best)]]))
        name, source = f"subset selection of size {best}", "YeBarg2018"
        scope = f"optimal for {problem.utility!r}"
        condition = "the prior is uniform and no other subset size has a larger value"
    shares, table = (np.array(part) for part in zip(*family.patterns(columns, 0), strict=True))
    return Extremal(_exact(problem, mixed_kernel(table, shares)), name, scope, condition, source)


def _ldp(problem: Problem, family: StaircaseFamily, reasons: dict[str, str]) -> Extremal:
    """Randomised response or a binary mechanism, where it reaches the bound of a design."""
    found = find_design(problem.prior, problem.utility, problem.notions)
    candidates = {
        "randomised response": _responses(problem, family.excess),
        "binary mechanism": _best_binary(problem, family),
    }
    for name, mechanism in candidates.items():
        value = problem.program.value(mechanism.kernel[problem.prior.support])
        if value >= found.value - _AGREE * abs(found.value) and found.certificate.is_optimal:
            condition = (
                f"its value {value:.9g} reaches what a certified design has ({found.bound:.9g})"
            )
            return Extremal(
                mechanism, name, f"optimal for {problem.utility!r}", condition, "Kairouz2016"
            )
        reasons[name] = f"its value is {value:.9g}, and a design has {found.value:.9g}"
    raise NoMethodError(str(problem), reasons)


def _responses(problem: Problem, excess: float) -> Mechanism:
    n = len(problem.program.prior)
    kernel = np.full((n, n), 1 / (n + excess))
    kernel[np.diag_indices(n)] *= 1 + excess
    return _exact(problem, kernel)


def _best_binary(problem: Problem, family: StaircaseFamily) -> Mechanism:
    """Two outputs, for a set of symbols and the rest, with the set of the largest value."""
    n = len(problem.program.prior)
    p = problem.program.prior.probabilities
    order = np.argsort(-p, kind="stable")
    listed = order[: min(n, _SUBSETS)]
    sets = ((np.arange(1 << len(listed))[:, None] >> np.arange(len(listed))) & 1).astype(bool)
    table = np.zeros((len(sets), n), bool)
    table[:, listed] = sets
    for i in order[len(listed) :]:  # the small ones fill up the lighter half
        table[:, i] = table @ p < 0.5
    high = (1 + family.excess) / (2 + family.excess)
    kernels = (_flipped(inside, high) for inside in table[: len(table) // 2])
    return _exact(problem, max(kernels, key=problem.program.value))


def _flipped(inside: NDArray[np.bool_], high: float) -> Vector:
    """Whether a symbol is in a set, told rightly with probability ``high``."""
    return np.where(inside[:, None], [high, 1 - high], [1 - high, high])


def _exact(problem: Problem, kernel: Vector) -> Mechanism:
    weights, _ = repaired(problem, kernel)
    return problem.mechanism(weights)


def randomised_response(prior: Prior, epsilon: float) -> Mechanism:
    """ε-LDP randomised response: the truth with probability e^ε/(e^ε + N − 1) ([Kairouz2016]).

    >>> import mechdesign as md
    >>> randomised_response(md.Prior([.5, .5], ["no", "yes"]), 1).kernel.round(4)
    array([[0.7311, 0.2689],
           [0.2689, 0.7311]])
    """
    problem = _stated(prior, LDP(epsilon))
    sides, n = problem.program.sides, len(problem.program.prior)
    if n == 1 or sides is None or np.isinf(sides.ratio):
        return _exact(problem, np.eye(n))
    return _responses(problem, sides.ratio - 1)


def binary_mechanism(prior: Prior, epsilon: float, raised: Iterable[Any]) -> Mechanism:
    """ε-LDP report of whether the symbol is in a set, flipped with probability 1/(1 + e^ε).

    Parameters
    ----------
    raised : labels of the set
    """
    labels = set(raised)
    unknown = labels.difference(prior.labels)
    if unknown or not labels or len(labels) == len(prior):
        raise PriorError(
            "set of a binary mechanism",
            expected="some but not all symbols of the prior",
            got=f"{sorted(map(str, labels))[:6]}",
            remedy=f"name some of {list(prior.labels)[:6]}",
        )
    problem = _stated(prior, LDP(epsilon))
    sides = problem.program.sides
    ratio = np.inf if sides is None else sides.ratio
    high = 1.0 if np.isinf(ratio) else ratio / (1 + ratio)
    inside = np.array([label in labels for label in problem.program.prior.labels])
    return _exact(problem, _flipped(inside, high))


def window_mechanism(prior: Prior, privacy: PrivacyNotion) -> Mechanism:
    """The window mechanism: near-optimal mutual information for many symbols, without a search.

    Raises :class:`NoMethodError` where the notion is not a box of lifts or an LDP level.
    """
    problem = _stated(prior, privacy)
    method = Window()
    refusal = method.refusal(problem.program)
    if refusal is not None:
        raise NoMethodError(str(problem), {method.name: refusal})
    assert isinstance(problem.program, SublinearProgram)
    return _exact(problem, method.solve(problem.program).kernel)


def _stated(prior: Prior, privacy: Any) -> Problem:
    return state_problem(prior, MutualInformation(), privacy)
