"""The clock on which time limits are read.

A search reads it through this module alone (``clock.now()``), so that another clock can be put in
its place: one that counts its readings makes a search that is cut short the same on every machine,
whatever else runs there.
"""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds on a clock that never goes back.
now: Callable[[], float] = time.monotonic
