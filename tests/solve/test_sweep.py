"""Sweeps along levels: the same optima as single designs, in order, in one process or several."""

from __future__ import annotations

import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.errors import InputError, LevelError

RNG = np.random.default_rng(0)
PRIOR = md.Prior.from_counts(RNG.dirichlet(np.ones(30)))
UTILITY = md.utility.Matrix(RNG.random((30, 45)))
LEVELS = [float(level) for level in np.linspace(0.1, 3, 12)]


@for_each("family", [md.LDP, md.PML, md.PMC, md.LIP])
def test_a_sweep_is_as_good_as_single_designs(family):
    path = [family(level) for level in LEVELS]
    found = md.sweep(PRIOR, UTILITY, path)
    assert [d.notions[0] for d in found] == path
    for design, privacy in zip(found, path, strict=True):
        alone = md.design(PRIOR, UTILITY, privacy)
        assert design.value == pytest.approx(alone.value, abs=1e-7)
        assert design.gap <= 1e-7
        assert str(design.certificate.checks[0].verdict) == "yes"


def test_processes_give_the_same_designs():
    path = [md.PML(level) for level in LEVELS[:6]]
    one = md.sweep(PRIOR, UTILITY, path)
    two = md.sweep(PRIOR, UTILITY, path, jobs=2)
    assert [d.notions for d in two] == [d.notions for d in one]
    np.testing.assert_allclose([d.value for d in two], [d.value for d in one], atol=1e-7)


def test_an_empty_path_and_bad_levels():
    assert md.sweep(PRIOR, UTILITY, []) == []
    with pytest.raises(LevelError):
        md.sweep(PRIOR, UTILITY, [0.5, 1.0])


def test_progress_goes_to_standard_error(capsys):
    md.sweep(PRIOR, UTILITY, [md.LDP(1), md.LDP(2)], progress=True)
    assert capsys.readouterr().out == ""


def test_what_is_no_path_or_no_number_of_processes():
    with pytest.raises(LevelError, match="one notion for each point"):
        md.sweep(PRIOR, UTILITY, md.LDP(1))
    with pytest.raises(InputError, match="jobs"):
        md.sweep(PRIOR, UTILITY, [md.LDP(1)], jobs=0)
    with pytest.raises(InputError, match="one method"):
        md.sweep(PRIOR, UTILITY, [md.LDP(1)], solver="all")


def test_a_time_limit_holds_for_every_point(monkeypatch):
    from mechdesign.solve import _sweep

    prior = md.Prior([0.5, 0.3, 0.2])
    limits, real = [], _sweep.run_solver

    def watched(problem, *args, **more):
        limits.append(problem.program.time_limit)
        return real(problem, *args, **more)

    monkeypatch.setattr(_sweep, "run_solver", watched)
    path, goal = [md.PML(1), md.PML(1.1)], md.utility.MutualInformation()
    md.sweep(prior, goal, path, time_limit=7.5)
    assert limits == [7.5, 7.5]
    table = md.compare(prior, goal, [md.PML, md.LDP], [0.5, 1], time_limit=3)
    assert len(table) == 4
    assert limits[2:] == [3.0] * 4
    for run in (md.sweep, md.compare):
        with pytest.raises(InputError, match="time_limit"):
            run(prior, goal, [md.PML(1)] if run is md.sweep else [md.PML], time_limit=-1)
