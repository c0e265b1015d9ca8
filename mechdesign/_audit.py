"""``audit``: what a kernel leaks under every notion, per outcome, and whether it may."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import KernelError, MechdesignError, PriorError, quote
from .exact import Verdict, rounded_up
from .labels import Label, one_line, shorten, told_shape
from .mechanism import ImplicitKernel, Mechanism, as_mechanism
from .notebook import Tabular, notebook_table
from .prior import Prior
from .privacy.average import MaximalCostLeakage, MaximalLeakage, MIPrivacy
from .privacy.notion import NOTIONS, Check, PrivacyNotion, Worst, as_notions, is_ours
from .requirement.base import Requirement, RequirementCheck, as_requirements

#: Averages that are values in floats, shown to the nearest digit; the others are exact levels.
MEASURED = frozenset({"mutual information"})


@dataclass(frozen=True, eq=False)
class Leakage:
    """What a kernel leaks under one notion.

    Attributes
    ----------
    notion : the notion at the levels that the kernel has, so ``str(leakage.notion)`` names them
    levels : achieved levels in nats, exact and rounded up (one per level of the notion)
    per_outcome : ``(L, M)`` leakage of each outcome in nats, in floating point
    worst : for each level the outcome that leaks most, and about which hypotheses
    """

    notion: PrivacyNotion
    levels: tuple[float, ...]
    per_outcome: NDArray[np.float64]
    worst: tuple[Worst, ...]

    @property
    def worst_output(self) -> Label:
        """Label of the outcome that attains the (first) level."""
        return self.worst[0].output

    @property
    def evidence(self) -> str:
        """The outcomes and the hypotheses that attain the levels, in words."""
        return "; ".join(f"outcome {quote(w.output)}: {w.about}, {w.shown}" for w in self.worst)


@dataclass(frozen=True, eq=False)
class AuditReport(Tabular):
    """Everything an auditor asks about a kernel and a prior. All leakages in nats.

    Attributes
    ----------
    mechanism, prior : what was audited
    leakages : by lower-case name of the notion, such as ``"pml"``
    checks : exact verdict on each notion asked
    maximal_leakage : log Σ_y max_x K[x,y] ([Issa2020]), exact and rounded up
    maximal_cost_leakage : −log Σ_y min_x K[x,y] ([Issa2020]), exact and rounded up
    mutual_information : I(X;Y)
    prior_vulnerability, posterior_vulnerability : probability of guessing the secret right without
        and with the output
    kept : exact verdict on each requirement asked, with its excess
    left_out : notions from outside the package that nobody asked for and that failed on this
        kernel, by lower-case name, with the reason
    """

    mechanism: Mechanism
    prior: Prior
    leakages: dict[str, Leakage]
    checks: tuple[Check, ...]
    maximal_leakage: float
    maximal_cost_leakage: float
    mutual_information: float
    prior_vulnerability: float
    posterior_vulnerability: float
    kept: tuple[RequirementCheck, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        leakages = self.__dict__.get("leakages", {})
        if name in leakages:
            levels = leakages[name].levels
            return levels[0] if len(levels) == 1 else levels
        why = self.__dict__.get("left_out", {}).get(name)
        if why is not None:
            raise AttributeError(f"{name} was not computed: {why}")
        raise AttributeError(f"{type(self).__name__!s} has no attribute {quote(name)}")

    @property
    def verdict(self) -> Verdict | None:
        """Yes when every notion and requirement asked holds, no when one does not; ``None`` if
        none was asked.
        """
        found = {check.verdict for check in self.checks} | {c.verdict for c in self.kept}
        if not found:
            return None
        return next(v for v in (Verdict.NO, Verdict.UNDECIDED, Verdict.YES) if v in found)

    def entries(self) -> Iterator[tuple[str, Leakage, str, Worst]]:
        """Every level of every notion: the notion's name, its leakage, the field, the worst."""
        for name, leakage in self.leakages.items():
            for level, worst in zip(leakage.notion.level_fields, leakage.worst, strict=True):
                yield name, leakage, level, worst

    @property
    def ruled_out(self) -> dict[Label, tuple[Label, ...]]:
        """For each output that some symbol has and others never have, these others.

        Whoever sees it knows that it was none of them: ratios of likelihoods are unbounded.
        """
        weights = self.mechanism.weights
        found = {}
        for y, output in enumerate(self.mechanism.outputs):
            never = [x for x, w in zip(self.mechanism.inputs, weights[:, y], strict=True) if not w]
            if never and len(never) < len(weights):
                found[output] = tuple(never)
        return found

    @property
    def omissions(self) -> list[str]:
        """A sentence for each notion in :attr:`left_out`."""
        return [
            f"{name} was not computed ({why}): put by_default = False into its class, and audits "
            "list it only where it is asked for."
            for name, why in self.left_out.items()
        ]

    @property
    def averages(self) -> dict[str, float]:
        """Leakages that average over outcomes, in nats, by their names in words."""
        return {
            "maximal leakage": self.maximal_leakage,
            "maximal cost leakage": self.maximal_cost_leakage,
            "mutual information": self.mutual_information,
        }

    def rows(self) -> list[dict[str, Any]]:
        """Those of :meth:`table`."""
        return self.table()

    def table(self) -> list[dict[str, Any]]:
        """One row per outcome: label, probability, leakage under each notion."""
        q = self.mechanism.output_distribution(self.prior)
        rows = []
        for j, label in enumerate(self.mechanism.outputs):
            row: dict[str, Any] = {"output": label, "probability": float(q[j])}
            for name, leakage in self.leakages.items():
                fields = leakage.notion.level_fields
                for k, values in enumerate(leakage.per_outcome):
                    key = name if len(fields) == 1 else f"{name}.{fields[k]}"
                    row[key] = float(values[j])
            rows.append(row)
        return rows

    def summary(self) -> dict[str, Any]:
        """The numbers of the report, without the table, as plain values."""
        return {
            **{
                name: leakage.levels[0] if len(leakage.levels) == 1 else list(leakage.levels)
                for name, leakage in self.leakages.items()
            },
            "maximal_leakage": self.maximal_leakage,
            "maximal_cost_leakage": self.maximal_cost_leakage,
            "mutual_information": self.mutual_information,
            "prior_vulnerability": self.prior_vulnerability,
            "posterior_vulnerability": self.posterior_vulnerability,
        }

    def __repr__(self) -> str:
        n, m = self.mechanism.shape
        lines = [f"Audit of {told_shape((n, m))} (nats)"]
        for name, leakage, level_field, worst in self.entries():
            label = name if len(leakage.levels) == 1 else f"{name} {level_field}"
            place = f"at '{shorten(worst.output)}': {worst.about}"
            lines.append(f"  {label:<22} {rounded_up(worst.level, 6):<12} {place}")
        for name, level in self.averages.items():
            shown = f"{level:.6g}" if name in MEASURED else rounded_up(level, 6)
            lines.append(f"  {name:<22} {shown}")
        lines.append(
            f"  {'guessing the secret':<22} {self.prior_vulnerability:.4f} before, "
            f"{self.posterior_vulnerability:.4f} after"
        )
        lines += [f"  {check.notion}: {check.verdict}; {check.evidence}" for check in self.checks]
        lines += [f"  {kept.requirement}: {kept.verdict}; {kept.shown}" for kept in self.kept]
        lines += [f"  {sentence}" for sentence in self.omissions]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = self.table()
        table = notebook_table(list(rows[0]), (row.values() for row in rows[:50]))
        return f"<pre>{html.escape(repr(self))}</pre>{table}"


