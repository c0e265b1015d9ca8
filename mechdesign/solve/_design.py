"""``design``: from prior, utility and privacy to a certified kernel."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..certificate.certificate import (
    GAP_TOLERANCE,
    UNKNOWN,
    Certificate,
    certify,
    examine,
    gap_out_of,
    gap_text,
    serves_all,
)
from ..certificate.designed import Designed
from ..certificate.infeasible import check_feasible, check_possible
from ..errors import (
    CertificateError,
    GapWarning,
    SolverError,
    quote,
    warn,
)
from ..mechanism import Mechanism, warn_of_disclosure
from ..prior import Prior, as_prior
from ..privacy.notion import PrivacyNotion, as_notions, hides_symbols
from ..program.duals import Candidate, Duals
from ..program.problem import Problem, check_limit, designable, state_problem
from ..program.program import LinearProgram
from ..program.worst import LeastProgram
from ..requirement.base import Requirement, as_requirements
from ..subsets.choice import subset_selection
from ..subsets.selection import SUBSETS, SubsetSelection
from ..utility.base import Utility
from ..utility.estimation import Estimation
from ..utility.questions import Question
from ..utility.truths import rational_masses
from ..utility.worst_case import WorstCase
from .backends import Highs, known_solvers
from .choice import (
    Choice,
    check_solver,
    choose,
    find_method,
    named_method,
    ordered_methods,
    other_methods,
    own_methods,
)
from .closed_form import SIMPLICES
from .method import WARM_START, Method
from .refinement import refined_candidate

# Gaps and repair losses above this call for another method on at most so many entries, and on
# more where the design would not count as optimal.
_SHARP = 1e-8
_SHARPEN_ENTRIES = 20_000
_RETRY_ENTRIES = 60_000
# Kernels this close are one kernel: what rounding of another machine may change.
_SAME_KERNEL = 1e-12
# Masses of a least favourable truth that are shown.
_TRUTHS_SHOWN = 6
#: The method of a design from a file that names none which could have found its kernel.
UNKNOWN_METHOD = "unknown"
#: The method of a design whose kernel was handed in.
GIVEN_METHOD = "given"
# What candidates name as their solver, beside solvers of cvxpy.
_SOLVERS = frozenset(
    """closed form; closed form (symmetry); closed form (two edges); closed form (recognition)
    closed form (simplex of posteriors); closed form (windows); Clarabel; HiGHS simplex; HiGHS ipm
    HiGHS refined; graph interior point; structured interior point
    geometric mechanism with its reports mapped to the best outputs
    interior point over all columns; interior point over some columns; column generation on HiGHS
    fitted columns; vertex enumeration and HiGHS; vertex enumeration, exact simplex
    given, bounded without duals; given, bounded by given duals""".replace("\n    ", "; ").split(
        "; "
    )
)
_BEFORE = ("branch and bound on ", "given, bounded by ")


@dataclass(frozen=True)
class Agreement:
    """One method's result when all that apply are run.

    ``value`` and ``bound`` are ``None`` when the method failed; ``note`` says why.
    """

    method: str
    value: float | None
    bound: float | None
    gap: float | None
    note: str = ""


@dataclass(frozen=True)
class Design(Designed):
    """The best mechanism found, with proof.

    Attributes
    ----------
    mechanism : the kernel, exactly private
    prior, utility, notions : what was asked
    method : name of the method that found it
    certificate : exact checks, bound, gap and repair
    choice : why that method
    agreement : results of every method, with ``solver="all"``
    requirements : what else was asked
    """

    mechanism: Mechanism
    prior: Prior
    utility: Utility
    notions: tuple[PrivacyNotion, ...]
    method: str
    certificate: Certificate
    choice: Choice | None = None
    agreement: tuple[Agreement, ...] = field(default=())
    requirements: tuple[Requirement, ...] = ()

    @property
    def question(self) -> Question | None:
        """What a design for questions (``of``) asks: names of the answers and the coefficients
        ``(N, F)`` of each symbol in each. ``None`` for other designs.
        """
        if not isinstance(self.utility, Estimation) or self.utility.of is None:
            return None
        return self.utility.question(self.mechanism.inputs, self.mechanism.schema)

    @property
    def least_favourable(self) -> Prior | None:
        """The distribution at which no kernel has a smaller risk than the bound, where the worst
        of all counts; of a list its shares, by their numbers from 1. ``None`` for other designs.
        """
        mixture = self.certificate.duals.mixture
        if not isinstance(self.utility, Estimation) or mixture is None:
            return None
        if not (np.isfinite(mixture).all() and mixture.max() > 0):
            return None
        labels: Sequence[Any] = self.prior.restricted().labels
        if not isinstance(self.utility.truth, str):
            labels = range(1, len(mixture) + 1)
        return Prior(rational_masses(mixture), labels)

    @property
    def scope(self) -> str:
        """What else the mechanism is optimal for, such as every sub-convex utility; or nothing."""
        method = next((m for m in SIMPLICES if m.name == self.method), None)
        if method is None or not method.scope or not self.certificate.is_optimal:
            return ""
        held = not self.requirements and serves_all(self.prior, self.notions, self.mechanism)
        return method.scope if held else ""

    @property
    def methods_agree(self) -> bool | None:
        """Whether every method found the same: each within 1e-6 of the utility range of its bound,
        and no value above another's bound. ``None`` unless at least two were run.
        """
        rows = [row for row in self.agreement if row.gap is not None]
        if len(rows) < 2:
            return None
        values = [row.value for row in rows if row.value is not None]
        bounds = [row.bound for row in rows if row.bound is not None]
        near = all(row.gap is not None and row.gap <= GAP_TOLERANCE for row in rows)
        return near and max(values) <= min(bounds)

    @property
    def source(self) -> str:
        """The paper of the method, or that of cvxpy's solvers."""
        method = own_methods().get(self.method)
        # What is no method of the package is a solver that cvxpy calls.
        return "DiamondBoyd2016" if method is None else method.source

    def __repr__(self) -> str:
        c = self.certificate
        lines = self._said(f"{self.method} ({c.solver}; {c.repair})")
        for kept in c.kept:
            how = "exact " if kept.requirement.is_exact else "floats"
            lines.append(f"{how} {kept.requirement}: {kept.verdict}")
        if isinstance(self.utility, Estimation):
            lines.append(self._risk_line)
            if (least := self.least_favourable) is not None:
                listed = not isinstance(self.utility.truth, str)
                masses = zip(least.labels, least.probabilities, strict=True)
                some = sorted(masses, key=lambda pair: -pair[1])[:_TRUTHS_SHOWN]
                named = [f"{'number ' * listed}{label} {mass:.3g}" for label, mass in some]
                more = ", …" if len(least) > len(some) else ""
                lines.append(f"truth  least favourable: {', '.join(named)}{more}")
        if isinstance(self.utility, WorstCase):
            lines.append(f"values {self.utility.served_text(self.mechanism, self.prior)}")
        if self.scope:
            lines.append(f"scope  {self.scope}")
        weights = self.mechanism.weights
        if len(weights) > 1 and bool((weights == weights[0]).all()):
            lines.append(
                "told   nothing: all rows are the same, so no report depends on the secret"
            )
        lines += [f"agree  {line}" for line in agreement_lines(self)]
        return "\n".join([*lines, self.mechanism.to_text()])

    def _repr_html_(self) -> str:
        text = html.escape(repr(self).split("\n" + self.mechanism.to_text())[0])
        return f"<pre>{text}</pre>{self.mechanism._repr_html_()}"


