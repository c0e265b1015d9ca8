"""Comparisons, sweeps and audits under requirements: where nothing is possible, kept folders."""

from __future__ import annotations

import math

import numpy as np
import pytest
from checks import for_each, refused

import mechdesign as md
from mechdesign import require
from mechdesign.errors import InfeasibleError, RequirementError
from mechdesign.views.pages import comparison_page

ABC = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
HAMMING = md.utility.Hamming()
LEVELS = [0.25, 0.75, 1.25, 1.75]


# Comparisons


def test_points_hold_the_requirement_and_targets_without_any_say_why():
    found = md.compare(ABC, HAMMING, [md.PML, md.LDP], LEVELS, subject_to=require.diagonal(0.6))
    assert len(found.points) + len(found.missing) == 8
    assert {m.target for m in found.missing if m.notion == "LDP"} == {0.25, 0.75}
    for point in found:
        assert point.design.requirements == (require.diagonal(0.6),)
        assert point.design.mechanism.kernel.diagonal().min() >= 0.6
    assert all("every symbol is reported as itself" in m.reason for m in found.missing)
    # e^ε/(e^ε + 2) = 0.6 at ε = log 3.
    ldp = next(m for m in found.missing if m.notion == "LDP")
    assert ldp.reason.endswith(f"below its level of {math.log(3):.4g}")
    assert found.verdict[0] == f"Required throughout: {require.diagonal(0.6)}."
    assert "Required throughout" in comparison_page(found)
    assert "Required throughout" in found._repr_html_()


def test_shares_are_those_of_a_comparison_without_them():
    plain = md.compare(ABC, HAMMING, [md.PML], [1.25])
    bound = md.compare(ABC, HAMMING, [md.PML], [1.25], subject_to=require.invariant())
    (free,), (held,) = plain, bound
    assert held.value < free.value
    least, most = 0.5, 1.0
    assert held.kept == pytest.approx((held.value - least) / (most - least))
    assert held.loss == pytest.approx(most - held.value)
    loose = md.compare(ABC, HAMMING, [md.PML], [1.25], subject_to=require.diagonal(0.0001))
    assert loose.points[0].kept == pytest.approx(free.kept)


def test_what_is_impossible_at_every_level_has_no_point():
    for match in ("epsilon", "pml", "loss"):
        found = md.compare(
            ABC, HAMMING, [md.PML], [0.5, 1], match=match, subject_to=require.cost(np.eye(3), -1)
        )
        assert not found.points
        assert all("expected cost is at most -1" in m.reason for m in found.missing)


@pytest.mark.slow
def test_a_folder_keeps_designs_with_and_without_apart(tmp_path):
    asked = require.diagonal(0.6)
    first = md.compare(ABC, HAMMING, [md.LDP], LEVELS, resume=tmp_path, subject_to=asked)
    count = len(list(tmp_path.iterdir()))
    assert count == len(first.points) == 2
    again = md.compare(ABC, HAMMING, [md.LDP], LEVELS, resume=tmp_path, subject_to=asked)
    assert [p.value for p in again] == [p.value for p in first]
    plain = md.compare(ABC, HAMMING, [md.LDP], LEVELS, resume=tmp_path)
    assert len(list(tmp_path.iterdir())) == count + 4
    assert plain.points[-1].value == pytest.approx(first.points[-1].value)
    assert all(not p.design.requirements for p in plain)


def test_processes_find_the_same():
    asked = [require.diagonal(0.5), require.output("c", 0.1, 0.3)]
    one, two = (
        md.compare(ABC, HAMMING, [md.PML, md.LDP], LEVELS, jobs=jobs, subject_to=asked)
        for jobs in (1, 2)
    )
    assert [p.value for p in one] == pytest.approx([p.value for p in two], abs=1e-10)
    assert [(m.notion, m.target) for m in one.missing] == [
        (m.notion, m.target) for m in two.missing
    ]
    assert one.missing


def test_requirements_that_do_not_fit_are_refused_before_anything_is_designed():
    refused(
        lambda: md.compare(ABC, HAMMING, [md.PML], [1], subject_to=require.zero("q", "a")),
        "'q'",
        error=RequirementError,
    )
    refused(lambda: md.compare(ABC, HAMMING, [md.PML], [1], subject_to="invariant"), "md.require")


# Sweeps


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_sweep_holds_the_proof_where_nothing_is_possible(jobs):
    path = [md.LDP(level) for level in LEVELS]
    found = md.sweep(ABC, HAMMING, path, jobs=jobs, subject_to=require.diagonal(0.6))
    assert [isinstance(entry, InfeasibleError) for entry in found] == [True, True, False, False]
    assert all(entry.proof.bound < 0 for entry in found[:2])
    for notion, design in zip(path[2:], found[2:], strict=True):
        alone = md.design(ABC, HAMMING, notion, subject_to=require.diagonal(0.6))
        assert design.value == pytest.approx(alone.value, abs=1e-9)


# Audits


ENTRIES = [[0.75, 0.25, 0.0], [0.25, 0.5, 0.25], [0.0, 0.5, 0.5]]
KERNEL = md.Mechanism(ENTRIES, ABC.labels, ABC.labels)


@for_each(
    "requirement",
    [
        require.zero("q", "a"),
        require.cost(np.eye(4), 1),
        require.rows(np.eye(2), "<=", 1),
        require.every_output({"q": 1, "a": -2}),
        require.zero(pattern=np.eye(4)),
    ],
)
def test_requirements_of_other_kernels_are_refused(requirement):
    refused(lambda: md.audit(KERNEL, ABC, requirements=requirement), error=RequirementError)
