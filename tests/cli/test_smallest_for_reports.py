"""``mechdesign smallest --reports --error``: the smallest level that a survey can do with."""

from __future__ import annotations

import json
import math

import pytest
from checks import for_each

import mechdesign as md
from mechdesign.cli import main
from mechdesign.errors import InfeasibleError, InputError, LevelError
from mechdesign.inference.smallest_levels import smallest_for_reports

PRIOR = md.Prior([0.4, 0.3, 0.2, 0.1], list("abcd"))


def run(capsys, *arguments):
    code = main(["smallest", *arguments])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_two_symbols_have_the_level_of_randomised_response():
    """A report is right with probability a; p is estimated with variance q(1−q)/(2a−1)²/n."""
    p, reports, error = 0.3, 4000, 0.03
    found = smallest_for_reports(
        md.LDP, md.Prior([p, 1 - p], ["yes", "no"]), reports=reports, error=error
    )

    def width(level):
        a = math.exp(level) / (1 + math.exp(level))
        q = p * a + (1 - p) * (1 - a)
        return 1.959963984540054 * math.sqrt(q * (1 - q) / (2 * a - 1) ** 2 / reports)

    assert width(found.level) <= error * (1 + 1e-9)
    assert width(found.below) > error
    assert found.level <= found.below * 1.001
    assert found.plan.errors.max() == pytest.approx(width(found.level), rel=1e-6)
    assert found.error_below == pytest.approx(width(found.below), rel=1e-4)


@pytest.mark.parametrize("notion", ["ldp", "pml", "pml:e+ldp:2e"])
def test_plan_and_the_level_agree(notion):
    found = smallest_for_reports(notion, PRIOR, reports=5000, error=0.025, precision=0.02)
    assert md.plan(found.design, error=0.025).reports <= 5000
    assert found.error_below > 0.025
    assert found.below < found.level <= found.below * 1.02


def test_every_kernel_below_takes_more_reports():
    found = smallest_for_reports(md.LDP, PRIOR, reports=5000, error=0.025, precision=0.01)
    below = md.design(PRIOR, md.utility.Estimation(), md.LDP(found.below))
    told = md.plan(below, error=0.025, best=True)
    assert told.fewest > 5000
    above = md.design(PRIOR, md.utility.Estimation(), md.LDP(found.level))
    assert md.plan(above, error=0.025, best=True).fewest <= 5000


def test_requirements_hold_at_the_level():
    near = [md.require.every_output({"a": 1, "b": -1.2})]
    asked = {"reports": 5000, "error": 0.05, "subject_to": near, "precision": 0.3}
    found = smallest_for_reports(md.LDP, PRIOR, **asked)
    kernel = found.design.mechanism.kernel
    assert (kernel[0] <= 1.2 * kernel[1] + 1e-12).all()


def test_what_no_level_reaches_is_refused():
    told = r"an open survey of as many people has one of ± 0\.09"
    with pytest.raises(InfeasibleError, match=told):
        smallest_for_reports(md.LDP, PRIOR, reports=100, error=0.01)
    with pytest.raises(InputError):
        smallest_for_reports(md.LDP, PRIOR, reports=100, error=-1)
    with pytest.raises(LevelError):
        smallest_for_reports([md.LDP, md.PML], PRIOR, reports=100, error=0.5)


def test_the_command(tmp_path, capsys):
    prior = ("--prior", "a=0.4,b=0.3,c=0.2,d=0.1", "-n", "ldp", "--reports", "5000")
    prior += ("--precision", "0.05")
    path = tmp_path / "d.json"
    code, out, err = run(capsys, *prior, "--error", "2.5%", "-o", str(path), "--json")
    assert (code, err) == (0, f"saved {path}\n")
    shown = json.loads(out)
    found = smallest_for_reports(md.LDP, PRIOR, reports=5000, error=0.025, precision=0.05)
    assert (shown["level"], shown["below"]) == (found.level, found.below)
    assert max(row["error"] for row in shown["rows"]) <= 0.025
    assert md.load(path).mechanism == found.design.mechanism
    code, out, _ = run(capsys, *prior, "--error", "0.025")
    assert code == 0
    assert f"level {found.level!r}" in out
    assert f"below {found.below!r}: every kernel" in out


@for_each(
    ("options", "said"),
    [
        ([], "got none of them"),
        (["--reports", "5000"], "got --reports"),
        (["--error", "1%"], "got --error"),
        (["--at-least", "0.5", "--error", "1%"], "got --at-least and --error"),
        (["--reports", "5000", "--error", "1 in 10"], "0.01 or 1%"),
        (["--reports", "5000", "--error", "5%", "-u", "hamming"], "--at-least with it"),
        (["--reports", "0", "--error", "5%"], "a positive integer"),
    ],
)
def test_other_options_are_refused(options, said, capsys):
    code, _, err = run(capsys, "--prior", "0.5,0.5", *options)
    assert code == 2
    assert said in err
