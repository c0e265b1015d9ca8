"""Plans: a kernel for each of several columns, with what all reports of a person leak together.

Reports of the columns are drawn independently, so that together they are the product kernel. Its
leakage is decided exactly, under the joint prior where the notion is about one: levels of columns
that depend on each other add up under no notion of a prior.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CertificateError, DataError, InputError, quote
from ..exact import Verdict, compare_with_exp, log_upper, rounded_up
from ..labels import Label, counted, told_shape
from ..mechanism import Mechanism, mechanism_of
from ..prior import Prior
from ..privacy import LDP, PrivacyNotion
from ..privacy.notion import Check, Worst, shown_level
from ..published import PublicDesign
from ..schema import Schema
from ._design import Design
from .product_lifts import ProductLifts, check_lifts

#: Entries of the largest product kernel that is checked.
MOST_ENTRIES = 400_000


@dataclass(frozen=True)
class Split:
    """A way to split the total level that a plan is compared with.

    Attributes
    ----------
    name : such as ``equal split``
    levels : of each column, in nats; empty for a joint design
    risk : weighted sum of the risks of the columns
    leaks : levels that all reports have together, in nats
    """

    name: str
    levels: tuple[tuple[float, ...], ...]
    risk: float
    leaks: tuple[float, ...]


@dataclass(frozen=True)
class Together:
    """All reports of a plan as one kernel, with what they have together.

    Attributes
    ----------
    mechanism : over the combinations that the guarantee is about
    prior, notions : the joint prior, where the total notion is about one, and that notion
    """

    mechanism: Mechanism
    prior: Prior | None
    notions: tuple[PrivacyNotion, ...]


@dataclass(frozen=True, repr=False)
class KernelPlan:
    """A kernel for each column, and the notion that independent reports of all have together.

    Attributes
    ----------
    names : of the columns
    designs : for each column what its reports are drawn from
    total : the notion that all reports of a person have together
    prior : of the columns together, where it is known
    check : exact verdict on ``total`` for all reports together, where one is made
    """

    names: tuple[str, ...]
    designs: tuple[Any, ...]
    total: PrivacyNotion
    prior: Prior | None
    check: Check | None

    def __getitem__(self, name: str) -> Any:
        """What the reports of a column are drawn from."""
        return self.designs[self.schema.position(name)]

    @property
    def kernels(self) -> dict[str, Mechanism]:
        """The kernel of each column."""
        made = zip(self.names, self.designs, strict=True)
        return {name: mechanism_of(found) for name, found in made}

    @property
    def schema(self) -> Schema:
        """Names of the columns, with the bins of their numbers."""
        schemas = [kernel.schema for kernel in self.kernels.values()]
        return Schema(self.names, tuple(None if s is None else s.bins[0] for s in schemas))

    @property
    def combinations(self) -> tuple[Label, ...] | None:
        """The combinations of values that the guarantee covers; ``None`` where it covers all.

        Raises :class:`InputError` where they are not told.
        """
        if not self.total.uses_prior:
            return None
        if self.prior is None:
            raise InputError(
                "plan",
                expected=f"the plan itself, as {self.total} covers the combinations of its prior "
                "only",
                got="its public form, which does not tell them",
                remedy="release with the file of the plan",
            )
        return self.prior.restricted().labels

    def product(self, columns: Sequence[str] | None = None) -> Mechanism:
        """Reports of all columns, or of some, as one kernel, exact; inputs and outputs are tuples.

        Raises :class:`DataError` for a kernel too large to be made.
        """
        names = self.names if columns is None else columns
        kernels = [mechanism_of(self[name]) for name in names]
        labels = product(*(kernel.inputs for kernel in kernels))
        return product_kernel(kernels, labels).with_schema(self.schema.restricted(names))

    def together(self) -> Together:
        """All reports as one about the combination of values, with what is promised of it.

        Raises :class:`DataError` for a kernel too large to be made.
        """
        if self.prior is None or not self.total.uses_prior:
            return Together(self.product(), None, (self.total,))
        known = self.prior.restricted().with_schema(self.schema)
        made = product_kernel(list(self.kernels.values()), known.labels)
        return Together(made.with_schema(self.schema), known, (self.total,))


@dataclass(frozen=True, repr=False)
class ColumnsPlan(KernelPlan):
    """A kernel for each column, and what all of them leak together.

    Attributes
    ----------
    names : of the columns
    designs : for each column the kernel that estimates its frequencies best at its level
    total : the notion that all reports of a person have together
    prior : of the columns together; ``None`` where only those of each column were given
    check : exact verdict on ``total`` for all reports together
    weights : what the risk of each column weighs
    others : other ways to split the total level
    """

    designs: tuple[Design, ...]
    check: Check
    weights: tuple[float, ...]
    others: tuple[Split, ...] = ()

    @property
    def levels(self) -> dict[str, tuple[float, ...]]:
        """The levels of each column alone, in nats."""
        return {
            name: found.notions[0].levels
            for name, found in zip(self.names, self.designs, strict=True)
        }

    @property
    def risks(self) -> dict[str, float]:
        """Mean squared error of the frequencies of each column, times the number of reports."""
        return {name: found.risk for name, found in zip(self.names, self.designs, strict=True)}

    @property
    def risk(self) -> float:
        """The weighted sum of the risks."""
        return math.fsum(w * r for w, r in zip(self.weights, self.risks.values(), strict=True))

    @property
    def leaks(self) -> tuple[float, ...]:
        """The levels that all reports of a person have together, in nats, rounded up."""
        return self.check.achieved

    def __repr__(self) -> str:
        verdict = self.check.verdict
        leaks = ", ".join(f"{level:.9g}" for level in self.leaks)
        named = ", ".join(self.names)
        lines = [f"Plan for {self.total} of {named} together: {verdict}, achieved {leaks}"]
        for name, found, weight in zip(self.names, self.designs, self.weights, strict=True):
            level = ", ".join(f"{level:.6g}" for level in found.notions[0].levels)
            lines.append(
                f"{quote(name)}: level {level}, risk {found.risk:.6g}, weight {weight:g}, "
                f"{counted(found.mechanism.shape[1], 'output')}"
            )
        lines.append(f"risk together {self.risk:.6g} (squared error times the number of reports)")
        lines += [self.compared(other) for other in self.others]
        return "\n".join(lines)

    def compared(self, other: Split) -> str:
        """How another split does, in a line."""
        leaks = ", ".join(f"{level:.6g}" for level in other.leaks)
        pairs = zip(other.leaks, self.total.levels, strict=True)
        kept = all(leak <= level * (1 + 1e-9) for leak, level in pairs)
        if not kept:
            return f"{other.name}: leaks {leaks}, MORE THAN ASKED; risk {other.risk:.6g}"
        more = 100 * (other.risk / self.risk - 1)
        needs = f"{abs(more):.3g} % {'more' if more > 0 else 'fewer'} reports than the plan"
        if abs(more) < 0.05:
            needs = "as many reports as the plan"
        return f"{other.name}: risk {other.risk:.6g}, {needs}; leaks {leaks}"


@dataclass(frozen=True, repr=False)
class PublicPlan(KernelPlan):
    """The kernels of a plan with what they keep together, and nothing else of it.

    The prior of the columns together is the counts of people where it was counted in data, and so
    are risks and the levels that reports have under it. Weights are left out too.

    Reports can be drawn from it where the total notion is about no prior, such as LDP: then it is
    checked exactly, for all combinations of values. Otherwise it is what the maker states, and
    only the plan itself knows which combinations it covers. Estimates need no more than it.

    Attributes
    ----------
    names : of the columns
    designs : the public form of the design of each
    total : the notion that all reports of a person have together
    check : exact verdict on ``total``; ``None`` where it is stated
    """

    designs: tuple[PublicDesign, ...]
    prior: None

    @classmethod
    def of(
        cls, names: Sequence[str], designs: Sequence[PublicDesign], total: PrivacyNotion
    ) -> PublicPlan:
        """Kernels and total notion; raises :class:`CertificateError` where it does not hold."""
        check = None
        if not total.uses_prior:
            check = check_together(total, designs, None)
            if check.verdict is not Verdict.YES:
                evidence = f"{total} of all columns together does not hold: {check.evidence}"
                raise CertificateError(evidence, (check,))
        return cls(tuple(names), tuple(designs), total, None, check)

    def __repr__(self) -> str:
        named = ", ".join(self.names)
        how = "stated by its maker, under a prior that is not told"
        if self.check is not None:
            leaks = ", ".join(f"{level:.9g}" for level in self.check.achieved)
            how = f"checked here: {self.check.verdict}, achieved {leaks}"
        lines = [f"public form of a plan for {self.total} of {named} together; {how}"]
        for name, found in zip(self.names, self.designs, strict=True):
            told = ", ".join([*map(str, found.notions), *found.stated])
            lines.append(f"{quote(name)}: {told}, {told_shape(found.shape)}")
        return "\n".join(lines)


def product_kernel(kernels: Sequence[Mechanism], labels: Iterable[Label]) -> Mechanism:
    """Independent reports of several columns as one kernel, over tuples of their values; exact.

    Raises :class:`DataError` for a kernel of more than :data:`MOST_ENTRIES` entries.
    """
    labels = list(labels)
    made = product_rows(kernels, labels, [kernel.weights.astype(object) for kernel in kernels])
    names = list(product(*(kernel.outputs for kernel in kernels)))
    one = math.prod(kernel.denominator for kernel in kernels)
    return Mechanism.over(made, one, labels, names, check=False)


def product_rows(
    kernels: Sequence[Mechanism], labels: Sequence[Any], matrices: Sequence[NDArray[Any]]
) -> NDArray[Any]:
    """Products of entries of matrices, one for each column: a row for each tuple of values, a
    column for each tuple of reports. Raises :class:`DataError` where these are too many.
    """
    _check_entries(kernels, len(labels))
    made = np.ones((len(labels), 1), dtype=matrices[0].dtype)
    for place, (kernel, matrix) in enumerate(zip(kernels, matrices, strict=True)):
        row = {label: i for i, label in enumerate(kernel.inputs)}
        own = matrix[[row[label[place]] for label in labels]]
        made = (made[:, :, None] * own[:, None, :]).reshape(len(labels), -1)
    return made


def _check_entries(kernels: Sequence[Mechanism], combinations: int) -> None:
    outputs = math.prod(kernel.shape[1] for kernel in kernels)
    if combinations * outputs > MOST_ENTRIES:
        raise DataError(
            "reports of all columns together",
            expected=f"at most {MOST_ENTRIES:,} combinations of values and reports",
            got=f"{combinations:,} × {outputs:,}",
            remedy="plan fewer columns, merge values, or ask for LDP, whose levels add up",
        )


def large_lifts(kernels: Sequence[Mechanism], prior: Prior) -> ProductLifts | None:
    """What tells lifts of all reports together where their product kernel is too large."""
    known = prior.restricted()
    if len(known) * math.prod(kernel.shape[1] for kernel in kernels) <= MOST_ENTRIES:
        return None
    lifts = ProductLifts(tuple(kernels), known)
    return lifts if lifts.is_possible else None


def check_together(
    total: PrivacyNotion, kernels: Sequence[Mechanism], prior: Prior | None
) -> Check:
    """Whether all reports together have a notion, decided in integers and rationals.

    Under a notion of a prior, over the combinations of positive mass; else over all combinations.
    Levels of LDP add up exactly over columns, so that its product kernel need not be made; nor is a
    large one for bounds on lifts (PML, PMC, LIP, ALIP).
    """
    if isinstance(total, LDP):
        return _check_sum(total, kernels)
    lifts = large_lifts(kernels, prior) if total.uses_prior and prior is not None else None
    if lifts is not None and (told := check_lifts(total, lifts)) is not None:
        return told
    if total.uses_prior:
        assert prior is not None
        known = prior.restricted()
    else:  # before the combinations are listed
        _check_entries(kernels, math.prod(len(kernel.inputs) for kernel in kernels))
        known = Prior.uniform(list(product(*(kernel.inputs for kernel in kernels))))
    found: Check = total.check(product_kernel(kernels, known.labels), known)
    return found


def _check_sum(total: LDP, kernels: Sequence[Mechanism]) -> Check:
    """LDP of a product over all combinations: the largest ratio is the product of those."""
    checks = [total.check(kernel, Prior.uniform(kernel.inputs)) for kernel in kernels]
    ratio: Fraction | None = Fraction(1)
    for check in checks:
        ratio = None if ratio is None or check.ratio is None else ratio * check.ratio
    level = math.inf if ratio is None else max(0.0, log_upper(ratio))
    worst = [check.worst[0] for check in checks]
    output = tuple(w.output for w in worst)
    over, under = (
        f"({', '.join(side)})" for side in ([w.over for w in worst], [w.under for w in worst])
    )
    verdict = Verdict.NO if ratio is None else compare_with_exp(ratio, total.epsilon)
    shown = "infinite" if ratio is None else f"{float(ratio):.12g}"
    return Check(
        total,
        verdict,
        (Worst(level, output, over, under),),
        output,
        ratio,
        f"outcome {quote(output)}: likelihood ratio of {over} to {under} is {shown}, level "
        f"{rounded_up(level, 12)} against {shown_level(total.epsilon, 12)}; levels of columns "
        "add up",
    )
