"""Proofs that nothing does what is asked, in files: derived afresh, whoever wrote them."""

from __future__ import annotations

import copy
import json

import pytest
from checks import for_each

import mechdesign as md
from mechdesign import require
from mechdesign.errors import InfeasibleError, StorageError
from mechdesign.kernel_files import load_kernel
from mechdesign.storage import seal, to_json

ABC = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
CASES = {
    "floors": (md.LDP(1.0), [require.at_least("a", "a", 0.9), require.at_least("b", "b", 0.9)]),
    "zeros": (md.LDP(1.0), [require.zero("a")]),
    "several notions": ([md.PML(0.2), md.LDP(1.0)], [require.diagonal(0.7)]),
    "sums": (md.MaximalLeakage(0.2), [require.invariant(), require.diagonal(0.6)]),
    "shares": (md.PML(0.1), [require.output("a", 0.7), require.output("b", 0.7)]),
}


def proof_of(name):
    notion, asked = CASES[name]
    with pytest.raises(InfeasibleError) as caught:
        md.design(ABC, md.utility.Hamming(), notion, subject_to=asked)
    return caught.value.proof


def written(content, path):
    kept = {key: value for key, value in content.items() if key != "digest"}
    path.write_text(json.dumps(seal(kept)))
    return path


@for_each("name", CASES)
def test_a_proof_comes_back_with_its_bound(name, tmp_path):
    proof = proof_of(name)
    md.save(proof, tmp_path / "p.json")
    found = md.load(tmp_path / "p.json")
    assert found.bound == proof.bound < 0
    assert found.clash == proof.clash
    assert found.problem.prior == ABC
    assert repr(found) == repr(proof)
    assert (tmp_path / "p.json").stat().st_mode & 0o077 == 0  # it holds the prior


@for_each("name", CASES)
def test_numbers_that_prove_nothing_are_refused(name, tmp_path):
    """The adversary: what is possible, with a proof of something else."""
    content = to_json(proof_of(name))
    changed = copy.deepcopy(content)
    changed["requirements"] = to_json(proof_of("shares"))["requirements"][:1]
    changed["notions"] = [{"name": "LDP", "parameters": {"epsilon": 3.0}}]
    with pytest.raises(StorageError):
        md.load(written(changed, tmp_path / "p.json"))


def test_a_possible_question_with_any_numbers_is_refused(tmp_path):
    content = to_json(proof_of("floors"))
    content["requirements"] = content["requirements"][:1]
    content["notions"][0]["parameters"]["epsilon"] = 5.0
    for name in ("prices", "limits"):
        for scale in (1.0, -1.0, 100.0):
            changed = copy.deepcopy(content)
            if name == "limits":
                changed["duals"]["limits"] = [scale * changed["duals"]["limits"][0]]
            else:
                changed["duals"]["limits"] = [changed["duals"]["limits"][0]]
                changed["duals"]["prices"] = [scale * v for v in changed["duals"]["prices"]]
            with pytest.raises(StorageError, match="do not prove"):
                md.load(written(changed, tmp_path / "p.json"))


@for_each("claim", [2.0, None, "x", [], -1.0, True])
def test_other_claims_and_missing_parts_are_refused(claim, tmp_path):
    content, path = to_json(proof_of("floors")), tmp_path / "p.json"
    with pytest.raises(StorageError):
        md.load(written({**content, "below_zero": claim}, path))
    for key in ("prior", "notions", "requirements", "outputs", "duals"):
        with pytest.raises(StorageError, match=r"missing|form"):
            md.load(written({name: v for name, v in content.items() if name != key}, path))
    with pytest.raises(StorageError, match="got the proof that none satisfies"):
        load_kernel(written(content, path))
