"""Labels of symbols: what names an input or an output of a mechanism."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError, is_iterable, quote, visible

# Longer digit strings are names, not numbers (and Python limits how many digits int() reads).
_LONGEST = 300
# The symbol of those who gave no value.
_MISSING = "missing"
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
# Signs that begin a formula, in the widths that spreadsheets know; blanks before them count too.
_FORMULA = re.compile(r"[\t\r\n]|\s*[=+\-@＝＋－＠]")

Label = Any  # hashable; numbers, text, dates, bytes, None and tuples of these can be saved


def tidy(label: Any) -> Label:
    """A plain Python value for one of NumPy or pandas; anything else as it is.

    Timestamps with a time zone are in UTC, and such labels are equal whatever their zone was.
    """
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, datetime):
        # That of pandas; nanoseconds, which Python has not, stay with it.
        if not getattr(label, "nanosecond", 0) and hasattr(label, "to_pydatetime"):
            label = label.to_pydatetime()
        if label.tzinfo is not None:
            label = label.astimezone(UTC)
    return label


def check_labels(
    labels: Iterable[Any] | None, size: int, subject: str, error: type[InputError]
) -> tuple[Label, ...]:
    """Distinct hashable labels, ``0 … size-1`` when none are given."""
    if labels is None:
        return tuple(range(size))
    if isinstance(labels, (str, bytes)):
        raise error(
            subject,
            expected=f"a sequence of {size} labels",
            got=f"the single text {quote(labels)}",
            remedy="pass a list such as ['a', 'b']",
        )
    if not is_iterable(labels):
        raise error(
            subject,
            expected=f"a sequence of {size} labels",
            got=quote(labels),
            remedy="pass a list such as ['a', 'b']",
        )
    found = tuple(tidy(label) for label in labels)
    if len(found) != size:
        raise error(
            subject,
            expected=f"{size} labels",
            got=f"{len(found)}",
            remedy="give one label for each symbol, in order",
        )
    met: set[Label] = set()
    for label in found:
        if isinstance(label, float) and label != label:
            raise error(
                subject,
                expected="labels that equal themselves",
                got="NaN",
                remedy="leave out missing values, or name them with a text such as 'unknown'",
            )
        try:
            known = label in met
        except Exception:  # a class may fail in any way when it is asked for its hash
            raise error(
                subject,
                expected="hashable labels such as text or numbers",
                got=f"{quote(label)} of type {type(label).__name__}",
                remedy="convert the labels to text",
            ) from None
        if known:
            raise error(
                subject,
                expected="distinct labels",
                got=f"{quote(label)} more than once",
                remedy="rename or merge the repeated symbols",
            )
        met.add(label)
    return found


def shorten(label: Label, width: int = 18) -> str:
    r"""Text of a label, cut to ``width`` characters, with invisible characters as escape codes.

    >>> print(shorten("a\x1b[31mb"))
    a\x1b[31mb
    """
    text = visible(label_text(label))
    return text if len(text) <= width else text[: width - 1] + "…"


def label_text(label: Label) -> str:
    """``str`` of a label, whatever it is; one that has no text is named by its type.

    The symbol of those who gave no value is called "missing", alone and in a combination, as in the
    names of outputs: readers of CSV files take "None" for no value.

    >>> label_text(1.5), label_text(None), label_text(("a", None))
    ('1.5', 'missing', "('a', missing)")
    """
    try:
        return _combination_text(label) if type(label) is tuple else _value_text(label)
    except Exception:  # a label of another class may do anything when it is shown
        return quote(label)


def _value_text(label: Label) -> str:
    return _MISSING if label is None else str(label)


def _combination_text(label: tuple[Any, ...]) -> str:
    """``str`` of a tuple, with missing values called so."""
    parts = [_part_text(part) for part in label]
    return f"({', '.join(parts)}{',' * (len(parts) == 1)})"


def _part_text(part: Any) -> str:
    if type(part) is tuple:
        return _combination_text(part)
    return _MISSING if part is None else repr(part)


def quote_label(label: Label) -> str:
    """A label in a message, with missing values called so.

    >>> quote_label("a"), quote_label(None), quote_label(("a", None))
    ("'a'", 'missing', "('a', missing)")
    """
    has_none = label is None or (type(label) is tuple and None in label)
    return visible(label_text(label)) if has_none else quote(label)


def one_line(label: Label) -> str:
    r"""Text of a label in one line, invisible characters escaped.

    >>> one_line("a\n b"), one_line("a\x00"), one_line("")
    ('a b', 'a\\x00', "''")
    """
    return visible(" ".join(label_text(label).split()) or quote(label))


def excel_safe_cell(value: Any) -> Any:
    """A cell of CSV that no spreadsheet runs as a formula: text like one gets an apostrophe.

    Spreadsheets take a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break for
    a formula, which may call programs of whoever opens the file. Numbers stay as they are; a label
    that is changed no longer equals the one that a design knows, except where :mod:`mechdesign`
    reads the file again.

    >>> excel_safe_cell("=1+1"), excel_safe_cell("-2.5"), excel_safe_cell("a")
    ("'=1+1", '-2.5', 'a')
    """
    if not isinstance(value, str) or not _FORMULA.match(value) or _DECIMAL.fullmatch(value):
        return value
    return "'" + value


def cut(text: str, width: int) -> str:
    """A text cut to a width; long ones keep both ends, as those alike often end differently."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail].rstrip()}…{text[-tail:].lstrip()}"


def short_names(labels: Sequence[Label], width: int) -> list[str]:
    """Labels in one line each, cut to a width, different ones kept distinct.

    Where some would look alike, what all begin with goes; those that still do are numbered by
    their places.

    >>> short_names(["people aged 20 to under 40 years", "people aged 21 to under 40 years"], 18)
    ['…20 to un…40 years', '…21 to un…40 years']
    >>> short_names(["a long name 1 in the middle", "another long name in the middle"], 11)
    ['a lon…iddle', 'anoth…iddle']
    >>> short_names(["aaaaaa1aaaaaa", "aaaaaa2aaaaaa"], 9)
    ['#1 a…aaaa', '#2 a…aaaa']
    """
    lines = [one_line(label) for label in labels]
    if len({cut(line, width) for line in lines}) < len(set(lines)):
        first, last = min(lines), max(lines)
        same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
        # Whole words go, so that numbers stay whole.
        shared = first[: sum(1 for _ in same)]
        start = max(shared.rfind(mark) for mark in " -_,;:/(|") + 1
        if start > 1:
            lines = ["…" + line[start:] for line in lines]
    names = [cut(line, width) for line in lines]
    for alike in (name for name, count in Counter(names).items() if count > 1):
        for i, line in enumerate(lines):
            if names[i] == alike:
                names[i] = cut(f"#{i + 1} {line}", width)
    return names


def counted(number: float, one: str, many: str = "") -> str:
    """A number with its noun, in the plural where it is not one.

    >>> counted(1, "round"), counted(2, "round"), counted(1, "vertex", "vertices")
    ('1 round', '2 rounds', '1 vertex')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def told_shape(shape: tuple[int, int]) -> str:
    """How large a kernel is.

    >>> told_shape((1, 2))
    '1 input × 2 outputs'
    """
    return f"{counted(shape[0], 'input')} × {counted(shape[1], 'output')}"


def listing(labels: Sequence[Label], most: int = 6) -> str:
    """A readable list of labels, the long tail counted."""
    shown = ", ".join(quote_label(label) for label in labels[:most])
    return shown if len(labels) <= most else f"{shown} and {len(labels) - most} more"


def near_miss(values: Iterable[Any], labels: Sequence[Label]) -> str | None:
    """Why values are no labels although they look like them; the text names the label alone.

    Spaces at the ends, letter case, two encodings of an accent, invisible characters, text against
    numbers, and numbers of 32 bits: what two columns that should fit most often differ by.

    >>> near_miss(["yes "], ["no", "yes"])
    "one differs from 'yes' by spaces at its ends"
    >>> near_miss([1], ["1", "2"]), near_miss(["maybe"], ["no", "yes"])
    ("one differs from '1' by its type, a number against text", None)
    """
    known: dict[str, Label] = {}
    for label in labels:
        known.setdefault(_folded(label), label)
    for value in values:
        value = tidy(value)
        label = known.get(_folded(value))
        if label is not None:
            why = _difference(value, label)
        else:
            label = _rounded(value, labels)
            why = "the rounding of a float of 32 bits"
        if label is not None and why:
            return f"one differs from {quote(label, 40)} by {why}"
    return None


def alike(labels: Iterable[Label]) -> list[tuple[Label, Label, str]]:
    """Labels that people would take for one another: pairs, each with how they differ.

    >>> alike(["yes", "no", "Yes", "no "])
    [('yes', 'Yes', 'letter case'), ('no', 'no ', 'spaces at its ends')]
    """
    first: dict[str, Label] = {}
    found = []
    for label in labels:
        other = first.setdefault(_folded(label), label)
        why = "" if other is label else _difference(other, label)
        if why:
            found.append((other, label, why))
    return found


def _difference(value: Any, label: Label) -> str:
    """How two labels differ whose folded texts are one."""
    if not (isinstance(value, str) and isinstance(label, str)):
        kinds = [
            "no value" if part is None else "text" if isinstance(part, str) else "a number"
            for part in (value, label)
        ]
        return f"its type, {kinds[0]} against {kinds[1]}" if kinds[0] != kinds[1] else ""
    steps = (
        ("spaces at its ends", str.strip),
        ("the encoding of an accent (NFC or NFD)", _composed),
        ("letter case", str.casefold),
        ("invisible characters or kinds of spaces", _plain),
    )
    found = []
    for why, change in steps:
        if value == label:
            break
        before = (value, label)
        value, label = change(value), change(label)
        # A change of both that leaves them as different says nothing.
        if value == label or (value != before[0]) != (label != before[1]):
            found.append(why)
    return " and ".join(found)


def _folded(label: Any) -> str:
    """A text that labels share which people would take for one."""
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return _plain(_composed(label_text(label)).casefold())


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _plain(text: str) -> str:
    visible = "".join(c for c in text if unicodedata.category(c) != "Cf")
    return " ".join(visible.split())


def _rounded(value: Any, labels: Sequence[Label]) -> Label:
    """The label whose nearest float of 32 bits a number is."""
    if not isinstance(value, float) or not math.isfinite(value):
        return None
    numbers = (label for label in labels if isinstance(label, float) and abs(label) < 1e38)
    near = (label for label in numbers if math.isclose(label, value, rel_tol=1e-6))
    return next((x for x in near if np.float32(x) == np.float32(value)), None)


def name_outputs(
    inputs: Sequence[Label],
    deviations: NDArray[np.float64],
    rounding: NDArray[np.float64] | None = None,
) -> list[Label]:
    """Distinct readable names for outputs, after the symbols that each makes more likely.

    ``deviations`` are those of the lifts from one, ``(N, M)``, each known up to the ``rounding`` of
    its output, ``(M,)``. An output that makes one symbol more likely bears its name, a few are
    joined by ``+``; where it does so for most the others are named, as in ``not c``. Symbols whose
    text could be read as such a name are quoted. Where each output makes a single symbol of its own
    more likely, the outputs are these symbols, of their types.

    >>> name_outputs(["a", "b", "c"], np.array([[1, 1, 0], [-1, 1, 0], [-1, -2, 0]], float))
    ['a', 'not c', 'nothing']
    >>> name_outputs([True, False], np.array([[1, -1], [-1, 1]], float))
    [True, False]
    >>> name_outputs(["a", "b+c", "c", "d"], np.array([[1, -1], [1, -1], [-2, 1], [-2, -1]], float))
    ['a+"b+c"', 'c']
    """
    names: list[str] = []
    texts = _Texts(inputs)
    for column, least in zip(deviations.T, _least(deviations, rounding), strict=True):
        likelier = column > least
        up, down = np.flatnonzero(likelier), np.flatnonzero(~likelier)
        if up.size == 0 or down.size == 0:
            name = "nothing"
        elif up.size == 1:
            name = texts.alone(up[0])
        elif 2 * up.size <= column.size:
            name = _joined(texts, up)
        else:
            name = "not " + _joined(texts, down)
        names.append(name)
    return texts.labels(names)


def _least(deviations: NDArray[np.float64], rounding: NDArray[np.float64] | None) -> Any:
    """Deviations of each output up to which they are none."""
    room = _SAME_LIFT * np.ptp(deviations, axis=0)
    return room if rounding is None else np.maximum(room, rounding)


class _Texts:
    """Texts of symbols in the names of outputs, in quotes where they could be read as several
    symbols, as a name of another form, or as another symbol's.
    """

    def __init__(self, inputs: Sequence[Label]) -> None:
        self._inputs = tuple(inputs)
        self._texts = [label_text(label) for label in inputs]
        count = Counter(self._texts)
        pairs = zip(inputs, self._texts, strict=True)
        self._doubtful = [
            bool(_COMPOSED.search(text)) or (count[text] > 1 and isinstance(label, str))
            for label, text in pairs
        ]

    def alone(self, place: int) -> str:
        """The name of an output that stands for one symbol."""
        return self.among(place, "+")

    def among(self, place: int, *marks: str) -> str:
        """A part of the name of an output, between such marks."""
        text = self._texts[place]
        return self._text(place, is_quoted=any(mark in text for mark in marks))

    def labels(self, names: list[str]) -> list[Label]:
        """The symbols themselves where each name is that of another one, else distinct names;
        combinations keep theirs, under which they stand in one column.
        """
        pairs = enumerate(self._inputs)
        alone = {self.alone(i): label for i, label in pairs if not isinstance(label, tuple)}
        found = [alone.get(name) for name in names]
        if None not in found and len(set(found)) == len(found):
            return found
        # Several outputs may make the same symbols more likely, some more than others.
        return _numbered(names)

    def _text(self, place: int, is_quoted: bool) -> str:
        text = self._texts[place]
        if not (is_quoted or self._doubtful[place]):
            return text
        return '"' + text.replace('"', '""') + '"'


# What names of outputs are made of, and what stands between the symbols of a list.
_COMPOSED = re.compile(r'^(one of |not |nothing\b|")|, in part | #[0-9]+$')
_COMMAS = (",", "…")
# How names of sets begin, and how long one is in a sentence about it.
_SET, _QUOTED_SET = "one of ", 40


def _numbered(names: list[str]) -> list[str]:
    """The same names with numbers where they repeat."""
    taken = set(names)
    count: dict[str, int] = {}
    for i, name in enumerate(names):
        count[name] = count.get(name, 0) + 1
        if count[name] > 1:
            number = count[name]
            while f"{name} #{number}" in taken:
                number += 1
            names[i] = f"{name} #{number}"
            taken.add(names[i])
    return names


# Symbols of an output that are all named, how many are where there are more, and how many others
# are named instead.
_ALL_NAMED, _FIRST_NAMED, _OTHERS_NAMED = 6, 3, 2
# Lifts that differ by less than this share of their range are the same; a smaller range is none.
_SAME_LIFT, _CONSTANT = 1e-6, 1e-300


def name_subsets(
    inputs: Sequence[Label],
    deviations: NDArray[np.float64],
    rounding: NDArray[np.float64] | None = None,
) -> list[Label]:
    """Distinct readable names for outputs that report sets of symbols.

    ``deviations`` are those of the lifts from one, as for :func:`name_outputs`. Outputs whose lifts
    are high, low and for at most one symbol between are named by the symbols of high lift; others
    by those of lift above one; symbols alone are themselves, as there.

    >>> two = np.array([[1, 0], [-1, 1], [1, -1], [-1, -1]], float)
    >>> name_subsets(["a", "b", "c", "d"], two)
    ['one of a, c', 'b, in part a']
    >>> name_subsets(["a", "b, c", "d"], np.array([[1, 1], [1, -2], [-2, 1]], float))
    ['one of a, "b, c"', 'one of a, d']
    """
    texts, least = _Texts(inputs), _least(deviations, rounding)
    columns = zip(deviations.T, least, strict=True)
    return texts.labels([_subset_name(texts, column, room) for column, room in columns])


def _subset_name(texts: _Texts, deviations: NDArray[np.float64], room: float) -> str:
    low, high = float(deviations.min()), float(deviations.max())
    if high - low <= max(2 * room, _CONSTANT):
        return "nothing"
    up = deviations >= high - room
    between = np.flatnonzero((deviations < high - room) & (deviations > low + room))
    if len(between) > 1:
        up, between = deviations > 0, between[:0]
    places, others = np.flatnonzero(up).tolist(), np.flatnonzero(~up).tolist()
    if len(places) == 1:
        text = texts.alone(places[0])
    elif len(places) <= _ALL_NAMED:
        text = _SET + ", ".join(texts.among(i, *_COMMAS) for i in places)
    elif len(others) <= _OTHERS_NAMED and not len(between):
        return "not " + " or ".join(texts.among(i, " or ") for i in others)
    else:
        first = ", ".join(texts.among(i, *_COMMAS) for i in places[:_FIRST_NAMED])
        text = f"{_SET}{first}, … ({len(places)} of {len(deviations)})"
    return f"{text}, in part {texts.among(between[0], *_COMMAS)}" if len(between) else text


def told_of_sets(inputs: Sequence[Label], outputs: Sequence[Label]) -> str:
    """What an output called ``one of a, b`` is, and whether reports of other values are text, in
    sentences; empty where there is nothing to say.

    >>> print(told_of_sets(["a", "b"], ["one of a, b", "b"]))
    “one of a, b” is a single output: each of these symbols gives it more often than the others do.
    >>> told_of_sets(["a", "b"], ["one of us"]), told_of_sets([1, 2], [2, 1])
    ('', '')
    >>> told_of_sets([1, 2, 3], ["1+2", "3"])
    'Reports are text, as not each of them is a symbol.'
    """
    known = set(inputs)
    is_other = any(not isinstance(x, (str, tuple)) and x is not None for x in inputs)
    typed = ""
    if is_other and any(isinstance(y, str) and y not in known for y in outputs):
        typed = "Reports are text, as not each of them is a symbol."
    # Of another kernel, a label that begins so may mean something else.
    starts = tuple(f"{_SET}{quoted}{label_text(x)}" for x in inputs for quoted in ("", '"'))
    texts = (y for y in outputs if isinstance(y, str) and y not in known)
    label = next((text for text in texts if text.startswith(starts)), None)
    if label is None:
        return typed
    return (
        f"“{shorten(label, _QUOTED_SET)}” is a single output: each of these symbols gives it "
        f"more often than the others do. {typed}".rstrip()
    )


def _joined(texts: _Texts, places: NDArray[np.intp], most: int = 4) -> str:
    shown = "+".join(texts.among(i, "+") for i in places[:most].tolist())
    return shown if places.size <= most else f"{shown}+{places.size - most} more"


def parse_labels(texts: Sequence[str]) -> list[Label]:
    """Labels read from text: integers if all are, else floats if all are, else text.

    Only canonical spellings count as numbers (``007`` and ``1_000`` stay text).

    >>> parse_labels(["1", "2"]), parse_labels(["1", "2.5"]), parse_labels(["1", "007"])
    ([1, 2], [1.0, 2.5], ['1', '007'])
    """
    numbers: list[Label] = list(texts)
    if any(len(text) > _LONGEST for text in texts):
        return numbers
    if all(_INTEGER.fullmatch(text) for text in texts):
        numbers = [int(text) for text in texts]
    elif all(_DECIMAL.fullmatch(text) for text in texts):
        numbers = [float(text) for text in texts]
    # Two spellings of one number stay two labels.
    return numbers if len(set(numbers)) == len(set(texts)) else list(texts)


def values_at(
    what: Callable[[Any], Any] | Mapping[Any, Any],
    labels: Iterable[Label],
    error: type[InputError],
) -> list[Label]:
    """The value of a deterministic feature at each label; ``error`` where a mapping has none."""
    if callable(what):
        return [tidy(what(label)) for label in labels]
    table = {tidy(label): value for label, value in what.items()}
    missing = [label for label in labels if label not in table]
    if missing:
        raise error(
            "feature",
            expected=f"a value for every symbol, {quote(missing[0])} too",
            got=f"values for {listing(list(table)) if table else 'none'}",
            remedy="complete the mapping",
        )
    return [tidy(table[label]) for label in labels]


def distinct(values: list[Label], error: type[InputError]) -> list[Label]:
    """The different values of a feature, in the order of the labels."""
    try:
        return list(dict.fromkeys(values))
    except TypeError:
        raise error(
            "feature",
            expected="hashable values such as text or numbers",
            got=f"values such as {quote(values[0], 40)}",
            remedy="give every symbol one value",
        ) from None
