"""Which kernel of a comparison is at least as good as another whatever the utility."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main

PRIOR = md.Prior([0.5, 0.3, 0.2])


@pytest.fixture(scope="module")
def found():
    return md.compare(PRIOR, md.utility.Hamming(), [md.PML, md.PMC, md.LIP, md.LDP], [0.3, 1.0])


def test_every_pair_is_asked_once_and_agrees_with_refines(found):
    assert len(found.orders) == 2 * 4 * 3
    designs = {(p.target, p.notion): p.design for p in found}
    for order in found.orders:
        one, two = (designs[order.target, name] for name in (order.first, order.second))
        assert order.verdict is md.refines(one, two, PRIOR).verdict
    verdicts = {str(order.verdict) for order in found.orders}
    assert verdicts == {"yes", "no"}, "the control: both answers occur"


def test_a_kernel_said_to_be_better_is_for_random_utilities(found):
    rng = np.random.default_rng(4)
    designs = {(p.target, p.notion): p.design for p in found}
    ahead = 0
    for order in found.orders:
        one, two = (designs[order.target, name] for name in (order.first, order.second))
        lead = [
            best_use(one.mechanism.kernel, gains) - best_use(two.mechanism.kernel, gains)
            for gains in rng.random((100, 3, 4))
        ]
        if order.verdict is md.Verdict.YES:
            assert min(lead) >= -1e-9
        else:
            ahead += min(lead) < -1e-9
    assert ahead > 0, "the control: a kernel that is not better loses for some utility"


def best_use(kernel, gains):
    """The largest gain of guesses from reports, under equal masses."""
    return (kernel.T @ gains).max(axis=1).sum()


def test_the_verdict_says_it_in_a_sentence(found):
    line = found.verdict[-1]
    assert line.startswith("Whatever the use")
    assert "the kernel of PMC is at least as good as that of LIP" in line
    assert "the kernel of LIP is at least as good as that of PMC" not in line


def test_equal_kernels_are_called_equally_good():
    found = md.compare(PRIOR, md.utility.Hamming(), ["pml", "alip:inf,e"], [0.5])
    assert "PML and ALIP(inf, ε) are equally good at the only target" in found.verdict[-1]


def test_kernels_without_an_order_are_said_to_have_none(found):
    two = found.select()
    kernels = {
        "PML": md.Mechanism([[0.9, 0.1], [0.5, 0.5], [0.5, 0.5]]),
        "LDP": md.Mechanism([[0.5, 0.5], [0.5, 0.5], [0.1, 0.9]]),
    }
    points = []
    for p in found:
        if p.notion in kernels and p.target == 1:
            audit = md.audit(kernels[p.notion], PRIOR)
            points.append(
                replace(
                    p,
                    design=replace(p.design, mechanism=kernels[p.notion]),
                    mutual_information=audit.mutual_information,
                    achieved_pml=audit.pml,
                    achieved_ldp=audit.ldp,
                )
            )
    changed = replace(two, points=tuple(points), match="loss")
    assert changed.verdict[-1].startswith("None of these kernels is better")


def test_large_kernels_are_left_undecided_and_nothing_is_said():
    found = md.compare(md.Prior.uniform(40), md.utility.Hamming(), [md.PML, md.LIP], [0.5])
    assert {str(order.verdict) for order in found.orders} <= {"no", "undecided"}
    assert not any("Whatever the use" in line for line in found.verdict)


def test_several_panels_are_named():
    priors = {"a": PRIOR, "b": md.Prior([0.4, 0.4, 0.2])}
    found = md.compare(priors, md.utility.Hamming(), [md.PMC, md.LDP], [1.0])
    lines = [line for line in found.verdict if "Whatever the use" in line]
    assert [line[:3] for line in lines] == ["a: ", "b: "]


def test_the_command_line_says_it_too(capsys):
    asked = ["compare", "--prior", ".5,.3,.2", "--levels", "1", "-n", "pmc", "-n", "ldp"]
    assert main(asked) == 0
    assert "Whatever the use" in " ".join(capsys.readouterr().out.split())
    assert main([*asked, "--json"]) == 0
    orders = json.loads(capsys.readouterr().out)["orders"]
    assert [(o["first"], o["second"], o["verdict"]) for o in orders] == [
        ("PMC", "LDP", "yes"),
        ("LDP", "PMC", "no"),
    ]
