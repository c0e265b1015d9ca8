"""What is asked of an estimation: texts that the page and the command line understand alike.

A question is what ``--of`` takes, weights what ``--of-weights`` takes, a truth what ``--truth``
takes. Texts are never taken for names of files here: the page, and whoever links to it, may not
have files read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import mechdesign as md

from ..arguments import estimation_arguments, is_json
from ..errors import InputError, MechdesignError
from ..exact import read_fraction
from ..labels import shorten

#: Kinds of questions by name, with how they are offered.
KINDS = {
    "all": "Frequencies of all symbols",
    "columns": "Shares of the values of columns",
    "symbol": "Share of one symbol",
    "mean": "Mean of numbers given to the symbols",
    "other": "Another question, written out",
}
#: Characters that a text may have.
LONGEST = 20_000
#: Distributions of which the worst is looked for while a page waits.
MOST_TRUTHS = 20
#: Every distribution: the worst of them counts.
ANY = "any"
# Reports are counted for this error of shares, and of means for this part of the numbers' range.
_ERROR = 0.05
# Ends of the errors that reports are counted for.
_LEAST_ERROR, _LARGEST_ERROR = 1e-12, 1e12
# Below this whole numbers are written without a decimal point.
_WHOLE = 1e15
# Characters of a question, of a truth and of a symbol where a sentence names them.
_QUESTION, _TRUTH, _SYMBOL = 60, 40, 32


@dataclass(frozen=True)
class Asked:
    """What is estimated, what its errors weigh, and at which distribution they count.

    Each is the text of an option of the command line, or ``None`` where it is left out.
    """

    of: str | None = None
    weights: str | None = None
    truth: str | None = None

    @property
    def options(self) -> dict[str, str]:
        """The texts that are given, by the names of their options without the dashes."""
        named = {"of": self.of, "of-weights": self.weights, "truth": self.truth}
        return {name: text for name, text in named.items() if text is not None}

    @classmethod
    def of_options(cls, texts: Mapping[str, str]) -> Asked:
        """The inverse of :attr:`options`; other names are left alone."""
        return cls(texts.get("of"), texts.get("of-weights"), texts.get("truth"))

    def arguments(self, prior: md.Prior) -> dict[str, Any]:
        """The parameters of :class:`mechdesign.utility.Estimation`, without those left out.

        Raises :class:`MechdesignError` for texts that say nothing about this prior.
        """
        for name, text in self.options.items():
            if len(text) > LONGEST:
                raise InputError(
                    f"--{name}",
                    expected=f"at most {LONGEST:,} characters",
                    got=f"{len(text):,}",
                    remedy="use 'mechdesign design', which takes a file",
                )
        truths = 0 if self.truth is None or is_json(self.truth) else 1 + self.truth.count(";")
        if truths > MOST_TRUTHS:
            raise InputError(
                "--truth",
                expected=f"at most {MOST_TRUTHS} distributions",
                got=str(truths),
                remedy="take any, the worst of all, or use 'mechdesign design'",
            )
        with md.show_values():  # of what the visitor has written
            return estimation_arguments(prior, self.of, self.weights, self.truth, files=False)

    def goal(self, prior: md.Prior) -> md.utility.Estimation:
        """The utility; raises as :meth:`arguments` does."""
        return md.utility.Estimation(**self.arguments(prior))

    def check(self, prior: md.Prior) -> None:
        """Raise :class:`MechdesignError` for what cannot be asked of a prior."""
        goal = self.goal(prior)
        goal.survey(prior)
        goal.truths(prior)

    def fits(self, prior: md.Prior) -> bool:
        """Whether all of it can be asked of a prior."""
        try:
            self.check(prior)
        except MechdesignError:
            return False
        return True

    def carried(
        self,
        before: md.Prior,
        after: md.Prior,
        names: Sequence[str],
        renamed: Mapping[str, str] | None,
    ) -> Asked:
        """What of this can be asked of another prior, whose symbols have these names.

        Where they are the symbols of before but for some that are renamed, gone or new, a question
        has their new names, leaves out those that are gone, and gives new ones a zero; ``renamed``
        is ``None`` for other symbols.
        """
        found, of, truth = Asked(), self.of, self.truth
        if renamed is not None:
            truth = _renamed(truth, renamed, names)
            of = of if columns_in(of, before) else _renamed(of, renamed, names, 0)
        for part in ({"of": of}, {"weights": self.weights}, {"truth": truth}):
            further = replace(found, **part)
            found = further if further.fits(after) else found
        return found

    def answers(self, prior: md.Prior) -> tuple[str, ...]:
        """Names of the answers, in the order of their weights."""
        found = replace(self, weights=None).goal(prior).question(prior.labels, prior.schema)
        return tuple(shorten(label, _SYMBOL) for label in found.labels)

    def python(self, prior: md.Prior) -> str:
        """Python that makes the utility; ``Fraction`` is in it where :meth:`has_fractions`."""
        given = [f"{name}={_short(value)!r}" for name, value in self.arguments(prior).items()]
        return f"md.utility.Estimation({', '.join(given)})"

    def has_fractions(self, prior: md.Prior) -> bool:
        """Whether a true share is no whole number."""
        return _has_fraction(_short(self.arguments(prior).get("truth")))

    # In words

    def question(self, prior: md.Prior) -> str:
        """What is estimated, as a noun, and where errors count unless that is at the prior.

        >>> prior = md.Prior([.5, .3, .2], ["a", "b", "c"])
        >>> Asked().question(prior)
        'the frequencies of all symbols'
        >>> Asked("a=0,b=1,c=0", truth="any").question(prior)
        'the share of b, whatever the true shares are'
        >>> Asked("a=1,b=2,c=4", truth="5,3,9").question(prior)
        'the mean of a=1, b=2, c=4, with true shares as in 5, 3, 9'
        """
        return self._asked(prior) + self._at()

    def _asked(self, prior: md.Prior) -> str:
        kind = kind_of(self.of, prior)
        if self.of is None:
            return "the frequencies of all symbols"
        if kind == "columns":
            return f"the shares of {' and of '.join(columns_in(self.of, prior))}"
        if kind == "symbol":
            return f"the share of {shorten(symbol_in(self.of, prior), _SYMBOL)}"
        if kind == "mean":
            return f"the mean of {_spaced(self.of, _QUESTION)}"
        numbers = {label: v for label, v in numbers_in(self.of, prior).items() if v}
        if sorted(numbers.values()) == [-1, 1]:
            less, more = sorted(numbers, key=lambda label: numbers[label])
            more, less = (shorten(label, _SYMBOL) for label in (more, less))
            return f"the share of {more} less that of {less}"
        if numbers:
            return f"the weighted sum of shares {_spaced(self.of, _QUESTION)}"
        if isinstance(self.arguments(prior)["of"], dict):
            return f"the shares of {shorten(', '.join(self.answers(prior)), _QUESTION)}"
        return f"the answers to {_spaced(self.of, _QUESTION)}"

    def _at(self) -> str:
        if self.truth is None:
            return ""
        if self.truth.strip().lower() == ANY:
            return ", whatever the true shares are"
        if ";" in self.truth and not is_json(self.truth):
            return f", with the worst true shares of {_spaced(self.truth, _TRUTH)}"
        return f", with true shares as in {_spaced(self.truth, _TRUTH)}"

    def error(self, prior: md.Prior) -> float:
        """The error that reports are counted for: .05, and of a mean .05 of its numbers' range."""
        if kind_of(self.of, prior) != "mean":
            return _ERROR
        numbers = numbers_in(self.of, prior).values()
        found = float(f"{_ERROR * (max(numbers) - min(numbers)):.3g}")
        return min(max(found, _LEAST_ERROR), _LARGEST_ERROR) if found else _ERROR