def agreement_lines(found: Design) -> list[str]:
    """One line per method that ran with ``solver="all"``, and whether they agree."""
    lines = [
        f"{row.method}: failed, {row.note}"
        if row.value is None
        else f"{row.method}: value {row.value:.12g}, bound {row.bound:.12g}, "
        f"gap {gap_text(row.gap if row.gap is not None else UNKNOWN)}"
        for row in found.agreement
    ]
    if found.methods_agree is not None:
        lines.append("all methods agree" if found.methods_agree else "the methods DISAGREE")
    return lines


def design(
    prior: Prior,
    utility: Utility | None,
    privacy: Any,
    outputs: Any = None,
    solver: str | Method = "auto",
    time_limit: float | None = None,
    subject_to: Any = (),
) -> Design | SubsetSelection:
    """The kernel P(Y|X) of highest utility that satisfies every privacy notion, with proof.

    Solves, over row-stochastic K, with p the prior and u the gains of the utility::

        maximise  Σ p_x u_xy K_xy   subject to   (μᵀK)_y ≤ e^ε (νᵀK)_y

    for every outcome y and pair of hypotheses (μ, ν) of the notions. The dual prices rows by λ::

        minimise  Σ λ_x + max_y sup{⟨c_y − λ, k⟩ : k in the cone, pᵀk = 1},   c_xy = p_x u_xy

    and any λ gives an upper bound; ``found.bound`` is computed from it afresh.

    Parameters
    ----------
    prior : Prior
        Symbols of zero mass are left out of the design and get a copy of the row that serves
        them best.
    utility : Utility or None
        Such as ``md.utility.Hamming()``, which ``None`` stands for; for bins of numbers that is
        ``md.utility.Distance("absolute")`` between their midpoints.
    privacy : PrivacyNotion or list of them
        All of a list must hold. Levels in nats.
    outputs : list of labels, optional
        The utility's own outputs when left out. For ``md.utility.Estimation`` their number: the
        best kernel found with at most so many, as by ``md.require.outputs``.
    solver : str or Method
        ``"auto"`` (see :func:`explain`), ``"all"`` to run every method that applies and keep the
        best, the name of a method such as ``"highs-ipm"`` or of a cvxpy solver such as ``"SCS"``,
        or a :class:`mechdesign.solve.Method` of one's own; it is not trusted either.
    time_limit : float, optional
        Seconds for methods that search (sub-convex utilities), 60 when left out. At the limit the
        best kernel found is returned, with its honest gap and a :class:`GapWarning`.
    subject_to : requirement or list of them, optional
        What else must hold, from ``md.require``: entries that are zero or have floors, costs,
        marginals that are kept, any linear constraint, and what every output must satisfy, which
        is all that designs can be asked whose outputs are found. Each is checked exactly too.

    Returns
    -------
    Design or SubsetSelection
        Its kernel passed an exact check of every notion, on the integer weights it is stored in.
        For the frequencies of more than seventy symbols under LDP (or under PML and the like with
        at most six different masses) it is a :func:`subset_selection`, which has no matrix, and
        the same value, bound, gap and certificate; ``solver="optimal-experiment"`` asks for a
        matrix of up to 200 symbols.

    Raises
    ------
    InputError
        For input that cannot be used.
    InfeasibleError
        When no kernel satisfies everything that is asked, with the proof.
    NoMethodError, SolverError, CertificateError
        When no method applies, a solver fails, or a kernel fails its exact check.

    Warns
    -----
    ZeroMassWarning, GapWarning
        For symbols of no mass, and where optimality is not proved to the last digits.
    DisclosureWarning
        When one report lets the secret be guessed right with probability 99.9 % or more.

    Examples
    --------
    >>> import mechdesign as md
    >>> found = md.design(md.Prior([.5, .3, .2]), md.utility.Hamming(), md.LDP(1))
    >>> round(found.value, 6), found.status
    (0.584847, 'optimal')
    """
    if _is_subset_design(prior, utility, privacy, outputs, solver, subject_to):
        check_limit(time_limit)
        selection = subset_selection(prior, privacy)
        warn_of_gap(selection)
        return selection
    return matrix_design(prior, utility, privacy, outputs, solver, time_limit, subject_to)


