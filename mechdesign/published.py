"""What others may know of a design: its kernel and guarantee, without the prior.

A fingerprint names a kernel, alone or with its guarantee, in receipts and ledgers.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from .errors import CertificateError
from .exact import Verdict, write_integer
from .labels import Label, listing
from .mechanism import ImplicitKernel, Mechanism
from .prior import Prior
from .privacy import PrivacyNotion
from .privacy.notion import notion_fields
from .utility.estimation import Estimation
from .utility.questions import Question, check_sizes

# Digits of a fingerprint that tell those of one place apart.
_SHOWN = 12


def kernel_fingerprint(mechanism: Mechanism | ImplicitKernel) -> str:
    """SHA-256 of labels and weights: equal for equal kernels, whatever their denominator.

    >>> a = Mechanism.from_weights([[1, 1]], 1)
    >>> b = Mechanism.from_weights([[2, 2]], 2)
    >>> kernel_fingerprint(a) == kernel_fingerprint(b)
    True
    """
    if isinstance(mechanism, ImplicitKernel):
        return mechanism.fingerprint
    kept = vars(mechanism)
    if "_kernel_fingerprint" not in kept:
        kept["_kernel_fingerprint"] = _fingerprint(mechanism)
    return str(kept["_kernel_fingerprint"])


def _fingerprint(mechanism: Mechanism) -> str:
    weights, one = mechanism.weights, mechanism.denominator
    common = math.gcd(int(np.gcd.reduce(weights.ravel())), one)
    told = denominator_to_json(one // common)
    digest = hashlib.sha256()
    parts = [[repr(v) for v in mechanism.inputs], [repr(v) for v in mechanism.outputs]]
    digest.update(json.dumps([*parts, *told.values()]).encode())
    for row in weights:
        # Integers of 64 bits are written by Python's own loop, all others one by one.
        plain = (row // common).tolist()
        write = write_integer if weights.dtype == object else str
        digest.update((",".join(map(write, plain)) + ";").encode())
    return digest.hexdigest()


def denominator_to_json(one: int) -> dict[str, Any]:
    """The denominator of a kernel, by its bits where it is a power of two."""
    bits = one.bit_length() - 1
    is_power = one == 1 << bits
    return {"denominator_bits": bits} if is_power else {"denominator": write_integer(one)}


def shown_fingerprint(digest: str) -> str:
    """A fingerprint as messages and tables show it, by its first digits; files hold all of them.

    >>> shown_fingerprint("0123456789abcdef" * 4)
    '0123456789ab…'
    """
    return f"{digest[:_SHOWN]}…"


def told_in_public(notions: Iterable[Any]) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Notions whose parameters say nothing about the data, and the names and levels of the others.

    Of a notion about a prior levels are told, and δ; sets of priors, chances given a side
    information, shares of entries and the like may be counts of people. A notion about none is a
    promise that nobody can check without all of its parameters.

    >>> import mechdesign as md
    >>> told_in_public([md.PML(1), md.RobustPML.from_counts(0.5, {"a": 3, "b": 2})])
    ((PML(epsilon=1.0),), ('RobustPML(0.5)',))
    """
    whole, named = [], []
    for notion in notions:
        allowed = {*notion.level_fields, "delta"}
        kept = notion_fields(notion)
        if not notion.uses_prior or all(
            value is None or name in allowed for name, value in kept.items()
        ):
            whole.append(notion)
        else:
            named.append(notion.title)
    return tuple(whole), tuple(named)


def public_fingerprint(
    mechanism: Mechanism | ImplicitKernel, notions: Iterable[Any], stated: Iterable[str] = ()
) -> str:
    """SHA-256 of a kernel and the notions it keeps, which says nothing else about a prior.

    The fingerprint in a certificate covers the prior as well. Where that was counted in data,
    whoever has the fingerprint can try counts until they find those of the people, so it must not
    go where reports go. Nor must that of a notion that holds priors: ``stated`` is what is told of
    such, see :func:`told_in_public`.

    What a design asks is no part of it: reports are drawn and protect people the same, whatever is
    estimated from them, so that those of one kernel and guarantee count together.
    """
    whole, named = told_in_public(notions)
    parts: list[Any] = [
        [type(notion).__name__, *(repr(pair) for pair in sorted(notion_fields(notion).items()))]
        for notion in whole
    ]
    parts += [*named, *stated]
    return hashlib.sha256(json.dumps([kernel_fingerprint(mechanism), parts]).encode()).hexdigest()