# Questions of each kind


def kind_of(of: str | None, prior: md.Prior) -> str:
    """The kind in :data:`KINDS` of a question that a prior can answer.

    >>> prior = md.Prior([.5, .3, .2], ["a", "b", "c"])
    >>> [kind_of(of, prior) for of in (None, "a=0,b=1,c=0", "a=1,b=2,c=4", "a=1,b=-1,c=0")]
    ['all', 'symbol', 'mean', 'other']
    """
    if of is None:
        return "all"
    if columns_in(of, prior):
        return "columns"
    numbers = numbers_in(of, prior)
    values = list(numbers.values())
    if sorted(values) == [0] * (len(values) - 1) + [1]:
        return "symbol"
    # Numbers that cancel compare shares, unless they are the symbols themselves.
    is_mean = bool(values) and (bool(sum(values)) or values == list(numbers))
    return "mean" if is_mean else "other"


def columns_in(of: str | None, prior: md.Prior) -> tuple[str, ...]:
    """The columns that a question names."""
    asked = Asked(of).arguments(prior).get("of")
    names = asked if isinstance(asked, list) else [asked]
    return tuple(map(str, names)) if all(isinstance(name, str) for name in names) else ()


def numbers_in(of: str | None, prior: md.Prior) -> dict[Any, float]:
    """The number that a question gives to each symbol, in the order of the prior; else nothing."""
    asked = Asked(of).arguments(prior).get("of")
    if not isinstance(asked, dict):
        return {}
    values = [asked[label] for label in prior.labels]
    are_numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
    return dict(zip(prior.labels, values, strict=True)) if are_numbers else {}


