"""Ways to print, which need nothing of what commands are made of."""

from __future__ import annotations

import json
import math
import sys
from datetime import date
from typing import Any

from ..errors import visible, visible_lines


def print_json(value: Any) -> None:
    """Write a value as JSON to standard output."""
    print(json.dumps(plain(value), indent=1, allow_nan=False))


def say(text: str) -> None:
    """Write lines to standard output, with what a terminal would act on as escape codes."""
    print(visible_lines(text))


def note(message: str) -> None:
    """Say something to a person in one line, on standard error."""
    print(visible(message), file=sys.stderr)


def plain(value: Any) -> Any:
    """JSON has no infinity: write it as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.isoformat() if isinstance(value, date) else value
