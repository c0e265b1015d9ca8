"""The exception tree, and bad input as one list: who raises what, and what the message says."""

from __future__ import annotations

import builtins
import inspect
import math
import pickle
import re

import numpy as np
import pytest
from checks import for_each

import mechdesign as md
from mechdesign import errors
from mechdesign.errors import (
    CertificateError,
    DataError,
    InputError,
    KernelError,
    LevelError,
    MechdesignError,
    MechdesignWarning,
    NoMethodError,
    PriorError,
    StorageError,
    UnknownNameError,
    UtilityError,
)
from mechdesign.privacy import parse_notion

FAIR = md.Prior([0.5, 0.5])
HAMMING = md.utility.Hamming()


def _tree():
    """Child and parent, as the docstring of the module draws them."""
    stack, pairs = [], []
    for line in errors.__doc__.splitlines():
        found = re.match(r"^(\s*(?:│\s+)*(?:[├└]── )?)([A-Z]\w+)(?: \((\w+)\))?", line)
        if not found or not re.search(r"(Error|Warning)$", found[2]):
            continue
        depth = (len(found[1]) - 4) // 4
        del stack[depth:]
        pairs.append((found[2], stack[-1] if stack else None, found[3]))
        stack.append(found[2])
    return pairs


def test_the_drawn_tree_is_the_real_one():
    drawn = _tree()
    assert len(drawn) > 12
    for name, parent, also in drawn:
        cls = getattr(errors, name)
        if parent is not None:
            assert cls.__bases__[0] is getattr(errors, parent), name
        if also is not None:
            assert issubclass(cls, getattr(builtins, also))
        assert issubclass(cls, (MechdesignError, MechdesignWarning))
    assert md.MechdesignError is MechdesignError
    defined = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value)
        and issubclass(value, BaseException)
        and value.__module__ == errors.__name__
    }
    assert {name for name, _, _ in drawn} == defined


@for_each(
    ("name", "hint"),
    [
        ("hammin", "Hamming"),
        ("HAMMING", "Hamming"),
        ("scuared", "squared"),
        ("hmaming", "Hamming"),
        ("zzzzz", None),
        (5, None),
    ],
)
def test_unknown_names_hint_at_the_nearest(name, hint):
    error = UnknownNameError("utility", name, ["squared", "Hamming"])
    assert "expected one of Hamming, squared" in str(error)
    assert f"got {name!r}" in str(error)
    if hint is None:
        assert error.remedy == "choose one of these"
    else:
        assert str(error).endswith(f"did you mean {hint!r}?")


def test_errors_carry_their_evidence():
    refused = NoMethodError("a problem", {"one": "too small", "two": "too large"})
    assert refused.refusals == {"one": "too small", "two": "too large"}
    assert "one: too small; two: too large" in str(refused)
    assert CertificateError("failed").evidence == ()
    assert CertificateError("failed", (1, 2)).evidence == (1, 2)


@for_each(
    "error",
    [
        PriorError("prior", expected="a", got="b", remedy="c"),
        UnknownNameError("utility", "hamm", ["hamming"]),
        NoMethodError("a problem", {"one": "no"}),
        CertificateError("failed", (1,)),
        StorageError("damaged"),
    ],
)
def test_errors_survive_pickling(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)


