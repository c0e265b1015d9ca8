"""The command line: the main job, every form of input, exit codes, and which stream gets what."""

from __future__ import annotations

import json
import math
import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from checks import for_each, slow_but
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import mechdesign as md
from mechdesign.cli import main
from mechdesign.cli.exit_codes import UNWRITTEN
from mechdesign.errors import CertificateError, DataError, SolverError
from mechdesign.tables.matrices import read_matrix

FLIP = "input,no,yes\nno,0.75,0.25\nyes,0.25,0.75\n"


class Run:
    """One run of the command line: exit code, and what it wrote to each stream."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Runs the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        return Run(code, *capsys.readouterr())

    return call


@pytest.fixture
def write(tmp_path):
    def put(name, text):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path.name

    return put


def refused(found, *fragments, code=2):
    """Exit code, nothing on standard output, one line on standard error."""
    assert found.code == code, found.err
    assert found.out == ""
    lines = found.err.splitlines()
    assert len(lines) == 1, found.err
    assert lines[0].startswith("error: ")
    assert "Traceback" not in found.err
    for fragment in fragments:
        assert fragment in found.err, found.err


def in_process(*arguments, memory=None, timeout=300, **keywords):
    """The command line as a process of its own."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    return subprocess.run(
        [sys.executable, "-m", "mechdesign", *arguments],
        capture_output=True,
        timeout=timeout,
        check=False,
        preexec_fn=limit if memory else None,
        **keywords,
    )


# The main job


#: A question whose reports are symbols.
GUESSES = ("-p", "ldp:1", "-u", "hamming")


def test_design_titanic_class_save_and_audit_read_back_exactly(run, tmp_path):
    designed = run(
        "design", "titanic", "--column", "class", "-p", "pml:0.5", "-u", "hamming", "-o", "m.json"
    )
    assert designed.code == 0
    assert designed.err == "saved m.json\n"
    for fragment in (
        "1st",
        "crew",
        "0.147660",
        "value",
        "upper bound",
        "gap",
        "PML(0.5)",
        "yes: exact",
    ):
        assert fragment in designed.out, fragment
    for notion in ("pml", "pmc", "lip", "alip", "ldp", "maximal leakage", "mutual information"):
        assert notion in designed.out, notion
    found = md.load(tmp_path / "m.json")
    assert found.prior == md.Prior.from_csv("titanic", "class")
    assert found.status == "optimal"
    assert found.value == pytest.approx(float(re.search(r"value\s*│ (\S+)", designed.out)[1]))
    audited = run("audit", "m.json", "--json")
    assert audited.code == 0
    assert audited.err == ""
    report = md.audit(found.mechanism, found.prior, found.notions)
    plain = {key: "inf" if value == math.inf else value for key, value in report.summary().items()}
    assert audited.json["leakage"] == plain
    assert audited.json["verdict"] == "yes"
    asked = ("-p", "pml:0.5", "-u", "hamming", "--json")
    printed = run("design", "titanic", "--column", "class", *asked)
    saved = json.loads((tmp_path / "m.json").read_text())
    extra = ("audit", "digest")
    assert {k: v for k, v in printed.json.items() if k not in extra} == {
        k: v for k, v in saved.items() if k not in extra
    }
    (tmp_path / "printed").write_text(printed.out)
    assert run("audit", "printed", "--json").json == audited.json
    assert printed.json["audit"] == audited.json["leakage"]
    assert saved["certificate"]["achieved"] == [audited.json["checks"][0]["achieved"]]
    assert run("check", "m.json", "--json").json == saved


def test_the_two_reports_show_the_same_numbers(run):
    designed = run("design", "titanic", "--column", "class", "-p", "pml:0.5", "-o", "m.json")
    audited = run("audit", "m.json")
    shown = run("check", "m.json")
    # A design that is shown says beside this how well it will tell the frequencies.
    before, title, after = shown.out.partition("Standard errors of 1000 reports")
    assert title
    assert before + after.partition("┘\n")[2] == designed.out

    def levels(text):
        return text[text.index("Leakage in nats") :].split("└")[0]

    assert levels(audited.out) == levels(designed.out)
    assert audited.code == shown.code == 0
    assert "PML(0.5): yes" in audited.out


