"""Reports that are too many to be counted one by one, put into few groups.

A group is a function of the report, so that what it tells, the report tells: where groups break a
guarantee, the mechanism does. That groups keep it says nothing of what is left out.

Groups are stated beforehand (edges, a function), or learned on reports that are not counted
afterwards: a decision tree splits what is known of a report (its numbers, and how fine they are:
the exponent of the lowest bit of each, which gives away samplers in floats, [Mironov2012]) so that
the inputs differ between groups. With a classifier, the tree splits its probabilities instead
(the attack of [Bichsel2021]).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, is_iterable, listed, quote
from ..extras import brought_by
from .observations import Reports, Sample, refuse_blank

#: The partition that is learned from half of the reports.
TREE = "tree"
# Most groups that a tree makes, and fewest reports in each, as a share of those it learns from.
_GROUPS, _LEAST_SHARE, _LEAST = 48, 0.002, 15

Grouping = Callable[[Reports], list[Any]]


@dataclass(frozen=True, eq=False)
class Partition:
    """How reports are put into groups.

    Attributes
    ----------
    group : from reports to the names of their groups
    description : what the groups are
    """

    group: Grouping
    description: str

    def apply(self, sample: Sample) -> Sample:
        """The same inputs with groups for reports."""
        return Sample(sample.inputs, self.group(sample.reports))


def is_learned(partition: Any) -> bool:
    """Whether a partition has to be learned from some of the reports."""
    return (isinstance(partition, str) and partition == TREE) or hasattr(partition, "fit")


def stated_partition(partition: Any) -> Partition:
    """Edges of intervals, or a function of the report; :class:`DataError` for anything else."""
    if callable(partition):
        return Partition(_by_function(partition), "by a stated function of the report")
    edges = None
    if is_iterable(partition) and not isinstance(partition, (str, bytes, dict, set)):
        edges = _edges(listed(partition, "partition", "edges", DataError))
    if edges is None:
        raise DataError(
            "partition",
            expected="increasing edges of intervals, a function of the report, 'tree', or a "
            "classifier of scikit-learn",
            got=quote(partition),
            remedy="pass for example [-1, 0, 1]",
        )
    return Partition(_by_edges(edges), f"intervals with the edges {_brief(edges)}")


def _edges(values: list[Any]) -> list[float] | None:
    try:
        found = [float(v) for v in values if not isinstance(v, (str, bytes, bool))]
    except (TypeError, ValueError, OverflowError):
        return None
    grows = all(a < b for a, b in pairwise(found))
    is_plain = len(found) == len(values) and not any(map(math.isnan, found))
    return found if found and grows and is_plain else None


def _written(edges: Sequence[float]) -> list[str]:
    """Edges in six digits, or in all where six would make two of them one."""
    short = [f"{edge:.6g}" for edge in edges]
    return short if len(set(short)) == len(short) else [repr(edge) for edge in edges]


def _brief(edges: Sequence[float]) -> str:
    shown = _written(edges)
    return ", ".join(shown if len(shown) <= 8 else [*shown[:4], "…", *shown[-3:]])


def _by_edges(edges: list[float]) -> Grouping:
    ends = ["-∞", *_written(edges), "∞"]

    def group(reports: Reports) -> list[Any]:
        try:
            values = [float(report) for report in reports]
        except (TypeError, ValueError, OverflowError):
            raise _no_numbers("reports") from None
        places = [bisect_right(edges, value) for value in values]
        return [f"[{ends[i]}, {ends[i + 1]})" for i in places]

    return group


def _by_function(function: Callable[[Any], Any]) -> Grouping:
    def group(reports: Reports) -> list[Any]:
        try:
            found = [function(report) for report in reports]
        except Exception as problem:  # the function is anybody's; what it says may be secret
            raise DataError(
                "partition",
                expected="a group for every report",
                got=f"a {type(problem).__name__} when the function was called",
                remedy="check what it does with each report",
            ) from problem
        refuse_blank(found, "groups of the partition")
        return found

    return group


def _no_numbers(subject: str) -> DataError:
    return DataError(
        subject,
        expected="numbers, or tuples of as many numbers each",
        got="something else",
        remedy="state a partition that is a function of the report",
    )


# Learned groups


def learned_partition(partition: Any, sample: Sample, seed: int) -> Partition:
    """Groups that tell the inputs of a sample apart.

    Raises :class:`MissingLibraryError` without scikit-learn, :class:`DataError` for reports that
    are no numbers, or a classifier that fails.
    """
    with brought_by("sklearn"):
        from sklearn.tree import DecisionTreeClassifier
    features, names = report_features(sample.reports)
    of_reports: Callable[[Reports], NDArray[np.float64]] = _features_only
    description = "groups of a decision tree that was learned on other reports"
    if not isinstance(partition, str):
        fitted = _fitted(partition, features, sample.inputs)
        of_reports, names = fitted, ["score"]
        description = f"groups by a {type(partition).__name__} that was learned on other reports"
        features = of_reports(sample.reports)
        names = [f"probability {k + 1}" for k in range(features.shape[1])]
    tree = DecisionTreeClassifier(
        criterion="entropy",
        max_leaf_nodes=_GROUPS,
        min_samples_leaf=max(_LEAST, int(_LEAST_SHARE * len(sample))),
        class_weight="balanced",
        random_state=seed,
    )
    tree.fit(features, sample.inputs)
    leaves = _leaf_names(tree.tree_, names)

    def group(reports: Reports) -> list[Any]:
        return [leaves[i] for i in tree.apply(of_reports(reports)).tolist()]

    return Partition(group, description)


def _features_only(reports: Reports) -> NDArray[np.float64]:
    return report_features(reports)[0]


def report_features(reports: Reports) -> tuple[NDArray[np.float64], list[str]]:
    """What is known of reports, ``(T, F)``: their numbers, and the exponents of their lowest bits.

    >>> report_features([0.75, 4])[0].tolist()
    [[0.75, -2.0], [4.0, 2.0]]
    """
    try:
        values = np.array(reports, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _no_numbers("reports") from None
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or not values.size:
        raise _no_numbers("reports")
    names = (
        ["report"] if values.shape[1] == 1 else [f"entry {k + 1}" for k in range(values.shape[1])]
    )
    # A tree compares floats of single precision; what is finite must stay so.
    values = np.clip(values, -3e38, 3e38)
    both = np.concatenate([values, _lowest_bits(values)], axis=1)
    return both, [*names, *(f"lowest bit of {name}" for name in names)]


def _lowest_bits(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The exponent e of the largest power 2^e that each number is a multiple of; 0 has 1100."""
    mantissas, exponents = np.frexp(values)
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    lowest = np.log2(
        (whole & -whole).astype(np.float64), where=whole != 0, out=np.zeros(whole.shape)
    )
    found: NDArray[np.float64] = np.where(whole == 0, 1100.0, exponents - 53 + lowest)
    return found


