"""Forged files: what is proved of them is true, and what reads them agrees with what checks them.

What is true is recomputed without the package (``judging.py``); files are drawn by seeds.
"""

from __future__ import annotations

import pytest
from forging import MAKERS, Forger, Forgery, honest, sealed
from judging import tried

from mechdesign.certificate import verify

#: Honest files that are made at once, of every kind and most parts of the format.
QUICK = (
    "ldp", "lip", "symbols", "matrix", "graph", "secrets", "vertices", "feature", "adjacent",
    "maximal", "posterior", "unbiased", "entry", "utilities", "estimates, lift",
    "estimates, several truths", "public, graph", "public, pml", "mechanism", "selection, lift",
    "groups", "plan", "impossible rows",
)  # fmt: skip
SHARES = 4


def wrong_of(forger, count, path):
    """What is wrong with what is said of some forgeries, with their recipes, and their states."""
    found, states = [], []
    for _ in range(count):
        forgery = forger.draw()
        trial = tried(forgery, verify, path)
        found += [(forgery.base, forgery.recipe, fault) for fault in trial.faults]
        states.append(trial.state)
    return found, states


def test_what_is_proved_of_a_hundred_forged_files_is_true(tmp_path):
    found, states = wrong_of(Forger(1, QUICK), 120, tmp_path / "forged.json")
    assert found == []
    assert {"proved", "refuted", "not proved here", "unreadable"} <= set(states)


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_what_is_proved_of_two_thousand_forged_files_is_true(share, tmp_path):
    found, states = wrong_of(Forger(100 + share), 2000 // SHARES, tmp_path / "forged.json")
    assert found == []
    assert states.count("unreadable") < 0.7 * len(states)


@pytest.mark.slow
def test_nothing_is_wrong_with_honest_files(tmp_path):
    for name in MAKERS:
        trial = tried(Forgery(name, (), honest(name)), verify, tmp_path / "honest.json")
        assert trial.is_read, (name, trial)
        assert not trial.faults, (name, trial)
        assert trial.state in ("proved", "not proved here"), (name, trial)


def test_digests_and_fingerprints_of_honest_files_are_found_from_the_description():
    for name in QUICK:
        assert sealed(honest(name)) == honest(name), name