def test_the_console_script_is_this_command_line():
    from importlib.metadata import entry_points

    (script,) = entry_points(group="console_scripts", name="mechdesign")
    assert script.load() is main


# Designing


@pytest.mark.parametrize(
    ("text", "prior"),
    [
        ("0.5,0.3,0.2", md.Prior.from_counts([5, 3, 2])),
        ("1/3,1/6,0.5", md.Prior.from_counts([2, 1, 3])),
        (" 0.5 , 0.3,.2 ", md.Prior.from_counts([5, 3, 2])),
        ("a=0.5,b=0.5", md.Prior([0.5, 0.5], ["a", "b"])),
        ("a b = 0.5, c=0.5", md.Prior([0.5, 0.5], ["a b", "c"])),
        ("1=0.5,10=0.5", md.Prior([0.5, 0.5], [1, 10])),
        ("x=y=0.5,z=0.5", md.Prior([0.5, 0.5], ["x=y", "z"])),
        ("1", md.Prior([1])),
    ],
)
def test_forms_of_the_prior(run, tmp_path, text, prior):
    assert run("design", f"--prior={text}", "-p", "ldp:1", "-o", "m.json").code == 0
    assert md.load(tmp_path / "m.json").prior == prior


def test_exact_numbers_and_levels_are_decided(run, write):
    write("k.csv", "input,a,b\nx,2/3,1/3\ny,1/3,2/3\n")
    asked = [("-p", text) for text in ("ldp:ln 2", "ldp:x2", "LDP(1 bit)", "pml:ln(6/5)", "LDP(1)")]
    arguments = ("audit", "k.csv", "--prior", "x=1/3,y=2/3", *sum(asked, ()))
    found = run(*arguments)
    assert found.code == 1, found.err
    for line in ("LDP(ln 2): yes", "PML(ln(6/5)): no", "LDP(1): yes", "against ln(6/5)"):
        assert line in found.out, found.out
    assert found.out.count("LDP(ln 2): yes") == 3


def test_a_prior_from_a_file_with_weights_and_missing_values(run, write, tmp_path):
    write("votes.csv", "vote,n\nyes,3\nno,1\n,5\n")
    arguments = ("design", "votes.csv", "--column", "vote", "--weights", "n", "-p", "pml:0.2")
    refused(run(*arguments), "1 of 3 rows without a value", "--missing drop")
    assert run(*arguments, "--missing", "drop", "-o", "m.json").code == 0
    assert md.load(tmp_path / "m.json").prior == md.Prior([0.25, 0.75], ["no", "yes"])


def test_a_matrix_of_gains_is_matched_by_label(run, write, tmp_path):
    write("u.csv", "u,lo,hi\nc,5,6\na,1,2\nb,3,4\n")
    found = run(
        "design", "--prior", "a=0.5,b=0.3,c=0.2", "-p", "pml:0.3", "-u", "u.csv", "-o", "m.json"
    )
    assert found.code == 0
    design = md.load(tmp_path / "m.json")
    assert design.mechanism.outputs == ("lo", "hi")
    gains = design.utility.gains(design.prior, design.mechanism.outputs)
    assert gains.tolist() == [[1, 2], [3, 4], [5, 6]]
    wanted = md.design(design.prior, md.utility.Matrix(gains, ["lo", "hi"]), md.PML(0.3))
    assert design.value == wanted.value


def test_explain_says_the_method_that_design_uses_and_the_reasons(run, monkeypatch):
    import mechdesign.solve._design as designing

    arguments = ("design", "titanic", "--column", "class", "-p", "pml:0.5", "-u", "hamming")
    used = run(*arguments, "--json").json["method"]
    monkeypatch.setattr(designing, "certify", lambda *_: pytest.fail("solved"))
    found = run(*arguments, "--explain")
    assert found.code == 0
    assert found.out.startswith(f"method: {used}\nwhy: ")
    assert "not pmc: it does not handle an upper bound" in found.out
    plain = run(*arguments, "--explain", "--json").json
    assert plain["method"] == used
    assert plain["refused"]["pmc"] in found.out
    assert "highs-ipm" in plain["also"]
    assert "would also work: " + ", ".join(plain["also"]) in found.out
    asked = ("-p", "pml:0.1", "-u", "hamming", "--explain", "--json")
    closed = run("design", "--prior", ".5,.3,.2", *asked).json
    assert closed["method"] == "pml-high-privacy"
    assert "GrosseID" in closed["source"]


