"""Everything the library raises, as one tree.

::

    MechdesignError
    ├── InputError (ValueError)         what was handed in cannot be used
    │   ├── PriorError                  a prior: negative, not finite, not summing to one, labels
    │   ├── KernelError                 a kernel: shape, entries, row sums, labels
    │   ├── LevelError                  a privacy level or a list of notions
    │   ├── UtilityError                a utility: shape, labels, numbers
    │   ├── RequirementError            a requirement: labels, numbers, what it can be asked with
    │   ├── DataError                   a table, file or column
    │   └── UnknownNameError            a name that is not registered (the nearest one is named)
    ├── NoMethodError                   no method applies; says why each refused
    ├── InfeasibleError                 no kernel does what is asked; carries the proof
    ├── SolverError                     a solver stopped without a usable answer
    │   └── UntoldError                 no reports answer what is to be estimated
    ├── CertificateError                a kernel failed its exact check; carries the evidence
    └── StorageError                    a saved file: unknown schema, damaged or altered

    MechdesignWarning (UserWarning)
    ├── ZeroMassWarning                 symbols of zero mass are left out of the design
    ├── GapWarning                      the kernel is certified private, its optimality is not tight
    ├── NoGuaranteeWarning              a guarantee has no finite level, or not for all
    ├── RepeatWarning                   several reports about one person leak more than one
    ├── ExposureWarning                 what should be secret can be read by others
    ├── PrecisionWarning                there are too few reports to say much
    ├── MisfitWarning                   reports that the mechanism hardly makes
    ├── UntoldWarning                   reports that are uninformative about the secret
    ├── CountsWarning                   a file that holds exact counts of the people it is about
    ├── EdgesWarning                    bins whose edges were chosen by the secrets
    ├── OutsideWarning                  points that belong to no place and are left out
    ├── AlikeWarning                    symbols that people would take for one
    └── LeftoverWarning                 unfinished files of a run that was stopped
"""

from __future__ import annotations

import difflib
import reprlib
import sys
import unicodedata
import warnings
from collections.abc import Iterable
from itertools import accumulate
from typing import Any, TypeGuard, overload

# No part of a message is longer than this, nor names more of what is known.
_LONGEST = 400
_LONGEST_MESSAGE = 2000
# Values longer than this are cut where they are quoted.
_QUOTED = 80
# Joiners of letters, and the space of scripts whose signs are squares.
_SHAPING = "\u200c\u200d\u3000"


def visible(text: str) -> str:
    r"""A text in one line, with invisible characters written as its escape code.

    That is every control character, line break, unusual space and mark of writing direction, so
    that nothing a file or a caller hands in can move the cursor, colour a terminal or reorder what
    is read there. The marks that join letters of Arabic and Indic scripts and parts of emoji stay
    where they do so, and the wide space where it lies between other than Latin letters.

    >>> print(visible("a\x1b[31m\nb\u202e"), visible("a\u200db"))
    a\x1b[31m\nb\u202e a\u200db
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or _belongs(text, i) else ascii(c)[1:-1] for i, c in enumerate(text)
    )


def _belongs(text: str, place: int) -> bool:
    """Whether a character that has no picture of its own shapes those beside it.

    Joiners do after a virama and between letters of Arabic, as identifiers may hold them (RFC 5892,
    appendix A), before a virama too, and between the parts of an emoji.
    """
    mark = text[place]
    if mark not in _SHAPING or not 0 < place < len(text) - 1:
        return False
    before, after = text[place - 1], text[place + 1]
    if mark == "\u3000":
        return all(unicodedata.east_asian_width(c) in "WF" for c in (before, after))
    if 9 in (unicodedata.combining(before), unicodedata.combining(after)):
        return True
    start = place - 1
    while start > 0 and unicodedata.category(text[start]) == "Mn":
        start -= 1
    if unicodedata.bidirectional(text[start]) == unicodedata.bidirectional(after) == "AL":
        return True
    parts = unicodedata.category(text[start]), unicodedata.category(after)
    return mark == "\u200d" and parts[0] in ("So", "Sk") and parts[1] == "So"


def visible_lines(text: str) -> str:
    """A text of several lines, each of them :func:`visible`."""
    if text.isprintable():
        return text
    return "\n".join(visible(line) for line in text.split("\n"))


def quote(value: object, most: int = _QUOTED) -> str:
    """How a value is quoted in a message: in one line, cut to ``most`` characters, whatever it is.

    Arrays and tables are named by their shape; a value that cannot say what it is, by its type.

    >>> import numpy as np
    >>> quote(np.eye(3)), quote("a"), quote(10**5000)
    ('a ndarray of shape (3, 3)', "'a'", 'a int of 16610 bits')
    """
    kind = type(value).__name__
    try:
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple) and shape:
            return visible(f"a {kind} of shape {shape}"[:most])
        if isinstance(value, int) and value.bit_length() > 4 * most:
            return f"a {kind} of {value.bit_length()} bits"
        brief = reprlib.Repr()
        brief.maxstring = brief.maxother = brief.maxlong = most
        brief.maxlist = brief.maxtuple = brief.maxset = brief.maxfrozenset = brief.maxdict = 10
        brief.maxlevel = 4
        text = _quoted(value) if type(value) is str and len(value) <= most else brief.repr(value)
    except Exception:  # a value may do anything when it is asked what it is
        return visible(f"a {kind}"[:most])
    return _cut(_line(text), most)


def _quoted(text: str) -> str:
    """``repr`` of a text, except that what :func:`visible` leaves as it is stays."""
    found = repr(text)
    if text.isprintable() or not any(c in _SHAPING for c in text):
        return found
    mark = found[0]
    parts = (
        c if _belongs(text, i) else "\\" + c if c == mark else repr(c)[1:-1]
        for i, c in enumerate(text)
    )
    return mark + "".join(parts) + mark


def is_iterable(value: Any) -> TypeGuard[Iterable[Any]]:
    """Whether a loop can run over a value; arrays without a dimension only look as if.

    >>> import numpy as np
    >>> is_iterable([1]), is_iterable(np.array(1)), is_iterable(1)
    (True, False, False)
    """
    return isinstance(value, Iterable) and getattr(value, "shape", None) != ()


def _line(text: str) -> str:
    """One visible line; line breaks and what is indented after them become one space."""
    if "\n" in text:
        text = " ".join(text.split())
    return visible(text)


def _cut(text: str, most: int) -> str:
    """A text cut in the middle, as both ends say something."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 3
    return f"{text[: most - 1 - tail]}…{text[-tail:]}"