def audit(
    mechanism: Mechanism | ArrayLike,
    prior: Prior | Iterable[Any] | None = None,
    privacy: Any = None,
    requirements: Any = None,
) -> AuditReport:
    """What a kernel leaks under every registered notion, and whether it meets asked levels.

    Parameters
    ----------
    mechanism : Mechanism, design or (N, M) array
        From any tool; row sums may be off by rounding.
    prior : Prior or N probabilities, optional
        Left out, that of the design; of a kernel it is needed unless notions alone are asked that
        hold for every prior, as LDP does. What the report says beside them is then under the
        uniform one.
    privacy : notion or list of notions, optional
        Levels to decide on, in exact arithmetic. The verdict on each is yes, no, or undecided when
        the rounding of the kernel's own rows does not decide it.
    requirements : requirement or list of them, optional
        From ``md.require``: each gets an exact verdict, and by how much the kernel breaks it.

    A notion of one's own that nobody asked for and that fails on these labels is named in
    ``left_out`` of the report; one that was asked for raises what it raises.

    Raises
    ------
    KernelError, PriorError, LevelError, RequirementError

    Examples
    --------
    >>> from mechdesign import LDP
    >>> report = audit([[.75, .25], [.25, .75]], [.5, .5], LDP(1.1))
    >>> round(report.ldp, 6), str(report.verdict)
    (1.098612, 'yes')
    """
    asked = () if privacy is None else as_notions(privacy)
    required = as_requirements(requirements)
    if prior is None:
        prior = getattr(mechanism, "prior", None)
    if prior is None:
        if required or not asked or any(notion.uses_prior for notion in asked):
            raise PriorError(
                "prior",
                expected="the prior that beliefs are judged by",
                got="none",
                remedy="pass it, such as md.Prior.uniform(labels), or ask for what needs none, "
                "such as md.LDP(1)",
            )
        mechanism = as_mechanism(mechanism)
        prior = Prior.uniform(mechanism.inputs)
    mechanism, known = matched(mechanism, prior)
    check_fitting(required, mechanism, known)
    leakages, left_out = {}, {}
    for name, cls in NOTIONS.items():
        if not cls.by_default or cls.needs:
            continue
        try:
            leakages[name] = _leakage(cls.at(math.inf), mechanism, known)
        except Exception as problem:  # code from outside, which may fail in any way
            if is_ours(cls) or any(type(notion) is cls for notion in asked):
                raise
            left_out[name] = _reason(problem)
    for notion in asked:
        name = type(notion).__name__.lower()
        if name not in leakages:
            unlimited = notion.with_levels(*[math.inf] * len(notion.levels))
            leakages[name] = _leakage(unlimited, mechanism, known)
    p = known.probabilities[known.support]
    return AuditReport(
        mechanism,
        known,
        leakages,
        tuple(notion.check(mechanism, known) for notion in asked),
        MaximalLeakage.at(math.inf).check(mechanism, known).achieved[0],
        MaximalCostLeakage.at(math.inf).check(mechanism, known).achieved[0],
        MIPrivacy.at(math.inf).measure(mechanism, known)[0],
        float(p.max()),
        math.fsum((p[:, None] * mechanism.kernel[known.support]).max(axis=0)),
        tuple(requirement.check(mechanism, known) for requirement in required),
        left_out,
    )


