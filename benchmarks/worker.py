"""One measurement: ``python -m benchmarks.worker CASE DRIVER LIMIT`` prints a line of JSON."""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings

from .cases import Case
from .drivers import DRIVERS


def main() -> None:
    """Warm up on a case of at most 30 symbols, so that imports are not measured, then measure."""
    case, name, limit = Case(**json.loads(sys.argv[1])), sys.argv[2], float(sys.argv[3])
    warnings.simplefilter("ignore")
    driver = DRIVERS[name]
    small = {**case.__dict__, "n": min(case.n, 30), "m": min(case.m, 30), "levels": 1}
    driver(Case(**small), limit)
    start = time.process_time()
    found = driver(case, limit)
    found["processor"] = time.process_time() - start
    found["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found))


if __name__ == "__main__":
    main()