@pytest.mark.parametrize(
    "command",
    [
        ("design", "t.csv", "--column", "x", "-p", "ldp:1", "-o"),
        ("design", "t.csv", "--column", "x", "-p", "ldp:1", "--csv"),
        ("smallest", "t.csv", "--column", "x", "--at-least", "0.8", "-o"),
        ("compare", "t.csv", "--column", "x", "--levels", "1", "-o"),
    ],
    ids=" ".join,
)
def test_the_table_is_never_replaced(run, tmp_path, command):
    """--force is about results of before, not about the data."""
    table = "x\na\nb\na\n"
    (tmp_path / "t.csv").write_text(table)
    refused(run(*command, "./t.csv", "--force"), "another file than that of the table")
    assert (tmp_path / "t.csv").read_text() == table
    # A name of a shipped table is no file.
    shipped = [part if part != "t.csv" else "titanic" for part in command]
    shipped[shipped.index("x")] = "class"
    assert run(*shipped, "titanic.csv").code == 0


def test_csv_of_the_kernel(run, tmp_path):
    found = run("design", "titanic", "--column", "sex", *GUESSES, "-o", "m.json", "--csv", "k.csv")
    assert found.code == 0
    assert found.err.startswith("warning: reports tell none of the 2 symbols apart")
    assert found.err.endswith("\nsaved m.json\nsaved k.csv\n")
    matrix, inputs, outputs = read_matrix(tmp_path / "k.csv")
    design = md.load(tmp_path / "m.json")
    assert md.Mechanism(matrix, inputs, outputs) == design.mechanism
    audited = run("audit", "k.csv", "--data", "titanic", "--column", "sex", "-p", "ldp:1", "--json")
    assert audited.code == 0
    summary = md.audit(design.mechanism, design.prior).summary()
    assert audited.json["leakage"] == summary


def test_a_warning_is_given_once(run, write):
    found = run("design", "--prior", "a=1,b=0", *GUESSES, "-o", "m.json")
    assert found.code == 0
    assert found.err.count("warning: prior: 1 of 2 symbols have zero mass ('b')") == 1
    write("k.csv", "input,a,b\na,1,0\nb,0,1\n")
    for prior in ("1,0", "a=1,b=0", "b=0,a=1"):
        audited = run("audit", "k.csv", "--prior", prior)
        assert audited.code == 0
        assert audited.err.count("zero mass") == 1, prior


@pytest.mark.parametrize("label", ["[red]", "[0, 10)", "[/a]", "a[b]c", "[link=x]y[/link]", "\\[x"])
def test_labels_in_brackets_are_printed_as_they_are(run, label):
    found = run(
        "design", f"--prior={label.replace(',', ';')}=0.5,b=0.5", "-p", "ldp:1", "-o", "m.json"
    )
    assert found.code == 0, found.err
    for arguments in (("check", "m.json"), ("audit", "m.json")):
        again = run(*arguments)
        assert again.code == 0
        assert again.out.count(label.replace(",", ";")) >= 2, again.out
    assert label.replace(",", ";") in found.out


def test_large_kernels_are_cut_in_the_report(run):
    prior = ",".join(["0.025"] * 40)
    found = run("design", "--prior", prior, *GUESSES)
    assert found.code == 0
    assert "10 more inputs not shown" in found.out
    assert "All 40 outputs: --csv kernel.csv" in found.out


# Auditing


@pytest.mark.parametrize(
    ("level", "code", "verdict"), [(1.2, 0, "yes"), (1.0, 1, "no"), (math.log(3) + 1e-9, 0, "yes")]
)
def test_exit_code_of_an_audit_is_its_verdict(run, write, level, code, verdict):
    write("k.csv", FLIP)
    found = run("audit", "k.csv", "--prior", "0.5,0.5", "-p", f"ldp:{level!r}")
    assert found.code == code
    assert f": {verdict}" in found.out
    assert found.err == ""
    plain = run("audit", "k.csv", "--prior", "0.5,0.5", "-p", f"ldp:{level!r}", "--json")
    assert plain.code == code
    assert plain.json["verdict"] == verdict
    assert plain.json["checks"][0]["verdict"] == verdict


