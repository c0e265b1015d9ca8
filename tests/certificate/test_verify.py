"""The checker of saved files: it proves what honest ones say, and nothing that is not so.

Its adversary writes files by hand, with digests and fingerprints that fit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from checks import slow_but
from plain_requirements import WISHES, names, random_case
from random_designs import MAKERS, random_asking
from verify_cases import (
    IMPOSSIBLE,
    LINEAR,
    PARTLY,
    REQUIRED,
    WORST,
    all_cases,
    changed,
    cut_cases,
    designed,
    faults,
    impossible,
    in_bytes,
    required,
    resealed,
)

import mechdesign as md
from mechdesign.certificate import verify
from mechdesign.cli import main
from mechdesign.errors import InfeasibleError, NoMethodError, StorageError
from mechdesign.privacy import NOTIONS
from mechdesign.requirement import REQUIREMENTS

ABC = md.Prior([0.5, 0.3, 0.2], ["a", "b", "c"])
RECORDED = Path(__file__).parents[1] / "recorded"
#: Claims that are named where a sum of logarithms is asked, or the utility is sub-convex.
LOGARITHMS = {"privacy", "verdicts", "bound", "gap", "gain_gap", "optimal"}
SUBCONVEX = {"value", "bound", "gap", "optimal"}


def not_proved(report):
    return {fact["claim"].partition(":")[0] for fact in report.claims if fact["state"] != "proved"}


def may_be_open(content):
    """Claims of an honest file that need not be proved."""
    allowed = set()
    if any(notion["name"].startswith("MI") for notion in content.get("notions", [])):
        allowed |= LOGARITHMS | {"infeasible", "below_zero"}
    if content.get("utility", {"parts": []}).keys() & {"parts"}:
        allowed |= {"gain_gap"}
    elif "gains" not in content["utility"]:
        allowed |= SUBCONVEX
    return allowed


def check_honest(data):
    """The state of an honest file, once what must be proved was."""
    report = verify.check(data)
    assert report.state in ("proved", "not proved here"), report
    content = json.loads(data)
    allowed = may_be_open(content)
    levels = [notion["parameters"].get("epsilon", 1) for notion in content.get("notions", [])]
    # Prices of rows whose factors differ by a level are divided by it, and so is their rounding.
    least = min([1.0, *(level for level in levels if isinstance(level, float) and level > 0)])
    for claim in report.claims:
        if claim["claim"] == "bound" and claim["state"] == "not proved here" and claim["detail"]:
            # The package knows shapes, and may prove the last digits of a bound that way.
            own, said = claim["detail"].rpartition(" ")[2], content["certificate"]["bound"]
            if own[0].isdigit() and abs(float(own) - said) <= 2**-52 / least * max(1.0, abs(said)):
                allowed |= {"bound", "gap", "gain_gap", "optimal"}
    assert not_proved(report) <= allowed, report
    return report.state


def random_files(seeds):
    """Saved designs over every notion and utility; those that cannot be saved are left out."""
    for seed in seeds:
        asked = random_asking(np.random.default_rng([26, seed]), seed % 8 == 7)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                yield in_bytes(md.design(asked.prior, asked.utility, asked.privacy, asked.outputs))
            except (NoMethodError, StorageError):
                continue  # sub-convex utilities on many symbols, or functions given at run time


def required_files(seeds):
    """Saved designs under requirements over every notion, and proofs where there is none."""
    for seed in seeds:
        rng = np.random.default_rng([28, seed])
        notions = [list(MAKERS)[seed % len(MAKERS)]]
        turn = seed + seed // len(MAKERS)  # so that every notion meets every wish
        wishes = names(rng, list(WISHES)[turn % len(WISHES)], 1 + int(rng.integers(3)))
        try:
            yield in_bytes(random_case(rng, tuple(notions), wishes).design())
        except InfeasibleError as refused:
            if refused.proof is not None:
                yield in_bytes(refused.proof)


# Honest files


@pytest.mark.slow
def test_every_file_is_judged_as_it_was_made():
    assert list(faults(verify, all_cases())) == []


def test_there_is_a_file_of_every_notion():
    asked = [case[2] for case in [*LINEAR.values(), *(case for case, _ in PARTLY.values())]]
    notions = [n for some in asked for n in (some if isinstance(some, list) else [some])]
    own = {cls.__name__ for cls in NOTIONS.values() if cls.__module__.startswith("mechdesign.")}
    assert {type(notion).__name__ for notion in notions} == own == set(verify.NOTIONS)


def test_there_is_a_file_of_every_requirement():
    designs = [json.loads(in_bytes(required(name))) for name in REQUIRED]
    asked = {part["name"] for content in designs for part in content["requirements"]}
    asked |= {part["name"] for part in json.loads(in_bytes(required("goals")))["requirements"]}
    for case in cut_cases():  # what is asked of designs for estimates alone
        asked |= {part["name"] for part in json.loads(case.data).get("requirements", [])}
    own = {c.__name__ for c in REQUIREMENTS.values() if c.__module__.startswith("mechdesign.")}
    assert asked == own == set(verify.REQUIREMENTS)


@pytest.mark.slow
@pytest.mark.parametrize("share", range(4))
def test_required_files_of_every_notion_with_every_wish_are_proved(share):
    count = len(MAKERS) * len(WISHES) // 4
    states = [
        check_honest(data) for data in required_files(range(count * share, count * (share + 1)))
    ]
    assert len(states) > 90
    assert states.count("proved") > 0.7 * len(states)


@pytest.mark.parametrize("share", slow_but(1, range(4)))
def test_honest_files_are_proved(share):
    states = [check_honest(data) for data in random_files(range(80 * share, 80 * share + 80))]
    assert len(states) > 60
    assert states.count("proved") > 0.7 * len(states)


@pytest.mark.slow
@pytest.mark.parametrize("share", range(8))
def test_two_thousand_honest_files_are_proved(share):
    first = 320 + 290 * share
    states = [check_honest(data) for data in random_files(range(first, first + 290))]
    assert len(states) > 250
    assert states.count("proved") > 0.7 * len(states)


@pytest.mark.slow
def test_recorded_files_are_proved_or_named():
    states = []
    with tarfile.open(RECORDED / "files.tar.gz") as archive:
        for member in archive.getmembers():
            if member.name.startswith(("design-", "public", "mechanism", "comparison/")):
                states.append(check_honest(archive.extractfile(member).read()))
    assert len(states) > 20
    assert states.count("proved") > 15


# The program


def run(*arguments):
    command = [sys.executable, "-I", "-S", verify.__file__, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert not done.stderr or "usage" in done.stderr
    return done


def test_it_runs_alone_and_its_exit_code_says_the_worst(tmp_path):
    good = in_bytes(designed(*LINEAR["pml"]))
    files = {
        "good": good,
        "open": in_bytes(designed(*PARTLY["information"][0])),
        "false": in_bytes(changed(json.loads(good), ("certificate", "value"), 0.99)),
        "none": b"{",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    codes = {name: run(tmp_path / name).returncode for name in files}
    (tmp_path / "proof").write_bytes(in_bytes(impossible(next(iter(IMPOSSIBLE)))))
    (tmp_path / "worst").write_bytes(in_bytes(required(next(iter(WORST)))))
    assert run(tmp_path / "proof").returncode == 0
    assert "proved           bound" in run(tmp_path / "worst").stdout
    assert codes == {"good": 0, "false": 1, "none": 2, "open": 3}
    assert run(tmp_path / "nowhere").returncode == 2
    assert run().returncode == 2
    asked = run("--help")
    assert (asked.returncode, asked.stdout) == (2, "")
    assert asked.stderr.startswith("usage: ")
    every = [tmp_path / name for name in files]
    assert run(*every).returncode == 1
    assert run(every[0], every[1], every[3]).returncode == 2
    told = json.loads(run("--json", *every).stdout)
    states = [row["state"] for row in told["files"]]
    assert states == ["proved", "not proved here", "refuted", "unreadable"]
    assert (told["format"], told["schema"], told["state"]) == ("mechdesign-verify", 1, "refuted")
    assert "refuted          value" in run(every[2]).stdout


def test_the_command_line_hands_on_what_it_says(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = in_bytes(designed(*LINEAR["pml"]))
    Path("good.json").write_bytes(good)
    Path("false.json").write_bytes(
        in_bytes(changed(json.loads(good), ("certificate", "value"), 0.99))
    )
    assert main(["verify", "good.json"]) == 0
    assert capfd.readouterr().out.startswith("good.json: proved\n")
    assert main(["verify", "--json", "good.json", "false.json"]) == 1
    told = json.loads(capfd.readouterr().out)
    assert [row["state"] for row in told["files"]] == ["proved", "refuted"]
    assert [row["witnesses"] for row in told["files"]] == [[], []]  # a value is no privacy
    assert (told["format"], told["state"]) == ("mechdesign-verify", "refuted")
    assert told["version"] == md.__version__
    assert main(["verify", "nowhere.json"]) == 2
    assert main(["verify"]) == 2
    assert "Missing argument" in capfd.readouterr().err


@pytest.mark.parametrize("is_public", [False, True])
def test_a_refuted_level_has_a_witness(tmp_path, capfd, monkeypatch, is_public):
    """The output and the pair with the largest ratio of likelihoods, by a search of one's own."""
    monkeypatch.chdir(tmp_path)
    found = md.design(ABC, md.utility.Hamming(), md.LDP(1))
    md.save(found, "m.json", public=is_public)
    content = json.loads(Path("m.json").read_text())
    content = changed(content, ("notions", 0, "parameters", "epsilon"), 0.5)
    Path("m.json").write_bytes(in_bytes(content))
    assert main(["verify", "--json", "m.json"]) == 1
    (file,) = json.loads(capfd.readouterr().out)["files"]
    (witness,) = file["witnesses"]
    weights = found.mechanism.weights
    place = {repr(label): x for x, label in enumerate("abc")}
    y = found.mechanism.outputs.index(witness["output"])
    over, under = (int(weights[place[witness[side]], y]) for side in ("over", "under"))
    columns = [list(map(int, c)) for c in weights.T if c.any()]
    worst = max(Fraction(a, b) for c in columns for a in c for b in c)
    assert Fraction(over, under) == worst
    assert float(worst) == pytest.approx(np.exp(witness["level"]), rel=1e-12)
    assert (witness["notion"], witness["claimed"]) == ("LDP(0.5)", 0.5)
    assert main(["verify", "m.json"]) == 1
    last = capfd.readouterr().out.splitlines()[-1]
    assert last.startswith("  witness          LDP(0.5): output ")
    assert last.endswith(": level 1 nats, claimed 0.5")


