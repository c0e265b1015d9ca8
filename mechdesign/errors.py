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
    ├── StorageError                    a saved file: unknown schema, damaged or altered
    └── MissingLibraryError (ImportError)  a library that an extra brings is not installed

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
    ├── UnhiddenWarning                 columns known to be secret that are written as they are
    ├── EdgesWarning                    bins whose edges were chosen by the secrets
    ├── OpenBinWarning                  bins without an end that stand for numbers in distances
    ├── OutsideWarning                  points that belong to no place and are left out
    ├── AlikeWarning                    symbols that people would take for one
    ├── LeftoverWarning                 unfinished files of a run that was stopped
    ├── DisclosureWarning               a kernel of which one report gives the secret away
    └── GlyphWarning                    pictures with boxes in place of characters without a font

Each has a code that never changes its meaning, listed in :data:`KINDS`; :func:`explained` and
``mechdesign doctor MD103`` say what it means and what to do.
"""

from __future__ import annotations

import difflib
import re
import reprlib
import sys
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeGuard, overload

# No part of a message is longer than this, nor names more of what is known.
_LONGEST = 400
_LONGEST_MESSAGE = 2000
# Values longer than this are cut where they are quoted.
_QUOTED = 80
# Joiners of letters, and the space of scripts whose signs are squares.
_SHAPING = "\u200c\u200d\u3000"


# Whether messages are for somebody who types commands.
_options_alone = False


@contextmanager
def options_alone() -> Iterator[None]:
    """Messages name options in place of parameters of Python, see :func:`asked_by`."""
    global _options_alone
    before, _options_alone = _options_alone, True
    try:
        yield
    finally:
        _options_alone = before


def asked_by(python: str, option: str) -> str:
    """How something is asked for: in Python with the option behind it, at the command line the
    option alone.

    >>> asked_by("missing='drop'", "--missing drop")
    "missing='drop' (--missing drop)"
    """
    return option if _options_alone else f"{python} ({option})"


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
    """Base class of every error of the package.

    Notes
    -----
    Its message is one line.
    """

    code = "MD000"
    advice = (
        "Catch it where all of them are treated alike; what is raised is one of the kinds below, "
        "or names in one line what stopped it."
    )

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
    """Something handed in cannot be used; the message says what was expected and what came.

    Notes
    -----
    Engines that carry an error from a worker make it anew from its message alone.
    """

    code = "MD100"
    advice = "Correct the value as the end of the message says."

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
    """A prior is no probability distribution.

    A number is negative or not finite, the sum is not one, or labels are missing or occur twice.
    """

    code = "MD101"
    advice = (
        "Give non-negative numbers that sum to one, with one distinct label each; "
        "Prior.from_counts and Prior.from_data make them from data."
    )


class KernelError(InputError):
    """A kernel is not row-stochastic.

    Its shape, an entry, the sum of a row or a label does not fit.
    """

    code = "MD102"
    advice = (
        "Give one row for each input and one column for each output, rows that sum to one, and "
        "labels in the order of the prior."
    )


class LevelError(InputError):
    """A privacy level, or a list of notions, has no meaning."""

    code = "MD103"
    advice = (
        "Give notions with levels in nats, at least zero, such as md.PML(0.5) or pml:0.5; several "
        "go in a list. What a notion needs beside levels follows them in its text, as in "
        "dp:1,adjacent; for one of your own its class says how that is read (written)."
    )


class UtilityError(InputError):
    """A utility does not fit the problem in its shape, labels or numbers.

    Where none is named, 'mechdesign certify' takes Hamming's, the share of reports that are right,
    which needs outputs with names of symbols.
    """

    code = "MD104"
    advice = (
        "Give a matrix with symbols as rows and outputs as columns, finite numbers, and the "
        "labels of the prior. For a kernel whose outputs are no symbols give --utility mutual-"
        "information or such a matrix, or say with --outputs which symbol each column reports."
    )


class RequirementError(InputError):
    """A requirement has no meaning, or does not fit the design that it is asked of."""

    code = "MD105"
    advice = (
        "Compare its labels with those of the design and its numbers with what the message expects."
    )


class DataError(InputError):
    """A table, file or column cannot be read as asked.

    It is missing, empty, or holds values that do not fit.
    """

    code = "MD106"
    advice = "Check path, column and missing values (--missing says what to do with them)."


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


def nearest_name(name: str, known: Sequence[str]) -> str | None:
    """The known name that one was likely meant to be, ``None`` where none is near.

    >>> nearest_name("slepe", ["exams", "sleep"]), nearest_name("a", ["exams", "sleep"])
    ('sleep', None)
    """
    word, names = name.lower(), [k.lower() for k in known]
    # Letters that changed places are likelier than others in their place.
    near = [k for k in names if sorted(k) == sorted(word)]
    near = near or difflib.get_close_matches(word[:_LONGEST], names, n=1)
    return next((k for k in known if near and k.lower() == near[0]), None)


class UnknownNameError(InputError):
    """A name is not known where it was used.

    The message lists those that are and suggests the nearest.

    Notes
    -----
    ``also`` is what else is said of the name.
    """

    code = "MD107"
    advice = (
        "Use one of those names; for one of your own, import its module first, or write "
        "package.module:Name."
    )

    def __init__(self, kind: str, name: object, known: Iterable[str], also: str = "") -> None:
        known = sorted(known)
        hint = nearest_name(name if isinstance(name, str) else quote(name), known)
        remedy = f"did you mean {quote(hint)}?" if hint else "choose one of these"
        room = accumulate((len(k) + 2 for k in known), initial=len("one of  and 000 more"))
        shown = max(1, sum(length <= _LONGEST for length in room) - 1)
        more = f" and {len(known) - shown} more" if len(known) > shown else ""
        expected = "one of " + ", ".join(known[:shown]) + more
        super().__init__(kind, expected=expected, got=quote(name) + also, remedy=remedy)


def check_choice(what: str, value: Any, known: Sequence[str]) -> None:
    """Raise :class:`UnknownNameError` for an option that is none of the known ones."""
    if not isinstance(value, str) or value not in known:
        raise UnknownNameError(what, value, known)


class NoMethodError(MechdesignError):
    """No method solves this combination of utility, notions and requirements.

    The message gives the reason of each.

    Attributes
    ----------
    refusals : the reason of each method
    """

    code = "MD201"
    advice = (
        "Ask for another solver, notion or utility; 'mechdesign design … --explain' says what "
        "applies without solving."
    )

    def __init__(self, problem: str, refusals: dict[str, str]) -> None:
        self.refusals = dict(refusals)
        names: dict[str, list[str]] = {}
        for name, why in refusals.items():
            names.setdefault(why, []).append(name)
        reasons = "; ".join(f"{', '.join(who)}: {why}" for why, who in names.items())
        super().__init__(f"no method applies to {problem} ({reasons})")


class InfeasibleError(MechdesignError):
    """No kernel satisfies everything that is asked, and there is a proof.

    The message names what clashes and the smallest levels that would do.

    Attributes
    ----------
    clash : descriptions of notions and requirements that cannot hold together; without any one of
        them the others can, as far as that was decided
    proof : dual variables that prove it, an
        :class:`mechdesign.certificate.infeasible.Infeasibility`
    levels : for each notion of the clash the smallest level, in nats, at which the others are known
        to be feasible, ``inf`` where there is none
    """

    code = "MD301"
    advice = (
        "Raise one of those levels or drop one of the requirements; --output keeps the proof, "
        "which 'mechdesign verify' checks."
    )

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
    """A solver stopped without a usable answer.

    That is for want of time, or in floats that do not suffice.
    """

    code = "MD401"
    advice = (
        "Allow more time (--time-limit), or ask for another solver; --explain lists those that "
        "apply."
    )


class UntoldError(SolverError):
    """No private kernel's reports answer the question that is to be estimated.

    That is so however many they are.

    Attributes
    ----------
    is_proved : whether rationals decided it; in floats columns that hardly differ count as equal
    """

    code = "MD402"
    advice = (
        "Ask for less (totals of groups), raise the level, or drop the requirement that forbids it."
    )

    def __init__(self, message: str, *, is_proved: bool = False) -> None:
        self.is_proved = is_proved
        super().__init__(message)


class CertificateError(MechdesignError):
    """A kernel failed its exact check and is not returned; the evidence holds what failed.

    Attributes
    ----------
    evidence : the checks that failed
    """

    code = "MD501"
    advice = (
        "For a kernel of your own, make it private with md.certify; for one of the package this "
        "is a mistake of ours: report it with the input."
    )

    def __init__(self, message: str, evidence: tuple[object, ...] = ()) -> None:
        self.evidence = evidence
        super().__init__(message)


class StorageError(MechdesignError):
    """A saved file has an unknown schema or missing parts, or was altered after it was saved."""

    code = "MD601"
    advice = (
        "Take the file from where it was made; 'mechdesign verify' says which part fails; a newer "
        "file needs a newer version."
    )


class MissingLibraryError(MechdesignError, ImportError):
    """What was asked needs a library that is not installed; it comes with an extra."""

    code = "MD602"
    advice = "Run the command that the message names, such as: pip install 'mechdesign[web]'."

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(
            f"{library} is not installed; install it with: pip install 'mechdesign[{extra}]'"
        )
        # Readers of any ImportError look for its name.
        self.library, self.extra, self.name = library, extra, library


def warn(message: str, category: type[MechdesignWarning]) -> None:
    """Issue a warning, in one line, that points at the first line outside this package."""
    package = __name__.partition(".")[0]
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(_line(message), category, stacklevel=level)


class MechdesignWarning(UserWarning):
    """Base class of every warning of the package."""

    code = "MD800"
    advice = "Filter it where all of them are treated alike."


class ZeroMassWarning(MechdesignWarning):
    """Symbols of zero prior mass are left out of the design.

    They come back with reports that are harmless.
    """

    code = "MD801"
    advice = "Nothing, if they cannot occur; otherwise give them mass."


class GapWarning(MechdesignWarning):
    """The kernel is certified private; its value may be below the optimum by the gap told."""

    code = "MD802"
    advice = "Allow more time, or use the kernel: its privacy does not depend on the gap."


class NoGuaranteeWarning(MechdesignWarning):
    """A guarantee has no finite level, or does not hold for everybody; the message says why."""

    code = "MD803"
    advice = "Choose a notion that covers the case, or tell those concerned what is not protected."


class RepeatWarning(MechdesignWarning):
    """Several reports about one person leak more together than each alone."""

    code = "MD804"
    advice = (
        "Compose their levels (md.compose, 'mechdesign compose'), or keep the first report and "
        "repeat it (identities)."
    )


class ExposureWarning(MechdesignWarning):
    """Others can read what should be secret, such as the key of a release."""

    code = "MD805"
    advice = "Take away their permission, and make a new key if somebody may have read it."


class PrecisionWarning(MechdesignWarning):
    """There are too few reports.

    The error of an estimate is as large as what it estimates can be.
    """

    code = "MD806"
    advice = "Collect as many reports as 'mechdesign plan' says, or estimate less."


class MisfitWarning(MechdesignWarning):
    """The reports are very unlikely to come from the mechanism that is said to have made them."""

    code = "MD807"
    advice = (
        "Check that the file of the mechanism belongs to these reports, and that nothing was "
        "filtered or recoded."
    )


class UntoldWarning(MechdesignWarning):
    """Reports of this mechanism are uninformative about the secret, or about a part of it."""

    code = "MD808"
    advice = "Estimate totals of groups (--by blocks), or design for estimates (-u estimation)."


class CountsWarning(MechdesignWarning):
    """A file holds the exact counts of the people that it is about.

    They stand there as a prior, or can be computed from a kernel; the message says how many digits.
    """

    code = "MD809"
    advice = (
        "Publish the public form (--public) of a design for counts with noise (--prior-noise), "
        "rounded shares (--round-prior) or other people's data."
    )


class UnhiddenWarning(MechdesignWarning):
    """A released file has columns as they stand that are known to be secret.

    The ledger, the design or the plan knows them: who sees them needs no report.
    """

    code = "MD815"
    advice = (
        "Leave them out (--drop-column NAME, drop=), write reports alone (--only-reports), or "
        "take the reports that they have for the input."
    )


class EdgesWarning(MechdesignWarning):
    """The edges of bins were chosen by the very numbers that they are to hide."""

    code = "MD810"
    advice = "Give edges that do not depend on the data, such as 0,18,65,120."


class OpenBinWarning(MechdesignWarning):
    """A bin without an end stands for numbers in distances.

    Distances between bins are those of their middles, and it has none: it is taken as one as wide
    as the bin beside it.
    """

    code = "MD818"
    advice = (
        "End the bins, as in 0,18,65,120 in place of 0,18,65,inf, or design without distances (-u "
        "hamming, -u estimation)."
    )


class OutsideWarning(MechdesignWarning):
    """Points belong to no place and are left out; their number is told."""

    code = "MD811"
    advice = "Widen the grid or the places, or accept that they are missing from every estimate."


class AlikeWarning(MechdesignWarning):
    """Symbols differ only by what people overlook: spaces, letter case, encodings."""

    code = "MD812"
    advice = "Merge them before designing, if they mean the same."


class LeftoverWarning(MechdesignWarning):
    """A run that was stopped left unfinished files behind."""

    code = "MD813"
    advice = "Delete them, or run the command again to finish."


class DisclosureWarning(MechdesignWarning):
    """One report gives the secret away, or much of it.

    A best guess from it is right ten times as often as one without it, or wrong in less than a
    third of the cases; or right with probability 99.9 % where all symbols are equally likely.
    """

    code = "MD816"
    advice = (
        "Ask for a smaller level: under LDP reports of N symbols are guessed right with "
        "probability e^level / (e^level + N - 1) at most. Where nothing needs to be hidden, use "
        "it as it is."
    )


class GlyphWarning(MechdesignWarning):
    """A picture has empty boxes in place of characters that no installed font has."""

    code = "MD817"
    advice = (
        "Install a font that has them, such as Noto Sans CJK for Chinese, Japanese and Korean, or "
        "save the picture as .svg, in which they are text."
    )


# What codes stand for


@dataclass(frozen=True)
class Kind:
    """A kind of error or warning.

    Attributes
    ----------
    code : MD and three digits; it is never given to anything else, even after the kind is gone
    name : the class, or for what the command line alone says, what that is about
    meaning, remedy : what has happened, and what to do
    """

    code: str
    name: str
    meaning: str
    remedy: str


def _kind(cls: Any) -> Kind:
    """That of a class, whose docstring says what has happened."""
    meaning = re.split(r"\n\s*(?:Attributes|Notes)\n", cls.__doc__ or "")[0]
    return Kind(cls.code, cls.__name__, " ".join(meaning.split()), cls.advice)


#: Every kind, in the order of the codes: 0 bases, 1 input, 2 and 3 problems without an answer, 4
#: solvers, 5 proofs, 6 files and what is installed, 7 the command line, 8 warnings.
KINDS = tuple(
    sorted(
        (
            *(_kind(cls) for cls in [*vars().values()] if hasattr(cls, "advice")),
            Kind(
                "MD701",
                "command line",
                "A command, an option or its value is not understood.",
                "Compare with 'mechdesign COMMAND --help'.",
            ),
            Kind(
                "MD702",
                "interrupted",
                "The run was stopped by the user; no file was left half written.",
                "Run it again; releases of files go on where they stopped, as the message of the "
                "command says.",
            ),
            Kind(
                "MD703",
                "output",
                "Output cannot be written, as standard output is closed or full.",
                "Send it to a file with room, or to /dev/null.",
            ),
        ),
        key=lambda kind: kind.code,
    )
)


def explained(code: str) -> Kind:
    """What a code such as ``"MD101"`` stands for, whatever its case.

    Raises :class:`UnknownNameError` for any other.

    >>> explained("md101").name
    'PriorError'
    """
    asked = code.strip().upper() if isinstance(code, str) else code
    for kind in KINDS:
        if kind.code == asked:
            return kind
    raise UnknownNameError("code of an error", code, [kind.code for kind in KINDS])
