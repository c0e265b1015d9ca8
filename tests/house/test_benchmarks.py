"""The benchmarks run: every group makes problems, our drivers solve them, rows are kept."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from checks import for_each, slow_but

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import ablation_interior_point as ablation  # noqa: E402
from benchmarks import large_alphabets, places, regimes, releases, sampling  # noqa: E402
from benchmarks.__main__ import PAGE, RESULTS, markdown, summarise  # noqa: E402
from benchmarks.ablation import RESULTS as ABLATION  # noqa: E402
from benchmarks.ablation import VARIANTS, method_cases, searched, windowed  # noqa: E402
from benchmarks.cases import GROUPS, Case  # noqa: E402
from benchmarks.drivers import DRIVERS  # noqa: E402
from benchmarks.readme import read_rows  # noqa: E402
from benchmarks.sampling import (  # noqa: E402
    BASE,
    PARQUET,
    TABLES,
    measure,
    measure_users,
    users_markdown,
)
from benchmarks.sampling import DRIVERS as SAMPLERS  # noqa: E402
from benchmarks.sampling import markdown as sampling_markdown  # noqa: E402
from mechdesign.solve.interior_point.newton import StructuredOptions  # noqa: E402

# Drivers for places of a map alone.
MAPS = ("two-levels",)
SMALL = Case("small", 12, 12, "LDP", "hamming", "dirichlet")


@for_each("name", GROUPS)
def test_groups_say_what_should_win_and_make_cases(name):
    assert len(GROUPS[name].__doc__.split()) > 8
    cases = list(GROUPS[name]())
    assert cases
    assert len({case.name for case in cases}) == len(cases)


def test_cases_are_the_same_each_time():
    first, second = SMALL.arrays(), SMALL.arrays()
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])


@for_each("notion", ["LDP", "PML", "LIP"])
@for_each("name", [n for n in DRIVERS if n not in ("qif", "enumeration", *MAPS)])
def test_drivers_find_the_same_value(name, notion):
    case = Case("small", 8, 8, notion, "random", "dirichlet")
    expected = DRIVERS["ours"](case, 60)
    found = DRIVERS[name](case, 60)
    tolerance = 1e-3 if name == "highs-pdlp" else 1e-5
    assert found["value"] == pytest.approx(expected["value"], abs=tolerance)
    assert found["seconds"] > 0


@pytest.mark.parametrize("notion", ["LDP", "PML", "LIP"])
def test_enumeration_finds_the_same_information(notion):
    case = Case("information", 6, 6, notion, "information", "dirichlet")
    expected = DRIVERS["ours"](case, 60)
    assert expected["certified"]
    found = DRIVERS["enumeration"](case, 60)
    assert found["value"] == pytest.approx(expected["value"], rel=1e-9)
    large = Case("information", 13, 13, notion, "information", "dirichlet")
    with pytest.raises(ValueError, match="too many"):
        DRIVERS["enumeration"](large, 60)


@for_each("notion", ["LIP+LDP", "line"])
@for_each("name", ["clarabel", "highs-simplex", "highs-ipm"])
def test_drivers_find_the_same_value_under_bounds_of_other_kinds(name, notion):
    case = Case("small", 8, 8, notion, "random", "dirichlet")
    expected = DRIVERS["ours"](case, 60)
    assert expected["certified"]
    assert DRIVERS[name](case, 60)["value"] == pytest.approx(expected["value"], abs=1e-5)


def test_bounds_of_other_kinds_get_other_methods():
    import mechdesign as md
    from benchmarks.drivers import stated

    for case in GROUPS["others"]():
        prior, utility, privacies = stated(case)
        if case.n == 50:
            expected = {"LIP+LDP": "structured", "line": "differences"}[case.notion]
            assert md.explain(prior, utility, privacies[0]).method.name == expected


def test_sweeps_run():
    case = Case("small", 6, 6, "LDP", "random", "dirichlet", levels=3)
    assert DRIVERS["ours"](case, 60)["certified"]
    found = DRIVERS["highs-simplex"](case, 60)
    assert found["value"] == pytest.approx(DRIVERS["ours"](case, 60)["value"], abs=1e-6)
    with pytest.raises(ValueError, match="single designs"):
        DRIVERS["clarabel"](case, 60)


def test_summary_and_table():
    rows = [
        {"case": "a", "driver": "ours", "seconds": s, "gap": 1e-9, "certified": True}
        for s in (1.0, 3.0, 2.0)
    ]
    rows.append({"case": "a", "driver": "clarabel", "seconds": 40.0, "finished": True})
    rows.append({"case": "a", "driver": "highs-simplex", "seconds": 60.0, "finished": False})
    rows.append({"case": "a", "driver": "highs-ipm", "seconds": None, "note": "over 60 s"})
    rows.append({"case": "b", "driver": "ours", "seconds": 1.0, "gap": 1e-3, "megabytes": 12.3})
    rows = [{**row, "date": "2026-01-01", "machine": "one core"} for row in rows]
    assert summarise(rows)["a"]["ours"]["median"] == 2.0
    text = markdown(rows)
    assert "| a | 2 s | 1e-09 |  | 20× | > 30× | over 60 s |" in text
    assert "| b | 1 s | 1e-03 (not certified) | 12 MB |" in text
    assert "Measured 2026-01-01 on a machine with one core" in text


@pytest.mark.slow
def test_the_command_keeps_rows(tmp_path):
    output = tmp_path / "rows.jsonl"
    arguments = ["run", "--group", "peer", "--driver", "ours", "--select", "20 ", "--repeat", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments, "--output", str(output)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "20 LDP(1)" in done.stdout
    row = json.loads(output.read_text().splitlines()[0])
    assert row["certified"] is True
    page = tmp_path / "results.md"
    page.write_text("old")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "benchmarks",
            "table",
            "--results",
            str(output),
            "--output",
            str(page),
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("Measured ")
    assert "20 LDP(1) hamming/dirichlet" in text


def test_pages_hold_what_was_recorded():
    """Numbers are never typed: a page is what its rows say."""
    assert PAGE.read_text(encoding="utf-8") == markdown(read_rows(RESULTS)) + "\n"
    rates = sampling.markdown(read_rows(sampling.RESULTS))
    of_users = sampling.users_markdown(read_rows(sampling.USERS))
    assert sampling.PAGE.read_text(encoding="utf-8") == f"{rates}\n\n{of_users}\n"
    costs = releases.markdown(read_rows(releases.RESULTS))
    assert releases.PAGE.read_text(encoding="utf-8") == f"{costs}\n"
    told = sampling.told(read_rows(sampling.RESULTS), read_rows(sampling.USERS))
    assert f"\n{told}\n" in sampling.README.read_text(encoding="utf-8")


# Reports per second


@for_each("name", [name for name in SAMPLERS if name != "multi-freq-ldpy"])
def test_samplers_draw_from_the_same_kernel(name):
    """The measurement itself compares what is drawn with the kernel."""
    import mechdesign as md

    if name == "OpenDP":
        pytest.importorskip("opendp")
    found = md.design(md.Prior.uniform(5), md.utility.Hamming(), md.LDP(2))
    assert measure(found, name, 2000) > 0


def test_a_sampler_of_another_kernel_is_found_out(monkeypatch):
    import mechdesign as md

    found = md.design(md.Prior.uniform(5), md.utility.Hamming(), md.LDP(2))
    monkeypatch.setitem(sampling.DRIVERS, "wrong", (lambda f: lambda codes: codes, 10_000))
    with pytest.raises(AssertionError):
        measure(found, "wrong", 10_000)


def test_the_table_of_samplers():
    stamp = {"date": "2026-01-01", "machine": "one core"}
    rows = [
        {"symbols": n, "driver": name, "rate": rate, **stamp}
        for n, name, rate in [
            (100, "ours, seeded", 5e7),
            (100, "ours, seeded", 7e7),
            (100, "ours, seeded", 6e7),
            (4, "OpenDP", 9e3),
        ]
    ]
    text = sampling_markdown(rows)
    assert "| 100 | 60 |  |" in text
    assert "| 4 |  | 0.009 |" in text
    assert "on a machine with one core" in text


@pytest.mark.slow
def test_every_point_of_a_comparison_of_regimes_is_certified():
    seconds, found = regimes.measure("epsilon", 1)
    assert seconds > 0
    assert len(found) == 5 * 2 * 30
    for point in found:
        assert point.design.certificate.is_optimal
        assert {str(check.verdict) for check in point.design.certificate.checks} == {"yes"}


# What the heuristics of the interior point buy


def test_every_heuristic_of_the_interior_point_is_switched_off_in_the_ablation():
    changes = [change for group in ablation.VARIANTS.values() for change in group.values()]
    moved = {name for change in changes for name in change}
    # The tolerance is an accuracy, not a heuristic.
    options = {field.name for field in dataclasses.fields(StructuredOptions)}
    assert options - {"tolerance"} <= moved


def test_recorded_ablations_cover_every_variant_and_instance():
    rows = [json.loads(line) for line in ablation.ROWS.read_text(encoding="utf-8").splitlines()]
    found = {(row["group"], row["variant"], row["instance"]) for row in rows}
    asked = {
        (group, variant, str(instance))
        for group, instances in ablation.INSTANCES.items()
        for variant in ablation.VARIANTS[group]
        for instance in instances
    }
    assert found == asked
    assert all(row["converged"] for row in rows if row["variant"] == "as it is")


@pytest.mark.parametrize(
    ("notion", "change"), [("LDP", {"step_share": 0.5}), ("PML", {"cold": True})]
)
def test_a_switch_changes_the_counts_and_not_the_optimum(notion, change):
    instance = ablation.Instance(8, notion, "random", "dirichlet", (0.5, 0.6))
    before, after = (ablation.measure(instance, c) for c in ({}, change))
    assert before["iterations"] < after["iterations"]
    assert max(before["gap"], after["gap"]) < 1e-6


def test_the_table_of_the_ablation():
    counts = {"factorisations": 10, "multiplications": 100, "converged": True, "gap": 1e-9}
    rows = [
        {"group": "g", "variant": v, "instance": i, "iterations": steps, **counts}
        for v, steps in (("as it is", 10), ("no clipping", 15))
        for i in "ab"
    ]
    text = ablation.markdown(rows)
    assert "**g**: 2 instances, 20 iterations as it is" in text
    assert "| no clipping | 1.50 | 1.00 | 1.00 | 0 | 1e-09 |" in text


# What each technique of column generation buys


def test_an_ablation_counts_the_work_of_a_search():
    case = Case("ablation", 12, 12, "PML", "information", "zipf")
    first, second = (searched(case, "everything", limit=5.0) for _ in range(2))
    assert first == second
    assert first["gap"] <= 1e-6
    assert min(first["nodes"], first["rounds"], first["columns"]) > 1
    assert first["entries"] >= first["nodes"]
    alone = searched(case, "branch and bound alone", limit=5.0)
    assert alone["value"] == pytest.approx(first["value"], rel=1e-6)


def test_a_method_for_one_kind_of_problem_takes_half_of_the_next_best():
    rows = [json.loads(line) for line in ABLATION.read_text(encoding="utf-8").splitlines()]
    for name in method_cases():
        chosen, *others = (row for row in rows if row["case"] == name)
        assert others
        assert all(2 * chosen["seconds"] <= other["seconds"] for other in others)


def test_a_search_ends_when_its_entries_are_spent():
    case = Case("ablation", 40, 40, "PML", "information", "zipf", 2.5)
    found = searched(case, "branch and bound alone", limit=0.5)
    assert found["gap"] > 1e-6
    assert 0.5e6 < found["entries"] < 5e6


@pytest.mark.parametrize("paired", [True, False])
def test_windows_are_compared_with_the_universal_bound(paired):
    found = windowed(Case("windows", 60, 60, "LIP", "information", "dirichlet"), paired)
    assert 0 < found["gap"] < 0.2


def test_every_technique_has_recorded_lines_that_show_what_it_buys():
    rows = [json.loads(line) for line in ABLATION.read_text(encoding="utf-8").splitlines()]
    recorded = {(row["case"], row["variant"]): row for row in rows}
    assert set(VARIANTS) <= {variant for _, variant in recorded}
    for variant in [*VARIANTS, "symbols as they come"]:
        pairs = [
            (row, recorded[case, "everything"])
            for (case, v), row in recorded.items()
            if v == variant
        ]
        worse = [row for row, whole in pairs if row["gap"] > 1.2 * whole["gap"]]
        assert worse or variant == "everything", variant


# Large alphabets


@pytest.mark.slow
@for_each("kind", large_alphabets.PROTOCOLS)
@for_each("level", slow_but(1, [1.0, 3.0]))
def test_protocols_estimate_without_bias(kind, level):
    """What is compared is what the papers say: peers that are wrong would flatter us."""
    protocol, rng = kind(30, level), np.random.default_rng(1)
    truth = np.arange(1.0, 31) / 465
    symbols = rng.choice(30, 4000, p=truth)
    shares = np.bincount(symbols, minlength=30) / 4000
    found = [protocol.read(protocol.draw(symbols, rng)) for _ in range(25)]
    error = np.std(found, axis=0, ddof=1) / 5
    assert (np.abs(np.mean(found, axis=0) - shares) < 5 * error).all()


@pytest.mark.slow
def test_peers_have_the_errors_of_their_papers():
    """k-ary randomised response and unary encoding have closed forms; ours is the least."""
    n, level = 400, 1.0
    ratio = np.exp(level)
    risks = {}
    for kind in large_alphabets.PROTOCOLS:
        seeds = range(1 if "groups" in kind.name else 4)  # designs in groups take seconds each
        found = [large_alphabets.measure(kind, n, level, 5_000, seed) for seed in seeds]
        risks[kind.name] = np.mean([one["risk"] for one in found])
    least = large_alphabets.least(n, level)
    assert risks["subset selection"] == pytest.approx(least, rel=0.15)
    assert risks["optimised unary encoding"] == pytest.approx(
        n * 4 * ratio / (ratio - 1) ** 2, rel=0.15
    )
    response = n * (ratio + n - 2) / (ratio - 1) ** 2
    assert risks["k-ary randomised response"] == pytest.approx(response, rel=0.15)
    assert risks["subset selection, PML"] < 0.3 * least
    assert all(risk > 0.85 * least for name, risk in risks.items() if "," not in name)


def test_the_table_of_large_alphabets():
    stamp = {"date": "2026-01-01", "machine": "one core", "bound": 100.0}
    rows = [
        {
            "symbols": 1000,
            "level": 1.0,
            "protocol": "a",
            "reports": 50,
            "risk": risk,
            "bytes": 3,
            "draw": 2e-6,
            "read": 0.5,
            **stamp,
        }
        for risk in (110.0, 150.0, 120.0)
    ]
    assert "| 1,000 | 1 | a | 1.200 | 3 | 2 | 0.5 | 50 |" in large_alphabets.markdown(rows)


def test_tables_of_users_are_measured_beside_numpy():
    rates = measure_users(3, 2000)
    assert set(rates) == {*TABLES, PARQUET, BASE}
    assert all(clock > 0 and computing > 0 for clock, computing in rates.values())
    stamp = {"date": "2026-01-01", "load": 0.5, "symbols": 3}
    rows = [
        {"table": name, "rate": 3e6 + i, "computing": 2e6, **stamp}
        for i, name in enumerate([PARQUET, BASE, PARQUET])
    ]
    text = users_markdown(rows)
    assert "| Parquet to Parquet, text | 3 (2) |" in text
    assert "| Arrow text |  |" in text


def test_recorded_designs_of_places_are_optimal_and_private():
    rows = places.read_rows(places.RESULTS)
    ours = [row for row in rows if row["driver"] == "ours"]
    assert {"100", "256"} <= {row["case"].split()[0] for row in ours if "Square" in row["case"]}
    assert all(row["certified"] and row["gap"] <= 1e-6 for row in ours)
    levels = [float(r["note"].split()[-1]) for r in rows if r["driver"] == "two-levels"]
    assert levels
    assert max(levels) <= 1.0
    # A control: kernels of another tool are recorded with what they leak.
    others = [float(r["note"].split()[-1]) for r in rows if r["driver"] == "qif" and r["seconds"]]
    assert max(others) == float("inf")


def test_the_table_of_places():
    stamp = {"date": "2026-01-01", "machine": "one core", "seconds": 2.0, "megabytes": 99.0}
    rows = [
        {"case": "a", "driver": "ours", "processor": 3.0, "gap": 1e-8, "note": "", **stamp},
        {"case": "a", "driver": "clarabel", "processor": 9.0, "finished": False, **stamp},
        {"case": "a", "driver": "qif", "processor": 1.0, "note": "achieved level inf", **stamp},
        {"case": "b", "driver": "two-levels", "processor": 7.0, "value": -5.0, **stamp},
    ]
    rows = [{"note": "achieved level 0.9", **row} if "note" not in row else row for row in rows]
    rows[1]["note"] = "MaxTime"
    text = places.markdown(rows)
    assert "| a | 3 s | 2 | 1e-08 | 99 MB | > 9 s |  | 1 s, achieved level inf |" in text
    assert "| b | 7 s | 99 MB | 0.9 | 5.0 m |" in text
