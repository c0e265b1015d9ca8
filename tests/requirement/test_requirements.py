"""What every requirement keeps to: words, files, an exact check that shares nothing with limits."""

from __future__ import annotations

import copy
import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, refused
from plain_requirements import WISHES, Room, Wish, random_fractions

import mechdesign as md
from mechdesign.certificate.certificate import fingerprint
from mechdesign.errors import RequirementError, StorageError
from mechdesign.exact import Verdict
from mechdesign.requirement import REQUIREMENTS, as_requirements
from mechdesign.storage import from_json, requirement_from_json, requirement_to_json, seal, to_json

PRIOR = md.Prior([0.5, 0.3, 0.2], labels=["a", "b", "c"])
HAMMING = md.utility.Hamming()
TRIES, BITS = 60, 12


def room(rng, most=4):
    n = int(rng.integers(2, most + 1))
    m = n if rng.random() < 0.7 else int(rng.integers(2, most + 2))
    return Room(rng, random_fractions(rng, n), tuple(range(m)))


def made(name, rng) -> tuple[Wish, Room]:
    while True:
        place = room(rng)
        wish = WISHES[name](place)
        if wish is not None:
            return wish, place


def prior_of(place):
    common = math.lcm(*(m.denominator for m in place.masses))
    return md.Prior.from_counts([int(m * common) for m in place.masses])


def kernels(rng, place):
    """Kernels of integers: random ones, sparse ones, constant, deterministic, symmetric ones."""
    n, m, whole = place.n, place.m, 1 << BITS
    found = [rng.dirichlet(np.full(m, share), n) for share in (0.1, 1.0, 5.0)]
    found.append(np.broadcast_to(rng.dirichlet(np.ones(m)), (n, m)))
    found.append(np.full((n, m), 1 / m))
    found.append(np.eye(n, m) + (np.arange(n)[:, None] >= m) * np.eye(1, m))
    for y in range(m):  # an output that never occurs
        others = np.broadcast_to(np.arange(m) != y, (n, m)) + 1e-300
        found.append(others / others.sum(axis=1, keepdims=True))
    kept = []
    for kernel in found:
        weights = np.floor(kernel * whole).astype(np.int64)
        weights[np.arange(n), weights.argmax(axis=1)] += whole - weights.sum(axis=1)
        kept.append(weights)
    return kept


def mechanism(weights, place):
    return md.Mechanism.from_weights(weights, BITS, range(place.n), place.outputs)


def test_every_registered_requirement_is_drawn():
    rng = np.random.default_rng(3)
    drawn = {type(made(name, rng)[0].requirement) for name in WISHES for _ in range(4)}
    own = {cls for cls in REQUIREMENTS.values() if cls.__module__.startswith("mechdesign.")}
    # Goals of worst cases, numbers of outputs, sums from cvxpy, posteriors and symbols kept apart
    # have tests of their own.
    elsewhere = {"LeastGain", "FewOutputs", "Sums", "Posterior", "Apart"}
    assert {cls.__name__ for cls in own - drawn} == elsewhere


def off_by(wish, weights):
    """By how much the row that is broken most is."""
    found = [Fraction(0)] if not wish.rows else []
    for row in wish.rows:
        value = row.value(weights.tolist(), BITS)
        found += [row.low - value] if row.low is not None else []
        found += [value - row.high] if row.high is not None else []
    return max(found)


