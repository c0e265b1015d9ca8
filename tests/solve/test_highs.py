"""HiGHS behind its face: what it says of a program is not believed after presolving alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from mechdesign.linear.highs import Model

SIMPLEX = sparse.csc_array(np.ones((1, 3)))


class _Presolved:
    """A HiGHS that calls everything infeasible unless presolving is off, as one version did."""

    def __init__(self, highs):
        self._highs = highs
        self._off = self._believed = False
        self.runs = 0

    def __getattr__(self, name):
        return getattr(self._highs, name)

    def setOptionValue(self, name, value):
        if name == "presolve":
            self._off = value == "off"
        return self._highs.setOptionValue(name, value)

    def run(self):
        self.runs += 1
        self._believed = self._off
        return self._highs.run()

    def getModelStatus(self):
        import highspy

        if self._believed:
            return self._highs.getModelStatus()
        return highspy.HighsModelStatus.kInfeasible


def loaded(right):
    model = Model()
    ends = np.array([right])
    model.load(np.array([1.0, 2.0, 3.0]), SIMPLEX, ends, ends, most=np.array([1.0, 1.0, 0.25]))
    return model


@pytest.mark.parametrize("solver", [None, "simplex", "ipm"])
def test_a_verdict_of_presolving_is_tried_again_without_it(solver):
    model = loaded(1.0)
    model._highs = liar = _Presolved(model._highs)
    for _ in range(2):
        found = model.run(solver)
        assert found.status == "Optimal"
        assert found.value == pytest.approx(0.75 + 1.5)
    # Presolving is on again at the next run.
    assert liar.runs == 4


def test_what_is_infeasible_stays_so():
    found = loaded(2.5).run("simplex")
    assert found.status == "Infeasible"
    assert found.point is None
