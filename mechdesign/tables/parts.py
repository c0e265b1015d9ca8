"""Long columns part by part: work that several processors do at once, with results in order.

NumPy, Arrow, the hash and the entropy of the system all let other threads go on while they work.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

#: Rows of a part: what is made of them stays near the processor that made it.
ROWS = 1 << 17


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def parts_of(rows: int, size: int = ROWS) -> list[slice]:
    """The parts of so many rows, in their order.

    >>> parts_of(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(start, min(start + size, rows)) for start in range(0, rows, size)]


def side_by_side(
    work: Callable[[Any], T], parts: Iterable[Any], workers: int | None = None
) -> Iterator[T]:
    """What a function makes of each part, in their order, some of them at once.

    Few are made ahead of what is taken, so that memory does not grow with their number. Where one
    fails, or nobody takes any more, no further one is begun, and all are done when this ends.

    Parameters
    ----------
    work : function of a part; with one worker it is called for the parts in their order
    parts : a single one is made here, without a thread
    workers : as many as there are processors when left out
    """
    coming = list(parts)
    if len(coming) < 2:
        yield from map(work, coming)
        return
    workers = workers or processors()
    under_way: deque[Future[T]] = deque()
    with ThreadPoolExecutor(workers) as beside:
        try:
            for part in coming:
                under_way.append(beside.submit(work, part))
                if len(under_way) > 2 * workers:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for one in under_way:
                one.cancel()
