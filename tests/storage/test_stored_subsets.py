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


def near():
    masses = [40, 33, 20, 9, 8, 7, 3, 2, 1]
    return md.subset_selection(md.Prior.from_counts(masses, list("abcdefghi")), md.LDP(1))


def selections():
    return [
        md.subset_selection(1000, md.LDP(1)),
        md.subset_selection(["a", "b", ("c", 1), None], md.PMC(1)),
        md.subset_selection(200, [md.PML(1), md.LDP(2)]),
        md.subset_selection(50, md.ALIP(2, 0.5)),
        md.subset_selection(12, md.PML(1.2)),
        grouped(),
        near(),
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
    assert path.stat().st_size < 10_000
    with pytest.raises(StorageError, match="exists"):
        md.save(selection, path)


def changed(content, path, value):
    """The content with one value replaced and a fitting digest."""
    found = json.loads(json.dumps(content))
    place = found
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    del found["digest"]
    return seal(found)


def geometry():
    return md.subset_selection(60, md.LDP(1))


def permuted():
    return md.subset_selection(12, md.PML(1.2))


@functools.cache
def content(make=geometry):
    return to_json(make())


def forged():
    """Of one group, of permutations and of several groups: paths and what stands there instead."""
    part, one = ["types", 0, "parts", 0], content()["types"][0]["parts"][0]["profiles"][0]
    high = int(one["high"])
    yield from (
        (geometry, path, value)
        for path, value in [
            (["notions", 0, "parameters", "epsilon"], 0.9),
            (["notions", 0, "name"], "Nonsense"),
            *((["symbols"], n) for n in (61, 1, 10**9, "60", True, None)),
            *(([*part, "base"], q) for q in (63, 59, 2**40, 61.0)),
            *(([*part, "dimension"], m) for m in (0, 99, "1")),
            *(
                ([*part, "profiles", 0, "high"], str(n))
                for n in (2**53 - 5, -1, high + 1, high - 1)
            ),
            ([*part, "profiles", 0, "middle"], "x"),
            *(([*part, "profiles", 0, "count"], n) for n in (1, 0, True)),
            *(([*part, "profiles"], value) for value in ([], None)),
            (part, None),
            (["types", 0, "chances"], ["1"]),
            (["types"], []),
            *((["achieved"], value) for value in ([[0.5]], [["x"]])),
            *((["risk_exact"], value) for value in ("1/2", "1/0")),
            (["bound_exact"], content()["risk_exact"]),
            (["fingerprint"], "00"),
            *((["labels"], labels) for labels in (["a"], ["a"] * 60)),
        ]
    )
    yield from (
        (permuted, [*part, *path], value)
        for path, value in [
            *((["placements", 0, "mass"], mass) for mass in ("12345", "0")),
            (["placements", 0, "elements", 0], 12),
            (["placements", 0, "elements", 0], True),
            (["placements", 0, "elements"], [1, 1, 2, 3]),
            (["placements"], []),
            (["base"], 13),
            (["profiles", 0, "count"], 1),
        ]
    )
    yield from (
        (grouped, path, value)
        for path, value in [
            (["types", 0, "chances", 0], "12"),
            (["types", 0, "parts"], []),
            (["risk_exact"], "1/3"),
            (["bound_exact"], "100/3"),
            (["prices", "inside"], [1.0, math.inf]),
            (["prices", "row"], [0.0]),
            (["prior", "weights", 0], "5"),
            (["achieved"], [[0.1], [0.1]]),
            (["fingerprint"], "0" * 64),
        ]
    )
    groups = content(near)["groups"]
    yield from (
        (near, path, value)
        for path, value in [
            *((["groups"], value) for value in (groups[::-1], groups[1:], [0] * 9, [10**12] * 9)),
            (["groups", 0], 1.0),
            *((["prices", "sizes"], value) for value in ([9], [1] * 8, [-1] * 9, ["1"] * 9)),
            *((["prices", "weights", 0], value) for value in (1e-9, 2.0, -1.0, "x", math.nan)),
            (["bound_exact"], "100/3"),
            (["prior", "weights", 0], "41"),
        ]
    )


@for_each(("make", "path", "value"), forged)
def test_forged_files_are_refused(make, path, value):
    same = changed(content(make), ["version"], content(make)["version"])
    assert from_json(same) is not None
    with pytest.raises(StorageError):
        from_json(changed(content(make), path, value))


@for_each("name", lambda: [name for name in content() if name != "version"])
def test_files_that_lack_a_part_are_refused(name):
    found = {key: value for key, value in content().items() if key not in (name, "digest")}
    with pytest.raises(StorageError):
        from_json(seal(found) if name != "digest" else found)