@pytest.mark.parametrize("lines", ["a,b\n0.6,0.4\n0.3,0.7\n", "0.6,0.4\n0.3,0.7\n"])
def test_a_kernel_as_csv_without_labels_is_asked_for_them(run, write, lines):
    write("k.csv", lines)
    said = run("audit", "k.csv", "--prior", "0.5,0.5")
    refused(said, "a label first in each line", "input,a,b", "[MD106]")
    # A control: a label may be a number.
    write("k.csv", "input,0,1\n0.1,0.6,0.4\n0.2,0.3,0.7\n")
    assert run("audit", "k.csv", "--prior", "0.1=0.5,0.2=0.5").code == 0


def test_priors_are_matched_by_label_or_by_position(run, write):
    write("k.csv", "input,0,1\nno,1,0\nyes,0.5,0.5\n")
    wanted = md.audit([[1, 0], [0.5, 0.5]], [0.2, 0.8]).mutual_information
    for prior in ("0.2,0.8", "no=0.2,yes=0.8", "yes=0.8,no=0.2"):
        found = run("audit", "k.csv", "--prior", prior, "--json")
        assert found.json["leakage"]["mutual_information"] == pytest.approx(wanted, rel=1e-15)
    survived = run("audit", "k.csv", "--data", "titanic", "--column", "survived", "--json").json
    assert survived["leakage"]["prior_vulnerability"] == 1490 / 2201


def test_a_saved_design_can_be_audited_under_other_priors_and_levels(run):
    run("design", "--prior", "a=0.5,b=0.5", "-p", "pml:0.3", "-o", "m.json")
    other = run("audit", "m.json", "--prior", "a=0.9,b=0.1", "--json")
    assert other.code == 1
    assert other.json["checks"][0]["notion"] == "pml:0.3"
    loose = run("audit", "m.json", "-p", "ldp:5", "-p", "pmc:5", "--json")
    assert loose.code == 0
    assert [c["notion"] for c in loose.json["checks"]] == ["ldp:5.0", "pmc:5.0"]


def test_saved_mechanisms_need_a_prior(run, tmp_path):
    md.save(md.Mechanism([[0.75, 0.25], [0.25, 0.75]]), tmp_path / "k.json")
    refused(run("audit", "k.json"), "a prior for the kernel's inputs", "--prior")
    assert run("audit", "k.json", "--prior", "0.5,0.5").code == 0
    assert "Mechanism(2 inputs × 2 outputs)" in run("check", "k.json").out


def test_what_holds_for_every_prior_is_audited_without_one(run, tmp_path):
    (tmp_path / "k.csv").write_text(",yes,no\na,0.75,0.25\nb,0.25,0.75\n")
    found = run("audit", "k.csv", "-p", "ldp:1.1", "--json")
    assert found.code == 0
    assert found.json["leakage"]["ldp"] == pytest.approx(math.log(3))
    assert "LDP(1.1) is checked without one" in found.err
    even = run("audit", "k.csv", "-p", "ldp:1.1", "--prior", "uniform", "--json")
    assert "checked without" not in even.err
    assert even.json == found.json
    assert run("audit", "k.csv", "-p", "ldp:1").code == 1
    for notions in ([], ["-p", "ldp:2", "-p", "pml:1"]):
        refused(run("audit", "k.csv", *notions), "a prior", "--prior 0.9,0.1 or", "ldp:1")


def test_rows_off_by_more_than_rounding_need_normalise(run, write):
    write("k.csv", "input,0,1\n0,0.67,0.34\n1,0.5,0.5\n")
    refused(run("audit", "k.csv", "--prior", "0.5,0.5"), "1.01 in row 0", "--normalise")
    assert run("audit", "k.csv", "--prior", "0.5,0.5", "--normalise").code == 0


# Other commands


def test_data_lists_the_tables_with_their_sources(run):
    found = run("doctor", "data")
    assert found.code == 0
    for fragment in ("titanic", "2201", "ucb_admissions", "4526", "hair_eye_colour", "592", "Snee"):
        assert fragment in found.out
    plain = run("doctor", "data", "--json").json
    assert plain["titanic"]["people"] == 2201
    assert plain["titanic"]["columns"] == ["class", "sex", "age", "survived"]