def _fitted(
    classifier: Any, features: NDArray[np.float64], inputs: NDArray[np.intp]
) -> Callable[[Reports], NDArray[np.float64]]:
    """A classifier that has learned, as a function from reports to its probabilities."""

    def checked(step: Callable[[], Any]) -> Any:
        try:
            return step()
        except Exception as problem:  # anybody's classifier; what it says may quote reports
            raise DataError(
                "partition",
                expected="a classifier with fit and predict_proba, as scikit-learn has them",
                got=f"a {type(problem).__name__} from {type(classifier).__name__}",
                remedy="try it on numbers first, or pass 'tree'",
            ) from problem

    checked(lambda: classifier.fit(features, inputs))

    def probabilities(reports: Reports) -> NDArray[np.float64]:
        given = _features_only(reports)
        found = np.asarray(checked(lambda: classifier.predict_proba(given)), dtype=np.float64)
        if found.ndim != 2 or len(found) != len(reports) or np.isnan(found).any():
            raise DataError(
                "partition",
                expected="a row of probabilities for each report",
                got=quote(found),
                remedy="use a classifier of scikit-learn, or pass 'tree'",
            )
        return found

    return probabilities


def _leaf_names(tree: Any, names: Sequence[str]) -> dict[int, str]:
    """The conditions that lead to each leaf, as text: the least and the most of each feature."""
    leaves: dict[int, str] = {}
    todo: list[tuple[int, dict[int, tuple[float, float]]]] = [(0, {})]
    while todo:
        node, limits = todo.pop()
        k = int(tree.feature[node])
        if tree.children_left[node] == tree.children_right[node]:
            leaves[node] = _conditions(limits, names)
            continue
        edge = float(tree.threshold[node])
        low, high = limits.get(k, (-math.inf, math.inf))
        todo.append((int(tree.children_left[node]), {**limits, k: (low, min(high, edge))}))
        todo.append((int(tree.children_right[node]), {**limits, k: (max(low, edge), high)}))
    return leaves


def _conditions(limits: dict[int, tuple[float, float]], names: Sequence[str]) -> str:
    parts = []
    for k, (low, high) in sorted(limits.items()):
        left = "" if low == -math.inf else f"{low:.10g} < "
        right = "" if high == math.inf else f" ≤ {high:.10g}"
        parts.append(f"{left}{names[k]}{right}")
    return " and ".join(parts) or "every report"
