"""What is written about saved files fits the files."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import jsonschema
import numpy as np
from checks import for_each
from verify_cases import (
    IMPOSSIBLE,
    LINEAR,
    PARTLY,
    REQUIRED,
    broken_cases,
    changed,
    designed,
    honest_cases,
    impossible,
    in_bytes,
    required,
)

import mechdesign as md
from mechdesign.certificate import verify
from mechdesign.storage import to_json
from mechdesign.utility.questions import Question

FOLDER = Path(verify.__file__).parent
SCHEMA = json.loads(json.dumps(verify.FORM))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
FORMAT = (FOLDER / "FORMAT.md").read_text(encoding="utf-8")


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_honest_files_have_the_form():
    for case in honest_cases():
        VALIDATOR.validate(json.loads(case.data))


def test_subset_selections_have_the_form():
    for symbols in (20, ["a", "b", ("c", 1)], 1_000_000):
        content = to_json(md.subset_selection(symbols, [md.LDP(1), md.ALIP(2, 1)]))
        content = json.loads(json.dumps(content))
        VALIDATOR.validate(content)
        for name in ("types", "risk_exact"):
            assert not VALIDATOR.is_valid({**content, name: None})
        assert not VALIDATOR.is_valid({k: v for k, v in content.items() if k != "symbols"})


def test_selections_of_groups_have_the_form():
    """The checker says of no claim that it is proved which it did not look at."""
    content = to_json(md.subset_selection({"a": 3, "b": 1, "c": 1, "d": 3}, [md.LDP(1)]))
    content = json.loads(json.dumps(content))
    VALIDATOR.validate(content)
    for name in ("types", "prices", "risk_exact"):
        assert not VALIDATOR.is_valid({**content, name: None})
    report = verify.check(json.dumps(content).encode())
    states = {claim["claim"]: claim["state"] for claim in report.claims}
    for claim in ("digest", "probabilities", "weights", "rows", "privacy: LDP(1.0)"):
        assert states.pop(claim) == verify.PROVED
    assert set(states) == {"risk", "achieved", "bound", "fingerprint"}
    assert set(states.values()) == {verify.OPEN}


@for_each(
    ("path", "value"),
    [
        (("schema",), 2),
        (("kind",), "other"),
        (("mechanism", "weights", 0, 0), "-1"),
        (("mechanism", "weights", 0, 0), 1),
        (("mechanism", "weights", 0, 0), "01"),
        (("mechanism", "inputs", 0), {"other": 1}),
        (("prior", "weights"), []),
        (("certificate", "value"), "1"),
        (("certificate", "bound_exact"), "1/0"),
        (("certificate", "verdicts", 0), "no"),
        (("certificate", "duals", "multipliers", 0, 0, "rows"), [-1]),
        (("notions",), []),
        (("digest",), "x"),
    ],
)
def test_other_files_have_not(path, value):
    content = json.loads(in_bytes(designed(*LINEAR["pml"])))
    content = changed(content, path, value) if path != ("digest",) else {**content, "digest": value}
    assert not VALIDATOR.is_valid(content)


def test_two_fifths_of_the_files_that_the_checker_cannot_read_have_not():
    # The others break what a schema cannot say: sizes that must fit, sums, what follows from both.
    cases = [case for case in broken_cases() if case.state == {"unreadable"}]
    texts = [case.data for case in cases if case.data.startswith(b'{"format"')]
    found = []
    for text in texts:
        try:
            found.append(VALIDATOR.is_valid(json.loads(text)))
        except ValueError:
            found.append(False)
    assert len(found) > 150
    assert found.count(False) > 0.4 * len(found)


def test_every_name_of_a_file_is_described():
    files = [designed(*LINEAR[name]) for name in ("pml", "far gains", "maximal", "graph")]
    files += [designed(*PARTLY["information"][0])]
    files += [required(name) for name in (*REQUIRED, "goals", "priors of use")]
    files += [impossible(name) for name in IMPOSSIBLE]
    files += [md.subset_selection(["a", "b", "c"], md.ALIP(1, 0.5))]
    files += [md.PublicDesign.of(files[0].mechanism, [md.RobustPML(1, files[0].prior)])]
    asked = Question(("x",), np.eye(len(files[0].prior))[:, :1])
    files += [md.PublicDesign.of(files[0].mechanism, [], question=asked)]

    def names(part):
        if isinstance(part, dict):
            yield from part
            for value in part.values():
                yield from names(value)
        for value in part if isinstance(part, list) else ():
            yield from names(value)

    found = {name for item in files for name in names(json.loads(json.dumps(to_json(item))))}
    written = set(re.findall(r"[A-Za-z_]+", " ".join(re.findall(r"`[^`]+`", FORMAT))))
    assert found - written - {"epsilon"} == set()
    assert set(verify.NOTIONS) | set(verify.REQUIREMENTS) <= set(re.findall(r"[A-Za-z]+", FORMAT))


def test_the_documents_are_part_of_the_package():
    """A wheel holds all of the folder that git does not ignore."""
    for name in ("FORMAT.md", "verify.py"):
        assert (FOLDER / name).is_file()
        done = subprocess.run(["git", "check-ignore", "-q", name], cwd=FOLDER)
        assert done.returncode != 0
