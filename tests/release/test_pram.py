"""Post-randomisation: kernels by stratum, risks of records, releases, the customary matrices.

The adversary knows the frequencies of each stratum and the matrix, sees the published values, and
guesses the true value of every record.
"""

from __future__ import annotations

import csv
import io
import math
import stat
from fractions import Fraction

import numpy as np
import pytest
from checks import for_each, refused, slow_but

import mechdesign as md
from mechdesign.errors import (
    CountsWarning,
    DataError,
    InfeasibleError,
    InputError,
    NoGuaranteeWarning,
    PriorError,
    RequirementError,
    StorageError,
    UnknownNameError,
    UntoldWarning,
    UtilityError,
    ZeroMassWarning,
)
from mechdesign.release.customary import (
    kept_or_redrawn,
    kept_or_uniform,
    largest_parameter,
    two_stage,
)
from mechdesign.requirement import require
from mechdesign.tables.matrices import read_matrix

pd = pytest.importorskip("pandas")

COUNTS = {"f": {"a": 60, "b": 90, "c": 50}, "m": {"a": 150, "b": 20, "c": 130}}
LABELS = ["a", "b", "c"]
LEVEL = md.PML(0.6)


@pytest.fixture
def people():
    """500 records in two strata, shuffled."""
    rows = [(s, x) for s, row in COUNTS.items() for x, n in row.items() for _ in range(n)]
    frame = pd.DataFrame(rows, columns=["sex", "x"])
    frame.insert(0, "id", [f"p{i:03d}" for i in range(len(frame))])
    return frame.sample(frac=1, random_state=4).reset_index(drop=True)


def found_for(table, *more, **options):
    with pytest.warns(CountsWarning, match="counted in the table"):
        return md.pram(table, "x", LEVEL, *more, **options)


def naive_joint(part):
    """P(X = x, Y = y) by loops, from the counts and the kernel's own rows."""
    total = sum(part.counts)
    kernel = part.mechanism.kernel.tolist()
    return [[n / total * k for k in row] for n, row in zip(part.counts, kernel, strict=True)]


# The adversary


def test_an_intruder_guesses_as_often_as_is_said_and_is_never_surer_than_the_level_allows(people):
    found = found_for(people, strata="sex")
    guessed, rounds = 0, 40
    for _ in range(rounds):
        out = md.privatize(
            people, "x", found.released, strata="sex", row="id", key=md.release_key()
        )
        risk = found.record_risk(people, out)
        guessed += risk.correct
        assert (np.log(risk.after / risk.before) <= LEVEL.epsilon * (1 + 1e-12)).all()
        assert risk.largest <= found.largest + 1e-12
    mean, deviation = guessed / rounds, math.sqrt(len(people) / 4 / rounds)
    assert abs(mean - found.correct_after) < 5 * deviation
    # A control: without any randomisation all would be guessed.
    assert abs(len(people) - found.correct_after) > 20 * deviation


def test_the_risk_of_each_record_is_that_of_bayes_rule_by_loops(people):
    found = found_for(people, strata="sex", subject_to=require.invariant())
    out = md.privatize(people, "x", found.released, strata="sex", rng=1)
    risk = found.record_risk(people, out)
    parts = {part.name: part for part in found.strata}
    for i, (s, x, y) in enumerate(zip(people["sex"], people["x"], out["x"], strict=True)):
        joint = naive_joint(parts[s])
        column = [row[LABELS.index(y)] for row in joint]
        assert risk.before[i] == pytest.approx(COUNTS[s][x] / sum(COUNTS[s].values()), rel=1e-12)
        assert risk.after[i] == pytest.approx(column[LABELS.index(x)] / sum(column), rel=1e-12)
        assert risk.guessed[i] == (column.index(max(column)) == LABELS.index(x))
    assert risk.after[risk.riskiest] == risk.largest == risk.after.max()
    assert risk.correct == sum(risk.guessed)


