"""Bounds that searches prove: what a file claims of them is proved again, told, or refused."""

from __future__ import annotations

import json
import warnings

import pytest
from verify_cases import changed

import mechdesign as md
from mechdesign.errors import GapWarning, StorageError
from mechdesign.exact import read_fraction, write_fraction
from mechdesign.solve.estimation import generation
from mechdesign.storage import from_json, to_json
from mechdesign.utility import Estimation


@pytest.fixture(scope="module")
def many():
    """The file of a design whose bound comes from relaxations: columns are too many to list."""
    prior = md.Prior.from_counts([600 // x for x in range(1, 28)])
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore", GapWarning)
        patch.setattr(generation, "_ROUNDS", 1)  # more would close the gap
        found = md.design(prior, Estimation(), md.LDP(1))
    assert found.gap > 1e-5
    assert "relaxations" in found.certificate.bound_source
    return json.loads(json.dumps(to_json(found)))


def claiming(content, share):
    """The file with its bound moved towards the value, and a gap that fits."""
    claims = content["certificate"]
    value, bound = claims["value"], claims["bound"]
    moved = value + share * (bound - value)
    content = changed(content, ("certificate", "bound"), moved)
    content = changed(content, ("certificate", "gap"), max(share, 0.0) * claims["gap"])
    return changed(content, ("certificate", "bound_exact"), write_fraction(read_fraction(moved)))


@pytest.mark.slow
def test_what_is_proved_again_is_kept(many):
    again = from_json(many)
    assert again.bound == pytest.approx(many["certificate"]["bound"], rel=1e-6)


@pytest.mark.slow
def test_a_bound_that_is_too_low_is_told_and_not_kept(many):
    with pytest.warns(GapWarning, match="not proved within"):
        again = from_json(claiming(many, 0.3))
    claims = many["certificate"]
    assert again.gap >= 0.9 * claims["gap"]
    assert again.bound >= claims["value"] + 0.9 * (claims["bound"] - claims["value"])


def test_optimality_that_is_not_proved_is_told_and_not_kept(many):
    forged = changed(many, ("certificate", "optimal"), True)
    with pytest.warns(GapWarning, match="not proved within"):
        again = from_json(forged)
    assert not again.certificate.is_optimal


def test_a_bound_that_is_too_high_is_replaced_by_the_one_that_is_proved(many):
    again = from_json(claiming(many, 2.0))
    assert again.bound == pytest.approx(many["certificate"]["bound"], rel=1e-6)


def test_a_bound_below_the_value_of_the_kernel_is_refused(many):
    with pytest.raises(StorageError, match="claims bound"):
        from_json(claiming(many, -0.1))


@pytest.mark.slow
def test_where_all_columns_are_priced_a_bound_that_is_too_low_is_refused():
    prior = md.Prior.from_counts([600 // x for x in range(1, 15)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        found = md.design(prior, Estimation(), md.LDP(1), time_limit=0.5)
    assert "exhaustive search" in found.certificate.bound_source
    content = json.loads(json.dumps(to_json(found)))
    assert from_json(content).bound == pytest.approx(found.bound, rel=1e-9)
    with pytest.raises(StorageError, match="claims"):
        from_json(changed(content, ("certificate", "bound"), found.bound * (1 - 1e-5)))
