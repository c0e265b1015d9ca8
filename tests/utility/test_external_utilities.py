"""Utilities and notions that are defined outside the package are saved and loaded like its own."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mechdesign as md
from mechdesign.errors import StorageError
from mechdesign.privacy import NOTIONS
from mechdesign.storage import from_json, seal
from mechdesign.utility import UTILITIES

PRIOR = md.Prior([0.5, 0.3, 0.2], [0, 1, 4])
NAMED = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])


@pytest.fixture
def outside(monkeypatch):
    """A module that is imported for one test only, with what it registers."""
    before = dict(NOTIONS), dict(UTILITIES)

    def get(name):
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    yield get
    for registry, known in zip((NOTIONS, UTILITIES), before, strict=True):
        registry.clear()
        registry.update(known)


def kept(found, tmp_path):
    """A design, saved and loaded, and the content of its file."""
    md.save(found, tmp_path / "m.json", overwrite=True)
    again = md.load(tmp_path / "m.json")
    assert again.mechanism == found.mechanism
    assert (again.value, again.bound) == (found.value, found.bound)
    return again, json.loads((tmp_path / "m.json").read_text())


def in_another_process(script):
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=Path(__file__).parents[1],
    )
    return done.stdout + done.stderr


LOAD = """
import sys
import mechdesign as md
try:
    print("loaded", md.load({path!r}).utility)
except md.errors.StorageError as failure:
    print("refused", failure)
print("imported", any(name.startswith("outside") for name in sys.modules))
"""


# A linear utility


def test_a_linear_utility_of_ones_own(outside, tmp_path):
    goal = outside("outside_linear").Pinball(0.8)
    found = md.design(PRIOR, goal, md.PML(0.5))
    same = md.utility.Distance(lambda x, y: max(0.8 * (x - y), 0.2 * (y - x)))
    assert found.value == pytest.approx(md.design(PRIOR, same, md.PML(0.5)).value, abs=1e-12)
    assert found.status == "optimal"
    assert md.audit(found.mechanism, PRIOR, found.notions).checks[0].verdict is md.Verdict.YES
    again, _ = kept(found, tmp_path)
    assert again.utility == goal
    table = md.compare(PRIOR, goal, [md.PML, md.LDP], [0.5], resume=tmp_path / "kept")
    assert table.points[0].value == pytest.approx(found.value, abs=1e-12)
    resumed = md.compare(PRIOR, goal, [md.PML, md.LDP], [0.5], resume=tmp_path / "kept")
    assert [p.value for p in resumed] == [p.value for p in table]
    assert "quantile of a numeric secret" in goal.description


def test_another_meaning_of_a_class_is_noticed(outside, tmp_path):
    """Gains that the class does not give here are kept as a matrix."""
    _, content = kept(
        md.design(PRIOR, outside("outside_linear").Pinball(0.8), md.PML(0.5)), tmp_path
    )
    content["utility"]["parameters"]["quantile"] = 0.2
    again = from_json(seal(content))
    assert type(again.utility) is md.utility.Matrix
    content["utility"]["parameters"] = {"another": 1}
    assert type(from_json(seal(content)).utility) is md.utility.Matrix


# A sub-convex utility


def test_a_sub_convex_utility_of_ones_own(outside, tmp_path):
    goal = outside("outside_sublinear").NormGain(2.0, "inf")
    found = md.design(PRIOR, goal, md.LDP(1.0))
    same = md.utility.Sublinear(lambda k, p: float(np.sqrt(p @ k**2)), "root")
    assert found.value == pytest.approx(md.design(PRIOR, same, md.LDP(1.0)).value, abs=1e-9)
    assert found.value == pytest.approx(goal.value(found.mechanism, PRIOR), abs=1e-12)
    assert md.audit(found.mechanism, PRIOR, found.notions).checks[0].verdict is md.Verdict.YES
    again, _ = kept(found, tmp_path)
    assert again.utility == goal
    table = md.compare(PRIOR, goal, [md.PML, md.LDP], [1.0], resume=tmp_path / "kept")
    assert table.points[1].value == pytest.approx(found.value, abs=1e-9)


@pytest.mark.slow
def test_an_unknown_sub_convex_utility_is_named_and_not_imported(outside, tmp_path):
    found = md.design(PRIOR, outside("outside_sublinear").NormGain(3.0), md.LDP(1.0))
    kept(found, tmp_path)
    path = str(tmp_path / "m.json")
    said = in_another_process(LOAD.format(path=path))
    assert f"refused {path}: the utility 'NormGain' is not known here; import the module" in said
    assert "imported False" in said
    said = in_another_process("import outside_sublinear\n" + LOAD.format(path=path))
    assert "loaded NormGain(order=3.0, label='')" in said


def test_a_file_that_claims_another_utility_is_refused(outside, tmp_path):
    goal = outside("outside_sublinear").NormGain(2.0)
    _, content = kept(md.design(PRIOR, goal, md.LDP(1.0)), tmp_path)
    content["utility"]["parameters"]["order"] = 4.0
    with pytest.raises(StorageError, match="the file claims value"):
        from_json(seal(content))
    content["utility"]["parameters"] = {"degree": 2.0}
    with pytest.raises(StorageError, match="the utility 'NormGain' is not known here"):
        from_json(seal(content))


@pytest.mark.parametrize("parameters", [(lambda x: x,), (np.eye(2),)], ids=["function", "array"])
def test_parameters_that_no_file_holds(outside, tmp_path, parameters):
    loss, gain = outside("outside_linear").Pinball, outside("outside_sublinear").NormGain
    found = md.design(PRIOR, gain(2.0, *parameters), md.LDP(1.0))
    with pytest.raises(StorageError, match="parameter of a notion or utility: expected numbers"):
        md.save(found, tmp_path / "m.json")

    class Loss(loss, register=False):
        """One whose file holds its gains alone."""

    again, content = kept(md.design(PRIOR, Loss(0.8), md.PML(0.5)), tmp_path)
    assert set(content["utility"]) == {"name", "gains"}
    assert type(again.utility) is md.utility.Matrix


# Notions


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [lambda m: m.AgainstOne(0.5, "b"), lambda m: m.SharedLeakage(0.6, np.int64(3))],
    ids=["likelihood", "average"],
)
def test_notions_of_ones_own(outside, tmp_path, make):
    notion = make(outside("outside_notions"))
    found = md.design(NAMED, md.utility.Hamming(), notion)
    assert found.certificate.checks[0].verdict is md.Verdict.YES
    again, content = kept(found, tmp_path)
    assert again.notions == (notion,)
    path, name = str(tmp_path / "m.json"), content["notions"][0]["name"]
    said = in_another_process(LOAD.format(path=path))
    assert f"refused {path}: the notion {name!r} is not known here; import the module" in said
    assert "imported False" in said
    script = f"import outside_notions, mechdesign as md\nprint(md.load({path!r}).notions)"
    assert repr(found.notions).replace("np.int64(3)", "3") in in_another_process(script)


def test_a_notion_that_no_file_can_name_is_refused_when_it_is_saved(outside, tmp_path):
    base = outside("outside_notions").AgainstOne

    class Hidden(base, register=False):
        """Not registered, so that loading could not find it."""

    found = md.design(NAMED, md.utility.Hamming(), Hidden(0.5, "b"))
    with pytest.raises(StorageError, match=r"whose class is registered, got .*Hidden"):
        md.save(found, tmp_path / "m.json")
    assert not (tmp_path / "m.json").exists()
