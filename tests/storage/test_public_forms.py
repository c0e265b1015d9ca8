"""What is public of each kind of thing: built from what may be told, without a number of a prior.

Adversaries: a kind that nobody thought of, a parameter that holds counts, a file that everybody may
read though it holds a prior, a collector that hands out what it was given.
"""

from __future__ import annotations

import copy
import json
import pickle
import stat
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import mechdesign as md
from mechdesign.collector.kernels import Collected, load_kernels
from mechdesign.errors import CountsWarning, InfeasibleError, InputError, LevelError, StorageError
from mechdesign.exact import DENOMINATOR
from mechdesign.release.receipts import receipts_of
from mechdesign.storage import from_json, seal, to_json

# Counts that occur in no kernel by chance.
COUNTS = [7000119, 2000113, 900973]
P = md.Prior.from_counts(COUNTS, list("abc"))
EIGHT = md.Prior.from_counts([700057] * 3 + [90011] * 5, list("abcdefgh"))
CLASSES = md.Prior.from_counts(
    [500057, 300073, 90011, 70061], [(x, y) for x in "ab" for y in (1, 2)]
).with_schema(["x", "y"])
AGES = md.Prior.from_data(
    {"age": [3] * 1237 + [30] * 733 + [70] * 389},
    ["age"],
    bins={"age": md.bins(edges=[0, 18, 65, 99])},
)
HAMMING, R = md.utility.Hamming(), md.require
COSTS = [[0, 1, 3], [1, 0, 1], [3, 1, 0]]
GAINS = md.utility.Matrix([[1, 0, 0.5], [0, 1, 0.2], [0, 0.3, 1]], list("abc"))


def places():
    known = md.places.Places.grid((59.29, 17.97, 59.37, 18.15), cells=(2, 2))
    return known, md.Prior.from_counts(
        dict(zip(known.labels, [70057, 30073, 9011, 7063], strict=True))
    )


def kinds():
    """A thing of every kind that holds a prior, and each prior that went into it."""

    def made(utility, privacy, prior=P, subject_to=None):
        return md.design(prior, utility, privacy, subject_to=subject_to), [prior]

    other = md.Prior.from_counts([400009, 400031, 200003], list("abc"))
    yield "linear", *made(GAINS, md.LDP(0.8))
    worst = md.utility.WorstCase([(HAMMING, None), (GAINS, other)])
    yield "worst case", md.design(P, worst, md.LDP(1)), [P, other]
    yield "information", *made(md.utility.MutualInformation(), md.LIP(0.7))
    yield "estimation", *made(md.utility.Estimation(), md.PML(0.9))
    asked = md.utility.Estimation({"a": 1, "b": 2, "c": 5}, truth=other)
    yield "questions", md.design(P, asked, md.LDP(1)), [P, other]
    yield "columns", *made(md.utility.Estimation("x"), md.LDP(1), CLASSES)
    yield "bins", *made(md.utility.Distance("absolute"), md.PML(1), AGES)
    town = md.places.grid((59.29, 17.97, 59.37, 18.15), cells=(2, 2))
    visits = md.Prior.from_counts([70057, 30073, 9011, 7063], town.labels).with_schema(
        town.prior(np.array([[59.3, 18.0]]), added=1).schema
    )
    yield "places", *made(town.loss(), town.privacy(0.7, 2000), visits)
    yield "equal symbols", md.subset_selection(12, md.LDP(1)), []
    for notion in (md.LDP(1), md.PML(0.7), [md.ALIP(0.7, 0.9), md.LDP(2)]):
        yield f"groups, {notion}", md.subset_selection(EIGHT, notion), [EIGHT]
    for total in (md.LDP(2), md.PML(1)):
        plan = md.plan_columns(CLASSES, None, total, joint=False)
        yield f"plan, {total}", plan, [CLASSES, CLASSES.marginal("x"), CLASSES.marginal("y")]
    feature = {"a": 0, "b": {0: 400009, 1: 200003}, "c": 1}
    sets = [
        md.Prior.from_counts(dict(zip("abc", one, strict=True)))
        for one in ([3, 4, 5], [500009, 300007, 7])
    ]
    for notion in (
        md.RobustPML(0.6, sets),
        md.RobustPML.ball(0.6, other, 0.125),
        md.Pufferfish(0.5, {"s": ["a"], "t": {"b": 0.5, "c": 1}}, None, [other]),
        md.FeaturePML(0.6, feature),
        md.ConditionalPMC(0.6, feature),
        md.SymbolPML(0.5, {"a": 1, "b": 0.5, "c": 2}),
        md.InferenceCost(0.4, [[0, 1, 0.5], [2, 0, 0.5], [0.3, 1, 0.5]]),
        md.MIPrivacy(0.1),
        md.EntryPML(0.3, 2, 0.1230001, 0.4560001),
    ):
        prior = md.Prior.from_counts(COUNTS) if isinstance(notion, md.EntryPML) else P
        found = md.design(prior, HAMMING, notion)
        held = [prior, other, *sets, md.Prior([0.1230001, 0.4560001, 1 - 0.5790002])]
        yield f"notion, {notion}", found, held
    for asked in (
        R.invariant(),
        R.cost(COSTS, 0.48),
        R.output("a", 0, 0.4),
        R.equal_error([["a"], ["b", "c"]], 0.05),
        R.posterior("a", at_most=0.75),
    ):
        yield f"requirement, {asked}", *made(GAINS, md.LDP(1.5), subject_to=asked)


