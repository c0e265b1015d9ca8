"""``mechdesign audit``: the answers of Python, one message for what cannot be used."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    inputs = rng.choice(["a", "b"], size=4000)
    reports = np.where(rng.random(4000) < 0.5, inputs, rng.choice(["a", "b"], size=4000))
    path = tmp_path / "reports.csv"
    path.write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in zip(inputs, reports, strict=True)))
    return str(path), inputs, reports


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "my_sampler.py").write_text(
        "import random\n"
        "source = random.Random(1)\n"
        "def answer(x):\n"
        "    return x if source.random() < 0.5 else source.choice(['no', 'yes'])\n"
        "def many(x, number):\n"
        "    return [answer(x) for _ in range(number)]\n"
        "def fails(x):\n"
        "    raise ValueError('secret 12345')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield "my_sampler"
    sys.modules.pop("my_sampler", None)


def asked(table, *more):
    return ["audit", table, "--column", "x", "--reported", "y", *more]


def test_it_gives_what_python_gives(table, capsys):
    path, inputs, reports = table
    code = main(asked(path, "-p", "ldp:0.8", "-p", "pml:0.6", "--outputs", "a,b", "--json"))
    found = json.loads(capsys.readouterr().out)
    same = md.audit_samples(inputs, reports, [md.LDP(0.8), md.PML(0.6)], outputs=["a", "b"])
    assert code == 1
    assert found["verdict"] == str(same.verdict) == "violated"
    assert [row["lower"] for row in found["levels"]] == [row["lower"] for row in same.rows()]
    assert [row["p_value"] for row in found["levels"]] == [row["p_value"] for row in same.rows()]


def test_the_code_is_0_only_where_everything_is_consistent(table, capsys):
    path, _, _ = table
    assert main(asked(path, "-p", "ldp:1.6", "--outputs", "a,b")) == 0
    assert "LDP(1.6): consistent" in capsys.readouterr().out
    assert main(asked(path, "-p", "ldp:1.6")) == 1
    assert "LDP(1.6): cannot tell" in capsys.readouterr().out
    assert main(asked(path, "-p", "ldp:0.5", "--outputs", "a,b")) == 1
    assert "LDP(0.5): violated" in capsys.readouterr().out


def test_a_mechanism_is_called(module, capsys):
    more = ["--inputs", "no,yes", "-p", "ldp:0.5", "--calls", "8000"]
    assert main(["audit", "--mechanism", f"{module}:answer", *more]) == 1
    out = capsys.readouterr().out
    assert "LDP(0.5): violated" in out
    assert "The mechanism was called" in out
    prior = ["--prior", "no=0.5,yes=0.5", "-p", "pml:0.69315", "--outputs", "no,yes", "--batch"]
    assert main(["audit", "--mechanism", f"{module}:many", *prior, "--calls", "2000"]) == 0


def test_a_page_is_written_and_never_over_another_one(table, tmp_path, capsys):
    path, _, _ = table
    page = tmp_path / "page.html"
    more = ["-p", "ldp:0.5", "--report", str(page), "--title", "Of <us>"]
    assert main(asked(path, *more)) == 1
    text = page.read_text(encoding="utf-8")
    assert "Of &lt;us&gt;" in text
    assert main(asked(path, *more)) == 2
    assert page.read_text(encoding="utf-8") == text
    assert main(asked(path, *more, "--force")) == 1
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "a KERNEL, or --mechanism, got neither"),
        (["{table}", "--reported", "y"], "--column with the inputs and --reported"),
        (["{table}", "--column", "x", "--reported", "z"], "one of x, y"),
        (["{table}", "--column", "x", "--reported", "y", "--partition", "a,b"], "edges of"),
        (["{table}", "--column", "x", "--reported", "y", "--outputs", "a"], "none of them"),
        (["{table}", "--column", "x", "--reported", "y", "--confidence", "2"], "between 0 and 1"),
        (["{table}", "--column", "x", "--reported", "y", "--report", "page.txt"], "in .html"),
        (["{table}", "--mechanism", "my_sampler:answer"], "no table"),
        (["{table}", "--calls", "9"], "--reported or --mechanism"),
        (["--mechanism", "my_sampler:answer"], "--inputs or --prior"),
        (["--mechanism", "my_sampler:answer", "--column", "x"], "no --column"),
        (["--mechanism", "my_sampler:fails", "--inputs", "a,b"], "a ValueError when it was called"),
        (["--mechanism", "my_sampler:none", "--inputs", "a,b"], "my_sampler"),
    ],
    ids=lambda part: " ".join(part)[:60] if isinstance(part, list) else "",
)
def test_what_cannot_be_used_gets_one_line(arguments, message, table, module, capsys):
    given = [part.format(table=table[0]) for part in arguments]
    assert main(["audit", *given, "-p", "ldp:1"]) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.count("\n") == 1
    assert "12345" not in said.err + said.out
    assert "Traceback" not in said.err