class MechdesignError(Exception):
    """Base class of every error raised on purpose by this package. Its message is one line."""

    def __init__(self, *args: Any) -> None:
        super().__init__(
            *(
                _cut(_line(part), _LONGEST_MESSAGE) if isinstance(part, str) else part
                for part in args
            )
        )

    def __reduce__(self) -> Any:
        # The constructors take other arguments than the message, so pickle must not call them.
        return _restore, (type(self), self.args, self.__dict__)


def _restore(
    cls: type[MechdesignError], args: tuple[Any, ...], state: dict[str, Any]
) -> MechdesignError:
    error = cls.__new__(cls)
    error.args = args
    error.__dict__.update(state)
    return error


class InputError(MechdesignError, ValueError):
    """Something handed in cannot be used.

    The message always says what was expected, what came, and what to do. Engines that carry an
    error from a worker make it anew from its message alone.
    """

    @overload
    def __init__(self, subject: str, *, expected: str, got: str, remedy: str) -> None: ...
    @overload
    def __init__(self, subject: str) -> None: ...
    def __init__(
        self, subject: str, *, expected: str = "", got: str = "", remedy: str = ""
    ) -> None:
        if not (expected or got or remedy):
            super().__init__(subject)
            self.subject = self.expected = self.got = self.remedy = ""
            return
        parts = [_cut(_line(str(part)), _LONGEST) for part in (subject, expected, got, remedy)]
        self.subject, self.expected, self.got, self.remedy = parts
        end = "" if remedy.endswith("?") else "."
        super().__init__("{}: expected {}, got {}; {}{}".format(*parts, end))


class PriorError(InputError):
    """A prior that is not a probability distribution with distinct labels."""


class KernelError(InputError):
    """A kernel that is not a row-stochastic matrix with distinct labels."""


class LevelError(InputError):
    """A privacy level, or a list of privacy notions, that has no meaning."""


class UtilityError(InputError):
    """A utility whose shape, labels or numbers do not fit the problem."""


class RequirementError(InputError):
    """A requirement that has no meaning, or does not fit the design it is asked of."""


class DataError(InputError):
    """A table, file or column that cannot be read as asked."""


def listed(
    value: Any,
    subject: str,
    expected: str,
    error: type[InputError] = LevelError,
    remedy: str = "pass them in a list",
) -> list[Any]:
    """The members of an iterable that is no text; raises ``error`` for anything else."""
    if isinstance(value, (str, bytes)) or not is_iterable(value):
        raise error(subject, expected=expected, got=quote(value), remedy=remedy)
    return list(value)