def test_a_file_that_names_no_notion_promises_nothing():
    content = json.loads(in_bytes(md.design(ABC, md.utility.Hamming(), md.LDP(1))))
    content["notions"] = []
    content["certificate"] |= {"achieved": [], "verdicts": []}
    with pytest.raises(verify.UnreadableError, match="notions: another length"):
        verify.check(in_bytes(resealed(content)))
    public = {key: content[key] for key in ("format", "schema", "version", "mechanism", "notions")}
    public |= {"kind": "public", "fingerprint": "0" * 64}
    report = verify.check(in_bytes(resealed(public)))
    (said,) = (fact for fact in report.claims if fact["claim"] == "privacy")
    assert (said["state"], report.state) == ("not proved here", "refuted")  # the fingerprint
    assert said["detail"].startswith("nothing is promised")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no JSON"),
        (b'{"format": "mechdesign"', "no JSON"),
        (b"\xff", "no JSON"),
        (b"{}", "no mechdesign file"),
        (b"[1]", "no mechdesign file"),
        (b'{"format": "mechdesign", "schema": 1}', "file.version: missing"),
        (b'{"format": "mechdesign", "schema": 1, "version": 1}', "file.kind: missing"),
        (None, "No such file"),
    ],
)
def test_what_cannot_be_read_is_said_in_plain_words(tmp_path, data, said):
    if data is not None:
        (tmp_path / "m").write_bytes(data)
    done = run(tmp_path / "m")
    assert done.returncode == 2
    assert said in done.stdout
    for word in ("Error", "Errno", "Fraction", "Decode", "Traceback"):
        assert word not in done.stdout + done.stderr


