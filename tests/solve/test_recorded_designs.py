"""Designing what an earlier version designed gives the same numbers."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path

import pytest
from checks import slow_but

import mechdesign as md
from mechdesign.storage import asked_from_json

AGREEMENT = 1e-12
SHARES = 6
FILES = sorted((Path(__file__).parents[1] / "recorded").glob("*.jsonl.gz"))
RECORDED = [json.loads(line) for file in FILES for line in gzip.open(file, "rt", encoding="utf-8")]


def test_there_are_recorded_designs():
    assert len(RECORDED) >= 300


@pytest.mark.parametrize("share", slow_but(2, range(SHARES)))
def test_recorded_designs_are_found_again(share):
    for recorded in RECORDED[share::SHARES]:
        value, bound = recorded["value"], recorded["bound"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prior, notions, utility = asked_from_json(recorded)
            again = md.design(prior, utility, notions)
        # Two proved optima differ by no more than their gaps; what was found is found as well.
        size = max(abs(value), bound - value, 1e-300)
        assert again.value >= value - AGREEMENT * size, (recorded, again)
        assert again.bound <= bound + AGREEMENT * size, (recorded, again)
        assert again.value <= bound + AGREEMENT * size, (recorded, again)


def test_a_changed_number_is_noticed():
    recorded = RECORDED[0]
    prior, _, utility = asked_from_json(recorded)
    again = md.design(prior, utility, [md.LDP(0.01)])
    assert again.value < recorded["value"] - AGREEMENT * abs(recorded["value"])