@for_each("name", WISHES)
def test_limits_excess_and_definition_agree_on_kernels(name):
    """Entries that are forbidden together are one limit, the sum of them; others are row by row."""
    rng = np.random.default_rng([11, list(WISHES).index(name)])
    verdicts = set()
    for _ in range(TRIES):
        wish, place = made(name, rng)
        prior, requirement = prior_of(place), wish.requirement
        limits = list(requirement.limits(prior, place.outputs))
        for weights in kernels(rng, place):
            found = mechanism(weights, place)
            excess, where = requirement.excess(found, prior)
            plain = all(row.is_kept(weights.tolist(), BITS) for row in wish.rows)
            assert (excess <= 0) == plain, where
            assert excess == off_by(wish, weights) or max(excess, off_by(wish, weights)) <= 0
            if not requirement.is_local:
                assert all(limit.is_kept(weights, BITS) for limit in limits) == plain
            check = requirement.check(found, prior)
            assert check.verdict is (Verdict.YES if plain else Verdict.NO)
            assert Fraction(check.excess) >= excess
            assert where
            verdicts.add(plain)
        text = requirement.description
        assert text == str(requirement)
        assert 5 < len(text) < 300
        assert not {"\n", "None", "nan"} & {text, *text.split()}
        again = requirement_from_json(json.loads(json.dumps(requirement_to_json(requirement))))
        assert (again, hash(again)) == (requirement, hash(requirement))
    assert verdicts == {True, False}, "one of the verdicts never came"


LABELS = [1, 1.5, "inf", "nan", "", "a\nb", ("a", 2), (), True, "1"]


@for_each("label", LABELS)
def test_files_hold_labels_of_every_kind(label):
    for requirement in (
        md.require.at_least(label, label, 0.25),
        md.require.diagonal({label: 0.5}),
        md.require.output(label, 0.1),
        md.require.unbiased({label: 1.0}),
        md.require.equal_error([[label], ["b"]], 0.1),
        md.require.every_output({label: 1.0, "b": -2.0}),
        md.require.ratio(label, "b", 2),
        md.require.posterior(label, at_most=0.5),
        md.require.lift([label, "b"], 0.5, 2),
        md.require.apart(label, "b"),
    ):
        again = requirement_from_json(json.loads(json.dumps(requirement_to_json(requirement))))
        assert again == requirement
        assert repr(again) == repr(requirement)
        assert "\n" not in str(requirement)


# What is refused

EYE = np.eye(3)
BAD = {
    "zero of nothing": lambda r: r.zero(),
    "zero of two kinds": lambda r: r.zero("a", "b", farther_than=1),
    "distance alone": lambda r: r.zero("a", "b", distance=EYE),
    "pattern with NaN": lambda r: r.zero(pattern=EYE * math.nan),
    "floor above one": lambda r: r.at_least("a", "a", 1.0001),
    "no diagonal": lambda r: r.diagonal(),
    "diagonal swapped": lambda r: r.diagonal(0.6, 0.5),
    "invariance too sharp": lambda r: r.invariant(1e-16),
    "one group": lambda r: r.equal_error([["a", "b"]], 0.1),
    "groups of text": lambda r: r.equal_error("ab", 0.1),
    "unbiased by a list": lambda r: r.unbiased([1, 2]),
    "no such sense": lambda r: r.rows(EYE, "<", 1),
    "rows and numbers": lambda r: r.rows([EYE, EYE], "<=", [1]),
    "rows too sharp": lambda r: r.rows(EYE, "==", 1, tolerance=1e-16),
    "every output, signs": lambda r: r.every_output({"a": 2, "b": -1}),
    "labels in a list": lambda r: r.at_least("a", ["b"], 0.5),
    "NaN for a label": lambda r: r.zero(math.nan, "b"),
    "share of no output": lambda r: r.output(None, 0.1),
    "groups spelt out": lambda r: r.equal_error(["ab", "c"], 0.1),
    "rows of ragged numbers": lambda r: r.rows([EYE], "<=", [[1, 2], [3]]),
}
#: Requirements that are well made and do not fit the design.
MISFITS = {
    "no such symbol": lambda r: r.zero("z", "a"),
    "no such output": lambda r: r.zero("a", "z"),
    "no such diagonal": lambda r: r.diagonal({"z": 0.5}),
    "pattern of another shape": lambda r: r.zero(pattern=np.ones((2, 3))),
    "no such group": lambda r: r.equal_error([["a"], ["z"]], 0.1),
    "costs of groups of another shape": lambda r: r.equal_error(
        [["a"], ["b"]], 0.1, costs=np.ones((2, 2))
    ),
    "values that lack": lambda r: r.unbiased({"a": 1.0}),
}


@for_each("name", BAD)
def test_what_is_no_requirement_is_refused(name):
    refused(lambda: BAD[name](md.require), error=RequirementError)


