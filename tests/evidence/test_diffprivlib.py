"""Mechanisms of diffprivlib as subjects, in an environment of their own.

Its models need an older scikit-learn than the classifiers here, so that a program of its own draws
the reports, as that of a vendor would: nothing is shared but a table of inputs and reports.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mechdesign as md

PACKAGES = ("diffprivlib==0.6.6", "scikit-learn==1.5.2")
#: Reports of each of two inputs.
REPORTS = 15_000
#: What draws one report, its inputs, and all reports it can give where they are few.
SUBJECTS = {
    "randomised response": (
        "Binary(epsilon=1.0, value0='a', value1='b', random_state=1)",
        ["a", "b"],
        ["a", "b"],
    ),
    "geometric noise": ("Geometric(epsilon=1.0, sensitivity=1, random_state=2)", [0, 1], None),
    "truncated geometric noise": (
        "GeometricTruncated(epsilon=1.0, sensitivity=1, lower=0, upper=3, random_state=3)",
        [1, 2],
        [0, 1, 2, 3],
    ),
    # A control: it is told that inputs are at most half as far apart as they are.
    "geometric noise for half the distance": (
        "Geometric(epsilon=1.0, sensitivity=1, random_state=4)",
        [0, 2],
        None,
    ),
}
PROGRAM = """
import json, sys
from diffprivlib.mechanisms import *
asked = json.load(sys.stdin)
mechanism = eval(asked["made"])
draw = lambda x: [mechanism.randomise(x) for _ in range(asked["reports"])]
print(json.dumps([draw(x) for x in asked["inputs"]]))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The interpreter of an environment with diffprivlib."""
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if uv is None and "MECHDESIGN_TEST_ALL" not in os.environ:
        pytest.skip("uv makes the environment")
    assert uv is not None
    folder = tmp_path_factory.mktemp("vendor") / "env"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    own = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run([uv, "pip", "install", "--quiet", "--python", own, *PACKAGES], check=True)
    return own


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_mechanisms_of_diffprivlib_keep_their_level_and_no_smaller_one(name, python, monkeypatch):
    # Tests of engines tell their workers where our packages are; these are others.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    made, inputs, outputs = SUBJECTS[name]
    asked = json.dumps({"made": made, "inputs": inputs, "reports": REPORTS})
    done = subprocess.run(
        [python, "-I", "-W", "ignore", "-c", PROGRAM],
        input=asked,
        capture_output=True,
        text=True,
        check=True,
    )
    drawn = json.loads(done.stdout)
    told = [x for x in inputs for _ in range(REPORTS)]
    reports = [report for part in drawn for report in part]
    more = {} if outputs is None else {"outputs": outputs}
    found = md.audit_samples(told, reports, [md.LDP(1.0), md.LDP(1.4), md.LDP(0.8)], **more)
    verdicts = [str(finding.verdict) for finding in found.findings]
    if name == "geometric noise for half the distance":
        assert verdicts == ["violated"] * 3
        return
    assert verdicts[0] != "violated"
    # Of reports without end, no sample shows that none of them tells more.
    assert verdicts[1] == ("cannot tell" if outputs is None else "consistent")
    assert verdicts[2] == "violated"
