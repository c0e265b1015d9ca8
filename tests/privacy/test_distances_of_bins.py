"""Distances and orders that are read from labels, where symbols are bins of numbers."""

from __future__ import annotations

import copy
import datetime as dt
import itertools
import math
import warnings
from fractions import Fraction

import pytest
from checks import for_each, refused

import mechdesign as md
from mechdesign.certificate.verify import PROVED, REFUTED, _check_content
from mechdesign.errors import LevelError, OpenBinWarning, UtilityError
from mechdesign.exact import Verdict
from mechdesign.storage import to_json

AGES = md.bins(edges=[0, 18, 65, 120], whole=True)
BINS = {
    "whole": AGES,
    "open": md.bins(edges=[-math.inf, 0, 0.1, 0.7, math.inf]),
    "whole and open": md.bins(edges=[-math.inf, 0, 18, 65, math.inf], whole=True, closed="right"),
    "open at one end": md.bins(edges=[1, 2.5, math.inf]),
    "thirds": md.bins(edges=[Fraction(1, 3), Fraction(2, 3), 2, 7]),
    "days": md.bins(edges=[dt.date(1969, 12, day) for day in (1, 4, 5, 31)]),
    "times": md.bins(edges=[-math.inf, dt.datetime(2020, 1, 1, 7), dt.datetime(2020, 1, 2, 9)]),
    "years": md.bins(of="year", ends=(2001, 2003)),
    "large": md.bins(edges=[0, 2**53 + 1, 2**54 + 3, math.inf], whole=True),
}
HAMMING = md.utility.Hamming()
# Bins without an end are meant here.
pytestmark = pytest.mark.filterwarnings("ignore::mechdesign.errors.OpenBinWarning")


def counted(labels):
    return md.Prior.from_counts({label: i for i, label in enumerate(labels, 1)})


def prior_of(bins):
    return counted(bins.labels).with_schema({"x": bins})


def numbers_of(bins):
    """The same masses over the midpoints as numbers."""
    return counted(bins.midpoints.tolist())


@for_each("name", BINS)
@for_each("notion", [md.MetricPrivacy(0.1, "absolute"), md.DP(0.4, "adjacent")])
def test_bins_stand_at_their_midpoints(name, notion):
    """A design for bins is one for their midpoints, entry by entry."""
    bins = BINS[name]
    found = md.design(prior_of(bins), HAMMING, notion)
    plain = md.design(numbers_of(bins), HAMMING, notion)
    assert found.status == "optimal"
    assert found.value == pytest.approx(plain.value, abs=1e-9)
    check_of = found.certificate.checks[0]
    assert check_of.verdict is Verdict.YES
    assert check_of.ratio == notion.check(found.mechanism, prior_of(bins)).ratio
    # The distances as they are asked of every pair, by what they are defined as.
    middle, weights = bins.midpoints.tolist(), found.mechanism.kernel
    for a, b in itertools.combinations(range(len(bins)), 2):
        d = abs(middle[a] - middle[b]) if isinstance(notion, md.MetricPrivacy) else abs(a - b)
        most = math.exp(min(notion.epsilon * d, 700)) * (1 + 1e-9)
        assert (weights[a] <= most * weights[b]).all()
        assert (weights[b] <= most * weights[a]).all()


def test_columns_of_tuples_stand_at_theirs():
    labels = list(itertools.product(AGES.labels, [0, 1]))
    prior = md.Prior.uniform(labels).with_schema({"age": AGES, "sex": None})
    points = list(itertools.product(AGES.midpoints.tolist(), [0, 1]))
    notion = md.MetricPrivacy(0.1, "euclidean")
    found = md.design(prior, HAMMING, notion)
    assert found.value == pytest.approx(
        md.design(md.Prior.uniform(points), HAMMING, notion).value, abs=1e-9
    )
    assert proved(found) == PROVED


# Files


def proved(found):
    """The state of every claim of its file."""
    return _check_content(copy.deepcopy(to_json(found))).state


@for_each("name", BINS)
@for_each("notion", [md.MetricPrivacy(0.1, "absolute"), md.DP(0.4, "adjacent")])
def test_the_checker_has_the_same_distances(name, notion, tmp_path):
    found = md.design(prior_of(BINS[name]), HAMMING, notion)
    assert proved(found) == PROVED
    assert proved(md.public_form(found)) == PROVED
    md.save(found, tmp_path / "m.json")
    assert md.load(tmp_path / "m.json").certificate.checks[0].verdict is Verdict.YES


def test_months_have_no_distance():
    for part in ("month", "weekday", "quarter"):
        prior = prior_of(md.bins(of=part))
        assert repr(md.utility.linear.default_utility(prior)) == "Hamming()"
        refused(
            lambda prior=prior: md.design(prior, md.utility.Distance("absolute"), md.LDP(1)),
            "numeric labels",
            error=UtilityError,
        )
        refused(
            lambda prior=prior: md.design(prior, HAMMING, md.MetricPrivacy(1, "absolute")),
            "numbers",
            error=LevelError,
        )
    found = md.design(prior, HAMMING, md.LDP(1))
    assert proved(found) == proved(md.public_form(found)) == PROVED


def test_what_bins_without_an_end_stand_for_is_said_once_and_not_when_loaded(tmp_path):
    bins = md.bins(edges=[0, 18, 65, math.inf], whole=True)
    prior = counted(bins.labels).with_schema({"x": bins})
    with pytest.warns(OpenBinWarning, match="'65 or more', stand in distances") as told:
        found = md.design(prior, None, md.LDP(1))
    assert len(told) == 1
    md.save(found, tmp_path / "m.json")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert md.load(tmp_path / "m.json").utility.spec == "distance:absolute"


def test_the_checker_reads_the_edges():
    """Bins that are said to be nearer than they were are not as private as was designed for."""
    found = md.design(prior_of(AGES), HAMMING, md.MetricPrivacy(0.1, "absolute"))
    content = copy.deepcopy(to_json(found))
    for part in (content["prior"], content["mechanism"]):
        part["attributes"][0]["bins"]["edges"] = ["0", "18", "30", "40"]
    told = {fact["claim"]: fact["state"] for fact in _check_content(content).claims}
    assert REFUTED in [state for claim, state in told.items() if claim.startswith("privacy")], told
