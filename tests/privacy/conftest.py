"""What tests of notions share."""

from __future__ import annotations

import notion_contract
import numpy as np
import pytest
from family_notions import N

import mechdesign as md


@pytest.fixture
def four_symbols(monkeypatch):
    """Parameters name four symbols, so the contract's instances have as many."""

    def instances(seed, rounds=10):
        for number in range(rounds):
            rng = np.random.default_rng([seed, number])
            counts = rng.integers(1, 20, N) if number % 3 else np.ones(N, dtype=int)
            yield rng, md.Prior.from_counts(counts.tolist()), int(rng.integers(2, 6))

    monkeypatch.setattr(notion_contract, "instances", instances)
    monkeypatch.setattr(notion_contract, "ROUNDS", 10)
