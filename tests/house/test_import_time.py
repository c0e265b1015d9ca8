"""Importing the package is cheap, and what is not needed is not loaded."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from mechdesign.extras import BASE

# Seconds depend on what else the machine does (``python -m benchmarks.starting`` measures them);
# the modules that an import loads do not.
MOST_MODULES = 20

COUNTED = """
import sys
import numpy, scipy
before = set(sys.modules)
import mechdesign
print(len(set(sys.modules) - before))
"""

# What only some users need, or what only some calls need.
HEAVY = (
    *("cvxpy", "pandas", "polars", "pyarrow", "matplotlib", "highspy", "statsmodels"),
    *("duckdb", "dask", "pyspark", "sklearn", "opendp", "nicegui", "starlette", "granian"),
)


def output(script):
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300
    )
    return done.stdout


def loaded(script):
    """Top-level names of all modules loaded after a script has run."""
    tail = "\nimport sys, json; print(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    return set(json.loads(output(script + tail).splitlines()[-1]))


def test_import_loads_few_modules_above_numpy_and_scipy():
    assert 0 < int(output(COUNTED)) <= MOST_MODULES


def test_the_counter_of_modules_sees_them():
    """A control: the same script counts an import that is known to load many."""
    assert int(output(COUNTED.replace("import mechdesign", "import pandas"))) > 10 * MOST_MODULES


def test_import_loads_nothing_heavy():
    assert not loaded("import mechdesign").intersection(HEAVY)


def test_the_reader_of_loaded_modules_sees_them():
    assert "pandas" in loaded("import mechdesign, pandas")


def test_touching_every_public_name_loads_nothing_optional():
    script = "import mechdesign as md\nfor name in md.__all__: getattr(md, name)"
    found = loaded(script)
    assert "mechdesign" in found
    assert not found.intersection(HEAVY)


@pytest.mark.parametrize("notion", ["md.PML(.1)", "md.LDP(1)"])
def test_designing_auditing_and_saving_load_nothing_optional(notion, tmp_path):
    script = f"""
import mechdesign as md
prior = md.Prior.from_csv("titanic", "class")
found = md.design(prior, md.utility.Hamming(), {notion})
md.audit(found.mechanism, prior, found.notions)
md.save(found, {str(tmp_path / "m.json")!r})
md.load({str(tmp_path / "m.json")!r})
"""
    assert not loaded(script).intersection({*HEAVY} - {"highspy", "pyarrow"})


def test_bad_input_on_the_command_line_is_answered_without_solvers():
    script = """
from mechdesign.cli import main
main(["design", "--prior", "0.5,0.6", "-p", "pml:1"])
main(["--version"])
"""
    assert not loaded(script).intersection(HEAVY)


def test_the_explorer_without_its_page_needs_no_framework():
    script = """
from mechdesign import explorer
from mechdesign.explorer import charts, markup, results, server, settings, state
"""
    assert not loaded(script).intersection({*HEAVY} - {"highspy"})


def modules_of(script):
    """Names of all modules loaded after a script has run."""
    tail = "\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    return set(json.loads(output(script + tail).splitlines()[-1]))


def test_showing_a_design_loads_no_comparisons_and_no_theory(tmp_path):
    """Of the command line, a command loads what it does, not what others do."""
    path = tmp_path / "design.json"
    script = f"""
import mechdesign as md
md.save(md.design(md.Prior([.5, .3, .2]), md.utility.Hamming(), md.PML(.5)), {str(path)!r})
"""
    output(script)
    found = modules_of(f"from mechdesign.cli import main; main(['check', {str(path)!r}])")
    assert "mechdesign.views.text" in found
    unneeded = ("mechdesign._compare", "mechdesign.theory", "mechdesign.plotting", "joblib")
    assert not [name for name in found if name.startswith(unneeded)]


def test_the_command_line_starts_without_solvers():
    found = modules_of("import mechdesign.cli")
    unneeded = ("scipy", "flint", "mechdesign.solve", "mechdesign.theory", "mechdesign.privacy")
    assert not [name for name in found if name.startswith(unneeded)]


def test_a_version_is_told_without_what_commands_need():
    found = modules_of("from mechdesign.cli import main; main(['--version'])")
    assert "mechdesign.cli" in found
    assert not {"numpy", "typer", "mechdesign.cli.options"} & found


def test_a_small_design_from_a_terminal_loads_one_command_and_no_scipy():
    asked = "['design', 'titanic', '--column', 'class', '--privacy', 'pml:0.5', '-u', 'hamming']"
    found = modules_of(f"from mechdesign.cli import main; main({asked})")
    assert {"mechdesign.cli.design", "mechdesign.linear.plain"} <= found
    unneeded = ("mechdesign.solve.estimation", "mechdesign.solve.column_generation")
    assert not [name for name in found if name.startswith(unneeded)]
    used = {"numpy", "pyarrow", "highspy", "flint", "typer", "rich"}
    assert not found & {"mechdesign.cli.estimate", *BASE} - used


def test_the_help_names_every_command_and_loads_none():
    found = modules_of("from mechdesign.cli import main; main(['--help'])")
    assert not {"numpy", "mechdesign.cli.estimate", "mechdesign.cli.options"} & found
    asked = modules_of("from mechdesign.cli import main; main(['estimate', '--help'])")
    assert {"mechdesign.cli.estimate", "mechdesign.cli.options"} <= asked


def test_files_are_verified_without_what_other_commands_need():
    found = modules_of("from mechdesign.cli import main; main(['verify', 'none.json'])")
    assert "mechdesign.cli.proving" in found
    assert not {"numpy", "typer", "rich", "mechdesign.cli.options"} & found
