"""No test fails by chance: draws are the same in every run, or their chances are stated."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import entropy
import numpy as np
import pytest
from false_alarms import CHANCES, are_usual, off_by, usual

import mechdesign as md

TESTS = Path(__file__).parents[1]
RESPONSE = md.randomised_response(md.Prior.uniform(5), 1)
#: Files that use what has entropy of its own, and why nothing that it draws decides there.
ELSEWHERE = {
    "collector/test_collector_page.py": "a browser shows a page",
    "collector/test_collector_postgresql.py": "a database keeps reports that are drawn with seeds",
    "devices/test_devices_bins_sql.py": "kernels that tell everything",
    "devices/test_devices_collector.py": "all reports of a browser are one person's, and counted",
    "explorer/test_explore_browser.py": "a browser shows a page",
    "house/test_import_time.py": "nothing is drawn",
    "house/test_names_of_before.py": "nothing is drawn",
    "house/test_site_examples.py": "names of pages",
    "release/test_binned_reports.py": "Spark draws by a key",
    "release/test_report_counts.py": "Spark counts",
    "release/test_release_adapters.py": "measurements draw as our own reports do",
    "release/test_release_machines.py": "reports of Spark are compared with what they were before",
    "tables/test_survey_walk.py": "reports are drawn by a key or a seed",
    "views/test_accessibility.py": "a browser shows pages",
}
_HAS_ENTROPY = re.compile(r"opendp|running_cluster|playwright|spark_session|\[NODE|os\.fork")


def some_draws():
    table = md.Sampler(RESPONSE).draw(list(range(5)) * 4)
    rng = np.random.default_rng()
    return table, secrets.token_hex(8), uuid.uuid4(), os.urandom(9), rng.integers(1 << 60)


def test_draws_without_a_seed_are_those_of_every_other_run():
    with entropy.seeded_by("a test"):
        first = some_draws()
    with entropy.seeded_by("a test"):
        assert some_draws() == first
    with entropy.seeded_by("another test"):
        assert all(one != two for one, two in zip(some_draws(), first, strict=True))
    with entropy.seeded_by("a test"):
        assert os.urandom(9).hex() == "7ac1592036079e0b7f"
    # A control: from the system itself they are others.
    with entropy.seeded_by(None):
        assert os.urandom(9) != first[3]


def test_threads_that_draw_reports_in_an_order_of_their_own_are_refused():
    said = []

    def draw():
        try:
            md.Sampler(RESPONSE).draw([0])
        except AssertionError as problem:
            said.append(str(problem))

    thread = threading.Thread(target=draw)
    thread.start()
    thread.join()
    assert "false_alarms" in said[0]


def test_processes_that_draw_reports_without_a_seed_are_refused():
    program = "import mechdesign as md; md.Sampler(md.randomised_response(md.Prior.uniform(2), 1)"

    def run(seed):
        text = f"{program}{seed}).draw([0])"
        return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)

    assert "false_alarms" in run("").stderr
    assert run(", rng=1").returncode == 0


def test_all_chances_of_a_false_alarm_together_are_below_one_in_a_million():
    assert all(0 <= chance < 1e-6 for chance in CHANCES.values())
    assert 0 < sum(CHANCES.values()) < 1e-6


def test_tests_that_state_a_chance_are_there_and_others_of_their_kind_say_why_not():
    for name in CHANCES:
        path, _, test = name.partition("::")
        assert f"\ndef {test}(" in (TESTS / path).read_text(encoding="utf-8"), name
    known = {name.partition("::")[0] for name in CHANCES} | set(ELSEWHERE)
    own = Path(__file__).relative_to(TESTS).as_posix()
    for path in sorted(TESTS.rglob("test_*.py")):
        name = path.relative_to(TESTS).as_posix()
        if _HAS_ENTROPY.search(path.read_text(encoding="utf-8")) and name != own:
            assert name in known, f"{name}: state the chances in false_alarms, or say why none"


def test_usual_counts_are_as_usual_as_they_say():
    """Sums of the masses themselves, in rationals of a hundred digits or so."""
    from fractions import Fraction
    from math import comb

    for draws, chance in ((50, Fraction(1, 4)), (300, Fraction(1, 2))):
        masses = [
            comb(draws, k) * chance**k * (1 - chance) ** (draws - k) for k in range(draws + 1)
        ]
        low, high = usual(draws, float(chance))
        assert sum(masses[:low]) <= 1e-11 < sum(masses[: low + 1])
        assert sum(masses[high + 1 :]) <= 1e-11 < sum(masses[high:])
        apart = 2 * float(draws * chance * (1 - chance)) ** 0.5
        beyond = sum(m for k, m in enumerate(masses) if abs(k - draws * chance) >= apart)
        assert off_by(2, draws, float(chance)) == pytest.approx(float(beyond))
    assert are_usual([[5200, 4800]], [[0.5, 0.5]])
    assert not are_usual([[5400, 4600]], [[0.5, 0.5]])
