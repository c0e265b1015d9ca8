"""Tests whose draws no seed reaches, and the chance that each fails where nothing is wrong.

All other tests draw the same in every run, see ``entropy``. Chances are exact tails of binomials,
or bounds named beside them, and count all cases of a test; those of several events add up.
"""

import math

from scipy.stats import binom

#: A count that is not usual has at most this chance on either side.
TAIL = 1e-11
#: Where limits hold all at once but for this chance.
SURE = 1 - 1e-9


def usual(draws, chance):
    """The least and the most that is usual among so many draws."""
    return int(binom.ppf(TAIL, draws, chance)), int(binom.isf(TAIL, draws, chance))


def are_usual(counts, kernel):
    """Whether each count of a table of inputs and outputs is usual for its row of a kernel."""
    for row, chances in zip(counts, kernel, strict=True):
        for count, chance in zip(row, chances, strict=True):
            low, high = usual(int(sum(row)), chance)
            if not low <= count <= high:
                return False
    return True


def seems_usual(draws, claimed, chance):
    """How likely a count is usual for a claimed chance, where its own is another."""
    low, high = usual(draws, claimed)
    return binom.cdf(high, draws, chance) - binom.cdf(low - 1, draws, chance)


def some_is_missing(draws, chances):
    """At most how likely some of several outcomes is never drawn."""
    return sum((1 - chance) ** draws for chance in chances)


def response(level, size=3):
    """Chances of randomised response: of the value itself, and of each other one."""
    return math.exp(level) / (math.exp(level) + size - 1), 1 / (math.exp(level) + size - 1)


def off_by(deviations, draws, chance):
    """How likely a count is so many deviations from its mean."""
    apart = deviations * math.sqrt(draws * chance * (1 - chance))
    mean = draws * chance
    return binom.cdf(math.floor(mean - apart), draws, chance) + binom.sf(
        math.ceil(mean + apart) - 1, draws, chance
    )


_OWN, _OTHER = response(1.0)

#: By folder, file and name of the test.
CHANCES = {
    # Counts of a library that has no seed; beyond them, only limits that are not as sure.
    "evidence/test_controls.py::"
    "test_randomised_response_of_opendp_keeps_its_level_and_no_smaller_one": 18 * TAIL + (1 - SURE),
    "evidence/test_controls.py::test_integer_noise_of_opendp_keeps_its_level_and_no_smaller_one": 4
    * TAIL
    + (1 - SURE),
    "evidence/test_controls.py::test_float_noise_of_opendp_hides_its_lowest_bits": 4 * TAIL
    + 2 * (1 - SURE),
    "house/test_benchmarks.py::test_samplers_draw_from_the_same_kernel": off_by(
        6, 2000, response(2.0, 5)[0]
    ),
    # The doctor asks the system for draws: twelve counts, each off by so much once in 10^9.
    "house/test_releases.py::"
    "test_the_first_page_uses_what_the_package_brings_and_nothing_else": 24e-9,
    # Processes that share a memory, and must not share their draws.
    "devices/test_devices_node.py::"
    "test_of_several_programs_at_once_all_have_one_report": some_is_missing(
        120, [_OWN, _OTHER, _OTHER]
    ),
    "release/test_byte_table.py::test_a_fork_does_not_draw_what_its_parent_draws": 2 * TAIL,
    # Nine bytes of the system are those that are known.
    "house/test_false_alarms.py::test_draws_without_a_seed_are_those_of_every_other_run": 2.0**-72,
    # Threads: which of them draws first is the machine's to say. Six pairs of them; of 40,000 words
    # of 64 bits, two that are the same.
    "release/test_byte_table.py::test_threads_get_bits_of_their_own": 6 * 2 * TAIL,
    "release/test_release_identities.py::test_threads_never_share_words": 40_000**2 / 2 / 2**64,
    # In each of three rows, some 200,000 reports.
    "release/test_long_columns.py::test_reports_of_the_system_follow_the_kernel": (
        9 * 2 * TAIL + seems_usual(190_000, response(1.5)[1], response(1.5)[0])
    ),
    "release/test_release_engines.py::test_spark_repeats_itself_and_nothing_else": 9 * 2 * TAIL,
    # Browsers. Of three reports, drawn sixteen times, all are always the same.
    "devices/test_devices_browser.py::test_a_report_survives_a_reload_and_a_new_tab": (
        _OWN**16 + 2 * _OTHER**16
    )
    ** 3,
    "devices/test_devices_browser.py::test_two_tabs_at_once_have_one_report": some_is_missing(
        300, [_OWN, _OTHER, _OTHER]
    ),
    "forms/test_form_browser.py::test_two_hundred_answers_on_one_device_are_an_estimate": 4
    * 2
    * TAIL,
    # PostgreSQL. A tenth of the words are zero, and so the first output, in the control.
    "devices/test_devices_sql.py::test_draws_have_the_chances_of_the_kernel": (
        12 * 2 * TAIL + seems_usual(30_000, 0.5, 0.9 * 0.5 + 0.1)
    ),
    "devices/test_devices_sql.py::test_every_row_has_one_word_of_its_own": some_is_missing(
        4000, [1 / 64] * 64
    )
    + ((1 - 1 / 64) ** 63) ** 4000,
    "devices/test_devices_sql.py::test_functions_of_others_are_not_called": some_is_missing(
        200, [1 / 4] * 4
    ),
    # Two runs, one of them in another process, draw two files of 300 reports that are all the same,
    # of one column, and pairs of two: at most the chance of the values themselves.
    "release/test_release_folders.py::test_a_control_another_run_draws_other_reports": (
        2 * (response(1.5)[0] ** 300 + response(1.5, 2)[0] ** (2 * 300))
    ),
}
