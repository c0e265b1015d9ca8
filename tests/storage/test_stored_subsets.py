"""Saved subset selections: everything they claim is computed again when they are read."""

from __future__ import annotations

import functools
import json
import math

import pytest
from checks import for_each

import mechdesign as md
from mechdesign.errors import StorageError
from mechdesign.storage import from_json, seal, to_json
from mechdesign.subsets import SubsetSelection


def grouped():
    prior = md.Prior.from_counts({"a": 3, "b": 1, "c": 3, "d": 1, "e": 1})
    return md.subset_selection(prior, [md.LDP(1), md.PML(0.9)])


def selections():
    return [
        md.subset_selection(1000, md.LDP(1)),
        md.subset_selection(["a", "b", ("c", 1), None], md.PMC(1)),
        md.subset_selection(200, [md.PML(1), md.LDP(2)]),
        md.subset_selection(50, md.ALIP(2, 0.5)),
        md.subset_selection(12, md.PML(1.2)),
        grouped(),
        md.subset_selection(100_000, md.PML(1)),
    ]


@for_each("selection", selections)
def test_what_is_saved_is_loaded(selection, tmp_path):
    path = tmp_path / "many.json"
    md.save(selection, path)
    found = md.load(path)
    assert isinstance(found, SubsetSelection)
    assert found == selection
    assert found.certificate == selection.certificate
    assert found.inputs == selection.inputs
    assert found.types == selection.types
    assert path.stat().st_size < 4000
    with pytest.raises(StorageError, match="exists"):
        md.save(selection, path)


@for_each("make", [grouped, lambda: md.subset_selection(1000, md.LIP(1))])
def test_the_same_reports_come_from_the_file(make, tmp_path):
    selection = make()
    md.save(selection, tmp_path / "many.json")
    symbols = [*selection.inputs[::7], *selection.inputs[:5]] * 8
    again = md.Sampler(md.load(tmp_path / "many.json"), rng=3).draw(symbols)
    assert again == md.Sampler(selection, rng=3).draw(symbols)


def changed(content, path, value):
    """The content with one value replaced and a fitting digest."""
    found = json.loads(json.dumps(content))
    place = found
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    del found["digest"]
    return seal(found)


@functools.cache
def content(make=lambda: md.subset_selection(60, md.LIP(1))):
    return to_json(make())


def forged():
    return [
        (["notions", 0, "parameters", "epsilon"], 0.9),
        (["notions", 0, "name"], "Nonsense"),
        (["symbols"], 61),
        (["symbols"], 1),
        (["symbols"], 10**9),
        (["symbols"], "60"),
        (["base"], 63),
        (["base"], 59),
        (["base"], 2**40),
        (["dimension"], 0),
        (["dimension"], 99),
        (["projective"], not content()["projective"]),
        (["projective"], 3),
        (["profiles", 0, "high"], str(2**53 - 5)),
        (["profiles", 0, "high"], "-1"),
        (["profiles", 0, "high"], str(int(content()["profiles"][0]["high"]) + (1 << 20))),
        (["profiles", 0, "high"], str(int(content()["profiles"][0]["high"]) - 1)),
        (["profiles", 0, "middle"], "x"),
        (["profiles", 0, "count"], 1),
        (["profiles", 0, "count"], 0),
        (["profiles"], []),
        (["profiles"], None),
        (["achieved"], [[0.5]]),
        (["achieved"], [["x"]]),
        (["risk_exact"], "1/2"),
        (["risk_exact"], "1/0"),
        (["bound_exact"], content()["risk_exact"]),
        (["fingerprint"], "00"),
        (["labels"], ["a"]),
        (["labels"], ["a"] * 60),
    ]


@for_each(("path", "value"), forged)
def test_forged_files_are_refused(path, value):
    assert from_json(changed(content(), ["symbols"], 60)) is not None
    with pytest.raises(StorageError):
        from_json(changed(content(), path, value))


def permuted():
    return md.subset_selection(12, md.PML(1.2))


@for_each(
    ("make", "path", "value"),
    [
        (permuted, ["placements", 0, "mass"], "12345"),
        (permuted, ["placements", 0, "mass"], "0"),
        (permuted, ["placements", 0, "elements", 0], 12),
        (permuted, ["placements", 0, "elements"], [1, 1, 2, 3]),
        (permuted, ["base"], 13),
        (permuted, ["profiles", 0, "count"], 1),
        (permuted, ["placements"], []),
        (grouped, ["types", 0, "chances", 0], "12"),
        (grouped, ["risk_exact"], "1/3"),
        (grouped, ["bound_exact"], "100/3"),
        (grouped, ["prices", "inside"], [1.0, math.inf]),
        (grouped, ["prices", "row"], [0.0]),
        (grouped, ["prior", "weights", 0], "5"),
        (grouped, ["achieved"], [[0.1], [0.1]]),
        (grouped, ["fingerprint"], "0" * 64),
        (grouped, ["types", 0, "parts"], []),
    ],
)
def test_forged_placements_and_types_are_refused(make, path, value):
    with pytest.raises(StorageError):
        from_json(changed(content(make), path, value))


@for_each("name", lambda: [name for name in content() if name != "version"])
def test_files_that_lack_a_part_are_refused(name):
    found = {key: value for key, value in content().items() if key not in (name, "digest")}
    with pytest.raises(StorageError):
        from_json(seal(found) if name != "digest" else found)