def symbol_in(of: str | None, prior: md.Prior) -> Any:
    """The symbol whose share a question asks for."""
    return next(label for label, number in numbers_in(of, prior).items() if number)


def columns_text(columns: Sequence[str], known: Sequence[str]) -> str:
    """A question about columns.

    >>> columns_text(["class", "sex"], ["class", "sex"]), columns_text(["a,b"], ["a,b", "c,d"])
    ('class,sex', 'a,b')
    >>> columns_text(["a,b", "c"], ["a,b", "c"])
    '["a,b", "c"]'
    """
    if len(columns) == 1 and columns[0] in known and not columns[0].lower().endswith(".json"):
        return columns[0]
    text = ",".join(columns)
    parts = [part.strip() for part in text.split(",")]
    is_plain = parts == list(columns) and "=" not in text and not text.lower().endswith(".json")
    return text if is_plain and not is_json(text) else _json(list(columns))


def numbers_text(numbers: Mapping[str, float]) -> str:
    """A number for each symbol, as ``a=1,b=0``; as JSON where names cannot be written like that.

    >>> numbers_text({"a": 1.0, "b": 0.5}), numbers_text({"a, b": 1, "c": 0})
    ('a=1,b=0.5', '{"a, b": 1, "c": 0}')
    """
    short = {name: _short(v) for name, v in numbers.items()}
    short = {name: str(v) if isinstance(v, Fraction) else v for name, v in short.items()}
    if any("," in name or ";" in name or name != name.strip() for name in short):
        return _json(short)
    return ",".join(f"{name}={v}" for name, v in short.items())


def _spaced(text: str, most: int) -> str:
    """A text in a sentence, cut, with spaces at which a line may be broken."""
    return shorten(text if is_json(text) else re.sub(r"([,;])\s*", r"\1 ", text), most)


def _short(value: Any) -> Any:
    """The same with whole numbers as integers, in lists and objects too."""
    if isinstance(value, dict):
        return {key: _short(v) for key, v in value.items()}
    if isinstance(value, list):
        return [_short(v) for v in value]
    is_number = isinstance(value, (float, Fraction))
    is_whole = is_number and value == value // 1 and abs(value) < _WHOLE
    return int(value) if is_whole else value


def _has_fraction(value: Any) -> bool:
    """Whether a number is a fraction, or one in a list or object is."""
    if isinstance(value, dict):
        return any(map(_has_fraction, value.values()))
    return (
        any(map(_has_fraction, value)) if isinstance(value, list) else isinstance(value, Fraction)
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _renamed(
    text: str | None, renamed: Mapping[str, str], names: Sequence[str], new: float | None = None
) -> str | None:
    """A text that gives numbers to symbols, for the names that there are now; others as they are.

    ``new`` is the number of symbols that had none, where they can have one.
    """
    found = None if text is None else _pairs(text)
    if found is None:
        return text
    moved = {renamed.get(name, name): value for name, value in found.items()}
    kept = {name: moved[name] for name in names if name in moved}
    if new is not None:
        kept = {name: moved.get(name, new) for name in names}
    # Of a question about what is gone nothing is left.
    return text if kept == found or not any(kept.values()) else numbers_text(kept)


def _pairs(text: str) -> dict[str, float] | None:
    """The numbers that a text gives to names, if that is what it does."""
    if is_json(text):
        content = json.loads(text)
        is_object = isinstance(content, dict)
        values = list(content.values()) if is_object else [None]
        are_numbers = all(isinstance(v, (int, float)) for v in values)
        return content if is_object and are_numbers else None
    parts = [part.rpartition("=") for part in text.split(",")]
    if ";" in text or not all(equals for _, equals, _ in parts):
        return None
    return {name.strip(): _number(value) for name, _, value in parts}


def _number(text: str) -> Any:
    """A number of a text; one with a bar is exact."""
    return read_fraction(text) if "/" in text else float(text)
