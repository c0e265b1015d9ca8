"""Numbers with their nouns: one of something is not written in the plural."""

from __future__ import annotations

import re

import pytest

import mechdesign as md
from mechdesign.cli import main

PLURALS = re.compile(r"(?<![\d.,e-])1 (?!less\b)[a-z]+(?<!s)s\b")


def test_one_of_something_is_not_written_in_the_plural(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    one, flip = md.Mechanism([[1.0]]), md.Mechanism([[0.75, 0.25], [0.25, 0.75]])
    known = md.Prior([1.0])
    reports = [0] * 60 + [1] * 40
    texts = [
        repr(one),
        one._repr_html_(),
        repr(md.audit(one, known)),
        md.estimate_rounds([reports], [flip]).describe(),
        str(md.less_noisy([[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]], limit=1)),
        repr(md.compose(flip, times=1)),
        repr(md.plan(flip, reports=100, prior=md.Prior.uniform(2))),
        str(md.RobustPML(1, [md.Prior([0.5, 0.5])])),
        repr(md.design(known, md.utility.Hamming(), md.LDP(1))),
        repr(md.binding(md.design(md.Prior.uniform(2), md.utility.Hamming(), md.LDP(1)))),
    ]
    md.save(one, "one.json")
    assert main(["audit", "one.json", "--prior", "1"]) == 0
    texts.append(capsys.readouterr().out)
    for text in texts:
        assert not PLURALS.search(text), text
    with pytest.raises(AssertionError):  # a control
        assert not PLURALS.search("1 rounds (100)")
