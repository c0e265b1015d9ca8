"""What others may know of a plan for several columns: its kernels, without the prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..errors import CertificateError, quote
from ..exact import Verdict
from ..privacy import PrivacyNotion
from ..privacy.notion import Check
from ..published import PublicDesign
from .columns_plan import KernelPlan, check_together


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

    names: tuple[str, ...]
    designs: tuple[PublicDesign, ...]
    total: PrivacyNotion
    check: Check | None
    prior: None = field(default=None, init=False)

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
        return cls(tuple(names), tuple(designs), total, check)

    def bare(self) -> PublicPlan:
        """Without kernels."""
        return replace(self, designs=())

    def __repr__(self) -> str:
        named = ", ".join(self.names)
        how = "stated by its maker, under a prior that is not told"
        if self.check is not None:
            leaks = ", ".join(f"{level:.9g}" for level in self.check.achieved)
            how = f"checked here: {self.check.verdict}, achieved {leaks}"
        lines = [f"public form of a plan for {self.total} of {named} together; {how}"]
        for name, found in zip(self.names, self.designs, strict=True):
            told = ", ".join([*map(str, found.notions), *found.stated])
            lines.append(
                f"{quote(name)}: {told}, {found.shape[0]} inputs, {found.shape[1]} outputs"
            )
        return "\n".join(lines)
