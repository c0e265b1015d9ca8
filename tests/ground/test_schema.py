"""The attributes of an alphabet: their names, and where they go with priors and kernels."""

from __future__ import annotations

import copy
import json
import pickle

import pandas as pd
import pytest
from checks import for_each

import mechdesign as md
from mechdesign.certificate import verify
from mechdesign.errors import InputError, KernelError, PriorError, StorageError, UnknownNameError
from mechdesign.schema import Schema
from mechdesign.storage import from_json, seal, to_json

PAIRS = [("crew", "f"), ("crew", "m"), ("first", "f"), ("first", "m")]
BOTH = ["class", "sex"]


def prior():
    return md.Prior([0.1, 0.4, 0.2, 0.3], PAIRS).with_schema(BOTH)


def test_attributes_are_read_by_name():
    schema = Schema.of(BOTH)
    assert schema == Schema.of(schema) == Schema(("class", "sex"))
    assert [schema.part(("crew", "f"), name) for name in BOTH] == ["crew", "f"]
    assert Schema.of("sex").part(("a", "b"), "sex") == ("a", "b")
    assert schema.restricted(["sex"]) == Schema.of("sex")
    with pytest.raises(UnknownNameError, match="sez"):
        schema.part(("crew", "f"), "sez")


@for_each("names", [[], ["a", "a"], [1], [None], 3, b"a", ["a", "b", ""] * 2])
def test_other_names_are_refused(names):
    with pytest.raises(InputError, match="columns of a schema"):
        Schema.of(names)


def test_labels_must_have_a_part_for_each_attribute():
    with pytest.raises(PriorError, match="tuples of 2 values"):
        md.Prior([0.5, 0.5], ["('a', 'b')", "('a', 'c')"]).with_schema(BOTH)
    with pytest.raises(PriorError, match="tuples of 2 values"):
        md.Prior([0.5, 0.5], [("a", "b", "c"), ("a", "b", "d")]).with_schema(BOTH)
    with pytest.raises(KernelError, match="tuples of 2 values"):
        md.Mechanism([[1], [1]], ["ab", "cd"]).with_schema(BOTH)


def test_a_column_of_a_table_brings_its_name():
    assert md.Prior.from_csv("titanic", "class").schema == Schema.of("class")
    assert md.Prior.from_data(pd.Series(["a", "b"], name="x")).schema == Schema.of("x")
    assert md.Prior.from_data(pd.Series(["a", "b"])).schema is None
    assert md.Prior.from_data(pd.Series(["a", "b"], name=3)).schema is None


def test_priors_keep_it():
    known = prior()
    for other in (known.restricted(), known.reordered(PAIRS[::-1]), copy.copy(known)):
        assert other.schema == known.schema
    assert pickle.loads(pickle.dumps(known)).schema == known.schema


def test_kernels_keep_it():
    one = md.Mechanism([[0.75, 0.25], [0.25, 0.75]], ["f", "m"], ["f", "m"]).with_schema("sex")
    other = md.Mechanism([[0.5, 0.5], [0.5, 0.5]], ["f", "m"], ["f", "m"])
    made = [one @ other, one.parallel(other), one.mix(other, 0.5), one.merge([]), one.trimmed()]
    assert {kernel.schema for kernel in made} == {Schema.of("sex")}
    assert one.product(other.with_schema("age")).schema == Schema.of(["sex", "age"])
    assert one.product(other).schema is None
    assert one.product(one).schema is None  # two attributes of one name
    assert pickle.loads(pickle.dumps(one)).schema == one.schema


NAMES = [{"name": "class"}, {"name": "sex"}]


@for_each("given", [[], [{}], [NAMES[0]] * 2, [*NAMES, {"name": "age"}], "class", NAMES[0], None])
def test_files_carry_it_and_one_with_other_attributes_is_refused(given):
    """``None`` are those of a kernel that names other columns than its prior."""
    found = md.design(prior(), md.utility.Hamming(), md.LDP(1))
    told = md.PublicDesign.of(found.mechanism, found.notions)
    for made in (found, told):
        again = from_json(json.loads(json.dumps(to_json(made))))
        assert getattr(again, "mechanism", again).schema == Schema.of(BOTH)
    assert told.fingerprint == md.PublicDesign.of(told.with_schema(None), told.notions).fingerprint
    content = to_json(found)
    assert verify.check(json.dumps(content).encode()).state == verify.PROVED
    for part in ("prior", "mechanism") if given is not None else ["mechanism"]:
        names = NAMES[::-1] if given is None else given
        content = {**content, part: {**content[part], "attributes": names}}
    content = seal({key: value for key, value in content.items() if key != "digest"})
    with pytest.raises(StorageError):
        from_json(content)
    with pytest.raises(verify.UnreadableError):
        verify.check(json.dumps(content).encode())