class PublicDesign(Mechanism):
    """The kernel of a design with what it guarantees and what it asks, and nothing else of it.

    A prior that was counted in data is those counts, which no notion covers; it is left out, and so
    is the certificate's fingerprint, from which a prior of few people could be found by trying, and
    so are the parameters of notions that hold priors or other chances. It is a :class:`Mechanism`:
    whatever takes one takes it.

    What cannot be left out is the kernel. It was fitted to the prior: under LDP and the like it
    shows little more than how masses compare, but under notions of a prior, such as PML, masses can
    often be computed from its entries.

    With the prior go the weights that a design for estimates is optimal for: reports are weighed as
    is best for equal masses, unless ``truth=`` of :func:`mechdesign.estimate` names a distribution.
    An estimate says so where that costs more than next to nothing.

    Parameters of notions that are about no prior are told whole, also where they were computed from
    one (levels by symbol, distances): take others, or a prior with noise. :meth:`of` takes a kernel
    without its prior, so that it cannot warn of what that gives back, as
    :func:`mechdesign.public_form` of a design does.

    What a design for questions asks (``of`` of :class:`mechdesign.utility.Estimation`) is told, as
    estimates and plans answer it: names of the answers, and the coefficients of every symbol, to
    the last bit. Coefficients that were computed from data, and names that say something of people,
    are published with it. The truth is not told, and neither is what errors weigh, which is often
    one over a share and which no estimate reads: every answer has its least error for all weights.

    Attributes
    ----------
    notions : what the design guarantees
    stated : names and levels of what it guarantees besides, whose parameters are not told
    question : names of the answers that it was made for, and the coefficients ``(N, F)`` of each
        symbol in each; ``None`` where it was made for none
    fingerprint : of kernel, labels and notions, as receipts name it; the question is no part of it
    """

    notions: tuple[PrivacyNotion, ...]
    stated: tuple[str, ...]
    question: Question | None
    fingerprint: str

    @classmethod
    def of(
        cls,
        mechanism: Mechanism,
        notions: Iterable[PrivacyNotion],
        stated: Iterable[str] = (),
        question: Question | None = None,
    ) -> PublicDesign:
        """Kernel and guarantee together, and what its reports are to answer.

        Notions that can be checked without a prior are; the others are what the maker states.
        Raises :class:`CertificateError` where one does not hold, :class:`UtilityError` for a
        question about other symbols, of numbers that are none, or with names that repeat.
        """
        made = cls.over(
            mechanism.weights,
            mechanism.denominator,
            mechanism.inputs,
            mechanism.outputs,
            check=False,
        )
        assert isinstance(made, PublicDesign)
        made.notions, named = told_in_public(notions)
        made.stated = (*named, *stated)
        made.question = None if question is None else _checked(question, made.inputs)
        anything = Prior.uniform(made.inputs).with_schema(mechanism.schema)
        for notion in made.notions:
            if not notion.uses_prior:
                check = notion.check(made, anything)
                if check.verdict is not Verdict.YES:
                    raise CertificateError(f"{notion} does not hold: {check.evidence}", (check,))
        made.schema = mechanism.schema
        made.fingerprint = public_fingerprint(made, made.notions, made.stated)
        return made

    def __repr__(self) -> str:
        checked = ", ".join(str(n) for n in self.notions if not n.uses_prior) or "none"
        stated = ", ".join([*(str(n) for n in self.notions if n.uses_prior), *self.stated])
        lines = [f"public form of a design; checked here: {checked}"]
        if stated:
            lines.append(f"stated by its maker, under a prior that is not told: {stated}")
        if self.question is not None:
            lines.append(f"made to answer: {listing(self.question.labels)}")
        kernel, whole = map(shown_fingerprint, (kernel_fingerprint(self), self.fingerprint))
        lines.append(f"fingerprints: kernel {kernel}; kernel and guarantee {whole}")
        return "\n".join([*lines, super().__repr__()])

    __hash__ = Mechanism.__hash__


def _checked(question: Question, symbols: tuple[Label, ...]) -> Question:
    """The question, where it is one about these symbols; raises :class:`UtilityError`."""
    asked = Estimation(np.asarray(question.weights).T, names=question.labels)
    found = asked.question(symbols)
    check_sizes(found.weights)
    return found