class UnknownNameError(InputError):
    """A name that is not registered; ``also`` is what else is said of it."""

    def __init__(self, kind: str, name: object, known: Iterable[str], also: str = "") -> None:
        known = sorted(known)
        word = name.lower() if isinstance(name, str) else quote(name)
        near = difflib.get_close_matches(word[:_LONGEST], [k.lower() for k in known], n=1)
        hint = next((k for k in known if near and k.lower() == near[0]), None)
        remedy = f"did you mean {quote(hint)}?" if hint else "choose one of these"
        room = accumulate((len(k) + 2 for k in known), initial=len("one of  and 000 more"))
        shown = max(1, sum(length <= _LONGEST for length in room) - 1)
        more = f" and {len(known) - shown} more" if len(known) > shown else ""
        expected = "one of " + ", ".join(known[:shown]) + more
        super().__init__(kind, expected=expected, got=quote(name) + also, remedy=remedy)


class NoMethodError(MechdesignError):
    """No method applies to the problem; ``refusals`` maps each method to its reason."""

    def __init__(self, problem: str, refusals: dict[str, str]) -> None:
        self.refusals = dict(refusals)
        names: dict[str, list[str]] = {}
        for name, why in refusals.items():
            names.setdefault(why, []).append(name)
        reasons = "; ".join(f"{', '.join(who)}: {why}" for why, who in names.items())
        super().__init__(f"no method applies to {problem} ({reasons})")


class InfeasibleError(MechdesignError):
    """No kernel satisfies everything that is asked.

    Attributes
    ----------
    clash : descriptions of notions and requirements that cannot hold together; without any one of
        them the others can, as far as that was decided
    proof : dual variables that prove it, an
        :class:`mechdesign.certificate.infeasible.Infeasibility`
    levels : for each notion of the clash the smallest level, in nats, at which the others are known
        to be feasible, ``inf`` where there is none
    """

    def __init__(
        self,
        message: str,
        clash: tuple[str, ...] = (),
        proof: Any = None,
        levels: dict[str, float] | None = None,
    ) -> None:
        self.clash, self.proof, self.levels = clash, proof, dict(levels or {})
        super().__init__(message)


class SolverError(MechdesignError):
    """A solver stopped without a usable answer."""


class UntoldError(SolverError):
    """No private kernel's reports answer what is to be estimated, however many they are.

    ``is_proved`` says that rationals decided it; in floats columns that differ very little are
    taken for equal.
    """

    def __init__(self, message: str, *, is_proved: bool = False) -> None:
        self.is_proved = is_proved
        super().__init__(message)


class CertificateError(MechdesignError):
    """A kernel failed its exact check. ``evidence`` holds the failed checks."""

    def __init__(self, message: str, evidence: tuple[object, ...] = ()) -> None:
        self.evidence = evidence
        super().__init__(message)


class StorageError(MechdesignError):
    """A saved file with an unknown schema, missing parts, or contents that were altered."""


def warn(message: str, category: type[MechdesignWarning]) -> None:
    """Issue a warning, in one line, that points at the first line outside this package."""
    package = __name__.partition(".")[0]
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(_line(message), category, stacklevel=level)


class MechdesignWarning(UserWarning):
    """Base class of every warning issued by this package."""


class ZeroMassWarning(MechdesignWarning):
    """Symbols of zero prior mass: the design is made on the other symbols."""


class GapWarning(MechdesignWarning):
    """The returned kernel is certified private, but the gap to the bound is large."""


class NoGuaranteeWarning(MechdesignWarning):
    """A guarantee has no finite level, or does not hold for some; the message says why."""


class RepeatWarning(MechdesignWarning):
    """Several reports about the same person leak more than each alone."""


class ExposureWarning(MechdesignWarning):
    """Others can read what should be secret, such as the key of a release."""


class PrecisionWarning(MechdesignWarning):
    """An estimate whose error is as large as what it estimates can be."""


class MisfitWarning(MechdesignWarning):
    """Reports that are very unlikely from the mechanism that is said to have made them."""


class UntoldWarning(MechdesignWarning):
    """A mechanism whose reports are uninformative about the distribution of the secret."""


class CountsWarning(MechdesignWarning):
    """A design, made from the very data it is applied to, whose file holds their exact counts."""


class EdgesWarning(MechdesignWarning):
    """Bins whose edges were chosen by the very numbers that they are to hide."""


class OutsideWarning(MechdesignWarning):
    """Points that belong to none of the places and are left out, counted."""


class AlikeWarning(MechdesignWarning):
    """Symbols that differ by what people overlook: spaces, letter case, encodings."""


class LeftoverWarning(MechdesignWarning):
    """Unfinished files that a run which was stopped left behind."""
