"""The scikit-learn transformer and the OpenDP measurement."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest
from checks import for_each, refused
from scipy.stats import chi2

import mechdesign as md
from mechdesign.errors import DataError, InputError, RepeatWarning

LABELS = ["a", "b", "c"]
FOUND = md.design(md.Prior.uniform(LABELS), md.utility.Hamming(), md.LDP(1))


def follows(mechanism, x, drawn):
    """P-value of reports about one symbol."""
    counts = np.array([drawn.count(y) for y in mechanism.outputs])
    expected = mechanism.kernel[x] * len(drawn)
    return chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1)


# scikit-learn


def transformer():
    pytest.importorskip("sklearn")
    from mechdesign.release.transformer import Privatizer

    return Privatizer


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_transformer_passes_the_checks_of_scikit_learn():
    from sklearn.utils.estimator_checks import check_estimator

    results = check_estimator(transformer()(), on_fail=None)
    assert len(results) > 30
    assert not [r["check_name"] for r in results if r["status"] in ("failed", "xfail")]
    # Reports are random, which a handful of checks cannot deal with.
    skipped = [r for r in results if r["status"] == "skipped"]
    assert len(skipped) <= 6
    assert all(
        "deterministic" in str(r["exception"]) or "API" in str(r["exception"]) for r in skipped
    )


@pytest.mark.filterwarnings("ignore")
def test_a_transformer_that_changes_its_input_fails_the_checks():
    """A control: the checks are run."""
    from sklearn.utils.estimator_checks import check_estimator

    class Broken(transformer()):
        def fit(self, X, y=None):
            self.mechanism = FOUND
            return super().fit(X, y)

    results = check_estimator(Broken(), on_fail=None)
    assert [r for r in results if r["status"] == "failed"]


def test_the_transformer_draws_with_the_mechanism_of_each_column():
    exact = md.Mechanism(np.eye(2), [0, 1], [0, 1])
    data = np.column_stack([np.tile(["a", "b"], 5000), np.tile([0, 1], 5000)]).astype(object)
    data[:, 1] = data[:, 1].astype(int)
    with pytest.warns(RepeatWarning, match=r"2 columns of each row .* together LDP\(inf\)"):
        made = transformer()([FOUND, exact], random_state=3).fit_transform(data)
    assert (made[:, 1] == data[:, 1]).all()
    assert follows(FOUND.mechanism, 0, made[::2, 0].tolist()) > 1e-4
    assert follows(FOUND.mechanism, 1, made[::2, 0].tolist()) < 1e-4
    with pytest.warns(RepeatWarning, match=r"3 columns .* together LDP\(3\).*LDP\(1\) or less"):
        fitted = transformer()(FOUND).fit([["a", "b", "c"]])
    assert fitted.together_ == pytest.approx(3, abs=1e-9)


@pytest.mark.filterwarnings("ignore::mechdesign.errors.RepeatWarning")
def test_the_transformer_designs_what_it_is_not_given():
    pd = pytest.importorskip("pandas")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    frame = pd.DataFrame({"x": list("aabbc") * 20, "n": [1, 2, 3, 4, 5] * 20})
    fitted = transformer()(privacy=md.PML(0.5)).fit(frame)
    assert [str(found.notions[0]) for found in fitted.designs_] == ["PML(0.5)"] * 2
    assert list(fitted.get_feature_names_out()) == ["x", "n"]
    assert set(fitted.transform(frame)[:, 1]) <= {1, 2, 3, 4, 5}
    pipe = make_pipeline(transformer()(), OneHotEncoder(handle_unknown="ignore"))
    assert pipe.fit_transform(frame).shape[0] == 100
    # The rows of each table are counted, and its columns named.
    fitted = transformer()(FOUND).fit(pd.DataFrame({"votes": ["a", "b", "c"]}))
    for _ in range(2):
        fitted.transform(pd.DataFrame({"votes": ["a", "b", "c"]}))
        with pytest.raises(DataError, match=r"column 'votes'.* in 1 of the 2 rows read, .* row 2"):
            fitted.transform(pd.DataFrame({"votes": ["a", "q"]}))
    # A list of one is for one column; what is for all of them stands without a list.
    refused(lambda: transformer()([FOUND]).fit([["a", "b"]]), "each of 2 columns", error=InputError)


def test_a_seed_gives_the_same_reports_to_the_same_fit_and_others_to_the_next_table():
    """Two tables under the same words would have coupled reports."""
    data = [["a"]] * 200
    for state in (lambda: 1, lambda: np.random.default_rng(1), lambda: np.random.RandomState(1)):
        first, second = (transformer()(FOUND, random_state=state()).fit(data) for _ in range(2))
        made, again = first.transform(data), first.transform(data)
        assert (made == second.transform(data)).all()
        assert (made != again).any()
        assert (again == second.transform(data)).all()
    fitted = transformer()(FOUND).fit(data)
    assert (fitted.transform(data) != fitted.transform(data)).any()


@for_each("null", [None, np.nan])
def test_the_transformer_has_a_policy_for_nulls(null):
    exact = md.Mechanism(np.eye(3), LABELS, LABELS)
    data = np.array([["a"], [null], ["b"]], dtype=object)
    with pytest.raises(ValueError, match=r"missing|NaN"):
        transformer()(exact).fit([["a"]]).transform(data)
    for policy, given, made in (
        ({"missing": "keep"}, data, ["a", None, "b"]),
        ({"missing": "replace", "replacement": "c"}, data, ["a", "c", "b"]),
        ({"unseen": "null"}, [["q"], ["b"]], [None, "b"]),
    ):
        fitted = transformer()(exact, **policy).fit([["a"]])
        assert fitted.transform(given).ravel().tolist() == made
    designed = transformer()(missing="keep").fit(data)
    assert designed.mechanisms_[0].inputs == ("a", "b")
    assert designed.transform(data)[1, 0] is None
    refused(lambda: transformer()(exact, missing="replace").fit(data), "stands in")
    # Policies of a prior, which it fits, are others.
    said = "1 in 2 rows; fill them in, or choose missing='keep' or 'replace'"
    refused(lambda: transformer()().fit([["a"], [None]]), said, error=DataError)


def test_the_transformer_keeps_nan_among_numbers():
    exact = md.Mechanism(np.eye(2), [1, 2], [1, 2])
    data = np.array([[1.0], [np.nan], [2.0]])
    made = transformer()(exact, missing="keep").fit(data).transform(data)
    assert made.dtype == float
    assert np.isnan(made[1, 0])
    assert made[[0, 2], 0].tolist() == [1, 2]


@pytest.mark.filterwarnings("ignore::mechdesign.errors.RepeatWarning")
def test_the_transformer_keeps_dtypes_in_frames():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    levels, n = ["low", "medium", "high"], 30
    frame = pd.DataFrame(
        {
            "whole": np.arange(n, dtype="int16") % 3,
            "is": np.arange(n) % 2 == 0,
            "level": pd.Categorical((levels * n)[:n], levels, ordered=True),
            "day": pd.to_datetime(["2020-01-02", "2021-03-04"] * (n // 2)),
            "text": pd.array(["a", "b"] * (n // 2), dtype="string"),
        },
        index=range(5, 5 + n),
    )
    other = pl.from_pandas(frame)
    for given, name, expected in (
        (frame, "pandas", frame),
        (other, "polars", other),
        (frame, "polars", other),
    ):
        fitted = transformer()(random_state=1).set_output(transform=name).fit(given)
        made = fitted.transform(given)
        assert type(made) is type(expected)
        assert list(made.dtypes) == list(expected.dtypes)
        assert fitted.mechanisms_[2].inputs == tuple(levels)
        # The reports are those of an array, under the same seed.
        plain = transformer()(random_state=1).fit(given).transform(given)
        assert made["text"].to_list() == plain[:, 4].tolist()
        assert md.estimate(made, fitted.designs_[2], "level").reports == n
        assert name == "polars" or (made.index == frame.index).all()


# OpenDP


@pytest.fixture
def opendp():
    prelude = pytest.importorskip("opendp.prelude")
    prelude.enable_features("contrib", "honest-but-curious")
    return prelude


def test_a_measurement_draws_and_states_its_loss(opendp):
    from mechdesign.release.measurement import to_opendp

    made = to_opendp(FOUND)
    assert made.map(0) == 0
    assert 1 - 1e-9 <= made.map(1) <= 1 + 1e-9
    assert (made.check(1, 1.0), made.check(1, 0.9)) == (True, False)
    drawn = [made("b") for _ in range(1000)]
    assert follows(FOUND.mechanism, 1, drawn) > 1e-10
    assert follows(FOUND.mechanism, 0, drawn) < 1e-10
    refused(lambda: to_opendp(md.Mechanism(np.eye(2))), "finite LDP", error=InputError)
    opendp.disable_features("honest-but-curious")
    refused(lambda: to_opendp(FOUND), "enable_features", error=DataError)


def test_measurements_report_values_of_every_type(opendp):
    from mechdesign.release.measurement import to_opendp

    first, then = dt.datetime(2020, 1, 2, 3, 4, tzinfo=dt.UTC), dt.date(2021, 2, 3)
    mixed = ["a", 1, None, ("a", 2), first, then, Decimal("1.50"), b"x", 0.5]
    for inputs in ([1, 2], [False, True], [0.5, 2.0], [first.date(), then], mixed):
        kernel = md.randomised_response(md.Prior.uniform(inputs), np.log(3))
        made = to_opendp(kernel)
        assert made.map(1) == pytest.approx(np.log(3))
        assert made.input_domain.member(inputs[-1])
        known = {(type(y), y) for y in kernel.outputs}
        drawn = [made(x) for x in inputs for _ in range(20)]
        assert {(type(y), y) for y in drawn} <= known
    with pytest.raises(Exception, match="expected inputs of the mechanism"):
        made("another")
