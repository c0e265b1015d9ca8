"""Options are those of the functions that commands serve, each with its converter."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest
from checks import for_each

import mechdesign as md
from mechdesign.cli.application import load_command
from mechdesign.inference.planning import smallest_for_reports

#: The functions that a command calls.
SERVES = {
    "design": (md.design, md.plan_columns),
    "smallest": (md.smallest, smallest_for_reports),
    "estimate": (md.estimate, md.estimate_joint, md.estimate_rounds, md.estimate_change),
    "regress": (md.regress,),
    "plan": (md.plan,),
    "audit": (md.audit, md.audit_samples),
    "certify": (md.certify,),
    "compare": (md.compare,),
    "compose": (md.compose,),
    "pram": (md.pram,),
    "apply": (md.privatize_file,),
    "export": (md.export,),
    "report": (md.write_report,),
    "try": (md.try_out,),
    "contraction": (md.contraction,),
    "envelope": (md.leakage_envelope,),
}
#: Options of other names than the parameters, of which a command has one.
CALLED = {
    name: options.split()
    for names, options in {
        "subject_to requirements": "require",
        "mechanism mechanisms item designed": "kernel kernels",
        "rng": "seed",
        "overwrite": "force",
        "receipts": "receipt",
        "features": "feature",
        "column columns": "column columns",
        "source data table first": "table reports",
        "target path": "output",
        "notions": "notion privacy",
        "reports": "reported",
        "drop": "drop_column",
        "round": "of_round",
    }.items()
    for name in names.split()
}
#: Parameters that nobody types: a kernel on the command line brings its own, or it is for programs.
UNASKED = {
    *("progress", "resamples", "read", "certify duals", "compose prior", "compose notions"),
    *("plan prior", "plan privacy", "compare solver", "pram solver", "pram utility"),
}
#: Where a command says otherwise: names that a file has, a default that depends on what is asked.
DEFAULTS = {"smallest precision", "smallest_for_reports precision", "estimate_joint columns"}


@for_each("command, function", [(name, each) for name, all_ in SERVES.items() for each in all_])
def test_options_are_those_of_the_functions_that_are_served(command, function):
    options = {one.name: one for one in load_command(command).params}
    for name, parameter in inspect.signature(function).parameters.items():
        full = f"{function.__name__} {name}"
        found = [each for each in [name, *CALLED.get(name, [])] if each in options]
        assert bool(found) != bool({name, full} & UNASKED), full
        if name in found and full not in DEFAULTS and parameter.default is not parameter.empty:
            typed = options[name].default
            typed = typed() if callable(typed) else typed
            assert (typed or None) == (parameter.default or None), full


@pytest.mark.parametrize(
    "typed", ["estimate k.csv t.csv --column x", "estimate k.csv t.csv --column x --by-group g"]
)
def test_a_table_is_saved_for_spreadsheets_papers_and_pages(run, typed):
    Path("k.csv").write_text("input,a,b\na,.7,.3\nb,.3,.7\n")
    Path("t.csv").write_text("x,g\n" + "a,u\nb,u\na,v\nb,v\n" * 30)
    code, out, _ = run(*typed.split(), "--json", "-o", "e.csv")
    assert code == 0
    shown = json.loads(out)
    rows = [row for part in shown.get("groups", [shown]) for row in part["rows"]]
    first, *lines = Path("e.csv").read_text().splitlines()
    estimates = [float(line.split(",")[first.split(",").index("estimate")]) for line in lines]
    assert estimates == pytest.approx([row["estimate"] for row in rows])
    for ending, said in (("tex", r"\begin{tabular}"), ("html", "<table")):
        assert run(*typed.split(), "-o", f"e.{ending}")[0] == 0
        assert said in Path(f"e.{ending}").read_text()
    code, _, err = run(*typed.split(), "-o", "e.csv")
    assert (code, "--force" in err) == (2, True)


def test_what_is_asked_first_comes_first(run):
    asked = ("design", "titanic", "--column", "class", "-p", "ldp:1", "-u", "estimation")
    out = run(*asked, "-o", "m.json")[1]
    places = [out.index(name) for name in ("In short", "Certificate", "Leakage", "P(output |")]
    assert places == sorted(places)
    found = md.load("m.json")
    report = md.audit(found.mechanism, found.prior)
    error = 100 * (found.risk / 4 / 1000) ** 0.5
    for said in (
        "yes: LDP(1), checked exactly",
        f"± {error:.2g} % with 1,000 reports",
        f"{100 * report.prior_vulnerability:.3g} % of cases without a report",
        f"{100 * report.posterior_vulnerability:.3g} % with one",
    ):
        assert said in out
    assert run("check", "m.json", "--csv", "k.csv")[0] == 0
    assert run("audit", "k.csv", "-p", "ldp:1", "--prior", "uniform")[0] == 0
