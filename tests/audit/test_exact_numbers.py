"""Rationals are kept: what is audited is what was given, and levels that it attains are decided."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mechdesign as md
from mechdesign.exact import float_at_most, level_bounds, log_level
from mechdesign.kernel_files import load_kernel

THIRDS = [[Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)]]
TENTHS = [[Decimal(".7"), Decimal(".3")], [Decimal(".3"), Decimal(".7")]]
EQUAL = [[Decimal(".1"), Decimal(".2"), Decimal(".7")]] * 2
#: Kernels that have a level exactly, with it and one just below.
TIGHT = {
    "thirds": (THIRDS, md.LDP(md.ratio(2)), md.LDP(md.ratio("1.999999999999999999999"))),
    "tenths": (TENTHS, md.LDP(md.ratio("7/3")), md.LDP(Fraction("0.84729786038720361"))),
    "one row": (EQUAL, md.LDP(0), None),
    "lift": (THIRDS, md.PML(md.ratio("4/3")), md.PML(md.ratio("1.333333333333333333333"))),
    "sums": (THIRDS, md.MaximalLeakage(md.ratio("4/3")), md.MaximalLeakage(md.bits("0.415037"))),
    "minima": (THIRDS, md.MaximalCostLeakage(md.ratio("3/2")), md.MaximalCostLeakage(0.405465)),
}


def verdicts(kernel, *notions):
    return [str(md.audit(kernel, [0.5, 0.5], notion).verdict) for notion in notions if notion]


def test_rational_kernels_attain_their_levels_and_no_lower_ones():
    for name, (kernel, tight, below) in TIGHT.items():
        assert verdicts(kernel, tight, below) == ["yes", "no"][: 2 if below else 1], name
        framed = pd.DataFrame(kernel, ["x", "y"], list("abc")[: len(kernel[0])])
        assert md.audit(framed, md.Prior.uniform(["x", "y"]), tight).verdict is md.Verdict.YES


def test_floats_near_these_stay_undecided():
    for kernel, tight, _ in TIGHT.values():
        off = np.array(kernel, dtype=float) * (1 + 1e-9)
        assert verdicts(off, tight) == ["undecided"]


rows = st.integers(2, 4).flatmap(
    lambda m: st.lists(st.lists(st.integers(1, 60), min_size=m, max_size=m), min_size=2, max_size=4)
)


@given(rows, st.integers(1, 10**30))
def test_rational_kernels_have_the_logarithm_of_their_largest_ratio_and_nothing_less(rows, finer):
    kernel = [[Fraction(w, sum(row)) for w in row] for row in rows]
    ratio = max(max(column) / min(column) for column in zip(*kernel, strict=True))
    prior = md.Prior.uniform(len(rows))
    (check,) = md.audit(kernel, prior, md.LDP(log_level(ratio))).checks
    assert check.verdict is md.Verdict.YES
    assert check.ratio == ratio
    if ratio > 1:
        low = level_bounds(log_level(ratio))[0]
        for level in (
            log_level(ratio - (ratio - 1) / (1 + finer)),
            low - low / (1 + finer),
            float_at_most(low),
        ):
            assert md.audit(kernel, prior, md.LDP(level)).verdict is md.Verdict.NO


def test_kernels_and_priors_keep_what_texts_say(tmp_path):
    files = {
        "p.csv": "input,a,b\nx,2/3,1/3\ny,1/3,2/3\n",
        "p.json": json.dumps([["2/3", "1/3"], ["1/3", "2/3"]]),
        "d.csv": "input;a;b\nx;.7;.3\ny;.3;.7\n",
        "d.json": '{"kernel": [[0.7, 0.3], [0.3, 0.7]], "inputs": ["x", "y"]}',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        found = load_kernel(tmp_path / name)
        wanted = THIRDS if name.startswith("p") else TENTHS
        assert found == md.Mechanism(wanted, found.inputs, found.outputs), name
        assert found.is_exact


def test_kernels_that_programs_wrote_are_the_floats_that_they_had(tmp_path):
    found = md.design(md.Prior([0.3, 0.7]), md.utility.Hamming(), md.LDP(1)).mechanism
    for name, text in {
        "k.csv": "input,0,1\n"
        + "".join(f"{x},{a!r},{b!r}\n" for x, (a, b) in enumerate(found.kernel.tolist())),
        "k.json": json.dumps(found.kernel.tolist()),
    }.items():
        (tmp_path / name).write_text(text)
        assert load_kernel(tmp_path / name) == found, name


def test_operations_on_rational_kernels_are_exact():
    kernel = md.Mechanism(THIRDS, ["x", "y"], ["x", "y"])
    twice = kernel @ kernel
    assert twice == md.Mechanism(
        [[Fraction(5, 9), Fraction(4, 9)], [Fraction(4, 9), Fraction(5, 9)]], ["x", "y"], ["x", "y"]
    )
    assert kernel.mix(twice, Fraction(1, 3)).is_exact
    assert kernel.parallel(kernel).denominator == kernel.product(kernel).denominator == 9
    assert (
        md.audit(kernel.parallel(kernel), [0.5, 0.5], md.LDP(2 * md.ratio(2))).verdict
        is md.Verdict.YES
    )
    with pytest.raises(md.MechdesignError, match="power of two"):
        _ = kernel.bits


def test_reports_of_rational_kernels_are_drawn_by_their_chances():
    reports = md.Sampler(md.Mechanism(THIRDS, ["x", "y"], ["x", "y"]), rng=5).draw(["x"] * 9000)
    assert abs(list(reports).count("x") - 6000) < 200


def test_levels_add_up_exactly():
    two, three = (
        md.Mechanism(
            [[Fraction(k, k + 1), Fraction(1, k + 1)], [Fraction(1, k + 1), Fraction(k, k + 1)]]
        )
        for k in (2, 3)
    )
    found = md.theory.account([two, three], md.Prior.uniform(2), md.LDP)
    assert found.parts == (md.ratio(2), md.ratio(3))
    assert found.level == found.bound == found.parts[0] + found.parts[1] == md.ratio(6)


def test_exact_levels_are_those_of_conversions():
    prior, level = md.Prior.uniform(3), md.ratio(3)
    for found in (
        md.convert(md.LDP(level), md.LDP, prior),
        md.convert(md.LDP(level), md.DP(1, "all"), prior, tight=True),
    ):
        assert found.epsilon == level
    assert md.convert(md.PML(md.bits("0.5")), md.PML, prior, tight=True).epsilon == md.bits("0.5")


def test_multiples_by_a_distance_are_powers():
    prior, level = md.Prior.uniform([0, 1, 3, Fraction(7, 2)]), md.ratio(9)
    (bound,) = md.MetricPrivacy(level, "absolute").bounds(prior)
    assert [bound.level(2 * i) for i in range(2)] == [md.ratio(9), md.ratio(81)]
    half = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    near = md.MetricPrivacy.graph(level, [("x", "y", Fraction(1, 2))])
    assert (
        md.audit(md.Mechanism(half, ["x", "y"]), md.Prior.uniform(["x", "y"]), near).verdict
        is md.Verdict.YES
    )