# Everything the issue lists as bad input: call, class, words of the message.
BAD = {
    "prior nan": (lambda: md.Prior([math.nan, 1]), PriorError, "nan"),
    "prior sum": (lambda: md.Prior([0.5, 0.6]), PriorError, "1.1"),
    "prior labels twice": (lambda: md.Prior([0.5, 0.5], ["a", "a"]), PriorError, "'a'"),
    "kernel negative": (lambda: md.Mechanism([[1.5, -0.5]]), KernelError, "-0.5"),
    "kernel nan": (lambda: md.Mechanism([[math.nan, 1]]), KernelError, "nan"),
    "level negative": (lambda: md.PML(-0.1), LevelError, "-0.1"),
    "level nan": (lambda: md.PMC(math.nan), LevelError, "nan"),
    "level text": (lambda: md.LDP("0.5"), LevelError, "'0.5'"),
    "level bool": (lambda: md.LIP(True), LevelError, "True"),
    "level minus infinite": (lambda: md.PML(-math.inf), LevelError, "-inf"),
    "second level": (lambda: md.ALIP(1, -1), LevelError, "epsilon_u"),
    "notion unknown": (lambda: parse_notion("pmll:0.5"), UnknownNameError, "'pm"),
    "notion without level": (lambda: parse_notion("pml"), LevelError, "pml:0.5"),
    "notion level text": (lambda: parse_notion("pml:half"), LevelError, "'half'"),
    "notion one level too few": (lambda: parse_notion("alip:1"), LevelError, "alip:0.5,0.5"),
    "privacy text": (lambda: md.design(FAIR, HAMMING, "pml:0.5"), LevelError, "PML(0.5)"),
    "privacy nothing": (lambda: md.design(FAIR, HAMMING, []), LevelError, "at least one"),
    "privacy mixed": (lambda: md.design(FAIR, HAMMING, [md.PML(1), 0.5]), LevelError, "list"),
    "utility class": (
        lambda: md.design(FAIR, md.utility.Hamming, md.PML(1)),
        UtilityError,
        "Hamming (the class)",
    ),
    "utility text": (lambda: md.design(FAIR, "hamming", md.PML(1)), UtilityError, "'hamming'"),
    "utility shape": (
        lambda: md.design(FAIR, md.utility.Matrix(np.eye(3)), md.PML(1)),
        UtilityError,
        "2 rows",
    ),
    "distance unknown": (lambda: md.utility.Distance("abslute"), UnknownNameError, "'absolute'"),
    "prior is a list": (lambda: md.design([0.5, 0.5], HAMMING, md.PML(1)), PriorError, "md.Prior"),
    "outputs alien": (
        lambda: md.design(FAIR, HAMMING, md.PML(1), outputs=["0", "1"]),
        UtilityError,
        "text and numbers differ",
    ),
    "solver unknown": (
        lambda: md.design(FAIR, HAMMING, md.PML(1), solver="highs-simple"),
        UnknownNameError,
        "'highs-simplex'",
    ),
    "solver is no text": (
        lambda: md.design(FAIR, HAMMING, md.PML(1), solver=5),
        UnknownNameError,
        "5",
    ),
    "column missing": (lambda: md.Prior.from_csv("titanic", "clas"), UnknownNameError, "'class'"),
    "file missing": (lambda: md.Prior.from_csv("nowhere.csv", "x"), DataError, "nowhere.csv"),
    "missing values": (lambda: md.Prior.from_data(["a", None]), DataError, "1 of 2"),
    "empty column": (lambda: md.Prior.from_data([]), DataError, "0 rows"),
    "audit sizes": (lambda: md.audit(np.eye(3), [0.5, 0.5]), PriorError, "3 probabilities"),
}


@for_each("case", BAD)
def test_bad_input_says_expected_got_and_remedy_on_one_line(case):
    call, kind, word = BAD[case]
    with pytest.raises(InputError) as caught:
        call()
    error = caught.value
    assert type(error) is kind
    assert error.expected
    assert error.got
    assert error.remedy
    assert f"expected {error.expected}, got {error.got}; {error.remedy}" in str(error)
    assert word in str(error)
    assert "\n" not in str(error)


def test_notions_are_read_whatever_the_case_and_spaces():
    assert parse_notion(" PML:0.5 ") == md.PML(0.5)
    assert parse_notion("alip: 1.0, 0.5") == md.ALIP(1.0, 0.5)
    assert parse_notion("pml:inf") == md.PML(math.inf)
    assert parse_notion(md.ALIP(1.25, math.inf).spec) == md.ALIP(1.25, math.inf)


def test_warnings_point_outside_the_package():
    import warnings

    import mechdesign as md

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        md.Prior([1.0, 0.0])
        md.Prior.from_counts({"a": 1, "b": 0})
        md.audit([[1.0], [1.0]], [1.0, 0.0])
    assert len(caught) == 3
    assert {w.filename for w in caught} == {__file__}
