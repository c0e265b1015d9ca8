"""Files saved by earlier versions load, and designing the same again gives the same numbers."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path

import pytest
from checks import slow_but

import mechdesign as md
from mechdesign.storage import from_json

AGREEMENT = 1e-12
SHARES = 6
FILES = sorted((Path(__file__).parents[1] / "recorded").glob("*.jsonl.gz"))
RECORDED = [json.loads(line) for file in FILES for line in gzip.open(file, "rt", encoding="utf-8")]


def test_there_are_recorded_designs():
    assert len(RECORDED) >= 300


@pytest.mark.parametrize("share", slow_but(2, range(SHARES)))
def test_recorded_designs_load_and_are_found_again(share):
    for content in RECORDED[share::SHARES]:
        saved = from_json(content, "recorded")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = md.design(saved.prior, saved.utility, list(saved.notions))
        # Two proved optima differ by no more than their gaps; what was found is found as well.
        size = max(abs(saved.value), saved.bound - saved.value, 1e-300)
        assert again.value >= saved.value - AGREEMENT * size, (saved, again)
        assert again.bound <= saved.bound + AGREEMENT * size, (saved, again)
        assert again.value <= saved.bound + AGREEMENT * size, (saved, again)


def test_a_changed_number_is_noticed():
    content = json.loads(json.dumps(RECORDED[0]))
    saved = from_json(content, "recorded")
    again = md.design(saved.prior, saved.utility, [md.LDP(0.01)])
    assert again.value < saved.value - AGREEMENT * abs(saved.value)
