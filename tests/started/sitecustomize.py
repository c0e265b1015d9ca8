"""Python processes that tests start may not draw reports without a seed, but where tests say so.

See ``false_alarms``: what such a process draws is another thing in every run.
"""

import os
import sys

system = os.urandom


def drawn(number):
    """Bytes of the system; refused to reports of a test that states no chance of a false alarm."""
    asker = sys._getframe(1).f_code.co_filename
    if "TESTS_ARE_SEEDED" in os.environ and asker.endswith(os.path.join("release", "words.py")):
        raise AssertionError(
            "this process draws reports in a test: give it a seed or a key, or state the chance "
            "of a false alarm in tests/false_alarms.py"
        )
    return system(number)


os.urandom = drawn
