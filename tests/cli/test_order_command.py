"""``mechdesign research order``: the three orders of two saved kernels."""

from __future__ import annotations

import json

import pytest

import mechdesign as md


@pytest.fixture
def run(run):
    md.save(md.Mechanism([[0.55, 0, 0.45], [0, 0.55, 0.45]]), "erase.json")
    md.save(md.Mechanism([[0.8, 0.2], [0.2, 0.8]]), "flip.json")
    return run


def test_the_three_orders_are_told_apart(run):
    code, out, _ = run("research", "order", "erase.json", "flip.json")
    assert code == 0
    lines = out.replace("\n ", " ").splitlines()
    assert lines[0].startswith("post-processing: no")
    assert any(line.startswith("less noisy: yes") for line in lines)
    assert any(line.startswith("more capable: yes") for line in lines)


def test_turned_round_the_second_is_ahead_at_a_prior(run):
    code, out, _ = run("research", "order", "flip.json", "erase.json", "--json")
    found = json.loads(out)
    assert code == 0
    assert [found[key]["verdict"] for key in ("post_processing", "less_noisy")] == ["no", "no"]
    assert len(found["less_noisy"]["prior"]) == 2


def test_a_file_that_is_not_there_is_one_line(run):
    code, out, err = run("research", "order", "erase.json", "none.json")
    assert code == 2
    assert not out
    assert "Traceback" not in err
    assert "none.json" in err
