"""Changes between two rounds: reports of people who come back depend on each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.errors import DataError, InputError, KernelError

pd = pytest.importorskip("pandas")

LABELS = ["a", "b", "c"]
KERNEL = md.randomised_response(md.Prior.uniform(LABELS), 1.5)
CLEARER = md.randomised_response(md.Prior.uniform(LABELS), 2)
NEARLY_CLEAR = md.randomised_response(md.Prior.uniform(LABELS), 4)
KEY = md.ReleaseKey(bytes(range(40)))
BEFORE, AFTER = np.array([0.5, 0.3, 0.2]), np.array([0.44, 0.3, 0.26])
SURVEYS, PEOPLE = 100, 600


def drawn(rng, codes, kernel=KERNEL):
    """Independent draws of all reports, by inversion of cumulative sums."""
    below = np.cumsum(kernel.kernel, axis=1)[codes]
    return (rng.random(len(codes))[:, None] > below).sum(axis=1).clip(max=len(LABELS) - 1)


def surveyed(rng, memory, share_in_both=1.0, kernels=(KERNEL, KERNEL)):
    """Two tables of reports, where few persons change their value, all towards the third."""
    first = rng.choice(3, PEOPLE, p=BEFORE)
    moves = (first == 0) & (rng.random(PEOPLE) < (BEFORE[0] - AFTER[0]) / BEFORE[0])
    second = np.where(moves, 2, first)
    one = drawn(rng, first, kernels[0])
    two = drawn(rng, second, kernels[1])
    if memory:
        two = np.where(second == first, one, two)
    tables = []
    stays = int(PEOPLE * share_in_both)
    for reports, start in ((one, 0), (two, PEOPLE - stays)):
        ids = np.arange(start, start + PEOPLE)
        tables.append((ids, reports))
    if share_in_both < 1:
        # Others take the places of those who left.
        ids, reports = tables[1]
        others = drawn(rng, rng.choice(3, PEOPLE - stays, p=AFTER), kernels[1])
        tables[1] = (ids, np.concatenate([two[PEOPLE - stays :], others]))
    return [pd.DataFrame({"id": ids, "x": [LABELS[y] for y in reports]}) for ids, reports in tables]


def scores(seed, **options):
    """Errors of many surveys over their standard errors, and over those of different people."""
    rng = np.random.default_rng(seed)
    by, apart = [], []
    kernels = options.get("kernels", (KERNEL, KERNEL))
    for _ in range(SURVEYS):
        found = md.estimate_change(*surveyed(rng, **options), list(kernels), "x", person="id")
        error = found.values - (AFTER - BEFORE)
        by.append(error / found.errors)
        apart.append(error / found.errors_apart)
    return np.array(by), np.array(apart)


def moments(z):
    """The mean square of scores, and its own standard error by the surveys."""
    each = (z**2).mean(axis=1)
    return each.mean(), each.std(ddof=1) / math.sqrt(len(each))


@pytest.mark.slow
@for_each(
    ("options", "narrower"),
    [
        ({"memory": True}, True),
        # Fresh draws depend on each other by their values alone, which these kernels show.
        ({"memory": False, "kernels": (NEARLY_CLEAR, NEARLY_CLEAR)}, True),
        ({"memory": True, "share_in_both": 0.5}, True),
        ({"memory": False, "share_in_both": 0.25, "kernels": (KERNEL, CLEARER)}, False),
    ],
)
def test_errors_of_a_change_are_those_of_simulations(options, narrower):
    by, apart = scores(11, **options)
    mean, sd = moments(by)
    assert abs(mean - 1) < 4 * sd
    assert abs(by.mean()) < 4 / math.sqrt(by.shape[0])
    if narrower:
        # The control: errors of rounds of different people do not hold for the same people.
        mean, sd = moments(apart)
        assert mean < 1 - 4 * sd


def test_memory_makes_a_change_cheap_and_fresh_draws_do_not():
    rng = np.random.default_rng(2)
    errors = {
        memory: md.estimate_change(*surveyed(rng, memory), KERNEL, "x", person="id").errors
        for memory in (True, False)
    }
    assert (errors[True] < 0.5 * errors[False]).all()


def test_the_covariance_is_that_of_differences_of_pairs():
    """With all persons in both rounds: the plain variance of what each one adds."""
    one, two = surveyed(np.random.default_rng(3), memory=False)
    found = md.estimate_change(one, two, KERNEL, "x", person="id")
    # Scores of randomised response: (1[y = x] − p)/(q − p).
    low, high = KERNEL.kernel[0, 1], KERNEL.kernel[0, 0]
    given = [
        np.array([[(y == x) - low for x in LABELS] for y in table["x"]]) / (high - low)
        for table in (one, two)
    ]
    np.testing.assert_allclose(found.values, (given[1] - given[0]).mean(axis=0), atol=1e-9)
    expected = np.cov((given[1] - given[0]).T, ddof=0) / PEOPLE
    np.testing.assert_allclose(found.covariance, expected, atol=1e-9)
    apart = sum(np.cov(part.T, ddof=0) for part in given) / PEOPLE
    np.testing.assert_allclose(found.errors_apart, np.sqrt(np.diagonal(apart)), atol=1e-9)
    # Nobody in both: what two surveys have.
    later = two.assign(id=two["id"] + PEOPLE)
    others = md.estimate_change(one, later, KERNEL, "x", person="id")
    np.testing.assert_allclose(others.errors, found.errors_apart, atol=1e-12)
    assert others.both == 0


def test_released_rounds_are_joined_by_persons_in_any_order():
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"id": np.arange(400), "x": rng.choice(LABELS, 400)})
    later = table.assign(x=np.where(table["id"] % 20 == 0, "c", table["x"]))
    one = md.privatize(table, "x", KERNEL, person="id", key=KEY)
    two = md.privatize(later, "x", KERNEL, person="id", key=KEY)
    fresh = md.privatize(later, "x", KERNEL, person="id", key=KEY, round=2)
    found = md.estimate_change(one, two, KERNEL, "x", person="id")
    assert found.both == 400
    assert found.kept > 0.95
    shuffled = two.sample(frac=1, random_state=1).assign(id=lambda t: t["id"].astype(str))
    again = md.estimate_change(one, shuffled, KERNEL, "x", person="id")
    np.testing.assert_allclose(again.covariance, found.covariance, atol=1e-12)
    other = md.estimate_change(one, fresh, KERNEL, "x", person="id")
    assert (other.errors > 2 * found.errors).all()
    assert other.kept < 0.8
    # Several rows of a person with one report count once.
    twice = md.estimate_change(pd.concat([one, one]), two, KERNEL, "x", person="id")
    np.testing.assert_allclose(twice.covariance, found.covariance, atol=1e-12)
    assert "persons in both rounds" in repr(found)
    asked = md.estimate_change(one, two, KERNEL, "x", person="id", feature={"a": 0, "b": 1, "c": 2})
    mean = found["b"] + 2 * found["c"]
    assert asked.values[0] == pytest.approx(mean, abs=1e-9)


def test_mistakes_are_told():
    one, two = surveyed(np.random.default_rng(3), memory=True)

    def change(first=one, second=two, mechanisms=KERNEL, column="x", **more):
        return md.estimate_change(first, second, mechanisms, column, **{"person": "id", **more})

    other = md.randomised_response(md.Prior.uniform(["a", "b"]), 1)
    several = pd.concat([one, one.assign(x=one["x"].map({"a": "b", "b": "a", "c": "c"}))])
    with pytest.raises(KernelError, match="the same labels"):
        change(mechanisms=[KERNEL, other])
    with pytest.raises(DataError, match="one report of each person in a round"):
        change(first=several)
    with pytest.raises(DataError, match="at least 10"):
        change(second=two[:5])
    with pytest.raises(DataError, match="outputs of the mechanism") as problem:
        change(second=two.assign(x="secret"))
    assert "secret" not in str(problem.value)
    blank = two.assign(x=two["x"].where(two["id"] > 50, None))
    with pytest.raises(DataError, match="no missing reports"):
        change(second=blank)
    assert change(second=blank, missing="drop").both == PEOPLE - 51
    for more in ({"mechanisms": [KERNEL] * 3}, {"column": None}, {"column": "id"}):
        with pytest.raises(InputError):
            change(**more)
    with pytest.raises(InputError, match="persons"):
        change(person=None)