def test_records_with_missing_values_are_left_out_and_the_rest_written_for_the_owner(
    people, tmp_path
):
    found = found_for(people)
    out = md.privatize(people, "x", found.released, rng=1)
    whole = found.record_risk(people, out)
    assert whole.rows.tolist() == list(range(500))
    out.loc[[3, 7], "x"] = None
    risk = found.record_risk(people, out)
    assert risk.rows.tolist() == [i for i in range(500) if i not in (3, 7)]
    assert np.array_equal(risk.after, np.delete(whole.after, [3, 7]))
    risk.to_csv(tmp_path / "risk.csv")
    assert stat.S_IMODE((tmp_path / "risk.csv").stat().st_mode) == 0o600
    read = list(csv.DictReader((tmp_path / "risk.csv").read_text().splitlines()))
    assert [int(row["record"]) for row in read] == (risk.rows + 1).tolist()
    assert [float(row["after"]) for row in read] == risk.after.tolist()
    assert [float(row["before"]) for row in read] == risk.before.tolist()
    assert sum(int(row["guessed"]) for row in read) == risk.correct


def test_the_risks_of_categories_are_means_and_maxima_over_what_may_be_published(people):
    found = found_for(people, strata="sex")
    for part in found.strata:
        joint, guesses = naive_joint(part), 0.0
        for y in range(3):
            guesses += max(row[y] for row in joint)
        assert part.correct_after == pytest.approx(guesses * sum(part.counts), rel=1e-12)
        assert part.correct_before == max(part.counts)
        for x, row in enumerate(part.risks):
            after = [joint[x][y] / sum(r[y] for r in joint) if joint[x][y] else 0 for y in range(3)]
            kernel = part.mechanism.kernel[x]
            assert row.expected == pytest.approx(
                sum(k * a for k, a in zip(kernel, after, strict=True))
            )
            assert row.largest == pytest.approx(max(after), rel=1e-12)
            assert row.unchanged == kernel[x]
            assert row.records == part.counts[x]
        assert part.unchanged == pytest.approx(part.design.value, rel=1e-12)
    assert found.largest == max(row.largest for part in found.strata for row in part.risks)
    shares = [part.records / found.records for part in found.strata]
    means = [part.unchanged for part in found.strata]
    assert found.unchanged == pytest.approx(np.dot(shares, means))


# What is asked holds


def test_marginals_are_kept_within_the_tolerance_exactly(people):
    found = found_for(people, strata="sex", subject_to=require.invariant())
    for part in found.strata:
        made, total = part.mechanism, Fraction(sum(map(int, part.counts)))
        for y, count in enumerate(part.counts):
            share = sum(
                Fraction(int(n)) / total * Fraction(int(w), 1 << made.bits)
                for n, w in zip(part.counts, made.weights[:, y], strict=True)
            )
            assert abs(share - Fraction(int(count)) / total) <= Fraction(1e-12)
        assert part.design.status == "optimal"
    loose = found_for(people, strata="sex")
    assert loose.unchanged > found.unchanged  # a control: it binds


def test_zeros_and_diagonals_hold_in_the_kernels_and_in_what_is_published(people):
    wishes = [require.zero("c", "a"), require.diagonal(at_least={"b": 0.1})]
    found = found_for(people, strata="sex", subject_to=wishes)
    key = md.release_key()
    published = set()
    for number in range(5):
        fresh = people.assign(id=[f"{number}-{i}" for i in people["id"]])
        out = md.privatize(fresh, "x", found.released, strata="sex", row="id", key=key)
        published |= set(zip(people["x"], out["x"], strict=True))
    assert ("c", "a") not in published
    assert {("a", "a"), ("b", "b"), ("c", "c")} <= published
    free = found_for(people, strata="sex").released.kernel
    assert free[[2, 5], 0].max() > 0  # a control: without the wish it is published
    for part in found.strata:
        assert part.mechanism.kernel[2, 0] == 0
        assert part.mechanism.kernel[1, 1] >= 0.1


