"""A first look at a column: nothing is written, and what is shown is what a survey would say."""

from __future__ import annotations

import json
import math
import os

import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign._try_out import ERRORS
from mechdesign.cli import main
from mechdesign.errors import InputError, LevelError
from mechdesign.views.text import print_trial

COUNTED = md.Prior.from_counts({"a": 500, "b": 300, "c": 200})


def test_what_is_shown_is_design_plan_and_estimate():
    found = md.try_out(COUNTED, privacy=[md.LDP(2), md.PML(1)], rng=3)
    assert found.design.notions == (md.LDP(2), md.PML(1))
    assert found.people == 1000
    assert found.shares.tolist() == [0.5, 0.3, 0.2]
    audit = md.audit(found.design)
    assert found.guesses == (0.5, pytest.approx(audit.posterior_vulnerability))
    assert found.reports == {e: md.plan(found.design, error=e).reports for e in ERRORS}
    assert [row["true"] for row in found.rows()] == found.shares.tolist()
    again = md.try_out(COUNTED, privacy=[md.LDP(2), md.PML(1)], rng=3)
    np.testing.assert_array_equal(found.estimate.values, again.estimate.values)
    assert found.plot().get_legend() is not None


def test_reports_are_those_of_the_people():
    found = md.try_out(COUNTED, privacy=md.LDP(3), people=10**6, rng=5)
    off = (found.estimate.values - found.shares) / found.estimate.errors
    assert (np.abs(off) < 4).all()
    assert (off != 0).any()
    other = md.try_out(COUNTED, privacy=md.LDP(3), people=10**6)
    assert (other.estimate.values != found.estimate.values).any()


@pytest.mark.filterwarnings("ignore:.*next to nothing")
@for_each("people", [10, 997, 10**6])
def test_any_number_of_people_has_the_shares_of_the_prior(people):
    prior = md.Prior([0.1, 0.6, 1e-9, 0.3 - 1e-9], list("wxyz"))
    found = md.try_out(prior, people=people, rng=1)
    assert found.people == people
    assert np.abs(found.shares - prior.probabilities).max() * people < 1
    assert md.try_out(prior, rng=1).people == 1000


def test_one_symbol_and_what_cannot_be_are_told():
    alone = md.try_out(md.Prior([1], ["only"]), people=20)
    assert alone.guesses == (1, 1)
    assert alone.estimate.values.tolist() == [1]
    with pytest.raises(InputError, match="of at least 10"):
        md.try_out(COUNTED, people=9)
    with pytest.raises(InputError, match="counted already"):
        md.try_out(COUNTED, "column")
    with pytest.raises(LevelError):
        md.try_out(COUNTED, privacy=md.LDP(math.nan))


def test_one_screen_is_printed_and_nothing_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ledger = tmp_path / "ledger.jsonl"
    monkeypatch.setenv("MECHDESIGN_LEDGER", str(ledger))
    rows = "".join(f"{i},{['low', 'high', 'middle', 'high'][i % 4]}\n" for i in range(400))
    (tmp_path / "people.csv").write_text("id,income\n" + rows)
    asked = ["try", "people.csv", "--column", "income", "-p", "ldp:1", "--seed", "7"]
    assert main(asked) == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) <= 24
    assert "guess" in shown
    assert all(f"± {100 * error:g} %" in shown for error in ERRORS)
    assert main([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    same = md.try_out(tmp_path / "people.csv", "income", md.LDP(1), rng=7)
    assert [row["estimate"] for row in found["rows"]] == same.estimate.values.tolist()
    assert os.listdir(tmp_path) == ["people.csv"]
    assert main(["try", "people.csv"]) == 2
    assert "--column id" in capsys.readouterr().err


def test_many_categories_are_tried_as_few(capsys):
    """Reports are subsets, whose best guess is bounded by what ratios of likelihoods allow."""
    counts = {f"c{i}": 1 + (i < 8) for i in range(112)}
    found = md.try_out(md.Prior.from_counts(counts), privacy=md.LDP(3), people=5000, rng=1)
    before, after = found.guesses
    assert before == 1 / 60
    assert after == pytest.approx(before * math.exp(3) / (before * math.exp(3) + 1 - before))
    off = (found.estimate.values - found.shares) / found.estimate.errors
    assert 0.6 < np.abs(off).mean() < 1
    print_trial(found)
    assert "97 smaller shares not shown" in capsys.readouterr().out