def check_fitting(requirements: Iterable[Requirement], mechanism: Mechanism, prior: Prior) -> None:
    """Raise :class:`RequirementError` for requirements of other labels or shapes than a kernel."""
    for requirement in requirements:
        for _ in requirement.limits(prior, mechanism.outputs):
            pass
        requirement.bounds(prior)


def matched(
    mechanism: Mechanism | ArrayLike, prior: Prior | Iterable[Any]
) -> tuple[Mechanism, Prior]:
    """A kernel and a prior in any form, as a mechanism and a prior over its inputs.

    Raises :class:`KernelError` or :class:`PriorError` for what cannot be used or does not fit.
    """
    if isinstance(mechanism, ImplicitKernel) or hasattr(mechanism, "mechanism"):
        mechanism = as_mechanism(mechanism)
    if isinstance(prior, Mapping):
        prior = Prior(prior)
    if not isinstance(prior, Prior):
        mechanism = as_mechanism(mechanism)
        _check_size(prior, len(mechanism.inputs))
        prior = Prior(prior, mechanism.inputs)
    elif not isinstance(mechanism, Mechanism):
        mechanism, prior = _labelled(mechanism, prior)
    mechanism.check_prior(prior)
    return mechanism, prior


def _leakage(unlimited: PrivacyNotion, mechanism: Mechanism, prior: Prior) -> Leakage:
    check = unlimited.check(mechanism, prior)
    per_outcome = unlimited.checked_leakage(mechanism, prior)
    return Leakage(
        unlimited.with_levels(*check.achieved),
        check.achieved,
        per_outcome,
        check.worst,
    )


def _reason(problem: Exception) -> str:
    """What an error says, in one line; those of Python with their type."""
    text = one_line(str(problem)) if str(problem) else ""
    if isinstance(problem, MechdesignError):
        return text.rstrip(".")
    return f"{type(problem).__name__}: {text}" if text else type(problem).__name__


def _labelled(kernel: ArrayLike, prior: Prior) -> tuple[Mechanism, Prior]:
    """A plain kernel with the prior's labels; a data frame's own labels are matched by name."""
    try:
        shape = np.shape(kernel)
    except ValueError:  # rows of different lengths; the mechanism says so
        shape = ()
    if len(shape) == 2 and shape[0] != len(prior):
        raise KernelError(
            "kernel",
            expected=f"{len(prior)} rows, one per symbol of the prior",
            got=str(shape[0]),
            remedy="give one row per symbol",
        )
    if hasattr(kernel, "columns"):
        mechanism = Mechanism(kernel)
        if set(mechanism.inputs) == set(prior.labels):
            return mechanism, prior.reordered(mechanism.inputs)
        if mechanism.inputs != tuple(range(len(prior))):
            return mechanism, prior  # the labels differ, and the check of the prior says so
    return Mechanism(kernel, inputs=prior.labels), prior


def _check_size(prior: Any, size: int) -> None:
    """Raise :class:`PriorError` unless there is one probability for each input."""
    try:
        given = len(prior)
    except TypeError:
        raise PriorError(
            "prior",
            expected="a Prior or a sequence of probabilities",
            got=quote(prior),
            remedy="pass a list",
        ) from None
    if given != size:
        raise PriorError(
            "prior",
            expected=f"{size} probabilities, one per input",
            got=str(given),
            remedy="give one probability per row of the kernel",
        )
