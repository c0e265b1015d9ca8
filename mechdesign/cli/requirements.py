"""What texts of ``--require`` name: what must hold of a kernel beside privacy."""

from __future__ import annotations

import csv
import difflib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arguments import is_file
from ..errors import DataError, MechdesignError, RequirementError, UnknownNameError, quote
from ..extensions import check_name_or_module, find, is_import_path
from ..files import read_json
from ..labels import Label, parse_labels
from ..prior import Prior
from ..release.codes import ABSENT, Codebook
from ..requirement import Requirement, require
from ..tables.matrices import read_matrix
from ..utility import Distance, Hamming


def read_requirements(
    texts: Sequence[str] | None, prior: Prior, outputs: Sequence[Label] = ()
) -> list[Requirement]:
    """What must hold beside privacy, from texts such as ``zero:a,b`` or ``cost:hamming,0.3``.

    Parameters
    ----------
    texts : see :data:`REQUIREMENT_TEXTS`
    prior : names the symbols
    outputs : labels of the outputs, those of the symbols where left out

    Raises
    ------
    InputError
        For a text of another form, an unknown name or label, or a file that does not fit.
    """
    reader = _RequirementReader(prior, tuple(outputs) or prior.labels)
    return [reader.read(text) for text in texts or ()]


#: What a requirement can be written as, and what it asks.
REQUIREMENT_TEXTS = {
    "zero": "zero:X,Y or zero:farther=2 or zero:farther=2,DISTANCES.csv",
    "pattern": "pattern:FILE.csv, with 0 where nothing may be reported",
    "at-least": "at-least:X,Y,0.5",
    "at-most": "at-most:X,Y,0.5",
    "diagonal": "diagonal:0.6 or diagonal:0.6,0.9 or diagonal:a=0.6,b=0.5",
    "cost": "cost:FILE.csv,0.3 or cost:hamming,0.3 (absolute, squared), with ,each at the end",
    "invariant": "invariant or invariant:1e-9",
    "output": "output:Y,0.1,0.3 or output:Y,0.1",
    "equal-error": "equal-error:a+b|c,0.01",
    "unbiased": "unbiased, for numbers, or unbiased:a=0,b=1 or unbiased:FILE.json",
    "monotone": "monotone",
    "symmetric": "symmetric or symmetric:1e-9",
    "outputs": "outputs:3",
    "rows": "rows:FILE.csv,<=,1.5 (>=, ==)",
    "every-output": "every-output:a=1,b=-2",
    "ratio": "ratio:X,Z,2, P(y | X) at most 2 P(y | Z) for every report y",
    "posterior": "posterior:X,0.1,0.4 or posterior:X+Z,*,0.4, P(X | y) between two ends (* for "
    "none) for every report y",
    "apart": "apart:X+Z, where no report is given for both",
    "lift": "lift:X,0.5,2 or lift:X+Z,0.5,*, the same of P(y | X) / P(y)",
}
# What stands for every symbol, or every output.
_EVERY = "*"
# What the parts of a text are, in their order, and what is made of them: x a symbol, y an output
# (each also *), s a symbol alone, g symbols joined by +, n a number, e a number or *, i a whole
# number, m the file of a matrix, … as many as there are; with ? it may be left out.
_FORMS: dict[str, tuple[str, Callable[..., Requirement]]] = {
    "pattern": ("m", lambda matrix: require.zero(pattern=matrix)),
    "at-least": ("x y n", require.at_least),
    "at-most": ("x y n", require.at_most),
    "invariant": ("n?", require.invariant),
    "output": ("s n n?", require.output),
    "monotone": ("", require.monotone),
    "symmetric": ("n?", require.symmetric),
    "outputs": ("i", require.outputs),
    "ratio": ("s s n", require.ratio),
    "apart": ("g", lambda group: require.apart(*group)),
    "posterior": ("g e e", require.posterior),
    "lift": ("g e e", require.lift),
}