def test_every_stratum_has_the_kernel_of_its_own_frequencies(people):
    found = found_for(people, strata="sex")
    assert [part.name for part in found.strata] == ["f", "m"]
    for part in found.strata:
        prior = md.Prior.from_counts(COUNTS[part.name])
        assert part.prior == prior
        alone = md.design(prior, md.utility.Hamming(), LEVEL)
        assert part.design.value == pytest.approx(alone.value, abs=1e-9)
        assert all(str(check.verdict) == "yes" for check in part.checks)
    # The stacked kernel draws from the kernel of the stratum.
    stacked = found.released
    assert stacked.inputs == tuple((s, x) for s in "fm" for x in LABELS)
    assert np.array_equal(stacked.kernel[:3], found.strata[0].mechanism.kernel)
    assert np.array_equal(stacked.kernel[3:], found.strata[1].mechanism.kernel)
    assert stacked.stated == ("PML(0.6) within each stratum of 'sex'",)
    assert stacked.notions == ()


def test_a_pooled_kernel_is_one_and_says_where_it_leaks_more(people):
    with pytest.warns(NoGuaranteeWarning, match=r"does not hold in \d of 2 strata of 'sex'"):
        found = found_for(people, strata="sex", pooled=True)
    total = {x: COUNTS["f"][x] + COUNTS["m"][x] for x in LABELS}
    assert found.kernels[0].design.prior == md.Prior.from_counts(total)
    assert found.strata[0].mechanism is found.strata[1].mechanism
    assert found.strata_column is None
    assert found.released.inputs == tuple(LABELS)
    levels = [part.checks[0].achieved[0] for part in found.strata]
    expected = [md.audit(part.mechanism, part.prior).pml for part in found.strata]
    assert levels == expected
    assert max(levels) > 0.6
    assert "does NOT hold" in repr(found)
    # LDP does not depend on frequencies, so a pooled kernel keeps it everywhere.
    held = md.pram(people, "x", md.LDP(1), strata="sex", pooled=True)
    assert all(str(c.verdict) == "yes" for part in held.strata for c in part.checks)


def test_a_category_that_a_stratum_lacks_is_in_its_matrix(people):
    rare = people[(people["sex"] == "f") | (people["x"] != "b")]
    found = found_for(rare, strata="sex", subject_to=require.invariant())
    part = found.strata[1]
    assert part.counts == (150.0, 0.0, 130.0)
    assert part.mechanism.inputs == part.mechanism.outputs == tuple(LABELS)
    assert part.mechanism.kernel[[0, 2], 1].tolist() == [0, 0]  # never published there
    assert part.risks[1].worst_report is None
    assert all(math.isfinite(other.value) for other in part.customary if other.mechanism)


# The matrix in a file


def test_the_matrix_reads_back_as_it_is_with_rows_that_sum_to_one(people, tmp_path):
    found = found_for(people, subject_to=require.invariant())
    found.save_matrix(tmp_path / "m.csv")
    matrix, rows, columns = read_matrix(tmp_path / "m.csv")
    assert rows == columns == LABELS
    assert np.array_equal(matrix, found.strata[0].mechanism.kernel)
    assert [math.fsum(row) for row in matrix] == [1.0] * 3
    assert [sum(map(Fraction, row)) for row in matrix.tolist()] == [1] * 3
    with pytest.raises(StorageError, match="exists"):
        found.save_matrix(tmp_path / "m.csv")


def test_matrices_of_strata_stand_below_each_other(people):
    found = found_for(people, strata="sex")
    lines = list(csv.DictReader(io.StringIO(found.matrix_csv())))
    assert list(lines[0]) == ["stratum", "input", *LABELS]
    assert [(r["stratum"], r["input"]) for r in lines] == [(s, x) for s in "fm" for x in LABELS]
    for part, rows in zip(found.strata, (lines[:3], lines[3:]), strict=True):
        kernel = [[float(r[y]) for y in LABELS] for r in rows]
        assert np.array_equal(kernel, part.mechanism.kernel)


