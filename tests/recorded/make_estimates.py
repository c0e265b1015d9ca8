"""Write ``estimates.json``: estimates of all kinds, which later versions have to give again.

Run where estimates are to change, from the root of the repository::

    python tests/recorded/make_estimates.py tests/recorded/estimates.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "cli")]

from test_estimate_commands import COMMANDS, made  # noqa: E402

if __name__ == "__main__":
    found = {command: made(command) for command in COMMANDS}
    Path(sys.argv[1]).write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")
