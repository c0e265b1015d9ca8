"""``audit_samples``: whether a mechanism keeps what is claimed, from its reports alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataError, quote
from ..exact import is_whole
from ..numeric import truth_value
from ..prior import Prior
from ..progress import stage
from .findings import SampleAudit, SampleVerdict
from .hypotheses import Pairs, Questions, audited_notions, largest_level
from .judging import ROUGH, Evidence, findings, judge
from .limits import Array
from .observations import (
    MOST_CALLS,
    Called,
    Outcomes,
    Sample,
    check_every_symbol,
    checked_calls,
    checked_confidence,
    coded_inputs,
    column_values,
    counted_inputs,
    pairs_of_columns,
)
from .partition import Partition, is_learned, learned_partition, stated_partition

# A stage has four times the calls of all before it together with those; the first of them has at
# least so many calls for each symbol, and there are at most so many stages.
_GROWTH, _FIRST, _MOST_STAGES = 4, 16, 4
# Shares: of the calls that a partition is learned from, of a stage that goes to all symbols.
_LEARNING, _ALIKE = 0.25, 0.15


def audit_samples(
    inputs: Any,
    reports: Any,
    notions: Any,
    confidence: float = 0.95,
    *,
    prior: Any = None,
    outputs: Any = None,
    partition: Any = None,
    calls: int = 100_000,
    batch: bool = False,
    seed: int = 0,
) -> SampleAudit:
    """Whether a mechanism keeps privacy notions, from inputs and reports alone.

    Every notion that bounds likelihood ratios, or a sum over outcomes such as maximal leakage or
    (ε, δ)-LDP, gets confidence limits on its levels, which hold all at once, and a verdict:
    *violated*, with the outcome and the pair of hypotheses as evidence and a p-value; *consistent*,
    where every upper limit is at or below the claim; else *cannot tell*, with about how many
    reports would.

    Parameters
    ----------
    inputs : column of T inputs, or for a mechanism that is called its symbols
    reports : column of T reports, each drawn by itself given its input, or the mechanism: a
        function from an input to a report. It is called where the bound is decided.
    notions : notion or list of notions, at the levels that are claimed (nats)
    confidence : with which all limits of all notions hold together
    prior : Prior, probabilities by label, or N probabilities, optional
        What notions such as PML refer to; else the frequencies of the inputs, taken as they are.
        Where only counts of a population are known, ask for ``RobustPML.from_counts``.
    outputs : all outcomes that the mechanism has, optional
        Without them *consistent* is rarely found, as an outcome that never occurred may tell
        anything.
    partition : groups of reports, where these are numbers or too many to count, optional
        Increasing edges of intervals, a function of the report, ``"tree"`` for a decision tree, or
        a classifier of scikit-learn. The last two are learned from half of the reports, or a
        quarter of the calls, and checked on the others. Groups may show that a claim is violated;
        they never show that it is kept.
    calls : most calls of a mechanism
    batch : whether the mechanism takes an input and a number, and returns as many reports
    seed : of the split into halves and of the tree

    Returns
    -------
    SampleAudit

    Raises
    ------
    DataError
        For inputs and reports that do not fit, a symbol without reports, inputs that are all the
        same, a mechanism that fails.
    LevelError
        For notions of mutual information and costs of inference, which samples do not bound.
    PriorError
        For a prior that is none.
    MechdesignError
        Where a partition is to be learned without scikit-learn.

    Notes
    -----
    Limits are those of [ClopperPearson1934] for symbols and of [Hoeffding1963] for mixtures of
    them, at errors that add up to 1 − confidence over all hypotheses and outcomes, seen or not
    (:mod:`mechdesign.evidence.limits`). They do not depend on the number of pairs or notions. A
    mechanism is called in stages: each divides its calls by what the stages before have shown, and
    limits rest on each stage by itself, so that they hold whatever was decided in between.

    Examples
    --------
    >>> import mechdesign as md
    >>> inputs = ["no", "yes"] * 2000
    >>> reports = ["no", "yes", "no", "yes", "yes", "no", "no", "yes"] * 500
    >>> found = md.audit_samples(inputs, reports, [md.LDP(.5), md.LDP(1.5)], outputs=["no", "yes"])
    >>> [str(finding.verdict) for finding in found.findings]
    ['violated', 'consistent']
    """
    asked = audited_notions(notions)
    sure = checked_confidence(confidence)
    batch = truth_value(batch, "batch", error=DataError)
    if not is_whole(seed, 0, 2**32 - 1):
        raise DataError(
            "seed",
            expected="a whole number from 0 to 4294967295",
            got=quote(seed),
            remedy="pass for example 0",
        )
    groups = None
    if partition is not None and not is_learned(partition):
        groups = stated_partition(partition)
    is_function = callable(reports)
    told: list[Any] = []
    if is_function:
        given = column_values(inputs, "inputs")
    else:
        given, told = pairs_of_columns(inputs, reports)
    known, is_given = _prior_of(given, prior)
    questions = Questions(asked, known)
    coded = coded_inputs(given, known)
    totals = np.bincount(coded, minlength=len(known))
    check_every_symbol(totals, questions.symbols)
    outcomes = Outcomes(outputs if partition is None else None)
    if outputs is not None and partition is not None:
        raise DataError(
            "outputs",
            expected="no outputs beside a partition, whose groups are the outcomes",
            got="both",
            remedy="leave out one of them",
        )
    work = _Work(questions, outcomes, len(known), 1 - sure, groups)
    called = None
    if is_function:
        called = Called(reports, known.labels, batch=batch)
        with stage("calls", total=calls if is_whole(calls, 1, MOST_CALLS) else None):
            evidence = work.of_calls(called, calls, partition, seed)
    else:
        evidence = work.of_sample(Sample(coded, told), partition, seed)
    return SampleAudit(
        findings(evidence, 1 - sure, outcomes.labels),
        sure,
        known,
        is_given,
        evidence.pooled,
        outcomes.labels,
        outcomes.is_complete,
        None if work.groups is None else work.groups.description,
        work.learned_from,
        None if called is None else called.calls,
    )


def _prior_of(given: list[Any], prior: Any) -> tuple[Prior, bool]:
    """The prior, and whether it was given; else the frequencies of the inputs."""
    if prior is not None:
        return prior if isinstance(prior, Prior) else Prior(prior), True
    counts = counted_inputs(given)
    if not counts:
        raise DataError(
            "inputs", expected="at least one symbol", got="none", remedy="list the symbols"
        )
    if len(counts) == 1:
        # Nothing is compared, and every claim would hold.
        raise DataError(
            "inputs",
            expected="at least two different symbols, as a notion compares them",
            got="one",
            remedy="collect reports about the other symbols too, or give the prior",
        )
    try:
        labels = sorted(counts)
    except TypeError:
        labels = list(counts)
    return Prior.from_counts([counts[label] for label in labels], labels), False


@dataclass
class _Work:
    """Reports on their way to evidence."""

    questions: Questions
    outcomes: Outcomes
    size: int
    alpha: float
    groups: Partition | None
    learned_from: int = 0

    def _evidence(self, stages: list[Array], planned: int) -> Evidence:
        width = len(self.outcomes.labels)
        padded = tuple(np.pad(s, ((0, 0), (0, width - s.shape[1]))) for s in stages)
        is_whole = self.outcomes.is_complete and self.groups is None
        known = width if self.outcomes.is_complete else None
        return Evidence(
            self.questions, padded, planned, known, is_whole, is_grouped=self.groups is not None
        )

    def _count(self, sample: Sample) -> Array:
        if self.groups is not None:
            sample = self.groups.apply(sample)
        return self.outcomes.count(sample, self.size)

    def _learn(self, partition: Any, sample: Sample, seed: int) -> None:
        self.groups = learned_partition(partition, sample, seed)
        self.learned_from = len(sample)

    def of_sample(self, sample: Sample, partition: Any, seed: int) -> Evidence:
        """Evidence of reports that were given: all, or the half that is not learned from."""
        if partition is not None and self.groups is None:
            first, second = _halves(sample, seed)
            counts = np.bincount(sample.inputs[second], minlength=self.size)
            check_every_symbol(counts, self.questions.symbols)
            self._learn(partition, sample.part(first), seed)
            sample = sample.part(second)
        return self._evidence([self._count(sample)], 1)

    def of_calls(self, called: Called, calls: Any, partition: Any, seed: int) -> Evidence:
        """Evidence of calls, made where notions are not decided yet."""
        symbols = self.questions.symbols or list(range(self.size))
        least = 2 * _FIRST if partition is not None else _FIRST
        left = checked_calls(calls, len(symbols), least)
        alike = np.zeros(self.size)
        alike[symbols] = 1 / len(symbols)
        if partition is not None and self.groups is None:
            learning = called.draw(_numbers(int(_LEARNING * left), alike))
            self._learn(partition, learning, seed)
            left -= len(learning)
        sizes = list(_stage_sizes(left, len(symbols)))
        stages: list[Array] = []
        share = alike
        for size in sizes:
            stages.append(self._count(called.draw(_numbers(size, share))))
            evidence = self._evidence(stages, len(sizes))
            if len(stages) == len(sizes):
                break
            judged = judge(evidence, self.alpha, ROUGH)
            left_open = [asked for asked, _, v in judged if v is SampleVerdict.CANNOT_TELL]
            if not left_open:
                break
            undecided = [pairs for asked in left_open for pairs in asked.pairs]
            share = _ALIKE * alike + (1 - _ALIKE) * _where_decided(evidence, undecided, alike)
        return evidence


def _stage_sizes(calls: int, symbols: int) -> Iterator[int]:
    """Calls of the stages: the last has three quarters, as long as the first has enough."""
    ends = [calls]
    while len(ends) < _MOST_STAGES and ends[-1] // _GROWTH >= _FIRST * symbols:
        ends.append(ends[-1] // _GROWTH)
    before = 0
    for end in reversed(ends):
        yield end - before
        before = end


def _numbers(size: int, share: Array) -> list[int]:
    """A number of calls for each symbol, in proportion; at least one where there is a share."""
    exact = size * share
    whole = np.floor(exact).astype(int)
    whole[(share > 0) & (whole == 0)] = 1
    spare = size - int(whole.sum())
    order = np.argsort(whole - exact, kind="stable")
    for x in order[: max(0, spare)]:
        whole[x] += 1
    return [int(n) for n in whole]


def _where_decided(evidence: Evidence, undecided: list[Pairs], alike: Array) -> Array:
    """How calls are best divided between symbols: where the pairs that may decide are compared.

    At the pair and the outcome with the largest frequency ratio, and those with the largest upper
    limit, hypotheses get calls in proportion to the relative error of their likelihoods, and the
    symbols of a mixture to their masses, as limits on mixtures want them.
    """
    smooth = evidence.estimates(0.5)
    lower, upper = evidence.limits(0.5, ROUGH)
    outcomes = range(smooth.shape[1])
    shares = []
    for pairs in undecided:
        for over, under in ((smooth, smooth), (upper, lower + smooth * 1e-6)):
            top = largest_level(pairs, over, under, outcomes)
            if top.pair < 0:
                continue
            share = np.zeros_like(alike)
            for h in (pairs.over[top.pair], pairs.under[top.pair]):
                found = evidence.questions.hypotheses[int(h)]
                q = float(np.clip(smooth[h, top.outcome], 1e-12, 1 - 1e-9))
                share[found.support] += np.sqrt((1 - q) / q) * found.masses
            shares.append(share / share.sum())
    return np.mean(shares, axis=0) if shares else alike


def _halves(sample: Sample, seed: int) -> tuple[Any, Any]:
    """Rows of two random halves of a sample, of each input as many as can be."""
    order = np.random.default_rng(seed).permutation(len(sample))
    order = order[np.argsort(sample.inputs[order], kind="stable")]
    return np.sort(order[::2]), np.sort(order[1::2])