def matrix_design(*asked: Any, **named: Any) -> Design:
    """:func:`design` where the kernel is to be a matrix."""
    found = find_design(*asked, **named)
    # A notion of features or databases may leave the symbol itself open, as a count of many people.
    if any(hides_symbols(notion, found.prior) for notion in found.notions):
        warn_of_disclosure(found.mechanism, found.prior)
    return found


def _is_subset_design(
    prior: Prior, utility: Any, privacy: Any, outputs: Any, solver: Any, subject_to: Any
) -> bool:
    """Whether a design is a subset selection, for which no program is stated."""
    check_solver(solver)
    if not isinstance(utility, Estimation) and solver != SUBSETS:
        return False  # what stands there is checked where the problem is stated
    from .estimation.many_symbols import is_subset_design

    is_restricted = outputs is not None or bool(as_requirements(subject_to))
    return is_subset_design(as_prior(prior), utility, as_notions(privacy), is_restricted, solver)


def find_design(
    prior: Prior,
    utility: Utility | None,
    privacy: Any,
    outputs: Any = None,
    solver: str | Method = "auto",
    time_limit: float | None = None,
    subject_to: Any = (),
) -> Design:
    """:func:`design` as a step of something else, whose kernel may hide nothing."""
    check_solver(solver)
    problem = designable(state_problem(prior, utility, privacy, outputs, time_limit, subject_to))
    found = _design_all(problem) if solver == "all" else run_solver(problem, solver)[0]
    warn_of_gap(found)
    return found