def test_labels_do_not_reach_the_terminal(tmp_path):
    found = designed(*LINEAR["pml"])
    content = changed(json.loads(in_bytes(found)), ("notions", 0, "name"), "\x1b[31mred\n")
    (tmp_path / "m").write_bytes(in_bytes(content))
    lines = run(tmp_path / "m").stdout.splitlines()
    assert all(line.isprintable() for line in lines)
    assert any("red" in line for line in lines)


def test_it_imports_nothing_but_the_standard_library():
    code = f"import runpy, sys; runpy.run_path({verify.__file__!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    roots = {name.partition(".")[0] for name in done.stdout.split()}
    assert {"fractions", "json"} <= roots <= {*sys.stdlib_module_names, "__main__"}


def test_a_mechanism_alone_claims_nothing(tmp_path):
    """Called a mechanism, a design that is not private had all that it claims left unread."""
    content = json.loads(in_bytes(md.design(ABC, md.utility.Hamming(), md.PML(0.4))))
    weights = content["mechanism"]["weights"]
    content["mechanism"]["weights"] = [weights[1], weights[0], weights[2]]
    assert verify.check(in_bytes(resealed(content))).state == "refuted"
    content["kind"] = "mechanism"
    data = in_bytes(resealed(content))
    with pytest.raises(verify.UnreadableError, match="a part that it cannot have"):
        verify.check(data)
    path = tmp_path / "m.json"
    path.write_bytes(data)
    with pytest.raises(StorageError, match="stands there otherwise"):
        md.load(path)
    alone = {key: content[key] for key in ("format", "schema", "version", "kind", "mechanism")}
    assert verify.check(in_bytes(resealed(alone))).state == "proved"


@pytest.mark.parametrize("form", ["design", "public"])
def test_rows_of_designs_sum_to_one_exactly(form, tmp_path):
    """The checker refuted what the library read, audited and drew from."""
    found = md.design(ABC, md.utility.Hamming(), md.PML(0.4))
    path = tmp_path / "m.json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        md.save(found, path, public=form == "public")
    content = json.loads(path.read_text())
    row = content["mechanism"]["weights"][2]
    row[0] = str(int(row[0]) + 1)
    path.write_bytes(in_bytes(resealed(content)))
    assert verify.check(path.read_bytes()).state == "refuted"
    with pytest.raises(StorageError, match="whose sum is not one"):
        md.load(path)