def test_version_and_help(run):
    assert run("--version").out == f"mechdesign {md.__version__}\n"
    for arguments in (["--help"], ["design", "--help"], ["audit", "--help"]):
        found = run(*arguments)
        assert found.code == 0
        assert "Usage: mechdesign" in found.out
        assert found.err == ""
    assert "Exit codes: 0 done" in " ".join(run("--help").out.split())


# Bad input: exit code 2, one line

PRIOR = ("--prior", "0.5,0.3,0.2")
PML = ("-p", "pml:0.5")
#: What is typed, for a prior of three symbols and PML where nothing is said of them, and what the
#: message says.
BAD = """
design --prior=-0.5,1.5 | -0.5
design --prior nan,1 | nan
design --prior 1e999,1 | finite
design --prior 1e308,1e308 | sum
design --prior 0.5,0.6 | sum 1
design --prior half,half | 'half'
design --prior 0.5,,0.5 | ''
design --prior a=0.5,0.5 | 'a=0.5'
design --prior a=0.5,a=0.5 | 'a' more than once
design -p pml:1 | either a table or --prior
design titanic --column class --prior 0.5,0.5 | both
design titanic -p pml:1 | --column class
design titanic --column clas -p pml:1 | did you mean 'class'
design titanic --column class --weights coun -p pml:1 | did you mean 'count'
design titanic --column class --weights sex -p pml:1 | non-negative count
design titanic --column class --missing dropp -p pml:1 | did you mean 'drop'
design nowhere.csv --column x -p pml:1 | nowhere.csv
design . --column x -p pml:1 | table: expected
design PRIOR -p pml:-1 | non-negative
design PRIOR -p pml:half | 'half'
design PRIOR -p pml | pml:0.5
design PRIOR -p alip:1 | 2 levels
design PRIOR -p pmll:1 | expected one of entrypml, pmc, pml, got 'pmll';
design PRIOR PML -p ldp:x | 'x'
design PRIOR PML -u haming | did you mean 'hamming'
design PRIOR PML -u . | table: expected
design titanic --column class -p pml:1 -u absolute | numeric labels
design PRIOR PML --outputs 0,0 | distinct
design PRIOR PML --outputs x,y | symbol of the prior
design PRIOR PML --solver highs-simple | highs-simplex
design PRIOR PML -o . | folder
design PRIOR PML -o no/x.json | create it first
design PRIOR PML -o x --csv x | that of --output
design PRIOR PML --colour x | --colour
design PRIOR PML --joint | --total
design titanic --column class --total ldp:1 PML | no --privacy beside --total
design PRIOR -p | -p
desing PRIOR | did you mean 'mechdesign design'
audit | KERNEL
audit nowhere.json | nowhere.json
check nowhere.json | nowhere.json
check . | cannot be read
estimate m.json r.csv -o r.txt | .csv, .tex, .html
smallest PRIOR --reports 9000 --error 2 | write 2%
report m.json -o r.svg --title x | no --title of a picture
"""


@for_each("typed, said", [line.split(" | ") for line in BAD.strip().splitlines()])
def test_bad_input_is_one_line_and_exit_code_2(run, tmp_path, typed, said):
    arguments = typed.replace("PRIOR", " ".join(PRIOR)).replace("PML", " ".join(PML)).split()
    more = PML if "--prior" in typed and "-p" not in arguments else ()
    refused(run(*arguments, *more), said)
    assert not list(tmp_path.iterdir())


@for_each(
    "text, said",
    [
        ("", "an empty file"),
        ("x,y\n", "at least one row"),
        ("y,z\na,b\n", "one of y, z"),
        ("x,y\na,1\n,2\nNA,3\n", "2 of 3 rows without a value"),
        (b"x\n\xff\xfe\xfa\n", "UTF-8"),
        ('x\n"' + "a" * 200_000, "quotes that are closed"),
    ],
)
def test_bad_tables_are_one_line_and_exit_code_2(run, write, text, said):
    write("table.csv", text)
    refused(run("design", "table.csv", "--column", "x", *PML), "table.csv", said)


