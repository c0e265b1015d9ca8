"""Running estimates: computed from the counts, again only when those have changed."""

from __future__ import annotations

import json
import threading
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..errors import DataError, MechdesignError, MechdesignWarning
from ..inference._estimate import Estimate, estimate
from ..inference.estimator import MISFIT_REMEDY
from ..inference.many import ManyEstimates
from ..labels import counted
from ..release._identifiability import FEWEST, identifiability
from ..release.report_counts import ReportCounts, report_text
from ..subsets import SubsetSelection
from ..views.plain import estimate_json, many_estimates_json
from .kernels import Collected
from .store import Store

# What to do about reports that do not fit, for those who look at the page.
_MISFIT = (
    "check what the devices send; 'mechdesign estimate' with --misfit warn estimates all the same, "
    "from what /reports.parquet holds"
)


@dataclass(frozen=True)
class Running:
    """What is known of one kernel's reports at a moment.

    Attributes
    ----------
    collected : the kernel
    counts : its reports so far
    estimate : ``None`` while there is none
    problem : why there is none, or nothing
    notes : what was warned of
    """

    collected: Collected
    counts: ReportCounts
    estimate: Estimate | ManyEstimates | None
    problem: str
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values, as ``mechdesign estimate --json`` prints them."""
        made, kernel = self.estimate, self.collected.digest
        shown: dict[str, Any] = {}
        if isinstance(made, ManyEstimates):
            shown = many_estimates_json(made, kernel)
        elif made is not None:
            shown = estimate_json(made, kernel)
        for row in shown.get("rows", ()):
            row["label"] = json.loads(report_text(row["label"]))  # as devices write it
        return {
            **shown,
            "file": self.collected.name,
            "kernel": kernel,
            "reports": len(self.counts),
            "problem": self.problem,
            "notes": list(self.notes),
            "file_changed": self.collected.has_changed,
        }


class Estimator:
    """Keeps the estimate of one kernel, for whoever asks."""

    def __init__(self, collected: Collected, number: int, store: Store) -> None:
        self.collected, self.number, self._store = collected, number, store
        self._lock = threading.Lock()
        self._last: Running | None = None

    def counts(self) -> ReportCounts:
        """Counts of all collectors on the database."""
        outputs, found = self.collected.public.outputs, self._store.counts(self.number)
        by_label = {outputs[code]: count for code, count in found.items()}
        return ReportCounts(self.collected.public, by_label, sources=[self._store.name])

    def now(self) -> Running:
        """The estimate from the counts of this moment; one thread computes, others wait for it."""
        with self._lock:
            counts = self.counts()
            if self._last is None or self._last.counts != counts:
                self._last = self._estimate(counts)
            return self._last

    @cached_property
    def _by(self) -> str:
        """Blocks where some symbols have the same reports."""
        public = self.collected.public
        if isinstance(public, SubsetSelection):
            return "symbols"
        found = identifiability(public)
        return "symbols" if found.is_complete or found.answers else "blocks"

    def _estimate(self, counts: ReportCounts) -> Running:
        if len(counts) < FEWEST:
            problem = f"{counted(len(counts), 'report')} so far; estimates begin at {FEWEST}"
            return Running(self.collected, counts, None, problem, ())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", MechdesignWarning)
            made, problem = None, ""
            try:
                made = estimate(counts, self.collected.public, by=self._by)
            except DataError as refused:
                problem = str(refused)
                if refused.remedy == MISFIT_REMEDY:
                    parts = {"expected": refused.expected, "got": refused.got}
                    problem = str(DataError(refused.subject, **parts, remedy=_MISFIT))
            except MechdesignError as refused:
                problem = str(refused)
        notes = tuple(str(w.message) for w in caught if issubclass(w.category, MechdesignWarning))
        return Running(self.collected, counts, made, problem, notes)