def test_names_that_a_spreadsheet_would_run_are_made_safe_where_asked(people):
    strange = people.assign(sex=people["sex"].map({"f": "=1+1", "m": 'a,"b"'}))
    found = found_for(strange, strata="sex")
    plain, safe = (list(csv.reader(io.StringIO(found.matrix_csv(excel_safe=e)))) for e in (0, 1))
    assert {row[0] for row in plain[1:]} == {"=1+1", 'a,"b"'}
    assert {row[0] for row in safe[1:]} == {"'=1+1", 'a,"b"'}
    out = md.privatize(strange, "x", found.released, strata="sex", rng=1)
    assert out["sex"].equals(strange["sex"])


def test_a_level_at_which_nothing_is_told_is_warned_of(people):
    with (
        pytest.warns(CountsWarning),
        pytest.warns(UntoldWarning, match=r"stratum '[fm]': reports tell none of the 3 symbols"),
    ):
        found = md.pram(people, "x", md.PML(0), strata="sex")
    assert found.strata[1].correct_after == pytest.approx(found.strata[1].correct_before)


# The customary matrices


def test_the_customary_matrices_are_what_they_are_by_loops():
    p, n = np.array([0.5, 0.3, 0.2]), 3
    pd_ = 0.7
    uniform = [[pd_ if x == y else 0.15 for y in range(n)] for x in range(n)]
    assert kept_or_uniform(p, pd_) == pytest.approx(np.array(uniform))
    redrawn = [[(pd_ if x == y else 0) + 0.3 * p[y] for y in range(n)] for x in range(n)]
    assert kept_or_redrawn(p, pd_) == pytest.approx(np.array(redrawn))
    # First published by the uniform matrix, then drawn from the posterior of the true value.
    both = np.zeros((n, n))
    for x in range(n):
        for middle in range(n):
            total = sum(p[z] * uniform[z][middle] for z in range(n))
            for y in range(n):
                both[x, y] += uniform[x][middle] * p[y] * uniform[y][middle] / total
    assert two_stage(p, np.full(n, pd_)) == pytest.approx(both)
    mixed = two_stage(p, np.full(n, pd_), 0.25)
    assert mixed == pytest.approx(0.25 * both + 0.75 * np.eye(n))
    for kernel in (kept_or_redrawn(p, pd_), both, mixed):
        assert p @ kernel == pytest.approx(p, abs=1e-15)
    assert abs(p @ kept_or_uniform(p, pd_) - p).max() > 0.01  # a control
    # At the ends: uninformative and the identity, with categories that nobody has, too.
    assert two_stage(p, np.full(n, 1 / 3)) == pytest.approx(np.tile(p, (3, 1)))
    rare = np.array([0.5, 0.0, 0.5])
    assert two_stage(rare, np.ones(3)) == pytest.approx(np.eye(3))
    assert two_stage(rare, np.full(3, 0.6)).sum(axis=1) == pytest.approx(np.ones(3))


def test_parameters_are_the_largest_that_keep_the_level_even_where_others_below_do_not():
    assert largest_parameter(lambda t: t <= 0.3 or 0.5 <= t <= 0.7, 0.0) == pytest.approx(0.7)
    assert largest_parameter(lambda t: True, 0.0) == 1.0
    assert largest_parameter(lambda t: False, 0.0) is None