@for_each(
    "text, prior, said",
    [
        ("", "0.5,0.5", "an empty file"),
        ("u,a,b\n0,1\n1,0,1\n", "0.5,0.5", "3 cells in every row"),
        ("u,a,b\n0,1,0\n1,0,one\n", "0.5,0.5", "line 3"),
        ("u,a,b\n0,nan,0\n1,0,1\n", "0.5,0.5", "nan in row 0, column 0"),
        ("u,a,a\n0,1,0\n1,0,1\n", "0.5,0.5", "'a' more than once"),
        ("k,0,1\n0,0.5,0.6\n1,0,1\n", "0.5,0.5", "1.1 in row 0"),
        ("k,0,1\n0,1.5,-0.5\n1,0,1\n", "0.5,0.5", "-0.5"),
        ("k,0,1\n0,1,0\n1,0,1\n", "0.5,0.3,0.2", "2 symbols"),
        ("k,0,1\n0,1,0\n1,0,1\n", "0=0.5,2=0.5", "(0, 2)"),
    ],
)
def test_bad_kernels_are_one_line_and_exit_code_2(run, write, text, prior, said):
    write("k.csv", text)
    refused(run("audit", "k.csv", "--prior", prior), said)


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[" * 100_000, b"1" * 5000, b"\xff", b'{"format": "mechdesign", "schema": 99}'],
    ids=["empty", "other", "deep", "digits", "bytes", "schema"],
)
@pytest.mark.parametrize("command", ["check", "audit"])
def test_damaged_designs_are_one_line_and_exit_code_2(run, write, command, data):
    write("m.json", data)
    refused(run(command, "m.json"), "m.json")


def test_an_altered_design_is_refused(run, tmp_path):
    run("design", *PRIOR, *PML, "-o", "m.json")
    text = (tmp_path / "m.json").read_text()
    (tmp_path / "m.json").write_text(text.replace('"epsilon": 0.5', '"epsilon": 0.1'))
    for command in ("check", "audit"):
        refused(run(command, "m.json"), "digest")


def test_files_are_not_overwritten_without_force(run, tmp_path):
    for option, name in (("-o", "m.json"), ("--csv", "k.csv")):
        (tmp_path / name).write_text("precious")
        refused(run("design", *PRIOR, *PML, option, name), "exists", "--force")
        assert (tmp_path / name).read_text() == "precious"
        assert run("design", *PRIOR, *PML, option, name, "--force").code == 0
        assert (tmp_path / name).read_text() != "precious"


# Failures: exit code 3


@pytest.mark.parametrize("error", [SolverError("stopped"), CertificateError("failed\nits check")])
def test_failed_solvers_and_checks_are_exit_code_3_and_write_nothing(
    run, tmp_path, monkeypatch, error
):
    import mechdesign.solve._design as designing

    def fail(*_):
        raise error

    monkeypatch.setattr(designing, "certify", fail)
    refused(run("design", *PRIOR, *PML, "-o", "m.json"), str(error).split()[0], code=3)
    assert not list(tmp_path.iterdir())


def test_an_interrupt_is_one_line_and_no_traceback(run, tmp_path, monkeypatch):
    import mechdesign.solve._design as designing

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(designing, "certify", stop)
    refused(run("design", *PRIOR, *PML, "-o", "m.json"), "interrupted", code=130)
    assert not list(tmp_path.iterdir())


# Processes


@pytest.mark.parametrize("level", ["1e12", "1e300"])
def test_absurd_levels_end_well_within_little_memory(level):
    found = in_process("design", *PRIOR, "-p", f"pml:{level}", memory=3 * 2**30)
    assert b"Traceback" not in found.stderr
    assert found.returncode in (0, 2)


def test_a_count_with_an_absurd_exponent_ends_soon(write, tmp_path):
    write("t.csv", "x,n\na,1e9999999999\nb,1\n")
    arguments = ("design", "t.csv", "--column", "x", "--weights", "n", "-p", "ldp:1")
    found = in_process(*arguments, memory=3 * 2**30, cwd=tmp_path)
    assert b"Traceback" not in found.stderr
    assert found.returncode in (0, 2)


