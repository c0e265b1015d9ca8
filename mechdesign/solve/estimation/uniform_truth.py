"""The worst of all truths under bounds that treat all symbols alike: the uniform one, closed form.

Where no prior enters the bounds, as under LDP, or a uniform one does, and the loss treats all
symbols alike, averaging over all permutations of the symbols shows that the uniform truth is least
favourable. The kernels of :mod:`.orbit` are optimal there and no truth is worse for them: their
columns are permutations of one, so that the tangent of the risk at the uniform truth is constant
([YeBarg2018] for LDP).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from ...program.duals import Candidate
from ...program.program import EstimationProgram
from ...program.worst import WorstTruthProgram
from ..method import ANY_CONE, Method
from .orbit import Orbit


class UniformTruth(Method):
    """The worst of all truths, where the bounds treat all symbols alike."""

    name = "uniform-truth"
    features = ANY_CONE | {"worst estimation"}
    reason = (
        "bounds and loss treat all symbols alike: the uniform truth is least favourable, and "
        "the permutations of one extreme column are optimal"
    )
    source = "YeBarg2018 for LDP"

    def condition(self, program: EstimationProgram) -> str | None:
        """Applies to every distribution as truth, under bounds on ratios or a uniform prior."""
        assert isinstance(program, WorstTruthProgram)
        if not program.truths.every:
            return "the worst of a list of truths counts"
        uniform = _uniform(program)
        if uniform is None:
            return "the bounds know the prior, or compare some symbols alone"
        return Orbit().condition(uniform)

    def solve(self, program: EstimationProgram) -> Candidate:
        """The closed form for uniform prior and truth."""
        assert isinstance(program, WorstTruthProgram)
        uniform, n = _uniform(program), len(program.prior)
        assert uniform is not None
        found = Orbit().solve(uniform)
        assert found.duals.inverse is not None
        # What every column pays, tr(AJ⁻¹) πᵀr, whatever its mass under the prior.
        paid = float(np.vdot(uniform.survey.losses, found.duals.inverse))
        same = np.full(n, 1 / n)
        return replace(found, duals=replace(found.duals, prices=paid * same, mixture=same))


def _uniform(program: WorstTruthProgram) -> EstimationProgram | None:
    """The program at the uniform truth, normalised by it; ``None`` where a prior is in the way."""
    n = len(program.prior)
    uniform = program.with_truth((Fraction(1, n),) * n)
    return uniform if program.prior.is_uniform else uniform.with_truth_as_prior()