@for_each("name", MISFITS)
def test_what_does_not_fit_is_refused_by_the_design(name):
    requirement = MISFITS[name](md.require)
    refused(
        lambda: md.design(PRIOR, HAMMING, md.LDP(1), subject_to=requirement),
        error=RequirementError,
    )
    kernel = md.Mechanism(EYE, PRIOR.labels, PRIOR.labels)
    refused(lambda: requirement.check(kernel, PRIOR), error=RequirementError)


NUMBERS = [Fraction(1, 3), Decimal("0.3"), np.float32(0.3), np.array(0.3), np.float64(0.3)]
WITH_NUMBERS = {
    "entry": lambda v: md.require.at_least("a", "a", v),
    "diagonal": lambda v: md.require.diagonal(v),
    "each diagonal": lambda v: md.require.diagonal({"a": v}),
    "output": lambda v: md.require.output("a", v),
    "invariant": lambda v: md.require.invariant(v),
    "symmetric": lambda v: md.require.symmetric(v),
    "groups": lambda v: md.require.equal_error([["a"], ["b"]], v),
    "unbiased": lambda v: md.require.unbiased(
        {"a": v, "b": np.int64(1), "c": v}, tolerance=np.int64(1)
    ),
    "every output": lambda v: md.require.every_output({"a": v, "b": np.int64(-2)}),
    "posterior": lambda v: md.require.posterior("a", v, np.int64(1)),
    "lift": lambda v: md.require.lift("a", v, np.int64(2)),
    "rows": lambda v: md.require.rows(EYE, "==", np.int64(1), tolerance=v),
    "cost": lambda v: md.require.cost(EYE, v),
}


@for_each("number", NUMBERS)
@for_each("name", WITH_NUMBERS)
def test_numbers_of_every_kind_are_designed_for_and_saved(name, number):
    """What a computation hands on is no float always; what a file holds is."""
    requirement = WITH_NUMBERS[name](number)
    assert requirement == WITH_NUMBERS[name](float(number))
    found = md.design(PRIOR, HAMMING, md.PML(1), subject_to=requirement)
    written = json.loads(json.dumps(requirement_to_json(requirement)))
    assert requirement_from_json(written) == requirement
    assert "fraction" not in json.dumps(written)
    assert found.certificate.kept[0].verdict is Verdict.YES


@for_each("given", ["zero", 1, [md.LDP(1)], [None], md.requirement.Monotone, [[]], {"a": 1}])
def test_what_is_none_is_refused(given):
    refused(lambda: md.design(PRIOR, HAMMING, md.LDP(1), subject_to=given), error=RequirementError)


def test_repetitions_count_once():
    twice = as_requirements([md.require.monotone(), md.require.invariant(), md.require.monotone()])
    assert len(twice) == 2
    found = md.design(PRIOR, HAMMING, md.PML(0.5), subject_to=[md.require.invariant()] * 3)
    assert len(found.requirements) == len(found.certificate.kept) == 1
    alone = md.design(PRIOR, HAMMING, md.PML(0.5), subject_to=md.require.invariant())
    assert found.mechanism == alone.mechanism
    assert found.certificate.fingerprint == alone.certificate.fingerprint


# Files

ASKED = [
    md.require.invariant(1e-9),
    md.require.zero("a", "c"),
    md.require.diagonal(at_least={"b": 0.25}),
    md.require.cost(1 - EYE, 0.5),
    md.require.rows(EYE, ">=", 1.0, name="trace"),
    md.require.equal_error([["a"], ["b", "c"]], 0.5),
]
#: Stricter numbers that the kernel breaks, by requirement and field.
STRICTER = {
    ("OutputShare", "high"): 0.1,
    ("Cost", "limit"): 0.05,
    ("Rows", "right"): [2.9],
    ("EqualError", "tolerance"): 1e-9,
    ("Diagonal", "limits_of"): [["b", 0.999, None]],
    ("Entry", "y"): "a",
}


@pytest.fixture(scope="module")
def saved():
    found = md.design(PRIOR, HAMMING, md.PML(1.2), subject_to=ASKED)
    return json.loads(json.dumps(to_json(found)))