def test_arguments_that_are_not_utf_8(tmp_path):
    prior = b"--prior=\xffa=0.5,b=0.5"
    found = in_process("design", prior, "-p", "ldp:1", "--csv", "k.csv", cwd=tmp_path)
    assert b"Traceback" not in found.stderr
    assert found.returncode in (0, 2)


OUTPUTS = {"closed": ">&-", "no longer read": "| true", "full": "> /dev/full"}


@pytest.mark.parametrize("output", slow_but(1, OUTPUTS))
def test_what_cannot_be_printed_has_an_exit_code_of_its_own(output, tmp_path):
    """Neither a failed audit nor a proof, whatever closed the output before it was written."""
    if not Path("/dev/full").exists() and output == "full":
        pytest.skip("no device that is always full")
    asked = ["audit --prior .5,.5 -p ldp:.1 k.csv", "--version"]
    (tmp_path / "k.csv").write_text("input,a,b\n0,.75,.25\n1,.25,.75\n")
    for typed in asked:
        command = f"{shlex.quote(sys.executable)} -m mechdesign {typed} {OUTPUTS[output]}"
        script = f"{command}; echo ${{PIPESTATUS[0]}} >&2"
        found = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=300
        )
        *said, code = found.stderr.splitlines()
        assert code == str(UNWRITTEN), found.stderr
        assert sum("[MD703]" in line for line in said) == (output != "no longer read")
        assert "Traceback" not in found.stderr
        assert "Exception" not in found.stderr


def test_messages_that_nobody_reads_leave_result_and_exit_code(tmp_path):
    """With standard error closed they are not printed among the results, nor into a file."""
    command = f"{shlex.quote(sys.executable)} -m mechdesign"
    script = f"{command} show none.json 2>&-; echo $?; {command} show none.json 2> >(true); echo $?"
    found = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, timeout=300)
    assert found.stdout == b"2\n2\n"


# Whatever is typed

LEVELS = st.one_of(
    st.floats(-2, 50).map(repr),
    st.sampled_from(["", "0", "nan", "inf", "-0", "1e-300", "5e-324", "0x1", "１", "1_0", " 1 "]),
    st.text(max_size=5),
)
NAMES = st.one_of(st.sampled_from(["pml", "pmc", "lip", "alip", "ldp", "PML"]), st.text(max_size=5))
SPECS = st.one_of(
    st.builds(
        lambda name, levels: f"{name}:{','.join(levels)}", NAMES, st.lists(LEVELS, max_size=3)
    ),
    st.text(alphabet="pmldpicaz0123456789.,:-+", max_size=10),
    st.text(max_size=10),
)
NUMBERS = st.one_of(
    st.sampled_from(["0.5", "0.25", "1", "0", "-0.5", "nan", "inf", "1e308", "1e-320", "", "1/2"]),
    st.floats(0, 1).map(repr),
)
PRIORS = st.one_of(
    st.lists(NUMBERS, min_size=1, max_size=4).map(",".join),
    st.lists(st.tuples(st.text(max_size=4), NUMBERS), min_size=1, max_size=3).map(
        lambda pairs: ",".join("=".join(pair) for pair in pairs)
    ),
    st.integers(1, 6).map(lambda n: ",".join([repr(1 / n)] * n)),
    st.text(alphabet="0123456789.,=ab[]/-+e", max_size=12),
    st.text(max_size=12),
)


def too_large(spec):
    """Whether a text asks for a level so large that it has a test of its own."""

    def number(level):
        try:
            return float(level)
        except ValueError:
            return 0.0

    return any(1e4 < number(level) < math.inf for level in re.split("[:,]", spec))


@pytest.mark.slow
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(prior=PRIORS, spec=SPECS)
@example(prior="1e308,1e308", spec="pml:1")
@example(prior="[/a]=0.5,b=0.5", spec="pml:1")
@example(prior="0.5,0.5", spec="pml:\x00")
@example(prior="\x00=0.5,b=0.5", spec="pml:1")
def test_whatever_is_typed_ends_with_a_design_or_one_line(capsys, prior, spec):
    assume(not too_large(spec))
    capsys.readouterr()
    code = main(["design", f"--prior={prior}", f"--privacy={spec}"])
    out, err = capsys.readouterr()
    assert code in (0, 2, 4), err  # at level 0 it is proved that no kernel answers
    assert "Traceback" not in out + err
    if code:
        assert out == ""
        lines = [line for line in err.splitlines() if not line.startswith("warning: ")]
        assert len(lines) == 1
        assert lines[0].startswith("error: ")


