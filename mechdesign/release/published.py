"""A design as others may have it: kernel, labels and guarantee, without the prior."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import CertificateError
from ..exact import Verdict
from ..mechanism import Mechanism
from ..prior import Prior
from ..privacy import PrivacyNotion
from .receipts import FREE, public_fingerprint, told_in_public


def needs_prior(notion: PrivacyNotion) -> bool:
    """Whether it takes the prior to check a notion.

    >>> import mechdesign as md
    >>> needs_prior(md.LDP(1)), needs_prior(md.PML(1))
    (False, True)
    """
    return not isinstance(notion, FREE)


class PublicDesign(Mechanism):
    """The kernel of a design with what it guarantees, and nothing else of the design.

    A prior that was counted in data is those counts, which no notion covers; it is left out, and so
    is the certificate's fingerprint, from which a prior of few people could be found by trying, and
    so are the parameters of notions that hold priors or other chances. It is a :class:`Mechanism`:
    whatever takes one takes it.

    What cannot be left out is the kernel. It was fitted to the prior: under LDP and the like it
    shows little more than how masses compare, but under notions of a prior, such as PML, masses can
    often be computed from its entries.

    Attributes
    ----------
    notions : what the design guarantees
    stated : names and levels of what it guarantees besides, whose parameters are not told
    fingerprint : of kernel, labels and notions, as receipts name it
    """

    notions: tuple[PrivacyNotion, ...]
    stated: tuple[str, ...]
    fingerprint: str

    @classmethod
    def of(
        cls, mechanism: Mechanism, notions: Iterable[PrivacyNotion], stated: Iterable[str] = ()
    ) -> PublicDesign:
        """Kernel and guarantee together.

        Notions that can be checked without a prior are; the others are what the maker states.
        Raises :class:`CertificateError` where one does not hold.
        """
        made = cls.from_weights(
            mechanism.weights, mechanism.bits, mechanism.inputs, mechanism.outputs, check=False
        )
        assert isinstance(made, PublicDesign)
        made.notions, named = told_in_public(notions)
        made.stated = (*named, *stated)
        anything = Prior.uniform(made.inputs)
        for notion in made.notions:
            if not needs_prior(notion):
                check = notion.check(made, anything)
                if check.verdict is not Verdict.YES:
                    raise CertificateError(f"{notion} does not hold: {check.evidence}", (check,))
        made.fingerprint = public_fingerprint(made, made.notions, made.stated)
        return made

    def __reduce__(self) -> Any:
        return _rebuilt, (
            Mechanism.from_weights(self.weights, self.bits, self.inputs, self.outputs, check=False),
            self.notions,
            self.stated,
        )

    def __repr__(self) -> str:
        checked = ", ".join(str(n) for n in self.notions if not needs_prior(n)) or "none"
        stated = ", ".join([*(str(n) for n in self.notions if needs_prior(n)), *self.stated])
        lines = [f"public form of a design; checked here: {checked}"]
        if stated:
            lines.append(f"stated by its maker, under a prior that is not told: {stated}")
        return "\n".join([*lines, f"fingerprint {self.fingerprint}", super().__repr__()])

    __hash__ = Mechanism.__hash__


def _rebuilt(
    mechanism: Mechanism, notions: tuple[PrivacyNotion, ...], stated: tuple[str, ...]
) -> PublicDesign:
    return PublicDesign.of(mechanism, notions, stated)
