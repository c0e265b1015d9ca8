"""What a stranger writes into a file: lists of other lengths, parameters that ask nothing, work.

Each file has a digest and, where it matters, a fingerprint that fits, so that only what it means
can refuse it.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from checks import for_each
from verify_cases import IDLE, VACUOUS, changed, closed_files, in_bytes, resealed, telling

import mechdesign as md
from mechdesign.certificate import verify
from mechdesign.errors import InputError, StorageError, ZeroMassWarning
from mechdesign.storage import from_json, to_json

FOUR = md.Prior([0.4, 0.3, 0.2, 0.1])
ABC = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ZeroMassWarning)
    ONLY_A = md.Prior([1, 0, 0], ["a", "b", "c"])


def states(content):
    claims = verify.check(json.dumps(content).encode()).claims
    return {claim["claim"]: claim["state"] for claim in claims}


def is_read(content):
    """Whether the library reads a file, as the checker does or does not."""
    try:
        from_json(copy.deepcopy(content))
    except StorageError:
        return False
    return True


def test_every_list_of_numbers_has_the_length_that_is_asked():
    """Each list is lengthened and shortened by one; the library refuses what the checker does."""
    asked = [md.LIP(0.7), md.MaximalLeakage(0.5)]
    files = [
        md.design(ABC, md.utility.Hamming(), asked, subject_to=md.require.cost(np.eye(3), 0.9))
    ]
    files += [md.design(ABC, md.utility.Estimation(truth=[ABC, [1, 1, 1]]), md.LDP(1))]
    files += [md.subset_selection({"a": 3, "b": 1, "c": 1, "d": 1}, md.LDP(1))]
    wrong, tried = [], Counter()
    for item in files:
        content = json.loads(in_bytes(item))
        for path, part in lists(content):
            for other in (part[:-1], [*part, part[-1]]) if part else ():
                forged = changed(content, path, other)
                try:
                    state = verify.check(in_bytes(forged)).state
                except verify.UnreadableError:
                    state = verify.UNREADABLE
                tried[state] += 1
                if state == verify.PROVED or (state != verify.OPEN and is_read(forged)):
                    wrong.append((path, len(part), len(other), state))
    assert wrong == []
    assert tried[verify.UNREADABLE] > 150


def lists(part, path=()):
    """Every list of a file with its path, but for records and lists of different sizes."""
    skipped = {"agreement", "merged", "rows", "columns", "values"}
    if isinstance(part, dict):
        for name, inside in part.items():
            if name not in skipped:
                yield from lists(inside, (*path, name))
    elif isinstance(part, list):
        yield path, part
        for i, inside in enumerate(part):
            yield from lists(inside, (*path, i))


def test_parameters_that_ask_nothing_or_two_things_are_refused_as_the_library_does():
    for name, parameters in VACUOUS:
        forged = telling(name, parameters)
        with pytest.raises(verify.UnreadableError):
            states(forged)
        assert not is_read(forged), (name, parameters)
    for idle in (
        md.InferenceCost(0.1, [[1, 2], [1, 3], [2, 2]]), md.DP(0.1, []), md.ApproximateLDP(0.1, 1),
        md.ConditionalPML(0.1, dict(zip("abc", "abc", strict=True))), md.RobustPML(0.1, [ONLY_A]),
        md.MetricPrivacy(0.1, np.where(np.eye(3) > 0, 0, np.inf)), md.MetricPrivacy.graph(1, []),
        md.SymbolPML(0.1, dict.fromkeys("abc", np.inf)),
        md.FeaturePMC(0.1, dict.fromkeys("abc", 1)),
        md.Pufferfish(0.1, {"s": ["a"]}),
    ):  # fmt: skip
        with pytest.raises(InputError, match="asks nothing of any pair of symbols"):
            md.design(ABC, md.utility.Hamming(), idle)
    for name, forged in closed_files():
        assert not is_read(forged), name
        with pytest.raises(verify.UnreadableError):
            states(forged)
    # The same file is refuted where its notion asks what it says.
    assert states(telling("LDP", {"epsilon": 0.5}))["privacy: LDP(0.5)"] == verify.REFUTED


@for_each(("name", "parameters"), IDLE)
def test_requirements_that_ask_nothing_are_refused_as_the_library_does(name, parameters):
    wish = md.require.at_least("a", "a", 0.2)
    content = json.loads(in_bytes(md.design(ABC, md.utility.Hamming(), md.LDP(1), subject_to=wish)))
    forged = changed(content, ("requirements", 0), {"name": name, "parameters": parameters})
    with pytest.raises(verify.UnreadableError):
        states(forged)
    assert not is_read(forged)


def test_a_claim_shows_all_parameters():
    found = md.design(ABC, md.utility.Hamming(), md.SymbolPML(0.5, {"a": 1, "b": 2, "c": 3}))
    shown = "privacy: SymbolPML(0.5, levels_of=(('a', 1.0), ('b', 2.0), ('c', 3.0)))"
    assert states(to_json(found))[shown] == verify.PROVED
    far = md.MetricPrivacy(1, [[float(x != y) for x in range(22)] for y in range(22)])
    many = states(to_json(md.design(md.Prior.uniform(22), md.utility.Hamming(), far)))
    (claim,) = (name for name in many if name.startswith("privacy"))
    assert len(claim) < 2200
    assert "SHA-256" in claim


def test_honest_designs_for_the_worst_of_all_truths_are_proved():
    rng = np.random.default_rng(30)
    notions = [md.LDP(0.5), md.PML(1), md.LIP(3), md.PMC(0.3)]
    for k in range(24):
        prior = md.Prior(rng.dirichlet(np.ones(2 + k % 4)))
        found = md.design(prior, md.utility.Estimation(truth="any"), notions[k // 4 % 4])
        assert verify.check(in_bytes(found)).state == verify.PROVED, (prior, k)
    even = md.design(md.Prior([0.5, 0.5]), md.utility.Estimation(), md.PML(1))
    assert even.certificate.value_exact == Fraction(-1, 2)
    assert verify.check(in_bytes(even)).state == verify.PROVED


def test_a_design_without_estimates_is_written_and_read(tmp_path):
    kernel = md.Mechanism([[0.5, 0.5]] * 3, ["a", "b", "c"])
    found = md.certify(kernel, ABC, md.utility.Estimation(), md.LDP(1))
    assert found.value == -np.inf
    md.save(found, tmp_path / "m.json")
    assert md.load(tmp_path / "m.json").value == -np.inf
    content = json.loads((tmp_path / "m.json").read_text())
    assert states(content)["value"] == verify.PROVED
    assert states(changed(content, ("certificate", "value"), -9.0))["value"] == verify.REFUTED


def test_what_a_small_file_asks_for_is_bounded(monkeypatch):
    """Rays of a cone of eight symbols grow with its rows, and steps with the digits of masses."""
    monkeypatch.setattr(verify, "LEAST_WORK", 100_000)
    monkeypatch.setattr(verify, "WORK_PER_BYTE", 1)
    eight = md.Prior.uniform(8)
    found = json.loads(in_bytes(md.design(eight, md.utility.Estimation(), md.LDP(1))))
    secrets = [
        [f"s{i}", [[x, 1.0] for x in range(8) if (37 * i + 5) >> x & 1]] for i in range(1, 7)
    ]
    secrets += [[f"t{x}", [[x, 1.0]]] for x in range(8)]
    pairs = [[a[0], b[0]] for i, a in enumerate(secrets) for b in secrets[:i]]
    table = [[float(abs(x - z)) ** 0.5 for z in range(8)] for x in range(8)]
    found["notions"] = [
        {"name": "MetricPrivacy", "parameters": {"epsilon": 1.0, "distances": ["matrix", table]}},
        {
            "name": "Pufferfish",
            "parameters": {"epsilon": 1.0, "secrets": secrets, "pairs": pairs, "priors": None},
        },
    ]
    found["certificate"] |= {"verdicts": ["yes", "yes"], "achieved": [[1.0], [1.0]]}
    assert len(json.dumps(resealed(found))) < 20_000
    told = verify.check(in_bytes(resealed(found)))
    (bound,) = (claim for claim in told.claims if claim["claim"] == "bound")
    assert bound["state"] == verify.OPEN
    assert "steps of arithmetic" in bound["detail"]
    masses = ["1" + "0" * 20_000 + "7", "3" + "0" * 20_000, "1", "7" * 20_000]
    wide = json.loads(in_bytes(md.design(FOUR, md.utility.Estimation(), md.LDP(1))))
    wide["prior"] |= {"weights": masses}
    report = verify.check(in_bytes(resealed(wide)))
    assert any("steps of arithmetic" in claim["detail"] for claim in report.claims)
    # A set of priors costs what its masses do: so many symbols, once with few digits.
    for digits, is_much in ((4, False), (800, True)):
        robust, whole = json.loads(in_bytes(md.design(eight, md.utility.Hamming(), md.LDP(1)))), 10
        box = [[x, *({"fraction": str(Fraction(i, whole**digits + x))} for i in (1, whole**digits))]
               for x in range(8)]  # fmt: skip
        asked = {"epsilon": 1.0, "priors": ["box", box]}
        robust["notions"] = [{"name": "RobustPML", "parameters": asked}]
        told = verify.check(in_bytes(resealed(robust))).claims
        assert any("steps of arithmetic" in claim["detail"] for claim in told) is is_much


def test_a_value_says_what_the_file_names_its_utility():
    """Gains are what is checked: the name beside them may be that of others."""
    content = json.loads(in_bytes(md.design(ABC, md.utility.Hamming(), md.LDP(1))))
    for forged in (content, changed(content, ("utility", "name"), "squared")):
        told = verify.check(in_bytes(forged)).claims
        (detail,) = (claim["detail"] for claim in told if claim["claim"] == "value")
        assert f"of a utility that the file names '{forged['utility']['name']}'" in detail


def test_texts_are_no_tuples_of_letters():
    """Between "aa" and "bb" there are two letters, and no entry of a database."""
    texts = md.Prior([0.5, 0.5], ["aa", "bb"])
    for notion in (md.DP(0.1, "hamming"), md.MetricPrivacy(0.1, "hamming")):
        with pytest.raises(InputError, match="label the symbols with tuples"):
            md.design(texts, md.utility.Hamming(), notion)
    content = json.loads(in_bytes(md.design(texts, md.utility.Hamming(), md.LDP(3))))
    content["notions"] = [{"name": "DP", "parameters": {"epsilon": 0.1, "neighbours": "hamming"}}]
    with pytest.raises(verify.UnreadableError):
        states(resealed(content))


def test_labels_that_doubles_round_have_no_distances():
    """Two apart as integers, four apart as doubles: twice the ratio would be allowed."""
    far = md.Prior([0.5, 0.5], labels=[(2**53 + 1,), (2**53 + 3,)])
    with pytest.raises(InputError, match="which doubles hold"):
        md.design(far, md.utility.Hamming(), md.MetricPrivacy(0.5, "euclidean"))
    near = md.Prior([0.5, 0.5], labels=[(1,), (3,)])
    content = json.loads(
        in_bytes(md.design(near, md.utility.Hamming(), md.MetricPrivacy(0.5, "euclidean")))
    )
    text = json.dumps(content).replace('{"tuple": [1]}', '{"tuple": [9007199254740993]}')
    content = json.loads(text.replace('{"tuple": [3]}', '{"tuple": [9007199254740995]}'))
    with pytest.raises(verify.UnreadableError):
        states(resealed(content))


def test_the_checker_ends_with_who_started_it(tmp_path):
    """Its input is a pipe that closes when the other process is gone, however it went."""
    os.mkfifo(tmp_path / "endless")  # nobody ever writes to it
    checker = Path(verify.__file__)
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(checker), "--with-parent", str(tmp_path / "endless")],
        stdin=subprocess.PIPE,
    )
    process.stdin.close()
    assert process.wait(timeout=120) == 2


def test_the_schema_that_is_printed_is_what_the_checker_declares():
    done = subprocess.run(
        [sys.executable, "-I", "-S", verify.__file__, "--schema"], capture_output=True, check=True
    )
    assert json.loads(done.stdout) == json.loads(json.dumps(verify.FORM))
    jsonschema.Draft202012Validator.check_schema(verify.FORM)


def test_what_is_there_twice_is_refused_where_notions_are_made():
    with pytest.raises(InputError, match="priors of a notion"):
        md.RobustPML(1, ("vertices", ((("a", 5), ("a", 1)),)))
    with pytest.raises(InputError, match="secrets"):
        md.Pufferfish(1, [("s", [("a", 1), ("a", 0)]), ("t", [("b", 1)])])
    with pytest.raises(InputError, match="coefficients"):
        md.requirement.EveryOutput((("a", 1.0), ("b", -2.0), ("a", 0.5)))
    with pytest.raises(InputError, match="unbiased"):
        md.requirement.Unbiased((("a", 1.0), ("a", 2.0)))