def proof_of_none():
    apart = [R.at_least("a", "a", 0.9), R.at_most("b", "a", 0.1)]
    with pytest.raises(InfeasibleError) as none:
        md.design(P, HAMMING, md.LDP(1), subject_to=apart)
    return none.value.proof


def numbers_in(part):
    """Every number of plain values, in quotes or not, and those of rationals."""
    if isinstance(part, dict):
        for value in (*part, *part.values()):
            yield from numbers_in(value)
    elif isinstance(part, list):
        for value in part:
            yield from numbers_in(value)
    elif isinstance(part, str):
        for piece in part.replace("/", " ").replace("(", " ").replace(")", " ").split():
            try:
                yield Fraction(piece.strip(","))
            except ValueError:
                continue
    elif isinstance(part, (int, float)) and not isinstance(part, bool):
        yield Fraction(part)


def found_of(prior, numbers):
    """Numbers of a prior among others, as they are, scaled as files scale them, or as floats."""
    people = prior.counted or prior.total
    near = np.array(sorted(map(float, numbers)))
    for x, weight in enumerate(prior.weights):
        mass = prior.mass(x)
        for value in (weight, mass, 1 - mass, mass * people, mass * DENOMINATOR, 1 / mass):
            if not value > 1e-6 or value in (1, 2, Fraction(1, 2)):
                continue
            place = np.searchsorted(near, float(value))
            around = near[max(place - 1, 0) : place + 1]
            if len(around) and abs(around / float(value) - 1).min() < 1e-12:
                yield prior.labels[x], value


@pytest.fixture(scope="module")
def things():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(kinds())


def test_no_number_of_a_prior_is_in_the_public_form_of_any_kind(things, tmp_path):
    """Neither in what is saved, nor in what a collector hands out; all are in the other file."""
    path = tmp_path / "f.json"
    for name, thing, priors in things:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CountsWarning)
            md.save(thing, path, public=True, overwrite=True)
            texts = [json.loads(path.read_text())]
            texts += [json.loads(one.text) for one in load_kernels([path])]
            md.save(thing, path, overwrite=True)
            texts += [json.loads(one.text) for one in load_kernels([path])]
        whole = json.loads(path.read_text())
        for text in texts:
            numbers = set(numbers_in(text))
            for prior in priors:
                assert not list(found_of(prior, numbers)), (name, prior)
            assert not {"prior", "priors", "truth", "probabilities"} & names_in(text), name
        if priors:  # a control: the search finds what is there
            assert list(found_of(priors[0], set(numbers_in(whole)))), name


def names_in(part):
    if isinstance(part, dict):
        return set(part).union(*map(names_in, part.values()))
    return set().union(*map(names_in, part)) if isinstance(part, list) else set()


def test_only_the_owner_may_read_a_file_that_holds_a_prior(things, tmp_path):
    path = tmp_path / "f.json"
    proof = proof_of_none()
    extra = [("proof", proof, [P]), ("kernel", things[0][1].mechanism, [])]
    for name, thing, priors in (*things, *extra):
        md.save(thing, path, overwrite=True)
        assert stat.S_IMODE(path.stat().st_mode) == (0o600 if priors else 0o644), name
        if name == "proof":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CountsWarning)
            md.save(thing, path, overwrite=True, public=True)
        assert stat.S_IMODE(path.stat().st_mode) == 0o644, name


def test_what_is_not_known_to_be_public_is_refused(things, tmp_path):
    """Of a proof, and of classes that somebody derives, nothing is told."""
    proof = proof_of_none()

    class Derived(md.SubsetSelection):
        pass

    equal = next(thing for name, thing, _ in things if name == "equal symbols")
    derived = copy.copy(equal)
    derived.__class__ = Derived
    for thing in (proof, derived, P, {"prior": [0.5, 0.5]}, None):
        with pytest.raises(StorageError, match="of which nothing can be told"):
            md.save(thing, tmp_path / "f.json", public=True)
        with pytest.raises(StorageError, match="of which nothing can be told"):
            Collected.of(thing)
    assert not (tmp_path / "f.json").exists()
    for name, thing, priors in things:
        if priors:
            with pytest.raises(InputError, match="public form"):
                Collected("x", thing)
        form = quiet(md.public_form, thing)
        assert quiet(md.public_form, form) is form, name