def test_solver_all_prints_whether_the_methods_agree(run):
    asked = ("-p", "pml:0.5", "-u", "hamming", "--solver", "all")
    arguments = ("design", "titanic", "--column", "class", *asked)
    found = run(*arguments)
    assert "highs-simplex: value 0.609020032" in found.out
    assert "structured: value 0.60902" in found.out
    assert "all methods agree" in found.out
    rows = run(*arguments, "--json").json["agreement"]
    assert {row["method"] for row in rows} >= {"highs-simplex", "structured", "highs-ipm"}


def test_explain_saves_nothing_and_says_so(run):
    refused(run("design", *PRIOR, *PML, "--explain", "-o", "m.json"), "--explain")


def test_the_readme_shows_what_is_printed(run):
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    shown = text.split("```text\n")[1].split("```")[0]
    command = text.split("```sh\n")[1].split("```")[0].split(".venv/bin/mechdesign ")[1]
    arguments = shlex.split(command.split(" --output")[0])
    assert arguments[:2] == ["design", "titanic"]
    printed = run(*arguments).out

    def tidy(block):
        lines = [line.rstrip() for line in block.splitlines() if "fingerprint" not in line]
        return [re.sub(r"\d\.?\d*e-1\d", "tiny", line) for line in lines]

    assert tidy(printed) == tidy(shown)


@pytest.mark.parametrize("text", ['{"a": 0.5, "b": 0.3, "c": 0.2}', "[0.5, 0.3, 0.2]"])
def test_priors_come_as_json(run, tmp_path, text):
    (tmp_path / "prior.json").write_text(text)
    found = run("design", "--prior", "prior.json", "-p", "ldp:1", "--json")
    assert found.code == 0
    assert found.json["prior"]["probabilities"] == [0.5, 0.3, 0.2]
    assert found.json["prior"]["labels"] == (["a", "b", "c"] if text[0] == "{" else [0, 1, 2])


def test_an_audit_that_asks_nothing_leaves_with_zero_and_says_what_is_ruled_out(tmp_path, capsys):
    (tmp_path / "k.csv").write_text("input,low,high\na,1,0\nb,0.5,0.5\n")
    asked = ["audit", str(tmp_path / "k.csv"), "--prior", "0.5,0.5"]
    assert main(asked) == 0
    assert "Output 'high' never comes from 'a'" in capsys.readouterr().out
    assert main([*asked, "-p", "ldp:100"]) == 1


# How messages spell what can be done


def test_a_message_names_options_at_the_command_line_and_parameters_in_python(run, write):
    write("gaps.csv", "id,smokes\n1,yes\n2,\n3,no\n")
    asked = run("design", "gaps.csv", "--column", "smokes", "-p", "ldp:1")
    refused(asked, "1 of 3 rows without a value", "--missing category", "--missing drop")
    assert "missing=" not in asked.err
    with pytest.raises(DataError, match=r"missing='category' \(--missing category\)"):
        md.Prior.from_csv("gaps.csv", "smokes")
    design = ("design", "gaps.csv", "--column", "smokes", "--missing", "drop", "-p", "ldp:1")
    assert run(*design, "-o", "m.json").code == 0
    exists = run(*design, "-o", "m.json")
    refused(exists, "replace it with --force")
    assert "overwrite" not in exists.err
    kept = run("apply", "m.json", "gaps.csv", "--column", "smokes", "-o", "r.csv")
    refused(kept, "choose --missing keep or replace")


def test_where_nothing_is_said_it_is_for_frequencies_under_ldp(run):
    plain = run("design", "titanic", "--column", "class", "--json")
    asked = run(
        "design", "titanic", "--column", "class", "-p", "ldp:1", "-u", "estimation", "--json"
    )
    assert plain.json == asked.json
    # What names outputs, or is asked of them, is about symbols.
    for options in (("--outputs", "1st,crew"), ("--require", "diagonal:0.3")):
        found = run("design", "titanic", "--column", "class", *options, "--json")
        assert found.json["utility"]["name"] == "hamming", options
