"""The certificate: the exact check of a kernel, and the bound that its duals prove."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CertificateError
from ..exact import (
    Verdict,
    float_at_least,
    float_at_most,
    nearest_float,
    to_weights,
    write_integer,
)
from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy.notion import Check, notion_fields
from ..privacy.rows import Multipliers
from ..program.duals import Branch, Candidate, Duals
from ..program.enclosures import Enclosure
from ..program.gains import LARGE
from ..program.problem import Problem, state_problem
from ..program.program import EstimationProgram, LinearProgram, Program, SublinearProgram
from ..program.worst import LeastProgram, WorstTruthProgram
from ..requirement.base import Requirement, RequirementCheck, requirement_fields
from ..utility.sublinear import ChiSquare
from .bounds import least_bound, upper_bound
from .cuts import fitting_cuts
from .feasible import FAR, repair_given, repair_required
from .repair import (
    Repair,
    check_forbidden,
    clean_columns,
    clean_kernel,
    joined,
    keep_sums,
    repair_far,
    repair_kernel,
    without_forbidden,
)

#: Gaps up to this share of the utility range (or of a sub-convex utility) count as optimal.
GAP_TOLERANCE = 1e-6
#: A possible gain below this share of the utility range is nothing.
NOTHING = 1e-11
# How far a floating-point measurement may lie above an exactly checked level.
_MEASURED_TOLERANCE = 1e-9
# Share of the value that merging rare outcomes may cost.
_KEEPING = Fraction(1, 10**9)
#: The gap where nothing is known of it: beyond every number, so that no comparison passes it.
UNKNOWN = math.inf


@dataclass(frozen=True, eq=False)
class Certificate:
    """Why a kernel is private and how close to optimal it is.

    Attributes
    ----------
    checks : exact verdict on each notion asked, all of them yes
    measured : levels of each notion by its own floating-point measurement, which shares nothing
        with the pairs of hypotheses that are compiled and checked
    value : expected utility of the exact kernel: the float nearest to it where it is known to be a
        rational, else the largest float that it is proved to reach
    bound : proven upper bound on the utility of every kernel that satisfies the notions, rounded
        up; infinite where nothing finite could be proved
    bound_source : which duals gave it, and whether that rests on floats with an allowance
    gap : (bound − value) / (max u − min u); for sub-convex utilities (bound − value) / |value|.
        Computed from the rational value, or the stated one where there is none, and rounded up;
        infinite where it is unknown, see :attr:`gap_is_known`
    gain_gap : (bound − value) / (bound − best constant utility): the gap relative to what any
        release can gain over an uninformative one; ``None`` when there is nothing to gain
    repair : what was done to the solver's kernel
    repair_loss : utility lost by it, as a share of what the gap is a share of
    solver : what computed the kernel
    duals : the dual variables that the bound was computed from, so that anybody can do it again
    fingerprint : SHA-256 over prior, kernel, notions and labels
    kept : exact verdict on each requirement, all of them yes
    rests_on_floats : whether value and bound are those of a function that the user gave, evaluated
        in floats with an allowance for rounding, or a requirement is one, checked in floats and
        bounded by its gradients; else they hold for what was asked itself
    value_exact : the expected utility as a rational; ``None`` where it is not known to be one
    bound_exact : the bound before it was rounded up; ``None`` where it is beyond floats
    """

    checks: tuple[Check, ...]
    measured: tuple[tuple[float, ...], ...]
    value: float
    bound: float
    bound_source: str
    gap: float
    gain_gap: float | None
    repair: Repair
    repair_loss: float
    solver: str
    duals: Duals
    fingerprint: str
    rests_on_floats: bool = False
    kept: tuple[RequirementCheck, ...] = ()
    value_exact: Fraction | None = None
    bound_exact: Fraction | None = None

    @property
    def is_optimal(self) -> bool:
        """Whether the gap is at most 1e-6."""
        return self.gap <= GAP_TOLERANCE

    @property
    def gap_is_known(self) -> bool:
        """Whether anything is known of the gap."""
        return self.gap < UNKNOWN


def serves_all(prior: Prior, notions: Any, mechanism: Mechanism) -> bool:
    """Whether weights hold a kernel whose posteriors are the vertices of a simplex.

    They do where χ² is optimal too: it pays as much for a rare symbol as for a common one, so that
    nothing that rounding took from rare outcomes is hidden, as it is from most other utilities.
    """
    problem = state_problem(prior, ChiSquare(), notions)
    assert isinstance(problem.program, SublinearProgram)
    from .information import sublinear_bound

    value = problem.enclose(mechanism)
    found = sublinear_bound(problem.program, Duals(), _stated(problem, mechanism, value))
    if value is None or found is None:
        return False
    return value.low >= found[0] * (1 - Fraction(GAP_TOLERANCE))


def gap_text(gap: float, digits: int = 2) -> str:
    """A gap or a loss as text, ``unknown`` where nothing is known of it.

    >>> gap_text(1.2e-9), gap_text(UNKNOWN)
    ('1.2e-09', 'unknown')
    """
    return f"{gap:.{digits}g}" if gap < UNKNOWN else "unknown"


def gap_out_of(gap: float, unit: str) -> str:
    """A gap and what it is a share of; only that it is unknown where it is."""
    return f"{gap_text(gap)} of {unit}" if gap < UNKNOWN else "unknown"


def certify(
    problem: Problem, candidate: Candidate, *, given: bool = False
) -> tuple[Mechanism, Certificate]:
    """Repair a candidate, check it exactly, and bound the optimum by its duals.

    A kernel that is ``given`` may be far from private: it is kept, as far as privacy and
    requirements allow, and nothing better is put in its place.

    Raises :class:`CertificateError` with the evidence if a check does not say yes.
    """
    program = problem.program
    candidate = _checked(program, candidate)
    kernel = candidate.kernel
    restricted = isinstance(program, LinearProgram) and program.is_restricted
    if isinstance(program, LinearProgram) and restricted:
        weights, repair = (
            repair_given(program, kernel)
            if given
            else repair_required(program, kernel, candidate.inside)
        )
    else:
        weights, repair = repaired(problem, kernel)
        if given:
            weights, repair = _better_of_far(problem, kernel, weights, repair)
        weights, mixed = keep_sums(program, weights)
        constant = repair.constant or mixed == 1
        repair = replace(repair, mixed=joined(repair.mixed, mixed), constant=constant)
    mechanism = problem.mechanism(weights)
    value = problem.enclose(mechanism)
    constant_value = program.exact_constant_value
    worse = value is not None and constant_value is not None and value.high < constant_value
    if worse and not (given or restricted):
        # Noise made it worse than an uninformative kernel, which is always private.
        mechanism = problem.mechanism(to_weights(program.constant_kernel))
        repair, value = Repair((), 1.0, 1, constant=True), problem.enclose(mechanism)
    near = _stated(problem, mechanism, value)
    share = _lost(problem, candidate, mechanism, near)
    duals, solver = candidate.duals, candidate.solver
    return mechanism, examine(problem, mechanism, duals, repair, share, solver, value)


def _better_of_far(
    problem: Problem, kernel: NDArray[np.float64], weights: NDArray[np.int64], repair: Repair
) -> tuple[NDArray[np.int64], Repair]:
    """The better of the usual repair and that of a kernel that is far from private."""
    held = isinstance(problem.program, EstimationProgram) and problem.program.apart
    if held or not (repair.mixed > FAR or repair.merged):
        return weights, repair
    far = repair_far(kernel, problem.program.cone)
    first, second = (problem.enclose(problem.mechanism(w)) for w in (weights, far[0]))
    is_above = second is not None and first is not None and second.low > first.low
    # A constant kernel says nothing of what was given, whatever its value.
    return far if repair.constant or (not far[1].constant and is_above) else (weights, repair)


def _checked(program: Program, candidate: Candidate) -> Candidate:
    """A candidate with arrays of floats, of the shapes of a program.

    Raises :class:`CertificateError` for what is no such thing.
    """
    n, duals = len(program.prior), candidate.duals
    kernel = _array(candidate.kernel)
    shape, m = kernel.shape, kernel.shape[-1] if kernel.ndim else 0
    asked = program.shape if isinstance(program, LinearProgram) else (n, m)
    if shape != asked or m == 0 or not _holds_numbers(kernel):
        raise CertificateError(
            f"the solver returned a kernel of shape {shape} and type {kernel.dtype} for {program}; "
            "a row of numbers for each symbol, one for each output, was asked"
        )
    fitting = fitting_duals(program, duals, m)
    if fitting is None:
        raise CertificateError(
            f"the solver returned dual variables of other shapes than those of {program}; leave "
            "out what it does not find, as Duals() does"
        )
    inside = candidate.inside
    if inside is not None and (np.shape(inside) != shape or not np.isfinite(inside).all()):
        inside = None  # it is a help, not an answer
    return replace(candidate, kernel=kernel.astype(float, copy=False), duals=fitting, inside=inside)


def fitting_duals(program: Program, duals: Duals, outputs: int) -> Duals | None:
    """Dual variables as arrays of the shapes of a program; ``None`` for other shapes."""
    n, parts = len(program.prior), 1
    count = len(program.limits) if isinstance(program, LinearProgram) else 0
    others = len(program.alternatives) if isinstance(program, LeastProgram) else 0
    if isinstance(program, WorstTruthProgram):
        parts, others = program.parts, program.truths.count
    shapes = {"prices": (n,), "inverse": (parts * n, n), "limits": (count,), "mixture": (others,)}
    found: dict[str, Any] = {
        name: _array(given) for name in shapes if (given := getattr(duals, name)) is not None
    }
    right = all(numbers.shape == shapes[name] for name, numbers in found.items())
    multipliers, sums = _arrays(duals.multipliers), _arrays(duals.sums)
    if multipliers is not None:
        right = right and _shapes(multipliers) == _shapes(program.cone.no_duals(outputs))
    if sums is not None:
        # Further shapes of theirs each sum knows itself; the bound sees what it makes of them.
        right = right and len(sums) == len(program.sums) and all(sums)
    every = (numbers for many in (multipliers, sums) for part in many or () for numbers in part)
    if not (right and all(map(_holds_numbers, (*every, *found.values())))):
        return None
    found = {name: numbers.astype(float, copy=False) for name, numbers in found.items()}
    for name, fit in (("branches", _fitting_branches), ("convex", fitting_cuts)):
        given = getattr(duals, name)
        if given is not None:
            found[name] = fit(program, given)
            if found[name] is None:
                return None
    return replace(duals, multipliers=multipliers, sums=sums, **found)


def _fitting_branches(program: Program, branches: Any) -> tuple[Branch, ...] | None:
    """Parts of a search with outputs of a program and dual variables of its shapes."""
    if not isinstance(program, LinearProgram) or not isinstance(branches, tuple):
        return None
    outputs = range(program.shape[1])
    found = []
    for branch in branches:
        if not isinstance(branch, Branch) or not all(y in outputs for y in branch.excluded):
            return None
        most = program.most_outputs if branch.counted else None
        part = program.without_outputs((), most)
        fitting = fitting_duals(part, replace(branch.duals, branches=None), len(outputs))
        if fitting is None:
            return None
        found.append(replace(branch, duals=fitting))
    return tuple(found)


def _array(given: Any) -> NDArray[Any]:
    """What is given as an array, of objects where it is nothing else."""
    try:
        return np.asarray(given)
    except ValueError:  # rows of several lengths
        return np.asarray(given, dtype=object)


def _arrays(parts: Any) -> tuple[tuple[NDArray[Any], ...], ...] | None:
    """Dual variables of several parts as arrays; one of nothing where they are no parts."""
    if parts is None:
        return None
    try:
        return tuple(tuple(_array(numbers) for numbers in part) for part in parts)
    except TypeError:
        return ((np.array(None),),)


def _holds_numbers(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "fiu"


def _shapes(parts: tuple[Multipliers, ...]) -> list[list[tuple[int, ...]]]:
    return [[np.shape(numbers) for numbers in part] for part in parts]


def repaired(problem: Problem, kernel: NDArray[np.float64]) -> tuple[NDArray[np.int64], Repair]:
    """Private weights near a kernel. Outcomes that a utility pays for however rare they are, as χ²
    does and an estimate may, are kept where merging them would cost more.
    """
    program = problem.program
    if isinstance(program, LinearProgram):
        kernel = without_forbidden(program, kernel)
    if isinstance(program, EstimationProgram) and program.apart:
        # Constant columns would give every symbol every output.
        return repair_required(program.with_zeros_of(kernel), kernel)
    weights, repair = repair_kernel(kernel, program.cone)
    if not repair.merged or isinstance(program, LinearProgram):
        return weights, repair
    kept = repair_kernel(kernel, program.cone, keep_rare=True)
    merged, others = (problem.enclose(problem.mechanism(w)) for w in (weights, kept[0]))
    if merged is None and others is not None and isinstance(program, EstimationProgram):
        return kept  # what was merged has to be told apart
    if merged is None or others is None:
        return weights, repair
    # Fewer outcomes, unless they cost something.
    return kept if others.low > merged.high + _KEEPING * abs(merged.high) else (weights, repair)


def _lost(problem: Problem, candidate: Candidate, mechanism: Mechanism, value: float) -> float:
    """Utility that the repair of a candidate cost, as a share of what gaps are a share of."""
    program, kernel = problem.program, candidate.kernel
    if not isinstance(program, LinearProgram):
        before = program.value(clean_kernel(kernel))
        return _share(max(before - value, 0.0), program.width(value))
    # Of gains far from zero, floats see nothing but the differences.
    near = program.for_solvers.program
    after = value if near is program else near.value(mechanism.kernel[problem.kept])
    if kernel.size > LARGE:
        live, cleaned = clean_columns(kernel)
        before = near.on_outputs(live).value(cleaned)
    else:
        before = near.value(clean_kernel(kernel))
    return _share(max(before - after, 0.0), near.width(after))


def _share(loss: float, width: float) -> float:
    """A loss as a share of a width; unknown where there is a loss and floats cannot say."""
    if not (math.isfinite(loss) and math.isfinite(width)):
        return UNKNOWN
    if loss == 0:
        return 0.0
    return loss / width if width > 0 else UNKNOWN


def examine(
    problem: Problem,
    mechanism: Mechanism,
    duals: Duals,
    repair: Repair,
    repair_loss: float,
    solver: str,
    value: Enclosure | None = None,
) -> Certificate:
    """Everything that can be proved about a kernel: exact checks, value, bound and gaps.

    ``value`` encloses the utility of the mechanism where that has just been computed.
    Raises :class:`CertificateError` with the evidence if a check does not say yes.
    """
    if isinstance(problem.program, LinearProgram):
        check_forbidden(problem.program, problem.kept_weights(mechanism))
    occurring = _occurring(problem, mechanism)
    checks = tuple(notion.check(occurring, problem.prior) for notion in problem.notions)
    failed = tuple(check for check in checks if check.verdict is not Verdict.YES)
    if failed:
        raise CertificateError(
            "the kernel failed its exact check and is withheld: "
            + "; ".join(f"{check.notion} is {check.verdict}, {check.evidence}" for check in failed),
            failed,
        )
    kept = tuple(r.check(mechanism, problem.prior) for r in problem.requirements)
    broken = tuple(check for check in kept if check.verdict is not Verdict.YES)
    if broken:
        raise CertificateError(
            "the kernel failed its exact check and is withheld: "
            + "; ".join(
                f"{check.requirement} is broken by {check.excess:.3g} at {check.evidence}"
                for check in broken
            ),
            broken,
        )
    measured = tuple(notion.checked_measure(occurring, problem.prior) for notion in problem.notions)
    _compare(problem, measured)
    if value is None:
        value = problem.enclose(mechanism)
    near = _stated(problem, mechanism, value)
    bound, source = _bound(problem, duals, near)
    if bound is not None and value is not None and bound < value.low:
        raise CertificateError(
            f"the bound {nearest_float(bound)!r} is below the value {near!r} of a kernel that "
            "satisfies every notion, so one of them is wrong and the design is withheld"
        )
    gap, gain_gap = _gaps(problem, value, near, bound)
    rounded = math.inf if bound is None else float_at_least(bound)
    return Certificate(
        checks,
        measured,
        near,
        max(rounded, near),
        source,
        gap,
        gain_gap,
        repair,
        repair_loss,
        solver,
        duals,
        fingerprint(problem.prior, mechanism, problem.notions, problem.requirements),
        not (problem.program.is_exact and all(r.is_exact for r in problem.requirements)),
        kept,
        value.low if value is not None and value.low == value.high else None,
        bound if rounded < math.inf else None,
    )


def _occurring(problem: Problem, mechanism: Mechanism) -> Mechanism:
    """Of a large kernel the outputs that occur: no notion compares others."""
    if mechanism.weights.size <= LARGE or not isinstance(problem.program, LinearProgram):
        return mechanism
    used = np.flatnonzero(mechanism.weights.any(axis=0))
    labels = [mechanism.outputs[y] for y in used]
    found = Mechanism.from_weights(
        mechanism.weights[:, used], mechanism.bits, mechanism.inputs, labels, check=False
    )
    return found.with_schema(mechanism.schema)


def _gaps(
    problem: Problem, value: Enclosure | None, stated: float, bound: Fraction | None
) -> tuple[float, float | None]:
    """The gap, and the gap relative to what any release can gain, both rounded up."""
    if value is None or bound is None or math.isinf(stated):
        return UNKNOWN, None
    reached = value.low if value.low == value.high else Fraction(stated)
    missing, width = max(bound - reached, Fraction(0)), problem.program.exact_width(reached)
    if missing and not width:
        return UNKNOWN, None
    constant = problem.program.exact_constant_value
    gain = Fraction(0) if constant is None else bound - constant
    is_gain = width > 0 and gain > Fraction(NOTHING) * width
    return (
        float_at_least(missing / width) if missing else 0.0,
        float_at_least(missing / gain) if is_gain else None,
    )


def _stated(problem: Problem, mechanism: Mechanism, value: Enclosure | None) -> float:
    """What is said of the value: no more than is proved, where it is not known exactly."""
    if value is None and isinstance(problem.program, EstimationProgram):
        return -math.inf  # some answer cannot be told
    if value is None:
        whole = len(problem.kept) == len(problem.prior)
        return problem.program.value(mechanism.kernel if whole else mechanism.kernel[problem.kept])
    return nearest_float(value.low) if value.low == value.high else float_at_most(value.low)


def _bound(problem: Problem, duals: Duals, value: float) -> tuple[Fraction | None, str]:
    program = problem.program
    # Proofs of other utilities know the searches that they repeat: loaded where they are needed.
    if isinstance(program, SublinearProgram):
        from .information import sublinear_bound

        return sublinear_bound(program, duals, value) or (None, "nothing finite")
    if isinstance(program, EstimationProgram):
        from .estimation import estimation_bound, worst_truth_bound

        if isinstance(program, WorstTruthProgram):
            found = worst_truth_bound(program, duals, value)
        else:
            found = estimation_bound(program, duals, value)
        few = program.most_outputs is not None
        return found[0], f"{found[1]}, with any number of outputs" if few else found[1]
    assert isinstance(program, LinearProgram)
    if isinstance(program, LeastProgram):
        return least_bound(program, duals)
    shifted = program.shifted(duals.offset, duals.power)
    bound, source = upper_bound(shifted.program, duals)
    return shifted.bound(bound), source


def _compare(problem: Problem, measured: tuple[tuple[float, ...], ...]) -> None:
    for notion, levels in zip(problem.notions, measured, strict=True):
        for asked, found in zip(notion.levels, levels, strict=True):
            if not found <= asked + _MEASURED_TOLERANCE * max(1.0, asked):
                raise CertificateError(
                    f"{notion}: the kernel passed the exact check of this notion, but its own "
                    f"measurement gives {found:.12g} nats; {'() and '.join(notion.said_by)}() "
                    "of this notion do not say the same, so the kernel is withheld"
                )


def _canonical(value: Any) -> str:
    """A text that is the same for equal parameters and no others."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str}{value.shape}{np.ascontiguousarray(value).tobytes().hex()}"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple) and set(map(type, value)) == {float}:
        return "(" + ",".join(map(repr, value)) + ")"
    if isinstance(value, (tuple, list)):
        return "(" + ",".join(_canonical(part) for part in value) + ")"
    return repr(value)


def fingerprint(
    prior: Any, mechanism: Mechanism, notions: Any, requirements: Iterable[Requirement] = ()
) -> str:
    """SHA-256 of prior, kernel weights, labels, notions and requirements, in a canonical text."""
    digest = hashlib.sha256()
    parts: list[Any] = [
        [write_integer(w) for w in prior.weights],
        [repr(label) for label in prior.labels],
        [repr(label) for label in mechanism.outputs],
        [
            [type(notion).__name__, *(_canonical(v) for v in sorted(notion_fields(notion).items()))]
            for notion in notions
        ],
        mechanism.bits,
    ]
    asked = [
        [type(r).__name__, *(_canonical(v) for v in sorted(requirement_fields(r).items()))]
        for r in requirements
    ]
    if asked:
        parts.append(asked)
    digest.update(json.dumps(parts).encode())
    weights = mechanism.weights
    if weights.dtype == object:
        digest.update(",".join(map(write_integer, weights.ravel())).encode())
    else:
        digest.update(np.ascontiguousarray(weights, dtype="<i8").data.cast("B"))
    return digest.hexdigest()