def quiet(call, *arguments, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CountsWarning)
        return call(*arguments, **named)


def test_parameters_of_notions_of_a_prior_are_told_by_name_and_level_alone():
    """Chances of entries are numbers, too, and may be shares of people."""
    entries = md.EntryPML(0.3, 2, 0.123, 0.456)
    whole, named = md.published.told_in_public(
        [entries, md.PML(1), md.ALIP(1, 2), md.LDP(1), md.ApproximateLDP(1, 1e-3)]
    )
    assert named == ("EntryPML(0.3)",)
    assert len(whole) == 4


# The public form of a selection of groups


@pytest.fixture(scope="module")
def selection():
    return md.subset_selection(
        md.Prior.from_counts([373, 112, 373, 112], list("abcd")), [md.LDP(1), md.PML(0.9)]
    )


@pytest.fixture(scope="module")
def public(selection):
    return quiet(md.public_form, selection)


def test_reports_are_drawn_and_counted_as_by_the_selection(selection, public):
    frame = pd.DataFrame({"x": list("aabc") * 300})
    one, two = (md.privatize(frame, "x", made, rng=1) for made in (selection, public))
    assert (one["x"] == two["x"]).all()
    assert receipts_of(one)["x"] == receipts_of(two)["x"]
    assert public.fingerprint == selection.fingerprint
    every = [public.probability(x, y) for x in public.inputs for y in public.outputs]
    assert every == [selection.probability(x, y) for x in "abcd" for y in selection.outputs]
    counts = [md.ReportCounts(made, {0: 3}) for made in (selection, public)]
    assert len(counts[0] + counts[1]) == 6


def test_estimates_are_unbiased_and_best_where_shares_are_equal(selection, public):
    """The mean over all reports is the share, exactly; weights do not come from the prior."""
    kernel = np.array([[float(public.probability(x, y)) for y in public.outputs] for x in "abcd"])
    reports = np.arange(len(public.outputs))
    for truth in np.eye(4):
        means = sum(
            chance * public.shares_of(reports[[y]], np.array([1]))
            for y, chance in zip(reports.tolist(), truth @ kernel, strict=True)
        )
        np.testing.assert_allclose(means, truth, atol=1e-9)
    even = np.full(4, 0.25)
    assert public.risk == pytest.approx(float(public.variances(even).sum()), rel=1e-12)
    assert public.risk <= float(selection.variances(even).sum())
    assert selection.risk <= float(public.variances(selection.prior.probabilities).sum())


def test_only_what_is_about_no_prior_is_checked(public):
    assert public.prior is None
    assert [str(check.notion) for check in public.certificate.checks] == ["LDP(1)"]
    assert "stated by its maker, under a prior that is not told: PML(0.9)" in repr(public)
    with pytest.raises(LevelError, match="does not tell its prior"):
        public.check(md.PML(1))
    for one in md.compose(public, times=2).found:  # PML(0.9) too, by ratios alone
        assert one.levels == pytest.approx((2,), rel=1e-6)
    assert md.plan(public, error=0.1).reports > 0


def test_files_of_it_say_the_same_and_altered_ones_are_refused(public):
    content = json.loads(json.dumps(to_json(public)))
    for again in (from_json(content), pickle.loads(pickle.dumps(public)), copy.deepcopy(public)):
        assert type(again) is md.PublicSelection
        assert to_json(again) == to_json(public)
        assert again == public
    numbers = copy.deepcopy(content)
    for name, value in {
        "groups": [0, 0, 1, 1],
        "labels": ["a", "b", "c", "e"],
        "types": content["types"][:-1],
        "fingerprint": "0" * 64,
    }.items():
        _refused({**numbers, name: value})
    for groups in ([0, 1, 0], [0, 2, 0, 2], [0, 0, 0, 0], [0, True, 0, 1], [0.0, 1, 0, 1], "0101"):
        _refused({**numbers, "groups": groups})
    lower = copy.deepcopy(numbers)
    lower["notions"][0]["parameters"]["epsilon"] = 0.5
    with pytest.raises(StorageError, match="altered"):
        from_json(_sealed(lower))
    uneven = copy.deepcopy(numbers)
    uneven["types"][0]["chances"][0] = str(int(uneven["types"][0]["chances"][0]) + 1)
    _refused(uneven)


def _sealed(content):
    return seal({key: value for key, value in content.items() if key != "digest"})


def _refused(content):
    with pytest.raises(StorageError):
        from_json(_sealed(content))


def test_labels_that_are_equal_as_numbers_stay_what_they_are():
    """``False == 0`` in Python, but it is another label."""
    prior = md.Prior.from_counts([5, 2, 2], [False, 1, 2])
    public = quiet(md.public_form, md.subset_selection(prior, md.LDP(1)))
    again = from_json(json.loads(json.dumps(to_json(public))))
    assert list(map(repr, again.inputs)) == ["False", "1", "2"]
