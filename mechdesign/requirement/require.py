"""``md.require``: what else must hold of a kernel, for ``subject_to=`` of a design.

>>> import mechdesign as md
>>> prior = md.Prior([.5, .3, .2], labels=["a", "b", "c"])
>>> found = md.design(prior, md.utility.Hamming(), md.PML(.5), subject_to=md.require.invariant())
>>> bool(abs(found.mechanism.output_distribution(prior) - prior.probabilities).max() < 1e-12)
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import RequirementError, is_iterable, listed, quote
from ..labels import check_labels
from .averages import Cost, EqualError, Invariant, OutputShare, Unbiased
from .base import as_requirements, finite
from .convex import CONVEX_TOLERANCE, OwnConstraints
from .entries import EVERY, Diagonal, Entry, Pattern, Within
from .local import Apart, EveryOutput, Posterior
from .order import Monotone, Symmetric
from .own import FewOutputs, Rows

__all__ = [
    "apart",
    "as_requirements",
    "at_least",
    "at_most",
    "cost",
    "cvxpy",
    "diagonal",
    "equal_error",
    "every_output",
    "invariant",
    "lift",
    "monotone",
    "output",
    "outputs",
    "posterior",
    "ratio",
    "rows",
    "symmetric",
    "unbiased",
    "zero",
]


def zero(
    x: Any = None,
    y: Any = None,
    *,
    pattern: Any = None,
    farther_than: float | None = None,
    distance: Any = None,
) -> Entry | Pattern | Within:
    """Entries that are zero: P(y | x) = 0.

    Parameters
    ----------
    x, y : labels of a symbol and an output; ``None`` for every one
    pattern : (N, M) matrix; P(y | x) = 0 wherever it is zero
    farther_than : P(y | x) = 0 wherever y is farther from x than this: by ``distance``, an (N, M)
        matrix, or |x − y| of labels that are numbers, or else of their positions

    An entry that is zero may force others: under LDP an outcome that one symbol never causes is
    one that none may cause.
    """
    given = [pattern is not None, farther_than is not None, not (x is None and y is None)]
    if sum(given) != 1:
        raise RequirementError(
            "zero",
            expected="labels x and y, or pattern=, or farther_than=",
            got="none of them" if not any(given) else "several of them",
            remedy="give one; a list may hold several requirements",
        )
    if distance is not None and farther_than is None:
        raise RequirementError(
            "zero", expected="farther_than= with distance=", got="none", remedy="add the limit"
        )
    if pattern is not None:
        return Pattern(pattern)
    if farther_than is not None:
        return Within(farther_than, distance)
    return Entry(_label(x), _label(y), None, 0.0)


def at_least(x: Any, y: Any, value: float) -> Entry:
    """P(y | x) ≥ value for a symbol and an output; ``None`` stands for every one."""
    return Entry(_label(x), _label(y), value, None)


def at_most(x: Any, y: Any, value: float) -> Entry:
    """P(y | x) ≤ value for a symbol and an output; ``None`` stands for every one."""
    return Entry(_label(x), _label(y), None, value)


def diagonal(
    at_least: float | Mapping[Any, float] | None = None,
    at_most: float | Mapping[Any, float] | None = None,
) -> Diagonal:
    """P(x | x) between two ends, for every symbol or, with dicts, for those that are named."""
    low, high = ({EVERY: v} if not isinstance(v, Mapping) else dict(v) for v in (at_least, at_most))
    return Diagonal(
        tuple(
            (label, low.get(label), high.get(label))
            for label in dict.fromkeys([*low, *high])
            if low.get(label) is not None or high.get(label) is not None
        )
        or ((EVERY, None, None),)
    )


def cost(matrix: Any, limit: float, *, each: bool = False) -> Cost:
    """Σ p_x c_xy K_xy ≤ limit for an (N, M) matrix c; with ``each``, Σ_y c_xy K_xy for every x."""
    return Cost(matrix, limit, each)


def invariant(tolerance: float | None = None) -> Invariant:
    """The marginal is kept, pᵀK = p: each output is as frequent as the symbol of its name.

    Within ``tolerance``, 1e-12 when left out, as weights over 2**53 cannot hold it exactly.
    """
    return Invariant(tolerance)


def output(y: Any, low: float = 0.0, high: float = 1.0) -> OutputShare:
    """The share of an output lies between two ends: low ≤ P(Y = y) ≤ high."""
    if y is None:
        raise RequirementError(
            "output",
            expected="the label of an output",
            got="None",
            remedy="ask it of each output; at_least(None, y, value) is about every symbol",
        )
    return OutputShare(_label(y), low, high)


def outputs(at_most: int) -> FewOutputs:
    """At most so many of the outputs occur; the design finds which.

    That is a choice among subsets of outputs, found by branch and bound over linear programs. The
    bound of the certificate is the largest that is proved for a part of the search, so the gap is
    what it left open: nothing, where it came to its end. For estimates the design finds outputs
    instead, and the bound is that of any number of them: the gap is what the limit may cost.
    """
    return FewOutputs(at_most)


def equal_error(
    groups: Iterable[Iterable[Any]], tolerance: float, *, costs: Any = None
) -> EqualError:
    """No group is served worse: P(Y ≠ X | group) of all groups within ``tolerance`` of each other.

    With an (N, M) matrix ``costs`` the mean cost of each group takes the place of its error.
    """
    remedy = "list the symbols of each group, as in [['a', 'b'], ['c']]"
    asked = [
        listed(group, "groups", "lists of symbols", RequirementError, remedy)
        for group in listed(groups, "groups", "lists of symbols", RequirementError, remedy)
    ]
    return EqualError(tuple(tuple(map(_label, group)) for group in asked), tolerance, costs)


def unbiased(values: Mapping[Any, float], tolerance: float | None = None) -> Unbiased:
    """E[value(Y) | x] = value(x) for every symbol, for values by label.

    Within ``tolerance``, 1e-12 of the largest value when left out, but of one at least: for values
    far below one give one of your own.
    """
    if not isinstance(values, Mapping):
        raise RequirementError(
            "unbiased",
            expected="a dict of labels to values",
            got=quote(values),
            remedy="give the value of every symbol and output",
        )
    return Unbiased(tuple((_label(k), v) for k, v in values.items()), tolerance)


def monotone() -> Monotone:
    """P(Y ≥ y | x) does not fall in x.

    Symbols and outputs are compared by where they stand in the prior and in ``outputs=``, also
    where their labels are numbers: list them in their order.
    """
    return Monotone()


def symmetric(tolerance: float | None = None) -> Symmetric:
    """P(z | x) = P(x | z) for all symbols, within ``tolerance``, 1e-12 when left out."""
    return Symmetric(tolerance)


def rows(a: Any, sense: str, b: Any, *, tolerance: float | None = None, name: str = "") -> Rows:
    """Any linear constraint: Σ_xy A_xy K_xy ≤, ≥ or = b.

    Parameters
    ----------
    a : (N, M) matrix with a number b, or (R, N, M) array with R numbers
    sense : ``"<="``, ``">="`` or ``"=="``
    tolerance : of equations; 1e-12 of the largest entry of A when left out
    name : how it is called in messages
    """
    if isinstance(b, (str, bytes)) or not is_iterable(b):
        return Rows((a,), sense, (b,), tolerance, name)
    remedy = "give one matrix for each number on the right-hand side"
    matrices = listed(a, "linear constraints", "a list of matrices", RequirementError, remedy)
    return Rows(tuple(matrices), sense, tuple(b), tolerance, name)


def every_output(coefficients: Mapping[Any, float]) -> EveryOutput:
    """Σ_x a_x P(y | x) ≤ 0 at every outcome y, for coefficients a by symbol.

    As it is asked of all outcomes alike, sub-convex utilities can be designed with it too.
    """
    if not isinstance(coefficients, Mapping):
        raise RequirementError(
            "every_output",
            expected="a dict of symbols to coefficients",
            got=quote(coefficients),
            remedy="such as {'a': 1, 'b': -2}",
        )
    return EveryOutput(tuple((_label(k), v) for k, v in coefficients.items()))


def ratio(x: Any, z: Any, at_most: float) -> EveryOutput:
    """P(y | x) ≤ at_most · P(y | z) at every outcome y, for two symbols.

    No report is so many times as likely for x as for z; for the other way round ask it of z and x
    as well. As it is asked of all outcomes alike, estimates can be designed with it.

    Raises :class:`RequirementError` for a factor below one, as the probabilities of the outcomes
    add up to one for both symbols.

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior([.5, .3, .2], labels=["a", "b", "c"])
    >>> found = md.design(
    ...     prior, md.utility.Estimation(), md.LDP(1), subject_to=md.require.ratio("a", "b", 1.5)
    ... )
    >>> kernel = found.mechanism.kernel
    >>> round(float((kernel[0] / kernel[1]).max()), 6)
    1.5
    """
    first, second = _named(x, "ratio"), _named(z, "ratio")
    most = finite(at_most, "largest ratio")
    if first == second or most < 1:
        raise RequirementError(
            "ratio",
            expected="two symbols and a factor of at least one",
            got=f"{quote(x)}, {quote(z)} and {most:g}",
            remedy="such as ratio('a', 'b', 2)",
        )
    return EveryOutput(((first, 1.0), (second, -most)))


def posterior(x: Any, at_least: float | None = None, at_most: float | None = None) -> Posterior:
    """at_least ≤ P(X = x | y) ≤ at_most at every outcome y, or the same of one of several symbols.

    What a report may make of a belief, under the prior of the design: no report makes x more
    likely than ``at_most``, none rules it out beyond ``at_least``. As it is asked of all outcomes
    alike, estimates can be designed with it.

    Parameters
    ----------
    x : the label of a symbol, or a list of labels: P(X is one of them | y)
    at_least, at_most : on either side of the prior probability, to which posteriors average

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior([.5, .3, .2], labels=["a", "b", "c"])
    >>> near = md.require.posterior("c", at_most=.3)
    >>> found = md.design(prior, md.utility.Estimation(), md.LDP(1), subject_to=near)
    >>> kernel, p = found.mechanism.kernel, prior.probabilities
    >>> round(float((p[2] * kernel[2] / (p @ kernel)).max()), 6)
    0.3
    """
    return Posterior(_symbols(x, "posterior"), at_least, at_most)


def lift(x: Any, at_least: float | None = None, at_most: float | None = None) -> Posterior:
    """at_least ≤ P(y | x) / P(y) ≤ at_most at every outcome y, for a symbol or a list of them.

    A floor and a ceiling relative to how likely the outcome is: the ratio of the posterior
    probability to the prior one, which :func:`posterior` limits as it stands. As it is asked of all
    outcomes alike, estimates can be designed with it.
    """
    return Posterior(_symbols(x, "lift"), at_least, at_most, relative=True)


def apart(*symbols: Any) -> Apart:
    """No output is reported for two of these symbols: P(y | x) P(y | z) = 0 at every outcome y.

    Whoever reports y for one of them is known not to be another. Outputs differ in which of them
    they leave out, so that this is a choice at each: estimates can be designed with it, of few
    symbols, as the outputs of a best kernel are among finitely many. It needs a notion that lets
    outputs rule symbols out, such as PML.

    Examples
    --------
    >>> import mechdesign as md
    >>> prior = md.Prior([.4, .3, .3], labels=["a", "b", "c"])
    >>> found = md.design(
    ...     prior, md.utility.Estimation(), md.PML(1), subject_to=md.require.apart("a", "b")
    ... )
    >>> a, b, _ = found.mechanism.kernel
    >>> float((a * b).max()), found.certificate.is_optimal
    (0.0, True)
    """
    return Apart(tuple(_named(x, "requirement") for x in symbols))


def cvxpy(
    function: Callable[[Any], Any], name: str = "", *, tolerance: float = CONVEX_TOLERANCE
) -> OwnConstraints:
    """Any convex constraints, by a function of a cvxpy variable K that gives a list of them.

    Comparisons of affine expressions become linear limits with the coefficients that cvxpy finds,
    equations within 1e-12 of the largest of them, and are checked and priced exactly. Others,
    g(K) ≤ 0 for a convex g, hold within ``tolerance`` in floats: kernels are checked, and bounded,
    for g(K) ≤ tolerance, the bound by gradients of cvxpy, which certificates say. Designs with
    such constraints cannot be saved.

    Parameters
    ----------
    function : of K, an (N, M) variable: rows are the symbols of the prior, columns the outputs
    name : how it is called in messages
    tolerance : how far a g may lie above zero, in its own units

    Raises
    ------
    RequirementError
        In a design, for constraints that cvxpy does not know to be convex, or on other variables.

    Examples
    --------
    >>> import cvxpy as cp, mechdesign as md
    >>> near = md.require.cvxpy(lambda K: [cp.sum_squares(K - 1 / 3) <= .1], name="near even")
    >>> prior = md.Prior([.5, .3, .2])
    >>> found = md.design(prior, md.utility.Hamming(), md.PML(.5), subject_to=near)
    >>> round(found.value, 6), found.status, found.certificate.rests_on_floats
    (0.492498, 'optimal', True)
    """
    return OwnConstraints(function, tolerance, name)


def _named(label: Any, subject: str) -> Any:
    (found,) = check_labels([label], 1, f"symbol of a {subject}", RequirementError)
    if found is None:
        raise RequirementError(
            f"symbol of a {subject}",
            expected="the label of a symbol",
            got="None",
            remedy="ask it of each symbol",
        )
    return found


def _symbols(labels: Any, subject: str) -> tuple[Any, ...]:
    if isinstance(labels, (list, set, np.ndarray)):
        return tuple(_named(label, subject) for label in labels)
    return (_named(labels, subject),)


def _label(label: Any) -> Any:
    if label is None:
        return EVERY
    (found,) = check_labels([label], 1, "label of a requirement", RequirementError)
    return found
