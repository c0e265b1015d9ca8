"""The scikit-learn transformer and the OpenDP measurement."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest
from checks import refused
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
    flip = md.Mechanism([[0.75, 0.25], [0.25, 0.75]])
    data = np.column_stack([np.tile(["a", "b"], 5000), np.tile([0, 1], 5000)]).astype(object)
    data[:, 1] = data[:, 1].astype(int)
    with pytest.warns(RepeatWarning, match=r"2 columns of each row .* together LDP\(2.099\)"):
        made = transformer()([FOUND, flip], random_state=3).fit_transform(data)
    assert made.shape == data.shape
    assert follows(FOUND.mechanism, 0, made[::2, 0].tolist()) > 1e-4
    assert follows(flip, 1, made[1::2, 1].tolist()) > 1e-4
    assert follows(flip, 0, made[1::2, 1].tolist()) < 1e-4


def test_the_transformer_designs_what_it_is_not_given():
    pd = pytest.importorskip("pandas")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    frame = pd.DataFrame({"x": list("aabbc") * 20, "n": [1, 2, 3, 4, 5] * 20})
    with pytest.warns(RepeatWarning, match="2 columns"):
        fitted = transformer()(privacy=md.PML(0.5)).fit(frame)
    assert [str(found.notions[0]) for found in fitted.designs_] == ["PML(0.5)"] * 2
    assert list(fitted.get_feature_names_out()) == ["x", "n"]
    assert set(fitted.transform(frame)[:, 1]) <= {1, 2, 3, 4, 5}
    pipe = make_pipeline(transformer()(), OneHotEncoder(handle_unknown="ignore"))
    with pytest.warns(RepeatWarning, match="2 columns"):
        assert pipe.fit_transform(frame).shape[0] == 100


def test_the_transformer_refuses_what_it_cannot_report():
    fitted = transformer()(FOUND).fit([["a"], ["b"]])
    refused(lambda: fitted.transform([["q"]]), "1 other value", error=DataError)
    refused(lambda: transformer()([FOUND, FOUND]).fit([["a"]]), "1 column, got", error=InputError)
    # A list of one is for one column; what is for all of them stands without a list.
    refused(lambda: transformer()([FOUND]).fit([["a", "b"]]), "each of 2 columns", error=InputError)


def test_the_transformer_counts_the_rows_of_each_table_and_names_its_columns():
    pd = pytest.importorskip("pandas")
    fitted = transformer()(FOUND).fit(pd.DataFrame({"votes": ["a", "b", "c"]}))
    for _ in range(2):
        fitted.transform(pd.DataFrame({"votes": ["a", "b", "c"]}))
        with pytest.raises(DataError, match=r"column 'votes'.* in 1 of the 2 rows read, .* row 2"):
            fitted.transform(pd.DataFrame({"votes": ["a", "q"]}))


def test_the_transformer_draws_from_the_operating_system_without_a_seed():
    data = [["a"]] * 200
    fitted = transformer()(FOUND).fit(data)
    assert (fitted.transform(data) != fitted.transform(data)).any()


def test_a_seed_gives_the_same_reports_to_the_same_fit_and_others_to_the_next_table():
    """Two tables under the same words would have coupled reports."""
    data = [["a"]] * 200
    for state in (1, np.random.default_rng, np.random.RandomState):
        seed = state if isinstance(state, int) else None
        first, second = (
            transformer()(FOUND, random_state=seed or state(1)).fit(data) for _ in range(2)
        )
        made = first.transform(data)
        assert (made == second.transform(data)).all()
        again = first.transform(data)
        assert (made != again).any()
        assert (again == second.transform(data)).all()
        if seed:
            assert (first.fit(data).transform(data) == made).all()


def test_the_transformer_says_what_several_columns_add_up_to():
    with pytest.warns(RepeatWarning, match=r"3 columns .* together LDP\(3\).*LDP\(1\) or less"):
        fitted = transformer()(FOUND).fit([["a", "b", "c"]])
    assert fitted.together_ == pytest.approx(3, abs=1e-9)
    assert transformer()(FOUND).fit([["a"]]).together_ == pytest.approx(1, abs=1e-9)
    exact = md.Mechanism(np.eye(3), LABELS, LABELS)
    with pytest.warns(RepeatWarning, match=r"LDP\(inf\)"):
        transformer()([FOUND, exact]).fit([["a", "b"]])


@pytest.mark.parametrize("null", [None, np.nan])
def test_the_transformer_has_a_policy_for_nulls(null):
    exact = md.Mechanism(np.eye(3), LABELS, LABELS)
    data = np.array([["a"], [null], ["b"]], dtype=object)
    with pytest.raises(ValueError, match=r"missing|NaN"):
        transformer()(exact).fit([["a"]]).transform(data)
    kept = transformer()(exact, missing="keep").fit(data).transform(data)
    assert kept.tolist() == [["a"], [None], ["b"]]
    replaced = transformer()(exact, missing="replace", replacement="c").fit(data)
    assert replaced.transform(data).tolist() == [["a"], ["c"], ["b"]]
    unseen = transformer()(exact, unseen="null").fit(data[[0]])
    assert unseen.transform([["q"], ["b"]]).tolist() == [[None], ["b"]]
    designed = transformer()(missing="keep").fit(data)
    assert designed.mechanisms_[0].inputs == ("a", "b")
    assert designed.transform(data)[1, 0] is None
    refused(lambda: transformer()(exact, missing="replace").fit(data), "stands in")


def test_the_transformer_names_its_own_policies_for_nulls():
    """Those of a prior, which it fits, are others."""
    message = "1 in 2 rows; fill them in, or choose missing='keep' or 'replace'"
    refused(lambda: transformer()().fit([["a"], [None]]), message, error=DataError)


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
            "number": np.arange(n) % 2 + 0.5,
            "is": np.arange(n) % 2 == 0,
            "level": pd.Categorical((levels * n)[:n], levels, ordered=True),
            "day": pd.to_datetime(["2020-01-02", "2021-03-04"] * (n // 2)),
            "text": pd.array(["a", "b"] * (n // 2), dtype="string"),
        },
        index=range(5, 5 + n),
    )
    other = pl.from_pandas(frame)
    for given, name in ((frame, "pandas"), (other, "polars")):
        fitted = transformer()(random_state=1).set_output(transform=name).fit(given)
        made = fitted.transform(given)
        assert type(made) is type(given)
        assert list(made.dtypes) == list(given.dtypes)
        assert fitted.mechanisms_[3].inputs == tuple(levels)
        # The reports are those of an array, under the same seed.
        plain = transformer()(random_state=1).fit(given).transform(given)
        assert made["text"].to_list() == plain[:, 5].tolist()
        assert [*map(bool, made["is"])] == plain[:, 2].tolist()
        assert md.estimate(made, fitted.designs_[3], "level").reports == n
    swapped = transformer()(random_state=1).set_output(transform="polars").fit(frame)
    assert swapped.transform(frame).schema == other.schema
    assert made.schema == other.schema
    found = transformer()(random_state=1).set_output(transform="pandas").fit(frame)
    assert (found.transform(frame).index == frame.index).all()


# OpenDP


@pytest.fixture
def opendp():
    prelude = pytest.importorskip("opendp.prelude")
    prelude.enable_features("contrib", "honest-but-curious")
    return prelude


@pytest.mark.slow
def test_a_measurement_draws_and_states_its_loss(opendp):
    from mechdesign.release.measurement import to_opendp

    made = to_opendp(FOUND)
    assert made.map(0) == 0
    assert made.map(1) == pytest.approx(1, abs=1e-9)
    assert made.map(1) >= 1 - 1e-9
    assert made.check(1, 1.0)
    assert not made.check(1, 0.9)
    drawn = [made("b") for _ in range(4000)]
    assert follows(FOUND.mechanism, 1, drawn) > 1e-10
    assert follows(FOUND.mechanism, 0, drawn) < 1e-10


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


def test_measurements_are_refused_where_there_is_no_level(opendp):
    from mechdesign.release.measurement import to_opendp

    refused(lambda: to_opendp(md.Mechanism(np.eye(2))), "finite LDP", error=InputError)


@pytest.mark.slow
def test_measurements_need_the_features_of_opendp():
    pytest.importorskip("opendp")
    script = """
import mechdesign as md
from mechdesign.release.measurement import to_opendp
try:
    to_opendp(md.Mechanism([[.75, .25], [.25, .75]]))
except md.MechdesignError as problem:
    print(problem)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "enable_features" in done.stdout
