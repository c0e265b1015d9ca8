"""Forged exact levels and rational kernels: loader and checker refuse the same."""

from __future__ import annotations

import copy
import json

import pytest
from forging import honest, sealed

from mechdesign.certificate import verify
from mechdesign.errors import StorageError
from mechdesign.storage import from_json

LONG = "1" + "0" * 3600
#: Words in the place of a level that say none, or say one as the library does not.
NO_LEVELS = (
    {"ln": "0"}, {"ln": "1"}, {"ln": "1/2"}, {"ln": "-3"}, {"ln": "6/2"}, {"ln": "14/6"},
    {"ln": "3/1"}, {"ln": "03"}, {"ln": "+3"}, {"ln": " 3"}, {"ln": "3.0"}, {"ln": "1/0"},
    {"ln": "nan"}, {"ln": "inf"}, {"ln": ""}, {"ln": 3}, {"ln": 3.5}, {"ln": True}, {"ln": None},
    {"ln": ["3"]}, {"ln": {"ln": "3"}},
    {"ln": LONG}, {"ln": f"{LONG}/3"}, {"ln": "3", "bits": "1/2"}, {"ln": "3", "times": "2"}, {},
    {"bits": "0"}, {"bits": "2"}, {"bits": "-1/2"}, {"bits": "2/4"}, {"bits": "1.5"}, {"bits": 1.5},
    {"bits": f"1{'0' * 400}/3"}, {"fraction": "1/2"}, {"fraction": "2/6"}, {"fraction": "-1/3"},
    {"fraction": "0"}, {"fraction": "1"}, {"fraction": f"1{'0' * 400}/3"}, {"decimal": "0.1"},
    {"ratio": "3"}, {"text": "ln 3"}, {"nats": "1/3"}, "ln 3", "x3", "1/3", True, None, ["3"],
    1, -1.0,
)  # fmt: skip


def states(content):
    """What the checker and the loader make of a file."""
    try:
        found = verify.check(json.dumps(content).encode()).state
    except verify.UnreadableError:
        found = verify.UNREADABLE
    try:
        from_json(content)
    except StorageError:
        return found, False
    return found, True


def test_words_that_are_no_levels_are_refused_by_both():
    for name, key in (
        ("ratio", "epsilon"),
        ("bits and nats", "epsilon_l"),
        ("public, thirds", "epsilon"),
    ):
        for word in NO_LEVELS:
            content = copy.deepcopy(honest(name))
            content["notions"][0]["parameters"][key] = word
            assert states(sealed(content)) == (verify.UNREADABLE, False), (name, word)


@pytest.mark.parametrize("name", ["mechanism of thirds", "public, thirds"])
def test_forged_denominators_are_refused_by_both(name):
    kernel = honest(name)["mechanism"]
    assert kernel["denominator"] == "3"
    for word in ("0", "1", "4", "-3", "03", "3.0", "6", 3, 3.0, True, None, "3/1", LONG):
        content = copy.deepcopy(honest(name))
        content["mechanism"]["denominator"] = word
        state, is_read = states(sealed(content))
        assert state in (verify.UNREADABLE, verify.REFUTED), word
        assert not is_read, word
    for change in ({"denominator_bits": 2}, {"denominator": None, "denominator_bits": 2}):
        content = copy.deepcopy(honest(name))
        content["mechanism"] = {k: v for k, v in (kernel | change).items() if v is not None}
        state, is_read = states(sealed(content))
        assert state in (verify.UNREADABLE, verify.REFUTED), change
        assert not is_read, change