def explain(
    prior: Prior,
    utility: Utility | None,
    privacy: Any,
    outputs: Any = None,
    solver: str | Method = "auto",
    subject_to: Any = (),
) -> Choice:
    """Which method :func:`design` would use for the same arguments, and why, without solving.

    Raises what :func:`design` raises for input, and :class:`NoMethodError` with every reason.
    """
    if _is_subset_design(prior, utility, privacy, outputs, solver, subject_to):
        return Choice(find_method(SUBSETS), {})
    return choose(
        designable(state_problem(prior, utility, privacy, outputs, None, subject_to)), solver
    )


def run_solver(
    problem: Problem, solver: str | Method, start: tuple[str, Candidate] | None = None
) -> tuple[Design, tuple[str, Candidate]]:
    """Solve with the method that ``solver`` asks for; also returns what warm starts can use.

    With ``"auto"`` a method that fails gives way to the next, and a design that is not tight is
    improved with others.
    """
    check_possible(problem)
    choice = choose(problem, solver)
    warm = start[1] if start is not None and start[0] == choice.method.name else None
    withheld: CertificateError | None = None
    while True:
        try:
            found, candidate = _run_choice(problem, choice, warm)
            break
        except (SolverError, CertificateError) as failure:
            check_feasible(problem)
            if withheld is None and isinstance(failure, CertificateError):
                withheld = failure
            refused = {**choice.refusals, choice.method.name: "it failed"}
            failed = replace(choice, refusals=refused)
            others = other_methods(problem.program, failed) if solver == "auto" else iter(())
            if (other := next(others, None)) is None:
                # A kernel that could not be mended says more than solvers that found none.
                raise withheld or failure from None
            choice, warm = replace(failed, method=other), None
    if solver == "auto":
        found = _improved(problem, found)
    return _refined(problem, found), (choice.method.name, candidate)


def _refined(problem: Problem, found: Design) -> Design:
    """A worst case with the other utilities maximised in turn, where that was asked."""
    program, utility = problem.program, problem.utility
    if not (isinstance(utility, WorstCase) and utility.refine):
        return found
    assert isinstance(program, LeastProgram)
    assert found.choice is not None
    first = found.certificate
    kernel = found.mechanism.kernel[problem.kept]
    start = Candidate(kernel, first.duals, first.solver)
    candidate = refined_candidate(program, found.choice.method, start)
    mechanism, certificate = certify(problem, candidate)
    return replace(found, mechanism=mechanism, certificate=certificate)


