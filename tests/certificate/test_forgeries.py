"""Forged files: what is proved of them is true, and what reads them agrees with what checks them.

What is true is recomputed without the package (``judging.py``); files are drawn by seeds.
"""

from __future__ import annotations

import pytest
from forging import MAKERS, Forger, Forgery, honest, sealed, telling, worse_kernel
from judging import tried, truths

from mechdesign.certificate import verify

#: Honest files that are made at once, of every kind and of most parts of the format.
QUICK = (
    "ldp", "lip", "symbols", "matrix", "graph", "secrets", "vertices", "ball", "feature",
    "adjacent", "maximal", "approximate", "posterior", "unbiased", "entry", "utilities",
    "estimates, lift", "estimates, several truths", "public, graph", "public, pml", "mechanism",
    "selection, lift", "groups", "plan", "impossible rows", "ratio", "bits and nats", "steps",
    "public, thirds",
)  # fmt: skip
SHARES = 4


def wrong_of(forger, count, path):
    """What is wrong with what is said of some forgeries, with their recipes; what states occur."""
    found, states = [], []
    for _ in range(count):
        forgery = forger.draw()
        trial = tried(forgery, verify, path)
        found += [(forgery.base, forgery.recipe, fault) for fault in trial.faults]
        states.append(trial.state)
    return found, states


def test_what_is_proved_of_a_hundred_forged_files_is_true(tmp_path):
    found, states = wrong_of(Forger(1, QUICK), 100, tmp_path / "forged.json")
    assert found == []
    assert {*states} == {"proved", "refuted", "not proved here", "unreadable"}


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_what_is_proved_of_two_thousand_forged_files_is_true(share, tmp_path):
    found, states = wrong_of(Forger(100 + share), 2000 // SHARES, tmp_path / "forged.json")
    assert found == []
    assert states.count("unreadable") < 0.7 * len(states)


@pytest.mark.slow
def test_nothing_is_wrong_with_what_is_said_of_honest_files(tmp_path):
    for name in MAKERS:
        trial = tried(Forgery(name, (), honest(name)), verify, tmp_path / "honest.json")
        assert (trial.is_read, trial.faults) == (True, []), (name, trial)
        assert trial.state in ("proved", "not proved here"), (name, trial)


def test_digests_and_fingerprints_follow_from_the_description():
    for name in QUICK:
        assert sealed(honest(name)) == honest(name), name


def test_kernels_that_tell_all_and_worse_ones_that_claim_to_be_best_are_seen():
    """The judge of forged files is no witness if it says yes to everything."""
    for name in QUICK:
        content = honest(name)
        if content["kind"] != "design":
            continue
        assert False not in dict(truths(content)).values(), name
        is_told = dict(truths(telling(content)))
        assert is_told["privacy"] is is_told["verdicts"] is False, name
        for notion in content["notions"]:  # three times the level: the bound is of the old one
            for key, level in notion["parameters"].items():
                if key.startswith("epsilon"):
                    notion["parameters"][key] = 5.0 if isinstance(level, dict) else level * 3
        wider = dict(truths(content))
        assert wider["privacy"] is True, name
        # Of estimates no better kernel is looked for.
        is_open = name == "unbiased" or name.startswith("estimates")
        assert wider["bound"] is (None if is_open else name == "posterior"), name
        worse = dict(truths(worse_kernel(honest(name), Forger(0))))
        assert worse["bound"] is (None if name.startswith("estimates") else False), name