@pytest.mark.slow
@for_each("notion", [md.PML(0.5), md.LDP(1.0), md.LIP(0.7), md.ALIP(1.0, 0.4)])
@for_each("wish", [None, "invariant", "diagonal"])
@for_each("seed", slow_but(1, range(3)))
def test_no_customary_matrix_that_meets_the_wishes_keeps_more(notion, wish, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(20, 200, 4)
    prior = md.Prior.from_counts(counts, list("abcd"))
    asked = {"invariant": require.invariant(), "diagonal": require.diagonal(at_least=0.26)}
    column = {"x": [x for x, n in zip("abcd", counts, strict=True) for _ in range(n)]}
    try:
        found = md.pram(column, "x", notion, prior=prior, subject_to=asked.get(wish, ()))
    except InfeasibleError:
        assert wish == "diagonal"
        return
    (part,) = found.strata
    met = 0
    for other in part.customary:
        if other.mechanism is None:
            assert "even at pd" in other.setting
            continue
        assert str(md.audit(other.mechanism, prior, notion).verdict) == "yes"
        assert other.unchanged == pytest.approx(
            float(prior.probabilities @ np.diag(other.mechanism.kernel))
        )
        if not other.unmet:
            met += 1
            assert other.value <= part.design.value + 1e-9
    assert met or wish == "diagonal"


def test_the_customary_matrices_use_the_level_up():
    prior = md.Prior([0.5, 0.3, 0.2], LABELS)
    found = md.pram({"x": list("abc")}, "x", md.PML(0.5), prior=prior)
    used = [
        md.audit(other.mechanism, prior).pml
        for other in found.strata[0].customary
        if other.mechanism is not None
    ]
    assert used == pytest.approx([0.5] * 3, abs=1e-8)
    (lost,) = [other for other in found.strata[0].customary if other.mechanism is None]
    assert lost.name == "sdcMicro"
    assert lost.setting.startswith("PML(")
    # The same construction at its defaults keeps a level that is high enough.
    high = md.pram({"x": list("abc")}, "x", md.PML(1.45), prior=prior)
    (kept,) = [other for other in high.strata[0].customary if other.name == "sdcMicro"]
    assert kept.mechanism is not None
    assert kept.unmet == ()


# Files


def test_a_file_is_published_with_a_key_a_receipt_and_an_entry_in_the_ledger(people, tmp_path):
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    people.to_csv(source, index=False)
    found = found_for(source, strata="sex", subject_to=require.zero("a", "b"))
    # The stacked kernel is saved and applied like any other.
    md.save(found.released, tmp_path / "kernel.json")
    asked = {"strata": "sex", "row": "id", "key": md.release_key()}
    loaded = md.load(tmp_path / "kernel.json")
    receipt = md.privatize_file(source, target, "x", loaded, **asked)
    assert receipt.rows == len(people)
    assert receipt.notions == ("PML(0.6) within each stratum of 'sex'",)
    frame = md.privatize(people, "x", found.released, **asked)
    out = pd.read_csv(target)
    assert out["x"].tolist() == frame["x"].tolist()
    assert out.drop(columns="x").equals(people.drop(columns="x"))
    assert not ((people["x"] == "a") & (out["x"] == "b")).any()
    by_path = found.record_risk(source, target)
    assert np.array_equal(by_path.after, found.record_risk(people, frame).after)


def test_a_prior_that_is_given_takes_the_place_of_the_frequencies(people, recwarn):
    rounded = {"f": md.Prior([0.3, 0.4, 0.3], LABELS), "m": md.Prior([0.5, 0.1, 0.4], LABELS)}
    found = md.pram(people, "x", LEVEL, strata="sex", prior=rounded)
    assert [part.prior for part in found.strata] == list(rounded.values())
    assert [part.records for part in found.strata] == [200, 300]
    assert not [w for w in recwarn if w.category is CountsWarning]
    # Under LDP without invariance nothing depends on frequencies but the choice of the optimum.
    md.pram(people, "x", md.LDP(1))
    assert not [w for w in recwarn if w.category is CountsWarning]


# Mistakes of a user


def test_a_prior_without_a_category_that_has_records_is_refused(people):
    """All would be said to stay as they are, of records that the kernel is not made for."""
    with pytest.warns(ZeroMassWarning):
        absent = md.Prior([0.5, 0.5, 0], LABELS)
    refused(lambda: md.pram(people, "x", LEVEL, prior=absent), "which has", error=PriorError)
    refused(
        lambda: md.pram(people, "x", LEVEL, strata="sex", prior={"f": absent, "m": absent}),
        error=PriorError,
    )
    few = people[people["x"] != LABELS[2]]
    frame = pd.DataFrame({"x": pd.Categorical(few["x"], categories=LABELS)})
    # A control: a category that nobody has.
    assert md.pram(frame, "x", LEVEL, prior=absent).strata[0].counts[2] == 0


@pytest.mark.filterwarnings("ignore::mechdesign.errors.CountsWarning")
def test_records_without_a_value_are_left_as_they_are_or_are_a_category(people, tmp_path):
    some = people.copy()
    some.loc[[3, 7], "x"] = None
    some.to_csv(tmp_path / "some.csv", index=False)
    for table in (some, tmp_path / "some.csv"):
        for strata in (None, "sex"):
            kept, dropped, whole = (
                md.pram(table, "x", LEVEL, strata=strata, missing=missing)
                for missing in ("keep", "drop", "category")
            )
            assert kept.records == dropped.records == len(people) - 2
            assert kept.released == dropped.released
            assert whole.records == len(people)
            assert whole.strata[0].prior.labels[-1] is None
    released = md.pram(some, "x", LEVEL, missing="keep").released
    out = md.privatize(some, "x", released, missing="keep", rng=1)
    assert np.flatnonzero(out["x"].isna()).tolist() == [3, 7]


def test_rows_without_a_stratum_are_not_advised_to_be_dropped(people, tmp_path):
    some = people.copy()
    some.loc[3, "sex"] = None
    some.to_csv(tmp_path / "some.csv", index=False)
    for table in (some, tmp_path / "some.csv"):
        for missing in ("error", "drop"):
            found = refused(
                lambda t=table, m=missing: md.pram(t, "x", LEVEL, strata="sex", missing=m),
                "1 of ",
                error=DataError,
            )
            assert "a group in every row" in found.expected
            assert "drop" not in found.remedy


def test_a_requirement_that_does_not_fit_one_stratum_names_it(people):
    rare = people[(people["sex"] == "f") | (people["x"] != "b")]
    groups = require.equal_error([["a"], ["b"]], 0.1)
    refused(
        lambda: md.pram(rare, "x", LEVEL, strata="sex", subject_to=groups),
        "stratum 'm'",
        error=RequirementError,
    )


def test_no_records_have_no_risk(people):
    risk = found_for(people).record_risk(people[:0], people[:0])
    assert repr(risk) == "RecordRisk of no records"
    assert (risk.correct, risk.riskiest) == (0, None)
    assert math.isnan(risk.largest)


STRATA = {"strata": "sex"}
MISTAKES = [
    (UnknownNameError, "column", "z", {}),
    (InputError, "another column than the variable", "x", {"strata": "x"}),
    (InputError, "add strata=", "x", {"pooled": True}),
    (RequirementError, "an output", "x", {"subject_to": require.zero("a", "q")}),
    (UtilityError, "outputs are the categories", "x", {"utility": md.utility.MutualInformation()}),
    (InputError, "a dict with a Prior", "x", {**STRATA, "prior": md.Prior.uniform(LABELS)}),
    (InputError, "the categories", "x", {"prior": md.Prior.uniform(4)}),
    (InfeasibleError, r"stratum 'f': no kernel satisfies PML\(0\.6\)", "x",
     {**STRATA, "subject_to": require.diagonal(at_least=0.9)}),
]  # fmt: skip


@for_each(("error", "message", "column", "options"), MISTAKES)
def test_mistakes_get_messages(people, error, message, column, options):
    with pytest.raises(error, match=message):
        md.pram(people, column, LEVEL, **options)


def test_a_constant_needs_no_randomisation():
    with pytest.raises(DataError, match="at least two categories"):
        md.pram({"x": ["a"] * 9}, "x", LEVEL)


def test_mistakes_of_a_release_get_messages(people):
    found = found_for(people, strata="sex")
    for error, message, table, kernel, options in (
        (DataError, "all pairs of a stratum", people, found.strata[0].mechanism, STRATA),
        (DataError, "'sex'", people.assign(sex="other"), found.released, STRATA),
        (DataError, "expected", people, found.released, {}),  # the strata were forgotten
        (UnknownNameError, "column", people, found.released, {"strata": "zzz"}),
    ):
        with pytest.raises(error, match=message):
            md.privatize(table, "x", kernel, rng=1, **options)
    out = md.privatize(people, "x", found.released, strata="sex", rng=1)
    with pytest.raises(DataError, match="500 rows"):
        found.record_risk(people, out.head(7))
    with pytest.raises(DataError, match="same rows in the same order"):
        found.record_risk(people, out.iloc[::-1])