def test_a_design_loads_with_its_requirements(saved):
    found = from_json(saved)
    assert list(found.requirements) == ASKED
    assert [check.verdict for check in found.certificate.kept] == [Verdict.YES] * len(ASKED)
    assert saved["certificate"]["bound"] == pytest.approx(found.bound)


def altered(value):
    """Something else of the same kind, or of another."""
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, (int, float)):
        return [value / 2 + 0.001, -1, "x", None, [value]]
    if isinstance(value, str):
        return [value + "x", 1, None]
    if isinstance(value, list):
        return [[], [*value, 1], value[:-1], None, "x"]
    return ["x", 1, []]


def test_no_field_of_a_requirement_can_be_altered(saved):
    tried = 0
    for i, part in enumerate(saved["requirements"]):
        places = [("name", part["name"])] + [
            (key, value) for key, value in part["parameters"].items()
        ]
        for key, value in places:
            for other in altered(value):
                if other == value:
                    continue
                forged = copy.deepcopy(saved)
                target = forged["requirements"][i]
                (target if key == "name" else target["parameters"])[key] = other
                del forged["digest"]
                with pytest.raises(StorageError):
                    from_json(seal(forged))
                tried += 1
        forged = copy.deepcopy(saved)
        del forged["requirements"][i], forged["digest"]
        with pytest.raises(StorageError):
            from_json(seal(forged))
    assert tried > 60


@for_each("place", STRICTER)
def test_a_stricter_requirement_is_refused_whatever_the_fingerprint(saved, place):
    name, field = place
    forged = copy.deepcopy(saved)
    part = next((p for p in forged["requirements"] if p["name"] == name), None)
    if part is None:
        part = requirement_to_json(md.require.output("a", 0.0, 0.9))
        forged["requirements"].append(part)
        forged["certificate"]["duals"]["limits"].append(0.0)
    part["parameters"][field] = STRICTER[place]
    asked = [requirement_from_json(p) for p in forged["requirements"]]
    found = from_json(saved)
    forged["certificate"]["fingerprint"] = fingerprint(
        found.prior, found.mechanism, found.notions, asked
    )
    del forged["digest"]
    with pytest.raises(StorageError, match="withheld"):
        from_json(seal(forged))


def test_dual_variables_of_limits_are_recomputed_from(saved):
    for change in (lambda v: 0.0, lambda v: -v, lambda v: 1e3 * v, lambda v: v + 0.25):
        forged = copy.deepcopy(saved)
        duals = forged["certificate"]["duals"]
        duals["limits"] = [change(v) for v in duals["limits"]]
        del forged["digest"]
        if duals["limits"] == saved["certificate"]["duals"]["limits"]:
            continue
        with pytest.raises(StorageError, match=r"bound|gap|optimal"):
            from_json(seal(forged))
    for wrong in ([], [0.0], ["x"], [math.inf] * 9, None, {"a": 1}):
        forged = copy.deepcopy(saved)
        forged["certificate"]["duals"]["limits"] = wrong
        del forged["digest"]
        with pytest.raises(StorageError):
            from_json(seal(forged))


@for_each("value", [0.1, 0.3, 0.01, 1 / 3, 0.5, 1e-9])
def test_ends_that_agree_can_be_kept(value):
    """Weights over 2**53 hold few numbers: what is asked to be equal is so within 1e-12."""
    prior, notion = md.Prior([0.2, 0.3, 0.5]), md.privacy.PML(1.0)
    for wish in (md.require.output(0, value, value), md.require.diagonal({0: value}, {0: value})):
        found = md.design(prior, md.utility.Hamming(), notion, subject_to=[wish])
        kernel = found.mechanism.kernel
        share = prior.probabilities @ kernel[:, 0] if "P(Y" in str(wish) else kernel[0, 0]
        assert abs(share - value) < 1.1e-12
        assert found.certificate.is_optimal
        assert f"{value:.12g}" in wish.description
    assert md.require.diagonal(0.5, 0.5).limits_of[0][1:] == (0.5, 0.5)