def _run_choice(
    problem: Problem, choice: Choice, start: Candidate | None = None
) -> tuple[Design, Candidate]:
    candidate = _solve(problem, choice, start)
    mechanism, certificate = certify(problem, candidate)
    found = Design(
        mechanism,
        problem.prior,
        problem.utility,
        problem.notions,
        choice.method.name,
        certificate,
        choice,
        requirements=problem.requirements,
    )
    return found, candidate


def confirmed_method(problem: Problem, name: str, mechanism: Mechanism) -> str:
    """A method that is said to have found a kernel, or :data:`UNKNOWN_METHOD`.

    The name stands where the method applies to the problem. One that promises more than the
    certificate says must also give that kernel, as anybody could write its name into a file.
    """
    if name == GIVEN_METHOD:
        return name
    method = named_method(name)
    if method is None or method.name != name or method.refusal(problem.program) is not None:
        return UNKNOWN_METHOD
    if method.scope:
        again, _ = certify(problem, method.solve(problem.program))
        if again.shape != mechanism.shape or not np.allclose(
            again.kernel, mechanism.kernel, rtol=0, atol=_SAME_KERNEL
        ):
            return UNKNOWN_METHOD
    return name


def confirmed_solver(name: str) -> str:
    """What is said to have computed a kernel, or :data:`UNKNOWN_METHOD` for what none of ours says.

    A file may say anything there, and what it says is shown beside the certificate.
    """
    alone = name
    for before in _BEFORE:
        alone = alone.removeprefix(before)
    by_cvxpy = alone.startswith("cvxpy ") and alone.removeprefix("cvxpy ") in known_solvers()
    return name if by_cvxpy or {name, alone} & _SOLVERS else UNKNOWN_METHOD


def _solve(problem: Problem, choice: Choice, start: Candidate | None) -> Candidate:
    """The method's answer; of gains far from zero it is asked for the differences."""
    program = problem.program
    shifted = program.for_solvers if isinstance(program, LinearProgram) else None
    asked = program if shifted is None else shifted.program
    warm = WARM_START in choice.method.features and start is not None
    candidate = choice.method.solve(asked, *((start,) if warm else ()))
    if not (isinstance(candidate, Candidate) and isinstance(candidate.duals, Duals)):
        got = candidate.duals if isinstance(candidate, Candidate) else candidate
        raise SolverError(
            f"method {choice.method.name}: expected a Candidate with Duals from solve(), got "
            f"{quote(got)}; return Candidate(kernel, Duals(), {quote(choice.method.name)})"
        )
    if shifted is None:
        return candidate
    duals = replace(candidate.duals, offset=shifted.offset, power=shifted.power)
    return replace(candidate, duals=duals)


def warn_of_gap(found: Design | SubsetSelection) -> None:
    """Issue a :class:`GapWarning` for a design whose optimality is not tight."""
    if not found.certificate.is_optimal:
        asked = ", ".join(str(notion) for notion in found.notions)
        proved = (
            f"is only proved up to {gap_out_of(found.gap, found.utility.gap_unit)}"
            if found.certificate.gap_is_known
            else "is unknown"
        )
        advice = "another solver may do better"
        if isinstance(found.utility, Estimation):
            advice = "a longer search (time_limit=, --time-limit) may do better"
        if isinstance(found, SubsetSelection):
            advice = "no kernel does better by more than that"
        if found.method == "few-outputs-experiment":
            advice = (
                "the bound is that of any number of outputs: the gap is the most that so few of "
                "them lose"
            )
        warn(
            f"{asked}: the kernel is certified private, but its optimality {proved} "
            f"(bound {found.bound:.9g}, value {found.value:.9g}); {advice}",
            GapWarning,
        )