class _RequirementReader:
    """Reads requirements for one prior and its outputs."""

    def __init__(self, prior: Prior, outputs: tuple[Label, ...]) -> None:
        self._prior, self._outputs = prior, outputs
        self._inputs = Codebook(prior.labels, "symbols of the prior", texts=True)
        self._places = Codebook(outputs, "outputs", texts=True)

    def read(self, text: str) -> Requirement:
        path, rest = _split_path(text)
        if path:
            return _own_requirement(path, rest)
        name, _, rest = text.partition(":")
        kind, parts = name.strip().lower(), _cells(rest)
        own: dict[str, Callable[[str, list[str]], Requirement]] = {
            "zero": self._zero,
            "diagonal": self._diagonal,
            "cost": self._cost,
            "equal-error": self._equal_error,
            "unbiased": self._unbiased,
            "rows": self._rows,
            "every-output": lambda kind, parts: require.every_output(self._values(kind, parts)),
        }
        if kind in own:
            return own[kind](kind, parts)
        if kind not in _FORMS:
            raise UnknownNameError("requirement", name.strip(), [*own, *_FORMS])
        form, make = _FORMS[kind]
        wanted = form.split()
        if not len(wanted) - form.count("?") <= len(parts) <= len(wanted):
            raise self._refuse(kind, ",".join(parts))
        # An output that is asked for by itself is looked for among the outputs.
        sides = {"s": self._places if kind == "output" else self._inputs}
        return make(*(self._part(kind, *pair, sides) for pair in zip(wanted, parts, strict=False)))

    def _part(self, kind: str, form: str, text: str, sides: dict[str, Codebook]) -> Any:
        match form[0]:
            case "x":
                return self._label(text, self._inputs, "symbol of a requirement")
            case "y":
                return self._label(text, self._places, "output of a requirement")
            case "s" if sides["s"] is self._inputs:
                return self._one_of_group(text)
            case "s":
                found = self._label(text, self._places, "output of a requirement")
                if found is None and text == _EVERY:
                    raise self._refuse(kind, text)
                return found
            case "g":
                return self._group(text)
            case "e":
                return None if text == _EVERY else self._number(kind, text)
            case "m":
                return self._matrix(kind, text)
        value = self._number(kind, text)
        if form[0] == "i":
            if not value.is_integer():
                raise self._refuse(kind, text)
            return int(value)
        return value

    def _refuse(self, kind: str, got: Any) -> RequirementError:
        return RequirementError(
            f"requirement {kind}",
            expected=REQUIREMENT_TEXTS[kind],
            got=quote(got),
            remedy='write it so; a label with a comma stands in quotes, as in "a,b"',
        )

    def _number(self, kind: str, text: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise self._refuse(kind, text) from None

    def _label(self, text: str, book: Codebook, what: str) -> Label:
        place = book.place(text)
        if place != ABSENT:
            return book.labels[place]
        if text == _EVERY:
            return None
        raise UnknownNameError(what, text, map(str, [*book.labels, _EVERY]))

    def _zero(self, kind: str, parts: list[str]) -> Requirement:
        if parts and parts[0].startswith("farther=") and len(parts) <= 2:
            limit = self._number(kind, parts[0].removeprefix("farther="))
            distance = self._matrix(kind, parts[1]) if parts[1:] else None
            return require.zero(farther_than=limit, distance=distance)
        if len(parts) != 2 or parts == [_EVERY, _EVERY]:
            raise self._refuse(kind, ",".join(parts))
        return require.zero(
            self._label(parts[0], self._inputs, "symbol of a requirement"),
            self._label(parts[1], self._places, "output of a requirement"),
        )

    def _diagonal(self, kind: str, parts: list[str]) -> Requirement:
        if any("=" in part for part in parts):
            return require.diagonal(at_least=self._values(kind, parts))
        if not 1 <= len(parts) <= 2:
            raise self._refuse(kind, ",".join(parts))
        return require.diagonal(*(self._number(kind, part) for part in parts))

    def _cost(self, kind: str, parts: list[str]) -> Requirement:
        if not 2 <= len(parts) <= 3 or parts[2:] not in ([], ["each"]):
            raise self._refuse(kind, ",".join(parts))
        limit = self._number(kind, parts[1])
        return require.cost(self._costs(kind, parts[0]), limit, each=len(parts) == 3)

    def _costs(self, kind: str, text: str) -> Any:
        name = text.lower()
        if name == "hamming" and not is_file(text):
            return 1.0 - Hamming().gains(self._prior, self._outputs)
        if name in ("absolute", "squared") and not is_file(text):
            return -Distance(name).gains(self._prior, self._outputs)
        return self._matrix(kind, text)

    def _equal_error(self, kind: str, parts: list[str]) -> Requirement:
        if len(parts) < 2 or "|" not in ",".join(parts[:-1]):
            raise self._refuse(kind, ",".join(parts))
        groups = [self._split(group) for group in ",".join(parts[:-1]).split("|")]
        return require.equal_error(groups, self._number(kind, parts[-1]))

    def _group(self, text: str) -> list[Label]:
        """Symbols with plus signs between; a label that holds one stands for itself."""
        known = self._inputs.place(text) != ABSENT
        return [self._one_of_group(text)] if known else self._split(text)

    def _split(self, text: str) -> list[Label]:
        return [self._one_of_group(label.strip()) for label in text.split("+")]

    def _one_of_group(self, text: str) -> Label:
        place = self._inputs.place(text)
        if place == ABSENT:
            raise UnknownNameError("symbol of a requirement", text, map(str, self._inputs.labels))
        return self._inputs.labels[place]

    def _unbiased(self, kind: str, parts: list[str]) -> Requirement:
        if parts:
            return require.unbiased(self._values(kind, parts))
        labels = dict.fromkeys([*self._prior.labels, *self._outputs])
        numbers = [v for v in labels if isinstance(v, (int, float)) and not isinstance(v, bool)]
        if len(numbers) < len(labels):
            raise self._refuse(kind, "no values, for labels that are no numbers")
        return require.unbiased({label: label for label in numbers})

    def _values(self, kind: str, parts: list[str]) -> dict[Label, float]:
        """Values by label, from ``a=0,b=1`` or a JSON object."""
        if len(parts) == 1 and parts[0].lower().endswith(".json"):
            content = read_json(parts[0], 'write for example {"a": 0, "b": 1}')
            if not isinstance(content, dict):
                raise self._refuse(kind, content)
            pairs = list(content.items())
        else:
            split = [part.rpartition("=") for part in parts]
            if not split or not all(label for label, _, _ in split):
                raise self._refuse(kind, ",".join(parts))
            pairs = [(label.strip(), self._number(kind, value)) for label, _, value in split]
        found = {}
        for text, value in pairs:
            book = self._inputs if self._inputs.place(text) != ABSENT else self._places
            found[self._label(text, book, "label of a requirement")] = value
        return found

    def _rows(self, kind: str, parts: list[str]) -> Requirement:
        if len(parts) != 3:
            raise self._refuse(kind, ",".join(parts))
        matrix, right = self._matrix(kind, parts[0]), self._number(kind, parts[2])
        return require.rows(matrix, parts[1], right, name=f"{parts[0]} {parts[1]} {right:.12g}")

    def _matrix(self, kind: str, path: str) -> Any:
        """A labelled matrix from a file, its rows and columns in the order of the kernel."""
        if not is_file(path):
            raise DataError(
                f"requirement {kind}",
                expected=REQUIREMENT_TEXTS[kind],
                got=f"{quote(path)}, which is no file",
                remedy="name a CSV file with symbols as rows and outputs as columns",
            )
        matrix, rows, columns = read_matrix(path)
        places = []
        for book, texts, what in (
            (self._inputs, rows, "row for each symbol"),
            (self._places, columns, "column for each output"),
        ):
            found = {book.place(str(text)): i for i, text in enumerate(texts)}
            if set(found) != set(range(len(book.labels))) or len(found) < len(texts):
                raise DataError(
                    f"matrix {path}",
                    expected=f"one {what} {list(book.labels)[:8]}",
                    got=f"{texts[:8]}",
                    remedy="label rows with the symbols and columns with the outputs",
                )
            places.append([found[i] for i in range(len(book.labels))])
        return matrix[np.ix_(*places)]


def _cells(text: str) -> list[str]:
    """What commas separate, as in a line of CSV: a part in quotes may hold some."""
    try:
        parts = next(csv.reader([text], skipinitialspace=True), []) if text.strip() else []
    except csv.Error as problem:
        raise RequirementError(
            "requirement",
            expected="parts separated by commas, in one line",
            got=f"{quote(text)} ({problem})",
            remedy='put a label with a comma in quotes, as in "a,b"',
        ) from None
    return [part.strip() for part in parts]


def _split_path(text: str) -> tuple[str, str]:
    """The import path that a text begins with, if it does, and what follows."""
    parts = text.split(":", 2)
    path = ":".join(part.strip() for part in parts[:2])
    name = parts[0].strip().lower()
    meant = difflib.get_close_matches(name, REQUIREMENT_TEXTS, n=1)
    if ("." not in name and meant) or not is_import_path(path):
        return "", text
    check_name_or_module(path, "requirement", REQUIREMENT_TEXTS)
    return path, parts[2] if parts[2:] else ""


def _own_requirement(path: str, rest: str) -> Requirement:
    """``package.module:Name:0.5,a``: a class with arguments that are numbers or text."""
    subject = f"requirement {path}"
    found = find(path, Requirement, "requirement")
    arguments = _cells(rest)
    if not inspect.isclass(found):
        if arguments:
            raise RequirementError(
                subject,
                expected="no arguments, as it names an instance, which has its own",
                got=quote(rest),
                remedy="leave them out, or name its class",
            )
        assert isinstance(found, Requirement)
        return found
    given = [parse_labels([argument])[0] for argument in arguments]
    make: Any = found
    try:
        made: Requirement = make(*given)
    except MechdesignError:
        raise
    except Exception as problem:  # code from outside, which may fail in any way
        raise RequirementError(
            subject,
            expected="arguments of its class, as in package.module:Name:0.5,a",
            got=f"{quote(rest)} ({type(problem).__name__}: {problem})",
            remedy="give one for each of its fields",
        ) from None
    return made
