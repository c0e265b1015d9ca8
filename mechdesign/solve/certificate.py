"""The certificate: the exact check of a kernel, and the bound that its duals prove."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CertificateError
from ..exact import DENOMINATOR_BITS, Verdict
from ..mechanism import Mechanism
from ..privacy.notion import Check
from .bounds import upper_bound
from .methods import Candidate
from .problem import Problem
from .repair import Repair, clean_kernel, repair_kernel

#: Gaps up to this share of the utility range count as optimal.
GAP_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Certificate:
    """Why a kernel is private and how close to optimal it is.

    Attributes
    ----------
    checks : exact verdict on each notion asked, all of them yes
    value : expected utility of the exact kernel
    bound : proven upper bound on the utility of every kernel that satisfies the notions
    bound_source : which duals gave it
    gap : (bound − value) / (max u − min u)
    gain_gap : (bound − value) / (bound − best constant utility): the gap relative to what any
        release can gain over telling nothing
    repair : what was done to the solver's kernel
    repair_loss : utility lost by it, as a share of max u − min u
    solver : what computed the kernel
    fingerprint : SHA-256 over prior, kernel, notions and labels
    """

    checks: tuple[Check, ...]
    value: float
    bound: float
    bound_source: str
    gap: float
    gain_gap: float
    repair: Repair
    repair_loss: float
    solver: str
    fingerprint: str

    @property
    def is_optimal(self) -> bool:
        """Whether the gap is at most 1e-6 of the utility range."""
        return self.gap <= GAP_TOLERANCE


def certify(problem: Problem, candidate: Candidate) -> tuple[Mechanism, Certificate]:
    """Repair a candidate, check it exactly, and bound the optimum by its duals.

    Raises :class:`CertificateError` with the evidence if a check does not say yes.
    """
    weights, repair = repair_kernel(candidate.kernel, problem.inner, problem.bounds)
    mechanism = _with_zero_mass(problem, weights)
    checks = tuple(notion.check(mechanism, problem.prior) for notion in problem.notions)
    failed = tuple(check for check in checks if check.verdict is not Verdict.YES)
    if failed:
        raise CertificateError(
            "the kernel failed its exact check and is withheld: "
            + "; ".join(f"{check.notion} is {check.verdict}, {check.evidence}" for check in failed),
            failed,
        )
    inner_kernel = np.ldexp(weights.astype(np.float64), -DENOMINATOR_BITS)
    value = math.fsum((problem.objective * inner_kernel).ravel())
    solved = math.fsum((problem.objective * clean_kernel(candidate.kernel)).ravel())
    bound, source = upper_bound(problem, candidate)
    width = problem.gain_range
    gain = bound - problem.constant_value
    difference = max(bound - value, 0.0)
    certificate = Certificate(
        checks,
        value,
        max(bound, value),
        source,
        difference / width if width > 0 else 0.0,
        difference / gain if gain > 0 else 0.0,
        repair,
        max(solved - value, 0.0) / width if width > 0 else 0.0,
        candidate.solver,
        fingerprint(problem.prior, mechanism, problem.notions),
    )
    return mechanism, certificate


def _with_zero_mass(problem: Problem, weights: NDArray[np.int64]) -> Mechanism:
    """All symbols back in: one of zero mass gets a copy of the support row that serves it best."""
    prior = problem.prior
    if not prior.has_full_support:
        gains = problem.utility.gains(prior, problem.outputs)  # type: ignore[attr-defined]
        full = np.empty((len(prior), weights.shape[1]), dtype=np.int64)
        full[prior.support] = weights
        kernel = np.ldexp(weights.astype(np.float64), -DENOMINATOR_BITS)
        for i in np.setdiff1d(np.arange(len(prior)), prior.support):
            full[i] = weights[int(np.argmax(kernel @ gains[i]))]
        weights = full
    return Mechanism.from_weights(weights, DENOMINATOR_BITS, prior.labels, problem.outputs)


def fingerprint(prior: Any, mechanism: Mechanism, notions: Any) -> str:
    """SHA-256 of prior, kernel weights, labels and notions, in a canonical text."""
    digest = hashlib.sha256()
    parts = [
        [str(w) for w in prior.weights],
        [repr(label) for label in prior.labels],
        [repr(label) for label in mechanism.outputs],
        [notion.spec for notion in notions],
        mechanism.bits,
    ]
    digest.update(json.dumps(parts).encode())
    digest.update(",".join(str(int(w)) for w in mechanism.weights.ravel()).encode())
    return digest.hexdigest()