def _improved(problem: Problem, found: Design) -> Design:
    """A design that is tight, with the help of other methods where the first one fell short.

    General solvers lose digits on priors with tiny masses. On problems small enough to try again,
    the best value and the best bound of several methods are put together.
    """
    assert found.choice is not None
    program = problem.program
    if not isinstance(program, LinearProgram):
        return _listed(problem, found)
    n, m = program.shape
    if max(found.certificate.gap, found.certificate.repair_loss) <= _SHARP:
        return found
    for method in other_methods(program, found.choice):
        shortfall = max(found.certificate.gap, found.certificate.repair_loss)
        sharpened = _SHARPEN_ENTRIES if found.choice.method.is_sharpened else 0
        entries = _RETRY_ENTRIES if shortfall > GAP_TOLERANCE else sharpened
        if shortfall <= max(_SHARP, _attainable(program)) or n * m > entries:
            break
        if shortfall <= GAP_TOLERANCE and not isinstance(method, Highs):
            continue  # what is optimal is only sharpened by what ends at a vertex
        try:
            other, _ = _run_choice(problem, replace(found.choice, method=method))
        except (SolverError, CertificateError):
            # The design in hand stands; this method has nothing better.
            continue
        found = _together(problem, found, other)
    return found


def _listed(problem: Problem, found: Design) -> Design:
    """Where a search fell short on few symbols: all extreme columns, if they can be listed."""
    from .column_generation.method import ColumnGeneration
    from .column_generation.vertices import MOST_SYMBOLS_EXACT, Vertices

    assert found.choice is not None
    # Few columns cost little; the answers of closed forms are kept for what else they are best for.
    few = found.method == ColumnGeneration.name
    few = few and len(problem.program.prior) <= MOST_SYMBOLS_EXACT
    enough = _SHARP if few else GAP_TOLERANCE
    if found.certificate.gap <= enough:
        return found
    others = other_methods(problem.program, found.choice)
    listing = next((method for method in others if isinstance(method, Vertices)), None)
    if listing is None:
        return found
    try:
        other, _ = _run_choice(problem, replace(found.choice, method=listing))
    except (SolverError, CertificateError):
        return found  # the design in hand stands; listing has nothing better
    return _together(problem, found, other)


def _attainable(program: LinearProgram) -> float:
    """The gap that the rounding of the gains alone may leave, as a share of their range."""
    if program.gain_range == 0:
        return 0.0
    size = program.largest_gain / program.gain_range
    return 16 * np.finfo(float).eps * (program.shape[0] + 8) * size


def _together(problem: Problem, first: Design, second: Design) -> Design:
    """The kernel of the better value with the duals of the better bound."""
    # Values that agree to rounding: the method preferred anyway is kept.
    better = second.value > first.value + 1e-12 * problem.program.width(first.value)
    best = second if better else first
    duals = min(first, second, key=lambda d: d.bound).certificate.duals
    c = best.certificate
    certificate = examine(problem, best.mechanism, duals, c.repair, c.repair_loss, c.solver)
    return replace(best, certificate=certificate)


def _design_all(problem: Problem) -> Design:
    check_possible(problem)
    choice = choose(problem, "auto")
    rows: list[Agreement] = []
    found: Design | None = None
    for method in ordered_methods(problem.program):
        if method.refusal(problem.program) is not None or not (
            method.is_exact or method is choice.method
        ):
            continue
        try:
            other, _ = _run_choice(problem, replace(choice, method=method))
        except (SolverError, CertificateError) as failure:
            rows.append(Agreement(method.name, None, None, None, str(failure)))
            continue
        rows.append(Agreement(method.name, other.value, other.bound, other.gap))
        found = other if found is None else _together(problem, found, other)
    if found is None:
        check_feasible(problem)
        raise SolverError(
            f"every method failed on {problem}: " + "; ".join(row.note for row in rows)
        )
    return replace(_refined(problem, found), agreement=tuple(rows))
