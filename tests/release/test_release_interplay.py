"""Releases with designs of every kind, and what users get wrong with them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from checks import for_each, refused, slow_but

import mechdesign as md
from mechdesign.errors import DataError, InputError, LevelError, StorageError
from mechdesign.release.codes import Codebook
from mechdesign.release.ledger import Ledger
from mechdesign.theory._composition import bounded_levels

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

FLIP = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["no", "yes"], ["no", "yes"])
PRIOR = md.Prior([0.4, 0.3, 0.2, 0.1], ["none", "NA", "EU", "US"])
LINE = [[abs(i - j) for j in range(4)] for i in range(4)]
HAMMING, INFORMATION = md.utility.Hamming(), md.utility.MutualInformation()
KINDS = [
    (INFORMATION, md.LDP(1)),
    (INFORMATION, md.PML(0.5)),
    (md.utility.TotalVariation(), md.ALIP(1.0, 0.5)),
    (INFORMATION, md.MetricPrivacy(1, LINE)),
    (INFORMATION, md.LDP(0)),
    (HAMMING, md.MaximalLeakage(0.5)),
    (HAMMING, md.MIPrivacy(0.2)),
    (HAMMING, md.ApproximateLDP(1, 0.05)),
    (HAMMING, [md.MaximalLeakage(0.5), md.PML(0.6)]),
]


@pytest.mark.parametrize(("utility", "privacy"), slow_but(3, KINDS), ids=str)
def test_designs_of_every_kind_go_all_the_way(run, utility, privacy):
    found = md.design(PRIOR, utility, privacy)
    md.save(found, "d.json")
    rng = np.random.default_rng(3)
    secrets = rng.choice(PRIOR.labels, 4000, p=PRIOR.probabilities)
    pd.DataFrame({"id": range(4000), "x": secrets}).to_csv("a.csv", index=False)
    assert run("apply", "d.json", "a.csv", "--column", "x", "-o", "b.csv", "--seed", 1)[0] == 0
    code, _, err = run("apply", "d.json", "a.csv", "--column", "x", "-o", "c.csv")
    assert code == 0
    assert "2 reports together: " in err
    arguments = ["estimate", "d.json", "b.csv", "--column", "x", "--by", "blocks", "--json"]
    code, out, err = run(*arguments)
    if md.identifiability(found).is_one_block:
        assert code == 2
        assert "tells none of" in err or "tell none of" in err
        return
    assert code == 0, err
    made = json.loads(out)
    assert made["reports"] == 4000
    for row in made["rows"]:
        block = row["label"] if isinstance(row["label"], list) else [row["label"]]
        truth = np.isin(secrets, block).mean()
        assert abs(row["estimate"] - truth) <= 6 * row["error"] + 1e-9
    code, out, _ = run("plan", "d.json", "--error", 0.05, "--by", "blocks")
    assert code == 0
    for reports in (2, 60):
        together = md.compose(found, times=reports)
        alone = md.compose(found)
        for more, one in zip(together, alone, strict=True):
            assert all(a >= b - 1e-9 for a, b in zip(more.levels, one.levels, strict=True))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_labels_that_look_like_missing_values_are_counted(run, ending):
    """A label such as "none" is a report; blank cells beside it are still missing."""
    found = md.design(PRIOR, HAMMING, md.LDP(2))
    md.save(found, "d.json")
    reports = ["none"] * 40 + ["NA"] * 30 + ["EU"] * 20 + ["US"] * 10 + [""] * 5
    frame = pd.DataFrame({"id": range(105), "x": reports})
    frame.to_csv("r.csv", index=False) if ending == "csv" else frame.to_parquet("r.parquet")
    arguments = ["estimate", "d.json", f"r.{ending}", "--column", "x", "--by", "blocks", "--json"]
    code, _, err = run(*arguments)
    assert code == 2
    assert "no missing reports, got 5" in err
    code, out, _ = run(*arguments, "--missing", "drop")
    assert json.loads(out)["reports"] == 100
    expected = md.estimate({"none": 40, "NA": 30, "EU": 20, "US": 10}, found, by="blocks")
    assert [row["estimate"] for row in json.loads(out)["rows"]] == pytest.approx(expected.values)


def test_texts_of_labels():
    assert Codebook([" a", "a"], "inputs", texts=True).place(" a") == 0
    assert Codebook(["a"], "inputs", texts=True).place(" a ") == 0
    refused(lambda: Codebook([1, "1"], "inputs", texts=True), "alike", error=DataError)
    assert Codebook([1, "1"], "inputs").place("1") == 1


# Joint estimates on the command line


# The ledger


def test_a_ledger_of_another_form_is_refused(tmp_path):
    path = tmp_path / "ledger.json"
    path.write_text(json.dumps({"format": "mechdesign-ledger", "schema": 1, "releases": []}))
    with pytest.raises(StorageError, match="ledger") as caught:
        Ledger(path).releases()
    assert "\n" not in str(caught.value)
    assert sorted(place.name for place in tmp_path.iterdir()) == ["ledger.json"]


# Composition


@for_each(
    "notion",
    [md.MaximalLeakage(1), md.MaximalCostLeakage(1), md.MIPrivacy(1), md.ApproximateLDP(1, 0.01)],
)
def test_bounds_of_average_notions_lie_above_the_exact_levels(notion):
    rng = np.random.default_rng(4)
    prior = md.Prior([0.5, 0.3, 0.2])
    for _ in range(10):
        weights = rng.integers(1, 9, (2, 3, 4))
        parts = [md.Mechanism(w / w.sum(axis=1, keepdims=True)) for w in weights]
        (exact,) = md.compose(*parts, prior=prior, notions=[notion])
        assert exact.exact
        (bound,) = bounded_levels(notion, [(part, 1) for part in parts], prior)
        assert exact.levels[0] <= bound < math.inf


def test_large_products_of_average_notions_have_bounds():
    found = md.design(md.Prior.uniform(20), HAMMING, md.MIPrivacy(0.01))
    (level,) = md.compose(found, times=50)
    assert not level.exact
    assert 0.01 < level.levels[0] <= 0.5001
    hidden = [(lambda x: x == "EU", None)]
    asked = md.MIPufferfish.of_functions(0.1, PRIOR.labels, hidden)
    (level,) = md.compose(md.design(PRIOR, HAMMING, asked), times=90)
    assert level.levels[0] <= math.log(4) + 1e-9
    shown = str(md.compose(md.design(PRIOR, HAMMING, md.ApproximateLDP(1, 0.05)), times=2))
    assert "delta=0.05" in shown


def test_each_design_is_asked_under_its_own_prior():
    here, there = md.Prior([0.5, 0.3, 0.2]), md.Prior([0.1, 0.3, 0.6])
    one, two = (md.design(p, INFORMATION, md.PML(0.4)) for p in (here, there))
    both = md.compose(one, two)
    assert {level.levels for level in both} == {
        md.compose(one, two, prior=p).found[0].levels for p in (here, there)
    }
    assert [level.levels for level in md.compose(two, one)] == [
        level.levels for level in reversed(both.found)
    ]
    assert len(md.compose(one, two, notions=md.LDP(1)).found) == 1


# Mistakes


def test_mistakes_in_compositions():
    refused(lambda: md.compose(FLIP, notions=["pml:1"]), "PML(0.5)", error=LevelError)
    refused(lambda: md.compose(FLIP, times=True), "True", error=InputError)


def test_batches_are_checked_at_once_and_empty_streams_are_named():
    batch = pa.record_batch({"x": ["no", "yes"]})
    refused(lambda: md.privatize(["no"], "x", FLIP), "Arrow batches", error=DataError)
    refused(lambda: md.privatize([], "x", FLIP), "one row", error=DataError)
    refused(lambda: list(md.privatize(iter([batch[:0]]), "x", FLIP)), "one row", error=DataError)
    empty = pa.RecordBatchReader.from_batches(batch.schema, [])
    refused(lambda: md.privatize(empty, "x", FLIP).read_all(), "one row", error=DataError)
    assert len(list(md.privatize([batch[:0], batch], "x", FLIP))) == 2
